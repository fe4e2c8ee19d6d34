//! A multi-version ordered map: what engines in memory keep, and read as of any recent commit.
//!
//! Owns the versions and when they are forgotten. Must not know who commits, nor what is durable.

use std::collections::{BTreeMap, VecDeque};

use bytes::Bytes;

use crate::committer::{Base, Group};
use crate::{Error, KeyRange};

/// Versions of each key in rising order, the newest last.
#[derive(Debug, Default)]
pub struct Versions {
    pub(crate) versions_by_key: BTreeMap<Bytes, Vec<(u64, Option<Bytes>)>>,
    pub(crate) written: VecDeque<(u64, Bytes)>,
    last: u64,
    floor: u64,
}

impl Versions {
    /// No keys, as of commit `counter`.
    #[must_use]
    pub fn empty_at(counter: u64) -> Self {
        Self {
            last: counter,
            floor: counter,
            ..Self::default()
        }
    }

    /// The counter of the newest commit.
    #[must_use]
    pub const fn last(&self) -> u64 {
        self.last
    }

    /// The value of `key` as of commit `version`.
    ///
    /// # Errors
    /// `TooOld` when that moment is no longer kept.
    pub fn get(&self, key: &[u8], version: u64) -> Result<Option<Bytes>, Error> {
        self.readable(version)?;
        Ok(self.get_at(key, version))
    }

    /// Feeds the pairs of `range` as of commit `version` to `scan`, from its end when `reverse`.
    ///
    /// # Errors
    /// `TooOld` when that moment is no longer kept, and whatever `scan` answers.
    pub fn scan<R>(
        &self,
        range: &KeyRange,
        reverse: bool,
        version: u64,
        scan: impl FnOnce(&mut dyn Iterator<Item = Result<(Bytes, Bytes), Error>>) -> Result<R, Error>,
    ) -> Result<R, Error> {
        self.readable(version)?;
        let mut pairs = self
            .versions_by_key
            .range::<Bytes, _>(&range.begin..&range.end)
            .filter_map(|(key, versions)| Some(Ok((key.clone(), value_at(versions, version)?))));
        if reverse {
            scan(&mut pairs.rev())
        } else {
            scan(&mut pairs)
        }
    }

    fn readable(&self, version: u64) -> Result<(), Error> {
        assert!(version <= self.last, "a view cannot be of the future");
        if version < self.floor {
            Err(Error::TooOld)
        } else {
            Ok(())
        }
    }

    fn get_at(&self, key: &[u8], version: u64) -> Option<Bytes> {
        value_at(self.versions_by_key.get(key)?, version)
    }

    /// Makes `group` the newest version, and drops what no view at or above `floor` can see.
    pub fn apply(&mut self, group: Group, floor: u64) {
        assert!(group.counter >= self.last, "commits rise");
        self.last = group.counter;
        for (key, value) in group.writes {
            self.written.push_back((group.counter, key.clone()));
            self.versions_by_key
                .entry(key)
                .or_default()
                .push((group.counter, value));
        }
        self.floor = self.floor.max(floor);
        while let Some((_, key)) = self
            .written
            .pop_front_if(|(version, _)| *version <= self.floor)
        {
            self.forget(&key);
        }
    }

    fn forget(&mut self, key: &Bytes) {
        let floor = self.floor;
        let Some(versions) = self.versions_by_key.get_mut(key) else {
            return;
        };
        let newest_old = versions.iter().rposition(|(version, _)| *version <= floor);
        versions.drain(..newest_old.unwrap_or(0));
        // A removal that every view sees is the same as no key at all.
        if matches!(versions.as_slice(), [(version, None)] if *version <= floor) {
            self.versions_by_key.remove(key);
        }
    }
}

fn value_at(versions: &[(u64, Option<Bytes>)], version: u64) -> Option<Bytes> {
    versions
        .iter()
        .rev()
        .find(|(written, _)| *written <= version)?
        .1
        .clone()
}

impl Base for Versions {
    fn get(&self, key: &[u8]) -> Result<Option<Bytes>, Error> {
        Ok(self.get_at(key, self.last))
    }

    fn keys(&self, range: &KeyRange) -> Result<Vec<Bytes>, Error> {
        let living = self
            .versions_by_key
            .range::<Bytes, _>(&range.begin..&range.end)
            .filter(|(_, versions)| versions.last().is_some_and(|(_, value)| value.is_some()))
            .map(|(key, _)| key.clone());
        Ok(living.collect())
    }
}
