//! What is made to be too much: it ends, and is said to be cut.

use std::fmt::Write;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use proptest::prelude::*;
use sillok_code::limits::{CALLS_MAX, FILE_BYTES_MAX, IMPORTS_MAX, NESTING_MAX, SYMBOLS_MAX};
use sillok_code::{Error, Language, index};

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
    const PIECES: [&[u8]; 13] = [
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
