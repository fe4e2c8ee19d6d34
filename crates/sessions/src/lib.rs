//! Readers of recorded agent work: SWE-agent `.traj` files, and the session files of Claude Code and of Codex.
//!
//! Owns the formats: what of a file becomes a record of a task's log, what is passed over, and where reading goes on
//! when a session was written further. Files are only read. It must not know servers, scopes, or how records are sent.

pub mod cursor;
pub mod error;
pub mod format;
pub mod head;
pub mod limits;
pub mod passed;
pub mod reader;
pub mod record;
pub mod source;
pub mod state;
pub mod trajectory;
pub mod walk;

mod claude_code;
mod codex;
mod file;
mod json;
mod lines;
mod output;
mod scribe;
mod tool;

pub use cursor::Cursor;
pub use error::Error;
pub use format::Format;
pub use head::Head;
pub use passed::PassedOver;
pub use reader::Reader;
pub use record::{Entry, Place, Record};
pub use source::Source;
