//! Columns, indicators and named screens of the current view.

use serde_json::{Map, Value};

use super::App;
use crate::{
    overlay::{
        Overlay, columns::ColumnsDialog, indicators::IndicatorsDialog, screens::ScreensDialog,
    },
    views::{
        keymap::Action,
        list::{ColumnLayout, Listing, SCREEN},
    },
};

/// Maximum number of screens of a view.
const SCREENS_MAX: usize = 100;

impl App {
    pub(super) fn open_columns(&mut self) {
        let selected = if let Some(Overlay::Columns(dialog)) = &self.overlay {
            dialog.selected()
        } else {
            0
        };
        match self.view().listing().and_then(Listing::choice) {
            Some(choice) => {
                self.overlay = Some(Overlay::Columns(ColumnsDialog::new(choice, selected)));
            }
            None => self.say("this view's columns cannot be changed", false),
        }
    }

    pub(super) fn choose_columns(&mut self, layout: Option<ColumnLayout>) {
        let reset = layout.is_none();
        self.with_view(self.current, |view, context| {
            view.choose_columns(layout, context);
        });
        if reset {
            self.open_columns();
        }
    }

    pub(super) fn open_indicators(&mut self) {
        if let Some(chosen) = self.view().indicators() {
            self.overlay = Some(Overlay::Indicators(IndicatorsDialog::new(chosen)));
        }
    }

    fn screens_of_view(&mut self) -> &mut Map<String, Value> {
        self.screens.entry(self.current.row().word).or_default()
    }

    pub(super) fn open_screens(&mut self) {
        if !self.view().answers(Action::Screens)
            || self.view().listing().and_then(Listing::choice).is_none()
        {
            return self.say("screens cannot be saved in this view", false);
        }
        let screens = self
            .screens_of_view()
            .iter()
            .map(|(name, kept)| (name.clone(), holds(kept)))
            .collect();
        self.overlay = Some(Overlay::Screens(ScreensDialog::new(screens)));
    }

    pub(super) fn save_screen(&mut self, name: &str) {
        let mut kept = self.view().save();
        kept[SCREEN] = true.into();
        let screens = self.screens_of_view();
        if screens.len() >= SCREENS_MAX && !screens.contains_key(name) {
            return self.say(
                format!("{SCREENS_MAX} screens are already saved; delete one first"),
                true,
            );
        }
        let again = screens.insert(name.to_owned(), kept).is_some();
        self.say(
            format!(
                "screen `{name}` {}",
                if again {
                    "saved, replacing the earlier one"
                } else {
                    "saved; F2 opens it"
                }
            ),
            false,
        );
    }

    pub(super) fn open_screen(&mut self, name: &str) {
        let Some(kept) = self.screens_of_view().get(name).cloned() else {
            return;
        };
        self.with_view(self.current, |view, context| {
            view.restore(&kept);
            view.refresh(context);
        });
        self.take_in_changes();
        self.say(format!("screen `{name}`"), false);
    }

    pub(super) fn drop_screen(&mut self, name: &str) {
        self.screens_of_view().shift_remove(name);
        self.open_screens();
        self.say(format!("screen `{name}` deleted"), false);
    }
}

/// Summary of a screen: `cap>10m age<90d · -market_cap`.
fn holds(kept: &Value) -> String {
    let filter = kept["filter"]
        .as_str()
        .filter(|text| !text.is_empty())
        .unwrap_or("all rows");
    let sort: Vec<&str> = kept["sort"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    if sort.is_empty() {
        filter.to_owned()
    } else {
        format!("{filter} · {}", sort.join(","))
    }
}
