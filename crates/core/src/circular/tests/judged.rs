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
    let found = judged(other, &before);
    let is_repeated = found.verdict == Verdict::Reject;
    assert_eq!(found.verdict == Verdict::Allow, !is_repeated, "{found:?}");
    is_repeated
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

/// What a failure weighs, the most first: 0 where it counts against the task.
fn weight(failed: &FailedApproach) -> u8 {
    match (failed.task.as_str() == TASK, failed.seq.get() > 2) {
        (true, true) => 0,
        (true, false) => 1,
        (false, _) => 2,
    }
}

/// What was tried and is like what is proposed, by what it weighs, how far it is that, and the task in which it was: told in
/// full, one question at a time.
fn told<'a>(
    proposed: &Approach,
    failed: &'a [FailedApproach],
) -> BTreeMap<(u8, Likeness, Scope), Vec<&'a FailedApproach>> {
    let words = Words::of(proposed, DESCRIPTION);
    let mut told: BTreeMap<(u8, Likeness, Scope), Vec<&FailedApproach>> = BTreeMap::new();
    for one in failed {
        let likeness = words.likeness(&Words::of(&one.approach, DESCRIPTION));
        if let Some((likeness, _)) = likeness {
            let place = (weight(one), likeness, one.task.clone());
            told.entry(place).or_default().push(one);
        }
    }
    told
}

/// Several of these that failed in one task, as they are told.
fn together(proposed: &Approach, likeness: Likeness, all: &[&FailedApproach]) -> Tried {
    let similarity = |one: &FailedApproach| {
        Words::of(proposed, DESCRIPTION).jaccard(&Words::of(&one.approach, DESCRIPTION))
    };
    let most = all.iter().map(|one| similarity(one)).fold(0.0, f64::max);
    let mut best = all.iter().filter(|one| similarity(one) >= most);
    let mut reasons: Vec<String> = Vec::new();
    for one in all {
        if !reasons.contains(&one.reason) {
            reasons.push(one.reason.clone());
        }
    }
    let mut files = all[0].approach.files.clone();
    files.retain(|file| all.iter().all(|one| one.approach.files.contains(file)));
    Tried {
        task: all[0].task.clone(),
        likeness,
        approach: best.next().unwrap().approach.clone(),
        similarity: most,
        attempts: u32::try_from(all.len()).unwrap(),
        last: all.iter().map(|one| one.at).max().unwrap(),
        reasons,
        places: Places {
            files,
            symbols: Vec::new(),
        },
        cut: false,
    }
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
        let verdict = match told.keys().next() {
            Some((0, Likeness::One, _)) => Verdict::Reject,
            Some(_) => Verdict::Warn,
            None => Verdict::Allow,
        };
        prop_assert_eq!(found.verdict, verdict);
        let expected = told.iter().map(|((weight, likeness, _), all)| {
            (*weight, together(&proposed, *likeness, all))
        });
        let mut expected: Vec<(u8, Tried)> = expected.collect();
        // Those that weigh most stand first, and of the same weight the most alike.
        expected.sort_by(|(a, of_a), (b, of_b)| {
            let alike = of_b.similarity.total_cmp(&of_a.similarity);
            a.cmp(b).then(of_a.likeness.cmp(&of_b.likeness)).then(alike)
        });
        let expected: Vec<Tried> = expected.into_iter().map(|(_, tried)| tried).collect();
        prop_assert_eq!(found.tried, expected);
        prop_assert!(!found.cut);
    }

    #[test]
    fn likeness_is_the_same_both_ways_and_whole_with_itself(a in drawn(), b in drawn()) {
        let (a, b) = (Words::of(&a, DESCRIPTION), Words::of(&b, DESCRIPTION));
        prop_assert_eq!(a.jaccard(&b), b.jaccard(&a));
        prop_assert_eq!(a.is_like(&b), b.is_like(&a));
        prop_assert_eq!(a.likeness(&b), b.likeness(&a));
        prop_assert!(a.likeness(&b).is_none_or(|(_, alike)| alike > 0.3));
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
