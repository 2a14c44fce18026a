//! What a finding says of a call and its effect: its sentence, and its evidence.

use super::super::{
    super::{AnomalyCode, Evidence},
    abi,
    effects::{FunctionEffect, Privilege},
};

pub(super) fn called(effect: &FunctionEffect) -> String {
    let caller = effect.call.caller.with_article();
    if effect.call.data.is_empty() {
        format!("{PAYMENT} by {caller}")
    } else {
        format!("{}, called by {caller},", beside(effect))
    }
}

const PAYMENT: &str = "a plain payment";

/// Display text of the call in evidence, where the selector has its own field.
fn what(effect: &FunctionEffect) -> String {
    if effect.call.data.is_empty() {
        PAYMENT.into()
    } else {
        abi::named(effect.call.selector, &effect.call.arguments)
    }
}

/// Display text of the call in a sentence.
pub(super) fn beside(effect: &FunctionEffect) -> String {
    if effect.call.data.is_empty() {
        PAYMENT.into()
    } else {
        abi::named_beside(effect.call.selector, &effect.call.arguments)
    }
}

pub(super) fn sentence(code: AnomalyCode, effect: &FunctionEffect) -> String {
    let call = called(effect);
    let more = effect
        .change
        .as_ref()
        .map_or_else(String::new, |change| format!(" ({change})"));
    let change = format!("{}{more}", change(&effect.before, &effect.after));
    let before = &effect.before;
    match code {
        AnomalyCode::PublicDrain | AnomalyCode::OwnerDrain if effect.power == Privilege::Theft => {
            format!(
                "after {}, a holder's tokens can be moved without approval",
                call.trim_end_matches(',')
            )
        }
        AnomalyCode::OwnerDrain if effect.power == Privilege::ArbitraryCall => {
            format!(
                "{call} makes the contract call any address with any data, so its assets can be taken"
            )
        }
        AnomalyCode::OwnerRescue => {
            format!("{call} withdraws tokens sent to the contract itself: {change}")
        }
        AnomalyCode::PublicDrain | AnomalyCode::OwnerDrain => {
            format!("{call} takes tokens that are not the caller's: {change}")
        }
        AnomalyCode::HiddenMint => {
            format!("{call} mints without a Transfer event from the zero address: {change}")
        }
        AnomalyCode::TaxRaisable => format!("{call} raises the tax: {change}"),
        AnomalyCode::Blacklist if effect.power == Privilege::StopSells => {
            format!(
                "{call} blocks all sells, although its arguments are not those of a pause function"
            )
        }
        AnomalyCode::Blacklist if effect.size < 1.0 => {
            format!(
                "{call} blocks one holder's transfers, while others can transfer and the holder can still sell through a router"
            )
        }
        AnomalyCode::Blacklist => {
            format!("{call} blocks one holder's sells, while others can sell")
        }
        AnomalyCode::PersonalTax => format!("{call} raises the tax of one holder only: {change}"),
        AnomalyCode::Whitelist => format!("{call} exempts one holder from the tax: {change}"),
        AnomalyCode::LimitChangeable => format!("{call} lowers the maximum sell: {change}"),
        AnomalyCode::ExternalGate if effect.of_other => {
            format!(
                "{call} at {:#x}, which every trade calls, changes the outcome: {change}",
                effect.call.to
            )
        }
        AnomalyCode::ExternalGate => format!("{call} makes transfers depend on another contract"),
        AnomalyCode::EventLie => {
            format!("{call} emits a Transfer event that moves nothing ({before} before and after)")
        }
        AnomalyCode::SelfDestruct => {
            format!(
                "{call} sends away all of the contract's coins (since 2024, SELFDESTRUCT no longer deletes a contract)"
            )
        }
        AnomalyCode::DelegatecallAny => {
            format!("{call} executes caller-supplied code with delegatecall")
        }
        AnomalyCode::PublicMint | AnomalyCode::OwnerMint => format!("{call} mints: {change}"),
        AnomalyCode::BuyBlockable => format!("{call} blocks all buys"),
        _ => format!("{call} blocks all sells"),
    }
}

/// Before → after; a common owner and unit appear once.
fn change(before: &str, after: &str) -> String {
    for unit in [" tokens", " base units"] {
        let figure = |text: &str| {
            text.strip_suffix(unit)
                .and_then(|text| text.rsplit_once(' '))
                .map(|(who, figure)| (who.to_owned(), figure.to_owned()))
        };
        if let (Some((who, was)), Some((same, now))) = (figure(before), figure(after))
            && who == same
        {
            return format!("{who} {was} → {now}{unit}");
        }
    }
    format!("{before} → {after}")
}

pub(super) fn proof(effect: &FunctionEffect) -> Evidence {
    Evidence {
        what: what(effect),
        change: effect.change.clone(),
        selector: (!effect.call.data.is_empty()).then(|| abi::hex(effect.call.selector)),
        caller: Some(effect.call.caller.word().into()),
        before: Some(effect.before.clone()),
        after: Some(effect.after.clone()),
        rows: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::change;

    #[test]
    fn a_change_names_its_owner_and_unit_once() {
        let cases = [
            (
                "other holder 2,000 tokens",
                "other holder 0 tokens",
                "other holder 2,000 → 0 tokens",
            ),
            (
                "supply 1e24 base units",
                "supply 2e24 base units",
                "supply 1e24 → 2e24 base units",
            ),
            (
                "holder 2 tokens",
                "pair 2 tokens",
                "holder 2 tokens → pair 2 tokens",
            ),
            (
                "buy receives 100.0%",
                "buy receives 33.3%",
                "buy receives 100.0% → buy receives 33.3%",
            ),
        ];
        for (before, after, text) in cases {
            assert_eq!(change(before, after), text);
        }
    }
}
