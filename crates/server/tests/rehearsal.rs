//! A rehearsal of maintenance, over all that a server runs with on one machine: the embedded store and the tables of
//! the vector index.
//!
//! Owns that a rehearsal leaves both as they are, byte for byte, and plans what the run then does.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use sillok_actors::maintenance::{Maintain, Maintained};
use sillok_core::command::{Command, Submission};
use sillok_core::entry::{Binding, Detail, Metadata, Table};
use sillok_core::id::{Attempt, CommandId};
use sillok_core::principal::{Actor, Principal, PrincipalId, PrincipalKind};
use sillok_core::promotion::NewEntry;
use sillok_core::scope::{Scope, ScopePrefix};
use sillok_core::stamp::Stamp;
use sillok_server::{Config, Engine, OpenData, open_data_dir, start_node};
use sillok_store::keys::{Family, outbox};
use sillok_store::{RangeOptions, Read, Store as _, Txn as _};

type Node = sillok_actors::Node<Engine>;

/// Entries that grow old within the test, and others that do not.
const OLD: usize = 40;
const LASTING: usize = 10;
/// After so many days an observation is old here, and how long to wait for that.
const OLD_DAYS: f64 = 0.5 / 86_400.0;
const WAIT_MS: u64 = 1_000;
/// Rows of a family, at most, and how often somebody looks whether the index has stored all.
const ROWS_MAX: usize = 10_000;
const LOOKS_MAX: usize = 12_000;
const LOOK_MS: u64 = 10;

fn put(data: &OpenData, table: Table, number: usize) -> Submission {
    let id = u64::try_from(number).expect("a count fits");
    let mut random = [0; 10];
    random[2..].copy_from_slice(&id.to_be_bytes());
    let entry = NewEntry {
        table,
        content: format!("{table}: step {number} of the build takes the linker {number} seconds"),
        detail: Detail::Plain,
        metadata: Metadata::default(),
        claim: None,
        citations: Vec::new(),
        failure: false,
        binding: Binding::NoRepository,
        embedding: None,
    };
    Submission {
        scope: Scope::parse("org/acme/project/api").expect("a literal of the right form"),
        principal: Principal {
            actor: Actor {
                kind: PrincipalKind::Human,
                id: PrincipalId::parse("ann").expect("a literal of the right form"),
            },
            prefix: ScopePrefix::All,
        },
        id: CommandId::from_parts(data.ports.clock.now(), random),
        attempt: Attempt::FIRST,
        command: Command::PutEntry {
            entry: Box::new(entry),
            verification: None,
        },
    }
}

/// Publishes all, and waits until the index has stored it and the observations are old.
async fn publish(data: &OpenData, node: &Node) {
    for number in 0..OLD + LASTING {
        let table = if number < OLD {
            Table::Observations
        } else {
            Table::Patterns
        };
        let mut submission = put(data, table, number);
        if let Command::PutEntry { entry, .. } = &mut submission.command {
            let vectors = data.ports.embedder.embed(&[&entry.content]).await;
            entry.embedding = vectors.expect("the built-in embedder answers").pop();
        }
        node.submit(submission).await.expect("a person may publish");
    }
    data.ports.clock.sleep(WAIT_MS).await;
    // Behind its cursor the index writes nothing more, neither tables nor the cursor.
    let last = last_stamp(&data.store).await;
    for _ in 0..LOOKS_MAX {
        let through = data.ports.index.watermark().await.expect("it is open");
        if through >= Some(last) {
            let stats = data.ports.index.stats().await.expect("it is open");
            assert_eq!(stats.stored, (OLD + LASTING) as u64);
            assert_eq!(stats.pending, 0);
            return;
        }
        data.ports.clock.sleep(LOOK_MS).await;
    }
    panic!("the index does not store what was published");
}

/// The last commit that the store has told the index of.
async fn last_stamp(store: &Engine) -> Stamp {
    let mut txn = store.begin().await.expect("the store is open");
    let options = RangeOptions::first(ROWS_MAX, Read::Snapshot);
    let told = txn.range(&Family::Outbox.range(), options).await;
    let told = told.expect("the store answers");
    assert!(told.len() < ROWS_MAX, "all rows are looked at");
    let stamps = told.iter().map(|(key, _)| {
        let parsed = outbox::parse(key).expect("a key of the outbox");
        parsed.stamp
    });
    stamps.max().expect("something was published")
}

/// All rows of the store but those that nodes tell by that they live.
async fn rows(store: &Engine) -> BTreeMap<Vec<u8>, Vec<u8>> {
    let mut rows = BTreeMap::new();
    let families = Family::ALL.iter().filter(|family| **family != Family::Node);
    for family in families {
        let mut txn = store.begin().await.expect("the store is open");
        let options = RangeOptions::first(ROWS_MAX, Read::Snapshot);
        let found = txn.range(&family.range(), options).await;
        let found = found.expect("the store answers");
        assert!(
            found.len() < ROWS_MAX,
            "all rows of {family:?} are compared"
        );
        let owned = found
            .into_iter()
            .map(|(key, value)| (key.to_vec(), value.to_vec()));
        rows.extend(owned);
    }
    rows
}

/// All files below a directory, with what is in them.
fn files(directory: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(directory).expect("it is there") {
        let path = entry.expect("it can be read").path();
        if path.is_dir() {
            found.append(&mut files(&path));
        } else {
            let bytes = std::fs::read(&path).expect("it can be read");
            found.insert(path, bytes);
        }
    }
    found
}

/// What a run found due, by scope.
fn plans(run: &Maintained) -> Vec<impl PartialEq + std::fmt::Debug + use<>> {
    let scopes = run.scopes.iter();
    let plan_of = |scope: &sillok_actors::maintenance::ScopeMaintained| {
        (scope.scope.clone(), scope.plan.clone(), scope.asks)
    };
    scopes.map(plan_of).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rehearsal_leaves_store_and_tables_as_they_are_and_plans_what_the_run_does() {
    let directory = tempfile::tempdir().expect("there is room for temporary files");
    let mut config = Config::default();
    config.server.data = directory.path().join("data");
    config.retention.archive_episodic_days = OLD_DAYS;
    config.retention.prune_days = OLD_DAYS;
    let data = open_data_dir(&config).await.expect("it is empty");
    let node = start_node(&data, &config).await.expect("it is alone");
    publish(&data, &node).await;
    let (store, tables) = (rows(&data.store).await, files(&data.directory.vectors()));
    assert!(
        store.len() > OLD && tables.len() > 2,
        "there is something to compare"
    );

    let whole = Maintain {
        force: true,
        ..Maintain::whole()
    };
    let rehearsal = Maintain {
        dry_run: true,
        ..whole.clone()
    };
    let planned = node.maintain(&rehearsal).await.expect("a rehearsal ends");
    assert!(rows(&data.store).await == store, "a row has changed");
    let after = files(&data.directory.vectors());
    assert_eq!(
        after.keys().collect::<Vec<_>>(),
        tables.keys().collect::<Vec<_>>()
    );
    assert!(after == tables, "a file of the index has changed");

    let done = node.maintain(&whole).await.expect("a run ends");
    assert_eq!(plans(&planned), plans(&done));
    let retired: u64 = done.scopes.iter().map(|scope| scope.retired).sum();
    // The best of a task stay; these come from none.
    assert_eq!(retired, OLD as u64);
    // Which shows that the comparisons see a run that is no rehearsal.
    assert!(rows(&data.store).await != store);
    for _ in 0..LOOKS_MAX {
        if files(&data.directory.vectors()) != tables {
            node.shutdown().await;
            return;
        }
        data.ports.clock.sleep(LOOK_MS).await;
    }
    panic!("the tables hear nothing of the run");
}
