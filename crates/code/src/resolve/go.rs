//! Where packages of Go lie.
//!
//! Owns the way from an import path over the module of a manifest to a folder. It must not know modules outside the work tree.

use crate::file_index::Import;
use crate::language::Language;

use super::{Question, Resolver, Targets, place};

pub(super) fn targets(resolver: &Resolver<'_>, import: &Import) -> Targets {
    let path = &*import.module;
    let parts = path.match_indices('/').map(|(at, _)| at);
    let ends: Vec<usize> = parts.chain([path.len()]).take(PARTS_MAX).collect();
    // The longest module that the path begins with is the one that is meant.
    for end in ends.into_iter().rev() {
        let (module, rest) = path.split_at(end);
        let folders = resolver.folders_of(Language::GoManifest, module);
        let Some(folder) = folders.first() else {
            continue;
        };
        let folder = place::within(folder, rest.trim_start_matches('/'));
        resolver.ask(|| Question::go_package(&folder));
        let first = resolver.go_package(&folder).next();
        return first.map_or_else(Targets::none, Targets::package);
    }
    Targets::none()
}

/// Whether what imports a package means the file at this path, where that lies in its folder.
pub(crate) fn is_of_package(path: &str) -> bool {
    path.ends_with(".go") && !path.ends_with("_test.go")
}

/// Parts of a path that are tried as a module.
const PARTS_MAX: usize = 32;
