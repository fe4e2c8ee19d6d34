//! The gate on real files: what it says of entries while work trees change under it.
//!
//! Owns the behaviour of the whole crate, through what it makes public.

mod folder;
mod hostile;
mod memory;
mod moves;
mod repositories;
