//! What was acknowledged, what is unknown, and how both compare with what is stored.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::Value;

use super::load::send;
use crate::harness::world::{open, promoted};
use crate::harness::{Chance, Client, ORG};

/// Tasks of one cycle, in two projects.
const TASKS: usize = 10;

/// Where the clients of one cycle write: scopes that no other cycle uses.
pub(super) struct Place {
    pub(super) worktree: String,
    pub(super) tasks: Vec<String>,
}

/// A command, and the texts that it stores, in order.
#[derive(Clone, Debug)]
pub(super) struct Write {
    pub(super) route: &'static str,
    pub(super) scope: String,
    pub(super) body: Value,
    pub(super) contents: Vec<String>,
}

/// A command that was acknowledged.
#[derive(Debug)]
pub(super) struct Acked {
    pub(super) id: String,
    pub(super) write: Write,
    pub(super) answer: Value,
}

/// What became of the commands of one cycle.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    pub(super) acked: Vec<Acked>,
    pub(super) unknown: Vec<(String, Write)>,
}

/// What one command stored, as the events tell it.
pub(super) type Stored = BTreeMap<String, Vec<String>>;

impl Place {
    pub(super) async fn open(admin: &Client, cycle: usize) -> Arc<Self> {
        let worktree = |project: &str| format!("{ORG}/project/{project}/worktree/c{cycle}");
        let mut tasks = Vec::new();
        for number in 0..TASKS {
            let project = if number % 2 == 0 { "even" } else { "odd" };
            let scope = format!("{}/task/t{number}", worktree(project));
            open(admin, &scope).await;
            tasks.push(scope);
        }
        Arc::new(Self {
            worktree: worktree("even"),
            tasks,
        })
    }

    fn scopes(&self) -> impl Iterator<Item = &String> {
        self.tasks.iter().chain([&self.worktree])
    }

    /// What every command stored here.
    pub(super) async fn stored(&self, client: &Client) -> Stored {
        let mut stored = Stored::new();
        for scope in self.scopes() {
            let events = client.all("/v1/events", scope).await;
            for (event, seq) in events.iter().zip(1u64..) {
                assert_eq!(event["seq"], seq, "{scope} has a gap");
                let Some(content) = content(client, event).await else {
                    continue;
                };
                let command = event["command"].as_str().expect("an event has a command");
                stored.entry(command.to_owned()).or_default().push(content);
            }
        }
        stored
    }
}

/// The text that an event stores, where it is one that the load made.
async fn content(client: &Client, event: &Value) -> Option<String> {
    let body = &event["body"];
    let text = match event["kind"].as_str().expect("an event has a kind") {
        "RECORD_APPENDED" if body["content"].is_null() => {
            let id = format!("{}#{}", event["scope"].as_str()?, event["seq"]);
            let record = client.get("/v1/record", &[("id", &id)]).await.ok();
            record["content"].as_str().map(str::to_owned)
        }
        "RECORD_APPENDED" | "ENTRY_CREATED" | "MERGED" => {
            body["content"].as_str().map(str::to_owned)
        }
        "VERIFICATION_RECORDED" => body["run"].as_str().map(str::to_owned),
        "TASK_OPENED" | "PROMOTED" | "LINKED" => return None,
        kind => panic!("the load gives no {kind}: {event}"),
    };
    Some(text.expect("it has a text"))
}

impl Ledger {
    pub(super) fn join(&mut self, other: Self) {
        self.acked.extend(other.acked);
        self.unknown.extend(other.unknown);
    }

    fn expected(&self) -> Stored {
        let one = |acked: &Acked| (acked.id.clone(), acked.write.contents.clone());
        let expected: Stored = self.acked.iter().map(one).collect();
        assert_eq!(
            expected.len(),
            self.acked.len(),
            "every command has an id of its own"
        );
        expected
    }

    /// Right after the restart: all that was acknowledged is there, once, and nothing is there but
    /// that and whole commands whose outcome is unknown. How many of those there are.
    pub(super) async fn check_before_retries(&self, client: &Client, place: &Place) -> usize {
        let mut stored = place.stored(client).await;
        for (id, contents) in self.expected() {
            let found = stored.remove(&id);
            assert_eq!(
                found.as_ref(),
                Some(&contents),
                "acknowledged command {id} is not there once"
            );
        }
        let unknown: BTreeMap<&String, &Write> =
            self.unknown.iter().map(|(id, write)| (id, write)).collect();
        for (id, contents) in &stored {
            let write = unknown
                .get(id)
                .unwrap_or_else(|| panic!("nobody sent command {id}"));
            assert_eq!(
                *contents, write.contents,
                "command {id} was applied in part"
            );
        }
        stored.len()
    }

    /// Sends again what is unknown, and a few that were answered: the first answer comes again.
    pub(super) async fn retry(&mut self, client: &Client, answered: usize, chance: &mut Chance) {
        for _ in 0..answered.min(self.acked.len()) {
            let acked = chance.pick(&self.acked);
            let again = send(client, &acked.id, &acked.write).await;
            assert_eq!(
                again.as_ref(),
                Some(&acked.answer),
                "a retry is given the first answer"
            );
        }
        for (id, write) in std::mem::take(&mut self.unknown) {
            let answer = send(client, &id, &write).await;
            let answer = answer.expect("the server runs again");
            self.acked.push(Acked { id, write, answer });
        }
    }

    /// What is acknowledged is what is stored, each once.
    pub(super) async fn check(&self, client: &Client, place: &Place) {
        let stored = place.stored(client).await;
        let expected = self.expected();
        let ids = |of: &Stored| of.keys().cloned().collect::<BTreeSet<_>>();
        let (there, acked) = (ids(&stored), ids(&expected));
        assert_eq!(
            there.difference(&acked).next(),
            None,
            "something is there that nobody sent"
        );
        assert_eq!(
            acked.difference(&there).next(),
            None,
            "something acknowledged is lost"
        );
        for (id, contents) in expected {
            assert_eq!(
                stored[&id], contents,
                "command {id} is not there once, as it was sent"
            );
        }
    }

    /// Every verification that was acknowledged is promoted, once. How many there are.
    pub(super) async fn check_promotions(&self, admin: &Client) -> usize {
        let of_verification = |acked: &&Acked| acked.write.route == "/v1/verifications";
        let verifications: Vec<&Acked> = self.acked.iter().filter(of_verification).collect();
        let Some(first) = verifications.first() else {
            return 0;
        };
        let source = &first.write.scope;
        for acked in &verifications {
            let id = acked.answer["verification"].as_str().expect("it has an id");
            promoted(admin, source, id).await;
        }
        let project = source
            .split("/worktree")
            .next()
            .expect("a split has a first part");
        for (scope, kind) in [(source.as_str(), "PROMOTED"), (project, "PUBLISHED")] {
            let events = admin.all("/v1/events", scope).await;
            let mut times: BTreeMap<&str, usize> = BTreeMap::new();
            for event in events.iter().filter(|event| event["kind"] == kind) {
                let id = event["body"]["verification"]
                    .as_str()
                    .expect("it names what it is of");
                *times.entry(id).or_default() += 1;
            }
            for acked in &verifications {
                let id = acked.answer["verification"].as_str().expect("it has an id");
                assert_eq!(times.get(id), Some(&1), "{kind} of {id} in {scope}");
            }
        }
        verifications.len()
    }
}
