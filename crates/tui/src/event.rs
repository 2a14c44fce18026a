//! All events of the dashboard in one enum on one channel: keys and mouse, signals, service news, arrived answers. The threads that send them
//! live here; their handling does not.

#[cfg(unix)]
mod signals;
#[cfg(unix)]
mod unended;

use std::{
    io::Read,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc::{Receiver, SyncSender, TrySendError, sync_channel},
    },
    thread,
    time::{Duration, Instant},
};

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers, MouseEvent};
use tokio::sync::broadcast::error::RecvError;

#[cfg(unix)]
use self::unended::InputWatch;
use super::graphics::answers::{TerminalAnswers, TerminalReader, TerminalReply};
use crate::views::task::Wake;
use query::service::{QueryService, ServiceEvent};

#[derive(Debug, Clone)]
pub enum Event {
    Key(KeyEvent),
    Mouse(MouseEvent),
    Paste(String),
    Resize,
    /// What the terminal answered about pictures.
    Terminal(TerminalAnswers),
    /// An answer arrived, or a load progressed.
    Wake,
    QueryService(ServiceEvent),
    /// Terminated from outside, with the exit code.
    Terminate(i32),
    Suspend,
    Continue,
}

/// Queue capacity; keys are never dropped, wake-ups are coalesced.
const QUEUE: usize = 4_096;

pub struct Events {
    pub receiver: Receiver<Event>,
    sender: SyncSender<Event>,
    woken: Arc<AtomicBool>,
}

impl Default for Events {
    fn default() -> Self {
        let (sender, receiver) = sync_channel(QUEUE);
        Self {
            receiver,
            sender,
            woken: Arc::default(),
        }
    }
}

impl Events {
    /// Returns a callback that wakes the event loop from any thread. Calls are coalesced until the loop has seen one.
    pub fn wake(&self) -> Wake {
        let (sender, woken) = (self.sender.clone(), Arc::clone(&self.woken));
        Arc::new(move || {
            if !woken.swap(true, Ordering::AcqRel)
                && let Err(TrySendError::Full(_)) = sender.try_send(Event::Wake)
            {
                // The queued events wake the loop anyway.
                woken.store(false, Ordering::Release);
            }
        })
    }

    /// Ends the coalescing: the next wake-up is a new event.
    pub fn seen_wake(&self) {
        self.woken.store(false, Ordering::Release);
    }

    /// Starts the threads that listen to terminal, signals and service; `asked` when the terminal was asked about pictures.
    pub fn listen(&self, service: &QueryService, asked: Option<Instant>) -> std::io::Result<()> {
        #[cfg(unix)]
        signals::listen(&self.sender)?;
        self.listen_to_deck(service)?;
        let sender = self.sender.clone();
        thread::Builder::new().name("input".into()).spawn(move || {
            let mut answer = LateAnswer::default();
            let watch = InputWatch::new();
            if asked.is_some_and(|asked| hear(&sender, asked, &watch).is_none()) {
                return;
            }
            loop {
                watch.tell(true);
                if !crossterm::event::poll(Duration::ZERO).unwrap_or(true) {
                    watch.tell(false);
                    InputWatch::wait();
                    watch.tell(true);
                }
                let read = crossterm::event::read();
                watch.tell(false);
                let event = match read {
                    // Windows tells of a key that is let go, too.
                    Ok(crossterm::event::Event::Key(key)) if key.kind == KeyEventKind::Release => {
                        continue;
                    }
                    Ok(crossterm::event::Event::Key(key)) if answer.holds(&key, Instant::now()) => {
                        continue;
                    }
                    Ok(crossterm::event::Event::Key(key)) => Event::Key(key),
                    Ok(crossterm::event::Event::Mouse(mouse)) => Event::Mouse(mouse),
                    Ok(crossterm::event::Event::Paste(text)) => Event::Paste(text),
                    Ok(crossterm::event::Event::Resize(..)) => Event::Resize,
                    Ok(_) => continue,
                    // The terminal is gone (SIGHUP, 128 + 1).
                    Err(_) => Event::Terminate(129),
                };
                let last = matches!(event, Event::Terminate(_));
                if sender.send(event).is_err() || last {
                    break;
                }
            }
        })?;
        Ok(())
    }

    fn listen_to_deck(&self, service: &QueryService) -> std::io::Result<()> {
        let mut news = service.listen();
        let sender = self.sender.clone();
        thread::Builder::new().name("news".into()).spawn(move || {
            loop {
                let event = match news.blocking_recv() {
                    Ok(event) => Event::QueryService(event),
                    // Of the missed news, only alerts would be lost for good.
                    Err(RecvError::Lagged(_)) => Event::QueryService(ServiceEvent::AlertsFired),
                    Err(RecvError::Closed) => break,
                };
                if sender.send(event).is_err() {
                    break;
                }
            }
        })?;
        Ok(())
    }
}

/// How long a terminal's answers are awaited; later ones are not used.
const ANSWER_TIME: Duration = Duration::from_millis(150);

/// Reads the terminal's answers and the keys among them, until it has told its attributes or it is too late: from then on crossterm reads,
/// which knows more keys. `None` when the terminal or the dashboard is gone.
fn hear(sender: &SyncSender<Event>, asked: Instant, watch: &InputWatch) -> Option<()> {
    let (mut hearing, mut bytes) = (TerminalReader::default(), [0; 1 << 14]);
    loop {
        // More than the standard library's own buffer takes, so that nothing stays in that.
        let count = match std::io::stdin().lock().read(&mut bytes) {
            Ok(count @ 1..) => count,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            _ => {
                sender.send(Event::Terminate(129)).ok();
                return None;
            }
        };
        for heard in hearing.take(&bytes[..count]) {
            sender
                .send(match heard {
                    TerminalReply::Key(key) => Event::Key(key),
                    TerminalReply::Paste(text) => Event::Paste(text),
                })
                .ok()?;
        }
        watch.tell(!hearing.is_whole());
        if hearing.is_whole() && (hearing.answers.arrived || asked.elapsed() > ANSWER_TIME) {
            return sender.send(Event::Terminal(hearing.answers)).ok();
        }
    }
}

/// Where keys are told whole, nothing is to be watched.
#[cfg(not(unix))]
struct InputWatch;

#[cfg(not(unix))]
impl InputWatch {
    fn new() -> Self {
        Self
    }

    fn wait() {}

    fn tell(&self, _begun: bool) {}
}

/// The terminal's late reply to a question, which arrives as key events: Alt-] (a color), Alt-_ (kitty's) or Alt-P (its name), the letters
/// of the reply, and Alt-\ or Ctrl-G at its end. Filtered out, or it would run arbitrary key commands.
#[derive(Debug, Default)]
struct LateAnswer {
    since: Option<Instant>,
}

impl LateAnswer {
    /// A reply arrives in one burst; keys after this time were pressed.
    const TIME: Duration = Duration::from_millis(100);

    /// Whether the key is a part of a reply.
    fn holds(&mut self, key: &KeyEvent, now: Instant) -> bool {
        let with =
            |modifiers, letter| key.modifiers == modifiers && key.code == KeyCode::Char(letter);
        let begins =
            |letter| key.code == KeyCode::Char(letter) && key.modifiers.contains(KeyModifiers::ALT);
        if [']', '_', 'P'].into_iter().any(begins) {
            self.since = Some(now);
            return true;
        }
        let holds = self
            .since
            .is_some_and(|since| now.saturating_duration_since(since) <= Self::TIME);
        if !holds || with(KeyModifiers::ALT, '\\') || with(KeyModifiers::CONTROL, 'g') {
            self.since = None;
        }
        holds
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_late_answer_is_no_keys() {
        let start = Instant::now();
        let mut answer = LateAnswer::default();
        let plain = |letter| KeyEvent::new(KeyCode::Char(letter), KeyModifiers::NONE);
        let alt = |letter| KeyEvent::new(KeyCode::Char(letter), KeyModifiers::ALT);
        assert!(!answer.holds(&plain('r'), start));
        let keys = [alt(']'), plain('1'), plain(';'), plain('r'), alt('\\')];
        assert!(keys.iter().all(|key| answer.holds(key, start)));
        assert!(!answer.holds(&plain('q'), start), "the answer has ended");
        let capital = KeyEvent::new(KeyCode::Char('P'), KeyModifiers::ALT | KeyModifiers::SHIFT);
        for begin in [alt('_'), capital] {
            assert!(
                [begin, plain('G'), plain('O'), plain('K'), alt('\\')]
                    .iter()
                    .all(|key| answer.holds(key, start))
            );
        }
        assert!(answer.holds(&alt(']'), start));
        assert!(
            !answer.holds(&plain('q'), start + LateAnswer::TIME * 2),
            "no terminal replies so slowly"
        );
    }
}
