//! Crash reports: the panic hook restores the terminal, writes a report to a file and prints one line that names it.

use std::{
    backtrace::Backtrace,
    fs,
    io::Write,
    panic::{PanicHookInfo, set_hook},
    path::PathBuf,
    sync::{
        OnceLock,
        atomic::{AtomicU32, Ordering},
    },
    thread,
    time::{SystemTime, UNIX_EPOCH},
};

use color_eyre::config::{HookBuilder, Theme};

use super::outcome::say;
use crate::state::Dirs;
use model::untrusted::decoding;

/// Maximum reports per run: a repeating error must not fill the disk.
const REPORTS_MAX: u32 = 20;

static RESTORE: OnceLock<fn()> = OnceLock::new();
static REPORTS: AtomicU32 = AtomicU32::new(0);

/// Installs the panic hook. A panic on this thread, the main one, ends the process with 101; one on another thread fails one request.
pub fn install() {
    let (reporter, _) = HookBuilder::blank()
        .theme(Theme::new())
        .display_env_section(false)
        .into_hooks();
    let main = thread::current().id();
    set_hook(Box::new(move |panic| {
        // Damaged files make decoders panic, and hostile bytecode may panic the interpreter: both are caught and become a finding.
        if !decoding() {
            report_defect(
                panic,
                &reporter.panic_report(panic).to_string(),
                thread::current().id() == main,
            );
        }
    }));
}

/// Sets the function that restores the terminal before anything is printed.
pub fn restore_with(restore: fn()) {
    RESTORE.set(restore).ok();
}

fn report_defect(panic: &PanicHookInfo<'_>, report: &str, fatal: bool) {
    if fatal && let Some(restore) = RESTORE.get() {
        restore();
    }
    let number = REPORTS.fetch_add(1, Ordering::Relaxed);
    if number >= REPORTS_MAX && !fatal {
        return;
    }
    let place = panic.location().map_or_else(String::new, |location| {
        format!(" at {}:{}", location.file(), location.line())
    });
    let folders: Vec<PathBuf> = Dirs::find()
        .ok()
        .map(|dirs| dirs.state)
        .into_iter()
        .chain([std::env::temp_dir()])
        .collect();
    let line = match write(&folders, report, number) {
        Some(file) => format!("internal error{place}; crash report: `{}`", file.display()),
        None => format!("internal error{place}; the crash report could not be written"),
    };
    if fatal {
        say(&line);
    } else {
        tracing::error!("{line}");
    }
}

/// Writes the report into the first writable folder.
fn write(folders: &[PathBuf], report: &str, number: u32) -> Option<PathBuf> {
    let seconds = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |time| time.as_secs());
    let name = format!("defect-{seconds}-{}-{number}.txt", std::process::id());
    let arguments = std::env::args_os().skip(1).count();
    let text = format!(
        "tokendeck {}\nthread {}, {arguments} arguments\n\n{report}\n\n{}\n",
        env!("CARGO_PKG_VERSION"),
        thread::current().name().unwrap_or("without a name"),
        Backtrace::force_capture()
    );
    folders.iter().find_map(|folder| {
        let file = folder.join(&name);
        fs::create_dir_all(folder).ok()?;
        // `create_new` follows no symbolic link planted in a shared folder.
        let mut opened = fs::OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(&file)
            .ok()?;
        opened.write_all(text.as_bytes()).ok().map(|()| file)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_report_goes_to_the_first_folder_that_can_be_written() {
        let place = tempfile::tempdir().expect("a folder");
        let blocked = place.path().join("file");
        fs::write(&blocked, "").expect("a file");
        let good = place.path().join("deep/state");
        let file = write(&[blocked.clone(), good.clone()], "it broke", 3)
            .expect("one of the two can be written");
        assert!(file.starts_with(&good) && file.to_string_lossy().ends_with("-3.txt"));
        let text = fs::read_to_string(&file).expect("the report");
        assert!(text.starts_with("tokendeck ") && text.contains("\n\nit broke\n"));
        assert_eq!(write(&[blocked], "it broke", 4), None);
    }
}
