//! The answer: rows as JSON, up to their bounds.
//!
//! Owns how a value is written and how much of an answer is taken. It must not know how a row is found.

use std::collections::BTreeSet;
use std::io;

use serde_json::{Map as Json, Value as JsonValue, json};

use crate::graph::Graph;
use crate::meter::{Cut, Meter, Stop};
use crate::value::{Key, Value};

#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) rows: Vec<Vec<JsonValue>>,
    bytes: usize,
    /// Rows that there were, where each comes once.
    seen: Option<BTreeSet<Key>>,
    /// Bytes that those hold.
    pub(crate) held: usize,
}

impl Answer {
    pub(crate) fn new(once: bool) -> Self {
        Self {
            rows: Vec::new(),
            bytes: 0,
            seen: once.then(BTreeSet::new),
            held: 0,
        }
    }

    pub(crate) fn add(
        &mut self,
        values: Vec<Value>,
        graph: &Graph,
        meter: &mut Meter<'_>,
    ) -> Result<(), Stop> {
        let key = Key(values);
        if let Some(seen) = &mut self.seen {
            let bytes = key.bytes();
            meter.work(bytes, u64::from(seen.len().max(2).ilog2()))?;
            if seen.contains(&key) {
                return Ok(());
            }
            meter.hold(bytes)?;
            self.held = self.held.saturating_add(bytes);
            seen.insert(key.clone());
        }
        if self.rows.len() >= meter.limits().rows_max {
            return Err(Stop::Cut(Cut::Rows));
        }
        let mut left = meter.limits().bytes_max.saturating_sub(self.bytes);
        let whole = left;
        let mut writer = Writer {
            graph,
            left: &mut left,
        };
        let row: Option<Vec<JsonValue>> = key.0.iter().map(|one| writer.json(one)).collect();
        let row = row.ok_or(Stop::Cut(Cut::Bytes))?;
        let mut counter = Counter(0);
        // What only counts never fails.
        let _ = serde_json::to_writer(&mut counter, &row);
        if counter.0 > whole {
            return Err(Stop::Cut(Cut::Bytes));
        }
        meter.work(counter.0, 1)?;
        self.bytes += counter.0;
        self.rows.push(row);
        Ok(())
    }
}

struct Counter(usize);

impl io::Write for Counter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Writes values until there is no room left. It counts less than JSON takes, never more.
struct Writer<'a> {
    graph: &'a Graph,
    left: &'a mut usize,
}

impl Writer<'_> {
    fn room(&mut self, bytes: usize) -> Option<()> {
        *self.left = self.left.checked_sub(bytes)?;
        Some(())
    }

    fn json(&mut self, value: &Value) -> Option<JsonValue> {
        self.room(1)?;
        Some(match value {
            Value::Null => JsonValue::Null,
            Value::Bool(value) => JsonValue::Bool(*value),
            Value::Int(int) => JsonValue::from(*int),
            // What JSON has no number for is null.
            Value::Float(float) => JsonValue::from(*float),
            Value::Text(text) => {
                self.room(text.len())?;
                JsonValue::String(text.to_string())
            }
            Value::List(list) => self.array(list.items.iter())?,
            Value::Map(map) => {
                let mut object = Json::new();
                for (key, value) in &map.items {
                    self.room(key.len())?;
                    object.insert(key.to_string(), self.json(value)?);
                }
                JsonValue::Object(object)
            }
            Value::Node(node) => self.node(*node)?,
            Value::Edge(edge) => self.edge(*edge)?,
            Value::Path(path) => {
                let nodes: Option<Vec<_>> = path.nodes.iter().map(|one| self.node(*one)).collect();
                let edges: Option<Vec<_>> = path.edges.iter().map(|one| self.edge(*one)).collect();
                json!({ "nodes": nodes?, "relationships": edges? })
            }
        })
    }

    fn array<'v>(&mut self, values: impl Iterator<Item = &'v Value>) -> Option<JsonValue> {
        let values: Option<Vec<_>> = values.map(|one| self.json(one)).collect();
        values.map(JsonValue::Array)
    }

    fn node(&mut self, node: u32) -> Option<JsonValue> {
        let labels = self.graph.labels_of(node).iter();
        let labels: Vec<_> = labels
            .map(|label| self.graph.name(*label).to_string())
            .collect();
        let properties = self.properties(self.graph.node_properties(node))?;
        Some(json!({ "id": node, "labels": labels, "properties": properties }))
    }

    fn edge(&mut self, edge: u32) -> Option<JsonValue> {
        let row = self.graph.edge(edge);
        let properties = self.properties(self.graph.edge_properties(edge))?;
        let kind = self.graph.name(row.kind).to_string();
        Some(json!({
            "id": edge, "type": kind, "from": row.from, "to": row.to, "properties": properties,
        }))
    }

    fn properties(&mut self, properties: &[(u32, Value)]) -> Option<JsonValue> {
        self.room(20)?;
        let mut object = Json::new();
        for (name, value) in properties {
            let value = self.json(value)?;
            object.insert(self.graph.name(*name).to_string(), value);
        }
        Some(JsonValue::Object(object))
    }
}
