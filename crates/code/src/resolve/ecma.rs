//! Where modules of JavaScript and TypeScript lie.
//!
//! Owns the ends of names that are tried, and the packages of the work tree. It must not know the paths that a compiler is
//! configured with.

use crate::file_index::Import;
use crate::language::Language;
use crate::tables::FileNumber;

use super::{Resolver, Targets, place};

/// In the order in which they are tried.
const ENDS: &[&str] = &[
    ".ts", ".tsx", ".d.ts", ".mts", ".cts", ".js", ".jsx", ".mjs", ".cjs",
];

/// What a name in a module may stand for in its source.
const WRITTEN_AS: &[(&str, &[&str])] = &[
    (".js", &[".ts", ".tsx"]),
    (".jsx", &[".tsx"]),
    (".mjs", &[".mts"]),
    (".cjs", &[".cts"]),
];

pub(super) fn targets(resolver: &Resolver<'_>, path: &str, import: &Import) -> Targets {
    let module = &*import.module;
    if module.starts_with('.') {
        return place::follow(place::parent(path), module)
            .and_then(|base| resolver.module_at(&base))
            .map_or_else(Targets::none, Targets::one);
    }
    resolver.of_package(module)
}

impl Resolver<'_> {
    /// The file that `base` names with an end, or as a folder.
    fn module_at(&self, base: &str) -> Option<FileNumber> {
        self.file_of(base)
            .filter(|_| place::name(base).contains('.'))
            .or_else(|| self.with_end(base))
            .or_else(|| self.with_end(&place::within(base, "index")))
    }

    fn file_of(&self, base: &str) -> Option<FileNumber> {
        self.file(base).or_else(|| {
            WRITTEN_AS.iter().find_map(|(end, sources)| {
                let stem = base.strip_suffix(end)?;
                sources
                    .iter()
                    .find_map(|source| self.file(&format!("{stem}{source}")))
            })
        })
    }

    fn with_end(&self, base: &str) -> Option<FileNumber> {
        ENDS.iter()
            .find_map(|end| self.file(&format!("{base}{end}")))
    }

    /// A module of a package of the work tree, by the name in its manifest: in `src` or beside the manifest.
    fn of_package(&self, module: &str) -> Targets {
        let parts = module.match_indices('/').map(|(at, _)| at);
        let ends: Vec<usize> = parts.chain([module.len()]).take(PARTS_MAX).collect();
        for end in ends.into_iter().rev() {
            let (name, rest) = module.split_at(end);
            let folders = self.folders_of(Language::NpmManifest, name);
            let found = folders.into_iter().filter_map(|folder| {
                ["src", ""].iter().find_map(|inside| {
                    let folder = place::within(folder, inside);
                    self.module_at(&place::within(&folder, rest.trim_start_matches('/')))
                })
            });
            let targets = Targets::one_of(found);
            if !targets.files.is_empty() {
                return targets;
            }
        }
        Targets::none()
    }
}

/// Parts of a name that are tried as the name of a package.
const PARTS_MAX: usize = 8;
