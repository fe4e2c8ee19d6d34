//! Asking the server, and what is told of its answer.

use serde_json::json;
use sillok_core::limits::{ANCHOR_NODES_MAX, QUERY_BYTES_MAX};

use crate::context::{self, Brief, Checked, Recalled};
use crate::limits::{
    BRIEF_ITEMS, CONTEXT_BYTES_MAX, RECALL_ENTRIES, RECALL_FAILURE_TOKENS, RECALL_FAILURES,
    RECALL_TOKENS,
};
use crate::place::Place;
use crate::plan::Question;
use crate::talk::{Error, Server};
use crate::wording::cut_to;

/// What follows from an answer.
pub(super) enum Answered {
    /// The agent is told something, or nothing.
    Told(Option<String>),
    /// An anchor is to be added, which leads there.
    Anchor { hint: String, to: Vec<String> },
}

/// Asks a question for whoever works at a place.
pub(super) fn ask(
    question: &Question,
    place: &Place,
    server: &mut Server,
) -> Result<Answered, Error> {
    match question {
        Question::Brief => {
            let brief = brief(place, server)?;
            Ok(Answered::Told(Some(context::of_start(&place.task, &brief))))
        }
        Question::Anchor(hint) => Ok(Answered::Anchor {
            hint: hint.clone(),
            to: context::decisions_of(&brief(place, server)?, ANCHOR_NODES_MAX),
        }),
        Question::Recall(query) => recall(query, place, server),
        Question::Fix { approach, files } => {
            let body = json!({
                "scope": place.task.as_str(), "approach": approach, "files": files,
            });
            let checked: Checked = server.ask("/v1/fixes/check", &body)?;
            Ok(Answered::Told(context::of_check(&checked)))
        }
    }
}

fn brief(place: &Place, server: &mut Server) -> Result<Brief, Error> {
    let body = json!({
        "scope": place.home.as_str(),
        "items_max": BRIEF_ITEMS,
        "bytes_max": CONTEXT_BYTES_MAX,
    });
    server.ask("/v1/brief", &body)
}

fn recall(query: &str, place: &Place, server: &mut Server) -> Result<Answered, Error> {
    let query = cut_to(query, QUERY_BYTES_MAX);
    let failed = json!({
        "scope": place.home.as_str(), "query": query, "failures_only": true,
        "limit": RECALL_FAILURES, "tokens_max": RECALL_FAILURE_TOKENS,
    });
    let failed: Recalled = server.ask("/v1/recall", &failed)?;
    let known = json!({
        "scope": place.home.as_str(), "query": query,
        "limit": RECALL_ENTRIES, "tokens_max": RECALL_TOKENS,
    });
    let known: Recalled = server.ask("/v1/recall", &known)?;
    Ok(Answered::Told(context::of_recall(&known, &failed)))
}
