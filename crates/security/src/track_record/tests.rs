//! Outcomes, evidence with a time, and records, on made tokens.

use super::*;
use crate::fake_data::{FakeData, TOKEN, blank, someone};
use analysis::track_record::errors::Verdict;
use model::{
    rows::{ScamRow, TokenRow},
    token::merge_tokens,
};

const POOL: Address = Address([0x90; 20]);

/// A time in days.
fn day(days: f64) -> Time {
    Time((days * DAY_MS as f64) as i64)
}

/// A token deployed on day 100 and traded in one pool, with data up to day 300: (day, token reserve, other reserve).
fn traded(events: &[(f64, f64, f64)]) -> FakeData {
    let mut data = FakeData::default();
    data.created = Some(day(100.0));
    data.pool(POOL);
    data.pool(someone(0x91));
    for (at, token, other) in events {
        data.reserves_at(day(*at), POOL, *token, *other);
    }
    // Another pool of the token shows how far the data reaches.
    data.reserves_at(day(300.0), someone(0x91), 1.0, 1.0);
    data
}

/// Liquidity on day 100, then a buy and a sell each day.
fn lively(until: i64) -> Vec<(f64, f64, f64)> {
    let trades = (100..until).flat_map(|at| {
        let at = at as f64;
        [(at + 0.3, 990.0, 1_010.2), (at + 0.6, 1_000.0, 1_000.2)]
    });
    [(100.0, 1_000.0, 1_000.0)]
        .into_iter()
        .chain(trades)
        .collect()
}

/// The outcomes within 30 days of a verdict on day 107.
fn outcomes(data: &FakeData) -> Outcomes {
    let evidence = DatedEvidence::new(data);
    let cases = ages(data, &evidence, 0);
    let case = cases.iter().find(|case| case.age == 7);
    case.map_or([None; 5], |case| {
        assert_eq!(case.time, day(107.0));
        case.outcomes[0]
    })
}

#[test]
fn each_outcome_is_found_where_it_occurs_and_only_there() {
    let with = |until: i64, more: &[(f64, f64, f64)]| {
        let all = [lively(until).as_slice(), more].concat();
        outcomes(&traded(&all))
    };
    let (no, yes) = (Some(false), Some(true));
    // Price fell by half, by 90%, liquidity pulled, sells fail, trading ended.
    assert_eq!(with(200, &[]), [no, no, no, no, no]);
    // Sold down to 51% and 49% of the price of 1.0004 on day 120.
    let sold = |share: f64| {
        let token = 1_000.0 / share.sqrt();
        [(120.2, token, 1_000_200.0 / token)]
    };
    assert_eq!(with(120, &sold(0.51)), [no, no, no, no, yes]);
    assert_eq!(with(120, &sold(0.49)), [yes, no, no, no, yes]);
    assert_eq!(with(120, &sold(0.09)), [yes, yes, no, no, yes]);
    // A close counts, not a price within the day.
    let back = [sold(0.09)[0], (120.9, 1_000.0, 1_000.2)];
    assert_eq!(with(120, &back), [no, no, no, no, yes]);
    // The same on the last day of the 30, and after it.
    assert_eq!(with(200, &[])[0], no);
    let late = |at: f64| [(at, sold(0.09)[0].1, sold(0.09)[0].2)];
    assert_eq!(with(136, &late(136.99))[1], yes);
    assert_eq!(with(137, &late(137.01))[1], no);
    // 95% and 85% of the liquidity within a day; then in two steps two days apart.
    let left = |share: f64| (120.1, 1_000.0 * share, 1_000.2 * share);
    assert_eq!(with(120, &[left(0.05)]), [yes, yes, yes, no, yes]);
    assert_eq!(with(120, &[left(0.15)])[2], no);
    assert_eq!(with(120, &[left(0.5), (122.2, 50.0, 50.01)])[2], no);
    // Pulled before the verdict: nothing is left to be pulled.
    assert_eq!(with(103, &[(103.1, 50.0, 50.01)])[..3], [None; 3]);
    // Trading ended 14 days before the end of the 30 days.
    assert_eq!(with(122, &[])[4], yes);
    assert_eq!(with(124, &[])[4], no);
    // A week before the verdict there were trades, so it is known; but no sell can be judged.
    let silent = with(101, &[]);
    assert_eq!((silent[3], silent[4]), (None, yes));
    assert_eq!(outcomes(&traded(&[])), [None; 5]);
}

#[test]
fn candles_precede_pools_and_a_volume_of_zero_is_no_trade() {
    // Daily candles of days 100 to 300 with this close and volume; no pool.
    let with = |close: fn(i64) -> f64, volume: fn(i64) -> f64, pools: bool| {
        let mut data = FakeData::default();
        if pools {
            data = traded(&lively(110));
        }
        data.created = Some(day(100.0));
        let days = 100..300;
        data.candles = (
            days.clone().map(|it| it * DAY_MS).collect(),
            days.clone().map(close).collect(),
            days.map(volume).collect(),
        );
        outcomes(&data)
    };
    let (no, yes) = (Some(false), Some(true));
    let level = |_: i64| 1.0;
    assert_eq!(with(level, level, false), [no, no, None, None, no]);
    assert_eq!(
        with(|it| if it < 110 { 1.0 } else { 0.5 }, level, false)[..2],
        [yes, no]
    );
    assert_eq!(
        with(|it| if it == 136 { 0.1 } else { 1.0 }, level, false)[..2],
        [yes, yes]
    );
    assert_eq!(
        with(|it| if it == 137 { 0.1 } else { 1.0 }, level, false)[..2],
        [no, no]
    );
    assert_eq!(
        with(level, |it| if it < 110 { 1.0 } else { 0.0 }, false)[4],
        yes
    );
    assert_eq!(
        with(level, |it| if it < 110 { 1.0 } else { f64::NAN }, false)[4],
        no
    );
    // The pool's trading ended on day 110, and its liquidity is there.
    assert_eq!(with(level, level, true), [no, no, no, None, no]);
}

#[test]
fn buys_without_sells_are_sells_that_fail() {
    let buys = |count: i64, sells: i64| {
        let mut events = lively(107);
        let (mut token, mut at) = (1_000.0, 110.0);
        for trade in 0..count + sells {
            token += if trade < count { -10.0 } else { 30.0 };
            at += 0.1;
            events.push((at, token, 1_000_200.0 / token));
        }
        outcomes(&traded(&events))[3]
    };
    assert_eq!(buys(9, 0), None, "too few buys");
    assert_eq!(buys(10, 0), Some(true));
    assert_eq!(buys(10, 3), Some(false));
}

#[test]
fn liquidity_moved_to_another_pool_was_not_pulled() {
    let moved = |token: f64| {
        let mut data = traded(&[lively(120).as_slice(), &[(120.1, 50.0, 50.01)]].concat());
        data.pool_events.0.pop();
        for (at, tokens) in [(120.2, token), (300.0, token + 1.0)] {
            data.reserves_at(day(at), someone(0x91), tokens, tokens);
        }
        outcomes(&data)[2]
    };
    assert_eq!(moved(1.0), Some(true));
    assert_eq!(moved(900.0), Some(false));
}

#[test]
fn an_outcome_is_unknown_until_the_data_reaches_its_end() {
    let reaching = |end: f64| {
        let mut data = traded(&lively(107));
        data.pool_events.0.pop();
        data.reserves_at(day(end), someone(0x91), 1.0, 1.0);
        let evidence = DatedEvidence::new(&data);
        let cases = ages(&data, &evidence, 0);
        let known = |case: &PastVerdict| case.outcomes.map(|it| it[0].is_some());
        cases
            .iter()
            .map(|case| (case.age, known(case)))
            .collect::<Vec<_>>()
    };
    assert_eq!(reaching(130.9), []);
    assert_eq!(reaching(131.0), [(1, [true, false])]);
    // On day 130 the last price is older than 14 days, but the liquidity is there.
    let old = (30, [false, false]);
    assert_eq!(
        reaching(191.0),
        [(1, [true, true]), (7, [true, false]), old]
    );
    assert_eq!(reaching(197.0), [(1, [true, true]), (7, [true, true]), old]);
    let mut cut = DatedEvidence::new(&traded(&lively(200)));
    cut.end_at(TOKEN, day(130.0));
    assert!(ages(&traded(&lively(200)), &cut, 0).is_empty());
}

#[test]
fn a_launch_is_known_unless_rows_may_begin_later() {
    let token = |number: u8| TokenRow {
        token_address: someone(number),
        ..blank()
    };
    // The first transfer of each token, in days; the launch of the last token.
    let launch = |first: &[f64], created: Option<f64>| {
        let mut data = FakeData::default();
        data.tokens = merge_tokens((1..=first.len() as u8).map(token).collect());
        if let Some(created) = created {
            data.created = Some(day(created));
            data.tokens.last_mut().unwrap().row.token_address = TOKEN;
        }
        for (place, at) in first.iter().enumerate() {
            let address = data.tokens[place].row.token_address;
            data.transfer(someone(1), someone(2), 1.0);
            let row = data.transfers.0.last_mut().unwrap();
            *row = (address, row.1.clone());
            row.1.timestamp = Some(day(*at));
        }
        DatedEvidence::new(&data).launch(first.len() - 1)
    };
    assert_eq!(launch(&[10.0], None), None, "the data begins with it");
    assert_eq!(launch(&[10.0], Some(9.0)), Some(day(9.0)));
    assert_eq!(launch(&[10.0, 11.0], None), None);
    assert_eq!(launch(&[10.0, 11.1], None), Some(day(11.1)));
    assert_eq!(launch(&[1.0, 20.2, 20.1], None), Some(day(20.1)));
    assert_eq!(
        launch(&[1.0, 20.3, 20.2, 20.1], None),
        None,
        "three begin on one day"
    );
    assert_eq!(
        launch(&[1.0, 20.3, 20.2, 20.1], Some(20.0)),
        Some(day(20.0))
    );
}

struct Nobody;

impl ProgressSink for Nobody {
    fn step(&self, _: u64, _: u64) -> Result<()> {
        Ok(())
    }

    fn cancelled(&self) -> bool {
        false
    }
}

fn verdict(data: &FakeData) -> &'static str {
    let (evidence, exchanges) = (DatedEvidence::new(data), Exchanges::default());
    Judge::new(data, &evidence, &exchanges)
        .verdict(&TOKEN, day(107.0), &Nobody)
        .expect("a verdict")
}

#[test]
fn evidence_without_a_time_or_of_a_later_time_changes_no_verdict() {
    let plain = verdict(&traded(&lively(200)));
    let reported = |at: Option<f64>| {
        let mut data = traded(&lively(200));
        let scam = ScamRow {
            reported_at: at.map(day),
            ..blank()
        };
        data.scams.0.push((TOKEN, scam));
        verdict(&data)
    };
    assert_eq!(reported(None), plain);
    assert_eq!(reported(Some(107.0)), plain);
    assert_eq!((reported(Some(106.9)), plain), ("AVOID", "NOT ENOUGH DATA"));
    let mut held = traded(&lively(200));
    held.holders = vec![(someone(1), Some(1_000.0))];
    held.row().total_supply = Some(1_000.0);
    assert_eq!(verdict(&held), plain);
    // A pool emptied before and after the verdict.
    let pulled = |at: f64| {
        let rest = (at + 0.1, 50.0, 50.01);
        verdict(&traded(&[lively(at as i64).as_slice(), &[rest]].concat()))
    };
    assert_eq!((pulled(105.0), pulled(107.0)), ("HIGH RISK", plain));
}

#[test]
fn rows_before_the_time_are_those_of_the_data() {
    let data = traded(&lively(200));
    let evidence = DatedEvidence::new(&data);
    let known = KnownAt::new(&data, &evidence, 0, day(107.0));
    let events: Vec<_> = known.pool_events().chunks(&POOL).flatten().collect();
    assert_eq!(events.len(), known.pool_events().count(&POOL));
    assert!(events.iter().all(|event| event.timestamp < day(107.0)));
    assert_eq!(events.len(), 1 + 2 * 7);
    assert_eq!(known.pools_of(&TOKEN).count(), 1, "the other pool is later");
    assert!(known.pools_of(&TOKEN).all(|pool| pool.liquidity.is_none()));
}

/// A token is launched every five days: of each creator `of_one`, with this verdict, every `nth` of which fell by half.
fn cases(word: &'static str, count: usize, nth: usize, of_one: usize) -> Vec<PastVerdict> {
    let case = |number: usize| {
        let mut token = [word.len() as u8; 20];
        token[..8].copy_from_slice(&number.to_be_bytes());
        let mut creator = token;
        creator[..8].copy_from_slice(&(number / of_one).to_be_bytes());
        let mut outcomes = [[Some(false); 5]; 2];
        outcomes[0][0] = Some(number.is_multiple_of(nth));
        outcomes[1][0] = None;
        PastVerdict {
            token: Address(token),
            creator: Some(Address(creator)),
            age: 7,
            time: day(number as f64 * 5.0),
            recommendation: word,
            outcomes,
        }
    };
    (0..count).map(case).collect()
}

#[test]
fn a_verdict_is_compared_with_all_tokens_of_its_age() {
    let fell = |judged: &[PastVerdict], word: &str| {
        let records = records(judged);
        let record = records.iter().find(|it| it.recommendation == word).unwrap();
        assert_eq!((record.day, record.of), (7, judged.len() as u64));
        assert_eq!(
            record.outcomes[1].count, 0,
            "unknown outcomes are not counted"
        );
        assert_eq!(record.outcomes[1].share, None);
        record.outcomes[0].clone()
    };
    let judged = [cases("AVOID", 60, 1, 1), cases("LOW RISK", 240, 4, 1)].concat();
    let (avoid, low) = (fell(&judged, "AVOID"), fell(&judged, "LOW RISK"));
    assert_eq!(
        (avoid.count, avoid.share, avoid.base_rate),
        (60, Some(1.0), Some(0.4))
    );
    let difference = avoid.evidence.difference.expect("a difference");
    assert!((difference - 60.0).abs() < 1e-9, "{difference}");
    assert_eq!(avoid.evidence.verdict, Some(Verdict::BeatsBaseRate));
    assert_eq!(low.evidence.verdict, Some(Verdict::BelowBaseRate));
    // The same tokens of two creators are two cases.
    let of_two = [cases("AVOID", 60, 1, 30), cases("LOW RISK", 240, 4, 1)].concat();
    assert_eq!(
        fell(&of_two, "AVOID").evidence.verdict,
        Some(Verdict::TooFew)
    );
    // No difference.
    let alike = [cases("AVOID", 400, 4, 1), cases("LOW RISK", 400, 4, 1)].concat();
    let alike = fell(&alike, "AVOID").evidence;
    assert!(alike.difference.is_some_and(|it| it.abs() < 1e-9));
    assert_eq!(alike.verdict, Some(Verdict::NoEdge));
    let said = |judged: &[PastVerdict]| sentence(&records(judged), "AVOID: sells fail");
    let of_60 = "of 60 tokens called AVOID 7 days after launch, 100% lost half of their price within 30 days; of all tokens, 40%";
    assert_eq!(said(&judged).as_deref(), Some(of_60));
    let too_few = said(&judged[59..]).expect("one token");
    assert!(
        too_few.starts_with("of 1 token called AVOID") && too_few.ends_with("(too few to compare)"),
        "{too_few}"
    );
    assert_eq!(said(&judged[60..]), None);
    // Nothing to compare with: a verdict of all tokens is no small sample.
    let all = said(&judged[..60]).expect("60 tokens");
    assert!(
        all.ends_with("of all tokens, 100% (nearly all tokens had this verdict)"),
        "{all}"
    );
}
