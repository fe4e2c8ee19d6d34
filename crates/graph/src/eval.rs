//! What an expression comes to for the row at hand.
//!
//! Owns operators, comprehensions and access. Each value is paid for before it is made, and each
//! element of a list is a step.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::sync::Arc;

use grafeo_adapters::query::cypher::BinaryOp;

use sillok_core::error::{Error, ErrorCode};

use crate::graph::property;
use crate::meter::{Stop, invalid};
use crate::plan::Expr;
use crate::run::Exec;
use crate::value::{VALUE_BYTES, Value, truncated};

type Made = Result<Value, Stop>;

impl Exec<'_, '_> {
    /// Whether a condition holds. What was made on the way is dropped.
    pub(crate) fn holds(&mut self, expr: &Expr) -> Result<bool, Stop> {
        let mark = self.meter.mark();
        let value = self.eval(expr)?;
        self.meter.drop_to(mark);
        Ok(truth(&value)? == Some(true))
    }

    pub(crate) fn eval(&mut self, expr: &Expr) -> Made {
        self.meter.step()?;
        match expr {
            Expr::Constant(value) => Ok(value.clone()),
            Expr::Slot(slot) => Ok(self.row[*slot].clone()),
            Expr::Property(base, name, number) => {
                let base = self.eval(base)?;
                self.property_of(&base, name, *number)
            }
            Expr::Index(base, index) => {
                let (base, index) = (self.eval(base)?, self.eval(index)?);
                self.index(&base, &index)
            }
            Expr::Slice(base, from, to) => self.slice(base, from.as_deref(), to.as_deref()),
            Expr::Chain(first, rest) => self.chain(first, rest),
            Expr::Matches(text, regex) => match self.eval(text)? {
                Value::Text(text) => Ok(Value::Bool(regex.is_whole(&text, &mut self.meter)?)),
                _ => Ok(Value::Null),
            },
            Expr::Not(of) => {
                let value = self.eval(of)?;
                Ok(from_truth(truth(&value)?.map(|it| !it)))
            }
            Expr::Negate(of) => match self.eval(of)? {
                Value::Int(int) => whole(int.checked_neg()),
                Value::Float(float) => Ok(Value::Float(-float)),
                Value::Null => Ok(Value::Null),
                other => Err(wrong("-", &other)),
            },
            Expr::IsNull(of, wanted) => {
                let null = matches!(self.eval(of)?, Value::Null);
                Ok(Value::Bool(null == *wanted))
            }
            Expr::Call(function, args) => {
                let mut values = Vec::with_capacity(args.len());
                for arg in args {
                    values.push(self.eval(arg)?);
                }
                self.apply(*function, &values)
            }
            Expr::HasLabel(of, label) => Ok(match self.eval(of)? {
                Value::Node(node) => Value::Bool(self.has_label(node, *label)),
                Value::Null => Value::Null,
                other => return Err(wrong("a label", &other)),
            }),
            other => self.build(other),
        }
    }

    /// What is put together out of others.
    fn build(&mut self, expr: &Expr) -> Made {
        match expr {
            Expr::List(items) => {
                self.meter.take(VALUE_BYTES * (items.len() + 1))?;
                let items: Result<Vec<_>, Stop> = items.iter().map(|one| self.eval(one)).collect();
                Ok(Value::list(items?)?)
            }
            Expr::Map(items) => {
                let mut map = BTreeMap::new();
                for (key, value) in items {
                    let value = self.eval(value)?;
                    self.meter.take(3 * VALUE_BYTES)?;
                    map.insert(Arc::clone(key), value);
                }
                Ok(Value::map(map)?)
            }
            Expr::Comprehension(it) => self.comprehension(it),
            Expr::Quantifier(kind, it) => self.quantifier(kind, it),
            Expr::Reduce(it) => self.reduce(it),
            Expr::Case(it) => self.case(it),
            Expr::Exists(frame) => Ok(Value::Bool(self.subquery(frame)?.is_some())),
            Expr::Count(frame) | Expr::Collect(frame) => {
                Ok(self.subquery(frame)?.unwrap_or(Value::Null))
            }
            Expr::Projection(base, all, listed) => self.projection(base, *all, listed),
            _ => Err(Error::new(ErrorCode::Internal, "an expression was not taken apart").into()),
        }
    }

    pub(crate) fn has_label(&self, node: u32, label: Option<u32>) -> bool {
        label.is_some_and(|label| self.graph.labels_of(node).contains(&label))
    }

    pub(crate) fn property_of(&mut self, base: &Value, name: &str, number: Option<u32>) -> Made {
        Ok(match base {
            Value::Node(node) => property(self.graph.node_properties(*node), number),
            Value::Edge(edge) => property(self.graph.edge_properties(*edge), number),
            Value::Map(map) => map.items.get(name).cloned().unwrap_or(Value::Null),
            Value::Null => Value::Null,
            other => return Err(wrong("a property", other)),
        })
    }

    fn index(&mut self, base: &Value, index: &Value) -> Made {
        match (base, index) {
            (Value::Null, _) | (_, Value::Null) => Ok(Value::Null),
            (Value::List(list), Value::Int(at)) => {
                let at = place(*at, list.items.len());
                Ok(at
                    .and_then(|at| list.items.get(at))
                    .cloned()
                    .unwrap_or(Value::Null))
            }
            (_, Value::Text(name)) => {
                let number = self.graph.number(name);
                self.property_of(base, name, number)
            }
            (base, _) => Err(wrong("[ ]", base)),
        }
    }

    fn slice(&mut self, base: &Expr, from: Option<&Expr>, to: Option<&Expr>) -> Made {
        let base = self.eval(base)?;
        let from = from.map(|one| self.eval(one)).transpose()?;
        let to = to.map(|one| self.eval(one)).transpose()?;
        let Value::List(list) = base else {
            return match base {
                Value::Null => Ok(Value::Null),
                other => Err(wrong("[ .. ]", &other)),
            };
        };
        let len = list.items.len();
        let bound = |given: Option<Value>, absent: usize| match given {
            None => Ok(Some(absent)),
            Some(Value::Null) => Ok(None),
            Some(Value::Int(at)) if at < 0 => Ok(Some(place(at, len).unwrap_or(0))),
            Some(Value::Int(at)) => Ok(Some(usize::try_from(at).unwrap_or(len).min(len))),
            Some(other) => Err(wrong("[ .. ]", &other)),
        };
        let (Some(from), Some(to)) = (bound(from, 0)?, bound(to, len)?) else {
            return Ok(Value::Null);
        };
        let part = list.items.get(from..to.max(from)).unwrap_or(&[]);
        self.copied(part.iter())
    }

    /// A list of these values.
    pub(crate) fn copied<'v>(&mut self, items: impl ExactSizeIterator<Item = &'v Value>) -> Made {
        self.meter.take(VALUE_BYTES * (items.len() + 1))?;
        self.meter.work(VALUE_BYTES * items.len(), 1)?;
        Ok(Value::list(items.cloned().collect())?)
    }

    fn chain(&mut self, first: &Expr, rest: &[(BinaryOp, Expr)]) -> Made {
        let mut left = self.eval(first)?;
        for (op, right) in rest {
            // What cannot change the outcome is not worked out.
            let decided = match op {
                BinaryOp::And => Some(false),
                BinaryOp::Or => Some(true),
                _ => None,
            };
            if decided.is_some() && truth(&left)? == decided {
                continue;
            }
            let right = self.eval(right)?;
            left = self.binary(*op, &left, &right)?;
        }
        Ok(left)
    }

    fn binary(&mut self, op: BinaryOp, left: &Value, right: &Value) -> Made {
        self.meter.step()?;
        match op {
            BinaryOp::And => Ok(from_truth(match (truth(left)?, truth(right)?) {
                (Some(false), _) | (_, Some(false)) => Some(false),
                (Some(true), Some(true)) => Some(true),
                _ => None,
            })),
            BinaryOp::Or => Ok(from_truth(match (truth(left)?, truth(right)?) {
                (Some(true), _) | (_, Some(true)) => Some(true),
                (Some(false), Some(false)) => Some(false),
                _ => None,
            })),
            BinaryOp::Xor => {
                let both = truth(left)?.zip(truth(right)?);
                Ok(from_truth(both.map(|(a, b)| a != b)))
            }
            BinaryOp::Eq | BinaryOp::Ne => {
                self.compare_cost(left, right)?;
                let equal = left.equals(right);
                Ok(from_truth(equal.map(|it| it == (op == BinaryOp::Eq))))
            }
            BinaryOp::Lt | BinaryOp::Le | BinaryOp::Gt | BinaryOp::Ge => {
                self.compare_cost(left, right)?;
                let order = left.compares(right);
                Ok(from_truth(order.map(|it| match op {
                    BinaryOp::Lt => it == Ordering::Less,
                    BinaryOp::Le => it != Ordering::Greater,
                    BinaryOp::Gt => it == Ordering::Greater,
                    _ => it != Ordering::Less,
                })))
            }
            BinaryOp::In => self.is_in(left, right),
            BinaryOp::StartsWith | BinaryOp::EndsWith | BinaryOp::Contains => {
                let (Value::Text(text), Value::Text(part)) = (left, right) else {
                    return Ok(Value::Null);
                };
                self.meter.work(text.len() + part.len(), 1)?;
                Ok(Value::Bool(match op {
                    BinaryOp::StartsWith => text.starts_with(&**part),
                    BinaryOp::EndsWith => text.ends_with(&**part),
                    _ => text.contains(&**part),
                }))
            }
            BinaryOp::Add | BinaryOp::Concat => self.add(left, right),
            BinaryOp::Sub
            | BinaryOp::Mul
            | BinaryOp::Div
            | BinaryOp::Mod
            | BinaryOp::Pow
            | BinaryOp::RegexMatch => arithmetic(op, left, right),
        }
    }

    /// Steps for comparing two values: as much as the smaller one holds.
    pub(crate) fn compare_cost(&mut self, left: &Value, right: &Value) -> Result<(), Stop> {
        self.meter.work(left.bytes().min(right.bytes()), 1)
    }

    fn is_in(&mut self, item: &Value, list: &Value) -> Made {
        let list = match list {
            Value::List(list) => list,
            Value::Null => return Ok(Value::Null),
            other => return Err(wrong("IN", other)),
        };
        let mut found = Some(false);
        for one in &list.items {
            self.compare_cost(item, one)?;
            match item.equals(one) {
                Some(true) => return Ok(Value::Bool(true)),
                Some(false) => {}
                None => found = None,
            }
        }
        Ok(from_truth(found))
    }

    fn add(&mut self, left: &Value, right: &Value) -> Made {
        match (left, right) {
            (Value::List(a), Value::List(b)) => {
                let (a, b) = (Arc::clone(a), Arc::clone(b));
                let len = a.items.len() + b.items.len();
                self.meter.take(VALUE_BYTES * (len + 1))?;
                self.meter.work(VALUE_BYTES * len, 1)?;
                let mut all = Vec::with_capacity(len);
                all.extend_from_slice(&a.items);
                all.extend_from_slice(&b.items);
                Ok(Value::list(all)?)
            }
            (Value::List(list), one) | (one, Value::List(list)) => {
                let len = list.items.len() + 1;
                self.meter.take(VALUE_BYTES * (len + 1))?;
                self.meter.work(VALUE_BYTES * len, 1)?;
                let mut all = Vec::with_capacity(len);
                let behind = matches!(left, Value::List(_));
                if !behind {
                    all.push(one.clone());
                }
                all.extend_from_slice(&list.items);
                if behind {
                    all.push(one.clone());
                }
                Ok(Value::list(all)?)
            }
            (Value::Null, _) | (_, Value::Null) => Ok(Value::Null),
            (Value::Text(_), _) | (_, Value::Text(_)) => {
                let (Some(a), Some(b)) = (written(left), written(right)) else {
                    return Err(wrong("+", left));
                };
                self.meter.take(VALUE_BYTES + a.len() + b.len())?;
                self.meter.work(a.len() + b.len(), 1)?;
                Ok(Value::text([&*a, &*b].concat()))
            }
            _ => arithmetic(BinaryOp::Add, left, right),
        }
    }
}

/// What takes no value of this kind.
pub(crate) fn wrong(what: &str, got: &Value) -> Stop {
    invalid(format!("{what} does not go with {}", got.kind())).into()
}

pub(crate) fn truth(value: &Value) -> Result<Option<bool>, Stop> {
    match value {
        Value::Bool(value) => Ok(Some(*value)),
        Value::Null => Ok(None),
        other => Err(wrong("a condition", other)),
    }
}

pub(crate) fn from_truth(truth: Option<bool>) -> Value {
    truth.map_or(Value::Null, Value::Bool)
}

/// The place of an index that counts from the end where it is negative.
fn place(at: i64, len: usize) -> Option<usize> {
    let len = i64::try_from(len).unwrap_or(i64::MAX);
    usize::try_from(if at < 0 { at.checked_add(len)? } else { at }).ok()
}

/// A scalar as it is written into a text.
pub(crate) fn written(value: &Value) -> Option<Arc<str>> {
    Some(match value {
        Value::Text(text) => Arc::clone(text),
        Value::Int(int) => int.to_string().into(),
        Value::Float(float) => format!("{float:?}").into(),
        Value::Bool(value) => value.to_string().into(),
        _ => return None,
    })
}

fn whole(result: Option<i64>) -> Made {
    result
        .map(Value::Int)
        .ok_or_else(|| invalid("a whole number is out of range, or divided by zero").into())
}

fn arithmetic(op: BinaryOp, left: &Value, right: &Value) -> Made {
    let (a, b) = match (left, right) {
        (Value::Null, _) | (_, Value::Null) => return Ok(Value::Null),
        (Value::Int(a), Value::Int(b)) => match op {
            BinaryOp::Add => return whole(a.checked_add(*b)),
            BinaryOp::Sub => return whole(a.checked_sub(*b)),
            BinaryOp::Mul => return whole(a.checked_mul(*b)),
            BinaryOp::Div => return whole(a.checked_div(*b)),
            BinaryOp::Mod => return whole(a.checked_rem(*b)),
            _ => (float_of(*a), float_of(*b)),
        },
        (Value::Int(a), Value::Float(b)) => (float_of(*a), *b),
        (Value::Float(a), Value::Int(b)) => (*a, float_of(*b)),
        (Value::Float(a), Value::Float(b)) => (*a, *b),
        (Value::Int(_) | Value::Float(_), other) | (other, _) => {
            return Err(wrong("arithmetic", other));
        }
    };
    Ok(Value::Float(match op {
        BinaryOp::Add => a + b,
        BinaryOp::Sub => a - b,
        BinaryOp::Mul => a * b,
        BinaryOp::Div => a / b,
        BinaryOp::Mod => a % b,
        BinaryOp::Pow => a.powf(b),
        _ => return Err(wrong("arithmetic", left)),
    }))
}

#[expect(clippy::cast_precision_loss, reason = "the nearest number there is")]
pub(crate) fn float_of(int: i64) -> f64 {
    int as f64
}

/// A number as a whole one, where it is one.
pub(crate) fn int_of(value: &Value) -> Option<i64> {
    match value {
        Value::Int(int) => Some(*int),
        Value::Float(float) if float.is_finite() => Some(truncated(*float)),
        _ => None,
    }
}
