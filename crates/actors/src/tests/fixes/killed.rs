//! A process that ends at any of its calls to the store while it records a failure, or erases one: what is there then is the old
//! state or the new one, and a retry makes the new one of it, once.

use sillok_core::command::{Answer, Command};
use sillok_core::event::EventKind;
use sillok_core::id::VerificationId;
use sillok_core::membership::WireVersion;
use sillok_core::principal::PrincipalKind;
use sillok_store::keys::{self, Family, ScopeKey, failed_approach};
use tokio::runtime::{Builder, Runtime};

use super::stage::{Stage, approach, erase, failure, later_ports, silent_ports};
use crate::NodeConfig;
use crate::tests::decisions::{NOTHING, holding, sound};
use crate::tests::harness::{TASK, TestNode, TestStore, scope, store, submission};
use crate::tests::line::{Fate, Line};
use crate::tests::world::{OTHER_TASK, Pairs, pairs_of};

/// Calls after which a failure has to be recorded.
const CALLS_MAX: u64 = 500;
/// Turns of the runtime after which a process that does not answer has ended.
const TURNS: usize = 5_000;
/// Stands in what is erased.
const TO_GO: &str = "xyzzy";
/// The number of the command at which it ends.
const LAST: u64 = 1_000;

/// What is done when the process ends.
#[derive(Clone, Copy, Debug)]
enum Deed {
    /// Records the first failure of the task.
    First,
    /// Records one of an error that came up twice.
    Third,
    /// Records one while an older version is spoken.
    AsOlder,
    /// Erases what two verifications say.
    Erase,
}

impl Deed {
    fn config(self) -> NodeConfig {
        let wire_version = match self {
            Self::AsOlder => WireVersion::WITH_EVIDENCE,
            _ => WireVersion::NEWEST,
        };
        NodeConfig {
            wire_version,
            ..NodeConfig::default()
        }
    }

    /// What stands before: two verifications that failed, where the deed needs them.
    async fn prepare(self, stage: &mut Stage) -> Vec<VerificationId> {
        for path in [TASK, OTHER_TASK] {
            stage.open(path).await;
        }
        if matches!(self, Self::First | Self::AsOlder) {
            return Vec::new();
        }
        let tried = approach("catch xyzzy", &["src/xyzzy.py"]);
        let error = Some("KeyError: 'xyzzy'");
        let mut failed = Vec::new();
        for _ in 0..2 {
            let id = stage.fail_for_nothing(TASK, error, Some(&tried)).await;
            failed.push(id);
        }
        stage.fail(OTHER_TASK, Some("it hangs"), None).await;
        failed
    }

    fn command(self, failed: &[VerificationId]) -> (PrincipalKind, Command) {
        let tried = approach("catch xyzzy", &["src/xyzzy.py"]);
        let fails = failure(Some("KeyError: 'xyzzy'"), Some(&tried));
        match self {
            Self::First | Self::Third | Self::AsOlder => (PrincipalKind::Orchestrator, fails),
            Self::Erase => (PrincipalKind::Human, erase(failed)),
        }
    }
}

/// The rows that say something of failures, by their keys, and how many events of each kind the task has.
type Shape = Vec<(Vec<u8>, String)>;

/// All of these rows, each with what tells one state from another: times differ from run to run.
fn shape(pairs: &Pairs) -> Shape {
    let here = ScopeKey::of(&scope(TASK));
    let rows = pairs.iter().filter_map(|(key, value)| {
        let said = match Family::of(key)? {
            Family::Task => {
                let task = keys::task::decode(key, value).unwrap();
                format!("{:?}", task.failures)
            }
            Family::Verification => {
                let recorded = keys::verification::decode(key, value).unwrap();
                format!("{:?}", recorded.said)
            }
            Family::FailedApproach => {
                let failed = failed_approach::decode(key, value).unwrap();
                format!("{} {:?} {}", failed.seq, failed.approach, failed.reason)
            }
            Family::Event if keys::event::parse(key).unwrap().scope == here => {
                let event = keys::event::decode(key, value).unwrap();
                let kind = event.decode_header().unwrap().kind;
                // What promotions write later is none of it.
                if kind == EventKind::Promoted {
                    return None;
                }
                format!("{kind:?} {}", event.sealed.is_some())
            }
            _ => return None,
        };
        Some((key.clone(), said))
    });
    rows.collect()
}

fn runtime() -> Runtime {
    Builder::new_current_thread().build().unwrap()
}

async fn turns(count: usize) {
    for _ in 0..count {
        tokio::task::yield_now().await;
    }
}

/// What a deed makes of the store of a process that ends at one of its calls.
struct Ended {
    store: TestStore,
    before: Shape,
    after: Shape,
    given: (PrincipalKind, Command),
    answer: Option<Answer>,
}

/// Lets a process do something and end at this call. When the runtime is dropped, nothing of it is left.
fn end_at(deed: Deed, call: u64, reaches: bool) -> Ended {
    let memory = store();
    let line = Line::new(&memory, Fate::Arrives);
    runtime().block_on(async {
        let node = TestNode::start(line.clone(), silent_ports(), deed.config()).await;
        let mut stage = Stage {
            node: node.unwrap(),
            store: memory.clone(),
            given: 0,
        };
        let failed = deed.prepare(&mut stage).await;
        // What follows the commits before is done by then.
        turns(TURNS / 5).await;
        let before = shape(&pairs_of(&memory).await);
        let (kind, command) = deed.command(&failed);
        let given = submission(LAST, kind, TASK, command.clone());
        line.end_at(call, reaches);
        let answer = tokio::select! {
            biased;
            answer = stage.node.submit(given) => Some(answer.unwrap()),
            () = turns(TURNS) => None,
        };
        Ended {
            before,
            after: shape(&pairs_of(&memory).await),
            store: memory.clone(),
            given: (kind, command),
            answer,
        }
    })
}

/// Another process goes on, and is given the same command again: the state that this leads to.
fn go_on(deed: Deed, ended: &Ended) -> Shape {
    runtime().block_on(async {
        let node = TestNode::start(ended.store.clone(), later_ports(), deed.config()).await;
        let node = node.unwrap();
        assert!(shape(&pairs_of(&ended.store).await) == ended.after);
        assert_eq!(sound(&ended.store).await, None);
        let (kind, command) = ended.given.clone();
        let again = submission(LAST, kind, TASK, command);
        let answer = node.submit(again).await.unwrap();
        if let Some(first) = &ended.answer {
            assert_eq!(&answer, first, "it was acknowledged");
        }
        node.shutdown().await;
        assert_eq!(sound(&ended.store).await, None);
        let pairs = pairs_of(&ended.store).await;
        if let Deed::Erase = deed {
            assert_eq!(holding(&pairs, TO_GO.as_bytes()), NOTHING);
        }
        shape(&pairs)
    })
}

fn kill_at_each_call(deed: Deed) {
    let whole = end_at(deed, CALLS_MAX, false);
    assert!(whole.answer.is_some(), "{deed:?} takes too many calls");
    let (old, new) = (whole.before, whole.after);
    assert!(old != new);
    for reaches in [false, true] {
        let (mut kept, mut made) = (0, 0);
        for call in 0..CALLS_MAX {
            let ended = end_at(deed, call, reaches);
            assert!(ended.before == old, "{deed:?} begins as it did");
            let is_old = ended.after == old;
            let is_new = ended.after == new;
            assert!(is_old != is_new, "{deed:?} ended at call {call}: {reaches}");
            assert!(is_new || ended.answer.is_none(), "it was acknowledged");
            kept += u32::from(is_old);
            made += u32::from(is_new);
            let after = go_on(deed, &ended);
            assert!(after == new, "{deed:?} goes on from call {call}");
            if ended.answer.is_some() {
                break;
            }
        }
        assert!(kept > 0 && made > 0, "{deed:?}: {kept} {made}");
    }
}

#[test]
fn recording_a_failure_that_is_killed_at_any_call_records_both_of_its_events_or_none() {
    kill_at_each_call(Deed::First);
    kill_at_each_call(Deed::Third);
}

#[test]
fn recording_it_while_an_older_version_is_spoken_records_the_verification_once() {
    kill_at_each_call(Deed::AsOlder);
}

#[test]
fn erasing_what_failed_that_is_killed_at_any_call_erases_all_or_nothing() {
    kill_at_each_call(Deed::Erase);
}
