//! The section of the page that tells of decisions.
//!
//! Owns its words. All figures, and all that is said of what a change would touch, come from the server's answers.

use std::collections::BTreeMap;

use sillok_core::brief::Layer;
use sillok_server::api::{Followed, FollowedItem};

use super::{TEXT_CHARS_MAX, counted, section};
use crate::commands::brief;
use crate::commands::decision::text;
use crate::demo::report::{BriefReport, FollowReport, Report};
use crate::diagram;
use crate::output::{Style, one_line};

/// What was decided for good, and what came of it.
pub(super) fn held(report: &Report, style: Style) -> Option<String> {
    let decisions = report.decision_details.iter();
    let mut lines: Vec<String> = decisions
        .map(|made| {
            format!(
                "{} {}\n    {}\n    {}",
                style.good(&made.rank.to_string()),
                one_line(&made.title, TEXT_CHARS_MAX),
                one_line(&made.content, TEXT_CHARS_MAX),
                style.dim(&format!("by {} in {}", made.by, made.scope))
            )
        })
        .collect();
    lines.extend(report.loaded.as_ref().map(|loaded| in_line(loaded, style)));
    lines.extend(report.anchor.as_ref().map(|anchor| found(anchor, style)));
    lines.extend(report.stops.iter().map(|stop| {
        format!(
            "{} {} did not decide \"{}\", for\n{}",
            style.bad("✗"),
            stop.agent,
            one_line(&stop.title, TEXT_CHARS_MAX),
            indented(&text::means(style, &stop.proposed))
        )
    }));
    section(
        style,
        "Which decisions hold, and what is in line with them",
        lines,
    )
}

/// That a brief was loaded, and that what was done later is in line with it, are two facts: the one is not said to have
/// come of the other.
fn in_line(loaded: &BriefReport, style: Style) -> String {
    let mut layers: BTreeMap<Layer, usize> = BTreeMap::new();
    for item in &loaded.brief.items {
        *layers.entry(brief::layer(item)).or_default() += 1;
    }
    let layers = layers
        .iter()
        .map(|(layer, count)| format!("{count} {layer}"));
    let (agent, check) = (&loaded.agent, style.good("✓"));
    format!(
        "{check} {agent} loaded a brief of {} ({})\n{check} the source that {agent} left was checked: it is in line with {} of the brief",
        counted(loaded.brief.items.len() as u64, "item"),
        layers.collect::<Vec<_>>().join(", "),
        counted(loaded.in_line.len() as u64, "decision")
    )
}

/// What was found by an anchor.
fn found(report: &FollowReport, style: Style) -> String {
    let Followed { anchor, items } = &report.followed;
    let mut lines = vec![format!(
        "{} {} followed the anchor \"{}\" at the end of the brief to",
        style.good("✓"),
        report.agent,
        one_line(&anchor.hint, TEXT_CHARS_MAX)
    )];
    lines.extend(items.iter().map(|item| match item {
        FollowedItem::Decision(decision) => format!(
            "    {} {}",
            decision.rank,
            one_line(&decision.title, TEXT_CHARS_MAX)
        ),
        FollowedItem::Evidence(evidence) => format!(
            "    evidence {} ({} bytes)",
            one_line(&evidence.head.title, TEXT_CHARS_MAX),
            evidence.head.bytes
        ),
        FollowedItem::Gone { to } => format!("    nothing any more: {}", diagram::plain(to)),
    }));
    lines.join("\n")
}

fn indented(text: &str) -> String {
    let lines: Vec<String> = text.lines().map(|line| format!("    {line}")).collect();
    lines.join("\n")
}
