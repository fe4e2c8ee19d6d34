//! Trajectories that are not what the events lead to, and answers that name other events.

use sillok_core::command::{Answer, AnswerBody, CommandRecord};
use sillok_core::id::Seq;
use sillok_store::keys::related::ScopePath;
use sillok_store::keys::{self, Family, trajectory};

use super::{WORLD, changed, difference_of, keys_of};
use crate::tests::harness::scope;

/// Rows of trajectories to which no event leads: one of the world, as if another event had told of it, and one in another place.
pub(super) fn additions() -> Vec<(Vec<u8>, Vec<u8>)> {
    let key = keys_of(Family::Trajectory).remove(0);
    let mut told = trajectory::decode(&key, &WORLD[&key]).unwrap();
    told.seq = Seq::new(1);
    let own = trajectory::key(&trajectory::Key::of(&told));
    let mut place = trajectory::parse(&key).unwrap();
    place.task = ScopePath::of(&scope("org/nowhere"));
    vec![
        (own, trajectory::encode(&told)),
        (trajectory::key(&place), WORLD[&key].clone()),
    ]
}

#[test]
fn a_row_of_a_trajectory_that_is_changed_missing_or_one_too_many_is_named() {
    for key in keys_of(Family::Trajectory) {
        let told = trajectory::decode(&key, &WORLD[&key]).unwrap();
        let mut lesson = told.clone();
        lesson.lesson.push('!');
        let mut title = told.clone();
        title.title.push('!');
        let wrong = [lesson, title].map(|wrong| Some(trajectory::encode(&wrong)));
        for value in wrong.into_iter().chain([None]) {
            let found = difference_of(&changed(|pairs| match value {
                Some(value) => drop(pairs.insert(key.clone(), value)),
                None => drop(pairs.remove(&key)),
            }));
            assert_eq!(found.family, Family::Trajectory.as_str(), "{found}");
            assert_eq!(found.seq, Some(told.seq));
            assert_eq!(found.scope.as_ref(), Some(&told.task));
        }
    }
    for (key, value) in additions() {
        let found = difference_of(&changed(|pairs| drop(pairs.insert(key.clone(), value))));
        assert_eq!(found.family, Family::Trajectory.as_str(), "{found}");
        assert_eq!(found.key, Some(hex::encode(&key)));
    }
}

#[test]
fn an_answer_that_names_another_event_is_named() {
    let mut answered = 0;
    for key in keys_of(Family::Command) {
        let record = keys::command::decode(&key, &WORLD[&key]).unwrap();
        let CommandRecord::Applied { digest, answer } = record else {
            continue;
        };
        let AnswerBody::TrajectoryStored { seq } = answer.result else {
            continue;
        };
        answered += 1;
        let wrong = CommandRecord::Applied {
            digest,
            answer: Answer {
                result: AnswerBody::TrajectoryStored {
                    seq: Seq::new(seq.get() - 1),
                },
                ..answer
            },
        };
        let value = keys::command::encode(&wrong);
        let found = difference_of(&changed(|pairs| drop(pairs.insert(key.clone(), value))));
        assert_eq!(found.family, Family::Command.as_str(), "{found}");
    }
    assert_eq!(answered, 2);
}
