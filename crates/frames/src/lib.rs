//! Frames of rows, and the tables built from them: batches as they are read (`raw_cell`, `canonical`), the cache of large tables, which an
//! import fills by an external bucket sort, small tables in memory, rows as frames again, and exports. Files of others are read in `load`.

mod arrow;
pub mod cache;
pub mod cache_writer;
pub mod canonical;
pub mod cell;
pub mod columns;
pub mod decode;
pub mod duplicates;
pub mod error;
pub mod export;
pub mod frame_rows;
pub mod memory;
pub mod merge;
pub mod order;
pub mod ordered;
pub mod parquet_files;
pub mod raw_cell;
pub mod report;
pub mod rows;
pub mod text_runs;
