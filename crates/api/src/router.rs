//! The router: maps method and path to an endpoint of the table. It decides nothing else.

use std::collections::BTreeMap;

use hyper::Method;

use super::endpoint::{DEEP_ANALYSIS, Endpoint, Verb};
use model::error::{Code, Problem};
use query::queries::parameter::clip;

/// Endpoints of one path by method, as table indices.
type Methods = BTreeMap<Verb, usize>;

/// The endpoint table, and its paths.
pub(super) struct Router {
    pub(super) endpoints: &'static [Endpoint],
    paths: matchit::Router<Methods>,
}

impl std::fmt::Debug for Router {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Router").finish_non_exhaustive()
    }
}

/// A matched route.
#[derive(Debug)]
pub(super) struct Route<'k, 'p> {
    /// Index in the endpoint table.
    pub position: usize,
    pub endpoint: &'static Endpoint,
    pub arguments: matchit::Params<'k, 'p>,
}

/// A routing failure: 404, or 405 with the path's methods.
#[derive(Debug)]
pub(super) struct NoRoute {
    pub problem: Problem,
    pub allow: Option<String>,
}

impl Router {
    pub(super) fn of(endpoints: &'static [Endpoint]) -> Self {
        let mut methods: BTreeMap<String, Methods> = BTreeMap::new();
        for (i, endpoint) in endpoints.iter().enumerate() {
            methods
                .entry(endpoint.path.to_owned())
                .or_default()
                .insert(endpoint.verb, i);
            if let Some(rest) = endpoint.path.strip_prefix(DEEP_ANALYSIS[0]) {
                methods
                    .entry(format!("{}{rest}", DEEP_ANALYSIS[1]))
                    .or_default()
                    .insert(endpoint.verb, i);
            }
        }
        let mut paths = matchit::Router::new();
        for (path, methods) in methods {
            paths.insert(path, methods).expect(
                "the table's paths do not conflict: every test of the API builds this router",
            );
        }
        Self { endpoints, paths }
    }

    pub(super) fn find<'p>(
        &self,
        method: &Method,
        path: &'p str,
    ) -> Result<Route<'_, 'p>, NoRoute> {
        let Ok(found) = self.paths.at(path) else {
            let shorter = path.trim_end_matches('/');
            let detail = if shorter != path && self.paths.at(shorter).is_ok() {
                format!(
                    "No such route; use `{}` without the slash at the end.",
                    clip(shorter)
                )
            } else {
                "No such route. GET /openapi.json lists all routes.".to_owned()
            };
            return Err(NoRoute {
                problem: Problem::new(Code::RouteNotFound, detail),
                allow: None,
            });
        };
        if let Some(&position) = Verb::of(method).and_then(|verb| found.value.get(&verb)) {
            return Ok(Route {
                position,
                endpoint: &self.endpoints[position],
                arguments: found.params,
            });
        }
        let allow = allow(found.value);
        let detail = format!(
            "Method `{}` is not allowed; use {}.",
            clip(method.as_str()),
            one_of(&allow)
        );
        Err(NoRoute {
            problem: Problem::new(Code::MethodNotAllowed, detail),
            allow: Some(allow),
        })
    }

    /// Whether the path needs no key: it is an open endpoint or below one.
    pub(super) fn is_open(&self, path: &str) -> bool {
        let below = |open: &str| {
            open.split_once('{')
                .is_some_and(|(above, _)| path.starts_with(above))
        };
        self.endpoints
            .iter()
            .any(|endpoint| endpoint.open && (endpoint.path == path || below(endpoint.path)))
    }
}

/// `GET, HEAD or POST`.
fn one_of(allow: &str) -> String {
    allow.rsplit_once(", ").map_or_else(
        || allow.to_owned(),
        |(others, last)| format!("{others} or {last}"),
    )
}

fn allow(methods: &Methods) -> String {
    let words: Vec<&str> = methods
        .keys()
        .map(|verb| {
            if *verb == Verb::Get {
                "GET, HEAD"
            } else {
                verb.method()
            }
        })
        .collect();
    words.join(", ")
}
