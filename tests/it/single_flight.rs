//! Single flight: concurrent identical requests are computed once, and cancellation, failure or panic of the computing caller does not harm
//! the others. Who waits for another's answer takes no thread. Quick queries do not queue behind heavy ones.

use std::{
    sync::{
        Arc, Condvar, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use model::{
    error::{Code, Problem, Result},
    progress::Progress,
};
use query::{
    queries::{
        Query,
        parameter::{Arguments, Parameter},
        request::Request,
        snapshot::Snapshot,
        view::View,
    },
    service::{QueryService, ServiceOptions, pending::PendingAnswer},
};

use crate::wait::{PATIENCE, stays, wait_for, wait_until};

/// Scripted outcome of a run of the query.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Fate {
    Answers,
    /// With a part missing, so that the answer is not remembered.
    AnswersInPart,
    Panics,
    Fails,
}

/// State shared by the test and the runs.
#[derive(Debug, Default)]
struct Stage {
    runs: AtomicUsize,
    /// Outcomes assigned to the runs, in order.
    fates: Mutex<Vec<Fate>>,
    changed: Condvar,
}

impl Stage {
    fn let_go(&self, fate: Fate) {
        self.fates.lock().unwrap().push(fate);
        self.changed.notify_all();
    }

    fn runs(&self) -> usize {
        self.runs.load(Ordering::SeqCst)
    }

    fn wait_for_run(&self, number: usize) {
        wait_until(&format!("run {number} begins"), || self.runs() >= number);
    }
}

/// A query that, if heavy, waits for its scripted outcome.
#[derive(Clone)]
struct Staged {
    stage: Arc<Stage>,
    heavy: bool,
    name: usize,
}

impl Request for Staged {
    const PATH: &'static str = "/staged";
    const PARAMETERS: &'static [Parameter] = &[];

    fn parse(_: &Arguments<'_>) -> Result<Self> {
        Err(Problem::new(Code::Defect, "is not asked by request"))
    }

    fn target(&self) -> String {
        format!("/staged?heavy={}&name={}", self.heavy, self.name)
    }
}

impl Query for Staged {
    type Answer = usize;
    const NAME: &'static str = "staged";
    const SUMMARY: &'static str = "Answers with the number of its run; a quick one with 0.";

    fn heavy(&self, _: &Snapshot) -> bool {
        self.heavy
    }

    fn answer(&self, _: &View<'_>, progress: &Progress) -> Result<usize> {
        if !self.heavy {
            return Ok(0);
        }
        let run = self.stage.runs.fetch_add(1, Ordering::SeqCst) + 1;
        let mut fates = self.stage.fates.lock().unwrap();
        let begun = Instant::now();
        while fates.len() < run {
            progress.step(0, 1)?;
            assert!(begun.elapsed() < PATIENCE, "nobody lets it go");
            fates = self
                .stage
                .changed
                .wait_timeout(fates, Duration::from_millis(5))
                .unwrap()
                .0;
        }
        let fate = fates[run - 1];
        drop(fates);
        assert!(fate != Fate::Panics, "it was asked to");
        if fate == Fate::AnswersInPart {
            progress.note_partial();
        }
        if fate == Fate::Fails {
            Err(Problem::new(Code::NoSecurityData, "nothing"))
        } else {
            Ok(run)
        }
    }
}

struct House {
    service: Arc<QueryService>,
    stage: Arc<Stage>,
    _folder: tempfile::TempDir,
}

fn house() -> House {
    house_of(ServiceOptions {
        workers: 9,
        ..ServiceOptions::default()
    })
}

fn house_of(options: ServiceOptions) -> House {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(
        folder.path().join("tokens.csv"),
        "token_address,symbol,name,chain,decimals\n",
    )
    .unwrap();
    let service = QueryService::new(folder.path(), options).unwrap();
    service.load().unwrap();
    House {
        service,
        stage: Arc::default(),
        _folder: folder,
    }
}

impl House {
    fn ask(&self) -> PendingAnswer<usize> {
        self.ask_one(true, 0)
    }

    fn ask_one(&self, heavy: bool, name: usize) -> PendingAnswer<usize> {
        self.service.ask(self.staged(heavy, name), || ())
    }

    fn staged(&self, heavy: bool, name: usize) -> Staged {
        Staged {
            stage: Arc::clone(&self.stage),
            heavy,
            name,
        }
    }
}

fn outcome(pending: &mut PendingAnswer<usize>) -> std::result::Result<usize, Code> {
    wait_for("the outcome", || pending.poll_now())
        .map(|known| known.answer)
        .map_err(|problem| problem.code)
}

/// Gives the other callers time to reach their wait; none may run.
fn settle(house: &House) {
    stays("one run", Duration::from_millis(100), || {
        house.stage.runs() == 1
    });
}

#[test]
fn what_many_ask_at_once_is_answered_once() {
    // What is remembered is answered with; an answer with a part missing goes to those who wait for it, and to nobody later.
    for (fate, runs) in [(Fate::Answers, 1), (Fate::AnswersInPart, 2)] {
        let house = house();
        let mut pending: Vec<_> = (0..8).map(|_| house.ask()).collect();
        house.stage.wait_for_run(1);
        wait_until("the others wait", || house.service.waiting() == 1);
        let (service, staged) = (Arc::clone(&house.service), house.staged(true, 0));
        let blocked = (fate == Fate::Answers)
            .then(|| thread::spawn(move || service.answer(&staged, &Progress::default())));
        settle(&house);
        house.stage.let_go(fate);
        assert!(pending.iter_mut().all(|pending| outcome(pending) == Ok(1)));
        if let Some(blocked) = blocked {
            assert_eq!(blocked.join().unwrap().unwrap().answer, 1);
        }
        assert_eq!((house.stage.runs(), house.service.waiting()), (1, 0));
        house.stage.let_go(Fate::Answers);
        assert_eq!(outcome(&mut house.ask()), Ok(runs), "{fate:?}");
    }
}

#[test]
fn who_asks_the_same_takes_one_thread_and_other_questions_go_on() {
    // Two threads for heavy queries.
    let house = house_of(ServiceOptions {
        workers: 3,
        ..ServiceOptions::default()
    });
    let mut same: Vec<_> = (0..64).map(|_| house.ask()).collect();
    house.stage.wait_for_run(1);
    let mut other = house.ask_one(true, 1);
    house.stage.wait_for_run(2);
    house.stage.let_go(Fate::Answers);
    house.stage.let_go(Fate::Answers);
    assert!(same.iter_mut().all(|pending| outcome(pending) == Ok(1)));
    assert_eq!((outcome(&mut other), house.stage.runs()), (Ok(2), 2));
}

#[test]
fn another_goes_on_when_the_first_asker_leaves_or_their_run_breaks_or_fails() {
    for (fate, first) in [
        (None, None),
        (Some(Fate::Panics), Some(Code::Defect)),
        (Some(Fate::Fails), Some(Code::NoSecurityData)),
    ] {
        let house = house();
        let mut one = house.ask();
        house.stage.wait_for_run(1);
        let mut others: Vec<_> = (0..4).map(|_| house.ask()).collect();
        settle(&house);
        if let Some(fate) = fate {
            house.stage.let_go(fate);
            assert_eq!(outcome(&mut one).err(), first);
        } else {
            drop(one);
            // The second run waits for the second outcome.
            house.stage.wait_for_run(2);
            house.stage.let_go(Fate::Fails);
        }
        house.stage.wait_for_run(2);
        house.stage.let_go(Fate::Answers);
        assert!(
            others.iter_mut().all(|pending| outcome(pending) == Ok(2)),
            "{fate:?}"
        );
        assert_eq!(house.stage.runs(), 2, "{fate:?}");
    }
}

#[test]
fn a_question_that_is_dropped_gives_its_place_back() {
    let house = house();
    let mut first = house.ask();
    house.stage.wait_for_run(1);
    let second = house.ask();
    settle(&house);
    drop(second);
    wait_until("the place is given back", || house.service.waiting() == 1);
    house.stage.let_go(Fate::Answers);
    assert_eq!((outcome(&mut first), house.stage.runs()), (Ok(1), 1));
}

#[test]
fn a_quick_question_is_answered_while_as_many_heavy_ones_wait_as_may() {
    let house = house_of(ServiceOptions {
        workers: 2,
        queue: 4,
        ..ServiceOptions::default()
    });
    let mut heavy: Vec<_> = (0..4).map(|name| house.ask_one(true, name)).collect();
    let (told, woken) = std::sync::mpsc::channel();
    let one_more = house.staged(true, 4);
    let mut refused = house.service.ask(one_more, move || told.send(()).unwrap());
    woken
        .recv_timeout(PATIENCE)
        .expect("its asker is woken at once");
    assert_eq!(outcome(&mut refused), Err(Code::Busy));
    assert_eq!(outcome(&mut house.ask_one(false, 0)), Ok(0));
    assert_eq!(house.service.waiting(), 4);
    for _ in &heavy {
        house.stage.let_go(Fate::Answers);
    }
    assert!(heavy.iter_mut().all(|pending| outcome(pending).is_ok()));
}
