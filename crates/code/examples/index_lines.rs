//! How long it takes to index a work tree of many lines, and what a change of one file costs.
//!
//! `cargo run --release -p sillok-code --example index_lines -- --lines 1000000` writes a work tree in several languages
//! into a folder that goes afterwards, and measures the first index, a look at all of it where nothing is new, one changed
//! file, one more file, a question for dependents, and the cache. With `--check` it fails where one is over its bound.

use std::collections::BTreeSet;
use std::error::Error;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use sillok_code::{Changes, CodeIndex, CodeNode, DependentsLimits, WalkOptions};

/// Lines of one file, about.
const FILE_LINES: usize = 200;
/// Files of one folder.
const FOLDER_FILES: usize = 20;

const FIRST_INDEX_MAX: Duration = Duration::from_secs(60);
const CHANGE_MAX: Duration = Duration::from_millis(200);
const MEMORY_BYTES_MAX: u64 = 500_000_000;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let (mut lines, mut checks) = (1_000_000, false);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--lines" => {
                lines = arguments
                    .next()
                    .ok_or("--lines is followed by a number")?
                    .parse()?
            }
            "--check" => checks = true,
            other => return Err(format!("what is {other}?").into()),
        }
    }
    let folder = tempfile::tempdir()?;
    let root = folder.path().canonicalize()?;
    let files = write_tree(&root, lines)?;
    let is_over = measure(&root, files)?;
    if checks && is_over {
        return Err("a figure is over its bound".into());
    }
    Ok(())
}

/// Prints the figures. Whether one is over its bound.
fn measure(root: &Path, files: usize) -> Result<bool, Box<dyn Error>> {
    let mut out = std::io::stdout().lock();
    let mut index = CodeIndex::new();
    index.add_tree("t", root, WalkOptions::default());
    let (first, changes) = look(&mut index, None)?;
    let known = index.tree("t").ok_or("the tree is known")?;
    let lines: u64 = known
        .paths()
        .filter_map(|path| known.file(path))
        .map(|file| u64::from(file.lines))
        .sum();
    writeln!(
        out,
        "{files} files, {lines} lines, {} parsed",
        changes.parsed
    )?;
    writeln!(
        out,
        "first index          {first:?} (at most {FIRST_INDEX_MAX:?})"
    )?;
    writeln!(out, "known of contents    {} bytes", index.content_bytes())?;
    let memory = peak_bytes();
    writeln!(
        out,
        "memory at its peak   {memory:?} bytes (at most {MEMORY_BYTES_MAX})"
    )?;
    let (again, _) = look(&mut index, None)?;
    writeln!(out, "nothing new          {again:?}")?;

    let changed = source("rs", 1, 7) + "\npub fn one_more() { work_1_7(3); }\n";
    std::fs::write(root.join("d0/m1.rs"), changed)?;
    let (change, changes) = look(&mut index, Some("d0/m1.rs"))?;
    assert_eq!(changes.changed.len(), 1);
    writeln!(
        out,
        "one changed file     {change:?} (at most {CHANGE_MAX:?})"
    )?;
    std::fs::write(root.join("d0/added.rs"), "pub fn added() {}\n")?;
    let (added, changes) = look(&mut index, Some("d0/added.rs"))?;
    assert_eq!(changes.added.len(), 1);
    writeln!(out, "one more file        {added:?}")?;

    let known = index.tree("t").ok_or("the tree is known")?;
    let of = known.symbols_named("work_1_7");
    let begun = Instant::now();
    let of = CodeNode::Symbol(of.first().ok_or("the symbol is known")?.clone());
    let found = known.dependents(&of, DependentsLimits::default());
    let found = found.ok_or("the symbol has a place")?;
    let asked = begun.elapsed();
    writeln!(
        out,
        "dependents           {asked:?} for {} of them",
        found.all.len()
    )?;

    measure_cache(&index, &mut out)?;
    let is_too_much = memory.is_some_and(|bytes| bytes > MEMORY_BYTES_MAX);
    Ok(first > FIRST_INDEX_MAX || change > CHANGE_MAX || is_too_much)
}

fn measure_cache(index: &CodeIndex, out: &mut impl std::io::Write) -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let begun = Instant::now();
    index.save(folder.path())?;
    writeln!(out, "the cache is stored  {:?}", begun.elapsed())?;
    let begun = Instant::now();
    let loaded = CodeIndex::load(folder.path())?.into_index();
    let contents = loaded.contents_count();
    writeln!(
        out,
        "the cache is read    {:?} for {contents} contents",
        begun.elapsed()
    )?;
    Ok(())
}

fn look(index: &mut CodeIndex, only: Option<&str>) -> Result<(Duration, Changes), Box<dyn Error>> {
    let only = only.map(|path| BTreeSet::from([PathBuf::from(path)]));
    let begun = Instant::now();
    let plan = index.plan("t").ok_or("the tree is known")?;
    let scanned = plan.look(only, SystemTime::now())?;
    let changes = index.apply(scanned)?;
    Ok((begun.elapsed(), changes))
}

/// Writes files of about so many lines in all. How many.
fn write_tree(root: &Path, lines: usize) -> std::io::Result<usize> {
    std::fs::write(root.join("Cargo.toml"), "[package]\nname = \"it\"\n")?;
    let files = lines.div_ceil(FILE_LINES);
    for file in 0..files {
        let folder = root.join(format!("d{}", file / FOLDER_FILES));
        std::fs::create_dir_all(&folder)?;
        let end = ["rs", "rs", "ts", "py", "go", "java", "c", "cpp"][file % 8];
        std::fs::write(folder.join(format!("m{file}.{end}")), source(end, file, 0))?;
    }
    Ok(files)
}

/// A file in the language of an end, the same for the same arguments.
fn source(end: &str, file: usize, salt: usize) -> String {
    let before = file.saturating_sub(8);
    let mut text = match end {
        "rs" => format!("//! Module {file}.\n\nuse super::m{before}::work_{before}_3;\n\n"),
        "ts" => format!("import {{ work_{before}_3 }} from './m{before}';\n\n"),
        "py" => format!("from .m{before} import work_{before}_3\n\n"),
        "go" => "package work\n\nimport \"fmt\"\n\n".to_owned(),
        "java" => format!("package work;\n\nimport java.util.List;\n\nclass M{file} {{\n"),
        _ => format!("#include \"m{before}.h\"\n#include <stdio.h>\n\n"),
    };
    let mut function = 0;
    while text.lines().count() + 10 < FILE_LINES {
        let name = format!("work_{file}_{function}");
        let called = format!("work_{file}_{}", (function * 7 + salt) % 19);
        let comment = if end == "py" { "#" } else { "//" };
        let head = match end {
            "rs" => format!("pub fn {name}(at: u64) -> u64 {{"),
            "ts" => format!("export function {name}(at: number): number {{"),
            "py" => format!("def {name}(at: int) -> int:"),
            "go" => format!("func {name}(at int) int {{"),
            "java" => format!("    static int {name}(int at) {{"),
            _ => format!("int {name}(int at) {{"),
        };
        let declare = match end {
            "rs" => "let mut sum =",
            "ts" => "let sum =",
            "go" => "sum :=",
            "py" => "sum =",
            _ => "int sum =",
        };
        let semicolon = if matches!(end, "py" | "go") { "" } else { ";" };
        let close = if end == "py" { "" } else { "}" };
        write!(
            text,
            "{comment} What number {function} of {file} does, with {salt}.\n{head}\n    {declare} {called}(at) + work_{before}_3(at){semicolon}\n    \
             sum = sum * {function} + 17{semicolon}\n    sum = sum - {file}{semicolon}\n    sum = helper(sum, \"a text of {file}\"){semicolon}\n    \
             return sum{semicolon}\n{close}\n\n",
        )
        .expect("a text takes what is written into it");
        function += 1;
    }
    if end == "java" {
        text.push_str("}\n");
    }
    text
}

/// The most memory that this process had at once, where the system says so.
fn peak_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kilobytes: u64 = line.split_whitespace().next()?.parse().ok()?;
    Some(kilobytes * 1024)
}
