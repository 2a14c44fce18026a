//! Roles, and their styles in a theme at the terminal's color depth. Views name roles, never colors.

mod palette;

use crate::zone::DisplayZone;
use ratatui::style::{Color, Modifier, Style};

pub use self::palette::{BUILTIN, Palette, ThemeError};

macro_rules! roles {
    ($($name:ident $key:literal $says:literal;)*) => {
        /// The meaning of a color. `*Soft` is a second, quieter strength, for bars and shades.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Role { $(#[doc = $says] $name),* }

        impl Role {
            pub const ALL: &[Role] = &[$(Role::$name),*];
            /// The key in a theme file.
            pub fn key(self) -> &'static str {
                match self { $(Role::$name => $key),* }
            }
        }
    };
}

roles! {
    Text "text" "Body text.";
    Dim "dim" "Titles, units, axis labels, missing values.";
    Grid "grid" "Rules, axes, bar tracks.";
    Accent "accent" "Focus, the active tab, matches.";
    AccentSoft "accent_soft" "The quieter accent.";
    Up "up" "Rising, good.";
    UpSoft "up_soft" "The quieter up.";
    Down "down" "Falling, bad.";
    DownSoft "down_soft" "The quieter down.";
    Warning "warning" "Needs attention.";
    WarningSoft "warning_soft" "The quieter warning.";
    Curve "curve" "The first indicator drawn over candles; no trendline or pattern uses this color.";
    CurveSecond "curve_second" "The second indicator.";
    Background "background" "Background of the screen.";
    Panel "panel" "Background of overlays.";
    Selection "selection" "Background of the selected row.";
}

impl Role {
    /// Up, down or text by the sign.
    pub fn of_sign(value: f64) -> Self {
        match value {
            value if value > 0.0 => Self::Up,
            value if value < 0.0 => Self::Down,
            _ => Self::Text,
        }
    }

    /// Up or down for a change in percent that is no zero when rounded.
    pub fn of_change(percent: f64) -> Self {
        if percent.abs() < 0.005 || percent.is_nan() {
            Self::Dim
        } else {
            Self::of_sign(percent)
        }
    }
}

/// The color depth of the terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Depth {
    None,
    Sixteen,
    Indexed,
    True,
}

impl Depth {
    /// Detects the depth from the environment: `NO_COLOR` (non-empty), `TERM`, `COLORTERM`, and terminals known by their own variables.
    pub fn detect(var: impl Fn(&str) -> Option<String>) -> Self {
        let has = |name: &str| var(name).is_some_and(|value| !value.is_empty());
        let term = var("TERM").unwrap_or_default();
        if has("NO_COLOR") || is_monochrome(&term) {
            return Self::None;
        }
        let colorterm = var("COLORTERM").unwrap_or_default();
        let rich = [
            "-direct",
            "-truecolor",
            "xterm-kitty",
            "xterm-ghostty",
            "wezterm",
            "foot",
            "alacritty",
        ];
        if matches!(&*colorterm, "truecolor" | "24bit")
            || has("WT_SESSION")
            || rich.iter().any(|name| term.contains(name))
        {
            return Self::True;
        }
        let plain = ["linux", "xterm", "screen", "ansi", "cygwin", "rxvt", "tmux"];
        if term.contains("256") || has("TERM_PROGRAM") || !colorterm.is_empty() {
            Self::Indexed
        } else if term.is_empty()
            || plain.contains(&&*term)
            || term.contains("16")
            || term.contains("color")
        {
            Self::Sixteen
        } else {
            Self::Indexed
        }
    }
}

fn is_monochrome(term: &str) -> bool {
    term == "dumb" || term.starts_with("vt1") || term.starts_with("vt2")
}

/// Whether the terminal named by `TERM` has no glyphs but ASCII: hardware terminals, and the Linux console, whose fonts have at most 512
/// glyphs.
pub fn lacks_glyphs(term: &str) -> bool {
    is_monochrome(term) || term == "linux"
}

/// The user's options on top of a palette.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    pub depth: Depth,
    /// Red for rising and green for falling, the convention in East Asia.
    pub up_down_swapped: bool,
    /// Blue and orange in place of green and red.
    pub colour_blind: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            depth: Depth::True,
            up_down_swapped: false,
            colour_blind: false,
        }
    }
}

/// Display settings.
#[derive(Debug, Clone)]
pub struct Appearance {
    pub theme: Theme,
    /// ASCII glyphs only.
    pub ascii: bool,
    /// Ring the terminal bell when an alert fires.
    pub bell: bool,
    /// Of times on screen.
    pub zone: DisplayZone,
    pub options: Options,
    /// The theme was chosen on the command line or in the configuration; the saved session's choice is ignored.
    pub fixed: bool,
}

/// Share of the role's color in its tint: visible, and text of the same color stays readable on it.
const TINT: f64 = 0.13;

/// A palette, reduced to the terminal's color depth.
#[derive(Debug, Clone, PartialEq)]
pub struct Theme {
    depth: Depth,
    styles: Vec<Style>,
    tints: [Option<Color>; 4],
}

impl Default for Theme {
    fn default() -> Self {
        Self::new(&Palette::dark(), Options::default())
    }
}

impl Theme {
    pub fn new(palette: &Palette, options: Options) -> Self {
        let palette = palette.with(options.up_down_swapped, options.colour_blind);
        let styles = Role::ALL
            .iter()
            .map(|&role| style(&palette, role, options))
            .collect();
        let tint = |role| match options.depth {
            Depth::True | Depth::Indexed => Some(color_at_depth(
                mixed(palette.rgb(Role::Background), palette.rgb(role), TINT),
                options.depth,
            )),
            Depth::Sixteen | Depth::None => None,
        };
        let tints = [
            tint(Role::Accent),
            tint(Role::Up),
            tint(Role::Down),
            tint(Role::Warning),
        ];
        Self {
            depth: options.depth,
            styles,
            tints,
        }
    }

    pub fn depth(&self) -> Depth {
        self.depth
    }

    /// The role's style: a foreground, or a background for `Background`, `Panel` and `Selection`; combine by patching.
    pub fn style(&self, role: Role) -> Style {
        self.styles[role as usize]
    }

    /// The role's color; `None` where the terminal's own colors are used, which are not known.
    pub fn rgb(&self, role: Role) -> Option<Rgb> {
        let style = self.style(role);
        match style.fg.filter(|_| style.bg.is_none()).or(style.bg)? {
            Color::Rgb(r, g, b) => Some((r, g, b)),
            Color::Indexed(index) if index >= 16 => Some(indexed_rgb(index)),
            _ => None,
        }
    }

    pub fn text(&self) -> Style {
        self.style(Role::Text)
    }

    pub fn dim(&self) -> Style {
        self.style(Role::Dim)
    }

    pub fn accent(&self) -> Style {
        self.style(Role::Accent)
    }

    /// Headings: the text color, bold.
    pub fn strong(&self) -> Style {
        self.text().add_modifier(Modifier::BOLD)
    }

    /// Matches of the filter.
    pub fn matched(&self) -> Style {
        self.accent().add_modifier(Modifier::UNDERLINED)
    }

    /// A faint background in the role's color, to shade a span of a chart; empty where the terminal has no faint colors.
    pub fn tint(&self, role: Role) -> Style {
        let place = match role {
            Role::Up | Role::UpSoft => 1,
            Role::Down | Role::DownSoft => 2,
            Role::Warning | Role::WarningSoft => 3,
            _ => 0,
        };
        self.tints[place].map_or_else(Style::new, |color| Style::new().bg(color))
    }
}

fn style(palette: &Palette, role: Role, options: Options) -> Style {
    match options.depth {
        Depth::None => Style::new().add_modifier(match role {
            Role::Dim
            | Role::Grid
            | Role::AccentSoft
            | Role::UpSoft
            | Role::DownSoft
            | Role::WarningSoft => Modifier::DIM,
            Role::Accent | Role::Up | Role::Curve => Modifier::BOLD,
            Role::Down | Role::Warning => Modifier::UNDERLINED,
            Role::Selection => Modifier::REVERSED,
            Role::Text | Role::Background | Role::Panel | Role::CurveSecond => Modifier::empty(),
        }),
        Depth::Sixteen => sixteen(palette, role, options),
        depth => {
            let color = color_at_depth(palette.rgb(role), depth);
            if matches!(role, Role::Background | Role::Panel | Role::Selection) {
                Style::new().bg(color)
            } else {
                Style::new().fg(color)
            }
        }
    }
}

/// Style for sixteen colors: the terminal's own foreground and background stay, and each role gets a fixed named color; the user's
/// sixteen colors are unknown, so the nearest one cannot be computed.
fn sixteen(palette: &Palette, role: Role, options: Options) -> Style {
    let light = palette.light;
    let pair = |dark: Color, bright: Color| if light { dark } else { bright };
    let (mut up, mut down) = if options.colour_blind {
        (
            (Color::Blue, pair(Color::Blue, Color::LightBlue)),
            (Color::Yellow, pair(Color::Yellow, Color::LightYellow)),
        )
    } else {
        (
            (Color::Green, pair(Color::Green, Color::LightGreen)),
            (Color::Red, pair(Color::Red, Color::LightRed)),
        )
    };
    if options.up_down_swapped {
        (up, down) = (down, up);
    }
    match role {
        Role::Text | Role::Background | Role::Panel => Style::new(),
        Role::Dim | Role::Grid => Style::new().fg(Color::DarkGray),
        Role::Accent => Style::new().fg(pair(Color::Blue, Color::LightCyan)),
        Role::AccentSoft => Style::new().fg(Color::Cyan),
        Role::Up => Style::new().fg(up.1),
        Role::UpSoft => Style::new().fg(up.0),
        Role::Down => Style::new().fg(down.1),
        Role::DownSoft => Style::new().fg(down.0),
        Role::Warning if options.colour_blind => {
            Style::new().fg(pair(Color::Magenta, Color::LightMagenta))
        }
        Role::Warning => Style::new().fg(pair(Color::Magenta, Color::LightYellow)),
        Role::WarningSoft => Style::new().fg(pair(Color::Magenta, Color::Yellow)),
        Role::Curve => Style::new().fg(pair(Color::Cyan, Color::LightMagenta)),
        Role::CurveSecond => Style::new().fg(pair(Color::Black, Color::White)),
        // Greys and reds would be unreadable on it: the row has one foreground, and signs replace the colors.
        Role::Selection => Style::new()
            .bg(pair(Color::Gray, Color::Blue))
            .fg(pair(Color::Black, Color::White)),
    }
}

pub type Rgb = (u8, u8, u8);

/// A color between two.
pub(crate) fn mixed(base: Rgb, over: Rgb, share: f64) -> Rgb {
    let mix = |a: u8, b: u8| (f64::from(a) + (f64::from(b) - f64::from(a)) * share).round() as u8;
    (
        mix(base.0, over.0),
        mix(base.1, over.1),
        mix(base.2, over.2),
    )
}

fn color_at_depth((r, g, b): Rgb, depth: Depth) -> Color {
    if depth == Depth::True {
        Color::Rgb(r, g, b)
    } else {
        Color::Indexed(nearest_indexed((r, g, b)))
    }
}

/// The steps of a channel in xterm's cube of colors.
const LEVELS: [u8; 6] = [0, 95, 135, 175, 215, 255];

/// The color of an index from 16 on.
fn indexed_rgb(index: u8) -> Rgb {
    let level = |place: u8| LEVELS[usize::from(place % 6)];
    match index {
        232.. => (
            8 + 10 * (index - 232),
            8 + 10 * (index - 232),
            8 + 10 * (index - 232),
        ),
        _ => (
            level(index.saturating_sub(16) / 36),
            level(index.saturating_sub(16) / 6),
            level(index.saturating_sub(16)),
        ),
    }
}

/// The nearest color of xterm's 6×6×6 cube (16–231) and grey ramp (232–255); the first sixteen are configurable, thus unknown.
fn nearest_indexed(rgb: Rgb) -> u8 {
    let distance = |other: Rgb| {
        let square = |a: u8, b: u8| (i32::from(a) - i32::from(b)).pow(2);
        square(rgb.0, other.0) + square(rgb.1, other.1) + square(rgb.2, other.2)
    };
    let level = |value: u8| {
        (0..6)
            .min_by_key(|&i: &usize| LEVELS[i].abs_diff(value))
            .unwrap_or(0)
    };
    let (r, g, b) = (level(rgb.0), level(rgb.1), level(rgb.2));
    let cube = (
        (16 + 36 * r + 6 * g + b) as u8,
        distance((LEVELS[r], LEVELS[g], LEVELS[b])),
    );
    let greys = (0..24_u8).map(|i| (232 + i, distance((8 + 10 * i, 8 + 10 * i, 8 + 10 * i))));
    greys
        .chain([cube])
        .min_by_key(|(_, far)| *far)
        .map_or(cube.0, |(index, _)| index)
}

/// Whether to use the light theme: the setting if present, otherwise the background reported by the terminal, otherwise `COLORFGBG`
/// (`15;0`: the last number is the background), otherwise dark.
pub fn is_light(
    setting: Option<bool>,
    colorfgbg: Option<&str>,
    background: Option<(u8, u8, u8)>,
) -> bool {
    if let Some(light) = setting {
        return light;
    }
    if let Some((r, g, b)) = background {
        // Rec. 709 luma of the gamma-encoded values; the middle of the range separates light from dark well enough.
        return 0.2126 * f64::from(r) + 0.7152 * f64::from(g) + 0.0722 * f64::from(b) > 127.5;
    }
    let index = colorfgbg
        .and_then(|text| text.rsplit(';').next())
        .and_then(|text| text.trim().parse::<u8>().ok());
    matches!(index, Some(7 | 9..=15))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vars(pairs: &'static [(&'static str, &'static str)]) -> impl Fn(&str) -> Option<String> {
        move |name| {
            pairs
                .iter()
                .find(|(key, _)| *key == name)
                .map(|(_, value)| (*value).to_owned())
        }
    }

    #[test]
    fn the_environment_tells_the_depth() {
        let cases: [(&'static [(&'static str, &'static str)], Depth); 9] = [
            (
                &[("NO_COLOR", "1"), ("COLORTERM", "truecolor")],
                Depth::None,
            ),
            (&[("NO_COLOR", ""), ("COLORTERM", "truecolor")], Depth::True),
            (&[("TERM", "dumb")], Depth::None),
            (&[("TERM", "xterm-256color")], Depth::Indexed),
            (
                &[("TERM", "xterm-256color"), ("COLORTERM", "truecolor")],
                Depth::True,
            ),
            (&[("TERM", "xterm-kitty")], Depth::True),
            (&[("TERM", "linux")], Depth::Sixteen),
            (&[("TERM", "screen-256color")], Depth::Indexed),
            (&[], Depth::Sixteen),
        ];
        for (pairs, depth) in cases {
            assert_eq!(Depth::detect(vars(pairs)), depth, "{pairs:?}");
        }
    }

    #[test]
    fn old_terminals_get_ascii_and_others_do_not() {
        let plain = ["dumb", "vt100", "vt220", "linux"];
        let rich = [
            "",
            "linux-truecolor",
            "xterm",
            "xterm-256color",
            "screen",
            "vte",
        ];
        assert!(plain.into_iter().all(lacks_glyphs) && !rich.into_iter().any(lacks_glyphs));
    }

    #[test]
    fn light_or_dark_follows_the_setting_then_the_terminal() {
        let cases = [
            (Some(true), Some("15;0"), Some((0, 0, 0)), true),
            (None, Some("0;15"), None, true),
            (None, Some("15;0"), None, false),
            (None, Some("12;default;7"), None, true),
            (None, Some("nonsense"), None, false),
            (None, Some("15;0"), Some((250, 250, 248)), true),
            (None, None, None, false),
        ];
        for (setting, variable, background, light) in cases {
            assert_eq!(
                is_light(setting, variable, background),
                light,
                "{setting:?} {variable:?} {background:?}"
            );
        }
    }

    #[test]
    fn in_every_depth_up_and_down_and_selection_can_be_told_apart() {
        for depth in [Depth::None, Depth::Sixteen, Depth::Indexed, Depth::True] {
            for palette in BUILTIN
                .iter()
                .filter_map(|(name, _)| Palette::builtin(name))
            {
                for (up_down_swapped, colour_blind) in
                    [(false, false), (true, false), (false, true), (true, true)]
                {
                    let theme = Theme::new(
                        &palette,
                        Options {
                            depth,
                            up_down_swapped,
                            colour_blind,
                        },
                    );
                    assert_ne!(theme.style(Role::Up), theme.style(Role::Down));
                    assert_ne!(theme.style(Role::Selection), theme.style(Role::Background));
                    assert_ne!(theme.style(Role::Text), theme.style(Role::Dim));
                    let colours = Role::ALL.iter().any(|&role| {
                        theme.style(role).fg.is_some() || theme.style(role).bg.is_some()
                    });
                    assert_eq!(colours, depth != Depth::None);
                }
            }
        }
    }

    #[test]
    fn swapping_exchanges_up_and_down_and_nothing_else() {
        for depth in [Depth::Sixteen, Depth::Indexed, Depth::True] {
            let plain = Theme::new(
                &Palette::dark(),
                Options {
                    depth,
                    ..Options::default()
                },
            );
            let swapped = Theme::new(
                &Palette::dark(),
                Options {
                    depth,
                    up_down_swapped: true,
                    ..Options::default()
                },
            );
            assert_eq!(plain.style(Role::Up), swapped.style(Role::Down));
            assert_eq!(plain.style(Role::DownSoft), swapped.style(Role::UpSoft));
            assert_eq!(plain.style(Role::Accent), swapped.style(Role::Accent));
        }
    }

    #[test]
    fn indexed_colours_are_the_nearest() {
        assert_eq!(nearest_indexed((255, 0, 0)), 196);
        assert_eq!(nearest_indexed((8, 8, 8)), 232);
        assert_eq!(nearest_indexed((255, 255, 255)), 231);
        assert!((16..=255).all(|index| index == 16
            || indexed_rgb(nearest_indexed(indexed_rgb(index))) == indexed_rgb(index)));
        assert_eq!(
            (indexed_rgb(196), indexed_rgb(232), indexed_rgb(21)),
            ((255, 0, 0), (8, 8, 8), (0, 0, 255))
        );
    }
}
