//! Token lists: tokenlists.org, CoinGecko, CoinMarketCap, exports of explorers and databases. A token's chain is never assumed; tokens on
//! non-EVM chains and test networks are left out and counted.

use std::collections::HashMap;

use super::{
    super::{
        error::FileError,
        evidence::addresses,
        names::{CHAIN, DECIMALS, NAME, Names, SYMBOL, TOKEN, is_one_of, plain},
        pair, refusal,
        rows::{self, Edited, GeneratedRows, put},
        sheet::{RawTable, json::KEY},
        sniff::Sniffed,
    },
    FileToImport, ImportPlan, ImportedTable, NO_COLUMN, Refusal, supply,
};
use load::manifest::Unit;
use model::{address::Address, chain::Chain};

const PRICES: &str = "price priceusd currentprice usdprice quoteusdprice tokenprice";
const CAPS: &str = "marketcap marketcapusd quoteusdmarketcap mcap mktcap";
/// JSON objects that map chains to addresses.
const PLATFORMS: &str =
    "platforms platform detailplatforms addresses contracts contractaddresses deployments";
/// EIP-155 chain ids of test networks, whose tokens are worthless.
const TEST_NETWORKS: &str = "\
    3 4 5 42 69 97 280 300 338 420 919 1287 1337 1442 2522 4002 10200 17000 31337 43113 44787 59140 59141 80001 80002 84531 84532 \
    421611 421613 421614 534351 560048 11155111 11155420 168587773";
/// Words in the names of test networks.
const TEST_WORDS: &str =
    "testnet goerli sepolia ropsten rinkeby mumbai fuji kovan holesky amoy alfajores";
/// Names of a token's own address.
const OWN_ADDRESS: &str = "address tokenaddress contractaddress mint tokenmint mintaddress";
const LEFT_OUT: &str = "have no 20-byte address or are on a test network";
const KEPT: &str = "kept";

fn address(sheet: &RawTable, names: &Names) -> Option<usize> {
    let holds = |at: &usize| addresses(sheet.column(*at)) > 0.3;
    let mut all = names.all(TOKEN);
    all.extend(names.all("address contract token id mint hash"));
    all.extend(sheet.names.iter().position(|name| name == KEY));
    // Rows with an address of another form, as on Solana: an address within another object, such as the bridged original, is not theirs.
    let is_nested = |at: &usize| sheet.names[*at].contains('.');
    let is_filled = |at: usize| {
        sheet
            .column(at)
            .filter(|cell| !cell.trim().is_empty())
            .count()
            * 2
            > sheet.first.len()
    };
    let is_own = |at: &usize| !is_nested(at) && is_one_of(&plain(&sheet.names[*at]), OWN_ADDRESS);
    let other_form = all
        .iter()
        .any(|at| is_own(at) && is_filled(*at) && !holds(at));
    all.into_iter()
        .filter(|at| !other_form || !is_nested(at))
        .find(holds)
}

/// Columns named after a chain that hold addresses on it.
fn platforms(sheet: &RawTable) -> Vec<(usize, String)> {
    let of = |(at, name): (usize, &String)| {
        let mut parts = name.split('.');
        let (first, chain, rest) = (parts.next()?, parts.next()?, parts.next());
        let address = rest.is_none_or(|rest| plain(rest).contains("address"));
        let known = is_one_of(&plain(first), PLATFORMS)
            && address
            && !is_one_of(&plain(chain), "tokenaddress name symbol slug id");
        known.then(|| (at, chain.to_owned()))
    };
    let all: Vec<(usize, String)> = sheet.names.iter().enumerate().filter_map(of).collect();
    if all.iter().any(|(at, _)| {
        sheet
            .column(*at)
            .any(|cell| Address::parse(cell.trim()).is_some())
    }) {
        all
    } else {
        Vec::new()
    }
}

pub(super) fn is(sniffed: &Sniffed) -> bool {
    let Some(sheet) = sniffed.sheet.as_ref().filter(|sheet| sheet.named) else {
        return false;
    };
    let names = Names::of(&sheet.names);
    let other = "transactionhash txhash hash balance token0 token0id token0address bytecode tvlusd nametag open qty";
    let named = names.find(SYMBOL).is_some() && (names.has(NAME) || names.has(DECIMALS));
    named && !names.has(other) && (address(sheet, &names).is_some() || !platforms(sheet).is_empty())
}

/// blockchain-etl: supplies in base units, no chain. Other sources use its column names for whole tokens.
pub(super) fn with_supplies(file: &FileToImport<'_>) -> Result<ImportPlan, Refusal> {
    let mut plan = open(file)?;
    let raw = supply::is_raw(file, file.sheet()?)?;
    for take in &mut plan.takes {
        take.manifest.set.remove("total_supply");
        take.rule("total_supply").from = Some("total_supply".to_owned());
        take.rule("total_supply").unit = raw.then_some(Unit::Raw);
    }
    let divided =
        "its `total_supply` is in base units, so it is converted with each token's decimals";
    Ok(plan.saying(if raw {
        divided
    } else {
        "its `total_supply` is in whole tokens, so it is not converted"
    }))
}

pub(super) fn open(file: &FileToImport<'_>) -> Result<ImportPlan, Refusal> {
    let sheet = file.sheet()?;
    let names = Names::of(&sheet.names);
    let several = platforms(sheet);
    let found = address(sheet, &names);
    let mut served: Vec<(&'static str, String)> = Vec::new();
    for (ours, words) in [
        ("symbol", SYMBOL),
        ("name", NAME),
        ("decimals", DECIMALS),
        ("price", PRICES),
        ("market_cap", CAPS),
    ] {
        let at = names.find(words);
        served.push((
            ours,
            at.map_or_else(|| NO_COLUMN.to_owned(), |at| sheet.names[at].clone()),
        ));
    }
    served.push(("total_supply", NO_COLUMN.to_owned()));
    let with = |take: ImportedTable| {
        served
            .iter()
            .fold(take, |take, (ours, theirs)| take.columns(&[(ours, theirs)]))
    };
    if !several.is_empty() {
        let carried: Vec<String> = served
            .iter()
            .map(|(_, theirs)| theirs.clone())
            .filter(|name| name != NO_COLUMN)
            .collect();
        let take = with(ImportedTable::into(
            "tokens",
            row_per_platform(file, sheet, &several, &carried)?,
        ))
        .columns(&[("token_address", "token_address"), ("chain", "chain")]);
        return Ok(ImportPlan::of(vec![take.keep(KEPT, &["yes"], LEFT_OUT)])
            .saying("one row per coin and chain"));
    }
    let at = found.ok_or("has no addresses")?;
    let chain = names
        .in_order(CHAIN)
        .chain(names.find("platformslug platformname platform"))
        .find(|&chain| chain != at && sheet.column(chain).any(|cell| !cell.is_empty()));
    let beside = sheet
        .beside("chainid chain network chainname blockchain")
        .and_then(Chain::known)
        .or_else(|| network(sheet));
    let (name, chain_name) = (
        sheet.names[at].clone(),
        chain.map(|chain| sheet.names[chain].clone()),
    );
    let rows = Edited::over(sheet.rows(file.sniffed)?, [KEPT], move |batch| {
        let chains = chain_name.as_ref().map(|chain| rows::cells(batch, chain));
        let addresses = rows::cells(batch, &name);
        let kept = addresses.iter().enumerate().map(|(row, cell)| {
            let on_test = chains
                .as_ref()
                .and_then(|chains| chains[row].as_deref())
                .is_some_and(is_test_network);
            let good = cell
                .as_deref()
                .is_some_and(|cell| Address::parse(cell.trim()).is_some())
                && !on_test;
            Some(if good { "yes" } else { "no" }.to_owned())
        });
        let kept = kept.collect();
        put(batch, KEPT, kept);
    });
    let mut take = with(ImportedTable::into("tokens", rows))
        .columns(&[("token_address", &sheet.names[at])])
        .keep(KEPT, &["yes"], LEFT_OUT);
    let mut plan = ImportPlan::default();
    match (chain, beside, &file.options.chain) {
        (Some(chain), ..) => take = take.columns(&[("chain", &sheet.names[chain])]),
        (None, Some(chain), _) => {
            plan = plan.saying(format!("chain {chain}, from the file"));
            take = take.set("chain", &chain);
        }
        (None, None, Some(said)) => {
            plan = plan.saying(format!("chain {said}, from --chain"));
            take = take.set("chain", said);
        }
        (None, None, None) => {
            let refusal = no_chain(sheet, &sheet.names[at]);
            return Err(several_chains(sheet, &names, at).map_or(refusal, |why| {
                // No line of `dataset.toml`: a single chain would misplace tokens.
                Refusal::new(format!(
                    "looks like tokens, but names no chain and seems to cover several, as {why}; add a column with the chain of each \
                     row, or pass the chain if they are all on one, as in --chain base"
                ))
            }));
        }
    }
    plan.takes.push(take);
    Ok(plan)
}

/// The evidence that a list spans several chains: coins with several addresses, or several coins with the zero address. In a long list, a
/// few coins may have moved to a new contract.
fn several_chains(sheet: &RawTable, names: &Names, address: usize) -> Option<String> {
    let (symbol, name) = (names.find(SYMBOL)?, names.find(NAME)?);
    let mut met: HashMap<(String, String), &str> = HashMap::new();
    let (mut natives, mut repeats, mut first): (Vec<&str>, usize, Option<String>) =
        Default::default();
    for row in &sheet.first {
        let cell = row[address].trim();
        if Address::parse(cell).is_none() {
            continue;
        }
        if cell.trim_start_matches(['0', 'x']).is_empty() {
            natives.push(&row[symbol]);
        }
        if let Some(other) =
            met.insert((row[symbol].to_uppercase(), row[name].to_uppercase()), cell)
            && !other.eq_ignore_ascii_case(cell)
        {
            repeats += 1;
            first.get_or_insert_with(|| format!("`{}` is both {other} and {cell}", row[symbol]));
        }
    }
    if repeats * 100 > sheet.first.len() {
        return first;
    }
    natives.dedup();
    match &natives[..] {
        [first, second, ..] => Some(format!(
            "0x0…0, the zero address, appears for both `{first}` and `{second}`"
        )),
        _ => None,
    }
}

/// The network prefix of GeckoTerminal ids, `eth_0x…`, if it is the same for all.
fn network(sheet: &RawTable) -> Option<Chain> {
    let at = Names::of(&sheet.names).find("id")?;
    let of = |cell: &str| {
        cell.rsplit_once('_')
            .filter(|(_, address)| Address::parse(address).is_some())
            .and_then(|(network, _)| Chain::known(network))
    };
    let mut all: Vec<Chain> = sheet
        .column(at)
        .filter(|cell| !cell.is_empty())
        .map(of)
        .collect::<Option<_>>()?;
    all.dedup();
    all.pop().filter(|_| all.is_empty())
}

/// The refusal of a token list without chains.
pub(super) fn no_chain(sheet: &RawTable, address: &str) -> Refusal {
    let blank = refusal::CHAIN;
    let explorer = (0..sheet.names.len())
        .find_map(|at| sheet.column(at).take(20).find_map(pair::chain_of_explorer));
    let reason = match explorer {
        Some(chain) => format!(
            "looks like tokens, but names no chain, and the same address can be a different token on another chain; pass --chain \
                {chain}, the chain of its links, if all tokens are on it"
        ),
        None => "looks like tokens, but names no chain, and the same address can be a different token on another chain; if all tokens \
            are on one chain, pass it, as in --chain base (`tokendeck schema --chains` lists the chains)"
            .to_owned(),
    };
    let (chain, quoted) = explorer.map_or((blank, blank.to_owned()), |chain| {
        (chain, format!("\"{chain}\""))
    });
    Refusal::new(reason)
        .say("chain", chain)
        .lines(format!("[tables.tokens] columns = {{ token_address = \"{address}\" }}, set = {{ chain = {quoted} }}"))
}

fn is_test_network(chain: &str) -> bool {
    let word = chain.trim().to_lowercase();
    // Integers stored as floats: 5 is written 5.0.
    is_one_of(word.strip_suffix(".0").unwrap_or(&word), TEST_NETWORKS)
        || TEST_WORDS.split(' ').any(|test| word.contains(test))
}

/// Makes one row per address of a coin.
fn row_per_platform(
    file: &FileToImport<'_>,
    sheet: &RawTable,
    several: &[(usize, String)],
    carried: &[String],
) -> Result<Box<dyn load::formats::RowSource>, FileError> {
    let mut rows = sheet.rows(file.sniffed)?;
    let platforms: Vec<(String, String)> = several
        .iter()
        .map(|(at, chain)| (sheet.names[*at].clone(), chain.clone()))
        .collect();
    let mut made: Vec<Vec<Option<String>>> = Vec::new();
    while let Some(batch) = rows.next_batch()? {
        let kept: Vec<Vec<Option<String>>> = carried
            .iter()
            .map(|name| rows::cells(&batch, name))
            .collect();
        let addresses: Vec<Vec<Option<String>>> = platforms
            .iter()
            .map(|(name, _)| rows::cells(&batch, name))
            .collect();
        for row in 0..batch.height {
            for ((_, chain), cells) in platforms.iter().zip(&addresses) {
                let Some(address) = cells[row]
                    .as_deref()
                    .map(str::trim)
                    .filter(|cell| !cell.is_empty())
                else {
                    continue;
                };
                let good = Address::parse(address).is_some() && !is_test_network(chain);
                let first = [
                    Some(address.to_owned()),
                    Some(chain.clone()),
                    Some(if good { "yes" } else { "no" }.to_owned()),
                ];
                made.push(
                    first
                        .into_iter()
                        .chain(kept.iter().map(|cells| cells[row].clone()))
                        .collect(),
                );
            }
        }
    }
    let names: Vec<&str> = ["token_address", "chain", KEPT]
        .into_iter()
        .chain(carried.iter().map(String::as_str))
        .collect();
    Ok(GeneratedRows::of(&names, file.sniffed.bytes, made))
}
