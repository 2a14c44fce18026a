//! A token, merged from its rows on every chain.

use super::{
    chain::Chain,
    rows::TokenRow,
    schema::Kind,
    time::{DAY_MS, Time},
};

/// Figures further apart than this are not of one time: the older is shown with its date, and the two are not multiplied.
const APART_MS: i64 = 7 * DAY_MS;

/// Whether the values are known to be from different times.
pub fn are_apart(a: Option<Time>, b: Option<Time>) -> bool {
    a.zip(b)
        .is_some_and(|(a, b)| a.0.abs_diff(b.0) > APART_MS.unsigned_abs())
}

/// A column of `tokens` outside the schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExtraColumn {
    /// Name as in the file.
    pub name: &'static str,
    /// Common type of all its cells.
    pub kind: Kind,
}

/// A token, merged from its rows on every chain. The row with the largest market cap provides the values, and the others fill its gaps.
#[derive(Debug, Clone, PartialEq)]
pub struct Token {
    /// Its own `chain` is empty: see `chains`.
    pub row: TokenRow,
    /// Every chain it exists on, starting with that of the row with the largest market cap.
    pub chains: Vec<Chain>,
    pub dates: FigureDates,
}

/// The time of each of a token's values, from the row that provides the value; `None` for a value without a date.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FigureDates {
    pub price: Option<Time>,
    pub market_cap: Option<Time>,
    pub total_supply: Option<Time>,
    pub holders: Option<Time>,
}

impl FigureDates {
    fn of(row: &TokenRow) -> Self {
        Self {
            price: row.price.and(row.price_as_of),
            market_cap: row.market_cap.and(row.stats_as_of),
            total_supply: row.total_supply.and(row.stats_as_of),
            holders: row.holders.and(row.stats_as_of),
        }
    }
}

/// Prices of one token on two chains are not further apart than by this factor.
const ONE_PRICE: f64 = 1.1;

/// Which rows of one address belong to the token that is stored there. Among several tokens, a listed one wins, then the one with the
/// largest market cap, then the one on the most chains, then the one in the first row.
pub fn held(rows: &[&TokenRow]) -> Vec<bool> {
    let unknown = |row: &TokenRow| {
        [
            row.symbol.is_none(),
            row.decimals.is_none(),
            row.price.is_none(),
        ]
        .iter()
        .filter(|no| **no)
        .count()
    };
    let mut order: Vec<&TokenRow> = rows.to_vec();
    // Those of which little is known fit several, and come last.
    order.sort_by_key(|row| unknown(row));
    let mut groups: Vec<Vec<&TokenRow>> = Vec::new();
    for row in order {
        match groups
            .iter_mut()
            .find(|group| group.iter().all(|other| may_be_one(row, other)))
        {
            Some(group) => group.push(row),
            None => groups.push(vec![row]),
        }
    }
    let cap = |row: &TokenRow| {
        row.market_cap
            .or_else(|| Some(row.price? * row.total_supply?))
            .filter(|cap| cap.is_finite())
            .unwrap_or_default()
    };
    let rank = |group: &[&TokenRow]| {
        let chains: usize = group.iter().map(|row| row.chain.len()).sum();
        (
            group.iter().any(|row| row.listed == Some(true)),
            group.iter().copied().map(cap).fold(0.0, f64::max),
            chains,
        )
    };
    let above = |a: (bool, f64, usize), b: (bool, f64, usize)| {
        a.0.cmp(&b.0)
            .then(a.1.total_cmp(&b.1))
            .then(a.2.cmp(&b.2))
            .is_gt()
    };
    let best = groups.iter().reduce(|best, group| {
        if above(rank(group), rank(best)) {
            group
        } else {
            best
        }
    });
    rows.iter()
        .map(|row| best.is_none_or(|best| best.iter().all(|other| may_be_one(row, other))))
        .collect()
}

/// Whether two rows of one address can be of one token: what both know of symbol, decimals and, of one time, price is the same.
fn may_be_one(a: &TokenRow, b: &TokenRow) -> bool {
    let symbol = |row: &TokenRow| {
        row.symbol
            .as_deref()
            .map(|symbol| symbol.trim().to_lowercase())
            .filter(|symbol| !symbol.is_empty())
    };
    let price = |row: &TokenRow| row.price.filter(|price| *price > 0.0);
    let near = |(a, b): (f64, f64)| a.max(b) <= a.min(b) * ONE_PRICE;
    symbol(a).zip(symbol(b)).is_none_or(|(a, b)| a == b)
        && a.decimals.zip(b.decimals).is_none_or(|(a, b)| a == b)
        && (are_apart(a.price_as_of, b.price_as_of) || price(a).zip(price(b)).is_none_or(near))
}

/// Merges the rows of each address into one token. The row with the largest market cap provides its values; the others fill its gaps.
pub fn merge_tokens(mut rows: Vec<TokenRow>) -> Vec<Token> {
    let cap = |row: &TokenRow| row.market_cap.unwrap_or(f64::NEG_INFINITY);
    rows.sort_by(|a, b| {
        a.token_address
            .cmp(&b.token_address)
            .then(cap(b).total_cmp(&cap(a)))
    });
    let mut tokens: Vec<Token> = Vec::with_capacity(rows.len());
    for mut row in rows {
        match tokens.last_mut() {
            Some(token) if token.row.token_address == row.token_address => token.absorb(row),
            _ => tokens.push(Token {
                chains: std::mem::take(&mut row.chain),
                dates: FigureDates::of(&row),
                row,
            }),
        }
    }
    tokens
}

impl Token {
    fn absorb(&mut self, other: TokenRow) {
        let theirs = FigureDates::of(&other);
        for chain in other.chain {
            if !self.chains.contains(&chain) {
                self.chains.push(chain);
            }
        }
        let (row, dates) = (&mut self.row, &mut self.dates);
        // A figure that comes from another row has that row's date.
        macro_rules! fill_dates {
            ($($field:ident)*) => { $(if row.$field.is_none() { dates.$field = theirs.$field; })* };
        }
        fill_dates!(price market_cap total_supply holders);
        macro_rules! fill {
            ($($field:ident)*) => { $(row.$field = row.$field.take().or(other.$field);)* };
        }
        fill!(symbol name decimals price market_cap total_supply holders followers smart_followers impressions smart_reach
            post_engagement smart_engagement listed);
    }
}

/// A row of a token other than the one stored at its address.
#[derive(Debug, Clone, PartialEq)]
pub struct TokenApart {
    pub row: TokenRow,
    /// The token stored there: `OP on oeth`.
    pub held: String,
}

impl TokenApart {
    /// Text for a finding: `0x…: FAKE on base, beside OP on oeth`.
    pub fn description(&self) -> String {
        format!(
            "{}: {}, next to {}",
            self.row.token_address,
            description(&self.row),
            self.held
        )
    }
}

/// Symbol and chains: `OP on oeth`.
pub fn description(row: &TokenRow) -> String {
    let chains: Vec<String> = row.chain.iter().map(ToString::to_string).collect();
    format!(
        "{} on {}",
        row.symbol.as_deref().unwrap_or("a token without a symbol"),
        chains.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_apart_after_more_than_seven_days() {
        let day = |day: i64| Some(Time(day * DAY_MS));
        assert!(!are_apart(day(0), day(7)) && !are_apart(day(7), day(0)));
        assert!(
            are_apart(day(0), day(7).map(|time| Time(time.0 + 1))) && are_apart(day(8), day(0))
        );
        assert!(
            !are_apart(None, day(9)) && !are_apart(day(9), None),
            "what has no date may be of any time"
        );
    }
}
