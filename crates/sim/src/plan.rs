//! A plan: everything that decides a world, as data that can be saved, replayed and made smaller.

mod bounds;

use serde::{Deserialize, Serialize};

use crate::fault::Profile;
use crate::suite::Suite;
use crate::workload::Operation;

pub use bounds::Refused;

/// Agents of a world.
const AGENTS: u16 = 8;
/// Operations of each.
const OPERATIONS_EACH: u16 = 140;

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
    /// The plan that a seed draws from the built-in suite.
    #[must_use]
    pub fn draw(seed: u64) -> Self {
        Self::draw_from(&Suite::built_in(), seed)
    }

    /// The plan that a seed draws from a suite.
    #[must_use]
    pub fn draw_from(suite: &Suite, seed: u64) -> Self {
        Self::draw_under(suite, seed, Profile::draw(seed))
    }

    /// The plan that a seed draws from a suite when its faults are given.
    #[must_use]
    pub fn draw_under(suite: &Suite, seed: u64, profile: Profile) -> Self {
        Self {
            seed,
            operations: suite.draw(seed, profile.nodes, AGENTS, OPERATIONS_EACH),
            profile,
        }
    }

    /// Whether a world can be made from the plan, whoever wrote it.
    ///
    /// # Errors
    /// The first field that says what no world has.
    pub fn validate(&self, suite: &Suite) -> Result<(), Refused> {
        self.profile.validate()?;
        bounds::operations(self, suite)
    }

    /// Agents that do something.
    #[must_use]
    pub fn agents(&self) -> usize {
        let agents = self.operations.iter().map(|operation| operation.agent);
        agents.collect::<std::collections::BTreeSet<_>>().len()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// An action's name and what it is made of.
    fn told(action: &serde_json::Value) -> Option<(&String, &serde_json::Value)> {
        action.as_object()?.iter().next()
    }

    /// Tasks that are fixed, and the projects to which what is learnt from that goes.
    fn fixed(plan: &Plan) -> usize {
        let operations = plan.operations.iter();
        let fixing = operations.filter(|operation| operation.workload == "fixing");
        let writing = fixing.filter_map(|operation| {
            let (act, action) = told(&operation.action)?;
            (act != "check" && act != "list").then(|| &action["place"])
        });
        let tasks: BTreeSet<String> = writing.clone().map(ToString::to_string).collect();
        let projects: BTreeSet<String> =
            writing.map(|place| place["project"].to_string()).collect();
        tasks.len() + projects.len()
    }

    /// Projects whose entries rest on code. For which of their tasks that is reported on, a plan does not say.
    fn gated(plan: &Plan) -> usize {
        let operations = plan.operations.iter();
        let gating = operations.filter(|operation| operation.workload == "gating");
        let cited = gating.filter_map(|operation| {
            let (act, action) = told(&operation.action)?;
            (act == "cite").then(|| action["project"].to_string())
        });
        cited.collect::<BTreeSet<_>>().len()
    }

    /// Tasks of which it is stored how they were gone about, and their projects.
    fn banked(plan: &Plan) -> usize {
        let operations = plan.operations.iter();
        let banking = operations.filter(|operation| operation.workload == "banking");
        let writing = banking.filter_map(|operation| {
            let (act, action) = told(&operation.action)?;
            (act != "search" && act != "brief").then(|| &action["place"])
        });
        let tasks: BTreeSet<String> = writing.clone().map(ToString::to_string).collect();
        let projects: BTreeSet<String> =
            writing.map(|place| place["project"].to_string()).collect();
        tasks.len() + projects.len()
    }

    /// Scopes that the agents of a world write to: the tasks that they open, projects, and where they decide or keep something.
    fn scopes(plan: &Plan) -> usize {
        let tasks = |operation: &&Operation| operation.action == "open_task";
        let tasks = plan.operations.iter().filter(tasks).count();
        let named = plan.operations.iter().filter(|operation| {
            let writes = ["publishing", "replacing", "disputing"];
            writes.contains(&&*operation.workload)
        });
        let projects: BTreeSet<u64> = named
            .filter_map(|operation| {
                operation.action.as_object()?.values().next()?["project"].as_u64()
            })
            .collect();
        // Projects are counted already.
        let homes: BTreeSet<String> = plan
            .operations
            .iter()
            .filter_map(|operation| {
                let (mut act, mut action) = told(&operation.action)?;
                if act == "keeping" {
                    (act, action) = told(action)?;
                }
                let writes = ["begin", "ring", "save"].contains(&act.as_str());
                action.get("home").filter(|_| writes)
            })
            .filter(|home| home["level"] != 1)
            .map(ToString::to_string)
            .collect();
        tasks + fixed(plan) + gated(plan) + banked(plan) + projects.len() + homes.len()
    }

    #[test]
    fn the_median_world_has_hundreds_of_scopes() {
        let mut counts: Vec<usize> = (0..100).map(|seed| scopes(&Plan::draw(seed))).collect();
        counts.sort_unstable();
        assert!(counts[50] >= 200, "{counts:?}");
        assert!(counts[0] >= 150, "{counts:?}");
    }
}
