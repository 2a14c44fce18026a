//! Decks of the same dataset as it could have been known at some time. They ask nobody, watch nothing and keep no jobs.

use std::sync::{Arc, atomic::Ordering};

use super::{Deck, DeckOptions, feed::FeedOptions};
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

/// A deck as of a time, and the generation that it was made of.
#[derive(Debug)]
pub(super) struct DeckAsOf {
    time: Time,
    generation: u64,
    deck: Arc<Deck>,
}

impl Deck {
    /// The deck as it could have been known then; made once for each generation, which takes as long as reading all rows. Errors: large
    /// tables are still loading, or one cannot be cut at a time.
    pub fn as_of(&self, time: Time) -> Result<Arc<Self>> {
        // A deck of the past knows nothing of what came after.
        let time = self.options.as_of.map_or(time, |own| own.min(time));
        // One is made at a time, so that none is made twice.
        let _making = self.making_as_of.locked();
        let snapshot = self.complete_snapshot()?;
        if let Some(known) = self.known_as_of(time, snapshot.generation) {
            return Ok(known);
        }
        let cut = snapshot.dataset.known_at(time).map_err(|reason| Problem::new(Code::InvalidParameter, reason))?;
        let options = DeckOptions {
            settings: self.answer_settings(),
            memo_bytes: MEMO_BYTES,
            wire: None,
            feed: FeedOptions::default(),
            as_of: Some(time),
            ..self.options.clone()
        };
        let made = self.made_as_of.fetch_add(1, Ordering::Relaxed);
        let deck = Self::new(&self.folder(), options).map_err(|reason| Problem::new(Code::Busy, reason))?;
        // Whoever keeps what was answered by its generation must not take the past for the present.
        deck.count_from((made + 1) * GENERATIONS_APART + snapshot.generation);
        deck.publish(cut);
        let mut kept = self.as_of.locked();
        kept.retain(|known| known.generation == snapshot.generation && known.time != time);
        if kept.len() >= KEPT {
            kept.remove(0);
        }
        kept.push(DeckAsOf { time, generation: snapshot.generation, deck: Arc::clone(&deck) });
        Ok(deck)
    }

    /// The same, if it is there.
    fn known_as_of(&self, time: Time, generation: u64) -> Option<Arc<Self>> {
        let mut kept = self.as_of.locked();
        let place = kept.iter().position(|known| known.time == time && known.generation == generation)?;
        let known = kept.remove(place);
        let deck = Arc::clone(&known.deck);
        kept.push(known);
        Some(deck)
    }
}
