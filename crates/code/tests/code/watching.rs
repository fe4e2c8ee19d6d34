//! Changes are noticed, in folders that come later too, and what is ignored is not.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant, SystemTime};

use sillok_code::cache::FILE_NAME;
use sillok_code::debounce::{Batch, DebounceOptions};
use sillok_code::follow::{FollowOptions, Follower, LookState, TreeStatus};
use sillok_code::watch::{Watch, WatchOptions};
use sillok_code::{CodeIndex, WalkOptions};

use crate::tree::Tree;

/// Long enough for a machine that does other things.
const PATIENCE: Duration = Duration::from_secs(60);

/// Tells soon of what changed.
fn soon() -> WatchOptions {
    WatchOptions {
        debounce: DebounceOptions {
            quiet: Duration::from_millis(100),
            ..DebounceOptions::default()
        },
        ..WatchOptions::default()
    }
}

fn watch(tree: &Tree) -> (Watch, Receiver<Batch>) {
    watch_with(tree, WalkOptions::default(), soon())
}

fn watch_with(tree: &Tree, walk: WalkOptions, options: WatchOptions) -> (Watch, Receiver<Batch>) {
    let (sender, receiver) = channel();
    let watch = Watch::start(tree.root(), walk, options, move |batch| {
        // Who asked is gone when the test ended.
        let _gone = sender.send(batch);
    });
    (watch.unwrap(), receiver)
}

/// Takes what is told until nothing is for a while.
fn quiet(told: &Receiver<Batch>, at_least: usize) -> Vec<Batch> {
    let mut all = Vec::new();
    loop {
        let wait = if all.len() < at_least {
            PATIENCE
        } else {
            Duration::from_secs(2)
        };
        match told.recv_timeout(wait) {
            Ok(batch) => all.push(batch),
            Err(_) if all.len() < at_least => panic!("only {all:?} was told"),
            Err(_) => return all,
        }
    }
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
fn folders_that_are_others_by_now_are_watched_whatever_was_told_of_them() {
    let tree = Tree::new(&[("a/x.py", ""), ("a/deep/y.py", ""), ("b/z.py", "")]);
    // With no path told, everything is said to have changed, once for all of it.
    let options = WatchOptions {
        debounce: DebounceOptions {
            quiet: Duration::from_secs(1),
            paths_max: 0,
            ..DebounceOptions::default()
        },
        ..WatchOptions::default()
    };
    let (_watch, told) = watch_with(&tree, WalkOptions::default(), options);
    for folder in ["a", "b"] {
        std::fs::remove_dir_all(tree.root().join(folder)).unwrap();
    }
    for path in ["a/x.py", "a/deep/y.py", "b/z.py"] {
        tree.write(path, "");
    }
    quiet(&told, 1);
    for path in ["a/x.py", "a/deep/y.py", "b/z.py"] {
        tree.write(path, "def f(): pass\n");
        assert_eq!(quiet(&told, 1)[0], Batch::Everything, "{path}");
    }
}

#[test]
fn a_root_that_goes_away_is_told_once_and_once_more_when_there_is_one_again() {
    let tree = Tree::new(&[("a/x.py", "")]);
    let (watch, told) = watch(&tree);
    std::fs::remove_dir_all(tree.root()).unwrap();
    // It is looked for again in the meantime.
    assert_eq!(quiet(&told, 1).len(), 1);
    assert!(watch.is_partial() && !watch.has_ended());
    tree.write("a/x.py", "");
    assert_eq!(quiet(&told, 1)[0], Batch::Everything);
    assert!(!watch.is_partial());
    tree.write("a/y.py", "");
    let expected = Batch::Paths([PathBuf::from("a/y.py")].into());
    assert_eq!(quiet(&told, 1), [expected]);
}

#[test]
fn a_tree_that_is_not_watched_whole_is_looked_at_from_time_to_time_until_it_is() {
    let tree = Tree::new(&[("a/x.py", "")]);
    let options = WatchOptions {
        again: Duration::from_millis(300),
        folders_max: 1,
        ..soon()
    };
    let (watch, told) = watch_with(&tree, WalkOptions::default(), options);
    assert!(watch.is_partial());
    let mut index = tree.index();
    tree.write("a/y.py", "");
    follow(&mut index, &told, &["a/x.py", "a/y.py"]);
    tree.rename("a/x.py", "x.py");
    std::fs::remove_dir_all(tree.root().join("a")).unwrap();
    follow(&mut index, &told, &["x.py"]);
    let begun = Instant::now();
    while watch.is_partial() {
        assert!(begun.elapsed() < PATIENCE, "it is never watched whole");
        std::thread::sleep(Duration::from_millis(20));
    }
    // What was told before is taken, and there is no more.
    quiet(&told, 0);
    tree.write("y.py", "");
    let expected = Batch::Paths([PathBuf::from("y.py")].into());
    assert_eq!(quiet(&told, 1), [expected]);
}

#[test]
fn only_the_folders_that_are_read_are_watched_and_those_that_come_later_too() {
    let tree = Tree::new(&[("other/a.py", "")]);
    let walk = WalkOptions {
        folders: vec!["./src".to_owned(), "web/app".to_owned()],
        ..WalkOptions::default()
    };
    let (_watch, told) = watch_with(&tree, walk.clone(), soon());
    let mut index = CodeIndex::new();
    index.add_tree("t", tree.root(), walk);
    tree.write("other/b.py", "");
    assert!(quiet(&told, 0).is_empty());
    tree.write("src/c.py", "");
    tree.write("web/app/d.py", "");
    tree.write("web/e.py", "");
    follow(&mut index, &told, &["src/c.py", "web/app/d.py"]);
    tree.write("src/c/f.py", "");
    follow(
        &mut index,
        &told,
        &["src/c.py", "src/c/f.py", "web/app/d.py"],
    );
}

/// Follows one work tree under the name `t`.
fn follower(root: &Path, cache: Option<&Path>) -> Follower {
    let options = FollowOptions {
        trees: vec![("t".to_owned(), root.to_owned())],
        watch: soon(),
        cache: cache.map(Path::to_owned),
        ..FollowOptions::default()
    };
    Follower::start(options).unwrap()
}

fn wait(follower: &Follower, what: &str, is_so: impl Fn(&TreeStatus) -> bool) -> TreeStatus {
    let begun = Instant::now();
    loop {
        let status = follower.status("t").unwrap();
        if is_so(&status) {
            return status;
        }
        assert!(begun.elapsed() < PATIENCE, "{what}: {status:?}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn is_done(status: &TreeStatus) -> bool {
    status.state == LookState::Done
}

#[test]
fn a_restart_says_that_it_parsed_nothing() {
    let tree = Tree::new(&[("a.py", "def a(): pass\n"), ("b.py", "def b(): pass\n")]);
    let folder = tempfile::tempdir().unwrap();
    let cache = folder.path().join("data/cache");
    let first = follower(tree.root(), Some(&cache));
    let status = wait(&first, "it is not looked at", is_done);
    assert_eq!((status.parsed, status.parsed_total), (2, 2));
    assert!(first.status("other").is_none() && first.tree("other").is_none());
    // It is stored while it runs, and not only when it ends.
    let begun = Instant::now();
    while !cache.join(FILE_NAME).exists() {
        assert!(begun.elapsed() < PATIENCE, "it is not stored");
        std::thread::sleep(Duration::from_millis(20));
    }
    drop(first);
    let again = follower(tree.root(), Some(&cache));
    let status = wait(&again, "it is not looked at again", is_done);
    assert_eq!(
        (status.parsed, status.parsed_total, status.looks),
        (0, 0, 1)
    );
    assert_eq!(again.tree("t").unwrap().symbols_named("b").len(), 1);
    tree.write("c.py", "def c(): pass\n");
    wait(&again, "a change is not followed", |status| {
        (status.looks, status.parsed_total) == (2, 1)
    });
}

#[test]
fn a_root_that_goes_away_is_said_to_and_followed_again_when_it_is_back() {
    let tree = Tree::new(&[("a.py", "def a(): pass\n")]);
    let follower = follower(tree.root(), None);
    wait(&follower, "it is not looked at", is_done);
    std::fs::remove_dir_all(tree.root()).unwrap();
    let status = wait(&follower, "it is not said", |status| {
        matches!(status.state, LookState::Failed(_)) && status.is_partial
    });
    assert_eq!(status.looks, 1);
    assert_eq!(follower.tree("t").unwrap().len(), 1);
    tree.write("b.py", "def b(): pass\n");
    let lists = |expected: &[&str]| {
        let known = follower.tree("t").unwrap();
        known
            .paths()
            .map(|path| &**path)
            .eq(expected.iter().copied())
    };
    wait(&follower, "it is not followed again", |status| {
        is_done(status) && !status.is_partial && lists(&["b.py"])
    });
    tree.write("c.py", "def c(): pass\n");
    wait(&follower, "its changes are not followed", |_| {
        lists(&["b.py", "c.py"])
    });
}

#[test]
fn a_root_that_is_not_there_yet_holds_up_no_other_and_is_followed_once_it_is() {
    let (there, later) = (Tree::new(&[("a.py", "")]), Tree::new(&[]));
    let root = later.root().join("later");
    let options = FollowOptions {
        trees: vec![
            ("later".to_owned(), root.clone()),
            ("t".to_owned(), there.root().to_owned()),
        ],
        watch: soon(),
        ..FollowOptions::default()
    };
    let follower = Follower::start(options).unwrap();
    wait(&follower, "the other is not looked at", is_done);
    let begun = Instant::now();
    let is_so = |what: &dyn Fn(&TreeStatus) -> bool| {
        while !what(&follower.status("later").unwrap()) {
            assert!(begun.elapsed() < PATIENCE, "{:?}", follower.status("later"));
            std::thread::sleep(Duration::from_millis(20));
        }
    };
    is_so(&|status| matches!(status.state, LookState::Failed(_)) && status.is_partial);
    later.write("later/b.py", "");
    let len = || follower.tree("later").unwrap().len();
    is_so(&|status| is_done(status) && !status.is_partial && len() == 1);
    // And it is watched.
    later.write("later/c.py", "");
    is_so(&|_| len() == 2);
}

#[test]
fn a_root_that_is_a_link_is_the_folder_that_it_leads_to() {
    let tree = Tree::new(&[("a.py", "def a(): pass\n")]);
    let folder = tempfile::tempdir().unwrap();
    let link = folder.path().join("link");
    std::os::unix::fs::symlink(tree.root(), &link).unwrap();
    let follower = follower(&link, None);
    wait(&follower, "it is not looked at", is_done);
    // Wherever it leads by now, what is watched is what is read.
    std::fs::remove_file(&link).unwrap();
    tree.write("b/b.py", "def b(): pass\n");
    wait(&follower, "a change is not followed", |_| {
        follower.tree("t").unwrap().len() == 2
    });
    let known = follower.tree("t").unwrap();
    assert_eq!(known.root(), tree.root().canonicalize().unwrap());
    assert_eq!(known.passed().links, 0);
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
        watch: soon(),
        cache: Some(folder.path().to_owned()),
        ..FollowOptions::default()
    };
    let follower = Follower::start(options).unwrap();
    two.write("b.py", "def b(): pass\n");
    let begun = Instant::now();
    let knows = |tree: &str, symbol: &str| {
        let known = follower.tree(tree).unwrap();
        !known.symbols_named(symbol).is_empty()
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
