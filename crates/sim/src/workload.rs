//! What the agents of a world do and what must hold of it: one file for each capability.
//!
//! Owns the form of an operation and the traits by which a capability brings its part. An operation
//! is data that names its workload, so that a plan can be saved, replayed and made smaller without
//! knowing what it means. It must not know which workloads there are; that is the suite's.

pub mod alike;
pub mod banking;
pub mod branches;
pub mod deciding;
pub mod disputing;
pub mod drains;
pub mod erasing;
pub mod fences;
pub mod fixing;
pub mod forger;
pub mod gating;
pub mod jobs;
pub mod judging;
pub mod late;
pub mod maintaining;
pub mod material;
pub mod publishing;
pub mod quarantines;
pub mod reads;
pub mod refusals;
pub mod replacing;
mod sight;
pub mod staging;

use std::future::Future;

use bytes::Bytes;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use sillok_core::config::RetentionConfig;
use sillok_store::keys::Family;

use crate::agent::Agent;
use crate::check;
use crate::heap::Sim;
use crate::history::History;
use crate::plan::Plan;
use crate::rng::Stream;
use crate::storage::Storage;
use crate::violation::Violation;

/// One thing that an agent does, and how long it rests before it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Operation {
    /// Which agent.
    pub agent: u16,
    /// The rest before it, in ms.
    pub rest_ms: u16,
    /// The workload that it belongs to, by its name.
    pub workload: String,
    /// What it does, in that workload's own form.
    pub action: serde_json::Value,
}

/// What an action is drawn from.
pub struct Draw<'a> {
    /// Chance, of this workload and this agent alone: other workloads do not move it.
    pub stream: &'a mut Stream,
    /// Who will act.
    pub agent: u16,
    /// How many operations that agent has before this one.
    pub before: u16,
    /// Nodes of the world.
    pub nodes: u16,
    /// Projects of the world.
    pub projects: u8,
}

impl Draw<'_> {
    /// A number below `below`.
    ///
    /// # Panics
    /// If `below` is above 256.
    pub fn byte(&mut self, below: usize) -> u8 {
        u8::try_from(self.stream.index(below)).expect("the caller asks for a small number")
    }
}

/// One capability's share of what agents do.
pub trait Workload: Send + Sync + 'static {
    /// An action as data. A saved plan may say no more of it than what is written of it again, so
    /// a field that is read has to be written as well.
    type Action: Serialize + DeserializeOwned + Send;

    /// The name under which operations are of this workload. It stands in saved plans.
    fn name(&self) -> &'static str;

    /// How often it is drawn, relative to the others; the built-in ones have about 1,000
    /// together.
    fn share(&self) -> u32;

    /// What every agent does before anything that is drawn.
    fn first(&self) -> Option<Self::Action> {
        None
    }

    /// The next action of an agent.
    fn draw(&self, draw: &mut Draw<'_>) -> Self::Action;

    /// Whether an action that was read from a file can be carried out in a world of `nodes` nodes.
    ///
    /// # Errors
    /// Why not.
    fn check_action(&self, action: &Self::Action, nodes: u16) -> Result<(), String> {
        let _ = (action, nodes);
        Ok(())
    }

    /// Carries an action out.
    fn act(&self, agent: &mut Agent, action: Self::Action) -> impl Future<Output = ()> + Send;
}

/// What must hold of every world at its end.
pub trait Check: Send + Sync + 'static {
    /// Judges a world that has come to rest.
    ///
    /// # Errors
    /// The first thing that does not hold.
    fn check(&self, end: &End<'_>) -> Result<(), Violation>;
}

/// A world that has come to rest: what was planned, what clients saw, what is stored.
pub struct End<'a> {
    /// What was planned.
    pub plan: &'a Plan,
    /// What clients saw.
    pub history: &'a History,
    /// How long entries last in it.
    pub retention: &'a RetentionConfig,
    pub(crate) store: &'a Storage,
    pub(crate) sim: &'a Sim,
}

impl End<'_> {
    /// All rows of a family, in the order of their keys.
    #[must_use]
    pub fn rows(&self, family: Family) -> Vec<(Bytes, Bytes)> {
        check::rows(self.store, family)
    }

    /// Counts what a check found to have come about.
    pub(crate) fn saw(&self, effect: &'static str) {
        self.sim.lock().effects.saw(effect);
    }
}
