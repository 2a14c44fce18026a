//! Checks whether a server responds: one request for its first page, without a key and without redirects.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use reqwest::{header::HeaderMap, redirect};

use super::{WebFault, parsed, request_fault};
use crate::{Fault, RemoteClient, client::Connector};

/// Longest time for an answer.
const REACH_TIME: Duration = Duration::from_secs(10);

impl RemoteClient {
    /// How long the server takes to respond; any status counts as a response. The error continues "`ORIGIN` …".
    pub fn reach(self: &Arc<Self>, origin: &str) -> Result<Duration, Fault> {
        let (wire, origin) = (Arc::clone(self), origin.to_owned());
        self.wait(&|| false, async move { wire.first_page(&origin).await })
    }

    async fn first_page(&self, origin: &str) -> Result<Duration, Fault> {
        let url = parsed(origin)?;
        let connector = Connector {
            timeouts: self.options.timeouts.clone(),
            named: true,
            plain: url.scheme() == "http",
            headers: HeaderMap::new(),
        };
        let client = connector
            .builder()
            .redirect(redirect::Policy::none())
            .timeout(REACH_TIME)
            .build();
        let client = client.map_err(|_| Fault::Failed("cannot be contacted".to_owned()))?;
        let _asking = self.ask(origin);
        let start = Instant::now();
        let answer = client.get(url).send().await;
        answer
            .map(|_| start.elapsed())
            .map_err(|error| match request_fault(&error) {
                WebFault::Later(fault, _) | WebFault::Final(fault) => fault,
            })
    }
}
