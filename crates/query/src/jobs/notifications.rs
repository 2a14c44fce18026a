//! Notifications of fired alerts outside the program: to a command of the user, and to a webhook. Each has a thread, so that nothing waits
//! for it, and a rate limit. Decides neither what fires nor what the program shows.

mod command;

use std::{
    collections::VecDeque,
    sync::{Arc, Condvar, Mutex},
    time::{Duration, Instant},
};

use serde_json::Value;

pub use self::command::AlertCommand;
use super::alert::FiredAlert;
use crate::{
    error::NotifyError,
    service::{QueryService, ServiceEvent},
};
use model::{address::Address, format::plural, locks::Locked as _, time::Time, wall_clock::now};
use wire::{
    RemoteClient,
    web::{WebhookMessage, WebhookSecret, WebhookUrl},
};

/// Time between two starts.
const PAUSE: Duration = Duration::from_secs(1);
const MINUTE: Duration = Duration::from_mins(1);
/// Starts per minute, including those in the queue; further ones are dropped.
const PER_MINUTE: usize = 20;
/// How long a command may run.
const COMMAND_TIME: Duration = Duration::from_secs(10);
/// How long an idle thread waits before it looks whether the program ends.
const IDLE: Duration = Duration::from_millis(500);

/// Where fired alerts are sent outside the program.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct AlertRoutes {
    pub command: Option<AlertCommand>,
    pub webhook: Option<WebhookUrl>,
    /// Signs what the webhook receives.
    pub webhook_secret: Option<WebhookSecret>,
    /// Field of the webhook's JSON with the alert as text; empty for none.
    pub webhook_text: String,
}

impl AlertRoutes {
    /// Whether the name can be that of the text field: it is not a field of the trigger itself.
    pub fn is_text_member(name: &str) -> bool {
        let sample = FiredAlert {
            fired_id: 0,
            alert_id: String::new(),
            token_address: Address([0; 20]),
            symbol: None,
            condition: String::new(),
            fired_at: Time(0),
        };
        let is_taken = serde_json::to_value(sample).is_ok_and(|sample| sample.get(name).is_some());
        !is_taken
            && name.len() <= 64
            && name
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    }

    /// One messenger for each place that is told.
    pub(super) fn messengers(&self, wire: Option<&Arc<RemoteClient>>) -> Vec<Arc<AlertNotifier>> {
        let command = self.command.clone().map(MessageRoute::Command);
        let webhook = self.webhook.clone().zip(wire.cloned());
        let webhook = webhook.map(|(url, wire)| MessageRoute::Webhook {
            url,
            secret: self.webhook_secret.clone(),
            text: self.webhook_text.clone(),
            wire,
        });
        let made = |route| {
            Arc::new(AlertNotifier {
                route,
                queue: Mutex::default(),
                wake: Condvar::new(),
            })
        };
        command.into_iter().chain(webhook).map(made).collect()
    }
}

/// A fired alert, with the token's data.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct AlertMessage {
    pub(super) fired: FiredAlert,
    pub(super) name: Option<String>,
    /// The value that the condition compares, where it names one column.
    pub(super) value: Option<String>,
}

enum MessageRoute {
    Command(AlertCommand),
    Webhook {
        url: WebhookUrl,
        secret: Option<WebhookSecret>,
        text: String,
        wire: Arc<RemoteClient>,
    },
}

impl MessageRoute {
    /// Setting, and what it names.
    fn about(&self) -> String {
        match self {
            Self::Command(command) => format!("`alerts.command`: `{}`", command.program()),
            Self::Webhook { url, .. } => format!("`alerts.webhook`: `{}`", url.origin()),
        }
    }

    fn tell(&self, message: &AlertMessage, stopped: &dyn Fn() -> bool) -> Result<(), NotifyError> {
        match self {
            Self::Command(command) => command.run(message, COMMAND_TIME, stopped),
            Self::Webhook {
                url,
                secret,
                text,
                wire,
            } => {
                let message = WebhookMessage {
                    id: format!("fired_{}", message.fired.fired_id),
                    seconds: now().0.div_euclid(1_000),
                    json: body(message, text).ok_or(NotifyError::NotJson)?,
                    secret: secret.clone(),
                };
                wire.post(url, message, stopped)
                    .map_err(NotifyError::Webhook)
            }
        }
    }
}

/// The firing as GET /alerts has it, with the words under the name that the service expects.
fn body(message: &AlertMessage, text: &str) -> Option<Vec<u8>> {
    let mut json = serde_json::to_value(&message.fired).ok()?;
    if !text.is_empty() {
        json.as_object_mut()?
            .insert(text.to_owned(), Value::from(message.fired.says()));
    }
    serde_json::to_vec(&json).ok()
}

/// Tells one place, one message after the other.
pub(super) struct AlertNotifier {
    route: MessageRoute,
    queue: Mutex<MessageQueue>,
    wake: Condvar,
}

impl AlertNotifier {
    pub(super) fn wants_value(&self) -> bool {
        matches!(&self.route, MessageRoute::Command(command) if command.wants_value())
    }

    /// Queues what `make` returns, or drops it where there are too many.
    pub(super) fn offer(&self, make: impl FnOnce() -> AlertMessage) {
        if self.queue.locked().has_room(Instant::now()) {
            let message = make();
            self.queue.locked().waiting.push_back(message);
            self.wake.notify_all();
        }
    }

    pub(super) fn wake(&self) {
        self.wake.notify_all();
    }

    /// Tells what is queued until `stopped`. What is wrong is a notice once, until it went well again.
    pub(super) fn run(&self, service: &QueryService, stopped: &dyn Fn() -> bool) {
        let mut is_failing = false;
        while !stopped() {
            let mut queue = self.queue.locked();
            let now = Instant::now();
            if let Some(count) = queue.dropped_to_say(now) {
                let dropped = plural(count, "fired alert was", "fired alerts were");
                let about = self.route.about();
                service.notify(ServiceEvent::Notice(format!(
                    "{about} receives at most {PER_MINUTE} alerts per minute; {dropped} not sent, see the list of alerts"
                )));
            }
            let Some(message) = queue.next(now) else {
                let pause = queue.pause(now);
                drop(self.wake.wait_timeout(queue, pause));
                continue;
            };
            drop(queue);
            match self.route.tell(&message, stopped) {
                Ok(()) => is_failing = false,
                Err(error) => {
                    if !is_failing && !stopped() {
                        service.notify(ServiceEvent::Notice(format!(
                            "{} {error}",
                            self.route.about()
                        )));
                    }
                    is_failing = true;
                }
            }
        }
    }
}

/// Messages that wait, and the starts of the last minute.
#[derive(Default)]
struct MessageQueue {
    waiting: VecDeque<AlertMessage>,
    starts: VecDeque<Instant>,
    dropped: u64,
    /// When the first of those was dropped that are not yet said.
    dropped_since: Option<Instant>,
    said: Option<Instant>,
}

impl MessageQueue {
    /// Whether one more may wait; if not, it counts as dropped.
    fn has_room(&mut self, now: Instant) -> bool {
        while self
            .starts
            .front()
            .is_some_and(|start| now.duration_since(*start) >= MINUTE)
        {
            self.starts.pop_front();
        }
        let has_room = self.waiting.len() + self.starts.len() < PER_MINUTE;
        if !has_room {
            self.dropped += 1;
            self.dropped_since.get_or_insert(now);
        }
        has_room
    }

    /// The next message, if one may be started now.
    fn next(&mut self, now: Instant) -> Option<AlertMessage> {
        if self
            .starts
            .back()
            .is_some_and(|start| now.duration_since(*start) < PAUSE)
        {
            return None;
        }
        let message = self.waiting.pop_front()?;
        self.starts.push_back(now);
        Some(message)
    }

    /// How long to wait for the next start.
    fn pause(&self, now: Instant) -> Duration {
        let due = self.starts.back().map_or(Duration::ZERO, |start| {
            PAUSE.saturating_sub(now.duration_since(*start))
        });
        if self.waiting.is_empty() || due.is_zero() {
            IDLE
        } else {
            due.min(IDLE)
        }
    }

    /// The number dropped, once they stop for a moment, and at most once a minute.
    fn dropped_to_say(&mut self, now: Instant) -> Option<u64> {
        let is_due = self
            .dropped_since
            .is_some_and(|since| now.duration_since(since) >= PAUSE);
        let was_said = self
            .said
            .is_some_and(|said| now.duration_since(said) < MINUTE);
        if !is_due || was_said {
            return None;
        }
        (self.said, self.dropped_since) = (Some(now), None);
        Some(std::mem::take(&mut self.dropped))
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(in crate::jobs::notifications) fn message(number: u8, condition: &str) -> AlertMessage {
        let fired = FiredAlert {
            fired_id: number.into(),
            alert_id: "a".to_owned(),
            token_address: Address([number; 20]),
            symbol: Some(format!("S{number}")),
            condition: condition.to_owned(),
            fired_at: Time(0),
        };
        AlertMessage {
            fired,
            name: None,
            value: None,
        }
    }

    #[test]
    fn a_hundred_at_once_are_twenty_a_second_apart_and_one_number() {
        let mut queue = MessageQueue::default();
        let begun = Instant::now();
        let at = |milliseconds: u64| begun + Duration::from_millis(milliseconds);
        let offer = |queue: &mut MessageQueue, milliseconds| {
            let has_room = queue.has_room(at(milliseconds));
            if has_room {
                queue.waiting.push_back(message(1, "a"));
            }
            has_room
        };
        assert_eq!(
            (0..100).filter(|_| offer(&mut queue, 0)).count(),
            PER_MINUTE
        );
        assert_eq!(
            (
                queue.dropped_to_say(at(0)),
                queue.dropped_to_say(at(1_000)),
                queue.dropped_to_say(at(9_000))
            ),
            (None, Some(80), None)
        );
        let starts: Vec<u64> = (0..600)
            .map(|tenth| tenth * 100)
            .filter(|time| queue.next(at(*time)).is_some())
            .collect();
        assert_eq!(
            starts,
            (0..20).map(|second| second * 1_000).collect::<Vec<_>>()
        );
        assert!(!offer(&mut queue, 59_900), "at most twenty per minute");
        assert_eq!(queue.dropped_to_say(at(60_950)), None, "once a minute");
        assert!(
            offer(&mut queue, 60_000),
            "the first start was a minute ago"
        );
        assert!(!offer(&mut queue, 60_999));
        assert_eq!(queue.dropped_to_say(at(61_000)), Some(2));
    }

    #[test]
    fn the_body_is_the_firing_with_the_words_where_they_are_expected() {
        let json = |text: &str| {
            serde_json::from_slice::<Value>(&body(&message(1, "price>20"), text).expect("a body"))
                .expect("JSON")
        };
        let plain = json("");
        assert_eq!(
            plain,
            serde_json::to_value(message(1, "price>20").fired).expect("JSON")
        );
        let mut with_words = plain;
        with_words["content"] = "S1: price>20".into();
        assert_eq!(json("content"), with_words);
        let mut turned = message(1, "price>20");
        turned.fired.symbol = Some("\u{202e}UN\u{200b}I".to_owned());
        assert_eq!(turned.fired.says(), "UNI: price>20");
        for (name, good) in [
            ("text", true),
            ("", true),
            ("symbol", false),
            ("a b", false),
        ] {
            assert_eq!(AlertRoutes::is_text_member(name), good, "{name}");
        }
    }
}
