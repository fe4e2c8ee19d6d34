//! The state of the model: the store's rows, two processes, the transactions on their way, and what is
//! only noted so that properties can be stated.
//!
//! Owns what each step does to the state. Which steps are possible is the model's.

use sillok_core::id::{Epoch, Incarnation};
use sillok_core::membership::{
    BeatConfig, NodeRow, Nodes, OwnerRow, Suspect, Watcher, WireVersion, is_claimable,
};

use crate::Variant;

/// The nodes' names.
pub(crate) const NAMES: [&str; 2] = ["a", "b"];
/// A node's row, small enough to be copied millions of times.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Row {
    pub(crate) incarnation: u8,
    beat: u8,
    pub(crate) fenced: bool,
}

impl Row {
    fn to_core(self) -> NodeRow {
        NodeRow {
            incarnation: Incarnation(u64::from(self.incarnation)),
            beat: u64::from(self.beat),
            fenced: self.fenced,
            reaches_bus: true,
            is_behind: false,
            reads: WireVersion::FIRST,
        }
    }
}

/// The slot's row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Owner {
    pub(crate) node: usize,
    pub(crate) incarnation: u8,
    pub(crate) epoch: u8,
}

impl Owner {
    fn to_core(self) -> OwnerRow {
        OwnerRow {
            node: NAMES[self.node].to_owned(),
            incarnation: Incarnation(u64::from(self.incarnation)),
            epoch: Epoch(u64::from(self.epoch)),
        }
    }
}

/// What became of something that a process asked of the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Heard {
    /// It happened, and the process was told.
    Done,
    /// It happened, and the process was not told.
    Unknown,
    /// It did not happen.
    Failed,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Standing {
    Up,
    Paused,
    Down,
}

/// A transaction that was decided and is on its way, with what it conflicts on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Flight {
    Claim {
        before: Option<Owner>,
        after: Owner,
    },
    HandOver {
        before: Option<Owner>,
        after: Owner,
    },
    Commit {
        before: Option<Owner>,
        epoch: u8,
        run: u8,
    },
}

/// A node's process.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Process {
    pub(crate) standing: Standing,
    /// Which of the node's runs this is, counted by the model: rows may lie.
    pub(crate) run: u8,
    pub(crate) is_registered: bool,
    pub(crate) incarnation: u8,
    pub(crate) watcher: Watcher,
    pub(crate) suspect: Option<Suspect>,
    /// The epoch under which it believes that it holds the slot.
    pub(crate) held: Option<u8>,
    pub(crate) has_beaten: bool,
    /// Whether this run has ever missed a beat for another reason than an outage.
    pub(crate) has_missed: bool,
    /// The transaction that it waits for.
    pub(crate) awaited: Option<Flight>,
    /// One that nobody waits for any more, and that may still happen.
    pub(crate) late: Option<Flight>,
}

impl Process {
    fn new() -> Self {
        Self {
            standing: Standing::Up,
            run: 0,
            is_registered: false,
            incarnation: 0,
            watcher: Watcher::default(),
            suspect: None,
            held: None,
            has_beaten: false,
            has_missed: false,
            awaited: None,
            late: None,
        }
    }

    pub(crate) fn runs(&self) -> bool {
        self.standing == Standing::Up && self.is_registered
    }

    pub(crate) fn is_free(&self) -> bool {
        self.standing == Standing::Up && self.awaited.is_none()
    }

    /// Whether this process is the run that a row names, and has beaten whenever the store let it.
    fn beats_as(&self, incarnation: u8) -> bool {
        self.standing != Standing::Down
            && self.is_registered
            && self.incarnation == incarnation
            && !self.has_missed
    }
}

/// What must never be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Wrong {
    TwoRunsInOneEpoch,
    StaleCommit,
    EpochJumps,
    TakenFromTheLiving,
    FencedWhileBeating,
    ReplacedByItself,
}

/// What the last step was, where the model is to show that it can happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Sight {
    Takeover,
    HandOver,
    FencedCommit,
    LateCommit,
    LateClaim,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct State {
    pub(crate) rows: [Option<Row>; 2],
    pub(crate) owner: Option<Owner>,
    pub(crate) processes: [Process; 2],
    pub(crate) round: u8,
    pub(crate) is_outage: bool,
    pub(crate) faults_left: u8,
    /// The epoch of the last commit, with who made it.
    last_commit: Option<(u8, usize, u8)>,
    pub(crate) wrong: Option<Wrong>,
    pub(crate) sight: Option<Sight>,
}

impl State {
    pub(crate) fn new(faults: u8) -> Self {
        Self {
            rows: [None; 2],
            owner: None,
            processes: [Process::new(), Process::new()],
            round: 1,
            is_outage: false,
            faults_left: faults,
            last_commit: None,
            wrong: None,
            sight: None,
        }
    }

    fn note(&mut self, wrong: Wrong) {
        self.wrong.get_or_insert(wrong);
    }

    fn nodes(&self) -> Nodes {
        let named = NAMES.iter().zip(&self.rows);
        let row = |(name, row): (&&str, &Option<Row>)| {
            Some(((*name).to_owned(), row.as_ref()?.to_core()))
        };
        named.filter_map(row).collect()
    }

    fn is_own(&self, node: usize, owner: Owner) -> bool {
        owner.node == node && owner.incarnation == self.processes[node].incarnation
    }

    /// The epoch under which a process holds the slot, if the slot's row says so too.
    fn confirmed(&self, node: usize) -> Option<u8> {
        let held = self.processes[node].held?;
        let owner = self.owner?;
        (self.is_own(node, owner) && owner.epoch == held).then_some(held)
    }

    pub(crate) fn epoch(&self) -> u8 {
        self.owner.map_or(0, |owner| owner.epoch)
    }

    pub(crate) fn register(&mut self, node: usize, heard: Heard, variant: Variant) {
        let before = self.rows[node].map_or(0, |row| row.incarnation);
        let incarnation = before + 1;
        self.rows[node] = Some(Row {
            incarnation,
            beat: 0,
            fenced: false,
        });
        let process = &mut self.processes[node];
        if heard == Heard::Done {
            process.run += 1;
            process.incarnation = incarnation;
            process.is_registered = true;
            process.held = None;
            process.has_beaten = true;
            process.has_missed = false;
        } else if variant == Variant::BeatsOnAfterLostRegistration && process.incarnation > 0 {
            // It goes on as the run that is over.
            process.is_registered = true;
        }
    }

    pub(crate) fn beat(&mut self, node: usize, heard: Heard, variant: Variant) {
        let counts_own = variant != Variant::FencesDuringOutage;
        let process = &mut self.processes[node];
        process.has_beaten = true;
        if heard == Heard::Failed {
            if counts_own {
                process.watcher.beat_failed();
            }
            return;
        }
        let row = self.rows[node].filter(|row| row.incarnation == process.incarnation);
        let Some(row) = row else {
            self.crash(node);
            // No second process ever runs under a node's name here.
            self.note(Wrong::ReplacedByItself);
            return;
        };
        if row.fenced {
            process.watcher.beat_failed();
            process.held = None;
            process.is_registered = false;
            return;
        }
        if heard == Heard::Done {
            self.watch(node, counts_own);
        } else {
            process.watcher.beat_failed();
        }
        let beat = row.beat + 1;
        self.rows[node] = Some(Row { beat, ..row });
    }

    fn watch(&mut self, node: usize, counts_own: bool) {
        let mut config = BeatConfig::default();
        let started_ms = u64::from(self.round) * config.every_ms;
        if !counts_own {
            config.every_ms = u64::MAX;
        }
        let nodes = self.nodes();
        let process = &mut self.processes[node];
        let suspects = process
            .watcher
            .after_beat(NAMES[node], started_ms, &nodes, &config);
        process.suspect = suspects.into_iter().next();
    }

    /// The next round begins. Whoever is paused has missed a beat.
    pub(crate) fn tick(&mut self) {
        self.round += 1;
        for process in &mut self.processes {
            process.has_missed |= process.is_registered && !process.has_beaten;
            process.has_beaten = false;
        }
    }

    pub(crate) fn crash(&mut self, node: usize) {
        let process = &mut self.processes[node];
        let late = process.late.take().or_else(|| process.awaited.take());
        *process = Process {
            standing: Standing::Down,
            run: process.run,
            late,
            ..Process::new()
        };
    }

    /// Fencing conflicts on the row that it changes, so it is one step here: later than its reads it
    /// could only happen if that row had not changed.
    ///
    /// Two faults together may silence who beats, unknown to the watcher: outages that begin behind its
    /// beats and end before them, or one that it is paused through. Whoever is silent for so
    /// long is fenced. One fault must not do that.
    pub(crate) fn fence(&mut self, node: usize, faults: u8, variant: Variant) {
        let suspect = self.processes[node].suspect.take();
        let suspect = suspect.expect("whoever fences suspects somebody");
        let victim = NAMES.iter().position(|name| *name == suspect.node);
        let victim = victim.expect("there are two nodes");
        let silent = self.rows[victim].filter(|row| {
            let row = row.to_core();
            row.incarnation == suspect.incarnation && row.beat == suspect.beat && !row.fenced
        });
        let Some(row) = silent else { return };
        if faults < 2 && self.processes[victim].beats_as(row.incarnation) {
            self.note(Wrong::FencedWhileBeating);
        }
        let fenced = Row {
            fenced: true,
            ..row
        };
        self.rows[victim] = (variant != Variant::CollectsFences).then_some(fenced);
    }

    fn is_owner_claimable(&self) -> bool {
        let owner = self.owner.map(Owner::to_core);
        let node = self.owner.and_then(|owner| self.rows[owner.node]);
        is_claimable(owner.as_ref(), node.map(Row::to_core).as_ref())
    }

    /// A claim reads the nodes' rows as of now, and conflicts on the owner's row alone.
    pub(crate) fn begin_claim(&mut self, node: usize, variant: Variant) {
        let incarnation = self.processes[node].incarnation;
        let lives =
            self.rows[node].is_some_and(|row| row.incarnation == incarnation && !row.fenced);
        if !lives {
            return;
        }
        if let Some(owner) = self.owner.filter(|owner| self.is_own(node, *owner)) {
            self.processes[node].held = Some(owner.epoch);
            return;
        }
        if variant != Variant::ClaimsFromTheLiving && !self.is_owner_claimable() {
            return;
        }
        let after = Owner {
            node,
            incarnation,
            epoch: self.epoch() + 1,
        };
        let before = self.owner;
        self.processes[node].awaited = Some(Flight::Claim { before, after });
    }

    pub(crate) fn begin_hand_over(&mut self, node: usize) {
        let Some(epoch) = self.confirmed(node) else {
            return;
        };
        let receiver = 1 - node;
        let Some(row) = self.rows[receiver].filter(|row| !row.fenced) else {
            return;
        };
        let after = Owner {
            node: receiver,
            incarnation: row.incarnation,
            epoch: epoch + 1,
        };
        let before = self.owner;
        self.processes[node].awaited = Some(Flight::HandOver { before, after });
    }

    pub(crate) fn begin_commit(&mut self, node: usize, variant: Variant) {
        let epoch = if variant == Variant::CommitsWithoutOwner {
            self.processes[node].held
        } else {
            self.confirmed(node)
        };
        let before = self.owner;
        let process = &mut self.processes[node];
        let run = process.run;
        if let Some(epoch) = epoch {
            process.awaited = Some(Flight::Commit { before, epoch, run });
        } else {
            process.held = None;
            self.sight = Some(Sight::FencedCommit);
        }
    }

    /// A transaction reaches the store: it happens unless what it conflicts on has changed.
    pub(crate) fn land(&mut self, node: usize, flight: Flight, is_awaited: bool, variant: Variant) {
        match flight {
            Flight::Claim { before, after } if self.owner == before => {
                if is_awaited {
                    self.processes[node].held = Some(after.epoch);
                }
                self.take_over(node, after, is_awaited);
            }
            Flight::HandOver { before, after } if self.owner == before => {
                if is_awaited {
                    self.processes[node].held = None;
                }
                self.sight = Some(Sight::HandOver);
                self.change_owner(after);
            }
            Flight::Commit { before, epoch, run }
                if self.owner == before || variant == Variant::CommitsWithoutOwner =>
            {
                if !is_awaited {
                    self.sight = Some(Sight::LateCommit);
                }
                self.commit(node, epoch, run);
            }
            Flight::Commit { .. } => self.sight = Some(Sight::FencedCommit),
            Flight::Claim { .. } | Flight::HandOver { .. } => {}
        }
    }

    fn take_over(&mut self, node: usize, after: Owner, is_awaited: bool) {
        if let Some(owner) = self.owner {
            let loser = &self.processes[owner.node];
            if !self.is_owner_claimable() || loser.beats_as(owner.incarnation) {
                self.note(Wrong::TakenFromTheLiving);
            }
            if owner.node != node {
                self.sight = Some(Sight::Takeover);
            }
        }
        if !is_awaited {
            self.sight = Some(Sight::LateClaim);
        }
        self.change_owner(after);
    }

    fn change_owner(&mut self, after: Owner) {
        if after.epoch != self.epoch() + 1 {
            self.note(Wrong::EpochJumps);
        }
        self.owner = Some(after);
    }

    fn commit(&mut self, node: usize, epoch: u8, run: u8) {
        let is_of_owner = self
            .owner
            .is_some_and(|owner| owner.epoch == epoch && owner.node == node);
        if !is_of_owner {
            self.note(Wrong::StaleCommit);
        }
        let by = (epoch, node, run);
        if let Some(last) = self.last_commit
            && last.0 == epoch
            && last != by
        {
            self.note(Wrong::TwoRunsInOneEpoch);
        }
        self.last_commit = Some(by);
    }
}
