//! No text that a person reads contains a banned phrase: pages, string literals, doc comments, screens. The phrases are in `words/banned.txt`;
//! each says in other words what one standard term says, or has to be read twice.

use std::{collections::BTreeSet, fs, path::Path};

use proc_macro2::{TokenStream, TokenTree};
use regex::Regex;

use crate::architecture::{Source, sources};

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// Files, texts in them that may contain a banned phrase, and why.
const EXCEPTIONS: &[(&str, &str, &str)] = &[
    (
        "docs/providers.md",
        "favourites_count",
        "a field of Mastodon's JSON",
    ),
    ("src/cli/doctor/checks.rs", "mend", "a field of the JSON"),
    ("src/cli/doctor.rs", "mend", "a field of the JSON"),
    (
        "query/src/queries/rehearsal.rs",
        "/alerts/rehearse",
        "a path of the API",
    ),
    ("code/effects.rs", "stranger", "a value of the JSON"),
    ("code/findings.rs", "stranger", "a value of the JSON"),
    (
        "code/accounts.rs",
        "stranger",
        "an address is derived from it",
    ),
    ("security/proof.rs", "stranger", "a value of the JSON"),
    ("engine/pages.rs", "% 32)", "SQL"),
    ("engine/templates.rs", "% greatest", "SQL"),
    (
        "keymap/bindings.rs",
        "favourite",
        "a word that people search for",
    ),
    (
        "keymap/bindings.rs",
        "analyse",
        "a word that people search for",
    ),
    ("config.toml", "colour_blind", "the name of a setting"),
    ("benches/figures.md", "", "rows that the benchmarks print"),
];

struct Passage {
    file: String,
    line: usize,
    text: String,
}

fn phrases() -> Vec<Regex> {
    let lines = include_str!("words/banned.txt")
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines
        .map(|line| Regex::new(&format!("(?i){line}")).unwrap())
        .collect()
}

/// The text without what is in backticks: wire names and code.
fn prose(text: &str, code: &Regex) -> String {
    code.replace_all(text, "``").into_owned()
}

/// String literals and doc comments of a file, without those of its tests. A doc comment of several lines is one text, so that a phrase is found
/// across the end of a line.
fn literals(
    source: &Source,
    tokens: TokenStream,
    docs: &mut (usize, String),
    found: &mut Vec<Passage>,
) {
    let mut end = |docs: &mut (usize, String)| {
        let (line, text) = std::mem::take(docs);
        found.push(Passage {
            file: source.path.clone(),
            line,
            text,
        });
    };
    let mut nested = Vec::new();
    for token in tokens {
        if token.span().start().line > source.lines_of_code() {
            break;
        }
        match token {
            TokenTree::Punct(sign) if sign.as_char() == '#' || sign.as_char() == '!' => {}
            TokenTree::Group(group) if group.stream().to_string().starts_with("doc =") => {
                let line = group.span_open().start().line;
                let text = group
                    .stream()
                    .into_iter()
                    .nth(2)
                    .map_or_else(String::new, |text| unquoted(&text.to_string()));
                if docs.1.is_empty() {
                    docs.0 = line;
                }
                docs.1 += &text;
            }
            TokenTree::Group(group) => {
                end(docs);
                nested.push(group.stream());
            }
            TokenTree::Literal(literal) if literal.to_string().contains('"') => {
                end(docs);
                *docs = (literal.span().start().line, unquoted(&literal.to_string()));
                end(docs);
            }
            _ => end(docs),
        }
    }
    end(docs);
    for stream in nested {
        literals(source, stream, docs, found);
    }
}

/// A literal's text: a line break that continues it, and the blanks after it, are no part of it.
fn unquoted(literal: &str) -> String {
    let text = literal
        .trim_start_matches(['b', 'r', 'c', '#', '"'])
        .trim_end_matches(['#', '"']);
    let mut lines = text.split("\\\n");
    let first = lines.next().unwrap_or_default().to_owned();
    lines
        .fold(first, |text, line| text + line.trim_start())
        .replace("\\\"", "\"")
        .replace("\\n", " ")
}

fn pages(folder: &Path, found: &mut Vec<Passage>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path
            .strip_prefix(ROOT)
            .unwrap()
            .to_string_lossy()
            .replace('\\', "/");
        if path.is_dir() {
            pages(&path, found);
        } else if path
            .extension()
            .is_some_and(|ending| ending == "md" || ending == "snap")
        {
            let text = fs::read_to_string(&path).unwrap();
            found.extend(text.lines().zip(1..).map(|(text, line)| Passage {
                file: name.clone(),
                line,
                text: text.to_owned(),
            }));
        }
    }
}

fn texts() -> Vec<Passage> {
    let mut found = Vec::new();
    for source in ["src", "crates"]
        .into_iter()
        .flat_map(sources)
        .filter(|source| !source.path.contains("/tests/"))
    {
        let tokens = source
            .text
            .parse()
            .unwrap_or_else(|error| panic!("{}: {error}", source.path));
        literals(&source, tokens, &mut (0, String::new()), &mut found);
    }
    for folder in ["docs", "crates", "tests"] {
        pages(&Path::new(ROOT).join(folder), &mut found);
    }
    for page in [
        "README.md",
        "CHANGELOG.md",
        "ARCHITECTURE.md",
        "CONTRIBUTING.md",
        "config.toml",
        "datasets/README.md",
        "benches/figures.md",
    ] {
        let text = fs::read_to_string(Path::new(ROOT).join(page)).unwrap();
        found.extend(text.lines().zip(1..).map(|(text, line)| Passage {
            file: page.to_owned(),
            line,
            text: text.to_owned(),
        }));
    }
    found.retain(|text| !text.text.is_empty());
    found
}

#[test]
fn no_text_has_a_banned_phrase() {
    let (phrases, code) = (phrases(), Regex::new("`[^`]*`").unwrap());
    let texts = texts();
    assert!(
        texts.len() > 10_000,
        "only {} texts were found",
        texts.len()
    );
    let (mut broken, mut used) = (Vec::new(), BTreeSet::new());
    for text in &texts {
        let prose = prose(&text.text, &code);
        for hit in phrases.iter().filter_map(|phrase| phrase.find(&prose)) {
            let around = prose
                .get(prose.floor_char_boundary(hit.start().saturating_sub(40))..)
                .unwrap_or_default();
            let around: String = around.chars().take(120).collect();
            match EXCEPTIONS
                .iter()
                .position(|(file, part, _)| text.file.ends_with(file) && text.text.contains(part))
            {
                Some(place) => drop(used.insert(place)),
                None => broken.push(format!(
                    "{}:{}: \"{}\" in \"{around}\"",
                    text.file,
                    text.line,
                    hit.as_str()
                )),
            }
        }
    }
    let unused: Vec<_> = EXCEPTIONS
        .iter()
        .enumerate()
        .filter(|(place, _)| !used.contains(place))
        .map(|(_, row)| row)
        .collect();
    assert!(
        unused.is_empty(),
        "exceptions that nothing needs: {unused:?}"
    );
    assert!(
        broken.is_empty(),
        "{} texts have a banned phrase; write the standard term instead:\n{}",
        broken.len(),
        broken.join("\n")
    );
}

#[test]
fn a_phrase_is_found_in_literals_and_comments_and_not_in_code() {
    let text = "//! Opens.\n/// Nobody\n/// knows.\nfn a() { b(\"it \\\n   lives\", r#\"mend\"#, \"`mend` it\") }\n#[cfg(test)]\nmod tests {\n    const A: &str = \"anew\";\n}\n";
    let source = Source::of("src/a.rs", text);
    let mut found = Vec::new();
    literals(
        &source,
        text.parse().unwrap(),
        &mut (0, String::new()),
        &mut found,
    );
    let (phrases, code) = (phrases(), Regex::new("`[^`]*`").unwrap());
    let hit = |text: &&Passage| {
        phrases
            .iter()
            .any(|phrase| phrase.is_match(&prose(&text.text, &code)))
    };
    let lines: Vec<_> = found
        .iter()
        .filter(hit)
        .map(|text| (text.line, text.text.as_str()))
        .collect();
    assert_eq!(
        lines,
        [(1, " Opens. Nobody knows."), (4, "it lives"), (5, "mend")]
    );
}
