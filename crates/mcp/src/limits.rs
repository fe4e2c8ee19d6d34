//! Bounds of this protocol alone. Those of what is stored are the rules', and the API holds to them.

use core::time::Duration;

/// Bytes of one message that is taken: of a request's body, or of a line. What is larger goes over HTTP or the command line.
pub const MESSAGE_BYTES_MAX: usize = 1 << 20;
/// Bytes of one answer of the API that are read. A page of it has at most 16 MiB, which its JSON makes longer.
pub const ANSWER_BYTES_MAX: usize = 64 << 20;
/// Calls of one endpoint that are under way at one time.
pub const CALLS_MAX: usize = 128;
/// Those of one principal: whoever has many of them under way leaves places for others.
pub const CALLS_EACH_MAX: usize = 16;
/// What a caller without a place is told to wait, in milliseconds.
pub const CALL_RETRY_AFTER_MS: u64 = 200;

/// How long the API may take for one request.
pub const DEADLINE: Duration = Duration::from_secs(30);
/// How long a call may take in all: somebody may wait for a verification that long, and ask before and behind it.
pub const CALL_DEADLINE: Duration = Duration::from_secs(180);

/// The least that an answer may be asked to cost, in tokens: room for one handle.
pub const BUDGET_TOKENS_MIN: u64 = 100;
/// The most that an answer may be asked to cost, in tokens.
pub const BUDGET_TOKENS_MAX: u64 = 50_000;
/// What an answer may cost when nothing is said.
pub const BUDGET_TOKENS_USUAL: u64 = 4_000;
/// What a brief may cost when nothing is said: it is loaded once a task.
pub const BRIEF_TOKENS_USUAL: u64 = 8_000;
/// What an item costs besides its text: its handle and its fields.
pub const ITEM_TOKENS: u64 = 40;
/// Handles of what was cut that are named.
pub const CUT_NAMED_MAX: usize = 32;

/// Bytes of a refusal's own words that are handed on.
pub const REFUSAL_BYTES_MAX: usize = 1 << 10;
/// Bytes of one handle: of a scope, an id, a cursor or a URI.
pub const HANDLE_BYTES_MAX: usize = 2 << 10;

/// Failures that each warning of a brief cites, the last ones.
pub const WARNING_FAILURES_MAX: usize = 3;
/// Memories of past failures beside a brief.
pub const FAILED_MEMORIES_MAX: usize = 5;
/// Bytes of a task's own words that these are looked for by.
pub const FAILED_QUERY_BYTES_MAX: usize = 4 << 10;
/// The part of a brief's budget that warnings and these memories may take, of which they have more where the brief leaves it.
pub const WARNINGS_PART: u64 = 4;
/// The part of a budget that a task's own words may take: what it is about, why it is stuck, what is suggested.
pub const OWN_WORDS_PART: u64 = 4;
/// The part that a memory's history may take.
pub const HISTORY_PART: u64 = 4;
/// The part that a question may take before the memories that it is about.
pub const QUESTION_PART: u64 = 2;

/// Files and symbols of which one call asks what depends on them in the code.
pub const CODE_STARTS_MAX: usize = 8;
/// What depends on each of them in the code, when nothing is said.
pub const CODE_NODES_USUAL: usize = 50;

/// Rows of a page that a tool asks the API for.
pub const PAGE_ROWS: usize = 100;
/// Pages that are read to find contradictions among other questions.
pub const QUESTION_PAGES_MAX: usize = 10;

/// The longest that ending a task waits for its verification, in milliseconds.
pub const END_WAIT_MS_MAX: u64 = 60_000;
/// How long it waits when nothing is said.
pub const END_WAIT_MS_USUAL: u64 = 20_000;
/// How often it looks whether the verification is recorded.
pub const END_LOOK_EVERY: Duration = Duration::from_millis(250);
/// Pages of records that are looked at each time.
pub const END_PAGES_MAX: usize = 10;

/// Tokens of a resource.
pub const RESOURCE_TOKENS_MAX: u64 = 16_000;
/// Resources of one page of their list.
pub const RESOURCES_PAGE: usize = 100;
