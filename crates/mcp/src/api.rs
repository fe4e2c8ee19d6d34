//! The HTTP API, as this crate calls it.
//!
//! Owns the form of one request and of its answer. It must not know how a request gets there.

use core::fmt;
use core::time::Duration;

use axum::http::{HeaderMap, HeaderName, header};
use serde_json::Value;
use sillok_core::id::CommandId;

/// Who calls: the headers by which the API knows that, as they came. Empty where whoever speaks has one token for all calls.
#[derive(Clone, Default)]
pub struct Caller {
    headers: HeaderMap,
}

/// The headers of a caller that are handed on.
const HANDED_ON: [HeaderName; 2] = [
    header::AUTHORIZATION,
    HeaderName::from_static("traceparent"),
];

impl Caller {
    /// The caller of a request with these headers. Each value is handed on, so that the API judges them itself.
    #[must_use]
    pub fn of(headers: &HeaderMap) -> Self {
        let mut handed_on = HeaderMap::new();
        for name in HANDED_ON {
            for value in headers.get_all(&name) {
                handed_on.append(name.clone(), value.clone());
            }
        }
        Self { headers: handed_on }
    }

    /// The headers that a request of this caller carries.
    #[must_use]
    pub const fn headers(&self) -> &HeaderMap {
        &self.headers
    }
}

impl fmt::Debug for Caller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A token is told to nobody.
        let names = self.headers.keys();
        f.debug_list().entries(names).finish()
    }
}

/// What is sent with a request.
#[derive(Clone, Debug, PartialEq)]
pub enum Sent {
    /// A query: what is read.
    Query(Vec<(&'static str, String)>),
    /// A body that asks, and changes nothing.
    Question(Value),
    /// A body that changes something, under this command id.
    Command(Value, CommandId),
}

/// One request.
#[derive(Clone, Debug)]
pub struct Request {
    /// The route, such as `/v1/recall`.
    pub path: &'static str,
    /// What is sent. A query is a GET, a body a POST.
    pub sent: Sent,
    /// How long the answer may take.
    pub deadline: Duration,
}

/// An answer, refusals included.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The HTTP status.
    pub status: u16,
    /// The body.
    pub body: Value,
}

/// Why there is no answer. But for one that was not sent, a command may have been carried out all the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outage {
    /// There is nobody to send it to.
    Unsent(String),
    /// It was sent, and nobody answers.
    Unreachable(String),
    /// The answer did not come in time.
    Late,
    /// What answers does not speak as Sillok does.
    Foreign(String),
}

impl fmt::Display for Outage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unsent(why) => write!(f, "no server is reached: {why}"),
            Self::Unreachable(why) => write!(f, "the server does not answer: {why}"),
            Self::Late => f.write_str("the server did not answer in time"),
            Self::Foreign(what) => {
                write!(f, "what answers is not a server of this version: {what}")
            }
        }
    }
}

/// Whoever carries a request to the API, with the caller's own token.
pub trait Api: Send + Sync + 'static {
    /// The answer to one request.
    ///
    /// # Errors
    /// [`Outage`] where there is none.
    fn send(
        &self,
        caller: &Caller,
        request: Request,
    ) -> impl Future<Output = Result<Answer, Outage>> + Send;
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    #[test]
    fn a_caller_is_known_by_its_token_alone_and_does_not_show_it() {
        let mut headers = HeaderMap::new();
        for (name, value) in [
            ("authorization", "Bearer slk_a"),
            ("authorization", "Bearer slk_b"),
            ("cookie", "c=1"),
            ("idempotency-key", "x"),
            ("traceparent", "00-1-2-01"),
        ] {
            headers.append(name, HeaderValue::from_static(value));
        }
        let caller = Caller::of(&headers);
        // Two tokens stay two: which counts is not for this crate to choose.
        assert_eq!(caller.headers().get_all("authorization").iter().count(), 2);
        assert_eq!(caller.headers().len(), 3);
        assert!(!format!("{caller:?}").contains("slk_"));
    }
}
