//! Answers: what a command led to, and what the store remembers of it.
//!
//! Owns their forms. They are stored and sent: variants are only ever added at the end.

use serde::{Deserialize, Serialize};

use super::Digest;
use crate::chain::Tip;
use crate::circular::{ErrorHash, ErrorJudged};
use crate::entry::Status;
use crate::id::{
    AnchorId, Attempt, DecisionId, EntryId, EvidenceId, ReviewId, Seq, TokenId, VerificationId,
};
use crate::promotion::{Disposition, PublishReport};
use crate::reuse::Usage;
use crate::scope::{Scope, ScopePrefix};
use crate::task::TaskStatus;
use crate::time::Timestamp;

/// What a command led to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    /// The scope's last position once the command was applied.
    pub seq: Seq,
    /// When it was applied.
    pub time: Timestamp,
    /// What there is to say about it.
    pub result: AnswerBody,
}

/// What there is to say about an applied command.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AnswerBody {
    /// Nothing further.
    Done,
    /// A task has this status now.
    Task(TaskStatus),
    /// Records were staged at these positions.
    Appended {
        /// The first record's position.
        first: Seq,
        /// How many; they stand one behind the other.
        count: u32,
        /// How many secrets were masked.
        masked: u32,
    },
    /// A verification was recorded.
    Verification {
        /// Its id, and that of its promotion.
        id: VerificationId,
        /// It speaks for the records after this position...
        from: Seq,
        /// ...up to and including this one.
        through: Seq,
        /// Where the knowledge goes.
        target: Scope,
    },
    /// An entry was written, or the same one was there.
    Entry {
        /// The entry.
        id: EntryId,
        /// Its active version.
        version: u64,
        /// Its status.
        status: Status,
        /// What became of what was handed over.
        disposition: Disposition,
    },
    /// An entry was replaced.
    Superseded {
        /// The entry that replaces.
        new: EntryId,
        /// Its active version.
        version: u64,
        /// The entry that was replaced.
        old: EntryId,
    },
    /// A promotion was published.
    Published(Box<PublishReport>),
    /// A token was made.
    Token {
        /// Its public id.
        id: TokenId,
        /// What it covers.
        prefix: ScopePrefix,
        /// When it stops to count.
        expires: Timestamp,
    },
    /// What a task said of an entry is counted.
    Reported {
        /// The entry.
        entry: EntryId,
        /// What all tasks say.
        usage: Usage,
        /// Its status.
        status: Status,
        /// The question that this raised, if it did.
        review: Option<ReviewId>,
    },
    /// A question was answered.
    Reviewed {
        /// The question.
        review: ReviewId,
        /// The entry that holds, if the answer says so of one.
        kept: Option<EntryId>,
        /// The entry that was taken out of recall, if one was.
        retired: Option<EntryId>,
    },
    /// A promotion was taken back.
    Undone {
        /// Entries that it had made, and that were taken out of recall.
        retired: Vec<EntryId>,
        /// Entries that hold again.
        restored: Vec<EntryId>,
        /// Entries that lost the support which it had given them.
        revised: Vec<EntryId>,
        /// Entries of the promotion that somebody had replaced or taken out of recall before.
        left: Vec<EntryId>,
    },
    /// Entries were taken out of recall.
    Retired {
        /// How many.
        retired: u32,
        /// How many were left: they changed since they were planned.
        left: u32,
    },
    /// Content was erased.
    Erased {
        /// Events that lost their content.
        events: u32,
        /// Entries that lost theirs.
        entries: Vec<EntryId>,
        /// How many of what was named had been erased before.
        known: u32,
    },
    /// A decision was saved, withdrawn or restored.
    Decision {
        /// Its root.
        root: DecisionId,
        /// Its newest version.
        version: u64,
        /// Whether it applies.
        active: bool,
    },
    /// Evidence was saved.
    EvidenceSaved {
        /// Its id.
        id: EvidenceId,
        /// BLAKE3 of its whole text, as it is stored.
        hash: [u8; 32],
        /// How many secrets were masked.
        masked: u32,
    },
    /// Anchors were added.
    AnchorsAdded {
        /// Their ids, in the order in which they were given.
        ids: Vec<AnchorId>,
    },
    /// A failed verification was recorded.
    Failed {
        /// Its id, and that of its promotion.
        id: VerificationId,
        /// It speaks for the records after this position...
        from: Seq,
        /// ...up to and including this one.
        through: Seq,
        /// Where the knowledge goes.
        target: Scope,
        /// What follows from the error; none where none is told.
        judged: Option<ErrorJudged>,
    },
    /// A trajectory was stored.
    TrajectoryStored {
        /// The event that tells of it.
        seq: Seq,
    },
}

/// What the store remembers of a command.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum CommandRecord {
    /// It was applied, once.
    Applied {
        /// Digest of its body.
        digest: Digest,
        /// What it led to.
        answer: Answer,
    },
    /// This attempt, and every earlier one, can no longer be applied.
    Aborted {
        /// Digest of its body.
        digest: Digest,
        /// The last attempt that was aborted.
        attempt: Attempt,
    },
}

impl CommandRecord {
    /// What is left of it once what its command wrote was erased: no hash of any of that.
    #[must_use]
    pub fn rest(&self) -> Self {
        match self {
            Self::Applied { answer, .. } => Self::Applied {
                digest: Digest::ERASED,
                answer: Answer {
                    result: answer.result.rest(),
                    ..answer.clone()
                },
            },
            Self::Aborted { attempt, .. } => Self::Aborted {
                digest: Digest::ERASED,
                attempt: *attempt,
            },
        }
    }
}

impl AnswerBody {
    fn rest(&self) -> Self {
        match self {
            Self::EvidenceSaved { id, .. } => Self::EvidenceSaved {
                id: *id,
                hash: [0; 32],
                masked: 0,
            },
            Self::Failed {
                id,
                from,
                through,
                target,
                judged,
            } => Self::Failed {
                id: *id,
                from: *from,
                through: *through,
                target: target.clone(),
                judged: judged.map(|judged| ErrorJudged {
                    error: ErrorHash::ERASED,
                    ..judged
                }),
            },
            other => other.clone(),
        }
    }
}

/// The row of a scope: where its chain ends, and from when on command ids count.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScopeRow {
    /// The scope's path, since keys hold only its hash.
    pub scope: Scope,
    /// Where its chain ends.
    pub tip: Tip,
    /// Commands whose id is older were answered too long ago to be remembered.
    pub floor: Timestamp,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::circular::{ErrorReason, Verdict};

    fn applied(digest: Digest, result: AnswerBody) -> CommandRecord {
        let answer = Answer {
            seq: Seq::new(7),
            time: Timestamp::from_ms(8),
            result,
        };
        CommandRecord::Applied { digest, answer }
    }

    #[test]
    fn a_record_keeps_its_answer_and_loses_each_hash_of_what_was_erased() {
        let id = EvidenceId::from_bytes([1; 16]);
        let saved = |hash, masked| AnswerBody::EvidenceSaved { id, hash, masked };
        let digest = Digest([3; 32]);
        assert_eq!(
            applied(digest, saved([5; 32], 2)).rest(),
            applied(Digest::ERASED, saved([0; 32], 0))
        );
        let judged = |error| AnswerBody::Failed {
            id: VerificationId::from_bytes([4; 16]),
            from: Seq::new(1),
            through: Seq::new(6),
            target: Scope::parse("org/a").unwrap(),
            judged: Some(ErrorJudged {
                verdict: Verdict::Warn,
                reason: ErrorReason::CameBack,
                error,
                count: 2,
            }),
        };
        assert_eq!(
            applied(digest, judged(ErrorHash::from_bytes([5; 32]))).rest(),
            applied(Digest::ERASED, judged(ErrorHash::ERASED))
        );
        let added = AnswerBody::AnchorsAdded {
            ids: vec![AnchorId::from_bytes([2; 16])],
        };
        for result in [AnswerBody::Done, added] {
            let rest = applied(digest, result.clone()).rest();
            assert_eq!(rest, applied(Digest::ERASED, result));
        }
        let aborted = |digest| CommandRecord::Aborted {
            digest,
            attempt: Attempt::FIRST,
        };
        assert_eq!(aborted(digest).rest(), aborted(Digest::ERASED));
    }
}
