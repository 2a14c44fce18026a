//! Ambiguous columns are interpreted by all their cells together, with a finding; if these do not decide, the user is asked.

use model::{address::Address, table_state::TableState};

use super::{UNI, findings, load_texts, table};

/// Returns the candles' volumes, or why there are none; and the findings.
fn volumes(volumes: &[&str], toml: &str) -> (Vec<f64>, Vec<String>) {
    let mut text = "token_address;timestamp;open;high;low;close;volume\n".to_owned();
    for (day, volume) in volumes.iter().enumerate() {
        text.push_str(&format!("{UNI};2024-01-{:02};2;3;1;2;{volume}\n", day + 1));
    }
    let dataset = load_texts(&[("candles.csv", &text), ("dataset.toml", toml)]).expect("loads");
    let series = dataset.candles().of(&Address::parse(UNI).unwrap());
    let series = series.series();
    (
        series[0].1.volume.to_vec(),
        findings(table(&dataset, "candles")),
    )
}

#[test]
fn decimal_signs_are_the_columns_own() {
    let (read, found) = volumes(&["1,234", "12,5"], "");
    assert_eq!(read, [1.234, 12.5]);
    assert_eq!(
        found,
        ["Note candles.csv volume: numbers are read with decimal commas, as in `1,234`"]
    );
    let (read, found) = volumes(&["1,234", "12.5"], "");
    assert_eq!(read, [1_234.0, 12.5]);
    assert_eq!(
        found,
        ["Note candles.csv volume: numbers are read with commas between thousands, as in `1,234`"]
    );
    let (read, found) = volumes(&["20.957,00", "1.234"], "");
    assert_eq!(read, [20_957.0, 1_234.0]);
    assert_eq!(found.len(), 1, "{found:?}");
    let (read, found) = volumes(&["2.02M", "3K", "122211.5587"], "");
    assert_eq!(read, [2_020_000.0, 3_000.0, 122_211.558_7]);
    assert_eq!(found, [] as [&str; 0]);
}

#[test]
fn what_does_not_tell_its_sign_is_left_empty_and_asked_for() {
    let (read, found) = volumes(&["1,234", "5,678"], "");
    assert!(read.iter().all(|volume| volume.is_nan()), "{read:?}");
    assert!(
        found[0].contains("set decimal = \",\" or \".\" in dataset.toml"),
        "{found:?}"
    );
    for (sign, expected) in [(",", [1.234, 5.678]), (".", [1_234.0, 5_678.0])] {
        let (read, found) = volumes(
            &["1,234", "5,678"],
            &format!("[tables.candles]\ndecimal = '{sign}'\n"),
        );
        assert_eq!(
            (read.as_slice(), found.len()),
            (&expected[..], 0),
            "{found:?}"
        );
    }
    let (read, found) = volumes(&["none", "5"], "[tables.candles]\nnull = ['none']\n");
    assert!(
        read[0].is_nan() && read[1] == 5.0 && found.is_empty(),
        "{read:?} {found:?}"
    );
}

#[test]
fn excels_days_are_days_and_mixed_units_are_said() {
    let text = format!("token_address,date,holders\n{UNI},45292,5\n{UNI},45293,6\n");
    let dataset = load_texts(&[("holder_counts.csv", &text)]).expect("loads");
    let days: Vec<String> = dataset
        .holder_counts_of(&Address::parse(UNI).unwrap())
        .iter()
        .map(|row| row.date.to_string())
        .collect();
    assert_eq!(days, ["2024-01-01", "2024-01-02"]);
    assert_eq!(
        findings(table(&dataset, "holder_counts")),
        ["Note holder_counts.csv date: times are read as Excel day numbers, such as `45292`"]
    );
    // One of them among times of another kind is a day in 1970, which is reported.
    let text = format!(
        "token_address,timestamp,open,high,low,close\n{UNI},1704067200,2,3,1,2\n{UNI},45293,2,3,1,2\n"
    );
    let dataset = load_texts(&[("candles.csv", &text)]).expect("loads");
    let found = findings(table(&dataset, "candles"));
    assert!(
        found.iter().any(|found| found
            .contains("candles.csv:2 timestamp `1970-01-01T12:34:53Z`: the time is before 2009")),
        "{found:?}"
    );
}

#[test]
fn decimal_commas_that_come_late_leave_the_table_out_rather_than_half_of_it_wrong() {
    let mut text = "token_address;timestamp;open;high;low;close\n".to_owned();
    for row in 0..9_000 {
        text.push_str(&format!(
            "{UNI};{};2;3;1;{}\n",
            1_704_067_200 + row * 60,
            if row < 8_500 { "2.345" } else { "2,5" }
        ));
    }
    let dataset = load_texts(&[("candles.csv", &text)]).expect("loads");
    let state = &table(&dataset, "candles").state;
    assert!(
        matches!(state, TableState::Unusable(reason) if reason.contains("decimal commas in `close`")),
        "{state:?}"
    );
}
