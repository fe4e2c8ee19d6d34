//! Aggregates: what is kept of the rows of a group, and what it comes to.
//!
//! Owns the folds. What they keep is held until the query ends, and paid for when it is taken in.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use crate::eval::{float_of, wrong};
use crate::meter::{Meter, Stop, invalid};
use crate::plan::{Aggregate, AggregateKind};
use crate::value::{Key, Value};

/// One aggregate of one group.
#[derive(Debug)]
pub(crate) struct Fold {
    kind: AggregateKind,
    /// What came before, where each value counts once.
    seen: Option<BTreeSet<Key>>,
    count: i64,
    whole: i64,
    float: f64,
    /// Whether a number came that is not whole.
    floats: bool,
    extreme: Option<Value>,
    list: Vec<Value>,
}

impl Fold {
    pub(crate) fn new(aggregate: &Aggregate) -> Self {
        Self {
            kind: aggregate.kind,
            seen: aggregate.distinct.then(BTreeSet::new),
            count: 0,
            whole: 0,
            float: 0.0,
            floats: false,
            extreme: None,
            list: Vec::new(),
        }
    }

    /// Takes in a value; nothing for `count(*)`.
    pub(crate) fn add(&mut self, value: Option<Value>, meter: &mut Meter<'_>) -> Result<(), Stop> {
        let Some(value) = value else {
            self.count += 1;
            return Ok(());
        };
        if matches!(value, Value::Null) {
            return Ok(());
        }
        if let Some(seen) = &mut self.seen {
            let key = Key(vec![value.clone()]);
            let bytes = key.bytes();
            meter.work(bytes, u64::from(seen.len().max(2).ilog2()))?;
            if !seen.insert(key) {
                return Ok(());
            }
            meter.hold(bytes.saturating_mul(2))?;
        }
        self.count += 1;
        match self.kind {
            AggregateKind::Count => {}
            AggregateKind::Sum | AggregateKind::Avg => self.sum(&value)?,
            AggregateKind::Min => self.extreme(value, Ordering::Less, meter)?,
            AggregateKind::Max => self.extreme(value, Ordering::Greater, meter)?,
            AggregateKind::Collect => {
                meter.hold(value.bytes())?;
                self.list.push(value);
            }
        }
        Ok(())
    }

    fn sum(&mut self, value: &Value) -> Result<(), Stop> {
        match value {
            Value::Int(int) => {
                self.float += float_of(*int);
                let over = || invalid("a sum is out of the range of whole numbers");
                self.whole = self.whole.checked_add(*int).ok_or_else(over)?;
            }
            Value::Float(float) => {
                self.float += float;
                self.floats = true;
            }
            other => return Err(wrong("a sum", other)),
        }
        Ok(())
    }

    fn extreme(
        &mut self,
        value: Value,
        wanted: Ordering,
        meter: &mut Meter<'_>,
    ) -> Result<(), Stop> {
        if let Some(before) = &self.extreme {
            meter.work(before.bytes().min(value.bytes()), 1)?;
            if value.cmp_total(before) != wanted {
                return Ok(());
            }
            meter.free(before.bytes());
        }
        meter.hold(value.bytes())?;
        self.extreme = Some(value);
        Ok(())
    }

    pub(crate) fn result(self) -> Result<Value, Stop> {
        Ok(match self.kind {
            AggregateKind::Count => Value::Int(self.count),
            AggregateKind::Sum if self.floats => Value::Float(self.float),
            AggregateKind::Sum => Value::Int(self.whole),
            AggregateKind::Avg if self.count == 0 => Value::Null,
            AggregateKind::Avg => Value::Float(self.float / float_of(self.count)),
            AggregateKind::Min | AggregateKind::Max => self.extreme.unwrap_or(Value::Null),
            AggregateKind::Collect => Value::list(self.list)?,
        })
    }
}
