//! Decks of the same dataset as it could have been known at some time. They ask nobody, watch nothing and keep no jobs.

use std::sync::Arc;

use super::{Deck, DeckOptions, feed::FeedOptions};
use crate::question::snapshot::Snapshot;
use model::{
    error::{Code, Problem, Result},
    locks::Locked as _,
    time::Time,
};

/// Decks that are kept: of a few days somebody goes back and forth between.
const KEPT: usize = 3;
/// Bytes of answers that each keeps.
const MEMO_BYTES: u64 = 8 << 20;

/// Numbers of generations that decks of the past begin apart.
const GENERATIONS_APART: u64 = 1 << 32;

/// Which reading of the files a generation is of.
pub fn reading(generation: u64) -> u64 {
    generation % GENERATIONS_APART
}

/// The decks that were made.
#[derive(Debug, Default)]
pub(super) struct DecksAsOf {
    /// The generation that those which are kept were made of.
    generation: u64,
    /// The one that was asked for last is the last.
    kept: Vec<(Time, Arc<Deck>)>,
    /// How many were made in all.
    made: u64,
}

impl Deck {
    /// The deck as it could have been known then; made once for each generation, which takes as long as reading all rows. Errors: large
    /// tables are still loading, or one cannot be cut at a time.
    pub fn as_of(&self, time: Time) -> Result<Arc<Self>> {
        // A deck of the past knows nothing of what came after.
        let time = self.options.as_of.map_or(time, |own| own.min(time));
        // One is made at a time, so that none is made twice.
        let mut decks = self.as_of.locked();
        let snapshot = self.complete_snapshot()?;
        if decks.generation != snapshot.generation {
            (decks.generation, decks.kept) = (snapshot.generation, Vec::new());
        }
        let place = decks.kept.iter().position(|(of, _)| *of == time);
        let known = place.map(|place| decks.kept.remove(place));
        let deck = if let Some((_, deck)) = known { deck } else { self.made_as_of(time, &snapshot, &mut decks.made)? };
        let over = (decks.kept.len() + 1).saturating_sub(KEPT);
        decks.kept.drain(..over);
        decks.kept.push((time, Arc::clone(&deck)));
        Ok(deck)
    }

    /// The deck of that time if it was made of these data, at once.
    pub fn kept_as_of(&self, time: Time) -> Option<Arc<Self>> {
        let snapshot = self.complete_snapshot().ok()?;
        // While another is made there is no telling.
        let decks = self.as_of.try_lock().ok()?;
        let kept = decks.kept.iter().find(|(of, _)| *of == time && decks.generation == snapshot.generation)?;
        Some(Arc::clone(&kept.1))
    }

    fn made_as_of(&self, time: Time, snapshot: &Snapshot, made: &mut u64) -> Result<Arc<Self>> {
        let cut = snapshot.dataset.known_at(time).map_err(|reason| Problem::new(Code::InvalidParameter, reason))?;
        let options = DeckOptions {
            settings: self.answer_settings(),
            memo_bytes: MEMO_BYTES,
            wire: None,
            feed: FeedOptions::default(),
            as_of: Some(time),
            ..self.options.clone()
        };
        let deck = Self::new(&self.folder(), options).map_err(|reason| Problem::new(Code::Busy, reason))?;
        *made += 1;
        // Whoever keeps what was answered by its generation must not take the past for the present.
        deck.count_from(*made * GENERATIONS_APART + snapshot.generation);
        deck.publish(cut);
        Ok(deck)
    }
}
