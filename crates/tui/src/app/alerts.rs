//! Alerts in the dashboard: the dialog to add and remove them, row marks, the bell. The store is on disk, so it is accessed off the drawing
//! thread.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
};

use super::App;
use crate::{
    overlay::{
        Dialog as _, Overlay,
        alerts::{AboutToken, AlertsDialog},
    },
    views::task::{self, BackgroundTask},
    widgets::table::AlertMark,
};
use model::{
    address::Address,
    error::Result,
    format::{count, plural},
    locks::Locked as _,
    progress::Progress,
};
use query::{
    jobs::{AlertCursor, AlertList, FIRED_ID_MAX, FiredAlert, Jobs},
    queries::alert_body::AlertBody,
};

/// Firings to load, the latest first.
const FIRED: u64 = 50;
/// BEL: the terminal beeps or flashes.
const BELL: u8 = 7;

/// The alerts as last loaded.
#[derive(Default)]
pub(super) struct Alerts {
    list: AlertList,
    /// Row marks by token.
    pub(super) marks: HashMap<Address, AlertMark>,
    /// The latest firing seen in the dialog.
    seen: Option<u64>,
    reading: Option<BackgroundTask<Read>>,
    /// Reload once the current load ends.
    again: bool,
    /// Pending changes of the store; each returns its toast.
    orders: Vec<BackgroundTask<String>>,
    cursor: Arc<Mutex<AlertCursor>>,
    /// The store was loaded at least once.
    asked: bool,
}

/// Loaded from the store.
struct Read {
    list: AlertList,
    /// Number of firings not announced yet, and the first of them.
    news: u64,
    first: Option<FiredAlert>,
}

impl Read {
    fn new(jobs: &Jobs, cursor: &Mutex<AlertCursor>) -> Result<Self> {
        let (mut news, mut first) = (0, None);
        let list = jobs.alerts(FIRED, FIRED_ID_MAX)?;
        let mut cursor = cursor.locked();
        let outcome = jobs.deliver_fired(&mut cursor, |fired| {
            news += 1;
            first.get_or_insert(fired);
        });
        // Firings taken from the store before it failed would be lost: taking marks them as delivered.
        outcome.or_else(|problem| if news > 0 { Ok(()) } else { Err(problem) })?;
        let list = if news > 0 {
            jobs.alerts(FIRED, FIRED_ID_MAX).unwrap_or(list)
        } else {
            list
        };
        Ok(Self { list, news, first })
    }
}

impl App {
    /// Reloads the alerts, after a new generation or a firing.
    pub(super) fn read_alerts(&mut self) {
        let Some(jobs) = self.setup.jobs.as_ref().map(Arc::clone) else {
            return;
        };
        self.alerts.asked = true;
        // A load under way must finish: the firings it takes are marked as delivered.
        self.alerts.again = self.alerts.reading.is_some();
        if !self.alerts.again {
            let cursor = Arc::clone(&self.alerts.cursor);
            self.alerts.reading = Some(BackgroundTask::start(&self.wake, move |_| {
                Read::new(&jobs, &cursor)
            }));
        }
    }

    /// Changes the store on a background thread; `order` returns the toast.
    fn order_alerts(&mut self, order: impl FnOnce(&Jobs) -> Result<String> + Send + 'static) {
        let Some(jobs) = self.setup.jobs.as_ref().map(Arc::clone) else {
            return;
        };
        self.alerts
            .orders
            .push(BackgroundTask::start(&self.wake, move |_| order(&jobs)));
    }

    /// Polls the background tasks.
    pub(super) fn poll_alerts(&mut self) {
        if !self.alerts.asked && self.snapshot.is_some() {
            self.read_alerts();
        }
        let mut ended = Vec::new();
        self.alerts
            .orders
            .retain_mut(|order| order.poll().map(|outcome| ended.push(outcome)).is_none());
        for outcome in ended {
            self.alert_ordered(outcome);
        }
        match task::take(&mut self.alerts.reading) {
            None => return,
            Some(Err(problem)) => self.say(problem.detail, true),
            Some(Ok(read)) => self.alerts_read(read),
        }
        if self.alerts.again {
            self.read_alerts();
        }
    }

    fn alert_ordered(&mut self, outcome: Result<String>) {
        match (outcome, &mut self.overlay) {
            (Err(problem), Some(Overlay::Alerts(dialog))) => return dialog.refuse(problem.detail),
            (Err(problem), _) => return self.say(problem.detail, true),
            (Ok(said), overlay) => {
                if let Some(Overlay::Alerts(dialog)) = overlay {
                    dialog.done();
                }
                self.say(said, false);
            }
        }
        self.read_alerts();
    }

    /// Announces new firings with one toast and one bell, and marks their rows.
    fn alerts_read(&mut self, read: Read) {
        let newest = read.list.fired.first().map_or(0, |fired| fired.fired_id);
        // Firings announced before the dashboard was opened are in the log, not news.
        self.alerts.seen.get_or_insert(
            read.first
                .as_ref()
                .map_or(newest, |first| first.fired_id - 1),
        );
        if let Some(Overlay::Alerts(dialog)) = &mut self.overlay {
            self.alerts.seen = Some(newest);
            dialog.show(read.list.clone());
        }
        self.alerts.list = read.list;
        self.mark_alerts();
        if let Some(first) = read.first {
            let more = if read.news > 1 {
                format!(", and {} more", count(read.news - 1))
            } else {
                String::new()
            };
            self.say(format!("alert: {}{more}", first.says()), true);
            if self.setup.look.bell {
                self.after_frame.push(BELL);
            }
        }
    }

    fn mark_alerts(&mut self) {
        let Alerts { list, seen, .. } = &self.alerts;
        let new = list
            .fired
            .iter()
            .filter(|fired| fired.fired_id > seen.unwrap_or(0));
        let up = list.alerts.iter().filter_map(|alert| alert.token_address);
        let marks = up
            .map(|token| (token, AlertMark::Up))
            .chain(new.map(|fired| (fired.token_address, AlertMark::Fired)));
        self.alerts.marks = marks.collect();
    }

    /// With a condition to begin with.
    pub(super) fn open_alerts(&mut self, condition: &str) {
        if self
            .snapshot
            .as_ref()
            .is_some_and(|snapshot| snapshot.dataset.as_of.is_some())
        {
            return self.say(
                "alerts exist only in the present; press @ to return to it",
                true,
            );
        }
        if self.setup.jobs.is_none() {
            return self.say(
                "alerts are off: the state folder is not writable; make it writable and restart",
                true,
            );
        }
        let mut dialog = AlertsDialog::new(
            self.about_token(),
            self.alerts.list.clone(),
            self.setup.look.zone,
        );
        dialog.paste(condition);
        self.overlay = Some(Overlay::Alerts(dialog));
        self.read_alerts();
    }

    /// The program's token, by name.
    pub(super) fn about_token(&self) -> Option<AboutToken> {
        let token = self.token?;
        let symbol = self
            .snapshot
            .as_ref()
            .and_then(|snapshot| snapshot.dataset.token(&token)?.row.symbol.clone());
        Some(AboutToken {
            token,
            name: symbol.unwrap_or_else(|| token.short()),
        })
    }

    pub(super) fn add_alert(&mut self, request: AlertBody) {
        self.order_alerts(move |jobs| {
            let alert = jobs.add_alert(&request, &Progress::default())?;
            let already = match (alert.holds, alert.token_address) {
                (0, _) => String::new(),
                (_, Some(_)) => "; its condition is already true, and it fires when the condition becomes true again".to_owned(),
                (tokens, None) => format!(
                    "; its condition is already true for {}, and it fires whenever the condition becomes true for \
                    a token",
                    plural(tokens, "token", "tokens")
                ),
            };
            Ok(format!("alert `{}` is set{already}", alert.condition))
        });
    }

    pub(super) fn remove_alert(&mut self, id: String) {
        self.order_alerts(move |jobs| jobs.remove_alert(&id).map(|()| "alert removed".to_owned()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::bench::Bench;
    use load::{Dataset, sample};
    use query::jobs::JobOptions;

    fn priced(price: u32) -> Dataset {
        let tokens = format!(
            "token_address,symbol,name,chain,price\n0x1,ONE,One,eth,{price}\n0x2,TWO,Two,eth,5"
        );
        let mut dataset = sample::dataset(&[("tokens", &tokens)]);
        dataset.folder = "/data/market".into();
        dataset
    }

    #[test]
    fn an_alert_is_typed_marked_heard_and_listed() {
        let (mut bench, state) = (
            Bench::new(crate::views::all()),
            tempfile::tempdir().expect("a folder"),
        );
        let service = Arc::clone(&bench.app.setup.service);
        bench.app.setup.jobs =
            Some(Jobs::open(state.path(), service, JobOptions::default()).expect("a store"));
        bench.load(priced(10));
        bench.until("ONE");
        bench.keys("A");
        bench.until("alert me when ONE has");
        bench.keys("pric>20⏎");
        bench.until("did you mean `price`?");
        bench.keys("⌫⌫⌫e>20⏎");
        bench.until("ONE            price>20");
        bench.keys("⎋");
        bench.until("◦ONE");
        assert!(!bench.app.after_frame.contains(&BELL));
        bench.load(priced(30));
        bench.until("alert: ONE: price>20");
        bench.until("!ONE");
        assert!(bench.app.after_frame.contains(&BELL));
        bench.keys("A");
        bench.until("fired once");
        bench.keys("⌦");
        bench.until("no alerts");
        bench.keys("⎋");
        let screen = bench.screen();
        assert!(
            !screen.contains("!ONE") && !screen.contains("◦ONE"),
            "{screen}"
        );
    }
}
