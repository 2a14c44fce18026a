//! Demo data. (A stand-in.)

use std::path::Path;

use super::candles::Interval;

pub type Progress<'a> = dyn FnMut(&str, u64, u64) -> bool + 'a;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DemoOptions {
    pub tokens: u32,
    pub days: u32,
    pub seed: u64,
    pub candles: Option<u64>,
    pub transfers: Option<u64>,
    pub interval: Option<Interval>,
    pub format: Format,
}

impl Default for DemoOptions {
    fn default() -> Self {
        Self { tokens: 64, days: 400, seed: 20_261_115, candles: None, transfers: None, interval: None, format: Format::Mixed }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    Csv,
    Parquet,
    Mixed,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    pub file: String,
    pub rows: u64,
    pub bytes: u64,
}

pub fn write(_: &Path, _: &DemoOptions, _: &mut Progress) -> Result<Vec<Written>, String> {
    Err("demo data cannot be written yet".to_owned())
}
