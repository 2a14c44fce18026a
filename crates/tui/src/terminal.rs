//! The terminal's modes: entered together, restored together, also after a panic or signal. Independent of views.

use std::{
    io::{self, BufWriter, Read as _, Stdout, Write},
    mem::ManuallyDrop,
    sync::{
        atomic::{AtomicBool, Ordering},
        mpsc::sync_channel,
    },
    thread,
    time::{Duration, Instant},
};

use crossterm::{
    cursor::{Hide, Show},
    event::{DisableBracketedPaste, DisableMouseCapture, EnableBracketedPaste, EnableMouseCapture},
    execute, queue,
    terminal::{
        BeginSynchronizedUpdate, EndSynchronizedUpdate, EnterAlternateScreen, LeaveAlternateScreen,
        disable_raw_mode, enable_raw_mode,
    },
};
use ratatui::{
    Frame, Terminal, TerminalOptions, Viewport,
    backend::{Backend, ClearType, CrosstermBackend},
    layout::Rect,
};

use super::graphics::{
    Pictures,
    answers::{TerminalAnswers, TerminalReader},
    farewell,
};
use crate::widgets::pixels::plot::PlotScene;

/// Whether the modes are entered, so that a panic or a signal knows whether to restore.
static ENTERED: AtomicBool = AtomicBool::new(false);

/// Whether a picture may stand on the terminal, which is taken away with the modes.
static PICTURED: AtomicBool = AtomicBool::new(false);

/// The terminal in the dashboard's modes; dropping it restores the previous ones.
pub struct Screen {
    /// Never dropped: its own restoring reports a terminal that is gone on standard error, which may be gone too, and panics.
    terminal: ManuallyDrop<Terminal<CrosstermBackend<BufWriter<Stdout>>>>,
    /// The part of the terminal that is drawn on.
    area: Rect,
    mouse: bool,
    pictures: Option<Pictures>,
}

impl Screen {
    pub fn enter(mouse: bool) -> io::Result<Self> {
        enter_modes(mouse)?;
        let area = drawn(crossterm::terminal::size()?);
        let out = CrosstermBackend::new(BufWriter::with_capacity(1 << 16, io::stdout()));
        let terminal = Terminal::with_options(
            out,
            TerminalOptions {
                viewport: Viewport::Fixed(area),
            },
        )?;
        Ok(Self {
            terminal: ManuallyDrop::new(terminal),
            area,
            mouse,
            pictures: None,
        })
    }

    /// Queries the terminal; its replies arrive among the keys.
    pub fn ask(&mut self, question: &[u8]) -> io::Result<()> {
        self.terminal.backend_mut().write_all(question)?;
        Write::flush(self.terminal.backend_mut())
    }

    pub fn has_pictures(&self) -> bool {
        self.pictures.is_some()
    }

    /// The picture may be gone: the next frame's is sent in any case.
    pub fn forget_picture(&mut self) {
        if let Some(pictures) = &mut self.pictures {
            pictures.forget();
        }
    }

    /// From now on frames may have pictures.
    pub fn show_pictures(&mut self, pictures: Option<Pictures>) {
        PICTURED.store(
            pictures.as_ref().is_some_and(Pictures::outlasts),
            Ordering::SeqCst,
        );
        self.pictures = pictures;
    }

    /// Draws one frame with its picture as a single synchronized update, then writes `after` (clipboard sequences).
    pub fn draw(
        &mut self,
        render: impl FnOnce(&mut Frame<'_>) -> Option<PlotScene>,
        after: &[u8],
    ) -> io::Result<()> {
        queue!(self.terminal.backend_mut(), BeginSynchronizedUpdate)?;
        let area = drawn(crossterm::terminal::size()?);
        if area != self.area {
            self.area = area;
            self.terminal.backend_mut().clear_region(ClearType::All)?;
            self.terminal.resize(area)?;
        }
        let mut scene = None;
        let done = self.terminal.draw(|frame| scene = render(frame))?;
        if let Some(pictures) = self
            .pictures
            .as_mut()
            .filter(|pictures| scene.is_some() || pictures.is_shown())
        {
            let frame = done.buffer.clone();
            pictures.follow(scene, &frame, self.terminal.backend_mut())?;
        }
        self.terminal.backend_mut().write_all(after)?;
        queue!(self.terminal.backend_mut(), EndSynchronizedUpdate)?;
        Write::flush(self.terminal.backend_mut())
    }

    /// Forces a full redraw. ratatui's own `clear` queries the cursor position, and the reply would go to the thread that reads keys.
    pub fn clear(&mut self) -> io::Result<()> {
        self.terminal.backend_mut().clear_region(ClearType::All)?;
        // Of the two buffers one is blank, the other holds the last frame; swapping resets that one.
        self.terminal.swap_buffers();
        self.forget_picture();
        Ok(())
    }

    /// Restores the terminal, stops the process (SIGSTOP), and enters the modes again once it is continued. Windows stops no process.
    pub fn suspend(&mut self) -> io::Result<()> {
        restore();
        #[cfg(unix)]
        signal_hook::low_level::raise(signal_hook::consts::SIGSTOP)?;
        enter_modes(self.mouse)?;
        self.clear()
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        restore();
    }
}

/// Maximum number of cells drawn, about a hundred times that of a usual window.
const CELLS_MAX: u32 = 1_250_000;

/// The part that is drawn of a terminal of that size: all of it, or its upper left corner where it says to be larger than any.
fn drawn((columns, rows): (u16, u16)) -> Rect {
    let within = |cells: u32| u16::try_from(cells).unwrap_or(u16::MAX);
    // Where both sides are too long, a square is left.
    let columns = columns.min(within(
        CELLS_MAX.isqrt().max(CELLS_MAX / u32::from(rows.max(1))),
    ));
    Rect::new(
        0,
        0,
        columns,
        rows.min(within(CELLS_MAX / u32::from(columns.max(1)))),
    )
}

/// Columns and rows of the terminal.
pub fn size() -> Option<(u16, u16)> {
    crossterm::terminal::size().ok()
}

/// Queries a terminal without a dashboard, and reads its reply within `patience`. Keys pressed meanwhile are lost.
pub fn interview(question: &[u8], patience: Duration) -> io::Result<TerminalAnswers> {
    enable_raw_mode()?;
    // On the other screen, as some terminals print a question that they do not understand.
    let answers =
        execute!(io::stdout(), EnterAlternateScreen).and_then(|()| asked(question, patience));
    let left = execute!(io::stdout(), LeaveAlternateScreen);
    disable_raw_mode().and(left).and(answers)
}

fn asked(question: &[u8], patience: Duration) -> io::Result<TerminalAnswers> {
    let mut out = io::stdout();
    out.write_all(question)?;
    out.flush()?;
    let (sender, heard) = sync_channel(16);
    // A terminal that does not answer is never read to its end: the thread ends with the program.
    thread::Builder::new()
        .name("answers".into())
        .spawn(move || {
            let mut bytes = [0; 1 << 10];
            while let Ok(count @ 1..) = io::stdin().lock().read(&mut bytes) {
                if sender.send(bytes[..count].to_vec()).is_err() {
                    break;
                }
            }
        })?;
    let (mut hearing, end) = (TerminalReader::default(), Instant::now() + patience);
    while !(hearing.answers.arrived && hearing.is_whole()) {
        let Ok(bytes) = heard.recv_timeout(end.saturating_duration_since(Instant::now())) else {
            break;
        };
        hearing.take(&bytes);
    }
    Ok(hearing.answers)
}

fn enter_modes(mouse: bool) -> io::Result<()> {
    enable_raw_mode()?;
    ENTERED.store(true, Ordering::SeqCst);
    let mut out = io::stdout();
    execute!(out, EnterAlternateScreen, EnableBracketedPaste, Hide)?;
    if mouse {
        execute!(out, EnableMouseCapture)?;
    }
    Ok(())
}

/// Undoes every mode, once. Safe to call from a panic hook and when nothing was entered; errors of a closed terminal are ignored.
pub fn restore() {
    if ENTERED.swap(false, Ordering::SeqCst) {
        let mut out = io::stdout();
        if PICTURED.load(Ordering::SeqCst) {
            out.write_all(farewell().as_bytes()).ok();
        }
        execute!(
            out,
            EndSynchronizedUpdate,
            DisableMouseCapture,
            DisableBracketedPaste,
            LeaveAlternateScreen,
            Show
        )
        .ok();
        disable_raw_mode().ok();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_is_drawn_whole_unless_it_is_larger_than_any() {
        for size in [
            (0, 0),
            (1, 1),
            (140, 42),
            (1_000, 1_000),
            (30_000, 40),
            (40, 30_000),
        ] {
            assert_eq!(drawn(size), Rect::new(0, 0, size.0, size.1));
        }
        for (size, part) in [
            ((30_000, 30_000), (1_118, 1_118)),
            ((u16::MAX, u16::MAX), (1_118, 1_118)),
            ((40, u16::MAX), (40, 31_250)),
        ] {
            assert_eq!(drawn(size), Rect::new(0, 0, part.0, part.1), "{size:?}");
        }
    }
}
