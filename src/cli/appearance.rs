//! How the screen looks: from the configuration, the theme's file and what the terminal reports about itself.

use std::{fs::File, io::Read, path::Path, sync::OnceLock, time::Duration};

use terminal_colorsaurus::{QueryOptions, background_color};

use super::outcome::Failure;
use crate::{
    config::{Terminal, ThemeChoice, plain_reason},
    tui::theme::{Appearance, Depth, Options, Palette, Theme, is_light},
};

/// A theme has some twenty colours; a longer file is something else.
const THEME_BYTES_MAX: u64 = 64 << 10;
/// How long a terminal may take to report its background.
const ANSWER_TIME: Duration = Duration::from_millis(100);

/// Whether the terminal is light, once that is known.
static LIGHT: OnceLock<bool> = OnceLock::new();

/// For the terminal the program runs in; `fixed` where the command line names the theme.
pub(super) fn for_terminal(settings: &Terminal, fixed: bool) -> Result<Appearance, Failure> {
    let depth = Depth::detect(variable);
    let colours = variable("COLORFGBG");
    // The terminal is asked only where the environment says nothing: over a slow line its answer delays the first frame.
    let light = || *LIGHT.get_or_init(|| is_light(None, colours.as_deref(), if colours.is_some() { None } else { background(depth) }));
    look(settings, depth, light, fixed || settings.theme != ThemeChoice::Auto)
}

/// As `for_terminal`, while the dashboard runs: the terminal is not asked again, since its answer would come among the keys.
pub(super) fn again(settings: &Terminal) -> Result<Appearance, Failure> {
    let from_environment = || is_light(None, variable("COLORFGBG").as_deref(), None);
    look(settings, Depth::detect(variable), || LIGHT.get().copied().unwrap_or_else(from_environment), true)
}

/// For a picture, whatever the terminal: all colours, dark by default.
pub(super) fn for_picture(settings: &Terminal) -> Result<Appearance, Failure> {
    look(settings, Depth::True, || false, true)
}

fn look(settings: &Terminal, depth: Depth, light: impl Fn() -> bool, fixed: bool) -> Result<Appearance, Failure> {
    let palette = match &settings.theme {
        ThemeChoice::Auto if light() => Palette::light(),
        ThemeChoice::Auto => Palette::dark(),
        ThemeChoice::Named(name) => Palette::builtin(name)
            .ok_or_else(|| Failure::Usage(format!("the theme `{name}` is not built in: expected dark, light or high-contrast")))?,
        ThemeChoice::File(file) => theme_file(file)?,
    };
    let options = Options { depth, up_down_swapped: settings.up_down_swapped, colour_blind: settings.colour_blind };
    Ok(Appearance { theme: Theme::new(&palette, options), ascii: settings.ascii, bell: settings.bell, options, fixed })
}

fn theme_file(file: &Path) -> Result<Palette, Failure> {
    let shown = file.display();
    let mut text = String::new();
    let read = File::open(file).and_then(|file| file.take(THEME_BYTES_MAX).read_to_string(&mut text));
    read.map_err(|error| Failure::Usage(format!("the theme `{shown}` cannot be read: {}", plain_reason(&error))))?;
    Palette::parse(&text).map_err(|reason| Failure::Usage(format!("the theme `{shown}`: {reason}")))
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// The terminal's background, if it reports it; one without colours is not asked.
fn background(depth: Depth) -> Option<(u8, u8, u8)> {
    if depth == Depth::None {
        return None;
    }
    let mut options = QueryOptions::default();
    options.timeout = ANSWER_TIME;
    background_color(options).ok().map(|colour| colour.scale_to_8bit())
}
