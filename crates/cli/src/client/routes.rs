//! The routes of the server, as typed calls.
//!
//! Owns their paths. Bodies are the server's own types.

use serde::Serialize;
use serde_json::Value;
use sillok_core::id::{CommandId, DecisionId, EntryId, RecordId, VerificationId};
use sillok_core::scope::Scope;
use sillok_server::api::{
    AddAnchors, AmendEntry, AnchorDropped, AnchorsAdded, AnswerReview, AppendLogs, AppendSnapshot,
    Appended, ArchiveTask, AuditAnswer, AuditRequest, Brief, BriefRequest, ChainsCompared,
    CheckpointView, ClearStuck, CloseTask, ClusterQuery, ClusterView, CompareChains, ContentErased,
    DeactivateDecision, DecisionHead, DecisionHistoryQuery, DecisionQuery, DecisionSaved,
    DecisionVersion, DecisionView, DecisionsQuery, DeclareRelation, DropAnchor, DropPromotion,
    EntryQuery, EntryView, EntryWritten, EraseContent, EventView, EventsQuery, EvidenceSaved,
    ExcerptQuery, ExcerptView, FenceNode, FenceView, History, Impact, ImpactRequest, JobQuery,
    ListQuery, Maintain, Maintained, MarkStuck, MintToken, OpenTask, Page, Promotion,
    PromotionQuery, PromotionState, PromotionUndone, Proposed, PutEntry, QuarantineScope,
    QuarantineView, RecallAnswer, RecallRequest, RecordQuery, RecordVerification, RecordView,
    RelationDeclared, ReportGate, ReportReuse, ResolveState, RestoreDecision, RestoreEntry,
    RetryPromotion, ReuseReported, ReviewEvidence, ReviewQuery, ReviewView, Reviewed, ReviewsQuery,
    RevokeToken, SaveDecision, SaveEvidence, ScopeQuery, StatusView, StoreTrajectory, Supersede,
    Superseded, TaskChanged, TaskView, TokenMinted, TokenRevoked, TokenView, TrajectoryStored,
    UndoPromotion, VerificationRecorded, VerificationView, WaitingPromotion,
};

use super::Client;
use crate::failure::Failure;

/// How long one call waits for a promotion, in milliseconds.
const PROMOTION_WAIT_MS: u64 = 20_000;

macro_rules! writes {
    ($($(#[$doc:meta])* $name:ident$(, $again:ident)?: $path:literal, $body:ty => $answer:ty;)*) => {
        impl Client {
            $(
                $(#[$doc])*
                ///
                /// # Errors
                /// [`Failure`]
                pub async fn $name(&self, body: &$body) -> Result<$answer, Failure> {
                    self.write($path, body).await
                }
                $(
                    /// The same under this command id: where it was carried out before, the answer
                    /// is that of then.
                    ///
                    /// # Errors
                    /// [`Failure`]
                    pub async fn $again(
                        &self,
                        command: CommandId,
                        body: &$body,
                    ) -> Result<$answer, Failure> {
                        self.write_as(command, $path, body).await
                    }
                )?
            )*
        }
    };
}

writes! {
    /// Opens a task.
    open_task, open_task_as: "/v1/tasks", OpenTask => TaskChanged;
    /// Marks a task stuck.
    mark_stuck: "/v1/tasks/stuck", MarkStuck => TaskChanged;
    /// Clears that mark.
    clear_stuck: "/v1/tasks/unstick", ClearStuck => TaskChanged;
    /// Closes a task.
    close_task: "/v1/tasks/close", CloseTask => TaskChanged;
    /// Archives a task.
    archive_task: "/v1/tasks/archive", ArchiveTask => TaskChanged;
    /// Appends log records.
    append_logs, append_logs_as: "/v1/logs", AppendLogs => Appended;
    /// Appends a terminal snapshot.
    append_snapshot, append_snapshot_as: "/v1/snapshots", AppendSnapshot => Appended;
    /// Records a verification.
    record_verification, record_verification_as: "/v1/verifications", RecordVerification => VerificationRecorded;
    /// Stores a trajectory.
    store_trajectory, store_trajectory_as: "/v1/trajectories", StoreTrajectory => TrajectoryStored;
    /// Gives a promotion up.
    drop_promotion: "/v1/promotions/drop", DropPromotion => TaskChanged;
    /// Writes an entry.
    put_entry: "/v1/entries", PutEntry => EntryWritten;
    /// Gives an entry a new version.
    amend_entry: "/v1/entries/amend", AmendEntry => EntryWritten;
    /// Replaces an entry.
    supersede: "/v1/entries/supersede", Supersede => Superseded;
    /// Resolves a state.
    resolve_state: "/v1/entries/resolve", ResolveState => EntryWritten;
    restore_entry: "/v1/entries/restore", RestoreEntry => EntryWritten;
    /// Says for a task what an entry was to it.
    report_reuse: "/v1/reuse", ReportReuse => ReuseReported;
    /// Says for a task what the gate found of an entry at the main branch.
    report_gate: "/v1/gate", ReportGate => ReuseReported;
    /// Answers a question.
    answer_review: "/v1/reviews/answer", AnswerReview => Reviewed;
    /// Takes a promotion back.
    undo_promotion: "/v1/promotions/undo", UndoPromotion => PromotionUndone;
    /// Saves a decision: begins a chain, or gives one a further version.
    save_decision: "/v1/decisions", SaveDecision => DecisionSaved;
    /// Withdraws a decision.
    deactivate_decision: "/v1/decisions/deactivate", DeactivateDecision => DecisionSaved;
    /// Has a decision that was withdrawn hold again.
    restore_decision: "/v1/decisions/restore", RestoreDecision => DecisionSaved;
    /// Declares a kind of relation.
    declare_relation: "/v1/decisions/kinds", DeclareRelation => RelationDeclared;
    /// Saves evidence.
    save_evidence: "/v1/evidence", SaveEvidence => EvidenceSaved;
    /// Adds anchors.
    add_anchors: "/v1/anchors", AddAnchors => AnchorsAdded;
    /// Drops an anchor.
    drop_anchor: "/v1/anchors/drop", DropAnchor => AnchorDropped;
    /// Erases content.
    erase: "/v1/erase", EraseContent => ContentErased;
    /// Makes a token.
    mint_token: "/v1/tokens", MintToken => TokenMinted;
    /// Revokes a token.
    revoke_token: "/v1/tokens/revoke", RevokeToken => TokenRevoked;
}

#[derive(Serialize)]
struct Nothing {}

#[derive(Serialize)]
struct UnderQuery<'a> {
    scope: &'a str,
}

impl Client {
    /// One task.
    ///
    /// # Errors
    /// [`Failure`]
    pub async fn task(&self, scope: &Scope) -> Result<TaskView, Failure> {
        self.get(
            "/v1/task",
            &ScopeQuery {
                scope: scope.to_string(),
            },
        )
        .await
    }

    /// One page of the tasks inside a scope.
    ///
    /// # Errors
    /// [`Failure`]
    pub async fn tasks(&self, query: &ListQuery) -> Result<Page<TaskView>, Failure> {
        self.get("/v1/tasks", query).await
    }

    /// One record.
    ///
    /// # Errors
    /// [`Failure`]
    pub async fn record(&self, id: &RecordId) -> Result<RecordView, Failure> {
        self.get("/v1/record", &RecordQuery { id: id.to_string() })
            .await
    }

    /// What a stretch of a record's text says.
    ///
    /// # Errors
    /// [`Failure`]
    pub async fn excerpt(&self, query: &ExcerptQuery) -> Result<ExcerptView, Failure> {
        self.get("/v1/excerpt", query).await
    }

    /// One page of a scope's records.
    ///
    /// # Errors
    /// [`Failure`]
    pub async fn records(&self, query: &ListQuery) -> Result<Page<RecordView>, Failure> {
        self.get("/v1/records", query).await
    }

    /// One page of a scope's events.
    ///
    /// # Errors
    /// [`Failure`]
    pub async fn events(&self, query: &EventsQuery) -> Result<Page<EventView>, Failure> {
        self.get("/v1/events", query).await
    }

    /// One entry.
    ///
    /// # Errors
    /// [`Failure`]
    pub async fn entry(&self, id: EntryId) -> Result<EntryView, Failure> {
        self.get("/v1/entry", &EntryQuery { id: id.to_string() })
            .await
    }

    /// An entry's line and versions.
    ///
    /// # Errors
    /// [`Failure`]
    pub async fn history(&self, id: EntryId) -> Result<History, Failure> {
        self.get("/v1/history", &EntryQuery { id: id.to_string() })
            .await
    }

    /// One page of the questions of a scope.
    ///
    /// # Errors
    /// [`Failure`]
    pub async fn reviews(&self, query: &ReviewsQuery) -> Result<Page<ReviewView>, Failure> {
        self.get("/v1/reviews", query).await
    }

    /// One question with its evidence.
    ///
    /// # Errors
    /// [`Failure`]
    pub async fn review(&self, query: &ReviewQuery) -> Result<ReviewEvidence, Failure> {
        self.get("/v1/review", query).await
    }

    /// Searches what was published.
    ///
    /// # Errors
    /// [`Failure`]
    pub async fn recall(&self, request: &RecallRequest) -> Result<RecallAnswer, Failure> {
        self.ask("/v1/recall", request).await
    }

    /// What a decision would mean to others. Nothing is stored.
    ///
    /// # Errors
    /// [`Failure`]
    pub async fn propose_decision(&self, decision: &SaveDecision) -> Result<Proposed, Failure> {
        self.ask("/v1/decisions/propose", decision).await
    }

    /// One page of the decisions of a scope.
    ///
    /// # Errors
    /// [`Failure`]
    pub async fn decisions(&self, query: &DecisionsQuery) -> Result<Page<DecisionHead>, Failure> {
        self.get("/v1/decisions", query).await
    }

    /// One decision.
    ///
    /// # Errors
    /// [`Failure`]
    pub async fn decision(&self, scope: &Scope, root: DecisionId) -> Result<DecisionView, Failure> {
        let query = DecisionQuery {
            scope: scope.to_string(),
            root: root.to_string(),
        };
        self.get("/v1/decision", &query).await
    }

    /// One page of a decision's versions, the first ones first.
    ///
    /// # Errors
    /// [`Failure`]
    pub async fn decision_history(
        &self,
        query: &DecisionHistoryQuery,
    ) -> Result<Page<DecisionVersion>, Failure> {
        self.get("/v1/decision/history", query).await
    }

    /// What a change affects.
    ///
    /// # Errors
    /// [`Failure`]
    pub async fn impact(&self, request: &ImpactRequest) -> Result<Impact, Failure> {
        self.ask("/v1/impact", request).await
    }

    /// What whoever works in a scope has to know.
    ///
    /// # Errors
    /// [`Failure`]
    pub async fn brief(&self, request: &BriefRequest) -> Result<Brief, Failure> {
        self.ask("/v1/brief", request).await
    }

    /// Tokens, without their secrets.
    ///
    /// # Errors
    /// [`Failure`]
    pub async fn tokens(&self, under: &str) -> Result<Page<TokenView>, Failure> {
        self.get("/v1/tokens", &UnderQuery { scope: under }).await
    }

    /// A task's verifications, the earliest first.
    ///
    /// # Errors
    /// [`Failure`]
    pub async fn verifications(&self, task: &Scope) -> Result<Page<VerificationView>, Failure> {
        let scope = task.to_string();
        self.get("/v1/verifications", &ScopeQuery { scope }).await
    }

    /// Waits for the end of a promotion; one that keeps failing is returned as it stands.
    ///
    /// # Errors
    /// [`Failure`]
    pub async fn promotion(
        &self,
        task: &Scope,
        verification: VerificationId,
    ) -> Result<Promotion, Failure> {
        loop {
            let promotion = self
                .promotion_within(task, verification, PROMOTION_WAIT_MS)
                .await?;
            if promotion.state != PromotionState::Pending {
                return Ok(promotion);
            }
        }
    }

    /// A promotion as it stands at its end, or after so many milliseconds.
    ///
    /// # Errors
    /// [`Failure`]
    pub async fn promotion_within(
        &self,
        task: &Scope,
        verification: VerificationId,
        wait_ms: u64,
    ) -> Result<Promotion, Failure> {
        let query = PromotionQuery {
            scope: task.to_string(),
            verification: verification.to_string(),
            wait_ms: Some(wait_ms),
        };
        self.get("/v1/promotions", &query).await
    }

    /// Has a promotion on the dead-letter list tried anew.
    ///
    /// # Errors
    /// [`Failure`]
    pub async fn retry_promotion(&self, asked: &RetryPromotion) -> Result<Promotion, Failure> {
        self.ask("/v1/promotions/retry", asked).await
    }

    /// One page of the promotions that are not finished.
    ///
    /// # Errors
    /// [`Failure`]
    pub async fn jobs(&self, query: &JobQuery) -> Result<Page<WaitingPromotion>, Failure> {
        self.get("/v1/jobs", query).await
    }

    /// Has the server look at all that is published.
    ///
    /// # Errors
    /// [`Failure`]
    pub async fn maintain(&self, asked: &Maintain) -> Result<Maintained, Failure> {
        self.ask_long("/v1/maintenance", asked).await
    }

    /// Has the server recompute every chain and view.
    ///
    /// # Errors
    /// [`Failure`]
    pub async fn audit(&self) -> Result<AuditAnswer, Failure> {
        self.ask_long("/v1/audit/verify", &AuditRequest {}).await
    }

    /// Has the server sign the ends of all chains.
    ///
    /// # Errors
    /// [`Failure`]
    pub async fn checkpoint(&self) -> Result<CheckpointView, Failure> {
        self.patient().get("/v1/checkpoint", &Nothing {}).await
    }

    /// Asks whether these events are in their chains.
    ///
    /// # Errors
    /// [`Failure`]
    pub async fn compare_chains(&self, chains: &CompareChains) -> Result<ChainsCompared, Failure> {
        self.ask_long("/v1/checkpoint/compare", chains).await
    }

    /// What the server is doing.
    ///
    /// # Errors
    /// [`Failure`]
    pub async fn status(&self) -> Result<StatusView, Failure> {
        self.get("/v1/status", &Nothing {}).await
    }

    /// The cluster, as the server sees it.
    ///
    /// # Errors
    /// [`Failure`]
    pub async fn cluster(&self, query: &ClusterQuery) -> Result<ClusterView, Failure> {
        self.get("/v1/cluster", query).await
    }

    /// Ends the run of a node.
    ///
    /// # Errors
    /// [`Failure`]
    pub async fn fence_node(&self, fence: &FenceNode) -> Result<FenceView, Failure> {
        self.ask("/v1/cluster/fence", fence).await
    }

    /// Quarantines a scope, or lifts its quarantine.
    ///
    /// # Errors
    /// [`Failure`]
    pub async fn quarantine_scope(
        &self,
        order: &QuarantineScope,
    ) -> Result<QuarantineView, Failure> {
        self.ask("/v1/cluster/quarantine", order).await
    }

    /// The OpenAPI document.
    ///
    /// # Errors
    /// [`Failure`]
    pub async fn openapi(&self) -> Result<Value, Failure> {
        self.get("/v1/openapi.json", &Nothing {}).await
    }
}
