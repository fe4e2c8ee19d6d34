//! Projections: `WITH` and `RETURN` with their groups, their order and their bounds.
//!
//! Owns what a projection keeps and what it hands on. Rows of one key keep the order in which they came.

use std::cmp::Ordering;

use crate::aggregate::Fold;
use crate::meter::{Stop, invalid};
use crate::plan::{Expr, Frame, Item, Project, Stage};
use crate::run::{Exec, Kept};
use crate::value::{Key, Value, bytes_of};

/// So many rows more than are wanted are kept before those behind are dropped.
const SORT_SLACK: usize = 1024;

impl Exec<'_, '_> {
    /// Works out the bounds of all projections, which know no row.
    pub(crate) fn bounds(&mut self, frame: &Frame) -> Result<(), Stop> {
        for stage in &frame.stages {
            if let Stage::Project(project) = stage {
                let skip = self.bound(project.skip.as_ref(), "SKIP")?;
                let limit = self.bound(project.limit.as_ref(), "LIMIT")?;
                let state = &mut self.states[project.id];
                state.skip = skip.unwrap_or(0);
                state.limit = limit.unwrap_or(usize::MAX);
            }
        }
        Ok(())
    }

    fn bound(&mut self, expr: Option<&Expr>, name: &str) -> Result<Option<usize>, Stop> {
        let Some(expr) = expr else {
            return Ok(None);
        };
        match self.eval(expr)? {
            Value::Int(int) if int >= 0 => Ok(Some(usize::try_from(int).unwrap_or(usize::MAX))),
            _ => Err(invalid(format!("{name} takes a whole number that is not negative")).into()),
        }
    }

    pub(crate) fn project(
        &mut self,
        frame: &Frame,
        at: usize,
        project: &Project,
    ) -> Result<(), Stop> {
        let mark = self.meter.mark();
        let result = if project.grouped {
            self.group(project)
        } else {
            self.project_row(frame, at, project)
        };
        for item in &project.items {
            self.row[item.slot] = Value::Null;
        }
        self.meter.drop_to(mark);
        result
    }

    fn project_row(&mut self, frame: &Frame, at: usize, project: &Project) -> Result<(), Stop> {
        for item in &project.items {
            self.row[item.slot] = self.eval(&item.expr)?;
        }
        if !self.passes(project)? {
            return Ok(());
        }
        if !project.order.is_empty() {
            return self.keep(project);
        }
        let state = &mut self.states[project.id];
        if state.taken >= state.limit {
            return Err(Stop::Enough);
        }
        if state.skipped < state.skip {
            state.skipped += 1;
            return Ok(());
        }
        state.taken += 1;
        let full = state.taken >= state.limit;
        self.stage(frame, at + 1)?;
        if full { Err(Stop::Enough) } else { Ok(()) }
    }

    /// Whether the filter takes the row, and it is new where each row comes once.
    fn passes(&mut self, project: &Project) -> Result<bool, Stop> {
        if let Some(filter) = &project.filter
            && !self.holds(filter)?
        {
            return Ok(false);
        }
        if !project.distinct {
            return Ok(true);
        }
        let key = self.key(project.items.iter());
        let seen = self.states[project.id].seen.len();
        self.meter
            .work(key.bytes(), u64::from(seen.max(2).ilog2()))?;
        let bytes = key.bytes();
        if !self.states[project.id].seen.insert(key) {
            return Ok(false);
        }
        self.meter.hold(bytes.saturating_mul(2))?;
        Ok(true)
    }

    fn key<'p>(&self, items: impl Iterator<Item = &'p Item>) -> Key {
        Key(items.map(|item| self.row[item.slot].clone()).collect())
    }

    /// Keeps the row that the slots hold, with what it is sorted by.
    fn keep(&mut self, project: &Project) -> Result<(), Stop> {
        let mut keys = Vec::with_capacity(project.order.len());
        for (by, _) in &project.order {
            keys.push(self.eval(by)?);
        }
        let values = self.key(project.items.iter()).0;
        let bytes = bytes_of(values.iter().chain(&keys)).saturating_add(size_of::<Kept>());
        self.meter.hold(bytes)?;
        let state = &mut self.states[project.id];
        state.rows.push(Kept {
            values,
            keys,
            bytes,
        });
        let wanted = state.skip.saturating_add(state.limit);
        if state.rows.len() >= wanted.saturating_mul(2).saturating_add(SORT_SLACK) {
            self.sort(project)?;
            let dropped = self.states[project.id].rows.split_off(wanted);
            self.meter.free(dropped.iter().map(|row| row.bytes).sum());
        }
        Ok(())
    }

    fn sort(&mut self, project: &Project) -> Result<(), Stop> {
        let rows = &mut self.states[project.id].rows;
        let bytes = rows.iter().map(|row| row.bytes).sum();
        self.meter
            .work(bytes, u64::from(rows.len().max(2).ilog2()))?;
        rows.sort_by(|a, b| {
            let pairs = a.keys.iter().zip(&b.keys).zip(&project.order);
            for ((a, b), (_, descending)) in pairs {
                let order = a.cmp_total(b);
                let order = if *descending { order.reverse() } else { order };
                if order != Ordering::Equal {
                    return order;
                }
            }
            Ordering::Equal
        });
        Ok(())
    }

    fn group(&mut self, project: &Project) -> Result<(), Stop> {
        for item in project.items.iter().filter(|item| !item.of_group) {
            self.row[item.slot] = self.eval(&item.expr)?;
        }
        let key = self.key(project.items.iter().filter(|item| !item.of_group));
        let groups = self.states[project.id].groups.len();
        self.meter
            .work(key.bytes(), u64::from(groups.max(2).ilog2()))?;
        let found = self.states[project.id].groups.get(&key).copied();
        let at = match found {
            Some(at) => at,
            None => {
                let folds = size_of::<Fold>() * project.aggregates.len();
                let bytes = key.bytes().saturating_mul(2);
                self.meter.hold(bytes.saturating_add(folds))?;
                self.begin_group(project, key)
            }
        };
        for (number, aggregate) in project.aggregates.iter().enumerate() {
            let value = aggregate.of.as_ref().map(|of| self.eval(of)).transpose()?;
            let fold = &mut self.states[project.id].folds[at].1[number];
            fold.add(value, &mut self.meter)?;
        }
        Ok(())
    }

    fn begin_group(&mut self, project: &Project, key: Key) -> usize {
        let state = &mut self.states[project.id];
        let at = state.folds.len();
        state.groups.insert(key.clone(), at);
        let folds = project.aggregates.iter().map(Fold::new).collect();
        state.folds.push((key, folds));
        at
    }

    /// The rows of a projection that has seen all.
    pub(crate) fn finish(&mut self, project: &Project) -> Result<Vec<Kept>, Stop> {
        if project.grouped {
            self.finish_groups(project)?;
        }
        if !project.order.is_empty() {
            self.sort(project)?;
        }
        let state = &mut self.states[project.id];
        let rows = std::mem::take(&mut state.rows);
        Ok(rows
            .into_iter()
            .skip(state.skip)
            .take(state.limit)
            .collect())
    }

    fn finish_groups(&mut self, project: &Project) -> Result<(), Stop> {
        // Of no rows at all there is one group, unless something divides them.
        if project.items.iter().all(|item| item.of_group)
            && self.states[project.id].folds.is_empty()
        {
            self.begin_group(project, Key(Vec::new()));
        }
        self.states[project.id].groups.clear();
        let groups = std::mem::take(&mut self.states[project.id].folds);
        for (key, folds) in groups {
            let mark = self.meter.mark();
            let of_rows = project.items.iter().filter(|item| !item.of_group);
            for (item, value) in of_rows.zip(key.0) {
                // What stands beside an aggregate reads the variable itself.
                if let Expr::Slot(slot) = item.expr {
                    self.row[slot] = value.clone();
                }
                self.row[item.slot] = value;
            }
            for (aggregate, fold) in project.aggregates.iter().zip(folds) {
                self.row[aggregate.slot] = fold.result()?;
            }
            for item in project.items.iter().filter(|item| item.of_group) {
                self.row[item.slot] = self.eval(&item.expr)?;
            }
            if self.passes(project)? {
                self.keep(project)?;
            }
            for slot in project.aggregates.iter().map(|one| one.slot) {
                self.row[slot] = Value::Null;
            }
            self.meter.drop_to(mark);
        }
        Ok(())
    }
}
