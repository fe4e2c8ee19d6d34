//! Which lines of an error's text say what went wrong.
//!
//! Owns the shapes in which test runners, compilers, runtimes and a cluster's tool print errors, as far as it takes to tell the
//! core of an error from frames, echoes of code, progress, hints and sums. A text of no known shape is taken whole. It must not
//! know what of a line stays the same: that is [`super::normal`]'s.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use regex::RegexSet;

use super::normal;

/// Lines that say nothing of what went wrong, wherever they stand.
static NOISE: LazyLock<RegexSet> = LazyLock::new(|| {
    set(&[
        // Frames of stacks.
        r"^\s*at (?:async |new )?[\w$.<>\[\] /-]+(?: \[as [^\]]+\])? ?\(.*\)$",
        r"^\s*at (?:async )?(?:file://)?/?[\w@./\\:-]+:\d+:\d+$",
        r"^\s*\.\.\. \d+ (?:more|common frames omitted)$",
        r"^\s*\d+: +(?:0x[0-9a-f]+ - )?[\w<>:{}$ &*]+$",
        r"^\s*at /rustc/|^\s*at \.?/?[\w./-]+\.rs:\d+",
        r#"^\s*File "[^"]*", line \d+, in "#,
        r"^goroutine \d+ |^\t/.*\.go:\d+ \+0x|^created by |^\S+\(0x[0-9a-f, .{}x]*\)$",
        r"^stack backtrace:|^Traceback \(most recent call last\)|^note: run with `RUST_BACKTRACE|^note: Some details are omitted",
        // Code that is shown, and rules that are drawn.
        r"^\s*\d+ *[|│]",
        r"^\s*[|│](?:\s*[|│.]*)?$",
        r"^>? *\d+ \||^\s*[│|]?\s*\d+: ",
        r"^\s*[-=~_.*─═]{3,}\s*$",
        r"^\s*[\^~]+\s*$",
        // Sums, progress and hints.
        r"(?i)^\s*(?:tests?|test suites|snapshots|time|ran all test suites|seed|rootdir|platform|plugins|cachedir|collecting|collected|running \d+ tests?)\b[:=. ]",
        r"^test result: |^failures:$|^successes:$|^---- .* stdout ----$|^error: test failed, to rerun|^error: could not compile|^error: aborting due to|^For more information about this error|^warning: build failed",
        r"^=+ (?:FAILURES|ERRORS|short test summary info|test session starts|warnings summary|.* in <?[\d.]+s?.*) =+$|^=+ .*(?:failed|passed|error).* in .*=+$",
        r"^_+ .* _+$|^!+ .* !+$",
        r"^ok\s+\S+\s+|^PASS\b|^--- PASS|^=== (?:RUN|CONT|PAUSE|NAME)|^\s*✓|^exit status \d+$|^FAIL(?:\s+\S+\s+[\d.]+s)?$|^FAIL\t",
        r"^\s*(?:Compiling|Finished|Running|Doc-tests|Downloaded|Downloading|Updating|Blocking|Checking|Building|Fresh)\b",
        r"^make(?:\[\d+\])?: |^ninja: |^\[\s*\d+(?:%|/\d+)\]|^collect2: |^compilation terminated\.|^\d+ errors? generated|^Found \d+ errors?",
        r"(?i)^(?:\[\w+\] )?Total time:|^\[(?:INFO|DEBUG|WARNING)\]|^BUILD FAILURE|^\[ERROR\] (?:Tests run:|Failures:|Errors:|There are test failures|To see the full stack|Re-run Maven|For more information|-> \[Help|After correcting|\[Help|Failed to execute goal)|^\[ERROR\]\s*$|^Tests run: ",
        r"^\s*(?:= )?(?:note|help|hint|warning|info): |^\s*Hint:|^npm (?:ERR!|error) (?:A complete log|code ELIFECYCLE|errno|lifecycle)",
        r"^test \S+ \.\.\. ok$|^\S+\.py [.FEsx]+\s*(?:\[\s*\d+%\])?$|^\S+::\S+ (?:PASSED|SKIPPED)",
        r"^In file included from |^\s+from .*[:,]$|^\S+: In (?:function|member function|instantiation|constructor|static member function)|^\S+: At global scope",
    ])
});

/// Lines that say what went wrong.
static CORE: LazyLock<RegexSet> = LazyLock::new(|| {
    set(&[
        // Rust.
        r"^error(?:\[E\d+\])?: ",
        r"panicked at",
        r"^assertion [`']?|^\s*(?:left|right): |^Error: ",
        r"^test \S+ \.\.\. FAILED$",
        r"^\s*(?:-->|:::) ",
        r"^\s*[|│]\s.*(?:\^+|-+) \S|^\s*= note: expected|^\s*found |^\s*= (?:help|note): the trait",
        // Python.
        r"^E\s+\S",
        r"^(?:FAILED|ERROR) \S+",
        r"^(?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception|Warning|Interrupt|Exit|Failure|Timeout|Expired|NotFound|DoesNotExist|Refused|Denied)\b",
        // JavaScript.
        r"^\s*● ",
        r"^\s*(?:Expected|Received)\b.*:",
        r"^\s*expect\(|^\s*Snapshot name: ",
        r"^\s*(?:Uncaught )?(?:[A-Za-z]+Error|Error)(?: \[\w+\])?: ",
        r"error TS\d+: |^\s+(?:Argument of type|Type '|Property '|Object literal|Types of|The expected type)",
        r"^\s*✕|^\s*×",
        // Go.
        r"^\s*--- FAIL: ",
        r"^\s+\S+_test\.go:\d+: ",
        r"^panic: |^fatal error: |^\[signal ",
        r"^\S+\.go:\d+(?::\d+)?: ",
        // C and C++.
        r":\d+(?::\d+)?: (?:fatal )?error: ",
        r"undefined reference to|multiple definition of|Undefined symbols|symbol\(s\) not found|cannot find -l",
        r"(?i)segmentation fault|core dumped|^\S*==\d+==ERROR|AddressSanitizer|runtime error: ",
        // The JVM.
        r#"^Exception in thread "#,
        r"^\s*(?:Caused by|Suppressed): ",
        r"^(?:[a-z]\w*\.)+[A-Z]\w*(?:\$\w+)*(?:: |$)",
        r"^\s*(?:symbol|location): ",
        r"^\[ERROR\] +\S+\.\S+[:.]",
        // Kubernetes, and what runs in it.
        r"^(?:The \S+ .* is invalid|Error from server|error: |Unable to connect)",
        r"^\s*(?:Warning|Reason|Message|Last State|Exit Code)[: ]+ *\S",
        r"^CONFLICT |CrashLoopBackOff|ImagePullBackOff|ErrImagePull|OOMKilled|CreateContainer\w*Error|FailedScheduling|Evicted",
    ])
});

/// Words by which lines of no known shape say that something went wrong.
static WORDS: LazyLock<RegexSet> = LazyLock::new(|| {
    set(&[
        r"(?i)\b(?:error|errors|exception|fail|failed|failure|fatal|panic|denied|refused|not found|no such|cannot|can't|could not|couldn't|unable|undefined|unexpected|invalid|timed out|timeout|killed|abort|aborted|missing|unknown|mismatch|exited with|exit code|returned non-zero)\b",
    ])
});

fn set(shapes: &[&str]) -> RegexSet {
    RegexSet::new(shapes).expect("shapes of the lists")
}

/// The core of an error: its normalised lines that say what went wrong, each once and sorted, since tests that run beside one
/// another end in any order. Where no line is of a known shape, those are taken that speak of an error, or else all.
pub(super) fn core(text: &str) -> BTreeSet<String> {
    let plain = normal::plain(text);
    let lines = without_warnings(&plain);
    let told: Vec<&str> = lines
        .iter()
        .copied()
        .filter(|line| !NOISE.is_match(line))
        .collect();
    let told = if told.is_empty() { lines } else { told };
    let mut core = chosen(&told, &CORE);
    if core.is_empty() {
        core = chosen(&told, &WORDS);
    }
    if core.is_empty() {
        core = told;
    }
    core.into_iter()
        .map(normalised)
        .filter(|line| !line.is_empty())
        .collect()
}

/// The lines that say something, but for the warnings of a compiler: these end with an empty line, and come and go beside an
/// error.
fn without_warnings(text: &str) -> Vec<&str> {
    let mut lines = Vec::new();
    let mut warns = false;
    for line in text.lines() {
        let is_empty = line.trim().is_empty();
        warns = (warns || line.starts_with("warning: ") || line.starts_with("warning["))
            && !is_empty
            && !line.starts_with("error");
        if !warns && !is_empty {
            lines.push(line);
        }
    }
    lines
}

/// Lines of some shapes. What a panic or a thrown error says may go on in the lines behind it, which belong to it.
fn chosen<'a>(lines: &[&'a str], shapes: &RegexSet) -> Vec<&'a str> {
    let mut chosen = Vec::new();
    let mut left = 0;
    for line in lines {
        if shapes.is_match(line) {
            chosen.push(*line);
            left = behind(line);
        } else if left > 0 {
            chosen.push(*line);
            left -= 1;
        }
    }
    chosen
}

/// How many lines behind one that says what went wrong belong to it, of whatever shape.
fn behind(line: &str) -> usize {
    let line = line.trim_start_matches(['│', '|', ' ']);
    if line.contains("panicked at") && line.trim_end().ends_with(':') {
        return 1;
    }
    // A paragraph that explains it, and where it is.
    if line.starts_with("Error: ") { 4 } else { 0 }
}

/// A line of the core, in the same words whichever tool printed it.
fn normalised(line: &str) -> String {
    let line = line.trim();
    let line = line.strip_prefix("E ").unwrap_or(line).trim_start();
    // The sum of pytest cuts what it says by the width of the terminal; the lines before say it whole.
    let line = match (line.starts_with("FAILED "), line.split_once(" - ")) {
        (true, Some((name, _))) => name,
        _ => line,
    };
    // A source line is not told, only what is said of it.
    let line = line
        .trim_start_matches(['|', '│', ' ', '^', '-', '~'])
        .trim_start_matches("> ");
    normal::line(line)
}
