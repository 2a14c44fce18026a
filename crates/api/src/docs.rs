//! GET /docs: the OpenAPI document in Swagger UI. All assets come from this server; a key typed in stays in the page's memory.

use std::{
    io::{Cursor, Read},
    sync::LazyLock,
};

use bytes::Bytes;
use hyper::header::{
    CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderName, HeaderValue, REFERRER_POLICY,
};
use utoipa_swagger_ui_vendored::SWAGGER_UI_VENDORED;
use zip::ZipArchive;

use super::{
    call::{Answered, Call, HandlerStep},
    endpoint::PageFile,
    openapi, reply,
};
use model::error::{Code, Problem};
use query::queries::parameter::{Parameter, ParameterKind, parameter};

/// Content Security Policy: nothing from other servers, no inline script or style, no framing by another page.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; \
    base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

pub(super) const FILE: Parameter = parameter(
    "file",
    ParameterKind::Identifier,
    "Name of an asset of the documentation page.",
);

const JAVASCRIPT: &str = "text/javascript; charset=utf-8";
const CSS: &str = "text/css; charset=utf-8";
pub(super) const HTML: &str = "text/html; charset=utf-8";

pub(super) const FILES: &[PageFile] = &[
    PageFile {
        name: "page.js",
        kind: JAVASCRIPT,
        own: Some(include_str!("docs/page.js")),
    },
    PageFile {
        name: "page.css",
        kind: CSS,
        own: Some(include_str!("docs/page.css")),
    },
    PageFile {
        name: "swagger-ui-bundle.js",
        kind: JAVASCRIPT,
        own: None,
    },
    PageFile {
        name: "swagger-ui.css",
        kind: CSS,
        own: None,
    },
    PageFile {
        name: "favicon-32x32.png",
        kind: "image/png",
        own: None,
    },
];

/// A file with its entity tag.
type Tagged = (Bytes, String);

static PAGE: LazyLock<Tagged> =
    LazyLock::new(|| tagged(Bytes::from_static(include_bytes!("docs/page.html"))));

/// The assets in the order of `FILES`; Swagger UI's are unpacked on first use.
static UNPACKED: LazyLock<Vec<Option<Tagged>>> = LazyLock::new(|| {
    let mut archive = ZipArchive::new(Cursor::new(SWAGGER_UI_VENDORED)).ok();
    let mut unpacked = |name: &str| {
        let archive = archive.as_mut()?;
        // They lie in a folder named after the version.
        let path = archive.file_names().flatten().find(|path| {
            path.split_once('/')
                .is_some_and(|(_, path)| path.strip_prefix("dist/") == Some(name))
        });
        let path = path?.into_owned();
        let mut bytes = Vec::new();
        archive.by_name(&path).ok()?.read_to_end(&mut bytes).ok()?;
        Some(tagged(bytes.into()))
    };
    let mut bytes = |file: &PageFile| {
        file.own.map_or_else(
            || unpacked(file.name),
            |own| Some(tagged(Bytes::from_static(own.as_bytes()))),
        )
    };
    FILES.iter().map(&mut bytes).collect()
});

fn tagged(bytes: Bytes) -> Tagged {
    let etag = openapi::etag(&bytes);
    (bytes, etag)
}

pub(super) fn page(call: &Call<'_>) -> Answered {
    answer(call, HTML, &PAGE)
}

pub(super) fn file(call: &Call<'_>) -> Answered {
    let wanted = call
        .path
        .iter()
        .find(|(name, _)| *name == FILE.name)
        .map_or("", |(_, value)| value);
    let place = FILES.iter().position(|file| file.name == wanted);
    let place = place.ok_or_else(|| {
        Problem::new(
            Code::RouteNotFound,
            "No such file. GET /docs returns the page.",
        )
    })?;
    let file = UNPACKED.get(place).and_then(Option::as_ref);
    let file = file.ok_or_else(|| {
        Problem::new(
            Code::Defect,
            "Internal error: the page's files cannot be unpacked.",
        )
    })?;
    answer(call, FILES[place].kind, file)
}

fn answer(call: &Call<'_>, kind: &'static str, (bytes, etag): &Tagged) -> Answered {
    if !call.api.options.docs {
        return Err(Problem::new(
            Code::RouteNotFound,
            "This page is disabled by `api.docs` in config.toml. GET /openapi.json returns the OpenAPI document.",
        ));
    }
    let mut reply = reply::tagged(bytes, etag, call.if_none_match);
    let headers = reply.headers_mut();
    if headers.contains_key(CONTENT_TYPE) {
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    }
    for (name, value) in [
        (CONTENT_SECURITY_POLICY, POLICY),
        (REFERRER_POLICY, "no-referrer"),
        (
            HeaderName::from_static("cross-origin-opener-policy"),
            "same-origin",
        ),
        (
            HeaderName::from_static("cross-origin-resource-policy"),
            "same-origin",
        ),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    Ok(HandlerStep::Now(reply))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_loads_exactly_the_files_there_are() {
        for (listed, file) in FILES.iter().zip(&*UNPACKED) {
            assert!(
                file.as_ref()
                    .is_some_and(|(bytes, etag)| !bytes.is_empty() && etag.len() == 18),
                "{}",
                listed.name
            );
        }
        let page = String::from_utf8_lossy(&PAGE.0);
        let named: Vec<&str> = page
            .split(['"', '\''])
            .filter(|text| text.contains('/') && !text.contains('<'))
            .collect();
        for path in &named {
            assert!(
                *path == "/openapi.json"
                    || FILES
                        .iter()
                        .any(|file| *path == format!("/docs/{}", file.name)),
                "{path}"
            );
        }
        assert_eq!(named.len(), FILES.len() + 1);
    }
}
