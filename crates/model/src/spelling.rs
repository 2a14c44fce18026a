//! "Did you mean" suggestions: the known name most similar to a misspelled one. The caller supplies the names and words the suggestion.

/// Minimum similarity of a probable misspelling.
const LIKENESS_MIN: f64 = 0.75;

/// Similarity of two names, ignoring letter case: their Jaro-Winkler similarity (0 to 1), plus 3 minus their optimal string alignment
/// distance if that is at most two and at most a third of the length of `known`.
pub fn likeness(name: &str, known: &str) -> f64 {
    let (name, known) = (name.to_lowercase(), known.to_lowercase());
    let slips = strsim::osa_distance(&name, &known);
    let near = if slips <= 2 && 3 * slips <= known.chars().count() {
        3.0 - slips as f64
    } else {
        0.0
    };
    near + strsim::jaro_winkler(&name, &known)
}

/// Whether `name` is `known` with one or two letters wrong.
pub fn is_slip_of(name: &str, known: &str) -> bool {
    likeness(name, known) > 1.0 && name != known
}

/// The known name most similar to `name`; `None` if no names are known.
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    ranked(name, known).map(|(_, known)| known)
}

/// The known name most similar to `name`, if it is probably the intended one.
pub fn meant<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    ranked(name, known)
        .filter(|(likeness, _)| is_near(*likeness))
        .map(|(_, known)| known)
}

/// Whether a similarity suggests a misspelling.
pub fn is_near(likeness: f64) -> bool {
    likeness > LIKENESS_MIN
}

fn ranked<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<(f64, &'a str)> {
    let ranked = known
        .into_iter()
        .map(|known| (likeness(name, known), known));
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
