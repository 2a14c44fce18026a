//! Fuzzy matching for the palette: a subsequence of letters, better when close together and near the start of words.

/// The match score of `word` (already lower case) in `text`, higher is better; `None` if its letters do not occur in order.
pub fn score(word: &str, text: &str) -> Option<i32> {
    let letters: Vec<char> = text.chars().flat_map(char::to_lowercase).collect();
    let wanted: Vec<char> = word.chars().collect();
    if wanted.is_empty() {
        return Some(0);
    }
    // A substring beats scattered letters; best at the start of a word, and best of all as the whole word.
    let mut best = None;
    for start in 0..letters.len() {
        if letters[start..].starts_with(&wanted) {
            let end = start + wanted.len();
            let boundary = start == 0 || !letters[start - 1].is_alphanumeric();
            let whole = boundary && letters.get(end).is_none_or(|c| !c.is_alphanumeric());
            let points =
                1_000 + 200 * i32::from(boundary) + 200 * i32::from(whole) + 100 * i32::from(start == 0) - letters.len().min(99) as i32;
            best = best.max(Some(points));
        }
    }
    best.or_else(|| subsequence_score(&wanted, &letters))
}

/// A greedy subsequence match; a letter at the start of a word or right after the previous one scores higher.
fn subsequence_score(wanted: &[char], letters: &[char]) -> Option<i32> {
    let (mut points, mut at, mut last) = (0, 0, None);
    for &letter in wanted {
        let found = at + letters[at..].iter().position(|&c| c == letter)?;
        let starts = found == 0 || !letters[found - 1].is_alphanumeric();
        points += 10 * i32::from(starts) + 5 * i32::from(last == Some(found.wrapping_sub(1)));
        points -= (found - at).min(9) as i32;
        last = Some(found);
        at = found + 1;
    }
    Some(points)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn better_matches_score_higher() {
        let ranked = ["usd", "usd coin", "wrapped usd", "susd", "unlisted"];
        let scores: Vec<_> = ranked.iter().map(|text| score("usd", text)).collect();
        assert!(scores.windows(2).all(|pair| pair[0] > pair[1]), "{scores:?}");
        assert_eq!(score("usd", "dust"), None);
        assert!(score("cs", "copy symbol") > score("cs", "ecosia"));
        assert_eq!(score("", "anything"), Some(0));
    }
}
