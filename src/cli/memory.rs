//! Persists the dashboard's session, watchlist, levels and notes in the user's state folder.

use std::{collections::HashSet, path::PathBuf};

use serde_json::{Map, Value};

use crate::state::{annotations::AnnotationFile, session, watchlist::Watchlist};
use model::{
    address::Address,
    annotations::{Annotation, Annotations},
};
use tui::{memory::Memory, views::view::ProgramError};

pub(super) struct StateFolder {
    folder: PathBuf,
    session: Map<String, Value>,
    watchlist: Watchlist,
    annotations: AnnotationFile,
}

impl StateFolder {
    pub(super) fn open(folder: PathBuf) -> Self {
        Self {
            session: session::open(&folder),
            watchlist: Watchlist::open(&folder),
            annotations: AnnotationFile::open(&folder),
            folder,
        }
    }
}

impl Memory for StateFolder {
    fn watchlist(&self) -> HashSet<Address> {
        self.watchlist.tokens().copied().collect()
    }

    fn changed_watchlist(&mut self) -> Option<HashSet<Address>> {
        self.watchlist.changed().then(|| self.watchlist())
    }

    fn session(&self) -> Value {
        Value::Object(self.session.clone())
    }

    fn star(&mut self, token: Address) -> Result<(), ProgramError> {
        self.watchlist.toggle(token)?;
        Ok(())
    }

    fn annotations(&self) -> Annotations {
        self.annotations.annotations().clone()
    }

    fn annotate(&mut self, token: Address, annotation: &Annotation) -> Result<(), ProgramError> {
        Ok(self.annotations.set(token, annotation)?)
    }

    fn keep_session(&mut self, session: &Value) -> Result<(), ProgramError> {
        let Some(session) = session.as_object() else {
            return Ok(());
        };
        session::update(&self.session, session, &self.folder)?;
        self.session.clone_from(session);
        Ok(())
    }
}
