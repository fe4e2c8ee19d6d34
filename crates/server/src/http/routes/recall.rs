//! The route of recall.

use axum::Json;
use axum::extract::State;
use sillok_actors::reads::{self, RecallQuery};
use sillok_core::permission::authorize_read;
use sillok_core::recall::Narrowing;
use sillok_core::scope::Scope;
use sillok_core::validity::AsOf;

use crate::api::{AtCommit, RecallAnswer, RecallRequest, RecallResult, Score};
use crate::http::App;
use crate::http::command::Reply;
use crate::http::extract::Ask;

/// Ask the published store, in a scope and all that lie above it.
#[utoipa::path(post, path = "/v1/recall", tag = "recall", operation_id = "recall", request_body = RecallRequest,
    responses((status = 200, description = "What was found, the best first.", body = RecallAnswer)),
    extensions(("x-sillok-access" = json!(["read"]))))]
pub(super) async fn recall(State(app): State<App>, ask: Ask<RecallRequest>) -> Reply<RecallAnswer> {
    let scope = Scope::parse(&ask.body.scope)?;
    authorize_read(&ask.session.principal, &scope)?;
    let as_of = ask
        .body
        .as_of
        .map(|asked| AsOf::checked(&asked.commit, asked.judged));
    let check = ask.body.check;
    let query = RecallQuery {
        scope: scope.clone(),
        text: ask.body.query,
        limit: ask.body.limit,
        narrowing: Narrowing {
            kinds: ask.body.kinds,
            tables: ask.body.tables,
            files: ask.body.files,
            symbols: ask.body.symbols,
        },
        failures_only: ask.body.failures_only,
        confidence_min: ask.body.confidence_min,
        tokens_max: ask.body.tokens_max,
        as_of: as_of.transpose()?,
    };
    let answer = app.node().recall(query).await?;
    let results = answer.results.into_iter().map(shown).collect();
    let answer = RecallAnswer {
        results,
        tokens: answer.budget.used,
        left_out: answer.budget.left_out,
        stale: 0,
        unchecked: false,
        by_meaning: answer.by_meaning,
        whole: answer.whole,
        at: answer.at.map(|at| AtCommit {
            commit: at.commit,
            not_yet: at.not_yet,
            ended: at.ended,
            unjudged: at.unjudged,
        }),
    };
    Ok(Json(app.held(ask.session, (scope, check), answer).await))
}

fn shown(found: reads::Recalled) -> RecallResult {
    let (head, score) = (found.head, found.score);
    RecallResult {
        entry: head.id,
        kind: head.table.kind(),
        table: head.table,
        status: head.status,
        content: found.version.content,
        data_marked_text: found.data,
        tokens: found.tokens,
        version: head.version,
        citations: head.citations.into_iter().map(Into::into).collect(),
        score: Score {
            total: score.total,
            similarity: score.similarity,
            confidence: score.confidence,
            relevance: score.relevance,
            recency: score.recency,
            vector_rank: found.found.vector_rank,
            text_rank: found.found.text_rank,
        },
        binding: head.binding.into(),
        gate: found.gate,
        checks: Vec::new(),
        validity: found.validity,
        valid_from_commit: head.lifecycle.valid_from_commit,
        valid_to_commit: head.lifecycle.valid_to_commit,
        scope: head.scope,
    }
}
