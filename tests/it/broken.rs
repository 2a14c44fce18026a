//! Broken environments: invalid datasets, invalid configurations, unusable state folders. Every command reports it in one line that names
//! the place and exits with 1 or 2, never with a defect.

use std::{
    fs,
    net::TcpListener,
    path::Path,
    process::{Command, Stdio},
};

use tempfile::TempDir;

const TOKEN: &str = "0x1f9840a85d5af5bf1d1762f925bdaddc4201f984";

/// A broken environment in the user's home.
struct Environment {
    what: &'static str,
    files: &'static [(&'static str, &'static str)],
    /// The commands affected.
    commands: &'static [&'static [&'static str]],
    code: i32,
    /// Texts that the message must contain.
    says: &'static [&'static str],
}

/// Arguments, environment variables, and the expected message.
type Case<'a> = (&'a [&'a str], &'a [(&'a str, &'a str)], &'a str);

/// All commands that read the data.
const READ: &[&[&str]] = &[
    &["check", "data"],
    &["get", "/tokens", "--data", "data"],
    &["serve", "--listen", "127.0.0.1:0", "--data", "data"],
];
/// All commands that read a configuration.
const START: &[&[&str]] = &[
    &[],
    &["get", "/tokens"],
    &["serve"],
    &["key"],
    &["shot", "tokens", "--out", "a.txt"],
];

/// The one that reads a theme.
const SHOT: &[&[&str]] = &[&["shot", "tokens", "--out", "a.txt"]];

macro_rules! environments {
    ($($what:literal: $commands:ident $code:literal $says:tt of $files:tt;)*) => {
        &[$(Environment { what: $what, files: &$files, commands: $commands, code: $code, says: &$says }),*]
    };
}

const ENVIRONMENTS: &[Environment] = environments! {
    "no folder": READ 1 ["data", "tokendeck demo"] of [];
    "a file for a folder": READ 1 ["`data` is not a folder"] of [("data", "not a folder")];
    "an empty folder": READ 1 ["data"] of [("data/.keep", "")];
    "a folder of other things": READ 1 ["data"] of [("data/photo.jpg", "\u{fffd}"), ("data/notes.txt", "hello")];
    "tables, but none of tokens": READ 1 ["tokens"] of [("data/gas.csv", "chain,usd_per_100k_gas\neth,1.5\n")];
    "a table of tokens without the columns it needs": READ 1 ["tokens"] of [("data/tokens.csv", "colour,size\nred,7\n")];
    "a manifest that is no TOML": READ 1 ["dataset.toml"]
        of [("data/tokens.csv", GOOD), ("data/dataset.toml", "[tables.tokens\nfiles = 3")];
    "a manifest with a member it does not know": READ 1 ["dataset.toml", "file_names"]
        of [("data/tokens.csv", GOOD), ("data/dataset.toml", "[tables.tokens]\nfile_names = 'tokens.csv'\n")];
    "a misspelt setting": START 2 ["config.toml", "lisen", "did you mean `api.listen`"]
        of [("config.toml", "[api]\nlisen = '127.0.0.1:0'\n")];
    "a configuration that is no TOML": START 2 ["config.toml"] of [("config.toml", "[api\n")];
    "a setting of another kind": START 2 ["config.toml", "connections"] of [("config.toml", "[api]\nconnections = 'many'\n")];
    "a theme that is none": SHOT 2 ["own.toml"]
        of [("data/tokens.csv", GOOD), ("config.toml", "[terminal]\ntheme = 'own.toml'\n[datasets]\ndir = 'data'\n"), ("own.toml", "[colours\n")];
};

const GOOD: &str =
    "token_address,symbol,name,chain\n0x1f9840a85d5af5bf1d1762f925bdaddc4201f984,UNI,Uniswap,eth\n";

fn home(files: &[(&str, &str)]) -> TempDir {
    let home = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = home.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    home
}

/// Returns exit code, stdout and stderr.
fn run(home: &Path, args: &[&str], variables: &[(&str, &str)]) -> (i32, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tokendeck"));
    command
        .args(args)
        .env_clear()
        .env("HOME", home)
        .current_dir(home)
        .envs(variables.iter().copied())
        .stdin(Stdio::null());
    let output = command.output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (
        output.status.code().unwrap_or(-1),
        text(output.stdout),
        text(output.stderr),
    )
}

/// Returns stderr without a server's log lines.
fn line(err: &str) -> Vec<&str> {
    err.lines()
        .filter(|line| !(line.contains(" INFO ") || line.contains(" WARN ")))
        .collect()
}

fn no_defect(says: &str) {
    for trace in [
        "panicked",
        "RUST_BACKTRACE",
        "internal error",
        "stack backtrace",
        "Error { ",
    ] {
        assert!(!says.contains(trace), "{says}");
    }
}

#[test]
fn every_broken_environment_is_reported_in_one_line() {
    for environment in ENVIRONMENTS {
        for args in environment.commands {
            let home = home(environment.files);
            let (code, out, err) = run(home.path(), args, &[]);
            let all = format!(
                "{} with {args:?}: code {code}\nstdout: {out}\nstderr: {err}",
                environment.what
            );
            no_defect(&all);
            assert_eq!(code, environment.code, "{all}");
            // `check` reports in a table on stdout, or refuses in a line on stderr.
            let said = if args.first() == Some(&"check") && err.is_empty() {
                out
            } else {
                assert_eq!(line(&err).len(), 1, "{all}");
                assert!(line(&err)[0].starts_with("tokendeck: "), "{all}");
                err
            };
            for word in environment.says {
                assert!(
                    said.contains(word),
                    "`{word}` is not in what it says: {all}"
                );
            }
            assert!(
                !said.contains(&*home.path().join("x").to_string_lossy()),
                "{all}"
            );
        }
    }
}

#[test]
fn a_damaged_file_costs_its_rows_and_no_more() {
    let garbage: String = (0u8..=127).cycle().take(5_000).map(char::from).collect();
    let files: &[(&str, &str)] = &[
        ("data/tokens.csv", GOOD),
        ("data/candles.parquet", "PAR1 but not really PAR1"),
        (
            "data/posts.ndjson",
            "{\"post_id\": 1, \"title\": \n[[[[[[\n",
        ),
        ("data/pools.csv", &garbage),
        ("data/holders.arrow", "ARROW1\0\0"),
        ("data/transfers.csv.gz", "\x1f not gzip"),
        ("data/labels.json", "[[[[[[[[[["),
    ];
    let home = home(files);
    let (code, out, err) = run(
        home.path(),
        &["get", &format!("/tokens/{TOKEN}"), "--data", "data"],
        &[],
    );
    no_defect(&err);
    assert!(
        code == 1 && out.contains("\"Uniswap\"") && err.contains("unreadable tables: "),
        "{code} {out} {err}"
    );
    let (code, out, err) = run(home.path(), &["check", "data"], &[]);
    no_defect(&format!("{out}{err}"));
    assert_eq!(code, 1, "{out}{err}");
    for file in [
        "candles.parquet",
        "posts.ndjson",
        "pools.csv",
        "holders.arrow",
        "transfers.csv.gz",
        "labels.json",
    ] {
        assert!(out.contains(file), "{file} is not named: {out}{err}");
    }
}

#[test]
fn what_cannot_be_kept_or_taken_is_said_with_a_way_out() {
    let home = home(&[("data/tokens.csv", GOOD)]);
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let nowhere = ("XDG_STATE_HOME", "/dev/null/x");
    let cases: [Case<'_>; 4] = [
        (
            &["serve", "--data", "data", "--listen", &address],
            &[],
            "address already in use; pass another address with --listen",
        ),
        (
            &["serve", "--data", "data", "--listen", "127.0.0.1:0"],
            &[nowhere],
            "/dev/null/x/tokendeck",
        ),
        (
            &["get", "/deep-analysis/jobs", "--data", "data"],
            &[nowhere],
            "/dev/null/x/tokendeck",
        ),
        (&["key"], &[nowhere], "/dev/null/x/tokendeck"),
    ];
    for (args, variables, says) in cases {
        let (code, out, err) = run(home.path(), args, variables);
        no_defect(&err);
        assert_eq!(
            (code, out.as_str(), line(&err).len()),
            (1, "", 1),
            "{args:?}: {err}"
        );
        assert!(err.contains(says), "{args:?}: {err}");
    }
    // Answering needs no state.
    let (code, out, err) = run(
        home.path(),
        &["get", "/tokens", "--data", "data"],
        &[nowhere],
    );
    assert!(
        code == 0 && out.contains(TOKEN) && err.is_empty(),
        "{code} {out} {err}"
    );
}
