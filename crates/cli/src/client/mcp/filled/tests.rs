//! What is added to a write, and what is left as it was said, on a repository that changes.

use std::fs;

use tempfile::TempDir;

use super::*;

const TEXT: &str = "pub fn first() -> u32 {\n    let one_of_many = 1;\n}\n";
const ENTRIES: &str = "/v1/entries";

fn command(number: u8) -> CommandId {
    CommandId::from_bytes([number; 16])
}

/// A repository with one file, and who fills what is written there.
fn repository() -> (TempDir, Filled) {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path();
    fs::create_dir(dir.join("src")).unwrap();
    fs::write(dir.join("src/a.rs"), TEXT).unwrap();
    git::run(dir, ["init", "--quiet", "--initial-branch=main"]).unwrap();
    commit(dir);
    let filled = Filled::of(&WorkTree::at(dir).unwrap());
    (folder, filled)
}

fn commit(dir: &Path) {
    git::run(dir, ["add", "--all"]).unwrap();
    let identity = ["-c", "user.name=t", "-c", "user.email=t@localhost"];
    let settings = ["-c", "commit.gpgsign=false"];
    let commit = ["commit", "--quiet", "--allow-empty", "-m", "one"];
    let words = identity.iter().chain(&settings).chain(&commit);
    git::run(dir, words).unwrap();
}

fn print_of(dir: &Path, path: &str, lines: Option<(u32, u32)>) -> Value {
    let tree = WorkTree::at(dir).unwrap();
    json!(fingerprint(&tree, path, lines).unwrap().to_string())
}

fn body(citations: Value) -> Value {
    json!({ "scope": "org/a/project/p", "content": "It is so.", "citations": citations })
}

#[tokio::test]
async fn a_write_says_what_the_cited_files_hold_and_at_which_commit() {
    let (folder, filled) = repository();
    let dir = folder.path();
    let said = body(json!([
        { "kind": "file", "path": "src/a.rs", "lines": [1, 2] },
        { "kind": "file", "path": "src/a.rs" },
        { "kind": "human", "user": "kim" },
    ]));
    let told = filled.body(ENTRIES, said.clone(), command(1)).await;
    let mut expected = said;
    expected["citations"][0]["fingerprint"] = print_of(dir, "src/a.rs", Some((1, 2)));
    expected["citations"][1]["fingerprint"] = print_of(dir, "src/a.rs", None);
    let head = git::head(dir).unwrap();
    expected["commit"] = json!({ "hash": head.hash, "repository": head.repository });
    assert_eq!(told, expected);
}

#[tokio::test]
async fn what_was_said_stays_and_what_is_not_there_or_may_not_be_read_is_not_said() {
    let (folder, filled) = repository();
    let secret = tempfile::NamedTempFile::new().unwrap();
    fs::write(secret.path(), TEXT).unwrap();
    std::os::unix::fs::symlink(secret.path(), folder.path().join("link")).unwrap();
    let mut said = body(json!([
        { "kind": "file", "path": "src/a.rs", "fingerprint": "0".repeat(64) },
        { "kind": "file", "path": "src/nowhere.rs" },
        { "kind": "file", "path": "src/a.rs", "lines": [2, 9] },
        { "kind": "file", "path": "src/a.rs", "lines": [3, 1] },
        { "kind": "file", "path": secret.path() },
        { "kind": "file", "path": "link" },
        { "kind": "file", "path": "../a.rs" },
        { "kind": "file", "path": ".git/config" },
        { "kind": "file", "path": "src/a.rs", "unknown": 1 },
    ]));
    said["commit"] = json!({ "hash": "1".repeat(40), "repository": "r" });
    assert_eq!(filled.body(ENTRIES, said.clone(), command(1)).await, said);
}

#[tokio::test]
async fn only_writes_of_what_cites_are_filled_and_an_amendment_names_no_commit() {
    let (folder, filled) = repository();
    let said = body(json!([{ "kind": "file", "path": "src/a.rs" }]));
    let mut amended = said.clone();
    amended["citations"][0]["fingerprint"] = print_of(folder.path(), "src/a.rs", None);
    let told =
        async |path: &str, number: u8| filled.body(path, said.clone(), command(number)).await;
    assert_eq!(told("/v1/entries/amend", 1).await, amended);
    assert_eq!(told("/v1/logs", 2).await, said);
    let verified = told("/v1/verifications", 3).await;
    assert_eq!(verified["citations"], amended["citations"]);
    assert!(verified["commit"]["hash"].is_string(), "{verified}");
    // What has no citations is given none.
    let plain = json!({ "scope": "org/a", "content": "It is so." });
    let told = filled
        .body("/v1/entries/amend", plain.clone(), command(4))
        .await;
    assert_eq!(told, plain);
    // What is in no form is the server's to refuse.
    for (number, odd) in (5..).zip([
        json!("x"),
        json!([1]),
        json!({ "citations": 1, "commit": {} }),
    ]) {
        assert_eq!(
            filled.body(ENTRIES, odd.clone(), command(number)).await,
            odd
        );
    }
}

#[tokio::test]
async fn a_write_that_is_sent_again_says_the_same_whatever_changed() {
    let (folder, filled) = repository();
    let dir = folder.path();
    let said = body(json!([{ "kind": "file", "path": "src/a.rs" }]));
    let first = filled.body(ENTRIES, said.clone(), command(1)).await;
    fs::write(dir.join("src/a.rs"), TEXT.replace('1', "2")).unwrap();
    commit(dir);
    assert_eq!(filled.body(ENTRIES, said.clone(), command(1)).await, first);
    let other = filled.body(ENTRIES, said.clone(), command(2)).await;
    assert_ne!(other["citations"], first["citations"]);
    assert_ne!(other["commit"], first["commit"]);
    // So many are known, and no more.
    let number = |number: usize| {
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&number.to_be_bytes());
        CommandId::from_bytes(bytes)
    };
    for at in 0..KEPT_MAX {
        filled.keep(number(at), Seen::default()).await;
    }
    assert_eq!(filled.kept.lock().await.len(), KEPT_MAX);
    assert_eq!(filled.kept(command(1)).await, None);
}

#[tokio::test]
async fn a_body_that_is_too_large_as_it_is_grows_no_further() {
    let (_folder, filled) = repository();
    let one = || json!({ "kind": "file", "path": "src/a.rs" });
    let many = json!(vec![one(); CITATIONS_MAX + 1]);
    let long = json!([one(), { "kind": "human", "user": "k".repeat(CITATION_BYTES_MAX) }]);
    for (number, citations) in (1..).zip([many, long]) {
        let told = filled
            .body(ENTRIES, body(citations.clone()), command(number))
            .await;
        assert_eq!(told["citations"], citations);
    }
}

#[tokio::test]
async fn where_no_turn_comes_a_write_says_what_was_said() {
    let (_folder, filled) = repository();
    let _turns = filled.looks.clone().try_acquire_many_owned(2).unwrap();
    let said = body(json!([{ "kind": "file", "path": "src/a.rs" }]));
    let began = Instant::now();
    assert_eq!(filled.body(ENTRIES, said.clone(), command(1)).await, said);
    assert!(began.elapsed() >= WAIT_MAX);
}
