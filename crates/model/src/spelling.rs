//! "Did you mean" suggestions: the known name nearest to a misspelt one. The caller supplies the names, and words the suggestion.

/// Minimum similarity of a probable misspelling.
const LIKENESS_MIN: f64 = 0.75;

/// Similarity of two names in any letter case: their Jaro-Winkler similarity (from 0 to 1), and 1 to 3 more where their optimal string
/// alignment distance is at most two letters, and one of three.
pub fn likeness(name: &str, known: &str) -> f64 {
    let (name, known) = (name.to_lowercase(), known.to_lowercase());
    let slips = strsim::osa_distance(&name, &known);
    let near = if slips <= 2 && 3 * slips <= known.chars().count() { 3.0 - slips as f64 } else { 0.0 };
    near + strsim::jaro_winkler(&name, &known)
}

/// Whether `name` is `known` with a letter or two wrong.
pub fn is_slip_of(name: &str, known: &str) -> bool {
    likeness(name, known) > 1.0 && name != known
}

/// The known name nearest to `name`; none where none is known.
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    ranked(name, known).map(|(_, known)| known)
}

/// The known name nearest to `name`, if it is near enough to be meant.
pub fn meant<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    ranked(name, known).filter(|(likeness, _)| is_near(*likeness)).map(|(_, known)| known)
}

/// Whether a similarity is that of a probable misspelling.
pub fn is_near(likeness: f64) -> bool {
    likeness > LIKENESS_MIN
}

fn ranked<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<(f64, &'a str)> {
    let ranked = known.into_iter().map(|known| (likeness(name, known), known));
    ranked.max_by(|a, b| a.0.total_cmp(&b.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_of_a_letter_or_two_comes_before_a_name_that_begins_alike() {
        let known = ["timestamp", "time_of_day", "times"];
        assert_eq!(meant("timse", known), Some("times"));
        assert_eq!(meant("TimeStamp", known), Some("timestamp"));
        assert_eq!(nearest("qqqqqqqq", known), Some("times"));
        assert_eq!(meant("qqqqqqqq", known), None);
        assert_eq!(nearest("a", []), None);
        // Two wrong letters of a short name are too many.
        assert_eq!(meant("xxd", ["and"]), None);
    }
}
