//! How a task was gone about that passed, as it is left to whoever comes after: one trajectory of each approach.
//!
//! Owns which records are its steps, what it was worth, and that it is stored once. It must not know how a task is verified, nor
//! what follows from what is stored.

use std::collections::VecDeque;

use sillok_core::bank::{Ended, TaskKind};
use sillok_core::circular::Approach;
use sillok_core::id::{CommandId, Seq};
use sillok_core::limits::{
    TRAJECTORY_APPROACH_BYTES_MAX, TRAJECTORY_LESSON_BYTES_MAX, TRAJECTORY_STEPS_MAX,
};
use sillok_core::principal::PrincipalKind;
use sillok_core::scope::Scope;
use sillok_core::time::Timestamp;
use sillok_core::verification::{Outcome, check_approach};
use sillok_mcp::ending::EndRequest;
use sillok_server::api::{EventView, ListQuery, StoreTrajectory, TrajectoryStep};

use super::commands;
use crate::client::Client;
use crate::failure::Failure;

/// The sort of a task of which none is told.
const KIND_USUAL: &str = "task";
/// Positions before a request that are looked through for steps.
const POSITIONS_MAX: u64 = 1_000;
/// Records of one page of them, and how many pages.
const PAGE_ROWS: usize = 1_000;
const PAGES_MAX: usize = 100;

/// How a task was gone about that has passed.
pub(super) struct Went<'a> {
    event: &'a EventView,
    asked: &'a EndRequest,
    approach: Approach,
    command: CommandId,
}

impl<'a> Went<'a> {
    /// What an agent says of it who asks for the end of a task that was opened then; none where it says nothing.
    pub(super) fn said(
        event: &'a EventView,
        asked: &'a EndRequest,
        opened: Timestamp,
    ) -> Option<Self> {
        let approach = approach_of(asked)?;
        Some(Self {
            event,
            asked,
            command: commands::trajectory(event, opened, &approach),
            approach,
        })
    }

    /// Under which command it is stored: one for whoever says the same of the task.
    pub(super) const fn command(&self) -> CommandId {
        self.command
    }

    /// Stores it.
    ///
    /// # Errors
    /// [`Failure`] of the server: `command_reused` where it is stored, and more or less stood around it then.
    pub(super) async fn store(&self, orchestrator: &Client) -> Result<(), Failure> {
        let (task, request) = (&self.event.scope, self.event.seq);
        let verifications = orchestrator.verifications(task).await?.items;
        let verifications = verifications.iter();
        let failed = verifications.filter(|one| one.outcome == Outcome::Failed);
        let approach = self.approach.clone();
        let body = StoreTrajectory {
            scope: task.to_string(),
            kind: kind_of(self.asked).to_owned(),
            lesson: lesson_of(self.asked, &approach).to_owned(),
            approach: approach.text,
            files: approach.files,
            symbols: approach.symbols,
            ended: Ended::Succeeded,
            reward: worth(failed.count()),
            steps: steps(orchestrator, task, request).await?,
        };
        let stored = orchestrator.store_trajectory_as(self.command, &body);
        stored.await?;
        Ok(())
    }
}

/// What was done, as the agent says; what it did at all where it does not say how. Of what is more than a trajectory holds, the
/// beginning.
fn approach_of(asked: &EndRequest) -> Option<Approach> {
    let said = asked.approach.as_deref();
    let text = said.filter(|text| !text.trim().is_empty());
    let text = text.unwrap_or(&asked.summary);
    let whole = Approach {
        text: text.to_owned(),
        files: asked.files.clone(),
        symbols: asked.symbols.clone(),
    };
    let beginning = Approach {
        text: beginning(text, TRAJECTORY_APPROACH_BYTES_MAX).to_owned(),
        ..Approach::default()
    };
    let fits = |one: &Approach| {
        check_approach(one).is_ok() && one.bytes() <= TRAJECTORY_APPROACH_BYTES_MAX
    };
    [whole, beginning].into_iter().find(fits)
}

fn kind_of(asked: &EndRequest) -> &str {
    let told = asked.kind.as_deref();
    let told = told.filter(|kind| kind.parse::<TaskKind>().is_ok());
    told.unwrap_or(KIND_USUAL)
}

/// What was done, beside how: nothing where one is the other.
fn lesson_of<'a>(asked: &'a EndRequest, approach: &Approach) -> &'a str {
    if asked.summary.starts_with(&approach.text) {
        return "";
    }
    beginning(&asked.summary, TRAJECTORY_LESSON_BYTES_MAX)
}

/// The beginning of a text: whole characters of at most so many bytes.
fn beginning(text: &str, bytes_max: usize) -> &str {
    &text[..text.floor_char_boundary(bytes_max)]
}

/// What passes at once is worth 1; of what passes after others failed, each of these takes its share.
fn worth(failed: usize) -> f64 {
    let failed = u32::try_from(failed).unwrap_or(u32::MAX);
    1.0 / (1.0 + f64::from(failed))
}

/// What agents logged before they asked, and the request itself: the last of it, as far as there is room.
async fn steps(
    client: &Client,
    task: &Scope,
    request: Seq,
) -> Result<Vec<TrajectoryStep>, Failure> {
    let from = request.get().saturating_sub(POSITIONS_MAX);
    let mut query = ListQuery {
        scope: task.to_string(),
        after: (from > 0).then(|| from.to_string()),
        limit: Some(PAGE_ROWS),
    };
    let mut taken = Last::default();
    for _ in 0..PAGES_MAX {
        let page = client.records(&query).await?;
        let before = page.items.iter().filter(|record| record.seq < request);
        for record in before.filter(|record| record.author.kind == PrincipalKind::Agent) {
            taken.take(record.seq);
        }
        let is_behind = page.items.last().is_some_and(|last| last.seq >= request);
        if is_behind || page.next.is_none() {
            break;
        }
        query.after = page.next;
    }
    taken.take(request);
    Ok(taken.into_steps())
}

/// The last positions that were taken, as many as a trajectory has steps.
#[derive(Debug, Default)]
struct Last(VecDeque<Seq>);

impl Last {
    fn take(&mut self, seq: Seq) {
        if self.0.len() == TRAJECTORY_STEPS_MAX {
            self.0.pop_front();
        }
        self.0.push_back(seq);
    }

    fn into_steps(self) -> Vec<TrajectoryStep> {
        let steps = self.0.into_iter().map(|seq| TrajectoryStep {
            record: seq.get(),
            from: None,
            to: None,
        });
        steps.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::queue::tests;
    use super::*;

    fn asked(approach: Option<&str>, files: usize) -> EndRequest {
        EndRequest {
            summary: "The cart waits no more.".to_owned(),
            approach: approach.map(str::to_owned),
            files: vec!["src/a.rs".to_owned(); files],
            ..EndRequest::default()
        }
    }

    #[test]
    fn what_an_agent_says_is_stored_and_what_it_did_where_it_does_not_say_how() {
        let said = asked(Some("lock by row"), 2);
        let approach = approach_of(&said).unwrap();
        assert_eq!(
            (approach.text.as_str(), approach.files.len()),
            ("lock by row", 2)
        );
        assert_eq!(lesson_of(&said, &approach), "The cart waits no more.");
        for silent in [asked(None, 1), asked(Some(" "), 1)] {
            let approach = approach_of(&silent).unwrap();
            assert_eq!(approach.text, "The cart waits no more.");
            assert_eq!(lesson_of(&silent, &approach), "");
        }
        assert_eq!(approach_of(&EndRequest::default()), None);
    }

    #[test]
    fn of_what_is_too_much_the_beginning_is_stored() {
        // Names that are too many, and texts that are too long, with a character over the end.
        let long = format!("x{}", "é".repeat(TRAJECTORY_APPROACH_BYTES_MAX));
        for much in [asked(Some("lock by row"), 65), asked(Some(&long), 1)] {
            let approach = approach_of(&much).unwrap();
            assert!(approach.bytes() <= TRAJECTORY_APPROACH_BYTES_MAX);
            assert!(much.approach.unwrap().starts_with(&approach.text));
            assert!(approach.files.is_empty());
        }
        let told = EndRequest {
            summary: "y".repeat(TRAJECTORY_LESSON_BYTES_MAX + 1),
            ..asked(Some("lock by row"), 0)
        };
        let approach = approach_of(&told).unwrap();
        let lesson = lesson_of(&told, &approach);
        assert_eq!(lesson.len(), TRAJECTORY_LESSON_BYTES_MAX);
    }

    #[test]
    fn who_says_the_same_of_a_task_stores_it_under_one_command() {
        let [one, other] = [tests::asked("t", 7).event, tests::asked("t", 8).event];
        let [first, again, another] = ["lock by row", "by row: lock", "retry uploads"];
        let asked = |approach| asked(Some(approach), 1);
        let [first, again, another] = [asked(first), asked(again), asked(another)];
        let silent = EndRequest::default();
        let command = |event, said| {
            let went = Went::said(event, said, Timestamp::EPOCH);
            went.map(|went| went.command())
        };
        assert!(command(&one, &first).is_some());
        assert_eq!(command(&one, &first), command(&other, &again));
        assert_ne!(command(&one, &first), command(&one, &another));
        assert_eq!(command(&one, &silent), None);
    }

    #[test]
    fn a_kind_that_is_none_is_left_out() {
        let of = |kind: Option<&str>| EndRequest {
            kind: kind.map(str::to_owned),
            ..EndRequest::default()
        };
        assert_eq!(kind_of(&of(Some("bugfix"))), "bugfix");
        for none in [None, Some(""), Some("Not One")] {
            assert_eq!(kind_of(&of(none)), KIND_USUAL, "{none:?}");
        }
        assert!(KIND_USUAL.parse::<TaskKind>().is_ok());
    }

    #[test]
    fn each_failure_before_takes_a_share_of_what_it_was_worth() {
        assert!((worth(0) - 1.0).abs() < 1e-12);
        assert!((worth(1) - 0.5).abs() < 1e-12);
        assert!((0..9).all(|failed| worth(failed) > worth(failed + 1)));
        assert!(worth(usize::MAX) > 0.0);
    }

    #[test]
    fn the_last_steps_are_kept_in_their_order() {
        let mut taken = Last::default();
        let most = u64::try_from(TRAJECTORY_STEPS_MAX).unwrap();
        for seq in 1..=most + 2 {
            taken.take(Seq::new(seq));
        }
        let steps: Vec<u64> = taken.into_steps().iter().map(|step| step.record).collect();
        assert_eq!(steps, (3..=most + 2).collect::<Vec<u64>>());
    }
}
