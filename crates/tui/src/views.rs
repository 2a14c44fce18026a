//! The views of the dashboard, one file each, which share one selected token, and their building blocks. [`view`] is the interface to the
//! program around them, [`keymap`] the table of keys, [`list`] the lists with columns, order and filter. No view depends on another or on
//! the program, and no market metric is computed here: views display the results of queries.

pub mod api;
pub mod chart;
pub mod compare;
pub mod data;
pub mod dexes;
pub mod error;
#[cfg(test)]
mod fixture;
pub mod growth;
pub mod jobs;
pub mod keymap;
pub mod list;
pub mod posts;
mod prelude;
mod price;
mod record_pane;
pub mod security;
mod shared;
pub mod task;
mod token_list;
pub mod tokens;
pub mod view;
pub mod waiting;
pub mod words;
pub mod yields;

use ratatui::layout::Rect;

use self::{
    keymap::{VIEWS, ViewId},
    view::View,
};

/// Implements the list accessors of `View`, used by `/`, `C` and F2.
macro_rules! listing {
    ($list:ident) => {
        fn listing(&self) -> Option<&dyn crate::views::list::Listing> {
            Some(&self.$list)
        }

        fn listing_mut(&mut self) -> Option<&mut dyn crate::views::list::Listing> {
            Some(&mut self.$list)
        }
    };
}
use listing;

/// The body of a panel, inset by a cell at both sides to align with its title.
fn inset(body: Rect) -> Rect {
    Rect {
        x: body.x.saturating_add(1.min(body.width)),
        width: body.width.saturating_sub(2),
        ..body
    }
}

/// A bar of line characters for a table row, where full-height bars would run into each other: the filled part and the track.
fn thin_bar(share: f64, cells: usize) -> [String; 2] {
    let share = if share.is_nan() {
        0.0
    } else {
        share.clamp(0.0, 1.0)
    };
    let halves = (share * cells as f64 * 2.0).floor() as usize;
    let mut filled = "━".repeat(halves / 2);
    if halves % 2 == 1 {
        filled.push('╸');
    }
    let rest = cells - filled.chars().count();
    [filled, "─".repeat(rest)]
}

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
                ViewId::Chart => Box::new(chart::ChartView::default()),
                ViewId::Jobs => Box::new(jobs::JobsView::default()),
                ViewId::Data => Box::new(data::DataView::default()),
                ViewId::Api => Box::new(api::ApiView::default()),
                ViewId::Yield => Box::new(yields::YieldView::default()),
                ViewId::Security => Box::new(security::SecurityView::default()),
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::{
        fixture::{Stage, market},
        *,
    };
    use crate::views::keymap::Action;
    use load::Dataset;

    #[test]
    fn every_view_can_be_drawn_in_any_size_with_and_without_data() {
        thread::scope(|scope| {
            for nth in 0..VIEWS.len() {
                scope.spawn(move || {
                    for dataset in [None, Some(Dataset::default()), Some(market())] {
                        let (mut stage, mut views) = (Stage::new(dataset), all());
                        let view = views[nth].as_mut();
                        stage.draw(view, 80, 20);
                        stage.draw_in_odd_sizes(view);
                        // The detail, the post, the evidence, the rows.
                        stage.act(view, Action::Open);
                        stage.draw_in_odd_sizes(view);
                    }
                });
            }
        });
    }
}
