//! When an approach is one that failed: by example, in other words, and against the rule as it is told.

use std::collections::BTreeMap;

use proptest::prelude::*;
use proptest::sample::select;

use super::*;

/// Another task of the project, and one of another.
const OTHERS: [&str; 2] = [
    "org/a/project/p/worktree/w/task/u",
    "org/a/project/q/worktree/w/task/t",
];

fn is_repeated(one: &Approach, other: &Approach) -> bool {
    let before = [failed(TASK, one.clone(), 3, "no use")];
    let verdict = judged(other, &before).verdict;
    assert_ne!(verdict, Verdict::Warn, "it failed in the task itself");
    verdict == Verdict::Reject
}

#[test]
fn a_repeat_in_other_words_with_the_same_targets_is_one() {
    let read = |text: &str| approach(text, &["src/http.rs"], &["Client::read"]);
    let tried = read("Increase the read timeout to 60 seconds");
    for again in [
        "Raise Client::read's timeout so that reading may take longer",
        "Increase the read timeout to 90 seconds",
        "읽기 타임아웃을 60초로 늘린다",
    ] {
        assert!(is_repeated(&tried, &read(again)), "{again}");
    }
    let write = |text: &str| approach(text, &["export.py"], &["write_rows"]);
    let tried = write("Deduplicating rows by primary key before they are written");
    let again = write("Before writing, the rows are deduplicated by their primary key");
    assert!(is_repeated(&tried, &again));
}

#[test]
fn different_fixes_that_share_boilerplate_or_their_place_are_not_one() {
    let sorts = approach(
        "Fix the failing test by updating the code so that the test passes: sort the rows",
        &["src/rows.rs"],
        &[],
    );
    let caches = approach(
        "Fix the failing test by updating the code so that the test passes: cache the resolver",
        &["src/dns.rs"],
        &[],
    );
    assert!(!is_repeated(&sorts, &caches));
    let read = |text: &str| approach(text, &["src/http.rs"], &["Client::read"]);
    let tried = read("Increase the read timeout to 60 seconds");
    for other in [
        "Retry the request three times with backoff",
        "Fix the failing client test by updating the code to stream the body in chunks",
        "Decrease the read timeout",
    ] {
        assert!(!is_repeated(&tried, &read(other)), "{other}");
    }
}

#[test]
fn what_succeeded_is_no_failure_and_counts_against_nobody() {
    let tried = approach("Increase the read timeout", &["src/http.rs"], &[]);
    // What passed is recorded as a verification, and not among what failed.
    assert_eq!(judged(&tried, &[]).verdict, Verdict::Allow);
    assert_eq!(judged(&tried, &[]).tried, []);
    // What failed before it passed only warns.
    let before = [failed(TASK, tried.clone(), 2, "no use")];
    assert_eq!(judged(&tried, &before).verdict, Verdict::Warn);
}

/// Words of which approaches are drawn, alike and not.
const WORDS: [&str; 12] = [
    "increase", "decrease", "raise", "timeout", "retry", "cache", "stream", "body", "remove",
    "keep", "60", "90",
];

fn drawn() -> impl Strategy<Value = Approach> {
    let words = proptest::collection::vec(select(WORDS.to_vec()), 1..5);
    let file = proptest::option::of(select(vec!["src/http.rs", "src/body.rs"]));
    (words, file).prop_map(|(words, file)| approach(&words.join(" "), file.as_slice(), &[]))
}

fn drawn_failures() -> impl Strategy<Value = Vec<FailedApproach>> {
    let task = select(vec![TASK, TASK, OTHERS[0], OTHERS[1]]);
    let reason = select(vec!["no use", "worse", "it hangs"]);
    let one = (drawn(), task, 1_u64..6, reason);
    let one = one.prop_map(|(approach, task, seq, reason)| failed(task, approach, seq, reason));
    proptest::collection::vec(one, 0..12)
}

/// What was tried and is like what is proposed, by whether it counts against the task and by the task in which it was:
/// told in full, one question at a time.
fn told<'a>(
    proposed: &Approach,
    failed: &'a [FailedApproach],
) -> BTreeMap<(bool, Scope), Vec<&'a FailedApproach>> {
    let words = Words::of(proposed, DESCRIPTION);
    let mut told: BTreeMap<(bool, Scope), Vec<&FailedApproach>> = BTreeMap::new();
    for one in failed {
        if words.is_like(&Words::of(&one.approach, DESCRIPTION)) {
            let is_own = one.task.as_str() == TASK;
            let counts = is_own && one.seq.get() > 2;
            let place = (counts, one.task.clone());
            told.entry(place).or_default().push(one);
        }
    }
    told
}

/// What happens in a task.
#[derive(Clone, Debug)]
enum Step {
    /// An error comes up.
    Fail(u8),
    /// A verification passes.
    Pass,
    /// What one of the events before said is erased.
    Erase(usize),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        6 => (0_u8..4).prop_map(Step::Fail),
        1 => Just(Step::Pass),
        3 => any::<usize>().prop_map(Step::Erase),
    ];
    proptest::collection::vec(step, 1..32)
}

proptest! {
    #[test]
    fn a_verdict_on_an_approach_is_that_of_all_that_failed(proposed in drawn(), failed in drawn_failures()) {
        let found = judged(&proposed, &failed);
        let told = told(&proposed, &failed);
        let counts = told.keys().any(|(counts, _)| *counts);
        let verdict = match (counts, told.is_empty()) {
            (true, _) => Verdict::Reject,
            (false, false) => Verdict::Warn,
            (false, true) => Verdict::Allow,
        };
        prop_assert_eq!(found.verdict, verdict);
        prop_assert_eq!(found.tried.len(), told.len());
        // Those that count stand first, and of the same weight the most alike.
        let (own, others) = found.tried.split_at(usize::from(counts));
        for tried in [own, others] {
            prop_assert!(tried.windows(2).all(|pair| pair[0].similarity >= pair[1].similarity));
        }
        let likeness = |one: &FailedApproach| {
            Words::of(&proposed, DESCRIPTION).jaccard(&Words::of(&one.approach, DESCRIPTION))
        };
        for ((counts, task), all) in &told {
            let tried = if *counts { own } else { others };
            let tried = tried.iter().find(|tried| tried.task == *task);
            prop_assert!(tried.is_some(), "{counts} {task}: {:?}", found.tried);
            let tried = tried.unwrap();
            prop_assert_eq!(usize::try_from(tried.attempts).unwrap(), all.len());
            let most = all.iter().map(|one| likeness(one)).fold(0.0, f64::max);
            prop_assert_eq!(tried.similarity, most);
            prop_assert!(all.iter().any(|one| one.approach == tried.approach && likeness(one) == most));
            prop_assert_eq!(Some(tried.last), all.iter().map(|one| one.at).max());
            let mut reasons: Vec<&String> = Vec::new();
            for one in all {
                if !reasons.contains(&&one.reason) {
                    reasons.push(&one.reason);
                }
            }
            prop_assert_eq!(tried.reasons.iter().collect::<Vec<_>>(), reasons);
        }
    }

    #[test]
    fn likeness_is_the_same_both_ways_and_whole_with_itself(a in drawn(), b in drawn()) {
        let (a, b) = (Words::of(&a, DESCRIPTION), Words::of(&b, DESCRIPTION));
        prop_assert_eq!(a.jaccard(&b), b.jaccard(&a));
        prop_assert_eq!(a.is_like(&b), b.is_like(&a));
        prop_assert!(!a.is_like(&b) || a.jaccard(&b) > 0.3);
        // An approach without a word is like nothing.
        prop_assert!([0.0, 1.0].contains(&a.jaccard(&a)));
    }

    #[test]
    fn an_error_counts_as_it_did_whatever_of_its_fingerprints_was_erased(steps in steps()) {
        let mut late = Failures::default();
        let mut told: Vec<(u64, Option<(ErrorSeen, ErrorJudged)>)> = Vec::new();
        for (step, seq) in steps.into_iter().zip(1..) {
            match step {
                Step::Fail(number) => {
                    let seen = late.seen(error(number), verification(seq));
                    told.push((seq, Some((seen, late.judge(seen)))));
                    late.came_up(seen, Seq::new(seq));
                }
                Step::Pass => {
                    late.clear(Seq::new(seq));
                    told.push((seq, None));
                }
                Step::Erase(at) => {
                    let at = at % told.len().max(1);
                    if let Some((seq, Some((seen, judged)))) = told.get_mut(at) {
                        (seen.error, judged.error) = (ErrorHash::ERASED, ErrorHash::ERASED);
                        late.fingerprint_erased(Seq::new(*seq));
                    }
                }
            }
        }
        // All that was told, without what was erased of it.
        let mut early = Failures::default();
        for (seq, fix) in told {
            match fix {
                Some((seen, judged)) => {
                    prop_assert!(early.may_be(seen, verification(seq)));
                    prop_assert_eq!(early.judge(seen), judged);
                    early.came_up(seen, Seq::new(seq));
                }
                None => early.clear(Seq::new(seq)),
            }
        }
        prop_assert_eq!(early, late);
    }
}
