//! Which files of a work tree are read, and which are not.

use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::mpsc::channel;
use std::time::{Duration, SystemTime};

use sillok_code::walk::Error;
use sillok_code::{CodeIndex, Unread, WalkOptions};

use crate::tree::{Tree, look, paths};

fn listed(index: &CodeIndex) -> Vec<String> {
    let tree = index.tree("t").unwrap();
    tree.paths().map(ToString::to_string).collect()
}

fn pipe(path: &Path) {
    let made = std::process::Command::new("mkfifo").arg(path).status();
    assert!(made.unwrap().success());
}

/// Fails where an index is not there in time: what waits for the other end of a pipe waits for ever.
fn index_in_time(tree: &Tree, of: &str) -> CodeIndex {
    let (sender, receiver) = channel();
    let root = tree.root().to_owned();
    std::thread::spawn(move || {
        let mut index = CodeIndex::new();
        look(&mut index, "t", &root, None);
        sender.send(index)
    });
    let in_time = receiver.recv_timeout(Duration::from_secs(60));
    in_time.unwrap_or_else(|_| panic!("{of} is waited for"))
}

#[test]
fn what_git_ignores_and_what_is_configured_is_passed_over() {
    let tree = Tree::new(&[
        (".gitignore", "/target\n*.gen.rs\n!keep.gen.rs\n"),
        ("src/a.rs", ""),
        ("src/b.gen.rs", ""),
        ("src/keep.gen.rs", ""),
        ("src/inner/.gitignore", "c.rs\n"),
        ("src/inner/c.rs", ""),
        ("src/inner/d.rs", ""),
        ("target/x.rs", ""),
        ("web/a.test.ts", ""),
        ("web/a.ts", ""),
        ("web/dist/a.ts", ""),
        (".git/hooks/a.py", ""),
        (".hidden/a.py", ""),
        ("README.md", ""),
    ]);
    let expected = [
        ".hidden/a.py",
        "src/a.rs",
        "src/inner/d.rs",
        "src/keep.gen.rs",
        "web/a.ts",
    ];
    assert_eq!(listed(&tree.index()), expected);
}

#[test]
fn a_look_at_some_paths_keeps_to_the_same_rules() {
    let tree = Tree::new(&[(".gitignore", "out/\n"), ("src/a.rs", ""), ("lib/b.rs", "")]);
    let mut index = tree.index();
    tree.write("out/c.rs", "");
    tree.write("web/dist/d.ts", "");
    tree.write("src/e.rs", "");
    tree.write("lib/f.rs", "");
    let only = paths(&["out/c.rs", "web", "src/e.rs"]);
    let changes = look(&mut index, "t", tree.root(), Some(only));
    assert_eq!(changes.added, ["src/e.rs".into()]);
    // Another rule is a reason to look at all that lies beside it.
    tree.write(".gitignore", "src/\n");
    let changes = look(&mut index, "t", tree.root(), Some(paths(&[".gitignore"])));
    assert_eq!(changes.removed, ["src/a.rs".into(), "src/e.rs".into()]);
    assert_eq!(listed(&index), ["lib/b.rs", "lib/f.rs", "out/c.rs"]);
}

#[test]
fn links_are_not_followed_and_their_loops_have_no_end_to_find() {
    let outside = Tree::new(&[("secret.py", "password = 1")]);
    let tree = Tree::new(&[("a/b/c.py", "")]);
    symlink(tree.root(), tree.root().join("a/b/loop")).unwrap();
    symlink(outside.root(), tree.root().join("out")).unwrap();
    symlink(outside.root().join("secret.py"), tree.root().join("s.py")).unwrap();
    let index = tree.index();
    assert_eq!(listed(&index), ["a/b/c.py"]);
    assert_eq!(index.tree("t").unwrap().passed().links, 3);
}

#[test]
fn pipes_are_never_opened() {
    let tree = Tree::new(&[("a.py", "")]);
    pipe(&tree.root().join("pipe.py"));
    let mut index = tree.index();
    assert_eq!(listed(&index), ["a.py"]);
    assert_eq!(index.tree("t").unwrap().passed().special, 1);
    tree.remove("a.py");
    tree.rename("pipe.py", "a.py");
    look(&mut index, "t", tree.root(), Some(paths(&["a.py"])));
    assert!(listed(&index).is_empty());
}

#[test]
fn what_only_has_the_name_of_a_file_of_rules_is_never_waited_for() {
    let exclude = ".git/info/exclude";
    for name in [".gitignore", "src/.gitignore", ".ignore", ".git", exclude] {
        let tree = Tree::new(&[("src/a.py", "")]);
        let path = tree.root().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        pipe(&path);
        let index = index_in_time(&tree, name);
        assert_eq!(listed(&index), ["src/a.py"], "{name}");
        let is_rule = name.ends_with(".gitignore") || name == exclude;
        let rules = index.tree("t").unwrap().passed().rules;
        assert_eq!(rules, u64::from(is_rule), "{name}");
    }
    // What a file leads to may be one as well.
    let tree = Tree::new(&[(".git", "gitdir: .here\n"), ("a.py", "")]);
    std::fs::create_dir(tree.root().join(".here")).unwrap();
    pipe(&tree.root().join(".here/commondir"));
    assert_eq!(listed(&index_in_time(&tree, "commondir")), ["a.py"]);
    let tree = Tree::new(&[("a.py", "")]);
    symlink("/dev/zero", tree.root().join(".gitignore")).unwrap();
    let index = index_in_time(&tree, "a device");
    assert_eq!(index.tree("t").unwrap().passed().rules, 1);
}

#[test]
fn rules_over_a_bound_are_said_to_be_unread() {
    let tree = Tree::new(&[("a.py", ""), ("b/b.py", "")]);
    tree.write(".gitignore", format!("a.py\n#{}", "x".repeat(200_000)));
    tree.write("b/.gitignore", format!("{}b.py\n", "*.no\n".repeat(5_000)));
    let index = tree.index();
    assert_eq!(listed(&index), ["a.py", "b/b.py"]);
    assert_eq!(index.tree("t").unwrap().passed().rules, 2);
}

#[test]
fn rules_hold_from_the_repository_on_and_the_nearest_wins() {
    let tree = Tree::new(&[
        (".gitignore", "*.py\n"),
        ("it/.git/info/exclude", "secret/\n/in/top.py\n"),
        ("it/.gitignore", "*.gen.py\n/in/anchored.py\r\n"),
        (
            "it/in/.gitignore",
            "\u{feff}!keep.gen.py\nout/*\n!out/kept.py\n",
        ),
        ("it/in/a.py", ""),
        ("it/in/a.gen.py", ""),
        ("it/in/keep.gen.py", ""),
        ("it/in/anchored.py", ""),
        ("it/in/deep/anchored.py", ""),
        ("it/in/top.py", ""),
        ("it/in/secret/b.py", ""),
        ("it/in/out/c.py", ""),
        ("it/in/out/kept.py", ""),
    ]);
    let mut index = CodeIndex::new();
    look(&mut index, "t", &tree.root().join("it/in"), None);
    let expected = ["a.py", "deep/anchored.py", "keep.gen.py", "out/kept.py"];
    assert_eq!(listed(&index), expected);
}

#[test]
fn a_linked_work_tree_has_the_rules_of_its_repository() {
    let tree = Tree::new(&[
        ("main/.git/info/exclude", "out/\n"),
        ("main/.git/worktrees/it/commondir", "../..\n"),
        ("main/.git/worktrees/it/gitdir", "../../../../it/.git\n"),
        ("it/.git", "gitdir: ../main/.git/worktrees/it\n"),
        ("it/out/a.py", ""),
        ("it/b.py", ""),
    ]);
    let mut index = CodeIndex::new();
    look(&mut index, "t", &tree.root().join("it"), None);
    assert_eq!(listed(&index), ["b.py"]);
}

#[test]
fn a_file_that_stands_for_a_repository_is_believed_only_where_it_is_named_in_turn() {
    let tree = Tree::new(&[
        ("other/.git/info/exclude", "out/\n"),
        ("other/.git/worktrees/it/commondir", "../..\n"),
        ("other/.git/worktrees/it/gitdir", "/nowhere/.git\n"),
        ("it/.git", "gitdir: ../other/.git/worktrees/it\n"),
        ("it/out/a.py", ""),
    ]);
    let unread = || {
        let mut index = CodeIndex::new();
        look(&mut index, "t", &tree.root().join("it"), None);
        assert_eq!(listed(&index), ["out/a.py"]);
        index.tree("t").unwrap().passed().rules
    };
    assert_eq!(unread(), 1);
    // One that names itself, and leads to a repository of which it is none.
    tree.write("it/.git", "gitdir: own\n");
    tree.write("it/own/gitdir", "../.git\n");
    tree.write("it/own/commondir", "../../other/.git\n");
    assert_eq!(unread(), 1);
}

#[test]
fn names_that_are_no_text_are_counted() {
    let tree = Tree::new(&[("a.py", "")]);
    let name = std::ffi::OsStr::from_bytes(b"\xff\xfe.py");
    std::fs::write(tree.root().join(name), "").unwrap();
    std::fs::create_dir(tree.root().join(std::ffi::OsStr::from_bytes(b"d\xff"))).unwrap();
    let index = tree.index();
    assert_eq!(listed(&index), ["a.py"]);
    assert_eq!(index.tree("t").unwrap().passed().names, 2);
}

#[test]
fn a_walk_ends_at_its_bound_and_forgets_nothing_for_it() {
    let tree = Tree::new(&[]);
    for name in 0..50 {
        tree.write(&format!("{name}.py"), "");
    }
    let mut index = tree.index();
    assert_eq!(index.tree("t").unwrap().len(), 50);
    let bounded = WalkOptions {
        entries_max: 10,
        ..WalkOptions::default()
    };
    index.add_tree("bounded", tree.root(), bounded);
    let scanned = index.plan("bounded").unwrap().look(None, SystemTime::now());
    index.apply(scanned.unwrap()).unwrap();
    let cut = index.tree("bounded").unwrap();
    assert!(cut.is_cut() && cut.len() < 10);
    let few = WalkOptions {
        files_max: 7,
        ..WalkOptions::default()
    };
    index.add_tree("few", tree.root(), few);
    let scanned = index.plan("few").unwrap().look(None, SystemTime::now());
    index.apply(scanned.unwrap()).unwrap();
    let few = index.tree("few").unwrap();
    assert_eq!((few.len(), few.passed().files), (7, 43));
}

#[test]
fn what_is_refused_counts_towards_the_bound_of_a_walk_as_well() {
    let refused: [(&str, WalkOptions); 4] = [
        ("*.log\n", WalkOptions::default()),
        (
            "",
            WalkOptions {
                ignored: vec!["*.log".to_owned()],
                ..WalkOptions::default()
            },
        ),
        (
            "",
            WalkOptions {
                folders: vec!["src".to_owned()],
                ..WalkOptions::default()
            },
        ),
        ("", WalkOptions::default()),
    ];
    for (at, (rules, options)) in refused.into_iter().enumerate() {
        let tree = Tree::new(&[(".gitignore", rules)]);
        for name in 0..50 {
            tree.write(&format!("{name}.log"), "");
        }
        let walked = |entries_max| {
            let options = WalkOptions {
                entries_max,
                ..options.clone()
            };
            sillok_code::walk::walk(tree.root(), &options, None).unwrap()
        };
        assert!(walked(10).is_cut, "{at}");
        // The root and the file of rules are two more.
        assert!(walked(51).is_cut && !walked(52).is_cut, "{at}");
    }
}

#[test]
fn a_walk_that_is_cut_still_forgets_what_does_not_lie_there_any_more() {
    let tree = Tree::new(&[]);
    for name in 0..50 {
        // Each is another one: none is a file that was renamed.
        tree.write(&format!("d/{name}.py"), format!("x = {name}\n"));
    }
    let mut index = CodeIndex::new();
    let bounded = WalkOptions {
        entries_max: 10,
        ..WalkOptions::default()
    };
    index.add_tree("t", tree.root(), bounded);
    let look = |index: &mut CodeIndex, only| {
        let scanned = index.plan("t").unwrap().look(only, SystemTime::now());
        index.apply(scanned.unwrap()).unwrap()
    };
    look(&mut index, None);
    for only in [None, Some(paths(&["d"]))] {
        let known = listed(&index);
        assert!(index.tree("t").unwrap().is_cut() && known.len() > 1);
        tree.remove(&known[0]);
        let removed = look(&mut index, only).removed;
        assert_eq!(removed, [known[0].as_str().into()]);
        let still = listed(&index);
        assert!(known[1..].iter().all(|path| still.contains(path)));
    }
    // What was not asked for is left alone.
    let known = listed(&index);
    tree.remove(&known[0]);
    for name in 0..20 {
        tree.write(&format!("e/{name}.py"), "");
    }
    assert!(look(&mut index, Some(paths(&["e"]))).removed.is_empty());
}

#[test]
fn looks_at_single_files_list_no_more_than_all_of_them_may() {
    let tree = Tree::new(&[("a.py", ""), ("b.py", "")]);
    let mut index = CodeIndex::new();
    let few = WalkOptions {
        files_max: 2,
        ..WalkOptions::default()
    };
    index.add_tree("t", tree.root(), few);
    let look = |index: &mut CodeIndex, only: Option<&[&str]>| {
        let only = only.map(paths);
        let scanned = index.plan("t").unwrap().look(only, SystemTime::now());
        index.apply(scanned.unwrap()).unwrap()
    };
    look(&mut index, None);
    tree.write("c.py", "");
    let changes = look(&mut index, Some(&["c.py"]));
    assert!(changes.is_empty(), "{changes:?}");
    assert_eq!(index.tree("t").unwrap().passed().files, 1);
    tree.remove("a.py");
    tree.write("b.py", "def f(): pass\n");
    look(&mut index, Some(&["a.py", "b.py", "c.py"]));
    assert_eq!(listed(&index), ["b.py", "c.py"]);
    look(&mut index, None);
    assert_eq!(index.tree("t").unwrap().passed().files, 0);
}

#[test]
fn rules_at_the_root_concern_everything_and_what_was_passed_over_is_counted_anew() {
    let tree = Tree::new(&[("a.py", "")]);
    symlink("a.py", tree.root().join("b.py")).unwrap();
    let mut index = tree.index();
    assert_eq!(index.tree("t").unwrap().passed().links, 1);
    tree.remove("b.py");
    tree.write(".gitignore", "c.py\n");
    look(&mut index, "t", tree.root(), Some(paths(&[".gitignore"])));
    assert_eq!(index.tree("t").unwrap().passed().links, 0);
}

#[test]
fn only_the_folders_that_are_named_are_read() {
    let tree = Tree::new(&[
        (".gitignore", "*.gen.py\n"),
        ("a.py", ""),
        ("src/b.py", ""),
        ("src/b.gen.py", ""),
        ("src/deep/c.py", ""),
        ("srcs/d.py", ""),
        ("web/app/e.py", ""),
        ("web/f.py", ""),
    ]);
    let of = |folders: &[&str]| {
        let mut index = CodeIndex::new();
        let options = WalkOptions {
            folders: folders.iter().map(ToString::to_string).collect(),
            ..WalkOptions::default()
        };
        options.check().unwrap();
        index.add_tree("t", tree.root(), options);
        let scanned = index.plan("t").unwrap().look(None, SystemTime::now());
        index.apply(scanned.unwrap()).unwrap();
        listed(&index)
    };
    assert_eq!(of(&["./src"]), ["src/b.py", "src/deep/c.py"]);
    let two = ["src/b.py", "src/deep/c.py", "web/app/e.py"];
    assert_eq!(of(&["web/app/", "src", "none"]), two);
    assert_eq!(of(&["src/b.py"]), ["src/b.py"]);
    assert!(of(&["none"]).is_empty());
    assert_eq!(of(&["."]), of(&[]));
    assert_eq!(of(&[]).len(), 6);
}

#[test]
fn what_cannot_be_kept_to_is_told_before_anything_is_walked() {
    let default = WalkOptions::default();
    assert!(default.check().is_ok());
    for glob in ["a[", "{a"] {
        let options = WalkOptions {
            ignored: vec![glob.to_owned()],
            ..default.clone()
        };
        assert!(matches!(options.check(), Err(Error::Glob(_))), "{glob}");
    }
    for folder in ["/etc", "..", "src/../..", "src/../src"] {
        let options = WalkOptions {
            folders: vec![folder.to_owned()],
            ..default.clone()
        };
        assert!(matches!(options.check(), Err(Error::Folder(_))), "{folder}");
    }
    let many = vec!["a".to_owned(); 257];
    let options = WalkOptions {
        ignored: many.clone(),
        ..default.clone()
    };
    assert!(matches!(options.check(), Err(Error::Globs(257))));
    let options = WalkOptions {
        folders: many,
        ..default
    };
    assert!(matches!(options.check(), Err(Error::Folders(257))));
}

#[test]
fn a_long_file_is_listed_and_not_read() {
    let tree = Tree::new(&[("a.py", "def f(): pass\n")]);
    tree.write("long.py", "x = 1\n".repeat(400_000));
    let index = tree.index();
    let tree = index.tree("t").unwrap();
    assert_eq!(tree.unread("long.py"), Some(Unread::TooLarge));
    assert_eq!(
        (
            tree.unread("a.py"),
            tree.file("a.py").unwrap().symbols.len()
        ),
        (None, 1)
    );
}

#[test]
fn a_root_that_is_no_folder_is_an_error() {
    let tree = Tree::new(&[("a.py", "")]);
    let mut index = CodeIndex::new();
    index.add_tree("t", &tree.root().join("a.py"), WalkOptions::default());
    assert!(
        index
            .plan("t")
            .unwrap()
            .look(None, SystemTime::now())
            .is_err()
    );
    let options = WalkOptions {
        ignored: vec!["a[".to_owned()],
        ..WalkOptions::default()
    };
    index.add_tree("t", tree.root(), options);
    assert!(
        index
            .plan("t")
            .unwrap()
            .look(None, SystemTime::now())
            .is_err()
    );
}
