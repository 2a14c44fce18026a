//! Refusals in the words of tools: the code and the reason, with tools named in place of requests.

use hyper::body::Bytes;
use serde_json::{Value, json};

use super::tools::Tool;

/// The problem that an endpoint answered, as a tool says it.
pub(super) fn refusal(problem: &[u8], tools: &[Tool]) -> Option<Bytes> {
    let problem: Value = serde_json::from_slice(problem).ok()?;
    let detail = in_words_of_tools(problem.get("detail")?.as_str()?, tools);
    serde_json::to_vec(&json!({ "code": problem.get("code")?, "detail": detail })).ok().map(Bytes::from)
}

/// Names the tool in place of each `GET /path?parameter=…`; a path that no tool asks stays.
fn in_words_of_tools(text: &str, tools: &[Tool]) -> String {
    let mut parts = text.split("GET /");
    let mut told = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let target = part.split([' ', ',']).next().unwrap_or_default().trim_end_matches('.');
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let asked = tools.iter().filter_map(|tool| Some((literals(tool.path(), path)?, tool))).max_by_key(|(literals, _)| *literals);
        let Some((_, tool)) = asked else {
            told += "GET /";
            told += part;
            continue;
        };
        let with = query.split_once('=').map_or_else(String::new, |(parameter, _)| format!(" with `{parameter}`"));
        told += &format!("`{}`{with}{}", tool.name(), &part[target.len()..]);
    }
    told
}

/// The number of segments that are alike in a tool's path and in one without its slash; `None` if another segment differs.
fn literals(template: &str, path: &str) -> Option<usize> {
    let (template, path): (Vec<&str>, Vec<&str>) = (template.trim_start_matches('/').split('/').collect(), path.split('/').collect());
    let fits = template.len() == path.len() && template.iter().zip(&path).all(|(of, is)| of == is || of.starts_with('{'));
    fits.then(|| template.iter().zip(&path).filter(|(of, is)| of == is).count())
}

#[cfg(test)]
mod tests {
    use super::{super::tools::tools, *};
    use crate::routes::ENDPOINTS;

    #[test]
    fn requests_are_told_as_tools() {
        for (text, expected) in [
            ("No table `x`. GET /tables lists them.", "No table `x`. `tables` lists them."),
            ("GET /tokens?query=… finds the tokens.", "`tokens` with `query` finds the tokens."),
            ("See GET /tokens/{token_address}/holders", "See `holders`"),
            ("GET /0x12/dexes lists them, GET /deep-analysis/jobs.", "`dexes` lists them, `jobs`."),
            ("GET /metrics is no tool", "GET /metrics is no tool"),
            ("no request", "no request"),
        ] {
            assert_eq!(in_words_of_tools(text, tools(ENDPOINTS)), expected);
        }
    }
}
