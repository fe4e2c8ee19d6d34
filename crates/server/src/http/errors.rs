//! Refusals as HTTP responses: the one place that knows which status a code has.

use std::any::Any;

use axum::body::Body;
use axum::http::{HeaderValue, Response, StatusCode, header};
use axum::response::IntoResponse;
use sillok_core::error::{Error, ErrorCode};
use sillok_core::id::CommandId;

use super::traced::Refused;
use crate::api::Problem;

/// The media type of a refusal.
const PROBLEM: HeaderValue = HeaderValue::from_static("application/problem+json");

/// A refusal on its way out, with the command that it answers.
#[derive(Debug)]
pub(super) struct Refusal {
    error: Error,
    command: Option<CommandId>,
    /// Its HTTP status, where that is not the one of its code.
    status: Option<StatusCode>,
    /// Who decided it.
    by: By,
}

/// Who decided a refusal. The node counts its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum By {
    Edge,
    Node,
}

/// What a response carries of a refusal that nobody has counted yet.
#[derive(Clone, Debug)]
pub(super) struct Uncounted(pub(super) Error);

impl Refusal {
    /// The refusal of a command, before the node was asked.
    pub(super) fn of(command: CommandId) -> impl FnOnce(Error) -> Self {
        move |error| Self {
            error,
            command: Some(command),
            status: None,
            by: By::Edge,
        }
    }

    /// The refusal of a method that a route does not take, which HTTP has a status for. Which it takes stands in `Allow`.
    pub(super) fn of_method() -> Self {
        let why = "the route does not take this method; /v1/openapi.json lists them";
        Self {
            status: Some(StatusCode::METHOD_NOT_ALLOWED),
            ..Self::from(Error::new(ErrorCode::InvalidRequest, why))
        }
    }

    /// The refusal of what is no command by the node.
    pub(super) fn of_node(error: Error) -> Self {
        Self {
            by: By::Node,
            ..Self::from(error)
        }
    }

    /// The refusal of a command by the node.
    pub(super) fn by_node(command: CommandId) -> impl FnOnce(Error) -> Self {
        move |error| Self {
            by: By::Node,
            ..Self::of(command)(error)
        }
    }
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        Self {
            error,
            command: None,
            status: None,
            by: By::Edge,
        }
    }
}

/// The HTTP status of a code.
#[must_use]
pub const fn status_of(code: ErrorCode) -> StatusCode {
    match code {
        ErrorCode::InvalidScope
        | ErrorCode::InvalidId
        | ErrorCode::InvalidArgument
        | ErrorCode::InvalidRequest
        | ErrorCode::InvalidContent => StatusCode::BAD_REQUEST,
        ErrorCode::Unauthenticated => StatusCode::UNAUTHORIZED,
        ErrorCode::Forbidden => StatusCode::FORBIDDEN,
        ErrorCode::NotFound => StatusCode::NOT_FOUND,
        ErrorCode::Conflict | ErrorCode::InvalidState => StatusCode::CONFLICT,
        ErrorCode::Expired | ErrorCode::HistoryChanged => StatusCode::GONE,
        ErrorCode::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
        ErrorCode::InvalidPromotion
        | ErrorCode::InvalidSupersession
        | ErrorCode::CitationRequired
        | ErrorCode::UnresolvableCitation
        | ErrorCode::CommandReused => StatusCode::UNPROCESSABLE_ENTITY,
        ErrorCode::Busy | ErrorCode::QuotaExceeded => StatusCode::TOO_MANY_REQUESTS,
        ErrorCode::Fenced | ErrorCode::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
        ErrorCode::OutcomeUnknown => StatusCode::GATEWAY_TIMEOUT,
        ErrorCode::Internal => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response<Body> {
        let status = self.status.unwrap_or_else(|| status_of(self.error.code));
        let problem = Problem::new(&self.error, status.as_u16(), self.command);
        let body = serde_json::to_vec(&problem).expect("plain data always encodes");
        let mut response = Response::new(Body::from(body));
        *response.status_mut() = status;
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, PROBLEM);
        if self.error.code == ErrorCode::Unauthenticated {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        if let Some(ms) = self.error.retry_after_ms() {
            headers.insert(
                header::RETRY_AFTER,
                HeaderValue::from(ms.div_ceil(1_000).max(1)),
            );
        }
        response.extensions_mut().insert(Refused(self.error.code));
        if self.by == By::Edge {
            response.extensions_mut().insert(Uncounted(self.error));
        }
        response
    }
}

/// The response where a handler panicked: a defect, of which the caller is told no more.
pub(super) fn of_panic(panic: Box<dyn Any + Send + 'static>) -> Response<Body> {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text
        .or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("not a text");
    tracing::error!(panic = text, "a handler panicked");
    Refusal::from(Error::new(
        ErrorCode::Internal,
        "the request met a defect of the server",
    ))
    .into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn problem(refusal: Refusal) -> (Response<()>, Problem) {
        let (parts, body) = refusal.into_response().into_parts();
        let bytes = axum::body::to_bytes(body, usize::MAX).await.unwrap();
        (
            Response::from_parts(parts, ()),
            serde_json::from_slice(&bytes).unwrap(),
        )
    }

    #[tokio::test]
    async fn every_code_is_a_problem_with_an_error_status_and_advice() {
        for code in ErrorCode::ALL {
            let (response, problem) = problem(Error::new(*code, "why").into()).await;
            assert!(response.status().is_client_error() || response.status().is_server_error());
            assert_eq!(
                response.headers()[header::CONTENT_TYPE],
                "application/problem+json"
            );
            assert_eq!(
                (problem.code, problem.status),
                (*code, response.status().as_u16())
            );
            assert_eq!(problem.kind, format!("https://sillok.dev/errors/{code}"));
            assert_eq!(
                (problem.detail.as_str(), problem.advice.as_str()),
                ("why", code.advice())
            );
        }
    }

    #[tokio::test]
    async fn busy_says_when_to_come_back_and_a_command_is_named() {
        let id = CommandId::from_bytes([3; 16]);
        let (response, problem) = problem(Refusal::of(id)(Error::busy("later", 1_200))).await;
        assert_eq!(response.headers()[header::RETRY_AFTER], "2");
        assert_eq!(
            (problem.retry_after_ms, problem.command_id),
            (Some(1_200), Some(id))
        );
        let (response, _) =
            self::problem(Error::new(ErrorCode::Unauthenticated, "who?").into()).await;
        assert_eq!(response.headers()[header::WWW_AUTHENTICATE], "Bearer");
    }
}
