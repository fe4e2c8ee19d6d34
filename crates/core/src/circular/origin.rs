//! Out of which function an error came, where what it says could come out of any.
//!
//! Owns which messages say too little alone, and how runtimes print the frames of a stack. It must not know how the rest of an
//! error is told: that is [`super::essence`]'s.

use std::sync::LazyLock;

use regex::{Regex, RegexSet};

/// Messages that do not name what was wrong.
static GENERIC: LazyLock<RegexSet> = LazyLock::new(|| {
    let shapes = [
        r"\b(?:IndexError|ZeroDivisionError|UnboundLocalError)\b|'NoneType' object|^(?:AssertionError|NotImplementedError|StopIteration|MemoryError|KeyboardInterrupt)\s*$|values to unpack|JSONDecodeError",
        r"^(?:\w+\.)*[A-Z]\w*(?:Error|Exception)\s*:?\s*$",
        r"invalid memory address or nil pointer|index out of range \[|slice bounds out of range|integer divide by zero|concurrent map",
        r"NullPointerException|IndexOutOfBoundsException|ArithmeticException|NoSuchElementException|ConcurrentModificationException|NegativeArraySize",
        r"NullReferenceException|Object reference not set|Sequence contains no|IndexOutOfRangeException|was outside the bounds",
        r"Cannot read propert(?:y|ies) of (?:undefined|null)|Maximum call stack",
        r"(?i)segmentation fault|\bSIG(?:SEGV|ABRT|BUS|FPE)\b|Invalid (?:read|write) of size|uninitialised value|bus error",
    ];
    RegexSet::new(shapes).expect("shapes of the list")
});

/// A frame of Python: the file, and the function.
static PYTHON: LazyLock<Regex> =
    LazyLock::new(|| shape(r#"^\s*File "([^"]+)", line \d+, in (\S.*)$"#));
/// A frame of Go, whose file stands on the next line.
static GO: LazyLock<Regex> = LazyLock::new(|| {
    shape(r"^((?:[\w.~-]+/)*[\w.~-]+\.(?:\(\*?\w+(?:\[[^\]]*\])?\)\.)?[\w.\[\]-]+)\(.*\)$")
});
static GO_CLOSURE: LazyLock<Regex> = LazyLock::new(|| shape(r"(?:\.func\d+|\.\d+)+$"));
/// A frame of the JVM or of .NET: the method.
static MANAGED: LazyLock<Regex> =
    LazyLock::new(|| shape(r"^\s*at ([\w.$/@<>`+\[\],-]+)\s?\(.*\)(.*)$"));
static LAMBDA: LazyLock<Regex> = LazyLock::new(|| shape(r"(?:\$\d+|\$\$Lambda.*)$"));
/// A frame of JavaScript: the function, and the file.
static SCRIPT: LazyLock<Regex> =
    LazyLock::new(|| shape(r"^\s*at (?:async )?([\w$.]+)(?: \[as [^\]]+\])? \((.+)\)$"));
/// A frame of a debugger or of a checker of memory.
static NATIVE: LazyLock<Regex> = LazyLock::new(|| {
    shape(
        r"^(?:==\d+==\s+(?:at|by) 0x[0-9A-Fa-f]+: |\s*(?:#\d+\s+)?0x[0-9a-f]+ in |\s*#\d+\s+)([\w:~]+) ?\(",
    )
});

/// Where what others wrote begins, by the name of a method.
const OTHERS: &[&str] = &[
    "java.",
    "java.base/",
    "javax.",
    "jakarta.",
    "jdk.",
    "sun.",
    "com.sun.",
    "kotlin.",
    "kotlinx.",
    "scala.",
    "org.junit.",
    "junit.",
    "org.apache.",
    "org.springframework.",
    "org.hibernate.",
    "org.gradle.",
    "org.mockito.",
    "System.",
    "Microsoft.",
    "Xunit.",
    "NUnit.",
    "runtime.",
    "testing.",
    "reflect.",
    "sync.",
    "runtime/",
    "net/",
    "encoding/",
    "io.netty.",
    "reactor.",
];
/// The same of functions of C.
const OTHERS_NATIVE: &[&str] = &[
    "__", "raise", "abort", "gsignal", "pthread_", "mem", "str", "std::", "malloc", "free",
];

fn shape(shape: &str) -> Regex {
    Regex::new(shape).expect("a shape of a frame")
}

/// Whether a line of the core says too little to name an error.
pub(super) fn is_generic(line: &str) -> bool {
    GENERIC.is_match(line)
}

/// The function of the innermost frame that is not of a library, in whichever runtime's print.
pub(super) fn of(lines: &[&str]) -> Option<String> {
    python(lines)
        .or_else(|| go(lines))
        .or_else(|| managed(lines))
        .or_else(|| native(lines))
        .map(|function| format!("in {function}"))
}

fn is_own(function: &str) -> bool {
    !OTHERS.iter().any(|others| function.starts_with(others))
}

fn is_own_file(file: &str) -> bool {
    ![
        "site-packages",
        "dist-packages",
        "/lib/python",
        "<frozen",
        "node_modules",
        "node:",
        "pkg/mod",
        "/go/src/",
        "x64/src/",
        "libexec/src/",
        "/rustc/",
    ]
    .iter()
    .any(|library| file.contains(library))
}

fn python(lines: &[&str]) -> Option<String> {
    let frames = lines.iter().rev().filter_map(|line| PYTHON.captures(line));
    let mut own = frames.filter(|frame| is_own_file(&frame[1]));
    own.next().map(|frame| frame[2].trim().to_owned())
}

fn go(lines: &[&str]) -> Option<String> {
    let begin = lines
        .iter()
        .position(|line| line.starts_with("goroutine "))?;
    lines[begin..].windows(2).find_map(|pair| {
        let frame = GO.captures(pair[0])?;
        let is_own = is_own(&frame[1]) && is_own_file(pair[1]);
        is_own.then(|| GO_CLOSURE.replace(&frame[1], "").into_owned())
    })
}

fn managed(lines: &[&str]) -> Option<String> {
    lines.iter().find_map(|line| {
        if let Some(frame) = SCRIPT
            .captures(line)
            .filter(|frame| frame[2].contains(['/', '\\']))
        {
            let is_own = is_own_file(&frame[2]) && !frame[1].contains("anonymous");
            return is_own.then(|| frame[1].to_owned());
        }
        let frame = MANAGED.captures(line)?;
        let function = frame[1].rsplit("//").next().unwrap_or(&frame[1]);
        is_own(function).then(|| LAMBDA.replace(function, "").into_owned())
    })
}

fn native(lines: &[&str]) -> Option<String> {
    let mut frames = lines.iter().filter_map(|line| NATIVE.captures(line));
    frames.find_map(|frame| {
        let is_own = !OTHERS_NATIVE
            .iter()
            .any(|others| frame[1].starts_with(others));
        is_own.then(|| frame[1].to_owned())
    })
}
