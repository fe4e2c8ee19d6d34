//! Looks that fail, look again, find room and store.

use std::fs;
use std::path::Path;
use std::sync::mpsc::{SyncSender, sync_channel};

use super::*;
use crate::cache::{FILE_NAME, Loaded};
use crate::limits::SETTLE_LOOKUPS_MAX;
use crate::read::Unread;
use crate::walk::WalkOptions;
use crate::work_tree::WorkTree;

/// A work tree whose looks are taken one by one.
struct Bed {
    looks: Looks,
    shown: Arc<Shown>,
    folder: tempfile::TempDir,
    _sender: SyncSender<(String, Batch)>,
}

impl Bed {
    fn new(bytes_max: Option<usize>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("tree");
        fs::create_dir(&root).unwrap();
        let mut index = CodeIndex::new();
        index.add_tree("t", &root, WalkOptions::default());
        if let Some(bytes_max) = bytes_max {
            index.set_bytes_max(bytes_max);
        }
        let (sender, receiver) = sync_channel(BATCHES_MAX);
        let shown = Arc::<Shown>::default();
        let named = BTreeMap::from([("t".to_owned(), Arc::clone(&shown))]);
        let cache = Some(folder.path().join("cache"));
        Self {
            looks: Looks::new(index, named, receiver, Arc::default(), cache),
            shown,
            folder,
            _sender: sender,
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.path("tree").join(name), text).unwrap();
    }

    /// Tells that a file changed, and takes the looks that are due.
    fn change(&mut self, name: &str) {
        let paths = BTreeSet::from([PathBuf::from(name)]);
        self.looks.note(("t".to_owned(), Batch::Paths(paths)));
        self.looks.turn(Instant::now());
    }

    fn tree(&self) -> Arc<WorkTree> {
        self.shown.tree.read().clone().unwrap()
    }

    fn state(&self) -> LookState {
        self.shown.status.lock().state.clone()
    }

    fn names(&self) -> Vec<String> {
        self.tree().paths().map(ToString::to_string).collect()
    }
}

#[test]
fn a_look_that_breaks_down_is_told_and_taken_again_at_everything() {
    let mut bed = Bed::new(None);
    bed.write("a.py", "def a(): pass\n");
    assert_eq!(bed.state(), LookState::Waiting);
    bed.looks.look("t", |_, _| panic!("as a look might"));
    assert_eq!(bed.state(), LookState::Failed(BROKEN.into()));
    // What changes meanwhile does not hide that the rest was not looked at.
    bed.change("b.py");
    assert_eq!(
        (bed.state(), bed.names()),
        (LookState::Failed(BROKEN.into()), vec![])
    );
    bed.looks.turn(Instant::now() + backoff(1));
    assert_eq!(
        (bed.state(), bed.names()),
        (LookState::Done, vec!["a.py".to_owned()])
    );
    let status = bed.shown.status.lock().clone();
    assert_eq!(
        (status.parsed, status.parsed_total, status.looks),
        (1, 1, 1)
    );
}

#[test]
fn a_root_that_is_away_is_looked_at_ever_less_often_until_it_is_there() {
    let mut bed = Bed::new(None);
    bed.write("a.py", "");
    bed.looks.turn(Instant::now());
    fs::rename(bed.path("tree"), bed.path("away")).unwrap();
    bed.change("a.py");
    for failures in 1..4 {
        let LookState::Failed(why) = bed.state() else {
            panic!("{:?}", bed.state());
        };
        assert!(why.contains("no folder that can be read"), "{why}");
        // What was known is still there.
        assert_eq!(bed.names(), ["a.py"]);
        let now = Instant::now();
        let next = bed.looks.trees["t"].after.unwrap();
        assert!(
            next <= now + backoff(failures)
                && next + Duration::from_secs(1) > now + backoff(failures)
        );
        bed.looks.turn(next);
    }
    fs::rename(bed.path("away"), bed.path("tree")).unwrap();
    bed.looks.turn(Instant::now() + RETRY_MAX);
    assert_eq!(bed.state(), LookState::Done);
    assert_eq!(bed.looks.trees["t"].after, None);
}

#[test]
fn whoever_has_a_tree_keeps_it_as_it_was_and_what_only_it_has_goes_when_it_is_dropped() {
    let mut bed = Bed::new(None);
    bed.write("a.py", "def former(): pass\n");
    bed.looks.turn(Instant::now());
    let kept = bed.tree();
    bed.write("a.py", "def present(): pass\n");
    bed.change("a.py");
    assert_eq!(kept.symbols_named("former").len(), 1);
    assert_eq!(bed.tree().symbols_named("former").len(), 0);
    assert_eq!(bed.tree().symbols_named("present").len(), 1);
    bed.looks.find_room();
    assert_eq!(bed.looks.index.contents_count(), 2);
    drop(kept);
    bed.looks.find_room();
    assert_eq!(bed.looks.index.contents_count(), 1);
}

#[test]
fn what_there_was_no_room_for_is_looked_at_again_when_there_is_some() {
    let texts = [
        ("a.py", "def first(): pass\n"),
        ("b.py", "def other(): pass\n"),
    ];
    let fill = |bed: &mut Bed| {
        for (name, text) in texts {
            bed.write(name, text);
            bed.change(name);
        }
    };
    let mut both = Bed::new(None);
    fill(&mut both);
    let plan = both.looks.index.plan("t").unwrap();
    let mut bed = Bed::new(Some(plan.bytes - 1));
    fill(&mut bed);
    assert_eq!(bed.tree().unread("a.py"), None);
    assert_eq!(bed.tree().unread("b.py"), Some(Unread::NoRoom));
    // With no more room than before it is left alone.
    let now = Instant::now() + CACHE_IDLE;
    bed.looks.rest(now);
    assert_eq!(bed.looks.room_at, None);
    fs::remove_file(bed.path("tree/a.py")).unwrap();
    bed.change("a.py");
    bed.looks.rest(now + CACHE_IDLE);
    let at = bed.looks.room_at.unwrap();
    bed.looks.turn(at);
    assert_eq!(
        (bed.names(), bed.tree().unread("b.py")),
        (vec!["b.py".to_owned()], None)
    );
    assert_eq!(bed.looks.room_at, None);
}

#[test]
fn a_cache_that_cannot_be_stored_is_tried_again_and_one_that_is_stored_is_left_alone() {
    let mut bed = Bed::new(None);
    bed.write("a.py", "def a(): pass\n");
    let cache = bed.path("cache");
    fs::write(&cache, "no folder").unwrap();
    bed.looks.turn(Instant::now());
    let now = Instant::now() + CACHE_IDLE;
    bed.looks.rest(now);
    assert_eq!(
        (bed.looks.is_stored, bed.looks.idle_at),
        (false, Some(now + RETRY_MAX))
    );
    fs::remove_file(&cache).unwrap();
    bed.looks.rest(now + RETRY_MAX);
    assert!(is_whole(&cache));
    assert_eq!((bed.looks.is_stored, bed.looks.idle_at), (true, None));
    // A look where nothing is new stores nothing.
    fs::remove_file(cache.join(FILE_NAME)).unwrap();
    bed.change("a.py");
    bed.looks.rest(Instant::now() + CACHE_IDLE);
    assert!(!cache.join(FILE_NAME).exists());
}

#[test]
fn imports_are_resolved_step_by_step_and_of_a_first_look_nothing_is_shown_before_the_end() {
    let mut bed = Bed::new(None);
    let includes = |from: usize| -> String {
        let paths = (from..from + 2_000).map(|at| format!("#include \"d{at}/h{at}.h\"\n"));
        paths.collect()
    };
    let files = 4 * SETTLE_LOOKUPS_MAX / (2_000 * 5) + 1;
    for file in 0..files {
        bed.write(&format!("m{file:03}.c"), &includes(file));
    }
    let state = |bed: &Bed| (bed.state(), bed.tree().len(), bed.tree().imports_cut());
    let steps = |bed: &mut Bed, before: (LookState, usize)| {
        let mut steps = 0;
        loop {
            bed.looks.turn(Instant::now());
            steps += 1;
            let (at, len, cut) = state(bed);
            if (&at, len) == (&LookState::Done, files) && cut == 0 {
                return steps;
            }
            assert!(
                steps < 40 && at == before.0 && len == before.1,
                "{at:?} {len} {cut}"
            );
            // It goes on at once.
            let now = Instant::now();
            assert_eq!(bed.looks.next(now), now);
        }
    };
    let first = steps(&mut bed, (LookState::Waiting, 0));
    assert!(first > 3, "{first}");
    assert_eq!(bed.shown.status.lock().looks, 1);
    // All of them ask for one that comes, and most of them are there the whole time.
    bed.write("h1999.h", "");
    bed.change("h1999.h");
    assert_eq!(state(&bed), (LookState::Done, files + 1, 0));
    assert!(bed.looks.next(Instant::now()) > Instant::now());
}

#[test]
fn whoever_asks_does_not_wait_for_ever_for_what_is_put_in() {
    let mut bed = Bed::new(None);
    bed.write("a.py", "");
    bed.looks.turn(Instant::now());
    assert_eq!(bed.shown.tree().unwrap().len(), 1);
    let putting_in = bed.shown.tree.write();
    assert!(bed.shown.tree().is_none());
    drop(putting_in);
    assert!(bed.shown.tree().is_some());
}

fn is_whole(cache: &Path) -> bool {
    matches!(CodeIndex::load(cache), Ok(Loaded::Whole(_)))
}
