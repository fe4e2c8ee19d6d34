//! The clippy list of the deterministic crates bites, entry by entry.
//!
//! Runs clippy's driver on one small file against stubs of the outside crates, found through the
//! link that a deterministic crate carries; no real dependency is compiled.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use toml::{Table, Value};

const STUBBED: [&str; 5] = ["getrandom", "ractor", "rand", "tokio", "uuid"];
const MARK: &str = "// banned";

fn root() -> PathBuf {
    Path::new(&std::env::var("CARGO_MANIFEST_DIR").expect("cargo runs the tests"))
        .parent()
        .expect("the workspace")
        .to_owned()
}

fn fixture(name: &str) -> PathBuf {
    Path::new(&std::env::var("CARGO_MANIFEST_DIR").expect("cargo runs the tests"))
        .join("tests/fixtures")
        .join(name)
}

/// All paths in the list, from each of its `disallowed-…` arrays.
fn listed_paths() -> BTreeSet<String> {
    let text = std::fs::read_to_string(root().join(".config/clippy-deterministic/clippy.toml"));
    let list: Table = text.expect("the list").parse().expect("TOML");
    let entries = list
        .iter()
        .filter(|(key, _)| key.starts_with("disallowed-"));
    entries
        .flat_map(|(_, entries)| entries.as_array().expect("an array"))
        .map(|entry| {
            entry
                .get("path")
                .and_then(Value::as_str)
                .expect("a path")
                .to_owned()
        })
        .collect()
}

/// Compiles the fixture under the `clippy.toml` in `config`; returns what clippy said, a line each.
fn clippy(config: &Path) -> Vec<String> {
    let out = tempfile::tempdir().expect("a folder for stubs");
    for stub in STUBBED {
        let status = Command::new("rustc")
            .args([
                "--edition=2024",
                "--crate-type=lib",
                "--emit=metadata",
                "--crate-name",
                stub,
            ])
            .arg("--out-dir")
            .arg(out.path())
            .arg(fixture("stubs.rs"))
            .status()
            .expect("rustc runs");
        assert!(status.success(), "the stub of {stub} compiles");
    }
    let mut driver = Command::new("clippy-driver");
    driver
        .args([
            "--edition=2024",
            "--crate-type=lib",
            "--emit=metadata",
            "--error-format=short",
        ])
        .args([
            "-D",
            "clippy::disallowed_methods",
            "-D",
            "clippy::disallowed_types",
        ])
        .args(["-D", "clippy::disallowed_macros"])
        .arg("--out-dir")
        .arg(out.path())
        .env("CLIPPY_CONF_DIR", config);
    for stub in STUBBED {
        let library = out.path().join(format!("lib{stub}.rmeta"));
        driver
            .arg("--extern")
            .arg(format!("{stub}={}", library.display()));
    }
    let output = driver
        .arg(fixture("banned.rs"))
        .output()
        .expect("clippy-driver runs");
    let said = String::from_utf8(output.stderr).expect("text");
    said.lines()
        .filter(|line| line.contains("banned.rs:"))
        .map(str::to_owned)
        .collect()
}

fn line_of(said: &str) -> usize {
    let (_, rest) = said.split_once("banned.rs:").expect("a place");
    rest.split(':')
        .next()
        .and_then(|line| line.parse().ok())
        .expect("a line number")
}

#[test]
fn every_marked_line_is_refused_and_no_other() {
    let said = clippy(&root().join("crates/core"));
    let text = std::fs::read_to_string(fixture("banned.rs")).expect("the fixture");
    let marked: BTreeSet<usize> = text
        .lines()
        .enumerate()
        .filter(|(_, line)| line.ends_with(MARK))
        .map(|(at, _)| at + 1)
        .collect();
    let refused: BTreeSet<usize> = said.iter().map(|said| line_of(said)).collect();
    assert_eq!(refused, marked, "{said:#?}");
}

#[test]
fn every_entry_of_the_list_bites() {
    let said = clippy(&root().join("crates/core")).join("\n");
    let silent: Vec<String> = listed_paths()
        .into_iter()
        .filter(|path| !said.contains(&format!("`{path}`")))
        .collect();
    assert!(
        silent.is_empty(),
        "entries that bite nowhere: {silent:#?}\n{said}"
    );
}

#[test]
fn the_list_is_not_in_force_elsewhere() {
    assert_eq!(clippy(&root()), Vec::<String>::new());
}
