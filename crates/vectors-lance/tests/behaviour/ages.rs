//! The columns that maintenance plans by are those of the entries that are stored.

use std::collections::BTreeMap;

use sillok_core::entry::{Status, Table};
use sillok_core::id::EntryId;
use sillok_core::ports::{EntryColumns, IndexDoc, VectorIndex};
use sillok_core::retention::Age;
use sillok_core::time::Timestamp;
use sillok_vectors_lance::LanceColumns;

use crate::model::{config, doc, id, open, scope, stamp};

/// Scope, version, status, age by entry.
type Seen = BTreeMap<EntryId, (String, u64, Status, Age)>;

async fn ages(index: &dyn EntryColumns) -> Seen {
    let mut seen = Seen::new();
    let mut take = |columns: &sillok_core::retention::plan::AgeColumns<'_>| {
        let worth = columns.worth;
        for (row, scope) in columns.scope.iter().enumerate() {
            let age = Age {
                from: worth.age_from[row],
                resolved_at: columns.resolved_at[row],
                value: worth.value[row],
                origin: worth.origin[row],
            };
            let scope = columns.scopes[*scope as usize].as_str().to_owned();
            let found = (scope, columns.version[row], worth.status[row], age);
            assert!(seen.insert(worth.entry[row], found).is_none());
        }
    };
    index.ages(&mut take).await.unwrap();
    seen
}

fn expected(docs: &[IndexDoc]) -> Seen {
    let of = |doc: &IndexDoc| {
        let scope = doc.scope.as_str().to_owned();
        (doc.entry, (scope, doc.version, doc.status, doc.age))
    };
    docs.iter().map(of).collect()
}

/// Entries of several scopes and tables, one of which was resolved.
fn varied(count: u64) -> Vec<IndexDoc> {
    let of = |n: u64| IndexDoc {
        scope: scope(&format!("org/acme/project/p{}", n % 3)),
        table: [Table::Observations, Table::Gotchas, Table::Episodes][n as usize % 3],
        age: Age {
            resolved_at: (n % 3 == 1).then(|| Timestamp::from_ms(n)),
            ..doc(n, n).age
        },
        ..doc(n, n)
    };
    (1..=count).map(of).collect()
}

#[tokio::test]
async fn each_entry_is_handed_over_once_as_it_is_stored() {
    let directory = tempfile::tempdir().unwrap();
    let mut docs = varied(300);
    {
        let index = open(directory.path());
        assert!(ages(&index).await.is_empty());
        index.apply(docs.clone(), stamp(300)).await.unwrap();
        assert_eq!(ages(&index).await, expected(&docs));
        docs[7] = IndexDoc {
            version: 2,
            status: Status::Deprecated,
            stamp: stamp(400),
            ..docs[7].clone()
        };
        index
            .apply(vec![docs[7].clone()], stamp(400))
            .await
            .unwrap();
        index.optimise().await.unwrap();
        assert_eq!(ages(&index).await, expected(&docs));
        let left = docs.remove(5);
        let gone = IndexDoc {
            status: Status::Archived,
            stamp: stamp(401),
            ..left
        };
        index.apply(vec![gone], stamp(401)).await.unwrap();
        assert_eq!(ages(&index).await, expected(&docs));
    }
    let index = open(directory.path());
    assert_eq!(ages(&index).await, expected(&docs));
    let mut origins = BTreeMap::new();
    let mut take = |columns: &sillok_core::retention::plan::WorthColumns<'_>| {
        let rows = columns.entry.iter().zip(columns.origin);
        origins.extend(rows.map(|(entry, origin)| (*entry, *origin)));
    };
    index.worths(&mut take).await.unwrap();
    assert_eq!(origins.len(), 299);
    assert_eq!(origins[&id(8)], docs[6].age.origin);
    drop(index);
    // Whoever opens the tables for plans alone sees the same.
    let columns = LanceColumns::open(directory.path(), config()).unwrap();
    assert_eq!(ages(&columns).await, expected(&docs));
    assert_eq!(columns.read_through().await.unwrap(), 299);
    let mut ranked = 0;
    let mut count = |columns: &sillok_core::retention::plan::WorthColumns<'_>| {
        ranked += columns.entry.len();
    };
    columns.worths(&mut count).await.unwrap();
    assert_eq!(ranked, 299);
}
