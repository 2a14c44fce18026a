//! Files as saved by spreadsheets and people: a total or a source below the rows, a truncated address, links in place of addresses, text in
//! Windows-1252, cells whose currency only their number format has.

use std::io::Write as _;

use super::{Desk, TOKENS, UNI, reasons, rows, taken};

const HEADER: &str = "date,open,high,low,close,volume\n";

fn day(i: u32) -> String {
    format!("2024-01-{i:02},4,5,3,4.5,{i}\n")
}

fn holder(i: u32) -> String {
    format!("0x{i:040x},{i}.5\n")
}

#[test]
fn words_below_the_rows_cost_their_own_row_and_a_check_tells_it() {
    let candles = |last: &str| format!("{HEADER}{}{last}", rows(day));
    let holders = |last: &str| format!("address,balance\n{}{last}", rows(holder));
    for (table, text, rejected, left_out) in [
        ("candles", candles("Source: CoinMarketCap\n"), 1, 0),
        (
            "candles",
            candles("\"Source: CoinMarketCap, 2024\",,,,,\n"),
            0,
            1,
        ),
        ("candles", candles("Total,,,,,210\n"), 0, 1),
        ("candles", candles("Average,4,5,3,4.5,10\n"), 1, 0),
        ("candles", candles("Total,,,,,210\nSource: x,,,,,\n"), 0, 2),
        ("holders", holders("Total,210\n"), 1, 0),
        ("holders", holders("Source: Etherscan\n"), 1, 0),
        ("holders", holders("Total,210\nSource: Etherscan\n"), 2, 0),
        ("holders", holders("0x123…,5\n"), 1, 0),
        (
            "holders",
            format!(
                "address,balance\n{}0x12,5\n",
                (1..=9).map(holder).collect::<Vec<_>>().concat()
            ),
            1,
            0,
        ),
    ] {
        let desk = Desk::new();
        desk.write("uni.csv", &text);
        let report = desk.imports(&["uni.csv", "--token", UNI]);
        let [new, .., set_aside, left] = taken(&report, 0, table);
        let good = text
            .lines()
            .filter(|line| line.starts_with("2024") || line.starts_with("0x0000"))
            .count() as u64;
        assert_eq!(
            (new, set_aside, left),
            (good, rejected, left_out),
            "{text}: {report:#}"
        );
        let dataset = desk.dataset();
        let found = dataset.table(table).unwrap().findings.counts();
        let told = found
            .iter()
            .find(|count| count.reason.contains("imported from `uni.csv`: warning: "));
        assert_eq!(told.is_some(), rejected > 0, "{text}: {found:?}");
        if let Some(told) = told {
            let missing = if rejected == 1 {
                "1 of its".to_owned()
            } else {
                format!("{rejected} of its")
            };
            assert!(
                told.reason.contains(&missing) && told.reason.contains("rejected"),
                "{told:?}"
            );
        }
    }
}

#[test]
fn the_account_of_a_link_is_the_holder() {
    let link = |i: u32| format!("https://etherscan.io/token/{UNI}?a=0x{i:040x},{i}.5\n");
    let paged = |i: u32| format!("https://etherscan.io/token/{UNI}?p=2&a=0x{i:040x},{i}.5\n");
    let page = |i: u32| format!("https://bscscan.com/address/0x{i:040x}#tokentxns,{i}.5\n");
    for (text, chain, args) in [
        (rows(link), "eth", &["uni.csv", "--token", UNI][..]),
        (rows(link), "eth", &["uni.csv"]),
        (rows(paged), "eth", &["uni.csv"]),
        (rows(page), "bnb", &["uni.csv", "--token", UNI]),
    ] {
        let desk = Desk::empty();
        desk.write("uni.csv", format!("Holder,Balance\n{text}"));
        desk.imports(args);
        assert_eq!(
            desk.dataset().tokens()[0].row.token_address.to_string(),
            UNI
        );
        let dataset = desk.dataset();
        let frame = dataset.table("holders").unwrap().frame();
        let holders = frame.column("holder_address").unwrap().str().unwrap();
        let mut all: Vec<&str> = holders.iter().flatten().collect();
        all.sort_unstable();
        assert_eq!(
            (all.len(), all[0]),
            (20, format!("0x{:040x}", 1).as_str()),
            "{text}"
        );
        assert_eq!(dataset.tokens()[0].chains[0].as_str(), chain);
    }
}

#[test]
fn text_of_older_spreadsheets_is_read_and_its_euro_seen() {
    let latin = |text: &str| -> Vec<u8> {
        let byte = |c: char| match c {
            '€' => 0x80,
            c => u8::try_from(u32::from(c)).unwrap(),
        };
        text.chars().map(byte).collect()
    };
    let row = |i: u32| format!("{i:02}/01/2024;4,0;5,0;3,0;4,5;{i}\n");
    let desk = Desk::new();
    desk.write(
        "uni.csv",
        latin(&format!(
            "Date;Ouverture;Plus haut;Plus bas;Clôture;Volume\n{}",
            rows(row)
        )),
    );
    let report = desk.imports(&["uni.csv", "--token", UNI]);
    assert_eq!(taken(&report, 0, "candles")[0], 20, "{report:#}");
    assert!(
        report["files"][0]["says"]
            .to_string()
            .contains("the text is not UTF-8 and is read as Windows-1252"),
        "{report:#}"
    );
    let desk = Desk::new();
    let row = |i: u32| format!("2024-01-{i:02},4 €,5 €,3 €,4.5 €,{i}\n");
    desk.write("uni.csv", latin(&format!("{HEADER}{}", rows(row))));
    assert!(
        desk.refuses(&["uni.csv", "--token", UNI])
            .contains("has prices in EUR (`4 €` in `open`)")
    );
    let desk = Desk::empty();
    desk.write("tokens.csv", latin(&TOKENS.replace("Uniswap", "Café")));
    desk.imports(&["tokens.csv"]);
    let dataset = desk.dataset();
    assert!(
        dataset
            .tokens()
            .iter()
            .any(|token| token.row.name.as_deref() == Some("Café"))
    );
}

/// A workbook of one sheet: rows of days and numbers, with this number format.
fn workbook(format: &str) -> Vec<u8> {
    let cell = |column: char, row: u32, style: u32, value: &str| {
        format!("<c r=\"{column}{row}\" s=\"{style}\"><v>{value}</v></c>")
    };
    let text = |column: char, word: &str| {
        format!("<c r=\"{column}2\" t=\"inlineStr\"><is><t>{word}</t></is></c>")
    };
    let header: Vec<String> = ('B'..='G')
        .zip(["date", "open", "high", "low", "close", "volume"])
        .map(|(column, word)| text(column, word))
        .collect();
    let row = |i: u32| {
        let prices: Vec<String> = ('C'..='F')
            .zip(["4", "5", "3", "4.5"])
            .map(|(column, price)| cell(column, i + 2, 2, price))
            .collect();
        format!(
            "<row r=\"{}\">{}{}{}</row>",
            i + 2,
            cell('B', i + 2, 1, &(45_291 + i).to_string()),
            prices.concat(),
            cell('G', i + 2, 0, "7")
        )
    };
    let open = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>";
    let main = "xmlns=\"http://schemas.openxmlformats.org/spreadsheetml/2006/main\"";
    let relations = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";
    let package = "http://schemas.openxmlformats.org/package/2006";
    let files = [
        (
            "[Content_Types].xml",
            format!(
                "{open}<Types xmlns=\"{package}/content-types\"><Default Extension=\"xml\" ContentType=\"application/xml\"/></Types>"
            ),
        ),
        (
            "_rels/.rels",
            format!(
                "{open}<Relationships xmlns=\"{package}/relationships\"><Relationship Id=\"rId1\" Type=\"{relations}/officeDocument\" \
                 Target=\"xl/workbook.xml\"/></Relationships>"
            ),
        ),
        (
            "xl/workbook.xml",
            format!(
                "{open}<workbook {main} xmlns:r=\"{relations}\"><sheets><sheet name=\"Kurse\" sheetId=\"1\" r:id=\"rId1\"/></sheets></workbook>"
            ),
        ),
        (
            "xl/_rels/workbook.xml.rels",
            format!(
                "{open}<Relationships xmlns=\"{package}/relationships\"><Relationship Id=\"rId1\" Type=\"{relations}/worksheet\" \
                 Target=\"worksheets/sheet1.xml\"/><Relationship Id=\"rId2\" Type=\"{relations}/styles\" Target=\"styles.xml\"/></Relationships>"
            ),
        ),
        (
            "xl/styles.xml",
            format!(
                "{open}<styleSheet {main}><numFmts count=\"1\"><numFmt numFmtId=\"164\" formatCode=\"{format}\"/></numFmts><cellStyleXfs \
                 count=\"1\"><xf numFmtId=\"0\"/></cellStyleXfs><cellXfs count=\"3\"><xf numFmtId=\"0\"/><xf numFmtId=\"14\"/><xf \
                 numFmtId=\"164\"/></cellXfs></styleSheet>"
            ),
        ),
        (
            "xl/worksheets/sheet1.xml",
            format!(
                "{open}<worksheet {main}><sheetData><row r=\"2\">{}</row>{}</sheetData></worksheet>",
                header.concat(),
                rows(row)
            ),
        ),
    ];
    let mut archive = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (name, text) in files {
        archive
            .start_file(name, zip::write::SimpleFileOptions::default())
            .unwrap();
        archive.write_all(text.as_bytes()).unwrap();
    }
    archive.finish().unwrap().into_inner()
}

#[test]
fn the_format_of_a_workbooks_cells_says_their_currency() {
    for (format, currency) in [
        ("[$€-407]\\ #,##0.00", Some("EUR (`4 EUR` in `open`)")),
        ("#,##0.00 &quot;£&quot;", Some("GBP")),
        ("[$CHF] #,##0.00", Some("CHF")),
        ("[$CZK] #,##0.00", Some("CZK")),
        ("[$$-409]#,##0.00", None),
        ("#,##0.00", None),
    ] {
        let desk = Desk::new();
        desk.write("uni.xlsx", workbook(format));
        let args = ["uni.xlsx", "--token", UNI];
        if let Some(currency) = currency {
            let err = desk.refuses(&args);
            assert!(
                err.contains(&format!("has prices in {currency}")),
                "{format}: {err}"
            );
            desk.imports(&[&args[..], &["--as-usd"]].concat());
        } else {
            desk.imports(&args);
        }
        let dataset = desk.dataset();
        let closes = dataset
            .table("candles")
            .unwrap()
            .frame()
            .column("close")
            .unwrap()
            .f64()
            .unwrap()
            .clone();
        assert_eq!((closes.len(), closes.get(0)), (20, Some(4.5)), "{format}");
    }
}

#[test]
fn a_dataset_that_meets_a_currency_names_the_import() {
    let desk = Desk::empty();
    desk.write("data/tokens.csv", TOKENS);
    let row = |i: u32| {
        format!(
            "{UNI},2024-01-{i:02},\"$62,000.00\",\"$63,000.00\",\"$61,000.00\",\"$62,500.00\"\n"
        )
    };
    desk.write(
        "data/candles.csv",
        format!("token_address,timestamp,open,high,low,close\n{}", rows(row)),
    );
    let dataset = desk.dataset();
    let found = dataset.table("candles").unwrap().findings.counts();
    assert!(
        found.iter().any(|count| count
            .reason
            .contains("a number without a currency (`tokendeck import` reads such cells)")),
        "{found:?}"
    );
    let desk = Desk::new();
    desk.write(
        "uni.csv",
        format!(
            "{HEADER}{}",
            rows(|i| format!(
                "2024-01-{i:02},\"$62,000.00\",\"$63,000.00\",\"$61,000.00\",\"$62,500.00\",5\n"
            ))
        ),
    );
    desk.imports(&["uni.csv", "--token", UNI]);
}

#[test]
fn prices_of_a_pool_are_in_usd_by_assumption() {
    let list: Vec<String> = (0..20)
        .map(|day| format!("[{},4,5,3,4.5,900]", 1_709_251_200 - day * 86_400))
        .collect();
    let meta = format!(
        "\"meta\":{{\"base\":{{\"address\":\"{UNI}\",\"symbol\":\"UNI\"}},\"quote\":{{\"address\":\"0x{:040x}\",\"symbol\":\"WETH\"}}}}",
        9
    );
    let desk = Desk::new();
    desk.write(
        "pool.json",
        format!(
            "{{\"data\":{{\"id\":\"x\",\"attributes\":{{\"ohlcv_list\":[{}]}}}},{meta}}}",
            list.join(",")
        ),
    );
    let report = desk.imports(&["pool.json"]);
    let part = "assumed: prices are in USD, as the file names no currency";
    assert!(
        report["files"][0]["says"].to_string().contains(part),
        "{report:#}"
    );
    let found: Vec<String> = desk
        .dataset()
        .table("candles")
        .unwrap()
        .findings
        .counts()
        .iter()
        .map(|count| count.reason.clone())
        .collect();
    assert!(
        found.iter().any(|reason| reason.contains(part)),
        "{found:?}"
    );
    assert!(reasons(&report, 0).len() < 5, "{report:#}");
}
