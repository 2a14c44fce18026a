//! `tokendeck alert`: manages alerts, conditions that the dashboard and the server evaluate on each new data snapshot.

use clap::{Args, Subcommand};
use color_eyre::eyre::eyre;

use super::{
    LocationArgs,
    outcome::{Outcome, print, print_json, print_line},
    program::{Program, configuration, offline_jobs},
    table::section,
    token::{TokenName, token},
};
use model::{
    error::Code,
    format::{count, fixed, plural},
    progress::Progress,
    time::Time,
};
use query::{
    jobs::{Alert, AlertList, FiredAlert},
    queries::{
        Query as _,
        alert_body::AlertBody,
        rehearsal::{Rehearsal, RehearsalQuery},
        view::View,
    },
};

/// Number of recent triggers printed.
const FIRED: u64 = 20;

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(super) struct AlertArgs {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    location: LocationArgs,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// List alerts and when they fired
    List {
        /// Print JSON, as GET /alerts returns it
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        location: LocationArgs,
    },
    /// Add an alert that fires when its condition becomes true
    Add {
        /// Condition, such as 'price>20', 'score<40 chain:base' or 'price crosses 20'; options follow, as in 'price>20 cooldown 6h
        /// hysteresis 2% until 2026-12-31'
        condition: String,
        /// Only this token: address, coin (coin:BTC) or unique symbol. Default: any token
        #[arg(long, value_name = "TOKEN", value_parser = token)]
        token: Option<TokenName>,
        /// Backtest instead: print when the alert would have fired in the last year and what followed
        #[arg(long)]
        rehearse: bool,
        #[command(flatten)]
        location: LocationArgs,
    },
    /// Remove an alert
    Remove {
        /// Alert id (see `tokendeck alert list`)
        id: String,
        #[command(flatten)]
        location: LocationArgs,
    },
}

pub(super) fn run(args: &AlertArgs) -> Outcome {
    let list = |location: &LocationArgs, json: bool| {
        let mut config = configuration(location.config.as_deref())?;
        location.apply_overrides(&mut config);
        let jobs = offline_jobs(&config)?;
        let alerts = jobs.alerts(&config.datasets.dir, FIRED)?;
        if json {
            print_json(&alerts)
        } else {
            print(listed(&alerts))
        }
    };
    let Some(command) = &args.command else {
        return list(&args.location, false);
    };
    match command {
        Command::List { json, location } => list(location, *json),
        Command::Add {
            condition,
            token,
            rehearse,
            location,
        } => {
            let program = Program::open_loaded(location)?;
            let token_address = token
                .as_ref()
                .map(|token| token.find(&program.service))
                .transpose()?;
            let request = AlertBody {
                token_address,
                condition: condition.trim().to_owned(),
            };
            if *rehearse {
                let snapshot = program.service.complete_snapshot()?;
                let rehearsal = RehearsalQuery::of_last_year(request)
                    .answer(&View::new(&snapshot), &Progress::default())?;
                return print(rehearsed(&rehearsal));
            }
            let jobs = offline_jobs(&program.config)?;
            let alert = jobs.add_alert(&program.service, &request)?;
            let already = if alert.holds > 0 {
                format!(
                    ", already true for {}",
                    plural(alert.holds, "token", "tokens")
                )
            } else {
                String::new()
            };
            print_line(&format!("{}{already}", alert.alert_id))
        }
        Command::Remove { id, location } => {
            let config = configuration(location.config.as_deref())?;
            offline_jobs(&config)?
                .remove_alert(id)
                .map_err(|problem| match problem.code {
                    Code::AlertNotFound => {
                        eyre!("no alert `{id}`; list alerts with `tokendeck alert list`")
                    }
                    _ => problem.into(),
                })?;
            print(format!("removed {id}\n"))
        }
    }
}

fn listed(list: &AlertList) -> String {
    let row = |alert: &Alert| {
        let fired = alert
            .last_fired_at
            .map_or_else(|| "-".to_owned(), Time::minute_text);
        let state = alert.problem.clone().unwrap_or_else(|| {
            if alert.holds > 0 {
                "true".to_owned()
            } else {
                "false".to_owned()
            }
        });
        vec![
            alert.alert_id.clone(),
            alert.about(),
            alert.condition.clone(),
            alert.fired.to_string(),
            fired,
            state,
        ]
    };
    let fired = |fired: &FiredAlert| {
        vec![
            fired.fired_at.minute_text(),
            fired.about(),
            fired.condition.clone(),
        ]
    };
    let header = [
        "alert_id",
        "about",
        "condition",
        "fired",
        "last fired",
        "state",
    ];
    let alerts = section(&header, list.alerts.iter().map(row));
    let firings = section(
        &["fired, UTC", "token", "condition"],
        list.fired.iter().map(fired),
    );
    format!(
        "{alerts}{firings}{}\n",
        plural(list.alerts.len() as u64, "alert", "alerts")
    )
}

fn rehearsed(rehearsal: &Rehearsal) -> String {
    let (Some(from), Some(to)) = (rehearsal.from, rehearsal.to) else {
        return "no candles to backtest on\n".to_owned();
    };
    let Some(a_week) = rehearsal.fired_a_week else {
        return format!("{from} to {to}: a required value is unknown on every day\n");
    };
    let of_today = if rehearsal.as_of_unknown.is_empty() {
        String::new()
    } else {
        format!(
            "current values, no history: {}\n",
            rehearsal.as_of_unknown.join(", ")
        )
    };
    let [outcomes, firings] = rehearsal
        .tables()
        .map(|(header, rows)| section(header, rows));
    format!(
        "{from} to {to}: fired {} for {} of {}, {} per week; true on {} token-days, unknown on {}\n{of_today}\n{outcomes}{firings}",
        plural(rehearsal.fired, "time", "times"),
        count(rehearsal.fired_tokens),
        plural(rehearsal.tokens, "token", "tokens"),
        fixed(a_week, 1),
        count(rehearsal.held_days),
        count(rehearsal.unknown_days),
    )
}
