//! Journals that are cut, flipped or torn at every offset: a store opens to a prefix of its commits
//! that holds all that it can know to have been acknowledged, or it refuses and leaves them alone.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::PathBuf;

use super::*;
use crate::fjall_store::journal::{self, Next};

/// Commits of a history.
const COMMITS: u64 = 5;
/// Where the journal of a history lies.
const JOURNAL: &str = "fjall/0.jnl";
/// The one after it.
const LATER: &str = "fjall/1.jnl";
const ACKNOWLEDGED: &str = "ACKNOWLEDGED";
const SECTOR: usize = 512;

type Files = BTreeMap<PathBuf, Vec<u8>>;

/// A store that was closed, its files, and where it is opened again with damage.
struct Site {
    directory: TempDir,
    files: Files,
    /// Whether the directory holds anything but `files`.
    is_dirty: bool,
}

/// What became of opening a store.
#[derive(Debug, PartialEq, Eq)]
enum Verdict {
    /// With all commits up to this one, and nothing of later ones.
    Opened(u64),
    Refused,
}

/// A directory in memory where there is one: thousands of stores are opened here, and no power goes.
fn memory() -> TempDir {
    TempDir::new_in("/dev/shm").unwrap_or_else(|_| TempDir::new().unwrap())
}

fn small(directory: &TempDir) -> FjallConfig {
    FjallConfig {
        cache_bytes: 1 << 20,
        ..config(directory)
    }
}

/// Each commit writes rows of its own, one that all write, and removes one of the commit before it.
async fn commit(store: &FjallStore, number: u64, filler: usize) {
    let mut txn = store.begin().await.unwrap();
    let value = [number.to_be_bytes().to_vec(), vec![7; filler]].concat();
    txn.set(format!("a{number}"), value.clone());
    txn.set(format!("z{number}"), value);
    txn.set("last", number.to_be_bytes().to_vec());
    txn.set(format!("gone{number}"), "x");
    txn.clear(format!("gone{}", number - 1));
    assert_eq!(txn.commit().await.unwrap().stamp.counter, number);
}

/// That the store holds the commits up to its counter, whole, and nothing else.
async fn holds_a_prefix(store: &FjallStore) -> u64 {
    let counter = store.shared.published.get().counter;
    let bytes = |number: u64| number.to_be_bytes().to_vec();
    for number in 1..=COMMITS {
        let expected = (number <= counter).then(|| bytes(number));
        for key in [format!("a{number}"), format!("z{number}")] {
            let found = read(store, &key).await;
            let found = found.map(|value| value[..8].to_vec());
            assert_eq!(found, expected, "{key} with {counter} commits");
        }
        let is_there = read(store, &format!("gone{number}")).await.is_some();
        assert_eq!(is_there, number == counter, "gone{number} of {counter}");
    }
    let last = read(store, "last").await.map(|value| value.to_vec());
    assert_eq!(last, (counter > 0).then(|| bytes(counter)));
    counter
}

impl Site {
    async fn new(filler_of_the_last: usize) -> Self {
        let directory = memory();
        let store = FjallStore::open(&small(&directory)).unwrap();
        for number in 1..=COMMITS {
            let filler = if number == COMMITS {
                filler_of_the_last
            } else {
                0
            };
            commit(&store, number, filler).await;
        }
        drop(store);
        Self::closed(directory)
    }

    fn closed(directory: TempDir) -> Self {
        let mut files = Files::new();
        for (path, mut bytes) in content(directory.path()) {
            if path.extension().is_some_and(|extension| extension == "jnl") {
                let end = bytes.iter().rposition(|byte| *byte != 0);
                bytes.truncate(end.map_or(0, |last| last + 1));
            }
            let path = path.strip_prefix(directory.path()).unwrap().to_owned();
            files.insert(path, bytes);
        }
        Self {
            directory,
            files,
            is_dirty: true,
        }
    }

    fn file(&self, name: &str) -> Vec<u8> {
        self.files[Path::new(name)].clone()
    }

    /// How far the file beside the journal says that commits were acknowledged.
    fn acknowledged(&mut self, counter: Option<u64>) {
        let path = PathBuf::from(ACKNOWLEDGED);
        self.is_dirty = true;
        match counter {
            None => drop(self.files.remove(&path)),
            Some(counter) => {
                let bytes = counter.to_be_bytes();
                let checksum = xxhash_rust::xxh3::xxh3_64(&bytes).to_be_bytes();
                self.files.insert(path, [bytes, checksum].concat());
            }
        }
    }

    /// Puts the files where they were.
    fn restore(&self) {
        let root = self.directory.path();
        fs::remove_dir_all(root).unwrap();
        for (path, bytes) in &self.files {
            fs::create_dir_all(root.join(path).parent().unwrap()).unwrap();
            fs::write(root.join(path), bytes).unwrap();
        }
        // Folders that hold no file.
        for folder in ["0/tables", "1/tables", "1/blobs"] {
            fs::create_dir_all(root.join("fjall/keyspaces").join(folder)).unwrap();
        }
    }

    /// Opens the store with this file in the place of the whole one.
    async fn open_with(&mut self, name: &str, damaged: &[u8]) -> Verdict {
        if self.is_dirty {
            self.restore();
        }
        let root = self.directory.path();
        fs::write(root.join(name), damaged).unwrap();
        let opened = FjallStore::open(&small(&self.directory));
        match opened {
            Ok(store) => {
                self.is_dirty = true;
                Verdict::Opened(holds_a_prefix(&store).await)
            }
            Err(error) => {
                assert!(matches!(error, Error::Corrupt { .. }), "{error:?}");
                let left = fs::read(root.join(name)).unwrap();
                // After a refusal that comes once the engine has opened, its journal is cut.
                self.is_dirty = left != damaged;
                if !self.is_dirty {
                    fs::write(root.join(name), &self.files[Path::new(name)]).unwrap();
                }
                Verdict::Refused
            }
        }
    }
}

/// The batches of a journal: the first one makes the store, each other is one commit.
fn batches(journal: &[u8]) -> Vec<Range<usize>> {
    let mut batches = Vec::new();
    let mut at = 0;
    while let Next::Batch(batch) = journal::next(journal, at) {
        batches.push(at..batch.end);
        at = batch.end;
    }
    assert_eq!(at, journal.len(), "the whole journal is read");
    batches
}

fn flipped(bytes: &[u8], at: usize, bit: usize) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    bytes[at] ^= 1 << bit;
    bytes
}

/// A cut, where the store knows how far it had acknowledged, and where a power loss took a part of
/// that knowledge, or all of it.
async fn cut_everywhere(acknowledged: Option<u64>) {
    let mut site = Site::new(0).await;
    site.acknowledged(acknowledged);
    let journal = site.file(JOURNAL);
    let batches = batches(&journal);
    assert_eq!(batches.len() as u64, COMMITS + 1);
    for len in 0..=journal.len() {
        let whole = batches.iter().filter(|batch| batch.end <= len).count();
        let left = (whole as u64).saturating_sub(1);
        let verdict = site.open_with(JOURNAL, &journal[..len]).await;
        let expected = if acknowledged.is_some_and(|acknowledged| left < acknowledged) {
            Verdict::Refused
        } else {
            Verdict::Opened(left)
        };
        assert_eq!(verdict, expected, "cut at {len}");
    }
}

#[tokio::test]
async fn a_cut_of_anything_acknowledged_is_refused_at_every_offset() {
    cut_everywhere(Some(COMMITS)).await;
}

#[tokio::test]
async fn a_cut_behind_what_is_known_to_be_acknowledged_leaves_a_prefix_at_every_offset() {
    cut_everywhere(Some(COMMITS - 2)).await;
}

#[tokio::test]
async fn a_cut_of_a_store_without_evidence_leaves_whole_commits_at_every_offset() {
    cut_everywhere(None).await;
}

#[tokio::test]
async fn a_flip_of_any_bit_is_refused_or_does_no_harm() {
    let mut site = Site::new(0).await;
    let journal = site.file(JOURNAL);
    let mut harmless = 0;
    for at in 0..journal.len() {
        for bit in 0..8 {
            let verdict = site.open_with(JOURNAL, &flipped(&journal, at, bit)).await;
            match verdict {
                Verdict::Refused => {}
                opened => {
                    assert_eq!(opened, Verdict::Opened(COMMITS), "bit {bit} of byte {at}");
                    harmless += 1;
                }
            }
        }
    }
    assert!(harmless < 100, "{harmless} flips were not noticed");
}

/// With the evidence one commit behind, as a power loss leaves it, a flip in the last batch cannot
/// be told from a torn one. Any other can.
#[tokio::test]
async fn a_flip_in_any_batch_that_another_follows_is_refused_without_evidence() {
    let mut site = Site::new(0).await;
    site.acknowledged(None);
    let journal = site.file(JOURNAL);
    let last = batches(&journal).pop().unwrap();
    for at in 0..journal.len() {
        let bit = at % 8;
        let verdict = site.open_with(JOURNAL, &flipped(&journal, at, bit)).await;
        let whole = Verdict::Opened(COMMITS);
        let shorter = last.contains(&at) && verdict == Verdict::Opened(COMMITS - 1);
        let fine = verdict == Verdict::Refused || verdict == whole || shorter;
        assert!(fine, "bit {bit} of byte {at}: {verdict:?}");
    }
}

/// A batch that nobody was told of, of which the disk kept any sectors and not others.
#[tokio::test]
async fn a_torn_last_batch_is_cut_off_whatever_sectors_are_left_of_it() {
    let mut site = Site::new(3_000).await;
    site.acknowledged(Some(COMMITS - 1));
    let journal = site.file(JOURNAL);
    let last = batches(&journal).pop().unwrap();
    let sectors: Vec<Range<usize>> = (0..journal.len().div_ceil(SECTOR))
        .map(|sector| sector * SECTOR..((sector + 1) * SECTOR).min(journal.len()))
        .map(|sector| sector.start.max(last.start)..sector.end)
        .filter(|sector| !sector.is_empty())
        .collect();
    assert!((8..16).contains(&sectors.len()), "{}", sectors.len());
    // Every one alone missing, every one alone kept, and many mixtures.
    let count = sectors.len();
    let alone = (0..count).flat_map(|sector| [1u64 << sector, !(1u64 << sector)]);
    let mixed = (1..200u64).map(|number| number.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 20);
    for missing in alone.chain(mixed) {
        let mut torn = journal.clone();
        let is_missing = |sector: &usize| missing >> sector & 1 == 1;
        let gone: Vec<usize> = (0..count).filter(is_missing).collect();
        for sector in &gone {
            torn[sectors[*sector].clone()].fill(0);
        }
        let left = if gone.is_empty() {
            COMMITS
        } else {
            COMMITS - 1
        };
        let verdict = site.open_with(JOURNAL, &torn).await;
        assert_eq!(verdict, Verdict::Opened(left), "without {gone:?}");
    }
}

#[tokio::test]
async fn a_store_goes_on_behind_a_torn_end() {
    let mut site = Site::new(3_000).await;
    site.acknowledged(Some(COMMITS - 1));
    let mut journal = site.file(JOURNAL);
    let last = batches(&journal).pop().unwrap();
    journal[last.start + 600..last.start + 700].fill(0);
    let verdict = site.open_with(JOURNAL, &journal).await;
    assert_eq!(verdict, Verdict::Opened(COMMITS - 1));
    for _ in 0..2 {
        let store = FjallStore::open(&small(&site.directory)).unwrap();
        if store.shared.published.get().counter < COMMITS {
            commit(&store, COMMITS, 0).await;
        }
        assert_eq!(holds_a_prefix(&store).await, COMMITS);
    }
}

/// Of two journals the first was synced as a whole before the second was begun.
#[tokio::test]
async fn a_journal_that_another_follows_is_refused_when_it_is_cut_or_flipped_anywhere() {
    let mut site = Site::new(0).await;
    site.acknowledged(None);
    let journal = site.file(JOURNAL);
    let split = batches(&journal)[2].end;
    let (first, second) = journal.split_at(split);
    site.files.insert(JOURNAL.into(), first.to_vec());
    site.files.insert(LATER.into(), second.to_vec());
    let whole = Verdict::Opened(COMMITS);
    assert_eq!(site.open_with(JOURNAL, first).await, whole);
    for at in 0..split {
        assert_eq!(
            site.open_with(JOURNAL, &first[..at]).await,
            Verdict::Refused,
            "cut at {at}"
        );
        for bit in 0..8 {
            let verdict = site.open_with(JOURNAL, &flipped(first, at, bit)).await;
            let fine = verdict == Verdict::Refused || verdict == whole;
            assert!(fine, "bit {bit} of byte {at}: {verdict:?}");
        }
    }
}

/// The numbers that decide which batches the engine replays over what it had written out.
#[tokio::test]
#[expect(
    clippy::disallowed_methods,
    reason = "fjall tells nobody when it has written a table"
)]
async fn a_flip_in_a_journal_behind_written_tables_is_refused_or_does_no_harm() {
    let directory = memory();
    let mut config = small(&directory);
    config.memtable_bytes_max = 64 << 10;
    let store = FjallStore::open(&config).unwrap();
    commit(&store, 1, 0).await;
    commit(&store, 2, 40_000).await;
    let tables = directory.path().join("fjall/keyspaces/1/tables");
    let is_written = || fs::read_dir(&tables).unwrap().count() > 0;
    for _ in 0..2_000 {
        if is_written() {
            break;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    assert!(is_written(), "the first two commits are written out");
    for number in 3..=COMMITS {
        commit(&store, number, 0).await;
    }
    drop(store);
    let mut site = Site::closed(directory);
    // As after a change of journals: what is written out is in no journal any more.
    let journal = site.files.remove(Path::new(JOURNAL)).unwrap();
    let journal = journal[batches(&journal)[2].end..].to_vec();
    site.files.insert(LATER.into(), journal.clone());
    assert_eq!(
        site.open_with(LATER, &journal).await,
        Verdict::Opened(COMMITS)
    );
    for evidence in [true, false] {
        if !evidence {
            site.acknowledged(None);
        }
        let last = batches(&journal).pop().unwrap();
        for at in 0..journal.len() {
            let bit = at % 8;
            let verdict = site.open_with(LATER, &flipped(&journal, at, bit)).await;
            let shorter =
                !evidence && last.contains(&at) && verdict == Verdict::Opened(COMMITS - 1);
            let fine =
                verdict == Verdict::Refused || verdict == Verdict::Opened(COMMITS) || shorter;
            assert!(fine, "bit {bit} of byte {at}: {verdict:?}");
        }
    }
    site.acknowledged(Some(COMMITS));
    assert_eq!(site.open_with(LATER, &[]).await, Verdict::Refused);
}

#[tokio::test]
async fn damaged_evidence_is_refused_and_missing_evidence_is_made_anew() {
    let mut site = Site::new(0).await;
    let file = site.file(ACKNOWLEDGED);
    for at in 0..file.len() {
        assert_eq!(
            site.open_with(ACKNOWLEDGED, &file[..at]).await,
            Verdict::Refused
        );
        for bit in 0..8 {
            let verdict = site.open_with(ACKNOWLEDGED, &flipped(&file, at, bit)).await;
            assert_eq!(verdict, Verdict::Refused);
        }
    }
    site.acknowledged(None);
    let journal = site.file(JOURNAL);
    assert_eq!(
        site.open_with(JOURNAL, &journal).await,
        Verdict::Opened(COMMITS)
    );
    let made = fs::read(site.directory.path().join(ACKNOWLEDGED)).unwrap();
    assert_eq!(made, file);
}

/// The first start was cut short: after each file that fjall makes before its trees.
#[tokio::test]
async fn a_database_that_was_never_finished_is_made_anew() {
    for made in 0..5 {
        let directory = memory();
        let folder = directory.path().join("fjall");
        fs::write(directory.path().join("FORMAT"), "sillok store format 1\n").unwrap();
        fs::create_dir(&folder).unwrap();
        if made > 0 {
            fs::write(folder.join("lock"), []).unwrap();
        }
        if made > 1 {
            fs::create_dir(folder.join("keyspaces")).unwrap();
        }
        if made > 2 {
            fs::write(folder.join("0.jnl"), vec![0; 100_000]).unwrap();
        }
        if made > 3 {
            fs::write(folder.join("version"), []).unwrap();
        }
        let store = FjallStore::open(&small(&directory)).unwrap();
        commit(&store, 1, 0).await;
        drop(store);
        let store = FjallStore::open(&small(&directory)).unwrap();
        assert_eq!(holds_a_prefix(&store).await, 1);
    }
}

#[tokio::test]
async fn a_database_that_lost_its_version_and_holds_something_is_left_alone() {
    let mut site = Site::new(0).await;
    site.acknowledged(None);
    site.files.remove(Path::new("fjall/version"));
    site.restore();
    let root = site.directory.path().to_owned();
    let before = content(&root);
    assert!(FjallStore::open(&small(&site.directory)).is_err());
    for (path, bytes) in before {
        assert!(
            fs::read(&path).is_ok_and(|left| left == bytes),
            "{}",
            path.display()
        );
    }
}
