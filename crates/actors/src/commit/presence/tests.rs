//! Tests of asking for cited commits: how often, what is remembered, and for how long nobody waits again.

use std::sync::Arc;

use sillok_core::ports::{BoxFuture, Clock, GitFacts};
use sillok_core::validity::Ancestry;

use super::*;
use crate::tests::harness::{TASK, ports, scope};

/// A repository with one commit that answers after some time, or not.
struct Slow {
    clock: Arc<dyn Clock>,
    after_ms: u64,
    answers: bool,
    asked: Mutex<Vec<Vec<CommitName>>>,
}

fn whole(digit: char) -> CommitName {
    CommitName::new(&digit.to_string().repeat(HASH_DIGITS), "r")
}

impl GitFacts for Slow {
    fn ancestry<'a>(
        &'a self,
        _: &'a Scope,
        _: &'a str,
        _: &'a [String],
    ) -> BoxFuture<'a, Result<Option<Vec<Ancestry>>, PortError>> {
        Box::pin(async { Ok(None) })
    }

    fn presence<'a>(
        &'a self,
        _: &'a Scope,
        commits: &'a [CommitName],
    ) -> BoxFuture<'a, Result<Option<Vec<Presence>>, PortError>> {
        Box::pin(async move {
            self.asked.lock().push(commits.to_vec());
            self.clock.sleep(self.after_ms).await;
            if !self.answers {
                return Err(PortError::Unavailable("its disk is slow".into()));
            }
            let there = |name: &CommitName| name.hash.starts_with('a');
            let told = commits.iter().map(|name| match there(name) {
                true => Presence::There,
                false => Presence::Missing,
            });
            Ok(Some(told.collect()))
        })
    }
}

fn slow(after_ms: u64, answers: bool) -> (Arc<Slow>, Ports) {
    let ports = ports();
    let git = Arc::new(Slow {
        clock: Arc::clone(&ports.clock),
        after_ms,
        answers,
        asked: Mutex::default(),
    });
    let told = Arc::clone(&git);
    (git, Ports { git: told, ..ports })
}

/// What each command of a batch is told of the commits that it cites.
async fn told(
    presences: &Presences,
    ports: &Ports,
    batch: &[Vec<CommitName>],
) -> Vec<Vec<Presence>> {
    let mut facts = vec![Facts::default(); batch.len()];
    let wanting = facts.iter_mut().zip(batch.iter().cloned());
    presences.complete(ports, &scope(TASK), wanting).await;
    let told = facts.iter().zip(batch);
    told.map(|(facts, names)| names.iter().map(|name| facts.commits[name]).collect())
        .collect()
}

#[tokio::test]
async fn a_batch_asks_once_and_nobody_asks_again_for_what_is_there() {
    use Presence::{Missing, There};
    let (git, ports) = slow(0, true);
    let presences = Presences::default();
    let short = CommitName::new("aaaaaaa", "r");
    let batch = [
        vec![whole('a'), whole('b')],
        vec![],
        vec![whole('a'), short.clone()],
    ];
    let expected = vec![vec![There, Missing], vec![], vec![There, There]];
    for _ in 0..2 {
        assert_eq!(told(&presences, &ports, &batch).await, expected);
    }
    // What is missing may have been fetched by now, and a beginning may become that of another one.
    let all = vec![short.clone(), whole('a'), whole('b')];
    assert_eq!(*git.asked.lock(), [all, vec![short, whole('b')]]);
    let of_none = told(&presences, &ports, &[vec![], vec![]]).await;
    assert_eq!(of_none, [vec![], vec![]]);
    assert_eq!(git.asked.lock().len(), 2);
}

#[tokio::test]
async fn after_one_long_wait_nobody_waits_for_a_while() {
    let (git, ports) = slow(2_000, false);
    let presences = Presences::default();
    let batch = vec![vec![whole('a')]; 64];
    let unknown = vec![vec![Presence::Unknown]; 64];
    let asked = || git.asked.lock().len();
    let begun_ms = ports.clock.monotonic_ms();
    for _ in 0..4 {
        assert_eq!(told(&presences, &ports, &batch).await, unknown);
        assert_eq!(asked(), 1);
    }
    assert!(ports.clock.monotonic_ms() - begun_ms < 3_000);
    ports.clock.sleep(REST_MS).await;
    assert_eq!(told(&presences, &ports, &batch).await, unknown);
    assert_eq!(asked(), 2);
    // One that answers after all is waited for no sooner.
    let (git, ports) = slow(2_000, true);
    let presences = Presences::default();
    assert_eq!(
        told(&presences, &ports, &batch).await,
        vec![vec![Presence::There]; 64]
    );
    let other = vec![vec![whole('b')]];
    for after in [Presence::Unknown, Presence::Missing] {
        assert_eq!(told(&presences, &ports, &other).await, [[after]]);
        ports.clock.sleep(REST_MS).await;
    }
    assert_eq!(git.asked.lock().len(), 2);
    // Who says at once that it does not answer holds nobody up.
    let (git, ports) = slow(0, false);
    let presences = Presences::default();
    for before in 0..2 {
        assert_eq!(git.asked.lock().len(), before);
        assert_eq!(told(&presences, &ports, &batch).await, unknown);
    }
    assert_eq!(git.asked.lock().len(), 2);
}

#[test]
fn an_answer_is_one_on_all_that_was_asked() {
    let asked = || vec![whole('a'), whole('b')];
    assert_eq!(of_each(asked(), None).unwrap(), []);
    let each = of_each(asked(), Some(vec![Presence::There; 2])).unwrap();
    assert_eq!(each.len(), 2);
    for wrong in [0, 1, 3] {
        let answer = Some(vec![Presence::Missing; wrong]);
        assert!(matches!(
            of_each(asked(), answer),
            Err(PortError::Unusable(_))
        ));
    }
}
