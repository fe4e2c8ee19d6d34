//! HTTP, configuration and the composition root.
//!
//! Owns how requests become commands and answers become responses, and where the parts are put
//! together. It must not know a rule: whatever decides lives in `sillok-core`.

pub mod api;
