//! How much is told of what failed, and how much is looked at.

use super::*;
use crate::limits::{
    APPROACH_NAME_BYTES_MAX, ERROR_TEXT_BYTES_MAX, FIX_REASONS_MAX, FIX_REWORDED_BYTES_MAX,
    FIX_TOLD_BYTES_MAX, FIX_TRIED_MAX, WORDED_BYTES_MAX,
};

fn tried() -> Approach {
    approach("Increase the read timeout", &["src/http.rs"], &[])
}

fn other_task(number: usize) -> String {
    format!("org/a/project/p/worktree/w/task/o{number:03}")
}

#[test]
fn of_many_histories_those_of_the_task_are_told_and_then_the_most_alike() {
    let of_others = |count: usize| (0..count).map(|n| failed(&other_task(n), tried(), 3, "no use"));
    let longer = approach(
        "Increase the read timeout of uploads",
        &["src/http.rs"],
        &[],
    );
    let own = failed(TASK, longer, 3, "no use");
    let before: Vec<FailedApproach> = of_others(FIX_TRIED_MAX - 1).chain([own.clone()]).collect();
    let found = judged(&tried(), &before);
    assert_eq!((found.verdict, found.cut), (Verdict::Reject, false));
    assert_eq!(found.tried.len(), FIX_TRIED_MAX);
    let before: Vec<FailedApproach> = of_others(FIX_TRIED_MAX).chain([own]).collect();
    let found = judged(&tried(), &before);
    assert_eq!((found.verdict, found.cut), (Verdict::Reject, true));
    let tasks = found.tried.iter().map(|tried| tried.task.to_string());
    let others = (0..FIX_TRIED_MAX - 1).map(other_task);
    let expected: Vec<String> = [TASK.to_owned()].into_iter().chain(others).collect();
    assert_eq!(tasks.collect::<Vec<_>>(), expected);
}

#[test]
fn of_many_reasons_the_newest_are_told_and_every_attempt_is_counted() {
    let of = |count: usize| {
        let newest_first = (0..count).rev();
        let before = newest_first.map(|number| {
            let seq = 3 + u64::try_from(number).unwrap();
            failed(TASK, tried(), seq, &format!("reason {number}"))
        });
        judged(&tried(), &before.collect::<Vec<_>>())
            .tried
            .remove(0)
    };
    let all = of(FIX_REASONS_MAX);
    assert_eq!((all.reasons.len(), all.cut), (FIX_REASONS_MAX, false));
    let newest = of(FIX_REASONS_MAX + 2);
    assert!(newest.cut);
    assert_eq!(newest.attempts as usize, FIX_REASONS_MAX + 2);
    let expected = (2..FIX_REASONS_MAX + 2).rev();
    let expected: Vec<String> = expected.map(|number| format!("reason {number}")).collect();
    assert_eq!(newest.reasons, expected);
}

#[test]
fn a_long_approach_is_told_in_short_and_what_stands_for_a_secret_is_not_cut_in_two() {
    let begin = "Increase the read timeout ";
    let masked = "[masked:github_token]";
    let mut text = begin.repeat(FIX_TOLD_BYTES_MAX / begin.len());
    text.truncate(FIX_TOLD_BYTES_MAX - masked.len() / 2);
    let whole = text.len();
    text.push_str(masked);
    let width = APPROACH_NAME_BYTES_MAX - "src/.rs".len();
    let name = |number: usize| format!("src/{number:0>width$}.rs");
    let long = Approach {
        text,
        files: (0..4).map(name).collect(),
        symbols: vec!["Client::read".to_owned()],
    };
    assert_eq!(name(0).len(), APPROACH_NAME_BYTES_MAX);
    let found = judged(&long, &[failed(TASK, long.clone(), 3, "no use")]);
    let told = &found.tried[0];
    assert!(told.cut);
    assert_eq!(told.approach.text, long.text[..whole]);
    let room = FIX_TOLD_BYTES_MAX / APPROACH_NAME_BYTES_MAX;
    assert_eq!(told.approach.files, long.files[..room]);
    assert_eq!(told.places.files, long.files[..room]);
    assert_eq!(told.approach.symbols, long.symbols);
    let short = judged(&tried(), &[failed(TASK, tried(), 3, "no use")]);
    assert_eq!(
        (&short.tried[0].approach, short.tried[0].cut),
        (&tried(), false)
    );
}

#[test]
fn what_all_attempts_touched_is_told_however_it_was_written() {
    let of =
        |files: &[&str], symbols: &[&str]| approach("Increase the read timeout", files, symbols);
    let before = [
        failed(
            TASK,
            of(&["./src/http.rs", "src/a.rs"], &["Client::read"]),
            5,
            "no use",
        ),
        failed(
            TASK,
            of(&["src\\http.rs", "src/b.rs"], &["client.read()", "get"]),
            4,
            "no use",
        ),
        failed(TASK, of(&["src/http.rs"], &["read"]), 3, "no use"),
    ];
    let found = judged(&of(&["src/http.rs"], &["read"]), &before);
    assert_eq!(found.tried[0].attempts, 3);
    let expected = Places {
        files: vec!["./src/http.rs".to_owned()],
        symbols: vec!["Client::read".to_owned()],
    };
    assert_eq!(found.tried[0].places, expected);
}

/// An approach of which no wording is kept.
fn long() -> Approach {
    let text = "Increase the read timeout and the pause ";
    let times = ERROR_TEXT_BYTES_MAX / text.len();
    approach(&text.repeat(times), &["src/http.rs"], &[])
}

#[test]
fn wordings_that_are_not_kept_are_made_anew_as_far_as_there_is_room_and_the_rest_is_cut() {
    let bytes = long().bytes();
    assert!(bytes > WORDED_BYTES_MAX);
    let room = FIX_REWORDED_BYTES_MAX / bytes;
    let unworded = |approach: Approach, seq: u64| FailedApproach {
        wording: Wording::kept(&approach),
        ..failed(TASK, approach, seq, "no use")
    };
    let of = |count: usize| -> Vec<FailedApproach> {
        let newest_first = (3..).take(count).collect::<Vec<u64>>().into_iter().rev();
        newest_first.map(|seq| unworded(long(), seq)).collect()
    };
    let found = judged(&long(), &of(room));
    assert_eq!((found.tried[0].attempts as usize, found.cut), (room, false));
    // What is kept is compared all the same, wherever it stands.
    let mut more = of(room + 2);
    let other = "org/a/project/p/worktree/w/task/u";
    more.push(failed(other, tried(), 3, "no use"));
    let found = judged(&long(), &more);
    assert_eq!((found.verdict, found.cut), (Verdict::Reject, true));
    let told = found.tried.iter();
    let told: Vec<(&str, usize)> = told
        .map(|tried| (tried.task.as_str(), tried.attempts as usize))
        .collect();
    assert_eq!(told, [(TASK, room), (other, 1)]);
    // The newest ones were looked at.
    assert_eq!(found.tried[0].last, more[0].at);
}
