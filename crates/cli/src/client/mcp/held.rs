//! The work tree that an agent's process stands in: what is recalled is held against it before the agent is told, and what is
//! written says what it holds.
//!
//! Owns which questions that is done for, and what follows from one behind the answer. What the gate says is
//! [`sillok_server::gate`]'s, which must not know who asks; what is added to a write, [`Filled`]'s.

use std::path::PathBuf;
use std::sync::Arc;

use serde_json::{Value, json};
use sillok_core::id::CommandId;
use sillok_core::scope::{Level, Scope};
use sillok_gate::{Budget, Gate, WorkTree};
use sillok_server::api::{RecallAnswer, ReportGate};
use sillok_server::gate::{Displaced, hold, look_on, reports};
use tokio::sync::{Semaphore, oneshot};

use super::filled::Filled;
use crate::client::Client;
use crate::output::note;

/// The route whose answers are held against a work tree.
pub(super) const RECALL: &str = "/v1/recall";
/// Looks behind answers that are under way at once. Where there is no room the next recall has one more.
const LOOKS_MAX: usize = 1;

/// What is recalled, held against the work tree here, and what is written, filled from it.
#[derive(Debug)]
pub struct Held {
    /// None where there is no work tree, or none is meant.
    here: Option<Here>,
    filled: Option<Filled>,
    /// Whether the server holds it against none of its own.
    is_ours: bool,
    looks: Arc<Semaphore>,
}

#[derive(Clone, Debug)]
struct Here {
    root: PathBuf,
    gate: Arc<Gate>,
}

impl Held {
    /// What is recalled is held against this work tree, if there is one. The server holds it against one of its own only where
    /// there is none here, and nobody has said so.
    #[must_use]
    pub fn against(tree: Option<&WorkTree>, is_said: bool) -> Self {
        let here = tree.map(|tree| Here {
            root: tree.path().to_owned(),
            gate: Arc::new(Gate::of(tree)),
        });
        Self {
            is_ours: is_said || here.is_some(),
            here,
            filled: tree.map(Filled::of),
            looks: Arc::new(Semaphore::new(LOOKS_MAX)),
        }
    }

    /// A question for what was published, with who holds the answer against a work tree.
    pub(super) fn asked(&self, mut question: Value) -> Value {
        if self.is_ours {
            question["check"] = json!(false);
        }
        question
    }

    /// The body of a write, with what the work tree here says of what it cites; as it is where there is none.
    pub(super) async fn written(&self, path: &str, body: Value, command: CommandId) -> Value {
        match &self.filled {
            Some(filled) => filled.body(path, body, command).await,
            None => body,
        }
    }

    /// The answer to such a question as it holds here. What is gone or moved is looked for at the main branch behind it, and
    /// reported for the task that asked.
    pub(super) async fn held(&self, client: &Client, question: &Value, answer: Value) -> Value {
        let Some(here) = &self.here else {
            return answer;
        };
        let (gate, given) = (Arc::clone(&here.gate), answer.clone());
        let checked = tokio::task::spawn_blocking(move || checked(given, &gate));
        // Of an answer of another form nothing is said, nor where the check breaks down: it is as without a work tree.
        let Ok(Some((held, displaced))) = checked.await else {
            return answer;
        };
        if !displaced.is_empty() {
            let scope = question["scope"].as_str();
            let scope = scope.and_then(|scope| Scope::parse(scope).ok());
            self.look_on(client, here.clone(), scope, displaced);
        }
        held
    }

    fn look_on(&self, client: &Client, here: Here, scope: Option<Scope>, displaced: Displaced) {
        let Ok(turn) = Arc::clone(&self.looks).try_acquire_owned() else {
            return;
        };
        let (tell, told) = oneshot::channel();
        // On a thread of its own: a process whose client goes does not wait for it.
        let looking = std::thread::Builder::new().spawn(move || {
            let _turn = turn;
            // Nobody waits for it where the process ends.
            let _unheard = tell.send(looked(&here, displaced, scope.as_ref()));
        });
        if looking.is_err() {
            return;
        }
        let client = client.clone();
        tokio::spawn(async move {
            for report in told.await.unwrap_or_default() {
                if let Err(failure) = client.report_gate(&report).await {
                    note(&failure.to_string());
                }
            }
        });
    }
}

/// An answer with what the gate says of it; none for one of another form. Takes time; it blocks.
fn checked(answer: Value, gate: &Gate) -> Option<(Value, Displaced)> {
    let mut answer: RecallAnswer = serde_json::from_value(answer).ok()?;
    let displaced = hold(&mut answer, gate, Budget::ANSWER);
    Some((serde_json::to_value(&answer).ok()?, displaced))
}

/// What is to be reported for a task of what is displaced here. Takes time; it blocks.
fn looked(here: &Here, displaced: Displaced, scope: Option<&Scope>) -> Vec<ReportGate> {
    // The next answer knows what this finds, whoever asks.
    let displaced = look_on(displaced, &here.gate, Budget::WHOLE);
    let Some(task) = scope.filter(|scope| scope.level() == Level::Task) else {
        return Vec::new();
    };
    // Without a repository, or a main branch, nothing is said of one.
    reports(&here.root, &displaced, task, Budget::WHOLE).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(path: &str, print: &str) -> Value {
        let result = json!({
            "entry": "00000000-0000-0000-0000-000000000001", "scope": "org/a/project/p", "table": "observations", "kind": "knowledge",
            "status": "verified", "content": "It is so.", "data_marked_text": "", "tokens": 5, "version": 1,
            "citations": [{ "kind": "file", "path": path, "fingerprint": print }], "binding": { "kind": "no_repository" }, "gate": "unverifiable",
            "score": { "total": 0.5, "similarity": 1.0, "confidence": 0.5, "relevance": 1.0, "recency": 1.0 },
        });
        json!({ "results": [result], "tokens": 5, "left_out": 0, "by_meaning": true, "whole": true })
    }

    #[test]
    fn an_answer_is_that_of_the_work_tree_and_of_another_form_it_stays() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("a.rs"), "x").unwrap();
        let tree = WorkTree::at(folder.path()).unwrap();
        let print = sillok_gate::fingerprint(&tree, "a.rs", None).unwrap();
        let (print, other) = (print.to_string(), "0".repeat(64));
        let gate = Gate::at(folder.path().to_owned());
        let (held, _) = checked(answer("a.rs", &print), &gate).unwrap();
        assert_eq!(held["results"][0]["gate"], "valid");
        let (held, displaced) = checked(answer("b.rs", &other), &gate).unwrap();
        assert_eq!((&held["results"], &held["stale"]), (&json!([]), &json!(1)));
        assert_eq!(displaced.gone.len(), 1);
        assert!(checked(json!({ "results": 1 }), &gate).is_none());
    }

    #[test]
    fn the_server_holds_answers_against_its_own_work_tree_only_where_there_is_none_here() {
        let folder = tempfile::tempdir().unwrap();
        let tree = WorkTree::at(folder.path()).unwrap();
        let asked = |held: &Held| held.asked(json!({ "query": "q" }))["check"].clone();
        assert_eq!(asked(&Held::against(Some(&tree), false)), json!(false));
        assert_eq!(asked(&Held::against(None, true)), json!(false));
        assert_eq!(asked(&Held::against(None, false)), Value::Null);
    }

    #[tokio::test]
    async fn what_is_written_is_filled_where_there_is_a_work_tree() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("a.rs"), "x").unwrap();
        let tree = WorkTree::at(folder.path()).unwrap();
        let said = json!({ "citations": [{ "kind": "file", "path": "a.rs" }] });
        for (tree, is_filled) in [(Some(&tree), true), (None, false)] {
            let held = Held::against(tree, true);
            let command = CommandId::from_bytes([1; 16]);
            let told = held.written("/v1/entries", said.clone(), command).await;
            let print = &told["citations"][0]["fingerprint"];
            assert_eq!(print.is_string(), is_filled, "{told}");
        }
    }
}
