//! `review`, `report` and `undo`

use sillok_server::api::{
    AnswerReview, PromotionUndone, Question, ReportReuse, ReviewEvidence, ReviewQuery, ReviewView,
    Reviewed, ReviewsQuery, UndoPromotion,
};

use super::entry;
use crate::args::{Report, ReviewCommand, ReviewList, Undo};
use crate::failure::Failure;
use crate::output::{Style, harmless, one_line, table, time};
use crate::session::Session;

/// Carries out `review`.
///
/// # Errors
/// [`Failure`]
pub async fn run(session: &Session, command: ReviewCommand) -> Result<(), Failure> {
    match command {
        ReviewCommand::List(args) => list(session, args).await,
        ReviewCommand::Show { review, within } => {
            let query = ReviewQuery {
                scope: session.scope(&within)?.to_string(),
                id: review.to_string(),
            };
            let found = session.client.review(&query).await?;
            let mut quoted = Vec::new();
            for view in &found.entries {
                quoted.push(entry::quotes(session, view).await);
            }
            session
                .output
                .show(&found, |style| describe(style, &found, &quoted))
        }
        ReviewCommand::Approve(args) => {
            let body = AnswerReview {
                scope: session.scope(&args.within)?.to_string(),
                review: args.review.to_string(),
                approve: true,
                keep: args.keep.map(|id| id.to_string()),
                reason: args.reason,
            };
            answer(session, &body).await
        }
        ReviewCommand::Reject {
            review,
            within,
            reason,
        } => {
            let body = AnswerReview {
                scope: session.scope(&within)?.to_string(),
                review: review.to_string(),
                approve: false,
                keep: None,
                reason,
            };
            answer(session, &body).await
        }
    }
}

async fn list(session: &Session, args: ReviewList) -> Result<(), Failure> {
    let mut query = ReviewsQuery {
        scope: session.scope(&args.within)?.to_string(),
        answered: args.answered,
        after: None,
        limit: None,
    };
    let mut found: Vec<ReviewView> = Vec::new();
    while found.len() < args.paging.limit {
        query.limit =
            Some((args.paging.limit - found.len()).min(sillok_core::limits::PAGE_ROWS_MAX));
        let page = session.client.reviews(&query).await?;
        found.extend(page.items);
        query.after = page.next;
        if query.after.is_none() {
            break;
        }
    }
    session.output.show(&found, |style| {
        let rows: Vec<Vec<String>> = found.iter().map(row).collect();
        table(style, &["REVIEW", "RAISED", "QUESTION", "ANSWER"], &rows)
    })
}

fn row(review: &ReviewView) -> Vec<String> {
    let answer = review.answer.as_ref().map_or_else(
        || "waits".to_owned(),
        |answer| {
            let said = if answer.approved {
                "approved"
            } else {
                "rejected"
            };
            format!("{said} by {}:{}", answer.by.kind, answer.by.id)
        },
    );
    vec![
        review.id.to_string(),
        time(review.raised_at),
        one_line(&asked(&review.question), 160),
        answer,
    ]
}

/// The question, for a person.
fn asked(question: &Question) -> String {
    match question {
        Question::Merge { new, known, cosine } => {
            format!("does {new} say the same as {known}? (cosine {cosine:.2})")
        }
        Question::Contradiction { new, known, why } => {
            format!("which holds, {new} or {known}? the newer one {why}")
        }
        Question::Wrong { entry, tasks } => format!("is {entry} wrong, as {tasks} tasks say?"),
        Question::Offer {
            scope,
            entry,
            content,
            ..
        } => format!("take over {entry} of {scope}? {content}"),
    }
}

fn describe(style: Style, found: &ReviewEvidence, quoted: &[Vec<Option<String>>]) -> String {
    let review = &found.review;
    let mut lines = vec![
        style.name(&review.id.to_string()),
        harmless(&asked(&review.question)),
    ];
    if let Some(answer) = &review.answer {
        let said = if answer.approved {
            "approved"
        } else {
            "rejected"
        };
        let by = &answer.by;
        lines.push(format!(
            "{said} by {}:{} at {}: {}",
            by.kind,
            by.id,
            time(answer.at),
            one_line(&answer.reason, 300)
        ));
    }
    for (view, quoted) in found.entries.iter().zip(quoted) {
        lines.push(String::new());
        lines.push(entry::describe(style, view, quoted));
    }
    lines.join("\n")
}

async fn answer(session: &Session, body: &AnswerReview) -> Result<(), Failure> {
    let done = session.client.answer_review(body).await?;
    session
        .output
        .show(&done, |style| describe_answer(style, body.approve, &done))
}

fn describe_answer(style: Style, approved: bool, done: &Reviewed) -> String {
    let said = if approved { "approved" } else { "rejected" };
    let mut lines = vec![format!("{said} {}", style.name(&done.review.to_string()))];
    lines.extend(done.kept.map(|id| format!("{id} holds")));
    lines.extend(done.retired.map(|id| format!("{id} is out of recall")));
    lines.join("\n")
}

/// Carries out `report`.
///
/// # Errors
/// [`Failure`]
pub async fn report(session: &Session, report: Report) -> Result<(), Failure> {
    let body = ReportReuse {
        task: report.scope.to_string(),
        entry: report.entry.to_string(),
        outcome: report.outcome,
    };
    let done = session.client.report_reuse(&body).await?;
    session.output.show(&done, |style| {
        let usage = done.usage;
        let mut lines = vec![format!(
            "{} is {}: it helped {} tasks, was wrong for {} and stale for {}",
            style.name(&done.entry.to_string()),
            done.status,
            usage.helped,
            usage.wrong,
            usage.stale
        )];
        lines.extend(
            done.review
                .map(|id| format!("a person is asked: review {id}")),
        );
        lines.join("\n")
    })
}

/// Carries out `undo`.
///
/// # Errors
/// [`Failure`]
pub async fn undo(session: &Session, undo: Undo) -> Result<(), Failure> {
    let body = UndoPromotion {
        scope: undo.scope.to_string(),
        verification: undo.verification.to_string(),
        reason: undo.reason,
    };
    let done = session.client.undo_promotion(&body).await?;
    session
        .output
        .show(&done, |style| describe_undone(style, &done))
}

fn describe_undone(style: Style, done: &PromotionUndone) -> String {
    let lists = [
        ("out of recall", &done.retired),
        ("holds again", &done.restored),
        ("lost its support", &done.revised),
        ("was changed before, and left", &done.left),
    ];
    let mut lines = vec![format!(
        "taken back in {}",
        style.name(done.target.as_str())
    )];
    for (what, ids) in lists {
        lines.extend(ids.iter().map(|id| format!("{id}: {what}")));
    }
    lines.join("\n")
}
