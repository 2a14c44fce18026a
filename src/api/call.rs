//! What passes between the service and the handlers: a request as a handler sees it, and a reply, now or later. No decisions.

use std::{future::Future, pin::Pin, sync::Arc};

use hyper::HeaderMap;
use tokio::sync::watch;

use super::{
    Api,
    reply::{IfNoneMatch, Reply},
};
use crate::{
    error::Result,
    question::parameter::{Arguments, Parameter},
};

/// A request as a handler sees it.
#[derive(Debug)]
pub(super) struct Call<'a> {
    pub api: &'a Arc<Api>,
    pub parameters: &'static [Parameter],
    /// The route's placeholders with their values, percent-encoded as they came.
    pub path: &'a [(&'a str, &'a str)],
    pub query: &'a str,
    /// The path and the query as they came.
    pub target: &'a str,
    /// `None` without a server.
    pub headers: Option<&'a HeaderMap>,
    pub if_none_match: IfNoneMatch<'a>,
    /// Only the headers are wanted.
    pub head: bool,
}

impl<'a> Call<'a> {
    /// Its path and query, checked against the endpoint's parameters.
    pub(super) fn arguments(&self) -> Result<Arguments<'a>> {
        Arguments::new(self.parameters, self.path, self.query)
    }
}

/// A reply that is awaited.
pub(super) type Awaited = Pin<Box<dyn Future<Output = Result<Reply>> + Send>>;

/// A reply, or one that is awaited.
pub(super) enum HandlerStep {
    Now(Reply),
    Later(Awaited),
}

impl HandlerStep {
    pub(super) fn later(reply: impl Future<Output = Result<Reply>> + Send + 'static) -> Self {
        Self::Later(Box::pin(reply))
    }
}

pub(super) type Answered = Result<HandlerStep>;

/// Ready once the server stops.
pub(super) async fn stopped(stopping: &mut watch::Receiver<bool>) {
    // A sender that is gone counts as a stop too.
    stopping.wait_for(|stopping| *stopping).await.ok();
}
