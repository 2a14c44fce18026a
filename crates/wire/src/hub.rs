//! Datasets of the Hugging Face hub. A listing names a revision, and the files are fetched at that revision.

use serde::Deserialize;

use super::{Fault, Object, RemoteClient, Scheme, UrlPattern, client::Connector};

const HUB: &str = "https://huggingface.co";
/// Maximum pages of a listing.
const PAGES_MAX: usize = 1_000;

/// An entry of the hub's listing of files.
#[derive(Debug, Deserialize)]
struct Line {
    #[serde(rename = "type")]
    kind: String,
    path: String,
    #[serde(default)]
    size: u64,
    oid: String,
}

#[derive(Debug, Deserialize)]
struct Revision {
    sha: String,
}

/// URL of the object at the revision that was listed.
pub(super) fn place(place: &UrlPattern, object: &Object) -> Result<UrlPattern, Fault> {
    let revision = object
        .version_tag
        .as_deref()
        .and_then(|tag| tag.split_once(' '))
        .map(|(revision, _)| revision);
    let revision = revision.ok_or(Fault::Changed)?;
    let root = HUB.trim_start_matches("https://").to_owned();
    let path: Vec<String> = place.path.split('/').map(escaped).collect();
    Ok(UrlPattern {
        scheme: Scheme::Https,
        root,
        path: format!("{}/resolve/{revision}/{}", place.root, path.join("/")),
    })
}

/// Percent-encodes a segment of a URL's path.
fn escaped(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~=".contains(&byte);
    text.bytes()
        .map(|byte| {
            if plain(byte) {
                char::from(byte).to_string()
            } else {
                format!("%{byte:02X}")
            }
        })
        .collect()
}

impl RemoteClient {
    pub(super) async fn in_hub(
        &self,
        place: &UrlPattern,
        most: usize,
    ) -> Result<Vec<Object>, Fault> {
        let unreachable = |error: reqwest::Error| {
            let words = if error.is_timeout() {
                "did not respond in time"
            } else {
                "is unreachable"
            };
            Fault::Unavailable(words.to_owned())
        };
        let wrong = |status: reqwest::StatusCode| match status.as_u16() {
            401 | 403 | 404 => Fault::Unavailable("does not exist or is private".to_owned()),
            status => Fault::Unavailable(format!("returned {status}")),
        };
        let connector = Connector {
            timeouts: self.options.timeouts.clone(),
            named: false,
            plain: false,
            headers: <_>::default(),
        };
        let client = connector.client().map_err(unreachable)?;
        let _asking = self.ask(&place.root);
        let get = async |url: String| -> Result<(Option<String>, Vec<u8>), Fault> {
            let answer = client.get(url).send().await.map_err(unreachable)?;
            if !answer.status().is_success() {
                return Err(wrong(answer.status()));
            }
            let next = answer
                .headers()
                .get("link")
                .and_then(|link| link.to_str().ok())
                .and_then(next_page);
            Ok((next, answer.bytes().await.map_err(unreachable)?.to_vec()))
        };
        let odd = |_| Fault::Unavailable("has an unreadable file list".to_owned());
        let api = format!("{HUB}/api/{}", place.root);
        let (_, text) = get(format!("{api}/revision/main")).await?;
        let revision: Revision = serde_json::from_slice(&text).map_err(odd)?;
        let folder = place.fixed().trim_end_matches('/');
        let folder: Vec<String> = folder.split('/').map(escaped).collect();
        let mut page = Some(format!(
            "{api}/tree/{}/{}?recursive=true",
            escaped(&revision.sha),
            folder.join("/")
        ));
        let mut found = Vec::new();
        for _ in 0..PAGES_MAX {
            let Some(url) = page.take() else { break };
            let (next, text) = get(url).await?;
            let lines: Vec<Line> = serde_json::from_slice(&text).map_err(odd)?;
            let files = lines.into_iter().filter(|line| line.kind == "file");
            found.extend(files.map(|line| Object {
                url: place.url(&line.path),
                source: place.root.clone(),
                bytes: line.size,
                version_tag: Some(format!("{} {}", revision.sha, line.oid)),
                modified: None,
                pinned: true,
            }));
            page = next.filter(|url| url.starts_with(HUB));
            if found.len() > most {
                return Err(Fault::Refused(format!(
                    "has more than {most} files under `{}`; use a longer prefix",
                    place.fixed()
                )));
            }
        }
        if page.is_some() {
            return Err(Fault::Refused(format!(
                "has more than {PAGES_MAX} pages of files under `{}`; use a longer prefix",
                place.fixed()
            )));
        }
        if !place.is_pattern() && !place.path.ends_with('/') {
            found.retain(|object| object.url == place.url(&place.path));
            if found.is_empty() {
                return Err(Fault::Unavailable("does not exist".to_owned()));
            }
        }
        Ok(found)
    }
}

/// URL of the next page, from a `Link` header: `<https://…>; rel="next"`.
fn next_page(link: &str) -> Option<String> {
    let next = link.split(',').find(|part| part.contains("rel=\"next\""))?;
    Some(next.split_once('<')?.1.split_once('>')?.0.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_fetched_at_the_revision_that_was_listed() {
        let url = "hf://datasets/me/set/a b/x=1.parquet";
        let object = Object {
            url: url.into(),
            source: "me".into(),
            bytes: 1,
            version_tag: Some("abc 12".into()),
            modified: None,
            pinned: true,
        };
        let served = place(&UrlPattern::parse(url).expect("a URL"), &object).expect("a place");
        assert_eq!(
            served.url(&served.path),
            "https://huggingface.co/datasets/me/set/resolve/abc/a%20b/x=1.parquet"
        );
        assert_eq!(
            next_page("<https://a/b?c=1>; rel=\"next\", <x>; rel=\"last\"").as_deref(),
            Some("https://a/b?c=1")
        );
    }
}
