//! Changes are noticed, in folders that come later too, and what is ignored is not.

use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant, SystemTime};

use sillok_code::cache::FILE_NAME;
use sillok_code::debounce::{Batch, DebounceOptions};
use sillok_code::follow::{FollowOptions, Follower};
use sillok_code::watch::Watch;
use sillok_code::{CodeIndex, WalkOptions};

use crate::tree::Tree;

/// Long enough for a machine that does other things.
const PATIENCE: Duration = Duration::from_secs(60);

fn watch(tree: &Tree) -> (Watch, Receiver<Batch>) {
    let (sender, receiver) = channel();
    let debounce = DebounceOptions {
        quiet: Duration::from_millis(100),
        ..DebounceOptions::default()
    };
    let options = WalkOptions::default();
    let watch = Watch::start(tree.root(), options, debounce, move |batch| {
        // Who asked is gone when the test ended.
        let _gone = sender.send(batch);
    });
    (watch.unwrap(), receiver)
}

/// Follows what is told until the index lists these files.
fn follow(index: &mut CodeIndex, told: &Receiver<Batch>, expected: &[&str]) {
    let begun = Instant::now();
    loop {
        let known = index.tree("t").unwrap();
        let listed: Vec<&str> = known.paths().map(AsRef::as_ref).collect();
        if listed == expected {
            return;
        }
        assert!(
            begun.elapsed() < PATIENCE,
            "{listed:?} instead of {expected:?}"
        );
        if let Ok(batch) = told.recv_timeout(Duration::from_millis(200)) {
            let plan = index.plan("t").unwrap();
            let scanned = plan.look(batch.into_only(), SystemTime::now()).unwrap();
            index.apply(scanned).unwrap();
        }
    }
}

#[test]
fn what_changes_is_told_and_what_is_ignored_is_not() {
    let tree = Tree::new(&[(".gitignore", "out/\n"), ("src/a.py", ""), ("out/x.py", "")]);
    let (watch, told) = watch(&tree);
    let mut index = tree.index();
    assert!(!watch.is_partial());
    tree.write("out/y.py", "");
    assert_eq!(
        told.recv_timeout(Duration::from_millis(800)),
        Err(std::sync::mpsc::RecvTimeoutError::Timeout)
    );
    tree.write("src/b.py", "");
    follow(&mut index, &told, &["src/a.py", "src/b.py"]);
    tree.write("new/deep/c.py", "");
    follow(
        &mut index,
        &told,
        &["new/deep/c.py", "src/a.py", "src/b.py"],
    );
    // The new folder is watched as well by now.
    tree.write("new/deep/d.py", "");
    tree.remove("src/a.py");
    follow(
        &mut index,
        &told,
        &["new/deep/c.py", "new/deep/d.py", "src/b.py"],
    );
    tree.rename("new", "src/moved");
    follow(
        &mut index,
        &told,
        &["src/b.py", "src/moved/deep/c.py", "src/moved/deep/d.py"],
    );
    tree.write("src/moved/deep/e.py", "");
    tree.write(".gitignore", "b.py\n");
    let expected = [
        "out/x.py",
        "out/y.py",
        "src/moved/deep/c.py",
        "src/moved/deep/d.py",
        "src/moved/deep/e.py",
    ];
    follow(&mut index, &told, &expected);
    drop(watch);
    tree.write("src/f.py", "");
    assert_eq!(
        told.recv_timeout(Duration::from_secs(5)),
        Err(std::sync::mpsc::RecvTimeoutError::Disconnected)
    );
}

#[test]
fn a_watch_ends_at_once_when_it_is_dropped() {
    let tree = Tree::new(&[("a.py", "")]);
    let (watch, _told) = watch(&tree);
    let begun = Instant::now();
    drop(watch);
    assert!(begun.elapsed() < Duration::from_secs(5));
}

#[test]
fn work_trees_are_followed_and_what_is_known_is_stored_at_the_end() {
    let (one, two) = (Tree::new(&[("a.py", "def a(): pass\n")]), Tree::new(&[]));
    let folder = tempfile::tempdir().unwrap();
    let options = FollowOptions {
        trees: vec![
            ("one".to_owned(), one.root().to_owned()),
            ("two".to_owned(), two.root().to_owned()),
        ],
        debounce: DebounceOptions {
            quiet: Duration::from_millis(100),
            ..DebounceOptions::default()
        },
        cache: Some(folder.path().to_owned()),
        ..FollowOptions::default()
    };
    let follower = Follower::start(options).unwrap();
    two.write("b.py", "def b(): pass\n");
    let begun = Instant::now();
    let knows = |tree: &str, symbol: &str| {
        follower.read(|index| !index.tree(tree).unwrap().symbols_named(symbol).is_empty())
    };
    while !knows("one", "a") || !knows("two", "b") {
        assert!(begun.elapsed() < PATIENCE, "a change is not followed");
        std::thread::sleep(Duration::from_millis(20));
    }
    drop(follower);
    assert!(folder.path().join(FILE_NAME).exists());
    let again = CodeIndex::load(folder.path()).unwrap().into_index();
    assert_eq!(again.contents_count(), 2);
}
