//! What a decision says as one text, which a model is given marked as data.
//!
//! Owns what stands in it and in which order, and how the content is read out of it again. Where such texts are given is
//! not known here.

use sillok_core::recall::mark_as_data;

use super::{DecisionText, Relation};
use crate::api::Claim;

impl DecisionText {
    /// All that a decision says, marked as data: what stands `before` it, its title, its content and what it declares.
    pub(in crate::api) fn marked(&self, before: &str) -> String {
        let (title, content) = (&self.title, &self.content);
        let declared = declared(self.claim.as_ref(), &self.relations);
        mark_as_data(&format!("{before}{title}\n\n{content}{declared}"))
    }
}

/// The content in a text that was marked as data: without the marks, without what stands `before` it and its title, and
/// without what is declared behind it.
pub(in crate::api) fn content_in<'a>(
    marked: &'a str,
    (before, title): (&str, &str),
    (claim, relations): (Option<&Claim>, &[Relation]),
) -> &'a str {
    let behind_marks = marked.splitn(3, '\n').nth(2);
    let said = behind_marks.and_then(|rest| rest.rsplit_once('\n'));
    let said = said.map_or(marked, |(said, _)| said);
    let declared = declared(claim, relations);
    let said = said.strip_suffix(&declared).unwrap_or(said);
    let said = said.strip_prefix(before).unwrap_or(said);
    if title.is_empty() {
        return said;
    }
    let behind_title = said.strip_prefix(title).unwrap_or(said);
    behind_title.strip_prefix("\n\n").unwrap_or(behind_title)
}

/// What a decision declares beside its text, as it stands behind that: the claim and the relations, each on a line.
fn declared(claim: Option<&Claim>, relations: &[Relation]) -> String {
    let claim = claim.map(|Claim { key, value }| format!("\nclaims that {key} is {value}"));
    let relations = relations.iter();
    let relations = relations.map(|relation| format!("\n{} {}", relation.kind, relation.to));
    let lines: String = claim.into_iter().chain(relations).collect();
    if lines.is_empty() {
        return lines;
    }
    format!("\n{lines}")
}
