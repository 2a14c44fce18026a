//! Metrics of tokens whose candles are queried in place: the rows are dropped once a metric is known.

use std::{collections::HashMap, sync::Mutex};

use crate::question::figure::Figures;
use model::{address::Address, locks::Locked as _};

/// Maximum number of cached tokens; the metrics of others are recomputed.
const TOKENS_MAX: usize = 20_000;

#[derive(Debug, Default)]
pub struct FigureCache(Mutex<HashMap<Address, Figures>>);

impl FigureCache {
    /// These metrics of the token, if all are known.
    pub fn get(&self, token: &Address, names: &[&str]) -> Option<Figures> {
        self.0.locked().get(token)?.named(names)
    }

    pub fn keep(&self, token: Address, figures: &Figures) {
        let mut all = self.0.locked();
        if all.len() >= TOKENS_MAX && !all.contains_key(&token) {
            all.clear();
        }
        all.entry(token).or_default().take(figures.clone());
    }
}
