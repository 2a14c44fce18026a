//! The choices without a dataset: the folder of the last session, the demo, the user's own folder, live tokens by address.

use super::prelude::*;

/// The folder of live tokens.
pub(crate) const LIVE: &str = "live";

/// A choice: its name, what it does, and the folder it creates.
#[derive(Debug)]
struct Way {
    name: &'static str,
    says: String,
    kept: Option<String>,
    command: Command,
}

/// The ways, the likeliest first. Those that keep something need `own`, the folder of the user's own data.
fn ways(own: Option<&str>, last: Option<String>) -> Vec<Way> {
    let kept = |name: &str| own.map(|own| format!("{own}/{name}"));
    let last = last.map(|folder| Way {
        name: "last folder",
        says: format!("continue with {folder}"),
        kept: None,
        command: Command::OpenFolder(folder),
    });
    let demo = kept(demo::FOLDER).map(|folder| Way {
        name: "the demo",
        says: "a synthetic market of 64 tokens with real names, created locally in a second; nothing is downloaded".to_owned(),
        kept: Some(folder),
        command: Command::WriteDemo,
    });
    let folder = Way {
        name: "a folder of your own",
        says: "CSV, Parquet or JSON tables: type the path. `tokendeck import` converts files from explorers and exchanges".to_owned(),
        kept: None,
        command: Command::Type("open ".to_owned()),
    };
    let live = kept(LIVE).map(|folder| Way {
        name: "live tokens",
        says: "added by address or symbol, with pools and a year of candles from public services; tokendeck asks before contacting them"
            .to_owned(),
        kept: Some(folder),
        command: Command::BeginLive,
    });
    [last, demo, Some(folder), live]
        .into_iter()
        .flatten()
        .collect()
}

#[derive(Debug)]
pub struct Welcome {
    /// Why there is no dataset.
    reason: String,
    ways: Vec<Way>,
    selected: usize,
    /// Where each way was drawn, for the mouse.
    places: Vec<(usize, Rect)>,
}

impl Welcome {
    /// `own` is the folder of the user's data, `last` the folder of the last session.
    pub fn new(reason: &str, own: Option<&str>, last: Option<String>) -> Self {
        Self {
            reason: reason.to_owned(),
            ways: ways(own, last),
            selected: 0,
            places: Vec::new(),
        }
    }

    fn run(&self, nth: usize) -> OverlayOutcome {
        self.ways.get(nth).map_or(OverlayOutcome::Stay, |way| {
            OverlayOutcome::Run(way.command.clone())
        })
    }
}

impl Dialog for Welcome {
    fn key(&mut self, key: &KeyEvent) -> OverlayOutcome {
        let last = self.ways.len() - 1;
        match key.code {
            KeyCode::Enter => return self.run(self.selected),
            KeyCode::Char(digit @ '1'..='9') => return self.run(digit as usize - '1' as usize),
            KeyCode::Esc | KeyCode::Char('q') => return OverlayOutcome::Close,
            KeyCode::Down | KeyCode::Char('j') | KeyCode::Tab => {
                self.selected = (self.selected + 1).min(last);
            }
            KeyCode::Up | KeyCode::Char('k') | KeyCode::BackTab => {
                self.selected = self.selected.saturating_sub(1);
            }
            _ => {}
        }
        OverlayOutcome::Stay
    }

    fn click(&mut self, x: u16, y: u16) -> Option<OverlayOutcome> {
        let (nth, _) = self
            .places
            .iter()
            .find(|(_, place)| place.contains((x, y).into()))?;
        Some(self.run(*nth))
    }

    fn draw(&mut self, buffer: &mut Buffer, area: Rect, theme: &Theme) {
        let width = 78_u16.min(area.width.saturating_sub(2));
        let cells = usize::from(width.saturating_sub(4)).max(1);
        let mut why = text::wrap(&self.reason, cells, 3);
        let says = |way: &Way| {
            let mut lines = text::wrap(&way.says, cells.saturating_sub(4), 3);
            lines.extend(
                way.kept
                    .as_ref()
                    .map(|folder| format!("stored in {folder}")),
            );
            lines
        };
        let mut lines: Vec<Vec<String>> = self.ways.iter().map(says).collect();
        // Where there is no room for all sentences, the selected way has its own.
        let rows = |why: &[String], lines: &[Vec<String>], gap: usize| {
            why.len()
                + lines
                    .iter()
                    .map(|lines| lines.len() + 1 + gap)
                    .sum::<usize>()
                + 4
        };
        let is_tight = rows(&why, &lines, 1) > usize::from(area.height.saturating_sub(2));
        if is_tight {
            why = text::wrap(&self.reason, cells, 1);
            let selected = self.selected;
            lines
                .iter_mut()
                .enumerate()
                .filter(|(nth, _)| *nth != selected)
                .for_each(|(_, lines)| lines.clear());
        }
        let gap = u16::from(!is_tight);
        let height = rows(&why, &lines, gap.into());
        let inside = floating(
            buffer,
            area,
            (width, height as u16),
            "No dataset here. Where do you want to start?",
            theme,
        );
        let base = theme.style(Role::Panel);
        let mut y = 0;
        for says in &why {
            put(buffer, inside, 0, y, says, theme.dim().patch(base));
            y += 1;
        }
        self.places.clear();
        for (nth, (way, lines)) in self.ways.iter().zip(&lines).enumerate() {
            y += gap;
            let height = (lines.len() as u16 + 1).min(inside.height.saturating_sub(y));
            let place = Rect {
                y: inside.y + y,
                height,
                ..inside
            };
            let style = theme.style(if nth == self.selected {
                Role::Selection
            } else {
                Role::Panel
            });
            buffer.set_style(place, style);
            put(
                buffer,
                place,
                0,
                0,
                &format!("{}", nth + 1),
                theme.accent().patch(style),
            );
            put(buffer, place, 4, 0, way.name, theme.strong().patch(style));
            for (row, says) in lines.iter().enumerate() {
                put(
                    buffer,
                    place,
                    4,
                    row as u16 + 1,
                    says,
                    theme.text().patch(style),
                );
            }
            self.places.push((nth, place));
            y += lines.len() as u16 + 1;
        }
        let numbers: Vec<String> = (1..=self.ways.len()).map(|nth| nth.to_string()).collect();
        let keys = format!("Enter or {} chooses · Esc cancels", numbers.join(" "));
        put(
            buffer,
            inside,
            0,
            inside.height.saturating_sub(1),
            &keys,
            theme.accent().patch(base),
        );
    }
}
