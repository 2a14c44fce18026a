//! Security from data: trapdoor pools, withdrawn liquidity, code similarity, and synthetic case families. Of the labelled sets the
//! development half is used; without them only the synthetic families are reported.

#[path = "../../../tests/generator/security/families.rs"]
mod families;
#[path = "../../../tests/generator/security.rs"]
mod security;

use std::{collections::BTreeMap, fs::File, path::Path};

use ::security::{
    AnomalyCode, Part,
    holders::{LpFeatures, lp_risk},
    pool_story::{PoolHistory, ReserveSide, one_way},
    similarity::{self, SimilarityIndex},
};
use analysis::numeric::sigmoid;
use load::loader::load;
use model::{
    address::Address,
    progress::{NoProgress, Progress},
    rows::{Amount, PoolEventRow},
    time::Time,
};
use polars::prelude::{DataFrame, DataType, ParquetReader, SerReader};
use query::queries::{
    Query,
    security::SecurityQuery,
    snapshot::{AnswerSettings, Snapshot},
    view::View,
};

use crate::{charts::score::auc, trends::fit::solve};

const LABELLED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../shared/data/security");
const BLOCK_MS: i64 = 12_000;
const FOLDS: usize = 5;

pub(crate) fn report() {
    println!("Security from data\n");
    planted();
    if Path::new(LABELLED).is_dir() {
        trapdoors();
        liquidity();
        neighbours();
    } else {
        println!("The labelled sets are not there: {LABELLED}");
    }
}

/// Confusion counts.
#[derive(Debug, Default)]
struct Tally {
    hits: usize,
    false_alarms: usize,
    missed: usize,
}

impl Tally {
    fn count(&mut self, found: bool, there: bool) {
        match (found, there) {
            (true, true) => self.hits += 1,
            (true, false) => self.false_alarms += 1,
            (false, true) => self.missed += 1,
            (false, false) => {}
        }
    }

    fn line(&self, what: &str, goal: &str) {
        let share = |of: usize| {
            if of == 0 {
                f64::NAN
            } else {
                self.hits as f64 / of as f64
            }
        };
        println!(
            "{what:<34} P {:.3}  R {:.3}   {goal}",
            share(self.hits + self.false_alarms),
            share(self.hits + self.missed)
        );
    }
}

fn planted() {
    for (code, family) in families::FAMILIES {
        let folder = tempfile::tempdir().expect("a folder");
        let cases: Vec<_> = (0..families::SIZE * 2)
            .map(|i| families::case(*family, i))
            .collect();
        let tokens: Vec<String> = cases.iter().map(|case| case.token.clone()).collect();
        security::write(cases, folder.path());
        let snapshot = Snapshot::new(
            1,
            load(folder.path(), &NoProgress).expect("a dataset"),
            AnswerSettings::default(),
        );
        let code = AnomalyCode::parse(code).expect("a code");
        let mut tally = Tally::default();
        for (i, token) in tokens.iter().enumerate() {
            let question = SecurityQuery {
                contract_address: Address::parse(token).expect("an address"),
                explain: true,
            };
            let answer = question
                .answer(&View::new(&snapshot), &Progress::default())
                .expect("an answer");
            let found = answer
                .anomaly_detection
                .part(code.part())
                .evidence
                .iter()
                .flatten()
                .any(|found| found.code == code);
            tally.count(found, i % 2 == 0);
        }
        assert_ne!(code.part(), Part::Code);
        tally.line(&format!("planted {}", code.word()), "goal 0.95, 0.95");
    }
}

fn read(name: &str) -> DataFrame {
    let file = File::open(Path::new(LABELLED).join(name)).expect("a labelled set");
    ParquetReader::new(file).finish().expect("a readable set")
}

fn texts(frame: &DataFrame, name: &str) -> Vec<Option<String>> {
    let column = frame.column(name).expect("a column");
    column
        .str()
        .expect("text")
        .iter()
        .map(|cell| cell.map(str::to_owned))
        .collect()
}

fn numbers(frame: &DataFrame, name: &str) -> Vec<f64> {
    let column = frame
        .column(name)
        .and_then(|column| column.cast(&DataType::Float64))
        .expect("a column of numbers");
    column
        .f64()
        .expect("numbers")
        .iter()
        .map(Option::unwrap_or_default)
        .collect()
}

fn trapdoors() {
    let (pools, events) = (read("pools.parquet"), read("pool_events.parquet"));
    let first: BTreeMap<String, (bool, bool)> = texts(&pools, "pool")
        .into_iter()
        .flatten()
        .zip(
            numbers(&pools, "weth_is_token0")
                .into_iter()
                .zip(numbers(&pools, "trapdoor_label")),
        )
        .map(|(pool, (weth_first, trapdoor))| (pool, (weth_first == 0.0, trapdoor == 1.0)))
        .collect();
    let (blocks, logs) = (numbers(&events, "block"), numbers(&events, "log_index"));
    let columns = ["pool", "reserve0", "reserve1"].map(|name| texts(&events, name));
    let mut order: Vec<usize> = (0..events.height()).collect();
    order.sort_by(|a, b| {
        (blocks[*a], logs[*a])
            .partial_cmp(&(blocks[*b], logs[*b]))
            .expect("no NaN")
    });
    let mut stories: BTreeMap<&str, PoolHistory> = BTreeMap::new();
    for i in order {
        let amount = |column: &[Option<String>]| {
            column[i]
                .as_deref()
                .and_then(|text| text.parse().ok())
                .map(Amount)
        };
        let event = PoolEventRow {
            timestamp: Time(blocks[i] as i64 * BLOCK_MS),
            block_number: Some(blocks[i] as i64),
            kind: None,
            reserve0: amount(&columns[1]),
            reserve1: amount(&columns[2]),
            amount: None,
            from_address: None,
            to_address: None,
        };
        let pool = columns[0][i].as_deref().expect("a pool");
        let side = if first[pool].0 {
            ReserveSide::First
        } else {
            ReserveSide::Second
        };
        stories.entry(pool).or_default().see(&event, side);
    }
    let mut tally = Tally::default();
    for (pool, (_, trapdoor)) in &first {
        let story = stories.get(pool.as_str());
        let found = story.is_some_and(|story| {
            story
                .two_way()
                .and_then(|two_way| one_way(story.buys, two_way))
                .is_some()
        });
        tally.count(found, *trapdoor);
    }
    tally.line(
        &format!("ONE_WAY_FLOW, {} pools", first.len()),
        "goal 0.95, 0.40",
    );
}

/// Logistic regression on the published features, with its out-of-sample discrimination.
fn liquidity() {
    let frame = read("lp_features.parquet");
    let column = |name: &str| numbers(&frame, name);
    let (creator, sells, buys) = (
        column("lp_creator_holding_ratio"),
        column("swap_out_per_week"),
        column("swap_in_per_week"),
    );
    let (burns, mints) = (column("burn_count_per_week"), column("mint_ratio"));
    let pulled = frame
        .column("liquidity_rug")
        .and_then(|column| column.cast(&DataType::Float64))
        .expect("labels");
    let pulled: Vec<bool> = pulled
        .f64()
        .expect("labels")
        .iter()
        .map(|label| label == Some(1.0))
        .collect();
    let features: Vec<LpFeatures> = (0..frame.height())
        .map(|i| LpFeatures {
            creator_share: creator[i],
            buys_per_week: buys[i],
            sells_per_week: sells[i],
            burned: burns[i] > 0.0,
            mint_ratio: mints[i],
        })
        .collect();
    let rows: Vec<[f64; 6]> = features.iter().map(LpFeatures::terms).collect();
    let mut random = crate::random::Random(1);
    let folds: Vec<usize> = rows.iter().map(|_| random.below(FOLDS)).collect();
    let mut scores = vec![0.0; rows.len()];
    for fold in 0..FOLDS {
        let train: Vec<(&[f64; 6], bool)> = rows
            .iter()
            .zip(&pulled)
            .zip(&folds)
            .filter(|(_, at)| **at != fold)
            .map(|((row, label), _)| (row, *label))
            .collect();
        let weights = logistic(&train);
        for i in (0..rows.len()).filter(|i| folds[*i] == fold) {
            scores[i] = dot(&rows[i], &weights);
        }
    }
    let all: Vec<(&[f64; 6], bool)> = rows.iter().zip(pulled.iter().copied()).collect();
    let built_in: Vec<f64> = features.iter().map(lp_risk).collect();
    let ranked = |scores: &[f64]| {
        auc(&scores
            .iter()
            .copied()
            .zip(pulled.iter().copied())
            .collect::<Vec<_>>())
    };
    println!(
        "liquidity pulled, {} tokens        AUC {:.3} cross-validated, {:.3} as built in   goal 0.95",
        rows.len(),
        ranked(&scores),
        ranked(&built_in)
    );
    println!("  weights fitted on all: {:.3?}", logistic(&all));
}

fn dot(row: &[f64; 6], weights: &[f64; 6]) -> f64 {
    row.iter().zip(weights).map(|(a, b)| a * b).sum()
}

/// Newton's method, ridge 1 on all but the intercept.
fn logistic(rows: &[(&[f64; 6], bool)]) -> [f64; 6] {
    let mut weights = [0.0; 6];
    for _ in 0..25 {
        let mut gradient = [0.0; 6];
        let mut hessian = [[0.0; 6]; 6];
        for (row, label) in rows {
            let chance = sigmoid(dot(row, &weights));
            for i in 0..6 {
                gradient[i] += row[i] * (f64::from(u8::from(*label)) - chance);
                for j in 0..6 {
                    hessian[i][j] += row[i] * row[j] * chance * (1.0 - chance);
                }
            }
        }
        for i in 1..6 {
            gradient[i] -= weights[i];
            hessian[i][i] += 1.0;
        }
        let step = solve(hessian, gradient);
        weights
            .iter_mut()
            .zip(step)
            .for_each(|(weight, step)| *weight += step);
    }
    weights
}

/// MinHash against exact Jaccard similarity, and whether the nearest neighbour is of the same cluster.
fn neighbours() {
    let frame = read("contracts.parquet");
    let runtime = frame.column("runtime").expect("codes");
    let codes: Vec<Vec<u8>> = runtime
        .binary()
        .expect("bytes")
        .iter()
        .map(|code| code.unwrap_or_default().to_vec())
        .collect();
    let clusters = texts(&frame, "cluster");
    let grams: Vec<_> = codes.iter().map(|code| similarity::grams(code)).collect();
    let signatures: Vec<_> = grams.iter().map(similarity::signature).collect();
    let mut index = SimilarityIndex::default();
    let addresses: Vec<Address> = (0..codes.len()).map(address).collect();
    for (address, code) in addresses.iter().zip(&codes) {
        index.add(*address, similarity::CodeOrigin::Scam, code);
    }
    let (mut error, mut pairs, mut worst) = (0.0, 0.0, 0.0_f64);
    let (mut error_near, mut pairs_near) = (0.0, 0.0);
    for i in 0..codes.len() {
        for j in 0..i {
            let (exact, estimate) = (
                jaccard(&grams[i], &grams[j]),
                similarity::estimate(&signatures[i], &signatures[j]),
            );
            let off = (exact - estimate).abs();
            (error, pairs, worst) = (error + off, pairs + 1.0, worst.max(off));
            if exact >= 0.3 {
                (error_near, pairs_near) = (error_near + off, pairs_near + 1.0);
            }
        }
    }
    println!(
        "MinHash against exact Jaccard      mean error {:.4}, of pairs from 0.3 on {:.4}, worst {worst:.3}   goal 0.04",
        error / pairs,
        error_near / pairs_near
    );
    let (mut same, mut of, mut none) = (0, 0, 0);
    for i in 0..codes.len() {
        if (0..codes.len())
            .filter(|j| clusters[*j] == clusters[i])
            .count()
            < 2
        {
            continue;
        }
        of += 1;
        let place = |near: &Address| addresses.iter().position(|other| other == near);
        let near = index.nearest(
            &addresses[i],
            &codes[i],
            similarity::CodeOrigin::Scam,
            |near| place(near).map(|j| codes[j].clone()),
        );
        match near.first().and_then(|near| place(&near.address)) {
            Some(j) => same += usize::from(clusters[i] == clusters[j]),
            None => none += 1,
        }
    }
    println!(
        "nearest code is of its cluster     {same} of {of} ({:.1} %), {none} without a neighbour   goal 95 %",
        100.0 * f64::from(same as u32) / f64::from(of)
    );
}

fn address(i: usize) -> Address {
    let mut bytes = [0xab; 20];
    bytes[12..].copy_from_slice(&(i as u64).to_be_bytes());
    Address(bytes)
}

/// Jaccard similarity of sets of n-grams.
fn jaccard(a: &similarity::Grams, b: &similarity::Grams) -> f64 {
    let both = a
        .iter()
        .filter(|(gram, _)| b.binary_search_by_key(gram, |(other, _)| *other).is_ok())
        .count() as f64;
    let either = (a.len() + b.len()) as f64 - both;
    if either > 0.0 { both / either } else { 0.0 }
}
