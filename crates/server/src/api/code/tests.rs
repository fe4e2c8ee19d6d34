//! What is told of a small work tree, beside what its files hold.

use std::fs;
use std::path::Path;
use std::time::SystemTime;

use sillok_code::{CodeIndex, WalkOptions, WorkTree};
use sillok_core::decision::Node;
use sillok_core::recall::mark_as_data;
use sillok_core::scope::Scope;

use super::*;
use crate::code::Seen;
use crate::graph::{CodeAsked, CodeParts};

const SCOPE: &str = "org/a/project/p";

const GOING_ON: &dyn Fn() -> bool = &|| false;

/// A key of which no file of the project holds the whole.
fn key() -> String {
    ["gh", "p_", "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7aB3dE6gH9"].concat()
}

fn look(root: &Path, files: &[(&str, &str)]) -> CodeIndex {
    for (path, text) in files {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let mut index = CodeIndex::new();
    index.add_tree(SCOPE, root, WalkOptions::default());
    let plan = index.plan(SCOPE).unwrap();
    index
        .apply(plan.look(None, SystemTime::now()).unwrap())
        .unwrap();
    index
}

/// What is answered of a work tree of these files.
fn of<T>(files: &[(&str, &str)], ask: impl FnOnce(&Seen<'_>) -> T) -> T {
    let folder = tempfile::tempdir().unwrap();
    let index = look(folder.path(), files);
    let tree: &WorkTree = index.tree(SCOPE).unwrap();
    ask(&Seen {
        scope: &Scope::parse(SCOPE).unwrap(),
        tree,
        is_partial: false,
        failed: None,
        parsed: 0,
    })
}

fn symbols(seen: &Seen<'_>, file: Option<&str>, name: Option<&str>) -> SymbolsFound {
    let query = SymbolsQuery {
        scope: SCOPE.to_owned(),
        file: file.map(str::to_owned),
        name: name.map(str::to_owned),
        limit: None,
    };
    SymbolsFound::of(seen, &query.parse().unwrap(), GOING_ON).unwrap()
}

fn dependents(seen: &Seen<'_>, of: &str) -> Result<CodeDependents, Error> {
    let query = DependentsQuery {
        scope: SCOPE.to_owned(),
        of: of.to_owned(),
        ..DependentsQuery::default()
    };
    CodeDependents::of(seen, &query.parse().unwrap(), GOING_ON)
}

fn parts(seen: &Seen<'_>, spoken_of: &[Node]) -> CodeParts {
    let asked = CodeAsked {
        under: String::new(),
        spoken_of,
        is_over: GOING_ON,
    };
    CodeParts::of(seen.tree, asked).unwrap()
}

#[test]
fn every_node_that_is_answered_is_read_again_as_what_it_is() {
    let files = [
        (
            "a.ts",
            "export function f() {}\ndeclare module '@x/y' { export function g(): void; }\n",
        ),
        (
            "b\\c.ts",
            "import { f } from './a';\nfunction h() { f(); }\n",
        ),
        (
            "d\ne.ts",
            "import { f } from './a';\nfunction i() { f(); }\n",
        ),
        (
            "j@k.ts",
            "import { f } from './a';\nfunction l() { f(); }\n",
        ),
    ];
    of(&files, |seen| {
        let mut nodes = parts(seen, &[]).nodes;
        let found = dependents(seen, "file:a.ts").unwrap();
        for one in &found.dependents {
            nodes.extend([one.node.clone(), one.from.clone()]);
        }
        nodes.extend(found.of);
        let found = symbols(seen, Some("a.ts"), None);
        nodes.extend(found.symbols.into_iter().map(|symbol| symbol.node));
        for node in &nodes {
            node.check().unwrap();
        }
        // What can be named is told, and the rest is counted.
        assert!(nodes.contains(&Node::symbol("l", Some("j@k.ts")).unwrap()));
        let view = WorkTreeView::of(seen);
        assert_eq!((view.files, view.passed["names"]), (2, 2), "{view:?}");
        assert!(view.left_out["names"] > 0, "{view:?}");
    });
}

#[test]
fn a_key_in_a_signature_is_masked_and_what_is_told_is_marked_as_data() {
    let text = format!("def f(at, password=\"{}\"):\n    pass\n", key());
    of(&[("a.py", text.as_str())], |seen| {
        let found = symbols(seen, None, Some("f"));
        let signature = &found.symbols[0].signature;
        assert!(signature.contains("[masked:"), "{signature}");
        assert!(!signature.contains(&key()), "{signature}");
        let said = format!("a.py:1 function f: {signature}");
        assert_eq!(found.data_marked_text, mark_as_data(&said));
    });
}

#[test]
fn what_is_cut_or_not_understood_of_a_file_is_counted() {
    let deep = "function f() {".repeat(60) + &"}".repeat(60);
    let files = [
        ("a.py", "class A(:\n"),
        ("b.js", deep.as_str()),
        ("c.py", ""),
    ];
    of(&files, |seen| {
        let view = WorkTreeView::of(seen);
        assert_eq!(view.files, 3);
        assert_eq!(view.left_out["errors"], 1, "{view:?}");
        assert_eq!(view.left_out["cut"], 1, "{view:?}");
        assert!(view.left_out["symbols"] > 0, "{view:?}");
    });
}

#[test]
fn a_question_whose_time_is_over_says_so() {
    let files = [
        ("a.py", "def f():\n    pass\n"),
        ("b.py", "from a import f\n\n\ndef g():\n    f()\n"),
    ];
    of(&files, |seen| {
        let over: &dyn Fn() -> bool = &|| true;
        let query = SymbolsQuery {
            scope: SCOPE.to_owned(),
            name: Some("f".to_owned()),
            ..SymbolsQuery::default()
        };
        let found = SymbolsFound::of(seen, &query.parse().unwrap(), over).unwrap();
        assert!(found.cut, "{found:?}");
        let ask = |of: &str| {
            let query = DependentsQuery {
                scope: SCOPE.to_owned(),
                of: of.to_owned(),
                ..DependentsQuery::default()
            };
            CodeDependents::of(seen, &query.parse().unwrap(), over)
        };
        let found = ask("symbol:f@a.py").unwrap();
        assert_eq!(found.cut[0].reason, CodeCutReason::Time, "{found:?}");
        // Whatever has the name may be among those that were not found.
        assert_eq!(ask("symbol:f").unwrap_err().code, ErrorCode::TooLarge);
        let asked = CodeAsked {
            under: String::new(),
            spoken_of: &[],
            is_over: over,
        };
        let refused = CodeParts::of(seen.tree, asked).unwrap_err();
        assert_eq!(refused.code, ErrorCode::TooLarge);
        assert!(refused.message.contains("time"), "{refused}");
    });
}

#[test]
fn what_is_asked_about_is_not_told_as_its_own_dependent() {
    let files = [
        ("a.py", "def run():\n    pass\n"),
        (
            "b.py",
            "from a import run as first\n\n\ndef run():\n    first()\n",
        ),
        ("c.py", "from b import run\n\n\ndef go():\n    run()\n"),
    ];
    of(&files, |seen| {
        let found = dependents(seen, "symbol:run").unwrap();
        assert_eq!(found.of.len(), 2, "{found:?}");
        for one in &found.dependents {
            assert!(!found.of.contains(&one.node), "{found:?}");
        }
        let go = Node::symbol("go", Some("c.py")).unwrap();
        assert!(
            found.dependents.iter().any(|one| one.node == go),
            "{found:?}"
        );
        let refused = dependents(seen, "symbol:none").unwrap_err();
        assert_eq!(refused.code, ErrorCode::NotFound);
    });
}

#[test]
fn what_is_told_of_dependents_is_marked_as_data_without_keys_and_each_start_once() {
    let secret = key();
    let module = format!("declare module '{secret}' {{ export function g(): void; }}\n");
    let path = format!("src/{secret}.ts");
    let files = [
        ("a.ts", "export function f(): void {}\n"),
        (
            "b.ts",
            "import { f } from './a';\nexport function go() { f(); }\n",
        ),
        ("c.ts", module.as_str()),
        (path.as_str(), "export function h(): void {}\n"),
        (
            "d.rs",
            "struct A;\nimpl A {\n    fn new() {}\n}\nstruct B;\nimpl B {\n    fn new() {}\n}\n\
             impl A {\n    fn new() {}\n}\n",
        ),
    ];
    of(&files, |seen| {
        let found = dependents(seen, "symbol:f@a.ts").unwrap();
        let line = "symbol:go@b.ts calls symbol:f@a.ts";
        assert_eq!(found.data_marked_text, mark_as_data(line), "{found:?}");
        // What holds a key is passed over, and counted.
        let told = format!("{:?}", parts(seen, &[]).nodes);
        assert!(!told.contains(&secret), "{told}");
        let view = WorkTreeView::of(seen);
        assert_eq!((view.files, view.passed["names"]), (4, 1), "{view:?}");
        assert_eq!(view.left_out["names"], 1, "{view:?}");
        let found = dependents(seen, "symbol:new@d.rs").unwrap();
        let named = |name: &str| Node::symbol(name, Some("d.rs")).unwrap();
        assert_eq!(found.of, [named("A::new"), named("B::new")], "{found:?}");
    });
}

#[test]
fn a_decision_means_the_one_symbol_that_is_called_so() {
    let files = [(
        "a.rs",
        "pub struct Client;\nimpl Client {\n    pub fn read(&self) {}\n    pub fn new() {}\n}\n\
         pub struct Server;\nimpl Server {\n    pub fn new() {}\n}\npub fn start() {}\n\
         impl Server {\n    pub fn start(&self) {}\n}\n",
    )];
    let symbol = |name: &str, file| Node::symbol(name, file).unwrap();
    let here = Some("a.rs");
    let spoken = [
        ("read", here, Some("Client::read")),
        ("Client::read", here, Some("Client::read")),
        ("read", None, Some("Client::read")),
        ("new", here, None),
        ("new", None, None),
        ("Server::new", None, Some("Server::new")),
        // What has the whole name comes before what ends with it.
        ("start", here, Some("start")),
        ("start", None, Some("start")),
        ("read", Some("b.rs"), None),
    ];
    let nodes: Vec<Node> = spoken
        .iter()
        .map(|(name, file, _)| symbol(name, *file))
        .collect();
    of(&files, |seen| {
        let parts = parts(seen, &nodes);
        for (node, (.., means)) in nodes.iter().zip(spoken) {
            let meant = parts.meant.get(node).map(|place| &parts.nodes[*place]);
            let means = means.map(|name| symbol(name, here));
            assert_eq!(meant, means.as_ref(), "{node}");
        }
    });
}
