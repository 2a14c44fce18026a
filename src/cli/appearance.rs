//! The appearance of the screen, from the configuration, the theme file and the terminal's capabilities.

use std::{io::Read, path::Path, sync::OnceLock, time::Duration};

use color_eyre::eyre::{Result, eyre};
use terminal_colorsaurus::{QueryOptions, background_color};

use super::outcome::Failure;
use crate::config::{Terminal, ThemeChoice, plain_reason};
use tui::widgets::theme::{Appearance, Depth, Options, Palette, Theme, is_light, lacks_glyphs};

/// Size limit of a theme file. A theme has some twenty colors; a longer file is something else.
const THEME_BYTES_MAX: u64 = 64 << 10;
/// Timeout for the terminal to report its background color.
const ANSWER_TIME: Duration = Duration::from_millis(100);

/// Whether the terminal's background is light, once detected.
static LIGHT: OnceLock<bool> = OnceLock::new();

/// Appearance for the current terminal; `fixed` if the command line names the theme.
pub(super) fn for_terminal(settings: &Terminal, fixed: bool) -> Result<Appearance> {
    let depth = Depth::detect(variable);
    let colours = variable("COLORFGBG");
    // The terminal is queried only if the environment gives no answer: over a slow line its reply delays the first frame.
    let light = || {
        *LIGHT.get_or_init(|| {
            is_light(
                None,
                colours.as_deref(),
                if colours.is_some() {
                    None
                } else {
                    background(depth)
                },
            )
        })
    };
    look(
        settings,
        depth,
        light,
        fixed || settings.theme != ThemeChoice::Auto,
        is_plain_terminal(),
    )
}

/// Like `for_terminal`, while the dashboard runs: without querying the terminal, whose reply would arrive among the key presses.
pub(super) fn again(settings: &Terminal) -> Result<Appearance> {
    let from_environment = || is_light(None, variable("COLORFGBG").as_deref(), None);
    look(
        settings,
        Depth::detect(variable),
        || LIGHT.get().copied().unwrap_or_else(from_environment),
        true,
        is_plain_terminal(),
    )
}

/// Whether the terminal has only ASCII glyphs.
pub(super) fn is_plain_terminal() -> bool {
    variable("TERM").is_some_and(|term| lacks_glyphs(&term))
}

/// Appearance of a picture file, independent of the terminal: true color, dark by default.
pub(super) fn for_picture(settings: &Terminal) -> Result<Appearance> {
    look(settings, Depth::True, || false, true, false)
}

fn look(
    settings: &Terminal,
    depth: Depth,
    light: impl Fn() -> bool,
    fixed: bool,
    is_plain: bool,
) -> Result<Appearance> {
    let palette = match &settings.theme {
        ThemeChoice::Auto if light() => Palette::light(),
        ThemeChoice::Auto => Palette::dark(),
        ThemeChoice::Named(name) => Palette::builtin(name).ok_or_else(|| {
            Failure::Usage(eyre!(
                "unknown theme `{name}`; expected dark, light or high-contrast"
            ))
        })?,
        ThemeChoice::File(file) => theme_file(file)?,
    };
    let options = Options {
        depth,
        up_down_swapped: settings.up_down_swapped,
        colour_blind: settings.colour_blind,
    };
    Ok(Appearance {
        theme: Theme::new(&palette, options),
        ascii: settings.ascii || is_plain,
        bell: settings.bell,
        zone: settings.time_zone,
        options,
        fixed,
    })
}

fn theme_file(file: &Path) -> Result<Palette> {
    let shown = file.display();
    let mut text = String::new();
    let read = model::private_files::open_regular(file)
        .and_then(|file| file.take(THEME_BYTES_MAX).read_to_string(&mut text));
    read.map_err(|error| {
        Failure::Usage(eyre!(
            "cannot read the theme `{shown}`: {}",
            plain_reason(&error)
        ))
    })?;
    Palette::parse(&text)
        .map_err(|reason| Failure::Usage(eyre!("theme `{shown}`: {reason}")).into())
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// Queries the terminal's background color; a terminal without colors is not queried.
fn background(depth: Depth) -> Option<(u8, u8, u8)> {
    if depth == Depth::None {
        return None;
    }
    let mut options = QueryOptions::default();
    options.timeout = ANSWER_TIME;
    background_color(options)
        .ok()
        .map(|colour| colour.scale_to_8bit())
}
