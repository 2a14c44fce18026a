//! The types between service and handlers: the request as a handler sees it, and its immediate or deferred reply. No decisions.

use std::{future::Future, pin::Pin, sync::Arc};

use hyper::{HeaderMap, Uri};
use tokio::sync::watch;

use super::{
    Api,
    reply::{IfNoneMatch, Reply},
};
use model::error::Result;
use query::queries::{
    Query,
    parameter::{Arguments, Parameter, TokenNames},
    snapshot::Snapshot,
};

/// A request as a handler sees it.
#[derive(Debug)]
pub(super) struct Call<'a> {
    pub api: &'a Arc<Api>,
    pub parameters: &'static [Parameter],
    /// The route's path parameters with their values, still percent-encoded.
    pub path: &'a [(&'a str, &'a str)],
    pub query: &'a str,
    /// Path and query, unparsed.
    pub target: &'a str,
    /// `None` for calls made without a server.
    pub headers: Option<&'a HeaderMap>,
    pub if_none_match: IfNoneMatch<'a>,
    /// The data that the answer is of; `None` where nothing is loaded, or it is of none.
    pub snapshot: Option<&'a Arc<Snapshot>>,
    /// Whether only the headers are needed (HEAD).
    pub head: bool,
}

impl<'a> Call<'a> {
    /// A call without conditional headers and HEAD: one with a body, or one without a server.
    pub(super) fn unconditional(
        api: &'a Arc<Api>,
        path: &'a [(&'a str, &'a str)],
        uri: &'a Uri,
        parameters: &'static [Parameter],
    ) -> Self {
        let (query, target) = (
            uri.query().unwrap_or_default(),
            uri.path_and_query().map_or("", |target| target.as_str()),
        );
        Self {
            api,
            parameters,
            path,
            query,
            target,
            if_none_match: IfNoneMatch::default(),
            snapshot: None,
            headers: None,
            head: false,
        }
    }

    /// Parses path and query, checked against the endpoint's parameters.
    pub(super) fn arguments(&self) -> Result<Arguments<'a>> {
        let names: &dyn TokenNames = self
            .snapshot
            .map_or(&*self.api.service, |snapshot| &**snapshot);
        Ok(Arguments::new(self.parameters, self.path, self.query)?.with_names(names))
    }

    /// The data that the answer is of. Errors: nothing is loaded.
    pub(super) fn snapshot(&self) -> Result<Arc<Snapshot>> {
        self.snapshot.map_or_else(
            || self.api.service.snapshot(),
            |snapshot| Ok(Arc::clone(snapshot)),
        )
    }

    /// As `snapshot`. Errors: a table that this kind of query needs is still loading, too.
    pub(super) fn ready<Q: Query>(&self) -> Result<Arc<Snapshot>> {
        let snapshot = self.snapshot()?;
        snapshot.require(Q::NEEDS)?;
        Ok(snapshot)
    }
}

/// A deferred reply.
pub(super) type Awaited = Pin<Box<dyn Future<Output = Result<Reply>> + Send>>;

/// An immediate or a deferred reply.
pub(super) enum HandlerStep {
    Now(Reply),
    Later(Awaited),
}

impl HandlerStep {
    pub(super) fn later(reply: impl Future<Output = Result<Reply>> + Send + 'static) -> Self {
        Self::Later(Box::pin(reply))
    }

    pub(super) async fn resolve(self) -> Result<Reply> {
        match self {
            Self::Now(reply) => Ok(reply),
            Self::Later(reply) => reply.await,
        }
    }
}

pub(super) type Answered = Result<HandlerStep>;

/// Completes once the server stops.
pub(super) async fn stopped(stopping: &mut watch::Receiver<bool>) {
    // A dropped sender counts as a stop too.
    stopping.wait_for(|stopping| *stopping).await.ok();
}
