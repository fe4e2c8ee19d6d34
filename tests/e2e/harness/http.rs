//! A client that sends what it is told to, and looks closely at every answer.

use std::fmt::Debug;
use std::hash::{BuildHasher, RandomState};
use std::iter::Sum;
use std::str::FromStr;
use std::time::{Duration, SystemTime};

use reqwest::{Method, RequestBuilder, StatusCode};
use serde_json::Value;
use sillok_core::id::CommandId;
use sillok_core::time::Timestamp;
use sillok_test_cluster::Server;

/// The longest that one request may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// Speaks to one server as one principal.
#[derive(Clone, Debug)]
pub(crate) struct Client {
    http: reqwest::Client,
    base: String,
    token: Option<String>,
}

/// An answer.
#[derive(Debug)]
pub(crate) struct Reply {
    /// What was asked.
    pub(crate) asked: String,
    /// The HTTP status.
    pub(crate) status: u16,
    /// The media type.
    pub(crate) media: String,
    /// The body as text.
    pub(crate) text: String,
    /// The body, where it is JSON; else null.
    pub(crate) body: Value,
}

impl Client {
    pub(crate) fn new(base: &str, token: Option<&str>) -> Self {
        let http = reqwest::Client::builder()
            .timeout(PATIENCE)
            .no_proxy()
            .build()
            .expect("a client without TLS can be built");
        Self {
            http,
            base: base.to_owned(),
            token: token.map(str::to_owned),
        }
    }

    /// Of a server, with the administrator's token.
    pub(crate) fn admin_of(server: &Server) -> Self {
        Self::new(server.base(), Some(&server.token()))
    }

    /// The same client with another token.
    pub(crate) fn with_token(&self, token: Option<&str>) -> Self {
        Self {
            token: token.map(str::to_owned),
            ..self.clone()
        }
    }

    /// The secret that it sends.
    pub(crate) fn token(&self) -> &str {
        self.token
            .as_deref()
            .expect("the test asks only where there is one")
    }

    /// A metric of the server: the sum over its labels.
    pub(crate) async fn metric<V>(&self, name: &str) -> V
    where
        V: FromStr<Err: Debug> + Sum,
    {
        let text = self.get("/metrics", &[]).await.text;
        let samples = text.lines().filter_map(|line| line.strip_prefix(name));
        let values = samples
            .filter(|rest| rest.starts_with([' ', '{']))
            .filter_map(|rest| rest.rsplit(' ').next());
        let values: Vec<V> = values
            .map(|value| value.parse().expect("a metric is a number"))
            .collect();
        assert!(!values.is_empty(), "no {name} in {text}");
        values.into_iter().sum()
    }

    /// Sends a command under a new id.
    pub(crate) async fn post(&self, path: &str, body: &Value) -> Reply {
        self.command(path, &command_id(), body).await
    }

    /// Sends a command under this id.
    pub(crate) async fn command(&self, path: &str, id: &str, body: &Value) -> Reply {
        let sent = self.attempt(path, id, body).await;
        sent.unwrap_or_else(|error| panic!("{path} was not answered: {error:?}"))
    }

    /// Sends a command under this id. An error means that its outcome is not known.
    pub(crate) async fn attempt(
        &self,
        path: &str,
        id: &str,
        body: &Value,
    ) -> Result<Reply, reqwest::Error> {
        let request = self
            .request(Method::POST, path)
            .header("idempotency-key", id)
            .json(body);
        read(format!("POST {path}"), request).await
    }

    /// Sends these very bytes, with these headers.
    pub(crate) async fn raw(&self, path: &str, headers: &[(&str, &str)], bytes: Vec<u8>) -> Reply {
        let mut request = self.request(Method::POST, path);
        request = request.header("content-type", "application/json");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let sent = read(format!("POST {path}"), request.body(bytes)).await;
        sent.unwrap_or_else(|error| panic!("{path} was not answered: {error:?}"))
    }

    /// Asks by query.
    pub(crate) async fn get(&self, path: &str, query: &[(&str, &str)]) -> Reply {
        let request = self.request(Method::GET, path).query(query);
        let sent = read(format!("GET {path} {query:?}"), request).await;
        sent.unwrap_or_else(|error| panic!("{path} was not answered: {error:?}"))
    }

    /// All items of a listing, page by page.
    pub(crate) async fn all(&self, path: &str, scope: &str) -> Vec<Value> {
        let mut items = Vec::new();
        let mut after: Option<String> = None;
        loop {
            let mut query = vec![("scope", scope), ("limit", "1000")];
            query.extend(after.as_deref().map(|after| ("after", after)));
            let mut page = self.get(path, &query).await.ok();
            let found = page["items"].as_array_mut().expect("a page has items");
            items.append(found);
            match page["next"].as_str() {
                Some(next) => {
                    assert_ne!(Some(next), after.as_deref(), "a listing goes on");
                    after = Some(next.to_owned());
                }
                None => return items,
            }
        }
    }

    /// Opens a stream of server-sent events.
    pub(crate) async fn stream(
        &self,
        query: &[(&str, &str)],
        last_event: Option<&str>,
    ) -> reqwest::Response {
        let mut request = self.request(Method::GET, "/v1/tail").query(query);
        if let Some(id) = last_event {
            request = request.header("last-event-id", id);
        }
        let response = request.send().await.expect("a tail answers");
        assert_eq!(response.status(), StatusCode::OK);
        response
    }

    fn request(&self, method: Method, path: &str) -> RequestBuilder {
        let request = self.http.request(method, format!("{}{path}", self.base));
        match &self.token {
            Some(token) => request.bearer_auth(token),
            None => request,
        }
    }
}

async fn read(asked: String, request: RequestBuilder) -> Result<Reply, reqwest::Error> {
    let response = request.send().await?;
    let status = response.status().as_u16();
    let media = response
        .headers()
        .get("content-type")
        .and_then(|value| value.to_str().ok());
    let media = media.unwrap_or_default().to_owned();
    let text = response.text().await?;
    let body = serde_json::from_str(&text).unwrap_or(Value::Null);
    Ok(Reply {
        asked,
        status,
        media,
        text,
        body,
    })
}

impl Reply {
    /// The body of an answer that must be a success.
    #[track_caller]
    pub(crate) fn ok(self) -> Value {
        assert_eq!(
            self.status, 200,
            "{} was not carried out: {}",
            self.asked, self.text
        );
        self.body
    }

    /// The problem of an answer that must be this refusal, in the form of RFC 9457.
    #[track_caller]
    pub(crate) fn refused(self, status: u16, code: &str) -> Value {
        let Self {
            asked,
            status: found,
            media,
            text,
            body,
        } = self;
        assert_eq!(
            (found, body["code"].as_str()),
            (status, Some(code)),
            "{asked}: {text}"
        );
        assert_eq!(media, "application/problem+json", "{asked}: {text}");
        assert_eq!(body["status"], status, "{asked}: {text}");
        assert_eq!(
            body["type"],
            format!("https://sillok.dev/errors/{code}"),
            "{asked}: {text}"
        );
        for field in ["title", "detail", "advice"] {
            let said = body[field].as_str().unwrap_or_default();
            assert!(!said.is_empty(), "{asked} has no {field}: {text}");
        }
        body
    }
}

/// Asserts that a command which is given again gets its first answer. The moment before which backups hold what an erasure
/// destroyed may be a later one: it is when the answering node knew of it.
#[track_caller]
pub(crate) fn assert_same(again: &Value, first: &Value, what: &str) {
    const KNOWN: &str = "backups_before";
    let mut expected = first.clone();
    if let (Some(now), Some(before)) = (again.get(KNOWN), first.get(KNOWN)) {
        let before = before.as_u64().expect("a moment is in milliseconds");
        let is_later = now.as_u64().is_some_and(|now| now >= before);
        assert!(is_later, "{what}: {KNOWN} was {before}, and is {now}");
        expected[KNOWN] = now.clone();
    }
    assert_eq!(again, &expected, "{what}");
}

/// A new command id: a UUID of version 7.
pub(crate) fn command_id() -> String {
    command_id_at(now_ms())
}

/// A command id of this time.
pub(crate) fn command_id_at(ms: u64) -> String {
    let (a, b) = (
        RandomState::new().hash_one(1),
        RandomState::new().hash_one(2),
    );
    let mut random = [0; 10];
    random[..8].copy_from_slice(&a.to_le_bytes());
    random[8..].copy_from_slice(&b.to_le_bytes()[..2]);
    CommandId::from_parts(Timestamp::from_ms(ms), random).to_string()
}

/// Milliseconds since the Unix epoch.
pub(crate) fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let ms = since.expect("the clock stands after 1970").as_millis();
    u64::try_from(ms).expect("it fits for a long time")
}
