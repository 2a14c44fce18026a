//! The architecture rules of `ARCHITECTURE.md` that Cargo does not hold itself: reserved words, file layout. Each
//! violation names file and line. Sources are scanned as text, without comments and trailing test modules.

mod source;

use std::{collections::BTreeSet, fmt::Write as _, fs, path::Path};

use api::routes::ENDPOINTS;

use self::source::{ROOT, program, words};
pub(crate) use self::source::{Source, sources};

/// Libraries that only some crates may depend on, and why; the program itself is `tokendeck`.
const LIBRARIES: &[(&[&str], &[&str], &str)] = &[
    (
        &["object_store", "reqwest"],
        &["wire"],
        "connections outwards are opened in wire",
    ),
    (
        &["hyper", "hyper-util", "http-body-util", "matchit", "rmcp"],
        &["api"],
        "HTTP stays in the API",
    ),
    (
        &["ratatui", "crossterm", "tui-input"],
        &["tui", "tokendeck"],
        "the terminal's libraries stay in the terminal",
    ),
    (
        &["rusqlite"],
        &["query", "import"],
        "jobs are the one thing kept in a database; import tells what tables somebody else's holds",
    ),
    (
        &["polars"],
        &[
            "frames",
            "load",
            "import",
            "query",
            "demo",
            "tui",
            "tokendeck",
        ],
        "the model and the analyses know no storage",
    ),
    (
        &["frames", "load"],
        &["load", "import", "query", "api", "tui", "demo", "tokendeck"],
        "the analyses see rows through `model::data::Data`",
    ),
    (
        &["revm", "evmole"],
        &["security", "demo"],
        "contracts are executed in security alone",
    ),
];

/// Restricted words: the words, the allowed places, and why.
const RESERVED: &[(&[&str], &[&str], &str)] = &[
    (
        &["UdpSocket", "UnixStream", "TcpSocket"],
        &["crates/wire"],
        "connections outwards are opened in wire",
    ),
    (
        &["rmcp"],
        &["crates/api/src/mcp", "crates/api/src/error.rs"],
        "the Model Context Protocol stays in its place in the API",
    ),
    (
        &["ratatui", "crossterm"],
        &["crates/tui", "src/cli/shot.rs"],
        "the terminal's libraries stay in the terminal",
    ),
    (
        &["rusqlite"],
        &[
            "crates/query/src/jobs",
            "crates/query/src/error.rs",
            "crates/import/src/database.rs",
            "crates/import/src/error.rs",
        ],
        "jobs are the one thing kept in a database; import tells what tables somebody else's holds",
    ),
    (
        &["fs", "File", "OpenOptions"],
        &[
            "crates/model/src/disk_lru.rs",
            "crates/model/src/kept_texts.rs",
            "crates/model/src/private_files.rs",
            "crates/model/src/system",
            "crates/table",
            "crates/frames",
            "crates/load",
            "crates/import",
            "crates/demo",
            "crates/query/src/jobs",
            "src/state",
            "src/config",
            "src/cli",
            // Credentials, in ~/.aws.
            "crates/wire/src/keys.rs",
            // The process's own memory usage, from /proc.
            "crates/api/src/metrics.rs",
            // The file of keys.
            "crates/api/src/keys.rs",
        ],
        "files are touched in the system, table, frames, load, import, demo, jobs, state, config and cli",
    ),
    (
        &["println", "eprintln", "print", "eprint"],
        &[],
        "what is printed goes through cli/outcome, which lives with a closed pipe",
    ),
    // What depends on the system.
    (
        &["cfg"],
        &["crates/model/src/system"],
        "what is tested is what is shipped: a limit that tests want lower is an option of its type",
    ),
    (
        &["todo", "dbg", "unimplemented"],
        &[],
        "nothing is left for later in the code",
    ),
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
    ".github",
    ".gitignore",
    ".git-blame-ignore-revs",
    "ARCHITECTURE.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "Cargo.lock",
    "Cargo.toml",
    "LICENSE",
    "README.md",
    "assets",
    "benches",
    "config.toml",
    "crates",
    "datasets",
    "deny.toml",
    "docs",
    "flake.nix",
    "packaging",
    "rust-toolchain.toml",
    "src",
    "tests",
    "tools",
];

/// Top-level directories common to all machines, which any text may name.
const COMMON: &[&str] = &[
    "bin", "boot", "data", "dev", "etc", "home", "lib", "media", "mnt", "opt", "proc", "run",
    "sbin", "srv", "sys", "tmp", "usr", "var",
];

const LINES_MAX: usize = 700;
/// Lines of a crate that one person can still know.
const CRATE_LINES_MAX: usize = 53_000;

/// Fails the test with all violations of the rule.
fn hold(rule: &str, broken: &[String]) {
    let mut says = format!("{rule}:\n");
    for line in broken {
        writeln!(says, "  {line}").unwrap();
    }
    assert!(broken.is_empty(), "{says}");
}

fn lies_in(path: &str, places: &[&str]) -> bool {
    places.iter().any(|place| {
        path.strip_prefix(place)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', '.']))
    })
}

#[test]
fn libraries_are_known_only_where_they_belong() {
    let mut broken = Vec::new();
    let mut seen = BTreeSet::new();
    for (name, manifest) in manifests() {
        // What tests need is theirs.
        let own = manifest.split("[dev-dependencies]").next().unwrap();
        let lines = own
            .lines()
            .enumerate()
            .skip_while(|(_, line)| *line != "[dependencies]");
        for (line, library) in
            lines.filter_map(|(i, line)| Some((i + 1, line.split_once(['.', ' '])?.0)))
        {
            for (_, allowed, why) in LIBRARIES
                .iter()
                .filter(|(libraries, ..)| libraries.contains(&library))
            {
                seen.insert(library.to_owned());
                if !allowed.contains(&name.as_str()) {
                    broken.push(format!("{name}: line {line}: `{library}`, but {why}"));
                }
            }
        }
    }
    // Guards against a scan that finds nothing.
    assert!(seen.len() >= 10, "{seen:?}");
    hold("a crate depends on a library that is not its own", &broken);
}

/// Name and text of every crate's `Cargo.toml`.
fn manifests() -> Vec<(String, String)> {
    let crates = fs::read_dir(Path::new(ROOT).join("crates"))
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let named = crates.map(|path| {
        (
            path.file_name().unwrap().to_string_lossy().into_owned(),
            path,
        )
    });
    let all = named.chain([("tokendeck".to_owned(), Path::new(ROOT).to_owned())]);
    all.map(|(name, path)| (name, fs::read_to_string(path.join("Cargo.toml")).unwrap()))
        .collect()
}

#[test]
fn some_words_stand_in_some_places_only() {
    let mut broken = Vec::new();
    let mut found = BTreeSet::new();
    for source in program() {
        for (line, text) in source.code() {
            for word in words(text) {
                for (reserved, places, why) in RESERVED
                    .iter()
                    .filter(|(reserved, ..)| reserved.contains(&word.text))
                {
                    // A path or a macro, not a variable of that name.
                    let path_or_macro = word.next.starts_with("::")
                        || word.next.starts_with('!')
                        || text.trim_start().starts_with("use ");
                    if !path_or_macro {
                        continue;
                    }
                    if lies_in(&source.path, places) {
                        found.insert(reserved[0]);
                    } else {
                        broken.push(format!(
                            "{}:{line}: `{}`, but {why}",
                            source.path, word.text
                        ));
                    }
                }
            }
        }
    }
    assert_eq!(
        found,
        BTreeSet::from(["cfg", "fs", "ratatui", "rmcp", "rusqlite"]),
        "the words are found where they belong"
    );
    hold("a word stands where it may not", &broken);
}

#[test]
fn analyses_are_pure() {
    let mut broken = Vec::new();
    for source in ["crates/analysis", "crates/security"]
        .into_iter()
        .flat_map(sources)
    {
        for (line, text) in source.code() {
            // Parsed once from a file that is compiled in: the same for every caller.
            let is_constant = source.path.ends_with("market/coefficients.rs");
            let impure = words(text)
                .into_iter()
                .find(|word| IMPURE.contains(&word.text) && !is_constant);
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
    for source in program() {
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
    let all: Vec<Source> = ["src", "crates", "tests", "benches"]
        .into_iter()
        .flat_map(sources)
        .collect();
    assert!(all.len() > 100);
    for source in all {
        if !source.text.starts_with("//! ") {
            broken.push(format!("{}:1: does not open with `//!`", source.path));
        }
        let lines = source.text.lines().count();
        if lines > LINES_MAX {
            broken.push(format!(
                "{}:{lines}: longer than {LINES_MAX} lines",
                source.path
            ));
        }
        if source.path.ends_with("/mod.rs") {
            broken.push(format!(
                "{}:1: a module is `foo.rs` with `foo/`",
                source.path
            ));
        }
    }
    hold("how a file looks", &broken);
}

#[test]
fn no_crate_is_too_large_to_know() {
    let lines = |name: &str| {
        sources(&format!("crates/{name}"))
            .iter()
            .map(|source| source.text.lines().count())
            .sum::<usize>()
    };
    let sizes = manifests()
        .into_iter()
        .map(|(name, _)| (lines(&name), name));
    let large: Vec<String> = sizes
        .filter(|(lines, _)| *lines > CRATE_LINES_MAX)
        .map(|(lines, name)| format!("{name}: {lines}"))
        .collect();
    hold("a crate has at most 52,000 lines with its tests", &large);
}

#[test]
fn the_top_of_the_repository_holds_what_it_should() {
    let mut broken = Vec::new();
    let ignored = fs::read_to_string(Path::new(ROOT).join(".gitignore")).unwrap();
    for entry in fs::read_dir(ROOT).unwrap() {
        let name = entry.unwrap().file_name().to_string_lossy().into_owned();
        if !TOP.contains(&name.as_str()) && !ignored.lines().any(|line| line == format!("/{name}"))
        {
            broken.push(name);
        }
    }
    hold("not expected at the top of the repository", &broken);
}

/// Paths of this clone and of its user: text naming one of them betrays the machine it was written on.
fn places(root: &Path, home: Option<&str>) -> Vec<String> {
    let above = root.parent().map(|above| format!("{}/", above.display()));
    let home = home.map(|home| format!("{}/", home.trim_end_matches('/')));
    above
        .into_iter()
        .chain(home)
        .filter(|place| tells(place))
        .collect()
}

fn tells(place: &str) -> bool {
    let inside = place.trim_matches('/');
    let common = || {
        COMMON.contains(&inside)
            || ENDPOINTS
                .iter()
                .any(|endpoint| endpoint.path.starts_with(place))
    };
    place.starts_with('/') && !inside.is_empty() && (inside.contains('/') || !common())
}

/// Whether the text names a path below `place`, not a longer path with the same folders in its middle.
fn names(text: &str, place: &str) -> bool {
    let within = |c: char| c.is_alphanumeric() || "._-~*/{})>".contains(c);
    text.match_indices(place)
        .any(|(at, _)| !text[..at].ends_with(within))
}

/// All lines with a path in them, from all files of the repository.
fn lines_with_paths() -> Vec<(String, String)> {
    let mut files = Vec::new();
    for name in TOP.iter().filter(|name| **name != ".git") {
        source::walk(&Path::new(ROOT).join(name), &mut files);
    }
    let mut lines = Vec::new();
    for file in files {
        let Ok(text) = fs::read_to_string(&file) else {
            continue;
        };
        let name = file.strip_prefix(ROOT).unwrap().display();
        let with_paths = text
            .lines()
            .enumerate()
            .filter(|(_, says)| says.contains('/'));
        lines.extend(
            with_paths.map(|(line, says)| (format!("{name}:{}", line + 1), says.trim().to_owned())),
        );
    }
    lines
}

fn lines_that_name(places: &[String], lines: &[(String, String)]) -> Vec<String> {
    let found = lines
        .iter()
        .filter(|(_, says)| places.iter().any(|place| names(says, place)));
    found.map(|(at, says)| format!("{at}: {says}")).collect()
}

#[test]
fn no_file_names_the_machine_it_was_written_on() {
    let places = places(Path::new(ROOT), std::env::var("HOME").ok().as_deref());
    hold(
        "a path of this machine",
        &lines_that_name(&places, &lines_with_paths()),
    );
}

/// Written without the leading slash, or this file itself would violate the rule.
#[test]
fn a_clone_passes_wherever_it_lies() {
    let lines = lines_with_paths();
    for above in [
        "tmp",
        "usr/src",
        "usr",
        "dev/shm",
        "var/tmp/a",
        "data",
        "src",
        "app",
        "tokens",
        "home",
        "home/me",
        "home/ada/code",
        "root",
        "",
    ] {
        for home in ["home/me", "home/ada", "root", "tmp", ""] {
            let root = format!("/{above}/tokendeck").replace("//", "/");
            let places = places(Path::new(&root), Some(&format!("/{home}")));
            hold(
                &format!("a clone at {root} of a user at /{home}"),
                &lines_that_name(&places, &lines),
            );
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
        let places = places(
            Path::new(&format!("/{above}/tokendeck")),
            Some(&"!home/ada".replace('!', "/")),
        );
        assert_eq!(
            !lines_that_name(&places, &lines).is_empty(),
            found,
            "{says}"
        );
    }
}
