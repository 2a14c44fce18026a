//! The tokens of a snapshot by symbol, in order; made when a symbol is first asked for.

use std::sync::OnceLock;

use analysis::market::TokenSummary;

/// The places of all tokens, in the order of their symbols in lower case.
#[derive(Debug, Default)]
pub struct SymbolOrder(OnceLock<Vec<u32>>);

impl SymbolOrder {
    /// The tokens with this symbol, which is in lower case, and their places.
    pub fn of<'a>(&self, tokens: &'a [TokenSummary], symbol: &str) -> Vec<(usize, &'a TokenSummary)> {
        let key = |place: &u32| tokens[*place as usize].symbol.as_deref().unwrap_or_default().trim().to_lowercase();
        let order = self.0.get_or_init(|| {
            let mut order: Vec<u32> = (0..tokens.len() as u32).collect();
            order.sort_by_cached_key(key);
            order
        });
        let from = order.partition_point(|place| key(place).as_str() < symbol);
        let same = order[from..].iter().take_while(|place| key(place) == symbol);
        same.map(|place| (*place as usize, &tokens[*place as usize])).collect()
    }
}
