//! How promotions end.

use super::*;
use crate::task::TaskStatus;

fn report() -> PublishReport {
    PublishReport {
        episode: entry_id(1),
        products: Vec::new(),
        linked_episodes: Vec::new(),
    }
}

#[test]
fn a_promotion_ends_once_and_what_was_dropped_left_no_mark() {
    let id = VerificationId::from_bytes([4; 16]);
    let dropped = |id| Body::PromotionDropped {
        verification: id,
        reason: "nobody needs it".into(),
        status: TaskStatus::Open,
        verified_through: Seq::ZERO,
    };
    let promoted = |id| Body::Promoted {
        verification: id,
        target: project(),
        status: TaskStatus::Done,
        report: Box::new(report()),
    };
    let other = VerificationId::from_bytes([5; 16]);
    let ends = |bodies: &[Body]| {
        let mut ended = BTreeSet::new();
        let mut bodies = bodies.iter();
        bodies.try_for_each(|body| promotion_ends_once(&mut ended, body))
    };
    ends(&[dropped(id), opened(), promoted(other)]).unwrap();
    for twice in [
        [dropped(id), promoted(id)],
        [promoted(id), dropped(id)],
        [dropped(id), dropped(id)],
        [promoted(id), promoted(id)],
    ] {
        broken_is(ends(&twice), Invariant::EndsOnce);
    }
    dropped_is_unpublished(id, None).unwrap();
    broken_is(
        dropped_is_unpublished(id, Some(&report())),
        Invariant::EndsOnce,
    );
}

#[test]
fn a_drop_is_of_a_task_and_gives_back_and_is_no_agents_to_make() {
    let drop_to = |through| Body::PromotionDropped {
        verification: VerificationId::from_bytes([4; 16]),
        reason: "nobody needs it".into(),
        status: TaskStatus::Open,
        verified_through: Seq::new(through),
    };
    let empty = State::new(&task(), None, None);
    broken_is(event_applies(&empty, &drop_to(0)), Invariant::Chained);
    let recorded = Body::VerificationRecorded(Box::new(verification(Outcome::Passed)));
    let verified = state_after(&task(), &[opened(), recorded]);
    let through = verified.task().unwrap().verified_through.get();
    event_applies(&verified, &drop_to(through)).unwrap();
    event_applies(&verified, &drop_to(0)).unwrap();
    let more = event_applies(&verified, &drop_to(through + 1));
    broken_is(more, Invariant::Chained);
    let permitted = |kind| command_permitted(&task(), &actor(kind), &[drop_to(0)]);
    permitted(PrincipalKind::Orchestrator).unwrap();
    broken_is(permitted(PrincipalKind::Agent), Invariant::Permitted);
}
