//! A restart parses nothing that it knows, and a damaged file is none.

use std::os::unix::fs::PermissionsExt;

use proptest::prelude::*;
use sillok_code::cache::{FILE_NAME, Loaded};
use sillok_code::{CodeIndex, Language};

use crate::tree::{Tree, look, said};

const FILES: [(&str, &str); 3] = [
    ("a.rs", "use crate::b::f;\npub fn a(x: u8) { f(x) }\n"),
    ("b.py", "class B:\n    def c(self): return d()\n"),
    ("c.ts", "export const go = () => stop();\n"),
];

#[test]
fn a_restart_parses_nothing_that_it_knows() {
    let (tree, folder) = (Tree::new(&FILES), tempfile::tempdir().unwrap());
    let index = tree.index();
    index.save(folder.path()).unwrap();
    let mut again = CodeIndex::load(folder.path()).unwrap().into_index();
    let changes = look(&mut again, "t", tree.root(), None);
    assert_eq!((changes.added.len(), changes.parsed), (3, 0));
    assert_eq!(
        said(again.tree("t").unwrap()),
        said(index.tree("t").unwrap())
    );
    tree.write("b.py", "def other(): pass\n");
    assert_eq!(look(&mut again, "t", tree.root(), None).parsed, 1);
}

#[test]
fn what_no_work_tree_has_goes_when_it_is_pruned() {
    let (tree, folder) = (Tree::new(&FILES), tempfile::tempdir().unwrap());
    tree.index().save(folder.path()).unwrap();
    tree.remove("c.ts");
    let mut again = CodeIndex::load(folder.path()).unwrap().into_index();
    look(&mut again, "t", tree.root(), None);
    assert_eq!(again.contents_count(), 3);
    again.prune();
    assert_eq!(again.contents_count(), 2);
}

#[test]
fn the_same_contents_are_the_same_bytes_and_a_save_leaves_nothing_beside_them() {
    let (tree, folder) = (Tree::new(&FILES), tempfile::tempdir().unwrap());
    let path = folder.path().join(FILE_NAME);
    tree.index().save(folder.path()).unwrap();
    let first = std::fs::read(&path).unwrap();
    tree.index().save(folder.path()).unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), first);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn a_file_of_another_release_or_none_is_no_error() {
    let folder = tempfile::tempdir().unwrap();
    assert!(matches!(CodeIndex::load(folder.path()), Ok(Loaded::Absent)));
    CodeIndex::new().save(folder.path()).unwrap();
    let path = folder.path().join(FILE_NAME);
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[8] ^= 0x80;
    std::fs::write(&path, bytes).unwrap();
    assert!(matches!(CodeIndex::load(folder.path()), Ok(Loaded::Other)));
}

#[test]
fn the_folder_of_a_cache_is_made_for_nobody_else_and_what_is_no_folder_is_an_error() {
    let (tree, folder) = (Tree::new(&FILES), tempfile::tempdir().unwrap());
    let new = folder.path().join("data/cache");
    tree.index().save(&new).unwrap();
    let file = new.join(FILE_NAME);
    let made = [
        (new.parent().unwrap(), 0o700),
        (&new, 0o700),
        (&file, 0o600),
    ];
    for (path, mode) in made {
        let permissions = std::fs::metadata(path).unwrap().permissions();
        assert_eq!(permissions.mode() & 0o777, mode, "{}", path.display());
    }
    assert!(matches!(CodeIndex::load(&new), Ok(Loaded::Whole(_))));
    assert!(tree.index().save(&file).is_err());
    assert!(tree.index().save(&file.join("below")).is_err());
    // Nothing is done to what stands in the way.
    assert!(matches!(CodeIndex::load(&new), Ok(Loaded::Whole(_))));
}

#[test]
fn two_that_store_at_once_have_their_turns() {
    let folder = tempfile::tempdir().unwrap();
    let indexes = [0, 1].map(|at| {
        let source: String = (0..500)
            .map(|name| format!("def f{name}_{at}(): pass\n"))
            .collect();
        Tree::new(&[("a.py", source.as_str())]).index()
    });
    let path = folder.path();
    std::thread::scope(|scope| {
        for index in &indexes {
            scope.spawn(move || {
                for _ in 0..20 {
                    index.save(path).unwrap();
                    let loaded = CodeIndex::load(path).unwrap();
                    assert!(matches!(loaded, Loaded::Whole(_)), "{loaded:?}");
                }
            });
        }
    });
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn what_a_server_left_that_ended_while_it_stored_is_gone_with_the_next_save() {
    let (tree, folder) = (Tree::new(&FILES), tempfile::tempdir().unwrap());
    let index = tree.index();
    index.save(folder.path()).unwrap();
    let path = folder.path().join(FILE_NAME);
    let whole = std::fs::read(&path).unwrap();
    let half = folder.path().join("code-index.bin.new");
    std::fs::write(&half, &whole[..whole.len() / 2]).unwrap();
    assert!(matches!(
        CodeIndex::load(folder.path()),
        Ok(Loaded::Whole(_))
    ));
    index.save(folder.path()).unwrap();
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    assert_eq!(std::fs::read(&path).unwrap(), whole);
    // A link of that name leads nowhere.
    let other = folder.path().join("other");
    std::fs::write(&other, "kept").unwrap();
    std::os::unix::fs::symlink(&other, &half).unwrap();
    index.save(folder.path()).unwrap();
    assert_eq!(std::fs::read(&other).unwrap(), b"kept");
    assert_eq!(std::fs::read(&path).unwrap(), whole);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_flipped_bit_and_any_cut_is_noticed(at in any::<prop::sample::Index>(), bit in 0..8, cuts in any::<bool>()) {
        let (tree, folder) = (Tree::new(&FILES), tempfile::tempdir().unwrap());
        tree.index().save(folder.path()).unwrap();
        let path = folder.path().join(FILE_NAME);
        let mut bytes = std::fs::read(&path).unwrap();
        let at = at.index(bytes.len());
        if cuts {
            bytes.truncate(at);
        } else {
            bytes[at] ^= 1_u8 << bit;
        }
        std::fs::write(&path, bytes).unwrap();
        let loaded = CodeIndex::load(folder.path()).unwrap();
        prop_assert!(!matches!(loaded, Loaded::Whole(_)));
        let mut index = loaded.into_index();
        prop_assert_eq!(look(&mut index, "t", tree.root(), None).parsed, 3);
    }
}

#[test]
fn places_that_lie_outside_are_damage_whatever_the_hash_says() {
    let (tree, folder) = (Tree::new(&FILES), tempfile::tempdir().unwrap());
    tree.index().save(folder.path()).unwrap();
    let path = folder.path().join(FILE_NAME);
    let bytes = std::fs::read(&path).unwrap();
    let payload = &bytes[44..];
    type Row = ([u8; 32], Language, sillok_code::FileIndex);
    let mut rows: Vec<Row> = postcard::from_bytes(payload).unwrap();
    for row in &mut rows {
        for call in &mut row.2.calls {
            call.caller = Some(99);
        }
    }
    let payload = postcard::to_stdvec(&rows).unwrap();
    let hash = blake3::hash(&payload);
    let bytes = [&bytes[..12], &hash.as_bytes()[..], &payload[..]].concat();
    std::fs::write(&path, bytes).unwrap();
    assert!(matches!(
        CodeIndex::load(folder.path()),
        Ok(Loaded::Damaged)
    ));
}
