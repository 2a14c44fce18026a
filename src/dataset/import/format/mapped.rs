//! Files whose columns a person names: `--as TABLE --map OURS=THEIRS`. As in `dataset.toml`, and held to the same rules.

use super::{
    super::{
        edits::{Fix, fixed},
        evidence::{number::Style, when::When},
    },
    Asked, Plan, Take,
};
use crate::dataset::{
    import::AmountUnit,
    load::bind::{bind, missing},
    manifest::{Unit, columns::is_amount},
    schema::{Kind, TABLES, TableSchema},
};

pub(in crate::dataset::import) fn open(asked: &Asked<'_>, table: &str) -> Result<Plan, String> {
    let sheet = asked.sheet()?;
    let schema: &'static TableSchema =
        TABLES.iter().find(|schema| schema.name == table).ok_or_else(|| format!("goes into no table `{table}`"))?;
    let mut fixes = Vec::new();
    let mut columns = Vec::new();
    for (ours, theirs) in &asked.options.map {
        let column = schema
            .column(ours)
            .ok_or_else(|| format!("is mapped to `{ours}`, which is no column of {table}: `tokendeck schema` lists them"))?;
        let at = sheet.names.iter().position(|name| name.eq_ignore_ascii_case(theirs)).ok_or_else(|| {
            let known: Vec<String> = sheet.names.iter().take(12).map(|name| format!("`{name}`")).collect();
            format!("has no column `{theirs}` for `{ours}`: it has {}", known.join(", "))
        })?;
        if matches!(column.kind, Kind::Time | Kind::Date)
            && let Ok(Some(when)) = When::of(&sheet.column(at).collect::<Vec<_>>())
        {
            fixes.push(Fix::time(sheet, at, when));
        }
        if matches!(column.kind, Kind::Float | Kind::Integer | Kind::Uint256)
            && let Some(style) = Style::of(sheet.column(at), sheet.semicolons)
        {
            fixes.extend(Fix::number(sheet, at, style));
        }
        columns.push((column.name, sheet.names[at].clone()));
    }
    let mut take = Take::into(schema.name, fixed(sheet.rows(asked.looked)?, fixes));
    for (ours, theirs) in &columns {
        take = take.columns(&[(ours, theirs)]);
    }
    for (ours, value) in &asked.options.set {
        let column = schema
            .column(ours)
            .ok_or_else(|| format!("is given `{ours}`, which is no column of {table}: `tokendeck schema` lists them"))?;
        take = take.set(column.name, value);
    }
    let mut plan = Plan::of(Vec::new());
    let said = |name: &str| columns.iter().any(|(ours, _)| *ours == name) || asked.options.set.iter().any(|(ours, _)| ours == name);
    if schema.column("token_address").is_some() && !said("token_address") && table != "tokens" {
        let token = asked.token(None)?;
        take = take.of(&token);
        plan = plan.about(token);
    }
    if let (Some(chain), Some(column), false) = (&asked.options.chain, schema.column("chain"), said("chain")) {
        take = take.set(column.name, chain);
    }
    for (ours, _) in &columns {
        let unit = match asked.options.unit {
            Some(AmountUnit::Raw) => Unit::Raw,
            Some(AmountUnit::Whole) => Unit::Whole,
            None => continue,
        };
        if is_amount(schema.name, ours) || (schema.name, *ours) == ("transfers", "value") {
            take.rule(ours).unit = Some(unit);
        }
    }
    let bound = bind(schema, &take.manifest, &sheet.names)?;
    if let Some(reason) = missing(schema, &bound, &sheet.names) {
        return Err(format!("{reason}; here as --map OURS=THEIRS or --set OURS=VALUE"));
    }
    plan.takes.push(take);
    Ok(plan)
}
