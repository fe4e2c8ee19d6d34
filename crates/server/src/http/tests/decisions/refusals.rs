//! What is refused about decisions, and by which code.

use serde_json::{Value, json};
use sillok_core::ErrorCode;

use super::{NOBODYS, ORG, PROJECT, Server, WORKTREE, node, said};
use crate::api::DecisionSaved;

/// What no decision of a project says, and the code of its refusal.
fn wrong() -> Vec<(Value, ErrorCode)> {
    let change = json!({ "root": NOBODYS, "expected_version": 1, "rank": "normal", "domain": "global",
        "reason": "r" });
    vec![
        (json!({ "rank": "strong" }), ErrorCode::InvalidRequest),
        (json!({ "domain": "Über all" }), ErrorCode::InvalidArgument),
        (json!({ "phase": "" }), ErrorCode::InvalidArgument),
        (json!({ "title": "  " }), ErrorCode::InvalidArgument),
        (json!({ "content": "" }), ErrorCode::InvalidArgument),
        (
            json!({ "content": "x".repeat(65_537) }),
            ErrorCode::TooLarge,
        ),
        (
            json!({ "rank": "policy", "domain": "ui" }),
            ErrorCode::InvalidArgument,
        ),
        (json!({ "root": NOBODYS }), ErrorCode::InvalidRequest),
        (change, ErrorCode::NotFound),
    ]
}

/// Relations that no decision of a project has, where there is a decision `known`.
fn wrongly_related(known: &str) -> Vec<(Value, ErrorCode)> {
    let of = |scope: &str| format!("decision:{scope}#{NOBODYS}");
    let (own, below, beside) = (of(PROJECT), of(WORKTREE), of("org/acme/project/web"));
    let nowhere = of("acme");
    let one = |kind: &str, to: &str| json!([{ "kind": kind, "to": to }]);
    let twice = one("VALIDATES", known)[0].clone();
    [
        (one("LIKES IT", known), ErrorCode::InvalidRequest),
        (one("LIKES", known), ErrorCode::InvalidArgument),
        (
            one("DEPENDS_ON", "decision:org/acme"),
            ErrorCode::InvalidArgument,
        ),
        (
            one("DEPENDS_ON", "decision:org/acme#7"),
            ErrorCode::InvalidId,
        ),
        (one("DEPENDS_ON", &nowhere), ErrorCode::InvalidScope),
        (
            one("APPLIES_TO", "file:../secret"),
            ErrorCode::InvalidArgument,
        ),
        (one("APPLIES_TO", known), ErrorCode::InvalidArgument),
        (
            one("CONSTRAINS", "file:src/cart.rs"),
            ErrorCode::InvalidArgument,
        ),
        (json!([twice, twice]), ErrorCode::InvalidArgument),
        (one("DEPENDS_ON", &own), ErrorCode::NotFound),
        // What is not visible is not told apart from what is not there.
        (one("DEPENDS_ON", &beside), ErrorCode::NotFound),
        (one("DEPENDS_ON", &below), ErrorCode::NotFound),
    ]
    .into_iter()
    .map(|(relations, code)| (json!({ "relations": relations }), code))
    .collect()
}

#[tokio::test]
async fn a_decision_that_says_something_wrong_is_refused_by_its_code() {
    let server = Server::start().await;
    let known = server.save(PROJECT, &json!({})).await.unwrap();
    let mut all = wrong();
    all.extend(wrongly_related(&node(PROJECT, &known)));
    // It stands there, and is no more visible for that.
    for hidden in [WORKTREE, "org/acme/project/web"] {
        let hidden = node(hidden, &server.save(hidden, &json!({})).await.unwrap());
        let related = json!({ "relations": [{ "kind": "VALIDATES", "to": hidden }] });
        all.push((related, ErrorCode::NotFound));
    }
    for (fields, code) in all {
        for path in ["/v1/decisions", "/v1/decisions/propose"] {
            let refused = server.refused(path, said(PROJECT, &fields)).await;
            assert_eq!(refused.code, code, "{path} {fields}: {}", refused.detail);
        }
    }
    let policy = said(WORKTREE, &json!({ "rank": "policy" }));
    let refused = server.refused("/v1/decisions", policy).await;
    assert_eq!(refused.code, ErrorCode::InvalidArgument);
}

#[tokio::test]
async fn a_stale_change_is_told_the_current_version_whatever_it_wants() {
    let server = Server::start().await;
    let saved = server.save(PROJECT, &json!({})).await.unwrap();
    let change = |version: u64, relations: Value| {
        json!({ "root": saved.root, "expected_version": version, "rank": "normal", "domain": "global",
            "reason": "newer", "relations": relations })
    };
    server.save(PROJECT, &change(1, json!([]))).await.unwrap();
    let named = |version: u64| json!({ "scope": PROJECT, "root": saved.root, "expected_version": version, "reason": "r" });
    let restore = |version: u64, text: u64| {
        let mut body = named(version);
        body["version"] = json!(text);
        body
    };
    for version in [0, 1, 3, u64::MAX] {
        for (path, body) in [
            ("/v1/decisions", said(PROJECT, &change(version, json!([])))),
            (
                "/v1/decisions/propose",
                said(PROJECT, &change(version, json!([]))),
            ),
            ("/v1/decisions/deactivate", named(version)),
            ("/v1/decisions/restore", restore(version, 1)),
        ] {
            let stale = server.refused(path, body).await;
            let current = stale.current.and_then(|current| current.version);
            assert_eq!(
                (stale.code, current),
                (ErrorCode::Conflict, Some(2)),
                "{path}"
            );
        }
    }
    // One that holds is not restored, and is not related to itself.
    let holds = server.refused("/v1/decisions/restore", restore(2, 1)).await;
    assert_eq!(holds.code, ErrorCode::Conflict);
    let own = json!([{ "kind": "DEPENDS_ON", "to": node(PROJECT, &saved) }]);
    let own = server.save(PROJECT, &change(2, own)).await.unwrap_err();
    assert_eq!(own.code, ErrorCode::InvalidArgument);
    // One that was withdrawn is restored first, and only with what it said.
    server
        .post::<Value>(&server.admin, "/v1/decisions/deactivate", named(2))
        .await
        .unwrap();
    let gone = server
        .save(PROJECT, &change(3, json!([])))
        .await
        .unwrap_err();
    assert_eq!(gone.code, ErrorCode::Conflict);
    for nothing in [3, 4, 0] {
        let refused = server
            .refused("/v1/decisions/restore", restore(3, nothing))
            .await;
        assert_eq!(refused.code, ErrorCode::InvalidArgument, "{nothing}");
    }
    let pointing = json!({ "relations": [{ "kind": "DEPENDS_ON", "to": node(PROJECT, &saved) }] });
    let pointing = server.save(PROJECT, &pointing).await.unwrap_err();
    assert_eq!(pointing.code, ErrorCode::Conflict);
    assert_eq!(server.history(PROJECT, &saved).await.len(), 3);
}

#[tokio::test]
async fn an_agent_changes_no_axis_by_any_way() {
    let server = Server::start().await;
    let agent = server.mint(ORG, "agent").await.token;
    let orchestrator = server.mint(ORG, "orchestrator").await.token;
    let axis = server
        .save(WORKTREE, &json!({ "rank": "axis" }))
        .await
        .unwrap();
    let named =
        json!({ "scope": WORKTREE, "root": axis.root, "expected_version": 1, "reason": "r" });
    let mut restore = named.clone();
    restore["version"] = json!(1);
    let change = |rank: &str| {
        said(
            WORKTREE,
            &json!({ "root": axis.root, "expected_version": 1, "rank": rank, "domain": "global", "reason": "r" }),
        )
    };
    for token in [&agent, &orchestrator] {
        for (path, body) in [
            ("/v1/decisions", said(WORKTREE, &json!({ "rank": "axis" }))),
            ("/v1/decisions", change("axis")),
            // Nor is it made something weaker first.
            ("/v1/decisions", change("normal")),
            ("/v1/decisions/deactivate", named.clone()),
            ("/v1/decisions/restore", restore.clone()),
        ] {
            let denied = server.post::<Value>(token, path, body).await.unwrap_err();
            let rule = denied.rule.as_deref();
            assert_eq!(
                (denied.code, rule),
                (ErrorCode::Forbidden, Some("control/save_axis")),
                "{path}"
            );
        }
    }
    // It may ask what that would mean.
    let proposed = server.post::<Value>(&agent, "/v1/decisions/propose", change("normal"));
    proposed.await.unwrap();
    assert_eq!(server.history(WORKTREE, &axis).await.len(), 1);
    let own = server.post::<DecisionSaved>(&agent, "/v1/decisions", said(WORKTREE, &json!({})));
    assert_eq!(own.await.unwrap().version, 1);
}
