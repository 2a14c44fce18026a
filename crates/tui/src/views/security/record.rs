//! The track record pane: outcomes of tokens after past verdicts, compared with all tokens of the same age. The rows are those of the
//! query; a pane that replaces the view while it is open.

use crate::views::prelude::*;
use analysis::track_record::errors::{Verdict, interval_text};
use query::queries::security_record::{SecurityRecordQuery, SecurityTrackRecord};
use security::{score::least_score, track_record::OutcomeRecord};

/// An outcome of one verdict at one age.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct OutcomeRow {
    day: i64,
    recommendation: &'static str,
    tokens: u64,
    of: OutcomeRecord,
}

fn rows(record: &SecurityTrackRecord) -> Vec<OutcomeRow> {
    let of_verdict = record.records.iter().flat_map(|record| {
        record.outcomes.iter().map(|outcome| OutcomeRow {
            day: record.day,
            recommendation: record.recommendation,
            tokens: record.tokens,
            of: outcome.clone(),
        })
    });
    of_verdict.filter(|row| row.of.count > 0).collect()
}

pub(super) struct OutcomeFields;

type F = Field<OutcomeFields>;

fn percent(fraction: Option<f64>) -> Cell {
    fraction.map_or_else(Cell::missing, |fraction| {
        Cell::figure(format::fixed(100.0 * fraction, 1))
    })
}

impl Fields for OutcomeFields {
    type Row<'a> = &'a OutcomeRow;

    const FIELDS: &'static [F] = &[
        F::figure("day", "age", 4, 245, |row| row.day.into()).unit("d"),
        F::text("recommendation", "verdict", [10, 19], 250, |row| {
            row.recommendation.into()
        })
        .cell(|row, _| {
            Cell::new(
                row.recommendation.to_owned(),
                role_of_score(least_score(row.recommendation), row.recommendation),
            )
        })
        .searched(),
        F::figure("tokens", "tokens", 6, 190, |row| row.tokens.into()).counted(),
        F::text("outcome", "outcome", [20, 20], 255, |row| {
            row.of.outcome.word().into()
        })
        .cell(|row, _| Cell::text(row.of.outcome.title()))
        .searched()
        .grows(),
        F::figure("within_days", "within", 6, 230, |row| {
            row.of.within_days.into()
        })
        .unit("d"),
        F::figure("count", "known", 6, 225, |row| row.of.count.into()).counted(),
        F::figure("share", "share", 6, 240, |row| row.of.share.into())
            .cell(|row, _| percent(row.of.share))
            .unit("%")
            .decimal(),
        F::figure("base_rate", "base", 6, 235, |row| row.of.base_rate.into())
            .cell(|row, _| percent(row.of.base_rate))
            .unit("%")
            .decimal(),
        F::figure("difference", "difference", 7, 220, |row| {
            row.of.evidence.difference.into()
        })
        .cell(|row, _| {
            row.of
                .evidence
                .difference
                .map_or_else(Cell::missing, |it| Cell::figure(format!("{it:+.1}")))
        })
        .decimal(),
        F::text("interval", "95% interval", [11, 15], 215, |row| {
            interval(&row.of).unwrap_or_default().into()
        })
        .cell(|row, _| {
            interval(&row.of).map_or_else(Cell::missing, |text| Cell::new(text, Role::Dim))
        }),
        F::text("comparison", "compared", [9, 13], 238, |row| {
            row.of.evidence.verdict.map(Verdict::word).into()
        })
        .cell(|row, _| {
            let compared = |verdict: Verdict| match verdict {
                Verdict::BeatsBaseRate => Cell::new("more often", Role::Text),
                Verdict::BelowBaseRate => Cell::new("less often", Role::Text),
                Verdict::NoEdge => Cell::new("no difference", Role::Dim),
                Verdict::TooFew => Cell::new("too few", Role::Dim),
            };
            row.of.evidence.verdict.map_or_else(Cell::missing, compared)
        }),
    ];

    const STANDARD: Option<Order> = None;

    fn json(row: &OutcomeRow) -> Json {
        let evidence = &row.of.evidence;
        json!({
            "day": row.day, "recommendation": row.recommendation, "tokens": row.tokens, "outcome": row.of.outcome.word(),
            "within_days": row.of.within_days, "count": row.of.count, "share": row.of.share, "base_rate": row.of.base_rate,
            "difference": evidence.difference, "interval": interval(&row.of), "comparison": evidence.verdict.map(Verdict::word),
        })
    }
}

fn interval(outcome: &OutcomeRecord) -> Option<String> {
    let evidence = &outcome.evidence;
    interval_text(evidence.difference_low, evidence.difference_high)
}

#[derive(Default)]
pub(super) struct RecordPane {
    open: bool,
    pub(super) list: List<OutcomeFields>,
    rows: Vec<OutcomeRow>,
    asked: ViewQuery<SecurityRecordQuery>,
    /// The published version of the track records that was requested.
    published: u64,
}

impl RecordPane {
    pub(super) fn is_open(&self) -> bool {
        self.open
    }

    pub(super) fn refresh(&mut self, context: &Context<'_>) {
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
        if self.asked.refresh(SecurityRecordQuery {}, context) {
            self.rows = self.asked.answer().map_or_else(Vec::new, rows);
            self.arrange();
        }
    }

    pub(super) fn arrange(&mut self) {
        self.list
            .arrange(0..self.rows.len(), |place| self.rows.get(place));
    }

    pub(super) fn act(&mut self, action: Action, context: &Context<'_>) -> Effect {
        if matches!(action, Action::Back | Action::VerdictRecord) {
            self.open = !self.open;
            if !self.open {
                self.asked.clear();
            }
            self.refresh(context);
            return Effect::Redraw;
        }
        let event = self.list.act(action);
        if event == ListEvent::Nothing {
            return Effect::Pass;
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
            .export("security-track-record", |place| self.rows.get(place))
    }

    pub(super) fn draw(&mut self, buffer: &mut Buffer, area: Rect, context: &Context<'_>) {
        let record = self.asked.answer().filter(|record| record.complete);
        let waits = record.is_none() && self.asked.problem.is_none();
        // How far the count is while it is drawn.
        let counted = context
            .snapshot
            .filter(|_| waits)
            .map(|snapshot| snapshot.track_records.want_security());
        let (done, total) = counted.map_or((0, 0), |counted| counted.progress);
        let progress = waits.then(|| (total > 0).then(|| done as f64 / total as f64));
        let panel = Panel {
            note: "Esc back",
            focused: true,
            progress,
            ..Panel::new("track record of the verdicts · all tokens")
        };
        let body = panel.render(area, buffer, context.theme);
        if let Some(problem) = &self.asked.problem {
            return panel::failure(body, buffer, context.theme, &problem.detail);
        }
        let says = record.map_or_else(
            || {
                let so_far = if total > 0 {
                    format!(": {done} of {total} so far")
                } else {
                    String::new()
                };
                format!("computing the verdicts 1, 7 and 30 days after each token's launch{so_far}")
            },
            legend,
        );
        let width = usize::from(body.width.saturating_sub(2));
        let lines = text::wrap(&says, width, usize::from(body.height / 3));
        let table = Rect {
            height: body.height.saturating_sub(lines.len() as u16 + 1),
            ..body
        };
        if !waits {
            self.list.draw(
                buffer,
                ListFrame::new(
                    table,
                    "no token's rows reach back to its launch and 30 days beyond a verdict",
                ),
                context,
                |place| self.rows.get(place),
            );
        }
        let top = if waits { 1 } else { table.height + 1 };
        for (nth, line) in lines.iter().enumerate() {
            put(buffer, body, 1, top + nth as u16, line, context.theme.dim());
        }
    }
}

fn legend(record: &SecurityTrackRecord) -> String {
    let excluded: Vec<&str> = record.excluded.iter().map(|it| it.what).collect();
    format!(
        "{}. Verdicts at each age since launch, from earlier rows with a time. Without: {}.",
        plural(record.tokens, "token", "tokens"),
        excluded.join(", ")
    )
}
