//! Making the `Context` that a view looks at, and lending the view out beside it.

use super::App;
use crate::{
    dataset::{time::Time, wall_clock},
    tui::{
        keymap::ViewId,
        view::{Context, View},
    },
};

impl App {
    /// Runs `work` with the view and the context it may look at.
    pub(in crate::tui) fn with_view<T>(&mut self, id: ViewId, work: impl FnOnce(&mut dyn View, &Context<'_>) -> T) -> T {
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

/// The clock of a dashboard that a person looks at. Ages on screen are the only thing it is asked for.
pub fn wall_clock() -> Time {
    wall_clock::now()
}
