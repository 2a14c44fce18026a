//! Runs the effects and commands of views and overlays: selecting, copying, opening links, reloading. With `export` and `import`, through
//! which the dataset writes files, the only place of the terminal interface with side effects outside the program.

use std::{path::PathBuf, process::Stdio, sync::Arc, thread};

use crossterm::{Command as _, clipboard::CopyToClipboard};

use super::App;
use crate::{
    overlay::{
        Command, Overlay,
        export::{ExportDialog, ExportRetry},
    },
    views::{
        compare::Comparison,
        keymap::{Action, ViewId},
        view::{ApiState, Effect, HttpRequest},
    },
    widgets::{
        text,
        theme::{Palette, Theme},
    },
};
use demo;
use frames::export::{self, ExportError, writers::ExportFormat};
use model::{command_line::quoted, format};
use query::service::ServiceEvent;

/// Most cells of a copied text in the footer's toast: an address is shown in full.
const COPIED_SHOWN: usize = 42;

impl App {
    pub(crate) fn carry_out(&mut self, effect: Effect) {
        match effect {
            Effect::Nothing | Effect::Pass => return,
            Effect::Redraw => {}
            Effect::Select(token) => self.select(token),
            Effect::Open(token, view) => {
                let from = self.current;
                (self.pending_selection, self.lost_token, self.token) = (None, None, Some(token));
                self.go(view);
                self.opened_from = Some(from).filter(|from| *from != view);
            }
            Effect::Copy(text, what) => {
                self.copy(
                    &text,
                    &format!("{what} {}", text::truncate(&text, COPIED_SHOWN)),
                );
            }
            Effect::OpenLink(link) => self.open_link(&link),
            Effect::Star(token) => {
                let starred = self.watchlist.insert(token);
                if !starred {
                    self.watchlist.remove(&token);
                }
                self.starred.push(token);
                let known = self.snapshot.as_ref().and_then(|snapshot| {
                    snapshot
                        .market
                        .of(&snapshot.dataset, &token)?
                        .symbol
                        .clone()
                });
                let symbol = known.unwrap_or_else(|| token.short());
                self.say(
                    format!(
                        "{symbol} {} the watchlist",
                        if starred { "added to" } else { "removed from" }
                    ),
                    false,
                );
                self.take_in_changes();
            }
            Effect::Say(text) => self.say(text, false),
            Effect::Warn(text) => self.say(text, true),
            Effect::Edit(of, text) => self.edit_line(of, &text),
        }
        self.dirty = true;
    }

    pub(super) fn run(&mut self, command: Command) {
        match command {
            Command::Act(action) => self.act(action),
            Command::Select(token) => self.select(token),
            Command::Theme(name) => self.change_theme(&name),
            Command::Compare(words) => self.compare(&words),
            Command::OpenFolder(folder) => self.open_folder(&folder),
            Command::Import(said) => self.look_at_import(&said),
            Command::ImportNow(said) => self.import_now(&said),
            Command::Type(text) => {
                self.open_palette();
                if let Some(palette) = &mut self.overlay {
                    palette.paste(&text);
                }
            }
            Command::ToggleApi => self.toggle_api(),
            Command::Export {
                file,
                format,
                replace,
            } => self.export_as(&file, format, replace),
            Command::Columns(layout) => self.choose_columns(layout.map(|layout| *layout)),
            Command::Indicators(chosen) => {
                self.with_view(self.current, |view, context| {
                    view.choose_indicators(chosen, context);
                });
            }
            Command::AddAlert(request) => self.add_alert(request),
            Command::RehearseAlert(request) => self.rehearse(request),
            Command::RemoveAlert(id) => self.remove_alert(id),
            Command::Annotation(token, annotation) => self.annotate(token, &annotation),
            Command::AlertAt(price) => self.alert_at(price),
            Command::SaveScreen(name) => self.save_screen(&name),
            Command::OpenScreen(name) => self.open_screen(&name),
            Command::DropScreen(name) => self.drop_screen(&name),
            Command::WriteDemo => self.write_demo(),
            Command::BeginLive => self.begin_live(),
            Command::Agree(origins) => self.agree(&origins),
            Command::AddToken(words) => self.add_token(&words),
            Command::AsOf(typed) => self.show_as_of(&typed),
            Command::FindToken { words, agree } => self.find_agreed(&words, &agree),
            Command::AddFound(row) => self.add_found(row),
        }
        self.dirty = true;
    }

    /// Asks again where the file exists or cannot be written.
    fn export_as(&mut self, file: &str, format: Option<ExportFormat>, replace: bool) {
        let path = expand(file);
        let checked = if format.is_some() {
            export::check(&path, replace)
        } else {
            export::check_text(&path, replace)
        };
        let again = if !replace && path.is_file() {
            ExportRetry::Taken
        } else if let Err(ExportError::Failed(reason)) = checked {
            ExportRetry::Refused(reason.to_string())
        } else if format.is_some() {
            return self.export_to(path, replace);
        } else {
            return self.write_page(path, replace);
        };
        let count = self.with_view(self.current, |view, context| view.export(context)?.count);
        self.overlay = Some(Overlay::Export(ExportDialog::again(
            file, format, count, again,
        )));
    }

    /// Through the terminal (OSC 52), which also works over ssh.
    fn copy(&mut self, text: &str, what: &str) {
        let mut sequence = String::new();
        if CopyToClipboard::to_clipboard_from(text)
            .write_ansi(&mut sequence)
            .is_ok()
        {
            self.after_frame.extend_from_slice(sequence.as_bytes());
            self.say(format!("copied {what}"), false);
        }
    }

    /// Copies the selected row as a JSON object.
    pub(super) fn copy_row(&mut self) {
        let export = self.with_view(self.current, |view, context| view.export(context));
        let row = export.and_then(|export| {
            serde_json::to_string(
                &export
                    .columns
                    .into_iter()
                    .zip(export.selected?)
                    .collect::<serde_json::Map<_, _>>(),
            )
            .ok()
        });
        match row {
            Some(json) => self.copy(&json, "the row as JSON"),
            None => self.say("no row to copy in this view", false),
        }
    }

    pub(super) fn copy_curl(&mut self) {
        let Some(request) = self.with_view(self.current, |view, context| view.request(context))
        else {
            return self.say("this view has no request to copy", false);
        };
        let base = match self.setup.api.state() {
            ApiState::Listening(base) => base,
            ApiState::Off | ApiState::Failed(_) | ApiState::Taken(_) => {
                "http://127.0.0.1:8787".to_owned()
            }
        };
        let what = request.page.map_or_else(
            || "the curl command".to_owned(),
            |(page, pages)| {
                format!(
                    "the curl command: page {} of {}",
                    format::count(page),
                    format::count(pages)
                )
            },
        );
        self.copy(&curl(&base, &self.of_its_time(request)), &what);
    }

    pub(super) fn reload(&mut self) {
        self.setup.service.load_in_background();
        self.setup.service.refresh_feed();
        self.say("reloading the data", false);
        self.take_in_changes();
    }

    /// Goes to the newest report of the token, which is made where there is none.
    pub(super) fn open_report(&mut self) {
        let from = self.current;
        self.go(ViewId::Jobs);
        self.opened_from = Some(from).filter(|from| *from != ViewId::Jobs);
        let effect = self.with_view(ViewId::Jobs, |view, context| {
            view.act(Action::Report, context)
        });
        self.carry_out(effect);
    }

    fn change_theme(&mut self, name: &str) {
        if let Some(palette) = Palette::builtin(name) {
            self.setup.look.theme = Theme::new(&palette, self.setup.look.options);
            self.chosen_theme = Some(name.to_owned());
        } else {
            self.say(format!("theme `{name}` not found"), true);
        }
    }

    fn toggle_api(&mut self) {
        let state = match self.setup.api.state() {
            ApiState::Listening(_) => {
                self.setup.api.stop();
                ApiState::Off
            }
            ApiState::Off | ApiState::Failed(_) | ApiState::Taken(_) => self.setup.api.start(),
        };
        match state {
            ApiState::Failed(reason) | ApiState::Taken(reason) => self.say(reason, true),
            _ => self.say("done", false),
        }
    }

    /// Opens the comparison of the named tokens in Tokens.
    fn compare(&mut self, words: &str) {
        let Some(snapshot) = self.snapshot.clone() else {
            return self.say("no data is loaded yet", true);
        };
        match Comparison::read(words, &snapshot) {
            Ok(wanted) => {
                self.go(ViewId::Tokens);
                let effect = self.with_view(ViewId::Tokens, |view, context| {
                    view.compare(&wanted, context)
                });
                self.carry_out(effect);
            }
            Err(problem) => self.say(problem.to_string(), true),
        }
    }

    fn open_folder(&mut self, folder: &str) {
        let path = expand(folder);
        if path.is_dir() {
            self.earlier = super::as_of::PointInTimeView::default();
            self.setup.service.open(&path);
            self.reload();
        } else if self.snapshot.is_none() {
            self.load_failed(&format!("`{folder}` is not a folder"));
        } else {
            self.say(format!("`{folder}` is not a folder"), true);
        }
    }

    fn agree(&mut self, origins: &[String]) {
        if let Err(reason) = self.setup.service.agree(origins) {
            self.say(reason, true);
        }
    }

    fn write_demo(&mut self) {
        let Some(folder) = self
            .setup
            .data_folder
            .as_ref()
            .map(|folder| folder.join(demo::FOLDER))
        else {
            return;
        };
        let service = Arc::clone(&self.setup.service);
        service.open_soon(&folder);
        self.say("writing demo data", false);
        let spawned = thread::Builder::new().name("demo".into()).spawn(move || {
            match demo::write(&folder, &demo::DemoOptions::default(), &mut |_, _, _| true) {
                Ok(_) => drop(service.load()),
                Err(error) => service.notify(ServiceEvent::LoadFailed(error.into())),
            }
        });
        if spawned.is_err() {
            self.say("cannot start a thread", true);
        }
    }

    fn open_link(&mut self, link: &str) {
        // Web URLs only: a dataset's text must not reach a command line as anything else.
        if !(link.starts_with("https://") || link.starts_with("http://"))
            || link.chars().any(char::is_control)
        {
            return self.say("not a web link", true);
        }
        let spawned = model::system::link_opener()
            .arg(link)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        if let Ok(mut child) = spawned {
            // A thread reaps the child process; where none can be started, the system does.
            thread::Builder::new()
                .name("link".into())
                .spawn(move || child.wait())
                .ok();
            self.say(format!("opening {link}"), false);
        } else {
            self.copy(
                link,
                &format!(
                    "the link, as no program here can open it: {}",
                    text::truncate(link, COPIED_SHOWN)
                ),
            );
        }
    }
}

/// Expands `~` to the home folder.
pub(super) fn expand(path: &str) -> PathBuf {
    match (path.strip_prefix("~/"), std::env::home_dir()) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => PathBuf::from(path),
    }
}

/// The equivalent curl command; the shell reads the API key, so that it stays out of the history.
pub(crate) fn curl(base: &str, request: &HttpRequest) -> String {
    let mut line = String::from("curl -s");
    if request.method != "GET" {
        line.push_str(&format!(" -X {}", request.method));
    }
    line.push_str(" -H \"x-api-key: $(tokendeck key)\"");
    if let Some(body) = &request.body {
        line.push_str(&format!(
            " -H 'Content-Type: application/json' -d {}",
            quoted(body)
        ));
    }
    line.push_str(&format!(
        " {}",
        quoted(&format!("{base}{}", request.target))
    ));
    line
}
