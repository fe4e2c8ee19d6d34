//! Domains that nothing else is of: they are told, and refused nowhere.

use serde_json::{Value, json};

use super::{PROJECT, Server, WORKTREE, said, told};

/// A lock of a domain.
fn of(domain: &str) -> Value {
    json!({ "rank": "lock", "domain": domain })
}

impl Server {
    /// The whole answer, as it is written.
    async fn answer(&self, path: &str, body: Value) -> Value {
        self.post(&self.admin, path, body).await.unwrap()
    }
}

#[tokio::test]
async fn a_domain_that_nothing_else_is_of_is_told_by_a_proposal_and_by_a_save() {
    let server = Server::start().await;
    for path in ["/v1/decisions/propose", "/v1/decisions"] {
        let answer = server.answer(path, said(PROJECT, &of("pricing"))).await;
        assert_eq!(answer["new_domain"], "pricing", "{path}");
    }
    for (path, domain) in [
        ("/v1/decisions/propose", "pricing"),
        ("/v1/decisions", "pricing"),
        ("/v1/decisions/propose", "global"),
        ("/v1/decisions", "global"),
    ] {
        let answer = server.answer(path, said(WORKTREE, &of(domain))).await;
        assert!(answer["impact"].is_object(), "{answer}");
        assert_eq!(answer.get("new_domain"), None, "{path} {domain}");
    }
    let saved = server.save(WORKTREE, &of("prcing")).await.unwrap();
    let domain = told(&saved).new_domain.as_ref();
    assert_eq!(domain.map(ToString::to_string).as_deref(), Some("prcing"));
}

#[tokio::test]
async fn a_brief_says_that_no_decision_of_the_domain_holds_that_was_asked_for() {
    let server = Server::start().await;
    server.save(PROJECT, &of("pricing")).await.unwrap();
    server.save(WORKTREE, &of("prcing")).await.unwrap();
    for (scope, domain, is_empty) in [
        (PROJECT, "pricing", false),
        (PROJECT, "prcing", true),
        (PROJECT, "global", false),
        (WORKTREE, "pricing", false),
        (WORKTREE, "prcing", false),
        (WORKTREE, "ui", true),
    ] {
        let asked = json!({ "scope": scope, "domain": domain });
        let brief = server.answer("/v1/brief", asked).await;
        let told = brief.get("empty_domain");
        let yes = json!(true);
        assert_eq!(told, is_empty.then_some(&yes), "{domain} in {scope}");
    }
}
