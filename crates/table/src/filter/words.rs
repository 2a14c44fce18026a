//! Fuzzy matching of a filter's plain words.

/// Whether the word is a substring of the text or, from four letters on, a subsequence spread over at most twice its length; a looser match
/// would keep wrong rows.
pub fn contains(word: &str, text: &str) -> bool {
    let letters: Vec<char> = text.chars().flat_map(char::to_lowercase).collect();
    let wanted: Vec<char> = word.chars().collect();
    if wanted.is_empty() || letters.windows(wanted.len()).any(|run| run == wanted) {
        return true;
    }
    wanted.len() >= 4
        && letters
            .windows((wanted.len() * 2).min(letters.len().max(1)))
            .any(|run| {
                let mut run = run.iter();
                wanted.iter().all(|letter| run.any(|c| c == letter))
            })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_word_forgives_missing_letters_but_not_distance() {
        let cases = [
            ("usd", "USD Coin", true),
            ("usd", "unlisted", false),
            ("wrpd", "Wrapped Ether", true),
            ("weth", "what is there", false),
            ("ether", "Wrapped ETHER", true),
        ];
        for (word, text, expected) in cases {
            assert_eq!(contains(word, text), expected, "{word} in {text}");
        }
    }
}
