//! Events on the wire, and their listings.
//!
//! Owns what an event shows of its content. Vectors and hashes of secrets are left out.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sillok_core::bank::Step;
use sillok_core::entry::Metadata;
use sillok_core::event::{
    AnchorAdded, Body, DecisionSaved, EntryAmended, EntryCreated, EntryMerged, EventKind,
    EvidenceSaved, FixFailed, Text, TrajectoryStored,
};
use sillok_core::id::{CommandId, EntryId, Seq};
use sillok_core::promotion;
use sillok_core::retention::Retirement;
use sillok_core::scope::Scope;
use sillok_core::staging::{Content, Record, RecordKind};
use sillok_core::time::Timestamp;
use sillok_core::verification::Verification;
use utoipa::{IntoParams, ToSchema};

use super::decision::told;
use super::record::raw_metadata;
use super::{Actor, Citation, DecisionText, PublishReport, Question, Usage, schema};

/// One event of a scope.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct EventView {
    /// The scope.
    #[schema(value_type = schema::Scope)]
    pub scope: Scope,
    /// Its position.
    #[schema(value_type = schema::Seq)]
    pub seq: Seq,
    /// When it was decided.
    #[schema(value_type = schema::Timestamp)]
    pub time: Timestamp,
    /// What sort of event.
    #[schema(value_type = schema::EventKind)]
    pub kind: EventKind,
    /// Who acted.
    pub actor: Actor,
    /// The command that it belongs to.
    #[schema(value_type = schema::CommandId)]
    pub command: CommandId,
    /// Its content; null once erased.
    #[schema(value_type = Value)]
    pub body: Value,
}

/// Asks for one page of a scope's events.
#[derive(Clone, Debug, Default, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct EventsQuery {
    /// The scope.
    #[param(value_type = schema::Scope)]
    pub scope: String,
    /// The cursor that the page before gave as `next`, or the `seq` of the last event that is known, to ask
    /// for news; from the start when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[param(value_type = Option<schema::Cursor>)]
    pub after: Option<String>,
    /// At most so many items, 1 to 1000.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[param(value_type = Option<schema::PageRows>)]
    pub limit: Option<usize>,
    /// Events of these kinds alone, by their names with commas between them; all when absent. A page may
    /// then hold fewer items than asked for, even none, and still not be the last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[param(value_type = Option<schema::EventKinds>)]
    pub kind: Option<String>,
}

/// What an event shows of its content.
#[must_use]
pub fn body_json(body: &Body) -> Value {
    match body {
        Body::TaskOpened { title, description } => {
            json!({ "title": title, "description": description })
        }
        Body::RecordAppended(record) => record_json(record),
        Body::StuckMarked { reason } => json!({ "reason": reason }),
        Body::StuckCleared | Body::TaskArchived => json!({}),
        Body::TaskClosed { closing, reason } => json!({ "closing": closing, "reason": reason }),
        Body::VerificationRecorded(verification) => verification_json(verification),
        Body::Promoted { .. } | Body::PromotionDropped { .. } | Body::Published { .. } => {
            promotion_json(body)
        }
        Body::EntryCreated(created) => created_json(created),
        Body::EntryAmended(amended) => amended_json(amended),
        Body::Merged(merged) => merged_json(merged),
        Body::Superseded {
            new,
            old,
            line,
            reason,
            commit,
        } => {
            json!({ "new": new, "old": old, "line": line, "reason": reason, "commit": commit })
        }
        Body::Linked { entry, link } => {
            json!({ "entry": entry, "to": link.to, "kind": link.kind, "weight": link.weight })
        }
        Body::TokenMinted { token, .. } => {
            let (id, actor) = (token.id, &token.actor);
            json!({ "token": id, "actor": actor, "scope": token.prefix, "expires": token.expires })
        }
        Body::TokenRevoked { token, .. } => json!({ "token": token }),
        Body::Denied {
            rule,
            kind,
            command,
            unsampled,
        } => json!({
            "rule": rule,
            "principal_kind": kind,
            "command": command,
            "unsampled": unsampled,
        }),
        Body::ReuseReported(_)
        | Body::ReviewRaised { .. }
        | Body::ReviewAnswered { .. }
        | Body::TrustRevised(_)
        | Body::CitationsRefreshed(_)
        | Body::EntriesRetired { .. }
        | Body::StateResolved { .. }
        | Body::EntryRestored(_)
        | Body::SupersessionUndone { .. }
        | Body::PromotionUndone { .. } => governed_json(body),
        Body::ContentErased(erased) => {
            let events: Vec<Seq> = erased.events.iter().map(|event| event.at.seq).collect();
            json!({ "events": events, "entries": erased.entries, "reason": erased.reason })
        }
        Body::DecisionSaved(saved) => decision_json(saved),
        Body::EvidenceSaved(saved) => evidence_json(saved),
        Body::AnchorAdded(added) => anchor_json(added),
        Body::AnchorDropped { anchor, reason } => json!({ "anchor": anchor, "reason": reason }),
        Body::RelationDeclared {
            name,
            reach,
            meaning,
        } => json!({ "name": name, "reach": reach, "meaning": meaning }),
        Body::FixFailed(failed) => failed_json(failed),
        Body::TrajectoryStored(stored) => trajectory_json(stored),
    }
}

/// What an event shows of a trajectory.
fn trajectory_json(stored: &TrajectoryStored) -> Value {
    let step = |step: &Step| match step.bytes {
        None => json!({ "record": step.record }),
        Some((from, to)) => json!({ "record": step.record, "from": from, "to": to }),
    };
    json!({
        "kind": stored.kind,
        "title": stored.title,
        "approach": stored.approach,
        "ended": stored.ended,
        "reward": stored.reward,
        "lesson": stored.lesson,
        "steps": stored.steps.iter().map(step).collect::<Vec<_>>(),
    })
}

/// What an event shows of a fix that failed.
fn failed_json(failed: &FixFailed) -> Value {
    json!({
        "verification": failed.verification,
        "error": failed.error.map(|seen| seen.error.to_string()),
        "first_verification": failed.error.map(|seen| seen.first),
        "approach": failed.approach,
        "reason": failed.reason,
    })
}

/// What an event shows that ends a promotion.
fn promotion_json(body: &Body) -> Value {
    match body {
        Body::Promoted {
            verification: id,
            target,
            status,
            report,
        } => {
            let report = report_json(report);
            json!({ "verification": id, "target": target, "status": status, "report": report })
        }
        Body::PromotionDropped {
            verification: id,
            reason,
            status,
            verified_through,
        } => json!({
            "verification": id,
            "reason": reason,
            "status": status,
            "verified_through": verified_through,
        }),
        Body::Published {
            source,
            verification: id,
            report,
        } => {
            json!({ "source": source, "verification": id, "report": report_json(report) })
        }
        _ => unreachable!("only what ends promotions comes here"),
    }
}

/// What an event shows that changes the worth of entries.
fn governed_json(body: &Body) -> Value {
    match body {
        Body::ReuseReported(reported) => json!({
            "entry": reported.entry,
            "task": reported.task,
            "outcome": reported.outcome,
            "usage": Usage::from(reported.usage),
            "status": reported.status,
        }),
        Body::ReviewRaised { id, question } => {
            let mut shown = json!(Question::from((**question).clone()));
            shown["review"] = json!(id);
            shown
        }
        Body::ReviewAnswered {
            id,
            approved,
            reason,
        } => json!({ "review": id, "approved": approved, "reason": reason }),
        Body::TrustRevised(revised) => json!({
            "entry": revised.entry,
            "status": revised.status,
            "confidence": revised.trust.confidence,
        }),
        Body::CitationsRefreshed(refreshed) => json!({
            "entry": refreshed.entry,
            "citations": refreshed.citations.iter().cloned().map(Citation::from).collect::<Vec<_>>(),
            "commit": refreshed.at.hash,
            "repository": refreshed.at.repository,
        }),
        Body::EntriesRetired { entries, why } => retired_json(entries, why),
        Body::StateResolved { entry, reason } => json!({ "entry": entry, "reason": reason }),
        Body::EntryRestored(restored) => json!({
            "entry": restored.entry,
            "status": restored.status,
            "confidence": restored.trust.confidence,
            "reason": restored.reason,
        }),
        Body::SupersessionUndone {
            new,
            old,
            line,
            status,
        } => json!({ "new": new, "old": old, "line": line, "status": status }),
        Body::PromotionUndone {
            source,
            verification,
            reason,
        } => json!({ "source": source, "verification": verification, "reason": reason }),
        _ => unreachable!("only what changes the worth of entries comes here"),
    }
}

fn retired_json(entries: &[EntryId], why: &Retirement) -> Value {
    let mut shown = json!({ "entries": entries, "why": why.name() });
    match why {
        Retirement::Undone {
            source,
            verification,
        } => {
            shown["source"] = json!(source);
            shown["verification"] = json!(verification);
        }
        Retirement::Duplicate { of } => shown["of"] = json!(of),
        Retirement::Contradicted { by } => shown["by"] = json!(by),
        Retirement::Stale { at } => {
            shown["commit"] = json!(at.hash);
            shown["repository"] = json!(at.repository);
        }
        Retirement::Aged | Retirement::Pruned | Retirement::Wrong => {}
    }
    shown
}

fn verification_json(verification: &Verification) -> Value {
    json!({
        "verification": verification.id,
        "outcome": verification.said.outcome,
        "source": verification.said.source,
        "run": verification.said.run,
        "error": verification.said.error,
        "approach": verification.said.approach,
        "from": verification.from,
        "through": verification.through,
        "target": verification.target,
    })
}

fn decision_json(saved: &DecisionSaved) -> Value {
    let (act, restored_from) = told(saved.act);
    let mut shown = json!({
        "root": saved.root,
        "version": saved.number,
        "act": act,
        "reason": saved.reason,
    });
    if let Some(from) = restored_from {
        shown["restored_from"] = json!(from);
    }
    if let Some(rank) = saved.before {
        shown["rank_before"] = json!(rank);
    }
    if let Some(text) = &saved.text {
        shown["text"] = json!(DecisionText::from(text.clone()));
    }
    shown
}

fn evidence_json(saved: &EvidenceSaved) -> Value {
    let mut shown = json!({
        "evidence": saved.id,
        "title": saved.title,
        "source": saved.source,
        "media_type": saved.media_type,
        "hash": hex::encode(saved.hash),
        "masked": saved.masked,
    });
    show_content(&saved.content, &mut shown);
    shown
}

fn anchor_json(added: &AnchorAdded) -> Value {
    json!({
        "anchor": added.id,
        "hint": added.hint,
        "domain": added.domain,
        "to": added.to,
    })
}

fn created_json(created: &EntryCreated) -> Value {
    let head = json!({
        "entry": created.id,
        "version": 1,
        "table": created.table,
        "status": created.status,
        "confidence": created.trust.confidence,
        "failure": created.failure,
        "promotion": created.promotion,
    });
    with_text(&created.text, head)
}

fn amended_json(amended: &EntryAmended) -> Value {
    let head = json!({
        "entry": amended.id,
        "version": amended.version,
        "status": amended.status,
        "confidence": amended.trust.confidence,
    });
    with_text(&amended.text, head)
}

fn merged_json(merged: &EntryMerged) -> Value {
    json!({
        "into": merged.into,
        "content": merged.content,
        "cosine": merged.cosine,
        "status": merged.status,
        "confidence": merged.trust.confidence,
        "promotion": merged.promotion,
    })
}

fn record_json(record: &Record) -> Value {
    let mut shown = match &record.kind {
        RecordKind::Log { level } => json!({ "sort": "log", "level": level }),
        RecordKind::Snapshot { trigger } => json!({ "sort": "snapshot", "trigger": trigger }),
        RecordKind::MemoryEvent { event_type } => {
            json!({ "sort": "memory_event", "event_type": event_type })
        }
    };
    show_content(&record.content, &mut shown);
    shown["metadata"] = json!(raw_metadata(&record.metadata));
    shown["time"] = json!(record.time);
    shown["masked"] = json!(record.masked);
    shown
}

fn show_content(content: &Content, shown: &mut Value) {
    match content {
        Content::Inline(text) => shown["content"] = json!(text),
        // Large texts are fetched one by one.
        Content::Chunked { bytes, .. } => shown["content_bytes"] = json!(bytes),
    }
}

fn with_text(text: &Text, mut shown: Value) -> Value {
    shown["content"] = json!(text.content);
    shown["content_hash"] = json!(text.content_hash.to_string());
    if text.metadata != Metadata::default() {
        shown["metadata"] = json!(raw_metadata(&text.metadata));
    }
    if let Some(claim) = &text.claim {
        shown["claim"] = json!({ "key": claim.key, "value": claim.value });
    }
    shown
}

fn report_json(report: &promotion::PublishReport) -> Value {
    serde_json::to_value(PublishReport::from(report.clone())).expect("a report is plain data")
}
