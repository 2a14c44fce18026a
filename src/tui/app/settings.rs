//! Settings that were changed while the dashboard runs.

use std::sync::Arc;

use super::App;
use crate::tui::{
    task::Wake,
    view::{LiveSettings, NewSettings},
};

/// What stands before a problem of the settings among the warnings of the header.
const PROBLEM: &str = "settings: ";

impl App {
    /// From now on hears of changed settings.
    pub fn follow_settings(&mut self, settings: Option<Arc<dyn LiveSettings>>, wake: Wake) {
        if let Some(settings) = &settings {
            settings.listen(wake);
        }
        self.settings = settings;
    }

    /// Takes in what the file says now. What cannot be read is told until it is mended; what held before holds.
    pub(super) fn poll_settings(&mut self) {
        let Some(news) = self.settings.as_ref().and_then(|settings| settings.take()) else { return };
        self.setup.warnings.retain(|warning| !warning.starts_with(PROBLEM));
        match news {
            Ok(NewSettings { keymap, look, says }) => {
                self.setup.keymap = keymap.unwrap_or_else(|| self.setup.keymap.clone());
                if let Some(look) = look {
                    self.setup.look = look;
                    // What the file says goes before what was chosen in an earlier run.
                    self.chosen_theme = None;
                }
                self.say(says.join(" · "), false);
            }
            Err(reason) => {
                self.setup.warnings.insert(0, format!("{PROBLEM}{reason}"));
                self.say(reason, true);
            }
        }
        self.draw_whole();
    }
}
