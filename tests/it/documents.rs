//! Files generated from tables: `config.toml`, the tables of pages, the checks. `TOKENDECK_BLESS=1` rewrites them.

use std::{
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
};

use tokendeck::config::{Config, SETTINGS, config_toml, settings_table};
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

/// The page with `content` between the two marker comments.
fn filled(page: &str, name: &str, content: &str) -> String {
    let (start, end) = (format!("<!-- {name} -->\n"), format!("<!-- end of {name} -->"));
    let before = page.split(&start).next().unwrap();
    let after = page.split(&end).nth(1).unwrap_or_else(|| panic!("the page lacks `{end}`"));
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
fn the_pages_have_the_tables_that_the_program_can_print() {
    let tables = [
        ("docs/configuration.md", "settings", settings_table()),
        ("docs/dashboard.md", "keys", keys_table()),
        ("docs/own-data.md", "mapping", store::manifest::keys::keys_table()),
        ("docs/importing.md", "formats", import::Formats::built_in().table()),
        ("docs/importing.md", "labels", analysis::security::facts::labels_table()),
    ];
    for (page, name, table) in tables {
        hold(page, &filled(&read(page), name, &table));
    }
    let page = read("docs/configuration.md");
    assert!(SETTINGS.iter().all(|row| page.contains(&format!("| `{}.{}` |", row.section, row.key))));
}

/// The book's summary names every page, and every link between files leads to one.
#[test]
fn every_page_is_found_and_every_link_leads_somewhere() {
    let summary = read("docs/SUMMARY.md");
    let mut files = vec!["README.md".to_owned(), "CONTRIBUTING.md".to_owned(), "ARCHITECTURE.md".to_owned(), "CHANGELOG.md".to_owned()];
    for entry in fs::read_dir(path("docs")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        if Path::new(&name).extension().is_some_and(|ending| ending == "md") {
            assert!(name == "SUMMARY.md" || summary.contains(&format!("({name})")), "SUMMARY.md lacks {name}");
            files.push(format!("docs/{name}"));
        }
    }
    let mut links = 0;
    for file in files {
        let folder = path(&file).parent().unwrap().to_owned();
        let text = read(&file);
        assert!(!text.is_empty(), "{file} is not there");
        for target in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let target = target.split('#').next().unwrap();
            if !target.is_empty() && !target.contains("://") {
                assert!(folder.join(target).exists(), "{file}: `{target}` is not there");
                links += 1;
            }
        }
    }
    assert!(links > 30, "{links}");
}

#[test]
fn the_readme_and_the_checks_run_the_same_tests() {
    let (readme, checks) = (read("README.md"), read(".ci/run"));
    assert!(readme.lines().any(|line| line == "    cargo run --release"));
    assert!(readme.lines().any(|line| line == "    cargo test --release"));
    assert!(checks.lines().any(|line| line == "cargo test --release"));
}
