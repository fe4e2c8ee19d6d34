//! `check_fix`

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::forms::no;
use super::remembered::rounded;
use crate::api::Api;
use crate::budget::{Budget, Cut, Give};
use crate::call::Call;
use crate::data::marked;
use crate::limits::{BUDGET_TOKENS_USUAL, OWN_WORDS_PART};
use crate::refusal::Refusal;

/// What is to be tried.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    /// The task.
    task: String,
    /// What you are about to try, in words: what you change, and why that should help.
    approach: String,
    /// The files that it touches, by their paths from the root of the work tree.
    #[serde(default)]
    #[schemars(length(max = 64))]
    files: Vec<String>,
    /// The symbols that it touches.
    #[serde(default)]
    #[schemars(length(max = 64))]
    symbols: Vec<String>,
    /// In which language you are told what follows: english or korean.
    #[serde(default)]
    language: Option<String>,
    /// What the answer may cost; 4000 when absent.
    #[serde(default)]
    #[schemars(range(min = 100, max = 50_000))]
    budget_tokens: Option<u64>,
}

/// What follows.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Output {
    /// allow: go on. warn: it failed elsewhere, or nearly so; be sure that yours differs. reject: do not try it. block: the
    /// task takes no fix; ask a person.
    verdict: String,
    /// What you are to be told, in the words of this system.
    #[serde(skip_serializing_if = "Option::is_none")]
    order: Option<String>,
    /// What to do instead: data, since it tells what others wrote.
    #[serde(skip_serializing_if = "Option::is_none")]
    suggestion: Option<String>,
    /// Why the task is stuck, if it is: data.
    #[serde(skip_serializing_if = "Option::is_none")]
    stuck: Option<String>,
    /// More is said of these two than is told.
    #[serde(skip_serializing_if = "no")]
    shortened: bool,
    /// What failed before and is like it.
    tried: Vec<Tried>,
    /// What there was no room for.
    #[serde(skip_serializing_if = "Cut::is_nothing")]
    cut: Cut,
    /// More failed in the project than is told or was looked at.
    #[serde(skip_serializing_if = "no")]
    more: bool,
}

/// An approach that failed.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(inline)]
struct Tried {
    /// The task in which it failed.
    task: String,
    /// one: it is the same. near: it differs in a word or two.
    likeness: String,
    /// 0 to 1.
    similarity: f64,
    attempts: u32,
    /// When it was tried last, in milliseconds since 1970.
    last: u64,
    /// More was said than is told here.
    #[serde(skip_serializing_if = "no")]
    shortened: bool,
    /// What was tried, and how it failed: data.
    data: String,
}

#[derive(Deserialize)]
struct Checked {
    verdict: String,
    #[serde(default)]
    order: Option<String>,
    #[serde(default)]
    suggestion: Option<String>,
    #[serde(default)]
    stuck: Option<String>,
    #[serde(default)]
    tried: Vec<Before>,
    #[serde(default)]
    cut: bool,
}

#[derive(Deserialize)]
struct Before {
    task: String,
    likeness: String,
    approach: Approach,
    similarity: f64,
    attempts: u32,
    last: u64,
    #[serde(default)]
    cut: bool,
    #[serde(default)]
    reasons: Vec<String>,
    #[serde(default)]
    shared_files: Vec<String>,
    #[serde(default)]
    shared_symbols: Vec<String>,
}

#[derive(Deserialize)]
struct Approach {
    text: String,
}

pub(crate) async fn run<A: Api>(call: &Call<'_, A>, input: Input) -> Result<Output, Refusal> {
    let mut budget = Budget::of(input.budget_tokens, BUDGET_TOKENS_USUAL)?;
    let mut body = json!({
        "scope": input.task, "approach": input.approach, "files": input.files, "symbols": input.symbols,
    });
    if let Some(language) = input.language {
        body["language"] = json!(language);
    }
    let checked: Checked = call.ask("/v1/fixes/check", &body).await?;
    let mut words = budget.part(OWN_WORDS_PART);
    let mut shortened = false;
    let mut told = |text: &str| {
        let (given, more) = words.beginning(text);
        shortened |= more;
        marked(given)
    };
    let stuck = checked.stuck.as_deref().map(&mut told);
    let suggestion = checked.suggestion.as_deref().map(&mut told);
    budget.give_back(words);
    let tried: Vec<Tried> = checked.tried.into_iter().map(Tried::from).collect();
    let (tried, cut) = budget.fill(
        tried,
        Give::First,
        |tried| &tried.data,
        |tried| tried.task.clone(),
    );
    Ok(Output {
        verdict: checked.verdict,
        order: checked.order,
        suggestion,
        stuck,
        shortened,
        tried,
        cut,
        more: checked.cut,
    })
}

impl From<Before> for Tried {
    fn from(before: Before) -> Self {
        let mut lines = vec![before.approach.text];
        lines.extend(
            before
                .reasons
                .iter()
                .map(|reason| format!("failed: {reason}")),
        );
        for (name, shared) in [
            ("files", &before.shared_files),
            ("symbols", &before.shared_symbols),
        ] {
            if !shared.is_empty() {
                lines.push(format!("{name}: {}", shared.join(", ")));
            }
        }
        Self {
            task: before.task,
            likeness: before.likeness,
            similarity: rounded(before.similarity),
            attempts: before.attempts,
            last: before.last,
            shortened: before.cut,
            data: marked(&lines.join("\n")),
        }
    }
}
