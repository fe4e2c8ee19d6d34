//! What is to be known before an entry is written: what is the same as it, or close to it, or contradicts it.

use super::{Ask, Need, hash_key};
use crate::dedup::compared_from;
use crate::entry::{ClaimHash, Table};
use crate::id::EntryId;
use crate::limits::CLAIMANTS_MAX;
use crate::ports::{ClaimRequest, NeighbourRequest};
use crate::promotion::NewEntry;

/// Live neighbours that are looked at before an episode is linked: so many that those of one task, which was verified
/// again and again, do not hide the success of another one.
const LINKED_NEIGHBOURS: usize = 64;
/// Live neighbours that are looked at before an entry is written that may merge: those that are the
/// same come first, and what contradicts it lies behind them.
const COMPARED_NEIGHBOURS: usize = 16;

impl Ask<'_> {
    /// Everything that may be the same as, or close to, an entry that is to be written, or that it contradicts.
    pub(super) fn entry(&mut self, number: usize, entry: &NewEntry) {
        self.claimants(number, entry);
        if !entry.table.is_compared() {
            return;
        }
        let links = entry.table == Table::Episodes;
        let key = hash_key(entry);
        self.by_hash(key);
        if let Some(same) = self.state.by_hash(&key) {
            self.candidate(same);
        }
        let Some(embedding) = &entry.embedding else {
            return;
        };
        let Some(thresholds) = self.facts.thresholds else {
            return;
        };
        let (cosine_min, limit) = if links {
            (thresholds.similar, LINKED_NEIGHBOURS)
        } else {
            (compared_from(thresholds), COMPARED_NEIGHBOURS)
        };
        match self.facts.neighbours.get(&number) {
            None => self.needs.push(Need::Neighbours(
                number,
                Box::new(NeighbourRequest {
                    scope: self.scope.clone(),
                    table: entry.table,
                    failure: entry.failure,
                    embedding: embedding.clone(),
                    cosine_min,
                    limit,
                }),
            )),
            Some(close) => {
                for neighbour in close {
                    self.candidate(neighbour.entry);
                }
            }
        }
    }

    /// What declares the same key with another value, however far it lies, and in whatever table.
    pub(super) fn claimants(&mut self, number: usize, entry: &NewEntry) {
        let Some(claim) = &entry.claim else {
            return;
        };
        match self.facts.claimants.get(&number) {
            None => self.needs.push(Need::Claimants(
                number,
                Box::new(ClaimRequest {
                    scope: self.scope.clone(),
                    failure: entry.failure,
                    // As it is stored.
                    claim: ClaimHash::of(&claim.masked(), self.scope),
                    limit: CLAIMANTS_MAX,
                }),
            )),
            Some(claimants) => claimants.iter().for_each(|id| self.candidate(*id)),
        }
    }

    pub(super) fn candidate(&mut self, id: EntryId) {
        self.head(id);
        if let Some(head) = self.state.head(id) {
            let asked = self
                .needs
                .iter()
                .any(|need| matches!(need, Need::Version(other, _) if *other == id));
            if !self.facts.versions.contains_key(&id) && !self.state.is_fresh(id) && !asked {
                self.needs.push(Need::Version(id, head.version));
            }
        }
    }
}
