//! Backups that are sent: one at a time, and not for ever.

use std::time::Duration;

use axum::body::Body;
use axum::http::{Method, Response, StatusCode};
use serde_json::Value;
use sillok_core::ErrorCode;
use sillok_store::backup::{Error, Reader};

use super::{Server, TASK, logs, request};
use crate::api::Appended;

const PATIENCE_MS: u64 = 200;

/// A server that holds more than it reads ahead of whoever is sent a backup.
async fn with_much() -> Server {
    let server = Server::with(|config| config.server.backup_stall_ms_max = PATIENCE_MS).await;
    server.open_task(TASK).await;
    for _ in 0..6 {
        let text = "much ".repeat(200_000);
        server
            .post::<Appended>(&server.admin, "/v1/logs", logs(TASK, &text))
            .await
            .unwrap();
    }
    server
}

impl Server {
    async fn backup(&self) -> Response<Body> {
        let asked = request(Method::GET, &self.admin, "/v1/backup");
        self.send(asked.body(Body::empty()).unwrap()).await
    }
}

/// Reads a body to its end as a backup: how many events it has.
async fn read(response: Response<Body>) -> Result<u64, Error> {
    let body = axum::body::to_bytes(response.into_body(), usize::MAX).await;
    let bytes = body.unwrap_or_default();
    let mut reader = Reader::open(bytes.as_ref())?;
    while reader.next_rows()?.is_some() {}
    let (end, _) = reader.end().expect("it was read to its end");
    Ok(end.events)
}

#[tokio::test]
async fn a_second_backup_waits_and_one_that_nobody_takes_is_given_up() {
    let server = with_much().await;
    let first = server.backup().await;
    assert_eq!(first.status(), StatusCode::OK);
    let busy = server.get::<Value>(&server.admin, "/v1/backup").await;
    assert_eq!(busy.unwrap_err().code, ErrorCode::Busy);
    tokio::time::sleep(Duration::from_millis(3 * PATIENCE_MS)).await;
    let second = server.backup().await;
    assert_eq!(second.status(), StatusCode::OK);
    assert!(read(second).await.unwrap() >= 7);
    let given_up = read(first).await;
    assert!(
        matches!(given_up, Err(Error::CutOff { .. })),
        "{given_up:?}"
    );
}

#[tokio::test]
async fn a_backup_is_broken_off_when_the_server_stops() {
    let server = with_much().await;
    let response = server.backup().await;
    server.stop.send_replace(true);
    let broken_off = read(response).await;
    assert!(broken_off.is_err(), "{broken_off:?}");
}
