//! `tokendeck dispute`: records a disputed security finding in the dataset's table `disputes`. The analysis decides its effect on the
//! score.

use std::{fmt::Display, path::Path};

use clap::Args;
use color_eyre::eyre::{Report, Result, bail, eyre};

use super::{
    LocationArgs,
    outcome::{Outcome, print},
    program::{Program, configuration},
    token::{TokenName, token},
};
use model::{private_files::write_atomic, progress::Progress};
use query::queries::{
    Query as _,
    security::{SecurityQuery, finding_code},
    view::View,
};

const FILE: &str = "disputes.csv";
const HEADER: [&str; 4] = ["token_address", "code", "why", "until"];

#[derive(Debug, Args)]
pub(super) struct DisputeArgs {
    /// Address or unique symbol
    #[arg(value_parser = token)]
    token: TokenName,
    /// Finding code, such as OWNER_MINT
    #[arg(value_parser = finding_code)]
    code: String,
    /// Reason, shown with the finding
    #[arg(long, value_name = "TEXT", required_unless_present = "withdraw")]
    why: Option<String>,
    /// End date, such as 2027-01-31. Default: none
    #[arg(long, value_name = "DATE", value_parser = day)]
    until: Option<String>,
    /// Withdraw the dispute
    #[arg(long, conflicts_with_all = ["why", "until"])]
    withdraw: bool,
    #[command(flatten)]
    location: LocationArgs,
}

fn day(text: &str) -> Result<String> {
    text.parse::<chrono::NaiveDate>()
        .map(|day| day.to_string())
        .map_err(|_| eyre!("expected a date, such as 2027-01-31"))
}

pub(super) fn run(args: &DisputeArgs) -> Outcome {
    let mut config = configuration(args.location.config.as_deref())?;
    args.location.apply_overrides(&mut config);
    let folder = &config.datasets.dir;
    let (token, code) = (args.token.find_in(&args.location)?.to_string(), &args.code);
    let rows = read(folder)?;
    let others: Vec<_> = rows
        .iter()
        .filter(|row| !(row[0].eq_ignore_ascii_case(&token) && row[1].eq_ignore_ascii_case(code)))
        .collect();
    let had = others.len() < rows.len();
    let own = args.why.as_ref().map(|why| {
        [
            token.clone(),
            code.clone(),
            why.trim().to_owned(),
            args.until.clone().unwrap_or_default(),
        ]
    });
    if own.is_none() && !had {
        bail!(
            "no dispute of `{code}` for `{token}` in `{}`",
            folder.join(FILE).display()
        );
    }
    let text = written(others.into_iter().chain(&own))?;
    write_atomic(&folder.join(FILE), &text).map_err(Report::msg)?;
    let ended = args.until.is_some() && counts_all_the_same(args, code);
    print(if own.is_some() {
        confirmation(code, &token, args.until.as_deref(), ended)
    } else {
        format!("dispute of {code} for {token} withdrawn: the finding affects the score again\n")
    })
}

fn confirmation(code: &str, token: &str, until: Option<&str>, ended: bool) -> String {
    match until {
        Some(until) if ended => {
            format!(
                "{code} of {token} is disputed until {until}, but the data is already past that day, so the finding still counts; \
                set a later date\n"
            )
        }
        Some(until) => {
            format!("{code} of {token} is disputed until {until}: visible, but no longer scored\n")
        }
        None => format!("{code} of {token} is disputed: visible, but no longer scored\n"),
    }
}

/// Whether the finding still affects the score although a dispute was just written, because the data is past its end date. Runs the query, as
/// only its result contains the time of the data; false if there is no result.
fn counts_all_the_same(args: &DisputeArgs, code: &str) -> bool {
    let answer = || {
        let program = Program::open_loaded(&args.location).ok()?;
        let contract_address = args.token.find(&program.service).ok()?;
        let snapshot = program.service.snapshot().ok()?;
        SecurityQuery {
            contract_address,
            explain: true,
        }
        .answer(&View::new(&snapshot), &Progress::default())
        .ok()
    };
    answer().is_some_and(|answer| {
        let found = &answer.anomaly_detection;
        let parts = [
            &found.code_patterns,
            &found.transaction_patterns,
            &found.holder_distribution,
        ];
        let anomalies = || {
            parts
                .iter()
                .flat_map(|part| part.evidence.iter().flatten())
                .filter(|anomaly| anomaly.code.word() == code)
        };
        anomalies().next().is_some() && anomalies().all(|anomaly| anomaly.disputed.is_none())
    })
}

/// The rows of the dataset's file; none if there is no file. Errors: the table is in another file, or this command did not write the file.
fn read(folder: &Path) -> Result<Vec<[String; 4]>> {
    if !folder.is_dir() {
        bail!(
            "no dataset in `{}`; pass its folder with --data",
            folder.display()
        );
    }
    let path = folder.join(FILE);
    let odd = |reason: &dyn Display| {
        eyre!(
            "cannot edit `{}`: {reason}; add the row to the table yourself",
            path.display()
        )
    };
    for entry in std::fs::read_dir(folder)
        .map_err(|error| odd(&error))?
        .flatten()
    {
        let name = entry.file_name().to_string_lossy().into_owned();
        if name != FILE && (name == "disputes" || name.starts_with("disputes.")) {
            return Err(odd(&format!(
                "the dataset's disputes are in `{}`",
                entry.path().display()
            )));
        }
    }
    if std::fs::read_to_string(folder.join("dataset.toml"))
        .is_ok_and(|text| text.contains("tables.disputes"))
    {
        return Err(odd(&"dataset.toml maps the table `disputes`"));
    }
    if !path.exists() {
        return Ok(Vec::new());
    }
    let mut reader = csv::Reader::from_path(&path).map_err(|error| odd(&error))?;
    let header: Vec<String> = reader
        .headers()
        .map_err(|error| odd(&error))?
        .iter()
        .map(str::to_owned)
        .collect();
    if header != HEADER {
        return Err(odd(&format!("expected the columns {}", HEADER.join(", "))));
    }
    let row = |record: csv::Result<csv::StringRecord>| {
        let record = record.map_err(|error| odd(&error))?;
        Ok(std::array::from_fn(|i| {
            record.get(i).unwrap_or_default().to_owned()
        }))
    };
    reader.records().map(row).collect()
}

fn written<'a>(rows: impl Iterator<Item = &'a [String; 4]>) -> Result<Vec<u8>> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    let write = || -> csv::Result<()> {
        writer.write_record(HEADER)?;
        rows.into_iter()
            .try_for_each(|row| writer.write_record(row))
    };
    write()?;
    writer.into_inner().map_err(Report::msg)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_objection_that_is_over_is_not_said_to_count() {
        let over = confirmation("OWNER_MINT", "0x1", Some("2020-01-31"), true);
        assert!(
            over.contains("already past that day, so the finding still counts")
                && !over.contains("no longer scored"),
            "{over}"
        );
        for until in [Some("2040-01-31"), None] {
            assert!(
                confirmation("OWNER_MINT", "0x1", until, false).contains("no longer scored"),
                "{until:?}"
            );
        }
    }
}
