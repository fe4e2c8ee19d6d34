//! An impact as a drawing: a tree for a terminal, a flowchart for Mermaid, a graph for Graphviz; and a path in words.
//!
//! Owns the forms, and how names are escaped in each of them: titles and paths are other people's words. The same answer
//! gives the same text. It must not know how an impact is found, or where it is asked for.

use std::collections::BTreeMap;

use sillok_core::decision::{Node, Rank};
use sillok_server::api::{Affected, Edge, Impact, ImpactCut, Reached};

use crate::output::{Style, one_line};

/// Characters of a title.
const TITLE_CHARS_MAX: usize = 80;
/// Characters of a node's name: any decision's is shorter. A path may be longer, and is cut: what tells nodes of a drawing
/// apart are their numbers.
const NODE_CHARS_MAX: usize = 1_000;

/// How an affected node was reached.
#[derive(Clone, Copy)]
struct Step<'a> {
    affected: &'a Affected,
    number: usize,
    /// The node before it.
    before: usize,
    /// Whether the relation leads to the node, and not from it.
    is_ahead: bool,
}

/// A line of a tree that is to be drawn yet.
struct Branch<'a> {
    step: Step<'a>,
    indent: String,
    is_last: bool,
}

/// The last step to each affected node. Nodes have numbers: those that change first, then those that are affected. Each step
/// begins at a node of a lower number, so no drawing runs in a circle, whatever an answer holds.
fn steps(impact: &Impact) -> Vec<Step<'_>> {
    let starts = impact.start.len();
    let numbered = impact.affected.iter().zip(starts..);
    let steps = numbered.filter_map(|(affected, number)| {
        let before = match affected.from {
            Reached::Start(place) => (place < starts).then_some(place)?,
            Reached::Affected(place) => starts.checked_add(place)?,
        };
        (before < number).then_some(Step {
            affected,
            number,
            before,
            is_ahead: affected.by.to == affected.node,
        })
    });
    steps.collect()
}

/// Each node as the lines of its name, in the order of the numbers.
fn labels(impact: &Impact) -> impl Iterator<Item = Vec<String>> {
    let start = impact.start.iter().map(|node| vec![plain(node)]);
    let affected = impact.affected.iter().map(|one| {
        let what = what(one.rank, one.title.as_deref());
        what.into_iter().chain([plain(&one.node)]).collect()
    });
    start.chain(affected)
}

/// A tree: below each node what it was that led to the next ones. Arrows point as the relations do.
#[must_use]
pub fn tree(impact: &Impact, style: Style) -> String {
    let below = below(impact);
    let mut lines = Vec::new();
    for (number, start) in impact.start.iter().enumerate() {
        lines.push(style.bold(&plain(start)));
        lines.extend(lines_below(&below, number, style));
    }
    if impact.affected.is_empty() {
        lines.push(style.dim("nothing is affected"));
    }
    lines.extend(cut_off(impact.cut.as_ref()).map(|text| style.bad(&text)));
    lines.join("\n")
}

/// The branches of the tree of one node that changes, without that node itself: its reader knows it.
#[must_use]
pub fn branches(impact: &Impact, style: Style) -> String {
    let mut lines = lines_below(&below(impact), 0, style);
    lines.extend(cut_off(impact.cut.as_ref()).map(|text| style.bad(&text)));
    lines.join("\n")
}

/// What was reached from each node.
fn below(impact: &Impact) -> BTreeMap<usize, Vec<Step<'_>>> {
    let mut below: BTreeMap<usize, Vec<Step<'_>>> = BTreeMap::new();
    for step in steps(impact) {
        below.entry(step.before).or_default().push(step);
    }
    below
}

/// The lines of all that is below a node.
fn lines_below(below: &BTreeMap<usize, Vec<Step<'_>>>, number: usize, style: Style) -> Vec<String> {
    let mut lines = Vec::new();
    let mut waiting = branches_of(below, number, "");
    while let Some(branch) = waiting.pop() {
        let (corner, beside) = if branch.is_last {
            ("└─ ", "   ")
        } else {
            ("├─ ", "│  ")
        };
        let line = line(branch.step, style);
        lines.push(format!("{}{corner}{line}", branch.indent));
        let indent = branch.indent + beside;
        waiting.extend(branches_of(below, branch.step.number, &indent));
    }
    lines
}

/// The branches below a node, the last one first.
fn branches_of<'a>(
    below: &BTreeMap<usize, Vec<Step<'a>>>,
    number: usize,
    indent: &str,
) -> Vec<Branch<'a>> {
    let steps = below.get(&number).map(Vec::as_slice).unwrap_or_default();
    let branch = |(place, step): (usize, &Step<'a>)| Branch {
        step: *step,
        indent: indent.to_owned(),
        is_last: place + 1 == steps.len(),
    };
    steps.iter().enumerate().rev().map(branch).collect()
}

fn line(step: Step<'_>, style: Style) -> String {
    let arrow = if step.is_ahead { "→" } else { "←" };
    let affected = step.affected;
    let what = what(affected.rank, affected.title.as_deref());
    let what = what.map_or_else(String::new, |text| {
        let is_guarded = affected.rank.is_some_and(Rank::is_guarded);
        let text = if is_guarded { style.bold(&text) } else { text };
        format!("{text}  ")
    });
    let node = style.name(&plain(&affected.node));
    format!("{} {arrow} {what}{node}", step.affected.by.kind)
}

/// A flowchart for Mermaid. What changes has round ends.
#[must_use]
pub fn mermaid(impact: &Impact) -> String {
    let mut lines = vec!["flowchart LR".to_owned()];
    for (number, name) in labels(impact).enumerate() {
        let name: Vec<String> = name.iter().map(|line| in_mermaid(line)).collect();
        let name = name.join("<br/>");
        lines.push(if number < impact.start.len() {
            format!("  n{number}([\"{name}\"])")
        } else {
            format!("  n{number}[\"{name}\"]")
        });
    }
    lines.extend(steps(impact).into_iter().map(|step| {
        let (from, to) = ends(step);
        format!("  n{from} -->|{}| n{to}", step.affected.by.kind)
    }));
    lines.extend(cut_off(impact.cut.as_ref()).map(|text| format!("  %% {text}")));
    lines.join("\n")
}

/// A graph for Graphviz. What changes is bold.
#[must_use]
pub fn dot(impact: &Impact) -> String {
    let mut lines = vec![
        "digraph impact {".to_owned(),
        "  rankdir=LR;".to_owned(),
        "  node [shape=box];".to_owned(),
    ];
    for (number, name) in labels(impact).enumerate() {
        let name: Vec<String> = name.iter().map(|line| in_dot(line)).collect();
        let style = if number < impact.start.len() {
            ", style=bold"
        } else {
            ""
        };
        lines.push(format!(
            "  n{number} [label=\"{}\"{style}];",
            name.join("\\n")
        ));
    }
    lines.extend(steps(impact).into_iter().map(|step| {
        let (from, to) = ends(step);
        format!("  n{from} -> n{to} [label=\"{}\"];", step.affected.by.kind)
    }));
    lines.extend(cut_off(impact.cut.as_ref()).map(|text| format!("  // {text}")));
    lines.push("}".to_owned());
    lines.join("\n")
}

/// The numbers of the nodes that a relation leads from and to.
const fn ends(step: Step<'_>) -> (usize, usize) {
    if step.is_ahead {
        (step.before, step.number)
    } else {
        (step.number, step.before)
    }
}

/// What affected nodes are called in words: by their titles, where those are known.
#[must_use]
pub fn names(impact: &Impact) -> BTreeMap<&Node, String> {
    let affected = impact.affected.iter();
    affected
        .filter_map(|one| Some((&one.node, quoted(one.title.as_deref()?))))
        .collect()
}

/// A title, as it stands in a sentence.
#[must_use]
pub fn quoted(title: &str) -> String {
    format!("\"{}\"", one_line(title, TITLE_CHARS_MAX))
}

/// A path in words: A CONSTRAINS B, B VALIDATES C. What has no other name is called as it is written.
#[must_use]
pub fn in_words<'a>(
    path: impl IntoIterator<Item = &'a Edge>,
    names: &BTreeMap<&Node, String>,
) -> String {
    let name = |node: &Node| names.get(node).cloned().unwrap_or_else(|| plain(node));
    let steps: Vec<String> = path
        .into_iter()
        .map(|edge| format!("{} {} {}", name(&edge.from), edge.kind, name(&edge.to)))
        .collect();
    steps.join(", ")
}

/// What a limit cut off, for a person; none if nothing.
#[must_use]
pub fn cut_off(cut: Option<&ImpactCut>) -> Option<String> {
    let cut = cut?;
    let nodes = (cut.nodes > 0).then(|| {
        format!(
            "nodes that relations name and that there is no room for: {}",
            cut.nodes
        )
    });
    let depth = (cut.depth > 0).then(|| {
        format!(
            "nodes at the greatest depth whose relations lead on: {}",
            cut.depth
        )
    });
    let relations = (cut.relations)
        .then(|| "what further relations lead to, since enough were read".to_owned());
    let time = cut.time.then(|| "time ran out".to_owned());
    let parts: Vec<String> = [nodes, depth, relations, time]
        .into_iter()
        .flatten()
        .collect();
    // What is counted follows from relations alone.
    let doubt = if cut.nodes > 0 || cut.depth > 0 {
        " (what relations name was not looked at: some may not hold any more, and there may be more)"
    } else {
        ""
    };
    (!parts.is_empty()).then(|| format!("cut off: {}{doubt}", parts.join("; ")))
}

/// A node's name on one line.
#[must_use]
pub fn plain(node: &Node) -> String {
    one_line(&node.to_string(), NODE_CHARS_MAX)
}

/// Rank and title of a decision; none of anything else.
fn what(rank: Option<Rank>, title: Option<&str>) -> Option<String> {
    let title = title.map(|title| one_line(title, TITLE_CHARS_MAX));
    match (rank, title) {
        (Some(rank), Some(title)) => Some(format!("{rank}: {title}")),
        (Some(rank), None) => Some(rank.to_string()),
        (None, title) => title,
    }
}

/// A text inside the quotes of a Mermaid label: all but plain characters by their codes, so that nothing of it is
/// taken for the end of the label, a tag, a comment or Markdown.
fn in_mermaid(text: &str) -> String {
    let mut escaped = String::new();
    for c in text.chars() {
        if c.is_ascii() && !c.is_ascii_alphanumeric() && !" .,:/-_@+=()'!?".contains(c) {
            escaped += &format!("#{};", u32::from(c));
        } else {
            escaped.push(c);
        }
    }
    escaped
}

/// A text inside the quotes of a DOT label.
fn in_dot(text: &str) -> String {
    text.replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('&', "&amp;")
}

#[cfg(test)]
mod tests;
