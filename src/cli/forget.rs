//! `tokendeck forget`: removes a person's words, handle and id from the live rows, for a person who asks for it. Only a command: neither the
//! API nor MCP can remove rows.

use clap::Args;
use color_eyre::eyre::{Report, Result, bail, ensure};

use super::{
    LocationArgs,
    outcome::{Outcome, print},
    program::{cache, configuration, require_folder},
};
use frames::cache::list;
use load::live::{
    RefreshError,
    forget::{ForgetReport, forget, has_people},
};
use model::format::plural;

#[derive(Debug, Args)]
pub(super) struct ForgetArgs {
    /// Handle, or id on the platform
    #[arg(value_parser = name)]
    handle: String,
    #[command(flatten)]
    location: LocationArgs,
}

fn name(text: &str) -> Result<String> {
    let name = text.trim().trim_start_matches('@');
    ensure!(
        !name.is_empty(),
        "expected a handle, such as alice, or an id"
    );
    Ok(name.to_owned())
}

pub(super) fn run(args: &ForgetArgs) -> Outcome {
    let mut config = configuration(args.location.config.as_deref())?;
    args.location.apply_overrides(&mut config);
    require_folder(&config.datasets.dir)?;
    let report = match forget(&config.datasets.dir, &args.handle) {
        Err(RefreshError::Busy) => bail!(
            "another process is fetching for this dataset; run the command again when it finishes"
        ),
        report => report.map_err(Report::msg)?,
    };
    // Large tables are also in the cache, which is rebuilt from the files.
    if let Some(folder) = cache(&config).folder {
        let entries = list(&folder).into_iter();
        entries
            .filter(|entry| has_people(&entry.table))
            .for_each(|entry| _ = entry.remove());
    }
    print(confirmation(&args.handle, &report))
}

fn confirmation(handle: &str, report: &ForgetReport) -> String {
    let posts = plural(report.posts as u64, "post", "posts");
    let rows = plural(report.rows as u64, "other row", "other rows");
    format!(
        "{handle}: emptied {posts} and removed {rows} in live tables; rows of {handle} will not be stored again\n\
         Files that you added yourself are unchanged. Stored deep analyses may quote posts; `tokendeck jobs purge` deletes them.\n"
    )
}
