//! A node on which fixes fail, and short ways to say so. Nothing is promoted on it unless somebody says so.

use std::sync::Arc;

use sillok_core::Error;
use sillok_core::circular::{Approach, ErrorHash, ErrorJudged, FailedApproach, Failures};
use sillok_core::command::{Answer, AnswerBody, Command};
use sillok_core::entry::Binding;
use sillok_core::erasure::EraseVerifications;
use sillok_core::id::VerificationId;
use sillok_core::principal::PrincipalKind;
use sillok_core::time::DAY_MS;
use sillok_core::verification::{NewFailure, NewVerification, Outcome, VerificationSource};
use sillok_store::keys::{self, Family, ScopeKey, failed_approach};

use crate::tests::faults::Silent;
use crate::tests::harness::{
    TestNode, TestStore, clock_at, open_task, ports, scope, store, submission,
};
use crate::tests::world::{Pairs, pairs_of};
use crate::{NodeConfig, Ports};

/// Ports of a node on which promotions begin and never end.
pub(in crate::tests) fn silent_ports() -> Ports {
    Ports {
        cognifier: Arc::new(Silent),
        ..ports()
    }
}

/// The same on a store on which another node ran before.
pub(in crate::tests) fn later_ports() -> Ports {
    Ports {
        clock: clock_at(DAY_MS),
        ..silent_ports()
    }
}

pub(in crate::tests) fn approach(text: &str, files: &[&str]) -> Approach {
    Approach {
        text: text.to_owned(),
        files: files.iter().map(|file| (*file).to_owned()).collect(),
        symbols: Vec::new(),
    }
}

/// A verification that failed with this error, of this approach.
pub(in crate::tests) fn failure(error: Option<&str>, approach: Option<&Approach>) -> Command {
    let said = NewVerification {
        outcome: Outcome::Failed,
        source: VerificationSource::TestsFailed,
        run: "run".to_owned(),
        citations: Vec::new(),
        binding: Binding::NoRepository,
        error: error.map(str::to_owned),
        approach: approach.map(|approach| approach.text.clone()),
        target: None,
    };
    let names = |of: fn(&Approach) -> &Vec<String>| approach.map(of).cloned().unwrap_or_default();
    Command::RecordFailure(Box::new(NewFailure {
        said,
        files: names(|approach| &approach.files),
        symbols: names(|approach| &approach.symbols),
    }))
}

/// The order to erase what these verifications say.
pub(in crate::tests) fn erase(verifications: &[VerificationId]) -> Command {
    Command::EraseVerifications(Box::new(EraseVerifications {
        verifications: verifications.to_vec(),
        reason: "nobody is to read it".to_owned(),
    }))
}

pub(in crate::tests) struct Stage {
    pub(in crate::tests) node: TestNode,
    pub(in crate::tests) store: TestStore,
    pub(in crate::tests) given: u64,
}

impl Stage {
    pub(in crate::tests) async fn set() -> Self {
        Self::over(&store()).await
    }

    pub(in crate::tests) async fn over(store: &TestStore) -> Self {
        let node = TestNode::start(store.clone(), silent_ports(), NodeConfig::default());
        Self {
            node: node.await.unwrap(),
            store: store.clone(),
            given: 0,
        }
    }

    pub(in crate::tests) async fn give(
        &mut self,
        kind: PrincipalKind,
        path: &str,
        command: Command,
    ) -> Result<Answer, Error> {
        self.given += 1;
        let given = submission(self.given, kind, path, command);
        self.node.submit(given).await
    }

    pub(in crate::tests) async fn open(&mut self, path: &str) {
        let opened = self.give(PrincipalKind::Agent, path, open_task()).await;
        opened.unwrap();
    }

    /// Records a failure: its verification, and what follows from its error.
    pub(in crate::tests) async fn fail(
        &mut self,
        path: &str,
        error: Option<&str>,
        approach: Option<&Approach>,
    ) -> (VerificationId, Option<ErrorJudged>) {
        let command = failure(error, approach);
        let answer = self.give(PrincipalKind::Orchestrator, path, command).await;
        match answer.unwrap().result {
            AnswerBody::Failed { id, judged, .. } => (id, judged),
            other => panic!("a failure was answered with {other:?}"),
        }
    }

    /// The same, and gives its promotion up.
    pub(in crate::tests) async fn fail_for_nothing(
        &mut self,
        path: &str,
        error: Option<&str>,
        approach: Option<&Approach>,
    ) -> VerificationId {
        let (id, _) = self.fail(path, error, approach).await;
        self.drop_promotion(path, id).await;
        id
    }

    pub(in crate::tests) async fn drop_promotion(&mut self, path: &str, id: VerificationId) {
        let drop = Command::DropPromotion {
            verification: id,
            reason: "nobody is to learn of it".to_owned(),
        };
        let dropped = self.give(PrincipalKind::Orchestrator, path, drop).await;
        dropped.unwrap();
    }

    pub(in crate::tests) async fn pass(&mut self, path: &str) {
        let passed = crate::tests::world::verification(Outcome::Passed, "run");
        let passed = self.give(PrincipalKind::Orchestrator, path, passed).await;
        passed.unwrap();
    }
}

/// The approaches that failed, as the store has them, in the order of their keys.
pub(in crate::tests) fn approaches(pairs: &Pairs) -> Vec<FailedApproach> {
    let rows = pairs
        .iter()
        .filter(|(key, _)| Family::of(key) == Some(Family::FailedApproach));
    rows.map(|(key, value)| failed_approach::decode(key, value).unwrap())
        .collect()
}

/// What would follow from an error that came up now.
pub(in crate::tests) fn next(known: &Failures, error: ErrorHash) -> ErrorJudged {
    known.judge(known.seen(error, VerificationId::from_bytes([8; 16])))
}

/// What a task remembers of its failures, as the store has it.
pub(in crate::tests) async fn failures(store: &TestStore, path: &str) -> Failures {
    let key = keys::task::key(&ScopeKey::of(&scope(path)));
    let pairs = pairs_of(store).await;
    keys::task::decode(&key, &pairs[&key]).unwrap().failures
}
