//! Windows of real candles with the annotations of two chartists, from `../shared/data/charts` and `tests/charts`, and their assignment to
//! folds by token.

use std::{
    collections::BTreeMap,
    fs,
    ops::Range,
    path::{Path, PathBuf},
};

use analysis::timeframes::CandleVec;
use chrono::NaiveDate;
use model::time::DAY_MS;
use serde_json::Value;

/// 150 candles of a token, and each chartist's annotations.
#[derive(Clone)]
pub(crate) struct Window {
    /// Group of a window, equal for windows of one token.
    pub(crate) group: String,
    pub(crate) candles: CandleVec,
    pub(crate) marks: [Vec<Mark>; 2],
    pub(crate) timeframe: String,
    /// The folder of its set, which two chartists marked.
    pub(crate) chartists: &'static str,
    /// Days since 1970 of its first and last candle.
    pub(crate) days: (i32, i32),
    /// Its weight in fits: all sets of chartists weigh alike, however many windows they marked.
    pub(crate) weight: f64,
}

impl Window {
    /// Whether the two share a day.
    pub(crate) fn meets(&self, other: &Self) -> bool {
        self.days.0 <= other.days.1 && other.days.0 <= self.days.1
    }
}

#[derive(Debug, Clone)]
pub(crate) struct Mark {
    /// The chartist's names for it, best first.
    pub(crate) names: Vec<String>,
    pub(crate) start: u32,
    pub(crate) end: u32,
    /// Whether most would draw it.
    pub(crate) clear: bool,
}

/// Folders of labelled windows: those beside the project, and the project's own.
const FOLDERS: [&str; 2] = ["../shared/data/charts", "tests/charts"];

/// All labelled windows, and where each folder's lie among them.
#[derive(Default)]
pub(crate) struct Labelled {
    pub(crate) windows: Vec<Window>,
    pub(crate) sets: Vec<(&'static str, Range<usize>)>,
}

/// Reads the windows of all folders, each folder's sorted by name; a missing one is said and left out.
pub(crate) fn read() -> Labelled {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let mut all = Labelled::default();
    for folder in FOLDERS {
        let from = all.windows.len();
        all.windows
            .extend(read_folder(&root.join(folder)).unwrap_or_default());
        all.sets.push((folder, from..all.windows.len()));
    }
    let largest = all.sets.iter().map(|(_, set)| set.len()).max().unwrap_or(0);
    for (folder, set) in &all.sets {
        for window in &mut all.windows[set.clone()] {
            window.weight = largest as f64 / set.len() as f64;
            window.chartists = folder;
        }
    }
    all
}

/// The first day of each window since 1970, from the sources of the project's own and the list of the others.
fn first_days() -> BTreeMap<String, i32> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/charts");
    let text = |name: &str| fs::read_to_string(folder.join(name)).unwrap_or_default();
    [text("sources.csv"), text("days.csv")]
        .iter()
        .flat_map(|text| text.lines().skip(1))
        .map(|row| {
            let (id, first) = (row.split(',').next(), row.rsplit(',').next());
            let day = first
                .and_then(|first| NaiveDate::parse_from_str(first.get(..10)?, "%Y-%m-%d").ok())
                .unwrap_or_else(|| panic!("no day in `{row}`"));
            (id.unwrap_or_default().to_owned(), day.to_epoch_days())
        })
        .collect()
}

fn read_folder(folder: &Path) -> Option<Vec<Window>> {
    let text = |name: &str| fs::read_to_string(folder.join(name));
    let (Ok(rows), Ok(marks)) = (text("windows.csv"), text("marks.jsonl")) else {
        println!(
            "skipped: there are no labelled charts in `{}`",
            folder.display()
        );
        return None;
    };
    let mut windows: BTreeMap<String, Window> = BTreeMap::new();
    for row in rows.lines().skip(1) {
        let fields: Vec<&str> = row.split(',').collect();
        let [id, timeframe, group, i, open, high, low, close, volume] = fields[..] else {
            panic!("`{row}` has not nine fields")
        };
        let window = windows.entry(id.to_owned()).or_insert_with(|| Window {
            group: group.to_owned(),
            candles: CandleVec::default(),
            marks: [Vec::new(), Vec::new()],
            timeframe: timeframe.to_owned(),
            chartists: "",
            days: (0, 0),
            weight: 1.0,
        });
        let number = |text: &str| text.parse::<f64>().unwrap_or(f64::NAN);
        window
            .candles
            .timestamp
            .push(i.parse::<i64>().unwrap_or(0) * DAY_MS);
        window.candles.open.push(number(open));
        window.candles.high.push(number(high));
        window.candles.low.push(number(low));
        window.candles.close.push(number(close));
        window.candles.volume.push(number(volume));
    }
    for line in marks.lines() {
        let line: Value =
            serde_json::from_str(line).unwrap_or_else(|error| panic!("`{line}`: {error}"));
        let window = line["window"]
            .as_str()
            .and_then(|id| windows.get_mut(id))
            .unwrap_or_else(|| panic!("no window of `{line}`"));
        window.marks[usize::from(line["chartist"] == "B")] = line["patterns"]
            .as_array()
            .into_iter()
            .flatten()
            .map(mark)
            .collect();
    }
    let firsts = first_days();
    for (id, window) in &mut windows {
        let first = *firsts
            .get(id)
            .unwrap_or_else(|| panic!("no first day of `{id}`"));
        let long = match window.timeframe.as_str() {
            "1h" => 7,
            "4h" => 25,
            _ => 150,
        };
        window.days = (first, first + long);
    }
    Some(windows.into_values().collect())
}

fn mark(told: &Value) -> Mark {
    let also = told["also"].as_array().into_iter().flatten();
    let place = |member: &str| {
        told[member]
            .as_u64()
            .unwrap_or_else(|| panic!("no `{member}` in `{told}`")) as u32
    };
    Mark {
        names: std::iter::once(&told["name"])
            .chain(also)
            .filter_map(Value::as_str)
            .map(str::to_owned)
            .collect(),
        start: place("start"),
        end: place("end"),
        clear: told["grade"] == "clear",
    }
}

/// Assigns windows to folds: all windows of a token together, largest token first, each to the smallest fold.
pub(crate) fn folds(windows: &[Window], count: usize) -> Vec<usize> {
    let mut sizes: BTreeMap<&str, usize> = BTreeMap::new();
    for window in windows {
        *sizes.entry(&window.group).or_default() += 1;
    }
    let mut groups: Vec<(&str, usize)> = sizes.into_iter().collect();
    groups.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
    let mut held = vec![0; count];
    let mut fold_of: BTreeMap<&str, usize> = BTreeMap::new();
    for (group, size) in groups {
        let fold = (0..count).min_by_key(|fold| held[*fold]).unwrap_or(0);
        held[fold] += size;
        fold_of.insert(group, fold);
    }
    windows
        .iter()
        .map(|window| fold_of[window.group.as_str()])
        .collect()
}

/// Assigns windows to blocks of time, as many windows in each, by the first day.
pub(crate) fn time_blocks(windows: &[Window], count: usize) -> Vec<usize> {
    let mut firsts: Vec<i32> = windows.iter().map(|window| window.days.0).collect();
    firsts.sort_unstable();
    let later: Vec<i32> = (1..count)
        .map(|k| firsts[firsts.len() * k / count])
        .collect();
    windows
        .iter()
        .map(|window| later.partition_point(|day| *day <= window.days.0))
        .collect()
}
