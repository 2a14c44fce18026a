//! Metrics of many tokens.

use crate::question::{
    Find,
    fields::{self, Figures},
    parallel,
    view::View,
};
use model::{address::Address, error::Result, progress::Progress};

/// The named metrics of these tokens.
#[derive(Debug, Clone)]
pub struct FiguresOf {
    pub tokens: Vec<Address>,
    pub names: Vec<&'static str>,
}

impl Find for FiguresOf {
    type Found = Vec<(Address, Figures)>;

    fn find(&self, view: &View<'_>, progress: &Progress) -> Result<Self::Found> {
        of_each(self.tokens.clone(), &self.names, view, progress)
    }
}

/// The figures of each token. Errors: rows cannot be fetched, or those of too many tokens would have to be; of several tokens no state could
/// be read.
pub(super) fn of_each(
    tokens: Vec<Address>,
    names: &[&str],
    view: &View<'_>,
    progress: &Progress,
) -> Result<Vec<(Address, Figures)>> {
    let count = tokens.len();
    let mut found: Vec<(Address, Figures)> = tokens
        .into_iter()
        .map(|token| (token, Figures::default()))
        .collect();
    parallel::each(&mut found, progress, |(token, found)| {
        *found = fields::figures(&view.part(count), *token, names, &progress.quiet())?;
        Ok(())
    })?;
    view.check_states()?;
    Ok(found)
}
