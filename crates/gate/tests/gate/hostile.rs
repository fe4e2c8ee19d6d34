//! What a work tree may hold to mislead the gate: none of it is read, and none of it makes it wait.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::fs::{CWD, FileType, Mode, mknodat};
use sillok_core::gate::{Reason, Refusal, Unread, Verdict};
use sillok_gate::Budget;

use super::folder::{Folder, file, function, told};

fn refused(folder: &Folder, path: &str) -> Reason {
    let begun = Instant::now();
    let print = "0".repeat(64);
    let told_of = [None, Some(print)].map(|print| told(&folder.gate(), &file(path, None, print)));
    assert!(
        begun.elapsed() < Duration::from_secs(5),
        "{path} made it wait"
    );
    assert_eq!(told_of[0], told_of[1]);
    assert_eq!(told_of[0].0, Verdict::Unverifiable, "{path}");
    told_of[0].1
}

fn pipe(path: &std::path::Path) {
    mknodat(CWD, path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
}

#[test]
fn paths_that_lead_out_are_refused() {
    let folder = Folder::new();
    folder.put("in/a.rs", "x\n");
    for path in ["../a", "in/../../a", "/etc/passwd", "in/../in/a.rs"] {
        assert_eq!(
            refused(&folder, path),
            Reason::Refused(Refusal::Outside),
            "{path}"
        );
    }
    assert_eq!(
        refused(&folder, ".git/config"),
        Reason::Refused(Refusal::GitDirectory)
    );
    assert_eq!(refused(&folder, "in"), Reason::Refused(Refusal::NoFile));
}

#[test]
fn links_that_lead_out_are_refused_and_those_within_are_followed() {
    let (outside, folder) = (Folder::new(), Folder::new());
    outside.put("secret", "the secret of somebody else\n");
    folder.put("src/a.rs", &function(1));
    symlink(outside.path("secret"), folder.path("absolute")).unwrap();
    symlink(outside.root(), folder.path("folder")).unwrap();
    let name = outside
        .root()
        .file_name()
        .unwrap()
        .to_str()
        .unwrap()
        .to_owned();
    symlink(format!("../{name}/secret"), folder.path("relative")).unwrap();
    symlink(format!("../../{name}/secret"), folder.path("src/deep")).unwrap();
    symlink("/dev/zero", folder.path("zero")).unwrap();
    symlink("/proc/self/environ", folder.path("environ")).unwrap();
    for path in [
        "absolute",
        "folder/secret",
        "relative",
        "src/deep",
        "zero",
        "environ",
    ] {
        assert_eq!(
            refused(&folder, path),
            Reason::Refused(Refusal::LinkOut),
            "{path}"
        );
    }
    symlink("a.rs", folder.path("src/b.rs")).unwrap();
    symlink("../src", folder.path("src/again")).unwrap();
    for path in ["src/b.rs", "src/again/a.rs", "src/again/again/b.rs"] {
        let cited = folder.cite(path, Some((1, 3)));
        assert_eq!(told(&folder.gate(), &cited).0, Verdict::Valid, "{path}");
    }
}

#[test]
fn links_in_a_circle_are_refused() {
    let folder = Folder::new();
    symlink("two", folder.path("one")).unwrap();
    symlink("one", folder.path("two")).unwrap();
    symlink("self", folder.path("self")).unwrap();
    for path in ["one", "two", "self", "one/a.rs"] {
        assert_eq!(
            refused(&folder, path),
            Reason::Refused(Refusal::LinkLoop),
            "{path}"
        );
    }
}

#[test]
fn pipes_sockets_and_devices_are_refused_without_waiting() {
    let folder = Folder::new();
    pipe(&folder.path("pipe"));
    let _listener = UnixListener::bind(folder.path("socket")).unwrap();
    symlink("pipe", folder.path("link")).unwrap();
    for path in ["pipe", "socket", "link"] {
        assert_eq!(
            refused(&folder, path),
            Reason::Refused(Refusal::NoFile),
            "{path}"
        );
    }
}

#[test]
fn a_search_waits_for_no_pipe_and_follows_no_link() {
    let (outside, folder) = (Folder::new(), Folder::new());
    outside.put("a.rs", &function(1));
    folder.put("src/a.rs", &function(1));
    let cited = folder.cite("src/a.rs", Some((1, 3)));
    fs::remove_file(folder.path("src/a.rs")).unwrap();
    pipe(&folder.path("src/pipe.rs"));
    pipe(&folder.path(".gitignore"));
    symlink("/dev/zero", folder.path("src/.gitignore")).unwrap();
    symlink("/dev/zero", folder.path("src/zero.rs")).unwrap();
    symlink(outside.root(), folder.path("outside")).unwrap();
    symlink("..", folder.path("src/up")).unwrap();
    let begun = Instant::now();
    assert_eq!(told(&folder.gate(), &cited).0, Verdict::Stale);
    assert!(begun.elapsed() < Duration::from_secs(5));
}

#[test]
fn a_file_that_is_too_large_is_not_read() {
    let folder = Folder::new();
    File::create(folder.path("sparse"))
        .unwrap()
        .set_len(1 << 30)
        .unwrap();
    let begun = Instant::now();
    assert_eq!(refused(&folder, "sparse"), Reason::Unread(Unread::TooLarge));
    folder.put("a.rs", &function(1));
    let cited = folder.cite("a.rs", None);
    fs::remove_file(folder.path("a.rs")).unwrap();
    // It is no place that could be cited, so that nothing is hidden in it.
    assert_eq!(told(&folder.gate(), &cited).0, Verdict::Stale);
    assert!(begun.elapsed() < Duration::from_secs(2));
}

#[test]
fn very_many_ranges_of_one_file_end_with_the_budget() {
    let folder = Folder::new();
    folder.put("a.rs", &"let row = 1;\n".repeat(300_000));
    let wide = file("a.rs", Some((1, 100_000)), Some("0".repeat(64)));
    let begun = Instant::now();
    let citations = [wide];
    let answer = folder.gate().check(&[&citations], Budget::ANSWER);
    assert!(answer.is_cut);
    assert_eq!(answer.entries[0].verdict, Verdict::Unverifiable);
    assert!(
        begun.elapsed() < Duration::from_secs(2),
        "{:?}",
        begun.elapsed()
    );
}

#[test]
fn a_name_that_is_no_text_cannot_be_cited_and_hides_nothing() {
    let folder = Folder::new();
    folder.put("a.rs", &function(1));
    let cited = folder.cite("a.rs", Some((1, 3)));
    let odd = folder.root().join(OsStr::from_bytes(b"b\xff.rs"));
    fs::rename(folder.path("a.rs"), odd).unwrap();
    assert_eq!(
        told(&folder.gate(), &cited),
        (Verdict::Unverifiable, Reason::Ambiguous)
    );
}

#[test]
fn what_the_system_denies_is_not_gone() {
    let folder = Folder::new();
    folder.put("a.rs", &function(1));
    let cited = folder.cite("a.rs", None);
    fs::set_permissions(folder.path("a.rs"), fs::Permissions::from_mode(0o0)).unwrap();
    // The system denies nothing to its administrator.
    let expected = if File::open(folder.path("a.rs")).is_ok() {
        (Verdict::Valid, Reason::Matches)
    } else {
        (Verdict::Unverifiable, Reason::Unread(Unread::Denied))
    };
    assert_eq!(told(&folder.gate(), &cited), expected);
}

#[test]
fn a_file_that_changes_while_it_is_read_is_never_half_one_and_half_the_other() {
    let folder = Folder::new();
    let text = |number: u32| function(number).repeat(2_000);
    folder.put("a.rs", &text(1));
    let one = folder.cite("a.rs", None);
    folder.put("a.rs", &text(2));
    let two = folder.cite("a.rs", None);
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut number = 1;
            while !is_over.load(Ordering::Relaxed) {
                // Whole at each moment at which it has this name.
                folder.put("next", &text(number));
                fs::rename(folder.path("next"), folder.path("a.rs")).unwrap();
                number = 3 - number;
            }
        });
        let gate = folder.gate();
        for _ in 0..200 {
            let citations = [one.clone(), two.clone()];
            let answer = gate.check(
                &[&citations],
                Budget {
                    files_max: 0,
                    ..Budget::ANSWER
                },
            );
            let reasons = answer.entries[0].judgements.iter().flatten();
            let reasons: Vec<Reason> = reasons.map(|one| one.reason).collect();
            let matches = reasons
                .iter()
                .filter(|one| **one == Reason::Matches)
                .count();
            let unread = Reason::Unread(Unread::Changing);
            assert!(matches == 1 || reasons == [unread, unread], "{reasons:?}");
        }
        is_over.store(true, Ordering::Relaxed);
    });
}
