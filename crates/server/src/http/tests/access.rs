//! Who may do what: tokens that do not count, and tokens that reach too far.

use axum::body::Body;
use axum::http::Method;
use serde_json::{Value, json};
use sillok_core::ErrorCode;
use sillok_core::token::{Token, hash_secret};
use sillok_store::{Read, Store, Txn, keys};

use super::{Server, TASK, logs, request, text};
use crate::api::{Appended, EntryWritten, Page, TokenRevoked, TokenView};

const OTHER: &str = "org/acme/project/web/worktree/main/task/1";

#[tokio::test]
async fn without_a_token_that_counts_nothing_is_answered() {
    let server = Server::start().await;
    server.open_task(TASK).await;
    let agent = server.mint("org/acme", "agent").await;
    let revoke = json!({ "id": agent.id });
    server
        .post::<Appended>(&agent.token, "/v1/logs", logs(TASK, "still good"))
        .await
        .unwrap();
    server
        .post::<TokenRevoked>(&server.admin, "/v1/tokens/revoke", revoke)
        .await
        .unwrap();
    let unknown = crate::secrets::new_secret();
    for token in ["", "slk_1", &unknown, &agent.token] {
        let written = server
            .post::<Appended>(token, "/v1/logs", logs(TASK, "c"))
            .await
            .unwrap_err();
        let read = server.get::<Value>(token, "/v1/status").await.unwrap_err();
        assert_eq!(
            (written.code, read.code),
            (ErrorCode::Unauthenticated, ErrorCode::Unauthenticated),
            "{token}"
        );
    }
}

#[tokio::test]
async fn an_expired_token_counts_no_more_though_it_is_remembered() {
    let server = Server::with(|config| config.server.token_check_ms = 60_000).await;
    let body = json!({ "scope": "org/acme", "kind": "agent", "id": "a", "lifetime_s": 1 });
    let minted: crate::api::TokenMinted = server
        .post(&server.admin, "/v1/tokens", body)
        .await
        .unwrap();
    server
        .get::<Value>(&minted.token, "/v1/status")
        .await
        .unwrap();
    tokio::time::sleep(std::time::Duration::from_millis(1_100)).await;
    let expired = server
        .get::<Value>(&minted.token, "/v1/status")
        .await
        .unwrap_err();
    assert_eq!(expired.code, ErrorCode::Unauthenticated);
}

#[tokio::test]
async fn a_revocation_by_another_process_counts_after_a_moment() {
    let server = Server::with(|config| config.server.token_check_ms = 0).await;
    let agent = server.mint("org/acme", "agent").await;
    server
        .get::<Value>(&agent.token, "/v1/status")
        .await
        .unwrap();
    let key = keys::token::key(&hash_secret(&agent.token));
    let mut txn = server.data.store.begin().await.unwrap();
    let stored = txn.get(&key, Read::Conflict).await.unwrap().unwrap();
    let token = keys::token::decode(&key, &stored).unwrap();
    let revoked = Token {
        revoked_at: Some(token.minted_at),
        ..token
    };
    txn.set(key.clone(), keys::token::encode(&revoked));
    txn.commit().await.unwrap();
    let refused = server
        .get::<Value>(&agent.token, "/v1/status")
        .await
        .unwrap_err();
    assert_eq!(refused.code, ErrorCode::Unauthenticated);
}

#[tokio::test]
async fn a_token_reads_and_writes_nothing_of_another_project() {
    let server = Server::start().await;
    server.open_task(TASK).await;
    server.open_task(OTHER).await;
    let put = json!({ "scope": "org/acme/project/web", "content": "The page is cached." });
    let entry: EntryWritten = server
        .post(&server.admin, "/v1/entries", put)
        .await
        .unwrap();
    let human = server.mint("org/acme/project/api", "human").await.token;
    for path in [
        format!("/v1/task?scope={OTHER}"),
        format!("/v1/tasks?scope={OTHER}"),
        "/v1/tasks?scope=*".to_owned(),
        format!("/v1/records?scope={OTHER}"),
        format!("/v1/record?id={OTHER}%231"),
        format!("/v1/verifications?scope={OTHER}"),
        format!("/v1/promotions?scope={OTHER}&verification={}", entry.entry),
        format!("/v1/events?scope={OTHER}"),
        format!("/v1/tail?scope={OTHER}"),
        "/v1/tail?scope=org/acme".to_owned(),
        format!("/v1/tokens?scope={OTHER}"),
    ] {
        let denied = server.get::<Value>(&human, &path).await.unwrap_err();
        assert_eq!(
            (denied.code, denied.rule.as_deref()),
            (ErrorCode::Forbidden, Some("token/scope")),
            "{path}"
        );
    }
    for path in [
        format!("/v1/entry?id={}", entry.entry),
        format!("/v1/history?id={}", entry.entry),
    ] {
        assert_eq!(
            server.get::<Value>(&human, &path).await.unwrap_err().code,
            ErrorCode::NotFound
        );
    }
    for (path, body) in [
        ("/v1/logs", logs(OTHER, "c")),
        ("/v1/recall", json!({ "scope": OTHER, "query": "page" })),
        ("/v1/audit/verify", json!({})),
        (
            "/v1/tokens",
            json!({ "scope": OTHER, "kind": "agent", "id": "a", "lifetime_s": 60 }),
        ),
    ] {
        let denied = server.post::<Value>(&human, path, body).await.unwrap_err();
        assert_eq!(
            (denied.code, denied.rule.as_deref()),
            (ErrorCode::Forbidden, Some("token/scope")),
            "{path}"
        );
    }
    // To a stranger an entry is not there, whether it is read or written.
    let amend = json!({ "entry": entry.entry, "expected_version": 1, "content": "c" });
    let denied = server
        .post::<Value>(&human, "/v1/entries/amend", amend)
        .await
        .unwrap_err();
    assert_eq!(denied.code, ErrorCode::NotFound);
    assert!(!denied.detail.contains("org/acme"), "{}", denied.detail);
}

#[tokio::test]
async fn tokens_are_a_persons_matter_and_the_operators_is_not_revoked_from_outside() {
    let server = Server::start().await;
    let agent = server.mint("org/acme", "agent").await;
    let orchestrator = server.mint("org/acme", "orchestrator").await;
    for token in [&agent.token, &orchestrator.token] {
        let listed = server
            .get::<Value>(token, "/v1/tokens?scope=org/acme")
            .await
            .unwrap_err();
        let revoke = json!({ "id": orchestrator.id });
        let revoked = server
            .post::<Value>(token, "/v1/tokens/revoke", revoke)
            .await
            .unwrap_err();
        for denied in [listed, revoked] {
            assert_eq!(
                denied.rule.as_deref(),
                Some("control/manage_tokens"),
                "{denied:?}"
            );
        }
    }
    let all: Page<TokenView> = server
        .get(&server.admin, "/v1/tokens?scope=*")
        .await
        .unwrap();
    assert_eq!(all.items.len(), 3);
    let operators = all
        .items
        .iter()
        .find(|token| token.scope.to_string() == "*")
        .unwrap();
    let revoke = json!({ "id": operators.id });
    let denied = server
        .post::<Value>(&server.admin, "/v1/tokens/revoke", revoke)
        .await
        .unwrap_err();
    assert_eq!(denied.rule.as_deref(), Some("token/operator"));
    let missing = json!({ "id": "00000000-0000-0000-0000-000000000000" });
    let missing = server
        .post::<Value>(&server.admin, "/v1/tokens/revoke", missing)
        .await
        .unwrap_err();
    assert_eq!(missing.code, ErrorCode::NotFound);
}

/// How often a code and rule were counted.
async fn refusals(server: &Server, code: &str, rule: &str) -> u64 {
    let asked = request(Method::GET, "", "/metrics").body(Body::empty());
    let shown = text(server.send(asked.unwrap()).await).await;
    let name = format!("sillok_refusals_total{{code=\"{code}\",rule=\"{rule}\"}} ");
    let count = shown.lines().find_map(|line| line.strip_prefix(&name));
    count.map_or(0, |count| count.parse().unwrap())
}

#[tokio::test]
async fn every_refusal_is_counted_once_whoever_decided_it() {
    let server = Server::start().await;
    server.open_task(OTHER).await;
    let human = server.mint("org/acme/project/api", "human").await.token;
    let agent = server.mint("org/acme/project/api", "agent").await.token;
    for (before, path) in [
        format!("/v1/events?scope={OTHER}"),
        format!("/v1/tail?scope={OTHER}"),
        format!("/v1/tokens?scope={OTHER}"),
    ]
    .iter()
    .enumerate()
    {
        server.get::<Value>(&human, path).await.unwrap_err();
        let counted = refusals(&server, "forbidden", "token/scope").await;
        assert_eq!(counted, before as u64 + 1, "{path}");
    }
    for (before, (path, body)) in [
        ("/v1/audit/verify", json!({})),
        ("/v1/recall", json!({ "scope": OTHER, "query": "page" })),
        // The node decides these.
        ("/v1/logs", logs(OTHER, "c")),
        (
            "/v1/decisions/propose",
            json!({ "scope": OTHER, "title": "t", "content": "c" }),
        ),
    ]
    .into_iter()
    .enumerate()
    {
        server.post::<Value>(&human, path, body).await.unwrap_err();
        let counted = refusals(&server, "forbidden", "token/scope").await;
        assert_eq!(counted, before as u64 + 4, "{path}");
    }
    let own = "/v1/tokens?scope=org/acme/project/api";
    server.get::<Value>(&agent, own).await.unwrap_err();
    let managing = refusals(&server, "forbidden", "control/manage_tokens").await;
    assert_eq!(managing, 1);
    server.get::<Value>("", own).await.unwrap_err();
    assert_eq!(refusals(&server, "unauthenticated", "").await, 1);
}
