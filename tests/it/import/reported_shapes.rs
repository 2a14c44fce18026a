//! Shapes of files that people reported elsewhere: several series, titles and types above the rows, statuses in words, tagged addresses.

use model::data::AddressRows as _;

use super::{Desk, PEPE, rows, taken, words};
use crate::shared::shared;

#[test]
fn reported_files_are_taken_as_they_are_meant() {
    for (case, options, table, expected) in [
        ("26/title1.xlsx", "--token PEPE", "candles", 60),
        ("26/title_blank.xlsx", "--token PEPE", "candles", 60),
        ("26/meta.xlsx", "--token PEPE", "candles", 60),
        ("26/top.xlsx", "--token PEPE", "candles", 60),
        ("26/merged.xlsx", "--token PEPE", "candles", 60),
        ("26/hidden.xlsx", "--token PEPE", "candles", 60),
        ("26/total.xlsx", "--token PEPE", "candles", 60),
        ("22/token_transfers.csv", "--chain eth", "transfers", 30),
        ("22/st.csv", "--chain eth", "transfers", 30),
        ("22c/address.csv", "--chain eth", "transfers", 30),
        ("22c/token.csv", "--chain eth", "transfers", 30),
        ("16b/t.parquet", "--chain eth", "transfers", 40),
        ("16v/with_hexvalue.csv", "--chain eth", "transfers", 10),
    ] {
        let Some(file) = shared(&format!("data/reports/cases/{case}")) else { return };
        let options = options.replace("PEPE", PEPE);
        let desk = Desk::empty();
        let report = desk.imports(&[&[file.as_str()][..], &words(&options)].concat());
        assert_eq!(taken(&report, 0, table)[0], expected, "{case}: {report:#}");
    }
}

#[test]
fn reported_files_that_do_not_say_enough_are_asked_about() {
    for (case, options, expected) in [
        ("08b/two.csv", "--chain eth", "`BTC-USD`, `ETH-USD` side by side"),
        ("16v/with_hash.csv", "--chain eth", "The closest table is `transfers`"),
        ("16v/with_token_noval.csv", "--chain eth", "The closest table is `transfers`"),
        ("39/binance_es.csv", "--chain eth", "four columns may be the prices of candles"),
    ] {
        let Some(file) = shared(&format!("data/reports/cases/{case}")) else { return };
        let err = Desk::empty().refuses(&[&[file.as_str()][..], &words(options)].concat());
        assert!(err.contains(expected), "{case}: {err}");
    }
}

#[test]
fn of_two_tickers_side_by_side_that_of_the_coin_is_taken() {
    let Some(file) = shared("data/reports/cases/08b/two.csv") else { return };
    for (coin, from, to) in [("BTC", 20_000.0, 90_000.0), ("ETH", 1_000.0, 5_000.0)] {
        let desk = Desk::empty();
        desk.imports(&[&file, "--coin", coin]);
        let (_, close) = desk.dataset().candles().latest_close(&model::address::Address::coin(coin)).unwrap();
        assert!((from..to).contains(&close), "{coin}: {close}");
    }
    // A price whose name stands twice: of two series, or the same twice.
    let text = |second: u32| {
        let row = |i: u32| format!("2024-01-{i:02},{i},{},{i},{i},{}\n", i + 1, i + second);
        format!("date,open,high,low,close,close\n{}", rows(row))
    };
    let desk = Desk::new();
    desk.write("two.csv", text(5));
    assert!(desk.refuses(&["two.csv", "--token", PEPE]).contains("`close` appears twice in its header"));
    desk.write("one.csv", text(0));
    desk.imports(&["one.csv", "--token", PEPE]);
}

#[test]
fn one_bad_column_or_row_costs_itself_alone() {
    let sent = |i: u32, from: &str, decimals: &str, status: &str, block: &str| {
        let number = format!("{i:064x}");
        format!("0x{number},{from},0x{i:040x},{i}000000000000000000,{PEPE},PEPE,{decimals},{status},{block}\n")
    };
    let tagged = |i: u32| format!("0x{:040x} (Hot Wallet)", i + 50);
    let text =
        |of: &dyn Fn(u32) -> String| format!("hash,from,to,value,token_address,tokenSymbol,tokenDecimal,status,block_number\n{}", rows(of));
    for (name, file, says, statuses) in [
        ("tagged", text(&|i| sent(i, &tagged(i), "18", "Success", "5")), "", 20),
        ("name", text(&|i| sent(i, &if i < 4 { "Binance: Hot Wallet".to_owned() } else { tagged(i) }, "18", "0x1", "5")), "", 20),
        ("padded", text(&|i| sent(i, &format!("0x{:064x}", i + 50), "18", "TRUE", "5")), "", 20),
        ("decimals", text(&|i| sent(i, &tagged(i), if i < 4 { "999" } else { "18" }, "ok", "5")), "", 20),
        (
            "status",
            text(&|i| sent(i, &tagged(i), "18", if i == 9 { "pending" } else { "ok" }, "5")),
            "status is left empty, as `pending`",
            0,
        ),
        ("blocks", text(&|i| sent(i, &tagged(i), "18", "ok", if i < 4 { "soon" } else { "5" })), "`block_number` is left empty", 20),
    ] {
        let desk = Desk::empty();
        desk.write("sent.csv", file);
        let report = desk.imports(&["sent.csv", "--chain", "eth"]);
        assert_eq!(taken(&report, 0, "transfers")[0], 20, "{name}: {report:#}");
        assert!(report["files"][0]["says"].to_string().contains(says), "{name}: {report:#}");
        let dataset = desk.dataset();
        let known = dataset.transfers().chunks(&super::address(PEPE)).flatten().filter(|row| row.status == Some(1)).count();
        assert_eq!(known, statuses, "{name}");
    }
}

#[test]
fn two_tokens_at_one_address_are_told_at_import() {
    let desk = Desk::empty();
    desk.write(
        "list.csv",
        format!("token_address,symbol,name,chain,decimals,market_cap\n{PEPE},OP,Optimism,op,18,5\n{PEPE},FAKE,Fake,base,6,\n"),
    );
    let notes = desk.imports(&["list.csv"])["notes"].to_string();
    assert!(notes.contains("FAKE on base, next to OP on oeth") && notes.contains("the row is excluded"), "{notes}");
    let twin = Desk::empty();
    twin.write("list.csv", format!("token_address,symbol,name,chain,decimals\n{PEPE},USDC,A,op,6\n{PEPE},usdc,A,base,6\n"));
    assert_eq!(twin.imports(&["list.csv"])["notes"].to_string().find("kept out"), None);
    assert_eq!(twin.clean().tokens()[0].chains.len(), 2);
}
