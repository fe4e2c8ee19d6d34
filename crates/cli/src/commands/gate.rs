//! The cognitive gate of a command: what recall found, held against the work tree here.
//!
//! Owns which work tree that is, and how verdicts are shown. How they come into an answer is [`sillok_server::gate`]'s.

use std::path::{Path, PathBuf};

use sillok_core::gate::Verdict;
use sillok_core::scope::{Level, Scope};
use sillok_gate::{Budget, Gate, WorkTree};
use sillok_server::api::{RecallAnswer, RecallResult};
use sillok_server::gate::{Displaced, hold, reports};

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

/// What of an answer is not where its citations say in a work tree.
#[derive(Debug, Default)]
pub struct Elsewhere {
    root: PathBuf,
    displaced: Displaced,
}

/// What was found, held against a work tree: its citations are as they are by now, and what is stale is left out, counted, and
/// given beside.
pub async fn checked(answer: RecallAnswer, tree: Option<WorkTree>) -> (RecallAnswer, Elsewhere) {
    let Some(tree) = tree else {
        return (answer, Elsewhere::default());
    };
    let root = tree.path().to_owned();
    let mut held = answer.clone();
    let checked = tokio::task::spawn_blocking(move || {
        let displaced = hold(&mut held, &Gate::of(&tree), Budget::PATIENT);
        (held, displaced)
    });
    // A panic in there is one of ours: nothing is said of the results, as without a work tree.
    match checked.await {
        Ok((held, displaced)) => (held, Elsewhere { root, displaced }),
        Err(_panic) => (answer, Elsewhere::default()),
    }
}

/// Says for a task what is gone or lies elsewhere at the main branch as well, so that all hear of it. What the server refuses is
/// noted: the answer is there already.
pub async fn report(session: &Session, task: &Scope, elsewhere: Elsewhere) {
    let Elsewhere { root, displaced } = elsewhere;
    if task.level() != Level::Task || displaced.is_empty() {
        return;
    }
    let of = task.clone();
    let looked = tokio::task::spawn_blocking(move || {
        let here = git::head(&root);
        let name = here.as_ref().map(|here| here.repository.as_str());
        reports(&root, &displaced, (&of, name), Budget::PATIENT)
    });
    // Without a repository, or a main branch, nothing is said of one.
    let Ok(Ok(reports)) = looked.await else {
        return;
    };
    for report in reports {
        if let Err(failure) = session.client.report_gate(&report).await {
            note(&failure.to_string());
        }
    }
}

/// The work tree that was named, or the one of git here; none where none is meant.
///
/// # Errors
/// [`Failure::Usage`] where a work tree is named that there is not.
pub fn tree(said: Option<PathBuf>) -> Result<Option<WorkTree>, Failure> {
    let usage = |error: sillok_gate::Error| Failure::Usage(format!("--work-tree: {error}"));
    match said {
        Some(none) if none.as_os_str() == NO_TREE => Ok(None),
        Some(path) => WorkTree::at(path).map(Some).map_err(usage),
        // Where it cannot be told, there is none.
        None => Ok(WorkTree::around(Path::new(".")).ok().flatten()),
    }
}

/// The directory that what is written is bound to what is around: that of the work tree that was named, or where the command is
/// given; none where none is meant.
#[must_use]
pub fn directory(said: Option<PathBuf>) -> Option<PathBuf> {
    match said {
        Some(none) if none.as_os_str() == NO_TREE => None,
        Some(path) => Some(path),
        None => Some(PathBuf::from(".")),
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

#[cfg(test)]
mod tests;
