//! Guesses the `format` of times that cannot be parsed without one, so that a message can suggest it: `20.08.2022` is `%d.%m.%Y`. A guess
//! is never used for reading.

use chrono::{Datelike, NaiveDate, NaiveDateTime};

/// Common date formats; each may be followed by one of `CLOCKS`.
const DAYS: &[&str] = &[
    "%d.%m.%Y",
    "%m/%d/%Y",
    "%d/%m/%Y",
    "%d-%m-%Y",
    "%m-%d-%Y",
    "%Y.%m.%d",
    "%d.%m.%y",
    "%m/%d/%y",
    "%d/%m/%y",
    "%B %d, %Y",
    "%d %B %Y",
    "%d-%B-%Y",
    "%B-%d-%Y",
    "%d. %B %Y",
];
const CLOCKS: &[&str] = &[
    "",
    " %H:%M",
    " %H:%M:%S",
    " %I:%M %p",
    " %I:%M:%S %p",
    ", %H:%M",
    ", %H:%M:%S",
];
/// Plausible years; a two-digit year or a misread number falls outside.
const YEARS: std::ops::RangeInclusive<i32> = 1990..=2100;

/// The formats that fit all unreadable times of a column.
#[derive(Debug, Default)]
pub struct DateFormatGuess {
    /// `None` before the first time.
    fitting: Option<Vec<String>>,
    first: String,
    count: u64,
}

impl DateFormatGuess {
    pub fn note(&mut self, text: &str) {
        let text = text.trim();
        self.count += 1;
        match &mut self.fitting {
            Some(fitting) => fitting.retain(|format| fits(text, format)),
            none => {
                text.clone_into(&mut self.first);
                let all = DAYS
                    .iter()
                    .flat_map(|day| CLOCKS.iter().map(move |clock| format!("{day}{clock}")));
                *none = Some(all.filter(|format| fits(text, format)).collect());
            }
        }
    }

    /// The number of unreadable times.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The lines to write in dataset.toml for the table; `None` if no format fits every time.
    pub fn advice(&self, table: &str) -> Option<String> {
        let fitting = self
            .fitting
            .as_ref()
            .filter(|fitting| !fitting.is_empty())?;
        let lines: Vec<String> = fitting
            .iter()
            .take(2)
            .map(|format| format!("format = \"{format}\""))
            .collect();
        let several = if lines.len() > 1 {
            ", depending on whether the day or the month comes first"
        } else {
            ""
        };
        Some(format!(
            "{} times are written like `{}`; add {} under [tables.{table}] in dataset.toml{several}",
            self.count,
            self.first,
            lines.join(" or ")
        ))
    }
}

fn fits(text: &str, format: &str) -> bool {
    let day = NaiveDateTime::parse_from_str(text, format)
        .map(|time| time.date())
        .or_else(|_| NaiveDate::parse_from_str(text, format));
    day.is_ok_and(|day| YEARS.contains(&day.year()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_one_format_that_fits_every_time_is_offered() {
        for (times, offered) in [
            (
                &["20.08.2022", "01.02.2023"][..],
                Some("format = \"%d.%m.%Y\" under"),
            ),
            (
                &["20.08.22 17:05"],
                Some("format = \"%d.%m.%y %H:%M\" under"),
            ),
            (
                &["01/02/2022", "20/08/2022"],
                Some("format = \"%d/%m/%Y\" under"),
            ),
            (
                &["01/02/2022", "03/04/2022"],
                Some("format = \"%m/%d/%Y\" or format = \"%d/%m/%Y\" under"),
            ),
            (
                &["Aug 20, 2022", "September 1, 2022"],
                Some("format = \"%B %d, %Y\" under"),
            ),
            (&["20.08.2022", "x"], None),
            (&["1.2.3.4"], None),
            (&[], None),
        ] {
            let mut seen = DateFormatGuess::default();
            for time in times {
                seen.note(time);
            }
            let advice = seen.advice("candles");
            assert!(
                advice
                    .as_deref()
                    .is_none_or(|advice| advice.contains(offered.unwrap_or("nothing"))),
                "{times:?}: {advice:?}"
            );
            assert_eq!(
                (advice.is_some(), seen.count()),
                (offered.is_some(), times.len() as u64),
                "{times:?}"
            );
        }
    }
}
