//! One word, one thing: no two public types share a name.

use std::collections::BTreeMap;

use super::{
    hold,
    source::{sources, words},
};

#[test]
fn no_two_public_types_share_a_name() {
    let mut places: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for source in sources("src") {
        for (line, text) in source.code() {
            let said: Vec<&str> = words(text).iter().take(3).map(|word| word.text).collect();
            // What a macro will name begins with a small letter.
            if let ["pub", "struct" | "enum" | "trait" | "type", name] = said[..]
                && name.starts_with(char::is_uppercase)
            {
                places.entry(name.to_owned()).or_default().push(format!("{}:{line}", source.path));
            }
        }
    }
    // Were types not found at all, nothing would be held.
    assert!(places.len() > 300, "{} types", places.len());
    let repeated = places.into_iter().filter(|(_, places)| places.len() > 1);
    let broken: Vec<String> = repeated.map(|(name, places)| format!("`{name}`: {}", places.join(", "))).collect();
    hold("no two public types share a name", &broken);
}
