//! What terminals, runners of pipelines and loggers wrap around the lines of an error.
//!
//! Owns how that is taken off: colours, stamps, marks of annotations, the prefixes of package managers and builders, and the
//! objects of JSON in which some tools print each event. It must not know which lines say what went wrong: that is
//! [`super::essence`]'s.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::Regex;
use serde_json::{Map, Value};

/// When a line was logged, as it stands at its beginning.
const STAMP: &str = r"(?:\d{4}[-/]\d{2}[-/]\d{2}[T ]\d{2}:\d{2}:\d{2}(?:[.,]\d+)?(?: ?Z\b| ?[+-]\d{2}:?\d{2})?(?: UTC| GMT)?|\d{1,2}:\d{2}:\d{2}(?:[.,]\d+)?(?: [AP]M)?)";

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

static TERMINAL: LazyLock<Regex> = LazyLock::new(|| {
    let shape = r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[@-Z\\-_]|[\x00-\x08\x0b\x0c\x0e-\x1a\x1c-\x1f\x7f]";
    Regex::new(shape).expect("a shape")
});

/// What begins a line, and what is left of it, in this order.
static PREFIXES: LazyLock<Vec<(Regex, &'static str)>> = LazyLock::new(|| {
    let stamped =
        format!(r"^([\w.-]+ +\| +)?(?:\[{STAMP}\]|{STAMP}:?)(?: \[\d+\](?:: \[\d+-\d+\])?)? ");
    [
        // Stamps of pipelines, with the stream.
        (r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d+Z (?:\d{2}[OE][+ ])?", ""),
        // Marks of annotations.
        (r"^##\[error\] ?", ""),
        (r"^##vso\[task\.logissue type=error[^\]]*\]", ""),
        (r"^::error[^:]*::", ""),
        (r"^Error: {2,}", "  "),
        (r"^Error: (\S+\(\d+,\d+\): error )", "$1"),
        (r"^(?:npm ERR!|npm error) ?", "npm error "),
        // A box that is drawn around a paragraph.
        (r"^│ ?", ""),
        // Steps of a build are numbered, with the seconds that it took to there.
        (r"^#\d+ (?:\d+\.\d+ )?([A-Za-z+>/\[(])", "$1"),
        (r"^\d+\.\d{2,3} ([A-Za-z+/\[(])", "$1"),
        (r"^ *\d+>([A-Za-z/\\])", "$1"),
        (r"^\[xUnit\.net [\d:.]+\]\s+", ""),
        // The journal of a system: the day, the host and the program.
        (
            r"^(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) +\d{1,2} \d{2}:\d{2}:\d{2} \S+ (\S+?)(?:\[\d+\])?: ",
            "$1: ",
        ),
        (stamped.as_str(), "$1"),
        (r"^[EWIF]\d{4} \d{2}:\d{2}:\d{2}\.\d+\s+\d+ ", ""),
        (r"^[EWIFD], \[[^\]]*\]\s+", ""),
        (r"^\[(?:info|error)\] ", ""),
        (r"^(\[\w+\] )?\d+#\d+: (?:\*\d+ )?", "$1"),
    ]
    .map(|(shape, to)| (Regex::new(shape).expect("a shape of the list"), to))
    .into()
});

/// A text without what is wrapped around its lines.
pub(super) fn unwrapped(text: &str) -> String {
    let text = TERMINAL.replace_all(text, "");
    let mut whole = String::with_capacity(text.len());
    for line in text.lines() {
        let line = line.trim_end_matches('\r');
        // Of a line that was written over, what was written last.
        let line = line.rsplit('\r').next().unwrap_or(line);
        let line = without_prefix(line);
        match object(&line) {
            Some(object) => whole.push_str(&told_by(&object)),
            None => whole.push_str(&line),
        }
        whole.push('\n');
    }
    whole
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
