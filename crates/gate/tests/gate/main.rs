//! The gate on real files: what it says of entries while work trees change under it.
//!
//! Owns the behaviour of the whole crate, through what it makes public.

#![expect(clippy::unwrap_used, reason = "all of it is a test")]

mod folder;
mod hostile;
mod memory;
mod moves;
mod repositories;
