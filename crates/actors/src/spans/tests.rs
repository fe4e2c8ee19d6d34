//! Tests of what a node records: one write is one trace, and what is not recorded costs nothing.

use std::collections::BTreeMap;

use parking_lot::Mutex;
use sillok_bus::Streams;
use sillok_core::ErrorCode;
use sillok_core::command::Command;
use sillok_core::entry::{Binding, Table};
use sillok_core::principal::PrincipalKind;
use sillok_core::verification::{NewVerification, Outcome, VerificationSource};

use super::*;
use crate::tests::harness::{
    PROJECT, TASK, TestNode, append, in_time, open_task, ports, store, submission,
};
use crate::tests::stream::MemoryStream;
use crate::tests::world::entry;
use crate::{NodeConfig, Ports};

/// A span that has ended.
#[derive(Clone, Debug)]
struct Ended {
    name: String,
    parent: Option<TraceContext>,
    context: TraceContext,
    notes: BTreeMap<&'static str, SpanValue>,
    refusal: Option<&'static str>,
}

type Log = Arc<Mutex<Vec<Ended>>>;

/// Keeps what has ended.
#[derive(Clone, Default)]
struct Recorder {
    ended: Log,
    begun: Arc<Mutex<u64>>,
}

struct Recorded {
    span: Ended,
    log: Log,
}

impl Tracer for Recorder {
    fn begin(
        &self,
        name: &str,
        _: SpanKind,
        parent: Option<TraceContext>,
    ) -> Option<Box<dyn Span>> {
        let mut begun = self.begun.lock();
        *begun += 1;
        let context = TraceContext::new(parent?.trace(), begun.to_be_bytes(), true)?;
        let span = Ended {
            name: name.to_owned(),
            parent,
            context,
            notes: BTreeMap::new(),
            refusal: None,
        };
        let log = Arc::clone(&self.ended);
        Some(Box::new(Recorded { span, log }))
    }
}

impl Span for Recorded {
    fn context(&self) -> TraceContext {
        self.span.context
    }

    fn note(&mut self, key: &'static str, value: SpanValue) {
        self.span.notes.insert(key, value);
    }

    fn fail(&mut self, code: &'static str) {
        self.span.refusal = Some(code);
    }
}

impl Drop for Recorded {
    fn drop(&mut self) {
        self.log.lock().push(self.span.clone());
    }
}

fn caller(number: u8) -> TraceContext {
    TraceContext::new([number; 16], [0xff; 8], true).unwrap()
}

impl Recorder {
    async fn node(&self) -> TestNode {
        let ports = Ports {
            streams: Some(Streams::new(|channel| Arc::new(MemoryStream::of(channel)))),
            tracer: Some(Arc::new(self.clone())),
            ..ports()
        };
        let node = TestNode::start(store(), ports, NodeConfig::default());
        node.await.unwrap()
    }

    /// The names of a caller's spans, each behind those that it lies below.
    fn paths(&self, caller: TraceContext) -> Vec<String> {
        let ended = self.ended.lock().clone();
        let above = |span: &Ended| {
            ended
                .iter()
                .find(|other| Some(other.context) == span.parent)
        };
        let path = |span: &Ended| {
            let mut path = span.name.clone();
            let mut span = span.clone();
            while let Some(parent) = above(&span) {
                path = format!("{}/{path}", parent.name);
                span = parent.clone();
            }
            assert_eq!(span.parent, Some(caller), "{path} begins at the caller");
            path
        };
        let own = ended
            .iter()
            .filter(|span| span.context.trace() == caller.trace());
        let mut paths: Vec<String> = own.map(path).collect();
        paths.sort();
        paths
    }

    /// Waits until a caller's spans are these.
    async fn comes(&self, caller: TraceContext, paths: &[&str]) {
        let comes = async {
            while self.paths(caller).len() < paths.len() {
                tokio::task::yield_now().await;
            }
        };
        in_time(comes).await;
        assert_eq!(self.paths(caller), paths);
    }

    fn named(&self, caller: TraceContext, name: &str) -> Ended {
        let ended = self.ended.lock();
        let found = ended
            .iter()
            .find(|span| span.name == name && span.context.trace() == caller.trace());
        found.expect("it has ended").clone()
    }
}

fn put(text: &str) -> Command {
    Command::PutEntry {
        entry: Box::new(entry(Table::Observations, text)),
        verification: None,
    }
}

#[tokio::test]
async fn one_write_is_one_trace_through_its_relays_and_the_index() {
    let recorder = Recorder::default();
    let node = recorder.node().await;
    let command = submission(1, PrincipalKind::Human, PROJECT, put("It needs protoc"));
    let answer = node.submit_within(command, Some(caller(1))).await.unwrap();
    let written = [
        "route",
        "route/commit",
        "route/commit/index",
        "route/commit/relay",
        "route/commit/stream",
    ];
    recorder.comes(caller(1), &written).await;
    let commit = recorder.named(caller(1), "commit");
    let slot = Slot::of(&PROJECT.parse().unwrap()).number();
    let notes = [
        (keys::BATCH, SpanValue::Number(1)),
        (keys::SCOPE, SpanValue::from("project")),
        (keys::SEQ, SpanValue::Number(answer.seq.get())),
        (keys::SLOT, SpanValue::Number(slot.into())),
    ];
    assert_eq!(commit.notes, BTreeMap::from(notes));
    let index = recorder.named(caller(1), "index");
    assert_eq!(index.notes[keys::ENTRIES], SpanValue::Number(1));
    assert_eq!(index.notes[keys::SEQ], SpanValue::Number(answer.seq.get()));
}

#[tokio::test]
async fn commands_of_one_batch_have_their_own_traces_and_a_refused_one_goes_no_further() {
    let recorder = Recorder::default();
    let node = recorder.node().await;
    let open = submission(0, PrincipalKind::Agent, TASK, open_task());
    node.submit(open).await.unwrap();
    let give = |number: u8, command| {
        let given = submission(number.into(), PrincipalKind::Agent, TASK, command);
        node.submit_within(given, Some(caller(number)))
    };
    let (first, second, refused, silent) = tokio::join!(
        give(1, append("one")),
        give(2, append("two")),
        give(3, open_task()),
        node.submit(submission(4, PrincipalKind::Agent, TASK, append("four"))),
    );
    assert!(first.is_ok() && second.is_ok() && silent.is_ok());
    assert_eq!(refused.unwrap_err().code, ErrorCode::Conflict);
    let told = [
        "route",
        "route/commit",
        "route/commit/relay",
        "route/commit/stream",
    ];
    recorder.comes(caller(1), &told).await;
    recorder.comes(caller(2), &told).await;
    recorder.comes(caller(3), &told[..2]).await;
    // The first one found nothing under way.
    for (number, batch, refusal) in [(1, 1, None), (2, 3, None), (3, 3, Some("conflict"))] {
        let commit = recorder.named(caller(number), "commit");
        assert_eq!(commit.notes[keys::BATCH], SpanValue::Number(batch));
        assert_eq!(commit.refusal, refusal);
    }
    // A retry writes nothing, so that nothing follows it.
    let again = submission(1, PrincipalKind::Agent, TASK, append("one"));
    node.submit_within(again, Some(caller(5))).await.unwrap();
    node.submit(submission(6, PrincipalKind::Agent, TASK, append("six")))
        .await
        .unwrap();
    recorder.comes(caller(5), &told[..2]).await;
    node.shutdown().await;
    assert_eq!(recorder.paths(caller(5)), told[..2]);
    assert_eq!(recorder.paths(caller(3)), told[..2]);
}

#[tokio::test]
async fn a_promotion_goes_on_with_the_trace_of_its_verification() {
    let recorder = Recorder::default();
    let node = recorder.node().await;
    let open = submission(0, PrincipalKind::Agent, TASK, open_task());
    node.submit(open).await.unwrap();
    let log = append("Root cause: the loop stops early");
    node.submit(submission(1, PrincipalKind::Agent, TASK, log))
        .await
        .unwrap();
    let passed = Command::RecordVerification(Box::new(NewVerification {
        outcome: Outcome::Passed,
        source: VerificationSource::TestsPassed,
        run: "run".into(),
        citations: Vec::new(),
        binding: Binding::NoRepository,
        error: None,
        approach: None,
        target: None,
    }));
    let verify = submission(2, PrincipalKind::Orchestrator, TASK, passed);
    node.submit_within(verify, Some(caller(1))).await.unwrap();
    let published = "route/commit/promote/route/commit/index";
    let comes = async {
        while !recorder
            .paths(caller(1))
            .iter()
            .any(|path| path == published)
        {
            tokio::task::yield_now().await;
        }
    };
    in_time(comes).await;
}

#[tokio::test]
async fn nothing_is_recorded_of_what_its_caller_does_not_record() {
    let recorder = Recorder::default();
    let node = recorder.node().await;
    let not_sampled = TraceContext::new([1; 16], [0xff; 8], false);
    for (number, trace) in [(1, None), (2, not_sampled)] {
        let text = format!("It needs {number} files");
        let command = submission(number, PrincipalKind::Human, PROJECT, put(&text));
        node.submit_within(command, trace).await.unwrap();
    }
    node.shutdown().await;
    assert_eq!(*recorder.begun.lock(), 0);
}

#[test]
fn a_commit_that_is_not_made_is_forgotten_and_so_are_the_oldest() {
    let recorder = Recorder::default();
    let spans = Spans::new(Some(Arc::new(recorder)));
    let scope: Scope = PROJECT.parse().unwrap();
    let of = |seq: u64| {
        let row = OutboxRow {
            scope: scope.clone(),
            first: Seq::new(seq),
            last: Seq::new(seq),
            entries: Vec::new(),
        };
        spans.of_row("relay", SpanKind::Producer, &row).len()
    };
    let span = spans.begin("commit", SpanKind::Internal, Some(caller(1)));
    let note =
        |seq: u64| spans.note_commit(&scope, [(Seq::new(seq), vec![&span, &span])].into_iter());
    drop(note(1));
    assert_eq!(of(1), 0);
    note(1).stands();
    assert_eq!(
        of(1),
        2,
        "a batch belongs to the traces of all its commands"
    );
    for seq in 2..=REMEMBERED_MAX as u64 + 1 {
        note(seq).stands();
    }
    assert_eq!((of(1), of(2), of(REMEMBERED_MAX as u64 + 1)), (0, 2, 2));
    let commits = spans.commits.lock();
    assert_eq!(commits.values.len(), commits.order.len());
}
