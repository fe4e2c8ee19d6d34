//! Chains of decisions, with versions as a person would have saved them over a long time.
//!
//! A million saves through a node take minutes. So each is decided by the rules and sealed, and its event, its view, its answer
//! and the row of the outbox are written by the functions that a commit of a node writes them with, as many saves to a commit
//! as a node takes at most. What is left out is what leaves no row: the queue, the fence and the reads before a decision,
//! whose answers the state has at hand. A test has the audit go through what was written. It must not know what is measured.

use rand::{Rng as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;
use sillok_actors::rows::{self, Place};
use sillok_core::chain::{Origin, seal};
use sillok_core::command::{Answer, Command, CommandRecord, DecisionRef, SaveDecision, Submission};
use sillok_core::config::RulesConfig;
use sillok_core::decide::decide;
use sillok_core::decision::{Domain, NewDecision, Rank};
use sillok_core::facts::Facts;
use sillok_core::id::{CommandId, DecisionId, Epoch};
use sillok_core::limits::BATCH_COMMANDS_MAX;
use sillok_core::principal::{Principal, PrincipalKind};
use sillok_core::scope::Scope;
use sillok_core::state::{Stamped, State};
use sillok_core::time::Timestamp;
use sillok_store::{FjallStore, Store as _, Txn, keys};

use crate::error::Error;
use crate::workload::{principal, submission};

/// Why anything is saved. It is the same of all versions, so that they are of one size.
const REASON: &str = "It was looked at again.";

/// A decision of the weakest rank, which applies everywhere and is related to nothing.
pub(crate) fn normal(title: String, content: &str) -> NewDecision {
    NewDecision {
        rank: Rank::Normal,
        domain: Domain::global(),
        phase: None,
        title,
        content: content.to_owned(),
        claim: None,
        relations: Vec::new(),
    }
}

/// Begins a chain.
pub(crate) fn begin(text: NewDecision) -> Command {
    save(None, text)
}

/// Adds a version to a chain whose newest one has this number.
pub(crate) fn change(root: DecisionId, newest: u64, text: NewDecision) -> Command {
    let seen = DecisionRef {
        root,
        expected_version: newest,
    };
    save(Some(seen), text)
}

fn save(change: Option<DecisionRef>, text: NewDecision) -> Command {
    Command::SaveDecision(Box::new(SaveDecision {
        change,
        text,
        reason: REASON.to_owned(),
    }))
}

/// Writes the decisions of one scope.
pub(crate) struct Writer {
    place: Place,
    person: Principal,
    rules: RulesConfig,
    state: State,
    rng: ChaCha8Rng,
    /// When all of it is saved.
    at: Timestamp,
}

impl Writer {
    /// Writes to a scope that has no events yet.
    pub(crate) fn new(scope: &Scope, at: Timestamp) -> Self {
        Self {
            place: Place::of(scope),
            person: principal(PrincipalKind::Human),
            rules: RulesConfig::default(),
            state: State::new(scope, None, None),
            rng: ChaCha8Rng::seed_from_u64(11),
            at,
        }
    }

    /// The root of the chain that the save of this number begins. It follows from the scope, the number and the time alone.
    pub(crate) fn root(&self, number: u64) -> DecisionId {
        let actor = self.person.actor.to_string();
        DecisionId::derived(&self.place.scope, &actor, command_id(self.at, number))
    }

    /// Writes saves, each under a number that no other one of the scope has.
    ///
    /// # Errors
    /// What the rules or the store answered.
    pub(crate) async fn write(
        &mut self,
        store: &FjallStore,
        saves: impl IntoIterator<Item = (u64, Command)>,
    ) -> Result<(), Error> {
        let mut saves = saves.into_iter().peekable();
        while saves.peek().is_some() {
            let mut txn = store.begin().await?;
            let first = self.state.row().tip.seq.next();
            for (number, command) in saves.by_ref().take(BATCH_COMMANDS_MAX) {
                self.save(&mut txn, number, command)?;
            }
            let row = self.state.row();
            rows::write_scope(&mut txn, &self.place, row);
            rows::write_outbox(&mut txn, &self.place, first, row.tip.seq, Vec::new());
            txn.commit().await?;
        }
        Ok(())
    }

    /// Forgets what was written: no later save changes it or is related to it.
    pub(crate) fn forget(&mut self) {
        self.state.forget();
    }

    fn save(&mut self, txn: &mut impl Txn, number: u64, command: Command) -> Result<(), Error> {
        let command = Submission {
            id: command_id(self.at, number),
            ..submission(&self.place.scope, &self.person, command)
        };
        let facts = Facts::default();
        let decision = decide(&self.state, &command, &facts, &self.rules, self.at)?;
        let actor = &self.person.actor;
        let origin = Origin {
            actor: actor.clone(),
            command: command.id,
            epoch: Epoch(1),
        };
        for body in &decision.bodies {
            let mut salt = [0; 16];
            self.rng.fill_bytes(&mut salt);
            let mut tip = self.state.row().tip;
            let event = seal(&mut tip, body, &origin, self.at, salt);
            rows::write_event(txn, &self.place, tip.seq, &event);
            let at = Stamped {
                seq: tip.seq,
                time: tip.time,
                actor: actor.clone(),
            };
            for change in self.state.apply(body, &at) {
                rows::write_change(txn, &self.place, &change);
            }
            self.state.advance(tip);
        }
        let tip = self.state.row().tip;
        let answer = Answer {
            seq: tip.seq,
            time: tip.time,
            result: decision.result,
        };
        let record = CommandRecord::Applied {
            digest: command.command.digest(),
            answer,
        };
        let key = keys::command::key(&self.place.key, actor, command.id);
        rows::write_command(txn, key, &record);
        Ok(())
    }
}

fn command_id(at: Timestamp, number: u64) -> CommandId {
    let mut bits = [0; 10];
    bits[2..].copy_from_slice(&number.to_be_bytes());
    CommandId::from_parts(at, bits)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use sillok_actors::{Node, NodeConfig, audit};
    use sillok_builtin::ExactIndex;
    use sillok_store::Read;

    use super::*;
    use crate::engines::{open_store, ports, runtime};
    use crate::workload::{Texts, now, scope};

    #[test]
    fn all_rows_follow_from_the_events_and_a_root_from_its_number() {
        let folder = tempfile::tempdir().unwrap();
        let (texts, project) = (Texts::new(), scope("org/bench/project/chains"));
        let begun = BATCH_COMMANDS_MAX as u64 + 3;
        let text = |number: u64| normal(format!("Decision {number}"), texts.get(1));
        runtime().unwrap().block_on(async {
            let store = open_store(folder.path()).unwrap();
            let mut writer = Writer::new(&project, now());
            let saves = (0..begun).map(|number| (number, begin(text(number))));
            writer.write(&store, saves).await.unwrap();
            let root = writer.root(5);
            let saves = [(begun, change(root, 1, text(begun)))];
            writer.write(&store, saves).await.unwrap();

            // What was written belongs to a node once one has started.
            let ports = ports(Arc::new(ExactIndex::new()));
            let node = Node::start(store.clone(), ports, NodeConfig::default()).await;
            node.unwrap().shutdown().await;
            let audited = audit::verify(&store, &|_| {}).await.unwrap();
            assert!(audited.is_ok(), "{:?}", audited.first);
            let events = begun + 1;
            assert_eq!((audited.events, audited.commands), (events, events));
            // A head and a version of each save, and a place in the list of each chain.
            assert_eq!(audited.rows, begun * 3 + 1);

            let key = keys::decision::key(&Place::of(&project).key, root);
            let mut txn = store.begin().await.unwrap();
            let value = txn.get(&key, Read::Snapshot).await.unwrap().unwrap();
            assert_eq!(keys::decision::decode(&key, &value).unwrap().version, 2);
        });
    }
}
