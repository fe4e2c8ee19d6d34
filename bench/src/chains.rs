//! Chains of decisions, with versions as a person would have saved them over a long time.
//!
//! A million saves through a node take minutes. So they are written by [`crate::scribe`], as many to a commit as a node takes
//! at most. A test has the audit go through what was written. It must not know what is measured.

use sillok_core::command::{Command, DecisionRef, SaveDecision};
use sillok_core::decision::{Domain, NewDecision, Rank};
use sillok_core::id::DecisionId;
use sillok_core::limits::BATCH_COMMANDS_MAX;
use sillok_core::scope::Scope;
use sillok_core::time::Timestamp;
use sillok_store::{FjallStore, Store as _, Txn as _};

use crate::error::Error;
use crate::scribe::{Scribe, command_id};

/// Why anything is saved. It is the same of all versions, so that they are of one size.
const REASON: &str = "It was looked at again.";
const SEED: u64 = 11;

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

/// Writes the decisions of one scope, and what leads to them.
pub(crate) struct Writer {
    scribe: Scribe,
    /// When all of it is saved.
    at: Timestamp,
}

impl Writer {
    /// Writes to a scope that has no events yet.
    pub(crate) fn new(scope: &Scope, at: Timestamp) -> Self {
        Self {
            scribe: Scribe::new(scope, SEED),
            at,
        }
    }

    /// The root of the chain that the save of this number begins. It follows from the scope, the number and the time alone.
    pub(crate) fn root(&self, number: u64) -> DecisionId {
        let actor = self.scribe.actor().to_string();
        DecisionId::derived(self.scribe.scope(), &actor, command_id(self.at, number))
    }

    /// Writes commands, each of one event and under a number that no other one of the scope has.
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
            let first = self.scribe.next();
            for (number, command) in saves.by_ref().take(BATCH_COMMANDS_MAX) {
                let id = command_id(self.at, number);
                self.scribe.carry_out(&mut txn, id, command, self.at)?;
            }
            self.scribe.end(&mut txn, first, Vec::new());
            txn.commit().await?;
        }
        Ok(())
    }

    /// Forgets what was written: no later save changes it or is related to it.
    pub(crate) fn forget(&mut self) {
        self.scribe.forget();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use sillok_actors::rows::Place;
    use sillok_actors::{Node, NodeConfig, audit};
    use sillok_builtin::ExactIndex;
    use sillok_store::{Read, keys};

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
