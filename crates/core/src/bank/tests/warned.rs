//! Tests of what a task is warned of.

use super::*;

const OPENING: &str =
    "Cache the headers\nParsed headers are read again and again, and the session table is slow";

fn warned(failed: &[FailedApproach], trajectories: &[Trajectory]) -> Vec<Warning> {
    let config = BankConfig::default();
    let titles = BTreeMap::new();
    let (warnings, cut) = warnings(&task(0), &[OPENING], failed, &titles, trajectories, &config);
    assert!(!cut);
    warnings
}

fn texts(warnings: &[Warning]) -> Vec<&str> {
    let texts = warnings.iter().map(|one| one.approach.text.as_str());
    texts.collect()
}

#[test]
fn where_not_all_can_be_worded_anew_a_failure_is_left_out_by_its_age_and_not_by_what_tells_of_it() {
    let said = |day| Said {
        task: 1,
        kind: 0,
        approach: 0,
        again: false,
        ended: Ended::Failed,
        reward: -1.0,
        day,
        kept: false,
    };
    let told = trajectories(&[said(1)]);
    let mut one = failed(2, 0, 100, 2);
    one.wording = Wording::default();
    let called = BTreeMap::new();
    let bytes = one.approach.bytes();
    let (trials, cut) = trials(told.iter(), [&one].into_iter(), &called, Room::of(bytes));
    let [left] = &trials[..] else {
        panic!("there is room for one")
    };
    assert_eq!((left.verification, cut), (Some(one.verification), true));
}

#[test]
fn a_task_is_warned_of_what_failed_elsewhere_and_is_like_it() {
    let all = [
        failed(1, 0, 100, 1),
        failed(1, 2, 101, 1),
        failed(2, 0, 103, 2),
    ];
    let found = warned(&all, &[]);
    assert_eq!(texts(&found), [APPROACHES[0]]);
    let one = &found[0];
    assert_eq!((one.failed, one.succeeded, one.cut), (2, 0, false));
    assert_eq!(one.reasons, ["reason 1"]);
    let records: Vec<String> = one
        .failures
        .iter()
        .map(|one| one.record.to_string())
        .collect();
    let expected = [format!("{}#103", task(2)), format!("{}#100", task(1))];
    assert_eq!(records, expected);
    assert_eq!(one.failures[0].verification, Some(all[2].verification));
    assert_eq!(one.last, all[2].at);
}

#[test]
fn what_else_a_task_is_about_is_compared_by_itself() {
    let all = [failed(1, 0, 100, 1), failed(1, 2, 101, 1)];
    let config = BankConfig::default();
    let found = |asked: &[&str]| {
        let (found, _) = warnings(&task(0), asked, &all, &BTreeMap::new(), &[], &config);
        let texts = found.into_iter().map(|one| one.approach.text);
        texts.collect::<BTreeSet<_>>()
    };
    let texts = |numbers: &[usize]| {
        let texts = numbers.iter().map(|number| APPROACHES[*number].to_owned());
        texts.collect::<BTreeSet<_>>()
    };
    let plain = "The conversation of somebody";
    assert_eq!(found(&[plain]), texts(&[]));
    assert_eq!(found(&[plain, "the upload is to be retried"]), texts(&[2]));
    assert_eq!(
        found(&[OPENING, "the upload is to be retried"]),
        texts(&[0, 2])
    );
    // A word of each says nothing.
    assert_eq!(found(&["upload a picture", "retry the login"]), texts(&[]));
}

#[test]
fn what_a_task_was_called_counts_beside_what_was_done() {
    let said = Said {
        task: 1,
        kind: 0,
        approach: 2,
        again: false,
        ended: Ended::Failed,
        reward: -1.0,
        day: 3,
        kept: true,
    };
    let mut all = trajectories(&[said]);
    assert!(warned(&[], &all).is_empty());
    all[0].titled = Wording::of(&approach("Cache parsed headers of the session"));
    let found = warned(&[], &all);
    assert_eq!(texts(&found), [APPROACHES[2]]);
    assert_eq!(found[0].kinds, ["bugfix".parse().unwrap()]);
    assert_eq!(found[0].failures[0].verification, None);
    // What another rule worded is not compared.
    all[0].titled.rule ^= 1;
    assert!(warned(&[], &all).is_empty());
}

#[test]
fn what_the_task_of_a_verification_that_failed_was_called_counts_as_well() {
    let all = [failed(1, 2, 100, 1), failed(2, 2, 101, 2)];
    let called = |number, title: &str| BTreeMap::from([(task(number), title.to_owned())]);
    let config = BankConfig::default();
    let found = |titles| warnings(&task(0), &[OPENING], &all, &titles, &[], &config).0;
    assert!(found(called(1, "Another thing altogether")).is_empty());
    // What another task was called says nothing of these.
    assert!(found(called(3, "Cache parsed headers of the session")).is_empty());
    let found = found(called(1, "Cache parsed headers of the session"));
    assert_eq!(texts(&found), [APPROACHES[2]]);
    assert_eq!(found[0].failed, 2, "one approach is one warning");
}

#[test]
fn what_worked_more_often_warns_less_and_what_never_failed_not_at_all() {
    let said = |approach, ended, reward| Said {
        task: 1,
        kind: 0,
        approach,
        again: false,
        ended,
        reward,
        day: 3,
        kept: true,
    };
    let worked = said(0, Ended::Succeeded, 1.0);
    assert!(warned(&[], &trajectories(std::slice::from_ref(&worked))).is_empty());
    let mut all = vec![
        said(0, Ended::Failed, -1.0),
        said(1, Ended::Failed, -1.0),
        said(1, Ended::Failed, -1.0),
    ];
    let opening = format!("{}\n{}", APPROACHES[0], APPROACHES[1]);
    let first = |said: &[Said]| {
        let all = trajectories(said);
        let config = BankConfig::default();
        let (found, _) = warnings(
            &task(0),
            &[opening.as_str()],
            &[],
            &BTreeMap::new(),
            &all,
            &config,
        );
        assert_eq!(found.len(), 2);
        found[0].approach.text.clone()
    };
    assert_eq!(first(&all), APPROACHES[1]);
    all.extend([
        said(1, Ended::Succeeded, 1.0),
        said(1, Ended::Succeeded, 1.0),
    ]);
    assert_eq!(first(&all), APPROACHES[0]);
}

#[test]
fn a_task_that_says_nothing_is_warned_of_nothing() {
    let (found, cut) = warnings(
        &task(0),
        &["the of", ""],
        &[failed(1, 0, 100, 1)],
        &BTreeMap::new(),
        &[],
        &BankConfig::default(),
    );
    assert!(found.is_empty() && !cut);
}

#[test]
fn of_very_many_failures_the_most_alike_are_told_and_that_there_are_more() {
    let number = |number: u64| char::from(b'a' + u8::try_from(number).unwrap());
    let all: Vec<FailedApproach> = (0..25)
        .map(|seq| {
            let one = failed(1, 0, 100 + seq, 1);
            let text = format!("{} zz{}q", one.approach.text, number(seq));
            let approach = approach(&text);
            FailedApproach {
                wording: Wording::of(&approach),
                approach,
                ..one
            }
        })
        .collect();
    let config = BankConfig::default();
    let (found, cut) = warnings(&task(0), &[OPENING], &all, &BTreeMap::new(), &[], &config);
    assert_eq!((found.len(), cut), (WARNINGS_MAX, true));
}

proptest! {
    #[test]
    fn each_warning_cites_failures_of_other_tasks_that_tried_that(failed in any_failed(), said in any_said()) {
        let trajectories = trajectories(&said);
        for warning in warned(&failed, &trajectories) {
            let tried = |text: &str| {
                let number = APPROACHES.iter().chain(&AGAIN).position(|one| *one == text);
                number.unwrap() % APPROACHES.len()
            };
            let of = tried(&warning.approach.text);
            let verifications = failed.iter().filter(|one| one.task != task(0));
            let verifications = verifications.filter(|one| tried(&one.approach.text) == of);
            let told = trajectories.iter().filter(|one| one.task != task(0));
            let told = told.filter(|one| tried(&one.approach.text) == of);
            let ended = |ended| told.clone().filter(move |one| one.ended == ended).count();
            let failures = verifications.clone().count() + ended(Ended::Failed);
            prop_assert_eq!(warning.failed as usize, failures);
            prop_assert_eq!(warning.succeeded as usize, ended(Ended::Succeeded));
            prop_assert_eq!(warning.failures.len(), failures.min(BANK_CITED_MAX));
            prop_assert!(warning.failures.windows(2).all(|pair| pair[0].at >= pair[1].at));
            for cited in &warning.failures {
                prop_assert!(cited.record.scope != task(0));
                let is_verification = verifications.clone().any(|one| {
                    one.seq == cited.record.seq && Some(one.verification) == cited.verification
                });
                let is_told = told.clone().any(|one| {
                    one.record() == cited.record && one.ended == Ended::Failed && cited.verification.is_none()
                });
                prop_assert!(is_verification != is_told);
            }
        }
    }

    #[test]
    fn warnings_are_the_same_in_whatever_order_failures_are_read(failed in any_failed(), said in any_said(), turn in 0..24_usize) {
        let told = trajectories(&said);
        let (mut failed_turned, mut told_turned) = (failed.clone(), told.clone());
        failed_turned.rotate_left(turn.min(failed.len()));
        told_turned.reverse();
        prop_assert_eq!(warned(&failed, &told), warned(&failed_turned, &told_turned));
    }
}
