//! Key bindings. One table (`keymap/table.rs`) feeds dispatch, help, footer and palette; user bindings override it.

mod bindings;
mod chord;

use crossterm::event::{KeyEvent, KeyEventKind};

use crate::views::error::BindingError;
use model::spelling::nearest;

pub use self::{
    bindings::{Action, KEYS, KeyRow, Scope, VIEWS, ViewId, ViewRow},
    chord::Chord,
};

/// Footer weight of the hints that every view shows, at the end.
const ALWAYS: u8 = 255;

/// The bindings in force.
#[derive(Debug, Clone)]
pub struct Keymap {
    /// The chords of each row of `KEYS`.
    chords: Vec<Vec<Chord>>,
}

impl Default for Keymap {
    fn default() -> Self {
        let chords = KEYS
            .iter()
            .map(|row| {
                row.keys
                    .iter()
                    .filter_map(|key| Chord::parse(key))
                    .collect()
            })
            .collect();
        Self { chords }
    }
}

impl Keymap {
    /// The defaults with the user's `[keys]` applied: `copy_value = "y"` or `= ["y", "F5"]`, `[]` for none. Invalid entries are returned as
    /// sentences; the others apply.
    pub fn with(own: &toml::Table) -> (Self, Vec<String>) {
        let mut map = Self::default();
        let mut problems = Vec::new();
        let mut remapped = vec![false; KEYS.len()];
        for (name, value) in own {
            let Some(place) = KEYS.iter().position(|row| row.action.name() == name) else {
                problems.push(unknown_action(name));
                continue;
            };
            match chords_of(name, value) {
                Ok(chords) => {
                    map.chords[place] = chords;
                    remapped[place] = true;
                }
                Err(problem) => problems.push(problem.to_string()),
            }
        }
        map.resolve_conflicts(&remapped, &mut problems);
        (map, problems)
    }

    /// Resolves conflicts: where two actions share a key in one scope, the user's binding wins, otherwise the first in the table.
    fn resolve_conflicts(&mut self, remapped: &[bool], problems: &mut Vec<String>) {
        for a in 0..KEYS.len() {
            for b in a + 1..KEYS.len() {
                if !KEYS[a].scope.overlaps(KEYS[b].scope) {
                    continue;
                }
                let (keeps, loses) = if remapped[b] && !remapped[a] {
                    (b, a)
                } else {
                    (a, b)
                };
                let kept = self.chords[keeps].clone();
                let shared: Vec<Chord> = self.chords[loses]
                    .iter()
                    .copied()
                    .filter(|chord| kept.contains(chord))
                    .collect();
                for chord in shared {
                    self.chords[loses].retain(|other| *other != chord);
                    let (kept, lost) = (KEYS[keeps].action.name(), KEYS[loses].action.name());
                    problems
                        .push(format!("`{chord}` is bound to both `{kept}` and `{lost}`; `{kept}` keeps it; bind `{lost}` to another key"));
                }
            }
        }
    }

    /// The action of a key in the view; bindings of the view take precedence over global ones.
    pub fn action(&self, view: ViewId, event: &KeyEvent) -> Option<Action> {
        if event.kind == KeyEventKind::Release {
            return None;
        }
        self.action_of(view, Chord::of(event)?)
    }

    pub fn action_of(&self, view: ViewId, chord: Chord) -> Option<Action> {
        let rows = KEYS.iter().zip(&self.chords);
        let found = |own: bool| {
            let mut rows = rows.clone();
            rows.find(|(row, chords)| {
                row.scope.holds(view)
                    && (row.scope != Scope::Everywhere) == own
                    && chords.contains(&chord)
            })
        };
        found(true)
            .or_else(|| found(false))
            .map(|(row, _)| row.action)
    }

    /// The keys of an action as text, the main one first.
    pub fn keys(&self, action: Action) -> Vec<String> {
        let rows = KEYS.iter().zip(&self.chords);
        rows.filter(|(row, _)| row.action == action)
            .flat_map(|(_, chords)| chords.iter().map(Chord::to_string))
            .collect()
    }

    /// The help lines of a view, its own bindings first.
    pub fn help(&self, view: ViewId) -> Vec<HelpLine> {
        // The view's own bindings, then those of several views, then global ones.
        let nearness = |scope: Scope| match scope {
            Scope::View(_) => 0,
            Scope::Some(..) => 1,
            Scope::Everywhere => 2,
        };
        let shown =
            |(row, chords): &(&KeyRow, &Vec<Chord>)| row.scope.holds(view) && !chords.is_empty();
        let mut rows: Vec<(&KeyRow, &Vec<Chord>)> =
            KEYS.iter().zip(&self.chords).filter(shown).collect();
        rows.sort_by_key(|(row, _)| nearness(row.scope));
        rows.into_iter()
            .map(|(row, chords)| HelpLine {
                action: row.action,
                scope: row.scope,
                keys: chords
                    .iter()
                    .map(Chord::to_string)
                    .collect::<Vec<_>>()
                    .join("  "),
                says: row.help,
                synonyms: row.synonyms,
            })
            .collect()
    }

    /// The actions on a row of the view: those of every view, then its own.
    pub fn row_actions(&self, view: ViewId, answered: impl Fn(Action) -> bool) -> Vec<HelpLine> {
        let (own, all): (Vec<HelpLine>, Vec<HelpLine>) = self
            .help(view)
            .into_iter()
            .partition(|line| line.scope != Scope::Everywhere);
        let of_rows = all
            .into_iter()
            .filter(|line| ROW_ACTIONS.contains(&line.action));
        of_rows
            .chain(own)
            .filter(|line| answered(line.action))
            .collect()
    }

    /// The footer hints of a view: its `most` heaviest bindings among the actions that `answered` accepts, as (action, key, label).
    pub fn footer_of(
        &self,
        view: ViewId,
        most: usize,
        answered: impl Fn(Action) -> bool,
    ) -> Vec<(Action, String, &'static str)> {
        let mut rows: Vec<(&KeyRow, Chord)> = KEYS
            .iter()
            .zip(&self.chords)
            .filter(|(row, _)| {
                row.footer.is_some() && row.scope.holds(view) && answered(row.action)
            })
            .filter_map(|(row, chords)| Some((row, *chords.first()?)))
            .collect();
        rows.sort_by_key(|(row, _)| row.footer.map(|(_, weight)| std::cmp::Reverse(weight)));
        rows.truncate(most);
        // The hints of every view stay at the end.
        let always =
            rows.partition_point(|(row, _)| row.footer.is_some_and(|(_, weight)| weight == ALWAYS));
        rows.rotate_left(always);
        rows.into_iter()
            .filter_map(|(row, chord)| Some((row.action, chord.symbol(), row.footer?.0)))
            .collect()
    }
}

/// A help line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HelpLine {
    pub action: Action,
    pub scope: Scope,
    pub keys: String,
    pub says: &'static str,
    pub synonyms: &'static str,
}

/// The global actions that apply to the row under the cursor.
const ROW_ACTIONS: &[Action] = &[
    Action::Open,
    Action::CopyValue,
    Action::CopyRow,
    Action::CopyCurl,
    Action::OpenLink,
    Action::Star,
    Action::Export,
];

fn unknown_action(name: &str) -> String {
    let names = KEYS.iter().map(|row| row.action.name());
    let nearest = nearest(name, names).unwrap_or("help");
    format!("unknown action `{name}` in terminal.keys; did you mean `{nearest}`?")
}

fn chords_of(name: &str, value: &toml::Value) -> Result<Vec<Chord>, BindingError> {
    let one = |value: &toml::Value| {
        let action = || name.to_owned();
        let text = value.as_str().ok_or_else(|| BindingError::NotText {
            action: action(),
            value: value.to_string(),
        })?;
        Chord::parse(text).ok_or_else(|| BindingError::NotAKey {
            action: action(),
            text: text.to_owned(),
        })
    };
    match value {
        toml::Value::Array(keys) => keys.iter().map(one).collect(),
        key => Ok(vec![one(key)?]),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use crossterm::event::{KeyCode, KeyModifiers};

    use super::*;

    #[test]
    fn every_default_key_can_be_read_and_no_two_actions_share_one_in_a_view() {
        for row in KEYS {
            for key in row.keys {
                let chord = Chord::parse(key);
                assert_eq!(chord.map(|chord| chord.to_string()).as_deref(), Some(*key));
            }
        }
        let (_, problems) = Keymap::with(&toml::Table::new());
        assert!(problems.is_empty(), "{problems:?}");
    }

    #[test]
    fn names_and_sentences_are_there_once() {
        let names: HashSet<_> = KEYS.iter().map(|row| row.action.name()).collect();
        assert_eq!(names.len(), KEYS.len());
        for row in KEYS {
            assert!(
                row.help.ends_with('.') && row.help.len() >= 8,
                "{:?}",
                row.action
            );
            assert!(!row.keys.is_empty(), "{:?}", row.action);
        }
    }

    #[test]
    fn the_keys_of_the_description_do_what_it_says() {
        let map = Keymap::default();
        let everywhere = "? help, : palette, Ctrl-P palette, / filter, s sort, S sort_reverse, j down, Up up, g first, G last, PageDown page_down, \
                          Enter open, Esc back, y copy_value, Y copy_row, e export, o open_link, w star, c copy_curl, r reload, q quit, \
                          Ctrl-Z suspend, Tab next_view, Shift-Tab previous_view, 0 view_api, 3 view_chart";
        let own = [
            (
                ViewId::Chart,
                "+ zoom_in, x crosshair, t timeframe, L log_scale",
            ),
            (ViewId::Growth, "t window"),
            (ViewId::Jobs, "x terminate"),
            (ViewId::Api, "K show_key"),
            (ViewId::Posts, "a all_posts"),
        ];
        for (view, keys) in VIEWS.iter().map(|view| (view.id, everywhere)).chain(own) {
            for (key, action) in keys.split(", ").filter_map(|key| key.split_once(' ')) {
                assert_eq!(
                    map.action_of(view, Chord::parse(key).unwrap())
                        .map(Action::name),
                    Some(action),
                    "{key} in {}",
                    view.title()
                );
            }
        }
    }

    #[test]
    fn shift_g_and_capital_g_are_one_chord() {
        let map = Keymap::default();
        for (code, modifiers) in [
            ('G', KeyModifiers::SHIFT),
            ('g', KeyModifiers::SHIFT),
            ('G', KeyModifiers::NONE),
        ] {
            assert_eq!(
                map.action(
                    ViewId::Tokens,
                    &KeyEvent::new(KeyCode::Char(code), modifiers)
                ),
                Some(Action::Last)
            );
        }
        let release = KeyEvent::new_with_kind(
            KeyCode::Char('q'),
            KeyModifiers::NONE,
            KeyEventKind::Release,
        );
        assert_eq!(map.action(ViewId::Tokens, &release), None);
        assert_eq!(
            map.action(
                ViewId::Tokens,
                &KeyEvent::new(KeyCode::BackTab, KeyModifiers::SHIFT)
            ),
            Some(Action::PreviousView)
        );
        assert_eq!(
            map.action(
                ViewId::Chart,
                &KeyEvent::new(KeyCode::Char('+'), KeyModifiers::SHIFT)
            ),
            Some(Action::ZoomIn)
        );
    }

    #[test]
    fn ones_own_keys_win_and_conflicts_are_told() {
        let own: toml::Table =
            "export = 'y'\nquit = ['Q', 'Ctrl-Q']\nquitt = 'x'\nhelp = 7\nstar = 'Ctrl-Banana'"
                .parse()
                .unwrap();
        let (map, problems) = Keymap::with(&own);
        let of = |key: &str| map.action_of(ViewId::Tokens, Chord::parse(key).unwrap());
        assert_eq!(
            (of("y"), of("Ctrl-Q"), of("q"), of("w")),
            (
                Some(Action::Export),
                Some(Action::Quit),
                None,
                Some(Action::Star)
            )
        );
        assert_eq!(map.keys(Action::CopyValue), Vec::<String>::new());
        assert_eq!(problems.len(), 4, "{problems:?}");
        assert!(
            problems
                .iter()
                .any(|text| text == "`y` is bound to both `export` and `copy_value`; `export` keeps it; bind `copy_value` to another key")
        );
        assert!(
            problems
                .iter()
                .any(|text| text.ends_with("did you mean `quit`?"))
        );
    }

    #[test]
    fn the_footer_shows_the_weightiest_keys() {
        let footer = Keymap::default().footer_of(ViewId::Tokens, 6, |_| true);
        let shown: Vec<String> = footer
            .iter()
            .map(|(_, key, label)| format!("{key} {label}"))
            .collect();
        assert_eq!(
            shown,
            [
                "⏎ open",
                "/ filter",
                "s sort",
                "w star",
                ": palette",
                "? help"
            ]
        );
        for view in VIEWS {
            assert!(
                Keymap::default()
                    .footer_of(view.id, 6, |_| true)
                    .iter()
                    .any(|(_, _, label)| *label == "help"),
                "{}",
                view.title
            );
        }
    }

    #[test]
    fn the_help_lists_the_views_own_keys_first() {
        let help = Keymap::default().help(ViewId::Chart);
        assert_eq!(help[0].scope, Scope::View(ViewId::Chart));
        assert!(help.iter().any(|line| line.action == Action::Quit));
    }
}
