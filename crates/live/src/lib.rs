//! Rows that come by themselves: providers, as `source::provider` describes them, are asked at the pace they allow for what is missing in a
//! dataset, and what they answer is kept in its folder. No figure is computed here, and nothing is asked without the consent that `wire`
//! keeps.

mod ask;
pub mod create;
pub mod find;
mod held;
mod kept;
mod pages;
mod plan;
mod refresh;
mod report;
mod rows;
pub mod saved;
mod state;
mod watch;

pub use self::{
    ask::LiveToken,
    refresh::{LiveMarket, RefreshContext, hosts, live_tables, refresh},
    report::{RefreshError, RefreshReport, TableRefreshReport},
    state::{RefreshState, TableRefreshed},
    watch::{RefreshWatch, Unwatched},
};
