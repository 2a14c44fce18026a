//! `tokendeck add`: puts tokens into a dataset whose tables come by themselves, and fetches their rows.

use std::{
    io::{self, IsTerminal, Write},
    sync::Arc,
};

use clap::Args;

use super::{
    LocationArgs,
    feed::{Feed, StderrWatch},
    outcome::{Failure, Outcome, say},
    refresh::tell,
};
use live::{
    create::create,
    find::{FindContext, FoundToken, find, keep_coin, search_hosts},
    hosts, refresh,
};
use model::{
    address::Address,
    chain::Chain,
    format::{human, many},
};
use source::manifest::FILE;
use store::wall_clock::now;

#[derive(Debug, Args)]
pub(super) struct AddArgs {
    /// An address, a symbol or a name, or coin:BTC for a coin without a contract
    #[arg(required = true, value_name = "TOKEN")]
    tokens: Vec<String>,
    /// The chain, where a token is on several
    #[arg(long, value_name = "CHAIN")]
    chain: Option<String>,
    #[command(flatten)]
    location: LocationArgs,
}

pub(super) fn run(args: &AddArgs) -> Outcome {
    let feed = Feed::open(&args.location)?;
    let chain = match &args.chain {
        None => None,
        Some(text) => Some(Chain::known(text).ok_or_else(|| Failure::Usage(format!("`{text}` is no chain that is known")))?),
    };
    if !feed.folder.join(FILE).exists() {
        create(&feed.folder, &[], &feed.providers, None).map_err(Failure::Bad)?;
        say(&format!("`{}` is made, its tables come by themselves", feed.folder.join(FILE).display()));
    }
    let manifest = feed.manifest()?;
    if manifest.tables.get("tokens").is_none_or(|tokens| tokens.live.is_none()) {
        return Err(Failure::Bad(format!(
            "the tokens of `{}` do not come by themselves: write [tables.tokens] provider = \"dexscreener\" into its dataset.toml, or name \
             another folder with --data",
            feed.folder.display()
        )));
    }
    for words in &args.tokens {
        let token = match words.strip_prefix("coin:") {
            Some(symbol) => keep_coin(&feed.dataset(), symbol, now()).map_err(|error| Failure::Bad(error.to_string()))?,
            None => found(&feed, words, chain.as_ref())?,
        };
        feed.with(Some(&token), |context| {
            feed.consent(&hosts(context, &[]))?;
            tell(&refresh(context, &[]).map_err(|error| Failure::Bad(error.to_string()))?)
        })?;
    }
    Ok(())
}

/// Finds the token and keeps it.
fn found(feed: &Feed, words: &str, chain: Option<&Chain>) -> Result<Address, Failure> {
    let dataset = feed.dataset();
    let context = FindContext { dataset: &dataset, providers: &feed.providers, wire: &feed.wire, now: now(), watch: Arc::new(StderrWatch) };
    feed.consent(&search_hosts(&context))?;
    let found = find(&context, words).map_err(|error| Failure::Bad(error.to_string()))?;
    found.failures.iter().for_each(|failure| say(failure));
    let mut tokens = found.tokens.clone();
    tokens.retain(|token| chain.is_none_or(|chain| token.chain == *chain));
    let token = match &tokens[..] {
        [] if found.failures.is_empty() => {
            return Err(Failure::Bad(format!("no provider knows `{words}`: look at how it is written, or give its address")));
        }
        [] => return Err(Failure::Reported),
        [one] => one,
        several => chosen(words, several)?,
    };
    found.keep(&context, token).map_err(|error| Failure::Bad(error.to_string()))?;
    say(&format!("{} is added", described(token)));
    Ok(token.address)
}

fn described(token: &FoundToken) -> String {
    let usd = |value: f64| format!("${}", human(Some(value)));
    let symbol = token.symbol.clone().unwrap_or_else(|| "?".to_owned());
    let name = token.name.clone().unwrap_or_default();
    let cap = token.market_cap.map_or_else(String::new, |cap| format!(", cap {}", usd(cap)));
    let pools = many(token.pools as u64, "pool", "pools");
    format!("{symbol} {name} {} on {}, {} in {pools}{cap}", token.address, token.chain, usd(token.liquidity))
}

/// Has who types choose one of several.
fn chosen<'a>(words: &str, several: &'a [FoundToken]) -> Result<&'a FoundToken, Failure> {
    let several = &several[..several.len().min(20)];
    for (number, token) in several.iter().enumerate() {
        say(&format!("{:>2}  {}", number + 1, described(token)));
    }
    let ask = format!("`{words}` is several tokens: give the address, and --chain where it is on several");
    if !io::stdin().is_terminal() {
        return Err(Failure::Bad(ask));
    }
    write!(io::stderr(), "which one? [1-{}] ", several.len()).ok();
    io::stderr().flush().ok();
    let mut answer = String::new();
    io::stdin().read_line(&mut answer).map_err(|error| Failure::Bad(format!("the answer cannot be read: {error}")))?;
    let number = answer.trim().parse::<usize>().ok().and_then(|number| number.checked_sub(1));
    number.and_then(|number| several.get(number)).ok_or(Failure::Bad(ask))
}
