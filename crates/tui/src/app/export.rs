//! Exporting the table or the page on screen: chosen in a dialog, written off the drawing thread with progress in the footer, canceled with Esc. One
//! at a time.

use std::{
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use super::App;
use crate::{
    overlay::{Overlay, export::ExportDialog},
    views::task::BackgroundTask,
};
use frames::export::{self, ExportError};
use model::{
    error::{Code, Problem},
    format::{self, plural},
};

/// How long the program's exit waits for a canceled export to delete its partial file.
const LAST_WAIT: Duration = Duration::from_secs(2);

/// A running export.
pub(crate) struct Exporting {
    task: BackgroundTask<u64>,
    path: PathBuf,
    /// What the outcome counts.
    unit: [&'static str; 2],
    /// The rows are computed and are being written.
    writing: Arc<AtomicBool>,
    stopping: bool,
}

impl Exporting {
    /// `writing 3,400,000 of 20,000,000 rows to candles.csv · Esc stops`
    fn says(&self) -> String {
        let name = self.path.file_name().unwrap_or_default().to_string_lossy();
        let (done, total) = self.task.progress();
        if self.stopping {
            return "stopping the export".to_owned();
        }
        let does = if self.writing.load(Ordering::Relaxed) {
            format!(
                "writing {} of {} to {name}",
                format::count(done),
                plural(total, "row", "rows")
            )
        } else {
            match done.saturating_mul(100).checked_div(total) {
                Some(percent) => format!("sorting the rows for {name}, {percent}%"),
                None => format!("getting the rows for {name}"),
            }
        };
        format!("{does} · Esc stops")
    }
}

impl Drop for Exporting {
    fn drop(&mut self) {
        self.task.end(LAST_WAIT);
    }
}

fn refused(error: ExportError) -> Problem {
    match error {
        ExportError::Stopped => Problem::new(Code::Cancelled, "The export was stopped."),
        ExportError::Failed(reason) => Problem::new(Code::Defect, reason.to_string()),
    }
}

impl App {
    pub(super) fn open_export(&mut self) {
        if self.exporting.is_some() {
            return self.say("an export is already running; Esc stops it", true);
        }
        if let Some((name, _)) = self.with_view(self.current, |view, _| view.page()) {
            self.overlay = Some(Overlay::Export(ExportDialog::page(&name)));
            return;
        }
        match self.with_view(self.current, |view, context| view.export(context)) {
            Some(export) if export.count != Some(0) => {
                self.overlay = Some(Overlay::Export(ExportDialog::new(
                    &export.name,
                    export.count,
                )));
            }
            _ if self.snapshot.is_none() && self.load.failure.is_none() => {
                self.say("the dataset is still loading", false);
            }
            _ => self.say("this view has no table to export", false),
        }
    }

    pub(super) fn export_to(&mut self, path: PathBuf, replace: bool) {
        let Some(table) = self.with_view(self.current, |view, context| view.export(context)) else {
            return;
        };
        let writing = Arc::new(AtomicBool::new(false));
        let (begun, to) = (Arc::clone(&writing), path.clone());
        let task = BackgroundTask::start(&self.wake, move |progress| {
            export::check(&to, replace).map_err(refused)?;
            let rows = (table.rows)(progress)?;
            let total = rows.count() as u64;
            begun.store(true, Ordering::Relaxed);
            export::write(&to, &table.columns, &rows, replace, &mut |done| {
                progress.step(done, total).is_ok()
            })
            .map_err(refused)
        });
        self.message = None;
        self.exporting = Some(Exporting {
            task,
            path,
            unit: ["row", "rows"],
            writing,
            stopping: false,
        });
    }

    /// Writes the page on screen.
    pub(super) fn write_page(&mut self, path: PathBuf, replace: bool) {
        let Some((_, page)) = self.with_view(self.current, |view, _| view.page()) else {
            return;
        };
        let to = path.clone();
        let task = BackgroundTask::start(&self.wake, move |_| {
            export::write_text(&to, &page(), replace).map_err(refused)
        });
        self.message = None;
        let writing = Arc::new(AtomicBool::new(false));
        self.exporting = Some(Exporting {
            task,
            path,
            unit: ["byte", "bytes"],
            writing,
            stopping: false,
        });
    }

    /// Polls the export's outcome.
    pub(super) fn poll_export(&mut self) {
        let Some(outcome) = self
            .exporting
            .as_mut()
            .and_then(|exporting| exporting.task.poll())
        else {
            return;
        };
        let Some(exporting) = self.exporting.take() else {
            return;
        };
        match outcome {
            Ok(rows) => {
                self.say(
                    format!(
                        "exported {} to {}",
                        plural(rows, exporting.unit[0], exporting.unit[1]),
                        exporting.path.display()
                    ),
                    false,
                );
            }
            Err(problem) if problem.code == Code::Cancelled => {
                self.say("export stopped; no file was written", false);
            }
            Err(problem) => self.say(format!("not exported: {}", problem.detail), true),
        }
    }

    /// Esc: cancels the export; false where there is none.
    pub(super) fn stop_export(&mut self) -> bool {
        let Some(exporting) = self
            .exporting
            .as_mut()
            .filter(|exporting| !exporting.stopping)
        else {
            return false;
        };
        exporting.stopping = true;
        exporting.task.stop();
        true
    }

    /// The footer text of a running export.
    pub(crate) fn export_says(&self) -> Option<String> {
        self.exporting.as_ref().map(Exporting::says)
    }
}

#[cfg(test)]
mod tests {
    use std::{
        fs,
        sync::{
            Arc,
            atomic::{AtomicUsize, Ordering},
        },
        thread,
        time::Instant,
    };

    use polars::prelude::{DataFrame, NamedFrom, Series};
    use ratatui::{buffer::Buffer, layout::Rect};

    use super::*;
    use crate::{
        app::bench::{Bench, PATIENCE},
        event::Event,
        overlay::Command,
        views::{
            keymap::Action,
            view::{Context, Effect, Export, View},
        },
    };
    use frames::{
        error::FrameError,
        export::{ExportRows, RowBatches, writers::ExportFormat},
    };

    /// The only table on screen, of which a limited number of stretches may be read; each takes a moment.
    struct Slow {
        rows: usize,
        allowed: Arc<AtomicUsize>,
    }

    /// The whole table.
    fn all() -> Arc<AtomicUsize> {
        Arc::new(AtomicUsize::new(usize::MAX))
    }

    impl RowBatches for Slow {
        fn count(&self) -> usize {
            self.rows
        }

        fn frame(&self, rows: std::ops::Range<usize>) -> Result<DataFrame, FrameError> {
            while !rows.is_empty() && self.allowed.load(Ordering::Acquire) == 0 {
                thread::sleep(Duration::from_millis(1));
            }
            if !rows.is_empty() {
                self.allowed.fetch_sub(1, Ordering::AcqRel);
                thread::sleep(Duration::from_millis(1));
            }
            let numbers = Series::new(
                "number".into(),
                rows.clone().map(|row| row as i64).collect::<Vec<_>>(),
            );
            Ok(DataFrame::new(rows.len(), vec![numbers.into()])?)
        }
    }

    impl View for Slow {
        fn refresh(&mut self, _: &Context<'_>) {}

        fn act(&mut self, action: Action, _: &Context<'_>) -> Effect {
            assert_ne!(action, Action::Back, "Esc was for the export");
            Effect::Pass
        }

        fn draw_in(&mut self, _: &mut Buffer, _: Rect, _: &Context<'_>) {}

        fn export(&self, _: &Context<'_>) -> Option<Export> {
            let (rows, allowed) = (self.rows, Arc::clone(&self.allowed));
            Some(Export {
                name: "slow".to_owned(),
                columns: vec!["number".to_owned()],
                count: Some(rows),
                selected: None,
                rows: Box::new(move |_| Ok(ExportRows::Batches(Box::new(Self { rows, allowed })))),
            })
        }
    }

    fn bench(rows: usize, allowed: &Arc<AtomicUsize>) -> Bench {
        Bench::new(vec![Box::new(Slow {
            rows,
            allowed: Arc::clone(allowed),
        })])
    }

    fn begin(bench: &mut Bench, name: &str) {
        bench.app.message = None;
        bench.app.export_to(bench.folder.path().join(name), false);
    }

    /// The footer text once the export has ended.
    fn ended(bench: &mut Bench) -> String {
        let start = Instant::now();
        while bench.app.export_says().is_some() {
            assert!(start.elapsed() < PATIENCE);
            thread::sleep(Duration::from_millis(1));
            bench.app.update(Event::Wake);
        }
        bench.app.message.as_ref().unwrap().text.clone()
    }

    #[test]
    fn an_export_says_how_far_it_is_and_what_came_of_it() {
        let allowed = Arc::new(AtomicUsize::new(0));
        let mut bench = bench(100_000, &allowed);
        begin(&mut bench, "slow.csv");
        let (start, mut seen) = (Instant::now(), Vec::new());
        while seen.len() < 2 {
            assert!(start.elapsed() < PATIENCE, "{seen:?}");
            bench.app.deadline_passed(Instant::now());
            let says = bench
                .app
                .export_says()
                .filter(|says| says.starts_with("writing ") && !seen.contains(says));
            // The next stretch, once this one was seen.
            allowed.fetch_add(
                usize::from(says.is_some() || seen.is_empty()),
                Ordering::AcqRel,
            );
            seen.extend(says);
            thread::sleep(Duration::from_millis(1));
        }
        allowed.store(usize::MAX, Ordering::Release);
        assert!(
            seen[1].ends_with(" of 100,000 rows to slow.csv · Esc stops"),
            "{seen:?}"
        );
        assert!(bench.app.deadline().is_some());
        assert_eq!(
            ended(&mut bench),
            format!(
                "exported 100,000 rows to {}",
                bench.folder.path().join("slow.csv").display()
            )
        );
        assert_eq!(
            fs::read_to_string(bench.folder.path().join("slow.csv"))
                .unwrap()
                .lines()
                .count(),
            100_001
        );
        begin(&mut bench, "slow.csv");
        assert!(ended(&mut bench).ends_with("already exists; choose another name"));
        assert_eq!(bench.files(), ["slow.csv"]);
    }

    #[test]
    fn a_name_that_cannot_be_written_stays_in_the_dialog_with_the_reason() {
        let mut bench = bench(3, &all());
        let file = bench
            .folder
            .path()
            .join("nowhere/slow.csv")
            .display()
            .to_string();
        bench.app.run(Command::Export {
            file: file.clone(),
            format: Some(ExportFormat::Csv),
            replace: false,
        });
        let Some(Overlay::Export(dialog)) = &bench.app.overlay else {
            panic!("the dialog stays")
        };
        let asks = format!("{dialog:?}");
        assert!(
            asks.contains(&file) && asks.contains("does not exist"),
            "{asks}"
        );
        assert!(bench.app.export_says().is_none());
    }

    #[test]
    fn what_is_said_takes_the_whole_footer_and_what_is_wrong_with_a_filter_the_rows_it_needs() {
        let mut bench = bench(3, &all());
        let says = "copied address 0xdac17f958d2ee523a2206206994597c13d831ec7 to the clipboard";
        bench.app.say(says, false);
        assert!(bench.screen_of(80, 24).contains(says));
        bench.app.open_filter();
        let problem = "no column `shiny`, did you mean `sunny`? Columns: symbol, name, chain, cap, 24h, labels, starred, action, and more";
        bench.app.filter.as_mut().expect("a line").problem = Some(problem.to_owned());
        let shown = bench.screen_of(80, 24);
        assert!(
            shown.contains("did you mean") && shown.contains("and more"),
            "{shown}"
        );
    }

    #[test]
    fn esc_stops_an_export_at_once_and_no_file_is_left() {
        for ending in ["csv", "json", "ndjson", "parquet"] {
            let mut bench = bench(usize::MAX >> 1, &all());
            begin(&mut bench, &format!("slow.{ending}"));
            while bench.files().is_empty() {
                thread::sleep(Duration::from_millis(1));
            }
            bench.app.act(Action::Export);
            assert_eq!(
                bench.app.message.take().unwrap().text,
                "an export is already running; Esc stops it"
            );
            bench.keys("⎋");
            assert_eq!(
                bench.app.export_says().as_deref(),
                Some("stopping the export")
            );
            assert_eq!(ended(&mut bench), "export stopped; no file was written");
            // To the end, the export would take for ever.
            assert!(bench.files().is_empty());
        }
    }

    #[test]
    fn leaving_the_program_takes_away_what_was_half_written() {
        let mut bench = bench(usize::MAX >> 1, &all());
        begin(&mut bench, "slow.csv");
        while bench.files().is_empty() {
            thread::sleep(Duration::from_millis(1));
        }
        let Bench { app, folder, .. } = bench;
        drop(app);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
