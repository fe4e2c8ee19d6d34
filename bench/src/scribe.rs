//! One scope's events and rows, as commands of a person make them, without a node.
//!
//! Each command is decided by the rules and sealed, and its event, its view, its answer and the row of the outbox are written by
//! the functions that a commit of a node writes them with. What is left out is what leaves no row: the queue, the fence and the
//! reads before a decision, whose answers the state has at hand. It must not know what the commands are, nor what is measured.

use rand::{Rng as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;
use sillok_actors::rows::{self, Place};
use sillok_core::chain::{Origin, seal};
use sillok_core::command::{Answer, Command, CommandRecord, Submission};
use sillok_core::config::RulesConfig;
use sillok_core::decide::decide;
use sillok_core::event::Body;
use sillok_core::facts::Facts;
use sillok_core::id::{CommandId, EntryId, Epoch, Seq};
use sillok_core::principal::{Actor, Principal, PrincipalKind};
use sillok_core::scope::Scope;
use sillok_core::state::{Change, Stamped, State};
use sillok_core::time::Timestamp;
use sillok_store::{Txn, keys};

use crate::error::Error;
use crate::workload::{principal, submission};

/// What a command made.
pub(crate) struct Made {
    pub(crate) bodies: Vec<Body>,
    pub(crate) changes: Vec<Change>,
}

/// Writes the rows of one scope, of which nothing is written yet.
pub(crate) struct Scribe {
    place: Place,
    person: Principal,
    rules: RulesConfig,
    state: State,
    /// For salts, and for whatever else is drawn in the order in which commands are written.
    pub(crate) rng: ChaCha8Rng,
}

impl Scribe {
    /// Writes to a scope that has no events yet.
    pub(crate) fn new(scope: &Scope, seed: u64) -> Self {
        Self {
            place: Place::of(scope),
            person: principal(PrincipalKind::Human),
            rules: RulesConfig::default(),
            state: State::new(scope, None, None),
            rng: ChaCha8Rng::seed_from_u64(seed),
        }
    }

    pub(crate) const fn scope(&self) -> &Scope {
        &self.place.scope
    }

    pub(crate) const fn actor(&self) -> &Actor {
        &self.person.actor
    }

    /// The number of the next event: the first of a commit, for [`Self::end`].
    pub(crate) fn next(&self) -> Seq {
        self.state.row().tip.seq.next()
    }

    /// Carries a command out, as of a time.
    ///
    /// # Errors
    /// What the rules answered.
    pub(crate) fn carry_out(
        &mut self,
        txn: &mut impl Txn,
        id: CommandId,
        command: Command,
        at: Timestamp,
    ) -> Result<Made, Error> {
        let command = Submission {
            id,
            ..submission(&self.place.scope, &self.person, command)
        };
        let decision = decide(&self.state, &command, &Facts::default(), &self.rules, at)?;
        let actor = &self.person.actor;
        let origin = Origin {
            actor: actor.clone(),
            command: id,
            epoch: Epoch(1),
        };
        let mut changes = Vec::new();
        for body in &decision.bodies {
            let mut salt = [0; 16];
            self.rng.fill_bytes(&mut salt);
            let mut tip = self.state.row().tip;
            let event = seal(&mut tip, body, &origin, at, salt);
            rows::write_event(txn, &self.place, tip.seq, &event);
            let stamped = Stamped {
                seq: tip.seq,
                time: tip.time,
                actor: actor.clone(),
            };
            for change in self.state.apply(body, &stamped) {
                rows::write_change(txn, &self.place, &change);
                changes.push(change);
            }
            self.state.advance(tip);
        }
        let tip = self.state.row().tip;
        let record = CommandRecord::Applied {
            digest: command.command.digest(),
            answer: Answer {
                seq: tip.seq,
                time: tip.time,
                result: decision.result,
            },
        };
        let key = keys::command::key(&self.place.key, actor, id);
        rows::write_command(txn, key, &record);
        Ok(Made {
            bodies: decision.bodies,
            changes,
        })
    }

    /// Ends a commit that began with the event `first` and changed these entries.
    pub(crate) fn end(&self, txn: &mut impl Txn, first: Seq, changed: Vec<EntryId>) {
        let row = self.state.row();
        rows::write_scope(txn, &self.place, row);
        rows::write_outbox(txn, &self.place, first, row.tip.seq, changed);
    }

    /// Forgets what was written: nothing later is about it.
    pub(crate) fn forget(&mut self) {
        self.state.forget();
    }
}

/// The id of a command, told apart by its number alone.
pub(crate) fn command_id(at: Timestamp, number: u64) -> CommandId {
    let mut bits = [0; 10];
    bits[2..].copy_from_slice(&number.to_be_bytes());
    CommandId::from_parts(at, bits)
}
