//! Events of the data: loaded, failed to load, or consent required.

use std::{path::absolute, time::Instant};

use super::App;
use crate::{
    overlay::{Command, Confirm, Overlay, welcome::Welcome},
    views::tokens::MARKED_FOR,
};
use query::service::ServiceEvent;

impl App {
    pub(super) fn on_deck_event(&mut self, event: ServiceEvent) {
        let reloaded = matches!(event, ServiceEvent::Reloaded(_));
        match event {
            ServiceEvent::Reloaded(generation) => {
                self.overlay = self
                    .overlay
                    .take()
                    .filter(|overlay| !matches!(overlay, Overlay::Confirm(_)));
                // The first load may come in two steps: large tables after the others.
                let is_again = self
                    .snapshot
                    .as_ref()
                    .is_some_and(|before| before.dataset.importing.is_empty());
                if generation > 1 {
                    self.marked_until = Some(Instant::now() + MARKED_FOR);
                    let snapshot = self.setup.service.snapshot().ok();
                    match snapshot.and_then(|snapshot| snapshot.dataset.stale_tables()) {
                        Some(stale) => self.say(stale, true),
                        // Tables that come by themselves do so all the time.
                        None if is_again && self.setup.service.feed_tables().is_empty() => {
                            self.say("data reloaded", false);
                        }
                        None => {}
                    }
                }
                self.ask_consent();
                self.read_alerts();
            }
            ServiceEvent::LoadFailed(reason) => self.load_failed(&reason),
            ServiceEvent::Notice(text) => self.say(text, false),
            // Of the present, which is not on screen.
            ServiceEvent::AlertsFired if self.earlier.is_shown() => {}
            ServiceEvent::AlertsFired => self.read_alerts(),
            ServiceEvent::FeedFailed { table, reason } => {
                self.say(format!("{table}: {reason}"), true);
            }
            ServiceEvent::FeedRefreshed { .. }
            | ServiceEvent::FeedRunning
            | ServiceEvent::RecordCounted(_) => self.dirty = true,
            ServiceEvent::JobUpdated(_) => {}
        }
        self.take_in_changes();
        if let (true, Some(Overlay::Palette(palette)), Some(snapshot)) =
            (reloaded, &mut self.overlay, &self.snapshot)
        {
            palette.set_tokens(&snapshot.market.tokens);
        }
    }

    /// Asks once for consent to the dataset's remote origins, and then to those of social platforms; false where there is nothing to ask.
    fn ask_consent(&mut self) -> bool {
        let state = self.setup.service.load_state();
        let files = "remote files";
        let says = |places: &str| {
            format!(
                "tokendeck downloads this dataset's data from {places} and stores it here. Only the requests are sent. The download size is \
                    shown first."
            )
        };
        let social = |places: &str| {
            format!(
                "Posts about your tokens come from {places}. These services learn which tokens you watch. Posts are stored here and never \
                    leave this machine."
            )
        };
        for (origins, title, says) in [
            (state.unconsented, files, &says as &dyn Fn(&str) -> String),
            (state.unconsented_social, "social posts", &social),
        ] {
            let is_new = |origin: &String| !self.asked_about.contains(origin);
            if !origins.iter().any(is_new) {
                continue;
            }
            let says = says(&origins.join(", "));
            self.asked_about.extend(origins.iter().cloned());
            let confirm = Confirm::new(title, says, "contact", Command::Agree(origins));
            self.overlay = Some(Overlay::Confirm(confirm));
            return true;
        }
        false
    }

    /// A failed load: without any data, offers the choices of the welcome dialog.
    pub(super) fn load_failed(&mut self, reason: &str) {
        if self.ask_consent() {
            return;
        }
        if self.setup.service.snapshot().is_err() {
            let folder = self
                .setup
                .data_folder
                .as_ref()
                .map(|folder| folder.display().to_string());
            let failed = self.setup.service.folder();
            let last = self
                .last_folder
                .as_ref()
                .filter(|last| last.is_dir() && **last != absolute(&failed).unwrap_or(failed));
            let last = last.map(|last| last.display().to_string());
            self.overlay = Some(Overlay::Welcome(Welcome::new(
                reason,
                folder.as_deref(),
                last,
            )));
            return;
        }
        // The next reload reads the folder of the data on screen.
        if let Some(snapshot) = &self.snapshot {
            self.setup.service.open(&snapshot.dataset.folder);
        }
        self.say(reason, true);
    }
}
