//! Looking at a work tree: which files it has, and what is new in them.
//!
//! Owns the threads that read and parse, and what need not be read again. It changes nothing: what it found is put in by the
//! index (`code_index`). So a look may take its time, while questions are answered.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use crate::extract::{self, index};
use crate::file_index::FileIndex;
use crate::ignored::RULES_NAME;
use crate::language::Language;
use crate::limits::THREADS;
use crate::open::Root;
use crate::read::{FileHash, Stamp, Unread, read};
use crate::tables::{PATH_BYTES, listed_bytes};
use crate::walk::{Error, WalkOptions, Walked, walk};
use crate::work_tree::PATH_STATE_BYTES;

/// Bytes that were read as some language.
pub(crate) type ContentKey = (FileHash, Language);

/// What is known of contents, whichever files have them.
pub(crate) type Contents = HashMap<ContentKey, Arc<FileIndex>>;

/// What is known of one path.
#[derive(Clone, Debug)]
pub(crate) struct FileState {
    pub(crate) language: Language,
    pub(crate) content: Result<(FileHash, Arc<FileIndex>), Unread>,
    pub(crate) stamp: Option<Stamp>,
    /// Bytes of memory that it needs, about, where there was no room for it: it is not read again with fewer.
    pub(crate) needed: usize,
}

impl FileState {
    /// Bytes of memory that what it says takes, beside what is known of its content.
    fn listed_bytes(&self) -> usize {
        let content = self.content.as_ref();
        content.map_or(0, |(_, file)| listed_bytes(file))
    }
}

/// A look at a work tree that is to be taken, with what is known of it by now.
#[derive(Clone, Debug)]
pub struct Plan {
    pub(crate) tree: Box<str>,
    pub(crate) generation: u64,
    pub(crate) root: PathBuf,
    pub(crate) options: WalkOptions,
    pub(crate) files: Arc<HashMap<Arc<str>, FileState>>,
    pub(crate) contents: Arc<Contents>,
    pub(crate) bytes: usize,
    pub(crate) bytes_max: usize,
}

/// What a look found.
#[derive(Debug)]
pub struct Scanned {
    pub(crate) tree: Box<str>,
    pub(crate) generation: u64,
    /// None for a look at the whole tree.
    pub(crate) only: Option<BTreeSet<PathBuf>>,
    pub(crate) walked: Walked,
    /// What differs from what was known.
    pub(crate) files: Vec<(Box<str>, FileState)>,
    /// Where no file lies any more. Filled only where the walk was cut: otherwise it is what was not found.
    pub(crate) gone: Vec<Arc<str>>,
    /// Files that were parsed.
    pub(crate) parsed: usize,
    /// Files that were read.
    pub(crate) read: usize,
}

impl Plan {
    /// Takes the look: at the whole tree, or at `only`, paths from its root. It blocks, and takes as long as it takes to read
    /// and parse what is new. `now` tells which files may yet change without a trace.
    ///
    /// # Errors
    /// [`Error`]
    pub fn look(self, only: Option<BTreeSet<PathBuf>>, now: SystemTime) -> Result<Scanned, Error> {
        let only = only.map(|only| self.widened(only));
        // What lies at the root is everything.
        let only = only.filter(|only| !only.contains(Path::new("")));
        let root = Root::at(&self.root).map_err(|source| Error::Root {
            root: self.root.clone(),
            source,
        })?;
        let mut walked = walk(&self.root, &self.options, only.as_ref())?;
        let gone = self.gone(&walked, only.as_ref());
        let seconds = now.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        let found = self.read_all(&root, &walked, i64::try_from(seconds).unwrap_or(i64::MAX));
        walked.passed.files += found.unlisted;
        Ok(Scanned {
            tree: self.tree,
            generation: self.generation,
            only,
            files: found.files,
            gone,
            parsed: found.parsed,
            read: found.read,
            walked,
        })
    }

    /// Where rules change, all that lies beside them is looked at.
    fn widened(&self, only: BTreeSet<PathBuf>) -> BTreeSet<PathBuf> {
        let widened = only.into_iter().map(|path| {
            let is_rule = path.file_name().is_some_and(|name| name == RULES_NAME);
            let folder = path.parent().filter(|_| is_rule).map(Path::to_owned);
            folder.unwrap_or(path)
        });
        widened.collect()
    }

    /// What a walk that was cut did not find, and does not lie where it lay either.
    fn gone(&self, walked: &Walked, only: Option<&BTreeSet<PathBuf>>) -> Vec<Arc<str>> {
        if !walked.is_cut {
            return Vec::new();
        }
        let found: HashSet<&str> = walked.files.iter().map(|(path, _)| &**path).collect();
        let is_asked_for = |path: &str| {
            let mut above = Path::new(path).ancestors();
            only.is_none_or(|only| above.any(|path| only.contains(path)))
        };
        let known = self.files.keys();
        let mut gone: Vec<Arc<str>> = known
            .filter(|path| !found.contains(&***path) && is_asked_for(path))
            .filter(|path| Stamp::at(&self.root.join(&***path)).is_none())
            .cloned()
            .collect();
        gone.sort_unstable();
        gone
    }

    fn read_all(&self, root: &Root, walked: &Walked, now_s: i64) -> Found {
        let next = AtomicUsize::new(0);
        let bytes = AtomicUsize::new(self.bytes);
        // All that is listed comes before what is said of any of it.
        let listed = walked.files.iter().filter(|(path, _)| {
            let listing = path.len() + PATH_STATE_BYTES + PATH_BYTES;
            self.files.contains_key(&**path) || self.has_room(&bytes, listing)
        });
        let listed: Vec<&(Box<str>, Language)> = listed.collect();
        let work = || {
            let mut found = Found::default();
            while let Some((path, language)) = listed.get(next.fetch_add(1, Ordering::Relaxed)) {
                self.read_one(root, (&**path, *language), now_s, &bytes, &mut found);
            }
            found
        };
        let threads = THREADS.min(walked.files.len() / FILES_A_THREAD_MIN + 1);
        std::thread::scope(|scope| {
            let others: Vec<_> = (1..threads).map(|_| scope.spawn(work)).collect();
            let mut found = work();
            found.unlisted = (walked.files.len() - listed.len()) as u64;
            for other in others {
                match other.join() {
                    Ok(more) => found.join(more),
                    Err(panic) => std::panic::resume_unwind(panic),
                }
            }
            found
        })
    }

    fn read_one(
        &self,
        root: &Root,
        (path, language): (&str, Language),
        now_s: i64,
        bytes: &AtomicUsize,
        found: &mut Found,
    ) {
        let known = self.files.get(path);
        let stamp = known.and_then(|known| known.stamp);
        let needed = known.map_or(0, |known| known.needed);
        let waits_no_more = needed > 0 && self.free(bytes) >= needed;
        if stamp.is_some() && !waits_no_more && Stamp::at(&self.root.join(path)) == stamp {
            return;
        }
        found.read += 1;
        // What was said of it goes.
        let said = known.map_or(0, FileState::listed_bytes);
        bytes.fetch_sub(said, Ordering::Relaxed);
        let mut state = FileState {
            language,
            content: Err(Unread::Gone),
            stamp: None,
            needed: 0,
        };
        match read(root, Path::new(path), now_s) {
            Err(unread) => state.content = Err(unread),
            Ok(content) => {
                let key = (FileHash::of(&content.bytes), language);
                state.stamp = content.stamp;
                state.content = self
                    .content(&content.bytes, key, bytes, found)
                    .map_err(|why| {
                        state.needed = why.needed;
                        why.unread
                    });
            }
        }
        found.files.push((path.into(), state));
    }

    fn content(
        &self,
        read: &[u8],
        key: ContentKey,
        bytes: &AtomicUsize,
        found: &mut Found,
    ) -> Result<(FileHash, Arc<FileIndex>), Unkept> {
        let (hash, language) = key;
        let known = self.contents.get(&key).or_else(|| found.contents.get(&key));
        if let Some(known) = known {
            let file = Arc::clone(known);
            self.take_room(bytes, listed_bytes(&file))?;
            return Ok((hash, file));
        }
        if self.free(bytes) < FILE_BYTES_MIN {
            return Err(Unkept::no_room(FILE_BYTES_MIN));
        }
        found.parsed += 1;
        let file = Arc::new(read_source(language, read)?);
        self.take_room(bytes, file.heap_bytes() + listed_bytes(&file))?;
        found.contents.insert(key, Arc::clone(&file));
        Ok((hash, file))
    }

    fn take_room(&self, bytes: &AtomicUsize, taken: usize) -> Result<(), Unkept> {
        let has_room = self.has_room(bytes, taken);
        has_room.then_some(()).ok_or(Unkept::no_room(taken))
    }

    fn free(&self, bytes: &AtomicUsize) -> usize {
        self.bytes_max.saturating_sub(bytes.load(Ordering::Relaxed))
    }

    /// Takes so many bytes, if there are as many left.
    fn has_room(&self, bytes: &AtomicUsize, taken: usize) -> bool {
        let has_room = bytes.fetch_add(taken, Ordering::Relaxed) + taken <= self.bytes_max;
        if !has_room {
            bytes.fetch_sub(taken, Ordering::Relaxed);
        }
        has_room
    }
}

/// No file takes less, whatever it says.
const FILE_BYTES_MIN: usize = size_of::<FileIndex>();

/// Why nothing is kept of a file, and how many bytes it needs where there was no room for them.
struct Unkept {
    unread: Unread,
    needed: usize,
}

impl Unkept {
    const fn no_room(needed: usize) -> Self {
        Self {
            unread: Unread::NoRoom,
            needed,
        }
    }
}

impl From<Unread> for Unkept {
    fn from(unread: Unread) -> Self {
        Self { unread, needed: 0 }
    }
}

/// What the bytes of a file say, whatever they are.
///
/// # Errors
/// [`Unread::TooLarge`], [`Unread::TooSlow`], [`Unread::Panicked`].
pub fn read_source(language: Language, bytes: &[u8]) -> Result<FileIndex, Unread> {
    parsed(|| index(language, bytes))
}

/// What the reader makes of a file. One that it breaks down on must not be the end of a look at all others.
fn parsed(parse: impl FnOnce() -> Result<FileIndex, extract::Error>) -> Result<FileIndex, Unread> {
    match catch_unwind(AssertUnwindSafe(parse)) {
        Ok(Ok(file)) => Ok(file),
        Ok(Err(extract::Error::TooLarge { .. })) => Err(Unread::TooLarge),
        Ok(Err(_)) => Err(Unread::TooSlow),
        Err(_panic) => Err(Unread::Panicked),
    }
}

/// Fewer files than this are not worth another thread.
const FILES_A_THREAD_MIN: usize = 16;

/// What one thread found.
#[derive(Default)]
struct Found {
    files: Vec<(Box<str>, FileState)>,
    contents: Contents,
    parsed: usize,
    read: usize,
    /// Files that are not even listed, since there is no room.
    unlisted: u64,
}

impl Found {
    fn join(&mut self, more: Self) {
        self.files.extend(more.files);
        self.parsed += more.parsed;
        self.read += more.read;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_the_reader_breaks_down_on_is_one_that_is_not_read() {
        let broken = parsed(|| panic!("as a reader might"));
        assert_eq!(broken.err(), Some(Unread::Panicked));
        let whole = parsed(|| index(Language::Python, b"def f(): pass\n"));
        assert_eq!(whole.unwrap().symbols.len(), 1);
    }
}
