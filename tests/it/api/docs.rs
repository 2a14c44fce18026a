//! GET /docs: needs no key, loads everything from this server, and can be disabled.

use api::ApiOptions;

use super::server::{Answer, Running};

fn ask(server: &Running, path: &str, headers: &str) -> Answer {
    server.ask(
        format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{headers}\r\n")
            .as_bytes(),
    )
}

#[test]
fn the_docs_need_no_key_and_load_nothing_from_elsewhere() {
    let server = Running::start();
    for (path, kind, says) in [
        (
            "/docs",
            "text/html; charset=utf-8",
            "/docs/swagger-ui-bundle.js",
        ),
        (
            "/docs/page.js",
            "text/javascript; charset=utf-8",
            "persistAuthorization: false",
        ),
        ("/docs/page.css", "text/css; charset=utf-8", "body"),
        (
            "/docs/swagger-ui-bundle.js",
            "text/javascript; charset=utf-8",
            "SwaggerUIBundle",
        ),
        (
            "/docs/swagger-ui.css",
            "text/css; charset=utf-8",
            ".swagger-ui",
        ),
        ("/docs/favicon-32x32.png", "image/png", "PNG"),
    ] {
        let answer = ask(&server, path, "");
        assert_eq!(
            (answer.status, answer.header("content-type")),
            (200, Some(kind)),
            "{path}"
        );
        assert!(
            String::from_utf8_lossy(&answer.body).contains(says),
            "{path}"
        );
        let policy = answer.header("content-security-policy").expect("a policy");
        for rule in [
            "default-src 'none'",
            "script-src 'self';",
            "connect-src 'self'",
            "form-action 'none'",
            "frame-ancestors 'none'",
        ] {
            assert!(policy.contains(rule), "{policy}");
        }
        assert!(
            !policy.contains("http") && !policy.contains("unsafe"),
            "{policy}"
        );
        assert_eq!(
            (
                answer.header("referrer-policy"),
                answer.header("x-content-type-options")
            ),
            (Some("no-referrer"), Some("nosniff"))
        );
        let etag = answer.header("etag").expect("a tag");
        let again = ask(&server, path, &format!("If-None-Match: {etag}\r\n"));
        assert_eq!(
            (again.status, again.body.len(), again.header("etag")),
            (304, 0, Some(etag)),
            "{path}"
        );
    }
    let page = String::from_utf8(ask(&server, "/docs", "").body).expect("text");
    assert!(
        !page.contains("://") && !page.contains("<script>") && !page.contains("onload"),
        "{page}"
    );
    ask(&server, "/docs/none", "").is_problem(404, "route_not_found", "a file that is not there");
    ask(&server, "/docs/swagger-ui-bundle.js/x", "").is_problem(
        404,
        "route_not_found",
        "below a file",
    );
    let foreign = "GET /docs HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n";
    server
        .ask(foreign.as_bytes())
        .is_problem(421, "misdirected_host", "another name");
    ask(&server, "/docsx", "").is_problem(401, "unauthorized", "beside it");
}

#[test]
fn the_docs_can_be_turned_off() {
    let server = Running::with(ApiOptions {
        docs: false,
        ..ApiOptions::default()
    });
    for path in ["/docs", "/docs/page.js"] {
        ask(&server, path, "").is_problem(404, "route_not_found", path);
    }
    assert_eq!(ask(&server, "/openapi.json", "").status, 200);
}
