//! Tokens by a filter and an order, as GET /tokens answers them and as the list on screen shows them. What is known of every token is compared
//! first, so that figures are computed for as few tokens as possible.

use std::{
    cmp::Ordering,
    collections::{HashMap, HashSet},
    sync::Arc,
};

use super::{of_each, row::TokenRow};
use crate::queries::{
    Find,
    fields::{COMPUTED, Figures, is_computed},
    list::sort_rows,
    order::Order,
    track_record::is_weighed,
    view::View,
};
use analysis::{market::TokenSummary, numeric::descending};
use model::{address::Address, error::Result, progress::Progress, scalar::Scalar};
use table::filter::{ExcludedRows, Filter, ListColumns};

/// What the tokens of a list are filtered and sorted by.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TokenListQuery {
    pub filter: Filter,
    pub sort: Vec<Order>,
    /// The tokens that are `starred`.
    pub watchlist: Arc<HashSet<Address>>,
    /// Only those.
    pub watched_only: bool,
    /// Figures to compute for every token, whether it is in the list or not.
    pub figures: Vec<&'static str>,
}

/// A token of a list: how well it matches a search, and its place in the market.
pub(super) type Hit = (u8, u32);

impl TokenListQuery {
    /// The figures that have to be computed for it.
    pub fn computed(&self) -> Vec<&'static str> {
        let mut names = compared(&self.filter, &self.sort);
        names.extend(&self.figures);
        names
    }

    /// The same without what needs figures.
    #[must_use]
    pub fn without_computed(mut self) -> Self {
        self.filter = self.quick_and_slow().0;
        self.sort.retain(|order| !is_computed(order.column));
        self.figures.clear();
        self
    }

    /// The conditions on what is known of every token, and then the words; and the conditions on figures.
    fn quick_and_slow(&self) -> (Filter, Filter) {
        let (mut quick, others) = self.filter.split(|column| !is_computed(column));
        let (slow, words) = others.split(|_| true);
        quick.terms.extend(words.terms);
        (quick, slow)
    }

    /// Keeps those of the tokens that match, in order. Returns those left out because of missing values.
    pub(super) fn arrange(
        &self,
        hits: &mut Vec<Hit>,
        known: &mut Arc<KnownFigures>,
        view: &View<'_>,
        progress: &Progress,
    ) -> Result<ExcludedRows> {
        let tokens = &view.market.tokens;
        let (quick, slow) = self.quick_and_slow();
        let mut excluded = ExcludedRows::of(&self.filter);
        excluded.add(&self.keep_matching(hits, &quick, known, tokens));
        let kept = hits.iter().filter_map(|hit| tokens.get(hit.1 as usize));
        let names = compared(&self.filter, &self.sort);
        compute(kept, &names, known, view, progress)?;
        excluded.add(&self.keep_matching(hits, &slow, known, tokens));
        // Nobody may be waiting any more, and sorting takes long.
        let (done, total) = progress.state();
        progress.step(done, total)?;
        let by_size = |a: u32, b: u32| {
            let of = |place: u32, figure: fn(&TokenSummary) -> Option<f64>| {
                tokens.get(place as usize).and_then(figure)
            };
            // Where no market cap is known, the token that trades comes before its namesakes.
            let figures: [fn(&TokenSummary) -> Option<f64>; 3] = [
                |token| token.market_cap,
                |token| token.liquidity,
                |token| token.price.map(|_| 1.0),
            ];
            let orders = figures.map(|figure| descending(of(a, figure), of(b, figure)));
            orders.into_iter().fold(Ordering::Equal, Ordering::then)
        };
        let ties = |(rank_a, a): &Hit, (rank_b, b): &Hit| {
            let unsorted = if self.sort.is_empty() {
                rank_a.cmp(rank_b).then_with(|| by_size(*a, *b))
            } else {
                Ordering::Equal
            };
            // The market has its tokens in the order of their addresses.
            unsorted.then_with(|| a.cmp(b))
        };
        let key = |hit: &Hit, column: &str| {
            let token = tokens.get(hit.1 as usize)?;
            known.row(token).rank(column).sort_key()
        };
        sort_rows(hits, &self.sort, key, ties);
        Ok(excluded)
    }

    fn keep_matching(
        &self,
        hits: &mut Vec<Hit>,
        filter: &Filter,
        known: &KnownFigures,
        tokens: &[TokenSummary],
    ) -> ExcludedRows {
        if filter.is_empty() {
            return ExcludedRows::default();
        }
        let columns = ListColumns::new(|nth, column| {
            let token = tokens.get(hits.get(nth)?.1 as usize)?;
            if column == "starred" {
                return Some(Scalar::Flag(self.watchlist.contains(&token.token_address)));
            }
            let row = known.row(token);
            Some(row.field(column)).filter(|value| !value.is_missing() || row.lacks(column))
        });
        let (kept, excluded) = filter.kept(&columns, hits.len());
        let mut kept = kept.into_iter();
        hits.retain(|_| kept.next() == Some(true));
        excluded
    }
}

/// The computed figures that conditions or an order are about.
pub(super) fn compared(filter: &Filter, sort: &[Order]) -> Vec<&'static str> {
    let is_sorted_by = |field: &str| sort.iter().any(|order| order.column == field);
    COMPUTED
        .iter()
        .copied()
        .filter(|field| filter.names(field) || is_sorted_by(field))
        .collect()
}

/// Figures of tokens of one snapshot, each with the version of the track records that advice among them was weighed by.
#[derive(Debug, Clone, Default)]
pub struct KnownFigures(HashMap<Address, (u64, Figures)>);

impl KnownFigures {
    pub fn get(&self, token: &Address) -> Option<&Figures> {
        self.0.get(token).map(|(_, figures)| figures)
    }

    /// Whether one of the figures has to be computed, or weighed by newer records.
    pub fn lacks(&self, token: &Address, names: &[&str], version: u64) -> bool {
        let known = self.0.get(token);
        let has = |name: &&str| {
            known.is_some_and(|(weighed, figures)| {
                figures.has(name) && (*weighed == version || !is_weighed(name))
            })
        };
        !names.iter().all(has)
    }

    /// Adds figures. Those of older records go, of which others would be taken for new ones.
    pub fn take(&mut self, version: u64, found: Vec<(Address, Figures)>) {
        for (token, figures) in found {
            match self.0.get_mut(&token) {
                Some((weighed, known)) if *weighed == version => known.take(figures),
                _ => _ = self.0.insert(token, (version, figures)),
            }
        }
    }

    /// The token with its figures.
    pub(super) fn row<'a>(&'a self, token: &'a TokenSummary) -> TokenRow<'a> {
        TokenRow {
            token,
            figures: self.get(&token.token_address),
        }
    }
}

/// Computes the figures that tokens lack.
pub(super) fn compute<'a>(
    tokens: impl Iterator<Item = &'a TokenSummary>,
    names: &[&'static str],
    known: &mut Arc<KnownFigures>,
    view: &View<'_>,
    progress: &Progress,
) -> Result<()> {
    let version = view.track_records.version();
    let lacking: Vec<Address> = tokens
        .map(|token| token.token_address)
        .filter(|token| known.lacks(token, names, version))
        .collect();
    if !lacking.is_empty() {
        let found = of_each(lacking, names, view, progress)?;
        Arc::make_mut(known).take(version, found);
    }
    Ok(())
}

/// All tokens by a query.
#[derive(Debug)]
pub struct Arrangement {
    pub query: TokenListQuery,
    /// The figures that need not be computed again.
    pub known: Arc<KnownFigures>,
}

/// The tokens of a list.
#[derive(Debug)]
pub struct ArrangedTokens {
    /// Their places in the market.
    pub places: Vec<u32>,
    /// Those left out because of missing values.
    pub excluded: ExcludedRows,
    pub known: Arc<KnownFigures>,
}

impl Find for Arrangement {
    type Found = ArrangedTokens;

    fn find(&self, view: &View<'_>, progress: &Progress) -> Result<ArrangedTokens> {
        let (query, tokens) = (&self.query, &view.market.tokens);
        let mut known = Arc::clone(&self.known);
        compute(tokens.iter(), &query.figures, &mut known, view, progress)?;
        let is_listed = |token: &TokenSummary| {
            !query.watched_only || query.watchlist.contains(&token.token_address)
        };
        let mut hits: Vec<Hit> = (0..)
            .zip(tokens)
            .filter(|(_, token)| is_listed(token))
            .map(|(place, _)| (0, place))
            .collect();
        let excluded = query.arrange(&mut hits, &mut known, view, progress)?;
        Ok(ArrangedTokens {
            places: hits.into_iter().map(|(_, place)| place).collect(),
            excluded,
            known,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queries::{
        fields::tests::snapshot as with_trend, snapshot::Snapshot, tests::snapshot, tokens::row,
    };
    use load::sample::address;
    use table::filter::{self, ColumnKind, FilterColumn};

    fn query(snapshot: &Snapshot, filter: &str, sort: &[&'static str]) -> TokenListQuery {
        let mut columns = row::columns(&snapshot.dataset);
        columns.push(FilterColumn::new("starred", ColumnKind::Flag, &[]));
        let order = |word: &&'static str| match word.strip_prefix('-') {
            Some(column) => Order::falling(column),
            None => Order::rising(word),
        };
        TokenListQuery {
            filter: filter::parse(filter, &columns).expect("a filter that reads"),
            sort: sort.iter().map(order).collect(),
            watchlist: Arc::new(HashSet::from([address("0x2")])),
            ..TokenListQuery::default()
        }
    }

    fn arranged(snapshot: &Snapshot, query: TokenListQuery) -> ArrangedTokens {
        let known = Arc::default();
        Arrangement { query, known }
            .find(&View::new(snapshot), &Progress::default())
            .expect("the tokens")
    }

    #[test]
    fn tokens_stand_in_their_order_and_those_without_a_value_last() {
        type Case = (&'static [&'static str], &'static str, bool, &'static [u32]);
        let snapshot = snapshot(&[(
            "tokens",
            "token_address,symbol,name,chain,market_cap\n0x1,b,B,eth,\n0x2,C,C,base,5\n0x3,a,A,eth,9\n0x4,d,D,bnb,5",
        )]);
        let cases: [Case; 12] = [
            (&[], "", false, &[2, 1, 3, 0]),
            (&["-market_cap"], "", false, &[2, 1, 3, 0]),
            (&["market_cap"], "", false, &[1, 3, 2, 0]),
            (&["symbol"], "", false, &[2, 0, 1, 3]),
            (&["-symbol"], "", false, &[3, 1, 0, 2]),
            (&["chain"], "", false, &[1, 3, 0, 2]),
            (&["-market_cap", "-symbol"], "", false, &[2, 3, 1, 0]),
            (&["-market_cap"], "chain:ethereum", false, &[2, 0]),
            (&["-market_cap"], "cap>=5 starred:yes", false, &[1]),
            (&["-market_cap"], "cap>=5 d", false, &[3]),
            (&["-market_cap"], "", true, &[1]),
            (&["-market_cap"], "starred:no", true, &[]),
        ];
        for (sort, filter, watched_only, expected) in cases {
            let query = TokenListQuery {
                watched_only,
                ..query(&snapshot, filter, sort)
            };
            let found = arranged(&snapshot, query);
            assert_eq!(found.places, expected, "{sort:?} {filter}");
        }
    }

    #[test]
    fn of_namesakes_without_a_market_cap_the_one_that_trades_is_first() {
        let snapshot = snapshot(&[
            (
                "tokens",
                "token_address,symbol,name,chain,price\n0x1,U,U,eth,\n0x2,U,U,eth,2\n0x3,U,U,eth,\n0x4,U,U,eth,",
            ),
            (
                "pools",
                "address,dex_id,chain,token0,token1,pair,liquidity,volume24h\n0x9,d,eth,0x3,0x8,U/W,500,1\n0x7,d,eth,0x4,0x8,U/W,900,1",
            ),
        ]);
        let found = arranged(&snapshot, query(&snapshot, "", &[]));
        assert_eq!(found.places, [3, 2, 1, 0]);
    }

    #[test]
    fn figures_are_computed_for_those_that_the_other_conditions_keep_or_for_all() {
        // The first has candles of a rising price, the second none.
        let snapshot = with_trend();
        let tokens = ["0x1", "0x2"].map(address);
        let has = |found: &ArrangedTokens, name: &str| {
            tokens.map(|token| !found.known.lacks(&token, &[name], 0))
        };
        let none: &[(&str, u64)] = &[];
        for (filter, places, computed, excluded) in [
            ("trend:uptrend", &[0][..], [true, true], &[("trend", 1)][..]),
            ("trend:downtrend", &[], [true, true], &[("trend", 1)]),
            ("trend:uptrend symbol:up", &[0], [true, false], none),
            ("trend:uptrend none", &[], [false, true], &[("trend", 1)]),
            ("symbol:up", &[0], [false, false], none),
            ("cap>1 trend:uptrend", &[], [false, false], &[("cap", 2)]),
        ] {
            let found = arranged(&snapshot, query(&snapshot, filter, &[]));
            let left_out: Vec<_> = found.excluded.columns().collect();
            assert_eq!(
                (found.places.as_slice(), has(&found, "trend"), left_out),
                (places, computed, excluded.to_vec()),
                "{filter}"
            );
        }
        let sorted = arranged(&snapshot, query(&snapshot, "", &["-trend"]));
        assert_eq!(
            (sorted.places.as_slice(), has(&sorted, "trend")),
            (&[0, 1][..], [true, true])
        );
        let all = TokenListQuery {
            figures: vec!["rsi_14"],
            ..query(&snapshot, "symbol:up", &[])
        };
        assert_eq!(all.computed(), ["rsi_14"]);
        assert_eq!(has(&arranged(&snapshot, all), "rsi_14"), [true, true]);
        let whole = query(&snapshot, "up trend:uptrend", &["-trend", "symbol"]);
        let (at_once, expected) = (
            whole.without_computed(),
            query(&snapshot, "up", &["symbol"]),
        );
        assert_eq!(at_once, expected);
    }

    #[test]
    fn advice_of_older_records_is_lacking_and_no_other_figure() {
        let (token, mut known) = (address("0x1"), KnownFigures::default());
        let figures = |names: &[&'static str]| {
            let mut figures = Figures::default();
            for name in names {
                figures.set(name, None);
            }
            vec![(token, figures)]
        };
        let lacks = |known: &KnownFigures, version| {
            ["advice", "trend", "rsi_14"].map(|name| known.lacks(&token, &[name], version))
        };
        assert!(!known.lacks(&token, &[], 0));
        known.take(0, figures(&["advice", "trend"]));
        assert_eq!(lacks(&known, 0), [false, false, true]);
        assert_eq!(lacks(&known, 1), [true, false, true]);
        known.take(1, figures(&["rsi_14"]));
        assert_eq!(lacks(&known, 1), [true, true, false]);
        known.take(1, figures(&["advice"]));
        assert_eq!(lacks(&known, 1), [false, true, false]);
    }
}
