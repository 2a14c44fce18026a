//! The line that `/` opens: what is typed, what is wrong with it, what Tab makes of it. What a filter means is the view's.

use crossterm::event::{KeyCode, KeyEvent};
use tui_input::{Input, backend::crossterm::EventHandler};

use super::App;
use crate::tui::keymap::Action;

/// The line that `/` opens.
#[derive(Debug)]
pub struct FilterLine {
    pub input: Input,
    pub problem: Option<String>,
    /// What Tab makes of it, and how many of these were tried.
    pub completions: Vec<(String, String)>,
    tried: usize,
    /// What stood before, for Esc.
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
            // The rows are watched while the filter is typed.
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

    /// The rows that are left stay, and the token under the selection is the program's.
    pub(super) fn keep_filter(&mut self) {
        // One that cannot be read is not kept: what is wrong with it stays on screen until it is mended or left.
        if self.filter.as_ref().is_some_and(|line| line.problem.is_some()) && self.view().filter().is_some() {
            return;
        }
        self.filter = None;
        self.press_early();
        if let Some(token) = self.with_view(self.current, |view, context| view.selected_token(context)) {
            self.token = Some(token);
            self.look_again();
        }
    }

    /// Closes a line with what cannot be read: the filter before it is back, not the beginning of what was refused.
    pub(in crate::tui) fn drop_refused(&mut self) {
        let Some(line) = self.filter.take_if(|line| line.problem.is_some()) else { return };
        self.with_view(self.current, |view, context| view.filter().is_some().then(|| view.set_filter(&line.before, context)));
    }

    pub(in crate::tui) fn apply_filter(&mut self) {
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
        self.with_view(self.current, |view, context| view.listing().map_or_else(Vec::new, |list| list.completions(text, context)))
    }

    /// Tab: what is typed becomes the next of its completions.
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
        // With one way to go on, the next Tab goes on from there.
        if let (Some(line), true) = (&mut self.filter, count > 1) {
            (line.completions, line.tried) = (completions, tried % count + 1);
        }
    }

    pub(super) fn open_filter(&mut self) {
        let Some(before) = self.view().filter().map(str::to_owned) else {
            // The line opens all the same, so that what is typed on is not taken for keys.
            let problem = Some("nothing to filter in this view".to_owned());
            self.filter = Some(FilterLine { input: Input::default(), problem, completions: Vec::new(), tried: 0, before: String::new() });
            return;
        };
        let completions = self.completions(&before);
        self.filter = Some(FilterLine { input: Input::new(before.clone()), problem: None, completions, tried: 0, before });
    }
}
