//! A server that loses its power in mid-load: what was acknowledged had been synced.
//!
//! The server runs on a disk that keeps a record of what was synced. It is killed, the rest is taken
//! away or kept in part, and it has to start again and hold all that it had acknowledged.

use std::path::Path;
use std::time::{Duration, Instant};

use sillok_core::principal::PrincipalKind;
use sillok_power_loss::loss::Lost;
use sillok_power_loss::{Disk, Power};

use super::ledger::{Acked, Ledger, Place};
use super::{CLIENTS, audit, work_until_killed};
use crate::harness::{Chance, Client, ORG, World};

/// How often the power goes, unless `SILLOK_POWER_LOSSES` says otherwise.
const LOSSES: usize = 4;
/// Losses of one data directory, so that a long run does not check an ever larger one.
const LOSSES_OF_ONE_STORE: usize = 8;
/// New data directories whose first start is cut short.
const FIRST_STARTS: usize = 8;
/// Losses from which on some have torn files and undone namings.
const LOSSES_OF_ALL_KINDS: usize = 100;
/// Answers of the cycle that are asked for again after the restart.
const RETRIED: usize = 10;
/// How long a sync takes: about as long as on a good disk, so that most kills meet one under way.
const SYNC: Duration = Duration::from_micros(800);

fn disk(disk: Disk) -> impl FnOnce(&Path, &Path) -> Power {
    move |data, record| Power::new(data, record, disk, SYNC).expect("the folders can be made")
}

/// What all cycles came to.
#[derive(Debug, Default)]
struct Totals {
    losses: usize,
    /// Commands that were acknowledged before.
    acked: usize,
    /// Commands whose outcome the loss left open.
    unknown: usize,
    /// How many of those had been carried out, and were kept.
    committed: usize,
    lost: Lost,
}

/// Whether there is no shim for this kind of machine. Where there has to be one, it has to be there.
fn is_skipped() -> bool {
    if sillok_power_loss::library().is_some() {
        return false;
    }
    if cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        panic!("the shim was not built");
    }
    println!("skipped: there is no shim for this machine");
    true
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_power_loss_in_mid_load_loses_nothing_acknowledged_and_repeats_nothing() {
    if is_skipped() {
        return;
    }
    let losses = std::env::var("SILLOK_POWER_LOSSES").ok();
    let losses = losses.map_or(LOSSES, |text| text.parse().expect("a number of losses"));
    assert!(losses > 0, "SILLOK_POWER_LOSSES is over 0");
    let mut chance = Chance::of_test("power");
    let mut total = Totals::default();
    while total.losses < losses {
        live_and_lose(losses, &mut total, &mut chance).await;
    }
    println!("{total:?}");
    assert!(
        total.acked > CLIENTS / 2 * total.losses,
        "there was hardly any load: {total:?}"
    );
    let lost = total.lost;
    let took = lost.files_changed > 0 && lost.bytes_lost > 0;
    // A single loss may meet nobody who makes files.
    let all = lost.files_torn > 0 && lost.namings_undone > 0;
    assert!(
        took && (all || losses < LOSSES_OF_ALL_KINDS),
        "the losses took too little: {total:?}"
    );
}

/// One data directory, from its first start until it has seen enough losses.
async fn live_and_lose(losses: usize, total: &mut Totals, chance: &mut Chance) {
    let mut world = World::start_on(disk(Disk::Honest)).await;
    let token = world
        .principal(PrincipalKind::Orchestrator, ORG)
        .await
        .token()
        .to_owned();
    let mut ledgers = Vec::new();
    while total.losses < losses && ledgers.len() < LOSSES_OF_ONE_STORE {
        let started = Instant::now();
        let place = Place::open(&world.admin(), total.losses).await;
        let writer = world.admin().with_token(Some(&token));
        let moment = Duration::from_millis(60 + chance.below(140) as u64);
        let mut ledger = work_until_killed(&mut world, &writer, &place, moment, chance).await;
        total.acked += ledger.acked.len();
        total.lost += world.lose_power(chance);
        let offline = total.losses.is_multiple_of(2);
        if offline {
            audit(&world, "audit verify --offline --json");
        }
        world.start_again().await;
        let client = world.admin().with_token(Some(&token));
        total.committed += ledger.check_before_retries(&client, &place).await;
        total.unknown += ledger.unknown.len();
        ledger.retry(&client, RETRIED, chance).await;
        ledger.check(&client, &place).await;
        if !offline {
            audit(&world, "audit verify --json");
        }
        total.losses += 1;
        println!("{total:?} after {:?}", started.elapsed());
        ledgers.push((place, ledger));
    }
    let client = world.admin().with_token(Some(&token));
    for (place, ledger) in &ledgers {
        ledger.check(&client, place).await;
    }
    audit(&world, "audit verify --json");
}

/// Nothing is acknowledged while a server starts for the first time, and nothing is in its way
/// afterwards.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_power_loss_during_the_first_start_is_no_obstacle_to_the_next() {
    if is_skipped() {
        return;
    }
    let mut chance = Chance::of_test("first start");
    let mut lost = Lost::default();
    for _ in 0..FIRST_STARTS {
        let mut world = World::unstarted_on(disk(Disk::Honest));
        for _ in 0..1 + chance.below(2) {
            let moment = Duration::from_millis(10 + chance.below(90) as u64);
            world.launch().start_for(moment).await;
            lost += world.lose_power(&mut chance);
        }
        world.start_again().await;
        world.task().await;
        audit(&world, "audit verify --json");
    }
    println!("{lost:?}");
    assert!(lost.namings_at_risk > 0, "nothing was lost: {lost:?}");
}

/// The check can fail: where syncs keep nothing, as if the committer made none, it finds the loss.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_disk_that_lies_about_syncs_is_found_out() {
    if is_skipped() {
        return;
    }
    let mut chance = Chance::of_test("lies");
    let mut world = World::start_on(disk(Disk::Honest)).await;
    let token = world
        .principal(PrincipalKind::Orchestrator, ORG)
        .await
        .token()
        .to_owned();
    let place = Place::open(&world.admin(), 0).await;
    // Until here all is safe. From here on nothing is.
    world.kill();
    world.lose_power(&mut chance);
    world.change_disk(disk(Disk::Lying));
    world.start_again().await;
    let writer = world.admin().with_token(Some(&token));
    let moment = Duration::from_millis(200);
    let ledger = work_until_killed(&mut world, &writer, &place, moment, &mut chance).await;
    assert!(!ledger.acked.is_empty(), "there was some load");
    world.lose_all();
    world.start_again().await;
    let client = world.admin().with_token(Some(&token));
    let missing = ledger.missing(&client, &place).await;
    println!(
        "{missing} of {} acknowledged commands are lost",
        ledger.acked.len()
    );
    assert!(missing > 0, "nobody noticed that nothing was synced");
}

impl Ledger {
    /// How many commands were acknowledged and are not stored.
    async fn missing(&self, client: &Client, place: &Place) -> usize {
        let stored = place.stored(client).await;
        let lost = |acked: &&Acked| !stored.contains_key(&acked.id);
        self.acked.iter().filter(lost).count()
    }
}
