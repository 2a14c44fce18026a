//! The recorded pools of `shared/data/security` as a dataset: one token per pool, traded against WETH. Nothing is judged here.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs::File,
    path::Path,
};

use load::{Dataset, loader::load};
use model::{address::Address, progress::NoProgress, time::Time};
use polars::prelude::{DataFrame, DataType, ParquetReader, SerReader};

const WETH: &str = "0xc02aaa39b223fe8d0a0e5c4f27ead9083c756cc2";
/// Number of Sync events after which a pool's later ones are missing.
const SYNCS_MAX: usize = 400;
/// A block of known time, its Unix time, and the mean milliseconds per block in 2021.
const BLOCK: (i64, i64) = (10_000_000, 1_588_598_533_000);
const BLOCK_MS: i64 = 13_000;

pub(crate) struct RecordedPools {
    pub(crate) dataset: Dataset,
    /// Tokens whose later events are missing, with the time of the last event.
    pub(crate) cut: Vec<(Address, Time)>,
    /// Tokens that can be bought and not sold.
    pub(crate) trapdoors: BTreeSet<Address>,
}

fn read(folder: &Path, name: &str) -> DataFrame {
    let file = File::open(folder.join(name)).expect("a labeled set");
    ParquetReader::new(file).finish().expect("a readable set")
}

fn texts(frame: &DataFrame, name: &str) -> Vec<String> {
    let column = frame.column(name).expect("a column");
    let texts = column.str().expect("text").iter();
    texts
        .map(|text| text.unwrap_or_default().to_owned())
        .collect()
}

fn integers(frame: &DataFrame, name: &str) -> Vec<i64> {
    let column = frame.column(name).expect("a column");
    let column = column.cast(&DataType::Int64).expect("integers");
    let integers = column.i64().expect("integers").iter();
    integers.map(Option::unwrap_or_default).collect()
}

fn time(block: i64) -> Time {
    Time(BLOCK.1 + (block - BLOCK.0) * BLOCK_MS)
}

/// Loads the pools of that folder. The times are those of the blocks, give or take hours.
pub(crate) fn recorded_pools(folder: &Path) -> RecordedPools {
    let (pools, events) = (
        read(folder, "pools.parquet"),
        read(folder, "pool_events.parquet"),
    );
    let [pool, token] = ["pool", "token"].map(|name| texts(&pools, name));
    let [weth_first, created, trapdoor] =
        ["weth_is_token0", "created_block", "trapdoor_label"].map(|name| integers(&pools, name));
    let mut tokens = format!("token_address,symbol,name,chain\n{WETH},WETH,Wrapped Ether,eth\n");
    let mut rows = "address,dex_id,chain,token0,token1,created_at\n".to_owned();
    for i in 0..pool.len() {
        tokens += &format!("{},,,eth\n", token[i]);
        let (first, second) = if weth_first[i] == 1 {
            (WETH, &*token[i])
        } else {
            (&*token[i], WETH)
        };
        rows += &format!(
            "{},uniswap-v2,eth,{first},{second},{}\n",
            pool[i],
            time(created[i])
        );
    }
    let [of, kind, first, second] =
        ["pool", "kind", "reserve0", "reserve1"].map(|name| texts(&events, name));
    let [blocks, logs] = ["block", "log_index"].map(|name| integers(&events, name));
    let mut order: Vec<usize> = (0..of.len()).filter(|i| kind[*i] == "sync").collect();
    order.sort_by_key(|i| (blocks[*i], logs[*i]));
    let mut syncs: BTreeMap<&str, (usize, i64)> = BTreeMap::new();
    let mut synced = "pool,timestamp,block_number,kind,reserve0,reserve1\n".to_owned();
    for i in order {
        let (time, block) = (time(blocks[i]), blocks[i]);
        synced += &format!("{},{time},{block},sync,{},{}\n", of[i], first[i], second[i]);
        let seen = syncs.entry(&of[i]).or_default();
        *seen = (seen.0 + 1, block);
    }
    let target = tempfile::tempdir().expect("a folder");
    for (name, text) in [("tokens", tokens), ("pools", rows), ("pool_events", synced)] {
        std::fs::write(target.path().join(format!("{name}.csv")), text).expect("a table");
    }
    let address = |i: usize| Address::parse(&token[i]).expect("an address");
    let ended = |i: usize| {
        let (count, last) = *syncs.get(&*pool[i])?;
        (count >= SYNCS_MAX).then(|| (address(i), time(last)))
    };
    RecordedPools {
        dataset: load(target.path(), &NoProgress).expect("a dataset"),
        cut: (0..pool.len()).filter_map(ended).collect(),
        trapdoors: (0..pool.len())
            .filter(|i| trapdoor[*i] == 1)
            .map(address)
            .collect(),
    }
}
