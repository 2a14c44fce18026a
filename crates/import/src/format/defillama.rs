//! DefiLlama's yield pools. Its member names are aliases of our columns.

use super::{
    super::{
        outline::elements,
        sniff::{FileShape, Sniffed},
    },
    FileToImport, ImportPlan, Refusal, Take,
};
use store::source;

const MEMBERS: &[&str] = &["pool", "project", "chain", "symbol", "tvlUsd"];

fn place(sniffed: &Sniffed) -> Option<&'static str> {
    let outline = sniffed.outline()?;
    ["data", ""].into_iter().find(|place| outline.objects(place, MEMBERS))
}

pub(super) fn is(sniffed: &Sniffed) -> bool {
    place(sniffed).is_some()
}

pub(super) fn open(file: &FileToImport<'_>) -> Result<ImportPlan, Refusal> {
    let (FileShape::Json { text, .. }, Some(place)) = (&file.sniffed.shape, place(file.sniffed)) else { return Err("is not JSON".into()) };
    let pools = elements(text, place)?.into_iter().map(ToOwned::to_owned).collect();
    let rows = source::json_objects(pools, file.sniffed.bytes, std::sync::Arc::new(|_: &str| true));
    Ok(ImportPlan::of(vec![Take::into("yields", rows)]))
}
