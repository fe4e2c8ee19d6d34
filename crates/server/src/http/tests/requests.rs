//! What requests lead to, and what malformed ones are told.

use axum::body::{Body, Bytes};
use axum::http::{Method, StatusCode};
use futures::stream;
use serde_json::{Value, json};
use sillok_core::ErrorCode;
use sillok_core::id::CommandId;
use sillok_core::time::Timestamp;

use super::{Server, TASK, logs, request, taken, text};
use crate::api::{
    Appended, AuditAnswer, Disposition, EntryView, EntryWritten, History, Page, Problem, Promotion,
    PromotionState, RecallAnswer, RecordView, Superseded, TaskView, TokenMinted,
    VerificationRecorded,
};
use crate::system::random;

fn command_id() -> CommandId {
    let mut bytes = [0; 10];
    random(&mut bytes);
    let now = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap();
    CommandId::from_parts(
        Timestamp::from_ms(u64::try_from(now.as_millis()).unwrap()),
        bytes,
    )
}

#[tokio::test]
async fn what_was_logged_is_verified_promoted_and_recalled() {
    let server = Server::start().await;
    let admin = server.admin.clone();
    server.open_task(TASK).await;
    let line = "The parser drops the last line when the file lacks a newline at its end.";
    let appended: Appended = server
        .post(&admin, "/v1/logs", logs(TASK, line))
        .await
        .unwrap();
    assert_eq!(appended.count, 1);
    let said =
        json!({ "scope": TASK, "outcome": "passed", "source": "tests_passed", "run": "ci-1" });
    let recorded: VerificationRecorded = server
        .post(&admin, "/v1/verifications", said)
        .await
        .unwrap();
    let path = format!(
        "/v1/promotions?scope={TASK}&verification={}&wait_ms=20000",
        recorded.verification
    );
    let promotion: Promotion = server.get(&admin, &path).await.unwrap();
    assert_eq!(promotion.state, PromotionState::Done, "{promotion:?}");
    let question = json!({ "scope": TASK, "query": "parser drops last line without newline" });
    let answer: RecallAnswer = server.post(&admin, "/v1/recall", question).await.unwrap();
    let first = answer.results.first().expect("something was published");
    assert!(first.data_marked_text.contains(&first.content) && !first.citations.is_empty());
    let shown: EntryView = server
        .get(&admin, &format!("/v1/entry?id={}", first.entry))
        .await
        .unwrap();
    assert_eq!(shown.version.content, first.content);
    let task: TaskView = server
        .get(&admin, &format!("/v1/task?scope={TASK}"))
        .await
        .unwrap();
    assert_eq!(task.title, "Mend the parser");
    let audit: AuditAnswer = server
        .post(&admin, "/v1/audit/verify", json!({}))
        .await
        .unwrap();
    assert!(audit.ok, "{audit:?}");
}

#[tokio::test]
async fn records_are_listed_page_by_page_and_shown_whole() {
    let server = Server::start().await;
    let admin = server.admin.clone();
    server.open_task(TASK).await;
    let large = "x".repeat(200_000);
    for content in ["first", &large, "third"] {
        server
            .post::<Appended>(&admin, "/v1/logs", logs(TASK, content))
            .await
            .unwrap();
    }
    let event = json!({ "scope": TASK, "event_type": "note", "payload": { "a": [1, 2] } });
    server
        .post::<Appended>(&admin, "/v1/memory-events", event)
        .await
        .unwrap();
    let mut seen = Vec::new();
    let mut after = String::new();
    loop {
        let page: Page<RecordView> = server
            .get(&admin, &format!("/v1/records?scope={TASK}&limit=2{after}"))
            .await
            .unwrap();
        seen.extend(page.items);
        let Some(next) = page.next else { break };
        after = format!("&after={next}");
    }
    let contents: Vec<&str> = seen.iter().map(|record| record.content.as_str()).collect();
    assert_eq!(
        contents,
        ["first", large.as_str(), "third", r#"{"a":[1,2]}"#]
    );
    assert_eq!(seen[0].metadata.get(), r#"{"tool":"cat"}"#);
    let id = seen[1].id.to_string().replace('#', "%23");
    let shown: RecordView = server
        .get(&admin, &format!("/v1/record?id={id}"))
        .await
        .unwrap();
    assert_eq!(shown.content, large);
    let foreign = server
        .get::<Value>(&admin, &format!("/v1/tasks?scope=*{after}"))
        .await
        .unwrap_err();
    assert_eq!(foreign.code, ErrorCode::InvalidArgument);
}

#[tokio::test]
async fn a_retry_gets_the_first_answer_and_another_body_is_refused() {
    let server = Server::start().await;
    let admin = server.admin.clone();
    server.open_task(TASK).await;
    let id = command_id().to_string();
    let send = |body: Value| {
        let request = request(Method::POST, &admin, "/v1/logs").header("Idempotency-Key", &id);
        server.send(request.body(Body::from(body.to_string())).unwrap())
    };
    let first: Appended = taken(send(logs(TASK, "once")).await).await.unwrap();
    let again: Appended = taken(send(logs(TASK, "once")).await).await.unwrap();
    assert_eq!(
        (first.first, first.command_id.to_string()),
        (again.first, id.clone())
    );
    assert_eq!(first.first, again.first);
    let reused = taken::<Appended>(send(logs(TASK, "twice")).await)
        .await
        .unwrap_err();
    assert_eq!(reused.code, ErrorCode::CommandReused);
    assert_eq!(reused.command_id.map(|id| id.to_string()), Some(id.clone()));
    let page: Page<RecordView> = server
        .get(&admin, &format!("/v1/records?scope={TASK}"))
        .await
        .unwrap();
    assert_eq!(page.items.len(), 1);
}

/// Bodies that `/v1/logs` refuses, and why.
fn malformed() -> Vec<(Vec<u8>, ErrorCode)> {
    let whole = |body: Value| body.to_string().into_bytes();
    let record = json!({ "level": "info", "content": "c", "metadata": [1] });
    let mut not_text = whole(logs(TASK, "c"));
    not_text[50] = 0xff;
    vec![
        (b"{".to_vec(), ErrorCode::InvalidRequest),
        (Vec::new(), ErrorCode::InvalidRequest),
        (
            whole(json!({ "scope": TASK, "records": [], "force": true })),
            ErrorCode::InvalidRequest,
        ),
        (not_text, ErrorCode::InvalidContent),
        (whole(logs("org/acme/task/1", "c")), ErrorCode::InvalidScope),
        (whole(logs(&format!("{TASK}0"), "c")), ErrorCode::NotFound),
        (
            whole(json!({ "scope": TASK, "records": [record] })),
            ErrorCode::InvalidArgument,
        ),
        (
            whole(json!({ "scope": TASK, "records": [] })),
            ErrorCode::InvalidArgument,
        ),
        (
            whole(logs(TASK, &"x".repeat((8 << 20) + 1))),
            ErrorCode::TooLarge,
        ),
        (vec![b' '; (9 << 20) + 1], ErrorCode::TooLarge),
    ]
}

#[tokio::test]
async fn malformed_bodies_are_refused_by_their_code_and_write_nothing() {
    let server = Server::with(|config| config.server.body_bytes_max = 9 << 20).await;
    let admin = server.admin.clone();
    server.open_task(TASK).await;
    for (body, code) in malformed() {
        let start = String::from_utf8_lossy(&body[..body.len().min(60)]).into_owned();
        let response = server.raw_post(&admin, "/v1/logs", body).await;
        let problem = taken::<Value>(response).await.unwrap_err();
        assert_eq!(problem.code, code, "{start}: {problem:?}");
    }
    let chunks = (0..20).map(|_| Ok::<_, std::io::Error>(Bytes::from(vec![b' '; 1 << 20])));
    let streamed = Body::from_stream(stream::iter(chunks));
    let response = server.raw_post(&admin, "/v1/logs", streamed).await;
    assert_eq!(
        taken::<Value>(response).await.unwrap_err().code,
        ErrorCode::TooLarge
    );
    let records = format!("/v1/records?scope={TASK}");
    let page: Page<RecordView> = server.get(&admin, &records).await.unwrap();
    assert!(page.items.is_empty());
}

#[tokio::test]
async fn malformed_headers_paths_and_queries_are_refused_by_their_code() {
    let server = Server::start().await;
    let admin = server.admin.clone();
    server.open_task(TASK).await;
    for id in ["nonsense", "f47ac10b-58cc-4372-a567-0e02b2c3d479", ""] {
        let request = request(Method::POST, &admin, "/v1/logs").header("Idempotency-Key", id);
        let body = Body::from(logs(TASK, "c").to_string());
        let response = server.send(request.body(body).unwrap()).await;
        let refused = taken::<Value>(response).await.unwrap_err();
        assert_eq!(refused.code, ErrorCode::InvalidId, "{id}");
    }
    for (path, code) in [
        ("/v1/nothing", ErrorCode::NotFound),
        ("/", ErrorCode::NotFound),
        ("/v1/logs", ErrorCode::InvalidRequest),
        ("/v1/task?x=1", ErrorCode::InvalidRequest),
        ("/v1/task?scope=nowhere", ErrorCode::InvalidScope),
        ("/v1/record?id=org/a", ErrorCode::InvalidId),
        ("/v1/entry?id=1", ErrorCode::InvalidId),
        ("/v1/tail?scope=*&cursor=zz", ErrorCode::InvalidArgument),
        ("/v1/tasks?scope=*&limit=1001", ErrorCode::TooLarge),
    ] {
        let refused = server.get::<Value>(&admin, path).await.unwrap_err();
        assert_eq!(refused.code, code, "{path}");
    }
}

#[tokio::test]
async fn a_stale_write_is_told_the_current_version_and_a_line_has_one_head() {
    let server = Server::start().await;
    let admin = server.admin.clone();
    let put = json!({ "scope": "org/acme/project/api", "content": "The cache holds 64 entries." });
    let written: EntryWritten = server
        .post(&admin, "/v1/entries", put.clone())
        .await
        .unwrap();
    let merged: EntryWritten = server.post(&admin, "/v1/entries", put).await.unwrap();
    assert_eq!(
        (merged.entry, merged.disposition),
        (written.entry, Disposition::Merged { cosine: 1.0 })
    );
    let entry = written.entry.to_string();
    let amend = |version: u64| json!({ "entry": entry, "expected_version": version, "content": "It holds 128." });
    let amended: EntryWritten = server
        .post(&admin, "/v1/entries/amend", amend(1))
        .await
        .unwrap();
    assert_eq!(amended.version, 2);
    let stale: Problem = server
        .post::<EntryWritten>(&admin, "/v1/entries/amend", amend(1))
        .await
        .unwrap_err();
    assert_eq!(
        (stale.code, stale.current.unwrap().version),
        (ErrorCode::Conflict, Some(2))
    );
    let supersede = json!({
        "old": entry, "expected_version": 2, "reason": "measured again",
        "replacement": { "content": "The cache holds 256 entries." },
    });
    let superseded: Superseded = server
        .post(&admin, "/v1/entries/supersede", supersede.clone())
        .await
        .unwrap();
    let late = server
        .post::<Superseded>(&admin, "/v1/entries/supersede", supersede)
        .await
        .unwrap_err();
    assert_eq!(
        (late.code, late.current.unwrap().entry),
        (ErrorCode::Conflict, Some(superseded.new))
    );
    let history: History = server
        .get(&admin, &format!("/v1/history?id={entry}"))
        .await
        .unwrap();
    let line: Vec<_> = history.line.iter().map(|head| head.id).collect();
    assert_eq!(line, [written.entry, superseded.new]);
    assert_eq!(history.versions.len(), 2);
    let both = json!({ "old": entry, "expected_version": 2, "reason": "r" });
    let refused = server
        .post::<Superseded>(&admin, "/v1/entries/supersede", both)
        .await
        .unwrap_err();
    assert_eq!(refused.code, ErrorCode::InvalidRequest);
}

#[tokio::test]
async fn a_retried_mint_gives_the_same_secret() {
    let server = Server::start().await;
    let admin = server.admin.clone();
    let body =
        json!({ "scope": "org/acme", "kind": "agent", "id": "a", "lifetime_s": 60 }).to_string();
    let id = command_id().to_string();
    let mint = || {
        let request = request(Method::POST, &admin, "/v1/tokens").header("Idempotency-Key", &id);
        server.send(request.body(Body::from(body.clone())).unwrap())
    };
    let first: TokenMinted = taken(mint().await).await.unwrap();
    let again: TokenMinted = taken(mint().await).await.unwrap();
    assert_eq!((&first.token, first.id), (&again.token, again.id));
    let other = server.mint("org/acme", "agent").await;
    assert_ne!(other.token, first.token);
    assert!(
        server
            .get::<Value>(&first.token, "/v1/status")
            .await
            .is_ok()
    );
}

#[tokio::test]
async fn the_server_tells_how_it_is() {
    let server = Server::start().await;
    for path in ["/livez", "/readyz", "/metrics", "/v1/openapi.json"] {
        let response = server
            .send(request(Method::GET, "", path).body(Body::empty()).unwrap())
            .await;
        assert_eq!(response.status(), StatusCode::OK, "{path}");
        assert!(!text(response).await.is_empty());
    }
    server.stop.send_replace(true);
    let response = server
        .send(
            request(Method::GET, "", "/readyz")
                .body(Body::empty())
                .unwrap(),
        )
        .await;
    assert_eq!(response.status(), StatusCode::SERVICE_UNAVAILABLE);
}

#[tokio::test]
async fn a_principal_over_its_rate_is_busy() {
    let server = Server::with(|config| {
        config.server.principal_requests_per_s = 1;
        config.server.principal_burst = 3;
    })
    .await;
    for _ in 0..3 {
        server
            .get::<Value>(&server.admin, "/v1/status")
            .await
            .unwrap();
    }
    let busy = server
        .get::<Value>(&server.admin, "/v1/status")
        .await
        .unwrap_err();
    assert_eq!(busy.code, ErrorCode::Busy);
    assert!(busy.retry_after_ms.is_some_and(|ms| ms > 0 && ms <= 1_000));
}

#[tokio::test]
async fn an_organisation_over_its_quota_is_told_when_to_come_back() {
    let server = Server::with(|config| {
        config.quotas.bytes_per_s = 1;
        config.quotas.burst_ms = 1;
    })
    .await;
    let open = |task: &str| {
        let body = json!({"scope": format!("{TASK}-{task}"), "title": "t", "description": "d"});
        server.post::<Value>(&server.admin, "/v1/tasks", body)
    };
    open("first").await.unwrap();
    let refused = open("second").await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::QuotaExceeded);
    assert!(refused.retry_after_ms.is_some_and(|ms| ms > 0));
    // Nothing of it was written, and reading goes on.
    let path = format!("/v1/task?scope={TASK}-second");
    let missing = server.get::<Value>(&server.admin, &path).await.unwrap_err();
    assert_eq!(missing.code, ErrorCode::NotFound);
}

#[tokio::test]
async fn a_panic_costs_its_own_request_only_and_tells_nothing() {
    async fn broken() -> &'static str {
        panic!("secret detail")
    }
    let server = Server::start().await;
    let route = axum::Router::new().route("/broken", axum::routing::get(broken));
    let router =
        crate::http::around(route, axum::Router::new(), &server.app).with_state(server.app.clone());
    for _ in 0..2 {
        let request = request(Method::GET, "", "/broken")
            .body(Body::empty())
            .unwrap();
        let response = tower::ServiceExt::oneshot(router.clone(), request)
            .await
            .unwrap();
        assert_eq!(response.status(), StatusCode::INTERNAL_SERVER_ERROR);
        let problem = taken::<Value>(response).await.unwrap_err();
        assert!(
            problem.code == ErrorCode::Internal && !problem.detail.contains("secret"),
            "{problem:?}"
        );
    }
    assert_eq!(
        server
            .app
            .inner
            .in_flight
            .load(std::sync::atomic::Ordering::Relaxed),
        0
    );
}

#[tokio::test]
async fn requests_over_the_bound_are_turned_away_at_once_but_probes_are_answered() {
    let server = Server::with(|config| config.server.requests_in_flight_max = 1).await;
    server.open_task(TASK).await;
    server
        .app
        .inner
        .in_flight
        .fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    let busy = server
        .get::<Value>(&server.admin, "/v1/status")
        .await
        .unwrap_err();
    assert_eq!((busy.code, busy.status), (ErrorCode::Busy, 429));
    for path in ["/livez", "/readyz", "/metrics"] {
        let probe = request(Method::GET, "", path).body(Body::empty()).unwrap();
        let response = server.send(probe).await;
        assert_eq!(response.status(), StatusCode::OK, "{path}");
    }
}
