//! Briefs of many random decisions and anchors, against a sort of all of them by one key.

use std::cmp::Reverse;

use proptest::prelude::*;
use sillok_core::brief::BriefItem;
use sillok_core::decision::{DecisionHead, Domain, NewDecision, Rank};
use sillok_core::id::{AnchorId, DecisionId};
use sillok_core::limits::BRIEF_BYTES_MAX;
use sillok_core::scope::Scope;

use super::kept::{listed_in, points_to};
use super::stage::{PLACES, Stage, at, of_domain, restore, says, withdraw};
use crate::reads::{BriefQuery, DecisionFilter};
use crate::tests::audit::RUNTIME;
use crate::tests::harness::{TASK, scope};

const DOMAINS: [&str; 3] = ["global", "ui", "runtime"];

/// One thing that somebody does: where, to which of the decisions there, and what it says from then on.
#[derive(Clone, Copy, Debug)]
struct Deed {
    place: usize,
    rank: Rank,
    domain: usize,
    what: What,
}

#[derive(Clone, Copy, Debug)]
enum What {
    Begin,
    Change(usize),
    Withdraw(usize),
    Restore(usize),
    /// An anchor that leads to it.
    Point(usize),
}

fn deeds() -> impl Strategy<Value = Vec<Deed>> {
    let what = prop_oneof![
        3 => Just(What::Begin),
        3 => any::<usize>().prop_map(What::Change),
        1 => any::<usize>().prop_map(What::Withdraw),
        1 => any::<usize>().prop_map(What::Restore),
        2 => any::<usize>().prop_map(What::Point),
    ];
    let rank = proptest::sample::select(Rank::ALL.to_vec());
    let deed = (0..PLACES.len(), rank, 0..DOMAINS.len(), what);
    let deed = deed.prop_map(|(place, rank, domain, what)| Deed {
        place,
        rank,
        domain,
        what,
    });
    proptest::collection::vec(deed, 1..60)
}

/// An anchor that was added: where, and in which domain it is listed.
struct Added {
    holder: Scope,
    domain: Domain,
    id: AnchorId,
}

/// Carries deeds out, as far as they are allowed: the anchors, as they were added.
async fn carry_out(stage: &mut Stage, deeds: &[Deed]) -> Vec<Added> {
    let mut added = Vec::new();
    let mut begun: Vec<Vec<DecisionId>> = vec![Vec::new(); PLACES.len()];
    for (number, deed) in deeds.iter().enumerate() {
        let path = PLACES[deed.place];
        // A policy is one of a project or an organisation, about everything.
        let is_policy = deed.rank == Rank::Policy;
        let rank = match is_policy && path.contains("worktree") {
            true => Rank::Axis,
            false => deed.rank,
        };
        let domain = match rank == Rank::Policy {
            true => DOMAINS[0],
            false => DOMAINS[deed.domain],
        };
        let text = of_domain(domain, says(rank, &format!("said by deed {number}")));
        // Called as domains are, which decides nothing.
        let phase = (number % 2 == 0).then(|| DOMAINS[number % 3].parse().unwrap());
        let text = NewDecision { phase, ..text };
        let here = &mut begun[deed.place];
        let named = |which: usize| here.get(which.checked_rem(here.len())?).copied();
        let head = match deed.what {
            What::Begin => None,
            What::Change(which)
            | What::Withdraw(which)
            | What::Restore(which)
            | What::Point(which) => {
                let Some(root) = named(which) else { continue };
                let view = stage.node.reader().decision(&scope(path), root).await;
                Some(view.unwrap().expect("it was begun").head)
            }
        };
        match (deed.what, head) {
            (What::Change(_), Some(head)) if head.active => {
                let named = (head.root, head.version);
                stage.change(path, named, text).await;
            }
            (What::Withdraw(_), Some(head)) if head.active => {
                let command = withdraw(head.root, head.version);
                stage.person(path, command).await.unwrap();
            }
            (What::Restore(_), Some(head)) if !head.active => {
                let command = restore(head.root, head.version, 1);
                stage.person(path, command).await.unwrap();
            }
            (What::Point(_), Some(head)) if head.active => {
                let domain = DOMAINS[deed.domain];
                let anchor = points_to(
                    &format!("added by deed {number}"),
                    vec![at(path, head.root)],
                );
                let ids = stage.point(path, vec![listed_in(domain, anchor)]).await;
                added.push(Added {
                    holder: scope(path),
                    domain: domain.parse().unwrap(),
                    id: ids.unwrap()[0],
                });
            }
            (What::Begin, _) => here.push(stage.begin(path, text).await),
            _ => {}
        }
    }
    added
}

/// All active decisions of the scopes that `from` sees.
async fn active(stage: &Stage, from: &Scope) -> Vec<(Scope, DecisionHead)> {
    let mut found = Vec::new();
    for holder in from.with_ancestors() {
        let every = DecisionFilter::default();
        let page = stage.node.reader().decisions(&holder, &every, None, 1_000);
        let page = page.await.unwrap();
        assert_eq!(page.next, None);
        found.extend(page.items.into_iter().map(|head| (holder.clone(), head)));
    }
    found
}

/// What a brief has to load, in its order: a sort of all by one key.
fn expected(mut all: Vec<(Scope, DecisionHead)>, domain: &Domain) -> Vec<(DecisionId, u64)> {
    all.retain(|(_, head)| head.domain.is_global() || head.domain == *domain);
    all.sort_by_key(|(holder, head)| {
        let is_named = !head.domain.is_global();
        let wide = Reverse(holder.level());
        (head.rank, is_named, wide, head.begun_seq, head.root)
    });
    let listed = all.into_iter().map(|(_, head)| (head.root, head.version));
    listed.collect()
}

/// Which anchors a brief has to list behind them, in its order. A sort keeps those of one key as they were added.
fn expected_anchors(added: &[Added], from: &Scope, domain: &Domain) -> Vec<AnchorId> {
    let is_listed = |one: &&Added| {
        one.holder.contains(from) && (one.domain.is_global() || one.domain == *domain)
    };
    let mut listed: Vec<&Added> = added.iter().filter(is_listed).collect();
    listed.sort_by_key(|one| (!one.domain.is_global(), Reverse(one.holder.level())));
    listed.into_iter().map(|one| one.id).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn a_brief_is_what_a_sort_of_all_that_holds_gives(deeds in deeds()) {
        RUNTIME.block_on(async {
            let mut stage = Stage::set().await;
            let added = carry_out(&mut stage, &deeds).await;
            for domain in DOMAINS {
                let mut query = BriefQuery {
                    domain: domain.parse().unwrap(),
                    ..BriefQuery::default()
                };
                query.budget.bytes_max = BRIEF_BYTES_MAX;
                let all = active(&stage, &scope(TASK)).await;
                let wanted = expected(all, &query.domain);
                let brief = stage.brief(TASK, query.clone()).await;
                assert!(brief.cut.is_empty());
                let (mut loaded, mut pointing) = (Vec::new(), Vec::new());
                for item in &brief.items {
                    match item {
                        BriefItem::Decision { version, .. } => {
                            assert_eq!(pointing, [], "an anchor stands before a decision");
                            loaded.push((version.root, version.number));
                        }
                        BriefItem::Anchor { anchor, .. } => pointing.push(anchor.id),
                        BriefItem::Structural { .. } => panic!("nothing is at hand"),
                    }
                }
                assert_eq!(loaded, wanted, "{domain}");
                let anchors = expected_anchors(&added, &scope(TASK), &query.domain);
                assert_eq!(pointing, anchors, "{domain}");
                assert_eq!(stage.brief(TASK, query).await, brief);
            }
            stage.node.shutdown().await;
        });
    }
}
