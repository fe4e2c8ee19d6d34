//! Whether a work tree differs from its commit.
//!
//! Owns how that is found out without git: HEAD's tree against the index, and the index against the files, by their times and,
//! where these do not tell, by their content. What is not tracked does not count, nor what lies in repositories inside. A file
//! that a filter rewrites is compared as it lies there, since a filter is a program of the repository's. It must not know what
//! comes of it.

use std::path::{Path, PathBuf};
use std::time::Instant;

use gix::ObjectId;
use gix::bstr::{BString, ByteSlice};
use gix::index::entry::{Flags, Mode, stat};
use gix::index::{Entry, File as Index, decode, fs::Metadata};
use gix::objs::Kind;
use sillok_code::OpenFile;
use sillok_code::open::{Links, Root};
use sillok_core::bound::TreeState;

use crate::limits::{
    COMPARED_BYTES_MAX, COMPARED_FILES_MAX, INDEX_BYTES_MAX, INDEX_FILES_MAX,
    INDEX_MEMORY_BYTES_MAX, TREE_DEPTH_MAX,
};

/// Entries after which the clock is looked at.
const ENTRIES_BETWEEN_LOOKS: usize = 256;

/// Times count to the nanosecond, as git stores them where it can: what differs by less is compared by its content.
const TIMES: stat::Options = stat::Options {
    trust_ctime: true,
    check_stat: true,
    use_nsec: true,
    use_stdev: false,
};

/// Whether what is tracked differs from HEAD's commit, as far as that is found out till `until`.
pub(crate) fn state_of(
    repository: &gix::Repository,
    work_tree: Option<&Path>,
    until: Instant,
) -> TreeState {
    let opened = work_tree.and_then(|root| Some((root, Root::at(root).ok()?)));
    let Some((root, open)) = opened else {
        return TreeState::Unknown;
    };
    let differs = Comparison {
        repository,
        root,
        open,
        tells_programs: repository.config_snapshot().boolean("core.fileMode") != Some(false),
        until,
        files_left: COMPARED_FILES_MAX,
        bytes_left: COMPARED_BYTES_MAX,
    }
    .differs();
    match differs {
        Some(true) => TreeState::Changed,
        Some(false) => TreeState::Clean,
        None => TreeState::Unknown,
    }
}

struct Comparison<'a> {
    repository: &'a gix::Repository,
    root: &'a Path,
    open: Root,
    /// Whether the file system tells which files are programs.
    tells_programs: bool,
    until: Instant,
    files_left: usize,
    bytes_left: u64,
}

impl Comparison<'_> {
    /// None where it is not known.
    fn differs(mut self) -> Option<bool> {
        let tree = self.repository.head_tree_id_or_empty().ok()?.detach();
        let path = self.repository.index_path();
        let Ok(known) = path.metadata() else {
            // Nothing is staged, not even what the commit has.
            return Some(!tree.is_empty_tree());
        };
        if !known.is_file() || known.len() > INDEX_BYTES_MAX {
            return None;
        }
        let options = decode::Options {
            thread_limit: Some(1),
            alloc_limit_bytes: Some(INDEX_MEMORY_BYTES_MAX),
            ..decode::Options::default()
        };
        let index = Index::at(path, self.repository.object_hash(), true, options).ok()?;
        if index.entries().len() > INDEX_FILES_MAX {
            return None;
        }
        let is_unmerged = |entry: &Entry| entry.stage_raw() != 0;
        let is_meant = |entry: &Entry| entry.flags.contains(Flags::INTENT_TO_ADD);
        let mut entries = index.entries().iter();
        if entries.any(|entry| is_unmerged(entry) || is_meant(entry)) {
            return Some(true);
        }
        if self.is_staged(&index, tree)? {
            return Some(true);
        }
        self.is_touched(&index)
    }

    /// Whether the index is another tree than the commit's.
    fn is_staged(&self, index: &Index, tree: ObjectId) -> Option<bool> {
        let count = index.entries().len();
        // What the index remembers of the tree that it was read from, unless something was staged since.
        let known = index.tree().filter(|known| {
            let entries = known
                .num_entries
                .and_then(|count| usize::try_from(count).ok());
            entries == Some(count)
        });
        match known {
            Some(known) => Some(known.id != tree),
            None if index.is_sparse() => None,
            None => self.is_other_tree(index, tree),
        }
    }

    fn is_other_tree(&self, index: &Index, tree: ObjectId) -> Option<bool> {
        let mut left = vec![(tree, BString::default(), 0_usize)];
        let mut count = 0_usize;
        while let Some((id, around, depth)) = left.pop() {
            if depth > TREE_DEPTH_MAX || Instant::now() > self.until {
                return None;
            }
            let object = self.repository.find_tree(id).ok()?;
            for entry in object.decode().ok()?.entries {
                let mut path = around.clone();
                path.extend_from_slice(entry.filename);
                if entry.mode.is_tree() {
                    path.push(b'/');
                    left.push((entry.oid.to_owned(), path, depth + 1));
                    continue;
                }
                count += 1;
                let staged = index.entry_by_path(path.as_bstr());
                let is_same = staged.is_some_and(|staged| {
                    let mode = staged.mode.to_tree_entry_mode();
                    let is_same_mode = mode.is_some_and(|mode| mode.kind() == entry.mode.kind());
                    is_same_mode && staged.id == entry.oid
                });
                if !is_same || count > index.entries().len() {
                    return Some(true);
                }
            }
        }
        Some(count != index.entries().len())
    }

    /// Whether some file is another one than the index says.
    fn is_touched(&mut self, index: &Index) -> Option<bool> {
        let mut is_unknown = false;
        for (number, entry) in index.entries().iter().enumerate() {
            if number.is_multiple_of(ENTRIES_BETWEEN_LOOKS) && Instant::now() > self.until {
                return None;
            }
            let is_left_alone = Flags::ASSUME_VALID | Flags::SKIP_WORKTREE;
            let is_elsewhere = [Mode::COMMIT, Mode::DIR].contains(&entry.mode);
            if is_elsewhere || entry.flags.intersects(is_left_alone) {
                continue;
            }
            match self.is_other_file(index, entry) {
                Some(true) => return Some(true),
                Some(false) => {}
                // Another file may tell that it differs.
                None => is_unknown = true,
            }
        }
        (!is_unknown).then_some(false)
    }

    fn is_other_file(&mut self, index: &Index, entry: &Entry) -> Option<bool> {
        let path = self.path_of(entry.path(index))?;
        let known = match Metadata::from_path_no_follow(&path) {
            Ok(known) => known,
            Err(error) => {
                let is_gone = [
                    std::io::ErrorKind::NotFound,
                    std::io::ErrorKind::NotADirectory,
                ]
                .contains(&error.kind());
                return is_gone.then_some(true);
            }
        };
        let is_link = entry.mode == Mode::SYMLINK;
        if known.is_dir() || known.is_symlink() != is_link || known.is_file() == is_link {
            return Some(true);
        }
        let is_program = entry.mode == Mode::FILE_EXECUTABLE;
        if self.tells_programs && !is_link && known.is_executable() != is_program {
            return Some(true);
        }
        let now = gix::index::entry::Stat::from_fs(&known).ok()?;
        let is_told = !entry.stat.is_racy(index.timestamp(), TIMES);
        if is_told && entry.stat.matches(&now, TIMES) {
            return Some(false);
        }
        let id = self.id_of(&path, is_link, known.len())?;
        Some(id != entry.id)
    }

    /// Where an entry of the index lies; none where it leads anywhere else than down.
    fn path_of(&self, path: &gix::bstr::BStr) -> Option<PathBuf> {
        let is_plain = path
            .split_str("/")
            .all(|name| !matches!(name, b"" | b"." | b".."));
        is_plain
            .then(|| self.repository.workdir_path(path))
            .flatten()
            .filter(|_| !path.is_empty())
    }

    /// The id that a file would have as a blob, by its bytes as they lie there.
    fn id_of(&mut self, path: &Path, is_link: bool, bytes: u64) -> Option<ObjectId> {
        self.files_left = self.files_left.checked_sub(1)?;
        self.bytes_left = self.bytes_left.checked_sub(bytes)?;
        let content = if is_link {
            let to = path.read_link().ok()?;
            gix::path::into_bstr(to).ok()?.into_owned().into()
        } else {
            // Without links, so that none of them leads out.
            let path = path.canonicalize().ok()?;
            let below = path.strip_prefix(self.root).ok()?;
            let file = OpenFile::at(&self.open, below, Links::Refused, bytes).ok()?;
            file.read().ok()?.0
        };
        gix::objs::compute_hash(self.repository.object_hash(), Kind::Blob, &content).ok()
    }
}
