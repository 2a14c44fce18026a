//! Rows that come by themselves: providers, as `store::provider` describes them, are asked at the pace they allow for what is missing in a
//! dataset, and what they answer is kept in its folder. No figure is computed here, and nothing is asked without the consent that `wire`
//! keeps.

mod ask;
pub mod create;
pub mod find;
mod kept;
mod pages;
mod plan;
mod refresh;
mod rows;
pub mod saved;
mod state;
mod watch;

pub use self::{
    ask::LiveToken,
    refresh::{LiveMarket, RefreshContext, RefreshError, RefreshReport, TableRefreshReport, hosts, live_tables, refresh},
    state::{RefreshState, TableRefreshed},
    watch::{RefreshWatch, Unwatched},
};
