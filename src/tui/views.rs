//! The views, one file each, in the order of their keys. No view knows another.

pub mod chart;
pub mod coming;
pub mod dexes;
#[cfg(test)]
mod fixture;
pub mod growth;
mod parts;
pub mod posts;
mod rows;
pub mod tokens;

use super::{
    keymap::{VIEWS, ViewId},
    view::View,
};

/// Every view once, in the order of `VIEWS`.
pub fn all() -> Vec<Box<dyn View>> {
    VIEWS
        .iter()
        .map(|row| -> Box<dyn View> {
            match row.id {
                ViewId::Tokens => Box::new(tokens::TokensView::default()),
                ViewId::Posts => Box::new(posts::PostsView::default()),
                ViewId::Growth => Box::new(growth::GrowthView::default()),
                ViewId::Dexes => Box::new(dexes::DexesView::default()),
                ViewId::Chart => Box::new(chart::Chart::default()),
                _ => Box::new(coming::Coming::new(row.id)),
            }
        })
        .collect()
}
