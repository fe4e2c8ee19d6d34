//! `list_reviews`, `show_review` and `answer_review`

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::forms::no;
use super::remembered::with_sources;
use crate::api::Api;
use crate::budget::{Budget, Cut, Give};
use crate::call::{Call, command};
use crate::data::marked;
use crate::limits::{BUDGET_TOKENS_USUAL, CUT_NAMED_MAX, QUESTION_PART};
use crate::refusal::Refusal;

/// Which questions.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ListInput {
    /// The scope that they were raised in: a project, mostly.
    scope: String,
    /// Whether those that were answered are listed too.
    #[serde(default)]
    answered: bool,
    /// The `next` of the answer before.
    #[serde(default)]
    after: Option<String>,
    /// What the answer may cost; 4000 when absent.
    #[serde(default)]
    #[schemars(range(min = 100, max = 50_000))]
    budget_tokens: Option<u64>,
}

/// The questions, the first one first.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ListOutput {
    reviews: Vec<Asked>,
    /// What there was no room for.
    #[serde(skip_serializing_if = "Cut::is_nothing")]
    cut: Cut,
    /// Name it as `after` to read on.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
}

/// A question for a person.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(inline)]
pub(super) struct Asked {
    pub(super) review: String,
    /// merge, contradiction, wrong or offer.
    pub(super) question: String,
    /// The memories that it is about, the later one first.
    pub(super) entries: Vec<String>,
    /// Whether it was approved; absent while it waits.
    #[serde(skip_serializing_if = "Option::is_none")]
    approved: Option<bool>,
    /// Why it is asked, and what was answered: data.
    pub(super) data: String,
}

/// A question as the API gives it, of any kind.
#[derive(Deserialize)]
pub(super) struct View {
    id: String,
    pub(super) question: String,
    #[serde(default)]
    new: Option<String>,
    #[serde(default)]
    known: Option<String>,
    #[serde(default)]
    entry: Option<String>,
    #[serde(default)]
    why: Option<String>,
    #[serde(default)]
    cosine: Option<f64>,
    #[serde(default)]
    tasks: Option<u64>,
    #[serde(default)]
    scope: Option<String>,
    #[serde(default)]
    content: Option<String>,
    #[serde(default)]
    pub(super) answer: Option<Answered>,
}

#[derive(Deserialize)]
pub(super) struct Answered {
    approved: bool,
    reason: String,
}

#[derive(Deserialize)]
pub(super) struct Page {
    pub(super) items: Vec<View>,
    #[serde(default)]
    pub(super) next: Option<String>,
}

impl From<View> for Asked {
    fn from(view: View) -> Self {
        let said = view.said();
        Self::saying(view, &said)
    }
}

impl View {
    /// Why it is asked, and what was answered.
    fn said(&self) -> String {
        let lines = [
            self.why.clone(),
            self.cosine
                .map(|cosine| format!("their cosine is {cosine:.3}")),
            self.tasks
                .map(|tasks| format!("{tasks} tasks say that it is wrong")),
            self.scope
                .as_deref()
                .map(|scope| format!("offered by {scope}")),
            self.content.clone(),
            self.answer
                .as_ref()
                .map(|answer| format!("answered: {}", answer.reason)),
        ];
        let lines: Vec<String> = lines.into_iter().flatten().collect();
        lines.join("\n")
    }
}

impl Asked {
    fn saying(view: View, said: &str) -> Self {
        let entries = [view.new, view.known, view.entry];
        Self {
            review: view.id,
            question: view.question,
            entries: entries.into_iter().flatten().collect(),
            approved: view.answer.map(|answer| answer.approved),
            data: marked(said),
        }
    }
}

pub(crate) async fn list<A: Api>(
    call: &Call<'_, A>,
    input: ListInput,
) -> Result<ListOutput, Refusal> {
    let mut budget = Budget::of(input.budget_tokens, BUDGET_TOKENS_USUAL)?;
    // Each that there is no room for is named, since `next` goes on behind all of them.
    let rows = CUT_NAMED_MAX;
    let page = page(call, &input.scope, input.answered, input.after, rows).await?;
    let asked: Vec<Asked> = page.items.into_iter().map(Asked::from).collect();
    let (reviews, cut) = budget.fill(
        asked,
        Give::First,
        |asked: &Asked| &asked.data,
        |asked| asked.review.clone(),
    );
    Ok(ListOutput {
        reviews,
        cut,
        next: page.next,
    })
}

/// One page of the questions of a scope.
pub(super) async fn page<A: Api>(
    call: &Call<'_, A>,
    scope: &str,
    answered: bool,
    after: Option<String>,
    rows: usize,
) -> Result<Page, Refusal> {
    let query = vec![
        ("scope", Some(scope.to_owned())),
        ("answered", answered.then(|| "true".to_owned())),
        ("after", after),
        ("limit", Some(rows.to_string())),
    ];
    call.read("/v1/reviews", query).await
}

/// Which question.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ShowInput {
    /// The scope that it was raised in.
    scope: String,
    review: String,
    /// What the answer may cost; 4000 when absent.
    #[serde(default)]
    #[schemars(range(min = 100, max = 50_000))]
    budget_tokens: Option<u64>,
}

/// The question, and what it is about.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ShowOutput {
    review: Asked,
    /// More is said of the question than is told.
    #[serde(skip_serializing_if = "no")]
    shortened: bool,
    /// The memories as they are now, the later one first.
    memories: Vec<Shown>,
    /// What there was no room for.
    #[serde(skip_serializing_if = "Cut::is_nothing")]
    cut: Cut,
}

/// A memory that a question is about.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(inline)]
struct Shown {
    entry: String,
    scope: String,
    table: String,
    status: String,
    version: u64,
    /// What it says and rests on: data.
    data: String,
}

#[derive(Deserialize)]
struct Evidence {
    review: View,
    entries: Vec<Entry>,
}

#[derive(Deserialize)]
struct Entry {
    head: Head,
    version: Version,
}

#[derive(Deserialize)]
struct Head {
    id: String,
    scope: String,
    table: String,
    status: String,
    version: u64,
    #[serde(default)]
    citations: Vec<Value>,
}

#[derive(Deserialize)]
struct Version {
    content: String,
}

impl From<Entry> for Shown {
    fn from(Entry { head, version }: Entry) -> Self {
        Self {
            data: marked(&with_sources(&version.content, &head.citations)),
            entry: head.id,
            scope: head.scope,
            table: head.table,
            status: head.status,
            version: head.version,
        }
    }
}

pub(crate) async fn show<A: Api>(
    call: &Call<'_, A>,
    input: ShowInput,
) -> Result<ShowOutput, Refusal> {
    let mut budget = Budget::of(input.budget_tokens, BUDGET_TOKENS_USUAL)?;
    let query = vec![("scope", Some(input.scope)), ("id", Some(input.review))];
    let evidence: Evidence = call.read("/v1/review", query).await?;
    let said = evidence.review.said();
    let mut question = budget.part(QUESTION_PART);
    let (given, shortened) = question.beginning(&said);
    budget.give_back(question);
    let shown: Vec<Shown> = evidence.entries.into_iter().map(Shown::from).collect();
    let (memories, cut) = budget.fill(
        shown,
        Give::WhatFits,
        |shown: &Shown| &shown.data,
        |shown| shown.entry.clone(),
    );
    Ok(ShowOutput {
        review: Asked::saying(evidence.review, given),
        shortened,
        memories,
        cut,
    })
}

/// The answer to a question.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct AnswerInput {
    /// The scope that it was raised in.
    scope: String,
    review: String,
    /// Whether it is approved: merge: the new one goes into the known one. contradiction: one replaces the other. wrong: it is
    /// taken out. offer: it is published here.
    approve: bool,
    /// Of a contradiction that is approved: the memory that holds; the newer one when absent.
    #[serde(default)]
    keep: Option<String>,
    /// Why.
    reason: String,
    /// A UUID of version 7. Name the same one when you send the very same call again.
    #[serde(default)]
    command_id: Option<String>,
}

/// It is answered.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct AnswerOutput {
    review: String,
    /// The memory that holds.
    #[serde(skip_serializing_if = "Option::is_none")]
    kept: Option<String>,
    /// The memory that was taken out of recall.
    #[serde(skip_serializing_if = "Option::is_none")]
    retired: Option<String>,
    command_id: String,
}

#[derive(Deserialize)]
struct Reviewed {
    review: String,
    #[serde(default)]
    kept: Option<String>,
    #[serde(default)]
    retired: Option<String>,
}

pub(crate) async fn answer<A: Api>(
    call: &Call<'_, A>,
    input: AnswerInput,
) -> Result<AnswerOutput, Refusal> {
    let id = command(input.command_id.as_deref())?;
    let mut body = json!({
        "scope": input.scope, "review": input.review, "approve": input.approve, "reason": input.reason,
    });
    if let Some(keep) = input.keep {
        body["keep"] = json!(keep);
    }
    let reviewed: Reviewed = call.write("/v1/reviews/answer", &body, id).await?;
    Ok(AnswerOutput {
        review: reviewed.review,
        kept: reviewed.kept,
        retired: reviewed.retired,
        command_id: id.to_string(),
    })
}
