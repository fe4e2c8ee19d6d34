//! The ids of the commands that a request leads to.
//!
//! Owns how they follow from the request: what is tried again, or by another process, is the same command, and is carried out
//! once.

use sillok_core::id::CommandId;
use sillok_server::api::EventView;

use crate::execution::Execution;
use crate::verification::Commands;

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

/// Of what is left of a task that passed.
pub(super) fn trajectory(event: &EventView) -> CommandId {
    derived(event, "trajectory", &[])
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
    let mut hasher = blake3::Hasher::new_derive_key("sillok 2026 end of a task");
    for part in named.iter().chain(more) {
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part);
    }
    let mut bytes = [0; 10];
    hasher.finalize_xof().fill(&mut bytes);
    CommandId::from_parts(event.time, bytes)
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
        let all = [
            answer(&one),
            answer(&other),
            first.snapshot,
            first.verification,
        ];
        assert!((1..4).all(|place| !all[..place].contains(&all[place])));
    }
}
