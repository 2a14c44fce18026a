//! Findings about a table as a whole: duplicate keys, ignored columns, approximate values, remote files.

use polars::prelude::DataFrame;

use super::TableReader;
use crate::{
    RemoteOrigin,
    builder::Dropped,
    formats::locate::LocatedFile,
    loader::{
        bind::{Bound, answers},
        others, path,
        remote::{self, Located},
    },
};
use frames::duplicates;
use model::findings::{Finding, Severity};

/// Minimum number of pools for a finding that yields look like fractions.
const FRACTIONS_MIN: usize = 3;
/// At most one in this many yields may be 1 or more (100% as a fraction).
const ONE_OF: usize = 20;

impl TableReader<'_> {
    /// Adds findings about rows dropped for their duplicate keys.
    pub(super) fn note_repeats(&mut self, dropped: Vec<Dropped>, files: &[LocatedFile]) {
        let mut differing = None;
        for dropped in dropped {
            let further = dropped.further;
            let differs = dropped.difference.is_some();
            let finding = self.repeat(files, dropped);
            if differs && differing.is_none() {
                differing = Some(finding.file.clone());
            }
            self.table.findings.add(finding.clone());
            self.table.findings.count_more(
                &finding.file,
                finding.column.as_deref(),
                &finding.reason,
                further,
            );
        }
        if let Some(file) = differing {
            self.note_movements(&file);
        }
    }

    /// Asks whether a list of holders that repeat with other balances is one of transfers, where it has their columns.
    pub(super) fn note_movements(&mut self, file: &str) {
        self.movements.sort_unstable();
        self.movements.dedup();
        if self.load.schema.name != "holders" || self.movements.is_empty() {
            return;
        }
        self.table.findings.add(Finding::new(
            Severity::Warning,
            file,
            duplicates::are_these_transfers(&self.movements),
        ));
    }

    /// Finding about a row dropped for its duplicate key.
    fn repeat(&self, files: &[LocatedFile], dropped: Dropped) -> Finding {
        let Dropped {
            file,
            row,
            difference,
            ..
        } = dropped;
        let key = self.load.schema.key.join(", ");
        let other = difference.as_ref().map_or_else(String::new, |(column, _)| {
            format!(" but a different value in `{column}`")
        });
        let reason = if self.load.schema.first_usable {
            format!(
                "another row has the same {key}{other}; the first usable row is kept, this one is excluded"
            )
        } else {
            format!(
                "a later row has the same {key}{other}; the later row is kept, this one is excluded"
            )
        };
        let file = files.get(file as usize).map_or("", |file| &file.name);
        let finding = Finding::new(Severity::Warning, file, reason).at(u64::from(row));
        match difference {
            Some((column, shown)) => finding.column(column).value(shown),
            None => finding,
        }
    }

    /// Adds notes about columns that are bound to no schema column.
    pub(super) fn note_unknown(&mut self, file: &str, names: &[String], bound: &[Bound<'_>]) {
        let used: Vec<&str> = bound
            .iter()
            .flat_map(|bound| [&bound.raw, &bound.units])
            .flatten()
            .flat_map(|name| path::heads(name))
            .collect();
        let filters = |name: &str| {
            self.load
                .manifest
                .filters
                .iter()
                .any(|(kept, _)| path::heads(kept).any(|kept| kept.eq_ignore_ascii_case(name)))
        };
        let kept = if others::are_kept(self.load.schema) {
            others::names(bound, names)
        } else {
            Vec::new()
        };
        for name in names {
            if !used.contains(&name.as_str()) && !filters(name) {
                let ours = self
                    .load
                    .schema
                    .columns
                    .iter()
                    .find(|column| answers(column, name));
                self.note(
                    file,
                    match ours {
                        Some(ours) => format!("column `{name}` is not read, because dataset.toml fills `{}` differently", ours.name),
                        None if kept.contains(&name.trim()) => format!("extra column `{name}`: kept for display"),
                        None => format!("extra column `{name}`: not read"),
                    },
                );
            }
        }
    }

    /// Warns that volumes are taken as USD although `dataset.toml` does not say so.
    pub(super) fn note_in_dollars(&mut self, file: &str, bound: &[Bound<'_>]) {
        let Some((volume, beside)) = bound
            .iter()
            .find_map(|bound| Some((bound.units.as_ref()?, bound.beside.as_ref()?)))
        else {
            return;
        };
        let reason = format!(
            "`{volume}` is read as USD, because sources with a `{beside}` column report it in USD, and is divided by the price; if it is \
                in tokens, add to dataset.toml: [tables.candles.columns] volume = {{ unit = \"token\" }}"
        );
        self.table
            .findings
            .add(Finding::new(Severity::Warning, file, reason).column("volume"));
    }

    /// Warns that several prices of a candle are read from one column.
    pub(super) fn note_one_price(&mut self, file: &str, bound: &[Bound<'_>]) {
        let prices = ["open", "high", "low", "close"];
        let of: Vec<&Bound<'_>> = bound
            .iter()
            .filter(|bound| {
                self.load.schema.name == "candles" && prices.contains(&bound.column.name)
            })
            .collect();
        let twice = of.iter().enumerate().find(|(at, price)| {
            price.raw.is_some() && of[..*at].iter().any(|other| other.raw == price.raw)
        });
        let Some(name) = twice.and_then(|(_, price)| price.raw.as_ref()) else {
            return;
        };
        let shown: Vec<&str> = of
            .iter()
            .filter(|price| price.raw.as_ref() == Some(name))
            .map(|price| price.column.name)
            .collect();
        let reason = format!(
            "{} are read from the same column, `{name}`; ranges and patterns of such candles are meaningless",
            shown.join(", ")
        );
        self.table
            .findings
            .add(Finding::new(Severity::Warning, file, reason));
    }

    /// Warns about yields that look like fractions where percent are expected.
    pub(super) fn note_fractions(&mut self, frame: &DataFrame) {
        if self.load.schema.name != "yields" || frame.height() < FRACTIONS_MIN {
            return;
        }
        let named = |name: &'static str| {
            Some((
                name,
                frame
                    .column(name)
                    .ok()?
                    .f64()
                    .ok()?
                    .iter()
                    .flatten()
                    .collect::<Vec<f64>>(),
            ))
        };
        let all: Vec<(&str, Vec<f64>)> = ["apy", "apy_base", "apy_reward"]
            .into_iter()
            .filter_map(named)
            .collect();
        let figures = || {
            all.iter()
                .flat_map(|(_, figures)| figures.iter().copied())
                .filter(|figure| *figure > 0.0)
        };
        let over = figures().filter(|figure| *figure >= 1.0).count();
        let most = figures().filter(|figure| *figure < 1.0).fold(0.0, f64::max);
        if most <= 0.0 || over * ONE_OF > figures().count() {
            return;
        }
        let filled: Vec<&str> = all
            .iter()
            .filter(|(_, figures)| !figures.is_empty())
            .map(|(name, _)| *name)
            .collect();
        let none = if over == 0 { "no" } else { "almost no" };
        let reason = format!(
            "{none} yield reaches 1% per year; if they are fractions, add to dataset.toml: [tables.yields.columns] {}",
            filled
                .iter()
                .map(|name| format!("{name} = {{ scale = 100 }}"))
                .collect::<Vec<_>>()
                .join(", ")
        );
        let finding = Finding::new(Severity::Warning, self.table.first_file(), reason);
        self.table
            .findings
            .add(finding.column("apy").value(format!("up to {most}")));
    }

    pub(super) fn note(&mut self, file: &str, reason: String) {
        self.table
            .findings
            .add(Finding::new(Severity::Note, file, reason));
    }

    /// Adds notes about remote files: their sources, their age, files that disappeared.
    pub(super) fn note_remote(&mut self, located: &Located) {
        if let Some(source) = &located.from_logs {
            located
                .notes
                .iter()
                .for_each(|finding| self.table.findings.add(finding.clone()));
            self.table.remote = Some(RemoteOrigin {
                sources: vec![source.clone()],
                as_of: located.as_of,
                ..RemoteOrigin::default()
            });
            return;
        }
        let asked = remote::answers(&located.files).map(|answer| answer.source.clone());
        let mut sources: Vec<String> = remote::objects(&located.files)
            .map(|object| object.source.clone())
            .chain(asked)
            .collect();
        sources.sort();
        sources.dedup();
        let Some(file) = located.files.iter().find(|file| !file.is_local()) else {
            return;
        };
        let file = file.name.clone();
        for answer in remote::answers(&located.files) {
            if let Some(as_of) = &answer.as_of {
                self.note(
                    &answer.name,
                    format!("the rows reach {as_of}; later rows are read at the next load"),
                );
            }
            for note in &answer.notes {
                self.note(&answer.name, note.clone());
            }
        }
        if located.left_out > 0 {
            self.note(
                &file,
                format!(
                    "`where` excludes {} files by their folder names",
                    located.left_out
                ),
            );
        }
        if let Some(finding) = located.gone_note() {
            self.table.findings.add(finding);
        }
        if let (Some(then), Some(why)) = (located.as_of, &located.offline) {
            self.table
                .findings
                .add(remote::stale_note(&file, then, &why.to_string()));
        }
        let unmarked = remote::objects(&located.files)
            .find(|object| object.version_tag.is_none())
            .map(|object| object.url.clone());
        if let Some(url) = unmarked {
            self.note(&url, "the server sends no ETag and no modification time; a file of the same length counts as unchanged".to_owned());
        }
        self.table.remote = Some(RemoteOrigin {
            sources,
            as_of: located.as_of,
            ..RemoteOrigin::default()
        });
        remote::remember(&self.load, located);
    }

    /// Marks inexact amounts: as `dataset.toml` says, or because they are stored as floating-point numbers.
    pub(super) fn note_approximate(&mut self) {
        let said = |name: &str| {
            self.load
                .manifest
                .columns
                .get(name)
                .is_some_and(|rule| rule.approximate)
        };
        let found = std::mem::take(&mut self.table.approximate);
        let is_one = |name: &&str| said(name) || found.iter().any(|found| found == name);
        let approximate: Vec<&str> = self
            .load
            .schema
            .columns
            .iter()
            .map(|column| column.name)
            .filter(is_one)
            .collect();
        let file = self.table.first_file();
        for name in &approximate {
            let reason = if said(name) {
                format!(
                    "`{name}` is approximate, as marked in dataset.toml: its last digits were lost at the source"
                )
            } else {
                format!(
                    "`{name}` is approximate: its floating-point numbers preserve only the first 15 digits of an amount"
                )
            };
            self.table
                .findings
                .add(Finding::new(Severity::Note, &file, reason).column(name));
        }
        self.table.approximate = approximate.into_iter().map(str::to_owned).collect();
    }
}
