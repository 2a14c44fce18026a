//! Files mapped by the user: `--as TABLE --map TARGET=COLUMN`. Mappings work as in `dataset.toml`, and are validated like detected ones.

use sha3::{Digest, Keccak256};

use super::{
    super::{
        candles,
        edits::{Fix, fixed},
        evidence::{CellKind, kind},
        notation,
        refusal::{COLUMN, DECIMALS, Refusal, WRITE_TOKENS},
        report::listed,
        sheet::RawTable,
    },
    FileToImport, ImportPlan, ImportedTable, holders, transfers, unknown, yields,
};
use crate::{
    AmountUnit,
    names::plain,
    rows::{self, Edited},
};
use load::{
    formats::RowSource,
    loader::bind::{bind, lacking},
    manifest::{Unit, columns::is_amount},
};
use model::{
    chain::Chain,
    schema::{Column, Kind, TABLES, TableSchema},
};

/// A schema column, and the index of the file's column that is read into it.
pub(super) type Mapped = (&'static Column, usize);

pub(crate) fn open(file: &FileToImport<'_>, table: &str) -> Result<ImportPlan, Refusal> {
    let sheet = file.sheet()?;
    let schema: &'static TableSchema = TABLES
        .iter()
        .find(|schema| schema.name == table)
        .ok_or_else(|| format!("cannot be imported: no table is named `{table}`"))?;
    let columns = mapped(file, sheet, schema)?;
    if let Some((ours, _)) = file
        .options
        .set
        .iter()
        .find(|(ours, _)| schema.column(ours).is_none())
    {
        return Err(format!("cannot be imported with --set {ours}, as {table} has no such column; `tokendeck schema` lists them").into());
    }
    if schema.name == "candles" {
        // Candle prices and volumes are checked against the rows, whoever names them.
        return match candles::open(file) {
            Ok(plan) => plan.with_options(file),
            Err(refusal) => {
                Err(missing_of_candles(file, sheet, schema, &columns).unwrap_or(refusal))
            }
        };
    }
    let mut take = ImportedTable::into(
        schema.name,
        fixed(sheet.rows(file.sniffed)?, fixes(sheet, &columns)),
    );
    let mut plan = ImportPlan::default();
    for (ours, at) in &columns {
        take = take.columns(&[(ours.name, &sheet.names[*at])]);
    }
    for (ours, value) in file
        .options
        .set
        .iter()
        .filter_map(|(ours, value)| Some((schema.column(ours)?, value)))
    {
        take = take.set(ours.name, value);
    }
    let mut unit = file.options.unit;
    let said =
        |name: &str| columns.iter().any(|(ours, _)| ours.name == name) || file.set(name).is_some();
    if let (Some(label), "labels", false) = (&file.options.label, table, said("label")) {
        take = take.set("label", label);
    }
    if schema.column("token_address").is_some() && !said("token_address") && table != "tokens" {
        let is_account =
            |column: &Column| column.kind == Kind::Address && column.name != "token_address";
        let accounts: Vec<usize> = columns
            .iter()
            .filter(|(ours, _)| is_account(ours))
            .map(|(_, at)| *at)
            .collect();
        let token = file.token(&accounts)?;
        take = take.of(&token);
        plan = plan.about(token);
    }
    if let (Some(chain), Some(column), false) =
        (&file.options.chain, schema.column("chain"), said("chain"))
    {
        take = take.set(column.name, chain);
    }
    if let Some((_, balance)) = columns
        .iter()
        .find(|(ours, _)| schema.name == "holders" && ours.name == "balance")
    {
        holders::plausible(file, sheet, *balance)?;
        if file.options.unit.is_none() && holders::is_named_raw(sheet, *balance) {
            unit = Some(AmountUnit::Raw);
            plan = plan.saying(holders::IN_BASE_UNITS);
        }
    }
    in_unit(file, unit, schema, &columns, &mut take, &plan)?;
    let value = columns
        .iter()
        .find(|(ours, _)| schema.name == "transfers" && ours.name == "value")
        .map(|(_, at)| &sheet.names[*at]);
    if let Some(value) = value {
        take = transfers::with_amounts(take, value, None);
    }
    if schema.name == "yields" {
        let (newest, assumed) = yields::newest(
            file,
            sheet,
            schema,
            without_what_may_lack(take, sheet, schema)?,
        )?;
        (take, plan) = (newest, plan.noting(assumed));
        plan = yields::in_percent(file, sheet, &mut take, plan, false)?
            .noting(yields::category_assumed(&take, sheet, schema)?);
    }
    plan = in_fraction(file, sheet, schema, &mut take, plan)?;
    if schema.name == "posts"
        && !said("post_id")
        && !take.served(sheet, schema)?.contains(&"post_id")
    {
        let named = |name: &str| {
            columns
                .iter()
                .find(|(ours, _)| ours.name == name)
                .map(|(_, at)| sheet.names[*at].clone())
        };
        let others = ["published_at", "author", "title", "token_address"]
            .iter()
            .filter_map(|name| named(name))
            .collect();
        take.rows = posts_with_ids(take.rows, named("link"), others);
        take = take.columns(&[("post_id", MADE)]);
        plan = plan.saying("its posts have no id, so one is created from the link or, if there is no link, from the time, author and text");
    }
    if let Some(refusal) = missing_columns(&take, sheet, schema)? {
        return Err(refusal);
    }
    plan.takes.push(take);
    Ok(plan)
}

/// The mapped columns; refuses those whose cells do not fit.
fn mapped(
    file: &FileToImport<'_>,
    sheet: &RawTable,
    schema: &'static TableSchema,
) -> Result<Vec<Mapped>, Refusal> {
    let mut columns = Vec::new();
    for (ours, theirs) in &file.options.map {
        let column = schema.column(ours).ok_or_else(|| {
            format!("cannot be imported with --map {ours}, as {} has no such column; `tokendeck schema` lists them", schema.name)
        })?;
        let at = sheet
            .names
            .iter()
            .position(|name| name.eq_ignore_ascii_case(theirs))
            .ok_or_else(|| {
                format!(
                    "has no column `{theirs}` for `{ours}`; its columns are {}",
                    listed(&sheet.names)
                )
            })?;
        let numbers = sheet
            .different(at)
            .iter()
            .all(|cell| cell.trim().parse::<f64>().is_ok());
        if matches!(column.kind, Kind::Chain | Kind::Chains)
            && numbers
            && !unknown::chains(sheet, at)
        {
            let odd = sheet
                .different(at)
                .into_iter()
                .find(|cell| Chain::known(cell).is_none());
            let odd = odd.or_else(|| sheet.column(at).next()).unwrap_or_default();
            return Err(Refusal::new(format!(
                "has `{odd}` in `{theirs}`, which is not a chain id or cannot be distinguished from a count; map another column to \
                    `{ours}`, or pass --set {ours}=CHAIN if all rows are on one chain"
            ))
            .say("map", format!("{ours}={COLUMN}")));
        }
        columns.push((column, at));
    }
    Ok(columns)
}

/// Rewrites for the file's notation of times and numbers.
pub(super) fn fixes(sheet: &RawTable, columns: &[Mapped]) -> Vec<Fix> {
    let mut fixes = Vec::new();
    for &(column, at) in columns {
        if matches!(column.kind, Kind::Time | Kind::Date)
            && let Ok(Some(when)) = sheet.when(&sheet.column(at).collect::<Vec<_>>())
        {
            fixes.push(Fix::time(sheet, at, when));
        }
        if matches!(column.kind, Kind::Float | Kind::Integer | Kind::Uint256)
            && let Some(style) = notation::style(sheet, &[at])
        {
            fixes.extend(Fix::number(sheet, at, style));
        }
    }
    fixes
}

/// Applies the unit to amounts.
fn in_unit(
    file: &FileToImport<'_>,
    unit: Option<AmountUnit>,
    schema: &TableSchema,
    columns: &[Mapped],
    take: &mut ImportedTable,
    plan: &ImportPlan,
) -> Result<(), Refusal> {
    let unit = match unit {
        Some(AmountUnit::Raw) => Unit::Raw,
        Some(AmountUnit::Whole) => Unit::Whole,
        Some(AmountUnit::Percent | AmountUnit::Fraction | AmountUnit::Millionths) | None => {
            return Ok(());
        }
    };
    let is_amount = |ours: &Column| {
        is_amount(schema.name, ours.name) || (schema.name, ours.name) == ("transfers", "value")
    };
    for (ours, _) in columns.iter().filter(|(ours, _)| is_amount(ours)) {
        take.rule(ours.name).unit = Some(unit);
        // Base units to whole tokens, or vice versa, must be converted.
        let converted = (unit == Unit::Raw) != (ours.kind == Kind::Uint256);
        if converted
            && plan
                .token
                .as_ref()
                .is_some_and(|token| file.decimals_of(&token.address).is_none())
        {
            let reason = format!(
                "has amounts to convert, but the decimals of its token are unknown; pass them, as in --decimals 18, or \
                 {WRITE_TOKENS}"
            );
            return Err(Refusal::new(reason).say("decimals", DECIMALS));
        }
    }
    Ok(())
}

/// Leaves the optional columns of yields empty, if the file has one yield at least.
fn without_what_may_lack(
    take: ImportedTable,
    sheet: &RawTable,
    schema: &'static TableSchema,
) -> Result<ImportedTable, Refusal> {
    let served = take.served(sheet, schema)?;
    if !["apy", "apy_base"].iter().any(|name| served.contains(name)) {
        return Ok(take);
    }
    Ok(yields::MAY_LACK
        .iter()
        .filter(|name| !served.contains(*name))
        .fold(take, |take, name| take.without(name)))
}

/// The missing candle columns, if time and the four prices are not all mapped.
fn missing_of_candles(
    file: &FileToImport<'_>,
    sheet: &RawTable,
    schema: &'static TableSchema,
    columns: &[Mapped],
) -> Option<Refusal> {
    let mut take =
        ImportedTable::into(schema.name, sheet.rows(file.sniffed).ok()?).without("token_address");
    for (ours, at) in columns {
        take = take.columns(&[(ours.name, &sheet.names[*at])]);
    }
    missing_columns(&take, sheet, schema).ok().flatten()
}

/// Number of numeric columns that are not mapped.
fn free_numbers(take: &ImportedTable, sheet: &RawTable) -> usize {
    let used = |name: &String| {
        take.manifest
            .columns
            .values()
            .any(|rule| rule.from.as_ref() == Some(name))
    };
    let is_number = |at: usize| kind(sheet.column(at).take(200)) == CellKind::Number;
    (0..sheet.names.len())
        .filter(|&at| !used(&sheet.names[at]) && is_number(at))
        .count()
}

/// The refusal that lists all missing required columns.
fn missing_columns(
    take: &ImportedTable,
    sheet: &RawTable,
    schema: &'static TableSchema,
) -> Result<Option<Refusal>, Refusal> {
    let names: Vec<String> = take.rows.columns().to_vec();
    let bound = bind(schema, &take.manifest, &names)?;
    let lacking: Vec<&'static Column> = lacking(schema, &bound).map(|bound| bound.column).collect();
    let [first, ..] = &lacking[..] else {
        return Ok(None);
    };
    let shown: Vec<String> = lacking
        .iter()
        .map(|column| format!("`{}` ({})", column.name, column.meaning))
        .collect();
    let columns = if lacking.len() == 1 {
        "the column"
    } else {
        "the columns"
    };
    let name = first.name;
    let prices = lacking
        .iter()
        .filter(|column| candles::PRICES.contains(&column.name))
        .count();
    let others = free_numbers(take, sheet);
    if schema.name == "candles" && prices > others {
        // No line of `dataset.toml`: it would make one price all four of a candle.
        return Ok(Some(Refusal::new(format!(
            "lacks {columns} {} of candles, and the number of other numeric columns is only {others}; a candle has four prices (open, \
                high, low, close), so get candles from the source",
            shown.join(", ")
        ))));
    }
    Ok(Some(
        Refusal::new(format!(
            "lacks {columns} {} of {}; its columns are {}. Pass --map {name}=COLUMN, or --set {name}=VALUE if it is the same in \
             every row",
            shown.join(", "),
            schema.name,
            listed(&sheet.names)
        ))
        .saying(lacking.iter().map(|column| ("map", format!("{}={COLUMN}", column.name)))),
    ))
}

// Posts without an id: derives one from their content, so that importing a file twice yields the same posts.

/// The derived column.
pub(super) const MADE: &str = "made id";

/// Adds an id to each row: derived from its link, else from the other columns that identify it.
pub(super) fn posts_with_ids(
    rows: Box<dyn RowSource>,
    link: Option<String>,
    others: Vec<String>,
) -> Box<dyn RowSource> {
    Edited::over(rows, [MADE], move |batch| {
        let links = link.as_ref().map(|name| rows::cells(batch, name));
        let others: Vec<Vec<Option<String>>> =
            others.iter().map(|name| rows::cells(batch, name)).collect();
        let id = |row: usize| {
            let text =
                |cell: &Option<String>| cell.as_deref().unwrap_or_default().trim().to_owned();
            let link = links
                .as_ref()
                .map(|links| text(&links[row]))
                .filter(|link| !link.is_empty());
            let told = link.map_or_else(
                || others.iter().map(|cells| text(&cells[row])).collect(),
                |link| vec![link],
            );
            // A post without any of them has no id and is rejected.
            if told.iter().all(String::is_empty) {
                return None;
            }
            let hash = Keccak256::digest(told.join("\u{1f}").as_bytes());
            hash.first_chunk()
                .map(|first| format!("{:016x}", u64::from_be_bytes(*first)))
        };
        let ids: Vec<Option<String>> = (0..batch.height).map(id).collect();
        rows::put(batch, MADE, ids);
    })
}

// Fees of pools and of fee tiers: fractions of the amount, whatever unit the file has.

/// Usual fees of exchanges, in millionths.
const USUAL: &[f64] = &[
    100.0, 200.0, 300.0, 400.0, 500.0, 1_000.0, 2_500.0, 3_000.0, 5_000.0, 10_000.0,
];
/// A larger one is no fraction, and 100 may be hundredths of a percent.
const NO_FRACTION: f64 = 0.1;
const MILLIONTHS_MIN: f64 = 100.0;

/// Reads the fees in the unit of the option, or in the one that the column's name or all of its cells show.
pub(super) fn in_fraction(
    file: &FileToImport<'_>,
    sheet: &RawTable,
    schema: &'static TableSchema,
    take: &mut ImportedTable,
    plan: ImportPlan,
) -> Result<ImportPlan, Refusal> {
    let bound = bind(schema, &take.manifest, &sheet.names)?;
    let fee = bound
        .iter()
        .find(|bound| bound.column.name == "fee")
        .and_then(|bound| bound.raw.as_ref());
    let Some(at) = sheet.names.iter().position(|name| Some(name) == fee) else {
        return Ok(plan);
    };
    let (scale, unit) = match file.options.unit.or_else(|| fee_unit(sheet, at)) {
        Some(AmountUnit::Percent) => (0.01, "percent"),
        Some(AmountUnit::Millionths) => (1e-6, "millionths"),
        Some(AmountUnit::Raw | AmountUnit::Whole | AmountUnit::Fraction) | None => return Ok(plan),
    };
    take.rule("fee").scale = Some(scale);
    Ok(plan.saying(format!(
        "its `{}` is in {unit}, so it is multiplied by {scale}",
        sheet.names[at]
    )))
}

fn fee_unit(sheet: &RawTable, at: usize) -> Option<AmountUnit> {
    if plain(&sheet.names[at]).ends_with("ppm") {
        return Some(AmountUnit::Millionths);
    }
    let fees: Vec<f64> = sheet
        .column(at)
        .filter(|cell| !cell.trim().is_empty())
        .map(|cell| cell.trim().parse().ok())
        .collect::<Option<_>>()?;
    let all_are = |per_unit: f64| {
        fees.iter().all(|fee| {
            USUAL
                .iter()
                .any(|usual| (fee * per_unit - usual).abs() < 1e-6)
        })
    };
    let largest = fees.iter().copied().fold(0.0, f64::max);
    match () {
        () if largest > MILLIONTHS_MIN && all_are(1.0) => Some(AmountUnit::Millionths),
        () if largest > NO_FRACTION && all_are(1e4) => Some(AmountUnit::Percent),
        () => None,
    }
}
