//! Address labels. The label column must be certain: a name is no label, and among several candidate columns the user picks.

use super::{
    super::{
        evidence::{CellKind, addresses, kind},
        names::{CHAIN, Names},
        refusal::{COLUMN, LABEL},
        sheet::{RawTable, json::KEY},
        sniff::Sniffed,
    },
    FileToImport, ImportPlan, ImportedTable, NO_COLUMN, Refusal,
};

const ADDRESSES: &str =
    "address addr wallet walletaddress account contractaddress contract 地址 accountaddress";
/// Names of columns that may be lists of addresses, of one chain where other lists are next to them.
const LISTS: &str = "addresses eth ethereum";
/// Names of columns that are the label for certain.
const LABELS: &str = "label labels labelname";
/// Names of columns that may be the label.
const KINDS: &str = "category labeltype labelsubtype type family class tag tags entitytype subcategory etherscantag etherscanlabels contracttag";
const NAMES: &str =
    "nametag name addressname entity publicnametag entityname projectname owner tag";
/// Wider tables hold figures about addresses.
const WIDTH_MAX: usize = 14;

fn address(sheet: &RawTable, names: &Names) -> Option<usize> {
    let all = names
        .all(ADDRESSES)
        .into_iter()
        .chain(sheet.names.iter().position(|name| name == KEY));
    all.into_iter()
        .find(|&at| addresses(sheet.column(at)) > 0.9)
        .or_else(|| {
            names
                .all(LISTS)
                .into_iter()
                .find(|&at| are_lists(sheet, at))
        })
}

/// Whether the cells of the column are lists of addresses in JSON.
fn are_lists(sheet: &RawTable, at: usize) -> bool {
    let filled = || sheet.column(at).filter(|cell| !cell.is_empty());
    let members = filled()
        .flat_map(|cell| cell.split(|c: char| !c.is_ascii_alphanumeric()))
        .filter(|member| !member.is_empty());
    filled().all(|cell| cell.starts_with('[')) && addresses(members) > 0.9
}

/// The candidate label columns, certain ones and possible ones.
fn candidates(sheet: &RawTable, names: &Names) -> (Vec<usize>, Vec<usize>) {
    let texts = |at: &usize| kind(sheet.column(*at)) == CellKind::Text;
    (
        names.all(LABELS).into_iter().filter(texts).collect(),
        names.all(KINDS).into_iter().filter(texts).collect(),
    )
}

pub(super) fn is(sniffed: &Sniffed) -> bool {
    let Some(sheet) = sniffed
        .sheet
        .as_ref()
        .filter(|sheet| sheet.named && sheet.names.len() <= WIDTH_MAX)
    else {
        return false;
    };
    let names = Names::of(&sheet.names);
    if names.has("transactionhash txhash hash bytecode open symbol decimals") {
        return false;
    }
    let (sure, likely) = candidates(sheet, &names);
    let tagged = names.has("nametag addressname entity publicnametag");
    address(sheet, &names).is_some() && (!sure.is_empty() || !likely.is_empty() || tagged)
}

pub(super) fn open(file: &FileToImport<'_>) -> Result<ImportPlan, Refusal> {
    let sheet = file.sheet()?;
    let names = Names::of(&sheet.names);
    let at = address(sheet, &names).ok_or("has no addresses")?;
    let (sure, likely) = candidates(sheet, &names);
    let said = file.mapped("label");
    let name = file.mapped("name").or_else(|| {
        names
            .find(NAMES)
            .filter(|name| Some(*name) != said && !sure.contains(name))
    });
    let mut take = ImportedTable::into("labels", sheet.rows(file.sniffed)?)
        .columns(&[("address", &sheet.names[at])]);
    take.rule("address").explode = are_lists(sheet, at);
    take = take.columns(&[(
        "name",
        name.map_or(NO_COLUMN, |name| sheet.names[name].as_str()),
    )]);
    let chain = names.find(CHAIN).filter(|chain| *chain != at);
    let mut plan = ImportPlan::default();
    if chain.is_none() {
        take = match &file.options.chain {
            Some(chain) => take.set("chain", chain),
            None => take.columns(&[("chain", NO_COLUMN)]),
        };
    } else if let Some(chain) = chain {
        take = take.columns(&[("chain", &sheet.names[chain])]);
    }
    let column = said.or_else(|| sure.first().copied().filter(|_| sure.len() == 1));
    match (file.options.label.as_deref(), column) {
        (Some(label), _) => {
            plan = plan.saying(format!("label `{label}`, from --label"));
            take = take.set("label", label);
        }
        (None, Some(column)) => {
            plan = plan.saying(format!("label from `{}`", sheet.names[column]));
            take = take.columns(&[("label", &sheet.names[column])]);
            let lists = sheet
                .column(column)
                .find(|cell| !cell.is_empty())
                .is_some_and(|cell| cell.starts_with('['));
            take.rule("label").explode = lists;
        }
        (None, None) => return Err(ask_for_label(file, sheet, at, name, &likely)),
    }
    plan.takes.push(take);
    Ok(plan)
}

/// The refusal of a file whose label column is uncertain.
fn ask_for_label(
    file: &FileToImport<'_>,
    sheet: &RawTable,
    at: usize,
    name: Option<usize>,
    likely: &[usize],
) -> Refusal {
    let address = &sheet.names[at];
    let names = name.map_or_else(String::new, |name| {
        format!(", name = \"{}\"", sheet.names[name])
    });
    if likely.is_empty() {
        let stem = file
            .sniffed
            .name
            .rsplit('/')
            .next()
            .and_then(|name| name.split('.').next())
            .unwrap_or_default();
        let word = stem
            .rsplit('_')
            .next()
            .unwrap_or(stem)
            .trim()
            .to_lowercase();
        // The file's name is the label if half of the names in it contain it.
        let told = |cell: &str| cell.to_lowercase().contains(&word);
        let sure = !word.is_empty()
            && name.is_some_and(|name| {
                sheet.column(name).filter(|cell| told(cell)).count() * 2 >= sheet.first.len()
            });
        let (label, quoted) = if sure {
            (word.as_str(), format!("\"{word}\""))
        } else {
            (LABEL, LABEL.to_owned())
        };
        let such = if sure { word.as_str() } else { "kraken" };
        return Refusal::new(format!(
            "looks like labels, but has addresses and no label column; pass their label, as in --label {such}, or --label exchange \
             if they should count as addresses of an exchange"
        ))
        .say("label", label)
        .lines(format!("[tables.labels] columns = {{ address = \"{address}\"{names} }}, set = {{ label = {quoted} }}"));
    }
    let shown: Vec<String> = likely
        .iter()
        .map(|&at| {
            format!(
                "`{}` (such as `{}`)",
                sheet.names[at],
                sheet
                    .column(at)
                    .find(|cell| !cell.is_empty())
                    .unwrap_or_default()
            )
        })
        .collect();
    let first = &sheet.names[likely[0]];
    let refusal = Refusal::new(format!(
        "looks like labels, but it is unclear which column is the label: {}; map it, as in --map label={first}",
        shown.join(" or ")
    ));
    let (column, quoted) = if likely.len() == 1 {
        (first.as_str(), format!("\"{first}\""))
    } else {
        (COLUMN, COLUMN.to_owned())
    };
    refusal.say("map", format!("label={column}")).lines(format!(
        "[tables.labels] columns = {{ address = \"{address}\", label = {quoted}{names} }}"
    ))
}
