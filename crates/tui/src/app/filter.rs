//! The input line of `/` and of the views' own lines: editing, errors and Tab completion. What a line means is the view's.

use crossterm::event::{KeyCode, KeyEvent};

use super::App;
use crate::{
    typed::{Completions, TypedLine},
    views::{error::InputError, keymap::Action, list::Listing, view::EditedLine},
};

/// Longest text of the line in characters.
const CHARS_MAX: usize = 4_000;

/// The input line.
#[derive(Debug)]
pub struct FilterLine {
    pub of: EditedLine,
    pub input: TypedLine,
    pub problem: Option<String>,
    /// What the last word goes on as: it begins a column, and as a word it is in no row.
    pub awaits: Option<String>,
    /// The last text that was whole: its rows stay while half a condition stands behind it.
    whole: String,
    /// The text's rows have not arrived yet, so whether it is whole is unknown.
    is_unchecked: bool,
    pub completions: Completions,
    /// The previous text, which Esc restores.
    pub(crate) before: String,
}

impl FilterLine {
    fn new(of: EditedLine, text: impl Into<String>, before: String) -> Self {
        let input = TypedLine::new(text, CHARS_MAX);
        let whole = input.text().to_owned();
        Self {
            of,
            input,
            problem: None,
            awaits: None,
            whole,
            is_unchecked: false,
            completions: Completions::default(),
            before,
        }
    }
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
            // One space is there already, behind which a kept filter is carried on.
            KeyCode::Char(' ')
                if line.of == EditedLine::Filter
                    && line.input.text().ends_with(' ')
                    && line.input.is_at_end() =>
            {
                line.input = line.input.clone().kept();
            }
            // Scrolls the rows while typing.
            KeyCode::Up => self.act(Action::Up),
            KeyCode::Down => self.act(Action::Down),
            _ => {
                line.input.key(key);
                self.apply_filter();
            }
        }
    }

    /// Enter: keeps the filter; the token under the selection becomes the program's.
    pub(super) fn keep_filter(&mut self) {
        // An invalid filter is not kept: its error stays on screen until it is corrected or canceled.
        if self
            .filter
            .as_ref()
            .is_some_and(|line| line.problem.is_some() && self.is_editable(line.of))
        {
            return;
        }
        // As a word it is looked for after all.
        if let Some(line) = self.filter.take().filter(|line| line.awaits.is_some()) {
            self.set_line(line.of, line.input.text()).ok();
        }
        self.note_early_key();
        if let Some(token) =
            self.with_view(self.current, |view, context| view.selected_token(context))
        {
            (self.token, self.lost_token) = (Some(token), None);
            self.take_in_changes();
        }
    }

    /// Closes the line of an invalid filter and restores the filter before it.
    pub(crate) fn drop_invalid_filter(&mut self) {
        let Some(line) = self.filter.take_if(|line| line.problem.is_some()) else {
            return;
        };
        if self.is_editable(line.of) {
            self.set_line(line.of, &line.before).ok();
        }
    }

    /// Whether the view has the line.
    fn is_editable(&self, of: EditedLine) -> bool {
        of != EditedLine::Filter || self.view().filter().is_some()
    }

    fn set_line(&mut self, of: EditedLine, text: &str) -> Result<(), InputError> {
        self.with_view(self.current, |view, context| match of {
            EditedLine::Filter => view.set_filter(text, context),
            EditedLine::Own(word) => view.set_own_line(word, text, context),
        })
    }

    pub(crate) fn apply_filter(&mut self) {
        let Some((of, text)) = self
            .filter
            .as_ref()
            .map(|line| (line.of, line.input.text().to_owned()))
        else {
            return;
        };
        if !self.is_editable(of) {
            return;
        }
        let problem = self.set_line(of, &text).err().map(String::from);
        let completions = Completions::new(self.completions(of, &text));
        let Some(line) = &mut self.filter else { return };
        (line.problem, line.completions, line.is_unchecked) = (problem, completions, true);
        self.check_line();
    }

    /// Checks whether the typed text is whole, once its rows have arrived.
    pub(super) fn check_line(&mut self) {
        let is_arranging = self.view().is_arranging();
        let line = self.filter.as_mut();
        let Some(line) = line.filter(|line| line.is_unchecked && !is_arranging) else {
            return;
        };
        line.is_unchecked = false;
        let (of, text) = (line.of, line.input.text().to_owned());
        let (is_refused, completions) = (line.problem.is_some(), line.completions.all.clone());
        let awaits = self
            .awaited(&text, &completions)
            .filter(|_| of == EditedLine::Filter && !is_refused);
        let is_half = awaits.is_some() || (is_refused && self.view().listing().is_some());
        let Some(line) = &mut self.filter else { return };
        line.awaits = awaits;
        if !is_half {
            line.whole = text;
            return;
        }
        // The rows before the half condition stay.
        let (known, shorter) = (
            line.whole.clone(),
            text.rfind(char::is_whitespace).map_or("", |at| &text[..at]),
        );
        if self.set_line(of, shorter).is_err() {
            self.set_line(of, &known).ok();
        }
    }

    /// What the last word goes on as, where it begins a column and no row has it.
    fn awaited(&self, text: &str, completions: &[(String, String)]) -> Option<String> {
        let word = text
            .rsplit(char::is_whitespace)
            .next()
            .filter(|word| !word.is_empty())?;
        let begun = completions
            .iter()
            .map(|(_, new)| new)
            .find(|new| new.to_lowercase().starts_with(&word.to_lowercase()))?;
        let is_column =
            !word.contains(['>', '<', '=', ':', '!']) && begun.ends_with(['>', '<', '=', ':']);
        let is_empty = self.view().listing().is_some_and(Listing::is_empty);
        (is_column && is_empty)
            .then(|| format!("complete it to {begun}…, or press Enter to search for the word"))
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
        // With a single completion, the next Tab completes from there: `apply_filter` finds how.
        let is_single = line.completions.all.len() == 1;
        if !line
            .completions
            .step(forward, &mut line.input, |_| Vec::new())
        {
            return;
        }
        let kept = line.completions.clone();
        self.apply_filter();
        if let Some(line) = self.filter.as_mut().filter(|_| !is_single) {
            line.completions = kept;
        }
    }

    pub(super) fn open_filter(&mut self) {
        let of = EditedLine::Filter;
        let Some(before) = self.view().filter().map(str::to_owned) else {
            // The line opens all the same, so that typed text is not taken for key commands.
            let line = FilterLine::new(of, "", String::new());
            self.filter = Some(FilterLine {
                problem: Some("this view has nothing to filter".to_owned()),
                ..line
            });
            return;
        };
        // What is carried on behind a condition is a word of its own.
        let is_list = self.view().listing().is_some() && !before.is_empty();
        let text = if is_list {
            format!("{} ", before.trim_end())
        } else {
            before.clone()
        };
        let completions = self.completions(of, &text);
        self.filter = Some(FilterLine {
            completions: Completions::new(completions),
            ..FilterLine::new(of, text, before)
        });
    }

    /// Opens the view's input line with `text` in it; Esc restores the previous text. What a key began is carried on: a
    /// filter, and a text that ends with a space.
    pub(super) fn edit_line(&mut self, of: EditedLine, text: &str) {
        let before = match of {
            EditedLine::Filter => self.view().filter().unwrap_or_default().to_owned(),
            EditedLine::Own(word) => self.view().own_line(word),
        };
        let line = FilterLine::new(of, text, before);
        let is_begun = of == EditedLine::Filter || text.ends_with(' ');
        let input = if is_begun {
            line.input.clone().kept()
        } else {
            line.input.clone()
        };
        self.filter = Some(FilterLine { input, ..line });
        self.apply_filter();
    }

    pub(super) fn paste_line(&mut self, text: &str) {
        if let Some(line) = &mut self.filter {
            line.input.paste(text);
            self.apply_filter();
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::{app::bench::Bench, views::keymap::ViewId};
    use load::sample;

    #[test]
    fn what_is_typed_takes_the_filters_place_and_a_line_of_the_views_own_is_no_filter() {
        let mut bench = Bench::new(crate::views::all());
        bench.load(sample::dataset(&[
            ("tokens", "token_address,symbol,name,chain,price\n0x1,UNI,Uniswap,eth,7\n0x2,LINK,Chainlink,eth,14"),
            ("pools", "address,dex_id,chain,token0,token1,liquidity\n0xa,x,eth,0x1,0x2,100"),
        ]));
        let filter = |bench: &mut Bench, keys: &str| {
            bench.keys(keys);
            bench
                .app
                .view()
                .filter()
                .map(str::to_owned)
                .unwrap_or_default()
        };
        bench.app.go(ViewId::Tokens);
        assert_eq!(filter(&mut bench, "/chain:eth⏎"), "chain:eth");
        assert_eq!(filter(&mut bench, "/⏎"), "chain:eth");
        assert_eq!(filter(&mut bench, "/uni⏎"), "uni");
        assert_eq!(
            filter(&mut bench, "/ swap⏎"),
            "uni swap",
            "a space carries it on"
        );
        assert_eq!(
            filter(&mut bench, "/⌫⌫⏎"),
            "uni swa",
            "and so does any key that types nothing"
        );
        assert_eq!(filter(&mut bench, "/x⎋"), "uni swa");
        bench.keys("/");
        bench
            .app
            .update(crate::event::Event::Paste("link\n".to_owned()));
        assert_eq!(filter(&mut bench, "⏎"), "link");
        bench.app.go(ViewId::Tokens);
        // Half a condition leaves the rows of what stands before it.
        let mut rows = |keys: &str| {
            bench.keys(keys);
            let screen = bench.screen();
            (
                ["Uniswap", "Chainlink"].map(|name| screen.contains(name)),
                screen,
            )
        };
        for (keys, shown, says) in [
            ("/swap", [true, false], ""),
            (" pri", [true, false], "complete it to price>"),
            ("ce", [true, false], "complete it to price>"),
            (">", [true, false], "price>"),
            ("1⏎", [true, false], "price>1"),
        ] {
            let (found, screen) = rows(keys);
            assert!(found == shown && screen.contains(says), "{keys}: {screen}");
        }
        bench.keys("⎋/pric⏎");
        assert!(bench.screen().contains("no token"), "kept, it is a word");
        bench.keys("⎋");
        bench.app.go(ViewId::Dexes);
        for (keys, amount) in [
            ("x50k⎋", "10000"),
            ("x50k⏎", "50000"),
            ("x⏎", "50000"),
            ("xno⏎⎋", "50000"),
        ] {
            assert_eq!(
                (
                    filter(&mut bench, keys).as_str(),
                    bench.app.view().own_line("sell").as_str()
                ),
                ("", amount),
                "{keys}"
            );
            assert!(bench.app.filter.is_none(), "{keys}");
        }
    }
}
