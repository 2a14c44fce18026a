//! The questions: everything that can be asked, one type each. Its fields are the parameters, its answer the documented shape. The
//! API, the terminal, the command line and the jobs ask these and nothing else, so they cannot disagree. No I/O here.

pub mod filter;
pub(crate) mod json;
pub mod memory;
pub mod paging;
pub mod parallel;
pub mod parameter;
pub mod progress;
pub mod request;
pub mod snapshot;

pub mod batch;
pub mod candles;
pub mod compare;
pub mod dexes;
pub mod fields;
pub mod growth;
pub mod holders;
pub mod indicators;
pub mod list;
pub mod order;
pub mod patterns;
pub mod posts;
pub mod search;
pub mod security;
pub mod tables;
pub mod tabular;
pub mod timeframes;
pub mod token;
pub mod track_record;
pub mod trendline;
pub mod yields;

use schemars::JsonSchema;
use serde::Serialize;

use self::{paging::Paging, progress::Progress, request::Request, snapshot::Snapshot};
use crate::{
    dataset::{Token, address::Address, shelf::Want},
    error::{Code, Problem, Result},
};

/// Something that can be asked of a dataset.
pub trait Question: Request {
    type Answer: Serialize + JsonSchema + Send + Sync + 'static;
    /// The OpenAPI operation id, and what it is called in logs and figures.
    const NAME: &'static str;
    /// What it answers, in one sentence for people.
    const SUMMARY: &'static str;
    /// The tables that may be large and that the answer looks at.
    const NEEDS: &'static [&'static str] = &["candles", "posts", "holders", "transfers"];

    fn answer(&self, snapshot: &Snapshot, progress: &Progress) -> Result<Self::Answer>;

    /// How the answer stands among those beside it, where it is a part of many.
    fn paging(&self, _: &Self::Answer) -> Option<Paging> {
        None
    }

    /// What the answer reads of tables whose rows may stay elsewhere: there it is fetched before.
    fn wants(&self, snapshot: &Snapshot) -> Vec<Want> {
        let _ = snapshot;
        Vec::new()
    }

    /// Whether something has to be fetched first. Asked where nobody may wait.
    fn waits(&self, snapshot: &Snapshot) -> bool {
        let lacks = |want: &Want| snapshot.dataset.shelf(want.table()).is_some_and(|shelf| shelf.lacks(want));
        snapshot.dataset.stays_anywhere() && self.wants(snapshot).iter().any(lacks)
    }

    /// Whether it takes long enough that quick questions must not wait behind it.
    fn heavy(&self) -> bool {
        false
    }

    /// The JSON body, for a question that is asked with POST.
    fn body(&self) -> Option<String> {
        None
    }

    /// What an answer is remembered under: the target, and the body below it.
    fn key(&self) -> String {
        let mut key = self.target();
        if let Some(body) = self.body() {
            key.push('\n');
            key.push_str(&body);
        }
        key
    }
}

/// Rows that are looked for: too many to be an answer of their own, and found in one generation for whoever shows or writes them.
pub trait Find: Send + 'static {
    type Found: Send + 'static;

    fn find(&self, snapshot: &Snapshot, progress: &Progress) -> Result<Self::Found>;
}

/// The token, or the problem that it is not there.
pub fn known_token<'a>(snapshot: &'a Snapshot, address: &Address) -> Result<&'a Token> {
    snapshot.dataset.token(address).ok_or_else(|| {
        Problem::new(
            Code::TokenNotFound,
            format!("No token `{address}` in the loaded datasets: GET /tokens?query=… finds the tokens that are there."),
        )
    })
}

#[cfg(test)]
mod tests {
    //! What tests of questions begin with.

    use super::{
        Question,
        parameter::Arguments,
        progress::Progress,
        request::Request,
        snapshot::{AnswerSettings, Snapshot},
    };
    use crate::{dataset::sample, error::Result};

    /// A generation of these tables, as `sample` reads them.
    pub(super) fn snapshot(tables: &[(&str, &str)]) -> Snapshot {
        Snapshot::new(1, sample::dataset(tables), AnswerSettings::default())
    }

    pub(super) fn parsed<Q: Request>(path: &[(&str, &str)], query: &str) -> Result<Q> {
        Q::parse(&Arguments::new(Q::PARAMETERS, path, query)?)
    }

    /// What the request is answered from these data.
    pub(super) fn answered<Q: Question>(snapshot: &Snapshot, path: &[(&str, &str)], query: &str) -> Result<Q::Answer> {
        parsed::<Q>(path, query)?.answer(snapshot, &Progress::default())
    }

    /// Addresses of one digit each, separated by commas.
    pub(super) fn addresses(digits: &str) -> String {
        digits.chars().map(|digit| format!("0x{digit:0>40}")).collect::<Vec<_>>().join(",")
    }
}
