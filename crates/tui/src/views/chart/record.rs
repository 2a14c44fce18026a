//! The track record pane: hit rates of past signals in this data. A table of patterns, trend labels and holder-growth ranks with their
//! outcomes, compared with random entries. The outcomes come from the track-record query.

use crate::views::prelude::*;
use analysis::track_record::{Edge, edge};
use query::queries::track_record::{TrackRecord, WholeRecordQuery};

/// A signal with its outcomes.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct SignalSummary {
    /// The signal type: pattern, trend or growth.
    of: &'static str,
    name: &'static str,
    count: u64,
    /// Fractions: the hit rate of the signal, and of random entries.
    right: Option<f64>,
    any: Option<f64>,
    edge: Option<Edge>,
    /// In percent; `None` for patterns, which have no fixed horizon.
    mean_return: Option<f64>,
    random_mean_return: Option<f64>,
    median_days: Option<f64>,
}

fn signals(record: &TrackRecord) -> Vec<SignalSummary> {
    let patterns = record.patterns.iter().map(|pattern| SignalSummary {
        of: "pattern",
        name: pattern.name.word(),
        count: pattern.count,
        right: pattern.target,
        any: pattern.random_target,
        edge: edge(pattern.target, pattern.random_target, pattern.count),
        mean_return: None,
        random_mean_return: None,
        median_days: pattern.median_days,
    });
    let words = [("trend", &record.trends), ("holders", &record.growth)]
        .into_iter()
        .flat_map(|(of, records)| {
            records.iter().map(move |word| SignalSummary {
                of,
                name: word.word,
                count: word.count,
                right: word.right(word.rose),
                any: word.right(word.random_rose),
                edge: edge(
                    word.right(word.rose),
                    word.right(word.random_rose),
                    word.count,
                ),
                mean_return: word.mean_return,
                random_mean_return: word.random_mean_return,
                median_days: None,
            })
        });
    patterns.chain(words).collect()
}

pub(super) struct SignalFields;

type F = Field<SignalFields>;

fn percent(fraction: Option<f64>) -> Cell {
    fraction.map_or_else(Cell::missing, |fraction| {
        Cell::figure(format::fixed(100.0 * fraction, 1))
    })
}

impl Fields for SignalFields {
    type Row<'a> = &'a SignalSummary;

    const FIELDS: &'static [F] = &[
        F::text("signal", "signal", [16, 28], 255, |row| row.name.into())
            .cell(|row, _| Cell::text(words::shown(row.name)))
            .searched()
            .grows(),
        F::text("of", "type", [7, 8], 200, |row| row.of.into()).searched(),
        F::figure("count", "times", 7, 230, |row| row.count.into()).counted(),
        F::figure("right", "right", 6, 240, |row| row.right.into())
            .cell(|row, _| percent(row.right))
            .unit("%")
            .decimal(),
        F::figure("any", "base rate", 6, 235, |row| row.any.into())
            .cell(|row, _| percent(row.any))
            .unit("%")
            .decimal(),
        F::figure("edge", "edge", 7, 250, |row| {
            row.edge.map(|edge| edge.points).into()
        })
        .change(),
        F::figure("errors", "std errors", 7, 245, |row| {
            row.edge.map(|edge| edge.errors).into()
        })
        .cell(|row, _| {
            let cell = |edge: Edge| {
                Cell::new(
                    format!("{:+.1}", edge.errors),
                    if edge.errors.abs() < 2.0 {
                        Role::Dim
                    } else {
                        Role::Text
                    },
                )
            };
            row.edge.map_or_else(Cell::missing, cell)
        })
        .decimal(),
        F::figure("mean_return", "mean", 7, 150, |row| row.mean_return.into()).change(),
        F::figure("random_mean_return", "base mean", 7, 140, |row| {
            row.random_mean_return.into()
        })
        .change(),
        F::figure("median_days", "days", 5, 120, |row| row.median_days.into())
            .fixed(1, Role::Text)
            .decimal(),
    ];

    const STANDARD: Option<Order> = Some(Order::falling("errors"));

    fn json(row: &SignalSummary) -> Json {
        json!({
            "signal": row.name, "of": row.of, "count": row.count, "right": row.right, "any": row.any,
            "edge": row.edge.map(|edge| edge.points), "errors": row.edge.map(|edge| edge.errors), "mean_return": row.mean_return,
            "random_mean_return": row.random_mean_return, "median_days": row.median_days,
        })
    }
}

/// The pane that replaces the chart.
#[derive(Default)]
pub(super) struct Record {
    open: bool,
    list: List<SignalFields>,
    signals: Vec<SignalSummary>,
    asked: ViewQuery<WholeRecordQuery>,
    /// The published version of the track record that was requested.
    published: u64,
}

impl Record {
    pub(super) fn is_open(&self) -> bool {
        self.open
    }

    pub(super) fn toggle(&mut self) {
        self.open = !self.open;
        if !self.open {
            self.asked.clear();
        }
    }

    pub(super) fn refresh(&mut self, timeframe: &'static str, context: &Context<'_>) {
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
        if self.asked.refresh(WholeRecordQuery { timeframe }, context) {
            self.signals = self.asked.answer().map_or_else(Vec::new, signals);
            self.arrange();
        }
    }

    fn arrange(&mut self) {
        self.list
            .arrange(0..self.signals.len(), |place| self.signals.get(place));
    }

    pub(super) fn act(&mut self, action: Action) -> Effect {
        let event = self.list.act(action);
        match action {
            Action::Back | Action::TrackRecord => self.toggle(),
            _ if event == ListEvent::Nothing => return Effect::Pass,
            _ => {}
        }
        self.on_list_event(event)
    }

    pub(super) fn mouse(&mut self, mouse: MouseEvent) -> Effect {
        let event = self.list.mouse(mouse);
        if event == ListEvent::Nothing {
            Effect::Nothing
        } else {
            self.on_list_event(event)
        }
    }

    fn on_list_event(&mut self, event: ListEvent) -> Effect {
        if event == ListEvent::Sorted {
            self.arrange();
        }
        Effect::Redraw
    }

    pub(super) fn request(&self) -> Option<HttpRequest> {
        self.asked.question().map(HttpRequest::of)
    }

    pub(super) fn export(&self) -> Export {
        self.list
            .export("track-record", |place| self.signals.get(place))
    }

    pub(super) fn draw(
        &mut self,
        buffer: &mut Buffer,
        area: Rect,
        timeframe: &'static str,
        context: &Context<'_>,
    ) {
        let title = format!("track record · {timeframe} · all tokens");
        let waits = self.asked.answer().is_none_or(|record| !record.complete)
            && self.asked.problem.is_none();
        // How far the count is while it is drawn.
        let counted = context
            .snapshot
            .filter(|_| waits)
            .map(|snapshot| snapshot.track_records.want(timeframe));
        let (done, total) = counted.map_or((0, 0), |counted| counted.progress);
        let progress = waits.then(|| (total > 0).then(|| done as f64 / total as f64));
        let panel = Panel {
            note: "Esc back",
            focused: true,
            progress,
            ..Panel::new(&title)
        };
        let body = panel.render(area, buffer, context.theme);
        if let Some(problem) = &self.asked.problem {
            return panel::failure(body, buffer, context.theme, &problem.detail);
        }
        let says = if waits {
            let so_far = if total > 0 {
                format!(": {done} of {total} tokens so far")
            } else {
                String::new()
            };
            format!("evaluating every pattern in the last 2,000 candles of each token{so_far}")
        } else {
            LEGEND.to_owned()
        };
        let width = usize::from(body.width.saturating_sub(2));
        let lines = text::wrap(&says, width, usize::from(body.height / 3));
        let table = Rect {
            height: body.height.saturating_sub(lines.len() as u16 + 1),
            ..body
        };
        if !waits {
            self.list.draw(
                buffer,
                ListFrame::new(table, "no signals in this data"),
                context,
                |place| self.signals.get(place),
            );
        }
        let top = if waits { 1 } else { table.height + 1 };
        for (nth, line) in lines.iter().enumerate() {
            put(buffer, body, 1, top + nth as u16, line, context.theme.dim());
        }
    }
}

const LEGEND: &str = "Right: a pattern hit its target before its stop; the price was higher 14 candles after an uptrend or 7 days after \
    top-third holder growth, or lower after a downtrend or bottom-third growth. Base rate: the same for random entries. Below 2 \
    standard errors, the result may be chance, and entries in one market on one day are correlated.";
