//! The frame around every view: header, tabs, footer, filter line, overlays. Pure drawing.

use crossterm::event::KeyCode;
use ratatui::{Frame, buffer::Buffer, layout::Rect, style::Style};

use crate::{
    app::{App, FilterLine},
    overlay::Overlay,
    views::{
        keymap::{Action, VIEWS, ViewId},
        list::Listing,
        view::{ApiState, EditedLine},
    },
    widgets::{
        pixels::plot::PlotScene,
        put, text,
        theme::{Role, Theme},
    },
};
use model::{
    format,
    time::{DAY_MS, Time},
};

/// Below this size the screen only shows a request to enlarge it.
pub const WIDTH_MIN: u16 = 60;
pub const HEIGHT_MIN: u16 = 16;

/// Maximum number of rows of a filter error.
const PROBLEM_LINES: usize = 3;

/// Width from which the header lists the tables that show current values in a point-in-time view.
const TODAY_FROM: u16 = 170;

/// Width from which the dataset's title is shown next to that time.
const TITLE_FROM: u16 = 100;

/// The footer's hint until another view is opened for the first time.
const FIRST_HINT: &str = "opens it · 3 chart · 4 is it safe?";
const FIRST_HINT_FROM: u16 = 80;

/// The description of the demo.
const DEMO_IS: &str = "demo: a synthetic market with real names; no price, holder or post is real";
const DEMO_IS_SHORT: &str = "demo: real names, synthetic data";

/// What a press of the mouse around the view stands for.
#[derive(Debug, Clone, Copy)]
pub enum ChromeHit {
    Tab(ViewId),
    Hint(Action),
    /// A key in the filter's line, and how many times it is pressed.
    FilterKey(KeyCode, usize),
}

/// The view's part of the screen.
pub fn body(area: Rect) -> Rect {
    Rect {
        y: area.y + 3,
        height: area.height.saturating_sub(4),
        ..area
    }
}

impl App {
    pub fn draw(&mut self, frame: &mut Frame<'_>) {
        let area = frame.area();
        self.draw_into(frame.buffer_mut(), area);
    }

    /// From now on frames may have pictures.
    pub fn allow_pictures(&mut self, allowed: bool) {
        self.picture.allow(allowed);
        self.dirty = true;
    }

    /// The picture of the frame just drawn.
    pub fn take_picture(&mut self) -> Option<PlotScene> {
        self.picture.take()
    }

    /// Draws one frame.
    pub fn draw_into(&mut self, buffer: &mut Buffer, area: Rect) {
        let theme = self.setup.look.theme.clone();
        buffer.set_style(area, theme.text().patch(theme.style(Role::Background)));
        self.hits.clear();
        // What lies over a view would lie under its picture.
        self.picture
            .begin(self.overlay.is_none() && self.tour.is_none() && !self.setup.look.ascii);
        if area.width < WIDTH_MIN || area.height < HEIGHT_MIN {
            self.ask_for_room(buffer, area);
            return;
        }
        let row = |y: u16| Rect {
            y: area.y + y,
            height: 1,
            ..area
        };
        self.draw_header(buffer, row(0));
        self.draw_tabs(buffer, row(1));
        put(
            buffer,
            row(2),
            0,
            0,
            &"─".repeat(usize::from(area.width)),
            theme.style(Role::Grid),
        );
        self.draw_undated(buffer, row(2));
        self.draw_what_the_demo_is(buffer, row(2));
        let whole = body(area);
        let body = self.beside_tour(whole);
        self.with_view(self.current, |view, context| {
            let waits = view
                .needs()
                .is_some_and(|needs| crate::views::waiting::draw(needs, buffer, body, context));
            if !waits {
                view.draw(buffer, body, context);
            }
        });
        self.draw_tour(buffer, whole);
        self.draw_footer(buffer, row(area.height - 1));
        self.tell_room();
        if let Some(overlay) = &mut self.overlay {
            overlay.draw(buffer, area, &theme);
        }
        if self.setup.look.ascii {
            crate::widgets::ascii::replace_glyphs(buffer);
        }
    }

    /// Tells a new user, in the rule above the first screen, that the demo is not real.
    fn draw_what_the_demo_is(&self, buffer: &mut Buffer, row: Rect) {
        let is_demo = self
            .snapshot
            .as_ref()
            .is_some_and(|snapshot| snapshot.dataset.synthetic && snapshot.dataset.as_of.is_none());
        if is_demo && self.is_new_here {
            let key = self
                .setup
                .keymap
                .keys(Action::Tour)
                .first()
                .cloned()
                .unwrap_or_default();
            let says = [
                (DEMO_IS, "takes a tour"),
                (DEMO_IS_SHORT, "takes a tour"),
                (DEMO_IS_SHORT, "tour"),
            ];
            let says = says.map(|(says, tour)| {
                if key.is_empty() {
                    format!(" {says} ")
                } else {
                    format!(" {says} · {key} {tour} ")
                }
            });
            let says = text::longest_that_fits(says, usize::from(row.width).saturating_sub(4));
            put(
                buffer,
                row,
                2,
                0,
                &says,
                self.setup.look.theme.style(Role::Warning),
            );
        }
    }

    /// Shows in the rule above the view the tables with current values in a point-in-time view, and the date of the newest row if the data is
    /// newer.
    fn draw_undated(&mut self, buffer: &mut Buffer, row: Rect) {
        let says = self.with_view(self.current, |view, context| {
            let is_older = |as_of: &Time| context.newest().0 - as_of.0 > 2 * DAY_MS;
            let newest = view
                .as_of()
                .filter(is_older)
                .map(|as_of| format!("newest row {}", as_of.day()));
            [newest, context.of_today(view.undated())]
                .into_iter()
                .flatten()
                .collect::<Vec<_>>()
                .join(" · ")
        });
        if !says.is_empty() {
            let says = format!(" {} ", text::truncate(&says, usize::from(row.width) - 6));
            let x = row.width - text::width(&says) as u16 - 2;
            put(
                buffer,
                row,
                x,
                0,
                &says,
                self.setup.look.theme.style(Role::Warning),
            );
        }
    }

    /// Passes to the column dialog the columns that had no room in the list.
    fn tell_room(&mut self) {
        let choice = self.view().listing().and_then(Listing::choice);
        if let (Some(Overlay::Columns(dialog)), Some(choice)) = (&mut self.overlay, choice) {
            dialog.set_no_room(choice.no_room);
        }
    }

    /// Reports that the terminal is too small, in as many words as fit.
    fn ask_for_room(&self, buffer: &mut Buffer, area: Rect) {
        let size = format!("{WIDTH_MIN}×{HEIGHT_MIN}");
        let whole = format!(
            "{}×{} is too small; enlarge to {size}",
            area.width, area.height
        );
        let says = text::longest_that_fits(
            [whole, format!("enlarge to {size}"), size],
            area.width.into(),
        );
        put(
            buffer,
            area,
            0,
            area.height / 2,
            &says,
            self.setup.look.theme.style(Role::Warning),
        );
    }

    fn draw_header(&self, buffer: &mut Buffer, row: Rect) {
        let theme = &self.setup.look.theme;
        let mut x = put(buffer, row, 1, 0, "tokendeck", theme.strong());
        if let Some(snapshot) = &self.snapshot {
            let title = snapshot
                .dataset
                .title
                .clone()
                .unwrap_or_else(|| folder_name(&snapshot.dataset.folder));
            // The day matters more, where there is room for one of them.
            if snapshot.dataset.as_of.is_none() || row.width >= TITLE_FROM {
                x += 3 + put(
                    buffer,
                    row,
                    x + 3,
                    0,
                    &text::truncate(&title, usize::from(row.width / 4)),
                    theme.dim(),
                );
            }
            if snapshot.dataset.synthetic {
                x += 3 + put(
                    buffer,
                    row,
                    x + 3,
                    0,
                    "DEMO DATA",
                    theme.style(Role::Warning),
                );
            }
            if let Some(as_of) = &snapshot.dataset.as_of {
                let today = format!(" · current values: {}", as_of.unknown.join(", "));
                let rest = match (as_of.unknown.is_empty(), row.width) {
                    (true, _) => "",
                    (false, TODAY_FROM..) => &today,
                    (false, _) => ", in part",
                };
                let says = format!("AS OF {}{rest}", moment(as_of.time));
                x += 3 + put(buffer, row, x + 3, 0, &says, theme.style(Role::Warning));
            }
        }
        if self.load.running {
            x += 3 + put(
                buffer,
                row,
                x + 3,
                0,
                &self.loading_text(),
                theme.style(Role::Accent),
            );
        }
        if !self.load.contacting.is_empty() {
            let names =
                text::truncate(&self.load.contacting.join(", "), usize::from(row.width / 4))
                    .into_owned();
            x += 3 + put(
                buffer,
                row,
                x + 3,
                0,
                &format!("↗ {names}"),
                theme.style(Role::Accent),
            );
        }
        let (api, style) = self.api_text();
        let jobs = self.setup.jobs.as_ref().map_or(0, |jobs| jobs.open_count());
        let jobs = if jobs > 0 {
            format!("   {jobs} job{}", if jobs == 1 { "" } else { "s" })
        } else {
            String::new()
        };
        // The full token text where it fits, else the symbol alone, which takes precedence over the API address.
        let whole = self.token_text();
        let symbol = whole.split("  ").next().unwrap_or_default();
        let room = |right: &str| row.width.saturating_sub(text::width(right) as u16);
        let fits = |right: &str, token: &str| {
            room(right).saturating_sub(text::width(token) as u16 + 3) > x + 1
        };
        // The zone of the times on screen, unless it is UTC.
        let zone = self.setup.look.zone.name();
        let zone = zone.map_or_else(String::new, |zone| format!("{zone}   "));
        let mut right = format!("{zone}{api}{jobs} ");
        if !fits(&right, symbol) {
            right = format!("{api}{jobs} ");
        }
        if !fits(&right, symbol)
            && let Some((short, _)) = api.split_once("api ")
        {
            right = format!("{short}api{jobs} ");
        }
        let right_x = room(&right);
        let token = if fits(&right, &whole) {
            whole.as_str()
        } else {
            symbol
        };
        let token_x = right_x.saturating_sub(text::width(token) as u16 + 3);
        if token_x > x + 1 {
            put(buffer, row, token_x, 0, token, theme.text());
        }
        if let Some(warning) = self.setup.warnings.first() {
            let room = token_x.saturating_sub(x + 6);
            let cells = usize::from(room.saturating_sub(2));
            let more = if text::width(warning) > cells || self.setup.warnings.len() > 1 {
                " (? shows all)"
            } else {
                ""
            };
            let says =
                text::truncate(warning, cells.saturating_sub(more.len())).into_owned() + more;
            if room > 2 {
                put(
                    buffer,
                    row,
                    x + 3,
                    0,
                    &format!("⚠ {says}"),
                    theme.style(Role::Warning),
                );
            }
        }
        if right_x > x + 1 {
            put(buffer, row, right_x, 0, &right, style);
        }
    }

    /// `WETH  0xc02a…6cc2  eth`
    fn token_text(&self) -> String {
        let summary = self.token.and_then(|token| {
            let snapshot = self.snapshot.as_ref()?;
            snapshot.market.of(&snapshot.dataset, &token)
        });
        summary.map_or_else(String::new, |token| {
            let symbol = text::truncate(token.symbol.as_deref().unwrap_or("–"), 16).into_owned();
            let chain = token
                .chains
                .first()
                .map(ToString::to_string)
                .unwrap_or_default();
            format!("{symbol}  {}  {chain}", token.token_address.short())
        })
    }

    fn api_text(&self) -> (String, Style) {
        let theme = &self.setup.look.theme;
        match self.setup.api.state() {
            ApiState::Listening(base) => (
                format!("● api {}", base.trim_start_matches("http://")),
                theme.style(Role::Up),
            ),
            ApiState::Off => ("api off".to_owned(), theme.dim()),
            ApiState::Failed(_) => ("● api failed, see 0".to_owned(), theme.style(Role::Warning)),
            ApiState::Taken(_) => (
                "● api off: port in use".to_owned(),
                theme.style(Role::Warning),
            ),
        }
    }

    fn loading_text(&self) -> String {
        let under_way = self
            .load
            .tables
            .iter()
            .find(|(_, done, total)| done < total)
            .or(self.load.tables.last());
        match under_way {
            Some((table, done, total)) if *total > 0 && !self.load.contacting.is_empty() => {
                format!(
                    "loading {table} {} of {}",
                    format::bytes(*done),
                    format::bytes(*total)
                )
            }
            Some((table, done, total)) if *total > 0 => {
                format!("loading {table} {}%", done.saturating_mul(100) / total)
            }
            Some((table, done, _)) => format!("loading {table} {}", format::bytes(*done)),
            None => "loading".to_owned(),
        }
    }

    fn draw_tabs(&mut self, buffer: &mut Buffer, row: Rect) {
        let theme = &self.setup.look.theme;
        let (gap, letters) = tab_room(row.width, self.current);
        let mut x = u16::from(gap > 1);
        for view in VIEWS {
            let active = view.id == self.current;
            let title = if active {
                view.title
            } else {
                &view.title[..view.title.len().min(letters)]
            };
            let start = x;
            x += put(
                buffer,
                row,
                x,
                0,
                &view.key.to_string(),
                if active { theme.accent() } else { theme.dim() },
            );
            x += 1 + put(
                buffer,
                row,
                x + 1,
                0,
                title,
                if active { theme.strong() } else { theme.dim() },
            );
            self.hits.push((
                Rect {
                    x: row.x + start,
                    y: row.y,
                    width: x - start,
                    height: 1,
                },
                ChromeHit::Tab(view.id),
            ));
            x += gap;
        }
    }

    /// Whether the view currently supports the action.
    fn answered(&self, action: Action) -> bool {
        let view = self.view();
        view.answers(action) && (action != Action::Filter || view.filter().is_some())
    }

    /// The key hints of the footer: the most important ones that fit.
    fn hints(&self, room: usize) -> Vec<(Action, String, &'static str)> {
        let ascii = self.setup.look.ascii;
        let mut most = 7;
        loop {
            let mut hints = self
                .setup
                .keymap
                .footer_of(self.current, most, |action| self.answered(action));
            // A single ASCII letter would not be understood.
            hints
                .iter_mut()
                .filter(|_| ascii)
                .for_each(|(_, key, _)| *key = key.replace('⏎', "Enter"));
            let cells: usize = hints
                .iter()
                .map(|(_, key, label)| text::width(key) + text::width(label) + 4)
                .sum();
            if cells <= room + 3 || most == 0 {
                return hints;
            }
            most -= 1;
        }
    }

    /// Draws the input line with the hints for Enter, Esc and Tab.
    fn draw_filter(&mut self, line: &FilterLine, buffer: &mut Buffer, row: Rect) {
        let theme = &self.setup.look.theme;
        let word = match line.of {
            EditedLine::Filter => "/ ".to_owned(),
            EditedLine::Own(word) => format!("{word} "),
        };
        let from = 1 + put(buffer, row, 1, 0, &word, theme.accent());
        let typed = Rect {
            width: row.width.min(from + (row.width / 2).max(1) + 1),
            ..row
        };
        let mut x = line
            .input
            .draw_on(Style::default(), buffer, typed, from, theme);
        if let Some(problem) = &line.problem {
            draw_problem(buffer, row, x + 2, problem, theme);
            return;
        }
        x += 2;
        if let Some(says) = &line.awaits {
            x += 3 + put(buffer, row, x, 0, says, theme.style(Role::AccentSoft));
        }
        let mut offered = vec![
            ("", "Enter keep".to_owned(), KeyCode::Enter, 1),
            (" · ", "Esc cancel".to_owned(), KeyCode::Esc, 1),
        ];
        offered.extend(
            line.completions
                .all
                .iter()
                .enumerate()
                .map(|(nth, (_, word))| {
                    let word = if nth == 0 {
                        format!("Tab {word}")
                    } else {
                        word.clone()
                    };
                    ("   ", word, KeyCode::Tab, nth + 1)
                }),
        );
        for (before, says, key, times) in offered {
            if x + (text::width(before) + text::width(&says)) as u16 >= row.width {
                break;
            }
            x += put(buffer, row, x, 0, before, theme.dim());
            let width = put(buffer, row, x, 0, &says, theme.dim());
            self.hits.push((
                Rect {
                    x: row.x + x,
                    y: row.y,
                    width,
                    height: 1,
                },
                ChromeHit::FilterKey(key, times),
            ));
            x += width;
        }
    }

    fn draw_footer(&mut self, buffer: &mut Buffer, row: Rect) {
        if let Some(line) = self.filter.take() {
            self.draw_filter(&line, buffer, row);
            self.filter = Some(line);
            return;
        }
        let theme = &self.setup.look.theme;
        // A toast takes precedence over the key hints.
        let room = usize::from(row.width.saturating_sub(2));
        let message = self
            .message
            .as_ref()
            .map(|message| (message.text.clone(), message.warning));
        let message = message.or_else(|| self.export_says().map(|says| (says, false)));
        let is_first = self.is_new_here
            && self.snapshot.is_some()
            && self.current == ViewId::Tokens
            && row.width >= FIRST_HINT_FROM;
        let enter = if self.setup.look.ascii {
            "Enter"
        } else {
            "⏎"
        };
        let message =
            message.or_else(|| is_first.then(|| (format!("{enter} {FIRST_HINT}"), false)));
        let message =
            message.map(|(says, warning)| (text::truncate(&says, room).into_owned(), warning));
        let room = row.width.saturating_sub(
            message
                .as_ref()
                .map_or(0, |(text, _)| text::width(text) as u16 + 2),
        );
        let mut x = 1;
        for (action, key, label) in self.hints(usize::from(room.saturating_sub(x))) {
            let width = (text::width(&key) + 1 + text::width(label)) as u16;
            self.hits.push((
                Rect {
                    x: row.x + x,
                    y: row.y,
                    width,
                    height: 1,
                },
                ChromeHit::Hint(action),
            ));
            x += put(buffer, row, x, 0, &key, theme.accent());
            x += 1 + put(buffer, row, x + 1, 0, label, theme.dim()) + 3;
        }
        if let Some((says, warning)) = message {
            let style = if warning {
                theme.style(Role::Warning)
            } else {
                theme.text()
            };
            put(
                buffer,
                row,
                row.width.saturating_sub(text::width(&says) as u16 + 1),
                0,
                &says,
                style,
            );
        }
    }
}

/// The day if the time is its end, otherwise the time.
fn moment(time: Time) -> String {
    if Time(time.0 + 1_000).day() == time.day() {
        time.minute_text()
    } else {
        time.day().to_string()
    }
}

/// Draws a filter error: behind the text, or in the rows above where that is too narrow.
fn draw_problem(buffer: &mut Buffer, row: Rect, x: u16, problem: &str, theme: &Theme) {
    let style = theme.style(Role::Warning);
    if usize::from(row.width.saturating_sub(x)) >= text::width(problem) {
        put(buffer, row, x, 0, problem, style);
        return;
    }
    let lines = text::wrap(
        problem,
        usize::from(row.width.saturating_sub(2)),
        PROBLEM_LINES,
    );
    let top = row.y.saturating_sub(lines.len() as u16);
    for (nth, says) in lines.iter().enumerate() {
        let place = Rect {
            y: top + nth as u16,
            ..row
        };
        put(
            buffer,
            place,
            0,
            0,
            &" ".repeat(usize::from(row.width)),
            theme.text(),
        );
        put(buffer, place, 1, 0, says, style);
    }
}

/// The gap between tabs and the letters of inactive titles, so that all tabs fit; the active title stays whole.
fn tab_room(width: u16, current: ViewId) -> (u16, usize) {
    let cells = |gap: u16, letters: usize| {
        let titles = VIEWS.iter().map(|view| {
            2 + if view.id == current {
                view.title.len()
            } else {
                view.title.len().min(letters)
            }
        });
        titles.sum::<usize>() + usize::from(gap) * (VIEWS.len() - 1) + usize::from(gap > 1)
    };
    let rooms = [(3, 99), (2, 99), (1, 99), (2, 3), (1, 3), (1, 2), (1, 1)];
    rooms
        .into_iter()
        .find(|&(gap, letters)| cells(gap, letters) <= usize::from(width))
        .unwrap_or((1, 1))
}

fn folder_name(folder: &std::path::Path) -> String {
    folder.file_name().map_or_else(
        || folder.display().to_string(),
        |name| name.to_string_lossy().into_owned(),
    )
}
