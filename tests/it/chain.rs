//! The program against a real node with tokens whose trading was measured by transactions: asked by address alone. It takes Python, npm and a
//! minute, and runs where `TOKENDECK_CHAIN` is set; recorded states of the same kind are tested beside the execution itself.

use std::{
    env, fs,
    net::TcpListener,
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::Value;

use crate::shared::{shared, skipped};

/// A node that ends with the test.
struct TestChain {
    script: String,
    folder: tempfile::TempDir,
    port: String,
}

impl TestChain {
    fn up(script: String) -> Self {
        let free = TcpListener::bind("127.0.0.1:0")
            .unwrap()
            .local_addr()
            .unwrap()
            .port();
        let chain = Self {
            script,
            folder: tempfile::tempdir().unwrap(),
            port: free.to_string(),
        };
        let done = Command::new("python3")
            .arg(&chain.script)
            .args(["up", chain.path(), "--port", &chain.port])
            .status()
            .unwrap();
        assert!(done.success(), "the node does not start");
        chain
    }

    fn path(&self) -> &str {
        self.folder.path().to_str().unwrap()
    }

    /// The figures that the tool prints about the program's answers.
    fn score(&self) -> Value {
        let tool = Path::new(&self.script).with_file_name("score.py");
        let out: PathBuf = self.folder.path().join("score.json");
        let mut command = Command::new("python3");
        command
            .arg(tool)
            .args([
                env!("CARGO_BIN_EXE_tokendeck"),
                self.path(),
                "--port",
                &self.port,
                "--json",
            ])
            .arg(&out);
        let told = command.output().unwrap();
        let text = fs::read(&out)
            .unwrap_or_else(|_| panic!("no figures: {}", String::from_utf8_lossy(&told.stderr)));
        serde_json::from_slice::<Value>(&text).unwrap()["summary"].take()
    }
}

impl Drop for TestChain {
    fn drop(&mut self) {
        Command::new("python3")
            .arg(&self.script)
            .args(["down", self.path()])
            .status()
            .ok();
    }
}

#[test]
fn tokens_asked_by_address_are_judged_as_their_trading_showed() {
    let Some(script) = shared("tools/chain/chain.py") else {
        return;
    };
    if env::var_os("TOKENDECK_CHAIN").is_none() {
        return skipped("TOKENDECK_CHAIN is not set, so no node is started");
    }
    let figures = TestChain::up(script).score();
    let figure = |name: &str| {
        figures[name]
            .as_f64()
            .unwrap_or_else(|| panic!("no `{name}` in {figures}"))
    };
    assert_eq!(figure("answered"), figure("tokens"), "{figures}");
    assert!(figure("right") >= 0.98, "{figures}");
    for nothing in [
        "traps called sellable",
        "honest called traps",
        "green on a trap (score >= 60)",
    ] {
        assert_eq!(figure(nothing), 0.0, "{nothing}: {figures}");
    }
    assert!(figure("owner can stop sales, silent") <= 3.0, "{figures}");
}
