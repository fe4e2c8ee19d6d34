use std::fs;
use std::os::unix::fs::symlink;

use proptest::prelude::*;
use tempfile::TempDir;

use super::*;

fn root(folder: &TempDir) -> OwnedFd {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY;
    rustix::fs::open(folder.path(), flags, Mode::empty()).unwrap()
}

/// What was opened: its number in the file system.
fn opened(opened: Result<OwnedFd, Miss>) -> Result<u64, Miss> {
    opened.map(|file| rustix::fs::fstat(file).unwrap().st_ino)
}

#[test]
fn step_by_step_nothing_outside_is_opened() {
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("secret"), "x").unwrap();
    let folder = tempfile::tempdir().unwrap();
    let at = |path: &str| folder.path().join(path);
    fs::create_dir(at("in")).unwrap();
    fs::write(at("in/a"), "a").unwrap();
    symlink(outside.path().join("secret"), at("absolute")).unwrap();
    symlink("../..", at("in/up")).unwrap();
    symlink("in/../in/./a", at("within")).unwrap();
    symlink("round", at("round")).unwrap();
    let root = root(&folder);
    let open = |path: &str| opened(by_steps(root.as_fd(), Path::new(path)));
    let inside = Ok(rustix::fs::stat(at("in/a")).unwrap().st_ino);
    assert_eq!(open("in/a"), inside);
    assert_eq!(open("within"), inside);
    assert_eq!(open("absolute"), Err(Miss::Refused(Refusal::LinkOut)));
    assert_eq!(open("in/up/in/a"), Err(Miss::Refused(Refusal::LinkOut)));
    assert_eq!(open("round"), Err(Miss::Refused(Refusal::LinkLoop)));
    assert_eq!(open("in/a/b"), Err(Miss::Gone));
    assert_eq!(open("in/b"), Err(Miss::Gone));
}

#[cfg(target_os = "linux")]
proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    #[test]
    fn step_by_step_the_same_is_opened_as_by_the_kernel(
        links in proptest::collection::vec((0usize..4, 0usize..4, 0usize..9), 0..8),
        way in proptest::collection::vec(0usize..6, 1..5),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let (places, names) = (["", "a", "b", "a/c"], ["l", "m", "n", "o"]);
        let targets = ["a", "../b", "l", "m/n", "../../a", "/", "a/c/..", "c/f", "./f"];
        fs::create_dir_all(folder.path().join("a/c")).unwrap();
        fs::create_dir(folder.path().join("b")).unwrap();
        for place in places {
            fs::write(folder.path().join(place).join("f"), place).unwrap();
        }
        for (place, name, target) in links {
            // The first of a name counts.
            let _ = symlink(targets[target], folder.path().join(places[place]).join(names[name]));
        }
        let steps = ["a", "c", "l", "m", "n", "f"];
        let path: std::path::PathBuf = way.iter().map(|step| steps[*step]).collect();
        let root = root(&folder);
        // What ends in a directory is opened by one and refused by the other, and neither reads it.
        let by_kernel = opened(by_the_kernel(root.as_fd(), &path).map_err(miss).and_then(|file| {
            let kind = rustix::fs::FileType::from_raw_mode(rustix::fs::fstat(&file).unwrap().st_mode);
            if kind.is_file() { Ok(file) } else { Err(Miss::Refused(Refusal::NoFile)) }
        }));
        let by_steps = opened(by_steps(root.as_fd(), &path).and_then(|file| {
            let kind = rustix::fs::FileType::from_raw_mode(rustix::fs::fstat(&file).unwrap().st_mode);
            if kind.is_file() { Ok(file) } else { Err(Miss::Refused(Refusal::NoFile)) }
        }));
        prop_assert_eq!(by_steps, by_kernel, "{:?}", path);
    }
}
