//! The cognitive gate of a command: what recall found, held against the work tree here.
//!
//! Owns which work tree that is, and how verdicts are shown. What they are is [`sillok_core::gate`]'s, and how files are
//! read [`sillok_gate`]'s.

use std::path::{Path, PathBuf};

use sillok_core::citation::Citation as Cited;
use sillok_core::gate::Verdict;
use sillok_core::scope::{Level, Scope};
use sillok_gate::{Answer, Budget, Checked, Gate, WorkTree, check_at_main};
use sillok_server::api::{Citation, GateCheck, RecallAnswer, RecallResult, ReportStale};

use super::citation;
use crate::failure::Failure;
use crate::git;
use crate::output::{note, one_line};
use crate::session::Session;

/// What `--work-tree` says where none is meant.
const NO_TREE: &str = "none";
/// Citations of one result of which it is told why they are not valid.
const SHOWN_MAX: usize = 4;
/// Characters of what is told of one.
const LINE_CHARS_MAX: usize = 200;

/// What was found and is gone from a work tree.
#[derive(Debug, Default)]
pub struct Gone {
    root: PathBuf,
    results: Vec<RecallResult>,
}

/// What was found, each with what the gate says of it, its citations as they are by now; what is stale is left out,
/// counted, and given beside.
///
/// # Errors
/// [`Failure::Usage`] where a work tree is named that there is not.
pub async fn checked(
    mut answer: RecallAnswer,
    said: Option<PathBuf>,
) -> Result<(RecallAnswer, Gone), Failure> {
    let Some(tree) = tree(said)? else {
        return Ok((answer, Gone::default()));
    };
    let root = tree.path().to_owned();
    let entries: Vec<Numbered> = answer.results.iter().map(Numbered::of).collect();
    // A panic in there is one of ours: nothing is said of the results, as without a work tree.
    let Ok((entries, verdicts)) = tokio::task::spawn_blocking(move || {
        let citations: Vec<&[Cited]> = entries.iter().map(|one| &*one.citations).collect();
        let verdicts = Gate::of(tree).check(&citations, Budget::PATIENT);
        (entries, verdicts)
    })
    .await
    else {
        return Ok((answer, Gone::default()));
    };
    let results = apply(&mut answer, &entries, &verdicts);
    Ok((answer, Gone { root, results }))
}

/// Says for a task which of what is gone here is gone at the main branch as well, so that it leaves recall for all. What
/// the server refuses is noted: the answer is there already.
pub async fn report(session: &Session, task: &Scope, gone: Gone) {
    if task.level() != Level::Task || gone.results.is_empty() {
        return;
    }
    let root = gone.root.clone();
    let entries: Vec<Numbered> = gone.results.iter().map(Numbered::of).collect();
    let looked = tokio::task::spawn_blocking(move || {
        let citations: Vec<&[Cited]> = entries.iter().map(|one| &*one.citations).collect();
        check_at_main(&root, &citations, Budget::PATIENT)
    });
    // Without a repository, or a main branch, nothing is said of one.
    let (Ok(Ok((commit, there))), Some(here)) = (looked.await, git::head(&gone.root)) else {
        return;
    };
    for (result, checked) in gone.results.iter().zip(&there.entries) {
        if checked.verdict != Verdict::Stale {
            continue;
        }
        let body = ReportStale {
            task: task.to_string(),
            entry: result.entry.to_string(),
            expected_version: result.version,
            commit: commit.clone(),
            repository: here.repository.clone(),
        };
        if let Err(failure) = session.client.report_stale(&body).await {
            note(&failure.to_string());
        }
    }
}

/// What a file of the work tree here says, or so many lines of it; none where there is no such thing.
#[must_use]
pub fn fingerprint(path: &str, lines: Option<[u32; 2]>) -> Option<String> {
    let tree = WorkTree::around(Path::new(".")).ok().flatten()?;
    let lines = lines.map(|[first, last]| (first, last));
    let print = sillok_gate::fingerprint(&tree, path, lines).ok()?;
    Some(print.to_string())
}

/// How many results were left out, for a person; none if none was.
#[must_use]
pub fn left_out(answer: &RecallAnswer) -> Option<String> {
    (answer.stale > 0).then(|| {
        format!(
            "{} more were left out: what they rest on is gone from the work tree",
            answer.stale
        )
    })
}

/// What the gate says of a result, for a person.
pub fn lines(result: &RecallResult) -> impl Iterator<Item = String> {
    let told = result.checks.iter();
    let told = told.filter(|check| check.verdict != Verdict::Valid);
    let lines = told.take(SHOWN_MAX).filter_map(|check| {
        let cited = match &check.moved_from {
            Some(before) => before,
            None => result.citations.get(check.citation)?,
        };
        let line = format!(
            "{}: {} {}",
            check.verdict,
            citation::line(cited),
            check.reason
        );
        Some(one_line(&line, LINE_CHARS_MAX))
    });
    let is_valid = result.gate == Verdict::Valid && !result.checks.is_empty();
    let valid = is_valid.then(|| "valid: the code that it rests on is as it was".to_owned());
    valid.into_iter().chain(lines)
}

/// The work tree that was named, or the one of git here.
fn tree(said: Option<PathBuf>) -> Result<Option<WorkTree>, Failure> {
    let usage = |error: sillok_gate::Error| Failure::Usage(format!("--work-tree: {error}"));
    match said {
        Some(none) if none.as_os_str() == NO_TREE => Ok(None),
        Some(path) => WorkTree::at(path).map(Some).map_err(usage),
        // Where it cannot be told, there is none.
        None => Ok(WorkTree::around(Path::new(".")).ok().flatten()),
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
}

/// Puts what the gate says into an answer, and takes out what is stale.
fn apply(answer: &mut RecallAnswer, entries: &[Numbered], verdicts: &Answer) -> Vec<RecallResult> {
    let results = answer.results.iter_mut().zip(entries);
    for ((result, entry), checked) in results.zip(&verdicts.entries) {
        result.gate = checked.verdict;
        result.checks = checks(entry, checked);
        for check in &mut result.checks {
            let at = entry.numbers.iter().position(|one| *one == check.citation);
            let judgement = at.and_then(|at| checked.judgements[at].as_ref());
            let moved = judgement.and_then(|one| one.refreshed.clone());
            let cited = result.citations.get_mut(check.citation);
            if let (Some(moved), Some(cited)) = (moved, cited) {
                check.moved_from = Some(core::mem::replace(cited, Citation::from(moved)));
            }
        }
    }
    let all = core::mem::take(&mut answer.results).into_iter();
    let (recalled, stale): (Vec<_>, Vec<_>) = all.partition(|result| result.gate.is_recalled());
    answer.stale += u64::try_from(stale.len()).unwrap_or(u64::MAX);
    answer.tokens = recalled.iter().map(|result| result.tokens).sum();
    answer.results = recalled;
    stale
}

fn checks(entry: &Numbered, checked: &Checked) -> Vec<GateCheck> {
    let numbered = entry.numbers.iter().zip(&checked.judgements);
    let checks = numbered.filter_map(|(number, judgement)| {
        let judgement = judgement.as_ref()?;
        Some(GateCheck {
            citation: *number,
            verdict: judgement.verdict,
            reason: judgement.reason.as_str().to_owned(),
            moved_from: None,
        })
    });
    checks.collect()
}

#[cfg(test)]
mod tests;
