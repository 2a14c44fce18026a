//! The point-in-time mode of the dashboard: every view uses a query service without later data, until the user returns to the present.

use std::sync::Arc;

use super::App;
use crate::{
    overlay::{Command, palette::AS_OF},
    views::{task::BackgroundTask, view::HttpRequest},
};
use model::time::{DAY_MS, Time};
use query::{
    queries::parameter::{as_of, clip},
    service::QueryService,
};

/// The query service of the views, if not that of the present; and one that is being created.
#[derive(Default)]
pub(crate) struct PointInTimeView {
    shown: Option<(Time, Arc<QueryService>)>,
    task: Option<(Time, BackgroundTask<Arc<QueryService>>)>,
    /// Asked for while that one is made.
    next: Option<Time>,
}

impl PointInTimeView {
    /// The query service of the views.
    pub(crate) fn or<'a>(&'a self, present: &'a Arc<QueryService>) -> &'a Arc<QueryService> {
        self.shown.as_ref().map_or(present, |(_, service)| service)
    }

    pub(crate) fn is_shown(&self) -> bool {
        self.shown.is_some()
    }
}

impl App {
    /// Prompts for a day; if one is shown, returns to the present.
    pub(super) fn toggle_as_of(&mut self) {
        if self.earlier.shown.is_some() {
            // What is being made is not shown any more.
            self.earlier = PointInTimeView::default();
            self.take_in_changes();
            self.read_alerts();
            return self.say("you are viewing the present", false);
        }
        self.run(Command::Type(AS_OF.to_owned()));
    }

    /// Shows everything as of the day or time.
    pub(super) fn show_as_of(&mut self, typed: &str) {
        match as_of(typed) {
            Ok(time) => self.make_as_of(time),
            Err(expected) => self.say(format!("`as of` is `{}`; {expected}", clip(typed)), true),
        }
    }

    /// Shows the day before or after the one that is shown.
    pub(super) fn step_as_of(&mut self, days: i64) {
        let PointInTimeView { shown, task, next } = &self.earlier;
        let last = next
            .or(task.as_ref().map(|(time, _)| *time))
            .or(shown.as_ref().map(|(time, _)| *time));
        match last {
            Some(time) => self.make_as_of(Time(time.0 + days * DAY_MS)),
            None => self.say(
                "you are viewing the present; press @ to choose a day",
                false,
            ),
        }
    }

    fn make_as_of(&mut self, time: Time) {
        self.say(
            format!("loading the data as of {}", time.minute_text()),
            false,
        );
        if self.earlier.task.is_some() {
            self.earlier.next = Some(time);
            return;
        }
        let service = Arc::clone(&self.setup.service);
        let task = BackgroundTask::start(&self.wake, move |_| service.as_of(time));
        self.earlier.task = Some((time, task));
    }

    /// The request with the time that is shown.
    pub(super) fn of_its_time(&self, request: HttpRequest) -> HttpRequest {
        let Some((time, _)) = &self.earlier.shown else {
            return request;
        };
        let joint = if request.target.contains('?') {
            '&'
        } else {
            '?'
        };
        HttpRequest {
            target: format!("{}{joint}as_of={time}", request.target),
            ..request
        }
    }

    /// Takes the query service once it is created.
    pub(super) fn poll_as_of(&mut self) {
        let Some((time, task)) = &mut self.earlier.task else {
            return;
        };
        let Some(outcome) = task.poll() else { return };
        let time = *time;
        self.earlier.task = None;
        match outcome {
            Ok(service) => {
                self.earlier.shown = Some((time, service));
                self.message = None;
            }
            Err(problem) => self.say(problem.detail, true),
        }
        if let Some(next) = self.earlier.next.take() {
            self.make_as_of(next);
        }
        self.dirty = true;
    }
}

#[cfg(test)]
mod tests {
    use crate::{app::bench::Bench, views::view::HttpRequest};
    use load::sample;

    /// The screen once the query service of the day is created.
    fn settled(bench: &mut Bench) -> String {
        bench.rest();
        bench.screen()
    }

    #[test]
    fn every_view_follows_a_day_until_the_present_is_asked_for() {
        let candles: Vec<String> = (1..=9)
            .map(|day| format!("0x1,1d,2026-01-0{day}T00:00:00Z,{day},{day}.5,0.5,{day},10\n"))
            .collect();
        let mut bench = Bench::new(crate::views::all());
        bench.app.setup.service.publish(sample::dataset(&[
            (
                "tokens",
                "token_address,symbol,name,chain\n0x1,WETH,Wrapped Ether,eth",
            ),
            (
                "candles",
                &format!(
                    "token_address,interval,timestamp,open,high,low,close,volume\n{}",
                    candles.concat()
                ),
            ),
        ]));
        let now = settled(&mut bench);
        assert!(now.contains("9.0000") && !now.contains("AS OF"), "{now}");
        bench.keys("@2026-01-04⏎");
        let then = settled(&mut bench);
        assert!(
            then.contains("AS OF 2026-01-04")
                && then.contains("4.0000")
                && !then.contains("9.0000"),
            "{then}"
        );
        bench.keys("<");
        let before = settled(&mut bench);
        assert!(
            before.contains("AS OF 2026-01-03") && before.contains("3.0000"),
            "{before}"
        );
        bench.keys("3");
        let chart = settled(&mut bench);
        assert!(
            chart.contains("2026-01-03") && !chart.contains("2026-01-04"),
            "{chart}"
        );
        let request = bench.app.of_its_time(HttpRequest::get("/tokens?limit=5"));
        assert_eq!(
            request.target, "/tokens?limit=5&as_of=2026-01-03T23:59:59Z",
            "the line that is copied gives the same data"
        );
        bench.keys("1@");
        let present = settled(&mut bench);
        assert!(
            present.contains("9.0000") && !present.contains("AS OF"),
            "{present}"
        );
        bench.keys("@yesterday⏎⎋");
        assert!(!settled(&mut bench).contains("AS OF"));
    }

    #[test]
    fn without_caps_the_tokens_are_by_volume_with_its_mark() {
        let rows = |token: &str, volume: u32| {
            format!("{token},1d,2026-01-01T00:00:00Z,1,1,1,1,{volume}\n")
        };
        let candles = [rows("0x1", 10), rows("0x2", 30), rows("0x3", 20)].concat();
        let mut bench = Bench::new(crate::views::all());
        bench.app.setup.service.publish(sample::dataset(&[
            (
                "tokens",
                "token_address,symbol,name,chain\n0x1,AAA,A,eth\n0x2,BBB,B,eth\n0x3,CCC,C,eth",
            ),
            (
                "candles",
                &format!("token_address,interval,timestamp,open,high,low,close,volume\n{candles}"),
            ),
        ]));
        let screen = settled(&mut bench);
        let place = |symbol: &str| {
            screen
                .lines()
                .position(|line| line.trim_start().starts_with(symbol))
        };
        assert!(
            screen.contains("VOL ▾") && place("BBB") < place("CCC") && place("CCC") < place("AAA"),
            "{screen}"
        );
        bench.keys("@");
        assert!(bench.screen().contains("a day or time, such as 2026-01-31"));
    }

    #[test]
    fn a_view_names_what_is_of_today_and_a_day_before_the_data_is_refused() {
        let mut bench = Bench::new(crate::views::all());
        bench.app.setup.service.publish(sample::dataset(&[
            ("tokens", "token_address,symbol,name,chain\n0x1,WETH,Wrapped Ether,eth"),
            ("candles", "token_address,interval,timestamp,open,high,low,close\n0x1,1d,2026-01-01,1,1,1,1\n0x1,1d,2026-01-02,2,2,2,2"),
            ("pools", "address,dex_id,chain,token0,token1,liquidity\n0xa,x,eth,0x1,0x2,100"),
            ("holders", "token_address,holder_address,balance\n0x1,0xa1,5"),
        ]));
        let views = [
            ("1", "holders"),
            ("3", ""),
            ("4", "holders, pools"),
            ("5", "pools"),
            ("6", ""),
        ];
        for (key, _) in views {
            bench.keys(key);
            assert!(
                !settled(&mut bench).contains("current, not as of"),
                "{key}: the present"
            );
        }
        bench.keys("1@2026-01-01⏎");
        for (key, tables) in views {
            bench.keys(key);
            let screen = settled(&mut bench);
            let says = screen
                .split("current, not as of 2026-01-01: ")
                .nth(1)
                .and_then(|rest| rest.split(" ─").next());
            assert_eq!(says.unwrap_or_default(), tables, "{key}: {screen}");
            assert_eq!(
                screen.contains("1 DEX · current values"),
                key == "5",
                "where they stand, {key}: {screen}"
            );
        }
        bench.keys("<");
        let refused = settled(&mut bench);
        assert!(
            refused.contains("The data starts on 2026-01-01.")
                && refused.contains("AS OF 2026-01-01"),
            "{refused}"
        );
    }
}
