//! DefiLlama's yield pools. Its member names are aliases of our columns.

use super::{
    super::{
        outline::elements,
        sniff::{FileShape, Sniffed},
    },
    FileToImport, ImportPlan, Refusal, Take,
};
use crate::dataset::source;

const MEMBERS: &[&str] = &["pool", "project", "chain", "symbol", "tvlUsd"];

fn place(looked: &Sniffed) -> Option<&'static str> {
    let outline = looked.outline()?;
    ["data", ""].into_iter().find(|place| outline.objects(place, MEMBERS))
}

pub(super) fn is(looked: &Sniffed) -> bool {
    place(looked).is_some()
}

pub(super) fn open(asked: &FileToImport<'_>) -> Result<ImportPlan, Refusal> {
    let (FileShape::Json { text, .. }, Some(place)) = (&asked.looked.shape, place(asked.looked)) else { return Err("is not JSON".into()) };
    let pools = elements(text, place)?.into_iter().map(ToOwned::to_owned).collect();
    let rows = source::json_objects(pools, asked.looked.bytes, std::sync::Arc::new(|_: &str| true));
    Ok(ImportPlan::of(vec![Take::into("yields", rows)]))
}
