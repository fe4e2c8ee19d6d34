//! The scope actor: one for each scope, through which all writes to the scope pass, in one order.
//!
//! Owns the queue of a scope, and that one batch at most is in flight. What a batch does is
//! [`crate::commit`]'s.

use std::collections::VecDeque;
use std::sync::Arc;

use ractor::{Actor, ActorProcessingErr, ActorRef};
use sillok_core::Error;
use sillok_core::command::{Answer, Submission};
use sillok_core::id::Attempt;
use sillok_core::limits::{BATCH_BYTES_MAX, BATCH_COMMANDS_MAX};
use sillok_core::scope::Scope;
use sillok_core::state::State;
use sillok_store::Store;
use tokio::sync::oneshot;

use crate::admission::Permit;
use crate::commit::{self, Shared};
use crate::commit_turns::{Asked, Turn};
use crate::facts::Early;
use crate::known_tip::KnownTip;
use crate::metrics::count;
use crate::protocol::Protocol;
use crate::spans::{OpenSpan, keys};

/// How a command ended.
#[derive(Debug)]
pub(crate) enum Reply {
    /// It was applied, now or before.
    Answered(Answer),
    /// It was refused, and nothing was written.
    Refused(Error),
    /// This attempt, and every earlier one, will never be applied: make a later one.
    Abandoned(Attempt),
}

/// A command that waits for its turn.
#[derive(Debug)]
pub(crate) struct Pending {
    /// Shared with the caller, who may have to ask what became of it.
    pub(crate) submission: Arc<Submission>,
    pub(crate) bytes: usize,
    pub(crate) reply: oneshot::Sender<Reply>,
    /// Counted against the node's and the scope's room until the command is answered.
    pub(crate) _permit: Permit,
    /// From when it began to wait until it is answered.
    pub(crate) span: OpenSpan,
    /// What it was compared with before it began to wait.
    pub(crate) early: Early,
}

impl Pending {
    /// Tells whoever asked, if that one still waits.
    pub(crate) fn answer(mut self, reply: Reply) {
        match &reply {
            Reply::Answered(answer) => self.span.note(keys::SEQ, answer.seq.get()),
            Reply::Refused(error) => self.span.fail(error),
            Reply::Abandoned(_) => {}
        }
        // Ended before anybody can go on to what follows it.
        drop(self.span);
        let _ = self.reply.send(reply);
    }
}

/// What a batch leaves behind for the next one.
pub(crate) struct Carried {
    /// The state as it was committed; none when it has to be read anew.
    pub(crate) state: Option<State>,
    /// Commands that have to be decided again, before any other.
    pub(crate) again: Vec<Pending>,
}

impl Carried {
    /// Neither a state nor a command.
    pub(crate) const fn nothing() -> Self {
        Self {
            state: None,
            again: Vec::new(),
        }
    }
}

/// What a scope actor is told.
pub(crate) enum Msg {
    /// A command.
    Submit(Pending),
    /// The scope may commit a batch.
    Turn(Turn),
    /// The batch in flight has ended; none when its task was lost.
    Ended(Option<Box<Carried>>),
}

/// The actor of a scope in a store, under a protocol.
pub(crate) struct ScopeActor<S: Store, P: Protocol> {
    shared: Arc<Shared<S, P>>,
    scope: Scope,
    tip: Arc<KnownTip>,
}

/// What the actor keeps between messages.
pub(crate) struct Mailbox {
    queue: VecDeque<Pending>,
    carried: Option<Box<Carried>>,
    /// Whether a batch is in flight, or has been promised a turn.
    in_flight: bool,
}

impl<S: Store, P: Protocol> ScopeActor<S, P> {
    pub(crate) fn new(shared: Arc<Shared<S, P>>, scope: Scope, tip: Arc<KnownTip>) -> Self {
        Self { shared, scope, tip }
    }

    /// Asks for a turn for the next batch, unless one is in flight or nothing waits.
    fn pump(&self, myself: &ActorRef<Msg>, mailbox: &mut Mailbox) {
        if mailbox.in_flight || mailbox.queue.is_empty() {
            return;
        }
        mailbox.in_flight = true;
        match self.shared.commit_turns.ask(self.scope.org()) {
            Asked::Now(turn) => self.start(turn, myself, mailbox),
            Asked::Later(turn) => {
                count(&self.shared.counters.turns_waited_for, 1);
                let myself = myself.clone();
                tokio::spawn(async move {
                    if let Ok(turn) = turn.await {
                        // An actor that is gone wants none: it goes to the next.
                        let _ = myself.send_message(Msg::Turn(turn));
                    }
                });
            }
        }
    }

    /// Starts the next batch, which holds what came while it waited.
    fn start(&self, turn: Turn, myself: &ActorRef<Msg>, mailbox: &mut Mailbox) {
        #[expect(clippy::cast_precision_loss, reason = "a mailbox is bounded")]
        let waiting = mailbox.queue.len() as f64;
        self.shared.counters.mailbox_commands.observe(waiting);
        let batch = take_batch(&mut mailbox.queue);
        assert!(
            !batch.is_empty() && batch.len() <= BATCH_COMMANDS_MAX,
            "a batch is bounded"
        );
        let state = mailbox.carried.take().and_then(|carried| carried.state);
        let shared = Arc::clone(&self.shared);
        let (scope, tip) = (self.scope.clone(), Arc::clone(&self.tip));
        let ending = Ending {
            actor: Some(myself.clone()),
            carried: None,
        };
        // A task of its own: killing the actor must not drop a commit in the middle.
        tokio::spawn(async move {
            let carried = commit::run(&shared, &scope, &tip, state, batch).await;
            drop(turn);
            ending.with(carried);
        });
    }
}

/// Takes from the front of the queue what one transaction holds: at least one command.
fn take_batch(queue: &mut VecDeque<Pending>) -> Vec<Pending> {
    let mut batch: Vec<Pending> = Vec::new();
    let mut bytes_total = 0;
    while let Some(next) = queue.front() {
        bytes_total += next.bytes;
        let full = batch.len() == BATCH_COMMANDS_MAX
            || (bytes_total > BATCH_BYTES_MAX && !batch.is_empty());
        if full {
            break;
        }
        batch.extend(queue.pop_front());
    }
    batch
}

/// Tells the actor that its batch has ended, however it ended.
struct Ending {
    actor: Option<ActorRef<Msg>>,
    carried: Option<Box<Carried>>,
}

impl Ending {
    fn with(mut self, carried: Carried) {
        self.carried = Some(Box::new(carried));
    }
}

impl Drop for Ending {
    fn drop(&mut self) {
        if let Some(actor) = self.actor.take() {
            // An actor that is gone needs no word: whoever waits finds out by the command's record.
            let _ = actor.send_message(Msg::Ended(self.carried.take()));
        }
    }
}

impl<S: Store, P: Protocol> Actor for ScopeActor<S, P> {
    type Msg = Msg;
    type State = Mailbox;
    type Arguments = ();

    async fn pre_start(
        &self,
        _myself: ActorRef<Msg>,
        _arguments: (),
    ) -> Result<Mailbox, ActorProcessingErr> {
        Ok(Mailbox {
            queue: VecDeque::new(),
            carried: None,
            in_flight: false,
        })
    }

    async fn handle(
        &self,
        myself: ActorRef<Msg>,
        message: Msg,
        mailbox: &mut Mailbox,
    ) -> Result<(), ActorProcessingErr> {
        match message {
            Msg::Submit(pending) => mailbox.queue.push_back(pending),
            Msg::Turn(turn) => {
                assert!(mailbox.in_flight, "only who asked has a turn");
                self.start(turn, &myself, mailbox);
            }
            Msg::Ended(carried) => {
                assert!(mailbox.in_flight, "only a batch in flight can end");
                mailbox.in_flight = false;
                mailbox.carried = carried;
                if let Some(carried) = &mut mailbox.carried {
                    for pending in carried.again.drain(..).rev() {
                        mailbox.queue.push_front(pending);
                    }
                }
            }
        }
        self.pump(&myself, mailbox);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use sillok_core::principal::PrincipalKind;
    use sillok_core::quota::QuotasConfig;

    use super::*;
    use crate::admission::{Admission, Wanted};
    use crate::config::AdmissionConfig;
    use crate::tests::harness::{TASK, append, submission};

    /// The sizes of the batches that commands of these sizes make.
    fn batches(sizes: &[usize]) -> Vec<Vec<usize>> {
        let admission = Admission::new(AdmissionConfig::default(), QuotasConfig::default());
        let depth = Arc::default();
        let line = Arc::new(submission(0, PrincipalKind::Agent, TASK, append("line")));
        let wanted = Wanted {
            scope: &line.scope,
            bytes: 1,
            is_own: false,
            is_metered: true,
            now_ms: 0,
        };
        let pending = |bytes: &usize| Pending {
            submission: Arc::clone(&line),
            bytes: *bytes,
            reply: oneshot::channel().0,
            _permit: admission.admit(&depth, wanted).unwrap(),
            span: OpenSpan::default(),
            early: None,
        };
        let mut queue: VecDeque<Pending> = sizes.iter().map(pending).collect();
        let mut batches = Vec::new();
        while !queue.is_empty() {
            let batch = take_batch(&mut queue);
            batches.push(batch.iter().map(|pending| pending.bytes).collect());
        }
        batches
    }

    #[test]
    fn a_batch_holds_so_many_commands_and_so_many_bytes() {
        const HALF: usize = BATCH_BYTES_MAX / 2;
        assert_eq!(batches(&[1; 3]), [[1; 3]]);
        let many = batches(&[1; BATCH_COMMANDS_MAX + 1]);
        assert_eq!(many, [vec![1; BATCH_COMMANDS_MAX], vec![1]]);
        assert_eq!(batches(&[HALF, HALF, 1]), [vec![HALF, HALF], vec![1]]);
        assert_eq!(batches(&[HALF, HALF + 1]), [[HALF], [HALF + 1]]);
        assert_eq!(batches(&[1, HALF, 1, HALF]), [vec![1, HALF, 1], vec![HALF]]);
    }

    #[test]
    fn a_command_that_is_larger_than_a_batch_goes_alone() {
        const LARGE: usize = BATCH_BYTES_MAX + 1;
        assert_eq!(batches(&[LARGE, 1]), [[LARGE], [1]]);
        assert_eq!(batches(&[1, LARGE, LARGE]), [[1], [LARGE], [LARGE]]);
    }
}
