//! A store that was lived in: rows of every family, and what a reader sees of them.

use serde_json::{Value, json};
use sillok_core::id::{Epoch, Incarnation, Seq};
use sillok_core::membership::OwnerRow;
use sillok_core::principal::PrincipalKind;
use sillok_core::promotion::Attempts;
use sillok_core::scope::Scope;
use sillok_core::slot::Slot;
use sillok_core::stamp::Stamp;
use sillok_store::keys::relay::RelayRow;
use sillok_store::keys::{self, Family};

use super::vault::Vault;
use crate::harness::samples::{put, trajectory};
use crate::harness::world::{log, promoted, verify};
use crate::harness::{ORG, PROJECT, WORKTREE, World, phrase};

/// Tries at a kill between a verification and the end of its promotion.
const KILLS_MAX: usize = 20;

/// What there is to look at.
pub(super) struct Life {
    tasks: Vec<String>,
    entries: Vec<String>,
    questions: Vec<(String, String)>,
    /// Scopes with the roots of their decisions.
    decisions: Vec<(String, String)>,
    /// Scopes with the ids of their evidence.
    evidence: Vec<(String, String)>,
    /// Scopes with the ids of their anchors.
    anchors: Vec<(String, String)>,
}

impl Life {
    /// Writes something of everything.
    pub(super) async fn lead(world: &World) -> Self {
        let admin = world.admin();
        let agent = world.principal(PrincipalKind::Agent, WORKTREE).await;
        let mut life = Self {
            tasks: Vec::new(),
            entries: Vec::new(),
            questions: Vec::new(),
            decisions: Vec::new(),
            evidence: Vec::new(),
            anchors: Vec::new(),
        };
        for _ in 0..3 {
            let task = world.task().await;
            for _ in 0..12 {
                log(&agent, &task, &phrase()).await;
            }
            life.tasks.push(task);
        }
        let large = format!("{} ", phrase()).repeat(3_000);
        let snapshot = json!({ "scope": life.tasks[0], "content": large, "trigger": "error" });
        agent.post("/v1/snapshots", &snapshot).await.ok();
        for scope in [life.tasks[0].as_str(), WORKTREE, PROJECT, ORG] {
            let event = json!({ "scope": scope, "event_type": "noted", "payload": [phrase()] });
            admin.post("/v1/memory-events", &event).await.ok();
        }
        let stuck = json!({ "scope": life.tasks[1], "reason": phrase() });
        agent.post("/v1/tasks/stuck", &stuck).await.ok();
        agent
            .post("/v1/tasks/unstick", &json!({ "scope": life.tasks[1] }))
            .await
            .refused(403, "forbidden");
        admin
            .post("/v1/tasks/unstick", &json!({ "scope": life.tasks[1] }))
            .await
            .ok();
        let revoked = world.mint(PrincipalKind::Agent, PROJECT, 600).await;
        admin
            .post("/v1/tokens/revoke", &json!({ "id": revoked["id"] }))
            .await
            .ok();
        for reason in [json!(phrase()), json!(null)] {
            let order = json!({ "scope": PROJECT, "reason": reason });
            admin.post("/v1/cluster/quarantine", &order).await.ok();
        }
        life.write_entries(world).await;
        life.decide(world).await;
        life.keep(world).await;
        life.judge(world).await;
        life.verify(world).await;
        life
    }

    async fn write_entries(&mut self, world: &World) {
        let agent = world.principal(PrincipalKind::Agent, WORKTREE).await;
        for scope in [self.tasks[0].as_str(), WORKTREE, WORKTREE, WORKTREE] {
            let text = phrase();
            self.entries.push(put(&agent, scope, &text).await);
            self.questions.push((scope.to_owned(), text));
        }
        for scope in [PROJECT, ORG] {
            let text = phrase();
            self.entries.push(put(&world.admin(), scope, &text).await);
            self.questions.push((self.tasks[0].clone(), text));
        }
        // The same text once more: it is merged.
        put(&agent, WORKTREE, &self.questions[1].1).await;
        let amended =
            json!({ "entry": self.entries[1], "expected_version": 1, "content": phrase() });
        agent.post("/v1/entries/amend", &amended).await.ok();
        let replaced = json!({ "old": self.entries[2], "expected_version": 1, "reason": "newer",
            "replacement": { "content": phrase() } });
        let new = agent.post("/v1/entries/supersede", &replaced).await.ok()["new"].clone();
        self.entries
            .push(new.as_str().expect("it has an id").to_owned());
    }

    /// Decisions with claims and relations, of kinds that were declared as well, of which one was withdrawn.
    async fn decide(&mut self, world: &World) {
        let admin = world.admin();
        for (scope, name) in [(ORG, "EXPLAINS"), (PROJECT, "REPLACES"), (PROJECT, "TESTS")] {
            let kind =
                json!({ "scope": scope, "name": name, "reach": "backward", "meaning": phrase() });
            admin.post("/v1/decisions/kinds", &kind).await.ok();
        }
        let mut before: Vec<String> = Vec::new();
        for (scope, rank) in [
            (ORG, "policy"),
            (ORG, "axis"),
            (PROJECT, "lock"),
            (WORKTREE, "normal"),
        ] {
            let mut relations = vec![json!({ "kind": "APPLIES_TO", "to": "file:src/main.rs" })];
            for kind in ["DEPENDS_ON", "EXPLAINS"] {
                let last = before.last();
                relations.extend(last.map(|node| json!({ "kind": kind, "to": node })));
            }
            let body = json!({ "scope": scope, "rank": rank, "title": phrase(), "content": phrase(),
                "claim": { "key": "tampered", "value": rank }, "relations": relations });
            let root = admin.post("/v1/decisions", &body).await.ok()["root"].clone();
            let root = root.as_str().expect("a decision has a root").to_owned();
            before.push(format!("decision:{scope}#{root}"));
            self.decisions.push((scope.to_owned(), root));
        }
        let (scope, root) = &self.decisions[2];
        let change = json!({ "scope": scope, "root": root, "expected_version": 1, "rank": "lock",
            "domain": "ui", "title": phrase(), "content": phrase(), "reason": phrase() });
        admin.post("/v1/decisions", &change).await.ok();
        let (scope, root) = &self.decisions[1];
        let gone =
            json!({ "scope": scope, "root": root, "expected_version": 1, "reason": phrase() });
        admin.post("/v1/decisions/deactivate", &gone).await.ok();
    }

    /// Evidence that lies in its row and in chunks, a decision that rests on it, and anchors, of which one was dropped.
    async fn keep(&mut self, world: &World) {
        let admin = world.admin();
        let large = format!("{} ", phrase()).repeat(3_000);
        for (scope, text) in [(ORG, phrase()), (PROJECT, large), (WORKTREE, phrase())] {
            let body = json!({ "scope": scope, "title": phrase(), "content": text });
            let id = admin.post("/v1/evidence", &body).await.ok()["id"].clone();
            let id = id.as_str().expect("evidence has an id").to_owned();
            let node = format!("evidence:{scope}#{id}");
            let rests = json!([{ "kind": "RESTS_ON", "to": node }]);
            let body = json!({ "scope": scope, "title": phrase(), "content": phrase(), "relations": rests });
            let root = admin.post("/v1/decisions", &body).await.ok()["root"].clone();
            let root = root.as_str().expect("a decision has a root").to_owned();
            let to = [node, format!("decision:{scope}#{root}")];
            let anchors = ["global", "ui"]
                .map(|domain| json!({ "hint": phrase(), "domain": domain, "to": to }));
            let body = json!({ "scope": scope, "anchors": anchors });
            let added = admin.post("/v1/anchors", &body).await.ok();
            let ids = added["ids"].as_array().expect("anchors have ids").iter();
            let ids = ids.map(|id| id.as_str().expect("an id is text").to_owned());
            self.anchors.extend(ids.map(|id| (scope.to_owned(), id)));
            self.evidence.push((scope.to_owned(), id));
            self.decisions.push((scope.to_owned(), root));
        }
        let (scope, id) = &self.anchors[1];
        let gone = json!({ "scope": scope, "id": id, "reason": phrase() });
        admin.post("/v1/anchors/drop", &gone).await.ok();
    }

    /// What a task says of an entry, and two entries that a person is asked about.
    async fn judge(&self, world: &World) {
        let admin = world.admin();
        let report =
            json!({ "task": self.tasks[0], "entry": self.entries[4], "outcome": "helped" });
        admin.post("/v1/reuse", &report).await.ok();
        let content = phrase();
        for value in ["one", "two"] {
            let claim = json!({ "key": "tampered", "value": value });
            let body = json!({ "scope": PROJECT, "content": content, "claim": claim });
            admin.post("/v1/entries", &body).await.ok();
        }
    }

    async fn verify(&mut self, world: &World) {
        let (admin, text) = (world.admin(), phrase());
        log(
            &admin,
            &self.tasks[0],
            &format!("The test fails because {text}."),
        )
        .await;
        verify(&admin, &self.tasks[0], PROJECT).await;
        self.bank(world).await;
        self.questions.push((PROJECT.to_owned(), text));
        for run in ["r1", "r2"] {
            let failed = json!({ "scope": self.tasks[1], "outcome": "failed", "source": "tests_failed",
                "run": run, "error": phrase(), "approach": phrase(), "files": ["src/main.rs"] });
            let id = admin.post("/v1/verifications", &failed).await.ok()["verification"].clone();
            promoted(&admin, &self.tasks[1], id.as_str().expect("it has an id")).await;
        }
    }

    /// How agents went about a task that is done.
    async fn bank(&self, world: &World) {
        let (admin, task) = (world.admin(), &self.tasks[0]);
        let orchestrator = world.principal(PrincipalKind::Orchestrator, ORG).await;
        for _ in 0..2 {
            let step = log(&admin, task, &phrase()).await;
            let went = trajectory(task, &step);
            orchestrator.post("/v1/trajectories", &went).await.ok();
        }
    }

    /// Everything that a reader sees. What fades with time is left out.
    pub(super) async fn look(&self, world: &World) -> Vec<Value> {
        let admin = world.admin();
        let mut seen = Vec::new();
        for task in &self.tasks {
            for path in ["/v1/task", "/v1/verifications"] {
                seen.push(admin.get(path, &[("scope", task)]).await.ok());
            }
            seen.push(Value::Array(admin.all("/v1/fixes/failed", task).await));
        }
        for entry in &self.entries {
            seen.push(admin.get("/v1/entry", &[("id", entry)]).await.ok());
            seen.push(admin.get("/v1/history", &[("id", entry)]).await.ok());
        }
        for (scope, root) in &self.decisions {
            let named = [("scope", scope.as_str()), ("root", root.as_str())];
            seen.push(admin.get("/v1/decision", &named).await.ok());
            seen.push(admin.get("/v1/decision/history", &named).await.ok());
        }
        for (of, paths) in [
            (&self.evidence, ["/v1/evidence/item", "/v1/evidence/text"]),
            (&self.anchors, ["/v1/anchor", "/v1/anchor/follow"]),
        ] {
            for (scope, id) in of {
                for path in paths {
                    let named = [("scope", scope.as_str()), ("id", id.as_str())];
                    seen.push(admin.get(path, &named).await.ok());
                }
            }
        }
        for path in ["/v1/brief", "/v1/impact"] {
            let asked = json!({ "scope": WORKTREE, "at": ["file:src/main.rs"] });
            seen.push(admin.post(path, &asked).await.ok());
        }
        for scope in [ORG, PROJECT, WORKTREE] {
            seen.push(Value::Array(admin.all("/v1/decisions", scope).await));
            seen.push(Value::Array(admin.all("/v1/decisions/kinds", scope).await));
            seen.push(Value::Array(admin.all("/v1/evidence", scope).await));
            seen.push(Value::Array(admin.all("/v1/anchors", scope).await));
            seen.push(admin.get("/v1/tokens", &[("scope", scope)]).await.ok());
            seen.push(Value::Array(admin.all("/v1/events", scope).await));
        }
        for (scope, query) in &self.questions {
            for failures_only in [false, true] {
                let body =
                    json!({ "scope": scope, "query": query, "failures_only": failures_only });
                let mut answer = admin.post("/v1/recall", &body).await.ok();
                let results = answer["results"]
                    .as_array_mut()
                    .expect("an answer has results");
                assert!(
                    failures_only || !results.is_empty(),
                    "there is something to compare"
                );
                for result in results {
                    let score = result["score"]
                        .as_object_mut()
                        .expect("a result has a score");
                    score.retain(|factor, _| {
                        ["similarity", "vector_rank", "text_rank"].contains(&factor.as_str())
                    });
                }
                seen.push(answer);
            }
        }
        seen
    }
}

/// Kills the server between a verification and the end of its promotion, so that a job is left. The
/// server is not running afterwards.
pub(super) async fn leave_a_job(world: &mut World, vault: &Vault) {
    for _ in 0..KILLS_MAX {
        let (admin, task) = (world.admin(), world.task().await);
        let records: Vec<Value> = (0..500)
            .map(|_| json!({ "level": "thought", "content": phrase() }))
            .collect();
        admin
            .post("/v1/logs", &json!({ "scope": task, "records": records }))
            .await
            .ok();
        let body =
            json!({ "scope": task, "outcome": "passed", "source": "tests_passed", "run": "r" });
        admin.post("/v1/verifications", &body).await.ok();
        world.kill();
        if !vault.rows(Family::Job).await.is_empty() {
            return;
        }
        world.start_again().await;
    }
    panic!("in {KILLS_MAX} kills no promotion was left in the middle");
}

/// A relay's cursor: nothing on one machine keeps one yet, and its family is audited all the same.
pub(super) async fn leave_a_relay_cursor(vault: &Vault) {
    let slot = Slot::of(&Scope::parse(PROJECT).expect("a scope"));
    let row = RelayRow {
        created: 1,
        stamp: Stamp::ZERO,
        seq: Seq::ZERO.get(),
    };
    let key = keys::relay::key(slot, "stream").into();
    vault
        .write(&[(key, Some(keys::relay::encode(&row).into()))])
        .await;
}

/// How an attempt at the promotion went that was left in the middle.
pub(super) async fn leave_an_attempt(vault: &Vault) {
    let (job, _) = vault.rows(Family::Job).await.remove(0);
    let job = keys::job::parse(&job).expect("an untouched row");
    let attempts = Attempts {
        made: 1,
        failures: 1,
        ..Attempts::default()
    };
    let key = keys::attempt::key(job.slot, job.verification).into();
    vault
        .write(&[(key, Some(keys::attempt::encode(&attempts).into()))])
        .await;
}

/// The lease of a run that ended in the middle of maintenance.
pub(super) async fn leave_a_lease(vault: &Vault) {
    let row = OwnerRow {
        node: "local".to_owned(),
        incarnation: Incarnation(1),
        epoch: Epoch(1),
    };
    let key = keys::lease::key("maintenance").into();
    vault
        .write(&[(key, Some(keys::lease::encode(&row).into()))])
        .await;
}
