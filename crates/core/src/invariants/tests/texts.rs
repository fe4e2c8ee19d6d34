//! One entry for one text.

use super::*;

#[test]
fn a_text_that_is_known_makes_no_second_entry_unless_that_replaces_one() {
    let created = |number| EntryCreated {
        table: Table::Observations,
        ..created(number)
    };
    let state = state_after(&project(), &[Body::EntryCreated(Box::new(created(1)))]);
    let again = created(2);
    assert_eq!(known_text(&state, &again), Some(entry_id(1)));
    let repeats = [(entry_id(2), entry_id(1))];
    broken_is(texts_are_one(&repeats, &[]), Invariant::Merged);
    broken_is(
        texts_are_one(&repeats, &[superseded(3, 1, 1)]),
        Invariant::Merged,
    );
    texts_are_one(&repeats, &[superseded(2, 1, 1)]).unwrap();
    // What claims something may contradict; other tables, failures and texts are others.
    let mut claims = again.clone();
    claims.text.claim = Some(crate::entry::Claim {
        key: "port".into(),
        value: "80".into(),
    });
    let mut fails = again.clone();
    fails.failure = true;
    let mut differs = again.clone();
    differs.text.content_hash = ContentHash::of("y");
    let mut elsewhere = again;
    elsewhere.table = Table::Skills;
    for other in [claims, fails, differs, elsewhere] {
        assert_eq!(known_text(&state, &other), None, "{other:?}");
    }
    let replaced = [
        Body::EntryCreated(Box::new(created(1))),
        Body::EntryCreated(Box::new(EntryCreated {
            text: Text {
                content_hash: ContentHash::of("y"),
                ..text()
            },
            ..created(3)
        })),
        superseded(3, 1, 1),
    ];
    let state = state_after(&project(), &replaced);
    assert_eq!(known_text(&state, &created(2)), None, "it is deprecated");
}
