//! What is said of commits of real repositories: branches, merges, rebases, reverts, shallow clones, and what is
//! broken.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use sillok_core::commit::{
    CommitName,
    Presence::{self, Missing, There},
};
use sillok_core::ports::{GitFacts, PortError};
use sillok_core::scope::Scope;
use sillok_core::validity::Ancestry::{self, No, Unknown, Yes};
use sillok_perception::git::{Error, Repositories, Repository};
use tempfile::TempDir;

/// How long an answer may take on a machine that has much to do.
const PATIENCE: Duration = Duration::from_secs(120);

/// A repository made by the `git` program.
struct Made {
    folder: TempDir,
}

impl Made {
    fn new() -> Self {
        let made = Self {
            folder: tempfile::tempdir().expect("there is room for a temporary folder"),
        };
        made.git(&["init", "--quiet", "--initial-branch=main"]);
        made
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    fn git(&self, args: &[&str]) -> String {
        git(self.path(), args)
    }

    /// A commit that adds a line to a file of its own.
    fn commit(&self, name: &str) -> String {
        std::fs::write(self.path().join(name), name).expect("the folder can be written to");
        self.git(&["add", name]);
        self.git(&["commit", "--quiet", "-m", name]);
        self.head()
    }

    fn head(&self) -> String {
        self.git(&["rev-parse", "HEAD"])
    }

    fn judge(&self, at: &str, commits: &[&str]) -> Vec<Ancestry> {
        judge(self.path(), at, commits)
    }
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
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "git {args:?}: {said}");
    String::from_utf8_lossy(&done.stdout).trim().to_owned()
}

fn judge(path: &Path, at: &str, commits: &[&str]) -> Vec<Ancestry> {
    let commits: Vec<String> = commits.iter().map(ToString::to_string).collect();
    let repository = Repository::open(path).expect("there is a repository");
    repository.judge(at, &commits).expect("it can be read")
}

#[test]
fn a_branch_sees_what_lies_before_it_and_a_merge_what_lies_before_both() {
    let made = Made::new();
    let first = made.commit("first");
    made.git(&["checkout", "--quiet", "-b", "side"]);
    let side = made.commit("side");
    made.git(&["checkout", "--quiet", "main"]);
    let main = made.commit("main");
    assert_eq!(made.judge(&main, &[&first, &main, &side]), [Yes, Yes, No]);
    assert_eq!(made.judge(&side, &[&first, &main, &side]), [Yes, No, Yes]);
    assert_eq!(made.judge(&first, &[&main]), [No], "what comes later");
    made.git(&["merge", "--quiet", "--no-edit", "side"]);
    let merge = made.head();
    assert_eq!(made.judge(&merge, &[&first, &main, &side]), [Yes; 3]);
}

#[test]
fn what_was_rebased_away_is_unknown_before_it_is_collected_and_after() {
    let made = Made::new();
    let first = made.commit("first");
    made.git(&["checkout", "--quiet", "-b", "side"]);
    let written = made.commit("side");
    made.git(&["checkout", "--quiet", "main"]);
    let main = made.commit("main");
    made.git(&["checkout", "--quiet", "side"]);
    made.git(&["rebase", "--quiet", "main"]);
    let anew = made.head();
    let commits = [&*written, &first, &anew, &main];
    let expected = [Unknown, Yes, Yes, Yes];
    assert_eq!(made.judge(&anew, &commits), expected);
    made.git(&["reflog", "expire", "--expire=now", "--all"]);
    made.git(&["gc", "--quiet", "--prune=now"]);
    assert_eq!(made.judge(&anew, &commits), expected);
    // A tag keeps it: it lies on a line of its own.
    let made = Made::new();
    made.commit("first");
    let kept = made.commit("second");
    made.git(&["tag", "-m", "kept", "kept"]);
    made.git(&["reset", "--quiet", "--hard", "HEAD~1"]);
    let other = made.commit("third");
    assert_eq!(made.judge(&other, &[&kept]), [No]);
}

#[test]
fn what_a_squash_took_in_is_not_before_it_while_its_branch_is_there_and_unknown_later() {
    let made = Made::new();
    made.commit("first");
    made.git(&["checkout", "--quiet", "-b", "side"]);
    let side = made.commit("side");
    made.git(&["checkout", "--quiet", "main"]);
    made.git(&["merge", "--quiet", "--squash", "side"]);
    made.git(&["commit", "--quiet", "-m", "squashed"]);
    assert_eq!(made.judge(&made.head(), &[&side]), [No]);
    made.git(&["branch", "--quiet", "-D", "side"]);
    assert_eq!(made.judge(&made.head(), &[&side]), [Unknown]);
}

#[test]
fn a_revert_takes_no_commit_out_of_history() {
    let made = Made::new();
    made.commit("first");
    let ending = made.commit("ending");
    made.git(&["revert", "--no-edit", &ending]);
    assert_eq!(made.judge(&made.head(), &[&ending]), [Yes]);
}

#[test]
fn a_shallow_clone_says_yes_and_never_no() {
    let made = Made::new();
    let first = made.commit("first");
    let second = made.commit("second");
    let third = made.commit("third");
    made.git(&["checkout", "--quiet", "-b", "side", &second]);
    let side = made.commit("side");
    made.git(&["checkout", "--quiet", "main"]);
    let folder = tempfile::tempdir().unwrap();
    let url = format!("file://{}", made.path().display());
    let clone = folder.path().join("clone");
    let args = ["clone", "--quiet", "--no-single-branch", "--depth", "2"];
    git(
        folder.path(),
        &[&args[..], &[&url, clone.to_str().unwrap()]].concat(),
    );
    let commits = [&*third, &second, &first, &side];
    let cut = [Yes, Yes, Unknown, Unknown];
    assert_eq!(judge(&clone, &third, &commits), cut);
    git(&clone, &["fetch", "--quiet", "--unshallow"]);
    assert_eq!(judge(&clone, &third, &commits), [Yes, Yes, Yes, No]);
}

#[test]
fn short_names_stand_for_one_commit_and_tags_for_none() {
    let made = Made::new();
    let first = made.commit("first");
    let second = made.commit("second");
    made.git(&["tag", "-a", "-m", "one", "one"]);
    let tag = made.git(&["rev-parse", "one"]);
    assert_ne!(tag, second, "an annotated tag is an object of its own");
    let tree = made.git(&["rev-parse", "HEAD^{tree}"]);
    let named = [&first[..7], &first.to_uppercase(), &tag, &tree];
    assert_eq!(
        made.judge(&second[..12], &named),
        [Yes, Yes, Unknown, Unknown]
    );
    assert_eq!(made.judge(&tag, &[&first]), [Unknown]);
    let nowhere = "0123456789".repeat(4);
    assert_eq!(made.judge(&nowhere, &[&first]), [Unknown]);
    assert_eq!(made.judge(&second, &[&nowhere, "main", ""]), [Unknown; 3]);
}

#[test]
fn a_commit_that_cannot_be_read_cuts_history_off() {
    let made = Made::new();
    let first = made.commit("first");
    let second = made.commit("second");
    let third = made.commit("third");
    let object = made
        .path()
        .join(".git/objects")
        .join(&second[..2])
        .join(&second[2..]);
    std::fs::remove_file(&object).unwrap();
    let commits = [&*third, &second, &first];
    let expected = [Yes, Unknown, Unknown];
    assert_eq!(made.judge(&third, &commits), expected, "it is gone");
    std::fs::write(&object, b"this is no object").unwrap();
    assert_eq!(made.judge(&third, &commits), expected, "it is spoilt");
    assert_eq!(made.judge(&second, &[&first]), [Unknown]);
}

#[test]
fn a_repository_without_a_commit_knows_none_and_a_folder_without_one_is_refused() {
    let made = Made::new();
    let any = "a".repeat(40);
    assert_eq!(made.judge(&any, &[&any]), [Unknown]);
    let folder = tempfile::tempdir().unwrap();
    for path in [folder.path().to_owned(), folder.path().join("nowhere")] {
        let refused = Repository::open(path).unwrap_err();
        assert!(matches!(refused, Error::Open { .. }), "{refused}");
    }
}

#[test]
fn all_work_trees_and_a_bare_clone_say_the_same() {
    let made = Made::new();
    let first = made.commit("first");
    let folder = tempfile::tempdir().unwrap();
    let tree = folder.path().join("tree");
    let tree_name = tree.to_str().unwrap();
    made.git(&["worktree", "add", "--quiet", "-b", "side", tree_name]);
    std::fs::write(tree.join("more"), "more").unwrap();
    git(&tree, &["add", "more"]);
    git(&tree, &["commit", "--quiet", "-m", "more"]);
    let side = git(&tree, &["rev-parse", "HEAD"]);
    let bare = folder.path().join("bare");
    let url = format!("file://{}", made.path().display());
    git(
        folder.path(),
        &["clone", "--quiet", "--bare", &url, bare.to_str().unwrap()],
    );
    for path in [made.path(), &tree, &bare] {
        assert_eq!(judge(path, &side, &[&first, &side]), [Yes, Yes]);
        assert_eq!(judge(path, &first, &[&side]), [No]);
    }
}

#[test]
fn what_is_written_later_is_seen_by_a_repository_that_was_asked_before() {
    let made = Made::new();
    let first = made.commit("first");
    let repository = Repository::open(made.path()).unwrap();
    let judge = |at: &str, commit: &str| repository.judge(at, &[commit.to_owned()]).unwrap()[0];
    assert_eq!(judge(&first, &first), Yes);
    let second = made.commit("second");
    assert_eq!(judge(&second, &first), Yes);
    assert_eq!(judge(&first, &second), No);
    made.git(&["reset", "--quiet", "--hard", &first]);
    assert_eq!(judge(&first, &second), Unknown, "no branch has it any more");
}

fn scope(path: &str) -> Scope {
    Scope::parse(path).expect("the tests name scopes")
}

async fn ancestry(
    of: &Repositories,
    path: &str,
    commits: [&str; 2],
) -> Result<Option<Vec<Ancestry>>, PortError> {
    let [at, commit] = commits;
    of.ancestry(&scope(path), at, &[commit.to_owned()]).await
}

#[tokio::test]
async fn a_project_is_judged_by_its_own_repository_and_others_by_none() {
    let made = Made::new();
    let first = made.commit("first");
    let second = made.commit("second");
    let project = "org/a/project/p";
    let of_project = Repository::open(made.path()).unwrap();
    let of = Repositories::new(BTreeMap::from([(scope(project), of_project)])).with_wait(PATIENCE);
    let task = format!("{project}/worktree/w/task/t");
    for asked in [project, &task] {
        let judged = ancestry(&of, asked, [&second, &first]).await;
        assert_eq!(judged.unwrap(), Some(vec![Yes]), "{asked}");
    }
    for other in ["org/a", "org/a/project/q"] {
        let judged = ancestry(&of, other, [&second, &first]).await;
        assert_eq!(judged.unwrap(), None, "{other}");
    }
    let away: PathBuf = made.path().join(".git");
    std::fs::rename(&away, made.path().join("elsewhere")).unwrap();
    let judged = ancestry(&of, project, [&second, &first]).await;
    assert!(matches!(judged, Err(PortError::Unusable(_))), "{judged:?}");
}

/// What a repository says of commits that are cited from it.
fn presence(path: &Path, hashes: &[&str], named: &str) -> Vec<Presence> {
    let name = |hash: &&str| CommitName::new(hash, named);
    let commits: Vec<CommitName> = hashes.iter().map(name).collect();
    let repository = Repository::open(path).expect("there is a repository");
    repository.presence(&commits).expect("it can be read")
}

const NO_COMMIT: &str = "0123456789012345678901234567890123456789";

#[test]
fn a_whole_clone_says_of_its_own_commits_alone_that_one_is_missing() {
    let made = Made::new();
    let first = made.commit("first");
    let blob = made.git(&["rev-parse", "HEAD:first"]);
    let own = made.path().to_str().expect("the path is UTF-8").to_owned();
    let hashes = [
        &*first,
        &first[..9],
        &first.to_uppercase(),
        NO_COMMIT,
        "0123456",
        &blob,
    ];
    let expected = [There, There, There, Missing, Missing, Missing];
    assert_eq!(presence(made.path(), &hashes, &own), expected);
    let elsewhere = [
        There,
        There,
        There,
        Presence::Unknown,
        Presence::Unknown,
        Presence::Unknown,
    ];
    assert_eq!(
        presence(made.path(), &hashes, "https://host/other"),
        elsewhere
    );
    made.git(&["remote", "add", "origin", "git@host:a/b.git"]);
    assert_eq!(presence(made.path(), &hashes, "https://host/a/b"), expected);
    // What no reference reaches any more is there until it is collected.
    let second = made.commit("second");
    made.git(&["reset", "--quiet", "--hard", &first]);
    assert_eq!(presence(made.path(), &[&second], &own), [There]);
    made.git(&["reflog", "expire", "--expire=now", "--all"]);
    made.git(&["gc", "--quiet", "--prune=now"]);
    assert_eq!(presence(made.path(), &[&second], &own), [Missing]);
}

#[test]
fn a_clone_that_lacks_something_does_not_say_what_is_missing() {
    let made = Made::new();
    let first = made.commit("first");
    let second = made.commit("second");
    made.git(&["config", "uploadpack.allowFilter", "true"]);
    let url = format!("file://{}", made.path().display());
    for flags in [&["--depth", "1"], &["--filter", "blob:none"]] {
        let folder = tempfile::tempdir().expect("there is room for a temporary folder");
        let path = folder.path().join("clone");
        let named = path.to_str().expect("the path is UTF-8").to_owned();
        git(
            folder.path(),
            &[&["clone", "--quiet"], &flags[..], &[&url, &named]].concat(),
        );
        let told = presence(&path, &[&second, NO_COMMIT], &url);
        assert_eq!(told, [There, Presence::Unknown], "{flags:?}");
    }
    let damaged = Made::new();
    let commit = damaged.commit("one");
    let object = damaged.path().join(".git/objects");
    let object = object.join(&commit[..2]).join(&commit[2..]);
    std::fs::remove_file(&object).expect("it is a loose object");
    std::fs::write(&object, b"nothing that git wrote").expect("the folder can be written to");
    let own = damaged
        .path()
        .to_str()
        .expect("the path is UTF-8")
        .to_owned();
    assert_eq!(
        presence(damaged.path(), &[&commit], &own),
        [Presence::Unknown]
    );
    assert_ne!(first, second);
}

#[tokio::test]
async fn a_project_without_a_repository_says_nothing_of_commits() {
    let made = Made::new();
    let first = made.commit("first");
    let own = made.path().to_str().expect("the path is UTF-8").to_owned();
    let project = Scope::parse("org/a/project/b").unwrap();
    let repository = Repository::open(made.path()).expect("there is a repository");
    let repositories = Repositories::new(BTreeMap::from([(project, repository)]));
    let repositories = repositories.with_wait(PATIENCE);
    let commits = [
        CommitName::new(&first, &own),
        CommitName::new(NO_COMMIT, &own),
    ];
    let task = Scope::parse("org/a/project/b/worktree/c/task/d").unwrap();
    let told = repositories.presence(&task, &commits).await;
    assert_eq!(told.unwrap(), Some(vec![There, Missing]));
    let other = Scope::parse("org/a/project/c").unwrap();
    assert_eq!(repositories.presence(&other, &commits).await.unwrap(), None);
}

#[test]
fn a_path_names_a_repository_only_as_it_was_given() {
    let made = Made::new();
    made.commit("first");
    let tree = made.path().join("tree");
    let named = tree.to_str().expect("the path is UTF-8");
    made.git(&["worktree", "add", "--quiet", named]);
    let main = made.path().to_str().expect("the path is UTF-8");
    assert_eq!(presence(&tree, &[NO_COMMIT], named), [Missing]);
    assert_eq!(presence(&tree, &[NO_COMMIT], main), [Presence::Unknown]);
    assert_eq!(presence(made.path(), &[NO_COMMIT], main), [Missing]);
}
