//! The API view: server state and address, the key (masked by default), the request log and the latency histogram.

mod latency;
mod log;

use self::log::RequestFields;
use crate::views::{prelude::*, view::ApiState};
use model::logged_request::LoggedRequest;

/// Requests kept on screen.
const LOG_MAX: usize = 500;
/// From this width the histogram is drawn beside the log.
const WIDE: u16 = 110;

#[derive(Default)]
pub struct ApiView {
    state: ApiState,
    key: Option<String>,
    key_shown: bool,
    /// Newest first.
    requests: Vec<LoggedRequest>,
    histogram: Vec<(u64, u64)>,
    /// Row indices are those of `requests`.
    log: List<RequestFields>,
}

impl View for ApiView {
    fn refresh(&mut self, context: &Context<'_>) {
        self.state = context.api.state();
        self.key = context.api.key();
        let before = self.requests.first().cloned();
        self.requests = context.api.requests(LOG_MAX);
        self.histogram = context.api.histogram();
        self.follow(before.as_ref());
        self.arrange();
    }

    fn answers(&self, action: Action) -> bool {
        !matches!(action, Action::Open | Action::Star)
    }

    fn act(&mut self, action: Action, context: &Context<'_>) -> Effect {
        match action {
            Action::ShowKey => self.key_shown = !self.key_shown,
            Action::StartStop => return self.start_or_stop(context),
            Action::Back if self.key_shown => self.key_shown = false,
            Action::CopyValue => {
                return match (self.selected(), &self.state) {
                    (Some(request), _) => Effect::Copy(request.path.clone(), "path"),
                    (None, ApiState::Listening(base)) => Effect::Copy(base.clone(), "address"),
                    (None, _) => {
                        Effect::Say("nothing to copy: no request has been answered yet".to_owned())
                    }
                };
            }
            action if self.log.act(action) == ListEvent::Nothing => return Effect::Pass,
            _ => self.arrange(),
        }
        Effect::Redraw
    }

    fn mouse(&mut self, mouse: MouseEvent, _: &Context<'_>) -> Effect {
        if self.log.mouse(mouse) == ListEvent::Nothing {
            return Effect::Nothing;
        }
        self.arrange();
        Effect::Redraw
    }

    fn draw_in(&mut self, buffer: &mut Buffer, area: Rect, context: &Context<'_>) {
        let used = self.draw_state(buffer, area, context);
        let rest = below(area, used);
        if rest.width >= WIDE {
            let (left, right) = beside(rest, (rest.width * 34 / 100).min(64));
            self.draw_log(buffer, left, context);
            latency::draw(buffer, right, &self.histogram, &self.requests, context);
        } else {
            let height = if rest.height >= 14 {
                latency::height(&self.histogram).min(rest.height / 2)
            } else {
                0
            };
            let (log, histogram) = stacked(rest, rest.height - height);
            self.draw_log(buffer, log, context);
            latency::draw(buffer, histogram, &self.histogram, &[], context);
        }
    }

    listing!(log);

    fn relist(&mut self, _: &Context<'_>) {
        self.arrange();
    }

    fn request(&self, _: &Context<'_>) -> Option<HttpRequest> {
        Some(HttpRequest::get("/tokens"))
    }

    fn export(&self, _: &Context<'_>) -> Option<Export> {
        Some(
            self.log
                .export("requests", |place| self.requests.get(place)),
        )
    }
}

impl ApiView {
    fn selected(&self) -> Option<&LoggedRequest> {
        self.requests.get(self.log.selected()?)
    }

    /// Keeps the selection on its request when newer ones arrive; on the newest row it stays at the top. Does nothing while the log is sorted or filtered.
    fn follow(&mut self, newest_before: Option<&LoggedRequest>) {
        if self.log.cursor.state.selected == 0
            || self.log.sorting.is_chosen()
            || !self.log.filter().is_empty()
        {
            return;
        }
        let came = newest_before
            .and_then(|before| self.requests.iter().position(|line| line == before))
            .unwrap_or(0);
        self.log.cursor.state.selected += came;
        self.log.cursor.state.offset += came;
    }

    fn arrange(&mut self) {
        self.log
            .arrange(0..self.requests.len(), |place| self.requests.get(place));
    }

    fn start_or_stop(&mut self, context: &Context<'_>) -> Effect {
        let said = if let ApiState::Listening(_) = context.api.state() {
            context.api.stop();
            Effect::Say("the API is off".to_owned())
        } else {
            match context.api.start() {
                ApiState::Failed(reason) | ApiState::Taken(reason) => Effect::Warn(reason),
                _ => Effect::Say("the API is starting".to_owned()),
            }
        };
        self.refresh(context);
        said
    }

    /// Draws state, key and a sample request; returns the rows used.
    fn draw_state(&self, buffer: &mut Buffer, area: Rect, context: &Context<'_>) -> u16 {
        let theme = context.theme;
        let marks = ["●", "○", "✗"];
        let (mark, word, role, says) = match &self.state {
            ApiState::Listening(base) => (marks[0], "listening", Role::Up, base.clone()),
            ApiState::Off => (marks[1], "off", Role::Dim, "press a to start it".to_owned()),
            ApiState::Failed(reason) | ApiState::Taken(reason) => (
                marks[2],
                "not listening",
                Role::Down,
                format!("{reason}; press a to retry"),
            ),
        };
        let key = match (&self.key, self.key_shown) {
            (None, _) => {
                "no key yet: starting the API creates one, as does `tokendeck key new`".to_owned()
            }
            (Some(key), true) => key.clone(),
            (Some(key), false) => hidden(key),
        };
        // The address is known only while the server listens.
        let (curl, copies) = match &self.state {
            ApiState::Listening(base) => (
                format!("curl -s -H \"x-api-key: $(tokendeck key)\" '{base}/tokens'"),
                "c copies it",
            ),
            ApiState::Off | ApiState::Failed(_) | ApiState::Taken(_) => (
                "press a to start the API; a sample curl command appears here".to_owned(),
                "",
            ),
        };
        let hint = if self.key_shown {
            "K hides it"
        } else {
            "K shows it"
        };
        let lines = [
            ("state", String::new(), ""),
            ("key", key, if self.key.is_some() { hint } else { "" }),
            ("try", curl, copies),
        ];
        let mut y = 0;
        for (title, value, hint) in lines {
            y += 1;
            put(buffer, area, 1, y, title, theme.dim());
            if title == "state" {
                let x = 11
                    + put(
                        buffer,
                        area,
                        9,
                        y,
                        &format!("{mark} {word}"),
                        theme.style(role),
                    );
                // A long reason wraps to three lines.
                for (nth, line) in text::wrap(
                    &says,
                    usize::from(area.width.saturating_sub(x + 1)).max(20),
                    3,
                )
                .iter()
                .enumerate()
                {
                    y += u16::from(nth > 0);
                    put(buffer, area, x, y, line, theme.text());
                }
                continue;
            }
            let x = 9 + put(
                buffer,
                area,
                9,
                y,
                &value,
                if title == "key" {
                    theme.text()
                } else {
                    theme.accent()
                },
            );
            if x + 3 + (text::width(hint) as u16) < area.width {
                put(buffer, area, x + 3, y, hint, theme.dim());
            }
        }
        (y + 2).min(area.height)
    }

    fn draw_log(&mut self, buffer: &mut Buffer, area: Rect, context: &Context<'_>) {
        let theme = context.theme;
        let total: u64 = self.histogram.iter().map(|(_, count)| count).sum();
        let failed = self
            .requests
            .iter()
            .filter(|line| line.status >= 400)
            .count();
        let mut note = format!(
            "{} answered",
            format::count(total.max(self.requests.len() as u64))
        );
        if failed > 0 {
            note = format!(
                "{note} · {} in the last {}",
                plural(failed as u64, "error", "errors"),
                self.requests.len()
            );
        }
        let title = self.log.titled("requests");
        let panel = Panel {
            note: if total > 0 { &note } else { "" },
            focused: true,
            ..Panel::new(&title)
        };
        let body = inset(panel.render(area, buffer, theme));
        if self.requests.is_empty() {
            put(buffer, body, 1, 1, "no requests yet", theme.text());
            let says = match self.state {
                ApiState::Listening(_) => {
                    "press c to copy a curl command that lists the tokens; the request appears here"
                }
                ApiState::Off | ApiState::Failed(_) | ApiState::Taken(_) => {
                    "press a to start the API; each request is listed here with its status and duration"
                }
            };
            put_wrapped(buffer, body, 1, 2, says, 3, theme.dim());
            return;
        }
        self.log.draw(
            buffer,
            ListFrame::new(body, "no request matches the filter"),
            context,
            |place| self.requests.get(place),
        );
    }
}

/// A duration: `88 µs`, `1.9 ms`, `18 ms`, `2.4 s`.
fn duration_text(micros: u64) -> String {
    match micros {
        1_000..10_000 => format!("{:.1} ms", micros as f64 / 1e3),
        micros => format::duration(micros),
    }
}

/// The masked key: its prefix, which tells its type, and dots.
fn hidden(key: &str) -> String {
    let prefix = key.split_once('_').map_or("", |(prefix, _)| prefix);
    if prefix.is_empty() || prefix.len() > 8 {
        "••••••••".to_owned()
    } else {
        format!("{prefix}_••••••••")
    }
}

#[cfg(test)]
mod tests;
