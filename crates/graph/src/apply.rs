//! What functions come to.
//!
//! Owns the functions' meanings. A null argument gives null, but for those that ask about null.

use std::sync::Arc;

use crate::eval::{float_of, int_of, written, wrong};
use crate::functions::Function;
use crate::meter::{Stop, invalid};
use crate::run::Exec;
use crate::value::{VALUE_BYTES, Value};

type Made = Result<Value, Stop>;

impl Exec<'_, '_> {
    pub(crate) fn apply(&mut self, function: Function, args: &[Value]) -> Made {
        match (function, args) {
            (Function::Coalesce, _) => {
                let first = args.iter().find(|one| !matches!(one, Value::Null));
                Ok(first.cloned().unwrap_or(Value::Null))
            }
            (Function::Exists, [one]) => Ok(Value::Bool(!matches!(one, Value::Null))),
            _ if args.iter().any(|one| matches!(one, Value::Null)) => Ok(Value::Null),
            (_, [one]) => self.apply_one(function, one),
            (Function::Range, [from, to, rest @ ..]) => self.range(from, to, rest.first()),
            (_, [Value::Text(text), rest @ ..]) => self.apply_text(function, text, rest),
            (_, [other, ..]) => Err(wrong("a function of texts", other)),
            _ => Ok(Value::Null),
        }
    }

    fn apply_one(&mut self, function: Function, one: &Value) -> Made {
        match one {
            Value::Node(_) | Value::Edge(_) | Value::Path(_) => self.apply_graph(function, one),
            Value::Int(_) | Value::Float(_) => apply_number(function, one),
            Value::Text(text) => self.apply_one_text(function, text),
            Value::List(list) => {
                let items = &list.items;
                match function {
                    Function::Size | Function::Length => Ok(Value::count(items.len())),
                    Function::IsEmpty => Ok(Value::Bool(items.is_empty())),
                    Function::Head => Ok(items.first().cloned().unwrap_or(Value::Null)),
                    Function::Last => Ok(items.last().cloned().unwrap_or(Value::Null)),
                    Function::Tail => self.copied(items.get(1..).unwrap_or(&[]).iter()),
                    Function::Reverse => self.copied(items.iter().rev()),
                    _ => Err(no_such(function, one)),
                }
            }
            Value::Map(map) => match function {
                Function::Size => Ok(Value::count(map.items.len())),
                Function::IsEmpty => Ok(Value::Bool(map.items.is_empty())),
                Function::Properties => Ok(one.clone()),
                Function::Keys => self.names(map.items.keys()),
                _ => Err(no_such(function, one)),
            },
            Value::Bool(value) => match function {
                Function::ToText => Ok(Value::text(value.to_string())),
                Function::ToBoolean => Ok(one.clone()),
                Function::ToInteger => Ok(Value::Int(i64::from(*value))),
                _ => Err(no_such(function, one)),
            },
            Value::Null => Ok(Value::Null),
        }
    }

    fn names<'v>(&mut self, names: impl ExactSizeIterator<Item = &'v Arc<str>>) -> Made {
        self.meter.take(VALUE_BYTES * (names.len() + 1))?;
        Ok(Value::list(
            names.map(|name| Value::Text(Arc::clone(name))).collect(),
        )?)
    }

    fn apply_graph(&mut self, function: Function, one: &Value) -> Made {
        let graph = self.graph;
        match (function, one) {
            (Function::Id, Value::Node(id) | Value::Edge(id)) => Ok(Value::Int(i64::from(*id))),
            (Function::Labels, Value::Node(node)) => self.names(
                graph
                    .labels_of(*node)
                    .iter()
                    .map(|label| graph.name(*label)),
            ),
            (Function::Kind, Value::Edge(edge)) => {
                Ok(Value::Text(Arc::clone(graph.name(graph.edge(*edge).kind))))
            }
            (Function::StartNode, Value::Edge(edge)) => Ok(Value::Node(graph.edge(*edge).from)),
            (Function::EndNode, Value::Edge(edge)) => Ok(Value::Node(graph.edge(*edge).to)),
            (Function::Properties, Value::Node(_) | Value::Edge(_)) => {
                let properties = self.properties_of(one)?;
                Ok(Value::map(properties)?)
            }
            (Function::Keys, Value::Node(node)) => {
                let properties = graph.node_properties(*node).iter();
                self.names(properties.map(|(name, _)| graph.name(*name)))
            }
            (Function::Keys, Value::Edge(edge)) => {
                let properties = graph.edge_properties(*edge).iter();
                self.names(properties.map(|(name, _)| graph.name(*name)))
            }
            (Function::Length, Value::Path(path)) => Ok(Value::count(path.edges.len())),
            (Function::Nodes, Value::Path(path)) => {
                self.meter.take(VALUE_BYTES * (path.nodes.len() + 1))?;
                self.meter.work(VALUE_BYTES * path.nodes.len(), 1)?;
                Ok(Value::list(
                    path.nodes.iter().copied().map(Value::Node).collect(),
                )?)
            }
            (Function::Relationships, Value::Path(path)) => {
                self.meter.take(VALUE_BYTES * (path.edges.len() + 1))?;
                self.meter.work(VALUE_BYTES * path.edges.len(), 1)?;
                Ok(Value::list(
                    path.edges.iter().copied().map(Value::Edge).collect(),
                )?)
            }
            _ => Err(no_such(function, one)),
        }
    }

    fn apply_one_text(&mut self, function: Function, text: &Arc<str>) -> Made {
        // No letter becomes more than three times as long in another case.
        let bytes = VALUE_BYTES + 3 * text.len();
        self.meter.work(text.len(), 1)?;
        Ok(match function {
            Function::Size | Function::Length => Value::count(text.chars().count()),
            Function::IsEmpty => Value::Bool(text.is_empty()),
            Function::ToText => Value::Text(Arc::clone(text)),
            Function::ToInteger => {
                let trimmed = text.trim();
                let float = || trimmed.parse().ok().and_then(|f| int_of(&Value::Float(f)));
                let int = trimmed.parse().ok().or_else(float);
                int.map_or(Value::Null, Value::Int)
            }
            Function::ToFloat => text.trim().parse().map_or(Value::Null, Value::Float),
            Function::ToBoolean => match text.trim().to_ascii_lowercase().as_str() {
                "true" => Value::Bool(true),
                "false" => Value::Bool(false),
                _ => Value::Null,
            },
            Function::ToLower | Function::ToUpper | Function::Trim | Function::Reverse => {
                self.meter.take(bytes)?;
                match function {
                    Function::ToLower => Value::text(text.to_lowercase()),
                    Function::ToUpper => Value::text(text.to_uppercase()),
                    Function::Trim => Value::text(text.trim()),
                    _ => Value::text(text.chars().rev().collect::<String>()),
                }
            }
            _ => return Err(no_such(function, &Value::Text(Arc::clone(text)))),
        })
    }

    fn apply_text(&mut self, function: Function, text: &Arc<str>, rest: &[Value]) -> Made {
        self.meter.work(text.len(), 1)?;
        match (function, rest) {
            (Function::Left, [Value::Int(count)]) => self.part(text, 0, Some(*count)),
            (Function::Right, [Value::Int(count)]) => {
                let len = i64::try_from(text.chars().count()).unwrap_or(i64::MAX);
                self.part(text, len.saturating_sub(*count).max(0), None)
            }
            (Function::Substring, [Value::Int(from)]) => self.part(text, *from, None),
            (Function::Substring, [Value::Int(from), Value::Int(count)]) => {
                self.part(text, *from, Some(*count))
            }
            (Function::Replace, [Value::Text(old), Value::Text(new)]) => {
                if old.is_empty() {
                    return Ok(Value::Text(Arc::clone(text)));
                }
                let count = text.matches(&**old).count();
                let bytes = text.len().saturating_add(count.saturating_mul(new.len()));
                self.meter.take(bytes.saturating_add(VALUE_BYTES))?;
                self.meter.work(bytes, 1)?;
                Ok(Value::text(text.replace(&**old, new)))
            }
            (Function::Split, [Value::Text(by)]) => {
                if by.is_empty() {
                    return Err(invalid("`split` takes a text that is not empty").into());
                }
                let count = text.matches(&**by).count() + 1;
                self.meter
                    .take(text.len() + 2 * VALUE_BYTES * (count + 1))?;
                self.meter.work(VALUE_BYTES * count, 1)?;
                Ok(Value::list(text.split(&**by).map(Value::text).collect())?)
            }
            (_, [other, ..]) => Err(wrong("this place of a function", other)),
            _ => Ok(Value::Null),
        }
    }

    /// `count` letters from the one of this number on.
    fn part(&mut self, text: &str, from: i64, count: Option<i64>) -> Made {
        let number =
            |n: i64| usize::try_from(n).map_err(|_| invalid("a place in a text is not negative"));
        let (from, count) = (number(from)?, count.map(number).transpose()?);
        self.meter.take(VALUE_BYTES + text.len())?;
        let letters = text.chars().skip(from);
        let part: String = match count {
            Some(count) => letters.take(count).collect(),
            None => letters.collect(),
        };
        Ok(Value::text(part))
    }

    fn range(&mut self, from: &Value, to: &Value, step: Option<&Value>) -> Made {
        let (Value::Int(from), Value::Int(to)) = (from, to) else {
            return Err(invalid("`range` takes whole numbers").into());
        };
        let step = match step {
            None => 1,
            Some(Value::Int(step)) if *step != 0 => *step,
            Some(_) => return Err(invalid("`range` takes a step that is not 0").into()),
        };
        let (from, to, step) = (i128::from(*from), i128::from(*to), i128::from(step));
        let count = ((to - from) / step + 1).max(0);
        let empty = (to - from).signum() == -step.signum();
        let count = if empty { 0 } else { count };
        let bytes = usize::try_from(count).unwrap_or(usize::MAX);
        self.meter.take(bytes.saturating_mul(VALUE_BYTES))?;
        self.meter.steps(u64::try_from(count).unwrap_or(u64::MAX))?;
        let items = (0..count).filter_map(|at| i64::try_from(from + at * step).ok());
        Ok(Value::list(items.map(Value::Int).collect())?)
    }
}

fn apply_number(function: Function, one: &Value) -> Made {
    let float = match one {
        Value::Float(float) => *float,
        Value::Int(int) => float_of(*int),
        other => return Err(no_such(function, other)),
    };
    let over = || Stop::from(invalid("a whole number is out of range"));
    Ok(match (function, one) {
        (Function::ToText, _) => written(one).map_or(Value::Null, Value::Text),
        (Function::ToInteger, _) => int_of(one).map_or(Value::Null, Value::Int),
        (Function::ToFloat, _) => Value::Float(float),
        (Function::Abs, Value::Int(int)) => Value::Int(int.checked_abs().ok_or_else(over)?),
        (Function::Abs, _) => Value::Float(float.abs()),
        (Function::Ceil, _) => Value::Float(float.ceil()),
        (Function::Floor, _) => Value::Float(float.floor()),
        (Function::Round, _) => Value::Float((float + 0.5).floor()),
        (Function::Sqrt, _) => Value::Float(float.sqrt()),
        (Function::Sign, Value::Int(int)) => Value::Int(int.signum()),
        (Function::Sign, _) if float == 0.0 || float.is_nan() => Value::Int(0),
        (Function::Sign, _) => Value::Int(if float > 0.0 { 1 } else { -1 }),
        _ => return Err(no_such(function, one)),
    })
}

fn no_such(function: Function, one: &Value) -> Stop {
    invalid(format!(
        "`{}` does not go with {}",
        function.name(),
        one.kind()
    ))
    .into()
}
