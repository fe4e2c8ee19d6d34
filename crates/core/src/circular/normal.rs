//! What of a line of an error's text stays the same when the same error comes again.
//!
//! Owns the normalisation of one line: when and how long it ran, where in memory, in which process, under which drawn name or
//! port. What lies before a checkout is [`super::paths`]'. It must not know which lines say what went wrong: that is
//! [`super::essence`]'s.
//!
//! What is left names the error: another key, another value or another test is another error. So a number is only taken out where
//! its place says what it counts.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::{Captures, Regex};

use super::paths;

/// The first port that systems hand out to whoever asks for any.
const PORTS_DRAWN_FROM: u32 = 32_768;
/// Hexadecimal digits that make a name that nobody chose.
const HEX_MIN: usize = 8;

type Steps = Vec<(Regex, &'static str)>;

/// What is replaced first: when it happened, and how long what was measured took.
static CLOCK: LazyLock<Steps> = LazyLock::new(|| {
    steps(&[
        // How long a test took stands behind its name.
        (
            r"\s*[(\[]\s*(?:\d+(?:\.\d+)?\s?(?:ns|µs|us|ms|s|m|h|milliseconds?|seconds?|minutes?|hours?)(?:, )?)+\s*[)\]]$",
            "",
        ),
        (
            r"\d{4}[-/]\d{2}[-/]\d{2}[T ]\d{2}:\d{2}:\d{2}[.,]\d+(?: ?Z\b| ?[+-]\d{2}:?\d{2})?(?: UTC| GMT)?(?: m=[+-][\d.]+)?",
            "<time>",
        ),
        (r"\b\d{1,2}:\d{2}:\d{2}[.,]\d+\b", "<time>"),
    ])
});

/// What is replaced next, but not where it is a value that is compared.
static WHEN: LazyLock<Steps> = LazyLock::new(|| {
    let months = "(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*";
    let (days, in_words) = (
        format!(
            r"\b(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,? )?(?:\d{{1,2}} {months} \d{{4}}|{months} \d{{1,2}},? \d{{4}}|\d{{1,2}}/{months}/\d{{4}})\b"
        ),
        format!(
            r"\b(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) )?{months} +\d{{1,2}} \d{{2}}:\d{{2}}:\d{{2}}(?:\.\d+)?(?: [A-Z]{{3,4}})?(?: \d{{4}})?\b"
        ),
    );
    steps(&[
        // Seconds or milliseconds since 1970.
        (r"\b1[5-9]\d{8}(?:\.\d+|\d{3})?\b", "<time>"),
        (
            r"\d{4}[-/]\d{2}[-/]\d{2}[T ]\d{2}:\d{2}:\d{2}(?: ?Z\b| ?[+-]\d{2}:?\d{2})?(?: UTC| GMT)?",
            "<time>",
        ),
        (in_words.as_str(), "<time>"),
        (days.as_str(), "<time>"),
        (r"\b\d{4}-\d{2}-\d{2}\b", "<time>"),
        (r"\b\d{1,2}:\d{2}:\d{2}(?: ?[AP]M)?\b", "<time>"),
        (
            r"\b(?:\d+(?:\.\d+)?\s?(?:ns|µs|us|ms|milliseconds?|microseconds?|secs?|seconds?|mins?|minutes?|hours?|days?|[hms]))+\b",
            "<duration>",
        ),
        (r"<duration>(?:(?:,| and)? <duration>)+", "<duration>"),
    ])
});

/// What is replaced whether a line holds a digit or not.
static WORDED: LazyLock<Steps> = LazyLock::new(|| {
    steps(&[
        (r"[‘’`´]", "'"),
        (r"[“”]", "\""),
        (r" *\(core dumped\)", ""),
        (r#"^(Exception in thread) "[^"]*""#, "$1"),
        (r"^(?:ERROR|Error): ", "error: "),
        // The program, before the file in which it asserts something.
        (r"^\S+: (\S+: .*: Assertion ')", "$1"),
        (r"^(?:\S*[/-])?ld(?:\.\w+)?: ", "ld: "),
        (r" \[[^\]]*\.\w*proj\]$", ""),
        (r"(process didn't exit successfully: '[^ ']+) [^']*'", "$1'"),
        // Behind the level of a logged line, the process and the thread.
        (
            r"\b(ERROR|WARN|FATAL|SEVERE|CRITICAL) +\d* *--- +(?:\[[^\]]*\] +)*",
            "$1 --- ",
        ),
        (
            r"\b(ERROR|FATAL|SEVERE|CRITICAL) +\[(?:main|[\w-]*[Tt]hread[\w-]*|[^\]]*-(?:\d+|<process>))\] ",
            "$1 ",
        ),
        // What a cluster adds to the name of a pod.
        (
            r"-(?:[a-f0-9]{8,10}|[bcdfghjklmnpqrstvwxz2456789]{8,10})-[bcdfghjklmnpqrstvwxz2456789]{5}(_|\b)",
            "-<pod>$1",
        ),
        (
            r#"\b(pods?[/ ]"?[a-z0-9.-]*?)-[bcdfghjklmnpqrstvwxz2456789]{5}\b"#,
            "$1-<pod>",
        ),
    ])
});

/// What is replaced where there is a digit, in this order.
static STEPS: LazyLock<Steps> = LazyLock::new(|| {
    steps(&[
        // How long it took, behind what it was.
        (r"^([✕×✖✗].*?)\s+<duration>$", "$1"),
        (
            r"^((?:TRY \d+ )?(?:FAIL|TIMEOUT|SIG[A-Z]+|ABORT)) +\[[^\]]*\](?: \([^)]*\))?",
            "FAIL",
        ),
        (
            r"\b[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}\b",
            "<uuid>",
        ),
        (r"\b0[0-9A-HJKMNP-TV-Z]{25}\b", "<id>"),
        (r"\+0x[0-9a-f]+", "+<offset>"),
        (
            r"\b(address|addr|pc|sp|bp|fp|lr|ip)([ =])0x[0-9a-f]+",
            "$1$2<address>",
        ),
        (
            r"\b([A-Za-z_$][\w$]*(?:;)?)@[0-9a-f]{5,16}\b",
            "$1@<address>",
        ),
        (r"\balloc\d+\b", "alloc<n>"),
        (r"\s*\(x\d+ over [^)]*\)", ""),
        // Processes, threads and pools.
        (
            r"(?i)\b(pid|process|tid|thread|lwp)([ =:#]+)\d+\b",
            "$1$2<process>",
        ),
        (r"\b(thread )T\d+\b", "$1<process>"),
        (r"\b([Tt]hread-)\d+", "$1<process>"),
        (r"\b(goroutine )\d+", "$1<process>"),
        (
            r"\b(\w*[Pp]ool|exec|executor|dispatcher|\w+Worker|nio-\d+)-\d+(?:-thread-\d+)?\b",
            "$1-<process>",
        ),
        (r"\bThreadId\(\d+\)", "ThreadId(<process>)"),
        (r"(thread '[^']*') \(\d+\)", "$1"),
        (
            r"\b(Task|Fiber|Worker|Isolate|Actor|[Cc]oroutine)[-#]\d+\b",
            "$1-<process>",
        ),
        (
            r"#(?:PID|Ref|Reference|Port)<[\d.]+>|<\d+\.\d+\.\d+>",
            "<process>",
        ),
        (r"\((node|python|ruby|java):\d+\)", "($1:<process>)"),
        (r"(^|[ (])([A-Za-z(][\w.()-]*)\[\d+\]:", "$1$2:"),
        (r"<time>:? \[\d+\]", "<time>"),
        // What is logged beside what is said: `elapsed=3`, `Time elapsed: 3 s`.
        (
            r#"\b(?:elapsed|duration|took|latency|exec_time|time|ts|timestamp|pid|tid|uptime|caller|goroutine|(?:request|trace|span|correlation|thread)_?id)(?:_?ms|_?s|_?secs?)?=(?:"[^"]*"|[^\s,;)\]]+)"#,
            "",
        ),
        (
            r"(?i)\s*(?:--\s*)?\b(?:(?:total )?time(?: elapsed)?|elapsed(?: time)?|duration|finished in|completed in): <duration>",
            "",
        ),
        (r"(?i)\b(worker)(?: #?|#|=)\d+\b", "$1 <n>"),
        (r"\bgw\d+\b", "gw<n>"),
        (r"/proc/\d+", "/proc/<process>"),
        (
            r#"\b(resourceVersion|generation|revision)(["']?[:= ]+["']?)\d+"#,
            "$1$2<n>",
        ),
        // What was numbered by a clock or a counter for all: jobs that are run by the hour, identities of threads.
        (r"-2\d{7}(?:-[a-z0-9]{5})?\b", "-<job>"),
        (r"\b\d{13,}\b", "<n>"),
        (r"(?i)\b(seed)([ :=]+)\d+", "$1$2<n>"),
        // How a pool or a process was doing at the moment.
        (
            r"([(\[,] ?(?:Running, )?(?:total|active|idle|waiting|queued|pending|running|open|in[ _]use|(?:pool|queue) size|(?:active|queued|completed) \w+) ?[=:] ?)\d+",
            "$1<n>",
        ),
        (
            r"(?i)\b((?:total-vm|\w+-rss|rss|vsz|vmrss|pgtables|heap\w*)[:=] ?)\d+(?:\.\d+)? ?[KMG]?i?B?\b",
            "$1<size>",
        ),
        (r"\b\d+(?:\.\d+)? ?[kKMG]i?B/s\b", "<speed>"),
        (r"==\d+==", "==<process>=="),
        (
            r#"(?i)\b((?:request|trace|span|correlation|host)[ _-]?id["']?[:= ]+["']?)[\w+/=-]+"#,
            "$1<id>",
        ),
        (
            r"(?i)\b(attempt|retry|retry count|try)([ #=:]+)\d+(?:(?:/| of )\d+)?",
            "$1$2<n>",
        ),
        (r"(?i)\b(after )\d+( (?:attempts|retries|tries))", "$1<n>$2"),
        // How much memory there was at the moment.
        (
            r"\d+(?:\.\d+)? ?[KMGT]i?B((?: memory)? (?:is |are )?(?:free|in use|already allocated|allocated by|reserved|cached|used|available|left)\b)",
            "<size>$1",
        ),
        // Where in a file, in words, and behind a method of a class.
        (r"\b([A-Z]\w*(?:\.\w+)+):\d+\b", "$1"),
        (
            r"(?i)\b(line|column|col|offset|position)([ :=]+)\d+",
            "$1$2<n>",
        ),
        (r"(?i)\b(lines)([ :=]+)\d+-\d+", "$1$2<n>"),
        (
            r"\b(line <n>: +)\d+ +(Killed|Segmentation|Aborted|Terminated|Bus|Illegal|Floating)",
            "$1$2",
        ),
        (r"(\.\w+):line <n>", "$1"),
        (r"(\.kts?): \(\d+, \d+\)", "$1"),
        (r" \(\d+:\d+\)", ""),
        (
            r"\b((?:GNU)?[Mm]akefile|Dockerfile|Jenkinsfile|Rakefile|Gemfile|BUILD|WORKSPACE)(?::\d+){1,2}",
            "$1",
        ),
        (r"^(make)\[\d+\]", "$1"),
        (r"(\.[A-Za-z]\w{0,5}) \d+:\d+(?:-\d+(?::\d+)?)?\b", "$1"),
        (r"^\d+:\d+(?:-\d+)? +(error|warning|✖|×|-)", "$1"),
        (r" - (error TS\d+: )", ": $1"),
        // Tests that are numbered in the order in which they end.
        (r"^\d+\) ", ""),
        (r"^(not ok) \d+ ", "$1 "),
        (r"^\s*\d+/\d+ (Test) +#\d+: (\S+) \.*", "$1 $2 "),
        (r"^\d+ - (\S+ \([A-Z]\w*\))", "$1"),
        // How often a pod began anew.
        (r"^(\S+ +\d+/\d+ +[A-Z][\w:]+) +\d+ .*$", "$1"),
        // Machines that are numbered, the address behind the name of a host, and whom a name was asked of.
        (
            r"\bip(?:-\d{1,3}){4}(?:\.[\w.-]+)?|\bfv-az\d+-\d+|\brunner-\w+-project-\d+-concurrent-\d+",
            "<host>",
        ),
        (
            r#"([\w-]*[A-Za-z][\w.-]*["']?)(?: ?\(|/)\d{1,3}(?:\.\d{1,3}){3}\b"#,
            "$1 (<ip>",
        ),
        (r"(\blookup \S+ on |'@')\d{1,3}(?:\.\d{1,3}){3}\b", "$1<ip>"),
        (r"\b172\.(?:1[7-9]|2\d|3[01])\.0\.\d+\b", "<ip>"),
        (r"\b(read|write|dial) (tcp|udp) [\w.:\[\]<>]+->", "$1 $2 "),
        (r"\bsha256:[0-9a-f]{12,64}\b", "<hash>"),
        // Objects that are thrown away once they are linked.
        (r"\(\.text[^)]*\)", "(.text)"),
        (r"\bcc[A-Za-z0-9]{6}\.([os]|ltrans\w*)\b", "<object>.$1"),
        (r"-[0-9a-f]{6}\.o\b", "-<hash>.o"),
        (r"\b(sender|receiver|Receiver|generator)=\d[\d.]+", "$1"),
        (r"\[((?:\w+-)?\w+) \d+/\d+\]", "[$1]"),
    ])
});

/// Values of a comparison, by their label or by what stands between them.
static COMPARED: LazyLock<Regex> = LazyLock::new(|| {
    let shape = r"(?i)^\W*(?:expected|received|actual|left|right|got|want|wanted|but was|found|which is)\b[^:=]{0,30}[:=]|^[-+<>]|\bwant(?:ed)?\b|\bgot\b| [!=]==? |but was|\bto (?:equal|be|eql|match)\b|did not equal";
    Regex::new(shape).expect("a shape")
});
/// What is measured, and not chosen.
static MEASURED: LazyLock<Regex> = LazyLock::new(|| {
    let shape = r"(?i)\b(?:took|elapsed|after|within|slow|slower|at most|less than|greater than|under|below|timed? ?out|timeout|deadline|waited|waiting|exceeded)\b";
    Regex::new(shape).expect("a shape")
});
/// A fraction beside the bound that it misses.
static BOUNDED: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r" (?:<|>|<=|>=) ").expect("a shape"));
static FRACTION: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"\b\d+\.\d{3,}(?:e-?\d+)?\b").expect("a shape"));
static PROBED: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)\bprobe failed|\bkubelet\b|:10250\b|\bpod\b|, client: |\[client ")
        .expect("a shape")
});
static IP: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"\b\d{1,3}(?:\.\d{1,3}){3}\b").expect("a shape"));
static PORT: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"([\w.\])>-]:|\bports?:? \[?|', )(\d{5})\b").expect("a shape"));
static ADDRESS: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"\b0x([0-9a-fA-F]+)\b").expect("a shape"));
static HEX: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"\b[0-9a-fA-F]{7,64}\b").expect("a shape"));
/// Letters and digits without a break, of which some were drawn.
static TOKEN: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"[A-Za-z0-9]{10,}").expect("a shape"));
static COMMIT: LazyLock<Regex> = LazyLock::new(|| {
    let shape = r"(?i)\b(?:commit|apply|applying|revert|merge|rebase|cherry-pick|HEAD|parent|object|pick|modified in)\b|[0-9a-f]{7}\.\.";
    Regex::new(shape).expect("a shape")
});

/// Digests that are compared are values.
static DIGEST: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)\b(?:checksum|digest|sha-?\d*|hash|integrity)\b").expect("a shape")
});

fn steps(steps: &[(&str, &'static str)]) -> Steps {
    let step =
        |(shape, to): &(&str, &'static str)| (Regex::new(shape).expect("a shape of the list"), *to);
    steps.iter().map(step).collect()
}

fn replaced<'a>(mut line: Cow<'a, str>, steps: &Steps) -> Cow<'a, str> {
    for (shape, to) in steps {
        if let Cow::Owned(changed) = shape.replace_all(&line, *to) {
            line = Cow::Owned(changed);
        }
    }
    line
}

/// A line of a text, normalised.
pub(super) fn line(text: &str) -> String {
    let is_compared = COMPARED.is_match(text);
    let mut line = Cow::Borrowed(text);
    // No time and no number is told without a digit.
    let has_digit = text.contains(|c: char| c.is_ascii_digit());
    if has_digit {
        line = replaced(line, &CLOCK);
        if !is_compared || MEASURED.is_match(text) {
            line = replaced(line, &WHEN);
        }
    }
    if BOUNDED.is_match(text) {
        line = Cow::Owned(FRACTION.replace_all(&line, "<measured>").into_owned());
    }
    if PROBED.is_match(text) {
        line = Cow::Owned(IP.replace_all(&line, "<ip>").into_owned());
    }
    let mut line = replaced(line, &WORDED);
    if has_digit {
        line = replaced(line, &STEPS);
    }
    let line = PORT.replace_all(&line, |found: &Captures<'_>| {
        let drawn = found[2]
            .parse::<u32>()
            .is_ok_and(|port| port >= PORTS_DRAWN_FROM);
        let port = if drawn { "<port>" } else { &found[2] };
        format!("{}{port}", &found[1])
    });
    let line = ADDRESS.replace_all(&line, |found: &Captures<'_>| {
        if is_code(&found[1], is_compared) {
            found[0].to_owned()
        } else {
            "<address>".to_owned()
        }
    });
    let line = paths::written(&line);
    let is_commit = COMMIT.is_match(&line);
    let is_digest = is_compared && DIGEST.is_match(&line);
    let line = HEX.replace_all(&line, |found: &Captures<'_>| {
        let (text, has) = (&found[0], |is: fn(&char) -> bool| {
            found[0].chars().any(|c| is(&c))
        });
        let is_long = text.len() >= HEX_MIN || is_commit;
        if is_long && !is_digest && has(char::is_ascii_digit) && has(char::is_ascii_alphabetic) {
            "<hash>".to_owned()
        } else {
            text.to_owned()
        }
    });
    let has = |is: fn(&char) -> bool| line.chars().any(|c| is(&c));
    if !has(char::is_ascii_digit) || !has(char::is_ascii_uppercase) {
        return line.split_whitespace().collect::<Vec<&str>>().join(" ");
    }
    let line = TOKEN.replace_all(&line, |found: &Captures<'_>| {
        let is_drawn = !is_digest && is_drawn(&found[0]);
        if is_drawn { "<id>" } else { &found[0] }.to_owned()
    });
    line.split_whitespace().collect::<Vec<&str>>().join(" ")
}

/// Whether a token reads as if drawn: digits and capitals come in turns, and nowhere letters that make a word.
fn is_drawn(token: &str) -> bool {
    let kind = |byte: u8| match byte {
        b'0'..=b'9' => 0,
        b'A'..=b'Z' => 1,
        _ => 2,
    };
    let bytes = token.as_bytes();
    let runs = bytes.chunk_by(|a, b| kind(*a) == kind(*b));
    let (mut count, mut longest) = ([0usize; 3], 0);
    for run in runs {
        let kind = kind(run[0]);
        count[kind] += 1;
        if kind == 2 {
            longest = longest.max(run.len());
        }
    }
    let longest_max = if bytes.len() >= 16 { 3 } else { 2 };
    count[0] >= 2 && count[1] >= 2 && count[2] >= 1 && longest <= longest_max
}

/// Whether hexadecimal digits are a code or a value, and not a place in memory: a few, or those of a failed call of Windows.
fn is_code(digits: &str, is_compared: bool) -> bool {
    let is_result = digits.len() == 8 && digits.starts_with(['8', 'C', 'c']);
    digits.len() <= 4 || is_result || (is_compared && digits.len() <= 8)
}
