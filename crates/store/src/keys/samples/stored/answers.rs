//! Answers to commands.

use sillok_core::circular::{ErrorHash, ErrorJudged, ErrorReason, Verdict};
use sillok_core::command::AnswerBody;
use sillok_core::entry::{Status, Table};
use sillok_core::id::{AnchorId, DecisionId, EvidenceId, ReviewId, Seq, TokenId};
use sillok_core::promotion::Disposition;
use sillok_core::time::Timestamp;

use super::entries::{statuses, tables, usage};
use super::publishing::{dispositions, report};
use super::tasks::{prefixes, statuses as task_statuses};
use super::{Sample, entry, scope_at, verification};

macro_rules! answers {
    ($($variant:ident),+ $(,)?) => {
        /// The names of all answers.
        pub(in crate::keys) const ANSWERS: &[&str] = &[$(stringify!($variant)),+];

        /// Which answer it is. One that is not listed does not compile.
        pub(in crate::keys) const fn name_of(answer: &AnswerBody) -> &'static str {
            match answer { $(AnswerBody::$variant { .. } => stringify!($variant)),+ }
        }
    };
}

answers! {
    Done,
    Task,
    Appended,
    Verification,
    Entry,
    Superseded,
    Published,
    Token,
    Reported,
    Reviewed,
    Undone,
    Retired,
    Erased,
    Decision,
    EvidenceSaved,
    AnchorsAdded,
    Failed,
    TrajectoryStored,
}

pub(super) fn all() -> Vec<Sample<AnswerBody>> {
    let mut all = vec![only(AnswerBody::Done)];
    all.extend(with_each("status", task_statuses(), AnswerBody::Task));
    all.extend(with_each("prefix", prefixes(), |prefix| {
        AnswerBody::Token {
            id: TokenId::of_hash(&[191; 32]),
            prefix,
            expires: Timestamp::from_ms(1_700_000_000_192),
        }
    }));
    all.extend(of_entries());
    all.extend(of_tasks().map(only));
    all.extend(of_failures());
    all.extend(of_people().map(only));
    all.extend(of_memory().map(only));
    all.push(only(AnswerBody::TrajectoryStored { seq: Seq::new(238) }));
    all
}

fn only(value: AnswerBody) -> Sample<AnswerBody> {
    Sample {
        name: name_of(&value).to_owned(),
        value,
    }
}

fn with_each<T>(
    what: &str,
    variants: Vec<(&'static str, T)>,
    answer: impl Fn(T) -> AnswerBody,
) -> Vec<Sample<AnswerBody>> {
    let sample = |(variant, one): (&str, T)| {
        let value = answer(one);
        Sample {
            name: format!("{}.{what}.{variant}", name_of(&value)),
            value,
        }
    };
    variants.into_iter().map(sample).collect()
}

fn of_entries() -> Vec<Sample<AnswerBody>> {
    let written = |status, disposition| AnswerBody::Entry {
        id: entry(201),
        version: 2_020,
        status,
        disposition,
    };
    let published =
        |table, disposition| AnswerBody::Published(Box::new(report(table, disposition)));
    let mut all = with_each("status", statuses(), |status| {
        written(status, Disposition::LeftOut)
    });
    all.extend(with_each("disposition", dispositions(), |disposition| {
        written(Status::Published, disposition)
    }));
    all.extend(with_each("table", tables(), |table| {
        published(table, Disposition::LeftOut)
    }));
    all.extend(with_each("disposition", dispositions(), |disposition| {
        published(Table::Gotchas, disposition)
    }));
    all
}

fn of_tasks() -> impl Iterator<Item = AnswerBody> {
    let appended = AnswerBody::Appended {
        first: Seq::new(203),
        count: 204,
        masked: 205,
    };
    let recorded = AnswerBody::Verification {
        id: verification(206),
        from: Seq::new(207),
        through: Seq::new(2_080),
        target: scope_at("org/gold/project/target"),
    };
    let superseded = AnswerBody::Superseded {
        new: entry(208),
        version: 2_090,
        old: entry(210),
    };
    [appended, recorded, superseded].into_iter()
}

fn of_failures() -> Vec<Sample<AnswerBody>> {
    let failed = |verdict, reason| AnswerBody::Failed {
        id: verification(230),
        from: Seq::new(231),
        through: Seq::new(2_320),
        target: scope_at("org/gold/project/target"),
        judged: Some(ErrorJudged {
            verdict,
            reason,
            error: ErrorHash::from_bytes([233; 32]),
            count: 234,
        }),
    };
    let verdicts = each!(Verdict {
        Allow,
        Warn,
        Block,
        Reject
    });
    let reasons = each!(ErrorReason {
        New,
        Repeated,
        CameBack,
        TakesTurns,
        TooOften,
        Stuck
    });
    let mut all = with_each("verdict", verdicts, |verdict| {
        failed(verdict, ErrorReason::New)
    });
    all.extend(with_each("reason", reasons, |reason| {
        failed(Verdict::Warn, reason)
    }));
    all.push(only(AnswerBody::Failed {
        id: verification(235),
        from: Seq::new(236),
        through: Seq::new(237),
        target: scope_at("org/gold/project/target"),
        judged: None,
    }));
    all
}

fn of_people() -> impl Iterator<Item = AnswerBody> {
    let reported = AnswerBody::Reported {
        entry: entry(211),
        usage: usage(),
        status: Status::Deprecated,
        review: Some(ReviewId::from_bytes([212; 16])),
    };
    let reviewed = AnswerBody::Reviewed {
        review: ReviewId::from_bytes([213; 16]),
        kept: Some(entry(214)),
        retired: Some(entry(215)),
    };
    let undone = AnswerBody::Undone {
        retired: vec![entry(216)],
        restored: vec![entry(217)],
        revised: vec![entry(218)],
        left: vec![entry(219)],
    };
    let retired = AnswerBody::Retired {
        retired: 220,
        left: 221,
    };
    let erased = AnswerBody::Erased {
        events: 222,
        entries: vec![entry(223)],
        known: 224,
    };
    [reported, reviewed, undone, retired, erased].into_iter()
}

fn of_memory() -> impl Iterator<Item = AnswerBody> {
    let decision = AnswerBody::Decision {
        root: DecisionId::from_bytes([225; 16]),
        version: 2_260,
        active: true,
    };
    let saved = AnswerBody::EvidenceSaved {
        id: EvidenceId::from_bytes([227; 16]),
        hash: [228; 32],
        masked: 229,
    };
    let added = AnswerBody::AnchorsAdded {
        ids: vec![
            AnchorId::from_bytes([230; 16]),
            AnchorId::from_bytes([232; 16]),
        ],
    };
    [decision, saved, added].into_iter()
}
