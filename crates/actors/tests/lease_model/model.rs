//! The model: which steps are possible, and what must hold after each.

use stateright::{Model, Property};

use crate::Variant;
use crate::state::{Heard, NAMES, Process, Sight, Standing, State, Wrong};

/// A step. All but the last three are those of one node, by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Register(usize, Heard),
    Beat(usize, Heard),
    Fence(usize),
    Claim(usize),
    HandOver(usize),
    Commit(usize),
    /// The transaction that the node waits for reaches the store.
    Land(usize),
    /// The one that it no longer waits for does.
    LandLate(usize),
    /// The node is told that an outcome is unknown.
    GiveUp(usize),
    Crash(usize),
    Start(usize),
    Pause(usize),
    Resume(usize),
    Tick,
    OutageBegins,
    OutageEnds,
}

/// The protocol with its bounds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lease {
    pub(crate) variant: Variant,
    /// Rounds of beats.
    pub(crate) rounds: u8,
    /// Changes of owner.
    pub(crate) epochs: u8,
    /// Crashes, pauses, outages, lost answers and lost beats, all together.
    pub(crate) faults: u8,
}

impl Lease {
    fn steps_of(&self, state: &State, node: usize, steps: &mut Vec<Step>) {
        let process = &state.processes[node];
        let has_store = !state.is_outage;
        let may_fail = state.faults_left > 0;
        let can_move = state.epoch() < self.epochs;
        let mut add = |is_possible: bool, step: Step| {
            if is_possible {
                steps.push(step);
            }
        };
        let is_up = process.standing == Standing::Up;
        let registers = is_up && !process.is_registered && has_store;
        add(registers, Step::Register(node, Heard::Done));
        add(registers && may_fail, Step::Register(node, Heard::Unknown));

        let beats = process.runs() && !process.has_beaten;
        add(beats && has_store, Step::Beat(node, Heard::Done));
        let loses = beats && has_store && may_fail;
        add(loses, Step::Beat(node, Heard::Unknown));
        add(beats && !has_store, Step::Beat(node, Heard::Failed));

        let acts = process.is_free() && has_store;
        let fences = process.runs() && process.suspect.is_some() && has_store;
        add(fences, Step::Fence(node));
        let claims = acts && process.is_registered && process.held.is_none() && can_move;
        add(claims, Step::Claim(node));
        let holds = acts && process.held.is_some();
        add(holds && can_move, Step::HandOver(node));
        add(holds, Step::Commit(node));

        let waits = process.awaited.is_some();
        add(waits && has_store, Step::Land(node));
        add(process.late.is_some() && has_store, Step::LandLate(node));
        let gives_up = is_up && waits && may_fail && process.late.is_none();
        add(gives_up, Step::GiveUp(node));

        add(
            process.standing != Standing::Down && may_fail,
            Step::Crash(node),
        );
        add(process.standing == Standing::Down, Step::Start(node));
        add(process.runs() && may_fail, Step::Pause(node));
        add(process.standing == Standing::Paused, Step::Resume(node));
    }

    fn take(&self, state: &mut State, step: Step) {
        let variant = self.variant;
        let is_fault = match step {
            Step::Crash(_) | Step::Pause(_) | Step::GiveUp(_) | Step::OutageBegins => true,
            Step::Register(_, heard) => heard != Heard::Done,
            Step::Beat(_, heard) => heard == Heard::Unknown,
            _ => false,
        };
        state.faults_left -= u8::from(is_fault);
        match step {
            Step::Register(node, heard) => state.register(node, heard, variant),
            Step::Beat(node, heard) => state.beat(node, heard, variant),
            Step::Fence(node) => state.fence(node, self.faults - state.faults_left, variant),
            Step::Claim(node) => state.begin_claim(node, variant),
            Step::HandOver(node) => state.begin_hand_over(node),
            Step::Commit(node) => state.begin_commit(node, variant),
            Step::Land(node) => {
                let flight = state.processes[node].awaited.take();
                state.land(node, flight.expect("it is awaited"), true, variant);
            }
            Step::LandLate(node) => {
                let flight = state.processes[node].late.take();
                state.land(node, flight.expect("it is on its way"), false, variant);
            }
            Step::GiveUp(node) => {
                let process = &mut state.processes[node];
                process.late = process.awaited.take();
            }
            Step::Crash(node) => state.crash(node),
            Step::Start(node) | Step::Resume(node) => {
                state.processes[node].standing = Standing::Up;
            }
            Step::Pause(node) => state.processes[node].standing = Standing::Paused,
            Step::Tick => state.tick(),
            Step::OutageBegins => state.is_outage = true,
            Step::OutageEnds => state.is_outage = false,
        }
    }
}

impl Model for Lease {
    type State = State;
    type Action = Step;

    fn init_states(&self) -> Vec<State> {
        vec![State::new(self.faults)]
    }

    fn actions(&self, state: &State, steps: &mut Vec<Step>) {
        if state.wrong.is_some() {
            return;
        }
        for node in 0..NAMES.len() {
            self.steps_of(state, node, steps);
        }
        // Whoever is up beats in every round; the others have had no time to do without.
        let waited_for = |process: &Process| {
            process.standing == Standing::Up && !(process.is_registered && process.has_beaten)
        };
        if state.round < self.rounds && !state.processes.iter().any(waited_for) {
            steps.push(Step::Tick);
        }
        if state.is_outage {
            steps.push(Step::OutageEnds);
        } else if state.faults_left > 0 {
            steps.push(Step::OutageBegins);
        }
    }

    fn next_state(&self, last: &State, step: Step) -> Option<State> {
        let mut next = last.clone();
        next.sight = None;
        self.take(&mut next, step);
        (next != *last).then_some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        macro_rules! never {
            ($name:literal, $wrong:ident) => {
                Property::<Self>::always($name, |_, state| state.wrong != Some(Wrong::$wrong))
            };
        }
        macro_rules! sometimes {
            ($name:literal, $sight:ident) => {
                Property::<Self>::sometimes($name, |_, state| state.sight == Some(Sight::$sight))
            };
        }
        vec![
            never!("one run commits under an epoch", TwoRunsInOneEpoch),
            never!("nobody commits under an epoch that is over", StaleCommit),
            never!("epochs rise by one", EpochJumps),
            never!("nobody takes from the living", TakenFromTheLiving),
            never!("whoever beats is not fenced", FencedWhileBeating),
            never!("no node is replaced by itself", ReplacedByItself),
            sometimes!("a slot is taken over", Takeover),
            sometimes!("a slot is handed over", HandOver),
            sometimes!("a commit is fenced", FencedCommit),
            sometimes!("a commit comes late", LateCommit),
            sometimes!("a claim comes late", LateClaim),
        ]
    }
}
