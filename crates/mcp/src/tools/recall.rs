//! `recall`

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::forms::{Table, no, none};
use super::remembered::{Found, Memory};
use crate::api::Api;
use crate::budget::{Budget, Cut, Give};
use crate::call::Call;
use crate::limits::BUDGET_TOKENS_USUAL;
use crate::refusal::Refusal;

/// Results that are asked for when nothing is said.
const RESULTS_USUAL: usize = 8;

/// What to search for.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    /// Where you stand: your task, worktree or project. It is searched, and all above it.
    scope: String,
    /// What you want to know, in words.
    query: String,
    /// At most so many; 8 when absent.
    #[serde(default)]
    #[schemars(range(min = 1, max = 200))]
    limit: Option<usize>,
    /// Only these tables.
    #[serde(default)]
    tables: Vec<Table>,
    /// Only what cites or names one of these files.
    #[serde(default)]
    #[schemars(length(max = 32))]
    files: Vec<String>,
    /// Only what cites or names one of these symbols.
    #[serde(default)]
    #[schemars(length(max = 32))]
    symbols: Vec<String>,
    /// Only what tells of a failure.
    #[serde(default)]
    failures_only: bool,
    /// Stored confidence at least this.
    #[serde(default)]
    #[schemars(range(min = 0.0, max = 1.0))]
    confidence_min: Option<f64>,
    /// What holds at this commit; without it, what holds now.
    #[serde(default)]
    commit: Option<String>,
    /// What the answer may cost; 4000 when absent.
    #[serde(default)]
    #[schemars(range(min = 100, max = 50_000))]
    budget_tokens: Option<u64>,
}

/// What was found, the best first.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Output {
    memories: Vec<Memory>,
    /// What there was no room for.
    #[serde(skip_serializing_if = "Cut::is_nothing")]
    cut: Cut,
    /// Memories that were left out: the code that they rest on is gone from your work tree.
    #[serde(skip_serializing_if = "none")]
    stale: u64,
    /// The question was compared by its words alone: no embedder answered.
    #[serde(skip_serializing_if = "no")]
    by_words_alone: bool,
    /// Something may be missing: a damaged index is being built again.
    #[serde(skip_serializing_if = "no")]
    incomplete: bool,
}

#[derive(Deserialize)]
struct Answer {
    results: Vec<Found>,
    #[serde(default)]
    stale: u64,
    by_meaning: bool,
    #[serde(default = "whole")]
    whole: bool,
}

const fn whole() -> bool {
    true
}

pub(crate) async fn run<A: Api>(call: &Call<'_, A>, input: Input) -> Result<Output, Refusal> {
    let mut budget = Budget::of(input.budget_tokens, BUDGET_TOKENS_USUAL)?;
    let mut body = json!({
        "scope": input.scope, "query": input.query, "limit": input.limit.unwrap_or(RESULTS_USUAL),
        "tables": input.tables, "files": input.files, "symbols": input.symbols, "failures_only": input.failures_only,
    });
    if let Some(confidence) = input.confidence_min {
        body["confidence_min"] = json!(confidence);
    }
    if let Some(commit) = input.commit {
        body["as_of"] = json!({ "commit": commit });
    }
    let answer: Answer = call.ask("/v1/recall", &body).await?;
    let found: Vec<Memory> = answer.results.into_iter().map(Memory::from).collect();
    let (memories, cut) = budget.fill(
        found,
        Give::WhatFits,
        |memory| &memory.data,
        |memory| memory.entry.clone(),
    );
    Ok(Output {
        memories,
        cut,
        stale: answer.stale,
        by_words_alone: !answer.by_meaning,
        incomplete: !answer.whole,
    })
}
