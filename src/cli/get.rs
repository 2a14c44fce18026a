//! `tokendeck get`: prints the response to one API request, without a server.

use std::{
    fs::File,
    io::{Read, stdin},
    net::{IpAddr, Ipv4Addr},
    path::PathBuf,
    sync::Arc,
};

use clap::{Args, ValueEnum};
use color_eyre::eyre::{Report, Result, bail, eyre};
use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};
use serde_json::Value;
use tokio::sync::broadcast::{Receiver, error::RecvError};

use super::{
    AsOfArgs, flatten,
    meter::Meter,
    outcome::{self, Failure, Outcome, print},
    program::{Program, warn},
};
use crate::config::plain_reason;
use api;
use api::keys::Keys;
use api::{Api, OfflineRows};
use query::{jobs::Jobs, service::ServiceEvent};

/// The API's limit for a request body.
const BODY_BYTES_MAX: u64 = 1 << 20;

#[derive(Debug, Args)]
pub(super) struct GetArgs {
    /// Request path with query, such as '/tokens?query=usd'
    path: String,
    /// Output format; csv and table print the response's list
    #[arg(long, value_enum, default_value_t = Format::Json)]
    format: Format,
    /// JSON body of a POST; - reads stdin
    #[arg(long, value_name = "FILE")]
    body: Option<PathBuf>,
    /// HTTP method. Default: GET, or POST with --body
    #[arg(long, value_parser = ["get", "post", "delete"], ignore_case = true)]
    method: Option<String>,
    #[command(flatten)]
    location: AsOfArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    Json,
    Csv,
    Table,
}

pub(super) fn run(args: &GetArgs) -> Outcome {
    if !args.path.starts_with('/') {
        bail!(Failure::Usage(eyre!(
            "path `{}` must start with `/`, as in /tokens?limit=5",
            args.path
        )));
    }
    let body = args.body.as_ref().map(read_body).transpose()?;
    let method = args
        .method
        .as_deref()
        .unwrap_or(if body.is_some() { "post" } else { "get" })
        .to_uppercase();
    let program = Program::open_with_data(&args.location.location())?;
    let body = body.unwrap_or_default();
    let target = percent_encoded(&args.path);
    refuse_early(&program, &method, &target)?;
    program.load()?;
    if let Some(stale) = program
        .service
        .snapshot()
        .ok()
        .and_then(|snapshot| snapshot.dataset.stale_tables())
    {
        warn(&stale);
    }
    if let Some(of_today) = program.of_today() {
        warn(&of_today);
    }
    let unreadable = unreadable_tables(&program);
    if let Some(unreadable) = &unreadable {
        warn(unreadable);
    }
    // Opening the job store resumes its queue, so only a request about jobs or alerts does it.
    let about_jobs = ["/deep", "/alerts"]
        .iter()
        .any(|path| args.path.starts_with(path));
    let jobs = if about_jobs {
        Some(program.jobs()?)
    } else {
        None
    };
    let api = api_of(&program, jobs)?;
    let mut target = target;
    if let Some(unknown) = api::unknown_parameter(&api, &method, &target) {
        warn(&unknown);
    }
    // The rows are written as the API writes them, where it does.
    if args.format == Format::Csv && api::writes_csv(&api, &method, &target) {
        let joint = if target.contains('?') { '&' } else { '?' };
        target.push_str(&format!("{joint}format=csv"));
    }
    let meter = Meter::new("querying");
    let ask = || {
        meter.beside(
            program.wire(),
            || {},
            || api::answer_offline(&api, &method, &target, &body),
        )
    };
    let mut events = program.service.listen();
    let mut reply = ask();
    if program.service.wait_for_kept_records() {
        reply = ask();
    }
    // A record that is being counted is waited for: no later request could have what this process has counted so far.
    let counts = program.service.options().counts_records;
    while counts && parsed(&reply.body).is_ok_and(|answer| answer["complete"] == false) {
        let counted = meter.beside(program.wire(), || {}, || wait_for_record(&mut events));
        if !counted {
            break;
        }
        reply = ask();
    }
    drop(meter);
    let done = |printed: Outcome| {
        printed.and(if unreadable.is_some() {
            Err(Failure::Reported.into())
        } else {
            Ok(())
        })
    };
    if let Some(rows) = reply.rows {
        return done(print_rows(rows, args));
    }
    if reply.status >= 400 {
        bail!(problem_line(reply.status, &reply.body));
    }
    // Only an endless stream has an empty body.
    if reply.body.is_empty() {
        bail!(
            "`{}` is an endless stream; run `tokendeck serve` and request it there",
            args.path
        );
    }
    done(match args.format {
        Format::Json => {
            let mut line = reply.body.to_vec();
            line.push(b'\n');
            print(outcome::for_reader(line))
        }
        Format::Csv => {
            let answer = parsed(&reply.body)?;
            if let Some(says) = flatten::left_out(&answer) {
                outcome::say_more(&says);
            }
            print(outcome::for_reader(flatten::csv(&answer)))
        }
        Format::Table => print(flatten::table(&parsed(&reply.body)?)),
    })
}

/// False if no more events will arrive.
fn wait_for_record(events: &mut Receiver<ServiceEvent>) -> bool {
    loop {
        match events.blocking_recv() {
            Ok(ServiceEvent::RecordCounted(_)) | Err(RecvError::Lagged(_)) => return true,
            Ok(_) => {}
            Err(RecvError::Closed) => return false,
        }
    }
}

/// The API over the program's data. No key is checked here, so none is read or generated.
fn api_of(program: &Program, jobs: Option<Arc<Jobs>>) -> Result<Arc<Api>> {
    let keys = Keys::in_memory().map_err(Report::msg)?;
    Ok(program.api(keys, jobs, IpAddr::V4(Ipv4Addr::LOCALHOST)))
}

/// Reports errors that don't depend on the data before loading it, which can take minutes.
fn refuse_early(program: &Program, method: &str, target: &str) -> Outcome {
    // Only what reads may be asked twice.
    if method != "GET" {
        return Ok(());
    }
    let reply = api::answer_offline(&api_of(program, None)?, method, target, &[]);
    // 410 is of a generation, of which there is none yet.
    if matches!(reply.status, 400 | 404 | 405) {
        Err(Report::msg(problem_line(reply.status, &reply.body)))
    } else {
        Ok(())
    }
}

/// The tables that exist but cannot be read, and why: the response lacks their rows.
fn unreadable_tables(program: &Program) -> Option<String> {
    let snapshot = program.service.snapshot().ok()?;
    let tables = snapshot.dataset.tables.iter().filter_map(|table| {
        Some(format!(
            "`{}`: {}",
            table.schema.name,
            table.state.reason()?
        ))
    });
    let tables: Vec<String> = tables.collect();
    (!tables.is_empty()).then(|| {
        format!(
            "response incomplete; unreadable tables: {}",
            tables.join("; ")
        )
    })
}

/// Percent-encodes the characters that a request line forbids, so that `where=cap>10m` can be typed as it reads.
fn percent_encoded(path: &str) -> String {
    const REFUSED: &AsciiSet = &CONTROLS
        .add(b' ')
        .add(b'"')
        .add(b'<')
        .add(b'>')
        .add(b'\\')
        .add(b'^')
        .add(b'`')
        .add(b'{')
        .add(b'|')
        .add(b'}');
    utf8_percent_encode(path, REFUSED).to_string()
}

/// Prints a row stream, in the format that the path asks for.
fn print_rows(mut rows: OfflineRows, args: &GetArgs) -> Outcome {
    let is_asked_twice = match args.format {
        Format::Json => false,
        Format::Csv => args.path.contains("format="),
        Format::Table => true,
    };
    if is_asked_twice {
        bail!(Failure::Usage(eyre!(
            "the path already sets `format`; remove --format"
        )));
    }
    while let Some(piece) = rows.next_piece().map_err(Report::msg)? {
        print(piece)?;
    }
    Ok(())
}

/// Reads the body up to one byte beyond the API's limit, so that the API refuses a larger one.
fn read_body(file: &PathBuf) -> Result<Vec<u8>> {
    let mut body = Vec::new();
    let outcome = if file.as_os_str() == "-" {
        stdin()
            .lock()
            .take(BODY_BYTES_MAX + 1)
            .read_to_end(&mut body)
    } else {
        File::open(file).and_then(|file| file.take(BODY_BYTES_MAX + 1).read_to_end(&mut body))
    };
    outcome.map_err(|error| {
        Failure::Usage(eyre!(
            "cannot read the body `{}`: {}",
            file.display(),
            plain_reason(&error)
        ))
    })?;
    Ok(body)
}

fn parsed(body: &[u8]) -> Result<Value> {
    serde_json::from_slice(body).map_err(|_| eyre!("the response has no rows; use --format json"))
}

/// Formats a problem in one line: its status, code and remedy.
fn problem_line(status: u16, body: &[u8]) -> String {
    let problem: Value = serde_json::from_slice(body).unwrap_or_default();
    let text = |member: &str| problem.get(member).and_then(Value::as_str);
    match (text("code"), text("detail")) {
        (Some(code), Some(detail)) => format!("{status} {code}: {detail}"),
        _ => format!("{status}: request failed"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_can_be_typed_as_it_reads() {
        for (typed, sent) in [
            (
                "/tokens?where=cap>10m age<90d",
                "/tokens?where=cap%3E10m%20age%3C90d",
            ),
            (
                "/tokens?where=name:\"usd ü\"&limit=3",
                "/tokens?where=name:%22usd%20%C3%BC%22&limit=3",
            ),
            ("/tokens?query=a%20b+c", "/tokens?query=a%20b+c"),
        ] {
            assert_eq!(percent_encoded(typed), sent);
        }
    }

    #[test]
    fn a_problem_is_one_line() {
        let body = br#"{"type":"about:blank","code":"token_not_found","detail":"No token `0x1`."}"#;
        assert_eq!(
            problem_line(404, body),
            "404 token_not_found: No token `0x1`."
        );
        assert_eq!(problem_line(400, b""), "400: request failed");
    }
}
