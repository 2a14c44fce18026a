//! `tokendeck demo`: writes a synthetic dataset.

use std::{fmt::Write as _, path::PathBuf};

use clap::Args;
use color_eyre::eyre::{Report, Result, eyre};

use super::{
    dashboard::{self, DashboardArgs},
    meter::Meter,
    outcome::{Outcome, print},
    whole_number,
};
use crate::state::Dirs;
use demo::{DAYS_MAX, DemoOptions, Format, ROWS_MAX, TOKENS_MAX, write};
use model::{candles::Interval, command_line::shell_word, format::count};

#[derive(Debug, Args)]
pub(super) struct DemoArgs {
    /// Target folder: new, empty, or with demo data
    #[arg(required_unless_present = "tour")]
    dir: Option<PathBuf>,
    /// Open it with a six-stop tour; DIR defaults to the user data folder
    #[arg(long)]
    tour: bool,
    /// Number of tokens
    #[arg(long, value_name = "N", default_value_t = DemoOptions::default().tokens, allow_negative_numbers = true, value_parser = whole_number::<u32>(1..=TOKENS_MAX.into()))]
    tokens: u32,
    /// Days of history
    #[arg(long, value_name = "N", default_value_t = DemoOptions::default().days, allow_negative_numbers = true, value_parser = whole_number::<u32>(1..=DAYS_MAX.into()))]
    days: u32,
    /// Random seed
    #[arg(long, value_name = "N", default_value_t = DemoOptions::default().seed, allow_negative_numbers = true, value_parser = whole_number::<u64>(0..=u64::MAX))]
    seed: u64,
    /// Total number of candles
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = whole_number::<u64>(0..=ROWS_MAX))]
    candles: Option<u64>,
    /// Total number of transfers
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = whole_number::<u64>(0..=ROWS_MAX))]
    transfers: Option<u64>,
    /// Candle interval, such as 1m, 1h or 1d
    #[arg(long, value_name = "F", value_parser = interval)]
    interval: Option<Interval>,
    /// File format of large tables (mixed: the usual format of each table)
    #[arg(long, value_enum, default_value_t = DemoOptions::default().format)]
    format: Format,
}

fn interval(text: &str) -> Result<Interval> {
    Interval::parse(text).ok_or_else(|| eyre!("expected an interval, such as 1m, 1h or 1d"))
}

pub(super) fn run(args: &DemoArgs) -> Outcome {
    if args.tour {
        dashboard::require_terminal()?;
    }
    let dir = match &args.dir {
        Some(dir) => dir.clone(),
        None => Dirs::find()?.data.join(demo::FOLDER),
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
    let written = written.map_err(Report::msg)?;
    if args.tour {
        return dashboard::run(&DashboardArgs::toured(dir));
    }
    let (rows, bytes) = written.iter().fold((0, 0), |(rows, bytes), file| {
        (rows + file.rows, bytes + file.bytes)
    });
    let mut text = String::new();
    // Writing to a String cannot fail.
    writeln!(
        text,
        "wrote {} files with {} rows, {:.1} MB, to {}",
        written.len(),
        count(rows),
        bytes as f64 / 1e6,
        dir.display()
    )
    .ok();
    writeln!(
        text,
        "open it with: tokendeck --data {}",
        shell_word(&dir.to_string_lossy())
    )
    .ok();
    print(text)
}
