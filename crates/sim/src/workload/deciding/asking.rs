//! Asking about decisions, alone or while one is changed, and about evidence and anchors.
//!
//! Owns what is asked for, and which answers show something that only chance brings about. Whether they are right, `judged`
//! says.

use futures::future::join;
use sillok_core::anchor::Standing;
use sillok_core::brief::{Cut, Layer};
use sillok_core::decision::{Node, Rank, RelationKind};
use sillok_core::limits::{ANCHOR_SEARCH_HITS_MAX, BRIEF_ITEMS_MAX, CHUNK_BYTES};
use sillok_core::scope::Scope;

use super::asked::{Asked, Asker, Goal, HEARD, Heard, Hit, Limits, Line, Means, Reached, Told};
use super::board::{Board, KnownAnchor, KnownEvidence, domain, place};
use super::saving::Saved;
use super::{AtHand, Home, Says, saving};
use crate::agent::Agent;

/// Hits that are asked for where few are wanted.
const FEW: usize = 2;
/// Nodes of an impact that has a limit of them, at most.
const NODES_MAX: u16 = 4;
/// Relations to any of them where that is limited, at most.
const DEPTH_MAX: u16 = 3;

/// The nodes at hand: a decision and evidence that are seen from a scope, a file or symbol, some of them or none.
pub(super) fn at_hand(agent: &Agent, scope: &Scope, at: AtHand) -> Vec<Node> {
    agent.shared(|board: &mut Board| {
        let decision = at.which.and_then(|which| board.seen_from(scope, which));
        let evidence = at.evidence;
        let evidence = evidence.and_then(|which| board.evidence_seen_from(scope, which));
        let nodes = [
            decision.map(|known| known.node()),
            at.place.map(place),
            evidence.map(|known| known.node()),
        ];
        nodes.into_iter().flatten().collect()
    })
}

/// How far an impact goes: every other one as far as any may, and of the rest some to few nodes, some over few relations and
/// some both. It follows from what is asked, so that nothing is drawn for it.
pub(super) fn limits(home: Home, at: AtHand, width: u8) -> Limits {
    let nodes = [at.which, at.place, at.evidence].into_iter().flatten();
    let numbers = nodes.chain([home.project, home.level, width]);
    let number: u16 = numbers.map(u16::from).sum();
    let (sort, size) = (number % 8, number / 8);
    let (nodes_max, depth_max) = (1 + size % NODES_MAX, 1 + size % DEPTH_MAX);
    Limits {
        nodes_max: matches!(sort, 4 | 5 | 7).then_some(nodes_max.into()),
        depth_max: matches!(sort, 6 | 7).then_some(depth_max.into()),
    }
}

/// A brief for a domain.
pub(super) fn brief(by: Asker, number: u8, at: Vec<Node>, items: Option<u8>) -> Asked {
    Asked::Brief {
        by,
        domain: domain(number),
        at,
        items_max: items.map_or(BRIEF_ITEMS_MAX, usize::from),
    }
}

/// Asks any node, and notes what it says.
pub(super) async fn ask(agent: &mut Agent, asked: Asked) -> Option<Heard> {
    let before = agent.shared(|board: &mut Board| board.saves);
    let heard = agent.client().ask_about(asked).await?;
    let after = agent.shared(|board: &mut Board| board.saves);
    note(agent, &heard, after > before);
    Some(heard)
}

/// The same, while a decision is changed.
pub(super) async fn beside_a_change(agent: &mut Agent, asked: Asked) {
    let says = Says {
        rank: Rank::Lock as u8,
        domain: 0,
        claim: None,
        relations: Some(vec![(3, 0), (0, 1)]),
    };
    let which = u8::try_from(agent.sent_count() % 4).expect("it is below 4");
    let (mut client, clock) = (agent.client().another(), agent.client().another());
    let changing = saving::change(agent, which, &says);
    let changing = async {
        let changed = changing.await;
        changed.map(|_| clock.now_us())
    };
    let (heard, changed_us) = join(client.ask_about(asked), changing).await;
    if let Some(heard) = heard {
        let meanwhile = changed_us.is_some_and(|changed_us| changed_us <= heard.to_us);
        note(agent, &heard, meanwhile);
    }
}

fn note(agent: &mut Agent, heard: &Heard, was_changed: bool) {
    for seen in seen_by(heard, was_changed) {
        agent.client().saw(seen);
    }
    let is_told = !matches!(heard.told, Told::Refused(_));
    let nodes = heard.asked.at_hand().filter(|_| is_told);
    if nodes.is_some_and(|(by, nodes)| agent.shared(|board: &mut Board| board.hides(by, nodes))) {
        agent.client().saw("decision hidden from a narrow token");
    }
    let heard = serde_json::to_value(heard).expect("a note is data");
    agent.note(HEARD, heard);
}

/// Whether a brief leaves out references, or anything else.
fn leaves_out(cut: &[Cut], references: bool) -> bool {
    cut.iter()
        .any(|cut| (cut.layer == Layer::Structural) == references)
}

/// What an answer shows.
fn seen_by(heard: &Heard, was_changed: bool) -> Vec<&'static str> {
    let shows = match &heard.told {
        Told::Brief { lines, cut, .. } => vec![
            ("brief during a change", was_changed),
            ("brief cut to its budget", leaves_out(cut, false)),
            (
                "brief without room for every reference",
                leaves_out(cut, true),
            ),
            ("anchor in a brief", has_anchor(lines)),
            ("withdrawn decision told by an anchor", has_withdrawn(lines)),
        ],
        Told::Means(means) => vec![
            (
                "contradiction of a decision told",
                !means.against.is_empty(),
            ),
            ("guarded decision reached", touches(means, false)),
            ("guarded decision changed", touches(means, true)),
            ("new domain told", means.new_domain.is_some()),
        ],
        Told::Refused(_) => vec![(refused(&heard.asked), true)],
        Told::Impact { reached, is_cut } => vec![
            ("decision reached from evidence", rests_on(reached)),
            ("decision reached by a declared kind", is_declared(reached)),
            ("impact cut by a limit", *is_cut),
        ],
        Told::Text(said) => {
            let is_part = matches!(&heard.asked, Asked::Text { part: Some(_), .. });
            vec![("part of evidence read", is_part && said.is_some())]
        }
        Told::Followed(told) => {
            let goals = told.as_ref().map_or(&[][..], |(_, goals)| goals.as_slice());
            let is_evidence = |goal: &Goal| matches!(goal, Goal::Evidence { .. });
            vec![("anchor followed to evidence", goals.iter().any(is_evidence))]
        }
        Told::Found { hits, .. } => {
            let is_large = |hit: &Hit| hit.bytes > CHUNK_BYTES as u64 && hit.from > 0;
            vec![
                ("original found behind an anchor", !hits.is_empty()),
                (
                    "passage of evidence in chunks found",
                    hits.iter().any(is_large),
                ),
            ]
        }
        Told::History(_) => Vec::new(),
    };
    let shown = shows.into_iter().filter(|(_, is_shown)| *is_shown);
    shown.map(|(seen, _)| seen).collect()
}

/// What a refusal shows.
const fn refused(asked: &Asked) -> &'static str {
    match asked {
        Asked::Brief { .. } => "brief refused for what does not hold",
        Asked::Impact { .. } => "impact refused for what does not hold",
        Asked::Text { .. } => "part behind the end of evidence refused",
        _ => "proposal refused",
    }
}

/// Whether something guarded is touched: the decision that is changed itself, or one that is reached.
fn touches(means: &Means, itself: bool) -> bool {
    let mut guards = means.guards.iter();
    guards.any(|guard| guard.place.is_none() == itself)
}

fn has_anchor(lines: &[Line]) -> bool {
    lines.iter().any(|line| matches!(line, Line::Anchor(..)))
}

fn has_withdrawn(lines: &[Line]) -> bool {
    lines.iter().any(|line| match line {
        Line::Anchor(_, leads) => leads
            .iter()
            .any(|lead| lead.standing == Standing::Withdrawn),
        Line::Decision(_) | Line::Structural(_) => false,
    })
}

/// Whether something is reached since it rests on what changes.
fn rests_on(reached: &[Reached]) -> bool {
    let mut edges = reached.iter().flat_map(|one| &one.path);
    edges.any(|edge| edge.kind == RelationKind::RestsOn)
}

/// Whether something is reached over a relation of a declared kind.
fn is_declared(reached: &[Reached]) -> bool {
    let mut edges = reached.iter().flat_map(|one| &one.path);
    edges.any(|edge| edge.kind.declared().is_some())
}

/// Asks what it means to others that a version was saved, with a token of such a width; nothing where there is none.
pub(super) async fn meaning(agent: &mut Agent, saved: Option<Saved>, width: Option<u8>) {
    let (Some(saved), Some(width)) = (saved, width) else {
        return;
    };
    let asked = Asked::Meaning {
        by: home_of(&saved.scope).asker(width),
        root: saved.root,
        number: saved.number,
    };
    if ask(agent, asked).await.is_some() {
        agent.client().saw("meaning of a save told");
    }
}

/// Asks what a decision would mean that nobody has made yet, or a change of the one at a place.
pub(super) async fn propose(agent: &mut Agent, scope: &Scope, which: Option<u8>, says: &Says) {
    let (scope, change, text) = saving::proposal(agent, scope, which, says);
    let asked = Asked::Proposal {
        by: home_of(&scope).asker(0),
        change,
        text: Box::new(text),
    };
    let heard = ask(agent, asked).await;
    if heard.is_some_and(|heard| matches!(heard.told, Told::Means(_))) {
        agent.client().saw("proposal weighed");
    }
}

/// Where a scope of the workload lies.
pub(super) fn home_of(scope: &Scope) -> Home {
    Home::of(scope).expect("decisions are made at home")
}

/// Asks what a change of the first of a ring reaches.
pub(super) async fn around(agent: &mut Agent, by: Asker, ring: &[Node]) {
    let (start, limits) = (vec![ring[0].clone()], Limits::default());
    let heard = ask(agent, Asked::Impact { by, start, limits }).await;
    let Some(Told::Impact { reached, .. }) = heard.map(|heard| heard.told) else {
        return;
    };
    // Somebody may have changed one of them meanwhile.
    let is_reached = |node: &Node| reached.iter().any(|one| one.node == *node);
    if ring[1..].iter().all(is_reached) {
        agent.client().saw("impact over a cycle");
    }
}

/// Asks for versions of the decision at a place.
pub(super) async fn history(agent: &mut Agent, which: u8, after: u8, limit: u8) {
    let Some(known) = agent.shared(|board: &mut Board| board.at(which)) else {
        return;
    };
    let asked = Asked::History {
        scope: known.scope,
        root: known.root,
        after: (after > 0).then_some(after.into()),
        limit: limit.into(),
    };
    ask(agent, asked).await;
}

/// Asks for the text of evidence, or for a part of it.
pub(super) async fn text(agent: &mut Agent, known: KnownEvidence, part: Option<(u64, u64)>) {
    let is_large = known.original.chunks > 0;
    let asked = Asked::Text {
        scope: known.scope,
        id: known.id,
        original: known.original,
        part,
    };
    let heard = ask(agent, asked).await;
    if is_large && heard.is_some_and(|heard| matches!(heard.told, Told::Text(Some(_)))) {
        agent.client().saw("evidence in chunks read");
    }
}

/// Asks for what an anchor points to, where it lies, with a token of such a width.
pub(super) async fn followed(agent: &mut Agent, known: &KnownAnchor, width: u8) {
    let asked = Asked::Followed {
        by: home_of(&known.scope).asker(width),
        id: known.id,
    };
    ask(agent, asked).await;
}

/// Asks for what has one of these words behind the anchors that a brief for a domain tells of.
pub(super) async fn search(
    agent: &mut Agent,
    by: Asker,
    number: u8,
    words: Vec<String>,
    few: bool,
) {
    let asked = Asked::Search {
        by,
        domain: domain(number),
        words,
        hits_max: if few { FEW } else { ANCHOR_SEARCH_HITS_MAX },
    };
    ask(agent, asked).await;
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn impacts_have_every_limit_and_half_of_them_have_none() {
        let home = Home {
            project: 1,
            level: 2,
        };
        let all = (0..64).map(|which| {
            let at = AtHand {
                which: Some(which),
                place: None,
                evidence: None,
            };
            limits(home, at, 0)
        });
        let all: Vec<Limits> = all.collect();
        let without = all.iter().filter(|one| **one == Limits::default());
        assert_eq!(without.count(), all.len() / 2);
        let nodes: BTreeSet<usize> = all.iter().filter_map(|one| one.nodes_max).collect();
        assert!(nodes.into_iter().eq(1..=4));
        let depths: BTreeSet<u32> = all.iter().filter_map(|one| one.depth_max).collect();
        assert!(depths.into_iter().eq(1..=3));
        let has_both = |one: &Limits| one.nodes_max.is_some() && one.depth_max.is_some();
        assert!(all.iter().any(has_both));
    }
}
