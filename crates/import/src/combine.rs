//! Merges existing and new rows by key, leaving one row per key. Source files are numbers here: `EXISTING` for rows of the user's own
//! files, `IMPORTED` for rows imported earlier, `FIRST_NEW` and up for the files of this import.

use std::{
    collections::{HashMap, HashSet},
    ops::AddAssign,
};

use polars::prelude::{
    BooleanChunked, Column, DataFrame, IdxCa, IntoColumn, NamedFrom, NewChunkedArray, PlSmallStr,
    PolarsResult, Series,
};

use frames::{duplicates, order};
use model::{findings::KEPT_PER_REASON, schema::TableSchema};

pub(super) const EXISTING: u32 = 0;
pub(super) const IMPORTED: u32 = 1;
pub(super) const FIRST_NEW: u32 = 2;

/// Added columns with each row's source and row number. No schema column begins with a space.
const SOURCE: &str = " source";
const ROW: &str = " row";

/// Tables of measurements: a newer row replaces the older one whole. In the others a null does not overwrite a value.
const MEASURED: &[&str] = &["candles"];

/// Merge outcome of one file's rows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct MergeCounts {
    pub new: u64,
    pub changed: u64,
    pub same: u64,
}

impl AddAssign for MergeCounts {
    fn add_assign(&mut self, other: Self) {
        *self = Self {
            new: self.new + other.new,
            changed: self.changed + other.changed,
            same: self.same + other.same,
        };
    }
}

/// The rows that were there before this import.
pub(super) fn known(frame: &DataFrame) -> PolarsResult<DataFrame> {
    let is_known = |source: Option<u32>| Some(source.is_some_and(|source| source < FIRST_NEW));
    frame.filter(&BooleanChunked::from_iter_options(
        PlSmallStr::EMPTY,
        frame.column(SOURCE)?.u32()?.iter().map(is_known),
    ))
}

/// The merged rows, one per key.
#[derive(Debug)]
pub(super) struct Combined {
    /// The rows to write, in the schema's columns and order.
    pub frame: DataFrame,
    pub counts: HashMap<u32, MergeCounts>,
    /// New rows whose key recurs later in the same file.
    pub repeats: Vec<Repeat>,
    /// Replaced rows, by the number of the replacing file and of the replaced source.
    pub replaced: HashMap<(u32, u32), Replaced>,
}

/// A row whose key recurs later in its file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Repeat {
    pub source: u32,
    pub row: u32,
    /// The later row is identical.
    pub same: bool,
    /// The first column that differs, and both values; only for the first repeats.
    pub differs: Option<(&'static str, String)>,
}

/// Rows that were replaced by rows with other values.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Replaced {
    pub rows: u64,
    /// Some of their tokens.
    pub tokens: Vec<String>,
}

/// Maximum number of tokens kept of replaced rows.
const TOKENS_KEPT: usize = 8;

impl Replaced {
    fn add(&mut self, token: &str) {
        self.rows += 1;
        if self.tokens.len() < TOKENS_KEPT && !self.tokens.iter().any(|known| known == token) {
            self.tokens.push(token.to_owned());
        }
    }
}

/// Adds the provenance columns to a frame.
pub(super) fn marked(mut frame: DataFrame, source: u32, rows: &[u32]) -> PolarsResult<DataFrame> {
    let height = frame.height();
    frame.with_column(Column::new_scalar(
        PlSmallStr::from_static(SOURCE),
        source.into(),
        height,
    ))?;
    frame.with_column(Series::new(PlSmallStr::from_static(ROW), rows).into_column())?;
    Ok(frame)
}

/// The hash bucket of each row; rows with the same key share one.
pub(super) fn buckets(
    schema: &TableSchema,
    frame: &DataFrame,
    count: u128,
) -> PolarsResult<Vec<u32>> {
    Ok(
        keys(schema, frame, &order::hashes(frame, &names(schema))?, None)?
            .into_iter()
            .map(|key| (key % count) as u32)
            .collect(),
    )
}

fn names(schema: &TableSchema) -> Vec<&'static str> {
    schema.columns.iter().map(|column| column.name).collect()
}

/// Hashes each row's key, or the whole row if it has no key. Keyless rows that repeat within one source are numbered, so that two equal
/// transfers stay two, and importing them again adds none.
fn keys(
    schema: &TableSchema,
    frame: &DataFrame,
    whole: &[u128],
    sources: Option<&[u32]>,
) -> PolarsResult<Vec<u128>> {
    let mut keys = if schema.key.is_empty() {
        whole.to_vec()
    } else {
        order::hashes(frame, schema.key)?
    };
    let mut met: HashMap<(u32, u128), u128> = HashMap::new();
    for (row, keyless) in order::keyless(schema, frame)?.into_iter().enumerate() {
        if keyless {
            keys[row] = whole[row];
            if let Some(sources) = sources {
                let count = met.entry((sources[row], whole[row])).or_default();
                keys[row] = whole[row].wrapping_add(count.wrapping_mul(0x9e37_79b9_7f4a_7c15));
                *count += 1;
            }
        }
    }
    Ok(keys)
}

/// Merges rows to one per key. Rows are in source order, oldest first; those of `refused` sources are ignored.
pub(super) fn combine(
    schema: &'static TableSchema,
    mut frame: DataFrame,
    refused: &HashSet<u32>,
) -> PolarsResult<Combined> {
    if !refused.is_empty() {
        let counts = |source: Option<u32>| source.is_none_or(|source| !refused.contains(&source));
        let counted = BooleanChunked::from_iter_values(
            PlSmallStr::EMPTY,
            frame.column(SOURCE)?.u32()?.iter().map(counts),
        );
        frame = frame.filter(&counted)?;
    }
    frame.rechunk_mut();
    let numbers = |name: &str| -> PolarsResult<Vec<u32>> {
        Ok(frame
            .column(name)?
            .u32()?
            .iter()
            .map(Option::unwrap_or_default)
            .collect())
    };
    let (sources, rows) = (numbers(SOURCE)?, numbers(ROW)?);
    let whole = order::hashes(&frame, &names(schema))?;
    let keys = keys(schema, &frame, &whole, Some(&sources))?;
    let mut order: Vec<u32> = (0..frame.height() as u32).collect();
    order.sort_unstable_by_key(|&row| (keys[row as usize], row));
    let groups: Vec<&[u32]> = order
        .chunk_by(|&a, &b| keys[a as usize] == keys[b as usize])
        .collect();
    let all = Grouped {
        schema,
        frame: &frame,
        groups: &groups,
        sources: &sources,
    };
    let repeats = all.repeats(&rows, &whole);
    let (mut merged, _) = all.gather(u32::MAX)?;
    derive(schema, &mut merged)?;
    let after = order::hashes(&merged, &names(schema))?;
    let before = all.hashes(FIRST_NEW)?;
    let (counts, replaced) = all.counts(&before, &after, &whole);
    let unchanged = all.hashes(IMPORTED)?;
    if !unchanged.is_empty() {
        let kept = (0..groups.len()).map(|i| unchanged.get(&i) != Some(&after[i]));
        merged = merged.filter(&BooleanChunked::from_iter_values(PlSmallStr::EMPTY, kept))?;
    }
    Ok(Combined {
        frame: order::sorted(schema.order, merged)?,
        counts,
        repeats,
        replaced,
    })
}

/// Rows grouped by key, each group in order of arrival.
struct Grouped<'a> {
    schema: &'static TableSchema,
    frame: &'a DataFrame,
    groups: &'a [&'a [u32]],
    sources: &'a [u32],
}

impl Grouped<'_> {
    /// New rows whose key recurs later in the same file; `rows` are row numbers in the file, `whole` hashes of full rows.
    fn repeats(&self, rows: &[u32], whole: &[u128]) -> Vec<Repeat> {
        let mut repeated = Vec::new();
        for two in self.groups.iter().flat_map(|group| group.windows(2)) {
            let (a, b) = (two[0] as usize, two[1] as usize);
            if self.sources[a] == self.sources[b] && self.sources[a] >= FIRST_NEW {
                let same = whole[a] == whole[b];
                let shown = !same && (repeated.len() as u64) < KEPT_PER_REASON;
                let differs = if shown {
                    duplicates::difference(self.schema, self.frame, a, b)
                } else {
                    None
                };
                repeated.push(Repeat {
                    source: self.sources[a],
                    row: rows[a],
                    same,
                    differs,
                });
            }
        }
        repeated.sort_unstable_by_key(|repeat| (repeat.source, repeat.row));
        repeated
    }

    /// Merge outcome per new file, and the sources whose rows each replaced. `before` has hashes of the previous rows by group, `after`
    /// those of the merged rows.
    fn counts(
        &self,
        before: &HashMap<usize, u128>,
        after: &[u128],
        whole: &[u128],
    ) -> (HashMap<u32, MergeCounts>, HashMap<(u32, u32), Replaced>) {
        let (mut counts, mut replaced) = (
            HashMap::<u32, MergeCounts>::new(),
            HashMap::<(u32, u32), Replaced>::new(),
        );
        let tokens = self
            .frame
            .column("token_address")
            .ok()
            .and_then(|column| column.str().ok());
        for (i, group) in self.groups.iter().enumerate() {
            let mut known = before.contains_key(&i);
            // A file counts once per group; its rows are adjacent.
            let mut new: Vec<u32> = group
                .iter()
                .map(|&row| self.sources[row as usize])
                .filter(|source| *source >= FIRST_NEW)
                .collect();
            new.dedup();
            for source in new {
                let counts = counts.entry(source).or_default();
                match before.get(&i) {
                    _ if !known => counts.new += 1,
                    Some(hash) if *hash == after[i] => counts.same += 1,
                    _ => {
                        counts.changed += 1;
                        let earlier = group
                            .iter()
                            .rev()
                            .map(|&row| self.sources[row as usize])
                            .find(|other| *other < source);
                        // What another file brought as it is replaces nothing.
                        let last = |is_meant: &dyn Fn(u32) -> bool| {
                            group
                                .iter()
                                .rev()
                                .find(|&&row| is_meant(self.sources[row as usize]))
                                .map(|&row| whole[row as usize])
                        };
                        if last(&|other| other == source) == last(&|other| other < source) {
                            continue;
                        }
                        let token = tokens
                            .and_then(|tokens| tokens.get(group[0] as usize))
                            .unwrap_or_default();
                        replaced
                            .entry((source, earlier.unwrap_or(EXISTING)))
                            .or_default()
                            .add(token);
                    }
                }
                known = true;
            }
        }
        (counts, replaced)
    }

    /// Hashes of the merged rows of the groups with a row from a source below `below`.
    fn hashes(&self, below: u32) -> PolarsResult<HashMap<usize, u128>> {
        let (frame, members) = self.gather(below)?;
        Ok(members
            .into_iter()
            .zip(order::hashes(&frame, &names(self.schema))?)
            .collect())
    }

    /// Merged rows of the groups with a row from a source below `below`, and the groups' indexes.
    fn gather(&self, below: u32) -> PolarsResult<(DataFrame, Vec<usize>)> {
        let groups = self.groups;
        let counted = |row: &&u32| self.sources[**row as usize] < below;
        let members: Vec<usize> = (0..groups.len())
            .filter(|&i| groups[i].iter().any(|row| counted(&row)))
            .collect();
        let last = |i: usize| {
            groups[i]
                .iter()
                .rev()
                .find(counted)
                .copied()
                .unwrap_or_default()
        };
        let lasts: Vec<u32> = members.iter().map(|&i| last(i)).collect();
        let measured = MEASURED.contains(&self.schema.name);
        let mut columns = Vec::with_capacity(self.schema.columns.len());
        for column in self.schema.columns {
            let cells = self.frame.column(column.name)?;
            let places = if measured || cells.null_count() == 0 {
                lasts.clone()
            } else {
                let empty: Vec<bool> = cells
                    .is_null()
                    .iter()
                    .map(|empty| empty == Some(true))
                    .collect();
                let place = |(&i, &last): (&usize, &u32)| {
                    groups[i]
                        .iter()
                        .rev()
                        .filter(counted)
                        .find(|row| !empty[**row as usize])
                        .copied()
                        .unwrap_or(last)
                };
                members.iter().zip(&lasts).map(place).collect()
            };
            columns.push(cells.take(&IdxCa::from_vec(PlSmallStr::EMPTY, places))?);
        }
        Ok((DataFrame::new(members.len(), columns)?, members))
    }
}

/// Computes the gas cost where both prices are known: gwei are 1e-9 of the chain's coin.
fn derive(schema: &TableSchema, frame: &mut DataFrame) -> PolarsResult<()> {
    if schema.name != "gas" {
        return Ok(());
    }
    let floats = |name: &str| -> PolarsResult<Vec<Option<f64>>> {
        Ok(frame.column(name)?.f64()?.iter().collect())
    };
    let (given, gwei, coin) = (
        floats("usd_per_100k_gas")?,
        floats("gas_price_gwei")?,
        floats("native_price_usd")?,
    );
    let cost = |((given, gwei), coin): ((Option<f64>, Option<f64>), Option<f64>)| {
        given.or(Some(gwei? * 1e-9 * 1e5 * coin?))
    };
    let costs: Vec<Option<f64>> = given.into_iter().zip(gwei).zip(coin).map(cost).collect();
    frame.with_column(Series::new("usd_per_100k_gas".into(), costs).into_column())?;
    Ok(())
}
