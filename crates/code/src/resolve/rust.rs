//! Where modules of Rust lie.
//!
//! Owns the way from a path of names to a file: `a::b::C` lies in the deepest file of the modules `a` and `a::b` that
//! there is. It must not know attributes: a module with a path of its own is not found.

use crate::file_index::Import;
use crate::language::Language;
use crate::tables::FileNumber;

use super::{Resolver, Targets, place};

pub(super) fn targets(resolver: &Resolver<'_>, path: &str, import: &Import) -> Targets {
    let all = import.name.as_deref().filter(|name| *name != "*");
    let mut names: Vec<&str> = import.module.split("::").chain(all).collect();
    let modules = modules_of(path);
    let first = names.remove(0);
    let found = match first {
        "crate" => resolver
            .for_all(|| resolver.root_of(path))
            .and_then(|root| resolver.module(root, &names)),
        "self" if import.declares => resolver.deepest(&modules, &names),
        "self" => resolver.module(&modules, &names),
        "super" => {
            let mut above = place::parent(&modules);
            while names.first() == Some(&"super") {
                names.remove(0);
                above = place::parent(above);
            }
            resolver.module(above, &names)
        }
        "" | "std" | "core" | "alloc" => None,
        _ => {
            names.insert(0, first);
            let child = resolver.deepest(&modules, &names);
            return child.map_or_else(|| resolver.of_crate(&names), Targets::one);
        }
    };
    found.map_or_else(Targets::none, Targets::one)
}

/// The folder in which the modules lie that a file declares.
fn modules_of(path: &str) -> String {
    let folder = place::parent(path);
    match place::name(path) {
        "lib.rs" | "main.rs" | "mod.rs" => folder.to_owned(),
        _ => place::within(folder, place::stem(path)),
    }
}

impl Resolver<'_> {
    /// The folder of the root of the crate that a file belongs to.
    fn root_of<'p>(&self, path: &'p str) -> Option<&'p str> {
        place::around(place::parent(path)).find(|folder| {
            let is_file = |name| self.file(&place::within(folder, name)).is_some();
            is_file("lib.rs") || is_file("main.rs")
        })
    }

    /// The file of the deepest of these modules that there is below a folder.
    fn deepest(&self, folder: &str, names: &[&str]) -> Option<FileNumber> {
        let mut found = None;
        let mut at = folder.to_owned();
        for name in names.iter().take(MODULES_MAX) {
            at = place::within(&at, name);
            found = self
                .file(&format!("{at}.rs"))
                .or_else(|| self.file(&format!("{at}/mod.rs")))
                .or(found);
        }
        found
    }

    /// The same, or the file of the module whose folder it is.
    fn module(&self, folder: &str, names: &[&str]) -> Option<FileNumber> {
        self.deepest(folder, names).or_else(|| {
            let own = format!("{folder}.rs");
            let inside = ["lib.rs", "main.rs", "mod.rs"].map(|name| place::within(folder, name));
            self.first(inside.iter().map(String::as_str).chain([own.as_str()]))
        })
    }

    /// The same in a crate of the work tree.
    fn of_crate(&self, names: &[&str]) -> Targets {
        let Some((name, names)) = names.split_first() else {
            return Targets::none();
        };
        let folders = self.folders_of(Language::CargoManifest, name);
        let found = folders.into_iter().filter_map(|folder| {
            let source = place::within(folder, "src");
            self.module(&source, names)
        });
        Targets::one_of(found)
    }
}

/// Modules that are followed of one path.
const MODULES_MAX: usize = 32;
