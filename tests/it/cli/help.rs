//! What the program says of itself: help, completions, manual page.

use super::Desk;

#[test]
fn the_help_names_every_command() {
    let (code, out, err) = Desk::new().run(&["--help"]);
    assert_eq!((code, err.as_str()), (0, ""));
    insta::assert_snapshot!("help", out);
}

#[test]
fn every_command_explains_itself() {
    let desk = Desk::new();
    for command in ["serve", "get", "check", "demo", "schema", "key", "shot", "completions", "man"] {
        let (code, out, _) = desk.run(&[command, "--help"]);
        assert!(code == 0 && out.contains(&format!("Usage: tokendeck {command}")), "{out}");
        // Options without a word of help would leave the person guessing.
        let bare = out
            .lines()
            .filter(|line| line.trim_start().starts_with("--"))
            .find(|line| line.split("  ").filter(|part| !part.trim().is_empty()).count() < 2);
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
