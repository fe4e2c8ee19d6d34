//! How much a brief has room for, of all and of references, and what is said of what it has none for.

use super::*;
use crate::limits::{BRIEF_COUNTED_MAX, BRIEF_STRUCTURAL_PART};

#[test]
fn a_smaller_item_is_not_taken_before_a_larger_one_that_stands_before_it() {
    let chains = [chain(1, 10), chain(2, 900), chain(3, 10)];
    let asked = asked(&chains, (0, 0), 0);
    let sizes = asked
        .model(AMPLE)
        .iter()
        .map(BriefItem::bytes)
        .collect::<Vec<_>>();
    let room = |bytes_max| {
        let brief = asked.brief(BriefBudget { bytes_max, ..AMPLE });
        let left_out = brief
            .cut
            .first()
            .map(|cut| (cut.layer, cut.items, cut.more));
        (brief.items.len(), left_out)
    };
    let left_out = |items| Some((Layer::Normal, items, false));
    assert_eq!(room(sizes[0] + sizes[2]), (1, left_out(2)));
    assert_eq!(room(sizes[0] + sizes[1]), (2, left_out(1)));
    assert_eq!(room(sizes.iter().sum::<usize>() - 1), (2, left_out(1)));
    assert_eq!(room(sizes.iter().sum()), (3, None));
}

#[test]
fn only_so_many_items_are_counted_behind_the_cut() {
    let full = || {
        let budget = BriefBudget {
            items_max: 1,
            ..AMPLE
        };
        let mut cutter = Cutter::new(budget);
        cutter.take(chain(1, 0).item(Layer::GlobalAxis)).unwrap();
        assert!(cutter.is_full());
        cutter
    };
    let cut = |layer, items, more| Cut { layer, items, more };

    let mut cutter = full();
    assert_eq!(cutter.rows_wanted(), BRIEF_COUNTED_MAX + 1);
    cutter.leave_out(Layer::DomainAxis, 0);
    cutter.leave_out(Layer::Lock, 400);
    cutter.leave_out(Layer::Lock, 600);
    assert_eq!(cutter.rows_wanted(), 1);
    assert_eq!(cutter.finish().cut, [cut(Layer::Lock, 1_000, false)]);

    let mut cutter = full();
    cutter.leave_out(Layer::Lock, cutter.rows_wanted());
    assert_eq!(cutter.rows_wanted(), 1);
    cutter.leave_out(Layer::Normal, 1);
    let cuts = [cut(Layer::Lock, 1_000, true), cut(Layer::Normal, 0, true)];
    assert_eq!(cutter.finish().cut, cuts);
}

#[test]
fn a_budget_of_nothing_or_beyond_the_greatest_is_refused() {
    let code = |items, bytes| BriefBudget::of(items, bytes).map_err(|error| error.code);
    assert_eq!(code(None, None), Ok(BriefBudget::default()));
    let most = code(Some(BRIEF_ITEMS_MAX), Some(BRIEF_BYTES_MAX));
    assert_eq!(most, Ok(AMPLE));
    assert_eq!(code(Some(0), None), Err(ErrorCode::InvalidArgument));
    assert_eq!(code(None, Some(0)), Err(ErrorCode::InvalidArgument));
    let many = BRIEF_ITEMS_MAX + 1;
    assert_eq!(code(Some(many), None), Err(ErrorCode::TooLarge));
    let many = BRIEF_BYTES_MAX + 1;
    assert_eq!(code(None, Some(many)), Err(ErrorCode::TooLarge));
}

#[test]
fn what_an_impact_did_not_find_is_told_beside_what_there_is_no_room_for_and_each_reference_once() {
    let of_limits = impact::Cut {
        nodes: 3,
        ..impact::Cut::default()
    };
    let mut asked = asked(&[], (1, 0), 4);
    asked.impact.cut = Some(of_limits);
    let narrow = BriefBudget {
        items_max: 1,
        ..AMPLE
    };
    let of_references = |items| Cut {
        layer: Layer::Structural,
        items,
        more: false,
    };
    let brief = asked.brief(narrow);
    assert_eq!(brief.items.len(), 1);
    assert_eq!(
        (brief.cut, brief.impact_cut),
        (vec![of_references(3)], Some(of_limits))
    );
    // Where a policy takes all the room, the one that the layer would have is cut off by the budget.
    let policy = Chain {
        rank: Rank::Policy,
        ..chain(1, 10)
    };
    asked.chains = std::slice::from_ref(&policy);
    let brief = asked.brief(narrow);
    assert_eq!(brief.items, [policy.item(Layer::Policy)]);
    assert_eq!(
        (brief.cut, brief.impact_cut),
        (vec![of_references(4)], Some(of_limits))
    );
}

#[test]
fn references_without_room_are_all_counted_and_take_no_count_from_what_is_behind() {
    let mut impact = impact_of(0);
    let one = impact_of(1).affected.remove(0);
    impact.affected = vec![one; BRIEF_COUNTED_MAX + 9];
    let mut cutter = Cutter::new(BriefBudget {
        items_max: 4,
        ..AMPLE
    });
    cutter.take_impact(&impact).unwrap();
    assert_eq!(cutter.rows_wanted(), BRIEF_COUNTED_MAX + 1);
    cutter.leave_out(Layer::Lock, BRIEF_COUNTED_MAX);
    let cut = |layer, items| Cut {
        layer,
        items,
        more: false,
    };
    let counted = BRIEF_COUNTED_MAX as u64;
    let cuts = [
        cut(Layer::Structural, counted + 8),
        cut(Layer::Lock, counted),
    ];
    assert_eq!(cutter.finish().cut, cuts);
}

#[test]
fn however_much_is_affected_three_quarters_of_the_room_are_left_to_what_stands_behind_it() {
    let guarded = |(number, rank): (u8, Rank)| Chain {
        rank,
        ..chain(number, 10)
    };
    let ranks = (0..30).map(|number| (number, [Rank::Axis, Rank::Lock][usize::from(number % 2)]));
    let chains: Vec<Chain> = ranks.map(guarded).collect();
    let asked = asked(&chains, (0, 0), 200);
    let told = |budget: BriefBudget| {
        let brief = asked.brief(budget);
        let structural = |item: &&BriefItem| item.layer() == Layer::Structural;
        let references = brief.items.iter().filter(structural).count();
        let mut cuts = brief.cut.iter();
        let beyond = cuts.find(|cut| cut.layer == Layer::Structural);
        let beyond = beyond.map_or(0, |cut| cut.items);
        (references, brief.items.len() - references, beyond)
    };
    let items_max = 40;
    assert_eq!(told(BriefBudget { items_max, ..AMPLE }), (10, 30, 190));
    // The same of bytes: whoever gives long names gets no more room for them.
    let one = asked.references(AMPLE)[0].bytes();
    let bytes_max = 40 * one;
    assert_eq!(told(BriefBudget { bytes_max, ..AMPLE }).0, 10);
    let bytes_max = 40 * one - 1;
    assert_eq!(told(BriefBudget { bytes_max, ..AMPLE }).0, 9);
}

#[test]
fn a_reference_has_room_in_the_smallest_brief() {
    for (items_max, bytes, expected) in [
        (1, vec![10, 10], 1),
        (7, vec![10, 10], 1),
        (8, vec![10, 10, 10], 2),
        (1_000, vec![26], 1),
        (1_000, vec![25, 1], 1),
        (1_000, vec![24, 1, 1], 2),
        (1_000, vec![], 1),
    ] {
        let bytes_max = 100;
        let budget = BriefBudget {
            items_max,
            bytes_max,
        };
        assert_eq!(structural_max(budget, bytes.clone()), expected, "{bytes:?}");
    }
}

/// So many policies with texts of so many bytes, and an axis and a lock behind them.
fn governed(policies: u8, content_bytes: usize) -> Vec<Chain> {
    let of_rank = |number, content_bytes, rank| Chain {
        rank,
        ..chain(number, content_bytes)
    };
    let policies = (0..policies).map(|number| of_rank(number, content_bytes, Rank::Policy));
    let strong = [(100, Rank::Axis), (101, Rank::Lock)];
    let strong = strong.map(|(number, rank)| of_rank(number, 10, rank));
    policies.chain(strong).collect()
}

/// How many policies, references, axes and locks a brief has.
fn counted(brief: &Brief) -> [usize; 4] {
    let layers = [
        Layer::Policy,
        Layer::Structural,
        Layer::GlobalAxis,
        Layer::Lock,
    ];
    layers.map(|layer| {
        let items = brief.items.iter();
        items.filter(|item| item.layer() == layer).count()
    })
}

/// That nothing is cut but so many references.
fn but_references(items: usize) -> Vec<Cut> {
    vec![Cut {
        layer: Layer::Structural,
        items: items as u64,
        more: false,
    }]
}

#[test]
fn references_take_a_quarter_of_the_items_that_policies_leave_and_cut_no_axis_or_lock_off() {
    let chains = governed(9, 10);
    let asked = asked(&chains, (0, 0), 200);
    for (items_max, references) in [(12, 1), (16, 1), (17, 2), (48, 9), (49, 10)] {
        let brief = asked.brief(BriefBudget { items_max, ..AMPLE });
        assert_eq!(counted(&brief), [9, references, 1, 1], "{items_max}");
        assert_eq!(brief.cut, but_references(200 - references), "{items_max}");
    }
}

#[test]
fn references_take_a_quarter_of_the_bytes_that_policies_leave_and_cut_no_axis_or_lock_off() {
    let chains = governed(3, 66 << 10);
    let mut asked = asked(&chains, (0, 0), 40);
    for one in &mut asked.impact.affected {
        one.title = Some("x".repeat(4 << 10));
    }
    let reference = asked.references(AMPLE)[0].bytes();
    let policies = chains[..3].iter().map(|chain| chain.item(Layer::Policy));
    let policies: usize = policies.map(|item| item.bytes()).sum();
    // A quarter of it all would be more than the policies leave.
    let usual = BriefBudget::default().bytes_max;
    assert!(usual - policies < usual / BRIEF_STRUCTURAL_PART);
    let exactly = policies + 4 * 4 * reference;
    for (bytes_max, references) in [(usual, 3), (exactly - 1, 3), (exactly, 4)] {
        let brief = asked.brief(BriefBudget { bytes_max, ..AMPLE });
        assert_eq!(counted(&brief), [3, references, 1, 1], "{bytes_max}");
        assert_eq!(brief.cut, but_references(40 - references), "{bytes_max}");
    }
}

proptest! {
    #[test]
    fn axes_and_locks_with_room_in_three_quarters_of_what_policies_leave_are_all_loaded(
        chains in any_chains(), at in any_place(), affected in 0u8..60,
        items_max in 24usize..60, bytes_max in 6_000usize..16_000,
    ) {
        let asked = asked(&chains, at, affected);
        let budget = BriefBudget { items_max, bytes_max };
        let left = asked.left(budget);
        let whole = asked.model(budget);
        let of = |layers: &[Layer], items: &[BriefItem]| -> Vec<BriefItem> {
            let items = items.iter().filter(|item| layers.contains(&item.layer()));
            items.cloned().collect()
        };
        let strong = [Layer::GlobalAxis, Layer::DomainAxis, Layer::Lock];
        let (policies, expected) = (of(&[Layer::Policy], &whole), of(&strong, &whole));
        let bytes: usize = expected.iter().map(BriefItem::bytes).sum();
        let reference = asked.references(budget).first().map_or(0, BriefItem::bytes);
        prop_assume!(policies.len() == items_max - left.items_max);
        prop_assume!(4 <= left.items_max && 4 * reference <= left.bytes_max);
        prop_assume!(4 * expected.len() <= 3 * left.items_max && 4 * bytes <= 3 * left.bytes_max);
        let brief = asked.brief(budget);
        prop_assert_eq!(of(&strong, &brief.items), expected);
    }
}
