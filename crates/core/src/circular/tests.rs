//! Tests of what goes in circles, case by case.

use proptest::prelude::*;

use super::*;
use crate::id::{Seq, VerificationId};
use crate::limits::ERRORS_KEPT_MAX;
use crate::scope::Scope;
use crate::time::Timestamp;

mod bounds;
mod judged;
mod shapes;

fn same(a: &str, b: &str) {
    assert_eq!(core_error(a), core_error(b));
    assert_eq!(ErrorHash::of(a), ErrorHash::of(b));
}

fn different(a: &str, b: &str) {
    assert_ne!(core_error(a), core_error(b));
    assert_ne!(ErrorHash::of(a), ErrorHash::of(b));
}

fn error(number: u8) -> ErrorHash {
    ErrorHash::from_bytes([number; 32])
}

fn verification(number: u64) -> VerificationId {
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&number.to_be_bytes());
    VerificationId::from_bytes(bytes)
}

/// Remembers that a verification failed with an error, by the event with the same number: what follows.
fn fails(failures: &mut Failures, error: ErrorHash, number: u64) -> ErrorJudged {
    let seen = failures.seen(error, verification(number));
    assert!(failures.may_be(seen, verification(number)));
    let judged = failures.judge(seen);
    failures.came_up(seen, Seq::new(number));
    judged
}

/// What would follow from an error that came up now.
fn next(failures: &Failures, error: ErrorHash) -> ErrorJudged {
    failures.judge(failures.seen(error, verification(1_000)))
}

/// What follows from each of these errors, which come up one after the other.
fn judgements(errors: impl IntoIterator<Item = ErrorHash>) -> Vec<ErrorJudged> {
    let mut failures = Failures::default();
    let errors = errors.into_iter().zip(1..);
    let judged = errors.map(|(error, number)| fails(&mut failures, error, number));
    judged.collect()
}

fn verdicts(errors: &[u8]) -> Vec<Verdict> {
    let judged = judgements(errors.iter().copied().map(error));
    judged.iter().map(|judged| judged.verdict).collect()
}

/// The rule as it is told: by all errors that came up before.
fn naive(before: &[ErrorHash], error: ErrorHash) -> (Verdict, usize) {
    let seen = before.iter().filter(|one| **one == error).count();
    let mut turns = before.to_vec();
    turns.dedup();
    let alternates = matches!(turns[..], [.., a, b, c] if a == c && b == error);
    let verdict = if seen >= 2 || alternates {
        Verdict::Block
    } else if seen > 0 && before.last() != Some(&error) {
        Verdict::Warn
    } else {
        Verdict::Allow
    };
    (verdict, seen + 1)
}

#[test]
fn an_error_that_comes_back_is_warned_of_and_one_that_takes_turns_or_comes_a_third_time_is_blocked()
{
    use Verdict::{Allow, Block, Warn};
    assert_eq!(verdicts(&[1, 2, 3, 4]), [Allow; 4]);
    assert_eq!(verdicts(&[1, 1, 1, 1]), [Allow, Allow, Block, Block]);
    assert_eq!(verdicts(&[1, 2, 1]), [Allow, Allow, Warn]);
    assert_eq!(verdicts(&[1, 2, 1, 2]), [Allow, Allow, Warn, Block]);
    assert_eq!(
        verdicts(&[1, 2, 2, 1, 2]),
        [Allow, Allow, Allow, Warn, Block]
    );
    assert_eq!(verdicts(&[1, 2, 3, 1]), [Allow, Allow, Allow, Warn]);
    assert_eq!(
        verdicts(&[1, 2, 3, 1, 2]),
        [Allow, Allow, Allow, Warn, Warn]
    );
    let judged = judgements([1, 2, 1, 1].map(error)).pop().unwrap();
    assert_eq!((judged.count, judged.reason), (3, ErrorReason::TooOften));
}

#[test]
fn a_pass_clears_what_came_up_and_of_very_many_errors_the_earliest_are_forgotten() {
    let mut failures = Failures::default();
    for number in 1..=3 {
        fails(&mut failures, error(1), number);
    }
    assert_eq!(next(&failures, error(1)).verdict, Verdict::Block);
    failures.clear(Seq::new(7));
    assert_eq!(next(&failures, error(1)).reason, ErrorReason::New);
    assert_eq!(failures.cleared_through, Seq::new(7));

    fails(&mut failures, error(0), 8);
    for (number, seq) in (1..=ERRORS_KEPT_MAX).zip(9..) {
        let error = error(u8::try_from(number).unwrap());
        fails(&mut failures, error, seq);
    }
    assert_eq!(next(&failures, error(0)).reason, ErrorReason::New);
    assert_eq!(next(&failures, error(1)).reason, ErrorReason::CameBack);
}

/// Two errors that take turns: the first comes up by the verifications 1 and 3, the other one by 2.
fn taking_turns() -> Failures {
    let mut failures = Failures::default();
    for (number, by) in [(1, 1), (2, 2), (1, 3)] {
        fails(&mut failures, error(number), by);
    }
    failures
}

#[test]
fn an_error_counts_on_without_its_fingerprint_and_is_another_one_when_it_comes_up_again() {
    let mut failures = taking_turns();
    let before = failures.clone();
    // A later event tells it still.
    failures.fingerprint_erased(Seq::new(1));
    assert_eq!(failures, before);
    failures.fingerprint_erased(Seq::new(3));
    let unnamed = ErrorSeen {
        error: ErrorHash::ERASED,
        first: verification(1),
    };
    let judged = failures.judge(unnamed);
    assert_eq!((judged.count, judged.reason), (3, ErrorReason::TooOften));
    assert_eq!(
        next(&failures, error(2)).reason,
        ErrorReason::TakesTurns,
        "the turns are what they were"
    );
    let anew = fails(&mut failures, error(1), 4);
    assert_eq!((anew.count, anew.reason), (1, ErrorReason::New));
    assert_eq!(next(&failures, error(1)).reason, ErrorReason::Repeated);
    assert_eq!(failures.judge(unnamed).count, 3);
}

#[test]
fn an_error_counts_under_the_verification_that_failed_with_it_first_and_under_no_other() {
    let mut failures = taking_turns();
    let may_be = |failures: &Failures, error: ErrorHash, first: u64| {
        let first = verification(first);
        failures.may_be(ErrorSeen { error, first }, verification(9))
    };
    assert!(may_be(&failures, error(1), 1) && may_be(&failures, error(3), 9));
    for (number, first) in [(1, 2), (1, 3), (1, 9), (3, 1), (3, 4)] {
        assert!(!may_be(&failures, error(number), first), "{number} {first}");
    }
    // One that has no fingerprint any more may be each that was known, or a new one.
    for first in [1, 2, 9] {
        assert!(may_be(&failures, ErrorHash::ERASED, first), "{first}");
    }
    assert!(!may_be(&failures, ErrorHash::ERASED, 3));
    // Where that of one which is known is gone, it may have been told by then or not.
    failures.fingerprint_erased(Seq::new(3));
    assert!(may_be(&failures, error(1), 1) && may_be(&failures, error(1), 9));
    assert!(!may_be(&failures, error(2), 1) && !may_be(&failures, error(2), 9));
}

#[test]
fn the_same_error_at_another_time_and_place_is_the_same() {
    same(
        "thread 'tests::adds' panicked at src/lib.rs:12:9:\nassertion `left == right` failed\n  left: 3\n right: 4",
        "\u{1b}[31mthread 'tests::adds' (8123) panicked at \u{2f}home/me/work/src/lib.rs:48:5:\u{1b}[0m\r\nassertion `left == right` failed\r\n  left: 3\r\n right: 4\r\nnote: run with `RUST_BACKTRACE=1` environment variable to display a backtrace",
    );
    same(
        "Traceback (most recent call last):\n  File \"/tmp/a1b2/app/main.py\", line 3, in <module>\n    run()\nKeyError: 'user_id'",
        "Traceback (most recent call last):\n  File \"/srv/b/app/main.py\", line 31, in <module>\n    go()\n  File \"/srv/b/app/main.py\", line 4, in go\n    run()\nKeyError: 'user_id'",
    );
    same(
        "src/a.ts(12,5): error TS2322: Type 'string' is not assignable to type 'number'.",
        "src/a.ts(40,11): error TS2322: Type 'string' is not assignable to type 'number'.",
    );
    same(
        "FAILED tests/test_b.py::test_two - assert 1 == 2\nFAILED tests/test_a.py::test_one - assert...\n2 failed in 0.31s",
        "FAILED tests/test_a.py::test_one - assert 3 == 4\nFAILED tests/test_b.py::test_two - assert 1 == 2\n2 failed in 12.00s",
    );
    same(
        "Error from server (NotFound): pods \"web-7d9f8b6c5d-x2kqz\" not found",
        "Error from server (NotFound): pods \"web-5c4bb8d9f7-m9vtl\" not found",
    );
    same(
        "connect ECONNREFUSED 127.0.0.1:41234",
        "connect ECONNREFUSED 127.0.0.1:53871",
    );
}

#[test]
fn two_errors_of_one_type_are_two() {
    different("KeyError: 'user_id'", "KeyError: 'user_name'");
    different(
        "assertion `left == right` failed\n  left: 3\n right: 4",
        "assertion `left == right` failed\n  left: 3\n right: 5",
    );
    different("test a::adds ... FAILED", "test a::subtracts ... FAILED");
    different(
        "connect ECONNREFUSED 127.0.0.1:5432",
        "connect ECONNREFUSED 127.0.0.1:6379",
    );
    different(
        "src/a.ts(12,5): error TS2322: Type 'string' is not assignable to type 'number'.",
        "src/b.ts(12,5): error TS2322: Type 'string' is not assignable to type 'number'.",
    );
    different("process exited with code 1", "process exited with code 137");
}

fn approach(text: &str, files: &[&str], symbols: &[&str]) -> Approach {
    let all = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
    Approach {
        text: text.to_owned(),
        files: all(files),
        symbols: all(symbols),
    }
}

const TASK: &str = "org/a/project/p/worktree/w/task/t";
const DESCRIPTION: &str = "Requests of the client fail when the server is slow.";

fn failed(task: &str, approach: Approach, seq: u64, reason: &str) -> FailedApproach {
    FailedApproach {
        task: Scope::parse(task).unwrap(),
        seq: Seq::new(seq),
        verification: VerificationId::from_bytes([7; 16]),
        wording: Wording::of(&approach),
        approach,
        reason: reason.to_owned(),
        at: Timestamp::from_ms(seq * 1_000),
    }
}

fn judged(proposed: &Approach, failed: &[FailedApproach]) -> ApproachJudged {
    let to = Proposed {
        task: &Scope::parse(TASK).unwrap(),
        description: DESCRIPTION,
        cleared_through: Seq::new(2),
    };
    judge_approach(proposed, to, failed)
}

#[test]
fn what_failed_is_rejected_in_other_words_and_another_fix_that_shares_boilerplate_is_not() {
    let tried = approach(
        "Increase the read timeout to 60 seconds",
        &["src/http.rs"],
        &["Client::read"],
    );
    let before = [failed(TASK, tried, 3, "still times out")];
    let again = approach(
        "Raise Client::read's timeout so that reading may take longer",
        &["./src/http.rs"],
        &["Client::read"],
    );
    let found = judged(&again, &before);
    assert_eq!(found.verdict, Verdict::Reject);
    assert_eq!(found.tried[0].attempts, 1);
    assert_eq!(found.tried[0].reasons, ["still times out"]);
    let other = approach(
        "Fix the failing client test by updating the code to stream the body in chunks",
        &["src/body.rs"],
        &["Body::poll"],
    );
    assert_eq!(judged(&other, &before).verdict, Verdict::Allow);
    assert_eq!(judged(&again, &[]).verdict, Verdict::Allow);
}

#[test]
fn what_failed_in_another_task_or_before_a_pass_warns() {
    let tried = approach("Increase the read timeout", &["src/http.rs"], &[]);
    let elsewhere = failed(
        "org/a/project/p/worktree/w/task/u",
        tried.clone(),
        3,
        "no use",
    );
    let cleared = failed(TASK, tried.clone(), 2, "no use");
    for before in [&elsewhere, &cleared] {
        assert_eq!(
            judged(&tried, std::slice::from_ref(before)).verdict,
            Verdict::Warn
        );
    }
    let own = [
        failed(TASK, tried.clone(), 4, "worse"),
        failed(TASK, tried.clone(), 3, "no use"),
    ];
    let found = judged(&tried, &[&own[..], &[elsewhere, cleared]].concat());
    assert_eq!(found.verdict, Verdict::Reject);
    assert_eq!(found.tried.len(), 3);
    assert_eq!(
        (found.tried[0].attempts, &found.tried[0].reasons[..]),
        (2, &["worse".to_owned(), "no use".to_owned()][..])
    );
    assert_eq!(found.tried[0].last, own[0].at);
    // What was cleared in the task stands before what failed in another one, which is as alike.
    let tasks = found.tried.iter().map(|tried| tried.task.as_str());
    let other = "org/a/project/p/worktree/w/task/u";
    assert_eq!(tasks.collect::<Vec<_>>(), [TASK, TASK, other]);
    assert_eq!(found.tried[1].last, Timestamp::from_ms(2_000));
}

#[test]
fn what_differs_in_a_word_or_two_warns_wherever_the_other_failed() {
    let of = |what: &str| {
        let text = format!("Increase the read timeout of the HTTP {what}");
        approach(&text, &["src/http.rs"], &["Client::read"])
    };
    let proposed = of("client");
    for (task, seq) in [
        (TASK, 3),
        (TASK, 2),
        ("org/a/project/p/worktree/w/task/u", 3),
    ] {
        let near = failed(task, of("connector"), seq, "no use");
        let found = judged(&proposed, std::slice::from_ref(&near));
        assert_eq!(found.verdict, Verdict::Warn, "{task} {seq}");
        let [tried] = &found.tried[..] else {
            panic!("{found:?}")
        };
        assert_eq!(tried.likeness, Likeness::Near);
        assert_eq!((&tried.approach, tried.attempts), (&near.approach, 1));
        assert_eq!(tried.reasons, ["no use"]);
        assert!(tried.similarity > 0.3, "{tried:?}");
    }
    // Where the same failed as well, that decides, and both are told.
    let both = [
        failed(TASK, of("connector"), 4, "no use"),
        failed(TASK, proposed.clone(), 3, "worse"),
    ];
    let found = judged(&proposed, &both);
    assert_eq!(found.verdict, Verdict::Reject);
    let told = found.tried.iter();
    let told: Vec<_> = told.map(|tried| (tried.likeness, tried.attempts)).collect();
    assert_eq!(told, [(Likeness::One, 1), (Likeness::Near, 1)]);
}

#[test]
fn what_denies_what_failed_warns_and_is_no_repeat() {
    let failed_before = |text: &str| {
        [failed(
            TASK,
            approach(text, &["src/a.rs"], &[]),
            3,
            "no use",
        )]
    };
    for (before, now) in [
        ("Retry the upload", "Do not retry the upload"),
        ("Do not cache the page", "Cache the page"),
    ] {
        let found = judged(&approach(now, &["src/a.rs"], &[]), &failed_before(before));
        assert_eq!(found.verdict, Verdict::Warn, "{before} {now}");
    }
}

#[test]
fn a_purpose_is_that_of_its_own_sentence_in_korean() {
    let widened = "캐시 만료 시간을 늘린다. 성능을 위해 로그를 남긴다";
    let found = judged(
        &approach("캐시 만료 시간을 늘린다", &[], &[]),
        &[failed(TASK, approach(widened, &[], &[]), 3, "no use")],
    );
    assert_ne!(found.verdict, Verdict::Allow);
}

/// The same, as builds with other rules recorded it.
fn recorded_otherwise(failed: &[FailedApproach]) -> Vec<FailedApproach> {
    let failed = failed.iter().enumerate();
    let otherwise = failed.map(|(at, failed)| FailedApproach {
        wording: match at % 3 {
            0 => Wording::default(),
            1 => Wording {
                rule: failed.wording.rule ^ 1,
                ..failed.wording.clone()
            },
            _ => Wording {
                rule: failed.wording.rule ^ 2,
                words: vec![Term::from_bits(7)],
                ..Wording::default()
            },
        },
        ..failed.clone()
    });
    otherwise.collect()
}

#[test]
fn a_wording_counts_as_it_was_recorded_unless_another_rule_made_it() {
    let tried = approach("Increase the read timeout", &["src/http.rs"], &[]);
    let other = approach("Stream the body in chunks", &["src/body.rs"], &[]);
    let recorded = FailedApproach {
        wording: Wording::of(&tried),
        ..failed(TASK, other.clone(), 3, "no use")
    };
    let recorded = [recorded];
    assert_eq!(judged(&tried, &recorded).verdict, Verdict::Reject);
    assert_eq!(judged(&other, &recorded).verdict, Verdict::Allow);
    for number in 0..3 {
        let anew = &recorded_otherwise(&vec![recorded[0].clone(); 3])[number..=number];
        assert_eq!(judged(&tried, anew).verdict, Verdict::Allow);
        assert_eq!(judged(&other, anew).verdict, Verdict::Reject);
    }
}

#[test]
fn whoever_may_not_go_on_is_told_so_in_both_languages() {
    for language in Language::ALL {
        assert_eq!(order(Verdict::Allow, language), None);
        assert_eq!(
            order(Verdict::Block, language),
            order(Verdict::Reject, language)
        );
        assert_ne!(
            order(Verdict::Warn, language),
            order(Verdict::Block, language)
        );
        assert_eq!(language.as_str().parse(), Ok(language));
    }
    let told = order(Verdict::Block, Language::Korean).unwrap();
    assert_eq!(
        told,
        "멈춰! 같은 방법으로는 해결 안 돼. 다른 전략을 찾거나 사람에게 물어봐"
    );
}

proptest! {
    #[test]
    fn any_text_has_a_fingerprint_and_so_has_what_is_hashed(text in "(\\PC|\n|\r|\t|\u{1b}){0,200}") {
        let core = core_error(&text);
        prop_assert_eq!(ErrorHash::of(&text), ErrorHash::of(&text));
        prop_assert!(core.lines().collect::<Vec<_>>().is_sorted());
        let hash = ErrorHash::of(&text);
        prop_assert_eq!(hash.to_string().parse::<ErrorHash>(), Ok(hash));
    }

    #[test]
    fn verdicts_are_those_of_all_errors_before(errors in proptest::collection::vec(0u8..5, 1..24)) {
        let hashes: Vec<ErrorHash> = errors.iter().map(|number| error(*number)).collect();
        for (at, judged) in judgements(hashes.iter().copied()).iter().enumerate() {
            let told = (judged.verdict, judged.count as usize);
            prop_assert_eq!(told, naive(&hashes[..at], hashes[at]));
        }
    }

    #[test]
    fn wordings_that_were_kept_and_those_that_are_made_anew_lead_to_the_same(
        tried in proptest::collection::vec(("(cache|retry|remove|read|body|timeout|client| ){1,16}", 0_u64..6, any::<bool>()), 0..12),
        proposed in "(cache|retry|remove|read|body|timeout|client| ){1,16}",
    ) {
        let tried = tried.into_iter().map(|(text, seq, is_here)| {
            let task = if is_here { TASK } else { "org/a/project/p/worktree/w/task/u" };
            failed(task, approach(&text, &["src/http.rs"], &[]), seq, "no use")
        });
        let tried: Vec<FailedApproach> = tried.collect();
        let proposed = approach(&proposed, &["src/http.rs"], &[]);
        let judged_anew = judged(&proposed, &recorded_otherwise(&tried));
        prop_assert_eq!(judged(&proposed, &tried), judged_anew);
    }
}
