//! Adding a token: providers are contacted off the drawing thread, once the user agreed to their hosts; if they find several tokens, the user chooses.

use super::App;
use crate::{
    overlay::{Command, Confirm, Overlay, found::FoundDialog, welcome},
    views::task::BackgroundTask,
};
use model::{
    error::{Code, Problem},
    format::plural,
};
use query::service::refresh::add::{FoundToken, FoundTokens};

/// A search under way, or one whose tokens are on screen.
pub(crate) struct Adding {
    task: BackgroundTask<FoundTokens>,
    found: Option<FoundTokens>,
}

impl App {
    /// Opens the dataset of live tables; without tokens, prompts for one.
    pub(super) fn begin_live(&mut self) {
        let Some(folder) = self
            .setup
            .data_folder
            .as_ref()
            .map(|folder| folder.join(welcome::LIVE))
        else {
            return;
        };
        match self.setup.service.begin_live(&folder) {
            Ok(true) => self.say("to add another token, press : and type add TOKEN", false),
            Ok(false) => self.run(Command::Type("add ".to_owned())),
            Err(reason) => self.say(reason, true),
        }
    }

    /// Runs `add WORDS`; asks first where hosts were not agreed to.
    pub(super) fn add_token(&mut self, words: &str) {
        if let Some(symbol) = words
            .strip_prefix("coin:")
            .filter(|symbol| !symbol.is_empty())
        {
            return match self.setup.service.add_coin(symbol) {
                Ok(()) => self.say(
                    format!(
                        "added {}; its candles are being fetched",
                        symbol.to_uppercase()
                    ),
                    false,
                ),
                Err(reason) => self.say(reason, true),
            };
        }
        let hosts = match self.setup.service.search_hosts() {
            Ok(hosts) => hosts,
            Err(reason) => return self.say(reason, true),
        };
        if hosts.is_empty() {
            return self.find_token(words);
        }
        let named: Vec<String> = hosts
            .iter()
            .map(|(origin, count)| format!("{origin} ({})", plural(*count, "request", "requests")))
            .collect();
        let says = format!(
            "To find `{words}`, tokendeck contacts {}. Only what you typed is sent.",
            named.join(", ")
        );
        let command = Command::FindToken {
            words: words.to_owned(),
            agree: hosts.into_keys().collect(),
        };
        self.overlay = Some(Overlay::Confirm(Confirm::new(
            "add a token",
            says,
            "contact",
            command,
        )));
    }

    /// The user agreed to these hosts.
    pub(super) fn find_agreed(&mut self, words: &str, origins: &[String]) {
        match self.setup.service.agree_quietly(origins) {
            Ok(()) => self.find_token(words),
            Err(reason) => self.say(reason, true),
        }
    }

    fn find_token(&mut self, words: &str) {
        let (service, said) = (self.setup.service.clone(), words.to_owned());
        let task = BackgroundTask::start(&self.wake, move |progress| {
            let progress = progress.clone();
            service
                .find_tokens(&said, move || progress.cancelled())
                .map_err(|reason| Problem::new(Code::Defect, reason))
        });
        self.adding = Some(Adding { task, found: None });
        self.overlay = Some(Overlay::Found(FoundDialog::new(words)));
    }

    /// Polls the search's outcome.
    pub(super) fn poll_add(&mut self) {
        let is_open = matches!(self.overlay, Some(Overlay::Found(_)));
        let Some(adding) = &mut self.adding else {
            return;
        };
        if !is_open {
            // It was closed with Esc.
            adding.task.stop();
            self.adding = None;
            return;
        }
        let Some(outcome) = adding.task.poll() else {
            return;
        };
        match outcome {
            Ok(found) if found.tokens.len() == 1 => {
                adding.found = Some(found);
                self.overlay = None;
                self.add_found(0);
            }
            Ok(found) => {
                if let Some(Overlay::Found(dialog)) = &mut self.overlay {
                    dialog.show(found.tokens.clone());
                }
                adding.found = Some(found);
            }
            Err(problem) => {
                (self.overlay, self.adding) = (None, None);
                self.say(problem.detail, true);
            }
        }
        self.dirty = true;
    }

    /// Adds the token of that row.
    pub(super) fn add_found(&mut self, row: usize) {
        let Some(found) = self.adding.take().and_then(|adding| adding.found) else {
            return;
        };
        let Some(token) = found.tokens.get(row) else {
            return;
        };
        match self.setup.service.add_token(&found, token) {
            Ok(()) => self.say(
                format!("added {}; its rows are being fetched", name(token)),
                false,
            ),
            Err(reason) => self.say(reason, true),
        }
    }
}

fn name(token: &FoundToken) -> String {
    token
        .symbol
        .clone()
        .unwrap_or_else(|| token.address.short())
}
