//! The interfaces of the API server and of the configuration file for views; implemented by the program.

use crate::{
    views::{keymap::Keymap, task::Wake},
    widgets::theme::Appearance,
};
use model::logged_request::LoggedRequest;

/// An error of the program around the dashboard; `Display` is the message for the user.
pub type ProgramError = Box<dyn std::error::Error + Send + Sync>;

/// The API server as its view needs it. By default, there is none.
pub trait ApiServerHandle {
    fn state(&self) -> ApiState {
        ApiState::Off
    }
    /// The first API key, for display and copying.
    fn key(&self) -> Option<String> {
        None
    }
    /// The latest requests, newest first, at most `limit`.
    fn requests(&self, _limit: usize) -> Vec<LoggedRequest> {
        Vec::new()
    }
    /// Latency histogram: upper bound in microseconds, number of requests.
    fn histogram(&self) -> Vec<(u64, u64)> {
        Vec::new()
    }
    /// Starts the server; returns the state after that.
    fn start(&self) -> ApiState {
        ApiState::Failed("the API is not available in this run".to_owned())
    }
    fn stop(&self) {}
    /// Makes incoming requests wake the event loop.
    fn listen(&self, _: Wake) {}
}

/// The watched configuration file.
pub trait LiveSettings: Send + Sync {
    /// Takes the new settings or their error, once after each change.
    fn take(&self) -> Option<std::result::Result<NewSettings, ProgramError>>;
    /// Makes a change wake the event loop.
    fn listen(&self, wake: Wake);
}

/// Changed settings to apply.
#[derive(Debug, Clone)]
pub struct NewSettings {
    pub keymap: Option<Keymap>,
    pub look: Option<Appearance>,
    /// User-readable messages: the applied changes, and those that need a restart.
    pub says: Vec<String>,
}

/// Whether the API server listens, and where.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum ApiState {
    /// Not started, or stopped.
    #[default]
    Off,
    /// At this address.
    Listening(String),
    /// Failed to listen; user-readable reason.
    Failed(String),
    /// Failed to listen because another program does so at this address; user-readable reason.
    Taken(String),
}

/// The implementation without an API server.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoApi;

impl ApiServerHandle for NoApi {}
