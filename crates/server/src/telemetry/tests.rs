//! Tests of the way to a collector: what does not answer costs spans and nothing else.

use axum::Router;
use axum::body::Bytes;
use axum::http::StatusCode;
use axum::routing::post;
use parking_lot::Mutex;
use tokio::net::TcpListener;

use super::*;

fn config(otlp_endpoint: String) -> Config {
    let mut config = Config::default();
    config.telemetry.otlp_endpoint = otlp_endpoint;
    config.telemetry.export_every_ms = 10;
    config.telemetry.export_timeout_ms = 500;
    config
}

/// A collector that answers with a status, and keeps the bytes that it was sent.
async fn collector(status: StatusCode) -> (String, Arc<Mutex<Vec<Bytes>>>) {
    let taken = Arc::<Mutex<Vec<Bytes>>>::default();
    let keeping = Arc::clone(&taken);
    let take = move |body: Bytes| async move {
        keeping.lock().push(body);
        status
    };
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let routes = Router::new().route("/v1/traces", post(take));
    tokio::spawn(async move { axum::serve(listener, routes).await });
    (format!("http://{address}"), taken)
}

fn spans(telemetry: &Telemetry, count: u64) {
    for _ in 0..count {
        telemetry.tracer().begin("test", SpanKind::Internal, None);
    }
}

#[tokio::test]
async fn nothing_is_sent_unless_a_collector_is_configured() {
    assert!(Telemetry::open(&Config::default()).unwrap().is_none());
    assert!(Telemetry::open(&config("nowhere".to_owned())).is_err());
}

#[tokio::test]
async fn everything_that_ended_is_sent_before_the_way_is_closed() {
    let (endpoint, taken) = collector(StatusCode::OK).await;
    let telemetry = Telemetry::open(&config(endpoint)).unwrap().unwrap();
    let counters = telemetry.counters().clone();
    spans(&telemetry, 1_200);
    telemetry.close().await;
    assert_eq!((counters.sent.get(), counters.lost.get()), (1_200, 0));
    assert!(taken.lock().len() >= 3, "they go in batches");
}

#[tokio::test]
async fn spans_that_nobody_takes_are_lost_counted_and_waited_for_by_nobody() {
    let refusing = collector(StatusCode::BAD_REQUEST).await.0;
    // Nobody listens there, and nobody answers here.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let silent_at = format!("http://{}", silent.local_addr().unwrap());
    for endpoint in [refusing, "http://127.0.0.1:1".to_owned(), silent_at] {
        let telemetry = Telemetry::open(&config(endpoint.clone())).unwrap().unwrap();
        let counters = telemetry.counters().clone();
        let begun = Instant::now();
        spans(&telemetry, 3);
        while counters.lost.get() == 0 {
            assert!(begun.elapsed() < Duration::from_secs(20), "{endpoint}");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        assert_eq!(counters.sent.get(), 0, "{endpoint}");
        let closing = Instant::now();
        spans(&telemetry, 3);
        telemetry.close().await;
        assert!(closing.elapsed() < Duration::from_secs(5), "{endpoint}");
    }
}

#[tokio::test]
async fn what_comes_on_top_of_a_full_queue_is_lost() {
    let telemetry = Telemetry::open(&config("http://127.0.0.1:1".to_owned()))
        .unwrap()
        .unwrap();
    // Nothing is sent before this gives way.
    let waiting = u64::try_from(WAITING_MAX).unwrap();
    spans(&telemetry, waiting + 5);
    assert_eq!(telemetry.counters().lost.get(), 5);
}

#[tokio::test]
async fn a_trace_is_recorded_if_its_caller_records_it_and_else_by_share() {
    let mut config = config("http://127.0.0.1:1".to_owned());
    config.telemetry.sampled_share = 0.0;
    let telemetry = Telemetry::open(&config).unwrap().unwrap();
    let begin = |parent| telemetry.tracer().begin("test", SpanKind::Internal, parent);
    assert!(begin(None).is_none());
    let sampled = |is_sampled| TraceContext::new([1; 16], [2; 8], is_sampled);
    assert!(begin(sampled(false)).is_none());
    let span = begin(sampled(true)).unwrap();
    assert_eq!(span.context().trace(), [1; 16]);
    assert_ne!(span.context().span(), [2; 8]);
    assert!(span.context().is_sampled());
}
