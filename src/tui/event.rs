//! Everything that can happen to the dashboard, as one closed kind on one channel: keys and mouse, signals, news from the deck,
//! answers that came. The threads that feed it live here; what happens then does not.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc::{Receiver, SyncSender, TrySendError, sync_channel},
    },
    thread,
};

use crossterm::event::{KeyEvent, MouseEvent};
use signal_hook::{
    consts::{SIGCONT, SIGHUP, SIGINT, SIGTERM, SIGTSTP},
    iterator::Signals,
};
use tokio::sync::broadcast::error::RecvError;

use super::view::Wake;
use crate::deck::{Deck, DeckEvent};

#[derive(Debug, Clone)]
pub enum Event {
    Key(KeyEvent),
    Mouse(MouseEvent),
    Paste(String),
    Resize,
    /// An answer came, or a load moved on.
    Wake,
    Deck(DeckEvent),
    /// Ended from outside, with the exit code.
    Terminate(i32),
    Suspend,
    Continue,
}

/// Events wait here; keys are never dropped, wake-ups fold into one.
const QUEUE: usize = 4_096;

pub struct Events {
    pub receiver: Receiver<Event>,
    sender: SyncSender<Event>,
    woken: Arc<AtomicBool>,
}

impl Events {
    pub fn new() -> Self {
        let (sender, receiver) = sync_channel(QUEUE);
        Self { receiver, sender, woken: Arc::default() }
    }

    /// Call it from any thread to make the dashboard look again. Many calls before it looks are one.
    pub fn wake(&self) -> Wake {
        let (sender, woken) = (self.sender.clone(), Arc::clone(&self.woken));
        Arc::new(move || {
            if !woken.swap(true, Ordering::AcqRel)
                && let Err(TrySendError::Full(_)) = sender.try_send(Event::Wake)
            {
                // The queue holds events that make it look anyway.
                woken.store(false, Ordering::Release);
            }
        })
    }

    /// From now on a new wake-up is a new event.
    pub fn seen_wake(&self) {
        self.woken.store(false, Ordering::Release);
    }

    /// Starts the threads that listen to the terminal, to signals and to the deck.
    pub fn listen(&self, deck: &Deck) -> std::io::Result<()> {
        self.listen_to_signals()?;
        self.listen_to_deck(deck)?;
        let sender = self.sender.clone();
        thread::Builder::new().name("input".into()).spawn(move || {
            loop {
                let event = match crossterm::event::read() {
                    Ok(crossterm::event::Event::Key(key)) => Event::Key(key),
                    Ok(crossterm::event::Event::Mouse(mouse)) => Event::Mouse(mouse),
                    Ok(crossterm::event::Event::Paste(text)) => Event::Paste(text),
                    Ok(crossterm::event::Event::Resize(..)) => Event::Resize,
                    Ok(_) => continue,
                    // The terminal is gone.
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

    fn listen_to_signals(&self) -> std::io::Result<()> {
        let mut signals = Signals::new([SIGTERM, SIGINT, SIGHUP, SIGTSTP, SIGCONT])?;
        let sender = self.sender.clone();
        thread::Builder::new().name("signals".into()).spawn(move || {
            for signal in &mut signals {
                let event = match signal {
                    SIGHUP => Event::Terminate(129),
                    SIGTSTP => Event::Suspend,
                    SIGCONT => Event::Continue,
                    _ => Event::Terminate(0),
                };
                if sender.send(event).is_err() {
                    break;
                }
            }
        })?;
        Ok(())
    }

    fn listen_to_deck(&self, deck: &Deck) -> std::io::Result<()> {
        let mut news = deck.listen();
        let sender = self.sender.clone();
        thread::Builder::new().name("news".into()).spawn(move || {
            loop {
                let event = match news.blocking_recv() {
                    Ok(event) => Event::Deck(event),
                    Err(RecvError::Lagged(_)) => Event::Wake,
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

impl Default for Events {
    fn default() -> Self {
        Self::new()
    }
}
