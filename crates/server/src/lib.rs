//! HTTP, configuration and the composition root.
//!
//! Owns how requests become commands and answers become responses, and where the parts are put
//! together. It must not know a rule: whatever decides lives in `sillok-core`.

pub mod api;
mod beats;
mod checkpoints;
mod code;
pub mod cognifying;
pub mod composition;
pub mod config;
pub mod data_directory;
pub mod engine;
mod engines;
pub mod error;
mod foundationdb;
pub mod gate;
mod graph;
pub mod http;
pub mod logging;
mod metered;
pub mod restoring;
pub mod secrets;
pub mod serve;
mod spaces;
pub mod system;
pub mod telemetry;

// What the command line does to a data directory that no server has.
pub use sillok_actors::spaces::index_over;
pub use sillok_actors::{audit, backup, rebuild, restore};

// By which the command line judges the commits of its own work tree, as the server does those of its own disk.
pub use sillok_perception::git;

pub use composition::{
    OpenData, ensure_administrator, open_data_dir, open_shared, open_to_read, start_node,
};
pub use config::{Config, Layers, Loaded, Origin};
pub use engine::Engine;
pub use error::Error;
pub use foundationdb::stop_network;
pub use http::openapi;
pub use serve::{Server, serve};
