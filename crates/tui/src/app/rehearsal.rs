//! Backtesting an alert in the dashboard: computed off the drawing thread, with its progress in the alert dialog, stopped with Esc.

use super::App;
use crate::{
    overlay::{Overlay, alerts::AlertsDialog},
    views::task::BackgroundTask,
};
use model::progress::Progress;
use query::queries::{
    BodyQuery as _, Query as _, alert_body::AlertBody, rehearsal::RehearsalQuery, view::View,
};

impl App {
    /// Starts to backtest the alert; without one, stops the running backtest.
    pub(super) fn rehearse(&mut self, alert: Option<AlertBody>) {
        self.rehearsing = None;
        let (Some(alert), Some(snapshot)) = (alert, self.snapshot.clone()) else {
            return self.with_alerts(AlertsDialog::stop_rehearsal);
        };
        let question = RehearsalQuery::of_last_year(alert);
        let rehearse = move |progress: &Progress| {
            question
                .answer(&View::new(&snapshot), progress)
                .map_err(RehearsalQuery::refused)
        };
        self.rehearsing = Some(BackgroundTask::start(&self.wake, rehearse));
    }

    fn with_alerts(&mut self, change: impl FnOnce(&mut AlertsDialog)) {
        if let Some(Overlay::Alerts(dialog)) = &mut self.overlay {
            change(dialog);
            self.dirty = true;
        }
    }

    pub(super) fn poll_rehearsal(&mut self) {
        let Some(outcome) = self.rehearsing.as_mut().and_then(BackgroundTask::poll) else {
            return;
        };
        self.rehearsing = None;
        self.with_alerts(|dialog| match outcome {
            Ok(rehearsal) => dialog.rehearsed(rehearsal),
            Err(problem) => dialog.refuse(problem.detail),
        });
    }

    /// Shows the progress.
    pub(super) fn rehearsal_ticked(&mut self) {
        let Some((done, total)) = self.rehearsing.as_ref().map(BackgroundTask::progress) else {
            return;
        };
        // Nobody waits for it once the dialog is closed.
        if matches!(self.overlay, Some(Overlay::Alerts(_))) {
            self.with_alerts(|dialog| dialog.rehearsing(done, total));
        } else {
            self.rehearsing = None;
        }
    }
}
