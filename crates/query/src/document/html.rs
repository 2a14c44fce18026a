//! HTML rendering: one self-contained file without scripts, following the reader's light or dark scheme, printable. Every text is escaped
//! here.

use super::{Block, Document, DocumentTable, Level, Section, StyledText, Tone, readable};

const STYLE: &str = include_str!("html/style.css");
/// Content Security Policy: inline styles only.
pub const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'";

pub(super) fn write(document: &Document) -> String {
    let title = escaped(&document.title);
    let mut html = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n\
         <header>\n<h1>{title}</h1>\n<p class=\"quiet\">{}</p>\n</header>\n<main>\n",
        escaped(&document.note)
    );
    for section in &document.sections {
        write_section(section, &mut html);
    }
    html.push_str("</main>\n</body>\n</html>\n");
    html
}

fn write_section(section: &Section, html: &mut String) {
    let heading = if section.level == Level::Token {
        "h2"
    } else {
        "h3"
    };
    let note = if section.note.is_empty() {
        String::new()
    } else {
        format!(" <small>{}</small>", escaped(&section.note))
    };
    html.push_str(&format!(
        "<section>\n<{heading}>{}{note}</{heading}>\n",
        escaped(&section.title)
    ));
    let mut labelled = false;
    for block in &section.blocks {
        let is_labelled = matches!(block, Block::Labelled(..));
        if is_labelled != labelled {
            html.push_str(if is_labelled { "<dl>\n" } else { "</dl>\n" });
            labelled = is_labelled;
        }
        match block {
            Block::Sentence(styled) => html.push_str(&format!(
                "<p{}>{}</p>\n",
                class(styled),
                escaped(&styled.text)
            )),
            Block::Labelled(label, styled) => {
                html.push_str(&format!(
                    "<dt>{}</dt><dd{}>{}</dd>\n",
                    escaped(label),
                    class(styled),
                    escaped(&styled.text)
                ));
            }
            Block::Table(table) => write_table(table, html),
            Block::Chart(chart) => {
                html.push_str(&format!(
                    "<figure>\n{}<figcaption>{}</figcaption>\n</figure>\n",
                    chart.svg(),
                    escaped(&chart.caption)
                ));
            }
        }
    }
    if labelled {
        html.push_str("</dl>\n");
    }
    html.push_str("</section>\n");
}

fn write_table(table: &DocumentTable, html: &mut String) {
    if !table.caption.is_empty() {
        html.push_str(&format!("<h4>{}</h4>\n", escaped(table.caption)));
    }
    html.push_str("<div class=\"wide\"><table>\n");
    if !table.header.is_empty() {
        html.push_str("<thead><tr>");
        for name in table.header {
            html.push_str(&format!("<th scope=\"col\">{}</th>", escaped(name)));
        }
        html.push_str("</tr></thead>\n");
    }
    html.push_str("<tbody>\n");
    for row in &table.rows {
        html.push_str("<tr>");
        for styled in row {
            html.push_str(&format!(
                "<td{}>{}</td>",
                class(styled),
                escaped(&styled.text)
            ));
        }
        html.push_str("</tr>\n");
    }
    html.push_str("</tbody>\n</table></div>\n");
}

fn class(styled: &StyledText) -> &'static str {
    match styled.tone {
        Tone::Plain => "",
        Tone::Quiet => " class=\"quiet\"",
        Tone::Good => " class=\"good\"",
        Tone::Bad => " class=\"bad\"",
        Tone::Warning => " class=\"warning\"",
    }
}

/// Escapes text for element content and quoted attributes.
pub(super) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in readable(text) {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    out
}
