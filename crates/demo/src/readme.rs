//! The README of a demo dataset: its contents, the real parts with their sources, and the invented ones.

use std::{collections::BTreeMap, fmt::Write as _};

use super::{
    DemoFile, DemoOptions, Format,
    contracts::contract,
    evidence::with_story,
    facts::FACTS,
    market::{DemoMarket, LARGEST},
    path::Path,
    stories,
};
use model::schema;

/// Number of tokens whose final price movement is listed.
const SHOWN: usize = 64;

/// The command that reproduces the dataset.
pub(super) fn command(options: &DemoOptions) -> String {
    let mut text = format!("tokendeck demo DIR --tokens {} --days {} --seed {}", options.tokens, options.days, options.seed);
    let number = |name: &str, value: Option<String>| value.map_or(String::new(), |value| format!(" --{name} {value}"));
    text += &number("candles", options.candles.map(|n| n.to_string()));
    text += &number("transfers", options.transfers.map(|n| n.to_string()));
    text += &number("interval", options.interval.map(|interval| interval.to_string()));
    text += match options.format {
        Format::Csv => " --format csv",
        Format::Parquet => " --format parquet",
        Format::Mixed => "",
    };
    text
}

/// Writes the table of final price movements.
fn endings(market: &DemoMarket, text: &mut String) {
    let mut tokens: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for token in market.tokens.iter().take(SHOWN) {
        if let Some(ending) = Path::ending(token) {
            let symbols = tokens.entry(ending).or_default();
            if !symbols.contains(&token.symbol.as_str()) {
                symbols.push(&token.symbol);
            }
        }
    }
    for (ending, symbols) in tokens {
        let _ = writeln!(text, "| {ending} | {} |", symbols.join(", "));
    }
}

pub(super) fn text(market: &DemoMarket, written: &[DemoFile]) -> String {
    let mut text = format!(
        "# Demo market\n\n\
         A synthetic market, written by\n\n    {}\n\n\
         which writes the same bytes whenever it is run. It ends at 2026-11-15T00:00Z, whatever the day.\n\n\
         **Nothing here is a quotation.** Prices, supplies, holders, wallets, opinion leaders, posts, pools and their addresses, liquidity, volumes,\n\
         yields and gas are invented, and so are all exchanges, bridges and lockers among the labels. Names of yield protocols are real, their\n\
         figures are not. Invented tokens with a story have a contract of the last weeks and candles of all the time, so that their patterns can be\n\
         shown: an age tells of the contract. The data come under the program's licence (MIT).\n\n\
         ## Tables\n\n| file | rows | what |\n|---|---:|---|\n",
        command(&market.options)
    );
    // Writing into a String cannot fail.
    for file in written {
        if let Some(table) = file.file.split('.').next().and_then(schema::table) {
            let _ = writeln!(text, "| `{}` | {} | {} |", file.file, file.rows, table.meaning);
        }
    }
    text += "\n## How prices end\n\n\
             Where the history is long enough, the last 30 to 64 daily candles of these tokens follow the shape named; those of the others are random.\n\n\
             | shape | tokens |\n|---|---|\n";
    endings(market, &mut text);
    text += "\n## Tokens\n\n\
             Rows of `tokens` with `listed = true` exist, but for those named below: address, symbol, name, chain and decimals are facts; price and\n\
             supply are only of the right size. Rows with `listed = false` do not exist: their names are made up and their addresses come from the\n\
             seed, those that look like swindles included. A name that resembles a project's is chance.\n\n\
             These tokens do not exist either. They have contracts, written for this program, and a past; `contracts`, `scams`, `pool_events`, `locks`\n\
             and `funding` are invented altogether, and so is every address in them. Those that are listed stand for tokens that are well known.\n\n\
             | token | listed | its contract | what happened |\n|---|---|---|---|\n";
    for (token, story) in with_story(market).filter(|(token, _)| stories::invented(token)) {
        let does = contract(story.contract).map_or("", |contract| contract.what);
        let listed = if story.listed { "yes" } else { "no" };
        let _ = writeln!(text, "| {} | {listed} | {does} | {} |", token.symbol, story.summary());
    }
    let _ = writeln!(
        text,
        "\nThe {LARGEST} tokens that are worth most have all of that too, so that every view has something to show. It is invented for them as well:\n\
         the contracts of real tokens here are not those at their addresses, and nobody made these transfers."
    );
    text += "\n## What is real, and from where\n\n| fact | source |\n|---|---|\n";
    for (fact, source) in &FACTS.sources {
        let _ = writeln!(text, "| {fact} | {source} |");
    }
    text
}
