//! The track record pane: outcomes of tokens after past verdicts, compared with all tokens of the same age. The rows are those of the
//! query; a pane that replaces the view while it is open.

use crate::views::{
    prelude::*,
    record_pane::{RecordPane, RecordTexts, percent, so_far},
};
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

pub(super) fn rows(record: &SecurityTrackRecord) -> Vec<OutcomeRow> {
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

pub(super) type VerdictsPane = RecordPane<OutcomeFields, OutcomeRow, SecurityRecordQuery>;

pub(super) fn draw(
    pane: &mut VerdictsPane,
    buffer: &mut Buffer,
    area: Rect,
    context: &Context<'_>,
) {
    let record = pane.answer().filter(|record| record.complete);
    let says = record.map(legend);
    // How far the count is while it is drawn.
    let waits = says.is_none().then(|| {
        let counted = context.snapshot.map(|it| it.track_records.want_security());
        counted.map_or((0, 0), |counted| counted.progress)
    });
    let says = says.unwrap_or_else(|| {
        let so_far = so_far(waits.unwrap_or_default(), "");
        format!("computing the verdicts 1, 7 and 30 days after each token's launch{so_far}")
    });
    let texts = RecordTexts {
        title: "track record of the verdicts · all tokens",
        says: &says,
        empty: "no token's rows reach back to its launch and 30 days beyond a verdict",
        waits,
    };
    pane.draw(buffer, area, &texts, context);
}

fn legend(record: &SecurityTrackRecord) -> String {
    let excluded: Vec<&str> = record.excluded.iter().map(|it| it.what).collect();
    format!(
        "{}. Verdicts at each age since launch, from earlier rows with a time. Without: {}.",
        plural(record.tokens, "token", "tokens"),
        excluded.join(", ")
    )
}
