//! A token for one project reads and writes nothing of another.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use sillok_core::principal::PrincipalKind;
use sillok_core::scope::Level;

use super::{counts, routes};
use crate::code::comes;
use crate::harness::samples::{STEERS, WRITES, permitted, put, trajectory};
use crate::harness::world::{log, open, verify};
use crate::harness::{Client, ORG, PROJECT, WORKTREE, World, phrase};

/// Another project of the same organisation.
const OTHER: &str = "org/acme/project/other";

/// What lies in the project that others must not see.
struct Secret {
    text: String,
    /// A task in which what the text says was tried, and failed.
    task: String,
    /// A task of the other project.
    beside: String,
    record: String,
    verification: String,
    entries: [String; 3],
    /// A decision of the project.
    decision: String,
    /// Evidence of the project.
    evidence: String,
    /// An anchor of the project that leads to both.
    anchor: String,
}

impl Secret {
    async fn keep(world: &World) -> Self {
        let (admin, text) = (world.admin(), phrase());
        let task = world.task().await;
        let record = log(&admin, &task, &text).await;
        let verification = verify(&admin, &task, PROJECT).await;
        let failed = json!({ "scope": task, "outcome": "failed", "source": "tests_failed", "run": "r",
            "error": text, "approach": text, "files": ["src/main.rs"], "symbols": ["main"] });
        admin.post("/v1/verifications", &failed).await.ok();
        let closed = json!({ "scope": task, "closing": "done", "reason": "" });
        admin.post("/v1/tasks/close", &closed).await.ok();
        let orchestrator = world.principal(PrincipalKind::Orchestrator, &task).await;
        let mut went = trajectory(&task, &record);
        went["approach"] = json!(text);
        went["lesson"] = json!(text);
        orchestrator.post("/v1/trajectories", &went).await.ok();
        let beside = format!("{OTHER}/worktree/main/task/t");
        open(&admin, &beside).await;
        let writer = world.principal(PrincipalKind::Orchestrator, WORKTREE).await;
        let entries = [
            put(&writer, &task, &text).await,
            put(&writer, WORKTREE, &text).await,
            put(&admin, PROJECT, &text).await,
        ];
        let decided = json!({ "scope": PROJECT, "title": text, "content": text,
            "relations": [{ "kind": "APPLIES_TO", "to": "file:src/main.rs" }] });
        let decided = admin.post("/v1/decisions", &decided).await.ok();
        let decision = decided["root"].as_str().expect("a decision has a root");
        let declared =
            json!({ "scope": PROJECT, "name": "SECRETLY", "reach": "both", "meaning": text });
        admin.post("/v1/decisions/kinds", &declared).await.ok();
        let kept = json!({ "scope": PROJECT, "title": text, "content": text });
        let kept = admin.post("/v1/evidence", &kept).await.ok();
        let evidence = kept["id"].as_str().expect("evidence has an id");
        let to = [
            format!("evidence:{PROJECT}#{evidence}"),
            format!("decision:{PROJECT}#{decision}"),
        ];
        let pointed = json!({ "scope": PROJECT, "anchors": [{ "hint": text, "to": to }] });
        let pointed = admin.post("/v1/anchors", &pointed).await.ok();
        let anchor = pointed["ids"][0].as_str().expect("an anchor has an id");
        Self {
            evidence: evidence.to_owned(),
            anchor: anchor.to_owned(),
            decision: decision.to_owned(),
            text,
            task,
            beside,
            record,
            verification,
            entries,
        }
    }
}

/// The work trees of both projects. What the text says stands in that of the one that others must not see.
struct WorkTrees(tempfile::TempDir);

impl WorkTrees {
    fn new() -> Self {
        let trees = Self(tempfile::tempdir().unwrap());
        for folder in ["secret", "other"] {
            std::fs::create_dir(trees.0.path().join(folder)).unwrap();
        }
        trees.write("other", "nothing");
        trees
    }

    fn write(&self, folder: &str, said: &str) {
        let path = self.0.path().join(folder).join("main.py");
        std::fs::write(path, format!("def main(said=\"{said}\"):\n    pass\n")).unwrap();
    }

    async fn world(&self) -> World {
        let path = self.0.path().display();
        let named =
            format!("{{ \"{PROJECT}\" = \"{path}/secret\", \"{OTHER}\" = \"{path}/other\" }}");
        World::start_with(|launch| launch.env("SILLOK__GRAPH__WORK_TREES", named)).await
    }

    /// Waits until who may see it sees what the secret says, and what stands beside it.
    async fn hold(&self, world: &World, secret: &Secret) {
        self.write("secret", &secret.text);
        for (scope, said) in [(PROJECT, secret.text.as_str()), (OTHER, "nothing")] {
            let asked = [("scope", scope), ("name", "main")];
            let is_said = |found: &Value| found.to_string().contains(said);
            comes(&world.admin(), "/v1/code/symbols", &asked, is_said).await;
        }
    }
}

/// A route, by its method and its path.
type Route = (&'static str, &'static str);

/// How a read that names something foreign must end.
#[derive(Clone, Copy, PartialEq)]
enum Ends {
    Forbidden,
    NotFound,
    /// With an answer that holds nothing of it.
    Blind,
}

/// Questions for what is foreign, now and at a commit.
fn of_recall(secret: &Secret, scopes: &[&str]) -> Vec<(Value, Ends)> {
    let mut all = Vec::new();
    for as_of in [Value::Null, json!({ "commit": "abcdef1" })] {
        let ask = |scope: &str| {
            let asked = json!({ "scope": scope, "query": secret.text, "as_of": as_of });
            without_null(asked)
        };
        all.extend(scopes.iter().map(|scope| (ask(scope), Ends::Forbidden)));
        all.push((ask(OTHER), Ends::Blind));
    }
    all
}

fn without_null(mut body: Value) -> Value {
    if let Some(fields) = body.as_object_mut() {
        fields.retain(|_, value| !value.is_null());
    }
    body
}

/// Every route that reads or steers, with requests for what is foreign.
fn reads(secret: &Secret) -> BTreeMap<Route, Vec<(Value, Ends)>> {
    let scopes = [secret.task.as_str(), WORKTREE, PROJECT, ORG];
    let by_scope = || -> Vec<(Value, Ends)> {
        scopes
            .iter()
            .map(|scope| (json!({ "scope": scope }), Ends::Forbidden))
            .collect()
    };
    let with_all = || {
        let mut cases = by_scope();
        cases.push((json!({ "scope": "*" }), Ends::Forbidden));
        cases
    };
    let by_entry = || -> Vec<(Value, Ends)> {
        secret
            .entries
            .iter()
            .map(|id| (json!({ "id": id }), Ends::NotFound))
            .collect()
    };
    let ask_review = |scope: &&str| {
        let asked = json!({ "scope": scope, "id": secret.entries[0] });
        (asked, Ends::Forbidden)
    };
    let review = scopes.iter().map(ask_review).collect();
    let mut all = BTreeMap::from([
        (("get", "/v1/tasks"), with_all()),
        (
            ("get", "/v1/task"),
            vec![(json!({ "scope": secret.task }), Ends::Forbidden)],
        ),
        (("get", "/v1/records"), by_scope()),
        (
            ("get", "/v1/record"),
            vec![(json!({ "id": secret.record }), Ends::Forbidden)],
        ),
        (
            ("get", "/v1/excerpt"),
            vec![(
                json!({ "id": secret.record, "from": "0", "to": "1" }),
                Ends::Forbidden,
            )],
        ),
        (
            ("get", "/v1/verifications"),
            vec![(json!({ "scope": secret.task }), Ends::Forbidden)],
        ),
        (("get", "/v1/jobs"), with_all()),
        (("get", "/v1/reviews"), by_scope()),
        (("get", "/v1/review"), review),
        (("get", "/v1/entry"), by_entry()),
        (("get", "/v1/history"), by_entry()),
        (("post", "/v1/recall"), of_recall(secret, &scopes)),
        (("get", "/v1/events"), by_scope()),
        (("get", "/v1/tail"), with_all()),
        (("get", "/v1/tokens"), with_all()),
    ]);
    all.extend(of_promotion(secret));
    all.extend(of_fixes(secret));
    all.extend([of_patterns(secret)]);
    all.extend(of_decisions(secret));
    all.extend(of_what_is_kept(secret));
    all.extend(of_graphs(secret));
    all.extend(of_code(secret));
    all.extend(of_the_server());
    all
}

/// The same of routes that show or steer the whole server.
fn of_the_server() -> [(Route, Vec<(Value, Ends)>); 9] {
    let forbidden = |asked| vec![(asked, Ends::Forbidden)];
    let fence = json!({ "node": "local", "incarnation": 1 });
    let quarantine = json!({ "scope": PROJECT, "reason": "none" });
    [
        (("post", "/v1/audit/verify"), forbidden(json!({}))),
        (
            ("post", "/v1/maintenance"),
            forbidden(json!({ "dry_run": true })),
        ),
        (("get", "/v1/status"), vec![(json!({}), Ends::Blind)]),
        (("get", "/v1/cluster"), forbidden(json!({}))),
        (("post", "/v1/cluster/fence"), forbidden(fence)),
        (("post", "/v1/cluster/quarantine"), forbidden(quarantine)),
        (("get", "/v1/backup"), forbidden(json!({}))),
        (("get", "/v1/checkpoint"), forbidden(json!({}))),
        (
            ("post", "/v1/checkpoint/compare"),
            forbidden(json!({ "ends": [] })),
        ),
    ]
}

/// What asks for decisions, and for what they mean to others.
fn of_decisions(secret: &Secret) -> [(Route, Vec<(Value, Ends)>); 7] {
    let node = format!("decision:{PROJECT}#{}", secret.decision);
    let scopes = [secret.task.as_str(), WORKTREE, PROJECT];
    let forbidden = |fields: Value| -> Vec<(Value, Ends)> {
        let with = |scope: &&str| {
            let mut body = fields.clone();
            body["scope"] = json!(scope);
            (body, Ends::Forbidden)
        };
        scopes.iter().map(with).collect()
    };
    let mut listing = forbidden(json!({}));
    // What holds in all projects is seen in each.
    listing.push((json!({ "scope": ORG }), Ends::Blind));
    let mut named = forbidden(json!({ "root": secret.decision }));
    for elsewhere in [ORG, OTHER] {
        let asked = json!({ "scope": elsewhere, "root": secret.decision });
        named.push((asked, Ends::NotFound));
    }
    let at = json!([node, "file:src/main.rs"]);
    let kept = json!([format!("evidence:{PROJECT}#{}", secret.evidence)]);
    let mut reached = forbidden(json!({ "at": at }));
    reached.push((json!({ "scope": ORG, "at": at }), Ends::Forbidden));
    // That it is not seen there is not told apart from its not being there.
    reached.push((json!({ "scope": OTHER, "at": at }), Ends::NotFound));
    reached.push((json!({ "scope": OTHER, "at": kept }), Ends::NotFound));
    let file = json!({ "scope": OTHER, "at": ["file:src/main.rs"] });
    reached.push((file, Ends::Blind));
    let mut proposed = forbidden(json!({ "title": "t", "content": "c" }));
    let own = format!("{OTHER}/worktree/main");
    for (kind, to) in [("DEPENDS_ON", json!(node)), ("RESTS_ON", kept[0].clone())] {
        let related = json!([{ "kind": kind, "to": to }]);
        let related = json!({ "scope": own, "title": "t", "content": "c", "relations": related });
        proposed.push((related, Ends::NotFound));
    }
    [
        (("get", "/v1/decisions"), listing.clone()),
        (("get", "/v1/decisions/kinds"), listing),
        (("get", "/v1/decision"), named.clone()),
        (("get", "/v1/decision/history"), named),
        (("post", "/v1/impact"), reached.clone()),
        (("post", "/v1/brief"), reached),
        (("post", "/v1/decisions/propose"), proposed),
    ]
}

/// What asks for evidence and anchors.
fn of_what_is_kept(secret: &Secret) -> [(Route, Vec<(Value, Ends)>); 7] {
    let mut listing: Vec<(Value, Ends)> = Vec::new();
    for scope in [secret.task.as_str(), WORKTREE, PROJECT] {
        listing.push((json!({ "scope": scope }), Ends::Forbidden));
    }
    // What is kept for all projects is seen in each.
    listing.push((json!({ "scope": ORG }), Ends::Blind));
    let named = |id: &str| {
        let in_scope = |scope: &str| json!({ "scope": scope, "id": id });
        vec![
            (in_scope(PROJECT), Ends::Forbidden),
            (in_scope(ORG), Ends::NotFound),
            (in_scope(OTHER), Ends::NotFound),
        ]
    };
    let search = |scope: &str| json!({ "scope": scope, "query": secret.text });
    let mut searched: Vec<(Value, Ends)> = [secret.task.as_str(), WORKTREE, PROJECT, ORG]
        .iter()
        .map(|scope| (search(scope), Ends::Forbidden))
        .collect();
    searched.push((search(OTHER), Ends::Blind));
    [
        (("get", "/v1/evidence"), listing.clone()),
        (("get", "/v1/evidence/item"), named(&secret.evidence)),
        (("get", "/v1/evidence/text"), named(&secret.evidence)),
        (("get", "/v1/anchors"), listing),
        (("get", "/v1/anchor"), named(&secret.anchor)),
        (("get", "/v1/anchor/follow"), named(&secret.anchor)),
        (("post", "/v1/anchors/search"), searched),
    ]
}

/// Queries in a graph of what is seen: whatever they look for, nothing foreign is in there.
fn of_graphs(secret: &Secret) -> [(Route, Vec<(Value, Ends)>); 1] {
    let ask = |scope: &str, query: &str| {
        let text = secret.text.as_str();
        json!({ "scope": scope, "query": query, "params": { "text": text }, "causes": true })
    };
    let with_code = |mut asked: Value| {
        asked["code"] = json!(true);
        asked
    };
    let all = "MATCH (n) OPTIONAL MATCH (n)-[r]-(m) RETURN n, r, m";
    let scopes = [secret.task.as_str(), WORKTREE, PROJECT, ORG];
    let mut cases: Vec<(Value, Ends)> = scopes
        .iter()
        .map(|scope| (ask(scope, all), Ends::Forbidden))
        .collect();
    cases.push((ask(OTHER, all), Ends::Blind));
    let named =
        "MATCH (d:Decision) WHERE d.title = $text RETURN count(*) AS n, collect(d.node) AS found";
    cases.push((ask(OTHER, named), Ends::Blind));
    let coded: Vec<(Value, Ends)> = cases
        .iter()
        .map(|(asked, ends)| (with_code(asked.clone()), *ends))
        .collect();
    cases.extend(coded);
    [(("post", "/v1/graph/query"), cases)]
}

/// What asks for source files. Both projects have a work tree, with a file of one path and a symbol of one name.
fn of_code(secret: &Secret) -> [(Route, Vec<(Value, Ends)>); 3] {
    let scopes = [secret.task.as_str(), WORKTREE, PROJECT, ORG];
    let of = |fields: Value| -> Vec<(Value, Ends)> {
        let with = |scope: &str, ends| {
            let mut asked = fields.clone();
            asked["scope"] = json!(scope);
            (asked, ends)
        };
        let mut all: Vec<_> = scopes
            .iter()
            .map(|scope| with(scope, Ends::Forbidden))
            .collect();
        all.push(with(OTHER, Ends::Blind));
        all
    };
    [
        (("get", "/v1/code"), of(json!({}))),
        (("get", "/v1/code/symbols"), of(json!({ "name": "main" }))),
        (
            ("get", "/v1/code/dependents"),
            of(json!({ "of": "symbol:main" })),
        ),
    ]
}

/// What asks for fixes that failed: whoever tries the same beside is told nothing.
fn of_fixes(secret: &Secret) -> [(Route, Vec<(Value, Ends)>); 2] {
    let asked = |scope: &str| json!({ "scope": scope, "approach": "Try it", "files": ["src/main.rs"], "symbols": ["main"] });
    let scopes = [secret.task.as_str(), WORKTREE, PROJECT, ORG];
    let forbidden = scopes.map(|scope| (asked(scope), Ends::Forbidden));
    let mut checked = forbidden.to_vec();
    for approach in ["Try it", secret.text.as_str()] {
        let mut own = asked(&secret.beside);
        own["approach"] = json!(approach);
        checked.push((own, Ends::Blind));
    }
    let mut listed: Vec<(Value, Ends)> = scopes
        .iter()
        .map(|scope| (json!({ "scope": scope }), Ends::Forbidden))
        .collect();
    listed.push((json!({ "scope": secret.beside }), Ends::Blind));
    [
        (("post", "/v1/fixes/check"), checked),
        (("get", "/v1/fixes/failed"), listed),
    ]
}

/// What asks for patterns: whoever looks for the same beside finds nothing.
fn of_patterns(secret: &Secret) -> (Route, Vec<(Value, Ends)>) {
    let asked = |scope: &str, failures_only: &str| json!({ "scope": scope, "query": secret.text, "failures_only": failures_only });
    let scopes = [secret.task.as_str(), WORKTREE, PROJECT, ORG];
    let forbidden = scopes.map(|scope| (asked(scope, "true"), Ends::Forbidden));
    let mut cases = forbidden.to_vec();
    for scope in [OTHER, secret.beside.as_str()] {
        for failures_only in ["true", "false"] {
            cases.push((asked(scope, failures_only), Ends::Blind));
        }
    }
    (("get", "/v1/patterns/search"), cases)
}

/// What asks for one promotion, and what steers it.
fn of_promotion(secret: &Secret) -> [(Route, Vec<(Value, Ends)>); 3] {
    let promotion = json!({ "scope": secret.task, "verification": secret.verification });
    let mut dropped = promotion.clone();
    dropped["reason"] = json!("none");
    let forbidden = |asked: &Value| vec![(asked.clone(), Ends::Forbidden)];
    [
        (("get", "/v1/promotions"), forbidden(&promotion)),
        (("post", "/v1/promotions/retry"), forbidden(&promotion)),
        (("post", "/v1/promotions/drop"), forbidden(&dropped)),
    ]
}

async fn ask(client: &Client, method: &str, path: &str, asked: &Value) -> crate::harness::Reply {
    if method == "post" {
        return client.raw(path, &[], asked.to_string().into_bytes()).await;
    }
    let fields = asked.as_object().expect("a query has fields");
    let query: Vec<(&str, &str)> = fields
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_str().expect("text")))
        .collect();
    client.get(path, &query).await
}

#[tokio::test]
async fn a_token_of_one_project_reads_nothing_of_another() {
    let trees = WorkTrees::new();
    let world = trees.world().await;
    let secret = Secret::keep(&world).await;
    trees.hold(&world, &secret).await;
    let cases = reads(&secret);
    for ((method, path), rules) in routes(&world).await {
        let is_read = method == "get"
            || rules
                .iter()
                .any(|rule| ["read", "everything", "control/propose"].contains(&rule.as_str()))
            || STEERS.contains(&path.as_str());
        if rules.contains(&"public".to_owned()) || !is_read {
            continue;
        }
        let Some(requests) = cases.get(&(method.as_str(), path.as_str())) else {
            panic!("{method} {path} is a read route without a case");
        };
        for kind in [PrincipalKind::Human, PrincipalKind::Agent] {
            let stranger = world.principal(kind, OTHER).await;
            for (asked, ends) in requests {
                let reply = ask(&stranger, &method, &path, asked).await;
                assert!(
                    !reply.text.contains(&secret.text),
                    "{method} {path} {asked}: {}",
                    reply.text
                );
                match ends {
                    Ends::Forbidden => drop(reply.refused(403, "forbidden")),
                    Ends::NotFound => drop(reply.refused(404, "not_found")),
                    Ends::Blind => drop(reply.ok()),
                }
            }
        }
    }
}

#[tokio::test]
async fn a_token_of_one_project_writes_nothing_of_another() {
    let world = World::start().await;
    for (route, tasks_only) in WRITES {
        let levels = if tasks_only {
            &[Level::Task][..]
        } else {
            &Level::ALL
        };
        for level in levels {
            let sample = world.sample(route, *level).await;
            let stranger = world.principal(permitted(route, *level), OTHER).await;
            let before = counts(&world, &sample.scope).await;
            let reply = stranger.post(route, &sample.body).await;
            let by_id = [
                "/v1/entries/amend",
                "/v1/entries/supersede",
                "/v1/entries/resolve",
                "/v1/entries/restore",
                "/v1/reuse",
                "/v1/gate",
            ];
            // The entries of an organisation are seen in all its projects.
            let is_hidden = by_id.contains(&route) && *level != Level::Org;
            if route == "/v1/tokens/revoke" || is_hidden {
                // What is named by its id is found only where one's own token sees it.
                let problem = reply.refused(404, "not_found");
                assert!(!problem.to_string().contains("org/acme"), "{problem}");
            } else {
                let problem = reply.refused(403, "forbidden");
                assert_eq!(problem["rule"], "token/scope", "{route}: {problem}");
            }
            let after = counts(&world, &sample.scope).await;
            assert_eq!(after.1, before.1, "{route} wrote to {}", sample.scope);
        }
    }
}

#[tokio::test]
async fn what_lies_in_another_project_is_no_ground_to_write_on() {
    let world = World::start().await;
    let secret = Secret::keep(&world).await;
    let orchestrator = world.principal(PrincipalKind::Orchestrator, OTHER).await;
    let human = world.principal(PrincipalKind::Human, OTHER).await;
    let named = json!({ "task": secret.task, "id": secret.verification });
    let body = json!({ "scope": OTHER, "content": phrase(), "verification": named });
    orchestrator
        .post("/v1/entries", &body)
        .await
        .refused(404, "not_found");
    let cited = json!([{ "kind": "log", "id": secret.record, "time": 0 }]);
    let body = json!({ "scope": OTHER, "content": phrase(), "citations": cited });
    human
        .post("/v1/entries", &body)
        .await
        .refused(422, "unresolvable_citation");
    // Nor for somebody who sees both: what an entry rests on lies inside its scope.
    let wide = world.principal(PrincipalKind::Orchestrator, ORG).await;
    let body = json!({ "scope": OTHER, "content": phrase(), "verification": named });
    wide.post("/v1/entries", &body)
        .await
        .refused(400, "invalid_argument");
}

#[tokio::test]
async fn an_entry_above_is_seen_and_one_below_or_beside_is_not() {
    let world = World::start().await;
    let above = put(&world.admin(), ORG, &phrase()).await;
    let beside = put(&world.admin(), "org/acme/project/other", &phrase()).await;
    let here = put(&world.admin(), PROJECT, &phrase()).await;
    let agent = world.principal(PrincipalKind::Agent, WORKTREE).await;
    for path in ["/v1/entry", "/v1/history"] {
        for id in [&above, &here] {
            agent.get(path, &[("id", id)]).await.ok();
        }
        agent
            .get(path, &[("id", &beside)])
            .await
            .refused(404, "not_found");
    }
}
