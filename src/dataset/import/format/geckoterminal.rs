//! GeckoTerminal's OHLCV of a pool: newest first, the token named beside it, volume in USD.

use serde_json::value::RawValue;

use super::{
    super::{
        look::{Looked, Shape},
        outline::elements,
        rows::Made,
        tokens::Found,
    },
    Asked, Plan, Take, ohlcv,
};
use crate::dataset::address::Address;

const LIST: &str = "data.attributes.ohlcv_list";

pub(super) fn is(looked: &Looked) -> bool {
    looked.outline().is_some_and(|outline| outline.list(LIST).is_some())
}

pub(super) fn open(asked: &Asked<'_>) -> Result<Plan, String> {
    let (Shape::Json { text, .. }, Some(outline)) = (&asked.looked.shape, asked.looked.outline()) else {
        return Err("is not JSON".to_owned());
    };
    let base = outline.text("meta.base.address").and_then(Address::parse);
    let token = match (base, asked.said.token) {
        (Some(base), None) => {
            let symbol = outline.text("meta.base.symbol").map(str::to_owned);
            Found { address: base, symbol, pack: 1.0, says: "from the file".to_owned() }
        }
        (Some(base), Some(token)) if base != token => {
            return Err(format!("is of {base}, and --token says {token}: import it without --token"));
        }
        _ => asked.token(None)?,
    };
    let candles: Vec<Box<RawValue>> = elements(text, LIST)?.into_iter().map(ToOwned::to_owned).collect();
    let mut candles = candles.into_iter();
    let rows = Made::over(&["timestamp", "open", "high", "low", "close", "volume"], asked.looked.bytes, move || {
        let mut cells = ohlcv::cells(&candles.next()?);
        if let Ok(cells) = &mut cells {
            let number = |at: usize| cells.get(at).and_then(|cell| cell.as_ref()?.parse::<f64>().ok());
            let tokens = number(5).zip(number(4)).filter(|(_, close)| *close > 0.0).map(|(volume, close)| (volume / close).to_string());
            cells.truncate(5);
            cells.push(tokens);
        }
        Some(cells)
    });
    let take = Take::into("candles", rows).of(&token);
    Ok(Plan::of(vec![take])
        .about(token)
        .saying("its volume is in USD: divided by each close, which is near the tokens traded but not exact"))
}
