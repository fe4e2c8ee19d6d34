//! Deciding how decisions are saved, withdrawn and restored: form, authority, versions, relations.
//!
//! Owns what is refused. That a decision contradicts another one is told to whoever asks, and refuses nothing.

use std::collections::BTreeSet;

use super::declared::{check_declared, declare};
use super::{Context, Decision, check_short, check_stated};
use crate::command::{AnswerBody, Command, DecisionRef, SaveDecision};
use crate::decision::{Act, DecisionHead, NewDecision, Node, Phase, Rank, Relation};
use crate::error::{Current, Error, ErrorCode};
use crate::event::{Body, DecisionSaved};
use crate::facts::added_relations;
use crate::id::{DecisionId, EvidenceId};
use crate::limits::{
    DECISION_BYTES_MAX, DECISION_TEXTS_BYTES_MAX, DECISION_VERSIONS_MAX, RELATIONS_MAX,
};
use crate::permission::{Access, authorize};
use crate::scope::{Level, Scope};
use crate::secret::mask;

/// Decides a command about a decision.
pub(super) fn decide(context: &Context<'_>, command: &Command) -> Result<Decision, Error> {
    let named = |root: &DecisionId, expected_version: &u64| DecisionRef {
        root: *root,
        expected_version: *expected_version,
    };
    match command {
        Command::SaveDecision(new) => save(context, new),
        Command::DeactivateDecision {
            root,
            expected_version,
            reason,
        } => deactivate(context, named(root, expected_version), reason),
        Command::RestoreDecision {
            root,
            expected_version,
            version,
            reason,
        } => restore(context, named(root, expected_version), *version, reason),
        Command::DeclareRelation {
            name,
            reach,
            meaning,
        } => declare(context, (*name, *reach), meaning),
        _ => unreachable!("only what is about decisions comes here"),
    }
}

/// Begins a chain, or adds a version to one that is active.
fn save(context: &Context<'_>, save: &SaveDecision) -> Result<Decision, Error> {
    // Checked as it will be stored: masking may make a text longer.
    let text = save.text.masked();
    let reason = mask(&save.reason).text.into_owned();
    let Some(change) = save.change else {
        check_short("reason", &reason)?;
        check_text(context.scope(), &text, &reason)?;
        let root = new_root(context);
        check_relations(context, root, None, &text.relations)?;
        return Ok(saved(root, None, Act::Begun, Some(text), reason));
    };
    check_stated("reason", &reason)?;
    check_text(context.scope(), &text, &reason)?;
    let head = known(context, change)?;
    check_active(head)?;
    check_room(head)?;
    check_relations(context, head.root, Some(head), &text.relations)?;
    Ok(saved(
        head.root,
        Some(head),
        Act::Changed,
        Some(text),
        reason,
    ))
}

/// Withdraws a decision that is active. All that it ever said stays.
fn deactivate(context: &Context<'_>, named: DecisionRef, reason: &str) -> Result<Decision, Error> {
    let reason = mask(reason).text.into_owned();
    check_stated("reason", &reason)?;
    let head = known(context, named)?;
    check_active(head)?;
    Ok(saved(head.root, Some(head), Act::Withdrawn, None, reason))
}

/// Has a decision apply again that was withdrawn, with what its version `from` says.
fn restore(
    context: &Context<'_>,
    named: DecisionRef,
    from: u64,
    reason: &str,
) -> Result<Decision, Error> {
    let reason = mask(reason).text.into_owned();
    check_stated("reason", &reason)?;
    let head = known(context, named)?;
    if head.active {
        let why = format!("decision {} was not withdrawn: change it", head.root);
        return Err(conflict(head, why));
    }
    check_room(head)?;
    let versions = &context.facts.decision_versions;
    let version = versions.get(&(head.root, from)).and_then(Option::as_ref);
    let text = version.and_then(|version| version.text.as_ref());
    let text = text.ok_or_else(|| {
        let why = format!("decision {} says nothing in version {from}", head.root);
        Error::new(ErrorCode::InvalidArgument, why)
    })?;
    check_rank(context, text.rank)?;
    check_names(text)?;
    check_relations(context, head.root, Some(head), &text.relations)?;
    let act = Act::Restored { from };
    Ok(saved(
        head.root,
        Some(head),
        act,
        Some(text.clone()),
        reason,
    ))
}

fn saved(
    root: DecisionId,
    before: Option<&DecisionHead>,
    act: Act,
    text: Option<NewDecision>,
    reason: String,
) -> Decision {
    let number = before.map_or(0, |head| head.version) + 1;
    let answer = AnswerBody::Decision {
        root,
        version: number,
        active: text.is_some(),
    };
    let body = Body::DecisionSaved(Box::new(DecisionSaved {
        root,
        number,
        act,
        before: before.map(|head| head.rank),
        text,
        reason,
    }));
    Decision::of(vec![body], answer)
}

fn new_root(context: &Context<'_>) -> DecisionId {
    let principal = context.submission.principal.actor.to_string();
    DecisionId::derived(context.scope(), &principal, context.submission.id)
}

/// The head of a decision that the principal may change, in the version that it has seen.
fn known<'a>(context: &Context<'a>, named: DecisionRef) -> Result<&'a DecisionHead, Error> {
    let DecisionRef {
        root,
        expected_version,
    } = named;
    let head = context.state.decision(root).ok_or_else(|| {
        let why = format!("{} has no decision {root}", context.scope());
        Error::new(ErrorCode::NotFound, why)
    })?;
    check_rank(context, head.rank)?;
    if head.is_erased() {
        return Err(conflict(head, format!("decision {root} was erased")));
    }
    if head.version != expected_version {
        let why = format!(
            "decision {root} is at version {}, not {expected_version}",
            head.version
        );
        return Err(conflict(head, why));
    }
    Ok(head)
}

/// Checks that the principal may save a decision of a rank that is at stake beside the one that its command names.
fn check_rank(context: &Context<'_>, rank: Rank) -> Result<(), Error> {
    let principal = &context.submission.principal;
    authorize(principal, Access::Save(rank), context.scope())
}

/// Checks that there is room for a version that applies, and for one behind it that withdraws it: what cannot be withdrawn cannot
/// be erased, and neither can a chain that is longer.
fn check_room(head: &DecisionHead) -> Result<(), Error> {
    let number = head.version + 1;
    if number < DECISION_VERSIONS_MAX {
        return Ok(());
    }
    let mut error = Error::too_large("versions of a decision", DECISION_VERSIONS_MAX - 1, number);
    error
        .message
        .push_str(", and one that withdraws it: begin another decision");
    Err(error)
}

fn check_active(head: &DecisionHead) -> Result<(), Error> {
    if head.active {
        return Ok(());
    }
    let why = format!("decision {} was withdrawn: restore it first", head.root);
    Err(conflict(head, why))
}

fn conflict(head: &DecisionHead, why: String) -> Error {
    let current = Current {
        version: Some(head.version),
        ..Current::default()
    };
    Error::conflict(why, current)
}

/// Checks what a decision says, as it is stored in `scope`.
fn check_text(scope: &Scope, text: &NewDecision, reason: &str) -> Result<(), Error> {
    check_names(text)?;
    check_stated("title", &text.title)?;
    if text.content.trim().is_empty() {
        return Err(invalid("a decision has content"));
    }
    check_bytes("decision bytes", DECISION_BYTES_MAX, text.content.len())?;
    if let Some(claim) = &text.claim {
        check_short("claim key", &claim.key)?;
        check_short("claim value", &claim.value)?;
    }
    check_bytes("relations", RELATIONS_MAX, text.relations.len())?;
    let all = text.text_bytes() + reason.len();
    check_bytes("bytes of a decision's texts", DECISION_TEXTS_BYTES_MAX, all)?;
    if text.rank != Rank::Policy {
        return Ok(());
    }
    if scope.level() < Level::Project {
        return Err(invalid("a policy is one of a project or an organisation"));
    }
    if !text.domain.is_global() {
        return Err(invalid("a policy applies everywhere: its domain is global"));
    }
    Ok(())
}

/// Checks that neither the domain nor the phase holds a secret. Which one does is told, and not what it says.
fn check_names(text: &NewDecision) -> Result<(), Error> {
    if text.domain.holds_secret() {
        return Err(invalid("the domain holds a secret"));
    }
    let phase = text.phase.as_ref();
    if phase.is_some_and(Phase::holds_secret) {
        return Err(invalid("the phase holds a secret"));
    }
    Ok(())
}

fn check_bytes(what: &str, limit: usize, got: usize) -> Result<(), Error> {
    if got <= limit {
        return Ok(());
    }
    Err(Error::too_large(what, limit as u64, got as u64))
}

/// Checks what a decision is related to. Where a further relation leads, something has to stand, and its kind has to be one
/// that is built in or declared.
fn check_relations(
    context: &Context<'_>,
    root: DecisionId,
    head: Option<&DecisionHead>,
    relations: &[Relation],
) -> Result<(), Error> {
    let own = Node::Decision {
        scope: context.scope().clone(),
        root,
    };
    check_no_secret(relations)?;
    let mut seen = BTreeSet::new();
    for relation in relations {
        relation.to.check()?;
        if !relation.kind.leads_to(&relation.to) {
            let why = format!(
                "{} does not lead to {}: to files and symbols it is APPLIES_TO alone, to evidence RESTS_ON, and to decisions the others",
                relation.kind, relation.to
            );
            return Err(invalid(why));
        }
        if relation.to == own {
            return Err(invalid("a decision is not related to itself"));
        }
        if !seen.insert(relation) {
            let why = format!("{} {} is declared twice", relation.kind, relation.to);
            return Err(invalid(why));
        }
    }
    added_relations(head, relations).try_for_each(|relation| {
        check_declared(context, relation.kind)?;
        check_stands(context, &relation.to)
    })
}

/// Checks that no place and no kind holds a secret: they are looked up as they stand, and cannot be masked. What is refused
/// is told by its number alone.
fn check_no_secret(relations: &[Relation]) -> Result<(), Error> {
    let found = relations.iter().position(Relation::holds_secret);
    found.map_or(Ok(()), |index| {
        let number = index + 1;
        Err(invalid(format!(
            "relation {number} holds a secret: its kind, or the place that it leads to"
        )))
    })
}

/// Checks that a decision or evidence which is led to stands where the scope sees it. What is not seen is not told apart
/// from what is not there.
pub(super) fn check_stands(context: &Context<'_>, node: &Node) -> Result<(), Error> {
    let is_active = match node {
        Node::Decision { scope, root } => decision_stands(context, scope, *root),
        Node::Evidence { scope, id } => evidence_stands(context, scope, *id).then_some(true),
        Node::File { .. } | Node::Symbol { .. } => return Ok(()),
    };
    match is_active {
        Some(true) => Ok(()),
        // Without its version: a write names that of its own decision.
        Some(false) => {
            let why = format!("{node} was withdrawn");
            Err(Error::conflict(why, Current::default()))
        }
        None => Err(Error::new(ErrorCode::NotFound, format!("no {node}"))),
    }
}

/// Whether a decision applies, if the scope sees it and it is there. What was erased is not.
fn decision_stands(context: &Context<'_>, scope: &Scope, root: DecisionId) -> Option<bool> {
    let head = if scope == context.scope() {
        context.state.decision(root)
    } else if scope.contains(context.scope()) {
        let elsewhere = &context.facts.decisions_elsewhere;
        elsewhere
            .get(&(scope.clone(), root))
            .and_then(Option::as_ref)
    } else {
        None
    };
    let there = head.filter(|head| !head.is_erased());
    there.map(|head| head.active)
}

/// Whether the scope sees evidence that is there.
fn evidence_stands(context: &Context<'_>, scope: &Scope, id: EvidenceId) -> bool {
    if scope == context.scope() {
        return context.state.has_evidence(id);
    }
    let elsewhere = &context.facts.evidence_elsewhere;
    scope.contains(context.scope()) && elsewhere.get(&(scope.clone(), id)) == Some(&true)
}

fn invalid(why: impl Into<String>) -> Error {
    Error::new(ErrorCode::InvalidArgument, why)
}
