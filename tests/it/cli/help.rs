//! Generated documentation: help, completions, manual page.

use model::schema::TABLES;

use super::Desk;

#[test]
fn the_help_names_every_command() {
    let (code, out, err) = Desk::new().run(&["--help"]);
    assert_eq!((code, err.as_str()), (0, ""));
    insta::assert_snapshot!("help", out);
}

/// The commands that the help lists.
fn commands(desk: &Desk) -> Vec<String> {
    let help = desk.run(&["--help"]).1;
    let listed = help
        .split("Commands:\n")
        .nth(1)
        .unwrap()
        .split("\n\n")
        .next()
        .unwrap();
    let names: Vec<String> = listed
        .lines()
        .filter_map(|line| line.split_whitespace().next().map(str::to_owned))
        .collect();
    assert!(names.len() > 20, "{names:?}");
    names.into_iter().filter(|name| name != "help").collect()
}

#[test]
fn every_command_and_every_option_has_help() {
    let desk = Desk::new();
    for command in commands(&desk) {
        let (code, out, _) = desk.run(&[&command, "--help"]);
        assert!(
            code == 0 && out.contains(&format!("Usage: tokendeck {command}")),
            "{out}"
        );
        // Every option needs help text, beside or below it.
        let lines: Vec<&str> = out.lines().chain([""]).collect();
        let option = |line: &str| line.trim_start().starts_with("--");
        let bare = lines.windows(2).find(|pair| {
            let beside = pair[0].trim_start().split_once("  ").is_some();
            option(pair[0]) && !beside && (pair[1].trim().is_empty() || option(pair[1]))
        });
        assert_eq!(bare, None, "{command}");
    }
}

#[test]
fn completions_and_the_manual_page_know_the_commands() {
    let desk = Desk::new();
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let (code, out, _) = desk.run(&["completions", shell]);
        let lacks = commands(&desk)
            .into_iter()
            .find(|command| !out.contains(command.as_str()));
        assert_eq!((code, lacks), (0, None), "{shell}");
    }
    let (code, out, _) = desk.run(&["man"]);
    let lacks = commands(&desk)
        .into_iter()
        .find(|command| !out.contains(&format!(".SH \"tokendeck {command}\"")));
    assert!(
        code == 0 && out.starts_with(".ie") && out.contains("listen"),
        "{}",
        &out[..200]
    );
    assert_eq!(lacks, None);
}

#[test]
fn the_version_is_the_packages() {
    let desk = Desk::new();
    let line = format!("tokendeck {}\n", env!("CARGO_PKG_VERSION"));
    for asked in ["--version", "-V"] {
        assert_eq!(desk.run(&[asked]), (0, line.clone(), String::new()));
    }
    let (code, out, err) = desk.run(&["--version", "--verbose"]);
    let details = out.strip_prefix(&line).unwrap_or_else(|| panic!("{out}"));
    let names: Vec<&str> = details
        .lines()
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    assert_eq!((code, err.as_str()), (0, ""));
    assert_eq!(
        names,
        [
            "commit",
            "system",
            "features",
            "dataset",
            "cache",
            "jobs",
            "transfers"
        ]
    );
    let columns: usize = TABLES.iter().map(|table| table.columns.len()).sum();
    assert!(
        details.contains(&format!(
            "schema {}: {} tables, {columns} columns",
            load::schema_hash(),
            TABLES.len()
        )),
        "{details}"
    );
    let (code, _, err) = desk.run(&["--verbose"]);
    assert!(code == 2 && err.contains("--version"), "{err}");
}
