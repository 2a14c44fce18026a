//! All documented cases of the endpoint: plans, tokens held back with their reason, refusals. Every answer is checked for internal
//! consistency.

use std::{fs, sync::Arc};

use frames::parquet_files::as_parquet;
use load::loader::load;
use model::{
    address::Address,
    error::Problem,
    progress::{NoProgress, Progress},
};
use polars::prelude::{
    DataFrame, DataType, IntoColumn as _, NamedFrom as _, Series, TimeUnit, TimeZone,
};
use query::{
    queries::{
        BodyQuery as _,
        parameter::{Arguments, TokenReader},
        yields::YieldQuery,
    },
    service::{QueryService, ServiceOptions},
};
use ruint::aliases::U256;
use serde_json::{Value, json};

/// A stablecoin with enough pools, a token whose pools cost more than they earn, and tokens with missing data.
const TOKENS: &str = "token_address,symbol,name,chain,decimals,price
0x00000000000000000000000000000000000000a1,USDC,USD Coin,eth;base,6,1
0x00000000000000000000000000000000000000a2,WETH,Ether,eth,18,3000
0x00000000000000000000000000000000000000a3,NOP,No price,eth,18,
0x00000000000000000000000000000000000000a4,NOD,No decimals,eth,,2
0x00000000000000000000000000000000000000a5,DEAR,Costs more,eth,18,1
0x00000000000000000000000000000000000000a6,WHOLE,Whole units,eth,0,250
0x00000000000000000000000000000000000000a7,FINE,Fine units,base,36,1
0x00000000000000000000000000000000000000a8,FAR,Far away,robinhood chain,6,1
0xeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee,ETH,Ether,eth,18,3000
coin:ETH,ETHC,Ether,coin-eth,,3000
";
const YIELDS: &str = "pool,project,chain,symbol,underlyingTokens,tvlUsd,apyBase,apyReward,apy,category,totalSupplyUsd,sigma,count,outlier
u1,aave,Ethereum,USDC,0x00000000000000000000000000000000000000A1,80000000,4.1,,4.1,Lending,300000000,0.05,900,false
u2,compound,Ethereum,USDC,0x00000000000000000000000000000000000000a1,60000000,3.2,0.5,3.7,Lending,200000000,0.05,900,false
u3,spark,Ethereum,USDC,0x00000000000000000000000000000000000000a1,500000000,3.9,,3.9,RWA,,0.01,700,false
u4,aave,Base,USDC,0x00000000000000000000000000000000000000a1,90000000,5,,5,Lending,200000000,0.05,900,false
u5,wild,Ethereum,USDC,0x00000000000000000000000000000000000000a1,200000,40,,40,Vault,,3,10,true
u6,two,Ethereum,USDC-WETH,0x00000000000000000000000000000000000000a1;0x00000000000000000000000000000000000000a2,90000000,30,,30,Dexs,,0.1,900,false
w1,lido,Ethereum,WETH,0x00000000000000000000000000000000000000a2,900000000,2.4,,2.4,Liquid Staking,,0.01,900,false
w2,aave,Ethereum,WETH,0x00000000000000000000000000000000000000a2,300000000,1.9,,1.9,Lending,700000000,0.05,900,false
d1,dear,Ethereum,DEAR,0x00000000000000000000000000000000000000a5,90000000,1,,1,Lending,,0.05,900,false
h1,maple,Ethereum,WHOLE,0x00000000000000000000000000000000000000a6,90000000,5,,5,Vault,,0.05,900,false
h2,yearn,Ethereum,WHOLE,0x00000000000000000000000000000000000000a6,50000000,4.9,,4.9,Vault,,0.05,900,false
f1,moonwell,Base,FINE,0x00000000000000000000000000000000000000a7,90000000,3,,3,Lending,,0.05,900,false
f2,fluid,Base,FINE,0x00000000000000000000000000000000000000a7,90000000,2.9,,2.9,Lending,,0.05,900,false
r1,hood,Robinhood Chain,FAR,0x00000000000000000000000000000000000000a8,90000000,3,,3,Lending,,0.05,900,false
n1,rocket,Ethereum,ETH,0x0000000000000000000000000000000000000000,900000000,2.4,,2.4,Staking,,0.01,900,false
";
const GAS: &str = "chain,usd_per_100k_gas\neth,1\nbase,0.01\n";

const USDC: &str = "0x00000000000000000000000000000000000000a1";
const UNKNOWN: &str = "0x00000000000000000000000000000000000000ff";

struct Desk(Arc<QueryService>);

impl Desk {
    fn new() -> Self {
        Self::seen(&[])
    }

    /// With what was seen of pools on each day.
    fn seen(days: &[(&str, &[f64])]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        if !days.is_empty() {
            let rows: Vec<(&str, i64, f64)> = days
                .iter()
                .flat_map(|(pool, apy)| {
                    apy.iter()
                        .zip(20_000..)
                        .map(move |(apy, day)| (*pool, day, *apy))
                })
                .collect();
            let kind = DataType::Datetime(TimeUnit::Milliseconds, Some(TimeZone::UTC));
            let times = Series::new(
                "observed_at".into(),
                rows.iter()
                    .map(|(_, day, _)| day * 86_400_000)
                    .collect::<Vec<_>>(),
            );
            let columns = vec![
                Series::new(
                    "pool".into(),
                    rows.iter().map(|(pool, ..)| *pool).collect::<Vec<_>>(),
                )
                .into_column(),
                Series::new(
                    "apy_base".into(),
                    rows.iter().map(|(.., apy)| *apy).collect::<Vec<_>>(),
                )
                .into_column(),
                Series::new_null("apy_reward".into(), rows.len())
                    .cast(&DataType::Float64)
                    .unwrap()
                    .into_column(),
                Series::new_null("apy".into(), rows.len())
                    .cast(&DataType::Float64)
                    .unwrap()
                    .into_column(),
                times.cast(&kind).unwrap().into_column(),
            ];
            let history = load::live_files::history_folder(folder.path(), "yields");
            fs::create_dir_all(&history).unwrap();
            fs::write(
                history.join("1.parquet"),
                as_parquet(|| DataFrame::new(rows.len(), columns)).unwrap(),
            )
            .unwrap();
        }
        for (name, text) in [("tokens", TOKENS), ("yields", YIELDS), ("gas", GAS)] {
            fs::write(folder.path().join(format!("{name}.csv")), text).unwrap();
        }
        let service = QueryService::new(
            folder.path(),
            ServiceOptions {
                workers: 1,
                ..ServiceOptions::default()
            },
        )
        .unwrap();
        service.publish(load(folder.path(), &NoProgress).unwrap());
        Self(service)
    }

    fn ask(&self, body: &Value) -> Result<Value, Problem> {
        let question = YieldQuery::parse_request(
            &Arguments::new(&[query::queries::parameter::EXPLAIN], &[], "explain=true")?,
            body.to_string().as_bytes(),
        )?;
        let known = self.0.answer(&question, &Progress::default())?;
        Ok(serde_json::from_slice(&known.json).unwrap())
    }

    /// Requests a plan and checks its consistency.
    fn plan(&self, body: &Value) -> Value {
        let plan = self
            .ask(body)
            .unwrap_or_else(|problem| panic!("{body}: {problem}"));
        adds_up(body, &plan);
        plan
    }

    fn one(&self, address: &str, amount: &str, settings: impl Into<Value>) -> Value {
        self.plan(&json!({ "tokens": { address: amount }, "settings": settings.into() }))
    }
}

/// A quote that does not hold is not planned with: the median of what was seen is, and the answer says so.
#[test]
fn the_plan_reckons_with_what_a_pool_paid_day_by_day() {
    let body = json!({ "tokens": { USDC: "1000000000000" }, "settings": { "riskLevel": "low", "chains": ["eth"] } });
    let names = |plan: &Value| -> Vec<String> {
        plan["strategies"]
            .as_array()
            .unwrap()
            .iter()
            .map(|row| row["poolId"].as_str().unwrap().to_owned())
            .collect()
    };
    let without = Desk::new().plan(&body);
    assert_eq!(names(&without)[0], "u1");
    let first = &without["strategies"][0];
    assert_eq!(
        (
            &first["expectedApy"],
            &first["expectedDays"],
            &first["remarks"]
        ),
        (&first["quotedApy"], &json!(0), &json!([]))
    );
    // u1 quotes 4.1 today and paid 2 before; u3 pays what it quotes; u2 paid nothing.
    let seen = Desk::seen(&[
        ("u1", &[2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 4.1]),
        ("u3", &[3.9, 3.9, 3.9, 3.9, 3.9, 3.9, 3.9]),
        ("u2", &[0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 3.7]),
    ])
    .plan(&body);
    assert_eq!(
        names(&seen),
        ["u3", "u1"],
        "half of the wallet in u3, a tenth in u1, u2 is left out"
    );
    let doubtful = &seen["strategies"][1];
    assert!(number(&doubtful["walletShare"]) <= 0.1 + 1e-9);
    assert_eq!(
        (
            &doubtful["quotedApy"],
            &doubtful["expectedApy"],
            &doubtful["expectedDays"]
        ),
        (&json!(4.1), &json!(2.0), &json!(7))
    );
    assert_eq!(
        doubtful["remarks"],
        json!([{ "code": "above_history", "usualApy": 2.0 }])
    );
    assert!(number(&doubtful["apy"]) <= 2.0 && number(&doubtful["apy"]) > 1.9);
    let notes = seen["notes"].to_string();
    assert!(
        notes.contains("(`u2`): a yield is quoted, but nothing was paid"),
        "{notes}"
    );
    // Who wants at least 3 % gets only what holds.
    let wanting = json!({ "tokens": { USDC: "1000000000000" }, "settings": { "riskLevel": "low", "chains": ["eth"], "minApy": 3 } });
    let wanting = Desk::seen(&[("u1", &[2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 4.1])]).plan(&wanting);
    assert!(!names(&wanting).contains(&"u1".to_owned()), "{wanting}");
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap()
}

/// Asserts all properties that follow from an answer alone.
pub(super) fn adds_up(body: &Value, plan: &Value) {
    let strategies = plan["strategies"].as_array().unwrap();
    let summary = &plan["summary"];
    let near = |a: f64, b: f64, what: &str| {
        assert!(
            (a - b).abs() <= 1e-9 * a.abs().max(1.0),
            "{what}: {a} is not {b}: {plan}"
        );
    };
    let total: f64 = strategies
        .iter()
        .map(|strategy| number(&strategy["valueUsd"]))
        .sum();
    let earned: f64 = strategies
        .iter()
        .map(|strategy| number(&strategy["valueUsd"]) * number(&strategy["apy"]) / 100.0)
        .sum();
    let gas: f64 = plan["steps"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|step| step["gasEstimateUsd"].as_f64())
        .sum();
    near(total, number(&summary["totalValueUsd"]), "value");
    near(earned, number(&summary["estimatedAnnualYieldUsd"]), "yield");
    near(gas, number(&summary["gasEstimateUsd"]), "gas");
    near(
        if total > 0.0 {
            100.0 * earned / total
        } else {
            0.0
        },
        number(&summary["weightedApy"]),
        "mean",
    );
    near(earned - gas, number(&summary["netYieldUsd"]), "net");
    let whole = total + number(&summary["idleValueUsd"]);
    near(
        if total > 0.0 {
            100.0 * earned / whole
        } else {
            0.0
        },
        number(&summary["walletApy"]),
        "mean of the wallet",
    );
    for strategy in strategies {
        let parts: f64 = strategy["riskParts"]
            .as_array()
            .unwrap()
            .iter()
            .map(|part| number(&part["points"]))
            .sum();
        near(parts, number(&strategy["riskScore"]), "risk");
        assert!(
            number(&strategy["walletShare"]) <= number(&strategy["share"]) + 1e-9,
            "{strategy}"
        );
    }
    let pools: u64 = plan["allocation"]["protocols"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|protocol| protocol["pools"].as_u64())
        .sum();
    assert_eq!(pools, strategies.len() as u64, "{plan}");
    assert!(
        number(&summary["upperBoundUsd"]) >= number(&summary["netYieldUsd"])
            && number(&summary["netYieldUsd"]) >= 0.0,
        "{plan}"
    );
    assert_eq!(
        plan["steps"].as_array().unwrap().len(),
        strategies.len() * 2 + plan["unplaced"].as_array().unwrap().len()
    );
    assert!(
        strategies
            .windows(2)
            .all(|pair| number(&pair[0]["valueUsd"]) >= number(&pair[1]["valueUsd"]))
    );
    for (address, amount) in body["tokens"].as_object().unwrap() {
        let whole = U256::from_str_radix(amount.as_str().unwrap(), 10).unwrap();
        let address = address.to_lowercase();
        let of = |rows: &Value, at: &dyn Fn(&Value) -> (String, String)| {
            let rows = rows
                .as_array()
                .unwrap()
                .iter()
                .map(at)
                .filter(|(of, _)| *of == address);
            rows.fold(U256::ZERO, |sum, (_, amount)| {
                sum + U256::from_str_radix(&amount, 10).unwrap()
            })
        };
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let placed = of(&plan["strategies"], &|row| {
            (
                text(&row["token"]["address"]),
                text(&row["token"]["amount"]),
            )
        });
        let idle = of(&plan["unplaced"], &|row| {
            (text(&row["address"]), text(&row["amount"]))
        });
        assert_eq!(placed + idle, whole, "{address}: {plan}");
    }
}

fn last_step(plan: &Value) -> &str {
    plan["steps"].as_array().unwrap().last().unwrap()["action"]
        .as_str()
        .unwrap()
}

#[test]
fn what_cannot_be_placed_is_held_with_its_reason_and_the_rest_is_placed() {
    let desk = Desk::new();
    let held = |digit: &str| format!("0x00000000000000000000000000000000000000{digit}");
    for (address, amount, settings, reason, step) in [
        (
            UNKNOWN.to_owned(),
            "17",
            json!({}),
            "unknown_token",
            "Hold 17 of 0x00000000000000000000000000000000000000ff: unknown token",
        ),
        (
            USDC.to_owned(),
            "0",
            json!({}),
            "zero_amount",
            "Hold 0 USDC: zero amount",
        ),
        (
            held("a3"),
            "1500000000000000000",
            json!({}),
            "no_price",
            "Hold 1.5 NOP: no price",
        ),
        (
            held("a4"),
            "1500",
            json!({}),
            "no_decimals",
            "Hold 1500 of 0x00000000000000000000000000000000000000a4: no decimals",
        ),
        (
            held("a5"),
            "100000000000000000000",
            json!({}),
            "gas_exceeds_yield",
            "Hold 100 DEAR: gas exceeds a year's yield",
        ),
        (
            held("a5"),
            "1",
            json!({}),
            "tiny_amount",
            "Hold 0.000000000000000001 DEAR: worth less than 1 USD; amounts are in base units",
        ),
        (
            USDC.to_owned(),
            "5000000",
            json!({ "minApy": 50 }),
            "no_eligible_pool",
            "Hold 5 USDC: no eligible pool",
        ),
        (
            USDC.to_owned(),
            "5000000",
            json!({ "chains": ["arbitrum"] }),
            "no_eligible_pool",
            "Hold 5 USDC: no eligible pool",
        ),
    ] {
        let plan = desk.one(&address, amount, settings.clone());
        assert_eq!(plan["strategies"], json!([]), "{address}");
        assert_eq!(plan["unplaced"][0]["reason"], reason);
        assert_eq!(last_step(&plan), step);
        assert_eq!(plan["summary"]["totalValueUsd"], 0.0);
        let both = desk.plan(&json!({ "tokens": { address: amount, held("a2"): "9000000000000000000" }, "settings": {} }));
        assert_eq!(both["strategies"][0]["token"]["symbol"], "WETH", "{both}");
    }
}

#[test]
fn the_chain_is_the_first_that_was_asked_for() {
    let desk = Desk::new();
    for (chains, chain) in [
        (json!([]), "eth"),
        (json!(["base", "eth"]), "base"),
        (json!(["eth", "base"]), "eth"),
        (json!(["8453"]), "base"),
    ] {
        let plan = desk.one(USDC, "1000000000", json!({ "chains": chains }));
        for strategy in plan["strategies"].as_array().unwrap() {
            assert_eq!(strategy["chain"], chain);
        }
        assert!(
            plan["steps"][1]["action"]
                .as_str()
                .unwrap()
                .ends_with(&format!("on {chain}")),
            "{plan}"
        );
    }
    let far = desk.one(
        "0x00000000000000000000000000000000000000a8",
        "500000000",
        json!({ "chains": ["Robinhood Chain"] }),
    );
    assert_eq!(
        (
            &far["strategies"][0]["chain"],
            &far["steps"][0]["gasEstimateUsd"]
        ),
        (&json!("robinhood-chain"), &Value::Null)
    );
    assert!(
        far["notes"][0]
            .as_str()
            .unwrap()
            .contains("robinhood-chain")
            && far["summary"]["gasEstimateUsd"] == 0.0,
        "{far}"
    );
}

#[test]
fn settings_have_their_defaults_and_levels_their_limits() {
    let desk = Desk::new();
    let plain = desk.plan(&json!({ "tokens": { USDC: "100000000000" } }));
    for settings in [
        json!({}),
        json!({ "riskLevel": "Balanced", "chains": [], "minApy": 0 }),
        json!({ "minApy": -4 }),
    ] {
        assert_eq!(
            desk.one(USDC, "100000000000", settings.clone()),
            plain,
            "{settings}"
        );
    }
    // At most half the wallet in one pool; never a flagged pool or one of two assets.
    let names = |plan: &Value| -> Vec<String> {
        plan["strategies"]
            .as_array()
            .unwrap()
            .iter()
            .map(|s| s["poolId"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(names(&plain), ["u1", "u3"], "{plain}");
    let high = desk.one(USDC, "100000000000", json!({ "riskLevel": "aggressive" }));
    assert!(names(&high).contains(&"u5".to_owned()), "{high}");
    let floor = desk.one(USDC, "30000000000000", json!({ "minApy": 3.5 }));
    assert!(
        floor["strategies"]
            .as_array()
            .unwrap()
            .iter()
            .all(|strategy| number(&strategy["apy"]) >= 3.5),
        "{floor}"
    );
    assert_eq!(floor["unplaced"][0]["reason"], "limits", "{floor}");
}

#[test]
fn units_of_every_size_are_placed_exactly() {
    let desk = Desk::new();
    let [whole, fine] =
        ["a6", "a7"].map(|digit| format!("0x00000000000000000000000000000000000000{digit}"));
    for amount in ["1", "2", "3", "7", "1001"] {
        let plan = desk.one(&whole, amount, json!({ "riskLevel": "high" }));
        assert_eq!(plan["unplaced"], json!([]), "{amount}: {plan}");
    }
    for amount in [
        "1",
        "123456789012345678901234567890123456789",
        &U256::MAX.to_string(),
    ] {
        for address in [&whole, &fine, &USDC.to_owned()] {
            desk.one(address, amount, json!({ "riskLevel": "low" }));
        }
    }
    // The chain's native coin has two addresses.
    let native = desk.one(
        "0xEeeeeEeeeEeEeeEeEeEeeEEEeeeeEeeeeeeeEEeE",
        "2000000000000000000",
        json!({}),
    );
    assert_eq!(native["strategies"][0]["poolId"], "n1");
    let coin = Address::coin("ETH").to_string();
    let native = desk.one(&coin, "2000000000000000000", json!({}));
    assert_eq!(native["strategies"][0]["poolId"], "n1");
}

#[test]
fn wrong_values_are_refused_by_name() {
    let desk = Desk::new();
    let upper = "0x00000000000000000000000000000000000000A1";
    for (body, part) in [
        (
            json!({ "tokens": { USDC: 5 } }),
            "/tokens/0x00000000000000000000000000000000000000a1",
        ),
        (json!({ "tokens": { USDC: "1e18" } }), "decimal digits"),
        (json!({ "tokens": { USDC: "1.5" } }), "decimal digits"),
        (json!({ "tokens": { USDC: "0x10" } }), "decimal digits"),
        (json!({ "tokens": { USDC: "1".repeat(79) } }), "2^256-1"),
        (json!({ "tokens": { USDC: "1", upper: "1" } }), "twice"),
        (
            json!({ "tokens": { USDC: "1" }, "settings": { "chains": ["etherium"] } }),
            "eth",
        ),
        (
            json!({ "tokens": { USDC: "1" }, "settings": { "riskLevel": "wild" } }),
            "low, medium, high",
        ),
    ] {
        let problem = desk.ask(&body).expect_err("refused");
        assert!(
            problem.code.status() == 422 && problem.detail.contains(part),
            "{body}: {problem}"
        );
    }
    let raw = |text: String| {
        YieldQuery::parse_body(text.as_bytes(), TokenReader::default()).expect_err("refused")
    };
    assert_eq!(
        raw(format!(
            "{{\"tokens\":{{\"{USDC}\":\"1\"}},\"settings\":{{\"minApy\":1e999}}}}"
        ))
        .code
        .status(),
        422
    );
    assert_eq!(
        raw(format!(
            "{{\"tokens\":{{\"{USDC}\":\"1\",\"{USDC}\":\"2\"}}}}"
        ))
        .code
        .status(),
        422
    );
}
