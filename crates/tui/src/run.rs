//! The event loop: at most sixty frames per second, and none without a change. Also a headless renderer for screenshots.

use std::{
    sync::Arc,
    sync::mpsc::RecvTimeoutError,
    time::{Duration, Instant},
};

use crate::widgets::theme::Role;
use ratatui::{Frame, buffer::Buffer, layout::Rect};

use super::{
    app::{App, Setup},
    error::TerminalError,
    event::{Event, Events},
    graphics::{Graphics, Pictures, answers::TerminalAnswers, cell_pixels},
    memory::Memory,
    saver::Saver,
    terminal::Screen,
};
use crate::views::{keymap::ViewId, view::LiveSettings};

/// Sixty frames a second at most.
const FRAME: Duration = Duration::from_millis(16);

/// How the dashboard ended.
#[derive(Debug)]
pub struct Exit {
    pub code: i32,
    /// Why the last session could not be saved, if it could not.
    pub unsaved: Option<String>,
}

/// Runs the dashboard until exit.
pub fn run(
    setup: Setup,
    memory: &mut dyn Memory,
    mouse: bool,
    settings: Option<Arc<dyn LiveSettings>>,
) -> Result<Exit, TerminalError> {
    let events = Events::default();
    let (service, api) = (setup.service.clone(), setup.api.clone());
    api.listen(events.wake());
    let mut app = App::new(setup, crate::views::all(), events.wake());
    app.remember(memory);
    app.follow_settings(settings, events.wake());
    let mut screen = Screen::enter(mouse).map_err(TerminalError::Open)?;
    // Asked before the first frame, which covers the question where a terminal prints it.
    let question = app.setup.graphics.question(
        app.setup.look.theme.rgb(Role::Background).is_some(),
        variable,
    );
    let asked = (!question.is_empty() && screen.ask(question).is_ok()).then(Instant::now);
    // The first frame is drawn before any data is read.
    paint(&mut app, &mut screen)?;
    events
        .listen(&service, asked)
        .map_err(TerminalError::Read)?;
    service.load_in_background();
    app.start();
    std::thread::scope(|scope| {
        let mut saver = Saver::start(scope, memory, events.wake(), &app);
        let code = run_until_exit(&events, &mut app, &mut screen, &mut saver)?;
        // Errors of saving are printed on the restored terminal.
        drop(screen);
        Ok(Exit {
            code,
            unsaved: saver.finish(&mut app),
        })
    })
}

fn run_until_exit(
    events: &Events,
    app: &mut App,
    screen: &mut Screen,
    saver: &mut Saver<'_>,
) -> Result<i32, TerminalError> {
    let mut painted = Instant::now();
    loop {
        match next(events, app, saver) {
            Some(event) => handle(event, events, app, screen, saver),
            None => app.deadline_passed(Instant::now()),
        }
        // Pending events are coalesced into one frame; under a flood the frame is still drawn in time.
        while painted.elapsed() < FRAME || !app.dirty {
            let Ok(event) = events.receiver.try_recv() else {
                break;
            };
            handle(event, events, app, screen, saver);
        }
        for token in std::mem::take(&mut app.starred) {
            saver.star(token);
        }
        for (token, annotation) in std::mem::take(&mut app.annotated) {
            saver.annotate(token, annotation);
        }
        saver.run(app);
        if let Some(code) = app.exit {
            return Ok(code);
        }
        if std::mem::take(&mut app.suspend) {
            screen.suspend().map_err(TerminalError::Suspend)?;
            app.update(Event::Continue);
        }
        if app.dirty {
            std::thread::sleep(FRAME.saturating_sub(painted.elapsed()).min(FRAME));
            // A terminal that fails to draw is gone; SIGHUP would follow.
            if paint(app, screen).is_err() {
                return Ok(129);
            }
            painted = Instant::now();
        }
    }
}

fn handle(
    event: Event,
    events: &Events,
    app: &mut App,
    screen: &mut Screen,
    saver: &mut Saver<'_>,
) {
    match event {
        Event::Terminal(answers) => return take_answers(&answers, app, screen),
        Event::Wake => events.seen_wake(),
        Event::Resize => screen.forget_picture(),
        Event::Key(_) | Event::Mouse(_) | Event::Paste(_) => saver.touch(),
        _ => {}
    }
    app.update(event);
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// Draws charts in pixels from now on, where the terminal can.
fn take_answers(answers: &TerminalAnswers, app: &mut App, screen: &mut Screen) {
    let sized = |protocol| {
        let cell = cell_pixels()
            .or(answers.cell)
            .ok_or("the terminal does not report its cell size in pixels")?;
        Ok(Pictures::new(protocol, cell))
    };
    match app
        .setup
        .graphics
        .protocol(answers, variable)
        .and_then(|protocol| protocol.map(sized).transpose())
    {
        Ok(pictures) => screen.show_pictures(pictures),
        Err(reason) if app.setup.graphics != Graphics::Auto => {
            app.say(
                format!("graphics: {reason}, so charts are drawn in characters"),
                true,
            );
        }
        Err(_) => {}
    }
    app.allow_pictures(screen.has_pictures());
}

/// Blocks for an event or until the app's or the saver's deadline; no polling.
fn next(events: &Events, app: &App, saver: &Saver<'_>) -> Option<Event> {
    match app.deadline().into_iter().chain(saver.due()).min() {
        Some(deadline) => match events
            .receiver
            .recv_timeout(deadline.saturating_duration_since(Instant::now()))
        {
            Ok(event) => Some(event),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => Some(Event::Terminate(0)),
        },
        None => Some(events.receiver.recv().unwrap_or(Event::Terminate(0))),
    }
}

fn paint(app: &mut App, screen: &mut Screen) -> Result<(), TerminalError> {
    app.dirty = false;
    if std::mem::take(&mut app.full_redraw) {
        screen.clear().map_err(TerminalError::Draw)?;
    }
    let after = std::mem::take(&mut app.after_frame);
    let render = |frame: &mut Frame<'_>| {
        app.draw(frame);
        app.take_picture()
    };
    screen.draw(render, &after).map_err(TerminalError::Draw)
}

/// Longest wait of a screenshot for its view's answers.
const PICTURE_WAIT: Duration = Duration::from_secs(30);

/// Draws the view once all its results have arrived, from a loaded dataset.
pub fn picture(
    setup: Setup,
    view: ViewId,
    size: (u16, u16),
    prepare: impl FnOnce(&mut App),
) -> (Buffer, App) {
    let events = Events::default();
    let service = Arc::clone(&setup.service);
    let mut app = App::new(setup, crate::views::all(), events.wake());
    app.go(view);
    prepare(&mut app);
    let area = Rect::new(0, 0, size.0, size.1);
    let mut buffer = Buffer::empty(area);
    let start = Instant::now();
    let mut quiet = 0;
    // Two quiet rounds: an answer arriving at the end of the first may make the next draw ask for more.
    while quiet < 2 {
        // Drawing sets a view's number of visible rows, so it may ask for more.
        buffer.reset();
        app.draw_into(&mut buffer, area);
        app.take_in_changes();
        match events.receiver.recv_timeout(Duration::from_millis(150)) {
            Ok(_) => {
                events.seen_wake();
                quiet = 0;
            }
            // On a slow machine, a pending answer is no quiet round.
            Err(_) if service.waiting() == 0 && !app.view().is_arranging() => quiet += 1,
            Err(_) => quiet = 0,
        }
        if start.elapsed() > PICTURE_WAIT {
            break;
        }
    }
    app.take_in_changes();
    buffer.reset();
    app.draw_into(&mut buffer, area);
    (buffer, app)
}
