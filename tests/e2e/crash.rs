//! A server that is killed in mid-load: nothing acknowledged is lost, and nothing happens twice.

mod ledger;
mod load;
mod power;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use sillok_core::principal::PrincipalKind;
use tokio::task::JoinSet;

use crate::harness::{Chance, Client, ORG, World};
use ledger::{Ledger, Place};

/// How often the server is killed, unless `SILLOK_CRASH_CYCLES` says otherwise.
const CYCLES: usize = 20;
/// Kills of one data directory, so that a long run does not audit an ever larger one.
const CYCLES_OF_ONE_STORE: usize = 40;
/// Clients that write at once.
const CLIENTS: usize = 50;
/// Answers of the cycle that are asked for again after the restart.
const RETRIED: usize = 25;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_crash_in_mid_load_loses_nothing_and_repeats_nothing() {
    let cycles = std::env::var("SILLOK_CRASH_CYCLES").ok();
    let cycles = cycles.map_or(CYCLES, |text| text.parse().expect("a number of cycles"));
    assert!(cycles > 0, "SILLOK_CRASH_CYCLES is over 0");
    let mut chance = Chance::of_test("crash");
    let mut total = Totals::default();
    while total.cycles < cycles {
        live_and_die(cycles, &mut total, &mut chance).await;
    }
    println!("{total:?}");
    assert!(
        total.acked > CLIENTS * total.cycles,
        "there was hardly any load: {total:?}"
    );
}

/// One data directory, from its first start until it has seen enough kills.
async fn live_and_die(cycles: usize, total: &mut Totals, chance: &mut Chance) {
    let mut world = World::start().await;
    let token = world
        .principal(PrincipalKind::Orchestrator, ORG)
        .await
        .token()
        .to_owned();
    let mut ledgers = Vec::new();
    while total.cycles < cycles && ledgers.len() < CYCLES_OF_ONE_STORE {
        let started = Instant::now();
        let place = Place::open(&world.admin(), total.cycles).await;
        let writer = world.admin().with_token(Some(&token));
        let moment = Duration::from_millis(150 + chance.below(250) as u64);
        let mut ledger = work_until_killed(&mut world, &writer, &place, moment, chance).await;
        assert!(
            !ledger.unknown.is_empty(),
            "the kill met nobody in mid-load"
        );
        // Before anything else writes to the store, and while a server goes on, in turns.
        let offline = total.cycles.is_multiple_of(2);
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
        total.acked += ledger.acked.len();
        total.promotions += ledger.check_promotions(&world.admin()).await;
        total.cycles += 1;
        println!("{total:?} after {:?}", started.elapsed());
        ledgers.push((place, ledger));
    }
    // What one life has kept, no later death has taken.
    let client = world.admin().with_token(Some(&token));
    for (place, ledger) in &ledgers {
        ledger.check(&client, place).await;
    }
    audit(&world, "audit verify --json");
}

/// What all cycles came to.
#[derive(Debug, Default)]
struct Totals {
    /// Kills.
    cycles: usize,
    /// Commands that were acknowledged, at once or on a retry.
    acked: usize,
    /// Commands whose outcome the kill left open.
    unknown: usize,
    /// How many of those had been carried out.
    committed: usize,
    /// Promotions that were carried out once.
    promotions: usize,
}

/// Lets all clients write, and kills the server after a moment.
async fn work_until_killed(
    world: &mut World,
    writer: &Client,
    place: &Arc<Place>,
    moment: Duration,
    chance: &mut Chance,
) -> Ledger {
    let stop = Arc::new(AtomicBool::new(false));
    let mut clients = JoinSet::new();
    for number in 0..CLIENTS {
        let (writer, place, stop) = (writer.clone(), Arc::clone(place), Arc::clone(&stop));
        let chance = chance.split();
        clients.spawn(load::write_until(number, writer, place, stop, chance));
    }
    tokio::time::sleep(moment).await;
    world.kill();
    // Whoever is between two requests meets a refused connection: that is in order too.
    stop.store(true, Ordering::SeqCst);
    let mut ledger = Ledger::default();
    while let Some(ended) = clients.join_next().await {
        ledger.join(ended.expect("a client does not panic"));
    }
    ledger
}

fn audit(world: &World, line: &str) {
    let verdict = world.sillok(line).json();
    assert_eq!(verdict["ok"], true, "{verdict}");
}
