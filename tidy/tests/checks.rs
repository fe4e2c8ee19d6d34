//! Each check of `make tidy` can fail: a clean tree plus one offending file gives one finding.
//!
//! Runs on small trees of its own, under the project's real configuration. That the project's own
//! tree is clean is what `make tidy` says.

use std::path::Path;
use std::process::Command;

use sillok_tidy::config::{self, Config};

const ARCHITECTURE: &str = "**Invariant:** it adds. Proven by `it_adds`.\n";
const CORE: &str =
    "//! Owns adding.\n\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn it_adds() {}\n}\n";

struct Sandbox(tempfile::TempDir);

impl Sandbox {
    /// A small tree without offence.
    fn clean() -> Self {
        let sandbox = Self(tempfile::tempdir().expect("a folder for the tree"));
        let status = Command::new("git")
            .args(["init", "--quiet"])
            .arg(sandbox.root())
            .status()
            .expect("git runs");
        assert!(status.success());
        let list = sandbox.determinism_list();
        sandbox
            .with(config::PATH, &real_file(config::PATH))
            .with("ARCHITECTURE.md", ARCHITECTURE)
            .with("Makefile", "test: tidy\n\techo test\n")
            .with(
                "Cargo.toml",
                "[workspace.dependencies]\nalias = { package = \"sillok-actors\" }\n",
            )
            .with(
                "crates/core/Cargo.toml",
                "[package]\nname = \"sillok-core\"\n",
            )
            .with(
                "crates/actors/Cargo.toml",
                "[package]\nname = \"sillok-actors\"\n",
            )
            .with("crates/core/src/lib.rs", CORE)
            .with(&list, &real_file(&list))
            .with_links(&list)
    }

    fn root(&self) -> &Path {
        self.0.path()
    }

    fn determinism_list(&self) -> String {
        Config::read(&real_root())
            .expect("the real configuration")
            .determinism
            .list
    }

    fn with_links(self, list: &str) -> Self {
        let crates = Config::read(&real_root())
            .expect("the real configuration")
            .determinism
            .crates;
        crates.iter().fold(self, |sandbox, folder| {
            sandbox.with(&format!("{folder}/clippy.toml"), &real_file(list))
        })
    }

    fn with(self, path: &str, text: &str) -> Self {
        let full = self.root().join(path);
        std::fs::create_dir_all(full.parent().expect("below the root")).expect("a folder");
        std::fs::write(full, text).expect("a file");
        self
    }

    fn findings(&self) -> Vec<String> {
        let report = sillok_tidy::run(self.root()).expect("the tree can be checked");
        report.findings.iter().map(ToString::to_string).collect()
    }

    /// Asserts that there is exactly one finding, at `place`, that says `word`.
    #[track_caller]
    fn offends(self, place: &str, word: &str) {
        let findings = self.findings();
        let [finding] = findings.as_slice() else {
            panic!("one finding expected at {place}, got {findings:#?}");
        };
        assert!(
            finding.starts_with(&format!("{place}: ")) && finding.contains(word),
            "{finding}"
        );
    }

    #[track_caller]
    fn stays_clean(self) {
        assert_eq!(self.findings(), Vec::<String>::new());
    }
}

fn real_root() -> std::path::PathBuf {
    Path::new(&std::env::var("CARGO_MANIFEST_DIR").expect("cargo runs the tests"))
        .parent()
        .expect("the workspace")
        .to_owned()
}

fn real_file(path: &str) -> String {
    std::fs::read_to_string(real_root().join(path)).expect("a file of the project")
}

/// A file of the core with `code` on its third line.
fn core_with(code: &str) -> Sandbox {
    Sandbox::clean().with(
        "crates/core/src/extra.rs",
        &format!("//! Owns more.\n\n{code}\n"),
    )
}

#[test]
fn a_tree_without_offence_stays_clean() {
    Sandbox::clean().stays_clean();
}

#[test]
fn a_file_without_an_opening_docstring_is_found() {
    let place = "crates/core/src/extra.rs:1";
    Sandbox::clean()
        .with("crates/core/src/extra.rs", "pub fn f() {}\n")
        .offends(place, "//!");
    Sandbox::clean()
        .with("crates/core/src/extra.rs", "//! \n")
        .offends(place, "//!");
}

#[test]
fn a_rust_file_that_does_not_lex_is_found() {
    core_with("fn f() { ) }").offends("crates/core/src/extra.rs:3", "does not lex");
}

#[test]
fn a_file_over_its_bound_is_found() {
    core_with(&format!(
        "#[cfg(test)]\nmod tests {{\n{}}}",
        "\n".repeat(594)
    ))
    .stays_clean();
    core_with(&format!(
        "#[cfg(test)]\nmod tests {{\n{}}}",
        "\n".repeat(600)
    ))
    .offends("crates/core/src/extra.rs:601", "605 lines");
}

#[test]
fn code_over_its_bound_is_found_although_the_file_is_not() {
    core_with(&"const A: u8 = 0;\n".repeat(447)).stays_clean();
    core_with(&"const A: u8 = 0;\n".repeat(460)).offends("crates/core/src/extra.rs:1", "463 lines");
}

#[test]
fn a_long_function_is_found_in_a_method_a_test_and_a_macro() {
    let body = "    ();\n".repeat(69);
    core_with(&format!("fn f() {{\n{body}}}")).stays_clean();
    let body = "    ();\n".repeat(70);
    for (before, after, line) in [
        ("", "", 3),
        ("struct S;\nimpl S {\n", "\n}", 5),
        ("#[cfg(test)]\nmod tests {\n", "\n}", 5),
        ("proptest! {\n", "\n}", 4),
    ] {
        core_with(&format!(
            "{before}fn long<T>() -> [u8; 3] where T: Copy {{\n{body}}}{after}"
        ))
        .offends(
            &format!("crates/core/src/extra.rs:{line}"),
            "fn long has 70 lines",
        );
    }
}

#[test]
fn an_edge_against_the_arrows_is_found() {
    let core = "[package]\nname = \"sillok-core\"\n";
    for edge in [
        "[dependencies]\nsillok-actors.workspace = true\n",
        "[dependencies]\nalias.workspace = true\n",
        "[dependencies]\nother = { package = \"sillok-actors\", path = \"../actors\" }\n",
        "[build-dependencies]\nsillok-actors = { path = \"../actors\" }\n",
        "[dev-dependencies]\nsillok-actors = { path = \"../actors\" }\n",
        "[target.'cfg(unix)'.dependencies]\nsillok-actors = { path = \"../actors\" }\n",
    ] {
        let line = core.lines().count() + 2;
        Sandbox::clean()
            .with("crates/core/Cargo.toml", &format!("{core}{edge}"))
            .offends(&format!("crates/core/Cargo.toml:{line}"), "must not");
    }
}

#[test]
fn an_edge_along_the_arrows_stays_clean() {
    let actors =
        "[package]\nname = \"sillok-actors\"\n[dependencies]\nsillok-core.workspace = true\n";
    Sandbox::clean()
        .with("crates/actors/Cargo.toml", actors)
        .stays_clean();
}

#[test]
fn a_dev_edge_is_allowed_only_as_a_dev_edge() {
    let builtin = "[package]\nname = \"sillok-builtin\"\n";
    let actors = "[package]\nname = \"sillok-actors\"\n";
    let with = |section: &str| {
        Sandbox::clean()
            .with("crates/builtin/Cargo.toml", builtin)
            .with(
                "crates/actors/Cargo.toml",
                &format!("{actors}[{section}]\nsillok-builtin.workspace = true\n"),
            )
    };
    with("dev-dependencies").stays_clean();
    with("dependencies").offends(
        "crates/actors/Cargo.toml:4",
        "must not depend on sillok-builtin",
    );
}

#[test]
fn a_crate_that_the_table_does_not_know_is_found() {
    Sandbox::clean()
        .with(
            "crates/new/Cargo.toml",
            "[package]\nname = \"sillok-new\"\n",
        )
        .offends("crates/new/Cargo.toml:2", "not in the table");
}

#[test]
fn a_runtime_in_the_core_is_found() {
    Sandbox::clean()
        .with(
            "crates/core/Cargo.toml",
            "[package]\nname = \"sillok-core\"\n[dependencies]\ntokio.workspace = true\n",
        )
        .offends("crates/core/Cargo.toml:4", "must not depend on tokio");
}

#[test]
fn banned_constructs_are_found() {
    for (code, word) in [
        ("fn f() { todo!() }", "todo!"),
        ("fn f() { unimplemented!(\"later\") }", "unimplemented!"),
        ("fn f() { dbg!(1); }", "dbg!"),
        ("fn f() { assert!(g().unwrap()); }", "unwrap"),
        ("#[ignore] fn f() {}", "ignore"),
        ("#[ignore = \"slow\"] fn f() {}", "ignore"),
        ("#[allow(dead_code)] fn f() {}", "allow"),
        ("#[expect(dead_code)] fn f() {}", "expect"),
        ("#![allow(dead_code)]", "allow"),
        ("#[cfg_attr(test, allow(dead_code))] fn f() {}", "allow"),
        ("use std::fs;", "std::fs"),
        ("use std::{collections::BTreeMap, net::IpAddr};", "std::net"),
    ] {
        core_with(code).offends("crates/core/src/extra.rs:3", word);
    }
}

#[test]
fn what_only_looks_like_a_banned_construct_stays_clean() {
    for code in [
        "const S: &str = \"todo!() .unwrap() #[ignore]\"; // dbg!(1)",
        "fn f(todo: bool) -> bool { todo != true }",
        "fn f() { g().unwrap_or(1); }",
        "#[allow(dead_code, reason = \"the layout is fixed\")] fn f() {}",
        "#[cfg_attr(test, expect(dead_code, reason = \"the layout is fixed\"))] fn f() {}",
        "#[cfg(test)] mod tests { fn f() { g().unwrap(); } }",
        "#[test] fn f() { g().unwrap(); }",
        "#[tokio::test(flavor = \"current_thread\")] async fn f() { g().unwrap(); }",
        "#[cfg(all(test, unix))] fn f() { g().unwrap(); }",
    ] {
        core_with(code).stays_clean();
    }
}

#[test]
fn code_that_is_not_only_for_tests_may_not_unwrap() {
    for code in [
        "#[cfg(not(test))] fn f() { g().unwrap(); }",
        "#[cfg(any(test, unix))] fn f() { g().unwrap(); }",
        "#[cfg(test)] use a::b; fn f() { g().unwrap(); }",
    ] {
        // The last case is on a line of its own, since tests are known by line.
        let code = code.replace("; fn", ";\nfn");
        let line = 2 + code.lines().count();
        core_with(&code).offends(&format!("crates/core/src/extra.rs:{line}"), "unwrap");
    }
}

#[test]
fn a_module_declared_for_tests_is_a_test_wherever_it_lies() {
    let unwraps = "//! Owns more.\nfn f() { g().unwrap(); }\n";
    let with = |declaration: &str| {
        Sandbox::clean()
            .with(
                "crates/core/src/chain.rs",
                &format!("//! Owns chains.\n{declaration}\n"),
            )
            .with("crates/core/src/chain/model.rs", unwraps)
    };
    with("#[cfg(test)]\nmod model;").stays_clean();
    with("mod model;").offends("crates/core/src/chain/model.rs:2", "unwrap");
}

#[test]
fn chance_and_clocks_that_clippy_cannot_see_are_found() {
    for (code, word) in [
        ("fn f() { tokio::select! { a = b => {} } }", "biased"),
        (
            "fn f() { actor.call(Message::Get, Some(timeout)); }",
            "timeout",
        ),
        (
            "fn f() { Actor::spawn(Some(name), handler, ()); }",
            "named actor",
        ),
    ] {
        core_with(code).offends("crates/core/src/extra.rs:3", word);
    }
    core_with("fn f() { tokio::select! { biased; a = b => {} } a.call(m, None); s.select(1) }")
        .stays_clean();
}

#[test]
fn a_deterministic_crate_without_the_list_is_found() {
    let place = "crates/core/clippy.toml:1";
    let sandbox = Sandbox::clean();
    std::fs::remove_file(sandbox.root().join("crates/core/clippy.toml")).expect("was there");
    sandbox.offends(place, "symbolic link");
    Sandbox::clean()
        .with("crates/core/clippy.toml", "# a copy that drifted\n")
        .offends(place, "link");
}

#[test]
fn every_banned_word_is_found_where_it_stands_alone() {
    let config = Config::read(&real_root()).expect("the real configuration");
    assert!(!config.words.is_empty());
    for word in config.words.iter().map(|word| &word.word) {
        Sandbox::clean()
            .with("docs/page.md", &format!("First.\nSee ({word}) here.\n"))
            .offends("docs/page.md:2", word);
        Sandbox::clean()
            .with("docs/page.md", &format!("a{word}b\n"))
            .stays_clean();
    }
}

#[test]
fn every_banned_name_is_found_for_a_file_and_for_a_folder() {
    let config = Config::read(&real_root()).expect("the real configuration");
    assert!(!config.names.is_empty());
    for name in &config.names {
        for path in [
            format!("crates/core/src/{name}.rs"),
            format!("crates/core/src/{name}/a.rs"),
        ] {
            Sandbox::clean()
                .with(&path, "//! Owns much.\n")
                .offends(&format!("{path}:1"), name);
        }
    }
}

#[test]
fn a_page_without_provable_invariants_is_found() {
    for (page, place, word) in [
        ("# Nothing\n", "ARCHITECTURE.md:1", "states no"),
        (
            "\n**Invariant:** it adds.\n",
            "ARCHITECTURE.md:2",
            "names no test",
        ),
        (
            "**Invariant:** `adding` is proven.\n",
            "ARCHITECTURE.md:1",
            "names no test",
        ),
        (
            "- **Invariant:** it adds. Proven by `it_adds`,\n  `gone`.\n",
            "ARCHITECTURE.md:1",
            "gone",
        ),
        (
            "**Invariant:** it adds. Proven by `make bake`.\n",
            "ARCHITECTURE.md:1",
            "make bake",
        ),
        (
            "**Invariant:** `it_adds`. Proven by hope.\n",
            "ARCHITECTURE.md:1",
            "Proven by",
        ),
    ] {
        Sandbox::clean()
            .with("ARCHITECTURE.md", page)
            .offends(place, word);
    }
    let sandbox = Sandbox::clean();
    std::fs::remove_file(sandbox.root().join("ARCHITECTURE.md")).expect("was there");
    sandbox.offends("ARCHITECTURE.md:1", "missing");
}

#[test]
fn an_invariant_may_name_a_test_a_checker_or_a_make_target() {
    let page =
        "**Invariant:** sums. Proven by `core::tests::it_adds`,\n`no_gap()` and `make test`.\n";
    Sandbox::clean()
        .with("ARCHITECTURE.md", page)
        .with(
            "crates/core/src/invariants.rs",
            "//! Owns the invariants.\npub fn no_gap() {}\n",
        )
        .stays_clean();
}

#[test]
fn ignored_and_skipped_files_are_not_read() {
    Sandbox::clean()
        .with(".gitignore", "/target\n")
        .with("target/gen.rs", "fn f() {}\n")
        .with("tidy/tests/fixtures/offends.rs", "fn f() {}\n")
        .stays_clean();
}

#[test]
fn the_command_prints_findings_and_exits_with_one() {
    let run = |sandbox: &Sandbox| {
        Command::new(env!("CARGO_BIN_EXE_sillok-tidy"))
            .arg(sandbox.root())
            .output()
            .expect("the command runs")
    };
    let clean = run(&Sandbox::clean());
    assert_eq!(
        (clean.status.code(), clean.stdout.as_slice()),
        (Some(0), &b""[..])
    );
    let offending = run(&core_with("fn f() { todo!() }"));
    assert_eq!(offending.status.code(), Some(1));
    let printed = String::from_utf8(offending.stdout).expect("text");
    assert!(
        printed.starts_with("crates/core/src/extra.rs:3: "),
        "{printed}"
    );
    let nowhere = tempfile::tempdir().expect("an empty folder");
    assert_eq!(run(&Sandbox(nowhere)).status.code(), Some(2));
}
