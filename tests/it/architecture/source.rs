//! Source files as the rules of `architecture` scan them: line by line, without comments and tests.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

pub(super) const ROOT: &str = env!("CARGO_MANIFEST_DIR");

pub(crate) struct Source {
    /// Relative to the root, with `/`.
    pub(crate) path: String,
    pub(crate) text: String,
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
        let mut inside: Vec<PathBuf> = fs::read_dir(path)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .collect();
        inside.sort();
        for path in inside {
            walk(&path, files);
        }
    } else if path.is_file() {
        files.push(path.to_owned());
    }
}

/// The Rust files of the program and its crates.
pub(super) fn program() -> Vec<Source> {
    ["src", "crates"].into_iter().flat_map(sources).collect()
}

/// Reads the Rust files below a folder of the repository.
pub(crate) fn sources(folder: &str) -> Vec<Source> {
    let mut files = Vec::new();
    walk(&Path::new(ROOT).join(folder), &mut files);
    files.retain(|file| file.extension().is_some_and(|ending| ending == "rs"));
    let mut all: Vec<Source> = files
        .iter()
        .map(|file| {
            let path = file
                .strip_prefix(ROOT)
                .unwrap()
                .to_string_lossy()
                .replace('\\', "/");
            let text = fs::read_to_string(file).unwrap();
            Source::of(&path, &text)
        })
        .collect();
    let tests: BTreeSet<String> = all.iter().flat_map(Source::test_files).collect();
    for source in &mut all {
        let stem = source.path.trim_end_matches(".rs");
        if tests
            .iter()
            .any(|test| stem == test || stem.starts_with(&format!("{test}/")))
        {
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
        let next = lines
            .iter()
            .skip(at)
            .find(|line| !line.trim_start().starts_with("#["));
        line == "#[cfg(test)]"
            && next.is_some_and(|next| next.contains("mod ") && next.ends_with('{'))
    }
}

impl Source {
    pub(crate) fn of(path: &str, text: &str) -> Self {
        let code = text
            .lines()
            .position(opens_tests(text))
            .unwrap_or(usize::MAX);
        Self {
            path: path.to_owned(),
            text: text.to_owned(),
            code,
        }
    }

    /// Number of lines before the test module at the end.
    pub(crate) const fn lines_of_code(&self) -> usize {
        self.code
    }

    /// Numbered lines, without comments and tests.
    pub(super) fn code(&self) -> impl Iterator<Item = (usize, &str)> {
        let lines = self.text.lines().take(self.code).enumerate();
        lines
            .map(|(i, line)| (i + 1, line.split(" //").next().unwrap()))
            .filter(|(_, line)| !line.trim_start().starts_with("//"))
    }

    /// Files, without extension, of modules declared under `#[cfg(test)]`.
    fn test_files(&self) -> Vec<String> {
        let lines: Vec<&str> = self.text.lines().collect();
        let folder = self.path.trim_end_matches(".rs");
        let folder = folder.strip_suffix("/lib").unwrap_or(folder);
        let marked = (0..lines.len()).filter(|&i| lines[i].trim() == "#[cfg(test)]");
        let declared = marked.filter_map(|i| {
            lines[i + 1..]
                .iter()
                .find(|line| !line.trim_start().starts_with("#["))
        });
        declared
            .filter_map(|line| {
                line.split_once("mod ")?
                    .1
                    .strip_suffix(';')
                    .map(|name| format!("{folder}/{name}"))
            })
            .collect()
    }
}

/// Splits a line of code into words.
pub(super) fn words(text: &str) -> Vec<Word<'_>> {
    let letter = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(start) = rest.find(letter) {
        let word = &rest[start..];
        let end = word.find(|c| !letter(c)).unwrap_or(word.len());
        found.push(Word {
            text: &word[..end],
            next: &word[end..],
        });
        rest = &word[end..];
    }
    found
}
