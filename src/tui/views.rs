//! The views, one file each, in the order of their keys. No view knows another.

pub mod api;
pub mod chart;
pub mod coming;
pub mod data;
#[cfg(test)]
mod fixture_panes;
pub mod jobs;
mod sorting;

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
                ViewId::Chart => Box::new(chart::Chart::default()),
                ViewId::Jobs => Box::new(jobs::JobsView::default()),
                ViewId::Data => Box::new(data::Data::default()),
                ViewId::Api => Box::new(api::Api::default()),
                _ => Box::new(coming::Coming::new(row.id)),
            }
        })
        .collect()
}
