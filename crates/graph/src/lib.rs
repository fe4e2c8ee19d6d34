//! Reading openCypher over a graph that is built for one asker.
//!
//! Owns the graph in memory, and the queries over it. The text is parsed by `grafeo-adapters`; it is carried out
//! here, because what carries it out has to count each step and each byte (ADR 0041). It must not know
//! stores, scopes or permissions: who builds a graph puts into it what the asker may see. It has no clock
//! and starts no thread.

mod aggregate;
mod answer;
mod apply;
mod columns;
mod compile;
mod compile_expr;
mod compile_match;
mod eval;
mod functions;
mod graph;
mod lists;
mod meter;
mod parse;
mod plan;
mod project;
mod query;
mod regexes;
mod run;
mod run_match;
mod scope;
mod value;
mod walk;

pub use graph::{Graph, GraphBuilder, GraphLimits, NodeRef};
pub use meter::{Cut, QueryLimits};
pub use parse::{QUERY_BYTES_MAX, QUERY_DEPTH_MAX, QUERY_TOKENS_MAX};
pub use query::{Rows, check};
pub use value::Scalar;
