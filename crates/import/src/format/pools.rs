//! Liquidity pools: DexScreener, GeckoTerminal, The Graph, exports of factory events. All-time pool volumes are not taken for daily ones.

use std::collections::HashSet;

use super::{
    super::{
        edits::fixed,
        error::FileError,
        names::Names,
        refusal::{CHAIN, DEX},
        rows::{self, GeneratedRows, address_text},
        sheet::RawTable,
        sniff::Sniffed,
    },
    FileToImport, FormatRow, ImportPlan, ImportedTable, Refusal,
    found::Found,
    mapped,
};
use model::{address::Address, chain::Chain, schema};

/// Columns of trades, which are no pools.
const OF_TRADES: &str = "transactionindex amount0 amount1 amount0in sqrtpricex96";

pub(super) fn is(format: &FormatRow, sniffed: &Sniffed) -> bool {
    let Some(sheet) = &sniffed.sheet else {
        return false;
    };
    format.find("pools", sheet).is_some_and(|found| {
        found.at("liquidity").is_some() || !Names::of(&sheet.names).has(OF_TRADES)
    })
}

pub(super) fn open(file: &FileToImport<'_>) -> Result<ImportPlan, Refusal> {
    let sheet = file.sheet()?;
    let known = file.format.find("pools", sheet).ok_or("has no pools")?;
    let [pool, first, second] = known
        .all(["address", "token0", "token1"])
        .ok_or("has no pools")?;
    let mut take = known.map(
        sheet,
        ImportedTable::into(
            "pools",
            fixed(sheet.rows(file.sniffed)?, known.fixes(sheet)),
        ),
    );
    let mut plan = ImportPlan::default();
    // GeckoTerminal prefixes each id with its network.
    let prefixes = sheet
        .column(first)
        .filter_map(|cell| cell.trim().rsplit_once('_'));
    let network = prefixes
        .filter(|(_, address)| Address::parse(address).is_some())
        .find_map(|(network, _)| Chain::known(network));
    let beside = sheet.beside("chainid chain network").and_then(Chain::known);
    let mut missing = Vec::new();
    match (
        known.at("chain"),
        network.or(beside).or_else(|| file.options.chain.clone()),
    ) {
        (Some(_), _) => {}
        (None, Some(chain)) => {
            plan = plan.saying(format!("chain {chain}"));
            take = take.set("chain", &chain);
        }
        (None, None) => missing.push(("chain", CHAIN)),
    }
    match (known.at("dex_id"), file.set("dex_id")) {
        (Some(_), None) => {}
        (_, Some(dex)) => {
            take.manifest.columns.remove("dex_id");
            take = take.set("dex_id", dex);
        }
        (None, None) => missing.push(("dex_id", DEX)),
    }
    if !missing.is_empty() {
        return Err(lacking(
            [pool, first, second].map(|at| sheet.names[at].as_str()),
            &missing,
        ));
    }
    if let Some(tokens) = tokens(
        file,
        sheet,
        &known,
        take.manifest.set.get("chain").map(String::as_str),
    )? {
        plan = plan.saying("its tokens are imported too, with their symbols, and with their names and decimals if the file has them");
        plan.takes.push(tokens);
    }
    if let Some(schema) = schema::table("pools") {
        plan = mapped::in_fraction(file, sheet, schema, &mut take, plan)?;
    }
    plan.takes.push(take);
    Ok(plan)
}

/// The refusal of pools whose chain or DEX neither a column nor an option names.
fn lacking([pool, first, second]: [&str; 3], missing: &[(&str, &str)]) -> Refusal {
    let what = match missing {
        [("chain", _)] => {
            "looks like pools, but names no chain; pass --set chain=CHAIN, as in --set chain=eth"
        }
        [("dex_id", _)] => {
            "looks like pools, but names no DEX; pass --set dex_id=DEX, as in --set dex_id=uniswap-v3"
        }
        _ => {
            "looks like pools, but names neither a DEX nor a chain; pass --set dex_id=DEX --set chain=CHAIN, as in --set \
             dex_id=uniswap-v3 --set chain=eth"
        }
    };
    let sets: Vec<String> = missing
        .iter()
        .map(|(ours, blank)| format!("{ours} = {blank}"))
        .collect();
    Refusal::new(what).saying(missing.iter().map(|(ours, blank)| ("set", format!("{ours}={blank}")))).lines(format!(
        "[tables.pools] columns = {{ address = \"{pool}\", token0 = \"{first}\", token1 = \"{second}\" }}, set = {{ {} }}",
        sets.join(", ")
    ))
}

/// Token attributes of a pool, by the column names after `token0` or its equivalent.
const OF_TOKENS: [&str; 3] = ["symbol", "name", "decimals decimal"];
/// Column name prefixes of the first and the second token.
const SIDES: &[[&str; 2]] = &[
    ["token0", "token1"],
    ["basetoken", "quotetoken"],
    ["tokena", "tokenb"],
    ["tokenx", "tokeny"],
    ["inputtokens0", "inputtokens1"],
    ["tokens0", "tokens1"],
    ["coins0", "coins1"],
];

/// The pools' tokens, without duplicates, if both sides have symbols; `chain` is the chain of all, if no column has it.
fn tokens(
    file: &FileToImport<'_>,
    sheet: &RawTable,
    found: &Found,
    chain: Option<&str>,
) -> Result<Option<ImportedTable>, FileError> {
    let names = Names::of(&sheet.names);
    let of = |side: &str, words: &str| {
        words
            .split_whitespace()
            .find_map(|word| names.find(&format!("{side}{word}")))
    };
    let columns = |side: &str| -> Vec<Option<String>> {
        OF_TOKENS
            .iter()
            .map(|words| of(side, words).map(|at| sheet.names[at].clone()))
            .collect()
    };
    let both = SIDES
        .iter()
        .find(|sides| sides.iter().all(|side| of(side, "symbol").is_some()));
    let Some([first, second]) = both else {
        return Ok(None);
    };
    let Some([token0, token1]) = found.all(["token0", "token1"]) else {
        return Ok(None);
    };
    let sides = [(token0, columns(first)), (token1, columns(second))];
    let chain_column = found.at("chain").map(|at| sheet.names[at].clone());
    let (mut rows, mut made, mut known) = (sheet.rows(file.sniffed)?, Vec::new(), HashSet::new());
    while let Some(batch) = rows.next_batch()? {
        let chains = chain_column.as_ref().map(|name| rows::cells(&batch, name));
        for (address, columns) in &sides {
            let addresses = rows::cells(&batch, &sheet.names[*address]);
            let cells: Vec<Option<Vec<Option<String>>>> = columns
                .iter()
                .map(|name| name.as_ref().map(|name| rows::cells(&batch, name)))
                .collect();
            for (row, address) in addresses.into_iter().enumerate() {
                let Some(address) = address.map(|cell| address_text(&cell).trim().to_owned())
                else {
                    continue;
                };
                let chain = chains
                    .as_ref()
                    .map_or(chain.map(str::to_owned), |chains| chains[row].clone());
                if Address::parse(&address).is_none()
                    || !known.insert((address.to_lowercase(), chain.clone()))
                {
                    continue;
                }
                let told = cells
                    .iter()
                    .map(|cells| cells.as_ref().and_then(|cells| cells[row].clone()));
                made.push(
                    [Some(address), chain]
                        .into_iter()
                        .chain(told)
                        .collect::<Vec<_>>(),
                );
            }
        }
    }
    let rows = GeneratedRows::of(
        &["token_address", "chain", "symbol", "name", "decimals"],
        file.sniffed.bytes,
        made,
    );
    let worked_out = sides
        .into_iter()
        .flat_map(|(_, columns)| columns.into_iter().flatten())
        .collect();
    Ok(Some(ImportedTable {
        worked_out,
        ..ImportedTable::into("tokens", rows)
    }))
}
