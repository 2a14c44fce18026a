//! The requests that README and the pages show, asked of a server over the demo data: a page that says `curl …` or `tokendeck get …` is
//! answered.

use std::{fmt::Write as _, fs, path::Path};

use frames::cache::CacheOptions;

use super::server::{KEY, Running};
use crate::wait::wait_for;

const ROOT: &str = env!("CARGO_MANIFEST_DIR");
/// Where the pages expect the server.
const BASE: &str = "http://127.0.0.1:8787";

/// Words of a line as a shell splits them; what stands behind a pipe or goes into a file is another command's.
fn words(line: &str) -> Vec<String> {
    let (mut all, mut word, mut quote) = (Vec::new(), String::new(), None);
    for c in line.chars() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (None, '\'' | '"') => quote = Some(c),
            (None, '|' | '>') => break,
            (None, ' ') => all.push(std::mem::take(&mut word)),
            (_, c) => word.push(c),
        }
    }
    all.push(word);
    all.retain(|word| !word.is_empty());
    all
}

/// A request: its path with the query, and its body where it is posted.
type Shown = (String, Option<String>);

/// What a `curl` asks of the API; `None` for another server.
fn of_curl(words: &[String]) -> Option<Shown> {
    let (mut target, mut data, mut in_query) = (None, Vec::new(), false);
    let mut rest = words.iter().skip(1);
    while let Some(word) = rest.next() {
        match word.as_str() {
            "-G" => in_query = true,
            "-H" | "-o" | "-X" | "-m" => drop(rest.next()),
            "-d" | "--data-urlencode" => data.push((word == "-d", rest.next()?)),
            word => target = word.strip_prefix(BASE).map(str::to_owned).or(target),
        }
    }
    let mut target = target?;
    if !in_query {
        return Some((target, data.first().map(|(_, body)| (*body).clone())));
    }
    for (is_plain, pair) in data {
        let (name, value) = pair.split_once('=')?;
        let encoded: String = value.bytes().fold(String::new(), |mut text, byte| {
            let keeps = byte.is_ascii_alphanumeric()
                || b"-_.~".contains(&byte)
                || (is_plain && b",:".contains(&byte));
            if keeps {
                text.push(char::from(byte));
            } else {
                write!(text, "%{byte:02X}").unwrap();
            }
            text
        });
        write!(
            target,
            "{}{name}={encoded}",
            if target.contains('?') { '&' } else { '?' }
        )
        .unwrap();
    }
    Some((target, None))
}

/// The requests of a page, with the line that shows each; those of a stream that does not end, and of datasets of the reader's own, are left out.
fn requests(page: &str) -> Vec<(String, Shown)> {
    let mut found = Vec::new();
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        let Some(shown) = line.strip_prefix("    ").map(str::trim) else {
            continue;
        };
        let mut whole = shown.to_owned();
        while let Some(begun) = whole.strip_suffix('\\').map(str::to_owned) {
            whole = begun + lines.next().unwrap_or_default().trim();
        }
        let words = words(&whole);
        let asked = match words.first().map(String::as_str) {
            Some("curl") => of_curl(&words),
            Some("tokendeck")
                if words.get(1).is_some_and(|word| word == "get") && !whole.contains("--data") =>
            {
                Some((words[2].clone(), None))
            }
            _ => None,
        };
        // Records of all tokens take long, and have tests of their own.
        found.extend(
            asked
                .filter(|(target, _)| target != "/events" && !target.contains("scope=all"))
                .map(|asked| (whole.clone(), asked)),
        );
    }
    found
}

#[test]
fn every_request_that_a_page_shows_is_answered() {
    let copy = |folder: &Path| {
        for file in fs::read_dir(format!("{ROOT}/datasets")).unwrap().flatten() {
            fs::copy(file.path(), folder.join(file.file_name())).unwrap();
        }
    };
    let server = Running::over(copy, CacheOptions::default(), api::ApiOptions::default());
    server.api.service.load().unwrap();
    let agent = ureq::Agent::new_with_config(
        ureq::Agent::config_builder()
            .http_status_as_error(false)
            .build(),
    );
    let mut pages = vec![format!("{ROOT}/README.md")];
    for folder in ["docs", "docs/recipes"] {
        pages.extend(
            fs::read_dir(format!("{ROOT}/{folder}"))
                .unwrap()
                .map(|entry| entry.unwrap().path().display().to_string()),
        );
    }
    let mut count = 0;
    for page in pages.iter().filter(|page| page.contains(".md")) {
        for (line, (target, body)) in requests(&fs::read_to_string(page).unwrap()) {
            let target = [(" ", "%20"), (">", "%3E"), ("<", "%3C")]
                .iter()
                .fold(target, |target, (sign, sent)| target.replace(sign, sent));
            let url = format!("http://{}{target}", server.address);
            let status = wait_for(&line, || {
                let answer = match &body {
                    Some(body) => agent
                        .post(&url)
                        .header("x-api-key", KEY)
                        .header("content-type", "application/json")
                        .send(body),
                    None => agent.get(&url).header("x-api-key", KEY).call(),
                };
                // Records are worked out over several requests.
                Some(answer.unwrap().status().as_u16()).filter(|status| *status != 503)
            });
            assert!((200..300).contains(&status), "{page}: {status}: {line}");
            count += 1;
        }
    }
    assert!(count >= 30, "{count} requests are shown");
}

#[test]
fn a_line_is_read_as_a_shell_reads_it() {
    let asked = |line: &str| {
        requests(&format!("    {line}\n"))
            .pop()
            .map(|(_, asked)| asked)
    };
    let get = |target: &str| Some((target.to_owned(), None));
    for (line, expected) in [
        (
            "curl -H \"x-api-key: $(tokendeck key)\" 'http://127.0.0.1:8787/tokens?limit=5' | jq .",
            get("/tokens?limit=5"),
        ),
        (
            "curl -G http://127.0.0.1:8787/tokens --data-urlencode 'where=cap>10m age<1d' -d limit=5",
            get("/tokens?where=cap%3E10m%20age%3C1d&limit=5"),
        ),
        (
            "curl http://127.0.0.1:8787/alerts -d '{\"a\": 1}'",
            Some(("/alerts".to_owned(), Some("{\"a\": 1}".to_owned()))),
        ),
        (
            "tokendeck get '/tokens?query=usd' --format csv > t.csv",
            get("/tokens?query=usd"),
        ),
        ("tokendeck get /tokens --data mydata", None),
        ("curl -N http://127.0.0.1:8787/events", None),
        ("curl https://example.org/x", None),
    ] {
        assert_eq!(asked(line), expected, "{line}");
    }
}
