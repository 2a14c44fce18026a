//! A finished request, as the API logs it and the dashboard shows it.

use serde::Serialize;

use crate::time::Time;

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LoggedRequest {
    pub time: Time,
    pub method: String,
    /// Without the query, truncated.
    pub path: String,
    /// 499 if the client disconnected before the response.
    pub status: u16,
    pub micros: u64,
    /// Size of the response body.
    pub bytes: u64,
}
