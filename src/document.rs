//! A report as a document: which facts of a token are told, in which order and in which words. The terminal, HTML and Markdown draw
//! these sections; nobody else decides what a report says. Colours, widths and escapes are theirs.

mod chart;
mod facts;
pub mod format;
mod html;
mod markdown;
mod material;
mod sources;
pub mod words;

use self::chart::Chart;
pub use self::{
    facts::{check_mark, score_text, tone_of_score},
    html::POLICY,
    material::{of_job, of_token},
};

/// A report, ready to be drawn.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Document {
    pub title: String,
    /// What it was made of and when.
    pub note: String,
    pub sections: Vec<Section>,
}

/// A part of the document under a heading of its own.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Section {
    pub level: Level,
    pub title: String,
    /// What the heading adds: an address, a count, a date.
    pub note: String,
    pub blocks: Vec<Block>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Level {
    /// A token begins, or what holds for all of them.
    Token,
    #[default]
    Part,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Block {
    /// A sentence.
    Say(Piece),
    /// What stands behind a label.
    Labelled(&'static str, Piece),
    Table(DocumentTable),
    /// Only where pictures can be drawn: what it shows is told by the tables too.
    Chart(Box<Chart>),
}

/// Rows of facts. The last column may be long and is wrapped.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct DocumentTable {
    /// What the rows have in common, above them.
    pub caption: &'static str,
    /// The header of each column; none where the rows speak for themselves.
    pub header: &'static [&'static str],
    pub rows: Vec<Vec<Piece>>,
}

/// A text, and what it means for the reader.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Piece {
    pub text: String,
    pub tone: Tone,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Tone {
    #[default]
    Plain,
    /// Beside the matter.
    Quiet,
    Good,
    Bad,
    Warning,
}

/// How a document is written into a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DocumentForm {
    Html,
    Markdown,
}

impl DocumentForm {
    pub const ALL: &'static [Self] = &[Self::Html, Self::Markdown];

    /// How its files end, and what requests call it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Html => "html",
            Self::Markdown => "md",
        }
    }
}

impl Document {
    /// The whole file. It refers to nothing outside itself and runs nothing.
    pub fn write(&self, form: DocumentForm) -> String {
        match form {
            DocumentForm::Html => html::write(self),
            DocumentForm::Markdown => markdown::write(self),
        }
    }
}

impl Piece {
    pub fn new(text: impl Into<String>, tone: Tone) -> Self {
        Self { text: text.into(), tone }
    }

    pub fn plain(text: impl Into<String>) -> Self {
        Self::new(text, Tone::Plain)
    }

    pub fn quiet(text: impl Into<String>) -> Self {
        Self::new(text, Tone::Quiet)
    }
}

/// Characters of a text from the data that are written into a file.
const TEXT_MAX: usize = 2_000;

/// The text in one line and of bounded length, without what is not seen or turns the direction of writing.
fn readable(text: &str) -> impl Iterator<Item = char> + '_ {
    let hidden = |c: &char| matches!(*c, '\u{ad}' | '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}');
    let shown =
        text.chars().filter(move |c| !hidden(c)).map(|c| if c.is_control() || c == '\u{2028}' || c == '\u{2029}' { ' ' } else { c });
    shown.take(TEXT_MAX)
}
