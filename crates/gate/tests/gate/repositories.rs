//! Work trees of git: the usual one, a further worktree, a submodule, and none.

use std::fs;
use std::path::Path;
use std::process::Command;

use sillok_core::citation::Citation;
use sillok_core::gate::Verdict;
use sillok_gate::{AtMain, Budget, CommitError, Entry, Gate, Origin, WorkTree, check_at_main};

use super::folder::{Folder, file, function, judged, symbol, told};

fn git(directory: &Path, args: &[&str]) -> String {
    let mut command = Command::new("git");
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("GIT_") {
            command.env_remove(name);
        }
    }
    let identity = ["-c", "user.name=t", "-c", "user.email=t@localhost"];
    let settings = [
        "-c",
        "commit.gpgsign=false",
        "-c",
        "protocol.file.allow=always",
    ];
    let output = command
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .current_dir(directory)
        .args(identity)
        .args(settings)
        .args(args)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "git {args:?}: {said}");
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

fn head(directory: &Path) -> String {
    git(directory, &["rev-parse", "HEAD"])
}

fn repository() -> Folder {
    let folder = Folder::new();
    git(folder.root(), &["init", "--quiet", "--initial-branch=main"]);
    folder.put("src/a.rs", &[function(1), function(2)].concat());
    git(folder.root(), &["add", "."]);
    git(folder.root(), &["commit", "--quiet", "-m", "one"]);
    folder
}

fn around(path: &Path) -> Gate {
    Gate::of(&WorkTree::around(path).unwrap().unwrap())
}

#[test]
fn the_work_tree_is_found_from_any_folder_in_it() {
    let folder = repository();
    let cited = folder.cite("src/a.rs", Some((4, 6)));
    for path in [folder.root().to_owned(), folder.path("src")] {
        let tree = WorkTree::around(&path).unwrap().unwrap();
        assert_eq!(tree.path(), folder.root().canonicalize().unwrap());
        assert_eq!(told(&Gate::of(&tree), &cited).0, Verdict::Valid);
    }
}

#[test]
fn without_git_there_is_no_work_tree_until_somebody_names_one() {
    let folder = Folder::new();
    folder.put("a.rs", &function(1));
    let cited = folder.cite("a.rs", None);
    // Whether the folder for temporary files lies in a work tree is not ours to say.
    if let Some(tree) = WorkTree::around(folder.root()).unwrap() {
        assert_ne!(tree.path(), folder.root().canonicalize().unwrap());
    }
    assert_eq!(told(&folder.gate(), &cited).0, Verdict::Valid);
    assert_eq!(told(&Gate::without_tree(), &cited).0, Verdict::Unverifiable);
    assert!(WorkTree::at(folder.path("a.rs")).is_err());
    assert!(WorkTree::at(folder.path("nowhere")).is_err());
}

#[test]
fn each_worktree_is_judged_by_what_it_holds() {
    let folder = repository();
    let elsewhere = Folder::new();
    let other = elsewhere.path("other");
    let path = other.to_str().unwrap();
    git(
        folder.root(),
        &["worktree", "add", "--quiet", "-b", "topic", path],
    );
    assert!(other.join(".git").is_file());
    let cited = folder.cite("src/a.rs", Some((4, 6)));
    git(&other, &["mv", "src/a.rs", "src/b.rs"]);
    let moved = judged(&around(&other.join("src")), &cited);
    assert_eq!(moved.verdict, Verdict::Moved);
    assert_eq!(told(&around(folder.root()), &cited).0, Verdict::Valid);
    fs::remove_file(other.join("src/b.rs")).unwrap();
    assert_eq!(told(&around(&other), &cited).0, Verdict::Stale);
}

#[test]
fn a_submodule_is_part_of_the_work_tree_around_it_and_has_its_own() {
    let (inner, outer) = (repository(), repository());
    outer.put("src/a.rs", &function(5));
    let path = inner.root().to_str().unwrap();
    git(
        outer.root(),
        &["submodule", "--quiet", "add", path, "vendor/inner"],
    );
    assert!(outer.path("vendor/inner/.git").is_file());
    let gate = around(outer.root());
    let cited = outer.cite("vendor/inner/src/a.rs", Some((4, 6)));
    assert_eq!(told(&gate, &cited).0, Verdict::Valid);
    let own = inner.cite("src/a.rs", Some((4, 6)));
    assert_eq!(
        told(&around(&outer.path("vendor/inner/src")), &own).0,
        Verdict::Valid
    );
    assert_eq!(judged(&gate, &own).refreshed, Some(cited));
}

/// What a citation that was written at a commit is at the main branch.
fn since(path: &Path, commit: &str, cited: &Citation) -> Option<AtMain> {
    let entry = Entry {
        citations: core::slice::from_ref(cited),
        origin: Origin::Commit(commit),
    };
    let (main, mut found) = check_at_main(path, &[entry], Budget::WHOLE).unwrap();
    assert_eq!((main.len(), found.len()), (40, 1));
    found.remove(0)
}

/// What citations that were written at the first commit are at the main branch.
fn at_main(path: &Path, citations: &[Citation]) -> Vec<Verdict> {
    let first = git(path, &["rev-list", "--max-parents=0", "HEAD"]);
    let found = citations.iter().map(|cited| since(path, &first, cited));
    found.map(|one| one.unwrap().checked.verdict).collect()
}

#[test]
fn an_entry_of_another_repository_is_never_stale_here() {
    let (one, other) = (repository(), repository());
    other.put("src/own.rs", &function(7));
    git(other.root(), &["add", "."]);
    git(other.root(), &["commit", "--quiet", "-m", "own"]);
    let cited = [other.cite("src/own.rs", None)];
    let commit = head(other.root());
    let told = |root: &Path, origin| {
        let entry = Entry {
            citations: &cited,
            origin,
        };
        let answer = around(root).check_entries(&[entry, entry], Budget::WHOLE);
        assert_eq!(answer.entries[0], answer.entries[1]);
        (answer.entries[0].verdict, answer.entries[0].is_of_elsewhere)
    };
    use Verdict::{Stale, Unverifiable, Valid};
    let here = Origin::Commit(&commit);
    assert_eq!(told(other.root(), here), (Valid, false));
    assert_eq!(told(one.root(), here), (Unverifiable, true));
    assert_eq!(told(other.root(), Origin::Unknown), (Unverifiable, true));
    // Of its own project it is judged, with a short hash as well.
    assert_eq!(told(one.root(), Origin::Here), (Stale, false));
    fs::remove_file(other.path("src/own.rs")).unwrap();
    let short = Origin::Commit(&commit[..12]);
    assert_eq!(told(other.root(), short), (Stale, false));
    // A clone has its commits, whatever it is called.
    let clone = Folder::new();
    let path = other.root().to_str().unwrap();
    git(clone.root(), &["clone", "--quiet", path, "."]);
    assert_eq!(told(clone.root(), here), (Valid, false));
    assert_eq!(since(one.root(), &commit, &cited[0]), None);
}

#[test]
fn what_the_main_branch_never_had_is_not_lost_there() {
    let folder = repository();
    let root = folder.root();
    folder.put(".gitignore", "dist/\n");
    git(root, &["add", "."]);
    git(root, &["commit", "--quiet", "-m", "two"]);
    folder.put("dist/made.rs", &function(8));
    let (main, ignored) = (head(root), folder.cite("dist/made.rs", None));
    let found = since(root, &main, &ignored).unwrap();
    assert_eq!(
        (found.checked.verdict, found.is_lost),
        (Verdict::Stale, false)
    );
    git(root, &["checkout", "--quiet", "-b", "topic"]);
    folder.put("src/new.rs", &function(9));
    git(root, &["add", "."]);
    git(root, &["commit", "--quiet", "-m", "three"]);
    let (topic, new) = (head(root), folder.cite("src/new.rs", None));
    assert_eq!(since(root, &topic, &new), None, "it is not merged yet");
    // A clone that is behind does not even have the commit.
    let clone = Folder::new();
    let path = root.to_str().unwrap();
    let behind = ["clone", "--quiet", "--single-branch", "--branch", "main"];
    git(clone.root(), &[&behind[..], &[path, "."]].concat());
    assert_eq!(since(clone.root(), &topic, &new), None);
    git(root, &["checkout", "--quiet", "main"]);
    git(root, &["merge", "--quiet", "topic"]);
    assert_eq!(
        since(root, &topic, &new).unwrap().checked.verdict,
        Verdict::Valid
    );
    git(root, &["rm", "--quiet", "src/new.rs"]);
    git(root, &["commit", "--quiet", "-m", "four"]);
    let found = since(root, &topic, &new).unwrap();
    assert_eq!(
        (found.checked.verdict, found.is_lost),
        (Verdict::Stale, true)
    );
}

#[test]
fn what_is_gone_on_a_branch_alone_is_not_gone_at_the_main_branch() {
    let folder = repository();
    folder.put("src/b.rs", &function(3));
    let cited = [
        folder.cite("src/a.rs", Some((4, 6))),
        symbol(
            "src/a.rs",
            "number_2",
            "pub fn number_2(rows: &[Row]) -> u64",
        ),
        // Not yet there.
        folder.cite("src/b.rs", None),
        file("src/nowhere.rs", None, None),
    ];
    use Verdict::{Moved, Stale, Unverifiable, Valid};
    assert_eq!(
        at_main(folder.root(), &cited),
        [Valid, Valid, Stale, Unverifiable]
    );
    git(folder.root(), &["checkout", "--quiet", "-b", "topic"]);
    git(folder.root(), &["rm", "--quiet", "src/a.rs"]);
    git(folder.root(), &["commit", "--quiet", "-m", "two"]);
    assert_eq!(told(&around(folder.root()), &cited[0]).0, Stale);
    assert_eq!(at_main(folder.root(), &cited)[..2], [Valid, Valid]);
    git(folder.root(), &["checkout", "--quiet", "main"]);
    git(folder.root(), &["mv", "src/a.rs", "src/c.rs"]);
    git(folder.root(), &["commit", "--quiet", "-m", "three"]);
    assert_eq!(at_main(folder.root(), &cited)[..2], [Moved, Moved]);
    git(folder.root(), &["rm", "--quiet", "src/c.rs"]);
    git(folder.root(), &["commit", "--quiet", "-m", "four"]);
    assert_eq!(at_main(folder.root(), &cited)[..2], [Stale, Stale]);
    // What lies behind a link, or in a submodule, is in none of its commits.
    std::os::unix::fs::symlink("src", folder.path("link")).unwrap();
    let inner = repository();
    let path = inner.root().to_str().unwrap();
    git(
        folder.root(),
        &["submodule", "--quiet", "add", path, "vendor/inner"],
    );
    git(folder.root(), &["add", "."]);
    git(folder.root(), &["commit", "--quiet", "-m", "five"]);
    let behind = ["link/b.rs", "link", "vendor/inner/src/a.rs"].map(|path| file(path, None, None));
    assert_eq!(at_main(folder.root(), &behind), [Unverifiable; 3]);
}

#[test]
fn the_main_branch_is_that_of_the_remote_where_there_is_one() {
    let origin = repository();
    let clone = Folder::new();
    let path = origin.root().to_str().unwrap();
    git(clone.root(), &["clone", "--quiet", path, "."]);
    let cited = [origin.cite("src/a.rs", Some((4, 6)))];
    git(clone.root(), &["rm", "--quiet", "src/a.rs"]);
    git(clone.root(), &["commit", "--quiet", "-m", "two"]);
    assert_eq!(at_main(clone.root(), &cited), [Verdict::Valid]);
    git(clone.root(), &["remote", "remove", "origin"]);
    assert_eq!(at_main(clone.root(), &cited), [Verdict::Stale]);
}

#[test]
fn without_a_main_branch_nothing_is_said_of_it() {
    let folder = Folder::new();
    let ask = || check_at_main(folder.root(), &[], Budget::WHOLE).unwrap_err();
    assert!(matches!(ask(), CommitError::Open { .. }));
    git(folder.root(), &["init", "--quiet", "--initial-branch=main"]);
    assert!(matches!(ask(), CommitError::NoMain { .. }));
}
