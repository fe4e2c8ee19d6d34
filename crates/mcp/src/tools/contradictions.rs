//! `contradictions`

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::forms::no;
use super::reviews::{Asked, page};
use crate::api::Api;
use crate::budget::{Budget, Cut, Give};
use crate::call::Call;
use crate::limits::{BUDGET_TOKENS_USUAL, PAGE_ROWS, QUESTION_PAGES_MAX};
use crate::refusal::Refusal;

/// Where.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    /// The scope that the memories live in.
    scope: String,
    /// What the answer may cost; 4000 when absent.
    #[serde(default)]
    #[schemars(range(min = 100, max = 50_000))]
    budget_tokens: Option<u64>,
}

/// Pairs that contradict, and that nobody has decided yet.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Output {
    /// Each waits for a person; answer_review decides it.
    contradictions: Vec<Asked>,
    /// What there was no room for.
    #[serde(skip_serializing_if = "Cut::is_nothing")]
    cut: Cut,
    /// There are more questions than were looked through.
    #[serde(skip_serializing_if = "no")]
    more: bool,
}

pub(crate) async fn run<A: Api>(call: &Call<'_, A>, input: Input) -> Result<Output, Refusal> {
    let mut budget = Budget::of(input.budget_tokens, BUDGET_TOKENS_USUAL)?;
    let mut found: Vec<Asked> = Vec::new();
    let mut after = None;
    for _ in 0..QUESTION_PAGES_MAX {
        let page = page(call, &input.scope, false, after, PAGE_ROWS).await?;
        let contradicting = |question: &str| question == "contradiction";
        let of_page = page.items.into_iter();
        found.extend(
            of_page
                .filter(|one| contradicting(&one.question))
                .map(Asked::from),
        );
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    let (contradictions, cut) = budget.fill(
        found,
        Give::First,
        |asked| &asked.data,
        |asked| asked.review.clone(),
    );
    Ok(Output {
        contradictions,
        cut,
        more: after.is_some(),
    })
}
