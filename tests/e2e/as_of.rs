//! What holds at a commit: through the API with the asker's word, with the server's own repository, and in work trees.

use std::path::{Path, PathBuf};
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
    [id(&old["entry"]), id(&new["new"])]
}

fn id(value: &Value) -> String {
    value.as_str().expect("an entry has an id").to_owned()
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

pub(crate) fn git(dir: &Path, args: &[&str]) -> String {
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
pub(crate) fn commit(dir: &Path, message: &str) -> String {
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

/// An entry that cites a commit of a repository.
fn citing(hash: &str, repository: &str) -> Value {
    let commit = json!({ "kind": "commit", "hash": hash, "repository": repository });
    json!({ "scope": WORKTREE, "content": phrase(), "citations": [commit] })
}

#[tokio::test]
async fn a_commit_that_the_servers_repository_does_not_have_is_no_citation() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("tree");
    std::fs::create_dir(&dir).unwrap();
    git(&dir, &["init", "--quiet", "--initial-branch=main"]);
    commit(&dir, "first");
    let second = commit(&dir, "second");
    let own = dir.to_str().expect("the path is UTF-8");
    let repositories = |path: &str| format!("{{ \"{PROJECT}\" = \"{path}\" }}");
    let world =
        World::start_with(|launch| launch.env("SILLOK__GIT__REPOSITORIES", repositories(own)));
    let world = world.await;
    let agent = world.principal(PrincipalKind::Agent, WORKTREE).await;
    for hash in [&second, &second[..8]] {
        agent.post("/v1/entries", &citing(hash, own)).await.ok();
    }
    let invented = agent.post("/v1/entries", &citing(FIRST, own)).await;
    invented.refused(422, "unresolvable_citation");
    let said = json!({
        "scope": world.task().await, "outcome": "passed", "source": "tests_passed", "run": "r",
        "citations": citing(FIRST, own)["citations"],
    });
    let said = world.admin().post("/v1/verifications", &said).await;
    said.refused(422, "unresolvable_citation");
    // Of another repository nobody here can say.
    let elsewhere = citing(FIRST, "https://host/a/b");
    agent.post("/v1/entries", &elsewhere).await.ok();
    let cite = format!("commit:{FIRST}");
    let words = [
        "entry",
        "put",
        &phrase(),
        "--scope",
        WORKTREE,
        "--cite",
        &cite,
    ];
    let line = world.invocation("");
    let line = words.iter().fold(line, |line, word| line.arg(word));
    let ran = line.dir(&dir).run();
    ran.ended(1);

    let clone = folder.path().join("clone");
    let path = clone.to_str().expect("the path is UTF-8");
    let url = format!("file://{own}");
    let args = ["clone", "--quiet", "--depth", "1", &url, path];
    git(folder.path(), &args);
    let world =
        World::start_with(|launch| launch.env("SILLOK__GIT__REPOSITORIES", repositories(path)));
    let shallow = world.await;
    let agent = shallow.principal(PrincipalKind::Agent, WORKTREE).await;
    agent.post("/v1/entries", &citing(FIRST, &url)).await.ok();
}

/// A repository with a branch `side` and a tag `start` where an entry begins, and a later commit on `main` at which
/// another one replaced it.
struct Tree {
    world: World,
    folder: tempfile::TempDir,
    dir: PathBuf,
    word: String,
    old: String,
    new: String,
}

impl Tree {
    async fn new() -> Self {
        let folder = tempfile::tempdir().expect("there is room for a temporary folder");
        let dir = folder.path().join("tree");
        std::fs::create_dir(&dir).expect("the folder can be written to");
        git(&dir, &["init", "--quiet", "--initial-branch=main"]);
        commit(&dir, "first");
        git(&dir, &["tag", "start"]);
        git(&dir, &["branch", "side"]);
        let mut tree = Self {
            world: World::start().await,
            folder,
            dir,
            word: phrase(),
            old: String::new(),
            new: String::new(),
        };
        let text = format!("{} takes nine minutes", tree.word);
        let put = tree.run(&tree.dir, &["entry", "put", &text, "--scope", PROJECT]);
        tree.old = id(&put.json()["entry"]);
        commit(&tree.dir, "second");
        let newer = format!("{} takes two minutes", tree.word);
        let words = ["supersede", &tree.old, "--expected-version", "1"];
        let why = ["--reason", "measured", "--content", &newer];
        let replaced = tree.run(&tree.dir, &[&words[..], &why].concat());
        tree.new = id(&replaced.json()["new"]);
        tree
    }

    fn run(&self, dir: &Path, words: &[&str]) -> Ran {
        let line = self.world.invocation("");
        let line = words.iter().fold(line, |line, word| line.arg(word));
        line.arg("--json").dir(dir).run()
    }

    fn recall(&self, dir: &Path, flags: &[&str]) -> Ran {
        let asked = ["recall", &self.word, "--scope", PROJECT];
        self.run(dir, &[&asked[..], flags].concat())
    }

    /// The entries that a `recall` in a work tree found, with what it says of each.
    fn found(&self, dir: &Path, flags: &[&str]) -> Vec<(String, Option<String>)> {
        said(&self.recall(dir, flags).json())
    }

    fn now(&self) -> Vec<(String, Option<String>)> {
        vec![(self.new.clone(), None)]
    }
}

#[tokio::test]
async fn a_work_tree_recalls_what_holds_at_its_own_head() {
    let tree = Tree::new().await;
    let dir = tree.dir.as_path();
    let (old, new) = (one(&tree.old, "holds"), one(&tree.new, "holds"));
    assert_eq!(tree.found(dir, &[]), new);
    assert_eq!(tree.found(dir, &["--as-of", "side"]), old);
    assert_eq!(tree.found(dir, &["--as-of", "start"]), old);
    assert_eq!(tree.found(dir, &["--as-of", "HEAD~1"]), old);
    assert_eq!(tree.found(dir, &["--as-of", "none"]), tree.now());
    git(dir, &["checkout", "--quiet", "side"]);
    assert_eq!(tree.found(dir, &[]), old);
    git(dir, &["merge", "--quiet", "--no-edit", "main"]);
    assert_eq!(tree.found(dir, &[]), new);
    for wrong in ["nowhere", "side:x", "--all", ""] {
        let flag = format!("--as-of={wrong}");
        tree.recall(dir, &[&flag]).ended(2);
    }
    tree.recall(dir, &["--as-of", FIRST]).ended(0);
}

#[tokio::test]
async fn a_work_tree_that_does_not_know_says_so() {
    let tree = Tree::new().await;
    let dir = tree.dir.as_path();
    let third = commit(dir, "third");
    let url = format!("file://{}", dir.display());
    let clone = tree.folder.path().join("clone");
    let path = clone.to_str().expect("the path is UTF-8");
    let args = ["clone", "--quiet", "--depth", "1", &url, path];
    git(tree.folder.path(), &args);
    let cut_off = tree.recall(&clone, &["--as-of", "HEAD"]).json();
    assert_eq!(cut_off["at"]["commit"], third.as_str());
    let unknown = |entry: &str| one(entry, "unknown").remove(0);
    assert_eq!(said(&cut_off), [unknown(&tree.new), unknown(&tree.old)]);
    let shown = tree.world.invocation("recall").arg(&tree.word);
    let shown = shown.arg("--scope").arg(PROJECT).arg("--as-of");
    let shown = shown.arg("HEAD").dir(&clone).run();
    assert!(shown.stdout.contains("is unknown"), "{shown:?}");
    // A tree of another repository is no reason to leave anything out.
    let other = tree.folder.path().join("other");
    std::fs::create_dir(&other).unwrap();
    git(&other, &["init", "--quiet"]);
    assert_eq!(
        tree.found(&other, &[]),
        tree.now(),
        "there is no commit yet"
    );
    commit(&other, "another history");
    let ran = tree.recall(&other, &[]);
    assert_eq!(said(&ran.json()), tree.now());
    assert!(ran.stderr.contains("knows none"), "{ran:?}");
    let bare = tempfile::tempdir().unwrap();
    assert_eq!(tree.found(bare.path(), &[]), tree.now());
    tree.recall(bare.path(), &["--as-of", "HEAD"]).ended(2);
}
