//! The comparison of marked tokens: its lines, its period and base, and its figures.

use super::*;
use query::queries::{compare::PERIODS, security::SecurityQuery};

#[test]
fn compared_tokens_have_an_even_axis_and_a_crosshair_for_the_mouse() {
    let (mut stage, mut view) = stage();
    stage.draw(&mut view, 140, 38);
    stage.act(&mut view, Action::Mark);
    stage.act(&mut view, Action::Down);
    stage.act(&mut view, Action::CompareTokens);
    let shown = stage.text(&mut view, 140, 38);
    // The row of each label, and its figure.
    let label = |line: &str| {
        line.chars()
            .take(10)
            .collect::<String>()
            .trim()
            .strip_suffix("%")?
            .parse::<f64>()
            .ok()
    };
    let labels: Vec<(usize, f64)> = shown
        .lines()
        .enumerate()
        .filter_map(|(row, line)| Some((row, label(line)?)))
        .collect();
    assert!(labels.len() >= 3, "{shown}");
    let steps: Vec<(usize, f64)> = labels
        .windows(2)
        .map(|pair| (pair[1].0 - pair[0].0, pair[0].1 - pair[1].1))
        .collect();
    let even = |step: &(usize, f64)| {
        step.0.abs_diff(steps[0].0) <= 1 && (step.1 - steps[0].1).abs() < 1e-9 && step.1 > 0.0
    };
    assert!(steps.iter().all(even), "{labels:?}\n{shown}");
    // A press inside the plot sets the crosshair, a drag moves it.
    let legend = |shown: &str| {
        shown
            .lines()
            .find(|line| line.contains("percent to "))
            .map(str::to_owned)
    };
    let context = stage.context();
    assert_eq!(view.mouse(click(50, 10), &context), Effect::Redraw);
    let middle = legend(&stage.text(&mut view, 140, 38));
    assert_eq!(
        view.mouse(mouse_at(MouseEventKind::Drag, 20, 10), &context),
        Effect::Redraw
    );
    let dragged = legend(&stage.text(&mut view, 140, 38));
    assert!(
        middle != legend(&shown) && dragged < middle,
        "{middle:?} {dragged:?}"
    );
    assert_eq!(
        view.mouse(click(138, 36), &context),
        Effect::Nothing,
        "beside the lines"
    );
    let narrow = stage.text(&mut view, 80, 18);
    assert!(narrow.contains("correlation of daily"), "{narrow}");
    // No line of dots touches the right edge: a letter stands there, and nothing.
    assert!(
        shown.lines().all(|line| line
            .chars()
            .nth(139)
            .is_none_or(|last| matches!(last, ' ' | '─'))),
        "{shown}"
    );
}

#[test]
fn a_comparison_has_a_period_and_a_base() {
    let (mut stage, mut view) = stage();
    stage.draw(&mut view, 140, 38);
    stage.act(&mut view, Action::Mark);
    stage.act(&mut view, Action::Down);
    stage.act(&mut view, Action::CompareTokens);
    let all = stage.text(&mut view, 140, 38);
    assert!(all.contains("all days · 1d candles"), "{all}");
    // The rows of the legend, the base marked.
    let based = |shown: &str| {
        shown
            .lines()
            .filter(|line| line.contains(" base "))
            .map(|line| line[..4].to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(
        based(&all).last().map(String::as_str),
        Some(" A  "),
        "{all}"
    );
    for action in [Action::Window, Action::Down, Action::CompareBase] {
        stage.act(&mut view, action);
    }
    let week = stage.text(&mut view, 140, 38);
    assert!(
        week.contains(" · 7d · 1d candles")
            && week.contains("daily returns, 7 days")
            && week.contains(", 7 days · percent to"),
        "{week}"
    );
    assert_eq!(
        based(&week).last().map(String::as_str),
        Some(" B  "),
        "{week}"
    );
    let asked = view.request(&stage.context()).expect("a request").target;
    assert!(
        asked.contains("period=7d") && asked.contains("base=0x"),
        "{asked}"
    );
    for _ in 1..PERIODS.len() {
        stage.act(&mut view, Action::Window);
    }
    assert!(
        stage
            .text(&mut view, 140, 38)
            .contains("all days · 1d candles")
    );
    stage.act(&mut view, Action::CompareTimeframe);
    let weekly = stage.text(&mut view, 140, 38);
    assert!(weekly.contains("· 1w candles"), "{weekly}");
}

#[test]
fn compared_tokens_have_the_figures_of_the_list() {
    let (mut stage, mut view) = stage();
    stage.draw(&mut view, 140, 38);
    let tokens = [address(3), address(1)];
    let snapshot = Arc::clone(stage.context().snapshot.expect("a snapshot"));
    SecurityQuery {
        contract_address: tokens[1],
        explain: false,
    }
    .answer(
        &query::queries::view::View::new(&snapshot),
        &Progress::default(),
    )
    .expect("a score");
    let score = snapshot.security.summary(&tokens[1]).expect("it is kept");
    for token in tokens {
        stage.look(|context| view.compare.mark(token, context));
    }
    stage.act(&mut view, Action::CompareTokens);
    for (width, height) in [(140, 38), (80, 24)] {
        let shown = stage.text(&mut view, width, height);
        let header = shown
            .lines()
            .position(|line| line.contains("VOLATILITY %"))
            .unwrap_or_else(|| panic!("{shown}"));
        for (nth, token) in tokens.iter().enumerate() {
            let summary = snapshot
                .market
                .of(&snapshot.dataset, token)
                .expect("a token");
            let line = shown.lines().nth(header + 1 + nth).expect("a line");
            assert!(
                line.contains(&format::human(summary.market_cap)),
                "{width}\n{shown}"
            );
            if width > 80 {
                let score = if nth == 0 {
                    "–".to_owned()
                } else {
                    score_text(score.score, score.recommendation)
                };
                let figures = format!("{}  {score:>5}", format::human(summary.volume_24h));
                assert!(line.contains(&figures), "{figures}\n{shown}");
            }
        }
    }
    insta::assert_snapshot!(
        "compared",
        stage.text(&mut view, 140, 38) + &stage.text(&mut view, 80, 24)
    );
}
