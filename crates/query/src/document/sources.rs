//! The provenance section of a document: tables with their files and modification times, and the dataset's own description.

use std::fmt::Write as _;

use crate::document::{Block, DocumentTable, Level, Section, StyledText, Tone};
use crate::jobs::Sources;
use model::format::{self, MISSING};
use model::time::Time;

/// `before`: creation time of the results, if the files may be newer.
pub(super) fn section(sources: &Sources, before: Option<Time>) -> Section {
    let mut note = sources.title.clone().unwrap_or_default();
    if let Some(license) = &sources.license {
        let _ = write!(
            note,
            "{}license {license}",
            if note.is_empty() { "" } else { " · " }
        );
    }
    let mut section = Section {
        level: Level::Token,
        title: "Sources".to_owned(),
        note,
        blocks: Vec::new(),
    };
    let mut rows = Vec::new();
    let mut newer = false;
    for table in &sources.tables {
        let name =
            |place: usize| StyledText::plain(if place == 0 { table.name.as_str() } else { "" });
        for (place, file) in table.files.iter().enumerate() {
            let late = file
                .modified()
                .zip(before)
                .is_some_and(|(written, before)| written > before);
            newer |= late;
            let written = file
                .modified()
                .map_or_else(|| MISSING.to_owned(), Time::minute_text);
            let tone = if late { Tone::Warning } else { Tone::Quiet };
            rows.push(vec![
                name(place),
                StyledText::plain(format::count(file.rows)),
                StyledText::new(written, tone),
                StyledText::plain(&file.name),
            ]);
        }
        if table.more > 0 {
            let says = format!(
                "and {}",
                format::plural(table.more, "more file", "more files")
            );
            rows.push(vec![
                name(1),
                StyledText::default(),
                StyledText::default(),
                StyledText::quiet(says),
            ]);
        }
        if !table.elsewhere.is_empty() {
            let since = table.unreached_since.map_or_else(String::new, |time| {
                format!(", unreachable since {}", Time(time).minute_text())
            });
            let says = format!("at {}{since}", table.elsewhere.join(", "));
            rows.push(vec![
                name(1),
                StyledText::default(),
                StyledText::default(),
                StyledText::quiet(says),
            ]);
        }
    }
    section.blocks.push(Block::Table(DocumentTable {
        caption: "",
        header: &["Table", "Rows", "Written, UTC", "File"],
        rows,
    }));
    if !sources.credit.is_empty() {
        section
            .blocks
            .push(Block::Sentence(StyledText::quiet(format!(
                "{}.",
                sources.credit.join(" · ")
            ))));
    }
    let mut warn = |says: &str| {
        section
            .blocks
            .push(Block::Sentence(StyledText::new(says, Tone::Warning)));
    };
    if newer {
        warn(
            "Marked files changed after the job started, so the job's results may come from older data.",
        );
    }
    if sources.changed {
        warn(
            "The data changed while the job ran: these are the initial files, and some results come from newer ones.",
        );
    }
    section
}
