//! Net flows of a token's groups of addresses (whales, new wallets, exchanges, its creator, its largest holders), and what the largest
//! holders paid. Pure.
//!
//! A flow is the amount received minus the amount sent over the days before the token's last transfer; a transfer within a group is zero.
//! Every group has the same members over all spans. The size of a member is the larger of its balances at the start and at the end of the 30
//! days: a group chosen by its balances at the end would always have bought, and one chosen by those at the start would always have sold.
//! Balances at the start are those at the end minus the flow of the 30 days.

use std::{cmp::Ordering, collections::HashMap};

use schemars::JsonSchema;
use serde::Serialize;
use statrs::distribution::{Binomial, DiscreteCDF as _};

use super::{
    NoFlows,
    cost::{Cost, DayCloses},
    ends, is_void, unit_of,
};
use crate::{
    growth::{WhaleChange, WhaleMoves, percent, trend_of},
    roles::{AddressRole, Roles},
};
use model::{
    address::Address,
    data::Data,
    rows::TransferRow,
    time::{DAY_MS, Day, Time},
};

/// Spans, in days before the token's last transfer; the last one decides who is a member.
const SPANS: [i64; 3] = [1, 7, 30];
const LONGEST: i64 = SPANS[2];
/// The span of the whales' trend in `SPANS`.
const WEEK: usize = 1;

/// Part of the amounts added up to which their sum counts as zero: floats round.
const ROUNDING: f64 = 1e-9;

/// A group of addresses. Exchanges, contracts and holders are every address once, except burn addresses: their flows add up to the tokens
/// minted minus burned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FlowGroup {
    /// Holders worth at least `analysis.whale_usd` at the token's price.
    Whales,
    /// Holders without a transfer of the token, or a payment in `funding`, before the 30 days.
    Fresh,
    Exchanges,
    /// The creator in `contracts` and the wallets of its cluster.
    Creator,
    #[serde(rename = "top_10")]
    Top10,
    #[serde(rename = "top_50")]
    Top50,
    #[serde(rename = "top_100")]
    Top100,
    /// Pools, routers, bridges, lockers and the token's own contract.
    Contracts,
    /// Individual holders: all other addresses, except burn addresses.
    Holders,
}

impl FlowGroup {
    pub const ALL: [Self; 9] = [
        Self::Whales,
        Self::Fresh,
        Self::Exchanges,
        Self::Creator,
        Self::Top10,
        Self::Top50,
        Self::Top100,
        Self::Contracts,
        Self::Holders,
    ];
    /// The largest holders, whose cost is known.
    const TOPS: [(Self, usize); 3] = [(Self::Top10, 10), (Self::Top50, 50), (Self::Top100, 100)];

    fn bit(self) -> u16 {
        1 << self as u16
    }
}

/// Tokens and USD of a group over one span or day; null if the amount of a transfer is unknown, or the transfers do not cover the span.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Net {
    /// Whole tokens received minus sent.
    pub tokens: Option<f64>,
    /// Each transfer at the close of its day, or the last close of the seven days before; null if one has none.
    pub usd: Option<f64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct DayNet {
    pub date: Day,
    #[serde(flatten)]
    pub net: Net,
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct GroupFlow {
    pub group: FlowGroup,
    /// Number of members; null if it is unknown who they are.
    pub members: Option<u64>,
    /// Whole tokens that the members own.
    pub balance: Option<f64>,
    /// The balance as a fraction of the supply that is not burned.
    pub share: Option<f64>,
    pub net_1d: Net,
    pub net_7d: Net,
    pub net_30d: Net,
    /// Members that received more than they sent in the 7 days, and members that sent more.
    pub buyers_7d: Option<u64>,
    pub sellers_7d: Option<u64>,
    /// Of the largest holders: USD paid per token, by the average cost method; tokens received by transfer cost the close of the day.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub average_cost: Option<f64>,
    /// Of the largest holders: value at the token's price minus cost, USD.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unrealized_profit: Option<f64>,
    /// Fraction of the balance whose cost is known, and which both figures are about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_known: Option<f64>,
    /// The last 30 UTC days.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub days: Vec<DayNet>,
}

/// The flows of all groups.
#[derive(Debug, Clone, PartialEq)]
pub struct GroupFlows {
    /// First and last transfer of the token in the data.
    pub first: Time,
    pub last: Time,
    pub groups: Vec<GroupFlow>,
    supply: Option<f64>,
}

/// What the groups need besides balances, transfers and candles.
#[derive(Debug, Clone, Copy)]
pub struct GroupInput<'a> {
    /// The creator and the wallets that belong to it.
    pub creators: &'a [Address],
    /// USD; the whales are unknown without a price.
    pub price: Option<f64>,
    pub supply: Option<f64>,
    pub whale_usd: f64,
}

/// An address's balance and transfers.
#[derive(Debug, Clone, Copy)]
struct Moves {
    balance: f64,
    replayed: f64,
    net: [f64; 3],
    /// Received and sent in the week.
    gross: f64,
    first: i64,
}

impl Moves {
    const NONE: Self = Self {
        balance: 0.0,
        replayed: 0.0,
        net: [0.0; 3],
        gross: 0.0,
        first: i64::MAX,
    };

    /// The flow of the week; zero where all that came went again.
    fn week(&self) -> f64 {
        let net = self.net[WEEK];
        if net.abs() <= self.gross * ROUNDING {
            0.0
        } else {
            net
        }
    }

    /// The larger of its balances at the start and at the end.
    fn size(&self) -> f64 {
        self.balance.max(self.balance - self.net[2])
    }
}

/// The flows of a token's groups. Three passes over its transfers. `go_on` is called with (done, total), in transfers; returning false cancels.
pub fn group_flows(
    dataset: &dyn Data,
    token: &Address,
    input: &GroupInput<'_>,
    go_on: &mut dyn FnMut(usize, usize) -> bool,
) -> Result<GroupFlows, NoFlows> {
    let unit = unit_of(dataset, token)?;
    let (transfers, roles) = (dataset.transfers(), Roles::new(dataset, token));
    let (total, mut done) = (transfers.count(token) * 3, 0);
    let mut step = |rows: usize| {
        done += rows;
        go_on(done, total).then_some(()).ok_or(NoFlows::Canceled)
    };
    let (first, last) = ends(dataset, token, &mut step)?;
    let is_part = dataset.transfers_left_out(token) > 0;
    let needed_since = Time(last.0 - LONGEST * DAY_MS);
    if is_part && first > needed_since {
        return Err(NoFlows::LeftOut {
            needed_since,
            here_since: first,
        });
    }
    let amount = |transfer: &TransferRow| transfer.value.map_or(f64::NAN, |value| value.0 / unit);
    let mut moves: HashMap<Address, Moves> = HashMap::new();
    let mut is_minted = None;
    for chunk in transfers.chunks(token) {
        for transfer in chunk.iter().filter(|transfer| !is_void(transfer)) {
            let time = transfer.timestamp.map_or(i64::MAX, |time| time.0);
            is_minted.get_or_insert(
                transfer
                    .from_address
                    .is_none_or(|from| from.is_burn_address()),
            );
            let sides = [
                (transfer.to_address, amount(transfer)),
                (transfer.from_address, -amount(transfer)),
            ];
            for (address, amount) in sides {
                let Some(address) = address else { continue };
                let of = moves.entry(address).or_insert(Moves::NONE);
                of.first = of.first.min(time);
                of.replayed += amount;
                for (net, days) in of.net.iter_mut().zip(SPANS) {
                    if time != i64::MAX && time > last.0 - days * DAY_MS {
                        *net += amount;
                        of.gross += if days == SPANS[WEEK] {
                            amount.abs()
                        } else {
                            0.0
                        };
                    }
                }
            }
        }
        step(chunk.len())?;
    }
    let is_whole = !is_part && is_minted == Some(true);
    let balances = set_balances(dataset, token, &mut moves, is_part, &roles);
    let covered = SPANS.map(|days| is_whole || is_part || first.0 <= last.0 - days * DAY_MS);
    let members = Members::new(
        (dataset, &roles),
        &moves,
        input,
        balances,
        needed_since,
        is_part,
    );
    let mut sums = Sums::new(last, &members, is_part);
    let closes = DayCloses::new(dataset, token);
    for chunk in transfers.chunks(token) {
        for transfer in chunk.iter().filter(|transfer| !is_void(transfer)) {
            sums.add(transfer, amount(transfer), &members, &closes);
        }
        step(chunk.len())?;
    }
    let groups = FlowGroup::ALL.map(|group| members.flow(group, &moves, &sums, input, covered));
    Ok(GroupFlows {
        first,
        last,
        groups: groups.to_vec(),
        supply: input.supply,
    })
}

/// Balances from `holders`; where these are not of the time, or absent, the sums of all transfers. Returns whether they are known.
fn set_balances(
    dataset: &dyn Data,
    token: &Address,
    moves: &mut HashMap<Address, Moves>,
    is_part: bool,
    roles: &Roles<'_>,
) -> bool {
    let holding = dataset.holding_of(token);
    if !holding.is_empty() && !dataset.lacks_history("holders") {
        for (holder, balance) in holding.rows() {
            let of = moves.entry(holder).or_insert(Moves::NONE);
            of.balance = balance.unwrap_or(f64::NAN);
        }
        return true;
    }
    let most = moves.values().map(|of| of.replayed).fold(0.0, f64::max);
    let is_debt = |(address, of): (&Address, &Moves)| {
        (of.replayed.is_nan() || of.replayed < -ROUNDING * most)
            && roles.role(address) != AddressRole::Burned
    };
    if is_part || moves.iter().any(is_debt) {
        return false;
    }
    for of in moves.values_mut() {
        of.balance = of.replayed.max(0.0);
    }
    true
}

/// Who is in which group.
struct Members {
    of: HashMap<Address, u16>,
    /// Largest first.
    ordered: Vec<(Address, u16)>,
    known: u16,
    balances: bool,
}

impl Members {
    fn new(
        (dataset, roles): (&dyn Data, &Roles<'_>),
        moves: &HashMap<Address, Moves>,
        input: &GroupInput<'_>,
        balances: bool,
        since: Time,
        is_part: bool,
    ) -> Self {
        let mut known = 0;
        let mut know =
            |group: FlowGroup, is_known: bool| known |= group.bit() * u16::from(is_known);
        for group in [
            FlowGroup::Exchanges,
            FlowGroup::Contracts,
            FlowGroup::Holders,
        ] {
            know(group, true);
        }
        know(FlowGroup::Creator, !input.creators.is_empty());
        know(FlowGroup::Whales, balances && input.price.is_some());
        know(FlowGroup::Fresh, !is_part);
        for (top, _) in FlowGroup::TOPS {
            know(top, balances);
        }
        let mut all: Vec<(f64, Address, &Moves)> = moves
            .iter()
            .map(|(address, of)| (of.size(), *address, of))
            .collect();
        // NaN, an unknown size, is last.
        all.sort_unstable_by(|a, b| match b.0.partial_cmp(&a.0) {
            Some(order) => order.then(a.1.cmp(&b.1)),
            None => (a.0.is_nan(), a.1).cmp(&(b.0.is_nan(), b.1)),
        });
        let (mut ordered, mut holders) = (Vec::with_capacity(all.len()), 0);
        for (size, address, of) in all {
            let mut groups = match roles.role(&address) {
                AddressRole::Burned => continue,
                AddressRole::Exchange => FlowGroup::Exchanges.bit(),
                AddressRole::Trader => {
                    let mut groups = FlowGroup::Holders.bit();
                    let mut join =
                        |group: FlowGroup, joins: bool| groups |= group.bit() * u16::from(joins);
                    let has = size > 0.0;
                    join(
                        FlowGroup::Whales,
                        input
                            .price
                            .is_some_and(|price| size * price >= input.whale_usd),
                    );
                    for (top, count) in FlowGroup::TOPS {
                        join(top, has && holders < count);
                    }
                    holders += usize::from(has);
                    join(FlowGroup::Fresh, of.is_fresh(dataset, &address, since));
                    groups
                }
                _ => FlowGroup::Contracts.bit(),
            };
            if input.creators.contains(&address) {
                groups |= FlowGroup::Creator.bit();
            }
            ordered.push((address, groups & known));
        }
        Self {
            of: ordered.iter().copied().collect(),
            ordered,
            known,
            balances,
        }
    }

    fn flow(
        &self,
        group: FlowGroup,
        moves: &HashMap<Address, Moves>,
        sums: &Sums,
        input: &GroupInput<'_>,
        covered: [bool; 3],
    ) -> GroupFlow {
        let is_known = self.known & group.bit() != 0;
        let members = || {
            let members = self.ordered.iter();
            let members = members.filter(|(_, groups)| groups & group.bit() != 0);
            members.filter_map(|(address, _)| Some((address, moves.get(address)?)))
        };
        let finite = |value: f64| Some(value).filter(|value| value.is_finite());
        let balance = finite(members().fold(0.0, |sum, (_, of)| sum + of.balance))
            .filter(|_| is_known && self.balances);
        let row = sums.of[group as usize];
        let net = |span: usize| row.net(span, is_known && covered[span]);
        let count = |side: fn(f64) -> bool| {
            let weeks = || members().map(|(_, of)| of.week());
            let is_counted = is_known && covered[WEEK] && !weeks().any(f64::is_nan);
            is_counted.then(|| weeks().filter(|net| side(*net)).count() as u64)
        };
        let mut cost = None;
        if FlowGroup::TOPS.iter().any(|(top, _)| *top == group) && is_known {
            cost = members().try_fold((0.0, 0.0), |(priced, cost), (address, of)| {
                let (more, paid) = sums.costs.get(address)?.priced_of(of.balance)?;
                Some((priced + more, cost + paid))
            });
        }
        let cost = cost.filter(|(priced, _)| *priced > 0.0);
        let days = sums.days.iter().filter(|_| is_known);
        GroupFlow {
            group,
            members: is_known.then(|| members().count() as u64),
            balance,
            share: balance.zip(input.supply).map(|(part, whole)| part / whole),
            net_1d: net(0),
            net_7d: net(1),
            net_30d: net(2),
            buyers_7d: count(|net| net > 0.0),
            sellers_7d: count(|net| net < 0.0),
            average_cost: cost.map(|(priced, cost)| cost / priced),
            unrealized_profit: (input.price.zip(cost))
                .map(|(price, (priced, cost))| priced * price - cost),
            cost_known: (cost.zip(balance)).map(|((priced, _), balance)| priced / balance),
            days: days
                .map(|(date, of)| of[group as usize].on(*date))
                .collect(),
        }
    }
}

impl Moves {
    /// Whether neither its first transfer of the token nor a payment to it in `funding` is from before `since`.
    fn is_fresh(&self, dataset: &dyn Data, address: &Address, since: Time) -> bool {
        let is_paid = |time: Option<Time>| time.is_none_or(|time| time <= since);
        self.first != i64::MAX
            && self.first > since.0
            && !dataset
                .funders_of(address)
                .iter()
                .any(|row| is_paid(row.timestamp))
    }
}

/// Sums of a group over the spans, or of one day in the first place: tokens, USD.
#[derive(Debug, Clone, Copy, Default)]
struct Row([[f64; 2]; 3]);

impl Row {
    fn net(&self, span: usize, is_known: bool) -> Net {
        let [tokens, usd] =
            self.0[span].map(|sum| Some(sum).filter(|sum| is_known && sum.is_finite()));
        Net { tokens, usd }
    }

    fn on(&self, date: Day) -> DayNet {
        DayNet {
            date,
            net: self.net(0, true),
        }
    }
}

/// The sums of all groups.
struct Sums {
    last: Time,
    of: [Row; 9],
    /// The last 30 days, oldest first.
    days: Vec<(Day, [Row; 9])>,
    /// Of the largest holders.
    costs: HashMap<Address, Cost>,
}

impl Sums {
    fn new(last: Time, members: &Members, is_part: bool) -> Self {
        // Of tokens from before the first transfer here the cost is unknown.
        let is_priced =
            |member: &&(Address, u16)| !is_part && member.1 & FlowGroup::Top100.bit() != 0;
        let priced = members.ordered.iter().filter(is_priced);
        let end = last.day().0;
        let first = end - LONGEST as i32 + 1;
        Self {
            last,
            of: Default::default(),
            days: (first..=end)
                .map(|day| (Day(day), Default::default()))
                .collect(),
            costs: priced
                .map(|(address, _)| (*address, Cost::default()))
                .collect(),
        }
    }

    fn add(&mut self, transfer: &TransferRow, amount: f64, members: &Members, closes: &DayCloses) {
        let (from, to) = (transfer.from_address, transfer.to_address);
        let close = || transfer.timestamp.and_then(|time| closes.at(time));
        if let Some(cost) = to.and_then(|to| self.costs.get_mut(&to)) {
            cost.receive(amount, close());
        }
        if let Some(cost) = from.and_then(|from| self.costs.get_mut(&from)) {
            cost.send(amount, close());
        }
        let first = self.days[0].0;
        let is_recent =
            |time: &Time| time.day() >= first || self.last.0 - time.0 < LONGEST * DAY_MS;
        let Some(time) = transfer.timestamp.filter(is_recent) else {
            return;
        };
        let groups = |side: Option<Address>| {
            let groups = side.and_then(|address| members.of.get(&address));
            groups.copied().unwrap_or_default()
        };
        let [sent, received] = [from, to].map(groups);
        let ago = self.last.0 - time.0;
        let usd = close().map_or(f64::NAN, |close| amount * close);
        let day = usize::try_from(time.day().0 - first.0).ok();
        for group in FlowGroup::ALL {
            // Within a group nothing flows.
            let sign = match ((received & group.bit()).cmp(&(sent & group.bit())), group) {
                (Ordering::Equal, _) => continue,
                (Ordering::Greater, _) => 1.0,
                (Ordering::Less, _) => -1.0,
            };
            let both = [amount * sign, usd * sign];
            for (sums, days) in self.of[group as usize].0.iter_mut().zip(SPANS) {
                if ago < days * DAY_MS {
                    *sums = [sums[0] + both[0], sums[1] + both[1]];
                }
            }
            if let Some((_, of)) = day.and_then(|day| self.days.get_mut(day)) {
                let sums = &mut of[group as usize].0[0];
                *sums = [sums[0] + both[0], sums[1] + both[1]];
            }
        }
    }
}

impl GroupFlows {
    /// The flows over the spans alone.
    pub fn without_days(mut self) -> Vec<GroupFlow> {
        self.groups.iter_mut().for_each(|group| group.days.clear());
        self.groups
    }

    pub fn of(&self, group: FlowGroup) -> Option<&GroupFlow> {
        self.groups.iter().find(|flow| flow.group == group)
    }

    /// The trend of the whales' balance over 7 days: a change beyond ±`threshold_percent` has a direction. `None` if it is unknown who they
    /// are, or the transfers do not cover the days.
    pub fn whale_change(&self, threshold_percent: f64) -> Option<WhaleChange> {
        let whales = self.of(FlowGroup::Whales)?;
        let (net, balance) = (whales.net_7d.tokens?, whales.balance?);
        let (buyers, sellers) = (whales.buyers_7d?, whales.sellers_7d?);
        let before = balance - net;
        let change = (before > 0.0).then(|| percent(before, balance));
        Some(WhaleChange {
            trend: trend_of(change, before, balance, threshold_percent),
            from: Time(self.last.0 - SPANS[WEEK] * DAY_MS).day(),
            to: self.last.day(),
            balance_before: before,
            balance,
            percent: change,
            moves: Some(WhaleMoves {
                share: self.supply.map(|supply| net / supply),
                whales: whales.members?,
                buyers,
                sellers,
                confidence: confidence(net, buyers, sellers),
            }),
        })
    }
}

/// One minus the probability that at least as many of the whales that moved did so in the net flow's direction if each tossed a coin: the
/// sign test (Dixon and Mood, 1946). `None` without a direction.
fn confidence(net: f64, buyers: u64, sellers: u64) -> Option<f64> {
    let with = match net.partial_cmp(&0.0)? {
        Ordering::Equal => return None,
        Ordering::Greater => buyers,
        Ordering::Less => sellers,
    };
    let coin = Binomial::new(0.5, buyers + sellers).ok()?;
    let below = with.checked_sub(1).map_or(0.0, |below| coin.cdf(below));
    // The distribution is computed to about ten digits.
    Some((below * 1e9).round() / 1e9)
}

#[cfg(test)]
mod tests;
