//! Token lists as Uniswap defined them (tokenlists.org): tokens of several chains, all of them curated.

use super::{
    super::{
        look::{Looked, Shape},
        outline::elements,
    },
    Asked, Plan, Take,
};
use crate::dataset::source;

const MEMBERS: &[&str] = &["chainId", "address", "symbol", "name", "decimals"];

/// Where the list stands; a JavaScript module exports it as `default`.
fn place(looked: &Looked) -> Option<&'static str> {
    let outline = looked.outline()?;
    ["tokens", "default.tokens"].into_iter().find(|place| outline.objects(place, MEMBERS))
}

pub(super) fn is(looked: &Looked) -> bool {
    place(looked).is_some()
}

pub(super) fn open(asked: &Asked<'_>) -> Result<Plan, String> {
    let (Shape::Json { text, .. }, Some(place)) = (&asked.looked.shape, place(asked.looked)) else { return Err("is not JSON".to_owned()) };
    let tokens = elements(text, place)?.into_iter().map(ToOwned::to_owned).collect();
    let rows = source::json_objects(tokens, asked.looked.bytes, std::sync::Arc::new(|_: &str| true));
    let take = Take::into("tokens", rows).columns(&[("token_address", "address"), ("chain", "chainId")]).set("listed", &true);
    Ok(Plan::of(vec![take]).saying("its tokens are marked as listed"))
}
