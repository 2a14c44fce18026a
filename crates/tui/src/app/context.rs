//! Builds the `Context` of a view and borrows the view together with it.

use super::App;
use crate::{
    keymap::ViewId,
    view::{Context, View},
};
use model::time::Time;
use store::wall_clock;

impl App {
    /// Runs `work` with the view and its context.
    pub(crate) fn with_view<T>(&mut self, id: ViewId, work: impl FnOnce(&mut dyn View, &Context<'_>) -> T) -> T {
        let Self { setup, views, token, watchlist, alerts, snapshot, load, wake, .. } = self;
        let context = Context {
            deck: &setup.deck,
            jobs: setup.jobs.as_ref(),
            api: setup.api.as_ref(),
            snapshot: snapshot.as_ref(),
            load,
            token: *token,
            watchlist,
            alerts: &alerts.marks,
            theme: &setup.look.theme,
            ascii: setup.look.ascii,
            now: (setup.clock)(),
            wake,
        };
        work(views[id as usize].as_mut(), &context)
    }
}

/// The wall clock of an interactive dashboard, used for ages on screen only.
pub fn wall_clock() -> Time {
    wall_clock::now()
}
