//! `decision`
//!
//! Owns what is asked and said of decisions; policies are decisions too. How answers read is [`text`]'s.

use sillok_core::decision::{Domain, Rank};
use sillok_core::error::{Current, Error};
use sillok_core::id::DecisionId;
use sillok_core::limits::PAGE_ROWS_MAX;
use sillok_core::scope::Scope;
use sillok_server::api::{
    Claim, DeactivateDecision, DecisionHistoryQuery, DecisionSaved, DecisionView, DecisionsQuery,
    Page, Problem, Relation, RestoreDecision, SaveDecision,
};

use super::log::text_or_stdin;
use super::{impact, kinds};
use crate::args::{
    Changes, DecisionCommand, DecisionHistory, DecisionList, DecisionNamed, DecisionPropose,
    DecisionSave, Declared, Part, Related, Seen,
};
use crate::failure::Failure;
use crate::output::Style;
use crate::session::Session;

pub mod text;

/// The status that a server refuses a stale write with.
const CONFLICT: u16 = 409;

/// Carries out `decision`.
///
/// # Errors
/// [`Failure`]
pub async fn run(session: &Session, command: DecisionCommand) -> Result<(), Failure> {
    match command {
        DecisionCommand::Propose(args) => propose(session, args).await,
        DecisionCommand::Save(args) => save(session, &begun(args)?).await,
        DecisionCommand::Change(args) => {
            let Seen {
                root,
                scope,
                expected,
                reason,
            } = args.seen;
            let former = Some((root, expected));
            let body = said(session, &scope, former, args.changes).await?;
            save(session, &SaveDecision { reason, ..body }).await
        }
        DecisionCommand::Deactivate(seen) => deactivate(session, seen).await,
        DecisionCommand::Restore(args) => {
            let body = RestoreDecision {
                scope: args.seen.scope.to_string(),
                root: args.seen.root.to_string(),
                expected_version: args.seen.expected,
                version: args.version,
                reason: args.seen.reason,
            };
            show_saved(session, &session.client.restore_decision(&body).await?)
        }
        DecisionCommand::List(args) => list(session, args).await,
        DecisionCommand::Show(args) => show(session, &args).await,
        DecisionCommand::History(args) => history(session, &args).await,
        DecisionCommand::Impact(args) => impact::run(session, args).await,
        DecisionCommand::Declare(args) => kinds::declare(session, args).await,
        DecisionCommand::Kinds(args) => kinds::list(session, &args).await,
    }
}

/// Saves a decision, and says what that means.
///
/// # Errors
/// [`Failure`]
pub async fn save(session: &Session, body: &SaveDecision) -> Result<(), Failure> {
    show_saved(session, &session.client.save_decision(body).await?)
}

/// Withdraws a decision, and says what that means.
///
/// # Errors
/// [`Failure`]
pub async fn deactivate(session: &Session, seen: Seen) -> Result<(), Failure> {
    let body = DeactivateDecision {
        scope: seen.scope.to_string(),
        root: seen.root.to_string(),
        expected_version: seen.expected,
        reason: seen.reason,
    };
    show_saved(session, &session.client.deactivate_decision(&body).await?)
}

async fn propose(session: &Session, args: DecisionPropose) -> Result<(), Failure> {
    let former = args.former.seen();
    let body = SaveDecision {
        reason: args.reason,
        ..said(session, &args.scope, former, args.changes).await?
    };
    let proposed = session.client.propose_decision(&body).await?;
    session.output.show(&proposed, |style| {
        let means = text::means(style, &proposed);
        if means.is_empty() {
            "it affects nothing, and contradicts nothing".to_owned()
        } else {
            means
        }
    })
}

/// What a new decision says.
fn begun(args: DecisionSave) -> Result<SaveDecision, Failure> {
    let changes = Changes {
        content: Some(args.content),
        title: Some(args.title),
        declared: args.declared,
        without: Vec::new(),
    };
    let body = changed(blank(&args.scope), &args.scope, changes)?;
    Ok(SaveDecision {
        reason: args.reason,
        ..body
    })
}

/// What a decision says with these changes, of what it says now where there is one already. What a change is rehearsed
/// with is what it is made with.
async fn said(
    session: &Session,
    scope: &Scope,
    former: Option<(DecisionId, u64)>,
    changes: Changes,
) -> Result<SaveDecision, Failure> {
    check(&changes)?;
    let before = match former {
        Some((root, expected)) => {
            let now = session.client.decision(scope, root).await?;
            said_before(session, now, expected)?
        }
        None => blank(scope),
    };
    changed(before, scope, changes)
}

/// What holds of a new decision before anything is said of it.
fn blank(scope: &Scope) -> SaveDecision {
    SaveDecision {
        scope: scope.to_string(),
        rank: Some(Rank::Normal),
        domain: Some(Domain::global().to_string()),
        ..SaveDecision::default()
    }
}

/// Checks that nothing is both said and taken away.
fn check(changes: &Changes) -> Result<(), Failure> {
    let declared = &changes.declared;
    for (part, flag, is_said) in [
        (Part::Phase, "--phase", declared.phase.is_some()),
        (Part::Claim, "--claim", declared.claim.is_some()),
        (Part::Relations, "--relates", !declared.relations.is_empty()),
    ] {
        if is_said && changes.without.contains(&part) {
            let why = format!("{flag} says what --without takes away");
            return Err(Failure::Usage(why));
        }
    }
    Ok(())
}

/// What a decision of `scope` says after a change: what it said before, but for what the change says.
fn changed(before: SaveDecision, scope: &Scope, changes: Changes) -> Result<SaveDecision, Failure> {
    let Declared {
        rank,
        domain,
        phase,
        claim,
        relations,
    } = changes.declared;
    let keeps = |part: Part| !changes.without.contains(&part);
    let relations = if relations.is_empty() && keeps(Part::Relations) {
        before.relations
    } else {
        related(&relations, scope)
    };
    Ok(SaveDecision {
        rank: rank.or(before.rank),
        domain: domain.map(|domain| domain.to_string()).or(before.domain),
        phase: phase
            .map(|phase| phase.to_string())
            .or(before.phase.filter(|_| keeps(Part::Phase))),
        title: changes.title.unwrap_or(before.title),
        content: match changes.content {
            Some(text) => text_or_stdin(text)?,
            None => before.content,
        },
        claim: claim
            .map(|(key, value)| Claim { key, value })
            .or(before.claim.filter(|_| keeps(Part::Claim))),
        relations,
        ..before
    })
}

fn related(relations: &[Related], scope: &Scope) -> Vec<Relation> {
    let relation = |one: &Related| Relation {
        kind: one.kind,
        to: one.to.within(scope).to_string(),
    };
    relations.iter().map(relation).collect()
}

/// A change that says once more what `now` says, in the version that the caller has seen.
///
/// # Errors
/// [`Failure`], and `conflict` where another version is current: nothing of a text that the caller has not seen is said
/// again in the caller's name.
pub fn said_before(
    session: &Session,
    now: DecisionView,
    expected: u64,
) -> Result<SaveDecision, Failure> {
    let DecisionView { head, version } = now;
    let root = head.root;
    if head.version != expected {
        let why = format!(
            "decision {root} is at version {}, not {expected}",
            head.version
        );
        let current = Current {
            version: Some(head.version),
            ..Current::default()
        };
        return Err(refused(&Error::conflict(why, current), CONFLICT));
    }
    let text = version.text.ok_or_else(|| Failure::Foreign {
        url: session.client.base().to_owned(),
        what: format!("decision {root} says nothing"),
    })?;
    Ok(SaveDecision {
        scope: head.scope.to_string(),
        root: Some(root.to_string()),
        expected_version: Some(expected),
        rank: Some(text.rank),
        domain: Some(text.domain.to_string()),
        phase: text.phase.map(|phase| phase.to_string()),
        title: text.title,
        content: text.content,
        claim: text.claim,
        relations: text.relations,
        reason: String::new(),
    })
}

/// A refusal for a reason that the server was not asked about, in the form that the server gives its own.
#[must_use]
pub fn refused(error: &Error, status: u16) -> Failure {
    Failure::Refused(Box::new(Problem::new(error, status, None)))
}

fn show_saved(session: &Session, saved: &DecisionSaved) -> Result<(), Failure> {
    session
        .output
        .show(saved, |style| text::saved(style, saved))
}

async fn list(session: &Session, args: DecisionList) -> Result<(), Failure> {
    let query = DecisionsQuery {
        scope: session.scope(&args.within)?.to_string(),
        rank: args.rank.map(|rank| rank.to_string()),
        domain: args.domain.map(|domain| domain.to_string()),
        withdrawn: args.withdrawn,
        ..DecisionsQuery::default()
    };
    show_list(session, query, args.paging.limit).await
}

/// Prints the decisions that a query asks for, up to `limit`.
///
/// # Errors
/// [`Failure`]
pub async fn show_list(
    session: &Session,
    query: DecisionsQuery,
    limit: usize,
) -> Result<(), Failure> {
    let found = pages(limit, async |after, limit| {
        let query = DecisionsQuery {
            after,
            limit,
            ..query.clone()
        };
        session.client.decisions(&query).await
    })
    .await?;
    session.output.show(&found, |style| {
        with_more(style, text::listed(style, &found.items), &found)
    })
}

/// The items of as many pages as it takes for `limit` of them.
pub(super) async fn pages<T>(
    limit: usize,
    mut read: impl AsyncFnMut(Option<String>, Option<usize>) -> Result<Page<T>, Failure>,
) -> Result<Page<T>, Failure> {
    let mut found = Page {
        items: Vec::new(),
        next: None,
    };
    while found.items.len() < limit {
        let wanted = (limit - found.items.len()).min(PAGE_ROWS_MAX);
        let page = read(found.next.take(), Some(wanted)).await?;
        found.items.extend(page.items);
        found.next = page.next;
        if found.next.is_none() {
            break;
        }
    }
    Ok(found)
}

/// A listing, which says that there is more where there is.
pub(super) fn with_more<T>(style: Style, text: String, page: &Page<T>) -> String {
    if page.next.is_none() {
        return text;
    }
    text + "\n" + &style.dim("… and more: raise --limit")
}

async fn show(session: &Session, args: &DecisionNamed) -> Result<(), Failure> {
    let scope = session.scope(&args.within)?;
    let found = session.client.decision(&scope, args.root).await?;
    show_found(session, &found)
}

/// Prints a decision with what it says.
///
/// # Errors
/// [`Failure`]
pub fn show_found(session: &Session, found: &DecisionView) -> Result<(), Failure> {
    session
        .output
        .show(found, |style| text::shown(style, found))
}

/// Carries out `decision history` and `policy history`.
///
/// # Errors
/// [`Failure`]
pub async fn history(session: &Session, args: &DecisionHistory) -> Result<(), Failure> {
    let (scope, root) = (session.scope(&args.within)?, args.root);
    let found = pages(args.paging.limit, async |after, limit| {
        let query = DecisionHistoryQuery {
            scope: scope.to_string(),
            root: root.to_string(),
            after,
            limit,
        };
        session.client.decision_history(&query).await
    })
    .await?;
    session.output.show(&found, |style| {
        with_more(style, text::versions(style, &found.items), &found)
    })
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::args::{Args, Command};

    const CHANGE: &str = "sillok decision change 01900000-0000-7000-8000-000000000000 --scope org/a --expected 1 --reason r";

    fn command(line: &str) -> DecisionCommand {
        let args = Args::try_parse_from(line.split(' ')).unwrap();
        let Command::Decision(command) = args.command else {
            panic!("it is about decisions: {line}")
        };
        command
    }

    fn change(flags: &str) -> Changes {
        let DecisionCommand::Change(args) = command(&format!("{CHANGE} {flags}")) else {
            panic!("it is a change")
        };
        args.changes
    }

    #[test]
    fn a_decision_is_normal_and_global_unless_it_is_said() {
        let save = |flags: &str| {
            let line = format!("sillok decision save text --title t --scope org/a{flags}");
            let DecisionCommand::Save(args) = command(&line) else {
                panic!("it is a save")
            };
            let body = begun(args).unwrap();
            (body.rank, body.domain)
        };
        assert_eq!(save(""), (Some(Rank::Normal), Some("global".to_owned())));
        assert_eq!(
            save(" --rank axis --domain ui"),
            (Some(Rank::Axis), Some("ui".to_owned()))
        );
    }

    #[test]
    fn nothing_is_both_said_and_taken_away() {
        let said = [
            ("--phase design", "phase"),
            ("--claim a=b", "claim"),
            ("--relates APPLIES_TO=file:a", "relations"),
        ];
        for (number, (flag, part)) in said.into_iter().enumerate() {
            let refused = check(&change(&format!("{flag} --without {part}"))).unwrap_err();
            assert!(matches!(refused, Failure::Usage(_)), "{flag}: {refused}");
            let (_, other) = said[(number + 1) % said.len()];
            check(&change(&format!("{flag} --without {other}"))).unwrap();
        }
    }
}
