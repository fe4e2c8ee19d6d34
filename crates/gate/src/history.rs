//! What entries are at the main branch, and whether that says anything of them.
//!
//! Owns which entries the main branch may be asked about: those whose own commit it holds. Of the others it never had what they
//! cite. It must not know what is reported.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use gix::ObjectId;
use parking_lot::Mutex;
use sillok_core::citation::Citation;
use sillok_core::gate::{Judgement, Verdict};

use crate::budget::{Budget, Spending};
use crate::commit_tree::{CommitTree, Error};
use crate::entry::{Entry, Origin};
use crate::gate::{Checked, Question, answer, asked};
use crate::memory::Memory;
use crate::source::Source;

/// What an entry is at a main branch that its own commit is on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AtMain {
    /// What it is there.
    pub checked: Checked,
    /// Whether something that it cites was in its own commit, and is gone. What git ignores, or was not committed yet, was in
    /// none.
    pub is_lost: bool,
}

/// What entries are at the main branch of the repository of a work tree, or of the bare one, at a path: the commit that was
/// looked at, and each of them there; none of one whose own commit is neither that one nor before it, as far as the repository
/// can tell. What is in no object of the repository is unverifiable. Takes time; it blocks.
///
/// # Errors
/// [`CommitError`](crate::CommitError)
pub fn check_at_main(
    repository: &Path,
    entries: &[Entry<'_>],
    budget: Budget,
) -> Result<(String, Vec<Option<AtMain>>), Error> {
    let main = CommitTree::of_main(repository)?;
    let mut spending = budget.begin();
    let names: BTreeSet<&str> = entries.iter().filter_map(commit_of).collect();
    let before = main.before(&names, &spending);
    let own = entries
        .iter()
        .map(|entry| before.get(commit_of(entry)?).copied());
    let own: Vec<Option<ObjectId>> = own.collect();
    let known: Vec<usize> = (0..entries.len()).filter(|at| own[*at].is_some()).collect();
    let there = check(&main, entries, &known, &mut spending);
    let mut found: Vec<Option<AtMain>> = vec![None; entries.len()];
    let mut stale: BTreeMap<ObjectId, Vec<usize>> = BTreeMap::new();
    for (at, checked) in known.into_iter().zip(there) {
        if let (Verdict::Stale, Some(commit)) = (checked.verdict, own[at]) {
            stale.entry(commit).or_default().push(at);
        }
        found[at] = Some(AtMain {
            checked,
            is_lost: false,
        });
    }
    for (commit, of) in stale {
        let Some(tree) = main.at(commit) else {
            continue;
        };
        let once = check(&tree, entries, &of, &mut spending);
        for (at, once) in of.into_iter().zip(once) {
            if let Some(now) = &mut found[at] {
                now.is_lost = is_lost(&once, &now.checked);
            }
        }
    }
    Ok((main.commit(), found))
}

/// What some of the entries are at a commit, in their order.
fn check(
    tree: &CommitTree,
    entries: &[Entry<'_>],
    of: &[usize],
    spending: &mut Spending,
) -> Vec<Checked> {
    let citations: Vec<&[Citation]> = of.iter().map(|at| entries[*at].citations).collect();
    let memory = Mutex::new(Memory::default());
    let question = Question {
        source: Source::Commit(tree),
        memory: &memory,
        spending,
    };
    let judged = question.judged(&asked(&citations));
    answer(&citations, judged, true).entries
}

/// Whether something was there once, in its place or elsewhere, and is gone now.
fn is_lost(once: &Checked, now: &Checked) -> bool {
    let is = |one: &Option<Judgement>, verdicts: &[Verdict]| {
        let one = one.as_ref();
        one.is_some_and(|one| verdicts.contains(&one.verdict))
    };
    let mut pairs = once.judgements.iter().zip(&now.judgements);
    pairs.any(|(once, now)| {
        is(once, &[Verdict::Valid, Verdict::Moved]) && is(now, &[Verdict::Stale])
    })
}

fn commit_of<'a>(entry: &Entry<'a>) -> Option<&'a str> {
    match entry.origin {
        Origin::Commit(hash) => Some(hash),
        Origin::Here | Origin::Unknown => None,
    }
}
