//! Texts with placeholders: `/networks/{chain}/pools/{pool}`. The caller provides the values.

use model::toml_reader::{TomlEntry, TomlError};

/// Placeholders of every request, besides those that its `next` names.
pub(super) const KNOWN: [&str; 9] = [
    "token", "chain", "pool", "symbol", "interval", "from", "to", "before", "search",
];

/// Parts of placeholders, after the dot.
const PARTS: [&str; 6] = ["unit", "count", "minutes", "seconds", "milliseconds", "iso"];

/// A text with placeholders.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Template(Vec<Piece>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Piece {
    Text(String),
    Placeholder(Placeholder),
}

/// A placeholder: `{NAME}` or `{NAME.PART}`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placeholder {
    pub name: String,
    pub part: Option<String>,
}

impl Template {
    /// Parses the text of an entry; `also` are names besides the known ones.
    pub(super) fn read(
        member: &TomlEntry<'_>,
        text: &str,
        also: &[String],
    ) -> Result<Self, TomlError> {
        let template =
            Self::parse(text).ok_or_else(|| member.wrong("has a `{` without its `}`"))?;
        for hole in template.holes() {
            let known: Vec<&str> = KNOWN
                .into_iter()
                .chain(also.iter().map(String::as_str))
                .collect();
            if !known.contains(&hole.name.as_str()) {
                return Err(member.unknown_name("placeholder", &hole.name, &known));
            }
            if let Some(part) = hole.part.as_deref().filter(|part| !PARTS.contains(part)) {
                return Err(member.unknown_name("part of a placeholder", part, &PARTS));
            }
        }
        Ok(template)
    }

    /// Parses a text; `None` if a brace is not closed.
    pub fn parse(text: &str) -> Option<Self> {
        let (mut pieces, mut rest) = (Vec::new(), text);
        while let Some((before, after)) = rest.split_once('{') {
            let (inside, after) = after.split_once('}')?;
            if !before.is_empty() {
                pieces.push(Piece::Text(before.to_owned()));
            }
            let (name, part) = inside
                .split_once('.')
                .map_or((inside, None), |(name, part)| (name, Some(part.to_owned())));
            pieces.push(Piece::Placeholder(Placeholder {
                name: name.trim().to_owned(),
                part,
            }));
            rest = after;
        }
        if !rest.is_empty() {
            pieces.push(Piece::Text(rest.to_owned()));
        }
        Some(Self(pieces))
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn holes(&self) -> impl Iterator<Item = &Placeholder> {
        self.0.iter().filter_map(|piece| {
            if let Piece::Placeholder(hole) = piece {
                Some(hole)
            } else {
                None
            }
        })
    }

    /// Whether it has a placeholder of that name.
    pub fn has(&self, name: &str) -> bool {
        self.holes().any(|hole| hole.name == name)
    }

    /// The text with its placeholders filled; `None` if `fill` has no value for one of them.
    pub fn fill(&self, fill: &dyn Fn(&Placeholder) -> Option<String>) -> Option<String> {
        let mut text = String::new();
        for piece in &self.0 {
            match piece {
                Piece::Text(piece) => text.push_str(piece),
                Piece::Placeholder(hole) => text.push_str(&fill(hole)?),
            }
        }
        Some(text)
    }
}

/// Fills the placeholders of a text; returns the text unchanged if it has none, or one that cannot be filled.
pub fn expand(text: &str, fill: &dyn Fn(&Placeholder) -> Option<String>) -> String {
    Template::parse(text)
        .and_then(|template| template.fill(fill))
        .unwrap_or_else(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_are_filled_or_the_text_is_none() {
        let template = Template::parse("/{chain}/x/{interval.unit}").expect("a template");
        let fill = |hole: &Placeholder| match (hole.name.as_str(), hole.part.as_deref()) {
            ("chain", None) => Some("eth".to_owned()),
            ("interval", Some("unit")) => Some("day".to_owned()),
            _ => None,
        };
        assert_eq!(template.fill(&fill).as_deref(), Some("/eth/x/day"));
        assert_eq!(
            Template::parse("{page}").expect("a template").fill(&fill),
            None
        );
        assert_eq!(
            Template::parse("plain")
                .expect("a template")
                .fill(&fill)
                .as_deref(),
            Some("plain")
        );
        assert!(Template::parse("{open").is_none());
        assert_eq!(expand("1d", &fill), "1d");
    }
}
