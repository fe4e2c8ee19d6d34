//! Files of a table that go bad while it is used are met as damage, and the index can be filled again.

use std::collections::BTreeSet;
use std::io::{Error as IoError, ErrorKind};
use std::path::Path;

use sillok_core::entry::Table;
use sillok_core::ports::{
    EntryColumns as _, IndexDoc, IndexStats, Lost, NeighbourRequest, PortError, SearchRequest,
    VectorIndex, VectorTable, vector_table,
};
use sillok_core::stamp::Stamp;
use sillok_vectors_lance::{Error, LanceIndex};

use crate::model::{
    Model, Numbers, assert_alike, doc, embedding, entries, files, gone, open, scope, search, stamp,
};

const COUNT: u64 = 300;

/// What becomes of a file.
#[derive(Clone, Copy, Debug)]
enum Harm {
    Removed,
    Cut,
    Zeros,
    Garbage,
}

impl Harm {
    fn to(self, path: &str) {
        let length = usize::try_from(std::fs::metadata(path).unwrap().len()).unwrap();
        let mut numbers = Numbers(length as u64);
        match self {
            Self::Removed => std::fs::remove_file(path).unwrap(),
            Self::Cut => std::fs::write(path, &std::fs::read(path).unwrap()[..length / 2]).unwrap(),
            Self::Zeros => std::fs::write(path, vec![0; length]).unwrap(),
            Self::Garbage => {
                let bytes: Vec<u8> = (0..length).map(|_| numbers.below(256) as u8).collect();
                std::fs::write(path, bytes).unwrap();
            }
        }
    }
}

async fn filled(root: &Path) -> (LanceIndex, Model) {
    let index = open(root);
    let mut model = Model::default();
    fill(&index, &mut model, 0).await;
    (index, model)
}

/// Some hundred entries with indices, of which some have left, and some that no index covers.
async fn fill(index: &LanceIndex, model: &mut Model, after: u64) {
    let docs: Vec<IndexDoc> = (1..=COUNT).map(|n| doc(n, after + n)).collect();
    let left: Vec<IndexDoc> = (1..=20).map(|n| gone(n, after + COUNT + n)).collect();
    let late: Vec<IndexDoc> = (COUNT + 1..COUNT + 10)
        .map(|n| doc(n, after + 2 * n))
        .collect();
    for docs in [docs, left, late] {
        model.take(&docs);
        index.apply(docs, stamp(after + 3 * COUNT)).await.unwrap();
        if model.docs.len() as u64 == COUNT {
            index.optimise().await.unwrap();
        }
    }
}

/// Uses everything that is stored: the errors that this met.
async fn used(index: &LanceIndex, at: u64) -> Vec<PortError> {
    let vector = Numbers(at).vector(crate::model::DIMENSIONS);
    let neighbours = NeighbourRequest {
        scope: scope("org/acme/project/api"),
        table: Table::Observations,
        failure: false,
        embedding: embedding(vector.clone()),
        cosine_min: -1.0,
        limit: 20,
    };
    let states = vec![doc(40, at), doc(COUNT + 4, at), gone(41, at)];
    let mut met = Vec::new();
    met.extend(index.neighbours(&neighbours).await.err());
    met.extend(index.search(&search("zarko", Some(vector), 50)).await.err());
    met.extend(index.ages(&mut |_| ()).await.err());
    met.extend(index.apply(states, stamp(at)).await.err());
    met.extend(index.optimise().await.err());
    met
}

async fn comes_right(index: &LanceIndex, after: u64) {
    index.clear().await.unwrap();
    let mut model = Model::default();
    fill(index, &mut model, after).await;
    let request = search("zarko", None, 1_000);
    let found = index.search(&request).await.unwrap();
    assert_alike(&found, &model.search(&request), "filled again");
    assert!(used(index, after + 10 * COUNT).await.is_empty());
}

#[tokio::test]
async fn files_that_go_bad_are_met_as_damage_and_the_index_is_filled_again() {
    let harms = [Harm::Removed, Harm::Cut, Harm::Zeros, Harm::Garbage];
    for part in [".lance/data", ".lance/_versions", ".lance/"] {
        for harm in harms {
            let directory = tempfile::tempdir().unwrap();
            let (index, _) = filled(directory.path()).await;
            let harmed = files(directory.path(), part);
            assert!(!harmed.is_empty());
            harmed.iter().for_each(|path| harm.to(path));
            let met = used(&index, 10 * COUNT).await;
            let is_damage = |error: &PortError| matches!(error, PortError::Damaged { .. });
            assert!(met.iter().any(is_damage), "{harm:?} of {part}: {met:?}");
            comes_right(&index, 20 * COUNT).await;
        }
    }
}

#[tokio::test]
async fn an_index_over_files_that_went_bad_opens_and_is_whole_or_says_that_it_is_not() {
    let harms = [Harm::Removed, Harm::Cut, Harm::Zeros, Harm::Garbage];
    for part in [
        ".lance/data",
        ".lance/_indices",
        ".lance/_deletions",
        ".lance/_versions",
    ] {
        for harm in harms {
            let directory = tempfile::tempdir().unwrap();
            let (index, model) = filled(directory.path()).await;
            drop(index);
            let harmed = files(directory.path(), part);
            assert!(!harmed.is_empty());
            harmed.iter().for_each(|path| harm.to(path));
            let index = open(directory.path());
            if index.watermark().await.unwrap().is_none() {
                continue;
            }
            let request = search("zarko", None, 1_000);
            match index.search(&request).await {
                Ok(found) => assert_eq!(
                    entries(&found.text).len(),
                    model.search(&request).text.len(),
                    "{harm:?} of {part}"
                ),
                Err(error) => assert!(
                    matches!(error, PortError::Damaged { .. }),
                    "{harm:?} of {part}: {error}"
                ),
            }
            comes_right(&index, 20 * COUNT).await;
        }
    }
}

#[test]
fn a_full_disk_and_an_interrupted_read_are_no_damage() {
    let of = |kind: ErrorKind| {
        PortError::from(Error::Io {
            path: "a file".into(),
            source: IoError::from(kind),
        })
    };
    let lance = |kind: ErrorKind| {
        let source = Box::new(IoError::from(kind));
        let error = lance::Error::io_source(source);
        PortError::from(Error::Lance(Box::new(error)))
    };
    for kind in [
        ErrorKind::StorageFull,
        ErrorKind::Interrupted,
        ErrorKind::TimedOut,
        ErrorKind::PermissionDenied,
    ] {
        for error in [of(kind), lance(kind)] {
            assert!(matches!(error, PortError::Unavailable(_)), "{error}");
        }
    }
    for kind in [ErrorKind::UnexpectedEof, ErrorKind::InvalidData] {
        for error in [of(kind), lance(kind)] {
            assert!(matches!(error, PortError::Damaged { .. }), "{error}");
        }
    }
}

#[tokio::test]
async fn all_that_was_removed_is_made_again() {
    let directory = tempfile::tempdir().unwrap();
    let (index, _) = filled(directory.path()).await;
    std::fs::remove_dir_all(directory.path()).unwrap();
    let met = used(&index, 10 * COUNT).await;
    assert!(
        met.iter()
            .any(|error| matches!(error, PortError::Damaged { .. })),
        "{met:?}"
    );
    comes_right(&index, 20 * COUNT).await;
}

/// Tables of two organisations, each with indices: the same entries in each.
struct Several {
    index: LanceIndex,
    docs: Vec<Vec<IndexDoc>>,
}

const PLACES: [(&str, Table); 3] = [
    ("org/acme/project/api", Table::Observations),
    ("org/acme/project/api", Table::Patterns),
    ("org/other", Table::Observations),
];

fn table(place: usize) -> VectorTable {
    let (path, table) = PLACES[place];
    vector_table(&scope(path), table)
}

fn files_of(root: &Path, place: usize) -> BTreeSet<String> {
    let (org, kind) = table(place);
    files(root, &format!("{org}/{kind}.lance/"))
}

fn neighbours_in(place: usize) -> NeighbourRequest {
    let (path, table) = PLACES[place];
    NeighbourRequest {
        scope: scope(path),
        table,
        failure: false,
        embedding: embedding(Numbers(7).vector(crate::model::DIMENSIONS)),
        cosine_min: -1.0,
        limit: 20,
    }
}

fn search_in(place: usize) -> SearchRequest {
    SearchRequest {
        scopes: vec![scope(PLACES[place].0)],
        ..search("zarko", None, 1_000)
    }
}

impl Several {
    async fn filled(root: &Path) -> Self {
        let of = |place: usize| {
            let (path, table) = PLACES[place];
            let docs = (1..=COUNT).map(|n| IndexDoc {
                scope: scope(path),
                table,
                // An entry has one table.
                entry: crate::model::id(n * 10 + place as u64),
                ..doc(n, n)
            });
            docs.collect()
        };
        let docs: Vec<Vec<IndexDoc>> = (0..PLACES.len()).map(of).collect();
        let index = open(root);
        index.apply(docs.concat(), stamp(COUNT)).await.unwrap();
        index.optimise().await.unwrap();
        index.note_whole().await.unwrap();
        Self { index, docs }
    }

    async fn found(&self, request: &SearchRequest) -> (usize, bool) {
        let found = self.index.search(request).await.unwrap();
        (found.text.len(), found.partial)
    }

    fn expected(&self, places: &[usize]) -> usize {
        let docs = places.iter().flat_map(|place| &self.docs[*place]);
        docs.filter(|doc| doc.content.contains("zarko")).count()
    }

    /// Damage to a table is met by whoever reads it, and says which it is.
    async fn meets(&self, place: usize) -> Lost {
        let mut met = Vec::new();
        met.extend(self.index.neighbours(&neighbours_in(place)).await.err());
        met.extend(self.index.ages(&mut |_| ()).await.err());
        let first = met.into_iter().next();
        match first {
            Some(PortError::Damaged { lost, .. }) => lost,
            other => panic!("{other:?}"),
        }
    }

    /// The other tables answer while the first is damaged, and take in what comes.
    async fn others_go_on(&self, lost: &Lost) {
        assert_eq!(self.found(&search_in(0)).await, (self.expected(&[1]), true));
        assert_eq!(self.index.passed_over(), *lost);
        assert_eq!(
            self.found(&search_in(2)).await,
            (self.expected(&[2]), false)
        );
        assert_eq!(self.meets(0).await, *lost);
        for place in [1, 2] {
            let found = self.index.neighbours(&neighbours_in(place)).await.unwrap();
            assert_eq!(found.len(), 20);
            self.index
                .apply(self.docs[place].clone(), stamp(COUNT))
                .await
                .unwrap();
        }
        self.index.optimise().await.unwrap();
        for refused in [
            self.index.ages(&mut |_| ()).await,
            self.index.apply(self.docs[0].clone(), stamp(COUNT)).await,
        ] {
            assert!(
                matches!(refused, Err(PortError::Damaged { .. })),
                "{refused:?}"
            );
        }
    }

    async fn all_is_there(&self) {
        let stats = IndexStats {
            stored: 3 * COUNT,
            pending: 0,
        };
        assert_eq!(self.index.stats().await.unwrap(), stats);
        assert!(self.index.passed_over().is_nothing());
        assert_eq!(
            self.found(&search_in(0)).await,
            (self.expected(&[0, 1]), false)
        );
        assert_eq!(
            self.found(&search_in(2)).await,
            (self.expected(&[2]), false)
        );
        for place in 0..PLACES.len() {
            let found = self.index.neighbours(&neighbours_in(place)).await.unwrap();
            assert_eq!(found.len(), 20);
        }
    }
}

#[tokio::test]
async fn a_table_that_goes_bad_is_built_again_while_the_others_answer() {
    for harm in [Harm::Removed, Harm::Cut, Harm::Zeros, Harm::Garbage] {
        let directory = tempfile::tempdir().unwrap();
        let several = Several::filled(directory.path()).await;
        let index = &several.index;
        several.all_is_there().await;
        let bad = files_of(directory.path(), 0);
        bad.iter().for_each(|path| harm.to(path));
        let lost = several.meets(0).await;
        assert_eq!(lost, Lost::table(table(0)), "{harm:?}");

        several.others_go_on(&lost).await;

        // It is forgotten alone.
        let sound = [1, 2].map(|place| files_of(directory.path(), place));
        index.forget(&lost).await.unwrap();
        assert!(files_of(directory.path(), 0).is_empty());
        assert_eq!(index.watermark().await.unwrap(), None);
        assert!(!index.is_whole().await.unwrap());
        assert_eq!(
            several.found(&search_in(0)).await,
            (several.expected(&[1]), false)
        );
        assert_eq!(
            several.found(&search_in(2)).await,
            (several.expected(&[2]), false)
        );

        // Everything is told again: what the others have is not stored again.
        index
            .apply(several.docs.concat(), stamp(COUNT))
            .await
            .unwrap();
        several.all_is_there().await;
        index.optimise().await.unwrap();
        several.all_is_there().await;
        assert_eq!(
            [1, 2].map(|place| files_of(directory.path(), place)),
            sound,
            "{harm:?}"
        );
        assert!(!index.is_whole().await.unwrap(), "nobody has noted it");
        index.note_whole().await.unwrap();

        let docs = several.docs.clone();
        drop(several);
        let index = open(directory.path());
        assert_eq!(index.watermark().await.unwrap(), Some(stamp(COUNT)));
        assert!(index.is_whole().await.unwrap());
        Several { index, docs }.all_is_there().await;
    }
}

#[tokio::test]
async fn a_start_that_meets_a_table_gone_bad_keeps_the_others_and_wants_to_be_told_all() {
    for harm in [Harm::Removed, Harm::Cut, Harm::Zeros, Harm::Garbage] {
        let directory = tempfile::tempdir().unwrap();
        let Several { index, docs } = Several::filled(directory.path()).await;
        drop(index);
        let bad = files(directory.path(), "other/episodic.lance/_versions");
        assert!(!bad.is_empty());
        bad.iter().for_each(|path| harm.to(path));
        let index = open(directory.path());
        let several = Several { index, docs };
        let index = &several.index;
        assert_eq!(index.watermark().await.unwrap(), None, "{harm:?}");
        assert!(!index.is_whole().await.unwrap(), "{harm:?}");
        assert_eq!(
            several.found(&search_in(0)).await,
            (several.expected(&[0, 1]), false)
        );
        index
            .apply(several.docs.concat(), stamp(COUNT))
            .await
            .unwrap();
        several.all_is_there().await;
    }
}

#[tokio::test]
async fn what_is_cut_off_after_a_table_was_forgotten_is_told_all_at_the_next_start() {
    let directory = tempfile::tempdir().unwrap();
    let several = Several::filled(directory.path()).await;
    several.index.forget(&Lost::table(table(0))).await.unwrap();
    // Some of it comes, with the cursor of that, and the process ends.
    let some = several.docs[0][..50].to_vec();
    several.index.apply(some, stamp(50)).await.unwrap();
    let docs = several.docs.clone();
    drop(several);
    let index = open(directory.path());
    assert_eq!(index.watermark().await.unwrap(), Some(stamp(50)));
    assert!(!index.is_whole().await.unwrap());
    let several = Several { index, docs };
    let left: Vec<IndexDoc> = several.docs.concat();
    several.index.apply(left, stamp(COUNT)).await.unwrap();
    several.all_is_there().await;
}

#[tokio::test]
async fn a_cursor_that_a_start_does_not_accept_counts_at_no_later_start() {
    let directory = tempfile::tempdir().unwrap();
    let cursor = directory.path().join("@watermark");
    let Several { index, docs } = Several::filled(directory.path()).await;
    drop(index);
    let bad = files(directory.path(), "other/episodic.lance/_versions");
    bad.iter().for_each(|path| Harm::Cut.to(path));
    assert!(cursor.exists());
    let index = open(directory.path());
    assert!(!cursor.exists());

    // The first batch of all that is told again comes, of which the cursor says nothing yet, and the process ends.
    let first = docs[2][..50].to_vec();
    index.apply(first, Stamp::ZERO).await.unwrap();
    drop(index);
    let index = open(directory.path());
    assert_eq!(index.watermark().await.unwrap(), Some(Stamp::ZERO));
    assert!(!index.is_whole().await.unwrap());
    assert_eq!(index.stats().await.unwrap().stored, 50);
    index.apply(docs.concat(), stamp(COUNT)).await.unwrap();
    Several { index, docs }.all_is_there().await;
}

#[tokio::test]
async fn a_table_that_could_not_be_removed_is_removed_by_whoever_tries_again() {
    let directory = tempfile::tempdir().unwrap();
    let several = Several::filled(directory.path()).await;
    let (org, kind) = table(0);
    let lost = Lost::table(table(0));
    let place = directory.path().join(org).join(format!("{kind}.lance"));
    let aside = directory.path().join("aside");
    // A file cannot be removed as a directory is.
    std::fs::rename(&place, &aside).unwrap();
    std::fs::write(&place, "").unwrap();
    assert!(several.index.forget(&lost).await.is_err());
    assert_eq!(several.index.watermark().await.unwrap(), None);

    // Part of it went.
    std::fs::remove_file(&place).unwrap();
    std::fs::rename(&aside, &place).unwrap();
    std::fs::remove_dir_all(place.join("_versions")).unwrap();
    several.index.forget(&lost).await.unwrap();
    assert!(!place.exists());
    let docs = several.docs.concat();
    several.index.apply(docs, stamp(COUNT)).await.unwrap();
    several.all_is_there().await;
}

#[tokio::test]
async fn what_is_left_of_a_table_that_nobody_knows_any_more_is_removed() {
    let directory = tempfile::tempdir().unwrap();
    let several = Several::filled(directory.path()).await;
    let lost = Lost::table(table(0));
    several.index.forget(&lost).await.unwrap();
    let (org, kind) = table(0);
    let place = directory.path().join(org).join(format!("{kind}.lance"));
    let leave = || {
        std::fs::create_dir_all(place.join("data")).unwrap();
        std::fs::write(place.join("data/torn.lance"), "").unwrap();
    };
    leave();
    several.index.forget(&lost).await.unwrap();
    assert!(!place.exists());
    // Nor does it stay over a start.
    leave();
    let Several { index, docs } = several;
    drop(index);
    let index = open(directory.path());
    assert!(!place.exists());
    index.apply(docs.concat(), stamp(COUNT)).await.unwrap();
    Several { index, docs }.all_is_there().await;
}
