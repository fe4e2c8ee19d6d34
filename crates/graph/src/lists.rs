//! Expressions that go over a list or choose between others: comprehensions, quantifiers, reductions, `CASE`
//! and maps out of properties.
//!
//! Owns these, one step for each element.

use std::collections::BTreeMap;
use std::sync::Arc;

use grafeo_adapters::query::cypher::ListPredicateKind;

use crate::eval::{from_truth, truth, wrong};
use crate::meter::Stop;
use crate::plan::{Case, Comprehension, Expr, Reduce};
use crate::run::Exec;
use crate::value::{VALUE_BYTES, Value};

type Made = Result<Value, Stop>;

impl Exec<'_, '_> {
    /// The values of a list; none of null.
    fn items(&mut self, list: &Expr) -> Result<Option<Value>, Stop> {
        match self.eval(list)? {
            Value::Null => Ok(None),
            list @ Value::List(_) => Ok(Some(list)),
            other => Err(wrong("a list", &other)),
        }
    }

    pub(crate) fn comprehension(&mut self, it: &Comprehension) -> Made {
        let Some(Value::List(list)) = self.items(&it.list)? else {
            return Ok(Value::Null);
        };
        let mut results = Vec::new();
        for one in &list.items {
            self.meter.step()?;
            self.row[it.slot] = one.clone();
            if let Some(filter) = &it.filter
                && !self.holds(filter)?
            {
                continue;
            }
            self.meter.take(VALUE_BYTES)?;
            results.push(match &it.result {
                Some(result) => self.eval(result)?,
                None => one.clone(),
            });
        }
        self.row[it.slot] = Value::Null;
        Ok(Value::list(results)?)
    }

    pub(crate) fn quantifier(&mut self, kind: &ListPredicateKind, it: &Comprehension) -> Made {
        let Some(Value::List(list)) = self.items(&it.list)? else {
            return Ok(Value::Null);
        };
        let (mut yes, mut no, mut unknown) = (0_usize, 0_usize, 0_usize);
        for one in &list.items {
            self.row[it.slot] = one.clone();
            let mark = self.meter.mark();
            let held = match &it.filter {
                Some(filter) => truth(&self.eval(filter)?)?,
                None => Some(true),
            };
            self.meter.drop_to(mark);
            match held {
                Some(true) => yes += 1,
                Some(false) => no += 1,
                None => unknown += 1,
            }
        }
        self.row[it.slot] = Value::Null;
        let sure = |known: bool, value: bool| known.then_some(value);
        Ok(from_truth(match kind {
            ListPredicateKind::All if no > 0 => Some(false),
            ListPredicateKind::All => sure(unknown == 0, true),
            ListPredicateKind::Any if yes > 0 => Some(true),
            ListPredicateKind::Any => sure(unknown == 0, false),
            ListPredicateKind::None if yes > 0 => Some(false),
            ListPredicateKind::None => sure(unknown == 0, true),
            ListPredicateKind::Single if yes > 1 => Some(false),
            ListPredicateKind::Single => sure(unknown == 0, yes == 1),
        }))
    }

    pub(crate) fn reduce(&mut self, it: &Reduce) -> Made {
        let mut total = self.eval(&it.first)?;
        let Some(Value::List(list)) = self.items(&it.list)? else {
            return Ok(Value::Null);
        };
        let mark = self.meter.mark();
        for one in &list.items {
            self.meter.step()?;
            self.row[it.total] = total;
            self.row[it.slot] = one.clone();
            total = self.eval(&it.next)?;
            self.meter.drop_to(mark);
            self.meter.take(total.bytes())?;
        }
        self.row[it.total] = Value::Null;
        self.row[it.slot] = Value::Null;
        Ok(total)
    }

    pub(crate) fn case(&mut self, it: &Case) -> Made {
        let input = it.input.as_ref().map(|one| self.eval(one)).transpose()?;
        for (when, then) in &it.whens {
            let taken = match &input {
                None => self.holds(when)?,
                Some(input) => {
                    let when = self.eval(when)?;
                    self.compare_cost(input, &when)?;
                    input.equals(&when) == Some(true)
                }
            };
            if taken {
                return self.eval(then);
            }
        }
        match &it.otherwise {
            Some(otherwise) => self.eval(otherwise),
            None => Ok(Value::Null),
        }
    }

    pub(crate) fn projection(
        &mut self,
        base: &Expr,
        all: bool,
        listed: &[(Arc<str>, Option<u32>, Option<Expr>)],
    ) -> Made {
        let base = self.eval(base)?;
        if matches!(base, Value::Null) {
            return Ok(Value::Null);
        }
        let mut map = if all {
            self.properties_of(&base)?
        } else {
            BTreeMap::new()
        };
        for (name, number, expr) in listed {
            let value = match expr {
                Some(expr) => self.eval(expr)?,
                None => self.property_of(&base, name, *number)?,
            };
            self.meter.take(3 * VALUE_BYTES)?;
            map.insert(Arc::clone(name), value);
        }
        Ok(Value::map(map)?)
    }

    pub(crate) fn properties_of(&mut self, of: &Value) -> Result<BTreeMap<Arc<str>, Value>, Stop> {
        let graph = self.graph;
        let properties = match of {
            Value::Node(node) => graph.node_properties(*node),
            Value::Edge(edge) => graph.edge_properties(*edge),
            Value::Map(map) => {
                self.meter.take(3 * VALUE_BYTES * map.items.len())?;
                return Ok(map.items.clone());
            }
            other => return Err(wrong("properties", other)),
        };
        self.meter.take(3 * VALUE_BYTES * properties.len())?;
        Ok(properties
            .iter()
            .map(|(name, value)| (Arc::clone(graph.name(*name)), value.clone()))
            .collect())
    }
}
