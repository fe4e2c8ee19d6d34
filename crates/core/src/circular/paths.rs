//! How the path of a file is written, so that it is the same from whichever checkout.
//!
//! Owns what of a path is kept: not where the checkout lies, not where in the file it points, not the version of the library
//! that it is of. It must not know what else stands on the line.

use std::sync::LazyLock;

use regex::{Captures, Regex};

/// Folders of a project from which on a path is kept: what lies before them differs between checkouts.
const KEPT_FROM: &[&str] = &[
    "src",
    "lib",
    "libs",
    "test",
    "tests",
    "__tests__",
    "spec",
    "app",
    "apps",
    "pkg",
    "cmd",
    "internal",
    "packages",
    "crates",
    "include",
    "scripts",
    "examples",
    "benches",
    "server",
    "client",
    "services",
    "content",
    "migrations",
    "components",
    "pages",
    "templates",
    "e2e",
    "testdata",
    "fixtures",
    "docs",
    "doc",
    "deploy",
    "config",
    "charts",
    "plugins",
    "modules",
    "routes",
    "utils",
    "tools",
    "controllers",
    "models",
    "views",
    "Sources",
    "Tests",
    "target",
];
/// Folders in which people and machines have their checkouts and what is thrown away.
const CHECKED_OUT_IN: &[&str] = &[
    "home",
    "Users",
    "root",
    "tmp",
    "temp",
    "private",
    "var",
    "workspace",
    "workspaces",
    "builds",
    "build",
    "github",
    "srv",
    "mnt",
    "__w",
    "w",
    "drone",
    "code",
    "repo",
    "repos",
    "work",
    "project",
    "projects",
    "go",
    "app",
    "src",
];
/// What follows the point in the name of a file that points into itself by `:3`.
const SOURCES: &[&str] = &[
    "rs", "py", "pyi", "js", "jsx", "mjs", "cjs", "ts", "tsx", "mts", "vue", "svelte", "go", "c",
    "cc", "cpp", "cxx", "h", "hh", "hpp", "java", "kt", "kts", "scala", "groovy", "rb", "php",
    "cs", "fs", "vb", "swift", "m", "mm", "sql", "sh", "bash", "yaml", "yml", "json", "toml", "md",
    "html", "css", "scss", "less", "ex", "exs", "erl", "hs", "ml", "lua", "pl", "pm", "t", "proto",
    "tf", "bazel", "cmake", "gradle", "xml", "s", "asm", "zig", "nim", "dart", "jl", "r", "txt",
    "cfg", "conf", "ini", "adoc", "rst", "graphql", "feature", "snap", "lock", "f90", "cu", "o",
    "a",
];

/// An address of the web, a file's path, or a file's name alone, with where in the file behind it.
static PATH: LazyLock<Regex> = LazyLock::new(|| {
    let part = r"[\w.@+~$%{}-]";
    let place =
        r"(?:\(\d+(?:,\s?\d+)?(?:[-,:]\d+(?:,\d+)?)?\)|:\[\d+,\s?\d+\]|(?::\d+){1,2}(?:-\d+)?)?";
    let shape = format!(
        r#"\b(?:https?|wss?|ftp|ssh|git|postgres(?:ql)?|mysql|redis|amqps?|mongodb|grpc|tcp|udp|jdbc:\w+)://(?:<\w+>|[^\s"'<>)\]}},])+|(?:file://)?(?:\b[A-Za-z]:)?(?:[\\/]?{part}+(?:[\\/]+{part}+)+|[\\/]{part}+|{part}*\w\.[A-Za-z]\w{{0,5}}\b){place}"#
    );
    Regex::new(&shape).expect("a shape")
});
static PLACE: LazyLock<Regex> = LazyLock::new(|| {
    let shape =
        r"(?:\(\d+(?:,\s?\d+)?(?:[-,:]\d+(?:,\d+)?)?\)|:\[\d+,\s?\d+\]|(?::\d+){1,2}(?:-\d+)?)$";
    Regex::new(shape).expect("a shape")
});

/// A line in which each path is written so.
pub(super) fn written(line: &str) -> String {
    let written = PATH.replace_all(line, |found: &Captures<'_>| path(&found[0]));
    written.into_owned()
}

/// A path without where its checkout lies and without where in the file it points; what merely looks like one as it is.
fn path(found: &str) -> String {
    let is_web = found.contains("://") && !found.starts_with("file://");
    if is_web {
        let (address, query) = found.split_once('?').unwrap_or((found, ""));
        let is_script = address.rsplit('/').next().is_some_and(is_source);
        // What a server of modules adds so that none is cached.
        return match is_script || query.starts_with("t=") {
            true => PLACE.replace(address, "").into_owned(),
            false => found.to_owned(),
        };
    }
    let whole = PLACE.replace(found, "");
    if !whole.contains(['/', '\\']) {
        // A file alone, or two names with a point between them: `a.rs:3`, and `db.internal:5432`.
        let place = &found[whole.len()..];
        let points = is_source(&whole) || place.matches(':').count() > 1;
        return if points {
            whole.into_owned()
        } else {
            found.to_owned()
        };
    }
    let whole = whole.trim_start_matches("file://").replace('\\', "/");
    let parts: Vec<&str> = whole
        .split('/')
        .filter(|part| !matches!(*part, "" | "." | ".."))
        .collect();
    let Some(last) = parts.last() else {
        return whole;
    };
    let has_drive = parts[0]
        .strip_suffix(':')
        .is_some_and(|letter| letter.len() == 1);
    let is_absolute = whole.starts_with('/') || has_drive;
    if !is_absolute && !last.contains('.') {
        // `and/or`, `application/json`, `deployment/web`, and `acme/web:12`: no file, but for a few.
        let is_file = matches!(
            *last,
            "Makefile" | "Dockerfile" | "Rakefile" | "Gemfile" | "Jenkinsfile"
        );
        return if is_file { whole } else { found.to_owned() };
    }
    from_the_checkout(&parts, is_absolute, has_drive)
}

fn from_the_checkout(parts: &[&str], is_absolute: bool, has_drive: bool) -> String {
    if let Some(from) = library(parts) {
        let parts: Vec<&str> = parts[from..].iter().map(|part| unversioned(part)).collect();
        return parts.join("/");
    }
    let is_nested = matches!(parts, ["drone" | "usr" | "go", "src", _, ..]);
    let first = usize::from(has_drive || is_nested);
    let (Some(root), Some(last)) = (parts.get(first), parts.last()) else {
        return parts.join("/");
    };
    let is_system = matches!(*root, "Windows" | "Program Files" | "ProgramData");
    let is_checkout = is_absolute && (CHECKED_OUT_IN.contains(root) || (has_drive && !is_system));
    // A folder at the root is where the checkout lies, whatever it is called.
    let from = parts
        .iter()
        .skip(first + 1)
        .position(|part| KEPT_FROM.contains(part));
    match from {
        Some(from) if is_absolute => parts[first + 1 + from..].join("/"),
        _ if !is_checkout => parts.join("/"),
        _ if last.contains('.') => (*last).to_owned(),
        _ => "<folder>".to_owned(),
    }
}

/// Where in a path a folder begins that holds what others wrote, wherever it lies.
fn library(parts: &[&str]) -> Option<usize> {
    (0..parts.len()).rev().find(|at| match parts[*at] {
        "site-packages" | "dist-packages" | "node_modules" | "registry" | "gems" => true,
        "mod" => *at > 0 && parts[at - 1] == "pkg",
        part => part.starts_with("cmake-") && *at + 1 < parts.len(),
    })
}

/// A part of a library's path without the version: `insta-1.39.0`, `react@18.2.0`.
fn unversioned(part: &str) -> &str {
    let is_version = |at: usize| {
        part[at + 1..]
            .trim_start_matches('v')
            .starts_with(|c: char| c.is_ascii_digit())
    };
    let at = part
        .char_indices()
        .find(|(at, c)| matches!(c, '-' | '@') && *at > 0 && is_version(*at));
    at.map_or(part, |(at, _)| &part[..at])
}

fn is_source(name: &str) -> bool {
    let name = name.split(':').next().unwrap_or(name);
    name.rsplit_once('.')
        .is_some_and(|(_, end)| SOURCES.contains(&end.to_ascii_lowercase().as_str()))
}
