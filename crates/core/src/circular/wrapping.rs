//! What terminals, runners of pipelines and loggers wrap around the lines of an error.
//!
//! Owns how that is taken off: colours, stamps, marks of annotations, the prefixes of package managers and builders, and the
//! objects of JSON in which some tools print each event. It must not know which lines say what went wrong: that is
//! [`super::essence`]'s.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::Regex;
use serde_json::{Map, Value};

use crate::terminal::shown;

/// When a line was logged, as it stands at its beginning.
const STAMP: &str = r"(?:\d{4}[-/]\d{2}[-/]\d{2}[T ]\d{2}:\d{2}:\d{2}(?:[.,]\d+)?(?: ?Z\b| ?[+-]\d{2}:?\d{2})?(?: UTC| GMT)?|\d{1,2}/\w{3}/\d{4}[: ]\d{2}:\d{2}:\d{2}(?: [+-]\d{4})?|(?:\w{3} )?\w{3} +\d{1,2} \d{2}:\d{2}:\d{2}(?:\.\d+)?(?: \d{4})?|\d{1,2}:\d{2}:\d{2}(?:[.,]\d+)?(?: [AP]M)?|\d{10}(?:\.\d+|\d{3})?)";

/// Keys of logged objects under which stands when, where and for how long, rather than what.
const VOLATILE: &[&str] = &[
    "time",
    "timestamp",
    "@timestamp",
    "ts",
    "date",
    "host",
    "hostname",
    "pid",
    "tid",
    "thread",
    "thread_id",
    "elapsed",
    "elapsed_ms",
    "duration",
    "duration_ms",
    "took",
    "took_ms",
    "latency",
    "exec_time",
    "request_id",
    "requestid",
    "trace_id",
    "traceid",
    "span_id",
    "spanid",
    "correlation_id",
    "caller",
    "line",
    "lineno",
    "attempt",
    "pod",
    "instance",
    "stack",
    "stacktrace",
    "uptime",
];

/// What begins a line, and what is left of it, in this order.
static PREFIXES: LazyLock<Vec<(Regex, &'static str)>> = LazyLock::new(|| {
    let stamped =
        format!(r"^([\w.-]+ +\| +)?(?:\[{STAMP}\]|{STAMP}:?)(?: \[\d+\](?:: \[\d+-\d+\])?)? ");
    [
        // Stamps of pipelines, with the stream.
        (r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d+Z (?:\d{2}[OE][+ ])?", ""),
        // The journal of a system: the day, the host and the program.
        (
            r"^(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) +\d{1,2} \d{2}:\d{2}:\d{2} \S+ (\S+?)(?:\[\d+\])?: ",
            "$1: ",
        ),
        (stamped.as_str(), "$1"),
        // Steps of a build are numbered, with the seconds that it took to there.
        (r"^#\d+ \d+\.\d+ ", ""),
        (r"^#\d+ ([A-Za-z+>/\[(])", "$1"),
        (r"^\d+\.\d{2,3} ([A-Za-z+/\[(])", "$1"),
        // Marks of annotations.
        (r"^##\[error\] ?", ""),
        (r"^##vso\[task\.logissue type=error[^\]]*\]", ""),
        (r"^::error[^:]*::", ""),
        (r"^Error: {2,}", "  "),
        (r"^Error: (\S+\(\d+,\d+\): error )", "$1"),
        (r"^(?:npm ERR!|npm error) ?", "npm error "),
        // A box that is drawn around a paragraph.
        (r"^│ ?", ""),
        (r"^ *\d+>([A-Za-z/\\])", "$1"),
        (r"^\[xUnit\.net [\d:.]+\]\s+", ""),
        // The kernel counts from its start.
        (r"^(?:kernel: )?\[ *\d+\.\d{6}\] ", ""),
        // What a linker says is told below the note of the compiler that called it.
        (r"^\s*= note: (\S*\bld(?:\.\w+)?: )", "$1"),
        (r"^[EWIF]\d{4} \d{2}:\d{2}:\d{2}\.\d+\s+\d+ ", ""),
        (r"^[EWIFD], \[[^\]]*\]\s+", ""),
        (r"^\[(?:info|error)\] ", ""),
        (r"^(\[\w+\] )?\d+#\d+: (?:\*\d+ )?", "$1"),
    ]
    .map(|(shape, to)| (Regex::new(shape).expect("a shape of the list"), to))
    .into()
});

/// What may begin every line of a text: the service, the package, the unit or the pod that printed it.
static SHARED: LazyLock<Vec<Regex>> = LazyLock::new(|| {
    [
        r"^[\w.@/-]+ +\| ?",
        r"^@?[\w/-]+(?:[: #][\w-]+)?: ",
        r"^\[[\w./@-]+\] ",
        r"^(?:pod/)?[\w-]+[ /][\w-]+ ",
    ]
    .map(|shape| Regex::new(shape).expect("a shape of the list"))
    .into()
});
/// What begins every line because each of them says that something is wrong.
static LEVEL: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)error|fail|fatal|warn|panic|critical|severe|denied|assert|undefined|^\W*e\b")
        .expect("a shape")
});
/// Lines from which on what all of them begin with is no chance.
const SHARED_MIN: usize = 3;

/// A text without what is wrapped around its lines.
pub(super) fn unwrapped(text: &str) -> String {
    let text = shown(text);
    let mut lines: Vec<Cow<'_, str>> = text
        .lines()
        .map(|line| {
            let line = line.trim_end_matches('\r');
            // Of a line that was written over, what was written last.
            without_prefix(line.rsplit('\r').next().unwrap_or(line))
        })
        .collect();
    if let Some(shared) = shared(&lines) {
        for line in &mut lines {
            let rest = line.strip_prefix(&shared).unwrap_or_default();
            *line = Cow::Owned(without_prefix(rest).into_owned());
        }
    }
    let mut whole = String::with_capacity(text.len());
    for line in lines {
        match object(&line) {
            Some(object) => whole.push_str(&told_by(&object)),
            None => whole.push_str(&line),
        }
        whole.push('\n');
    }
    whole
}

/// What all lines that are not empty begin with, where it says who printed them.
fn shared(lines: &[Cow<'_, str>]) -> Option<String> {
    let told: Vec<&str> = lines
        .iter()
        .map(AsRef::as_ref)
        .filter(|line| !line.trim().is_empty())
        .collect();
    if told.len() < SHARED_MIN {
        return None;
    }
    let indent = |line: &&str| line.len() - line.trim_start_matches(' ').len();
    let spaces = told.iter().map(indent).min().unwrap_or_default();
    if spaces > 0 {
        return Some(" ".repeat(spaces));
    }
    let is_shared = |shared: &&str| {
        let all = |line: &&str| line.starts_with(*shared) || *line == shared.trim_end();
        !LEVEL.is_match(shared) && told.iter().all(all)
    };
    SHARED
        .iter()
        .filter_map(|shape| shape.find(told[0]))
        .map(|found| found.as_str())
        .find(is_shared)
        .map(str::to_owned)
}

fn without_prefix(line: &str) -> Cow<'_, str> {
    let mut line = Cow::Borrowed(line);
    for (shape, to) in PREFIXES.iter() {
        if let Cow::Owned(changed) = shape.replace(&line, *to) {
            line = Cow::Owned(changed);
        }
    }
    line
}

/// The object of JSON that is a whole line.
fn object(line: &str) -> Option<Map<String, Value>> {
    let line = line.trim();
    if !line.starts_with("{\"") || !line.ends_with('}') {
        return None;
    }
    match serde_json::from_str(line) {
        Ok(Value::Object(object)) => Some(object),
        _ => None,
    }
}

/// What an object says, in the lines that the tool prints where it does not write JSON.
fn told_by(object: &Map<String, Value>) -> String {
    let text = |key: &str| object.get(key).and_then(Value::as_str);
    if let Some(action) = text("Action") {
        return match (action, text("Output"), text("Test")) {
            ("output", Some(output), _) => output.trim_end().to_owned(),
            ("fail", _, Some(test)) => format!("--- FAIL: {test}"),
            _ => String::new(),
        };
    }
    if let Some(reason) = text("reason") {
        let rendered = object
            .get("message")
            .and_then(|message| message.get("rendered"))
            .and_then(Value::as_str);
        if rendered.is_some() || reason.contains("build") || reason.contains("compiler") {
            return rendered.unwrap_or_default().to_owned();
        }
    }
    if let (Some(event), Some(name)) = (text("event"), text("name")) {
        return match event {
            "failed" => format!(
                "test {name} ... FAILED\n{}",
                text("stdout").unwrap_or_default()
            ),
            _ => String::new(),
        };
    }
    let level = text("level").or_else(|| text("severity"));
    if level.is_some_and(|level| {
        matches!(
            level.to_lowercase().as_str(),
            "info" | "debug" | "trace" | "notice"
        )
    }) {
        return String::new();
    }
    let mut parts: Vec<String> = object
        .iter()
        .filter(|(key, _)| !VOLATILE.contains(&key.to_lowercase().as_str()))
        .map(|(key, value)| match value {
            Value::String(value) => format!("{key}={value}"),
            value => format!("{key}={value}"),
        })
        .collect();
    parts.sort_unstable();
    parts.join(" ")
}
