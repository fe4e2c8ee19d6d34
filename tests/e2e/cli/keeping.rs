//! The commands about evidence and anchors: their JSON, how they read, and what they exit with.

use serde_json::{Value, json};
use sillok_core::principal::PrincipalKind;

use super::commands::{Tour, text};
use crate::harness::{ORG, PROJECT, Ran, WORKTREE, World};

/// Nothing has this id.
const NOBODY: &str = "01900000-0000-7000-8000-000000000000";

pub(super) fn originals(tour: &mut Tour) {
    let flags = ["--scope", WORKTREE, "--title", "What ran"];
    let more = ["--source", "logs/run.txt", "--media-type", "text/x-log"];
    let words = [&["It ran for 7 s."], &flags[..], &more[..]].concat();
    let saved = tour.json("evidence save", &words);
    let id = text(&saved["id"]);
    let at = [id.as_str(), "--scope", WORKTREE];
    let shown = tour.json("evidence show", &at);
    assert_eq!(
        (&shown["hash"], &shown["media_type"]),
        (&saved["hash"], &json!("text/x-log"))
    );
    assert_eq!(tour.json("evidence text", &at)["text"], "It ran for 7 s.");
    let part = tour.json("evidence text", &[&at[..], &["--bytes", "3-6"]].concat());
    assert_eq!((&part["from"], &part["text"]), (&json!(3), &json!("ran")));
    let listed = tour.json("evidence list", &["--scope", WORKTREE]);
    assert_eq!(listed["items"][0]["id"], id.as_str());

    let node = format!("evidence:{WORKTREE}#{id}");
    let rests = format!("RESTS_ON={node}");
    let flags = ["--scope", WORKTREE, "--title", "Wait", "--relates", &rests];
    let words = [&["Wait for 10 s."], &flags[..]].concat();
    let choice = text(&tour.json("decision save", &words)["root"]);
    let reached = tour.json("decision impact", &["--scope", WORKTREE, "--at", &node]);
    assert_eq!(reached["affected"][0]["path"][0]["kind"], "RESTS_ON");
    anchors(tour, &node, &choice);
}

/// Adds an anchor to evidence and a decision that rests on it, follows it, and drops it.
fn anchors(tour: &mut Tour, evidence: &str, decision: &str) {
    let to = ["--to", evidence, "--to", decision];
    let words = [&["Why 10 s", "--scope", WORKTREE], &to[..]].concat();
    let added = tour.json("anchor add", &words);
    let id = text(&added["ids"][0]);
    let at = [id.as_str(), "--scope", WORKTREE];
    let followed = tour.json("anchor follow", &at);
    assert_eq!(followed["items"][0]["root"], decision);
    assert_eq!(followed["items"][1]["whole"], true);
    let shown = tour.json("anchor show", &at);
    assert_eq!(shown["leads"][1]["to"], evidence);
    let brief = tour.json("brief", &["--scope", WORKTREE]);
    let last = brief["items"].as_array().and_then(|items| items.last());
    assert_eq!(last.expect("it has items")["hint"], "Why 10 s");
    let found = tour.json("anchor search", &["ran", "--scope", WORKTREE]);
    assert_eq!(found["hits"][0]["lead"]["to"], evidence);
    // The brief is the same whether or not something is searched for.
    let deep = tour.json_lines("brief", &["--scope", WORKTREE, "--deep", "ran"]);
    let [same, behind] = deep.as_slice() else {
        panic!("{deep:#?}")
    };
    assert_eq!(same.to_string(), brief.to_string());
    assert_eq!(*behind, found);
    let dropped = [&at[..], &["--reason", "read"]].concat();
    assert_eq!(tour.json("anchor drop", &dropped)["id"], id.as_str());
    let listed = tour.json("anchor list", &["--scope", WORKTREE]);
    assert_eq!(listed["items"], json!([]));
    let listed = tour.json("anchor list", &["--scope", WORKTREE, "--dropped"]);
    assert_eq!(listed["items"][0]["dropped"], true);
}

#[tokio::test]
async fn evidence_is_taken_from_standard_input_and_an_anchor_is_followed_to_it() {
    let world = World::start().await;
    let large = "It ran\u{1b}[2J for 7 s.\n".repeat(10_000);
    let save = world
        .invocation("evidence save - --json --title run --scope")
        .arg(PROJECT);
    let large_id = text(&save.stdin(large.as_str()).run().json()["id"]);
    let words = ["evidence", "save", "A short one.", "--title", "note"];
    let ran = world.run(&[&words[..], &["--scope", PROJECT]].concat());
    ran.ended(0);
    let (short_id, hash) = ran.stdout.split_once(' ').expect("an id and a hash");
    assert!(hash.starts_with("hash "), "{ran:#?}");
    // What is printed plays with nobody's terminal.
    let ran = world.run(&["evidence", "text", &large_id, "--scope", PROJECT]);
    ran.ended(0);
    assert_eq!(
        ran.stdout.trim_end(),
        large.replace('\u{1b}', "").trim_end()
    );
    let [large_node, short_node] =
        [&*large_id, short_id].map(|id| format!("evidence:{PROJECT}#{id}"));
    let to = ["--to", &large_node, "--to", &short_node, "--scope", PROJECT];
    let ran = world.run(&[&["anchor", "add", "Both runs"], &to[..]].concat());
    ran.ended(0);
    let followed = world.run(&["anchor", "follow", ran.stdout.trim(), "--scope", PROJECT]);
    followed.ended(0);
    for words in [
        "Both runs".to_owned(),
        "A short one.".to_owned(),
        format!("sillok evidence text {large_id} --scope {PROJECT}"),
    ] {
        assert!(followed.stdout.contains(&words), "{words}: {followed:#?}");
    }
    let brief = world.run(&["brief", "--scope", WORKTREE]);
    brief.ended(0);
    for words in ["7 anchor".to_owned(), format!("→ note  {short_node}")] {
        assert!(brief.stdout.contains(&words), "{words}: {brief:#?}");
    }
    // A search stands behind the brief, which is printed as it is without one.
    let found = world.run(&["anchor", "search", "short", "--scope", WORKTREE]);
    found.ended(0);
    assert!(found.stdout.contains("   A short one."), "{found:#?}");
    let deep = world.run(&["brief", "--scope", WORKTREE, "--deep", "short"]);
    deep.ended(0);
    let behind = deep.stdout.strip_prefix(&brief.stdout);
    let behind = behind.unwrap_or_else(|| panic!("{deep:#?}"));
    assert!(
        behind.contains("which is no part of the brief"),
        "{deep:#?}"
    );
    assert!(behind.ends_with(&found.stdout), "{deep:#?}");
    // One that is refused takes nothing from the brief, and is told.
    let refused = world.run(&["brief", "--scope", WORKTREE, "--deep", "the"]);
    refused.ended(2);
    assert_eq!(refused.stdout, brief.stdout);
    // In JSON as well: the brief is out, and alone.
    let brief = world.run(&["brief", "--json", "--scope", WORKTREE]);
    let refused = world.run(&["brief", "--json", "--scope", WORKTREE, "--deep", "the"]);
    assert_eq!(refused.json_with(2).to_string(), brief.json().to_string());
    assert_eq!(refused.stdout.lines().count(), 1, "{refused:#?}");
    assert!(!refused.stderr.is_empty(), "{refused:#?}");
}

/// Evidence of the project, as anchors name it.
fn kept(world: &World) -> String {
    let save = "evidence save text --json --title run --scope";
    let saved = world.invocation(save).arg(PROJECT).run().json();
    format!("evidence:{PROJECT}#{}", text(&saved["id"]))
}

/// Adds anchors to the project that are lines of standard input.
fn add_lines(world: &World, flags: &str, lines: &[String]) -> Ran {
    let add = format!("anchor add - --scope {PROJECT} {flags}");
    world.invocation(&add).stdin(lines.join("\n")).run()
}

/// The anchors of the project that are listed.
fn listed(world: &World) -> Vec<Value> {
    let list = format!("anchor list --json --scope {PROJECT}");
    let listed = world.sillok(&list).json();
    listed["items"].as_array().cloned().expect("it is a list")
}

#[tokio::test]
async fn a_wrong_line_of_standard_input_is_named_and_no_anchor_is_added() {
    let world = World::start().await;
    let node = kept(&world);
    let right = format!(r#"{{"hint": "Right", "to": ["{node}"]}}"#);
    let line = |to: &str| format!(r#"{{"hint": "Wrong", "to": [{to}]}}"#);
    for (wrong, status, why) in [
        (
            line("").replace('}', ""),
            2,
            "line 2 of standard input: EOF",
        ),
        (line(r#""nowhere""#), 2, "line 2 of standard input: node 1"),
        // What the server refuses: it counts anchors as these lines are.
        (line(""), 2, "anchor 2 points to something"),
        (line(r#""file:a.rs""#), 2, "node 1 of anchor 2 is a place"),
        (line(&format!("\"{NOBODY}\"")), 1, NOBODY),
    ] {
        let lines = [right.clone(), wrong, right.clone()];
        let ran = add_lines(&world, "", &lines);
        ran.ended(status);
        assert!(ran.stdout.is_empty(), "{ran:#?}");
        assert!(ran.stderr.contains(why), "{why}: {ran:#?}");
    }
    let many = vec![right; 65];
    for (flags, count, why) in [
        ("", 0, "has no line"),
        ("", 65, "line 65 of standard input: 64 anchors"),
        ("--to file:a.rs", 1, "and not in --to"),
    ] {
        let ran = add_lines(&world, flags, &many[..count]);
        ran.ended(2);
        assert!(ran.stderr.contains(why), "{why}: {ran:#?}");
    }
    assert!(listed(&world).is_empty(), "none was added");
    let ran = add_lines(&world, "", &many[..64]);
    ran.ended(0);
    assert_eq!(ran.stdout.lines().count(), 64);
    assert_eq!(listed(&world).len(), 64);
}

#[tokio::test]
async fn anchors_of_standard_input_are_added_in_order_by_one_command() {
    let world = World::start().await;
    let node = kept(&world);
    let save = "decision save text --json --title once --scope";
    let saved = world.invocation(save).arg(PROJECT).run().json();
    let root = text(&saved["root"]);
    let lines = [
        format!(r#"{{"hint": "First", "to": ["{node}"]}}"#),
        format!(r#"{{"hint": "Second", "domain": "ui", "to": ["{node}", "{root}"]}}"#),
    ];
    let ran = add_lines(&world, "--domain pricing", &lines);
    ran.ended(0);
    let list = format!("events --json --scope {PROJECT} --kind ANCHOR_ADDED");
    let events = world.sillok(&list).json_lines();
    let [first, second] = events.as_slice() else {
        panic!("{events:#?}")
    };
    assert_eq!(first["command"], second["command"]);
    let added = |event: &Value| {
        let field = |name: &str| text(&event["body"][name]);
        [field("anchor"), field("hint"), field("domain")]
    };
    let ids: Vec<&str> = ran.stdout.lines().collect();
    assert_eq!(added(first), [ids[0], "First", "pricing"]);
    assert_eq!(added(second), [ids[1], "Second", "ui"]);
    let to = json!([node, format!("decision:{PROJECT}#{root}")]);
    assert_eq!(second["body"]["to"], to);
    assert_eq!(listed(&world).len(), 2);
}

#[tokio::test]
async fn what_is_refused_about_evidence_and_anchors_exits_as_everything_does() {
    let world = World::start().await;
    let add = format!("anchor add hint --scope {PROJECT}");
    let save = format!("evidence save text --title t --scope {PROJECT}");
    let rests = format!("decision save text --title t --scope {PROJECT} --relates RESTS_ON");
    for (line, status) in [
        (format!("evidence show {NOBODY} --scope {PROJECT}"), 1),
        (format!("evidence text {NOBODY} --scope {PROJECT}"), 1),
        (format!("evidence text x --scope {PROJECT}"), 2),
        (
            format!("evidence text {NOBODY} --scope {PROJECT} --bytes 7-3"),
            2,
        ),
        (format!("evidence save text --scope {PROJECT}"), 2),
        (format!("anchor search --scope {PROJECT}"), 2),
        (format!("anchor search the --scope {PROJECT}"), 2),
        (format!("anchor search ran --scope {PROJECT} --limit 0"), 2),
        (format!("anchor search ran --scope {PROJECT} --limit 51"), 2),
        (
            format!("anchor search ran --scope {PROJECT} --domain UI"),
            2,
        ),
        (format!("{save} --media-type text"), 2),
        (format!("evidence save - --title t --scope {PROJECT}"), 2),
        (format!("{rests}=evidence:{PROJECT}#{NOBODY}"), 1),
        (format!("{rests}=file:a.rs"), 2),
        (format!("anchor follow {NOBODY} --scope {PROJECT}"), 1),
        (add.clone(), 2),
        (format!("{add} --to {NOBODY}"), 1),
        (format!("{add} --to evidence:{PROJECT}#{NOBODY}"), 1),
        (format!("{add} --to nowhere"), 2),
        (format!("{add} --to file:a.rs"), 2),
        (
            format!("anchor drop {NOBODY} --scope {PROJECT} --reason r"),
            1,
        ),
    ] {
        let ran = world.sillok(&line);
        ran.ended(status);
        assert!(ran.stdout.is_empty() && !ran.stderr.is_empty(), "{ran:#?}");
    }
}

#[tokio::test]
async fn what_is_no_text_or_too_large_is_not_kept() {
    let world = World::start().await;
    let save = |bytes: Vec<u8>| {
        let save = world.invocation("evidence save - --title run --scope");
        save.arg(PROJECT).stdin(bytes).run()
    };
    let most = 8 << 20;
    for (bytes, status) in [
        (b"It ran for 7 s\xff.".to_vec(), 1),
        (vec![b'x'; most + 1], 2),
    ] {
        let ran = save(bytes);
        ran.ended(status);
        assert!(ran.stdout.is_empty() && !ran.stderr.is_empty(), "{ran:#?}");
    }
    let list = format!("evidence list --json --scope {PROJECT}");
    assert_eq!(world.sillok(&list).json()["items"], json!([]));
    save(vec![b'x'; most]).ended(0);
    assert_eq!(world.sillok(&list).json()["items"][0]["bytes"], most);
}

#[tokio::test]
async fn an_agent_keeps_things_below_the_project_and_is_told_the_rule_elsewhere() {
    let world = World::start().await;
    let token = text(&world.mint(PrincipalKind::Agent, ORG, 3_600).await["token"]);
    let save = |scope: &str| {
        let flags = format!("--scope {scope} --token {token}");
        world.sillok(&format!("evidence save text --title t {flags}"))
    };
    let saved = save(WORKTREE);
    saved.ended(0);
    let (id, _) = saved.stdout.split_once(' ').expect("an id and a hash");
    let add = |scope: &str| {
        let flags = format!("--to evidence:{WORKTREE}#{id} --scope {scope} --token {token}");
        world.sillok(&format!("anchor add hint {flags}"))
    };
    let added = add(WORKTREE);
    added.ended(0);
    for (scope, rule) in [
        (PROJECT, "control/save_normal_project"),
        (ORG, "control/save_normal_org"),
    ] {
        for refused in [save(scope), add(scope)] {
            refused.ended(1);
            let named = format!("The rule is {rule}.");
            assert!(refused.stderr.contains(&named), "{refused:#?}");
        }
    }
    let drop = format!(
        "anchor drop {} --scope {WORKTREE} --reason read --token {token}",
        added.stdout.trim()
    );
    world.sillok(&drop).ended(0);
}
