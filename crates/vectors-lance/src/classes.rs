//! Which rows a filter admits, without a look at each of them: rows that a filter cannot tell apart share a set.
//!
//! Owns the sets of one scope's rows, and their union. A row takes two bytes in a set, or a bit where rows lie densely, beside
//! what each set takes itself. It must not know entries.

use std::collections::BTreeMap;

use roaring::RoaringBitmap;
use sillok_core::entry::{Status, Table};

use crate::filter::{Attributes, Filter};

/// Row addresses, by data file and place in it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Addresses(BTreeMap<u32, RoaringBitmap>);

impl Addresses {
    fn insert(&mut self, address: u64) {
        let (file, place) = split(address);
        self.0.entry(file).or_default().insert(place);
    }

    /// Takes an address out, if it is there.
    pub(crate) fn remove(&mut self, address: u64) {
        let (file, place) = split(address);
        if let Some(places) = self.0.get_mut(&file) {
            places.remove(place);
            if places.is_empty() {
                self.0.remove(&file);
            }
        }
    }

    /// Adds all of `other`.
    pub(crate) fn extend(&mut self, other: &Self) {
        for (file, places) in &other.0 {
            *self.0.entry(*file).or_default() |= places;
        }
    }

    /// Number of addresses.
    pub(crate) fn len(&self) -> u64 {
        self.0.values().map(RoaringBitmap::len).sum()
    }

    /// The places in each data file.
    pub(crate) fn files(&self) -> &BTreeMap<u32, RoaringBitmap> {
        &self.0
    }

    fn iter(&self) -> impl Iterator<Item = u64> {
        let of_file = |(file, places): (&u32, &RoaringBitmap)| {
            let file = u64::from(*file) << 32;
            let addresses = places.iter().map(move |place| file | u64::from(place));
            addresses.collect::<Vec<_>>()
        };
        self.0.iter().flat_map(of_file)
    }
}

/// The data file of an address, and the place in it.
fn split(address: u64) -> (u32, u32) {
    let file = u32::try_from(address >> 32).expect("half of 64 bits are 32");
    let place = u32::try_from(address & u64::from(u32::MAX)).expect("half of 64 bits are 32");
    (file, place)
}

/// What rows of a set have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Class {
    table: Table,
    status: Status,
    failure: bool,
    /// Which twentieth of all that it can be their confidence lies in; none where it is no number. No filter admits those,
    /// and beside others neither the least nor the greatest would tell of them.
    step: Option<u8>,
    has_vector: bool,
}

impl Class {
    fn of(attributes: &Attributes, has_vector: bool) -> Self {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a confidence lies between 0 and 1, and whatever does not falls into one of the steps"
        )]
        let step = (attributes.confidence.clamp(0.0, 1.0) * 20.0) as u8;
        let is_number = !attributes.confidence.is_nan();
        Self {
            table: attributes.table,
            status: attributes.status,
            failure: attributes.failure,
            step: is_number.then_some(step),
            has_vector,
        }
    }
}

/// The rows of a class, and the least and the greatest confidence that a row of it ever had.
#[derive(Debug)]
struct Alike {
    rows: Addresses,
    least: f64,
    most: f64,
}

/// The rows of one scope.
#[derive(Debug, Default)]
pub(crate) struct Classes(BTreeMap<Class, Alike>);

/// Which rows are admitted.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Rows {
    /// All of them.
    pub(crate) all: Addresses,
    /// Those that have a vector.
    pub(crate) with_vector: Addresses,
}

impl Classes {
    /// Adds a row that is not there.
    pub(crate) fn insert(&mut self, address: u64, attributes: &Attributes, has_vector: bool) {
        let confidence = attributes.confidence;
        let class = Class::of(attributes, has_vector);
        let alike = self.0.entry(class).or_insert_with(|| Alike {
            rows: Addresses::default(),
            least: confidence,
            most: confidence,
        });
        alike.rows.insert(address);
        alike.least = alike.least.min(confidence);
        alike.most = alike.most.max(confidence);
    }

    /// Takes a row out that was added with these attributes.
    pub(crate) fn remove(&mut self, address: u64, attributes: &Attributes, has_vector: bool) {
        let class = Class::of(attributes, has_vector);
        if let Some(alike) = self.0.get_mut(&class) {
            alike.rows.remove(address);
            if alike.rows.0.is_empty() {
                self.0.remove(&class);
            }
        }
    }

    /// Adds the rows to `admitted` that a filter admits. Where their confidence lies about what it asks for, `confidence_of` a
    /// row decides.
    pub(crate) fn admitted(
        &self,
        filter: &Filter,
        confidence_of: impl Fn(u64) -> Option<f64>,
        admitted: &mut Rows,
    ) {
        for (class, alike) in &self.0 {
            if !filter.admits_kind(class.table, class.status, class.failure) {
                continue;
            }
            if filter.admits_confidence(alike.least) {
                admitted.extend(&alike.rows, class.has_vector);
            } else if filter.admits_confidence(alike.most) {
                let is_enough = |address| {
                    confidence_of(address).is_some_and(|one| filter.admits_confidence(one))
                };
                let mut rows = Addresses::default();
                for address in alike.rows.iter().filter(|address| is_enough(*address)) {
                    rows.insert(address);
                }
                admitted.extend(&rows, class.has_vector);
            }
        }
    }
}

impl Rows {
    fn extend(&mut self, rows: &Addresses, have_vector: bool) {
        self.all.extend(rows);
        if have_vector {
            self.with_vector.extend(rows);
        }
    }

    /// Takes a row out, if it is there.
    pub(crate) fn remove(&mut self, address: u64) {
        self.all.remove(address);
        self.with_vector.remove(address);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use sillok_core::ports::SearchRequest;
    use sillok_core::scope::Scope;

    use super::*;

    fn attributes() -> impl Strategy<Value = Attributes> {
        let tables = prop::sample::select(vec![Table::Observations, Table::Episodes]);
        let statuses = prop::sample::select(vec![Status::Hypothesis, Status::Verified]);
        // At the edges of steps, beside them, and beyond what a confidence can be.
        let confidences = prop::sample::select(vec![
            f64::NAN,
            -1.0,
            0.0,
            0.15,
            0.29,
            0.3,
            0.300_000_1,
            0.35,
            0.7,
            1.0,
            2.0,
        ]);
        (tables, statuses, any::<bool>(), confidences).prop_map(
            |(table, status, failure, confidence)| Attributes {
                table,
                status,
                failure,
                confidence,
                claim: None,
            },
        )
    }

    fn filter() -> impl Strategy<Value = Filter> {
        // The first of them asks for no confidence.
        let confidences = prop::sample::select(vec![
            f64::NEG_INFINITY,
            0.0,
            0.15,
            0.3,
            0.300_000_1,
            0.31,
            1.0,
        ]);
        let statuses = prop::sample::subsequence(vec![Status::Hypothesis, Status::Verified], 0..=2);
        (any::<bool>(), any::<bool>(), statuses, confidences).prop_map(
            |(is_narrow, failures, statuses, confidence_min)| {
                Filter::of_search(&SearchRequest {
                    scopes: vec![Scope::parse("org/a/project/b").unwrap()],
                    tables: if is_narrow {
                        vec![Table::Episodes]
                    } else {
                        Vec::new()
                    },
                    statuses,
                    failures,
                    confidence_min,
                    text: String::new(),
                    embedding: None,
                    limit: 1,
                })
            },
        )
    }

    /// A row: its file, its place there, what it is like, and whether it has a vector.
    type Made = (u8, u32, Attributes, bool);

    fn rows() -> impl Strategy<Value = Vec<Made>> {
        prop::collection::vec((0..3_u8, 0..200_u32, attributes(), any::<bool>()), 0..80)
    }

    proptest! {
        #[test]
        fn what_is_admitted_is_what_the_filter_says_of_each_row(
            made in rows(),
            gone in prop::collection::vec(any::<prop::sample::Index>(), 0..20),
            filter in filter(),
        ) {
            let mut classes = Classes::default();
            let mut kept = BTreeMap::new();
            for (file, place, attributes, has_vector) in made {
                let address = u64::from(file) << 32 | u64::from(place);
                if kept.insert(address, (attributes, has_vector)).is_some() {
                    kept.remove(&address);
                    continue;
                }
            }
            for (address, (attributes, has_vector)) in &kept {
                classes.insert(*address, attributes, *has_vector);
            }
            for one in gone {
                if kept.is_empty() {
                    break;
                }
                let address = *kept.keys().nth(one.index(kept.len())).unwrap();
                let (attributes, has_vector) = kept.remove(&address).unwrap();
                classes.remove(address, &attributes, has_vector);
            }
            let mut admitted = Rows::default();
            let confidence_of = |address: u64| Some(kept.get(&address)?.0.confidence);
            classes.admitted(&filter, confidence_of, &mut admitted);
            let expected = |wants_vector: bool| -> Vec<u64> {
                let fits = |(attributes, has_vector): &(Attributes, bool)| {
                    filter.admits(attributes) && (*has_vector || !wants_vector)
                };
                kept.iter().filter(|(_, row)| fits(row)).map(|(address, _)| *address).collect()
            };
            prop_assert_eq!(admitted.all.iter().collect::<Vec<_>>(), expected(false));
            prop_assert_eq!(admitted.with_vector.iter().collect::<Vec<_>>(), expected(true));
            prop_assert_eq!(admitted.all.len(), expected(false).len() as u64);
            if kept.is_empty() {
                prop_assert!(classes.0.is_empty());
            }
        }
    }
}
