//! `tokendeck demo`: writes a synthetic dataset.

use std::{fmt::Write as _, path::PathBuf};

use clap::{Args, value_parser};

use super::{
    dashboard::{self, DashboardArgs},
    meter::Meter,
    outcome::{Failure, Outcome, print},
};
use crate::state::Dirs;
use demo::{DAYS_MAX, DemoOptions, Format, TOKENS_MAX, write};
use model::{candles::Interval, command_line::shell_word};

#[derive(Debug, Args)]
pub(super) struct DemoArgs {
    /// The folder to write to: a new or empty one, or one with demo data
    #[arg(required_unless_present = "tour")]
    dir: Option<PathBuf>,
    /// Open it in the dashboard, with a tour of six stops; without DIR in the folder of your own data
    #[arg(long)]
    tour: bool,
    /// How many tokens there are
    #[arg(long, value_name = "N", default_value_t = DemoOptions::default().tokens, value_parser = value_parser!(u32).range(1..=i64::from(TOKENS_MAX)))]
    tokens: u32,
    /// How many days back the data reach
    #[arg(long, value_name = "N", default_value_t = DemoOptions::default().days, value_parser = value_parser!(u32).range(1..=i64::from(DAYS_MAX)))]
    days: u32,
    /// The same seed and options write the same market
    #[arg(long, value_name = "N", default_value_t = DemoOptions::default().seed)]
    seed: u64,
    /// Candles of all tokens together
    #[arg(long, value_name = "N")]
    candles: Option<u64>,
    /// Transfers of all tokens together
    #[arg(long, value_name = "N")]
    transfers: Option<u64>,
    /// The interval of every candle, as in 1m, 1h or 1d
    #[arg(long, value_name = "F", value_parser = interval)]
    interval: Option<Interval>,
    /// Format of the tables that can be large
    #[arg(long, value_enum, default_value_t = DemoOptions::default().format)]
    format: Format,
}

fn interval(text: &str) -> Result<Interval, String> {
    Interval::parse(text).ok_or_else(|| "expected a length of time, as in 1m, 1h or 1d".to_owned())
}

pub(super) fn run(args: &DemoArgs) -> Outcome {
    if args.tour {
        dashboard::require_terminal()?;
    }
    let dir = match &args.dir {
        Some(dir) => dir.clone(),
        None => Dirs::find().map_err(Failure::Bad)?.data.join(demo::FOLDER),
    };
    let options = DemoOptions {
        tokens: args.tokens,
        days: args.days,
        seed: args.seed,
        candles: args.candles,
        transfers: args.transfers,
        interval: args.interval,
        format: args.format,
    };
    let written = {
        let meter = Meter::new("writing");
        write(&dir, &options, &mut |table, done, total| {
            meter.show(table, done, total);
            true
        })
    };
    let written = written.map_err(Failure::Bad)?;
    if args.tour {
        return dashboard::run(&DashboardArgs::toured(dir));
    }
    let (rows, bytes) = written.iter().fold((0, 0), |(rows, bytes), file| (rows + file.rows, bytes + file.bytes));
    let mut text = String::new();
    // Writing to a String cannot fail.
    writeln!(text, "wrote {} files with {rows} rows, {:.1} MB, to {}", written.len(), bytes as f64 / 1e6, dir.display()).ok();
    writeln!(text, "open them with: tokendeck --data {}", shell_word(&dir.to_string_lossy())).ok();
    print(text)
}
