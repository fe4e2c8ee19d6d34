//! The form in which a query is carried out: stages over one row of slots.
//!
//! Owns the shapes alone. Each variable of the text has a slot of its own, so a row is one vector
//! for the whole query, and which slots hold something at a stage is known before anything runs.

use std::sync::Arc;

use grafeo_adapters::query::cypher::{BinaryOp, Direction, ListPredicateKind};

use crate::functions::Function;
use crate::regexes::Matcher;
use crate::value::Value;

pub(crate) type Slot = usize;

/// A query and those that `UNION` adds to it.
pub(crate) struct Plan {
    pub(crate) columns: Vec<String>,
    pub(crate) frames: Vec<Frame>,
    /// Whether a row comes once, whichever of the queries it comes from.
    pub(crate) once: bool,
    pub(crate) slots: usize,
    /// How many parts have a state of their own.
    pub(crate) states: usize,
    /// Most bytes that its regular expressions hold.
    pub(crate) regex_bytes: usize,
}

/// Stages that are gone through for each row, and what becomes of a row behind the last one.
pub(crate) struct Frame {
    pub(crate) id: usize,
    pub(crate) stages: Vec<Stage>,
    pub(crate) end: End,
}

pub(crate) enum End {
    /// These slots are a row of the answer.
    Answer(Vec<Slot>),
    /// One row is enough.
    Exists,
    Count,
    Collect(Expr),
}

pub(crate) enum Stage {
    Match(Match),
    Unwind { list: Expr, slot: Slot },
    Filter(Expr),
    Project(Project),
}

pub(crate) struct Match {
    pub(crate) id: usize,
    pub(crate) optional: bool,
    pub(crate) ops: Vec<Op>,
    /// What is null where an optional match finds nothing.
    pub(crate) slots: Vec<Slot>,
}

/// One step of matching a pattern.
pub(crate) enum Op {
    /// The node in the slot has these labels.
    Labels {
        slot: Slot,
        labels: Vec<Label>,
    },
    Filter(Expr),
    Go(Way),
}

/// A step that may go on in many ways, or that binds.
pub(crate) enum Way {
    /// Each node there is, or each with a label.
    Scan {
        slot: Slot,
        label: Option<Label>,
    },
    Expand(Expand),
    Walk(Walk),
    Shortest(Shortest),
    Path {
        slot: Slot,
        start: Slot,
        edges: Vec<Slot>,
    },
}

/// The number of a label that some node has.
pub(crate) type Label = Option<u32>;

/// From a node along one edge.
pub(crate) struct Expand {
    pub(crate) from: Slot,
    pub(crate) edge: Slot,
    pub(crate) edge_bound: bool,
    pub(crate) to: Slot,
    pub(crate) to_bound: bool,
    pub(crate) along: Along,
}

/// Which edges are taken, and which way.
pub(crate) struct Along {
    pub(crate) direction: Direction,
    /// Of any kind where there is no list.
    pub(crate) kinds: Option<Vec<u32>>,
}

/// From a node along several edges.
pub(crate) struct Walk {
    pub(crate) from: Slot,
    pub(crate) edges: Slot,
    /// Whether anything reads which edges they are.
    pub(crate) listed: bool,
    pub(crate) to: Slot,
    pub(crate) to_bound: bool,
    pub(crate) along: Along,
    pub(crate) min: u32,
    pub(crate) max: u32,
    /// The slot in which `each` sees one edge.
    pub(crate) one: Slot,
    pub(crate) each: Vec<Expr>,
    /// The pattern is read from its end, so edges are found last to first.
    pub(crate) reversed: bool,
    /// Nothing asks how a node is reached, or how often: each comes once.
    pub(crate) once: bool,
}

/// The shortest ways between two nodes.
pub(crate) struct Shortest {
    pub(crate) from: Slot,
    pub(crate) to: Slot,
    pub(crate) edges: Slot,
    pub(crate) along: Along,
    pub(crate) min: u32,
    pub(crate) max: u32,
    pub(crate) all: bool,
}

pub(crate) struct Project {
    pub(crate) id: usize,
    pub(crate) items: Vec<Item>,
    /// Rows become groups.
    pub(crate) grouped: bool,
    pub(crate) aggregates: Vec<Aggregate>,
    pub(crate) distinct: bool,
    /// The `WHERE` that stands before `ORDER BY`.
    pub(crate) filter: Option<Expr>,
    pub(crate) order: Vec<(Expr, bool)>,
    pub(crate) skip: Option<Expr>,
    pub(crate) limit: Option<Expr>,
}

impl Project {
    /// Whether it has no first row before it has seen the last one.
    pub(crate) fn blocks(&self) -> bool {
        self.grouped || !self.order.is_empty()
    }
}

pub(crate) struct Item {
    pub(crate) slot: Slot,
    pub(crate) expr: Expr,
    /// It is worked out of the group, not of a row.
    pub(crate) of_group: bool,
}

pub(crate) struct Aggregate {
    pub(crate) kind: AggregateKind,
    pub(crate) distinct: bool,
    /// Nothing for `count(*)`.
    pub(crate) of: Option<Expr>,
    pub(crate) slot: Slot,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AggregateKind {
    Count,
    Sum,
    Avg,
    Min,
    Max,
    Collect,
}

pub(crate) enum Expr {
    Constant(Value),
    Slot(Slot),
    Property(Box<Expr>, Arc<str>, Option<u32>),
    Index(Box<Expr>, Box<Expr>),
    Slice(Box<Expr>, Option<Box<Expr>>, Option<Box<Expr>>),
    /// From left to right, however long: a tree of it would be as deep as it is long.
    Chain(Box<Expr>, Vec<(BinaryOp, Expr)>),
    Matches(Box<Expr>, Arc<Matcher>),
    Not(Box<Expr>),
    Negate(Box<Expr>),
    IsNull(Box<Expr>, bool),
    Call(Function, Vec<Expr>),
    HasLabel(Box<Expr>, Label),
    List(Vec<Expr>),
    Map(Vec<(Arc<str>, Expr)>),
    Comprehension(Box<Comprehension>),
    Quantifier(ListPredicateKind, Box<Comprehension>),
    Reduce(Box<Reduce>),
    Case(Box<Case>),
    Exists(Box<Frame>),
    Count(Box<Frame>),
    Collect(Box<Frame>),
    Projection(Box<Expr>, bool, Vec<(Arc<str>, Option<u32>, Option<Expr>)>),
}

pub(crate) struct Comprehension {
    pub(crate) slot: Slot,
    pub(crate) list: Expr,
    pub(crate) filter: Option<Expr>,
    pub(crate) result: Option<Expr>,
}

pub(crate) struct Reduce {
    pub(crate) total: Slot,
    pub(crate) first: Expr,
    pub(crate) slot: Slot,
    pub(crate) list: Expr,
    pub(crate) next: Expr,
}

pub(crate) struct Case {
    pub(crate) input: Option<Expr>,
    pub(crate) whens: Vec<(Expr, Expr)>,
    pub(crate) otherwise: Option<Expr>,
}
