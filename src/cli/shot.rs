//! `tokendeck shot`: a view drawn into a file. Drawing is the terminal's; the arguments are settled here.

use std::path::{Path, PathBuf};

use clap::{Args, builder::PossibleValuesParser};

use super::{
    Place,
    outcome::{Failure, Outcome},
    program::Program,
};
use crate::config::ThemeChoice;

const VIEWS: [&str; 10] = ["tokens", "posts", "chart", "security", "dexes", "growth", "yield", "jobs", "data", "api"];
/// The least the views are made for, and the most that a picture makes sense of.
const WIDTHS: std::ops::RangeInclusive<u16> = 60..=400;
const HEIGHTS: std::ops::RangeInclusive<u16> = 16..=200;

#[derive(Debug, Args)]
pub(super) struct Shot {
    /// The view
    #[arg(value_parser = PossibleValuesParser::new(VIEWS), ignore_case = true)]
    view: String,
    /// Columns and rows
    #[arg(long, value_name = "WxH", default_value = "140x42", value_parser = size)]
    size: Size,
    /// The file to write; its ending says how: .svg, .txt or .ansi
    #[arg(long, value_name = "FILE", value_parser = picture)]
    out: Picture,
    /// The token that is selected, by address; else the first
    #[arg(long, value_name = "ADDRESS")]
    token: Option<String>,
    /// auto, dark, light, high-contrast, or a theme file
    #[arg(long, value_parser = super::dashboard::theme)]
    theme: Option<ThemeChoice>,
    #[command(flatten)]
    place: Place,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Size {
    columns: u16,
    rows: u16,
}

/// How the picture is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ink {
    Svg,
    Text,
    Ansi,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Picture {
    file: PathBuf,
    ink: Ink,
}

fn size(text: &str) -> Result<Size, String> {
    let parsed = text.split_once(['x', 'X', '×']).and_then(|(columns, rows)| Some((columns.parse().ok()?, rows.parse().ok()?)));
    match parsed {
        Some((columns, rows)) if WIDTHS.contains(&columns) && HEIGHTS.contains(&rows) => Ok(Size { columns, rows }),
        _ => Err(format!(
            "expected columns x rows, as in 140x42, from {}x{} to {}x{}",
            WIDTHS.start(),
            HEIGHTS.start(),
            WIDTHS.end(),
            HEIGHTS.end()
        )),
    }
}

fn picture(text: &str) -> Result<Picture, String> {
    let ending = Path::new(text).extension().and_then(|ending| ending.to_str()).map(str::to_ascii_lowercase);
    let ink = match ending.as_deref() {
        Some("svg") => Ink::Svg,
        Some("txt") => Ink::Text,
        Some("ansi") => Ink::Ansi,
        _ => return Err("expected a file that ends in .svg, .txt or .ansi".to_owned()),
    };
    Ok(Picture { file: PathBuf::from(text), ink })
}

pub(super) fn run(args: &Shot) -> Outcome {
    let program = Program::open(&args.place)?;
    program.require_dataset()?;
    super::get::load(&program)?;
    let picture = draw(args, &program)?;
    std::fs::write(&args.out.file, picture)
        .map_err(|error| Failure::Bad(format!("`{}` cannot be written: {}", args.out.file.display(), crate::config::plain_reason(&error))))
}

/// The one place where the terminal is asked for a picture.
fn draw(args: &Shot, _: &Program) -> Result<String, Failure> {
    let Size { columns, rows } = args.size;
    Err(Failure::Bad(format!(
        "the view `{}` ({columns}x{rows}, {:?}, {:?}, {:?}) cannot be drawn yet: the terminal is not built",
        args.view, args.out.ink, args.theme, args.token
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_endings_are_judged() {
        assert_eq!(size("140x42"), Ok(Size { columns: 140, rows: 42 }));
        for bad in ["", "140", "59x42", "140x15", "401x42", "140x", "-1x42", "140x42x1", "99999999999x42"] {
            assert!(size(bad).is_err(), "{bad}");
        }
        assert_eq!(picture("a/b.SVG").map(|picture| picture.ink), Ok(Ink::Svg));
        assert!(picture("a.png").is_err() && picture("svg").is_err());
    }
}
