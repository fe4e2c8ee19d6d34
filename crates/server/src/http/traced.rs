//! The span of a request, and the trace that it belongs to.
//!
//! Owns what is said of a request to whoever collects spans: the method, the route as it is written in the
//! document, and how it ended. Never what was asked or answered, nor by whom.

use axum::body::Body;
use axum::extract::{MatchedPath, Request, State};
use axum::http::{HeaderMap, Response};
use axum::middleware::Next;
use sillok_core::error::ErrorCode;
use sillok_core::trace::{SpanKind, TRACEPARENT, TraceContext};

use super::App;

/// What a response carries of the refusal that it is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Refused(pub(super) ErrorCode);

/// The trace that a request belongs to, as its handler finds it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Within(pub(super) TraceContext);

/// Records a request as part of its caller's trace, or as the first of a new one.
pub(super) async fn trace(
    State(app): State<App>,
    mut request: Request,
    next: Next,
) -> Response<Body> {
    let callers = of_caller(request.headers());
    let tracer = app.node().ports().tracer.as_deref();
    let mut span = tracer.and_then(|tracer| {
        let method = request.method().as_str();
        let path = request.extensions().get::<MatchedPath>();
        let route = path.map_or("unknown", MatchedPath::as_str);
        let name = format!("{method} {route}");
        let mut span = tracer.begin(&name, SpanKind::Server, callers)?;
        span.note("http.request.method", method.into());
        span.note("http.route", route.into());
        Some(span)
    });
    // Who records nothing itself still hands on what its caller began.
    if let Some(within) = span.as_ref().map(|span| span.context()).or(callers) {
        request.extensions_mut().insert(Within(within));
    }
    let response = next.run(request).await;
    if let Some(span) = &mut span {
        let status = response.status().as_u16();
        span.note("http.response.status_code", u64::from(status).into());
        if let Some(Refused(code)) = response.extensions().get() {
            span.fail(code.as_str());
        }
    }
    response
}

/// The caller's trace. More than one, or one that is none, counts for nothing.
fn of_caller(headers: &HeaderMap) -> Option<TraceContext> {
    let mut values = headers.get_all(TRACEPARENT).iter();
    let context = values.next()?.to_str().ok()?.parse().ok()?;
    values.next().is_none().then_some(context)
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    const TEXT: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

    #[test]
    fn a_request_belongs_to_one_well_formed_trace_or_to_none() {
        let of = |values: &[&[u8]]| {
            let pair = |value: &&[u8]| {
                let name = axum::http::HeaderName::from_static(TRACEPARENT);
                (name, HeaderValue::from_bytes(value).unwrap())
            };
            of_caller(&values.iter().map(pair).collect())
        };
        assert_eq!(of(&[TEXT.as_bytes()]).unwrap().to_string(), TEXT);
        assert_eq!(of(&[]), None);
        assert_eq!(of(&[b"junk"]), None);
        assert_eq!(of(&[b"\xff\xfe"]), None);
        assert_eq!(of(&[TEXT.as_bytes(), TEXT.as_bytes()]), None);
        assert_eq!(of(&[TEXT.as_bytes(), b"junk"]), None);
    }
}
