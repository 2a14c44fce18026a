//! The architecture rules of `src/lib.rs`: module dependencies, reserved words, file layout. Each violation names file and line. Sources
//! are scanned as text, without comments and trailing test modules.

mod inside;
mod names;
mod source;

use std::{collections::BTreeSet, fmt::Write as _, fs, path::Path};

use api::routes::ENDPOINTS;

use self::source::{ROOT, Source, sources, words};

/// Allowed dependencies of each part.
const ARROWS: &[(&str, &[&str])] = &[
    ("error", &[]),
    ("spelling", &[]),
    ("toml_reader", &["spelling"]),
    ("untrusted", &[]),
    ("wire", &[]),
    ("dataset", &["wire", "toml_reader", "spelling", "untrusted"]),
    ("demo", &["dataset"]),
    ("analysis", &["dataset", "error", "untrusted"]),
    ("question", &["analysis", "dataset", "error", "spelling"]),
    ("deck", &["question", "dataset", "error", "wire"]),
    ("state", &["dataset", "wire"]),
    ("jobs", &["state", "deck", "question", "analysis", "dataset", "error"]),
    ("document", &["jobs", "deck", "question", "analysis", "dataset", "error"]),
    ("config", &["deck", "question", "dataset", "wire", "toml_reader", "spelling"]),
    ("api", &["document", "jobs", "state", "deck", "question", "analysis", "dataset", "error", "spelling"]),
    ("tui", &["document", "demo", "jobs", "deck", "question", "analysis", "dataset", "error", "toml_reader", "spelling"]),
    (
        "cli",
        &[
            "document",
            "demo",
            "api",
            "tui",
            "config",
            "jobs",
            "state",
            "deck",
            "question",
            "analysis",
            "dataset",
            "error",
            "wire",
            "spelling",
            "untrusted",
        ],
    ),
];

/// Restricted words: the words, the allowed places, and why.
const RESERVED: &[(&[&str], &[&str], &str)] = &[
    (
        &["object_store", "reqwest", "rustls", "UdpSocket", "UnixStream", "TcpSocket"],
        &["src/wire"],
        "connections outwards are opened in wire",
    ),
    (&["hyper", "hyper_util", "http_body_util", "matchit"], &["src/api"], "HTTP stays in the API"),
    (&["rmcp"], &["src/api/mcp"], "the Model Context Protocol stays in its place in the API"),
    (&["ratatui", "crossterm", "tui_input"], &["src/tui", "src/cli/shot.rs"], "the terminal's crates stay in the terminal"),
    (
        &["rusqlite"],
        &["src/jobs", "src/dataset/import/database.rs"],
        "jobs are the one thing kept in a database; import tells what tables somebody else's holds",
    ),
    (
        &["fs", "File", "OpenOptions"],
        &[
            "src/dataset",
            "src/demo",
            "src/state",
            "src/jobs",
            "src/config",
            "src/cli",
            // Credentials, in ~/.aws.
            "src/wire/keys.rs",
            // The process's own memory usage, from /proc.
            "src/api/metrics.rs",
        ],
        "files are touched in dataset, demo, state, jobs, config and cli",
    ),
    (&["println", "eprintln", "print", "eprint"], &[], "what is printed goes through cli/outcome, which lives with a closed pipe"),
    // The command that opens a link depends on the system.
    (&["cfg"], &["src/tui/app/effects.rs"], "what is tested is what is shipped: a limit that tests want lower is an option of its type"),
    (&["todo", "dbg", "unimplemented"], &[], "nothing is left for later in the code"),
];

/// Sources of impurity, forbidden in analyses for reproducible results.
const IMPURE: &[&str] = &[
    "SystemTime",
    "wall_clock",
    "Instant",
    "rand",
    "getrandom",
    "RandomState",
    "env",
    "thread_local",
    "OnceLock",
    "LazyLock",
    "Mutex",
    "RwLock",
];

/// Allowed top-level entries, besides those that git ignores.
const TOP: &[&str] = &[
    ".cargo",
    ".ci",
    ".clippy.toml",
    ".git",
    ".gitignore",
    ".rustfmt.toml",
    "Cargo.lock",
    "Cargo.toml",
    "LICENSE",
    "README.md",
    "assets",
    "benches",
    "config.toml",
    "datasets",
    "src",
    "tests",
];

/// Top-level directories common to all machines, which any text may name.
const COMMON: &[&str] =
    &["bin", "boot", "data", "dev", "etc", "home", "lib", "media", "mnt", "opt", "proc", "run", "sbin", "srv", "sys", "tmp", "usr", "var"];

const LINES_MAX: usize = 500;

/// Fails the test with all violations of the rule.
fn hold(rule: &str, broken: &[String]) {
    let mut says = format!("{rule}:\n");
    for line in broken {
        writeln!(says, "  {line}").unwrap();
    }
    assert!(broken.is_empty(), "{says}");
}

fn lies_in(path: &str, places: &[&str]) -> bool {
    places.iter().any(|place| path.strip_prefix(place).is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', '.'])))
}

#[test]
fn every_part_imports_only_what_lies_below_it() {
    let mut broken = Vec::new();
    let known: BTreeSet<&str> = ARROWS.iter().map(|(part, _)| *part).collect();
    let mut seen = BTreeSet::new();
    for source in sources("src") {
        let part = source.part();
        if part == "lib" || part == "main" {
            continue;
        }
        let Some((_, allowed)) = ARROWS.iter().find(|(name, _)| *name == part) else {
            broken.push(format!("{}: `{part}` is not in the table of arrows", source.path));
            continue;
        };
        for (line, other) in source.imports() {
            seen.insert(other.clone());
            if other != part && known.contains(other.as_str()) && !allowed.contains(&other.as_str()) {
                broken.push(format!("{}:{line}: {part} knows {other}", source.path));
            }
        }
        broken.extend(source.climbs().into_iter().map(|line| format!("{}:{line}: climbs to the root by `super`", source.path)));
    }
    // Guards against a scan that finds no imports at all.
    assert!(seen.len() >= 8, "{seen:?}");
    hold("imports go one way: wire, dataset, analysis, question, deck, jobs, document, api or tui, cli", &broken);
}

#[test]
fn some_words_stand_in_some_places_only() {
    let mut broken = Vec::new();
    let mut found = BTreeSet::new();
    for source in sources("src") {
        for (line, text) in source.code() {
            for word in words(text) {
                for (reserved, places, why) in RESERVED.iter().filter(|(reserved, ..)| reserved.contains(&word.text)) {
                    // A path or a macro, not a variable of that name.
                    let path_or_macro = word.next.starts_with("::") || word.next.starts_with('!') || text.trim_start().starts_with("use ");
                    if !path_or_macro {
                        continue;
                    }
                    if lies_in(&source.path, places) {
                        found.insert(reserved[0]);
                    } else {
                        broken.push(format!("{}:{line}: `{}`, but {why}", source.path, word.text));
                    }
                }
            }
        }
    }
    assert_eq!(
        found,
        BTreeSet::from(["cfg", "fs", "hyper", "object_store", "ratatui", "rmcp", "rusqlite"]),
        "the words are found where they belong"
    );
    hold("a word stands where it may not", &broken);
}

#[test]
fn analyses_are_pure() {
    let mut broken = Vec::new();
    for source in sources("src").iter().filter(|source| source.part() == "analysis") {
        for (line, text) in source.code() {
            let impure = words(text).into_iter().find(|word| IMPURE.contains(&word.text));
            if let Some(word) = impure {
                broken.push(format!("{}:{line}: `{}`", source.path, word.text));
            }
            if text.contains("static mut ") || text.trim_start().starts_with("static ") {
                broken.push(format!("{}:{line}: a global", source.path));
            }
        }
    }
    hold("an analysis looks at its arguments alone", &broken);
}

#[test]
fn nothing_from_outside_can_be_unwrapped() {
    let mut broken = Vec::new();
    for source in sources("src") {
        broken.extend(
            source
                .code()
                .filter(|(_, text)| text.contains(".unwrap()"))
                .map(|(line, text)| format!("{}:{line}: {}", source.path, text.trim())),
        );
    }
    hold("no `.unwrap()` outside tests", &broken);
}

#[test]
fn every_file_says_what_it_is_for_and_stays_short() {
    let mut broken = Vec::new();
    let all: Vec<Source> = ["src", "tests", "benches"].into_iter().flat_map(sources).collect();
    assert!(all.len() > 100);
    for source in all {
        if !source.text.starts_with("//! ") {
            broken.push(format!("{}:1: does not open with `//!`", source.path));
        }
        let lines = source.text.lines().count();
        if lines > LINES_MAX {
            broken.push(format!("{}:{lines}: longer than {LINES_MAX} lines", source.path));
        }
        if source.path.ends_with("/mod.rs") {
            broken.push(format!("{}:1: a module is `foo.rs` with `foo/`", source.path));
        }
    }
    hold("how a file looks", &broken);
}

#[test]
fn the_top_of_the_repository_holds_what_it_should() {
    let mut broken = Vec::new();
    let ignored = fs::read_to_string(Path::new(ROOT).join(".gitignore")).unwrap();
    for entry in fs::read_dir(ROOT).unwrap() {
        let name = entry.unwrap().file_name().to_string_lossy().into_owned();
        if !TOP.contains(&name.as_str()) && !ignored.lines().any(|line| line == format!("/{name}")) {
            broken.push(name);
        }
    }
    hold("not expected at the top of the repository", &broken);
}

/// Paths of this clone and of its user: text naming one of them betrays the machine it was written on.
fn places(root: &Path, home: Option<&str>) -> Vec<String> {
    let above = root.parent().map(|above| format!("{}/", above.display()));
    let home = home.map(|home| format!("{}/", home.trim_end_matches('/')));
    above.into_iter().chain(home).filter(|place| tells(place)).collect()
}

fn tells(place: &str) -> bool {
    let inside = place.trim_matches('/');
    let common = || COMMON.contains(&inside) || ENDPOINTS.iter().any(|endpoint| endpoint.path.starts_with(place));
    place.starts_with('/') && !inside.is_empty() && (inside.contains('/') || !common())
}

/// Whether the text names a path below `place`, not a longer path with the same folders in its middle.
fn names(text: &str, place: &str) -> bool {
    let within = |c: char| c.is_alphanumeric() || "._-~*/{})>".contains(c);
    text.match_indices(place).any(|(at, _)| !text[..at].ends_with(within))
}

/// All lines with a path in them, from all files of the repository.
fn lines_with_paths() -> Vec<(String, String)> {
    let mut files = Vec::new();
    for name in TOP.iter().filter(|name| **name != ".git") {
        source::walk(&Path::new(ROOT).join(name), &mut files);
    }
    let mut lines = Vec::new();
    for file in files {
        let Ok(text) = fs::read_to_string(&file) else { continue };
        let name = file.strip_prefix(ROOT).unwrap().display();
        let with_paths = text.lines().enumerate().filter(|(_, says)| says.contains('/'));
        lines.extend(with_paths.map(|(line, says)| (format!("{name}:{}", line + 1), says.trim().to_owned())));
    }
    lines
}

fn lines_that_name(places: &[String], lines: &[(String, String)]) -> Vec<String> {
    let found = lines.iter().filter(|(_, says)| places.iter().any(|place| names(says, place)));
    found.map(|(at, says)| format!("{at}: {says}")).collect()
}

#[test]
fn no_file_names_the_machine_it_was_written_on() {
    let places = places(Path::new(ROOT), std::env::var("HOME").ok().as_deref());
    hold("a path of this machine", &lines_that_name(&places, &lines_with_paths()));
}

/// Written without the leading slash, or this file itself would violate the rule.
#[test]
fn a_clone_passes_wherever_it_lies() {
    let lines = lines_with_paths();
    for above in
        ["tmp", "usr/src", "usr", "dev/shm", "var/tmp/a", "data", "src", "app", "tokens", "home", "home/me", "home/ada/code", "root", ""]
    {
        for home in ["home/me", "home/ada", "root", "tmp", ""] {
            let root = format!("/{above}/tokendeck").replace("//", "/");
            let places = places(Path::new(&root), Some(&format!("/{home}")));
            hold(&format!("a clone at {root} of a user at /{home}"), &lines_that_name(&places, &lines));
        }
    }
}

#[test]
fn a_path_of_the_machine_is_found() {
    for (above, says, found) in [
        ("desk", "see !desk/other/notes.md", true),
        ("tmp", "in `!home/ada/notes`", true),
        ("tmp/a", "(\"!tmp/a/b\")", true),
        ("tmp", "!tmp/scale", false),
        ("desk", "src!desk/other.rs", false),
        ("desk", "desk/other.rs and !desks", false),
    ] {
        let lines = [("a:1".to_owned(), says.replace('!', "/"))];
        let places = places(Path::new(&format!("/{above}/tokendeck")), Some(&"!home/ada".replace('!', "/")));
        assert_eq!(!lines_that_name(&places, &lines).is_empty(), found, "{says}");
    }
}
