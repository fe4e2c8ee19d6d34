//! Where headers lie.
//!
//! Owns the folders in which they are looked for. It must not know those that a compiler is told.

use crate::file_index::Import;
use crate::limits::HEADERS_MAX;
use crate::tables::FileNumber;

use super::{Question, Resolver, Targets, place};

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
    /// One of the files whose paths end with this. Where too many have its name nothing is said.
    fn ending(&self, way: &str) -> Targets {
        let way = way.trim_start_matches("../").trim_start_matches("./");
        let (name, end) = (place::name(way), format!("/{way}"));
        self.ask(|| Question::file_name(name));
        let named = self.tables.with_name(name).take(HEADERS_MAX + 1);
        let named: Vec<FileNumber> = named.collect();
        self.count(named.len());
        if named.len() > HEADERS_MAX {
            return Targets::none();
        }
        let is_it = |number: &FileNumber| {
            let path = self.path_of(*number);
            path.is_some_and(|path| path.ends_with(&end))
        };
        Targets::one_of(named.into_iter().filter(is_it))
    }
}
