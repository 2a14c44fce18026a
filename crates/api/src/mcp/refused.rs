//! Refusals in the words of tools: the code and the reason, with tools named in place of requests.

use hyper::Method;
use rmcp::model::{CallToolResult, ContentBlock};
use serde_json::{Value, json};

use crate::router::Router;
use model::error::Problem;

/// A problem of the call itself.
pub(super) fn problem(problem: &Problem, router: &Router) -> CallToolResult {
    refusal(problem.code.word(), &problem.detail, router)
}

/// The problem that an endpoint answered.
pub(super) fn reply(body: &[u8], router: &Router) -> CallToolResult {
    let body: Value = serde_json::from_slice(body).unwrap_or_default();
    let of = |member: &str| body.get(member).and_then(Value::as_str).unwrap_or_default();
    refusal(of("code"), of("detail"), router)
}

fn refusal(code: &str, detail: &str, router: &Router) -> CallToolResult {
    let said = json!({ "code": code, "detail": in_words_of_tools(detail, router) });
    let mut result = CallToolResult::error(vec![ContentBlock::text(said.to_string())]);
    result.structured_content = Some(said);
    result
}

/// Names the tool in place of each `GET /path?parameter=…`; a path that no tool asks stays.
fn in_words_of_tools(text: &str, router: &Router) -> String {
    let mut parts = text.split("GET /");
    let mut told = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let target = part
            .split([' ', ','])
            .next()
            .unwrap_or_default()
            .trim_end_matches('.');
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        match router.find(&Method::GET, &format!("/{path}")) {
            Ok(route) if route.endpoint.tool => {
                let with = query
                    .split_once('=')
                    .map_or_else(String::new, |(parameter, _)| format!(" with `{parameter}`"));
                told += &format!("`{}`{with}{}", route.endpoint.name, &part[target.len()..]);
            }
            _ => told += &format!("GET /{part}"),
        }
    }
    told
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::routes::ENDPOINTS;

    #[test]
    fn requests_are_told_as_tools() {
        for (text, expected) in [
            (
                "No table `x`. GET /tables lists them.",
                "No table `x`. `tables` lists them.",
            ),
            (
                "GET /tokens?query=… finds the tokens.",
                "`tokens` with `query` finds the tokens.",
            ),
            ("See GET /tokens/{token_address}/holders", "See `holders`"),
            (
                "GET /0x12/dexes lists them, GET /deep-analysis/jobs.",
                "`dexes` lists them, `jobs`.",
            ),
            ("GET /metrics is no tool", "GET /metrics is no tool"),
            ("no request", "no request"),
        ] {
            assert_eq!(in_words_of_tools(text, &Router::of(ENDPOINTS)), expected);
        }
    }
}
