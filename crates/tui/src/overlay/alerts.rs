//! The alert dialog: a condition to type for the selected token or all tokens, the active alerts, and the log of firings.

use crate::zone::DisplayZone;
use crossterm::event::KeyModifiers;

use super::{prelude::*, rehearsal::RehearsalState};
use crate::typed::Completions;
use model::address::Address;
use query::{
    jobs::{Alert, AlertList, FiredAlert},
    queries::{alert_body::AlertBody, fields::TokenEntry, list::Listed as _, rehearsal::Rehearsal},
};
use table::filter::{self, ColumnKind, FilterColumn, TEXT_CHARS_MAX};

/// Shown rows of the log.
const FIRED: usize = 5;
/// Width of the token's name.
const NAME: usize = 14;
/// Width of the condition column, to align the states behind it.
const CONDITION: usize = 30;

/// The token of a new alert.
#[derive(Debug, Clone)]
pub struct AboutToken {
    pub token: Address,
    pub name: String,
}

#[derive(Debug)]
pub struct AlertsDialog {
    about: Option<AboutToken>,
    /// The condition is for every token.
    all: bool,
    condition: TypedLine,
    completions: Completions,
    list: AlertList,
    rows: Rows,
    /// Why the store refused the last order.
    problem: Option<String>,
    /// An order is pending.
    waiting: bool,
    rehearsal: RehearsalState,
    zone: DisplayZone,
}

impl AlertsDialog {
    pub fn new(about: Option<AboutToken>, list: AlertList, zone: DisplayZone) -> Self {
        let all = about.is_none();
        let condition = TypedLine::new("", TEXT_CHARS_MAX);
        let completions = Completions::default();
        Self {
            about,
            all,
            condition,
            completions,
            list,
            rows: Rows::default(),
            problem: None,
            waiting: false,
            rehearsal: RehearsalState::None,
            zone,
        }
    }

    /// Sets the current alerts.
    pub fn show(&mut self, list: AlertList) {
        self.list = list;
        self.rows.selected = self
            .rows
            .selected
            .min(self.list.alerts.len().saturating_sub(1));
    }

    /// An order succeeded: clears the input.
    pub fn done(&mut self) {
        (self.condition, self.problem, self.waiting) =
            (TypedLine::new("", TEXT_CHARS_MAX), None, false);
        self.completions = Completions::default();
        self.stop_rehearsal();
    }

    pub fn refuse(&mut self, why: String) {
        (self.problem, self.waiting) = (Some(why), false);
        self.stop_rehearsal();
    }

    pub fn rehearsing(&mut self, done: u64, total: u64) {
        self.rehearsal = RehearsalState::Running(done, total);
    }

    pub fn rehearsed(&mut self, rehearsal: Rehearsal) {
        self.rehearsal = RehearsalState::Done(Box::new(rehearsal));
    }

    pub fn stop_rehearsal(&mut self) {
        self.rehearsal = RehearsalState::None;
    }

    /// The alert as typed.
    fn typed(&self) -> AlertBody {
        let token_address = self
            .about
            .as_ref()
            .filter(|_| !self.all)
            .map(|about| about.token);
        AlertBody {
            token_address,
            condition: self.condition.text().trim().to_owned(),
        }
    }

    /// Proposes what the word at the end goes on as; behind a blank nothing, as Tab has another meaning there.
    fn complete(&mut self) {
        let text = self.condition.text();
        let is_word =
            self.condition.is_at_end() && text.ends_with(|last: char| !last.is_whitespace());
        self.completions = Completions::new(if is_word { completed(text) } else { Vec::new() });
    }

    /// What the keys do, from the longest to the shortest.
    fn hints(&self) -> Vec<String> {
        let hints: &[&str] = match (self.waiting, self.condition.text().trim().is_empty()) {
            (true, _) => &["working…"],
            (false, _) if !self.completions.all.is_empty() => {
                let words: Vec<&str> = self
                    .completions
                    .all
                    .iter()
                    .map(|(_, word)| word.as_str())
                    .collect();
                return (1..=words.len())
                    .rev()
                    .map(|count| format!("Tab {}", words[..count].join("   ")))
                    .collect();
            }
            (false, false) => &[
                "⏎ add the alert   Ctrl-R backtest   Tab this token or any   Esc",
                "⏎ add   Ctrl-R backtest   Tab one or any   Esc",
            ],
            (false, true) => &[
                "type price>20 cooldown 6h or price crosses 20   Tab this token or any   Delete remove   Esc",
                "type price>20 or pattern:bull_flag   Tab this token or any   Delete remove   Esc",
                "type price>20   Tab this token or any   Delete remove   Esc",
            ],
        };
        hints.iter().map(|&hint| hint.to_owned()).collect()
    }

    fn draw_alerts(&mut self, buffer: &mut Buffer, area: Rect, theme: &Theme) {
        // The states are aligned in a column behind the longest condition.
        let longest = self
            .list
            .alerts
            .iter()
            .map(|alert| text::width(&alert.condition))
            .max()
            .unwrap_or(0);
        let beside = (NAME + 1 + longest.min(CONDITION) + 2) as u16;
        for (_, place, style, alert) in self.rows.draw(&self.list.alerts, buffer, area, theme) {
            let used = put(
                buffer,
                place,
                0,
                0,
                &text::fit(&alert.about(), NAME + 1, text::Align::Left),
                theme.text().patch(style),
            );
            let end = used
                + put(
                    buffer,
                    place,
                    used,
                    0,
                    &alert.condition,
                    theme.text().patch(style),
                );
            let x = beside.max(end + 2);
            let (says, role) =
                state_text(alert, self.zone, usize::from(place.width.saturating_sub(x)));
            put(buffer, place, x, 0, &says, theme.style(role).patch(style));
        }
        if self.list.alerts.is_empty() {
            put(
                buffer,
                area,
                0,
                0,
                "no alerts",
                theme.dim().patch(theme.style(Role::Panel)),
            );
        }
    }
}

impl Dialog for AlertsDialog {
    fn key(&mut self, key: &KeyEvent) -> OverlayOutcome {
        let typed = self.typed();
        match key.code {
            KeyCode::Esc if !matches!(self.rehearsal, RehearsalState::None) => {
                return OverlayOutcome::Apply(Command::RehearseAlert(None));
            }
            KeyCode::Esc => return OverlayOutcome::Close,
            KeyCode::Char('r')
                if key.modifiers.contains(KeyModifiers::CONTROL) && !typed.condition.is_empty() =>
            {
                (self.problem, self.rehearsal) = (None, RehearsalState::Running(0, 0));
                return OverlayOutcome::Apply(Command::RehearseAlert(Some(typed)));
            }
            KeyCode::Enter if typed.condition.is_empty() => return OverlayOutcome::Close,
            // Ignores a repeated Enter.
            KeyCode::Enter if self.waiting => {}
            KeyCode::Enter => {
                self.waiting = true;
                return OverlayOutcome::Apply(Command::AddAlert(typed));
            }
            KeyCode::Tab if !self.completions.all.is_empty() => {
                _ = self.completions.step(true, &mut self.condition, completed);
            }
            KeyCode::Tab | KeyCode::BackTab => self.all = !self.all || self.about.is_none(),
            KeyCode::Delete if typed.condition.is_empty() => {
                let named = self
                    .list
                    .alerts
                    .get(self.rows.selected)
                    .map(|alert| alert.alert_id.clone());
                return named.map_or(OverlayOutcome::Stay, |id| {
                    OverlayOutcome::Apply(Command::RemoveAlert(id))
                });
            }
            code => {
                if !self.rows.arrow(code, self.list.alerts.len()) {
                    self.problem = None;
                    self.condition.key(key);
                    self.complete();
                }
            }
        }
        OverlayOutcome::Stay
    }

    fn paste(&mut self, pasted: &str) {
        self.condition.paste(pasted);
        self.complete();
    }

    fn draw(&mut self, buffer: &mut Buffer, area: Rect, theme: &Theme) {
        let inside = floating(buffer, area, (104, 24), "alerts", theme);
        let base = theme.style(Role::Panel);
        let (dim, plain) = (theme.dim().patch(base), theme.text().patch(base));
        let who = match &self.about {
            Some(about) if !self.all => text::truncate(&about.name, NAME).into_owned(),
            _ => "any token".to_owned(),
        };
        let used = put(
            buffer,
            inside,
            0,
            0,
            &format!("alert me when {who} has  "),
            dim,
        );
        self.condition.draw(buffer, inside, used, theme);
        if let Some(problem) = &self.problem {
            put_wrapped(
                buffer,
                inside,
                0,
                1,
                problem,
                2,
                theme.style(Role::Warning).patch(base),
            );
        }
        let hint = text::longest_that_fits(self.hints(), inside.width.into());
        put(
            buffer,
            inside,
            0,
            inside.height.saturating_sub(1),
            &hint,
            dim,
        );
        let rest = Rect {
            y: inside.y + 3.min(inside.height),
            height: inside.height.saturating_sub(4),
            ..inside
        };
        if self.rehearsal.draw(buffer, rest, theme) {
            return;
        }
        let height = usize::from(inside.height);
        let log = self.list.fired.len().clamp(1, FIRED) + 1;
        let rows = height.saturating_sub(5 + log);
        self.draw_alerts(
            buffer,
            Rect {
                y: inside.y + 3.min(inside.height),
                height: rows as u16,
                ..inside
            },
            theme,
        );
        let below = Rect {
            y: inside.y + (3 + rows).min(height) as u16,
            height: (height - (3 + rows).min(height)) as u16,
            ..inside
        };
        put(buffer, below, 0, 0, "fired", dim);
        for (row, fired) in self.list.fired.iter().take(FIRED).enumerate() {
            put(
                buffer,
                below,
                0,
                1 + row as u16,
                &fired_text(fired, self.zone),
                plain,
            );
        }
        if self.list.fired.is_empty() {
            put(
                buffer,
                below,
                0,
                1,
                "none yet; alerts are checked whenever the data changes",
                dim,
            );
        }
    }
}

/// As the list of tokens completes its filter, whose language it is.
fn completed(text: &str) -> Vec<(String, String)> {
    let values = |column: &FilterColumn| match column.kind {
        ColumnKind::Flag => vec!["yes".to_owned(), "no".to_owned()],
        _ => Vec::new(),
    };
    filter::complete(text, TokenEntry::COLUMNS, values)
}

/// The state of an alert, in as many words as fit.
fn state_text(alert: &Alert, zone: DisplayZone, room: usize) -> (String, Role) {
    if let Some(problem) = &alert.problem {
        return (format!("not checked: {problem}"), Role::Warning);
    }
    let holds = match (alert.holds, alert.token_address) {
        (0, _) => "false".to_owned(),
        (_, Some(_)) => "true".to_owned(),
        (count, None) => format!("true for {}", format::plural(count, "token", "tokens")),
    };
    let Some(at) = alert.last_fired_at else {
        return (holds, Role::Dim);
    };
    let fired = format!("fired {}", times(alert.fired));
    let says = [
        format!("{holds} · {fired}, last {}", zone.minute(at)),
        format!("{holds} · {fired}"),
        fired,
    ];
    (text::longest_that_fits(says, room), Role::Dim)
}

pub(super) fn times(count: u64) -> String {
    if count == 1 {
        "once".to_owned()
    } else {
        format!("{} times", format::count(count))
    }
}

fn fired_text(fired: &FiredAlert, zone: DisplayZone) -> String {
    format!(
        "{}  {}{}",
        zone.minute(fired.fired_at),
        text::fit(&fired.about(), NAME + 1, text::Align::Left),
        fired.condition
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn press(dialog: &mut AlertsDialog, code: KeyCode) -> OverlayOutcome {
        dialog.key(&KeyEvent::new(code, KeyModifiers::NONE))
    }

    #[test]
    fn a_condition_is_typed_for_the_token_or_for_any() {
        let token = Address([3; 20]);
        let mut dialog = AlertsDialog::new(
            Some(AboutToken {
                token,
                name: "UNI".to_owned(),
            }),
            AlertList::default(),
            DisplayZone::default(),
        );
        dialog.paste("price>2\u{7}");
        press(&mut dialog, KeyCode::Char('0'));
        let wish = |token_address| {
            OverlayOutcome::Apply(Command::AddAlert(AlertBody {
                token_address,
                condition: "price>20".to_owned(),
            }))
        };
        assert_eq!(press(&mut dialog, KeyCode::Enter), wish(Some(token)));
        assert_eq!(
            press(&mut dialog, KeyCode::Enter),
            OverlayOutcome::Stay,
            "one is on its way"
        );
        dialog.refuse("no column `pric`".to_owned());
        press(&mut dialog, KeyCode::Tab);
        assert_eq!(press(&mut dialog, KeyCode::Enter), wish(None));
        dialog.show(AlertList::default());
        assert_eq!(
            press(&mut dialog, KeyCode::Enter),
            OverlayOutcome::Stay,
            "the order is on its way still"
        );
        dialog.done();
        // Fields are proposed while one is typed.
        "holders_gr"
            .chars()
            .for_each(|letter| _ = press(&mut dialog, KeyCode::Char(letter)));
        assert!(
            dialog.hints()[0].starts_with("Tab holders_growth"),
            "{:?}",
            dialog.hints()
        );
        press(&mut dialog, KeyCode::Tab);
        assert!(
            dialog.condition.text().starts_with("holders_growth") && dialog.all,
            "{:?}",
            dialog.condition
        );
        dialog.done();
        assert_eq!(press(&mut dialog, KeyCode::Delete), OverlayOutcome::Stay);
        assert_eq!(press(&mut dialog, KeyCode::Enter), OverlayOutcome::Close);
        for (width, height) in [(0, 0), (1, 1), (20, 5), (80, 24), (200, 60)] {
            let area = Rect::new(0, 0, width, height);
            dialog.draw(&mut Buffer::empty(area), area, &Theme::default());
        }
    }
}
