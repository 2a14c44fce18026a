//! Invariants of every plan: it keeps its limits, adds up to the last unit, proves its bound, and never gets worse with more options.

use analysis::yields::{
    Plan, amounts,
    case::{Case, PlanPreferences},
    plan,
    pools::Pools,
    risk::{Category, RiskLevel},
};
use ruint::aliases::U256;

use super::generator::{Instance, benchmark, instance, with_exits};
use crate::random::Random;

fn planned<'p>(pools: &'p Pools, instance: &Instance) -> Plan<'p> {
    plan(pools, &instance.holdings, instance.wish, &mut |_, _| true)
}

/// Checks a plan against the limits of its request, recomputed.
fn keeps_its_limits(pools: &Pools, instance: &Instance, name: &str) {
    let plan = planned(pools, instance);
    let limits = instance.wish.risk.limits();
    let wallet: f64 = instance
        .holdings
        .iter()
        .map(|holding| holding.value(holding.amount))
        .sum();
    let case = Case::new(pools, &instance.holdings, instance.wish);
    let eligible = case.candidates.len().max(1) as f64;
    let distinct = |key: &dyn Fn(&str, &str) -> String| {
        let mut names: Vec<String> = case
            .candidates
            .iter()
            .map(|c| key(&c.pool.protocol, c.pool.chain.as_str()))
            .collect();
        names.sort_unstable();
        names.dedup();
        names.len().max(1) as f64
    };
    let protocols = distinct(&|protocol, _| protocol.to_owned());
    let chains = distinct(&|_, chain| chain.to_owned());
    let most = |of: &dyn Fn(&str, &str) -> bool| -> f64 {
        plan.placements
            .iter()
            .filter(|p| of(&p.pool.protocol, p.pool.chain.as_str()))
            .map(|p| p.value)
            .sum()
    };
    let over = 1.0 + 1e-9;
    let mut risk = 0.0;
    for placement in &plan.placements {
        let pool = placement.pool;
        let cap = (limits.of_tvl * pool.tvl).min(limits.pool.max(1.0 / eligible) * wallet);
        assert!(
            placement.value <= cap * over,
            "{name}: {} of {cap}",
            placement.value
        );
        assert!(
            placement.apy >= instance.wish.min_apy
                && pool.score <= limits.score_max
                && pool.tvl >= limits.least_tvl,
            "{name}"
        );
        assert!(
            most(&|protocol, _| protocol == pool.protocol)
                <= limits.protocol.max(1.0 / protocols) * wallet * over,
            "{name}"
        );
        assert!(
            most(&|_, chain| chain == pool.chain.as_str())
                <= limits.chain.max(1.0 / chains) * wallet * over,
            "{name}"
        );
        risk += placement.value * pool.score;
    }
    assert!(
        limits
            .score_mean
            .is_none_or(|mean| risk <= mean * wallet * over),
        "{name}: risk"
    );
    for (at, holding) in instance.holdings.iter().enumerate() {
        let placed = amounts::sum(
            plan.placements
                .iter()
                .filter(|p| p.holding == at)
                .map(|p| p.amount),
        );
        let idle = amounts::sum(
            plan.idle
                .iter()
                .filter(|idle| idle.holding == at)
                .map(|idle| idle.amount),
        );
        assert_eq!(placed + idle, holding.amount, "{name}");
    }
    assert!(plan.totals.net() <= plan.upper_bound, "{name}");
    for naive in [plan.highest.net(), plan.quoted.net()] {
        assert!(
            naive <= plan.upper_bound + 1e-9 * naive.abs(),
            "{name}: {naive} without a plan, at most {}",
            plan.upper_bound
        );
    }
}

#[test]
fn the_benchmark_is_closed_and_within_its_limits() {
    for (size, instance) in benchmark() {
        let pools = instance.pools();
        keeps_its_limits(&pools, &instance, &format!("{size:?}"));
        let plan = planned(&pools, &instance);
        let open = plan.upper_bound - plan.totals.net();
        assert!(
            open <= (1e-6 * plan.totals.net()).max(0.01),
            "{size:?}: {open} of {} is open",
            plan.totals.net()
        );
        assert!(!plan.cut);
    }
}

#[test]
fn plans_with_a_known_way_out_are_closed_and_keep_its_limits() {
    let (mut left_out, mut unknown) = (0, 0);
    for (i, (size, instance)) in (0..).zip(benchmark()) {
        let instance = with_exits(i, instance);
        let pools = instance.pools();
        let name = format!("{size:?} {i}");
        keeps_its_limits(&pools, &instance, &name);
        let plan = planned(&pools, &instance);
        let open = plan.upper_bound - plan.totals.net();
        assert!(
            open <= (1e-6 * plan.totals.net()).max(0.01),
            "{name}: {open}"
        );
        let limits = instance.wish.risk.limits();
        let mut doubtful = 0.0;
        for placement in &plan.placements {
            let (pool, exit) = (placement.pool, &placement.pool.exit);
            let most = exit.deposit_max(limits.of_withdrawable);
            assert!(placement.value <= most * (1.0 + 1e-9), "{name}: {exit:?}");
            // An unknown way out is not assumed to be good.
            let blind = exit.withdrawable_usd.is_none();
            unknown += usize::from(blind);
            assert!(
                !blind || placement.value <= 0.1 * pool.tvl * (1.0 + 1e-9),
                "{name}: {} of {}",
                placement.value,
                pool.tvl
            );
            assert!(exit.earning_days > 0.0, "{name}: {exit:?}");
            for (asked, days) in [
                (instance.wish.max_lock_days, exit.lock_days),
                (instance.wish.exit_within_days, exit.exit_days),
            ] {
                let fits = |most: f64| days.is_some_and(|days| days <= most);
                assert!(asked.is_none_or(fits), "{name}: {exit:?}");
            }
            doubtful += f64::from(u8::from(pool.is_doubtful())) * placement.value;
        }
        assert!(doubtful <= 0.1 * plan.wallet * (1.0 + 1e-9), "{name}");
        let exits = plan.exits();
        assert!(
            exits
                .windows(2)
                .all(|pair| pair[0].0 < pair[1].0 && pair[0].1 < pair[1].1),
            "{name}: {exits:?}"
        );
        left_out += plan.excluded.len();
    }
    assert!(left_out > 1_000 && unknown > 20, "{left_out} {unknown}");
}

#[test]
fn a_missing_spread_is_the_median_of_its_category() {
    let (mut own, mut assumed) = (0, 0);
    for seed in 0..20 {
        let instance = instance(seed, 300, 2, 1e6);
        let of = |category| {
            let alike = instance
                .rows
                .iter()
                .filter(|row| Category::of(row.category.as_deref()) == category);
            let mut known: Vec<f64> = alike.filter_map(|row| row.sigma).collect();
            known.sort_by(f64::total_cmp);
            let half = known.len() / 2;
            f64::midpoint(known[half], known[(known.len() - 1) / 2])
        };
        for pool in &instance.pools().pools {
            if pool.traits.assumed {
                let median = of(pool.traits.category);
                assert!((pool.traits.sigma - median).abs() < 1e-12, "{pool:?}");
                assumed += 1;
            } else {
                own += 1;
            }
        }
    }
    assert!(own > assumed && assumed > 100, "{own} {assumed}");
}

#[test]
fn any_amount_of_any_token_adds_up_within_its_caps() {
    let mut random = Random(5);
    for round in 0..3_000 {
        let (pools, tokens) = (5 + random.below(120), 1 + random.below(4));
        let mut instance = instance(round, pools, tokens, 1e6);
        for holding in &mut instance.holdings {
            holding.decimals = Some([0, 1, 2, 6, 18, 27, 36][random.below(7)]);
            let words = std::array::from_fn(|_| random.word());
            holding.amount = (U256::from_limbs(words) >> random.below(256)).max(U256::ONE);
            if random.chance(0.05) {
                holding.amount = U256::MAX;
            }
        }
        keeps_its_limits(&instance.pools(), &instance, &format!("round {round}"));
    }
}

fn bounds(instance: &Instance) -> (f64, f64) {
    let pools = instance.pools();
    let plan = planned(&pools, instance);
    (plan.totals.net(), plan.upper_bound)
}

#[test]
fn a_further_pool_never_lowers_the_optimum() {
    // With high risk no limit depends on the number of pools.
    for seed in 0..150 {
        let mut instance = instance(seed, 40, 3, [5e3, 1e6, 1e8][seed as usize % 3]);
        instance.wish = PlanPreferences {
            risk: RiskLevel::High,
            min_apy: 0.0,
            ..instance.wish
        };
        let (_, all) = bounds(&instance);
        instance.rows.truncate(30);
        let (fewer, _) = bounds(&instance);
        assert!(
            fewer <= all,
            "{seed}: {fewer} of 30 pools, at most {all} of 40"
        );
    }
}

#[test]
fn looser_limits_never_lower_the_optimum() {
    for seed in 0..150 {
        let mut instance = instance(seed, 60, 3, [5e3, 1e6, 1e8][seed as usize % 3]);
        instance.wish = PlanPreferences {
            risk: RiskLevel::High,
            min_apy: 5.0,
            ..instance.wish
        };
        let (strict, _) = bounds(&instance);
        instance.wish.min_apy = 2.0;
        let (looser, bound) = bounds(&instance);
        assert!(
            strict <= bound && looser >= strict * (1.0 - 1e-6),
            "{seed}: {strict} {looser}"
        );
        instance.wish.risk = RiskLevel::Medium;
        let (medium, _) = bounds(&instance);
        assert!(
            medium <= bound,
            "{seed}: {medium} at medium risk, at most {bound} at high"
        );
    }
}

#[test]
fn more_money_never_lowers_the_optimum() {
    for seed in 0..150 {
        // The minimum position is a fraction of the wallet: under $500 it is a dollar whatever the wallet is.
        let mut instance = instance(seed, 40, 2, 200.0);
        instance.wish = PlanPreferences {
            risk: RiskLevel::High,
            min_apy: 0.0,
            ..instance.wish
        };
        let (less, _) = bounds(&instance);
        for holding in &mut instance.holdings {
            holding.amount *= U256::from(2u8);
        }
        let (_, more) = bounds(&instance);
        assert!(
            less <= more,
            "{seed}: {less} of $200, at most {more} of $400"
        );
    }
}

#[test]
fn the_same_request_gives_the_same_plan_on_any_thread() {
    let instances: Vec<Instance> = (0..6).map(|seed| instance(seed, 400, 5, 1e7)).collect();
    let told = |instance: &Instance| {
        let pools = instance.pools();
        format!("{:?}", planned(&pools, instance))
    };
    let here: Vec<String> = instances.iter().map(told).collect();
    std::thread::scope(|scope| {
        let there: Vec<_> = (0..3)
            .map(|_| scope.spawn(|| instances.iter().map(told).collect::<Vec<_>>()))
            .collect();
        for there in there {
            assert_eq!(there.join().unwrap(), here);
        }
    });
}

#[test]
fn a_search_that_is_cut_short_still_proves_what_it_has() {
    for seed in [3, 8, 21] {
        let instance = instance(seed, 2_000, 50, 1e8);
        let pools = instance.pools();
        let whole = planned(&pools, &instance);
        let mut calls = 0;
        let cut = plan(&pools, &instance.holdings, instance.wish, &mut |_, _| {
            calls += 1;
            calls < 2
        });
        assert!(
            cut.upper_bound >= whole.totals.net() * (1.0 - 1e-12),
            "{seed}: the bound is still one"
        );
        assert!(cut.totals.net() <= whole.upper_bound);
    }
}
