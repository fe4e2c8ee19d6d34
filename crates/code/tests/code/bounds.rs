//! What is made to be too much: it ends, and is said to be cut.

use std::fmt::Write;
use std::sync::OnceLock;
use std::time::{Duration, Instant, SystemTime};

use proptest::prelude::*;
use sillok_code::limits::{
    CALLS_MAX, EDGES_MAX, FILE_BYTES_MAX, FILE_LOOKUPS_MAX, HEADERS_MAX, IMPORTS_MAX, NESTING_MAX,
    SYMBOLS_MAX,
};
use sillok_code::walk::walk;
use sillok_code::{CodeIndex, Error, Language, Unread, WalkOptions, index};
use sillok_core::decision::Node;

use crate::tree::{Tree, look, paths};

const CODE: [Language; 9] = [
    Language::Rust,
    Language::TypeScript,
    Language::Tsx,
    Language::JavaScript,
    Language::Python,
    Language::Go,
    Language::Java,
    Language::C,
    Language::Cpp,
];

/// What one source may take: far more than it does, and far less than the square of its bytes.
const PATIENCE: Duration = Duration::from_secs(20);

/// How long this thread has run, where the system says so. What the machine does beside it does not count.
fn spent() -> Duration {
    static BEGUN: OnceLock<Instant> = OnceLock::new();
    let begun = BEGUN.get_or_init(Instant::now);
    std::fs::read_to_string("/proc/thread-self/schedstat").map_or_else(
        |_| begun.elapsed(),
        |of| Duration::from_nanos(of.split(' ').next().unwrap().parse().unwrap()),
    )
}

#[test]
fn a_file_over_the_bound_is_refused() {
    let bytes = vec![b' '; usize::try_from(FILE_BYTES_MAX).unwrap() + 1];
    assert!(matches!(
        index(Language::Rust, &bytes),
        Err(Error::TooLarge { .. })
    ));
    assert!(index(Language::Rust, &bytes[1..]).is_ok());
}

#[test]
fn what_is_nested_without_end_takes_no_stack_and_no_square_of_its_bytes() {
    for language in CODE {
        for open in [
            "(",
            "{",
            "[",
            "a(",
            "if (a) {",
            "fn f() {",
            "class A {",
            "<",
            "x:\n ",
            "(((((",
        ] {
            let text = open.repeat(100_000 / open.len());
            let begun = spent();
            // It may be too much for the parser. It must not be too much for the process.
            let _read_or_refused = index(language, text.as_bytes());
            assert!(spent() - begun < PATIENCE, "{language:?} {open:?}");
        }
    }
}

#[test]
fn what_stands_in_one_another_is_not_read_once_for_each() {
    for (language, before, part, after) in [
        (Language::JavaScript, "a", ".b()", ""),
        (Language::Python, "a", ".b()", ""),
        (Language::Rust, "fn f() { a", ".b()", "; }"),
        (Language::Go, "package a\nfunc f() { a", ".b()", " }"),
        (Language::Java, "class A { void f() { a", ".b()", "; } }"),
        (Language::Cpp, "void f() { a", ".b()", "; }"),
        (Language::JavaScript, "[", "x, require('a'), ", "1]"),
        (Language::Rust, "fn f() {", "impl A<{", ""),
    ] {
        let text = format!("{before}{}{after}", part.repeat(1_900_000 / part.len()));
        let begun = spent();
        // It may be too much for the parser.
        let _read_or_refused = index(language, text.as_bytes());
        assert!(spent() - begun < PATIENCE, "{language:?} {part}");
    }
}

#[test]
fn a_megabyte_on_one_line_is_read() {
    for (language, text) in [
        (Language::JavaScript, "f(a,b);".repeat(150_000)),
        (
            Language::Python,
            format!("x = [{}]\ndef f(): pass\n", "1,".repeat(500_000)),
        ),
        (
            Language::C,
            format!("char *x = \"{}\";\nvoid f() {{}}\n", "a".repeat(1_000_000)),
        ),
        (
            Language::Rust,
            format!("// {}\nfn f() {{}}\n", "é".repeat(400_000)),
        ),
    ] {
        let file = index(language, text.as_bytes()).unwrap();
        assert!(
            !file.symbols.is_empty() || !file.calls.is_empty(),
            "{language:?}"
        );
    }
}

#[test]
fn what_is_over_a_bound_is_counted() {
    let mut nested = String::new();
    for depth in 0..NESTING_MAX + 10 {
        write!(nested, "mod m{depth} {{").unwrap();
    }
    nested.push_str(&"}".repeat(NESTING_MAX + 10));
    let file = index(Language::Rust, nested.as_bytes()).unwrap();
    assert_eq!((file.symbols.len(), file.cut.symbols), (NESTING_MAX, 10));

    let long = format!("mod m{} {{", "m".repeat(200));
    let file = format!("{}{}", long.repeat(20), "}".repeat(20));
    let file = index(Language::Rust, file.as_bytes()).unwrap();
    assert!(file.symbols.len() < 6 && file.cut.symbols > 14);

    let many = "fn f(){}".repeat(SYMBOLS_MAX + 5);
    let file = index(Language::Rust, many.as_bytes()).unwrap();
    assert_eq!((file.symbols.len(), file.cut.symbols), (SYMBOLS_MAX, 5));
    let mut ids: Vec<_> = file.symbols.iter().map(|symbol| symbol.id).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), SYMBOLS_MAX);

    let mut calls = String::new();
    for call in 0..CALLS_MAX + 5 {
        writeln!(calls, "f{call}()").unwrap();
    }
    let file = index(Language::Python, calls.as_bytes()).unwrap();
    assert_eq!((file.calls.len(), file.cut.calls), (CALLS_MAX, 5));

    let mut imports = String::new();
    for import in 0..IMPORTS_MAX + 5 {
        writeln!(imports, "import m{import}").unwrap();
    }
    let file = index(Language::Python, imports.as_bytes()).unwrap();
    assert_eq!((file.imports.len(), file.cut.imports), (IMPORTS_MAX, 5));
}

#[test]
fn what_decisions_cannot_name_is_passed_over_and_counted() {
    let source = "declare module '@a/b' { export function f(): void; }\nfunction g() {}\n";
    let file = index(Language::TypeScript, source.as_bytes()).unwrap();
    let names: Vec<&str> = file.symbols.iter().map(|it| &*it.name).collect();
    assert_eq!((names, file.cut.names), (vec!["f", "g"], 1));
    let tree = Tree::new(&[
        ("a.ts", source),
        ("b\\c.py", ""),
        ("d\n.py", ""),
        ("e\\f/g.py", ""),
    ]);
    let index = tree.index();
    let known = index.tree("t").unwrap();
    let paths: Vec<&str> = known.paths().map(AsRef::as_ref).collect();
    assert_eq!((paths, known.passed().names), (vec!["a.ts"], 3));
    assert_eq!((known.totals().unsayable, known.totals().symbols), (1, 2));
}

#[test]
fn copies_of_one_file_have_no_more_room_than_other_files() {
    const COPIES: usize = 60;
    const BYTES_MAX: usize = 2 << 20;
    let mut text = String::new();
    for at in 0..2_000 {
        writeln!(text, "def f{at}(): pass").unwrap();
    }
    let tree = Tree::new(&[]);
    for at in 0..COPIES {
        tree.write(&format!("m{at}.py"), &text);
    }
    let mut index = CodeIndex::new();
    index.set_bytes_max(BYTES_MAX);
    look(&mut index, "t", tree.root(), None);
    let unread = |index: &CodeIndex| {
        let known = index.tree("t").unwrap();
        let roomless = known
            .paths()
            .filter(|path| known.unread(path) == Some(Unread::NoRoom));
        roomless.count()
    };
    let without = unread(&index);
    assert!(without > 0 && without < COPIES - 5, "{without}");
    assert!(
        index.content_bytes() <= BYTES_MAX,
        "{}",
        index.content_bytes()
    );
    assert_eq!(index.contents_count(), 1);
    let known = index.tree("t").unwrap();
    assert_eq!(known.totals().unread, without as u64);
    assert_eq!(known.totals().symbols, 2_000 * (COPIES - without) as u64);
    // What had no room has some when there is more.
    index.set_bytes_max(usize::MAX);
    look(&mut index, "t", tree.root(), None);
    assert_eq!(unread(&index), 0);
    assert!(index.content_bytes() > BYTES_MAX);
}

#[test]
fn what_there_is_no_room_for_is_neither_read_again_without_more_nor_listed_without_any() {
    let tree = Tree::new(&[]);
    for at in 0..20 {
        tree.write(&format!("m{at:02}.py"), format!("def f{at:02}(): pass\n"));
    }
    // Long enough after the files were written to tell them from what is written later.
    let look = |index: &mut CodeIndex| {
        let plan = index.plan("t").unwrap();
        let scanned = plan.look(None, SystemTime::now() + Duration::from_secs(60));
        index.apply(scanned.unwrap()).unwrap()
    };
    let made = |bytes_max: usize| {
        let mut index = CodeIndex::new();
        index.set_bytes_max(bytes_max);
        index.add_tree("t", tree.root(), WalkOptions::default());
        (look(&mut index), index)
    };
    let whole = made(usize::MAX).1.content_bytes();
    let (first, mut index) = made(whole - 1);
    assert!(first.read == 20 && first.parsed >= 18, "{first:?}");
    // A look sets room aside for names that a path may have and these have not: the next ones find it.
    for _ in 0..3 {
        look(&mut index);
    }
    let roomless = |index: &CodeIndex| index.tree("t").unwrap().totals().unread;
    assert_eq!(roomless(&index), 1);
    let again = look(&mut index);
    assert_eq!((again.read, again.parsed), (0, 0));
    index.set_bytes_max(whole);
    let again = look(&mut index);
    assert_eq!((again.read, again.parsed, roomless(&index)), (1, 1, 0));
    // Where there is room for some paths alone, nothing is parsed, and the others are counted.
    let (first, index) = made(1_900);
    let known = index.tree("t").unwrap();
    assert_eq!(first.parsed, 0);
    assert!(known.len() > 2 && known.len() < 10, "{}", known.len());
    assert_eq!(known.passed().files, 20 - known.len() as u64);
    assert!(index.content_bytes() <= 1_900);
}

#[test]
fn a_walk_finds_only_so_many_bytes_of_paths() {
    let tree = Tree::new(&[]);
    let name = "n".repeat(200);
    for at in 0..30 {
        tree.write(&format!("{name}{at}/m.py"), "");
    }
    let walked = |found_bytes_max| {
        let options = WalkOptions {
            found_bytes_max,
            ..WalkOptions::default()
        };
        walk(tree.root(), &options, None).unwrap()
    };
    let cut = walked(30 * 200);
    assert!(cut.is_cut && cut.folders.len() + cut.files.len() < 30);
    let whole = walked(30 * 600);
    assert_eq!(
        (whole.is_cut, whole.folders.len(), whole.files.len()),
        (false, 31, 30)
    );
}

#[test]
fn imports_of_one_file_mean_only_so_many_files_and_only_as_far_as_there_is_room() {
    let tree = Tree::new(&[]);
    for at in 0..256 {
        tree.write(&format!("d{at}/h.h"), "");
    }
    let ways = (0..45).map(|ways| format!("#include \"{}h.h\"\n", "./".repeat(ways)));
    tree.write("main.c", ways.collect::<String>());
    let index = tree.index();
    let known = index.tree("t").unwrap();
    assert_eq!(known.imports_of("main.c").len(), EDGES_MAX);
    assert_eq!(known.imports_cut(), 1);
    let bytes_max = index.content_bytes() - 50_000;
    let mut short = CodeIndex::new();
    short.set_bytes_max(bytes_max);
    look(&mut short, "t", tree.root(), None);
    let known = short.tree("t").unwrap();
    assert_eq!((known.totals().unread, known.imports_cut()), (0, 1));
    assert!(known.imports_of("main.c").is_empty());
    assert!(short.content_bytes() <= bytes_max);
    tree.write("main.c", "#include \"d0/h.h\"\n");
    look(&mut short, "t", tree.root(), None);
    let known = short.tree("t").unwrap();
    assert_eq!(
        (known.imports_of("main.c").len(), known.imports_cut()),
        (1, 0)
    );
}

#[test]
fn a_file_that_comes_or_goes_asks_only_for_the_imports_that_it_may_concern() {
    const FILES: usize = 200;
    let tree = Tree::new(&[]);
    for at in 0..FILES {
        let text = "import os\nimport sys\nfrom a.b import c\nfrom . import sibling\n";
        tree.write(&format!("d{at}/e/f/m{at}.py"), text);
    }
    let mut index = tree.index();
    let mut looked_up = |path: &str, is_there: bool| {
        if is_there {
            tree.write(path, "");
        } else {
            tree.remove(path);
        }
        look(&mut index, "t", tree.root(), Some(paths(&[path]))).looked_up
    };
    for is_there in [true, false] {
        for path in ["d0/new.py", "new.c", "d7/e/new/__init__.py"] {
            let looked_up = looked_up(path, is_there);
            assert!(looked_up <= 1, "{path} {is_there} {looked_up}");
        }
        // One import of each file asks for it, and the three others are not looked at.
        let looked_up = looked_up("os.py", is_there);
        assert!((FILES..FILES * 60).contains(&looked_up), "{looked_up}");
    }
}

#[test]
fn a_file_of_many_imports_that_many_files_may_be_is_looked_at_only_so_far() {
    let tree = Tree::new(&[]);
    for at in 0..HEADERS_MAX + 100 {
        tree.write(&format!("d{at}/h.h"), "");
    }
    let includes = (0..IMPORTS_MAX).map(|at| format!("#include \"x{at}/h.h\"\n"));
    tree.write("main.c", includes.collect::<String>());
    let mut index = CodeIndex::new();
    let most = FILE_LOOKUPS_MAX + 2 * HEADERS_MAX;
    let first = look(&mut index, "t", tree.root(), None).looked_up;
    assert!(first < most + 2 * HEADERS_MAX, "{first}");
    assert_eq!(index.tree("t").unwrap().imports_cut(), 1);
    tree.write("x0/h.h", "");
    let changes = look(&mut index, "t", tree.root(), Some(paths(&["x0/h.h"])));
    assert!(changes.looked_up < most, "{}", changes.looked_up);
    assert_eq!(index.tree("t").unwrap().imports_of("main.c").len(), 1);
    tree.write("y.h", "");
    let changes = look(&mut index, "t", tree.root(), Some(paths(&["y.h"])));
    assert!(changes.looked_up <= 1, "{}", changes.looked_up);
}

#[test]
fn a_package_of_many_files_is_one_import() {
    let bytes = |imports: &str| {
        let tree = Tree::new(&[("go.mod", "module example.com/it\n")]);
        for at in 0..100 {
            tree.write(&format!("store/f{at}.go"), "package store\n");
            let main = format!("package main\n{imports} \"example.com/it/store\"\n// {at}\n");
            tree.write(&format!("c{at}/main.go"), main);
        }
        let index = tree.index();
        let known = index.tree("t").unwrap();
        (known.imports_of("c0/main.go").len(), known.heap_bytes())
    };
    let (imports, with) = bytes("import");
    let (none, without) = bytes("// not");
    assert_eq!((imports, none), (100, 0));
    assert!(with - without < 100 * 64, "{with} {without}");
}

#[test]
fn what_stands_beside_an_error_and_bytes_that_are_no_text_is_read() {
    let source = b"fn one() {}\nfn two( {{{ \n\xff\xfe\nfn three() { \"\xff\" }\n";
    let file = index(Language::Rust, source).unwrap();
    assert!(file.has_errors);
    assert!(file.symbols.iter().any(|symbol| &*symbol.name == "one"));
}

fn language() -> impl Strategy<Value = Language> {
    (0..CODE.len()).prop_map(|at| CODE[at])
}

/// Pieces of sources of all languages, in any order.
fn pieces() -> impl Strategy<Value = Vec<u8>> {
    const PIECES: [&[u8]; 14] = [
        b"declare module '@a/b' { function f(): void; }\n",
        b"fn f(a: u8) -> u8 { g(a) }\n",
        b"class A:\n    def b(self): return c()\n",
        b"import { a } from './b';\n",
        b"#include \"a.h\"\nint f(void) { return g(); }\n",
        b"func (a *A) B() { c.D() }\n",
        b"impl A for B { fn c() {} }\n",
        b"{",
        b"}",
        b"(",
        b"\"",
        b"/*",
        b"\xff\x00",
        "실록".as_bytes(),
    ];
    let piece = (0..PIECES.len()).prop_map(|at| PIECES[at]);
    proptest::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn the_same_bytes_say_the_same_and_all_that_is_said_lies_in_them(
        language in language(),
        bytes in prop_oneof![pieces(), proptest::collection::vec(any::<u8>(), 0..400)],
    ) {
        let file = index(language, &bytes).unwrap();
        prop_assert_eq!(&file, &index(language, &bytes).unwrap());
        for symbol in &file.symbols {
            let node = Node::symbol(&symbol.name, Some("a/b.rs")).unwrap();
            prop_assert_eq!(node.check(), Ok(()));
            let (from, to) = (symbol.bytes.0 as usize, symbol.bytes.1 as usize);
            prop_assert!(from <= to && to <= bytes.len());
            prop_assert!(symbol.lines.0 >= 1 && symbol.lines.0 <= symbol.lines.1);
            prop_assert!(symbol.lines.1 <= file.lines.max(1));
            if let Some(parent) = symbol.parent {
                let outer = &file.symbols[parent as usize];
                prop_assert!(outer.bytes.0 <= symbol.bytes.0 && symbol.bytes.1 <= outer.bytes.1);
            }
        }
        let mut ids: Vec<_> = file.symbols.iter().map(|symbol| symbol.id).collect();
        ids.sort_unstable();
        ids.dedup();
        prop_assert_eq!(ids.len(), file.symbols.len());
        prop_assert!(file.calls.is_sorted());
        prop_assert!(file.calls.iter().all(|it| it.caller.is_none_or(|at| (at as usize) < file.symbols.len())));
    }

    #[test]
    fn an_edit_of_a_body_keeps_every_id_and_every_other_fingerprint(edited in 0_usize..6, text in "[a-z]{1,8}") {
        let source = |body: &dyn Fn(usize) -> String| -> String {
            (0..6).map(|at| format!("fn f{at}(a: u8) {{ {}; }}\n", body(at))).collect()
        };
        let before = source(&|at| format!("g{at}()"));
        let after = source(&|at| if at == edited { format!("h_{text}(1)") } else { format!("g{at}()") });
        let of = |text: &str| index(Language::Rust, text.as_bytes()).unwrap().symbols;
        for (at, (before, after)) in of(&before).iter().zip(&of(&after)).enumerate() {
            prop_assert_eq!(before.id, after.id);
            prop_assert_eq!(before.fingerprint.signature, after.fingerprint.signature);
            prop_assert_eq!(before.fingerprint.body == after.fingerprint.body, at != edited);
        }
    }
}
