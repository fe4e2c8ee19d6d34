//! The shapes in which test runners, compilers, runtimes and the tools of clusters and packages print errors.
//!
//! Owns the lists of shapes. It must not know what follows from a line of one: that is [`super::essence`]'s.

use std::sync::LazyLock;

use regex::{RegexSet, RegexSetBuilder};

/// Bytes that a list may take to remember how it matched: with the default, the longer lists forget and begin anew.
const CACHE_MAX: usize = 16 << 20;

/// Lines that say nothing of what went wrong, wherever they stand.
pub(super) static NOISE: LazyLock<RegexSet> = LazyLock::new(|| {
    set(&[
        // Frames of stacks.
        r"^\s*at (?:async |new )?[\w$.<>\[\] /-]+(?: \[as [^\]]+\])? ?\(.*\)$",
        r"^\s*at (?:async )?(?:file://)?/?[\w@./\\:-]+:\d+:\d+$",
        r"^\s*at \S+\(.*\) in .*:line \d+$|^\s*❯ |^\s*# (?:\.?/|\S+:\d+:in )|^\s*from .*:\d+:in ",
        r"^\s*\.\.\. \d+ (?:more|common frames omitted)$",
        r"^\s*\d+: +(?:0x[0-9a-f]+ - )?[\w<>:{}$ &*]+$",
        r"^\s*at /rustc/|^\s*at \.?/?[\w./-]+\.rs:\d+",
        r#"^\s*File "[^"]*", line \d+, in |^\S+\.py:\d+: (?:in |[A-Z]\w*(?:$|: ))"#,
        r"^goroutine \d+ |^\s+\S+\.go:\d+ \+0x|^created by |^\S+\(0x[0-9a-f, .{}x]*\)$|^\s+Error Trace:",
        r"^stack backtrace:|^Traceback \(most recent call last\)|^note: run with `RUST_BACKTRACE|^note: Some details are omitted|^\s*Stack Trace:|^Call Stack \(most recent",
        // Code that is shown, and rules that are drawn.
        r"^\s*\d+ *[|│]",
        r"^\s*[|│](?:\s*[|│.]*)?$",
        r"^>? *\d+ \||^\s*[│|]?\s*\d+: ",
        r"^\s*[-=~_.*─═━⎯]{3,}\s*$|^[╷╵]$|^⎯+ ",
        r"^\s*[\^~]+\s*$",
        // Sums, progress and hints.
        r"(?i)^\s*(?:tests|test suites|test files|snapshots|time|duration|ran all test suites|seed|rootdir|platform|plugins|cachedir|collecting|collected|running \d+ tests?)\b(?:[:=. ]|$)",
        r"(?i)^\W*\d+ (?:tests?|specs?|examples?|scenarios?|steps?|passed|passing|failed|failing|failures?|pending|skipped|deselected|errors?|warnings?|problems?|issues?|actionable tasks?)(?:\b.*\b(?:passed|passing|failed|failures?|errors?|warnings?|completed|skipped|run|ran|total|in|executed|up-to-date|found|listed below)\b.*)?(?: \([\d.]+ ?\w+\))?[.:)]*$",
        r"(?i)^(?:randomized with seed|run options:|finished in|ran \d+ tests?|run completed|total number of tests|executed \d+)\b|^# (?:tests|pass|fail|duration_ms|Subtest)|^\s*(?:duration_ms|location|failureType|stack):",
        r"^test result: |^failures:$|^successes:$|^test \S+ \.\.\. FAILED$|^---- \S+ stdout ----$|^error: test failed, to rerun|^error: could not compile|^error: aborting due to|^For more information about this error|^warning: build failed",
        r"^=+ (?:FAILURES|ERRORS|short test summary info|test session starts|warnings summary|.* in <?[\d.]+s?.*) =+$|^=+ .*(?:failed|passed|error).* in .*=+$",
        r"^FAILED \((?:failures|errors)=|^_+ .* _+$|^!+ .* !+$",
        r"^E\s+(?:At index \d|Use -v |Full diff:|Omitting \d|You can reproduce this example|Explanation:|These lines were always|\(truncated|\.\.\.Full output)",
        r"^ok\s+\S+\s+|^PASS\b|^--- PASS|^=== (?:RUN|CONT|PAUSE|NAME)|^\s*✓|^exit status \d+$|^FAIL(?:\s+\S+\s+[\d.]+s)?$|^FAIL\t|^\[ +(?:OK|RUN|PASSED) +\]|^\[[-=]{10}\]|^\[  FAILED  \] \d+ test",
        r"^\s*(?:Compiling|Finished|Running|Doc-tests|Downloaded|Downloading|Updating|Blocking|Checking|Building|Fresh)\b",
        r"^make(?:\[\d+\])?: (?:Entering|Leaving|Nothing|Target|\*\*\* \[.*Error \d+|\*\*\* Waiting)|^ninja: |^\[\s*\d+(?:%|/\d+)\]|^collect2: |^compilation terminated\.|^\d+ errors? generated|^Found \d+ errors?|^cc1\w*: all warnings",
        r"(?i)^(?:\[\w+\] )?Total time:|^\[(?:INFO|DEBUG|WARNING)\]|^BUILD FAILURE|^\[ERROR\] (?:Tests run:|Failures:|Errors:|There are test failures|To see the full stack|Re-run Maven|For more information|-> \[Help|After correcting|\[Help|Failed to execute goal [\w.-]+:)|^\[ERROR\]\s*$|^Tests run: ",
        r"^Starting a Gradle|^> Task |^\* (?:Try|Exception is):|^> (?:Run with|Get more help)|^BUILD FAILED|^Deprecated Gradle|^Deprecated features|^w: ",
        r"^\s*(?:= )?(?:note|help|hint|warning|info): |^\s*Hint:|^npm error (?i:A complete log|code ELIFECYCLE|errno|lifecycle|Exit status|Failed at the|This is probably not|Test failed|\s*in workspace|\s*at location|workspace |location |\S+@\S+ [\w:-]+: )|^npm error\s*$|^npm (?:notice|warn|WARN)|^npm error gyp (?:info|verb)|^error Command failed with exit code|^info Visit ",
        r"^test \S+ \.\.\. ok$|^\S+\.py [.FEsx]+\s*(?:\[\s*\d+%\])?$|^\S+::\S+ (?:PASSED|SKIPPED)",
        r": note: See |^In file included from |^\s+from .*[:,]$|^\S+: In (?:function|member function|instantiation|constructor|static member function)|^\S+: At global scope",
        // What runners and tools log beside an error.
        r"^(?:\[?(?:INFO|DEBUG|TRACE|NOTICE)\]?|\[?WARN\]?)(?:[: ]|$)|\blevel=(?i:info|debug|trace|warn|warning|notice)\b|^\[(?:warn|debug)\] ",
        r"^(?:ERROR|WARN|FATAL) .*\s:\s*$|^##\[|^section_(?:start|end):|Process completed with exit code \d|^Error: The process .* failed with exit code",
        r"^\S+\.go:\d+: (?:.* )?\[debug\]|^PLAY RECAP|^\S+\s+: ok=\d+ +changed=|Permanently added '|Scheduled restart job|restart counter is at",
        // Commands, as a shell or a manager of packages shows what it is about to run.
        r"^(?:real|user|sys)\s+\d+m[\d.]+s$|^\++ [\w./]|^\$ \S|^> \S+@\d\S* ",
        r"^Running with gitlab-runner|^Preparing |^Cleaning up |^Post job cleanup|^Executing |^Uploading |^Downloading |^Getting source",
        r"^remote: (?:Enumerating|Counting|Compressing|Total|Resolving)|^(?:Enumerating|Counting|Compressing|Writing|Receiving|Resolving) (?:objects|deltas)",
        r"^✖ \d+ problems?|^\s*(?:ID|Who|Created|Operation|Version|Info): {2,}|^\[(?:notice|[\d:]+x[0-9a-f]+)\]",
    ])
});

/// Lines that say what went wrong.
pub(super) static CORE: LazyLock<RegexSet> = LazyLock::new(|| {
    set(&[
        // Rust.
        r"^error(?:\[E\d+\])?: ",
        r"panicked at",
        r"^assertion [`']?|^\s*(?:left|right): |^Error: ",
        r"^---- .+ stdout ----$|^(?:test .+ \.\.\. FAILED|.* \.\.\. FAILED \(.*\))$",
        r"^\s*(?:-->|:::) ",
        r"^\s*[|│]\s.*(?:\^+|-+) \S|^\s*= note: expected|^\s*found |^\s*= (?:help|note): the trait",
        r"^\s*(?:TRY \d+ )?(?:FAIL|TIMEOUT|SIG[A-Z]+|ABORT) +\[",
        r"^Diff in |^would reformat |^minimal failing input: ",
        // Python.
        r"^E\s+\S",
        r"^(?:FAILED|ERROR) \S+|^\S+\.py::\S+ FAILED",
        r"^(?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception|Warning|Interrupt|Exit|Failure|Timeout|Expired|NotFound|DoesNotExist|Refused|Denied)\b",
        r"^(?:ERROR|FAIL|FATAL|CRITICAL|SEVERE|E)\b[:\]]",
        r#"^Failed example:|^\s*File "[^"]+", line \d+$"#,
        // JavaScript.
        r"^\s*● ",
        r"(?i)^\s*(?:Expected|Received|Actual|Got|Want)\b.*:|^\s*(?i:but:? was)\b",
        r"^\s*expect\(|^\s*Snapshot name: |^\s*Snapshot: ",
        r"^\s*(?:Uncaught )?(?:[A-Za-z]+Error|Error)(?: \[\w+\])?: ",
        r"error [A-Z]{1,6}\d{3,5}: |^\s+(?:Argument of type|Type '|Property '|Object literal|Types of|The expected type)",
        r"^\s*(?:✕|×|✗|✘)|^\s*FAIL  ?\S|^(?:\s*\d+\) )?\s*\[[\w -]+\] › |^\s*\d+\) \S|^not ok \d+|^\(fail\) |^\s*\S{1,60} [!=]==? \S{1,60}$",
        r"^\s*\d+:\d+\s+(?:error|✖|×)\s|^\s*\S+:\d+:\d+ - error",
        // Go.
        r"^\s*--- FAIL: ",
        r"^\s+\S+_test\.go:\d+: ",
        r"^panic: |^\s+running tests:$|^(?i:fatal)\b.*: |^\[signal ",
        r"^\S+\.go:\d+(?::\d+)?: ",
        // C and C++.
        r":\d+(?::\d+)?: (?:fatal )?error: |: note: +(?:candidate|no known conversion|.*evaluates to|.*because )",
        r"undefined reference to|multiple definition of|Undefined symbols|symbol\(s\) not found|cannot find -l|referenced from:",
        r": Assertion [`'‘]|\bAssertion failed: |(?i)segmentation fault|core dumped|^\S*==\d+==ERROR|AddressSanitizer|runtime error: |^CMake Error",
        r"^\[  FAILED  \] |^\S+:\d+: (?:Failure$|FAILED:)|^TEST CASE:|^\s+values: |\*\*\*(?:Failed|Timeout|Exception)|^\s*\d+ - \S+ \([A-Z]\w*\)$",
        // The JVM, and .NET.
        r#"^Exception in thread "#,
        r"^\s*(?:Caused by|Suppressed): |^Caused by:$|^APPLICATION FAILED|^Description:$",
        r"^\s*(?:[a-z]\w*\.)+[A-Z]\w*(?:\$\w+)*(?:: |$)",
        r"^\s*(?:symbol|location): |^\s*(?:found|required)\s*: ",
        r"^\[ERROR\] +\S+\.\S+[:.]|^\[ERROR\] Failed to execute goal on",
        r"^\S.* > .+ FAILED$|\*\*\* FAILED \*\*\*|^e: |^\* What went wrong:|^\S+\.(?:scala|java|kt|swift|hs|ml|zig|rb|py|php|ex):\d+(?::\d+)?: \S",
        r"^\s*Failed \S+\.\S+|^\s*Assert\.\w+\(\)|^(?:System|Microsoft)\.[\w.]+Exception\b",
        // Other languages.
        r"^\s*Failure/Error: |^rspec \S|^\w+(?:::\w+)*#test_|^Failed asserting|^\s*\*\* \(\w+|^(?:PHP )?(?:Fatal|Parse) error",
        // Kubernetes, and what runs in it.
        r"^(?:The \S+ .* is invalid|Error from server|error: |Unable to connect)",
        r"^\s*(?:Warning|Reason|Message|Last State|Exit Code)[: ]+ *\S|^\s*Code: +\w",
        r"^CONFLICT |CrashLoopBackOff|ImagePullBackOff|ErrImagePull|OOMKilled|CreateContainer\w*Error|FailedScheduling|Evicted",
        // Tools.
        r"^\s*! \[|^remote: (?i:error|fatal)|^npm error \S|^error [A-Z]|^ ?ERR_PNPM|^➤ YN|^(?:fatal|failed): \[|^//\S+ +(?:FAILED|TIMEOUT)",
        r"(?i)permission denied|^\s*Path: {2,}|\bSC\d{4}\b|: line \d+: ",
    ])
});

/// Words by which lines of no known shape say that something went wrong.
pub(super) static WORDS: LazyLock<RegexSet> = LazyLock::new(|| {
    set(&[
        r"(?i)\b(?:error|errors|exception|fail|failed|failure|fatal|panic|denied|refused|not found|no such|cannot|can't|could not|couldn't|unable|undefined|unexpected|invalid|timed out|timeout|killed|abort|aborted|missing|unknown|mismatch|exited with|exit code|returned non-zero)\b",
    ])
});

/// Lines that warn, and those in which whoever ran a failed command says so: beside an error they say nothing of it.
pub(super) static BESIDE: LazyLock<RegexSet> = LazyLock::new(|| {
    set(&[
        r"(?i)\bretry(?:ing)? (?:in|after|attempt|\d|\()|\bwill retry\b|, retrying\b|\bretrying\.\.\.",
        r"^(?:Aborted|Killed|Terminated|Trace/breakpoint trap)(?: \(core dumped\))?$",
        r"^npm error |^ ?ELIFECYCLE|^\s*(?:ERR_PNPM_RECURSIVE|WARN )|^error Command failed|^ERROR: Job failed|^ERROR: process .* did not complete|^The command '.*' returned a non-zero",
        r"(?i)^\[?(?:command |process |script |the process )?(?:exited|failed|finished)? ?(?:with )?(?:non-zero )?exit (?:status|code)\b[ :=]*\d+\W*$|^make(?:\[\d+\])?: \*\*\*|^script returned exit code",
        r"^\s*(?:[Ww]arning|WARN)(?:: |\[)|^\s*(?:\w+\.)*(?:Deprecation|Future|Runtime|User|Resource|Syntax|Experimental)Warning: ",
    ])
});

/// Lines in which the runner of Rust's tests names one that failed.
pub(super) static ENDS: LazyLock<RegexSet> =
    LazyLock::new(|| set(&[r"^---- .+ stdout ----$|^test \S.* \.\.\. FAILED$"]));

/// Lines that say where, for the lines of [`ROW`] below them: a task, or a file.
pub(super) static HEAD: LazyLock<RegexSet> =
    LazyLock::new(|| set(&[r"^TASK \[", r"^\S*[/\\]\S+\.\w+$"]));
/// Lines that do not say where they belong.
pub(super) static ROW: LazyLock<RegexSet> =
    LazyLock::new(|| set(&[r"^\s*\d+:\d+\s+(?:error|✖|×)\s", r"^(?:fatal|failed): \["]));

/// Lines behind which lines begin with what was taken away or added.
pub(super) static DIFF: LazyLock<RegexSet> = LazyLock::new(|| {
    set(&[
        r"(?i)^\s*[-+]+ ?(?:expected|received|actual|old snapshot|new results)\b|^Diff (?:<|in )|\(-want,? ?\+got\)|^\s*@@ ",
    ])
});
/// Lines that were taken away or added.
pub(super) static CHANGED: LazyLock<RegexSet> =
    LazyLock::new(|| set(&[r"^[\s\d]*│[-+]", r"^\s*[-+<>](?:[^-+<>]|$)"]));

fn set(shapes: &[&str]) -> RegexSet {
    RegexSetBuilder::new(shapes)
        .dfa_size_limit(CACHE_MAX)
        .build()
        .expect("shapes of the lists")
}
