//! The cache of large tables: rows, findings and answers equal those of a load into memory, whatever changes and whatever room there is.

mod candle_runs;
mod faults;
mod grow;
mod rows;

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use api::{Api, ApiOptions, keys::Keys};
use frames::{
    cache::{CacheOptions, list},
    rows::Frames as _,
};
use load::{
    Dataset, Table,
    loader::{load, load_with},
};
use model::{address::Address, findings::Finding, progress::NoProgress};
use query::service::{QueryService, ServiceOptions};
use table::{SortLimits, TableRows};
use tempfile::TempDir;

use crate::wait::wait_until;

const TABLES: [&str; 6] = [
    "candles",
    "posts",
    "holders",
    "holder_counts",
    "transfers",
    "pool_events",
];

/// Limits so small that every table counts as large and every mechanism is exercised.
fn options(cache: &Path) -> CacheOptions {
    CacheOptions {
        folder: Some(cache.to_owned()),
        rows_min: 1,
        group_max: 16 << 10,
        block_rows: 60,
        sorting: SortLimits {
            in_memory: 500,
            at_once: 1_000,
        },
        ..CacheOptions::default()
    }
}

fn token(i: u64) -> String {
    // Half of them share their first byte, and one has most rows.
    format!(
        "0x{:02x}{:038x}",
        if i.is_multiple_of(2) {
            0xaa
        } else {
            i * 37 % 256
        },
        i
    )
}

/// Deterministic pseudo-random numbers.
fn noise(i: u64) -> u64 {
    let mut x = i.wrapping_add(0x9e37_79b9_7f4a_7c15);
    x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ x >> 31
}

/// Writes a CSV file of generated rows.
fn csv(path: PathBuf, header: &str, rows: u64, line: impl Fn(u64) -> String) {
    fs::write(
        path,
        format!("{header}\n{}", (0..rows).map(line).collect::<String>()),
    )
    .unwrap();
}

/// Writes a dataset with every irregularity: unsorted rows, repeated keys, bad cells, empty cells, several files, gaps.
fn write(folder: &Path, rows: u64) {
    let pick = |i: u64| {
        token(if noise(i).is_multiple_of(3) {
            2
        } else {
            noise(i) % 12
        })
    };
    let line = |i: u64| format!("{},T{i},Token {i},eth,18,{}\n", token(i), i * 1000);
    csv(
        folder.join("tokens.csv"),
        "token_address,symbol,name,chain,decimals,total_supply",
        12,
        line,
    );
    fs::create_dir_all(folder.join("candles")).unwrap();
    for part in 0..3u64 {
        let candle = |i: u64| {
            let n = noise(i * 3 + part);
            let time = 1_700_006_400 + n % 2_000 * 3_600;
            let interval = ["1h", "1d", "15m", ""][(part + n % 2) as usize % 4];
            let open = if n.is_multiple_of(97) {
                "x".to_owned()
            } else {
                format!("{}.5", n % 1000)
            };
            let volume = if n.is_multiple_of(5) {
                String::new()
            } else {
                (n % 77).to_string()
            };
            format!("{},{time},{open},2000,0.5,7,{volume},{interval}\n", pick(n))
        };
        let header = "token_address,timestamp,open,high,low,close,volume,interval";
        csv(
            folder.join(format!("candles/{part}.csv")),
            header,
            rows,
            candle,
        );
    }
    let post = |i: u64| {
        let n = noise(i + 77);
        let title = if n.is_multiple_of(7) {
            String::new()
        } else {
            format!("post {} é", n % 50)
        };
        format!(
            "p{},{},{title},,{},{},{},{}\n",
            n % (rows * 2),
            pick(n),
            1_700_000_000 + n % 500,
            n % 100,
            n % 10,
            n % 3
        )
    };
    let header =
        "post_id,token_address,title,link,published_at,impressions,engagement,smart_engagement";
    csv(folder.join("posts.csv"), header, rows, post);
    let holder = |i: u64| {
        let n = noise(i + 7_777);
        let balance = match n % 9 {
            0 => String::new(),
            1 => "-0".to_owned(),
            2 => "1".to_owned(),
            _ => format!("{}", n % 10_000),
        };
        format!("{},0x{:040x},{balance}\n", pick(n), n % (rows * 2))
    };
    csv(
        folder.join("holders.csv"),
        "token_address,holder_address,balance",
        rows,
        holder,
    );
    let count = |i: u64| {
        let n = noise(i + 77_777);
        let day = model::time::Day((n % (rows * 2)) as i32);
        let holders = if n.is_multiple_of(6) {
            String::new()
        } else {
            (n % 5_000).to_string()
        };
        let whales = if n.is_multiple_of(5) {
            String::new()
        } else {
            format!("{}.25", n % 900)
        };
        format!("{},{day},{holders},{whales}\n", pick(n))
    };
    csv(
        folder.join("holder_counts.csv"),
        "token_address,date,holders,whale_balance",
        rows,
        count,
    );
    let transfer = |i: u64| {
        let n = noise(i + 777_777);
        let time = if n.is_multiple_of(11) {
            String::new()
        } else {
            (1_700_000_000 + n % 900).to_string()
        };
        let log = if n.is_multiple_of(4) {
            String::new()
        } else {
            (n % 2).to_string()
        };
        format!(
            "{},{time},{},0x{:064x},0x{:040x},,{n},{log}\n",
            pick(n),
            n % 60,
            n % (rows * 2),
            n % 31
        )
    };
    let header = "token_address,timestamp,block_number,transaction_hash,from_address,to_address,value,log_index";
    csv(folder.join("transfers.csv"), header, rows, transfer);
    // Events have no key: identical rows are all kept.
    let event = |i: u64| {
        let n = noise(i + 999_999);
        format!(
            "0x{:040x},{},{},swap,{n},,,,\n",
            n % 7,
            1_700_000_000 + n % 40,
            n % 3
        )
    };
    let header =
        "pool,timestamp,block_number,kind,reserve0,reserve1,amount,from_address,to_address";
    csv(folder.join("pool_events.csv"), header, rows, event);
}

struct Bench {
    data: TempDir,
    cache: TempDir,
    plain: Dataset,
}

fn bench(rows: u64) -> Bench {
    let data = tempfile::tempdir().unwrap();
    write(data.path(), rows);
    let plain = load(data.path(), &NoProgress).unwrap();
    Bench {
        data,
        cache: tempfile::tempdir().unwrap(),
        plain,
    }
}

impl Bench {
    fn load(&self) -> Dataset {
        load_with(self.data.path(), &options(self.cache.path()), &NoProgress).unwrap()
    }

    /// The table's folder in the cache.
    fn entry(&self, table: &str) -> PathBuf {
        let entries = list(self.cache.path());
        let entry = entries
            .iter()
            .find(|entry| entry.table == table)
            .unwrap_or_else(|| panic!("no {table} in the cache"));
        self.cache.path().join("tables").join(&entry.name)
    }
}

/// The column in which a repeated row differs from the kept one; a cached table reports it for the first hundred only.
fn differs(reason: &str) -> Option<(&str, &str)> {
    let (before, after) = reason.split_once(" but a different value in `")?;
    Some((before, after.split_once('`')?.1))
}

/// Number of findings per reason; repeats are counted together.
fn counts(table: &Table) -> BTreeMap<(String, Option<String>, String), u64> {
    let mut all = BTreeMap::new();
    for count in table.findings.counts() {
        let differing = differs(&count.reason);
        let reason = differing.map_or_else(
            || count.reason.clone(),
            |(before, after)| format!("{before}{after}"),
        );
        let column = count.column.clone().filter(|_| differing.is_none());
        *all.entry((count.file.clone(), column, reason)).or_default() += count.count;
    }
    all
}

/// Findings of single rows, except repeats.
fn single_rows(table: &Table) -> Vec<&Finding> {
    table
        .findings
        .kept()
        .iter()
        .filter(|finding| !finding.reason.contains(" has the same "))
        .collect()
}

/// Findings of repeated rows.
fn repeats(table: &Table) -> Vec<&Finding> {
    table
        .findings
        .kept()
        .iter()
        .filter(|finding| finding.reason.contains(" has the same "))
        .collect()
}

/// Compares row by row and finding by finding.
fn assert_same(plain: &Dataset, cached: &Dataset, when: &str) {
    for (a, b) in plain.tables.iter().zip(&cached.tables) {
        let name = a.schema.name;
        assert_eq!(
            (&a.state, &a.sources, a.rows_bad, a.height()),
            (&b.state, &b.sources, b.rows_bad, b.height()),
            "{name} {when}"
        );
        assert_eq!(counts(a), counts(b), "{name} {when}");
        assert_eq!(single_rows(a), single_rows(b), "{name} {when}");
        let (plain, cached) = (repeats(a), repeats(b));
        let odd: Vec<_> = cached
            .iter()
            .filter(|finding| !plain.contains(finding))
            .collect();
        assert!(
            odd.is_empty() && plain.is_empty() == cached.is_empty(),
            "{name} {when}: {odd:#?}, in memory {:#?}",
            plain.first()
        );
        let Some(large) = b.large() else {
            assert!(
                !TABLES.contains(&name) || !a.loaded(),
                "{name} is in memory {when}"
            );
            continue;
        };
        assert_same_rows(a, large, when);
    }
    assert_eq!(plain.identity, cached.identity, "{when}");
}

fn assert_same_rows(plain: &Table, large: &TableRows, when: &str) {
    let (name, frame) = (plain.schema.name, large.slice(0..large.height(), None));
    assert_eq!(frame.dtypes(), plain.frame().dtypes(), "{name} {when}");
    for column in plain.schema.columns {
        let whole = plain.frame();
        let (x, y) = (
            whole.column(column.name).unwrap(),
            frame.column(column.name).unwrap(),
        );
        if !x.equals_missing(y) {
            let first = (0..x.len())
                .find(|row| x.get(*row).ok() != y.get(*row).ok())
                .unwrap_or_default()
                .saturating_sub(1) as i64;
            panic!(
                "{name}.{} {when}: {:?}",
                column.name,
                (plain.frame().slice(first, 3), frame.slice(first, 3))
            );
        }
    }
}

#[test]
fn rows_and_findings_are_those_of_a_load_into_memory() {
    let bench = bench(3_000);
    assert!(
        bench
            .plain
            .table("transfers")
            .unwrap()
            .findings
            .counts()
            .iter()
            .any(|count| count.count > 100),
        "more than are kept"
    );
    assert_same(&bench.plain, &bench.load(), "at first sight");
    assert_same(&bench.plain, &bench.load(), "from the cache");
    assert_eq!(list(bench.cache.path()).len(), TABLES.len());
    let part = |entry: &frames::cache::Entry| entry.part;
    assert!(
        !list(bench.cache.path()).iter().any(part),
        "nothing half made is left"
    );
    // In one row group as in many.
    let cache = tempfile::tempdir().unwrap();
    let options = CacheOptions {
        group_max: 48 << 20,
        ..options(cache.path())
    };
    assert_same(
        &bench.plain,
        &load_with(bench.data.path(), &options, &NoProgress).unwrap(),
        "in one group",
    );
}

#[test]
fn every_question_is_answered_the_same() {
    const DEMO: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/datasets");
    const UNI: &str = "0x1f9840a85d5af5bf1d1762f925bdaddc4201f984";
    const WETH: &str = "0xc02aaa39b223fe8d0a0e5c4f27ead9083c756cc2";
    let cache = tempfile::tempdir().unwrap();
    let api = |cache: CacheOptions| {
        let service = QueryService::new(
            Path::new(DEMO),
            ServiceOptions {
                cache,
                ..ServiceOptions::default()
            },
        )
        .unwrap();
        service.load().unwrap();
        Api::new(
            service,
            None,
            Arc::new(Keys::in_memory().unwrap()),
            ApiOptions::default(),
        )
    };
    let (plain, large) = (api(CacheOptions::default()), api(options(cache.path())));
    assert_eq!(
        list(cache.path()).len(),
        TABLES.len(),
        "all of them are large"
    );
    let lists = "/tokens?limit=250 /tokens?sort=-price_change_24h&fields=trend /analytics/tokens/holders-growth?limit=64 /dexes /posts \
                 /posts?query=uni&limit=5 /posts?sort=published_at&limit=250&page=2 /posts?sort=-title /posts?sort=impressions";
    let mut targets: Vec<String> = lists.split_whitespace().map(str::to_owned).collect();
    for token in [UNI, WETH] {
        for rest in [
            "",
            "/posts?page=2",
            "/holders?limit=100&page=2",
            "/holder-counts",
            "/candles?timeframe=4h&limit=5000",
            "/candles?timeframe=1w",
        ] {
            targets.push(format!("/tokens/{token}{rest}"));
        }
        targets.push(format!("/technical/{token}/trendline?timeframe=4h"));
        targets.push(format!(
            "/technical/{token}/patterns?timeframe=1h&explain=true"
        ));
        targets.push(format!("/{token}/security/inference?explain=true"));
        targets.push(format!("/{token}/dexes"));
        targets.push(format!("/posts?query={token}&sort=-engagement"));
    }
    for target in targets {
        let [a, b] = [&plain, &large].map(|api| api::answer_offline(api, "GET", &target, &[]));
        assert_eq!(
            (a.status, a.body.as_ref()),
            (b.status, b.body.as_ref()),
            "{target}"
        );
        assert!(
            a.status == 200 || target.contains("security") || target.contains("patterns"),
            "{target}: {}",
            a.status
        );
    }
}

#[test]
fn changed_sources_are_read_anew() {
    let bench = bench(300);
    drop(bench.load());
    let path = bench.data.path().join("posts.csv");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(
        &path,
        format!("{text}new,{},a post,,1800000000,1,1,1\n", token(3)),
    )
    .unwrap();
    let cached = bench.load();
    assert_same(
        &load(bench.data.path(), &NoProgress).unwrap(),
        &cached,
        "after a change",
    );
    let newest = cached
        .posts_newest(|_, _| Ok::<_, std::io::Error>(()))
        .unwrap()
        .get(0)
        .unwrap();
    assert_eq!(cached.posts().get(newest).unwrap().post_id, "new");
    assert_eq!(
        cached
            .posts_of(&Address::parse(&token(3)).unwrap())
            .get(0)
            .unwrap()
            .post_id,
        "new"
    );
    assert_eq!(
        list(bench.cache.path()).len(),
        TABLES.len() + 1,
        "the one before stays until there is need of room"
    );
}

#[test]
fn the_table_used_longest_ago_makes_room() {
    let bench = bench(300);
    drop(bench.load());
    let old = std::time::SystemTime::now() - Duration::from_hours(1);
    for table in ["holders", "posts"] {
        fs::File::options()
            .append(true)
            .open(bench.entry(table).join("index"))
            .unwrap()
            .set_modified(old)
            .unwrap();
    }
    let sizes: u64 = list(bench.cache.path())
        .iter()
        .map(|entry| entry.bytes)
        .sum();
    let other = tempfile::tempdir().unwrap();
    write(other.path(), 20);
    for table in [
        "posts.csv",
        "holders.csv",
        "holder_counts.csv",
        "transfers.csv",
        "pool_events.csv",
    ] {
        fs::remove_file(other.path().join(table)).unwrap();
    }
    let options = CacheOptions {
        size_max: sizes,
        ..options(bench.cache.path())
    };
    let dataset = load_with(other.path(), &options, &NoProgress).unwrap();
    assert!(dataset.table("candles").unwrap().large().is_some());
    let left: Vec<String> = list(bench.cache.path())
        .into_iter()
        .map(|entry| entry.table)
        .collect();
    assert!(
        left.iter().filter(|table| *table == "candles").count() == 2
            && left.contains(&"transfers".to_owned()),
        "{left:?}"
    );
    assert!(left.len() <= TABLES.len(), "{left:?}");
    for entry in list(bench.cache.path()) {
        // A child that another test starts inherits this process's locks until it executes its program.
        wait_until("the entry can be removed", || entry.remove());
    }
    assert!(list(bench.cache.path()).is_empty());
}
