//! The configuration file: validation errors, search path, and the base of relative paths.

use std::{fs, path::Path};

use tokendeck::config::{Config, SECTIONS, SETTINGS, ThemeChoice};
use tui::views::keymap::Keymap;

fn refusal(text: &str) -> String {
    Config::parse(Some(Path::new("c.toml")), text)
        .map(drop)
        .expect_err(text)
        .to_string()
}

#[test]
fn misspelt_settings_are_told_with_line_and_nearest_name() {
    let cases = [
        (
            "[api]\nlistn = 1",
            "c.toml:2: unknown setting `api.listn`: did you mean `api.listen`?",
        ),
        (
            "\n\n[terminal]\nthem = 'dark'",
            "c.toml:4: unknown setting `terminal.them`: did you mean `terminal.theme`?",
        ),
        (
            "[dataset]\ndir = 'x'",
            "c.toml:1: unknown setting `dataset`: did you mean `datasets`?",
        ),
        (
            "datasets.dri = 'x'",
            "c.toml:1: unknown setting `datasets.dri`: did you mean `datasets.dir`?",
        ),
        (
            "listen = 'x'",
            "c.toml:1: unknown setting `listen`: did you mean `api.listen`?",
        ),
        (
            "[deck]\nlisten = 'x'",
            "c.toml:2: unknown setting `deck.listen`: did you mean `api.listen`?",
        ),
        (
            "[analysis]\nWhale_USD = 1",
            "c.toml:2: unknown setting `analysis.Whale_USD`: did you mean `analysis.whale_usd`?",
        ),
        (
            "[zzz]",
            "c.toml:1: unknown setting `zzz`; sections: datasets, cache, api, terminal, analysis, jobs, alerts, deck, remote, sources, terminal.keys",
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(refusal(text), expected, "{text}");
    }
}

#[test]
fn a_setting_of_another_kind_of_source_is_told() {
    let other = |key: &str, of: &str, kind: &str| {
        format!(
            "`sources.a.{key}` applies only to {of}, but the source's `kind` is {kind}; remove it or change `kind`"
        )
    };
    for (text, expected) in [
        (
            "chain = 'eth'\nbuckets = ['b']",
            Some(("chain", "node", "s3")),
        ),
        (
            "kind = 'azure'\nbuckets = ['b']\naccount = 'x'\nregion = 'r'",
            Some(("region", "s3", "azure")),
        ),
        (
            "url = 'https://x.org'\nkind = 's3'\nbuckets = ['b']",
            Some(("url", "https, clickhouse, node and provider", "s3")),
        ),
        ("url = 'https://x.org'\nkind = 'https'", None),
        (
            "kind = 's3'\nbuckets = ['b']\nregion = 'r'\nanonymous = true",
            None,
        ),
    ] {
        let text = format!("[sources.a]\n{text}");
        match expected {
            Some((key, of, kind)) => assert!(
                refusal(&text).contains(&other(key, of, kind)),
                "{}",
                refusal(&text)
            ),
            None => assert!(Config::parse(None, &text).is_ok(), "{text}"),
        }
    }
}

#[test]
fn the_example_of_own_keys_takes_no_key_of_another_action() {
    let section = SECTIONS
        .iter()
        .find(|section| section.name == "terminal.keys")
        .expect("a section of keys");
    let example = section.meaning.split('`').nth(1).expect("an example");
    let (_, warnings) = Keymap::with(&example.parse().expect("TOML"));
    assert!(warnings.is_empty(), "{warnings:?}");
}

#[test]
fn wrong_values_are_told_with_what_was_expected() {
    let cases = [
        (
            "api.rate_per_second = 'fast'",
            "`api.rate_per_second` is 'fast': expected a whole number from 0 to 1000000",
        ),
        (
            "api.rate_per_second = -1",
            "`api.rate_per_second` is -1: expected a whole number from 0 to 1000000",
        ),
        (
            "api.connections = 0",
            "`api.connections` is 0: expected a whole number from 1 to 65536",
        ),
        (
            "api.connections = 99999999999999999999",
            "`api.connections` is 99999999999999999999: expected a whole number from 1 to 65536",
        ),
        (
            "api.enabled = 1",
            "`api.enabled` is 1: expected true or false",
        ),
        (
            "api.listen = 8787",
            "`api.listen` is 8787: expected an address and port, such as \"127.0.0.1:8787\"",
        ),
        (
            "api.listen = 'localhost'",
            "`api.listen` is 'localhost': expected an address and port, such as \"127.0.0.1:8787\"",
        ),
        (
            "api.hosts = ['a b']",
            "`api.hosts` is ['a b']: expected a list of host names without port, as in [\"deck.example.org\"]",
        ),
        (
            "api.cors_origins = ['*']",
            "`api.cors_origins` is ['*']: expected a list of origins, as in [\"https://deck.example.org\"]",
        ),
        (
            "terminal.theme = 'drak'",
            "`terminal.theme` is 'drak': expected auto, dark, light, high-contrast, or the path of a theme file that ends in .toml",
        ),
        (
            "datasets.dir = ''",
            "`datasets.dir` is '': expected a path, as text",
        ),
        (
            "datasets = 'x'",
            "`datasets` is 'x': expected a section, [datasets]",
        ),
        (
            "analysis.whale_usd = nan",
            "`analysis.whale_usd` is nan: expected a number from 0 to 1000000000000000",
        ),
        (
            "analysis.whale_usd = 1979-05-27",
            "`analysis.whale_usd` is 1979-05-27: expected a number from 0 to 1000000000000000",
        ),
        (
            "alerts.command = ['say', '{symbl}']",
            "`alerts.command` is ['say', '{symbl}']: expected a program and its arguments, such as [\"notify-send\", \"--\", \"{symbol}\", \
             \"{condition}\"], with no placeholders other than {symbol}, {name}, {token_address}, {condition}, {value}",
        ),
        (
            "alerts.webhook = 'http://hooks.example.org/verysecret'",
            "`alerts.webhook`: expected a URL that starts with https://, or with http:// on this machine or its network; empty for none",
        ),
        (
            "alerts.webhook_secret = 'verysecret'",
            "`alerts.webhook_secret`: expected `whsec_` and 24 to 64 bytes in base64; empty for none",
        ),
        (
            "alerts.webhook_text = 'symbol'",
            "`alerts.webhook_text` is 'symbol': expected the name of a JSON field, such as `text` or `content`; empty for none",
        ),
        (
            "terminal.keys.quit = 7",
            "`terminal.keys.quit` is 7: expected a key or a list of keys, as in [\"y\", \"F5\"]",
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(refusal(text), format!("c.toml:1: {expected}"), "{text}");
    }
    let both = "[analysis]\nwhale_usd = 5\nmedium_usd = 6";
    assert_eq!(
        refusal(both),
        "c.toml: `analysis.medium_usd` is 6: expected no more than `analysis.whale_usd`, which is 5"
    );
}

#[test]
fn a_text_that_is_no_toml_is_told_with_its_line() {
    for text in ["[api]\nlisten = ", "[api\n", "\u{0}", "a = 1\na = 2\n"] {
        let said = refusal(text);
        assert!(
            said.starts_with("c.toml:")
                && said.contains(": the file is not valid TOML: ")
                && !said.contains('\n'),
            "{said}"
        );
    }
}

#[test]
fn keys_are_refused_without_being_repeated() {
    for name in ["key", "keys", "api_key", "API_KEYS", "secret"] {
        let said = refusal(&format!("[api]\n{name} = 'td_verysecret'"));
        assert!(
            said.starts_with(&format!(
                "c.toml:2: `api.{name}`: keys do not belong in this file"
            )) && said.contains("`api.keys_file`"),
            "{said}"
        );
        assert!(!said.contains("verysecret"));
    }
}

#[test]
fn the_first_of_several_mistakes_is_the_one_told() {
    assert!(refusal("[terminal]\nmouse = 1\n[api]\nlistn = 1\n").starts_with("c.toml:2: "));
}

#[test]
fn what_is_given_is_taken() {
    let text = "
        [datasets]
        dir = 'mine'
        [api]
        listen = '[::1]:0'
        hosts = ['deck.example.org']
        cors_origins = ['http://localhost:3000']
        keys_file = '/k'
        [terminal]
        theme = 'themes/own.toml'
        [terminal.keys]
        quit = []
        copy_value = ['y', 'F5']
        [analysis]
        whale_usd = 1_000_000
        whale_change_percent = 2.5";
    let config = Config::parse(Some(Path::new("/etc/deck/c.toml")), text).unwrap();
    assert_eq!(config.datasets.dir, Path::new("/etc/deck/mine"));
    assert_eq!(
        config.terminal.theme,
        ThemeChoice::File("/etc/deck/themes/own.toml".into())
    );
    assert_eq!(config.api.keys_file.as_deref(), Some(Path::new("/k")));
    assert_eq!(
        (
            config.api.listen.as_str(),
            config.api.hosts.len(),
            config.api.cors_origins.len()
        ),
        ("[::1]:0", 1, 1)
    );
    assert_eq!(config.keys.len(), 2);
    let settings = config.deck_options().settings;
    assert_eq!(
        (
            settings.whale_usd,
            settings.medium_usd,
            settings.whale_change_percent
        ),
        (1e6, 1e4, 2.5)
    );
}

#[test]
fn the_first_place_that_has_a_file_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, workers: u32| {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, format!("jobs.workers = {workers}")).unwrap();
        path
    };
    let (given, variable, home) = (
        file("given.toml", 11),
        file("variable.toml", 12),
        file("home/config.toml", 13),
    );
    let home = home.parent().unwrap();
    let workers = |given: Option<&Path>, variable: Option<&Path>| {
        Config::find(given, variable, Some(home))
            .unwrap()
            .jobs
            .workers
    };
    assert_eq!(workers(Some(&given), Some(&variable)), 11);
    assert_eq!(workers(None, Some(&variable)), 12);
    // The tests run beside the project's own config.toml, which takes precedence over the user's.
    assert_eq!(workers(None, Some(Path::new(""))), 2);
    let missing = folder.path().join("missing.toml");
    let said = Config::find(Some(&missing), Some(&variable), None)
        .map(drop)
        .unwrap_err();
    assert_eq!(
        said.to_string(),
        format!(
            "cannot read the configuration `{}`: no such file or directory",
            missing.display()
        )
    );
}

#[test]
fn every_setting_has_a_meaning_and_a_name_of_its_own() {
    let mut names: Vec<_> = SETTINGS.iter().map(|row| (row.section, row.key)).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), SETTINGS.len());
    assert!(
        SETTINGS
            .iter()
            .all(|row| row.meaning.ends_with('.') && !row.meaning.contains('|'))
    );
}
