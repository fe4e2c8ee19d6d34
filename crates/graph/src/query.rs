//! Asking a graph: from text to rows.
//!
//! Owns the way of a query through the parts of this crate, and what becomes of a reason to stop.

use serde::{Deserialize, Serialize};
use serde_json::{Map as Json, Value as JsonValue};
use sillok_core::error::Error;

use crate::compile::compile;
use crate::graph::Graph;
use crate::meter::{Cut, Meter, QueryLimits, Stop, time_over};
use crate::parse::parse;
use crate::run::Exec;

/// What a query found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Rows {
    /// The names of the columns, in the order of `RETURN`.
    pub columns: Vec<String>,
    /// The rows: sorted where the query says `ORDER BY`, otherwise in the order in which they are found,
    /// which is the same each time for the same graph and text.
    pub rows: Vec<Vec<JsonValue>>,
    /// Why there are no more rows, where there may be more.
    pub cut: Option<Cut>,
}

impl Graph {
    /// Answers a query of openCypher that reads.
    ///
    /// # Errors
    ///
    /// `invalid_argument` where the text is no such query, with what the parser says, where a clause writes,
    /// calls or loads, with its name, and where an expression is given what it does not take. `too_large` where
    /// the text or the memory is over its limit, and where steps, time or bytes were used up before the first row:
    /// to ask the same again would end the same way.
    pub fn query(
        &self,
        text: &str,
        params: &Json<String, JsonValue>,
        limits: &QueryLimits<'_>,
    ) -> Result<Rows, Error> {
        let statement = parse(text)?;
        let plan = compile(self, params, limits.is_over, &statement)?;
        let mut exec = Exec::new(self, Meter::new(*limits), &plan);
        let cut = match exec.run(&plan) {
            Ok(()) | Err(Stop::Enough | Stop::Found) => None,
            Err(Stop::Cut(cut)) => Some(cut),
            Err(Stop::Refused(error)) => return Err(error),
        };
        let rows = exec.answer.rows;
        match cut {
            Some(cut) if rows.is_empty() => before_the_first(cut, limits),
            _ => Ok(()),
        }?;
        Ok(Rows {
            columns: plan.columns,
            rows,
            cut,
        })
    }
}

/// Checks that a text is a query that reads, before there is a graph to ask. `is_over` is asked before each regular expression
/// is made.
///
/// # Errors
///
/// As [`Graph::query`] refuses it, whatever is in the graph.
pub fn check(
    text: &str,
    params: &Json<String, JsonValue>,
    is_over: &dyn Fn() -> bool,
) -> Result<(), Error> {
    let statement = parse(text)?;
    compile(&Graph::default(), params, is_over, &statement).map(drop)
}

/// An answer without rows would read as if there were none.
fn before_the_first(cut: Cut, limits: &QueryLimits<'_>) -> Result<(), Error> {
    let number = |n: usize| u64::try_from(n).unwrap_or(u64::MAX);
    let over = |what: &str, limit: u64| Err(Error::too_large(what, limit, limit.saturating_add(1)));
    match cut {
        Cut::Rows => Ok(()),
        Cut::Bytes => over(
            "first row of the answer, in bytes,",
            number(limits.bytes_max),
        ),
        Cut::Steps => over("number of steps before the first row", limits.steps_max),
        Cut::Time => Err(time_over()),
    }
}
