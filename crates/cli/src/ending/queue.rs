//! Requests that wait for their turn.
//!
//! Owns their order, and which are answered together: all those of one task that have come when its turn is. It must not know
//! how they are answered.

use std::collections::VecDeque;

use sillok_server::api::{EventView, TailItem};
use tokio::sync::mpsc;

/// Requests that are looked at at one time.
const WAITING_MAX: usize = 1_024;

/// Requests in the order in which they were made. The first one is not answered.
#[derive(Default)]
pub(super) struct Queue {
    waiting: VecDeque<Waiting>,
}

struct Waiting {
    item: TailItem,
    is_answered: bool,
}

impl Queue {
    /// Takes in what has come, and waits for something where nothing waits. Nothing comes any more where it says no.
    pub(super) async fn take(&mut self, coming: &mut mpsc::Receiver<TailItem>) -> bool {
        if self.waiting.is_empty() {
            match coming.recv().await {
                Some(item) => self.push(item),
                None => return false,
            }
        }
        while self.waiting.len() < WAITING_MAX {
            match coming.try_recv() {
                Ok(item) => self.push(item),
                Err(_) => break,
            }
        }
        true
    }

    fn push(&mut self, item: TailItem) {
        self.waiting.push_back(Waiting {
            item,
            is_answered: false,
        });
    }

    /// The requests of the task whose turn it is, the earlier one first.
    pub(super) fn first(&self) -> Vec<EventView> {
        let Some(first) = self.waiting.front() else {
            return Vec::new();
        };
        let task = &first.item.event.scope;
        let waits = |one: &&Waiting| !one.is_answered && one.item.event.scope == *task;
        let asked = self.waiting.iter().filter(waits);
        asked.map(|one| one.item.event.clone()).collect()
    }

    /// Notes that those are answered: behind the cursor that it gives, others may still wait, and before it, none.
    pub(super) fn answered(&mut self) -> Option<String> {
        let task = self.waiting.front()?.item.event.scope.clone();
        for one in &mut self.waiting {
            one.is_answered |= one.item.event.scope == task;
        }
        let mut cursor = None;
        while self.waiting.front().is_some_and(|one| one.is_answered) {
            cursor = self.waiting.pop_front().map(|one| one.item.cursor);
        }
        cursor
    }
}

#[cfg(test)]
pub(super) mod tests {
    use serde_json::json;
    use sillok_core::event::EventKind;

    use super::*;

    /// A request of a task at a position.
    pub(in super::super) fn asked(task: &str, seq: u64) -> TailItem {
        let scope = format!("org/a/project/b/worktree/main/task/{task}");
        let item = json!({ "cursor": seq.to_string(), "event": {
            "scope": scope, "seq": seq, "time": 1_700_000_000_000_u64 + seq,
            "kind": EventKind::RecordAppended,
            "actor": { "kind": "agent", "id": "a" }, "command": "01900000-0000-7000-8000-000000000001",
            "body": { "event_type": "end_requested" },
        } });
        serde_json::from_value(item).unwrap()
    }

    fn positions(asked: &[EventView]) -> Vec<u64> {
        asked.iter().map(|event| event.seq.get()).collect()
    }

    #[tokio::test]
    async fn requests_of_one_task_are_answered_together_and_none_is_passed_over() {
        let (come, mut coming) = mpsc::channel(8);
        for (task, seq) in [("a", 1), ("b", 2), ("a", 3), ("c", 4), ("a", 5)] {
            come.try_send(asked(task, seq)).unwrap();
        }
        let mut queue = Queue::default();
        assert!(queue.take(&mut coming).await);
        assert_eq!(positions(&queue.first()), [1, 3, 5]);
        // Whoever begins anew behind it finds the one that waits, and those behind it again.
        assert_eq!(queue.answered().as_deref(), Some("1"));
        // One that comes while another task has its turn waits for its own.
        come.try_send(asked("a", 6)).unwrap();
        assert!(queue.take(&mut coming).await);
        assert_eq!(positions(&queue.first()), [2]);
        assert_eq!(queue.answered().as_deref(), Some("3"));
        assert_eq!(positions(&queue.first()), [4]);
        assert_eq!(queue.answered().as_deref(), Some("5"));
        assert_eq!(positions(&queue.first()), [6]);
        assert_eq!(queue.answered().as_deref(), Some("6"));
        drop(come);
        assert!(!queue.take(&mut coming).await && queue.first().is_empty());
        assert_eq!(queue.answered(), None);
    }
}
