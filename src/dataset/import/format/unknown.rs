//! Why a file of no known format is refused: which table its columns come nearest to, what does not fit, and what would do.

use super::super::{
    evidence::{Seen, addresses, kind},
    look::Looked,
    names::{CHAIN, NAME, Names, SYMBOL, TOKEN},
    refusal::{ADDRESS, COLUMN, Refusal},
    sheet::Sheet,
};

/// A table, and for each column it must have the names it goes by and the kind its cells are of.
type Near = (&'static str, &'static [(&'static str, &'static [&'static str], Seen)]);

const ACCOUNT: &[&str] = &["address", "addr", "wallet", "holder", "owner", "account", "contract", "地址"];
const TIME: &[&str] = &["timestamp", "time", "datetime", "date", "unix", "day", "日期", "时间", "createdat"];
const PRICE: &[&str] = &["price", "close", "priceusd", "marketprice", "value", "last"];

const NEAR: &[Near] = &[
    (
        "candles",
        &[
            ("timestamp", TIME, Seen::Time),
            ("open", &["open", "o"], Seen::Number),
            ("high", &["high", "h"], Seen::Number),
            ("low", &["low", "l"], Seen::Number),
            ("close", PRICE, Seen::Number),
        ],
    ),
    (
        "tokens",
        &[
            ("token_address", &["address", "contract", "tokenaddress", "contractaddress", "token"], Seen::Address),
            ("symbol", SYMBOL, Seen::Text),
            ("name", NAME, Seen::Text),
            ("chain", CHAIN, Seen::Text),
        ],
    ),
    (
        "holders",
        &[
            ("token_address", TOKEN, Seen::Address),
            ("holder_address", ACCOUNT, Seen::Address),
            ("balance", &["balance", "qty", "quantity", "amount", "value", "size", "数量", "转账代币数量", "totalvolumeusd"], Seen::Number),
        ],
    ),
    (
        "transfers",
        &[
            ("transaction_hash", &["transactionhash", "txhash", "hash", "交易哈希"], Seen::Hash),
            ("from_address", &["from", "fromaddress", "sender", "发送方"], Seen::Address),
            ("to_address", &["to", "toaddress", "receiver", "接收方"], Seen::Address),
            ("value", &["value", "amount", "quantity", "数量"], Seen::Number),
        ],
    ),
    (
        "posts",
        &[
            ("post_id", &["id", "postid", "tweetid", "statusid"], Seen::Number),
            ("token_address", TOKEN, Seen::Address),
            ("title", &["title", "text", "content", "tweet", "fulltext"], Seen::Text),
            ("published_at", &["date", "createdat", "time", "timestamp", "publishedat"], Seen::Time),
        ],
    ),
    (
        "yields",
        &[
            ("protocol", &["protocol", "project", "protocolname"], Seen::Text),
            ("chain", CHAIN, Seen::Text),
            ("symbol", &["symbol", "poolname", "assetstickers", "pool"], Seen::Text),
            ("tvl", &["tvl", "tvlusd", "totaltvlinusd"], Seen::Number),
            ("apy", &["apy", "dailyapy", "apr", "yield30dapy"], Seen::Number),
        ],
    ),
    (
        "pools",
        &[
            ("address", &["pool", "pair", "pooladdress", "pairaddress"], Seen::Address),
            ("token0", &["token0", "token1"], Seen::Address),
            ("dex_id", &["dex", "exchange", "protocol"], Seen::Text),
            ("chain", CHAIN, Seen::Text),
        ],
    ),
    ("labels", &[("address", ACCOUNT, Seen::Address), ("label", &["label", "category", "type", "tag"], Seen::Text)]),
    (
        "holder_counts",
        &[
            ("token_address", TOKEN, Seen::Address),
            ("date", TIME, Seen::Time),
            ("holders", &["holders", "holdercount", "addresscount"], Seen::Number),
        ],
    ),
];

/// The reason.
pub(in crate::dataset::import) fn unknown(looked: &Looked) -> Refusal {
    let near = looked.sheet.as_ref().and_then(nearest).unwrap_or_default();
    let told = if near.reason.is_empty() { String::new() } else { format!(" {}", near.reason) };
    let known = "`tokendeck import --formats` says which are known and how each looks";
    let reason = format!("is of no format known: it holds {}.{told} {known}", looked.seen());
    Refusal { reason, ..near }
}

fn nearest(sheet: &Sheet) -> Option<Refusal> {
    if !sheet.named {
        return Some(unnamed(sheet));
    }
    let names = Names::of(&sheet.names);
    let served = |(table, columns): &Near| {
        let found: Vec<Option<usize>> = columns.iter().map(|(_, words, _)| words.iter().find_map(|word| names.find(&[word]))).collect();
        let fits = found.iter().zip(columns.iter()).filter(|(at, (.., seen))| at.is_some_and(|at| fits(sheet, at, *seen))).count();
        (fits * 100 / columns.len() + usize::from(*table == "candles" && fits > 2) * 10, found)
    };
    let (near, (score, found)) = NEAR.iter().map(|near| (near, served(near))).max_by_key(|(_, (score, _))| *score)?;
    let (table, columns) = near;
    if score < 20 {
        return None;
    }
    let lacking = columns.iter().zip(&found).find(|((.., seen), at)| at.is_none_or(|at| !fits(sheet, at, *seen)));
    let why = match lacking {
        Some(((ours, ..), None)) => format!("no column is its `{ours}`"),
        Some(((ours, _, seen), Some(at))) => {
            let cell = sheet.column(*at).find(|cell| !cell.is_empty()).unwrap_or_default();
            let cell: String = cell.chars().take(60).collect();
            format!("`{cell}` in `{}` is {} that `{ours}` must be", sheet.names[*at], no(*seen))
        }
        None => "what its figures are is not sure by their names".to_owned(),
    };
    let name = |at: &Option<usize>| at.map_or(COLUMN, |at| sheet.names[at].as_str());
    let lines: Vec<String> = columns.iter().zip(&found).map(|((ours, ..), at)| format!("{ours} = \"{}\"", name(at))).collect();
    let say = |((ours, ..), at): (&(&'static str, &[&str], Seen), &Option<usize>)| match *ours {
        // What no column holds may be one for the whole file.
        "token_address" if at.is_none() && *table != "tokens" => ("token", ADDRESS.to_owned()),
        "chain" if at.is_none() => ("set", "chain=eth".to_owned()),
        ours => ("map", format!("{ours}={}", name(at))),
    };
    Some(
        Refusal::new(format!("Nearest is the table `{table}`, but {why}; if a column is meant all the same, say so."))
            .say("as", table.to_string())
            .saying(columns.iter().zip(&found).map(say))
            .lines(format!("[tables.{table}] columns = {{ {} }}", lines.join(", "))),
    )
}

fn fits(sheet: &Sheet, at: usize, seen: Seen) -> bool {
    let found = kind(sheet.column(at).take(200));
    match seen {
        Seen::Time => matches!(found, Seen::Time | Seen::Number),
        Seen::Text => matches!(found, Seen::Text | Seen::Number),
        Seen::Address => addresses(sheet.column(at)) > 0.5,
        other => found == other,
    }
}

fn no(seen: Seen) -> &'static str {
    match seen {
        Seen::Address => "no address",
        Seen::Hash => "no hash",
        Seen::Number => "no number",
        Seen::Time => "no time",
        _ => "not the text",
    }
}

/// Columns without names: what each holds, by which a person can name them.
fn unnamed(sheet: &Sheet) -> Refusal {
    let shown: Vec<String> = (0..sheet.names.len().min(6))
        .map(|at| {
            let what = match kind(sheet.column(at).take(200)) {
                Seen::Address => "addresses",
                Seen::Hash => "hashes",
                Seen::Hex => "bytes that are no addresses",
                Seen::Number => "numbers",
                Seen::Time => "times",
                Seen::Text => "texts",
                Seen::Empty => "nothing",
            };
            let cell: String = sheet.column(at).find(|cell| !cell.is_empty()).unwrap_or_default().chars().take(24).collect();
            format!("{} {what} (`{cell}`)", at + 1)
        })
        .collect();
    let told = format!("Its columns have no names: {}.", shown.join(", "));
    let address = (0..sheet.names.len()).find(|&at| addresses(sheet.column(at)) > 0.9);
    let number = (0..sheet.names.len()).find(|&at| kind(sheet.column(at).take(200)) == Seen::Number);
    let (Some(address), Some(number), true) = (address, number, sheet.names.len() < 6) else {
        return Refusal::new(format!("{told} Say what they are, as in --as TABLE --map OURS=1."))
            .say("as", "TABLE")
            .say("map", format!("{COLUMN}=1"))
            .lines("[tables.TABLE] header = false, columns = { COLUMN = \"1\" }");
    };
    let (address, number) = (address + 1, number + 1);
    Refusal::new(format!(
        "{told} If they are balances, nearest is the table `holders`: say what the columns are, of which token, and the unit, as in --as holders --map \
         holder_address={address} --map balance={number} --unit raw --token ADDRESS."
    ))
    .say("as", "holders")
    .say("map", format!("holder_address={address}"))
    .say("map", format!("balance={number}"))
    .say("unit", "raw")
    .say("token", ADDRESS)
    .lines(format!(
        "[tables.holders] header = false, columns = {{ holder_address = \"{address}\", balance = {{ from = \"{number}\", unit = \"raw\" }} }}"
    ))
}
