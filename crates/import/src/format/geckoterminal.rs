//! GeckoTerminal's OHLCV of a pool: newest first, the token named beside it, volume in USD.

use super::{
    super::{
        candles,
        sniff::Sniffed,
        tokens::{TokenFoundBy, TokenMatch},
    },
    FileToImport, ImportPlan, Refusal,
};
use model::address::Address;

const LIST: &str = "data.attributes.ohlcv_list";

pub(super) fn is(sniffed: &Sniffed) -> bool {
    sniffed.outline().is_some_and(|outline| outline.list(LIST).is_some())
        && sniffed.sheet.as_ref().is_some_and(|sheet| sheet.mentions(LIST))
}

pub(super) fn open(file: &FileToImport<'_>) -> Result<ImportPlan, Refusal> {
    let outline = file.sniffed.outline().ok_or("is not JSON")?;
    let base = outline.text("meta.base.address").and_then(Address::parse);
    let token = match (base, file.hints.token) {
        (Some(base), None) => {
            let symbol = outline.text("meta.base.symbol").map(str::to_owned);
            TokenMatch { address: base, symbol, multiplier: 1.0, quoted: true, by: TokenFoundBy::File, says: "from the file".to_owned() }
        }
        (Some(base), Some(token)) if base != token => {
            let reason = format!("is of {base}, and --token says {token}: import it without --token");
            return Err(Refusal::new(reason).say("token", base.to_string()));
        }
        _ => file.token(None)?,
    };
    candles::of_token(file, &token)
}
