//! A process that ends at any of its calls to the store while it saves: what is there then is the old state or the new one,
//! and a retry makes the new one of it, once.

use sillok_core::command::{Answer, Command};
use sillok_core::decision::{DeclaredKind, Rank, Reach, RelationKind};
use sillok_core::id::{AnchorId, DecisionId, EvidenceId};
use sillok_core::limits::CHUNK_BYTES;
use sillok_core::principal::PrincipalKind;
use sillok_store::keys::{self, Family};
use tokio::runtime::{Builder, Runtime};

use super::declared::{declare, kind};
use super::erased::{NOTHING, erase_with, holding};
use super::kept::{keep, kept, let_go, listed_in, original, point, points_to};
use super::stage::{
    Stage, at, claims, file, of_domain, relates, restore, save, says, sound, withdraw,
};
use crate::NodeConfig;
use crate::tests::harness::{PROJECT, TestNode, TestStore, later_node, ports, store, submission};
use crate::tests::line::{Fate, Line};
use crate::tests::world::{ORG, Pairs, pairs_of};

/// Calls after which a save has to be answered.
const CALLS_MAX: u64 = 500;
/// Turns of the runtime after which a process that does not answer has ended.
const TURNS: usize = 5_000;
/// Stands in evidence that is erased.
const TO_GO: &str = "one of many lines";
/// The number of the command at which it ends.
const LAST: u64 = 1_000;

/// The kind of relation whose meaning is erased.
fn to_go() -> DeclaredKind {
    kind("REPLACES", Reach::Forward)
}

/// What is saved when the process ends.
#[derive(Clone, Copy, Debug)]
enum Deed {
    Begin,
    /// Gives it another rank, domain, claim, title and other relations, but for one that stays.
    Change,
    Withdraw,
    Restore,
    /// Saves evidence of so many lines.
    Keep(usize),
    /// Adds several anchors.
    Point,
    /// Drops an anchor.
    LetGo,
    /// Erases a decision, evidence in chunks, an anchor and what a kind of relation means.
    Erase,
    /// Declares a kind of relation.
    Declare,
}

/// What stands before the deed: the decision that it is about, one that it may be related to, and what may be pointed to and
/// dropped.
struct Before {
    above: DecisionId,
    root: DecisionId,
    evidence: EvidenceId,
    anchor: AnchorId,
}

impl Deed {
    async fn prepare(self, stage: &mut Stage) -> Before {
        let above = stage.begin(ORG, says(Rank::Axis, "one API")).await;
        let text = claims("http.api", "rest", says(Rank::Normal, "first"));
        let text = relates(RelationKind::AppliesTo, file("src/old.rs"), text);
        let text = relates(RelationKind::AppliesTo, file("src/kept.rs"), text);
        let root = stage.begin(PROJECT, text).await;
        if let Self::Restore = self {
            stage.person(PROJECT, withdraw(root, 1)).await.unwrap();
        }
        let evidence = stage.keep(ORG, "a run", "p99 is 12 ms").await;
        let to = vec![kept(ORG, evidence)];
        let anchor = stage.point_to(PROJECT, "how fast", to).await;
        if let Self::Erase = self {
            return Self::prepare_to_erase(stage, above, root, anchor).await;
        }
        Before {
            above,
            root,
            evidence,
            anchor,
        }
    }

    /// What is to go holds no more.
    async fn prepare_to_erase(
        stage: &mut Stage,
        above: DecisionId,
        root: DecisionId,
        anchor: AnchorId,
    ) -> Before {
        let text = format!("{TO_GO}\n").repeat(10_000);
        let evidence = stage.keep(PROJECT, "a log", &text).await;
        stage.person(PROJECT, withdraw(root, 1)).await.unwrap();
        stage.let_go(PROJECT, anchor).await.unwrap();
        let declared = declare(to_go());
        let human = PrincipalKind::Human;
        stage.give(human, PROJECT, declared).await.unwrap();
        Before {
            above,
            root,
            evidence,
            anchor,
        }
    }

    fn command(self, before: &Before) -> Command {
        let text = claims("http.host", "one", says(Rank::Lock, "second"));
        let text = of_domain("ui", text);
        let text = relates(RelationKind::DependsOn, at(ORG, before.above), text);
        let text = relates(RelationKind::AppliesTo, file("src/new.rs"), text);
        match self {
            Self::Begin => save(None, text),
            Self::Change => {
                let text = relates(RelationKind::AppliesTo, file("src/kept.rs"), text);
                save(Some((before.root, 1)), text)
            }
            Self::Withdraw => withdraw(before.root, 1),
            Self::Restore => restore(before.root, 2, 1),
            Self::Keep(lines) => keep(original("a log", &"one of many lines\n".repeat(lines))),
            Self::Point => {
                let to = vec![kept(ORG, before.evidence), at(PROJECT, before.root)];
                let first = points_to("first", to.clone());
                point(vec![first, listed_in("ui", points_to("second", to))])
            }
            Self::LetGo => let_go(before.anchor),
            Self::Erase => erase_with(
                (&[before.root], &[before.evidence], &[before.anchor]),
                &[to_go().name],
            ),
            Self::Declare => declare(kind("EXPLAINS", Reach::Both)),
        }
    }
}

/// The rows of decisions, evidence and anchors, by their keys.
type Shape = Vec<(Vec<u8>, String)>;

/// All of these rows, each with what tells one state from another: times differ from run to run.
fn shape(pairs: &Pairs) -> Shape {
    let rows = pairs.iter().filter_map(|(key, value)| {
        let said = match Family::of(key)? {
            Family::Decision => {
                let head = keys::decision::decode(key, value).unwrap();
                let (title, relations) = (head.title, head.relations);
                format!("{} {} {title} {relations:?}", head.version, head.active)
            }
            Family::DecisionVersion => {
                let version = keys::decision_version::decode(key, value).unwrap();
                format!("{:?} {:?}", version.act, version.text)
            }
            Family::DecisionListed => {
                assert_eq!(keys::decision_listed::decode(key, value).unwrap(), None);
                String::new()
            }
            Family::DecisionClaim => {
                let declared = keys::decision_claim::decode(key, value).unwrap();
                format!("{declared:?}")
            }
            Family::Related => {
                let related = keys::related::decode(key, value).unwrap();
                format!("{} {:?}", related.edge, related.name)
            }
            Family::Evidence => {
                let evidence = keys::evidence::decode(key, value).unwrap();
                format!(
                    "{} {:?} {:?}",
                    evidence.title, evidence.hash, evidence.content
                )
            }
            Family::Anchor => {
                let anchor = keys::anchor::decode(key, value).unwrap();
                format!("{} {:?} {}", anchor.hint, anchor.to, anchor.is_dropped())
            }
            Family::AnchorListed => String::new(),
            Family::DeclaredRelation => {
                let declared = keys::declared_relation::decode(key, value).unwrap();
                format!("{} {} {}", declared.name, declared.reach, declared.meaning)
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

/// What a deed makes of the store of a process that ends at one of its calls.
struct Ended {
    store: TestStore,
    before: Shape,
    after: Shape,
    command: Command,
    answer: Option<Answer>,
}

/// Lets a process do something and end at this call. When the runtime is dropped, nothing of it is left.
fn end_at(deed: Deed, call: u64, reaches: bool) -> Ended {
    let memory = store();
    let line = Line::new(&memory, Fate::Arrives);
    runtime().block_on(async {
        let node = TestNode::start(line.clone(), ports(), NodeConfig::default()).await;
        let mut stage = Stage {
            node: node.unwrap(),
            given: 0,
        };
        let stands = deed.prepare(&mut stage).await;
        // What follows the commits before is done by then.
        turns(TURNS / 5).await;
        let before = shape(&pairs_of(&memory).await);
        let command = deed.command(&stands);
        let given = submission(LAST, PrincipalKind::Human, PROJECT, command.clone());
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
            command,
            answer,
        }
    })
}

async fn turns(count: usize) {
    for _ in 0..count {
        tokio::task::yield_now().await;
    }
}

/// Another process goes on, and is given the same command again: the state that this leads to.
fn go_on(ended: &Ended) -> Shape {
    runtime().block_on(async {
        let node = later_node(&ended.store).await;
        assert!(shape(&pairs_of(&ended.store).await) == ended.after);
        assert_eq!(sound(&ended.store).await, None);
        let command = ended.command.clone();
        let again = submission(LAST, PrincipalKind::Human, PROJECT, command);
        let answer = node.submit(again).await.unwrap();
        if let Some(first) = &ended.answer {
            assert_eq!(&answer, first, "it was acknowledged");
        }
        node.shutdown().await;
        assert_eq!(sound(&ended.store).await, None);
        let pairs = pairs_of(&ended.store).await;
        if let Command::EraseMemory(_) = ended.command {
            for word in [
                TO_GO,
                "first, and so it is done",
                "src/old.rs",
                "how fast",
                "the one DeclaredKind",
            ] {
                assert_eq!(holding(&pairs, word.as_bytes()), NOTHING, "{word}");
            }
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
            assert!(go_on(&ended) == new, "{deed:?} goes on from call {call}");
            if ended.answer.is_some() {
                break;
            }
        }
        assert!(kept > 0 && made > 0, "{deed:?}: {kept} {made}");
    }
}

#[test]
fn a_save_that_is_killed_at_any_call_leaves_the_old_state_or_the_new_one() {
    kill_at_each_call(Deed::Begin);
    kill_at_each_call(Deed::Change);
}

#[test]
fn a_withdrawal_and_a_restoring_that_are_killed_at_any_call_leave_the_old_state_or_the_new_one() {
    kill_at_each_call(Deed::Withdraw);
    kill_at_each_call(Deed::Restore);
}

#[test]
fn saving_evidence_that_is_killed_at_any_call_leaves_the_old_state_or_the_new_one() {
    kill_at_each_call(Deed::Keep(1));
    // In chunks, which are written before.
    kill_at_each_call(Deed::Keep(10_000));
}

#[test]
fn saving_evidence_whose_chunks_take_two_commits_that_is_killed_at_any_call_leaves_no_half_of_it() {
    // 33 chunks are more than the 2 MiB that one transaction writes.
    let lines = 120_000;
    let line = "one of many lines\n".len();
    assert_eq!((lines * line).div_ceil(CHUNK_BYTES), 33);
    kill_at_each_call(Deed::Keep(lines));
}

#[test]
fn a_declaration_that_is_killed_at_any_call_leaves_the_old_state_or_the_new_one() {
    kill_at_each_call(Deed::Declare);
}

#[test]
fn adding_and_dropping_anchors_that_is_killed_at_any_call_leaves_the_old_state_or_the_new_one() {
    kill_at_each_call(Deed::Point);
    kill_at_each_call(Deed::LetGo);
}

#[test]
fn an_erasure_that_is_killed_at_any_call_erases_all_or_nothing() {
    kill_at_each_call(Deed::Erase);
}
