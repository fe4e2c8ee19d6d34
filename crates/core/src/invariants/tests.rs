//! Tests of the invariants.
