//! Each sort of work tree says what it is at.

use sillok_core::bound::{Owner, TreeState};
use sillok_core::gate::Fingerprint;

use crate::fixture::{Fixture, git, paths};

#[test]
fn a_work_tree_says_its_commit_its_branch_and_where_it_was_said() {
    let fixture = Fixture::repository();
    let hash = fixture.git(&["rev-parse", "HEAD"]);
    for (dir, project) in [("", ""), ("api", "api"), ("src/", "src")] {
        let place = fixture.place(dir);
        assert_eq!(place.commit.as_deref(), Some(hash.as_str()));
        assert_eq!(place.branch.as_deref(), Some("main"));
        assert_eq!(place.project, project);
        assert_eq!(place.state, TreeState::Clean);
        assert!(!place.is_shallow);
    }
}

#[test]
fn a_repository_is_named_by_its_remote_without_secrets_or_by_its_path() {
    let fixture = Fixture::repository();
    let path = fixture.at("").to_string_lossy().into_owned();
    assert_eq!(fixture.place("").repository, path.trim_end_matches('/'));
    for (url, name) in [
        ("https://kim:secret@Host/a/b.git?token=secret", "host/a/b"),
        ("git@host:a/b.git", "host/a/b"),
    ] {
        fixture.git(&["config", "remote.only.url", url]);
        assert_eq!(fixture.place("").repository, name);
    }
    fixture.git(&["config", "remote.origin.url", "ssh://git@host:22/o/r"]);
    assert_eq!(
        fixture.place("").repository,
        "host/o/r",
        "origin comes first"
    );
    fixture.git(&["config", "remote.origin.url", "../elsewhere"]);
    assert_eq!(fixture.place("").repository, path.trim_end_matches('/'));
}

#[test]
fn without_a_repository_that_is_stated_and_files_are_read_all_the_same() {
    let fixture = Fixture::empty();
    fixture.write("src/a.rs", "a");
    let bound = fixture.bound("", "see src/a.rs");
    assert_eq!(bound.place, None);
    assert_eq!(paths(&bound), ["src/a.rs"]);
    assert_eq!(bound.files[0].fingerprint, Fingerprint::of_file(b"a"));
}

#[test]
fn a_repository_without_a_commit_names_its_branch_alone() {
    let fixture = Fixture::empty();
    fixture.init("");
    let place = fixture.place("");
    assert_eq!(place.commit, None);
    assert_eq!(place.branch.as_deref(), Some("main"));
    assert_eq!(place.state, TreeState::Clean, "nothing is tracked");
    fixture.write("a.rs", "a");
    fixture.git(&["add", "a.rs"]);
    assert_eq!(fixture.place("").state, TreeState::Changed);
    assert_eq!(paths(&fixture.bound("", "a.rs")), ["a.rs"]);
}

#[test]
fn a_detached_head_has_a_commit_and_no_branch() {
    let fixture = Fixture::repository();
    let first = fixture.git(&["rev-parse", "HEAD"]);
    fixture.git(&["tag", "--annotate", "v1", "-m", "one"]);
    fixture.commit("");
    fixture.git(&["checkout", "--quiet", "v1"]);
    let place = fixture.place("");
    assert_eq!((place.commit, place.branch), (Some(first), None));
}

#[test]
fn a_linked_work_tree_is_at_its_own_commit_in_the_same_repository() {
    let fixture = Fixture::empty();
    fixture.init("main");
    fixture.write("main/src/a.rs", "first");
    let first = fixture.commit("main");
    git(
        &fixture.at("main"),
        &["worktree", "add", "--quiet", "-b", "other", "../linked"],
    );
    fixture.write("linked/src/a.rs", "second");
    let second = fixture.commit("linked");
    let (main, linked) = (fixture.place("main"), fixture.place("linked/src"));
    assert_eq!(main.repository, linked.repository);
    assert_eq!((main.commit, linked.commit), (Some(first), Some(second)));
    assert_eq!(linked.branch.as_deref(), Some("other"));
    assert_eq!(linked.project, "src");
    assert_eq!(linked.state, TreeState::Clean);
    let bound = fixture.bound("linked", "src/a.rs");
    assert_eq!(bound.files[0].fingerprint, Fingerprint::of_file(b"second"));
}

#[test]
fn a_file_of_a_submodule_belongs_to_the_submodule() {
    let fixture = Fixture::empty();
    fixture.init("lib");
    fixture.write("lib/x.c", "int x;");
    let inner = fixture.commit("lib");
    fixture.init("outer");
    fixture.write("outer/y.c", "int y;");
    let lib = fixture.at("lib");
    let outer = fixture.at("outer");
    git(
        &outer,
        &[
            "submodule",
            "--quiet",
            "add",
            lib.to_str().unwrap(),
            "deps/lib",
        ],
    );
    fixture.commit("outer");
    let bound = fixture.bound("outer", "y.c calls deps/lib/x.c");
    assert_eq!(bound.place.as_ref().unwrap().state, TreeState::Clean);
    assert_eq!(paths(&bound), ["y.c", "x.c"]);
    assert_eq!(bound.files[0].owner, None);
    let owner = Owner {
        repository: lib.to_string_lossy().into_owned(),
        commit: Some(inner.clone()),
    };
    assert_eq!(bound.files[1].owner, Some(owner));
    let inside = fixture.place("outer/deps/lib");
    assert_eq!(inside.commit, Some(inner));
    assert_eq!(inside.project, "");
}

#[test]
fn a_shallow_clone_says_so() {
    let fixture = Fixture::empty();
    fixture.init("whole");
    fixture.commit("whole");
    let hash = fixture.commit("whole");
    let url = format!("file://{}", fixture.at("whole").display());
    fixture.git(&["clone", "--quiet", "--depth", "1", &url, "shallow"]);
    let place = fixture.place("shallow");
    assert!(place.is_shallow);
    assert_eq!(place.commit, Some(hash));
    assert!(!fixture.place("whole").is_shallow);
}

#[test]
fn a_bare_repository_has_a_commit_and_no_files() {
    let fixture = Fixture::empty();
    fixture.init("whole");
    fixture.write("whole/a.rs", "a");
    let hash = fixture.commit("whole");
    fixture.git(&["clone", "--quiet", "--bare", "whole", "bare.git"]);
    let bound = fixture.bound("bare.git", "a.rs and HEAD and config.worktree");
    let place = bound.place.unwrap();
    assert_eq!(
        (place.commit, place.state),
        (Some(hash), TreeState::Unknown)
    );
    assert_eq!((bound.files.len(), bound.left_out), (0, 0));
}

#[test]
fn the_innermost_repository_counts() {
    let fixture = Fixture::repository();
    fixture.init("vendor/inner");
    fixture.write("vendor/inner/z.rs", "z");
    let hash = fixture.commit("vendor/inner");
    assert_eq!(fixture.place("vendor/inner").commit, Some(hash.clone()));
    let bound = fixture.bound("", "vendor/inner/z.rs and src/a.rs");
    assert_eq!(paths(&bound), ["z.rs", "src/a.rs"]);
    let owner = bound.files[0].owner.as_ref().unwrap();
    assert_eq!(owner.commit, Some(hash));
    assert!(owner.repository.ends_with("vendor/inner"));
}
