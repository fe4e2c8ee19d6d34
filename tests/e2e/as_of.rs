//! What holds at a commit: through the API with the asker's word, with the server's own repository, and in work trees.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};
use sillok_core::principal::PrincipalKind;

use crate::harness::{Client, Launch, PROJECT, Ran, WORKTREE, World, phrase};

/// Commits that no repository knows.
const FIRST: &str = "1111111111111111111111111111111111111111";
const SECOND: &str = "2222222222222222222222222222222222222222";

/// Writes an entry at a commit, and replaces it at another one: both entries.
async fn replaced(client: &Client, word: &str, commits: [&str; 2]) -> [String; 2] {
    let stated = |what: &str, commit: &str| {
        json!({
            "content": format!("{word} {what}"),
            "commit": { "hash": commit, "repository": "r" },
        })
    };
    let mut body = stated("takes nine minutes", commits[0]);
    body["scope"] = json!(WORKTREE);
    let old = client.post("/v1/entries", &body).await.ok();
    let body = json!({
        "old": old["entry"], "expected_version": 1, "reason": "measured again",
        "replacement": stated("takes two minutes", commits[1]),
    });
    let new = client.post("/v1/entries/supersede", &body).await.ok();
    let id = |value: &Value| value.as_str().expect("an entry has an id").to_owned();
    [id(&old["entry"]), id(&new["new"])]
}

async fn recalled(client: &Client, word: &str, as_of: Value) -> Value {
    let mut body = json!({ "scope": WORKTREE, "query": word });
    if !as_of.is_null() {
        body["as_of"] = as_of;
    }
    client.post("/v1/recall", &body).await.ok()
}

/// The entries of an answer with what is said of each.
fn said(answer: &Value) -> Vec<(String, Option<String>)> {
    let results = answer["results"].as_array().expect("an answer has results");
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let one = |result: &Value| (text(&result["entry"]).unwrap(), text(&result["validity"]));
    results.iter().map(one).collect()
}

fn one(entry: &str, validity: &str) -> Vec<(String, Option<String>)> {
    vec![(entry.to_owned(), Some(validity.to_owned()))]
}

#[tokio::test]
async fn an_asker_that_judges_commits_is_told_what_holds_at_its_own() {
    let world = World::start().await;
    let agent = world.principal(PrincipalKind::Agent, WORKTREE).await;
    let word = phrase();
    let [old, new] = replaced(&agent, &word, [FIRST, SECOND]).await;

    let now = recalled(&agent, &word, Value::Null).await;
    assert_eq!(said(&now), [(new.clone(), None)], "as ever");
    assert!(now.get("at").is_none());

    // Nobody has judged the second one: what was replaced may hold or not, and stands behind.
    let first = recalled(&agent, &word, json!({ "commit": FIRST })).await;
    let unknown = |entry: &str| one(entry, "unknown").remove(0);
    assert_eq!(said(&first), [unknown(&new), unknown(&old)], "{first}");
    assert_eq!(first["at"]["unjudged"], json!([SECOND]));

    let judged = json!({ "commit": FIRST, "judged": { SECOND: "no" } });
    let before = recalled(&agent, &word, judged).await;
    assert_eq!(said(&before), one(&old, "holds"));
    assert_eq!(before["results"][0]["status"], "deprecated");
    assert_eq!(before["results"][0]["valid_to_commit"], SECOND);
    assert_eq!(
        before["at"],
        json!({ "commit": FIRST, "not_yet": 1, "ended": 0, "unjudged": [] })
    );

    let judged = json!({ "commit": SECOND, "judged": { FIRST: "yes" } });
    let after = recalled(&agent, &word, judged).await;
    assert_eq!(said(&after), one(&new, "holds"));
    assert_eq!(after["at"]["ended"], 1);

    let cut_off = json!({ "commit": SECOND, "judged": { FIRST: "unknown" } });
    let after = recalled(&agent, &word, cut_off).await;
    assert_eq!(said(&after), one(&new, "holds"), "it begins there");
    assert_eq!(after["at"]["unjudged"], json!([]), "it was asked already");
    assert_eq!(
        said(&recalled(&agent, &word, Value::Null).await),
        [(new, None)],
        "nothing was changed by what askers said"
    );
}

fn git(dir: &Path, args: &[&str]) -> String {
    let mut command = Command::new("git");
    for variable in [
        "GIT_DIR",
        "GIT_WORK_TREE",
        "GIT_INDEX_FILE",
        "GIT_COMMON_DIR",
    ] {
        command.env_remove(variable);
    }
    let done = command
        .arg("-C")
        .arg(dir)
        .args(["-c", "user.name=t", "-c", "user.email=t@localhost"])
        .args([
            "-c",
            "commit.gpgsign=false",
            "-c",
            "protocol.file.allow=always",
        ])
        .args(args)
        .output()
        .expect("git can be started");
    let what = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "git {args:?}: {what}");
    String::from_utf8_lossy(&done.stdout).trim().to_owned()
}

/// A commit of nothing: its hash.
fn commit(dir: &Path, message: &str) -> String {
    let args = ["commit", "--quiet", "--allow-empty", "-m", message];
    git(dir, &args);
    git(dir, &["rev-parse", "HEAD"])
}

#[tokio::test]
async fn a_server_judges_by_the_repository_that_it_is_told_of() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path();
    git(dir, &["init", "--quiet", "--initial-branch=main"]);
    let first = commit(dir, "first");
    git(dir, &["branch", "side"]);
    let second = commit(dir, "second");
    let repositories = format!("{{ \"{}\" = \"{}\" }}", PROJECT, dir.display());
    let world =
        World::start_with(|launch| launch.env("SILLOK__GIT__REPOSITORIES", &repositories)).await;
    let agent = world.principal(PrincipalKind::Agent, WORKTREE).await;
    let word = phrase();
    let [old, new] = replaced(&agent, &word, [&first, &second]).await;
    for (at, entry) in [(&first, &old), (&second, &new)] {
        let answer = recalled(&agent, &word, json!({ "commit": at })).await;
        assert_eq!(said(&answer), one(entry, "holds"), "at {at}");
        assert_eq!(answer["at"]["unjudged"], json!([]));
    }
    git(dir, &["checkout", "--quiet", "side"]);
    let side = commit(dir, "side");
    let answer = recalled(&agent, &word, json!({ "commit": side })).await;
    assert_eq!(said(&answer), one(&old, "holds"), "the branch has it still");
    git(dir, &["merge", "--quiet", "--no-edit", "main"]);
    let merged = git(dir, &["rev-parse", "HEAD"]);
    let answer = recalled(&agent, &word, json!({ "commit": merged })).await;
    assert_eq!(said(&answer), one(&new, "holds"), "the merge brought it");

    let nowhere = format!("{{ \"{}\" = \"/nowhere\" }}", PROJECT);
    let in_vain =
        Launch::new(&folder.path().join("data")).env("SILLOK__GIT__REPOSITORIES", nowhere);
    let (status, said) = in_vain.start_in_vain(Duration::from_secs(30));
    assert_eq!(status.code(), Some(78), "{said}");
    assert!(said.contains("git.repositories"), "{said}");
}

/// The entries that a `recall` in a work tree found, with what it says of each.
fn found(ran: &Ran) -> Vec<(String, Option<String>)> {
    said(&ran.json())
}

#[tokio::test]
async fn a_work_tree_recalls_what_holds_at_its_own_head() {
    let world = World::start().await;
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("tree");
    std::fs::create_dir(&dir).unwrap();
    git(&dir, &["init", "--quiet", "--initial-branch=main"]);
    commit(&dir, "first");
    git(&dir, &["tag", "start"]);
    let word = phrase();
    let run = |dir: &Path, words: &[&str]| {
        let command = words
            .iter()
            .fold(world.invocation(""), |line, word| line.arg(word));
        command.arg("--json").dir(dir).run()
    };
    let text = format!("{word} takes nine minutes");
    let put = run(&dir, &["entry", "put", &text, "--scope", WORKTREE]).json();
    let old = put["entry"].as_str().unwrap().to_owned();
    git(&dir, &["branch", "side"]);
    commit(&dir, "second");
    let newer = format!("{word} takes two minutes");
    let words = [
        "supersede",
        &old,
        "--expected-version",
        "1",
        "--reason",
        "measured",
    ];
    let by = ["--content", &*newer];
    let new = run(&dir, &[&words[..], &by].concat()).json();
    let new = new["new"].as_str().unwrap().to_owned();

    let recall = |dir: &Path, flags: &[&str]| {
        let asked = ["recall", &*word, "--scope", WORKTREE];
        run(dir, &[&asked[..], flags].concat())
    };
    assert_eq!(found(&recall(&dir, &[])), one(&new, "holds"));
    assert_eq!(
        found(&recall(&dir, &["--as-of", "side"])),
        one(&old, "holds")
    );
    assert_eq!(
        found(&recall(&dir, &["--as-of", "start"])),
        one(&old, "holds")
    );
    assert_eq!(
        found(&recall(&dir, &["--as-of", "none"])),
        [(new.clone(), None)]
    );
    git(&dir, &["checkout", "--quiet", "side"]);
    assert_eq!(found(&recall(&dir, &[])), one(&old, "holds"));
    for wrong in ["nowhere", "side:x", "--all", ""] {
        let flag = format!("--as-of={wrong}");
        recall(&dir, &[&flag]).ended(2);
    }
    recall(&dir, &["--as-of", FIRST]).ended(0);

    // A clone that is cut off says so; a tree of another repository is no reason to leave anything out.
    git(&dir, &["checkout", "--quiet", "main"]);
    let third = commit(&dir, "third");
    let url = format!("file://{}", dir.display());
    let clone = folder.path().join("clone");
    let args = [
        "clone",
        "--quiet",
        "--depth",
        "1",
        &url,
        clone.to_str().unwrap(),
    ];
    git(folder.path(), &args);
    let cut_off = recall(&clone, &["--as-of", "HEAD"]);
    assert_eq!(cut_off.json()["at"]["commit"], third.as_str());
    let unknown = |entry: &str| one(entry, "unknown").remove(0);
    assert_eq!(found(&cut_off), [unknown(&new), unknown(&old)]);
    let shown = world
        .invocation("recall")
        .arg(&word)
        .arg("--scope")
        .arg(WORKTREE);
    let shown = shown.arg("--as-of").arg("HEAD").dir(&clone).run();
    assert!(shown.stdout.contains("is unknown"), "{shown:?}");
    let other = folder.path().join("other");
    std::fs::create_dir(&other).unwrap();
    git(&other, &["init", "--quiet"]);
    commit(&other, "another history");
    assert_eq!(found(&recall(&other, &[])), [(new.clone(), None)]);
    let bare = tempfile::tempdir().unwrap();
    assert_eq!(found(&recall(bare.path(), &[])), [(new, None)]);
    recall(bare.path(), &["--as-of", "HEAD"]).ended(2);
}
