//! Confidence moves by validations alone.

use super::*;
use crate::event::{EntryMerged, EntryRestored, TrustRevised};
use crate::id::ReviewId;

fn made() -> Body {
    Body::EntryCreated(Box::new(created(1)))
}

fn revised(trust: Trust) -> Body {
    Body::TrustRevised(Box::new(TrustRevised {
        entry: entry_id(1),
        citations: Vec::new(),
        status: Status::Verified,
        trust,
    }))
}

fn merged(trust: Trust) -> Body {
    Body::Merged(Box::new(EntryMerged {
        into: entry_id(1),
        content: "x".into(),
        cosine: 1.0,
        citations: Vec::new(),
        status: Status::Verified,
        trust,
        promotion: None,
        used_at: Timestamp::EPOCH,
    }))
}

fn faded(trust: &Trust) -> Trust {
    Trust {
        confidence: trust.confidence * 0.9,
        ..trust.clone()
    }
}

#[test]
fn trust_is_revised_only_by_answers_and_undoing() {
    let answered = Body::ReviewAnswered {
        id: ReviewId::from_bytes([1; 16]),
        approved: true,
        reason: "read".into(),
    };
    let draft = Trust::draft(Table::Gotchas.kind(), &TrustConfig::default());
    let alone = [revised(draft.clone())];
    broken_is(trust_is_validated(&alone), Invariant::Trusted);
    assert_eq!(trust_is_validated(&[answered, revised(draft)]), Ok(()));
    assert_eq!(trust_is_validated(&[]), Ok(()));
}

#[test]
fn what_came_back_cites_more_and_is_trusted_no_otherwise() {
    let trust = Trust::draft(Table::Gotchas.kind(), &TrustConfig::default());
    let restored = |entry| {
        Body::EntryRestored(Box::new(EntryRestored {
            entry,
            status: Status::Verified,
            trust: trust.clone(),
            reason: "it holds".into(),
        }))
    };
    let with = |restored, trust| trust_is_validated(&[restored, revised(trust)]);
    assert_eq!(with(restored(entry_id(1)), trust.clone()), Ok(()));
    broken_is(
        with(restored(entry_id(1)), faded(&trust)),
        Invariant::Trusted,
    );
    broken_is(with(restored(entry_id(2)), trust), Invariant::Trusted);
}

#[test]
fn what_is_said_again_is_trusted_no_less() {
    let state = state_after(&project(), &[made()]);
    let before = state.head(entry_id(1)).unwrap().trust.clone();
    let config = TrustConfig::default();
    let again = VerificationSource::RepeatedSuccess;
    let validated = before.validated(again, "b", Timestamp::from_ms(9), &config);
    for right in [before.clone(), validated.clone()] {
        assert_eq!(event_applies(&state, &merged(right)), Ok(()));
    }
    broken_is(
        event_applies(&state, &merged(faded(&before))),
        Invariant::Trusted,
    );
    let state = state_after(&project(), &[made(), merged(validated)]);
    broken_is(event_applies(&state, &merged(before)), Invariant::Trusted);
}
