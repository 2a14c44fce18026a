//! Content negotiation of the coding: bodies are compressed in the coding the client prefers and cached by entity tag. Small bodies and
//! binary formats are sent as they are.

use std::{
    io::{self, Write},
    sync::Arc,
};

use bytes::Bytes;
use flate2::{Compression, write::GzEncoder};
use hyper::{
    HeaderMap,
    header::{ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_TYPE, ETAG, HeaderValue},
};
use quick_cache::{Weighter, sync::Cache};

use super::{
    Api,
    call::HandlerStep,
    format::weighed,
    reply::{self, Body, Reply},
};
use frames::export::ExportError;
use model::error::{Code, Problem};

/// Bodies up to this size are sent uncompressed.
const BYTES_MIN: usize = 1_024;
/// Bodies up to this size are compressed on the request thread, larger ones on another.
const BYTES_AT_ONCE: usize = 32 << 10;
/// Capacity of the cache of compressed bodies.
const MEMO_BYTES: u64 = 32 << 20;

/// A content coding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Coding {
    Zstd,
    Brotli,
    Gzip,
}

impl Coding {
    /// In order of preference, which decides between codings that the client weighs equally.
    const ALL: [Self; 3] = [Self::Zstd, Self::Brotli, Self::Gzip];

    pub(super) fn token(self) -> &'static str {
        match self {
            Self::Zstd => "zstd",
            Self::Brotli => "br",
            Self::Gzip => "gzip",
        }
    }

    /// Returns the client's preferred content coding; `None` if it prefers an uncompressed body.
    pub(super) fn preferred(headers: Option<&HeaderMap>) -> Option<Self> {
        AcceptedCodings::of(headers?)?.best
    }

    /// Returns the entity tag of an answer in this coding.
    pub(super) fn tag(coding: Option<Self>, etag: &str) -> String {
        match coding {
            None => etag.to_owned(),
            Some(coding) => format!("{}-{}\"", etag.trim_end_matches('"'), coding.token()),
        }
    }

    /// Returns the tag without its coding suffix and closing quote; `None` if it has no coding suffix.
    pub(super) fn without_coding(tag: &[u8]) -> Option<&[u8]> {
        let inside = tag.strip_suffix(b"\"")?;
        Self::ALL.into_iter().find_map(|coding| {
            inside
                .strip_suffix(coding.token().as_bytes())?
                .strip_suffix(b"-")
        })
    }

    fn encode(self, bytes: &[u8]) -> io::Result<Vec<u8>> {
        let mut coded = Vec::with_capacity(bytes.len() / 4);
        match self {
            Self::Zstd => zstd::stream::copy_encode(bytes, &mut coded, 3)?,
            Self::Brotli => {
                let mut out = brotli::CompressorWriter::new(&mut coded, 32 << 10, 5, 20);
                out.write_all(bytes)?;
                out.flush()?;
            }
            Self::Gzip => {
                let mut out = GzEncoder::new(&mut coded, Compression::default());
                out.write_all(bytes)?;
                out.finish()?;
            }
        }
        Ok(coded)
    }

    /// Returns a writer that compresses into `out` at the fastest level; dropping it writes the coding's trailer.
    pub(super) fn encoder(
        coding: Option<Self>,
        out: impl Write + Send + 'static,
    ) -> Result<Box<dyn Write + Send>, ExportError> {
        Ok(match coding {
            None => Box::new(out),
            Some(Self::Zstd) => {
                let coded = zstd::Encoder::new(out, 1)
                    .map_err(|error| ExportError::Failed(error.into()))?;
                Box::new(coded.auto_finish())
            }
            Some(Self::Brotli) => Box::new(brotli::CompressorWriter::new(out, 32 << 10, 2, 20)),
            Some(Self::Gzip) => Box::new(GzEncoder::new(out, Compression::fast())),
        })
    }
}

/// A parsed `Accept-Encoding`.
#[derive(Debug, Clone, Copy, PartialEq)]
struct AcceptedCodings {
    best: Option<Coding>,
    /// Whether uncompressed bodies (`identity`) are refused.
    identity_refused: bool,
}

impl AcceptedCodings {
    /// `None` without the header.
    fn of(headers: &HeaderMap) -> Option<Self> {
        if !headers.contains_key(ACCEPT_ENCODING) {
            return None;
        }
        let lists = headers
            .get_all(ACCEPT_ENCODING)
            .iter()
            .filter_map(|value| value.to_str().ok());
        let said: Vec<(&str, u16)> = lists
            .flat_map(|list| list.split(','))
            .map(weighed)
            .collect();
        let named = |token: &str| {
            said.iter()
                .find(|(name, _)| name.eq_ignore_ascii_case(token))
                .map(|(_, weight)| *weight)
        };
        let any = named("*");
        let identity = named("identity").or(any.filter(|weight| *weight == 0));
        let accepted = Coding::ALL.into_iter().filter_map(|coding| {
            let weight = named(coding.token())
                .or(if coding == Coding::Gzip {
                    named("x-gzip")
                } else {
                    None
                })
                .or(any)?;
            Some((weight, coding))
                .filter(|(weight, _)| *weight > 0 && *weight >= identity.unwrap_or(0))
        });
        // `max_by_key` returns the last of equal maxima.
        let best = accepted
            .rev()
            .max_by_key(|(weight, _)| *weight)
            .map(|(_, coding)| coding);
        Some(Self {
            best,
            identity_refused: identity == Some(0),
        })
    }
}

/// Cache of compressed bodies, by entity tag.
#[derive(Debug)]
pub(super) struct CodedMemo(Cache<Box<str>, Bytes, CodedWeighter>);

#[derive(Debug, Clone)]
struct CodedWeighter;

impl Weighter<Box<str>, Bytes> for CodedWeighter {
    fn weight(&self, tag: &Box<str>, coded: &Bytes) -> u64 {
        (coded.len() + tag.len() + 100) as u64
    }
}

impl Default for CodedMemo {
    fn default() -> Self {
        Self(Cache::with_weighter(1_000, MEMO_BYTES, CodedWeighter))
    }
}

/// Compresses the reply in the coding the request prefers, if any.
pub(super) fn apply(api: &Arc<Api>, headers: &HeaderMap, step: HandlerStep) -> HandlerStep {
    let Some(accepted) = AcceptedCodings::of(headers) else {
        return step;
    };
    let Some(coding) = accepted.best else {
        return step;
    };
    let min = if accepted.identity_refused {
        0
    } else {
        BYTES_MIN
    };
    match step {
        HandlerStep::Now(reply) => coded(api, coding, min, reply),
        HandlerStep::Later(reply) => {
            let api = Arc::clone(api);
            HandlerStep::later(
                async move { coded(&api, coding, min, reply.await?).resolve().await },
            )
        }
    }
}

fn coded(api: &Arc<Api>, coding: Coding, min: usize, reply: Reply) -> HandlerStep {
    let Body::Whole(bytes) = reply.body() else {
        return HandlerStep::Now(reply);
    };
    if bytes.len() <= min || !is_text(&reply) {
        return HandlerStep::Now(reply);
    }
    let bytes = bytes.clone();
    let tag = reply
        .headers()
        .get(ETAG)
        .and_then(|etag| etag.to_str().ok())
        .map(|etag| Coding::tag(Some(coding), etag));
    if let Some(known) = tag.as_deref().and_then(|tag| api.coded.0.get(tag)) {
        return HandlerStep::Now(with(reply, coding, tag.as_deref(), known));
    }
    let (api, at_once) = (Arc::clone(api), bytes.len() <= BYTES_AT_ONCE);
    let work = move || {
        let Ok(coded) = coding.encode(&bytes) else {
            return reply;
        };
        let coded = Bytes::from(coded);
        if let Some(tag) = &tag {
            api.coded.0.insert(tag.as_str().into(), coded.clone());
        }
        with(reply, coding, tag.as_deref(), coded)
    };
    if at_once {
        return HandlerStep::Now(work());
    }
    HandlerStep::later(async move {
        let worked = tokio::task::spawn_blocking(work).await;
        worked.map_err(|_| {
            Problem::new(
                Code::Defect,
                "Internal error while compressing the response.",
            )
        })
    })
}

fn is_text(reply: &Reply) -> bool {
    let kind = reply
        .headers()
        .get(CONTENT_TYPE)
        .map_or(&b""[..], HeaderValue::as_bytes);
    kind.starts_with(b"application/json")
        || kind.starts_with(b"application/problem+json")
        || kind.starts_with(b"text/")
}

/// Returns the reply with its body replaced by the compressed one.
fn with(mut reply: Reply, coding: Coding, tag: Option<&str>, coded: Bytes) -> Reply {
    *reply.body_mut() = Body::Whole(coded);
    reply
        .headers_mut()
        .insert(CONTENT_ENCODING, HeaderValue::from_static(coding.token()));
    match tag {
        Some(tag) => reply::tag(&mut reply, tag),
        None => reply::vary(&mut reply),
    }
    reply
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_client_chooses_the_coding_by_its_weights() {
        for (said, best, identity_refused) in [
            ("gzip", Some(Coding::Gzip), false),
            ("x-gzip", Some(Coding::Gzip), false),
            ("deflate, gzip, br, zstd", Some(Coding::Zstd), false),
            ("gzip, BR", Some(Coding::Brotli), false),
            ("gzip;q=1, zstd;q=0.5", Some(Coding::Gzip), false),
            ("gzip;q=0.2, br;q=0.4", Some(Coding::Brotli), false),
            ("gzip;q=0", None, false),
            ("identity", None, false),
            ("identity, gzip;q=0.5", None, false),
            ("", None, false),
            ("deflate", None, false),
            ("*", Some(Coding::Zstd), false),
            ("*, zstd;q=0", Some(Coding::Brotli), false),
            ("*;q=0", None, true),
            ("gzip, *;q=0", Some(Coding::Gzip), true),
            ("identity;q=0, br", Some(Coding::Brotli), true),
            ("gzip;q=broken", Some(Coding::Gzip), false),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(ACCEPT_ENCODING, said.parse().expect("a header value"));
            assert_eq!(
                AcceptedCodings::of(&headers),
                Some(AcceptedCodings {
                    best,
                    identity_refused
                }),
                "{said}"
            );
        }
        assert_eq!(AcceptedCodings::of(&HeaderMap::new()), None);
    }

    #[test]
    fn a_tag_has_its_coding_as_a_suffix() {
        for coding in Coding::ALL {
            let tag = Coding::tag(Some(coding), "\"0a1b\"");
            assert_eq!(
                Coding::without_coding(tag.as_bytes()),
                Some(&b"\"0a1b"[..]),
                "{tag}"
            );
        }
        assert_eq!(Coding::tag(None, "\"0a\""), "\"0a\"");
        assert!(
            Coding::without_coding(b"\"0a\"").is_none()
                && Coding::without_coding(b"-gzip").is_none()
        );
    }
}
