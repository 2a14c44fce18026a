//! The person's own levels and note, as the last part of a report: after the sources, where nothing is compared when the report is verified.

use super::{Block, Document, DocumentTable, Level, Section, StyledText};
use model::{annotations::TokenAnnotations, format};

impl Document {
    /// Adds them, if there are any.
    pub fn annotate(&mut self, own: &TokenAnnotations) {
        let mut blocks = Vec::new();
        if !own.note.is_empty() {
            blocks.push(Block::Sentence(StyledText::plain(&own.note)));
        }
        if !own.levels.is_empty() {
            let row = |level: &model::annotations::OwnLevel| {
                vec![StyledText::plain(&level.name), StyledText::plain(format::price(Some(level.price)))]
            };
            let rows = own.levels.iter().map(row).collect();
            blocks.push(Block::Table(DocumentTable { caption: "", header: &["level", "price"], rows }));
        }
        if !blocks.is_empty() {
            let (title, note) = ("own note and levels".to_owned(), "written by hand, not from the data".to_owned());
            self.sections.push(Section { level: Level::Token, title, note, blocks });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::{DocumentForm, figures_of};
    use model::annotations::OwnLevel;

    #[test]
    fn own_words_are_in_the_report_and_are_not_verified() {
        let section = |title: &str| Section { level: Level::Token, title: title.to_owned(), ..Section::default() };
        let document = || Document { sections: vec![section("uni"), section("sources")], ..Document::default() };
        let level = OwnLevel::new("entry", 7.5).expect("a level");
        let own = TokenAnnotations { levels: vec![level], note: "watch <the> unlock".to_owned() };
        for form in DocumentForm::ALL {
            let (bare, mut with) = (document(), document());
            with.annotate(&own);
            let text = with.write(form);
            assert!(text.contains("unlock") && text.contains("7.5000") && !text.contains("<the>"), "{text}");
            assert_eq!(figures_of(&text), figures_of(&bare.write(form)));
            with = document();
            with.annotate(&TokenAnnotations::default());
            assert_eq!(with.write(form), bare.write(form));
        }
    }
}
