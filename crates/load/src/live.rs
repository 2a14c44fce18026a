//! Live tables: requests to providers, as `provider` describes them, at the pace they allow, for the rows that a dataset lacks. The
//! responses are stored in its folder. This module computes no metrics, and sends no request without the consent that `wire` records.

mod ask;
pub mod create;
mod error;
pub mod find;
mod held;
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
    error::LiveError,
    refresh::{
        LiveMarket, RefreshContext, hosts, hosts_without_consent, live_tables, provider_errors,
        refresh,
    },
    report::{RefreshError, RefreshReport, TableRefreshReport},
    state::{RefreshState, TableRefreshed},
    watch::{RefreshWatch, Unwatched},
};
