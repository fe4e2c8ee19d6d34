//! What a node says of decisions, evidence and anchors, as the history keeps it.

use sillok_actors::Node;
use sillok_actors::protocol::Protocol;
use sillok_actors::reads::{BriefQuery, EvidenceText, Followed, FollowedItem, Viewer};
use sillok_core::anchor::Anchor;
use sillok_core::anchor::search::{AnchorHit, AnchorQuery};
use sillok_core::brief::{BriefBudget, BriefItem};
use sillok_core::decision::{Domain, Edge, Proposal, Proposed};
use sillok_core::id::DecisionId;
use sillok_core::impact::{Affected, Impact, ImpactLimits};
use sillok_core::limits::BRIEF_BYTES_MAX;
use sillok_core::principal::{Actor, Principal, PrincipalId, PrincipalKind};
use sillok_core::scope::Scope;
use sillok_core::{Error, ErrorCode};

use crate::store::SimStore;
use crate::workload::deciding::{
    Against, Asked, Asker, Excerpt, Goal, Guarded, Hit, Holding, Line, Means, Pointer, Reached,
    Told,
};

/// What a node answers.
pub(super) async fn tell<P: Protocol>(
    node: &Node<SimStore, P>,
    asked: Asked,
) -> Result<Told, Error> {
    match asked {
        Asked::Brief {
            by,
            domain,
            at,
            items_max,
        } => {
            let budget = BriefBudget {
                items_max,
                bytes_max: BRIEF_BYTES_MAX,
            };
            let query = BriefQuery {
                domain,
                at,
                budget,
                ..BriefQuery::default()
            };
            let brief = node.brief_of_standing(&viewer(by), query).await;
            unless_absent(brief, |brief| Told::Brief {
                lines: brief.items.into_iter().map(line).collect(),
                cut: brief.cut,
                unfound: brief.impact_cut.map_or(0, |cut| cut.nodes),
            })
        }
        Asked::Impact { by, start, limits } => {
            let limits = ImpactLimits::of(limits.nodes_max, limits.depth_max)?;
            let viewer = viewer(by);
            let impact = node.impact_of_standing(&viewer, start, limits, None).await;
            unless_absent(impact, |impact| Told::Impact {
                reached: all_reached(&impact),
                is_cut: impact.cut.is_some(),
            })
        }
        Asked::Meaning { by, root, number } => {
            means_of(node.meaning(&viewer(by), root, number).await)
        }
        Asked::Proposal { by, change, text } => {
            let (principal, proposal) = (proposer(&by), Proposal::of(*text));
            let weighed = node.propose(&principal, &by.scope, change, &proposal);
            means_of(weighed.await)
        }
        Asked::History {
            scope,
            root,
            after,
            limit,
        } => history(node, (&scope, root), after, limit).await,
        Asked::Text {
            scope, id, part, ..
        } => {
            let part = part.map(|(from, to)| from..to);
            excerpt(node.reader().evidence_text(&scope, id, part).await)
        }
        Asked::Followed { by, id } => {
            let (scope, viewer) = (by.scope.clone(), viewer(by));
            let followed = node.reader().follow(&viewer, &scope, id).await?;
            Ok(Told::Followed(followed.map(|told| originals(scope, told))))
        }
        Asked::Search {
            by,
            domain,
            words,
            hits_max,
        } => searched(node, &viewer(by), &domain, (&words, hits_max)).await,
    }
}

/// What is told, or that something at hand does not stand, or that what is stored is not whole; all else that is wrong is so for
/// now.
fn unless_absent<T>(found: Result<T, Error>, told: impl FnOnce(T) -> Told) -> Result<Told, Error> {
    match found {
        Ok(found) => Ok(told(found)),
        Err(error) if matches!(error.code, ErrorCode::NotFound | ErrorCode::Internal) => {
            Ok(Told::Refused(error.code))
        }
        Err(error) => Err(error),
    }
}

/// What the versions of a decision say.
async fn history<P: Protocol>(
    node: &Node<SimStore, P>,
    (scope, root): (&Scope, DecisionId),
    after: Option<u64>,
    limit: usize,
) -> Result<Told, Error> {
    let reader = node.reader();
    let page = reader.decision_history(scope, root, after, limit).await?;
    let versions = page.map_or_else(Vec::new, |page| page.items);
    let said = versions.into_iter().map(|version| {
        let content = version.text.map(|text| text.content);
        (version.number, content)
    });
    Ok(Told::History(said.collect()))
}

/// What is found behind anchors.
async fn searched<P: Protocol>(
    node: &Node<SimStore, P>,
    viewer: &Viewer,
    domain: &Domain,
    (words, hits_max): (&[String], usize),
) -> Result<Told, Error> {
    let query = AnchorQuery::of(&words.join(" "), Some(hits_max))?;
    let reader = node.reader();
    let found = reader.search_anchors(viewer, domain, query).await?;
    let unreadable = found.cut.unreadable;
    if found.spans_moments && unreadable == 0 {
        // What is told of several moments is compared with none of them, unless it is wrong in each.
        return Err(Error::busy(
            "the search took longer than a moment lasts",
            100,
        ));
    }
    Ok(Told::Found {
        hits: found.hits.into_iter().map(hit).collect(),
        is_cut: !found.cut.is_nothing(),
        unreadable,
    })
}

/// What evidence says, or that there is no such part of it; all else that is wrong is so for now.
fn excerpt(read: Result<Option<EvidenceText>, Error>) -> Result<Told, Error> {
    let read = match read {
        Ok(read) => read,
        Err(error) if error.code == ErrorCode::InvalidArgument => {
            return Ok(Told::Refused(error.code));
        }
        Err(error) => return Err(error),
    };
    let said = read.map(|read| Excerpt {
        title: read.head.title,
        source: read.head.source,
        media_type: read.head.media_type,
        seq: read.head.seq,
        bytes: read.head.bytes,
        hash: read.head.hash,
        masked: read.head.masked,
        from: read.from,
        len: read.text.len() as u64,
        said: *blake3::hash(read.text.as_bytes()).as_bytes(),
    });
    Ok(Told::Text(said))
}

fn originals(scope: Scope, followed: Followed) -> (Pointer, Vec<Goal>) {
    let goals = followed.items.into_iter().map(|item| match item {
        FollowedItem::Decision { scope, view } => Goal::Decision {
            scope,
            root: view.version.root,
            number: view.version.number,
            active: view.head.active,
            content: view.version.text.map(|text| text.content),
        },
        FollowedItem::Evidence { scope, head, text } => Goal::Evidence {
            scope,
            id: head.id,
            title: head.title,
            hash: head.hash,
            text,
        },
        FollowedItem::Gone { to } => Goal::Gone(to),
    });
    let goals = goals.collect();
    (pointer(scope, followed.anchor), goals)
}

fn hit(hit: AnchorHit) -> Hit {
    Hit {
        anchor: (hit.scope, hit.anchor),
        others: hit.others,
        lead: hit.lead,
        version: hit.version,
        bytes: hit.bytes,
        from: hit.from,
        len: hit.excerpt.len() as u64,
        said: *blake3::hash(hit.excerpt.as_bytes()).as_bytes(),
        score: hit.score.to_bits(),
    }
}

fn pointer(scope: Scope, anchor: Anchor) -> Pointer {
    Pointer {
        scope,
        id: anchor.id,
        seq: anchor.seq,
        hint: anchor.hint,
        domain: anchor.domain,
        to: anchor.to,
        dropped: anchor.dropped.is_some(),
    }
}

fn viewer(by: Asker) -> Viewer {
    Viewer {
        scope: by.scope,
        prefix: by.prefix,
    }
}

/// An agent: anyone may propose what only a person may save.
fn proposer(by: &Asker) -> Principal {
    Principal {
        actor: Actor {
            kind: PrincipalKind::Agent,
            id: PrincipalId::parse("proposer").expect("it is an id"),
        },
        prefix: by.prefix.clone(),
    }
}

/// What something means, or that it is refused, where that says something of it; all else that is wrong is so for now.
fn means_of(proposed: Result<Proposed, Error>) -> Result<Told, Error> {
    let proposed = match proposed {
        Ok(proposed) => proposed,
        Err(error) => {
            return match error.code {
                ErrorCode::Conflict
                | ErrorCode::NotFound
                | ErrorCode::InvalidArgument
                | ErrorCode::Forbidden => Ok(Told::Refused(error.code)),
                _ => Err(error),
            };
        }
    };
    let guards = proposed.guards.into_iter().map(|guard| Guarded {
        place: guard.path,
        node: guard.node,
        rank: guard.rank,
        title: guard.title,
    });
    let is_against_cut = proposed.contradictions.cut;
    let against = proposed.contradictions.told.into_iter().map(|one| Against {
        scope: one.scope,
        root: one.root,
        rank: one.rank,
        title: one.title,
        claim: one.claim,
    });
    Ok(Told::Means(Means {
        reached: all_reached(&proposed.impact),
        is_cut: proposed.impact.cut.is_some(),
        guards: guards.collect(),
        against: against.collect(),
        is_against_cut,
        new_domain: proposed.new_domain,
    }))
}

fn all_reached(impact: &Impact) -> Vec<Reached> {
    let affected = impact.affected.iter().enumerate();
    let reached = affected.map(|(index, one)| {
        let path = impact.path(index).into_iter().cloned().collect();
        reached(one.clone(), path)
    });
    reached.collect()
}

fn line(item: BriefItem) -> Line {
    match item {
        BriefItem::Decision {
            layer,
            scope,
            version,
            rank,
        } => Line::Decision(Holding {
            layer,
            scope,
            root: version.root,
            number: version.number,
            rank,
            content: version.text.map(|text| text.content),
        }),
        BriefItem::Structural { affected, path } => Line::Structural(reached(affected, path)),
        BriefItem::Anchor {
            scope,
            anchor,
            leads,
        } => Line::Anchor(pointer(scope, anchor), leads),
    }
}

fn reached(affected: Affected, path: Vec<Edge>) -> Reached {
    Reached {
        node: affected.node,
        depth: affected.depth,
        rank: affected.rank,
        path,
    }
}
