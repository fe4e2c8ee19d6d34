//! What was recalled, held against a work tree: by the server where it follows one, by the command line where it runs.
//!
//! Owns how verdicts come into an answer, and what of them is worth a report. What they are is [`sillok_core::gate`]'s, and how
//! files are read [`sillok_gate`]'s.

use std::path::Path;

use sillok_core::citation::Citation as Cited;
use sillok_core::gate::{Reason, Verdict};
use sillok_core::scope::Scope;
use sillok_gate::{Answer, Budget, Checked, CommitError, Gate, check_at_main};

use crate::api::{Binding, Citation, GateCheck, GateFound, RecallAnswer, RecallResult, ReportGate};

/// Reports that follow from one answer at most: each is a command of its own.
const REPORTS_MAX: usize = 32;

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
        let mut judgements = checked.judgements.iter().flatten();
        let is_cut = judgements.any(|one| one.reason == Reason::NotSearched);
        match checked.verdict {
            Verdict::Stale => self.gone.push(result.clone()),
            Verdict::Moved => self.moved.push(result.clone()),
            Verdict::Unverifiable if is_cut => self.unsearched.push(result.clone()),
            Verdict::Unverifiable | Verdict::Valid => {}
        }
    }
}

/// Puts into an answer what the gate says of its results: their citations are as they are by now, and what is stale is taken
/// out and counted. Takes time; it blocks.
pub fn hold(answer: &mut RecallAnswer, gate: &Gate, budget: Budget) -> Displaced {
    let entries: Vec<Numbered> = answer.results.iter().map(Numbered::of).collect();
    let citations: Vec<&[Cited]> = entries.iter().map(|one| &*one.citations).collect();
    let verdicts = gate.check(&citations, budget);
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
    let citations: Vec<&[Cited]> = entries.iter().map(|one| &*one.citations).collect();
    let verdicts = gate.check(&citations, budget);
    for (result, checked) in results.iter().zip(&verdicts.entries) {
        found.add(result, checked);
    }
    found
}

/// What is to be reported for a task of what is displaced in the work tree at a path, by how it stands at the main branch of its
/// repository: what is gone there as well, and what moved there. The repository is called as an entry's commit calls it, or else
/// by the name that is given; where there is neither, nothing is reported. Takes time; it blocks.
///
/// # Errors
/// [`CommitError`] where there is no main branch that can be looked at.
pub fn reports(
    root: &Path,
    displaced: &Displaced,
    (task, name): (&Scope, Option<&str>),
    budget: Budget,
) -> Result<Vec<ReportGate>, CommitError> {
    let results = displaced.gone.iter().chain(&displaced.moved);
    let results: Vec<&RecallResult> = results.take(REPORTS_MAX).collect();
    let entries: Vec<Numbered> = results.iter().copied().map(Numbered::of).collect();
    let citations: Vec<&[Cited]> = entries.iter().map(|one| &*one.citations).collect();
    let (commit, there) = check_at_main(root, &citations, budget)?;
    let looked = results.iter().zip(&entries).zip(&there.entries);
    let reports = looked
        .enumerate()
        .filter_map(|(number, ((result, entry), checked))| {
            let is_gone = number < displaced.gone.len();
            let found = match checked.verdict {
                Verdict::Stale if is_gone => GateFound::Stale,
                Verdict::Moved => GateFound::Moved {
                    citations: entry.refreshed(&result.citations, checked),
                },
                _ => return None,
            };
            let bound = match &result.binding {
                Binding::Commit { repository, .. } => Some(repository.as_str()),
                Binding::Bound { place, .. } => place.as_ref().map(|place| &*place.repository),
                Binding::NoRepository => None,
            };
            let repository = bound.or(name)?;
            Some(ReportGate {
                task: task.to_string(),
                entry: result.entry.to_string(),
                expected_version: result.version,
                commit: commit.clone(),
                repository: repository.to_owned(),
                found,
            })
        });
    Ok(reports.collect())
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
            Some(GateCheck {
                citation: *number,
                verdict: judgement.verdict,
                reason: judgement.reason.as_str().to_owned(),
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
