//! What a cognifier's calls use: told of promotions that are not finished, and counted for all.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use sillok_builtin::RuleCognifier;
use sillok_core::ports::{BoxFuture, Cognifier, PortError};
use sillok_core::promotion::{CognifyInput, Cognition, Spent, Used};

use super::harness::{AS_MEANT, TASK, scope, store};
use super::jobs::{listed, started, verified};
use crate::jobs::PromotionState;

const USED: Used = Used {
    prompt_tokens: Some(1_000),
    completion_tokens: Some(20),
    micro_dollars: Some(7),
};

/// A model whose first answers cannot be used, and whose later ones can. Each has its price.
struct Dear {
    wasted: u64,
    asked: AtomicU64,
}

impl Cognifier for Dear {
    fn name(&self) -> &str {
        "dear 1"
    }

    fn cognify<'a>(
        &'a self,
        input: &'a CognifyInput,
    ) -> BoxFuture<'a, Result<Cognition, PortError>> {
        Box::pin(async move {
            if self.asked.fetch_add(1, Ordering::Relaxed) < self.wasted {
                let why = "the answer is not JSON".to_owned();
                return Err(PortError::Wasted { why, used: USED });
            }
            Ok(Cognition {
                used: USED,
                left_out: 3,
                ..RuleCognifier::draw(input)
            })
        })
    }
}

fn dear(wasted: u64) -> Option<Arc<dyn Cognifier>> {
    let asked = AtomicU64::new(0);
    Some(Arc::new(Dear { wasted, asked }))
}

#[tokio::test]
async fn what_wasted_answers_used_is_told_of_their_promotion_over_a_restart() {
    let memory = store();
    let node = started(&memory, 0, dear(100), 3, AS_MEANT).await;
    let id = verified(&node).await;
    let state = node.promotion(&scope(TASK), id, 10_000_000).await.unwrap();
    let PromotionState::Halted { last_error, .. } = state else {
        panic!("it halts: {state:?}")
    };
    assert_eq!(
        last_error.unwrap().message,
        "unusable answer: the answer is not JSON"
    );
    let spent = Spent {
        cognifier: "dear 1".to_owned(),
        prompt_tokens: Some(3_000),
        completion_tokens: Some(60),
        micro_dollars: Some(21),
    };
    node.shutdown().await;
    let node = started(&memory, 1, dear(0), 3, AS_MEANT).await;
    assert_eq!(listed(&node).await.remove(0).attempts.spent, Some(spent));
}

#[tokio::test]
async fn what_every_answer_used_is_counted_whatever_came_of_it() {
    let memory = store();
    let node = started(&memory, 0, dear(2), 5, AS_MEANT).await;
    let id = verified(&node).await;
    let state = node.promotion(&scope(TASK), id, 10_000_000).await.unwrap();
    let PromotionState::Done(finished) = state else {
        panic!("{state:?}")
    };
    let spent = Spent {
        cognifier: "dear 1".to_owned(),
        prompt_tokens: Some(3_000),
        completion_tokens: Some(60),
        micro_dollars: Some(21),
    };
    assert_eq!(finished.spent, Some(spent), "two in vain and one that did");
    for product in &finished.report.products {
        let entry = product.entry.expect("nothing is left out of a first one");
        let view = node.reader().entry(entry).await.unwrap().unwrap();
        let said = Spent::read(&view.version.metadata).unwrap();
        assert_eq!(said.cognifier, "dear 1", "{}", product.table);
        let is_episode = entry == finished.report.episode;
        assert_eq!(said.prompt_tokens.is_some(), is_episode);
    }
    let counted = node.metrics();
    assert_eq!(counted.cognifier_prompt_tokens, 3_000);
    assert_eq!(counted.cognifier_completion_tokens, 60);
    assert_eq!(counted.cognifier_micro_dollars, 21);
    assert_eq!(counted.cognified_facts_left_out, 3);
}
