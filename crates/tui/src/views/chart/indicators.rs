//! The chart's indicators: the active ones, their values for the visible slots, and their legend. They are computed by the indicators
//! query.

use std::ops::Range;

use super::overlays::Slots;
use crate::{
    views::prelude::*,
    widgets::candles::{IndicatorCurve, IndicatorPane},
};
use analysis::indicators::{INDICATORS_MAX, Indicator};
use query::queries::indicators::{IndicatorRow, IndicatorsQuery, TokenIndicators};

/// Colors of the overlay curves, in the order in which the indicators were chosen; trendlines and necklines have others.
const ROLES: &[Role] = &[
    Role::Curve,
    Role::CurveSecond,
    Role::WarningSoft,
    Role::AccentSoft,
    Role::UpSoft,
    Role::DownSoft,
    Role::Text,
];

#[derive(Default)]
pub(super) struct Studies {
    chosen: Vec<Indicator>,
    asked: ViewQuery<IndicatorsQuery>,
}

/// The curves and panes of the indicators.
#[derive(Default)]
pub(super) struct Drawn {
    pub(super) curves: Vec<IndicatorCurve>,
    pub(super) panes: Vec<IndicatorPane>,
}

impl Studies {
    pub(super) fn chosen(&self) -> &[Indicator] {
        &self.chosen
    }

    pub(super) fn choose(&mut self, mut chosen: Vec<Indicator>) {
        chosen.truncate(INDICATORS_MAX);
        self.chosen = chosen;
    }

    pub(super) fn clear(&mut self) {
        self.asked.clear();
    }

    pub(super) fn question(
        &self,
        token: Address,
        timeframe: &'static str,
        to: Option<Time>,
        limit: u64,
    ) -> IndicatorsQuery {
        IndicatorsQuery {
            contract_address: token,
            names: self.chosen.clone(),
            timeframe,
            from: None,
            to,
            limit,
        }
    }

    pub(super) fn refresh(&mut self, question: IndicatorsQuery, context: &Context<'_>) {
        if self.chosen.is_empty() {
            self.asked.clear();
        } else {
            self.asked.refresh(question, context);
        }
    }

    /// The indicators drawn over the candles, with their colors.
    fn over(&self) -> impl Iterator<Item = (&Indicator, Role)> {
        let over = self
            .chosen
            .iter()
            .filter(|indicator| indicator.kind().over_price);
        over.enumerate()
            .map(|(nth, indicator)| (indicator, ROLES[nth % ROLES.len()]))
    }

    fn under(&self) -> impl Iterator<Item = &Indicator> {
        let under = self
            .chosen
            .iter()
            .filter(|indicator| !indicator.kind().over_price);
        under.filter(|indicator| **indicator != Indicator::Mentions || self.has_mentions())
    }

    /// Whether the token has posts, as far as it is known.
    fn has_mentions(&self) -> bool {
        self.asked.answer().is_none_or(|answer| {
            let values = answer.rows.iter().flat_map(|row| &row.values);
            let mut mentions = values.filter(|(name, _)| **name == *"mentions");
            mentions.any(|(_, value)| value.is_some())
        })
    }

    /// Whether a legend line is drawn over the candles.
    pub(super) fn has_legend(&self) -> bool {
        !self.chosen.is_empty()
    }

    /// The export columns of the values.
    pub(super) fn columns(&self) -> impl Iterator<Item = &str> {
        self.asked
            .answer()
            .into_iter()
            .flat_map(|answer| answer.columns.iter().map(|name| &**name))
    }

    /// The exported values at the candle that starts then.
    pub(super) fn written(&self, start: Time) -> impl Iterator<Item = Json> {
        let row = self.asked.answer().and_then(|answer| row_at(answer, start));
        (0..self.columns().count()).map(move |nth| {
            row.and_then(|row| row.values.get(nth))
                .map_or(Json::Null, |(_, value)| json!(value))
        })
    }

    /// The curves of the visible candles; `at` is the candle whose values the pane titles show.
    pub(super) fn drawn(&self, slots: &Slots<'_>, at: Option<Time>) -> Drawn {
        let Some(answer) = self.asked.answer() else {
            // Panes keep their space while an answer is pending.
            return Drawn {
                curves: Vec::new(),
                panes: self.under().map(|_| IndicatorPane::default()).collect(),
            };
        };
        let rows = slots.rows(answer);
        let values = |name: &str| -> Vec<f64> {
            let place = answer.columns.iter().position(|column| **column == *name);
            let value = |row: Option<&IndicatorRow>| {
                place
                    .and_then(|place| row?.values.get(place)?.1)
                    .unwrap_or(f64::NAN)
            };
            rows.iter().copied().map(value).collect()
        };
        let curve = |name: &str, role, dashed| IndicatorCurve {
            values: values(name),
            role,
            dashed,
        };
        let mut drawn = Drawn::default();
        for (indicator, role) in self.over() {
            drawn.curves.extend(
                indicator
                    .columns()
                    .map(|name| curve(&name, role, name.ends_with("_middle"))),
            );
        }
        for indicator in self.under() {
            let mut pane = IndicatorPane {
                title: self.title(indicator, Role::Accent, at),
                ..IndicatorPane::default()
            };
            for name in indicator.columns() {
                if *indicator == Indicator::Mentions {
                    pane.bars = slots.sums(answer, &name);
                } else if name.ends_with("_histogram") {
                    pane.bars = values(&name);
                } else {
                    let signal = name.ends_with("_signal");
                    pane.curves.push(curve(
                        &name,
                        if signal { Role::Warning } else { Role::Accent },
                        signal,
                    ));
                }
            }
            if let Indicator::Rsi(_) = indicator {
                pane.guides = vec![30.0, 70.0];
            }
            if let Indicator::Macd { .. } = indicator {
                pane.guides = vec![0.0];
            }
            drawn.panes.push(pane);
        }
        drawn
    }

    /// A pane title, ` RSI 14  62.4 `, in the colors of its curves.
    fn title(&self, indicator: &Indicator, role: Role, at: Option<Time>) -> Vec<(String, Role)> {
        let values = self.values(indicator, at);
        let figure = |value: &Option<f64>| match indicator {
            Indicator::Rsi(_) => value.map_or_else(
                || format::MISSING.to_owned(),
                |value| format::fixed(value, 1),
            ),
            Indicator::Obv | Indicator::Mentions => format::human(*value),
            _ => signed_price(*value),
        };
        let says: Vec<String> = values.iter().map(figure).collect();
        vec![
            (format!(" {}", shown(indicator)), role),
            (format!(" {} ", says.join(" · ")), Role::Text),
        ]
    }

    fn values(&self, indicator: &Indicator, at: Option<Time>) -> Vec<Option<f64>> {
        let answer = self.asked.answer();
        let row = answer.zip(at).and_then(|(answer, at)| row_at(answer, at));
        let value = |name: String| {
            let place = answer?
                .columns
                .iter()
                .position(|column| **column == *name)?;
            row?.values.get(place)?.1
        };
        indicator.columns().map(value).collect()
    }

    /// The legend over the candles: each overlay's name in its color with its values at the candle, then the panes that do not fit below.
    pub(super) fn legend(&self, at: Option<Time>, panes_shown: usize) -> Vec<(String, Role)> {
        if let Some(problem) = &self.asked.problem {
            return vec![(problem.detail.clone(), Role::Warning)];
        }
        let mut pieces: Vec<(String, Role)> = self
            .over()
            .flat_map(|(indicator, role)| self.title(indicator, role, at))
            .collect();
        let hidden = self
            .under()
            .skip(panes_shown)
            .map(shown)
            .collect::<Vec<_>>();
        if !hidden.is_empty() {
            pieces.push((format!(" no room for {}", hidden.join(", ")), Role::Dim));
        }
        pieces
    }

    pub(super) fn save(&self) -> Json {
        json!(
            self.chosen
                .iter()
                .map(ToString::to_string)
                .collect::<Vec<_>>()
        )
    }

    /// Restores the saved indicators; invalid ones are ignored.
    pub(super) fn restore(&mut self, kept: &Json) {
        if let Some(names) = kept.as_array() {
            self.choose(
                names
                    .iter()
                    .filter_map(|name| Indicator::parse(name.as_str()?).ok())
                    .collect(),
            );
        }
    }
}

/// A display name: `MACD 12 26 9`, `Bollinger 20 2`.
fn shown(indicator: &Indicator) -> String {
    let (name, word) = (indicator.to_string(), indicator.kind().word);
    // Abbreviations are in capitals, Bollinger is a name.
    let title = match word {
        "bollinger" => "Bollinger".to_owned(),
        "mentions" => "Mentions".to_owned(),
        _ => word.to_uppercase(),
    };
    format!("{title}{}", name[word.len()..].replace('_', " "))
}

/// A price difference, which may be negative.
fn signed_price(value: Option<f64>) -> String {
    match value {
        Some(value) if value < 0.0 => format!("−{}", format::price(Some(-value))),
        value => format::price(value),
    }
}

fn row_at(answer: &TokenIndicators, at: Time) -> Option<&IndicatorRow> {
    answer
        .rows
        .binary_search_by_key(&at, |row| row.timestamp)
        .ok()
        .and_then(|place| answer.rows.get(place))
}

impl Slots<'_> {
    /// The row of each slot: of its last candle that has one.
    fn rows<'a>(&self, answer: &'a TokenIndicators) -> Vec<Option<&'a IndicatorRow>> {
        let rows = |candles| self.rows_in(candles, answer).next_back();
        self.places().map(rows).collect()
    }

    /// The sum of a column in each slot; NaN without a value.
    fn sums(&self, answer: &TokenIndicators, column: &str) -> Vec<f64> {
        let value = |row: &IndicatorRow| row.values.iter().find(|(name, _)| **name == *column)?.1;
        let sum = |candles| {
            let values = self.rows_in(candles, answer).filter_map(value);
            values.reduce(|sum, value| sum + value).unwrap_or(f64::NAN)
        };
        self.places().map(sum).collect()
    }

    fn rows_in<'a>(
        &self,
        candles: Range<usize>,
        answer: &'a TokenIndicators,
    ) -> impl DoubleEndedIterator<Item = &'a IndicatorRow> {
        candles.filter_map(|candle| row_at(answer, Time(*self.candles.timestamp.get(candle)?)))
    }

    /// The candles of each slot.
    fn places(&self) -> impl Iterator<Item = Range<usize>> {
        let slots = (self.last - self.first).div_ceil(self.per);
        // Slots are grouped from the last candle.
        (0..slots).map(move |slot| {
            let end = self.last - (slots - 1 - slot) * self.per;
            end.saturating_sub(self.per).max(self.first)..end
        })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use analysis::indicators::KINDS;
    use model::candles::Candles;

    #[test]
    fn every_kind_is_shown_by_its_usual_name() {
        let names: Vec<String> = KINDS
            .iter()
            .map(|kind| shown(&Indicator::parse(kind.usual).expect("a usual one")))
            .collect();
        assert_eq!(
            names,
            [
                "SMA 20",
                "EMA 50",
                "Bollinger 20 2",
                "VWAP 20",
                "RSI 14",
                "MACD 12 26 9",
                "OBV",
                "ATR 14",
                "Mentions"
            ]
        );
    }

    #[test]
    fn a_slot_has_the_value_of_its_last_candle_that_has_one() {
        let times: Vec<i64> = (0..7).collect();
        let name: Arc<str> = "sma_20".into();
        // The candle at time 4 is implausible, so it has no row.
        let row = |time: i64| IndicatorRow {
            timestamp: Time(time),
            values: vec![(Arc::clone(&name), Some(time as f64))],
        };
        let answer = TokenIndicators {
            contract_address: Address([1; 20]),
            timeframe: "1d",
            as_of: None,
            rows: [0, 1, 2, 3, 5, 6].map(row).to_vec(),
            cut: false,
            columns: vec![Arc::clone(&name)],
        };
        for (per, expected) in [(1, "0 1 2 3 - 5 6"), (2, "0 2 3 6"), (3, "0 3 6"), (8, "6")] {
            let slots = Slots {
                candles: Candles {
                    timestamp: &times,
                    ..Candles::default()
                },
                first: 0,
                last: 7,
                per,
                future: 0,
            };
            let value = |row: Option<&IndicatorRow>| {
                row.map_or_else(|| "-".to_owned(), |row| row.timestamp.0.to_string())
            };
            assert_eq!(
                slots
                    .rows(&answer)
                    .into_iter()
                    .map(value)
                    .collect::<Vec<_>>()
                    .join(" "),
                expected,
                "{per} to a slot"
            );
        }
    }
}
