//! Bodies that arrive slowly, or not at all: what they hold, and when they are given up.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use axum::body::{Body, Bytes};
use axum::http::{Method, header};
use futures::{StreamExt, stream};
use serde_json::Value;
use sillok_core::ErrorCode;
use sillok_core::limits::RECORD_BYTES_MAX;

use super::{Server, TASK, logs, request, taken};
use crate::api::{Appended, Page, Problem, RecordView};

/// Bytes of the tests' largest body.
const LIMIT: usize = RECORD_BYTES_MAX;

/// A body that sends so many blanks and then nothing for ever.
fn stalled(bytes: usize) -> Body {
    let sent = stream::iter([Ok::<_, std::io::Error>(Bytes::from(vec![b' '; bytes]))]);
    Body::from_stream(sent.chain(stream::pending()))
}

/// Has a request with a stalled body under way until the answer is dropped.
async fn stall(
    server: &Server,
    declared: Option<usize>,
    sent: usize,
) -> tokio::task::JoinHandle<Problem> {
    let mut request = request(Method::POST, &server.admin, "/v1/logs");
    if let Some(bytes) = declared {
        request = request.header(header::CONTENT_LENGTH, bytes);
    }
    let request = request.body(stalled(sent)).unwrap();
    let router = server.router.clone();
    let under_way = held(server) + sent.min(1);
    let answer = tokio::spawn(async move {
        let response = tower::ServiceExt::oneshot(router, request).await.unwrap();
        taken::<Value>(response).await.unwrap_err()
    });
    let began = Instant::now();
    while held(server) < under_way {
        assert!(began.elapsed() < Duration::from_secs(20), "it never began");
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    answer
}

fn held(server: &Server) -> usize {
    server.app.inner.bodies_bytes.load(Ordering::Relaxed)
}

async fn small() -> Server {
    let server = Server::with(|config| {
        config.server.body_bytes_max = LIMIT;
        config.server.bodies_bytes_max = LIMIT;
    })
    .await;
    server.open_task(TASK).await;
    server
}

#[tokio::test]
async fn bodies_that_only_announce_much_leave_room_for_others() {
    let server = small().await;
    let mut waiting = Vec::new();
    for declared in [None, Some(LIMIT), None, Some(LIMIT)] {
        waiting.push(stall(&server, declared, 1).await);
    }
    server
        .post::<Appended>(&server.admin, "/v1/logs", logs(TASK, "through"))
        .await
        .unwrap();
    assert!(waiting.iter().all(|answer| !answer.is_finished()));
}

#[tokio::test]
async fn bytes_that_arrived_hold_their_room_until_the_request_ends() {
    let server = small().await;
    let waiting = stall(&server, None, LIMIT).await;
    let busy = server
        .post::<Appended>(&server.admin, "/v1/logs", logs(TASK, "c"))
        .await
        .unwrap_err();
    assert_eq!(busy.code, ErrorCode::Busy);
    waiting.abort();
    assert!(waiting.await.unwrap_err().is_cancelled());
    assert_eq!(held(&server), 0);
    server
        .post::<Appended>(&server.admin, "/v1/logs", logs(TASK, "c"))
        .await
        .unwrap();
}

#[tokio::test]
async fn a_body_that_does_not_arrive_in_time_is_ended() {
    let server = Server::with(|config| config.server.body_ms_max = 200).await;
    server.open_task(TASK).await;
    // As much as is refused for its size, and then still more announced.
    let too_large = server.app.inner.config.body_bytes_max + 1;
    let cases = [
        (None, 1, ErrorCode::InvalidRequest),
        (Some(LIMIT), 1, ErrorCode::InvalidRequest),
        (Some(too_large), 0, ErrorCode::TooLarge),
    ];
    for (declared, sent, code) in cases {
        let answer = stall(&server, declared, sent).await;
        let problem = tokio::time::timeout(Duration::from_secs(20), answer).await;
        let problem = problem.expect("the server gives up").unwrap();
        assert_eq!(problem.code, code, "{problem:?}");
    }
    assert_eq!(held(&server), 0);
    let records = format!("/v1/records?scope={TASK}");
    let page: Page<RecordView> = server.get(&server.admin, &records).await.unwrap();
    assert!(page.items.is_empty());
}
