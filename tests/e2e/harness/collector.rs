//! A collector of spans: it takes what a server sends by OTLP over HTTP, and keeps it in memory.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::Bytes;
use axum::http::StatusCode;
use axum::routing::post;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue};
use opentelemetry_proto::tonic::trace::v1::ResourceSpans;
use parking_lot::Mutex;
use prost::Message as _;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

/// The longest that a span may take to arrive.
const PATIENCE: Duration = Duration::from_secs(30);

/// A span that was sent.
#[derive(Clone, Debug)]
pub(crate) struct Span {
    /// The node that it happened on.
    pub(crate) node: String,
    pub(crate) name: String,
    /// In hexadecimal digits, as what follows.
    pub(crate) trace: String,
    pub(crate) id: String,
    /// Empty where there is none.
    pub(crate) parent: String,
    pub(crate) notes: BTreeMap<String, String>,
    /// What is said of the process.
    pub(crate) resource: BTreeMap<String, String>,
    /// All of it, for who looks for what should not be there.
    pub(crate) text: String,
}

type Taken = Arc<Mutex<Vec<Span>>>;

/// A collector that listens.
pub(crate) struct Collector {
    url: String,
    taken: Taken,
    serving: JoinHandle<()>,
}

impl Collector {
    /// One at any free port of this machine.
    pub(crate) async fn start() -> Self {
        let taken = Taken::default();
        let keeping = Arc::clone(&taken);
        let take = move |body: Bytes| async move {
            let Ok(request) = ExportTraceServiceRequest::decode(body) else {
                return StatusCode::BAD_REQUEST;
            };
            let spans = request.resource_spans.into_iter().flat_map(spans_of);
            keeping.lock().extend(spans);
            StatusCode::OK
        };
        let listener = TcpListener::bind("127.0.0.1:0").await;
        let listener = listener.expect("a port is free");
        let address = listener.local_addr().expect("it listens");
        let routes = Router::new().route("/v1/traces", post(take));
        let serving = tokio::spawn(async move {
            // It ends with the test.
            let _ = axum::serve(listener, routes).await;
        });
        Self {
            url: format!("http://{address}"),
            taken,
            serving,
        }
    }

    /// Where it listens.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// The spans of a trace that have come so far.
    pub(crate) fn of(&self, trace: &str) -> Vec<Span> {
        let taken = self.taken.lock();
        let own = taken.iter().filter(|span| span.trace == trace);
        own.cloned().collect()
    }

    /// Everything that has come so far.
    pub(crate) fn all(&self) -> Vec<Span> {
        self.taken.lock().clone()
    }

    /// The spans of a trace, once those with all of these names have come.
    pub(crate) async fn comes(&self, trace: &str, names: &[&str]) -> Vec<Span> {
        let begun = Instant::now();
        loop {
            let spans = self.of(trace);
            let has = |name: &&str| spans.iter().any(|span| span.name == **name);
            if names.iter().all(has) {
                return spans;
            }
            assert!(
                begun.elapsed() < PATIENCE,
                "{names:?} are not in {spans:#?}"
            );
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

impl Drop for Collector {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

fn spans_of(sent: ResourceSpans) -> Vec<Span> {
    let resource = sent.resource.map(|resource| resource.attributes);
    let resource = notes(resource.unwrap_or_default());
    let spans = sent.scope_spans.into_iter().flat_map(|scope| scope.spans);
    let span = |span: opentelemetry_proto::tonic::trace::v1::Span| Span {
        node: resource["service.instance.id"].clone(),
        text: format!("{span:?}"),
        name: span.name,
        trace: hex(&span.trace_id),
        id: hex(&span.span_id),
        parent: hex(&span.parent_span_id),
        notes: notes(span.attributes),
        resource: resource.clone(),
    };
    spans.map(span).collect()
}

fn notes(attributes: Vec<KeyValue>) -> BTreeMap<String, String> {
    let note = |attribute: KeyValue| (attribute.key, text(attribute.value));
    attributes.into_iter().map(note).collect()
}

fn text(value: Option<AnyValue>) -> String {
    match value.and_then(|value| value.value) {
        Some(Value::StringValue(text)) => text,
        Some(Value::IntValue(number)) => number.to_string(),
        other => panic!("a span says {other:?}"),
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
