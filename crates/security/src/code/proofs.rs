//! Evidence that a check found nothing: the simulated trades and the tested calls, with the state before and after. Nothing is executed or
//! evaluated here.

use revm::primitives::U256;

use super::{
    super::{AnomalyCode, Evidence},
    abi,
    effects::{After, Baseline, Caller},
    findings::Traded,
    privileges::Tried,
    signatures::SelectorNames,
    trade_simulation::{Opening, SimulatedLeg},
};

/// Maximum number of calls shown per check; the number of further ones is stated.
const CALLS_MAX: usize = 5;
const REFUSED: &str = "refused";

/// The quantity a check compares before and after a call.
#[derive(Clone, Copy)]
enum Watched {
    Holder,
    Supply,
    Sell,
    Buy,
    Trades,
}

/// Checks of function calls: the watched quantity, and whether calls by any caller are meant.
const WATCHED: &[(AnomalyCode, Watched, bool)] = &[
    (AnomalyCode::PublicDrain, Watched::Holder, true),
    (AnomalyCode::OwnerDrain, Watched::Holder, false),
    (AnomalyCode::PublicMint, Watched::Supply, true),
    (AnomalyCode::OwnerMint, Watched::Supply, false),
    (AnomalyCode::HiddenMint, Watched::Supply, false),
    (AnomalyCode::Blacklist, Watched::Sell, false),
    (AnomalyCode::Pausable, Watched::Sell, false),
    (AnomalyCode::ExternalGate, Watched::Sell, false),
    (AnomalyCode::BuyBlockable, Watched::Buy, false),
    (AnomalyCode::TaxRaisable, Watched::Trades, false),
];
/// Checks of the trades themselves.
const TRADED: &[AnomalyCode] = &[
    AnomalyCode::SellBlocked,
    AnomalyCode::SellTax,
    AnomalyCode::EventLie,
];

/// For every check by execution, the calls behind it.
pub(super) fn passed(
    traded: &Traded<'_>,
    before: &Baseline<'_>,
    tried: &[Tried],
) -> Vec<(AnomalyCode, Vec<Evidence>)> {
    let legs = legs(traded);
    let names = SelectorNames::new();
    let of_trades = TRADED.iter().map(|code| (*code, legs.clone()));
    let of_calls = WATCHED.iter().map(|(code, watched, strangers)| {
        let own = tried
            .iter()
            .filter(|tried| (tried.caller == Caller::Stranger) == *strangers);
        (*code, calls(before, own, *watched, &names))
    });
    of_trades
        .chain(of_calls)
        .filter(|(_, proof)| !proof.is_empty())
        .collect()
}

/// The trial's buy, sell and transfer, after trading was opened.
fn legs(traded: &Traded<'_>) -> Vec<Evidence> {
    // A trade that needed writing to storage succeeds for nobody in reality.
    let trial = if traded.opening == Opening::StorageWrite {
        traded.first
    } else {
        traded.trial
    };
    let amount = abi::amount(traded.funding.amount, traded.funding.decimals);
    let leg = |what: &str, caller: &str, leg: &SimulatedLeg| Evidence {
        what: format!("{what} of {amount}"),
        caller: Some(caller.into()),
        before: Some("sent 100%".into()),
        after: Some(if leg.ok { arrived(leg) } else { "fails".into() }),
        ..Evidence::default()
    };
    vec![
        leg("buy", "pair", &trial.buy),
        leg("sell", "router", &trial.sell),
        leg("transfer", "holder", &trial.send),
    ]
}

fn arrived(leg: &SimulatedLeg) -> String {
    format!("received {:.1}%", leg.share * 100.0)
}

/// Calls as evidence: those that changed something, then those that reverted.
fn calls<'a>(
    before: &Baseline<'_>,
    tried: impl Iterator<Item = &'a Tried>,
    watched: Watched,
    names: &SelectorNames,
) -> Vec<Evidence> {
    let mut shown: Vec<(u8, Evidence)> = tried
        .filter_map(|tried| call(before, tried, watched, names))
        .collect();
    // The sort is stable: equals keep the order of the functions.
    shown.sort_by_key(|(rank, _)| *rank);
    let more = shown.len().saturating_sub(CALLS_MAX);
    let mut proof: Vec<Evidence> = shown
        .into_iter()
        .take(CALLS_MAX)
        .map(|(_, evidence)| evidence)
        .collect();
    if more > 0 {
        let s = if more == 1 { "" } else { "s" };
        proof.push(Evidence {
            what: format!("and {more} more function{s}"),
            ..Evidence::default()
        });
    }
    proof
}

/// Evidence of one call; `None` if the watched quantity was not examined after it.
fn call(
    before: &Baseline<'_>,
    tried: &Tried,
    watched: Watched,
    names: &SelectorNames,
) -> Option<(u8, Evidence)> {
    let was = before.unchanged();
    let decimals = before.scene.funding.decimals;
    let [then, now] = match (&tried.after, watched) {
        (None, _) => [state(&was, watched, decimals)?, REFUSED.into()],
        (Some(after), Watched::Holder) => amounts("holder", was.holder, after.holder, decimals),
        (Some(after), Watched::Supply) => amounts("supply", was.supply?, after.supply?, decimals),
        (Some(after), _) => [
            state(&was, watched, decimals)?,
            state(after, watched, decimals)?,
        ],
    };
    let rank = match &tried.after {
        Some(after) if after.moved => 0,
        Some(after) if after.trades.is_some() => 1,
        None => 2,
        // A call that changes nothing comes last.
        Some(_) => 3,
    };
    let (hex, arguments) = (abi::hex(tried.selector), &tried.arguments);
    let evidence = Evidence {
        what: format!("{}({arguments})", names.of(tried.selector).unwrap_or(&hex)),
        selector: Some(hex),
        caller: Some(tried.caller.word().into()),
        before: Some(then),
        after: Some(now),
        ..Evidence::default()
    };
    Some((rank, evidence))
}

/// Two amounts with enough digits to show their difference.
fn amounts(whose: &str, was: U256, now: U256, decimals: Option<u8>) -> [String; 2] {
    let [then, now, _] = abi::change(was, now, decimals);
    [format!("{whose} {then}"), format!("{whose} {now}")]
}

fn state(after: &After, watched: Watched, decimals: Option<u8>) -> Option<String> {
    let goes = |what: &str, leg: &SimulatedLeg| {
        format!("{what} {}", if leg.ok { "succeeds" } else { "fails" })
    };
    let trades = after.trades.as_ref();
    Some(match watched {
        Watched::Holder => format!("holder {}", abi::amount(after.holder, decimals)),
        Watched::Supply => format!("supply {}", abi::amount(after.supply?, decimals)),
        Watched::Buy => goes("buy", &trades?[0]),
        Watched::Sell => goes("sell", &trades?[1]),
        Watched::Trades => {
            let [buy, sell] = trades?;
            let share = |leg: &SimulatedLeg| if leg.ok { arrived(leg) } else { "fails".into() };
            format!("buy {}, sell {}", share(buy), share(sell))
        }
    })
}
