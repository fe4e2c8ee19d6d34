//! The durable index over Lance tables: hybrid search, keyed merge, index building, rebuild.
//!
//! One table for each organisation and kind. What a table's indices do not cover yet lies in
//! memory as well, where it is searched exactly, so a commit is visible at once and no search
//! ever scans a file. Owns how entries are stored and found; it must not know how ranked lists
//! are fused, how confidence decays, or which commands made an entry.

mod admission;
mod ages;
mod bits;
mod bulk;
mod claims;
mod classes;
mod columns;
mod commit;
mod config;
mod damage;
mod delta;
mod directory;
mod error;
mod filter;
mod graves;
mod index;
mod indices;
mod layout;
mod maintenance;
mod planning;
mod pool;
mod query;
mod ranking;
mod scan;
mod table;
mod tables;
mod watermark;
mod words;

pub use bulk::write_tables;
pub use config::{HnswParams, LanceConfig};
pub use error::Error;
pub use index::LanceIndex;
pub use planning::LanceColumns;
