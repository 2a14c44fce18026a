//! The questions: everything that can be asked, one type each. Its fields are the parameters, its answer the documented shape. The
//! API, the terminal, the command line and the jobs ask these and nothing else, so they cannot disagree. No I/O here.

pub(crate) mod json;
pub mod parameter;
pub mod progress;
pub mod snapshot;

pub mod candles;
pub mod dexes;
pub mod fields;
pub mod growth;
pub mod holders;
pub mod patterns;
pub mod posts;
pub mod search;
pub mod security;
pub mod token;
pub mod trendline;
pub mod yields;

use schemars::JsonSchema;
use serde::Serialize;

use self::{
    parameter::{Arguments, Parameter},
    progress::Progress,
    snapshot::Snapshot,
};
use crate::{
    dataset::{Token, address::Address},
    error::{Code, Problem, Result},
};

/// Something that can be asked of a dataset.
pub trait Question: Clone + Send + Sync + Sized + 'static {
    type Answer: Serialize + JsonSchema + Send + Sync + 'static;
    /// The OpenAPI operation id, and what it is called in logs and figures.
    const NAME: &'static str;
    /// One sentence for the person who wonders what it does.
    const SUMMARY: &'static str;
    /// The route, with placeholders named as in `PARAMETERS`.
    const PATH: &'static str;
    const PARAMETERS: &'static [Parameter];
    /// The tables that may be large and that the answer looks at.
    const NEEDS: &'static [&'static str] = &["candles", "posts", "holders", "transfers"];

    fn parse(arguments: &Arguments<'_>) -> Result<Self>;

    /// The canonical request: path in lower case, then every documented parameter with its value. Equal for equal questions; asking
    /// it over HTTP asks this question.
    fn target(&self) -> String;

    fn answer(&self, snapshot: &Snapshot, progress: &Progress) -> Result<Self::Answer>;

    /// Whether it takes long enough that quick questions must not wait behind it.
    fn heavy(&self) -> bool {
        false
    }

    /// The JSON body, for a question that is asked with POST.
    fn body(&self) -> Option<String> {
        None
    }
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

/// The path with its canonical query: `pairs` in the order of the question's parameters, those without a value left out.
pub(crate) fn target(path: &str, pairs: &[(&str, Option<String>)]) -> String {
    let mut target = path.to_owned();
    for (name, value) in pairs {
        if let Some(value) = value {
            target.push(if target.contains('?') { '&' } else { '?' });
            target.push_str(name);
            target.push('=');
            target.push_str(&parameter::encode(value));
        }
    }
    target
}

/// `Some("true")` for a flag that is set; one that is not is left out of the canonical request.
pub(crate) fn flag_text(flag: bool) -> Option<String> {
    flag.then(|| "true".to_owned())
}
