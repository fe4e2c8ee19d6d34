//! The section of the page that tells of decisions.
//!
//! Owns its words. All figures, and all that is said of what a change would touch, come from the server's answers.

use std::collections::BTreeMap;

use sillok_core::brief::Layer;
use sillok_server::api::{Followed, FollowedItem};

use super::{TEXT_CHARS_MAX, counted, section};
use crate::commands::brief;
use crate::commands::decision::text;
use crate::demo::report::{BriefReport, FollowReport, Report, StopReport, guarded};
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
    lines.extend(report.stops.iter().map(|stop| let_be(stop, style)));
    section(
        style,
        "Which decisions hold, and what is in line with them",
        lines,
    )
}

/// A brief that was loaded, which way was taken by it, and that what was left is in line with it.
fn in_line(loaded: &BriefReport, style: Style) -> String {
    let mut layers: BTreeMap<Layer, usize> = BTreeMap::new();
    for item in &loaded.brief.items {
        *layers.entry(brief::layer(item)).or_default() += 1;
    }
    let layers = layers
        .iter()
        .map(|(layer, count)| format!("{count} {layer}"));
    let (agent, check) = (&loaded.agent, style.good("✓"));
    let (way, ruled_out) = (&loaded.way, style.bad("✗"));
    let mut lines = vec![format!(
        "{check} {agent} loaded a brief of {} ({})",
        counted(loaded.brief.items.len() as u64, "item"),
        layers.collect::<Vec<_>>().join(", "),
    )];
    lines.extend(way.passed_over.iter().map(|approach| {
        let approach = one_line(approach, TEXT_CHARS_MAX);
        format!("{ruled_out} it rules out how {agent} would have gone about it: {approach}")
    }));
    let taken = one_line(&way.taken, TEXT_CHARS_MAX);
    lines.push(format!("{check} {agent} went about it so: {taken}"));
    lines.push(format!(
        "{check} the source that {agent} left was checked: it is in line with {} of the brief",
        counted(loaded.in_line.len() as u64, "decision")
    ));
    lines.join("\n")
}

/// A decision that was not made, with what a change of its file affects, and what it contradicts.
fn let_be(stop: &StopReport, style: Style) -> String {
    let impact = &stop.impact;
    let files: Vec<String> = impact.start.iter().map(diagram::plain).collect();
    let mut why = vec![
        format!(
            "a change of {} affects {}:",
            files.join(", "),
            impact.affected.len()
        ),
        diagram::branches(impact, style),
    ];
    let names = diagram::names(impact);
    why.extend(guarded(impact).filter_map(|(place, one)| {
        let path = diagram::in_words(impact.path(place), &names);
        let title = one.title.as_deref().unwrap_or_default();
        Some(text::touches(style, one.rank?, title, &path))
    }));
    let contradictions = stop.proposed.contradictions.iter();
    why.extend(contradictions.map(|other| text::contradiction(style, other)));
    format!(
        "{} {} did not decide \"{}\", for\n{}",
        style.bad("✗"),
        stop.agent,
        one_line(&stop.title, TEXT_CHARS_MAX),
        indented(&why.join("\n"))
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
