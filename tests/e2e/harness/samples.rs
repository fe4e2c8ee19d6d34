//! One good request for every write route, made ready to be sent.

use serde_json::{Value, json};
use sillok_core::principal::PrincipalKind;
use sillok_core::scope::Level;

use super::chance::phrase;
use super::http::Client;
use super::world::{self, ORG, PROJECT, PRUNED_AFTER, WORKTREE, World};

/// A request that somebody may send with success.
#[derive(Clone, Debug)]
pub(crate) struct Sample {
    /// The route.
    pub(crate) route: String,
    /// The scope whose events it adds to.
    pub(crate) scope: String,
    /// The body.
    pub(crate) body: Value,
}

/// The write routes, and whether each is for tasks alone. A route of the document that is missing
/// here turns the tests red.
pub(crate) const WRITES: [(&str, bool); 29] = [
    ("/v1/tasks", true),
    ("/v1/tasks/stuck", true),
    ("/v1/tasks/unstick", true),
    ("/v1/tasks/close", true),
    ("/v1/tasks/archive", true),
    ("/v1/logs", true),
    ("/v1/snapshots", true),
    ("/v1/verifications", true),
    ("/v1/trajectories", true),
    ("/v1/memory-events", false),
    ("/v1/entries", false),
    ("/v1/entries/amend", false),
    ("/v1/entries/supersede", false),
    ("/v1/entries/resolve", false),
    ("/v1/entries/restore", false),
    ("/v1/reuse", false),
    ("/v1/gate", false),
    ("/v1/reviews/answer", false),
    ("/v1/promotions/undo", false),
    ("/v1/decisions", false),
    ("/v1/decisions/deactivate", false),
    ("/v1/decisions/restore", false),
    ("/v1/decisions/kinds", false),
    ("/v1/evidence", false),
    ("/v1/anchors", false),
    ("/v1/anchors/drop", false),
    ("/v1/erase", false),
    ("/v1/tokens", false),
    ("/v1/tokens/revoke", false),
];

/// The routes that are decided like writes and change what the server does next: their answers for a
/// promotion that is done, which they leave as it is, are what is checked.
pub(crate) const STEERS: [&str; 2] = ["/v1/promotions/retry", "/v1/promotions/drop"];

/// A request that is good, and somebody who may send it.
pub(crate) struct Good {
    pub(crate) sample: Sample,
    pub(crate) sender: Client,
}

impl Sample {
    /// Waits for all that carrying it out has started.
    pub(crate) async fn settle(&self, client: &Client, answer: &Value) {
        if self.route == "/v1/verifications" {
            let id = answer["verification"]
                .as_str()
                .expect("a verification has an id");
            world::promoted(client, &self.scope, id).await;
        }
    }
}

/// Who may send the sample of a route at a level.
pub(crate) fn permitted(route: &str, level: Level) -> PrincipalKind {
    let is_entry = route.starts_with("/v1/entries") && route != "/v1/entries/restore";
    match level {
        _ if route == "/v1/tasks/archive" => PrincipalKind::System,
        _ if route == "/v1/trajectories" => PrincipalKind::Orchestrator,
        Level::Task | Level::Worktree if is_entry => PrincipalKind::Orchestrator,
        _ => PrincipalKind::Human,
    }
}

/// A trajectory that goes by one record.
pub(crate) fn trajectory(scope: &str, step: &str) -> Value {
    let (_, seq) = step
        .rsplit_once('#')
        .expect("a record is named by its place");
    let seq: u64 = seq.parse().expect("a place is a number");
    json!({ "scope": scope, "kind": "bugfix", "approach": phrase(), "files": ["src/a.rs"], "symbols": ["a"],
        "ended": "failed", "reward": -0.5, "lesson": phrase(), "steps": [{ "record": seq, "from": 0, "to": 1 }] })
}

impl World {
    /// A good request for every write route, at the level that most things may be written at.
    pub(crate) async fn good_requests(&self) -> Vec<Good> {
        let mut all = Vec::new();
        for (route, tasks_only) in WRITES {
            let level = if tasks_only {
                Level::Task
            } else {
                Level::Project
            };
            let sample = self.sample(route, level).await;
            all.push(Good {
                sample,
                sender: self.principal(permitted(route, level), ORG).await,
            });
        }
        all
    }

    /// Makes a request for a route ready, at this level, with all that it needs.
    pub(crate) async fn sample(&self, route: &str, level: Level) -> Sample {
        let scope = match level {
            Level::Org => ORG.to_owned(),
            Level::Project => PROJECT.to_owned(),
            Level::Worktree => WORKTREE.to_owned(),
            Level::Task if route == "/v1/tasks" => self.unopened(),
            // A task promotes to what lies above it.
            Level::Task if route == "/v1/promotions/undo" => WORKTREE.to_owned(),
            Level::Task => self.task().await,
        };
        let body = match route {
            "/v1/entries" | "/v1/entries/amend" | "/v1/entries/supersede" => {
                self.entry_sample(route, level, &scope).await
            }
            "/v1/tokens" | "/v1/tokens/revoke" => self.token_sample(route, &scope).await,
            "/v1/entries/resolve" => self.state_sample(level, &scope).await,
            "/v1/entries/restore" => self.restore_sample(&scope).await,
            "/v1/reuse" => self.reuse_sample(level, &scope).await,
            "/v1/gate" => self.gate_sample(level, &scope).await,
            "/v1/reviews/answer" => self.review_sample(&scope).await,
            "/v1/promotions/undo" => self.undo_sample(&scope).await,
            "/v1/decisions" | "/v1/decisions/deactivate" | "/v1/decisions/restore" => {
                self.decision_sample(route, &scope, "normal").await
            }
            "/v1/decisions/kinds" => {
                let name = format!("KIND_{}", world::next());
                json!({ "scope": scope, "name": name, "reach": "both", "meaning": phrase() })
            }
            "/v1/evidence" | "/v1/anchors" | "/v1/anchors/drop" => {
                self.kept_sample(route, &scope).await
            }
            "/v1/erase" => {
                json!({ "scope": scope, "entries": [self.entry(&scope).await], "reason": phrase() })
            }
            _ => self.task_sample(route, &scope).await,
        };
        Sample {
            route: route.to_owned(),
            scope,
            body,
        }
    }

    async fn task_sample(&self, route: &str, scope: &str) -> Value {
        let admin = self.admin();
        match route {
            "/v1/tasks" => json!({ "scope": scope, "title": phrase(), "description": phrase() }),
            "/v1/tasks/stuck" => json!({ "scope": scope, "reason": phrase() }),
            "/v1/tasks/unstick" => {
                let stuck = json!({ "scope": scope, "reason": phrase() });
                admin.post("/v1/tasks/stuck", &stuck).await.ok();
                json!({ "scope": scope })
            }
            "/v1/tasks/close" => json!({ "scope": scope, "closing": "done", "reason": phrase() }),
            "/v1/tasks/archive" => {
                let closed = json!({ "scope": scope, "closing": "failed", "reason": phrase() });
                admin.post("/v1/tasks/close", &closed).await.ok();
                json!({ "scope": scope })
            }
            "/v1/logs" => {
                let record =
                    json!({ "level": "tool", "content": phrase(), "metadata": { "tool": "ls" } });
                json!({ "scope": scope, "records": [record] })
            }
            "/v1/snapshots" => {
                json!({ "scope": scope, "content": phrase(), "trigger": "manual" })
            }
            "/v1/memory-events" => {
                json!({ "scope": scope, "event_type": "noted", "payload": { "text": phrase() } })
            }
            "/v1/verifications" => {
                world::log(&admin, scope, &phrase()).await;
                let run = format!("run-{}", world::next());
                json!({ "scope": scope, "outcome": "failed", "source": "tests_failed", "run": run,
                    "error": phrase(), "approach": phrase(), "files": ["src/a.rs"], "symbols": ["a"] })
            }
            "/v1/trajectories" => {
                let step = world::log(&admin, scope, &phrase()).await;
                let closed = json!({ "scope": scope, "closing": "done", "reason": phrase() });
                admin.post("/v1/tasks/close", &closed).await.ok();
                trajectory(scope, &step)
            }
            _ => panic!("{route} is a write route without a sample"),
        }
    }

    async fn entry_sample(&self, route: &str, level: Level, scope: &str) -> Value {
        let rests_on = match level {
            Level::Task | Level::Worktree => Value::Null,
            Level::Project | Level::Org => self.verified().await,
        };
        let mut body = match route {
            "/v1/entries" => json!({ "scope": scope, "content": phrase() }),
            "/v1/entries/amend" => {
                let entry = self.entry(scope).await;
                json!({ "entry": entry, "expected_version": 1, "content": phrase() })
            }
            _ => {
                let old = self.entry(scope).await;
                json!({ "old": old, "expected_version": 1, "reason": phrase(),
                    "replacement": { "content": phrase() } })
            }
        };
        if !rests_on.is_null() {
            body["verification"] = rests_on;
        }
        body
    }

    async fn state_sample(&self, level: Level, scope: &str) -> Value {
        let written = self.written(scope, &json!({ "table": "gotchas" })).await;
        let mut body =
            json!({ "entry": written["entry"], "expected_version": 1, "reason": phrase() });
        if level >= Level::Project {
            body["verification"] = self.verified().await;
        }
        body
    }

    /// A skill that maintenance took out of recall, since it hardly ever helped.
    async fn restore_sample(&self, scope: &str) -> Value {
        let skill = json!({
            "name": "n", "description": "d", "code": "c", "usage_count": 9, "success_rate": 0.1,
        });
        let fields = json!({ "table": "skills", "skill": skill });
        let written = self.written(scope, &fields).await;
        tokio::time::sleep(2 * PRUNED_AFTER).await;
        let maintain = json!({ "scope": scope, "only": ["prune"], "force": true });
        self.admin().post("/v1/maintenance", &maintain).await.ok();
        json!({ "entry": written["entry"], "reason": phrase() })
    }

    async fn reuse_sample(&self, level: Level, scope: &str) -> Value {
        let task = match level {
            Level::Task => scope.to_owned(),
            _ => self.task().await,
        };
        let entry = self.entry(scope).await;
        json!({ "task": task, "entry": entry, "outcome": "helped" })
    }

    async fn gate_sample(&self, level: Level, scope: &str) -> Value {
        let task = match level {
            Level::Task => scope.to_owned(),
            _ => self.task().await,
        };
        let citations = json!([{ "kind": "file", "path": "src/gone.rs" }]);
        let written = self
            .written(scope, &json!({ "citations": citations }))
            .await;
        json!({
            "task": task,
            "entry": written["entry"],
            "expected_version": 1,
            "commit": "0123456789abcdef",
            "repository": "nowhere",
            "found": { "verdict": "stale" },
        })
    }

    /// A contradiction that waits for an answer.
    async fn review_sample(&self, scope: &str) -> Value {
        let (content, key) = (phrase(), format!("key-{}", world::next()));
        for value in ["yes", "no"] {
            let claim = json!({ "key": key, "value": value });
            let one = json!({ "content": content, "claim": claim });
            self.written(scope, &one).await;
        }
        let waiting = self.admin().all("/v1/reviews", scope).await;
        let newest = waiting
            .iter()
            .max_by_key(|review| review["raised_at"].as_u64());
        let review = &newest.expect("a contradiction raises a question")["id"];
        json!({ "scope": scope, "review": review, "approve": false, "reason": phrase() })
    }

    /// A promotion that was published in a scope.
    async fn undo_sample(&self, scope: &str) -> Value {
        let (admin, task) = (self.admin(), self.task().await);
        world::log(&admin, &task, &phrase()).await;
        let verification = world::verify(&admin, &task, scope).await;
        json!({ "scope": task, "verification": verification, "reason": phrase() })
    }

    /// A decision of this rank: a new one, one that holds, or one that was withdrawn.
    pub(crate) async fn decision_sample(&self, route: &str, scope: &str, rank: &str) -> Value {
        let new = json!({ "scope": scope, "title": phrase(), "content": phrase() });
        if route == "/v1/decisions" {
            return new;
        }
        let admin = self.admin();
        let mut of_rank = new;
        of_rank["rank"] = json!(rank);
        let saved = admin.post("/v1/decisions", &of_rank).await.ok();
        let withdraw = json!({ "scope": scope, "root": saved["root"], "expected_version": 1, "reason": phrase() });
        if route == "/v1/decisions/deactivate" {
            return withdraw;
        }
        admin.post("/v1/decisions/deactivate", &withdraw).await.ok();
        json!({ "scope": scope, "root": saved["root"], "expected_version": 2, "version": 1, "reason": phrase() })
    }

    /// New evidence, an anchor that leads to some, or one that is dropped.
    async fn kept_sample(&self, route: &str, scope: &str) -> Value {
        let evidence = json!({ "scope": scope, "title": phrase(), "content": phrase() });
        if route == "/v1/evidence" {
            return evidence;
        }
        let admin = self.admin();
        let saved = admin.post("/v1/evidence", &evidence).await.ok();
        let id = saved["id"].as_str().expect("evidence has an id");
        let anchor = json!({ "hint": phrase(), "to": [format!("evidence:{scope}#{id}")] });
        let added = json!({ "scope": scope, "anchors": [anchor] });
        if route == "/v1/anchors" {
            return added;
        }
        let added = admin.post("/v1/anchors", &added).await.ok();
        json!({ "scope": scope, "id": added["ids"][0], "reason": phrase() })
    }

    /// A new entry of a scope with these fields, by whoever may write there.
    async fn written(&self, scope: &str, fields: &Value) -> Value {
        let level = scope
            .parse::<sillok_core::scope::Scope>()
            .expect("a scope")
            .level();
        let writer = match permitted("/v1/entries", level) {
            PrincipalKind::Human => self.admin(),
            kind => self.principal(kind, scope).await,
        };
        let mut body = json!({ "scope": scope, "content": phrase() });
        for (name, value) in fields.as_object().expect("fields") {
            body[name] = value.clone();
        }
        writer.post("/v1/entries", &body).await.ok()
    }

    async fn token_sample(&self, route: &str, scope: &str) -> Value {
        match route {
            "/v1/tokens" => {
                let id = format!("sample-{}", world::next());
                json!({ "scope": scope, "kind": "agent", "id": id, "lifetime_s": 60 })
            }
            _ => json!({ "id": self.mint(PrincipalKind::Agent, scope, 60).await["id"] }),
        }
    }

    /// A new entry of a scope, by whoever may write there.
    pub(crate) async fn entry(&self, scope: &str) -> String {
        let written = self.written(scope, &json!({})).await;
        written["entry"]
            .as_str()
            .expect("an entry has an id")
            .to_owned()
    }
}

/// Writes an entry: its id.
pub(crate) async fn put(client: &Client, scope: &str, content: &str) -> String {
    let body = json!({ "scope": scope, "content": content });
    let written = client.post("/v1/entries", &body).await.ok();
    written["entry"]
        .as_str()
        .expect("an entry has an id")
        .to_owned()
}
