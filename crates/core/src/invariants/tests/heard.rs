//! Heard if and only if committed.

use super::*;

#[test]
fn what_is_heard_is_what_was_committed() {
    let (a, b) = (scope("org/a"), scope("org/b"));
    let tips = BTreeMap::from([(a.clone(), Seq::new(3)), (b.clone(), Seq::new(1))]);
    let seq = Seq::new;
    let heard = |runs: &[(&Scope, u64, u64)]| {
        let runs: Vec<_> = runs
            .iter()
            .map(|(scope, first, last)| (*scope, seq(*first), seq(*last)))
            .collect();
        heard_is_committed(&tips, runs)
    };
    assert_eq!(heard(&[(&a, 1, 2), (&b, 1, 1), (&a, 3, 3)]), Ok(()));
    for wrong in [
        vec![(&a, 1, 2), (&b, 1, 1)],
        vec![(&a, 1, 3), (&a, 3, 3), (&b, 1, 1)],
        vec![(&a, 2, 3), (&a, 1, 1), (&b, 1, 1)],
        vec![(&a, 1, 1), (&a, 3, 3), (&b, 1, 1)],
        vec![(&a, 1, 3), (&b, 1, 2)],
        vec![(&a, 1, 3)],
        vec![(&a, 2, 1)],
    ] {
        let broken = heard(&wrong).unwrap_err();
        assert_eq!(broken.invariant, Invariant::Heard, "{wrong:?}");
    }
    let runs = [
        (&a, seq(1), seq(3)),
        (&b, seq(1), seq(1)),
        (&scope("org/c"), seq(1), seq(1)),
    ];
    assert!(heard_is_committed(&tips, runs).is_err());
}
