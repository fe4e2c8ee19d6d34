//! Checks of fixes: how many there are at one time, and how much one tells.

use serde_json::{Value, json};
use sillok_core::ErrorCode;
use sillok_core::limits::{ERROR_TEXT_BYTES_MAX, FIX_TOLD_BYTES_MAX};
use sillok_core::scope::Scope;

use super::{Server, TASK};
use crate::api::{FixChecked, Problem};

/// A task of another project of the organisation, and one of another organisation.
const BESIDE: &str = "org/acme/project/web/worktree/main/task/1";
const FOREIGN: &str = "org/zeta/project/api/worktree/main/task/1";

impl Server {
    async fn check(&self, scope: &str, approach: &str) -> Result<FixChecked, Problem> {
        let asked = json!({ "scope": scope, "approach": approach, "files": ["src/http.rs"] });
        self.post(&self.admin, "/v1/fixes/check", asked).await
    }
}

#[tokio::test]
async fn an_organisation_has_so_many_checks_under_way_and_all_together_so_many() {
    let asked = async |all, of_each| {
        let server = Server::with(|config| {
            config.server.fix_checks_max = all;
            config.server.fix_checks_per_org_max = of_each;
        })
        .await;
        for scope in [TASK, BESIDE, FOREIGN] {
            server.open_task(scope).await;
        }
        let under_way = server.app.check_turn(&Scope::parse(TASK).unwrap()).unwrap();
        let ask = async |scope: &str| {
            let refused = server.check(scope, "Increase the read timeout").await.err();
            refused.map(|refused| refused.code)
        };
        let told = (ask(BESIDE).await, ask(FOREIGN).await);
        // A turn is given back.
        drop(under_way);
        assert_eq!(ask(TASK).await, None);
        told
    };
    let busy = Some(ErrorCode::Busy);
    assert_eq!(asked(1, 1).await, (busy, busy));
    assert_eq!(asked(2, 1).await, (busy, None));
    assert_eq!(asked(3, 2).await, (None, None));
}

#[tokio::test]
async fn a_brief_of_a_task_takes_a_turn_among_checks_and_one_of_a_project_takes_none() {
    let server = Server::with(|config| {
        config.server.fix_checks_max = 1;
        config.server.fix_checks_per_org_max = 1;
    })
    .await;
    server.open_task(TASK).await;
    let task = Scope::parse(TASK).unwrap();
    let under_way = server.app.check_turn(&task).unwrap();
    let ask = async |scope: &str| {
        let asked = json!({ "scope": scope });
        let told = server.post::<Value>(&server.admin, "/v1/brief", asked);
        told.await.err().map(|refused| refused.code)
    };
    assert_eq!(ask(TASK).await, Some(ErrorCode::Busy));
    assert_eq!(ask("org/acme/project/web").await, None);
    drop(under_way);
    assert_eq!(ask(TASK).await, None);
}

#[tokio::test]
async fn what_failed_is_told_in_short_and_with_what_to_do_instead() {
    let server = Server::start().await;
    server.open_task(TASK).await;
    let text = "Increase the read timeout of uploads. ";
    let long = text.repeat(ERROR_TEXT_BYTES_MAX / text.len());
    for error in ["TimeoutError: too slow", "ConnectionError: refused"] {
        let failed = json!({ "scope": TASK, "outcome": "failed", "source": "tests_failed", "run": error,
            "error": error, "approach": long, "files": ["src/http.rs"] });
        let recorded = server.post::<Value>(&server.admin, "/v1/verifications", failed);
        recorded.await.unwrap();
    }
    let found = server.check(TASK, &long).await.unwrap();
    assert!(!found.cut, "all was looked at, and all of it is told of");
    let [tried] = found.tried.as_slice() else {
        panic!("{found:?}")
    };
    assert!(tried.cut && tried.approach.text.len() <= FIX_TOLD_BYTES_MAX);
    assert!(long.starts_with(&tried.approach.text));
    assert_eq!(
        (tried.attempts, &tried.shared_files[..]),
        (2, &["src/http.rs".to_owned()][..])
    );
    assert_eq!(
        tried.reasons,
        ["ConnectionError: refused", "TimeoutError: too slow"]
    );
    let suggestion = found.suggestion.unwrap();
    for words in [
        "failed 2 times in this task: “ConnectionError: refused”, “TimeoutError: too slow”.",
        "Every attempt touched “src/http.rs”",
        "ask a person",
    ] {
        assert!(suggestion.contains(words), "{suggestion}");
    }
    let allowed = server
        .check(TASK, "Stream the body in chunks")
        .await
        .unwrap();
    assert_eq!((allowed.suggestion, allowed.cut), (None, false));
}
