//! Files whose columns a person names: `--as TABLE --map OURS=THEIRS`. As in `dataset.toml`, and held to the same rules.

use super::{
    super::{
        edits::{Fix, fixed},
        evidence::number::Style,
        listed,
        refusal::{COLUMN, Refusal},
    },
    Asked, Plan, Take,
};
use crate::dataset::{
    import::AmountUnit,
    load::bind::{bind, lacking},
    manifest::{Unit, columns::is_amount},
    schema::{Kind, TABLES, TableSchema},
};

pub(in crate::dataset::import) fn open(asked: &Asked<'_>, table: &str) -> Result<Plan, Refusal> {
    let sheet = asked.sheet()?;
    let schema: &'static TableSchema =
        TABLES.iter().find(|schema| schema.name == table).ok_or_else(|| format!("goes into no table `{table}`"))?;
    let mut fixes = Vec::new();
    let mut columns = Vec::new();
    for (ours, theirs) in &asked.options.map {
        let column = schema
            .column(ours)
            .ok_or_else(|| format!("is mapped to `{ours}`, which is no column of {table}: `tokendeck schema` lists them"))?;
        let at = sheet
            .names
            .iter()
            .position(|name| name.eq_ignore_ascii_case(theirs))
            .ok_or_else(|| format!("has no column `{theirs}` for `{ours}`: it has {}", listed(&sheet.names)))?;
        if matches!(column.kind, Kind::Time | Kind::Date)
            && let Ok(Some(when)) = sheet.when(&sheet.column(at).collect::<Vec<_>>())
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
    if let Some(lacking) = lacking(schema, &bound) {
        let (name, meaning) = (lacking.column.name, lacking.column.meaning);
        return Err(Refusal::new(format!(
            "lacks the column `{name}` of {table} ({meaning}); it has {}: say which it is with --map {name}=COLUMN, or --set {name}=VALUE if it is the same in every \
             row",
            listed(&sheet.names)
        ))
        .say("map", format!("{name}={COLUMN}")));
    }
    plan.takes.push(take);
    Ok(plan)
}
