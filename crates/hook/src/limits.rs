//! Bounds of hooks that nobody else needs to know.

use sillok_core::time::DAY_MS;

/// Bytes of one event, as a client hands it over.
pub const EVENT_BYTES_MAX: u64 = 16 << 20;
/// Bytes that are kept of one text of an event: half from its beginning, half from its end.
pub const TEXT_BYTES_MAX: usize = 48 << 10;
/// Bytes of what an agent is told at one event. Claude Code shows at most 10,000 characters.
pub const CONTEXT_BYTES_MAX: usize = 9_000;
/// Bytes of one note of a spool.
pub const NOTE_BYTES_MAX: usize = 1 << 20;
/// Bytes of the spool of one conversation. What comes after that is left out, and counted.
pub const SPOOL_BYTES_MAX: u64 = 64 << 20;
/// Spools of one directory. A conversation that begins after that is not written down.
pub const SPOOLS_MAX: usize = 1_024;
/// How long a command waits for a server. Its id is known to be new for as long (see `core::limits`).
pub const WAIT_MS_MAX: u64 = 30 * DAY_MS;
/// How often a command may meet a defect of the server before it is given up.
pub const DEFECTS_MAX: u32 = 5;
/// Commands that one hook hands over.
pub const COMMANDS_PER_RUN_MAX: usize = 4_096;
/// Bytes of an answer of the server.
pub const ANSWER_BYTES_MAX: usize = 8 << 20;
/// Header lines of an answer.
pub const HEADERS_MAX: usize = 64;
/// Interim answers that are skipped before an answer.
pub const INTERIM_MAX: usize = 8;
/// Bytes of a task's title that a person's words make.
pub const TITLE_BYTES: usize = 200;
/// Bytes of those words that the task is opened with.
pub const OPENING_BYTES: usize = 8 << 10;
/// Records that are held until a conversation's task is opened. The next one opens it.
pub const HELD_MAX: usize = 4;
/// Bytes of a word that a client tells of how a conversation begins.
pub const CLIENT_WORD_BYTES: usize = 256;
/// Items of a brief that are asked for at the start of a conversation.
pub const BRIEF_ITEMS: usize = 64;
/// Entries that are asked for at a prompt.
pub const RECALL_ENTRIES: usize = 8;
/// Tokens of the entries that are asked for at a prompt.
pub const RECALL_TOKENS: u64 = 1_600;
/// Failures that are asked for at a prompt.
pub const RECALL_FAILURES: usize = 3;
/// Tokens of those failures.
pub const RECALL_FAILURE_TOKENS: u64 = 500;
/// Warnings that are told at once.
pub const WARNINGS_TOLD: usize = 3;
/// Bytes of an approach, and of why it failed, that are told in a warning.
pub const WARNING_TEXT_BYTES: usize = 600;
/// Failed approaches that are told of a change.
pub const TRIED_TOLD: usize = 3;
/// Bytes of a change that are compared with what failed.
pub const APPROACH_BYTES: usize = 2 << 10;
/// Bytes of a client's configuration file.
pub const CONFIGURATION_BYTES_MAX: u64 = 32 << 20;
/// How deep a client's configuration may be nested.
pub const CONFIGURATION_DEPTH_MAX: usize = 128;
/// Directories above the working directory that are looked at for a work tree.
pub const PARENTS_MAX: usize = 128;

/// How long a connection may take, in ms.
pub const CONNECT_MS: u64 = 150;
/// How long a hook may speak to the server while its agent waits for an answer, in ms.
pub const ANSWER_MS: u64 = 1_000;
/// The same before and after a tool, in ms: that is often.
pub const TOOL_ANSWER_MS: u64 = 300;
/// The longest that either may be set to, in ms: clients wait for a little more.
pub const ANSWER_MS_MAX: u64 = 4_000;
/// How long a hook may take whatever holds it up, in ms: its agent's input without an end, a disk, a lock. Clients wait for 5 s.
pub const WHOLE_MS: u64 = 4_500;
/// How long nobody tries again to reach a server that was away, in ms, but where an agent waits for an answer.
pub const AWAY_MS: u64 = 5_000;
/// How old the oldest command may get before a tool's hook hands commands over, in ms.
pub const BUNDLE_MS: u64 = 2_000;
/// How many commands may wait before a tool's hook hands them over.
pub const BUNDLE_COMMANDS: usize = 16;
