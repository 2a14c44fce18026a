//! Unique names: no two types visible outside their module share a name.

use std::collections::BTreeMap;

use super::{
    hold,
    source::{program, words},
};

/// Keywords of type definitions.
const DEFINES: [&str; 4] = ["struct", "enum", "trait", "type"];

#[test]
fn no_two_types_known_outside_their_module_share_a_name() {
    let mut places: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for source in program() {
        for (line, text) in source.code() {
            let words: Vec<&str> = words(text).iter().map(|word| word.text).collect();
            // `pub`, optionally with a restriction.
            let Some(at) = words.iter().position(|word| DEFINES.contains(word)).filter(|_| words[0] == "pub") else { continue };
            let visible = words[1..at].iter().all(|word| !["fn", "use", "mod", "const", "static"].contains(word));
            // Skips macro variables, which are lowercase.
            if let Some(name) = words.get(at + 1).filter(|name| visible && name.starts_with(char::is_uppercase)) {
                places.entry((*name).to_owned()).or_default().push(format!("{}:{line}", source.path));
            }
        }
    }
    // Guards against a scan that finds no types at all.
    assert!(places.len() > 600, "{} types", places.len());
    let repeated = places.into_iter().filter(|(_, places)| places.len() > 1);
    let broken: Vec<String> = repeated.map(|(name, places)| format!("`{name}`: {}", places.join(", "))).collect();
    hold("no two types that are known outside their module share a name", &broken);
}
