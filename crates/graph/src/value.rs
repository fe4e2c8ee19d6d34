//! The values of a query, how they compare and how they are ordered.
//!
//! Owns the value type. A list or a map knows its size and how deep it is, so neither has to be
//! walked to bound it. It must not know how a value comes to be.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::sync::Arc;

use crate::meter::invalid;
use sillok_core::error::Error;

/// How deep lists and maps may hold one another: whatever walks a value does so on the stack.
pub(crate) const DEPTH_MAX: u8 = 32;
/// What a value takes besides its content.
pub(crate) const VALUE_BYTES: usize = 32;

/// A property of a node or of an edge.
#[derive(Clone, Debug, PartialEq)]
pub enum Scalar {
    /// True or false.
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// A number.
    Float(f64),
    /// A text, shared with whoever else has it.
    Text(Arc<str>),
}

macro_rules! scalar_from {
    ($($from:ty => $make:expr;)*) => {
        $(impl From<$from> for Scalar {
            fn from(value: $from) -> Self {
                $make(value)
            }
        })*
    };
}

scalar_from! {
    bool => Scalar::Bool;
    i64 => Scalar::Int;
    f64 => Scalar::Float;
    &str => |text: &str| Scalar::Text(Arc::from(text));
    String => |text: String| Scalar::Text(Arc::from(text));
    Arc<str> => Scalar::Text;
}

#[derive(Clone, Debug)]
pub(crate) enum Value {
    Null,
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(Arc<str>),
    List(Arc<Whole<Vec<Value>>>),
    Map(Arc<Whole<BTreeMap<Arc<str>, Value>>>),
    Node(u32),
    Edge(u32),
    Path(Arc<Path>),
}

/// Values in one, with their size and depth.
#[derive(Debug)]
pub(crate) struct Whole<T> {
    pub(crate) items: T,
    bytes: usize,
    depth: u8,
}

/// Nodes and the edges between them: one node more than edges.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Path {
    pub(crate) nodes: Vec<u32>,
    pub(crate) edges: Vec<u32>,
}

impl From<&Scalar> for Value {
    fn from(scalar: &Scalar) -> Self {
        match scalar {
            Scalar::Bool(value) => Self::Bool(*value),
            Scalar::Int(value) => Self::Int(*value),
            Scalar::Float(value) => Self::Float(*value),
            Scalar::Text(value) => Self::Text(Arc::clone(value)),
        }
    }
}

impl Value {
    pub(crate) fn text(text: impl Into<Arc<str>>) -> Self {
        Self::Text(text.into())
    }

    pub(crate) fn list(items: Vec<Self>) -> Result<Self, Error> {
        let (bytes, depth) = measure(items.iter(), 0)?;
        Ok(Self::List(Arc::new(Whole {
            items,
            bytes,
            depth,
        })))
    }

    pub(crate) fn map(items: BTreeMap<Arc<str>, Self>) -> Result<Self, Error> {
        let keys = items.keys().map(|key| key.len() + VALUE_BYTES).sum();
        let (bytes, depth) = measure(items.values(), keys)?;
        Ok(Self::Map(Arc::new(Whole {
            items,
            bytes,
            depth,
        })))
    }

    pub(crate) fn count(count: usize) -> Self {
        Self::Int(i64::try_from(count).unwrap_or(i64::MAX))
    }

    /// How much it holds. What is shared counts each time, so this may be more than there are bytes to count.
    pub(crate) fn bytes(&self) -> usize {
        let content = match self {
            Self::Text(text) => text.len(),
            Self::List(list) => list.bytes,
            Self::Map(map) => map.bytes,
            Self::Path(path) => 4 * (path.nodes.len() + path.edges.len()),
            _ => 0,
        };
        content.saturating_add(VALUE_BYTES)
    }

    fn depth(&self) -> u8 {
        match self {
            Self::List(list) => list.depth,
            Self::Map(map) => map.depth,
            _ => 0,
        }
    }

    /// What it is called where it is not what was wanted.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "a boolean",
            Self::Int(_) | Self::Float(_) => "a number",
            Self::Text(_) => "a text",
            Self::List(_) => "a list",
            Self::Map(_) => "a map",
            Self::Node(_) => "a node",
            Self::Edge(_) => "a relationship",
            Self::Path(_) => "a path",
        }
    }

    /// `=`: nothing where one of them is null.
    pub(crate) fn equals(&self, other: &Self) -> Option<bool> {
        match (self, other) {
            (Self::Null, _) | (_, Self::Null) => None,
            (Self::List(a), Self::List(b)) => {
                if a.items.len() != b.items.len() {
                    return Some(false);
                }
                all_equal(a.items.iter().zip(&b.items))
            }
            (Self::Map(a), Self::Map(b)) => {
                if !a.items.keys().eq(b.items.keys()) {
                    return Some(false);
                }
                all_equal(a.items.values().zip(b.items.values()))
            }
            (Self::Float(a), _) if a.is_nan() => Some(false),
            _ => Some(self.cmp_total(other) == Ordering::Equal),
        }
    }

    /// `<` and its like: nothing where the two have no order.
    pub(crate) fn compares(&self, other: &Self) -> Option<Ordering> {
        match (self, other) {
            (Self::Float(a), _) | (_, Self::Float(a)) if a.is_nan() => None,
            (Self::Int(_) | Self::Float(_), Self::Int(_) | Self::Float(_))
            | (Self::Text(_), Self::Text(_))
            | (Self::Bool(_), Self::Bool(_)) => Some(self.cmp_total(other)),
            _ => None,
        }
    }

    /// The order of `ORDER BY`, in which all values have a place: maps, nodes, relationships,
    /// lists, paths, texts, booleans, numbers, null.
    pub(crate) fn cmp_total(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Bool(a), Self::Bool(b)) => a.cmp(b),
            (Self::Int(a), Self::Int(b)) => a.cmp(b),
            (Self::Int(a), Self::Float(b)) => cmp_mixed(*a, *b),
            (Self::Float(a), Self::Int(b)) => cmp_mixed(*b, *a).reverse(),
            (Self::Float(a), Self::Float(b)) => a
                .partial_cmp(b)
                .unwrap_or_else(|| a.is_nan().cmp(&b.is_nan())),
            (Self::Text(a), Self::Text(b)) => a.cmp(b),
            (Self::List(a), Self::List(b)) => cmp_items(a.items.iter(), b.items.iter()),
            (Self::Map(a), Self::Map(b)) => {
                let keys = a.items.keys().cmp(b.items.keys());
                keys.then_with(|| cmp_items(a.items.values(), b.items.values()))
            }
            (Self::Node(a), Self::Node(b)) | (Self::Edge(a), Self::Edge(b)) => a.cmp(b),
            (Self::Path(a), Self::Path(b)) => a.cmp(b),
            _ => self.place().cmp(&other.place()),
        }
    }

    fn place(&self) -> u8 {
        match self {
            Self::Map(_) => 0,
            Self::Node(_) => 1,
            Self::Edge(_) => 2,
            Self::List(_) => 3,
            Self::Path(_) => 4,
            Self::Text(_) => 5,
            Self::Bool(_) => 6,
            Self::Int(_) | Self::Float(_) => 7,
            Self::Null => 8,
        }
    }
}

/// How much all of them hold.
pub(crate) fn bytes_of<'v>(values: impl IntoIterator<Item = &'v Value>) -> usize {
    let each = values.into_iter().map(Value::bytes);
    each.fold(0, usize::saturating_add)
}

fn measure<'v>(values: impl Iterator<Item = &'v Value>, more: usize) -> Result<(usize, u8), Error> {
    let (mut bytes, mut depth) = (more, 0);
    for value in values {
        bytes = value.bytes().saturating_add(bytes);
        depth = depth.max(value.depth());
    }
    if depth >= DEPTH_MAX {
        return Err(invalid(format!(
            "lists and maps lie more than {DEPTH_MAX} deep in one another"
        )));
    }
    Ok((bytes, depth + 1))
}

fn all_equal<'v>(pairs: impl Iterator<Item = (&'v Value, &'v Value)>) -> Option<bool> {
    let mut known = Some(true);
    for (a, b) in pairs {
        match a.equals(b) {
            Some(true) => {}
            Some(false) => return Some(false),
            None => known = None,
        }
    }
    known
}

fn cmp_items<'v>(
    mut a: impl Iterator<Item = &'v Value>,
    mut b: impl Iterator<Item = &'v Value>,
) -> Ordering {
    loop {
        match (a.next(), b.next()) {
            (None, None) => return Ordering::Equal,
            (None, Some(_)) => return Ordering::Less,
            (Some(_), None) => return Ordering::Greater,
            (Some(a), Some(b)) => match a.cmp_total(b) {
                Ordering::Equal => {}
                other => return other,
            },
        }
    }
}

/// Exact, so that the order of whole and other numbers has no circle. Not a number comes last.
fn cmp_mixed(int: i64, float: f64) -> Ordering {
    const BEYOND: f64 = 9_223_372_036_854_775_808.0;
    if float.is_nan() || float >= BEYOND {
        return Ordering::Less;
    }
    if float < -BEYOND {
        return Ordering::Greater;
    }
    let whole = truncated(float);
    int.cmp(&whole).then_with(|| {
        0.0_f64
            .partial_cmp(&float.fract())
            .unwrap_or(Ordering::Equal)
    })
}

/// The whole part; the nearest whole number there is for one out of range.
#[expect(
    clippy::cast_possible_truncation,
    reason = "the cast saturates, and what it leaves off is what this leaves off"
)]
pub(crate) fn truncated(float: f64) -> i64 {
    float.trunc() as i64
}

/// Values as the key of a group or of a distinct row: null is like null there.
#[derive(Clone, Debug)]
pub(crate) struct Key(pub(crate) Vec<Value>);

impl Key {
    pub(crate) fn bytes(&self) -> usize {
        bytes_of(&self.0).saturating_add(VALUE_BYTES)
    }
}

impl Ord for Key {
    fn cmp(&self, other: &Self) -> Ordering {
        cmp_items(self.0.iter(), other.0.iter())
    }
}

impl PartialOrd for Key {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Key {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Key {}
