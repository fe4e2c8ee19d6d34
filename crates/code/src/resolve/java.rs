//! Where classes of Java lie.
//!
//! Owns the way from a qualified name over the packages that files say they belong to. It must not know archives.

use crate::file_index::Import;
use crate::language::Language;
use crate::limits::LOOKUPS_MAX;
use crate::tables::FileNumber;

use super::{Question, Resolver, Targets, place};

pub(super) fn targets(resolver: &Resolver<'_>, import: &Import) -> Targets {
    let module = &*import.module;
    match import.name.as_deref() {
        Some("*") => {
            resolver.ask(|| Question::package(Language::Java, module));
            let all = resolver.tables.of_package(Language::Java, module);
            let all = Targets::all(all);
            resolver.count(all.files.len());
            if all.files.is_empty() {
                return resolver.class(module);
            }
            all
        }
        Some(name) => resolver.class(&format!("{module}.{name}")),
        None => Targets::none(),
    }
}

impl Resolver<'_> {
    /// The file of a class, or of the one that it lies in, or that it is a member of.
    fn class(&self, name: &str) -> Targets {
        let mut name = name;
        for _ in 0..NESTED_MAX {
            let Some((package, class)) = name.rsplit_once('.') else {
                break;
            };
            self.ask(|| Question::class(package, class));
            let is_it = |number: &FileNumber| {
                self.count(1);
                let is_named = self.path_of(*number).map(place::stem) == Some(class);
                is_named && self.tables.is_of_package(Language::Java, package, *number)
            };
            let named = self.tables.with_name(&format!("{class}.java"));
            let named = named.take(LOOKUPS_MAX);
            let found: Vec<FileNumber> = named.filter(is_it).collect();
            if !found.is_empty() {
                return Targets::one_of(found.into_iter());
            }
            name = package;
        }
        Targets::none()
    }
}

/// Classes in one another, and a member, that are looked through.
const NESTED_MAX: usize = 4;
