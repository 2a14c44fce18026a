//! The dashboard's memory in the user's state folder: the session and the watchlist. What cannot be saved is a warning and no more.

use std::{collections::HashSet, path::PathBuf};

use serde_json::{Value, json};

use crate::{
    dataset::address::Address,
    state::{session::Session, watchlist::Watchlist},
    tui::memory::Memory,
};

pub(super) struct StateFolder {
    folder: PathBuf,
    session: Session,
    watchlist: Watchlist,
}

impl StateFolder {
    pub(super) fn open(folder: PathBuf) -> Self {
        Self { session: Session::open(&folder), watchlist: Watchlist::open(&folder), folder }
    }
}

impl Memory for StateFolder {
    fn watchlist(&self) -> HashSet<Address> {
        self.watchlist.tokens().copied().collect()
    }

    fn session(&self) -> Value {
        json!({
            "view": self.session.view,
            "token": self.session.token,
            "theme": self.session.theme,
            "views": self.session.more.get("views"),
            "screens": self.session.more.get("screens"),
        })
    }

    fn star(&mut self, token: Address) -> Result<(), String> {
        self.watchlist.toggle(token).map(drop)
    }

    fn keep_session(&mut self, session: &Value) {
        let text = |name: &str| session[name].as_str().map(str::to_owned);
        self.session.view = text("view");
        self.session.theme = text("theme");
        self.session.token = session["token"].as_str().and_then(Address::parse);
        for name in ["views", "screens"] {
            self.session.more.insert(name.to_owned(), session[name].clone());
        }
        if let Err(reason) = self.session.save(&self.folder) {
            super::program::warn(&reason);
        }
    }
}
