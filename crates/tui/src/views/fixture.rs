//! A test fixture that drives a view: on a synthetic market, on a synthetic dataset of files, or without data.

mod files;
mod market;

use crate::zone::DisplayZone;
use std::{
    collections::{HashMap, HashSet},
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use crossterm::event::KeyModifiers;

pub(super) use self::{
    files::{LINK, UNI, dataset},
    market::{address, market, table},
};
use crate::{
    views::{
        prelude::*,
        task::Wake,
        view::{ApiServerHandle, ApiState, NoApi, PictureSlot, take_filter_off},
    },
    widgets::{picture, table::AlertMark, theme::Theme},
};
use analysis::market::{Market, TokenSummary};
use load::Dataset;
use model::{annotations::Annotations, logged_request::LoggedRequest};
use query::{
    jobs::Jobs,
    service::{QueryService, ServiceOptions, load::LoadState},
};

/// Timeout for anything on a busy machine; reached on failure only.
pub(super) const PATIENCE: Duration = Duration::from_secs(90);

/// 2026-08-14T09:30:00Z, the time of every snapshot.
pub(super) const NOW: Time = Time(1_786_699_800_000);
pub(super) const SIZES: &[(u16, u16)] = &[(80, 20), (140, 38), (220, 56)];

/// A token without any figures.
pub(super) fn token() -> TokenSummary {
    Market::new(&market()).tokens.remove(9)
}

/// The mouse at a place of the screen: its left button pressed, dragged or released.
pub(super) fn mouse_at(
    kind: fn(MouseButton) -> MouseEventKind,
    column: u16,
    row: u16,
) -> MouseEvent {
    MouseEvent {
        kind: kind(MouseButton::Left),
        column,
        row,
        modifiers: KeyModifiers::NONE,
    }
}

/// A view on the synthetic market, drawn once.
pub(super) fn shown<V: View + Default>() -> (Stage, V) {
    let (stage, mut view) = (Stage::new(Some(market())), V::default());
    stage.draw(&mut view, 140, 38);
    (stage, view)
}

/// A query service over a dataset, and the rest of a view's context.
pub(super) struct Stage {
    pub(super) service: Arc<QueryService>,
    pub(super) snapshot: Option<Arc<Snapshot>>,
    pub(super) load: LoadState,
    pub(super) api: Box<dyn ApiServerHandle>,
    pub(super) jobs: Option<Arc<Jobs>>,
    pub(super) token: Option<Address>,
    pub(super) marks: Vec<Address>,
    pub(super) watchlist: HashSet<Address>,
    pub(super) annotations: Annotations,
    pub(super) alerts: HashMap<Address, AlertMark>,
    pub(super) theme: Theme,
    pub(super) ascii: bool,
    pub(super) picture: PictureSlot,
    pub(super) wake: Wake,
    /// How often the view was woken.
    woken: Arc<AtomicU64>,
}

impl Stage {
    pub(super) fn new(dataset: Option<Dataset>) -> Self {
        let woken = Arc::<AtomicU64>::default();
        let rung = Arc::clone(&woken);
        let service = QueryService::new(
            Path::new("/data/market"),
            ServiceOptions {
                workers: 1,
                ..ServiceOptions::default()
            },
        )
        .expect("a query service");
        let snapshot = dataset.map(|dataset| service.publish(dataset));
        Self {
            service,
            snapshot,
            load: LoadState::default(),
            api: Box::new(NoApi),
            jobs: None,
            token: Some(address(1)),
            marks: Vec::new(),
            watchlist: HashSet::from([address(1), address(8)]),
            annotations: Annotations::new(),
            alerts: HashMap::new(),
            theme: Theme::default(),
            ascii: false,
            picture: PictureSlot::default(),
            wake: Arc::new(move || _ = rung.fetch_add(1, Ordering::AcqRel)),
            woken,
        }
    }

    /// Without data.
    pub(super) fn empty() -> Self {
        Self::new(None)
    }

    /// On the dataset of files, with one of its tokens selected.
    pub(super) fn loaded() -> Self {
        Self {
            token: Address::parse(UNI),
            ..Self::new(Some(dataset()))
        }
    }

    pub(super) fn context(&self) -> Context<'_> {
        Context {
            service: &self.service,
            jobs: self.jobs.as_ref(),
            api: self.api.as_ref(),
            snapshot: self.snapshot.as_ref(),
            load: &self.load,
            token: self.token,
            marks: &self.marks,
            watchlist: &self.watchlist,
            annotations: &self.annotations,
            alerts: &self.alerts,
            theme: &self.theme,
            ascii: self.ascii,
            zone: DisplayZone::default(),
            now: NOW,
            wake: &self.wake,
            picture: &self.picture,
        }
    }

    pub(super) fn look<T>(&self, work: impl FnOnce(&Context<'_>) -> T) -> T {
        work(&self.context())
    }

    /// Repeats the step, in which the view takes what has arrived, until it is `done`.
    pub(super) fn until(&self, mut step: impl FnMut(&Context<'_>), mut done: impl FnMut() -> bool) {
        let begun = Instant::now();
        loop {
            step(&self.context());
            if done() {
                return;
            }
            assert!(begun.elapsed() < PATIENCE, "never");
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Repeats the step until nothing is under way: what does not wake the view again holds its wake no more.
    pub(super) fn rest(&self, step: impl FnMut(&Context<'_>)) {
        let seen = std::cell::Cell::new(self.woken.load(Ordering::Acquire));
        self.until(step, || {
            let woken = self.woken.load(Ordering::Acquire);
            seen.replace(woken) == woken && Arc::strong_count(&self.wake) == 1
        });
    }

    /// Runs the action as the application would, as far as the fixture supports it.
    pub(super) fn act(&mut self, view: &mut dyn View, action: Action) -> Effect {
        let mut effect = view.act(action, &self.context());
        if (action, &effect) == (Action::Back, &Effect::Pass)
            && take_filter_off(view, &self.context())
        {
            effect = Effect::Redraw;
        }
        match effect {
            Effect::Select(token) | Effect::Open(token, _) => self.token = Some(token),
            Effect::Star(token) if !self.watchlist.remove(&token) => {
                self.watchlist.insert(token);
            }
            _ => {}
        }
        view.refresh(&self.context());
        effect
    }

    /// The view's body once every answer has arrived.
    pub(super) fn draw(&self, view: &mut dyn View, width: u16, height: u16) -> Buffer {
        let area = Rect::new(0, 0, width, height);
        let mut last = Buffer::empty(area);
        self.rest(|context| {
            view.refresh(context);
            last = Buffer::empty(area);
            view.draw(&mut last, area, context);
        });
        last
    }

    pub(super) fn text(&self, view: &mut dyn View, width: u16, height: u16) -> String {
        picture::text(&self.draw(view, width, height))
    }

    /// One size of a screen whose other sizes `tests/it/screens.rs` holds, over the demo market.
    pub(super) fn screen(&self, view: &mut dyn View) -> String {
        self.text(view, 140, 38)
    }

    /// Three sizes of a screen that is reached by keys, each under a rule with its size.
    pub(super) fn screens(&self, view: &mut dyn View) -> String {
        in_each_size(|width, height| self.text(view, width, height))
    }

    pub(super) fn screens_now(&self, view: &mut dyn View) -> String {
        in_each_size(|width, height| self.text_now(view, width, height))
    }

    /// The view's current body, without asking or waiting.
    pub(super) fn draw_now(&self, view: &mut dyn View, width: u16, height: u16) -> Buffer {
        let area = Rect::new(0, 0, width, height);
        let mut buffer = Buffer::empty(area);
        view.draw(&mut buffer, area, &self.context());
        buffer
    }

    pub(super) fn text_now(&self, view: &mut dyn View, width: u16, height: u16) -> String {
        picture::text(&self.draw_now(view, width, height))
    }

    /// Sends these actions without waiting in between.
    pub(super) fn press(&self, view: &mut dyn View, actions: &[Action]) {
        let context = self.context();
        for action in actions {
            drop(view.act(*action, &context));
        }
    }

    /// Compares the screen as text with the named snapshot.
    pub(super) fn hold(&self, name: &str, view: &mut dyn View, sizes: &[(u16, u16)]) {
        for &(width, height) in sizes {
            insta::assert_snapshot!(
                format!("{name}-{width}x{height}"),
                self.text_now(view, width, height)
            );
        }
    }

    /// Draws in many small and odd sizes, to check for panics.
    pub(super) fn draw_in_odd_sizes(&self, view: &mut dyn View) {
        for width in (0..6).chain([
            12, 19, 40, 59, 60, 76, 79, 100, 109, 110, 111, 131, 160, 300,
        ]) {
            for height in (0..12).chain([14, 16, 24, 35, 36, 60]) {
                let mut buffer = self.draw_now(view, width, height);
                // An area beyond the screen, as between a resize and the next frame.
                view.draw(
                    &mut buffer,
                    Rect::new(3, 2, width + 9, height + 9),
                    &self.context(),
                );
            }
        }
    }
}

fn in_each_size(mut text: impl FnMut(u16, u16) -> String) -> String {
    [(80, 24), (140, 42), (220, 60)]
        .map(|(width, height)| format!("== {width}x{height}\n{}", text(width, height - 4)))
        .concat()
}

/// A fake API with a list of requests.
pub(super) struct FakeApi {
    pub(super) state: ApiState,
    pub(super) requests: Vec<LoggedRequest>,
}

impl ApiServerHandle for FakeApi {
    fn state(&self) -> ApiState {
        self.state.clone()
    }

    fn key(&self) -> Option<String> {
        Some("td_5f0c1a9e77b2".to_owned())
    }

    fn requests(&self, limit: usize) -> Vec<LoggedRequest> {
        self.requests.iter().take(limit).cloned().collect()
    }

    fn histogram(&self) -> Vec<(u64, u64)> {
        if self.requests.is_empty() {
            return Vec::new();
        }
        let counts = [0, 3, 41, 180, 402, 251, 96, 44, 12, 7, 0, 1, 0, 0];
        counts
            .into_iter()
            .enumerate()
            .map(|(i, count)| (25_u64 << i, count))
            .chain([(u64::MAX, 0)])
            .collect()
    }

    fn start(&self) -> ApiState {
        ApiState::Failed("port 8787 is in use; name another in the configuration".to_owned())
    }
}
