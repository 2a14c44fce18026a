//! `tokendeck providers`: lists the data providers for live tables, with their tables, limits and terms.

use clap::Args;
use color_eyre::eyre::Report;

use super::{
    LocationArgs,
    feed::Feed,
    outcome::{Outcome, print},
    table,
};
use load::provider::{Provider, ProviderOrigin, RequestScope, named};

#[derive(Debug, Args)]
pub(super) struct ProvidersArgs {
    /// Show one provider and its requests
    name: Option<String>,
    #[command(flatten)]
    location: LocationArgs,
}

pub(super) fn run(args: &ProvidersArgs) -> Outcome {
    let feed = Feed::open(&args.location)?;
    let Some(name) = &args.name else {
        let rows = feed.providers.values().map(|provider| {
            let own = provider.origin != ProviderOrigin::Dataset;
            let key = if own && feed.wire.has_provider_key(&provider.id) {
                "set"
            } else {
                needs_key(provider)
            };
            vec![
                provider.id.clone(),
                provider.tables().join(", "),
                key.to_owned(),
                limit(provider),
                whose(provider).to_owned(),
            ]
        });
        return print(table::aligned(
            &["provider", "tables", "key", "limit", ""],
            &rows.collect::<Vec<_>>(),
        ));
    };
    let provider = named(&feed.providers, name).map_err(Report::msg)?;
    let mut text = format!("{} ({}) {}", provider.name, provider.id, whose(provider))
        .trim_end()
        .to_owned()
        + "\n";
    let mut line = |name: &str, value: String| text.push_str(&format!("{name:<9}{value}\n"));
    line("limit", limit(provider));
    line("key", needs_key(provider).to_owned());
    line("terms", provider.terms.clone().unwrap_or_default());
    line(
        "credit",
        provider
            .credit
            .clone()
            .unwrap_or_else(|| "none required".to_owned()),
    );
    let chains: Vec<String> = provider
        .chains
        .iter()
        .map(|(chain, _)| chain.to_string())
        .collect();
    let no_chains = || "none (it is queried by coin symbol, or returns whole lists)".to_owned();
    line(
        "chains",
        if chains.is_empty() {
            no_chains()
        } else {
            chains.join(", ")
        },
    );
    let own = provider
        .requests
        .iter()
        .flat_map(|request| &request.intervals);
    let intervals: Vec<String> = provider
        .intervals
        .iter()
        .chain(own)
        .map(ToString::to_string)
        .collect();
    line(
        "candles",
        if intervals.is_empty() {
            "none".to_owned()
        } else {
            intervals.join(", ")
        },
    );
    let rows = provider.requests.iter().map(|request| {
        let each = RequestScope::WORDS
            .iter()
            .find(|(_, each)| *each == request.each)
            .map_or("", |(word, _)| word);
        let tables: Vec<&str> = request.tables.iter().map(|filled| filled.table).collect();
        vec![request.name.clone(), tables.join(", "), each.to_owned()]
    });
    text.push('\n');
    text.push_str(&table::aligned(
        &["request", "tables", "per"],
        &rows.collect::<Vec<_>>(),
    ));
    print(text)
}

fn needs_key(provider: &Provider) -> &'static str {
    match &provider.key {
        None => "none",
        Some(key) if key.optional => "optional",
        Some(_) => "required",
    }
}

fn limit(provider: &Provider) -> String {
    let second = provider
        .per_second
        .map_or_else(String::new, |count| format!(", {count} per second"));
    let day = provider
        .per_day
        .map_or_else(String::new, |count| format!(", {count} per day"));
    format!("{} per minute{second}{day}", provider.per_minute)
}

fn whose(provider: &Provider) -> &'static str {
    match provider.origin {
        ProviderOrigin::BuiltIn => "",
        ProviderOrigin::Own => "user-defined",
        ProviderOrigin::Dataset => "from the dataset",
    }
}
