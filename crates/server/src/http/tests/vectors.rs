//! Writes while vectors cannot be made: what is to be compared waits for them, and nothing else does.

use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering};

use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::post;
use axum::{Json, Router};
use serde_json::{Value, json};
use sillok_core::ErrorCode;
use sillok_perception::EmbedderProvider;
use tokio::net::TcpListener;

use super::Server;
use crate::api::{Disposition, EntryWritten, Problem, Superseded};

const PROJECT: &str = "org/acme/project/api";

/// What a text says that the embedder refuses.
const REFUSED: &str = "too long for the model";

/// The status that the embedder answers with; 200 where it makes vectors.
type Says = Arc<AtomicU16>;

/// Gives every text the same vector, but the one that it refuses.
async fn embed(
    State(says): State<Says>,
    Json(asked): Json<Value>,
) -> Result<Json<Value>, StatusCode> {
    let status = StatusCode::from_u16(says.load(Ordering::Relaxed)).unwrap();
    if status != StatusCode::OK {
        return Err(status);
    }
    let texts = asked["input"].as_array().unwrap();
    if texts
        .iter()
        .any(|text| text.as_str().unwrap().contains(REFUSED))
    {
        return Err(StatusCode::BAD_REQUEST);
    }
    let vectors = vec![[3.0, 4.0]; texts.len()];
    Ok(Json(
        json!({ "model": "of-tests", "embeddings": vectors, "prompt_eval_count": 1 }),
    ))
}

/// A server whose embedder answers as it is told to.
async fn server() -> (Server, Says) {
    let says = Says::new(AtomicU16::new(200));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let endpoint = format!("http://{}/", listener.local_addr().unwrap());
    let router = Router::new()
        .route("/api/embed", post(embed))
        .with_state(Arc::clone(&says));
    tokio::spawn(async move { axum::serve(listener, router).await });
    let server = Server::with(|config| {
        config.embedder.provider = EmbedderProvider::Ollama;
        config.embedder.model = "of-tests".to_owned();
        config.embedder.endpoint = endpoint;
        config.embedder.dimensions = 2;
    })
    .await;
    (server, says)
}

async fn put(server: &Server, table: &str, content: &str) -> Result<EntryWritten, Problem> {
    let body = json!({ "scope": PROJECT, "table": table, "content": content });
    server.post(&server.admin, "/v1/entries", body).await
}

#[tokio::test]
async fn what_is_to_be_compared_is_not_written_while_the_embedder_is_away() {
    let (server, says) = server().await;
    let first = put(&server, "observations", "The cache holds 64 entries.").await;
    let first = first.unwrap();
    // Out of reach for now, and one that takes no text at all.
    for status in [503, 401] {
        says.store(status, Ordering::Relaxed);
        for table in ["observations", "patterns"] {
            let refused = put(&server, table, "the cache holds 64 entries").await;
            let refused = refused.unwrap_err();
            assert_eq!(
                (refused.code, refused.status),
                (ErrorCode::Unavailable, 503),
                "{status} {table}: {refused:?}"
            );
        }
    }
    says.store(200, Ordering::Relaxed);
    let later = put(&server, "observations", "the cache holds 64 entries").await;
    let later = later.unwrap();
    assert!(
        matches!(later.disposition, Disposition::Merged { .. }),
        "{later:?}"
    );
    assert_eq!(later.entry, first.entry);
}

#[tokio::test]
async fn what_is_compared_with_nothing_is_written_without_an_embedder() {
    let (server, says) = server().await;
    let held = put(&server, "observations", "The cache holds 64 entries.").await;
    let held = held.unwrap();
    says.store(503, Ordering::Relaxed);
    let state = put(&server, "gotchas", "The cache is never emptied.").await;
    let state = state.unwrap();
    assert_eq!(state.disposition, Disposition::Created);
    let amend = json!({
        "entry": state.entry.to_string(), "expected_version": 1, "content": "The cache is emptied at night.",
    });
    let amended: EntryWritten = server
        .post(&server.admin, "/v1/entries/amend", amend)
        .await
        .unwrap();
    assert_eq!(amended.version, 2);
    let supersede = json!({
        "old": held.entry.to_string(), "expected_version": 1, "reason": "measured again",
        "replacement": { "content": "The cache holds 128 entries." },
    });
    let superseded: Superseded = server
        .post(&server.admin, "/v1/entries/supersede", supersede)
        .await
        .unwrap();
    assert_ne!(superseded.new, held.entry);
}

#[tokio::test]
async fn a_text_that_the_embedder_refuses_is_written_without_its_vector() {
    let (server, _says) = server().await;
    let content = format!("The log of the build is {REFUSED}.");
    let written = put(&server, "observations", &content).await.unwrap();
    assert_eq!(written.disposition, Disposition::Created);
}
