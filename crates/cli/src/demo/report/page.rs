//! The report as a page that a person enjoys reading.
//!
//! Owns the words and the order. All figures come from the report.

use sillok_core::entry::Table;
use sillok_core::verification::{Outcome, VerificationSource};

use super::{AgentReport, Finding, Quote, Refusal, Report};
use crate::commands::recall;
use crate::output::{Style, one_line, table};

mod decisions;

/// Findings that are shown; the rest are counted.
const FINDINGS_SHOWN_MAX: usize = 14;
/// Results of the recall that are shown.
const RESULTS_SHOWN_MAX: usize = 2;
/// Characters of a text on one line.
const TEXT_CHARS_MAX: usize = 110;

/// The whole page.
#[must_use]
pub fn render(report: &Report, style: Style) -> String {
    let sections = [
        headline(report, style),
        who(report, style),
        published(report, style),
        recalled(report, style),
        refused(report, style),
        replaced(report, style),
        decided(report, style),
        decisions::held(report, style),
        forgotten(report, style),
        lasting(report, style),
        next(report, style),
    ];
    sections
        .into_iter()
        .flatten()
        .collect::<Vec<_>>()
        .join("\n\n")
}

fn section(style: Style, title: &str, lines: Vec<String>) -> Option<String> {
    if lines.is_empty() {
        return None;
    }
    let indented: Vec<String> = lines
        .iter()
        .flat_map(|line| line.lines())
        .map(|line| format!("  {line}"))
        .collect();
    Some(format!("{}\n{}", style.bold(title), indented.join("\n")))
}

fn headline(report: &Report, style: Style) -> Option<String> {
    let work = match &report.repository {
        Some(path) => format!("in work trees of their own of {}", path.display()),
        None => "from recorded runs".to_owned(),
    };
    let mut text = format!(
        "{}\n{} worked at once, {work}.\nThey logged every step; only what was verified was published, once, with its sources.",
        style.bold("Sillok: what the agents learnt"),
        counted(report.agents as u64, "agent"),
    );
    if let Some(note) = &report.note {
        text += &format!("\n{}", style.bold(note));
    }
    Some(text)
}

fn who(report: &Report, style: Style) -> Option<String> {
    let rows: Vec<Vec<String>> = report.agent_details.iter().map(row).collect();
    let text = table(
        style,
        &[
            "AGENT",
            "RECORDS",
            "PUBLISHED",
            "MERGED",
            "VERDICTS",
            "TASK",
        ],
        &rows,
    );
    section(style, "Who did what", vec![text])
}

fn row(agent: &AgentReport) -> Vec<String> {
    let sum = |count: fn(&sillok_server::api::PublishReport) -> usize| -> String {
        let reports = agent
            .attempts
            .iter()
            .filter_map(|attempt| attempt.promotion.report.as_ref());
        reports.map(count).sum::<usize>().to_string()
    };
    let verdicts: Vec<&str> = agent
        .attempts
        .iter()
        .map(|attempt| verdict(attempt.outcome, attempt.source))
        .collect();
    let title = one_line(&agent.title, 60);
    let task = match (&agent.run, agent.recalled) {
        (Some(run), _) if *run != title => format!("{title} ({run})"),
        (None, true) => format!("{title} (later, with what it recalled)"),
        _ => title,
    };
    vec![
        agent.agent.clone(),
        agent.records_acked.to_string(),
        sum(|report| report.created),
        sum(|report| report.merged),
        if verdicts.is_empty() {
            "none".to_owned()
        } else {
            verdicts.join(", ")
        },
        task,
    ]
}

fn verdict(outcome: Outcome, source: VerificationSource) -> &'static str {
    match (outcome, source) {
        (Outcome::Failed, _) => "test failed",
        (Outcome::Passed, VerificationSource::HumanApproved) => "assumed passed",
        (Outcome::Passed, _) => "test passed",
    }
}

fn published(report: &Report, style: Style) -> Option<String> {
    // What several found comes first, then facts before the episodes that hold them together.
    let mut findings: Vec<&Finding> = report
        .findings
        .iter()
        .filter(|finding| finding.table != Table::Episodes)
        .collect();
    findings.sort_by_key(|finding| (std::cmp::Reverse(finding.also_by.len()), finding.by.clone()));
    let mut lines: Vec<String> = findings
        .iter()
        .take(FINDINGS_SHOWN_MAX)
        .map(|finding| finding_line(finding, style))
        .collect();
    let more = findings.len().saturating_sub(FINDINGS_SHOWN_MAX);
    if more > 0 {
        lines.push(style.dim(&format!("… and {more} more")));
    }
    if !report.findings.is_empty() {
        lines.push(format!(
            "{} made, {} merged into an entry that was there, {} ({} of them linked to another)",
            counted_entries(report.published),
            counted(report.merged, "finding"),
            counted(report.episodes as u64, "episode"),
            report.linked_episodes
        ));
    }
    section(
        style,
        &format!("What was published in {}", report.scope),
        lines,
    )
}

fn counted(count: u64, what: &str) -> String {
    if count == 1 {
        format!("1 {what}")
    } else {
        format!("{count} {what}s")
    }
}

fn counted_entries(count: u64) -> String {
    if count == 1 {
        "1 entry".to_owned()
    } else {
        format!("{count} entries")
    }
}

fn finding_line(finding: &Finding, style: Style) -> String {
    let mark = if finding.failure {
        style.bad("✗")
    } else {
        style.good("•")
    };
    let text = one_line(&finding.content, TEXT_CHARS_MAX);
    let mut by = finding.by.clone();
    if !finding.also_by.is_empty() {
        let others: Vec<&str> = finding.also_by.iter().map(String::as_str).collect();
        by += &format!(", and the same by {}: merged", others.join(", "));
        if let Some(cosine) = finding.cosine {
            let least = if finding.merges > 1 { " at least" } else { "" };
            by += &format!(" (cosine {cosine:.2}{least})");
        }
    }
    let mut lines = format!(
        "{mark} {text}\n    {}",
        style.dim(&format!("{} by {by}", finding.table))
    );
    if let Some(Quote {
        record,
        from,
        to,
        text,
    }) = &finding.quote
    {
        let said = one_line(text, TEXT_CHARS_MAX);
        let place = format!("    since bytes {from}-{to} of {record} say: {said}");
        lines += &format!("\n{}", style.dim(&place));
    }
    lines
}

fn recalled(report: &Report, style: Style) -> Option<String> {
    let recall = report.recall.as_ref()?;
    let mut lines = vec![format!(
        "\"{}\" gave {}, the best first:",
        recall.query,
        counted(recall.results.len() as u64, "result")
    )];
    let shown = recall.results.iter().take(RESULTS_SHOWN_MAX).zip(1..);
    lines.extend(shown.map(|(result, place)| recall::describe(style, place, result)));
    section(
        style,
        &format!("What {} recalled before it began", recall.agent),
        lines,
    )
}

fn refused(report: &Report, style: Style) -> Option<String> {
    section(
        style,
        "What was refused, and why",
        report
            .refusals
            .iter()
            .map(|refusal| refusal_line(refusal, style))
            .collect(),
    )
}

fn refusal_line(refusal: &Refusal, style: Style) -> String {
    let rule = refusal
        .rule
        .as_ref()
        .map(|rule| format!(" by {rule}"))
        .unwrap_or_default();
    let why = format!("{}{rule}", refusal.code);
    format!(
        "{} {} tried to {}\n    {}: {}",
        style.bad("✗"),
        refusal.who,
        refusal.tried,
        style.bad(&why),
        one_line(&refusal.detail, TEXT_CHARS_MAX * 2)
    )
}

fn replaced(report: &Report, style: Style) -> Option<String> {
    let lines = report.supersessions.iter().map(|done| {
        format!(
            "{} {}\n{} {}\n    because: {}",
            style.dim("old"),
            style.dim(&one_line(&done.old_text, TEXT_CHARS_MAX)),
            style.good("new"),
            one_line(&done.new_text, TEXT_CHARS_MAX),
            one_line(&done.reason, TEXT_CHARS_MAX)
        )
    });
    section(style, "What was replaced", lines.collect())
}

fn decided(report: &Report, style: Style) -> Option<String> {
    let lines = report.judged.iter().map(|done| {
        format!(
            "{} {}\n{} {}\n    asked, because the newer one {}\n    answered: {}",
            style.bad("not"),
            style.dim(&one_line(&done.lost, TEXT_CHARS_MAX)),
            style.good("but"),
            one_line(&done.kept, TEXT_CHARS_MAX),
            one_line(&done.why, TEXT_CHARS_MAX),
            one_line(&done.reason, TEXT_CHARS_MAX)
        )
    });
    section(style, "What a person decided", lines.collect())
}

fn forgotten(report: &Report, style: Style) -> Option<String> {
    let lines = report.forgotten.iter().map(|gone| {
        format!(
            "{} {}\n    because {} (the demo calls old what others do after 90 days)",
            style.dim("gone"),
            one_line(&gone.text, TEXT_CHARS_MAX),
            gone.why
        )
    });
    section(style, "What was pruned", lines.collect())
}

fn lasting(report: &Report, style: Style) -> Option<String> {
    let durable = format!(
        "{} records acknowledged, {} there after the server was stopped and started again",
        report.records_acked, report.records_durable
    );
    let kept = report.records_acked == report.records_durable;
    let audit = match &report.audit.difference {
        None => format!(
            "audit of {} scopes and {} events: no difference",
            report.audit.scopes, report.audit.events
        ),
        Some(difference) => format!(
            "the audit found a difference: {}",
            one_line(&difference.what, TEXT_CHARS_MAX)
        ),
    };
    let decisions = (report.decisions > 0).then(|| {
        let (saved, held) = (report.decisions, report.decisions_durable);
        let saved_in_words = counted(saved as u64, "decision");
        let text = format!("{saved_in_words} acknowledged, {held} hold after that");
        (saved == held, text)
    });
    let originals = (report.followed > 0).then(|| {
        let (found, again) = (report.followed, report.followed_durable);
        let found_in_words = counted(found as u64, "original");
        let text = format!("{found_in_words} found by an anchor, {again} found again after that");
        (found == again, text)
    });
    let paint = |good: bool, text: &str| {
        if good {
            style.good(text)
        } else {
            style.bad(text)
        }
    };
    let lasts = [
        Some((kept, durable)),
        decisions,
        originals,
        Some((report.audit_ok, audit)),
    ];
    let lines = lasts.into_iter().flatten();
    section(
        style,
        "What lasts",
        lines.map(|(good, text)| paint(good, &text)).collect(),
    )
}

fn next(report: &Report, style: Style) -> Option<String> {
    let asked = report.recall.as_ref().map(|recall| recall.query.as_str());
    let query = asked.or_else(|| likely_title(report)).unwrap_or("anything");
    let mut commands = vec![format!("recall \"{}\"", query.replace('"', ""))];
    commands.extend(
        report
            .agent_details
            .first()
            .map(|agent| format!("log list --scope {}", agent.task)),
    );
    commands.extend(
        report
            .supersessions
            .first()
            .map(|done| format!("history {}", done.old)),
    );
    if report.decisions > 0 {
        commands.push("decision list".to_owned());
    }
    commands.push("audit verify".to_owned());
    let full = |command: &String| style.name(&format!("sillok {command}{}", report.flags));
    let mut lines: Vec<String> = commands.iter().map(full).collect();
    lines.push(format!("server {}", style.name(&report.address)));
    lines.push(format!("data   {}", report.data.display()));
    section(style, "Where to look next", lines)
}

/// The title of a task whose findings others made too: a recall of it shows the most.
fn likely_title(report: &Report) -> Option<&str> {
    let merged = |agent: &&AgentReport| {
        let mut reports = agent
            .attempts
            .iter()
            .filter_map(|tried| tried.promotion.report.as_ref());
        reports.any(|report| report.merged > 0)
    };
    let agents = &report.agent_details;
    agents
        .iter()
        .find(merged)
        .or(agents.first())
        .map(|agent| agent.title.as_str())
}
