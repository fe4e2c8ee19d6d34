//! Repositories that mean harm: nothing of theirs runs, nobody waits for ever, and what cannot be read is said.

use std::fs;

use sillok_binding::{Error, WorkTree};
use sillok_core::bound::TreeState;

use crate::fixture::{Fixture, paths};

#[test]
fn no_program_of_a_repository_runs() {
    let fixture = Fixture::repository();
    let ran = fixture.at("ran");
    let program = format!("touch {}", ran.display());
    for key in [
        "core.fsmonitor",
        "filter.evil.clean",
        "filter.evil.smudge",
        "filter.evil.process",
        "core.sshCommand",
        "credential.helper",
        "core.pager",
        "diff.external",
    ] {
        fixture.git(&["config", key, &program]);
    }
    fixture.write(".gitattributes", "* filter=evil diff=evil\n");
    for hook in ["post-index-change", "fsmonitor-watchman", "post-checkout"] {
        fixture.write(
            &format!(".git/hooks/{hook}"),
            &format!("#!/bin/sh\n{program}\n"),
        );
    }
    fixture.write("src/a.rs", "fn a() { touched }\n");
    let bound = fixture.bound("", "src/a.rs");
    assert_eq!(bound.place.unwrap().state, TreeState::Changed);
    assert_eq!(bound.files.len(), 1);
    assert!(!ran.exists(), "a program of the repository ran");
}

#[test]
fn configuration_from_elsewhere_is_not_read() {
    let fixture = Fixture::empty();
    fixture.init("tree");
    fixture.commit("tree");
    let included = "[remote \"origin\"]\n\turl = https://evil/a\n";
    fixture.write("elsewhere", included);
    let config = fixture.at("tree/.git/config");
    let before = fs::read_to_string(&config).unwrap();
    let path = fixture.at("elsewhere");
    fs::write(
        &config,
        format!("{before}[include]\n\tpath = {}\n", path.display()),
    )
    .unwrap();
    assert!(!fixture.place("tree").repository.contains("evil"));
}

#[test]
fn a_mark_that_leads_nowhere_is_said_to_be_unreadable() {
    for mark in [
        "",
        "gitdir:",
        "gitdir: ../nowhere",
        "gitdir: .git",
        "gitdir: \0",
        "something else",
    ] {
        let fixture = Fixture::empty();
        fixture.write(".git", mark);
        let looked = WorkTree::around(&fixture.at(""));
        assert!(
            matches!(looked, Err(Error::Unreadable { .. })),
            "{mark:?}: {looked:?}"
        );
    }
}

#[cfg(unix)]
#[test]
fn pipes_loops_and_devices_in_place_of_a_repositorys_files_keep_nobody_waiting() {
    use std::os::unix::fs::symlink;

    for name in ["HEAD", "config"] {
        let fixture = Fixture::repository();
        let path = fixture.at(&format!(".git/{name}"));
        fs::remove_file(&path).unwrap();
        let made = std::process::Command::new("mkfifo")
            .arg(&path)
            .status()
            .unwrap();
        assert!(made.success());
        let looked = WorkTree::around(&fixture.at(""));
        assert!(
            matches!(looked, Err(Error::Unreadable { .. })),
            "{name}: {looked:?}"
        );
        fs::remove_file(&path).unwrap();
        symlink("/dev/zero", &path).unwrap();
        assert!(WorkTree::around(&fixture.at("")).is_err(), "{name}");
    }
    let fixture = Fixture::repository();
    fs::remove_file(fixture.at(".git/index")).unwrap();
    symlink("/dev/zero", fixture.at(".git/index")).unwrap();
    assert_eq!(fixture.place("").state, TreeState::Unknown);
    let looped = Fixture::empty();
    symlink("loop", looped.at("loop")).unwrap();
    let looked = WorkTree::around(&looped.at("loop"));
    assert!(matches!(looked, Err(Error::Directory { .. })), "{looked:?}");
    symlink(".git", looped.at(".git")).unwrap();
    assert!(matches!(
        WorkTree::around(&looped.at("")),
        Err(Error::Unreadable { .. })
    ));
}

#[test]
fn an_index_of_more_than_there_is_room_for_leaves_the_state_unknown() {
    let fixture = Fixture::repository();
    let index = fs::File::options()
        .write(true)
        .open(fixture.at(".git/index"))
        .unwrap();
    index
        .set_len(sillok_binding::limits::INDEX_BYTES_MAX + 1)
        .unwrap();
    let place = fixture.place("");
    assert_eq!(place.state, TreeState::Unknown);
    assert!(place.commit.is_some());
}

#[test]
fn a_file_of_a_repository_that_is_not_read_is_left_out() {
    let fixture = Fixture::repository();
    fixture.write("inner/.git", "gitdir: nowhere");
    fixture.write("inner/x.rs", "x");
    let bound = fixture.bound("", "inner/x.rs src/a.rs");
    assert_eq!(paths(&bound), ["src/a.rs"]);
    assert_eq!(bound.left_out, 1);
}

/// Needs a user who may give files away, as in most containers: others have nothing to show.
#[cfg(unix)]
#[test]
fn a_repository_of_another_user_is_not_read() {
    let fixture = Fixture::repository();
    let given = std::os::unix::fs::chown(fixture.at(".git"), Some(12_345), None);
    if given.is_err() {
        return;
    }
    let looked = WorkTree::around(&fixture.at(""));
    assert!(matches!(looked, Err(Error::Untrusted { .. })), "{looked:?}");
}
