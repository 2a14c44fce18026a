//! Mouse handling before the view's: overlays first, then tabs and the footer's key hints; a right click selects a row and opens its action
//! menu.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers, MouseButton, MouseEvent, MouseEventKind};

use super::App;
use crate::{
    chrome::ChromeHit,
    overlay::{Overlay, OverlayOutcome, help::Help},
    views::view::Effect,
};

impl App {
    pub(super) fn mouse(&mut self, mouse: MouseEvent) {
        if matches!(mouse.kind, MouseEventKind::Moved) {
            return;
        }
        if let Some(overlay) = &mut self.overlay {
            let turn = |code| KeyEvent::new(code, KeyModifiers::NONE);
            let outcome = match mouse.kind {
                MouseEventKind::Down(_) => overlay
                    .click(mouse.column, mouse.row)
                    .unwrap_or(OverlayOutcome::Close),
                MouseEventKind::ScrollUp => overlay.key(&turn(KeyCode::Up)),
                MouseEventKind::ScrollDown => overlay.key(&turn(KeyCode::Down)),
                _ => return,
            };
            self.dirty = true;
            return self.outcome(outcome);
        }
        if mouse.kind == MouseEventKind::Down(MouseButton::Left) {
            match self
                .hits
                .iter()
                .find(|(place, _)| place.contains((mouse.column, mouse.row).into()))
                .map(|(_, hit)| *hit)
            {
                Some(ChromeHit::Tab(view)) => return self.go(view),
                Some(ChromeHit::Hint(action)) => return self.act(action),
                Some(ChromeHit::FilterKey(key, times)) => {
                    (0..times)
                        .for_each(|_| self.filter_key(&KeyEvent::new(key, KeyModifiers::NONE)));
                    self.dirty = true;
                    return;
                }
                None => {}
            }
        }
        let effect = self.with_view(self.current, |view, context| view.mouse(mouse, context));
        let on_row =
            mouse.kind == MouseEventKind::Down(MouseButton::Right) && effect != Effect::Nothing;
        self.carry_out(effect);
        if on_row {
            self.open_row_actions();
        }
    }

    /// Opens the action menu of the row under the cursor.
    fn open_row_actions(&mut self) {
        let lines = self
            .setup
            .keymap
            .row_actions(self.current, |action| self.view().answers(action));
        self.overlay = Some(Overlay::Help(Help::of_row(lines, self.current.title())));
        self.dirty = true;
    }
}
