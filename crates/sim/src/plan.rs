//! A plan: everything that decides a world, as data that can be saved, replayed and made smaller.

use serde::{Deserialize, Serialize};

use crate::fault::Profile;
use crate::workload::{self, Operation};

/// Agents of a world.
const AGENTS: u16 = 8;
/// Operations of each.
const OPERATIONS_EACH: u16 = 170;

/// What a world is made from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// Decides every delay and every chance.
    pub seed: u64,
    /// Nodes and faults.
    pub profile: Profile,
    /// What the agents do.
    pub operations: Vec<Operation>,
}

impl Plan {
    /// The plan that a seed draws.
    #[must_use]
    pub fn draw(seed: u64) -> Self {
        Self {
            seed,
            profile: Profile::draw(seed),
            operations: workload::draw(seed, AGENTS, OPERATIONS_EACH),
        }
    }
}
