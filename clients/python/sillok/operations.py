"""The operations of the server, each a method. Written by `make clients` out of the document: not to be edited."""

from __future__ import annotations

import abc
from collections.abc import Iterator, Mapping
from typing import Any

from . import models


class Operations(abc.ABC):
    """What the server does, by the names of the document."""

    @abc.abstractmethod
    def _call(
        self,
        method: str,
        path: str,
        query: Mapping[str, Any] | None,
        body: object,
        command_id: str | None,
        *,
        write: bool,
    ) -> Any:
        """The answer to a request. A write is sent under a command id, which is made where none is given."""

    @abc.abstractmethod
    def _text(self, path: str) -> str:
        """The answer to a request that is answered in plain text."""

    @abc.abstractmethod
    def _bytes(self, path: str) -> Iterator[bytes]:
        """The answer to a request that is answered in bytes, in pieces."""

    @abc.abstractmethod
    def _tail(self, path: str, query: Mapping[str, Any]) -> Iterator[models.TailItem]:
        """The events of a stream, for ever."""

    def live(self) -> str:
        """Tell that the process lives. `GET /livez`"""
        answer: str = self._text("/livez")
        return answer

    def metrics(self) -> str:
        """Show what the server measures, in the text format of OpenMetrics. `GET /metrics`"""
        answer: str = self._text("/metrics")
        return answer

    def ready(self) -> str:
        """Tell whether requests are taken: the store answers, the server is not about to stop, and it reaches the other
        nodes, or none of them does. `GET /readyz`"""
        answer: str = self._text("/readyz")
        return answer

    def show_anchor(self, *, scope: models.Scope, id: models.AnchorId) -> models.AnchorView:
        """Show an anchor, with what it leads to by title. `GET /v1/anchor`"""
        answer: models.AnchorView = self._call("GET", "/v1/anchor", {"scope": scope, "id": id}, None, None, write=False)
        return answer

    def follow_anchor(self, *, scope: models.Scope, id: models.AnchorId) -> models.Followed:
        """Follow an anchor: what it leads to, as the originals say it now. `GET /v1/anchor/follow`"""
        answer: models.Followed = self._call(
            "GET",
            "/v1/anchor/follow",
            {"scope": scope, "id": id},
            None,
            None,
            write=False,
        )
        return answer

    def list_anchors(
        self,
        *,
        scope: models.Scope,
        domain: models.Domain | None = None,
        dropped: bool | None = None,
        after: models.Cursor | None = None,
        limit: models.PageRows | None = None,
    ) -> models.PageAnchor:
        """List the anchors of a scope. `GET /v1/anchors`"""
        answer: models.PageAnchor = self._call(
            "GET",
            "/v1/anchors",
            {"scope": scope, "domain": domain, "dropped": dropped, "after": after, "limit": limit},
            None,
            None,
            write=False,
        )
        return answer

    def add_anchors(self, body: models.AddAnchors, *, command_id: str | None = None) -> models.AnchorsAdded:
        """Add anchors: hints where to go on reading, all or none. They stand last in a brief, and only point. `POST
        /v1/anchors`"""
        answer: models.AnchorsAdded = self._call("POST", "/v1/anchors", None, body, command_id, write=True)
        return answer

    def drop_anchor(self, body: models.DropAnchor, *, command_id: str | None = None) -> models.AnchorDropped:
        """Drop an anchor: it is listed no longer, and stays readable. What it leads to stays as it is. `POST
        /v1/anchors/drop`"""
        answer: models.AnchorDropped = self._call("POST", "/v1/anchors/drop", None, body, command_id, write=True)
        return answer

    def search_anchors(self, body: models.SearchAnchors) -> models.AnchorsFound:
        """Search behind anchors: in the originals that those of a brief lead to, by words. No brief waits for it, and
        it changes the place of nothing. The same state gives the same answer. `POST /v1/anchors/search`"""
        answer: models.AnchorsFound = self._call("POST", "/v1/anchors/search", None, body, None, write=False)
        return answer

    def verify_audit(self, body: models.AuditRequest) -> models.AuditAnswer:
        """Check that everything that is stored follows from the events. Only for a token that covers everything. `POST
        /v1/audit/verify`"""
        answer: models.AuditAnswer = self._call("POST", "/v1/audit/verify", None, body, None, write=False)
        return answer

    def backup(self) -> Iterator[bytes]:
        """Send a backup of the whole store, as of this moment. Only for a token that covers everything. The form is
        Sillok's own; a body that was cut off is refused by `sillok restore`. `GET /v1/backup`"""
        answer: Iterator[bytes] = self._bytes("/v1/backup")
        return answer

    def brief(self, body: models.BriefRequest) -> models.Brief:
        """Load what was decided for whoever works in a scope: there and above it, in the order of loading. The same
        state gives the same answer. `POST /v1/brief`"""
        answer: models.Brief = self._call("POST", "/v1/brief", None, body, None, write=False)
        return answer

    def checkpoint(self) -> models.CheckpointView:
        """Sign the ends of all chains of events, to be kept where the store is not. Only for a token that covers
        everything. `GET /v1/checkpoint`"""
        answer: models.CheckpointView = self._call("GET", "/v1/checkpoint", None, None, None, write=False)
        return answer

    def compare_chains(self, body: models.CompareChains) -> models.ChainsCompared:
        """Ask whether the ends that a checkpoint has are in their chains. Together with an audit that passes, it proves
        that nothing before them was changed or cut off. Only for a token that covers everything. `POST
        /v1/checkpoint/compare`"""
        answer: models.ChainsCompared = self._call("POST", "/v1/checkpoint/compare", None, body, None, write=False)
        return answer

    def cluster(self, *, slots: bool | None = None, orders: bool | None = None) -> models.ClusterView:
        """Show the cluster, as this node sees it: nodes, slots, and what is wrong. Only for a token that covers
        everything. `GET /v1/cluster`"""
        answer: models.ClusterView = self._call(
            "GET",
            "/v1/cluster",
            {"slots": slots, "orders": orders},
            None,
            None,
            write=False,
        )
        return answer

    def fence_node(self, body: models.FenceNode) -> models.FenceView:
        """End the run of a node that is held for bad, though it may still beat. It begins another one as soon as it
        finds out; where it does not, others take its slots once it was silent for longer than a lease. Who ended it is
        kept, and shown with the cluster. Only for a token that covers everything. `POST /v1/cluster/fence`"""
        answer: models.FenceView = self._call("POST", "/v1/cluster/fence", None, body, None, write=False)
        return answer

    def quarantine_scope(self, body: models.QuarantineScope) -> models.QuarantineView:
        """Have nothing be written to a scope, and what lies inside it, for a reason, or anything again: without one the
        quarantine is lifted. What is there is read as before. All orders are kept. Only for a token that covers
        everything. `POST /v1/cluster/quarantine`"""
        answer: models.QuarantineView = self._call("POST", "/v1/cluster/quarantine", None, body, None, write=False)
        return answer

    def show_decision(self, *, scope: models.Scope, root: models.DecisionId) -> models.DecisionView:
        """Show a decision with what it says. `GET /v1/decision`"""
        answer: models.DecisionView = self._call(
            "GET",
            "/v1/decision",
            {"scope": scope, "root": root},
            None,
            None,
            write=False,
        )
        return answer

    def list_decision_versions(
        self,
        *,
        scope: models.Scope,
        root: models.DecisionId,
        after: models.Cursor | None = None,
        limit: models.PageRows | None = None,
    ) -> models.PageDecisionVersion:
        """List the versions of a decision, the first one first. Each stays as it was saved. `GET
        /v1/decision/history`"""
        answer: models.PageDecisionVersion = self._call(
            "GET",
            "/v1/decision/history",
            {"scope": scope, "root": root, "after": after, "limit": limit},
            None,
            None,
            write=False,
        )
        return answer

    def list_decisions(
        self,
        *,
        scope: models.Scope,
        rank: models.Rank | None = None,
        domain: models.Domain | None = None,
        withdrawn: bool | None = None,
        after: models.Cursor | None = None,
        limit: models.PageRows | None = None,
    ) -> models.PageDecisionHead:
        """List the decisions that were made in a scope, without their texts. `GET /v1/decisions`"""
        answer: models.PageDecisionHead = self._call(
            "GET",
            "/v1/decisions",
            {"scope": scope, "rank": rank, "domain": domain, "withdrawn": withdrawn, "after": after, "limit": limit},
            None,
            None,
            write=False,
        )
        return answer

    def save_decision(self, body: models.SaveDecision, *, command_id: str | None = None) -> models.DecisionSaved:
        """Save a decision: begin a chain of versions, or give one a further version. The answer says what that means to
        others: what it affects, which axes and locks are among that, what contradicts it, and whether nothing else is
        of its domain. `POST /v1/decisions`"""
        answer: models.DecisionSaved = self._call("POST", "/v1/decisions", None, body, command_id, write=True)
        return answer

    def deactivate_decision(
        self,
        body: models.DeactivateDecision,
        *,
        command_id: str | None = None,
    ) -> models.DecisionSaved:
        """Withdraw a decision: it applies no longer, and stays readable. `POST /v1/decisions/deactivate`"""
        answer: models.DecisionSaved = self._call(
            "POST",
            "/v1/decisions/deactivate",
            None,
            body,
            command_id,
            write=True,
        )
        return answer

    def list_relation_kinds(
        self,
        *,
        scope: models.Scope,
        after: models.Cursor | None = None,
        limit: models.PageRows | None = None,
    ) -> models.PageDeclaredRelation:
        """List the declared kinds of relations that count in a scope, by their names: what it declares, and what the
        scopes around it do. `GET /v1/decisions/kinds`"""
        answer: models.PageDeclaredRelation = self._call(
            "GET",
            "/v1/decisions/kinds",
            {"scope": scope, "after": after, "limit": limit},
            None,
            None,
            write=False,
        )
        return answer

    def declare_relation(
        self,
        body: models.DeclareRelation,
        *,
        command_id: str | None = None,
    ) -> models.RelationDeclared:
        """Declare a kind of relation between decisions, for a project or an organisation and all that lies inside. It
        is neither changed nor taken back: decisions rest on what it means. Whoever may save a `lock` there may declare
        it. `POST /v1/decisions/kinds`"""
        answer: models.RelationDeclared = self._call("POST", "/v1/decisions/kinds", None, body, command_id, write=True)
        return answer

    def propose_decision(self, body: models.SaveDecision) -> models.Proposed:
        """Say what a decision would mean to others: what it would affect, which axes and locks are among that, what
        would contradict it, and whether nothing else is of its domain. Nothing is stored. It is refused where everybody
        would be refused to save it: anyone may propose what only others may save. `POST /v1/decisions/propose`"""
        answer: models.Proposed = self._call("POST", "/v1/decisions/propose", None, body, None, write=False)
        return answer

    def restore_decision(self, body: models.RestoreDecision, *, command_id: str | None = None) -> models.DecisionSaved:
        """Have a decision apply again that was withdrawn, with what one of its versions said. `POST
        /v1/decisions/restore`"""
        answer: models.DecisionSaved = self._call("POST", "/v1/decisions/restore", None, body, command_id, write=True)
        return answer

    def put_entry(self, body: models.PutEntry, *, command_id: str | None = None) -> models.EntryWritten:
        """Write an entry, or merge it into the one that says the same. `POST /v1/entries`"""
        answer: models.EntryWritten = self._call("POST", "/v1/entries", None, body, command_id, write=True)
        return answer

    def amend_entry(self, body: models.AmendEntry, *, command_id: str | None = None) -> models.EntryWritten:
        """Give an entry a new version. `POST /v1/entries/amend`"""
        answer: models.EntryWritten = self._call("POST", "/v1/entries/amend", None, body, command_id, write=True)
        return answer

    def resolve_state(self, body: models.ResolveState, *, command_id: str | None = None) -> models.EntryWritten:
        """Resolve a state: it holds no longer. `POST /v1/entries/resolve`"""
        answer: models.EntryWritten = self._call("POST", "/v1/entries/resolve", None, body, command_id, write=True)
        return answer

    def restore_entry(self, body: models.RestoreEntry, *, command_id: str | None = None) -> models.EntryWritten:
        """Bring an entry back that maintenance took out of recall, with the status that it has by what stands behind
        it. It ages anew from then on. `POST /v1/entries/restore`"""
        answer: models.EntryWritten = self._call("POST", "/v1/entries/restore", None, body, command_id, write=True)
        return answer

    def supersede_entry(self, body: models.Supersede, *, command_id: str | None = None) -> models.Superseded:
        """Replace one entry by another. `POST /v1/entries/supersede`"""
        answer: models.Superseded = self._call("POST", "/v1/entries/supersede", None, body, command_id, write=True)
        return answer

    def show_entry(self, *, id: models.EntryId) -> models.EntryView:
        """Show an entry with its active version. `GET /v1/entry`"""
        answer: models.EntryView = self._call("GET", "/v1/entry", {"id": id}, None, None, write=False)
        return answer

    def erase_content(self, body: models.EraseContent, *, command_id: str | None = None) -> models.ContentErased:
        """Destroy content for good. The receipt names what may still say it. `POST /v1/erase`"""
        answer: models.ContentErased = self._call("POST", "/v1/erase", None, body, command_id, write=True)
        return answer

    def list_events(
        self,
        *,
        scope: models.Scope,
        after: models.Cursor | None = None,
        limit: models.PageRows | None = None,
        kind: models.EventKinds | None = None,
    ) -> models.PageEventView:
        """List the events of a scope, in order. `GET /v1/events`"""
        answer: models.PageEventView = self._call(
            "GET",
            "/v1/events",
            {"scope": scope, "after": after, "limit": limit, "kind": kind},
            None,
            None,
            write=False,
        )
        return answer

    def list_evidence(
        self,
        *,
        scope: models.Scope,
        after: models.Cursor | None = None,
        limit: models.PageRows | None = None,
    ) -> models.PageEvidenceHead:
        """List the evidence of a scope, without its texts. `GET /v1/evidence`"""
        answer: models.PageEvidenceHead = self._call(
            "GET",
            "/v1/evidence",
            {"scope": scope, "after": after, "limit": limit},
            None,
            None,
            write=False,
        )
        return answer

    def save_evidence(self, body: models.SaveEvidence, *, command_id: str | None = None) -> models.EvidenceSaved:
        """Save evidence: an original as it is now. It is never changed, and never fades; whoever may save a `normal`
        decision there may save it. `POST /v1/evidence`"""
        answer: models.EvidenceSaved = self._call("POST", "/v1/evidence", None, body, command_id, write=True)
        return answer

    def show_evidence(self, *, scope: models.Scope, id: models.EvidenceId) -> models.EvidenceHead:
        """Show evidence without its text. `GET /v1/evidence/item`"""
        answer: models.EvidenceHead = self._call(
            "GET",
            "/v1/evidence/item",
            {"scope": scope, "id": id},
            None,
            None,
            write=False,
        )
        return answer

    def show_evidence_text(
        self,
        *,
        scope: models.Scope,
        id: models.EvidenceId,
        from_: int | None = None,
        to: int | None = None,
    ) -> models.EvidenceText:
        """Show the text of evidence, whole or a range of it. The whole is checked against its hash. `GET
        /v1/evidence/text`"""
        answer: models.EvidenceText = self._call(
            "GET",
            "/v1/evidence/text",
            {"scope": scope, "id": id, "from": from_, "to": to},
            None,
            None,
            write=False,
        )
        return answer

    def show_excerpt(self, *, id: models.RecordId, from_: int, to: int) -> models.ExcerptView:
        """Show what a stretch of a record's text says, or of what a task was opened with. `GET /v1/excerpt`"""
        answer: models.ExcerptView = self._call(
            "GET",
            "/v1/excerpt",
            {"id": id, "from": from_, "to": to},
            None,
            None,
            write=False,
        )
        return answer

    def check_fix(self, body: models.CheckFix) -> models.FixChecked:
        """Ask whether an approach to a task is one that failed before, in it or in another task of its project. `POST
        /v1/fixes/check`"""
        answer: models.FixChecked = self._call("POST", "/v1/fixes/check", None, body, None, write=False)
        return answer

    def list_failed_approaches(
        self,
        *,
        scope: models.TaskScope,
        after: models.Cursor | None = None,
        limit: models.PageRows | None = None,
    ) -> models.PageFailedApproach:
        """List the approaches to a task that failed, in the order in which they did. `GET /v1/fixes/failed`"""
        answer: models.PageFailedApproach = self._call(
            "GET",
            "/v1/fixes/failed",
            {"scope": scope, "after": after, "limit": limit},
            None,
            None,
            write=False,
        )
        return answer

    def query_graph(self, body: models.GraphRequest) -> models.GraphAnswer:
        """Ask the graph of what is seen from a scope in openCypher: active decisions, what they are related to, and
        what episodes say of causes. Nothing is stored, and the graph is built for the one question. `POST
        /v1/graph/query`"""
        answer: models.GraphAnswer = self._call("POST", "/v1/graph/query", None, body, None, write=False)
        return answer

    def show_history(
        self,
        *,
        id: models.EntryId,
        line_after: models.Cursor | None = None,
        versions_after: models.Cursor | None = None,
    ) -> models.History:
        """Show the line of supersessions that an entry stands in, and the entry's own versions. `GET /v1/history`"""
        answer: models.History = self._call(
            "GET",
            "/v1/history",
            {"id": id, "line_after": line_after, "versions_after": versions_after},
            None,
            None,
            write=False,
        )
        return answer

    def impact(self, body: models.ImpactRequest) -> models.Impact:
        """Say what a change affects, over declared relations alone, with the path that leads to each node. `POST
        /v1/impact`"""
        answer: models.Impact = self._call("POST", "/v1/impact", None, body, None, write=False)
        return answer

    def list_jobs(
        self,
        *,
        scope: models.ScopePrefix,
        halted: bool | None = None,
        after: models.Cursor | None = None,
        limit: models.PageRows | None = None,
    ) -> models.PageWaitingPromotion:
        """List the promotions that are not finished of the tasks under a scope, or under `*`. A page may be empty and
        still not be the last. `GET /v1/jobs`"""
        answer: models.PageWaitingPromotion = self._call(
            "GET",
            "/v1/jobs",
            {"scope": scope, "halted": halted, "after": after, "limit": limit},
            None,
            None,
            write=False,
        )
        return answer

    def append_logs(self, body: models.AppendLogs, *, command_id: str | None = None) -> models.Appended:
        """Append log records to a task, in order, all or none. `POST /v1/logs`"""
        answer: models.Appended = self._call("POST", "/v1/logs", None, body, command_id, write=True)
        return answer

    def maintain(self, body: models.Maintain) -> models.Maintained:
        """Look at all that is published: archive what is old, prune what was of little value, offer what proved itself
        to its organisation, compact the vector tables of the node, and sign a checkpoint. The answer comes with its
        end; a run that ended early is gone on with by the next. Only for a token that covers everything. `POST
        /v1/maintenance`"""
        answer: models.Maintained = self._call("POST", "/v1/maintenance", None, body, None, write=False)
        return answer

    def append_memory_event(self, body: models.AppendMemoryEvent, *, command_id: str | None = None) -> models.Appended:
        """Append a memory event to a scope of any level. `POST /v1/memory-events`"""
        answer: models.Appended = self._call("POST", "/v1/memory-events", None, body, command_id, write=True)
        return answer

    def openapi(self) -> Any:
        """Show this document. `GET /v1/openapi.json`"""
        answer = self._call("GET", "/v1/openapi.json", None, None, None, write=False)
        return answer

    def show_promotion(
        self,
        *,
        scope: models.TaskScope,
        verification: models.VerificationId,
        wait_ms: int | None = None,
    ) -> models.Promotion:
        """Show where a promotion stands, waiting for its end as long as is asked. `GET /v1/promotions`"""
        answer: models.Promotion = self._call(
            "GET",
            "/v1/promotions",
            {"scope": scope, "verification": verification, "wait_ms": wait_ms},
            None,
            None,
            write=False,
        )
        return answer

    def drop_promotion(self, body: models.DropPromotion, *, command_id: str | None = None) -> models.TaskChanged:
        """Give a promotion up for good, while nothing of it is published. Its records stay. `POST
        /v1/promotions/drop`"""
        answer: models.TaskChanged = self._call("POST", "/v1/promotions/drop", None, body, command_id, write=True)
        return answer

    def retry_promotion(self, body: models.RetryPromotion, *, command_id: str | None = None) -> models.Promotion:
        """Retry a promotion that has failed as often as it may, on whichever node carries it out. One that is under
        way, done or dropped is left as it is. Those may who may record a verification of the task. `POST
        /v1/promotions/retry`"""
        answer: models.Promotion = self._call("POST", "/v1/promotions/retry", None, body, command_id, write=True)
        return answer

    def undo_promotion(self, body: models.UndoPromotion, *, command_id: str | None = None) -> models.PromotionUndone:
        """Take a promotion back: what it made leaves recall, what that replaced holds again, and what it only supported
        loses that support. `POST /v1/promotions/undo`"""
        answer: models.PromotionUndone = self._call("POST", "/v1/promotions/undo", None, body, command_id, write=True)
        return answer

    def recall(self, body: models.RecallRequest) -> models.RecallAnswer:
        """Ask the published store, in a scope and all that lie above it. `POST /v1/recall`"""
        answer: models.RecallAnswer = self._call("POST", "/v1/recall", None, body, None, write=False)
        return answer

    def show_record(self, *, id: models.RecordId) -> models.RecordView:
        """Show a record with its whole text. `GET /v1/record`"""
        answer: models.RecordView = self._call("GET", "/v1/record", {"id": id}, None, None, write=False)
        return answer

    def list_records(
        self,
        *,
        scope: models.Scope,
        after: models.Cursor | None = None,
        limit: models.PageRows | None = None,
    ) -> models.PageRecordView:
        """List the records of a scope. A page may be empty and still not be the last. `GET /v1/records`"""
        answer: models.PageRecordView = self._call(
            "GET",
            "/v1/records",
            {"scope": scope, "after": after, "limit": limit},
            None,
            None,
            write=False,
        )
        return answer

    def report_reuse(self, body: models.ReportReuse, *, command_id: str | None = None) -> models.ReuseReported:
        """Say for a task what an entry was to it. `POST /v1/reuse`"""
        answer: models.ReuseReported = self._call("POST", "/v1/reuse", None, body, command_id, write=True)
        return answer

    def show_review(self, *, scope: models.Scope, id: models.ReviewId) -> models.ReviewEvidence:
        """Show a question with the entries that it is about, side by side. `GET /v1/review`"""
        answer: models.ReviewEvidence = self._call(
            "GET",
            "/v1/review",
            {"scope": scope, "id": id},
            None,
            None,
            write=False,
        )
        return answer

    def list_reviews(
        self,
        *,
        scope: models.Scope,
        answered: bool | None = None,
        after: models.Cursor | None = None,
        limit: models.PageRows | None = None,
    ) -> models.PageReviewView:
        """List what waits for a person in a scope. `GET /v1/reviews`"""
        answer: models.PageReviewView = self._call(
            "GET",
            "/v1/reviews",
            {"scope": scope, "answered": answered, "after": after, "limit": limit},
            None,
            None,
            write=False,
        )
        return answer

    def answer_review(self, body: models.AnswerReview, *, command_id: str | None = None) -> models.Reviewed:
        """Answer a question, with all that follows. `POST /v1/reviews/answer`"""
        answer: models.Reviewed = self._call("POST", "/v1/reviews/answer", None, body, command_id, write=True)
        return answer

    def append_snapshot(self, body: models.AppendSnapshot, *, command_id: str | None = None) -> models.Appended:
        """Append a terminal snapshot to a task. `POST /v1/snapshots`"""
        answer: models.Appended = self._call("POST", "/v1/snapshots", None, body, command_id, write=True)
        return answer

    def status(self) -> models.StatusView:
        """Show what the node is doing. `GET /v1/status`"""
        answer: models.StatusView = self._call("GET", "/v1/status", None, None, None, write=False)
        return answer

    def tail(
        self,
        *,
        scope: models.ScopePrefix,
        cursor: models.Cursor | None = None,
        kind: models.EventKinds | None = None,
    ) -> Iterator[models.TailItem]:
        """Follow the events under a scope, or under `*`, as server-sent events. The id of each is the cursor behind it;
        `Last-Event-ID` resumes there. Comments are heartbeats. One with an id says that nothing that was asked for lies
        before that cursor any more. `GET /v1/tail`"""
        answer: Iterator[models.TailItem] = self._tail("/v1/tail", {"scope": scope, "cursor": cursor, "kind": kind})
        return answer

    def show_task(self, *, scope: models.Scope) -> models.TaskView:
        """Show a task. `GET /v1/task`"""
        answer: models.TaskView = self._call("GET", "/v1/task", {"scope": scope}, None, None, write=False)
        return answer

    def list_tasks(
        self,
        *,
        scope: models.Scope,
        after: models.Cursor | None = None,
        limit: models.PageRows | None = None,
    ) -> models.PageTaskView:
        """List the tasks under a scope, or under `*`. A page may be empty and still not be the last. `GET /v1/tasks`"""
        answer: models.PageTaskView = self._call(
            "GET",
            "/v1/tasks",
            {"scope": scope, "after": after, "limit": limit},
            None,
            None,
            write=False,
        )
        return answer

    def open_task(self, body: models.OpenTask, *, command_id: str | None = None) -> models.TaskChanged:
        """Open a task. `POST /v1/tasks`"""
        answer: models.TaskChanged = self._call("POST", "/v1/tasks", None, body, command_id, write=True)
        return answer

    def archive_task(self, body: models.ArchiveTask, *, command_id: str | None = None) -> models.TaskChanged:
        """Archive a task. `POST /v1/tasks/archive`"""
        answer: models.TaskChanged = self._call("POST", "/v1/tasks/archive", None, body, command_id, write=True)
        return answer

    def close_task(self, body: models.CloseTask, *, command_id: str | None = None) -> models.TaskChanged:
        """Close a task. `POST /v1/tasks/close`"""
        answer: models.TaskChanged = self._call("POST", "/v1/tasks/close", None, body, command_id, write=True)
        return answer

    def mark_stuck(self, body: models.MarkStuck, *, command_id: str | None = None) -> models.TaskChanged:
        """Mark a task stuck. `POST /v1/tasks/stuck`"""
        answer: models.TaskChanged = self._call("POST", "/v1/tasks/stuck", None, body, command_id, write=True)
        return answer

    def clear_stuck(self, body: models.ClearStuck, *, command_id: str | None = None) -> models.TaskChanged:
        """Clear the mark of a stuck task. `POST /v1/tasks/unstick`"""
        answer: models.TaskChanged = self._call("POST", "/v1/tasks/unstick", None, body, command_id, write=True)
        return answer

    def list_tokens(self, *, scope: models.Scope) -> models.PageTokenView:
        """List the tokens under a scope, or under `*`, without their secrets. `GET /v1/tokens`"""
        answer: models.PageTokenView = self._call("GET", "/v1/tokens", {"scope": scope}, None, None, write=False)
        return answer

    def mint_token(self, body: models.MintToken, *, command_id: str | None = None) -> models.TokenMinted:
        """Make a token. An orchestrator makes short-lived ones for agents; all else is a person's. `POST /v1/tokens`"""
        answer: models.TokenMinted = self._call("POST", "/v1/tokens", None, body, command_id, write=True)
        return answer

    def revoke_token(self, body: models.RevokeToken, *, command_id: str | None = None) -> models.TokenRevoked:
        """Revoke a token. `POST /v1/tokens/revoke`"""
        answer: models.TokenRevoked = self._call("POST", "/v1/tokens/revoke", None, body, command_id, write=True)
        return answer

    def list_verifications(self, *, scope: models.Scope) -> models.PageVerificationView:
        """List a task's verifications, the earliest first. `GET /v1/verifications`"""
        answer: models.PageVerificationView = self._call(
            "GET",
            "/v1/verifications",
            {"scope": scope},
            None,
            None,
            write=False,
        )
        return answer

    def record_verification(
        self,
        body: models.RecordVerification,
        *,
        command_id: str | None = None,
    ) -> models.VerificationRecorded:
        """Record a verification of a task, which starts its promotion. `POST /v1/verifications`"""
        answer: models.VerificationRecorded = self._call(
            "POST",
            "/v1/verifications",
            None,
            body,
            command_id,
            write=True,
        )
        return answer
