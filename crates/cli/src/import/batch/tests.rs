//! Batches and the names of their commands.

use sillok_core::staging::LogLevel;
use sillok_core::time::DAY_MS;
use sillok_sessions::{Format, Place};

use super::*;
use crate::client::new_command_id;

fn placed(bytes: usize) -> Placed {
    Placed {
        at: 0,
        ordinal: 0,
        record: Record {
            level: LogLevel::Info,
            content: "x".repeat(bytes),
            place: Place::default(),
            time: None,
            masked: 0,
        },
    }
}

fn head(name: &str, digest: Option<[u8; 32]>) -> Head {
    Head {
        format: Format::ClaudeCode,
        name: name.to_owned(),
        agent: None,
        digest,
        title: String::new(),
        description: String::new(),
    }
}

#[test]
fn batches_keep_order_and_limits() {
    let records: Vec<Placed> = (0..250).map(|_| placed(1)).collect();
    let sizes: Vec<usize> = batches(&records).iter().map(|batch| batch.len()).collect();
    assert_eq!(sizes, [100, 100, 50]);
    let large = [
        placed(10),
        placed(BATCH_BYTES_MAX + 1),
        placed(BATCH_BYTES_MAX),
        placed(1),
    ];
    let sizes: Vec<usize> = batches(&large).iter().map(|batch| batch.len()).collect();
    assert_eq!(sizes, [1, 1, 1, 1]);
    assert!(batches(&[]).is_empty());
}

#[test]
fn a_batch_is_named_alike_by_whoever_begins_it_with_the_same_record() {
    let opening = new_command_id();
    let opened = opening.time().unwrap();
    let one = head("s", None);
    let command = |head, first| command_of(opening, head, first, opened).unwrap();
    let line = (Some("u"), 7, 0);
    assert_eq!(command(&one, line), command(&one, line));
    assert_eq!(command(&one, line), command(&one, (Some("u"), 8, 0)));
    for other in [
        (Some("v"), 7, 0),
        (None, 7, 0),
        (None, 8, 0),
        (Some("u"), 7, 1),
    ] {
        assert_ne!(command(&one, line), command(&one, other), "{other:?}");
    }
    for other in [head("t", None), head("s", Some([1; 32]))] {
        let made = command_of(opening, &other, line, opened).unwrap();
        assert_ne!(command(&one, line), made);
    }
    let elsewhere = command_of(new_command_id(), &one, line, opened).unwrap();
    assert_ne!(command(&one, line), elsewhere);
}

#[test]
fn a_command_is_never_older_than_what_the_server_remembers() {
    let opening = new_command_id();
    let opened = opening.time().unwrap();
    let line = (Some("u"), 7, 0);
    for days in [0, 1, 15, 16, 40, 400] {
        let now = opened.plus_ms(days * DAY_MS);
        let made = command_of(opening, &head("s", None), line, now).unwrap();
        let age_ms = now.since_ms(made.time().unwrap());
        assert!(age_ms < PERIOD_MS && made.time().unwrap() <= now, "{days}");
    }
}

#[test]
fn the_time_of_a_record_is_its_own_unless_it_lies_ahead() {
    let now = Timestamp::from_ms(1_000);
    let mut record = placed(1).record;
    for (time, sent) in [(900, Some(900)), (1_000, Some(1_000)), (1_001, None)] {
        record.time = Some(Timestamp::from_ms(time));
        assert_eq!(log_record(&record, now).time, sent.map(Timestamp::from_ms));
    }
}
