//! The target folder of an import: existing data stay, are merged with the new, and are never half written.

use std::{fs, process::Stdio, thread, time::Instant};

use load::loader::load;
use model::progress::NoProgress;

use super::{Desk, PEPE, TOKENS, UNI, address, files, taken};
use crate::wait::wait_until;

/// A large candle file, which takes seconds to import.
fn plural(rows: u64, close: u64) -> String {
    let mut text = String::from("timestamp,open,high,low,close,volume,turnover\n");
    for i in 0..rows {
        text.push_str(&format!(
            "{},{close},{close},{close},{close},1,1\n",
            1_600_000_000 + i * 60
        ));
    }
    text
}

#[test]
fn the_persons_own_files_and_lines_stay() {
    let desk = Desk::empty();
    desk.write("data/tokens.csv", TOKENS);
    desk.write(
        "data/prices.csv",
        format!(
            "token,ts,open,high,low,close\n{UNI},1690675200,5,6,4,5.5\n{UNI},1690761600,5,6,4,5.5\n"
        ),
    );
    let toml = "# mine\ntitle = \"Mine\" # really\n\n[tables.candles] # from me\npath = \"prices.csv\"\ncolumns = { token_address = \"token\", timestamp = \"ts\" }\n";
    desk.write("data/dataset.toml", toml);
    desk.write(
        "UNIUSDT-1d.csv",
        "1690761600000,5,6,4,5.5,800,1690847999999,1,1,1,1,0\n1690848000000,6,7,5,6.5,1,1690934399999,1,1,1,1,0\n",
    );
    desk.write("list.csv", "token_address,symbol,name,chain\n0xc944e90c64b2c07662a292be6244bdf05cda44a7,GRT,Graph,eth\n");
    let report = desk.imports(&["UNIUSDT-1d.csv", "list.csv"]);
    let candles = report["files"]
        .as_array()
        .unwrap()
        .iter()
        .position(|file| file["format"] == "binance-klines")
        .unwrap();
    assert_eq!(
        taken(&report, candles, "candles"),
        [1, 1, 0, 0, 0, 0],
        "{report:#}"
    );
    assert_eq!(
        fs::read_to_string(desk.path("data/tokens.csv")).unwrap(),
        TOKENS
    );
    let edited = fs::read_to_string(desk.path("data/dataset.toml")).unwrap();
    for line in toml.lines().filter(|line| !line.starts_with("path")) {
        assert!(edited.lines().any(|kept| kept == line), "{line}:\n{edited}");
    }
    assert!(
        edited.contains("path = [\"prices.csv\", \"imported/candles.parquet\"]"),
        "{edited}"
    );
    assert!(
        edited.contains("[tables.tokens]\npath = [\"tokens.csv\", \"imported/tokens.parquet\"]"),
        "{edited}"
    );
    let dataset = desk.dataset();
    assert_eq!(
        (
            dataset.tokens().len(),
            dataset.candles().of(&address(UNI)).series()[0].1.len()
        ),
        (3, 3)
    );
    assert_eq!(
        dataset.candles().of(&address(UNI)).series()[0].1.volume[1],
        800.0
    );
    let before = files(&desk.data());
    desk.imports(&["UNIUSDT-1d.csv", "list.csv"]);
    assert_eq!(files(&desk.data()), before);
}

#[test]
fn a_dataset_toml_that_would_change_imported_rows_is_a_reason_to_refuse() {
    let desk = Desk::new();
    desk.write(
        "data/dataset.toml",
        "[tables.candles]\nset = { interval = \"1h\" }\n",
    );
    desk.write(
        "UNIUSDT-1d.csv",
        "1690761600000,5,6,4,5.5,800,1690847999999,1,1,1,1,0\n",
    );
    let before = files(&desk.data());
    let err = desk.refuses(&["UNIUSDT-1d.csv"]);
    assert!(
        err.contains(
            "the `set` of [tables.candles] in dataset.toml would change imported rows too"
        ),
        "{err}"
    );
    assert_eq!(files(&desk.data()), before);
    desk.write("data/dataset.toml", "titel = 1\n");
    assert!(
        desk.refuses(&["UNIUSDT-1d.csv"])
            .contains("did you mean `title`?")
    );
}

#[test]
fn what_one_list_lacks_another_fills_and_an_empty_cell_takes_nothing_away() {
    let desk = Desk::empty();
    desk.write(
        "a.csv",
        format!("token_address,symbol,name,chain,decimals\n{UNI},UNI,Uniswap,eth,18\n"),
    );
    desk.write(
        "b.csv",
        format!("token_address,symbol,name,chain,market_cap\n{UNI},UNI,,eth,5e9\n"),
    );
    desk.imports(&["a.csv"]);
    assert_eq!(
        taken(&desk.imports(&["b.csv"]), 0, "tokens"),
        [0, 1, 0, 0, 0, 0]
    );
    let dataset = desk.clean();
    let row = &dataset.token(&address(UNI)).unwrap().row;
    assert_eq!(
        (row.name.as_deref(), row.decimals, row.market_cap),
        (Some("Uniswap"), Some(18), Some(5e9))
    );
}

#[test]
fn a_dry_run_writes_nothing() {
    let desk = Desk::empty();
    desk.write("list.csv", TOKENS);
    let report = desk.imports(&["list.csv", "--dry-run"]);
    assert_eq!(
        (
            taken(&report, 0, "tokens"),
            report["tables"][0]["written"].as_bool()
        ),
        ([2, 0, 0, 0, 0, 0], Some(false))
    );
    assert!(!desk.data().exists());
    let output = desk.command(&["list.csv", "--dry-run"]).output().unwrap();
    assert!(
        String::from_utf8(output.stdout)
            .unwrap()
            .contains("dry run; nothing was written")
    );
}

#[test]
fn a_token_that_is_not_there_gets_a_row_and_a_dataset_without_tokens_loads() {
    let desk = Desk::empty();
    desk.write(
        &format!("export-{PEPE}.csv"),
        format!(
            "\"HolderAddress\",\"Balance\",\"PendingBalanceUpdate\"\n\"{UNI}\",\"1,000.5\",\"No\"\n"
        ),
    );
    let report = desk.imports(&[&format!("export-{PEPE}.csv"), "--chain", "base"]);
    assert!(
        report["notes"][0]
            .as_str()
            .unwrap()
            .starts_with("added to `tokens`, which did not contain them: 0x6982"),
        "{report:#}"
    );
    let dataset = desk.clean();
    let token = dataset.token(&address(PEPE)).unwrap();
    assert_eq!(
        (
            token.chains[0].as_str(),
            dataset
                .holders_of(&address(PEPE))
                .get(0)
                .and_then(|row| row.balance)
        ),
        ("base", Some(1000.5))
    );

    let desk = Desk::empty();
    desk.write(
        "bridge.csv",
        format!(",Address,Name Tag,Balance,Txn Count\n0,{UNI},A Bridge,0 ETH,4\n"),
    );
    let report = desk.imports(&["bridge.csv", "--label", "bridge"]);
    assert!(
        report["notes"][0]
            .as_str()
            .unwrap()
            .contains("has no tokens yet"),
        "{report:#}"
    );
    assert_eq!(
        (
            desk.clean().tokens().len(),
            desk.clean().labels_of(&address(UNI))[0].label.as_str()
        ),
        (0, "bridge")
    );
}

#[test]
fn wrong_usage_is_refused_and_every_format_is_listed() {
    let desk = Desk::new();
    for (args, says) in [
        (&["--token", "0x12", "a.csv"][..], "expected an address"),
        (&["--chain", "etherium", "a.csv"], "did you mean eth"),
        (&[], "<FILE>"),
    ] {
        let output = desk.command(args).output().unwrap();
        let err = String::from_utf8(output.stderr).unwrap();
        assert!(
            output.status.code() == Some(2) && err.contains(says),
            "{args:?}: {err}"
        );
    }
    let output = desk.command(&["--formats"]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(
        import::Formats::built_in()
            .rows()
            .iter()
            .all(|format| text.contains(&format.word) && text.contains(&format.looks)),
        "{text}"
    );
    for name in ["UNIUSDT.csv", "PEPEUSDT.csv"] {
        desk.write(
            name,
            "1690761600000,5,6,4,5.5,800,1690847999999,1,1,1,1,0\n",
        );
    }
    let err = desk.refuses(&["UNIUSDT.csv", "PEPEUSDT.csv", "--token", UNI]);
    assert!(
        err.contains("(from its name), but --token was already used for a file about"),
        "{err}"
    );
}

#[test]
fn whenever_it_is_killed_what_is_there_is_whole() {
    let desk = Desk::new();
    let mut close = 1;
    desk.write("UNIUSDT.csv", plural(30_000, close));
    desk.imports(&["UNIUSDT.csv"]);
    // Kills at moments spread over the import, by a step coprime to their number.
    let whole = {
        let start = Instant::now();
        desk.write("UNIUSDT.csv", plural(30_000, 2));
        desk.imports(&["UNIUSDT.csv", "--dry-run"]);
        start.elapsed()
    };
    for i in 0..12u32 {
        desk.write("UNIUSDT.csv", plural(30_000, u64::from(i) + 2));
        let mut child = desk
            .command(&["UNIUSDT.csv"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        thread::sleep(whole * (i * 7 % 12) / 10);
        child.kill().unwrap();
        child.wait().unwrap();
        let dataset = load(&desk.data(), &NoProgress).unwrap();
        let held = dataset.candles().of(&address(UNI));
        let candles = held.series()[0].1;
        assert_eq!(candles.len(), 30_000);
        let now = candles.close[0] as u64;
        assert!(
            candles.close.iter().all(|price| *price as u64 == now),
            "two imports in one table"
        );
        assert!(
            now == close || now == u64::from(i) + 2,
            "{now} after {close}"
        );
        close = now;
    }
    desk.imports(&["UNIUSDT.csv"]);
    assert!(!desk.data().join(".import").exists());
    desk.clean();
}

#[test]
fn ctrl_c_leaves_everything_as_it_was() {
    let desk = Desk::new();
    desk.write("UNIUSDT.csv", plural(1_500_000, 1));
    let before = files(&desk.data());
    let child = desk
        .command(&["UNIUSDT.csv"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    wait_until("it writes", || desk.data().join(".import").exists());
    assert!(
        std::process::Command::new("kill")
            .args(["-INT", &child.id().to_string()])
            .status()
            .unwrap()
            .success()
    );
    let output = child.wait_with_output().unwrap();
    let err = String::from_utf8(output.stderr).unwrap();
    assert_eq!(
        (output.status.code(), err.as_str()),
        (
            Some(130),
            "tokendeck: import canceled; nothing was changed\n"
        )
    );
    assert_eq!(files(&desk.data()), before);
}
