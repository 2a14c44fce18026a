//! The command palette: fuzzy search over all actions, tokens and settings: a subsequence of letters, better when close together and near
//! the start of words. The entries come from the tables; nothing runs here.

use crossterm::event::KeyModifiers;

use super::prelude::*;
use crate::{
    views::keymap::{Keymap, ViewId},
    widgets::theme::BUILTIN,
};
use analysis::market::TokenSummary;
use table::filter::words;

/// Maximum number of entries ranked and shown.
const SHOWN_MAX: usize = 200;
/// Longest input in characters.
const CHARS_MAX: usize = 500;
/// The prefix of a line that sets a point in time.
pub(crate) const AS_OF: &str = "as of ";
/// The prefix of a line that compares tokens.
const COMPARE: &str = "compare ";

#[derive(Debug)]
pub struct CommandPalette {
    line: TypedLine,
    entries: Vec<Entry>,
    /// Number of leading entries that are not tokens.
    fixed: usize,
    /// Indices into `entries`, best first.
    found: Vec<usize>,
    rows: Rows,
}

#[derive(Debug)]
struct Entry {
    /// Search synonyms.
    synonyms: &'static str,
    /// Searched and shown.
    name: String,
    /// Shown dimmed beside it.
    note: String,
    /// Shown at the right: keys, price.
    right: String,
    command: Command,
}

impl CommandPalette {
    pub fn new(keymap: &Keymap, view: ViewId, tokens: &[TokenSummary], api_on: bool) -> Self {
        let mut entries: Vec<Entry> = keymap
            .help(view)
            .into_iter()
            .map(|row| Entry {
                name: row.action.name().replace('_', " "),
                note: row.says.to_owned(),
                right: row.keys,
                command: Command::Act(row.action),
                synonyms: row.synonyms,
            })
            .collect();
        let keyless = |name: &str, note: &str, synonyms, command| Entry {
            name: name.to_owned(),
            note: note.to_owned(),
            right: String::new(),
            synonyms,
            command,
        };
        let api = if api_on { "stop api" } else { "start api" };
        let import = "Import a file by its path, with options as on the command line.";
        let files = "load add file folder";
        entries.extend([
            keyless(
                api,
                "Start or stop the HTTP API.",
                "server http",
                Command::ToggleApi,
            ),
            keyless(
                "import FILE",
                import,
                files,
                Command::Type("import ".to_owned()),
            ),
            keyless(
                "add TOKEN",
                "Add a token by address, symbol, name or coin:BTC.",
                "new live provider",
                Command::Type("add ".to_owned()),
            ),
            keyless(
                "compare TOKENS",
                "Compare tokens: `compare uni,aave vs weth 90d`.",
                "chart together correlation return",
                Command::Type(COMPARE.to_owned()),
            ),
            keyless(
                "as of DAY",
                "View the data as known on that day, such as 2026-01-31.",
                "date past history back",
                Command::Type(AS_OF.to_owned()),
            ),
            keyless(
                "open DIR",
                "Open another dataset by its folder.",
                files,
                Command::Type("open ".to_owned()),
            ),
        ]);
        entries.extend(BUILTIN.iter().map(|(theme, _)| {
            let command = Command::Theme((*theme).to_owned());
            keyless(
                &format!("theme {theme}"),
                "Change the colors.",
                "colors dark light appearance",
                command,
            )
        }));
        let fixed = entries.len();
        let mut palette = Self {
            line: TypedLine::new("", CHARS_MAX),
            entries,
            fixed,
            found: Vec::new(),
            rows: Rows::default(),
        };
        palette.set_tokens(tokens);
        palette
    }

    /// Replaces the tokens by those of another snapshot.
    pub fn set_tokens(&mut self, tokens: &[TokenSummary]) {
        self.entries.truncate(self.fixed);
        self.entries.extend(tokens.iter().map(|token| Entry {
            name: text::clean(token.symbol.as_deref().unwrap_or("–")).into_owned(),
            note: format!(
                "{}  {}",
                text::clean(token.name.as_deref().unwrap_or_default()),
                token.token_address.short()
            ),
            right: format!(
                "{}{}",
                if token.is_stale() { "stale " } else { "" },
                format::price(token.price)
            ),
            command: Command::Select(token.token_address),
            synonyms: "",
        }));
        self.rank();
    }

    /// `import FILE` and `open DIR` take a typed path, as files are not listed here; everything else is an entry.
    fn chosen(&self) -> OverlayOutcome {
        if let Some(said) = self.import() {
            return OverlayOutcome::Run(Command::Import(said.to_owned()));
        }
        if let Some(words) = self.add() {
            return OverlayOutcome::Run(Command::AddToken(words.to_owned()));
        }
        if let Some(tokens) = self.compared() {
            return OverlayOutcome::Run(Command::Compare(tokens.to_owned()));
        }
        if let Some(day) = self.day() {
            return OverlayOutcome::Run(Command::AsOf(day.to_owned()));
        }
        if let Some(folder) = self.folder() {
            return OverlayOutcome::Run(Command::OpenFolder(folder.to_owned()));
        }
        self.run(self.rows.selected).unwrap_or(OverlayOutcome::Stay)
    }

    fn run(&self, row: usize) -> Option<OverlayOutcome> {
        self.found
            .get(row)
            .map(|&i| OverlayOutcome::Run(self.entries[i].command.clone()))
    }

    fn folder(&self) -> Option<&str> {
        self.line
            .text()
            .strip_prefix("open ")
            .map(str::trim)
            .filter(|folder| folder.contains(['/', '.', '~']))
    }

    /// The argument of `add`.
    fn add(&self) -> Option<&str> {
        self.line
            .text()
            .strip_prefix("add ")
            .map(str::trim)
            .filter(|words| !words.is_empty() && *words != "TOKEN")
    }

    /// The argument of `compare`.
    fn compared(&self) -> Option<&str> {
        let tokens = self.line.text().strip_prefix(COMPARE).map(str::trim);
        tokens.filter(|tokens| !tokens.is_empty() && *tokens != "TOKENS" && *tokens != "tokens")
    }

    /// The argument of `as of`.
    fn day(&self) -> Option<&str> {
        self.line
            .text()
            .strip_prefix(AS_OF)
            .map(str::trim)
            .filter(|day| day.starts_with(|first: char| first.is_ascii_digit()))
    }

    /// The argument of `import`: path and options.
    fn import(&self) -> Option<&str> {
        self.line
            .text()
            .strip_prefix("import ")
            .map(str::trim)
            .filter(|said| !said.is_empty())
    }

    fn rank(&mut self) {
        self.rows.selected = 0;
        let wanted = self.line.text().trim().to_lowercase();
        let mut ranked: Vec<(i32, usize)> = self
            .entries
            .iter()
            .enumerate()
            .filter_map(|(i, entry)| {
                // A match in note or synonyms ranks below a match in the name.
                let by_name = score(&wanted, &entry.name);
                let told = || {
                    words::contains(&wanted, entry.synonyms)
                        || words::contains(&wanted, &entry.note)
                };
                let by_note = (wanted.len() > 2).then(told).filter(|hit| *hit).map(|_| 0);
                by_name.or(by_note).map(|score| (score, i))
            })
            .collect();
        ranked.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(&b.1)));
        self.found = ranked.into_iter().take(SHOWN_MAX).map(|(_, i)| i).collect();
    }
}

impl Dialog for CommandPalette {
    fn key(&mut self, key: &KeyEvent) -> OverlayOutcome {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Esc => return OverlayOutcome::Close,
            KeyCode::Char('p') if control => return OverlayOutcome::Close,
            KeyCode::Enter => return self.chosen(),
            KeyCode::Tab => _ = self.rows.arrow(KeyCode::Down, self.found.len()),
            KeyCode::BackTab => _ = self.rows.arrow(KeyCode::Up, self.found.len()),
            code => {
                if !self.rows.arrow(code, self.found.len()) && self.line.key(key) {
                    self.rank();
                }
            }
        }
        OverlayOutcome::Stay
    }

    /// Runs the clicked entry.
    fn click(&mut self, x: u16, y: u16) -> Option<OverlayOutcome> {
        self.run(self.rows.at(x, y)?)
    }

    fn paste(&mut self, pasted: &str) {
        // A path dropped on the terminal is a file to import.
        let dropped = pasted.trim().trim_start_matches(['\'', '"']);
        if self.line.text().is_empty()
            && ["/", "~/", "./"]
                .iter()
                .any(|start| dropped.starts_with(start))
        {
            self.line.paste("import ");
        }
        self.line.paste(pasted);
        self.rank();
    }

    fn draw(&mut self, buffer: &mut Buffer, area: Rect, theme: &Theme) {
        let inside = floating(buffer, area, (84, 20), "palette", theme);
        let base = theme.style(Role::Panel);
        let used = put(buffer, inside, 0, 0, "› ", theme.accent().patch(base));
        self.line.draw(buffer, inside, used, theme);
        if self.line.text().is_empty() {
            let says = [
                "an action, a token, `add TOKEN`, `import FILE`, or `open DIR` for another dataset",
                "an action, a token, `add TOKEN`, `import FILE`, `open DIR`",
            ];
            let says = text::longest_that_fits(
                says.map(str::to_owned),
                usize::from(inside.width.saturating_sub(used + 2)),
            );
            put(buffer, inside, used + 2, 0, &says, theme.dim().patch(base));
        } else if self.line.text() == AS_OF {
            let at = used + 2 + AS_OF.len() as u16;
            put(
                buffer,
                inside,
                at,
                0,
                "a day or time, such as 2026-01-31 or 2026-01-31T10:30",
                theme.dim().patch(base),
            );
        }
        let below = below(inside, 2);
        for (_, place, style, &i) in self.rows.draw(&self.found, buffer, below, theme) {
            draw_entry(buffer, place, &self.entries[i], theme, style);
        }
        if self.found.is_empty() {
            let says = match (self.import(), self.folder()) {
                _ if self.day().is_some() => "Enter shows the data as known at that time",
                _ if self.compared().is_some() => "Enter compares these tokens",
                _ if self.add().is_some() => "Enter searches this dataset's providers",
                (Some(_), _) => "Enter previews the import",
                (None, Some(_)) => "Enter opens this folder",
                // No claim about tokens before they are loaded.
                (None, None) if self.entries.len() == self.fixed => {
                    "no match; tokens are listed once the dataset is loaded"
                }
                (None, None) => "no match; Esc closes",
            };
            put(buffer, inside, 0, 2, says, theme.dim().patch(base));
        }
    }
}

fn draw_entry(
    buffer: &mut Buffer,
    place: Rect,
    entry: &Entry,
    theme: &Theme,
    style: ratatui::style::Style,
) {
    let right = text::width(&entry.right) as u16;
    let room = place.width.saturating_sub(right + 1);
    let left = Rect {
        width: room,
        ..place
    };
    let used = put(
        buffer,
        left,
        0,
        0,
        &text::fit(&entry.name, 18, text::Align::Left),
        theme.text().patch(style),
    );
    put(
        buffer,
        left,
        used + 1,
        0,
        &entry.note,
        theme.dim().patch(style),
    );
    put(
        buffer,
        place,
        place.width.saturating_sub(right),
        0,
        &entry.right,
        theme.accent().patch(style),
    );
}

/// The match score of `word` (already lower case) in `text`, higher is better; `None` if its letters do not occur in order.
fn score(word: &str, text: &str) -> Option<i32> {
    let letters: Vec<char> = text.chars().flat_map(char::to_lowercase).collect();
    let wanted: Vec<char> = word.chars().collect();
    if wanted.is_empty() {
        return Some(0);
    }
    // A substring beats scattered letters; best at the start of a word, and best of all as the whole word.
    let mut best = None;
    for start in 0..letters.len() {
        if letters[start..].starts_with(&wanted) {
            let end = start + wanted.len();
            let boundary = start == 0 || !letters[start - 1].is_alphanumeric();
            let whole = boundary && letters.get(end).is_none_or(|c| !c.is_alphanumeric());
            let points = 1_000
                + 200 * i32::from(boundary)
                + 200 * i32::from(whole)
                + 100 * i32::from(start == 0)
                - letters.len().min(99) as i32;
            best = best.max(Some(points));
        }
    }
    best.or_else(|| subsequence_score(&wanted, &letters))
}

/// A greedy subsequence match; a letter at the start of a word or right after the previous one scores higher.
fn subsequence_score(wanted: &[char], letters: &[char]) -> Option<i32> {
    let (mut points, mut at, mut last) = (0, 0, None);
    for &letter in wanted {
        let found = at + letters[at..].iter().position(|&c| c == letter)?;
        let starts = found == 0 || !letters[found - 1].is_alphanumeric();
        points += 10 * i32::from(starts) + 5 * i32::from(last == Some(found.wrapping_sub(1)));
        points -= (found - at).min(9) as i32;
        last = Some(found);
        at = found + 1;
    }
    Some(points)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn better_matches_score_higher() {
        let ranked = ["usd", "usd coin", "wrapped usd", "susd", "unlisted"];
        let scores: Vec<_> = ranked.iter().map(|text| score("usd", text)).collect();
        assert!(
            scores.windows(2).all(|pair| pair[0] > pair[1]),
            "{scores:?}"
        );
        assert_eq!(score("usd", "dust"), None);
        assert!(score("cs", "copy symbol") > score("cs", "ecosia"));
        assert_eq!(score("", "anything"), Some(0));
    }
}
