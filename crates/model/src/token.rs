//! A token, merged from its rows on every chain.

use super::{chain::Chain, rows::TokenRow, schema::Kind};

/// A column of `tokens` outside the schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OwnColumn {
    /// Name as in the file.
    pub name: &'static str,
    /// Common type of all its cells.
    pub kind: Kind,
}

/// A token, merged from its rows on every chain. The row with the largest market cap gives the figures, the others fill its gaps.
#[derive(Debug, Clone, PartialEq)]
pub struct Token {
    pub row: TokenRow,
    /// Every chain it exists on, first that of the row with the largest market cap.
    pub chains: Vec<Chain>,
}

/// Merges the rows of each address into one token. The row with the largest market cap gives its figures; the others fill its gaps.
pub fn merge_tokens(mut rows: Vec<TokenRow>) -> Vec<Token> {
    let cap = |row: &TokenRow| row.market_cap.unwrap_or(f64::NEG_INFINITY);
    rows.sort_by(|a, b| a.token_address.cmp(&b.token_address).then(cap(b).total_cmp(&cap(a))));
    let mut tokens: Vec<Token> = Vec::with_capacity(rows.len());
    for row in rows {
        match tokens.last_mut() {
            Some(token) if token.row.token_address == row.token_address => token.absorb(row),
            _ => tokens.push(Token { chains: row.chain.clone(), row }),
        }
    }
    tokens
}

impl Token {
    fn absorb(&mut self, other: TokenRow) {
        for chain in other.chain {
            if !self.chains.contains(&chain) {
                self.chains.push(chain);
            }
        }
        let row = &mut self.row;
        macro_rules! fill {
            ($($field:ident)*) => { $(row.$field = row.$field.take().or(other.$field);)* };
        }
        fill!(symbol name decimals price market_cap total_supply holders followers smart_followers impressions smart_reach
            post_engagement smart_engagement listed);
    }
}
