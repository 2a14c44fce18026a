//! Which candidates are answered: of all sets that do not overlap, the one of the largest worth (weighted interval scheduling).

use super::company::overlap;

/// A candidate to choose from.
#[derive(Debug, Clone, Copy)]
pub(super) struct Offer {
    pub(super) start: u32,
    pub(super) end: u32,
    pub(super) chance: f64,
}

/// How offers are weighed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OverlapRule {
    /// Less likely ones are worth nothing.
    pub least: f64,
    /// Longer ones are worth more, by this power of their length.
    pub power: f64,
    /// Two may share this part of each at the ends.
    pub shared: f64,
    /// Confidence from which a further candidate is added…
    pub more: f64,
    /// …if its overlap with each of those kept is at most this.
    pub with: f64,
    /// Beside a textbook pattern only what is as likely as this is drawn…
    pub beside: f64,
    /// …within so many candles.
    pub near: u32,
}

impl Default for OverlapRule {
    fn default() -> Self {
        Self { least: 0.22, power: 0.3, shared: 0.13, more: 0.4, with: 0.3, beside: 0.55, near: 80 }
    }
}

struct Slot {
    end: f64,
    start: f64,
    worth: f64,
    place: usize,
}

/// The places of those to keep. `taken` are the stretches of textbook patterns, in order of their starts.
pub(super) fn choose(offers: &[Offer], taken: &[(u32, u32)], rule: &OverlapRule) -> Vec<usize> {
    let longest = taken.iter().map(|(start, end)| end - start).max().unwrap_or(0);
    let allowed = |offer: &Offer| {
        // Those that begin before this end too early to be near.
        let first = taken.partition_point(|(start, _)| start + longest + rule.near < offer.start);
        taken[first..].iter().take_while(|(start, _)| *start <= offer.end + rule.near).all(|(start, end)| {
            if offer.start > end + rule.near {
                return true;
            }
            let shared = (offer.end.min(*end) + 1).saturating_sub(offer.start.max(*start));
            offer.chance >= rule.beside && f64::from(shared) < 0.3 * f64::from((offer.end - offer.start).min(end - start) + 1)
        })
    };
    let mut slots: Vec<Slot> = Vec::new();
    for (place, offer) in offers.iter().enumerate() {
        if offer.chance <= rule.least || !allowed(offer) {
            continue;
        }
        let length = f64::from(offer.end - offer.start + 1);
        let cut = rule.shared * length;
        let worth = (offer.chance - rule.least) * (length / 30.0).powf(rule.power);
        slots.push(Slot { end: f64::from(offer.end + 1) - cut, start: f64::from(offer.start) + cut, worth, place });
    }
    slots.sort_by(|a, b| a.end.total_cmp(&b.end).then(a.start.total_cmp(&b.start)).then(a.place.cmp(&b.place)));
    // best[k]: the largest worth among the first k.
    let mut best = vec![0.0; slots.len() + 1];
    let mut before = vec![0; slots.len()];
    for (k, slot) in slots.iter().enumerate() {
        before[k] = slots[..k].partition_point(|other| other.end <= slot.start);
        best[k + 1] = f64::max(best[k], best[before[k]] + slot.worth);
    }
    let mut kept = Vec::new();
    let mut k = slots.len();
    while k > 0 {
        if best[k] > best[k - 1] {
            kept.push(slots[k - 1].place);
            k = before[k - 1];
        } else {
            k -= 1;
        }
    }
    add(offers, &slots, &mut kept, rule);
    kept
}

/// Candles of a bucket in which kept ones are looked up.
const BUCKET: u32 = 256;

/// Likely ones that lie partly over those that are kept: a flag within a channel is drawn with it.
fn add(offers: &[Offer], slots: &[Slot], kept: &mut Vec<usize>, rule: &OverlapRule) {
    let mut more: Vec<usize> = slots.iter().map(|slot| slot.place).filter(|place| offers[*place].chance >= rule.more).collect();
    more.sort_by(|a, b| offers[*b].chance.total_cmp(&offers[*a].chance).then(a.cmp(b)));
    let buckets = |offer: &Offer| (offer.start / BUCKET) as usize..=(offer.end / BUCKET) as usize;
    let last = offers.iter().map(|offer| offer.end / BUCKET).max().unwrap_or(0);
    let mut held: Vec<Vec<usize>> = vec![Vec::new(); last as usize + 1];
    for place in kept.iter() {
        held[buckets(&offers[*place])].iter_mut().for_each(|bucket| bucket.push(*place));
    }
    for place in more {
        let offer = &offers[place];
        let apart = |other: &usize| overlap((offer.start, offer.end), (offers[*other].start, offers[*other].end)) <= rule.with;
        if held[buckets(offer)].iter().flatten().all(apart) {
            held[buckets(offer)].iter_mut().for_each(|bucket| bucket.push(place));
            kept.push(place);
        }
    }
}
