//! Proposals: what would come of a decision, and that nothing comes of saying so.

use sillok_core::command::{AnswerBody, DecisionRef};
use sillok_core::decision::{NewDecision, Proposal, Proposed, Rank, RelationKind};
use sillok_core::id::DecisionId;
use sillok_core::limits::{MEANING_NODES_MAX, RELATIONS_MAX};
use sillok_core::principal::PrincipalKind;
use sillok_core::{Error, ErrorCode};

use super::stage::{
    PLACES, Stage, affected, at, claims, file, of_domain, relates, restore, save, says, viewer,
    withdraw,
};
use crate::tests::harness::{PROJECT, TASK, principal, scope, store};
use crate::tests::world::{ORG, OTHER_PROJECT, WORKTREE, pairs_of};

impl Stage {
    async fn proposed(
        &self,
        kind: PrincipalKind,
        path: &str,
        change: Option<(DecisionId, u64)>,
        text: NewDecision,
    ) -> Result<Proposed, Error> {
        let change = change.map(|(root, expected_version)| DecisionRef {
            root,
            expected_version,
        });
        let (who, proposal) = (principal(kind, ORG), Proposal::of(text));
        let node = &self.node;
        node.propose(&who, &scope(path), change, &proposal).await
    }
}

/// The guarded decisions that are touched, by title, each with the length of the path that leads to it: the decision that is
/// changed has none.
fn guards(proposed: &Proposed) -> Vec<(&str, usize)> {
    let guards = proposed.guards.iter();
    let shown = guards.map(|guard| {
        let title = guard.title.as_str();
        let Some(place) = guard.path else {
            assert_eq!(proposed.impact.start, std::slice::from_ref(&guard.node));
            return (title, 0);
        };
        let affected = &proposed.impact.affected[place];
        assert_eq!(
            (&affected.node, affected.rank),
            (&guard.node, Some(guard.rank))
        );
        (title, proposed.impact.path(place).len())
    });
    shown.collect()
}

#[tokio::test]
async fn a_proposal_tells_what_it_would_reach_and_contradict_and_leaves_nothing_behind() {
    let store = store();
    let mut stage = Stage::over(&store).await;
    let axis = claims("http.api", "rest", says(Rank::Axis, "one API"));
    let axis = stage.begin(ORG, axis).await;
    let rests = says(Rank::Lock, "versions in the path");
    let rests = relates(RelationKind::DependsOn, at(ORG, axis), rests);
    stage.begin(PROJECT, rests).await;
    let text = claims("http.api", "grpc", says(Rank::Normal, "no REST"));
    let text = relates(RelationKind::Constrains, at(ORG, axis), text);
    let text = relates(RelationKind::AppliesTo, file("src/api.rs"), text);
    let before = pairs_of(&store).await;
    let agent = PrincipalKind::Agent;
    let proposed = stage.proposed(agent, TASK, None, text.clone()).await;
    let proposed = proposed.unwrap();
    let again = stage.proposed(agent, TASK, None, text.clone()).await;
    assert_eq!(again.unwrap(), proposed);
    assert!(pairs_of(&store).await == before, "nothing is stored");
    let expected = ["one API", "file:src/api.rs", "versions in the path"];
    assert_eq!(affected(&proposed.impact), expected);
    let touched = [("one API", 1), ("versions in the path", 2)];
    assert_eq!(guards(&proposed), touched);
    let contradicts: Vec<DecisionId> = proposed
        .contradictions
        .told
        .iter()
        .map(|other| other.root)
        .collect();
    assert_eq!(contradicts, [axis]);
    // Saving it says the same of what came of it.
    let saved = stage.give(agent, TASK, save(None, text)).await.unwrap();
    let AnswerBody::Decision { root, version, .. } = saved else {
        panic!("a decision was answered with {saved:?}");
    };
    let means = stage.node.meaning(&viewer(TASK), root, version).await;
    let means = means.unwrap();
    assert_eq!(affected(&means.impact), expected);
    assert_eq!(guards(&means), touched);
    assert_eq!(means.contradictions, proposed.contradictions);
}

#[tokio::test]
async fn a_proposed_change_reaches_what_it_is_bound_to_and_what_it_would_be_bound_to() {
    let mut stage = Stage::set().await;
    let former = stage.begin(PROJECT, says(Rank::Lock, "former")).await;
    let next = stage.begin(PROJECT, says(Rank::Lock, "next")).await;
    let kind = RelationKind::Constrains;
    let text = |root| relates(kind, at(PROJECT, root), says(Rank::Normal, "binds"));
    let root = stage.begin(PROJECT, text(former)).await;
    let rests = says(Rank::Normal, "rests on it");
    let rests = relates(RelationKind::DependsOn, at(PROJECT, root), rests);
    stage.begin(TASK, rests).await;
    let human = PrincipalKind::Human;
    let change = Some((root, 1));
    let proposed = stage.proposed(human, PROJECT, change, text(next)).await;
    let proposed = proposed.unwrap();
    assert_eq!(proposed.impact.start, [at(PROJECT, root)]);
    let mut reached = affected(&proposed.impact);
    reached.sort_unstable();
    assert_eq!(reached, ["former", "next", "rests on it"]);
    assert_eq!(proposed.guards.len(), 2);
    // What is withdrawn was something to those that it was bound to, and is to what depends on it.
    stage.person(PROJECT, withdraw(root, 1)).await.unwrap();
    let means = stage.node.meaning(&viewer(PROJECT), root, 2).await.unwrap();
    let mut reached = affected(&means.impact);
    reached.sort_unstable();
    assert_eq!(reached, ["former", "rests on it"]);
    let nobody = DecisionId::from_bytes([7; 16]);
    for (root, version) in [(nobody, 1), (root, 3)] {
        let refused = stage.node.meaning(&viewer(PROJECT), root, version).await;
        assert_eq!(refused.unwrap_err().code, ErrorCode::NotFound);
    }
}

#[tokio::test]
async fn a_change_that_lets_go_of_something_tells_of_it_as_the_proposal_did() {
    let mut stage = Stage::set().await;
    let lock = stage.begin(PROJECT, says(Rank::Lock, "guarded")).await;
    let bound = says(Rank::Normal, "binds");
    let bound = relates(RelationKind::Constrains, at(PROJECT, lock), bound);
    let root = stage.begin(PROJECT, bound).await;
    let free = || says(Rank::Normal, "binds nothing");
    let human = PrincipalKind::Human;
    let proposed = stage.proposed(human, PROJECT, Some((root, 1)), free());
    let proposed = proposed.await.unwrap();
    assert_eq!(guards(&proposed), [("guarded", 1)]);
    stage.change(PROJECT, (root, 1), free()).await;
    let means = stage.node.meaning(&viewer(PROJECT), root, 2).await;
    assert_eq!(means.unwrap(), proposed);
    // Whoever is answered late is still told of the version that was saved.
    stage.change(PROJECT, (root, 2), free()).await;
    let means = stage.node.meaning(&viewer(PROJECT), root, 2).await;
    assert_eq!(means.unwrap(), proposed);
    let means = stage.node.meaning(&viewer(PROJECT), root, 3).await;
    assert!(means.unwrap().impact.affected.is_empty());
}

#[tokio::test]
async fn whoever_changes_weakens_withdraws_or_restores_an_axis_or_lock_is_told_of_it_first() {
    for rank in [Rank::Axis, Rank::Lock] {
        let mut stage = Stage::set().await;
        let root = stage.begin(PROJECT, says(rank, "as it was")).await;
        let rests = says(Rank::Lock, "rests on it");
        let rests = relates(RelationKind::DependsOn, at(PROJECT, root), rests);
        stage.begin(PROJECT, rests).await;
        let told = async |stage: &Stage, version| {
            let means = stage.node.meaning(&viewer(PROJECT), root, version).await;
            let means = means.unwrap();
            let own = means.guards.first().map(|guard| guard.rank);
            let guards = guards(&means).into_iter();
            let titles = guards.map(|(title, steps)| (title.to_owned(), steps));
            (own, titles.collect::<Vec<_>>())
        };
        let with_it = |title: &str| {
            let all = [(title.to_owned(), 0), ("rests on it".to_owned(), 1)];
            (Some(rank), all.to_vec())
        };
        let alone = (Some(Rank::Lock), vec![("rests on it".to_owned(), 1)]);
        assert_eq!(told(&stage, 1).await, alone, "it was nothing before");
        // It is changed, withdrawn, and restored.
        stage.change(PROJECT, (root, 1), says(rank, "anew")).await;
        stage.person(PROJECT, withdraw(root, 2)).await.unwrap();
        stage.person(PROJECT, restore(root, 3, 1)).await.unwrap();
        // It is weakened, and changed once more.
        let weak = || says(Rank::Normal, "weak");
        let (human, change) = (PrincipalKind::Human, Some((root, 4)));
        let proposed = stage.proposed(human, PROJECT, change, weak()).await;
        let proposed = proposed.unwrap();
        assert_eq!(guards(&proposed)[0], ("as it was", 0));
        assert_eq!(proposed.guards[0].rank, rank);
        stage.change(PROJECT, (root, 4), weak()).await;
        stage.change(PROJECT, (root, 5), weak()).await;
        assert_eq!(told(&stage, 2).await, with_it("as it was"));
        assert_eq!(told(&stage, 3).await, with_it("anew"));
        assert_eq!(told(&stage, 4).await, with_it("anew"));
        assert_eq!(told(&stage, 5).await, with_it("as it was"));
        assert_eq!(told(&stage, 6).await, alone, "it was weak before");
    }
}

#[tokio::test]
async fn what_a_proposal_and_a_save_tell_is_bounded_and_says_what_was_cut_off() {
    let mut stage = Stage::set().await;
    let places = MEANING_NODES_MAX.div_ceil(RELATIONS_MAX);
    let mut text = says(Rank::Normal, "binds all of them");
    for number in 0..places {
        let mut about = says(Rank::Normal, &format!("number {number}"));
        for place in 0..RELATIONS_MAX {
            let place = file(&format!("src/{number}/{place}.rs"));
            about = relates(RelationKind::AppliesTo, place, about);
        }
        let root = stage.begin(PROJECT, about).await;
        text = relates(RelationKind::Constrains, at(PROJECT, root), text);
    }
    let all = places * (RELATIONS_MAX + 1);
    let proposed = stage.proposed(PrincipalKind::Human, PROJECT, None, text.clone());
    let proposed = proposed.await.unwrap();
    let root = stage.begin(PROJECT, text).await;
    let means = stage.node.meaning(&viewer(PROJECT), root, 1).await.unwrap();
    for told in [proposed, means] {
        assert_eq!(told.impact.affected.len(), MEANING_NODES_MAX);
        let cut = told.impact.cut.unwrap();
        assert_eq!(
            (cut.nodes, cut.time),
            ((all - MEANING_NODES_MAX) as u64, false)
        );
    }
    let whole = stage.impact(PROJECT, at(PROJECT, root)).await;
    assert_eq!((whole.affected.len(), whole.cut), (all, None));
}

#[tokio::test]
async fn an_axis_or_a_lock_is_guarded_however_much_that_is_normal_is_reached_before_it() {
    let mut stage = Stage::set().await;
    let hub = stage.begin(PROJECT, says(Rank::Normal, "hub")).await;
    let rests = |text| relates(RelationKind::DependsOn, at(PROJECT, hub), text);
    for number in 0..MEANING_NODES_MAX + 10 {
        let text = rests(says(Rank::Normal, &format!("number {number}")));
        stage.begin(PROJECT, text).await;
    }
    // What lies inside comes behind it.
    let axis = rests(says(Rank::Axis, "axis"));
    stage.begin(TASK, axis).await;
    let lock = rests(says(Rank::Lock, "lock"));
    stage.begin(WORKTREE, lock).await;
    let text = says(Rank::Normal, "another hub");
    let change = Some((hub, 1));
    let proposed = stage.proposed(PrincipalKind::Human, PROJECT, change, text.clone());
    let proposed = proposed.await.unwrap();
    stage.change(PROJECT, (hub, 1), text).await;
    let means = stage.node.meaning(&viewer(PROJECT), hub, 2).await.unwrap();
    for told in [proposed, means] {
        assert_eq!(told.impact.affected.len(), MEANING_NODES_MAX);
        assert_eq!(told.impact.cut.map(|cut| cut.nodes), Some(12));
        assert_eq!(guards(&told), [("lock", 1), ("axis", 1)]);
    }
}

#[tokio::test]
async fn what_could_not_be_saved_is_not_proposed() {
    let mut stage = Stage::set().await;
    let axis = stage.begin(PROJECT, says(Rank::Axis, "one API")).await;
    let lock = stage.begin(WORKTREE, says(Rank::Lock, "no unsafe")).await;
    let nobody = DecisionId::from_bytes([7; 16]);
    let weak = || says(Rank::Normal, "many APIs");
    let kind = RelationKind::DependsOn;
    let (agent, human) = (PrincipalKind::Agent, PrincipalKind::Human);
    let before = stage.node.metrics().commands;
    for (who, path, change, text, code) in [
        (
            agent,
            WORKTREE,
            Some((lock, 2)),
            weak(),
            ErrorCode::Conflict,
        ),
        (human, PROJECT, Some((axis, 2)), weak(), ErrorCode::Conflict),
        (
            human,
            PROJECT,
            Some((nobody, 1)),
            weak(),
            ErrorCode::NotFound,
        ),
        (
            human,
            TASK,
            None,
            says(Rank::Policy, "mine"),
            ErrorCode::InvalidArgument,
        ),
        (
            human,
            PROJECT,
            None,
            says(Rank::Normal, ""),
            ErrorCode::InvalidArgument,
        ),
        (
            human,
            PROJECT,
            None,
            relates(kind, at(PROJECT, nobody), weak()),
            ErrorCode::NotFound,
        ),
        (
            human,
            PROJECT,
            None,
            relates(kind, file("src/api.rs"), weak()),
            ErrorCode::InvalidArgument,
        ),
    ] {
        let what = format!("{who:?} proposes {} in {path}", text.title);
        let refused = stage.proposed(who, path, change, text).await;
        assert_eq!(refused.unwrap_err().code, code, "{what}");
    }
    assert_eq!(stage.node.metrics().commands, before);
}

#[tokio::test]
async fn who_may_not_save_a_decision_may_propose_it() {
    let mut stage = Stage::set().await;
    let axis = stage.begin(PROJECT, says(Rank::Axis, "one API")).await;
    let lock = stage.begin(WORKTREE, says(Rank::Lock, "no unsafe")).await;
    let (agent, human) = (PrincipalKind::Agent, PrincipalKind::Human);
    let before = stage.node.metrics().commands;
    for (who, path, change) in [
        (human, PROJECT, Some((axis, 1))),
        (agent, PROJECT, Some((axis, 1))),
        (agent, WORKTREE, Some((lock, 1))),
        (agent, PROJECT, None),
    ] {
        let weak = says(Rank::Normal, "many APIs");
        let proposed = stage.proposed(who, path, change, weak).await.unwrap();
        assert!(proposed.impact.affected.is_empty(), "{path}");
        // Nothing depends on the axis or the lock. To weaken them touches them all the same.
        assert_eq!(proposed.guards.len(), usize::from(change.is_some()));
    }
    assert_eq!(stage.node.metrics().commands, before);
}

/// The domain that is new by a proposal of one that begins a chain.
async fn new_by_proposal(stage: &Stage, path: &str, domain: &str) -> Option<String> {
    let text = of_domain(domain, says(Rank::Normal, "proposed"));
    let proposed = stage.proposed(PrincipalKind::Human, path, None, text).await;
    proposed
        .unwrap()
        .new_domain
        .map(|domain| domain.to_string())
}

/// The domain that is new by a version that was saved.
async fn new_by_save(stage: &Stage, path: &str, saved: (DecisionId, u64)) -> Option<String> {
    let means = stage.node.meaning(&viewer(path), saved.0, saved.1).await;
    means.unwrap().new_domain.map(|domain| domain.to_string())
}

#[tokio::test]
async fn a_domain_that_no_other_decision_in_sight_is_of_is_told_and_stops_nothing() {
    for rank in [Rank::Axis, Rank::Lock, Rank::Normal] {
        for place in PLACES {
            let mut stage = Stage::set().await;
            let pricing = || of_domain("pricing", says(rank, "cents"));
            let first = stage.begin(place, pricing()).await;
            let new = Some("pricing".to_owned());
            assert_eq!(new_by_save(&stage, place, (first, 1)).await, new, "{rank}");
            for asked in PLACES {
                let is_seen = scope(place).contains(&scope(asked));
                let expected = new.clone().filter(|_| !is_seen);
                let told = new_by_proposal(&stage, asked, "pricing").await;
                assert_eq!(told, expected, "{rank} of {place} from {asked}");
            }
            let misspelt = new_by_proposal(&stage, place, "prcing").await;
            assert_eq!(misspelt.as_deref(), Some("prcing"));
            assert_eq!(new_by_proposal(&stage, place, "global").await, None);
            // Neither one counts as new with another beside it.
            let second = stage.begin(place, pricing()).await;
            for root in [first, second] {
                assert_eq!(new_by_save(&stage, place, (root, 1)).await, None, "{rank}");
            }
        }
    }
}

#[tokio::test]
async fn a_domain_is_new_again_once_all_others_of_it_were_withdrawn_or_moved() {
    let mut stage = Stage::set().await;
    let of = |domain: &str| of_domain(domain, says(Rank::Lock, "cents"));
    let own = stage.begin(PROJECT, of("pricing")).await;
    let moved = stage.begin(PROJECT, of("pricing")).await;
    let gone = stage.begin(ORG, of("pricing")).await;
    assert_eq!(new_by_save(&stage, PROJECT, (own, 1)).await, None);
    stage.change(PROJECT, (moved, 1), of("prices")).await;
    assert_eq!(new_by_save(&stage, PROJECT, (own, 1)).await, None);
    stage.person(ORG, withdraw(gone, 1)).await.unwrap();
    let pricing = Some("pricing".to_owned());
    assert_eq!(new_by_save(&stage, PROJECT, (own, 1)).await, pricing);
    // What is withdrawn says nothing any more, and is of no domain.
    assert_eq!(new_by_save(&stage, ORG, (gone, 2)).await, None);
    // A change does not count itself, wherever it moves.
    let human = PrincipalKind::Human;
    for (domain, expected) in [
        ("pricing", pricing.as_deref()),
        ("prices", None),
        ("prcing", Some("prcing")),
        ("global", None),
    ] {
        let proposed = stage.proposed(human, PROJECT, Some((own, 1)), of(domain));
        let new = proposed.await.unwrap().new_domain;
        assert_eq!(new.as_ref().map(|domain| domain.as_str()), expected);
    }
    stage.change(PROJECT, (own, 1), of("prcing")).await;
    let told = new_by_save(&stage, PROJECT, (own, 2)).await;
    assert_eq!(told.as_deref(), Some("prcing"));
}

#[tokio::test]
async fn of_a_domain_beside_and_inside_nothing_is_told() {
    let mut stage = Stage::set().await;
    for place in [OTHER_PROJECT, TASK] {
        let text = of_domain("pricing", says(Rank::Lock, "cents"));
        stage.begin(place, text).await;
    }
    let told = new_by_proposal(&stage, PROJECT, "pricing").await;
    assert_eq!(told.as_deref(), Some("pricing"));
}
