//! The API of this very process: its router, called without a socket.
//!
//! Owns how a request becomes one of the router's, and the bounds on its answer. It must not know what a route is for.

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::{HeaderValue, Method, header};
use tower::ServiceExt as _;

use crate::api::{Answer, Api, Caller, Outage, Request, Sent};
use crate::limits::ANSWER_BYTES_MAX;

/// The header of a command's id.
const IDEMPOTENCY_KEY: &str = "idempotency-key";

/// A router that is called as if the request had come over HTTP: all its layers see it.
#[derive(Clone, Debug)]
pub struct Routed {
    router: Router,
}

impl Routed {
    /// The API that `router` serves.
    #[must_use]
    pub const fn new(router: Router) -> Self {
        Self { router }
    }
}

impl Api for Routed {
    async fn send(&self, caller: &Caller, request: Request) -> Result<Answer, Outage> {
        let deadline = request.deadline;
        let asked = asked(caller, request)?;
        let answered = answered(self.router.clone(), asked);
        let in_time = tokio::time::timeout(deadline, answered).await;
        in_time.unwrap_or(Err(Outage::Late))
    }
}

async fn answered(router: Router, asked: axum::http::Request<Body>) -> Result<Answer, Outage> {
    let answered = router.oneshot(asked).await;
    let (parts, body) = answered.unwrap_or_else(|never| match never {}).into_parts();
    let read = to_bytes(body, ANSWER_BYTES_MAX).await;
    let bytes = read.map_err(|error| Outage::Foreign(error.to_string()))?;
    let read = serde_json::from_slice(&bytes);
    Ok(Answer {
        status: parts.status.as_u16(),
        body: read.map_err(|error| Outage::Foreign(error.to_string()))?,
    })
}

/// The request as it would have come over HTTP.
fn asked(caller: &Caller, request: Request) -> Result<axum::http::Request<Body>, Outage> {
    let (method, uri, body, command) = match request.sent {
        Sent::Query(pairs) => (Method::GET, with_query(request.path, &pairs), None, None),
        Sent::Question(body) => (Method::POST, request.path.to_owned(), Some(body), None),
        Sent::Command(body, command) => (
            Method::POST,
            request.path.to_owned(),
            Some(body),
            Some(command),
        ),
    };
    let body = body.map_or_else(Body::empty, |body| Body::from(body.to_string()));
    let built = axum::http::Request::builder()
        .method(method)
        .uri(uri)
        .body(body);
    // A query is escaped, and of bounded length: this is for one that is longer than any URI may be.
    let mut asked = built.map_err(|error| Outage::Foreign(error.to_string()))?;
    let headers = asked.headers_mut();
    headers.extend(caller.headers().clone());
    headers.insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static("application/json"),
    );
    if let Some(command) = command {
        let id = HeaderValue::from_str(&command.to_string());
        headers.insert(IDEMPOTENCY_KEY, id.expect("a UUID is visible ASCII"));
    }
    Ok(asked)
}

fn with_query(path: &str, pairs: &[(&'static str, String)]) -> String {
    if pairs.is_empty() {
        return path.to_owned();
    }
    let mut query = form_urlencoded::Serializer::new(String::new());
    query.extend_pairs(pairs);
    format!("{path}?{}", query.finish())
}

#[cfg(test)]
mod tests {
    use axum::extract::Request as Asked;
    use axum::http::HeaderMap;
    use axum::http::StatusCode;
    use axum::response::IntoResponse;
    use axum::routing::any;
    use serde_json::{Value, json};
    use sillok_core::id::CommandId;
    use sillok_core::time::Timestamp;

    use super::*;
    use crate::limits::DEADLINE;

    /// Says what it was asked.
    async fn told(asked: Asked) -> impl IntoResponse {
        let (parts, body) = asked.into_parts();
        let bytes = to_bytes(body, ANSWER_BYTES_MAX).await.unwrap();
        let header = |name: &str| {
            let value = parts.headers.get(name)?;
            Some(value.to_str().unwrap().to_owned())
        };
        let told = json!({
            "method": parts.method.as_str(), "uri": parts.uri.to_string(), "token": header("authorization"),
            "command": header(IDEMPOTENCY_KEY), "body": String::from_utf8(bytes.to_vec()).unwrap(),
        });
        (StatusCode::IM_A_TEAPOT, told.to_string())
    }

    async fn ask(sent: Sent) -> Value {
        let routed = Routed::new(Router::new().route("/v1/told", any(told)));
        let mut headers = HeaderMap::new();
        headers.insert("authorization", HeaderValue::from_static("Bearer t"));
        let request = Request {
            path: "/v1/told",
            sent,
            deadline: DEADLINE,
        };
        let answer = routed.send(&Caller::of(&headers), request).await.unwrap();
        assert_eq!(answer.status, 418);
        assert_eq!(answer.body["token"], "Bearer t");
        answer.body
    }

    #[tokio::test]
    async fn a_request_goes_as_it_would_over_http() {
        let hostile = "org/a&scope=*#é \n%2f";
        let read = ask(Sent::Query(vec![("scope", hostile.to_owned())])).await;
        assert_eq!(read["method"], "GET");
        assert_eq!(
            read["uri"],
            "/v1/told?scope=org%2Fa%26scope%3D*%23%C3%A9+%0A%252f"
        );
        let asked = ask(Sent::Question(json!({ "a": 1 }))).await;
        assert_eq!(asked["method"], "POST");
        assert_eq!(asked["command"], Value::Null);
        assert_eq!(asked["body"], "{\"a\":1}");
        let id = CommandId::from_parts(Timestamp::from_ms(7), [1; 10]);
        let written = ask(Sent::Command(json!({}), id)).await;
        assert_eq!(written["command"], id.to_string());
    }

    #[tokio::test]
    async fn what_is_no_json_or_comes_late_is_no_answer() {
        async fn slow() -> &'static str {
            tokio::time::sleep(DEADLINE * 2).await;
            "{}"
        }
        let router = Router::new()
            .route("/v1/told", any(async || "no JSON"))
            .route("/v1/slow", any(slow));
        let routed = Routed::new(router);
        let request = |path, deadline| Request {
            path,
            sent: Sent::Query(Vec::new()),
            deadline,
        };
        let caller = Caller::default();
        let foreign = routed.send(&caller, request("/v1/told", DEADLINE)).await;
        assert!(matches!(foreign, Err(Outage::Foreign(_))), "{foreign:?}");
        let soon = core::time::Duration::from_millis(20);
        let late = routed.send(&caller, request("/v1/slow", soon)).await;
        assert_eq!(late.unwrap_err(), Outage::Late);
    }
}
