//! What imports and calls mean, and what depends on what.

use sillok_code::{
    CodeEdgeKind, CodeGraphLimits, CodeNode, CutReason, Dependents, DependentsLimits, GraphCut,
    Relation, SymbolRef, WorkTree,
};

use crate::tree::Tree;

/// The files that a file imports from, each with whether that is certain.
fn imported(tree: &WorkTree, path: &str) -> Vec<(String, bool)> {
    let mut of: Vec<_> = tree
        .imports_of(path)
        .into_iter()
        .map(|(_, path, is_certain)| (path.to_string(), is_certain))
        .collect();
    of.sort();
    of.dedup();
    of
}

/// What the call of a name in a file means, as `path name`.
fn meant(tree: &WorkTree, path: &str, callee: &str) -> (Vec<String>, bool) {
    let file = tree.file(path).unwrap();
    let call = file
        .calls
        .iter()
        .find(|call| &*call.callee == callee)
        .unwrap();
    let meaning = tree.meaning_of(path, call);
    let symbols = meaning
        .symbols
        .iter()
        .map(|it| format!("{} {}", it.path, name(tree, it)));
    (symbols.collect(), meaning.is_certain)
}

fn name(tree: &WorkTree, symbol: &SymbolRef) -> String {
    tree.symbol(symbol).unwrap().name.to_string()
}

/// The time of a question that may take as long as it takes.
pub(crate) fn never() -> bool {
    false
}

fn certain(of: &[&str]) -> (Vec<String>, bool) {
    (of.iter().map(ToString::to_string).collect(), true)
}

fn targets(of: &[&str]) -> Vec<(String, bool)> {
    of.iter().map(|path| ((*path).to_owned(), true)).collect()
}

#[test]
fn imports_of_rust_lead_to_the_files_of_modules() {
    let tree = Tree::new(&[
        ("crates/a/Cargo.toml", "[package]\nname = \"the-a\"\n"),
        (
            "crates/a/src/lib.rs",
            "pub mod store;\nmod wire;\npub use store::open;\n",
        ),
        (
            "crates/a/src/store.rs",
            "pub mod log;\nuse super::wire;\npub fn open() { log::start(); wire::send(); }\n",
        ),
        (
            "crates/a/src/store/log.rs",
            "use crate::wire::send;\npub fn start() { send() }\n",
        ),
        (
            "crates/a/src/wire.rs",
            "pub fn send() {}\n#[cfg(test)]\nmod tests { use super::*; fn t() { send() } }\n",
        ),
        (
            "crates/b/src/main.rs",
            "use the_a::store::open;\nfn main() { open(); the_a::store::log::start(); other::f(); }\n",
        ),
    ]);
    let index = tree.index();
    let tree = index.tree("t").unwrap();
    let a = |file: &str| format!("crates/a/src/{file}");
    assert_eq!(
        imported(tree, &a("lib.rs")),
        targets(&[&a("store.rs"), &a("wire.rs")])
    );
    assert_eq!(
        imported(tree, &a("store.rs")),
        targets(&[&a("store/log.rs"), &a("wire.rs")])
    );
    assert_eq!(
        imported(tree, &a("store/log.rs")),
        targets(&[&a("wire.rs")])
    );
    assert!(imported(tree, &a("wire.rs")).is_empty());
    let main = "crates/b/src/main.rs";
    assert_eq!(imported(tree, main), targets(&[&a("store.rs")]));
    assert_eq!(
        meant(tree, main, "open"),
        certain(&["crates/a/src/store.rs open"])
    );
    assert_eq!(
        meant(tree, main, "start"),
        certain(&["crates/a/src/store/log.rs start"])
    );
    assert_eq!(
        meant(tree, &a("store.rs"), "send"),
        certain(&["crates/a/src/wire.rs send"])
    );
    assert_eq!(
        meant(tree, &a("wire.rs"), "send"),
        certain(&["crates/a/src/wire.rs send"])
    );
    assert_eq!(meant(tree, main, "f").0, [""; 0]);
}

#[test]
fn imports_of_typescript_lead_to_modules_and_packages() {
    let tree = Tree::new(&[
        ("packages/lib/package.json", "{\"name\": \"@it/lib\"}"),
        (
            "packages/lib/src/index.ts",
            "export * from './deep';\nexport class Client { read() { return this.step(); } step() {} }\n",
        ),
        (
            "packages/lib/src/deep/index.tsx",
            "export const go = () => 1;\n",
        ),
        (
            "app/main.ts",
            "import { Client as C } from '@it/lib';\nimport * as u from './util.js';\nimport x from 'react';\nnew C(); u.help(); x();\n",
        ),
        ("app/util.ts", "export function help() {}\n"),
    ]);
    let index = tree.index();
    let tree = index.tree("t").unwrap();
    let lib = "packages/lib/src/index.ts";
    assert_eq!(
        imported(tree, "app/main.ts"),
        targets(&["app/util.ts", lib])
    );
    assert_eq!(
        imported(tree, lib),
        targets(&["packages/lib/src/deep/index.tsx"])
    );
    assert_eq!(
        meant(tree, "app/main.ts", "C"),
        certain(&["packages/lib/src/index.ts Client"])
    );
    assert_eq!(
        meant(tree, "app/main.ts", "help"),
        certain(&["app/util.ts help"])
    );
    assert_eq!(meant(tree, "app/main.ts", "x").0, [""; 0]);
    assert_eq!(
        meant(tree, lib, "step"),
        certain(&["packages/lib/src/index.ts Client.step"])
    );
}

#[test]
fn imports_of_python_lead_to_modules() {
    let tree = Tree::new(&[
        ("py/src/app/__init__.py", ""),
        (
            "py/src/app/main.py",
            "from app.models import User\nfrom . import base\nimport app.models as m\nUser()\nbase.go()\nm.load()\nopen()\n",
        ),
        (
            "py/src/app/models.py",
            "class User: pass\ndef load(): pass\n",
        ),
        ("py/src/app/base.py", "def go(): pass\ndef open(): pass\n"),
    ]);
    let index = tree.index();
    let tree = index.tree("t").unwrap();
    let main = "py/src/app/main.py";
    assert_eq!(
        imported(tree, main),
        targets(&["py/src/app/base.py", "py/src/app/models.py"])
    );
    assert_eq!(
        meant(tree, main, "User"),
        certain(&["py/src/app/models.py User"])
    );
    assert_eq!(meant(tree, main, "go"), certain(&["py/src/app/base.py go"]));
    assert_eq!(
        meant(tree, main, "load"),
        certain(&["py/src/app/models.py load"])
    );
    // What is not imported may be what the language has.
    assert_eq!(
        meant(tree, main, "open"),
        (vec!["py/src/app/base.py open".to_owned()], false)
    );
}

#[test]
fn imports_of_go_java_and_c_lead_to_files() {
    let tree = Tree::new(&[
        ("go/go.mod", "module example.com/it\n"),
        (
            "go/main.go",
            "package main\nimport \"example.com/it/store\"\nfunc main() { store.Open(); help() }\n",
        ),
        ("go/help.go", "package main\nfunc help() {}\n"),
        ("go/store/a.go", "package store\nfunc Open() {}\n"),
        ("go/store/b.go", "package store\n"),
        ("go/store/b_test.go", "package store\n"),
        (
            "j/com/it/A.java",
            "package com.it;\nimport com.it.deep.B;\nclass A { void a() { new B().b(); C.c(); } }\n",
        ),
        (
            "j/com/it/C.java",
            "package com.it;\nclass C { static void c() {} }\n",
        ),
        (
            "j/com/it/deep/B.java",
            "package com.it.deep;\npublic class B { void b() {} }\n",
        ),
        (
            "c/main.c",
            "#include \"list.h\"\n#include <stdio.h>\nint main() { return list_size(); }\n",
        ),
        ("c/list.h", "int list_size(void);\n"),
        (
            "c/list.c",
            "#include \"list.h\"\nint list_size(void) { return 0; }\n",
        ),
    ]);
    let index = tree.index();
    let tree = index.tree("t").unwrap();
    assert_eq!(
        imported(tree, "go/main.go"),
        targets(&["go/store/a.go", "go/store/b.go"])
    );
    assert_eq!(
        meant(tree, "go/main.go", "Open"),
        certain(&["go/store/a.go Open"])
    );
    assert_eq!(
        meant(tree, "go/main.go", "help"),
        certain(&["go/help.go help"])
    );
    assert_eq!(
        imported(tree, "j/com/it/A.java"),
        targets(&["j/com/it/deep/B.java"])
    );
    assert_eq!(
        meant(tree, "j/com/it/A.java", "B"),
        certain(&["j/com/it/deep/B.java B"])
    );
    assert_eq!(
        meant(tree, "j/com/it/A.java", "c"),
        certain(&["j/com/it/C.java C.c"])
    );
    assert_eq!(
        meant(tree, "j/com/it/A.java", "b"),
        (vec!["j/com/it/deep/B.java B.b".to_owned()], false)
    );
    assert_eq!(imported(tree, "c/main.c"), targets(&["c/list.h"]));
    assert_eq!(
        meant(tree, "c/main.c", "list_size"),
        certain(&["c/list.c list_size"])
    );
}

#[test]
fn what_several_symbols_may_mean_stays_open_and_what_too_many_do_says_nothing() {
    let tree = Tree::new(&[("main.py", "def run(x): x.step()\n")]);
    for number in 0..20 {
        tree.write(
            &format!("m{number}.py"),
            "class A:\n    def step(self): pass\n",
        );
        let index = tree.index();
        let known = index.tree("t").unwrap();
        let (symbols, is_certain) = meant(known, "main.py", "step");
        let expected = if number < 16 { number + 1 } else { 0 };
        assert_eq!((symbols.len(), is_certain), (expected, false));
        let call = &known.file("main.py").unwrap().calls[0];
        assert_eq!(known.meaning_of("main.py", call).is_cut, number >= 16);
    }
}

/// A chain of modules, each of which calls the one before it, and the last the first: a cycle.
fn chain(length: usize) -> Tree {
    let tree = Tree::new(&[]);
    for at in 0..length {
        let before = (at + length - 1) % length;
        tree.write(
            &format!("m{at:03}.py"),
            format!("from m{before:03} import f{before}\ndef f{at}(): f{before}()\n"),
        );
    }
    tree
}

pub(crate) fn symbol(tree: &WorkTree, name: &str) -> CodeNode {
    CodeNode::Symbol(tree.symbols_named(name).remove(0))
}

fn functions(tree: &WorkTree, found: &Dependents) -> Vec<(String, u32)> {
    let calls = found.all.iter().filter(|it| it.relation == Relation::Calls);
    calls
        .map(|it| match &it.node {
            CodeNode::Symbol(symbol) => (name(tree, symbol), it.depth),
            CodeNode::File(path) => (path.to_string(), it.depth),
        })
        .collect()
}

#[test]
fn what_depends_is_found_breadth_first_and_a_cycle_ends() {
    let tree = chain(5);
    let index = tree.index();
    let tree = index.tree("t").unwrap();
    let found = tree
        .dependents(&symbol(tree, "f0"), DependentsLimits::default(), &never)
        .unwrap();
    let expected = ["f1", "f2", "f3", "f4"].map(str::to_owned);
    assert_eq!(
        functions(tree, &found),
        expected.into_iter().zip(1..).collect::<Vec<_>>()
    );
    assert_eq!(found.cut, None);
    let imports = |of: &str| {
        let of = CodeNode::File(of.into());
        let found = tree
            .dependents(&of, DependentsLimits::default(), &never)
            .unwrap();
        let files = found
            .all
            .iter()
            .filter(|it| it.relation == Relation::Imports);
        files
            .map(|it| (it.node.clone(), it.depth))
            .collect::<Vec<_>>()
    };
    assert!(imports("m000.py").contains(&(CodeNode::File("m001.py".into()), 1)));
    assert!(
        imports("m000.py")
            .iter()
            .any(|(node, _)| *node == CodeNode::File("m004.py".into()))
    );
    assert_eq!(
        tree.dependents(
            &CodeNode::File("none.py".into()),
            DependentsLimits::default(),
            &never
        ),
        None
    );
}

#[test]
fn what_is_cut_off_is_named() {
    let tree = chain(30);
    let index = tree.index();
    let tree = index.tree("t").unwrap();
    let of = symbol(tree, "f0");
    let default = DependentsLimits::default();
    let deep = tree.dependents(&of, default, &never).unwrap();
    let cut = deep.cut.unwrap();
    assert_eq!(cut.reason, CutReason::Depth);
    assert!(cut.first.contains(&symbol(tree, "f8")), "{:?}", cut.first);
    let nodes_max = 3;
    let few = tree
        .dependents(
            &of,
            DependentsLimits {
                nodes_max,
                ..default
            },
            &never,
        )
        .unwrap();
    assert_eq!(
        (few.all.len(), few.cut.unwrap().reason),
        (3, CutReason::Nodes)
    );
    let lookups_max = 2;
    let short = tree
        .dependents(
            &of,
            DependentsLimits {
                lookups_max,
                ..default
            },
            &never,
        )
        .unwrap();
    assert_eq!(short.cut.unwrap().reason, CutReason::Lookups);
}

#[test]
fn from_what_is_uncertain_the_walk_does_not_go_on() {
    let tree = Tree::new(&[
        ("a.py", "class A:\n    def step(self): pass\n"),
        ("b.py", "def run(x): x.step()\ndef main(): run(1)\n"),
    ]);
    let index = tree.index();
    let tree = index.tree("t").unwrap();
    let found = tree
        .dependents(&symbol(tree, "A.step"), DependentsLimits::default(), &never)
        .unwrap();
    let told: Vec<_> = found
        .all
        .iter()
        .map(|it| (it.is_certain, it.depth))
        .collect();
    assert_eq!(told, [(false, 1)]);
}

#[test]
fn a_work_tree_is_nodes_and_edges_as_far_as_there_is_room() {
    let tree = Tree::new(&[
        (
            "lib/b.py",
            "class B:\n    def run(self): pass\ndef go(): pass\n",
        ),
        ("a.py", "from lib.b import go\ndef main(): go()\nmain()\n"),
    ]);
    let index = tree.index();
    let tree = index.tree("t").unwrap();
    let said = |limits: &CodeGraphLimits| {
        let graph = tree.graph(limits, &never);
        let written = |at: usize| match &graph.nodes[at] {
            CodeNode::File(path) => path.to_string(),
            CodeNode::Symbol(symbol) => name(tree, symbol),
        };
        let edges = graph.edges.iter();
        let mut edges: Vec<String> = edges
            .map(|it| format!("{} {:?} {}", written(it.from), it.kind, written(it.to)))
            .collect();
        edges.sort();
        (edges, graph.cut)
    };
    let all = CodeGraphLimits::of(100, 100);
    let expected = [
        "B Contains B.run",
        "a.py Calls main",
        "a.py Contains main",
        "a.py Imports lib/b.py",
        "lib/b.py Contains B",
        "lib/b.py Contains go",
        "main Calls go",
    ];
    assert_eq!(said(&all), (expected.map(str::to_owned).to_vec(), None));
    let under = CodeGraphLimits {
        under: "lib".to_owned(),
        ..all.clone()
    };
    assert_eq!(said(&under).0.len(), 3);
    assert_eq!(said(&CodeGraphLimits::of(3, 100)).1, Some(GraphCut::Room));
    let graph = tree.graph(&CodeGraphLimits::of(100, 2), &never);
    assert_eq!((graph.cut, graph.edges.len()), (Some(GraphCut::Room), 2));
    assert!(
        graph
            .edges
            .iter()
            .all(|edge| edge.kind != CodeEdgeKind::Calls || edge.is_certain)
    );
}

#[test]
fn a_package_that_is_imported_as_one_is_each_of_its_files() {
    let tree = Tree::new(&[
        ("go.mod", "module example.com/it\n"),
        ("store/a.go", "package store\nfunc Open() {}\n"),
        ("store/b.go", "package store\nfunc Close() {}\n"),
        ("store/b_test.go", "package store\nfunc Test() {}\n"),
        ("store/deep/c.go", "package deep\n"),
        (
            "main.go",
            "package main\nimport \"example.com/it/store\"\nfunc main() { store.Close() }\n",
        ),
    ]);
    let index = tree.index();
    let tree = index.tree("t").unwrap();
    let on = |path: &str| {
        let of = CodeNode::File(path.into());
        let found = tree.dependents(&of, DependentsLimits::default(), &never);
        let found = found.unwrap().all.into_iter();
        let imports = found.filter(|it| it.relation == Relation::Imports);
        imports.map(|it| it.node).collect::<Vec<_>>()
    };
    let main = CodeNode::File("main.go".into());
    assert_eq!(
        (on("store/a.go"), on("store/b.go")),
        (vec![main.clone()], vec![main])
    );
    assert!(on("store/b_test.go").is_empty() && on("store/deep/c.go").is_empty());
    assert_eq!(
        meant(tree, "main.go", "Close"),
        certain(&["store/b.go Close"])
    );
    let graph = tree.graph(&CodeGraphLimits::of(100, 100), &never);
    let imports = graph
        .edges
        .iter()
        .filter(|it| it.kind == CodeEdgeKind::Imports);
    assert_eq!(imports.count(), 2);
}
