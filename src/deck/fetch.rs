//! What a question reads and is not here: fetched before it is answered, so that the answer itself asks nobody.

use crate::{
    dataset::{
        address::Address,
        candles::shelf::Unfetched,
        progress::{Cancelled, LoadProgress},
    },
    error::{Code, Problem, Result},
    question::{progress::Progress, snapshot::Snapshot},
};

/// The asker, as a load is watched.
struct Asker<'a>(&'a Progress);

impl LoadProgress for Asker<'_> {
    fn step(&self, _: &str, _: u64, _: u64) -> std::result::Result<(), Cancelled> {
        if self.0.cancelled() { Err(Cancelled) } else { Ok(()) }
    }
}

/// Fetches the candles of the tokens, where they stay elsewhere and are not here yet.
pub fn fetch(snapshot: &Snapshot, tokens: &[Address], progress: &Progress) -> Result<()> {
    let Some(shelf) = snapshot.dataset.shelf() else { return Ok(()) };
    for token in tokens {
        shelf.fetch(token, &Asker(progress)).map_err(|why| match why {
            Unfetched::Cancelled => Problem::new(Code::Cancelled, "The question was cancelled."),
            Unfetched::Unavailable(reason) => {
                Problem::new(Code::SourceUnavailable, format!("The candles of `{token}` cannot be had from `{}`: {reason}.", shelf.source))
            }
        })?;
    }
    Ok(())
}
