//! Your own levels and notes, as the last sections of a report: after the sources, where verification compares nothing.

use super::{Block, Document, DocumentTable, Level, Section, StyledText};
use model::{
    address::Address,
    annotations::{Annotations, TokenAnnotations, UserLevel},
    format,
};

impl Document {
    /// Adds the annotations of the report's tokens.
    pub fn annotate(&mut self, tokens: impl IntoIterator<Item = Address>, own: &Annotations) {
        for token in tokens {
            let Some(own) = own.get(&token) else { continue };
            let address = token.to_string();
            let head = self
                .sections
                .iter()
                .find(|section| section.level == Level::Token && section.note == address);
            let name = head.map_or_else(|| token.short(), |head| head.title.clone());
            self.sections.extend(section(&name, own));
        }
    }
}

fn section(name: &str, own: &TokenAnnotations) -> Option<Section> {
    let mut blocks = Vec::new();
    if !own.note.is_empty() {
        blocks.push(Block::Sentence(StyledText::plain(&own.note)));
    }
    if !own.levels.is_empty() {
        let row = |level: &UserLevel| {
            vec![
                StyledText::plain(&level.name),
                StyledText::plain(format::price(Some(level.price))),
            ]
        };
        let rows = own.levels.iter().map(row).collect();
        blocks.push(Block::Table(DocumentTable {
            caption: "",
            header: &["Level", "Price"],
            rows,
        }));
    }
    let (title, note) = (
        format!("Your notes on {name}"),
        "written by you, not from the data".to_owned(),
    );
    (!blocks.is_empty()).then_some(Section {
        level: Level::Token,
        title,
        note,
        blocks,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::{DocumentForm, figures_of};

    #[test]
    fn your_notes_are_in_the_report_and_are_not_verified() {
        let tokens = [Address([1; 20]), Address([2; 20]), Address([3; 20])];
        let section = |title: &str, note: String| Section {
            level: Level::Token,
            title: title.to_owned(),
            note,
            ..Section::default()
        };
        let sections = vec![
            section("UNI", tokens[0].to_string()),
            section("LINK", tokens[1].to_string()),
            section("Sources", String::new()),
        ];
        let document = || Document {
            sections: sections.clone(),
            ..Document::default()
        };
        let own = TokenAnnotations {
            levels: vec![UserLevel::new("entry", 7.5).expect("a level")],
            note: "watch <the> unlock".to_owned(),
        };
        let own = Annotations::from([(tokens[0], own), (tokens[2], TokenAnnotations::default())]);
        for form in DocumentForm::ALL {
            let (bare, mut with) = (document(), document());
            with.annotate(tokens, &own);
            let text = with.write(form);
            assert!(
                text.contains("unlock") && text.contains("7.5000") && !text.contains("<the>"),
                "{text}"
            );
            assert!(
                text.contains("Your notes on UNI") && text.matches("Your notes").count() == 1,
                "{text}"
            );
            assert_eq!(figures_of(&text), figures_of(&bare.write(form)));
            with = document();
            with.annotate([tokens[1]], &own);
            assert_eq!(with.write(form), bare.write(form));
        }
    }
}
