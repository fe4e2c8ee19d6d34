//! The loss on a record that is written by hand, and on files that were changed by hand.

use std::fs;
use std::os::unix::fs::{FileExt, MetadataExt};

use tempfile::TempDir;

use super::*;
use crate::record::{Piece, What};
use crate::{Disk, Power};

struct Bench {
    folder: TempDir,
    power: Power,
    entries: Vec<Entry>,
}

impl Bench {
    fn new() -> Self {
        let folder = TempDir::new().unwrap();
        let (data, record) = (folder.path().join("data"), folder.path().join("record"));
        let power = Power::new(&data, &record, Disk::Honest, std::time::Duration::ZERO).unwrap();
        Self {
            folder,
            power,
            entries: Vec::new(),
        }
    }

    fn data(&self, name: &str) -> PathBuf {
        self.folder.path().join("data").join(name)
    }

    fn naming(&mut self, folder: &str, name: &str, what: What) {
        let naming = Naming {
            folder: folder.to_owned(),
            name: name.to_owned(),
            what,
        };
        self.entries.push(Entry::Naming(naming));
    }

    fn done(&mut self, file: Option<Inode>) {
        self.entries.push(Entry::Done { worked: true, file });
    }

    /// Makes a file: its inode.
    fn create(&mut self, folder: &str, name: &str) -> Inode {
        let path = self.data(folder).join(name);
        fs::write(&path, []).unwrap();
        let inode = fs::metadata(&path).unwrap().ino();
        self.naming(folder, name, What::File);
        self.done(Some(inode));
        inode
    }

    fn write(&mut self, path: &str, at: u64, bytes: &[u8]) {
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .open(self.data(path))
            .unwrap();
        let metadata = file.metadata().unwrap();
        let (len, count) = (metadata.len(), bytes.len() as u64);
        let mut old = vec![0; usize::try_from((at + count).min(len).saturating_sub(at)).unwrap()];
        file.read_exact_at(&mut old, at).unwrap();
        self.entries.push(Entry::Change(Change {
            file: metadata.ino(),
            len_before: len,
            len_after: len.max(at + count),
            before: vec![Piece {
                at,
                len: old.len() as u64,
                bytes: old,
            }],
            at,
            count,
        }));
        file.write_all_at(bytes, at).unwrap();
    }

    fn sync(&mut self, file: Inode) {
        let upto = self.entries.len() as u64;
        self.entries.push(Entry::Synced { file, upto });
    }

    fn sync_folder(&mut self, folder: &str) {
        let upto = self.entries.len() as u64;
        let folder = folder.to_owned();
        self.entries.push(Entry::FolderSynced { folder, upto });
    }

    fn lose(&mut self, mut chance: impl FnMut() -> u64) -> Lost {
        let mut log = Vec::new();
        for entry in self.entries.drain(..) {
            entry.encode(&mut log);
        }
        fs::write(self.folder.path().join("record/log"), log).unwrap();
        self.power.lose(&mut chance).unwrap()
    }
}

use std::fs::OpenOptions;

/// Chance that always says the same.
fn always(value: u64) -> impl FnMut() -> u64 {
    move || value
}

/// SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
fn random(mut seed: u64) -> impl FnMut() -> u64 {
    move || {
        seed = seed.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut bits = seed;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        bits ^ (bits >> 31)
    }
}

#[test]
fn what_was_synced_stays_whatever_chance_says() {
    for seed in 0..200 {
        let mut bench = Bench::new();
        let file = bench.create("", "a");
        bench.write("a", 0, &[1; 3_000]);
        bench.sync(file);
        bench.write("a", 3_000, &[2; 9_000]);
        bench.write("a", 5_000, &[3; 700]);
        let lost = bench.lose(random(seed));
        let left = fs::read(bench.data("a")).unwrap();
        assert_eq!(left[..3_000], [1; 3_000]);
        assert!(left[3_000..].iter().all(|byte| [0, 2, 3].contains(byte)));
        assert_eq!((lost.files_at_risk, lost.namings_at_risk), (1, 0));
    }
}

#[test]
fn without_a_sync_nothing_need_be_left() {
    let mut bench = Bench::new();
    let file = bench.create("", "old");
    bench.write("old", 0, b"what was there before");
    bench.sync(file);
    bench.lose(always(0));
    bench.write("old", 9, b"is overwritten, and more");
    bench.create("", "new");
    bench.write("new", 0, b"gone");
    let lost = bench.lose(always(0));
    assert_eq!(
        fs::read(bench.data("old")).unwrap(),
        b"what was there before"
    );
    assert!(!bench.data("new").exists());
    assert_eq!((lost.files_changed, lost.namings_undone), (2, 1));
}

#[test]
fn every_sector_is_old_or_new_and_both_occur() {
    let mut torn = 0;
    for seed in 0..100 {
        let mut bench = Bench::new();
        let file = bench.create("", "a");
        bench.write("a", 0, &[1; 8_192]);
        bench.sync(file);
        bench.lose(always(0));
        bench.write("a", 0, &[2; 8_192]);
        torn += bench.lose(random(seed)).files_torn;
        let left = fs::read(bench.data("a")).unwrap();
        assert_eq!(left.len(), 8_192);
        for sector in left.chunks(512) {
            assert!(sector == [1; 512] || sector == [2; 512]);
        }
    }
    assert!((20..80).contains(&torn), "{torn} of 100 are torn");
}

#[test]
fn a_rename_is_undone_whole_and_gives_back_what_it_replaced() {
    let mut bench = Bench::new();
    let old = bench.create("", "current");
    bench.write("current", 0, b"old");
    bench.sync(old);
    let new = bench.create("", "draft");
    bench.write("draft", 0, b"new");
    bench.sync(new);
    fs::hard_link(
        bench.data("current"),
        bench.folder.path().join(format!("record/kept/{old}")),
    )
    .unwrap();
    fs::rename(bench.data("draft"), bench.data("current")).unwrap();
    let what = What::Renamed {
        file: new,
        from: "draft".to_owned(),
        replaced: Some(old),
    };
    bench.naming("", "current", what);
    bench.done(Some(new));
    bench.lose(always(0));
    assert_eq!(fs::read(bench.data("current")).unwrap(), b"old");
    assert_eq!(fs::read(bench.data("draft")).unwrap(), b"new");
}

#[test]
fn a_synced_folder_keeps_its_names_and_its_own() {
    let mut bench = Bench::new();
    for folder in ["a", "a/b"] {
        fs::create_dir(bench.data(folder)).unwrap();
        let (above, name) = folder.rsplit_once('/').unwrap_or(("", folder));
        bench.naming(above, name, What::Folder);
        bench.done(None);
    }
    bench.create("a/b", "kept");
    bench.sync_folder("a/b");
    bench.create("a/b", "lost");
    bench.create("a", "lost");
    bench.lose(always(0));
    assert!(bench.data("a/b/kept").exists());
    assert!(!bench.data("a/b/lost").exists() && !bench.data("a/lost").exists());
}

#[test]
fn a_synced_file_keeps_its_name_and_its_folders() {
    let mut bench = Bench::new();
    fs::create_dir(bench.data("a")).unwrap();
    bench.naming("", "a", What::Folder);
    bench.done(None);
    let file = bench.create("a", "kept");
    bench.sync(file);
    bench.create("a", "lost");
    bench.lose(always(0));
    assert!(bench.data("a/kept").exists() && !bench.data("a/lost").exists());
}

#[test]
fn a_removal_is_undone_and_a_kill_before_it_is_none() {
    let mut bench = Bench::new();
    let file = bench.create("", "a");
    bench.write("a", 0, b"content");
    bench.sync(file);
    fs::hard_link(
        bench.data("a"),
        bench.folder.path().join(format!("record/kept/{file}")),
    )
    .unwrap();
    bench.naming("", "a", What::Removed(file));
    // The process was killed before it carried that out.
    bench.lose(always(0));
    assert_eq!(fs::read(bench.data("a")).unwrap(), b"content");

    fs::hard_link(
        bench.data("a"),
        bench.folder.path().join(format!("record/kept/{file}")),
    )
    .unwrap();
    fs::remove_file(bench.data("a")).unwrap();
    bench.naming("", "a", What::Removed(file));
    bench.lose(always(0));
    assert_eq!(fs::read(bench.data("a")).unwrap(), b"content");
}
