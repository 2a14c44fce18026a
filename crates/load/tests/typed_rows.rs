//! Typed rows are the same whether they are read from a table's storage or from its frames.

use std::path::Path;

use frames::{cache::CacheOptions, frame_rows::FromFrame, rows::Frames as _};
use model::{
    progress::NoProgress,
    rows::{
        AccountRow, ContractRow, DexRow, DisputeRow, FeeTierRow, FundingRow, GasRow, HolderRow,
        KolRow, LabelRow, LockRow, PersonRow, PoolEventRow, PoolRow, Post, ReactionRow, ScamRow,
        TokenRow, TransferRow, YieldRow,
    },
};
use tokendeck_load::{Dataset, loader::load_with};

/// Compares ranges of the table's rows, and returns how many rows it has.
fn compare<T: FromFrame + PartialEq + std::fmt::Debug>(dataset: &Dataset, name: &str) -> usize {
    let Some(table) = dataset.table(name) else {
        return 0;
    };
    let rows = &table.rows;
    let height = rows.height();
    for range in [0..height, height / 3..height / 2, 1..2, height..height] {
        let direct = T::from_columns(&rows.range(range.clone()));
        let frames = T::rows(&rows.slice(range.clone(), Some(T::COLUMNS)));
        assert_eq!(direct, frames, "{name}, rows {range:?}");
    }
    height
}

fn compare_all(dataset: &Dataset) -> usize {
    let heights = [
        compare::<TokenRow>(dataset, "tokens"),
        compare::<KolRow>(dataset, "kols"),
        compare::<Post>(dataset, "posts"),
        compare::<AccountRow>(dataset, "accounts"),
        compare::<PersonRow>(dataset, "people"),
        compare::<ReactionRow>(dataset, "reactions"),
        compare::<LabelRow>(dataset, "labels"),
        compare::<LockRow>(dataset, "locks"),
        compare::<DisputeRow>(dataset, "disputes"),
        compare::<FundingRow>(dataset, "funding"),
        compare::<HolderRow>(dataset, "holders"),
        compare::<DexRow>(dataset, "dexes"),
        compare::<FeeTierRow>(dataset, "fee_tiers"),
        compare::<GasRow>(dataset, "gas"),
        compare::<PoolRow>(dataset, "pools"),
        compare::<TransferRow>(dataset, "transfers"),
        compare::<PoolEventRow>(dataset, "pool_events"),
        compare::<ContractRow>(dataset, "contracts"),
        compare::<ScamRow>(dataset, "scams"),
        compare::<YieldRow>(dataset, "yields"),
    ];
    heights.iter().filter(|height| **height > 0).count()
}

#[test]
fn rows_of_storage_are_those_of_frames() {
    let demo = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../datasets");
    let cache = tempfile::tempdir().expect("a folder");
    let mapped = CacheOptions {
        folder: Some(cache.path().to_owned()),
        rows_min: 10,
        ..CacheOptions::default()
    };
    for options in [CacheOptions::default(), mapped] {
        let dataset = load_with(&demo, &options, &NoProgress).expect("the demo");
        assert!(compare_all(&dataset) >= 15);
    }
}
