//! What the rows of evidence, anchors and declared kinds of relations must say.
//!
//! Owns that each of them is the row of its event, that those are listed which were not dropped, that a text in chunks is
//! there whole, and that whatever somebody was told of is kept once, as it was handed over.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use sillok_core::anchor::Anchor;
use sillok_core::decision::{DeclaredRelation, RelationName};
use sillok_core::evidence::Evidence;
use sillok_core::id::{AnchorId, CommandId, EvidenceId, Seq};
use sillok_core::scope::Scope;
use sillok_core::staging::Content;
use sillok_store::keys::decision_listed::DomainKey;
use sillok_store::keys::{
    Family, ScopeKey, anchor, anchor_listed, chunk, declared_relation, evidence,
};

use super::super::declaring::meaning;
use super::super::keeping::Told;
use super::super::original::{MEDIA_TYPE, Original};
use super::super::view::{Kept, KeptSaid, WrittenKept};
use super::differs;
use crate::workload::End;

/// The rows of evidence and anchors.
#[derive(Clone, Debug, Default)]
pub(in super::super) struct StoredKept {
    evidence: BTreeMap<(ScopeKey, EvidenceId), Evidence>,
    anchors: BTreeMap<(ScopeKey, AnchorId), Anchor>,
    listed: BTreeMap<anchor_listed::Key, ()>,
    declared: BTreeMap<(ScopeKey, RelationName), DeclaredRelation>,
    /// Pieces of large texts, by the names that lead to them and their numbers.
    chunks: BTreeMap<(ScopeKey, CommandId, u32), Bytes>,
}

impl StoredKept {
    pub(in super::super) fn read(end: &End<'_>) -> Self {
        const READ: &str = "the audit has read it";
        let mut stored = Self::default();
        for (key, value) in end.rows(Family::Evidence) {
            let at = evidence::parse(&key).expect(READ);
            let row = evidence::decode(&key, &value).expect(READ);
            // No event says any more what it was.
            if !row.is_erased() {
                stored.evidence.insert((at.scope, at.evidence), row);
            }
        }
        for (key, value) in end.rows(Family::Anchor) {
            let at = anchor::parse(&key).expect(READ);
            let row = anchor::decode(&key, &value).expect(READ);
            if !row.is_erased() {
                stored.anchors.insert((at.scope, at.anchor), row);
            }
        }
        for (key, value) in end.rows(Family::AnchorListed) {
            let at = anchor_listed::parse(&key).expect(READ);
            anchor_listed::decode(&key, &value).expect(READ);
            stored.listed.insert(at, ());
        }
        for (key, value) in end.rows(Family::DeclaredRelation) {
            let at = declared_relation::parse(&key).expect(READ);
            let row = declared_relation::decode(&key, &value).expect(READ);
            stored.declared.insert((at.scope, at.name), row);
        }
        for (key, value) in end.rows(Family::Chunk) {
            let at = chunk::parse(&key).expect(READ);
            let piece = chunk::decode(&key, &value).expect(READ);
            let at = (at.scope, at.command, at.number);
            stored.chunks.insert(at, piece);
        }
        stored
    }

    /// A row that no event explains, or one that is missing, or that says something else; or a text that is not there whole.
    pub(in super::super) fn misfit(&self, written: &WrittenKept) -> Option<String> {
        let (mut all_evidence, mut anchors) = (BTreeMap::new(), BTreeMap::new());
        let mut declared = BTreeMap::new();
        for ((scope, seq), (kept, _)) in written {
            match &kept.said {
                KeptSaid::Evidence(said) => {
                    let row = Evidence {
                        id: said.id,
                        title: said.title.clone(),
                        source: said.source.clone(),
                        media_type: said.media_type.clone(),
                        content: said.content.clone(),
                        hash: said.hash,
                        masked: said.masked,
                        by: kept.by.clone(),
                        at: kept.at,
                        seq: *seq,
                    };
                    if all_evidence.insert((*scope, said.id), row).is_some() {
                        return Some(format!("evidence {} was saved twice", said.id));
                    }
                }
                KeptSaid::Anchor(said) => {
                    let row = Anchor {
                        id: said.id,
                        hint: said.hint.clone(),
                        domain: said.domain.clone(),
                        to: said.to.clone(),
                        by: kept.by.clone(),
                        at: kept.at,
                        seq: *seq,
                        dropped: None,
                    };
                    if anchors.insert((*scope, said.id), row).is_some() {
                        return Some(format!("anchor {} was added twice", said.id));
                    }
                }
                KeptSaid::Dropped(id) => match anchors.get_mut(&(*scope, *id)) {
                    Some(row) if !row.is_dropped() => row.dropped = Some(*seq),
                    row => return Some(format!("anchor {id} was dropped, and was {row:?}")),
                },
                KeptSaid::Declared { name, .. } => {
                    if declared.insert((*scope, *name), kept).is_some() {
                        return Some(format!("{name} was declared twice"));
                    }
                }
            }
        }
        let listed = anchors.iter().filter(|(_, row)| !row.is_dropped());
        let listed = listed.map(|((scope, id), row)| (place(*scope, *id, row), ()));
        let listed = listed.collect();
        let misfit = differs("evidence", &self.evidence, &all_evidence);
        let misfit = misfit.or_else(|| differs("anchors", &self.anchors, &anchors));
        let misfit = misfit.or_else(|| differs("listed anchors", &self.listed, &listed));
        let misfit =
            misfit.or_else(|| differs("declared kinds", &self.declared, &kinds(&declared)));
        misfit.or_else(|| {
            let mut rows = self.evidence.iter();
            rows.find_map(|((scope, id), row)| {
                let text = self.text(*scope, row);
                let is_whole = *blake3::hash(&text).as_bytes() == row.hash;
                (!is_whole).then(|| format!("the text of evidence {id} is not what its hash says"))
            })
        })
    }

    /// The bytes of the text of evidence, as much of it as is there.
    fn text(&self, scope: ScopeKey, row: &Evidence) -> Vec<u8> {
        match &row.content {
            Content::Inline(text) => text.as_bytes().to_vec(),
            Content::Chunked {
                command,
                first,
                count,
                ..
            } => {
                let range = (scope, *command, *first)..(scope, *command, first + count);
                let pieces = self.chunks.range(range);
                pieces.flat_map(|(_, piece)| piece.to_vec()).collect()
            }
        }
    }

    /// Something that somebody was told was kept and that is not there once, as it was handed over, if there is anything.
    pub(in super::super) fn unkept(&self, told: &[Told]) -> Option<String> {
        let (mut known, mut declared) = (BTreeSet::new(), BTreeSet::new());
        told.iter().find_map(|one| {
            let wrong = match one {
                Told::Evidence {
                    scope,
                    id,
                    seq,
                    hash,
                    masked,
                    original,
                } => {
                    let answered = (*seq, *hash, *masked);
                    let is_new = known.insert((ScopeKey::of(scope), Some(*id), None));
                    !is_new || !self.is_saved(scope, *id, answered, original)
                }
                Told::Anchors { scope, ids, .. } => {
                    let mut ids = ids.iter();
                    let is_new =
                        ids.all(|id| known.insert((ScopeKey::of(scope), None, Some((*id, false)))));
                    !is_new || !self.are_added(one)
                }
                Told::Dropped { scope, id, .. } => {
                    let scope = ScopeKey::of(scope);
                    let is_new = known.insert((scope, None, Some((*id, true))));
                    let row = self.anchors.get(&(scope, *id));
                    !is_new || !row.is_some_and(Anchor::is_dropped)
                }
                Told::Declared { scope, kind, seq } => {
                    let at = (ScopeKey::of(scope), kind.name);
                    let row = self.declared.get(&at);
                    let is_said = row.is_some_and(|row| {
                        row.kind() == *kind && row.seq == *seq && row.meaning == meaning(*kind)
                    });
                    !declared.insert(at) || !is_said
                }
            };
            wrong.then(|| format!("{one:?} is not there, or was acknowledged twice"))
        })
    }

    /// Whether evidence is there as it was handed over, and as its answer says.
    fn is_saved(
        &self,
        scope: &Scope,
        id: EvidenceId,
        (seq, hash, masked): (Seq, [u8; 32], u32),
        original: &Original,
    ) -> bool {
        let scope = ScopeKey::of(scope);
        let Some(row) = self.evidence.get(&(scope, id)) else {
            return false;
        };
        let is_named = row.title == original.title()
            && row.source == original.source()
            && row.media_type == MEDIA_TYPE;
        let is_answered =
            (row.seq, row.hash, row.masked) == (seq, hash, masked) && masked == original.secrets();
        let said = self.text(scope, row);
        is_named && is_answered && said == original.stored().as_bytes()
    }

    /// Whether anchors are there as they were handed over, one event behind the other.
    fn are_added(&self, told: &Told) -> bool {
        let Told::Anchors {
            scope,
            ids,
            seq,
            domain,
            said,
        } = told
        else {
            return false;
        };
        let scope = ScopeKey::of(scope);
        let behind = (0..ids.len() as u64).rev();
        let mut each = ids.iter().zip(said).zip(behind);
        let are_there = each.all(|((id, (hint, to)), behind)| {
            self.anchors.get(&(scope, *id)).is_some_and(|row| {
                let is_said = (&row.hint, &row.to, &row.domain) == (hint, to, domain);
                is_said && row.seq.get() + behind == seq.get()
            })
        });
        are_there && ids.len() == said.len()
    }
}

/// The rows of what was declared.
fn kinds(
    declared: &BTreeMap<(ScopeKey, RelationName), &Kept>,
) -> BTreeMap<(ScopeKey, RelationName), DeclaredRelation> {
    let rows = declared.iter().filter_map(|(at, kept)| {
        let KeptSaid::Declared {
            name,
            reach,
            meaning,
        } = &kept.said
        else {
            return None;
        };
        let row = DeclaredRelation {
            name: *name,
            reach: *reach,
            meaning: meaning.clone(),
            by: kept.by.clone(),
            at: kept.at,
            seq: kept.seq,
        };
        Some((*at, row))
    });
    rows.collect()
}

/// Where an anchor is listed.
fn place(scope: ScopeKey, id: AnchorId, row: &Anchor) -> anchor_listed::Key {
    anchor_listed::Key {
        scope,
        domain: DomainKey::of(&row.domain),
        added: row.seq,
        anchor: id,
    }
}

#[cfg(test)]
mod tests;
