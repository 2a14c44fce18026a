//! Files of formats whose description says all: the columns are read as by `dataset.toml`, in the file's notation of numbers and times.

use super::{
    super::{
        candles::{
            self,
            grid::{self, CandleTimes},
        },
        edits::{Fix, fixed},
        error::FileError,
        evidence::when::TimeStyle,
        refusal::DATES,
        report::listed,
        rows::{Edited, cells, put},
        sheet::{RawTable, json::Json},
        sniff::FileShape,
        tokens::TokenMatch,
    },
    FileToImport, ImportPlan, ImportedTable, Refusal,
    description::{ChainFrom, FormatRow, TokenFrom},
    found::Found,
    mapped, tokens, yields,
};
use load::{formats::RowSource, loader::bind::bind, manifest::TableManifest};
use model::{
    candles::Interval,
    schema::{self, Kind, Need},
    time::Time,
};

/// Added column that marks the rows that are kept.
const KEPT: &str = "kept";

pub(super) fn open(file: &FileToImport<'_>) -> Result<ImportPlan, Refusal> {
    let format = file.format;
    if let Some(refused) = &format.refused {
        return Err(with_texts(refused, file).into());
    }
    let mut listed = Vec::new();
    for table in format.tables_described() {
        listed.push((table, at_place(file, table)?));
    }
    let mut tables = Vec::new();
    for (table, sheet) in &listed {
        let sheet = sheet.as_ref().map_or_else(|| file.sheet(), Ok)?;
        tables.push(DescribedTable {
            table,
            sheet,
            manifest: format.manifest(table),
            found: format.find(table, sheet),
        });
    }
    let mut plan = ImportPlan::default();
    let token = if tables.iter().all(DescribedTable::names_tokens) {
        None
    } else {
        token(file, &mut plan)?
    };
    let reasons: Vec<String> = tables.iter().filter_map(DescribedTable::lacking).collect();
    for of_table in tables {
        let names_tokens = of_table.names_tokens();
        let Some(take) = take(file, of_table, &mut plan)? else {
            continue;
        };
        plan.takes.push(match &token {
            Some(token) if !names_tokens => take.of(token),
            _ => take,
        });
    }
    if plan.takes.is_empty() {
        let lacking = || format!("looks like `{}`, but {}", format.title, reasons.join("; "));
        return Err(if format.otherwise.is_empty() {
            lacking()
        } else {
            format.otherwise.clone()
        }
        .into());
    }
    plan.says.extend(format.says.iter().cloned());
    match (format.chain, &file.options.chain) {
        (Some(ChainFrom::Assumed), _) => {
            plan.says.push(format!(
                "chain {}, as the file names none; to change it, pass --chain",
                file.chain()
            ));
        }
        (Some(ChainFrom::Asked), Some(chain)) => {
            plan.says.push(format!("chain {chain}, from --chain"));
        }
        _ => {}
    }
    Ok(match token {
        Some(token) => plan.about(token),
        None => plan,
    })
}

/// A table of a described file.
struct DescribedTable<'a> {
    table: &'static str,
    sheet: &'a RawTable,
    manifest: TableManifest,
    /// Its columns that were found by name.
    found: Option<Found>,
}

impl DescribedTable<'_> {
    /// Whether a column has the token of each row, or the table is not of tokens.
    fn names_tokens(&self) -> bool {
        let found = self
            .found
            .as_ref()
            .is_some_and(|found| found.at("token_address").is_some());
        let is_of_tokens = schema::table(self.table)
            .is_some_and(|schema| schema.column("token_address").is_some());
        found || self.manifest.columns.contains_key("token_address") || !is_of_tokens
    }

    /// The columns that the description names and the file lacks.
    fn lacking(&self) -> Option<String> {
        let has = |from: &String| {
            self.sheet
                .names
                .iter()
                .any(|name| name.eq_ignore_ascii_case(from))
        };
        let columns = schema::table(self.table)
            .map_or(&[][..], |schema| schema.columns)
            .iter()
            .filter(|column| column.need != Need::Optional);
        let named =
            columns.filter_map(|column| self.manifest.columns.get(column.name)?.from.clone());
        let missing: Vec<String> = named.filter(|from| !has(from)).collect();
        (!missing.is_empty()).then(|| {
            format!(
                "has no column {} for {}; its columns are {}",
                listed(&missing),
                self.table,
                listed(&self.sheet.names)
            )
        })
    }
}

/// The rows at the place of JSON that the description names.
fn at_place(file: &FileToImport<'_>, table: &str) -> Result<Option<RawTable>, FileError> {
    let FileShape::Json { text, .. } = &file.sniffed.shape else {
        return Ok(None);
    };
    let Some(place) = file.format.place(table, file.sniffed) else {
        return Ok(None);
    };
    Ok(Some(RawTable::json(Json::at(text, place)?)))
}

/// The text with `{PATH}` replaced by the text at that path of the file.
fn with_texts(text: &str, file: &FileToImport<'_>) -> String {
    let Some((before, (place, after))) = text
        .split_once('{')
        .and_then(|(before, rest)| Some((before, rest.split_once('}')?)))
    else {
        return text.to_owned();
    };
    let said = file
        .sniffed
        .outline()
        .and_then(|outline| outline.text(place))
        .unwrap_or_default();
    format!(
        "{before}{}{after}",
        said.chars().take(120).collect::<String>()
    )
}

/// The one token of the file; refuses prices in another currency than USD.
fn token(file: &FileToImport<'_>, plan: &mut ImportPlan) -> Result<Option<TokenMatch>, Refusal> {
    if let Some(stated) = file.stated_token()? {
        return Ok(Some(stated));
    }
    match file.format.token {
        None => Ok(None),
        Some(TokenFrom::Named) => file.token(&[]).map(Some),
        Some(TokenFrom::Priced) => {
            let named: Vec<_> = file
                .sniffed
                .sheet
                .as_ref()
                .and_then(candles::currency::beside)
                .into_iter()
                .collect();
            candles::currency::in_dollars(file, &named)?;
            let token = file.traded(None)?;
            plan.notes.extend(
                (named.is_empty() && !token.quoted && !file.options.as_usd)
                    .then(|| candles::IN_DOLLARS.to_owned()),
            );
            Ok(Some(token))
        }
    }
}

/// The rows for one table; `None` if the file lacks a column of its mapping.
fn take(
    file: &FileToImport<'_>,
    of: DescribedTable<'_>,
    plan: &mut ImportPlan,
) -> Result<Option<ImportedTable>, Refusal> {
    let DescribedTable {
        table,
        sheet,
        manifest,
        found,
    } = of;
    let (format, Some(schema)) = (file.format, schema::table(table)) else {
        return Ok(None);
    };
    let made = Made::of(format, sheet);
    let has = |from: &String| {
        sheet
            .names
            .iter()
            .chain(&made.names)
            .any(|name| name.eq_ignore_ascii_case(from))
    };
    let mut take = ImportedTable {
        manifest,
        ..ImportedTable::into(table, sheet.rows(file.sniffed)?)
    };
    for column in schema.columns {
        let from = take
            .manifest
            .columns
            .get(column.name)
            .and_then(|rule| rule.from.as_ref());
        if from.is_none_or(has) {
            continue;
        }
        // A member that is null in every row of JSON is no column of it.
        let may_lack = column.need == Need::Optional
            || column.need == Need::Column && matches!(file.sniffed.shape, FileShape::Json { .. });
        if !may_lack {
            return Ok(None);
        }
        take.manifest.columns.remove(column.name);
        take = take.without(column.name);
    }
    let mut fixes = Vec::new();
    if let Some(found) = found {
        fixes = found.fixes(sheet);
        take = found.map(sheet, take);
    }
    // A notation that the description states is read by it.
    let is_said = |column: &str| {
        take.manifest
            .columns
            .get(column)
            .is_some_and(|rule| rule.format.is_some() || rule.decimal.is_some())
    };
    let place = |raw: &Option<String>| {
        sheet
            .names
            .iter()
            .position(|name| Some(name) == raw.as_ref())
    };
    let bound = bind(schema, &take.manifest, &sheet.names)?;
    let columns = bound
        .iter()
        .filter(|bound| !is_said(bound.column.name))
        .filter_map(|bound| Some((bound.column, place(&bound.raw)?)));
    let mut columns: Vec<mapped::Mapped> = columns.collect();
    for when in columns
        .iter()
        .filter_map(|column| time_style(sheet, &take, *column).transpose())
    {
        plan.says.extend(when?.says());
    }
    if table == "yields" {
        *plan = yields::in_percent(file, sheet, &mut take, std::mem::take(plan), true)?;
    }
    let mut marks = false;
    if let Some((at, when, placed)) = candle_times(file, sheet, table, &columns)? {
        // Of the table's columns, the time alone is not read as it stands.
        columns.retain(|(column, _)| column.name != "timestamp");
        fixes.push(Fix::candle_time(sheet, at, when, placed));
        marks = placed.marks(grid::has_more(sheet));
        plan.says
            .extend(placed.ended.map(|_| grid::ENDS.to_owned()));
        plan.notes.extend(placed.assumed());
    }
    fixes.extend(mapped::fixes(sheet, &columns));
    let worked_out = made.sources(format);
    let mut rows = made.over(fixed(take.rows, fixes), format, format.filled.get(table));
    if let Some(column) = &format.latest {
        rows = latest(rows, sheet.rows(file.sniffed)?, column, &mut plan.says)?;
    }
    let left_out = format.left_out.get(table).cloned().unwrap_or_default();
    take = ImportedTable {
        rows,
        worked_out,
        ..take
    };
    left_out.clone_into(&mut take.left_out);
    if format.filled.contains_key(table) || format.latest.is_some() {
        take = take.keep(KEPT, &["yes"], &left_out);
    }
    if marks {
        take = take.keep(grid::WHOLE, &["yes"], grid::PART);
    }
    match (
        format.chain.filter(|_| schema.column("chain").is_some()),
        &file.options.chain,
    ) {
        (None, _) => {}
        (Some(ChainFrom::Asked), None) => {
            let address = take
                .manifest
                .columns
                .get("token_address")
                .and_then(|rule| rule.from.as_deref());
            return Err(tokens::no_chain(sheet, address.unwrap_or("token_address")));
        }
        (Some(_), _) => take = take.set("chain", &file.chain()),
    }
    Ok(Some(take))
}

/// The column of the times of candles, how they are written, and how they become open times.
fn candle_times(
    file: &FileToImport<'_>,
    sheet: &RawTable,
    table: &str,
    columns: &[mapped::Mapped],
) -> Result<Option<(usize, TimeStyle, CandleTimes)>, Refusal> {
    let Some(&(_, at)) = columns
        .iter()
        .find(|(column, _)| table == "candles" && column.name == "timestamp")
    else {
        return Ok(None);
    };
    let Ok(Some(when)) = sheet.when(&sheet.column(at).collect::<Vec<_>>()) else {
        return Ok(None);
    };
    let times: Vec<Option<i64>> = sheet.column(at).map(|cell| when.ms(cell)).collect();
    let placed = CandleTimes::of(
        &times,
        file.format.ends,
        file.set("interval").and_then(Interval::parse),
    );
    if file.format.ends && placed.ended.is_none() {
        return Err(grid::TOO_FEW.into());
    }
    Ok(Some((at, when, placed)))
}

/// How a column's times are written; `None` if it holds none. Refuses dates whose day and month cannot be told apart.
fn time_style(
    sheet: &RawTable,
    take: &ImportedTable,
    (column, at): mapped::Mapped,
) -> Result<Option<TimeStyle>, Refusal> {
    if !matches!(column.kind, Kind::Time | Kind::Date) {
        return Ok(None);
    }
    sheet.when(&sheet.column(at).collect::<Vec<_>>()).map_err(|_| {
        let (table, cell, name) = (take.table, sheet.column(at).next().unwrap_or_default(), &sheet.names[at]);
        let mapped = take.manifest.columns.iter().filter_map(|(ours, rule)| Some((*ours, rule.from.as_ref()?)));
        let others = mapped.filter(|(ours, _)| *ours != column.name).map(|(ours, from)| format!(", {ours} = \"{from}\""));
        Refusal::new(format!(
            "looks like {table}, but `{cell}` in `{name}` could be day/month or month/day; pass --dates day or --dates month"
        ))
        .say("dates", DATES)
        .lines(format!(
            "[tables.{table}] columns = {{ {} = {{ from = \"{name}\", format = \"%d/%m/%Y\" }}{} }}",
            column.name,
            others.collect::<String>()
        ))
    })
}

/// Marks the row with the largest number in `column`, which `again` reads first, and says which time that is.
fn latest(
    rows: Box<dyn RowSource>,
    mut again: Box<dyn RowSource>,
    column: &str,
    says: &mut Vec<String>,
) -> Result<Box<dyn RowSource>, Refusal> {
    let number = |cell: &Option<String>| {
        cell.as_ref()
            .and_then(|cell| cell.trim().parse::<f64>().ok())
            .filter(|number| number.is_finite())
    };
    let mut last = None;
    while let Some(batch) = again.next_batch()? {
        last = cells(&batch, column)
            .iter()
            .filter_map(number)
            .chain(last)
            .reduce(f64::max);
    }
    let time = last.and_then(|last: f64| TimeStyle::Epoch.ms(&last.to_string()));
    says.extend(time.map(|ms| {
        format!(
            "only its row of {} is imported, the latest by `{column}`",
            Time(ms).day()
        )
    }));
    let column = column.to_owned();
    Ok(Edited::over(rows, [KEPT], move |batch| {
        let is_last = |cell| {
            number(&cell)
                .is_some_and(|number| Some(number) == last)
                .then(|| "yes".to_owned())
        };
        let kept: Vec<Option<String>> = cells(batch, &column).into_iter().map(is_last).collect();
        put(batch, KEPT, kept);
    }))
}

/// The columns that are made of others.
struct Made {
    /// Alternative columns that the file has: the first with a value is used.
    first_of: Vec<(String, Vec<String>)>,
    names: Vec<String>,
}

impl Made {
    fn of(format: &FormatRow, sheet: &RawTable) -> Self {
        let there = |names: &Vec<String>| {
            names
                .iter()
                .filter(|name| sheet.names.contains(name))
                .cloned()
                .collect::<Vec<_>>()
        };
        let first_of: Vec<_> = format
            .first_of
            .iter()
            .map(|(name, names)| (name.clone(), there(names)))
            .filter(|(_, names)| !names.is_empty())
            .collect();
        let bracketed = format
            .bracketed
            .iter()
            .flat_map(|_| ["name", "symbol"])
            .map(str::to_owned);
        let names = first_of
            .iter()
            .map(|(name, _)| name.clone())
            .chain(bracketed)
            .collect();
        Self { first_of, names }
    }

    fn sources(&self, format: &FormatRow) -> Vec<String> {
        self.first_of
            .iter()
            .flat_map(|(_, names)| names)
            .chain(&format.bracketed)
            .chain(&format.latest)
            .cloned()
            .collect()
    }

    /// The rows with these columns, and marks on those in which `filled` has a value.
    fn over(
        self,
        rows: Box<dyn RowSource>,
        format: &FormatRow,
        filled: Option<&String>,
    ) -> Box<dyn RowSource> {
        let mut added = self.names;
        added.extend(filled.map(|_| KEPT.to_owned()));
        if added.is_empty() {
            return rows;
        }
        let (bracketed, filled) = (format.bracketed.clone(), filled.cloned());
        Edited::over(rows, added, move |batch| {
            for (name, names) in &self.first_of {
                let mut first = vec![None; batch.height];
                for name in names {
                    first = first
                        .into_iter()
                        .zip(cells(batch, name))
                        .map(|(known, cell): (Option<String>, _)| known.or(cell))
                        .collect();
                }
                put(batch, name, first);
            }
            if let Some(column) = &bracketed {
                let parts = cells(batch, column)
                    .into_iter()
                    .map(|text| text.map_or((None, None), |text| name_and_symbol(&text)));
                let (names, symbols): (Vec<_>, Vec<_>) = parts.unzip();
                put(batch, "name", names);
                put(batch, "symbol", symbols);
            }
            if let Some(column) = &filled {
                let kept: Vec<Option<String>> = cells(batch, column)
                    .into_iter()
                    .map(|cell| cell.map(|_| "yes".to_owned()))
                    .collect();
                put(batch, KEPT, kept);
            }
        })
    }
}

/// Splits `Pepe (PEPE)` into name and symbol; without brackets it is a name.
fn name_and_symbol(text: &str) -> (Option<String>, Option<String>) {
    let text = text.trim();
    let split = text
        .strip_suffix(')')
        .and_then(|rest| rest.rsplit_once('('))
        .filter(|(_, symbol)| !symbol.trim().is_empty());
    match split {
        Some((name, symbol)) => (
            Some(name.trim().to_owned()).filter(|name| !name.is_empty()),
            Some(symbol.trim().to_owned()),
        ),
        None => (Some(text.to_owned()), None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_name_is_split_from_its_symbol() {
        for (text, name, symbol) in [
            ("Pepe (PEPE)", Some("Pepe"), Some("PEPE")),
            ("Baby Doge Coin", Some("Baby Doge Coin"), None),
            ("A (B) (C)", Some("A (B)"), Some("C")),
            ("(X)", None, Some("X")),
            ("漢字 🐶 (犬)", Some("漢字 🐶"), Some("犬")),
            ("Empty ()", Some("Empty ()"), None),
        ] {
            assert_eq!(
                name_and_symbol(text),
                (name.map(str::to_owned), symbol.map(str::to_owned)),
                "{text}"
            );
        }
    }
}
