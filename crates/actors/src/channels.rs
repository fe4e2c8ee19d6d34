//! Which stream each row of the outbox is told on.
//!
//! Owns the finding out: a commit of this run is remembered for a while, and of any other the events
//! themselves are asked, since a row does not say. The rule is core's.

use std::collections::BTreeMap;

use parking_lot::Mutex;
use sillok_core::channel::{Channel, Run};
use sillok_core::event::EventKind;
use sillok_core::id::Seq;
use sillok_core::stamp::Stamp;
use sillok_store::keys::outbox::OutboxRow;
use sillok_store::keys::{self, ScopeKey};
use sillok_store::{Error as StoreError, Store};

use crate::row_stream::RowStream;

/// Runs that are remembered: some seconds of what one node commits at most.
const FRESH_MAX: usize = 16_384;

/// The newest runs that this node committed.
#[derive(Debug, Default)]
pub(crate) struct FreshRuns(Mutex<BTreeMap<Stamp, Channel>>);

impl FreshRuns {
    /// Remembers the runs of a commit, whose rows have its stamp, counted up.
    pub(crate) fn add(&self, commit: Stamp, runs: &[Run]) {
        let mut known = self.0.lock();
        for (index, run) in (commit.index..).zip(runs) {
            known.insert(Stamp { index, ..commit }, run.channel);
        }
        while known.len() > FRESH_MAX {
            known.pop_first();
        }
    }

    /// Forgets all, as another run would.
    #[cfg(test)]
    pub(crate) fn forget(&self) {
        self.0.lock().clear();
    }

    /// The channel of a row, if it is remembered.
    pub(crate) fn of(&self, stamp: Stamp) -> Option<Channel> {
        self.0.lock().get(&stamp).copied()
    }
}

/// The channel of a row, from its events. One whose events cannot be read is told with the events: what
/// is damaged keeps nobody from hearing that it was committed.
///
/// # Errors
/// What the store answered.
pub(crate) async fn channel_of<S: Store>(
    store: &S,
    row: &OutboxRow,
) -> Result<Channel, StoreError> {
    if !row.entries.is_empty() {
        return Ok(Channel::Events);
    }
    let before = Seq::new(row.first.get().saturating_sub(1));
    let range = keys::event::range_through(&ScopeKey::of(&row.scope), before, row.last);
    let mut txn = store.begin().await?;
    let mut events = RowStream::new(range);
    let mut is_empty = true;
    while let Some((key, value)) = events.next(&mut txn).await? {
        is_empty = false;
        if kind_of(&key, &value).map(Channel::of) != Some(Channel::Log) {
            return Ok(Channel::Events);
        }
    }
    Ok(if is_empty {
        Channel::Events
    } else {
        Channel::Log
    })
}

fn kind_of(key: &[u8], value: &[u8]) -> Option<EventKind> {
    let event = keys::event::decode(key, value).ok()?;
    event.decode_header().ok().map(|header| header.kind)
}

#[cfg(test)]
mod tests {
    use sillok_store::Txn as _;

    use super::*;
    use crate::relay::rows_after;
    use crate::rows::{Place, write_outbox};
    use crate::tests::harness::{TestStore, append, scope, store};
    use crate::tests::projects::{Projects, slot, task};

    /// The channel of each row of a project, as its events say it.
    async fn channels(store: &TestStore, project: usize) -> Vec<Channel> {
        let rows = rows_after(store, slot(project), Stamp::ZERO, 1_000).await;
        let mut channels = Vec::new();
        for (_, row) in rows.unwrap() {
            channels.push(channel_of(store, &row).await.unwrap());
        }
        channels
    }

    #[tokio::test]
    async fn rows_of_records_are_told_apart_from_all_others() {
        let store = store();
        let mut projects = Projects::new(&store, 1).await;
        projects.give(0, append("a line")).await;
        let both = [Channel::Events, Channel::Log];
        assert_eq!(channels(&store, 0).await, both);
        // An older version wrote a row for all that one commit appended to a scope.
        let place = Place::of(&scope(&task(0)));
        let mut txn = store.begin().await.unwrap();
        write_outbox(&mut txn, &place, Seq::new(1), Seq::new(2), Vec::new());
        // Nothing lies there.
        write_outbox(&mut txn, &place, Seq::new(7), Seq::new(8), Vec::new());
        txn.commit().await.unwrap();
        let of_rows = channels(&store, 0).await;
        assert_eq!(of_rows[2..], [Channel::Events, Channel::Events]);
    }

    #[test]
    fn what_was_committed_last_is_remembered() {
        let stamp = |counter, index| Stamp {
            generation: 1,
            counter,
            index,
        };
        let run = |channel| Run {
            channel,
            first: Seq::new(1),
            last: Seq::new(1),
            entries: Vec::new(),
        };
        let fresh = FreshRuns::default();
        let runs = [run(Channel::Log), run(Channel::Events)];
        for counter in 1..=FRESH_MAX as u64 {
            fresh.add(stamp(counter, 0), &runs);
        }
        let newest = FRESH_MAX as u64;
        assert_eq!(fresh.of(stamp(newest, 0)), Some(Channel::Log));
        assert_eq!(fresh.of(stamp(newest, 1)), Some(Channel::Events));
        assert_eq!(fresh.of(stamp(newest, 2)), None);
        assert_eq!(fresh.of(stamp(newest / 2, 1)), None, "it is bounded");
    }
}
