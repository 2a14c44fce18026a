//! What a release needs and no package has to be built for: versions that agree, a script that refuses, files that name each other.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use serde_json::Value;

const ROOT: &str = env!("CARGO_MANIFEST_DIR");
const VERSION: &str = env!("CARGO_PKG_VERSION");

fn read(name: &str) -> String {
    fs::read_to_string(Path::new(ROOT).join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// The value at a path of `Cargo.toml`.
fn manifest(path: &str) -> String {
    let whole: Value = toml::from_str(&read("Cargo.toml")).unwrap();
    whole
        .pointer(path)
        .and_then(Value::as_str)
        .unwrap_or_else(|| panic!("{path}"))
        .to_owned()
}

#[test]
fn versions_agree() {
    assert_eq!(manifest("/workspace/package/version"), VERSION);
    let changes = read("CHANGELOG.md");
    assert!(
        changes
            .lines()
            .any(|line| line == format!("## {VERSION}")
                || line.starts_with(&format!("## {VERSION} "))),
        "CHANGELOG.md"
    );
    for (page, says) in [
        ("README.md", format!("tokendeck_{VERSION}-1_amd64.deb")),
        ("docs/installing.md", format!("`V={VERSION}`")),
    ] {
        assert!(read(page).contains(&says), "{page} lacks `{says}`");
    }
    // The others take it from Cargo.toml, or from the script that fills them in.
    assert!(
        read("flake.nix")
            .contains("builtins.fromTOML (builtins.readFile ./Cargo.toml)).workspace.package")
    );
    for template in [
        "packaging/tokendeck.rb",
        "packaging/PKGBUILD",
        "packaging/nfpm.yaml",
        "packaging/Containerfile",
    ] {
        assert!(
            !read(template).contains(VERSION),
            "{template} names a version"
        );
    }
    for workflow in [".github/workflows/ci.yml", ".github/workflows/release.yml"] {
        let oldest = format!(
            "RUSTUP_TOOLCHAIN: \"{}.0\"",
            manifest("/workspace/package/rust-version")
        );
        assert!(
            read(workflow).contains(&oldest),
            "{workflow} lacks `{oldest}`"
        );
    }
}

#[test]
fn every_placeholder_is_filled_and_every_name_is_that_of_a_tarball() {
    let script = read(".ci/release");
    for template in ["packaging/tokendeck.rb", "packaging/PKGBUILD"] {
        let text = read(template);
        let placeholders: BTreeSet<&str> = text
            .split('@')
            .filter(|word| word.len() > 2 && word.chars().all(is_of_a_placeholder))
            .collect();
        assert!(placeholders.len() >= 4, "{template}: {placeholders:?}");
        for name in placeholders {
            assert!(
                script.contains(&format!("s|@{name}@|")),
                "{template}: nothing fills `{name}`"
            );
        }
    }
    assert!(
        script.contains("name=tokendeck-$version-$target\n")
            && script.contains("\"dist/$name.tar.gz\"")
    );
    let url = manifest("/package/metadata/binstall/pkg-url");
    assert!(
        url.ends_with("/v{ version }/tokendeck-{ version }-{ target }.tar.gz"),
        "{url}"
    );
    assert_eq!(
        manifest("/package/metadata/binstall/bin-dir"),
        "tokendeck-{ version }-{ target }/{ bin }"
    );
    let zip = "tokendeck-{ version }-x86_64-pc-windows-gnu.zip";
    assert!(
        manifest("/package/metadata/binstall/overrides/x86_64-pc-windows-msvc/pkg-url")
            .ends_with(zip)
    );
    assert!(
        script.contains("target=x86_64-pc-windows-gnu\n") && script.contains("\"../$name.zip\"")
    );
    for arch in ["x86_64", "aarch64"] {
        let name = format!("/v@VERSION@/tokendeck-@VERSION@-{arch}-unknown-linux-musl.tar.gz");
        assert!(read("packaging/tokendeck.rb").contains(&name), "{name}");
    }
}

fn is_of_a_placeholder(letter: char) -> bool {
    letter.is_ascii_uppercase() || letter.is_ascii_digit() || letter == '_'
}

#[test]
fn hosted_checks_run_the_scripts_that_are_there() {
    let mut run = BTreeSet::new();
    for workflow in ["ci", "release"] {
        let text = read(&format!(".github/workflows/{workflow}.yml"));
        run.extend(text.lines().filter_map(|line| {
            let command = line
                .trim()
                .strip_prefix("- run: ")?
                .trim_start_matches("sudo ");
            command
                .starts_with(".ci/")
                .then(|| command.split(' ').next().unwrap_or_default().to_owned())
        }));
    }
    assert_eq!(
        run,
        BTreeSet::from([".ci/release", ".ci/run", ".ci/try-release"].map(str::to_owned))
    );
    assert!(
        run.iter()
            .all(|script| Path::new(ROOT).join(script).is_file())
    );
}

/// A checkout of as much as the script reads before it builds.
struct Checkout(tempfile::TempDir);

impl Checkout {
    fn new() -> Self {
        let checkout = Self(tempfile::tempdir().unwrap());
        for name in ["Cargo.toml", "CHANGELOG.md", ".ci/release"] {
            let to = checkout.path(name);
            fs::create_dir_all(to.parent().unwrap()).unwrap();
            fs::copy(Path::new(ROOT).join(name), to).unwrap();
        }
        checkout
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn command(&self, program: &str, args: &[&str]) -> Output {
        let mut command = Command::new(program);
        command
            .args(args)
            .current_dir(self.0.path())
            .env("HOME", self.0.path())
            .env_remove("RELEASE_URL")
            .output()
            .unwrap()
    }

    fn git(&self, args: &[&str]) {
        let usual = [
            "-c",
            "user.name=a",
            "-c",
            "user.email=a@example.org",
            "-c",
            "init.defaultBranch=main",
        ];
        let output = self.command("git", &[&usual, args].concat());
        assert!(
            output.status.success(),
            "{args:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
    }

    /// Asserts that the script stops before it has made anything.
    fn refuses(&self, args: &[&str], said: &str) {
        let output = self.command("bash", &[&[".ci/release"], args].concat());
        let err = String::from_utf8_lossy(&output.stderr);
        assert!(
            output.status.code() == Some(2) && err.contains(said),
            "{args:?}: {err}"
        );
        assert!(!self.path("dist").exists() && !self.path("target").exists());
    }
}

#[test]
fn the_script_refuses_what_is_no_release() {
    let checkout = Checkout::new();
    checkout.refuses(&[], "which version?");
    checkout.refuses(
        &["9.9.9"],
        &format!("`9.9.9` was asked for and Cargo.toml says `{VERSION}`"),
    );
    checkout.refuses(&[VERSION], "this is no git checkout");
    checkout.git(&["init", "--quiet"]);
    checkout.refuses(
        &[VERSION],
        "the checkout is not clean: commit or remove these first:\n?? .ci/",
    );
    checkout.git(&["add", "."]);
    checkout.git(&["commit", "--quiet", "-m", "all"]);
    checkout.refuses(&[VERSION], "where will it be found? RELEASE_URL=");
    fs::write(
        checkout.path("CHANGELOG.md"),
        "# Changelog\n\n## Unreleased\n",
    )
    .unwrap();
    checkout.refuses(
        &[VERSION],
        &format!("CHANGELOG.md has no heading `## {VERSION}`"),
    );
}
