//! What Kubernetes' schemas do not say of the manifests, checked on what kustomize renders.
//!
//! Owns the rules, and the parts of the manifests that they read. Whether a manifest has a valid form at
//! all is the schemas' business: `make k8s-check` asks them too.

pub mod foreign;
pub mod manifest;
pub mod promql;
pub mod render;
pub mod rules;
pub mod series;

pub use manifest::Manifests;
pub use render::{Texts, overlays, render};
pub use rules::{Finding, check};
