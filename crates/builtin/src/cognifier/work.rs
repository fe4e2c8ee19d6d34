//! The work: what a task's steps did, and the facts that each step gives.
//!
//! Owns the sentences about changes, errors and outcomes. It must not know what is kept of them, nor
//! what is drawn from thoughts.

use std::collections::{BTreeMap, BTreeSet};

use sillok_core::citation::Excerpt;
use sillok_core::promotion::CognifyInput;
use sillok_core::staging::LogLevel;

use super::diff::{Change, stated, unified};
use super::evidence::range;
use super::facts::{Facts, Rank};
use super::outcome::{Found, Outcome};
use super::sentence::clip;
use super::steps::{Step, Verb, files, steps};
use super::thought;

/// Characters of a command that a fact quotes.
const COMMAND_CHARS_MAX: usize = 120;
/// Characters of an output that a fact quotes whole.
const OUTPUT_CHARS_MAX: usize = 60;
/// Stretches that show how a command failed.
const ERRORS_SHOWN_MAX: usize = 4;
/// Commands that a skill lists.
const SKILL_COMMANDS_MAX: usize = 12;

/// What was done, in sum.
#[derive(Debug, Default)]
pub(super) struct Work {
    /// Commands in all.
    pub(super) commands: u32,
    /// Commands that went wrong.
    pub(super) commands_failed: u32,
    /// Commands of which nothing says how they ended.
    pub(super) commands_open: u32,
    /// Commands that mattered and did not go wrong, each once, in order.
    pub(super) commands_right: Vec<String>,
    /// Files of the repository that were changed.
    pub(super) files: Vec<String>,
    /// Each error with the change that followed it.
    pub(super) fixes: Vec<(String, String)>,
    /// Whether something ran right after the last change.
    pub(super) checked: bool,
}

/// One step, read.
pub(super) struct Read<'a> {
    pub(super) step: Step<'a>,
    pub(super) verb: Option<Verb>,
    /// The file that it is about.
    pub(super) file: Option<String>,
    /// What names that file.
    pub(super) names_file: Option<Excerpt>,
    /// Everything that its command gave.
    pub(super) output: String,
    outcome: Outcome,
    /// The code that it is recorded to have ended with.
    code: Option<i64>,
    failed: bool,
}

/// A sentence, and what it was drawn from.
pub(super) struct Told {
    pub(super) said: String,
    pub(super) from: Vec<Excerpt>,
}

impl Work {
    /// Reads a task's records and adds the facts that they give.
    pub(super) fn of(input: &CognifyInput, facts: &mut Facts) -> Self {
        let reads: Vec<Read<'_>> = steps(&input.records).into_iter().map(Read::of).collect();
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
        }
        thought::draw(&reads, &changed, facts);
        if work.files.is_empty() {
            work.checked = false;
        }
        work
    }

    /// Adds the facts about changes. Returns, for each step that changed a file of the repository,
    /// its index and the file.
    fn changes(
        &mut self,
        reads: &[Read<'_>],
        made: &BTreeSet<String>,
        facts: &mut Facts,
    ) -> Vec<(usize, String)> {
        let diffs: Vec<(Change, Vec<Excerpt>)> = reads
            .iter()
            .flat_map(|read| read.step.tool.iter().chain(&read.step.results))
            .filter(|line| line.text.contains("@@ -"))
            .flat_map(|line| {
                let changes = unified(&line.text).into_iter();
                changes.map(|change| {
                    let from = change.at.iter().filter_map(|at| line.excerpt(at.clone()));
                    let from = from.collect();
                    (change, from)
                })
            })
            .collect();
        let in_diff: BTreeSet<&str> = diffs
            .iter()
            .map(|(change, _)| change.path.as_str())
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
                let (rank, told) = read.edit(&file);
                facts.add(rank, told.said, told.from);
            }
            edited.push((index, file));
        }
        for (change, from) in &diffs {
            if let Some(sentence) = change.sentence() {
                facts.add(Rank::Change, sentence, from.clone());
            }
            if let Some(place) = change.place() {
                facts.add(Rank::Place, place, from.clone());
            }
        }
        let files = edited
            .iter()
            .map(|(_, file)| file.clone())
            .chain(diffs.iter().map(|(change, _)| change.path.clone()));
        self.files = files.collect::<BTreeSet<_>>().into_iter().collect();
        self.fixes = fixes(reads, &edited, facts);
        edited
    }

    /// Adds the facts about errors, tests and what commands printed.
    fn outcomes(&mut self, reads: &[Read<'_>], edited: &[(usize, String)], facts: &mut Facts) {
        // Of one command in one phase, only the last outcome stands.
        let mut last = BTreeMap::<(String, String), (usize, Told)>::new();
        for (index, read) in reads.iter().enumerate() {
            for error in read.errors() {
                facts.add(Rank::Error, error.said, error.from);
            }
            // `edited` is in the order of the steps.
            let before = edited
                .partition_point(|(edit, _)| *edit < index)
                .checked_sub(1);
            let before = before.map(|last| &edited[last]);
            let (phase, edit) = match (before, edited.first()) {
                (Some((edit, file)), _) => (format!(" after {file} was edited"), Some(*edit)),
                (None, Some((edit, file))) => (format!(" before {file} was edited"), Some(*edit)),
                (None, None) => (String::new(), None),
            };
            // One that was cut off checks nothing, and takes back no check either.
            if read.verb == Some(Verb::Run)
                && let Some(right) = read.went_right()
            {
                self.checked = right && edited.last().is_some_and(|(edit, _)| *edit < index);
            }
            if let Some(mut told) = read.said() {
                told.from.extend(read.step.command_excerpt());
                told.from
                    .extend(edit.into_iter().flat_map(|edit| reads[edit].names_edit()));
                last.insert((read.step.command(), phase), (index, told));
            }
        }
        let mut told: Vec<_> = last
            .into_iter()
            .map(|((command, phase), (index, told))| (index, command, phase, told))
            .collect();
        told.sort_by(|a, b| (a.0, &a.1, &a.2).cmp(&(b.0, &b.1, &b.2)));
        for (_, command, phase, told) in told {
            let command = clip(&command, COMMAND_CHARS_MAX);
            let sentence = format!("Running `{command}` {}{phase}.", told.said);
            facts.add(Rank::Outcome, sentence, told.from);
        }
    }

    fn count(&mut self, read: &Read<'_>, made: &BTreeSet<String>) {
        let Some(verb) = read.verb else { return };
        self.commands += 1;
        self.commands_failed += u32::from(read.failed);
        // Edits and moves say nothing where they go well.
        let is_open = verb == Verb::Run && read.went_right().is_none();
        self.commands_open += u32::from(is_open);
        let is_scratch = |file: &String| made.contains(file) && !self.files.contains(file);
        let command = read.step.command();
        let matters = match verb {
            // What runs nothing but files of the run's own cannot be done again without them.
            Verb::Run => {
                let named = files(&command);
                named.is_empty() || !named.iter().all(is_scratch)
            }
            Verb::Edit | Verb::Create => !read.file.as_ref().is_some_and(is_scratch),
            Verb::View | Verb::Submit | Verb::Tidy => false,
        };
        let shown = match (verb, &read.file) {
            (Verb::Edit, Some(file)) => format!("edit {file}"),
            _ => clip(&command, COMMAND_CHARS_MAX),
        };
        if !matters || read.failed || shown.is_empty() {
            return;
        }
        // Of what was done again, the last time counts: it came after what it needs.
        self.commands_right.retain(|known| *known != shown);
        if self.commands_right.len() < SKILL_COMMANDS_MAX {
            self.commands_right.push(shown);
        }
    }
}

impl<'a> Read<'a> {
    fn of(step: Step<'a>) -> Self {
        let verb = step.verb();
        let code = step.exit().map(|(code, _)| code);
        let shouts = step.shouts();
        let answers = code == Some(1) && step.asks();
        let ended_badly = code.is_some_and(|code| code != 0) && !answers;
        // What a viewer shows is not what went wrong, unless the log says so.
        let views = matches!(verb, Some(Verb::View | Verb::Submit));
        let quiet = views && !shouts && !ended_badly;
        let output = step.output();
        let outcome = if quiet {
            Outcome::default()
        } else {
            Outcome::of(&output)
        };
        let failed = shouts || ended_badly || outcome.failed();
        let (file, names_file) = step
            .file()
            .map_or((None, None), |(file, named)| (Some(file), named));
        Self {
            verb,
            file,
            names_file,
            output,
            outcome,
            code,
            failed,
            step,
        }
    }

    /// Whether its command went right; none where nothing says how it ended: silence may be that of one that was
    /// cut off, and a code that is an answer is neither.
    fn went_right(&self) -> Option<bool> {
        match self.code {
            _ if self.failed => Some(false),
            Some(0) => Some(true),
            Some(_) => None,
            None => (!self.output.trim().is_empty()).then_some(true),
        }
    }

    /// Whether the step changed a file.
    fn edited(&self) -> bool {
        self.verb == Some(Verb::Edit) && !self.failed
    }

    /// What shows that a file was edited, and which.
    pub(super) fn names_edit(&self) -> impl Iterator<Item = Excerpt> {
        let command = self.step.command_excerpt().into_iter();
        command.chain(self.names_file.clone())
    }

    /// What it changed in `file`, where its command says so; else that it did.
    fn edit(&self, file: &str) -> (Rank, Told) {
        let tool = self.step.tool.as_ref();
        let change = tool.and_then(|tool| stated(&tool.text, file));
        let told = change.and_then(|change| {
            let said = change.sentence()?;
            let stated = change.at.into_iter();
            let from = stated.filter_map(|at| tool?.excerpt(at));
            let from = from.chain(self.names_file.clone()).collect();
            Some(Told { said, from })
        });
        match told {
            Some(told) => (Rank::Change, told),
            None => {
                let said = format!("The file {file} was edited.");
                let from = self.names_edit().collect();
                (Rank::Edited, Told { said, from })
            }
        }
    }

    /// What went wrong.
    fn errors(&self) -> Vec<Told> {
        // What was cut off may have done its work before.
        let ended = if self.outcome.timed_out {
            "ended"
        } else {
            "failed"
        };
        let (subject, named): (_, Vec<Excerpt>) = match (self.verb, &self.file) {
            (Some(Verb::Edit | Verb::Create), Some(file)) => (
                format!("An edit of {file} failed with"),
                self.names_edit().collect(),
            ),
            (Some(_), _) => (
                format!(
                    "`{}` {ended} with",
                    clip(&self.step.command(), COMMAND_CHARS_MAX)
                ),
                self.step.command_excerpt().into_iter().collect(),
            ),
            (None, _) => ("An error was seen:".to_owned(), Vec::new()),
        };
        let of_subject = |error: &str, at: Option<Excerpt>| Told {
            said: format!("{subject} {}.", error.trim_end_matches('.')),
            from: named.iter().cloned().chain(at).collect(),
        };
        let mut told: Vec<Told> = Vec::new();
        for test in &self.outcome.failed_tests {
            let with = if test.message.is_empty() {
                String::new()
            } else {
                format!(" with {}", test.message)
            };
            told.push(Told {
                said: format!("Test {} failed{with}.", test.name),
                from: self
                    .step
                    .output_excerpt(test.at.clone())
                    .into_iter()
                    .collect(),
            });
        }
        let errors = self.outcome.errors.iter();
        told.extend(errors.map(|error| {
            let at = self.step.output_excerpt(error.at.clone());
            of_subject(&error.text, at)
        }));
        if told.is_empty() && self.failed {
            let shout = self.shout();
            told.extend(shout.map(|(line, at)| of_subject(&clip(line, 200), at)));
        }
        if told.is_empty() && self.failed && !self.outcome.is_red() {
            let ended = self
                .ended_badly()
                .filter(|(_, at)| at.is_some() || !named.is_empty());
            told.extend(ended.map(|(code, at)| of_subject(&format!("exit status {code}"), at)));
        }
        told
    }

    /// The code that says that it failed, and where that stands: of metadata, the end of the record that it is of.
    fn ended_badly(&self) -> Option<(i64, Option<Excerpt>)> {
        if let Some((code, line)) = self.step.exit().filter(|(code, _)| *code != 0) {
            return Some((code, line.last()));
        }
        let told = self.outcome.exit.as_ref().filter(|told| told.code != 0)?;
        Some((told.code, self.step.output_excerpt(told.at.clone())))
    }

    /// The first line of what the log marks as an error.
    fn shout(&self) -> Option<(&str, Option<Excerpt>)> {
        let mut results = self.step.results.iter();
        let result = results.find(|line| line.level == LogLevel::Error)?;
        let mut lines = result.text.lines().map(str::trim);
        let line = lines.find(|line| !line.is_empty())?;
        Some((line, result.excerpt(range(line, &result.text))))
    }

    /// What running the command gave, as a predicate; none when it says too little.
    fn said(&self) -> Option<Told> {
        const CHECKS: [&str; 7] = ["test", "check", "build", "clippy", "lint", "tox", "verify"];
        let command = self.step.command();
        // Where metadata alone tells how it ended, the fact names the command: it has to have one.
        if self.verb != Some(Verb::Run) || command.is_empty() {
            return None;
        }
        let told = |said: String, at| Told {
            said,
            from: self.step.output_excerpt(at).into_iter().collect(),
        };
        if let Some(Found { text, at }) = &self.outcome.summary {
            return Some(told(format!("gave {text}"), at.clone()));
        }
        if self.failed {
            if self.outcome.timed_out {
                // What it did until then may be all that was wanted of it: how it ended is said by the error alone.
                return None;
            }
            let errors = self.errors().into_iter().flat_map(|error| error.from);
            return Some(Told {
                said: "failed".to_owned(),
                from: errors.take(ERRORS_SHOWN_MAX).collect(),
            });
        }
        let shown = self.output.trim();
        let is_line = !shown.is_empty() && self.outcome.exit.is_none();
        if is_line && !shown.contains('\n') && shown.chars().count() <= OUTPUT_CHARS_MAX {
            let said = format!("printed `{}`", shown.replace('`', "'"));
            return Some(told(said, range(shown, &self.output)));
        }
        let is_check = CHECKS.iter().any(|check| command.contains(check));
        let is_known = is_check && self.went_right() == Some(true);
        is_known.then(|| told("succeeded".to_owned(), range(shown, &self.output)))
    }
}

/// Each error with the sentence about the edit that came next.
fn fixes(reads: &[Read<'_>], edited: &[(usize, String)], facts: &Facts) -> Vec<(String, String)> {
    let mut fixes = Vec::new();
    for (index, read) in reads.iter().enumerate() {
        let Some(error) = read.errors().into_iter().next() else {
            continue;
        };
        if let Some((_, file)) = edited.iter().find(|(edit, _)| *edit > index) {
            // An edit that failed is no reason for what the next one of the same file changed.
            let is_edit = matches!(read.verb, Some(Verb::Edit | Verb::Create));
            if is_edit && read.file.as_ref() == Some(file) {
                continue;
            }
            let change = facts
                .of(Rank::Change)
                .find(|change| change.contains(file.as_str()));
            let fix = (
                error.said,
                change.map_or_else(|| format!("The file {file} was edited."), str::to_owned),
            );
            if !fixes.contains(&fix) {
                fixes.push(fix);
            }
        }
    }
    fixes
}
