//! The optional columns, whose figures are computed: for the rows on screen, and for every token on request or where sorting and filtering
//! need them.

use super::list::{LISTED, ListedToken, TokenFields};
use crate::views::prelude::*;
use analysis::patterns::Status;
use query::queries::fields::{FigureValue, Figures};
use security::score::{NOT_ENOUGH_DATA, too_little_known};

// The optional columns, each named as its field of GET /tokens. First sort: highest confidence, strongest advice.
type F = Field<TokenFields>;

pub(super) const TREND: F = F::text("trend", "trend", [9, 9], 187, LISTED)
    .cell(|row, _| worded(*row, "trend"))
    .largest_first()
    .optional();

/// From this column width a pattern shows its confidence.
const CONFIDENCE_FROM: usize = 26;

pub(super) const PATTERN: F = F::text("best_pattern", "pattern", [20, 33], 195, LISTED)
    .cell(|row, look| {
        figure(*row, "best_pattern", |figures| {
            let Some(FigureValue::Pattern(pattern, status)) = figures.get("best_pattern") else {
                return None;
            };
            let (moves, arrow) = (
                pattern.projected_movement,
                format::direction(pattern.projected_movement),
            );
            let (confidence, name) = (
                format!("{:.2} ", pattern.confidence),
                format!("{arrow} {}", words::shown(pattern.name.word())),
            );
            // A completed pattern has no target any more.
            let over = match status {
                Some(Status::Failed) => ", failed",
                Some(Status::Reached) if look.cells >= CONFIDENCE_FROM => ", target hit",
                Some(Status::Reached) => ", hit",
                Some(Status::Forming | Status::Confirmed) | None => "",
            };
            let whole = look.cells >= CONFIDENCE_FROM;
            let room = look
                .cells
                .saturating_sub(text::width(over) + if whole { confidence.len() } else { 0 });
            // The name takes precedence over the confidence; the longest names are abbreviated.
            let name = if text::width(&name) <= room {
                name
            } else {
                name.replace("ead and shoulders", "ead & sh.")
                    .replace("ymmetrical", "ymm.")
            };
            let cell = if whole {
                Cell::new(confidence, Role::Dim)
            } else {
                Cell::default()
            };
            let name = text::truncate(&name, room).into_owned();
            Some(if over.is_empty() {
                cell.then(name, by_sign(moves))
            } else {
                cell.then(format!("{name}{over}"), Role::Dim)
            })
        })
    })
    .largest_first()
    .optional();

/// The recommended action, no stronger than its track record allows.
pub(super) const ADVICE: F = F::text("advice", "advice", [11, 11], 186, LISTED)
    .cell(|row, _| worded(*row, "advice"))
    .largest_first()
    .optional();

pub(super) const SCORE: F = F::figure("securityScore", "score", 5, 191, LISTED)
    .cell(|row, _| {
        figure(*row, "securityScore", |figures| {
            let (score, word) = match figures.get("securityScore")? {
                FigureValue::Value(Scalar::Whole(score)) => (*score, ""),
                FigureValue::Unknown => (0, NOT_ENOUGH_DATA),
                _ => return None,
            };
            Some(Cell::new(
                score_text(score, word),
                role_of_score(score, word),
            ))
        })
    })
    .optional();

/// The recommendation's first word, the verdict behind the score.
pub(super) const RISK: F = F::text("recommendation", "risk", [13, 19], 130, LISTED)
    // `NO MAJOR RISK FOUND`
    .widths(&[(130, [19, 19])])
    .cell(|row, _| {
        figure(*row, "recommendation", |figures| {
            let word = figures.get("recommendation")?.word()?;
            let role = if too_little_known(word) {
                Role::Dim
            } else {
                Role::Text
            };
            Some(Cell::new(word.to_owned(), role))
        })
    })
    .optional();

/// The largest cluster's share of the free supply.
pub(super) const CLUSTER: F = F::figure("largest_cluster", "cluster", 7, 192, LISTED)
    .cell(|row, _| {
        figure(*row, "largest_cluster", |figures| {
            let share = number(figures, "largest_cluster")?;
            Some(Cell::new(format::share(Some(share)), Role::Text))
        })
    })
    .unit("%")
    .optional();

/// Wilder's levels: above 70 overbought, under 30 oversold.
pub(super) const RSI: F = F::figure("rsi_14", "RSI 14", 6, 125, LISTED)
    .cell(|row, _| {
        figure(*row, "rsi_14", |figures| {
            let rsi = number(figures, "rsi_14")?;
            Some(Cell::new(
                format::fixed(rsi, 1),
                if (30.0..=70.0).contains(&rsi) {
                    Role::Text
                } else {
                    Role::Warning
                },
            ))
        })
    })
    .decimal()
    .optional()
    .recent();

pub(super) const FROM_HIGH: F = F::figure("from_52w_high", "52w high", 8, 124, LISTED)
    .cell(|row, _| {
        figure(*row, "from_52w_high", |figures| {
            Some(Cell::change(Some(number(figures, "from_52w_high")?)))
        })
    })
    .unit("%")
    .decimal()
    .optional()
    .recent();

/// The columns of `m`; other computed columns are chosen individually.
pub(super) const MORE: &[&str] = &[
    "trend",
    "best_pattern",
    "advice",
    "securityScore",
    "recommendation",
];

/// A figure's cell: a dim `…` until it is computed.
fn figure(row: ListedToken<'_>, key: &str, cell: impl FnOnce(&Figures) -> Option<Cell>) -> Cell {
    let waiting = || Cell::new("…", Role::Dim);
    row.figures
        .filter(|figures| figures.has(key))
        .map_or_else(waiting, |figures| {
            cell(figures).unwrap_or_else(Cell::missing)
        })
}

/// A figure that is a word.
fn worded(row: ListedToken<'_>, key: &str) -> Cell {
    figure(row, key, |figures| {
        let rank = number(figures, key).unwrap_or_default();
        Some(Cell::new(
            words::shown(figures.get(key)?.word()?).to_owned(),
            by_sign(rank),
        ))
    })
}

/// The number that a figure is, or sorts by.
fn number(figures: &Figures, key: &str) -> Option<f64> {
    match figures.get(key)?.rank() {
        Scalar::Float(number) => Some(number),
        Scalar::Whole(number) => Some(number as f64),
        _ => None,
    }
}

fn by_sign(value: f64) -> Role {
    match value {
        value if value > 0.0 => Role::Up,
        value if value < 0.0 => Role::Down,
        _ => Role::Dim,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::views::fixture;
    use analysis::{
        patterns::{AdviceWord as Advice, Pattern, PatternName},
        trendlines::Trend,
    };

    fn given(figures: &[(&'static str, Option<FigureValue>)]) -> Figures {
        let mut all = Figures::default();
        figures
            .iter()
            .cloned()
            .for_each(|(name, figure)| all.set(name, figure));
        all
    }

    #[test]
    fn words_are_those_of_the_api_and_every_column_has_its_field() {
        let pattern = Pattern {
            name: PatternName::DoubleBottom,
            confidence: 0.81,
            completion_percent: 100.0,
            projected_movement: 14.2,
            start_index: 3,
            end_index: 40,
            detail: None,
        };
        let token = &fixture::token();
        for (trend, advice) in [
            (Trend::Uptrend, Advice::StrongBuy),
            (Trend::Sideways, Advice::Buy),
            (Trend::Downtrend, Advice::Hold),
            (Trend::Downtrend, Advice::Watch),
            (Trend::Uptrend, Advice::Sell),
            (Trend::Uptrend, Advice::StrongSell),
        ] {
            let figures = given(&[
                ("trend", Some(trend.into())),
                (
                    "best_pattern",
                    Some(FigureValue::Pattern(Box::new(pattern.clone()), None)),
                ),
                ("advice", Some(advice.into())),
                ("securityScore", Some(FigureValue::Value(Scalar::Whole(21)))),
                (
                    "recommendation",
                    Some(FigureValue::Value(Scalar::text("HIGH RISK"))),
                ),
            ]);
            let json = serde_json::to_value(&figures).unwrap();
            let row = ListRow::<TokenFields> {
                given: ListedToken {
                    token,
                    figures: Some(&figures),
                    starred: false,
                    has_changed: false,
                },
            };
            let words = [
                &json["trend"],
                &json["best_pattern"]["name"],
                &json["advice"],
            ];
            for (field, expected) in [TREND, PATTERN, ADVICE].iter().zip(words) {
                assert_eq!(
                    TokenFields::value(row, field.column.key),
                    Scalar::from(expected.as_str())
                );
            }
            assert_eq!(TokenFields::value(row, SCORE.column.key), Scalar::Whole(21));
        }
        assert!(
            List::<TokenFields>::optional().count() == 8
                && List::<TokenFields>::optional()
                    .all(|key| query::queries::fields::FIELDS.contains(&key))
        );
        let look = CellContext {
            cells: 9,
            now: Time(0),
            newest: Time(0),
            zone: crate::zone::DisplayZone::default(),
        };
        let cell = |field: F, figures: Figures| {
            field.show(
                ListRow {
                    given: ListedToken {
                        token,
                        figures: Some(&figures),
                        starred: false,
                        has_changed: false,
                    },
                },
                &look,
            )
        };
        assert_eq!(cell(TREND, given(&[("trend", None)])), Cell::missing());
        let failed = given(&[(
            "best_pattern",
            Some(FigureValue::Pattern(
                Box::new(pattern),
                Some(Status::Failed),
            )),
        )]);
        assert_eq!(
            cell(PATTERN, failed),
            Cell::default().then("…, failed", Role::Dim),
            "how it stands is never cut"
        );
        assert_eq!(
            cell(SCORE, Figures::default()),
            Cell::new("…", Role::Dim),
            "not worked out yet"
        );
        let scored = ("securityScore", Some(FigureValue::Value(Scalar::Whole(21))));
        assert_eq!(cell(SCORE, given(&[scored])), Cell::new("21", Role::Down));
        let unknown = given(&[("securityScore", Some(FigureValue::Unknown))]);
        assert_eq!(cell(SCORE, unknown), Cell::new("?", Role::Dim));
    }
}
