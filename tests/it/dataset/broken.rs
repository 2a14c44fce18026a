//! Small broken files, and the exact findings for each.

use load::loader::load;
use model::{progress::NoProgress, table_state::TableState, untrusted::decoding};
use polars::prelude::{DataFrame, df};

use super::{
    ETH, TOKENS, UNI, findings, folder, gzip, hush_decoders, ipc, load_files, load_texts, parquet,
    table,
};

const COUNTS: &str = "token_address,date,holders\n";

/// A file of `holder_counts`, with expected rows loaded, rows rejected, and findings.
struct Case {
    what: &'static str,
    text: Vec<u8>,
    rows: usize,
    bad: u64,
    findings: Vec<&'static str>,
}

fn case(
    what: &'static str,
    text: impl AsRef<[u8]>,
    rows: usize,
    bad: u64,
    findings: &[&'static str],
) -> Case {
    Case {
        what,
        text: text.as_ref().to_vec(),
        rows,
        bad,
        findings: findings.to_vec(),
    }
}

fn cases() -> Vec<Case> {
    let rows = |text: &str| format!("{COUNTS}{}", text.replace("UNI", UNI));
    vec![
        case(
            "byte order mark",
            format!("\u{feff}{}", rows("UNI,2024-01-01,5\n")),
            1,
            0,
            &[],
        ),
        case(
            "CRLF and an empty line",
            rows("UNI,2024-01-01,5\n\nUNI,2024-01-02,6\n").replace('\n', "\r\n"),
            2,
            0,
            &[],
        ),
        case(
            "no line end at the end",
            rows("UNI,2024-01-01,5"),
            1,
            0,
            &[],
        ),
        case("quotes", rows("\"UNI\",\"2024-01-01\",\"5\"\n"), 1, 0, &[]),
        case("header only", rows(""), 0, 0, &[]),
        case(
            "ragged",
            rows("UNI,2024-01-01\nUNI,2024-01-02,6\nUNI,2024-01-03,7,8\n"),
            1,
            2,
            &[
                "Error holder_counts.csv:1: the row has more or fewer fields than the header; it is rejected",
                "Error holder_counts.csv:3: the row has more or fewer fields than the header; it is rejected",
            ],
        ),
        case(
            "a quote never closed",
            rows("UNI,2024-01-01,5\nUNI,\"2024-01-02,6\nUNI,2024-01-03,7\n"),
            2,
            1,
            &["Error holder_counts.csv:2: a quote is never closed; the row is rejected"],
        ),
        case(
            "a quote closed by another row's",
            rows("UNI,\"2024-01-01,5\nUNI,2024-01-02,6\nUNI,\"2024-01-03\",7\n"),
            2,
            1,
            &["Error holder_counts.csv:1: a quote is never closed; the row is rejected"],
        ),
        case(
            "invalid UTF-8",
            [
                rows("").as_bytes(),
                b"\xff\xfe,2024-01-01,5\n",
                rows("UNI,2024-01-02,6\n")
                    .split_once('\n')
                    .expect("a header")
                    .1
                    .as_bytes(),
            ]
            .concat(),
            1,
            1,
            &[
                "Error holder_counts.csv:1: the row is not UTF-8; it is rejected (save the file as UTF-8, or use `tokendeck import`)",
            ],
        ),
        case(
            "bad and empty key cells",
            rows("0x12,2024-01-01,5\n,2024-01-02,6\nUNI,soon,7\n"),
            0,
            3,
            &[
                "Error holder_counts.csv:1 token_address `0x12`: expected an address: 0x and 40 hex digits; the row is rejected",
                "Error holder_counts.csv:2 token_address: the cell is empty; expected an address: 0x and 40 hex digits; the row is rejected",
                "Error holder_counts.csv:3 date `soon`: expected a date: ISO 8601, YYYYMMDD or epoch; the row is rejected",
            ],
        ),
        case(
            "bad numbers cost the cell",
            rows("UNI,2024-01-01,12.5\nUNI,2024-01-02,many\nUNI,2024-01-03,12.0\n"),
            3,
            0,
            &[
                "Warning holder_counts.csv:1 holders `12.5`: expected a whole number; the cell is cleared",
                "Warning holder_counts.csv:2 holders `many`: expected a whole number; the cell is cleared",
            ],
        ),
        case(
            "null words",
            rows(
                "UNI,2024-01-01,null\nUNI,2024-01-02,NA\nUNI,2024-01-03,NaN\nUNI,2024-01-04,-\nUNI,2024-01-05,\n",
            ),
            5,
            0,
            &[],
        ),
        case(
            "epochs of every unit",
            rows("UNI,1704067200,1\nUNI,1704153600000,2\nUNI,1704240000000000,3\nUNI,20240104,4\n"),
            4,
            0,
            &[
                "Note holder_counts.csv date: times mix seconds and milliseconds and microseconds; the unit of each is chosen by its size",
            ],
        ),
        case(
            "one key twice",
            rows("UNI,2024-01-01,5\nUNI,2024-01-02,6\nUNI,1704067200,7\n"),
            2,
            0,
            &[
                "Warning holder_counts.csv:1 holders `5, then 7`: a later row has the same token_address, date but a different value in `holders`; the later row is kept, this one is excluded",
            ],
        ),
        case(
            "a broken checksum",
            rows(
                "0x1f9840a85d5aF5bf1D1762F925BDADdC4201F984,2024-01-01,5\n0x1f9840A85d5aF5bf1D1762F925BDADDc4201F984,2024-01-02,5\n",
            ),
            2,
            0,
            &[
                "Warning holder_counts.csv:2 token_address `0x1f9840A85d5aF5bf1D1762F925BDADDc4201F984`: the letter case does not match the EIP-55 checksum; the address is accepted, but compare it with its source",
            ],
        ),
        case(
            "a column that is none of ours",
            rows("UNI,2024-01-01,5\n")
                .replace("holders\n", "holders,mood\n")
                .replace(",5", ",5,good"),
            1,
            0,
            &["Note holder_counts.csv: extra column `mood`: not read"],
        ),
    ]
}

#[test]
fn a_broken_row_costs_the_row_and_says_why() {
    for case in cases() {
        let dataset = load_files(&[("holder_counts.csv", &case.text)]).expect(case.what);
        let table = table(&dataset, "holder_counts");
        assert_eq!(table.state, TableState::Loaded, "{}", case.what);
        assert_eq!(
            (table.height(), table.rows_bad),
            (case.rows, case.bad),
            "{}: {:?}",
            case.what,
            findings(table)
        );
        assert_eq!(findings(table), case.findings, "{}", case.what);
        // Compressed, the same text gives the same table.
        for (name, packed) in [
            ("holder_counts.csv.gz", gzip(&case.text)),
            (
                "holder_counts.csv.zst",
                zstd::encode_all(&case.text[..], 3).expect("packed"),
            ),
        ] {
            let dataset = load_files(&[(name, &packed)]).expect(case.what);
            assert!(
                super::table(&dataset, "holder_counts")
                    .frame()
                    .equals_missing(&table.frame()),
                "{} in {name}",
                case.what
            );
        }
    }
}

fn counts() -> DataFrame {
    df!("token_address" => [UNI; 30], "date" => (0..30).map(|day| format!("2024-01-{:02}", day + 1)).collect::<Vec<_>>(), "holders" => (0..30i64).collect::<Vec<_>>())
        .expect("one length")
}

#[test]
fn a_broken_file_costs_the_table_and_says_why() {
    hush_decoders();
    let good = format!("{COUNTS}{UNI},2024-01-01,5\n");
    let (whole_parquet, whole_ipc, packed) = (
        parquet(&counts()),
        ipc(&counts()),
        gzip(good.repeat(500).as_bytes()),
    );
    let cut = |bytes: &[u8]| bytes[..bytes.len() / 2].to_vec();
    for (name, bytes, expected) in [
        (
            "holder_counts.csv",
            Vec::new(),
            "`holder_counts.csv` is empty; expected at least a header or a record",
        ),
        (
            "holder_counts.csv",
            b"\xff\xfet\0o\0".to_vec(),
            "`holder_counts.csv` lacks the columns `token_address` (the token), `date` (the day) and `holders` (number of holders); it has `to`",
        ),
        (
            "holder_counts.ndjson",
            b"\n\n".to_vec(),
            "`holder_counts.ndjson` is empty; expected one JSON object per line",
        ),
        (
            "holder_counts.json",
            b"[]".to_vec(),
            "`holder_counts.json` is empty; expected an array of objects",
        ),
        (
            "holder_counts.json",
            b"{\"data\": []}".to_vec(),
            "`holder_counts.json` is not a JSON array of objects: ",
        ),
        (
            "holder_counts.parquet",
            good.clone().into_bytes(),
            "`holder_counts.parquet` is not Parquet (it does not begin with `PAR1`); give it the extension of its format",
        ),
        (
            "holder_counts.arrow",
            good.clone().into_bytes(),
            "`holder_counts.arrow` is not Arrow IPC (it does not begin with `ARROW1`); give it the extension of its format",
        ),
        (
            "holder_counts.parquet",
            cut(&whole_parquet),
            "`holder_counts.parquet` is damaged",
        ),
        (
            "holder_counts.feather",
            cut(&whole_ipc),
            "`holder_counts.feather` is damaged",
        ),
        (
            "holder_counts.csv.gz",
            cut(&packed),
            "`holder_counts.csv.gz` is truncated or damaged: ",
        ),
        (
            "holder_counts.csv",
            good.replace("token_address", "token_adress").into_bytes(),
            "`holder_counts.csv` lacks the column `token_address` (the token); it has `token_adress`, `date`, `holders`; the nearest is `token_adress`; if the column has another name, add to dataset.toml: [tables.holder_counts.columns] token_address = \"token_adress\"",
        ),
        (
            "holder_counts.csv",
            good.replace("date", "Holders").into_bytes(),
            "`holder_counts.csv` has two columns named `Holders`; rename one",
        ),
        (
            "holder_counts.csv",
            format!("date,date,holders\n{UNI},2,3\n").into_bytes(),
            "`holder_counts.csv` has two columns named `date`; rename one",
        ),
    ] {
        let dataset = load_files(&[(name, &bytes)]).expect("the tokens are fine");
        let table = table(&dataset, "holder_counts");
        let TableState::Unusable(reason) = &table.state else {
            panic!("{name}: {:?}, wanted {expected}", table.state)
        };
        assert!(reason.starts_with(expected), "{reason}\nwanted {expected}");
        assert_eq!(table.frame().height(), 0);
        assert_eq!(dataset.tokens().len(), 2, "the rest works");
    }
    assert!(!decoding(), "the marker is cleared after a panic");
}

#[test]
fn two_names_for_one_column_leave_the_table_out() {
    let text =
        "address,symbol,pool,protocol,chain,tokens,tvl,tvlUsd,apy_base,apy_reward\n,,,,,,,,,\n";
    let dataset = load_texts(&[("yields.csv", text)]).expect("the tokens are fine");
    let expected = "`yields.csv` has two columns that match `tvl`, `tvl` and `tvlUsd`; choose one in dataset.toml: columns = { tvl = \"NAME\" }";
    assert_eq!(
        table(&dataset, "yields").state,
        TableState::Unusable(expected.to_owned())
    );
}

#[test]
fn two_files_for_one_table_leave_it_out() {
    let text = format!("{COUNTS}{UNI},2024-01-01,5\n");
    let dataset = load_texts(&[("holder_counts.csv", &text), ("holder_counts/a.csv", &text)])
        .expect("the tokens are fine");
    let expected = "several files match the table: `holder_counts`, `holder_counts.csv`; keep one, or list the files to read under [tables.holder_counts] path in dataset.toml";
    assert_eq!(
        table(&dataset, "holder_counts").state,
        TableState::Unusable(expected.to_owned())
    );
}

#[test]
fn bad_lines_of_ndjson_cost_the_line() {
    let good = |day: u32| {
        format!(
            "{{\"token_address\": \"{UNI}\", \"date\": \"2024-01-{day:02}\", \"holders\": {day}}}\n"
        )
    };
    let text = [
        good(1).as_bytes(),
        b"{\"token_address\": \n",
        b"[1]\n",
        b"\xff\n",
        b"\n",
        good(2).as_bytes(),
    ]
    .concat();
    let dataset = load_files(&[("holder_counts.jsonl", &text)]).expect("the tokens are fine");
    let table = table(&dataset, "holder_counts");
    assert_eq!(
        (table.height(), table.rows_bad, table.sources[0].rows),
        (2, 3, 5)
    );
    let expected = [
        "Error holder_counts.jsonl:2: the line is not a JSON object; it is rejected",
        "Error holder_counts.jsonl:3: the line is not a JSON object; it is rejected",
        "Error holder_counts.jsonl:4: the line is not UTF-8; it is rejected",
    ];
    assert_eq!(findings(table), expected);
}

#[test]
fn amounts_larger_than_any_integer_type_survive_every_text_format() {
    let value = "340282366920938463463374607431768211456";
    let hash = format!("0x{}", "ab".repeat(32));
    let csv = format!(
        "token_address,timestamp,block_number,transaction_hash,from_address,to_address,value\n{UNI},1700000000,1,{hash},{UNI},{ETH},{value}\n"
    );
    let json = format!(
        "{{\"token_address\":\"{UNI}\",\"timestamp\":1700000000,\"block_number\":1,\"transaction_hash\":\"{hash}\",\"from_address\":\"{UNI}\",\"to_address\":\"{ETH}\",\"value\":{value}}}"
    );
    let array = format!("[{json}]");
    for (name, text) in [
        ("transfers.csv", &csv),
        ("transfers.ndjson", &json),
        ("transfers.json", &array),
    ] {
        let dataset = load_texts(&[(name, text)]).expect("the tokens are fine");
        let table = table(&dataset, "transfers");
        let frame = table.frame();
        let values = frame
            .column("value")
            .and_then(|column| column.str())
            .expect("loaded");
        assert_eq!(values.get(0), Some(value), "{name}: {:?}", findings(table));
    }
}

#[test]
fn without_usable_tokens_there_is_one_clear_line() {
    let none = folder(&[("candles.csv", b"x\n")]);
    let empty = folder(&[]);
    let bad_toml = folder(&[
        ("tokens.csv", TOKENS.as_bytes()),
        ("dataset.toml", b"titel = 1"),
    ]);
    let bad_tokens = folder(&[("tokens.csv", b"symbol\nUNI\n")]);
    for (folder, expected) in [
        (none.path(), "no `tokens` table in"),
        (empty.path(), "is empty; add a `tokens` table"),
        (
            bad_toml.path(),
            "dataset.toml, line 1: unknown key `titel`; did you mean `title`?",
        ),
        (
            bad_tokens.path(),
            "is unusable: `tokens.csv` lacks the columns `token_address`",
        ),
        (
            &empty.path().join("nowhere"),
            "cannot read the dataset folder",
        ),
    ] {
        let error = load(folder, &NoProgress).expect_err(expected).to_string();
        assert!(error.contains(expected), "{error}");
        assert_eq!(error.lines().count(), 1, "{error}");
        assert!(
            error.contains("tokendeck demo") || error.starts_with("dataset.toml"),
            "{error}"
        );
    }
}
