//! Which files a record is bound to, and which are never read.

use std::fs;

use sillok_core::gate::Text;
use sillok_core::limits::BOUND_FILES_MAX;

use crate::fixture::{Fixture, paths};

#[test]
fn files_are_those_that_a_record_names_from_where_it_was_said_or_from_the_root() {
    let fixture = Fixture::repository();
    let absolute = fixture.at("src/a.rs").to_string_lossy().into_owned();
    for said in ["b.py:3: no", "api/b.py", "./b.py", "../api/b.py", "`b.py`."] {
        assert_eq!(paths(&fixture.bound("api", said)), ["api/b.py"], "{said}");
    }
    assert_eq!(paths(&fixture.bound("api", &absolute)), ["src/a.rs"]);
    let both = fixture.bound("", "src/a.rs, api/b.py and src/a.rs:9, no/such.rs, src");
    assert_eq!(paths(&both), ["src/a.rs", "api/b.py"]);
    assert_eq!(both.left_out, 0);
}

#[test]
fn a_fingerprint_is_what_a_citation_of_the_whole_file_has_as_it_lies_there() {
    let fixture = Fixture::repository();
    for said in ["fn a() { changed }\n", "fn a() { changed }\r\n"] {
        fixture.write("src/a.rs", said);
        let bound = fixture.bound("", "src/a.rs");
        let cited = Text::of(b"fn a() { changed }\n").fingerprint(None);
        assert_eq!(Some(bound.files[0].fingerprint), cited, "{said:?}");
    }
}

#[test]
fn one_look_is_one_moment() {
    let fixture = Fixture::repository();
    let mut look = fixture.look("");
    let first = look.bound("src/a.rs");
    fixture.write("src/a.rs", "something else");
    assert_eq!(look.bound("again src/a.rs"), first);
    assert_ne!(fixture.bound("", "src/a.rs").files, first.files);
}

#[test]
fn what_there_is_no_room_for_is_counted() {
    let fixture = Fixture::repository();
    let names: Vec<String> = (0..BOUND_FILES_MAX + 3)
        .map(|n| format!("many/{n}.rs"))
        .collect();
    for name in &names {
        fixture.write(name, name);
    }
    let bound = fixture.bound("", &names.join("\n"));
    assert_eq!(bound.files.len(), BOUND_FILES_MAX);
    assert_eq!(bound.left_out, 3);
    let large = fs::File::create(fixture.at("large.bin")).unwrap();
    large
        .set_len(sillok_binding::limits::FILE_BYTES_MAX + 1)
        .unwrap();
    let bound = fixture.bound("", "large.bin");
    assert_eq!((bound.files.len(), bound.left_out), (0, 1));
}

#[test]
fn a_repositorys_own_files_are_never_read() {
    let fixture = Fixture::repository();
    let bound = fixture.bound("", ".git/config .git/HEAD ./.git/index src/../.git/config");
    assert_eq!((bound.files.len(), bound.left_out), (0, 0));
}

#[cfg(unix)]
#[test]
fn links_that_lead_out_pipes_and_devices_are_never_read() {
    use std::os::unix::fs::symlink;

    let fixture = Fixture::empty();
    fixture.write("outside/secret.txt", "secret");
    fixture.init("tree");
    fixture.write("tree/src/a.rs", "a");
    fixture.commit("tree");
    let tree = |name: &str| fixture.at(&format!("tree/{name}"));
    symlink(fixture.at("outside/secret.txt"), tree("out.txt")).unwrap();
    symlink(fixture.at("outside"), tree("out")).unwrap();
    symlink("loop.txt", tree("loop.txt")).unwrap();
    symlink("/dev/zero", tree("zero.bin")).unwrap();
    symlink("src/a.rs", tree("in.rs")).unwrap();
    let made = std::process::Command::new("mkfifo")
        .arg(tree("pipe.txt"))
        .status()
        .unwrap();
    assert!(made.success());
    let said =
        "out.txt out/secret.txt ../outside/secret.txt loop.txt zero.bin pipe.txt /etc/passwd in.rs";
    let bound = fixture.bound("tree", said);
    assert_eq!(
        paths(&bound),
        ["src/a.rs"],
        "a link inside leads to its file"
    );
    assert_eq!(bound.left_out, 0);
}

#[cfg(unix)]
#[test]
fn names_that_are_no_text_are_passed_over() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;

    let fixture = Fixture::repository();
    let odd = fixture.at("").join(OsStr::from_bytes(b"odd-\xff.rs"));
    if fs::write(&odd, "x").is_err() {
        return; // The file system takes no such names.
    }
    fixture.commit("");
    let bound = fixture.bound("", "odd-\u{fffd}.rs src/a.rs");
    assert_eq!(paths(&bound), ["src/a.rs"]);
}
