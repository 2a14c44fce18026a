//! Transfers and holder counts from a node's logs: each exactly once, whatever the node does, and however often the program ends.

#[path = "node/server.rs"]
#[allow(dead_code, reason = "the other tests of nodes have more faults")]
mod server;

use std::{
    fs,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use frames::cache::CacheOptions;
use model::{
    address::Address,
    progress::{Cancelled, LoadProgress, NoProgress},
    table_state::TableState,
};
use tokendeck_load::{
    Dataset,
    loader::{LoadError, load_as, origins_to_agree},
};
use wire::{
    Consent, MemoryLedger, RemoteClient, Source, SourceKind, TimeoutsAndRetries, WireOptions,
};

use self::server::{FakeNode, NodeSettings, NodeTrouble};

const TOKENS: &str = "token_address,symbol,name,chain\n0xaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa,A,A,eth\n\
                      0xbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb,B,B,eth\n0xcccccccccccccccccccccccccccccccccccccccc,C,C,base\n";
const BOTH: &str =
    "[tables.transfers]\nsource = 'mainnet'\n[tables.holder_counts]\nsource = 'mainnet'\n";

fn wire_of(url: &str, lag_minutes: Option<u32>, consent: Consent) -> Arc<RemoteClient> {
    let (ms, name) = (Duration::from_millis, "mainnet".to_owned());
    let source = Source {
        name,
        kind: SourceKind::Node,
        url: url.into(),
        chain: "eth".into(),
        timeout_seconds: 1,
        lag_minutes,
        ..Source::default()
    };
    let timeouts = TimeoutsAndRetries {
        connect_timeout: ms(500),
        read_timeout: ms(500),
        retries: 2,
        backoff: ms(1),
        backoff_max: ms(4),
    };
    let options = WireOptions {
        consent,
        sources: vec![source],
        timeouts,
        ..WireOptions::default()
    };
    RemoteClient::new(options, Arc::new(MemoryLedger::default()))
}

fn wire(node: &FakeNode) -> Arc<RemoteClient> {
    wire_of(&node.url(), None, Consent::Always)
}

fn folder(manifest: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("tokens.csv"), TOKENS).expect("written");
    fs::write(folder.path().join("dataset.toml"), manifest).expect("written");
    folder
}

fn load(folder: &Path, wire: &Arc<RemoteClient>) -> Dataset {
    load_as(
        folder,
        &CacheOptions::default(),
        Some(wire),
        &NoProgress,
        None,
        false,
    )
    .expect("a dataset")
}

/// A node with 1,000 blocks, of which the first 936 are final, and some transfers in many of them.
fn node() -> FakeNode {
    let node = FakeNode::start();
    {
        let mut settings = node.set();
        (settings.block, settings.interval, settings.born) = (1_000, 3_600, 5);
        let mut random = 7_u64;
        for block in (10..1_000).step_by(3) {
            for nth in 0..block % 5 {
                random = random
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1_442_695_040_888_963_407);
                let of = if (random >> 40).is_multiple_of(4) {
                    0xbb
                } else {
                    0xaa
                };
                settings.transfers.push((
                    block,
                    of,
                    (random >> 33) as u8 % 9,
                    (random >> 50) as u8 % 9,
                    random >> 60 | nth,
                ));
            }
        }
    }
    node
}

/// The transfers that a dataset should have: those of final blocks.
fn truth(settings: &NodeSettings, end: u64) -> Vec<(u64, String)> {
    let of = |(nth, transfer): (usize, &(u64, u8, u8, u8, u64))| {
        (transfer.0 <= end).then(|| (transfer.0, format!("0x{nth:064x}")))
    };
    settings
        .transfers
        .iter()
        .enumerate()
        .filter_map(of)
        .collect()
}

fn rows(dataset: &Dataset) -> Vec<(u64, String)> {
    let frame = dataset.table("transfers").expect("the table").frame();
    let (Ok(blocks), Ok(hashes)) = (
        frame.column("block_number"),
        frame.column("transaction_hash"),
    ) else {
        return Vec::new();
    };
    let (blocks, hashes) = (blocks.i64().expect("numbers"), hashes.str().expect("texts"));
    let mut rows: Vec<(u64, String)> = blocks
        .iter()
        .zip(hashes.iter())
        .map(|(block, hash)| (block.unwrap_or(-1) as u64, hash.unwrap_or("").to_owned()))
        .collect();
    rows.sort();
    rows
}

/// Asserts that these are the rows, without showing them all.
fn same(rows: &[(u64, String)], truth: &[(u64, String)], what: &str) {
    let differs = rows.iter().zip(truth).find(|(row, right)| row != right);
    assert!(
        rows == truth,
        "{what}: {} rows and not {}, first differing: {differs:?}",
        rows.len(),
        truth.len()
    );
}

fn told(dataset: &Dataset, table: &str) -> String {
    let table = dataset.table(table).expect("the table");
    let reason = if let TableState::Unusable(reason) = &table.state {
        reason.clone()
    } else {
        String::new()
    };
    table
        .findings
        .kept()
        .iter()
        .map(|finding| format!("{:?}: {}\n", finding.severity, finding.reason))
        .chain([reason])
        .collect()
}

#[test]
fn every_transfer_of_final_blocks_comes_whatever_the_node_takes() {
    type Limit = fn(&mut NodeSettings);
    let limits: [(&str, Limit); 8] = [
        ("none", |_| {}),
        ("events", |node| node.logs_max = Some(7)),
        ("blocks", |node| node.span_max = Some(10)),
        ("contracts", |node| node.addresses_max = Some(1)),
        ("calls", |node| node.batch_max = Some(2)),
        ("all of them", |node| {
            (node.logs_max, node.span_max, node.batch_max) = (Some(9), Some(50), Some(3));
        }),
        ("times in logs", |node| node.timed_logs = true),
        ("no old states", |node| node.pruned = true),
    ];
    for (limit, set) in limits {
        let (node, folder) = (node(), folder(BOTH));
        set(&mut node.set());
        let dataset = load(folder.path(), &wire(&node));
        same(&rows(&dataset), &truth(&node.set(), 936), limit);
        let says = told(&dataset, "transfers");
        assert!(
            says.contains("the rows reach block 936; later blocks are not final yet"),
            "{says}"
        );
        assert_eq!(
            says.contains("does not keep the state of old blocks"),
            limit == "no old states",
            "{says}"
        );
        // The first transfer is of block 13.
        let times = dataset
            .table("transfers")
            .expect("a table")
            .frame()
            .column("timestamp")
            .expect("times")
            .min_reduce()
            .expect("a time");
        assert_eq!(
            times.value().try_extract::<i64>().expect("a number"),
            (0x6554_0000 - 87 * 3_600) * 1_000,
            "{limit}"
        );
        // Only what is new is read later, and with what was learnt.
        let before = node.requests();
        (node.set().block, node.set().pruned) = (1_010, false);
        same(
            &rows(&load(folder.path(), &wire(&node))),
            &truth(&node.set(), 946),
            limit,
        );
        assert!(
            node.requests() - before < 20,
            "{limit}: {} more",
            node.requests() - before
        );
    }
}

#[test]
fn a_program_that_ends_goes_on_where_it_was() {
    let whole = truth(&node().set(), 936);
    for end_after in 1..12 {
        let (node, folder) = (
            node(),
            folder("[tables.transfers]\nsource = 'mainnet'\nfrom_block = 0\n"),
        );
        (node.set().span_max, node.set().timed_logs) = (Some(30), true);
        let calm = vec![NodeTrouble::None; end_after * 2];
        node.trouble(calm);
        node.set().always = Some(NodeTrouble::Status(404, None));
        let broken = load(folder.path(), &wire(&node));
        let some = rows(&broken);
        same(&some, &whole[..some.len()], "a beginning of it");
        assert!(
            told(&broken, "transfers").contains("`node://mainnet` returned 404"),
            "{}",
            told(&broken, "transfers")
        );
        let state = folder.path().join("live/transfers/eth/state.json");
        let said = fs::read(&state).ok();
        node.set().always = None;
        same(
            &rows(&load(folder.path(), &wire(&node))),
            &whole,
            "the rest",
        );
        // Killed after the rows were written, and before it was said that they are there.
        let Some(said) = said else { continue };
        fs::write(&state, said).expect("written");
        same(
            &rows(&load(folder.path(), &wire(&node))),
            &whole,
            "the rest",
        );
    }
}

#[test]
fn a_file_that_is_gone_or_damaged_is_read_again() {
    let (node, data) = (node(), folder("[tables.transfers]\nsource = 'mainnet'\n"));
    let whole = truth(&node.set(), 936);
    let live = data.path().join("live/transfers/eth");
    let parts = || -> Vec<std::path::PathBuf> {
        let all = fs::read_dir(&live)
            .expect("a folder")
            .flatten()
            .map(|entry| entry.path());
        all.filter(|path| path.extension().is_some_and(|end| end == "parquet"))
            .collect()
    };
    same(&rows(&load(data.path(), &wire(&node))), &whole, "all");
    fs::remove_file(&parts()[0]).expect("removed");
    same(&rows(&load(data.path(), &wire(&node))), &whole, "all");
    fs::write(live.join("state.json"), "{").expect("written");
    same(&rows(&load(data.path(), &wire(&node))), &whole, "all");
    assert_eq!(parts().len(), 1, "what does not count goes");
}

#[test]
fn blocks_that_were_taken_back_are_read_again() {
    let (node, folder) = (node(), folder(BOTH));
    node.set().block = 500;
    same(
        &rows(&load(folder.path(), &wire(&node))),
        &truth(&node.set(), 436),
        "all",
    );
    node.set().block = 1_000;
    same(
        &rows(&load(folder.path(), &wire(&node))),
        &truth(&node.set(), 936),
        "all",
    );
    // From block 700 on the chain is another one.
    {
        let mut settings = node.set();
        (settings.fork, settings.fork_from) = (1, 700);
        settings
            .transfers
            .retain(|(block, ..)| *block < 700 || *block % 2 == 0);
    }
    let before = node.requests();
    let dataset = load(folder.path(), &wire(&node));
    same(&rows(&dataset), &truth(&node.set(), 936), "after it");
    assert!(
        told(&dataset, "transfers")
            .contains("the blocks after 436 were reorganized and are read again"),
        "{}",
        told(&dataset, "transfers")
    );
    assert!(node.requests() - before < 10);
    // A node that is behind says nothing new, and takes nothing away.
    node.set().block = 450;
    let behind = load(folder.path(), &wire(&node));
    assert!(
        told(&behind, "transfers").contains("is at block 450, behind block 936"),
        "{}",
        told(&behind, "transfers")
    );
    same(&rows(&behind), &rows(&dataset), "behind");
    // Another chain altogether.
    (node.set().fork, node.set().fork_from, node.set().block) = (2, 0, 1_000);
    let anew = load(folder.path(), &wire(&node));
    assert!(
        told(&anew, "transfers")
            .contains("none of the blocks read before is still part of the chain"),
        "{}",
        told(&anew, "transfers")
    );
    same(&rows(&anew), &truth(&node.set(), 936), "anew");
}

#[test]
fn faults_are_overcome_or_told_in_words() {
    for trouble in [
        NodeTrouble::Reversed,
        NodeTrouble::Partial,
        NodeTrouble::Status(429, Some(0)),
        NodeTrouble::Status(503, None),
        NodeTrouble::Cut,
        NodeTrouble::Broken,
        NodeTrouble::One(-32_000, "the database is closed"),
        NodeTrouble::One(-32_005, "rate limit exceeded"),
        NodeTrouble::One(-32_602, "Log response size exceeded"),
        NodeTrouble::Whole(-32_000, "query timeout exceeded"),
        NodeTrouble::Huge,
    ] {
        let (node, folder) = (
            node(),
            folder("[tables.transfers]\nsource = 'mainnet'\nfrom_block = 0\n"),
        );
        // The newest block, the logs, the times.
        node.trouble([NodeTrouble::None, trouble, NodeTrouble::None, trouble]);
        let dataset = load(folder.path(), &wire(&node));
        same(
            &rows(&dataset),
            &truth(&node.set(), 936),
            &format!("{trouble:?}: {}", told(&dataset, "transfers")),
        );
    }
    for (trouble, says) in [
        (NodeTrouble::Stall, "`node://mainnet` timed out after 1 s"),
        (
            NodeTrouble::Endless,
            "sent more than 33.6 MB, the largest response accepted",
        ),
        (
            NodeTrouble::One(-32_000, "the database is closed"),
            "rejected requests for logs: the database is closed",
        ),
        (
            NodeTrouble::One(-32_000, "block range is too wide"),
            "rejected a request for the logs of a single block and contract: block range is too wide",
        ),
        (NodeTrouble::NotJson, "sent an unreadable response"),
    ] {
        let (node, folder) = (
            node(),
            folder("[tables.transfers]\nsource = 'mainnet'\nfrom_block = 930\n"),
        );
        node.trouble([NodeTrouble::None]);
        node.set().always = Some(trouble);
        let dataset = load(folder.path(), &wire(&node));
        assert!(
            told(&dataset, "transfers").contains(says),
            "{trouble:?}: {}",
            told(&dataset, "transfers")
        );
        assert!(rows(&dataset).is_empty());
    }
}

#[test]
fn what_was_read_comes_again_without_the_node() {
    let (node, data) = (node(), folder(BOTH));
    let there = load(data.path(), &wire(&node));
    for (consent, says) in [
        (Consent::Always, "is unreachable"),
        (Consent::Never, "remote.enabled is false"),
    ] {
        let away = load(data.path(), &wire_of("http://127.0.0.1:1", None, consent));
        for table in ["transfers", "holder_counts"] {
            let (here, before) = (
                away.table(table).expect("a table"),
                there.table(table).expect("a table"),
            );
            assert!(here.frame().equals_missing(&before.frame()), "{table}");
            assert!(told(&away, table).contains(says), "{}", told(&away, table));
            assert!(here.stale_since().is_some() && before.stale_since().is_none());
        }
    }
    // Without anything kept, and without consent.
    let (fresh, asks) = (folder(BOTH), wire_of(&node.url(), None, Consent::Ask));
    let before = node.requests();
    let none = load(fresh.path(), &asks);
    assert!(
        told(&none, "transfers").contains("is blocked until you allow"),
        "{}",
        told(&none, "transfers")
    );
    assert_eq!(
        (node.requests(), origins_to_agree(fresh.path(), &asks)),
        (before, vec!["node://mainnet".to_owned()])
    );
}

#[test]
fn holders_are_counted_by_day_and_compared_with_the_chain() {
    let (node, data) = (node(), folder(BOTH));
    // All is final, so that balances of the newest block are those of the transfers. One token, so that the fake node adds up the same.
    node.set()
        .transfers
        .iter_mut()
        .for_each(|transfer| transfer.1 = 0xaa);
    let wire = wire_of(&node.url(), Some(0), Consent::Always);
    let dataset = load(data.path(), &wire);
    let counts = dataset.holder_counts_of(&Address([0xaa; 20]));
    // 1,000 blocks of an hour.
    assert_eq!(
        (
            counts.len(),
            counts.last().map(|row| row.holders.unwrap_or(0) > 3)
        ),
        (42, Some(true)),
        "{counts:?}"
    );
    assert!(
        told(&dataset, "holder_counts")
            .contains("of them were compared with balanceOf at block 1000, and all agree")
    );
    let settled = node.requests();
    let again = load(data.path(), &wire);
    assert!(node.requests() <= settled + 2, "counted once");
    assert!(
        again
            .holder_counts_of(&Address([0xaa; 20]))
            .iter()
            .eq(counts.iter())
    );
    let holder = (1..9)
        .find(|holder| !node.set().balances.contains_key(holder))
        .expect("a holder");
    node.set().balances = (0..9).map(|nth| (nth + holder - 1, 77_777)).collect();
    node.set().block = 1_001;
    let differing = load(data.path(), &wire);
    let says = told(&differing, "holder_counts");
    assert!(
        says.contains(
            "have an on-chain balance that differs from the sum of their transfers, such as 0x"
        ),
        "{says}"
    );
    assert!(
        says.contains("by transfers, 77777 by balanceOf (base units)")
            && says.starts_with("Warning"),
        "{says}"
    );
}

/// The node has no old states, and a holder that got all before the first block is in no transfer since.
#[test]
fn holders_are_not_counted_from_a_block_after_the_first_transfer() {
    let both = |from: &str| {
        format!(
            "[tables.transfers]\nsource = 'mainnet'\n{from}\n[tables.holder_counts]\nsource = 'mainnet'\n{from}\n"
        )
    };
    let counted = |dataset: &Dataset| {
        dataset
            .holder_counts_of(&Address([0xaa; 20]))
            .last()
            .and_then(|row| row.holders)
    };
    for (from, supply, holders, says) in [
        (
            5,
            Some(150),
            Some(3),
            "the rows begin at block 5, as set by `from_block`; earlier transfers are missing",
        ),
        (
            5,
            None,
            None,
            "read only from block 5 on (`from_block`), and the node does not return its supply",
        ),
        (
            15,
            Some(150),
            None,
            "read only from block 15 on (`from_block`), and some holders have sent more than they received since then",
        ),
        (
            25,
            Some(150),
            None,
            "read only from block 25 on (`from_block`), and the transfers since then account for 50 of a supply of 150",
        ),
    ] {
        let (node, data) = (node(), folder(&both(&format!("from_block = {from}"))));
        {
            let mut settings = node.set();
            settings.transfers = vec![
                (10, 0xaa, 0, 1, 100),
                (20, 0xaa, 1, 2, 40),
                (30, 0xaa, 0, 3, 50),
            ];
            settings.pruned = true;
            settings
                .calls
                .extend(supply.map(|supply| ("18160ddd".to_owned(), format!("0x{supply:064x}"))));
        }
        let dataset = load(data.path(), &wire(&node));
        let told_of =
            |dataset: &Dataset| told(dataset, "transfers") + &told(dataset, "holder_counts");
        assert_eq!(counted(&dataset), holders, "{from}: {}", told_of(&dataset));
        assert!(
            told_of(&dataset).contains(says),
            "{from}: {}",
            told_of(&dataset)
        );
        // The node away, the same is said; without `from_block` all comes.
        let away = load(
            data.path(),
            &wire_of("http://127.0.0.1:1", None, Consent::Always),
        );
        assert_eq!(counted(&away), holders, "{from}: {}", told_of(&away));
        fs::write(data.path().join("dataset.toml"), both("")).expect("written");
        let all = load(data.path(), &wire(&node));
        assert_eq!(counted(&all), Some(3), "{from}: {}", told_of(&all));
    }
}

#[test]
fn a_load_that_is_cancelled_keeps_what_came() {
    struct Impatient(AtomicUsize);
    impl LoadProgress for Impatient {
        fn step(&self, table: &str, done: u64, _: u64) -> Result<(), Cancelled> {
            if table == "transfers" && done > 200 {
                self.0.fetch_add(1, Ordering::Relaxed);
            }
            if self.0.load(Ordering::Relaxed) > 0 {
                Err(Cancelled)
            } else {
                Ok(())
            }
        }
    }
    let (node, data) = (
        node(),
        folder("[tables.transfers]\nsource = 'mainnet'\nfrom_block = 0\n"),
    );
    node.set().span_max = Some(3);
    let slow = load_as(
        data.path(),
        &CacheOptions::default(),
        Some(&wire(&node)),
        &Impatient(AtomicUsize::new(0)),
        None,
        false,
    );
    assert_eq!(slow.err(), Some(LoadError::Cancelled));
    let state =
        fs::read_to_string(data.path().join("live/transfers/eth/state.json")).expect("kept");
    assert!(
        !state.contains("\"0xaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\":0,"),
        "{state}"
    );
    node.set().span_max = None;
    same(
        &rows(&load(data.path(), &wire(&node))),
        &truth(&node.set(), 936),
        "all",
    );
}
