//! The display and the actions of the API view.

use super::*;
use crate::views::fixture::{FakeApi, NOW, SIZES, Stage, UNI};

fn requests() -> Vec<LoggedRequest> {
    let kinds = [
        ("GET", format!("/tokens/{UNI}"), 200, 412, 2_113),
        (
            "GET",
            format!("/technical/{UNI}/trendline?period=30&timeframe=4h"),
            200,
            18_240,
            1_204,
        ),
        ("GET", "/tokens?query=uni&limit=20".to_owned(), 304, 96, 0),
        ("POST", "/yield/plan".to_owned(), 422, 1_312, 214),
        ("GET", format!("/security/{UNI}"), 501, 230, 180),
        ("GET", "/tokens/0x00".to_owned(), 400, 88, 201),
        ("GET", format!("/posts/{UNI}?page=2"), 200, 1_904, 18_240),
        ("GET", "/datasets".to_owned(), 401, 41, 152),
    ];
    (0..120)
        .map(|i| {
            let (method, path, status, micros, bytes) = kinds[i * 7 % kinds.len()].clone();
            LoggedRequest {
                time: Time(NOW.0 - i as i64 * 7_300),
                method: method.to_owned(),
                path,
                status,
                micros,
                bytes,
            }
        })
        .collect()
}

fn stage(state: ApiState, requests: Vec<LoggedRequest>) -> (Stage, ApiView) {
    let mut stage = Stage::empty();
    stage.api = Box::new(FakeApi { state, requests });
    let mut view = ApiView::default();
    stage.look(|context| view.refresh(context));
    (stage, view)
}

fn listening() -> ApiState {
    ApiState::Listening("http://127.0.0.1:8787".to_owned())
}

#[test]
fn a_listening_api_shows_its_requests_and_how_long_they_took() {
    let (stage, mut view) = stage(listening(), requests());
    stage.hold("api-listening", &mut view, SIZES);
    stage.draw_in_odd_sizes(&mut view);
}

#[test]
fn an_api_that_nobody_asked_or_that_could_not_start_says_what_to_do() {
    let (first, mut view) = stage(ApiState::Off, Vec::new());
    first.hold("api-off", &mut view, &[(80, 20)]);
    first.draw_in_odd_sizes(&mut view);
    let (second, mut view) = stage(
        ApiState::Failed("127.0.0.1:8787 is in use by another program".to_owned()),
        Vec::new(),
    );
    second.hold("api-failed", &mut view, &[(80, 20)]);
    let said = second.look(|context| view.act(Action::StartStop, context));
    assert_eq!(
        said,
        Effect::Warn("port 8787 is in use; name another in the configuration".to_owned())
    );
}

#[test]
fn the_key_stands_on_the_screen_only_when_asked_for() {
    let (stage, mut view) = stage(listening(), requests());
    let shown = |view: &mut ApiView| stage.text_now(view, 140, 38).contains("5f0c1a9e77b2");
    assert!(!shown(&mut view));
    stage.look(|context| view.act(Action::ShowKey, context));
    assert!(shown(&mut view));
    stage.look(|context| view.act(Action::Back, context));
    assert!(!shown(&mut view));
    assert_eq!(
        (hidden("td_5f0c"), hidden("5f0c")),
        ("td_••••••••".to_owned(), "••••••••".to_owned())
    );
}

#[test]
fn the_log_is_filtered_sorted_and_keeps_its_place_when_more_comes() {
    let (mut stage, mut view) = stage(listening(), requests());
    stage.press(&mut view, &[Action::Down; 2]);
    let before = view.selected().cloned();
    let newer = LoggedRequest {
        time: NOW,
        path: "/healthz".to_owned(),
        ..requests()[0].clone()
    };
    stage.api = Box::new(FakeApi {
        state: listening(),
        requests: std::iter::once(newer).chain(requests()).collect(),
    });
    stage.look(|context| view.refresh(context));
    assert_eq!(
        (view.selected().cloned(), view.log.cursor.selected()),
        (before, Some(3))
    );
    stage
        .look(|context| view.set_filter("status>=400 took>1k", context))
        .expect("a filter that reads");
    assert!(
        view.log
            .places()
            .all(|place| view.requests[place].status == 422)
            && view.log.len() == 15
    );
    stage
        .look(|context| view.set_filter("", context))
        .expect("a filter that reads");
    view.log
        .sorting
        .restore(&json!(["-duration"]), &view.log.sort_columns());
    view.arrange();
    assert_eq!(
        view.requests[view.log.place(0).expect("a row")].micros,
        18_240
    );
    let mut other = ApiView::default();
    other.restore(&view.save());
    assert_eq!(other.save(), view.save());
}
