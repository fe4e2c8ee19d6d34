//! Erasure: what a person has destroyed can be read nowhere, and the chain still proves what happened.

mod verifications;

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use sillok_core::principal::PrincipalKind;

use crate::harness::world::{log, next, promoted, verify};
use crate::harness::{Client, ORG, PROJECT, World, command_id, phrase};

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("no text: {value}"))
}

/// A word that stands nowhere else.
fn secret() -> String {
    format!("vexillum{}", next())
}

fn all_files(under: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(under).expect("a directory") {
        let path = entry.expect("it is listed").path();
        if path.is_dir() {
            all_files(&path, found);
        } else {
            found.push(path);
        }
    }
}

/// The files under a directory in which a word stands.
fn holding(under: &Path, word: &str) -> Vec<PathBuf> {
    let mut files = Vec::new();
    all_files(under, &mut files);
    let holds = |path: &PathBuf| {
        let bytes = std::fs::read(path).expect("it can be read");
        bytes.windows(word.len()).any(|at| at == word.as_bytes())
    };
    files.retain(holds);
    files
}

fn audited(world: &World) {
    let verdict = world.sillok("audit verify --json").json();
    assert_eq!(verdict["ok"], true, "{verdict}");
}

/// Erases at the command line: the receipt.
fn erase(world: &World, scope: &str, named: &[&str]) -> Value {
    let words = ["erase", "--json", "--scope", scope, "--reason", "it leaked"];
    world.run(&[&words[..], named].concat()).json()
}

/// Whether any answer of the interface says a word: all reads of what is in the scopes, and what recall finds.
async fn is_said(world: &World, scopes: &[&str], entries: &[String], word: &str) -> bool {
    let admin = world.admin();
    let mut said = String::new();
    for scope in scopes {
        for route in ["/v1/events", "/v1/records", "/v1/reviews"] {
            for item in admin.all(route, scope).await {
                said += &item.to_string();
            }
        }
        let asked = json!({ "scope": scope, "query": word });
        let found = admin.post("/v1/recall", &asked).await.ok();
        said += &found["results"].to_string();
    }
    for entry in entries {
        for route in ["/v1/entry", "/v1/history"] {
            said += &admin.get(route, &[("id", entry)]).await.ok().to_string();
        }
    }
    said.contains(word)
}

/// A record that says a word, and all that a promotion and a person made of it.
struct Spread {
    word: String,
    task: String,
    record: String,
    made: Vec<String>,
}

impl Spread {
    async fn of(world: &World) -> Self {
        let (word, task, admin) = (secret(), world.task().await, world.admin());
        let record = log(&admin, &task, &format!("The build needs {word}.")).await;
        let verification = verify(&admin, &task, PROJECT).await;
        let report = promoted(&admin, &task, &verification).await;
        let products = report["products"].as_array().expect("products").iter();
        let mut made: Vec<String> = Vec::new();
        for product in products {
            let id = text(&product["entry"]).to_owned();
            let entry = admin.get("/v1/entry", &[("id", &id)]).await.ok();
            if entry["version"].to_string().contains(&word) {
                made.push(id);
            }
        }
        assert!(!made.is_empty(), "{report}");
        Self {
            word,
            task,
            record,
            made,
        }
    }

    fn position(&self) -> &str {
        self.record.rsplit_once('#').expect("scope#seq").1
    }

    /// Erases the record, and then all that the receipt names.
    fn erase(&self, world: &World) {
        let receipt = erase(world, &self.task, &["--record", self.position()]);
        assert_eq!(
            (&receipt["events"], &receipt["known"]),
            (&json!(1), &json!(0))
        );
        let resting = receipt["resting"].as_array().expect("a list");
        for id in &self.made {
            assert!(resting.contains(&json!(id)), "{id}: {receipt}");
        }
        let named = resting.iter().map(text).collect::<Vec<_>>().join(",");
        let receipt = erase(world, PROJECT, &["--entry", &named]);
        assert_eq!(
            receipt["entries"].as_array().map(Vec::len),
            Some(resting.len())
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_erased_is_said_by_nobody_and_lies_in_no_table_of_the_index() {
    let mut world = World::start().await;
    let spread = Spread::of(&world).await;
    let scopes = [spread.task.as_str(), PROJECT, ORG];
    assert!(is_said(&world, &scopes, &spread.made, &spread.word).await);
    let (records, opened) = (world.admin().all("/v1/records", &spread.task).await, 1);
    spread.erase(&world);
    assert!(!is_said(&world, &scopes, &spread.made, &spread.word).await);
    let admin = world.admin();
    let of = |route: &'static str, query: [(&'static str, &str); 1]| {
        let query = query.map(|(name, value)| (name, value.to_owned()));
        let admin = world.admin();
        async move {
            let query = query
                .each_ref()
                .map(|(name, value)| (*name, value.as_str()));
            admin.get(route, &query).await
        }
    };
    of("/v1/record", [("id", &spread.record)])
        .await
        .refused(404, "not_found");
    let query = [("id", spread.record.as_str()), ("from", "0"), ("to", "1")];
    admin
        .get("/v1/excerpt", &query)
        .await
        .refused(404, "not_found");
    assert_eq!(
        admin.all("/v1/records", &spread.task).await.len() + opened,
        records.len()
    );
    let head = of("/v1/entry", [("id", &spread.made[0])]).await.ok()["head"].clone();
    assert_eq!(
        (&head["erased"], &head["status"]),
        (&json!(true), &json!("archived"))
    );
    world.run(&["log", "show", &spread.record]).ended(1);
    let shown = world.run(&["show", &spread.made[0]]);
    shown.ended(0);
    assert!(shown.stdout.contains("erased"), "{shown:?}");
    audited(&world);

    // The index has stored it by the time that it ends.
    world.stop();
    let left = holding(&world.data().join("vectors"), &spread.word);
    assert!(left.is_empty(), "{left:?}");
    let words = ["audit", "verify", "--offline", "--json"];
    assert_eq!(world.run(&words).json()["ok"], true);
    world.sillok("rebuild --json").json();
    world.start_again().await;
    assert!(!is_said(&world, &scopes, &spread.made, &spread.word).await);
    audited(&world);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_backup_that_is_taken_afterwards_holds_nothing_of_it_and_neither_does_what_is_restored() {
    let mut world = World::start().await;
    let spread = Spread::of(&world).await;
    let back_up = |name: &str| {
        let file = world.folder().join(name);
        world
            .run(&["backup", "--json", file.to_str().expect("UTF-8")])
            .json();
        file
    };
    let before = back_up("before.backup");
    spread.erase(&world);
    let after = back_up("after.backup");
    world.stop();
    let restore = |file: &Path, name: &str| {
        let data = world.folder().join(name);
        let words = ["restore", "--json", file.to_str().expect("UTF-8"), "--data"];
        let ran = world.run(&[&words[..], &[data.to_str().expect("UTF-8")]].concat());
        assert_eq!(ran.json()["audit"]["first"], Value::Null);
        data
    };
    // The receipt says so: what was taken before holds it still.
    let old = restore(&before, "before");
    assert!(!holding(&old, &spread.word).is_empty());
    // Making the directory anew is how it leaves the files of the store too.
    let new = restore(&after, "after");
    let left = holding(&new, &spread.word);
    assert!(left.is_empty(), "{left:?}");
}

#[tokio::test]
async fn only_a_person_erases_and_all_that_is_named_or_nothing() {
    let world = World::start().await;
    let (admin, task) = (world.admin(), world.task().await);
    let word = secret();
    let record = log(&admin, &task, &word).await;
    let seq: u64 = record
        .rsplit_once('#')
        .expect("scope#seq")
        .1
        .parse()
        .expect("a number");
    let body =
        |records: &[u64]| json!({ "scope": task, "records": records, "reason": "it leaked" });
    for kind in [
        PrincipalKind::Agent,
        PrincipalKind::Orchestrator,
        PrincipalKind::System,
    ] {
        let other = world.principal(kind, ORG).await;
        let denied = other.post("/v1/erase", &body(&[seq])).await;
        assert_eq!(denied.refused(403, "forbidden")["rule"], "control/erase");
    }
    // An event that is no record, one that nobody wrote, an entry of another scope, one that is nowhere.
    let refused = async |asked: Value, status: u16, code: &str| {
        admin.post("/v1/erase", &asked).await.refused(status, code)
    };
    refused(body(&[seq, 1]), 400, "invalid_argument").await;
    refused(body(&[seq, 999]), 404, "not_found").await;
    let elsewhere = json!({ "scope": task, "records": [seq], "reason": "it leaked",
        "entries": [crate::harness::samples::put(&admin, PROJECT, &phrase()).await] });
    refused(elsewhere, 404, "not_found").await;
    assert!(is_said(&world, &[&task], &[], &word).await);

    // Whoever asks again is told the same; whoever orders it again, that it was done before.
    let id = command_id();
    let receipt = admin.command("/v1/erase", &id, &body(&[seq])).await.ok();
    assert_eq!(
        (&receipt["events"], &receipt["known"]),
        (&json!(1), &json!(0))
    );
    let again = admin.command("/v1/erase", &id, &body(&[seq])).await.ok();
    assert_eq!(again["seq"], receipt["seq"]);
    let anew = admin.post("/v1/erase", &body(&[seq])).await.ok();
    assert_eq!((&anew["events"], &anew["known"]), (&json!(0), &json!(1)));
    assert!(!is_said(&world, &[&task], &[], &word).await);
    audited(&world);
}

#[tokio::test]
async fn who_logged_it_may_ask_again_and_writes_it_no_second_time() {
    let world = World::start().await;
    let (admin, task, word) = (world.admin(), world.task().await, secret());
    let id = command_id();
    let body = json!({ "scope": task, "records": [{ "level": "info", "content": word }] });
    let first = admin.command("/v1/logs", &id, &body).await.ok()["first"].clone();
    let receipt = erase(&world, &task, &["--record", &first.to_string()]);
    assert_eq!(receipt["events"], 1);
    let again = admin.command("/v1/logs", &id, &body).await.ok();
    assert_eq!(again["first"], first);
    assert!(!is_said(&world, &[&task], &[], &word).await);
    audited(&world);
}

/// The kind of relation whose meaning is erased.
const KIND: &str = "EXPLAINS";

/// Evidence in chunks, a decision, an anchor and a kind of relation, each of which says a word.
struct Kept {
    word: String,
    evidence: String,
    decision: String,
    anchor: String,
}

impl Kept {
    async fn of(world: &World) -> Self {
        let (word, admin) = (secret(), world.admin());
        let content = format!("{word} ran for 7 s\n").repeat(10_000);
        let original =
            json!({ "scope": PROJECT, "title": word, "source": word, "content": content });
        let saved = admin.post("/v1/evidence", &original).await.ok();
        let evidence = text(&saved["id"]).to_owned();
        let to = format!("evidence:{PROJECT}#{evidence}");
        let relation = json!({ "kind": "RESTS_ON", "to": to });
        let claim = json!({ "key": word, "value": word });
        let decided = json!({ "scope": PROJECT, "title": word, "content": word, "domain": word,
            "reason": word, "claim": claim, "relations": [relation] });
        let saved = admin.post("/v1/decisions", &decided).await.ok();
        let decision = text(&saved["root"]).to_owned();
        let anchor = anchored(&admin, &word, &[&to]).await;
        let kind = json!({ "scope": PROJECT, "name": KIND, "reach": "both", "meaning": word });
        admin.post("/v1/decisions/kinds", &kind).await.ok();
        Self {
            word,
            evidence,
            decision,
            anchor,
        }
    }

    fn order(&self) -> Value {
        json!({ "scope": PROJECT, "reason": "it leaked", "decisions": [self.decision],
            "evidence": [self.evidence], "anchors": [self.anchor], "kinds": [KIND] })
    }

    /// Withdraws the decision and drops the anchor.
    async fn let_go(&self, admin: &Client) {
        let withdrawn = json!({ "scope": PROJECT, "root": self.decision, "expected_version": 1,
            "reason": self.word });
        admin
            .post("/v1/decisions/deactivate", &withdrawn)
            .await
            .ok();
        let dropped = json!({ "scope": PROJECT, "id": self.anchor, "reason": self.word });
        admin.post("/v1/anchors/drop", &dropped).await.ok();
    }

    /// Erases it at the command line: the receipt.
    fn erase(&self, world: &World) -> Value {
        let named = [
            "--decision",
            &self.decision,
            "--evidence",
            &self.evidence,
            "--anchor",
            &self.anchor,
            "--kind",
            KIND,
        ];
        erase(world, PROJECT, &named)
    }
}

/// An anchor of the project: its id.
async fn anchored(admin: &Client, hint: &str, to: &[&str]) -> String {
    let body = json!({ "scope": PROJECT, "anchors": [{ "hint": hint, "to": to }] });
    let added = admin.post("/v1/anchors", &body).await.ok();
    text(&added["ids"][0]).to_owned()
}

/// Whether any answer about decisions, evidence, anchors and kinds of relations says a word, or an event does.
async fn is_kept_said(admin: &Client, kept: &Kept) -> bool {
    let mut said = String::new();
    for route in ["/v1/events", "/v1/evidence", "/v1/decisions/kinds"] {
        for item in admin.all(route, PROJECT).await {
            said += &item.to_string();
        }
    }
    let scope = ("scope", PROJECT);
    for (route, further) in [
        ("/v1/decisions", ("withdrawn", "true")),
        ("/v1/anchors", ("dropped", "true")),
        ("/v1/decision", ("root", kept.decision.as_str())),
        ("/v1/decision/history", ("root", kept.decision.as_str())),
        ("/v1/evidence/item", ("id", kept.evidence.as_str())),
        ("/v1/anchor", ("id", kept.anchor.as_str())),
        ("/v1/anchor/follow", ("id", kept.anchor.as_str())),
    ] {
        said += &admin.get(route, &[scope, further]).await.ok().to_string();
    }
    let brief = json!({ "scope": PROJECT });
    said += &admin.post("/v1/brief", &brief).await.ok().to_string();
    let search = json!({ "scope": PROJECT, "query": kept.word });
    said += &admin
        .post("/v1/anchors/search", &search)
        .await
        .ok()
        .to_string();
    said.contains(&kept.word)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_decisions_evidence_anchors_and_kinds_said_is_said_by_nobody_and_not_in_a_backup() {
    let mut world = World::start().await;
    let (admin, kept) = (world.admin(), Kept::of(&world).await);
    let node = format!("evidence:{PROJECT}#{}", kept.evidence);
    let leads = anchored(&admin, "where it is told", &[&node]).await;
    kept.let_go(&admin).await;
    assert!(is_kept_said(&admin, &kept).await);
    let receipt = kept.erase(&world);
    // Two versions, the original, the anchor with why it was dropped, and the meaning.
    assert_eq!(
        (&receipt["events"], &receipt["known"], &receipt["entries"]),
        (&json!(6), &json!(0), &json!([]))
    );
    assert!(!is_kept_said(&admin, &kept).await);
    let scope = ("scope", PROJECT);
    let evidence = [scope, ("id", kept.evidence.as_str())];
    let gone = admin.get("/v1/evidence/text", &evidence).await;
    gone.refused(404, "not_found");
    let head = admin.get("/v1/evidence/item", &evidence).await.ok();
    assert_eq!(head["erased"], true);
    let decision = [scope, ("root", kept.decision.as_str())];
    let shown = admin.get("/v1/decision", &decision).await.ok();
    assert_eq!(shown["head"]["erased"], true);
    let anchor = [scope, ("id", leads.as_str())];
    let shown = admin.get("/v1/anchor", &anchor).await.ok();
    assert_eq!(shown["leads"][0]["standing"], "gone");
    let kinds = admin.all("/v1/decisions/kinds", PROJECT).await;
    assert_eq!(
        (&kinds[0]["name"], &kinds[0]["meaning"], &kinds[0]["erased"]),
        (&json!(KIND), &json!(""), &json!(true))
    );
    let followed = admin.get("/v1/anchor/follow", &anchor).await.ok();
    assert_eq!(followed["items"].as_array().map(Vec::len), Some(1));
    for words in [
        &["evidence", "show", &kept.evidence][..],
        &["decision", "show", &kept.decision],
        &["anchor", "show", &kept.anchor],
        &["decision", "kinds"],
    ] {
        let shown = world.run(&[words, &["--scope", PROJECT]].concat());
        shown.ended(0);
        assert!(shown.stdout.contains("erased"), "{shown:?}");
    }
    audited(&world);

    let file = world.folder().join("after.backup");
    let file = file.to_str().expect("UTF-8");
    world.run(&["backup", "--json", file]).json();
    world.stop();
    let data = world.folder().join("after");
    let restored = data.to_str().expect("UTF-8");
    let ran = world.run(&["restore", "--json", file, "--data", restored]);
    assert_eq!(ran.json()["audit"]["first"], Value::Null);
    let left = holding(&data, &kept.word);
    assert!(left.is_empty(), "{left:?}");
    world.sillok("rebuild --json").json();
    world.start_again().await;
    assert!(!is_kept_said(&world.admin(), &kept).await);
    audited(&world);
}

#[tokio::test]
async fn only_a_person_erases_decisions_evidence_anchors_and_kinds_and_not_what_holds() {
    let world = World::start().await;
    let (admin, kept) = (world.admin(), Kept::of(&world).await);
    for kind in [
        PrincipalKind::Agent,
        PrincipalKind::Orchestrator,
        PrincipalKind::System,
    ] {
        let other = world.principal(kind, ORG).await;
        let denied = other.post("/v1/erase", &kept.order()).await;
        assert_eq!(denied.refused(403, "forbidden")["rule"], "control/erase");
    }
    let refused = async |asked: Value, status: u16, code: &str| {
        admin.post("/v1/erase", &asked).await.refused(status, code)
    };
    refused(kept.order(), 409, "conflict").await;
    let mut mixed = kept.order();
    mixed["records"] = json!([1]);
    refused(mixed, 400, "invalid_argument").await;
    let mut nowhere = kept.order();
    nowhere["decisions"] = json!([]);
    nowhere["anchors"] = json!([command_id()]);
    refused(nowhere, 404, "not_found").await;
    // What the organisation declared counts in the project, and is not its own to erase.
    let above = json!({ "scope": ORG, "name": "REPLACES", "reach": "both", "meaning": phrase() });
    admin.post("/v1/decisions/kinds", &above).await.ok();
    for other in ["REPLACES", "CAUSES_IT"] {
        let named = json!({ "scope": PROJECT, "reason": "it leaked", "kinds": [KIND, other] });
        refused(named, 404, "not_found").await;
    }
    assert!(is_kept_said(&admin, &kept).await);

    // Evidence is erased, whatever rests on it: that is named.
    let evidence = json!({ "scope": PROJECT, "reason": "it leaked", "evidence": [kept.evidence] });
    let receipt = admin.post("/v1/erase", &evidence).await.ok();
    let node = format!("decision:{PROJECT}#{}", kept.decision);
    assert_eq!(receipt["resting_decisions"], json!([node]));
    kept.let_go(&admin).await;
    let id = command_id();
    let receipt = admin.command("/v1/erase", &id, &kept.order()).await.ok();
    assert_eq!(
        (&receipt["events"], &receipt["known"]),
        (&json!(5), &json!(1))
    );
    let again = admin.command("/v1/erase", &id, &kept.order()).await.ok();
    assert_eq!(again["seq"], receipt["seq"]);
    let anew = admin.post("/v1/erase", &kept.order()).await.ok();
    assert_eq!((&anew["events"], &anew["known"]), (&json!(0), &json!(4)));
    assert!(!is_kept_said(&admin, &kept).await);
    audited(&world);
}
