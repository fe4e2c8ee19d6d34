//! What the imports of the files of one work tree mean.
//!
//! Owns the edges, and which imports are to be resolved again: those that asked for what came or went. It must not know how an
//! import is resolved.

use std::collections::{BTreeMap, BTreeSet};

use crate::limits::WAITING_IMPORTS_MAX;
use crate::resolve::{OF_FILE, Question};
use crate::tables::FileNumber;

/// An import of a file, and a file that it means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ImportEdge {
    /// Its place among the imports of its file.
    pub(crate) import: u32,
    pub(crate) target: FileNumber,
    pub(crate) is_certain: bool,
    /// Whether all files of the package are meant that the target is the first of.
    pub(crate) is_package: bool,
}

/// Bytes of memory of a file that imports another one, about.
const IMPORTED_BYTES: usize = 12;
/// The same of a question, with the import that asks it: a triple in a tree that is not full.
const ASKING_BYTES: usize = 20;

/// What the imports of one file mean, and what they asked for.
#[derive(Clone, Debug, Default)]
pub(crate) struct FileImports {
    /// By the places of its imports.
    pub(crate) edges: Vec<ImportEdge>,
    /// In order, each once.
    pub(crate) asked: Vec<(u32, Question)>,
}

impl FileImports {
    fn heap_bytes(&self) -> usize {
        bytes(self.edges.len(), self.edges.len(), self.asked.len())
    }
}

const fn bytes(edges: usize, imported: usize, asked: usize) -> usize {
    edges * size_of::<ImportEdge>()
        + imported * IMPORTED_BYTES
        + asked * (size_of::<(u32, Question)>() + ASKING_BYTES)
}

/// Which imports of a file are to be resolved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Waiting {
    All,
    /// These, by their places.
    Some(BTreeSet<u32>),
}

/// What was resolved of one file.
#[derive(Debug)]
pub(crate) struct ResolvedFile {
    pub(crate) number: FileNumber,
    pub(crate) imports: FileImports,
    /// Whether it has more imports than are followed.
    pub(crate) is_short: bool,
}

/// The imports of one work tree.
#[derive(Clone, Debug, Default)]
pub(crate) struct Imports {
    of: BTreeMap<FileNumber, FileImports>,
    edges: usize,
    /// What is imported, and by whom.
    imported: BTreeSet<(FileNumber, FileNumber)>,
    /// What is asked for, and by whom.
    asking: BTreeSet<(Question, FileNumber, u32)>,
    /// Files some of whose imports are not followed.
    short: BTreeSet<FileNumber>,
    /// Those of them for which there was no room, and the fewest bytes that one of them needs.
    roomless: BTreeSet<FileNumber>,
    needed: usize,
    /// What may have another answer than it had.
    answered: BTreeSet<Question>,
    waiting: BTreeMap<FileNumber, Waiting>,
}

impl Imports {
    pub(crate) fn edges(&self, number: FileNumber) -> &[ImportEdge] {
        self.of.get(&number).map_or(&[], |of| of.edges.as_slice())
    }

    /// The edges of one import of a file.
    pub(crate) fn edges_of(&self, number: FileNumber, import: u32) -> &[ImportEdge] {
        let edges = self.edges(number);
        let from = edges.partition_point(|edge| edge.import < import);
        let to = edges.partition_point(|edge| edge.import <= import);
        edges.get(from..to).unwrap_or_default()
    }

    /// The files with an import that means this one.
    pub(crate) fn importing(
        &self,
        number: FileNumber,
    ) -> impl Iterator<Item = FileNumber> + use<'_> {
        self.imported
            .range((number, FileNumber::FIRST)..=(number, FileNumber::LAST))
            .map(|(_, importing)| *importing)
    }

    /// About how many bytes of memory they take, but for those that wait.
    pub(crate) fn heap_bytes(&self) -> usize {
        bytes(self.edges, self.imported.len(), self.asking.len())
    }

    /// Files some of whose imports are not followed, or not yet.
    pub(crate) fn cut(&self) -> usize {
        let waiting = self.waiting.keys();
        self.short.len() + waiting.filter(|it| !self.short.contains(it)).count()
    }

    pub(crate) fn is_short(&self, number: FileNumber) -> bool {
        self.short.contains(&number)
    }

    pub(crate) fn is_short_of_room(&self) -> bool {
        !self.roomless.is_empty()
    }

    pub(crate) fn is_settled(&self) -> bool {
        self.waiting.is_empty()
    }

    /// What is to be resolved, by files.
    pub(crate) fn waiting(&self) -> impl Iterator<Item = (FileNumber, &Waiting)> {
        self.waiting
            .iter()
            .map(|(number, waiting)| (*number, waiting))
    }

    /// Notes that questions may have other answers by now.
    pub(crate) fn answer(&mut self, questions: impl IntoIterator<Item = Question>) {
        self.answered.extend(questions);
    }

    /// Notes that a file has other imports than it had, or comes.
    pub(crate) fn renew(&mut self, number: FileNumber) {
        self.forget(number);
        self.waiting.insert(number, Waiting::All);
    }

    /// Takes out a file that goes: what it imports, and that it is imported.
    pub(crate) fn remove(&mut self, number: FileNumber) {
        self.forget(number);
        self.waiting.remove(&number);
        let importing: Vec<FileNumber> = self.importing(number).collect();
        for other in importing {
            self.imported.remove(&(number, other));
            if let Some(of) = self.of.get_mut(&other) {
                let before = of.edges.len();
                of.edges.retain(|edge| edge.target != number);
                self.edges -= before - of.edges.len();
            }
        }
    }

    /// Finds who asked for what may have another answer. With so many bytes free, those that need no more are tried again.
    pub(crate) fn concern(&mut self, free: usize) {
        for question in core::mem::take(&mut self.answered) {
            self.concern_one(question);
        }
        if free >= self.needed {
            for number in core::mem::take(&mut self.roomless) {
                self.waiting.insert(number, Waiting::All);
            }
            self.needed = usize::MAX;
        }
    }

    fn concern_one(&mut self, question: Question) {
        let mut from = (question, FileNumber::FIRST, 0);
        let last = (question, FileNumber::LAST, u32::MAX);
        while let Some((_, number, import)) = self.asking.range(from..=last).next().copied() {
            let waiting = self.waiting.entry(number);
            let waiting = waiting.or_insert_with(|| Waiting::Some(BTreeSet::new()));
            if let Waiting::Some(imports) = waiting {
                imports.insert(import);
                if import == OF_FILE || imports.len() > WAITING_IMPORTS_MAX {
                    *waiting = Waiting::All;
                }
            }
            // Of a file all of which waits no more need be known.
            let after = if *waiting == Waiting::All {
                u32::MAX
            } else {
                import
            };
            let next = match after.checked_add(1) {
                Some(import) => Some((question, number, import)),
                None => number.next().map(|number| (question, number, 0)),
            };
            let Some(next) = next else {
                return;
            };
            from = next;
        }
    }

    /// Puts in what the imports of a file mean. They take no more than `bytes_max` in all by it.
    pub(crate) fn put(&mut self, resolved: ResolvedFile, bytes_max: usize) {
        let (number, mut imports) = (resolved.number, resolved.imports);
        self.forget(number);
        self.waiting.remove(&number);
        let needed = imports.heap_bytes();
        let has_room = self.heap_bytes() + needed <= bytes_max;
        if !has_room {
            imports = FileImports::default();
            self.roomless.insert(number);
            self.needed = self.needed.min(needed);
        }
        if resolved.is_short || !has_room {
            self.short.insert(number);
        }
        if imports.edges.is_empty() && imports.asked.is_empty() {
            return;
        }
        self.edges += imports.edges.len();
        let pairs = imports.edges.iter().map(|edge| (edge.target, number));
        self.imported.extend(pairs);
        let asked = imports.asked.iter();
        self.asking
            .extend(asked.map(|(import, question)| (*question, number, *import)));
        self.of.insert(number, imports);
    }

    fn forget(&mut self, number: FileNumber) {
        self.short.remove(&number);
        self.roomless.remove(&number);
        let Some(before) = self.of.remove(&number) else {
            return;
        };
        self.edges -= before.edges.len();
        for edge in before.edges {
            self.imported.remove(&(edge.target, number));
        }
        for (import, question) in before.asked {
            self.asking.remove(&(question, number, import));
        }
    }

    /// What is known of the imports of a file, but for some.
    pub(crate) fn without(&self, number: FileNumber, some: &BTreeSet<u32>) -> FileImports {
        let Some(of) = self.of.get(&number) else {
            return FileImports::default();
        };
        let edges = of.edges.iter().filter(|edge| !some.contains(&edge.import));
        let asked = of.asked.iter().filter(|(import, _)| !some.contains(import));
        FileImports {
            edges: edges.copied().collect(),
            asked: asked.copied().collect(),
        }
    }
}
