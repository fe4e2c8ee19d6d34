//! From a typed request to a command of the node, and from its answer to a typed response.
//!
//! Owns the way in: the embedding of what is written is computed here, at the edge, so that the
//! rules and their actors never wait for an embedder.

use axum::Json;
use sillok_actors::reads::Remains;
use sillok_core::circular::Language;
use sillok_core::command::{Answer, AnswerBody, Command, Submission};
use sillok_core::entry::Embedding;
use sillok_core::error::{Error, ErrorCode};
use sillok_core::id::{AnchorId, Attempt, CommandId, Seq};
use sillok_core::permission::{Access, authorize};
use sillok_core::promotion::NewEntry;
use sillok_core::scope::Scope;
use sillok_core::secret::mask;
use sillok_core::task::TaskStatus;
use sillok_core::time::Timestamp;

use super::App;
use super::auth::Session;
use super::errors::Refusal;
use super::extract::Writer;
use crate::api::{
    AnchorDropped, AnchorsAdded, Appended, ContentErased, DecisionSaved, EntryWritten, ErrorJudged,
    EvidenceSaved, Meaning, PromotionUndone, ReuseReported, Reviewed, Superseded, TaskChanged,
    VerificationRecorded, backups_before,
};

/// What a handler answers.
pub(super) type Reply<T> = Result<Json<T>, Refusal>;

/// A command that was carried out.
pub(super) struct Receipt {
    pub(super) scope: Scope,
    pub(super) command_id: CommandId,
    pub(super) seq: Seq,
    pub(super) time: Timestamp,
    pub(super) result: AnswerBody,
}

impl App {
    /// Carries a command out in a scope.
    pub(super) async fn carry_out(
        &self,
        session: &Writer,
        command_id: CommandId,
        (scope, command): (Scope, Command),
    ) -> Result<Receipt, Refusal> {
        let submission = Submission {
            scope: scope.clone(),
            principal: session.principal.clone(),
            id: command_id,
            attempt: Attempt::FIRST,
            command,
        };
        let answered = self.node().submit_within(submission, session.within).await;
        let Answer { seq, time, result } = answered.map_err(Refusal::by_node(command_id))?;
        Ok(Receipt {
            scope,
            command_id,
            seq,
            time,
            result,
        })
    }

    /// The vector of a new entry, with its secrets masked as they will be stored. None of a text that the
    /// embedder refuses, and for who may not write there, who gets a refusal.
    ///
    /// # Errors
    /// `unavailable` when no embedder answers and the entry is to be compared with others: written without its
    /// vector it would stand beside what says the same, and nothing compares it later.
    pub(super) async fn embed_entry(
        &self,
        session: &Session,
        scope: &Scope,
        entry: &NewEntry,
    ) -> Result<Option<Embedding>, Error> {
        if !entry.table.is_compared() {
            return Ok(self.embed(session, scope, &entry.content).await);
        }
        if authorize(&session.principal, Access::Entries, scope).is_err() {
            return Ok(None);
        }
        let masked = mask(&entry.content);
        self.node().vector_to_compare(masked.text.as_ref()).await
    }

    /// The vector of a text that is about to be written and is compared with no other, with its secrets masked as
    /// they will be stored. None when no embedder answers: it is found by its words then; and for who may not
    /// write there, who gets a refusal.
    pub(super) async fn embed(
        &self,
        session: &Session,
        scope: &Scope,
        text: &str,
    ) -> Option<Embedding> {
        authorize(&session.principal, Access::Entries, scope).ok()?;
        let masked = mask(text);
        match self
            .node()
            .ports()
            .embedder
            .embed(&[masked.text.as_ref()])
            .await
        {
            Ok(mut embeddings) => embeddings.pop(),
            Err(error) => {
                tracing::warn!(%error, "an entry is written without its vector");
                None
            }
        }
    }
}

impl Receipt {
    pub(super) fn task(self) -> Reply<TaskChanged> {
        let AnswerBody::Task(status) = self.result else {
            return self.unfit();
        };
        Ok(Json(self.task_in(status)))
    }

    fn task_in(self, status: TaskStatus) -> TaskChanged {
        TaskChanged {
            scope: self.scope,
            status,
            seq: self.seq,
            time: self.time,
            command_id: self.command_id,
        }
    }

    pub(super) fn appended(self) -> Reply<Appended> {
        let AnswerBody::Appended {
            first,
            count,
            masked,
        } = self.result
        else {
            return self.unfit();
        };
        let Self {
            seq,
            time,
            command_id,
            ..
        } = self;
        Ok(Json(Appended {
            first,
            count,
            masked,
            seq,
            time,
            command_id,
        }))
    }

    pub(super) fn verification(self, language: Language) -> Reply<VerificationRecorded> {
        let (id, from, through, target, judged) = match self.result {
            AnswerBody::Verification {
                id,
                from,
                through,
                target,
            } => (id, from, through, target, None),
            AnswerBody::Failed {
                id,
                from,
                through,
                target,
                judged,
            } => (id, from, through, target, judged),
            _ => return self.unfit(),
        };
        let Self {
            seq,
            time,
            command_id,
            ..
        } = self;
        Ok(Json(VerificationRecorded {
            verification: id,
            from,
            through,
            target,
            judged: judged.map(|judged| ErrorJudged::of(judged, language)),
            seq,
            time,
            command_id,
        }))
    }

    pub(super) fn entry(self) -> Reply<EntryWritten> {
        let AnswerBody::Entry {
            id,
            version,
            status,
            disposition,
        } = self.result
        else {
            return self.unfit();
        };
        let Self {
            seq,
            time,
            command_id,
            ..
        } = self;
        let disposition = disposition.into();
        Ok(Json(EntryWritten {
            entry: id,
            version,
            status,
            disposition,
            seq,
            time,
            command_id,
        }))
    }

    pub(super) fn superseded(self) -> Reply<Superseded> {
        let AnswerBody::Superseded { new, version, old } = self.result else {
            return self.unfit();
        };
        let Self {
            seq,
            time,
            command_id,
            ..
        } = self;
        Ok(Json(Superseded {
            new,
            version,
            old,
            seq,
            time,
            command_id,
        }))
    }

    pub(super) fn reported(self) -> Reply<ReuseReported> {
        let AnswerBody::Reported {
            entry,
            usage,
            status,
            review,
        } = self.result
        else {
            return self.unfit();
        };
        let Self {
            seq,
            time,
            command_id,
            ..
        } = self;
        let usage = usage.into();
        Ok(Json(ReuseReported {
            entry,
            usage,
            status,
            review,
            seq,
            time,
            command_id,
        }))
    }

    pub(super) fn reviewed(self) -> Reply<Reviewed> {
        let AnswerBody::Reviewed {
            review,
            kept,
            retired,
        } = self.result
        else {
            return self.unfit();
        };
        let Self {
            seq,
            time,
            command_id,
            ..
        } = self;
        Ok(Json(Reviewed {
            review,
            kept,
            retired,
            seq,
            time,
            command_id,
        }))
    }

    pub(super) fn undone(self) -> Reply<PromotionUndone> {
        let AnswerBody::Undone {
            retired,
            restored,
            revised,
            left,
        } = self.result
        else {
            return self.unfit();
        };
        let Self {
            scope,
            seq,
            time,
            command_id,
            ..
        } = self;
        Ok(Json(PromotionUndone {
            target: scope,
            retired,
            restored,
            revised,
            left,
            seq,
            time,
            command_id,
        }))
    }

    /// The receipt of an erasure that was known to be on disk at `now`.
    pub(super) fn erased(self, remains: Remains, now: Timestamp) -> Reply<ContentErased> {
        let AnswerBody::Erased {
            events,
            entries,
            known,
        } = self.result
        else {
            return self.unfit();
        };
        let Self {
            scope,
            seq,
            time,
            command_id,
            ..
        } = self;
        Ok(Json(ContentErased {
            scope,
            events,
            entries,
            known,
            resting: remains.resting,
            resting_decisions: remains.decisions,
            same_error: remains.same_error,
            offers: remains.offers,
            backups_before: backups_before(time, now),
            seq,
            time,
            command_id,
        }))
    }

    /// The receipt of a decision that was saved, withdrawn or restored, with what that means to others.
    pub(super) fn decision(self, means: Meaning) -> Reply<DecisionSaved> {
        let AnswerBody::Decision {
            root,
            version,
            active,
        } = self.result
        else {
            return self.unfit();
        };
        let Self {
            seq,
            time,
            command_id,
            ..
        } = self;
        Ok(Json(DecisionSaved {
            root,
            version,
            active,
            means,
            seq,
            time,
            command_id,
        }))
    }

    pub(super) fn evidence(self) -> Reply<EvidenceSaved> {
        let AnswerBody::EvidenceSaved { id, hash, masked } = self.result else {
            return self.unfit();
        };
        let Self {
            seq,
            time,
            command_id,
            ..
        } = self;
        Ok(Json(EvidenceSaved {
            id,
            hash: hex::encode(hash),
            masked,
            seq,
            time,
            command_id,
        }))
    }

    pub(super) fn anchors(self) -> Reply<AnchorsAdded> {
        let AnswerBody::AnchorsAdded { ids } = self.result else {
            return self.unfit();
        };
        let Self {
            seq,
            time,
            command_id,
            ..
        } = self;
        Ok(Json(AnchorsAdded {
            ids,
            seq,
            time,
            command_id,
        }))
    }

    /// The receipt of an anchor that was dropped.
    pub(super) fn dropped(self, id: AnchorId) -> Reply<AnchorDropped> {
        let AnswerBody::Done = self.result else {
            return self.unfit();
        };
        let Self {
            seq,
            time,
            command_id,
            ..
        } = self;
        Ok(Json(AnchorDropped {
            id,
            seq,
            time,
            command_id,
        }))
    }

    /// The command was carried out, but its answer is that of another kind of command: a defect.
    pub(super) fn unfit<T>(self) -> Reply<T> {
        tracing::error!(result = ?self.result, "an answer does not fit its command");
        Err(Refusal::of(self.command_id)(Error::new(
            ErrorCode::Internal,
            "the answer does not fit the command",
        )))
    }
}
