//! Resolving the imports of a work tree that wait for it.
//!
//! Owns how much of that is done at once, and that it changes nothing until it is put in. It must not know the rules of
//! languages (see `resolve`), nor who waits for the end.

use crate::file_index::{FileIndex, Import};
use crate::imports::{FileImports, ImportEdge, ResolvedFile, Waiting};
use crate::limits::{EDGES_MAX, FILE_LOOKUPS_MAX, SETTLE_LOOKUPS_MAX};
use crate::resolve::Targets;
use crate::tables::FileNumber;
use crate::work_tree::WorkTree;

/// What some imports that waited mean.
#[derive(Debug, Default)]
pub(crate) struct Resolved {
    pub(crate) files: Vec<ResolvedFile>,
    /// Places that were looked at for it.
    pub(crate) looked_up: usize,
}

impl WorkTree {
    /// Resolves some of the imports that wait: as many as a bound of what is looked at lets it, and at least one file.
    pub(crate) fn resolve(&self) -> Resolved {
        let mut resolved = Resolved::default();
        for (number, waiting) in self.imports().waiting() {
            if resolved.looked_up >= SETTLE_LOOKUPS_MAX {
                break;
            }
            let of_file = self.resolve_file(number, waiting, &mut resolved.looked_up);
            resolved.files.push(of_file);
        }
        resolved
    }

    fn resolve_file(
        &self,
        number: FileNumber,
        waiting: &Waiting,
        looked_up: &mut usize,
    ) -> ResolvedFile {
        // Something is looked at even for a file without imports.
        *looked_up += 1;
        let mut of_file = ResolvedFile {
            number,
            imports: FileImports::default(),
            is_short: false,
        };
        let (Some(path), Some(file)) = (self.path(number), self.file_at(number)) else {
            return of_file;
        };
        if let Waiting::Some(some) = waiting
            && !self.imports().is_short(number)
        {
            of_file.imports = self.imports().without(number, some);
            let at = |place: &u32| Some((*place, file.imports.get(*place as usize)?));
            self.add(
                path,
                file,
                some.iter().filter_map(at),
                &mut of_file,
                looked_up,
            );
            if !of_file.is_short {
                return of_file;
            }
            (of_file.imports, of_file.is_short) = (FileImports::default(), false);
        }
        self.add(
            path,
            file,
            (0..).zip(&file.imports),
            &mut of_file,
            looked_up,
        );
        of_file
    }

    /// Adds what some imports of a file mean to what the others do.
    fn add<'f>(
        &self,
        path: &str,
        file: &FileIndex,
        imports: impl Iterator<Item = (u32, &'f Import)>,
        to: &mut ResolvedFile,
        looked_up: &mut usize,
    ) {
        let resolver = self.resolver();
        let (edges, asked) = (&mut to.imports.edges, &mut to.imports.asked);
        for (place, import) in imports {
            if resolver.looked_up() >= FILE_LOOKUPS_MAX {
                to.is_short = true;
                break;
            }
            let targets = resolver.targets_for(place, path, file, import);
            edges.extend(edges_to(to.number, place, targets));
            if edges.len() > EDGES_MAX {
                edges.truncate(EDGES_MAX);
                to.is_short = true;
                break;
            }
        }
        *looked_up += resolver.looked_up();
        edges.sort_by_key(|edge| edge.import);
        edges.shrink_to_fit();
        asked.extend(resolver.into_asked());
        asked.sort_unstable();
        asked.dedup();
        asked.shrink_to_fit();
    }
}

fn edges_to(number: FileNumber, import: u32, targets: Targets) -> impl Iterator<Item = ImportEdge> {
    let (is_certain, is_package) = (targets.is_certain, targets.is_package);
    let files = targets.files.into_iter();
    let others = files.filter(move |target| is_package || *target != number);
    others.map(move |target| ImportEdge {
        import,
        target,
        is_certain,
        is_package,
    })
}
