//! Files in foreign layouts, mapped by `dataset.toml`: no header, object members, folders as columns, units, ranges, coins, blocks.

use model::{address::Address, data::AddressRows as _, progress::NoProgress};
use polars::prelude::DataType;

use load::loader::load;

use super::{ETH, TOKENS, UNI, findings, folder, load_files, load_texts, table};

#[test]
fn a_file_without_a_header_is_read_by_number() {
    let toml = format!(
        "[tables.candles]\nheader = false\nskip = 1\nset = {{ token_address = '{UNI}' }}\n\
         columns = {{ timestamp = 1, low = 2, high = 3, open = 4, close = 5, volume = 6 }}\n"
    );
    let dataset = load_texts(&[
        ("candles.csv", "from an exchange\n1704067200,1,3,2,2.5,7\n"),
        ("dataset.toml", &toml),
    ])
    .expect("loads");
    let series = dataset.candles().of(&Address::parse(UNI).unwrap());
    let series = series.series();
    let candles = &series[0].1;
    assert_eq!(
        (
            candles.open[0],
            candles.high[0],
            candles.low[0],
            candles.close[0],
            candles.volume[0]
        ),
        (2.0, 3.0, 1.0, 2.5, 7.0)
    );
}

#[test]
fn members_of_objects_and_lists_serve_columns() {
    let json = format!(
        r#"[{{"id": "uniswap", "platforms": {{"ethereum": "{UNI}"}}, "prices": [["x", 2.5]], "name": "Uniswap"}}]"#
    );
    let toml = "[tables.tokens]\nset = { chain = 'eth' }\ncolumns = { token_address = 'platforms.ethereum', symbol = 'id', price = 'prices.1.2' }\n";
    let dataset = load_texts(&[("tokens.json", &json), ("dataset.toml", toml)]).expect("loads");
    let row = &dataset.tokens()[0].row;
    assert_eq!(
        (row.token_address, row.symbol.as_deref(), row.price),
        (Address::parse(UNI).unwrap(), Some("uniswap"), Some(2.5))
    );
}

#[test]
fn folders_named_key_and_value_are_columns() {
    let candles = b"timestamp,open,high,low,close\n2024-01-01,2,3,1,2\n";
    let (uni, eth) = (
        format!("k/token_address={UNI}/interval=1d/a.csv"),
        format!("k/token_address={ETH}/interval=1h/b.csv"),
    );
    let toml = b"[tables.candles]\npath = 'k'\n";
    let dataset =
        load_files(&[(&uni, candles), (&eth, candles), ("dataset.toml", toml)]).expect("loads");
    for (token, interval) in [(UNI, "1d"), (ETH, "1h")] {
        let series = dataset.candles().of(&Address::parse(token).unwrap());
        let series = series.series();
        assert_eq!(
            series
                .iter()
                .map(|(interval, candles)| (interval.to_string(), candles.len()))
                .collect::<Vec<_>>(),
            [(interval.to_owned(), 1)]
        );
    }
}

#[test]
fn rows_are_kept_by_range_and_by_being_of_a_token_of_ours() {
    let other = format!("0x{}", "99".repeat(20));
    let text = format!(
        "token_address,timestamp,open,high,low,close\n{UNI},2024-01-01,2,3,1,2\n{UNI},2024-01-02,2,3,1,2\n{UNI},1704326400,2,3,1,2\n{other},2024-01-02,2,3,1,2\n"
    );
    let toml = "[tables.candles.where]\ntimestamp = { min = '2024-01-02', max = '2024-01-03' }\ntoken_address = { in = 'tokens' }\n";
    let dataset = load_texts(&[("candles.csv", &text), ("dataset.toml", toml)]).expect("loads");
    assert_eq!(table(&dataset, "candles").height(), 1);
    assert_eq!(
        findings(table(&dataset, "candles")),
        ["Note candles.csv: `where` excludes 3 of 4 rows"]
    );
    let toml = "[tables.candles.where]\nopen = { min = 'soon' }\n";
    let dataset = load_texts(&[("candles.csv", &text), ("dataset.toml", toml)]).expect("loads");
    assert!(format!("{:?}", table(&dataset, "candles").state).contains("`soon` in `where`"));
}

#[test]
fn a_coin_has_an_address_without_a_contract() {
    let tokens = "token_address,symbol,name,chain\ncoin:btc,BTC,Bitcoin,bitcoin\n";
    let toml = "[tables.candles]\ncoin = 'BTC'\n";
    let candles = "timestamp,open,high,low,close\n2024-01-01,2,3,1,2\n";
    let dataset = load_texts(&[
        ("tokens.csv", tokens),
        ("candles.csv", candles),
        ("dataset.toml", toml),
    ])
    .expect("loads");
    assert_eq!(dataset.tokens()[0].row.token_address, Address::coin("BTC"));
    assert_eq!(dataset.tokens()[0].chains[0].id(), None);
    assert_eq!(
        dataset.candles().of(&Address::coin("BTC")).series().len(),
        1
    );
}

/// Returns the transfers' values under a rule, and the findings.
fn values(cells: &[&str], rule: &str) -> (Vec<Option<String>>, Vec<String>) {
    let mut text =
        "token_address,block_number,transaction_hash,from_address,to_address,value,log_index\n"
            .to_owned();
    for (row, cell) in cells.iter().enumerate() {
        text.push_str(&format!(
            "{UNI},{row},0x{row:064x},{UNI},{ETH},{cell},{row}\n"
        ));
    }
    let toml = format!("[tables.transfers.columns]\nvalue = {{ {rule} }}\n");
    let dataset = load_texts(&[("transfers.csv", &text), ("dataset.toml", &toml)]).expect("loads");
    let table = table(&dataset, "transfers");
    let mut cells: Vec<(Option<i64>, Option<String>)> = table
        .frame()
        .column("block_number")
        .unwrap()
        .i64()
        .unwrap()
        .iter()
        .zip(
            table
                .frame()
                .column("value")
                .unwrap()
                .str()
                .unwrap()
                .iter()
                .map(|text| text.map(str::to_owned)),
        )
        .collect();
    cells.sort();
    (
        cells.into_iter().map(|cell| cell.1).collect(),
        findings(table),
    )
}

#[test]
fn transfers_come_in_whole_tokens_scaled_or_through_doubles() {
    let some = |text: &str| Some(text.to_owned());
    let (read, found) = values(&["1.5", "0.0000000000000000001"], "unit = 'whole'");
    assert_eq!(read, [some("1500000000000000000"), None]);
    assert!(
        found[0].contains(
            "transfers.csv:2 value `0.0000000000000000001`: expected an amount of whole tokens"
        ),
        "{found:?}"
    );
    let (read, _) = values(&["11121.0", "2"], "scale = 1e6");
    assert_eq!(read, [some("11121000000"), some("2000000")]);
    let (read, found) = values(&["2.54e21", "7"], "approximate = true");
    assert_eq!(read, [some("2540000000000000000000"), some("7")]);
    assert!(
        found[0].contains("`value` is approximate, as marked in dataset.toml"),
        "{found:?}"
    );
}

#[test]
fn volumes_in_usd_are_divided_by_the_price() {
    let text = format!(
        "token_address,timestamp,open,high,low,close,volume_usd\n{UNI},2024-01-01,2,3,1,2,100\n{UNI},2024-01-02,2,3,1,2,\n"
    );
    let dataset = load_texts(&[("candles.csv", &text)]).expect("loads");
    assert_eq!(
        dataset.candles().of(&Address::parse(UNI).unwrap()).series()[0]
            .1
            .volume[0],
        50.0
    );
    let found = findings(table(&dataset, "candles"));
    assert_eq!(
        found,
        [
            "Note candles.csv volume: `volume_usd` is in USD, as its name implies, and is divided by each candle's price"
        ]
    );
    let toml = "[tables.candles.columns]\nvolume = { from = 'volume_usd', unit = 'usd' }\n";
    let dataset = load_texts(&[("candles.csv", &text), ("dataset.toml", toml)]).expect("loads");
    assert_eq!(
        dataset.candles().of(&Address::parse(UNI).unwrap()).series()[0]
            .1
            .volume[0],
        50.0
    );
}

#[test]
fn blocks_give_transfers_their_times() {
    let transfers = format!(
        "token_address,block_number,transaction_hash,from_address,to_address,value,log_index\n{UNI},7,0x{:064x},{UNI},{ETH},1,0\n{UNI},8,0x{:064x},{UNI},{ETH},1,0\n",
        1, 2
    );
    let dataset = load_texts(&[
        ("transfers.csv", &transfers),
        ("blocks.csv", "number,timestamp\n7,1704067200\n"),
    ])
    .expect("loads");
    let times: Vec<_> = dataset
        .transfers()
        .chunks(&Address::parse(UNI).unwrap())
        .flatten()
        .map(|row| row.timestamp.map(|time| time.to_string()))
        .collect();
    assert_eq!(times, [Some("2024-01-01T00:00:00Z".to_owned()), None]);
    assert_eq!(
        findings(table(&dataset, "transfers")),
        [
            "Note transfers.csv timestamp: 1 row without a time: the block time from `blocks` is used"
        ]
    );
}

#[test]
fn what_tokens_say_beyond_our_columns_is_kept_and_typed() {
    let lines: Vec<String> = TOKENS
        .lines()
        .zip(["rank,launched", "1,2020-09-17", "2,"])
        .map(|(line, more)| format!("{line},{more}\n"))
        .collect();
    let text = lines.concat();
    let dataset = load_texts(&[("tokens.csv", &text)]).expect("loads");
    let others = dataset.token_others();
    assert_eq!((others.height(), others.width()), (2, 2));
    let place = dataset
        .token_position(&Address::parse(ETH).unwrap())
        .unwrap();
    assert_eq!(
        others.column("rank").unwrap().i64().unwrap().get(place),
        Some(2)
    );
    assert!(matches!(
        others.column("launched").unwrap().dtype(),
        DataType::Datetime(..)
    ));
    assert_eq!(
        table(&dataset, "tokens").frame().width(),
        table(&dataset, "tokens").schema.columns.len()
    );
}

#[test]
fn a_missing_column_is_answered_with_the_lines_that_would_do() {
    let dataset = load_texts(&[(
        "candles.csv",
        "timestamp,open,high,low,close\n2024-01-01,2,3,1,2\n",
    )])
    .expect("loads");
    let state = format!("{:?}", table(&dataset, "candles").state);
    assert!(
        state.contains("[tables.candles.set] token_address ="),
        "{state}"
    );
    assert!(
        dataset
            .absence_reason("candles")
            .unwrap()
            .starts_with("The `candles` table is unusable: `candles.csv` lacks")
    );
    assert!(
        dataset
            .absence_reason("posts")
            .unwrap()
            .starts_with("The dataset has no `posts` table")
    );
    assert_eq!(dataset.absence_reason("tokens"), None);
}

#[test]
fn a_file_that_seems_meant_as_a_table_that_is_not_there_is_named() {
    let files = [
        ("tokens.csv", TOKENS),
        ("candels.csv", "x"),
        ("posts.xlsx", "x"),
        ("pool.csv", "x"),
        ("notes.csv", "x"),
        ("tokens.bak", "x"),
    ];
    let loaded = load_texts(&files).expect("loads");
    for (table, expected) in [
        (
            "candles",
            &[
                "Note candels.csv: is not read, because no table has this name; did you mean `candles`?",
            ][..],
        ),
        (
            "posts",
            &[
                "Note posts.xlsx: is not read, because no table can have this format; try `tokendeck import`",
            ],
        ),
        (
            "pools",
            &["Note pool.csv: is not read, because no table has this name; did you mean `pools`?"],
        ),
        ("tokens", &[]),
        ("labels", &[]),
    ] {
        assert_eq!(findings(self::table(&loaded, table)), expected, "{table}");
    }
    let reason = load(
        folder(&[("tokns.csv", TOKENS.as_bytes())]).path(),
        &NoProgress,
    )
    .expect_err("no tokens")
    .to_string();
    assert!(
        reason.contains(
            "`tokns.csv` is not read, because no table has this name; did you mean `tokens`?"
        ),
        "{reason}"
    );
}
