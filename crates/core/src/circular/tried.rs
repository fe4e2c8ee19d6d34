//! What was tried and is like what is proposed, as whoever asks is told.
//!
//! Owns how approaches that failed are told together, in which order, and how much is told of them. It must not know when two of
//! them are alike, nor what follows.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::approach::{Approach, Likeness};
use super::history::FailedApproach;
use super::wording::{file_of, symbol_of};
use crate::limits::{FIX_REASONS_MAX, FIX_TOLD_BYTES_MAX, FIX_TRIED_MAX};
use crate::scope::Scope;
use crate::secret::whole_before;
use crate::time::Timestamp;

/// Approaches that failed in one task and are like what is proposed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tried {
    /// The task in which they did.
    pub task: Scope,
    /// How far they are what is proposed.
    pub likeness: Likeness,
    /// The one that is most like it, and the newest of several that are, as far as there is room for it.
    pub approach: Approach,
    /// How much like it, from 0 to 1.
    pub similarity: f64,
    /// How often it was tried.
    pub attempts: u32,
    /// When the last time.
    pub last: Timestamp,
    /// How it failed, the last time first, each reason once: the newest, as many as are told.
    pub reasons: Vec<String>,
    /// What all attempts touched, as far as there is room for it.
    pub places: Places,
    /// Whether more is known of it than is told: further reasons, or more of the approach.
    pub cut: bool,
}

/// Files and symbols.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Places {
    /// Files, by their paths from the root of the work tree.
    pub files: Vec<String>,
    /// Symbols.
    pub symbols: Vec<String>,
}

/// All that was tried and is like what is proposed, as it is come upon.
#[derive(Debug, Default)]
pub(super) struct History<'a>(BTreeMap<Group<'a>, Attempts<'a>>);

/// What is told together: the first of all is what decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Group<'a> {
    of: Weight,
    likeness: Likeness,
    task: &'a Scope,
}

/// What a failure weighs, the most first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Weight {
    /// It counts against the task.
    Counts,
    /// It is the task's own, and was cleared.
    Cleared,
    /// It is that of another task.
    Others,
}

#[derive(Debug)]
struct Attempts<'a> {
    best: &'a FailedApproach,
    similarity: f64,
    count: u32,
    last: Timestamp,
    reasons: Vec<&'a str>,
    /// Names that all of them say, as the first one writes them.
    files: Vec<&'a str>,
    symbols: Vec<&'a str>,
    has_further_reasons: bool,
}

impl<'a> History<'a> {
    /// Takes in a failure that is so much like what is proposed. Those of one task come the newest first.
    pub(super) fn take(
        &mut self,
        failed: &'a FailedApproach,
        of: Weight,
        (likeness, similarity): (Likeness, f64),
    ) {
        let group = Group {
            of,
            likeness,
            task: &failed.task,
        };
        let attempts = self.0.entry(group);
        let known = attempts.or_insert_with(|| Attempts::none(failed, similarity));
        known.take(failed, similarity);
    }

    /// What weighs most: none where nothing is like it.
    pub(super) fn most(&self) -> Option<(Weight, Likeness)> {
        let first = self.0.keys().next();
        first.map(|group| (group.of, group.likeness))
    }

    /// What is told of it, what weighs most first and then the most alike; and whether there is more.
    pub(super) fn told(self) -> (Vec<Tried>, bool) {
        let mut all: Vec<(Group<'a>, Attempts<'a>)> = self.0.into_iter().collect();
        all.sort_by(|(a, of_a), (b, of_b)| {
            let alike = || of_b.similarity.total_cmp(&of_a.similarity);
            rank(a, b).then_with(alike).then_with(|| a.task.cmp(b.task))
        });
        let is_cut = all.len() > FIX_TRIED_MAX;
        let told = all.into_iter().take(FIX_TRIED_MAX);
        let told = told.map(|(group, attempts)| attempts.told(group));
        (told.collect(), is_cut)
    }
}

fn rank(a: &Group<'_>, b: &Group<'_>) -> Ordering {
    (a.of, a.likeness).cmp(&(b.of, b.likeness))
}

impl<'a> Attempts<'a> {
    /// None yet, of which this will be the first.
    fn none(first: &'a FailedApproach, similarity: f64) -> Self {
        let names = |names: &'a [String]| names.iter().map(String::as_str).collect();
        Self {
            best: first,
            similarity,
            count: 0,
            last: first.at,
            reasons: Vec::new(),
            files: names(&first.approach.files),
            symbols: names(&first.approach.symbols),
            has_further_reasons: false,
        }
    }

    fn take(&mut self, failed: &'a FailedApproach, similarity: f64) {
        self.count = self.count.saturating_add(1);
        self.last = self.last.max(failed.at);
        if similarity > self.similarity {
            self.similarity = similarity;
            self.best = failed;
        }
        if !self.reasons.contains(&&*failed.reason) {
            if self.reasons.len() < FIX_REASONS_MAX {
                self.reasons.push(&failed.reason);
            } else {
                self.has_further_reasons = true;
            }
        }
        keep_named(&mut self.files, &failed.approach.files, file_of);
        keep_named(&mut self.symbols, &failed.approach.symbols, symbol_of);
    }

    fn told(self, group: Group<'a>) -> Tried {
        let (approach, is_short) = self.best.approach.in_short();
        Tried {
            task: group.task.clone(),
            likeness: group.likeness,
            approach,
            similarity: self.similarity,
            attempts: self.count,
            last: self.last,
            reasons: self.reasons.into_iter().map(str::to_owned).collect(),
            places: Places {
                files: names_in_short(&self.files),
                symbols: names_in_short(&self.symbols),
            },
            cut: is_short || self.has_further_reasons,
        }
    }
}

/// Keeps of some names those that others say as well, under the name by which they are compared.
fn keep_named(kept: &mut Vec<&str>, others: &[String], of: fn(&str) -> String) {
    if kept.is_empty() {
        return;
    }
    let others: Vec<String> = others.iter().map(|name| of(name)).collect();
    kept.retain(|name| others.contains(&of(name)));
}

impl Approach {
    /// As much of it as is told to who asks, and whether that is less than all.
    pub(crate) fn in_short(&self) -> (Self, bool) {
        let end = if self.text.len() > FIX_TOLD_BYTES_MAX {
            whole_before(&self.text, FIX_TOLD_BYTES_MAX)
        } else {
            self.text.len()
        };
        let told = Self {
            text: self.text[..end].to_owned(),
            files: names_in_short(&self.files),
            symbols: names_in_short(&self.symbols),
        };
        let is_short = told.bytes() < self.bytes();
        (told, is_short)
    }
}

/// The first of some names, as far as there is room for them.
fn names_in_short<S: AsRef<str>>(names: &[S]) -> Vec<String> {
    let mut left = FIX_TOLD_BYTES_MAX;
    let told = names.iter().map_while(|name| {
        let name = name.as_ref();
        left = left.checked_sub(name.len())?;
        Some(name.to_owned())
    });
    told.collect()
}
