//! The router: maps method and path to an endpoint of the table. It decides nothing else.

use std::{collections::BTreeMap, sync::LazyLock};

use hyper::Method;

use super::{DEEP_ANALYSIS, ENDPOINTS};
use model::error::{Code, Problem};
use query::question::parameter::clip;

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

    fn of(method: &Method) -> Option<Self> {
        match *method {
            Method::GET | Method::HEAD => Some(Self::Get),
            Method::POST => Some(Self::Post),
            Method::DELETE => Some(Self::Delete),
            _ => None,
        }
    }
}

/// Endpoints of one path by method, as table indices.
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

/// A matched route.
#[derive(Debug)]
pub(crate) struct Route<'k, 'p> {
    /// Index in the endpoint table.
    pub position: usize,
    pub arguments: matchit::Params<'k, 'p>,
}

/// A routing failure: 404, or 405 with the path's methods.
#[derive(Debug)]
pub(crate) struct NoRoute {
    pub problem: Problem,
    pub allow: Option<String>,
}

pub(crate) fn find<'p>(method: &Method, path: &'p str) -> Result<Route<'static, 'p>, NoRoute> {
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
