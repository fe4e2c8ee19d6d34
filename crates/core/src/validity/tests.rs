//! When an entry holds, against walks over random histories.

use proptest::prelude::*;

use super::*;

const COMMITS: usize = 14;

fn hash(commit: usize) -> String {
    format!("{:040x}", commit + 1)
}

fn span(from: Option<usize>, to: Option<usize>) -> Lifecycle {
    Lifecycle {
        valid_from_commit: from.map(hash),
        valid_to_commit: to.map(hash),
        ..Lifecycle::default()
    }
}

/// A history: the parents of each commit, all of them older.
fn history() -> impl Strategy<Value = Vec<Vec<usize>>> {
    let parents = |commit: usize| {
        let older: Vec<usize> = (0..commit).collect();
        proptest::sample::subsequence(older, 0..=commit.min(2))
    };
    (0..COMMITS).map(parents).collect::<Vec<_>>()
}

/// All that lies before each commit, and itself, by closing the relation over itself again and again.
fn reachable(parents: &[Vec<usize>]) -> Vec<BTreeSet<usize>> {
    let mut before: Vec<BTreeSet<usize>> = (0..parents.len()).map(|one| [one].into()).collect();
    for _ in 0..parents.len() {
        for (commit, own) in parents.iter().enumerate() {
            for parent in own {
                let more = before[*parent].clone();
                before[commit].extend(more);
            }
        }
    }
    before
}

fn told(before: &BTreeSet<usize>) -> impl Fn(&str) -> Ancestry {
    |commit| {
        let number = usize::from_str_radix(commit, 16).unwrap() - 1;
        if before.contains(&number) {
            Ancestry::Yes
        } else {
            Ancestry::No
        }
    }
}

proptest! {
    #[test]
    fn an_entry_holds_from_its_first_commit_up_to_the_one_that_ended_it(
        parents in history(), from in proptest::option::of(0..COMMITS), to in proptest::option::of(0..COMMITS), at in 0..COMMITS,
    ) {
        let before = &reachable(&parents)[at];
        let begun = from.is_none_or(|from| before.contains(&from));
        let ended = to.is_some_and(|to| before.contains(&to));
        let found = validity(&span(from, to), told(before));
        prop_assert_eq!(found.is_recalled(), begun && !ended);
        prop_assert_eq!(found == Validity::Always, from.is_none() && to.is_none());
        prop_assert_eq!(found == Validity::Ended, ended);
        prop_assert_ne!(found, Validity::Unknown);
    }

    #[test]
    fn of_a_line_that_was_replaced_commit_by_commit_one_entry_holds_where_history_is_straight(
        at in 0..COMMITS, ends in proptest::sample::subsequence((1..COMMITS).collect::<Vec<_>>(), 1..COMMITS - 1),
    ) {
        let before: BTreeSet<usize> = (0..=at).collect();
        let froms = core::iter::once(0).chain(ends.iter().copied()).map(Some);
        let tos = ends.iter().copied().map(Some).chain([None]);
        let holding = froms.zip(tos).filter(|(from, to)| validity(&span(*from, *to), told(&before)) == Validity::Holds);
        prop_assert_eq!(holding.count(), 1);
    }

    #[test]
    fn knowing_more_decides_what_was_unknown_and_recalls_nothing_that_was_left_out(
        parents in history(), from in proptest::option::of(0..COMMITS), to in proptest::option::of(0..COMMITS), at in 0..COMMITS,
        hidden in proptest::collection::btree_set(0..COMMITS, 0..COMMITS),
    ) {
        let before = &reachable(&parents)[at];
        let full = told(before);
        let partly = |commit: &str| {
            let number = usize::from_str_radix(commit, 16).unwrap() - 1;
            if hidden.contains(&number) { Ancestry::Unknown } else { full(commit) }
        };
        let less = validity(&span(from, to), partly);
        let more = validity(&span(from, to), &full);
        // What ended where it never began is out for either reason.
        let stays_out = !less.is_recalled() && !more.is_recalled();
        prop_assert!(less == more || less == Validity::Unknown || stays_out, "{:?} became {:?}", less, more);
    }
}

#[test]
fn the_commit_that_ended_an_entry_is_not_one_at_which_it_holds() {
    let ends_here = |commit: &str| {
        if commit == hash(3) || commit == hash(1) {
            Ancestry::Yes
        } else {
            Ancestry::No
        }
    };
    assert_eq!(
        validity(&span(Some(1), Some(3)), ends_here),
        Validity::Ended
    );
    assert_eq!(validity(&span(Some(3), None), ends_here), Validity::Holds);
    assert_eq!(
        validity(&span(Some(3), Some(3)), ends_here),
        Validity::Ended
    );
    assert_eq!(validity(&span(Some(7), None), ends_here), Validity::NotYet);
    assert_eq!(validity(&span(None, Some(7)), ends_here), Validity::Holds);
}

#[test]
fn what_one_end_decides_needs_no_word_of_the_other() {
    let told = |commit: &str| match commit {
        c if c == hash(1) => Ancestry::Yes,
        c if c == hash(2) => Ancestry::No,
        _ => Ancestry::Unknown,
    };
    assert_eq!(validity(&span(Some(9), Some(1)), told), Validity::Ended);
    assert_eq!(validity(&span(Some(2), Some(9)), told), Validity::NotYet);
    assert_eq!(validity(&span(Some(9), None), told), Validity::Unknown);
    assert_eq!(validity(&span(Some(9), Some(2)), told), Validity::Unknown);
    assert_eq!(validity(&span(Some(1), Some(9)), told), Validity::Unknown);
    assert!(Validity::Unknown.is_recalled() && !Validity::Ended.is_recalled());
}

#[test]
fn a_question_names_a_commit_and_judges_so_many() {
    let short = AsOf::checked("ABCDEF1", []).unwrap();
    assert_eq!(short.commit, "abcdef1");
    assert_eq!(short.says("abcDEF1"), Some(Ancestry::Yes));
    assert_eq!(short.says("abcdef12"), None);
    for wrong in ["", "HEAD", "abcdef", "zzzzzzz", &"a".repeat(65), "main~1"] {
        let refused = AsOf::checked(wrong, []).unwrap_err();
        assert_eq!(refused.code, ErrorCode::InvalidArgument, "{wrong}");
        let judged = AsOf::checked("abcdef1", [(wrong.to_owned(), Ancestry::No)]);
        assert_eq!(judged.unwrap_err().code, ErrorCode::InvalidArgument);
    }
    let many = (0..=COMMITS_JUDGED_MAX).map(|one| (hash(one), Ancestry::No));
    let refused = AsOf::checked("abcdef1", many).unwrap_err();
    assert_eq!(refused.code, ErrorCode::TooLarge);
    let twice = [(hash(1), Ancestry::No), (hash(1), Ancestry::Yes)];
    assert!(AsOf::checked("abcdef1", twice).is_err());
    let alike = [(hash(1), Ancestry::No), (hash(1), Ancestry::No)];
    assert_eq!(AsOf::checked("abcdef1", alike).unwrap().judged.len(), 1);
}

#[test]
fn what_a_question_does_not_decide_is_named_once() {
    let asked = AsOf::checked(
        &hash(5),
        [(hash(1), Ancestry::No), (hash(3), Ancestry::Unknown)],
    )
    .unwrap();
    let spans = [
        span(Some(1), Some(5)),
        span(Some(2), Some(3)),
        span(None, Some(2)),
    ];
    assert_eq!(asked.undecided(&spans), [hash(2), hash(3)]);
}
