//! Answers from aggregated balances equal those from all rows.

use std::{collections::HashMap, fmt::Write as _};

use super::{Chance, loaded, near::same};
use crate::{
    analysis::{
        market::Market,
        security::holders::wanted,
        token::{Thresholds, detail},
    },
    dataset::{
        Dataset, Table,
        address::Address,
        holding::{Balances, IndividualHolders, ListedBalances, RestAggregates},
        in_place::{Fetch, FetchError, FetchKey, Fetched, InPlaceCache, Prefetched, RowsVersion},
        progress::{LoadProgress, Silent},
        sample, schema,
    },
    question::{
        Question as _,
        progress::Progress as EngineTable,
        security::SecurityQuestion,
        snapshot::{AnswerSettings, Snapshot},
    },
};

/// A token's rows in table order.
type Rows = Vec<(Address, Option<f64>)>;

/// In-memory equivalent of `holders::balances_sql`, with `largest` balances listed one by one.
fn local(rows: &Rows, individual: &IndividualHolders, largest: usize) -> Balances {
    let is_named = |holder: &Address| individual.named.contains(holder) || holder.is_burn_address();
    let is_gone = |holder: &Address| individual.burned.contains(holder) || (holder.is_burn_address() && !individual.named.contains(holder));
    let positive = |balance: Option<f64>| balance.filter(|balance| *balance > 0.0).unwrap_or_default();
    let (mut told, mut watched_in_rest, mut rest) = (Rows::new(), Vec::new(), Vec::new());
    let mut place = 0;
    for (holder, balance) in rows {
        place += usize::from(!is_named(holder));
        if is_named(holder) || place <= largest {
            told.push((*holder, *balance));
        } else if let Some(balance) = balance.filter(|balance| *balance > 0.0) {
            rest.push(balance);
            watched_in_rest.extend(individual.watched.contains(holder).then_some((*holder, balance)));
        }
    }
    let every: f64 = rows.iter().map(|(_, balance)| positive(*balance)).sum();
    let burned: f64 = rows.iter().filter(|(holder, _)| is_gone(holder)).map(|(_, balance)| positive(*balance)).sum();
    let total = individual.supply.filter(|supply| *supply >= every * 0.999).unwrap_or(every);
    let half = if total - burned > 0.0 { total - burned } else { every } / 2.0;
    let (mut until, mut nakamoto) = (0.0, None);
    for (i, (_, balance)) in rows.iter().filter(|(holder, balance)| !is_named(holder) && positive(*balance) > 0.0).enumerate() {
        until += positive(*balance);
        nakamoto = nakamoto.or_else(|| (until > half).then_some(i as u64 + 1));
    }
    let ranked = rest.iter().rev().enumerate().map(|(i, balance)| (i + 1) as f64 * balance).sum();
    let squares = rest.iter().map(|balance| balance * balance).sum();
    let rest = RestAggregates { count: rest.len() as u64, sum: rest.iter().sum(), squares, ranked, nakamoto };
    Balances { listed: rows.len() as u64, rows: told, watched_in_rest, rest }
}

#[derive(Debug)]
struct Locally(HashMap<Address, Rows>, usize);

impl Fetch for Locally {
    fn fetch(&self, key: &FetchKey, _: RowsVersion, _: &dyn LoadProgress) -> Result<Fetched, FetchError> {
        let FetchKey::Balances { token, individual, .. } = key else {
            return Err(FetchError::Unavailable("not asked for here".to_owned()));
        };
        Ok(Fetched::Balances(local(&self.0[token], individual, self.1)))
    }
}

#[test]
fn sums_of_balances_tell_of_a_token_what_all_rows_tell() {
    let mut chance = Chance(3);
    let (mut watched_in_rest, mut few) = (0, 0);
    for nth in 0..600 {
        let holders = 1 + chance.below(400);
        let equal = chance.below(4) == 0;
        let name = |i: u64| Address::parse(&format!("0x{:040x}", 0xa000 + i)).expect("an address");
        let (mut rows, mut labels, mut kols) = (String::new(), "address,label\n".to_owned(), String::new());
        for i in 0..holders {
            let balance = match chance.below(12) {
                0 => "0".to_owned(),
                1 => String::new(),
                _ if equal => "12.5".to_owned(),
                _ => format!("{:?}", (chance.below(1_000_000) as f64 / 1_000_000.0).powi(6) * 1e9),
            };
            writeln!(rows, "0x1,{},{balance}", name(i)).expect("written");
            if chance.below(9) == 0 {
                let label = ["burn", "exchange", "pool", "locker", "whale", "bridge"][chance.below(6) as usize];
                writeln!(labels, "{},{label}", name(i)).expect("written");
            }
            if chance.below(20) == 0 {
                writeln!(kols, "0x1,{},h{i},1000,0.1", name(i)).expect("written");
            }
        }
        if chance.below(3) == 0 {
            writeln!(rows, "0x1,0x000000000000000000000000000000000000dead,{}", chance.below(1_000_000)).expect("written");
        }
        let supply = ["", "1000000000000", "5000"][chance.below(3) as usize];
        let tables = [
            ("tokens", format!("token_address,symbol,name,chain,price,total_supply\n0x1,A,A,eth,3,{supply}")),
            ("labels", labels),
            ("kols", format!("token_address,kol_address,handle,followers,engagement_rate\n{kols}")),
            ("contracts", format!("token_address,chain,creator,owner\n0x1,eth,{},{}", name(chance.below(50)), name(holders / 2))),
        ];
        let all = format!("token_address,holder_address,balance\n{rows}");
        let with = |more: Option<(&'static str, &str)>| {
            let tables: Vec<(&str, &str)> = tables.iter().map(|(name, text)| (*name, text.as_str())).chain(more).collect();
            sample::dataset(&tables)
        };
        let open_copy = with(Some(("holders", &all)));
        let token = open_copy.tokens()[0].row.token_address;
        let listed: Rows = open_copy.holders_of(&token).balances().collect();
        let held = listed.iter().filter(|(_, balance)| balance.is_some_and(|balance| balance > 0.0)).count() as u64;
        let known = Prefetched::Holders(HashMap::from([(token, ListedBalances { rows: listed.len() as u64, held, checksum: 0 })]));
        let count = listed.len();
        let largest = [10, 100, 1_000][chance.below(3) as usize].max(100);
        few += usize::from(count > largest);
        let in_place =
            InPlaceCache::new(count as u64, "there".to_owned(), known, Box::new(Locally(HashMap::from([(token, listed)]), largest)));
        let Ok(empty) = crate::dataset::load::table::empty(schema::table("holders").expect("a table")) else { panic!("no frame") };
        let stays = Table { in_place: Some(in_place.into()), frame: empty, ..loaded(schema::table("holders").expect("a table")) };
        let others = with(None).tables.iter().filter(|table| table.loaded()).cloned().collect::<Vec<_>>();
        let there = Dataset::new(others.into_iter().chain([stays]).collect());
        let keys = wanted(&there, &there.tokens()[0]);
        let held: Vec<_> = keys.iter().map(|key| there.in_place("holders").expect("a table in place").fetch(key, &Silent)).collect();
        watched_in_rest += usize::from(!there.holding_of(&token, &token).watched_in_rest().is_empty());
        let thresholds = Thresholds { whale_usd: 100_000.0, medium_usd: 10_000.0, whale_change_percent: 1.0 };
        let answers = |dataset: Dataset| {
            let market = Market::new(&dataset);
            let told = serde_json::to_value(detail(&dataset, &dataset.tokens()[0], &market.tokens[0], thresholds)).expect("JSON");
            let listed = serde_json::to_value(&market.tokens[0]).expect("JSON");
            let snapshot = Snapshot::new(1, dataset, AnswerSettings::default());
            let security = SecurityQuestion { contract_address: token, explain: true }.answer(&snapshot, &EngineTable::default());
            [told, listed, serde_json::to_value(security.expect("an answer")).expect("JSON")]
        };
        for (a, b) in answers(open_copy).iter().zip(answers(there)) {
            same(a, &b, &format!("{nth}"));
        }
        drop(held);
    }
    assert!(watched_in_rest > 50 && few > 100, "{watched_in_rest} {few}");
}
