//! Every bound of the system, in one place.
//!
//! A bound here is part of the contract: a request over it is refused with `too_large`, a queue at
//! it answers `busy`. What an operator may tune lives in the typed configuration instead.

/// Characters in one segment of a scope path.
pub const SEGMENT_CHARS_MAX: usize = 128;
/// Characters in a principal's id.
pub const PRINCIPAL_ID_CHARS_MAX: usize = 128;

/// Bytes of content in one staged record.
pub const RECORD_BYTES_MAX: usize = 8 << 20;
/// Bytes of content that are stored inside the event itself; more is chunked.
pub const INLINE_BYTES_MAX: usize = 64 << 10;
/// Bytes of an original that are stored inside its event and its row; more is chunked. Rows are read to tell what an anchor
/// leads to, and a brief has many anchors.
pub const EVIDENCE_INLINE_BYTES_MAX: usize = 4 << 10;
/// Bytes of one chunk of large content.
pub const CHUNK_BYTES: usize = 64 << 10;
/// Bytes of the JSON metadata of a record or an entry.
pub const METADATA_BYTES_MAX: usize = 16 << 10;
/// Files that one record, or one entry, is bound to.
pub const BOUND_FILES_MAX: usize = 32;
/// Bytes of the name of a repository, of a branch, or of a path in it, that something is bound to.
pub const BOUND_NAME_BYTES_MAX: usize = 1 << 10;
/// Bytes of what a record is bound to: with its text and its metadata, it fits one value of the store.
pub const BOUND_BYTES_MAX: usize = 8 << 10;
/// Bytes of what an entry is bound to: no more than the name of a commit alone may take.
pub const ENTRY_BOUND_BYTES_MAX: usize = SHORT_TEXT_BYTES_MAX;
/// Records in one append command.
pub const RECORDS_PER_COMMAND_MAX: usize = 1_000;
/// Bytes of record contents, and of what records are bound to, in one append command of more than one record.
pub const APPEND_BYTES_MAX: usize = 8 << 20;
/// The widest span over which records may be gathered into one append, in ms: what is gathered is not acknowledged yet.
pub const BUNDLE_MS_MAX: u64 = 60_000;

/// Bytes of an entry's content.
pub const ENTRY_BYTES_MAX: usize = 32 << 10;
/// Uses of a skill that its writer may say there were before: they weigh against all that is reported later.
pub const SKILL_USES_MAX: u64 = 10_000;
/// Citations on one entry.
pub const CITATIONS_MAX: usize = 64;
/// Bytes of all texts in the citations of one entry.
pub const CITATION_BYTES_MAX: usize = 24 << 10;
/// Bytes of any short text: a title, a reason, a run id, a test's name, a path.
pub const SHORT_TEXT_BYTES_MAX: usize = 4 << 10;
/// Bytes of an error text or of an approach that was tried.
pub const ERROR_TEXT_BYTES_MAX: usize = 32 << 10;
/// Files, and symbols, that an approach says it touches: so many of each.
pub const APPROACH_NAMES_MAX: usize = 64;
/// Bytes of one of these names.
pub const APPROACH_NAME_BYTES_MAX: usize = 512;
/// Bytes of an approach with its names up to which its wording is kept when it fails: that of a longer one is made anew where
/// it is compared.
pub const WORDED_BYTES_MAX: usize = 4 << 10;
/// Bytes of a wording that is kept, for each byte of its approach.
pub const WORDING_BYTES_FACTOR: usize = 8;
/// Bytes of an approach with all its names: with what frames them, they fit one value of the store.
pub const APPROACH_BYTES_MAX: usize = 88 << 10;
/// Tenths of all words of two approaches that are of both, at most, where these are two: more make one of them.
pub const APPROACH_ALIKE_TENTHS: usize = 3;
/// Approaches that failed, of a task and of the others of its project, that one is compared with.
pub const FIX_FAILURES_MAX: usize = 4_096;
/// Bytes of the rows of those that are looked at.
pub const FIX_FAILURES_BYTES_MAX: usize = 8 << 20;
/// Bytes of approaches whose wording is made anew for one check, since none is kept of them or another rule made it: to make one
/// takes far longer than to compare two.
pub const FIX_REWORDED_BYTES_MAX: usize = 512 << 10;
/// Terms of wordings that one check compares; those of what is proposed count with each.
pub const FIX_TERMS_MAX: usize = 8 << 20;
/// Histories of what was tried that one check tells.
pub const FIX_TRIED_MAX: usize = 16;
/// Reasons that it tells of each: the newest.
pub const FIX_REASONS_MAX: usize = 8;
/// Bytes that it tells of the text of an approach, of all its files, and of all its symbols.
pub const FIX_TOLD_BYTES_MAX: usize = 1 << 10;
/// Times that one error comes up in a task until it is blocked.
pub const ERROR_TIMES_MAX: u32 = 3;
/// Errors that a task remembers: of more, those are forgotten that came up the longest time ago.
pub const ERRORS_KEPT_MAX: usize = 64;
/// Errors that a task remembers in their order, without those that are the same as the one before: they tell whether two take
/// turns.
pub const ERROR_TURNS_KEPT: usize = 3;
/// Bytes that are kept of why an approach failed.
pub const FAILURE_REASON_BYTES_MAX: usize = 512;
/// Bytes of the approach of one trajectory with all its names.
pub const TRAJECTORY_APPROACH_BYTES_MAX: usize = 16 << 10;
/// Bytes of what is to be known of one.
pub const TRAJECTORY_LESSON_BYTES_MAX: usize = 2 << 10;
/// Bytes of the title of its task that are kept with it.
pub const TRAJECTORY_TITLE_BYTES_MAX: usize = 512;
/// Steps of one trajectory. Each is looked up when it is stored.
pub const TRAJECTORY_STEPS_MAX: usize = 256;
/// Bytes of the name of a kind of task.
pub const TASK_KIND_BYTES_MAX: usize = 64;
/// Trajectories of a project that one question looks at, the newest.
pub const TRAJECTORIES_MAX: usize = 4_096;
/// Bytes of their rows.
pub const TRAJECTORIES_BYTES_MAX: usize = 8 << 20;
/// Patterns that one search finds where nothing is said.
pub const PATTERNS_FOUND_USUAL: usize = 10;
/// Patterns that one search finds.
pub const PATTERNS_FOUND_MAX: usize = 50;
/// Trajectories that each of them cites, and failures that each warning does: the newest.
pub const BANK_CITED_MAX: usize = 8;
/// Trajectories that the warnings of a brief look at, the newest, and as many approaches that failed.
pub const WARNED_OF_MAX: usize = 1_024;
/// Tasks of these approaches whose titles they look at, those in which something failed last.
pub const WARNED_TITLES_MAX: usize = 64;
/// Bytes of the rows of either.
pub const WARNED_OF_BYTES_MAX: usize = 2 << 20;
/// Warnings of one brief.
pub const WARNINGS_MAX: usize = 16;
/// Words that a task and a failure have in common, at least, where one warns of the other.
pub const WARNED_WORDS_MIN: usize = 2;
/// Tenths of the words of the one that has fewer that they have in common, at least.
pub const WARNED_ALIKE_TENTHS: usize = 2;
/// Bytes that are kept of why an attempt at a promotion failed.
pub const ATTEMPT_ERROR_BYTES_MAX: usize = 1 << 10;
/// Entries that one promotion publishes.
pub const PRODUCTS_MAX: usize = 256;
/// Key decisions that a cognifier proposes for one episode.
pub const COGNITION_CHOICES_MAX: usize = 64;
/// Causal edges that it proposes for one.
pub const COGNITION_EDGES_MAX: usize = 64;
/// Bytes of both. Which of them an episode takes depends on its other texts.
pub const COGNITION_TEXT_BYTES_MAX: usize = 32 << 10;
/// Bytes of all texts of a promotion's episode beside its content. With that, the citations, a vector and what frames
/// them it makes an event, which has to fit one value of the store.
pub const EPISODE_DETAIL_BYTES_MAX: usize = 40 << 10;
/// Bytes of the texts and citations of all products of one promotion. Each is written twice, in its event and in the
/// view, and beside it stand a vector and the rows of what it is compared with: all in one transaction of the store.
pub const PRODUCTS_BYTES_MAX: usize = 1 << 20;
/// Records that one promotion reads.
pub const PROMOTION_RECORDS_MAX: usize = 100_000;
/// Bytes of the records that one promotion reads; the first ones count.
pub const PROMOTION_BYTES_MAX: usize = 32 << 20;
/// Tags, links and validations that one entry's head keeps.
pub const LINKS_MAX: usize = 256;
/// Records, entries and offers, or decisions, evidence and anchors, or verifications, that one command erases.
pub const ERASED_MAX: usize = 256;
/// Versions of one decision, of which the last one withdraws it. All of them are erased in one transaction of the store, which
/// takes 10,000,000 bytes: a version counts less than 3,600 of them where whoever saved it has the longest name, with the record
/// of its command, its event, its row and what is left of it.
pub const DECISION_VERSIONS_MAX: u64 = 2_048;
/// Events that lose their content by one command. An entry of more versions is not erased: all of them go at once.
pub const ERASED_EVENTS_MAX: usize = 4_096;
/// Bytes that are left of all of them.
pub const ERASED_REST_BYTES_MAX: usize = 2 << 20;
/// Bytes of what is left that one event of an erasure names, unless a single one is larger.
pub const ERASURE_BYTES_MAX: usize = 48 << 10;
/// Tasks that have to find an entry stale, one of them at the main branch, where none of them may write entries in its scope.
pub const STALE_TASKS_MIN: u64 = 2;
/// Entries that one command takes out of recall.
pub const RETIRED_MAX: usize = 1_024;
/// The best entries of each task that a plan keeps.
pub const KEEP_BEST_MAX: usize = 64;
/// Entries that declare the key of a new one with another value and that it is compared with.
pub const CLAIMANTS_MAX: usize = 16;
/// Dimensions of an embedding.
pub const EMBEDDING_DIMENSIONS_MAX: usize = 4_096;
/// Bytes of the weights of a model that runs in this process.
pub const MODEL_BYTES_MAX: u64 = 2 << 30;
/// Bytes of any other file of such a model.
pub const MODEL_TEXT_BYTES_MAX: u64 = 64 << 20;

/// Bytes of a decision's content.
pub const DECISION_BYTES_MAX: usize = 64 << 10;
/// Bytes of all texts of one version of a decision: with what frames them, they fit one value of the store.
pub const DECISION_TEXTS_BYTES_MAX: usize = 88 << 10;
/// Bytes of the name of a domain, or of a phase.
pub const DOMAIN_BYTES_MAX: usize = 64;
/// Bytes of a path, or of the name of a symbol, that a decision applies to.
pub const PLACE_BYTES_MAX: usize = SHORT_TEXT_BYTES_MAX;
/// Bytes of the name of a kind of relation that is declared.
pub const RELATION_NAME_BYTES_MAX: usize = 32;
/// Relations of one decision.
pub const RELATIONS_MAX: usize = 64;
/// Decisions that are told of which declare a key with another value, of each scope.
pub const CONTRADICTIONS_MAX: usize = 64;
/// Decisions that are read to find them, in each scope. One that is read and contradicts nothing was saved before claims said
/// their values.
pub const CONTRADICTIONS_READ_MAX: usize = 256;
/// Bytes of the text of one piece of evidence.
pub const EVIDENCE_BYTES_MAX: usize = RECORD_BYTES_MAX;
/// Bytes of the media type of evidence.
pub const MEDIA_TYPE_BYTES_MAX: usize = 128;
/// Bytes of the hint of an anchor.
pub const ANCHOR_HINT_BYTES_MAX: usize = 1 << 10;
/// Nodes that one anchor points to.
pub const ANCHOR_NODES_MAX: usize = 16;
/// Anchors that one command adds.
pub const ANCHORS_PER_COMMAND_MAX: usize = 64;
/// Bytes of what is looked for among anchors.
pub const ANCHOR_SEARCH_QUERY_BYTES_MAX: usize = 1 << 10;
/// Anchors that one search looks at.
pub const ANCHOR_SEARCH_ANCHORS_MAX: usize = 1_000;
/// Originals that it reads.
pub const ANCHOR_SEARCH_ORIGINALS_MAX: usize = 2_000;
/// Bytes of originals that it reads; a decision that is its last one may go over it.
pub const ANCHOR_SEARCH_BYTES_MAX: u64 = 16 << 20;
/// Bytes of one original that it reads, from its beginning.
pub const ANCHOR_SEARCH_ORIGINAL_BYTES_MAX: u64 = 1 << 20;
/// Bytes after which a passage of an original ends, where that can be done between words.
pub const ANCHOR_SEARCH_PASSAGE_BYTES: usize = 400;
/// Bytes of a passage that has no end between words before.
pub const ANCHOR_SEARCH_PASSAGE_BYTES_MAX: usize = 4 << 10;
/// What it finds, at most, where nothing is said.
pub const ANCHOR_SEARCH_HITS_USUAL: usize = 10;
/// What it finds, at most.
pub const ANCHOR_SEARCH_HITS_MAX: usize = 50;
/// Anchors that are counted behind the place where it ends.
pub const ANCHOR_SEARCH_COUNTED_MAX: u64 = 1_000;
/// Nodes that the analysis of an impact reaches.
pub const IMPACT_NODES_MAX: usize = 10_000;
/// Relations that are read for it, whether they carry a change or not: time does not end every analysis, and how many nodes
/// are told of says nothing of how many relations lead to them.
pub const IMPACT_RELATIONS_MAX: usize = 100_000;
/// Relations between where it begins and the farthest node that it reaches.
pub const IMPACT_DEPTH_MAX: u32 = 8;
/// Nodes that it reaches where it is part of what a save or a proposal means: the answer to a write is not to wait for more.
pub const MEANING_NODES_MAX: usize = 1_000;
/// Relations that are read for that.
pub const MEANING_RELATIONS_MAX: usize = 10_000;
/// How long it takes when it is asked for alone, in ms. Within a brief only counts end it.
pub const IMPACT_MS_MAX: u64 = 50;
/// Nodes that an impact begins with, or that are at hand when a brief is asked for.
pub const NODES_AT_HAND_MAX: usize = 256;
/// Items of one brief.
pub const BRIEF_ITEMS_MAX: usize = 1_000;
/// Bytes of one brief.
pub const BRIEF_BYTES_MAX: usize = 4 << 20;
/// Items that a brief has room for where nothing is said.
pub const BRIEF_ITEMS_USUAL: usize = 200;
/// Bytes that a brief has room for where nothing is said.
pub const BRIEF_BYTES_USUAL: usize = 256 << 10;
/// The part of the room that the policies of a brief leave, as one in so many, that it has for the references of its structural
/// layer.
pub const BRIEF_STRUCTURAL_PART: usize = 4;
/// Items that are counted behind the place where a brief is cut.
pub const BRIEF_COUNTED_MAX: usize = 1_000;
/// Nodes of a graph that is built to be asked.
pub const GRAPH_NODES_MAX: usize = 100_000;
/// Relations in it.
pub const GRAPH_EDGES_MAX: usize = 300_000;
/// Bytes of what it is made of.
pub const GRAPH_BYTES_MAX: usize = 128 << 20;
/// Scopes of the store that are looked through for those that lie inside another one.
pub const GRAPH_SCOPES_MAX: usize = 100_000;
/// Rows of an answer where nothing is said.
pub const GRAPH_ROWS_USUAL: usize = 1_000;
/// Rows of an answer.
pub const GRAPH_ROWS_MAX: usize = 10_000;
/// Bytes of the rows of an answer.
pub const GRAPH_ANSWER_BYTES_MAX: usize = 2 << 20;
/// Bytes of the values that a query is given.
pub const GRAPH_PARAMS_BYTES_MAX: usize = 64 << 10;
/// Steps of a query: what is looked at, worked out, compared or copied.
pub const GRAPH_STEPS_MAX: u64 = 200_000_000;
/// Bytes that a query holds at any moment, beside its graph and its answer.
pub const GRAPH_MEMORY_BYTES_MAX: usize = 64 << 20;
/// How long a graph and its answer may take where nothing is said, in ms.
pub const GRAPH_MS_USUAL: u64 = 1_000;
/// How long they may take at most, in ms.
pub const GRAPH_MS_MAX: u64 = 10_000;

/// Commands that become one transaction.
pub const BATCH_COMMANDS_MAX: usize = 64;
/// Bytes of commands that become one transaction.
pub const BATCH_BYTES_MAX: usize = 256 << 10;

/// Bytes of the name of a node.
pub const NODE_NAME_BYTES_MAX: usize = 128;
/// Commands that may wait for one scope.
pub const SCOPE_QUEUE_MAX: usize = 1_024;
/// Commands that may wait in one node.
pub const NODE_QUEUE_MAX: usize = 16_384;
/// Bytes of commands that may wait in one node.
pub const NODE_QUEUE_BYTES_MAX: usize = 256 << 20;
/// How often `needs` may ask for further facts about one command. What takes most is undoing, at [`UNCOVERED_MAX`] entries:
/// the verification, what was made, each entry below that, who has the text of the last one, its head and its version.
pub const FACT_ROUNDS_MAX: usize = UNCOVERED_MAX + 5;
/// Entries of one line below an entry that is taken back, among which one is looked for that holds again.
pub const UNCOVERED_MAX: usize = 8;

/// Results of one recall.
pub const RECALL_RESULTS_MAX: usize = 200;
/// Candidates that an index returns per list for one recall.
pub const RECALL_CANDIDATES_MAX: usize = 1_000;
/// Files, and symbols, that one recall is narrowed to.
pub const PLACES_MAX: usize = 32;
/// Places where the same lies that was cited, and of which the gate tells one citation.
pub const GATE_PLACES_MAX: usize = 64;
/// Commits of which one recall says, or is told, whether they lie before the one that it is asked at.
pub const COMMITS_JUDGED_MAX: usize = 1_024;
/// Commits that are looked at to find out whether some lie before another.
pub const COMMITS_WALKED_MAX: usize = 2_000_000;
/// Chains that are held against a checkpoint at once.
pub const CHAIN_ENDS_MAX: usize = 10_000;
/// Bytes of a recall's query.
pub const QUERY_BYTES_MAX: usize = 8 << 10;
/// Rows of one page of any listing.
pub const PAGE_ROWS_MAX: usize = 1_000;
/// Bytes of content after which a page of any listing ends; its last row may go over it.
pub const PAGE_BYTES_MAX: usize = 16 << 20;
/// Rows that one page of a filtered listing looks at.
pub const PAGE_SCAN_ROWS_MAX: usize = 10_000;
/// Reads of events, one after the other, after which one page of a tail ends: all of them lie in one transaction.
pub const PAGE_READS_MAX: usize = 1_000;

/// How far a client's record time or command id may lie ahead of the node's clock, in ms.
pub const CLOCK_AHEAD_MS_MAX: u64 = 5 * 60 * 1_000;
/// How far a node's clock may lie behind the last event of a scope before it refuses to write: events are dated by the one
/// before them till then. So the floor of command ids, which follows that date, still trails by 30 days.
pub const CLOCK_BEHIND_MS_MAX: u64 = COMMAND_RETRY_MS_MAX - 30 * 24 * 60 * 60 * 1_000;
/// The longest span over which a command may be retried: hooks spool offline for 30 days.
pub const COMMAND_RETRY_MS_MAX: u64 = 31 * 24 * 60 * 60 * 1_000;

/// Lifetime of a token, in ms: ten years for a person's, a week for one that an orchestrator mints.
pub const TOKEN_LIFETIME_MS_MAX: u64 = 3_653 * 24 * 60 * 60 * 1_000;
/// Lifetime of a token that an orchestrator mints for an agent, in ms.
pub const AGENT_TOKEN_LIFETIME_MS_MAX: u64 = 7 * 24 * 60 * 60 * 1_000;

/// At most one denial in this span is written to a scope's log, in ms; the rest are counted.
pub const DENIAL_SAMPLE_MS: u64 = 1_000;
