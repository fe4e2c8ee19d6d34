//! `recall`

use sillok_server::api::{RecallRequest, RecallResult};

use super::citation;
use crate::args::Recall;
use crate::failure::Failure;
use crate::output::{Style, harmless, one_line};
use crate::session::Session;

/// Lines of one result's text.
const TEXT_LINES_MAX: usize = 8;
/// Characters of one line of it.
const LINE_CHARS_MAX: usize = 160;
/// Citations that are listed for one result.
const CITATIONS_SHOWN_MAX: usize = 4;

/// Carries out `recall`.
///
/// # Errors
/// [`Failure`]
pub async fn run(session: &Session, recall: Recall) -> Result<(), Failure> {
    let scope = session.scope(&recall.within)?;
    let request = RecallRequest {
        scope: scope.to_string(),
        query: recall.query.join(" "),
        limit: Some(recall.limit),
        kinds: recall.kinds,
        tables: recall.tables,
        files: recall.files,
        symbols: recall.symbols,
        failures_only: recall.failures_only,
        confidence_min: recall.confidence_min,
        tokens_max: recall.tokens_max,
    };
    let answer = session.client.recall(&request).await?;
    session.output.show(&answer, |style| {
        if answer.results.is_empty() && answer.left_out == 0 {
            return format!("nothing in {scope} or above it");
        }
        let results = answer.results.iter().zip(1..);
        let mut shown: Vec<String> = results
            .map(|(result, place)| describe(style, place, result))
            .collect();
        if answer.left_out > 0 {
            shown.push(style.dim(&format!(
                "{} tokens; {} more did not fit",
                answer.tokens, answer.left_out
            )));
        }
        shown.join("\n\n")
    })
}

/// One result, for a person.
#[must_use]
pub fn describe(style: Style, place: usize, result: &RecallResult) -> String {
    let score = &result.score;
    let mut lines = vec![
        format!(
            "{} {}  {} {} {}",
            style.bold(&format!("{place}.")),
            style.name(&result.entry.to_string()),
            result.table,
            result.status,
            style.dim(&format!("in {}", result.scope)),
        ),
        style.dim(&format!(
            "   score {:.3} = similarity {:.2} × confidence {:.2} × relevance {:.2} × recency {:.2}",
            score.total, score.similarity, score.confidence, score.relevance, score.recency
        )),
    ];
    let text = harmless(&result.content);
    let shown = text.lines().filter(|line| !line.trim().is_empty());
    lines.extend(
        shown
            .take(TEXT_LINES_MAX)
            .map(|line| format!("   {}", one_line(line, LINE_CHARS_MAX))),
    );
    let cited = result.citations.iter().take(CITATIONS_SHOWN_MAX);
    lines.extend(cited.map(|cited| style.dim(&format!("   rests on {}", citation::line(cited)))));
    let more = result.citations.len().saturating_sub(CITATIONS_SHOWN_MAX);
    if more > 0 {
        lines.push(style.dim(&format!("   and {more} more")));
    }
    lines.join("\n")
}
