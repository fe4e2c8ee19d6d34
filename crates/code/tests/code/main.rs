//! The code graph against sources as people write them.

mod golden;
