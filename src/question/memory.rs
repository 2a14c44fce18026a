//! A cache for one generation of data: what is worked out of it once and used by many questions. What that is, and when it is worked out,
//! is its question's.

mod records;
pub mod security;
mod tables;

pub(super) use self::records::ReplayedToken;
pub use self::{
    records::RecordMemory,
    security::SecurityMemory,
    tables::{OrderedRows, TableMemory},
};
