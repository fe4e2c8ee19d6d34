//! Shrinking: the smallest plan that can be found which still breaks the same invariant.
//!
//! Owns the search: delta debugging over faults and operations, then fewer nodes and shorter spans.
//! It must not know what an operation does. Every candidate is a valid plan, and is run whole: what
//! is taken away moves the delays of all that follows, so nothing can be concluded without running.

use std::collections::BTreeMap;
use std::ops::Range;

use serde::Serialize;

use crate::plan::Plan;
use crate::suite::Suite;
use crate::world::Outcome;

/// How large a plan is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Size {
    /// Operations.
    pub operations: usize,
    /// Faults.
    pub faults: usize,
    /// Agents that do something.
    pub agents: usize,
    /// Nodes.
    pub nodes: u16,
    /// How long faults last, all together, in ms.
    pub faults_ms: u64,
}

impl Size {
    fn of(plan: &Plan) -> Self {
        let faults = &plan.profile.faults;
        Self {
            operations: plan.operations.len(),
            faults: faults.len(),
            agents: plan.agents(),
            nodes: plan.profile.nodes,
            faults_ms: faults.iter().map(|fault| fault.for_ms).sum(),
        }
    }
}

/// What shrinking came to.
#[derive(Clone, Debug)]
pub struct Shrunk {
    /// The smaller plan.
    pub plan: Plan,
    /// What becomes of it.
    pub outcome: Outcome,
    /// The size before.
    pub before: Size,
    /// The size after.
    pub after: Size,
    /// Worlds that were run.
    pub runs: u32,
}

/// Makes a plan smaller that breaks an invariant when `run`, with at most `runs_max` runs; none if
/// it breaks none.
pub fn shrink(
    plan: &Plan,
    suite: &Suite,
    runs_max: u32,
    run: impl Fn(&Plan) -> Outcome,
) -> Option<Shrunk> {
    let outcome = run(plan);
    let invariant = outcome.violation.as_ref()?.invariant.clone();
    let mut search = Search {
        suite,
        run,
        invariant,
        plan: plan.clone(),
        outcome,
        runs: 1,
        runs_max: runs_max.max(1),
    };
    search.all();
    Some(Shrunk {
        before: Size::of(plan),
        after: Size::of(&search.plan),
        plan: search.plan,
        outcome: search.outcome,
        runs: search.runs,
    })
}

struct Search<'a, R> {
    suite: &'a Suite,
    run: R,
    invariant: String,
    /// The smallest so far.
    plan: Plan,
    outcome: Outcome,
    runs: u32,
    runs_max: u32,
}

impl<R: Fn(&Plan) -> Outcome> Search<'_, R> {
    fn is_over(&self) -> bool {
        self.runs >= self.runs_max
    }

    /// Takes a candidate if it breaks the same invariant.
    fn take(&mut self, candidate: Plan) -> bool {
        if self.is_over() || candidate == self.plan || candidate.validate(self.suite).is_err() {
            return false;
        }
        self.runs += 1;
        let outcome = (self.run)(&candidate);
        let violation = outcome.violation.as_ref();
        let is_same = violation.is_some_and(|violation| violation.invariant == self.invariant);
        if is_same {
            self.plan = candidate;
            self.outcome = outcome;
        }
        is_same
    }

    /// All passes, again and again until none of them finds anything.
    fn all(&mut self) {
        loop {
            let before = self.plan.clone();
            self.cut_ends();
            self.drop_agents();
            self.drop_faults();
            self.drop_operations();
            self.drop_nodes();
            self.shorten();
            if self.is_over() || before == self.plan {
                return;
            }
        }
    }

    /// Cuts off the last part of what every agent does: what comes after the violation is idle.
    fn cut_ends(&mut self) {
        let (mut low, mut high) = (0, self.longest());
        while low + 1 < high && !self.is_over() {
            let kept = low.midpoint(high);
            let mut candidate = self.plan.clone();
            let mut done: BTreeMap<u16, usize> = BTreeMap::new();
            candidate.operations.retain(|operation| {
                let number = done.entry(operation.agent).or_default();
                *number += 1;
                *number <= kept
            });
            if self.take(candidate) {
                high = kept;
            } else {
                low = kept;
            }
        }
    }

    /// Operations of the busiest agent.
    fn longest(&self) -> usize {
        let mut each: BTreeMap<u16, usize> = BTreeMap::new();
        for operation in &self.plan.operations {
            *each.entry(operation.agent).or_default() += 1;
        }
        each.into_values().max().unwrap_or(0)
    }

    fn drop_agents(&mut self) {
        let agents = self.plan.operations.iter().map(|operation| operation.agent);
        let agents: std::collections::BTreeSet<u16> = agents.collect();
        for agent in agents {
            let mut candidate = self.plan.clone();
            candidate
                .operations
                .retain(|operation| operation.agent != agent);
            self.take(candidate);
        }
    }

    fn drop_faults(&mut self) {
        let mut without = self.plan.clone();
        without.profile.faults.clear();
        if self.take(without) {
            return;
        }
        self.drop_items(
            |plan| plan.profile.faults.len(),
            |plan, dropped| drop(plan.profile.faults.drain(dropped)),
        );
    }

    /// Drops operations in runs of neighbours in time, across agents.
    fn drop_operations(&mut self) {
        let mut candidate = self.plan.clone();
        let mut done: BTreeMap<u16, usize> = BTreeMap::new();
        candidate.operations.sort_by_cached_key(|operation| {
            let number = done.entry(operation.agent).or_default();
            *number += 1;
            (*number, operation.agent)
        });
        // Agents act at the same time whatever the order of the list: it is the same world.
        self.plan = candidate;
        self.drop_items(
            |plan| plan.operations.len(),
            |plan, dropped| drop(plan.operations.drain(dropped)),
        );
        let mut sorted = self.plan.clone();
        sorted.operations.sort_by_key(|operation| operation.agent);
        self.plan = sorted;
    }

    /// Delta debugging: drops chunks, from halves down to single items, as long as that is found to
    /// change nothing.
    fn drop_items(
        &mut self,
        len: impl Fn(&Plan) -> usize,
        drop_range: impl Fn(&mut Plan, Range<usize>),
    ) {
        let mut chunk = len(&self.plan).div_ceil(2);
        while chunk > 0 && !self.is_over() {
            let mut found = false;
            // From the end, since what comes last matters least to the rest.
            let mut end = len(&self.plan);
            while end > 0 && !self.is_over() {
                let begin = end.saturating_sub(chunk);
                let mut candidate = self.plan.clone();
                drop_range(&mut candidate, begin..end);
                found |= self.take(candidate);
                end = begin;
            }
            if chunk == 1 && !found {
                return;
            }
            if !found || chunk > 1 {
                chunk /= 2;
            }
        }
    }

    /// Drops the last node with all that names it.
    fn drop_nodes(&mut self) {
        while self.plan.profile.nodes > 1 {
            let mut candidate = self.plan.clone();
            candidate.profile.nodes -= 1;
            let nodes = candidate.profile.nodes;
            let suite = self.suite;
            let faults = std::mem::take(&mut candidate.profile.faults);
            candidate.profile.faults = faults
                .into_iter()
                .filter(|fault| fault.kind.is_within(nodes))
                .collect();
            candidate
                .operations
                .retain(|operation| suite.check_operation(operation, nodes).is_ok());
            if !self.take(candidate) {
                return;
            }
        }
    }

    /// Halves how long faults last and how long agents rest.
    fn shorten(&mut self) {
        for number in 0..self.plan.profile.faults.len() {
            loop {
                let mut candidate = self.plan.clone();
                let fault = &mut candidate.profile.faults[number];
                fault.for_ms = (fault.for_ms / 2).max(1);
                if !self.take(candidate) {
                    break;
                }
            }
        }
        loop {
            let mut candidate = self.plan.clone();
            for operation in &mut candidate.operations {
                operation.rest_ms /= 2;
            }
            if !self.take(candidate) {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Violation;
    use crate::effects::Effects;
    use crate::second_opinion::Opinion;

    /// A run that fails as long as the plan has what `needs` looks for.
    fn failing(needs: impl Fn(&Plan) -> bool) -> impl Fn(&Plan) -> Outcome {
        move |plan| Outcome {
            calls: Vec::new(),
            found: None,
            violation: needs(plan).then(|| Violation::new("it holds", "it does not")),
            digest: String::new(),
            lines: 0,
            text: None,
            commits: 0,
            takeovers: 0,
            acknowledged: 0,
            sim_ms: 0,
            effects: Effects::default(),
            second_opinion: Opinion::default(),
        }
    }

    #[test]
    fn only_what_the_failure_needs_is_left() {
        let suite = Suite::built_in();
        let plan = Plan::draw(5);
        let (fault, operation) = (plan.profile.faults[3], plan.operations[700].clone());
        let run = failing(|plan| {
            let has_fault = plan.profile.faults.iter().any(|one| one.kind == fault.kind);
            let is_it = |one: &&crate::workload::Operation| {
                (one.agent, &one.action) == (operation.agent, &operation.action)
            };
            has_fault && plan.operations.iter().any(|one| is_it(&one))
        });
        let shrunk = shrink(&plan, &suite, 2_000, run).unwrap();
        assert_eq!(shrunk.after.operations, 1);
        assert_eq!(shrunk.after.faults, 1);
        assert_eq!(shrunk.after.agents, 1);
        assert_eq!(shrunk.plan.operations[0].rest_ms, 0);
        assert_eq!(shrunk.plan.profile.faults[0].for_ms, 1);
        assert_eq!(shrunk.before.operations, plan.operations.len());
        assert!(shrunk.runs < 500, "{} runs", shrunk.runs);
        shrunk.plan.validate(&suite).unwrap();
    }

    #[test]
    fn runs_are_bounded_and_a_plan_that_holds_is_left_alone() {
        let suite = Suite::built_in();
        let plan = Plan::draw(5);
        let shrunk = shrink(&plan, &suite, 7, failing(|plan| plan.operations.len() > 9)).unwrap();
        assert_eq!(shrunk.runs, 7);
        assert!(shrunk.after.operations < shrunk.before.operations);
        assert!(shrink(&plan, &suite, 7, failing(|_| false)).is_none());
    }
}
