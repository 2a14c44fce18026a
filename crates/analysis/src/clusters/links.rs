//! Links by transfers and purchases. An address that sends to or receives from many unrelated addresses (an exchange without a label, a
//! mixer, a distributor) is no link.

use std::collections::HashMap;

use super::{
    LinkKind,
    ledger::{Buy, Ledger, Move, NOBODY},
};
use model::time::HOUR_MS;

/// Most addresses that one owner sends to or receives from.
const PEERS_MAX: u32 = 300;
/// Senders and recipients from which an address acts for many, unless they are the same addresses.
const HUB_PEERS: u32 = 25;
/// The smallest fraction of all minted tokens that links: less is dust, which anybody can send to anybody.
const DUST: f64 = 1e-6;
/// Fraction of its tokens that a recipient has from its source.
const SEEDED_MIN: f64 = 0.5;
/// Fraction of what a source sends to persons that goes to addresses without other tokens.
const SEEDS_MIN: f64 = 0.8;
/// Recipients from which a source splits its tokens whatever it keeps; of fewer, the fraction of its tokens that it splits.
const SPLIT_MIN: usize = 4;
const SPLIT_PART: f64 = 0.3;
const LARGEST_PART: f64 = 0.8;
/// Recipients from which a source of minted tokens distributes them.
const AIRDROP_MIN: usize = 20;
/// Fraction of its tokens that an address passes on if its owner moves, or if it only collects deposits.
const MOVED_MIN: f64 = 0.9;
/// Addresses from which the target of deposits belongs to many.
const DEPOSITS_MIN: u32 = 10;
const FEEDERS_MIN: usize = 3;
/// Fraction of what the largest of them has received that each sends in a circle of two or three.
const MUTUAL_MIN: f64 = 0.1;
/// Most addresses that each of them sends to.
const MUTUAL_PEERS: u32 = 10;
/// Blocks after the first purchase that are the launch, and the purchases in them that are examined.
const LAUNCH_BLOCKS: i64 = 3;
const LAUNCH_BUYS: usize = 2_000;
/// Purchases in a row of one bundle, and the most that their amounts differ from one to the next.
const BUNDLE_MIN: usize = 4;
const BUNDLE_STEP: f64 = 0.1;
/// Addresses that bought equal amounts, and those whose amounts have equal steps.
const EQUAL_MIN: usize = 3;
const STEPS_MIN: usize = 5;
/// Most time between purchases of equal amounts, and between those of two addresses that act alike.
const EQUAL_MS: i64 = HOUR_MS;
const ALIKE_MS: i64 = HOUR_MS / 6;

/// A link between two wallets, by their numbers.
#[derive(Debug, Clone, Copy)]
pub(super) struct WalletLink {
    pub(super) kind: LinkKind,
    pub(super) pair: [u32; 2],
    /// Number of the transfer.
    pub(super) row: u32,
}

/// Number of addresses that each wallet received from and sent to, and whether it is a hub by them.
pub(super) struct Peers {
    senders: Vec<u32>,
    recipients: Vec<u32>,
    pub(super) is_hub: Vec<bool>,
}

impl Peers {
    pub(super) fn new(ledger: &Ledger<'_>) -> Self {
        let count = ledger.wallets.len();
        let (mut senders, mut recipients, mut both) =
            (vec![0_u32; count], vec![0_u32; count], HashMap::new());
        for step in &ledger.moves {
            senders[step.to as usize] += 1;
            recipients[step.from as usize] += 1;
        }
        let large =
            |id: u32| senders[id as usize] >= HUB_PEERS && recipients[id as usize] >= HUB_PEERS;
        for step in ledger.moves.iter().filter(|step| large(step.from)) {
            if ledger.moved(step.to, step.from).is_some() {
                *both.entry(step.from).or_insert(0_u32) += 1;
            }
        }
        let is_hub = (0..count)
            .map(|at| {
                let [least, most] = [
                    senders[at].min(recipients[at]),
                    senders[at].max(recipients[at]),
                ];
                let same = u32::try_from(at).ok().and_then(|id| both.get(&id));
                !ledger.wallets[at].is_person
                    || most > PEERS_MAX
                    || least >= HUB_PEERS && same.copied().unwrap_or(0) < least / 2
            })
            .collect();
        Self {
            senders,
            recipients,
            is_hub,
        }
    }
}

/// The links by transfers between persons.
pub(super) fn by_transfers(ledger: &Ledger<'_>, peers: &Peers) -> Vec<WalletLink> {
    let dust = ledger.minted * DUST;
    let counts = |step: &&Move| f64::from(step.value) > dust;
    let free = |id: u32| !peers.is_hub[id as usize];
    let link = |kind, step: &Move| WalletLink {
        kind,
        pair: [step.from, step.to],
        row: step.row,
    };
    let mut links = Vec::new();
    let mut feeders: HashMap<u32, Vec<Move>> = HashMap::new();
    for group in ledger.moves.chunk_by(|a, b| a.from == b.from) {
        let from = group[0].from;
        let source = ledger.wallet(from);
        let sum: f64 = group.iter().map(|step| f64::from(step.value)).sum();
        // A deposit address passes all to the purse of its exchange.
        let is_deposit = source.bought == 0.0
            && source.sent >= MOVED_MIN * source.received
            && group.iter().any(|step| {
                let to = step.to as usize;
                f64::from(step.value) >= MOVED_MIN * source.sent
                    && (peers.is_hub[to] || peers.senders[to] >= DEPOSITS_MIN)
            });
        if !free(from) || is_deposit {
            continue;
        }
        for step in group.iter().filter(counts).filter(|step| free(step.to)) {
            let mostly = f64::from(step.value) >= SEEDED_MIN * source.sent;
            if mostly && source.bought >= SEEDED_MIN * source.received {
                feeders.entry(step.to).or_default().push(*step);
            }
            let back = ledger.moved(step.to, from).filter(|_| from < step.to);
            if back.is_some_and(|back| is_circle(ledger, peers, &[step, back])) {
                links.push(link(LinkKind::BothWays, step));
            }
            if from < step.to && is_private(peers, from) && is_private(peers, step.to) {
                for next in ledger.sent_by(step.to).iter().filter(counts) {
                    let end = ledger.moved(next.to, from).filter(|_| from < next.to);
                    if end.is_some_and(|end| is_circle(ledger, peers, &[step, next, end])) {
                        links.push(link(LinkKind::Ring, step));
                        links.push(link(LinkKind::Ring, next));
                    }
                }
            }
        }
        let seeded: Vec<&Move> = group
            .iter()
            .filter(counts)
            .filter(|step| {
                let target = ledger.wallet(step.to);
                free(step.to)
                    && target.first_from == from
                    && f64::from(step.value) >= SEEDED_MIN * target.received
                    && !is_deposit_of(ledger, peers, step.to)
            })
            .collect();
        let seeds: f64 = seeded.iter().map(|step| f64::from(step.value)).sum();
        let distributes = seeded.len() >= AIRDROP_MIN && has_minted(ledger, from);
        let splits = match seeded.len() {
            1 => sum >= MOVED_MIN * source.received,
            // One large part is a sale.
            2..SPLIT_MIN => {
                let largest = seeded.iter().map(|step| f64::from(step.value));
                seeds >= SPLIT_PART * source.received
                    && largest.fold(0.0, f64::max) <= LARGEST_PART * seeds
            }
            _ => true,
        } || has_minted(ledger, from);
        if !distributes && splits && seeds >= SEEDS_MIN * sum {
            links.extend(
                seeded
                    .into_iter()
                    .map(|step| link(LinkKind::Transfer, step)),
            );
        }
    }
    for (to, steps) in feeders {
        let target = ledger.wallet(to);
        // An owner keeps or sells the collected tokens; a service sends them to others.
        let stays = target.sold + target.balance() >= SEEDED_MIN * target.received;
        if steps.len() >= FEEDERS_MIN && stays {
            links.extend(steps.iter().map(|step| link(LinkKind::Collected, step)));
        }
    }
    links
}

/// Whether the address sends to few others.
fn is_private(peers: &Peers, id: u32) -> bool {
    !peers.is_hub[id as usize] && peers.recipients[id as usize] <= MUTUAL_PEERS
}

/// Whether private addresses sent much of their tokens in a circle.
fn is_circle(ledger: &Ledger<'_>, peers: &Peers, steps: &[&Move]) -> bool {
    let received = steps.iter().map(|step| ledger.wallet(step.from).received);
    let most = received.fold(0.0, f64::max);
    steps.iter().all(|step| {
        is_private(peers, step.from)
            && f64::from(step.value) > ledger.minted * DUST
            && f64::from(step.value) >= MUTUAL_MIN * most
    })
}

/// Whether the wallet passes nearly all to an address that receives from many, and bought nothing.
fn is_deposit_of(ledger: &Ledger<'_>, peers: &Peers, id: u32) -> bool {
    let wallet = ledger.wallet(id);
    if wallet.bought > 0.0 || wallet.sent < MOVED_MIN * wallet.received {
        return false;
    }
    let own = ledger.sent_by(id).iter();
    let sent: f64 = own
        .filter(|step| {
            let to = step.to as usize;
            !peers.is_hub[to] && peers.senders[to] < DEPOSITS_MIN
        })
        .map(|step| f64::from(step.value))
        .sum();
    // The rest went to hubs, with or without a label.
    sent + wallet.sold < (1.0 - MOVED_MIN) * wallet.sent
}

/// Whether the wallet, or the one that it got its first tokens from, received minted tokens.
fn has_minted(ledger: &Ledger<'_>, id: u32) -> bool {
    let wallet = ledger.wallet(id);
    let source = Some(wallet.first_from).filter(|from| *from != NOBODY);
    wallet.is_minted_to || source.is_some_and(|from| ledger.wallet(from).is_minted_to)
}

/// The links by first purchases.
pub(super) fn by_purchases(ledger: &Ledger<'_>, peers: &Peers) -> Vec<WalletLink> {
    let buys: Vec<Buy> = ledger
        .buys
        .iter()
        .filter(|buy| !peers.is_hub[buy.wallet as usize] && buy.value > ledger.minted * DUST)
        .copied()
        .collect();
    let mut links = Vec::new();
    let mut chain = |kind, run: &[Buy]| {
        links.extend(run.windows(2).map(|pair| WalletLink {
            kind,
            pair: [pair[0].wallet, pair[1].wallet],
            row: pair[1].row,
        }));
    };
    let launch = buys.iter().filter_map(|buy| buy.block).min();
    let end = launch.map(|block| block + LAUNCH_BLOCKS);
    let early: Vec<Buy> = buys
        .iter()
        .take(LAUNCH_BUYS)
        .filter(|buy| buy.block.is_some() && buy.block <= end)
        .copied()
        .collect();
    for block in early.chunk_by(|a, b| a.block == b.block) {
        // A run of purchases in one block, each with nearly the amount of the one before: independent buyers would not agree on it.
        let near = |a: &Buy, b: &Buy| {
            let (least, most) = (a.value.min(b.value), a.value.max(b.value));
            most - least <= BUNDLE_STEP * most
        };
        let runs = block.chunk_by(near).filter(|run| run.len() >= BUNDLE_MIN);
        for run in runs.filter(|run| !is_at_cap(ledger, run)) {
            chain(LinkKind::Bundle, run);
        }
        let mut sent: Vec<(String, Buy)> = block
            .iter()
            .filter_map(|buy| {
                let row = buy.row as usize;
                let rows = ledger.dataset.transfers();
                Some((rows.text(&ledger.token, row, "transaction_hash")?, *buy))
            })
            .collect();
        sent.sort_by(|a, b| (&a.0, a.1.row).cmp(&(&b.0, b.1.row)));
        for one in sent.chunk_by(|a, b| a.0 == b.0) {
            let run: Vec<Buy> = one.iter().map(|(_, buy)| *buy).collect();
            chain(LinkKind::Bundle, &run);
        }
    }
    let mut equal = buys.clone();
    equal.sort_by(|a, b| a.value.total_cmp(&b.value).then(a.row.cmp(&b.row)));
    for same in equal.chunk_by(|a, b| a.value == b.value) {
        let runs = same.chunk_by(|a, b| is_within(a, b, EQUAL_MS));
        for run in runs.filter(|run| run.len() >= EQUAL_MIN && !is_round(run[0].value)) {
            chain(LinkKind::Amounts, run);
        }
    }
    let mut start = 0;
    while start + STEPS_MIN <= buys.len() {
        let step = buys[start + 1].value - buys[start].value;
        let goes_on = |pair: &&[Buy]| {
            let next = pair[1].value - pair[0].value;
            (next - step).abs() <= 1e-6 * step.abs() && is_within(&pair[0], &pair[1], EQUAL_MS)
        };
        let run = 1 + buys[start..].windows(2).take_while(goes_on).count();
        if run >= STEPS_MIN && step != 0.0 {
            chain(LinkKind::Amounts, &buys[start..start + run]);
        }
        start += (run - 1).max(1);
    }
    links
}

/// Whether two addresses with one payer also bought alike: within minutes, or the same amount.
pub(super) fn is_alike(a: Option<&Buy>, b: Option<&Buy>) -> bool {
    a.zip(b)
        .is_some_and(|(a, b)| is_within(a, b, ALIKE_MS) || a.value == b.value && !is_round(a.value))
}

fn is_within(a: &Buy, b: &Buy, span: i64) -> bool {
    a.time
        .zip(b.time)
        .is_some_and(|(a, b)| (b.0 - a.0).abs() <= span)
}

/// Whether the number has at most three digits before its zeros: many choose such amounts.
fn is_round(value: f64) -> bool {
    let digits = format!("{value:e}");
    digits
        .split('e')
        .next()
        .is_some_and(|digits| digits.len() <= 4)
}

/// Whether all purchases are of the same amount, and it is a round fraction of what was minted: the most that a token lets one buy.
fn is_at_cap(ledger: &Ledger<'_>, run: &[Buy]) -> bool {
    let part = run[0].value / ledger.minted * 400.0;
    run.iter().all(|buy| buy.value == run[0].value) && (part - part.round()).abs() < 1e-9
}
