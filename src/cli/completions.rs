//! `tokendeck completions` and `tokendeck man`: generated from the argument definitions.

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use super::{
    CommandLine,
    outcome::{Outcome, print},
};

#[derive(Debug, Args)]
pub(super) struct CompletionsArgs {
    /// Shell
    shell: Shell,
}

pub(super) fn run(args: &CompletionsArgs) -> Outcome {
    let mut script = Vec::new();
    clap_complete::generate(
        args.shell,
        &mut CommandLine::command(),
        "tokendeck",
        &mut script,
    );
    print(script)
}

/// Prints the manual page, with a section per command.
pub(super) fn man() -> Outcome {
    let mut page = Vec::new();
    let mut command = CommandLine::command();
    command.build();
    clap_mangen::Man::new(command.clone()).render(&mut page)?;
    for inner in command
        .get_subcommands()
        .filter(|inner| inner.get_name() != "help")
    {
        page.extend_from_slice(format!(".SH \"tokendeck {}\"\n", inner.get_name()).as_bytes());
        let man = clap_mangen::Man::new(inner.clone());
        man.render_description_section(&mut page)?;
        man.render_options_section(&mut page)?;
    }
    print(page)
}
