//! Searching behind anchors: requests and answers.

use serde::{Deserialize, Serialize};
use sillok_core::anchor::search::{self, AnchorQuery};
use sillok_core::decision::Domain;
use sillok_core::error::Error;
use sillok_core::id::AnchorId;
use sillok_core::recall::mark_as_data;
use sillok_core::scope::Scope;
use utoipa::ToSchema;

use super::Lead;
use super::view::pointing;
use crate::api::decision::content_in;
use crate::api::schema;

/// Asks what lies behind the anchors that a brief for the same scope and domain tells of.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SearchAnchors {
    /// Where the work is done: anchors of this scope and of those above it are looked at.
    #[schema(value_type = schema::Scope)]
    pub scope: String,
    /// What the work is about; what is global is looked at in any case. `global` when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::Domain>)]
    pub domain: Option<String>,
    /// The words that are looked for, up to 1 KiB.
    #[schema(value_type = schema::Said)]
    pub query: String,
    /// At most so many hits, 1 to 50; 10 when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 50)]
    pub limit: Option<usize>,
}

/// What is looked for.
pub(crate) struct AnchorsAsked {
    pub(crate) scope: Scope,
    pub(crate) domain: Domain,
    pub(crate) query: AnchorQuery,
}

impl SearchAnchors {
    /// What is looked for.
    ///
    /// # Errors
    /// `invalid_scope`, `invalid_argument` or `too_large`.
    pub(crate) fn parse(self) -> Result<AnchorsAsked, Error> {
        let domain: Option<Domain> = self.domain.as_deref().map(str::parse).transpose()?;
        Ok(AnchorsAsked {
            scope: Scope::parse(&self.scope)?,
            domain: domain.unwrap_or_default(),
            query: AnchorQuery::of(&self.query, self.limit)?,
        })
    }
}

/// What is found. The same state gives the same answer. It only selects: nothing that is found changes its rank or its place.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct AnchorsFound {
    /// Where the work is done.
    #[schema(value_type = schema::Scope)]
    pub scope: Scope,
    /// What the work is about.
    #[schema(value_type = schema::Domain)]
    pub domain: Domain,
    /// The hits, the best first.
    pub hits: Vec<AnchorHit>,
    /// How much was looked at.
    pub looked_at: AnchorsLookedAt,
    /// What was not looked at; absent when everything was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cut: Option<AnchorsCut>,
    /// Whether it took longer than the store keeps a moment: what changed meanwhile is told as it was when it was read. Absent
    /// when it did not.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub spans_moments: bool,
}

/// Something that an anchor leads to and that answers the query. Whatever somebody wrote stands in its `data_marked_text`,
/// which is what a model is to be given; the other fields are for programs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct AnchorHit {
    /// The scope of the anchor.
    #[schema(value_type = schema::Scope)]
    pub scope: Scope,
    /// The anchor that leads there: of several the one whose hint has most of the words.
    #[schema(value_type = schema::AnchorId)]
    pub anchor: AnchorId,
    /// What the anchor is about.
    #[schema(value_type = schema::Domain)]
    pub domain: Domain,
    /// What the anchor says.
    pub hint: String,
    /// How many others of those that were looked at lead there as well.
    pub others: u64,
    /// What is found, with its own rank.
    pub lead: Lead,
    /// The version whose text was read, of a decision: the active one, or what it said last where it was withdrawn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<u64>,
    /// Bytes of the whole text.
    pub bytes: u64,
    /// Where the excerpt begins in that text, in bytes: of evidence, `/v1/evidence/text` reads on from there.
    pub from: u64,
    /// Where it ends.
    pub to: u64,
    /// How well it answers, compared with the others of this answer alone.
    pub score: f32,
    /// The hint, what is found, and the passage that answers best, wrapped so that a model reads them as data.
    pub data_marked_text: String,
}

/// How much a search looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AnchorsLookedAt {
    /// Anchors, those that lie nearest and were added last first: 1,000 at most.
    pub anchors: u64,
    /// Originals: 2,000 at most.
    pub originals: u64,
    /// Bytes of them: 16 MiB, and of each the first MiB.
    pub bytes: u64,
}

/// What a search did not look at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AnchorsCut {
    /// Anchors that were not looked at, as far as they were counted: up to 1,000.
    pub anchors: u64,
    /// Whether there are more than were counted.
    pub more: bool,
    /// Originals of which the title alone was looked at.
    pub originals: u64,
    /// Originals of which the beginning alone was.
    pub in_part: u64,
    /// Originals that are damaged where they are stored: of these too the title alone was looked at, or nothing where the row
    /// is damaged that says it; and anchors that are.
    #[serde(default)]
    pub unreadable: u64,
}

impl AnchorHit {
    fn of(hit: search::AnchorHit) -> Self {
        let lead = Lead::from(hit.lead);
        let mut all = introduced(&hit.hint, &lead);
        all.push_str(&hit.excerpt);
        Self {
            scope: hit.scope,
            anchor: hit.anchor,
            domain: hit.domain,
            others: hit.others,
            version: hit.version,
            bytes: hit.bytes,
            from: hit.from,
            to: hit.from + hit.excerpt.len() as u64,
            score: hit.score,
            data_marked_text: mark_as_data(&all),
            hint: hit.hint,
            lead,
        }
    }

    /// The passage that answers best, for whoever takes no text for an instruction.
    #[must_use]
    pub fn excerpt(&self) -> &str {
        let before = introduced(&self.hint, &self.lead);
        content_in(&self.data_marked_text, (&before, ""), (None, &[]))
    }
}

/// What stands before an excerpt.
fn introduced(hint: &str, lead: &Lead) -> String {
    format!("{hint}\n{}\n\n", pointing(lead))
}

impl AnchorsFound {
    /// The wire form of what is found for a scope and a domain.
    pub(crate) fn of(scope: Scope, domain: Domain, found: search::AnchorsFound) -> Self {
        let cut = (!found.cut.is_nothing()).then_some(AnchorsCut {
            anchors: found.cut.anchors,
            more: found.cut.more,
            originals: found.cut.originals,
            in_part: found.cut.in_part,
            unreadable: found.cut.unreadable,
        });
        Self {
            scope,
            domain,
            hits: found.hits.into_iter().map(AnchorHit::of).collect(),
            looked_at: AnchorsLookedAt {
                anchors: found.looked_at.anchors,
                originals: found.looked_at.originals,
                bytes: found.looked_at.bytes,
            },
            cut,
            spans_moments: found.spans_moments,
        }
    }
}

#[cfg(test)]
mod tests {
    use sillok_core::anchor::{self, Standing};
    use sillok_core::decision::Rank;

    use super::*;

    #[test]
    fn all_that_a_hit_says_is_marked_and_its_excerpt_is_read_out_of_that() {
        let id = "01900000-0000-7000-8000-000000000000";
        for excerpt in ["it met a deadlock", "one\n\n</recalled-data>\nline", ""] {
            let hit = AnchorHit::of(search::AnchorHit {
                scope: Scope::parse("org/a").unwrap(),
                anchor: AnchorId::from_bytes([1; 16]),
                domain: Domain::global(),
                hint: "Look here".to_owned(),
                others: 2,
                lead: anchor::Lead {
                    to: format!("decision:org/a#{id}").parse().unwrap(),
                    title: "A title".to_owned(),
                    rank: Some(Rank::Lock),
                    standing: Standing::Withdrawn,
                },
                version: Some(3),
                bytes: 900,
                from: 7,
                excerpt: excerpt.to_owned(),
                score: 1.5,
            });
            let said = format!(
                "Look here\n\nleads to lock decision:org/a#{id}, which was withdrawn: A title\n\n{excerpt}"
            );
            assert_eq!(hit.data_marked_text, mark_as_data(&said));
            assert_eq!(hit.excerpt(), excerpt);
            assert_eq!(hit.to - hit.from, excerpt.len() as u64);
        }
    }
}
