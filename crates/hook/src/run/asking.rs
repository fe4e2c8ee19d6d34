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
    Told {
        text: Option<String>,
        /// Why it is not told all.
        failed: Option<Error>,
    },
    /// An anchor is to be added, which leads there.
    Anchor { hint: String, to: Vec<String> },
}

impl Answered {
    const fn told(text: Option<String>) -> Self {
        Self::Told { text, failed: None }
    }
}

/// Asks a question for whoever works at a place, whose task was opened or was not yet.
pub(super) fn ask(
    question: &Question,
    place: &Place,
    is_opened: bool,
    server: &mut Server,
) -> Result<Answered, Error> {
    match question {
        Question::Brief => {
            let brief = brief(place, server)?;
            Ok(Answered::told(Some(context::of_start(&place.task, &brief))))
        }
        Question::Anchor(hint) => Ok(Answered::Anchor {
            hint: hint.clone(),
            to: context::decisions_of(&brief(place, server)?, ANCHOR_NODES_MAX),
        }),
        Question::Recall(query) => recall(query, place, is_opened, server),
        Question::Fix { approach, files } => {
            let body = json!({
                "scope": place.task.as_str(), "approach": approach, "files": files,
            });
            let checked: Checked = server.ask("/v1/fixes/check", &body)?;
            Ok(Answered::told(context::of_check(&checked)))
        }
    }
}

/// What holds for the conversation's task: what holds where it works, and what it has of its own.
fn brief(place: &Place, server: &mut Server) -> Result<Brief, Error> {
    let body = json!({
        "scope": place.task.as_str(),
        "items_max": BRIEF_ITEMS,
        "bytes_max": CONTEXT_BYTES_MAX,
    });
    server.ask("/v1/brief", &body)
}

/// What failed in tasks like this one, by what it was opened with. It stands behind all items of a brief, so that one as large
/// as usual is asked for.
fn warned(place: &Place, server: &mut Server) -> Result<Brief, Error> {
    server.ask("/v1/brief", &json!({ "scope": place.task.as_str() }))
}

fn recall(
    query: &str,
    place: &Place,
    is_opened: bool,
    server: &mut Server,
) -> Result<Answered, Error> {
    let query = cut_to(query, QUERY_BYTES_MAX);
    let failed = json!({
        "scope": place.task.as_str(), "query": query, "failures_only": true,
        "limit": RECALL_FAILURES, "tokens_max": RECALL_FAILURE_TOKENS,
    });
    let failed: Recalled = server.ask("/v1/recall", &failed)?;
    let known = json!({
        "scope": place.task.as_str(), "query": query,
        "limit": RECALL_ENTRIES, "tokens_max": RECALL_TOKENS,
    });
    let known: Recalled = server.ask("/v1/recall", &known)?;
    let asked = is_opened.then(|| warned(place, server));
    // What is known is told also where nobody says what failed.
    let (warned, refused) = match asked {
        Some(Ok(warned)) => (warned.warnings, None),
        Some(Err(error)) => (Vec::new(), Some(error)),
        None => (Vec::new(), None),
    };
    Ok(Answered::Told {
        text: context::of_recall(&known, &failed, &warned),
        failed: refused,
    })
}
