//! The transfers of a token, summed at the engine: the contents of `TransferSums`, in SQL. The rules and numbers are those of the fold over
//! rows in `analysis`. Sends no query.

use std::fmt::Write as _;

use super::{
    super::{
        Columns, EngineQuery,
        sql::{self, ColumnType, EngineColumn},
    },
    CHECKSUM, is_as_it_stands, source_column_of, under,
};
use crate::load::task::TableLoadError;
use model::{
    address::Address,
    time::DAY_MS,
    transfer_sums::{
        DUMP_MS, EMPTYING, EndRole, OPENING, SAMPLES_MAX, SNIPE_BLOCKS, TransferContext,
        WASH_STEP_MS, WASH_STEPS, WORTH_PULLING,
    },
};

/// The largest number, which stands for an unknown time, block, place in the log or status: unknown ones are last in the table's order.
pub(in super::super) const UNKNOWN: i64 = i64::MAX;
/// The largest amount, 2^256 - 1.
const LARGEST: &str =
    "115792089237316195423570985008687907853269984665640564039457584007913129639935";
/// SQL: the table's order.
const KEY: &str = "(t, k, g)";
/// SQL: an address that burns what it receives, as `Address::is_burn_address`.
pub(super) const BURNS: &str = "(startsWith(hex({}), 'DEAD0000000000000000') OR {} IN (unhex('0000000000000000000000000000000000000000'), \
                     unhex('0000000000000000000000000000000000000001'), unhex('000000000000000000000000000000000000DEAD')))";
/// Most edges that are held of a token.
pub(in super::super) const EDGES_MAX: u64 = 500_000;

impl EngineQuery<'_> {
    /// Subquery of the transfers that are kept, which have a hash: `fa`, `oa` and `va` are the ends and the amount as texts, `f` and `o` the ends
    /// as bytes, `amount` the amount; `t`, `k`, `g` and `st` the time, block, place in the log and status.
    pub(super) fn transfers(
        &self,
        columns: &Columns<'_>,
        conditions: &[String],
        summed: bool,
        kept: &str,
    ) -> Result<String, TableLoadError> {
        if !self.load.context.blocks.files.is_empty() {
            return Err(
                self.cannot_stay("its block times are in the local table `blocks`; join them in a `query`, or set read = \"bring\"")
            );
        }
        let is_text = |form: ColumnType| {
            matches!(
                form,
                ColumnType::Text | ColumnType::Fixed(_) | ColumnType::Word
            )
        };
        let column = |name: &'static str| -> Result<Option<String>, TableLoadError> {
            let own = columns.bound.iter().find(|bound| bound.column.name == name);
            let Some(theirs) = source_column_of(name, columns) else {
                let is_optional = own.is_none_or(|own| own.is_absent() && own.constant.is_none())
                    && is_optional(name);
                return if is_optional {
                    Ok(None)
                } else {
                    Err(self.lacks(name, own))
                };
            };
            let written = sql::cast(&theirs, false);
            let read = match (name, theirs.form) {
                ("timestamp", ColumnType::Time | ColumnType::Day) => Some(format!(
                    "ifNull(toUnixTimestamp64Milli({written}), {UNKNOWN})"
                )),
                ("block_number" | "log_index" | "status", ColumnType::Whole) => {
                    Some(format!("ifNull(toInt64({written}), {UNKNOWN})"))
                }
                ("block_number" | "log_index" | "status", ColumnType::Wide) => {
                    Some(format!("ifNull(toInt64OrNull({written}), {UNKNOWN})"))
                }
                ("value", ColumnType::Whole | ColumnType::Wide | ColumnType::Text) => {
                    Some(format!("ifNull(toString({written}), '')"))
                }
                ("token_address" | "transaction_hash" | "from_address" | "to_address", form)
                    if is_text(form) =>
                {
                    Some(format!("lower(ifNull({written}, ''))"))
                }
                _ => None,
            };
            let plain = own.is_some_and(|own| is_as_it_stands(own, &theirs));
            read.filter(|_| plain)
                .map(Some)
                .ok_or_else(|| self.lacks(name, own))
        };
        let must = |name| column(name).map(Option::unwrap_or_default);
        let may =
            |name| column(name).map(|read| read.unwrap_or_else(|| format!("toInt64({UNKNOWN})")));
        let raw = source_column_of("token_address", columns)
            .map_or_else(|| "''".to_owned(), |theirs| sql::cast(&theirs, false));
        let (token, hash, from, to) = (
            must("token_address")?,
            must("transaction_hash")?,
            must("from_address")?,
            must("to_address")?,
        );
        let (value, time, block, place, status) = (
            must("value")?,
            may("timestamp")?,
            may("block_number")?,
            may("log_index")?,
            may("status")?,
        );
        // Hashing what is there costs a third of hashing its texts.
        let own = columns
            .picked
            .iter()
            .enumerate()
            .map(|(nth, column)| EngineColumn {
                name: under(nth),
                ..column.clone()
            });
        let content = if summed {
            sql::hash(&own.collect::<Vec<_>>())
        } else {
            "toUInt64(0)".to_owned()
        };
        let rows = self.renamed(columns, conditions);
        Ok(format!(
            "(SELECT * FROM (SELECT {content} AS hash, ifNull({raw}, '') AS raw, {token} AS token, {hash} AS h, {from} AS fa, {to} AS oa, \
             {value} AS va, {time} AS t, {block} AS k, {place} AS g, {status} AS st, unhex(substring(fa, 3)) AS f, unhex(substring(oa, 3)) AS o, \
             toFloat64OrNull(va) AS amount FROM {rows}) WHERE {kept})"
        ))
    }
}

/// SQL: the loader leaves out transfers without a hash.
pub(super) const HASHED: &str = "notEmpty(h)";

fn is_optional(name: &str) -> bool {
    ["timestamp", "block_number", "log_index", "status"].contains(&name)
}

/// SQL, per token: number and checksum of its transfers, and spellings in mixed case.
pub(super) fn listed_sql(base: &str) -> String {
    format!(
        "SELECT token AS token_address, count() AS listed, toUInt64(0) AS held, {CHECKSUM} AS mark, toUInt64(0) AS again, toUInt64(0) AS odd, \
         groupUniqArrayIf(3)(raw, raw != token) AS written FROM {base} GROUP BY token"
    )
}

/// A transfer's place in the table's order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(in super::super) struct Place {
    pub(in super::super) time: i64,
    pub(in super::super) block: i64,
    pub(in super::super) log: i64,
}

impl Place {
    fn sql(self) -> String {
        format!("({}, {}, {})", self.time, self.block, self.log)
    }
}

/// SQL: whether the values of a cell are read otherwise than by the loader.
pub(super) fn unread() -> String {
    let address =
        |name: &str| format!("(notEmpty({name}) AND NOT match({name}, '^0x[0-9a-f]{{40}}$'))");
    format!(
        "({} OR {} OR NOT match(h, '^(0x)?([0-9a-f][0-9a-f])*$') OR (notEmpty(va) AND (NOT match(va, '^[0-9]{{1,78}}$') OR (length(va) = 78 AND va > \
         '{LARGEST}'))))",
        address("fa"),
        address("oa")
    )
}

/// SQL: whether ends and amount are known.
const KNOWN: &str = "(length(f) = 20 AND length(o) = 20 AND isNotNull(amount))";
const ZERO: &str = "unhex('0000000000000000000000000000000000000000')";

/// The queries over one token's transfers in `base`.
#[derive(Debug)]
pub(in super::super) struct TransferQueries<'a> {
    base: &'a str,
    about: &'a TransferContext,
    /// Addresses that are not traders, as SQL: two arrays.
    roles: String,
}

fn bytes(address: &Address) -> String {
    format!("unhex('{}')", &address.to_string()[2..])
}

fn list(addresses: &[Address]) -> String {
    addresses.iter().map(bytes).collect::<Vec<_>>().join(", ")
}

fn is_one_of(column: &str, addresses: &[Address]) -> String {
    if addresses.is_empty() {
        "0".to_owned()
    } else {
        format!("{column} IN ({})", list(addresses))
    }
}

/// SQL: whether an end is a pool or a router.
fn is_venue(role: &str) -> String {
    format!(
        "{role} IN ({}, {}, {})",
        EndRole::Pool as u8,
        EndRole::QuotedPool as u8,
        EndRole::Router as u8
    )
}

/// SQL: the kinds of a transfer.
const MINT: &str = "0";
const BURN: &str = "1";
const BUY: &str = "2";
const SELL: &str = "3";
const VENUE: &str = "4";
const TRANSFER: &str = "5";

/// SQL: the places of the first transfers that satisfy a condition, as a text.
fn first(name: &str, condition: &str) -> String {
    format!(
        "arrayStringConcat(arrayMap(at -> concat(toString(at.1), ' ', toString(at.2), ' ', toString(at.3)), \
         groupArraySortedIf({SAMPLES_MAX})({KEY}, {condition})), ',') AS {name}"
    )
}

impl<'a> TransferQueries<'a> {
    pub(in super::super) fn new(base: &'a str, about: &'a TransferContext) -> Self {
        let mut roles = about.roles.clone();
        // The arrays must not be empty.
        if !roles.iter().any(|(address, _)| *address == Address::ZERO) {
            roles.push((Address::ZERO, EndRole::Burned));
        }
        let (mut addresses, mut codes) = (String::new(), String::new());
        for (address, role) in roles {
            write!(
                addresses,
                "{}{}",
                if addresses.is_empty() { "" } else { ", " },
                bytes(&address)
            )
            .ok();
            write!(
                codes,
                "{}{}",
                if codes.is_empty() { "" } else { ", " },
                role as u8
            )
            .ok();
        }
        Self {
            base,
            about,
            roles: format!("[{addresses}], [{codes}]"),
        }
    }

    /// A first query whose result decides how the other parts are queried.
    pub(in super::super) fn outline(&self) -> String {
        let unread = unread();
        let pool = EndRole::Pool as u8;
        format!(
            "SELECT count() AS listed, countIf(g != {UNKNOWN}) - uniqExactIf((h, g), g != {UNKNOWN}) AS again, \
             countIf(odd) AS unread, arrayStringConcat(groupUniqArrayIf(3)(concat(fa, ' ', oa, ' ', va), odd), ', ') AS examples, \
             countIf(known) AS transfers, countIf(known) - uniqExactIf({KEY}, known) AS ties, argMinIf(f = {ZERO}, {KEY}, known) AS complete, \
             countIf(known AND st != {UNKNOWN}) AS statuses, countIf(known AND t != {UNKNOWN}) AS timed, minIf(t, known AND t != {UNKNOWN}) AS oldest, \
             maxIf(t, known AND t != {UNKNOWN}) AS newest, sumKahanIf(ifNull(amount, 0), known AND ok AND f = {ZERO}) AS minted, countIf(opens) AS opened, {} \
             FROM (SELECT *, {unread} AS odd, {KNOWN} AS known, st != 0 AS ok, \
             known AND ok AND t != {UNKNOWN} AND transform(o, {}, 0) = {pool} AS opens FROM {})",
            first("opening", "opens"),
            self.roles,
            self.base
        )
    }

    /// Transfers whose ends and amount are known, with the roles of the ends.
    fn rows(&self) -> String {
        let role = |end: &str, name: &str| {
            let burns = BURNS.replace("{}", end);
            format!(
                "if((transform({end}, {}, 0) AS {name}0) = 0 AND {burns}, {}, {name}0) AS {name}",
                self.roles,
                EndRole::Burned as u8
            )
        };
        format!(
            "(SELECT t, k, g, f, o, assumeNotNull(amount) AS v, st != 0 AS ok, t != {UNKNOWN} AS timed, {}, {} FROM {} WHERE {KNOWN})",
            role("f", "rf"),
            role("o", "rt"),
            self.base
        )
    }

    fn has_pools(&self) -> bool {
        self.about
            .roles
            .iter()
            .any(|(_, role)| *role == EndRole::Pool)
    }

    /// SQL: whether the transfer comes after the first liquidity, or is it.
    fn launched(&self, opening: Option<Place>) -> String {
        match (self.about.launch, opening) {
            (Some(_), _) => "1".to_owned(),
            (None, Some(opening)) => format!("{KEY} >= {}", opening.sql()),
            (None, None) => "0".to_owned(),
        }
    }

    fn liquidity(&self) -> String {
        let blocks: Vec<String> = self
            .about
            .liquidity_blocks
            .iter()
            .map(i64::to_string)
            .collect();
        if blocks.is_empty() {
            "0".to_owned()
        } else {
            format!("k IN ({})", blocks.join(", "))
        }
    }

    /// What went into pools and out, with the pool's balance before, and its peak.
    fn pool_sides(&self) -> String {
        let pool = EndRole::Pool as u8;
        let over = "OVER (PARTITION BY pool ORDER BY t, k, g, side ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)";
        format!(
            "(SELECT *, max(if(side = 1 AND ok, held + d, 0)) {over} AS peak FROM (SELECT *, sum(d) {over} AS held FROM (SELECT *, side, \
             if(side = 0, f, o) AS pool, if(ok, if(side = 0, -v, v), 0) AS d, if(side = 0, NOT {}, NOT {} AND f != {ZERO}) AS trades FROM {} \
             ARRAY JOIN [0, 1] AS side WHERE if(side = 0, rf = {pool} AND f != {ZERO}, rt = {pool}))))",
            is_venue("rt"),
            is_venue("rf"),
            self.rows()
        )
    }

    /// Transfers with their kind.
    fn kinds(&self, opening: Option<Place>) -> String {
        let (from_venue, to_venue, liquidity) = (is_venue("rf"), is_venue("rt"), self.liquidity());
        let (pool, quoted) = (EndRole::Pool as u8, EndRole::QuotedPool as u8);
        let plain = format!(
            "multiIf(f = {ZERO}, {MINT}, ({from_venue} AND {to_venue}) OR rf = {quoted} OR rt = {quoted}, {VENUE}, {from_venue}, \
             if({liquidity}, {VENUE}, {BUY}), {to_venue}, if({liquidity}, {VENUE}, {SELL}), rt = {}, {BURN}, {TRANSFER})",
            EndRole::Burned as u8
        );
        let columns = "t, k, g, f, o, v, ok, timed, rf, rt";
        if !self.has_pools() {
            return format!("(SELECT {columns}, {plain} AS kind FROM {})", self.rows());
        }
        let unopened = match (self.about.launch, opening) {
            (Some(_), _) => "0".to_owned(),
            (None, Some(opening)) => format!("{KEY} <= {}", opening.sql()),
            (None, None) => "1".to_owned(),
        };
        let traded = format!(
            "if(side = 0, if((held > 0 AND v >= {EMPTYING:?} * held) OR {liquidity}, {VENUE}, {BUY}), if({unopened} OR held <= v * {OPENING:?} OR \
             {liquidity}, {VENUE}, {SELL}))"
        );
        let trades = format!(
            "f != {ZERO} AND ((rf = {pool} AND NOT {to_venue}) OR (rt = {pool} AND NOT {from_venue}))"
        );
        format!(
            "(SELECT {columns}, {plain} AS kind FROM {} WHERE NOT ({trades}) UNION ALL SELECT {columns}, {traded} AS kind FROM {} WHERE trades)",
            self.rows(),
            self.pool_sides()
        )
    }

    /// Counts and sums by kind. `launch` is the time and block of the first liquidity.
    pub(in super::super) fn main(
        &self,
        opening: Option<Place>,
        launch: Option<(i64, i64)>,
    ) -> String {
        let launched = self.launched(opening);
        let time = launch.map_or(UNKNOWN, |(time, _)| time);
        let sniped = match launch {
            Some((_, block)) if block != UNKNOWN => {
                format!(
                    "{launched} AND k != {UNKNOWN} AND k - ({block}) BETWEEN 0 AND {SNIPE_BLOCKS}"
                )
            }
            _ => "0".to_owned(),
        };
        let since = |condition: &str| {
            if time == UNKNOWN {
                "0".to_owned()
            } else {
                format!("{launched} AND timed AND t - ({time}) {condition}")
            }
        };
        let insiders: Vec<Address> = self
            .about
            .creator
            .into_iter()
            .chain(self.about.owner)
            .collect();
        let (outsider, creator) = (
            is_one_of("f", &insiders),
            is_one_of("f", self.about.creator.as_slice()),
        );
        let circle = is_one_of("o", &self.about.circle);
        let digits: Vec<String> = (1..=9)
            .map(|digit| format!("countIf(digit = {digit}) AS digit{digit}"))
            .collect();
        format!(
            "SELECT countIf(buy) AS buys, countIf(sell) AS sells, countIf(try) AS tried, countIf(try AND NOT ok) AS failed, {}, {}, \
             sumKahanIf(v, snipe) AS sniped, {}, sumKahanIf(v, dump) AS creator_sold, {}, {}, sumKahanIf(v, kind = {BURN} AND ok) AS burned, \
             sumKahanIf(v, moves) AS volume, uniqExactIf(o, ok AND rt = 0) AS receivers, \
             uniqExactIf(o, buy AND rt = 0 AND v > 0 AND NOT {circle}) AS buyers, {} FROM (SELECT *, kind = {BUY} AND ok AS buy, \
             kind = {SELL} AND ok AS sell, kind = {SELL} AND NOT {outsider} AS try, buy AND {sniped} AS snipe, \
             sell AND {creator} AND {} AS dump, kind = {MINT} AND ok AND {} AS late, ok AND kind IN ({BUY}, {SELL}, {TRANSFER}) AS moves, \
             if(moves, toUInt8OrZero(substring(toString(v), 1, 1)), 0) AS digit FROM {})",
            first("sales", "sell"),
            first("failures", "try AND NOT ok"),
            first("snipes", "snipe"),
            first("creator_sales", "dump"),
            first("mints_late", "late"),
            digits.join(", "),
            since(&format!("BETWEEN 0 AND {DUMP_MS}")),
            since("> 0"),
            self.kinds(opening)
        )
    }

    /// What was minted after the first liquidity, by receiver.
    pub(in super::super) fn minted_late(&self, launch: i64) -> String {
        format!(
            "SELECT sumKahan(s) AS minted_late, max(s) AS minted_most, count() AS minted_to FROM (SELECT o, sumKahan(v) AS s FROM {} WHERE \
             f = {ZERO} AND ok AND timed AND t > {launch} GROUP BY o)",
            self.rows()
        )
    }

    /// The transfer that took the largest part out of a pool; none without a pool.
    pub(in super::super) fn emptied(&self) -> Option<String> {
        let sql = format!(
            "SELECT t, k, g, v AS value, least(v / held, 1) AS share FROM {} WHERE side = 0 AND trades AND ok AND held > 0 AND \
             v >= {EMPTYING:?} * held AND held >= {WORTH_PULLING:?} * peak ORDER BY share DESC, t, k, g LIMIT 1",
            self.pool_sides()
        );
        self.has_pools().then_some(sql)
    }

    /// What was added to pools within a day after it.
    pub(in super::super) fn put_back(&self, opening: Option<Place>, emptied: Place) -> String {
        format!(
            "SELECT sumKahan(v) AS put_back FROM {} WHERE rt = {} AND ok AND kind != {SELL} AND timed AND {KEY} > {} AND t - ({}) <= {DAY_MS}",
            self.kinds(opening),
            EndRole::Pool as u8,
            emptied.sql(),
            emptied.time
        )
    }

    /// Traders that received once, from a sender that is not a venue, and never sent: their number by sender and amount.
    fn airdrops(&self) -> String {
        let rows = self.rows();
        format!(
            "(SELECT sender, amount, count() AS n FROM (SELECT o, any(f) AS sender, any(v) AS amount, any(rf) AS role FROM {rows} WHERE ok AND \
             rt = 0 GROUP BY o HAVING count() = 1) WHERE role NOT IN ({}, {}, {}, {}) AND o GLOBAL NOT IN (SELECT f FROM {rows} WHERE ok) \
             GROUP BY sender, amount)",
            EndRole::Pool as u8,
            EndRole::QuotedPool as u8,
            EndRole::Router as u8,
            EndRole::Exchange as u8
        )
    }

    /// The largest of them, and how many are as large.
    pub(in super::super) fn airdrop(&self) -> String {
        format!(
            "SELECT n, count() AS ties, lower(hex(any(sender))) AS sender, any(amount) AS value FROM {} GROUP BY n ORDER BY n DESC LIMIT 1",
            self.airdrops()
        )
    }

    /// Of several as large, the one whose sender is named last, and of the largest amount.
    pub(in super::super) fn airdrop_of_ties(&self, n: u64) -> String {
        let tied = format!(
            "(SELECT sender, amount FROM {} WHERE n = {n})",
            self.airdrops()
        );
        format!(
            "SELECT lower(hex(sender)) AS sender, amount AS value FROM {tied} AS a INNER JOIN (SELECT wallet, min(at) AS at FROM {} WHERE wallet \
             GLOBAL IN (SELECT sender FROM {tied}) GROUP BY wallet) AS b ON a.sender = b.wallet ORDER BY at DESC, amount DESC LIMIT 1",
            self.wallets()
        )
    }

    /// Every mention of an address, with its place: the sender's before the receiver's.
    fn wallets(&self) -> String {
        format!(
            "(SELECT if(side = 0, f, o) AS wallet, (t, k, g, side) AS at FROM {} ARRAY JOIN [0, 1] AS side)",
            self.rows()
        )
    }

    /// Traders that sold, of the circle or not, in the order in which they are named first.
    pub(in super::super) fn sellers(&self, opening: Option<Place>, of_circle: bool) -> String {
        let circle = is_one_of("f", &self.about.circle);
        format!(
            "SELECT lower(hex(wallet)) AS seller, any(sold) AS sold, count() OVER () AS sellers FROM {} AS a INNER JOIN (SELECT f, \
             sumKahan(v) AS sold FROM {} WHERE kind = {SELL} AND ok AND rf = 0 AND {}{circle} GROUP BY f HAVING sold > 0) AS b \
             ON a.wallet = b.f GROUP BY wallet ORDER BY min(at) LIMIT {}",
            self.wallets(),
            self.kinds(opening),
            if of_circle { "" } else { "NOT " },
            if of_circle { SAMPLES_MAX } else { 1 }
        )
    }

    /// Transfers among traders that may be part of a ring, in steps from the first to before the last: in half of the longest window and
    /// the two beside it their sender receives too, and their receiver sends.
    pub(in super::super) fn edges(&self, [first, last]: [i64; 2]) -> String {
        let step = format!("(intDiv(t, {WASH_STEP_MS}) - (t < 0 AND t % {WASH_STEP_MS} != 0))");
        let half =
            format!("(intDiv(step, {WASH_STEPS}) - (step < 0 AND step % {WASH_STEPS} != 0))");
        let (from, to) = (
            (first - WASH_STEPS).saturating_mul(WASH_STEP_MS),
            (last + WASH_STEPS).saturating_mul(WASH_STEP_MS),
        );
        let edges = format!(
            "(SELECT *, toInt64({half}) AS half FROM (SELECT f, o, v, toInt64({step}) AS step FROM {} WHERE ok AND timed AND t >= {from} AND \
             t < {to} AND rf = 0 AND rt = 0 AND f != o AND v > 0))",
            self.rows()
        );
        let beside = |end: &str| {
            format!(
                "SELECT DISTINCT cityHash64({end}), arrayJoin([half - 1, half, half + 1]) FROM {edges}"
            )
        };
        // Twenty bytes as numbers are half of what they are as text.
        let numbers = |end: &str| {
            format!(
                "reinterpretAsUInt64(substring({end}, 1, 8)) AS {end}0, reinterpretAsUInt64(substring({end}, 9, 8)) AS {end}1, \
                 reinterpretAsUInt32(substring({end}, 17, 4)) AS {end}2"
            )
        };
        format!(
            "SELECT toInt32(step) AS step, {}, {}, sumKahan(v) AS volume, toUInt32(count()) AS transfers FROM {edges} WHERE step >= {first} AND \
             step < {last} AND (cityHash64(f), half) GLOBAL IN ({}) AND (cityHash64(o), half) GLOBAL IN ({}) GROUP BY step, f, o \
             LIMIT {}",
            numbers("f"),
            numbers("o"),
            beside("o"),
            beside("f"),
            EDGES_MAX + 1
        )
    }

    /// The transfers at these places, for evidence.
    pub(in super::super) fn samples(&self, places: &[Place]) -> String {
        let places: Vec<String> = places.iter().map(|place| place.sql()).collect();
        format!(
            "{} WHERE {KNOWN} AND {KEY} IN ({}) ORDER BY t, k, g",
            self.sample_rows(),
            places.join(", ")
        )
    }

    fn sample_rows(&self) -> String {
        format!(
            "SELECT t, k, g, if(startsWith(h, '0x'), h, concat('0x', h)) AS hash, fa AS sender, oa AS receiver, ifNull(amount, nan) AS value FROM {}",
            self.base
        )
    }

    /// The first successful transfers from one of these to another.
    pub(in super::super) fn among(&self, members: &[Address]) -> String {
        let members = list(members);
        format!(
            "{} WHERE st != 0 AND f != o AND f IN ({members}) AND o IN ({members}) ORDER BY t, k, g, hash LIMIT {SAMPLES_MAX}",
            self.sample_rows()
        )
    }

    /// What these received less what they sent; what the zero address sends is minted.
    pub(in super::super) fn replayed(&self, holders: &[Address]) -> String {
        format!(
            "SELECT lower(hex(wallet)) AS holder, sumKahan(d) AS balance FROM (SELECT if(side = 0, f, o) AS wallet, if(side = 0, -v, v) AS d FROM {} \
             ARRAY JOIN [0, 1] AS side WHERE ok AND NOT (side = 0 AND f = {ZERO})) WHERE wallet IN ({}) GROUP BY wallet",
            self.rows(),
            list(holders)
        )
    }

    /// The time of the last transfer.
    pub(in super::super) fn newest(&self) -> String {
        format!(
            "SELECT count() AS timed, max(t) AS newest FROM {} WHERE t != {UNKNOWN}",
            self.base
        )
    }

    /// What these received and sent in the days before `newest`.
    pub(in super::super) fn flows(
        &self,
        addresses: &[Address],
        newest: i64,
        spans: [i64; 2],
    ) -> String {
        let mut sums = String::new();
        for (side, name) in [(1, "received"), (0, "sent")] {
            for (nth, days) in spans.iter().enumerate() {
                let within = format!("side = {side} AND t > {}", newest - days * DAY_MS);
                write!(
                    sums,
                    ", sumKahanIf(ifNull(amount, 0), {within}) AS {name}{nth}, countIf({within} AND isNull(amount)) AS {name}{nth}_unknown"
                )
                .ok();
            }
        }
        format!(
            "SELECT lower(hex(wallet)) AS wallet_address, min(t) AS first_seen{sums} FROM (SELECT *, side, if(side = 0, f, o) AS wallet FROM {} \
             ARRAY JOIN [0, 1] AS side WHERE t != {UNKNOWN} AND st != 0 AND f != o AND ifNull(amount, 1) != 0) WHERE wallet IN ({}) GROUP BY wallet",
            self.base,
            list(addresses)
        )
    }
}
