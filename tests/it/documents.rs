//! Files generated from tables: `config.toml`, the README's tables, the checks. `TOKENDECK_BLESS=1` rewrites them.

use std::{fmt::Write as _, fs, path::PathBuf};

use tokendeck::config::{Config, SETTINGS, config_toml, readme_table};
use tui::keymap::{KEYS, Keymap, Scope};

fn path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(name)
}

fn read(name: &str) -> String {
    fs::read_to_string(path(name)).unwrap_or_default()
}

/// Compares the file with `expected`, or overwrites it when blessing.
fn hold(name: &str, expected: &str) {
    if std::env::var_os("TOKENDECK_BLESS").is_some() {
        fs::write(path(name), expected).unwrap();
    }
    assert!(read(name) == expected, "{name} is not as its table says: run the tests with TOKENDECK_BLESS=1 and read what changed");
}

/// The README with `content` between the two marker comments.
fn filled(readme: &str, name: &str, content: &str) -> String {
    let (start, end) = (format!("<!-- {name} -->\n"), format!("<!-- end of {name} -->"));
    let before = readme.split(&start).next().unwrap();
    let after = readme.split(&end).nth(1).unwrap_or_else(|| panic!("README.md lacks `{end}`"));
    format!("{before}{start}{content}{end}{after}")
}

fn keys_table() -> String {
    let keymap = Keymap::default();
    let mut text = String::from("| where | keys | what | name in the configuration |\n|---|---|---|---|\n");
    for row in KEYS {
        let place = match row.scope {
            Scope::Everywhere => "everywhere",
            Scope::View(view) => view.title(),
            Scope::Some(views, _) => views,
        };
        let keys: Vec<String> = keymap.keys(row.action).iter().map(|key| format!("`{key}`")).collect();
        writeln!(text, "| {place} | {} | {} | `{}` |", keys.join(" "), row.help, row.action.name()).unwrap();
    }
    text
}

#[test]
fn config_toml_says_every_default() {
    hold("config.toml", &config_toml());
    let file = path("config.toml");
    let config = Config::parse(Some(&file), &read("config.toml")).unwrap();
    let mut usual = Config::parse(None, "").unwrap();
    // The only path relative to the file.
    usual.datasets.dir = path("datasets");
    usual.file = Some(file);
    // The file's values equal the defaults.
    usual.given.clone_from(&config.given);
    assert_eq!(config, usual);
}

#[test]
fn the_readme_has_the_tables_of_settings_and_keys() {
    let readme = read("README.md");
    hold("README.md", &filled(&filled(&readme, "settings", &readme_table()), "keys", &keys_table()));
    hold("README.md", &filled(&read("README.md"), "mapping", &store::manifest::keys::keys_table()));
    hold("README.md", &filled(&read("README.md"), "labels", &analysis::security::facts::labels_table()));
    assert!(SETTINGS.iter().all(|row| readme.contains(&format!("| `{}.{}` |", row.section, row.key))));
}

#[test]
fn the_readme_and_the_checks_run_the_same_tests() {
    let (readme, checks) = (read("README.md"), read(".ci/run"));
    assert!(readme.lines().any(|line| line == "    cargo run --release"));
    assert!(readme.lines().any(|line| line == "    cargo test --release"));
    assert!(checks.lines().any(|line| line == "cargo test --release"));
}
