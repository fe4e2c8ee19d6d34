//! Channels: which of the streams tells of an event.
//!
//! Owns the rule that parts log records from everything else. Must not know how a stream is kept, nor
//! under which name.

use serde::{Deserialize, Serialize};

use crate::event::EventKind;
use crate::id::{EntryId, Seq};

/// A stream, by what it tells of. Each event belongs to exactly one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Channel {
    /// What changed: tasks, verifications, promotions, entries, tokens, denials.
    Events,
    /// What was staged: log records, terminal snapshots and memory events. By far the most.
    Log,
}

impl Channel {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Events, Self::Log];

    /// Where an event belongs.
    #[must_use]
    pub const fn of(kind: EventKind) -> Self {
        match kind {
            kind if kind.is_record() => Self::Log,
            _ => Self::Events,
        }
    }

    /// Where a run of events belongs. Commits write runs of one channel; a run that an older version
    /// wrote may hold both, and is told with the events.
    #[must_use]
    pub fn of_run(kinds: impl IntoIterator<Item = EventKind>) -> Self {
        let mut kinds = kinds.into_iter();
        if kinds.all(|kind| Self::of(kind) == Self::Log) {
            Self::Log
        } else {
            Self::Events
        }
    }
}

/// Events of one scope that follow one another and belong to one channel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// Where they belong.
    pub channel: Channel,
    /// The first of them.
    pub first: Seq,
    /// The last of them.
    pub last: Seq,
    /// The entries that they changed, in order.
    pub entries: Vec<EntryId>,
}

/// The runs of a batch, in the order of its events.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Runs(Vec<Run>);

impl Runs {
    /// Adds the next event, which changed `entries`.
    ///
    /// # Panics
    /// If it is not the one behind the last.
    pub fn push(&mut self, seq: Seq, kind: EventKind, entries: impl IntoIterator<Item = EntryId>) {
        let channel = Channel::of(kind);
        if let Some(last) = self.0.last() {
            assert_eq!(seq, last.last.next(), "a batch's events have no gap");
        }
        if self.0.last().is_none_or(|last| last.channel != channel) {
            self.0.push(Run {
                channel,
                first: seq,
                last: seq,
                entries: Vec::new(),
            });
        }
        let run = self.0.last_mut().expect("there is one by now");
        run.last = seq;
        for entry in entries {
            if let Err(place) = run.entries.binary_search(&entry) {
                run.entries.insert(place, entry);
            }
        }
    }

    /// They, in order.
    #[must_use]
    pub fn as_slice(&self) -> &[Run] {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn records_go_to_the_log_and_all_else_to_the_events() {
        let of_log = EventKind::ALL
            .iter()
            .filter(|kind| Channel::of(**kind) == Channel::Log);
        let records = [EventKind::RecordAppended, EventKind::BoundRecordAppended];
        assert_eq!(of_log.copied().collect::<Vec<_>>(), records);
    }

    #[test]
    fn a_run_that_holds_both_is_told_with_the_events() {
        use EventKind::{Merged, RecordAppended};
        assert_eq!(Channel::of_run([RecordAppended; 3]), Channel::Log);
        assert_eq!(Channel::of_run([RecordAppended, Merged]), Channel::Events);
        assert_eq!(Channel::of_run([Merged, RecordAppended]), Channel::Events);
    }

    proptest! {
        /// Whatever a batch holds, its runs hold it once, in order, each of one channel, and no two
        /// that follow one another of the same.
        #[test]
        fn runs_part_a_batch_by_channel(
            first in 1_u64..1_000,
            events in proptest::collection::vec((any::<bool>(), 0_u8..4), 1..40),
        ) {
            let kind = |is_record| if is_record { EventKind::RecordAppended } else { EventKind::Merged };
            let mut runs = Runs::default();
            for (place, (is_record, entry)) in events.iter().enumerate() {
                let entries = (!is_record).then(|| EntryId::from_bytes([*entry; 16]));
                runs.push(Seq::new(first + place as u64), kind(*is_record), entries);
            }
            let runs = runs.as_slice();
            prop_assert!(runs.windows(2).all(|two| two[0].channel != two[1].channel));
            prop_assert!(runs.windows(2).all(|two| two[0].last.next() == two[1].first));
            prop_assert_eq!(runs[0].first.get(), first);
            prop_assert_eq!(runs[runs.len() - 1].last.get(), first + events.len() as u64 - 1);
            for run in runs {
                let of_run = (run.first.get()..=run.last.get())
                    .map(|seq| events[usize::try_from(seq - first).unwrap()]);
                let kinds = of_run.clone().map(|(is_record, _)| Channel::of(kind(is_record)));
                prop_assert!(kinds.into_iter().all(|channel| channel == run.channel));
                let mut entries: Vec<_> = of_run
                    .filter(|(is_record, _)| !is_record)
                    .map(|(_, entry)| EntryId::from_bytes([entry; 16]))
                    .collect();
                entries.sort();
                entries.dedup();
                prop_assert_eq!(&run.entries, &entries);
            }
        }
    }
}
