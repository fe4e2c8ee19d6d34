//! Tables that are written at once are those of an index that was told of each entry.

use sillok_core::ports::{EntryColumns as _, IndexStats, VectorIndex as _};
use sillok_vectors_lance::{Error, LanceColumns, write_tables};

use crate::model::{
    DIMENSIONS, Model, Numbers, assert_alike, config, doc, files, open, search, stamp, with_text,
};

#[tokio::test]
async fn an_index_that_is_opened_on_them_has_everything_and_goes_on() {
    let directory = tempfile::tempdir().unwrap();
    let docs: Vec<_> = (1..=400).map(|n| doc(n, n)).collect();
    let batches = [docs[..200].to_vec(), docs[200..].to_vec()];
    write_tables(directory.path(), config(), batches.into_iter()).unwrap();
    assert!(!files(directory.path(), "_indices/").is_empty());
    let mut model = Model::default();
    model.take(&docs);
    for _ in 0..2 {
        let index = open(directory.path());
        assert_eq!(index.watermark().await.unwrap(), Some(stamp(400)));
        let stats = IndexStats {
            stored: 400,
            pending: 0,
        };
        assert_eq!(index.stats().await.unwrap(), stats);
        let vector = Numbers(5).vector(DIMENSIONS);
        for request in [
            search("zarko mipel", None, 500),
            search("", Some(vector.clone()), 5),
        ] {
            let found = index.search(&request).await.unwrap();
            assert_alike(&found, &model.search(&request), "written at once");
        }
        index.optimise().await.unwrap();
    }
    let later = with_text("quokka", doc(7, 500));
    let index = open(directory.path());
    index.apply(vec![later.clone()], stamp(500)).await.unwrap();
    model.take(&[later]);
    let request = search("quokka", None, 5);
    let found = index.search(&request).await.unwrap();
    assert_alike(&found, &model.search(&request), "told afterwards");
    assert_eq!(index.stats().await.unwrap().stored, 400);
}

#[tokio::test]
async fn few_get_no_indices_and_tables_that_lie_there_are_left_alone() {
    let directory = tempfile::tempdir().unwrap();
    let few = vec![doc(1, 1), doc(2, 2)];
    write_tables(directory.path(), config(), std::iter::once(few)).unwrap();
    assert!(files(directory.path(), "_indices/").is_empty());
    let again = write_tables(directory.path(), config(), std::iter::once(vec![doc(3, 3)]));
    assert!(matches!(again, Err(Error::Config(_))), "{again:?}");
    let columns = LanceColumns::open(directory.path(), config()).unwrap();
    assert_eq!(columns.read_through().await.unwrap(), 2);
    let mut seen = 0;
    let mut count = |columns: &sillok_core::retention::plan::AgeColumns<'_>| {
        seen += columns.scope.len();
    };
    columns.ages(&mut count).await.unwrap();
    assert_eq!(seen, 2);
}
