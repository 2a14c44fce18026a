//! Caches that live as long as one generation: results that are computed once and shared by many questions. Computing them is each
//! question's part.

mod row_orders;
pub mod security;
mod symbols;
mod track_records;

pub(super) use self::track_records::ReplayedToken;
pub use self::{
    row_orders::{OrderedRows, RowOrderCache},
    security::SecurityCache,
    symbols::SymbolOrder,
    track_records::{RecordCount, TrackRecordCache, WholeRecord},
};
