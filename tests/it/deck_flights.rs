//! One request asked by many at once is answered once, and whoever answers it may go away, fail or break without harm to the others.

use std::{
    path::Path,
    sync::{
        Arc, Condvar, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use tokendeck::{
    deck::{Deck, DeckOptions, pending::Pending},
    error::{Code, Problem, Result},
    question::{
        Question,
        parameter::{Arguments, Parameter},
        progress::Progress,
        request::Request,
        snapshot::Snapshot,
    },
};

use crate::wait::{PATIENCE, stays, wait_for, wait_until};

/// What a run of the question does once it is let go.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Fate {
    Answers,
    Panics,
    Fails,
}

/// What the test and the runs share.
#[derive(Debug, Default)]
struct Stage {
    runs: AtomicUsize,
    /// The fates that runs have been given, in order.
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

#[derive(Clone)]
struct Shared(Arc<Stage>);

impl Request for Shared {
    const PATH: &'static str = "/shared";
    const PARAMETERS: &'static [Parameter] = &[];

    fn parse(_: &Arguments<'_>) -> Result<Self> {
        Err(Problem::new(Code::Defect, "is not asked by request"))
    }

    fn target(&self) -> String {
        "/shared".to_owned()
    }
}

impl Question for Shared {
    type Answer = usize;
    const NAME: &'static str = "shared";
    const SUMMARY: &'static str = "Answers with the number of its run.";

    fn heavy(&self) -> bool {
        true
    }

    fn answer(&self, _: &Snapshot, progress: &Progress) -> Result<usize> {
        let run = self.0.runs.fetch_add(1, Ordering::SeqCst) + 1;
        let mut fates = self.0.fates.lock().unwrap();
        let begun = Instant::now();
        while fates.len() < run {
            progress.step(0, 1)?;
            assert!(begun.elapsed() < PATIENCE, "nobody lets it go");
            fates = self.0.changed.wait_timeout(fates, Duration::from_millis(5)).unwrap().0;
        }
        let fate = fates[run - 1];
        drop(fates);
        assert!(fate != Fate::Panics, "it was asked to");
        if fate == Fate::Fails { Err(Problem::new(Code::NoSecurityData, "nothing")) } else { Ok(run) }
    }
}

struct House {
    deck: Arc<Deck>,
    stage: Arc<Stage>,
    _folder: tempfile::TempDir,
}

fn house() -> House {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path());
    let deck = Deck::new(folder.path(), DeckOptions { workers: 9, ..DeckOptions::default() }).unwrap();
    deck.load().unwrap();
    House { deck, stage: Arc::default(), _folder: folder }
}

fn write(folder: &Path) {
    std::fs::write(folder.join("tokens.csv"), "token_address,symbol,name,chain,decimals\n").unwrap();
}

impl House {
    fn ask(&self) -> Pending<usize> {
        self.deck.ask(Shared(Arc::clone(&self.stage)), || ())
    }
}

fn outcome(pending: &mut Pending<usize>) -> std::result::Result<usize, Code> {
    wait_for("the outcome", || pending.poll_now()).map(|known| known.answer).map_err(|problem| problem.code)
}

/// Time for the others to come to where they wait, and not to run.
fn settle(house: &House) {
    stays("one run", Duration::from_millis(100), || house.stage.runs() == 1);
}

#[test]
fn what_many_ask_at_once_is_answered_once() {
    let house = house();
    let mut pending: Vec<_> = (0..8).map(|_| house.ask()).collect();
    house.stage.wait_for_run(1);
    settle(&house);
    house.stage.let_go(Fate::Answers);
    assert!(pending.iter_mut().all(|pending| outcome(pending) == Ok(1)));
    assert_eq!((house.stage.runs(), house.deck.waiting()), (1, 0));
    assert_eq!(outcome(&mut house.ask()), Ok(1), "it is remembered");
}

#[test]
fn another_goes_on_when_the_first_asker_leaves_or_their_run_breaks_or_fails() {
    for (fate, first) in [(None, None), (Some(Fate::Panics), Some(Code::Defect)), (Some(Fate::Fails), Some(Code::NoSecurityData))] {
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
            // The second run waits for the second fate.
            house.stage.wait_for_run(2);
            house.stage.let_go(Fate::Fails);
        }
        house.stage.wait_for_run(2);
        house.stage.let_go(Fate::Answers);
        assert!(others.iter_mut().all(|pending| outcome(pending) == Ok(2)), "{fate:?}");
        assert_eq!(house.stage.runs(), 2, "{fate:?}");
    }
}

#[test]
fn one_who_waits_may_leave() {
    let house = house();
    let mut first = house.ask();
    house.stage.wait_for_run(1);
    let second = house.ask();
    settle(&house);
    drop(second);
    wait_until("the place is given back", || house.deck.waiting() == 1);
    house.stage.let_go(Fate::Answers);
    assert_eq!((outcome(&mut first), house.stage.runs()), (Ok(1), 1));
}
