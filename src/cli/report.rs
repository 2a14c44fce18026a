//! `tokendeck report`: writes a token report from the dataset.

use std::path::{Path, PathBuf};

use clap::Args;
use color_eyre::eyre::{Result, eyre};

use super::{
    AsOfArgs,
    outcome::{Outcome, print_line},
    program::{Program, warn},
    shot::{chart, ending},
    token::{TokenName, token},
};
use crate::{
    config::plain_reason,
    state::{Dirs, annotations::AnnotationFile},
};
use frames::export::write_whole;
use model::{format, progress::Progress};
use query::document::{self, DocumentForm};

#[derive(Debug, Args)]
pub(super) struct ReportArgs {
    /// Address, coin (coin:BTC) or unique symbol
    #[arg(value_name = "TOKEN", value_parser = token)]
    token: TokenName,
    /// Output file, .html or .md
    #[arg(long, value_name = "FILE", value_parser = out_file)]
    out: ReportFile,
    /// Also write the chart to this .png file
    #[arg(long, value_name = "FILE", value_parser = png_file)]
    png: Option<PathBuf>,
    #[command(flatten)]
    location: AsOfArgs,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct ReportFile {
    file: PathBuf,
    form: DocumentForm,
}

fn out_file(text: &str) -> Result<ReportFile> {
    let ending = ending(text);
    let form = DocumentForm::ALL
        .iter()
        .find(|form| ending.as_deref() == Some(form.word()));
    let form = form.ok_or_else(|| eyre!("expected a file that ends in .html or .md"))?;
    Ok(ReportFile {
        file: PathBuf::from(text),
        form: *form,
    })
}

fn png_file(text: &str) -> Result<PathBuf> {
    let is_png = ending(text).as_deref() == Some("png");
    is_png
        .then(|| PathBuf::from(text))
        .ok_or_else(|| eyre!("expected a file that ends in .png"))
}

pub(super) fn run(args: &ReportArgs) -> Outcome {
    let program = Program::open_loaded(&args.location.location())?;
    let token = args.token.find(&program.service)?;
    let make = || document::of_token(&program.service, token, &Progress::default());
    let mut document = make()?;
    if program.service.wait_for_kept_records() {
        document = make()?;
    }
    if let Some(of_today) = program.of_today() {
        warn(&of_today);
    }
    if let Ok(dirs) = Dirs::find() {
        document.annotate([token], AnnotationFile::open(&dirs.state).annotations());
    }
    let text = document.write(args.out.form);
    write(&args.out.file, text.as_bytes(), &document.title)?;
    match &args.png {
        Some(file) => write(file, &chart(&program, token)?, "chart"),
        None => Ok(()),
    }
}

fn write(file: &Path, bytes: &[u8], title: &str) -> Outcome {
    let name = file.display();
    write_whole(file, bytes)
        .map_err(|error| eyre!("cannot write `{name}`: {}", plain_reason(&error)))?;
    print_line(&format!(
        "{title}: {name}, {}",
        format::bytes(bytes.len() as u64)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_ending_decides_the_format() {
        assert_eq!(
            out_file("a/b.HTML").ok().map(|out| out.form),
            Some(DocumentForm::Html)
        );
        assert_eq!(
            out_file("b.md").ok().map(|out| out.form),
            Some(DocumentForm::Markdown)
        );
        assert!(png_file("a.PNG").is_ok() && png_file("a.svg").is_err());
        assert!(out_file("b.pdf").is_err() && out_file("html").is_err());
    }
}
