//! The ids of the commands that a request leads to.
//!
//! Owns how they follow from the request, or from what was done: what is tried again, or by another process, is the same command,
//! and is carried out once.

use sillok_core::bank::Signature;
use sillok_core::circular::{Approach, Wording};
use sillok_core::id::CommandId;
use sillok_core::time::{DAY_MS, Timestamp};
use sillok_server::api::EventView;

use crate::execution::Execution;
use crate::verification::Commands;

/// How long an approach to a task counts once. A command whose id is much older is taken no more.
const COUNTS_ONCE_MS: u64 = 14 * DAY_MS;

/// Of the verification by which a request is answered, and of what it cites. Another run has printed something else.
pub(super) fn recording(event: &EventView, ran: &Execution) -> Commands {
    let took = ran.duration_ms.to_le_bytes();
    let printed = [ran.ending.as_bytes(), &took, ran.output.as_bytes()];
    Commands {
        snapshot: derived(event, "snapshot", &printed),
        verification: derived(event, "verification", &[]),
    }
}

/// Of the answer.
pub(super) fn answer(event: &EventView) -> CommandId {
    derived(event, "answer", &[])
}

/// Of what is left of a task that was opened then, gone about so, and passed at the request `event`. It follows from the task and
/// from what the approach says, in whatever words' order: who asks again for the end of what has passed adds no second success.
pub(super) fn trajectory(event: &EventView, opened: Timestamp, approach: &Approach) -> CommandId {
    let after = event.time.since_ms(opened);
    let from = opened.plus_ms(after - after % COUNTS_ONCE_MS);
    let says = Signature::of(None, &Wording::of(approach));
    let task = event.scope.as_str().as_bytes();
    let named: [&[u8]; 3] = [task, b"trajectory", says.as_bytes()];
    id_of(from, named.into_iter())
}

fn derived(event: &EventView, purpose: &str, more: &[&[u8]]) -> CommandId {
    let (scope, command) = (event.scope.to_string(), event.command.to_string());
    let seq = event.seq.get().to_le_bytes();
    let named = [
        scope.as_bytes(),
        &seq,
        command.as_bytes(),
        purpose.as_bytes(),
    ];
    id_of(event.time, named.iter().chain(more).copied())
}

fn id_of<'a>(time: Timestamp, named: impl Iterator<Item = &'a [u8]>) -> CommandId {
    let mut hasher = blake3::Hasher::new_derive_key("sillok 2026 end of a task");
    for part in named {
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part);
    }
    let mut bytes = [0; 10];
    hasher.finalize_xof().fill(&mut bytes);
    CommandId::from_parts(time, bytes)
}

#[cfg(test)]
mod tests {
    use super::super::queue::tests::asked;
    use super::*;

    fn ran(output: &str) -> Execution {
        Execution {
            command: "make test".to_owned(),
            exit_status: Some(1),
            ending: "exit status 1".to_owned(),
            passed: false,
            output: output.to_owned(),
            duration_ms: 7,
        }
    }

    #[test]
    fn a_request_is_answered_under_the_same_commands_however_often_it_is_tried() {
        let [one, other] = [asked("t", 7).event, asked("t", 8).event];
        assert_eq!(answer(&one), answer(&one.clone()));
        assert_eq!(answer(&one).time().unwrap().ms(), one.time.ms());
        let first = recording(&one, &ran("a"));
        assert_eq!(first, recording(&one, &ran("a")));
        // A second run is another snapshot, and no second verification.
        let again = recording(&one, &ran("b"));
        assert!(again.snapshot != first.snapshot && again.verification == first.verification);
        let of_other = recording(&other, &ran("a"));
        assert!(of_other.snapshot != first.snapshot && of_other.verification != first.verification);
        let left = trajectory(&one, one.time, &said("lock by row"));
        assert_eq!(
            left,
            trajectory(&one.clone(), one.time, &said("lock by row"))
        );
        let all = [
            answer(&one),
            answer(&other),
            first.snapshot,
            first.verification,
            left,
        ];
        assert!((1..5).all(|place| !all[..place].contains(&all[place])));
    }

    fn said(text: &str) -> Approach {
        Approach {
            text: text.to_owned(),
            ..Approach::default()
        }
    }

    #[test]
    fn an_approach_to_a_task_is_one_command_whoever_asks_for_the_end_and_counts_again_after_a_while()
     {
        let [one, mut other] = [asked("t", 7).event, asked("t", 8).event];
        let opened = one.time;
        let left = |event: &EventView, text: &str| trajectory(event, opened, &said(text));
        let first = left(&one, "lock the cart by row");
        assert_eq!(first, left(&other, "by row, the cart is locked"));
        assert_ne!(first, left(&one, "retry the upload"));
        assert_ne!(first, left(&asked("u", 7).event, "lock the cart by row"));
        other.time = opened.plus_ms(COUNTS_ONCE_MS - 1);
        assert_eq!(first, left(&other, "lock the cart by row"));
        other.time = opened.plus_ms(COUNTS_ONCE_MS);
        let later = left(&other, "lock the cart by row");
        assert_ne!(first, later);
        assert_eq!(later.time().unwrap(), other.time);
        // A clock that went back is no reason to fail.
        other.time = opened.minus_ms(1);
        assert_eq!(first, left(&other, "lock the cart by row"));
    }
}
