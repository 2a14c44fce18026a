//! Keys pressed before the rows are available: while they are loaded, filtered or sorted. A key that acts on a row waits until the user can see the row,
//! and later keys wait with it.

use std::time::{Duration, Instant};

use crossterm::event::KeyEvent;

use super::App;
use crate::views::keymap::{Action, VIEWS};

/// How long rows may still move after the first of them are on screen, before keys act on what is there.
const SETTLING: Duration = Duration::from_secs(1);

/// The keys that wait for rows.
#[derive(Default)]
pub(super) struct EarlyKeys {
    held: Vec<KeyEvent>,
    /// Since when there are rows.
    seen: Option<Instant>,
    /// The first load is over.
    over: bool,
}

/// Whether the action needs no row.
fn needs_no_row(action: Action) -> bool {
    let alone = [
        Action::Quit,
        Action::Suspend,
        Action::Redraw,
        Action::NextView,
        Action::PreviousView,
        Action::Help,
        Action::Tour,
        Action::Palette,
        Action::Filter,
        Action::Reload,
        Action::Back,
    ];
    alone.contains(&action) || VIEWS.iter().any(|row| row.goto == action)
}

impl App {
    /// Takes a key that has to wait; false if it need not.
    pub(super) fn holds_early(&mut self, key: &KeyEvent) -> bool {
        if self.overlay.is_some() || self.filter.is_some() {
            return false;
        }
        let Some(action) = self.setup.keymap.action(self.current, key) else {
            return false;
        };
        let view = self.view();
        let is_early = !self.early.over && view.needs().is_some() || view.is_arranging();
        let waits = !self.early.held.is_empty() || (!needs_no_row(action) && is_early);
        if waits && action != Action::Quit && action != Action::Suspend {
            self.early.held.push(*key);
            return true;
        }
        false
    }

    /// Presses the waiting keys, once the rows no longer move.
    pub(super) fn release_early(&mut self) {
        let ended = match &self.snapshot {
            None => self.load.failure.is_some(),
            Some(_) => {
                !self.load.running
                    || self.early.seen.get_or_insert_with(Instant::now).elapsed() > SETTLING
            }
        };
        self.early.over |= ended;
        if self.early.over && !self.view().is_arranging() {
            for key in std::mem::take(&mut self.early.held) {
                self.key(&key);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::{app::bench::Bench, views::keymap::ViewId};
    use load::sample;

    #[test]
    fn keys_that_act_on_a_row_wait_for_the_rows() {
        let market = || {
            sample::dataset(&[(
                "tokens",
                "token_address,symbol,name,chain,price,market_cap
                 0x1,WETH,Wrapped Ether,eth,3000,9000
                 0x2,LINK,Chainlink,eth,14,900
                 0x3,UNI,Uniswap,eth,7,90",
            )])
        };
        for (keys, token, view, starred) in [
            ("↓↓w", "0x3", ViewId::Tokens, "0x3"),
            ("↓3", "0x2", ViewId::Chart, ""),
            ("3", "0x1", ViewId::Chart, ""),
            ("S↓w", "0x2", ViewId::Tokens, "0x2"),
            ("w", "0x1", ViewId::Tokens, "0x1"),
        ] {
            let keys: Vec<char> = keys.chars().collect();
            for early in 0..=keys.len() {
                let mut bench = Bench::new(crate::views::all());
                for (i, key) in keys.iter().enumerate() {
                    if i == early {
                        bench.load(market());
                    }
                    bench.keys(&key.to_string());
                }
                if early == keys.len() {
                    bench.load(market());
                }
                let found = (
                    bench.app.token,
                    bench.app.current,
                    bench.app.watchlist.iter().next().copied(),
                );
                let wanted = (
                    Some(sample::address(token)),
                    view,
                    (!starred.is_empty()).then(|| sample::address(starred)),
                );
                assert_eq!(found, wanted, "{keys:?}, loaded before key {early}");
            }
        }
        // A view without a dataset waits for nothing.
        let mut bench = Bench::new(crate::views::all());
        bench.keys("0?");
        assert!(bench.app.overlay.is_some() && bench.app.early.held.is_empty());
    }
}
