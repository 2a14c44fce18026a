//! Following outside changes: the current snapshot, a running load, results that arrived, edited settings. Keeps the program's token and the selected row
//! of the Tokens view in step as rows move.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use super::App;
use crate::views::{
    keymap::{VIEWS, ViewId},
    task::Wake,
    view::{LiveSettings, NewSettings},
};
use model::address::Address;
use query::queries::opening::opening_token;

/// Maximum number of tokens that a step passes over.
const STEPS_MAX: usize = 1_000;

/// Interval at which the progress of what is under way is shown.
const TICK: Duration = Duration::from_millis(200);

/// Prefix of a settings error among the header's warnings.
const PROBLEM: &str = "settings: ";

impl App {
    /// Takes in outside changes: the snapshot, the load, results that arrived.
    pub fn take_in_changes(&mut self) {
        self.poll_as_of();
        let (looked_at, is_settling) = (
            self.lost_token.or(self.token),
            self.pending_selection.is_some(),
        );
        let read = self.snapshot.as_ref().map(|snapshot| snapshot.generation);
        self.snapshot = self.earlier.or(&self.setup.service).snapshot().ok();
        if self.snapshot.as_ref().map(|snapshot| snapshot.generation) != read {
            self.follow_dataset();
            for view in VIEWS {
                self.with_view(view.id, |view, context| view.name_again(context));
            }
        }
        (self.load, self.ticked) = (self.setup.service.load_state(), Instant::now());
        // Where its row is still left out of the list, the selected one takes over below.
        if self.lost_token.is_some_and(|token| {
            self.snapshot
                .as_ref()
                .is_some_and(|s| s.dataset.token(&token).is_some())
        }) {
            self.token = self.lost_token;
        }
        if self.token.is_none_or(|token| {
            self.snapshot
                .as_ref()
                .is_some_and(|s| s.dataset.token(&token).is_none())
        }) {
            self.token = self
                .snapshot
                .as_ref()
                .and_then(|snapshot| opening_token(snapshot))
                .or(self.token);
        }
        self.with_view(self.current, |view, context| view.refresh(context));
        self.check_line();
        self.adopt_selected_token();
        self.lost_token = looked_at.filter(|_| !is_settling && self.token != looked_at);
        self.poll_export();
        self.poll_import();
        self.poll_add();
        self.poll_settings();
        self.poll_alerts();
        self.poll_rehearsal();
        self.release_early();
        if let Some(forward) = self.pending_step.take() {
            self.step_token(forward);
        }
        self.dirty = true;
    }

    /// Selects the program's token, which the views show.
    pub fn select(&mut self, token: Address) {
        (self.pending_selection, self.lost_token) = (None, None);
        self.token = Some(token);
        if self.current == ViewId::Tokens {
            self.with_view(ViewId::Tokens, |view, context| view.reveal(token, context));
        }
        self.take_in_changes();
    }

    /// Steps to the next or previous token of the list that the user came from.
    pub(super) fn step_token(&mut self, forward: bool) {
        let (mut token, list) = (self.token, self.stepped_list);
        for passed in 0..=STEPS_MAX {
            let next = self.with_view(list, |view, context| {
                view.select_neighbour(token, forward, context)
            });
            if next.is_none() && self.views[list as usize].is_arranging() {
                self.pending_step = Some(forward);
                return;
            }
            let Some((next, row, count)) = next.filter(|_| passed < STEPS_MAX) else {
                // Back to the token that is looked at.
                let token = self.token;
                self.with_view(list, |view, context| {
                    token.map(|token| view.reveal(token, context))
                });
                let (end, more) = (
                    if forward { "last" } else { "first" },
                    if passed > 0 {
                        " that this view can show"
                    } else {
                        ""
                    },
                );
                let says = match passed {
                    STEPS_MAX => format!(
                        "this view can show none of the next {STEPS_MAX} tokens in {}",
                        list.title()
                    ),
                    _ => format!("this is the {end} token in {}{more}", list.title()),
                };
                return self.say(says, false);
            };
            token = Some(next);
            if self.with_view(self.current, |view, context| view.can_show(&next, context)) {
                (self.pending_selection, self.lost_token, self.token) = (None, None, Some(next));
                self.take_in_changes();
                let passed = if passed > 0 {
                    format!(" · skipped {passed} with nothing to show")
                } else {
                    String::new()
                };
                return self.say(
                    format!("{row} of {count} in {}{passed}", list.title()),
                    false,
                );
            }
        }
    }

    /// Notes that a filter was kept before its rows were there; its effect on the token is settled later.
    pub(super) fn note_early_key(&mut self) {
        let has_no_rows = self.snapshot.is_none() || self.view().is_arranging();
        if has_no_rows && matches!(self.current, ViewId::Tokens | ViewId::Growth) {
            self.pending_selection = Some(self.current);
        }
    }

    /// Makes the selected row's token the program's: in the Tokens view, and, whichever view is current now, in the one where keys were
    /// pressed before the rows were there. Not while a filter is being typed, which Esc undoes.
    fn adopt_selected_token(&mut self) {
        if self.snapshot.is_none() {
            return;
        }
        let view = match self.pending_selection {
            Some(view) if view != self.current => {
                self.with_view(view, |view, context| view.refresh(context));
                view
            }
            Some(view) => view,
            None if self.current == ViewId::Tokens => ViewId::Tokens,
            None => return,
        };
        if self.filter.is_some() && view == self.current {
            return;
        }
        let selected = self.with_view(view, |view, context| view.selected_token(context));
        // The rows of both views come a moment later.
        let is_arranged = || !self.views[view as usize].is_arranging();
        if selected.is_some() || (view == ViewId::Tokens && is_arranged()) {
            self.pending_selection = None;
        }
        if selected.is_some() && selected != self.token {
            self.token = selected;
            self.with_view(self.current, |view, context| view.refresh(context));
        }
    }

    /// When the progress of a load, an export or a backtest is shown next; `None` while nothing is running.
    pub(super) fn progress_tick(&self) -> Option<Instant> {
        let is_loading =
            self.load.running || (self.snapshot.is_none() && self.load.failure.is_none());
        (is_loading || self.exporting.is_some() || self.rehearsing.is_some())
            .then(|| self.ticked + TICK)
    }

    pub(super) fn progress_ticked(&mut self, now: Instant) {
        if self.progress_tick().is_none_or(|tick| tick > now) {
            return;
        }
        self.rehearsal_ticked();
        self.dirty |= self.exporting.is_some();
        let load = self.setup.service.load_state();
        self.dirty |= (load.running, &load.tables, &load.contacting)
            != (self.load.running, &self.load.tables, &self.load.contacting);
        (self.load, self.ticked) = (load, now);
    }
}

/// The settings, reloaded while they are edited.
impl App {
    /// Starts watching the settings.
    pub fn follow_settings(&mut self, settings: Option<Arc<dyn LiveSettings>>, wake: Wake) {
        if let Some(settings) = &settings {
            settings.listen(wake);
        }
        self.settings = settings;
    }

    /// Applies the changed file. An error stays in the header until it is corrected; the previous settings remain in force.
    pub(super) fn poll_settings(&mut self) {
        let Some(news) = self.settings.as_ref().and_then(|settings| settings.take()) else {
            return;
        };
        self.setup
            .warnings
            .retain(|warning| !warning.starts_with(PROBLEM));
        match news {
            Ok(NewSettings { keymap, look, says }) => {
                self.setup.keymap = keymap.unwrap_or_else(|| self.setup.keymap.clone());
                if let Some(look) = look {
                    self.setup.look = look;
                    // The file overrides the theme chosen in an earlier run.
                    self.chosen_theme = None;
                }
                self.say(says.join(" · "), false);
            }
            Err(reason) => {
                self.setup.warnings.insert(0, format!("{PROBLEM}{reason}"));
                self.say(reason.to_string(), true);
            }
        }
        self.request_full_redraw();
    }
}

#[cfg(test)]
mod tests;
