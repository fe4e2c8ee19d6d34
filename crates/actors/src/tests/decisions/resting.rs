//! Decisions that rest on evidence: what they may rest on, and what a change of the evidence reaches.

use sillok_core::ErrorCode;
use sillok_core::brief::{BriefItem, Layer};
use sillok_core::decision::{Node as Place, Rank, RelationKind};
use sillok_core::id::EvidenceId;
use sillok_core::impact::ImpactLimits;

use super::kept::kept;
use super::stage::{
    Stage, affected, at, file, relates, restore, save, says, sound, viewer, withdraw,
};
use crate::reads::{BriefQuery, Viewer};
use crate::tests::harness::{PROJECT, TASK, scope, store};
use crate::tests::world::{ORG, OTHER_PROJECT, WORKTREE};

const RESTS: RelationKind = RelationKind::RestsOn;

fn at_hand(node: Place) -> BriefQuery {
    BriefQuery {
        at: vec![node],
        ..BriefQuery::default()
    }
}

#[tokio::test]
async fn what_rests_on_evidence_is_affected_by_it_and_never_affects_it() {
    let store = store();
    let mut stage = Stage::over(&store).await;
    let run = stage.keep(ORG, "a run", "p99 is 12 ms").await;
    let run = kept(ORG, run);
    let text = relates(RESTS, run.clone(), says(Rank::Lock, "one handler"));
    let lock = stage.begin(PROJECT, text).await;
    let on_lock = at(PROJECT, lock);
    let kind = RelationKind::DependsOn;
    let text = relates(kind, on_lock.clone(), says(Rank::Normal, "no threads"));
    stage.begin(WORKTREE, text).await;
    let text = relates(RESTS, run.clone(), says(Rank::Normal, "beside"));
    stage.begin(OTHER_PROJECT, text).await;
    let of_run = stage.impact(TASK, run.clone()).await;
    assert_eq!(affected(&of_run), ["one handler", "no threads"]);
    let first = of_run.path(0);
    assert_eq!((first[0].kind, &first[0].to), (RESTS, &run));
    let of_lock = stage.impact(TASK, on_lock.clone()).await;
    assert_eq!(affected(&of_lock), ["no threads"], "its evidence is not");
    // From above, both are seen that rest on it.
    let mut above = affected(&stage.impact(ORG, run.clone()).await);
    above.sort_unstable();
    assert_eq!(above, ["beside", "no threads", "one handler"]);
    let brief = stage.brief(TASK, at_hand(run.clone())).await;
    let layers: Vec<Layer> = brief.items.iter().map(BriefItem::layer).collect();
    let (structural, lock_layer) = (Layer::Structural, Layer::Lock);
    let expected = [structural, structural, lock_layer, Layer::Normal];
    assert_eq!(layers, expected);
    // One that is changed rests on it no more.
    let text = says(Rank::Lock, "one handler");
    stage.change(PROJECT, (lock, 1), text).await;
    let of_run = stage.impact(TASK, run).await;
    assert_eq!(affected(&of_run), Vec::<String>::new());
    stage.node.shutdown().await;
    assert_eq!(sound(&store).await, None);
}

#[tokio::test]
async fn a_decision_rests_on_evidence_that_is_seen_and_there_and_on_nothing_else() {
    let mut stage = Stage::set().await;
    let above = stage.keep(ORG, "above", "p99 is 12 ms").await;
    let here = stage.keep(PROJECT, "here", "p99 is 11 ms").await;
    let below = stage.keep(TASK, "below", "p99 is 10 ms").await;
    let beside = stage.keep(OTHER_PROJECT, "beside", "p99 is 9 ms").await;
    let other = stage.begin(PROJECT, says(Rank::Normal, "other")).await;
    let nothing = EvidenceId::from_bytes([7; 16]);
    let related = |kind, to| save(None, relates(kind, to, says(Rank::Normal, "related")));
    let (invalid, not_found) = (ErrorCode::InvalidArgument, ErrorCode::NotFound);
    for (kind, to, code) in [
        (RESTS, kept(PROJECT, nothing), not_found),
        (RESTS, kept(ORG, nothing), not_found),
        (RESTS, kept(ORG, here), not_found),
        (RESTS, kept(TASK, below), not_found),
        (RESTS, kept(OTHER_PROJECT, beside), not_found),
        (RESTS, at(PROJECT, other), invalid),
        (RESTS, file("src/api.rs"), invalid),
        (RelationKind::DependsOn, kept(PROJECT, here), invalid),
        (RelationKind::AppliesTo, kept(PROJECT, here), invalid),
    ] {
        let refused = stage.person(PROJECT, related(kind, to.clone())).await;
        assert_eq!(refused.unwrap_err().code, code, "{kind} {to}");
    }
    for to in [kept(PROJECT, here), kept(ORG, above)] {
        stage.person(PROJECT, related(RESTS, to)).await.unwrap();
    }
}

#[tokio::test]
async fn evidence_at_hand_that_is_not_there_or_not_seen_is_refused_by_name() {
    let mut stage = Stage::set().await;
    let run = stage.keep(OTHER_PROJECT, "a run", "p99 is 12 ms").await;
    let text = relates(RESTS, kept(OTHER_PROJECT, run), says(Rank::Normal, "fast"));
    stage.begin(OTHER_PROJECT, text).await;
    let below = stage.keep(PROJECT, "below", "p99 is 11 ms").await;
    let text = relates(RESTS, kept(PROJECT, below), says(Rank::Normal, "faster"));
    stage.begin(PROJECT, text).await;
    let limits = ImpactLimits::default();
    let narrow = Viewer {
        scope: scope(ORG),
        prefix: OTHER_PROJECT.parse().unwrap(),
    };
    for (viewer, node) in [
        (
            viewer(PROJECT),
            kept(PROJECT, EvidenceId::from_bytes([7; 16])),
        ),
        (viewer(PROJECT), kept(OTHER_PROJECT, run)),
        (narrow, kept(PROJECT, below)),
    ] {
        let start = vec![node.clone()];
        let refused = stage
            .node
            .impact_of_standing(&viewer, start, limits, None)
            .await;
        let refused = refused.unwrap_err();
        assert_eq!(refused.code, ErrorCode::NotFound);
        assert!(refused.message.contains(&node.to_string()), "{refused}");
        let refused = stage
            .node
            .brief_of_standing(&viewer, at_hand(node.clone()))
            .await;
        assert_eq!(refused.unwrap_err().code, ErrorCode::NotFound);
    }
    let viewer = viewer(ORG);
    for (path, id) in [(OTHER_PROJECT, run), (PROJECT, below)] {
        let start = vec![kept(path, id)];
        let found = stage
            .node
            .impact_of_standing(&viewer, start, limits, None)
            .await;
        assert_eq!(found.unwrap().affected.len(), 1);
    }
}

#[tokio::test]
async fn a_decision_that_is_withdrawn_rests_on_nothing_until_it_is_restored() {
    let mut stage = Stage::set().await;
    let run = stage.keep(PROJECT, "a run", "p99 is 12 ms").await;
    let run = kept(PROJECT, run);
    let text = relates(RESTS, run.clone(), says(Rank::Normal, "fast enough"));
    let root = stage.begin(PROJECT, text).await;
    stage.person(PROJECT, withdraw(root, 1)).await.unwrap();
    let found = stage.impact(PROJECT, run.clone()).await;
    assert!(found.affected.is_empty());
    stage.person(PROJECT, restore(root, 2, 1)).await.unwrap();
    let found = stage.impact(PROJECT, run).await;
    assert_eq!(affected(&found), ["fast enough"]);
}
