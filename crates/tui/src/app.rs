//! The application state and its event handling. One owner, one thread: views read a `Context` and return an `Effect`. No drawing and no
//! terminal output here.

mod add;
mod alerts;
mod annotations;
mod as_of;
#[cfg(test)]
pub(crate) mod bench;
mod data;
mod early;
mod effects;
mod export;
mod filter;
mod follow;
mod import;
mod mouse;
mod rehearsal;
mod screens;
mod tour;

pub use self::filter::FilterLine;
pub use model::wall_clock::now as wall_clock;

use std::{
    collections::{BTreeMap, HashSet},
    path::PathBuf,
    sync::Arc,
    time::{Duration, Instant},
};

use crossterm::event::KeyEvent;
use ratatui::layout::Rect;
use serde_json::{Map, Value};

use crate::{
    chrome::ChromeHit,
    event::Event,
    graphics::Graphics,
    overlay::{Overlay, OverlayOutcome, help::Help, palette::CommandPalette},
    views::{
        keymap::{Action, Keymap, VIEWS, ViewId},
        task::{BackgroundTask, Wake},
        view::{
            ApiServerHandle, ApiState, Context, Effect, LiveSettings, NoApi, PictureSlot, View,
        },
    },
    widgets::theme::Appearance,
};
use model::{
    address::Address,
    annotations::{Annotation, Annotations},
    time::Time,
};
use query::{
    jobs::Jobs,
    queries::{rehearsal::Rehearsal, snapshot::Snapshot},
    service::{QueryService, load::LoadState},
};

/// How long a toast stays in the footer.
const MESSAGE_TIME: Duration = Duration::from_secs(4);

/// Start-up options of the dashboard.
pub struct Setup {
    pub service: Arc<QueryService>,
    pub jobs: Option<Arc<Jobs>>,
    pub api: Arc<dyn ApiServerHandle>,
    /// Whether the API server starts with the dashboard.
    pub start_api: bool,
    pub keymap: Keymap,
    pub look: Appearance,
    pub graphics: Graphics,
    /// The clock for ages on screen; a fixed one makes screenshots reproducible.
    pub clock: fn() -> Time,
    /// The folder of the user's data, where a dataset can be created.
    pub data_folder: Option<std::path::PathBuf>,
    /// The folder of the user's import formats and providers.
    pub config_folder: Option<std::path::PathBuf>,
    /// Start-up warnings, shown in the header.
    pub warnings: Vec<String>,
    /// Whether the dashboard starts with the tour.
    pub tour: bool,
}

impl Setup {
    /// Without jobs, an API and folders: for pictures and tests.
    pub fn still(service: Arc<QueryService>, look: Appearance) -> Self {
        Self {
            service,
            jobs: None,
            api: Arc::new(NoApi),
            start_api: false,
            keymap: Keymap::default(),
            look,
            graphics: Graphics::Off,
            clock: wall_clock,
            data_folder: None,
            tour: false,
            config_folder: None,
            warnings: Vec::new(),
        }
    }
}

/// A toast in the footer.
#[derive(Debug, Clone)]
pub struct Message {
    pub text: String,
    pub warning: bool,
    until: Instant,
}

#[allow(
    clippy::struct_excessive_bools,
    reason = "each is an independent switch, and any combination is valid"
)]
pub struct App {
    pub(super) setup: Setup,
    pub(super) views: Vec<Box<dyn View>>,
    pub(super) current: ViewId,
    pub(super) token: Option<Address>,
    /// The token selected before its row disappeared: selected again once it is back, unless another is chosen.
    pub(super) lost_token: Option<Address>,
    pub(super) watchlist: HashSet<Address>,
    pub(super) annotations: Annotations,
    pub(super) overlay: Option<Overlay>,
    pub(super) tour: Option<tour::Tour>,
    pub(super) filter: Option<FilterLine>,
    pub(super) message: Option<Message>,
    exporting: Option<export::Exporting>,
    rehearsing: Option<BackgroundTask<Rehearsal>>,
    importing: Option<import::Importing>,
    adding: Option<add::Adding>,
    early: early::EarlyKeys,
    pub(super) earlier: as_of::PointInTimeView,
    alerts: alerts::Alerts,
    pub(super) snapshot: Option<Arc<Snapshot>>,
    pub(super) load: LoadState,
    /// The tabs and key hints of the last frame, for the mouse.
    pub(super) hits: Vec<(Rect, ChromeHit)>,
    pub(super) chosen_theme: Option<String>,
    /// Named screens, by view.
    pub(super) screens: BTreeMap<&'static str, Map<String, Value>>,
    /// The configuration file, while it is watched for changes.
    settings: Option<Arc<dyn LiveSettings>>,
    /// The list that J and K step through.
    pub(super) stepped_list: ViewId,
    /// The view that Esc returns to.
    pub(super) opened_from: Option<ViewId>,
    wake: Wake,
    /// Escape sequences to write after the next frame (clipboard).
    pub(super) after_frame: Vec<u8>,
    /// The remote origins that consent dialogs asked about.
    asked_about: Vec<String>,
    /// Until when prices that changed are marked.
    marked_until: Option<Instant>,
    /// A frame must be drawn.
    pub(super) dirty: bool,
    /// Redraw the next frame in full: the terminal's content is unknown.
    pub(super) full_redraw: bool,
    /// The program ends, with this code.
    pub(super) exit: Option<i32>,
    pub(super) suspend: bool,
    /// Of the last frame.
    pub(super) picture: PictureSlot,
    /// The tokens whose star changed and is not saved yet.
    pub(super) starred: Vec<Address>,
    /// The changes of levels and notes that are not saved yet.
    pub(super) annotated: Vec<(Address, Annotation)>,
    /// No session was saved before, and no other view has been opened since.
    pub(super) is_new_here: bool,
    /// The folder of the data that the last session showed.
    pub(super) last_folder: Option<PathBuf>,
    /// The dataset that the session is about, by its folder, and whether its data was shown.
    pub(super) dataset: String,
    pub(super) is_loaded: bool,
    /// The stored sessions of the datasets.
    pub(super) datasets: serde_json::Map<String, serde_json::Value>,
    /// The view in which keys were pressed before its rows were there: its selection becomes the program's token afterwards.
    pending_selection: Option<ViewId>,
    /// A step to the next token (or the previous one) that waits until the list has its rows.
    pending_step: Option<bool>,
    /// When the load progress was last polled.
    ticked: Instant,
}

impl App {
    pub fn new(setup: Setup, views: Vec<Box<dyn View>>, wake: Wake) -> Self {
        let warnings = setup.warnings.join(" · ");
        let mut app = Self {
            setup,
            views,
            current: ViewId::Tokens,
            token: None,
            lost_token: None,
            watchlist: HashSet::new(),
            annotations: Annotations::new(),
            overlay: None,
            tour: None,
            filter: None,
            message: None,
            exporting: None,
            rehearsing: None,
            importing: None,
            adding: None,
            early: early::EarlyKeys::default(),
            earlier: as_of::PointInTimeView::default(),
            alerts: alerts::Alerts::default(),
            snapshot: None,
            load: LoadState::default(),
            hits: Vec::new(),
            chosen_theme: None,
            screens: BTreeMap::new(),
            stepped_list: ViewId::Tokens,
            settings: None,
            opened_from: None,
            wake,
            after_frame: Vec::new(),
            asked_about: Vec::new(),
            marked_until: None,
            dirty: true,
            full_redraw: false,
            exit: None,
            suspend: false,
            picture: PictureSlot::default(),
            starred: Vec::new(),
            annotated: Vec::new(),
            is_new_here: false,
            last_folder: None,
            dataset: String::new(),
            is_loaded: false,
            datasets: serde_json::Map::new(),
            pending_selection: None,
            pending_step: None,
            ticked: Instant::now(),
        };
        if !warnings.is_empty() {
            app.say(warnings, true);
        }
        if app.setup.tour {
            app.begin_tour();
        }
        app.take_in_changes();
        app
    }

    /// Runs after the first frame.
    pub fn start(&mut self) {
        if self.setup.start_api
            && let ApiState::Failed(reason) | ApiState::Taken(reason) = self.setup.api.start()
        {
            self.say(
                format!("{reason}; the dashboard runs without the API"),
                true,
            );
        }
        self.dirty = true;
    }

    /// Handles one event.
    pub fn update(&mut self, event: Event) {
        match event {
            Event::Key(key) => self.key(&key),
            Event::Mouse(mouse) => self.mouse(mouse),
            Event::Paste(text) => self.paste(&text),
            Event::Resize | Event::Terminal(_) => self.dirty = true,
            Event::Continue => self.request_full_redraw(),
            Event::Wake => self.take_in_changes(),
            Event::QueryService(event) => self.on_deck_event(event),
            Event::Terminate(code) => self.exit = Some(code),
            Event::Suspend => self.suspend = true,
        }
    }

    fn request_full_redraw(&mut self) {
        (self.dirty, self.full_redraw) = (true, true);
    }

    /// The next time to wake up without an event: a toast expires, an export or a load has progressed.
    pub fn deadline(&self) -> Option<Instant> {
        let message = self.message.as_ref().map(|message| message.until);
        message
            .into_iter()
            .chain(self.marked_until)
            .chain(self.progress_tick())
            .min()
    }

    pub fn deadline_passed(&mut self, now: Instant) {
        self.progress_ticked(now);
        self.release_early();
        if self.marked_until.is_some_and(|until| until <= now) {
            self.marked_until = None;
            self.dirty = true;
        }
        if self
            .message
            .as_ref()
            .is_some_and(|message| message.until <= now)
        {
            self.message = None;
            self.dirty = true;
        }
    }

    pub fn say(&mut self, text: impl Into<String>, warning: bool) {
        self.message = Some(Message {
            text: text.into(),
            warning,
            until: Instant::now() + MESSAGE_TIME,
        });
        self.dirty = true;
    }

    fn key(&mut self, key: &KeyEvent) {
        if key.kind == crossterm::event::KeyEventKind::Release {
            return;
        }
        self.dirty = true;
        if self.holds_early(key) {
            return;
        }
        if let Some(overlay) = &mut self.overlay {
            let outcome = overlay.key(key);
            self.outcome(outcome);
        } else if self.filter.is_some() {
            self.filter_key(key);
        } else if let Some(action) = self.setup.keymap.action(self.current, key) {
            if action == Action::Back && self.leave_tour() {
                return;
            }
            self.act(action);
            self.tour_follows(action);
        }
    }

    fn outcome(&mut self, outcome: OverlayOutcome) {
        match outcome {
            OverlayOutcome::Stay => {}
            OverlayOutcome::Close => self.overlay = None,
            OverlayOutcome::Apply(command) => self.run(command),
            OverlayOutcome::Run(command) => {
                self.overlay = None;
                self.run(command);
            }
        }
    }

    fn paste(&mut self, text: &str) {
        self.dirty = true;
        if let Some(overlay) = &mut self.overlay {
            overlay.paste(text);
        } else {
            self.paste_line(text);
        }
    }

    /// Runs an action, from key, mouse or palette.
    pub fn act(&mut self, action: Action) {
        self.dirty = true;
        if let Some(row) = VIEWS.iter().find(|row| row.goto == action) {
            self.go(row.id);
            return;
        }
        match action {
            Action::Quit => self.exit = Some(0),
            Action::Suspend => self.suspend = true,
            Action::Redraw => self.request_full_redraw(),
            Action::NextView => self.go(self.current.next()),
            Action::PreviousView => self.go(self.current.previous()),
            Action::Help => self.open_help(),
            Action::Tour => self.begin_tour(),
            Action::Palette => self.open_palette(),
            Action::Filter => self.open_filter(),
            Action::Export => self.open_export(),
            Action::Columns => self.open_columns(),
            Action::Indicators => self.open_indicators(),
            Action::NextToken => self.step_token(true),
            Action::PreviousToken => self.step_token(false),
            Action::Screens => self.open_screens(),
            Action::Alerts => self.open_alerts(""),
            Action::Levels => self.open_levels(),
            Action::Note => self.open_note(),
            Action::CopyRow => self.copy_row(),
            Action::CopyCurl => self.copy_curl(),
            Action::Reload => self.reload(),
            Action::Report => self.open_report(),
            Action::AsOf => self.toggle_as_of(),
            Action::DayBefore => self.step_as_of(-1),
            Action::DayAfter => self.step_as_of(1),
            Action::Back if self.stop_export() => {}
            action => {
                if action == Action::CompareTokens {
                    // The hint about marked tokens is obsolete.
                    self.message = None;
                }
                let effect =
                    self.with_view(self.current, |view, context| view.act(action, context));
                self.carry_out_or_default(action, effect);
            }
        }
    }

    /// Carries out the effect of an action; one that the view passed on gets its default handling.
    fn carry_out_or_default(&mut self, action: Action, effect: Effect) {
        if effect == Effect::Pass {
            match (action, self.token) {
                (Action::Star, Some(token)) => return self.carry_out(Effect::Star(token)),
                (Action::CopyValue, Some(token)) => {
                    return self.carry_out(Effect::Copy(token.to_string(), "address"));
                }
                (Action::Back, _) => return self.back(),
                _ => {}
            }
        }
        self.carry_out(effect);
    }

    /// Clears the filter; without one cancels the running load, else returns to the view this one was opened from.
    fn back(&mut self) {
        if self.with_view(self.current, crate::views::view::take_filter_off) {
            self.take_in_changes();
        } else if self.load.running && self.snapshot.is_some() {
            self.setup.service.cancel_load();
        } else if self.setup.service.stop_feed() {
            self.say(
                "the fetch was stopped; rows already fetched are kept",
                false,
            );
        } else if let Some(view) = self.opened_from.take() {
            self.go(view);
        }
        self.dirty = true;
    }

    pub(super) fn go(&mut self, view: ViewId) {
        self.drop_invalid_filter();
        if self.filter.is_some() {
            self.keep_filter();
        }
        if matches!(self.current, ViewId::Tokens | ViewId::Growth) {
            self.stepped_list = self.current;
        }
        // A toast about one view is dropped on leaving it; a warning stays.
        self.message = self
            .message
            .take()
            .filter(|message| message.warning || self.current == view);
        self.is_new_here &= self.current == view;
        (self.current, self.lost_token) = (view, None);
        self.opened_from = None;
        self.filter = None;
        self.take_in_changes();
    }

    fn open_help(&mut self) {
        let help = Help::new(&self.setup.keymap, self.current, &self.setup.warnings);
        self.overlay = Some(Overlay::Help(match self.view().own_keys() {
            Some((name, keys)) => help.of_pane(name, keys),
            None => help,
        }));
    }

    pub(super) fn open_palette(&mut self) {
        let tokens = self
            .snapshot
            .as_ref()
            .map_or(&[][..], |snapshot| &snapshot.market.tokens);
        let on = matches!(self.setup.api.state(), ApiState::Listening(_));
        self.overlay = Some(Overlay::Palette(CommandPalette::new(
            &self.setup.keymap,
            self.current,
            tokens,
            on,
        )));
    }

    /// Runs `work` with the view and its context.
    pub(crate) fn with_view<T>(
        &mut self,
        id: ViewId,
        work: impl FnOnce(&mut dyn View, &Context<'_>) -> T,
    ) -> T {
        let marks = match id {
            ViewId::Jobs => self.views[ViewId::Tokens as usize].marks().to_vec(),
            _ => Vec::new(),
        };
        let Self {
            setup,
            views,
            token,
            watchlist,
            annotations,
            alerts,
            snapshot,
            load,
            wake,
            earlier,
            picture,
            ..
        } = self;
        let context = Context {
            service: earlier.or(&setup.service),
            jobs: setup.jobs.as_ref(),
            api: setup.api.as_ref(),
            snapshot: snapshot.as_ref(),
            load,
            token: *token,
            marks: &marks,
            watchlist,
            annotations,
            alerts: &alerts.marks,
            theme: &setup.look.theme,
            ascii: setup.look.ascii,
            zone: setup.look.zone,
            now: (setup.clock)(),
            wake,
            picture,
        };
        work(views[id as usize].as_mut(), &context)
    }

    pub(super) fn view(&self) -> &dyn View {
        self.views[self.current as usize].as_ref()
    }
}
