//! Files generated from tables: `config.toml`, the tables of pages, the checks. `TOKENDECK_BLESS=1` rewrites them.

use std::{
    fmt::Write as _,
    fs,
    path::{Component, Path, PathBuf},
};

use tokendeck::config::{Config, SETTINGS, config_toml, settings_table};
use tui::views::keymap::{KEYS, Keymap, Scope, VIEWS};

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
    assert!(
        read(name) == expected,
        "{name} is not as its table says: run the tests with TOKENDECK_BLESS=1 and read what changed"
    );
}

/// The page with `content` between the two marker comments.
fn filled(page: &str, name: &str, content: &str) -> String {
    let (start, end) = (
        format!("<!-- {name} -->\n"),
        format!("<!-- end of {name} -->"),
    );
    let before = page.split(&start).next().unwrap();
    let after = page
        .split(&end)
        .nth(1)
        .unwrap_or_else(|| panic!("the page lacks `{end}`"));
    format!("{before}{start}{content}{end}{after}")
}

fn keys_table() -> String {
    let keymap = Keymap::default();
    let mut text =
        String::from("| where | keys | what | name in the configuration |\n|---|---|---|---|\n");
    for row in KEYS {
        let place = match row.scope {
            Scope::Everywhere => "everywhere",
            Scope::View(view) => view.title(),
            Scope::Some(views, _) => views,
        };
        let keys: Vec<String> = keymap
            .keys(row.action)
            .iter()
            .map(|key| format!("`{key}`"))
            .collect();
        writeln!(
            text,
            "| {place} | {} | {} | `{}` |",
            keys.join(" "),
            row.help,
            row.action.name()
        )
        .unwrap();
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
        (
            "docs/own-data.md",
            "mapping",
            load::manifest::keys::keys_table(),
        ),
        (
            "docs/importing.md",
            "formats",
            import::Formats::built_in().table(),
        ),
        (
            "docs/importing.md",
            "labels",
            security::facts::labels_table(),
        ),
    ];
    for (page, name, table) in tables {
        hold(page, &filled(&read(page), name, &table));
    }
    let page = read("docs/configuration.md");
    assert!(
        SETTINGS
            .iter()
            .all(|row| page.contains(&format!("| `{}.{}` |", row.section, row.key)))
    );
}

/// The book's summary names every page, and every link between files leads to one.
#[test]
fn every_page_is_found_and_every_link_leads_somewhere() {
    let summary = read("docs/SUMMARY.md");
    let mut files = vec![
        "README.md".to_owned(),
        "CONTRIBUTING.md".to_owned(),
        "ARCHITECTURE.md".to_owned(),
        "CHANGELOG.md".to_owned(),
    ];
    for folder in ["", "recipes/", "notebooks/"] {
        for entry in fs::read_dir(path("docs").join(folder)).unwrap() {
            let name = folder.to_owned() + &entry.unwrap().file_name().into_string().unwrap();
            if Path::new(&name)
                .extension()
                .is_some_and(|ending| ending == "md")
            {
                assert!(
                    name == "SUMMARY.md" || summary.contains(&format!("({name})")),
                    "SUMMARY.md lacks {name}"
                );
                files.push(format!("docs/{name}"));
            }
        }
    }
    let mut links = 0;
    for file in files {
        let folder = path(&file).parent().unwrap().to_owned();
        let text = read(&file);
        assert!(!text.is_empty(), "{file} is not there");
        let named = text
            .split("](")
            .skip(1)
            .filter_map(|rest| rest.split(')').next());
        let pictures = ["src=\"", "srcset=\""]
            .into_iter()
            .flat_map(|start| text.split(start).skip(1))
            .filter_map(|rest| rest.split('"').next());
        for target in named.chain(pictures) {
            let target = target.split('#').next().unwrap();
            if !target.is_empty() && !target.contains("://") {
                // The book holds the pages alone.
                let place = Path::new(&file).parent().unwrap().join(target);
                let climbs = place.components().fold(0, |depth, part| {
                    depth + if part == Component::ParentDir { -1 } else { 1 }
                });
                assert!(
                    !file.starts_with("docs/") || climbs >= 2,
                    "{file}: `{target}` leads out of the book"
                );
                assert!(
                    folder.join(target).exists(),
                    "{file}: `{target}` is not there"
                );
                links += 1;
            }
        }
    }
    assert!(links > 30, "{links}");
}

/// Bytes of a picture at most, and of the recording that moves.
const PICTURE_MAX: u64 = 100_000;
const MOVING_MAX: u64 = 1_500_000;

#[test]
fn every_view_has_its_pictures_and_none_is_there_that_no_page_shows() {
    let pages: String = ["README.md", "docs/views.md"].map(read).concat();
    for row in VIEWS {
        for theme in ["dark", "light"] {
            assert!(
                pages.contains(&format!("pictures/{}-{theme}.png\"", row.word)),
                "docs/views.md lacks {} in {theme}",
                row.word
            );
        }
    }
    for entry in fs::read_dir(path("docs/pictures")).unwrap() {
        let entry = entry.unwrap();
        let (name, bytes) = (
            entry.file_name().into_string().unwrap(),
            entry.metadata().unwrap().len(),
        );
        let most = match name.rsplit_once('.') {
            Some((_, "png")) => PICTURE_MAX,
            Some((_, "gif")) => MOVING_MAX,
            // The recording that it is made from, and the scripts.
            _ => continue,
        };
        assert!(bytes <= most, "{name} has {bytes} bytes");
        assert!(
            pages.contains(&format!("pictures/{name}")),
            "no page shows {name}"
        );
    }
}

#[test]
fn the_recording_can_be_played() {
    let text = read("docs/pictures/first-minutes.cast");
    assert!(text.len() as u64 <= MOVING_MAX);
    let lines: Vec<serde_json::Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(
        (
            &lines[0]["version"],
            &lines[0]["width"],
            &lines[0]["height"]
        ),
        (&2.into(), &100.into(), &30.into())
    );
    let times: Vec<f64> = lines[1..]
        .iter()
        .map(|event| event[0].as_f64().unwrap())
        .collect();
    assert!(
        times.is_sorted() && times.last().is_some_and(|end| (30.0..=120.0).contains(end)),
        "{times:?}"
    );
    assert!(
        lines[1..]
            .iter()
            .all(|event| event[1] == "o" && event[2].is_string())
    );
}

#[test]
fn the_readme_and_the_checks_run_the_same_tests() {
    let (readme, checks) = (read("README.md"), read(".ci/run"));
    assert!(readme.lines().any(|line| line == "    cargo run --release"));
    assert!(
        readme
            .lines()
            .any(|line| line == "    cargo test --release")
    );
    assert!(checks.lines().any(|line| line == "cargo test --release"));
}
