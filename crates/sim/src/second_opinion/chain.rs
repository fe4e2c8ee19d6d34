//! A scope as a sequential object: commands stand one behind the other, and a read gives the position
//! of the last one.
//!
//! Owns the specification, and how a history is cut into pieces that the tester can search. The
//! tester's search is exponential where much happens at once; a moment at which nothing is under way
//! splits a history in two that can be judged one after the other, since everything that happened
//! before it leaves the same chain in whatever order it happened.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use sillok_core::id::Seq;
use stateright::semantics::{ConsistencyTester as _, LinearizabilityTester, SequentialSpec};

/// Steps of the search in one scope, after which it is given up.
const STEPS_MAX: u64 = 200_000;

/// Who wrote a part of a chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Author {
    /// A client, by the number of its call.
    Call(usize),
    /// A node, unasked: it may do so at any time.
    Node,
    /// Somebody whom no history knows.
    Stranger,
}

/// What one command wrote.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Written {
    pub(super) author: Author,
    /// The position of its last event.
    pub(super) last: Seq,
}

/// An operation on a scope.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Op {
    /// The command of a call.
    Command(usize),
    /// A command that had nothing to write.
    Nothing,
    /// Asks where the chain ends.
    Tip,
    /// Asks for the whole chain, once everything is over.
    Whole,
}

/// An operation with its answer, and when it was under way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Span {
    pub(super) invoked_us: u64,
    pub(super) returned_us: u64,
    pub(super) op: Op,
    pub(super) seq: Seq,
}

/// What the tester found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// An order explains all answers.
    Linearizable,
    /// No order does.
    Not(String),
    /// The search took too long.
    Undecided,
}

/// The sequential object: a chain of which a part has been written. What is to come is known from the
/// chain as it was found at the end; which operation brings it, and when, is what the tester seeks.
#[derive(Clone, Debug)]
struct Chain {
    written: Arc<[Written]>,
    /// How many parts of it are there.
    done: usize,
    steps_left: Arc<AtomicU64>,
}

impl Chain {
    fn tip(&self) -> Seq {
        let last = self.done.checked_sub(1).map(|last| self.written[last].last);
        last.unwrap_or(Seq::ZERO)
    }

    /// The part that comes next, if a node wrote it: nobody has to ask for that.
    fn goes_on_by_itself(&mut self) -> bool {
        let next = self.written.get(self.done);
        let is_of_node = next.is_some_and(|next| next.author == Author::Node);
        self.done += usize::from(is_of_node);
        is_of_node
    }

    /// Whether the chain ends at `seq`, now or after a node has written.
    fn ends_at(&mut self, seq: Seq) -> bool {
        while self.tip() < seq && self.goes_on_by_itself() {}
        self.tip() == seq
    }

    /// Whether the command comes next, and ends at `seq`.
    fn is_next(&mut self, call: usize, seq: Seq) -> bool {
        while self.goes_on_by_itself() {}
        let part = Written {
            author: Author::Call(call),
            last: seq,
        };
        let is_next = self.written.get(self.done) == Some(&part);
        self.done += usize::from(is_next);
        is_next
    }

    fn spend_step(&self) -> bool {
        let spent = self
            .steps_left
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| {
                left.checked_sub(1)
            });
        spent.is_ok()
    }
}

impl SequentialSpec for Chain {
    type Op = Op;
    type Ret = Seq;

    /// The answer of an operation that is known to be valid. The tester asks for it only where an
    /// operation is without an answer, of which there are none.
    fn invoke(&mut self, op: &Op) -> Seq {
        let next = self.written.get(self.done).map(|next| next.last);
        let answer = match op {
            Op::Command(_) => next.unwrap_or_default(),
            Op::Nothing | Op::Tip | Op::Whole => self.tip(),
        };
        let is_valid = self.is_valid_step(op, &answer);
        assert!(is_valid, "every operation has an answer");
        answer
    }

    fn is_valid_step(&mut self, op: &Op, seq: &Seq) -> bool {
        if !self.spend_step() {
            return false;
        }
        match op {
            Op::Command(call) => self.is_next(*call, *seq),
            Op::Nothing | Op::Tip => self.ends_at(*seq),
            Op::Whole => self.ends_at(*seq) && self.done == self.written.len(),
        }
    }
}

/// Whether some order of the operations explains the chain and all answers.
pub(super) fn verdict(written: &Arc<[Written]>, spans: Vec<Span>) -> Verdict {
    let mut chain = Chain {
        written: Arc::clone(written),
        done: 0,
        steps_left: Arc::new(AtomicU64::new(STEPS_MAX)),
    };
    for piece in pieces(spans) {
        match order(&chain, &piece) {
            Some(order) => {
                for (op, seq) in order {
                    let is_valid = chain.is_valid_step(&op, &seq);
                    if !is_valid {
                        return Verdict::Undecided;
                    }
                }
            }
            None if chain.steps_left.load(Ordering::Relaxed) == 0 => return Verdict::Undecided,
            None => return Verdict::Not(describe(&chain, &piece)),
        }
    }
    Verdict::Linearizable
}

fn describe(chain: &Chain, piece: &[Span]) -> String {
    let shown = piece.iter().take(8).map(|span| {
        let what = match span.op {
            Op::Command(call) => format!("command {call}"),
            Op::Nothing => "command".to_owned(),
            Op::Tip => "read".to_owned(),
            Op::Whole => "all".to_owned(),
        };
        format!(
            "{what} at {} ({}..{} us)",
            span.seq, span.invoked_us, span.returned_us
        )
    });
    format!(
        "no order of {} operations follows position {}: {}",
        piece.len(),
        chain.tip(),
        shown.collect::<Vec<_>>().join(", ")
    )
}

/// Cuts a history wherever nothing is under way.
fn pieces(mut spans: Vec<Span>) -> Vec<Vec<Span>> {
    spans.sort_by_key(|span| (span.invoked_us, span.returned_us));
    let mut pieces: Vec<Vec<Span>> = Vec::new();
    let mut ends_us = 0;
    for span in spans {
        match pieces.last_mut() {
            // What begins as another one ends counts as being under way together with it.
            Some(piece) if span.invoked_us <= ends_us => piece.push(span),
            _ => pieces.push(vec![span]),
        }
        ends_us = ends_us.max(span.returned_us);
    }
    pieces
}

/// Asks the tester for an order of operations that overlap one another.
fn order(chain: &Chain, piece: &[Span]) -> Option<Vec<(Op, Seq)>> {
    let mut tester = LinearizabilityTester::new(chain.clone());
    // Invocations come before returns of the same moment. Each takes a thread that is free.
    let mut moments: Vec<(u64, bool, usize)> = Vec::with_capacity(piece.len() * 2);
    for (number, span) in piece.iter().enumerate() {
        moments.push((span.invoked_us, false, number));
        moments.push((span.returned_us, true, number));
    }
    moments.sort_unstable();
    let mut free: BTreeSet<usize> = (0..piece.len()).collect();
    let mut threads: BTreeMap<usize, usize> = BTreeMap::new();
    for (_, returns, number) in moments {
        let span = &piece[number];
        let recorded = if returns {
            let thread = threads.remove(&number).expect("it was invoked before");
            free.insert(thread);
            tester.on_return(thread, span.seq).map(drop)
        } else {
            let thread = free.pop_first().expect("a thread for each operation");
            threads.insert(number, thread);
            tester.on_invoke(thread, span.op).map(drop)
        };
        recorded.expect("each thread does one thing at a time");
    }
    tester.serialized_history()
}
