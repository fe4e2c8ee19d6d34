//! Searching a work tree for what is not in its place.
//!
//! Owns the order in which files are looked into, and when a search ends: first beside the cited places, then in all that
//! git does not ignore, nearest first. It must not know which place is taken in the end.

use core::num::NonZeroU32;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use memchr::memmem;
use sillok_core::gate::{Fingerprint, Place, Search, Text, Unread, is_plain};
use sillok_core::limits::GATE_PLACES_MAX;

use crate::budget::Spending;
use crate::limits::SORTED_MAX;
use crate::miss::Miss;
use crate::sought::Sought;
use crate::source::Source;
use crate::symbols::{Symbols, is_cited};

/// Looks for all of `wanted` at once, each with the paths that cite it.
pub(crate) fn search(
    source: Source<'_>,
    wanted: &BTreeMap<Sought, BTreeSet<String>>,
    spending: &mut Spending,
) -> BTreeMap<Sought, Search> {
    let cited: BTreeSet<&Path> = wanted.values().flatten().map(Path::new).collect();
    let mut hunt = Hunt::new(wanted.keys());
    let mut seen = BTreeSet::new();
    let folders: BTreeSet<&Path> = cited.iter().filter_map(|path| path.parent()).collect();
    let beside = nearest_first(source.beside(&folders, spending), &cited);
    let mut is_whole = hunt.files(source, beside, &mut seen, spending);
    if is_whole && !hunt.is_over() {
        let listed = source.files(spending);
        // What cannot be looked into any more need not be put in order, either.
        is_whole = listed.is_whole || spending.has_time();
        if is_whole {
            let files = nearest_first(listed.files, &cited);
            is_whole = hunt.files(source, files, &mut seen, spending) && listed.is_whole;
        }
    } else {
        is_whole = false;
    }
    hunt.end(is_whole)
}

/// Files of the name of a cited one first, then those in its folder, then those with its ending, then all others.
fn nearest_first(files: Vec<PathBuf>, cited: &BTreeSet<&Path>) -> Vec<PathBuf> {
    let names: BTreeSet<_> = cited.iter().filter_map(|path| path.file_name()).collect();
    let folders: BTreeSet<_> = cited.iter().filter_map(|path| path.parent()).collect();
    let endings: BTreeSet<_> = cited.iter().filter_map(|path| path.extension()).collect();
    let is_in =
        |name: Option<&OsStr>, all: &BTreeSet<&OsStr>| name.is_some_and(|name| all.contains(name));
    let mut by_distance: [Vec<PathBuf>; 4] = Default::default();
    for path in files {
        let distance = if is_in(path.file_name(), &names) {
            0
        } else if path.parent().is_some_and(|folder| folders.contains(folder)) {
            1
        } else if is_in(path.extension(), &endings) {
            2
        } else {
            3
        };
        by_distance[distance].push(path);
    }
    // To put many in order takes longer than there is time for; of few the order is the same on any machine.
    for files in &mut by_distance {
        if files.len() <= SORTED_MAX {
            files.sort_unstable();
        }
    }
    by_distance.into_iter().flatten().collect()
}

/// What is looked for, by how it is found in a file.
struct Hunt<'a> {
    sought: Vec<&'a Sought>,
    ranges: BTreeMap<NonZeroU32, HashMap<Fingerprint, usize>>,
    files: HashMap<Fingerprint, usize>,
    symbols: Vec<(usize, &'a str, Option<&'a str>)>,
    /// What was found of each.
    found: Vec<Search>,
    /// Whether a file could not be read that may hold any of it.
    has_missed: bool,
}

impl<'a> Hunt<'a> {
    fn new(wanted: impl Iterator<Item = &'a Sought>) -> Self {
        let mut hunt = Self {
            sought: wanted.collect(),
            ranges: BTreeMap::new(),
            files: HashMap::new(),
            symbols: Vec::new(),
            found: Vec::new(),
            has_missed: false,
        };
        for (at, sought) in hunt.sought.iter().enumerate() {
            match sought {
                Sought::Lines(span, print) => {
                    hunt.ranges.entry(*span).or_default().insert(*print, at);
                }
                Sought::File(print) => {
                    hunt.files.insert(*print, at);
                }
                Sought::Symbol(name, signature) => {
                    hunt.symbols.push((at, name.as_str(), signature.as_deref()));
                }
            }
        }
        hunt.found = hunt
            .sought
            .iter()
            .map(|_| Search {
                places: Vec::new(),
                is_whole: true,
            })
            .collect();
        hunt
    }

    /// Whether all was found in a place that tells where it is. A nearer one than those beside the cited places there is not.
    fn is_over(&self) -> bool {
        let tells = |search: &Search| search.places.iter().any(|place| !place.tells_nothing);
        self.found.iter().all(tells)
    }

    /// Looks into files that were not seen yet, and says whether there was room for all of them.
    fn files(
        &mut self,
        source: Source<'_>,
        files: Vec<PathBuf>,
        seen: &mut BTreeSet<PathBuf>,
        spending: &mut Spending,
    ) -> bool {
        for path in files {
            if seen.contains(&path) {
                continue;
            }
            if !spending.takes_file() || !self.file(source, &path, spending) {
                return false;
            }
            seen.insert(path);
        }
        true
    }

    /// Looks into a file, and says whether there is room for more.
    fn file(&mut self, source: Source<'_>, path: &Path, spending: &mut Spending) -> bool {
        let opened = source.open(path);
        let bytes = match opened.and_then(|opened| source.read(path, opened)) {
            Ok((bytes, _)) => bytes,
            // What is gone since, no file, or too large to be cited holds nothing that is looked for.
            Err(Miss::Gone | Miss::Refused(_) | Miss::Unread(Unread::TooLarge)) => return true,
            Err(Miss::Unread(_)) => {
                self.has_missed = true;
                return true;
            }
        };
        spending.takes_bytes(bytes.len())
            && self.lines(path, &bytes, spending)
            && self.named(path, &bytes, spending)
    }

    fn lines(&mut self, path: &Path, bytes: &[u8], spending: &mut Spending) -> bool {
        if self.ranges.is_empty() && self.files.is_empty() {
            return true;
        }
        let text = Text::of(bytes);
        if !self.files.is_empty() {
            let whole = text.fingerprint(None);
            if let Some(at) = whole.and_then(|print| self.files.get(&print)) {
                let place = place(path, None, is_plain(text.whole()));
                add(&mut self.found[*at], place);
            }
        }
        for (span, wanted) in &self.ranges {
            for (lines, bytes, print) in text.ranges(*span) {
                if !spending.takes_bytes(bytes.len()) {
                    return false;
                }
                if let Some(at) = wanted.get(&print) {
                    add(
                        &mut self.found[*at],
                        place(path, Some(lines), is_plain(bytes)),
                    );
                }
            }
        }
        true
    }

    fn named(&mut self, path: &Path, bytes: &[u8], spending: &mut Spending) -> bool {
        let own = |name: &str| name.rsplit([':', '.']).next().unwrap_or(name).to_owned();
        let is_named = |name: &str| memmem::find(bytes, own(name).as_bytes()).is_some();
        let mut symbols = self
            .symbols
            .iter()
            .filter(|(_, name, _)| is_named(name))
            .peekable();
        if symbols.peek().is_none() {
            return true;
        }
        // Parsing takes far longer than reading.
        if !spending.takes_parsed(bytes.len()) {
            return false;
        }
        let parsed = match Symbols::of(path, bytes) {
            Ok(parsed) => parsed,
            // The same symbol is not in a file of another kind.
            Err(Unread::NoLanguage) => return true,
            Err(_) => {
                for (at, ..) in symbols {
                    self.found[*at].is_whole = false;
                }
                return true;
            }
        };
        for (at, name, signature) in symbols {
            let mut same = parsed
                .named(name)
                .filter(|symbol| is_cited(symbol, *signature));
            let search = &mut self.found[*at];
            match same.next() {
                Some(symbol) => add(
                    search,
                    Place {
                        symbol: Some(symbol.id.to_string()),
                        ..place(path, Some(symbol.lines), false)
                    },
                ),
                None => search.is_whole &= parsed.is_whole(),
            }
        }
        true
    }

    fn end(self, is_whole: bool) -> BTreeMap<Sought, Search> {
        let is_whole = is_whole && !self.has_missed;
        let found = self.sought.into_iter().zip(self.found);
        found
            .map(|(sought, mut search)| {
                search.is_whole &= is_whole;
                (sought.clone(), search)
            })
            .collect()
    }
}

fn place(path: &Path, lines: Option<(u32, u32)>, is_plain: bool) -> Place {
    Place {
        path: path.to_string_lossy().into_owned(),
        lines,
        symbol: None,
        tells_nothing: is_plain || path.to_str().is_none(),
    }
}

fn add(search: &mut Search, place: Place) {
    if search.places.len() < GATE_PLACES_MAX {
        search.places.push(place);
    }
}
