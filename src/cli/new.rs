//! `tokendeck new`: creates a dataset with live tables.

use std::path::PathBuf;

use clap::Args;
use color_eyre::eyre::{Report, bail};

use super::{
    LocationArgs,
    feed::Feed,
    outcome::{Outcome, print},
};
use load::live::create::{SOCIAL, create};
use model::command_line::shell_word;

#[derive(Debug, Args)]
pub(super) struct NewArgs {
    /// Folder to create
    dir: PathBuf,
    /// Providers to use, comma-separated (see `tokendeck providers`)
    #[arg(long, value_delimiter = ',', value_name = "NAME")]
    providers: Vec<String>,
    /// Also fetch posts, accounts and followers from social platforms
    #[arg(long)]
    social: bool,
    /// Node that supplies contract code and state: a [sources.NAME] of config.toml
    #[arg(long, value_name = "NAME")]
    node: Option<String>,
    /// Configuration file
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

pub(super) fn run(args: &NewArgs) -> Outcome {
    let location = LocationArgs {
        config: args.config.clone(),
        data: Some(args.dir.clone()),
        remote: false,
        as_of: None,
    };
    let feed = Feed::open(&location)?;
    if let Some(node) = args
        .node
        .as_ref()
        .filter(|node| feed.wire.node_source(node).is_none())
    {
        bail!(
            "`{node}` is not a node; first add [sources.{node}] kind = \"node\", url = \"http://127.0.0.1:8545\", chain = \"eth\" to config.toml"
        );
    }
    create(
        &args.dir,
        &args.providers,
        if args.social { &SOCIAL } else { &[] },
        &feed.providers,
        args.node.as_deref(),
    )
    .map_err(Report::msg)?;
    let shown = args.dir.display();
    let word = shell_word(&args.dir.to_string_lossy());
    print(format!(
        "created {shown}/dataset.toml; add a token with\n  tokendeck add ADDRESS --data {word}\n"
    ))
}
