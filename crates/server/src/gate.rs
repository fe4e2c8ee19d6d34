//! What was recalled, held against a work tree: by the server where it follows one, by the command line where it runs.
//!
//! Owns how verdicts come into an answer, and what of them is worth a report. What they are is [`sillok_core::gate`]'s, and how
//! files are read [`sillok_gate`]'s.

use std::path::Path;

use sillok_core::citation::Citation as Cited;
use sillok_core::gate::{Reason, Verdict};
use sillok_core::scope::{Level, Scope};
use sillok_gate::{Answer, Budget, Checked, CommitError, Entry, Gate, Origin, check_at_main};

use crate::api::{Binding, Citation, GateCheck, GateFound, RecallAnswer, RecallResult, ReportGate};

/// Reports that follow from one answer at most: each is a command of its own.
const REPORTS_MAX: usize = 32;
/// Why nothing is said of what a work tree cannot be asked about.
const OF_ELSEWHERE: &str =
    "cannot be checked: it is not known to be of this work tree's repository";

/// What is not where its citations say, with the citations that it has in the store.
#[derive(Clone, Debug, Default)]
pub struct Displaced {
    /// What it rests on is gone: it is in no answer.
    pub gone: Vec<RecallResult>,
    /// The same lies elsewhere.
    pub moved: Vec<RecallResult>,
    /// It is not in its place, and not all was looked through: it is given, and marked.
    pub unsearched: Vec<RecallResult>,
}

impl Displaced {
    /// Whether all is in its place, as far as that can be told.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.gone.is_empty() && self.moved.is_empty() && self.unsearched.is_empty()
    }

    fn add(&mut self, result: &RecallResult, checked: &Checked) {
        match checked.verdict {
            Verdict::Stale => self.gone.push(result.clone()),
            Verdict::Moved => self.moved.push(result.clone()),
            Verdict::Unverifiable if checked.is_cut() => self.unsearched.push(result.clone()),
            Verdict::Unverifiable | Verdict::Valid => {}
        }
    }
}

/// Puts into an answer what the gate says of its results: those of other repositories are unverifiable, of the others the
/// citations are as they are by now, and what is stale is taken out and counted. Takes time; it blocks.
pub fn hold(answer: &mut RecallAnswer, gate: &Gate, budget: Budget) -> Displaced {
    let entries: Vec<Numbered> = answer.results.iter().map(Numbered::of).collect();
    let verdicts = gate.check_entries(&entries_of(&answer.results, &entries), budget);
    apply(answer, &entries, &verdicts)
}

/// Looks on for what was not looked for everywhere. The gate remembers what it finds. Takes time; it blocks.
#[must_use]
pub fn look_on(displaced: Displaced, gate: &Gate, budget: Budget) -> Displaced {
    let mut found = displaced;
    let results = core::mem::take(&mut found.unsearched);
    if results.is_empty() {
        return found;
    }
    let entries: Vec<Numbered> = results.iter().map(Numbered::of).collect();
    let verdicts = gate.check_entries(&entries_of(&results, &entries), budget);
    for (result, checked) in results.iter().zip(&verdicts.entries) {
        found.add(result, checked);
    }
    found
}

/// What is to be reported for a task of what is displaced in the work tree at a path, by how it stands at the main branch of its
/// repository: what moved there, and what is gone there as well and was in the commit at which it was written. Of an entry whose
/// commit the main branch does not hold nothing is reported, nor of one that is bound to none: nobody knows that what it cites
/// was ever there. Takes time; it blocks.
///
/// # Errors
/// [`CommitError`] where there is no main branch that can be looked at.
pub fn reports(
    root: &Path,
    displaced: &Displaced,
    task: &Scope,
    budget: Budget,
) -> Result<Vec<ReportGate>, CommitError> {
    let results = displaced.gone.iter().chain(&displaced.moved);
    let results: Vec<&RecallResult> = results.take(REPORTS_MAX).collect();
    let entries: Vec<Numbered> = results.iter().copied().map(Numbered::of).collect();
    let asked = entries_of(results.iter().copied(), &entries);
    let (commit, there) = check_at_main(root, &asked, budget)?;
    let looked = results.iter().zip(&entries).zip(&there);
    let reports = looked
        .enumerate()
        .filter_map(|(number, ((result, entry), there))| {
            let there = there.as_ref()?;
            let is_gone = number < displaced.gone.len();
            let found = match there.checked.verdict {
                Verdict::Stale if is_gone && there.is_lost => GateFound::Stale {},
                Verdict::Moved => GateFound::Moved {
                    citations: entry.refreshed(&result.citations, &there.checked),
                },
                _ => return None,
            };
            let Binding::Commit { repository, .. } = &result.binding else {
                return None;
            };
            Some(ReportGate {
                task: task.to_string(),
                entry: result.entry.to_string(),
                expected_version: result.version,
                commit: commit.clone(),
                repository: repository.clone(),
                found,
            })
        });
    Ok(reports.collect())
}

/// The entries of results, with where they come from.
fn entries_of<'a>(
    results: impl IntoIterator<Item = &'a RecallResult>,
    entries: &'a [Numbered],
) -> Vec<Entry<'a>> {
    let results = results.into_iter().zip(entries);
    let entries = results.map(|(result, entry)| Entry {
        citations: &entry.citations,
        origin: origin(result),
    });
    entries.collect()
}

/// Where what a result cites was so. What is bound to no commit belongs to its project, if it has one.
fn origin(result: &RecallResult) -> Origin<'_> {
    match &result.binding {
        Binding::Commit { hash, .. } => Origin::Commit(hash),
        Binding::NoRepository if result.scope.level() > Level::Project => Origin::Unknown,
        Binding::NoRepository => Origin::Here,
    }
}

/// The citations of a result that the rules understand, and which they are. Newer servers may have others.
struct Numbered {
    numbers: Vec<usize>,
    citations: Vec<Cited>,
}

impl Numbered {
    fn of(result: &RecallResult) -> Self {
        let citations = result.citations.iter().cloned().map(Cited::try_from);
        let known = citations.enumerate();
        let (numbers, citations) = known
            .filter_map(|(number, citation)| Some((number, citation.ok()?)))
            .unzip();
        Self { numbers, citations }
    }

    /// All citations, as they are by now.
    fn refreshed(&self, citations: &[Citation], checked: &Checked) -> Vec<Citation> {
        let mut refreshed = citations.to_vec();
        for (number, judgement) in self.numbers.iter().zip(&checked.judgements) {
            let moved = judgement.as_ref().and_then(|one| one.refreshed.clone());
            if let (Some(moved), Some(cited)) = (moved, refreshed.get_mut(*number)) {
                *cited = Citation::from(moved);
            }
        }
        refreshed
    }

    /// What the gate says of each that it looks at.
    fn checks(&self, citations: &[Citation], checked: &Checked) -> Vec<GateCheck> {
        let numbered = self.numbers.iter().zip(&checked.judgements);
        let checks = numbered.filter_map(|(number, judgement)| {
            let judgement = judgement.as_ref()?;
            let moved = judgement.refreshed.as_ref();
            let reason = if checked.is_of_elsewhere && judgement.reason == Reason::NoWorkTree {
                OF_ELSEWHERE
            } else {
                judgement.reason.as_str()
            };
            Some(GateCheck {
                citation: *number,
                verdict: judgement.verdict,
                reason: reason.to_owned(),
                moved_from: moved.and_then(|_| citations.get(*number).cloned()),
            })
        });
        checks.collect()
    }
}

fn apply(answer: &mut RecallAnswer, entries: &[Numbered], verdicts: &Answer) -> Displaced {
    let mut displaced = Displaced::default();
    let mut recalled = Vec::with_capacity(answer.results.len());
    let results = core::mem::take(&mut answer.results).into_iter();
    for ((mut result, entry), checked) in results.zip(entries).zip(&verdicts.entries) {
        result.gate = checked.verdict;
        result.checks = entry.checks(&result.citations, checked);
        displaced.add(&result, checked);
        if checked.verdict.is_recalled() {
            result.citations = entry.refreshed(&result.citations, checked);
            recalled.push(result);
        }
    }
    answer.stale += displaced.gone.len() as u64;
    answer.tokens = recalled.iter().map(|result| result.tokens).sum();
    answer.results = recalled;
    displaced
}

#[cfg(test)]
mod tests;
