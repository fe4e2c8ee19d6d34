//! What a query may use: steps, memory, time. Whatever loops asks here first.
//!
//! Owns the counts and the reasons to stop. It has no clock: whether time is over is asked of a
//! closure, once in a thousand steps.

use serde::{Deserialize, Serialize};
use sillok_core::error::{Error, ErrorCode};

/// What one query may use.
#[derive(Clone, Copy)]
pub struct QueryLimits<'a> {
    /// Most rows of the answer. What is beyond is cut.
    pub rows_max: usize,
    /// Most bytes of the answer's rows, written as JSON. What is beyond is cut.
    pub bytes_max: usize,
    /// Most steps: a node or an edge looked at, an expression worked out, 64 bytes compared or copied.
    pub steps_max: u64,
    /// Most bytes that the query may hold at any moment, its answer aside.
    pub memory_max: usize,
    /// Whether the time is over. Asked each 1,024 steps.
    pub is_over: &'a dyn Fn() -> bool,
}

/// Why an answer is not whole. The rows that it has are rows of the whole answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cut {
    /// There are more rows than were asked for.
    Rows,
    /// The answer would have been larger than was asked for.
    Bytes,
    /// It would have taken more steps.
    Steps,
    /// Its time was over.
    Time,
}

/// Why the execution goes no further.
#[derive(Debug)]
pub(crate) enum Stop {
    /// A projection has all the rows that its `LIMIT` takes.
    Enough,
    /// A subquery has found what it was asked for.
    Found,
    /// A limit on the whole answer.
    Cut(Cut),
    /// The query cannot be answered.
    Refused(Error),
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Self::Refused(error)
    }
}

/// An expression was given what it does not take.
pub(crate) fn invalid(message: impl Into<String>) -> Error {
    Error::new(ErrorCode::InvalidArgument, message)
}

/// The time was over, and there is no row to tell.
pub(crate) fn time_over() -> Error {
    Error::new(
        ErrorCode::TooLarge,
        "the time of the query was over before its first row: ask for less",
    )
}

pub(crate) struct Meter<'a> {
    limits: QueryLimits<'a>,
    steps: u64,
    /// Bytes that projections, the answer and regular expressions hold.
    held: usize,
    /// Bytes of what is under way: places of walks, rows that are handed on, finds of subqueries.
    open: usize,
    /// Bytes of what was worked out for the row at hand.
    passing: usize,
}

/// After how many steps the time is asked for.
const ASK_EVERY: u64 = 1024;
/// How many bytes are one step.
const STEP_BYTES: usize = 64;

impl<'a> Meter<'a> {
    pub(crate) fn new(limits: QueryLimits<'a>) -> Self {
        Self {
            limits,
            steps: 0,
            held: 0,
            open: 0,
            passing: 0,
        }
    }

    pub(crate) fn limits(&self) -> &QueryLimits<'a> {
        &self.limits
    }

    pub(crate) fn step(&mut self) -> Result<(), Stop> {
        self.steps(1)
    }

    pub(crate) fn steps(&mut self, count: u64) -> Result<(), Stop> {
        let before = self.steps / ASK_EVERY;
        self.steps = self.steps.saturating_add(count);
        if self.steps > self.limits.steps_max {
            return Err(Stop::Cut(Cut::Steps));
        }
        if self.steps / ASK_EVERY != before && (self.limits.is_over)() {
            return Err(Stop::Cut(Cut::Time));
        }
        Ok(())
    }

    /// Steps for bytes that are compared, searched or copied, `times` over.
    pub(crate) fn work(&mut self, bytes: usize, times: u64) -> Result<(), Stop> {
        let steps = u64::try_from(bytes / STEP_BYTES).unwrap_or(u64::MAX);
        self.steps(steps.saturating_add(1).saturating_mul(times))
    }

    /// Memory for a value before it is made.
    pub(crate) fn take(&mut self, bytes: usize) -> Result<(), Stop> {
        self.passing = self.passing.saturating_add(bytes);
        self.check()
    }

    /// Memory that is held until it is freed.
    pub(crate) fn hold(&mut self, bytes: usize) -> Result<(), Stop> {
        self.held = self.held.saturating_add(bytes);
        self.check()
    }

    /// Memory that was held is free again.
    pub(crate) fn free(&mut self, bytes: usize) {
        self.held = self.held.saturating_sub(bytes);
    }

    pub(crate) fn held(&self) -> usize {
        self.held
    }

    /// So much is held of what was held before.
    pub(crate) fn hold_only(&mut self, held: usize) {
        self.held = held;
    }

    /// Memory for something that is under way.
    pub(crate) fn open(&mut self, bytes: usize) -> Result<(), Stop> {
        self.open = self.open.saturating_add(bytes);
        self.check()
    }

    /// Something that was under way is over.
    pub(crate) fn close(&mut self, bytes: usize) {
        self.open = self.open.saturating_sub(bytes);
    }

    pub(crate) fn opened(&self) -> usize {
        self.open
    }

    /// What came to be under way since `before` is over, also where it was left in its middle.
    pub(crate) fn close_to(&mut self, before: usize) {
        self.open = before;
    }

    pub(crate) fn mark(&self) -> usize {
        self.passing
    }

    /// What was worked out since `mark` is dropped.
    pub(crate) fn drop_to(&mut self, mark: usize) {
        self.passing = mark;
    }

    fn check(&self) -> Result<(), Stop> {
        let used = self.held.saturating_add(self.open);
        let used = used.saturating_add(self.passing);
        if used <= self.limits.memory_max {
            return Ok(());
        }
        let number = |n: usize| u64::try_from(n).unwrap_or(u64::MAX);
        let limit = number(self.limits.memory_max);
        Err(Error::too_large("memory of the query, in bytes,", limit, number(used)).into())
    }
}
