//! The program as a process: success and failure of every command, exit codes and messages. The user's own configuration and state are
//! neither read nor written.

mod datasets;
mod doctor;
mod get;
mod help;
mod live;
mod record;
mod serve;

use std::{
    fs,
    path::Path,
    process::{Command, Output, Stdio},
};

use tempfile::TempDir;

const DEMO: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/datasets");

/// A working folder of the program, which is also its home.
struct Desk {
    folder: TempDir,
}

impl Desk {
    fn new() -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
        }
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tokendeck"));
        command
            .args(args)
            .current_dir(self.path())
            .env("HOME", self.path())
            .stdin(Stdio::null());
        for name in [
            "XDG_STATE_HOME",
            "XDG_CONFIG_HOME",
            "XDG_CACHE_HOME",
            "XDG_DATA_HOME",
            "TOKENDECK_CONFIG",
            "TOKENDECK_API_KEY",
        ] {
            command.env_remove(name);
        }
        command
    }

    /// Returns exit code, stdout, stderr.
    fn run(&self, args: &[&str]) -> (i32, String, String) {
        told(&self.command(args).output().unwrap())
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
}

fn told(output: &Output) -> (i32, String, String) {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (
        output.status.code().unwrap_or(-1),
        text(&output.stdout),
        text(&output.stderr),
    )
}

#[test]
fn wrong_usage_is_exit_code_2_and_says_what_was_wrong() {
    let desk = Desk::new();
    let cases: &[(&[&str], &str)] = &[
        (&["serv"], "unrecognized subcommand 'serv'"),
        (&["--nope"], "unexpected argument '--nope'"),
        (&["--no-api", "serve"], "cannot be used with"),
        (
            &["--theme", "drak"],
            "expected auto, dark, light, high-contrast",
        ),
        (&["get"], "<PATH>"),
        (&["get", "tokens"], "path `tokens` must start with `/`"),
        (
            &["get", "/tokens", "--format", "xml"],
            "[possible values: json, csv, table]",
        ),
        (
            &["demo", "new", "--tokens", "0"],
            "'--tokens <N>': expected a whole number from 1 to 100,000",
        ),
        (
            &["demo", "new", "--tokens", "-5"],
            "expected a whole number from 1 to 100,000",
        ),
        (
            &["demo", "new", "--days", "0"],
            "expected a whole number from 1 to 20,000",
        ),
        (
            &["demo", "new", "--candles", "1e3"],
            "expected a whole number from 0 to 1,000,000,000",
        ),
        (
            &["demo", "new", "--seed", "first"],
            "expected a whole number from 0 to",
        ),
        (
            &["jobs", "list", "--limit", "all"],
            "expected a whole number from 0 to 1,000,000",
        ),
        (
            &["jobs", "purge", "--days", "-1"],
            "expected a whole number from 0 to 36,500",
        ),
        (
            &["get", "/tokens", "--method", "PATCH"],
            "[possible values: get, post, delete]",
        ),
        (
            &["get", "/yields", "--body", "missing.json"],
            "cannot read the body `missing.json`: no such file or directory",
        ),
        (
            &["serve", "--listen", "8787"],
            "expected an address and port, such as 127.0.0.1:8787",
        ),
        (&["demo"], "<DIR>"),
        (&["demo", "d", "--tokens", "many"], "invalid value 'many'"),
        (
            &["demo", "d", "--interval", "soon"],
            "expected an interval, such as 1m, 1h or 1d",
        ),
        (
            &["schema", "token"],
            "no table `token`; did you mean `tokens`?",
        ),
        (&["schema", "--json", "--template"], "cannot be used with"),
        (
            &["shot", "nowhere", "--out", "a.svg"],
            "[possible values: tokens, posts",
        ),
        (
            &[
                "report",
                "0x1f9840a85d5af5bf1d1762f925bdaddc4201f984",
                "--out",
                "a.pdf",
            ],
            "expected a file that ends in .html or .md",
        ),
        (&["report", "0x1f9", "--out", "a.md"], "expected"),
        (&["alert", "add"], "<CONDITION>"),
        (&["alert", "add", "price>2", "--token", "0x1"], "expected"),
        (
            &[
                "dispute",
                "0x1f9840a85d5af5bf1d1762f925bdaddc4201f984",
                "OWNER_MNT",
                "--why",
                "x",
            ],
            "did you mean `OWNER_MINT`?",
        ),
        (
            &[
                "dispute",
                "0x1f9840a85d5af5bf1d1762f925bdaddc4201f984",
                "OWNER_MINT",
            ],
            "--why <TEXT>",
        ),
        (
            &[
                "dispute",
                "0x1f9840a85d5af5bf1d1762f925bdaddc4201f984",
                "OWNER_MINT",
                "--why",
                "x",
                "--until",
                "soon",
            ],
            "such as 2027-01-31",
        ),
        (&["shot", "tokens"], "--out <FILE>"),
        (
            &["shot", "tokens", "--out", "a.gif"],
            "expected a file that ends in .png, .svg, .txt or .ansi",
        ),
        (
            &["report", "UNI", "--out", "a.md", "--png", "a.svg"],
            "expected a file that ends in .png",
        ),
        (
            &["--graphics", "yes"],
            "expected auto, kitty, iterm, sixel or off",
        ),
        (
            &["shot", "tokens", "--out", "a.svg", "--size", "10x10"],
            "expected columns x rows, such as 140x42, from 60x16 to 400x200",
        ),
        (&["completions", "cmd"], "[possible values: bash"),
        (&["key", "revoke"], "<ID>"),
        (
            &["--config", "missing.toml"],
            "cannot read the configuration `missing.toml`: no such file or directory",
        ),
        (
            &["check", "--config", "missing.toml"],
            "cannot read the configuration `missing.toml`",
        ),
        (
            &[],
            "the dashboard needs a terminal; use `tokendeck serve` for the API",
        ),
    ];
    for (args, said) in cases {
        let (code, out, err) = desk.run(args);
        assert_eq!((code, out.as_str()), (2, ""), "{args:?}: {err}");
        assert!(err.contains(said), "{args:?}: {err}");
    }
}

#[test]
fn a_misspelt_setting_is_exit_code_2_in_every_command_that_reads_it() {
    let desk = Desk::new();
    desk.write("config.toml", "[api]\nlistn = \"127.0.0.1:0\"\n");
    let commands: [&[&str]; 6] = [
        &[],
        &["serve"],
        &["get", "/tokens"],
        &["check"],
        &["key"],
        &["shot", "tokens", "--out", "a.svg"],
    ];
    for args in commands {
        let expected =
            "tokendeck: config.toml:2: unknown setting `api.listn`: did you mean `api.listen`?\n";
        assert_eq!(
            desk.run(args),
            (2, String::new(), expected.to_owned()),
            "{args:?}"
        );
    }
}

#[test]
fn a_setting_that_was_removed_is_a_warning() {
    let desk = Desk::new();
    for (setting, warns) in [("verify = true", true), ("insecure = true", false)] {
        let node = "[sources.mainnet]\nkind = 'node'\nchain = 'eth'\nurl = 'http://127.0.0.1:1'\n";
        desk.write("config.toml", &format!("{node}{setting}\n"));
        let (code, _, err) = desk.run(&["check", DEMO]);
        let warning = "tokendeck: warning: `sources.mainnet.verify` no longer has an effect: ";
        assert_eq!((code, err.contains(warning)), (0, warns), "{err}");
    }
}

#[test]
fn the_configuration_is_found_by_variable_and_in_the_config_folder() {
    let desk = Desk::new();
    desk.write(
        "home/tokendeck/config.toml",
        "[datasets]\ndir = 'from_home'",
    );
    desk.write("named.toml", "[datasets]\ndir = 'from_variable'");
    let said = |command: &mut Command| told(&command.output().unwrap()).2;
    let home = desk.path().join("home");
    let from_home = said(desk.command(&["check"]).env("XDG_CONFIG_HOME", &home));
    // Relative to the file, not to the working directory.
    let expected = home.join("tokendeck/from_home");
    assert!(
        from_home.contains(&format!("no dataset in `{}`", expected.display())),
        "{from_home}"
    );
    let from_variable = said(
        desk.command(&["check"])
            .env("XDG_CONFIG_HOME", &home)
            .env("TOKENDECK_CONFIG", "named.toml"),
    );
    assert!(
        from_variable.contains("no dataset in `from_variable`"),
        "{from_variable}"
    );
}

#[test]
fn without_a_dataset_the_message_names_the_demo_command() {
    let desk = Desk::new();
    let expected = "tokendeck: no dataset in `datasets`: the folder does not exist; pass another folder with --data, or create demo data with \
                    `tokendeck demo datasets`\n";
    let commands: [&[&str]; 4] = [
        &["serve", "--listen", "127.0.0.1:0"],
        &["get", "/tokens"],
        &["check"],
        &["shot", "api", "--out", "a.svg"],
    ];
    for args in commands {
        assert_eq!(
            desk.run(args),
            (1, String::new(), expected.to_owned()),
            "{args:?}"
        );
    }
    fs::create_dir(desk.path().join("datasets")).unwrap();
    for args in [
        &["serve", "--listen", "127.0.0.1:0"][..],
        &["get", "/tokens"],
    ] {
        let (code, _, err) = desk.run(args);
        let line = err.lines().last().unwrap();
        assert!(
            code == 1
                && line.starts_with("tokendeck: no dataset in `datasets`: ")
                && line.contains("`tokendeck demo datasets`"),
            "{err}"
        );
    }
}

#[test]
fn a_closed_stdout_is_exit_code_0() {
    let desk = Desk::new();
    for args in [
        &["schema", "--json"][..],
        &["get", "/tokens?limit=100", "--data", DEMO],
        &["completions", "zsh"],
    ] {
        let mut child = desk
            .command(args)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let (code, _, err) = told(&child.wait_with_output().unwrap());
        assert_eq!((code, err.as_str()), (0, ""), "{args:?}");
    }
}

#[test]
fn keys_are_made_shown_and_revoked() {
    let desk = Desk::new();
    let (code, first, err) = desk.run(&["key"]);
    assert_eq!((code, first.lines().count(), err.as_str()), (0, 1, ""));
    assert_eq!(desk.run(&["key"]).1, first, "the key stays the same");
    let (code, second, _) = desk.run(&["key", "new"]);
    assert!(code == 0 && second != first && second.lines().count() == 1);
    let shown = desk.run(&["key", "show"]).1;
    let lines: Vec<Vec<&str>> = shown
        .lines()
        .map(|line| line.split_whitespace().collect())
        .collect();
    assert_eq!(
        (lines[0][1], lines[1][1], lines.len()),
        (first.trim(), second.trim(), 2)
    );
    assert_eq!(
        desk.run(&["key", "revoke", lines[1][0]]),
        (0, format!("revoked {}\n", lines[1][0]), String::new())
    );
    assert_eq!(desk.run(&["key"]).1, first);
    let (code, out, err) = desk.run(&["key", "revoke", "k_nowhere"]);
    assert_eq!(
        (code, out.as_str(), err.lines().count()),
        (1, "", 1),
        "{err}"
    );

    let by_variable = desk
        .command(&["key"])
        .env("TOKENDECK_API_KEY", "a-key-of-my-own-making-0123456789")
        .output()
        .unwrap();
    assert_eq!(
        told(&by_variable),
        (
            0,
            "a-key-of-my-own-making-0123456789\n".to_owned(),
            String::new()
        )
    );
    let new = desk
        .command(&["key", "new"])
        .env("TOKENDECK_API_KEY", "a-key-of-my-own-making-0123456789")
        .output()
        .unwrap();
    assert!(told(&new).0 == 1 && told(&new).2.contains("`TOKENDECK_API_KEY`"));

    desk.write("keys.txt", "a-key-from-a-file-of-mine\n");
    desk.write("config.toml", "[api]\nkeys_file = 'keys.txt'\n");
    assert_eq!(desk.run(&["key"]).1, "a-key-from-a-file-of-mine\n");
    fs::remove_file(desk.path().join("keys.txt")).unwrap();
    let (code, _, err) = desk.run(&["key"]);
    assert!(code == 1 && err.contains("keys.txt"), "{err}");
}

#[test]
fn shot_writes_a_view_as_svg_text_and_ansi() {
    let desk = Desk::new();
    for (file, start) in [("a.svg", "<svg "), ("a.txt", ""), ("a.ansi", "")] {
        let (code, out, err) = desk.run(&[
            "shot", "tokens", "--size", "100x30", "--out", file, "--data", DEMO,
        ]);
        assert_eq!((code, out.as_str(), err.as_str()), (0, "", ""), "{file}");
        let picture = fs::read_to_string(desk.path().join(file)).unwrap();
        assert!(picture.starts_with(start), "{file}: {picture}");
        assert_eq!(picture.contains('\u{1b}'), file == "a.ansi", "{file}");
    }
    assert_eq!(
        fs::read_to_string(desk.path().join("a.txt"))
            .unwrap()
            .lines()
            .count(),
        30
    );
    let (code, _, err) = desk.run(&["shot", "tokens", "--out", "none/a.svg", "--data", DEMO]);
    assert_eq!(
        (code, err.as_str()),
        (
            1,
            "tokendeck: cannot write `none/a.svg`: no such file or directory\n"
        )
    );
    let nobody = "0x00000000000000000000000000000000000000ff";
    let (code, _, err) = desk.run(&[
        "shot", "chart", "--token", nobody, "--out", "b.svg", "--data", DEMO,
    ]);
    assert!(code == 1 && err.contains(nobody), "{err}");
    let (code, _, err) = desk.run(&[
        "shot", "chart", "--theme", "own.toml", "--out", "b.svg", "--data", DEMO,
    ]);
    assert_eq!(
        (code, err.as_str()),
        (
            2,
            "tokendeck: cannot read the theme `own.toml`: no such file or directory\n"
        )
    );
}

#[test]
fn a_picture_of_the_jobs_shows_them_and_runs_none() {
    let desk = Desk::new();
    desk.write("market/tokens.csv", "token_address,symbol,name,chain,price\n0x00000000000000000000000000000000000000a1,A,A,eth,3\n");
    desk.write(
        "body.json",
        "{\"token_address\": \"0x00000000000000000000000000000000000000a1\"}",
    );
    let picture = || {
        let (code, _, err) = desk.run(&["shot", "jobs", "--out", "a.txt", "--data", "market"]);
        assert_eq!((code, err.as_str()), (0, ""));
        fs::read_to_string(desk.path().join("a.txt")).unwrap()
    };
    let before = picture();
    assert!(before.contains("no deep analysis yet"), "{before}");
    let (code, _, err) = desk.run(&[
        "get",
        "/deep-analysis/jobs",
        "--body",
        "body.json",
        "--data",
        "market",
    ]);
    assert_eq!(code, 0, "{err}");
    let listed = || desk.run(&["jobs", "list", "--json"]).1;
    let (stored, shown) = (listed(), picture());
    assert!(
        shown.contains("1 job") && !shown.contains("no deep analysis yet"),
        "{shown}"
    );
    assert_eq!(listed(), stored);
}

#[cfg(unix)]
#[test]
fn a_pipe_in_the_place_of_a_file_is_refused_and_not_waited_for() {
    let tokens = "token_address,symbol,name,chain,price\n0x00000000000000000000000000000000000000a1,A,A,eth,1\n";
    for (pipe, args) in [
        ("data/candles.csv", &["check", "data"][..]),
        ("data/tokens.csv", &["check", "data"]),
        (
            "data/formats.toml",
            &["import", "rows.csv", "--into", "data"],
        ),
        ("c.toml", &["--config", "c.toml"]),
        ("exchanges.toml", &["check", "data"]),
    ] {
        let desk = Desk::new();
        for (name, text) in [
            ("data/tokens.csv", tokens),
            ("rows.csv", tokens),
            ("config.toml", ""),
        ] {
            desk.write(name, text);
        }
        fs::remove_file(desk.path().join(pipe)).ok();
        assert!(
            Command::new("mkfifo")
                .arg(desk.path().join(pipe))
                .status()
                .unwrap()
                .success()
        );
        let (_, out, errors) = desk.run(args);
        let named = pipe.rsplit('/').next().unwrap();
        assert!(
            [out, errors]
                .iter()
                .any(|text| text.contains("not a regular file") && text.contains(named)),
            "{pipe}"
        );
    }
}

#[cfg(unix)]
#[test]
fn a_file_larger_than_may_be_written_is_said_and_what_a_kill_left_is_removed() {
    let desk = Desk::new();
    let line = format!(
        "ulimit -f 8; exec {} demo data",
        env!("CARGO_BIN_EXE_tokendeck")
    );
    let mut shell = Command::new("sh");
    shell
        .args(["-c", &line])
        .current_dir(desk.path())
        .env_clear()
        .env("HOME", desk.path())
        .stdin(Stdio::null());
    let (code, _, errors) = told(&shell.output().unwrap());
    assert!(
        code == 1 && errors.to_lowercase().contains("file too large"),
        "{code}: {errors}"
    );
    desk.write(".local/state/tokendeck/.tokendeck-x.tmp", "td_key");
    desk.run(&["get", "/healthz", "--data", DEMO]);
    assert!(
        !desk
            .path()
            .join(".local/state/tokendeck/.tokendeck-x.tmp")
            .exists()
    );
}
