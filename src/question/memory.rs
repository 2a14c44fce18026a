//! Caches that live as long as one generation: results that are computed once and shared by many questions. Computing them is each
//! question's part.

mod records;
pub mod security;
mod tables;

pub(super) use self::records::ReplayedToken;
pub use self::{
    records::RecordMemory,
    security::SecurityMemory,
    tables::{OrderedRows, TableMemory},
};
