//! Balances of one token's holders: a column of addresses, which Dune writes as links, and one of balances.

use super::{
    super::{
        look::{Looked, Shape},
        rows::{Edited, link_text, mend, plain_number},
    },
    Asked, Plan, Take, etherscan,
};
use crate::dataset::{address::Address, chain::Chain, source::Layout};

const HOLDERS: &[&str] = &["address", "holder", "wallet", "owner", "account", "user", "holder_address", "holderaddress", "wallet_address"];

/// The columns of addresses and of balances.
fn columns(looked: &Looked) -> Option<(String, String)> {
    let Shape::Rows(rows) = &looked.shape else { return None };
    let header = rows.first()?;
    let is = |name: &str, word: &str| name.to_lowercase().split(|c: char| !c.is_alphanumeric()).any(|part| part == word);
    let holder = header.iter().position(|name| HOLDERS.contains(&name.to_lowercase().as_str()))?;
    let balance = header.iter().position(|name| (is(name, "balance") || name.eq_ignore_ascii_case("amount")) && !is(name, "usd"))?;
    let holds = |row: &Vec<String>| row.get(holder).is_some_and(|cell| Address::parse(&link_text(cell)).is_some());
    rows.iter().skip(1).take(20).any(holds).then(|| (header[holder].clone(), header[balance].clone()))
}

pub(super) fn is(looked: &Looked) -> bool {
    columns(looked).is_some()
}

pub(super) fn open(asked: &Asked<'_>) -> Result<Plan, String> {
    let (holder, balance) = columns(asked.looked).ok_or("has no balances")?;
    // `stCELO Balance` says which token it is of.
    let symbol: Vec<&str> =
        balance.split_whitespace().filter(|word| !word.eq_ignore_ascii_case("balance") && !word.eq_ignore_ascii_case("amount")).collect();
    let content = Some(symbol.join(" ")).filter(|symbol| !symbol.is_empty() && symbol.len() < 20);
    let token = asked.token(content.as_deref())?;
    let link = asked.looked.first_cells(&holder).into_iter().find_map(|cell| etherscan::chain_of_explorer(&cell));
    let (mended, number) = (holder.clone(), balance.clone());
    let rows = Edited::over(asked.looked.rows(&Layout::default())?, &[], move |batch| {
        mend(batch, &mended, link_text);
        mend(batch, &number, plain_number);
    });
    let take = Take::into("holders", rows).columns(&[("holder_address", &holder), ("balance", &balance)]).of_address(token.address);
    let mut plan = Plan::of(vec![take]).about(token);
    plan.chain = link.and_then(Chain::parse);
    Ok(plan)
}
