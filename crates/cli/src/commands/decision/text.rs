//! How decisions read for a person, and what they mean to others.
//!
//! Owns the words. It must not know what was asked for.

use sillok_core::decision::Rank;
use sillok_server::api::{
    Claim, Contradiction, DecisionHead, DecisionSaved, DecisionText, DecisionVersion, DecisionView,
    Meaning, Proposed, Relation,
};

use crate::diagram;
use crate::output::{Style, harmless, one_line, table, time};

/// Characters of a title, a reason or a claim on one line.
const LINE_CHARS_MAX: usize = 160;
/// Characters of a title in a listing.
const TITLE_CHARS_MAX: usize = 80;

/// A decision that was saved, withdrawn or restored.
#[must_use]
pub fn saved(style: Style, saved: &DecisionSaved) -> String {
    let mut lines = vec![format!(
        "{} version {}, {}",
        style.name(&saved.root.to_string()),
        saved.version,
        standing(style, saved.active)
    )];
    match &saved.means {
        Meaning::Told(told) => {
            let means = means(style, told);
            lines.extend((!means.is_empty()).then_some(means));
        }
        Meaning::Untold { untold } => lines.push(format!(
            "{} {}",
            style.bad("what that means to others could not be told:"),
            one_line(untold, LINE_CHARS_MAX)
        )),
    }
    lines.join("\n")
}

/// What a decision means to others; empty where it means nothing to any.
#[must_use]
pub fn means(style: Style, means: &Proposed) -> String {
    let mut lines = Vec::new();
    let impact = &means.impact;
    if !impact.affected.is_empty() || impact.cut.is_some() {
        lines.push(format!("it affects {}:", impact.affected.len()));
        lines.push(diagram::branches(impact, style));
    }
    let mut names = diagram::names(impact);
    names.extend(impact.start.iter().map(|it| (it, "it".to_owned())));
    for guard in &means.guards {
        let why = match guard.affected {
            None => "it changes that itself".to_owned(),
            Some(place) => diagram::in_words(impact.path(place), &names),
        };
        lines.push(touches(style, guard.rank, &guard.title, &why));
    }
    let contradictions = means.contradictions.iter();
    lines.extend(contradictions.map(|other| contradiction(style, other)));
    if means.contradictions_cut {
        let more = "others may contradict it that are not listed: too many declare that key";
        lines.push(style.bad(more));
    }
    let domain = means.new_domain.as_ref();
    let alone = domain.map(|domain| format!("no other decision here is of domain {domain}"));
    lines.extend(alone.map(|text| style.dim(&text)));
    lines.join("\n")
}

/// That an axis or a lock is touched, and why.
#[must_use]
pub fn touches(style: Style, rank: Rank, title: &str, why: &str) -> String {
    let title = diagram::quoted(title);
    format!("{} {rank} {title}: {why}", style.bad("it touches the"))
}

/// That another decision declares the same key with another value.
#[must_use]
pub fn contradiction(style: Style, other: &Contradiction) -> String {
    format!(
        "{} {} {}: {} is {} there ({} in {})",
        style.bad("it contradicts the"),
        other.rank,
        diagram::quoted(&other.title),
        one_line(&other.claim.key, TITLE_CHARS_MAX),
        one_line(&other.claim.value, TITLE_CHARS_MAX),
        style.name(&other.root.to_string()),
        other.scope
    )
}

fn standing(style: Style, active: bool) -> String {
    if active {
        style.good("active")
    } else {
        style.bad("withdrawn")
    }
}

/// Decisions, a line each.
#[must_use]
pub fn listed(style: Style, heads: &[DecisionHead]) -> String {
    let rows: Vec<Vec<String>> = heads.iter().map(row).collect();
    let header = ["DECISION", "RANK", "DOMAIN", "VERSION", "STATE", "TITLE"];
    table(style, &header, &rows)
}

fn row(head: &DecisionHead) -> Vec<String> {
    let state = match (head.erased, head.active) {
        (true, _) => "erased",
        (false, true) => "active",
        (false, false) => "withdrawn",
    };
    vec![
        head.root.to_string(),
        head.rank.to_string(),
        head.domain.to_string(),
        head.version.to_string(),
        state.to_owned(),
        one_line(&head.title, TITLE_CHARS_MAX),
    ]
}

/// A decision with what it says.
#[must_use]
pub fn shown(style: Style, found: &DecisionView) -> String {
    let head = &found.head;
    let mut lines = vec![
        style.name(&head.root.to_string()),
        format!(
            "{} in {}, {}, version {}",
            head.rank,
            head.scope,
            standing(style, head.active),
            head.version
        ),
    ];
    if head.erased {
        lines.push(style.bad("what it said was erased"));
        return lines.join("\n");
    }
    if !head.active {
        lines.push(style.dim("what it said last:"));
    }
    lines.push(came_to_be(&found.version));
    lines.extend(found.version.text.iter().map(said));
    lines.join("\n")
}

/// Versions, each with what it says.
#[must_use]
pub fn versions(style: Style, versions: &[DecisionVersion]) -> String {
    let shown: Vec<String> = versions
        .iter()
        .map(|version| {
            let head = style.bold(&came_to_be(version));
            let text = version.text.as_ref().map(said);
            let lines: Vec<String> = [Some(head), text].into_iter().flatten().collect();
            lines.join("\n")
        })
        .collect();
    shown.join("\n\n")
}

/// How a version came to be.
fn came_to_be(version: &DecisionVersion) -> String {
    let of = version.restored_from;
    let of = of.map_or_else(String::new, |from| format!(" from version {from}"));
    let why = one_line(&version.reason, LINE_CHARS_MAX);
    let why = if why.is_empty() {
        why
    } else {
        format!(": {why}")
    };
    format!(
        "version {} {}{of} by {}:{} at {}{why}",
        version.number,
        version.act,
        version.by.kind,
        version.by.id,
        time(version.at)
    )
}

/// What a version says.
fn said(text: &DecisionText) -> String {
    let phase = text.phase.as_ref();
    let phase = phase.map_or_else(String::new, |phase| format!(", phase {phase}"));
    let mut lines = vec![
        format!("{} about {}{phase}", text.rank, text.domain),
        format!("\n{}\n", one_line(&text.title, LINE_CHARS_MAX)),
        harmless(&text.content),
    ];
    let declared = declared(text.claim.as_ref(), &text.relations);
    if !declared.is_empty() {
        lines.push(String::new());
        lines.extend(declared);
    }
    lines.join("\n")
}

/// What is declared beside a text: the claim, and then each relation.
#[must_use]
pub fn declared(claim: Option<&Claim>, relations: &[Relation]) -> Vec<String> {
    let claim = claim.map(|Claim { key, value }| {
        one_line(&format!("claims that {key} is {value}"), LINE_CHARS_MAX)
    });
    let relations = relations.iter();
    let relations = relations.map(|one| harmless(&format!("{} {}", one.kind, one.to)));
    claim.into_iter().chain(relations).collect()
}

#[cfg(test)]
mod tests;
