//! `tokendeck alert`: manages alerts, conditions that the dashboard and the server evaluate on each new generation of the data.

use clap::{Args, Subcommand};

use super::{
    LocationArgs,
    outcome::{Failure, Outcome, print, print_line},
    program::{Program, configuration, offline_jobs},
    table::section,
    token::{TokenName, token},
};
use model::{error::Problem, format::many, time::Time};
use query::jobs::{Alert, AlertBody, AlertList, FiredAlert};

/// Number of recent firings printed.
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
    /// Print the alerts of the dataset and their firings
    List {
        #[command(flatten)]
        location: LocationArgs,
    },
    /// Add an alert: it fires when its condition is met and was not before
    Add {
        /// The condition, as in 'price>20' or 'score<40 chain:base'
        condition: String,
        /// The token it is about: its address, a coin as in coin:BTC, or a symbol that one token has; any token without it
        #[arg(long, value_name = "TOKEN", value_parser = token)]
        token: Option<TokenName>,
        #[command(flatten)]
        location: LocationArgs,
    },
    /// Remove an alert
    Remove {
        /// The alert's id, as `tokendeck alert list` prints it
        id: String,
        #[command(flatten)]
        location: LocationArgs,
    },
}

pub(super) fn run(args: &AlertArgs) -> Outcome {
    let failed = |problem: Problem| Failure::Bad(problem.detail);
    let list = |location: &LocationArgs| {
        let mut config = configuration(location.config.as_deref())?;
        location.apply_overrides(&mut config);
        let jobs = offline_jobs(&config).map_err(Failure::Bad)?;
        print(listed(&jobs.alerts(&config.datasets.dir, FIRED).map_err(failed)?))
    };
    let Some(command) = &args.command else { return list(&args.location) };
    match command {
        Command::List { location } => list(location),
        Command::Add { condition, token, location } => {
            let program = Program::open_loaded(location)?;
            let jobs = offline_jobs(&program.config).map_err(Failure::Bad)?;
            let token_address = token.as_ref().map(|token| token.find(&program.deck)).transpose()?;
            let request = AlertBody { token_address, condition: condition.trim().to_owned() };
            let alert = jobs.add_alert(&program.deck, &request).map_err(failed)?;
            let already =
                if alert.holds > 0 { format!(", holds for {} already", many(alert.holds, "token", "tokens")) } else { String::new() };
            print_line(&format!("{}{already}", alert.alert_id))
        }
        Command::Remove { id, location } => {
            let config = configuration(location.config.as_deref())?;
            offline_jobs(&config).map_err(Failure::Bad)?.remove_alert(id).map_err(failed)?;
            print(format!("removed {id}\n"))
        }
    }
}

fn listed(list: &AlertList) -> String {
    let row = |alert: &Alert| {
        let fired = alert.last_fired_at.map_or_else(|| "-".to_owned(), Time::minute_text);
        let state = alert.problem.clone().unwrap_or_else(|| if alert.holds > 0 { "holds".to_owned() } else { "not met now".to_owned() });
        vec![alert.alert_id.clone(), alert.about(), alert.condition.clone(), alert.fired.to_string(), fired, state]
    };
    let fired = |fired: &FiredAlert| vec![fired.fired_at.minute_text(), fired.about(), fired.condition.clone()];
    let header = ["alert_id", "about", "condition", "fired", "last fired", "state"];
    let alerts = section(&header, list.alerts.iter().map(row));
    let firings = section(&["fired, UTC", "token", "condition"], list.fired.iter().map(fired));
    format!("{alerts}{firings}{}\n", many(list.alerts.len() as u64, "alert", "alerts"))
}
