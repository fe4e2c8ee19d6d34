//! Carries a plan out: one row, pushed through the stages.
//!
//! Owns the row, the order of stages and subqueries. A row goes all the way down before the next one
//! is looked for, so nothing is kept but what a projection has to keep.

use std::collections::{BTreeMap, BTreeSet};

use crate::aggregate::Fold;
use crate::answer::Answer;
use crate::graph::Graph;
use crate::meter::{Meter, Stop};
use crate::plan::{End, Expr, Frame, Match, Plan, Slot, Stage};
use crate::value::{Key, Value};

pub(crate) struct Exec<'g, 'q> {
    pub(crate) graph: &'g Graph,
    pub(crate) meter: Meter<'q>,
    pub(crate) row: Vec<Value>,
    pub(crate) states: Vec<State>,
    pub(crate) answer: Answer,
}

/// What a part of the plan remembers from one row to the next.
#[derive(Debug, Default)]
pub(crate) struct State {
    /// A match has found something for the row at hand.
    pub(crate) matched: bool,
    /// Edges that the match at hand goes along.
    pub(crate) used: BTreeSet<u32>,
    /// Rows that were handed on, where each comes once.
    pub(crate) seen: BTreeSet<Key>,
    pub(crate) skip: usize,
    pub(crate) limit: usize,
    pub(crate) skipped: usize,
    pub(crate) taken: usize,
    pub(crate) rows: Vec<Kept>,
    pub(crate) groups: BTreeMap<Key, usize>,
    pub(crate) folds: Vec<(Key, Vec<Fold>)>,
    /// What a subquery found.
    count: usize,
    found: Vec<Value>,
}

/// A row that waits until all have come.
#[derive(Debug)]
pub(crate) struct Kept {
    pub(crate) values: Vec<Value>,
    pub(crate) keys: Vec<Value>,
    pub(crate) bytes: usize,
}

impl<'g, 'q> Exec<'g, 'q> {
    pub(crate) fn new(graph: &'g Graph, meter: Meter<'q>, plan: &Plan) -> Self {
        Self {
            graph,
            meter,
            row: vec![Value::Null; plan.slots],
            states: (0..plan.states).map(|_| State::default()).collect(),
            answer: Answer::new(plan.once),
        }
    }

    /// All queries of a plan, one after the other.
    pub(crate) fn run(&mut self, plan: &Plan) -> Result<(), Stop> {
        self.meter.hold(plan.regex_bytes)?;
        for frame in &plan.frames {
            let mark = self.meter.mark();
            self.bounds(frame)?;
            self.meter.drop_to(mark);
            self.run_frame(frame)?;
        }
        Ok(())
    }

    /// Stages up to one that has to see all rows; then from what it made of them on.
    fn run_frame(&mut self, frame: &Frame) -> Result<(), Stop> {
        let (mark, open) = (self.meter.mark(), self.meter.opened());
        // What the answer holds stays; all else that comes to be held goes with the stages that hold it.
        let held = self.meter.held().saturating_sub(self.answer.held);
        let mut begin = 0;
        let mut rows: Option<(Vec<Slot>, Vec<Kept>)> = None;
        loop {
            let blocking = frame.stages.iter().enumerate().skip(begin);
            let blocking = blocking.into_iter().find_map(|(at, stage)| match stage {
                Stage::Project(project) if project.blocks() => Some((at, project)),
                _ => None,
            });
            match rows.take() {
                None => enough(self.stage(frame, begin))?,
                Some((slots, kept)) => enough(self.feed(frame, begin, &slots, kept))?,
            }
            // What a filled `LIMIT` left in its middle is not kept either.
            self.row.fill(Value::Null);
            self.meter.drop_to(mark);
            self.meter.close_to(open);
            let Some((at, project)) = blocking else {
                self.forget(&frame.stages[begin..]);
                self.meter.hold_only(held.saturating_add(self.answer.held));
                return Ok(());
            };
            let slots = project.items.iter().map(|item| item.slot).collect();
            let kept = self.finish(project)?;
            self.forget(&frame.stages[begin..=at]);
            self.meter.hold_only(held.saturating_add(self.answer.held));
            let bytes = kept.iter().map(|row| row.bytes);
            self.meter.open(bytes.fold(0, usize::saturating_add))?;
            rows = Some((slots, kept));
            begin = at + 1;
        }
    }

    /// Drops what these stages remember: they have seen their last row.
    fn forget(&mut self, stages: &[Stage]) {
        for stage in stages {
            let id = match stage {
                Stage::Match(of) => of.id,
                Stage::Project(project) => project.id,
                Stage::Unwind { .. } | Stage::Filter(_) => continue,
            };
            self.states[id] = State::default();
        }
    }

    fn feed(
        &mut self,
        frame: &Frame,
        begin: usize,
        slots: &[Slot],
        kept: Vec<Kept>,
    ) -> Result<(), Stop> {
        for row in kept {
            for (slot, value) in slots.iter().zip(row.values) {
                self.row[*slot] = value;
            }
            self.stage(frame, begin)?;
            for slot in slots {
                self.row[*slot] = Value::Null;
            }
            self.meter.close(row.bytes);
        }
        Ok(())
    }

    pub(crate) fn stage(&mut self, frame: &Frame, at: usize) -> Result<(), Stop> {
        self.meter.step()?;
        match frame.stages.get(at) {
            None => self.end(frame),
            Some(Stage::Filter(condition)) => {
                if self.holds(condition)? {
                    self.stage(frame, at + 1)?;
                }
                Ok(())
            }
            Some(Stage::Unwind { list, slot }) => self.unwind(frame, at, list, *slot),
            Some(Stage::Match(of)) => self.matched(frame, at, of),
            Some(Stage::Project(project)) => self.project(frame, at, project),
        }
    }

    fn unwind(&mut self, frame: &Frame, at: usize, list: &Expr, slot: Slot) -> Result<(), Stop> {
        let mark = self.meter.mark();
        match self.eval(list)? {
            Value::Null => {}
            Value::List(list) => {
                for item in &list.items {
                    self.row[slot] = item.clone();
                    self.stage(frame, at + 1)?;
                }
            }
            one => {
                self.row[slot] = one;
                self.stage(frame, at + 1)?;
            }
        }
        self.row[slot] = Value::Null;
        self.meter.drop_to(mark);
        Ok(())
    }

    fn matched(&mut self, frame: &Frame, at: usize, of: &Match) -> Result<(), Stop> {
        let state = &mut self.states[of.id];
        state.matched = false;
        state.used.clear();
        self.op(frame, at, of, 0)?;
        if of.optional && !self.states[of.id].matched {
            for slot in &of.slots {
                self.row[*slot] = Value::Null;
            }
            self.stage(frame, at + 1)?;
        }
        Ok(())
    }

    fn end(&mut self, frame: &Frame) -> Result<(), Stop> {
        match &frame.end {
            End::Answer(slots) => {
                let values = slots.iter().map(|slot| self.row[*slot].clone()).collect();
                self.answer.add(values, self.graph, &mut self.meter)
            }
            End::Exists => Err(Stop::Found),
            End::Count => {
                self.states[frame.id].count += 1;
                Ok(())
            }
            End::Collect(result) => {
                let value = self.eval(result)?;
                // It stays under way, since a walk drops what was worked out on its way.
                self.meter.open(value.bytes())?;
                self.states[frame.id].found.push(value);
                Ok(())
            }
        }
    }

    /// What a subquery finds for the row at hand; nothing where one was asked for and there is none.
    pub(crate) fn subquery(&mut self, frame: &Frame) -> Result<Option<Value>, Stop> {
        let state = &mut self.states[frame.id];
        state.count = 0;
        state.found.clear();
        let (open, mark) = (self.meter.opened(), self.meter.mark());
        let found = match self.stage(frame, 0) {
            Ok(()) => false,
            Err(Stop::Found) => true,
            Err(other) => return Err(other),
        };
        // A walk that was left in its middle frees nothing by itself. No stage of a subquery keeps anything behind it.
        for stage in &frame.stages {
            if let Stage::Match(of) = stage {
                self.states[of.id].used.clear();
                for slot in &of.slots {
                    self.row[*slot] = Value::Null;
                }
            }
        }
        self.meter.close_to(open);
        self.meter.drop_to(mark);
        let state = &mut self.states[frame.id];
        Ok(match frame.end {
            End::Count => Some(Value::count(state.count)),
            End::Collect(_) => {
                let list = Value::list(std::mem::take(&mut state.found))?;
                self.meter.take(list.bytes())?;
                Some(list)
            }
            End::Exists | End::Answer(_) => found.then_some(Value::Bool(true)),
        })
    }
}

/// A `LIMIT` that is filled ends its part of the query, and nothing else.
fn enough(result: Result<(), Stop>) -> Result<(), Stop> {
    match result {
        Err(Stop::Enough) => Ok(()),
        other => other,
    }
}
