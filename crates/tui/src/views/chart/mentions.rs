//! The number of posts about the token per candle, in a pane under the chart. The query decides which posts count.

use super::overlays::Slots;
use crate::{views::prelude::*, widgets::candles::IndicatorPane};
use query::{
    queries::mentions::{MentionTimes, per_span},
    service::pending::PendingResult,
};

#[derive(Default)]
pub(super) struct Mentions {
    pub(super) on: bool,
    /// The generation and the token of `times`.
    of: Option<(u64, Address)>,
    pending: Option<PendingResult<Vec<i64>>>,
    times: Vec<i64>,
}

impl Mentions {
    pub(super) fn refresh(&mut self, token: Address, context: &Context<'_>) {
        let is_loaded = |snapshot: &&std::sync::Arc<Snapshot>| {
            self.on && !snapshot.dataset.importing.contains(&"posts")
        };
        let Some(snapshot) = context.snapshot.filter(is_loaded) else {
            return;
        };
        let wanted = Some((snapshot.generation, token));
        if self.of != wanted {
            if self.of.is_none_or(|(_, shown)| shown != token) {
                self.times.clear();
            }
            self.of = wanted;
            self.pending = Some(context.find(snapshot, MentionTimes(token)));
        }
        let outcome = self.pending.as_mut().and_then(PendingResult::poll_now);
        if let Some(outcome) = outcome {
            self.pending = None;
            self.times = outcome.unwrap_or_default();
        }
    }

    /// Whether there is a pane: the token has posts.
    pub(super) fn is_shown(&self) -> bool {
        self.on && !self.times.is_empty()
    }

    /// `at` is the candle whose number the title shows.
    pub(super) fn pane(&self, slots: &Slots<'_>, at: Option<Time>) -> IndicatorPane {
        let start = |places: std::ops::Range<usize>| slots.candles.timestamp.get(places.start);
        let count = slots.places().count();
        let starts = slots.places().filter_map(start);
        let starts: Vec<i64> = starts
            .chain(slots.candles.timestamp.get(slots.last))
            .copied()
            .collect();
        let mut bars = per_span(&self.times, &starts);
        bars.truncate(count);
        let slot = at.and_then(|at| slots.slot(slots.of_time(at)?));
        let number = slot.and_then(|slot| bars.get(slot));
        let title = [
            (" mentions".to_owned(), Role::Accent),
            (format!(" {} ", format::human(number.copied())), Role::Text),
        ];
        IndicatorPane {
            title: title.to_vec(),
            bars,
            ..IndicatorPane::default()
        }
    }
}
