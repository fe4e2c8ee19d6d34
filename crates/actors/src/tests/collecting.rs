//! What a promotion reads of records that are longer than a cognifier reads, and what it says of the rest.

use std::sync::Arc;

use parking_lot::Mutex;
use sillok_builtin::RuleCognifier;
use sillok_core::command::{AnswerBody, Command};
use sillok_core::limits::INLINE_BYTES_MAX;
use sillok_core::ports::{BoxFuture, Cognifier, PortError};
use sillok_core::principal::PrincipalKind;
use sillok_core::promotion::{CognifyInput, CognifyRecord, Cognition, Unread};
use sillok_core::verification::Outcome;

use super::harness::{AS_MEANT, TASK, append, open_task, scope, store, submission};
use super::jobs::started;
use super::world::verification;
use crate::NodeConfig;
use crate::jobs::PromotionState;

/// A cognifier that keeps what it was given.
#[derive(Default)]
struct Given(Mutex<Option<CognifyInput>>);

impl Cognifier for Given {
    fn name(&self) -> &str {
        "given 1"
    }

    fn cognify<'a>(
        &'a self,
        input: &'a CognifyInput,
    ) -> BoxFuture<'a, Result<Cognition, PortError>> {
        *self.0.lock() = Some(input.clone());
        RuleCognifier.cognify(input)
    }
}

/// The output of a test run of so many tests.
fn output(tests: usize) -> String {
    let lines = (0..tests).map(|number| format!("test case_{number} 끝\n"));
    format!("{}1 failed, 3 passed in 0.02s", lines.collect::<String>())
}

/// Checks that what was read of a text are its ends. Bytes that were not read.
fn unread(record: &CognifyRecord, whole: &str) -> u64 {
    let end = record.end.as_ref().unwrap();
    let from = usize::try_from(end.from).unwrap();
    assert!(whole.starts_with(&record.content));
    assert_eq!(whole.get(from..), Some(end.content.as_str()));
    assert!(record.content.starts_with("test case_0 "));
    assert!(end.content.ends_with("1 failed, 3 passed in 0.02s"));
    let read = record.content.len() + end.content.len();
    let read_max = NodeConfig::default().jobs.record_bytes;
    assert!(
        read <= read_max && read > read_max / 2,
        "{read} of {read_max}"
    );
    (whole.len() - read) as u64
}

#[tokio::test]
async fn of_a_long_record_both_ends_are_read_and_what_lies_between_is_counted() {
    let given = Arc::new(Given::default());
    let cognifier = Arc::clone(&given) as Arc<dyn Cognifier>;
    let node = started(&store(), 0, Some(cognifier), 3, AS_MEANT).await;
    // One lies in its event, one in several chunks, and one is read whole.
    let texts = [output(1_500), output(30_000), output(10)];
    assert!(texts[0].len() < INLINE_BYTES_MAX && texts[1].len() > 4 * INLINE_BYTES_MAX);
    let mut commands: Vec<Command> = vec![open_task()];
    commands.extend(texts.iter().map(|text| append(text)));
    commands.push(verification(Outcome::Passed, "run"));
    let mut answered = None;
    for (number, command) in (0..).zip(commands) {
        let submission = submission(number, PrincipalKind::Orchestrator, TASK, command);
        answered = Some(node.submit(submission).await.unwrap().result);
    }
    let Some(AnswerBody::Verification { id, .. }) = answered else {
        panic!("a verification was answered with {answered:?}")
    };
    let state = node.promotion(&scope(TASK), id, 10_000_000).await.unwrap();
    let PromotionState::Done(finished) = state else {
        panic!("{state:?}")
    };
    let input = given.0.lock().take().unwrap();
    assert_eq!(input.records.len(), 3);
    let bytes = unread(&input.records[0], &texts[0]) + unread(&input.records[1], &texts[1]);
    let whole = &input.records[2];
    assert_eq!((&whole.content, &whole.end), (&texts[2], &None));
    assert_eq!(input.unread, Unread { events: 0, bytes });
    let episode = node.reader().entry(finished.report.episode).await.unwrap();
    let metadata = episode.unwrap().version.metadata;
    let said = format!("\"unread_bytes\":{bytes}");
    assert!(metadata.as_str().contains(&said), "{}", metadata.as_str());
    let counted = node.metrics();
    assert_eq!(
        (
            counted.promotion_unread_events,
            counted.promotion_unread_bytes
        ),
        (0, bytes)
    );
    node.shutdown().await;
}
