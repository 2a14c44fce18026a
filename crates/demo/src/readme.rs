//! The README of a demo dataset: its contents, the real parts with their sources, and the invented parts.

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
    let mut text = format!(
        "tokendeck demo DIR --tokens {} --days {} --seed {}",
        options.tokens, options.days, options.seed
    );
    let number = |name: &str, value: Option<String>| {
        value.map_or(String::new(), |value| format!(" --{name} {value}"))
    };
    text += &number("candles", options.candles.map(|n| n.to_string()));
    text += &number("transfers", options.transfers.map(|n| n.to_string()));
    text += &number(
        "interval",
        options.interval.map(|interval| interval.to_string()),
    );
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
        "# Demo market\n\nA synthetic market, written by\n\n    {}\n\nThe command writes the same bytes whenever you run it. The data \
            ends at 2026-11-15T00:00Z, whatever the date.\n\n**No price here is a real quote.** Prices, supplies, holders, wallets, \
            opinion leaders, posts, pools and their addresses, liquidity,\nvolumes, yields and gas are invented, and so are all \
            exchanges, bridges and lockers in the labels. The names of yield protocols are\nreal, but their values are not. Invented \
            tokens with a history (see Tokens) have a contract that is a few weeks old but\ncandles for the whole period, so that their \
            patterns can be shown; a token's age is its contract's age. The data has the same\nlicense as the program (MIT).\n\n## \
            Tables\n\n| file | rows | contents |\n|---|---:|---|\n",
        command(&market.options)
    );
    // Writing into a String cannot fail.
    for file in written {
        if let Some(table) = file.file.split('.').next().and_then(schema::table) {
            let _ = writeln!(
                text,
                "| `{}` | {} | {} |",
                file.file, file.rows, table.meaning
            );
        }
    }
    text += "\n## How prices end\n\n\
             If the history is long enough, the last 30 to 64 daily candles of these tokens follow the named shape; the candles of all other tokens\n\
             are random.\n\n\
             | shape | tokens |\n|---|---|\n";
    endings(market, &mut text);
    text += "\n## Tokens\n\nTokens with `listed = true` exist, except those named below: address, symbol, name, chain and decimals are \
        facts; price and\nsupply have only a realistic magnitude. Tokens with `listed = false` do not exist: their names are invented \
        and their\naddresses come from the seed, including the tokens that look like scams. Any resemblance to the name of a real \
        project is\ncoincidental.\n\nThe following tokens do not exist either. They have contracts, written for this program, and a \
        history; `contracts`, `scams`,\n`pool_events`, `locks` and `funding` are entirely invented, including every address in them. \
        The listed tokens among them\nrepresent well-known tokens.\n\n| token | listed | contract | history |\n|---|---|---|---|\n";
    for (token, story) in with_story(market).filter(|(token, _)| stories::invented(token)) {
        let does = contract(story.contract).map_or("", |contract| contract.what);
        let listed = if story.listed { "yes" } else { "no" };
        let _ = writeln!(
            text,
            "| {} | {listed} | {does} | {} |",
            token.symbol,
            story.summary()
        );
    }
    let _ = writeln!(
        text,
        "\nThe {LARGEST} most valuable tokens have all of this too, so that every view has something to show. It is invented for them as well:\n\
         the contracts of real tokens here are not the contracts at their addresses, and these transfers never happened."
    );
    text += "\n## Real facts and their sources\n\n| fact | source |\n|---|---|\n";
    for (fact, source) in &FACTS.sources {
        let _ = writeln!(text, "| {fact} | {source} |");
    }
    text
}
