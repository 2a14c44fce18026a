//! Links by funding: who paid for the first transactions of which addresses. An address that pays within a day serves one purpose; one that
//! pays over weeks, such as an exchange without a label, serves many, and links only those that it paid in one rush.

use std::collections::BTreeMap;

use super::LinkKind;
use model::{
    address::Address,
    data::Data,
    time::{DAY_MS, HOUR_MS, Time},
};

/// Most recipients of one payer: an address that pays for more acts for many.
const FUNDED_MAX: usize = 300;
/// Most recipients whom an address, itself a holder, pays for as for itself.
const OWN_MAX: usize = 3;
/// Fewest recipients in a rush.
const RUSH_MIN: usize = 3;
/// How much denser than the other payments a rush is.
const RUSH_DENSITY: i64 = 10;

/// A link between two of the addresses, by their positions.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Funded {
    pub kind: LinkKind,
    pub pair: [usize; 2],
    pub funder: Address,
    pub time: Option<Time>,
}

/// The addresses that each payer paid for, with their positions and times, oldest payment first. `is_person`: whether an address acts for
/// itself; others, such as exchanges, pay for everybody.
pub fn funded(
    dataset: &dyn Data,
    addresses: impl Iterator<Item = Address>,
    is_person: &dyn Fn(&Address) -> bool,
) -> BTreeMap<Address, Vec<(Option<Time>, usize)>> {
    let mut groups: BTreeMap<Address, Vec<(Option<Time>, usize)>> = BTreeMap::new();
    for (place, address) in addresses.enumerate() {
        if let Some(row) = dataset.funders_of(&address).first()
            && row.from_address != address
        {
            let group = groups.entry(row.from_address).or_default();
            group.push((row.timestamp, place));
        }
    }
    groups.retain(|funder, group| group.len() <= FUNDED_MAX && is_person(funder));
    for group in groups.values_mut() {
        group.sort_unstable();
    }
    groups
}

/// The links within the groups. `find`: the position of an address; `is_alike`: whether the addresses at two positions also acted alike.
pub fn links(
    groups: &BTreeMap<Address, Vec<(Option<Time>, usize)>>,
    find: &dyn Fn(&Address) -> Option<usize>,
    is_alike: &dyn Fn(usize, usize) -> bool,
) -> Vec<Funded> {
    let mut links = Vec::new();
    for (funder, group) in groups {
        let ends = group.first().zip(group.last());
        let span =
            ends.and_then(|((first, _), (last, _))| Some(last.as_ref()?.0 - first.as_ref()?.0));
        let is_one = span.is_none_or(|span| span <= DAY_MS);
        let mean = span.unwrap_or_default() / (group.len() as i64).max(1);
        let near = HOUR_MS.min(mean / RUSH_DENSITY);
        let gap =
            |pair: &[(Option<Time>, usize)]| Some(pair[1].0.as_ref()?.0 - pair[0].0.as_ref()?.0);
        let is_near = |pair: &[(Option<Time>, usize)]| gap(pair).is_some_and(|gap| gap <= near);
        let mut rushes = vec![is_one; group.len()];
        if !is_one {
            let mut at = 0;
            for run in group.chunk_by(|a, b| is_near(&[*a, *b])) {
                rushes[at..at + run.len()].fill(run.len() >= RUSH_MIN);
                at += run.len();
            }
        }
        for (at, pair) in group.windows(2).enumerate() {
            let places = [pair[0].1, pair[1].1];
            let is_rush = rushes[at] && rushes[at + 1] && (is_one || is_near(pair));
            if is_rush || is_alike(places[0], places[1]) {
                links.push(Funded {
                    kind: if gap(pair) == Some(0) {
                        LinkKind::FundedTogether
                    } else {
                        LinkKind::Funder
                    },
                    pair: places,
                    funder: *funder,
                    time: pair[1].0,
                });
            }
        }
        let own = if is_one || group.len() <= OWN_MAX {
            find(funder)
        } else {
            None
        };
        links.extend(own.map(|own| Funded {
            kind: LinkKind::FundedBy,
            pair: [own, group[0].1],
            funder: *funder,
            time: group[0].0,
        }));
    }
    links
}
