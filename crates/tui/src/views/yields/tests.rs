//! The Yield view on a synthetic market with pools.

use super::*;
use crate::views::fixture::Stage;
use load::{Dataset, sample};
use query::queries::yields::YieldPlan;

fn market() -> Dataset {
    let tokens = "token_address,symbol,name,chain,decimals,price,market_cap
        0x1,USDC,USD Coin,eth;base,6,1,9000000000
        0x2,WETH,Wrapped Ether,eth,18,3000,7000000000
        0x3,DEAR,Dear,eth,18,1,5";
    let yields = "pool,protocol,chain,symbol,tokens,tvl,apy_base,apy_reward,category,total_supply_usd,sigma,count
        u1,aave-v3,eth,USDC,0x1,80000000,4.1,,Lending,300000000,0.05,900
        u2,spark-savings,eth,USDC,0x1,500000000,3.9,,RWA,,0.01,700
        u3,a protocol with a rather long name,eth,USDC,0x1,60000000,3.6,0.9,Vault,,0.2,300
        u4,moonwell,base,USDC,0x1,9000000,6,1,Lending,30000000,0.2,300
        w1,lido,eth,WETH,0x2,22000000000,2.4,,Staking,,0.01,900
        w2,漢字協議,eth,WETH,0x2,300000000,2.9,,Vault,,0.05,500
        d1,dear,eth,DEAR,0x3,90000000,0.5,,Lending,,0.05,900";
    let gas = "chain,usd_per_100k_gas\neth,0.63\nbase,0.004";
    let mut dataset = sample::dataset(&[("tokens", tokens), ("yields", yields), ("gas", gas)]);
    dataset.synthetic = true;
    dataset
}

fn stage() -> (Stage, YieldView) {
    let (stage, mut view) = (Stage::new(Some(market())), YieldView::default());
    stage.draw(&mut view, 140, 38);
    (stage, view)
}

fn plan(view: &YieldView) -> &YieldPlan {
    view.plan.answer().expect("answered")
}

#[test]
fn screens_look_as_they_did() {
    let (stage, mut view) = stage();
    view.set_filter("12.5 WETH, 250k USDC, 20 DEAR", &stage.context())
        .expect("a filter that reads");
    insta::assert_snapshot!("yield", stage.screen(&mut view));
    stage.draw_in_odd_sizes(&mut view);
}

#[test]
fn amounts_of_any_size_are_never_cut() {
    let (stage, mut view) = stage();
    view.set_filter("5M USDC, 12B WETH", &stage.context())
        .expect("a wallet");
    for (width, height) in [(60, 24), (80, 24), (100, 30), (140, 38), (220, 56)] {
        let text = stage.text(&mut view, width, height);
        let values = plan(&view)
            .strategies
            .iter()
            .map(|row| format::fixed(row.value_usd.unwrap_or_default(), 2));
        let rows = text
            .lines()
            .skip_while(|line| !line.contains("PROTOCOL"))
            .take(6)
            .collect::<Vec<_>>()
            .join("\n");
        for value in values {
            assert!(rows.contains(&value), "{value} at {width}\n{text}");
        }
    }
}

#[test]
fn where_there_is_room_for_one_thing_the_panes_are_reached_by_key() {
    let (mut stage, mut view) = stage();
    view.set_filter("12.5 WETH, 250k USDC", &stage.context())
        .expect("a wallet");
    for says in ["PROTOCOL", "comparison", "allocation", "steps", "PROTOCOL"] {
        let text = stage.text(&mut view, 60, 12);
        assert!(text.contains(says), "{says}\n{text}");
        stage.act(&mut view, Action::NextPane);
    }
    stage.text(&mut view, 60, 12);
    stage.act(&mut view, Action::Back);
    assert!(
        stage.text(&mut view, 60, 12).contains("PROTOCOL"),
        "Esc brings the table back"
    );
}

#[test]
fn settings_change_by_key_and_are_answered_at_once() {
    let (mut stage, mut view) = stage();
    let medium = plan(&view).clone();
    for (action, part) in [
        (Action::Risk, "\"riskLevel\":\"high\""),
        (Action::Chains, "\"chains\":[\"base\"]"),
        (Action::Chains, "\"chains\":[\"eth\"]"),
        (Action::Chains, "\"chains\":[]"),
        (Action::Scale, "\"25000000000000000000\""),
        (Action::NoMinimumApy, "\"minApy\":0.0"),
    ] {
        stage.act(&mut view, action);
        stage.draw(&mut view, 140, 38);
        let request = view.request(&stage.context()).expect("a request");
        assert_eq!(
            (request.method, request.target.as_str()),
            ("POST", "/yield/optimize?explain=true")
        );
        assert!(
            request.body.as_ref().expect("a body").contains(part),
            "{action:?}: {request:?}"
        );
    }
    assert_ne!(*plan(&view), medium);
}

#[test]
fn scaling_changes_the_line_of_the_wallet_and_back() {
    let (mut stage, mut view) = stage();
    let line = view.filter().expect("a line").to_owned();
    stage.act(&mut view, Action::Scale);
    let doubled = view.filter().expect("a line").to_owned();
    assert!(doubled.contains("25 WETH"), "{line}: {doubled}");
    for _ in 0..3 {
        stage.act(&mut view, Action::Scale);
    }
    assert_eq!(view.filter(), Some(line.as_str()));
}

#[test]
fn the_minimum_apy_is_typed_with_the_wallet() {
    let (mut stage, mut view) = stage();
    assert_eq!(
        stage.act(&mut view, Action::MinimumApy),
        Effect::Edit(EditedLine::Filter, format!("{EXAMPLE}, min APY "))
    );
    view.set_filter(&format!("{EXAMPLE}, min APY 2.5%"), &stage.context())
        .expect("a filter that reads");
    let body = view
        .request(&stage.context())
        .expect("a request")
        .body
        .expect("a body");
    assert!(body.contains("\"minApy\":2.5"), "{body}");
    assert_eq!(
        stage.act(&mut view, Action::MinimumApy),
        Effect::Edit(EditedLine::Filter, format!("{EXAMPLE}, min APY ")),
        "typed once, not twice"
    );
    stage.act(&mut view, Action::NoMinimumApy);
    assert_eq!((view.line.as_str(), view.terms.min_apy), (EXAMPLE, 0.0));
    assert!(
        view.set_filter("1 WETH, min APY lots", &stage.context())
            .unwrap_err()
            .to_string()
            .contains("expected a percentage")
    );
}

#[test]
fn a_wallet_is_typed_pasted_and_taken_apart() {
    let (mut stage, mut view) = stage();
    assert!(
        view.set_filter("5 USDC, 1 NOPE", &stage.context())
            .unwrap_err()
            .to_string()
            .contains("NOPE")
    );
    assert_eq!(view.filter(), Some(EXAMPLE), "the last good wallet stands");
    assert!(
        matches!(stage.act(&mut view, Action::AddAmount), Effect::Edit(EditedLine::Filter, text) if text.starts_with(EXAMPLE))
    );
    stage.draw(&mut view, 140, 38);
    let first = view
        .strategy()
        .expect("a selected strategy")
        .token
        .symbol
        .clone()
        .expect("a symbol");
    stage.act(&mut view, Action::RemoveAmount);
    assert!(
        !view.line.contains(&first) && view.amounts.len() == 1,
        "{}",
        view.line
    );
    assert_eq!(
        stage.act(&mut view, Action::Back),
        Effect::Nothing,
        "Esc leaves the wallet"
    );
    let body = r#"{"tokens":{"0x0000000000000000000000000000000000000001":"5000000000"},"settings":{"riskLevel":"low","chains":["base"]}}"#;
    view.set_filter(body, &stage.context())
        .expect("a filter that reads");
    assert_eq!((view.risk, view.chains.len()), (RiskLevel::Low, 1));
    assert!(!view.line.contains('{'), "said in words: {}", view.line);
}

#[test]
fn requests_are_kept_between_runs_taken_up_and_forgotten() {
    let (mut stage, mut view) = stage();
    stage.act(&mut view, Action::SavePlan);
    stage.act(&mut view, Action::Risk);
    stage.act(&mut view, Action::SavePlan);
    let mut again = YieldView::default();
    again.restore(&view.save());
    assert_eq!(
        (again.saved.clone(), again.line.clone(), again.risk),
        (view.saved.clone(), view.line.clone(), RiskLevel::High)
    );
    stage.draw(&mut again, 140, 38);
    assert!(
        stage
            .text(&mut again, 220, 38)
            .contains("saved 1: medium risk · min APY 0%, 12.5 WETH, 250k USDC")
    );
    again
        .set_filter("10k USDC", &stage.context())
        .expect("a wallet");
    stage.draw(&mut again, 140, 38);
    let (net, risk) = (
        again.saved[0].net.expect("a yield"),
        again.saved[0].risk.expect("a risk"),
    );
    let more = net
        - plan(&again)
            .summary
            .explained
            .as_ref()
            .expect("explained")
            .net_yield_usd;
    let compared = stage.text(&mut again, 220, 38);
    let row = compared
        .lines()
        .find(|line| line.contains("saved 1"))
        .expect("the saved plan")
        .to_owned();
    for figure in [
        format::fixed(risk, 0),
        format::fixed(net, 2),
        format!("+{}", format::fixed(more, 2)),
    ] {
        assert!(row.contains(&format!(" {figure}")), "{figure}: {row}");
    }
    stage.act(&mut again, Action::NextPlan);
    assert_eq!(again.risk, RiskLevel::Medium);
    assert!(
        wallet::means(
            &again.line,
            &view.amounts,
            view.terms,
            stage.snapshot.as_ref().expect("data")
        ) && !again.line.contains('{'),
        "{}",
        again.line
    );
    stage.act(&mut again, Action::DropPlan);
    assert_eq!(again.saved.len(), 1);
    for odd in [
        Json::Null,
        json!([1]),
        json!({ "wallet": 3, "risk": "x", "plans": [{ "name": 1 }, 2] }),
    ] {
        YieldView::default().restore(&odd);
    }
}

#[test]
fn what_is_exported_is_what_is_answered() {
    let (stage, view) = stage();
    let export = view.export(&stage.context()).expect("rows to export");
    let columns = export.columns.len();
    let rows = export.values();
    let plan = plan(&view);
    assert_eq!(rows.len(), plan.steps.len());
    assert!(rows.iter().all(|row| row.len() == columns));
    for (at, strategy) in plan.strategies.iter().enumerate() {
        let (approval, deposit) = (&rows[2 * at], &rows[2 * at + 1]);
        assert!(
            approval[1]
                .as_str()
                .is_some_and(|action| action.starts_with("Approve "))
                && approval[9].is_null(),
            "{approval:?}"
        );
        assert!(
            deposit[1]
                .as_str()
                .is_some_and(|action| action.starts_with("Deposit ")),
            "{deposit:?}"
        );
        assert_eq!(
            (&deposit[7], &deposit[9]),
            (&json!(strategy.token.amount), &json!(strategy.apy))
        );
        assert!(!deposit.iter().any(Json::is_null), "{deposit:?}");
    }
    for (held, row) in plan
        .unplaced
        .iter()
        .flatten()
        .zip(&rows[2 * plan.strategies.len()..])
    {
        assert_eq!(
            (&row[5], &row[7]),
            (&json!(held.address), &json!(held.amount))
        );
    }
}
