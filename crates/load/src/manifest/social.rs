//! The `[social]` section of `dataset.toml`: how social metrics are counted, and how long texts of fetched posts are kept.

use super::live::span;
use model::{
    social::{SmartRule, SocialSettings},
    time::DAY_MS,
    toml_reader::{TomlEntry, TomlError},
};

const KEYS: [&str; 3] = ["window", "smart", "keep"];
/// The longest window, and the longest time that texts are kept.
const SPAN_MAX: i64 = 20 * 365 * DAY_MS;

pub(super) fn read(member: &TomlEntry<'_>) -> Result<SocialSettings, TomlError> {
    let mut settings = SocialSettings::default();
    for key in member.table()? {
        match key.key {
            "window" if key.text()? == "all" => settings.window = None,
            "window" => {
                let must = "must be \"all\" or a duration of at least 1d, such as \"7d\"";
                settings.window = Some(span(&key, DAY_MS, SPAN_MAX, must)?);
            }
            "smart" => {
                let word = key.text()?;
                let rule = SmartRule::ALL.into_iter().find(|rule| rule.word() == word);
                settings.smart =
                    rule.ok_or_else(|| key.wrong("must be \"score\", \"holder\" or \"list\""))?;
            }
            "keep" => {
                let must = "must be a duration of at least 1d, such as \"90d\"";
                settings.keep = Some(span(&key, DAY_MS, SPAN_MAX, must)?);
            }
            _ => return Err(key.unknown("key", &KEYS)),
        }
    }
    Ok(settings)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::manifest::Manifest;

    #[test]
    fn the_section_is_read_and_a_mistake_is_named() {
        let read = |text: &str| Manifest::parse(&format!("[social]\n{text}"));
        let settings = |text: &str| read(text).expect(text).social;
        assert_eq!(settings(""), SocialSettings::default());
        assert_eq!(settings("window = 'all'"), SocialSettings::default());
        let all = settings("window = '7d'\nsmart = 'holder'\nkeep = '90d'");
        assert_eq!(all.window, Some(7 * DAY_MS));
        assert_eq!(all.smart, SmartRule::Holder);
        assert_eq!(all.keep, Some(90 * DAY_MS));
        for (text, expected) in [
            (
                "window = '1h'",
                "line 2: `window` must be \"all\" or a duration of at least 1d, such as \"7d\"",
            ),
            (
                "smart = 'money'",
                "line 2: `smart` must be \"score\", \"holder\" or \"list\"",
            ),
            ("keep = 5", "line 2: `keep` must be text"),
            (
                "kep = '1d'",
                "line 2: unknown key `kep`; did you mean `keep`?",
            ),
        ] {
            assert_eq!(read(text).expect_err(text).to_string(), expected);
        }
    }
}
