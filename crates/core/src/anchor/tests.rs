//! What an anchor leads to is told by rank, and nothing is lost or made up.

use proptest::prelude::*;

use super::*;
use crate::id::{DecisionId, EvidenceId};
use crate::scope::Scope;

fn lead(number: u8, rank: Option<Rank>, standing: Standing) -> Lead {
    let scope = Scope::parse("org/a").unwrap();
    let to = match rank {
        Some(_) => Node::Decision {
            scope,
            root: DecisionId::from_bytes([number; 16]),
        },
        None => Node::Evidence {
            scope,
            id: EvidenceId::from_bytes([number; 16]),
        },
    };
    match standing {
        Standing::Gone => Lead::gone(to),
        Standing::Holds | Standing::Withdrawn => Lead {
            to,
            title: format!("title {number}"),
            rank,
            standing,
        },
    }
}

fn any_leads() -> impl Strategy<Value = Vec<Lead>> {
    let ranks = proptest::option::weighted(0.7, proptest::sample::select(Rank::ALL.to_vec()));
    let standings = proptest::sample::select(Standing::ALL.to_vec());
    let some = proptest::collection::vec((ranks, standings), 0..=ANCHOR_NODES_MAX);
    some.prop_map(|some| {
        let numbered = (0u8..).zip(some);
        let leads = numbered.map(|(number, (rank, standing))| {
            // Evidence is not withdrawn.
            let standing = match (rank, standing) {
                (None, Standing::Withdrawn) => Standing::Holds,
                (_, standing) => standing,
            };
            lead(number, rank, standing)
        });
        leads.collect()
    })
}

/// The order, said once more: one sort of leads after the other, each as it was declared.
fn model(leads: &[Lead]) -> Vec<Lead> {
    let only = |wanted: &dyn Fn(&&Lead) -> bool| -> Vec<Lead> {
        leads.iter().filter(wanted).cloned().collect()
    };
    let there = |lead: &Lead| lead.standing != Standing::Gone;
    let mut all = Vec::new();
    for rank in Rank::ALL {
        all.extend(only(&|lead| there(lead) && lead.rank == Some(rank)));
    }
    all.extend(only(&|lead| there(lead) && !lead.to.is_decision()));
    all.extend(only(&|lead| !there(lead)));
    all
}

proptest! {
    #[test]
    fn leads_are_told_in_the_order_of_the_model(leads in any_leads()) {
        prop_assert_eq!(by_rank(leads.clone()), model(&leads));
    }

    #[test]
    fn no_lead_is_lost_or_made_up_and_a_second_time_changes_nothing(leads in any_leads()) {
        let told = by_rank(leads.clone());
        let names = |leads: &[Lead]| {
            let mut names: Vec<String> = leads.iter().map(|lead| lead.to.to_string()).collect();
            names.sort();
            names
        };
        prop_assert_eq!(names(&told), names(&leads));
        prop_assert_eq!(by_rank(told.clone()), told);
    }

    #[test]
    fn an_axis_never_stands_behind_a_lock_nor_a_decision_behind_evidence(leads in any_leads()) {
        let told = by_rank(leads);
        let place = |wanted: &dyn Fn(&Lead) -> bool| told.iter().position(wanted);
        let last = |wanted: &dyn Fn(&Lead) -> bool| told.iter().rposition(wanted);
        let of = |rank: Rank| move |lead: &Lead| lead.rank == Some(rank);
        if let (Some(axis), Some(lock)) = (last(&of(Rank::Axis)), place(&of(Rank::Lock))) {
            prop_assert!(axis < lock);
        }
        let is_evidence = |lead: &Lead| !lead.to.is_decision() && lead.standing == Standing::Holds;
        let holds = |lead: &Lead| lead.rank.is_some();
        if let (Some(decision), Some(evidence)) = (last(&holds), place(&is_evidence)) {
            prop_assert!(decision < evidence);
        }
    }
}

#[test]
fn a_decision_that_was_withdrawn_keeps_its_place_and_what_is_gone_stands_last() {
    let (holds, withdrawn, gone) = (Standing::Holds, Standing::Withdrawn, Standing::Gone);
    let declared = vec![
        lead(0, Some(Rank::Policy), gone),
        lead(1, None, holds),
        lead(2, Some(Rank::Normal), holds),
        lead(3, None, gone),
        lead(4, Some(Rank::Axis), withdrawn),
        lead(5, Some(Rank::Lock), holds),
        lead(6, Some(Rank::Axis), holds),
    ];
    let told = by_rank(declared.clone());
    let wanted = [4, 6, 5, 2, 1, 0, 3].map(|number: usize| declared[number].clone());
    assert_eq!(told, wanted);
}

#[test]
fn standings_are_named_as_they_are_sent() {
    for (ordinal, standing) in Standing::ALL.into_iter().enumerate() {
        let json = serde_json::to_string(&standing).unwrap();
        assert_eq!(json, format!("\"{}\"", standing.as_str()));
        let stored = postcard::to_allocvec(&standing).unwrap();
        assert_eq!(stored, [u8::try_from(ordinal).unwrap()]);
    }
}
