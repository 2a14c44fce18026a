//! The display and the actions of the Jobs view, on reads of a store that does not exist.

use super::{store::ReportText, *};
use crate::views::fixture::{LINK, NOW, SIZES, Stage, UNI};
use model::{error::Code, progress::Progress};
use query::{
    document,
    jobs::{JobOptions, JobStatus, Jobs, Report, Task, TaskProgress, TaskStatus, TokenReport},
};

const ANALYSES: [(&str, &str); 6] = [
    ("market", "Market and social metrics"),
    ("trendline", "Trendlines"),
    ("patterns", "Chart patterns"),
    ("security", "Security inference"),
    ("dex", "DEXes and pools"),
    ("holders", "Largest holders"),
];

/// A job id created this many seconds before the snapshots' time.
fn id(seconds_ago: i64, last: char) -> String {
    let mut bits = ((NOW.0 - seconds_ago * 1_000) as u128) << 80;
    let mut digits = Vec::new();
    for _ in 0..26 {
        digits.push(b"0123456789abcdefghjkmnpqrstvwxyz"[(bits & 31) as usize]);
        bits >>= 5;
    }
    digits[0] = last as u8;
    digits.reverse();
    format!("j_{}", String::from_utf8(digits).expect("digits"))
}

fn job(id: String, status: JobStatus, tokens: &[(&str, &str)], statuses: &[TaskStatus]) -> Job {
    let tasks = tokens.iter().flat_map(|(address, name)| {
        ANALYSES
            .iter()
            .map(move |(word, about)| (format!("{word}-{address}"), format!("{about} of {name}")))
    });
    let tasks: Vec<Task> = tasks
        .enumerate()
        .map(|(i, (task_id, about))| {
            let status = statuses.get(i).copied().unwrap_or(TaskStatus::Queued);
            let description = match status {
                TaskStatus::Skipped => format!("{about}: No security data of this token: expected rows of contracts or transfers."),
                TaskStatus::Failed => format!("{about}: Internal error in the query `trendline`."),
                TaskStatus::Running => format!("{about}: 1204 of 4000"),
                _ => about,
            };
            Task { task_id, status, description }
        })
        .collect();
    Job {
        job_id: id,
        status,
        tokens_used: tokens.len() as u64,
        tasks,
    }
}

fn view() -> JobsView {
    use TaskStatus::{Completed as C, Failed as F, Queued as Q, Running as R, Skipped as S};
    let (uni, link) = ((UNI, "UNI"), (LINK, "LINK"));
    let mut jobs = vec![
        job(id(4, 'a'), JobStatus::Queued, &[link], &[]),
        job(id(75, 'b'), JobStatus::Running, &[uni], &[C, C, R, Q, Q, Q]),
        job(
            id(900, 'c'),
            JobStatus::Completed,
            &[uni, link],
            &[C, C, C, S, C, C, C, F, C, S, C, C],
        ),
        job(
            id(86_000, 'd'),
            JobStatus::Terminated,
            &[link],
            &[C, C, S, S, S, S],
        ),
    ];
    jobs.extend((0..30).map(|i| {
        job(
            id(90_000 + i * 40_000, 'e'),
            JobStatus::Completed,
            &[uni],
            &[C, C, C, S, C, C],
        )
    }));
    let running = jobs[1].clone();
    let mut view = JobsView::default();
    let at = |task: &Task| {
        if task.status == R {
            (1_204, 4_000)
        } else {
            (0, 0)
        }
    };
    let progress = running
        .tasks
        .iter()
        .map(|task| TaskProgress {
            task_id: task.task_id.clone(),
            status: task.status,
            done: at(task).0,
            total: at(task).1,
        })
        .collect();
    view.stored.read = true;
    view.stored.reading = store::JobsRead {
        total: jobs.len() as u64,
        progress: Some((running.job_id.clone(), progress)),
        jobs,
    };
    view.selected = Some(running.job_id);
    view
}

fn arranged(stage: &Stage) -> JobsView {
    let mut view = view();
    stage.look(|context| view.arrange(context));
    view
}

#[test]
fn the_tasks_of_the_selected_job_stand_beside_the_jobs() {
    let stage = Stage::loaded();
    let mut view = arranged(&stage);
    stage.hold("jobs", &mut view, SIZES);
    stage.draw_in_odd_sizes(&mut view);
}

#[test]
fn a_task_that_has_no_result_says_why() {
    let stage = Stage::loaded();
    let mut view = arranged(&stage);
    stage.press(&mut view, &[Action::Down, Action::Right]);
    stage.press(&mut view, &[Action::Down; 7]);
    stage.hold("jobs-tasks", &mut view, &[(80, 20), (140, 38)]);
    let said = stage.look(|context| view.act(Action::CopyValue, context));
    assert_eq!(
        said,
        Effect::Copy(
            "Trendlines of LINK: Internal error in the query `trendline`.".to_owned(),
            "task"
        )
    );
    let row = stage
        .look(|context| view.export(context))
        .expect("rows to export");
    assert_eq!(row.selected.expect("a selected row")[1], "failed");
}

#[test]
fn without_jobs_it_says_how_to_start_one() {
    let stage = Stage::loaded();
    let mut view = JobsView::default();
    stage.hold("jobs-off", &mut view, &[(80, 20)]);
    stage.draw_in_odd_sizes(&mut view);
    assert_eq!(
        stage.look(|context| view.act(Action::StartJob, context)),
        Effect::Warn(pane::NO_STORE.to_owned())
    );
    view.stored.problem = Some(Problem::new(
        Code::Busy,
        "The job store cannot be used right now: check that its disk has room.",
    ));
    assert!(
        stage
            .text_now(&mut view, 80, 20)
            .contains("! The job store cannot be used")
    );
}

#[test]
fn the_selection_stays_on_its_job_when_others_come() {
    let stage = Stage::loaded();
    let mut view = arranged(&stage);
    let before = view.job().expect("a selected job").job_id.clone();
    view.stored
        .reading
        .jobs
        .insert(0, job(id(0, 'z'), JobStatus::Queued, &[(UNI, "UNI")], &[]));
    stage.look(|context| view.arrange(context));
    assert_eq!(
        (
            view.job().expect("a selected job").job_id.as_str(),
            view.list.cursor.selected()
        ),
        (before.as_str(), Some(2))
    );
    // Except for the job just started.
    view.newest_before = Some(view.stored.reading.jobs[0].job_id.clone());
    let started = id(0, 'y');
    view.stored.reading.jobs.insert(
        0,
        job(started.clone(), JobStatus::Queued, &[(UNI, "UNI")], &[]),
    );
    stage.look(|context| view.arrange(context));
    assert_eq!(view.job().expect("a selected job").job_id, started);
}

#[test]
fn a_second_start_leads_to_the_job_that_is_open() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut stage = Stage::loaded();
    let mut view = arranged(&stage);
    stage.jobs = Some(
        Jobs::open(
            folder.path(),
            std::sync::Arc::clone(&stage.service),
            JobOptions::default(),
        )
        .expect("a job store"),
    );
    let open = id(0, 'w');
    view.stored
        .reading
        .jobs
        .push(job(open.clone(), JobStatus::Running, &[(UNI, "UNI")], &[]));
    stage.look(|context| view.arrange(context));
    let said = stage.look(|context| view.start(context));
    assert!(
        matches!(&said, Effect::Say(says) if says.ends_with("is already analyzing UNI")),
        "{said:?}"
    );
    let selected = view.job().expect("a selected job");
    assert!(
        !selected.status.ended() && rows::tokens(selected) == [UNI],
        "{selected:?}"
    );
}

#[test]
fn jobs_are_filtered_and_sorted() {
    let stage = Stage::loaded();
    let mut view = arranged(&stage);
    let shown = |view: &JobsView| {
        view.list
            .places()
            .map(|place| view.stored.reading.jobs[place].status.word())
            .collect::<Vec<_>>()
    };
    for (text, expected) in [
        ("status:running", &["running"][..]),
        ("link terminated", &["terminated"]),
        ("used>1", &["completed"]),
        ("nothing", &[]),
    ] {
        stage
            .look(|context| view.set_filter(text, context))
            .expect("a filter that reads");
        assert_eq!(shown(&view), expected, "{text}");
    }
    assert!(
        stage
            .look(|context| view.set_filter("state:x", context))
            .unwrap_err()
            .to_string()
            .contains("did you mean `status`")
    );
    stage
        .look(|context| view.set_filter("", context))
        .expect("a filter that reads");
    view.list
        .sorting
        .restore(&json!(["-status"]), &view.list.sort_columns());
    stage.look(|context| view.arrange(context));
    assert_eq!(shown(&view)[0], "terminated");
    let mut other = JobsView::default();
    other.restore(&view.save());
    assert_eq!(other.list.sorting, view.list.sorting);
}

#[test]
fn a_report_is_read_as_a_page_and_copied_as_json() {
    let stage = Stage::loaded();
    let mut view = arranged(&stage);
    let line = json!({"type": "support", "strength": "weak", "slope": 0.012, "intercept": 6.1, "endPrice": 6.26, "touches": [1, 2, 3]});
    let part = |part: Json| serde_json::value::to_raw_value(&part).ok();
    let token = |address: &str, symbol: &str| TokenReport {
        token_address: Address::parse(address).expect("an address"),
        token: part(
            json!({"symbol": symbol, "name": "Uniswap", "price": 7.309_412, "market_cap": 4.39e9, "top_posts": []}),
        ),
        trendline: part(
            json!({"trend": "uptrend", "confidence": 0.93, "trendlines": [line, line]}),
        ),
        patterns: part(json!({"error": {"detail": "No candles of this token."}})),
        security: None,
        dexes: part(json!({"dexes": []})),
        holders: part(
            json!({"total": 812, "holders": [{"holder_address": UNI, "balance": 12_300_000.0, "labels": ["exchange"]}]}),
        ),
    };
    let report = Report {
        job_id: id(900, 'c'),
        status: JobStatus::Completed,
        tokens: vec![token(UNI, "UNI"), token(LINK, "LINK")],
        sources: None,
    };
    let text = serde_json::to_string_pretty(&report).expect("JSON");
    let document =
        document::of_job(&stage.service, &report, &Progress::default()).expect("a document");
    let text = ReportText {
        job_id: id(900, 'c'),
        status: "completed",
        document,
        json: text,
    };
    view.reader = Some(ReportPane::new(Ok(text)));
    stage.hold("jobs-report", &mut view, &[(80, 20), (140, 38)]);
    stage.draw_in_odd_sizes(&mut view);
    stage.draw_now(&mut view, 80, 20);
    // The overview of both tokens, then the parts of the first.
    stage.press(&mut view, &[Action::Right; 3]);
    let shown = stage.text_now(&mut view, 80, 20);
    assert!(
        shown
            .lines()
            .nth(1)
            .expect("a line")
            .contains("Performance"),
        "{shown}"
    );
    assert!(view.answers(Action::ReportJson));
    stage.press(&mut view, &[Action::ReportJson]);
    assert!(
        stage
            .text_now(&mut view, 80, 20)
            .contains("\"job_id\": \"j_")
    );
    stage.look(|context| view.act(Action::ReportJson, context));
    assert!(
        matches!(stage.look(|context| view.act(Action::CopyValue, context)), Effect::Copy(json, "report") if json.starts_with('{'))
    );
    let target = stage
        .look(|context| view.request(context))
        .expect("a request")
        .target;
    assert!(target.ends_with("/report"), "{target}");
    let (name, page) = view.page().expect("a page to write");
    assert_eq!(name, format!("{}-report", id(900, 'c')));
    let page = page();
    assert!(
        page.starts_with("<!doctype html>")
            && page.contains("Uniswap")
            && page.ends_with("</html>\n"),
        "{page}"
    );
    assert_eq!(
        stage.look(|context| view.act(Action::Back, context)),
        Effect::Redraw
    );
    assert!(view.reader.is_none() && view.page().is_none());
}

#[test]
fn a_job_is_started_watched_and_read_from_the_store() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut stage = Stage::loaded();
    stage.jobs = Some(
        Jobs::open(
            folder.path(),
            std::sync::Arc::clone(&stage.service),
            JobOptions::default(),
        )
        .expect("a job store"),
    );
    let mut view = JobsView {
        has_example: true,
        ..JobsView::default()
    };
    until(&stage, &mut view, &|view| view.stored.read);
    assert!(
        stage
            .text_now(&mut view, 80, 20)
            .contains("no deep analysis yet")
    );
    let said = stage.look(|context| view.act(Action::StartJob, context));
    assert_eq!(
        said,
        Effect::Say("starting a deep analysis of UNI".to_owned())
    );
    until(&stage, &mut view, &|view| {
        view.job().is_some_and(|job| job.status.ended())
    });
    assert_eq!(
        view.job().map(|job| (job.tasks.len(), rows::ended(job))),
        Some((6, 6))
    );
    let said = stage.look(|context| view.act(Action::Terminate, context));
    assert!(
        matches!(&said, Effect::Warn(says) if says.contains("already ended")),
        "{said:?}"
    );
    // Its beginning stands under the tasks where there is room.
    assert!(view.preview.is_none());
    stage.draw_now(&mut view, 140, 42);
    until(&stage, &mut view, &|view| {
        view.preview
            .as_ref()
            .is_some_and(|(_, preview)| preview.json().is_some())
    });
    let glance = stage.text_now(&mut view, 140, 42);
    assert!(
        glance.contains("Enter opens it") && glance.contains("Summary"),
        "{glance}"
    );
    stage.look(|context| view.act(Action::Open, context));
    until(&stage, &mut view, &|view| {
        view.reader
            .as_ref()
            .is_some_and(|reader| reader.json().is_some())
    });
    let shown = stage.text_now(&mut view, 80, 20);
    assert!(
        shown.contains("UNI  0x1f9840a85d5af5bf1d1762f925bdaddc4201f984"),
        "{shown}"
    );
    // Asked for by itself, before the jobs are read, it is the same report and no other job.
    let mut again = JobsView::default();
    stage.look(|context| again.refresh(context));
    assert_eq!(
        stage.look(|context| again.act(Action::Report, context)),
        Effect::Redraw
    );
    until(&stage, &mut again, &|view| {
        view.reader
            .as_ref()
            .is_some_and(|reader| reader.json().is_some())
    });
    assert_eq!(again.stored.reading.total, 1);
    // A token without one has it made.
    stage.token = Address::parse(LINK);
    assert_eq!(
        stage.act(&mut again, Action::Report),
        Effect::Say("starting a deep analysis of LINK".to_owned())
    );
    until(&stage, &mut again, &|view| {
        view.reader
            .as_ref()
            .is_some_and(|reader| reader.json().is_some_and(|json| json.contains(LINK)))
    });
}

#[test]
fn the_demo_has_an_example() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut stage = Stage::loaded();
    stage.jobs = Some(
        Jobs::open(
            folder.path(),
            std::sync::Arc::clone(&stage.service),
            JobOptions::default(),
        )
        .expect("a job store"),
    );
    let mut view = JobsView::default();
    until(&stage, &mut view, &|view| {
        view.job().is_some_and(|job| job.status.ended())
    });
    assert_eq!(view.stored.reading.total, 1);
    // Another visit starts no second one.
    let mut again = JobsView::default();
    until(&stage, &mut again, &|view| view.stored.read);
    assert!(!again.has_example);
}

fn until(stage: &Stage, view: &mut JobsView, reached: &dyn Fn(&JobsView) -> bool) {
    let view = std::cell::RefCell::new(view);
    stage.until(
        |context| view.borrow_mut().refresh(context),
        || reached(&view.borrow()),
    );
}

#[test]
fn the_tokens_of_a_new_job_are_named() {
    let mut stage = Stage::loaded();
    let [uni, link] = [UNI, LINK].map(|token| Address::parse(token).expect("an address"));
    for (marks, expected) in [
        (vec![uni], "UNI"),
        (vec![uni, link], "the 2 marked tokens (UNI, LINK)"),
        (
            vec![uni, link, uni, link],
            "the 4 marked tokens (UNI, LINK, UNI, …)",
        ),
    ] {
        stage.marks = marks;
        assert_eq!(pane::asked_for(&stage.context()), expected);
    }
}
