//! The endpoint over HTTP: every revision without sessions, tokens, names of the server, and bounds.

use axum::body::{Body, to_bytes};
use axum::http::{Request, Response, StatusCode};
use serde_json::{Value, json};
use sillok_mcp::http::{Endpoint, Settings};
use sillok_mcp::limits::CALLS_MAX;
use sillok_mcp::routed::Routed;
use sillok_mcp::{Handler, ToolSet};

use super::small_api::{AGENT, PROJECT, SmallApi, TASK};

fn endpoint(api: &SmallApi, settings: Settings) -> Endpoint<Routed> {
    let routed = Routed::new(api.router(None));
    Endpoint::new(
        Handler::new(routed, ToolSet::Work, None, CALLS_MAX),
        settings,
    )
}

/// Whose the requests are, for the endpoint's places.
const WHO: &str = "agent:one";

/// A request as a client of a revision sends it.
fn request(revision: &str, method: &str, params: Value, more: &[(&str, &str)]) -> Request<Body> {
    let (mut params, is_current) = (params, revision == "2026-07-28");
    let mut builder = Request::post("/mcp?scope=org/acme/project/api")
        .header("content-type", "application/json")
        .header("accept", "application/json, text/event-stream");
    if is_current {
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": revision,
            "io.modelcontextprotocol/clientCapabilities": {},
            "io.modelcontextprotocol/clientInfo": { "name": "t", "version": "1" },
        });
        builder = builder.header("mcp-method", method);
        if let Some(name) = params["name"].as_str() {
            builder = builder.header("mcp-name", name);
        }
    }
    if method != "initialize" {
        builder = builder.header("mcp-protocol-version", revision);
    }
    let has = |name: &str| more.iter().any(|(given, _)| *given == name);
    for (name, value) in [
        ("host", "127.0.0.1:7411"),
        ("authorization", format!("Bearer {AGENT}").as_str()),
    ] {
        if !has(name) {
            builder = builder.header(name, value);
        }
    }
    for (name, value) in more {
        builder = builder.header(*name, *value);
    }
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
    builder.body(Body::from(body.to_string())).unwrap()
}

async fn json_of(response: Response<Body>) -> Value {
    let bytes = to_bytes(response.into_body(), usize::MAX).await.unwrap();
    serde_json::from_slice(&bytes).unwrap_or_else(|_| json!(String::from_utf8_lossy(&bytes)))
}

fn logging(content: &str) -> Value {
    let arguments = json!({ "task": TASK, "level": "info", "content": content });
    json!({ "name": "log_event", "arguments": arguments })
}

#[tokio::test]
async fn every_revision_is_answered_without_a_session() {
    for revision in ["2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26"] {
        let api = SmallApi::new();
        let endpoint = endpoint(&api, Settings::default());
        if revision != "2026-07-28" {
            let begin = json!({ "protocolVersion": revision, "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } });
            let begun = endpoint
                .answer(WHO, request(revision, "initialize", begin, &[]))
                .await;
            assert!(begun.headers().get("mcp-session-id").is_none());
            assert_eq!(json_of(begun).await["result"]["protocolVersion"], revision);
        }
        let listed = endpoint
            .answer(WHO, request(revision, "tools/list", json!({}), &[]))
            .await;
        assert_eq!(
            listed.headers()["content-type"],
            "application/json",
            "{revision}"
        );
        let listed = json_of(listed).await;
        assert_eq!(
            listed["result"]["tools"][0]["name"], "begin_task",
            "{revision}: {listed}"
        );
        let called = endpoint
            .answer(WHO, request(revision, "tools/call", logging("c"), &[]))
            .await;
        let called = json_of(called).await;
        assert_eq!(
            called["result"]["structuredContent"]["record"],
            format!("{TASK}#2"),
            "{revision}: {called}"
        );
        let asked = api.set(|stored| stored.asked.clone());
        assert_eq!(
            asked.last().unwrap().2,
            format!("Bearer {AGENT}"),
            "the caller's own token"
        );
    }
}

#[tokio::test]
async fn the_scope_whose_resources_are_listed_is_the_one_of_the_query() {
    let api = SmallApi::new();
    let endpoint = endpoint(&api, Settings::default());
    let listed = endpoint
        .answer(WHO, request("2026-07-28", "resources/list", json!({}), &[]))
        .await;
    let listed = json_of(listed).await;
    assert_eq!(listed["result"]["cacheScope"], "private", "{listed}");
    let asked = api.set(|stored| stored.asked.clone());
    assert!(
        asked[0].1.contains("scope=org%2Facme%2Fproject%2Fapi"),
        "{asked:?} {PROJECT}"
    );
}

#[tokio::test]
async fn without_a_token_or_with_a_wrong_one_the_api_refuses() {
    let api = SmallApi::new();
    let endpoint = endpoint(&api, Settings::default());
    for wrong in ["Bearer slk_wrong", "Basic YTpi", ""] {
        let asked = request(
            "2026-07-28",
            "tools/call",
            logging("c"),
            &[("authorization", wrong)],
        );
        let called = json_of(endpoint.answer(WHO, asked).await).await;
        let text = called["result"]["content"][0]["text"].as_str().unwrap();
        assert!(text.starts_with("unauthenticated: "), "{called}");
        assert!(!called.to_string().contains("slk_"), "no token is told");
    }
    assert!(api.set(|stored| stored.records.is_empty()));
}

#[tokio::test]
async fn a_page_that_rebinds_its_name_or_calls_from_a_browser_is_refused() {
    let api = SmallApi::new();
    let settings = Settings {
        origins: vec!["https://app.example:443".to_owned()],
        ..Settings::default()
    };
    let endpoint = endpoint(&api, settings);
    for (name, value, status) in [
        ("host", "evil.example", 403),
        ("host", "evil.example:7411", 403),
        ("host", "127.0.0.1.evil.example", 403),
        ("origin", "http://evil.example", 403),
        ("origin", "null", 403),
        ("origin", "http://127.0.0.1:7411", 403),
        ("host", "localhost:7411", 200),
        ("host", "[::1]:7411", 200),
        ("origin", "https://app.example", 200),
    ] {
        let asked = request("2026-07-28", "tools/list", json!({}), &[(name, value)]);
        let answer = endpoint.answer(WHO, asked).await;
        assert_eq!(answer.status().as_u16(), status, "{name}: {value}");
    }
    assert!(api.set(|stored| stored.asked.is_empty()));
    // By default no page may.
    let closed = self::endpoint(&api, Settings::default());
    let asked = request(
        "2026-07-28",
        "tools/list",
        json!({}),
        &[("origin", "https://app.example")],
    );
    assert_eq!(
        closed.answer(WHO, asked).await.status(),
        StatusCode::FORBIDDEN
    );
}

#[tokio::test]
async fn what_is_too_large_or_too_slow_is_refused_before_it_is_parsed() {
    let api = SmallApi::new();
    let settings = Settings {
        message_bytes_max: 4_096,
        message_ms_max: 50,
        ..Settings::default()
    };
    let endpoint = endpoint(&api, settings);
    let large = request("2026-07-28", "tools/call", logging(&"x".repeat(4_096)), &[]);
    let answer = endpoint.answer(WHO, large).await;
    assert_eq!(answer.status(), StatusCode::PAYLOAD_TOO_LARGE);
    let fits = request("2026-07-28", "tools/call", logging(&"x".repeat(3_000)), &[]);
    assert_eq!(endpoint.answer(WHO, fits).await.status(), StatusCode::OK);
    let (parts, _) = request("2026-07-28", "tools/list", json!({}), &[]).into_parts();
    let never = Body::from_stream(futures::stream::pending::<
        Result<axum::body::Bytes, std::io::Error>,
    >());
    let slow = Request::from_parts(parts, never);
    assert_eq!(
        endpoint.answer(WHO, slow).await.status(),
        StatusCode::REQUEST_TIMEOUT
    );
}

#[tokio::test]
async fn there_are_only_so_many_requests_at_one_time() {
    let api = SmallApi::new();
    api.set(|stored| stored.delay = Some(core::time::Duration::from_millis(100)));
    let settings = Settings {
        calls_max: 1,
        ..Settings::default()
    };
    let endpoint = endpoint(&api, settings);
    let ask = || endpoint.answer(WHO, request("2026-07-28", "tools/call", logging("c"), &[]));
    let (first, second) = tokio::join!(ask(), ask());
    assert_eq!(first.status(), StatusCode::OK);
    assert_eq!(second.status(), StatusCode::TOO_MANY_REQUESTS);
    assert!(second.headers().contains_key("retry-after"));
    assert_eq!(ask().await.status(), StatusCode::OK);
}

#[tokio::test]
async fn one_principal_leaves_places_for_the_others() {
    let api = SmallApi::new();
    api.set(|stored| stored.delay = Some(core::time::Duration::from_millis(200)));
    let settings = Settings {
        calls_max: 4,
        calls_each_max: 2,
        ..Settings::default()
    };
    let endpoint = endpoint(&api, settings);
    let ask = |who: &'static str| {
        let asked = request("2026-07-28", "tools/call", logging("c"), &[]);
        let endpoint = &endpoint;
        async move { endpoint.answer(who, asked).await.status().as_u16() }
    };
    let one = [ask(WHO), ask(WHO), ask(WHO), ask(WHO)];
    let (mut one, other) = tokio::join!(futures::future::join_all(one), ask("agent:other"));
    one.sort_unstable();
    assert_eq!((one, other), (vec![200, 200, 429, 429], 200));
    // Nor do bodies that never come whole take the places of those that do.
    let slow = |who: &'static str| {
        let (parts, _) = request("2026-07-28", "tools/list", json!({}), &[]).into_parts();
        let never = futures::stream::pending::<Result<axum::body::Bytes, std::io::Error>>();
        endpoint.answer(who, Request::from_parts(parts, Body::from_stream(never)))
    };
    let (slow_ones, others) = (futures::future::join_all([slow("a"), slow("a")]), async {
        (ask("a").await, ask(WHO).await)
    });
    tokio::select! {
        biased;
        _ = slow_ones => panic!("they do not come whole"),
        codes = others => assert_eq!(codes, (429, 200)),
    }
}

#[tokio::test]
async fn no_stream_is_kept_open_and_no_session_is_deleted() {
    let api = SmallApi::new();
    let endpoint = endpoint(&api, Settings::default());
    for method in ["GET", "DELETE", "PUT"] {
        let asked = Request::builder()
            .method(method)
            .uri("/mcp")
            .header("host", "127.0.0.1")
            .header("accept", "text/event-stream")
            .body(Body::empty());
        let answer = endpoint.answer(WHO, asked.unwrap()).await;
        assert_eq!(answer.status(), StatusCode::METHOD_NOT_ALLOWED, "{method}");
    }
}

#[tokio::test]
async fn a_revision_that_nobody_speaks_is_refused_with_those_that_are_spoken() {
    let api = SmallApi::new();
    let endpoint = endpoint(&api, Settings::default());
    let mut asked = request("2026-07-28", "tools/list", json!({}), &[]);
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": { "_meta": {
        "io.modelcontextprotocol/protocolVersion": "2031-01-01", "io.modelcontextprotocol/clientCapabilities": {} } } });
    *asked.body_mut() = Body::from(body.to_string());
    asked
        .headers_mut()
        .insert("mcp-protocol-version", "2031-01-01".parse().unwrap());
    let answer = endpoint.answer(WHO, asked).await;
    assert_eq!(answer.status(), StatusCode::BAD_REQUEST);
    let error = json_of(answer).await;
    assert_eq!(error["error"]["code"], -32022, "{error}");
    assert!(error.to_string().contains("2026-07-28"), "{error}");
}
