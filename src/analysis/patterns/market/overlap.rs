//! Selection of the response's candidates: the non-overlapping set of the largest total worth (weighted interval scheduling).

use super::company::overlap;

/// A candidate for selection.
#[derive(Debug, Clone, Copy)]
pub(super) struct Offer {
    pub(super) start: u32,
    pub(super) end: u32,
    pub(super) chance: f64,
}

/// Parameters of the selection.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OverlapRule {
    /// Minimum probability; less likely ones are worth nothing.
    pub least: f64,
    /// Exponent of the length in an offer's worth.
    pub power: f64,
    /// Fraction of its length by which each may overlap a neighbour.
    pub shared: f64,
    /// Probability from which a further candidate is added…
    pub more: f64,
    /// …if its overlap (intersection over union) with every selected one is at most this.
    pub with: f64,
    /// Minimum probability of a candidate close to a textbook pattern…
    pub beside: f64,
    /// …that is, within this many candles.
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

/// Indices of the selected offers. `taken` are the ranges of textbook patterns, ordered by start.
pub(super) fn choose(offers: &[Offer], taken: &[(u32, u32)], rule: &OverlapRule) -> Vec<usize> {
    let longest = taken.iter().map(|(start, end)| end - start).max().unwrap_or(0);
    let allowed = |offer: &Offer| {
        // Skips those that start too early to be close.
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
    // best[k]: the largest total worth among the first k.
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

/// Bucket width in candles of the index of selected ones.
const BUCKET: u32 = 256;

/// Adds likely candidates that partly overlap the selected ones: a flag within a channel is drawn with it.
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
