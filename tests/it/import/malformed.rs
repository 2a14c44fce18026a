//! Practical defects: compression, truncation, odd types and encodings. Each file is imported, or refused with observation and remedy.

use std::io::Write;

use flate2::{Compression, write::GzEncoder};
use zip::{ZipWriter, write::SimpleFileOptions};

use super::{Desk, PEPE, UNI, address, files, reasons, taken};

const KLINES: &str = "1690675200000,5,6,4,5.5,800,1690761599999,4400,8,1,1,0\n1690761600000,5.5,6.5,5,6,900,1690847999999,5400,9,1,1,0\n";

fn gz(bytes: &[u8]) -> Vec<u8> {
    let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
    packed.write_all(bytes).unwrap();
    packed.finish().unwrap()
}

pub(super) fn zip(members: &[(&str, &[u8])]) -> Vec<u8> {
    let mut archive = ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (name, bytes) in members {
        archive
            .start_file(*name, SimpleFileOptions::default())
            .unwrap();
        archive.write_all(bytes).unwrap();
    }
    archive.finish().unwrap().into_inner()
}

#[test]
fn packed_files_are_unpacked() {
    let desk = Desk::new();
    desk.write("UNIUSDT-1d.csv.gz", gz(KLINES.as_bytes()));
    assert_eq!(
        taken(&desk.imports(&["UNIUSDT-1d.csv.gz"]), 0, "candles"),
        [2, 0, 0, 0, 0, 0]
    );
    desk.write(
        "UNIUSDT-1d.csv.zst",
        zstd::encode_all(KLINES.as_bytes(), 1).unwrap(),
    );
    assert_eq!(
        taken(&desk.imports(&["UNIUSDT-1d.csv.zst"]), 0, "candles"),
        [0, 0, 2, 0, 0, 0]
    );
    let archive = zip(&[
        ("a/UNIUSDT-1d.csv", KLINES.as_bytes()),
        ("a/PEPEUSDT-1d.csv", KLINES.as_bytes()),
        ("__MACOSX/._x", b"junk"),
        ("read.me", b"hello"),
    ]);
    desk.write("many.zip", archive);
    let (code, report, err) = desk.run(&["many.zip"]);
    let file = |i: usize| report["files"][i]["file"].as_str().unwrap().to_owned();
    assert_eq!(
        (code, report["files"].as_array().unwrap().len()),
        (1, 3),
        "{report:#}"
    );
    assert!(
        err.contains("`many.zip/read.me` has an unknown format"),
        "{err}"
    );
    let pepe = (0..3).find(|i| file(*i).contains("PEPE")).unwrap();
    assert_eq!(taken(&report, pepe, "candles"), [2, 0, 0, 0, 0, 0]);
    desk.clean();
}

#[test]
fn files_that_cannot_be_used_say_why_and_leave_no_row() {
    let desk = Desk::new();
    let before = files(&desk.data());
    let packed = gz(KLINES.repeat(2_000).as_bytes());
    let mut damaged = zip(&[("UNIUSDT.csv", KLINES.as_bytes())]);
    let middle = damaged
        .windows(4)
        .position(|bytes| bytes == b"UNIU")
        .unwrap()
        + 20;
    damaged[middle] ^= 0x55;
    let bomb = vec![b'1'; 1 << 20];
    let mut bombed = GzEncoder::new(Vec::new(), Compression::best());
    bombed
        .write_all(
            format!("token_address,timestamp,open,high,low,close\n{UNI},1690675200,5,6,4,5.5\n{UNI},1690761600,5.5,6.5,5,6\n").as_bytes(),
        )
        .unwrap();
    for _ in 0..300 {
        bombed.write_all(&bomb).unwrap();
        bombed.write_all(b"\n").unwrap();
    }
    for (name, bytes, says) in [
        (
            "empty.csv",
            Vec::new(),
            "is empty: there is nothing to import",
        ),
        (
            "white.csv",
            b" \n\n\t\n".to_vec(),
            "contains only white space",
        ),
        (
            "UNIUSDT.csv.gz",
            packed[..packed.len() / 2].to_vec(),
            "is truncated or damaged",
        ),
        ("UNIUSDT.zip", damaged, "damaged"),
        ("bomb.csv.gz", bombed.finish().unwrap(), "times its size"),
        (
            "cut.json",
            br#"{"prices":[[1,2],[3"#.to_vec(),
            "is not complete JSON",
        ),
        (
            "UNIUSDT.parquet",
            b"PAR1 and no more".to_vec(),
            "is damaged or not Parquet",
        ),
        (
            "utf16.csv",
            b"\xff\xfeh\0i\0".to_vec(),
            "it contains text whose first row is `hi`",
        ),
        (
            "picture.csv",
            b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".to_vec(),
            "is not text, Parquet, Arrow, SQLite, a workbook or a zip archive",
        ),
        (
            "notes.txt",
            b"hello, you\nthere, too\n".to_vec(),
            "it contains text whose first row is `hello`, `you`. `tokendeck import --formats` lists the known formats",
        ),
        (
            "odd.json",
            br#"{"a":1,"b":[]}"#.to_vec(),
            "it contains JSON: an object with `a`, `b`. `tokendeck import --formats`",
        ),
        (
            "refusal.json",
            br#"{"status":"0","message":"NOTOK","result":"Max rate limit reached"}"#.to_vec(),
            "contains an error of the API, not data (`Max rate limit reached`)",
        ),
        (
            "UNIUSDT-1d.csv",
            b"1690675200000,x,6,4,5.5,800,1690761599999,4400,8,1,1,0\n".to_vec(),
            "its prices are empty or not numbers",
        ),
        (
            "chart.csv",
            b"Date(UTC),UnixTimeStamp,Value\n7/30/2015,1438214400,12\n".to_vec(),
            "is an Etherscan chart of something other",
        ),
    ] {
        desk.write(name, bytes);
        let err = desk.refuses(&[name]);
        assert!(
            err.starts_with(&format!("tokendeck: `{name}")) && err.contains(says),
            "{name}: {err}"
        );
        assert_eq!(files(&desk.data()), before, "{name}");
    }
    assert!(desk.refuses(&["nowhere.csv"]).contains("nowhere.csv"));
    assert!(
        desk.refuses(&["data"])
            .contains("is a folder; pass the files in it")
    );
}

#[test]
fn rows_that_cannot_be_read_are_set_aside_with_their_place() {
    let desk = Desk::new();
    // Newest first, with a gap; the last row is truncated, one has an invalid price, one is repeated.
    let text = "\u{feff}timestamp,open,high,low,close,volume,turnover\r\n1690934400000,7,8,6,7,1,1\r\n1690848000000,6,7,5,x,1000,1\r\n\
                1690675200000,5,6,4,5.4,800,1\r\n1690675200000,5,6,4,5.5,800,1\r\n1690588800000,5,6";
    desk.write("UNIUSDT.csv", text);
    let before = files(&desk.data());
    let err = desk.refuses(&["UNIUSDT.csv"]);
    assert!(
        err.contains("has 2 invalid rows out of 5; the first is row")
            && err.contains("--broken-too"),
        "{err}"
    );
    assert_eq!(files(&desk.data()), before);
    let report = desk.imports(&["UNIUSDT.csv", "--broken-too"]);
    assert_eq!(
        taken(&report, 0, "candles"),
        [2, 0, 0, 1, 2, 0],
        "{report:#}"
    );
    let found: Vec<(Option<u64>, Option<&str>, Option<&str>)> = report["files"][0]["findings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|finding| {
            (
                finding["row"].as_u64(),
                finding["column"].as_str(),
                finding["value"].as_str(),
            )
        })
        .collect();
    assert!(
        found.contains(&(Some(2), Some("close"), Some("x")))
            && found.contains(&(Some(5), None, None)),
        "{found:?}"
    );
    assert!(
        found.contains(&(Some(3), Some("close"), Some("5.4, then 5.5"))),
        "{found:?}"
    );
    let reasons = reasons(&report, 0);
    assert!(
        reasons.iter().any(|(reason, _)| reason
            .starts_with("a later row has the same token_address, interval, timestamp")),
        "{reasons:?}"
    );
    let dataset = desk.clean();
    let held = dataset.candles().of(&address(UNI));
    let candles = held.series()[0].1;
    assert_eq!(
        (candles.close, candles.timestamp.len()),
        (&[5.5, 7.0][..], 2)
    );
}

#[test]
fn text_of_every_kind_arrives_as_it_was() {
    let desk = Desk::empty();
    let long = "N".repeat(40);
    let rows = format!(
        ",#,Contract Address,Token Name,Market Cap,Holders,Website\r\n0,1,{PEPE},\"Pepe, \"\"the\"\" 🐸 (蛙)\",\"$389,110,711.00\",118749,x\r\n\
         1,2,0x1F9840a85d5aF5bf1D1762F925BDADdC4201F984,{long} (UNI),$0.00,\"1,234\",\r\n\
         2,3,0x1F9840a85d5aF5bf1D1762F925BDADdC4201F98,Short (S),$0.00,1,\r\n"
    );
    desk.write("tokens.csv", rows);
    let report = desk.imports(&["tokens.csv", "--chain", "eth"]);
    assert_eq!(
        taken(&report, 0, "tokens"),
        [2, 0, 0, 0, 1, 0],
        "{report:#}"
    );
    let dataset = desk.clean();
    let pepe = &dataset.token(&address(PEPE)).unwrap().row;
    assert_eq!(
        (
            pepe.symbol.as_deref(),
            pepe.name.as_deref(),
            pepe.market_cap
        ),
        (Some("蛙"), Some("Pepe, \"the\" 🐸"), Some(389_110_711.0))
    );
    let uni = &dataset.token(&address(UNI)).unwrap().row;
    assert_eq!(
        (uni.name.as_deref(), uni.market_cap, uni.holders),
        (Some(long.as_str()), None, Some(1234))
    );
}

#[test]
fn times_in_every_unit_are_one_time() {
    let expected = 1_690_675_200_000;
    for (header, time) in [
        ("timestamp", "1690675200"),
        ("timestamp", "1690675200000"),
        ("timestamp", "1690675200000000"),
        ("timestamp", "1690675200000000000"),
        ("time", "2023-07-30T00:00:00Z"),
        ("date", "2023-07-30"),
        ("date", "07/30/2023"),
        ("date", "30/07/2023"),
        ("datetime", "7/30/2023 00:00"),
    ] {
        let desk = Desk::new();
        desk.write(
            "UNI-USD.csv",
            format!("{header},open,high,low,close\n{time},5,6,4,5.5\n"),
        );
        desk.imports(&["UNI-USD.csv"]);
        let dataset = desk.clean();
        assert_eq!(
            dataset.candles().of(&address(UNI)).series()[0].1.timestamp,
            [expected],
            "{time}"
        );
    }
}

#[test]
fn a_candle_is_put_where_it_begins_though_its_end_is_called_its_time() {
    for (length, interval) in [("5", "5m"), ("5m", "5m"), ("300", "1d")] {
        let desk = Desk::new();
        let text = format!(
            "open,high,low,close,interval_begin,interval,timestamp\n5,6,4,5.5,2023-10-04T16:25:00Z,{length},2023-10-04T16:30:00Z\n"
        );
        desk.write("UNI-USD.csv", text);
        desk.imports(&["UNI-USD.csv"]);
        let dataset = desk.clean();
        let held = dataset.candles().of(&address(UNI));
        let (read, candles) = &held.series()[0];
        assert_eq!(
            (read.to_string().as_str(), candles.timestamp),
            (interval, &[1_696_436_700_000][..]),
            "{length}"
        );
    }
}

#[test]
fn a_coin_has_candles_and_a_name_but_no_holders() {
    let desk = Desk::new();
    let holders: String = [
        "HolderAddress,Balance\n".to_owned(),
        format!("{UNI},5\n{PEPE},7\n"),
    ]
    .concat();
    desk.write("holders.csv", holders);
    let (code, _, err) = desk.run(&["holders.csv"]);
    assert!(
        code != 0 && err.contains("pass --token ADDRESS") && !err.contains("--coin"),
        "{err}"
    );
    let (code, _, err) = desk.run(&["holders.csv", "--coin", "POLIS"]);
    assert!(
        code != 0 && err.contains("cannot be about the coin POLIS"),
        "{err}"
    );
    desk.write(
        "daily.csv",
        "date,open,high,low,close\n2023-07-30,5,6,4,5.5\n",
    );
    let report = desk.imports(&["daily.csv", "--coin", "BTC"]);
    let says = report["files"][0].to_string();
    assert!(says.contains("token coin:BTC, from --coin"), "{says}");
    let symbols: Vec<_> = desk
        .clean()
        .tokens()
        .iter()
        .filter_map(|token| token.row.symbol.clone())
        .collect();
    assert!(symbols.contains(&"BTC".to_owned()), "{symbols:?}");
}

#[test]
fn amounts_beyond_every_integer_and_empty_decimals_are_no_trouble() {
    let desk = Desk::empty();
    let most = "115792089237316195423570985008687907853269984665640564039457584007913129639935";
    desk.write("tokens.csv", format!("address,symbol,name,decimals,total_supply,block_number\n{UNI},UNI,,18,{most},1\n{PEPE},,,,1000,\n"));
    let report = desk.imports(&["tokens.csv", "--chain", "eth"]);
    assert_eq!(taken(&report, 0, "tokens"), [2, 0, 0, 0, 0, 0]);
    assert!(
        reasons(&report, 0)
            .iter()
            .any(|(reason, _)| reason.contains("decimals are unknown")),
        "{report:#}"
    );
    let dataset = desk.clean();
    let supply = |token: &str| dataset.token(&address(token)).unwrap().row.total_supply;
    assert_eq!(
        (supply(UNI), supply(PEPE)),
        (Some(1.157_920_892_373_162e59), None)
    );
}

#[test]
fn equal_transfers_without_a_key_stay_as_many_as_they_were() {
    let desk = Desk::new();
    let row = format!(
        "{UNI},1690675200,1,0x04cbcb236043d8fb7839e07bbc7f5eed692fb2ca55d897f1101eac3e3ad4fab8,{PEPE},{UNI},5\n"
    );
    let header =
        "token_address,timestamp,block_number,transaction_hash,from_address,to_address,value\n";
    desk.write("two.csv", format!("{header}{row}{row}"));
    for (name, expected) in [
        ("two.csv", [2, 0, 0, 0, 0, 0]),
        ("two.csv", [0, 0, 2, 0, 0, 0]),
        ("three.csv", [1, 0, 2, 0, 0, 0]),
        ("two.csv", [0, 0, 2, 0, 0, 0]),
    ] {
        desk.write("three.csv", format!("{header}{row}{row}{row}"));
        assert_eq!(
            taken(&desk.imports(&[name]), 0, "transfers"),
            expected,
            "{name}"
        );
    }
    assert_eq!(desk.clean().table("transfers").unwrap().frame().height(), 3);
}

#[test]
fn a_volume_in_usd_is_not_said_to_be_left_out() {
    let desk = Desk::empty();
    let text = format!(
        r#"{{"data":{{"attributes":{{"ohlcv_list":[[1690848000,6,7,5,6.5,6500],[1690761600,5.5,6.5,5,6,5400]]}}}},"meta":{{"base":{{"address":"{UNI}","symbol":"UNI"}}}}}}"#
    );
    desk.write("pool.json", text);
    let report = desk.imports(&["pool.json"]);
    assert_eq!(reasons(&report, 0), [], "{report:#}");
    let columns = report["files"][0]["previews"][0]["columns"]
        .as_array()
        .unwrap();
    let volume = columns
        .iter()
        .find(|column| column["column"] == "volume")
        .unwrap();
    assert_eq!(
        (volume["from"].as_str(), volume["why"].as_str()),
        (Some("`6`"), Some("calculated"))
    );
}

/// A token list of Solana: the only addresses of 20 bytes are those of the originals that its tokens stand for.
#[test]
fn an_address_of_another_object_is_not_the_tokens() {
    let list = |address: &str| {
        let row = |i: u32| {
            let original = format!("0x{:040x}", 0xabc0 + i);
            let own = address.replace('I', &i.to_string());
            format!(
                r#"{{"chainId":101,{own}"symbol":"T{i}","name":"Token {i}","decimals":9,"extensions":{{"address":"{original}"}}}}"#
            )
        };
        format!(
            r#"{{"name":"list","tokens":[{}]}}"#,
            (1..=5).map(row).collect::<Vec<_>>().join(",")
        )
    };
    let desk = Desk::new();
    desk.write(
        "solana.json",
        list(r#""address":"So1111111111111111111111111111111111111111I","#),
    );
    desk.refuses(&["solana.json"]);
    desk.write("own.json", list("").replace("101", "1"));
    desk.imports(&["own.json", "--dry-run"]);
}

/// A column of addresses in an encoding that is not read, as pyarrow writes it with `column_encoding`.
#[test]
fn a_parquet_encoding_that_is_not_read_is_named() {
    let start = b"PAR1\x15\0\x15\xa0\x01\x15\xa0\x01,\x15\x06\x15\x0e\x15\x06\x15\x06\x1c\0\0\0\x80\x01\x04\x03\0\0\0\0\0\0\x80\x01\x04\
          \x03(\0\0\0\0\0";
    let end = b"\x15\x04\x19,5\0\x18\x06schema\x15\x02\0\x15\x0e\x15(\x15\0\x18\x06holder\0\x16\x06\x19\x1c\x19\x1c&\0\x1c\x15\x0e\x19\
          %\x06\x0e\x19\x18\x06holder\x15\0\x16\x06\x16\xca\x01\x16\xca\x01&\x08I\x1c\x15\0\x15\x0e\x15\x02\0\0\0\x16\xca\x01\
          \x16\x06&\x08\x16\xca\x01\0( parquet-cpp-arrow version 26.0.1\x19\x1c\x1c\0\0\0\x82\0\0\0PAR1";
    let desk = Desk::empty();
    desk.write(
        "x.parquet",
        [&start[..], &[1; 20], &[2; 20], &[3; 20], end].concat(),
    );
    for options in [
        &[][..],
        &["--as", "labels", "--map", "address=holder", "--label", "x"],
    ] {
        let err = desk.refuses(&[&["x.parquet"][..], options].concat());
        assert!(
            err.contains(
                "`holder` cannot be read: its Parquet encoding DELTA_BYTE_ARRAY is not supported"
            ),
            "{err}"
        );
        assert!(
            err.matches("DELTA_BYTE_ARRAY").count() == 1 && !err.contains("empty"),
            "{err}"
        );
    }
}
