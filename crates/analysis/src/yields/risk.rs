//! Limits of each risk level, and the risk score of a pool. The limits and score weights are this program's own choice, without a published
//! source.

use schemars::JsonSchema;
use serde::Serialize;

model::words! {
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
    #[serde(rename_all = "lowercase")]
    pub enum RiskLevel { Low = "low", Medium = "medium", High = "high", }
}

/// Limits of a risk level; fractions are of the pool's tvl or of the whole wallet.
#[derive(Debug, Clone, Copy)]
pub struct RiskLimits {
    /// USD.
    pub least_tvl: f64,
    pub of_tvl: f64,
    pub pool: f64,
    pub protocol: f64,
    pub chain: f64,
    /// Maximum mean score of the wallet; idle money counts as 0.
    pub score_mean: Option<f64>,
    pub score_max: f64,
    pub outliers: bool,
    /// Maximum deposit as a fraction of what the pool can pay out now.
    pub of_withdrawable: f64,
    /// Maximum days of a known lock, and of a known way out; `None`: any.
    pub lock_days_max: Option<f64>,
    pub exit_days_max: Option<f64>,
}

/// Maximum fraction of the wallet in all pools together whose quote is doubtful.
pub const DOUBTFUL_MAX: f64 = 0.1;
/// Maximum deposit, as a fraction of the TVL, into a pool whose withdrawable amount is unknown, if the dataset knows that of other pools.
pub const UNKNOWN_EXIT_MAX: f64 = 0.1;
/// Points for swings where no pool's are known: the most.
pub const SIGMA_UNKNOWN: f64 = 2.0;

impl RiskLevel {
    pub fn limits(self) -> &'static RiskLimits {
        match self {
            Self::Low => &RiskLimits {
                least_tvl: 1e7,
                of_tvl: 0.02,
                pool: 0.25,
                protocol: 0.35,
                chain: 0.8,
                score_mean: Some(20.0),
                score_max: 40.0,
                outliers: false,
                of_withdrawable: 0.25,
                lock_days_max: Some(7.0),
                exit_days_max: Some(14.0),
            },
            Self::Medium => &RiskLimits {
                least_tvl: 1e6,
                of_tvl: 0.1,
                pool: 0.5,
                protocol: 0.6,
                chain: 1.0,
                score_mean: Some(35.0),
                score_max: 65.0,
                outliers: false,
                of_withdrawable: 0.5,
                lock_days_max: Some(90.0),
                exit_days_max: Some(90.0),
            },
            Self::High => &RiskLimits {
                least_tvl: 1e5,
                of_tvl: 0.5,
                pool: 1.0,
                protocol: 1.0,
                chain: 1.0,
                score_mean: None,
                score_max: 100.0,
                outliers: true,
                of_withdrawable: 1.0,
                lock_days_max: None,
                exit_days_max: None,
            },
        }
    }
}

/// Category of a pool: determines its dilution, gas and part of its score.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Category {
    Lending,
    Vault,
    Dex,
    Staking,
    Rwa,
}

/// Spellings of each category, in lower case; any other counts as a vault.
const WORDS: &[(&str, Category)] = &[
    ("lending", Category::Lending),
    ("dex", Category::Dex),
    ("dexs", Category::Dex),
    ("dexes", Category::Dex),
    ("staking", Category::Staking),
    ("liquid staking", Category::Staking),
    ("liquid-staking", Category::Staking),
    ("staking pool", Category::Staking),
    ("rwa", Category::Rwa),
    ("savings", Category::Rwa),
];

/// Gas of an approval, included in the category's gas.
pub const APPROVAL_GAS: f64 = 50_000.0;

impl Category {
    pub fn of(text: Option<&str>) -> Self {
        let word = text.unwrap_or_default().trim().to_lowercase();
        WORDS
            .iter()
            .find(|(known, _)| *known == word)
            .map_or(Self::Vault, |(_, category)| *category)
    }

    /// Gas of the approval and the deposit.
    pub fn gas(self) -> f64 {
        match self {
            Self::Lending => 300_000.0,
            Self::Vault => 350_000.0,
            Self::Dex => 450_000.0,
            Self::Staking => 200_000.0,
            Self::Rwa => 250_000.0,
        }
    }

    fn score(self) -> f64 {
        match self {
            Self::Staking => 0.0,
            Self::Rwa => 2.0,
            Self::Lending => 3.0,
            Self::Vault => 6.0,
            Self::Dex => 10.0,
        }
    }
}

/// A part of a pool's risk score.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct RiskPart {
    /// `size`: total value locked; `age`: days observed; `swings`: volatility of the yield; `rewards`: share of the yield paid as rewards;
    /// `category`: staking the least, DEX the most; `outlier`: marked as an outlier in the data.
    pub name: &'static str,
    pub points: f64,
    /// Maximum points.
    pub most: u8,
    /// Whether the pool's own value is unknown, and that of similar pools counts.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[schemars(default)]
    pub assumed: bool,
}

/// Inputs of a pool's risk score.
#[derive(Debug, Clone, Copy)]
pub struct RiskTraits {
    pub category: Category,
    pub tvl: f64,
    /// Number of days observed.
    pub count: f64,
    /// In percent; `assumed` if it is the median of similar pools.
    pub sigma: f64,
    pub assumed: bool,
    /// Fraction of the yield that comes from rewards.
    pub rewards: f64,
    pub outlier: bool,
}

impl RiskTraits {
    /// Parts of the risk score, which add up to it.
    pub fn parts(&self) -> [RiskPart; 6] {
        let clip = |part: f64| part.clamp(0.0, 1.0);
        let part = |name, points, most| RiskPart {
            name,
            points,
            most,
            assumed: self.assumed && name == "swings",
        };
        [
            part(
                "size",
                30.0 * clip(1.0 - (self.tvl / 1e5).log10() / 4.0),
                30,
            ),
            part("age", 15.0 * (1.0 - clip(self.count / 365.0)), 15),
            part("swings", 20.0 * clip(self.sigma / 2.0), 20),
            part("rewards", 15.0 * self.rewards, 15),
            part("category", self.category.score(), 10),
            part("outlier", if self.outlier { 10.0 } else { 0.0 }, 10),
        ]
    }

    /// Risk score from 0 (safest) to 100: high for small, young, volatile pools that pay in rewards.
    pub fn score(&self) -> f64 {
        self.parts().iter().map(|part| part.points).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_score_runs_from_the_safest_to_the_riskiest() {
        let safe = RiskTraits {
            category: Category::Staking,
            tvl: 1e9,
            count: 400.0,
            sigma: 0.0,
            assumed: false,
            rewards: 0.0,
            outlier: false,
        };
        let wild = RiskTraits {
            category: Category::Dex,
            tvl: 1e5,
            count: 0.0,
            sigma: SIGMA_UNKNOWN,
            assumed: true,
            rewards: 1.0,
            outlier: true,
        };
        assert_eq!((safe.score(), wild.score()), (0.0, 100.0));
        assert!(
            wild.parts()
                .iter()
                .all(|part| part.points == f64::from(part.most)),
            "{:?}",
            wild.parts()
        );
        // 30·(1 − 2/4) + 15·(1 − 73/365) + 20·0.25 + 15·0.2 + 3
        let middle = RiskTraits {
            category: Category::Lending,
            tvl: 1e7,
            count: 73.0,
            sigma: 0.5,
            assumed: false,
            rewards: 0.2,
            outlier: false,
        };
        assert!((middle.score() - (15.0 + 12.0 + 5.0 + 3.0 + 3.0)).abs() < 1e-12);
    }

    #[test]
    fn a_category_that_is_not_known_counts_as_a_vault() {
        for (word, category) in [
            (Some("Lending"), Category::Lending),
            (Some("Perpetuals"), Category::Vault),
            (None, Category::Vault),
        ] {
            assert_eq!(Category::of(word), category);
        }
    }
}
