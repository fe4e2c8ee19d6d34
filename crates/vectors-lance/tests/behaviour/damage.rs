//! Files of a table that go bad while it is used are met as damage, and the index can be filled again.

use std::io::{Error as IoError, ErrorKind};
use std::path::Path;

use sillok_core::entry::Table;
use sillok_core::ports::{IndexDoc, NeighbourRequest, PortError, VectorIndex};
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
