//! Display wording of the API's identifiers; the only place to change it.

use serde::Serialize;

pub use crate::queries::security::warning;

/// Display text per identifier: patterns, advice, trends, pattern outcomes, line kinds.
const SHOWN: &[(&str, &str)] = &[
    ("head_and_shoulders", "Head and shoulders"),
    ("inverse_head_and_shoulders", "Inverse head and shoulders"),
    ("double_top", "Double top"),
    ("double_bottom", "Double bottom"),
    ("triple_top", "Triple top"),
    ("triple_bottom", "Triple bottom"),
    ("ascending_triangle", "Ascending triangle"),
    ("descending_triangle", "Descending triangle"),
    ("symmetrical_triangle", "Symmetrical triangle"),
    ("rising_wedge", "Rising wedge"),
    ("falling_wedge", "Falling wedge"),
    ("broadening_top", "Broadening top"),
    ("broadening_bottom", "Broadening bottom"),
    ("rectangle", "Rectangle"),
    ("ascending_channel", "Ascending channel"),
    ("descending_channel", "Descending channel"),
    ("bull_flag", "Bull flag"),
    ("bear_flag", "Bear flag"),
    ("bull_pennant", "Bull pennant"),
    ("bear_pennant", "Bear pennant"),
    ("cup_and_handle", "Cup and handle"),
    ("inverse_cup_and_handle", "Inverse cup and handle"),
    ("rounding_bottom", "Rounding bottom"),
    ("rounding_top", "Rounding top"),
    ("strong_buy", "Strong buy"),
    ("buy", "Buy"),
    ("watch", "Watch"),
    ("hold", "Hold"),
    ("sell", "Sell"),
    ("strong_sell", "Strong sell"),
    ("uptrend", "Uptrend"),
    ("downtrend", "Downtrend"),
    ("sideways", "Sideways"),
    ("fastest_third", "Fastest third"),
    ("middle_third", "Middle third"),
    ("slowest_third", "Slowest third"),
    ("forming", "forming"),
    ("confirmed", "confirmed"),
    ("reached", "target hit"),
    ("failed", "failed"),
];

/// Returns the display text of an identifier.
pub fn shown(word: &str) -> &str {
    SHOWN
        .iter()
        .find(|(known, _)| *known == word)
        .map_or(word, |(_, shown)| shown)
}

/// `Uniswap v3`: adds the version in the id, which distinguishes DEXes of one name.
pub fn versioned(name: &str, dex_id: &str) -> String {
    let digits = |version: &str| {
        version.len() > 1
            && version.starts_with('v')
            && version[1..].chars().all(|c| c.is_ascii_digit())
    };
    match dex_id
        .split('-')
        .find(|part| digits(part))
        .filter(|version| !name.to_lowercase().ends_with(*version))
    {
        Some(version) => format!("{name} {version}"),
        None => name.to_owned(),
    }
}

/// Like `shown`, for a value serialized as an identifier.
pub fn of(value: &impl Serialize) -> String {
    serde_json::to_value(value)
        .ok()
        .and_then(|value| value.as_str().map(shown).map(str::to_owned))
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use analysis::patterns::{AdviceWord, PatternName};

    #[test]
    fn no_word_of_an_answer_is_shown_with_its_underscores() {
        for name in PatternName::ALL {
            assert!(
                !shown(name.word()).contains('_') && shown(name.word()) != name.word(),
                "{}",
                name.word()
            );
        }
        for advice in AdviceWord::ALL {
            assert_eq!(of(&advice), shown(advice.word()));
            assert!(of(&advice).starts_with(|c: char| c.is_ascii_uppercase()));
        }
        assert_eq!(
            (shown("moderate"), shown("inverse_cup_and_handle")),
            ("moderate", "Inverse cup and handle")
        );
    }
}
