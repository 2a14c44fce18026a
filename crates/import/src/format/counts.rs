//! Daily holder counts of a token, as explorers chart them.

use super::{
    super::{
        edits::{Fix, fixed},
        evidence::{CellKind, addresses, when::TimeStyle},
        names::{Names, TOKEN},
        notation,
        refusal::DATES,
        sheet::Sheet,
        sniff::Sniffed,
    },
    FileToImport, ImportPlan, Refusal, Take,
};

const HOLDERS: &str =
    "holders holdercount holderscount holdersnumber numholders numberofholders totalholders addresscount uniqueholders tokenholders";
/// Day columns. A Unix timestamp is unambiguous, so it comes before a formatted date.
const DAYS: &str = "unixtimestamp timestamp unix dateutc date day time datetime blocktime evtdate";
/// Wider tables are something else.
const WIDTH_MAX: usize = 8;

fn columns(sheet: &Sheet) -> Option<(usize, usize)> {
    if !sheet.named || sheet.names.len() > WIDTH_MAX {
        return None;
    }
    let names = Names::of(&sheet.names);
    let day = |at: &usize| !matches!(TimeStyle::of(&sheet.column(*at).collect::<Vec<_>>()), Ok(None));
    let day = names.in_order(DAYS).find(day)?;
    let holders = names.find(HOLDERS).filter(|&at| super::super::evidence::kind(sheet.column(at)) == CellKind::Number)?;
    Some((day, holders))
}

pub(super) fn is(sniffed: &Sniffed) -> bool {
    sniffed.sheet.as_ref().and_then(columns).is_some()
}

pub(super) fn open(file: &FileToImport<'_>) -> Result<ImportPlan, Refusal> {
    let sheet = file.sheet()?;
    let (day, holders) = columns(sheet).ok_or("has no numbers of holders")?;
    let unsure = || {
        Refusal::new(format!(
            "is nearest to holder_counts, but `{}` in `{}` could be day/month or month/day: say which it is, as in --dates day or --dates month",
            sheet.column(day).next().unwrap_or_default(),
            sheet.names[day]
        ))
        .say("dates", DATES)
        .lines(format!(
            "[tables.holder_counts] columns = {{ date = {{ from = \"{}\", format = \"%d/%m/%Y\" }}, holders = \"{}\" }}",
            sheet.names[day], sheet.names[holders]
        ))
    };
    let when = sheet.when(&sheet.column(day).collect::<Vec<_>>()).map_err(|_| unsure())?.ok_or("has no days")?;
    let style = notation::style(sheet, &[holders]).ok_or("has numbers with decimal comma and with decimal point")?;
    let mut fixes = vec![Fix::time(sheet, day, when)];
    fixes.extend(Fix::number(sheet, holders, style));
    let take = Take::into("holder_counts", fixed(sheet.rows(file.sniffed)?, fixes))
        .columns(&[("date", &sheet.names[day]), ("holders", &sheet.names[holders])]);
    let names = Names::of(&sheet.names);
    let of_addresses = || names.all("token contract address").into_iter().find(|&at| addresses(sheet.column(at)) > 0.5);
    if let Some(at) = names.find(TOKEN).or_else(of_addresses) {
        return Ok(ImportPlan::of(vec![take.columns(&[("token_address", &sheet.names[at])])]).saying_all(when.says().map(str::to_owned)));
    }
    let token = file.token(None)?;
    Ok(ImportPlan::of(vec![take.of_address(token.address)]).about(token).saying_all(when.says().map(str::to_owned)))
}
