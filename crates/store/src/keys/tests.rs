//! Every family: keys and values survive their encoding, ranges hold what they say, garbage is
//! refused by name, and no byte of a stored form ever changes.

use std::fs;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use proptest::prelude::*;
use sillok_core::entry::Head;
use sillok_core::id::Incarnation;
use sillok_core::reuse::Usage;
use sillok_core::schedule::Runs;
use sillok_core::slot::SLOTS;

use super::samples::{Parts, golden, parts};
use super::*;
use crate::key_range::successor;

mod decisions;
mod declared;
mod failed;
mod kept;
mod stored;
mod trajectories;

/// Compares with the golden file; with `SILLOK_GOLDEN=write` in the environment, writes a file
/// that is missing, and still never changes one that is there.
fn assert_golden(family: Family, key: &[u8], value: &[u8]) {
    compare_golden(
        &format!("{}.txt", family.as_str().replace(' ', "_")),
        key,
        value,
    );
}

fn golden_path(name: &str) -> PathBuf {
    Path::new(&std::env::var("CARGO_MANIFEST_DIR").expect("cargo runs the tests"))
        .join("tests/golden")
        .join(name)
}

fn writes_golden() -> bool {
    std::env::var_os("SILLOK_GOLDEN").is_some_and(|mode| mode == "write")
}

fn compare_golden(name: &str, key: &[u8], value: &[u8]) {
    let path = golden_path(name);
    let now = format!("key {}\nvalue {}\n", hex::encode(key), hex::encode(value));
    if !path.exists() && writes_golden() {
        fs::write(&path, &now).unwrap();
    }
    let stored = fs::read_to_string(&path)
        .unwrap_or_else(|error| panic!("there is no golden file {name}: {error}"));
    assert!(
        stored == now,
        "the stored form in {name} changed:\nwas {stored}\nis  {now}"
    );
}

/// The key and the value of a golden file of a form that nothing writes any more.
fn golden_row(name: &str) -> (Vec<u8>, Vec<u8>) {
    let text = fs::read_to_string(golden_path(name)).unwrap();
    let of = |what: &str| {
        let mut lines = text.lines();
        let line = lines.find_map(|line| line.strip_prefix(what)).unwrap();
        hex::decode(line.trim()).unwrap()
    };
    (of("key "), of("value "))
}

fn assert_corrupt<T>(family: Family, key: &[u8], answer: Result<T, Error>) {
    match answer {
        Ok(_) => panic!("{family} took garbage at {}", hex::encode(key)),
        Err(Error::Corrupt {
            family: named,
            key: at,
            reason,
        }) => {
            assert_eq!(named, family.as_str());
            assert_eq!(at, hex::encode(key));
            assert!(!reason.is_empty());
        }
        Err(other) => panic!("{family} answered {other} instead of a corrupt record"),
    }
}

macro_rules! family_tests {
    ($($module:ident, $family:ident, $parts:ident,
        key: $key:expr, parsed: $parsed:expr, value: $value:expr;)*) => {
        $(
            mod $module {
                use super::*;

                const FAMILY: Family = Family::$family;

                fn key($parts: &Parts) -> Vec<u8> {
                    $key
                }

                proptest! {
                    #![proptest_config(ProptestConfig::with_cases(64))]

                    #[test]
                    fn key_and_value_survive_their_encoding($parts in parts()) {
                        let $parts = &$parts;
                        let key = key($parts);
                        prop_assert_eq!(Family::of(&key), Some(FAMILY));
                        prop_assert_eq!(keys::$module::parse(&key).unwrap(), $parsed);
                        prop_assert!(FAMILY.range().contains(&key));
                        let value = keys::$module::encode(&$value);
                        prop_assert_eq!(value[0], 1);
                        let decoded = keys::$module::decode(&key, &value).unwrap();
                        prop_assert_eq!(decoded, $value);
                        prop_assert!(FAMILY.check(&key, &value).is_ok());
                    }

                    #[test]
                    fn keys_of_another_length_or_family_are_refused(
                        $parts in parts(), other in any::<u8>()
                    ) {
                        let key = key(&$parts);
                        assert_corrupt(FAMILY, &key[..1], keys::$module::parse(&key[..1]));
                        assert_corrupt(FAMILY, &[], keys::$module::parse(&[]));
                        if other != FAMILY.letter() {
                            let mut foreign = key.clone();
                            foreign[0] = other;
                            assert_corrupt(FAMILY, &foreign, keys::$module::parse(&foreign));
                        }
                    }

                    #[test]
                    fn garbage_never_panics(
                        key in proptest::collection::vec(any::<u8>(), 0..90),
                        value in proptest::collection::vec(any::<u8>(), 0..200),
                    ) {
                        let mut own = vec![FAMILY.letter()];
                        own.extend_from_slice(&key);
                        for key in [own, key] {
                            if let Err(error) = keys::$module::parse(&key) {
                                assert_corrupt::<()>(FAMILY, &key, Err(error));
                            }
                            for format in [None, Some(1u8)] {
                                let value: Vec<u8> =
                                    format.into_iter().chain(value.iter().copied()).collect();
                                if let Err(error) = keys::$module::decode(&key, &value) {
                                    assert_corrupt::<()>(FAMILY, &key, Err(error));
                                }
                            }
                        }
                    }
                }

                #[test]
                fn the_stored_form_never_changes() {
                    let $parts = &golden();
                    assert_golden(FAMILY, &key($parts), &keys::$module::encode(&$value));
                }

                #[test]
                fn empty_newer_and_cut_values_are_refused() {
                    let $parts = &golden();
                    let key = key($parts);
                    let value = keys::$module::encode(&$value);
                    let mut newer = value.clone();
                    newer[0] = 9;
                    assert_corrupt(FAMILY, &key, keys::$module::decode(&key, &newer));
                    assert_corrupt(FAMILY, &key, keys::$module::decode(&key, &[]));
                    if FAMILY != Family::Chunk {
                        let cut = &value[..value.len() - 1];
                        assert_corrupt(FAMILY, &key, keys::$module::decode(&key, cut));
                        let mut long = value.clone();
                        long.push(0);
                        assert_corrupt(FAMILY, &key, keys::$module::decode(&key, &long));
                    }
                }
            }
        )*
    };
}

use crate::keys;

family_tests! {
    node, Node, p,
        key: keys::node::key(&p.name),
        parsed: keys::node::Key { node: p.name.clone() },
        value: p.node();
    owner, Owner, p,
        key: keys::owner::key(p.slot()),
        parsed: keys::owner::Key { slot: p.slot() },
        value: p.owner();
    fence, Fence, p,
        key: keys::fence::key(&p.name, Incarnation(p.number)),
        parsed: keys::fence::Key { node: p.name.clone(), run: Incarnation(p.number) },
        value: p.fence();
    quarantine, Quarantine, p,
        key: keys::quarantine::key(p.slot(), p.number),
        parsed: keys::quarantine::Key { slot: p.slot(), number: p.number },
        value: p.quarantine();
    scope, Scope, p,
        key: keys::scope::key(&p.scope_key()),
        parsed: keys::scope::Key { scope: p.scope_key() },
        value: p.scope_row();
    event, Event, p,
        key: keys::event::key(&p.scope_key(), p.seq()),
        parsed: keys::event::Key { scope: p.scope_key(), seq: p.seq() },
        value: p.event();
    head, Head, p,
        key: keys::head::key(&p.scope_key(), p.entry()),
        parsed: keys::head::Key { scope: p.scope_key(), entry: p.entry() },
        value: p.head();
    version, Version, p,
        key: keys::version::key(&p.scope_key(), p.entry(), p.number),
        parsed: keys::version::Key {
            scope: p.scope_key(), entry: p.entry(), number: p.number
        },
        value: p.version();
    command, Command, p,
        key: keys::command::key(&p.scope_key(), &p.actor(), p.command_id()),
        parsed: keys::command::Key {
            scope: p.scope_key(), actor: p.actor(), command: p.command_id()
        },
        value: p.command();
    mark, Mark, p,
        key: keys::mark::key(&p.scope_key(), p.verification_id()),
        parsed: keys::mark::Key { scope: p.scope_key(), verification: p.verification_id() },
        value: p.mark();
    job, Job, p,
        key: keys::job::key(p.slot(), p.verification_id()),
        parsed: keys::job::Key { slot: p.slot(), verification: p.verification_id() },
        value: p.job();
    attempt, Attempt, p,
        key: keys::attempt::key(p.slot(), p.verification_id()),
        parsed: keys::attempt::Key { slot: p.slot(), verification: p.verification_id() },
        value: p.attempts();
    chunk, Chunk, p,
        key: keys::chunk::key(&p.scope_key(), p.command_id(), p.small()),
        parsed: keys::chunk::Key {
            scope: p.scope_key(), command: p.command_id(), number: p.small()
        },
        value: Bytes::from(p.bytes.clone());
    outbox, Outbox, p,
        key: keys::outbox::key(p.slot(), p.stamp()),
        parsed: keys::outbox::Key { slot: p.slot(), stamp: p.stamp() },
        value: p.outbox();
    relay, Relay, p,
        key: keys::relay::key(p.slot(), &p.name),
        parsed: keys::relay::Key { slot: p.slot(), stream: p.name.clone() },
        value: p.relay();
    token, Token, p,
        key: keys::token::key(&p.hash),
        parsed: keys::token::Key { hash: p.hash },
        value: p.token();
    task, Task, p,
        key: keys::task::key(&p.scope_key()),
        parsed: keys::task::Key { scope: p.scope_key() },
        value: p.task();
    by_hash, ByHash, p,
        key: keys::by_hash::key(&p.scope_key(), &p.hash_key()),
        parsed: keys::by_hash::Key { scope: p.scope_key(), content: p.hash_key() },
        value: p.entry();
    location, Location, p,
        key: keys::location::key(p.entry()),
        parsed: keys::location::Key { entry: p.entry() },
        value: p.scope();
    verification, Verification, p,
        key: keys::verification::key(&p.scope_key(), p.verification_id()),
        parsed: keys::verification::Key {
            scope: p.scope_key(), verification: p.verification_id()
        },
        value: p.verification();
    report, Report, p,
        key: keys::report::key(&p.scope_key(), p.entry(), &p.scope_key()),
        parsed: keys::report::Key {
            scope: p.scope_key(), entry: p.entry(), task: p.scope_key()
        },
        value: p.report();
    lease, Lease, p,
        key: keys::lease::key(&p.name),
        parsed: keys::lease::Key { name: p.name.clone() },
        value: p.owner();
    run, Run, p,
        key: keys::run::key(&p.name),
        parsed: keys::run::Key { name: p.name.clone() },
        value: p.runs();
    vector, Vector, p,
        key: keys::vector::key(&p.scope_key(), p.entry(), &keys::vector::SpaceKey::of(&p.space())),
        parsed: keys::vector::Key {
            scope: p.scope_key(),
            entry: p.entry(),
            space: keys::vector::SpaceKey::of(&p.space()),
        },
        value: p.vector();
    space, Space, p,
        key: keys::space::key(&p.name),
        parsed: keys::space::Key { name: p.name.clone() },
        value: p.space();
    review, Review, p,
        key: keys::review::key(&p.scope_key(), p.review_id()),
        parsed: keys::review::Key { scope: p.scope_key(), review: p.review_id() },
        value: p.review();
    decision, Decision, p,
        key: keys::decision::key(&p.scope_key(), p.root()),
        parsed: keys::decision::Key { scope: p.scope_key(), root: p.root() },
        value: p.decision_head();
    decision_version, DecisionVersion, p,
        key: keys::decision_version::key(&p.scope_key(), p.root(), p.number),
        parsed: keys::decision_version::Key {
            scope: p.scope_key(), root: p.root(), number: p.number
        },
        value: p.decision_version();
    decision_listed, DecisionListed, p,
        key: keys::decision_listed::key(&p.listed()),
        parsed: p.listed(),
        value: Some(p.number);
    decision_claim, DecisionClaim, p,
        key: keys::decision_claim::key(&p.scope_key(), p.claim_key(), p.root()),
        parsed: keys::decision_claim::Key {
            scope: p.scope_key(), claim: p.claim_key(), root: p.root()
        },
        value: keys::decision_claim::Declared { version: p.number, value: None };
    related, Related, p,
        key: keys::related::key(&p.related()),
        parsed: p.related(),
        value: p.edge().into();
    evidence, Evidence, p,
        key: keys::evidence::key(&p.scope_key(), p.evidence_id()),
        parsed: keys::evidence::Key { scope: p.scope_key(), evidence: p.evidence_id() },
        value: p.evidence();
    anchor, Anchor, p,
        key: keys::anchor::key(&p.scope_key(), p.anchor_id()),
        parsed: keys::anchor::Key { scope: p.scope_key(), anchor: p.anchor_id() },
        value: p.anchor();
    anchor_listed, AnchorListed, p,
        key: keys::anchor_listed::key(&p.anchor_place()),
        parsed: p.anchor_place(),
        value: ();
    declared_relation, DeclaredRelation, p,
        key: keys::declared_relation::key(&p.scope_key(), p.relation_name()),
        parsed: keys::declared_relation::Key {
            scope: p.scope_key(), name: p.relation_name()
        },
        value: p.declared_relation();
    failed_approach, FailedApproach, p,
        key: keys::failed_approach::key(&p.failed_place()),
        parsed: p.failed_place(),
        value: p.failed_approach();
    trajectory, Trajectory, p,
        key: keys::trajectory::key(&p.trajectory_place()),
        parsed: p.trajectory_place(),
        value: p.trajectory();
}

proptest! {
    #[test]
    fn a_head_with_reports_is_of_format_2(p in parts(), helped: u64, wrong: u64) {
        let usage = Usage { helped, wrong, stale: p.number, wrong_asked: wrong / 2 };
        let head = Head { usage, ..p.head() };
        let key = keys::head::key(&p.scope_key(), p.entry());
        let value = keys::head::encode(&head);
        prop_assert_eq!(value[0], if usage == Usage::default() { 1 } else { 2 });
        prop_assert_eq!(keys::head::decode(&key, &value).unwrap(), head);
    }
}

proptest! {
    #[test]
    fn a_head_without_reports_is_all_its_fields_but_the_last_four_zeros(p in parts()) {
        let head = p.head();
        let fields = postcard::to_allocvec(&head).unwrap();
        let (fields, unused) = fields.split_last_chunk::<4>().unwrap();
        prop_assert_eq!(unused, &[0; 4]);
        prop_assert_eq!(keys::head::encode(&head), codec::encode_raw(1, fields));
    }
}

/// Runs, the last of which signed a checkpoint.
fn signed(p: &Parts) -> Runs {
    let mut runs = p.runs();
    if let Some(last) = &mut runs.last {
        last.checkpoint = Some(p.text.clone());
    }
    runs
}

proptest! {
    #[test]
    fn a_run_that_signed_a_checkpoint_is_of_format_2(p in parts()) {
        let runs = signed(&p);
        let key = keys::run::key(&p.name);
        let value = keys::run::encode(&runs);
        prop_assert_eq!(value[0], if runs.last.is_some() { 2 } else { 1 });
        prop_assert_eq!(keys::run::decode(&key, &value).unwrap(), runs);
    }
}

#[test]
fn the_second_form_of_runs_never_changes() {
    let p = golden();
    compare_golden(
        "run_2.txt",
        &keys::run::key(&p.name),
        &keys::run::encode(&signed(&p)),
    );
}

#[test]
fn the_second_form_of_heads_never_changes() {
    let p = golden();
    let usage = Usage {
        helped: 3,
        wrong: 300,
        stale: 1,
        wrong_asked: 2,
    };
    let head = Head { usage, ..p.head() };
    let key = keys::head::key(&p.scope_key(), p.entry());
    compare_golden("head_2.txt", &key, &keys::head::encode(&head));
}

proptest! {
    #[test]
    fn a_claim_that_says_its_value_is_of_format_2(p in parts()) {
        let declared = keys::decision_claim::Declared::of(p.number, &p.text);
        let key = keys::decision_claim::key(&p.scope_key(), p.claim_key(), p.root());
        let value = keys::decision_claim::encode(&declared);
        prop_assert_eq!(value[0], 2);
        prop_assert_eq!(keys::decision_claim::decode(&key, &value).unwrap(), declared);
        let other = keys::decision_claim::Declared::of(p.number, &format!("{} ", p.text));
        prop_assert_ne!(declared.value, other.value);
    }
}

#[test]
fn the_second_form_of_claims_never_changes() {
    let p = golden();
    let declared = keys::decision_claim::Declared::of(p.number, &p.text);
    compare_golden(
        "decision_claim_2.txt",
        &keys::decision_claim::key(&p.scope_key(), p.claim_key(), p.root()),
        &keys::decision_claim::encode(&declared),
    );
}

#[test]
fn the_second_form_of_lists_never_changes() {
    compare_golden(
        "decision_listed_2.txt",
        &keys::decision_listed::key(&golden().listed()),
        &keys::decision_listed::encode(&None),
    );
}

#[test]
fn letters_are_fixed_and_unique() {
    let letters: String = Family::ALL
        .iter()
        .map(|family| char::from(family.letter()))
        .collect();
    assert_eq!(letters, "nofzqehvcmjabxrtkdiyuwlsgpDVLCREANKFT");
    assert_eq!(Family::of(b"?"), None);
    assert_eq!(Family::of(b""), None);
}

#[test]
fn every_family_has_a_golden_file_and_no_other_is_left() {
    let folder = Path::new(&std::env::var("CARGO_MANIFEST_DIR").expect("cargo runs the tests"))
        .join("tests/golden");
    let mut found: Vec<String> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    let name = |family: &Family| format!("{}.txt", family.as_str().replace(' ', "_"));
    let mut expected: Vec<String> = Family::ALL.iter().map(name).collect();
    let more = [
        "command_answers",
        "decision_claim_2",
        "decision_listed_2",
        "event_bodies",
        "head_2",
        "related_2",
        "related_3",
        "related_declared",
        "run_2",
        "task_2",
    ];
    expected.extend(more.map(|name| format!("{name}.txt")));
    found.sort();
    expected.sort();
    assert_eq!(found, expected);
}

#[test]
fn a_slot_behind_the_last_is_corrupt() {
    for family in [
        Family::Owner,
        Family::Quarantine,
        Family::Job,
        Family::Attempt,
        Family::Outbox,
        Family::Relay,
    ] {
        let mut key = vec![family.letter()];
        key.extend_from_slice(&SLOTS.to_be_bytes());
        key.extend_from_slice(&[1; 20]);
        assert_corrupt(family, &key, family.check(&key, &[1]));
    }
}

proptest! {
    #[test]
    fn ranges_hold_their_own_rows_and_no_others(a in parts(), b in parts()) {
        let (scope, other) = (a.scope_key(), b.scope_key());
        let same = scope == other;
        let (slot, entry) = (a.slot(), a.entry());
        let events = keys::event::range_of_scope(&scope);
        prop_assert!(events.contains(&keys::event::key(&scope, b.seq())));
        prop_assert_eq!(events.contains(&keys::event::key(&other, a.seq())), same);
        let behind = keys::event::range_after(&scope, a.seq());
        prop_assert_eq!(behind.contains(&keys::event::key(&scope, b.seq())), b.seq() > a.seq());
        let through = keys::event::range_through(&scope, a.seq(), b.seq());
        prop_assert!(!through.contains(&keys::event::key(&scope, a.seq())));
        let last = keys::event::key(&scope, b.seq());
        prop_assert_eq!(through.contains(&last), a.seq() < b.seq());
        let heads = keys::head::range_of_scope(&scope);
        prop_assert!(heads.contains(&keys::head::key(&scope, b.entry())));
        prop_assert_eq!(heads.contains(&keys::head::key(&other, entry)), same);
        let versions = keys::version::range_of_entry(&scope, entry);
        prop_assert!(versions.contains(&keys::version::key(&scope, entry, b.number)));
        let foreign = keys::version::key(&scope, b.entry(), a.number);
        prop_assert_eq!(versions.contains(&foreign), entry == b.entry());
        let outbox = keys::outbox::range_after(slot, a.stamp());
        prop_assert_eq!(
            outbox.contains(&keys::outbox::key(slot, b.stamp())),
            b.stamp() > a.stamp()
        );
        prop_assert!(keys::outbox::key(slot, b.stamp()).starts_with(&keys::outbox::prefix(slot)));
        let vectors = keys::vector::range_of_entry(&scope, entry);
        let space = keys::vector::SpaceKey::of(&a.space());
        prop_assert!(vectors.contains(&keys::vector::key(&scope, entry, &space)));
        prop_assert_eq!(vectors.contains(&keys::vector::key(&scope, b.entry(), &space)), b.id == a.id);

        let jobs = keys::job::range_of_slot(slot);
        prop_assert!(jobs.contains(&keys::job::key(slot, b.verification_id())));
        let foreign = keys::job::key(b.slot(), b.verification_id());
        prop_assert_eq!(jobs.contains(&foreign), slot == b.slot());
        let behind = keys::job::range_after(keys::job::range_all(), slot, a.verification_id());
        prop_assert_eq!(
            behind.contains(&foreign),
            (b.slot(), b.verification_id()) > (slot, a.verification_id())
        );
        prop_assert!(keys::attempt::range_all().contains(&keys::attempt::key(slot, b.verification_id())));
        let rows = keys::scope::range_after(Some(&scope));
        prop_assert_eq!(rows.contains(&keys::scope::key(&other)), other > scope);
        prop_assert!(keys::scope::range_after(None).contains(&keys::scope::key(&scope)));
        let chunks = keys::chunk::range_of_command(&scope, a.command_id());
        let chunk = keys::chunk::key(&scope, a.command_id(), b.small());
        prop_assert!(chunks.contains(&chunk) && chunks.end > successor(&chunk));
    }

    #[test]
    fn keys_order_like_their_numbers(a in parts(), b in parts()) {
        let scope = a.scope_key();
        let event = |p: &Parts| keys::event::key(&scope, p.seq());
        prop_assert_eq!(event(&a).cmp(&event(&b)), a.seq().cmp(&b.seq()));
        let version = |p: &Parts| keys::version::key(&scope, a.entry(), p.number);
        prop_assert_eq!(version(&a).cmp(&version(&b)), a.number.cmp(&b.number));
        let chunk = |p: &Parts| keys::chunk::key(&scope, a.command_id(), p.small());
        prop_assert_eq!(chunk(&a).cmp(&chunk(&b)), a.small().cmp(&b.small()));
        let outbox = |p: &Parts| keys::outbox::key(a.slot(), p.stamp());
        prop_assert_eq!(outbox(&a).cmp(&outbox(&b)), a.stamp().cmp(&b.stamp()));
    }
}
