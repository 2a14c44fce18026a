//! Finishes an import after all files are read: adds rows for missing tokens, merges each table with its existing rows, and reports the
//! merge outcome per file.

use polars::prelude::{Column, DataFrame, IntoColumn, NamedFrom, PlSmallStr, Series};

use super::{
    ExistingTable, ImportError, Run, TableReport,
    combine::{EXISTING, IMPORTED, Repeat},
    publish::Finished,
    quality,
    report::few,
    table::{self, Written},
    tokens::coin_word,
};
use frames::decode::guarded;
use load::{
    check::{across_tables, named},
    provenance::{self, Origin},
};
use model::{
    address::Address,
    chain::Chain,
    findings::{Finding, Severity},
    schema::{self, TABLES},
};

impl Run<'_> {
    /// Warns about candles that replaced others, and where those came from.
    fn tell_replaced(&mut self, existing: &ExistingTable, written: &Written) {
        if existing.schema.name != "candles" {
            return;
        }
        let mut all: Vec<_> = written.replaced.iter().collect();
        all.sort_unstable_by_key(|(from, _)| **from);
        let name = |source: u32| {
            self.origins
                .iter()
                .find(|(of, ..)| *of == source)
                .map(|(.., origin)| origin)
        };
        for ((source, before), replaced) in all {
            let theirs = match *before {
                EXISTING => existing
                    .theirs
                    .iter()
                    .map(|found| format!("`{}`", found.name))
                    .collect::<Vec<_>>()
                    .join(", "),
                IMPORTED => provenance::named(&existing.origins, &replaced.tokens),
                other => name(other).map_or_else(String::new, Origin::file_and_format),
            };
            let tokens = few(&replaced.tokens, 3);
            let text = if replaced.rows == 1 {
                format!(
                    "warning: 1 candle replaces an earlier one of {tokens} with different values, from {theirs}"
                )
            } else {
                format!(
                    "warning: {} candles replace earlier ones of {tokens} with different values, from {theirs}",
                    replaced.rows
                )
            };
            if let Some(file) = self
                .report
                .files
                .iter_mut()
                .find(|file| file.source == Some(*source))
            {
                file.says.push(text);
            }
        }
    }

    /// Adds a `tokens` row for each missing token, without which its rows would not be visible.
    pub(super) fn missing_tokens(&mut self) -> Result<(), ImportError> {
        // `--chain` overrides a chain that was only assumed earlier.
        let said = self.options.chain.is_some();
        let is_missing = |token: &Address, chain: &Chain| {
            !self.tokens.has(token) || said && self.tokens.is_bare_elsewhere(token, chain)
        };
        let missing: Vec<(Address, (Option<String>, Chain))> = std::mem::take(&mut self.needed)
            .into_iter()
            .filter(|(token, (_, chain))| is_missing(token, chain))
            .collect();
        if missing.is_empty() {
            return Ok(());
        }
        self.open("tokens")?;
        let schema = &TABLES[0];
        let texts = |name: &'static str, texts: Vec<Option<String>>| {
            Series::new(PlSmallStr::from_static(name), texts).into_column()
        };
        let column = |column: &'static schema::Column| -> Column {
            match column.name {
                "token_address" => texts(
                    column.name,
                    missing
                        .iter()
                        .map(|(token, _)| Some(token.to_string()))
                        .collect(),
                ),
                "symbol" => texts(
                    column.name,
                    missing
                        .iter()
                        .map(|(_, (symbol, _))| symbol.clone())
                        .collect(),
                ),
                "chain" => {
                    let lists: Vec<Series> = missing
                        .iter()
                        .map(|(_, (_, chain))| Series::new(PlSmallStr::EMPTY, [chain.as_str()]))
                        .collect();
                    Series::new("chain".into(), lists).into_column()
                }
                "decimals" => {
                    let of = |(token, _): &(Address, _)| {
                        self.context.decimals.get(token).copied().flatten()
                    };
                    Series::new(
                        "decimals".into(),
                        missing.iter().map(of).collect::<Vec<_>>(),
                    )
                    .into_column()
                }
                _ => frames::canonical::empty(column, missing.len()),
            }
        };
        let frame = guarded("table", || {
            DataFrame::new(missing.len(), schema.columns.iter().map(column).collect())
        })?;
        if let Some(spool) = self.spools.get_mut(&0) {
            spool.add(frame, self.sources, &vec![0; missing.len()])?;
        }
        self.sources += 1;
        let (known, added): (Vec<_>, Vec<_>) = missing
            .iter()
            .partition(|(token, _)| self.tokens.has(token));
        if let [(first, (symbol, chain)), rest @ ..] = &known[..] {
            let more = if rest.is_empty() {
                String::new()
            } else {
                format!(" and {} more", rest.len())
            };
            let name = coin_word(first, symbol.as_deref()).unwrap_or_else(|| first.to_string());
            self.report.notes.push(format!(
                "the chain of {name}{more} is now `{chain}`, from --chain"
            ));
        }
        if added.is_empty() {
            return Ok(());
        }
        let coin = |(token, (symbol, _)): &(Address, (Option<String>, Chain))| {
            coin_word(token, symbol.as_deref())
        };
        let shown: Vec<String> = added
            .iter()
            .take(3)
            .map(|one| coin(one).unwrap_or_else(|| one.0.to_string()))
            .collect();
        let more = if added.len() > 3 {
            format!(" and {} more", added.len() - 3)
        } else {
            String::new()
        };
        let shown = format!("{}{more}", shown.join(", "));
        // No token list has a coin without a contract.
        self.report.notes.push(if added.iter().all(|one| coin(one).is_some()) {
            format!("added to `tokens`, which did not contain them: {shown}")
        } else {
            format!(
                "added to `tokens`, which did not contain them: {shown}; for their names and decimals, import a token list, or a \
                 tokens.csv with the columns token_address, symbol, name, chain, decimals"
            )
        });
        Ok(())
    }

    /// Merges each table with its existing rows; returns those that changed.
    pub(super) fn tables(&mut self) -> Result<Vec<Finished>, ImportError> {
        let mut finished = Vec::new();
        for (place, spool) in std::mem::take(&mut self.spools) {
            let (schema, Some(existing)) = (&TABLES[place], self.existing.remove(&place)) else {
                continue;
            };
            let mut origins = existing.origins.clone();
            let came = |(source, table, _): &&(u32, &'static str, Origin)| {
                *table == schema.name && !self.refused.contains(source)
            };
            origins.extend(
                self.origins
                    .iter()
                    .filter(came)
                    .map(|(.., origin)| origin.clone()),
            );
            let origins = Some(&origins[..]).filter(|_| !self.options.dry_run);
            let mut written =
                table::write(spool, self.folder, &self.context, &self.refused, origins)?;
            self.tell(schema.name, &written);
            if let Some(other) = written.apart.first() {
                let more = written.apart.len() - 1;
                let more = if more > 0 {
                    format!(" (and {more} more)")
                } else {
                    String::new()
                };
                self.report.notes.push(format!(
                    "warning: {}{more}: {}",
                    other.description(),
                    named("one_token").reason()
                ));
            }
            self.tell_replaced(&existing, &written);
            self.refuse_conflicting(schema.name, &written);
            let before = std::mem::take(&mut written.before).end(&existing.shown).1;
            self.observed
                .extend(before.into_iter().map(|statistic| (EXISTING, statistic)));
            let file = written.file.take();
            self.report.tables.push(TableReport {
                table: schema.name,
                file: existing.shown,
                rows: written.rows,
                written: file.is_some(),
            });
            let approximate = if file.is_some() {
                self.newly_approximate(schema.name)
            } else {
                Vec::new()
            };
            finished.extend(file.map(|from| Finished {
                table: schema.name,
                from,
                to: existing.target,
                paths: existing.paths,
                approximate,
            }));
        }
        for file in &mut self.report.files {
            file.kept = file.findings.kept().to_vec();
            file.counts = file.findings.counts().to_vec();
        }
        let tokens = ExistingTable::of(&self.context, &TABLES[0])?;
        if !tokens.is_there()
            && !finished.is_empty()
            && !finished
                .iter()
                .any(|finished| finished.table == TABLES[0].name)
        {
            let from = table::write_empty(self.folder, &TABLES[0])?;
            self.report.notes.push("the dataset has no tokens yet, so its `tokens` table is empty; import a token list".to_owned());
            finished.push(Finished {
                table: TABLES[0].name,
                from,
                to: tokens.target,
                paths: tokens.paths,
                approximate: Vec::new(),
            });
        }
        Ok(finished)
    }

    /// Warns about candles that are missing between two of the imported files.
    pub(super) fn tell_gaps(&mut self) {
        let taken = self
            .observed
            .iter()
            .filter(|(source, _)| !self.refused.contains(source))
            .map(|(_, observed)| observed);
        let gaps = across_tables::gaps(taken, |token| self.tokens.symbol(&Address::parse(token)?));
        self.report.notes.extend(gaps.iter().map(|gap| {
            format!(
                "warning: {} ({}): {}",
                gap.what,
                gap.tokens(),
                named("gap_between_files").sentence
            )
        }));
    }

    /// Columns that this import makes approximate and that `dataset.toml` does not yet mark so.
    fn newly_approximate(&self, table: &'static str) -> Vec<&'static str> {
        let said = |column: &str| {
            self.context
                .manifest
                .tables
                .get(table)
                .and_then(|said| said.columns.get(column))
                .is_some_and(|rule| rule.approximate)
        };
        self.approximate
            .iter()
            .filter(|(of, column)| *of == table && !said(column))
            .map(|(_, column)| *column)
            .collect()
    }

    /// Refuses files with many conflicting rows of one key: candles of one time with different prices come from several series, and which
    /// of two balances of a holder is kept would be arbitrary.
    fn refuse_conflicting(&mut self, table: &str, written: &Written) {
        self.refuse_replacing(table, written);
        if !["candles", "holders", "tokens"].contains(&table) || self.options.broken_too {
            return;
        }
        for file in self
            .report
            .files
            .iter()
            .filter(|file| file.refused.is_none())
        {
            let theirs = |repeat: &&Repeat| Some(repeat.source) == file.source && !repeat.same;
            let conflicts: Vec<&Repeat> = written.repeats.iter().filter(theirs).collect();
            let rows: u64 = file
                .taken
                .iter()
                .filter(|taken| taken.table == table)
                .map(|taken| taken.rows)
                .sum();
            let Some(refusal) = quality::conflicting(table, &conflicts, rows, &file.movements)
            else {
                continue;
            };
            self.refused_late.insert(file.file.clone(), refusal);
        }
    }

    /// Refuses a sheet or member whose candles would take the place of those of another one of the same file.
    fn refuse_replacing(&mut self, table: &str, written: &Written) {
        if table != "candles" || self.options.broken_too {
            return;
        }
        let of = |source: u32| {
            self.report
                .files
                .iter()
                .find(|file| file.source == Some(source))
        };
        for ((source, before), replaced) in &written.replaced {
            let (Some(file), Some(other)) = (of(*source), of(*before)) else {
                continue;
            };
            let rows: u64 = file
                .taken
                .iter()
                .filter(|taken| taken.table == table)
                .map(|taken| taken.rows)
                .sum();
            if file.path == other.path
                && let Some(refusal) = quality::replacing(replaced.rows, rows, &other.file)
            {
                self.refused_late.insert(file.file.clone(), refusal);
            }
        }
    }

    /// Records in each file's report the merge outcome of its rows in the table.
    fn tell(&mut self, table: &'static str, written: &Written) {
        for file in self
            .report
            .files
            .iter_mut()
            .filter(|file| file.refused.is_none())
        {
            let Some(source) = file.source else { continue };
            let Some(taken) = file.taken.iter_mut().find(|taken| taken.table == table) else {
                continue;
            };
            let counts = written.counts.get(&source).copied().unwrap_or_default();
            (taken.new, taken.changed, taken.same) = (counts.new, counts.changed, counts.same);
            let key = schema::table(table).map_or_else(String::new, |schema| schema.key.join(", "));
            let warning = |column: Option<&str>, row: u32, value, reason| Finding {
                severity: Severity::Warning,
                file: file.file.clone(),
                row: Some(row.into()),
                column: column.map(str::to_owned),
                value,
                reason,
            };
            if let Some(repeated) = written.repeated.get(&source) {
                let reason = "a later row is identical; this row is omitted";
                taken.repeated += repeated.count;
                repeated.first.iter().for_each(|row| {
                    file.findings
                        .add(warning(None, *row, None, reason.to_owned()));
                });
                file.findings.count_more(
                    &file.file,
                    None,
                    reason,
                    repeated.count - repeated.first.len() as u64,
                );
            }
            let mut told: Option<(Option<&str>, String)> = None;
            for repeat in written
                .repeats
                .iter()
                .filter(|repeat| repeat.source == source)
            {
                taken.repeated += 1;
                if repeat.differs.is_none() {
                    // Repeats beyond the findings kept are counted only.
                    if let Some((column, reason)) = &told {
                        file.findings.count_more(&file.file, *column, reason, 1);
                        continue;
                    }
                }
                let (column, value) = repeat.differs.clone().unzip();
                let reason = match column {
                    Some(column) => format!(
                        "a later row has the same {key} but a different value in `{column}`; the later row is kept, this one is excluded"
                    ),
                    None => format!(
                        "a later row has the same {key}; the later row is kept, this one is excluded"
                    ),
                };
                file.findings
                    .add(warning(column, repeat.row, value, reason.clone()));
                told = Some((column, reason));
            }
        }
    }
}
