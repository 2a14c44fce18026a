//! Document model of a report: the selection, order and wording of its facts. The terminal, HTML and Markdown render these sections and add
//! nothing; colors, widths and escaping are theirs.

mod annotations;
mod chart;
mod facts;
mod html;
mod inputs;
mod markdown;
mod provenance;
mod sources;
pub mod words;

use self::chart::Chart;
pub use self::{
    facts::{check_mark, score_text, tone_of_score},
    html::POLICY,
    inputs::{of_job, of_token},
    provenance::{Provenance, TableProvenance, differing_lines, figures_of},
};
use model::untrusted::is_invisible;

/// A report, ready to render.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Document {
    pub title: String,
    /// Data source and creation time.
    pub note: String,
    pub sections: Vec<Section>,
    /// The inputs of the report, if it can be recomputed from them.
    pub provenance: Option<Provenance>,
}

/// A section with its heading.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Section {
    pub level: Level,
    pub title: String,
    /// Addition to the heading: an address, a count, a date.
    pub note: String,
    pub blocks: Vec<Block>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Level {
    /// Starts a token, or the facts common to all tokens.
    Token,
    #[default]
    Part,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Block {
    /// A sentence.
    Sentence(StyledText),
    /// A labeled value.
    Labelled(&'static str, StyledText),
    Table(DocumentTable),
    /// Shown only where pictures can be drawn; the tables contain its values too.
    Chart(Box<Chart>),
}

/// Rows of values. The last column may be long and is wrapped.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct DocumentTable {
    /// Common subject of the rows, above them.
    pub caption: &'static str,
    /// Column headers; empty if the rows are self-explanatory.
    pub header: &'static [&'static str],
    pub rows: Vec<Vec<StyledText>>,
}

/// A text with its tone.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct StyledText {
    pub text: String,
    pub tone: Tone,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Tone {
    #[default]
    Plain,
    /// De-emphasized.
    Quiet,
    Good,
    Bad,
    Warning,
}

model::words! {
    /// File format of a document.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum DocumentForm {
        Html = "html",
        Markdown = "md",
    }
}

impl Document {
    /// Renders the whole file: self-contained, without scripts.
    pub fn write(&self, form: DocumentForm) -> String {
        let mut text = match form {
            DocumentForm::Html => html::write(self),
            DocumentForm::Markdown => markdown::write(self),
        };
        if let Some(provenance) = &self.provenance {
            text.push_str(&provenance.line());
        }
        text
    }
}

impl StyledText {
    pub fn new(text: impl Into<String>, tone: Tone) -> Self {
        Self {
            text: text.into(),
            tone,
        }
    }

    pub fn plain(text: impl Into<String>) -> Self {
        Self::new(text, Tone::Plain)
    }

    pub fn quiet(text: impl Into<String>) -> Self {
        Self::new(text, Tone::Quiet)
    }
}

/// Maximum characters of a dataset's text written to a file.
const TEXT_MAX: usize = 2_000;

/// Returns the text on one line and of bounded length, without invisible characters and direction overrides.
fn readable(text: &str) -> impl Iterator<Item = char> + '_ {
    let shown = text.chars().filter(|c| !is_invisible(*c)).map(|c| {
        if c.is_control() || c == '\u{2028}' || c == '\u{2029}' {
            ' '
        } else {
            c
        }
    });
    shown.take(TEXT_MAX)
}
