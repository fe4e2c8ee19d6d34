//! What a name means at a place of the query, and what compiling carries along.
//!
//! Owns scopes, slots and the notes of which slots an expression reads. It must not know a clause.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map as Json, Value as JsonValue};
use sillok_core::error::Error;

use crate::graph::Graph;
use crate::meter::invalid;
use crate::plan::{Aggregate, Slot};
use crate::regexes::Matchers;
use crate::value::Value;

/// How deep an expression may lie in itself once it is a tree.
const EXPRESSION_DEPTH_MAX: usize = 64;

/// The names of a place, in the order of the alphabet.
pub(crate) type Names = BTreeMap<String, Slot>;

pub(crate) struct Compiler<'g> {
    pub(crate) graph: &'g Graph,
    params: &'g Json<String, JsonValue>,
    /// Whether the time is over.
    pub(crate) is_over: &'g dyn Fn() -> bool,
    pub(crate) names: Names,
    /// The slots that were read since somebody began to note them.
    pub(crate) read: BTreeSet<Slot>,
    /// Where aggregates are allowed, those that were met.
    pub(crate) aggregates: Option<Vec<Aggregate>>,
    /// How many nodes and relationships the patterns have so far.
    pub(crate) parts: usize,
    /// The parameters that were named so far.
    given: BTreeMap<String, Value>,
    /// The regular expressions so far.
    pub(crate) regexes: Matchers,
    slots: usize,
    states: usize,
    depth: usize,
}

impl<'g> Compiler<'g> {
    pub(crate) fn new(
        graph: &'g Graph,
        params: &'g Json<String, JsonValue>,
        is_over: &'g dyn Fn() -> bool,
    ) -> Self {
        Self {
            graph,
            params,
            is_over,
            names: Names::new(),
            read: BTreeSet::new(),
            aggregates: None,
            parts: 0,
            given: BTreeMap::new(),
            regexes: Matchers::default(),
            slots: 0,
            states: 0,
            depth: 0,
        }
    }

    pub(crate) fn slot(&mut self) -> Slot {
        self.slots += 1;
        self.slots - 1
    }

    pub(crate) fn slots(&self) -> usize {
        self.slots
    }

    pub(crate) fn state(&mut self) -> usize {
        self.states += 1;
        self.states - 1
    }

    pub(crate) fn states(&self) -> usize {
        self.states
    }

    /// The slot of a variable that is in scope.
    pub(crate) fn resolve(&mut self, name: &str) -> Result<Slot, Error> {
        let slot = self
            .names
            .get(name)
            .copied()
            .ok_or_else(|| invalid(format!("`{name}` is not defined here")))?;
        self.read.insert(slot);
        Ok(slot)
    }

    /// Gives `name` a slot of its own while `within` runs.
    pub(crate) fn with_name<T>(
        &mut self,
        name: &str,
        within: impl FnOnce(&mut Self, Slot) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let slot = self.slot();
        let before = self.names.insert(name.to_owned(), slot);
        // What is worked out for each element has no place for what is worked out of all rows.
        let aggregates = self.aggregates.take();
        let result = within(self, slot);
        self.aggregates = aggregates;
        match before {
            Some(before) => self.names.insert(name.to_owned(), before),
            None => self.names.remove(name),
        };
        self.read.remove(&slot);
        result
    }

    /// Notes what `within` reads, apart from what is read around it.
    pub(crate) fn noting<T>(
        &mut self,
        within: impl FnOnce(&mut Self) -> Result<T, Error>,
    ) -> Result<(T, BTreeSet<Slot>), Error> {
        let before = std::mem::take(&mut self.read);
        let result = within(self);
        let read = std::mem::replace(&mut self.read, before);
        self.read.extend(&read);
        Ok((result?, read))
    }

    /// Runs `within` one level deeper.
    pub(crate) fn deeper<T>(
        &mut self,
        within: impl FnOnce(&mut Self) -> Result<T, Error>,
    ) -> Result<T, Error> {
        if self.depth >= EXPRESSION_DEPTH_MAX {
            return Err(invalid(format!(
                "an expression lies more than {EXPRESSION_DEPTH_MAX} deep in itself"
            )));
        }
        self.depth += 1;
        let result = within(self);
        self.depth -= 1;
        result
    }

    /// A parameter's value, made once however often it is named.
    pub(crate) fn parameter(&mut self, name: &str) -> Result<Value, Error> {
        if let Some(value) = self.given.get(name) {
            return Ok(value.clone());
        }
        let json = self
            .params
            .get(name)
            .ok_or_else(|| invalid(format!("the parameter `{name}` is not given")))?;
        let value = from_json(json, 0)?;
        self.given.insert(name.to_owned(), value.clone());
        Ok(value)
    }
}

/// A parameter as a value.
fn from_json(json: &JsonValue, depth: u8) -> Result<Value, Error> {
    if depth > crate::value::DEPTH_MAX {
        return Err(invalid("a parameter lies too deep in itself"));
    }
    match json {
        JsonValue::Null => Ok(Value::Null),
        JsonValue::Bool(value) => Ok(Value::Bool(*value)),
        JsonValue::Number(number) => match (number.as_i64(), number.as_f64()) {
            (Some(int), _) => Ok(Value::Int(int)),
            (None, Some(float)) => Ok(Value::Float(float)),
            (None, None) => Err(invalid(format!("the parameter {number} is out of range"))),
        },
        JsonValue::String(text) => Ok(Value::text(text.as_str())),
        JsonValue::Array(items) => {
            let items: Result<Vec<_>, _> =
                items.iter().map(|one| from_json(one, depth + 1)).collect();
            Value::list(items?)
        }
        JsonValue::Object(items) => {
            let items: Result<_, Error> = items
                .iter()
                .map(|(key, one)| Ok((key.as_str().into(), from_json(one, depth + 1)?)))
                .collect();
            Value::map(items?)
        }
    }
}
