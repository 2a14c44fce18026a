//! Source files as the rules of `architecture` scan them: line by line, without comments and tests.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

pub(super) const ROOT: &str = env!("CARGO_MANIFEST_DIR");

pub(super) struct Source {
    /// Relative to the root, with `/`.
    pub(super) path: String,
    pub(super) text: String,
    /// Number of lines before the test module at the end; 0 for a test file.
    code: usize,
}

/// A word with the text after it.
pub(super) struct Word<'a> {
    pub(super) text: &'a str,
    pub(super) next: &'a str,
}

/// Lists every file below a folder, sorted.
pub(super) fn walk(path: &Path, files: &mut Vec<PathBuf>) {
    if path.is_dir() {
        let mut inside: Vec<PathBuf> = fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()).collect();
        inside.sort();
        for path in inside {
            walk(&path, files);
        }
    } else if path.is_file() {
        files.push(path.to_owned());
    }
}

/// Reads the Rust files below a folder of the repository.
pub(super) fn sources(folder: &str) -> Vec<Source> {
    let mut files = Vec::new();
    walk(&Path::new(ROOT).join(folder), &mut files);
    files.retain(|file| file.extension().is_some_and(|ending| ending == "rs"));
    let mut all: Vec<Source> = files
        .iter()
        .map(|file| {
            let path = file.strip_prefix(ROOT).unwrap().to_string_lossy().replace('\\', "/");
            let text = fs::read_to_string(file).unwrap();
            Source::of(&path, &text)
        })
        .collect();
    let tests: BTreeSet<String> = all.iter().flat_map(Source::test_files).collect();
    for source in &mut all {
        let stem = source.path.trim_end_matches(".rs");
        if tests.iter().any(|test| stem == test || stem.starts_with(&format!("{test}/"))) {
            source.code = 0;
        }
    }
    all
}

/// Returns a predicate for the `#[cfg(test)]` line of an inline module.
fn opens_tests(text: &str) -> impl FnMut(&str) -> bool {
    let lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let mut at = 0;
    move |line| {
        at += 1;
        let next = lines.iter().skip(at).find(|line| !line.trim_start().starts_with("#["));
        line == "#[cfg(test)]" && next.is_some_and(|next| next.contains("mod ") && next.ends_with('{'))
    }
}

impl Source {
    pub(super) fn of(path: &str, text: &str) -> Self {
        let code = text.lines().position(opens_tests(text)).unwrap_or(usize::MAX);
        Self { path: path.to_owned(), text: text.to_owned(), code }
    }

    /// The top-level module that this file belongs to.
    pub(super) fn part(&self) -> String {
        let path = self.path.trim_start_matches("src/").trim_end_matches(".rs");
        path.split('/').next().unwrap().to_owned()
    }

    /// Numbered lines, without comments and tests.
    pub(super) fn code(&self) -> impl Iterator<Item = (usize, &str)> {
        let lines = self.text.lines().take(self.code).enumerate();
        lines.map(|(i, line)| (i + 1, line.split(" //").next().unwrap())).filter(|(_, line)| !line.trim_start().starts_with("//"))
    }

    /// Line and name of each part imported as `crate::…`, alone or in a group.
    pub(super) fn imports(&self) -> Vec<(usize, String)> {
        let mut found = Vec::new();
        let mut depth = None;
        for (line, text) in self.code() {
            let mut rest = text;
            // Inside a group opened on an earlier line.
            if let Some(open) = &mut depth {
                rest = group(rest, line, open, &mut found);
                if *open > 0 {
                    continue;
                }
                depth = None;
            }
            while let Some((_, behind)) = rest.split_once("crate::") {
                rest = behind;
                if let Some(inside) = behind.strip_prefix('{') {
                    let mut open = 1;
                    rest = group(inside, line, &mut open, &mut found);
                    if open > 0 {
                        depth = Some(open);
                        break;
                    }
                } else {
                    found.extend(name(behind).map(|name| (line, name)));
                }
            }
        }
        found
    }

    /// Lines with enough `super::` to reach the root, which should use `crate::`.
    pub(super) fn climbs(&self) -> Vec<usize> {
        let depth = self.path.trim_start_matches("src/").split('/').count();
        let chain = "super::".repeat(depth);
        self.code().filter(|(_, text)| text.contains(&chain)).map(|(line, _)| line).collect()
    }

    /// Files, without extension, of modules declared under `#[cfg(test)]`.
    fn test_files(&self) -> Vec<String> {
        let lines: Vec<&str> = self.text.lines().collect();
        let folder = self.path.trim_end_matches(".rs");
        let folder = if folder == "src/lib" { "src" } else { folder };
        let marked = (0..lines.len()).filter(|&i| lines[i].trim() == "#[cfg(test)]");
        let declared = marked.filter_map(|i| lines[i + 1..].iter().find(|line| !line.trim_start().starts_with("#[")));
        declared.filter_map(|line| line.split_once("mod ")?.1.strip_suffix(';').map(|name| format!("{folder}/{name}"))).collect()
    }
}

/// Collects the top-level names of a group; returns the rest of the line after its end.
fn group<'a>(text: &'a str, line: usize, open: &mut usize, found: &mut Vec<(usize, String)>) -> &'a str {
    let mut start = true;
    for (i, c) in text.char_indices() {
        match c {
            '{' => *open += 1,
            '}' => *open -= 1,
            ',' => start = true,
            c if *open == 1 && start && c.is_ascii_alphabetic() => {
                found.extend(name(&text[i..]).map(|name| (line, name)));
                start = false;
            }
            _ => {}
        }
        if *open == 0 {
            return &text[i + 1..];
        }
    }
    ""
}

fn name(text: &str) -> Option<String> {
    let name: String = text.chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '_').collect();
    (!name.is_empty()).then_some(name)
}

/// Splits a line of code into words.
pub(super) fn words(text: &str) -> Vec<Word<'_>> {
    let letter = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(start) = rest.find(letter) {
        let word = &rest[start..];
        let end = word.find(|c| !letter(c)).unwrap_or(word.len());
        found.push(Word { text: &word[..end], next: &word[end..] });
        rest = &word[end..];
    }
    found
}

#[test]
fn imports_are_found_alone_in_groups_and_over_lines() {
    let text = "use crate::{\n    deck::{Deck, load::LoadState},\n    error::Problem,\n    jobs,\n};\nfn a() { crate::api::serve() }\nuse crate::{tui, state::{keys, Dirs}}; // crate::cli\n#[cfg(test)]\nmod tests {\n    use crate::analysis;\n}\n";
    let source = Source::of("src/a/b.rs", text);
    let found: Vec<(usize, String)> = source.imports();
    let expected = [(2, "deck"), (3, "error"), (4, "jobs"), (6, "api"), (7, "tui"), (7, "state")];
    assert_eq!(found, expected.map(|(line, name)| (line, name.to_owned())));
}
