//! Rehearsing an alert in the dashboard: worked out off the drawing thread, with its progress in the alert dialog, stopped with Esc.

use std::time::{Duration, Instant};

use super::App;
use crate::{
    overlay::{Overlay, alerts::AlertsDialog},
    task::BackgroundTask,
};
use query::question::{
    BodyQuestion as _, Question as _,
    alert_body::AlertBody,
    rehearsal::{Rehearsal, RehearsalQuestion},
};

/// Interval of progress updates.
const TICK: Duration = Duration::from_millis(200);

/// A rehearsal that runs.
pub(crate) struct Rehearsing {
    task: BackgroundTask<Rehearsal>,
    tick: Instant,
}

impl App {
    /// Starts to rehearse the alert; without one, stops the rehearsal that runs.
    pub(super) fn rehearse(&mut self, alert: Option<AlertBody>) {
        self.rehearsing = None;
        let (Some(alert), Some(snapshot)) = (alert, self.snapshot.clone()) else {
            return self.with_alerts(AlertsDialog::stop_rehearsal);
        };
        let question = RehearsalQuestion::of_last_year(alert);
        let task =
            BackgroundTask::start(&self.wake, move |progress| question.answer(&snapshot, progress).map_err(RehearsalQuestion::refused));
        self.rehearsing = Some(Rehearsing { task, tick: Instant::now() + TICK });
    }

    fn with_alerts(&mut self, change: impl FnOnce(&mut AlertsDialog)) {
        if let Some(Overlay::Alerts(dialog)) = &mut self.overlay {
            change(dialog);
            self.dirty = true;
        }
    }

    pub(super) fn poll_rehearsal(&mut self) {
        let Some(outcome) = self.rehearsing.as_mut().and_then(|rehearsing| rehearsing.task.poll()) else { return };
        self.rehearsing = None;
        self.with_alerts(|dialog| match outcome {
            Ok(rehearsal) => dialog.rehearsed(rehearsal),
            Err(problem) => dialog.refuse(problem.detail),
        });
    }

    pub(super) fn rehearsal_tick(&self) -> Option<Instant> {
        self.rehearsing.as_ref().map(|rehearsing| rehearsing.tick)
    }

    pub(super) fn rehearsal_ticked(&mut self, now: Instant) {
        let Some(rehearsing) = self.rehearsing.as_mut().filter(|rehearsing| rehearsing.tick <= now) else { return };
        rehearsing.tick = now + TICK;
        let (done, total) = rehearsing.task.progress();
        // Nobody waits for it once the dialog is closed.
        if matches!(self.overlay, Some(Overlay::Alerts(_))) {
            self.with_alerts(|dialog| dialog.rehearsing(done, total));
        } else {
            self.rehearsing = None;
        }
    }
}
