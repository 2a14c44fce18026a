//! The user's levels and notes in the dashboard: their dialogs and their unsaved changes.

use super::App;
use crate::overlay::{NoteDialog, Overlay, levels::LevelsDialog};
use model::{
    address::Address,
    annotations::{self, Annotation},
    format,
};

impl App {
    pub(super) fn open_levels(&mut self) {
        let Some(about) = self.about_token() else {
            return self.say("no token is selected", false);
        };
        let price = self
            .with_view(self.current, |view, _| view.pointed_price())
            .or_else(|| self.last_price());
        let levels = self
            .annotations
            .get(&about.token)
            .map(|own| own.levels.clone())
            .unwrap_or_default();
        self.overlay = Some(Overlay::Levels(LevelsDialog::new(about, price, levels)));
    }

    pub(super) fn open_note(&mut self) {
        let Some(about) = self.about_token() else {
            return self.say("no token is selected", false);
        };
        let note = self
            .annotations
            .get(&about.token)
            .map_or("", |own| &own.note);
        self.overlay = Some(Overlay::Note(NoteDialog::new(about, note)));
    }

    /// Applies the change and saves it.
    pub(super) fn annotate(&mut self, token: Address, annotation: &Annotation) {
        if let Err(reason) = annotations::apply(&mut self.annotations, token, annotation) {
            return self.say(reason, true);
        }
        self.annotated.push((token, annotation.clone()));
        self.say(
            match annotation {
                Annotation::Level(level) => format!(
                    "set level `{}` at {}",
                    level.name,
                    format::price(Some(level.price))
                ),
                Annotation::NoLevel(name) => format!("removed level `{name}`"),
                Annotation::Note(note) if note.trim().is_empty() => "removed the note".to_owned(),
                Annotation::Note(_) => "saved the note".to_owned(),
            },
            false,
        );
    }

    /// Opens the alerts with the condition that the price reaches the level.
    pub(super) fn alert_at(&mut self, price: f64) {
        let sign = if self.last_price().is_some_and(|last| last > price) {
            '<'
        } else {
            '>'
        };
        self.open_alerts(&format!("price{sign}{price}"));
    }

    fn last_price(&self) -> Option<f64> {
        let snapshot = self.snapshot.as_ref()?;
        snapshot.market.of(&snapshot.dataset, &self.token?)?.price
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use crate::app::bench::Bench;
    use load::sample;
    use query::jobs::{JobOptions, Jobs};

    #[test]
    fn a_level_is_set_edited_alerted_on_and_removed_and_a_note_kept() {
        let (mut bench, state) = (
            Bench::new(crate::views::all()),
            tempfile::tempdir().expect("a folder"),
        );
        let service = Arc::clone(&bench.app.setup.service);
        bench.app.setup.jobs =
            Some(Jobs::open(state.path(), service, JobOptions::default()).expect("a store"));
        let candle = |day: u32| format!("0x1,2026-01-{day:02},{day},{day}.5,{day},{day},1d\n");
        let candles = format!(
            "token_address,timestamp,open,high,low,close,interval\n{}",
            (10..=30).map(candle).collect::<String>()
        );
        let mut dataset = sample::dataset(&[
            ("tokens", "token_address,symbol,name,chain\n0x1,ONE,One,eth"),
            ("candles", &candles),
        ]);
        dataset.folder = "/data/market".into();
        bench.load(dataset);
        bench.until("ONE");
        bench.keys("3");
        bench.until("ONE · 1d");
        bench.keys("a");
        bench.until("levels of ONE");
        bench.keys("goal⇥⌫⌫⌫⌫⌫⌫⌫25⏎");
        let shown = bench.until("goal◂ 25.00");
        assert!(shown.contains("set level `goal` at 25.00"), "{shown}");
        // The level of that name is moved.
        bench.keys("a↓⇥⌫⌫27⏎");
        bench.until("goal◂ 27.00");
        bench.keys("a↓⌃");
        bench.until("alert me when ONE has  price<27");
        bench.keys("⎋Ewatch it⏎");
        bench.until("saved the note");
        bench.keys("a↓⌦");
        bench.until("no levels yet");
        bench.keys("⎋");
        let token = sample::address("0x1");
        assert_eq!(bench.app.annotated.len(), 4);
        assert_eq!(bench.app.annotations[&token].note, "watch it");
        bench.keys("E");
        bench.until("watch it▏");
        bench.keys(&format!("{}⏎", "⌫".repeat(9)));
        assert!(bench.app.annotations.is_empty());
    }
}
