//! What is asked of a node without a token, and what the document says of it.

use axum::body::Body;
use axum::http::{Method, StatusCode, header};
use serde_json::Value;

use super::{Server, request, text};

#[tokio::test]
async fn probes_and_metrics_have_the_media_types_that_the_document_says() {
    let server = Server::start().await;
    let document = crate::http::document::openapi().to_json().unwrap();
    let document: Value = serde_json::from_str(&document).unwrap();
    for (path, expected) in [
        ("/livez", "text/plain"),
        ("/readyz", "text/plain"),
        (
            "/metrics",
            "application/openmetrics-text; version=1.0.0; charset=utf-8",
        ),
    ] {
        let content = &document["paths"][path]["get"]["responses"]["200"]["content"];
        let said: Vec<&String> = content.as_object().unwrap().keys().collect();
        assert_eq!(said, [expected], "{path}");
        let asked = request(Method::GET, "", path).body(Body::empty()).unwrap();
        let response = server.send(asked).await;
        assert_eq!(response.status(), StatusCode::OK, "{path}");
        let answered = response.headers()[header::CONTENT_TYPE].to_str().unwrap();
        // Where the document leaves the parameters out, such as the charset, the answer may have them.
        let (of_said, of_answered) = (expected.split_once(';'), answered.split_once(';'));
        match (of_said, of_answered) {
            (None, Some((media_type, _))) => assert_eq!(media_type, expected, "{path}"),
            _ => assert_eq!(answered, expected, "{path}"),
        }
        let body = text(response).await;
        let is_metrics = body.ends_with("# EOF\n");
        assert_eq!(is_metrics, path == "/metrics", "{path}: {body}");
    }
}

#[tokio::test]
async fn a_method_that_a_route_does_not_take_is_refused_with_those_that_it_takes() {
    let server = Server::start().await;
    for (path, taken) in [
        ("/livez", "GET,HEAD"),
        ("/v1/recall", "POST"),
        ("/v1/tasks", "GET,HEAD,POST"),
    ] {
        let asked = request(Method::PUT, &server.admin, path);
        let response = server.send(asked.body(Body::empty()).unwrap()).await;
        assert_eq!(response.status(), StatusCode::METHOD_NOT_ALLOWED, "{path}");
        let allow = response.headers()[header::ALLOW].to_str().unwrap();
        let mut allowed: Vec<&str> = allow.split(',').collect();
        allowed.sort_unstable();
        assert_eq!(allowed.join(","), taken, "{path}");
        let problem: Value = serde_json::from_str(&text(response).await).unwrap();
        assert_eq!(problem["status"], 405, "{problem}");
        assert_eq!(problem["code"], "invalid_request", "{problem}");
    }
}
