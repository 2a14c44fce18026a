//! What the simulated trades mean: anomalies, taxes, the evidence of what went well, and whether a sale is known to go through.

use super::{
    super::{
        CodeReport, SaleState,
        findings::{SOME_SALES, TAX_FATAL, TAX_MIN},
    },
    LiveInput,
    pools::LivePool,
};
use crate::{
    Anomaly, AnomalyCode, Evidence, Taxes,
    simulation::{SimulatedTrade, SimulatedTrades},
};

/// Adds what the trades show to the report.
pub(super) fn judge(trades: &SimulatedTrades, live: &LiveInput<'_>, pool: Option<&LivePool>, report: &mut CodeReport) {
    let block = live.state.block().map_or(0, |head| head.number);
    let Some(pool) = pool else {
        report.sale = SaleState::Depends(format!("no pool of it was found at the exchanges known on {}", live.chain));
        return;
    };
    let at = format!("in its pool at {} at block {block}", pool.dex);
    let tax = |trade: &Option<SimulatedTrade>| trade.as_ref().and_then(|trade| trade.tax).map(|tax| if tax < TAX_MIN { 0.0 } else { tax });
    let sell = worst_sale(trades).map_or_else(|| tax(&trades.sell), |(_, tax)| Some(tax));
    report.taxes = Some(Taxes { buy: tax(&trades.buy), sell, transfer: tax(&trades.transfer) });
    report.traded = trades.sell.is_some();
    report.anomalies.extend(blocked(trades, &at));
    report.anomalies.extend(unbuyable(trades, &at));
    report.anomalies.extend(taxed(trades, &at));
    report.sale = match (&trades.sell, &trades.buy) {
        (Some(_), _) => SaleState::Stands,
        (None, Some(SimulatedTrade { reason: Some(why), .. })) => SaleState::Depends(format!("nobody can buy it {at} ({why})")),
        (None, _) => SaleState::Depends("its trades were cut off for their length".to_owned()),
    };
    report.proofs = [AnomalyCode::SellBlocked, AnomalyCode::SellTax].map(|code| (code, evidence(trades))).into();
}

fn why(trade: &SimulatedTrade) -> &str {
    trade.reason.as_deref().unwrap_or("it fails")
}

fn blocked(trades: &SimulatedTrades, at: &str) -> Option<Anomaly> {
    let refused = |trade: &Option<SimulatedTrade>| trade.as_ref().filter(|trade| !trade.ok).map(|trade| why(trade).to_owned());
    let who = if trades.buy_reason.is_some() { "one who bought earlier" } else { "one who has just bought" };
    let later = trades.sell_after_day.as_ref().is_some_and(|sale| sale.ok);
    let (strength, text) = if let Some(why) = refused(&trades.sell).filter(|_| later) {
        (SOME_SALES, format!("{who} can sell a day later, and not at once {at}: {why}"))
    } else if let Some(why) = refused(&trades.sell) {
        (1.0, format!("{who} cannot sell {at}: {why}"))
    } else if let Some(why) = refused(&trades.sell_after_day) {
        (SOME_SALES, format!("{who} can sell at once and not a day later {at}: {why}"))
    } else if let Some(why) = refused(&trades.sell_received) {
        (SOME_SALES, format!("one who was sent tokens cannot sell them {at}: {why}"))
    } else if let Some(why) = refused(&trades.sell_rest) {
        (SOME_SALES, format!("{who} can sell half, and not the rest in the next block {at}: {why}"))
    } else {
        return None;
    };
    let anomaly = Anomaly::new(AnomalyCode::SellBlocked, strength, text).fatal(strength >= 1.0);
    Some(evidence(trades).into_iter().fold(anomaly, Anomaly::evidence))
}

/// Says in a blocked sale's sentence that the owner can end it.
pub(super) fn note_owner_opens(report: &mut CodeReport) {
    for anomaly in report.anomalies.iter_mut().filter(|anomaly| anomaly.code == AnomalyCode::SellBlocked) {
        anomaly.sentence.push_str("; a call of the owner would let sales through");
    }
}

fn unbuyable(trades: &SimulatedTrades, at: &str) -> Option<Anomaly> {
    let refused = trades.buy.as_ref().filter(|buy| !buy.ok).and_then(|buy| buy.reason.as_ref());
    let why = trades.buy_reason.as_ref().or(refused)?;
    let shown = Evidence { what: "buy".into(), caller: Some("buyer".into()), after: Some(why.clone()), ..Evidence::default() };
    Some(Anomaly::new(AnomalyCode::BuyBlockable, 1.0, format!("nobody can buy it {at}: {why}")).evidence(shown))
}

/// The sale that is taxed most, if any is: a tax may come later, or only for some.
fn worst_sale(trades: &SimulatedTrades) -> Option<(&'static str, f64)> {
    let sales = [
        ("of a sale", &trades.sell),
        ("of a sale of the rest", &trades.sell_rest),
        ("of a sale a day later", &trades.sell_after_day),
        ("of a sale of what was sent", &trades.sell_received),
    ];
    let taxed = sales.into_iter().rev().filter_map(|(which, sale)| Some((which, sale.as_ref().filter(|sale| sale.ok)?.tax?)));
    // Of equals the first.
    taxed.filter(|(_, tax)| *tax >= TAX_MIN).max_by(|a, b| a.1.total_cmp(&b.1))
}

fn taxed(trades: &SimulatedTrades, at: &str) -> Option<Anomaly> {
    let (which, tax) = worst_sale(trades)?;
    let anomaly = Anomaly::new(AnomalyCode::SellTax, tax / TAX_FATAL, format!("{:.1} % {which} does not arrive {at}", tax * 100.0));
    let anomaly = anomaly.fatal(tax > TAX_FATAL).figure("tax", tax);
    Some(evidence(trades).into_iter().fold(anomaly, Anomaly::evidence))
}

/// Each trade with what became of it.
fn evidence(trades: &SimulatedTrades) -> Vec<Evidence> {
    let row = |(name, trade): (&str, &SimulatedTrade)| Evidence {
        what: name.to_owned(),
        before: Some("sent 100 %".to_owned()),
        after: Some(trade.outcome()),
        ..Evidence::default()
    };
    trades.tried().map(row).collect()
}
