//! Files made to take all memory, for ever, or a name from the data into a shell: each ends in a sentence, and honest ones like them are taken.

use std::{fs::File, io::Write as _};

use rusqlite::Connection;

use super::{Desk, TOKENS, UNI, rows, taken};
use crate::shared::shared;

fn zipped(files: impl IntoIterator<Item = (String, String)>) -> Vec<u8> {
    let mut archive = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (name, text) in files {
        archive
            .start_file(name, zip::write::SimpleFileOptions::default())
            .unwrap();
        archive.write_all(text.as_bytes()).unwrap();
    }
    archive.finish().unwrap().into_inner()
}

/// An OpenDocument sheet of these rows.
fn sheet(rows: &str) -> Vec<u8> {
    let text = format!(
        "<?xml version=\"1.0\"?><office:document-content xmlns:office=\"o\" xmlns:table=\"t\" xmlns:text=\"x\"><office:body><office:spreadsheet>\
         <table:table table:name=\"S\">{rows}</table:table></office:spreadsheet></office:body></office:document-content>"
    );
    zipped([("content.xml".to_owned(), text)])
}

fn row(cells: &str, repeated: u64) -> String {
    format!("<table:table-row table:number-rows-repeated=\"{repeated}\">{cells}</table:table-row>")
}

fn cell(text: &str, repeated: u64) -> String {
    format!(
        "<table:table-cell office:value-type=\"string\" table:number-columns-repeated=\"{repeated}\"><text:p>{text}</text:p></table:table-cell>"
    )
}

/// An Excel sheet of this many cells, all of which refer to one text of 30,000 letters.
fn of_one_text(cells: usize) -> Vec<u8> {
    let main = "xmlns=\"http://schemas.openxmlformats.org/spreadsheetml/2006/main\"";
    let links = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";
    let link = |id: &str, of: &str, to: &str| {
        format!("<Relationship Id=\"{id}\" Type=\"{links}/{of}\" Target=\"{to}\"/>")
    };
    let rows: Vec<String> = (1..=cells)
        .map(|row| format!("<row r=\"{row}\"><c r=\"A{row}\" t=\"s\"><v>0</v></c></row>"))
        .collect();
    let rows = rows.concat();
    zipped(
        [
            (
                "_rels/.rels",
                format!(
                    "<Relationships xmlns=\"http://schemas.openxmlformats.org/package/2006/relationships\">{}</Relationships>",
                    link("a", "officeDocument", "xl/workbook.xml")
                ),
            ),
            (
                "xl/workbook.xml",
                format!("<workbook {main} xmlns:r=\"{links}\"><sheets><sheet name=\"S\" sheetId=\"1\" r:id=\"a\"/></sheets></workbook>"),
            ),
            (
                "xl/_rels/workbook.xml.rels",
                format!(
                    "<Relationships xmlns=\"http://schemas.openxmlformats.org/package/2006/relationships\">{}{}</Relationships>",
                    link("a", "worksheet", "worksheets/sheet1.xml"),
                    link("b", "sharedStrings", "sharedStrings.xml")
                ),
            ),
            ("xl/sharedStrings.xml", format!("<sst {main} uniqueCount=\"1\"><si><t>{}</t></si></sst>", "z".repeat(30_000))),
            ("xl/worksheets/sheet1.xml", format!("<worksheet {main}><sheetData>{rows}</sheetData></worksheet>")),
        ]
        .map(|(name, text)| (name.to_owned(), format!("<?xml version=\"1.0\"?>{text}"))),
    )
}

#[test]
fn what_would_take_too_much_ends_in_a_sentence() {
    let desk = Desk::new();
    let one = |cells: String| sheet(&row(&cells, 1));
    let chain = |text: &str| format!("<?xml version=\"1.0\"?>{text}");
    let header = |row: String| format!("address,label\n{row}").into_bytes();
    let label = |name: &str| format!("0x{:040x},{name}\n", 1);
    for (name, bytes, says) in [
        (
            "columns.csv",
            format!(
                "{}\n{}\n",
                vec!["x"; 20_000].join(","),
                vec!["1"; 20_000].join(",")
            )
            .into_bytes(),
            "at most 10000",
        ),
        ("wide.ods", one(cell("x", 1_000_000_000)), "column 10001"),
        (
            "high.ods",
            sheet(&row(&cell("x", 2), 1_000_000_000)),
            "row 1048577",
        ),
        (
            "long.ods",
            one(cell(&"z".repeat(5 << 20), 1)),
            "cannot be read",
        ),
        (
            "shared.xlsx",
            of_one_text(4_000),
            "repeats long strings in its cells",
        ),
        (
            "shared.ods",
            sheet(&row(&cell(&"z".repeat(30_000), 4), 1_000)),
            "repeats long strings in its cells",
        ),
        (
            "rows.zip",
            zipped([(
                "labels.csv".to_owned(),
                String::from_utf8(header(label("dex").repeat(400_000))).unwrap(),
            )]),
            "times its size",
        ),
        (
            "long.csv",
            header(label(&"z".repeat(17 << 20))),
            "first row longer than 512 KiB",
        ),
        (
            "longer.csv",
            header(label(&"z".repeat(600 << 10))),
            "first row longer than 512 KiB",
        ),
        (
            "quote.csv",
            header(format!("\"{}{}", label("dex"), ",dex\n".repeat(1_000))),
            "a quote in row 1 that is never closed",
        ),
        (
            "header.csv",
            header(String::new()),
            "column names but no rows",
        ),
        (
            "count.xlsx",
            zipped([
                ("xl/workbook.xml".to_owned(), chain("<workbook/>")),
                (
                    "xl/sharedStrings.xml".to_owned(),
                    chain("<sst uniqueCount=\"4000000000\"/>"),
                ),
            ]),
            "4000000000 text strings",
        ),
    ] {
        desk.write(name, bytes);
        let err = desk.refuses(&[name]);
        assert!(
            err.starts_with(&format!("tokendeck: `{name}")) && err.contains(says),
            "{name}: {err}"
        );
    }
    for (name, says) in [
        ("far-corner.xlsx", "row 1048576, column 16384"),
        ("far-1e4.xlsx", "CSV"),
        ("one-text-3GB.xlsx", "unpacks to more than 768 MiB"),
    ] {
        let Some(path) = shared(&format!("data/reports/hostile/{name}")) else {
            return;
        };
        let err = desk.refuses(&[&path]);
        assert!(err.contains(says), "{name}: {err}");
    }
}

#[test]
fn a_sheet_with_a_stray_cell_and_repeated_empty_rows_is_taken() {
    let candle = |i: u32| {
        let day = format!(
            "<table:table-cell office:value-type=\"date\" office:date-value=\"2024-01-{i:02}\"/>"
        );
        let price = |price: &str| {
            format!("<table:table-cell office:value-type=\"float\" office:value=\"{price}\"/>")
        };
        row(
            &format!("{day}{}", ["4", "5", "3", "4.5"].map(price).concat()),
            1,
        )
    };
    let header = ["date", "open", "high", "low", "close"]
        .map(|name| cell(name, 1))
        .concat();
    let empty = row(
        "<table:table-cell table:number-columns-repeated=\"16384\"/>",
        1_000_000,
    );
    for stray in [String::new(), row(&cell("Source: me", 1), 1)] {
        let desk = Desk::new();
        desk.write(
            "uni.ods",
            sheet(&format!(
                "{}{}{empty}{stray}",
                row(&header, 1),
                rows(candle)
            )),
        );
        let (code, report, err) = desk.run(&["uni.ods", "--token", UNI]);
        assert_eq!(
            (code, taken(&report, 0, "candles")[0]),
            (0, 20),
            "{err}: {report:#}"
        );
    }
}

#[test]
fn tables_refused_alike_are_told_once() {
    let desk = Desk::new();
    let member = |i: usize| (format!("{i}.txt"), "hello, you\nthere, too\n".to_owned());
    desk.write("many.zip", zipped((0..300).map(member)));
    let err = desk.refuses(&["many.zip"]);
    assert!(
        err.lines().count() < 4
            && err.contains("The same applies to `many.zip/1.txt`")
            && err.contains("and 287 more"),
        "{err}"
    );
    desk.write(
        "two.zip",
        zipped([
            member(1),
            ("b.txt".to_owned(), "other, things\nare, here\n".to_owned()),
        ]),
    );
    let err = desk.refuses(&["two.zip"]);
    assert!(
        !err.contains("The same applies")
            && err.contains("two.zip/1.txt")
            && err.contains("two.zip/b.txt"),
        "{err}"
    );
}

#[test]
#[cfg(unix)]
fn piped_bytes_without_an_end_are_looked_at_first() {
    let desk = Desk::new();
    for device in ["/dev/zero", "/dev/urandom"] {
        let output = desk
            .command(&["-"])
            .stdin(File::open(device).unwrap())
            .output()
            .unwrap();
        let err = String::from_utf8(output.stderr).unwrap();
        assert!(
            output.status.code() == Some(1) && err.contains("is not text"),
            "{device}: {err}"
        );
    }
    let file = desk.write("more.csv", TOKENS);
    let output = desk
        .command(&["-"])
        .stdin(File::open(file).unwrap())
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
}

#[test]
fn a_table_of_a_database_is_read_and_one_of_several_asked_for() {
    let desk = Desk::new();
    let path = desk.path("wallet.db");
    let database = Connection::open(&path).unwrap();
    database
        .execute_batch("CREATE TABLE owners (holder_address, balance REAL)")
        .unwrap();
    for i in 1..=20_u8 {
        let address: Vec<u8> = [0; 19].into_iter().chain([i]).collect();
        database
            .execute(
                "INSERT INTO owners VALUES (?1, ?2)",
                (address, f64::from(i) + 0.5),
            )
            .unwrap();
    }
    let before = std::fs::read(&path).unwrap();
    assert_eq!(
        taken(&desk.imports(&["wallet.db", "--token", UNI]), 0, "holders")[0],
        20
    );
    assert_eq!(std::fs::read(&path).unwrap(), before);
    database
        .execute_batch("CREATE TABLE \"$(touch PWNED)\" (a, b)")
        .unwrap();
    let err = desk.refuses(&["wallet.db", "--token", UNI]);
    assert!(
        err.contains("owners (holder_address, balance)")
            && err.contains("as in 'wallet.db/$(touch PWNED)'"),
        "{err}"
    );
    assert_eq!(
        taken(
            &desk.imports(&["wallet.db/owners", "--token", UNI]),
            0,
            "holders"
        )[2],
        20,
        "the same rows"
    );
    assert!(
        desk.refuses(&["wallet.db/nothing"])
            .contains("without a table `nothing`")
    );
}
