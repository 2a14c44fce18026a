//! Shapes of files that people reported elsewhere: several series, titles and types above the rows, statuses in words, tagged addresses.

use model::data::AddressRows as _;

use super::{Desk, PEPE, UNI, rows, taken, words};
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

/// Candles of twenty days, the cells of a row between `between`.
fn days(between: &str) -> String {
    rows(|i| {
        [format!("2024-01-{i:02}"), format!("{i}.5"), format!("{}.75", i + 1), format!("{i}.25"), format!("{}.5", i + 1)].join(between)
            + "\n"
    })
}

#[test]
fn candles_are_read_however_their_cells_are_separated_and_written() {
    let sjis = b"\x93\xfa\x95\x74,\x8e\x6e\x92\x6c,\x8d\x82\x92\x6c,\x88\xc0\x92\x6c,\x8f\x49\x92\x6c\n";
    let gbk = b"\xc8\xd5\xc6\xda,\xbf\xaa\xc5\xcc,\xd7\xee\xb8\xdf,\xd7\xee\xb5\xcd,\xca\xd5\xc5\xcc\n";
    let comma = |name: &str| format!("{name}\n{}", days(","));
    let google = |i: u32| serde_json::json!({"c": [{"v": format!("Date(2024,0,{i})")}, {"v": f64::from(i) + 0.5}, {"v": i + 1}, {"v": i}, {"v": f64::from(i) + 0.25}]});
    let columns = ["Date", "Open", "High", "Low", "Close"].map(|label| serde_json::json!({"id": "A", "label": label}));
    let google = serde_json::json!({"table": {"cols": columns, "rows": (1..=20).map(google).collect::<Vec<_>>()}});
    for (name, bytes, says) in [
        ("blanks.txt", format!("date  open high low close\n{}", days("   ")).into_bytes(), ""),
        ("comma.txt", days("  ").replace('.', ",").into_bytes(), ""),
        ("jp.csv", [&sjis[..], days(",").as_bytes()].concat(), "read as Shift_JIS"),
        ("cn.csv", [&gbk[..], days(",").as_bytes()].concat(), "read as gb18030"),
        ("one_more.csv", comma("date,open,high,low,close").replace("5\n", "5,0\n").into_bytes(), ""),
        ("index.csv", comma("open,high,low,close").into_bytes(), ""),
        (
            "split.csv",
            format!("Date, Open, High, Low, Close\n{}", rows(|i| format!("Jan {i:02}, 2024, {i}.5, {}, {i}, {i}.25\n", i + 1))).into(),
            "",
        ),
        (
            "excel.csv",
            format!("date,open,high,low,close\n{}", rows(|i| format!("=\"2024-01-{i:02}\",{i}.5,{},{i},{i}.25\n", i + 1))).into(),
            "",
        ),
        ("gviz.json", format!("/*O_o*/\ngoogle.visualization.Query.setResponse({google});\n").into_bytes(), "is JavaScript"),
    ] {
        let desk = Desk::empty();
        desk.write(name, &bytes);
        let report = desk.imports(&[name, "--token", PEPE]);
        assert_eq!(taken(&report, 0, "candles")[0], 20, "{name}: {report:#}");
        assert!(report["files"][0]["says"].to_string().contains(says), "{name}: {report:#}");
        let dataset = desk.dataset();
        let first = dataset.table("candles").unwrap().frame().column("open").unwrap().f64().unwrap().get(0);
        assert_eq!(first, Some(1.5), "{name}");
    }
}

#[test]
fn what_is_no_table_of_rows_says_what_to_do() {
    let list = |i: u32| format!("2024-01-{i:02}");
    let line =
        |name: &str, plus: f64| format!("{name},{}\n", (1..=20).map(|i| (f64::from(i) + plus).to_string()).collect::<Vec<_>>().join(","));
    let turned = [line("open", 0.5), line("high", 1.0), line("low", 0.0), line("close", 0.25)].concat();
    for (text, expected) in [
        ("version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n".to_owned(), "is a Git LFS pointer"),
        ("┏━━━━┳━━━━┓\n┃ a  ┃ b  ┃\n┡━━━━╇━━━━┩\n│ 1  │ 2  │\n└────┴────┘\n".to_owned(), "is a table drawn with box characters"),
        (format!(",{}\n{turned}", (1..=20).map(list).collect::<Vec<_>>().join(",")), "Its rows and columns are swapped"),
        (
            format!("Date,BTC,ETH\n{}", rows(|i| format!("{},{i}.5,7.25\n", list(i)))),
            "one number per time in each of its columns (`BTC`, `ETH`)",
        ),
    ] {
        let desk = Desk::empty();
        desk.write("x.csv", &text);
        let err = desk.refuses(&["x.csv", "--token", PEPE]);
        assert!(err.contains(expected), "{text}: {err}");
    }
    let desk = Desk::empty();
    desk.write("x.csv", b"\xb0\xa1\xb0\xa2,\xb0\xa3\xb0\xa4\n1,2\n");
    let err = desk.refuses(&["x.csv", "--token", PEPE]);
    assert!(err.contains("is not UTF-8") && err.contains("save it as UTF-8") && !err.contains('\u{fffd}'), "{err}");
}

#[test]
fn exports_of_mysql_keep_quotes_and_nulls_and_unreadable_rows_refuse_the_file() {
    let desk = Desk::empty();
    let list = "\"token_address\",\"symbol\",\"name\",\"decimals\",\"chain\"\n";
    let row = |token: &str, name: &str| format!("\"{token}\",\"X\",{name},18,\"eth\"\n");
    desk.write("tokens.csv", format!("{list}{}{}", row(UNI, r#""\"UNI\" coin""#), row(PEPE, r"\N")));
    let report = desk.imports(&["tokens.csv"]);
    assert!(report["files"][0]["says"].to_string().contains("assumed: a backslash before a quote"), "{report:#}");
    let dataset = desk.dataset();
    let name = |token: &str| dataset.token(&super::address(token)).unwrap().row.name.clone();
    assert_eq!((name(UNI).as_deref(), name(PEPE)), (Some("\"UNI\" coin"), None));
    // Cells that are not closed, but for a few, show that the file is written in another way.
    for (bad, good) in [(10, false), (2, true), (0, true)] {
        let label = |i: u32| format!("\"0x{i:040x}\",\"{}\n", if i <= bad { "N," } else { "exchange\"" });
        let desk = Desk::empty();
        desk.write("labels.csv", format!("address,label\n{}", rows(label)));
        let (_, _, err) = desk.run(&["labels.csv"]);
        assert_eq!(err.is_empty(), good, "{bad}: {err}");
        assert!(good || err.contains("has 10 invalid rows out of 20"), "{err}");
    }
}

#[test]
fn the_exact_amounts_and_the_chain_beside_the_rows_are_taken() {
    let desk = Desk::empty();
    let sent = |i: u32| {
        let exact = format!("{i}234567890123456789");
        let float = exact.parse::<f64>().unwrap();
        format!("0x{i:064x},{UNI},0x{i:040x},0x{:040x},{float:e},{exact},18,UNI\n", i + 1)
    };
    desk.write(
        "t.csv",
        format!("tx_hash,contract_address,from_address,to_address,raw_amount,raw_amount_precise,decimals,symbol\n{}", rows(sent)),
    );
    let report = desk.imports(&["t.csv", "--chain", "eth"]);
    let says = report["files"][0]["says"].to_string();
    assert!(says.contains("its amounts are read from `raw_amount_precise`") && !says.contains("approximate"), "{says}");
    // A single column of rounded amounts stays one, and said to be.
    let rounded = rows(sent).lines().map(|line| line.rsplitn(4, ',').last().unwrap().to_owned() + ",18,UNI\n").collect::<String>();
    let desk = Desk::empty();
    desk.write("r.csv", format!("tx_hash,contract_address,from_address,to_address,raw_amount,decimals,symbol\n{rounded}"));
    assert!(desk.imports(&["r.csv", "--chain", "eth"])["files"][0]["says"].to_string().contains("approximate"));
    let holder = |i: u32| {
        serde_json::json!({"contract_decimals": 18, "contract_name": "Uniswap", "contract_ticker_symbol": "UNI", "contract_address": UNI,
            "address": format!("0x{i:040x}"), "balance": format!("{i}000000000000000000000")})
    };
    for (member, value, chain) in [
        ("chain_id", serde_json::json!(43114), "avax"),
        ("chain_name", serde_json::json!("avalanche-mainnet"), "avax"),
        ("chain_id", serde_json::json!(0), "eth"),
    ] {
        let desk = Desk::empty();
        desk.write("h.json", serde_json::json!({"data": {member: value, "items": (1..=20).map(holder).collect::<Vec<_>>()}}).to_string());
        let says = desk.imports(&["h.json"])["files"][0]["says"].to_string();
        assert_eq!(says.contains("assumed: the chain of its tokens"), chain == "eth", "{member}: {says}");
        let dataset = desk.dataset();
        let token = dataset.token(&super::address(UNI)).unwrap();
        assert_eq!((token.chains[0].as_str(), token.row.name.as_deref()), (chain, Some("Uniswap")), "{member}");
    }
}

#[test]
fn transactions_of_other_native_coins_are_no_transfers() {
    let sent = |more: &str| rows(|i| format!("0x{i:064x},{i},0x{i:040x},0x{:040x},{more}\n", i + 1));
    let header = "Txhash,Blockno,From,To";
    for (names, cells, native) in [
        ("Value_IN(ONE),Value_OUT(ONE),TxnFee(ONE)", "0,5.5,0.1", true),
        ("ContractAddress,Value,Fee,Status,ErrCode", ",1000000000000000123,21000,ok,", true),
        ("TokenContractAddress,TokensTransferred,Fee,Status,ErrCode", format!("{UNI},1000000000000000123,21000,ok,").as_str(), false),
        ("value,value_in_usd", "1000000000000000123,5", false),
    ] {
        let desk = Desk::empty();
        desk.write("t.csv", format!("{header},{names}\n{}", sent(cells)));
        let (_, _, err) = desk.run(&["t.csv", "--token", UNI]);
        assert_eq!(err.contains("contains transactions in the chain's native coin"), native, "{names}: {err}");
    }
}

#[test]
fn the_suggestion_for_posts_keeps_link_author_and_token() {
    let desk = Desk::new();
    for (id, expected) in [("=\"\"138123456789012345", true), ("1.38E+18", false)] {
        let id = |i: u32| if expected { format!("\"{id}{i}\"\"\"") } else { id.to_owned() };
        let row = |i: u32| format!("{},2021-04-{i:02} 12:00:00,degen{i},to the moon,https://x.com/status/{i}\n", id(i));
        desk.write("tweets.csv", format!("id,date,username,content,url\n{}", rows(row)));
        let err = desk.refuses(&["tweets.csv", "--token", PEPE]);
        let line = err.lines().find(|line| line.contains("try: ")).unwrap_or_default();
        for part in [&format!("--token {PEPE}"), "--map link=url", "--map author=username"] {
            assert!(line.contains(part), "{part}: {err}");
        }
        assert_eq!(line.contains("--map post_id=id"), expected, "{err}");
    }
}

#[test]
fn lists_of_addresses_are_one_label_for_each() {
    let desk = Desk::empty();
    let at = |i: u32| format!("\"0x{:040x}\"", 0xabc_0000 + i);
    let entry = |i: u32, addresses: &str| format!(r#"{{"name":"site{i}.com","category":"Phishing","addresses":{addresses}}}"#);
    let lists = [format!(r#"{{"ETH":[{},{}]}}"#, at(1), at(2)), format!(r#"{{"ETH":[{}]}}"#, at(3)), "null".to_owned()];
    let entries: Vec<String> = (1..).zip(&lists).map(|(i, addresses)| entry(i, addresses)).collect();
    desk.write("scams.json", format!("[{},{}]", entries.join(","), entry(9, r#"{"BTC":["1BoatSLRHtKNngkdXEeobR76b53LETtpyT"]}"#)));
    desk.imports(&["scams.json", "--map", "label=category"]);
    assert_eq!(desk.dataset().table("labels").unwrap().frame().height(), 3);
}

#[test]
fn posts_of_a_chat_have_their_whole_text_and_are_at_utc() {
    let desk = Desk::new();
    let post = |id: u32, kind: &str, text: &str| {
        let (hour, seconds) = (10 + id, 1_684_051_200 + 3_600 * id);
        format!(r#"{{"id":{id},"type":"{kind}","date":"2023-05-14T{hour}:00:00","date_unixtime":"{seconds}","from":"ann","text":{text}}}"#)
    };
    let runs = r#"["up ",{"type":"bold","text":"only"},"!"]"#;
    let posts = [post(1, "message", runs), post(2, "service", r#""""#), post(3, "message", r#"["a","b"]"#)].join(",");
    desk.write("result.json", format!(r#"{{"name":"x","type":"public_channel","id":7,"messages":[{posts}]}}"#));
    let report = desk.imports(&["result.json", "--token", PEPE]);
    assert_eq!(taken(&report, 0, "posts"), [2, 0, 0, 0, 0, 1], "{report:#}");
    let dataset = desk.dataset();
    let frame = dataset.table("posts").unwrap().frame();
    let titles = frame.column("title").unwrap().str().unwrap();
    // A list of strings alone is a list.
    assert!(titles.iter().flatten().any(|title| title == "up only!") && titles.iter().flatten().any(|title| title.starts_with('[')));
    let times = frame.column("published_at").unwrap().cast(&polars::prelude::DataType::Int64).unwrap();
    assert!(times.i64().unwrap().iter().flatten().any(|time| time == 1_684_054_800_000), "{frame}");
    desk.write("all.json", format!(r#"{{"about":"x","chats":{{"about":"y","list":[{{"name":"x","id":1,"messages":[{posts}]}}]}}}}"#));
    assert!(desk.refuses(&["all.json", "--token", PEPE]).contains("contains all chats of an account"));
    // A time that is said to be UTC is proposed before one beside it.
    for (names, expected) in [("date,date_utc", "date_utc"), ("created,created_utc", "created_utc"), ("created,flair", "created")] {
        desk.write("p.csv", format!("text,{names}\n{}", rows(|i| format!("up {i},2024-01-{i:02} 10:00:00,2024-01-{i:02} 08:00:00\n"))));
        let err = desk.refuses(&["p.csv", "--token", PEPE]);
        assert!(
            err.contains(&format!("--map published_at={expected}\n")) || err.contains(&format!("--map published_at={expected} ")),
            "{err}"
        );
    }
}

/// Inputs of one kind and their twins: what the refusal says, and what it must not say.
#[test]
fn what_the_cells_prove_is_proposed_and_nothing_that_cannot_work() {
    let at = |i: u32| format!("0x{:040x}", 0xabc_0000 + i);
    let chain = |i: u32| ["1", "56", "137"][i as usize % 3];
    let terra = |i: u32| format!("terra1{:q>38}", ["p", "z", "r", "y"][i as usize % 4]);
    let solana = |i: u32| format!("7VHUFJHWu2CuExkJcJrzhQPJ2oygupTWkL2A2For4Bm{}", ["E", "F", "G", "H"][i as usize % 4]);
    let coins = |repeated: u32, all: u32| {
        let row = |i: u32| format!("{},S{n},Name {n},18\n", at(i), n = if i <= repeated { 1 } else { i });
        format!("address,symbol,name,decimals\n{}", (1..=all).map(row).collect::<String>())
    };
    let day = |i: u32| format!("2024-01-{i:02},{}.5,{}.5,{}.5,{}.5", 100 + i, 102 + i, 98 + i, 101 + i);
    let candles = format!("date,open,high,low,close\n{}", rows(|i| day(i) + "\n"));
    let labels = "--as labels --map address=1 --map label=3 --map chain=2";
    for (name, text, expected, never) in [
        ("safe.csv", rows(|i| format!("{},{},Safe Wallet\n", at(i), chain(i))), labels, "holders"),
        ("names.csv", rows(|i| format!("{},{i}.5,Name {i}\n", at(i))), "--as holders", "--as labels"),
        ("nft.csv", rows(|i| format!("{},1\n", at(i))), "--as holders", "--as labels"),
        ("equal.csv", rows(|i| format!("{},10\n", at(i))), "--as holders", "--as labels"),
        ("terra.csv", rows(|i| format!("{i},{}\n", terra(i))), "a network that tokendeck does not support", "--as"),
        (
            "spl.csv",
            format!("Name,Symbol,Mint\n{}", rows(|i| format!("N{i},S{i},{}\n", solana(i)))),
            "a network that tokendeck does not support",
            "--as",
        ),
        ("hashes.csv", format!("hash,note\n{}", rows(|i| format!("0x{i:064x},n{i}\n"))), "unknown format", "does not support"),
        ("moved.csv", coins(2, 300), "names no chain", "is both"),
        ("several.csv", coins(2, 20), "is both", "dataset.toml"),
        ("bitcoin.csv", candles.clone(), "--coin BTC", "--token ADDRESS\n"),
        ("wrapped-bitcoin.csv", candles, "--token ADDRESS", "--coin BTC"),
        ("prices.csv", format!("date,prices\n{}", rows(|i| format!("2024-01-{i:02},{i}.5\n"))), "one price per time, `prices`", "--map"),
        ("b.csv", format!("address,balance_after\n{}", rows(|i| format!("{},{i}.5\n", at(i)))), "--token ADDRESS", "AFTER"),
        (
            "ledger.csv",
            format!("address,balance_wei,balance_eth\n{}", rows(|i| format!("{},{i}000000000000000000,{i}.0\n", at(i)))),
            "of a coin, not of a token",
            "--token",
        ),
        ("trades.csv", rows(|i| format!("{},16473.7{i},1.{i}5\n", 1_672_531_200 + i * 37)), "may be trades", "--as"),
        ("counts.csv", rows(|i| format!("{i},7{i}.5,1.{i}5\n")), "--as TABLE", "trades"),
        (
            "koinly.csv",
            format!(
                "Date,Sent Amount,Sent Currency,Received Amount,Received Currency,TxHash\n{}",
                rows(|i| format!("2024-01-{i:02} 10:00:00,0,ETH,{i}.5,ETH,0x{i:064x}\n"))
            ),
            "history for tax tools",
            "--as",
        ),
        (
            "rates.csv",
            format!(
                "data;1USD;1EUR;100HUF;number;\n{};;;;;\n;euro;forint;;;\n",
                rows(|i| format!("202401{i:02};4,{i}1;3,{i}2;2,{i};{i}/A;\n"))
            ),
            "one number per time",
            "--as",
        ),
        (
            "frame.txt",
            format!("       one      two     three\nday\n{}", rows(|i| format!("2024-01-{i:02}   {i}.5   x{i} y   z{i}\n"))),
            "df.to_csv()",
            "--as",
        ),
        ("python.txt", "[{'address': '0x1', 'ok': None}]".to_owned(), "in single quotes", "download it again"),
        ("cut.json", "[{\"a\":\"it's\"},".to_owned(), "download it again", "Python"),
        ("parts.csv", format!("address,balance_wei PEPE\n{}", rows(|i| format!("{},{i}.5\n", at(i)))), "have fractions", "unit raw"),
    ] {
        let desk = Desk::new();
        desk.write(name, text);
        let err = desk.refuses(&[name]);
        assert!(err.contains(expected) && !err.contains(never), "{name}: {err}");
    }
}

#[test]
fn names_with_units_and_values_are_read_as_they_say() {
    let at = |i: u32| format!("0x{:040x}", 0xabc_0000 + i);
    let whole = |header: &str| format!("address,{header}\n{}", rows(|i| format!("{},{i}000000000000000000\n", at(i))));
    let day = |i: u32| format!("2024-01-{i:02},{}.5,{}.5,{}.5,{}.5\n", 100 + i, 102 + i, 98 + i, 101 + i);
    let chart = |header: &str| {
        format!("Date(UTC),UnixTimeStamp,{header}\n{}", rows(|i| format!("1/{i}/2024,{},5{i:02}\n", 1_704_067_200 + i * 86_400)))
    };
    let token = format!("--token {UNI}");
    let mapped = format!("{token} --as holders --map holder_address=address --map balance=knine_wei");
    for (name, text, options, table, expected, says) in [
        ("wei.csv", whole("balance_wei"), token.as_str(), "holders", 20, "in base units"),
        ("camel.csv", whole("balanceWei"), &token, "holders", 20, "in base units"),
        ("mapped.csv", whole("knine_wei"), &mapped, "holders", 20, "in base units"),
        ("lower.csv", format!("address,balance_pepe\n{}", rows(|i| format!("{},{i}.5\n", at(i)))), "", "holders", 20, PEPE),
        ("upper.csv", format!("address,Balance PEPE\n{}", rows(|i| format!("{},{i}.5\n", at(i)))), "", "holders", 20, PEPE),
        ("values.csv", format!("date,open_value,max_value,min_value,close_value\n{}", rows(day)), &token, "candles", 20, ""),
        ("seeds.csv", rows(|i| day(i).replace('-', "").replacen(',', "T,", 1)), &token, "candles", 20, ""),
        (
            "coin.csv",
            format!("date,prices,market_caps,total_volumes\n{}", rows(|i| format!("2024-01-{i:02},{}.5,1.5,2.5\n", 100 + i))),
            &token,
            "candles",
            20,
            "open, high, low and close are equal",
        ),
        ("wei_chart.csv", chart("Value (Wei)"), "", "gas", 1, ""),
        ("gwei_chart.csv", chart("Value (Gwei)"), "", "gas", 1, ""),
    ] {
        let desk = Desk::new();
        desk.write(name, text);
        let options: Vec<&str> = options.split_whitespace().collect();
        let report = desk.imports(&[&[name], &options[..]].concat());
        assert!(taken(&report, 0, table)[0] == expected && report.to_string().contains(says), "{name}: {report:#}");
    }
}
