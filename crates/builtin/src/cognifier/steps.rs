//! Steps: an agent's records grouped into what was thought, done and seen.
//!
//! Owns the grouping, what of a tool record is its command, and the spelling of paths. It must not
//! know facts.

use core::ops::Range;
use std::collections::BTreeSet;
use std::sync::LazyLock;

use regex::{Captures, Regex};
use sillok_core::citation::Excerpt;
use sillok_core::id::RecordId;
use sillok_core::promotion::CognifyRecord;
use sillok_core::staging::{LogLevel, RecordKind};

use super::evidence::{excerpt, offset, range};
use super::verb::{Verb, is_given_text, ran, says_nothing, shows};
use super::{exit, shell};

/// One record, or a part of a long one, with its paths relative to the repository and without control codes.
#[derive(Clone, Debug)]
pub(super) struct Line<'a> {
    pub(super) level: LogLevel,
    pub(super) text: String,
    record: &'a RecordId,
    /// What was read of the record, and its first byte in the whole text.
    part: (u32, &'a str),
    tool: Option<String>,
    step: Option<u64>,
    /// The code that its metadata says the command ended with.
    exit: Option<i64>,
}

impl Line<'_> {
    /// The last of its lines that says something.
    pub(super) fn last(&self) -> Option<Excerpt> {
        let text = self.text.trim_end();
        let last = text.rsplit_once('\n').map_or(text, |(_, last)| last);
        self.excerpt(range(last, &self.text))
    }

    /// The stretch of the record that a range of its text was made of.
    pub(super) fn excerpt(&self, at: Range<usize>) -> Option<Excerpt> {
        let (begins, part) = self.part;
        let found = excerpt(self.record, part, &self.text, at)?;
        Some(Excerpt {
            from: begins + found.from,
            to: begins + found.to,
            ..found
        })
    }
}

/// A thought, the command that came of it, and what the command gave.
#[derive(Clone, Debug, Default)]
pub(super) struct Step<'a> {
    pub(super) thoughts: Vec<Line<'a>>,
    pub(super) tool: Option<Line<'a>>,
    pub(super) results: Vec<Line<'a>>,
    /// Statements that belong to no command.
    pub(super) notes: Vec<Line<'a>>,
}

impl Step<'_> {
    /// What its command does; none when it has none.
    ///
    /// Where it begins by showing something and then runs something else, how that ended is what matters. Nobody can tell
    /// which of the two gave which line of the output, so that a shown line may be taken for an error: of a run that
    /// failed nothing would be known otherwise. The same holds where it begins by moving something. What says nothing of
    /// the work is no beginning. What files are piped into does not count as run: it mostly filters what is shown. Nor does
    /// an edit behind a viewer, or behind what says nothing: which file it is of, the first line does not say.
    pub(super) fn verb(&self) -> Option<Verb> {
        self.tool.as_ref()?;
        let edits = self.is_handed_to_editor();
        let parts = shell::parts(&self.text());
        let Some(first) = parts.first() else {
            return Some(Verb::of(&self.command(), edits));
        };
        let verb = Verb::of(first, edits);
        let said = parts.iter().filter(|part| !says_nothing(part));
        let begins = said.map(|part| Verb::of(part, edits)).next();
        // What is handed to a tool that edits is no script.
        let is_script = matches!(verb, Verb::View | Verb::Run | Verb::Tidy);
        match begins {
            Some(begins @ (Verb::View | Verb::Tidy)) if is_script => {
                let runs = self.runs_among(&parts);
                Some(if runs { Verb::Run } else { begins })
            }
            _ => Some(verb),
        }
    }

    /// Whether its command is a script that runs something, beside whatever else it does.
    pub(super) fn runs(&self) -> bool {
        self.runs_among(&shell::parts(&self.text()))
    }

    /// The same of a command in its parts.
    fn runs_among(&self, parts: &[String]) -> bool {
        !self.is_text(parts) && ran(parts).next().is_some()
    }

    /// Whether its command is a script that shows something and runs nothing: what it printed may be of a file.
    pub(super) fn only_shows(&self) -> bool {
        let parts = shell::parts(&self.text());
        let is_shown = !self.is_text(&parts) && parts.iter().any(|part| shows(part));
        is_shown && !self.runs_among(&parts)
    }

    /// Whether a command in its parts is none, but a text for a file.
    fn is_text(&self, parts: &[String]) -> bool {
        self.is_handed_to_editor() || parts.first().is_some_and(|part| is_given_text(part))
    }

    /// Whether its tool's name says that it edits.
    fn is_handed_to_editor(&self) -> bool {
        let tool = self.tool.as_ref().and_then(|tool| tool.tool.as_deref());
        let name = tool.unwrap_or_default().to_lowercase();
        let editors = ["edit", "replace", "write", "patch"];
        editors.iter().any(|part| name.contains(part))
    }

    /// Whether its command, as it is quoted, runs a check.
    pub(super) fn checks(&self) -> bool {
        const CHECKS: [&str; 7] = ["test", "check", "build", "clippy", "lint", "tox", "verify"];
        let parts = shell::parts(&self.command());
        // A name of what is shown, said, moved or removed is none.
        ran(&parts).any(|part| CHECKS.iter().any(|check| part.contains(check)))
    }

    /// The command's first line, without a change of directory before it.
    pub(super) fn command(&self) -> String {
        let text = self.text();
        on_one_line(text.lines().next().unwrap_or_default())
    }

    /// All lines of the command, without a change of directory before them.
    pub(super) fn script(&self) -> String {
        let text = self.text();
        let lines = text.lines().map(on_one_line);
        let said = lines.filter(|line| !line.is_empty());
        said.collect::<Vec<_>>().join("\n")
    }

    /// Whether more lines follow the command's first.
    pub(super) fn goes_on(&self) -> bool {
        let text = self.text();
        let mut lines = text.lines().filter(|line| !line.trim().is_empty());
        lines.nth(1).is_some()
    }

    /// All that was to be run, without a prompt and a change of directory before it, and with lines that go on joined.
    fn text(&self) -> String {
        let text = self.tool.as_ref().map_or("", |tool| tool.text.trim());
        let argument = serde_json::from_str::<serde_json::Value>(text)
            .ok()
            .and_then(|arguments| {
                let command = arguments.get("command").or_else(|| arguments.get("cmd"))?;
                command.as_str().map(str::to_owned)
            });
        let joined = shell::joined(argument.as_deref().unwrap_or(text));
        changed_to(&joined).to_owned()
    }

    /// Everything the command gave, as one text.
    pub(super) fn output(&self) -> String {
        self.results
            .iter()
            .map(|line| line.text.as_str())
            .collect::<Vec<_>>()
            .join("\n")
    }

    /// The code that its command ended with, and the record whose metadata says so: the last that is not 0,
    /// else the last.
    pub(super) fn exit(&self) -> Option<(i64, &Line<'_>)> {
        let lines = self.tool.iter().chain(&self.results);
        let told = lines.filter_map(|line| Some((line.exit?, line)));
        told.reduce(|known, next| {
            if next.0 != 0 || known.0 == 0 {
                next
            } else {
                known
            }
        })
    }

    /// Whether a code of 1 is its command's answer: that nothing was found, that something differs. Where other commands
    /// run beside it nobody can tell whose code it is.
    pub(super) fn asks(&self) -> bool {
        let text = self.text();
        let mut words = text.split_whitespace();
        let (program, next) = (words.next().unwrap_or_default(), words.next());
        let searches = match program {
            "git" => matches!(next, Some("diff" | "grep")),
            _ => matches!(
                program,
                "grep" | "egrep" | "fgrep" | "rg" | "ag" | "ack" | "diff" | "cmp" | "test" | "["
            ),
        };
        searches && shell::is_alone(&text)
    }

    /// The records of its results that are logged as errors. What a command that ended with 0 wrote beside its output is
    /// logged so by some, under the same step, and is none.
    pub(super) fn shouts(&self) -> impl Iterator<Item = &Line<'_>> {
        let ended_well = self.exit().is_some_and(|(code, _)| code == 0);
        let step = self.tool.as_ref().and_then(|tool| tool.step);
        self.results.iter().filter(move |line| {
            let is_beside = line.exit == Some(0) || (step.is_some() && line.step == step);
            line.level == LogLevel::Error && !(ended_well && is_beside)
        })
    }

    /// The stretch of a result that a range of the output was made of: of the first of them, where the
    /// range goes over several.
    pub(super) fn output_excerpt(&self, at: Range<usize>) -> Option<Excerpt> {
        let mut start = 0;
        for line in &self.results {
            let end = start + line.text.len();
            if at.start <= end {
                return line.excerpt(at.start - start..at.end.min(end) - start);
            }
            start = end + 1;
        }
        None
    }

    /// The command's text through the line that it is quoted by, where it stands by itself; else everything that was
    /// handed to the tool.
    pub(super) fn command_excerpt(&self) -> Option<Excerpt> {
        let tool = self.tool.as_ref()?;
        let text = tool.text.trim();
        let said = if text.starts_with('{') {
            text
        } else {
            let joined = shell::joined(text);
            let line = changed_to(&joined).lines().next();
            let end = line.map(|line| offset(line, &joined) + line.len());
            // What was joined has its bytes where the text has them.
            &text[..end.unwrap_or(text.len())]
        };
        tool.excerpt(range(said, &tool.text))
    }

    /// The file that the step is about, where its output or its command names one, and what names it.
    pub(super) fn file(&self) -> Option<(String, Option<Excerpt>)> {
        let shown = self.results.iter().find_map(|line| {
            let found = SHOWN_FILE.captures(&line.text)?;
            Some((found[1].to_owned(), line.excerpt(found.get_match().range())))
        });
        let tool = self.tool.as_ref();
        let argument = || {
            let arguments: serde_json::Value = serde_json::from_str(&tool?.text).ok()?;
            let path = arguments
                .get("file_path")
                .or_else(|| arguments.get("path"))?;
            path.as_str().map(str::to_owned)
        };
        let named = || {
            PATH.captures(&self.command())
                .map(|found| found[1].to_owned())
        };
        let in_command = || {
            let path = argument().or_else(named)?;
            Some((path, self.command_excerpt()))
        };
        shown.or_else(in_command)
    }
}

/// A text behind a prompt and a change of directory.
fn changed_to(text: &str) -> &str {
    let text = text.trim();
    let text = text.strip_prefix("$ ").unwrap_or(text).trim_start();
    let changed = CHANGE_DIRECTORY.find(text);
    &text[changed.map_or(0, |found| found.end())..]
}

fn on_one_line(line: &str) -> String {
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The files that a command names.
pub(super) fn files(command: &str) -> Vec<String> {
    let named = command.split_whitespace().filter_map(|word| {
        let found = PATH.captures(word)?;
        Some(found[1].to_owned())
    });
    named.collect()
}

/// Groups records into steps, in order.
pub(super) fn steps(records: &[CognifyRecord]) -> Vec<Step<'_>> {
    let paths = Paths::of(records);
    let mut steps: Vec<Step<'_>> = Vec::new();
    for record in records {
        let Some(level) = level(&record.kind) else {
            continue;
        };
        let mut lines = record.parts().map(|part| line(record, part, level, &paths));
        let line = lines.next().expect("a record has a beginning");
        let opens = match (level, steps.last()) {
            (_, None) => true,
            (LogLevel::Thought, Some(step)) => step.tool.is_some() || !step.results.is_empty(),
            (LogLevel::Tool, Some(step)) => step.tool.is_some() || !step.results.is_empty(),
            _ => false,
        };
        if opens {
            steps.push(Step::default());
        }
        let step = steps.last_mut().expect("a step was opened");
        // The end of a long one belongs to where its beginning went.
        match level {
            LogLevel::Thought => step.thoughts.extend(core::iter::once(line).chain(lines)),
            // A command is what it begins with.
            LogLevel::Tool => step.tool = Some(line),
            LogLevel::Error => step.results.extend(core::iter::once(line).chain(lines)),
            LogLevel::Info | LogLevel::Warn => {
                // Where steps have no numbers, all that comes before the next thought or command is output: what
                // tells how the command ended may stand in any of it.
                let follows = step
                    .tool
                    .as_ref()
                    .is_some_and(|tool| match (tool.step, line.step) {
                        (Some(tool), Some(result)) => tool == result,
                        _ => true,
                    });
                let all = core::iter::once(line).chain(lines);
                if follows {
                    step.results.extend(all);
                } else {
                    step.notes.extend(all);
                }
            }
        }
    }
    steps
}

/// The level of a record that belongs to a task's work; none for a caller's own events.
fn level(kind: &RecordKind) -> Option<LogLevel> {
    match kind {
        RecordKind::Log { level } => Some(*level),
        RecordKind::Snapshot { .. } => Some(LogLevel::Error),
        RecordKind::MemoryEvent { .. } => None,
    }
}

fn line<'a>(
    record: &'a CognifyRecord,
    part: (u32, &'a str),
    level: LogLevel,
    paths: &Paths,
) -> Line<'a> {
    let metadata: serde_json::Value =
        serde_json::from_str(record.metadata.as_str()).unwrap_or_default();
    Line {
        level,
        text: paths.relative(&CONTROL.replace_all(part.1, "")),
        record: &record.id,
        part,
        tool: metadata
            .get("tool")
            .and_then(|tool| tool.as_str())
            .map(str::to_owned),
        step: metadata.get("step").and_then(serde_json::Value::as_u64),
        exit: exit::recorded(&metadata),
    }
}

/// The relative paths that the records name, by which absolute ones are cut.
struct Paths {
    /// The longest first.
    known: Vec<String>,
}

impl Paths {
    fn of(records: &[CognifyRecord]) -> Self {
        const PATHS_MAX: usize = 256;
        let mut known = BTreeSet::new();
        for (_, part) in records.iter().flat_map(CognifyRecord::parts) {
            let found = PATH.captures_iter(part).map(|found| found[1].to_owned());
            known.extend(
                found
                    .filter(|path| !path.starts_with('/'))
                    .take(PATHS_MAX - known.len().min(PATHS_MAX)),
            );
        }
        let mut known: Vec<String> = known.into_iter().collect();
        known.sort_by_key(|path| core::cmp::Reverse(path.len()));
        Self { known }
    }

    /// The text with paths inside of the repository relative to it.
    fn relative(&self, text: &str) -> String {
        let text = REPOSITORY.replace_all(text, "$before");
        let cut = |found: &Captures<'_>| {
            let whole = &found["path"];
            let known = self.known.iter().find(|path| {
                whole
                    .strip_suffix(path.as_str())
                    .is_some_and(|head| head.ends_with('/'))
            });
            format!(
                "{}{}",
                &found["before"],
                known.map_or(whole, String::as_str)
            )
        };
        MACHINE.replace_all(&text, cut).into_owned()
    }
}

fn compiled(pattern: &str) -> Regex {
    Regex::new(pattern).expect("the pattern is fixed and tested")
}

/// `[File: PATH (97 lines total)]`, as file viewers print it.
static SHOWN_FILE: LazyLock<Regex> = LazyLock::new(|| compiled(r"\[File: (\S+) \("));

static PATH: LazyLock<Regex> = LazyLock::new(|| {
    compiled(
        r#"(?:^|[\s`'"(=:])((?:/|\./)?(?:[\w.-]+/)*[\w-]+\.[A-Za-z][A-Za-z0-9]{0,4})(?:$|[\s`'"):,;])"#,
    )
});

/// What colours a terminal.
static CONTROL: LazyLock<Regex> = LazyLock::new(|| compiled(r"\x1b\[[0-9;]*[A-Za-z]"));

/// What runs within the name of the directory, or before it, is no part of the change.
static CHANGE_DIRECTORY: LazyLock<Regex> =
    LazyLock::new(|| compiled(r"^cd[ \t]+[^\s;&|`(]+(?:\s*&&|[ \t\r]*[;\n])\s*"));

/// Where harnesses put the repository: `/testbed/`, `/owner__name/`.
static REPOSITORY: LazyLock<Regex> = LazyLock::new(|| {
    compiled(r#"(?P<before>^|[\s`'"(=\[])(?:/(?:testbed|workspace|repo)|/[\w.-]*__[\w.-]*|\.)/"#)
});

/// Paths into places that differ from machine to machine.
static MACHINE: LazyLock<Regex> = LazyLock::new(|| {
    compiled(
        r#"(?P<before>^|[\s`'"(=\[])(?P<path>/(?:tmp|private|var|home|root|Users|mnt|work|srv|opt)/[\w./-]+)"#,
    )
});
