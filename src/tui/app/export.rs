//! Exporting the table on screen: asked for in a dialog, written off the drawing thread with its progress in the footer, stopped by Esc.
//! One at a time.

use std::{
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use super::App;
use crate::{
    dataset::export::{self, Unwritten},
    error::{Code, Problem},
    tui::{
        format,
        overlay::{Overlay, export::ExportDialog},
        task::Task,
        views::many,
    },
};

/// Between two looks at how far it is.
const TICK: Duration = Duration::from_millis(100);
/// How long the end of the program waits for an export to take away what it had written.
const LAST_WAIT: Duration = Duration::from_secs(2);

/// An export under way.
pub(in crate::tui) struct Exporting {
    task: Task<u64>,
    path: PathBuf,
    /// The rows are there and are being written.
    writing: Arc<AtomicBool>,
    stopping: bool,
    /// When the footer is to be drawn next.
    tick: Instant,
}

impl Exporting {
    /// `writing 3,400,000 of 20,000,000 rows to candles.csv · Esc stops it`
    fn says(&self) -> String {
        let name = self.path.file_name().unwrap_or_default().to_string_lossy();
        let (done, total) = self.task.progress();
        if self.stopping {
            return "stopping the export".to_owned();
        }
        let does = if self.writing.load(Ordering::Relaxed) {
            format!("writing {} of {} to {name}", format::count(done), many(total, "row", "rows"))
        } else {
            match done.saturating_mul(100).checked_div(total) {
                Some(percent) => format!("putting the rows for {name} in order, {percent} %"),
                None => format!("getting the rows for {name}"),
            }
        };
        format!("{does} · Esc stops it")
    }
}

impl Drop for Exporting {
    fn drop(&mut self) {
        self.task.end(LAST_WAIT);
    }
}

impl App {
    pub(super) fn open_export(&mut self) {
        if self.exporting.is_some() {
            return self.say("an export is under way: Esc stops it", true);
        }
        match self.with_view(self.current, |view, context| view.export(context)) {
            Some(export) if export.count > 0 => {
                self.overlay = Some(Overlay::Export(ExportDialog::new(&export.name, export.count)));
            }
            _ => self.say("no table to export in this view", false),
        }
    }

    pub(super) fn export_to(&mut self, path: PathBuf) {
        let Some(table) = self.with_view(self.current, |view, context| view.export(context)) else { return };
        let writing = Arc::new(AtomicBool::new(false));
        let (begun, to) = (Arc::clone(&writing), path.clone());
        let task = Task::start(&self.wake, move |progress| {
            let rows = (table.rows)(progress)?;
            let total = rows.count() as u64;
            begun.store(true, Ordering::Relaxed);
            let written = export::write(&to, &table.columns, &rows, &mut |done| progress.step(done, total).is_ok());
            written.map_err(|unwritten| match unwritten {
                Unwritten::Stopped => Problem::new(Code::Cancelled, "The export was stopped."),
                Unwritten::Failed(reason) => Problem::new(Code::Defect, reason),
            })
        });
        self.exporting = Some(Exporting { task, path, writing, stopping: false, tick: Instant::now() + TICK });
    }

    /// Takes the outcome once it is there.
    pub(super) fn poll_export(&mut self) {
        let Some(outcome) = self.exporting.as_mut().and_then(|exporting| exporting.task.poll()) else { return };
        let Some(exporting) = self.exporting.take() else { return };
        match outcome {
            Ok(rows) => self.say(format!("exported {} to {}", many(rows, "row", "rows"), exporting.path.display()), false),
            Err(problem) if problem.code == Code::Cancelled => self.say("export stopped: no file was written", false),
            Err(problem) => self.say(format!("not exported: {}", problem.detail), true),
        }
    }

    /// Esc: false where there is nothing to stop.
    pub(super) fn stop_export(&mut self) -> bool {
        let Some(exporting) = self.exporting.as_mut().filter(|exporting| !exporting.stopping) else { return false };
        exporting.stopping = true;
        exporting.task.stop();
        true
    }

    /// What the footer says of an export that is under way.
    pub(in crate::tui) fn export_says(&self) -> Option<String> {
        self.exporting.as_ref().map(Exporting::says)
    }

    pub(super) fn export_tick(&self) -> Option<Instant> {
        self.exporting.as_ref().map(|exporting| exporting.tick)
    }

    pub(super) fn export_ticked(&mut self, now: Instant) {
        if let Some(exporting) = self.exporting.as_mut().filter(|exporting| exporting.tick <= now) {
            exporting.tick = now + TICK;
            self.dirty = true;
        }
    }
}
