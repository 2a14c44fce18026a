//! `tokendeck shot`: renders a view to a picture file. Only the arguments are handled here; `tui` draws.

use std::path::{Path, PathBuf};

use clap::{
    Args,
    builder::{PossibleValuesParser, TypedValueParser},
};

use color_eyre::eyre::{Result, bail, eyre};

use super::{
    AsOfArgs, appearance,
    outcome::Outcome,
    program::{Program, require_folder},
    token::{TokenName, token},
};
use crate::config::{ThemeChoice, plain_reason};
use frames::export::write_whole;
use model::address::Address;
use query::queries::known_token;
use tui::{
    app::Setup,
    chrome,
    run::picture,
    views::keymap::{Keymap, VIEWS, ViewId},
    widgets::{picture as render, theme::Appearance},
};

/// From the smallest size that the views support to the largest still readable.
const WIDTHS: std::ops::RangeInclusive<u16> = 60..=400;
const HEIGHTS: std::ops::RangeInclusive<u16> = 16..=200;

#[derive(Debug, Args)]
pub(super) struct ShotArgs {
    /// View
    #[arg(value_parser = view())]
    view: ViewId,
    /// Columns x rows
    #[arg(long, value_name = "WxH", default_value = "140x42", value_parser = size)]
    size: Size,
    /// Output file: .png, .svg, .txt or .ansi
    #[arg(long, value_name = "FILE", value_parser = out_file)]
    out: PictureFile,
    /// Selected token (address or unique symbol). Default: the dashboard's first token
    #[arg(long, value_name = "TOKEN", value_parser = token)]
    token: Option<TokenName>,
    /// auto, dark, light, high-contrast, or a theme file
    #[arg(long, value_parser = super::dashboard::theme)]
    theme: Option<ThemeChoice>,
    #[command(flatten)]
    location: AsOfArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Size {
    columns: u16,
    rows: u16,
}

/// Output format of a picture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PictureFormat {
    Png,
    Svg,
    Text,
    Ansi,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct PictureFile {
    file: PathBuf,
    format: PictureFormat,
}

fn size(text: &str) -> Result<Size> {
    let parsed = text
        .split_once(['x', 'X', '×'])
        .and_then(|(columns, rows)| Some((columns.parse().ok()?, rows.parse().ok()?)));
    match parsed {
        Some((columns, rows)) if WIDTHS.contains(&columns) && HEIGHTS.contains(&rows) => {
            Ok(Size { columns, rows })
        }
        _ => Err(eyre!(
            "expected columns x rows, such as 140x42, from {}x{} to {}x{}",
            WIDTHS.start(),
            HEIGHTS.start(),
            WIDTHS.end(),
            HEIGHTS.end()
        )),
    }
}

fn out_file(text: &str) -> Result<PictureFile> {
    let format = match ending(text).as_deref() {
        Some("png") => PictureFormat::Png,
        Some("svg") => PictureFormat::Svg,
        Some("txt") => PictureFormat::Text,
        Some("ansi") => PictureFormat::Ansi,
        _ => bail!("expected a file that ends in .png, .svg, .txt or .ansi"),
    };
    Ok(PictureFile {
        file: PathBuf::from(text),
        format,
    })
}

/// The ending of a file's name, in lower case.
pub(super) fn ending(file: &str) -> Option<String> {
    Path::new(file)
        .extension()?
        .to_str()
        .map(str::to_ascii_lowercase)
}

/// Parses a view's name.
fn view() -> impl TypedValueParser<Value = ViewId> {
    PossibleValuesParser::new(VIEWS.iter().map(|row| row.word))
        .try_map(|word| ViewId::parse(&word).ok_or("expected a view"))
}

pub(super) fn run(args: &ShotArgs) -> Outcome {
    let mut program = Program::open(&args.location.location())?;
    require_folder(&program.config.datasets.dir)?;
    if let Some(theme) = &args.theme {
        program.config.terminal.theme = theme.clone();
    }
    let look = appearance::for_picture(&program.config.terminal)?;
    program.load()?;
    let picture = draw(args, &program, look)?;
    write_whole(&args.out.file, &picture).map_err(|error| {
        eyre!(
            "cannot write `{}`: {}",
            args.out.file.display(),
            plain_reason(&error)
        )
    })
}

fn draw(args: &ShotArgs, program: &Program, look: Appearance) -> Result<Vec<u8>> {
    let token = args
        .token
        .as_ref()
        .map(|token| token.find(&program.service))
        .transpose()?;
    if let Some(token) = token {
        let snapshot = program.service.snapshot()?;
        known_token(&snapshot, &token)?;
    }
    let theme = look.theme.clone();
    let (keymap, _) = Keymap::with(&program.config.keys);
    // Only the view that shows the job store opens it, as opening creates it. If it cannot be opened, the view says so.
    let jobs = if args.view == ViewId::Jobs {
        program.jobs_to_read().ok()
    } else {
        None
    };
    let setup = Setup {
        keymap,
        jobs,
        ..Setup::still(program.service.clone(), look)
    };
    let (buffer, mut app) = picture(
        setup,
        args.view,
        (args.size.columns, args.size.rows),
        |app| {
            app.allow_pictures(args.out.format == PictureFormat::Png);
            if let Some(token) = token {
                app.select(token);
            }
        },
    );
    Ok(match args.out.format {
        PictureFormat::Png => {
            render::png(&buffer, buffer.area, &theme, app.take_picture().as_ref())
        }
        PictureFormat::Svg => render::svg(&buffer, &theme).into_bytes(),
        PictureFormat::Text => render::text(&buffer).into_bytes(),
        PictureFormat::Ansi => render::ansi(&buffer).into_bytes(),
    })
}

/// Columns and rows of a report's chart: the view without its frame.
const CHART: (u16, u16) = (120, 36);

/// A token's chart as a PNG file, drawn in pixels.
pub(super) fn chart(program: &Program, token: Address) -> Result<Vec<u8>> {
    let look = appearance::for_picture(&program.config.terminal)?;
    let theme = look.theme.clone();
    let (buffer, mut app) = picture(
        Setup::still(program.service.clone(), look),
        ViewId::Chart,
        CHART,
        |app| {
            app.allow_pictures(true);
            app.select(token);
        },
    );
    Ok(render::png(
        &buffer,
        chrome::body(buffer.area),
        &theme,
        app.take_picture().as_ref(),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_out_of_range_and_unknown_endings_are_refused() {
        assert_eq!(
            size("140x42").ok(),
            Some(Size {
                columns: 140,
                rows: 42
            })
        );
        for bad in [
            "",
            "140",
            "59x42",
            "140x15",
            "401x42",
            "140x",
            "-1x42",
            "140x42x1",
            "99999999999x42",
        ] {
            assert!(size(bad).is_err(), "{bad}");
        }
        assert_eq!(
            out_file("a/b.SVG").ok().map(|picture| picture.format),
            Some(PictureFormat::Svg)
        );
        assert!(out_file("a.gif").is_err() && out_file("svg").is_err());
    }
}
