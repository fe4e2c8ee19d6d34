//! The commands about decisions: their JSON, how they read, and what they exit with.

use serde_json::{Value, json};
use sillok_core::principal::PrincipalKind;

use super::commands::{Tour, text};
use crate::harness::{ORG, PROJECT, WORKTREE, World};

/// No decision has this root.
const NOBODY: &str = "01900000-0000-7000-8000-000000000000";

pub(super) fn decisions(tour: &mut Tour) {
    policies(tour);
    let lock = tour.json(
        "decision save",
        &[
            "Prices are whole cents.",
            "--scope",
            PROJECT,
            "--title",
            "Prices",
            "--rank",
            "lock",
            "--claim",
            "price.unit=cent",
            "--relates",
            "APPLIES_TO=file:src/price.rs",
        ],
    );
    assert_eq!(
        (&lock["version"], &lock["active"]),
        (&json!(1), &json!(true))
    );
    assert_eq!(lock["impact"]["affected"][0]["node"], "file:src/price.rs");
    let lock = text(&lock["root"]);
    let limits = format!("CONSTRAINS={lock}");
    let otherwise = [
        "Prices are floats.",
        "--scope",
        PROJECT,
        "--title",
        "Floats",
        "--claim",
        "price.unit=float",
        "--relates",
        &limits,
    ];
    let proposed = tour.json("decision propose", &otherwise);
    assert_eq!(proposed["guards"][0]["title"], "Prices");
    assert_eq!(proposed["contradictions"][0]["root"], lock.as_str());
    let words = [&lock, "--scope", PROJECT, "--expected", "1"];
    let why = ["--title", "Whole cents", "--reason", "clearer"];
    let changed = tour.json("decision change", &[&words[..], &why].concat());
    assert_eq!(changed["version"], 2);
    let shown = tour.json("decision show", &[&lock, "--scope", PROJECT]);
    let said = &shown["version"]["text"];
    assert_eq!(
        (&said["title"], &said["content"]),
        (&json!("Whole cents"), &json!("Prices are whole cents."))
    );
    withdrawn(tour, &lock);
    let words = ["--scope", PROJECT, "--at", "file:src/price.rs"];
    let impact = tour.json("decision impact", &words);
    let node = format!("decision:{PROJECT}#{lock}");
    assert_eq!(impact["affected"][0]["node"], node.as_str());
    // Whoever works below is told, the policy first.
    let words = ["--scope", WORKTREE, "--at", "file:src/price.rs"];
    let brief = tour.json("brief", &words);
    let layers: Vec<&Value> = brief["items"]
        .as_array()
        .expect("a brief has items")
        .iter()
        .map(|item| &item["layer"])
        .collect();
    assert_eq!(layers, ["policy", "structural", "lock"]);
    graphs(tour);
}

/// A kind of relation that is declared for the project, and used below it.
pub(super) fn kinds(tour: &mut Tour) {
    let words = ["explains", "--scope", PROJECT, "--reach", "backward"];
    let means = ["--meaning", "it says why the other is so"];
    let declared = tour.json("decision declare", &[&words[..], &means].concat());
    assert_eq!(declared["name"], "EXPLAINS");
    let listed = tour.json("decision kinds", &["--scope", WORKTREE]);
    let kind = &listed["items"][0];
    assert_eq!(
        [&kind["name"], &kind["reach"], &kind["scope"]],
        ["EXPLAINS", "backward", PROJECT]
    );
    let words = ["Tabs are wide.", "--scope", PROJECT, "--title", "Tabs"];
    let tabs = text(&tour.json("decision save", &words)["root"]);
    let explains = format!("explains=decision:{PROJECT}#{tabs}");
    let words = ["Eyes are old.", "--scope", WORKTREE, "--title", "Eyes"];
    let why = ["--relates", &explains];
    let eyes = text(&tour.json("decision save", &[&words[..], &why].concat())["root"]);
    let words = [
        "--scope",
        WORKTREE,
        "--at",
        &format!("decision:{PROJECT}#{tabs}"),
    ];
    let impact = tour.json("decision impact", &words);
    let affected = &impact["affected"][0];
    assert_eq!(affected["node"], format!("decision:{WORKTREE}#{eyes}"));
    assert_eq!(affected["path"][0]["kind"], "EXPLAINS");
}

/// What one file is decided by, and the names that such a question may use.
fn graphs(tour: &mut Tour) {
    let asked = "MATCH (d:Decision)-[:APPLIES_TO]->(:File {path: $path}) RETURN d.title AS title";
    let words = [asked, "--scope", PROJECT, "--param", "path=src/price.rs"];
    let found = tour.json("graph query", &words);
    assert_eq!(found["rows"], json!([["Whole cents"]]));
    let schema = tour.json("graph schema", &[]);
    assert_eq!(schema["labels"][0]["name"], "Decision");
}

fn policies(tour: &mut Tour) {
    let words = ["Be kind.", "--scope", PROJECT, "--title", "Kindness"];
    let policy = text(&tour.json("policy set", &words)["root"]);
    let further = ["--root", &policy, "--expected", "1", "--reason", "shorter"];
    let set = tour.json("policy set", &[&words[..], &further].concat());
    assert_eq!(set["version"], 2);
    let listed = tour.json("policy list", &["--scope", PROJECT]);
    assert_eq!(listed["items"][0]["root"], policy.as_str());
    let words = [policy.as_str(), "--scope", PROJECT];
    assert_eq!(tour.json("policy show", &words)["head"]["rank"], "policy");
    let history = tour.json("policy history", &words);
    assert_eq!(history["items"].as_array().map(Vec::len), Some(2));
    let words = ["Be quick.", "--scope", PROJECT, "--title", "Haste"];
    let other = text(&tour.json("policy set", &words)["root"]);
    let words = [&other, "--scope", PROJECT, "--expected", "1"];
    let why = ["--reason", "it was unkind"];
    let withdrawn = tour.json("policy withdraw", &[&words[..], &why].concat());
    assert_eq!(withdrawn["active"], false);
    let listed = tour.json("policy list", &["--scope", PROJECT]);
    assert_eq!(listed["items"].as_array().map(Vec::len), Some(1));
    assert_eq!(listed["items"][0]["root"], policy.as_str());
}

/// Withdraws a lock that is at version 2, and has it hold again.
fn withdrawn(tour: &mut Tour, lock: &str) {
    let words = |version| {
        let why = ["--expected", version, "--reason", "let us see"];
        [&[lock, "--scope", PROJECT], &why[..]].concat()
    };
    let done = tour.json("decision deactivate", &words("2"));
    assert_eq!(
        (&done["version"], &done["active"]),
        (&json!(3), &json!(false))
    );
    let locks = ["--scope", PROJECT, "--rank", "lock"];
    let listed = tour.json("decision list", &locks);
    assert_eq!(listed["items"], json!([]));
    let listed = tour.json("decision list", &[&locks[..], &["--withdrawn"]].concat());
    assert_eq!(listed["items"][0]["active"], false);
    let words = [&words("3")[..], &["--version", "2"]].concat();
    assert_eq!(tour.json("decision restore", &words)["active"], true);
    let history = tour.json("decision history", &[lock, "--scope", PROJECT]);
    let acts: Vec<&Value> = history["items"]
        .as_array()
        .expect("a history has versions")
        .iter()
        .map(|version| &version["act"])
        .collect();
    assert_eq!(acts, ["begun", "changed", "withdrawn", "restored"]);
}

/// What was decided is loaded although no server runs.
pub(super) fn without_a_server(tour: &mut Tour) {
    let brief = tour.json("brief", &["--scope", PROJECT]);
    assert_eq!(brief["items"][0]["layer"], "policy");
}

/// Saves a decision of the project, whose flags hold no blanks: its root.
fn saved(world: &World, title: &str, flags: &str) -> String {
    let words = [
        "decision",
        "save",
        "--json",
        "It is so.",
        "--scope",
        PROJECT,
    ];
    let flags = flags.split_whitespace();
    let words: Vec<&str> = words
        .into_iter()
        .chain(["--title", title])
        .chain(flags)
        .collect();
    text(&world.run(&words).json()["root"])
}

#[tokio::test]
async fn a_change_keeps_what_it_does_not_say() {
    let world = World::start().await;
    let flags = "--rank lock --domain ui --phase design --claim a=b --relates APPLIES_TO=file:a.rs";
    let root = saved(&world, "First", flags);
    let change = |words: &[&str]| {
        let begin = ["decision", "change", "--json", &root, "--scope", PROJECT];
        let words = [&begin[..], &["--reason", "r"], words].concat();
        world.run(&words).json();
        world
            .run(&["decision", "show", "--json", &root, "--scope", PROJECT])
            .json()["version"]["text"]
            .clone()
    };
    let said = change(&["--expected", "1", "--rank", "normal", "It is not so."]);
    let kept = json!({
        "rank": "normal", "domain": "ui", "phase": "design", "title": "First", "content": "It is not so.",
        "claim": { "key": "a", "value": "b" },
        "relations": [{ "kind": "APPLIES_TO", "to": "file:a.rs" }],
    });
    assert_eq!(said, kept);
    let said = change(&[
        "--expected",
        "2",
        "--without",
        "phase",
        "--without",
        "relations",
    ]);
    let less = json!({
        "rank": "normal", "domain": "ui", "title": "First", "content": "It is not so.",
        "claim": { "key": "a", "value": "b" }, "relations": [],
    });
    assert_eq!(said, less);
    // Of a version that the caller has not seen nothing is kept in its name.
    let words = format!("decision change {root} --scope {PROJECT} --reason r --expected 1 --json");
    let stale = world.sillok(&words);
    stale.ended(1);
    let why: Value = serde_json::from_str(&stale.stderr).expect("a refusal is JSON");
    assert_eq!(why["error"]["code"], "conflict");
    assert_eq!(why["error"]["problem"]["current"]["version"], 3);
}

#[tokio::test]
async fn a_change_is_rehearsed_with_what_it_is_made_with() {
    let world = World::start().await;
    let whole = saved(&world, "Whole", "--rank lock --claim unit=cent");
    let flags = format!(
        "--rank lock --domain ui --claim unit=float --relates CONSTRAINS={whole} --relates APPLIES_TO=file:a.rs"
    );
    let root = saved(&world, "First", &flags);
    let said = format!("--scope {PROJECT} --expected 1 --json");
    let proposed = |flags: &str| {
        let ran = world.sillok(&format!("decision propose --root {root} {said} {flags}"));
        ran.json()
    };
    // What is not said stays as it was: what it claims, and what it is related to.
    let silent = proposed("");
    let guards = [&silent["guards"][0]["title"], &silent["guards"][1]["title"]];
    assert_eq!(guards, ["First", "Whole"], "itself, and what it reaches");
    assert_eq!(silent["contradictions"][0]["root"], whole.as_str());
    assert_eq!(
        silent["impact"]["affected"].as_array().map(Vec::len),
        Some(2)
    );
    let proposed = proposed("--without claim short");
    assert_eq!(proposed["contradictions"], json!([]));
    let line = format!("decision change {root} {said} --reason r --without claim short");
    let made = world.sillok(&line).json();
    for part in ["impact", "guards", "contradictions"] {
        assert_eq!(made[part], proposed[part], "{part}");
    }
    // Nor is a change rehearsed of a version that is not the current one.
    let stale = world.sillok(&format!("decision propose --root {root} {said} text"));
    stale.ended(1);
    assert!(stale.stderr.contains("conflict"), "{stale:#?}");
}

#[tokio::test]
async fn no_policy_command_takes_another_decision_for_a_policy() {
    let world = World::start().await;
    let lock = saved(&world, "Locked", "--rank lock");
    let at = format!("--scope {PROJECT}");
    let seen = format!("{at} --expected 1 --reason r");
    for line in [
        format!("policy set text --title t --root {lock} {seen}"),
        format!("policy withdraw {lock} {seen}"),
        format!("policy show {lock} {at}"),
        format!("policy history {lock} {at}"),
    ] {
        let refused = world.sillok(&format!("{line} --json"));
        refused.ended(1);
        assert!(refused.stdout.is_empty(), "{refused:#?}");
        let why: Value = serde_json::from_str(&refused.stderr).expect("a refusal is JSON");
        assert_eq!(why["error"]["code"], "not_found", "{line}");
    }
    let shown = world.sillok(&format!("decision show {lock} {at} --json"));
    let head = &shown.json()["head"];
    assert_eq!(
        (&head["rank"], &head["version"], &head["active"]),
        (&json!("lock"), &json!(1), &json!(true))
    );
}

#[tokio::test]
async fn an_impact_is_drawn_in_the_form_that_is_asked_for() {
    let world = World::start().await;
    let lock = saved(
        &world,
        "Whole cents",
        "--rank lock --relates APPLIES_TO=file:a.rs",
    );
    let normal = saved(
        &world,
        "Round once",
        &format!("--relates DEPENDS_ON={lock}"),
    );
    let (lock, normal) = (
        format!("decision:{PROJECT}#{lock}"),
        format!("decision:{PROJECT}#{normal}"),
    );
    let drawn = |format: &str| {
        let line = format!("decision impact --scope {PROJECT} --at file:a.rs --format {format}");
        let ran = world.sillok(&line);
        ran.ended(0);
        ran.stdout
    };
    let tree = format!(
        "file:a.rs\n└─ APPLIES_TO ← lock: Whole cents  {lock}\n   └─ DEPENDS_ON ← normal: Round once  {normal}\n"
    );
    assert_eq!(drawn("tree"), tree);
    let mermaid = drawn("mermaid");
    assert!(mermaid.starts_with("flowchart LR\n"), "{mermaid}");
    assert!(mermaid.contains("n2 -->|DEPENDS_ON| n1"), "{mermaid}");
    let dot = drawn("dot");
    assert!(dot.starts_with("digraph impact {\n"), "{dot}");
    assert!(dot.contains("n1 -> n0 [label=\"APPLIES_TO\"];"), "{dot}");
    let document: Value = serde_json::from_str(&drawn("json")).expect("it is JSON");
    assert_eq!(
        document["affected"][1]["path"].as_array().map(Vec::len),
        Some(2)
    );
    // The same question has the same answer, to the byte.
    for format in ["tree", "mermaid", "dot", "json"] {
        assert_eq!(drawn(format), drawn(format), "{format}");
    }
}

#[tokio::test]
async fn what_is_refused_about_decisions_exits_as_everything_does() {
    let world = World::start().await;
    let lock = saved(&world, "Locked", "--rank lock");
    let at = format!("{lock} --scope {PROJECT} --reason r");
    let save = format!("decision save text --scope {PROJECT} --title t");
    let change = format!("decision change {at} --expected 1");
    for (line, status) in [
        (format!("decision show {NOBODY} --scope {PROJECT}"), 1),
        (format!("decision deactivate {at} --expected 7"), 1),
        (format!("decision restore {at} --expected 1 --version 1"), 1),
        (format!("{save} --relates DEPENDS_ON={NOBODY}"), 1),
        (format!("{save} --relates DEPENDS_ON=file:a.rs"), 2),
        (format!("{save} --relates APPLIES_TO=file:../a.rs"), 2),
        (format!("{save} --rank strong"), 2),
        (format!("{change} --phase p --without phase"), 2),
        (format!("{change} --claim k=v --without claim"), 2),
        (
            format!("{change} --relates APPLIES_TO=file:a --without relations"),
            2,
        ),
        (format!("policy set text --scope {WORKTREE} --title t"), 2),
        (format!("decision impact --scope {PROJECT}"), 2),
        (format!("brief --scope {PROJECT} --items-max 0"), 2),
        (format!("brief --scope {PROJECT} --bytes-max 1"), 2),
        (format!("graph query MERGE(n) --scope {PROJECT}"), 2),
        (format!("graph query RETURN --scope {PROJECT}"), 2),
    ] {
        let ran = world.sillok(&line);
        ran.ended(status);
        assert!(ran.stdout.is_empty() && !ran.stderr.is_empty(), "{ran:#?}");
    }
}

#[tokio::test]
async fn an_agent_saves_what_is_normal_below_the_project_and_nothing_else() {
    let world = World::start().await;
    let token = text(&world.mint(PrincipalKind::Agent, ORG, 3_600).await["token"]);
    let save = |scope: &str, rank: &str| {
        let flags = format!("--scope {scope} --rank {rank} --token {token}");
        world.sillok(&format!("decision save text --title t {flags}"))
    };
    save(WORKTREE, "normal").ended(0);
    for (scope, rank, rule) in [
        (PROJECT, "normal", "control/save_normal_project"),
        (WORKTREE, "lock", "control/save_lock_up_to_project"),
        (WORKTREE, "axis", "control/save_axis"),
    ] {
        let refused = save(scope, rank);
        refused.ended(1);
        let named = format!("The rule is {rule}.");
        assert!(refused.stderr.contains(&named), "{refused:#?}");
    }
}

#[tokio::test]
async fn a_domain_that_no_other_decision_is_of_is_told_in_words_and_in_json() {
    let world = World::start().await;
    saved(&world, "Cents", "--domain pricing");
    let run = |what: &str, domain: &str, more: &str| {
        let line = format!("decision {what} text --scope {WORKTREE} --title t --domain {domain}");
        let ran = world.sillok(&format!("{line} {more}"));
        ran.ended(0);
        ran
    };
    for what in ["propose", "save"] {
        let known = run(what, "pricing", "");
        assert!(!known.stdout.contains("no other decision"), "{known:#?}");
        let document = run(what, "pricing", "--json").json();
        assert_eq!(document.get("new_domain"), None, "{document}");
    }
    let told = "no other decision here is of domain prcing";
    let proposed = run("propose", "prcing", "");
    assert!(proposed.stdout.contains(told), "{proposed:#?}");
    let proposed = run("propose", "prcing", "--json").json();
    assert_eq!(proposed["new_domain"], "prcing");
    let made = run("save", "prcing", "");
    assert!(made.stdout.contains(told), "{made:#?}");
    // Another misspelling is another domain.
    let made = run("save", "pricng", "--json").json();
    assert_eq!(made["new_domain"], "pricng");
    let line = format!("brief --scope {PROJECT} --domain prcing");
    let brief = world.sillok(&line);
    brief.ended(0);
    let told = "nothing was decided in";
    assert!(brief.stdout.contains(told), "{brief:#?}");
    let brief = world.sillok(&format!("{line} --json")).json();
    assert_eq!(brief["empty_domain"], true, "{brief}");
}
