//! Invariant 4: an event is heard if and only if it was committed.

use std::collections::BTreeMap;

use super::{Invariant, Violation, broken, ensure};
use crate::channel::Channel;
use crate::id::Seq;
use crate::scope::Scope;

/// Invariant 4: of each scope every event was heard once, those of one channel in order, and nothing else.
/// `heard` are runs of events, first and last, in the order in which they were heard; `tips` is where each
/// chain ends.
///
/// # Errors
/// What does not hold.
pub fn heard_is_committed<'a>(
    tips: &BTreeMap<Scope, Seq>,
    heard: impl IntoIterator<Item = (Channel, &'a Scope, Seq, Seq)>,
) -> Result<(), Violation> {
    let follows = |is_so: bool, scope: &Scope, run: (Seq, Seq), before: Seq| {
        let what = || format!("{scope}#{} to {} was heard after {before}", run.0, run.1);
        ensure(is_so && run.1 >= run.0, Invariant::Heard, what)
    };
    let mut heard_on: BTreeMap<(&Scope, Channel), Seq> = BTreeMap::new();
    let mut runs: Vec<(&Scope, Seq, Seq)> = Vec::new();
    for (channel, scope, first, last) in heard {
        let before = heard_on.entry((scope, channel)).or_insert(Seq::ZERO);
        follows(first > *before, scope, (first, last), *before)?;
        *before = last;
        runs.push((scope, first, last));
    }
    runs.sort_unstable();
    // The channels tell of a scope's events in turn, and each of those once.
    let mut known: BTreeMap<&Scope, Seq> = BTreeMap::new();
    for (scope, first, last) in runs {
        let before = known.entry(scope).or_insert(Seq::ZERO);
        follows(first == before.next(), scope, (first, last), *before)?;
        *before = last;
    }
    for (scope, tip) in tips {
        let last = known.remove(scope).unwrap_or(Seq::ZERO);
        let what = || format!("{scope} was heard up to {last}, but ends at {tip}");
        ensure(last == *tip, Invariant::Heard, what)?;
    }
    match known.first_key_value() {
        Some((scope, _)) => broken(
            Invariant::Heard,
            format!("{scope} was heard of and is not there"),
        ),
        None => Ok(()),
    }
}
