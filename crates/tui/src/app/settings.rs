//! Live reload of the settings.

use std::sync::Arc;

use super::App;
use crate::{
    task::Wake,
    view::{LiveSettings, NewSettings},
};

/// Prefix of a settings error among the header's warnings.
const PROBLEM: &str = "settings: ";

impl App {
    /// Starts watching the settings.
    pub fn follow_settings(&mut self, settings: Option<Arc<dyn LiveSettings>>, wake: Wake) {
        if let Some(settings) = &settings {
            settings.listen(wake);
        }
        self.settings = settings;
    }

    /// Applies the changed file. An error stays in the header until it is corrected; the previous settings remain in force.
    pub(super) fn poll_settings(&mut self) {
        let Some(news) = self.settings.as_ref().and_then(|settings| settings.take()) else { return };
        self.setup.warnings.retain(|warning| !warning.starts_with(PROBLEM));
        match news {
            Ok(NewSettings { keymap, look, says }) => {
                self.setup.keymap = keymap.unwrap_or_else(|| self.setup.keymap.clone());
                if let Some(look) = look {
                    self.setup.look = look;
                    // The file overrides the theme chosen in an earlier run.
                    self.chosen_theme = None;
                }
                self.say(says.join(" · "), false);
            }
            Err(reason) => {
                self.setup.warnings.insert(0, format!("{PROBLEM}{reason}"));
                self.say(reason, true);
            }
        }
        self.request_full_redraw();
    }
}
