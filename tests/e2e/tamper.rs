//! Changes behind the server's back: whoever owns the disk may make them, and an audit names them.

mod life;
pub(crate) mod vault;

use std::collections::BTreeMap;

use bytes::Bytes;
use serde_json::Value;
use sillok_core::id::Seq;
use sillok_core::scope::{Scope, ScopePrefix};
use sillok_core::slot::Slot;
use sillok_store::keys::{self, Family, ScopeKey};

use crate::harness::world::{log, open};
use crate::harness::{Chance, PROJECT, World, phrase};
use life::Life;
use vault::{Row, Vault, hex};

/// Damaged rows of each family.
const ROWS_DAMAGED: usize = 3;

/// Families whose rows belong to a scope: an audit names it, and the position in it.
const OF_SCOPES: [Family; 19] = [
    Family::DeclaredRelation,
    Family::Evidence,
    Family::Anchor,
    Family::AnchorListed,
    Family::Decision,
    Family::DecisionVersion,
    Family::DecisionListed,
    Family::DecisionClaim,
    Family::Report,
    Family::Review,
    Family::Scope,
    Family::Event,
    Family::Head,
    Family::Version,
    Family::Command,
    Family::Chunk,
    Family::Task,
    Family::ByHash,
    Family::Verification,
];

/// A store that is at rest, and what its rows mean.
struct Bench {
    world: World,
    vault: Vault,
    /// The scopes, by their form in keys.
    names: BTreeMap<ScopeKey, Scope>,
}

impl Bench {
    async fn set() -> Self {
        let mut world = World::start().await;
        Life::lead(&world).await;
        let vault = Vault::at(&world.data());
        life::leave_a_job(&mut world, &vault).await;
        life::leave_a_relay_cursor(&vault).await;
        life::leave_an_attempt(&vault).await;
        life::leave_a_lease(&vault).await;
        let mut bench = Self {
            world,
            vault,
            names: BTreeMap::new(),
        };
        for (key, value) in bench.vault.rows(Family::Scope).await {
            let row = keys::scope::decode(&key, &value).expect("an untouched row");
            bench.names.insert(ScopeKey::of(&row.scope), row.scope);
        }
        bench.passes();
        bench
    }

    fn passes(&self) {
        let verdict = self.world.sillok("audit verify --offline --json").json();
        assert_eq!(verdict["ok"], true, "{verdict}");
    }

    /// The difference that an audit finds: it must find one, and exit with 1.
    fn difference(&self) -> Value {
        let ran = self.world.sillok("audit verify --offline --json");
        let verdict = ran.json_with(1);
        assert_eq!(verdict["ok"], false, "{verdict}");
        verdict["difference"].clone()
    }

    /// Makes a change, has it found, and takes it back. What was found.
    async fn tamper(&self, rows: &[Row], changed: &[Row]) -> Value {
        self.vault.write(changed).await;
        let difference = self.difference();
        self.vault.write(rows).await;
        difference
    }

    fn scope_of(&self, key: &[u8]) -> &Scope {
        let part = key[1..=ScopeKey::LEN]
            .try_into()
            .expect("a scope has 16 bytes in a key");
        &self.names[&ScopeKey::from_bytes(part)]
    }

    /// Checks that a difference names the row at `key`: by scope and position where it belongs to
    /// one, else by the key.
    fn names(&self, difference: &Value, family: Family, key: &[u8]) {
        let said = format!("{family} {}: {difference}", hex(key));
        let by_scope = difference["scope"].is_string() && difference["seq"].is_u64();
        if OF_SCOPES.contains(&family) {
            assert!(by_scope, "{said}");
            assert_eq!(difference["scope"], self.scope_of(key).as_str(), "{said}");
        } else {
            assert!(by_scope || difference["key"] == hex(key), "{said}");
        }
        if family == Family::Event {
            let seq = keys::event::parse(key).expect("a key of its family").seq;
            assert_eq!(difference["seq"], seq.get(), "{said}");
        }
        assert!(
            difference["what"]
                .as_str()
                .is_some_and(|what| !what.is_empty()),
            "{said}"
        );
    }

    /// The events of a scope with many of them.
    async fn long_chain(&self) -> Vec<(Bytes, Bytes)> {
        let events = self.vault.rows(Family::Event).await;
        let mut chains: BTreeMap<&[u8], Vec<(Bytes, Bytes)>> = BTreeMap::new();
        for (key, value) in &events {
            let scope = &key[1..=ScopeKey::LEN];
            chains
                .entry(scope)
                .or_default()
                .push((key.clone(), value.clone()));
        }
        let longest = chains
            .into_values()
            .max_by_key(Vec::len)
            .expect("there are events");
        assert!(
            longest.len() > 10,
            "a chain of {} events is short",
            longest.len()
        );
        longest
    }
}

fn seq(key: &[u8]) -> u64 {
    keys::event::parse(key)
        .expect("a key of an event")
        .seq
        .get()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tampering_with_one_byte_of_any_family_is_found_and_named() {
    let bench = Bench::set().await;
    let mut chance = Chance::of_test("one byte");
    for family in Family::ALL {
        // A node that has its store to itself is not fenced, and one whose embedder was never changed keeps no
        // vectors beside events: what they must be, only the model says.
        if [Family::Fence, Family::Vector, Family::Space].contains(family) {
            continue;
        }
        let rows = bench.vault.rows(*family).await;
        assert!(
            !rows.is_empty(),
            "nothing of the family {family} was written"
        );
        for _ in 0..ROWS_DAMAGED {
            let (key, value) = chance.pick(&rows).clone();
            let mut bytes = value.to_vec();
            let at = chance.below(bytes.len());
            bytes[at] ^= u8::try_from(1 + chance.below(255)).expect("it is below 256");
            println!("{family} {} byte {at}", hex(&key));
            let changed = (key.clone(), Some(Bytes::from(bytes)));
            let difference = bench
                .tamper(&[(key.clone(), Some(value))], &[changed])
                .await;
            bench.names(&difference, *family, &key);
        }
        bench.passes();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tampering_with_one_byte_of_a_key_is_found() {
    let bench = Bench::set().await;
    let mut chance = Chance::of_test("a key");
    for family in Family::ALL {
        let mut rows = bench.vault.rows(*family).await;
        // Of these, no event says which must be there; see the test of removed rows.
        match family {
            Family::Node
            | Family::Fence
            | Family::Quarantine
            | Family::Relay
            | Family::Lease
            | Family::Run
            | Family::Vector
            | Family::Space => {
                continue;
            }
            Family::Owner => {
                let slot = Slot::of(&Scope::parse(PROJECT).expect("a scope"));
                rows.retain(|(key, _)| *key == keys::owner::key(slot));
            }
            Family::Token => rows.retain(|(key, value)| {
                let token = keys::token::decode(key, value).expect("an untouched row");
                token.prefix != ScopePrefix::All
            }),
            _ => {}
        }
        let (key, value) = chance.pick(&rows).clone();
        let mut moved = key.to_vec();
        let bytes = match family {
            // No event says in which commit it was told; its slot follows from its scope.
            Family::Outbox => 2,
            _ => moved.len() - 1,
        };
        let at = 1 + chance.below(bytes);
        moved[at] ^= u8::try_from(1 + chance.below(255)).expect("it is below 256");
        let moved = Bytes::from(moved);
        let here = bench.vault.rows(*family).await;
        let there = here.into_iter().find(|(key, _)| *key == moved);
        let rows = [
            (key.clone(), Some(value.clone())),
            (moved.clone(), there.map(|(_, value)| value)),
        ];
        let difference = bench
            .tamper(&rows, &[(key, None), (moved.clone(), Some(value))])
            .await;
        println!("{family} {} byte {at}: {difference}", hex(&moved));
    }
    bench.passes();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tampering_by_removing_a_row_is_found_and_named() {
    let bench = Bench::set().await;
    let mut chance = Chance::of_test("a row");
    for family in Family::ALL {
        let mut rows = bench.vault.rows(*family).await;
        match family {
            // No event says that they must be there: without them a server begins anew.
            Family::Node
            | Family::Fence
            | Family::Quarantine
            | Family::Relay
            | Family::Attempt
            | Family::Lease
            | Family::Run
            | Family::Vector
            | Family::Space => {
                continue;
            }
            // A slot without events needs no owner.
            Family::Owner => {
                let slot = Slot::of(&Scope::parse(PROJECT).expect("a scope"));
                rows.retain(|(key, _)| *key == keys::owner::key(slot));
            }
            // The operator's token is made anew at the next start.
            Family::Token => rows.retain(|(key, value)| {
                let token = keys::token::decode(key, value).expect("an untouched row");
                token.prefix != ScopePrefix::All
            }),
            _ => {}
        }
        let (key, value) = chance.pick(&rows).clone();
        let difference = bench
            .tamper(&[(key.clone(), Some(value))], &[(key.clone(), None)])
            .await;
        println!("{family}: {difference}");
        if *family == Family::Scope {
            // What is left of the scope has lost its name, save in the outbox.
            assert_eq!(
                difference["scope"],
                bench.scope_of(&key).as_str(),
                "{difference}"
            );
        } else {
            bench.names(&difference, *family, &key);
        }
    }
    bench.passes();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tampering_with_the_order_or_the_end_of_a_chain_is_found_and_named() {
    let bench = Bench::set().await;
    let chain = bench.long_chain().await;
    let scope = bench.scope_of(&chain[0].0).as_str().to_owned();
    let row = |at: usize| (chain[at].0.clone(), Some(chain[at].1.clone()));
    let named = |difference: &Value, seq: u64| {
        assert_eq!(difference["scope"], scope.as_str(), "{difference}");
        assert_eq!(difference["seq"], seq, "{difference}");
    };

    for (a, b) in [(0, 1), (3, 4), (2, 9), (chain.len() - 2, chain.len() - 1)] {
        let swapped = [
            (chain[a].0.clone(), Some(chain[b].1.clone())),
            (chain[b].0.clone(), Some(chain[a].1.clone())),
        ];
        let difference = bench.tamper(&[row(a), row(b)], &swapped).await;
        named(&difference, seq(&chain[a].0));
    }
    for dropped in [1, 2, 5] {
        let first = chain.len() - dropped;
        let rows: Vec<Row> = (first..chain.len()).map(row).collect();
        let gone: Vec<Row> = rows.iter().map(|(key, _)| (key.clone(), None)).collect();
        let difference = bench.tamper(&rows, &gone).await;
        named(&difference, seq(&chain[first].0));
    }
    let difference = bench.tamper(&[row(4)], &[(chain[4].0.clone(), None)]).await;
    named(&difference, seq(&chain[4].0));
    bench.passes();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tampering_that_winds_a_whole_scope_back_is_found_and_named() {
    let mut world = World::start().await;
    let task = world.unopened();
    open(&world.admin(), &task).await;
    log(&world.admin(), &task, &phrase()).await;
    world.stop();
    let vault = Vault::at(&world.data());
    let of_scope = ScopeKey::of(&Scope::parse(&task).expect("a scope"));
    let before = vault.rows_of(&of_scope).await;
    world.start_again().await;
    log(&world.admin(), &task, &phrase()).await;
    log(&world.admin(), &task, &phrase()).await;
    world.stop();

    // Everything that is kept under the scope's key, as it was: row, events and commands.
    let after = vault.rows_of(&of_scope).await;
    let gone = after
        .keys()
        .filter(|key| !before.contains_key(*key))
        .map(|key| (key.clone(), None));
    let back = before
        .iter()
        .map(|(key, value)| (key.clone(), Some(value.clone())));
    let rewound: Vec<Row> = gone.chain(back).collect();
    vault.write(&rewound).await;
    let verdict = world.sillok("audit verify --offline --json").json_with(1);
    let difference = &verdict["difference"];
    assert_eq!(difference["scope"], task.as_str(), "{difference}");
    assert!(difference["seq"].as_u64() >= Some(3), "{difference}");
    let restored: Vec<Row> = after
        .into_iter()
        .map(|(key, value)| (key, Some(value)))
        .collect();
    vault.write(&restored).await;
    assert_eq!(
        world.sillok("audit verify --offline --json").json()["ok"],
        true
    );
}

/// The families of the view: what is written anew from the events.
const VIEW: [Family; 15] = [
    Family::Decision,
    Family::DecisionVersion,
    Family::DecisionListed,
    Family::DecisionClaim,
    Family::Related,
    Family::Head,
    Family::Version,
    Family::Task,
    Family::ByHash,
    Family::Location,
    Family::Verification,
    Family::FailedApproach,
    Family::Trajectory,
    Family::Mark,
    Family::Token,
];

/// Changes one row of each family of the view, removes another, and adds one that no event leads
/// to: the rows as they were.
async fn damage_the_view(
    vault: &Vault,
    chance: &mut Chance,
) -> BTreeMap<Family, Vec<(Bytes, Bytes)>> {
    let mut whole = BTreeMap::new();
    for family in VIEW {
        let rows = vault.rows(family).await;
        let explained = |(key, value): &&(Bytes, Bytes)| {
            let decoded = keys::token::decode(key, value);
            family != Family::Token || decoded.is_ok_and(|token| token.prefix != ScopePrefix::All)
        };
        let candidates: Vec<(Bytes, Bytes)> = rows.iter().filter(explained).cloned().collect();
        let (key, value) = chance.pick(&candidates).clone();
        let mut bytes = value.to_vec();
        let at = chance.below(bytes.len());
        bytes[at] ^= 0x55;
        let mut changes = vec![(key.clone(), Some(Bytes::from(bytes)))];
        changes.extend(
            candidates
                .iter()
                .find(|row| row.0 != key)
                .map(|row| (row.0.clone(), None)),
        );
        vault.write(&changes).await;
        whole.insert(family, rows);
    }
    let (key, value) = whole[&Family::Head][0].clone();
    let mut stray = key.to_vec();
    *stray.last_mut().expect("a key is not empty") ^= 0x55;
    vault.write(&[(Bytes::from(stray), Some(value))]).await;
    whole
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rebuild_of_a_damaged_view_gives_the_same_view_and_the_same_answers() {
    let mut world = World::start().await;
    let life = Life::lead(&world).await;
    let before = life.look(&world).await;
    world.stop();
    let vault = Vault::at(&world.data());
    let whole = damage_the_view(&vault, &mut Chance::of_test("rebuild")).await;
    std::fs::remove_dir_all(world.data().join("vectors")).unwrap();
    world.sillok("audit verify --offline --json").ended(1);

    let report = world.sillok("rebuild --json").json();
    assert!(
        report["rows_written"].as_u64() >= Some(2 * whole.len() as u64 - 3),
        "{report}"
    );
    assert!(report["rows_removed"].as_u64() >= Some(1), "{report}");
    assert_eq!(
        world.sillok("audit verify --offline --json").json()["ok"],
        true
    );
    for (family, rows) in whole {
        assert!(
            vault.rows(family).await == rows,
            "{family} is as it was, byte for byte"
        );
    }
    world.start_again().await;
    for (before, after) in before.iter().zip(life.look(&world).await) {
        assert_eq!(after, *before, "a reader sees the same");
    }
    // Another rebuild has nothing to do.
    world.stop();
    let report = world.sillok("rebuild --json").json();
    assert_eq!(
        (&report["rows_written"], &report["rows_removed"]),
        (&0.into(), &0.into()),
        "{report}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_rebuilt_from_events_that_were_tampered_with() {
    let mut world = World::start().await;
    Life::lead(&world).await;
    world.stop();
    let vault = Vault::at(&world.data());
    let events = vault.rows(Family::Event).await;
    let (key, value) = events[events.len() / 2].clone();
    let mut bytes = value.to_vec();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    vault
        .write(&[(key.clone(), Some(Bytes::from(bytes)))])
        .await;
    let ran = world.sillok("rebuild --json");
    ran.ended(1);
    assert!(
        ran.stderr.contains(&format!("#{}", Seq::new(seq(&key)))),
        "{ran:#?}"
    );
}
