//! What no index of a table covers yet: states that are pending, and stored rows that wait to be
//! indexed. Searched exactly, in memory.
//!
//! Owns read-your-writes: a state that is offered is found by the next search, and hides the stored
//! row of the same entry. It must not know files.

use std::collections::BTreeMap;
use std::sync::Arc;

use lance_linalg::distance::dot;
use sillok_core::entry::ClaimHash;
use sillok_core::id::EntryId;
use sillok_core::ports::Ranked;
use sillok_core::scope::Scope;
use sillok_core::stamp::Stamp;

use crate::claims::{Claims, Smallest};
use crate::filter::{Attributes, Filter};
use crate::ranking::best;

/// k1 of BM25, as Lance's index has it.
const K1: f32 = 1.2;
/// b of BM25, as Lance's index has it.
const B: f32 = 0.75;

/// One state of an entry.
#[derive(Clone, Debug)]
pub(crate) struct DeltaRow {
    pub(crate) scope: Scope,
    pub(crate) entry: EntryId,
    pub(crate) stamp: Stamp,
    pub(crate) attributes: Attributes,
    /// A vector of length 1 of the space that is searched.
    pub(crate) vector: Option<Vec<f32>>,
    /// Whether the table holds this state.
    pub(crate) stored: bool,
}

/// A row with what its text is found by.
#[derive(Debug)]
struct Held {
    row: DeltaRow,
    /// The distinct terms, shared with their postings.
    terms: Box<[Arc<str>]>,
    /// Terms of the text, each as often as it occurs.
    length: u32,
}

/// What is known of all texts of a table.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Corpus {
    /// Texts.
    pub(crate) texts: u64,
    /// Terms in all of them.
    pub(crate) terms: u64,
    /// Texts that hold each term of the query.
    pub(crate) holding: BTreeMap<String, u64>,
}

/// The rows, by number; numbers are given once.
#[derive(Debug, Default)]
pub(crate) struct Delta {
    rows: BTreeMap<u64, Held>,
    keys: BTreeMap<Scope, BTreeMap<EntryId, u64>>,
    /// What the rows of each scope claim, where any does.
    claims: BTreeMap<Scope, Claims>,
    /// Rows and counts of each term.
    postings: BTreeMap<Arc<str>, BTreeMap<u64, u32>>,
    terms: u64,
    pending: usize,
    next: u64,
}

impl Delta {
    /// Number of rows.
    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    /// Rows that the table does not hold yet.
    pub(crate) fn pending(&self) -> usize {
        self.pending
    }

    /// The entry's state.
    pub(crate) fn get(&self, scope: &Scope, entry: EntryId) -> Option<&DeltaRow> {
        let held = self.rows.get(self.keys.get(scope)?.get(&entry)?)?;
        Some(&held.row)
    }

    /// The entries of a scope that have a state here.
    pub(crate) fn entries_of<'a>(
        &'a self,
        scope: &Scope,
    ) -> impl Iterator<Item = EntryId> + use<'a> {
        let entries = self.keys.get(scope).into_iter();
        entries.flat_map(|entries| entries.keys().copied())
    }

    /// Takes a state, whose text holds these terms so many times, unless one at least as new is
    /// here. With a vector a state is newer than without.
    pub(crate) fn offer(&mut self, row: DeltaRow, counts: BTreeMap<String, u32>) {
        let newness = |row: &DeltaRow| (row.stamp, row.vector.is_some());
        if self
            .get(&row.scope, row.entry)
            .is_some_and(|known| newness(known) >= newness(&row))
        {
            return;
        }
        self.remove(&row.scope, row.entry);
        let number = self.next;
        self.next += 1;
        let length = counts.values().sum();
        let mut terms = Vec::with_capacity(counts.len());
        for (term, count) in counts {
            let known = self.postings.get_key_value(term.as_str());
            let term = known.map_or_else(|| term.into(), |(term, _)| Arc::clone(term));
            self.postings
                .entry(Arc::clone(&term))
                .or_default()
                .insert(number, count);
            terms.push(term);
        }
        self.terms += u64::from(length);
        self.pending += usize::from(!row.stored);
        if row.attributes.claim.is_some() {
            let claims = self.claims.entry(row.scope.clone()).or_default();
            claims.insert(row.attributes.claim, row.entry);
        }
        self.keys
            .entry(row.scope.clone())
            .or_default()
            .insert(row.entry, number);
        self.rows.insert(
            number,
            Held {
                row,
                terms: terms.into(),
                length,
            },
        );
    }

    /// Forgets the entry's state.
    fn remove(&mut self, scope: &Scope, entry: EntryId) {
        let Some(number) = self
            .keys
            .get_mut(scope)
            .and_then(|entries| entries.remove(&entry))
        else {
            return;
        };
        let held = self.rows.remove(&number).expect("every key has a row");
        for term in &held.terms {
            let postings = self
                .postings
                .get_mut(term)
                .expect("every term of a row has postings");
            postings.remove(&number);
            if postings.is_empty() {
                self.postings.remove(term);
            }
        }
        if let Some(claims) = self.claims.get_mut(scope) {
            claims.remove(held.row.attributes.claim, entry);
        }
        self.terms -= u64::from(held.length);
        self.pending -= usize::from(!held.row.stored);
    }

    /// Compares each state with what the table holds: `stored` answers the stamp of the stored row
    /// and whether indices cover it. A state that is stored is marked so; one that is covered, that is
    /// older than the stored row, or that was stored and is no longer, is forgotten.
    pub(crate) fn settle(
        &mut self,
        mut stored: impl FnMut(&Scope, EntryId) -> Option<(Stamp, bool)>,
    ) {
        let mut gone = Vec::new();
        for Held { row, .. } in self.rows.values_mut() {
            let known = stored(&row.scope, row.entry);
            if settled(row, known, &mut self.pending) {
                gone.push((row.scope.clone(), row.entry));
            }
        }
        for (scope, entry) in gone {
            self.remove(&scope, entry);
        }
    }

    /// As [`settle`](Self::settle), of these entries alone.
    pub(crate) fn settle_of<'a>(
        &mut self,
        entries: impl IntoIterator<Item = (&'a Scope, EntryId)>,
        mut stored: impl FnMut(&Scope, EntryId) -> Option<(Stamp, bool)>,
    ) {
        for (scope, entry) in entries {
            let number = self.keys.get(scope).and_then(|held| held.get(&entry));
            let Some(held) = number.and_then(|number| self.rows.get_mut(number)) else {
                continue;
            };
            if settled(&mut held.row, stored(scope, entry), &mut self.pending) {
                self.remove(scope, entry);
            }
        }
    }

    /// The admitted rows closest to `query`, closest first, with their cosines.
    pub(crate) fn closest(
        &self,
        query: &[f32],
        filter: &Filter,
        cosine_min: f32,
        limit: usize,
    ) -> Vec<Ranked> {
        let numbers = filter
            .scopes()
            .iter()
            .filter_map(|scope| self.keys.get(scope))
            .flat_map(BTreeMap::values);
        let rows = numbers
            .map(|number| &self.rows[number].row)
            .filter(|row| filter.admits(&row.attributes));
        let scored = rows.filter_map(|row| Some((row, dot(query, row.vector.as_deref()?))));
        best(
            scored
                .filter(|(_, cosine)| *cosine >= cosine_min)
                .map(|(row, cosine)| ranked(row, cosine))
                .collect(),
            limit,
        )
    }

    /// Brings the admitted rows of a scope into `found` that declare the key of a claim with another value.
    pub(crate) fn claimants(
        &self,
        scope: &Scope,
        claim: ClaimHash,
        filter: &Filter,
        found: &mut Smallest,
    ) {
        let Some(claims) = self.claims.get(scope) else {
            return;
        };
        let admits = |entry| {
            let row = self.get(scope, entry);
            row.is_some_and(|row| filter.admits(&row.attributes))
        };
        claims.against(claim, admits, found);
    }

    /// Adds what these rows hold to what an index knows of the same terms.
    pub(crate) fn count_into(&self, terms: &[String], corpus: &mut Corpus) {
        corpus.texts += self.rows.len() as u64;
        corpus.terms += self.terms;
        for term in terms {
            let holding = self.postings.get(term.as_str()).map_or(0, BTreeMap::len) as u64;
            *corpus.holding.entry(term.clone()).or_default() += holding;
        }
    }

    /// The admitted rows that answer `terms` best by BM25. How rare a term is, and how long a text
    /// is, is judged by `corpus`, which counts these rows as well.
    #[expect(
        clippy::cast_precision_loss,
        reason = "counts of texts and terms need no more than 24 bits of precision"
    )]
    pub(crate) fn answering(
        &self,
        terms: &[String],
        corpus: &Corpus,
        filter: &Filter,
        limit: usize,
    ) -> Vec<Ranked> {
        let texts = corpus.texts as f32;
        let length_mean = (corpus.terms as f32 / texts).max(1.0);
        let mut scores = BTreeMap::<u64, f32>::new();
        for term in terms {
            let Some(postings) = self.postings.get(term.as_str()) else {
                continue;
            };
            let holding = corpus.holding.get(term).copied().unwrap_or(0) as f32;
            let rarity = ((texts - holding + 0.5).max(0.0) / (holding + 0.5) + 1.0).ln();
            for (number, count) in postings {
                let Held { row, length, .. } = &self.rows[number];
                if filter.scopes().binary_search(&row.scope).is_ok()
                    && filter.admits(&row.attributes)
                {
                    let count = *count as f32;
                    let norm = K1 * (1.0 - B + B * *length as f32 / length_mean);
                    *scores.entry(*number).or_default() +=
                        rarity * (K1 + 1.0) * count / (count + norm);
                }
            }
        }
        best(
            scores
                .into_iter()
                .map(|(number, score)| ranked(&self.rows[&number].row, score))
                .collect(),
            limit,
        )
    }
}

/// Marks a state as stored that is, by the stamp of its row in the table and whether indices cover that one. Whether it
/// need not be held any more.
fn settled(row: &mut DeltaRow, known: Option<(Stamp, bool)>, pending: &mut usize) -> bool {
    match known {
        Some((stamp, covered)) if stamp >= row.stamp => {
            *pending -= usize::from(!row.stored);
            row.stored = true;
            covered
        }
        Some(_) => false,
        None => row.stored,
    }
}

fn ranked(row: &DeltaRow, score: f32) -> Ranked {
    Ranked {
        scope: row.scope.clone(),
        entry: row.entry,
        score,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use sillok_core::entry::{Status, Table};

    use super::*;

    /// Entries that there are in these tests.
    const ENTRIES: u8 = 6;

    fn id(number: u8) -> EntryId {
        EntryId::from_bytes([number; 16])
    }

    fn scope() -> Scope {
        "org/acme/project/api".parse().unwrap()
    }

    fn stamp(counter: u64) -> Stamp {
        Stamp {
            counter,
            ..Stamp::ZERO
        }
    }

    fn row(entry: u8, counter: u64, stored: bool) -> DeltaRow {
        DeltaRow {
            scope: scope(),
            entry: id(entry),
            stamp: stamp(counter),
            attributes: Attributes {
                table: Table::Observations,
                status: Status::Verified,
                failure: false,
                confidence: 0.8,
                claim: None,
            },
            vector: None,
            stored,
        }
    }

    /// What a table holds of each entry: the stamp, and whether indices cover it.
    type Known = BTreeMap<EntryId, (Stamp, bool)>;

    fn known_of(rows: &[(u8, u64, bool)]) -> Known {
        let known = |&(entry, counter, covered)| (id(entry), (stamp(counter), covered));
        rows.iter().map(known).collect()
    }

    fn delta_of(rows: &[(u8, u64, bool)]) -> Delta {
        let mut delta = Delta::default();
        for &(entry, counter, stored) in rows {
            let counts = BTreeMap::from([("cache".to_owned(), 1)]);
            delta.offer(row(entry, counter, stored), counts);
        }
        delta
    }

    /// What is held of each entry, and how many of that is pending.
    fn held(delta: &Delta) -> (usize, Vec<Option<(Stamp, bool)>>) {
        let of = |entry| {
            let row = delta.get(&scope(), id(entry))?;
            Some((row.stamp, row.stored))
        };
        (delta.pending(), (0..ENTRIES).map(of).collect())
    }

    fn rows() -> impl Strategy<Value = Vec<(u8, u64, bool)>> {
        proptest::collection::vec((0..ENTRIES, 1_u64..5, any::<bool>()), 0..12)
    }

    proptest! {
        #[test]
        fn settling_some_settles_them_as_settling_all_does_and_leaves_the_others(
            offered in rows(),
            stored in rows(),
            some in proptest::collection::btree_set(0..ENTRIES, 0..=usize::from(ENTRIES)),
        ) {
            let known = known_of(&stored);
            let of = |_: &Scope, entry: EntryId| known.get(&entry).copied();
            let (before, mut all, mut of_some) =
                (delta_of(&offered), delta_of(&offered), delta_of(&offered));
            all.settle(of);
            let home = scope();
            of_some.settle_of(some.iter().map(|entry| (&home, id(*entry))), of);
            let (before, all, of_some) = (held(&before), held(&all), held(&of_some));
            for entry in 0..ENTRIES {
                let expected = if some.contains(&entry) { &all } else { &before };
                let place = usize::from(entry);
                prop_assert_eq!(of_some.1[place], expected.1[place]);
            }
            let pending = of_some.1.iter().flatten().filter(|(_, stored)| !stored).count();
            prop_assert_eq!(of_some.0, pending);
        }
    }
}
