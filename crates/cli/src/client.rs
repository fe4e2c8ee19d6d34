//! The HTTP client: one call to the server, repeated while that can help.
//!
//! Owns command ids, tokens on the wire, and retries. It must not know what a route is for: that
//! is [`routes`].

use std::time::Duration;

use reqwest::{Method, Response, StatusCode, Url};
use serde::Serialize;
use serde::de::DeserializeOwned;
use sillok_core::id::CommandId;
use sillok_core::time::Timestamp;
use sillok_core::trace::{TRACEPARENT, TraceContext};
use sillok_mcp::limits::ANSWER_BYTES_MAX;
use sillok_server::api::Problem;

use crate::failure::{EXIT_RETRY, Failure, exit_status_of};

pub mod bank;
pub mod fixes;
pub mod kept;
pub mod mcp;
pub mod routes;
pub mod stream;

/// How often, and after what delays, a call is repeated.
#[derive(Clone, Copy, Debug)]
pub struct RetryPolicy {
    /// Attempts in all, the first one included.
    pub attempts_max: u32,
    /// Delay before the second attempt, in milliseconds; doubled for each further one.
    pub delay_ms_first: u64,
    /// Longest delay, in milliseconds, also where the server asks for a longer one.
    pub delay_ms_max: u64,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            attempts_max: 7,
            delay_ms_first: 100,
            delay_ms_max: 3_000,
        }
    }
}

impl RetryPolicy {
    /// The delay behind the attempt with this number, from 1. `share` (0 to 1) spreads callers
    /// that failed at the same time: the delay lies between half and the whole.
    fn delay(&self, attempt: u32, asked_ms: Option<u64>, share: f64) -> Duration {
        let doubled = self
            .delay_ms_first
            .saturating_mul(1 << attempt.saturating_sub(1).min(20));
        let ms = doubled.max(asked_ms.unwrap_or(0)).min(self.delay_ms_max);
        let floor = asked_ms.unwrap_or(0).min(self.delay_ms_max);
        let spread = Duration::from_millis(ms).mul_f64(0.5 + share / 2.0);
        spread.max(Duration::from_millis(floor))
    }
}

/// Speaks to one server with one token. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Client {
    http: reqwest::Client,
    base: String,
    token: Option<String>,
    retry: RetryPolicy,
    answer_timeout: Duration,
    /// The trace that every request belongs to.
    within: Option<TraceContext>,
}

/// How long the server may take over everything that it holds.
const LONG_ANSWER_TIMEOUT: Duration = Duration::from_secs(6 * 60 * 60);
/// How long the server may take for one answer. Longer than it waits for a promotion.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(60);
/// How long a connection may take.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

impl Client {
    /// A client for the server at `base`, such as `http://127.0.0.1:7411`.
    ///
    /// # Errors
    /// [`Failure::Config`] when the address is none.
    pub fn new(base: &str, token: Option<String>, retry: RetryPolicy) -> Result<Self, Failure> {
        let url = Url::parse(base)
            .map_err(|error| Failure::Config(format!("'{base}' is no address: {error}")))?;
        if url.scheme() != "http" {
            let why = "this client speaks plain http; put a proxy that ends TLS in front of a remote server";
            return Err(Failure::Config(format!("'{base}' cannot be used: {why}")));
        }
        // All retries are this client's own, so that their number is the policy's.
        let mut builder = reqwest::Client::builder()
            .connect_timeout(CONNECT_TIMEOUT)
            .retry(reqwest::retry::never());
        if is_loopback(&url) {
            builder = builder.no_proxy();
        }
        let http = builder
            .build()
            .map_err(|source| unreachable(base, source))?;
        Ok(Self {
            http,
            base: base.trim_end_matches('/').to_owned(),
            token,
            retry,
            answer_timeout: ANSWER_TIMEOUT,
            within: None,
        })
    }

    /// The same server with another token.
    #[must_use]
    pub fn with_token(&self, token: &str) -> Self {
        Self {
            token: Some(token.to_owned()),
            ..self.clone()
        }
    }

    /// The same server, with every request as part of a trace.
    #[must_use]
    pub fn within(self, within: Option<TraceContext>) -> Self {
        Self { within, ..self }
    }

    /// The server's address.
    #[must_use]
    pub fn base(&self) -> &str {
        &self.base
    }

    /// Reads.
    ///
    /// # Errors
    /// [`Failure`]
    pub async fn get<T: DeserializeOwned>(
        &self,
        path: &str,
        query: &impl Serialize,
    ) -> Result<T, Failure> {
        let request = self.request(Method::GET, path).query(query);
        self.answer(request).await
    }

    /// Reads by a request that has a body.
    ///
    /// # Errors
    /// [`Failure`]
    pub async fn ask<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &impl Serialize,
    ) -> Result<T, Failure> {
        self.answer(self.request(Method::POST, path).json(body))
            .await
    }

    /// Asks for work that may take the server long.
    ///
    /// # Errors
    /// [`Failure`]
    pub async fn ask_long<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &impl Serialize,
    ) -> Result<T, Failure> {
        self.patient().ask(path, body).await
    }

    /// The client that waits for work which may take the server long.
    #[must_use]
    pub fn patient(&self) -> Self {
        Self {
            answer_timeout: LONG_ANSWER_TIMEOUT,
            ..self.clone()
        }
    }

    /// Writes, under a new command id that every attempt carries.
    ///
    /// # Errors
    /// [`Failure`]
    pub async fn write<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &impl Serialize,
    ) -> Result<T, Failure> {
        self.write_as(new_command_id(), path, body).await
    }

    /// Writes under this command id: where it was carried out before, the answer is that of then.
    ///
    /// # Errors
    /// [`Failure`]
    pub async fn write_as<T: DeserializeOwned>(
        &self,
        command: CommandId,
        path: &str,
        body: &impl Serialize,
    ) -> Result<T, Failure> {
        let request = self.request(Method::POST, path).json(body);
        self.answer(request.header("Idempotency-Key", command.to_string()))
            .await
    }

    fn request(&self, method: Method, path: &str) -> reqwest::RequestBuilder {
        let request = self.http.request(method, format!("{}{path}", self.base));
        let request = match &self.within {
            Some(within) => request.header(TRACEPARENT, within.to_string()),
            None => request,
        };
        match &self.token {
            Some(token) => request.bearer_auth(token),
            None => request,
        }
    }

    /// Sends until the answer is final or the attempts are used up.
    async fn answer<T: DeserializeOwned>(
        &self,
        request: reqwest::RequestBuilder,
    ) -> Result<T, Failure> {
        let request = request.timeout(self.answer_timeout);
        let mut attempt = 1;
        loop {
            let this = request.try_clone().expect("bodies are buffered");
            let failure = match self.attempt(this).await {
                Ok(bytes) => return self.parse(&bytes),
                Err(failure) => failure,
            };
            if attempt >= self.retry.attempts_max || !can_help(&failure) {
                return Err(failure);
            }
            let asked_ms = match &failure {
                Failure::Refused(problem) => problem.retry_after_ms,
                _ => None,
            };
            tokio::time::sleep(self.retry.delay(attempt, asked_ms, random_share())).await;
            attempt += 1;
        }
    }

    async fn attempt(&self, request: reqwest::RequestBuilder) -> Result<Vec<u8>, Failure> {
        let response = request
            .send()
            .await
            .map_err(|source| unreachable(&self.base, source))?;
        let status = response.status();
        let bytes = self.whole(response).await?;
        if status.is_success() {
            Ok(bytes)
        } else {
            Err(self.refusal(status, &bytes))
        }
    }

    /// The body of an answer, unless it is longer than any: who answers may be no server of ours.
    async fn whole(&self, mut response: Response) -> Result<Vec<u8>, Failure> {
        let mut whole = Vec::new();
        let lost = |source| unreachable(&self.base, source);
        while let Some(piece) = response.chunk().await.map_err(lost)? {
            if whole.len() + piece.len() > ANSWER_BYTES_MAX {
                return Err(self.foreign(format!("more than {ANSWER_BYTES_MAX} bytes")));
            }
            whole.extend_from_slice(&piece);
        }
        Ok(whole)
    }

    fn parse<T: DeserializeOwned>(&self, bytes: &[u8]) -> Result<T, Failure> {
        serde_json::from_slice(bytes).map_err(|error| self.foreign(error.to_string()))
    }

    fn refusal(&self, status: StatusCode, bytes: &[u8]) -> Failure {
        match serde_json::from_slice::<Problem>(bytes) {
            Ok(problem) => Failure::Refused(Box::new(problem)),
            Err(_) => self.foreign(format!("status {status}")),
        }
    }

    fn foreign(&self, what: String) -> Failure {
        Failure::Foreign {
            url: self.base.clone(),
            what,
        }
    }
}

/// Whether the same call, sent again, may end otherwise.
fn can_help(failure: &Failure) -> bool {
    match failure {
        Failure::Refused(problem) => exit_status_of(problem.code) == EXIT_RETRY,
        // A request that could not even be built fails the same way again.
        Failure::Unreachable { source, .. } => !source.is_builder(),
        _ => false,
    }
}

/// Whether an address names this very machine.
#[must_use]
pub fn is_loopback(url: &Url) -> bool {
    match url.host_str() {
        Some("localhost") => true,
        Some(host) => {
            let bare = host.trim_start_matches('[').trim_end_matches(']');
            bare.parse::<std::net::IpAddr>()
                .is_ok_and(|ip| ip.is_loopback())
        }
        None => false,
    }
}

fn unreachable(base: &str, source: reqwest::Error) -> Failure {
    Failure::Unreachable {
        url: base.to_owned(),
        source,
    }
}

/// A new command id: the time, and chance.
#[must_use]
pub fn new_command_id() -> CommandId {
    let mut random = [0; 10];
    getrandom::fill(&mut random).expect("the operating system gives random bytes");
    CommandId::from_parts(now(), random)
}

/// The time by this machine's clock.
#[must_use]
pub fn now() -> Timestamp {
    let since = std::time::SystemTime::UNIX_EPOCH
        .elapsed()
        .unwrap_or_default();
    Timestamp::from_ms(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}

fn random_share() -> f64 {
    let mut byte = [0; 1];
    getrandom::fill(&mut byte).expect("the operating system gives random bytes");
    f64::from(byte[0]) / 255.0
}

#[cfg(test)]
mod tests;
