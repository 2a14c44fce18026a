//! Generated documentation: help, completions, manual page.

use super::Desk;

#[test]
fn the_help_names_every_command() {
    let (code, out, err) = Desk::new().run(&["--help"]);
    assert_eq!((code, err.as_str()), (0, ""));
    insta::assert_snapshot!("help", out);
}

#[test]
fn every_command_and_every_option_has_help() {
    let desk = Desk::new();
    for command in ["serve", "get", "check", "demo", "schema", "config", "doctor", "key", "shot", "completions", "man"] {
        let (code, out, _) = desk.run(&[command, "--help"]);
        assert!(code == 0 && out.contains(&format!("Usage: tokendeck {command}")), "{out}");
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
        assert!(code == 0 && out.contains("completions") && out.contains("serve"), "{shell}");
    }
    let (code, out, _) = desk.run(&["man"]);
    assert!(code == 0 && out.starts_with(".ie") && out.contains("tokendeck serve") && out.contains("listen"), "{}", &out[..200]);
}

#[test]
fn the_version_is_the_packages() {
    assert_eq!(Desk::new().run(&["--version"]), (0, format!("tokendeck {}\n", env!("CARGO_PKG_VERSION")), String::new()));
}
