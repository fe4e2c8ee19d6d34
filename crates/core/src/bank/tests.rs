//! Tests of patterns, of searches and of warnings, against models that know nothing of how they are worked out.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use proptest::sample::select;

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

fn query(text: &str, failures_only: bool) -> PatternQuery {
    PatternQuery::of(text, None, failures_only, Some(50)).unwrap()
}

fn searched(query: &PatternQuery, trajectories: &[Trajectory], now_days: u64) -> PatternsFound {
    let now = Timestamp::from_ms(START + now_days * DAY_MS);
    let (bank, recall) = (BankConfig::default(), RecallConfig::default());
    search(query, trajectories, now, &bank, &recall)
}

/// What the model knows of a pattern.
#[derive(Default)]
struct Known {
    succeeded: u32,
    failed: u32,
    rewards: Vec<f64>,
    last: u64,
}

/// The patterns that follow, told apart by what the test meant, with rewards in the order of their times.
fn model(said: &[Said]) -> BTreeMap<(usize, usize), Known> {
    let mut in_time: Vec<(u64, usize, usize, &Said)> = said
        .iter()
        .enumerate()
        .map(|(number, said)| (said.day, said.task, number, said))
        .collect();
    in_time.sort_by_key(|(day, task, number, _)| (*day, *task, *number));
    let mut known: BTreeMap<(usize, usize), Known> = BTreeMap::new();
    for (day, _, _, said) in in_time {
        let one = known.entry((said.kind, said.approach)).or_default();
        match said.ended {
            Ended::Succeeded => one.succeeded += 1,
            Ended::Failed => one.failed += 1,
        }
        one.rewards.push(said.reward);
        one.last = day;
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
fn what_a_question_says_has_bounds() {
    let refused = |text: &str, limit| PatternQuery::of(text, None, false, limit).is_err();
    assert!(!refused("headers", None));
    assert!(refused(" ", None) && refused("headers", Some(0)));
    assert!(refused("headers", Some(51)) && !refused("headers", Some(50)));
    assert!(refused(&"x".repeat(8 * 1_024 + 1), None));
}

proptest! {
    #[test]
    fn patterns_are_counted_and_weighed_as_a_model_does(said in any_said()) {
        let trajectories = trajectories(&said);
        for (number, text) in APPROACHES.iter().enumerate() {
            for failures_only in [false, true] {
                let found = searched(&query(text, failures_only), &trajectories, 90);
                prop_assert!(!found.cut);
                let model = model(&said);
                let sought = model.iter().filter(|((_, approach), known)| {
                    let times = if failures_only { known.failed } else { known.succeeded };
                    *approach == number && times > 0
                });
                let mut sought: BTreeMap<&str, &Known> =
                    sought.map(|((kind, _), known)| (KINDS[*kind], known)).collect();
                for one in &found.patterns {
                    let (pattern, tally) = (&one.pattern, one.pattern.tally);
                    let known = sought.remove(pattern.kind.as_str());
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
                    prop_assert_eq!(pattern.cited.len(), known.rewards.len().min(BANK_CITED_MAX));
                }
                prop_assert!(sought.is_empty(), "none is left out");
            }
        }
    }

    #[test]
    fn the_order_in_which_trajectories_are_read_changes_nothing(said in any_said(), turn in 0..24_usize) {
        let trajectories = trajectories(&said);
        let mut turned = trajectories.clone();
        turned.rotate_left(turn.min(trajectories.len()));
        turned.reverse();
        for failures_only in [false, true] {
            let asked = query("cache the upload column", failures_only);
            prop_assert_eq!(searched(&asked, &trajectories, 91), searched(&asked, &turned, 91));
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
        prop_assert!(found.patterns.iter().all(|one| one.pattern.kind.as_str() == KINDS[kind]));
        let of_all = searched(&query(&text, false), &all, 91);
        let of_kind = of_all.patterns.iter().filter(|one| one.pattern.kind.as_str() == KINDS[kind]);
        prop_assert_eq!(of_kind.count(), found.patterns.len());
    }
}
