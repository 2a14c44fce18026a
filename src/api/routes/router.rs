//! The router: the endpoint of a method and a path, from the table of endpoints. It decides nothing else.

use std::{collections::BTreeMap, sync::LazyLock};

use hyper::Method;

use super::{DEEP_ANALYSIS, ENDPOINTS};
use crate::{
    error::{Code, Problem},
    question::parameter::clip,
};

/// The method of an endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verb {
    Get,
    Post,
    Delete,
}

impl Verb {
    /// As in a request line.
    pub fn method(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Post => "POST",
            Self::Delete => "DELETE",
        }
    }

    fn of(method: &Method) -> Option<Self> {
        match *method {
            Method::GET | Method::HEAD => Some(Self::Get),
            Method::POST => Some(Self::Post),
            Method::DELETE => Some(Self::Delete),
            _ => None,
        }
    }
}

/// The endpoints of one path, as positions in the table.
type Methods = BTreeMap<Verb, usize>;

static ROUTER: LazyLock<matchit::Router<Methods>> = LazyLock::new(|| {
    let mut paths: BTreeMap<String, Methods> = BTreeMap::new();
    for (i, endpoint) in ENDPOINTS.iter().enumerate() {
        paths.entry(endpoint.path.to_owned()).or_default().insert(endpoint.verb, i);
        if let Some(rest) = endpoint.path.strip_prefix(DEEP_ANALYSIS[0]) {
            paths.entry(format!("{}{rest}", DEEP_ANALYSIS[1])).or_default().insert(endpoint.verb, i);
        }
    }
    let mut router = matchit::Router::new();
    for (path, methods) in paths {
        router.insert(path, methods).expect("the table's paths do not conflict: a test builds this router");
    }
    router
});

/// A request that has found its endpoint.
#[derive(Debug)]
pub(in crate::api) struct Route<'k, 'p> {
    /// Position in the table.
    pub position: usize,
    pub arguments: matchit::Params<'k, 'p>,
}

/// Why no endpoint was found: 404, or 405 with the methods that the path has.
#[derive(Debug)]
pub(in crate::api) struct NoRoute {
    pub problem: Problem,
    pub allow: Option<String>,
}

pub(in crate::api) fn find<'p>(method: &Method, path: &'p str) -> Result<Route<'static, 'p>, NoRoute> {
    let router: &'static _ = &*ROUTER;
    let Ok(found) = router.at(path) else {
        let detail = "No such route: GET /openapi.json lists the routes there are.";
        return Err(NoRoute { problem: Problem::new(Code::RouteNotFound, detail), allow: None });
    };
    if let Some(&position) = Verb::of(method).and_then(|verb| found.value.get(&verb)) {
        return Ok(Route { position, arguments: found.params });
    }
    let allow = allow(found.value);
    let detail = format!("`{}` is not answered here: expected {allow}.", clip(method.as_str()));
    Err(NoRoute { problem: Problem::new(Code::MethodNotAllowed, detail), allow: Some(allow) })
}

fn allow(methods: &Methods) -> String {
    let words: Vec<&str> = methods.keys().map(|verb| if *verb == Verb::Get { "GET, HEAD" } else { verb.method() }).collect();
    words.join(", ")
}
