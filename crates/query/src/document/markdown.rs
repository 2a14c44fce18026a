//! GitHub-flavored Markdown rendering. Dataset texts are escaped, so that none becomes a link, picture, tag or list. The chart is omitted; the
//! tables contain its values.

use super::{Block, Document, DocumentTable, Level, Section, StyledText, readable};

pub(super) fn write(document: &Document) -> String {
    let mut text = format!(
        "# {}\n\n{}\n",
        escaped(&document.title),
        escaped(&document.note)
    );
    for section in &document.sections {
        write_section(section, &mut text);
    }
    text
}

fn write_section(section: &Section, text: &mut String) {
    let marks = if section.level == Level::Token {
        "##"
    } else {
        "###"
    };
    let mut title = section.title.chars();
    let title: String = title
        .next()
        .into_iter()
        .flat_map(char::to_uppercase)
        .chain(title)
        .collect();
    text.push_str(&format!("\n{marks} {}\n\n", escaped(&title)));
    if !section.note.is_empty() {
        text.push_str(&format!("{}\n\n", escaped(&section.note)));
    }
    let mut labelled = false;
    for block in &section.blocks {
        let is_labelled = matches!(block, Block::Labelled(..));
        // A list would take a table right after it as its own text.
        if labelled && !is_labelled {
            text.push('\n');
        }
        labelled = is_labelled;
        match block {
            Block::Sentence(styled) => text.push_str(&format!("{}\n\n", escaped(&styled.text))),
            Block::Labelled(label, styled) => text.push_str(&format!(
                "- **{}**: {}\n",
                escaped(label),
                escaped(&styled.text)
            )),
            Block::Table(table) => write_table(table, text),
            Block::Chart(_) => {}
        }
    }
}

fn write_table(table: &DocumentTable, text: &mut String) {
    if !table.caption.is_empty() {
        text.push_str(&format!("**{}**\n\n", escaped(table.caption)));
    }
    let columns = table.rows.first().map_or(table.header.len(), Vec::len);
    let header: Vec<String> = (0..columns)
        .map(|column| {
            table
                .header
                .get(column)
                .map_or_else(String::new, |name| escaped(name))
        })
        .collect();
    text.push_str(&format!(
        "| {} |\n|{}\n",
        header.join(" | "),
        "---|".repeat(columns)
    ));
    for row in &table.rows {
        let cells: Vec<String> = row
            .iter()
            .map(|StyledText { text, .. }| escaped(text))
            .collect();
        text.push_str(&format!("| {} |\n", cells.join(" | ")));
    }
    text.push('\n');
}

/// Escapes all Markdown syntax, including bare URLs and e-mail addresses.
fn escaped(text: &str) -> String {
    let text: String = readable(text).collect();
    let mut out = String::with_capacity(text.len());
    for (at, c) in text.char_indices() {
        let before = text[..at].chars().next_back();
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '@' => out.push_str("&#64;"),
            '/' if before == Some(':') => out.push_str("&#47;"),
            '.' if text[..at].to_ascii_lowercase().ends_with("www") => out.push_str("&#46;"),
            // Markers of a list or heading work only at the start of a line; after a number only before a blank.
            '+' | '-' | '#' | '=' if text[..at].trim().is_empty() => out.extend(['\\', c]),
            '.' | ')'
                if text[..at].trim().chars().all(|c| c.is_ascii_digit())
                    && !text[at + 1..].starts_with(|c: char| c != ' ') =>
            {
                out.extend(['\\', c]);
            }
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '~' | '!' | '$' => out.extend(['\\', c]),
            c => out.push(c),
        }
    }
    out
}
