//! A headless dashboard for the tests of the app: keys in, the screen as text out.

use crate::zone::DisplayZone;
use std::{
    fs,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::{buffer::Buffer, layout::Rect};
use tempfile::TempDir;
use tokio::sync::broadcast::Receiver;

use super::{App, Setup};
use crate::{
    event::Event,
    views::{task::Wake, view::View},
    widgets::{
        picture,
        theme::{Appearance, Options, Theme},
    },
};
use load::Dataset;
use query::service::{QueryService, ServiceEvent, ServiceOptions};

/// Timeout for anything on a busy machine; reached on failure only.
pub(crate) const PATIENCE: Duration = Duration::from_secs(90);

pub(crate) struct Bench {
    pub(crate) app: App,
    /// The dataset's folder.
    pub(crate) folder: TempDir,
    news: Receiver<ServiceEvent>,
    /// What the app gives to whatever it starts, to be woken by.
    wake: Wake,
    /// How often it was woken.
    woken: Arc<AtomicU64>,
}

impl Bench {
    pub(crate) fn new(views: Vec<Box<dyn View>>) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let service = QueryService::new(
            folder.path(),
            ServiceOptions {
                workers: 1,
                ..ServiceOptions::default()
            },
        )
        .expect("a query service");
        let news = service.listen();
        let look = Appearance {
            theme: Theme::default(),
            ascii: false,
            bell: true,
            zone: DisplayZone::default(),
            options: Options::default(),
            fixed: true,
        };
        let setup = Setup::still(service, look);
        let woken = Arc::<AtomicU64>::default();
        let rung = Arc::clone(&woken);
        let wake: Wake = Arc::new(move || _ = rung.fetch_add(1, Ordering::AcqRel));
        Self {
            app: App::new(setup, views, Arc::clone(&wake)),
            folder,
            news,
            wake,
            woken,
        }
    }

    /// Presses each key: `⏎` is Enter, `⎋` Esc, `⌫` Backspace, `⌦` Delete, `⇥` Tab, `⌃` Ctrl-A.
    pub(crate) fn keys(&mut self, keys: &str) {
        for key in keys.chars() {
            let code = match key {
                '⏎' => KeyCode::Enter,
                '⎋' => KeyCode::Esc,
                '⌫' => KeyCode::Backspace,
                '⌦' => KeyCode::Delete,
                '⇥' => KeyCode::Tab,
                '↓' => KeyCode::Down,
                '⌃' => KeyCode::Char('a'),
                key => KeyCode::Char(key),
            };
            let modifiers = if key == '⌃' {
                KeyModifiers::CONTROL
            } else {
                KeyModifiers::NONE
            };
            self.app.update(Event::Key(KeyEvent::new(code, modifiers)));
            self.arranged();
        }
    }

    /// Waits for the rows of the view: a person sees them before the next key.
    fn arranged(&mut self) {
        let start = Instant::now();
        while self.app.view().is_arranging() {
            assert!(start.elapsed() < PATIENCE, "no rows\n{}", self.screen());
            thread::sleep(Duration::from_millis(1));
            self.app.take_in_changes();
        }
    }

    /// Publishes the data; those without a folder of their own are of the folder of the bench.
    pub(crate) fn load(&mut self, mut dataset: Dataset) {
        if dataset.folder.starts_with(std::env::temp_dir()) {
            dataset.folder = self.folder.path().to_owned();
        }
        let generation = self.app.setup.service.publish(dataset).generation;
        self.app
            .update(Event::QueryService(ServiceEvent::Reloaded(generation)));
        self.arranged();
    }

    pub(crate) fn screen_of(&mut self, width: u16, height: u16) -> String {
        let area = Rect::new(0, 0, width, height);
        let mut buffer = Buffer::empty(area);
        self.app.draw_into(&mut buffer, area);
        picture::text(&buffer)
    }

    /// The current screen, without waiting.
    pub(crate) fn screen(&mut self) -> String {
        self.screen_of(120, 30)
    }

    /// The screen once every answer has arrived, the same wherever the test runs.
    pub(crate) fn settled(&mut self, width: u16, height: u16) -> String {
        self.rest();
        self.screen_of(width, height)
            .replace(&self.folder.path().display().to_string(), "DATASETS")
    }

    /// Takes in what arrives until nothing is under way: work that does not wake the app again holds its wake no more.
    pub(crate) fn rest(&mut self) {
        let start = Instant::now();
        loop {
            let woken = self.woken.load(Ordering::Acquire);
            self.app.take_in_changes();
            // Here and in the app.
            let is_idle = Arc::strong_count(&self.wake) == 2;
            if is_idle && self.woken.load(Ordering::Acquire) == woken {
                return;
            }
            assert!(
                start.elapsed() < PATIENCE,
                "never at rest\n{}",
                self.screen()
            );
            thread::sleep(Duration::from_millis(1));
        }
    }

    /// Handles events until the screen contains the text; returns that screen.
    pub(crate) fn until(&mut self, shown: &str) -> String {
        let start = Instant::now();
        loop {
            while let Ok(event) = self.news.try_recv() {
                self.app.update(Event::QueryService(event));
            }
            self.app.update(Event::Wake);
            let screen = self.screen();
            if screen.contains(shown) {
                return screen;
            }
            assert!(start.elapsed() < PATIENCE, "{shown}\n{screen}");
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// The names of the files in the dataset's folder.
    pub(crate) fn files(&self) -> Vec<String> {
        let entries = fs::read_dir(self.folder.path()).expect("the folder");
        let mut names: Vec<String> = entries
            .flatten()
            .map(|entry| entry.file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }
}
