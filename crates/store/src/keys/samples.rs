//! Values for the tests of the families: one fixed sample of each, and a strategy around it.

use proptest::collection::vec;
use proptest::prelude::*;
use sillok_core::chain::{self, EventHash, Origin, Sealed, StoredEvent, Tip};
use sillok_core::circular::Failures;
use sillok_core::citation::{Citation, TestOutcome};
use sillok_core::command::{Answer, AnswerBody, CommandRecord, Digest, ScopeRow};
use sillok_core::entry::{
    Binding, Claim, Detail, Embedding, Head, Kind, Lifecycle, Link, LinkKind, Metadata, Skill,
    SpaceId, Status, Table, Version,
};
use sillok_core::event::Body;
use sillok_core::facts::HashKey;
use sillok_core::fingerprint::ContentHash;
use sillok_core::id::{
    Attempt, CommandId, EntryId, Epoch, Incarnation, RecordId, ReviewId, Seq, TokenId,
    VerificationId,
};
use sillok_core::membership::{FenceOrder, NodeRow, OwnerRow, WireVersion};
use sillok_core::principal::{Actor, PrincipalId, PrincipalKind};
use sillok_core::promotion::{
    Attempts, Disposition, Job, LastError, Product, PublishReport, Spent,
};
use sillok_core::quarantine::QuarantineOrder;
use sillok_core::reuse::{Report, ReuseOutcome, Usage};
use sillok_core::review::{Question, Review, ReviewAnswer};
use sillok_core::schedule::{Outcome as RunOutcome, Run, Runs};
use sillok_core::scope::{Scope, ScopePrefix};
use sillok_core::slot::{SLOTS, Slot};
use sillok_core::stamp::Stamp;
use sillok_core::task::{Task, TaskStatus};
use sillok_core::time::Timestamp;
use sillok_core::token::Token;
use sillok_core::trust::{DecayPolicy, Trust};
use sillok_core::verification::{NewVerification, Outcome, Verification, VerificationSource};

use super::ScopeKey;
use super::node;
use super::outbox::OutboxRow;
use super::relay::RelayRow;
use super::vector;

pub(super) mod decisions;
pub(super) mod declared;
pub(super) mod evidence;
pub(super) mod failed;
pub(super) mod stored;
pub(super) mod trajectories;

/// Everything that a sample is made of.
#[derive(Debug, Clone)]
pub(super) struct Parts {
    pub(super) name: String,
    pub(super) text: String,
    pub(super) number: u64,
    pub(super) share: f64,
    pub(super) flag: bool,
    pub(super) id: [u8; 16],
    pub(super) hash: [u8; 32],
    pub(super) bytes: Vec<u8>,
}

/// The parts of the golden files. They never change.
pub(super) fn golden() -> Parts {
    Parts {
        name: "main-1".to_owned(),
        text: "실록: \u{1F5CE} two phases".to_owned(),
        number: 4_294_967_297,
        share: 0.625,
        flag: true,
        id: std::array::from_fn(|place| u8::try_from(place * 3 + 1).unwrap()),
        hash: std::array::from_fn(|place| u8::try_from(place * 5 + 2).unwrap()),
        bytes: vec![0, 1, 127, 128, 255],
    }
}

pub(super) fn parts() -> impl Strategy<Value = Parts> {
    let texts = ("[A-Za-z0-9_-]{1,20}", ".{0,60}");
    let numbers = (any::<u64>(), 0.0..1.0f64, any::<bool>());
    (
        texts,
        numbers,
        any::<[u8; 16]>(),
        any::<[u8; 32]>(),
        vec(any::<u8>(), 0..80),
    )
        .prop_map(
            |((name, text), (number, share, flag), id, hash, bytes)| Parts {
                name,
                text,
                number,
                share,
                flag,
                id,
                hash,
                bytes,
            },
        )
}

impl Parts {
    pub(super) fn scope(&self) -> Scope {
        let name = &self.name;
        Scope::parse(&format!("org/{name}/project/{name}/worktree/w/task/{name}")).unwrap()
    }

    pub(super) fn scope_key(&self) -> ScopeKey {
        ScopeKey::of(&self.scope())
    }

    pub(super) fn slot(&self) -> Slot {
        Slot::new(u16::try_from(self.number % u64::from(SLOTS)).unwrap()).unwrap()
    }

    pub(super) fn small(&self) -> u32 {
        u32::try_from(self.number % (1 << 32)).unwrap()
    }

    pub(super) fn seq(&self) -> Seq {
        Seq::new(self.number)
    }

    pub(super) fn entry(&self) -> EntryId {
        EntryId::from_bytes(self.id)
    }

    pub(super) fn verification_id(&self) -> VerificationId {
        VerificationId::from_bytes(self.id)
    }

    pub(super) fn command_id(&self) -> CommandId {
        CommandId::from_bytes(self.id)
    }

    pub(super) fn stamp(&self) -> Stamp {
        let index = u16::from_be_bytes([self.id[0], self.id[1]]);
        Stamp {
            generation: self.small(),
            counter: self.number,
            index,
        }
    }

    pub(super) fn actor(&self) -> Actor {
        let kind = PrincipalKind::ALL[usize::from(self.id[0]) % PrincipalKind::ALL.len()];
        Actor {
            kind,
            id: PrincipalId::parse(&self.name).unwrap(),
        }
    }

    fn time(&self) -> Timestamp {
        Timestamp::from_ms(self.number)
    }

    fn table(&self) -> Table {
        Table::ALL[usize::from(self.id[1]) % Table::ALL.len()]
    }

    fn when<T>(&self, value: T) -> Option<T> {
        self.flag.then_some(value)
    }

    fn binding(&self) -> Binding {
        if self.flag {
            Binding::Commit {
                hash: hex::encode(self.id),
                repository: self.text.clone(),
            }
        } else {
            Binding::NoRepository
        }
    }

    fn citations(&self) -> Vec<Citation> {
        let id = RecordId {
            scope: self.scope(),
            seq: self.seq(),
        };
        vec![
            Citation::Log {
                id: id.clone(),
                time: self.time(),
            },
            Citation::TerminalSnapshot { id },
            Citation::Commit {
                hash: hex::encode(self.id),
                repository: self.name.clone(),
            },
            Citation::File {
                path: self.text.clone(),
                lines: self.when((1, self.small())),
                fingerprint: self.when(self.name.clone()),
            },
            Citation::Symbol {
                id: self.name.clone(),
                name: self.text.clone(),
                file: self.name.clone(),
                signature: self.when(self.text.clone()),
            },
            Citation::Human {
                user: self.actor().id,
            },
            Citation::Test {
                name: self.text.clone(),
                outcome: TestOutcome::Pass,
                run: self.name.clone(),
            },
        ]
    }

    pub(super) fn node(&self) -> NodeRow {
        NodeRow {
            incarnation: Incarnation(self.number),
            beat: self.number & node::BEAT_MAX,
            fenced: self.flag,
            reaches_bus: !self.flag,
            is_behind: self.number & (node::BEAT_MAX + 1) != 0,
            reads: match self.flag {
                true => WireVersion::FIRST,
                false => WireVersion::try_from(self.id[0].max(1)).unwrap(),
            },
        }
    }

    pub(super) fn fence(&self) -> FenceOrder {
        FenceOrder {
            by: self.actor(),
            at: self.time(),
        }
    }

    pub(super) fn quarantine(&self) -> QuarantineOrder {
        QuarantineOrder {
            scope: self.scope(),
            reason: self.flag.then(|| self.text.clone()),
            by: self.actor(),
            at: self.time(),
        }
    }

    pub(super) fn owner(&self) -> OwnerRow {
        OwnerRow {
            node: self.text.clone(),
            incarnation: Incarnation(self.number),
            epoch: Epoch(self.number),
        }
    }

    fn tip(&self) -> Tip {
        let hash = EventHash::genesis(&self.scope());
        Tip {
            seq: self.seq(),
            hash,
            time: self.time(),
        }
    }

    pub(super) fn runs(&self) -> Runs {
        let run = Run {
            node: self.name.clone(),
            began: self.time(),
            ended: self.time().plus_ms(1),
            did: RunOutcome {
                retired: self.number,
                offered: 1,
                asks: 0,
                refused: self.number / 2,
                halted: 3,
            },
            checkpoint: None,
        };
        Runs {
            through: self.time(),
            last: self.flag.then_some(run),
        }
    }

    pub(super) fn scope_row(&self) -> ScopeRow {
        ScopeRow {
            scope: self.scope(),
            tip: self.tip(),
            floor: self.time(),
        }
    }

    pub(super) fn event(&self) -> StoredEvent {
        let origin = Origin {
            actor: self.actor(),
            command: self.command_id(),
            epoch: Epoch(self.number),
        };
        let body = Body::StuckMarked {
            reason: self.text.clone(),
        };
        let mut tip = Tip::genesis(&self.scope());
        let mut event = chain::seal(&mut tip, &body, &origin, self.time(), self.id);
        if !self.flag {
            event.sealed = None;
        } else if let Some(Sealed { body, .. }) = &mut event.sealed {
            body.extend_from_slice(&self.bytes);
        }
        event
    }

    fn trust(&self) -> Trust {
        Trust {
            confidence: self.share,
            validation_source: self.when(VerificationSource::PrMerged),
            last_validated: self.when(self.time()),
            validation_count: self.number,
            decay_policy: DecayPolicy::of(Kind::Knowledge),
            counted: vec![self.id],
        }
    }

    pub(super) fn head(&self) -> Head {
        Head {
            id: self.entry(),
            scope: self.scope(),
            table: self.table(),
            version: self.number,
            version_seq: self.seq(),
            content_hash: ContentHash::from_bytes(self.hash),
            status: Status::Verified,
            failure: self.flag,
            trust: self.trust(),
            line: self.entry(),
            line_head: self.entry(),
            lifecycle: Lifecycle {
                supersedes: self.when(self.entry()),
                superseded_by: None,
                deprecated_at: self.when(self.time()),
                valid_from_commit: self.when(self.name.clone()),
                valid_to_commit: None,
                contradiction_note: self.when(self.text.clone()),
            },
            citations: self.citations(),
            binding: self.binding(),
            links: vec![Link {
                kind: LinkKind::Causal,
                to: self.entry(),
                weight: self.share,
            }],
            reuse_count: self.number,
            last_used: self.when(self.time()),
            promotion: self.when(self.verification_id()),
            author: self.actor(),
            created_at: self.time(),
            updated_at: self.time(),
            usage: Usage::default(),
        }
    }

    pub(super) fn report(&self) -> Report {
        Report {
            entry: self.entry(),
            task: self.scope(),
            outcome: ReuseOutcome::ALL[usize::from(self.id[2]) % ReuseOutcome::ALL.len()],
            by: self.actor(),
            at: self.time(),
        }
    }

    pub(super) fn review_id(&self) -> ReviewId {
        ReviewId::from_bytes(self.id)
    }

    pub(super) fn review(&self) -> Review {
        let answer = ReviewAnswer {
            approved: self.flag,
            reason: self.text.clone(),
            by: self.actor(),
            at: self.time(),
        };
        Review {
            id: self.review_id(),
            question: Question::Contradiction {
                new: self.entry(),
                known: self.entry(),
                why: self.text.clone(),
            },
            raised_at: self.time(),
            raised_by: self.seq(),
            answer: self.when(answer),
        }
    }

    pub(super) fn version(&self) -> Version {
        let skill = Skill {
            name: self.name.clone(),
            description: self.text.clone(),
            code: self.text.clone(),
            usage_count: self.number,
            success_rate: self.share,
        };
        Version {
            entry: self.entry(),
            number: self.number,
            content: self.text.clone(),
            detail: if self.flag {
                Detail::Skill(Box::new(skill))
            } else {
                Detail::Plain
            },
            metadata: Metadata::parse(&format!("{{\"tool\":\"{}\"}}", self.name)).unwrap(),
            claim: self.when(Claim {
                key: self.name.clone(),
                value: self.text.clone(),
            }),
            content_hash: ContentHash::of(&self.text),
            author: self.actor(),
            created_at: self.time(),
        }
    }

    pub(super) fn command(&self) -> CommandRecord {
        let digest = Digest(self.hash);
        if self.flag {
            let report = Box::new(self.mark());
            let result = AnswerBody::Published(report);
            let answer = Answer {
                seq: self.seq(),
                time: self.time(),
                result,
            };
            CommandRecord::Applied { digest, answer }
        } else {
            CommandRecord::Aborted {
                digest,
                attempt: Attempt(self.small()),
            }
        }
    }

    pub(super) fn mark(&self) -> PublishReport {
        let product = |disposition| Product {
            table: self.table(),
            entry: self.when(self.entry()),
            disposition,
        };
        PublishReport {
            episode: self.entry(),
            products: vec![
                product(Disposition::Created),
                product(Disposition::Merged { cosine: self.share }),
                product(Disposition::Contradicts {
                    other: self.entry(),
                }),
                product(Disposition::LeftOut),
            ],
            linked_episodes: vec![self.entry()],
        }
    }

    pub(super) fn job(&self) -> Job {
        Job {
            source: self.scope(),
            verification: self.verification_id(),
            created_at: self.time(),
        }
    }

    pub(super) fn attempts(&self) -> Attempts {
        let spent = Spent {
            cognifier: self.name.clone(),
            prompt_tokens: self.when(self.number),
            completion_tokens: self.when(self.number / 2),
            micro_dollars: self.when(self.number / 3),
        };
        Attempts {
            round: self.small(),
            made: self.small(),
            failures: self.small() / 2,
            last_failed_at: self.when(self.time()),
            last_error: self.when(LastError {
                code: self.name.clone(),
                message: self.text.clone(),
            }),
            halted: !self.flag,
            next_at: self.when(self.time()),
            spent: self.when(spent),
        }
    }

    pub(super) fn outbox(&self) -> OutboxRow {
        OutboxRow {
            scope: self.scope(),
            first: Seq::new(self.number / 2),
            last: self.seq(),
            entries: vec![self.entry()],
        }
    }

    pub(super) fn space(&self) -> SpaceId {
        SpaceId(format!("provider/{}/3", self.name))
    }

    pub(super) fn vector(&self) -> vector::Row {
        let values = self.bytes.iter().map(|byte| f32::from(*byte) / 256.0);
        vector::Row {
            version: self.number,
            content_hash: ContentHash::from_bytes(self.hash),
            embedding: Embedding {
                space: self.space(),
                values: values.collect(),
            },
        }
    }

    pub(super) fn relay(&self) -> RelayRow {
        RelayRow {
            created: self.number,
            stamp: self.stamp(),
            seq: self.number,
        }
    }

    pub(super) fn token(&self) -> Token {
        let prefix = if self.flag {
            ScopePrefix::Scope(self.scope())
        } else {
            ScopePrefix::All
        };
        Token {
            id: TokenId::of_hash(&self.hash),
            actor: self.actor(),
            prefix,
            expires: self.time(),
            minted_by: self.actor(),
            minted_at: self.time(),
            revoked_at: self.when(self.time()),
        }
    }

    pub(super) fn task(&self) -> Task {
        Task {
            title: self.name.clone(),
            description: self.text.clone(),
            status: TaskStatus::ALL[usize::from(self.id[2]) % TaskStatus::ALL.len()],
            stuck_reason: self.when(self.text.clone()),
            verified_through: self.seq(),
            promotions_pending: self.small(),
            opened_by: self.actor(),
            opened_at: self.time(),
            updated_at: self.time(),
            failures: Failures::default(),
        }
    }

    pub(super) fn hash_key(&self) -> HashKey {
        let hash = ContentHash::from_bytes(self.hash);
        HashKey {
            table: self.table(),
            failure: self.flag,
            hash,
        }
    }

    pub(super) fn verification(&self) -> Verification {
        Verification {
            id: self.verification_id(),
            said: NewVerification {
                outcome: Outcome::Passed,
                source: VerificationSource::TestsPassed,
                run: self.name.clone(),
                citations: self.citations(),
                binding: self.binding(),
                error: self.when(self.text.clone()),
                approach: self.when(self.text.clone()),
                target: self.when(self.scope()),
            },
            recorder: self.actor(),
            time: self.time(),
            from: Seq::new(self.number / 2),
            through: self.seq(),
            target: self.scope(),
        }
    }
}
