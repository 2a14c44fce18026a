//! Holders of a table in place: their number per token, and the balances of one token. The largest balances are returned row by row, as are
//! those of addresses counted apart; the others as sums. Computing measures from them belongs to the analyses.

use std::collections::HashMap;

use polars::prelude::{DataFrame, DataType, IntoColumn as _, NamedFrom as _, Series};

use super::{
    super::{spelling::is_mixed_case, sql},
    CHECKSUM, counts, first, floats, lists, texts,
};
use model::{
    address::Address,
    format::plural,
    holding::{Balances, IndividualHolders, ListedBalances, RestAggregates},
};

/// Number of largest balances that are returned row by row: more than any measure names.
const LARGEST: u64 = 1_000;

/// SQL, per token: its rows, those above zero, the number of duplicate holders and of holders that are no addresses, and spellings in mixed
/// case.
pub(super) fn listed_sql(base: &str) -> String {
    format!(
        "SELECT token AS token_address, count() AS listed, countIf(b > 0) AS held, {CHECKSUM} AS mark, count() - uniqExact(holder) AS again, \
         countIf(NOT match(holder, '^0x[0-9a-f]{{40}}$')) AS odd, groupUniqArrayIf(3)(raw, raw != token) AS written FROM {base} \
         GROUP BY token"
    )
}

/// Reasons why a table of holders cannot stay in place.
#[derive(Debug, Default)]
pub(in super::super) struct Faults {
    /// Rows of duplicate holders, and rows whose holder is not a valid address.
    pub(in super::super) duplicates: u64,
    pub(in super::super) invalid: u64,
    /// All rows, including those without a token.
    pub(in super::super) rows: u64,
    /// Whether tokens are written in mixed case, by which their rows would not be found.
    pub(in super::super) mixed_case: bool,
}

/// Decodes the counts of a result, and the reasons why it cannot be used.
pub(in super::super) fn read_listed(
    frames: &[DataFrame],
) -> Option<(HashMap<Address, ListedBalances>, Faults)> {
    let (mut listed, mut faults) = (HashMap::new(), Faults::default());
    for frame in frames {
        listed.extend(of_frame(frame)?);
        let sum = |name: &str| {
            Some(
                counts(frame, name)?
                    .iter()
                    .flatten()
                    .fold(0, u64::saturating_add),
            )
        };
        faults.rows += sum("listed")?;
        faults.duplicates += sum("again")?;
        faults.invalid += sum("odd")?;
        faults.mixed_case |= mixed_case(frame)?.contains(&true);
    }
    Some((listed, faults))
}

/// Finding about rows of tokens that are no addresses, which are left out.
pub(in super::super) fn no_tokens(frames: &[DataFrame]) -> Option<String> {
    let (mut rows, mut examples) = (0, Vec::new());
    for frame in frames {
        for (token, count) in texts(frame, "token_address")?
            .iter()
            .zip(counts(frame, "listed")?.iter())
        {
            let token = token.unwrap_or_default();
            if Address::parse(token).is_none() {
                rows += count.unwrap_or_default();
                examples.push(format!("`{token}`"));
            }
        }
    }
    examples.truncate(3);
    (rows > 0).then(|| {
        let one = "of the rows is excluded because its token is not an address";
        let rows = plural(
            rows,
            one,
            "of the rows are excluded because their tokens are not addresses",
        );
        format!("{rows}, such as {}", examples.join(", "))
    })
}

/// Per token, whether it is written in mixed case.
pub(super) fn mixed_case(frame: &DataFrame) -> Option<Vec<bool>> {
    let written = lists(frame, "written", DataType::String)?;
    (0..written.len())
        .map(|row| {
            Some(
                written
                    .get_as_series(row)?
                    .str()
                    .ok()?
                    .iter()
                    .flatten()
                    .any(is_mixed_case),
            )
        })
        .collect()
}

/// The counts as a frame; `of_frame` is the inverse.
pub(in super::super) fn frame(listed: &HashMap<Address, ListedBalances>) -> Option<DataFrame> {
    let mut all: Vec<(&Address, &ListedBalances)> = listed.iter().collect();
    all.sort_by_key(|(token, _)| **token);
    let numbers = |name: &str, number: &dyn Fn(&ListedBalances) -> u64| {
        Series::new(
            name.into(),
            all.iter()
                .map(|(_, listed)| number(listed))
                .collect::<Vec<_>>(),
        )
        .into_column()
    };
    let tokens: Vec<String> = all.iter().map(|(token, _)| token.to_string()).collect();
    let columns = vec![
        Series::new("token_address".into(), tokens).into_column(),
        numbers("listed", &|listed| listed.rows),
        numbers("held", &|listed| listed.held),
        numbers("mark", &|listed| listed.checksum),
    ];
    DataFrame::new(all.len(), columns).ok()
}

pub(in super::super) fn of_frame(frame: &DataFrame) -> Option<HashMap<Address, ListedBalances>> {
    let (rows, held, checksum) = (
        counts(frame, "listed")?,
        counts(frame, "held")?,
        counts(frame, "mark")?,
    );
    let mut listed = HashMap::new();
    for (i, token) in texts(frame, "token_address")?.iter().enumerate() {
        let one = ListedBalances {
            rows: rows.get(i)?,
            held: held.get(i)?,
            checksum: checksum.get(i)?,
        };
        // Rows without a token are dropped here as in the loader.
        listed.extend(Address::parse(token?).map(|token| (token, one)));
    }
    Some(listed)
}

/// As `Address::is_burn_address`.
pub(super) const IS_BURN_ADDRESS: &str = "(startsWith(holder, '0xdead0000000000000000') OR holder IN ('0x0000000000000000000000000000000000000000', \
                       '0x0000000000000000000000000000000000000001', '0x000000000000000000000000000000000000dead'))";

fn is_one_of(addresses: &[Address]) -> String {
    let texts: Vec<String> = addresses
        .iter()
        .map(|address| sql::text(&address.to_string()))
        .collect();
    if texts.is_empty() {
        "0".to_owned()
    } else {
        format!("holder IN ({})", texts.join(", "))
    }
}

/// SQL for one token, over holders in `base`. `free` marks holders with a balance that are not reported individually.
pub(super) fn balances_sql(base: &str, individual: &IndividualHolders) -> String {
    let (named, burned, watched) = (
        is_one_of(&individual.named),
        is_one_of(&individual.burned),
        is_one_of(&individual.watched),
    );
    let supply = individual
        .supply
        .filter(|supply| supply.is_finite())
        .unwrap_or(0.0);
    let placed = format!(
        "SELECT holder, b, hash, {named} AS apart, apart OR {IS_BURN_ADDRESS} AS own, {burned} OR ({IS_BURN_ADDRESS} AND NOT apart) AS gone, {watched} AS seen, \
         row_number() OVER (PARTITION BY own ORDER BY isNull(b), b DESC, holder) AS place, NOT own AND b > 0 AS free, \
         ifNull(NOT own AND place > {LARGEST} AND b > 0, 0) AS behind FROM {base}"
    );
    let summed = format!(
        "SELECT holder, b, own OR place <= {LARGEST} AS told, seen, behind, place, free, count() OVER () AS listed, {CHECKSUM} OVER () AS mark, \
         countIf(behind) OVER () AS rest_count, sumKahan(if(b > 0, b, 0)) OVER () AS every, sumKahan(if(gone AND b > 0, b, 0)) OVER () AS burned, \
         sum(if(free, b, 0)) OVER (PARTITION BY own ORDER BY place ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS until FROM ({placed})"
    );
    let halved = format!(
        "SELECT *, if({supply:?} >= every * 0.999, {supply:?}, every) AS total, if(total - burned > 0, total - burned, every) / 2 AS half \
         FROM ({summed})"
    );
    let all = format!(
        "SELECT holder AS holder_address, b AS balance, told, seen, behind, listed, mark, rest_count, \
         sumKahan(if(behind, b, 0)) OVER () AS rest_sum, sumKahan(if(behind, b * b, 0)) OVER () AS rest_squares, \
         sumKahan(if(behind, b * (rest_count - (place - {LARGEST} - 1)), 0)) OVER () AS rest_ranked, \
         countIf(free AND until <= half) OVER () AS within, countIf(free) OVER () AS frees FROM ({halved})"
    );
    format!("SELECT * FROM ({all}) WHERE told OR (seen AND behind)")
}

/// Decodes the balances of a result.
pub(in super::super) fn read_balances(frames: &[DataFrame]) -> Option<Balances> {
    let mut balances = Balances::default();
    for frame in frames {
        let sum = |name: &str| floats(frame, name)?.get(0);
        balances.listed = first(frame, "listed")?;
        let (within, frees) = (first(frame, "within")?, first(frame, "frees")?);
        balances.rest = RestAggregates {
            count: first(frame, "rest_count")?,
            sum: sum("rest_sum")?,
            squares: sum("rest_squares")?,
            ranked: sum("rest_ranked")?,
            nakamoto: (within < frees).then_some(within + 1),
        };
        let (holders, amounts, told) = (
            texts(frame, "holder_address")?,
            floats(frame, "balance")?,
            counts(frame, "told")?,
        );
        for i in 0..frame.height() {
            let (holder, balance) = (Address::parse(holders.get(i)?)?, amounts.get(i));
            if told.get(i)? == 1 {
                balances.rows.push((holder, balance));
            } else {
                balances.watched_in_rest.push((holder, balance?));
            }
        }
    }
    // In table order: largest balance first, nulls last.
    let key = |balance: Option<f64>| balance.unwrap_or(f64::NEG_INFINITY);
    balances
        .rows
        .sort_by(|a, b| key(b.1).total_cmp(&key(a.1)).then(a.0.cmp(&b.0)));
    balances
        .watched_in_rest
        .sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    Some(balances)
}
