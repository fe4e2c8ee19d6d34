//! Tokens: what proves a principal, what does not, and how far a minted one reaches.

use std::time::Duration;

use serde_json::json;
use sillok_core::principal::PrincipalKind;

use super::routes;
use crate::harness::{ORG, PROJECT, WORKTREE, World};

/// Routes that need no token. Everything else needs one.
const PUBLIC: [&str; 4] = ["/livez", "/metrics", "/readyz", "/v1/openapi.json"];

#[tokio::test]
async fn every_route_but_the_public_ones_wants_a_token_that_counts() {
    let world = World::start().await;
    let stranger = World::start().await;
    let (expired, revoked) = (
        world.mint(PrincipalKind::Human, ORG, 1).await,
        world.mint(PrincipalKind::Human, ORG, 600).await,
    );
    world
        .admin()
        .post("/v1/tokens/revoke", &json!({ "id": revoked["id"] }))
        .await
        .ok();
    tokio::time::sleep(Duration::from_millis(1_100)).await;
    let foreign = stranger.admin();
    let tokens = [
        None,
        expired["token"].as_str(),
        revoked["token"].as_str(),
        Some(foreign.token()),
    ];
    let mut public = Vec::new();
    for ((method, path), rules) in routes(&world).await {
        let is_public = rules == ["public"];
        for token in tokens {
            let nobody = world.admin().with_token(token);
            let reply = match method.as_str() {
                "get" => nobody.get(&path, &[("scope", ORG), ("id", "x")]).await,
                _ => nobody.post(&path, &json!({ "scope": ORG })).await,
            };
            if is_public {
                assert_eq!(reply.status, 200, "{path}: {}", reply.text);
            } else {
                reply.refused(401, "unauthenticated");
            }
        }
        public.extend(is_public.then_some(path));
    }
    assert_eq!(public, PUBLIC);
}

#[tokio::test]
async fn a_token_that_is_malformed_or_unknown_proves_nothing() {
    let world = World::start().await;
    let stranger = World::start().await;
    let good = world.admin().token().to_owned();
    let foreign = stranger.admin().token().to_owned();
    let mut flipped = good.clone().into_bytes();
    let last = flipped.last_mut().expect("a token is not empty");
    *last = if *last == b'0' { b'1' } else { b'0' };
    let flipped = String::from_utf8(flipped).expect("it is ASCII");
    let unknown = format!("slk_{}", "0".repeat(64));
    let upper = good.to_uppercase();
    let bad = [
        "",
        "x",
        "slk_",
        "slk_12",
        &good[..67],
        &upper,
        &foreign,
        &flipped,
        &unknown,
    ];
    let task = world.task().await;
    for token in bad.iter().map(|token| format!("Bearer {token}")).chain([
        format!("Basic {good}"),
        good.clone(),
        format!("Bearer {good} {good}"),
        "Bearer".to_owned(),
    ]) {
        let nobody = world.admin().with_token(None);
        let body = json!({ "scope": task, "records": [{ "level": "info", "content": "x" }] });
        let header = [("authorization", token.as_str())];
        let reply = nobody
            .raw("/v1/logs", &header, body.to_string().into_bytes())
            .await;
        reply.refused(401, "unauthenticated");
    }
    assert_eq!(world.admin().all("/v1/events", &task).await.len(), 1);
}

#[tokio::test]
async fn an_expired_or_revoked_token_proves_nothing_from_that_moment_on() {
    let world = World::start().await;
    let task = world.task().await;
    let body = json!({ "scope": task, "records": [{ "level": "info", "content": "x" }] });
    let client = |minted: &serde_json::Value| world.admin().with_token(minted["token"].as_str());

    let revoked = world.mint(PrincipalKind::Agent, PROJECT, 600).await;
    client(&revoked).post("/v1/logs", &body).await.ok();
    world
        .admin()
        .post("/v1/tokens/revoke", &json!({ "id": revoked["id"] }))
        .await
        .ok();
    client(&revoked)
        .post("/v1/logs", &body)
        .await
        .refused(401, "unauthenticated");
    client(&revoked)
        .get("/v1/records", &[("scope", &task)])
        .await
        .refused(401, "unauthenticated");

    let short = world.mint(PrincipalKind::Agent, PROJECT, 1).await;
    client(&short).post("/v1/logs", &body).await.ok();
    tokio::time::sleep(Duration::from_millis(1_100)).await;
    client(&short)
        .post("/v1/logs", &body)
        .await
        .refused(401, "unauthenticated");
    assert_eq!(world.admin().all("/v1/records", &task).await.len(), 2);

    let listed = world.admin().get("/v1/tokens", &[("scope", PROJECT)]).await;
    for minted in [&revoked, &short] {
        let secret = minted["token"].as_str().unwrap();
        assert!(!listed.text.contains(secret), "no secret is shown again");
        assert!(listed.text.contains(minted["id"].as_str().unwrap()));
    }
}

#[tokio::test]
async fn an_orchestrator_mints_short_and_narrow_tokens_for_agents_only() {
    let world = World::start().await;
    let orchestrator = world.principal(PrincipalKind::Orchestrator, PROJECT).await;
    let mint = |scope: &str, kind: &str, lifetime_s: u64| {
        let body = json!({ "scope": scope, "kind": kind, "id": "a", "lifetime_s": lifetime_s });
        let orchestrator = orchestrator.clone();
        async move { orchestrator.post("/v1/tokens", &body).await }
    };
    let week = 7 * 24 * 60 * 60;
    let minted = mint(WORKTREE, "agent", week).await.ok();
    let agent = world.admin().with_token(minted["token"].as_str());
    let record = json!({ "level": "info", "content": "x" });
    let task = world.task().await;
    agent
        .post("/v1/logs", &json!({ "scope": task, "records": [record] }))
        .await
        .ok();
    // No field of a request makes it somebody else.
    let forged = json!({ "scope": task, "records": [record], "principal": "human:admin" });
    agent
        .post("/v1/logs", &forged)
        .await
        .refused(400, "invalid_request");

    let problem = mint(WORKTREE, "agent", week + 1)
        .await
        .refused(413, "too_large");
    assert_eq!(problem["limit"]["name"], "token lifetime ms");
    mint(WORKTREE, "agent", 0)
        .await
        .refused(400, "invalid_argument");
    for (scope, kind, rule) in [
        (ORG, "agent", "token/scope"),
        ("org/acme/project/other", "agent", "token/scope"),
        (WORKTREE, "orchestrator", "control/manage_tokens"),
        (WORKTREE, "human", "control/manage_tokens"),
        (WORKTREE, "system", "control/manage_tokens"),
    ] {
        let problem = mint(scope, kind, 60).await.refused(403, "forbidden");
        assert_eq!(problem["rule"], rule, "{kind} for {scope}");
    }
}
