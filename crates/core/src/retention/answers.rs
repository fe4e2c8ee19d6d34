//! Answers of commands: until when they are kept for whoever asks again.
//!
//! Owns when an answer is needed no more, and the floor of command ids in a scope that nobody writes to; in any
//! other it follows the last event. That a command below the floor is never executed is
//! [`decide`](crate::decide)'s. It must not know where answers are kept.

use crate::command::ScopeRow;
use crate::id::CommandId;
use crate::limits::{CLOCK_AHEAD_MS_MAX, COMMAND_RETRY_MS_MAX};
use crate::principal::PrincipalKind;
use crate::time::Timestamp;

/// Whether the answer to a command may be forgotten: its id is refused as expired. The system's are kept, since
/// the floor does not hold for the end of a promotion, whose id is the verification's.
#[must_use]
pub fn is_forgotten(kind: PrincipalKind, id: CommandId, floor: Timestamp) -> bool {
    kind != PrincipalKind::System && id.time().is_ok_and(|made| made < floor)
}

/// The floor above all commands of a scope, once its last event is so much older than the newest one of all
/// scopes that none of them may be given again. No clock is asked: where nobody writes, nothing is forgotten.
#[must_use]
pub fn idle_floor(row: &ScopeRow, newest: Timestamp) -> Option<Timestamp> {
    let above = above(row);
    (newest.since_ms(above) > COMMAND_RETRY_MS_MAX).then_some(above)
}

/// The floor that says of such a scope that its answers are forgotten: it need not be looked at again until
/// somebody writes there.
#[must_use]
pub const fn settled_floor(row: &ScopeRow) -> Timestamp {
    above(row).plus_ms(1)
}

/// A time behind those of all ids that were taken before the last event.
const fn above(row: &ScopeRow) -> Timestamp {
    row.tip.time.plus_ms(CLOCK_AHEAD_MS_MAX + 1)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::chain::Tip;
    use crate::id::Seq;
    use crate::scope::Scope;
    use crate::state::State;

    fn id_of(time: Timestamp) -> CommandId {
        CommandId::from_parts(time, [7; 10])
    }

    /// The row of a scope whose last event happened then.
    fn row_at(time: Timestamp) -> ScopeRow {
        let scope = Scope::parse("org/acme").unwrap();
        let mut state = State::new(&scope, None, None);
        state.advance(Tip {
            seq: Seq::new(1),
            time,
            ..Tip::genesis(&scope)
        });
        state.row().clone()
    }

    #[test]
    fn the_systems_answers_are_kept_and_others_go_with_the_floor() {
        let floor = Timestamp::from_ms(1_800_000_000_000);
        let gone = id_of(floor.minus_ms(1));
        assert!(!is_forgotten(PrincipalKind::Agent, id_of(floor), floor));
        assert!(is_forgotten(PrincipalKind::Agent, gone, floor));
        assert!(!is_forgotten(PrincipalKind::System, gone, floor));
    }

    #[test]
    fn a_scope_is_idle_once_nothing_that_it_answered_may_be_given_again() {
        let ended = Timestamp::from_ms(1_800_000_000_000);
        let row = row_at(ended);
        let last_retry = ended.plus_ms(CLOCK_AHEAD_MS_MAX + 1 + COMMAND_RETRY_MS_MAX);
        assert_eq!(idle_floor(&row, ended), None);
        assert_eq!(idle_floor(&row, last_retry), None);
        let floor = idle_floor(&row, last_retry.plus_ms(1)).unwrap();
        // The latest id that was taken with the last event, by a client whose clock was ahead.
        let latest = id_of(ended.plus_ms(CLOCK_AHEAD_MS_MAX));
        assert!(is_forgotten(PrincipalKind::Human, latest, floor));
        assert!(settled_floor(&row) > floor);
    }

    proptest! {
        #[test]
        fn an_idle_floor_refuses_nothing_that_may_be_given_again(
            ended in 0_u64..1 << 44,
            newest in 0_u64..1 << 45,
        ) {
            let (row, newest) = (row_at(Timestamp::from_ms(ended)), Timestamp::from_ms(newest));
            if let Some(floor) = idle_floor(&row, newest) {
                prop_assert!(floor > row.floor && settled_floor(&row) > row.floor);
                prop_assert!(settled_floor(&row) <= newest.minus_ms(COMMAND_RETRY_MS_MAX));
            }
        }
    }
}
