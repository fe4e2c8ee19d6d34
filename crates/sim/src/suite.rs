//! The suite: which workloads and checks a world has, the built-in ones and those of a user.
//!
//! Owns how operations are drawn from all workloads together, the way from an operation as data to
//! the workload that carries it out, and the agents and checks of a world. It must not know what any of them does.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use serde_json::Value;
use sillok_actors::protocol::Protocol;
use sillok_core::ports::BoxFuture;

use crate::agent::{Agent, Commons};
use crate::rng::Stream;
use crate::violation::Violation;
use crate::workload::alike::Alike;
use crate::workload::banking::Banking;
use crate::workload::branches::Branches;
use crate::workload::deciding::Deciding;
use crate::workload::disputing::Disputing;
use crate::workload::drains::Drains;
use crate::workload::erasing::Erasing;
use crate::workload::fences::Fences;
use crate::workload::fixing::Fixing;
use crate::workload::forger::Forger;
use crate::workload::gating::Gating;
use crate::workload::jobs::Jobs;
use crate::workload::judging::Judging;
use crate::workload::late::LateRetries;
use crate::workload::maintaining::Maintaining;
use crate::workload::material::PROJECTS;
use crate::workload::publishing::Publishing;
use crate::workload::quarantines::Quarantines;
use crate::workload::reads::Reads;
use crate::workload::refusals::Refusals;
use crate::workload::replacing::Replacing;
use crate::workload::staging::Staging;
use crate::workload::{Check, Draw, End, Operation, Workload};
use crate::world::World;

/// A field of `given` that was not read, since it is not in what is `written` again, by its path.
pub(crate) fn left_over(given: &Value, written: &Value) -> Option<String> {
    match (given, written) {
        (Value::Object(given), Value::Object(written)) => {
            given
                .iter()
                .find_map(|(name, given)| match written.get(name) {
                    None => Some(format!(".{name}")),
                    Some(written) => Some(format!(".{name}{}", left_over(given, written)?)),
                })
        }
        (Value::Array(given), Value::Array(written)) => {
            let mut pairs = given.iter().zip(written).enumerate();
            pairs.find_map(|(number, (given, written))| {
                Some(format!("[{number}]{}", left_over(given, written)?))
            })
        }
        _ => None,
    }
}

/// A workload whose actions are read from data.
trait Part: Send + Sync {
    fn share(&self) -> u32;
    fn first(&self) -> Option<Value>;
    fn draw(&self, draw: &mut Draw<'_>) -> Value;
    fn check_action(&self, action: &Value, nodes: u16) -> Result<(), String>;
    fn left_over(&self, action: &Value) -> Option<String>;
    fn act<'a>(&'a self, agent: &'a mut Agent, action: &Value) -> BoxFuture<'a, ()>;
}

fn written<W: Workload>(action: &W::Action) -> Value {
    serde_json::to_value(action).expect("actions are data")
}

fn read<W: Workload>(action: &Value) -> Result<W::Action, String> {
    serde::Deserialize::deserialize(action).map_err(|error: serde_json::Error| error.to_string())
}

impl<W: Workload> Part for W {
    fn share(&self) -> u32 {
        Workload::share(self)
    }

    fn first(&self) -> Option<Value> {
        Workload::first(self).as_ref().map(written::<W>)
    }

    fn draw(&self, draw: &mut Draw<'_>) -> Value {
        written::<W>(&Workload::draw(self, draw))
    }

    fn check_action(&self, action: &Value, nodes: u16) -> Result<(), String> {
        Workload::check_action(self, &read::<W>(action)?, nodes)
    }

    fn left_over(&self, action: &Value) -> Option<String> {
        left_over(action, &written::<W>(&read::<W>(action).ok()?))
    }

    fn act<'a>(&'a self, agent: &'a mut Agent, action: &Value) -> BoxFuture<'a, ()> {
        let action = read::<W>(action).expect("a plan is checked before it is run");
        Box::pin(Workload::act(self, agent, action))
    }
}

/// Workloads and checks.
#[derive(Clone)]
pub struct Suite {
    /// In the order in which they were added, which is the order of drawing.
    parts: Vec<(&'static str, Arc<dyn Part>)>,
    checks: Vec<Arc<dyn Check>>,
}

impl Default for Suite {
    fn default() -> Self {
        Self::built_in()
    }
}

impl Suite {
    /// Nothing at all.
    #[must_use]
    pub const fn empty() -> Self {
        Self {
            parts: Vec::new(),
            checks: Vec::new(),
        }
    }

    /// What `sillok-sim` runs.
    #[must_use]
    pub fn built_in() -> Self {
        Self::empty()
            .workload(Staging)
            // These three in the place of as much of what is staged: so nothing else is drawn otherwise than without them.
            .workload(Gating)
            .workload(Banking)
            .workload(Fixing)
            .workload(Publishing)
            .workload(Judging)
            .workload(Replacing)
            .workload(LateRetries)
            .workload(Reads)
            .workload(Drains)
            .workload(Fences)
            .workload(Quarantines)
            .workload(Forger)
            .workload(Jobs)
            .workload(Maintaining)
            .workload(Branches)
            .workload(Erasing)
            .workload(Disputing)
            .workload(Deciding)
            .check(LateRetries)
            .check(Forger)
            .check(Reads)
            .check(Refusals)
            .check(Maintaining)
            .check(Branches)
            .check(Erasing)
            .check(Alike)
            .check(Disputing)
            .check(Deciding)
            .check(Fixing)
            .check(Gating)
            .check(Banking)
    }

    /// With a further workload.
    ///
    /// # Panics
    /// If another workload has its name.
    #[must_use]
    pub fn workload(mut self, workload: impl Workload) -> Self {
        let name = Workload::name(&workload);
        assert!(self.part(name).is_none(), "two workloads are called {name}");
        self.parts.push((name, Arc::new(workload)));
        self
    }

    /// With a further check.
    #[must_use]
    pub fn check(mut self, check: impl Check) -> Self {
        self.checks.push(Arc::new(check));
        self
    }

    fn part(&self, name: &str) -> Option<&Arc<dyn Part>> {
        let part = self.parts.iter().find(|(known, _)| *known == name);
        part.map(|(_, part)| part)
    }

    /// The operations of a seed, agent by agent.
    ///
    /// # Panics
    /// If there is nothing to draw from.
    #[must_use]
    pub fn draw(&self, seed: u64, nodes: u16, agents: u16, operations_each: u16) -> Vec<Operation> {
        let shares: u32 = self.parts.iter().map(|(_, part)| part.share()).sum();
        assert!(shares > 0, "a suite has a workload to draw from");
        let projects =
            Stream::new(seed, "projects", 0).between(u64::from(PROJECTS.0), u64::from(PROJECTS.1));
        let projects = u8::try_from(projects).expect("few projects");
        let mut operations = Vec::new();
        for agent in 0..agents {
            let mut stream = Stream::new(seed, "operations", u64::from(agent));
            let mut streams: BTreeMap<&str, Stream> = BTreeMap::new();
            for before in 0..operations_each {
                let (name, part) = self.draw_part(&mut stream, shares, before);
                let first = (before == 0).then(|| part.first()).flatten();
                let action = first.unwrap_or_else(|| {
                    let own = streams.entry(name);
                    part.draw(&mut Draw {
                        stream: own.or_insert_with(|| Stream::new(seed, name, u64::from(agent))),
                        agent,
                        before,
                        nodes,
                        projects,
                    })
                });
                let rest_ms = u16::try_from(stream.between(0, 600)).expect("below a second");
                operations.push(Operation {
                    agent,
                    rest_ms,
                    workload: name.to_owned(),
                    action,
                });
            }
        }
        operations
    }

    fn draw_part(
        &self,
        stream: &mut Stream,
        shares: u32,
        before: u16,
    ) -> (&'static str, &dyn Part) {
        let mut number = stream.between(0, u64::from(shares) - 1);
        let firsts = self.parts.iter().find(|(_, part)| part.first().is_some());
        if let (0, Some((name, part))) = (before, firsts) {
            return (name, &**part);
        }
        for (name, part) in &self.parts {
            let share = u64::from(part.share());
            if number < share {
                return (name, &**part);
            }
            number -= share;
        }
        unreachable!("the number lies below the sum of all shares")
    }

    /// Whether an operation can be carried out in a world of `nodes` nodes.
    ///
    /// # Errors
    /// Why not, with the field that says so.
    pub fn check_operation(&self, operation: &Operation, nodes: u16) -> Result<(), String> {
        let Some(part) = self.part(&operation.workload) else {
            return Err(format!(
                "workload: there is none that is called {:?}",
                operation.workload
            ));
        };
        part.check_action(&operation.action, nodes)
            .map_err(|why| format!("action: {why}"))
    }

    /// A field of an operation's action that nobody reads, by its path.
    pub(crate) fn left_over(&self, operation: &Operation) -> Option<String> {
        self.part(&operation.workload)?.left_over(&operation.action)
    }

    /// Lets an agent carry out an operation.
    pub(crate) async fn act(&self, agent: &mut Agent, operation: &Operation) {
        agent.client().sleep(u64::from(operation.rest_ms)).await;
        let part = self.part(&operation.workload);
        let part = part.expect("a plan is checked before it is run");
        part.act(agent, &operation.action).await;
    }

    /// Judges a world that has come to rest.
    pub(crate) fn judge(&self, end: &End<'_>) -> Result<(), Violation> {
        self.checks.iter().try_for_each(|check| check.check(end))
    }
}

impl<P: Protocol> World<P> {
    /// Lets every agent begin with its operations.
    pub(crate) fn start_agents(&mut self) {
        let mut by_agent: BTreeMap<u16, Vec<_>> = BTreeMap::new();
        for operation in &self.plan.operations {
            by_agent
                .entry(operation.agent)
                .or_default()
                .push(operation.clone());
        }
        self.agents = by_agent.len();
        let commons = Commons::default();
        for (number, operations) in by_agent {
            let rng = Stream::new(self.plan.seed, "client", u64::from(number));
            let client = self.client(usize::from(number), rng);
            let mut agent = Agent::new(client, commons.clone());
            let suite = self.suite.clone();
            let done = Arc::clone(&self.agents_done);
            self.clients.spawn(async move {
                for operation in operations {
                    suite.act(&mut agent, &operation).await;
                }
                done.fetch_add(1, Ordering::Relaxed);
            });
        }
    }

    /// What the suite's checks find.
    pub(crate) fn judge(&self) -> Result<(), Violation> {
        self.recorder.look(|history| {
            self.suite.judge(&End {
                plan: &self.plan,
                history,
                retention: &self.retention,
                store: &self.store,
                sim: &self.sim,
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_agent_begins_with_its_first_task_and_all_that_is_drawn_can_be_carried_out() {
        let suite = Suite::built_in();
        for seed in 0..20 {
            let operations = suite.draw(seed, 3, 8, 100);
            assert_eq!(operations.len(), 800);
            for (number, operation) in operations.iter().enumerate() {
                assert_eq!(suite.check_operation(operation, 3), Ok(()));
                if number % 100 == 0 {
                    assert_eq!(operation.action, serde_json::json!("open_task"));
                }
            }
        }
    }

    #[test]
    fn an_operation_that_nobody_can_carry_out_is_refused_with_its_field() {
        let suite = Suite::built_in();
        let mut operation = suite.draw(1, 3, 1, 1).remove(0);
        operation.action = serde_json::json!({"append": {"records": 200, "text": 1}});
        let refused = |operation: &Operation| suite.check_operation(operation, 3).unwrap_err();
        assert_eq!(
            refused(&operation),
            "action: records: 200 is not from 1 to 32"
        );
        operation.action = serde_json::json!({"append": {"records": 2}});
        assert!(refused(&operation).contains("missing field `text`"));
        operation.workload = "juggling".into();
        assert_eq!(
            refused(&operation),
            "workload: there is none that is called \"juggling\""
        );
        operation.workload = "drains".into();
        operation.action = serde_json::json!({"drain": {"node": 3}});
        assert_eq!(refused(&operation), "action: node: 3 is not below 3");
    }
}
