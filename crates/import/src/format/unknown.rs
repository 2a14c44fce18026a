//! The refusal of a file of unknown format: the nearest table, the mismatches, and a command that maps the columns. The command has what
//! the cells prove; the rest are placeholders.

mod cells;

use self::cells::{candles_by_rows, numbers_by_time, transfers_by_cells, unnamed};
use super::{
    super::{
        evidence::{CellKind, addresses, kind, of_other_networks},
        names::{CHAIN as CHAINS, Names, SYMBOL, TOKEN, plain},
        refusal::{ADDRESS, CHAIN, COLUMN, DEX, PROTOCOL, Refusal, UNIT, VALUE},
        sheet::RawTable,
        sniff::{FileShape, Sniffed},
    },
    transfers, yields,
};
use crate::ImportOptions;
use model::chain::Chain;

/// Required type of a column's cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Address,
    /// Addresses, or lists of them in one cell.
    Addresses,
    Hash,
    Number,
    Time,
    Text,
    Chain,
}

/// A schema column, the names to look for, and its cell type.
type Column = (&'static str, &'static str, Kind);

/// A table that a file may be close to.
struct NearTable {
    table: &'static str,
    /// How many of these columns a file must have.
    telling: (usize, &'static [&'static str]),
    columns: &'static [Column],
}

const ACCOUNT: &str = "address addr wallet holder owner account contract 地址";
const TIME: &str = "timestamp timestampms unixtime unixtimestamp utctime dateutc time datetime date unix day 日期 时间 createdat";
const TOKEN_NAME: &str = "name tokenname 代币名称 fullname projectname project coin asset";
const PRICE: &str = "price prices close priceusd marketprice last";

/// What stands between the items of a list in one cell.
const LIST: [char; 2] = [';', ','];

/// Tables, how many of which columns tell them, and their columns: the cells' type, and the names to look for.
macro_rules! near {
    ($($table:literal $count:literal of [$($telling:literal),*] { $($name:literal $kind:ident $names:expr;)* })*) => {
        &[$(NearTable {
            table: $table,
            telling: ($count, &[$($telling),*]),
            columns: &[$(($name, $names, Kind::$kind)),*],
        }),*]
    };
}

const NEAR: &[NearTable] = near! {
    "candles" 2 of ["open", "high", "low", "close"] {
        "timestamp" Time TIME;
        "open" Number "open o";
        "high" Number "high h";
        "low" Number "low l";
        "close" Number PRICE;
    }
    "tokens" 2 of ["token_address", "symbol", "name"] {
        "token_address" Address "address contract tokenaddress contractaddress token";
        "symbol" Text SYMBOL;
        "name" Text TOKEN_NAME;
        "chain" Chain CHAINS;
    }
    // An amount not named a balance was usually paid or distributed.
    "holders" 1 of ["holder_address"] {
        "token_address" Address TOKEN;
        "holder_address" Address ACCOUNT;
        "balance" Number "balance balances tokenbalance 余额 持有数量";
    }
    "transfers" 2 of ["transaction_hash", "from_address", "to_address"] {
        "transaction_hash" Hash "transactionhash txhash hash 交易哈希";
        "from_address" Address "from fromaddress sender 发送方";
        "to_address" Address "to toaddress receiver 接收方";
        "value" Number "value amount quantity 数量";
    }
    "posts" 2 of ["title", "published_at"] {
        "token_address" Address TOKEN;
        "title" Text "title text content tweet fulltext body selftext";
        // A time that is said to be UTC or Unix time is so; one beside it may be in local time.
        "published_at" Time "dateunixtime createdutc dateutc timestampms unixtime date createdat time timestamp publishedat created";
    }
    "yields" 1 of ["apy"] {
        "protocol" Text "protocolname project protocol";
        "chain" Chain CHAINS;
        "symbol" Text "symbol poolname assetstickers pool";
        "tvl" Number "tvl tvlusd totaltvlinusd";
        "apy" Number "apy dailyapy apr yield30dapy";
    }
    "pools" 1 of ["token0", "token1"] {
        "address" Address "pool pair pooladdress pairaddress address";
        "token0" Addresses "token0 tokens";
        "token1" Addresses "token1 tokens";
        "dex_id" Text "dex exchange protocol";
        "chain" Chain CHAINS;
    }
    "labels" 2 of ["address", "label"] {
        "address" Address ACCOUNT;
        "label" Text "label category type tag";
    }
    "holder_counts" 1 of ["holders"] {
        "token_address" Address TOKEN;
        "date" Time TIME;
        "holders" Number "holders holdercount addresscount";
    }
};

/// Columns of posts that may be missing.
const OF_POSTS: &[(&str, &str)] = &[
    ("post_id", "id idstr tweetid statusid postid"),
    ("link", "url link permalink tweeturl posturl"),
    (
        "author",
        "username screenname author user userscreenname handle",
    ),
];

/// Columns of tokens that may be missing.
const OF_TOKENS: &[(&str, &str)] = &[
    ("price", "price priceusd currentprice"),
    (
        "market_cap",
        "marketcap mktcap mcap marketcapusd marketcapitalization",
    ),
    ("total_supply", "totalsupply supply"),
    ("holders", "holders holdercount"),
];

/// Builds the refusal.
pub(crate) fn unknown(sniffed: &Sniffed, options: &ImportOptions) -> Refusal {
    if let Some(flaw) = sniffed.first_row_flaw() {
        return flaw.into();
    }
    let near = if is_printed(sniffed) {
        "It looks like a table that a program printed with spaces between its columns; save it as CSV, in pandas with `df.to_csv()`.".into()
    } else {
        sniffed
            .sheet
            .as_ref()
            .and_then(|sheet| nearest(sheet, options))
            .unwrap_or_default()
    };
    let told = if near.reason.is_empty() {
        String::new()
    } else {
        format!(" {}", near.reason)
    };
    let known = "`tokendeck import --formats` lists the known formats";
    let reason = format!(
        "has an unknown format: it contains {}.{told} {known}",
        sniffed.summary()
    );
    Refusal { reason, ..near }
}

/// Whether nearly all lines are one cell with three parts or more, between which are several blanks.
fn is_printed(sniffed: &Sniffed) -> bool {
    let FileShape::Rows(rows) = &sniffed.shape else {
        return false;
    };
    let parts = |cell: &String| {
        cell.split("  ")
            .filter(|part| !part.trim().is_empty())
            .count()
    };
    let printed = rows
        .iter()
        .filter(|row| row.len() == 1 && row.iter().all(|cell| parts(cell) > 2))
        .count();
    printed > 2 && printed * 10 >= rows.len() * 8
}

fn nearest(sheet: &RawTable, options: &ImportOptions) -> Option<Refusal> {
    if let Some(refusal) = exchanged(sheet) {
        return Some(refusal);
    }
    if let Some(refusal) = other_networks(sheet) {
        return Some(refusal);
    }
    if !sheet.named {
        return Some(unnamed(sheet));
    }
    let names = Names::of(&sheet.names);
    // One of these names whose cells are right, else any of them.
    let one = |words, kind| {
        names
            .in_order(words)
            .find(|at| holds_kind(sheet, *at, kind))
            .or_else(|| names.in_order(words).next())
    };
    let found = |near: &NearTable| -> Vec<Option<usize>> {
        near.columns
            .iter()
            .map(|(_, words, kind)| one(words, *kind))
            .collect()
    };
    // Scored by the share of columns found; candles first, as their names are distinctive.
    let score = |near: &NearTable| {
        let found = found(near);
        let fit: Vec<&str> = near
            .columns
            .iter()
            .zip(&found)
            .filter(|((.., kind), at)| at.is_some_and(|at| holds_kind(sheet, at, *kind)))
            .map(|((ours, ..), _)| *ours)
            .collect();
        let (least, telling) = near.telling;
        let near_enough = telling.iter().filter(|ours| fit.contains(*ours)).count() >= least;
        near_enough.then(|| {
            fit.len() * 100 / near.columns.len() + usize::from(near.table == "candles") * 10
        })
    };
    match NEAR
        .iter()
        .filter_map(|near| Some((score(near)?, near)))
        .max_by_key(|(score, _)| *score)
    {
        Some((_, near)) => {
            let contracts = || {
                names
                    .all(TOKEN)
                    .into_iter()
                    .find(|&at| holds_kind(sheet, at, Kind::Address))
            };
            let own_coin = if near.table == "transfers" {
                transfers::of_own_coin(sheet, None, contracts())
            } else {
                None
            };
            own_coin
                .map(|refusal| Refusal {
                    reason: format!("It {}.", refusal.reason),
                    ..refusal
                })
                .or_else(|| Some(refusal(sheet, near, &found(near), options)))
        }
        None => one_price(sheet, &names)
            .or_else(|| candles_by_rows(sheet))
            .or_else(|| transfers_by_cells(sheet))
            .or_else(|| numbers_by_time(sheet)),
    }
}

/// Refuses a price series: no option makes candles of it, as the prices in between are unknown.
fn one_price(sheet: &RawTable, names: &Names) -> Option<Refusal> {
    let of = |words: &str, kind| {
        names
            .in_order(words)
            .next()
            .filter(|&at| holds_kind(sheet, at, kind))
    };
    let (_, price) = (of(TIME, Kind::Time)?, of(PRICE, Kind::Number)?);
    let price = &sheet.names[price];
    Some(Refusal::new(format!(
        "It has only one price per time, `{price}`, but a candle has four (open, high, low, close); get candles from the source."
    )))
}

/// Refuses addresses of other networks, unless 0x addresses are next to them. Those within another object are of that object.
fn other_networks(sheet: &RawTable) -> Option<Refusal> {
    if Names::of(&sheet.names).has("open high low title text content") {
        return None;
    }
    let at = (0..sheet.names.len()).find(|&at| of_other_networks(sheet, at) > 0.5)?;
    let depth = |at: usize| sheet.names[at].matches('.').count();
    if (0..sheet.names.len())
        .any(|own| depth(own) <= depth(at) && addresses(sheet.column(own)) > 0.0)
    {
        return None;
    }
    let cell: String = sheet
        .column(at)
        .find(|cell| !cell.is_empty())
        .unwrap_or_default()
        .chars()
        .take(70)
        .collect();
    Some(Refusal::new(format!(
        "Its addresses, such as `{cell}` in `{}`, belong to a network that tokendeck does not support; tokendeck stores only addresses \
            that consist of 0x and 40 hexadecimal digits, as on Ethereum.",
        sheet.names[at]
    )))
}

/// Refuses candles whose times are the names of columns and whose first column has the names of the prices.
fn exchanged(sheet: &RawTable) -> Option<Refusal> {
    let [_, times @ ..] = &sheet.names[..] else {
        return None;
    };
    let firsts: Vec<String> = sheet.column(0).map(plain).collect();
    // Without a header found, the times are a row.
    let row = sheet
        .first
        .first()
        .map_or(&[][..], |row| row.get(1..).unwrap_or_default());
    let are_times = |cells: &[String]| kind(cells.iter().map(String::as_str)) == CellKind::Time;
    let has = |name: &str| firsts.iter().any(|first| first.starts_with(name));
    let is_so = times.len() > 1
        && (are_times(times) || are_times(row))
        && ["open", "high", "low", "close"].into_iter().all(has);
    is_so.then(|| {
        Refusal::new(
            "Its rows and columns are swapped: its times are side by side and its prices below one another; save it with one row per \
             time, as with `df.T.to_csv()` in pandas.",
        )
    })
}

/// Lists the table's columns found and missing. The command is offered only if some column could fill each placeholder.
fn refusal(
    sheet: &RawTable,
    near: &NearTable,
    found: &[Option<usize>],
    options: &ImportOptions,
) -> Refusal {
    let table = near.table;
    let fit: Vec<Option<usize>> = near
        .columns
        .iter()
        .zip(found)
        .map(|((.., kind), at)| at.filter(|&at| holds_kind(sheet, at, *kind)))
        .collect();
    let free = |kind: Kind| {
        (0..sheet.names.len()).any(|at| !fit.contains(&Some(at)) && holds_kind(sheet, at, kind))
    };
    let (mut lacking, mut say, mut lines, mut sets) =
        (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let (mut can_be, mut has_lists) = (true, false);
    let has_texts = (0..sheet.names.len())
        .any(|at| !fit.contains(&Some(at)) && kind(sheet.column(at).take(200)) == CellKind::Text);
    for (((ours, _, kind), named), at) in near.columns.iter().zip(found).zip(&fit) {
        if let (Some(at), Kind::Addresses) = (at, kind)
            && let Some(between) = sheet
                .column(*at)
                .find_map(|cell| cell.chars().find(|c| LIST.contains(c)))
        {
            // No option takes an item of a list.
            let (item, name) = (if *ours == "token0" { 1 } else { 2 }, &sheet.names[*at]);
            lines.push(format!(
                "{ours} = {{ from = \"{name}\", split = \"{between}\", item = {item} }}"
            ));
            lacking.push(format!("its `{ours}` is item {item} of `{name}`, which dataset.toml can split but an import cannot"));
            has_lists = true;
            continue;
        }
        if let Some(at) = at {
            say.push(("map", format!("{ours}={}", sheet.names[*at])));
            lines.push(format!("{ours} = \"{}\"", sheet.names[*at]));
            if yields::PERCENT.contains(ours)
                && (yields::unit_shown(sheet, *at).is_none()
                    || yields::may_be_of_a_period(&sheet.names[*at]))
            {
                say.push(("unit", UNIT.to_owned()));
                if yields::may_be_of_a_period(&sheet.names[*at]) {
                    let name = &sheet.names[*at];
                    lacking.push(format!(
                        "`{name}` may be an annual rate or the rate of a single period, and tokendeck needs annual rates (--unit cannot \
                            convert a daily rate)"
                    ));
                }
            }
            continue;
        }
        // What the user has said is repeated with the suggested command.
        if *ours == "token_address" && table != "tokens" && options.token.is_some() {
            continue;
        }
        lacking.push(why_missing(sheet, ours, *kind, *named));
        let same = match *ours {
            "token_address" if table != "tokens" => Some(ADDRESS),
            "chain" => Some(CHAIN),
            "dex_id" => Some(DEX),
            "protocol" => Some(PROTOCOL),
            // The history of one pool does not name it.
            "symbol" if table == "yields" && !has_texts => Some(VALUE),
            _ => None,
        };
        match same {
            Some(ADDRESS) => say.push(("token", ADDRESS.to_owned())),
            Some(blank) => say.push(("set", format!("{ours}={blank}"))),
            None if table == "yields" && yields::MAY_LACK.contains(ours) => {}
            None => {
                can_be &= free(*kind);
                say.push(("map", format!("{ours}={COLUMN}")));
                lines.push(format!("{ours} = {COLUMN}"));
            }
        }
        // Unquoted, so that a placeholder left in place is invalid TOML.
        sets.extend(same.map(|blank| format!("{ours} = {blank}")));
    }
    if table == "posts" {
        say.extend(
            of_posts(sheet, &fit)
                .into_iter()
                .map(|(ours, at)| ("map", format!("{ours}={}", sheet.names[at]))),
        );
    }
    if table == "tokens" {
        let names = Names::of(&sheet.names);
        for (ours, words) in OF_TOKENS {
            let mut places = names.in_order(words);
            if let Some(at) = places.find(|at| holds_kind(sheet, *at, Kind::Number)) {
                say.push(("map", format!("{ours}={}", sheet.names[at])));
                lines.push(format!("{ours} = \"{}\"", sheet.names[at]));
            }
        }
    }
    let why = if lacking.is_empty() {
        "its column names alone do not show what its values are".to_owned()
    } else {
        lacking.join("; ")
    };
    let is_balance =
        |(column, at): (&Column, &Option<usize>)| column.0 == "balance" && at.is_none();
    let labels = if near.columns.iter().zip(&fit).any(is_balance) {
        " A plain list of addresses, such as an airdrop, can be imported as labels: --as labels --map address=COLUMN --label LABEL."
    } else {
        ""
    };
    let reason = format!("The closest table is `{table}`, but {why}");
    if !can_be {
        return Refusal::new(format!("{reason}.{labels}"));
    }
    let refusal = Refusal::new(format!(
        "{reason}. If its rows belong to that table, map its columns.{labels}"
    ));
    let refusal = if has_lists {
        refusal
    } else {
        refusal.say("as", table).saying(say)
    };
    // Only an import generates ids and leaves yield columns empty; a dataset reads files unchanged.
    if ["posts", "yields"].contains(&table) {
        return refusal;
    }
    let sets = if sets.is_empty() {
        String::new()
    } else {
        format!(", set = {{ {} }}", sets.join(", "))
    };
    refusal.lines(format!(
        "[tables.{table}] columns = {{ {} }}{sets}",
        lines.join(", ")
    ))
}

/// The columns of posts that a row can do without, if their cells fit: ids that differ and are not rounded, links, and names.
fn of_posts(sheet: &RawTable, taken: &[Option<usize>]) -> Vec<(&'static str, usize)> {
    let fits = |ours: &str, at: usize| {
        let filled = || sheet.column(at).filter(|cell| !cell.is_empty());
        let are = |is: fn(&str) -> bool| filled().next().is_some() && filled().all(is);
        match ours {
            "post_id" => {
                let mut ids: Vec<&str> = filled().collect();
                ids.sort_unstable();
                ids.windows(2).all(|two| two[0] != two[1])
                    && are(|cell| !(cell.parse::<f64>().is_ok() && cell.contains(['e', 'E', '.'])))
            }
            "link" => are(|cell| cell.starts_with("http")),
            _ => {
                are(|cell| cell.len() < 100 && !cell.starts_with("http") && !cell.starts_with('{'))
            }
        }
    };
    let names = Names::of(&sheet.names);
    let one = |(ours, words): &(&'static str, &str)| {
        let at = names
            .in_order(words)
            .find(|&at| !taken.contains(&Some(at)) && fits(ours, at))?;
        Some((*ours, at))
    };
    OF_POSTS.iter().filter_map(one).collect()
}

/// Why a schema column is missing; `named` is a column of its name with unsuitable cells.
fn why_missing(sheet: &RawTable, ours: &str, kind: Kind, named: Option<usize>) -> String {
    let Some(at) = named else {
        return format!("no column is recognized as `{ours}`");
    };
    let cell: String = sheet
        .column(at)
        .find(|cell| !cell.is_empty())
        .unwrap_or_default()
        .chars()
        .take(60)
        .collect();
    let no = match kind {
        Kind::Address | Kind::Addresses => "not an address",
        Kind::Hash => "not a hash",
        Kind::Number => "not a number",
        Kind::Time => "not a time",
        Kind::Chain => "not a chain",
        Kind::Text => "not text",
    };
    format!(
        "`{cell}` in `{}` is {no} and cannot be `{ours}`",
        sheet.names[at]
    )
}

fn holds_kind(sheet: &RawTable, at: usize, wanted: Kind) -> bool {
    let found = || kind(sheet.column(at).take(200));
    match wanted {
        Kind::Time => matches!(found(), CellKind::Time | CellKind::Number),
        Kind::Text => matches!(found(), CellKind::Text | CellKind::Number),
        Kind::Number => found() == CellKind::Number,
        Kind::Hash => found() == CellKind::Hash,
        Kind::Address => addresses(sheet.column(at)) > 0.5,
        Kind::Addresses => addresses(sheet.column(at).flat_map(|cell| cell.split(LIST))) > 0.5,
        Kind::Chain => chains(sheet, at),
    }
}

/// Whether a column holds known chains. Small numbers are counts unless the name says that they are ids.
pub(super) fn chains(sheet: &RawTable, at: usize) -> bool {
    let different = sheet.different(at);
    let known = different
        .iter()
        .filter(|cell| Chain::known(cell).is_some())
        .count();
    let small = different
        .iter()
        .all(|cell| cell.trim().parse::<u64>().is_ok_and(|number| number < 10));
    !different.is_empty()
        && known * 10 >= different.len() * 9
        && (!small || plain(&sheet.names[at]).ends_with("id"))
}
