//! `tokendeck report`: a document about a token, straight from the dataset.

use std::path::PathBuf;

use clap::Args;

use super::{
    AsOfArgs,
    outcome::{Failure, Outcome, print_line},
    program::{Program, warn},
    shot::ending,
    token::{TokenName, token},
};
use crate::{
    config::plain_reason,
    state::{Dirs, annotations::AnnotationFile},
};
use model::format;
use query::{
    document::{self, DocumentForm},
    question::progress::Progress,
};
use store::export::write_whole;

#[derive(Debug, Args)]
pub(super) struct ReportArgs {
    /// The token's address, a coin as in coin:BTC, or a symbol that one token has
    #[arg(value_name = "TOKEN", value_parser = token)]
    token: TokenName,
    /// The file to write; its ending decides the format: .html or .md
    #[arg(long, value_name = "FILE", value_parser = out_file)]
    out: ReportFile,
    #[command(flatten)]
    location: AsOfArgs,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct ReportFile {
    file: PathBuf,
    form: DocumentForm,
}

fn out_file(text: &str) -> Result<ReportFile, String> {
    let ending = ending(text);
    let form = DocumentForm::ALL.iter().find(|form| ending.as_deref() == Some(form.word()));
    let form = form.ok_or("expected a file that ends in .html or .md")?;
    Ok(ReportFile { file: PathBuf::from(text), form: *form })
}

pub(super) fn run(args: &ReportArgs) -> Outcome {
    let program = Program::open_loaded(&args.location.location())?;
    let token = args.token.find(&program.deck)?;
    let mut document = document::of_token(&program.deck, token, &Progress::default()).map_err(|problem| Failure::Bad(problem.detail))?;
    if let Some(of_today) = program.of_today() {
        warn(&of_today);
    }
    if let Ok(dirs) = Dirs::find() {
        document.annotate([token], AnnotationFile::open(&dirs.state).annotations());
    }
    let text = document.write(args.out.form);
    let file = args.out.file.display();
    write_whole(&args.out.file, text.as_bytes())
        .map_err(|error| Failure::Bad(format!("`{file}` cannot be written: {}", plain_reason(&error))))?;
    print_line(&format!("{}: {file}, {}", document.title, format::bytes(text.len() as u64)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_ending_decides_the_format() {
        assert_eq!(out_file("a/b.HTML").map(|out| out.form), Ok(DocumentForm::Html));
        assert_eq!(out_file("b.md").map(|out| out.form), Ok(DocumentForm::Markdown));
        assert!(out_file("b.pdf").is_err() && out_file("html").is_err());
    }
}
