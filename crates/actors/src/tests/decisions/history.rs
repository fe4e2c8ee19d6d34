//! What a brief reads where decisions have been changed many times: what it reads where they never were.

use std::collections::BTreeMap;

use sillok_core::brief::{Brief, BriefBudget, BriefItem};
use sillok_core::config::RulesConfig;
use sillok_core::decision::{NewDecision, Rank, RelationKind};
use sillok_store::keys::Family;

use super::stage::{Stage, file, of_domain, relates, restore, says, viewer, withdraw};
use crate::protocol::Correct;
use crate::reads::{BriefQuery, Reader};
use crate::tests::harness::{PROJECT, TASK, TestStore, ports, store};
use crate::tests::line::{Fate, Line};
use crate::tests::world::{ORG, WORKTREE};

/// Versions that each decision has in the end, besides those that it had at first.
const FURTHER: u64 = 100;
/// Decisions that hold: their scope, their domain and their rank.
const HELD: [(&str, &str, Rank); 9] = [
    (ORG, "global", Rank::Policy),
    (PROJECT, "global", Rank::Policy),
    (ORG, "global", Rank::Axis),
    (PROJECT, "ui", Rank::Axis),
    (PROJECT, "global", Rank::Lock),
    (TASK, "ui", Rank::Lock),
    (ORG, "global", Rank::Normal),
    (PROJECT, "wms", Rank::Normal),
    (WORKTREE, "ui", Rank::Normal),
];

/// A version of one of them. All are of one size, and are about the same file.
fn text(number: usize, version: u64) -> NewDecision {
    let (_, domain, rank) = HELD[number];
    let text = says(rank, &format!("number {number}, version {version:03}"));
    let text = of_domain(domain, text);
    relates(RelationKind::AppliesTo, file("src/api.rs"), text)
}

/// What was read of each family: rows of ranges, and keys by themselves.
type Reads = BTreeMap<Family, (usize, usize)>;

/// A brief, and what was read for it.
async fn brief(store: &TestStore, query: BriefQuery) -> (Brief, Reads) {
    // Over a line of its own: what the node reads meanwhile does not count.
    let line = Line::new(store, Fate::Arrives);
    let reader = Reader::new(line.clone(), ports(), RulesConfig::default());
    let brief = reader.brief_under(Correct, &viewer(TASK), query).await;
    let brief = brief.unwrap();
    let of = |family: Family| (line.rows_read(family), line.keys_read(family));
    let all = Family::ALL.iter().map(|family| (*family, of(*family)));
    (brief, all.collect())
}

/// A brief of everything, one of a domain with a file at hand, and one that is cut.
async fn briefs(store: &TestStore) -> Vec<(Brief, Reads)> {
    let of_ui = BriefQuery {
        domain: "ui".parse().unwrap(),
        at: vec![file("src/api.rs")],
        ..BriefQuery::default()
    };
    let cut = BriefQuery {
        budget: BriefBudget {
            items_max: 5,
            ..BriefBudget::default()
        },
        ..of_ui.clone()
    };
    let mut briefs = Vec::new();
    for query in [BriefQuery::default(), of_ui, cut] {
        briefs.push(brief(store, query).await);
    }
    briefs
}

/// The numbers of the versions that a brief holds.
fn versions(brief: &Brief) -> Vec<u64> {
    let versions = brief.items.iter().filter_map(|item| match item {
        BriefItem::Decision { version, .. } => Some(version.number),
        BriefItem::Structural { .. } | BriefItem::Anchor { .. } => None,
    });
    versions.collect()
}

#[tokio::test]
async fn a_brief_reads_as_much_of_decisions_of_many_versions_as_of_those_of_one() {
    let store = store();
    let mut stage = Stage::over(&store).await;
    let mut roots = Vec::new();
    for (number, (path, ..)) in HELD.into_iter().enumerate() {
        roots.push(stage.begin(path, text(number, 1)).await);
    }
    let gone = stage.begin(PROJECT, says(Rank::Axis, "withdrawn")).await;
    stage.person(PROJECT, withdraw(gone, 1)).await.unwrap();
    let before = briefs(&store).await;

    for version in 1..=FURTHER {
        for (number, (path, ..)) in HELD.into_iter().enumerate() {
            let text = text(number, version + 1);
            stage.change(path, (roots[number], version), text).await;
        }
    }
    for newest in (2..2 + FURTHER).step_by(2) {
        let back = restore(gone, newest, 1);
        stage.person(PROJECT, back).await.unwrap();
        let again = withdraw(gone, newest + 1);
        stage.person(PROJECT, again).await.unwrap();
    }
    let after = briefs(&store).await;

    let held = |briefs: &[(Brief, Reads)]| -> Vec<Vec<u64>> {
        briefs.iter().map(|(brief, _)| versions(brief)).collect()
    };
    assert_eq!(
        held(&before),
        [vec![1_u64; 5], vec![1_u64; 8], vec![1_u64; 4]]
    );
    let newest = 1 + FURTHER;
    let expected = [vec![newest; 5], vec![newest; 8], vec![newest; 4]];
    assert_eq!(held(&after), expected);
    for ((_, once), (brief, later)) in before.iter().zip(&after) {
        assert_eq!(later, once);
        // Each version that it holds is read by its key, and no other one is.
        let of_versions = later[&Family::DecisionVersion];
        assert_eq!(of_versions, (0, versions(brief).len()));
    }
    // So is its head, which says which version that is. The other briefs have an impact in them, which reads heads as well.
    let (everything, reads) = &after[0];
    assert_eq!(reads[&Family::Decision], (0, versions(everything).len()));
}
