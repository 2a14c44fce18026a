//! Inputs that users of other tools reported, with the right value of each (`expected.tsv` beside them): asked of the program as its user does.

use std::{path::Path, process::Command};

use serde_json::Value;
use tempfile::TempDir;

use crate::shared::shared;

/// Runs the program as somebody who has never used it. Returns whether it succeeded, and all that it says.
fn run(home: &Path, args: &[&str]) -> (bool, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tokendeck"));
    command
        .args(args)
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .env("TZ", "UTC");
    for name in [
        "HOME",
        "XDG_CACHE_HOME",
        "XDG_STATE_HOME",
        "XDG_CONFIG_HOME",
    ] {
        command.env(name, home);
    }
    let done = command.output().unwrap();
    (
        done.status.success(),
        String::from_utf8_lossy(&done.stdout).into_owned(),
        String::from_utf8_lossy(&done.stderr).into_owned(),
    )
}

/// What a check of a token may say: the case, its folder, the token, the check, and the states that are right.
const CHECKS: &[(&str, &str, &str, &str, &[&str])] = &[
    (
        "80",
        "80/env",
        "ENVBASEFEE",
        "SELL_BLOCKED",
        &["found", "not_checked"],
    ),
    (
        "80",
        "80/env",
        "ENVCOINBASE",
        "SELL_BLOCKED",
        &["found", "not_checked"],
    ),
    (
        "80",
        "80/env",
        "ENVGASPRICE",
        "SELL_BLOCKED",
        &["found", "not_checked"],
    ),
    (
        "80",
        "80/env",
        "ENVGASLIMIT",
        "SELL_BLOCKED",
        &["found", "not_checked"],
    ),
    (
        "80",
        "80/env",
        "ENVRANDAO",
        "SELL_BLOCKED",
        &["found", "not_checked"],
    ),
    (
        "80",
        "80/env",
        "ENVORIGINCODE",
        "SELL_BLOCKED",
        &["found", "not_checked"],
    ),
    ("81", "81/master", "HMIF", "HIDDEN_MINT", &["found"]),
    ("81", "81/master", "HMIFSELF", "HIDDEN_MINT", &["found"]),
    ("81", "81/master", "HMREQ", "HIDDEN_MINT", &["found"]),
    ("81", "81/master", "BURNOF", "HIDDEN_MINT", &["passed"]),
    ("82", "82/rebase", "REBASEDOWN", "OWNER_DRAIN", &["found"]),
    (
        "83b",
        "83",
        "DELEGATED7702",
        "PROXY",
        &["found", "not_checked"],
    ),
    ("83b", "83", "PLAIN", "PROXY", &["passed"]),
];

#[test]
fn contracts_that_others_took_for_harmless_are_told() {
    let Some(cases) = shared("data/reports/cases") else {
        return;
    };
    let home = TempDir::new().unwrap();
    let mut wrong = Vec::new();
    for (id, folder, token, code, right) in CHECKS {
        let path = format!("/{token}/security/inference?explain=true");
        let (_, answer, said) = run(
            home.path(),
            &["get", &path, "--data", &format!("{cases}/{folder}")],
        );
        let answer: Value =
            serde_json::from_str(&answer).unwrap_or_else(|_| panic!("{id} {token}: {said}"));
        let check = answer["checks"]
            .as_array()
            .unwrap()
            .iter()
            .find(|check| check["code"] == *code)
            .unwrap();
        if !right.contains(&check["state"].as_str().unwrap()) {
            wrong.push(format!("{id} {token}: {check}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
