//! Interpretation of the simulated trades: findings, taxes, and the evidence of successful trades.

use super::{LATER, SaleTrial, TradeDifference, Trials};
use crate::{
    Anomaly, AnomalyCode, Evidence, Taxes,
    code::{
        findings::{SOME_SALES, TAX_FATAL, TAX_MIN},
        pool_trades::Deal,
    },
    simulation::{SimulatedTrade, SimulatedTrades, SimulatedTrial},
};

/// What arrives of a later sale, compared with the usual one, below which it counts as failed, and below which it counts as taxed.
pub(super) const KEPT: f64 = 0.5;
pub(super) const LESS: f64 = 0.8;

/// A sell that fails while the usual one succeeds: its strength, and its name in a sentence.
const RESTRICTED: [(SaleTrial, f64, &str); 20] = [
    (SaleTrial::Hour, 1.0, "a sell an hour later"),
    (SaleTrial::SixHours, 1.0, "a sell six hours later"),
    (SaleTrial::TwelveHours, 1.0, "a sell twelve hours later"),
    (SaleTrial::EighteenHours, 1.0, "a sell 18 hours later"),
    (SaleTrial::Day, 1.0, "a sell a day later"),
    (SaleTrial::ThreeDays, 1.0, "a sell three days later"),
    (SaleTrial::Week, 1.0, "a sell a week later"),
    (SaleTrial::Fortnight, 1.0, "a sell two weeks later"),
    (SaleTrial::Month, 1.0, "a sell 30 days later"),
    (SaleTrial::Year, 0.8, "a sell 400 days later"),
    (
        SaleTrial::WithCoins,
        0.8,
        "a sell after coins are sent to the contract",
    ),
    (
        SaleTrial::WithTokens,
        0.8,
        "a sell after tokens are sent to the contract",
    ),
    (
        SaleTrial::AfterOthers,
        1.0,
        "a sell by an earlier buyer, once 25 others have bought,",
    ),
    (SaleTrial::Third, 0.8, "a holder's third sell"),
    (SaleTrial::Again, 0.8, "a sell by a holder who buys again"),
    (
        SaleTrial::LargeHolder,
        0.8,
        "even a small sell by a holder of 1% of the supply",
    ),
    (
        SaleTrial::Received,
        SOME_SALES,
        "a sell of tokens received by transfer",
    ),
    (
        SaleTrial::Tenth,
        SOME_SALES,
        "a sell of a tenth of the balance",
    ),
    (
        SaleTrial::Straight,
        0.3,
        "a sell in the pool without the exchange's router",
    ),
    (SaleTrial::OtherRouter, 0.3, "a sell through another router"),
];
/// Share of the pool from which a largest trade counts in full; strength of a remainder that cannot be sold.
const LIMIT_FULL: f64 = 0.01;
const LIMIT_REMAINDER: f64 = 0.2;
/// Strength of a larger sale that loses more than half.
const LARGE_TAKES: f64 = 0.8;
/// A smaller part that can be sold at once is more than a remainder that is left over.
const MOST: f64 = 0.9;

/// All that the trades show. `at`: where they were made, such as `in its uniswap-v2 pool at block 1`.
pub(in crate::code) fn findings(trials: &Trials, at: &str) -> Vec<Anomaly> {
    let sales = [
        blocked(trials, at),
        unbuyable(trials, at),
        taxed(trials, at),
    ];
    sales
        .into_iter()
        .flatten()
        .chain(beside(trials, at))
        .collect()
}

/// What the trades show beside the usual purchase and sale.
pub(in crate::code) fn beside(trials: &Trials, at: &str) -> Vec<Anomaly> {
    [
        aware(trials, at),
        buy_taxed(trials, at),
        cooldown(trials, at),
        limited(trials, at),
        restricted(trials, at),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn why(deal: &Deal) -> &str {
    deal.reason.as_deref().unwrap_or("no reason given")
}

pub(in crate::code) fn blocked(trials: &Trials, at: &str) -> Option<Anomaly> {
    let sell = trials.sell.as_ref().filter(|sell| !sell.ok)?;
    let who = if trials.buy_reason.is_some() {
        "an earlier buyer"
    } else {
        "a new buyer"
    };
    let opens = LATER
        .iter()
        .find(|(sale, _)| trials.of(*sale).is_some_and(|deal| deal.ok));
    let (strength, text) = match opens {
        Some((_, seconds)) => {
            let when = waiting(*seconds);
            (
                SOME_SALES,
                format!(
                    "{who} can sell only {when} later, not immediately, {at}: {}",
                    why(sell)
                ),
            )
        }
        None => (1.0, format!("{who} cannot sell {at}: {}", why(sell))),
    };
    let anomaly = Anomaly::new(AnomalyCode::SellBlocked, strength, text).fatal(strength >= 1.0);
    Some(
        evidence(trials)
            .into_iter()
            .fold(anomaly, Anomaly::evidence),
    )
}

/// `an hour`, `30 days`.
pub(in crate::code) fn waiting(seconds: u64) -> String {
    match (seconds / super::DAY, seconds / super::HOUR) {
        (0, 0) => format!("{} minutes", seconds.div_ceil(60)),
        (0, 1) => "an hour".to_owned(),
        (0, hours) => format!("{hours} hours"),
        (1, _) => "a day".to_owned(),
        (days, _) => format!("{days} days"),
    }
}

fn unbuyable(trials: &Trials, at: &str) -> Option<Anomaly> {
    let refused = trials
        .buy
        .as_ref()
        .filter(|buy| !buy.ok)
        .and_then(|buy| buy.reason.as_ref());
    let why = trials.buy_reason.as_ref().or(refused)?;
    let shown = Evidence {
        what: "buy".into(),
        caller: Some("buyer".into()),
        after: Some(why.clone()),
        ..Evidence::default()
    };
    Some(
        Anomaly::new(
            AnomalyCode::BuyBlockable,
            1.0,
            format!("buying fails {at}: {why}"),
        )
        .evidence(shown),
    )
}

/// The sale that is taxed most, if any is: a tax may come later, or only for some.
fn worst_sale(trials: &Trials) -> Option<(&'static str, f64)> {
    let sales = [
        ("a sell", trials.sell.as_ref()),
        ("selling the rest", trials.of(SaleTrial::Rest)),
        ("a sell a day later", trials.of(SaleTrial::Day)),
        ("selling received tokens", trials.of(SaleTrial::Received)),
    ];
    let taxed = sales
        .into_iter()
        .rev()
        .filter_map(|(which, sale)| Some((which, sale.filter(|sale| sale.ok)?.tax?)));
    // Of equals the first.
    taxed
        .filter(|(_, tax)| *tax >= TAX_MIN)
        .max_by(|a, b| a.1.total_cmp(&b.1))
}

/// The taxes of the trades.
pub(in crate::code) fn taxes(trials: &Trials) -> Taxes {
    let tax = |trade: &Option<Deal>| {
        trade
            .as_ref()
            .and_then(|trade| trade.tax)
            .map(|tax| if tax < TAX_MIN { 0.0 } else { tax })
    };
    let sell = worst_sale(trials).map_or_else(|| tax(&trials.sell), |(_, tax)| Some(tax));
    Taxes {
        buy: tax(&trials.buy),
        sell,
        transfer: tax(&trials.transfer),
    }
}

fn taxed(trials: &Trials, at: &str) -> Option<Anomaly> {
    let (which, tax) = worst_sale(trials)?;
    let anomaly = Anomaly::new(
        AnomalyCode::SellTax,
        tax / TAX_FATAL,
        format!("{:.1}% tax on {which} {at}", tax * 100.0),
    );
    let anomaly = anomaly.fatal(tax > TAX_FATAL).figure("tax", tax);
    Some(
        evidence(trials)
            .into_iter()
            .fold(anomaly, Anomaly::evidence),
    )
}

fn buy_taxed(trials: &Trials, at: &str) -> Option<Anomaly> {
    let tax = trials
        .buy
        .as_ref()
        .filter(|buy| buy.ok)?
        .tax
        .filter(|tax| *tax >= TAX_MIN)?;
    let text = format!("{:.1}% tax on a buy {at}", tax * 100.0);
    let shown = Evidence {
        what: "buy".into(),
        before: Some("sent 100%".into()),
        after: Some(received(tax)),
        ..Evidence::default()
    };
    Some(
        Anomaly::new(AnomalyCode::BuyTax, tax / TAX_FATAL, text)
            .fatal(tax > TAX_FATAL)
            .figure("tax", tax)
            .evidence(shown),
    )
}

fn received(tax: f64) -> String {
    format!("received {:.1}%", (1.0 - tax) * 100.0)
}

/// Trades that come out otherwise when something changes that no honest contract looks at.
fn aware(trials: &Trials, at: &str) -> Option<Anomaly> {
    let TradeDifference {
        changed,
        usual,
        brought,
    } = trials.differences.first()?;
    let share = |worth: &f64| format!("{:.0}%", worth * 100.0);
    let text = format!(
        "the same trade returns {} with {changed} but {} otherwise, {at}",
        share(brought),
        share(usual)
    );
    let anomaly = Anomaly::new(AnomalyCode::SimulatorAware, 1.0, text).fatal(true);
    let shown = trials.differences.iter().map(|difference| Evidence {
        what: format!("the same trade with {}", difference.changed),
        before: Some(format!("returns {}", share(&difference.usual))),
        after: Some(format!("returns {}", share(&difference.brought))),
        ..Evidence::default()
    });
    Some(shown.fold(anomaly, Anomaly::evidence))
}

/// Whether a sell returns less than this fraction of the usual one, so that it counts as failed or as taxed more.
fn falls(trials: &Trials, deal: &Deal, below: f64) -> bool {
    trials
        .sell
        .as_ref()
        .is_some_and(|usual| deal.worth() < below * usual.worth().min(1.0))
}

/// The sales that fail while the usual one goes through; the strongest makes the sentence.
fn restricted(trials: &Trials, at: &str) -> Option<Anomaly> {
    if !trials.sells() {
        return None;
    }
    let mut found: Vec<(f64, String)> = Vec::new();
    for (sale, strength, which) in RESTRICTED {
        let Some(deal) = trials.of(sale).filter(|deal| falls(trials, deal, LESS)) else {
            continue;
        };
        if deal.ok && !falls(trials, deal, KEPT) {
            found.push((
                strength * SOME_SALES,
                format!("{which} returns only {:.0}%", deal.worth() * 100.0),
            ));
        } else {
            let returns = || format!("{which} returns only {:.0}%", deal.worth() * 100.0);
            found.push((
                strength,
                deal.reason
                    .as_ref()
                    .map_or_else(returns, |reason| format!("{which} fails: {reason}")),
            ));
        }
    }
    let worth = |deal: &Option<Deal>| {
        deal.as_ref()
            .filter(|deal| deal.ok)
            .map(|deal| deal.worth().min(1.0))
    };
    if let (Some(first), Some(late)) = (worth(&trials.buy), worth(&trials.late_buy))
        && late < LESS * first
    {
        found.push((
            SOME_SALES,
            format!(
                "after 25 other buyers, a buy returns {:.0}% instead of {:.0}%",
                late * 100.0,
                first * 100.0
            ),
        ));
    }
    if let Some(brings) = trials.large_brings {
        let above = trials.largest.map_or_else(
            || "even 2%".to_owned(),
            |share| format!("more than {:.0}%", share * 100.0),
        );
        found.push((
            LARGE_TAKES,
            format!(
                "a sell of {above} of the pool returns only {:.0}% of the pool's quote",
                brings * 100.0
            ),
        ));
    }
    if let Some(all) = trials
        .of(SaleTrial::All)
        .filter(|all| !all.ok && trials.part.is_none_or(|part| part < MOST))
    {
        let part = trials.part.map_or_else(
            || "more than half".to_owned(),
            |part| format!("more than {:.0}%", part * 100.0),
        );
        found.push((
            SOME_SALES,
            format!(
                "a holder cannot sell {part} of their tokens in one transaction: {}",
                why(all)
            ),
        ));
    }
    let strength = found
        .iter()
        .map(|(strength, _)| *strength)
        .reduce(f64::max)?;
    let text = found
        .iter()
        .find(|(of, _)| *of >= strength)
        .map(|(_, text)| text.clone())?;
    let anomaly = Anomaly::new(
        AnomalyCode::ClosesLater,
        strength,
        format!("the usual sell succeeds {at}, but {text}"),
    );
    let shown = found.iter().map(|(_, text)| Evidence {
        what: text.clone(),
        before: Some("succeeds".into()),
        ..Evidence::default()
    });
    Some(shown.fold(anomaly, Anomaly::evidence))
}

/// Sales that have to wait for some blocks.
fn cooldown(trials: &Trials, at: &str) -> Option<Anomaly> {
    if !trials.sells() {
        return None;
    }
    let fails = |sale| trials.of(sale).filter(|deal| falls(trials, deal, LESS));
    let third = trials
        .of(SaleTrial::Third)
        .is_some_and(|deal| !falls(trials, deal, LESS));
    let after_purchase =
        fails(SaleTrial::Soon).map(|deal| ("a sell in the block after the buy", deal));
    let after_sale = fails(SaleTrial::Next)
        .filter(|_| third)
        .map(|deal| ("a second sell in the next block", deal));
    let (which, deal) = after_purchase.or(after_sale)?;
    let shown = Evidence {
        what: which.into(),
        after: Some(deal.shown().outcome()),
        ..Evidence::default()
    };
    let text = format!("{which} fails {at}, but a sell a few minutes later succeeds");
    Some(Anomaly::new(AnomalyCode::Cooldown, 1.0, text).evidence(shown))
}

/// The largest trade, where one of a fifth of the pool does not go through, or a holder cannot sell everything.
fn limited(trials: &Trials, at: &str) -> Option<Anomaly> {
    if !trials.sells() {
        return None;
    }
    let of_pool = trials.too_large.as_ref().map(|why| match trials.largest {
        Some(share) => format!(
            "at most {:.0}% of the pool can be bought and sold per transaction {at}: {why}",
            share * 100.0
        ),
        None => {
            format!("not even 2% of the pool can be bought and sold per transaction {at}: {why}")
        }
    });
    let part = trials.part.filter(|part| *part >= MOST);
    let of_holding =
        part.map(|part| format!("a holder can sell {:.0}% of their tokens in one transaction, but not all of them, {at}", part * 100.0));
    let text = of_pool.or(of_holding)?;
    let shown = Evidence {
        what: "a larger trade".into(),
        after: Some("fails".into()),
        ..Evidence::default()
    };
    // The smaller the largest trade, the worse.
    let strength = match trials.largest.filter(|_| trials.too_large.is_some()) {
        Some(share) => LIMIT_FULL / share.max(LIMIT_FULL),
        None if trials.too_large.is_some() => 1.0,
        None => LIMIT_REMAINDER,
    };
    let anomaly = Anomaly::new(AnomalyCode::Limit, strength, text);
    Some(
        trials
            .largest
            .into_iter()
            .fold(anomaly, |anomaly, share| {
                anomaly.figure("largest_share", share)
            })
            .evidence(shown),
    )
}

/// Each trade with its result.
pub(in crate::code) fn evidence(trials: &Trials) -> Vec<Evidence> {
    let row = |(name, trade): (&str, &SimulatedTrade)| Evidence {
        what: name.to_owned(),
        before: Some("sent 100%".to_owned()),
        after: Some(trade.outcome()),
        ..Evidence::default()
    };
    shown(trials)
        .tried()
        .map(|(name, trade)| row((name, trade)))
        .collect()
}

/// The trades as the answer has them; where the usual sale fails, of the further ones those that go through.
pub(in crate::code) fn shown(trials: &Trials) -> SimulatedTrades {
    let trade = |deal: Option<&Deal>| deal.map(Deal::shown);
    let own = [SaleTrial::Rest, SaleTrial::Day, SaleTrial::Received];
    SimulatedTrades {
        buy: trade(trials.buy.as_ref()),
        buy_reason: trials.buy_reason.clone(),
        sell: trade(trials.sell.as_ref()),
        sell_rest: trade(trials.of(SaleTrial::Rest)),
        transfer: trade(trials.transfer.as_ref()),
        sell_after_day: trade(trials.of(SaleTrial::Day)),
        sell_received: trade(trials.of(SaleTrial::Received)),
        largest_share: trials.largest,
        trials: trials
            .others
            .iter()
            .filter(|(sale, deal)| !own.contains(sale) && (trials.sells() || deal.ok))
            .map(|(sale, deal)| SimulatedTrial {
                name: sale.name().to_owned(),
                trade: deal.shown(),
            })
            .collect(),
    }
}
