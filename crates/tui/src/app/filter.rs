//! The input line of `/`: editing, errors and Tab completion. The meaning of a filter is the view's.

use crossterm::event::{KeyCode, KeyEvent};
use tui_input::{Input, backend::crossterm::EventHandler};

use super::App;
use crate::keymap::Action;

/// The input line of `/`.
#[derive(Debug)]
pub struct FilterLine {
    pub input: Input,
    pub problem: Option<String>,
    /// Completions of the text, and how many were tried.
    pub completions: Vec<(String, String)>,
    tried: usize,
    /// The previous filter, which Esc restores.
    pub(super) before: String,
}

impl App {
    pub(super) fn filter_key(&mut self, key: &KeyEvent) {
        let Some(line) = &mut self.filter else { return };
        match key.code {
            KeyCode::Enter => self.keep_filter(),
            KeyCode::Esc => {
                let before = std::mem::take(&mut line.before);
                self.filter = None;
                self.with_view(self.current, |view, context| view.set_filter(&before, context).ok());
            }
            KeyCode::Tab | KeyCode::BackTab => self.complete(key.code == KeyCode::Tab),
            // Scrolls the rows while typing.
            KeyCode::Up => self.act(Action::Up),
            KeyCode::Down => self.act(Action::Down),
            _ => {
                if line.input.value().len() < 1_000 || key.code == KeyCode::Backspace {
                    line.input.handle_event(&crossterm::event::Event::Key(*key));
                }
                self.apply_filter();
            }
        }
    }

    /// Enter: keeps the filter; the token under the selection becomes the program's.
    pub(super) fn keep_filter(&mut self) {
        // An invalid filter is not kept: its error stays on screen until it is corrected or cancelled.
        if self.filter.as_ref().is_some_and(|line| line.problem.is_some()) && self.view().filter().is_some() {
            return;
        }
        self.filter = None;
        self.note_early_key();
        if let Some(token) = self.with_view(self.current, |view, context| view.selected_token(context)) {
            (self.token, self.lost_token) = (Some(token), None);
            self.take_in_changes();
        }
    }

    /// Closes the line of an invalid filter and restores the filter before it.
    pub(crate) fn drop_invalid_filter(&mut self) {
        let Some(line) = self.filter.take_if(|line| line.problem.is_some()) else { return };
        self.with_view(self.current, |view, context| view.filter().is_some().then(|| view.set_filter(&line.before, context)));
    }

    pub(crate) fn apply_filter(&mut self) {
        let Some(text) = self.filter.as_ref().map(|line| line.input.value().to_owned()) else { return };
        if self.view().filter().is_none() {
            return;
        }
        let problem = self.with_view(self.current, |view, context| view.set_filter(&text, context).err());
        let completions = self.completions(&text);
        if let Some(line) = &mut self.filter {
            (line.problem, line.completions, line.tried) = (problem, completions, 0);
        }
    }

    fn completions(&mut self, text: &str) -> Vec<(String, String)> {
        self.with_view(self.current, |view, context| view.completions(text, context))
    }

    /// Tab: replaces the text by its next completion.
    fn complete(&mut self, forward: bool) {
        let Some(line) = &mut self.filter else { return };
        let count = line.completions.len();
        if count == 0 {
            return;
        }
        let tried = if forward { line.tried } else { (line.tried + 2 * count - 2) % count };
        let completions = line.completions.clone();
        let Some((text, _)) = completions.get(tried % count) else { return };
        line.input = Input::new(text.clone());
        self.apply_filter();
        // With a single completion, the next Tab completes from there.
        if let (Some(line), true) = (&mut self.filter, count > 1) {
            (line.completions, line.tried) = (completions, tried % count + 1);
        }
    }

    pub(super) fn open_filter(&mut self) {
        let Some(before) = self.view().filter().map(str::to_owned) else {
            // The line opens all the same, so that typed text is not taken for key commands.
            let problem = Some("nothing to filter in this view".to_owned());
            self.filter = Some(FilterLine { input: Input::default(), problem, completions: Vec::new(), tried: 0, before: String::new() });
            return;
        };
        let completions = self.completions(&before);
        self.filter = Some(FilterLine { input: Input::new(before.clone()), problem: None, completions, tried: 0, before });
    }
}
