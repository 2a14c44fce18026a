//! Layering inside a crate: a module imports only those before it.

use super::{
    hold,
    source::{Source, program},
};

/// Modules of a folder, from the lowest layer up. Those joined by `+` may import each other:
/// - `balances+in_place+candle_table`: rows of a token, and how they are fetched where they stay at their source;
/// - `fields+search`: the tokens' list shows fields, and a condition on a field is judged by the list's rows;
/// - in the API: a reply may be a stream of rows, and the one table of endpoints names its handlers, some of which read that table;
/// - `ndjson+json`: both read the same values, and numbers that JSON has not;
/// - `manifest+provider`: a table's section names providers, and a provider's request says how a table is read;
/// - `view+list`, `app+chrome`: a view hands its list to the program around it, and the program draws itself;
/// - `prelude+parts+waiting`: what views draw alike is written with the prelude, and is part of it;
/// - `watch+worker`, `market+pools`, `people+stories`: two halves of one thing.
const ORDERS: &[(&str, &str)] = &[
    (
        "crates/model/src",
        "command_line words address chain time schema locks names beside_key holding transfer_sums chain_state table_ask fetch_key error spelling toml_reader untrusted json_members logged_request interval candles day_counts rows yield_rows cell_value token table_state \
         findings progress data format annotations",
    ),
    ("crates/wire/src", "fault place client source keys ledger store hub fetch clickhouse node web"),
    (
        "crates/source/src",
        "field_hash text_runs decode live_files encodings text manifest+provider coerce read_at size_limits words supported records ndjson+json csv ipc \
         parquet forward partition downloads object locate",
    ),
    (
        "crates/store/src",
        "wall_clock private_files parquet_files frame_rows repeats order live invariants cache held_columns export balances+in_place+candle_table table by_token count_table newest grid cell rows_by_address origin yields file_names chain as_data load as_of sample \
         watch",
    ),
    ("crates/live/src", "watch report ask state kept rows pages held plan refresh find create saved"),
    (
        "crates/analysis/src",
        "numeric exact_sum column groups flows frames condense dex peg patterns trendlines growth compare track_record rehearsal market token indicators yields",
    ),
    (
        "crates/security/src",
        "fake_data codes opcodes simulation check_log own_pools facts pool_story transactions holders code checks changes similarity corpus implementations resemblance \
         disputes score danger infer",
    ),
    ("crates/query/src", "question deck jobs document"),
    (
        "crates/query/src/question",
        "token_names filter figure order parameter progress missing parallel paging json exchanges caches snapshot balance_keys tabular request list timeframes coins candles security \
         track_record patterns trendline indicators posts dexes pools token yields growth compare fields+search opening alert_body rehearsal tables holders held batch",
    ),
    ("crates/query/src/deck", "cached pending fetch single_flight feed load as_of generations records watch"),
    ("crates/query/src/jobs", "request alert id store alerts sources report ask list messages owner watch+worker"),
    ("crates/query/src/document", "provenance sources words html chart markdown facts gather annotations"),
    (
        "crates/demo/src",
        "random invented facts output market+pools shapes path candles people+stories contracts posts evidence transfers tokens \
         yields readme",
    ),
    ("src", "config state cli"),
    ("src/config", "sources document field read shown"),
    (
        "crates/api/src",
        "keys format coding+reply+rows+call endpoint router datasets log metrics rate unread connection guard chosen service \
         events+stream openapi docs mcp handlers batch routes server",
    ),
    ("crates/widgets/src", "ascii text theme pixels picture progress gauge panel sparkline table candles"),
    (
        "crates/views/src",
        "words keymap task view+list prelude+parts+waiting price fixture compare token_list tokens posts growth dexes chart jobs data api yields security",
    ),
    ("crates/tui/src", "graphics event typed overlay app+chrome memory saver terminal run"),
    (
        "src/cli",
        "outcome signals meter table appearance program token key log memory feed refresh new add providers live desk defect flatten dashboard serve mcp shot report verify get check \
         demo import cache config schema alert dispute jobs completions health version doctor",
    ),
];

#[test]
fn a_module_imports_only_those_before_it() {
    let mut broken = Vec::new();
    let all = program();
    for (folder, order) in ORDERS {
        let place = |module: &str| order.split_whitespace().position(|names| names.split('+').any(|name| name == module));
        let root = modules_below(folder);
        let mut seen = 0;
        let below = format!("{folder}/");
        for source in all.iter().filter(|source| source.path.starts_with(&below)) {
            let module = modules(source);
            let Some(own) = module.get(root.len()).filter(|own| !["lib", "main"].contains(own)) else { continue };
            let Some(at) = place(own) else {
                broken.push(format!("{}: `{own}` is not in the order of `{folder}`", source.path));
                continue;
            };
            for (line, path) in paths(source) {
                let path = resolved(&module, &path);
                let other = path.get(root.len()).filter(|other| path.starts_with(&root) && *other != own);
                let Some((other, there)) = other.and_then(|other| Some((other, place(other)?))) else { continue };
                seen += 1;
                if there > at {
                    broken.push(format!("{}:{line}: {own} knows {other}, which stands after it", source.path));
                }
            }
        }
        // Guards against a scan that finds no imports at all.
        assert!(4 * seen >= order.split_whitespace().count(), "{folder}: {seen}");
    }
    hold("inside a crate, a module imports only those before it", &broken);
}

/// `cache`, `grow` of `crates/store/src/cache/grow.rs`.
fn modules(source: &Source) -> Vec<&str> {
    modules_below(source.path.trim_end_matches(".rs"))
}

/// The modules of a path, from its crate's root.
fn modules_below(path: &str) -> Vec<&str> {
    let inside = path.split_once("src/").map_or("", |(_, inside)| inside);
    inside.split('/').filter(|name| !name.is_empty()).collect()
}

/// Resolves a path relative to the crate root, without `crate`.
fn resolved<'a>(module: &[&'a str], path: &[&'a str]) -> Vec<&'a str> {
    let mut base = if path[0] == "crate" { Vec::new() } else { module.to_vec() };
    for name in path {
        match *name {
            "crate" | "self" => {}
            "super" => drop(base.pop()),
            name => base.push(name),
        }
    }
    base
}

/// Line and segments of every path that begins with `crate`, `self` or `super`; groups are expanded.
fn paths(source: &Source) -> Vec<(usize, Vec<&str>)> {
    let tokens: Vec<(usize, &str)> =
        source.code().flat_map(|(line, text)| tokens(text).into_iter().map(move |token| (line, token))).collect();
    let mut found = Vec::new();
    for at in 0..tokens.len() {
        let begins = ["crate", "self", "super"].contains(&tokens[at].1) && (at == 0 || tokens[at - 1].1 != "::");
        // `self` inside a group is skipped: its path was found from the group's head.
        if begins && tokens.get(at + 1).is_some_and(|(_, next)| *next == "::") {
            path(&tokens, at, Vec::new(), &mut found);
        }
    }
    found
}

/// Parses the path at `at` with the prefix `before`; returns its end.
fn path<'a>(tokens: &[(usize, &'a str)], mut at: usize, mut before: Vec<&'a str>, found: &mut Vec<(usize, Vec<&'a str>)>) -> usize {
    while let Some((line, token)) = tokens.get(at) {
        if *token == "{" {
            at += 1;
            while tokens.get(at).is_some_and(|(_, token)| *token != "}") {
                at = path(tokens, at, before.clone(), found);
                // Skips a rename and the comma.
                at += tokens[at..].iter().position(|(_, token)| *token == "," || *token == "}").unwrap_or(tokens.len() - at);
                at += usize::from(tokens.get(at).is_some_and(|(_, token)| *token == ","));
            }
            return at + 1;
        }
        before.push(token);
        at += 1;
        if tokens.get(at).is_none_or(|(_, next)| *next != "::") {
            found.push((*line, before));
            return at;
        }
        at += 1;
    }
    at
}

/// Splits into identifiers, `::` and single characters.
fn tokens(mut text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    while let Some(first) = text.chars().next() {
        let name = text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len());
        let length = if name > 0 {
            name
        } else if text.starts_with("::") {
            2
        } else {
            first.len_utf8()
        };
        let (token, rest) = text.split_at(length);
        if !first.is_whitespace() {
            found.push(token);
        }
        text = rest;
    }
    found
}

#[test]
fn paths_are_found_in_groups_and_in_code() {
    let text =
        "use super::{\n    Deck,\n    load::{Reload, now as then},\n};\nuse crate::dataset::time;\nfn a() { super::super::b::c() }\n";
    let source = Source::of("crates/query/src/deck/watch/told.rs", text);
    let found: Vec<String> =
        paths(&source).iter().map(|(line, path)| format!("{line} {}", resolved(&modules(&source), path).join("::"))).collect();
    assert_eq!(
        found,
        ["2 deck::watch::Deck", "3 deck::watch::load::Reload", "3 deck::watch::load::now", "5 dataset::time", "6 deck::b::c"]
    );
}
