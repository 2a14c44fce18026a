//! Alerts on advice: a record of all tokens that is published changes the advice on the same data, and fires nothing.

use super::*;

/// Daily closes with double bottoms, each followed by the rise that it promises, then by a slow fall back.
pub(crate) fn closes(cycles: usize) -> Vec<f64> {
    let mut closes = vec![100.0];
    let mut go = |to: f64, days: usize| {
        let from = closes[closes.len() - 1];
        let step = |day: usize| {
            from + (to - from) * day as f64 / days as f64
                + if day < days {
                    0.15 * (day % 2) as f64
                } else {
                    0.0
                }
        };
        closes.extend((1..=days).map(step));
    };
    for cycle in 0..cycles {
        let shape = [(80.0, 9), (92.0, 7), (80.4, 7), (93.0, 7)];
        let after = [(112.0, 6), (100.0, 26)];
        shape
            .iter()
            .chain(after.iter().filter(|_| cycle + 1 < cycles))
            .for_each(|(to, days)| go(*to, *days));
    }
    closes
}

pub(crate) fn write_candles(folder: &Path, closes: &[f64]) {
    let row = |(day, &close): (usize, &f64)| {
        let (open, time) = (
            closes[day.saturating_sub(1)],
            model::time::Time(1_600_041_600_000 + day as i64 * 86_400_000),
        );
        format!(
            "{A},{time},{open},{},{},{close},1d\n",
            open.max(close) * 1.001,
            open.min(close) * 0.999
        )
    };
    let rows: String = closes.iter().enumerate().map(row).collect();
    std::fs::write(
        folder.join("candles.csv"),
        format!("token_address,timestamp,open,high,low,close,interval\n{rows}"),
    )
    .unwrap();
}

#[test]
fn a_published_record_fires_nothing_and_what_the_data_change_does() {
    let (data, state) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    write(data.path(), &[(A, "A", 10.0)]);
    let whole = closes(24);
    write_candles(data.path(), &whole);
    let service = QueryService::new(
        data.path(),
        ServiceOptions {
            workers: 1,
            counts_records: true,
            ..ServiceOptions::default()
        },
    )
    .unwrap();
    service.load().unwrap();
    let jobs = Jobs::open(state.path(), Arc::clone(&service), JobOptions::default()).unwrap();
    let id = jobs
        .add_alert(&request(Some(A), "action:strong_buy"), &Progress::default())
        .unwrap()
        .alert_id;
    let alert = || {
        jobs.alerts(9, FIRED_ID_MAX)
            .unwrap()
            .alerts
            .into_iter()
            .find(|alert| alert.alert_id == id)
            .unwrap()
    };
    let is_counted = || {
        service
            .snapshot()
            .unwrap()
            .track_records
            .known("1d")
            .is_some()
    };
    // Counted in the background; the word changes, the data do not.
    let held = wait_for("the record is counted", || {
        Some(alert()).filter(|alert| alert.holds == 1)
    });
    assert!(is_counted() && held.fired == 0, "{held:?}");
    let look = |closes: &[f64]| {
        let before = alert().checked_at;
        std::thread::sleep(Duration::from_millis(2));
        write_candles(data.path(), closes);
        service.load().unwrap();
        wait_for("it is looked at", || {
            Some(alert()).filter(|alert| alert.checked_at > before)
        })
    };
    let forming = look(&whole[..whole.len() - 4]);
    assert_eq!(
        (forming.holds, forming.fired),
        (0, 0),
        "before its breakout there is nothing to buy"
    );
    let again = look(&whole);
    assert_eq!((again.holds, again.fired), (1, 1), "the data changed");
    // After a restart on other data nobody but the alert asks for the record.
    jobs.stop();
    write_candles(data.path(), &whole[..whole.len() - 4]);
    let service = QueryService::new(
        data.path(),
        ServiceOptions {
            workers: 1,
            counts_records: true,
            ..ServiceOptions::default()
        },
    )
    .unwrap();
    service.load().unwrap();
    let jobs = Jobs::open(state.path(), Arc::clone(&service), JobOptions::default()).unwrap();
    let alert = || {
        jobs.alerts(9, FIRED_ID_MAX)
            .unwrap()
            .alerts
            .into_iter()
            .find(|alert| alert.alert_id == id)
            .unwrap()
    };
    let checked = wait_for("it is looked at", || {
        Some(alert()).filter(|alert| alert.holds == 0)
    });
    assert_eq!(checked.fired, 1);
}
