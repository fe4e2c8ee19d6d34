//! Where modules of Python lie.
//!
//! Owns the folders in which they are looked for. It must not know the paths that an interpreter is started with.

use crate::file_index::Import;
use crate::tables::FileNumber;

use super::{Resolver, Targets, place};

pub(super) fn targets(resolver: &Resolver<'_>, path: &str, import: &Import) -> Targets {
    let name = import.name.as_deref().filter(|name| *name != "*");
    let names = import.module.trim_start_matches('.');
    let dots = import.module.len() - names.len();
    let way = names.replace('.', "/");
    let folder = place::parent(path);
    if dots > 0 {
        let mut base = Some(folder);
        for _ in 1..dots {
            base = base.filter(|it| !it.is_empty()).map(place::parent);
        }
        return base
            .and_then(|base| resolver.python_module(base, &way, name))
            .map_or_else(Targets::none, Targets::one);
    }
    // The nearest folder that has it: a project may lie anywhere in the tree, and its sources in `src`.
    place::around(folder)
        .find_map(|base| {
            resolver
                .python_module(base, &way, name)
                .or_else(|| resolver.python_module(&place::within(base, "src"), &way, name))
        })
        .map_or_else(Targets::none, Targets::one)
}

impl Resolver<'_> {
    /// The module that a name of another one is, or else the other one.
    fn python_module(&self, base: &str, way: &str, name: Option<&str>) -> Option<FileNumber> {
        let module = place::within(base, way);
        name.and_then(|name| self.python_file(&place::within(&module, name)))
            .or_else(|| self.python_file(&module))
    }

    fn python_file(&self, module: &str) -> Option<FileNumber> {
        [".py", "/__init__.py", ".pyi", "/__init__.pyi"]
            .iter()
            .find_map(|end| self.file(format!("{module}{end}").trim_start_matches('/')))
    }
}
