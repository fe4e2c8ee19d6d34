//! Whether a work tree differs from its commit, told without git as git tells it.

use std::fs;
use std::time::{Duration, SystemTime};

use proptest::prelude::*;
use sillok_core::bound::TreeState;

use crate::fixture::Fixture;

fn state(fixture: &Fixture) -> TreeState {
    fixture.place("").state
}

#[test]
fn what_is_changed_staged_or_gone_differs() {
    let fixture = Fixture::repository();
    assert_eq!(state(&fixture), TreeState::Clean);
    fixture.write("new.rs", "not tracked");
    assert_eq!(state(&fixture), TreeState::Clean, "it is not tracked");
    fixture.git(&["add", "new.rs"]);
    assert_eq!(state(&fixture), TreeState::Changed, "it is staged");
    fixture.git(&["reset", "--quiet"]);
    assert_eq!(state(&fixture), TreeState::Clean);
    fs::remove_file(fixture.at("src/a.rs")).unwrap();
    assert_eq!(state(&fixture), TreeState::Changed, "it is gone");
    fixture.git(&["checkout", "--quiet", "src/a.rs"]);
    assert_eq!(state(&fixture), TreeState::Clean);
    fixture.git(&["rm", "--quiet", "--cached", "src/a.rs"]);
    assert_eq!(state(&fixture), TreeState::Changed, "it is taken out");
}

#[test]
fn a_change_of_as_many_bytes_in_the_same_moment_is_seen() {
    for _ in 0..8 {
        let fixture = Fixture::repository();
        fixture.write("src/a.rs", "fn b() {}\n");
        assert_eq!(state(&fixture), TreeState::Changed);
        fixture.write("src/a.rs", "fn a() {}\n");
        assert_eq!(state(&fixture), TreeState::Clean, "it says the same again");
    }
}

#[test]
fn a_file_that_was_only_touched_does_not_differ() {
    let fixture = Fixture::repository();
    let file = fs::File::options()
        .write(true)
        .open(fixture.at("src/a.rs"))
        .unwrap();
    file.set_modified(SystemTime::now() - Duration::from_secs(90))
        .unwrap();
    assert_eq!(state(&fixture), TreeState::Clean);
}

#[cfg(unix)]
#[test]
fn a_file_that_became_a_program_differs_where_that_counts() {
    use std::os::unix::fs::PermissionsExt;

    let fixture = Fixture::repository();
    let program = fs::Permissions::from_mode(0o755);
    fs::set_permissions(fixture.at("src/a.rs"), program).unwrap();
    assert_eq!(state(&fixture), TreeState::Changed);
    fixture.git(&["config", "core.fileMode", "false"]);
    assert_eq!(state(&fixture), TreeState::Clean);
    fixture.git(&["config", "core.fileMode", "true"]);
    fixture.commit("");
    assert_eq!(state(&fixture), TreeState::Clean, "it is one in the commit");
}

#[cfg(unix)]
#[test]
fn links_are_compared_by_what_they_say() {
    let fixture = Fixture::repository();
    std::os::unix::fs::symlink("src/a.rs", fixture.at("link")).unwrap();
    fixture.commit("");
    assert_eq!(state(&fixture), TreeState::Clean);
    fs::remove_file(fixture.at("link")).unwrap();
    std::os::unix::fs::symlink("api/b.py", fixture.at("link")).unwrap();
    assert_eq!(state(&fixture), TreeState::Changed);
    fs::remove_file(fixture.at("link")).unwrap();
    fixture.write("link", "src/a.rs");
    assert_eq!(state(&fixture), TreeState::Changed, "a file is no link");
}

#[test]
fn a_merge_under_way_differs() {
    let fixture = Fixture::repository();
    fixture.git(&["checkout", "--quiet", "-b", "other"]);
    fixture.write("src/a.rs", "fn other() {}\n");
    fixture.commit("");
    fixture.git(&["checkout", "--quiet", "main"]);
    fixture.write("src/a.rs", "fn main() {}\n");
    fixture.commit("");
    let merge = std::process::Command::new("git")
        .current_dir(fixture.at(""))
        .args([
            "-c",
            "user.name=t",
            "-c",
            "user.email=t@localhost",
            "merge",
            "--quiet",
            "other",
        ])
        .output()
        .unwrap();
    assert!(!merge.status.success(), "the two contradict one another");
    assert_eq!(state(&fixture), TreeState::Changed);
}

#[test]
fn indexes_of_all_versions_are_read() {
    for version in ["2", "3", "4"] {
        let fixture = Fixture::repository();
        fixture.git(&["update-index", "--index-version", version]);
        assert_eq!(state(&fixture), TreeState::Clean, "{version}");
        fixture.write("api/b.py", "b = 22\n");
        assert_eq!(state(&fixture), TreeState::Changed, "{version}");
    }
}

#[test]
fn an_index_that_cannot_be_read_leaves_the_state_unknown_and_the_commit_known() {
    let fixture = Fixture::repository();
    for spoilt in [
        &b""[..],
        b"DIRC",
        b"DIRC\0\0\0\x02\xff\xff\xff\xff",
        b"no index at all",
    ] {
        fs::write(fixture.at(".git/index"), spoilt).unwrap();
        let place = fixture.place("");
        assert_eq!(place.state, TreeState::Unknown, "{spoilt:?}");
        assert!(place.commit.is_some());
    }
    fs::remove_file(fixture.at(".git/index")).unwrap();
    assert_eq!(state(&fixture), TreeState::Changed, "nothing is staged");
}

/// What is done to a work tree.
#[derive(Clone, Debug)]
enum Act {
    Write(usize, u8),
    Remove(usize),
    Add,
    Unstage,
    Commit,
}

const NAMES: [&str; 4] = ["src/a.rs", "api/b.py", "c", "deep/er/d.txt"];

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        3 => (0..NAMES.len(), 0_u8..3).prop_map(|(name, content)| Act::Write(name, content)),
        1 => (0..NAMES.len()).prop_map(Act::Remove),
        1 => Just(Act::Add),
        1 => Just(Act::Unstage),
        1 => Just(Act::Commit),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    /// Whatever is written, removed, staged and committed: it differs where git says that it does.
    #[test]
    fn a_work_tree_differs_where_git_says_so(acts in proptest::collection::vec(act(), 1..10)) {
        let fixture = Fixture::repository();
        for act in acts {
            match &act {
                Act::Write(name, content) => fixture.write(NAMES[*name], &content.to_string()),
                Act::Remove(name) => drop(fs::remove_file(fixture.at(NAMES[*name]))),
                Act::Add => drop(fixture.git(&["add", "--all"])),
                Act::Unstage => drop(fixture.git(&["reset", "--quiet"])),
                Act::Commit => drop(fixture.commit("")),
            }
            let found = state(&fixture);
            let said = fixture.git(&["status", "--porcelain", "--untracked-files=no"]);
            let expected = if said.is_empty() { TreeState::Clean } else { TreeState::Changed };
            prop_assert_eq!(found, expected, "{:?}: {}", act, said);
        }
    }
}
