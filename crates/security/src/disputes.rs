//! Disputed findings: they stay visible with the reason, and do not affect the score while the dispute lasts. Nothing is detected here.

use super::{Anomaly, Objection};
use model::{
    rows::DisputeRow,
    time::{DAY_MS, Time},
};

/// Marks the findings that are disputed at `now`, the newest time in the data; if that is unknown, no dispute has ended.
pub(super) fn mark(anomalies: &mut [Anomaly], disputes: &[DisputeRow], now: Option<Time>) {
    for anomaly in anomalies {
        // A day is written as its beginning, and lasts to its end.
        let end = |until: Time| {
            if until.0 % DAY_MS == 0 {
                Time(until.0 + DAY_MS - 1)
            } else {
                until
            }
        };
        let lasts = |row: &&DisputeRow| {
            row.until
                .zip(now)
                .is_none_or(|(until, now)| now <= end(until))
        };
        let of_it = |row: &&DisputeRow| row.code.trim().eq_ignore_ascii_case(anomaly.code.word());
        if let Some(row) = disputes.iter().filter(of_it).find(lasts) {
            let why = row
                .why
                .as_deref()
                .map_or("no reason given", str::trim)
                .to_owned();
            anomaly.dispute(Objection {
                why,
                until: row.until,
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::AnomalyCode;
    use model::address::Address;

    #[test]
    fn a_finding_is_disputed_until_the_day_that_was_named() {
        let row = |code: &str, until: Option<i64>| DisputeRow {
            token_address: Address([1; 20]),
            code: code.to_owned(),
            why: Some("a timelock".to_owned()),
            until: until.map(Time),
        };
        // The row's code and end, the newest time of the data, and whether OWNER_MINT is disputed then.
        let cases = [
            ("OWNER_MINT", Some(DAY_MS), Some(2 * DAY_MS - 1), true),
            ("OWNER_MINT", Some(DAY_MS), Some(2 * DAY_MS), false),
            ("OWNER_MINT", None, Some(9), true),
            (" owner_mint", None, None, true),
            ("OWNER_MINT", Some(5), Some(5), true),
            ("OWNER_MINT", Some(5), Some(6), false),
            ("OWNER_MINT", Some(5), None, true),
            ("OWNER_DRAIN", None, None, false),
        ];
        for (code, until, now, disputed) in cases {
            let mut found = [Anomaly::new(AnomalyCode::OwnerMint, 1.0, "the owner mints")];
            mark(&mut found, &[row(code, until)], now.map(Time));
            assert_eq!(
                found[0].disputed.is_some(),
                disputed,
                "{code} until {until:?} at {now:?}"
            );
            assert_eq!(found[0].weighed() == 0.0, disputed);
            assert_eq!(found[0].text().contains("disputed: a timelock"), disputed);
        }
    }
}
