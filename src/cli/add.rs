//! `tokendeck add`: adds tokens to a live dataset and fetches their rows.

use std::{
    io::{self, IsTerminal, Write},
    sync::Arc,
};

use clap::Args;
use color_eyre::eyre::{Report, Result, bail, eyre};

use super::{
    LocationArgs,
    feed::{Feed, StderrWatch},
    outcome::{Failure, Outcome, say},
    refresh::tell,
};
use load::{
    live::{
        create::{SOCIAL, create},
        find::{FindContext, FoundToken, find, keep_coin, search_hosts},
        refresh,
    },
    manifest::FILE,
};
use model::{
    address::Address,
    chain::Chain,
    format::{human, plural},
    wall_clock::now,
};

#[derive(Debug, Args)]
pub(super) struct AddArgs {
    /// Address, symbol, name, or coin:BTC for a coin without a contract
    #[arg(required = true, value_name = "TOKEN")]
    tokens: Vec<String>,
    /// Chain, if the token is on several
    #[arg(long, value_name = "CHAIN")]
    chain: Option<String>,
    #[command(flatten)]
    location: LocationArgs,
}

pub(super) fn run(args: &AddArgs) -> Outcome {
    let feed = Feed::open(&args.location)?;
    let chain = match &args.chain {
        None => None,
        Some(text) => Some(
            Chain::known(text).ok_or_else(|| Failure::Usage(eyre!("unknown chain `{text}`")))?,
        ),
    };
    if !feed.folder.join(FILE).exists() {
        let has_key = |id: &&str| *id != SOCIAL[0] || feed.wire.has_provider_key(id);
        let social: Vec<&str> = SOCIAL.into_iter().filter(has_key).collect();
        create(&feed.folder, &[], &social, &feed.providers, None).map_err(Report::msg)?;
        say(&format!(
            "created `{}` with live tables",
            feed.folder.join(FILE).display()
        ));
    }
    let manifest = feed.manifest()?;
    if manifest
        .tables
        .get("tokens")
        .is_none_or(|tokens| tokens.live.is_none())
    {
        bail!(
            "`{}` has no live `tokens` table; add provider = \"dexscreener\" under [tables.tokens] in its dataset.toml, or pass another folder \
             with --data",
            feed.folder.display()
        );
    }
    for words in &args.tokens {
        let token = match words.strip_prefix("coin:") {
            Some(symbol) => keep_coin(&feed.dataset(), symbol, now()).map_err(Report::msg)?,
            None => found(&feed, words, chain.as_ref())?,
        };
        feed.with(Some(&token), false, |context| {
            let tables = feed.agreed_tables(context, &[])?;
            tell(&refresh(context, &tables).map_err(Report::msg)?)
        })?;
    }
    Ok(())
}

/// Finds the token and stores it.
fn found(feed: &Feed, words: &str, chain: Option<&Chain>) -> Result<Address> {
    let dataset = feed.dataset();
    let context = FindContext {
        dataset: &dataset,
        providers: &feed.providers,
        wire: &feed.wire,
        now: now(),
        watch: Arc::new(StderrWatch),
    };
    feed.consent(&search_hosts(&context))?;
    let found = find(&context, words).map_err(Report::msg)?;
    found.failures.iter().for_each(|failure| say(failure));
    let mut tokens = found.tokens.clone();
    tokens.retain(|token| chain.is_none_or(|chain| token.chain == *chain));
    let token = match &tokens[..] {
        [] if found.failures.is_empty() => {
            bail!(
                "no provider has a token that matches `{words}`; check the spelling or pass an address"
            );
        }
        [] => bail!(Failure::Reported),
        [one] => one,
        several => chosen(words, several)?,
    };
    found.keep(&context, token).map_err(Report::msg)?;
    say(&format!("added {}", described(token)));
    Ok(token.address)
}

fn described(token: &FoundToken) -> String {
    let usd = |value: f64| format!("${}", human(Some(value)));
    let symbol = token.symbol.clone().unwrap_or_else(|| "?".to_owned());
    let name = token.name.clone().unwrap_or_default();
    let cap = token
        .market_cap
        .map_or_else(String::new, |cap| format!(", cap {}", usd(cap)));
    let pools = plural(token.pools as u64, "pool", "pools");
    format!(
        "{symbol} {name} {} on {}, {} in {pools}{cap}",
        token.address,
        token.chain,
        usd(token.liquidity)
    )
}

/// Asks the user to choose one of several tokens.
fn chosen<'a>(words: &str, several: &'a [FoundToken]) -> Result<&'a FoundToken> {
    let several = &several[..several.len().min(20)];
    for (number, token) in several.iter().enumerate() {
        say(&format!("{:>2}  {}", number + 1, described(token)));
    }
    let ask = format!(
        "`{words}` matches several tokens; pass an address, and --chain if it is on several chains"
    );
    if !io::stdin().is_terminal() {
        bail!(ask);
    }
    write!(io::stderr(), "which one? [1-{}] ", several.len()).ok();
    io::stderr().flush().ok();
    let mut answer = String::new();
    io::stdin()
        .read_line(&mut answer)
        .map_err(|error| eyre!("cannot read your answer: {error}"))?;
    let number = answer
        .trim()
        .parse::<usize>()
        .ok()
        .and_then(|number| number.checked_sub(1));
    number
        .and_then(|number| several.get(number))
        .ok_or_else(|| Report::msg(ask))
}
