//! How others hear of what was committed: subjects, messages, and the bus inside one process.
//!
//! The store's outbox is the truth; a bus only carries word of it. This crate must not know how a
//! message comes to be, nor what its listeners do with it.

pub mod calls;
pub mod conformance;
pub mod follower;
pub mod in_process;
pub mod message;
pub mod parts;
pub mod stream;
pub mod subject;
pub mod wire;

pub use follower::Follower;
pub use in_process::{InProcessBus, Listener};
pub use message::Message;
pub use stream::{EventStream, Streams};
