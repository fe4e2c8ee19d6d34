//! The work tree that an agent's process stands in: what the agent writes says by itself where it was said.
//!
//! Owns which requests say that, and by which of their texts files are named. How a work tree is looked at is [`crate::here`]'s.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Value, json};
use sillok_server::api::Bound;

use crate::here::{Here, untold};
use crate::output::note;

/// Routes that take a binding.
const LOGS: &str = "/v1/logs";
const MEMORY_EVENTS: &str = "/v1/memory-events";
const ENTRIES: &str = "/v1/entries";
const VERIFICATIONS: &str = "/v1/verifications";

/// Says with what is written what the work tree here is at.
#[derive(Debug)]
pub struct Said {
    /// None where no work tree is meant.
    directory: Option<PathBuf>,
    /// Whether it was noted that the work tree cannot be read.
    is_noted: AtomicBool,
}

impl Said {
    /// What is written is bound to what is around this directory, if there is one.
    #[must_use]
    pub const fn around(directory: Option<PathBuf>) -> Self {
        Self {
            directory,
            is_noted: AtomicBool::new(false),
        }
    }

    /// A command for this route, with where it was said. One that says that already, or of which nobody asks, stays as it is.
    pub(super) async fn told(&self, path: &str, body: Value) -> Value {
        let Some(directory) = self.directory.clone().filter(|_| takes(path, &body)) else {
            return body;
        };
        let (given, path) = (body.clone(), path.to_owned());
        let told = tokio::task::spawn_blocking(move || {
            let here = Here::at(&directory);
            here.map(|mut here| bind(&mut here, &path, body))
        });
        match told.await {
            Ok(Ok(bound)) => bound,
            Ok(Err(error)) => {
                if !self.is_noted.swap(true, Ordering::Relaxed) {
                    note(&untold(&error));
                }
                given
            }
            // A panic in there is one of ours: nothing is said of where it was.
            Err(_panic) => given,
        }
    }
}

/// Whether such a command takes a binding, and says nothing of its commit itself.
fn takes(path: &str, body: &Value) -> bool {
    let says = |name: &str| !body[name].is_null();
    match path {
        LOGS | MEMORY_EVENTS => !says("bound"),
        ENTRIES | VERIFICATIONS => !says("bound") && !says("commit"),
        _ => false,
    }
}

/// A command with what it is bound to. Takes time; it blocks.
fn bind(here: &mut Here, path: &str, mut body: Value) -> Value {
    match path {
        LOGS => {
            let records = body.get_mut("records").and_then(Value::as_array_mut);
            for record in records.into_iter().flatten() {
                // A tool's arguments name files as its output does.
                let said = format!("{}\n{}", text(record, "content"), record["metadata"]);
                set(record, here.bound(&said));
            }
        }
        MEMORY_EVENTS => {
            let said = body["payload"].to_string();
            set(&mut body, here.bound(&said));
        }
        ENTRIES => {
            let bound = here.bound_of_entry(text(&body, "content"));
            set(&mut body, bound);
        }
        VERIFICATIONS => {
            let (error, approach) = (body["error"].as_str(), body["approach"].as_str());
            let bound = here.bound_of_verification(error, approach);
            set(&mut body, bound);
        }
        _ => {}
    }
    body
}

fn text<'a>(of: &'a Value, name: &str) -> &'a str {
    of[name].as_str().unwrap_or_default()
}

fn set(of: &mut Value, bound: Option<Bound>) {
    if let (Some(bound), true) = (bound, of.is_object()) {
        of["bound"] = json!(bound);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder with a file, and what is said of a command in it.
    async fn told(path: &str, body: Value) -> Value {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("a.rs"), "a").unwrap();
        let said = Said::around(Some(folder.path().into()));
        said.told(path, body).await
    }

    #[tokio::test]
    async fn what_an_agent_writes_names_the_files_that_its_texts_name() {
        let tool =
            json!({ "level": "tool", "content": "edited", "metadata": { "file_path": "a.rs" } });
        let logs = json!({ "scope": "s", "records": [tool, { "level": "info", "content": "b.rs is gone" }] });
        let logs = told(LOGS, logs).await;
        assert_eq!(logs["records"][0]["bound"]["files"][0]["path"], "a.rs");
        assert_eq!(
            logs["records"][1]["bound"],
            json!({}),
            "no repository, and no file"
        );
        for (path, body) in [
            (MEMORY_EVENTS, json!({ "payload": { "files": ["a.rs"] } })),
            (ENTRIES, json!({ "content": "a.rs holds it" })),
            (VERIFICATIONS, json!({ "error": "a.rs:1: no" })),
            (VERIFICATIONS, json!({ "approach": "mend a.rs" })),
        ] {
            let body = told(path, body).await;
            assert_eq!(body["bound"]["files"][0]["path"], "a.rs", "{path}: {body}");
        }
    }

    #[tokio::test]
    async fn what_takes_no_binding_or_has_one_stays_as_it_is() {
        let commit = json!({ "hash": "0123456", "repository": "r" });
        for (path, body) in [
            ("/v1/reuse", json!({ "entry": "e" })),
            ("/v1/decisions", json!({ "text": "a.rs" })),
            (ENTRIES, json!({ "content": "a.rs", "commit": commit })),
            (ENTRIES, json!({ "content": "a.rs", "bound": {} })),
            (LOGS, json!({ "records": "a.rs" })),
            (LOGS, json!("a.rs")),
        ] {
            assert_eq!(told(path, body.clone()).await, body, "{path}");
        }
        let nowhere = Said::around(None);
        let body = json!({ "content": "a.rs" });
        assert_eq!(nowhere.told(ENTRIES, body.clone()).await, body);
    }

    #[tokio::test]
    async fn a_repository_that_cannot_be_read_keeps_no_agent_from_writing() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join(".git"), "nonsense").unwrap();
        let said = Said::around(Some(folder.path().into()));
        let body = json!({ "content": "it is so" });
        assert_eq!(said.told(ENTRIES, body.clone()).await, body);
        assert!(said.is_noted.load(Ordering::Relaxed));
    }
}
