//! Refusals: nobody is refused what the rules allow.
//!
//! Owns which refusals the built-in workloads can earn. What is meant to be refused is the forger's. Who saves a decision
//! may guess what a kind of relation means that nobody has declared: whether that was so, `deciding` judges.

use sillok_core::ErrorCode;

use crate::history::{Call, Ending, History};
use crate::violation::Violation;
use crate::workload::{Check, End};

/// What is said to hold.
const INVARIANT: &str = "no refusal without a reason";

/// What agents that work on the same things are refused: what another one has closed, replaced or changed
/// meanwhile.
const EARNED: &[ErrorCode] = &[
    ErrorCode::Conflict,
    ErrorCode::InvalidState,
    ErrorCode::InvalidSupersession,
    ErrorCode::NotFound,
];

/// That every other refusal is wrong. A workload of one's own whose commands can be refused for another
/// reason gives them with [`Client::forge`](crate::client::Client::forge), or leaves this check out.
#[derive(Clone, Copy, Debug)]
pub struct Refusals;

/// A command that was refused for no reason that the world gives.
fn wrong(history: &History) -> Option<&Call> {
    history.calls.iter().find(|call| match call.ended {
        Some((_, Ending::Refused(code))) => {
            let is_guess = code == ErrorCode::InvalidArgument && call.name == "save_decision";
            !call.is_forged && !is_guess && !EARNED.contains(&code)
        }
        _ => false,
    })
}

impl Check for Refusals {
    fn check(&self, end: &End<'_>) -> Result<(), Violation> {
        match wrong(end.history) {
            None => Ok(()),
            Some(call) => {
                let ended = call.ended.map(|(_, ending)| ending);
                let what = format!(
                    "{} of {} in {} ended in {ended:?}",
                    call.name, call.actor.id, call.scope
                );
                Err(Violation::new(INVARIANT, what))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use sillok_core::command::Command;
    use sillok_core::id::{CommandId, Seq};
    use sillok_core::principal::{Actor, PrincipalId, PrincipalKind};
    use sillok_core::scope::Scope;

    use super::*;

    fn call(ending: Ending, is_forged: bool) -> Call {
        Call {
            actor: Actor {
                kind: PrincipalKind::Agent,
                id: PrincipalId::parse("agent-1").unwrap(),
            },
            scope: Scope::parse("org/sim").unwrap(),
            command: CommandId::from_bytes([7; 16]),
            digest: Command::ClearStuck.digest(),
            name: "a command",
            invoked_us: 0,
            ended: Some((1, ending)),
            is_forged,
        }
    }

    #[test]
    fn only_what_a_world_gives_a_reason_for_is_refused() {
        let is_wrong = |ending, is_forged| {
            let calls = vec![call(ending, is_forged)];
            let history = History {
                calls,
                ..History::default()
            };
            wrong(&history).is_some()
        };
        assert!(!is_wrong(Ending::Acknowledged(Seq::new(1)), false));
        assert!(!is_wrong(Ending::Refused(ErrorCode::Conflict), false));
        assert!(is_wrong(Ending::Refused(ErrorCode::TooLarge), false));
        assert!(!is_wrong(Ending::Refused(ErrorCode::TooLarge), true));
        let invalid = Ending::Refused(ErrorCode::InvalidArgument);
        assert!(is_wrong(invalid, false));
        let guess = Call {
            name: "save_decision",
            ..call(invalid, false)
        };
        let history = History {
            calls: vec![guess],
            ..History::default()
        };
        assert!(wrong(&history).is_none());
    }
}
