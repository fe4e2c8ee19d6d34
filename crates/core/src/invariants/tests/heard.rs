//! Heard if and only if committed.

use super::*;
use crate::channel::Channel;
use crate::channel::Channel::{Events, Log};

#[test]
fn what_is_heard_is_what_was_committed() {
    let (a, b, c) = (scope("org/a"), scope("org/b"), scope("org/c"));
    let tips = BTreeMap::from([(a.clone(), Seq::new(3)), (b.clone(), Seq::new(1))]);
    let heard = |runs: &[(Channel, &Scope, u64, u64)]| {
        let runs = runs.iter().map(|(channel, scope, first, last)| {
            (*channel, *scope, Seq::new(*first), Seq::new(*last))
        });
        heard_is_committed(&tips, runs)
    };
    for right in [
        [(Events, &a, 1, 2), (Events, &b, 1, 1), (Events, &a, 3, 3)],
        // One channel may come before the other.
        [(Log, &a, 3, 3), (Events, &b, 1, 1), (Events, &a, 1, 2)],
    ] {
        assert_eq!(heard(&right), Ok(()));
    }
    for wrong in [
        vec![(Events, &a, 1, 2), (Events, &b, 1, 1)],
        vec![(Events, &a, 1, 3), (Events, &a, 3, 3), (Events, &b, 1, 1)],
        vec![(Events, &a, 2, 3), (Events, &a, 1, 1), (Events, &b, 1, 1)],
        vec![(Events, &a, 1, 1), (Events, &a, 3, 3), (Events, &b, 1, 1)],
        vec![(Events, &a, 1, 3), (Events, &b, 1, 2)],
        vec![(Events, &a, 1, 3)],
        vec![(Events, &a, 2, 1)],
        // On both channels, in whole or in part.
        vec![(Events, &a, 1, 3), (Log, &a, 1, 3), (Events, &b, 1, 1)],
        vec![(Events, &a, 1, 3), (Log, &a, 2, 2), (Events, &b, 1, 1)],
        // On neither.
        vec![(Events, &a, 1, 1), (Log, &a, 3, 3), (Events, &b, 1, 1)],
        vec![(Events, &a, 1, 3), (Log, &b, 1, 1), (Log, &c, 1, 1)],
    ] {
        let broken = heard(&wrong).unwrap_err();
        assert_eq!(broken.invariant, Invariant::Heard, "{wrong:?}");
    }
}
