//! The user's annotations of a token: price levels and a note. Storing them belongs to the program.

use std::{collections::BTreeMap, fmt};

use serde::{Deserialize, Serialize};

use crate::{address::Address, untrusted::is_invisible};

/// Maximum number of levels of a token, and of tokens with any annotation.
pub const LEVELS_MAX: usize = 20;
pub const TOKENS_MAX: usize = 2_000;
/// Maximum number of characters of a level's name and of a note.
pub const NAME_CHARS_MAX: usize = 24;
pub const NOTE_CHARS_MAX: usize = 500;

/// The annotations of every token that has any.
pub type Annotations = BTreeMap<Address, TokenAnnotations>;

/// The annotations on a token.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct TokenAnnotations {
    /// By descending price.
    pub levels: Vec<UserLevel>,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub note: String,
}

/// A named price.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct UserLevel {
    pub name: String,
    pub price: f64,
}

/// A change of a token's annotations.
#[derive(Debug, Clone, PartialEq)]
pub enum Annotation {
    /// Sets the level of that name.
    Level(UserLevel),
    /// Removes the level of that name.
    NoLevel(String),
    /// Sets the note; an empty one removes it.
    Note(String),
}

/// Reason why an annotation is not set; its words explain what to do.
#[derive(Debug, Clone, PartialEq)]
pub enum AnnotationError {
    NotAPrice(f64),
    TooManyLevels,
    TooManyTokens,
}

impl fmt::Display for AnnotationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotAPrice(price) => write!(
                f,
                "`{price}` is not a price; enter a number above zero, such as 7.25"
            ),
            Self::TooManyLevels => write!(
                f,
                "the token already has {LEVELS_MAX} levels; remove one first"
            ),
            Self::TooManyTokens => write!(
                f,
                "{TOKENS_MAX} tokens already have levels or a note; clear one of them first"
            ),
        }
    }
}

impl std::error::Error for AnnotationError {}

impl From<AnnotationError> for String {
    fn from(error: AnnotationError) -> Self {
        error.to_string()
    }
}

impl UserLevel {
    /// A level with a readable name (or its price, if the name is empty) and a price above zero.
    pub fn new(name: &str, price: f64) -> Result<Self, AnnotationError> {
        let name = readable(name, NAME_CHARS_MAX);
        if !(price.is_finite() && price > 0.0) {
            return Err(AnnotationError::NotAPrice(price));
        }
        // All its digits, so that two prices are two names.
        let name = if name.is_empty() {
            readable(&price.to_string(), NAME_CHARS_MAX)
        } else {
            name
        };
        Ok(Self { name, price })
    }
}

/// Applies the change.
pub fn apply(
    annotations: &mut Annotations,
    token: Address,
    annotation: &Annotation,
) -> Result<(), AnnotationError> {
    let removes = match annotation {
        Annotation::Level(_) => false,
        Annotation::NoLevel(_) => true,
        Annotation::Note(note) => note.trim().is_empty(),
    };
    if !removes && !annotations.contains_key(&token) && annotations.len() >= TOKENS_MAX {
        return Err(AnnotationError::TooManyTokens);
    }
    let of_token = annotations.entry(token).or_default();
    let outcome = of_token.apply(annotation);
    if *of_token == TokenAnnotations::default() {
        annotations.remove(&token);
    }
    outcome
}

impl TokenAnnotations {
    fn apply(&mut self, annotation: &Annotation) -> Result<(), AnnotationError> {
        match annotation {
            Annotation::Note(note) => self.note = readable(note, NOTE_CHARS_MAX),
            Annotation::NoLevel(name) => self.levels.retain(|level| level.name != *name),
            Annotation::Level(level) => {
                let others = self
                    .levels
                    .iter()
                    .filter(|other| other.name != level.name)
                    .count();
                if others >= LEVELS_MAX {
                    return Err(AnnotationError::TooManyLevels);
                }
                self.levels.retain(|other| other.name != level.name);
                self.levels.push(level.clone());
                self.levels.sort_by(|a, b| b.price.total_cmp(&a.price));
            }
        }
        Ok(())
    }
}

/// One line of at most `chars_max` characters, without invisible ones.
fn readable(text: &str, chars_max: usize) -> String {
    let seen = text
        .trim()
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .filter(|c| !is_invisible(*c));
    seen.take(chars_max)
        .collect::<String>()
        .trim_end()
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn annotations_are_set_replaced_and_removed_within_their_limits() {
        let (token, mut annotations) = (Address([1; 20]), Annotations::new());
        let level =
            |name: &str, price| Annotation::Level(UserLevel::new(name, price).expect("a level"));
        for (name, price) in [("entry", 7.0), ("goal", 9.0), ("entry", 7.5)] {
            apply(&mut annotations, token, &level(name, price)).expect("set");
        }
        let named: Vec<(&str, f64)> = annotations[&token]
            .levels
            .iter()
            .map(|level| (level.name.as_str(), level.price))
            .collect();
        assert_eq!(named, [("goal", 9.0), ("entry", 7.5)]);
        apply(
            &mut annotations,
            token,
            &Annotation::Note(format!(" a\u{202e}\n{}", "x".repeat(600))),
        )
        .expect("set");
        assert_eq!(
            (
                annotations[&token].note.chars().count(),
                &annotations[&token].note[..3]
            ),
            (NOTE_CHARS_MAX, "a x")
        );
        for i in 2..LEVELS_MAX {
            apply(&mut annotations, token, &level(&format!("l{i}"), 1.0)).expect("room");
        }
        assert!(apply(&mut annotations, token, &level("more", 1.0)).is_err());
        assert_eq!(
            apply(&mut annotations, token, &level("goal", 2.0)),
            Ok(()),
            "one of the same name is replaced"
        );
        let names: Vec<String> = annotations[&token]
            .levels
            .iter()
            .map(|level| level.name.clone())
            .collect();
        for name in names {
            apply(&mut annotations, token, &Annotation::NoLevel(name)).expect("removed");
        }
        apply(&mut annotations, token, &Annotation::Note(String::new())).expect("removed");
        assert!(annotations.is_empty());
        for price in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(UserLevel::new("a", price).is_err());
        }
    }
}
