//! The stored bytes of events and of answers never change, whatever kind they are of.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use sillok_core::chain::{self, StoredEvent};
use sillok_core::command::CommandRecord;
use sillok_core::event::EventKind;
use sillok_core::id::CommandId;
use sillok_core::principal::Actor;

use super::{golden_path, writes_golden};
use crate::keys::samples::stored::{self, ANSWERS, Sample};
use crate::keys::{self, ScopeKey};

/// Compares rows with those of a golden file, and gives the latter. With `SILLOK_GOLDEN=write` in the environment, adds
/// lines that are missing, and still never changes one that is there.
pub(super) fn golden_rows(file: &str, rows: &[Sample<Vec<u8>>]) -> BTreeMap<String, Vec<u8>> {
    let path = golden_path(file);
    let mut text = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(_) if writes_golden() => String::new(),
        Err(error) => panic!("there is no golden file {file}: {error}"),
    };
    let mut known = lines(file, &text);
    let (mut missing, mut changed) = (Vec::new(), Vec::new());
    for Sample { name, value } in rows {
        match known.get(name) {
            None => missing.push((name, value)),
            Some(was) if was != value => changed.push(format!(
                "{name}\n  was {}\n  is  {}",
                hex::encode(was),
                hex::encode(value)
            )),
            Some(_) => {}
        }
    }
    assert!(
        changed.is_empty(),
        "the stored form of what stores hold for good changed. Put a new format beside the old one: a variant of its own \
         at the end of its enum, or another format of the row. The old one stays readable, and its line in {file} as it \
         is.\n{}",
        changed.join("\n")
    );
    if writes_golden() {
        for (name, value) in missing.drain(..) {
            text.push_str(&format!("{name} {}\n", hex::encode(value)));
            known.insert(name.clone(), value.clone());
        }
        fs::write(&path, &text).unwrap();
    }
    let names = missing.iter().map(|(name, _)| *name);
    let names: Vec<&String> = names.collect();
    assert!(
        names.is_empty(),
        "{file} has no line for {names:?}: SILLOK_GOLDEN=write adds what is missing, once its form is final"
    );
    known
}

fn lines(file: &str, text: &str) -> BTreeMap<String, Vec<u8>> {
    let mut known = BTreeMap::new();
    for line in text.lines() {
        let (name, value) = line.split_once(' ').expect("a line is a name and a value");
        let value = hex::decode(value).expect("the value is in hexadecimal");
        let before = known.insert(name.to_owned(), value);
        assert!(before.is_none(), "{file} has two lines for {name}");
    }
    known
}

/// Every line has a sample to read it as, and every sample a name of its own.
pub(super) fn assert_same_names<T>(known: &BTreeMap<String, Vec<u8>>, samples: &[Sample<T>]) {
    let names: BTreeSet<&String> = samples.iter().map(|sample| &sample.name).collect();
    assert_eq!(names.len(), samples.len(), "two samples have one name");
    let left: Vec<&String> = known.keys().filter(|name| !names.contains(name)).collect();
    assert!(
        left.is_empty(),
        "stores hold {left:?}, and no sample reads it"
    );
}

#[test]
fn the_stored_form_of_no_event_ever_changes() {
    let key = keys::event::key(&ScopeKey::of(&stored::scope()), stored::tip().seq.next());
    let samples = stored::events();
    let row = |sample: &Sample<StoredEvent>| Sample {
        name: sample.name.clone(),
        value: keys::event::encode(&sample.value),
    };
    let rows: Vec<Sample<Vec<u8>>> = samples.iter().map(row).collect();
    let known = golden_rows("event_bodies.txt", &rows);
    assert_same_names(&known, &samples);
    for Sample { name, value } in samples {
        let read = keys::event::decode(&key, &known[&name]).unwrap();
        assert_eq!(read, value, "{name}");
    }
    for Sample { name, value } in stored::bodies() {
        let event = keys::event::decode(&key, &known[&name]).unwrap();
        let header = chain::verify(&mut stored::tip(), &event).unwrap();
        assert_eq!(header.kind, value.kind(), "{name}");
        assert_eq!(event.decode_body(), Ok(Some(value)), "{name}");
    }
}

#[test]
fn the_stored_form_of_no_answer_ever_changes() {
    let scope = ScopeKey::of(&stored::scope());
    let key = keys::command::key(&scope, &Actor::system(), CommandId::from_bytes([1; 16]));
    let samples = stored::records();
    let row = |sample: &Sample<CommandRecord>| Sample {
        name: sample.name.clone(),
        value: keys::command::encode(&sample.value),
    };
    let rows: Vec<Sample<Vec<u8>>> = samples.iter().map(row).collect();
    let known = golden_rows("command_answers.txt", &rows);
    assert_same_names(&known, &samples);
    for Sample { name, value } in samples {
        let read = keys::command::decode(&key, &known[&name]).unwrap();
        assert_eq!(read, value, "{name}");
    }
}

#[test]
fn every_kind_of_event_has_a_sample() {
    let samples = stored::bodies();
    let sampled: BTreeSet<EventKind> = samples.iter().map(|one| one.value.kind()).collect();
    let missing = EventKind::ALL.iter().filter(|kind| !sampled.contains(kind));
    let missing: Vec<&str> = missing.map(|kind| kind.as_str()).collect();
    assert!(
        missing.is_empty(),
        "no bytes are pinned of {missing:?}: give each a sample in samples/stored"
    );
}

#[test]
fn every_answer_has_a_sample() {
    let samples = stored::answers();
    let names = samples.iter().map(|one| stored::name_of(&one.value));
    let sampled: BTreeSet<&str> = names.collect();
    let all: BTreeSet<&str> = ANSWERS.iter().copied().collect();
    assert_eq!(sampled, all, "give each a sample in samples/stored/answers");
}
