//! The metrics that `fields` adds to a token: their values in results, in conditions and in sort orders. `fields` computes and describes
//! them.

use model::scalar::Scalar;
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

use analysis::{
    patterns::{AdviceWord, Pattern, Status, TradeAction},
    trendlines::Trend,
};
use model::time::DAY_MS;

/// A metric of a token.
#[derive(Debug, Clone, PartialEq)]
pub enum FigureValue {
    Value(Scalar<'static>),
    /// A figure that exists and is not known: null in answers, `?` on screens; it sorts last and meets no condition.
    Unknown,
    /// A word that sorts by this rank: rising trends and buy advice are high.
    Ranked(&'static str, f64),
    /// A pattern, which sorts by its confidence, and its status, which is for display alone.
    Pattern(Box<Pattern>, Option<Status>),
    /// The extra columns of the `tokens` file, by their names.
    Own(Map<String, Value>),
}

impl FigureValue {
    /// The figure of a token's own value; ages are in days.
    pub(super) fn of(value: &Scalar<'_>) -> Option<Self> {
        match value {
            Scalar::Float(number) => Some(Self::number(*number)),
            Scalar::Time(time) => Some(Self::Value(Scalar::Time(*time))),
            Scalar::Duration(length) => Some(Self::number(*length as f64 / DAY_MS as f64)),
            _ => None,
        }
    }

    pub const fn number(number: f64) -> Self {
        Self::Value(Scalar::Float(number))
    }

    /// The value that a condition compares.
    pub fn field(&self) -> Scalar<'static> {
        match self {
            Self::Value(value) => value.clone(),
            Self::Ranked(word, _) => Scalar::text(*word),
            Self::Pattern(pattern, _) => Scalar::text(pattern.name.word()),
            Self::Unknown | Self::Own(_) => Scalar::Missing,
        }
    }

    /// The value that sorting compares.
    pub fn rank(&self) -> Scalar<'static> {
        match self {
            Self::Ranked(_, rank) => Scalar::Float(*rank),
            Self::Pattern(pattern, _) => Scalar::Float(pattern.confidence),
            Self::Value(_) | Self::Unknown | Self::Own(_) => self.field(),
        }
    }

    pub fn word(&self) -> Option<&str> {
        match self {
            Self::Value(Scalar::Text(word)) => Some(word),
            Self::Ranked(word, _) => Some(word),
            Self::Pattern(pattern, _) => Some(pattern.name.word()),
            Self::Value(_) | Self::Unknown | Self::Own(_) => None,
        }
    }
}

impl From<Trend> for FigureValue {
    fn from(trend: Trend) -> Self {
        let rank = match trend {
            Trend::Uptrend => 1.0,
            Trend::Sideways => 0.0,
            Trend::Downtrend => -1.0,
        };
        Self::Ranked(trend.word(), rank)
    }
}

impl From<TradeAction> for FigureValue {
    fn from(action: TradeAction) -> Self {
        AdviceWord::from(action).into()
    }
}

impl From<AdviceWord> for FigureValue {
    fn from(advice: AdviceWord) -> Self {
        let rank = match advice {
            AdviceWord::StrongBuy => 2.0,
            AdviceWord::Buy => 1.0,
            AdviceWord::Watch | AdviceWord::Hold => 0.0,
            AdviceWord::Sell => -1.0,
            AdviceWord::StrongSell => -2.0,
        };
        Self::Ranked(advice.word(), rank)
    }
}

impl Serialize for FigureValue {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Value(value) => value.json().serialize(serializer),
            Self::Unknown => serializer.serialize_none(),
            Self::Ranked(word, _) => word.serialize(serializer),
            Self::Pattern(pattern, _) => pattern.serialize(serializer),
            Self::Own(columns) => columns.serialize(serializer),
        }
    }
}

/// The requested metrics of a token, by name; `None` if the token has no value.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Figures(Vec<(&'static str, Option<FigureValue>)>);

impl Figures {
    pub fn set(&mut self, name: &'static str, figure: Option<FigureValue>) {
        match self.0.iter_mut().find(|(known, _)| *known == name) {
            Some((_, known)) => *known = figure,
            None => self.0.push((name, figure)),
        }
    }

    pub fn get(&self, name: &str) -> Option<&FigureValue> {
        self.0.iter().find(|(known, _)| *known == name)?.1.as_ref()
    }

    /// Names of the metrics that were computed.
    pub fn names(&self) -> impl Iterator<Item = &'static str> + '_ {
        self.0.iter().map(|(name, _)| *name)
    }

    /// Whether the metric was computed, even if the result is null.
    pub fn has(&self, name: &str) -> bool {
        self.0.iter().any(|(known, _)| *known == name)
    }

    /// Merges metrics computed later; they replace earlier ones.
    pub fn take(&mut self, more: Self) {
        more.0
            .into_iter()
            .for_each(|(name, figure)| self.set(name, figure));
    }
}

impl Serialize for Figures {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, figure)| (name, figure)))
    }
}
