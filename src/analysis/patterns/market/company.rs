//! What the other candidates say about one: those of its kin that agree, rivals of other names on its stretch, larger and smaller ones,
//! and how many start and end where it does.

use super::candidate::Kind;

/// Measures of the company a candidate keeps.
pub const COMPANY: usize = 11 + CIRCLES;
/// Circles of near kin.
const CIRCLES: usize = 9;

/// What each is, in a trader's words.
pub(super) const WORDS: [&str; COMPANY] = [
    "its own measures together (ln of odds)",
    "look-alikes of its kind on the same stretch",
    "look-alikes of its kind on the same stretch, on average",
    "best rival name on nearly this stretch (ln of odds)",
    "best rival name on this very stretch (ln of odds)",
    "best pattern inside it (ln of odds)",
    "best pattern around it (ln of odds)",
    "others that start where it does",
    "others that end where it does",
    "likelier ones on the same stretch",
    "length in candles, beside the others",
    "a double or rounding turn or cup of its side there instead (ln of odds)",
    "a double or rounding turn or cup of the other side there instead (ln of odds)",
    "a head and shoulders of its side there instead (ln of odds)",
    "a head and shoulders of the other side there instead (ln of odds)",
    "a rectangle there instead (ln of odds)",
    "a channel or wedge there instead (ln of odds)",
    "a triangle there instead (ln of odds)",
    "a broadening formation there instead (ln of odds)",
    "a flag there instead (ln of odds)",
];

/// A candidate as the others see it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scored {
    pub(super) kind: Kind,
    pub(super) flipped: bool,
    pub(super) start: u32,
    pub(super) end: u32,
    /// Of being what its kind says, by its own measures.
    pub(super) logit: f64,
    pub(super) chance: f64,
}

/// Near kin: stretches that one chartist calls this and another that. Those of reversals have an opposite, the next one.
fn circle(kind: Kind) -> usize {
    match kind {
        Kind::Double | Kind::Rounding | Kind::Cup => 0,
        Kind::HeadAndShoulders => 2,
        Kind::Triple | Kind::Rectangle => 4,
        Kind::Channel | Kind::Wedge => 5,
        Kind::LevelTriangle | Kind::SymmetricalTriangle => 6,
        Kind::Broadening => 7,
        Kind::Flag | Kind::Pennant => 8,
    }
}

/// The circles below this are those of reversals, each followed by its opposite.
const REVERSALS: usize = 4;
/// Triples and rectangles, triangles and broadening formations are kin whichever side is up.
const EITHER_SIDE: [usize; 3] = [4, 6, 7];

pub fn overlap(a: (u32, u32), b: (u32, u32)) -> f64 {
    let both = (a.1.min(b.1) + 1).saturating_sub(a.0.max(b.0));
    f64::from(both) / f64::from(a.1.max(b.1) - a.0.min(b.0) + 1)
}

/// Logits below this are as good as none.
const NONE: f64 = -5.0;

/// The company of each; `all` are ordered by start.
pub(super) fn company(all: &[Scored]) -> Vec<[f64; COMPANY]> {
    let longest = all.iter().map(|one| one.end - one.start).max().unwrap_or(0);
    let seen: Vec<Seen> = all.iter().map(Seen::of).collect();
    let mut from = 0;
    let mut told = Vec::with_capacity(all.len());
    for (k, me) in all.iter().enumerate() {
        while all[from].start + longest < me.start {
            from += 1;
        }
        told.push(one(&seen[k], k - from, &seen[from..]));
    }
    told
}

/// A candidate with what is asked of it again and again.
struct Seen {
    start: i32,
    end: i32,
    length: i32,
    circle: usize,
    flipped: bool,
    logit: f64,
    chance: f64,
}

impl Seen {
    fn of(one: &Scored) -> Self {
        let (start, end) = (one.start as i32, one.end as i32);
        let flipped = one.flipped;
        Self { start, end, length: end - start + 1, circle: circle(one.kind), flipped, logit: one.logit, chance: one.chance }
    }
}

fn one(me: &Seen, k: usize, others: &[Seen]) -> [f64; COMPANY] {
    let (mut support, mut kin) = (0.0, 0.0);
    let (mut near, mut same) = (NONE, NONE);
    let (mut inside, mut around) = (NONE, NONE);
    let (mut starts, mut ends, mut better) = (0.0, 0.0, 0.0);
    let mut circles = [NONE; CIRCLES];
    for (j, other) in others.iter().enumerate() {
        if other.start > me.end {
            break;
        }
        if other.end < me.start || j == k {
            continue;
        }
        if 5 * other.length < 3 * me.length {
            inside = inside.max(other.logit);
        } else if 3 * other.length > 5 * me.length {
            around = around.max(other.logit);
        }
        if (other.start - me.start).abs() <= 1 {
            starts += other.chance;
        }
        if (other.end - me.end).abs() <= 1 {
            ends += other.chance;
        }
        let both = me.end.min(other.end) - me.start.max(other.start) + 1;
        let all = me.length + other.length - both;
        if 10 * both < 3 * all {
            continue;
        }
        let shared = f64::from(both) / f64::from(all);
        if shared > 0.4 && other.logit > me.logit {
            better += 1.0;
        }
        let same_side = other.flipped == me.flipped;
        if other.circle == me.circle && (same_side || EITHER_SIDE.contains(&me.circle)) {
            if shared > 0.4 {
                support += other.chance * ((shared - 0.4) / 0.4).min(1.0);
                kin += 1.0;
            }
            continue;
        }
        near = near.max(other.logit);
        if shared >= 0.5 {
            let circle = &mut circles[other.circle + usize::from(!same_side && other.circle < REVERSALS)];
            *circle = circle.max(other.logit);
            if shared >= 0.6 {
                same = same.max(other.logit);
            }
        }
    }
    let length = f64::from(me.length);
    let mut told = [0.0; COMPANY];
    told[..11].copy_from_slice(&[me.logit, support, support / (kin + 2.0), near, same, inside, around, starts, ends, better, length]);
    told[11..].copy_from_slice(&circles);
    told
}
