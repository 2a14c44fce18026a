//! Liquidity pools: DexScreener, GeckoTerminal, The Graph, exports of factory events. All-time pool volumes are not taken for daily ones.

use std::collections::HashSet;

use super::{
    super::{
        edits::{Fix, fixed},
        evidence::addresses,
        names::{CHAIN as CHAINS, Names},
        refusal::{CHAIN, DEX},
        rows::{self, GeneratedRows},
        sheet::Sheet,
        sniff::Sniffed,
    },
    FileToImport, ImportPlan, NO_COLUMN, Refusal, Take,
};
use model::{address::Address, chain::Chain};

const POOLS: &str = "pooladdress pairaddress pool pair attributesaddress lpaddress liquiditypool address id contractaddress";
const FIRST: &str = "\
    token0 token0address token0id basetokenaddress tokena tokenaaddress relationshipsbasetokendataid token0contract basetoken \
    tokenxaddress";
const SECOND: &str = "\
    token1 token1address token1id quotetokenaddress tokenb tokenbaddress relationshipsquotetokendataid token1contract quotetoken \
    tokenyaddress";
const DEXES: &str = "dexid dex dexname exchange protocol project relationshipsdexdataid protocolname amm factoryname";
const LIQUIDITY: &str = "liquidityusd reserveusd attributesreserveinusd reserveinusd tvlusd totalvaluelockedusd tvl totalliquidityusd";
const VOLUMES: &str = "\
    volumeh24 volume24h attributesvolumeusdh24 volumeusdh24 volume24husd volumeusd24h h24volumeusd 24hvolume dailyvolumeusd \
    onedayvolumeusd";

struct Columns {
    pool: usize,
    first: usize,
    second: usize,
    dex: Option<usize>,
    chain: Option<usize>,
}

/// The address after a network prefix: `eth_0x…`.
fn bare(cell: &str) -> Option<String> {
    let (_, rest) = cell.trim().rsplit_once('_')?;
    Address::parse(rest).map(|_| rest.to_owned())
}

fn columns(sheet: &Sheet) -> Option<Columns> {
    if !sheet.named {
        return None;
    }
    let names = Names::of(&sheet.names);
    // The header is evidence too: a non-address cell among a few rows is a finding, not another format.
    let holds =
        |at: &usize| addresses(sheet.column(*at)) > 0.5 || sheet.column(*at).take(50).filter(|cell| bare(cell).is_some()).count() > 0;
    let of = |words: &str| words.split_whitespace().flat_map(|word| names.all(word)).find(holds);
    let (first, second) = (of(FIRST)?, of(SECOND)?);
    let pool = POOLS
        .split_whitespace()
        .flat_map(|word| names.all(word))
        .find(|at| *at != first && *at != second && holds(at) && !sheet.names[*at].contains("oken"))?;
    if names.has("transactionindex amount0 amount1 amount0in sqrtpricex96") && !names.has(LIQUIDITY) {
        return None;
    }
    Some(Columns {
        pool,
        first,
        second,
        dex: names.find(DEXES).filter(|at| ![pool, first, second].contains(at)),
        chain: names.find(CHAINS),
    })
}

pub(super) fn is(sniffed: &Sniffed) -> bool {
    sniffed.sheet.as_ref().and_then(columns).is_some()
}

pub(super) fn open(file: &FileToImport<'_>) -> Result<ImportPlan, Refusal> {
    let sheet = file.sheet()?;
    let found = columns(sheet).ok_or("has no pools")?;
    let names = Names::of(&sheet.names);
    let fixes = [found.pool, found.first, found.second]
        .into_iter()
        .filter(|&at| sheet.column(at).any(|cell| bare(cell).is_some()))
        .map(|at| Fix::text(sheet, at, bare));
    let mut take = Take::into("pools", fixed(sheet.rows(file.sniffed)?, fixes.collect())).columns(&[
        ("address", &sheet.names[found.pool]),
        ("token0", &sheet.names[found.first]),
        ("token1", &sheet.names[found.second]),
    ]);
    for (ours, words) in [("liquidity", LIQUIDITY), ("volume24h", VOLUMES), ("pair", "pair pairname poolname attributesname")] {
        let at = names.in_order(words).find(|&at| ![found.pool, found.first, found.second].contains(&at));
        take = take.columns(&[(ours, at.map_or(NO_COLUMN, |at| sheet.names[at].as_str()))]);
    }
    let mut plan = ImportPlan::default();
    // GeckoTerminal prefixes each id with its network.
    let network = sheet
        .column(found.first)
        .find(|cell| bare(cell).is_some())
        .and_then(|cell| cell.rsplit_once('_'))
        .and_then(|(network, _)| Chain::known(network));
    let beside = sheet.beside("chainid chain network").and_then(Chain::known);
    let mut missing = Vec::new();
    take = match (found.chain, network.or(beside).or_else(|| file.options.chain.clone())) {
        (Some(at), _) => take.columns(&[("chain", &sheet.names[at])]),
        (None, Some(chain)) => {
            plan = plan.saying(format!("chain {chain}"));
            take.set("chain", &chain)
        }
        (None, None) => {
            missing.push(("chain", CHAIN));
            take
        }
    };
    take = match (found.dex, file.set("dex_id")) {
        (_, Some(dex)) => take.set("dex_id", dex),
        (Some(at), None) => take.columns(&[("dex_id", &sheet.names[at])]),
        (None, None) => {
            missing.push(("dex_id", DEX));
            take
        }
    };
    if !missing.is_empty() {
        return Err(lacking(sheet, &found, &missing));
    }
    if let Some(tokens) = tokens(file, sheet, &found, take.manifest.set.get("chain").map(String::as_str))? {
        plan = plan.saying("its tokens come with it: symbol, and name and decimals where it has them");
        plan.takes.push(tokens);
    }
    plan.takes.push(take);
    Ok(plan)
}

/// The refusal of pools whose chain or DEX neither a column nor an option names.
fn lacking(sheet: &Sheet, found: &Columns, missing: &[(&str, &str)]) -> Refusal {
    let what = if missing.len() == 2 { "neither the DEX nor the chain they are on" } else { "not all that a pool must have" };
    let flags: Vec<String> = missing.iter().map(|(ours, blank)| format!("--set {ours}={blank}")).collect();
    let sets: Vec<String> = missing.iter().map(|(ours, blank)| format!("{ours} = {blank}")).collect();
    Refusal::new(format!("is nearest to pools, but says {what}: say {}, as dex_id=uniswap-v3 and chain=eth", flags.join(" ")))
        .saying(missing.iter().map(|(ours, blank)| ("set", format!("{ours}={blank}"))))
        .lines(format!(
            "[tables.pools] columns = {{ address = \"{}\", token0 = \"{}\", token1 = \"{}\" }}, set = {{ {} }}",
            sheet.names[found.pool],
            sheet.names[found.first],
            sheet.names[found.second],
            sets.join(", ")
        ))
}

/// Token attributes of a pool, by the column names after `token0` or its equivalent.
const OF_TOKENS: [&str; 3] = ["symbol", "name", "decimals decimal"];
/// Column name prefixes of the first and the second token.
const SIDES: &[[&str; 2]] = &[["token0", "token1"], ["basetoken", "quotetoken"], ["tokena", "tokenb"], ["tokenx", "tokeny"]];

/// The pools' tokens, without duplicates, if both sides have symbols; `chain` is the chain of all, if no column has it.
fn tokens(file: &FileToImport<'_>, sheet: &Sheet, found: &Columns, chain: Option<&str>) -> Result<Option<Take>, String> {
    let names = Names::of(&sheet.names);
    let of = |side: &str, words: &str| words.split_whitespace().find_map(|word| names.find(&format!("{side}{word}")));
    let columns =
        |side: &str| -> Vec<Option<String>> { OF_TOKENS.iter().map(|words| of(side, words).map(|at| sheet.names[at].clone())).collect() };
    let both = SIDES.iter().find(|sides| sides.iter().all(|side| of(side, "symbol").is_some()));
    let Some([first, second]) = both else { return Ok(None) };
    let sides = [(found.first, columns(first)), (found.second, columns(second))];
    let chain_column = found.chain.map(|at| sheet.names[at].clone());
    let (mut rows, mut made, mut known) = (sheet.rows(file.sniffed)?, Vec::new(), HashSet::new());
    while let Some(batch) = rows.next_batch()? {
        let chains = chain_column.as_ref().map(|name| rows::cells(&batch, name));
        for (address, columns) in &sides {
            let addresses = rows::cells(&batch, &sheet.names[*address]);
            let cells: Vec<Option<Vec<Option<String>>>> =
                columns.iter().map(|name| name.as_ref().map(|name| rows::cells(&batch, name))).collect();
            for (row, address) in addresses.into_iter().enumerate() {
                let Some(address) = address.map(|cell| bare(&cell).unwrap_or_else(|| cell.trim().to_owned())) else { continue };
                let chain = chains.as_ref().map_or(chain.map(str::to_owned), |chains| chains[row].clone());
                if Address::parse(&address).is_none() || !known.insert((address.to_lowercase(), chain.clone())) {
                    continue;
                }
                let told = cells.iter().map(|cells| cells.as_ref().and_then(|cells| cells[row].clone()));
                made.push([Some(address), chain].into_iter().chain(told).collect::<Vec<_>>());
            }
        }
    }
    let rows = GeneratedRows::of(&["token_address", "chain", "symbol", "name", "decimals"], file.sniffed.bytes, made);
    let worked_out = sides.into_iter().flat_map(|(_, columns)| columns.into_iter().flatten()).collect();
    Ok(Some(Take { worked_out, ..Take::into("tokens", rows) }))
}
