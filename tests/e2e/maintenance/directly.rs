//! Commands that open a data directory which no server has: those that read carry out no run that is due, and
//! `maintain` carries out the one that it is asked for.

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use sillok_core::schedule::Runs;
use sillok_core::time::Timestamp;
use sillok_store::keys::{self, Family};

use super::{FACTS, PATIENCE, jumped, retired, something_due};
use crate::harness::samples::put;
use crate::harness::{Invocation, PROJECT, World, phrase};
use crate::tamper::vault::{Row, Vault};

/// A command for which everything is old that was written before this second, as for the server of [`jumped`].
fn command(world: &World, words: &[&str]) -> Invocation {
    let command = world
        .invocation("")
        .env("SILLOK__RETENTION__ARCHIVE_EPISODIC_DAYS", "0.00000001")
        .env("SILLOK__RETENTION__PRUNE_DAYS", "0.00000001")
        .env("SILLOK__RETENTION__KEEP_BEST", "0");
    words
        .iter()
        .fold(command, |command, word| command.arg(word))
}

/// The status of an entry, as `show` prints it without a server.
fn status(world: &World, entry: &str) -> Value {
    let shown = command(world, &["show", "--json", entry]).run().json();
    shown["head"]["status"].clone()
}

/// Leaves word that no run was since long ago, so that the last night was missed.
pub(crate) async fn night_missed(data: &Path) -> Vault {
    let vault = Vault::at(data);
    let long_ago = Runs::begin(Timestamp::from_ms(1_000));
    let row: Row = (
        keys::run::key("maintenance").into(),
        Some(keys::run::encode(&long_ago).into()),
    );
    vault.write(&[row]).await;
    vault
}

/// A world whose server has stopped, with something due and one fact more, after a night that was missed.
async fn stopped() -> (World, String, Vault) {
    let mut world = jumped().await;
    something_due(&world).await;
    let fact = put(&world.admin(), PROJECT, &phrase()).await;
    world.stop();
    let vault = night_missed(&world.data()).await;
    (world, fact, vault)
}

#[tokio::test]
async fn a_command_that_reads_without_a_server_makes_up_for_no_night() {
    let (mut world, fact, vault) = stopped().await;
    let before = vault.rows(Family::Run).await;
    assert_eq!(before.len(), 1);
    let first = status(&world, &fact);
    let reads: [&[&str]; 6] = [
        &["recall", "anything", "--scope", PROJECT],
        &["events", "--scope", PROJECT],
        &["review", "list", "--scope", PROJECT],
        &["history", fact.as_str()],
        &["jobs", "list", "--halted"],
        &["audit", "verify"],
    ];
    for words in reads {
        command(&world, words).run().ended(0);
    }
    assert_ne!(first, "archived");
    assert_eq!(status(&world, &fact), first);
    assert_eq!(vault.rows(Family::Run).await, before, "no run is noted");
    // A run was due all the while: a server makes up for it.
    world.start_again().await;
    let begun = Instant::now();
    while world.sillok("status --json").json()["maintenance"].is_null() {
        assert!(begun.elapsed() < PATIENCE, "the night is made up for");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

#[tokio::test]
async fn maintenance_without_a_server_is_carried_out_in_the_directory_itself() {
    // The night that was missed is not what is asked for.
    let (world, fact, vault) = stopped().await;
    let before = vault.rows(Family::Run).await;
    let planned = command(&world, &["maintain", "--dry-run", "--json"]);
    let planned = planned.run().json();
    let aged = json!(FACTS + 1);
    assert_eq!(
        (&planned["scopes"][0]["aged"], retired(&planned)),
        (&aged, 0),
        "{planned}"
    );
    let poor = command(&world, &["maintain", "--json", "--only", "prune"]);
    assert_eq!(retired(&poor.run().json()), 1);
    assert_ne!(status(&world, &fact), "archived");
    assert_eq!(vault.rows(Family::Run).await, before, "no whole run was");

    let ran = command(&world, &["maintain", "--json"]).run();
    let done = ran.json();
    assert_eq!(
        (&done["scopes"][0]["aged"], retired(&done)),
        (&aged, FACTS as u64 + 1),
        "{done}"
    );
    assert!(
        ran.stderr.contains("no server is running: maintaining"),
        "{ran:#?}"
    );
    assert!(!world.data().join("server.json").exists());
    assert_eq!(status(&world, &fact), "archived");
    assert_ne!(vault.rows(Family::Run).await, before, "the run is noted");
    let verdict = world.sillok("audit verify --offline --json").json();
    assert_eq!(verdict["ok"], true, "{verdict}");
}

/// The command waits for a while: another command may have the directory, and soon be done.
#[tokio::test]
async fn maintenance_of_a_directory_that_a_server_has_which_is_not_found_says_so() {
    let world = World::start().await;
    std::fs::remove_file(world.data().join("server.json")).expect("the server is announced");
    let ran = world.sillok("maintain --json");
    ran.ended(75);
    assert!(ran.stderr.contains("in use by another process"), "{ran:#?}");
    assert!(ran.stdout.is_empty(), "{ran:#?}");
}
