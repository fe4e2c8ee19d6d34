//! What of a line of an error's text stays the same when the same error comes again.
//!
//! Owns the normalisation of one line: what a terminal adds, when and how long it ran, where in memory, in which process and
//! under which folder, and at which line of a file. It must not know which lines say what went wrong: that is [`super::essence`]'s.
//!
//! What is left names the error: another key, another value or another test is another error. So a number is only taken out where
//! its place says what it counts.

use std::borrow::Cow;
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
];

/// The first port that systems hand out to whoever asks for any.
const PORTS_DRAWN_FROM: u32 = 32_768;
/// Hexadecimal digits that make a name that nobody chose.
const HEX_MIN: usize = 8;

/// What is replaced, in this order.
static STEPS: LazyLock<Vec<(Regex, &'static str)>> = LazyLock::new(|| {
    [
        // A line of a log begins with when and where it was written.
        (r"\b[EWIF]\d{4} \d{2}:\d{2}:\d{2}\.\d+\s+\d+ ", ""),
        (
            r"\d{4}[-/]\d{2}[-/]\d{2}[T ]\d{2}:\d{2}:\d{2}(?:[.,]\d+)?(?: ?Z|[ ]?[+-]\d{2}:?\d{2})?",
            "<time>",
        ),
        (r"\b\d{4}-\d{2}-\d{2}\b", "<time>"),
        (
            r"\b(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]* \d{1,2},? \d{4}\b",
            "<time>",
        ),
        // Seconds or milliseconds since 1970.
        (r"\b1[5-9]\d{8}(?:\.\d+|\d{3})?\b", "<time>"),
        (r"\b\d{1,2}:\d{2}:\d{2}(?:[.,]\d+)?(?: ?[AP]M)?\b", "<time>"),
        (
            r"\b[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}\b",
            "<uuid>",
        ),
        (r"\b0x[0-9a-fA-F]+\b", "<address>"),
        (r"\b([A-Za-z_$][\w$]*(?:;)?)@[0-9a-f]{5,16}\b", "$1@<address>"),
        (
            r"\b(?:\d+(?:\.\d+)?\s?(?:ns|µs|us|ms|secs?|seconds?|mins?|minutes?|hours?|[hms]))+\b",
            "<duration>",
        ),
        (r"\(x\d+ over ", "(x<n> over "),
        (r"(?i)\b(pid|process|tid|thread)([ =:#]+)\d+\b", "$1$2<process>"),
        (r"\b([Tt]hread-)\d+", "$1<process>"),
        (r"\bThreadId\(\d+\)", "ThreadId(<process>)"),
        (r"(thread '[^']*') \(\d+\)", "$1"),
        (r"\((node|python|ruby|java):\d+\)", "($1:<process>)"),
        (r"\b([A-Za-z][\w.-]*)\[\d+\]:", "$1:"),
        (r"==\d+==", "==<process>=="),
        (r#"(?i)\b((?:request|trace|span|correlation)[ _-]?id["']?[:= ]+["']?)[\w-]+"#, "$1<id>"),
        // Steps of a build are numbered, with the seconds that it took to there.
        (r"^#\d+ (?:\d+\.\d+ )?", ""),
        (r"[‘’`´]", "'"),
        (r"[“”]", "\""),
        // Where in a file, in words, and behind a method of a class.
        (r"\b([A-Z]\w*(?:\.\w+)+):\d+\b", "$1"),
        (r"(?i)\b(line|column|col|offset|position)([ :=]+)\d+", "$1$2<n>"),
        (r"(?i)\b(lines)([ :=]+)\d+-\d+", "$1$2<n>"),
        // What a cluster adds to the name of a pod.
        (r"-[a-f0-9]{8,10}-[bcdfghjklmnpqrstvwxz2456789]{5}\b", "-<pod>"),
        (
            r#"\b(pods?[/ ]"?[a-z0-9.-]*?)-[bcdfghjklmnpqrstvwxz2456789]{5}\b"#,
            "$1-<pod>",
        ),
        (r"\bsha256:[0-9a-f]{12,64}\b", "<hash>"),
    ]
    .map(|(shape, to)| (Regex::new(shape).expect("a shape of the list"), to))
    .into()
});

static TERMINAL: LazyLock<Regex> = LazyLock::new(|| {
    let shape = r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[@-Z\\-_]|[\x00-\x08\x0b\x0c\x0e-\x1a\x1c-\x1f\x7f]";
    Regex::new(shape).expect("a shape")
});
/// A path, with where in the file behind it.
static PATH: LazyLock<Regex> = LazyLock::new(|| {
    let part = r"[\w.@+~$%{}-]";
    let shape = format!(
        r"(?:file://)?(?:\b[A-Za-z]:)?(?:[\\/]?{part}+(?:[\\/]+{part}+)+|[\\/]{part}+|{part}*\w\.[A-Za-z]\w{{0,5}}\b)(?:\((?:\d+)(?:,\s?\d+)?\)|(?::\d+){{1,2}})?"
    );
    Regex::new(&shape).expect("a shape")
});
static PORT: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"([\w.\])-]):(\d{5})\b").expect("a shape"));
static HEX: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"\b[0-9a-fA-F]{7,64}\b").expect("a shape"));
static PLACE: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"(?:\(\d+(?:,\s?\d+)?\)|(?::\d+){1,2})$").expect("a shape"));

/// A text without what a terminal makes of it: no colours, and of a line that was written over, what was written last.
pub(super) fn plain(text: &str) -> String {
    let text = TERMINAL.replace_all(text, "");
    let lines = text.lines().map(|line| {
        let line = line.trim_end_matches('\r');
        line.rsplit('\r').next().unwrap_or(line)
    });
    lines.collect::<Vec<&str>>().join("\n")
}

/// A line of such a text, normalised.
pub(super) fn line(text: &str) -> String {
    let mut line = Cow::Borrowed(text);
    for (shape, to) in STEPS.iter() {
        if let Cow::Owned(changed) = shape.replace_all(&line, *to) {
            line = Cow::Owned(changed);
        }
    }
    let line = PORT.replace_all(&line, |found: &Captures<'_>| {
        let drawn = found[2]
            .parse::<u32>()
            .is_ok_and(|port| port >= PORTS_DRAWN_FROM);
        let port = if drawn { "<port>" } else { &found[2] };
        format!("{}:{port}", &found[1])
    });
    let line = PATH.replace_all(&line, |found: &Captures<'_>| path(&found[0]));
    let line = HEX.replace_all(&line, |found: &Captures<'_>| {
        let (text, has) = (&found[0], |is: fn(&char) -> bool| {
            found[0].chars().any(|c| is(&c))
        });
        let is_drawn =
            text.len() >= HEX_MIN && has(char::is_ascii_digit) && has(char::is_ascii_alphabetic);
        if is_drawn {
            "<hash>".to_owned()
        } else {
            text.to_owned()
        }
    });
    line.split_whitespace().collect::<Vec<&str>>().join(" ")
}

/// A path without where its checkout lies and without where in the file it points; what merely looks like one as it is.
fn path(found: &str) -> String {
    let whole = PLACE.replace(found, "");
    if !whole.contains(['/', '\\']) {
        // A file alone, or two names with a point between them: `a.rs:3`, and `x.value`.
        return whole.into_owned();
    }
    let whole = whole.trim_start_matches("file://").replace('\\', "/");
    let parts: Vec<&str> = whole
        .split('/')
        .filter(|part| !matches!(*part, "" | "." | ".."))
        .collect();
    let Some((last, folders)) = parts.split_last() else {
        return whole;
    };
    let drive = parts[0]
        .strip_suffix(':')
        .is_some_and(|letter| letter.len() == 1);
    let is_absolute = whole.starts_with('/') || drive;
    if !is_absolute && !last.contains('.') {
        // `and/or`, `application/json`, `deployment/web`: no file.
        return whole;
    }
    let from_a_library = parts.iter().rposition(|part| is_library(part));
    let from_a_folder = || {
        let kept = |part: &&str| KEPT_FROM.contains(part);
        parts.iter().position(kept).filter(|_| is_absolute)
    };
    if let Some(from) = from_a_library.or_else(from_a_folder) {
        return parts[from..].join("/");
    }
    let root = folders.iter().find(|part| !part.ends_with(':'));
    if !is_absolute || !root.is_some_and(|root| CHECKED_OUT_IN.contains(root)) {
        return parts.join("/");
    }
    if last.contains('.') {
        (*last).to_owned()
    } else {
        "<folder>".to_owned()
    }
}

/// Whether a folder holds what others wrote, wherever it lies.
fn is_library(part: &str) -> bool {
    matches!(part, "site-packages" | "node_modules" | "registry")
}
