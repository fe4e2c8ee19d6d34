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
fn a_promotion_is_published_once_and_makes_and_supports_nothing_afterwards() {
    let [one, other] = [4, 5].map(|number| VerificationId::from_bytes([number; 16]));
    let published = |verification| Body::Published {
        source: task(),
        verification,
        report: Box::new(report()),
    };
    let made = |promotion| {
        Body::EntryCreated(Box::new(EntryCreated {
            promotion,
            ..created(1)
        }))
    };
    let said_again = |promotion| {
        Body::Merged(Box::new(EntryMerged {
            into: entry_id(1),
            content: "x".into(),
            cosine: 1.0,
            status: Status::Verified,
            trust: head(1).trust,
            citations: Vec::new(),
            promotion,
            used_at: Timestamp::EPOCH,
        }))
    };
    let publishes = |bodies: &[Body]| {
        let mut known = BTreeSet::new();
        let mut bodies = bodies.iter();
        bodies.try_for_each(|body| promotion_publishes_once(&mut known, body))
    };
    let both = [
        made(Some(one)),
        said_again(Some(one)),
        published(one),
        made(Some(other)),
        published(other),
        made(None),
        said_again(None),
    ];
    publishes(&both).unwrap();
    for again in [published(one), made(Some(one)), said_again(Some(one))] {
        let twice = [published(one), published(other), again];
        broken_is(publishes(&twice), Invariant::PublishedOnce);
    }
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
