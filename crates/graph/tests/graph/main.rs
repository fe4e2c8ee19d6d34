//! Queries as somebody would ask them: what they answer, what is refused, and that each of them ends.

#![expect(clippy::unwrap_used, reason = "all of it is a test")]

mod answers;
mod bounds;
mod made;
mod reach;
mod refusals;
