//! Where headers lie.
//!
//! Owns the folders in which they are looked for. It must not know those that a compiler is told.

use crate::file_index::Import;
use crate::limits::LOOKUPS_MAX;
use crate::tables::FileNumber;

use super::{Resolver, Targets, place};

pub(super) fn targets(resolver: &Resolver<'_>, path: &str, import: &Import) -> Targets {
    let written = &*import.module;
    let way = written.trim_matches(['<', '>']);
    let is_system = way.len() != written.len();
    if !is_system {
        let beside = place::follow(place::parent(path), way);
        if let Some(found) = beside.and_then(|beside| resolver.file(&beside)) {
            return Targets::one(found);
        }
    }
    for base in ["include", "src", ""] {
        // A header of the system that lies in the root by chance is another one.
        if base.is_empty() && is_system && !way.contains('/') {
            continue;
        }
        let found = place::follow(base, way).and_then(|it| resolver.file(&it));
        if let Some(found) = found {
            return Targets::one(found);
        }
    }
    if is_system && !way.contains('/') {
        return Targets::none();
    }
    resolver.ending(way)
}

impl Resolver<'_> {
    /// One of the files whose paths end with this.
    fn ending(&self, way: &str) -> Targets {
        let way = way.trim_start_matches("../").trim_start_matches("./");
        let end = format!("/{way}");
        let named = self.tables.with_name(place::name(way)).take(LOOKUPS_MAX);
        let found: Vec<FileNumber> = named
            .filter(|number| {
                self.path_of(*number)
                    .is_some_and(|path| path.ends_with(&end))
            })
            .collect();
        Targets::one_of(found.into_iter())
    }
}
