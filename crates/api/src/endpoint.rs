//! What an endpoint is: a row of the table in `routes`. The rows, their handlers, and how a request finds one are elsewhere.

use hyper::Method;
use schemars::{Schema, SchemaGenerator};

use super::{
    call::{Answered, Call},
    format::FORMAT,
};
use model::error::Code;
use query::queries::{
    Query as _,
    candles::CandlesQuery,
    indicators::IndicatorsQuery,
    parameter::{PAGE, Parameter, ParameterKind},
};

/// HTTP method of an endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verb {
    Get,
    Post,
    Delete,
}

impl Verb {
    /// Spelled as in a request line.
    pub fn method(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Post => "POST",
            Self::Delete => "DELETE",
        }
    }

    pub(super) fn of(method: &Method) -> Option<Self> {
        match *method {
            Method::GET | Method::HEAD => Some(Self::Get),
            Method::POST => Some(Self::Post),
            Method::DELETE => Some(Self::Delete),
            _ => None,
        }
    }
}

/// An endpoint.
#[derive(Debug, Clone, Copy)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "a row of a table: each flag is an independent yes-or-no property"
)]
pub struct Endpoint {
    pub verb: Verb,
    /// Its placeholders are the path parameters.
    pub path: &'static str,
    /// OpenAPI operation id, and label in the metrics.
    pub name: &'static str,
    pub summary: &'static str,
    /// One of `TAGS`.
    pub tag: &'static str,
    /// Whether it is an MCP tool too.
    pub tool: bool,
    /// Whether its answers are of the data of one generation, which can be chosen, and as of a time.
    pub as_of: bool,
    pub parameters: &'static [Parameter],
    /// Error codes beyond those implied by its kind and parameters.
    pub codes: &'static [Code],
    /// Status of success.
    pub status: u16,
    /// Description of its 204, if it can answer with one.
    pub no_content: Option<&'static str>,
    pub content: Content,
    /// Whether it is answered without a key.
    pub open: bool,
    /// Whether its answers have entity tags.
    pub tagged: bool,
    /// Schema of its JSON request body.
    pub body: Option<Shape>,
    pub(super) handler: Handler,
}

/// Generator of a schema in the OpenAPI document.
pub(super) type Shape = fn(&mut SchemaGenerator) -> Schema;

/// The content of a success response.
#[derive(Debug, Clone, Copy)]
pub enum Content {
    /// JSON of this schema.
    Json(Shape),
    /// JSON without a schema.
    Document,
    /// Server-sent events, of the types in `EVENTS`.
    Events,
    /// Text of this media type.
    Text(&'static str),
    /// The one of these that the path names.
    Files(&'static [PageFile]),
    /// No body.
    Nothing,
}

/// A file that a page is drawn with.
#[derive(Debug, Clone, Copy)]
pub struct PageFile {
    pub name: &'static str,
    /// Its media type.
    pub kind: &'static str,
    /// Its text, if it is our own.
    pub own: Option<&'static str>,
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Handler {
    /// Without a request body.
    Plain(fn(&Call<'_>) -> Answered),
    /// With a JSON request body.
    Body(fn(&Call<'_>, &[u8]) -> Answered),
}

/// Path prefix of the jobs, and its accepted alternative spelling.
pub(super) const DEEP_ANALYSIS: [&str; 2] = ["/deep-analysis/", "/deep_analysis/"];

/// Endpoint groups in the OpenAPI document, with their descriptions.
pub(super) const TAGS: &[(&str, &str)] = &[
    ("tokens", "Tokens, candles, holders and posts."),
    ("technical", "Trendlines and chart patterns."),
    ("security", "Risk checks of code, transfers and holders."),
    ("dexes", "Where tokens trade."),
    ("analytics", "Rankings over all tokens."),
    ("yield", "Yield allocation."),
    (
        "deep analysis",
        "Jobs that run every analysis on selected tokens.",
    ),
    ("alerts", "Conditions evaluated on each new data snapshot."),
    ("tables", "The tables of the dataset, row by row."),
    ("service", "Server and data status."),
];

impl Endpoint {
    /// Whether its responses have a `Link` header to the neighboring pages.
    pub fn paged(&self) -> bool {
        self.parameters
            .iter()
            .any(|parameter| [PAGE.name, "cursor"].contains(&parameter.name))
            || [CandlesQuery::NAME, IndicatorsQuery::NAME].contains(&self.name)
    }

    /// Values of its `format` parameter, if it has one.
    pub fn formats(&self) -> Option<&'static [&'static str]> {
        let format = self
            .parameters
            .iter()
            .find(|parameter| parameter.name == FORMAT.name)?;
        if let ParameterKind::Word { words, .. } = format.kind {
            Some(words)
        } else {
            None
        }
    }

    /// Whether it uses the query service, and so needs loaded data.
    pub fn needs_data(&self) -> bool {
        matches!(self.content, Content::Json(_))
            && !self.open
            && !self.path.starts_with(DEEP_ANALYSIS[0])
    }
}
