//! The way out of a pool: what it can pay out now, how much it still accepts, how long a deposit is locked, when the pool ends, and what
//! entering and leaving cost. A missing value is unknown: no rule counts it as good.

use schemars::JsonSchema;
use serde::Serialize;

use model::{
    rows::YieldRow,
    time::{DAY_MS, Day, Time},
};

/// Days over which a plan counts earnings and costs.
pub const HORIZON_DAYS: f64 = 365.0;

/// What is known about leaving a pool. Members are null if unknown.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "PoolExit")]
pub struct PoolExit {
    /// USD that the pool can pay out now: as given, or the part of the supply that is not borrowed.
    pub withdrawable_usd: Option<f64>,
    /// USD that the pool still accepts.
    pub cap_left_usd: Option<f64>,
    /// Days from the deposit until a withdrawal can be requested.
    pub lock_days: Option<f64>,
    /// Days from the request of a withdrawal until it is paid.
    pub cooldown_days: Option<f64>,
    /// When the pool ends and pays no more.
    pub matures_at: Option<Time>,
    /// Percent of a withdrawal.
    pub exit_fee: Option<f64>,
    /// Percent of a deposit.
    pub deposit_fee: Option<f64>,
    /// Days from now until all of a deposit can be withdrawn.
    pub exit_days: Option<f64>,
    /// Days of the next 365 on which the pool pays.
    pub earning_days: f64,
}

impl PoolExit {
    /// Reads the row; `supply` is the USD value of all deposits in the pool.
    pub fn new(row: &YieldRow, supply: f64, now: Time) -> Self {
        let noted = Noted::read(row.pool_meta.as_deref().unwrap_or_default());
        let known = |cell: Option<f64>| cell.filter(|value| value.is_finite());
        // A negative number of days or fee makes no sense, so it tells nothing; a negative amount leaves nothing.
        let positive = |cell: Option<f64>| known(cell).filter(|value| *value >= 0.0);
        let idle = |part: f64| (1.0 - part.clamp(0.0, 1.0)) * supply;
        let mut exit = Self {
            withdrawable_usd: known(row.withdrawable_usd)
                .map(|usd| usd.max(0.0))
                .or_else(|| known(row.utilization).map(idle)),
            cap_left_usd: known(row.cap_left_usd).map(|usd| usd.max(0.0)),
            lock_days: positive(row.lock_days),
            cooldown_days: positive(row.cooldown_days).or(noted.cooldown_days),
            matures_at: row.matures_at.or(noted.matures_at),
            exit_fee: positive(row.exit_fee),
            deposit_fee: positive(row.deposit_fee),
            exit_days: None,
            earning_days: HORIZON_DAYS,
        };
        let left = exit
            .matures_at
            .map(|end| (end.0 - now.0) as f64 / DAY_MS as f64);
        exit.earning_days = left.map_or(HORIZON_DAYS, |left| left.clamp(0.0, HORIZON_DAYS));
        exit.exit_days = match (exit.lock_days, exit.cooldown_days) {
            (None, None) if exit.withdrawable_usd.is_some() => Some(0.0),
            (None, None) => left.map(|left| left.max(0.0)),
            (lock, cooldown) => Some(lock.unwrap_or(0.0) + cooldown.unwrap_or(0.0)),
        };
        exit
    }

    /// Whether anything is known.
    pub fn is_known(&self) -> bool {
        let amounts = self.withdrawable_usd.or(self.cap_left_usd);
        let fees = self.exit_fee.or(self.deposit_fee);
        amounts.or(fees).or(self.exit_days).is_some()
    }

    /// Part of the next year in which the pool pays.
    pub fn earning_part(&self) -> f64 {
        self.earning_days / HORIZON_DAYS
    }

    /// Fees for entering and leaving, as a fraction of the deposit.
    pub fn cost(&self) -> f64 {
        (self.deposit_fee.unwrap_or(0.0) + self.exit_fee.unwrap_or(0.0)) / 100.0
    }

    /// Largest deposit in USD if it may be `part` of what can be withdrawn now.
    pub fn deposit_max(&self, part: f64) -> f64 {
        let exit = self
            .withdrawable_usd
            .map_or(f64::INFINITY, |usd| part * usd);
        exit.min(self.cap_left_usd.unwrap_or(f64::INFINITY))
    }
}

/// Facts in a pool's free text, as DefiLlama writes them: `For LP | Maturity 25SEP2025`, `7 days unstaking`, `30d unlock`.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
struct Noted {
    matures_at: Option<Time>,
    cooldown_days: Option<f64>,
}

const MONTHS: [&str; 12] = [
    "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
];
/// Beginnings of words that mean a wait after the request of a withdrawal.
const WAITS: [&str; 5] = ["unstak", "unbond", "unlock", "cooldown", "withdraw"];
/// Longest wait that a text may mean; a larger number is something else.
const WAIT_MAX: f64 = 3_650.0;

impl Noted {
    fn read(text: &str) -> Self {
        let lower = text.to_lowercase();
        let words: Vec<&str> = lower
            .split(|c: char| !c.is_alphanumeric())
            .filter(|word| !word.is_empty())
            .collect();
        let wait = || {
            let at = words
                .iter()
                .position(|word| WAITS.iter().any(|wait| word.starts_with(wait)))?;
            match words[..at] {
                [.., number, "d" | "day" | "days"] => number.parse().ok(),
                [.., number] => number.strip_suffix('d')?.parse().ok(),
                [] => None,
            }
        };
        Self {
            matures_at: words.iter().find_map(|word| date(word)),
            cooldown_days: wait().filter(|days: &f64| (0.0..=WAIT_MAX).contains(days)),
        }
    }
}

/// Start of a day written as `25sep2025`.
fn date(word: &str) -> Option<Time> {
    let split = word
        .len()
        .checked_sub(7)
        .filter(|at| (1..=2).contains(at))?;
    let (day, month, year) = (
        word.get(..split)?,
        word.get(split..split + 3)?,
        word.get(split + 3..)?,
    );
    let month = MONTHS.iter().position(|name| *name == month)? as u32 + 1;
    Some(Day::of(year.parse().ok()?, month, day.parse().ok()?)?.start())
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Time = Time(20_000 * DAY_MS);

    fn row() -> YieldRow {
        YieldRow {
            pool: "p".to_owned(),
            protocol: None,
            chain: None,
            symbol: None,
            tokens: Vec::new(),
            tvl: None,
            apy_base: None,
            apy_reward: None,
            apy: None,
            category: None,
            total_supply_usd: None,
            sigma: None,
            count: None,
            outlier: None,
            il_risk: None,
            exposure: None,
            apy_mean_30d: None,
            pool_meta: None,
            withdrawable_usd: None,
            utilization: None,
            cap_left_usd: None,
            lock_days: None,
            cooldown_days: None,
            matures_at: None,
            exit_fee: None,
            deposit_fee: None,
        }
    }

    #[test]
    fn nothing_known_means_no_limit_and_no_promise() {
        let exit = PoolExit::new(&row(), 1e6, NOW);
        assert!(!exit.is_known());
        assert_eq!((exit.exit_days, exit.earning_part()), (None, 1.0));
        assert_eq!((exit.deposit_max(0.5), exit.cost()), (f64::INFINITY, 0.0));
    }

    #[test]
    fn the_days_until_exit_are_the_known_waits() {
        for (lock, cooldown, withdrawable, matures, expected) in [
            (Some(30.0), Some(7.0), None, None, Some(37.0)),
            (Some(30.0), None, Some(9.0), None, Some(30.0)),
            (None, Some(7.0), None, Some(90), Some(7.0)),
            (None, None, Some(9.0), Some(90), Some(0.0)),
            (None, None, None, Some(90), Some(90.0)),
            (None, None, None, Some(-9), Some(0.0)),
            (Some(-1.0), None, None, None, None),
        ] {
            let row = YieldRow {
                lock_days: lock,
                cooldown_days: cooldown,
                withdrawable_usd: withdrawable,
                matures_at: matures.map(|days| Time(NOW.0 + days * DAY_MS)),
                ..row()
            };
            assert_eq!(PoolExit::new(&row, 1e6, NOW).exit_days, expected, "{row:?}");
        }
    }

    #[test]
    fn a_pool_earns_until_it_ends() {
        for (days, part) in [(73, 0.2), (365, 1.0), (900, 1.0), (0, 0.0), (-5, 0.0)] {
            let row = YieldRow {
                matures_at: Some(Time(NOW.0 + days * DAY_MS)),
                ..row()
            };
            assert_eq!(PoolExit::new(&row, 1e6, NOW).earning_part(), part);
        }
    }

    #[test]
    fn a_deposit_fits_what_can_be_withdrawn_and_the_cap() {
        for (withdrawable, utilization, cap, most) in [
            (Some(100.0), Some(0.1), None, 50.0),
            (None, Some(0.9), None, 50.0),
            (None, Some(7.0), None, 0.0),
            (Some(-3.0), None, None, 0.0),
            (Some(100.0), None, Some(20.0), 20.0),
            (None, None, Some(-1.0), 0.0),
        ] {
            let row = YieldRow {
                withdrawable_usd: withdrawable,
                utilization,
                cap_left_usd: cap,
                ..row()
            };
            let exit = PoolExit::new(&row, 1_000.0, NOW);
            assert!((exit.deposit_max(0.5) - most).abs() < 1e-9, "{exit:?}");
        }
    }

    #[test]
    fn a_pools_text_may_name_its_end_and_its_wait() {
        let day = |days: i32| Some(Day(days).start());
        for (text, matures_at, cooldown_days) in [
            ("For LP | Maturity 25SEP2025", day(20_356), None),
            ("For buying PT-sUSDe-5Jan2026", day(20_458), None),
            ("7 days unstaking", None, Some(7.0)),
            ("30d unlock", None, Some(30.0)),
            ("14-day cooldown", None, Some(14.0)),
            ("unstaking", None, None),
            ("99999 days unbonding", None, None),
            ("32FEB2025", None, None),
            ("Morpho - Gauntlet Frontier V2", None, None),
            ("день9сен2025", None, None),
            ("", None, None),
        ] {
            let expected = Noted {
                matures_at,
                cooldown_days,
            };
            assert_eq!(Noted::read(text), expected, "{text}");
        }
    }
}
