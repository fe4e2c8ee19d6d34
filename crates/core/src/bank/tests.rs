//! Tests of patterns, of searches and of warnings, against models that know nothing of how they are worked out.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use proptest::sample::select;

use super::alike::Room;
use super::trial::trials;
use super::*;
use crate::circular::{Approach, FailedApproach, Wording};
use crate::config::{BankConfig, RecallConfig};
use crate::id::{Seq, VerificationId};
use crate::limits::{BANK_CITED_MAX, WARNINGS_MAX};
use crate::scope::Scope;
use crate::time::{DAY_MS, Timestamp};

mod warned;

/// Approaches that no two words make one of.
const APPROACHES: [&str; 4] = [
    "cache the parsed headers",
    "lock the session table",
    "retry the upload",
    "widen the price column",
];
/// The same in other orders and forms of their words.
const AGAIN: [&str; 4] = [
    "parsed headers: cache",
    "the table of sessions is locked",
    "retrying uploads",
    "column of prices: widen",
];
const KINDS: [&str; 2] = ["bugfix", "feature"];
const START: u64 = 400 * DAY_MS;

fn task(number: usize) -> Scope {
    Scope::parse(&format!("org/a/project/p/worktree/w/task/t{number}")).unwrap()
}

fn approach(text: &str) -> Approach {
    Approach {
        text: text.to_owned(),
        ..Approach::default()
    }
}

/// What a test says of a trajectory.
#[derive(Clone, Debug)]
struct Said {
    task: usize,
    kind: usize,
    approach: usize,
    again: bool,
    ended: Ended,
    reward: f64,
    day: u64,
    kept: bool,
}

fn any_said() -> impl Strategy<Value = Vec<Said>> {
    let what = (0..5_usize, 0..KINDS.len(), 0..APPROACHES.len());
    let how = (select(Ended::ALL.to_vec()), -1.0..=1.0_f64, 0..90_u64);
    let one = (what, how, any::<bool>(), any::<bool>());
    let said = one.prop_map(
        |((task, kind, approach), (ended, reward, day), again, kept)| Said {
            task,
            kind,
            approach,
            again,
            ended,
            reward,
            day,
            kept,
        },
    );
    proptest::collection::vec(said, 0..24)
}

/// Trajectories that say so, each by an event of its own.
fn trajectories(said: &[Said]) -> Vec<Trajectory> {
    let numbered = said.iter().zip(1..);
    numbered
        .map(|(said, seq)| {
            let text = if said.again { AGAIN } else { APPROACHES };
            let approach = approach(text[said.approach]);
            let title = self::approach("t");
            Trajectory {
                task: task(said.task),
                seq: Seq::new(seq),
                at: Timestamp::from_ms(START + said.day * DAY_MS),
                kind: KINDS[said.kind].parse().unwrap(),
                title: "t".to_owned(),
                wording: if said.kept {
                    Wording::of(&approach)
                } else {
                    Wording::default()
                },
                approach,
                ended: said.ended,
                reward: Reward::of(said.reward).unwrap(),
                lesson: format!("lesson {seq}"),
                titled: Wording::of(&title),
            }
        })
        .collect()
}

fn failed(number: usize, approach: usize, seq: u64, day: u64) -> FailedApproach {
    let approach = self::approach(APPROACHES[approach]);
    FailedApproach {
        task: task(number),
        seq: Seq::new(seq),
        verification: VerificationId::from_bytes([u8::try_from(seq).unwrap(); 16]),
        wording: Wording::of(&approach),
        approach,
        reason: format!("reason {}", seq % 3),
        at: Timestamp::from_ms(START + day * DAY_MS),
    }
}

fn any_failed() -> impl Strategy<Value = Vec<FailedApproach>> {
    let one = (0..5_usize, 0..APPROACHES.len(), 0..90_u64);
    let all = proptest::collection::vec(one, 0..24);
    all.prop_map(|all| {
        let numbered = all.into_iter().zip(100..);
        let failed = numbered.map(|((task, approach, day), seq)| failed(task, approach, seq, day));
        failed.collect()
    })
}

fn query(text: &str, failures_only: bool) -> PatternQuery {
    PatternQuery::of(text, None, failures_only, Some(50)).unwrap()
}

fn searched(query: &PatternQuery, trajectories: &[Trajectory], now_days: u64) -> PatternsFound {
    searched_among(query, (trajectories, &[]), now_days)
}

fn searched_among(
    query: &PatternQuery,
    (trajectories, failed): (&[Trajectory], &[FailedApproach]),
    now_days: u64,
) -> PatternsFound {
    let now = Timestamp::from_ms(START + now_days * DAY_MS);
    let (bank, recall) = (BankConfig::default(), RecallConfig::default());
    search(query, trajectories, failed, now, &bank, &recall)
}

/// What the model knows of a pattern.
#[derive(Clone, Default)]
struct Known {
    succeeded: u32,
    failed: u32,
    rewards: Vec<f64>,
    last: u64,
}

/// The patterns that follow, told apart by what the test meant, with rewards in the order of their times. A verification counts
/// for each sort of task at which its approach was tried, or else for none.
fn model(said: &[Said], failed: &[FailedApproach]) -> BTreeMap<(Option<usize>, usize), Known> {
    let mut in_time: Vec<(u64, usize, usize, &Said)> = said
        .iter()
        .enumerate()
        .map(|(number, said)| (said.day, said.task, number, said))
        .collect();
    in_time.sort_by_key(|(day, task, number, _)| (*day, *task, *number));
    let mut known: BTreeMap<(Option<usize>, usize), Known> = BTreeMap::new();
    for (day, _, _, said) in in_time {
        let one = known.entry((Some(said.kind), said.approach)).or_default();
        match said.ended {
            Ended::Succeeded => one.succeeded += 1,
            Ended::Failed => one.failed += 1,
        }
        one.rewards.push(said.reward);
        one.last = day;
    }
    let of_kinds = known.clone();
    for one in failed {
        let tried = APPROACHES
            .iter()
            .position(|text| *text == one.approach.text);
        let tried = tried.unwrap();
        let of_kinds = of_kinds.keys().filter(|(_, approach)| *approach == tried);
        let mut places: Vec<(Option<usize>, usize)> = of_kinds.copied().collect();
        if places.is_empty() {
            places.push((None, tried));
        }
        for place in places {
            let known = known.entry(place).or_default();
            known.failed += 1;
            known.last = known.last.max((one.at.ms() - START) / DAY_MS);
        }
    }
    known
}

/// What rewards make of a weight: each counts a fifth of what is left, the first one least.
fn weight(rewards: &[f64]) -> f64 {
    let mut share = 1.0;
    let mut sum = 0.0;
    for reward in rewards.iter().rev() {
        sum += share * 0.2 * (reward + 1.0) / 2.0;
        share *= 0.8;
    }
    sum + share * 0.5
}

#[test]
fn words_in_another_order_and_form_are_one_approach_and_other_words_are_another() {
    let kind: TaskKind = "bugfix".parse().unwrap();
    let of = |text: &str| Signature::of(Some(&kind), &Wording::of(&approach(text)));
    let mut all = BTreeSet::new();
    for (one, again) in APPROACHES.iter().zip(AGAIN) {
        assert_eq!(of(one), of(again), "{one} / {again}");
        all.insert(of(one));
    }
    assert_eq!(all.len(), APPROACHES.len());
}

#[test]
fn another_file_makes_no_other_pattern_and_another_sort_of_task_does() {
    let kinds = KINDS.map(|kind| kind.parse::<TaskKind>().unwrap());
    let at = |file: &str| {
        Wording::of(&Approach {
            files: vec![file.to_owned()],
            ..approach(APPROACHES[0])
        })
    };
    let (one, other) = (at("src/a.rs"), at("src/b.rs"));
    let of = |kind: usize, wording: &Wording| Signature::of(Some(&kinds[kind]), wording);
    assert_eq!(of(0, &one), of(0, &other));
    assert_ne!(of(0, &one), of(1, &one));
    assert_ne!(of(0, &one), Signature::of(None, &one));
    // Where nothing is said but a file, the file is what was done.
    let bare = |file: &str| {
        Wording::of(&Approach {
            files: vec![file.to_owned()],
            ..approach("fix")
        })
    };
    assert_ne!(of(0, &bare("src/a.rs")), of(0, &bare("src/b.rs")));
}

#[test]
fn an_approach_that_only_failed_verifications_is_found_among_failures_and_is_of_no_sort_of_task() {
    let all = [failed(1, 2, 100, 3), failed(2, 2, 101, 4)];
    let found = |asked: &PatternQuery| searched_among(asked, (&[], &all), 4).patterns;
    assert!(found(&query("retry uploads", false)).is_empty());
    let asked = query("retry uploads", true);
    let patterns = found(&asked);
    let [one] = &patterns[..] else {
        panic!("{patterns:?}")
    };
    assert_eq!(
        (one.pattern.kind.as_ref(), one.pattern.tally.failed),
        (None, 2)
    );
    assert_eq!(one.pattern.cited[0].verification, Some(all[1].verification));
    assert_eq!(one.pattern.cited[0].lesson, all[1].reason);
    let of_kind = PatternQuery {
        kind: Some(KINDS[0].parse().unwrap()),
        ..asked
    };
    assert!(found(&of_kind).is_empty());
}

#[test]
fn what_finds_no_room_to_be_worded_anew_is_the_oldest() {
    let said = |ended, reward, day| Said {
        task: 1,
        kind: 0,
        approach: 0,
        again: false,
        ended,
        reward,
        day,
        kept: false,
    };
    let all = trajectories(&[said(Ended::Failed, -1.0, 1), said(Ended::Succeeded, 1.0, 2)]);
    let called = BTreeMap::new();
    let bytes = all[0].approach.bytes();
    for (rooms, days) in [(0, &[][..]), (1, &[2][..]), (2, &[1, 2][..])] {
        let room = Room::of(rooms * bytes);
        let (trials, cut) = trials(all.iter(), [].into_iter(), &called, room);
        let told: Vec<u64> = trials.iter().map(|one| one.at.ms()).collect();
        let expected: Vec<u64> = days.iter().map(|day| START + day * DAY_MS).collect();
        assert_eq!((told, cut), (expected, rooms < 2));
    }
}

#[test]
fn what_a_question_says_has_bounds() {
    let refused = |text: &str, limit| PatternQuery::of(text, None, false, limit).is_err();
    assert!(!refused("headers", None));
    assert!(refused(" ", None) && refused("headers", Some(0)));
    assert!(refused("headers", Some(51)) && !refused("headers", Some(50)));
    assert!(refused(&"x".repeat(8 * 1_024 + 1), None));
}

proptest! {
    #[test]
    fn patterns_are_counted_and_weighed_as_a_model_does(said in any_said(), failed in any_failed()) {
        let trajectories = trajectories(&said);
        for (number, text) in APPROACHES.iter().enumerate() {
            for failures_only in [false, true] {
                let all = (&trajectories[..], &failed[..]);
                let found = searched_among(&query(text, failures_only), all, 90);
                prop_assert!(!found.cut);
                let model = model(&said, &failed);
                let sought = model.iter().filter(|((_, approach), known)| {
                    let times = if failures_only { known.failed } else { known.succeeded };
                    *approach == number && times > 0
                });
                let mut sought: BTreeMap<Option<&str>, &Known> =
                    sought.map(|((kind, _), known)| (kind.map(|kind| KINDS[kind]), known)).collect();
                for one in &found.patterns {
                    let (pattern, tally) = (&one.pattern, one.pattern.tally);
                    let known = sought.remove(&pattern.kind.as_ref().map(TaskKind::as_str));
                    let known = known.expect("a pattern that the model knows");
                    prop_assert_eq!((tally.succeeded, tally.failed), (known.succeeded, known.failed));
                    let (s, f) = (f64::from(known.succeeded), f64::from(known.failed));
                    prop_assert!((pattern.success_rate - (1.0 + s) / (2.0 + s + f)).abs() < 1e-12);
                    prop_assert!((tally.weight - weight(&known.rewards)).abs() < 1e-9);
                    prop_assert!((0.0..=1.0).contains(&tally.weight));
                    prop_assert_eq!(pattern.last_used.ms(), START + known.last * DAY_MS);
                    let days = u32::try_from(90 - known.last).unwrap();
                    let recency = 0.95_f64.powf(f64::from(days));
                    prop_assert!((one.recency - recency).abs() < 1e-9);
                    prop_assert!((one.similarity - 1.0).abs() < 1e-12);
                    let score = one.similarity * one.strength * one.recency;
                    prop_assert_eq!(one.score, score);
                    let taken = (known.succeeded + known.failed) as usize;
                    prop_assert_eq!(pattern.cited.len(), taken.min(BANK_CITED_MAX));
                    prop_assert_eq!(pattern.cut, taken > BANK_CITED_MAX);
                    prop_assert!(pattern.cited.windows(2).all(|pair| pair[0].at >= pair[1].at));
                    let of_verification = |cited: &&Cited| cited.verification.is_some();
                    for cited in pattern.cited.iter().filter(of_verification) {
                        prop_assert!(cited.reward.is_none() && cited.ended == Ended::Failed);
                    }
                }
                prop_assert!(sought.is_empty(), "none is left out");
            }
        }
    }

    #[test]
    fn the_order_in_which_trials_are_read_changes_nothing(
        said in any_said(), failed in any_failed(), turn in 0..24_usize,
    ) {
        let trajectories = trajectories(&said);
        let (mut turned, mut failed_turned) = (trajectories.clone(), failed.clone());
        turned.rotate_left(turn.min(trajectories.len()));
        turned.reverse();
        failed_turned.reverse();
        for failures_only in [false, true] {
            let asked = query("cache the upload column", failures_only);
            let one = searched_among(&asked, (&trajectories, &failed), 91);
            prop_assert_eq!(one, searched_among(&asked, (&turned, &failed_turned), 91));
        }
    }

    #[test]
    fn the_best_come_first_and_a_limit_cuts_off_the_rest(said in any_said(), limit in 1..8_usize) {
        let trajectories = trajectories(&said);
        let text = APPROACHES.join(" ");
        let whole = searched(&query(&text, false), &trajectories, 91);
        prop_assert!(whole.patterns.windows(2).all(|pair| pair[0].score >= pair[1].score));
        let asked = PatternQuery { limit, ..query(&text, false) };
        let few = searched(&asked, &trajectories, 91);
        prop_assert_eq!(few.cut, whole.patterns.len() > limit);
        prop_assert_eq!(&few.patterns[..], &whole.patterns[..whole.patterns.len().min(limit)]);
    }

    #[test]
    fn waiting_takes_from_the_rank_and_use_restores_it(said in any_said(), wait in 1..60_u64) {
        let all = trajectories(&said);
        let text = APPROACHES.join(" ");
        let (early, late) = (searched(&query(&text, false), &all, 90), searched(&query(&text, false), &all, 90 + wait));
        prop_assert_eq!(early.patterns.len(), late.patterns.len());
        for (one, other) in early.patterns.iter().zip(&late.patterns) {
            // All lose the same share, so that their order stays.
            prop_assert_eq!(one.pattern.signature, other.pattern.signature);
            prop_assert!(other.recency < one.recency);
        }
        let Some(first) = early.patterns.first() else { return Ok(()) };
        let used = Said { day: 90 + wait, ..said[usize::try_from(first.pattern.cited[0].record.seq.get() - 1).unwrap()].clone() };
        let again = trajectories(&[said, vec![used]].concat());
        let found = searched(&query(&text, false), &again, 90 + wait);
        let found = found.patterns.iter().find(|one| one.pattern.signature == first.pattern.signature);
        prop_assert!(found.is_none_or(|one| (one.recency - 1.0).abs() < 1e-12));
        prop_assert!(found.is_some());
    }

    #[test]
    fn a_higher_reward_never_weighs_less_and_a_further_success_never_lowers_the_rate(
        rewards in proptest::collection::vec(-1.0..=1.0_f64, 1..12), at in 0..12_usize, more in 0.0..=2.0_f64,
    ) {
        let config = BankConfig::default();
        let tally = |rewards: &[f64]| {
            let mut tally = Tally::none(&config);
            for reward in rewards {
                tally.take(Ended::Failed, Some(Reward::of(*reward).unwrap()), &config);
            }
            tally
        };
        let mut higher = rewards.clone();
        let at = at % rewards.len();
        higher[at] = (higher[at] + more).min(1.0);
        prop_assert!(tally(&higher).weight >= tally(&rewards).weight);
        let before = tally(&rewards);
        let mut after = before;
        after.take(Ended::Succeeded, None, &config);
        prop_assert!(after.success_rate(&config) > before.success_rate(&config));
        prop_assert_eq!(after.weight, before.weight);
        let rate = before.success_rate(&config);
        prop_assert!(rate > 0.0 && rate < 1.0);
    }

    #[test]
    fn a_pattern_of_one_sort_of_task_is_not_found_for_another(said in any_said(), kind in 0..KINDS.len()) {
        let all = trajectories(&said);
        let text = APPROACHES.join(" ");
        let asked = PatternQuery { kind: Some(KINDS[kind].parse().unwrap()), ..query(&text, false) };
        let found = searched(&asked, &all, 91);
        let is_of_kind = |one: &&PatternFound| one.pattern.kind.as_ref().is_some_and(|of| of.as_str() == KINDS[kind]);
        prop_assert!(found.patterns.iter().all(|one| is_of_kind(&one)));
        let of_all = searched(&query(&text, false), &all, 91);
        let of_kind = of_all.patterns.iter().filter(is_of_kind);
        prop_assert_eq!(of_kind.count(), found.patterns.len());
    }
}
