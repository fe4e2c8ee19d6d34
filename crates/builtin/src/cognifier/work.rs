//! The work: what a task's steps did, and the facts that each step gives.
//!
//! Owns the sentences about changes, errors, outcomes and thoughts. It must not know what is kept
//! of them.

use std::collections::{BTreeMap, BTreeSet};

use sillok_core::id::RecordId;
use sillok_core::promotion::CognifyInput;
use sillok_core::staging::LogLevel;

use super::diff::{Change, stated, unified};
use super::facts::{Facts, Rank};
use super::outcome::Outcome;
use super::sentence::{Sense, clip, is_finding, sentences, statement};
use super::steps::{Line, Step, Verb, steps};

/// Characters of a command that a fact quotes.
const COMMAND_CHARS_MAX: usize = 120;
/// Characters of an output that a fact quotes whole.
const OUTPUT_CHARS_MAX: usize = 60;
/// Commands that a skill lists.
const SKILL_COMMANDS_MAX: usize = 12;

/// What was done, in sum.
#[derive(Debug, Default)]
pub(super) struct Work {
    /// Commands in all.
    pub(super) commands: u32,
    /// Commands that went wrong.
    pub(super) commands_failed: u32,
    /// Commands that went right and mattered, each once, in order.
    pub(super) commands_right: Vec<String>,
    /// Files of the repository that were changed.
    pub(super) files: Vec<String>,
    /// Each error with the change that followed it.
    pub(super) fixes: Vec<(String, String)>,
    /// Whether something ran right after the last change.
    pub(super) checked: bool,
}

/// One step, read.
struct Read {
    step: Step,
    verb: Option<Verb>,
    file: Option<String>,
    outcome: Outcome,
    failed: bool,
}

impl Work {
    /// Reads a task's records and adds the facts that they give.
    pub(super) fn of(input: &CognifyInput, facts: &mut Facts) -> Self {
        let reads: Vec<Read> = steps(&input.records).into_iter().map(Read::of).collect();
        let made: BTreeSet<String> = reads
            .iter()
            .filter(|read| read.verb == Some(Verb::Create))
            .filter_map(|read| read.file.clone())
            .collect();
        let mut work = Self::default();
        let changed = work.changes(&reads, &made, facts);
        work.outcomes(&reads, &changed, facts);
        for read in &reads {
            work.count(read, &made);
            thoughts(read, facts);
        }
        if work.files.is_empty() {
            work.checked = false;
        }
        work
    }

    /// Adds the facts about changes. Returns, for each step that changed a file of the repository,
    /// its index and the file.
    fn changes(
        &mut self,
        reads: &[Read],
        made: &BTreeSet<String>,
        facts: &mut Facts,
    ) -> Vec<(usize, String)> {
        let diffs: Vec<(RecordId, Change)> = reads
            .iter()
            .flat_map(|read| read.step.tool.iter().chain(&read.step.results))
            .filter(|line| line.text.contains("@@ -"))
            .flat_map(|line| {
                unified(&line.text)
                    .into_iter()
                    .map(|change| (line.id.clone(), change))
            })
            .collect();
        let in_diff: BTreeSet<&str> = diffs
            .iter()
            .map(|(_, change)| change.path.as_str())
            .collect();
        let mut edited = Vec::new();
        for (index, read) in reads.iter().enumerate().filter(|(_, read)| read.edited()) {
            let Some(file) = read.file.clone() else {
                continue;
            };
            if made.contains(&file) && !in_diff.contains(file.as_str()) {
                continue;
            }
            if !in_diff.contains(file.as_str()) {
                let change = stated(read.step.tool.as_ref().map_or("", |tool| &tool.text), &file);
                match change.and_then(|change| change.sentence()) {
                    Some(sentence) => facts.add(Rank::Change, sentence, read.step.ids()),
                    None => facts.add(
                        Rank::Edited,
                        format!("The file {file} was edited."),
                        read.step.ids(),
                    ),
                }
            }
            edited.push((index, file));
        }
        for (id, change) in &diffs {
            let edits = edited.iter().filter(|(_, file)| *file == change.path);
            let sources: Vec<RecordId> = edits
                .flat_map(|(index, _)| reads[*index].step.ids())
                .chain([id.clone()])
                .collect();
            if let Some(sentence) = change.sentence() {
                facts.add(Rank::Change, sentence, sources.clone());
            }
            if let Some(place) = change.place() {
                facts.add(Rank::Place, place, sources);
            }
        }
        let files = edited
            .iter()
            .map(|(_, file)| file.clone())
            .chain(diffs.iter().map(|(_, change)| change.path.clone()));
        self.files = files.collect::<BTreeSet<_>>().into_iter().collect();
        self.fixes = fixes(reads, &edited, facts);
        edited
    }

    /// Adds the facts about errors, tests and what commands printed.
    fn outcomes(&mut self, reads: &[Read], edited: &[(usize, String)], facts: &mut Facts) {
        // Of one command in one phase, only the last outcome stands.
        let mut last = BTreeMap::<(String, String), (usize, String)>::new();
        for (index, read) in reads.iter().enumerate() {
            for sentence in read.errors() {
                facts.add(Rank::Error, sentence, read.step.ids());
            }
            // `edited` is in the order of the steps.
            let before = edited
                .partition_point(|(edit, _)| *edit < index)
                .checked_sub(1);
            let before = before.map(|last| &edited[last]);
            let phase = match (before, edited.first()) {
                (Some((_, file)), _) => format!(" after {file} was edited"),
                (None, Some((_, file))) => format!(" before {file} was edited"),
                (None, None) => String::new(),
            };
            if read.verb == Some(Verb::Run) {
                self.checked = !read.failed && edited.last().is_some_and(|(edit, _)| *edit < index);
            }
            if let Some(said) = read.said() {
                last.insert((read.step.command(), phase), (index, said));
            }
        }
        let mut told: Vec<_> = last
            .into_iter()
            .map(|((command, phase), (index, said))| (index, command, phase, said))
            .collect();
        told.sort();
        for (index, command, phase, said) in told {
            let command = clip(&command, COMMAND_CHARS_MAX);
            facts.add(
                Rank::Outcome,
                format!("Running `{command}` {said}{phase}."),
                reads[index].step.ids(),
            );
        }
    }

    fn count(&mut self, read: &Read, made: &BTreeSet<String>) {
        let Some(verb) = read.verb else { return };
        self.commands += 1;
        self.commands_failed += u32::from(read.failed);
        let scratch = read
            .file
            .as_ref()
            .is_some_and(|file| made.contains(file) && !self.files.contains(file));
        let matters = matches!(verb, Verb::Run | Verb::Edit | Verb::Create)
            && !(scratch && verb != Verb::Run);
        let shown = match (verb, &read.file) {
            (Verb::Edit, Some(file)) => format!("edit {file}"),
            _ => clip(&read.step.command(), COMMAND_CHARS_MAX),
        };
        let listed =
            self.commands_right.len() == SKILL_COMMANDS_MAX || self.commands_right.contains(&shown);
        if matters && !read.failed && !listed && !shown.is_empty() {
            self.commands_right.push(shown);
        }
    }
}

impl Read {
    fn of(step: Step) -> Self {
        let verb = step.verb();
        let shouts = step
            .results
            .iter()
            .any(|line| line.level == LogLevel::Error);
        // What a viewer shows is not what went wrong, unless the log says so.
        let quiet = matches!(verb, Some(Verb::View | Verb::Submit)) && !shouts;
        let outcome = if quiet {
            Outcome::default()
        } else {
            Outcome::of(&step.output())
        };
        let failed = shouts || outcome.failed();
        Self {
            verb,
            file: step.file(),
            outcome,
            failed,
            step,
        }
    }

    /// Whether the step changed a file.
    fn edited(&self) -> bool {
        self.verb == Some(Verb::Edit) && !self.failed
    }

    /// What went wrong, as sentences.
    fn errors(&self) -> Vec<String> {
        let subject = match (self.verb, &self.file) {
            (Some(Verb::Edit | Verb::Create), Some(file)) => {
                format!("The edit of {file} failed with")
            }
            (Some(_), _) => format!(
                "`{}` failed with",
                clip(&self.step.command(), COMMAND_CHARS_MAX)
            ),
            (None, _) => "An error was seen:".to_owned(),
        };
        let mut sentences: Vec<String> = Vec::new();
        for (test, message) in &self.outcome.failed_tests {
            let with = if message.is_empty() {
                String::new()
            } else {
                format!(" with {message}")
            };
            sentences.push(format!("Test {test} failed{with}."));
        }
        sentences.extend(
            self.outcome
                .errors
                .iter()
                .map(|error| format!("{subject} {error}.")),
        );
        if sentences.is_empty() && self.failed {
            let shout = self
                .step
                .results
                .iter()
                .find(|line| line.level == LogLevel::Error);
            let line = shout.and_then(|line| {
                line.text
                    .lines()
                    .map(str::trim)
                    .find(|line| !line.is_empty())
            });
            sentences.extend(
                line.map(|line| format!("{subject} {}.", clip(line, 200).trim_end_matches('.'))),
            );
        }
        sentences
    }

    /// What running the command gave, as a predicate; none when it says too little.
    fn said(&self) -> Option<String> {
        const CHECKS: [&str; 7] = ["test", "check", "build", "clippy", "lint", "tox", "verify"];
        if self.verb != Some(Verb::Run) {
            return None;
        }
        if let Some(summary) = &self.outcome.summary {
            return Some(format!("gave {summary}"));
        }
        if self.failed {
            return Some("failed".to_owned());
        }
        let output = self.step.output();
        let shown = output.trim();
        if !shown.is_empty() && !shown.contains('\n') && shown.chars().count() <= OUTPUT_CHARS_MAX {
            return Some(format!("printed `{}`", shown.replace('`', "'")));
        }
        let command = self.step.command();
        CHECKS
            .iter()
            .any(|check| command.contains(check))
            .then(|| "succeeded".to_owned())
    }
}

/// Each error with the sentence about the edit that came next.
fn fixes(reads: &[Read], edited: &[(usize, String)], facts: &Facts) -> Vec<(String, String)> {
    let mut fixes = Vec::new();
    for (index, read) in reads.iter().enumerate() {
        let Some(error) = read.errors().into_iter().next() else {
            continue;
        };
        if let Some((_, file)) = edited.iter().find(|(edit, _)| *edit > index) {
            let change = facts
                .of(Rank::Change)
                .find(|change| change.contains(file.as_str()));
            let fix = (
                error,
                change.map_or_else(|| format!("The file {file} was edited."), str::to_owned),
            );
            if !fixes.contains(&fix) {
                fixes.push(fix);
            }
        }
    }
    fixes
}

/// Adds what an agent thought and noted.
fn thoughts(read: &Read, facts: &mut Facts) {
    let edits = matches!(read.verb, Some(Verb::Edit));
    let place = read.file.as_deref().filter(|_| edits);
    for line in &read.step.thoughts {
        for (sense, said) in statements(line) {
            match sense {
                Sense::Cause => {
                    let placed = place
                        .filter(|file| !said.contains(file.rsplit('/').next().unwrap_or(file)));
                    let said =
                        placed.map_or_else(|| said.clone(), |file| format!("{file}: {said}"));
                    facts.add(Rank::Cause, said, [line.id.clone()]);
                }
                Sense::Decision => facts.add(Rank::Decision, said, [line.id.clone()]),
                Sense::Statement if is_finding(&said) => {
                    facts.add(Rank::Note, said, [line.id.clone()])
                }
                Sense::Statement => {}
            }
        }
    }
    for line in &read.step.notes {
        for (sense, said) in statements(line) {
            let rank = match sense {
                Sense::Cause => Rank::Cause,
                Sense::Decision => Rank::Decision,
                Sense::Statement => Rank::Note,
            };
            facts.add(rank, said, [line.id.clone()]);
        }
    }
}

fn statements(line: &Line) -> Vec<(Sense, String)> {
    sentences(&line.text)
        .iter()
        .filter_map(|sentence| statement(sentence))
        .collect()
}
