//! How much is measured: the full size, and a small one that shows that the programs work.
//!
//! Owns counts and times, all bounded. Floors are not its matter.

use std::time::Duration;

/// How long a steady load runs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Window {
    /// Before anything counts.
    pub(crate) warm: Duration,
    /// While it counts.
    pub(crate) measured: Duration,
}

/// Counts and times of one run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scale {
    /// Each steady load.
    pub(crate) window: Window,
    /// Scopes of the widest load, and clients of the widest HTTP load.
    pub(crate) wide: usize,
    /// Records after which memory is looked at.
    pub(crate) memory_records: u64,
    /// Lines of the work tree that is indexed.
    pub(crate) code_lines: u64,
    /// Scopes that are touched.
    pub(crate) scopes: u32,
    /// Cold scopes whose activation is timed.
    pub(crate) activations: u32,
    /// Entries of the published store.
    pub(crate) entries: u32,
    /// Recalls that are timed.
    pub(crate) recalls: u32,
    /// Publishes that are timed.
    pub(crate) publishes: u32,
    /// Entries that recall is asked about where there are very many.
    pub(crate) many: u32,
    /// Recalls of them that are timed.
    pub(crate) many_recalls: u32,
    /// Questions whose closest entries are computed, for each filter.
    pub(crate) neighbours: u32,
    /// Tasks that are promoted.
    pub(crate) promotions: usize,
    /// What decisions are measured with.
    pub(crate) decisions: DecisionScale,
    /// What checks of fixes are measured with.
    pub(crate) fixes: FixScale,
    /// What checks of the gate are measured with.
    pub(crate) gate: GateScale,
    /// Turns of a conversation of each run whose hooks are timed.
    pub(crate) turns: usize,
    /// What searches of patterns are measured with.
    pub(crate) bank: BankScale,
    /// Entries that maintenance is planned over.
    pub(crate) planned: u64,
    /// Entries that are pruned at once.
    pub(crate) pruned: u32,
    /// Entries that are maintained while somebody appends.
    pub(crate) maintained: u32,
    /// Nights of a year.
    pub(crate) nights: u64,
    /// What nodes among others are measured with.
    pub(crate) cluster: ClusterScale,
}

/// Counts of the items about decisions.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DecisionScale {
    /// Decisions that a brief is asked for among.
    pub(crate) roots: usize,
    /// Versions that each of them has.
    pub(crate) versions: u64,
    /// Decisions where there are very many.
    pub(crate) many_roots: usize,
    /// Decisions that are saved beside them before each run.
    pub(crate) beside: usize,
    /// Briefs of each run that are timed.
    pub(crate) briefs: usize,
    /// Decisions of the graph that are no hubs: a multiple of ten.
    pub(crate) related: usize,
    /// Impacts of each run that are timed.
    pub(crate) impacts: usize,
}

/// Counts of the item about fixes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FixScale {
    /// Approaches that failed in a project: a multiple of a hundred.
    pub(crate) failed: usize,
    /// Checks of each run that are timed.
    pub(crate) checks: usize,
}

/// Counts of the item about the gate.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GateScale {
    /// Files of the work tree.
    pub(crate) files: usize,
    /// Checks of each run that are timed.
    pub(crate) checks: usize,
}

/// Counts of the item about trajectories.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BankScale {
    /// Trajectories of a project: a multiple of a hundred.
    pub(crate) stored: usize,
    /// Searches and briefs of each run that are timed.
    pub(crate) asked: usize,
}

/// Counts of the item with several nodes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ClusterScale {
    /// Projects that somebody writes to while nodes come and go.
    pub(crate) writers: usize,
    /// Projects beside them, whose slots are handed over too.
    pub(crate) idle: usize,
    /// Entries of each of the projects that are written to.
    pub(crate) entries: usize,
    /// Nodes that are killed, and then drained, one after the other.
    pub(crate) rounds: usize,
    /// Writes to each project whose events are waited for.
    pub(crate) events: usize,
    /// Tails on one node.
    pub(crate) tails: u64,
    /// Events that all of them hear.
    pub(crate) tail_events: usize,
}

impl Scale {
    /// What the floors are stated for.
    pub(crate) const FULL: Self = Self {
        window: Window {
            warm: Duration::from_secs(2),
            measured: Duration::from_secs(10),
        },
        wide: 50,
        memory_records: 1_000_000,
        code_lines: 1_000_000,
        scopes: 100_000,
        activations: 20_000,
        entries: 100_000,
        recalls: 2_000,
        publishes: 100,
        many: 1_000_000,
        many_recalls: 1_000,
        neighbours: 100,
        promotions: 500,
        decisions: DecisionScale {
            roots: 100_000,
            versions: 10,
            many_roots: 1_000_000,
            beside: 6_000,
            briefs: 1_000,
            related: 100_000,
            impacts: 200,
        },
        fixes: FixScale {
            failed: 1_000,
            checks: 1_000,
        },
        gate: GateScale {
            files: 50_000,
            checks: 1_000,
        },
        turns: 200,
        bank: BankScale {
            stored: 4_000,
            asked: 200,
        },
        planned: 10_000_000,
        pruned: 200_000,
        maintained: 1_000_000,
        nights: 365,
        cluster: ClusterScale {
            writers: 48,
            idle: 300,
            entries: 100,
            rounds: 3,
            events: 400,
            tails: 10_000,
            tail_events: 20,
        },
    };

    /// A few seconds in all.
    pub(crate) const QUICK: Self = Self {
        window: Window {
            warm: Duration::from_millis(50),
            measured: Duration::from_millis(250),
        },
        wide: 8,
        memory_records: 2_000,
        code_lines: 10_000,
        scopes: 300,
        activations: 100,
        entries: 1_500,
        recalls: 40,
        publishes: 5,
        many: 4_000,
        many_recalls: 20,
        neighbours: 5,
        promotions: 8,
        decisions: DecisionScale {
            roots: 1_900,
            versions: 3,
            many_roots: 3_800,
            beside: 300,
            briefs: 20,
            related: 1_000,
            impacts: 10,
        },
        fixes: FixScale {
            failed: 100,
            checks: 15,
        },
        gate: GateScale {
            files: 4_000,
            checks: 20,
        },
        turns: 5,
        bank: BankScale {
            stored: 100,
            asked: 10,
        },
        planned: 20_000,
        pruned: 1_600,
        maintained: 4_000,
        nights: 3,
        cluster: ClusterScale {
            writers: 12,
            idle: 12,
            entries: 2,
            rounds: 1,
            events: 10,
            tails: 200,
            tail_events: 3,
        },
    };
}
