//! Questions that are too much, or take too long: they end, and what they say until then is true.

use std::cell::Cell;

use sillok_code::{CodeGraphLimits, CodeNode, CutReason, DependentsLimits, GraphCut};

use crate::graph::{never, symbol};
use crate::tree::Tree;

/// Two functions of one name, which two files call: neither call is certain. And one that is called by itself.
fn of_two_meanings() -> Tree {
    Tree::new(&[
        ("a.c", "void go(void) { }\nvoid one(void) { go(); }\n"),
        ("b.c", "void go(void) { }\n"),
        (
            "main.c",
            "#include \"a.h\"\nvoid run(void) { go(); one(); }\n",
        ),
        ("a.h", "void one(void);\n"),
        ("x.py", "def f(a): a.step(); f(a)\n"),
        ("y.py", "class A:\n    def step(self): pass\n"),
        ("z.py", "class B:\n    def step(self): pass\n"),
    ])
}

#[test]
fn what_is_certain_of_a_cut_graph_is_certain_of_the_whole_one() {
    let tree = of_two_meanings();
    let index = tree.index();
    let tree = index.tree("t").unwrap();
    let edges = |lookups_max: usize| {
        let limits = CodeGraphLimits {
            lookups_max,
            ..CodeGraphLimits::of(100, 100)
        };
        let graph = tree.graph(&limits, &never);
        let node = |at: usize| graph.nodes[at].clone();
        let edges = graph.edges.iter();
        let edges = edges.map(|it| (node(it.from), it.kind, node(it.to), it.is_certain));
        (edges.collect::<Vec<_>>(), graph.cut)
    };
    let (whole, cut) = edges(usize::MAX);
    assert_eq!(cut, None);
    assert!(whole.iter().any(|(.., is_certain)| !is_certain));
    let mut cuts = 0;
    for lookups_max in 0.. {
        let (some, cut) = edges(lookups_max);
        let Some(cut) = cut else {
            assert_eq!(some, whole);
            break;
        };
        assert_eq!(cut, GraphCut::Lookups);
        for edge in &some {
            assert!(!edge.3 || whole.contains(edge), "{lookups_max}: {edge:?}");
        }
        cuts += 1;
    }
    assert!(cuts > 20);
}

#[test]
fn what_depends_for_certain_does_so_however_little_was_looked_at() {
    let tree = of_two_meanings();
    let index = tree.index();
    let tree = index.tree("t").unwrap();
    for name in ["go", "one", "A.step", "f"] {
        let of = symbol(tree, name);
        let found = |lookups_max: usize| {
            let limits = DependentsLimits {
                lookups_max,
                ..DependentsLimits::default()
            };
            let found = tree.dependents(&of, limits, &never).unwrap();
            let certain = found.all.iter().filter(|it| it.is_certain);
            let certain = certain.map(|it| it.node.clone());
            (certain.collect::<Vec<_>>(), found.cut.map(|cut| cut.reason))
        };
        let (whole, cut) = found(usize::MAX);
        assert_eq!(cut, None);
        for lookups_max in 0.. {
            let (some, cut) = found(lookups_max);
            assert!(some.iter().all(|it| whole.contains(it)), "{name}");
            if cut.is_none() {
                assert_eq!(some, whole, "{name}");
                break;
            }
            assert_eq!(cut, Some(CutReason::Lookups), "{name}");
        }
    }
}

#[test]
fn a_question_ends_when_its_time_is_over() {
    let tree = Tree::new(&[]);
    // Each of 2,000 functions of one name is called in each of ten files.
    let many: String = "class A:\n    def f(self): pass\n".repeat(2_000);
    tree.write("many.py", many);
    for at in 0..10 {
        let calls: String = (0..200)
            .map(|call| format!("def g{at}_{call}(x): x.f()\n"))
            .collect();
        tree.write(&format!("m{at}.py"), format!("from many import A\n{calls}"));
    }
    let index = tree.index();
    let tree = index.tree("t").unwrap();
    let asked = Cell::new(0);
    let over_after = |most: u32| {
        asked.set(0);
        let asked = &asked;
        move || {
            asked.set(asked.get() + 1);
            asked.get() > most
        }
    };
    let limits = CodeGraphLimits::of(100_000, 100_000);
    let of = CodeNode::File("many.py".into());
    for most in [0, 1, 3] {
        let is_over = over_after(most);
        let cut = tree.graph(&limits, &is_over).cut;
        assert_eq!((cut, asked.get()), (Some(GraphCut::Time), most + 1));
        let is_over = over_after(most);
        let found = tree.dependents(&of, DependentsLimits::default(), &is_over);
        let reason = found.unwrap().cut.map(|cut| cut.reason);
        assert_eq!((reason, asked.get()), (Some(CutReason::Time), most + 1));
    }
    let is_over = over_after(0);
    let named = tree.find_named("f", &is_over);
    assert!(named.symbols.is_empty() && named.is_cut);
    let named = tree.find_named("f", &never);
    assert_eq!((named.symbols.len(), named.is_cut), (2_000, false));
    assert_eq!(tree.symbols_in("many.py", "A.f").len(), 2_000);
    assert!(tree.symbols_in("m0.py", "A.f").is_empty());
}
