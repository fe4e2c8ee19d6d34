//! The work: what a task's steps did, and the facts that each step gives.
//!
//! Owns which steps give a fact, and what they come to in sum. It must not know how one step is read,
//! what is kept of the facts, nor what is drawn from thoughts.

use std::collections::{BTreeMap, BTreeSet};

use sillok_core::citation::Excerpt;
use sillok_core::promotion::CognifyInput;

use super::diff::{Change, unified};
use super::facts::{Facts, Rank};
use super::read::{Read, Told};
use super::steps::{files, steps};
use super::thought;
use super::verb::Verb;

/// Errors that are told with what mended them.
const FIXES_MAX: usize = 16;
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
    /// Commands that mattered and did not go wrong, each once, in order: all that each ran, and how it is told.
    pub(super) commands_right: Vec<(String, String)>,
    /// Files of the repository that were changed.
    pub(super) files: Vec<String>,
    /// Each error with the change that followed it.
    pub(super) fixes: Vec<(String, String)>,
    /// Whether something ran right after the last change.
    pub(super) checked: bool,
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
            // One that was cut off checks nothing, and takes back no check either. An edit may have its check behind it.
            if read.runs()
                && let Some(right) = read.went_right()
            {
                self.checked = right && edited.last().is_some_and(|(edit, _)| *edit <= index);
            }
            if let Some(mut told) = read.said() {
                told.from.extend(read.step.command_excerpt());
                told.from
                    .extend(edit.into_iter().flat_map(|edit| reads[edit].names_edit()));
                last.insert((read.step.script(), phase), (index, told));
            }
        }
        let mut told: Vec<_> = last
            .into_iter()
            .map(|((_, phase), (index, told))| (index, phase, told))
            .collect();
        // A step has one outcome.
        told.sort_by_key(|(index, ..)| *index);
        for (index, phase, told) in told {
            let command = reads[index].named();
            let sentence = format!("Running `{command}` {}{phase}.", told.said);
            facts.add(Rank::Outcome, sentence, told.from);
        }
    }

    fn count(&mut self, read: &Read<'_>, made: &BTreeSet<String>) {
        let Some(verb) = read.verb else { return };
        self.commands += 1;
        self.commands_failed += u32::from(read.failed);
        // Edits and moves say nothing where they go well.
        let is_open = read.runs() && read.went_right().is_none();
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
        // Of several lines the first does not tell which they are: two scripts may begin alike.
        let (ran, shown) = match (verb, &read.file) {
            (Verb::Edit, Some(file)) => {
                let shown = format!("edit {file}");
                (shown.clone(), shown)
            }
            _ => (read.step.script(), read.named()),
        };
        if !matters || read.failed || shown.is_empty() {
            return;
        }
        // Of what was done again, the last time counts: it came after what it needs.
        self.commands_right.retain(|(known, _)| *known != ran);
        if self.commands_right.len() < SKILL_COMMANDS_MAX {
            self.commands_right.push((ran, shown));
        }
    }
}

/// The first errors, each with the sentence about the edit that came next.
fn fixes(reads: &[Read<'_>], edited: &[(usize, String)], facts: &Facts) -> Vec<(String, String)> {
    let mut fixes: Vec<(String, String)> = Vec::new();
    // Changes are sought once for each file: as many commands may have failed as there are changes.
    let mut changes = BTreeMap::<&str, String>::new();
    for (index, read) in reads.iter().enumerate() {
        if fixes.len() == FIXES_MAX {
            break;
        }
        // `edited` is in the order of the steps.
        let next = edited.partition_point(|(edit, _)| *edit <= index);
        let Some((_, file)) = edited.get(next) else {
            break;
        };
        let Some(error) = read.errors().into_iter().next() else {
            continue;
        };
        // An edit that failed is no reason for what the next one of the same file changed; what ran behind it may be.
        let is_edit = matches!(read.verb, Some(Verb::Edit | Verb::Create)) && !read.runs();
        if is_edit && read.file.as_ref() == Some(file) {
            continue;
        }
        let change = changes.entry(file).or_insert_with(|| {
            let mut changes = facts.of(Rank::Change);
            let change = changes.find(|change| change.contains(file.as_str()));
            change.map_or_else(|| format!("The file {file} was edited."), str::to_owned)
        });
        let fix = (error.said, change.clone());
        if !fixes.contains(&fix) {
            fixes.push(fix);
        }
    }
    fixes
}
