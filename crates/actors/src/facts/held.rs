//! Which events hold what decisions, evidence and anchors say that are to be erased.
//!
//! Owns reading them before the transaction begins: a decision may have more versions than a store has time for at one
//! moment. Nothing but an erasure changes an event, and that one was erased what was read of it as well. What came since is
//! read in the transaction.

use sillok_core::Error;
use sillok_core::command::{Command, Submission};
use sillok_core::facts::{Facts, needs};
use sillok_core::limits::FACT_ROUNDS_MAX;
use sillok_core::state::State;
use sillok_store::Store;
use sillok_store::keys::ScopeKey;

use super::{Fetch, Unfetched};
use crate::errors::refusal;
use crate::long_reads::LongReads;
use crate::protocol::Correct;

/// Adds the events that hold what `submission` names, if it is an order to erase such.
///
/// # Errors
/// What the store answered.
pub(super) async fn held<S: Store>(
    store: &S,
    submission: &Submission,
    facts: &mut Facts,
) -> Result<(), Error> {
    if !matches!(submission.command, Command::EraseMemory(_)) {
        return Ok(());
    }
    let read = read(store, submission, facts).await;
    read.map_err(|unfetched| match unfetched {
        Unfetched::Store(error) => refusal(&error),
        Unfetched::Refused(error) => error,
    })
}

async fn read<S: Store>(
    store: &S,
    submission: &Submission,
    facts: &mut Facts,
) -> Result<(), Unfetched> {
    let here = ScopeKey::of(&submission.scope);
    let mut txn = LongReads::of(store).begin().await?;
    // It knows what is stored, and is not what the command is decided from.
    let mut state = State::new(&submission.scope, None, None);
    for _ in 0..FACT_ROUNDS_MAX {
        let missing = needs(&state, submission, facts);
        if missing.is_empty() {
            break;
        }
        for need in missing {
            let mut fetch = Fetch {
                here,
                txn: &mut txn,
                state: &mut state,
                unstored: &[],
                facts: &mut *facts,
                protocol: Correct,
            };
            fetch.one(need).await?;
        }
    }
    // What was not found may come with a command before, of the same batch.
    facts.decision_seqs.retain(|_, seq| seq.is_some());
    facts.events.retain(|_, event| event.is_some());
    Ok(())
}
