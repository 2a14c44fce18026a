//! Importing a file: first a preview, computed off the drawing thread; on Enter, the import. One at a time.

use std::path::{Path, PathBuf};

use super::{App, effects::expand};
use crate::{
    error::TypedError,
    overlay::{Overlay, import::ImportDialog},
    views::task::BackgroundTask,
};
use import::{Formats, ImportError, ImportOptions, ImportReport, PLACEHOLDERS, VALUED, import};
use model::{
    address::Address,
    error::{Code, Problem},
    format::plural,
    progress::{Cancelled, LoadProgress},
};
use query::queries::tokens::named::named_token;

/// A running import.
pub(crate) struct Importing {
    task: BackgroundTask<ImportReport>,
    /// Preview only.
    looking: bool,
}

/// Forwards progress.
struct Steps(model::progress::Progress);

impl LoadProgress for Steps {
    fn step(&self, _: &str, done: u64, total: u64) -> Result<(), Cancelled> {
        self.0.step(done, total).map_err(|_| Cancelled)
    }
}

impl App {
    /// Previews `import PATH …`.
    pub(super) fn look_at_import(&mut self, said: &str) {
        self.start_import(said, true);
        if self.importing.is_some() {
            self.overlay = Some(Overlay::Import(ImportDialog::new(
                said,
                self.offered_token(),
            )));
        }
    }

    /// The selected token, for a file that does not say its own: its symbol or short address, and its address.
    fn offered_token(&self) -> Option<(String, Address)> {
        let (token, snapshot) = (self.token?, self.setup.service.snapshot().ok()?);
        let symbol = snapshot
            .market
            .of(&snapshot.dataset, &token)?
            .symbol
            .clone();
        Some((symbol.unwrap_or_else(|| token.short()), token))
    }

    /// Runs the previewed import.
    pub(super) fn import_now(&mut self, said: &str) {
        self.start_import(said, false);
        if self.importing.is_some() {
            self.say("importing the file", false);
        }
    }

    fn start_import(&mut self, said: &str, looking: bool) {
        if self
            .importing
            .as_ref()
            .is_some_and(|importing| !importing.looking)
        {
            return self.say("an import is already running", true);
        }
        let named = |name: &str| {
            self.setup
                .service
                .snapshot()
                .and_then(|snapshot| named_token(&snapshot, name))
        };
        let (path, options) = match options(said, looking, named) {
            Ok(told) => told,
            Err(error) => return self.say(error.to_string(), true),
        };
        let into = self.setup.service.folder();
        let own = self.setup.config_folder.clone();
        let task = BackgroundTask::start(&self.wake, move |progress| {
            let formats = Formats::of(own.as_deref(), Some(&into))
                .map_err(|reason| Problem::new(Code::Defect, reason))?;
            import(&[path], &into, &formats, &options, &Steps(progress.clone())).map_err(|error| {
                match error {
                    ImportError::Cancelled => {
                        Problem::new(Code::Cancelled, "The import was stopped.")
                    }
                    error => Problem::new(Code::Defect, error),
                }
            })
        });
        self.importing = Some(Importing { task, looking });
    }

    /// Polls the import's outcome.
    pub(super) fn poll_import(&mut self) {
        if self
            .importing
            .as_ref()
            .is_some_and(|importing| importing.looking)
            && !matches!(self.overlay, Some(Overlay::Import(_)))
        {
            // The preview was closed with Esc: dropping the task cancels it.
            self.importing = None;
        }
        let Some(outcome) = self
            .importing
            .as_mut()
            .and_then(|importing| importing.task.poll())
        else {
            return;
        };
        let looking = self
            .importing
            .take()
            .is_some_and(|importing| importing.looking);
        if let (true, Some(Overlay::Import(dialog))) = (looking, &mut self.overlay) {
            return dialog.show(outcome.as_ref().map_err(|problem| problem.detail.as_str()));
        }
        match outcome {
            Ok(report) => {
                let refused = report.files.iter().find_map(|file| {
                    file.refused
                        .as_ref()
                        .map(|reason| format!("`{}` {reason}", file.file))
                });
                let rows: u64 = report
                    .files
                    .iter()
                    .flat_map(|file| &file.taken)
                    .map(|taken| taken.new + taken.changed)
                    .sum();
                if let Some(reason) = refused {
                    return self.say(format!("not imported: {reason}"), true);
                }
                self.say(
                    format!(
                        "imported {}; Data (9) shows any issues",
                        plural(rows, "row", "rows")
                    ),
                    false,
                );
                self.setup.service.load_in_background();
            }
            Err(problem) => self.say(format!("not imported: {}", problem.detail), true),
        }
    }
}

/// Parses path and options: `PATH --token UNI --chain base`. `named` returns the token that has a symbol.
fn options(
    said: &str,
    looking: bool,
    named: impl Fn(&str) -> Result<Address, Problem>,
) -> Result<(PathBuf, ImportOptions), TypedError> {
    let (path, rest) = match said.find(" --") {
        Some(at) => (&said[..at], &said[at + 1..]),
        None => (said, ""),
    };
    let path = expand(&unquoted(path.trim()));
    // A table of a database is named behind the file.
    if !path.is_file() && !path.parent().is_some_and(Path::is_file) {
        return Err(TypedError::NotAFile(path));
    }
    let mut options = ImportOptions {
        dry_run: looking,
        ..ImportOptions::default()
    };
    let mut words = words(rest).into_iter();
    while let Some(word) = words.next() {
        match word.strip_prefix("--") {
            Some("as-usd") => options.as_usd = true,
            Some("broken-too") => options.broken_too = true,
            Some(option) if VALUED.contains(&option) => {
                let value = words
                    .next()
                    .ok_or_else(|| TypedError::NoValue(word.clone()))?;
                let is_placeholder = PLACEHOLDERS.iter().any(|(word, _)| *word == value);
                if option == "token" && !is_placeholder && !value.to_lowercase().starts_with("0x") {
                    options.token = Some(named(&value).map_err(TypedError::Token)?);
                    continue;
                }
                options.say(option, &value).map_err(TypedError::Option)?;
            }
            _ => return Err(TypedError::UnknownOption(word)),
        }
    }
    Ok((path, options))
}

/// Splits a line into words; quoted text is part of one word.
fn words(line: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    for c in line.chars() {
        match quote {
            Some(end) if c == end => quote = None,
            None if c == '\'' || c == '"' => {
                (quote, word) = (Some(c), Some(word.unwrap_or_default()));
            }
            None if c.is_whitespace() => words.extend(word.take()),
            _ => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}

/// A path as terminals paste it on drag and drop: quoted, or with backslash-escaped spaces.
fn unquoted(path: &str) -> String {
    for quote in ['\'', '"'] {
        if let Some(inside) = path
            .strip_prefix(quote)
            .and_then(|rest| rest.strip_suffix(quote))
        {
            return inside.to_owned();
        }
    }
    if Path::new(path).exists() {
        path.to_owned()
    } else {
        path.replace("\\ ", " ")
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::{app::bench::Bench, overlay::Command};

    const HOLDERS: &str = "token_address,holder_address,balance\n\
        0x1f9840a85d5af5bf1d1762f925bdaddc4201f984,0xc02aaa39b223fe8d0a0e5c4f27ead9083c756cc2,5\n\
        0x1f9840a85d5af5bf1d1762f925bdaddc4201f984,0x1f9840a85d5af5bf1d1762f925bdaddc4201f984,7\n";

    #[test]
    fn a_file_is_shown_before_it_is_taken_and_esc_changes_nothing() {
        let (mut bench, outside) = (
            Bench::new(crate::views::all()),
            tempfile::tempdir().unwrap(),
        );
        let file = outside.path().join("holders.csv");
        fs::write(&file, HOLDERS).unwrap();
        let said = file.display().to_string();
        bench.app.run(Command::Import(said.clone()));
        assert!(bench.screen().contains("reading the file"));
        let shown = bench.until("holders: 2 rows");
        assert!(shown.contains("Enter import"), "{shown}");
        bench.keys("⎋");
        assert!(bench.app.overlay.is_none() && bench.files().is_empty());
        bench.app.run(Command::Import(said));
        bench.until("Enter import");
        bench.keys("⏎");
        bench.until("imported 2 rows");
        assert!(
            bench.files().contains(&"holders.parquet".to_owned()),
            "{:?}",
            bench.files()
        );
    }

    #[test]
    fn what_cannot_be_taken_says_why_and_offers_nothing() {
        let (mut bench, outside) = (
            Bench::new(crate::views::all()),
            tempfile::tempdir().unwrap(),
        );
        let file = outside.path().join("notes.csv");
        fs::write(&file, "a,b\n1,2\n").unwrap();
        bench.app.run(Command::Import(file.display().to_string()));
        let shown = bench.until("nothing would be imported");
        assert!(shown.contains("notes.csv"), "{shown}");
        bench.keys("⏎");
        assert!(bench.files().is_empty());
        let shown = bench.screen();
        assert!(
            shown.contains("notes.csv --"),
            "the options follow the file: {shown}"
        );
        bench.keys("⎋");
        bench.app.run(Command::Import("/nowhere/x.csv".to_owned()));
        assert!(
            bench.app.overlay.is_none()
                && bench
                    .app
                    .message
                    .as_ref()
                    .unwrap()
                    .text
                    .contains("is not a file")
        );
    }

    #[test]
    fn a_file_that_does_not_say_its_token_is_offered_the_selected_one() {
        let (mut bench, outside) = (
            Bench::new(crate::views::all()),
            tempfile::tempdir().unwrap(),
        );
        let file = outside.path().join("h.csv");
        fs::write(
            &file,
            "holder_address,balance\n0xc02aaa39b223fe8d0a0e5c4f27ead9083c756cc2,5\n",
        )
        .unwrap();
        let uni = "0x1f9840a85d5af5bf1d1762f925bdaddc4201f984";
        bench.load(load::sample::dataset(&[(
            "tokens",
            &format!("token_address,symbol,name,chain,market_cap\n{uni},UNI,Uniswap,eth,3"),
        )]));
        assert_eq!(bench.app.token, Address::parse(uni));
        bench.app.run(Command::Import(file.display().to_string()));
        bench.until("Enter set token UNI");
        bench.keys("⏎");
        let typed = bench.screen();
        assert!(typed.contains(&format!("--token {uni}")), "{typed}");
        bench.keys("⎋");
        // A symbol is enough.
        bench
            .app
            .run(Command::Import(format!("{} --token uni", file.display())));
        bench.until("holders: 1 row");
        bench.keys("⎋");
        bench
            .app
            .run(Command::Import(format!("{} --token link", file.display())));
        assert!(
            bench
                .app
                .message
                .as_ref()
                .is_some_and(|message| message.text.contains("no token has the symbol `link`"))
        );
    }

    #[test]
    fn what_is_said_may_hold_spaces_in_quotes() {
        assert_eq!(
            words("--map 'close=Close Price' --map a=\"it's b\""),
            ["--map", "close=Close Price", "--map", "a=it's b"]
        );
        assert_eq!(words("  --pick x='a b'c '' "), ["--pick", "x=a bc", ""]);
        assert!(words("").is_empty());
    }

    #[test]
    fn a_path_is_read_as_it_is_typed_or_dropped() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("my file.csv");
        std::fs::write(&file, "x").unwrap();
        let shown = file.display().to_string();
        let unknown = || Problem::new(Code::InvalidParameter, "no such symbol");
        let none = |_: &str| Err(unknown());
        for said in [
            shown.clone(),
            format!("'{shown}'"),
            shown.replace(' ', "\\ "),
            format!("{shown} --coin btc --chain base --as-usd"),
        ] {
            assert_eq!(options(&said, true, none).expect(&said).0, file, "{said}");
        }
        let uni = |name: &str| {
            (name == "UNI")
                .then_some(Address([0x1f; 20]))
                .ok_or_else(unknown)
        };
        let token = |said: &str| {
            options(&format!("{shown} --token {said}"), true, uni)
                .map(|told| told.1.token)
                .map_err(|error| error.to_string())
        };
        assert_eq!(token("UNI"), Ok(Some(Address([0x1f; 20]))));
        assert_eq!(token("LINK"), Err("no such symbol".to_owned()));
        assert!(
            token("ADDRESS").is_err() && token("0x12").unwrap_err().contains("expected an address")
        );
        let told = options(&format!("{shown} --coin btc"), false, none)
            .unwrap()
            .1;
        assert_eq!(
            (told.token, told.dry_run),
            (Some(Address::coin("BTC")), false)
        );
        for (said, says) in [
            ("/nowhere/x.csv".to_owned(), "is not a file"),
            (format!("{shown} --tokn x"), "is not an import option"),
            (format!("{shown} --token"), "needs a value"),
        ] {
            assert!(
                options(&said, true, none)
                    .unwrap_err()
                    .to_string()
                    .contains(says),
                "{said}"
            );
        }
    }
}
