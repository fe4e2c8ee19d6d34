//! Work trees that change: what an index says after each look is what it would say if it had begun then.

use std::collections::BTreeMap;

use proptest::prelude::*;
use sillok_code::{Changes, CodeIndex};

use crate::tree::{Tree, look, paths, said};

/// What somebody does to a work tree.
#[derive(Clone, Debug)]
enum Edit {
    Write(usize, usize),
    Remove(usize),
    Rename(usize, usize),
}

const PATHS: [&str; 26] = [
    "go.mod",
    "main.go",
    "store/a.go",
    "store/b.go",
    "Cargo.toml",
    "src/lib.rs",
    "src/store.rs",
    "src/store/mod.rs",
    "src/wire.rs",
    "web/client.ts",
    "web/util/index.ts",
    "py/app/main.py",
    "py/app/base.py",
    "py/app/__init__.py",
    "py/src/app.py",
    "src/main.rs",
    "src/store/wire.rs",
    "web/util.ts",
    "web/package.json",
    "web/src/index.ts",
    "c/main.c",
    "c/list.h",
    "include/list.h",
    "lib/c/list.h",
    "java/it/A.java",
    "java/it/B.java",
];

/// Texts that mean something in several places.
const TEXTS: [&str; 17] = [
    "module it\n",
    "package main\nimport \"it/store\"\nfunc main() { store.Open() }\n",
    "package store\nfunc Open() { open() }\nfunc open() {}\n",
    "[package]\nname = \"it\"\n",
    "mod store;\nmod wire;\nuse crate::store::open;\npub fn run() { open(); wire::send(); }\n",
    "pub fn open() { crate::wire::send(); }\npub fn send() {}\n",
    "use it::store::open;\npub fn send() { open() }\n",
    "import { close } from './util';\nexport function open() { close(); }\n",
    "export * from '../client';\nexport const close = () => open();\n",
    "from .base import open\nfrom app import main\ndef run(): open()\n",
    "#include \"list.h\"\n#include <c/list.h>\nint main(void) { return open(); }\n",
    "int open(void);\n",
    "{ \"name\": \"client\" }\n",
    "import { open } from 'client';\nimport x from 'client/util';\nopen();\n",
    "package it;\nimport it.B;\nimport other.*;\nclass A { void open() { B.open(); } }\n",
    "package other;\nimport it.*;\nimport other.B;\nclass B { static void open() {} }\n",
    "",
];

fn edit() -> impl Strategy<Value = Edit> {
    let path = 0..PATHS.len();
    prop_oneof![
        4 => (path.clone(), 0..TEXTS.len()).prop_map(|(path, text)| Edit::Write(path, text)),
        1 => path.clone().prop_map(Edit::Remove),
        2 => (path.clone(), path).prop_map(|(from, to)| Edit::Rename(from, to)),
    ]
}

/// Does it, and says at which paths.
fn carry_out(tree: &Tree, there: &mut BTreeMap<usize, usize>, edit: &Edit) -> Vec<&'static str> {
    match *edit {
        Edit::Write(path, text) => {
            tree.write(PATHS[path], TEXTS[text]);
            there.insert(path, text);
            vec![PATHS[path]]
        }
        Edit::Remove(path) if there.remove(&path).is_some() => {
            tree.remove(PATHS[path]);
            vec![PATHS[path]]
        }
        Edit::Rename(from, to) if from != to && there.contains_key(&from) => {
            tree.rename(PATHS[from], PATHS[to]);
            let text = there.remove(&from).unwrap();
            there.insert(to, text);
            vec![PATHS[from], PATHS[to]]
        }
        Edit::Remove(_) | Edit::Rename(..) => Vec::new(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(192))]

    #[test]
    fn an_index_that_follows_changes_says_what_one_made_anew_does(
        batches in proptest::collection::vec(proptest::collection::vec(edit(), 1..6), 1..6),
        looks_everywhere in any::<bool>(),
    ) {
        let tree = Tree::new(&[]);
        let mut there = BTreeMap::new();
        let mut index = tree.index();
        for batch in batches {
            let mut at = Vec::new();
            for edit in &batch {
                at.extend(carry_out(&tree, &mut there, edit));
            }
            let only = (!looks_everywhere).then(|| paths(&at));
            look(&mut index, "t", tree.root(), only);
            let anew = tree.index();
            prop_assert_eq!(said(index.tree("t").unwrap()), said(anew.tree("t").unwrap()));
            let totals = |index: &CodeIndex| index.tree("t").unwrap().totals();
            prop_assert_eq!(totals(&index), totals(&anew));
            prop_assert_eq!(index.contents_count(), anew.contents_count());
            prop_assert_eq!(index.content_bytes(), anew.content_bytes());
        }
    }
}

#[test]
fn one_changed_file_is_one_parse() {
    let tree = Tree::new(&[("a.py", "def a(): pass\n"), ("b.py", "def b(): pass\n")]);
    let mut index = tree.index();
    tree.write("a.py", "def c(): pass\n");
    let changes = look(&mut index, "t", tree.root(), Some(paths(&["a.py"])));
    let expected = Changes {
        changed: vec!["a.py".into()],
        read: 1,
        parsed: 1,
        looked_up: 1,
        ..Changes::default()
    };
    assert_eq!(changes, expected);
    // A file that was only touched is none that changed.
    tree.write("a.py", "def c(): pass\n");
    let changes = look(&mut index, "t", tree.root(), Some(paths(&["a.py"])));
    assert_eq!((changes.is_empty(), changes.parsed), (true, 0));
}

#[test]
fn a_file_with_another_name_is_not_parsed_again() {
    let tree = Tree::new(&[("a/one.py", "def a(): pass\n"), ("b.py", "def b(): pass\n")]);
    let mut index = tree.index();
    tree.rename("a/one.py", "c/two.py");
    let changes = look(&mut index, "t", tree.root(), Some(paths(&["a", "c"])));
    assert_eq!(changes.renamed, [("a/one.py".into(), "c/two.py".into())]);
    assert_eq!(
        (changes.parsed, changes.added.len(), changes.removed.len()),
        (0, 0, 0)
    );
}

#[test]
fn a_package_is_imported_whichever_of_its_files_come_and_go() {
    let main = "package main\nimport \"it/store\"\nfunc main() { store.Open() }\n";
    let tree = Tree::new(&[
        ("go.mod", "module it\n"),
        ("main.go", main),
        ("store/a.go", "package store\n"),
        ("store/b.go", "package store\nfunc Open() {}\n"),
    ]);
    let mut index = tree.index();
    let imported = |index: &CodeIndex| {
        let known = index.tree("t").unwrap();
        let imports = known.imports_of("main.go").into_iter();
        let paths: Vec<String> = imports.map(|(_, path, _)| path.to_string()).collect();
        let call = &known.file("main.go").unwrap().calls[0];
        (
            paths.join(" "),
            known.meaning_of("main.go", call).symbols.len(),
        )
    };
    assert_eq!(imported(&index), ("store/a.go store/b.go".to_owned(), 1));
    // The first of them stands for all.
    tree.remove("store/a.go");
    look(&mut index, "t", tree.root(), Some(paths(&["store/a.go"])));
    assert_eq!(imported(&index), ("store/b.go".to_owned(), 1));
    tree.write("store/0.go", "package store\n");
    look(&mut index, "t", tree.root(), Some(paths(&["store/0.go"])));
    assert_eq!(imported(&index), ("store/0.go store/b.go".to_owned(), 1));
    tree.remove("store/b.go");
    look(&mut index, "t", tree.root(), Some(paths(&["store/b.go"])));
    assert_eq!(imported(&index), ("store/0.go".to_owned(), 0));
}

#[test]
fn work_trees_share_what_is_equal_in_them() {
    let files = [("a.py", "def a(): pass\n"), ("b.py", "def b(): pass\n")];
    let (one, two) = (Tree::new(&files), Tree::new(&files));
    two.write("b.py", "def other(): pass\n");
    let mut index = CodeIndex::new();
    assert_eq!(look(&mut index, "one", one.root(), None).parsed, 2);
    assert_eq!(look(&mut index, "two", two.root(), None).parsed, 1);
    assert_eq!(index.contents_count(), 3);
    index.remove_tree("one");
    assert_eq!(index.contents_count(), 2);
    index.remove_tree("two");
    assert_eq!((index.contents_count(), index.content_bytes()), (0, 0));
}

#[test]
fn a_look_that_was_overtaken_is_not_put_in() {
    let tree = Tree::new(&[("a.py", "def a(): pass\n")]);
    let mut index = tree.index();
    let late = index.plan("t").unwrap();
    let late = late.look(None, std::time::SystemTime::now()).unwrap();
    tree.write("b.py", "");
    look(&mut index, "t", tree.root(), None);
    assert!(matches!(
        index.apply(late),
        Err(sillok_code::code_index::Error::Stale(_))
    ));
    assert_eq!(index.tree("t").unwrap().len(), 2);
}
