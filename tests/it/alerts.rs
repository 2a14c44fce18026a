//! Alerts fire exactly once per transition to their condition being met, across crashes and restarts.

mod outside;
pub(crate) mod record;
mod trouble;

use std::{
    io::{BufRead, BufReader, Write},
    path::Path,
    process::{Command, Stdio},
    sync::Arc,
    time::Duration,
};

use model::{
    address::Address,
    error::{Code, Problem},
    progress::Progress,
};
use query::{
    jobs::{
        Alert, AlertCursor, AlertList, AlertRoutes, FIRED_ID_MAX, JobOptions, Jobs, OfflineJobs,
    },
    queries::{alert_body::AlertBody, parameter::TokenReader},
    service::{QueryService, ServiceEvent, ServiceOptions},
};
use wire::{MemoryLedger, RemoteClient, WireOptions};

use crate::wait::{stays, wait_for, wait_until};

/// Longer than the interval of alert checks, which is half a second.
const ROUND: Duration = Duration::from_millis(600);

pub(crate) const A: &str = "0x000000000000000000000000000000000000000a";
const B: &str = "0x000000000000000000000000000000000000000b";

fn write(folder: &Path, prices: &[(&str, &str, f64)]) {
    let rows: Vec<String> = prices
        .iter()
        .map(|(address, symbol, price)| format!("{address},{symbol},{symbol},eth,{price}"))
        .collect();
    // Renamed into place, since a reload may come in the middle of a write.
    let beside = folder.join(".tokens.tmp");
    std::fs::write(
        &beside,
        format!(
            "token_address,symbol,name,chain,price\n{}\n",
            rows.join("\n")
        ),
    )
    .unwrap();
    std::fs::rename(beside, folder.join("tokens.csv")).unwrap();
}

fn address(text: &str) -> Address {
    Address::parse(text).unwrap()
}

fn request(token: Option<&str>, condition: &str) -> AlertBody {
    AlertBody {
        token_address: token.map(address),
        condition: condition.to_owned(),
    }
}

struct Bench {
    data: tempfile::TempDir,
    state: tempfile::TempDir,
    service: Arc<QueryService>,
    jobs: Arc<Jobs>,
}

impl Bench {
    fn new(prices: &[(&str, &str, f64)]) -> Self {
        Self::telling(prices, AlertRoutes::default())
    }

    /// Whose fired alerts are told outside too.
    fn telling(prices: &[(&str, &str, f64)], alert_routes: AlertRoutes) -> Self {
        let (data, state) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        write(data.path(), prices);
        let wire = Some(RemoteClient::new(
            WireOptions::default(),
            Arc::new(MemoryLedger::default()),
        ));
        let service = QueryService::new(
            data.path(),
            ServiceOptions {
                workers: 1,
                wire,
                ..ServiceOptions::default()
            },
        )
        .unwrap();
        service.load().unwrap();
        let jobs = Jobs::open(
            state.path(),
            Arc::clone(&service),
            JobOptions {
                alert_routes,
                ..JobOptions::default()
            },
        )
        .unwrap();
        Self {
            data,
            state,
            service,
            jobs,
        }
    }

    /// Loads other prices and waits for the alert's check on them.
    fn load(&self, prices: &[(&str, &str, f64)], id: &str) -> Alert {
        let before = self.alert(id).checked_at;
        // Check times have millisecond resolution.
        std::thread::sleep(Duration::from_millis(2));
        write(self.data.path(), prices);
        self.service.load().unwrap();
        wait_for("the alert is looked at", || {
            Some(self.alert(id)).filter(|alert| alert.checked_at > before)
        })
    }

    fn alert(&self, id: &str) -> Alert {
        self.list()
            .alerts
            .into_iter()
            .find(|alert| alert.alert_id == id)
            .unwrap()
    }

    fn list(&self) -> AlertList {
        self.jobs.alerts(100, FIRED_ID_MAX).unwrap()
    }
}

/// The messages of the firings that `cursor` has not received, sorted.
fn delivered(jobs: &Jobs, cursor: &mut AlertCursor) -> Vec<String> {
    let mut says = Vec::new();
    jobs.deliver_fired(cursor, |fired| says.push(fired.says()))
        .unwrap();
    says.sort();
    says
}

#[test]
fn a_firing_right_before_the_end_is_told_after_the_restart() {
    let bench = Bench::new(&[(A, "A", 10.0)]);
    let id = bench
        .jobs
        .add_alert(&request(Some(A), "price>20"), &Progress::default())
        .unwrap()
        .alert_id;
    assert_eq!(bench.load(&[(A, "A", 30.0)], &id).fired, 1);
    let Bench {
        service,
        jobs,
        state,
        ..
    } = &bench;
    jobs.stop();
    let read =
        Jobs::open_to_read(state.path(), Arc::clone(service), JobOptions::default()).unwrap();
    assert_eq!(
        delivered(&read, &mut AlertCursor::default()),
        [""; 0],
        "a picture announces nothing"
    );
    let restarted =
        || Jobs::open(state.path(), Arc::clone(service), JobOptions::default()).unwrap();
    assert_eq!(
        delivered(&restarted(), &mut AlertCursor::default()),
        ["A: price>20"],
        "no notification was sent before"
    );
    assert_eq!(
        delivered(&restarted(), &mut AlertCursor::default()),
        [""; 0]
    );
}

#[test]
fn two_programs_check_the_alerts_of_their_own_datasets() {
    let (one, two) = (Bench::new(&[(A, "A", 10.0)]), Bench::new(&[(A, "A", 10.0)]));
    let jobs = Jobs::open(
        one.state.path(),
        Arc::clone(&two.service),
        JobOptions::default(),
    )
    .unwrap();
    jobs.add_alert(&request(Some(A), "price>20"), &Progress::default())
        .unwrap();
    write(two.data.path(), &[(A, "A", 30.0)]);
    two.service.load().unwrap();
    wait_for("it fires", || {
        jobs.alerts(9, FIRED_ID_MAX)
            .unwrap()
            .fired
            .first()
            .map(query::jobs::FiredAlert::says)
    });
    assert_eq!(one.list(), AlertList::default());
    assert_eq!(
        (
            delivered(&one.jobs, &mut AlertCursor::default()),
            delivered(&jobs, &mut AlertCursor::default()).len()
        ),
        (vec![], 1)
    );
}

#[test]
fn two_programs_on_one_dataset_fire_once() {
    let bench = Bench::new(&[(A, "A", 10.0)]);
    let service = QueryService::new(
        bench.data.path(),
        ServiceOptions {
            workers: 1,
            ..ServiceOptions::default()
        },
    )
    .unwrap();
    service.load().unwrap();
    let other = Jobs::open(
        bench.state.path(),
        Arc::clone(&service),
        JobOptions::default(),
    )
    .unwrap();
    let mut events = service.listen();
    let id = bench
        .jobs
        .add_alert(&request(None, "price>20"), &Progress::default())
        .unwrap()
        .alert_id;
    let (here, once) = (|| (bench.alert(&id).fired, bench.alert(&id).holds), (1, 1));
    stays("nothing fires", ROUND, || here() == (0, 0));
    assert_eq!(bench.load(&[(A, "A", 30.0)], &id).fired, 1);
    wait_until("the other one hears of it", || {
        events.try_recv() == Ok(ServiceEvent::AlertsFired)
    });
    stays("the older data of the other change nothing", ROUND, || {
        here() == once
    });
    service.load().unwrap();
    stays("it fired once", ROUND, || here() == once);
    assert_eq!(
        (
            delivered(&other, &mut AlertCursor::default()).len(),
            delivered(&bench.jobs, &mut AlertCursor::default()).len()
        ),
        (1, 1)
    );
}

#[test]
fn a_token_without_a_value_for_once_does_not_fire_again() {
    let bench = Bench::new(&[(A, "A", 10.0)]);
    let id = bench
        .jobs
        .add_alert(&request(None, "price>20"), &Progress::default())
        .unwrap()
        .alert_id;
    assert_eq!(bench.load(&[(A, "A", 30.0)], &id).fired, 1);
    assert_eq!(
        bench.load(&[(A, "A", f64::NAN)], &id).holds,
        0,
        "it is not known to hold"
    );
    let back = bench.load(&[(A, "A", 30.0)], &id);
    assert_eq!((back.fired, back.holds), (1, 1));
}

#[test]
fn an_alert_fires_when_its_condition_comes_to_hold() {
    let bench = Bench::new(&[(A, "A", 10.0), (B, "B", 50.0)]);
    let mut events = bench.service.listen();
    let one = bench
        .jobs
        .add_alert(&request(Some(A), "price>20"), &Progress::default())
        .unwrap();
    assert_eq!(
        (one.holds, one.fired, one.symbol.as_deref()),
        (0, 0, Some("A"))
    );
    let all = bench
        .jobs
        .add_alert(&request(None, "price > 20 chain:eth"), &Progress::default())
        .unwrap();
    assert_eq!(
        (all.holds, all.symbol),
        (1, None),
        "B holds already, which is no news"
    );
    let id = one.alert_id.as_str();

    let now = bench.load(&[(A, "A", 30.0), (B, "B", 50.0)], id);
    assert_eq!((now.holds, now.fired), (1, 1));
    wait_until("both fired", || bench.list().fired.len() == 2);
    assert!(
        bench
            .list()
            .fired
            .iter()
            .all(|fired| fired.token_address == address(A))
    );
    wait_until("it is told", || {
        events.try_recv() == Ok(ServiceEvent::AlertsFired)
    });
    let mut cursor = AlertCursor::default();
    let says = ["A: price > 20 chain:eth", "A: price>20"];
    assert_eq!(delivered(&bench.jobs, &mut cursor), says);
    assert_eq!(delivered(&bench.jobs, &mut cursor), [""; 0], "once");
    assert_eq!(
        delivered(&bench.jobs, &mut AlertCursor::default()),
        says,
        "each listener hears it"
    );

    // Still met; token missing and back; not met; met again.
    assert_eq!(bench.load(&[(A, "A", 31.0), (B, "B", 50.0)], id).fired, 1);
    let gone = bench.load(&[(B, "B", 50.0)], id);
    assert!(
        gone.problem
            .is_some_and(|problem| problem.contains("No token"))
            && gone.holds == 1
    );
    let back = bench.load(&[(A, "A", 31.0), (B, "B", 50.0)], id);
    assert_eq!(
        (back.fired, back.problem),
        (1, None),
        "a token that comes back has not stopped meeting it"
    );
    assert_eq!(bench.load(&[(A, "A", 9.0), (B, "B", 50.0)], id).holds, 0);
    assert_eq!(bench.load(&[(A, "A", 21.0), (B, "B", 50.0)], id).fired, 2);

    bench.jobs.remove_alert(id).unwrap();
    assert_eq!(
        bench.jobs.remove_alert(id).map_err(|problem| problem.code),
        Err(Code::AlertNotFound)
    );
    assert_eq!(
        bench
            .list()
            .fired
            .iter()
            .filter(|fired| fired.alert_id == one.alert_id)
            .count(),
        2,
        "what it fired stays"
    );
    // Another dataset has no alerts.
    let offline = OfflineJobs::open(bench.state.path(), &JobOptions::default()).unwrap();
    assert_eq!(
        offline.alerts(bench.data.path(), 9).unwrap().alerts.len(),
        1
    );
    assert_eq!(
        offline.alerts(bench.state.path(), 9).unwrap(),
        AlertList::default()
    );
}

#[test]
fn a_refused_alert_names_what_is_wrong_with_it() {
    let bench = Bench::new(&[(A, "A", 10.0)]);
    let refused = |request: &AlertBody| {
        bench
            .jobs
            .add_alert(request, &Progress::default())
            .map_err(|Problem { code, detail, .. }| (code, detail))
            .unwrap_err()
    };
    for (token, condition, code, says, pointer) in [
        (
            None,
            "",
            Code::InvalidParameter,
            "`condition` is empty",
            "/condition",
        ),
        (
            None,
            "usd",
            Code::InvalidParameter,
            "`condition`: `usd` is not a condition",
            "/condition",
        ),
        (
            Some(A),
            "pric>2",
            Code::InvalidParameter,
            "did you mean `price`?",
            "/condition",
        ),
        (
            Some(A),
            "price>many",
            Code::InvalidParameter,
            "`many` is not a number",
            "/condition",
        ),
        (
            Some(B),
            "price>2",
            Code::TokenNotFound,
            "No token",
            "/token_address",
        ),
    ] {
        let (found, detail) = refused(&request(token, condition));
        assert!(
            found == code && detail.contains(says) && !detail.contains(pointer),
            "{condition}: {found:?} {detail}"
        );
        // For a request body, the invalid member is named by its JSON pointer.
        let sent = AlertBody::refused(Problem::new(found, detail));
        assert!(
            sent.code == Code::InvalidValue && sent.detail.starts_with(&format!("`{pointer}`: ")),
            "{sent:?}"
        );
    }
    assert!(
        refused(&request(None, &format!("symbol:{}", "a".repeat(500))))
            .1
            .contains("at most 500")
    );
    for (body, code, says) in [
        ("", Code::InvalidJson, "not valid JSON"),
        ("{}", Code::InvalidValue, "`/condition`"),
        ("{\"condition\":7}", Code::InvalidValue, "`/condition`"),
        (
            "{\"condition\":\"price>1\",\"token_address\":\"0x1\"}",
            Code::InvalidValue,
            "`/token_address`",
        ),
        (
            "{\"condition\":\"price>1\",\"when\":1}",
            Code::InvalidValue,
            "`/when`",
        ),
    ] {
        let problem = AlertBody::parse(body.as_bytes(), TokenReader::default()).unwrap_err();
        assert!(
            problem.code == code && problem.detail.contains(says),
            "{body}: {problem:?}"
        );
    }
    assert_eq!(
        AlertBody::parse(
            b"{\"condition\":\" price>1 \",\"token_address\":null}",
            TokenReader::default()
        ),
        Ok(request(None, "price>1"))
    );
}

const CHILD: &str = "TOKENDECK_TEST_ALERTS";

/// Child process to be killed: loads the data and checks the alerts until then.
#[test]
#[ignore = "started by the test below as a program of its own"]
fn child_that_looks() {
    let Some(place) = std::env::var_os(CHILD) else {
        return;
    };
    let place = Path::new(&place);
    let service = QueryService::new(
        &place.join("data"),
        ServiceOptions {
            workers: 1,
            ..ServiceOptions::default()
        },
    )
    .unwrap();
    let _jobs = Jobs::open(
        &place.join("state"),
        Arc::clone(&service),
        JobOptions::default(),
    )
    .unwrap();
    service.load().unwrap();
    let mut out = std::io::stdout().lock();
    writeln!(out, "\nloaded")
        .and_then(|()| out.flush())
        .unwrap();
    std::thread::sleep(Duration::from_mins(1));
}

/// Kills the child repeatedly, until every price change has been checked: the firings equal the transitions.
#[test]
fn no_alert_is_lost_or_fired_twice_when_the_program_is_killed() {
    let kills: u32 = std::env::var("TOKENDECK_TEST_KILLS")
        .ok()
        .and_then(|kills| kills.parse().ok())
        .unwrap_or(12);
    let place = tempfile::tempdir().unwrap();
    let (data, state) = (place.path().join("data"), place.path().join("state"));
    std::fs::create_dir_all(&data).unwrap();
    write(&data, &[(A, "A", 10.0)]);
    let service = QueryService::new(&data, ServiceOptions::default()).unwrap();
    service.load().unwrap();
    let offline = OfflineJobs::open(&state, &JobOptions::default()).unwrap();
    offline
        .add_alert(&service, &request(Some(A), "price>20"))
        .unwrap();
    let (mut killed, mut came_to_hold, mut random) = (0_u32, 0_u32, 88_172_645_463_325_252_u64);
    for step in 1_u32.. {
        let holds = step % 2;
        write(
            &data,
            &[(
                A,
                "A",
                if holds == 1 { 30.0 } else { 10.0 } + f64::from(step) / 100.0,
            )],
        );
        came_to_hold += holds;
        let mut patience = 40_000;
        while offline.alerts(&data, 1).unwrap().alerts[0].holds != u64::from(holds) {
            let mut child = Command::new(std::env::current_exe().unwrap())
                .args([
                    "--exact",
                    "alerts::child_that_looks",
                    "--ignored",
                    "--nocapture",
                ])
                .env(CHILD, place.path())
                .stdout(Stdio::piped())
                .stderr(Stdio::null())
                .spawn()
                .unwrap();
            let out = BufReader::new(child.stdout.take().unwrap());
            assert!(
                out.lines()
                    .map_while(Result::ok)
                    .any(|line| line == "loaded"),
                "the child loads"
            );
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            std::thread::sleep(Duration::from_micros(random % patience));
            // A check takes up to half a second, so a child that is repeatedly killed too early is given longer.
            patience = (patience * 2).min(2_000_000);
            child.kill().unwrap();
            child.wait().unwrap();
            killed += 1;
        }
        let list = offline.alerts(&data, 1_000).unwrap();
        assert_eq!(
            list.fired.len(),
            came_to_hold as usize,
            "step {step}, after {killed} kills"
        );
        // On a busy machine many are killed before their first check.
        if killed >= kills && came_to_hold > 1 {
            break;
        }
    }
}
