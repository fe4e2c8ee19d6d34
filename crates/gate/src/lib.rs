//! The cognitive gate where the work tree is: looks there for what entries cite.
//!
//! Owns which places are looked at, and the search for what moved. That nothing outside a work tree is opened is
//! [`sillok_code::open`]'s, and what is made of what is seen [`sillok_core::gate`]'s rule. It must not know servers, recall or
//! who asks.

mod budget;
mod cite;
mod commit_tree;
mod entry;
mod gate;
mod history;
pub mod limits;
mod listing;
mod look;
mod memory;
mod miss;
mod read;
mod repository;
mod search;
mod sought;
mod source;
mod symbols;
mod tree;

pub use budget::Budget;
pub use cite::fingerprint;
pub use commit_tree::Error as CommitError;
pub use entry::{Entry, Origin};
pub use gate::{Answer, Checked, Gate};
pub use history::{AtMain, check_at_main};
pub use memory::Error as MemoryError;
pub use tree::{Error, WorkTree};
