//! The tokens of a snapshot by symbol, in order.

use analysis::market::TokenSummary;

/// The places of all tokens, in the order of their symbols in lower case.
#[derive(Debug, Default)]
pub struct SymbolOrder(Vec<u32>);

impl SymbolOrder {
    pub fn new(tokens: &[TokenSummary]) -> Self {
        let mut order: Vec<u32> = (0..tokens.len() as u32).collect();
        order.sort_by_cached_key(|place| symbol(&tokens[*place as usize]));
        Self(order)
    }

    /// The tokens with this symbol, which is in lower case, and their places.
    pub fn of<'a>(
        &self,
        tokens: &'a [TokenSummary],
        symbol: &str,
    ) -> Vec<(usize, &'a TokenSummary)> {
        let key = |place: &u32| self::symbol(&tokens[*place as usize]);
        let from = self.0.partition_point(|place| key(place).as_str() < symbol);
        let same = self.0[from..]
            .iter()
            .take_while(|place| key(place) == symbol);
        same.map(|place| (*place as usize, &tokens[*place as usize]))
            .collect()
    }
}

fn symbol(token: &TokenSummary) -> String {
    token
        .symbol
        .as_deref()
        .unwrap_or_default()
        .trim()
        .to_lowercase()
}
