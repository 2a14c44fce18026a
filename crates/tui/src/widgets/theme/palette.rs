//! Palettes: the colors of a theme file, built in or the user's.

use std::{collections::BTreeMap, fmt};

use super::{Rgb, Role};
use model::{
    spelling::nearest,
    toml_reader::{TomlDocument, TomlError},
};

/// The built-in themes: name and file.
pub const BUILTIN: &[(&str, &str)] = &[
    ("dark", include_str!("../../../themes/dark.toml")),
    ("light", include_str!("../../../themes/light.toml")),
    (
        "high-contrast",
        include_str!("../../../themes/high-contrast.toml"),
    ),
];

/// Up, up soft, down, down soft for red-green color blindness: blue and vermilion of the Okabe–Ito palette (jfly.uni-koeln.de/color),
/// lightened for dark backgrounds.
const COLOUR_BLIND_DARK: [Rgb; 4] = [
    (0x56, 0xb4, 0xe9),
    (0x3b, 0x7d, 0xa3),
    (0xf2, 0x8e, 0x3c),
    (0xaa, 0x65, 0x2c),
];
const COLOUR_BLIND_LIGHT: [Rgb; 4] = [
    (0x00, 0x62, 0x9c),
    (0x3c, 0x89, 0xb7),
    (0xa8, 0x45, 0x00),
    (0xbe, 0x6c, 0x33),
];

/// Why a theme file is rejected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ThemeError {
    Toml(TomlError),
    /// Neither the file nor its base has a color for the role.
    NoColor(Role),
}

impl fmt::Display for ThemeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Toml(error) => error.fmt(f),
            Self::NoColor(role) => write!(
                f,
                "the theme has no `{}`; set it, or set `base = \"dark\"`",
                role.key()
            ),
        }
    }
}

impl std::error::Error for ThemeError {}

/// A color for every role.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Palette {
    pub name: String,
    pub light: bool,
    colors: Vec<Rgb>,
}

impl Palette {
    pub fn dark() -> Self {
        Self::always("dark")
    }

    pub fn light() -> Self {
        Self::always("light")
    }

    fn always(name: &str) -> Self {
        Self::builtin(name).expect("the built-in themes are compiled in, and a test reads them")
    }

    pub fn builtin(name: &str) -> Option<Self> {
        let (_, file) = BUILTIN.iter().find(|(known, _)| *known == name)?;
        Self::parse(file).ok()
    }

    /// Parses a theme file: `name`, `light = true|false`, `base = "dark"` for colors not given, and a color `"#rrggbb"` for each role.
    pub fn parse(file: &str) -> Result<Self, ThemeError> {
        let Given {
            name,
            light,
            base,
            colors,
        } = Given::read(file).map_err(ThemeError::Toml)?;
        let light = light
            .or(base.as_ref().map(|base| base.light))
            .unwrap_or(false);
        let color = |role: &Role| {
            let color = colors
                .get(role.key())
                .copied()
                .or(base.as_ref().map(|base| base.rgb(*role)));
            // A theme written before there was the role has the built-in one's.
            let later = matches!(role, Role::Curve | Role::CurveSecond);
            let color = color.or_else(|| {
                later.then(|| Self::always(if light { "light" } else { "dark" }).rgb(*role))
            });
            color.ok_or(ThemeError::NoColor(*role))
        };
        let colors = Role::ALL.iter().map(color).collect::<Result<_, _>>()?;
        Ok(Self {
            name: name.unwrap_or_else(|| "unnamed".to_owned()),
            light,
            colors,
        })
    }

    pub(super) fn rgb(&self, role: Role) -> Rgb {
        self.colors[role as usize]
    }

    pub(super) fn with(&self, swapped: bool, colour_blind: bool) -> Self {
        let mut palette = self.clone();
        let roles = [Role::Up, Role::UpSoft, Role::Down, Role::DownSoft];
        let mut pair = if !colour_blind {
            roles.map(|role| self.rgb(role))
        } else if self.light {
            COLOUR_BLIND_LIGHT
        } else {
            COLOUR_BLIND_DARK
        };
        if swapped {
            pair.rotate_left(2);
        }
        for (role, color) in roles.into_iter().zip(pair) {
            palette.colors[role as usize] = color;
        }
        palette
    }
}

/// The entries of a theme file.
#[derive(Debug, Default)]
struct Given {
    name: Option<String>,
    light: Option<bool>,
    base: Option<Palette>,
    /// By role key.
    colors: BTreeMap<&'static str, Rgb>,
}

impl Given {
    fn read(file: &str) -> Result<Self, TomlError> {
        let document = TomlDocument::parse(file)
            .map_err(|error| error.prefixed("the theme is not valid TOML: "))?;
        let mut given = Self::default();
        for entry in document.entries() {
            match entry.key {
                "name" => given.name = Some(entry.text()?),
                "light" => given.light = Some(entry.boolean()?),
                "base" => {
                    let text = entry.text()?;
                    let unknown = || {
                        entry.error(format!(
                            "`base`: `{text}` is not a built-in theme; built-in themes: {}",
                            names()
                        ))
                    };
                    given.base = Some(Palette::builtin(&text).ok_or_else(unknown)?);
                }
                key => {
                    let role = Role::ALL
                        .iter()
                        .find(|role| role.key() == key)
                        .ok_or_else(|| entry.error(unknown(key)))?;
                    let wrong = || {
                        entry.wrong(&format!(
                            "must be a color such as \"#4cc38a\", not {}",
                            entry.written()
                        ))
                    };
                    given.colors.insert(
                        role.key(),
                        entry
                            .value
                            .as_str()
                            .and_then(parse_color)
                            .ok_or_else(wrong)?,
                    );
                }
            }
        }
        Ok(given)
    }
}

fn names() -> String {
    BUILTIN
        .iter()
        .map(|(name, _)| format!("`{name}`"))
        .collect::<Vec<_>>()
        .join(", ")
}

fn unknown(key: &str) -> String {
    let known = Role::ALL
        .iter()
        .map(|role| role.key())
        .chain(["name", "light", "base"]);
    let nearest = nearest(key, known).unwrap_or("text");
    format!("`{key}` is not a theme key; did you mean `{nearest}`?")
}

/// `#rrggbb` or `#rgb`.
fn parse_color(text: &str) -> Option<Rgb> {
    let digits: Vec<u8> = text
        .strip_prefix('#')?
        .chars()
        .map(|c| c.to_digit(16).map(|d| d as u8))
        .collect::<Option<_>>()?;
    match *digits {
        [r, g, b] => Some((r * 17, g * 17, b * 17)),
        [r1, r0, g1, g0, b1, b0] => Some((r1 * 16 + r0, g1 * 16 + g0, b1 * 16 + b0)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Contrast ratio of WCAG 2.2, 1.4.3.
    fn contrast(a: Rgb, b: Rgb) -> f64 {
        let part = |value: u8| {
            let s = f64::from(value) / 255.0;
            if s <= 0.04045 {
                s / 12.92
            } else {
                ((s + 0.055) / 1.055).powf(2.4)
            }
        };
        let luminance = |(r, g, b): Rgb| 0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b);
        let (a, b) = (luminance(a), luminance(b));
        (a.max(b) + 0.05) / (a.min(b) + 0.05)
    }

    #[test]
    fn built_in_themes_are_whole_and_readable() {
        for (name, file) in BUILTIN {
            let palette = Palette::parse(file).unwrap();
            assert_eq!(&palette.name, name);
            let wanted = if *name == "high-contrast" { 7.0 } else { 4.5 };
            for colour_blind in [false, true] {
                let palette = palette.with(false, colour_blind && *name != "high-contrast");
                for role in [
                    Role::Text,
                    Role::Dim,
                    Role::Accent,
                    Role::Up,
                    Role::Down,
                    Role::Warning,
                    Role::Curve,
                    Role::CurveSecond,
                ] {
                    let found = contrast(palette.rgb(role), palette.rgb(Role::Background));
                    assert!(found >= wanted, "{name}: {role:?} {found:.2}");
                    let selected = contrast(palette.rgb(role), palette.rgb(Role::Selection));
                    assert!(selected >= 3.0, "{name}: {role:?} selected {selected:.2}");
                }
                // Bars and sparklines: graphics of WCAG 2.2, 1.4.11.
                let softs = [
                    Role::AccentSoft,
                    Role::UpSoft,
                    Role::DownSoft,
                    Role::WarningSoft,
                ];
                for role in softs {
                    for under in [Role::Background, Role::Selection] {
                        let found = contrast(palette.rgb(role), palette.rgb(under));
                        assert!(found >= 3.0, "{name}: {role:?} on {under:?} {found:.2}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_theme_of_ones_own_may_change_a_little_or_all() {
        let palette = Palette::parse("name = 'mine'\nbase = 'light'\nup = '#0a0'").unwrap();
        assert_eq!(
            (palette.name.as_str(), palette.light, palette.rgb(Role::Up)),
            ("mine", true, (0, 170, 0))
        );
        assert_eq!(palette.rgb(Role::Text), Palette::light().rgb(Role::Text));
    }

    #[test]
    fn a_wrong_theme_is_refused_in_words() {
        let cases = [
            (
                "base = 'dark'\nselektion = '#fff'",
                "line 2: `selektion` is not a theme key; did you mean `selection`?",
            ),
            (
                "base = 'dark'\nup = 'greenish'",
                "line 2: `up` must be a color such as \"#4cc38a\", not 'greenish'",
            ),
            (
                "base = 'drak'",
                "line 1: `base`: `drak` is not a built-in theme; built-in themes: `dark`, `light`, `high-contrast`",
            ),
            (
                "up = '#0a0'",
                "the theme has no `text`; set it, or set `base = \"dark\"`",
            ),
            (
                "base = 'dark'\nlight = 3",
                "line 2: `light` must be true or false",
            ),
        ];
        for (file, message) in cases {
            assert_eq!(Palette::parse(file).unwrap_err().to_string(), message);
        }
        assert!(
            Palette::parse("= = =")
                .unwrap_err()
                .to_string()
                .starts_with("line 1: the theme is not valid TOML")
        );
    }
}
