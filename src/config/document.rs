//! Generates documents from the table of settings: `config.toml` with every default, and the table of docs/configuration.md. Tests compare the files to
//! these.

use std::fmt::Write as _;

use super::{KEYS_SECTION, SECTIONS, SETTINGS, SOURCE_SETTINGS, sources};

/// Maximum width of a comment's text, in characters.
const WIDTH: usize = 110;

/// Returns a `config.toml` with every setting at its default, its meaning as a comment.
pub fn config_toml() -> String {
    let mut text = String::from(
        "# The configuration of tokendeck. Every setting is listed with its default, which applies if you omit it.\n\
         # tokendeck reads the first of: --config FILE, $TOKENDECK_CONFIG, ./config.toml, $XDG_CONFIG_HOME/tokendeck/config.toml.\n\
         # Paths are relative to this file; ~/ is your home folder. API keys do not belong here: see `tokendeck key --help`.\n",
    );
    for section in SECTIONS {
        // Writing to a String cannot fail.
        write!(text, "\n# {}\n[{}]\n", section.meaning, section.name).ok();
        for row in SETTINGS.iter().filter(|row| row.section == section.name) {
            for line in wrapped(row.meaning) {
                writeln!(text, "# {line}").ok();
            }
            writeln!(text, "{} = {}", row.key, row.default).ok();
        }
        if section.name == sources::SECTION {
            writeln!(text, "# [{}.NAME]", section.name).ok();
            for row in SOURCE_SETTINGS {
                writeln!(text, "# {} = {}  # {}", row.key, row.example, row.says()).ok();
            }
        }
    }
    text
}

/// Returns the settings as a Markdown table.
pub fn settings_table() -> String {
    let mut text = String::from("| setting | default | meaning |\n|---|---|---|\n");
    for row in SETTINGS {
        writeln!(
            text,
            "| `{}.{}` | `{}` | {} |",
            row.section, row.key, row.default, row.meaning
        )
        .ok();
    }
    for row in SOURCE_SETTINGS {
        writeln!(
            text,
            "| `{}.NAME.{}` | | {} Expected: {}. |",
            sources::SECTION,
            row.key,
            row.says(),
            row.expected
        )
        .ok();
    }
    for section in SECTIONS
        .iter()
        .filter(|section| section.name == KEYS_SECTION)
    {
        writeln!(
            text,
            "| `{}.<action>` | | {} |",
            section.name, section.meaning
        )
        .ok();
    }
    text
}

fn wrapped(text: &str) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let line = lines.last_mut().expect("there is always at least one line");
        if line.is_empty() {
            line.push_str(word);
        } else if line.chars().count() + word.chars().count() < WIDTH {
            line.push(' ');
            line.push_str(word);
        } else {
            lines.push(word.to_owned());
        }
    }
    lines
}
