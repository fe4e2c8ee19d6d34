//! Short ways to say commands, and who gives them.

use crate::command::{AmendEntry, Command, Replacement, Supersede};
use crate::entry::{Binding, Detail, Metadata, Table};
use crate::id::EntryId;
use crate::principal::{Actor, Principal, PrincipalId, PrincipalKind};
use crate::promotion::NewEntry;
use crate::scope::Scope;
use crate::staging::{LogLevel, NewRecord, RecordKind};
use crate::time::Timestamp;
use crate::verification::{NewFailure, NewVerification, Outcome, VerificationSource};

pub(in crate::decide) fn principal(kind: PrincipalKind) -> Principal {
    Principal {
        actor: Actor {
            kind,
            id: PrincipalId::parse("p").unwrap(),
        },
        prefix: "org/a".parse().unwrap(),
    }
}

pub(in crate::decide) fn open(title: &str) -> Command {
    Command::OpenTask {
        title: title.into(),
        description: String::new(),
    }
}

pub(in crate::decide) fn append(text: &str, time: Option<Timestamp>) -> Command {
    let kind = RecordKind::Log {
        level: LogLevel::Info,
    };
    Command::Append {
        records: vec![NewRecord {
            kind,
            content: text.into(),
            metadata: Metadata::default(),
            time,
        }],
    }
}

pub(in crate::decide) fn entry(table: Table, content: &str) -> NewEntry {
    NewEntry {
        table,
        content: content.into(),
        detail: Detail::Plain,
        metadata: Metadata::default(),
        claim: None,
        citations: Vec::new(),
        failure: false,
        binding: Binding::NoRepository,
        embedding: None,
    }
}

pub(in crate::decide) fn verification(
    outcome: Outcome,
    source: VerificationSource,
    target: Option<&str>,
) -> Command {
    Command::RecordVerification(Box::new(NewVerification {
        outcome,
        source,
        run: "run".into(),
        citations: Vec::new(),
        binding: Binding::NoRepository,
        error: None,
        approach: None,
        target: target.map(|path| Scope::parse(path).unwrap()),
    }))
}

/// A failed verification with this error, of an approach with what it touches.
pub(in crate::decide) fn failure(
    error: Option<&str>,
    approach: Option<&str>,
    files: &[&str],
) -> Command {
    let Command::RecordVerification(said) =
        verification(Outcome::Failed, VerificationSource::TestsFailed, None)
    else {
        unreachable!("it is a verification")
    };
    Command::RecordFailure(Box::new(NewFailure {
        said: NewVerification {
            error: error.map(str::to_owned),
            approach: approach.map(str::to_owned),
            ..*said
        },
        files: files.iter().map(|file| (*file).to_owned()).collect(),
        symbols: Vec::new(),
    }))
}

pub(in crate::decide) fn supersede(
    old: EntryId,
    expected_version: u64,
    new: Replacement,
) -> Command {
    Command::Supersede(Box::new(Supersede {
        old,
        expected_version,
        new,
        reason: "better".into(),
        commit: None,
        verification: None,
    }))
}

pub(in crate::decide) fn amend(id: EntryId, expected_version: u64, content: &str) -> Command {
    Command::AmendEntry(Box::new(AmendEntry {
        entry: id,
        expected_version,
        content: content.into(),
        detail: Detail::Plain,
        metadata: Metadata::default(),
        claim: None,
        citations: Vec::new(),
        embedding: None,
        verification: None,
    }))
}
