//! The recipes of `docs/recipes`, run as their pages say: the bot behind a webhook, the daily run, the tools of a language model, and the
//! dashboard's queries against the figures that there are.

use std::{
    collections::BTreeSet,
    env, fs,
    io::{BufRead, BufReader, Write},
    net::TcpListener,
    path::{Path, PathBuf},
    process::{Child, ChildStdout, Command, Stdio},
};

use serde_json::Value;
use tempfile::TempDir;

use crate::shared::skipped;

const ROOT: &str = env!("CARGO_MANIFEST_DIR");
const KEY: &str = "tdk_0123456789abcdef0123456789abcdef";
const UNI: &str = "0x1f9840a85d5af5bf1d1762f925bdaddc4201f984";

/// Killed when the test ends.
struct Running(Child, BufReader<ChildStdout>);

impl Running {
    fn start(command: &mut Command) -> Self {
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        Self(child, stdout)
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.1.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

fn page(name: &str) -> String {
    fs::read_to_string(Path::new(ROOT).join("docs/recipes").join(name)).unwrap()
}

/// A command with a home of its own, and the program on its path.
fn command(home: &TempDir, program: &str) -> Command {
    let mut command = Command::new(program);
    let programs = Path::new(env!("CARGO_BIN_EXE_tokendeck"))
        .parent()
        .unwrap()
        .display()
        .to_string();
    let path = format!("{programs}:{}", env::var("PATH").unwrap_or_default());
    command
        .current_dir(home.path())
        .env_clear()
        .env("HOME", home.path())
        .env("PATH", path)
        .env("TOKENDECK_API_KEY", KEY)
        .stdin(Stdio::null());
    command
}

fn tokendeck(home: &TempDir, args: &[&str]) -> Command {
    let mut command = command(home, env!("CARGO_BIN_EXE_tokendeck"));
    command.args(args);
    command
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port()
}

#[test]
fn the_bot_says_what_fired_and_what_it_found() {
    let home = tempfile::tempdir().unwrap();
    if !command(&home, "python3")
        .arg("--version")
        .output()
        .is_ok_and(|run| run.status.success())
    {
        return skipped("there is no `python3`, which the bot is written for");
    }
    let port = free_port();
    let put = |name: &str, text: &str| {
        let (there, new) = (
            home.path().join(name),
            home.path().join(format!("{name}.new")),
        );
        fs::create_dir_all(there.parent().unwrap()).unwrap();
        fs::write(&new, text).unwrap();
        fs::rename(new, there).unwrap();
    };
    let token = |price: u32| {
        format!("token_address,symbol,name,chain,price\n{UNI},UNI,Uniswap,eth,{price}\n")
    };
    put("deck/tokens.csv", &token(5));
    put(
        "config.toml",
        &format!("[alerts]\nwebhook = \"http://127.0.0.1:{port}/\"\n"),
    );
    let added = tokendeck(
        &home,
        &["alert", "add", "price>20", "--token", UNI, "--data", "deck"],
    )
    .status()
    .unwrap();
    assert!(added.success());
    let mut server = Running::start(&mut tokendeck(
        &home,
        &["serve", "--listen", "127.0.0.1:0", "--data", "deck"],
    ));
    let api = server.line().replace("listening on ", "");
    let bot = Path::new(ROOT).join("docs/recipes/bot.py");
    let mut bot = Running::start(
        command(&home, "python3")
            .arg(bot)
            .arg(port.to_string())
            .env("TOKENDECK_API", &api),
    );
    crate::wait::wait_until("the bot listens", || {
        std::net::TcpStream::connect(("127.0.0.1", port)).is_ok()
    });
    // Fires once the condition comes true: the first reading of the data is behind us when the API has them.
    crate::wait::wait_until("the data are loaded", || {
        ureq::get(format!("{api}/tokens"))
            .header("x-api-key", KEY)
            .call()
            .is_ok_and(|answer| answer.status() == 200)
    });
    put("deck/tokens.csv", &token(25));
    assert!(
        bot.line().starts_with("UNI meets price>20: "),
        "the firing, and what the API says of the token"
    );
}

#[test]
fn the_daily_run_leaves_what_its_page_says_and_fails_on_bad_data() {
    let home = tempfile::tempdir().unwrap();
    let daily = Path::new(ROOT).join("docs/recipes/daily");
    let run = |data: &Path, token: &str| {
        command(&home, "sh")
            .arg(&daily)
            .arg(data)
            .arg(token)
            .arg("reports")
            .output()
            .unwrap()
    };
    let done = run(&Path::new(ROOT).join("datasets"), "UNI");
    assert!(done.status.success() && done.stdout.is_empty(), "{done:?}");
    let day = fs::read_dir(home.path().join("reports"))
        .unwrap()
        .next()
        .unwrap()
        .unwrap()
        .path();
    let names: BTreeSet<PathBuf> = fs::read_dir(&day)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into())
        .collect();
    assert_eq!(
        names,
        ["check.txt", "growth.csv", "report.html"]
            .map(PathBuf::from)
            .into()
    );
    let rows = fs::read_to_string(day.join("growth.csv")).unwrap();
    assert!(
        rows.starts_with("symbol,price,market_cap,holders_growth,securityScore\n")
            && rows.lines().count() == 51,
        "{rows}"
    );
    // A timer hears of what went wrong.
    assert_eq!(
        run(&home.path().join("nowhere"), "UNI").status.code(),
        Some(1)
    );
    assert_eq!(
        run(&Path::new(ROOT).join("datasets"), "NOSUCHTOKEN")
            .status
            .code(),
        Some(1)
    );
}

#[test]
fn the_session_of_the_page_is_answered() {
    let page = page("language-model.md");
    let lines: Vec<&str> = page
        .lines()
        .map(str::trim)
        .filter(|line| line.starts_with("{\"jsonrpc\""))
        .collect();
    assert_eq!(lines.len(), 3);
    let home = tempfile::tempdir().unwrap();
    let mut child = tokendeck(&home, &["mcp", "--data", &format!("{ROOT}/datasets")])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    // Closing stdin ends the session.
    child
        .stdin
        .take()
        .unwrap()
        .write_all((lines.join("\n") + "\n").as_bytes())
        .unwrap();
    let told = String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap();
    let answers: Vec<Value> = told
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(answers.len(), 2, "{told}");
    assert_eq!(
        answers[1]["result"]["structuredContent"]["tokens"]
            .as_array()
            .map(Vec::len),
        Some(3),
        "{told}"
    );
    // The tools that the page names exist.
    let known: BTreeSet<&str> = api::routes::ENDPOINTS
        .iter()
        .map(|endpoint| endpoint.name)
        .collect();
    let rows = page
        .lines()
        .filter(|line| line.starts_with("| ") && line.contains("? |"));
    let named: Vec<&str> = rows
        .flat_map(|row| {
            row.rsplit("? |")
                .next()
                .unwrap()
                .split('`')
                .skip(1)
                .step_by(2)
        })
        .collect();
    assert!(
        named.len() >= 5
            && named
                .iter()
                .all(|name| known.contains(name) || *name == "as_of"),
        "{named:?} of {known:?}"
    );
}

#[test]
fn every_panel_asks_for_a_figure_that_there_is() {
    let dashboard: Value = serde_json::from_str(&page("grafana-dashboard.json")).unwrap();
    let home = tempfile::tempdir().unwrap();
    let data = format!("{ROOT}/datasets");
    let mut server = Running::start(&mut tokendeck(
        &home,
        &["serve", "--listen", "127.0.0.1:0", "--data", &data],
    ));
    let api = server.line().replace("listening on ", "");
    let figures = crate::wait::wait_for("the figures of a loaded dataset", || {
        let text = ureq::get(format!("{api}/metrics"))
            .header("x-api-key", KEY)
            .call()
            .ok()?
            .body_mut()
            .read_to_string()
            .ok()?;
        text.contains("tokendeck_dataset_rows{").then_some(text)
    });
    let panels = dashboard["panels"].as_array().unwrap();
    let mut ids = BTreeSet::new();
    for panel in panels {
        assert!(
            ids.insert(panel["id"].as_i64().unwrap()),
            "{}",
            panel["title"]
        );
        for target in panel["targets"].as_array().unwrap() {
            let asked = target["expr"].as_str().unwrap();
            let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
            let named = asked
                .split(|c| !word(c))
                .find(|name| name.starts_with("tokendeck_") || name.starts_with("process_"))
                .unwrap();
            // Those of tables that come by themselves are there where there are such tables.
            let family = named.trim_end_matches("_bucket");
            assert!(
                figures.contains(&format!("# TYPE {family} "))
                    || family.starts_with("tokendeck_feed_"),
                "{asked}"
            );
        }
    }
    assert!(panels.len() >= 10);
}
