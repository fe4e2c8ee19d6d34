//! A small world: a store in which every family has rows, made through a node, and ways to take it
//! apart and put it together again.

use std::collections::BTreeMap;

use sillok_builtin::embedder::HashEmbedder;
use sillok_core::bank::Ended;
use sillok_core::citation::Citation;
use sillok_core::command::{
    AmendEntry, AnswerBody, AnswerReview, Command, CommandRecord, Replacement, Supersede,
};
use sillok_core::decision::{Node as Named, Rank, Reach, RelationKind};
use sillok_core::entry::{Binding, Claim, Detail, Embedding, Head, Metadata, Table};
use sillok_core::id::{Attempt, DecisionId, EntryId, EvidenceId, TokenId, VerificationId};
use sillok_core::ports::Embedder as _;
use sillok_core::principal::{Actor, PrincipalId, PrincipalKind};
use sillok_core::promotion::NewEntry;
use sillok_core::reuse::ReuseOutcome;
use sillok_core::scope::ScopePrefix;
use sillok_core::slot::Slot;
use sillok_core::stamp::Stamp;
use sillok_core::time::Timestamp;
use sillok_core::token::{Token, hash_secret};
use sillok_core::verification::{NewFailure, NewVerification, Outcome, VerificationSource};
use sillok_store::keys::relay::RelayRow;
use sillok_store::keys::{self, Family};
use sillok_store::{KeyRange, Store, Txn};

use super::decisions::{
    claims, declare, keep, kind, original, point, points_to, relates, save, says,
};
use super::harness::{
    PROJECT, TASK, TestNode, TestStore, append, command_id, node, open_task, principal, scope,
    store, submission,
};
use crate::jobs::PromotionState;
use crate::row_stream::RowStream;
use crate::rows::{self, Place};

pub(super) const OTHER_TASK: &str = "org/acme/project/api/worktree/main/task/43";
pub(super) const FAILED_TASK: &str = "org/acme/project/api/worktree/fix/task/44";
pub(super) const WORKTREE: &str = "org/acme/project/api/worktree/main";
pub(super) const OTHER_PROJECT: &str = "org/acme/project/web";
pub(super) const ORG: &str = "org/acme";

pub(super) type Pairs = BTreeMap<Vec<u8>, Vec<u8>>;

/// What stands in the world.
pub(super) struct World {
    pub(super) node: TestNode,
    pub(super) store: TestStore,
    /// An entry of the project that was amended twice.
    pub(super) amended: EntryId,
    /// A line of three entries of the project, the first one first.
    pub(super) line: Vec<EntryId>,
    /// A verification that was promoted.
    pub(super) promoted: VerificationId,
    commands: u64,
}

pub(crate) fn verification(outcome: Outcome, run: &str) -> Command {
    let failed = outcome == Outcome::Failed;
    Command::RecordVerification(Box::new(NewVerification {
        outcome,
        source: if failed {
            VerificationSource::TestsFailed
        } else {
            VerificationSource::TestsPassed
        },
        run: run.into(),
        citations: Vec::new(),
        binding: Binding::NoRepository,
        error: failed.then(|| "the parser loops for ever".into()),
        approach: failed.then(|| "read line by line".into()),
        target: None,
    }))
}

/// The same of a fix that failed, with what it touched.
pub(crate) fn failure(run: &str) -> Command {
    let Command::RecordVerification(said) = verification(Outcome::Failed, run) else {
        unreachable!("it is a verification")
    };
    Command::RecordFailure(Box::new(NewFailure {
        said: *said,
        files: vec!["src/parser.rs".into()],
        symbols: vec!["Parser::next".into()],
    }))
}

pub(crate) fn entry(table: Table, content: &str) -> NewEntry {
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

impl World {
    pub(super) async fn new() -> Self {
        let store = store();
        let mut world = Self {
            node: node(&store).await,
            store,
            amended: EntryId::from_bytes([0; 16]),
            line: Vec::new(),
            promoted: VerificationId::from_bytes([0; 16]),
            commands: 0,
        };
        world.tasks().await;
        for reason in [Some("its disk is bad".to_owned()), None] {
            let ordered = world.node.quarantine(scope(TASK), reason, Actor::system());
            ordered.await.unwrap();
        }
        world.entries().await;
        world.judgements().await;
        world.tokens().await;
        world.decisions().await;
        world.originals().await;
        world.beside_events().await;
        world
    }

    /// Gives a command and waits for its answer.
    pub(super) async fn give(
        &mut self,
        kind: PrincipalKind,
        path: &str,
        command: Command,
    ) -> AnswerBody {
        self.commands += 1;
        let submission = submission(self.commands, kind, path, command);
        self.node.submit(submission).await.unwrap().result
    }

    pub(super) async fn put(&mut self, kind: PrincipalKind, path: &str, new: NewEntry) -> EntryId {
        let entry = self
            .node
            .ports()
            .embedder
            .embed(&[&new.content])
            .await
            .unwrap()
            .pop();
        let command = Command::PutEntry {
            entry: Box::new(NewEntry {
                embedding: entry,
                ..new
            }),
            verification: None,
        };
        match self.give(kind, path, command).await {
            AnswerBody::Entry { id, .. } => id,
            other => panic!("an entry was answered with {other:?}"),
        }
    }

    /// The head of an entry that is there.
    pub(super) async fn head(&self, id: EntryId) -> Head {
        let found = self.node.reader().entry(id).await.unwrap();
        found.expect("the entry is there").head
    }

    async fn verify(&mut self, task: &str, command: Command) -> VerificationId {
        let answer = self.give(PrincipalKind::Orchestrator, task, command).await;
        let (AnswerBody::Verification { id, .. } | AnswerBody::Failed { id, .. }) = answer else {
            panic!("a verification is answered as one");
        };
        let state = self
            .node
            .promotion(&scope(task), id, 1_000_000)
            .await
            .unwrap();
        assert!(matches!(state, PromotionState::Done(_)), "{state:?}");
        id
    }

    async fn tasks(&mut self) {
        for task in [TASK, OTHER_TASK, FAILED_TASK] {
            self.give(PrincipalKind::Agent, task, open_task()).await;
            for line in [
                "AssertionError: parse() lost the last line",
                "root cause: the loop stops one line early",
            ] {
                self.give(PrincipalKind::Agent, task, append(line)).await;
            }
        }
        self.give(
            PrincipalKind::Agent,
            TASK,
            append(&"large text\n".repeat(30_000)),
        )
        .await;
        self.give(
            PrincipalKind::Agent,
            TASK,
            Command::MarkStuck {
                reason: "no way on".into(),
            },
        )
        .await;
        self.give(PrincipalKind::Human, TASK, Command::ClearStuck)
            .await;
        self.promoted = self
            .verify(TASK, verification(Outcome::Passed, "run 1"))
            .await;
        self.verify(OTHER_TASK, verification(Outcome::Passed, "run 2"))
            .await;
        self.verify(FAILED_TASK, failure("run 3")).await;
        for reward in [1.0, 0.5] {
            let went = super::banked::went("read line by line", Ended::Succeeded, reward, 2);
            self.give(PrincipalKind::Orchestrator, OTHER_TASK, went)
                .await;
        }
        // A denial is an event of its own, between two commands.
        let denied = submission(
            9_000,
            PrincipalKind::Agent,
            TASK,
            verification(Outcome::Passed, "mine"),
        );
        self.node.submit(denied).await.unwrap_err();
        self.give(PrincipalKind::Agent, TASK, append("after the denial"))
            .await;
    }

    async fn entries(&mut self) {
        self.put(
            PrincipalKind::Agent,
            WORKTREE,
            entry(Table::Observations, "the build takes nine minutes"),
        )
        .await;
        self.put(
            PrincipalKind::Human,
            OTHER_PROJECT,
            entry(Table::Observations, "the site is built by hand"),
        )
        .await;
        let claim = Claim {
            key: "http.framework".into(),
            value: "axum".into(),
        };
        let told = NewEntry {
            claim: Some(claim),
            ..entry(Table::Observations, "requests are served by axum")
        };
        self.amended = self.put(PrincipalKind::Human, PROJECT, told).await;
        for (expected_version, content) in [
            (1, "requests are served by axum 0.8"),
            (2, "requests are served by axum 0.9"),
        ] {
            let command = self.amend(expected_version, content);
            self.give(PrincipalKind::Human, PROJECT, command).await;
        }
        let first = entry(Table::Gotchas, "the linker needs much memory");
        let mut line = vec![self.put(PrincipalKind::Human, PROJECT, first).await];
        for content in [
            "the linker needs two gigabytes",
            "the linker needs four gigabytes",
        ] {
            let old = *line.last().unwrap();
            let command = Command::Supersede(Box::new(Supersede {
                old,
                expected_version: 1,
                new: Replacement::New(Box::new(entry(Table::Gotchas, content))),
                reason: "measured again".into(),
                commit: None,
                verification: None,
            }));
            match self.give(PrincipalKind::Human, PROJECT, command).await {
                AnswerBody::Superseded { new, .. } => line.push(new),
                other => panic!("a supersession was answered with {other:?}"),
            }
        }
        self.line = line;
    }

    /// What a task and a person say of entries.
    async fn judgements(&mut self) {
        let claims = |value: &str| NewEntry {
            claim: Some(Claim {
                key: "site.host".into(),
                value: value.into(),
            }),
            ..entry(Table::Observations, "the site has one host")
        };
        for value in ["ada", "bob"] {
            self.put(PrincipalKind::Human, OTHER_PROJECT, claims(value))
                .await;
        }
        let other = scope(OTHER_PROJECT);
        let waiting = self.node.reader().reviews(&other, false, None, 10).await;
        let answer = Command::AnswerReview(Box::new(AnswerReview {
            review: waiting.unwrap().items[0].id,
            approve: true,
            keep: None,
            reason: "it moved".into(),
        }));
        self.give(PrincipalKind::Human, OTHER_PROJECT, answer).await;
        let entry = *self.line.last().unwrap();
        let report = Command::ReportReuse {
            task: scope(TASK),
            entry,
            outcome: ReuseOutcome::Helped,
        };
        self.give(PrincipalKind::Agent, PROJECT, report).await;
    }

    pub(super) fn amend(&self, expected_version: u64, content: &str) -> Command {
        Command::AmendEntry(Box::new(AmendEntry {
            entry: self.amended,
            expected_version,
            content: content.into(),
            detail: Detail::Plain,
            metadata: Metadata::default(),
            claim: None,
            citations: vec![Citation::Human {
                user: PrincipalId::parse("human").unwrap(),
            }],
            embedding: Some(Embedding {
                space: HashEmbedder.space(),
                values: HashEmbedder::vector(content),
            }),
            verification: None,
        }))
    }

    /// Decisions that say something of one another: one of them changed, one withdrawn, and one restored.
    async fn decisions(&mut self) {
        let human = PrincipalKind::Human;
        let policy = says(Rank::Policy, "write tests first");
        self.decide(human, ORG, save(None, policy)).await;
        let axis = claims("http.api", "rest", says(Rank::Axis, "there is one API"));
        let axis = self.decide(human, ORG, save(None, axis)).await;
        let to_axis = Named::Decision {
            scope: scope(ORG),
            root: axis,
        };
        let lock = says(Rank::Lock, "the API has one handler");
        let lock = relates(RelationKind::DependsOn, to_axis, lock);
        let place = Named::file("src/api.rs").unwrap();
        let lock = relates(RelationKind::AppliesTo, place, lock);
        let root = self.decide(human, PROJECT, save(None, lock.clone())).await;
        let again = claims("http.api", "one handler", lock);
        let change = save(Some((root, 1)), again);
        self.decide(human, PROJECT, change).await;
        let to_lock = Named::Decision {
            scope: scope(PROJECT),
            root,
        };
        let orchestrator = PrincipalKind::Orchestrator;
        for (title, kind) in [
            ("answers are small", RelationKind::Constrains),
            ("answers are fast", RelationKind::Validates),
        ] {
            let text = relates(kind, to_lock.clone(), says(Rank::Normal, title));
            let decided = save(None, text);
            let root = self.decide(orchestrator, PROJECT, decided).await;
            let withdraw = Command::DeactivateDecision {
                root,
                expected_version: 1,
                reason: "nobody measured it".into(),
            };
            self.decide(orchestrator, PROJECT, withdraw).await;
            if kind == RelationKind::Validates {
                let restore = Command::RestoreDecision {
                    root,
                    expected_version: 2,
                    version: 1,
                    reason: "it was measured".into(),
                };
                self.decide(orchestrator, PROJECT, restore).await;
            }
        }
        let text = says(Rank::Normal, "the handler is one function");
        let text = relates(RelationKind::DependsOn, to_lock.clone(), text);
        self.decide(PrincipalKind::Agent, WORKTREE, save(None, text))
            .await;
        self.declarations(to_lock).await;
    }

    /// Kinds of relations, one of an organisation and one of a project, and a decision that uses the former.
    async fn declarations(&mut self, to_lock: Named) {
        let human = PrincipalKind::Human;
        let explains = kind("EXPLAINS", Reach::Backward);
        self.give(human, ORG, declare(explains)).await;
        let orchestrator = PrincipalKind::Orchestrator;
        let of_project = declare(kind("REPLACES", Reach::Forward));
        self.give(orchestrator, PROJECT, of_project).await;
        let text = says(Rank::Normal, "one handler is easier to measure");
        let text = relates(RelationKind::Declared(explains), to_lock, text);
        self.decide(orchestrator, PROJECT, save(None, text)).await;
    }

    /// Gives a command about a decision: its root.
    async fn decide(&mut self, kind: PrincipalKind, path: &str, command: Command) -> DecisionId {
        match self.give(kind, path, command).await {
            AnswerBody::Decision { root, .. } => root,
            other => panic!("a decision was answered with {other:?}"),
        }
    }

    /// Evidence, small and large, a decision that rests on it, and anchors that lead to all of them: one was dropped.
    async fn originals(&mut self) {
        let human = PrincipalKind::Human;
        let small = original("the times of the handler", "p99 is 12 ms");
        let small = self.original(human, PROJECT, keep(small)).await;
        let large = original(
            "a run of the benchmark",
            &"12 ms, and again\n".repeat(6_000),
        );
        let large = self.original(human, ORG, keep(large)).await;
        let named = |path: &str, id| Named::Evidence {
            scope: scope(path),
            id,
        };
        let (small, large) = (named(PROJECT, small), named(ORG, large));
        let text = says(Rank::Normal, "the handler is fast enough");
        let text = relates(RelationKind::RestsOn, small.clone(), text);
        let orchestrator = PrincipalKind::Orchestrator;
        let root = self.decide(orchestrator, PROJECT, save(None, text)).await;
        let decision = Named::Decision {
            scope: scope(PROJECT),
            root,
        };
        let anchors = vec![
            points_to("how fast it is", vec![small.clone(), decision]),
            points_to("how it was measured", vec![large]),
            points_to("what was tried first", vec![small]),
        ];
        let added = self.give(orchestrator, PROJECT, point(anchors)).await;
        let AnswerBody::AnchorsAdded { ids } = added else {
            panic!("anchors were answered with {added:?}");
        };
        let let_go = Command::DropAnchor {
            anchor: ids[2],
            reason: "it leads nowhere new".into(),
        };
        self.give(orchestrator, PROJECT, let_go).await;
    }

    /// Saves evidence.
    async fn original(&mut self, kind: PrincipalKind, path: &str, command: Command) -> EvidenceId {
        match self.give(kind, path, command).await {
            AnswerBody::EvidenceSaved { id, .. } => id,
            other => panic!("evidence was answered with {other:?}"),
        }
    }

    async fn tokens(&mut self) {
        for (secret, path) in [("one", PROJECT), ("two", ORG)] {
            let hash = hash_secret(secret);
            let id = PrincipalId::parse(secret).unwrap();
            let mint = Command::MintToken {
                hash,
                kind: PrincipalKind::Agent,
                id,
                lifetime_ms: 1_000_000,
            };
            self.give(PrincipalKind::Human, path, mint).await;
        }
        self.give(
            PrincipalKind::Human,
            ORG,
            Command::RevokeToken {
                hash: hash_secret("two"),
            },
        )
        .await;
    }

    /// Rows that no event leads to.
    async fn beside_events(&mut self) {
        let place = Place::of(&scope(WORKTREE));
        let mut txn = self.store.begin().await.unwrap();
        let hash = hash_secret("operator");
        let token = Token {
            id: TokenId::of_hash(&hash),
            actor: Actor {
                kind: PrincipalKind::Human,
                id: PrincipalId::parse("admin").unwrap(),
            },
            prefix: ScopePrefix::All,
            expires: Timestamp::from_ms(u64::MAX),
            minted_by: Actor::system(),
            minted_at: Timestamp::EPOCH,
            revoked_at: None,
        };
        txn.set(keys::token::key(&hash), keys::token::encode(&token));
        let aborted = CommandRecord::Aborted {
            digest: append("lost").digest(),
            attempt: Attempt::FIRST,
        };
        let actor = principal(PrincipalKind::Agent, ORG).actor;
        let lost = command_id(9_001);
        let key = keys::command::key(&place.key, &actor, lost);
        rows::write_command(&mut txn, key, &aborted);
        txn.set(
            keys::chunk::key(&place.key, lost, 0),
            keys::chunk::encode(b"lost"),
        );
        let relay = RelayRow {
            created: 1,
            stamp: Stamp::ZERO,
            seq: 1,
        };
        txn.set(
            keys::relay::key(place.slot, "stream"),
            keys::relay::encode(&relay),
        );
        txn.commit().await.unwrap();
    }

    /// Everything that the store holds.
    pub(super) async fn pairs(&self) -> Pairs {
        pairs_of(&self.store).await
    }
}

pub(crate) async fn pairs_of(store: &TestStore) -> Pairs {
    let mut txn = store.begin().await.unwrap();
    let rows = RowStream::new(KeyRange::all())
        .collect(&mut txn)
        .await
        .unwrap();
    rows.into_iter()
        .map(|(key, value)| (key.to_vec(), value.to_vec()))
        .collect()
}

/// A store that holds exactly these pairs.
pub(super) async fn store_of(pairs: &Pairs) -> TestStore {
    let store = store();
    let mut txn = store.begin().await.unwrap();
    for (key, value) in pairs {
        txn.set(key.clone(), value.clone());
    }
    txn.commit().await.unwrap();
    store
}

/// The pairs without the owners of slots in which nothing lies: there are thousands of them.
pub(super) fn without_idle_slots(pairs: &Pairs) -> Pairs {
    let used: Vec<Slot> = [TASK, OTHER_PROJECT, ORG]
        .map(|path| Slot::of(&scope(path)))
        .to_vec();
    let keeps = |key: &[u8]| {
        Family::of(key) != Some(Family::Owner)
            || used.contains(&keys::owner::parse(key).unwrap().slot)
    };
    pairs
        .iter()
        .filter(|(key, _)| keeps(key))
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect()
}
