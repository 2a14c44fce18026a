//! The plain words of a filter: in which texts each is found, with letters missing or not.

/// For filters, where a loose match is a wrong row: the word inside the text, or from four letters on its letters spread over no more
/// than twice its length.
pub fn contains(word: &str, text: &str) -> bool {
    let letters: Vec<char> = text.chars().flat_map(char::to_lowercase).collect();
    let wanted: Vec<char> = word.chars().collect();
    if wanted.is_empty() || letters.windows(wanted.len()).any(|run| run == wanted) {
        return true;
    }
    wanted.len() >= 4
        && letters.windows((wanted.len() * 2).min(letters.len().max(1))).any(|run| {
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
