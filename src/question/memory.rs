//! What a generation of data keeps of what was worked out of it, so that it is worked out once. What it is, and when it is asked for, is
//! its question's.

mod records;
pub mod security;
mod tables;

pub(super) use self::records::ReplayedToken;
pub use self::{
    records::RecordMemory,
    security::SecurityMemory,
    tables::{OrderedRows, TableMemory},
};
