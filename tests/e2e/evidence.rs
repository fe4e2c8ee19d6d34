//! Evidence and anchors through real servers: originals that come back as they were, whatever happened to the server since, and
//! hints that lead there and change the place of nothing.

mod reaching;
mod searching;

use serde_json::{Value, json};
use sillok_core::principal::PrincipalKind;

use crate::harness::{
    Client, ORG, PROJECT, Server, WORKTREE, World, assert_same, command_id, phrase,
};

const MIB: usize = 1 << 20;

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("no text: {value}"))
}

/// Saves evidence: the answer.
async fn keep(client: &Client, scope: &str, content: &str) -> Value {
    let body =
        json!({ "scope": scope, "title": phrase(), "source": "logs/run.txt", "content": content });
    client.post("/v1/evidence", &body).await.ok()
}

fn kept(scope: &str, saved: &Value) -> String {
    format!("evidence:{scope}#{}", text(&saved["id"]))
}

/// Saves a decision with these fields: its node.
async fn decide(client: &Client, scope: &str, fields: Value) -> String {
    let mut body = fields;
    body["scope"] = json!(scope);
    body["content"] = json!(phrase());
    let saved = client.post("/v1/decisions", &body).await.ok();
    format!("decision:{scope}#{}", text(&saved["root"]))
}

/// Adds an anchor: its id.
async fn point(client: &Client, scope: &str, (hint, domain): (&str, &str), to: &[&str]) -> String {
    let anchor = json!({ "hint": hint, "domain": domain, "to": to });
    let body = json!({ "scope": scope, "anchors": [anchor] });
    let added = client.post("/v1/anchors", &body).await.ok();
    text(&added["ids"][0]).to_owned()
}

/// What a route shows of something by its id.
async fn shown(client: &Client, path: &str, (scope, id): (&str, &str)) -> Value {
    client.get(path, &[("scope", scope), ("id", id)]).await.ok()
}

/// What a brief tells, by layer.
async fn brief(client: &Client, asked: &Value) -> Vec<(String, String)> {
    let brief = client.post("/v1/brief", asked).await.ok();
    let items = brief["items"].as_array().expect("a brief has items").iter();
    let told = |item: &Value| {
        let what = if item["item"] == "anchor" {
            &item["hint"]
        } else {
            &item["title"]
        };
        (text(&item["layer"]).to_owned(), text(what).to_owned())
    };
    items.map(told).collect()
}

/// The BLAKE3 hash of a text, as the API writes it.
fn hash_of(text: &str) -> String {
    blake3::hash(text.as_bytes()).to_hex().to_string()
}

fn audited(world: &World) {
    let verdict = world.sillok("audit verify --json").json();
    assert_eq!(verdict["ok"], true, "{verdict}");
}

/// Originals, one that lies in its row and one of many chunks, and where they are kept.
struct Originals {
    kept: Vec<(Value, String)>,
    anchor: String,
}

impl Originals {
    async fn keep(client: &Client) -> Self {
        let large = (0..).map(|number| format!("{number} é ran.\n"));
        let mut grown = String::new();
        for line in large {
            if grown.len() > 5 * MIB {
                break;
            }
            grown += &line;
        }
        let mut all = Vec::new();
        for content in ["It ran for 7 s.".to_owned(), grown] {
            all.push((keep(client, PROJECT, &content).await, content));
        }
        let nodes: Vec<String> = all.iter().map(|(saved, _)| kept(PROJECT, saved)).collect();
        let to: Vec<&str> = nodes.iter().map(String::as_str).collect();
        let anchor = point(client, PROJECT, ("Both runs", "global"), &to).await;
        Self { kept: all, anchor }
    }

    /// Checks that each is read as it was saved, whole and by a range, and that the anchor leads to both.
    async fn check(&self, client: &Client) {
        for (saved, content) in &self.kept {
            let id = text(&saved["id"]);
            let whole = shown(client, "/v1/evidence/text", (PROJECT, id)).await;
            assert!(whole["text"] == content.as_str(), "it is what was saved");
            let head = shown(client, "/v1/evidence/item", (PROJECT, id)).await;
            assert_eq!((&head["hash"], &whole["head"]), (&saved["hash"], &head));
            assert_eq!(head["hash"], hash_of(content));
            assert_eq!(head["bytes"], content.len());
            let middle = content.len() / 2;
            for (from, to) in [
                (0, 7),
                (middle, middle + 9),
                (content.len() - 3, content.len()),
            ] {
                let (from_text, to_text) = (from.to_string(), to.to_string());
                let query = [
                    ("scope", PROJECT),
                    ("id", id),
                    ("from", &*from_text),
                    ("to", &*to_text),
                ];
                let part = client.get("/v1/evidence/text", &query).await.ok();
                let (first, last) = (number(&part["from"]), number(&part["to"]));
                assert_eq!(text(&part["text"]), &content[first..last]);
                // Whole characters alone: at each end at most a part of one is left out.
                assert!(first - from < 2 && to - last < 2, "{part}");
            }
        }
        let followed = shown(client, "/v1/anchor/follow", (PROJECT, &self.anchor)).await;
        let items = followed["items"].as_array().expect("it leads somewhere");
        let whole: Vec<&Value> = items.iter().map(|item| &item["whole"]).collect();
        assert_eq!(whole, [true, false], "large texts are read by themselves");
        let marked = text(&items[0]["data_marked_text"]);
        assert!(marked.contains("It ran for 7 s.") && marked.starts_with("<recalled-data key="));
    }
}

fn number(value: &Value) -> usize {
    let number = value
        .as_u64()
        .unwrap_or_else(|| panic!("no number: {value}"));
    usize::try_from(number).expect("it is small")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn evidence_is_what_was_saved_after_a_kill_a_rebuild_and_a_restore() {
    let mut world = World::start().await;
    let agent = world.principal(PrincipalKind::Orchestrator, PROJECT).await;
    let originals = Originals::keep(&agent).await;
    originals.check(&agent).await;
    world.kill();
    world.start_again().await;
    originals.check(&world.admin()).await;
    let file = world.folder().join("kept.backup");
    let file = file.to_str().expect("text").to_owned();
    world.run(&["backup", "--json", &file]).json();
    world.stop();
    world.run(&["rebuild", "--json"]).json();
    let verdict = world.run(&["audit", "verify", "--offline", "--json"]);
    assert_eq!(verdict.json()["ok"], true);
    world.start_again().await;
    originals.check(&world.admin()).await;
    let data = world.folder().join("restored");
    let data_text = data.to_str().expect("text");
    let restored = world.run(&["restore", "--json", &file, "--data", data_text]);
    restored.json();
    let server = Server::start(&data).await;
    let admin = Client::admin_of(&server);
    originals.check(&admin).await;
    let verdict = admin.post("/v1/audit/verify", &json!({})).await.ok();
    assert_eq!(verdict["ok"], true, "{verdict}");
    server.stop();
}

#[tokio::test]
async fn secrets_in_evidence_are_masked_before_it_is_stored() {
    let world = World::start().await;
    let admin = world.admin();
    let secret = "ghp_16C7e42F292c6912E7710c838347Ae178B4a";
    // One text lies in its row, the other in chunks, of which some end within a secret.
    for secrets in [1, 20_000] {
        let content = format!("it ran with {secret}\n").repeat(secrets);
        let saved = keep(&admin, PROJECT, &content).await;
        assert_eq!(saved["masked"], secrets);
        let id = text(&saved["id"]);
        let whole = shown(&admin, "/v1/evidence/text", (PROJECT, id)).await;
        let stored = text(&whole["text"]);
        assert!(!stored.contains(secret) && stored.starts_with("it ran with "));
        assert_eq!(stored.lines().count(), secrets);
        assert_eq!(saved["hash"], hash_of(stored), "of what is stored");
        assert_eq!(whole["head"]["masked"], secrets);
    }
    let named =
        json!({ "scope": PROJECT, "title": secret, "source": secret, "content": "It ran." });
    let saved = admin.post("/v1/evidence", &named).await.ok();
    assert_eq!(saved["masked"], 2);
    let hint = format!("it ran with {secret}");
    let to = kept(PROJECT, &saved);
    point(&admin, PROJECT, (&hint, "global"), &[&to]).await;
    for path in ["/v1/events", "/v1/evidence", "/v1/anchors"] {
        let told = Value::Array(admin.all(path, PROJECT).await).to_string();
        assert!(!told.contains(secret), "{path}");
    }
    audited(&world);
}

#[tokio::test]
async fn a_retry_gets_the_first_answer_and_keeps_nothing_twice_even_after_a_kill() {
    let mut world = World::start().await;
    let admin = world.admin();
    let evidence = json!({ "scope": PROJECT, "title": "t", "content": "x".repeat(200_000) });
    let saving = command_id();
    let saved = admin.command("/v1/evidence", &saving, &evidence).await.ok();
    let anchor = json!({ "hint": "h", "to": [kept(PROJECT, &saved)] });
    let anchors = json!({ "scope": PROJECT, "anchors": [anchor, anchor] });
    let adding = command_id();
    let added = admin.command("/v1/anchors", &adding, &anchors).await.ok();
    let dropped = json!({ "scope": PROJECT, "id": added["ids"][0], "reason": "read" });
    let dropping = command_id();
    let gone = admin.command("/v1/anchors/drop", &dropping, &dropped);
    let gone = gone.await.ok();
    let events = admin.all("/v1/events", PROJECT).await;
    assert_eq!(events.len(), 4, "{events:?}");
    for is_killed in [false, true] {
        if is_killed {
            world.kill();
            world.start_again().await;
        }
        let admin = world.admin();
        for (path, id, body, first) in [
            ("/v1/evidence", &saving, &evidence, &saved),
            ("/v1/anchors", &adding, &anchors, &added),
            ("/v1/anchors/drop", &dropping, &dropped, &gone),
        ] {
            let again = admin.command(path, id, body).await.ok();
            assert_same(&again, first, path);
        }
        assert_eq!(admin.all("/v1/events", PROJECT).await, events);
    }
    let admin = world.admin();
    assert_eq!(admin.all("/v1/evidence", PROJECT).await.len(), 1);
    assert_eq!(admin.all("/v1/anchors", PROJECT).await.len(), 1);
    audited(&world);
}

#[tokio::test]
async fn a_node_that_is_pinned_to_an_older_version_keeps_nothing_that_others_would_not_read() {
    let pinned = ("SILLOK__CLUSTER__WIRE_VERSION", "7");
    let world = World::start_with(|launch| launch.env(pinned.0, pinned.1)).await;
    let admin = world.admin();
    let decision = json!({ "title": phrase() });
    let decision = decide(&admin, PROJECT, decision).await;
    let nobodys = format!("evidence:{PROJECT}#01900000-0000-7000-8000-000000000000");
    let rests = json!([{ "kind": "RESTS_ON", "to": nobodys }]);
    for (path, body) in [
        (
            "/v1/evidence",
            json!({ "scope": PROJECT, "title": "t", "content": "c" }),
        ),
        (
            "/v1/anchors",
            json!({ "scope": PROJECT, "anchors": [{ "hint": "h", "to": [decision] }] }),
        ),
        (
            "/v1/decisions",
            json!({ "scope": PROJECT, "title": "t", "content": "c", "relations": rests }),
        ),
    ] {
        drop(admin.post(path, &body).await.refused(503, "unavailable"));
    }
    let events = admin.all("/v1/events", PROJECT).await;
    assert_eq!(events.len(), 1, "{events:?}");
}

#[tokio::test]
async fn anchors_stand_last_in_a_brief_are_cut_first_and_move_nothing() {
    let world = World::start().await;
    let admin = world.admin();
    let mut decisions = Vec::new();
    for (scope, rank, layer) in [
        (PROJECT, "normal", "normal"),
        (ORG, "lock", "lock"),
        (PROJECT, "axis", "global_axis"),
    ] {
        let title = phrase();
        let node = decide(&admin, scope, json!({ "rank": rank, "title": title })).await;
        decisions.push((node, (layer.to_owned(), title)));
    }
    let asked = json!({ "scope": WORKTREE, "domain": "ui" });
    let before = brief(&admin, &asked).await;
    let told = decisions.iter().rev().map(|(_, told)| told.clone());
    assert_eq!(before, told.collect::<Vec<_>>());
    // They lead to what is weak first, and were added against their order.
    let (run, axis) = (keep(&admin, PROJECT, "It ran.").await, &decisions[2].0);
    let to = [kept(PROJECT, &run), decisions[0].0.clone(), axis.clone()];
    let to: Vec<&str> = to.iter().map(String::as_str).collect();
    for (scope, hint, domain) in [
        (WORKTREE, "in the worktree, of the domain", "ui"),
        (PROJECT, "in the project, of the domain", "ui"),
        (PROJECT, "of another domain", "runtime"),
        (WORKTREE, "in the worktree, everywhere", "global"),
        (PROJECT, "in the project, everywhere", "global"),
    ] {
        point(&admin, scope, (hint, domain), &to).await;
    }
    let agent = world.principal(PrincipalKind::Agent, WORKTREE).await;
    let with = brief(&agent, &asked).await;
    assert_eq!(with[..3], before, "what they lead to stays where it was");
    let hints = [
        "in the project, everywhere",
        "in the worktree, everywhere",
        "in the project, of the domain",
        "in the worktree, of the domain",
    ];
    let expected = hints.map(|hint| ("anchor".to_owned(), hint.to_owned()));
    assert_eq!(with[3..], expected);
    for kept in 1..with.len() {
        let asked = json!({ "scope": WORKTREE, "domain": "ui", "items_max": kept });
        assert_eq!(brief(&agent, &asked).await, with[..kept]);
    }
    audited(&world);
}

#[tokio::test]
async fn an_anchor_is_followed_to_the_originals_as_they_are_now_until_it_is_dropped() {
    let world = World::start().await;
    let agent = world.principal(PrincipalKind::Agent, WORKTREE).await;
    let admin = world.admin();
    let run = keep(&agent, WORKTREE, "It ran for 7 s.").await;
    let rests = json!([{ "kind": "RESTS_ON", "to": kept(WORKTREE, &run) }]);
    let choice = json!({ "title": "Wait 10 s", "relations": rests });
    let choice = decide(&agent, WORKTREE, choice).await;
    let lock = decide(&admin, ORG, json!({ "title": "A lock", "rank": "lock" })).await;
    let nodes = [kept(WORKTREE, &run), choice.clone(), lock.clone()];
    let to: Vec<&str> = nodes.iter().map(String::as_str).collect();
    let id = point(&agent, WORKTREE, ("Why 10 s", "global"), &to).await;
    let at = (WORKTREE, id.as_str());
    let order = async || {
        let followed = shown(&agent, "/v1/anchor/follow", at).await;
        let items = followed["items"].as_array().expect("it leads somewhere");
        let told = |item: &Value| {
            let title = [&item["title"], &item["head"]["title"]];
            let title = title.into_iter().find(|title| title.is_string());
            (
                text(title.expect("it has a title")).to_owned(),
                item["active"].clone(),
            )
        };
        items.iter().map(told).collect::<Vec<_>>()
    };
    let holds = |title: &str| (title.to_owned(), json!(true));
    let shown_run = shown(&agent, "/v1/evidence/item", (WORKTREE, text(&run["id"]))).await;
    let original = (text(&shown_run["title"]).to_owned(), Value::Null);
    let expected = [holds("A lock"), holds("Wait 10 s"), original.clone()];
    assert_eq!(order().await, expected);
    // A change of the run reaches what rests on it, and a change of that does not reach the run.
    for (at, reached) in [(&nodes[0], vec![choice.as_str()]), (&choice, vec![])] {
        let found = json!({ "scope": WORKTREE, "at": [at] });
        let found = agent.post("/v1/impact", &found).await.ok();
        let affected = found["affected"].as_array().expect("it lists nodes").iter();
        let affected: Vec<&str> = affected.map(|one| text(&one["node"])).collect();
        assert_eq!(affected, reached, "{at}");
    }
    // The lock is withdrawn, and what it said last is told with that.
    let (_, root) = lock.rsplit_once('#').expect("a node has a root");
    let gone = json!({ "scope": ORG, "root": root, "expected_version": 1, "reason": "no more" });
    admin.post("/v1/decisions/deactivate", &gone).await.ok();
    let withdrawn = ("A lock".to_owned(), json!(false));
    assert_eq!(order().await, [withdrawn, holds("Wait 10 s"), original]);
    let view = shown(&agent, "/v1/anchor", at).await;
    assert_eq!(view["leads"][0]["standing"], "withdrawn");
    assert_eq!(view["leads"][0]["rank"], "lock", "it keeps its rank");
    let dropped = json!({ "scope": WORKTREE, "id": id, "reason": "read" });
    agent.post("/v1/anchors/drop", &dropped).await.ok();
    let again = agent.post("/v1/anchors/drop", &dropped).await;
    drop(again.refused(409, "conflict"));
    assert!(agent.all("/v1/anchors", WORKTREE).await.is_empty());
    assert_eq!(order().await.len(), 3, "it stays readable");
    let told = brief(&agent, &json!({ "scope": WORKTREE })).await;
    assert_eq!(told.len(), 1, "it is listed no longer: {told:?}");
}
