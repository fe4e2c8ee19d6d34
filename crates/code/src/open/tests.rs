//! What is opened below a folder, and that the kernel and the way step by step agree on it.

use std::fs;
use std::io::Read;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

use proptest::prelude::*;
use tempfile::TempDir;

use super::*;

fn read(mut file: File) -> String {
    let mut text = String::new();
    file.read_to_string(&mut text).unwrap();
    text
}

/// What was opened: its number in the file system.
fn number(opened: Result<OwnedFd, Error>) -> Result<u64, Error> {
    opened.map(|file| rustix::fs::fstat(file).unwrap().st_ino)
}

#[test]
fn nothing_is_opened_over_a_link_nor_outside() {
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("a.py"), "secret").unwrap();
    let folder = tempfile::tempdir().unwrap();
    let at = |path: &str| folder.path().join(path);
    fs::create_dir_all(at("in/deep")).unwrap();
    fs::write(at("in/deep/a.py"), "a").unwrap();
    symlink(outside.path(), at("out")).unwrap();
    symlink(at("in"), at("same")).unwrap();
    symlink("deep/a.py", at("in/link.py")).unwrap();
    let root = Root::at(folder.path()).unwrap();
    let outside = outside.path().join("a.py");
    let refused = [
        "out/a.py",
        "same/deep/a.py",
        "in/link.py",
        "in/../in/../../a.py",
        "in/deep/a.py/b",
        "none",
        outside.to_str().unwrap(),
    ];
    let steps = |path: &Path| by_steps(root.0.as_fd(), path, FLAGS, Links::Refused);
    for path in refused.map(Path::new) {
        let opened = root.open(path, Links::Refused).map(drop);
        assert!(opened.is_err(), "{path:?}");
        assert_eq!(steps(path).map(drop), opened, "{path:?}");
    }
    for path in ["in/deep/a.py", "./in/./deep/a.py"].map(Path::new) {
        assert_eq!(read(root.open(path, Links::Refused).unwrap()), "a");
        assert_eq!(read(steps(path).unwrap().into()), "a");
    }
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
    let root = Root::at(folder.path()).unwrap();
    let steps = |path: &str| {
        let path = Path::new(path);
        number(by_steps(root.0.as_fd(), path, FLAGS, Links::Within))
    };
    let inside = Ok(rustix::fs::stat(at("in/a")).unwrap().st_ino);
    assert_eq!((steps("in/a"), steps("within")), (inside, inside));
    assert_eq!(steps("absolute"), Err(Error::Outside));
    assert_eq!(steps("in/up/in/a"), Err(Error::Outside));
    assert_eq!(steps("round"), Err(Error::Link));
    assert_eq!(steps("in/a/b"), Err(Error::Gone));
    assert_eq!(steps("in/b"), Err(Error::Gone));
}

#[test]
fn what_lies_there_is_told_without_a_link_being_followed() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("in")).unwrap();
    fs::write(folder.path().join("in/file"), "").unwrap();
    symlink("in", folder.path().join("link")).unwrap();
    let root = Root::at(folder.path()).unwrap();
    let kind = |path: &str| root.kind(Path::new(path));
    assert_eq!(kind(""), Ok(Some(FileType::Directory)));
    assert_eq!(kind("in/file"), Ok(Some(FileType::RegularFile)));
    assert_eq!(kind("link"), Ok(Some(FileType::Symlink)));
    assert_eq!((kind("none"), kind("none/file")), (Ok(None), Ok(None)));
    assert_eq!(kind("in/file/file"), Ok(None));
    assert!(!matches!(kind("link/file"), Ok(Some(_))));
}

#[test]
fn a_folder_is_opened_and_nothing_else_as_one() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir_all(folder.path().join("in/deep")).unwrap();
    fs::write(folder.path().join("in/file"), "").unwrap();
    symlink("in", folder.path().join("link")).unwrap();
    let root = Root::at(folder.path()).unwrap();
    let inode = |path: &str| rustix::fs::stat(folder.path().join(path)).unwrap().st_ino;
    for path in ["", "in", "in/deep"] {
        assert_eq!(number(root.folder(Path::new(path))), Ok(inode(path)));
    }
    for path in ["link", "link/deep", "in/file", "none", ".."] {
        assert!(root.folder(Path::new(path)).is_err(), "{path}");
    }
}

#[test]
fn a_root_that_is_moved_away_is_still_the_one_that_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let at = |path: &str| folder.path().join(path);
    fs::create_dir(at("root")).unwrap();
    fs::write(at("root/file"), "it").unwrap();
    let root = Root::at(&at("root")).unwrap();
    fs::rename(at("root"), at("moved")).unwrap();
    symlink("/", at("root")).unwrap();
    let open = |path: &str| root.open(Path::new(path), Links::Within);
    assert!(open("file").is_ok());
    assert!(open("etc/passwd").is_err());
}

/// A folder with links that lead anywhere.
fn tangle(links: &[(usize, usize, usize)]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let (places, names) = (["", "a", "b", "a/c"], ["l", "m", "n", "o"]);
    let targets = [
        "a", "../b", "l", "m/n", "../../a", "/", "a/c/..", "c/f", "./f",
    ];
    fs::create_dir_all(folder.path().join("a/c")).unwrap();
    fs::create_dir(folder.path().join("b")).unwrap();
    for place in places {
        fs::write(folder.path().join(place).join("f"), place).unwrap();
    }
    for (place, name, target) in links {
        let link = folder.path().join(places[*place]).join(names[*name]);
        // The first of a name counts.
        let _taken = symlink(targets[*target], link);
    }
    folder
}

#[cfg(target_os = "linux")]
proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    #[test]
    fn step_by_step_the_same_is_opened_as_by_the_kernel(
        links in proptest::collection::vec((0usize..4, 0usize..4, 0usize..9), 0..8),
        way in proptest::collection::vec(0usize..6, 1..5),
    ) {
        let folder = tangle(&links);
        let steps = ["a", "c", "l", "m", "n", "f"];
        let path: PathBuf = way.iter().map(|step| steps[*step]).collect();
        let root = Root::at(folder.path()).unwrap();
        for links in [Links::Refused, Links::Within] {
            let by_kernel = by_the_kernel(root.0.as_fd(), &path, FLAGS, links).map_err(refused);
            let by_steps = by_steps(root.0.as_fd(), &path, FLAGS, links);
            prop_assert_eq!(number(by_steps), number(by_kernel), "{:?} {:?}", path, links);
        }
    }
}
