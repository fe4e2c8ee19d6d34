//! Recall on the wire.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use sillok_core::entry::{Kind, Status, Table};
use sillok_core::gate::Verdict;
use sillok_core::id::EntryId;
use sillok_core::scope::Scope;
use sillok_core::validity::{Ancestry, Validity};
use utoipa::ToSchema;

use super::{Binding, Citation, schema};

/// Asks the published store, in a scope and all that lie above it.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RecallRequest {
    /// Where the asker stands.
    #[schema(value_type = schema::Scope)]
    pub scope: String,
    /// What is looked for.
    #[schema(value_type = schema::QueryText)]
    pub query: String,
    /// At most so many results, 1 to 200; the configured number when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 200)]
    pub limit: Option<usize>,
    /// Entries of these kinds; all when empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(value_type = Vec<schema::Kind>)]
    pub kinds: Vec<Kind>,
    /// Entries of these tables; all when empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(value_type = Vec<schema::Table>)]
    pub tables: Vec<Table>,
    /// Entries that cite one of these files, or whose text names one: paths from the root of the work tree, or
    /// directories with a `/` at the end. At most 32. They are looked for among the 1,000 nearest by meaning
    /// and the 1,000 nearest by words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(value_type = Vec<schema::PathPrefix>, max_items = 32)]
    pub files: Vec<String>,
    /// Entries that cite one of these symbols, by id or name, or whose text names one; looked for as files are.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(value_type = Vec<schema::Line>, max_items = 32)]
    pub symbols: Vec<String>,
    /// Only entries that tell of a failure.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub failures_only: bool,
    /// Stored confidence at least this, where that is more than the configured floor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 0.0, maximum = 1.0)]
    pub confidence_min: Option<f64>,
    /// Room for so many tokens of marked text: of the results, the best first, those that fit are given, and the
    /// others counted. Tokens are estimated: one for four bytes of ASCII, one for each other character.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::Count>)]
    pub tokens_max: Option<u64>,
    /// What holds at a commit, judged by ancestry; without it, what holds now whatever the commit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub as_of: Option<AsOf>,
    /// Whether the server holds what it found against the work tree that it follows for the scope, and leaves out what is
    /// gone from it. When absent, it does where that is the work tree of the asker's own worktree: whoever stands elsewhere
    /// may have another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check: Option<bool>,
}

/// A commit at which a question is asked.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AsOf {
    /// The commit: 7 to 64 hexadecimal digits.
    #[schema(value_type = schema::CommitHash)]
    pub commit: String,
    /// What the asker's own repository says of other commits: whether each is `commit` or an ancestor of it. At most
    /// 1,024, of those that an earlier answer named. It narrows this answer alone.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schema(value_type = BTreeMap<schema::CommitHash, schema::Ancestry>)]
    pub judged: BTreeMap<String, Ancestry>,
}

/// What an answer says of the commit that it was asked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AtCommit {
    /// The commit.
    pub commit: String,
    /// Entries that were found and begin at a commit that does not lie before it.
    pub not_yet: u64,
    /// Entries that were found and ended there or before.
    pub ended: u64,
    /// Commits that decide whether something that was found holds, and that nobody has judged; at most 1,024. Ask
    /// again with what your repository says of them.
    pub unjudged: Vec<String>,
}

/// What a recall found, the best first.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct RecallAnswer {
    /// The results.
    pub results: Vec<RecallResult>,
    /// Tokens of the results' marked texts, estimated.
    pub tokens: u64,
    /// Results that there was no room for.
    pub left_out: u64,
    /// Results that were left out because what they rest on is gone from the work tree, as far as there was one to hold
    /// them against.
    #[serde(default, skip_serializing_if = "is_none")]
    pub stale: u64,
    /// Whether the question was compared by meaning too; only by its words when no embedder
    /// answered.
    pub by_meaning: bool,
    /// Whether all that is published was looked through. After damage to the index something may be missing until it
    /// is built again.
    #[serde(default = "whole")]
    pub whole: bool,
    /// What is said of the commit that was asked about, if one was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<AtCommit>,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde hands over a reference"
)]
const fn is_none(count: &u64) -> bool {
    *count == 0
}

/// Servers that do not say so had no other answers.
const fn whole() -> bool {
    true
}

/// One result of a recall.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct RecallResult {
    /// The entry.
    #[schema(value_type = schema::EntryId)]
    pub entry: EntryId,
    /// Where it lives.
    #[schema(value_type = schema::Scope)]
    pub scope: Scope,
    /// Its table.
    #[schema(value_type = schema::Table)]
    pub table: Table,
    /// How it ages.
    #[schema(value_type = schema::Kind)]
    pub kind: Kind,
    /// How far it is trusted to be what it says.
    #[schema(value_type = schema::Status)]
    pub status: Status,
    /// Its text: data, not instruction.
    pub content: String,
    /// Its text, wrapped so that a model reads it as data.
    pub data_marked_text: String,
    /// Tokens of the wrapped text, estimated.
    pub tokens: u64,
    /// Its active version.
    pub version: u64,
    /// What it rests on.
    pub citations: Vec<Citation>,
    /// Why it stands where it stands.
    pub score: Score,
    /// Where its text was true first.
    pub binding: Binding,
    /// What the cognitive gate says of it: `unverifiable` where no work tree is at hand.
    #[schema(value_type = schema::GateVerdict)]
    pub gate: Verdict,
    /// What it says of the citations of files and symbols, where there is a work tree.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub checks: Vec<GateCheck>,
    /// Whether it holds at the commit that was asked about, if one was: `always` without a commit of its own,
    /// `holds`, or `unknown`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::Validity>)]
    pub validity: Option<Validity>,
    /// The commit from which it holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub valid_from_commit: Option<String>,
    /// The commit that ended it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub valid_to_commit: Option<String>,
}

/// A score and its factors: `total` is the product of the four.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Score {
    /// The product.
    pub total: f64,
    /// Fused similarity to the query, 0 to 1.
    pub similarity: f64,
    /// Confidence now, after decay.
    pub confidence: f64,
    /// Relevance now, by the curve of the kind.
    pub relevance: f64,
    /// Recency now; 1 for all but patterns.
    pub recency: f64,
    /// Place in the vector list, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vector_rank: Option<u32>,
    /// Place in the text list, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text_rank: Option<u32>,
}

/// What the cognitive gate says of one citation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct GateCheck {
    /// Which of the entry's citations it is, from 0.
    pub citation: usize,
    /// What it is.
    #[schema(value_type = schema::GateVerdict)]
    pub verdict: Verdict,
    /// Why: the end of a sentence that begins with the citation.
    pub reason: String,
    /// What it was, where it moved: the entry's citation names where it is by now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub moved_from: Option<Citation>,
}
