//! A work tree of made-up source files in several languages, the same for the same arguments.
//!
//! Owns their text and where they lie. It must not know what is measured.

use std::fmt::Write as _;
use std::path::Path;

/// Lines of one file, about.
const FILE_LINES: usize = 200;
/// Files of one folder.
const FOLDER_FILES: usize = 20;
/// Ends of file names, in the order of files. A file calls the one that lies so many before it.
const ENDS: [&str; 8] = ["rs", "tsx", "ts", "py", "go", "java", "c", "cpp"];
/// Lines of one function.
const FUNCTION_LINES: usize = 9;

/// Writes a manifest, and source files of at least so many lines in all. How many of these.
pub(super) fn write_tree(root: &Path, lines: u64) -> std::io::Result<usize> {
    std::fs::write(root.join("Cargo.toml"), "[package]\nname = \"it\"\n")?;
    let (mut files, mut written) = (0, 0);
    while written < lines {
        let (path, text) = (root.join(path(files)), source(files, 0));
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)?;
        }
        written += text.lines().count() as u64;
        std::fs::write(path, text)?;
        files += 1;
    }
    Ok(files)
}

/// Where a file lies.
pub(super) fn path(file: usize) -> String {
    format!("d{}/m{file}.{}", file / FOLDER_FILES, end(file))
}

const fn end(file: usize) -> &'static str {
    ENDS[file % ENDS.len()]
}

/// A function of a file that others call.
pub(super) fn called(file: usize) -> String {
    format!("work_{file}_3")
}

/// The text of a file, with so many functions more than it had at first.
pub(super) fn source(file: usize, more: usize) -> String {
    let end = end(file);
    let before = file.saturating_sub(ENDS.len());
    let other = called(before);
    let mut text = match end {
        "rs" => format!("//! Module {file}.\n\nuse super::m{before}::{other};\n\n"),
        "ts" | "tsx" => format!("import {{ {other} }} from './m{before}';\n\n"),
        "py" => format!("from .m{before} import {other}\n\n"),
        "go" => "package work\n\nimport \"fmt\"\n\n".to_owned(),
        "java" => format!("package work;\n\nimport java.util.List;\n\nclass M{file} {{\n"),
        _ => format!("#include \"m{before}.h\"\n#include <stdio.h>\n\n"),
    };
    for function in 0..FILE_LINES / FUNCTION_LINES + more {
        add(&mut text, end, (file, function), &other);
    }
    if end == "java" {
        text.push_str("}\n");
    }
    text
}

fn add(text: &mut String, end: &str, (file, function): (usize, usize), other: &str) {
    let name = format!("work_{file}_{function}");
    let called = format!("work_{file}_{}", function * 7 % 19);
    let comment = if end == "py" { "#" } else { "//" };
    let head = match end {
        "rs" => format!("pub fn {name}(at: u64) -> u64 {{"),
        "ts" | "tsx" => format!("export function {name}(at: number): number {{"),
        "py" => format!("def {name}(at: int) -> int:"),
        "go" => format!("func {name}(at int) int {{"),
        "java" => format!("    static int {name}(int at) {{"),
        _ => format!("int {name}(int at) {{"),
    };
    let declare = match end {
        "rs" => "let mut sum =",
        "ts" | "tsx" => "let sum =",
        "go" => "sum :=",
        "py" => "sum =",
        _ => "int sum =",
    };
    let stop = if matches!(end, "py" | "go") { "" } else { ";" };
    let close = if end == "py" { "" } else { "}" };
    let lines = [
        format!("{comment} What number {function} of {file} does."),
        head,
        format!("    {declare} {called}(at) + {other}(at){stop}"),
        format!("    sum = sum * {function} + 17{stop}"),
        format!("    sum = sum - {file}{stop}"),
        format!("    sum = helper(sum, \"a text of {file}\"){stop}"),
        format!("    return sum{stop}"),
        close.to_owned(),
        String::new(),
    ];
    for line in lines {
        writeln!(text, "{line}").expect("a text takes what is written into it");
    }
}
