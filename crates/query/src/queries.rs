//! The queries: one request type per endpoint, its fields the parameters, its answer the documented shape. The API, the terminal, the
//! command line and the jobs all use these types, so they cannot disagree. No I/O here.

pub mod caches;
pub mod clusters;
mod coins;
pub mod json;
pub mod paging;
pub mod parallel;
pub mod parameter;
pub mod request;
pub mod snapshot;

pub mod alert_body;
pub mod batch;
pub mod candles;
pub mod compare;
pub mod dexes;
pub mod exchanges;
pub mod fields;
mod figure;
pub mod flows;
pub mod growth;
pub mod held;
pub mod holders;
pub mod indicators;
pub mod list;
mod mentions;
pub mod opening;
pub mod order;
pub mod patterns;
pub mod pools;
pub mod posts;
pub mod posts_record;
pub mod rehearsal;
pub mod security;
pub mod security_record;
pub mod tables;
pub mod tabular;
pub mod timeframes;
pub mod token;
pub mod tokens;
pub mod track_record;
pub mod trendline;
pub mod view;
pub mod yields;

use schemars::JsonSchema;
use serde::Serialize;

use self::{
    paging::Paging, parameter::Arguments, request::Request, snapshot::Snapshot, view::View,
};
use model::{
    address::Address,
    error::{Code, Problem, Result},
    progress::Progress,
    time::Time,
    token::Token,
};

/// Whether the body of a result contains its time, as `asOf`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dated {
    /// Only with `explain`, at the endpoints that have this parameter; the others never have it.
    Explained,
    Always,
    /// `asOf` is a member of the answer's own.
    Itself,
}

/// A request that is answered from one dataset generation.
pub trait Query: Request {
    type Answer: Serialize + JsonSchema + Send + Sync + 'static;
    /// The OpenAPI operation id; also its name in logs and metrics.
    const NAME: &'static str;
    /// One sentence for people: the OpenAPI summary.
    const SUMMARY: &'static str;
    /// The possibly large tables that the answer reads.
    const NEEDS: &'static [&'static str] = &["candles", "posts", "holders", "transfers"];
    /// Whether it is slow enough that it must not delay quick queries.
    const HEAVY: bool = false;
    /// Whether the body contains the time that `as_of` returns. The header always does.
    const DATED: Dated = Dated::Explained;

    fn answer(&self, view: &View<'_>, progress: &Progress) -> Result<Self::Answer>;

    /// Pagination of the answer; `None` for an answer that is not paged.
    fn paging(&self, _: &Self::Answer) -> Option<Paging> {
        None
    }

    /// The same as `HEAVY`, where it depends on the request.
    fn heavy(&self, _: &Snapshot) -> bool {
        Self::HEAVY
    }

    /// Whether the answer contains a security verdict, which may need the state of a chain.
    fn shows_verdict(&self) -> bool {
        false
    }

    /// Whether it must not delay quick queries: it is slow, or it may wait for an engine or a node.
    fn waits(&self, snapshot: &Snapshot) -> bool {
        let at_engine = |table: &&str| snapshot.dataset.engine_rows(table).is_some();
        self.heavy(snapshot)
            || Self::NEEDS.iter().any(at_engine)
            || self.shows_verdict() && snapshot.dataset.chain_states().is_some()
    }

    /// The JSON body of a POST query.
    fn body(&self) -> Option<String> {
        None
    }

    /// The time of the newest row that the answer is made of; `None` where none of them has a time.
    fn as_of(&self, _: &Snapshot, _: &Self::Answer) -> Option<Time> {
        None
    }

    /// The strong entity tag of the answer from this generation.
    fn etag(&self, snapshot: &Snapshot) -> String {
        snapshot.etag(&self.target())
    }

    /// The cache key of an answer: the target, then the body on the lines below it.
    fn key(&self) -> String {
        let mut key = self.target();
        if let Some(body) = self.body() {
            key.push('\n');
            key.push_str(&body);
        }
        key
    }
}

/// A query with a JSON body.
pub trait BodyQuery: Query {
    /// Parses parameters and body. Errors: those of the parameters, then of the body's members.
    fn parse_request(arguments: &Arguments<'_>, body: &[u8]) -> Result<Self>;

    /// A problem of the answer, as one of the member of the body that it is about.
    fn refused(problem: Problem) -> Problem {
        problem
    }
}

/// A search for rows, too many to be an answer of their own: computed in one generation, then displayed or exported from it.
pub trait Find: Send + 'static {
    type Found: Send + 'static;

    fn find(&self, view: &View<'_>, progress: &Progress) -> Result<Self::Found>;
}

/// Returns the token. Errors: it is not in the data.
pub fn known_token<'a>(snapshot: &'a Snapshot, address: &Address) -> Result<&'a Token> {
    snapshot.dataset.token(address).ok_or_else(|| {
        Problem::new(
            Code::TokenNotFound,
            format!("No token `{address}` in the dataset. Find tokens with GET /tokens?query=…"),
        )
    })
}

#[cfg(test)]
mod tests {
    //! Fixtures for the tests of queries.

    use super::{
        Query,
        parameter::Arguments,
        request::Request,
        snapshot::{AnswerSettings, Snapshot},
        view::View,
    };
    use load::sample;
    use model::{error::Result, progress::Progress};

    /// A snapshot of these tables, read as `sample` reads them.
    pub(super) fn snapshot(tables: &[(&str, &str)]) -> Snapshot {
        Snapshot::new(1, sample::dataset(tables), AnswerSettings::default())
    }

    pub(super) fn parsed<Q: Request>(path: &[(&str, &str)], query: &str) -> Result<Q> {
        Q::parse(&Arguments::new(Q::PARAMETERS, path, query)?)
    }

    /// Parses and answers the request.
    pub(super) fn answered<Q: Query>(
        snapshot: &Snapshot,
        path: &[(&str, &str)],
        query: &str,
    ) -> Result<Q::Answer> {
        parsed::<Q>(path, query)?.answer(&View::new(snapshot), &Progress::default())
    }

    /// Addresses of one repeated digit each, separated by commas.
    pub(super) fn addresses(digits: &str) -> String {
        digits
            .chars()
            .map(|digit| format!("0x{digit:0>40}"))
            .collect::<Vec<_>>()
            .join(",")
    }
}
