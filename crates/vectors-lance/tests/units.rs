//! The tests beside the modules that know nothing of tables on the disk, without compiling Lance into another binary.
//!
//! Owns nothing: the modules are the library's own, each with its tests.

#![expect(
    dead_code,
    reason = "the library calls what the tests of these modules leave alone"
)]

#[path = "../src/bits.rs"]
mod bits;
#[path = "../src/claims.rs"]
mod claims;
#[path = "../src/classes.rs"]
mod classes;
#[path = "../src/delta.rs"]
mod delta;
#[path = "../src/filter.rs"]
mod filter;
#[path = "../src/ranking.rs"]
mod ranking;
