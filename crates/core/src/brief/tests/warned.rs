//! Tests of warnings in the room that all items leave.

use super::*;
use crate::bank::{Warned, Warning};
use crate::circular::Approach;
use crate::id::RecordId;

/// A warning with a text of so many bytes.
fn warning(bytes: usize) -> Warning {
    let at = Timestamp::from_ms(1);
    Warning {
        approach: Approach {
            text: "w".repeat(bytes),
            ..Approach::default()
        },
        kinds: Vec::new(),
        failed: 1,
        succeeded: 0,
        last: at,
        reasons: Vec::new(),
        failures: vec![Warned {
            record: RecordId {
                scope: scope(3),
                seq: Seq::new(7),
            },
            verification: None,
            at,
        }],
        cut: false,
    }
}

/// Loads the decisions of some chains in a budget, and behind them warnings.
fn load(chains: &[Chain], budget: BriefBudget, warnings: &[Warning], cut: bool) -> Option<Brief> {
    let asked = Asked {
        chains,
        hints: &[],
        scope: scope(3),
        domain: domain(1),
        impact: impact_of(0),
    };
    let mut cutter = Cutter::new(budget);
    for (_, item) in asked.decisions() {
        cutter.take(item).ok()?;
    }
    cutter.take_warnings(warnings.to_vec(), cut);
    Some(cutter.finish())
}

#[test]
fn warnings_are_cut_at_the_first_that_does_not_fit_and_that_is_said() {
    let all = [warning(10), warning(400), warning(10)];
    let bytes = |count: usize| all[..count].iter().map(Warning::bytes).sum::<usize>();
    let told = |items_max, bytes_max| {
        let budget = BriefBudget {
            items_max,
            bytes_max,
        };
        let brief = load(&[], budget, &all, false).unwrap();
        assert_eq!(brief.bytes, bytes(brief.warnings.len()) as u64);
        (brief.warnings.len(), brief.warnings_cut)
    };
    assert_eq!(told(9, bytes(3)), (3, false));
    assert_eq!(told(9, bytes(3) - 1), (2, true));
    // The last one would fit, and stands behind one that does not.
    assert_eq!(told(9, bytes(2) - 1), (1, true));
    assert_eq!(told(2, bytes(3)), (2, true));
    let budget = BriefBudget::default();
    let more = load(&[], budget, &all, true).unwrap();
    assert!(more.warnings_cut && more.warnings.len() == 3);
    let none = load(&[], budget, &[], false).unwrap();
    assert!(!none.warnings_cut && none.warnings.is_empty());
}

proptest! {
    #[test]
    fn a_warning_moves_and_cuts_off_no_item(
        chains in any_chains(),
        sizes in proptest::collection::vec(0usize..400, 0..6),
        items_max in 1usize..30,
        bytes_max in 1usize..6_000,
    ) {
        let budget = BriefBudget { items_max, bytes_max };
        let warnings: Vec<Warning> = sizes.into_iter().map(warning).collect();
        let (Some(with), Some(without)) =
            (load(&chains, budget, &warnings, false), load(&chains, budget, &[], false))
        else { return Ok(()) };
        prop_assert_eq!(&with.items, &without.items);
        prop_assert_eq!(&with.cut, &without.cut);
        prop_assert!(with.items.len() + with.warnings.len() <= items_max);
        prop_assert!(with.bytes <= bytes_max as u64);
        let taken = with.warnings.len();
        prop_assert_eq!(&with.warnings[..], &warnings[..taken]);
        prop_assert_eq!(with.warnings_cut, taken < warnings.len());
        // Where an item was cut off, nothing stands behind the place.
        prop_assert!(with.cut.is_empty() || taken == 0);
    }
}
