//! `anchor`

use sillok_core::anchor::Standing;
use sillok_server::api::{
    AddAnchors, Anchor, AnchorQuery, AnchorView, AnchorsQuery, DropAnchor, Followed,
    FollowedDecision, FollowedEvidence, FollowedItem, Lead, NewAnchor, SearchAnchors,
};

use super::decision::text::declared;
use super::decision::{pages, with_more};
use super::evidence::described;
use crate::args::{AnchorAdd, AnchorCommand, AnchorDrop, AnchorList, AnchorNamed};
use crate::diagram;
use crate::failure::Failure;
use crate::output::{Style, harmless, one_line, table, time};
use crate::session::Session;

pub mod lines;
pub mod search;

/// Characters of a hint or a title on one line.
const LINE_CHARS_MAX: usize = 160;
/// Characters of a hint in a listing.
const HINT_CHARS_MAX: usize = 80;

/// Carries out `anchor`.
///
/// # Errors
/// [`Failure`]
pub async fn run(session: &Session, command: AnchorCommand) -> Result<(), Failure> {
    match command {
        AnchorCommand::Add(args) => add(session, args).await,
        AnchorCommand::List(args) => list(session, &args).await,
        AnchorCommand::Show(args) => {
            let view = session.client.anchor(&named(session, &args)?).await?;
            session.output.show(&view, |style| shown(style, &view))
        }
        AnchorCommand::Follow(args) => {
            let query = named(session, &args)?;
            let found = session.client.follow_anchor(&query).await?;
            session.output.show(&found, |style| followed(style, &found))
        }
        AnchorCommand::Search(args) => {
            let request = SearchAnchors {
                scope: session.scope(&args.within)?.to_string(),
                domain: Some(args.domain.to_string()),
                query: args.query,
                limit: args.limit,
            };
            let found = session.client.search_anchors(&request).await?;
            let show = |style| search::described(style, &found);
            session.output.show(&found, show)
        }
        AnchorCommand::Drop(args) => drop_one(session, args).await,
    }
}

fn named(session: &Session, args: &AnchorNamed) -> Result<AnchorQuery, Failure> {
    Ok(AnchorQuery {
        scope: session.scope(&args.within)?.to_string(),
        id: args.id.to_string(),
    })
}

async fn add(session: &Session, args: AnchorAdd) -> Result<(), Failure> {
    let body = AddAnchors {
        scope: args.scope.to_string(),
        anchors: given(args)?,
    };
    let added = session.client.add_anchors(&body).await?;
    session.output.show(&added, |style| {
        let ids = added.ids.iter();
        let lines: Vec<String> = ids.map(|id| style.name(&id.to_string())).collect();
        lines.join("\n")
    })
}

/// The anchors that a command line adds: the one that it says, or those of standard input.
fn given(args: AnchorAdd) -> Result<Vec<NewAnchor>, Failure> {
    let usage = |why: &str| Err(Failure::Usage(why.to_owned()));
    let is_read = args.hint == "-";
    match (is_read, args.to.is_empty()) {
        (true, true) => lines::read(std::io::stdin().lock(), &args.scope, &args.domain),
        (true, false) => {
            usage("what an anchor of standard input leads to stands in its line, and not in --to")
        }
        (false, true) => usage("an anchor leads to something: --to NODE is missing"),
        (false, false) => {
            let to = args.to.iter();
            let to = to.map(|place| place.within(&args.scope).to_string());
            Ok(vec![NewAnchor {
                domain: Some(args.domain.to_string()),
                to: to.collect(),
                hint: args.hint,
            }])
        }
    }
}

async fn drop_one(session: &Session, args: AnchorDrop) -> Result<(), Failure> {
    let body = DropAnchor {
        scope: args.scope.to_string(),
        id: args.id.to_string(),
        reason: args.reason,
    };
    let dropped = session.client.drop_anchor(&body).await?;
    session.output.show(&dropped, |style| {
        format!("{} dropped", style.name(&dropped.id.to_string()))
    })
}

async fn list(session: &Session, args: &AnchorList) -> Result<(), Failure> {
    let query = AnchorsQuery {
        scope: session.scope(&args.within)?.to_string(),
        domain: args.domain.as_ref().map(ToString::to_string),
        dropped: args.dropped,
        ..AnchorsQuery::default()
    };
    let found = pages(args.paging.limit, async |after, limit| {
        let query = AnchorsQuery {
            after,
            limit,
            ..query.clone()
        };
        session.client.anchors(&query).await
    })
    .await?;
    session.output.show(&found, |style| {
        with_more(style, listed(style, &found.items), &found)
    })
}

/// Anchors, a line each.
fn listed(style: Style, anchors: &[Anchor]) -> String {
    let row = |anchor: &Anchor| {
        vec![
            anchor.id.to_string(),
            anchor.domain.to_string(),
            anchor.to.len().to_string(),
            standing(anchor).to_owned(),
            one_line(&anchor.hint, HINT_CHARS_MAX),
        ]
    };
    let rows: Vec<Vec<String>> = anchors.iter().map(row).collect();
    let header = ["ANCHOR", "DOMAIN", "NODES", "STATE", "HINT"];
    table(style, &header, &rows)
}

const fn standing(anchor: &Anchor) -> &'static str {
    match (anchor.erased, anchor.dropped) {
        (true, _) => "erased",
        (false, true) => "dropped",
        (false, false) => "listed",
    }
}

/// An anchor, without what it leads to.
fn introduced(style: Style, anchor: &Anchor) -> String {
    let state = standing(anchor);
    let lines = [
        format!(
            "{} about {} in {}, {}",
            style.name(&anchor.id.to_string()),
            anchor.domain,
            anchor.scope,
            if anchor.dropped {
                style.bad(state)
            } else {
                style.good(state)
            }
        ),
        one_line(&anchor.hint, LINE_CHARS_MAX),
        style.dim(&format!(
            "added by {}:{} at {}",
            anchor.by.kind,
            anchor.by.id,
            time(anchor.at)
        )),
    ];
    lines.join("\n")
}

/// An anchor, and what it leads to by title.
fn shown(style: Style, view: &AnchorView) -> String {
    let mut lines = vec![introduced(style, &view.anchor)];
    lines.extend(view.leads.iter().map(|lead| lead_line(style, lead)));
    lines.join("\n")
}

/// What an anchor leads to, on a line.
#[must_use]
pub fn lead_line(style: Style, lead: &Lead) -> String {
    let rank = lead.rank.map(|rank| format!("{rank}: "));
    let title = match lead.standing {
        Standing::Gone => style.bad("gone"),
        Standing::Holds | Standing::Withdrawn => one_line(&lead.title, LINE_CHARS_MAX),
    };
    let withdrawn = match lead.standing {
        Standing::Withdrawn => format!("{} ", style.bad("withdrawn")),
        Standing::Holds | Standing::Gone => String::new(),
    };
    format!(
        "   → {withdrawn}{}{title}  {}",
        rank.unwrap_or_default(),
        style.name(&diagram::plain(&lead.to))
    )
}

/// An anchor, and what it leads to from the originals.
fn followed(style: Style, followed: &Followed) -> String {
    let mut parts = vec![introduced(style, &followed.anchor)];
    parts.extend(followed.items.iter().map(|item| match item {
        FollowedItem::Decision(decision) => described_decision(style, decision),
        FollowedItem::Evidence(evidence) => described_evidence(style, evidence),
        FollowedItem::Gone { to } => {
            format!("{} {}", diagram::plain(to), style.bad("is gone"))
        }
    }));
    parts.join("\n\n")
}

fn described_decision(style: Style, decision: &FollowedDecision) -> String {
    let standing = if decision.active {
        style.good("active")
    } else {
        style.bad("withdrawn; what it said last:")
    };
    let mut lines = vec![
        format!(
            "{} {} about {} in {}, version {}, {standing}",
            style.name(&decision.root.to_string()),
            decision.rank,
            decision.domain,
            decision.scope,
            decision.version
        ),
        one_line(&decision.title, LINE_CHARS_MAX),
        harmless(decision.content()),
    ];
    lines.extend(declared(decision.claim.as_ref(), &decision.relations));
    lines.join("\n")
}

fn described_evidence(style: Style, evidence: &FollowedEvidence) -> String {
    let head = &evidence.head;
    let text = match evidence.content() {
        Some(text) => harmless(text),
        None => style.dim(&format!(
            "its text is large: sillok evidence text {} --scope {}",
            head.id, head.scope
        )),
    };
    format!("{}\n{text}", described(style, head))
}

#[cfg(test)]
mod tests {
    use sillok_core::decision::{Node, Rank};
    use sillok_core::id::{AnchorId, DecisionId, EvidenceId, Seq};
    use sillok_core::principal::PrincipalKind;
    use sillok_core::recall::mark_as_data;
    use sillok_core::scope::Scope;
    use sillok_core::time::Timestamp;
    use sillok_server::api::{Actor, EvidenceHead};

    use super::*;

    const PLAIN: Style = Style { colour: false };

    fn scope() -> Scope {
        Scope::parse("org/a").unwrap()
    }

    fn ann() -> Actor {
        Actor {
            kind: PrincipalKind::Human,
            id: "ann".to_owned(),
        }
    }

    fn anchor(to: Vec<Node>) -> Anchor {
        Anchor {
            scope: scope(),
            id: AnchorId::from_bytes([1; 16]),
            hint: "Look\nhere".to_owned(),
            domain: "ui".parse().unwrap(),
            to,
            by: ann(),
            at: Timestamp::from_ms(0),
            seq: Seq::new(1),
            dropped: false,
            erased: false,
        }
    }

    fn nodes() -> [Node; 2] {
        let decision = Node::Decision {
            scope: scope(),
            root: DecisionId::from_bytes([2; 16]),
        };
        let evidence = Node::Evidence {
            scope: scope(),
            id: EvidenceId::from_bytes([3; 16]),
        };
        [decision, evidence]
    }

    #[test]
    fn what_an_anchor_leads_to_is_told_with_its_own_rank_and_how_it_stands() {
        let [decision, evidence] = nodes();
        let lead = |to: &Node, title: &str, rank, standing| Lead {
            to: to.clone(),
            title: title.to_owned(),
            rank,
            standing,
        };
        for (lead, expected) in [
            (
                lead(&decision, "A", Some(Rank::Axis), Standing::Holds),
                format!("   → axis: A  {decision}"),
            ),
            (
                lead(&decision, "A", Some(Rank::Lock), Standing::Withdrawn),
                format!("   → withdrawn lock: A  {decision}"),
            ),
            (
                lead(&evidence, "What ran", None, Standing::Holds),
                format!("   → What ran  {evidence}"),
            ),
            (
                lead(&evidence, "", None, Standing::Gone),
                format!("   → gone  {evidence}"),
            ),
        ] {
            assert_eq!(lead_line(PLAIN, &lead), expected);
        }
    }

    #[test]
    fn following_prints_short_evidence_and_says_where_large_evidence_is_read() {
        let evidence = |text: Option<&str>| {
            let said = format!("What ran\n\n{}", text.unwrap_or_default());
            let head = EvidenceHead {
                scope: scope(),
                id: EvidenceId::from_bytes([3; 16]),
                erased: false,
                title: "What ran".to_owned(),
                source: String::new(),
                media_type: "text/plain".to_owned(),
                bytes: 7,
                hash: String::new(),
                masked: 0,
                by: ann(),
                at: Timestamp::from_ms(0),
                seq: Seq::new(1),
            };
            FollowedItem::Evidence(Box::new(FollowedEvidence {
                head,
                whole: text.is_some(),
                data_marked_text: mark_as_data(&said),
            }))
        };
        let [gone, _] = nodes();
        let said = followed(
            PLAIN,
            &Followed {
                anchor: anchor(nodes().to_vec()),
                items: vec![
                    evidence(Some("It ran\u{1b}[2J.")),
                    evidence(None),
                    FollowedItem::Gone { to: gone.clone() },
                ],
            },
        );
        let parts: Vec<&str> = said.split("\n\n").collect();
        assert!(
            parts[0].contains("about ui in org/a, listed\nLook here\n"),
            "{said}"
        );
        assert!(parts[1].ends_with("\nIt ran[2J."), "{said}");
        assert!(parts[2].contains("sillok evidence text "), "{said}");
        assert_eq!(parts[3], format!("{gone} is gone"));
    }
}
