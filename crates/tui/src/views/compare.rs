//! The comparison of marked tokens: one chart in percent from a common start with a crosshair, the tokens with return, drawdown and
//! volatility over a period, and the correlations of daily returns. A pane that replaces a token list; its data is the compare query's.

mod draw;
mod legend;

use self::legend::LegendFields;

use crate::{
    views::{prelude::*, yields::named},
    widgets::table::RowMark,
};
use query::queries::compare::{CompareQuery, PERIODS, TOKENS_MAX};

/// Key hints, from the longest to the shortest.
const NOTES: &[&str] = &[
    "t period   b base   i timeframe   ← → crosshair   Space unmarks all   Esc back",
    "t period   b base   i timeframe   ← → crosshair   Esc back",
    "t period   b base   i timeframe",
    "t period   b base",
];

/// The keys of the comparison, for help and footer.
const KEYS: &[(Action, &str)] = &[
    (Action::Left, "Move the crosshair left."),
    (Action::Right, "Move the crosshair right."),
    (
        Action::PageUp,
        "Move the crosshair left by a tenth of the chart.",
    ),
    (
        Action::PageDown,
        "Move the crosshair right by a tenth of the chart.",
    ),
    (Action::First, "Move the crosshair to the first candle."),
    (
        Action::Last,
        "Turn the crosshair off; the values are those of the last candle.",
    ),
    (Action::Window, "Next period: 7, 30, 90, 365 days, all."),
    (
        Action::CompareBase,
        "Use the selected token as the benchmark for correlation, beta and return.",
    ),
    (Action::CompareTimeframe, "Next timeframe: 1h, 4h, 1d, 1w."),
    (Action::Down, "Next token."),
    (Action::Up, "Previous token."),
    (Action::Sort, "Sort the tokens by the next column."),
    (Action::SortReverse, "Reverse the sort order."),
    (Action::Mark, "Unmark all tokens and go back to the list."),
    (
        Action::CompareTokens,
        "Go back to the list; the marks stay.",
    ),
    (Action::Back, "Go back to the list; the marks stay."),
    (
        Action::Export,
        "Export the lines as CSV, JSON, NDJSON or Parquet.",
    ),
    (Action::CopyCurl, "Copy the curl command for this data."),
    (Action::Palette, "Find an action or token."),
    (Action::Help, "Show the comparison's keys."),
];

/// From this width the title is in words.
const WIDE: u16 = 100;

/// The colors of the lines, in token order; the letters distinguish them without colors.
pub(super) const ROLES: &[Role] = &[
    Role::Accent,
    Role::Up,
    Role::Warning,
    Role::Down,
    Role::Text,
    Role::AccentSoft,
    Role::UpSoft,
    Role::WarningSoft,
    Role::DownSoft,
];

/// The marks of a list, and the comparison once opened.
#[derive(Default)]
pub(super) struct Compare {
    marks: Vec<Address>,
    open: bool,
    timeframe: Timeframe,
    period: Period,
    /// The benchmark token; the first marked token if it is not among the marks.
    base: Option<Address>,
    /// Row indices are those of the answer's tokens.
    legend: List<LegendFields>,
    /// The row under the crosshair; `None` for the last.
    at: Option<usize>,
    asked: ViewQuery<CompareQuery>,
    /// The plot area of the last frame.
    plot: Rect,
}

/// What a typed comparison asks for.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// The benchmark, if there is one, is among them.
    tokens: Vec<Address>,
    base: Option<Address>,
    period: Option<&'static str>,
}

impl Comparison {
    /// Reads `uni,aave vs weth 90d`: names of tokens, separated by commas or blanks. Of several tokens of one
    /// symbol the one with the largest market cap is meant. Errors: an unknown name; too few or too many tokens.
    pub fn read(text: &str, snapshot: &Snapshot) -> Result<Self, InputError> {
        let mut comparison = Self {
            tokens: Vec::new(),
            base: None,
            period: None,
        };
        let mut is_base = false;
        let words = text.split(|letter: char| letter == ',' || letter.is_whitespace());
        for word in words.filter(|word| !word.is_empty()) {
            let lower = word.to_lowercase();
            if let Some(period) = PERIODS.iter().find(|period| **period == lower) {
                comparison.period = Some(period);
                continue;
            }
            if ["vs", "vs.", "versus"].contains(&lower.as_str()) {
                is_base = true;
                continue;
            }
            let token = named(word, snapshot)?.row.token_address;
            if std::mem::take(&mut is_base) {
                comparison.base = Some(token);
            }
            if !comparison.tokens.contains(&token) {
                comparison.tokens.push(token);
            }
        }
        if (2..=TOKENS_MAX).contains(&comparison.tokens.len()) {
            Ok(comparison)
        } else {
            Err(InputError::ComparedTokens(comparison.tokens.len()))
        }
    }
}

/// One of the query's periods.
struct Period(&'static str);

impl Default for Period {
    fn default() -> Self {
        Self("all")
    }
}

impl Compare {
    pub(super) fn is_open(&self) -> bool {
        self.open
    }

    pub(super) fn marks(&self) -> &[Address] {
        &self.marks
    }

    /// The marks, to be saved.
    pub(super) fn saved(&self) -> Json {
        self.marks.iter().map(Address::to_string).collect()
    }

    /// Restores saved marks; invalid ones are ignored.
    pub(super) fn restore(&mut self, kept: &Json) {
        let marks = kept
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|mark| Address::parse(mark.as_str()?));
        self.marks = marks.take(TOKENS_MAX).collect();
    }

    /// Whether the footer may offer the action: while the comparison is open, only its own.
    pub(super) fn answers(&self, action: Action) -> bool {
        let own = KEYS.iter().any(|(own, _)| *own == action);
        if self.open {
            own
        } else {
            !matches!(action, Action::CompareBase | Action::CompareTimeframe)
        }
    }

    /// The pane's keys, while it is open.
    pub(super) fn keys(&self) -> Option<(&'static str, &'static [(Action, &'static str)])> {
        self.open.then_some(("comparison", KEYS))
    }

    /// The mark before a token's row: compared, else its alert state.
    pub(super) fn row_mark(&self, token: &Address, context: &Context<'_>) -> Option<RowMark> {
        if self.marks.contains(token) {
            Some(RowMark::Compared)
        } else {
            context.alerts.get(token).copied().map(RowMark::Alert)
        }
    }

    /// Toggles the token's mark.
    pub(super) fn mark(&mut self, token: Address, context: &Context<'_>) -> Effect {
        if let Some(at) = self.marks.iter().position(|known| *known == token) {
            self.marks.remove(at);
        } else if self.marks.len() == TOKENS_MAX {
            return Effect::Say(format!(
                "up to {TOKENS_MAX} tokens can be compared; press Space to unmark one"
            ));
        } else {
            self.marks.push(token);
        }
        match self.marks.len() {
            0 => Effect::Redraw,
            1 => Effect::Say(format!(
                "{} marked; mark another, then press V to compare them",
                symbol_of(context, &self.marks[0])
            )),
            count => Effect::Say(format!("{count} tokens marked; press V to compare them")),
        }
    }

    /// Opens the comparison of the marked tokens; with one mark, also of the selected token.
    pub(super) fn open(&mut self, selected: Option<Address>, context: &Context<'_>) -> Effect {
        let mut tokens = self.marks.clone();
        if tokens.len() < 2 {
            tokens.extend(selected.filter(|token| !tokens.contains(token)));
        }
        if tokens.len() < 2 {
            return Effect::Say(
                "mark two or more tokens with Space, then press V to compare them".to_owned(),
            );
        }
        // The first row is selected, and its token is the one that other views show.
        let first = tokens[0];
        (self.marks, self.open, self.at) = (tokens, true, None);
        self.refresh(context);
        Effect::Select(first)
    }

    /// Opens the comparison that was typed.
    pub(super) fn open_typed(&mut self, wanted: &Comparison, context: &Context<'_>) -> Effect {
        self.marks.clone_from(&wanted.tokens);
        self.base = wanted.base;
        if let Some(period) = wanted.period {
            self.period = Period(period);
        }
        self.open(None, context)
    }

    fn question(&self) -> CompareQuery {
        CompareQuery {
            addresses: self.marks.clone(),
            timeframe: self.timeframe.word(),
            period: self.period.0,
            base: self.base.filter(|base| self.marks.contains(base)),
            from: None,
            to: None,
            only: Vec::new(),
        }
    }

    pub(super) fn refresh(&mut self, context: &Context<'_>) {
        if self.open && self.asked.refresh(self.question(), context) {
            self.at = self.at.filter(|at| *at < self.rows());
            self.arrange(context);
        }
    }

    fn arrange(&mut self, context: &Context<'_>) {
        let Some(answer) = self.asked.answer() else {
            return;
        };
        let Some(last) = answer.rows.last() else {
            return;
        };
        let rows = legend::rows(answer, last, context);
        self.legend.arrange(0..rows.len(), |place| rows.get(place));
    }

    fn rows(&self) -> usize {
        self.asked.answer().map_or(0, |answer| answer.rows.len())
    }

    /// Handles an action while open.
    pub(super) fn act(&mut self, action: Action, context: &Context<'_>) -> Effect {
        let last = self.rows().saturating_sub(1);
        let at = self.at.unwrap_or(last);
        match action {
            Action::Back | Action::CompareTokens => self.open = false,
            Action::Left => self.at = Some(at.saturating_sub(1)),
            Action::Right => self.at = Some((at + 1).min(last)),
            Action::PageUp => self.at = Some(at.saturating_sub(last / 10 + 1)),
            Action::PageDown => self.at = Some((at + last / 10 + 1).min(last)),
            Action::First => self.at = Some(0),
            Action::Last => self.at = None,
            Action::Window => {
                let at = PERIODS
                    .iter()
                    .position(|period| *period == self.period.0)
                    .unwrap_or(0);
                self.period = Period(PERIODS[(at + 1) % PERIODS.len()]);
                self.ask_anew(context);
            }
            Action::CompareTimeframe => {
                self.timeframe = self.timeframe.step(true);
                self.ask_anew(context);
            }
            Action::CompareBase => {
                let tokens = self.asked.answer().map(|answer| &answer.tokens);
                self.base = tokens
                    .and_then(|tokens| Some(tokens.get(self.legend.selected()?)?.token_address));
                self.refresh(context);
            }
            Action::Mark => {
                self.marks.clear();
                self.open = false;
                return Effect::Say("marks removed".to_owned());
            }
            _ => match self.legend.act(action) {
                ListEvent::Nothing => return Effect::Pass,
                ListEvent::Sorted => self.arrange(context),
                _ => {}
            },
        }
        Effect::Redraw
    }

    /// Asks for another span: the crosshair goes to its end.
    fn ask_anew(&mut self, context: &Context<'_>) {
        self.at = None;
        self.refresh(context);
    }

    /// Moves the crosshair to the pressed or dragged position, or by a step with the wheel.
    pub(super) fn mouse(&mut self, mouse: MouseEvent, context: &Context<'_>) -> Effect {
        if !self.plot.contains((mouse.column, mouse.row).into()) || self.rows() == 0 {
            return match self.legend.mouse(mouse) {
                ListEvent::Nothing => Effect::Nothing,
                ListEvent::Sorted => {
                    self.arrange(context);
                    Effect::Redraw
                }
                _ => Effect::Redraw,
            };
        }
        match mouse.kind {
            MouseEventKind::ScrollUp => return self.act(Action::Left, context),
            MouseEventKind::ScrollDown => return self.act(Action::Right, context),
            MouseEventKind::Down(MouseButton::Left) | MouseEventKind::Drag(MouseButton::Left) => {
                let across = usize::from(self.plot.width).saturating_sub(1).max(1);
                let rows = self.rows() - 1;
                self.at =
                    Some((usize::from(mouse.column - self.plot.x) * rows + across / 2) / across);
            }
            _ => return Effect::Nothing,
        }
        Effect::Redraw
    }

    pub(super) fn request(&self) -> HttpRequest {
        HttpRequest::of(&self.question())
    }

    /// The rows as a table with one column for each token, named by its address.
    pub(super) fn export(&self) -> Option<Export> {
        let answer = self.asked.answer()?;
        let addresses: Vec<String> = answer
            .tokens
            .iter()
            .map(|token| token.token_address.to_string())
            .collect();
        let columns: Vec<&str> = std::iter::once("timestamp")
            .chain(addresses.iter().map(String::as_str))
            .collect();
        let row = |row: &query::queries::compare::ComparedRow| {
            std::iter::once(json!(row.timestamp))
                .chain(row.percent.iter().map(|value| json!(value)))
                .collect::<Vec<Json>>()
        };
        Some(Export::of(
            "comparison",
            &columns,
            answer.rows.iter().map(row).collect(),
            self.at.or(answer.rows.len().checked_sub(1)),
        ))
    }

    pub(super) fn draw(&mut self, buffer: &mut Buffer, area: Rect, context: &Context<'_>) {
        let measure = if area.width >= WIDE {
            "percent from a common start"
        } else {
            "% from start"
        };
        let period = if self.period.0 == "all" {
            "all days"
        } else {
            self.period.0
        };
        let title = format!(
            "{} tokens, {measure} · {period} · {} candles",
            self.marks.len(),
            self.timeframe.word()
        );
        let room = usize::from(area.width).saturating_sub(text::width(&title) + 8);
        let note = NOTES
            .iter()
            .find(|note| text::width(note) <= room)
            .unwrap_or(&"");
        let panel = Panel {
            note,
            focused: true,
            ..Panel::new(&title)
        };
        let body = panel.render(area, buffer, context.theme);
        if let Some(problem) = &self.asked.problem {
            return panel::failure(body, buffer, context.theme, &problem.detail);
        }
        let legend = &mut self.legend;
        let plot = self
            .asked
            .answer()
            .map(|answer| draw::comparison(answer, self.at, legend, buffer, body, context));
        self.plot = plot.unwrap_or_default();
        if plot.is_none() {
            progress::skeleton(body, buffer, context.theme);
        }
    }
}
