//! The input line of `/` and of the views' own lines: editing, errors and Tab completion. What a line means is the view's.

use crossterm::event::{KeyCode, KeyEvent};
use tui_input::{Input, backend::crossterm::EventHandler};

use super::App;
use crate::{keymap::Action, view::EditedLine};

/// The input line.
#[derive(Debug)]
pub struct FilterLine {
    pub of: EditedLine,
    pub input: Input,
    pub problem: Option<String>,
    /// Completions of the text, and how many were tried.
    pub completions: Vec<(String, String)>,
    tried: usize,
    /// The previous text, which Esc restores.
    pub(super) before: String,
}

fn is_at_end(input: &Input) -> bool {
    input.cursor() == input.value().chars().count()
}

impl App {
    pub(super) fn filter_key(&mut self, key: &KeyEvent) {
        let Some(line) = &mut self.filter else { return };
        match key.code {
            KeyCode::Enter => self.keep_filter(),
            KeyCode::Esc => {
                let (of, before) = (line.of, std::mem::take(&mut line.before));
                self.filter = None;
                self.set_line(of, &before).ok();
            }
            KeyCode::Tab | KeyCode::BackTab => self.complete(key.code == KeyCode::Tab),
            // One space is there already.
            KeyCode::Char(' ') if line.of == EditedLine::Filter && line.input.value().ends_with(' ') && is_at_end(&line.input) => {}
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
        if self.filter.as_ref().is_some_and(|line| line.problem.is_some() && self.is_editable(line.of)) {
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
        if self.is_editable(line.of) {
            self.set_line(line.of, &line.before).ok();
        }
    }

    /// Whether the view has the line.
    fn is_editable(&self, of: EditedLine) -> bool {
        of != EditedLine::Filter || self.view().filter().is_some()
    }

    fn set_line(&mut self, of: EditedLine, text: &str) -> Result<(), String> {
        self.with_view(self.current, |view, context| match of {
            EditedLine::Filter => view.set_filter(text, context),
            EditedLine::Own(word) => view.set_own_line(word, text, context),
        })
    }

    pub(crate) fn apply_filter(&mut self) {
        let Some((of, text)) = self.filter.as_ref().map(|line| (line.of, line.input.value().to_owned())) else { return };
        if !self.is_editable(of) {
            return;
        }
        let problem = self.set_line(of, &text).err();
        let completions = self.completions(of, &text);
        if let Some(line) = &mut self.filter {
            (line.problem, line.completions, line.tried) = (problem, completions, 0);
        }
    }

    fn completions(&mut self, of: EditedLine, text: &str) -> Vec<(String, String)> {
        self.with_view(self.current, |view, context| match of {
            EditedLine::Filter => view.completions(text, context),
            EditedLine::Own(word) => view.own_completions(word, text),
        })
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
        let of = EditedLine::Filter;
        let Some(before) = self.view().filter().map(str::to_owned) else {
            // The line opens all the same, so that typed text is not taken for key commands.
            let problem = Some("nothing to filter in this view".to_owned());
            self.filter =
                Some(FilterLine { of, input: Input::default(), problem, completions: Vec::new(), tried: 0, before: String::new() });
            return;
        };
        // What is typed behind a condition is a word of its own.
        let is_list = self.view().listing().is_some() && !before.is_empty();
        let text = if is_list { format!("{} ", before.trim_end()) } else { before.clone() };
        let completions = self.completions(of, &text);
        self.filter = Some(FilterLine { of, input: Input::new(text), problem: None, completions, tried: 0, before });
    }

    /// Opens the view's input line with `text` in it; Esc restores the previous text.
    pub(super) fn edit_line(&mut self, of: EditedLine, text: &str) {
        match of {
            EditedLine::Filter => self.act(Action::Filter),
            EditedLine::Own(word) => {
                let before = self.view().own_line(word);
                self.filter = Some(FilterLine { of, input: Input::default(), problem: None, completions: Vec::new(), tried: 0, before });
            }
        }
        self.paste_line(text);
    }
}

#[cfg(test)]
mod tests {
    use crate::{app::bench::Bench, keymap::ViewId, views};
    use store::sample;

    #[test]
    fn what_is_typed_behind_a_filter_is_a_word_of_its_own_and_a_line_of_the_views_own_is_no_filter() {
        let mut bench = Bench::new(views::all());
        bench.load(sample::dataset(&[
            ("tokens", "token_address,symbol,name,chain\n0x1,UNI,Uniswap,eth\n0x2,LINK,Chainlink,eth"),
            ("pools", "address,dex_id,chain,token0,token1,liquidity\n0xa,x,eth,0x1,0x2,100"),
        ]));
        let filter = |bench: &mut Bench, keys: &str| {
            bench.keys(keys);
            bench.app.view().filter().map(str::to_owned).unwrap_or_default()
        };
        bench.app.go(ViewId::Tokens);
        assert_eq!(filter(&mut bench, "/chain:eth⏎"), "chain:eth");
        assert_eq!(filter(&mut bench, "/⏎"), "chain:eth");
        assert_eq!(filter(&mut bench, "/uni⏎"), "chain:eth uni");
        assert_eq!(filter(&mut bench, "/ swap⏎"), "chain:eth uni swap");
        assert_eq!(filter(&mut bench, "/x⎋"), "chain:eth uni swap");
        bench.app.go(ViewId::Dexes);
        for (keys, amount) in [("x50k⎋", "10000"), ("x50k⏎", "50000"), ("x⏎", "50000"), ("xno⏎⎋", "50000")] {
            assert_eq!((filter(&mut bench, keys).as_str(), bench.app.view().own_line("sell").as_str()), ("", amount), "{keys}");
            assert!(bench.app.filter.is_none(), "{keys}");
        }
    }
}
