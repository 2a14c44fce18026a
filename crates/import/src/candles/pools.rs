//! Candles of a pool, as subgraphs give them: each is the price of one of the pool's two tokens in the other, and the rows name both.

use super::{
    super::{
        format::FileToImport,
        names::{is_one_of, plain},
        pair,
        refusal::{ADDRESS, Refusal},
        sheet::RawTable,
        tokens::alike,
    },
    columns::CandleColumns,
};
use model::address::Address;

/// The parts of a column's path that stand for a pool or for one of its tokens.
const POOL: &str = "pool token0 token1 tokena tokenb";
/// By how much the close may differ from the price that the rows give beside it.
const NEAR: f64 = 1e-6;
/// A dollar costs between these.
const DOLLAR: std::ops::RangeInclusive<f64> = 0.5..=2.0;

/// Whether the column names a pool or one of its tokens: `pool.id`, `pool.token0.symbol`, `token1_symbol`.
pub(super) fn is_of_pool(name: &str) -> bool {
    let mut parts = name.rsplit('.');
    let last = plain(parts.next().unwrap_or_default());
    let side = ["token0", "token1"].iter().find_map(|token| {
        last.strip_prefix("pool")
            .unwrap_or(&last)
            .strip_prefix(token)
    });
    side.is_some_and(|rest| is_one_of(rest, "id address symbol name"))
        || parts.any(|part| is_one_of(&plain(part), POOL))
}

/// One of the pool's tokens.
struct Side {
    /// In the file, else in the dataset.
    symbol: Option<String>,
    address: Option<Address>,
}

impl Side {
    fn display_name(&self) -> String {
        self.symbol
            .clone()
            .or_else(|| Some(self.address?.to_string()))
            .unwrap_or_else(|| "one token".to_owned())
    }

    fn is_dollar(&self) -> bool {
        self.symbol.as_deref().is_some_and(pair::is_dollar)
    }
}

/// Refuses prices of a pool's token that is not the one that the user says, or that are not in dollars. Of rows that do not show which of the two
/// is priced, only a dollar that costs far from one is refused.
pub(super) fn is_of_said_token(
    file: &FileToImport<'_>,
    sheet: &RawTable,
    found: &CandleColumns,
) -> Result<(), Refusal> {
    if file.options.as_usd || file.options.broken_too || !sheet.named {
        return Ok(());
    }
    let place = |name: &str| {
        sheet
            .names
            .iter()
            .position(|known| known.eq_ignore_ascii_case(name))
    };
    let picks: Vec<(usize, &str)> = file
        .options
        .pick
        .iter()
        .filter_map(|(name, value)| Some((place(name)?, value.trim())))
        .collect();
    let picked: Vec<usize> = (0..sheet.first.len())
        .filter(|&row| {
            picks.iter().all(|(at, value)| {
                sheet.first[row]
                    .get(*at)
                    .is_some_and(|cell| cell.trim() == *value)
            })
        })
        .collect();
    let cells = |at: usize| {
        picked
            .iter()
            .filter_map(move |&row| Some((row, sheet.first[row].get(at)?.trim())))
    };
    let column =
        |ends: &str| (0..sheet.names.len()).find(|at| plain(&sheet.names[*at]).ends_with(ends));
    let text = |ends: [String; 2]| {
        let at = ends.iter().find_map(|end| column(end))?;
        cells(at)
            .map(|(_, cell)| cell)
            .find(|cell| !cell.is_empty())
    };
    let side = |token: &str| {
        let address =
            text([format!("{token}id"), format!("{token}address")]).and_then(Address::parse);
        let symbol = text([format!("{token}symbol"), format!("{token}ticker")]).map(str::to_owned);
        Side {
            symbol: symbol.or_else(|| file.tokens.symbol(&address?)),
            address,
        }
    };
    let (zero, one) = (side("token0"), side("token1"));
    let is_known = |side: &Side| side.symbol.is_some() || side.address.is_some();
    if !is_known(&zero) || !is_known(&one) {
        return Ok(());
    }
    let closes = &found.figures[3];
    let is_close = |name: &str| {
        let Some(at) = column(name) else { return false };
        let near = |(row, cell): (usize, &str)| {
            cell.parse::<f64>()
                .is_ok_and(|price| (price - closes[row]).abs() <= closes[row].abs() * NEAR)
        };
        let near = cells(at).filter(|two| near(*two)).count();
        near * 10 >= picked.len() * 9 && near > 0
    };
    let mut sorted: Vec<f64> = picked
        .iter()
        .map(|&row| closes[row])
        .filter(|close| *close > 0.0)
        .collect();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.get(sorted.len() / 2).copied().unwrap_or(1.0);
    let display_name = (is_close("token0price"), is_close("token1price"));
    // `token0Price` counts units of token0 for one of token1; the candles of Uniswap's subgraphs are of it.
    let is_subgraph = || {
        column("token0price").is_none()
            && ["pooldaydata", "poolhourdata"]
                .iter()
                .any(|word| sheet.mentions(word))
    };
    let (priced, quote) = match display_name {
        (false, false) if is_subgraph() => (&one, &zero),
        (true, false) => (&one, &zero),
        (false, true) => (&zero, &one),
        _ if zero.is_dollar() && !one.is_dollar() && !DOLLAR.contains(&middle) => (&one, &zero),
        _ if one.is_dollar() && !zero.is_dollar() && !DOLLAR.contains(&middle) => (&zero, &one),
        _ => return Ok(()),
    };
    let (of, currency) = (priced.display_name(), quote.display_name());
    // A token without a symbol may be a dollar.
    if quote.symbol.is_some() && !quote.is_dollar() {
        return Err(format!(
            "has prices of {of} in {currency}, but candles must be in USD; use a file with prices in USD, or pass --as-usd if \
                 they are in USD"
        )
        .into());
    }
    let is_named = |said: &str| {
        priced
            .symbol
            .as_deref()
            .is_none_or(|symbol| alike(said, symbol))
    };
    let is_said = match (file.hints.token, file.hints.coin) {
        (None, _) => false,
        (_, Some(coin)) => is_named(coin),
        (Some(token), None) => match priced.address {
            Some(address) => address == token,
            None => file
                .tokens
                .symbol(&token)
                .is_none_or(|symbol| is_named(&symbol)),
        },
    };
    if is_said {
        return Ok(());
    }
    let what = match (file.hints.coin, file.hints.token) {
        (None, None) => format!("has prices of {of} in {currency}, the other token of its pool"),
        (Some(coin), _) => format!(
            "has prices of {of} in {currency}, the other token of its pool, but --coin is {coin}"
        ),
        (_, Some(token)) => format!(
            "has prices of {of} in {currency}, the other token of its pool, but --token is {token}"
        ),
    };
    let refusal = Refusal::new(format!(
        "{what}; pass --token with the address of {of}, or --broken-too to import these prices anyway"
    ));
    Err(match priced.address {
        Some(address) => refusal.say("token", address.to_string()),
        None => refusal.say("token", ADDRESS),
    })
}
