//! Where the figures of a document come from: the tables with their files, when these were written, and what the dataset says of
//! itself.

use std::fmt::Write as _;

use super::{
    Block, Level, Piece, Section, Table, Tone,
    format::{self, MISSING},
};
use crate::dataset::{Dataset, TableState, time::Time};

/// Files named of a table.
const FILES: usize = 5;
/// Tables no report reads.
const OTHERS: &[&str] = &["yields", "gas"];

/// `before`: when the answers were made, where that was not now.
pub(super) fn section(dataset: &Dataset, before: Option<Time>) -> Section {
    let mut note = dataset.title.clone().unwrap_or_default();
    if let Some(license) = &dataset.license {
        let _ = write!(note, "{}license {license}", if note.is_empty() { "" } else { " · " });
    }
    let mut section = Section { level: Level::Token, title: "sources".to_owned(), note, blocks: Vec::new() };
    let mut rows = Vec::new();
    let mut newer = false;
    for table in dataset.tables.iter().filter(|table| table.state == TableState::Loaded && !OTHERS.contains(&table.schema.name)) {
        let name = |place: usize| Piece::plain(if place == 0 { table.schema.name } else { "" });
        for (place, source) in table.sources.iter().take(FILES).enumerate() {
            let late = source.modified.zip(before).is_some_and(|(written, before)| written > before);
            newer |= late;
            let written = source.modified.map_or_else(|| MISSING.to_owned(), Time::minute_text);
            let tone = if late { Tone::Warning } else { Tone::Quiet };
            let file = Piece::plain(dataset.name_of(&source.file));
            rows.push(vec![name(place), Piece::plain(format::count(source.rows)), Piece::new(written, tone), file]);
        }
        if let Some(more) = table.sources.len().checked_sub(FILES).filter(|more| *more > 0) {
            let says = format!("and {}", format::many(more as u64, "file more", "files more"));
            rows.push(vec![name(1), Piece::default(), Piece::default(), Piece::quiet(says)]);
        }
        if let Some(elsewhere) = table.elsewhere.as_ref().filter(|elsewhere| !elsewhere.sources.is_empty()) {
            let as_of = elsewhere.as_of.map_or_else(String::new, |time| format!(", not reached since {}", time.minute_text()));
            let says = format!("at {}{as_of}", elsewhere.sources.join(", "));
            rows.push(vec![name(1), Piece::default(), Piece::default(), Piece::quiet(says)]);
        }
    }
    section.blocks.push(Block::Table(Table { caption: "", header: &["table", "rows", "written, UTC", "file"], rows }));
    if newer {
        let says = "Files marked here were written after the job was started: what it found may be of older data.";
        section.blocks.push(Block::Say(Piece::new(says, Tone::Warning)));
    }
    section
}
