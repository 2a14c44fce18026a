//! A pane with a track record: a table of all rows of a query, with a text under it, that replaces a view while it is open. The columns, the
//! query and the texts belong to the view.

use super::prelude::*;

/// From this width on, the text is drawn beside the table; the table's width then.
const BESIDE_WIDTH: u16 = 190;
const TABLE_WIDTH: u16 = 140;

/// `F`: the columns; `R`: a row; `Q`: the query.
pub(super) struct RecordPane<F: Fields, R, Q: Query> {
    open: bool,
    pub(super) list: List<F>,
    rows: Vec<R>,
    asked: ViewQuery<Q>,
    /// The published version of the track records that was requested.
    published: u64,
}

impl<F: Fields, R, Q: Query> Default for RecordPane<F, R, Q>
where
    List<F>: Default,
{
    fn default() -> Self {
        Self {
            open: false,
            list: List::default(),
            rows: Vec::new(),
            asked: ViewQuery::default(),
            published: 0,
        }
    }
}

/// The texts of a pane.
pub(super) struct RecordTexts<'a> {
    pub(super) title: &'a str,
    /// Under the table; while the record is computed, instead of it.
    pub(super) says: &'a str,
    pub(super) empty: &'a str,
    /// While the record is computed: steps done, and their number or 0.
    pub(super) waits: Option<(u64, u64)>,
}

impl<F, R, Q> RecordPane<F, R, Q>
where
    F: for<'a> Fields<Row<'a> = &'a R>,
    R: 'static,
    Q: Query + PartialEq,
{
    pub(super) fn is_open(&self) -> bool {
        self.open
    }

    /// The result, once it is complete.
    pub(super) fn answer(&self) -> Option<&Q::Answer> {
        self.asked.answer()
    }

    /// Steps of the pending query.
    pub(super) fn progress(&self) -> (u64, u64) {
        self.asked.progress().unwrap_or_default()
    }

    pub(super) fn toggle(&mut self) {
        self.open = !self.open;
        if !self.open {
            self.asked.clear();
        }
    }

    pub(super) fn refresh(
        &mut self,
        question: Q,
        rows: fn(&Q::Answer) -> Vec<R>,
        context: &Context<'_>,
    ) {
        if !self.open {
            return;
        }
        let published = context
            .snapshot
            .map_or(0, |snapshot| snapshot.track_records.version());
        if self.published != published {
            self.published = published;
            self.asked.ask_again();
        }
        if self.asked.refresh(question, context) {
            self.rows = self.asked.answer().map_or_else(Vec::new, rows);
            self.arrange();
        }
    }

    pub(super) fn arrange(&mut self) {
        self.list
            .arrange(0..self.rows.len(), |place| self.rows.get(place));
    }

    /// `toggles` opens and closes the pane.
    pub(super) fn act(&mut self, action: Action, toggles: Action) -> Effect {
        if action == Action::Back || action == toggles {
            self.toggle();
            return Effect::Redraw;
        }
        let event = self.list.act(action);
        self.on_list_event(event, Effect::Pass)
    }

    pub(super) fn mouse(&mut self, mouse: MouseEvent) -> Effect {
        let event = self.list.mouse(mouse);
        self.on_list_event(event, Effect::Nothing)
    }

    fn on_list_event(&mut self, event: ListEvent, otherwise: Effect) -> Effect {
        match event {
            ListEvent::Nothing => return otherwise,
            ListEvent::Sorted => self.arrange(),
            _ => {}
        }
        Effect::Redraw
    }

    pub(super) fn request(&self) -> Option<HttpRequest> {
        self.asked.question().map(HttpRequest::of)
    }

    pub(super) fn export(&self, name: &str) -> Export {
        self.list.export(name, |place| self.rows.get(place))
    }

    pub(super) fn draw(
        &mut self,
        buffer: &mut Buffer,
        area: Rect,
        texts: &RecordTexts<'_>,
        context: &Context<'_>,
    ) {
        let waits = texts.waits.filter(|_| self.asked.problem.is_none());
        let share = |(done, total): (u64, u64)| (total > 0).then(|| done as f64 / total as f64);
        let panel = Panel {
            note: "Esc back",
            focused: true,
            progress: waits.map(share),
            ..Panel::new(texts.title)
        };
        let body = panel.render(area, buffer, context.theme);
        if let Some(problem) = &self.asked.problem {
            return panel::failure(body, buffer, context.theme, &problem.detail);
        }
        // On a wide screen the text is beside the table, whose columns would otherwise be far apart.
        let (table, words) = if body.width >= BESIDE_WIDTH && waits.is_none() {
            beside(body, body.width - TABLE_WIDTH)
        } else {
            (body, body)
        };
        let is_beside = words.x != table.x;
        let width = usize::from(words.width.saturating_sub(2));
        let lines = text::wrap(texts.says, width, usize::from(body.height / 3));
        let under = if is_beside { 0 } else { lines.len() as u16 + 1 };
        let table = Rect {
            height: body.height.saturating_sub(under),
            ..table
        };
        if waits.is_none() {
            self.list.draw(
                buffer,
                ListFrame::new(table, texts.empty),
                context,
                |place| self.rows.get(place),
            );
        }
        let top = match waits {
            Some(_) => 1,
            None if is_beside => 0,
            None => table.height + 1,
        };
        for (nth, line) in lines.iter().enumerate() {
            put(
                buffer,
                words,
                1,
                top + nth as u16,
                line,
                context.theme.dim(),
            );
        }
    }
}

/// `: 3 of 40 tokens so far`, once the number is known.
pub(super) fn so_far((done, total): (u64, u64), noun: &str) -> String {
    if total > 0 {
        format!(": {done} of {total}{noun} so far")
    } else {
        String::new()
    }
}

/// A fraction in percent.
pub(super) fn percent(fraction: Option<f64>) -> Cell {
    fraction.map_or_else(Cell::missing, |fraction| {
        Cell::figure(format::fixed(100.0 * fraction, 1))
    })
}
