//! Whatever is given in whatever order: chains have no gap, one version is active, and the rows are those of the heads.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::*;
use crate::decision::{DecisionHead, DecisionName, Edge};
use crate::state::Change;

/// A command about one of some chains. Each expected version is the current one, or off by one.
#[derive(Clone, Debug)]
enum Step {
    Begin(Said),
    Change(usize, bool, Said),
    Deactivate(usize, bool),
    Restore(usize, bool, u64),
}

/// What one version says, as far as it matters here.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Said {
    rank: usize,
    domain: usize,
    claim: Option<usize>,
    /// Chains that it depends on, by number.
    on: BTreeSet<usize>,
}

const CHAINS: usize = 4;

fn said() -> impl Strategy<Value = Said> {
    let claim = proptest::option::of(0..2_usize);
    let on = proptest::collection::btree_set(0..CHAINS, 0..3);
    (0..3_usize, 0..2_usize, claim, on).prop_map(|(rank, domain, claim, on)| Said {
        rank,
        domain,
        claim,
        on,
    })
}

fn step() -> impl Strategy<Value = Step> {
    let stale = || proptest::bool::weighted(0.1);
    prop_oneof![
        2 => said().prop_map(Step::Begin),
        4 => (0..CHAINS, stale(), said()).prop_map(|(chain, stale, said)| Step::Change(chain, stale, said)),
        2 => (0..CHAINS, stale()).prop_map(|(chain, stale)| Step::Deactivate(chain, stale)),
        2 => (0..CHAINS, stale(), 0..8_u64)
            .prop_map(|(chain, stale, version)| Step::Restore(chain, stale, version)),
    ]
}

/// The model: of each chain, what each version said.
#[derive(Debug, Default)]
struct Model {
    chains: Vec<(DecisionId, Vec<Option<Said>>)>,
}

impl Model {
    fn text(&self, said: &Said) -> NewDecision {
        let to = |chain: &usize| Relation {
            kind: RelationKind::DependsOn,
            to: Node::Decision {
                scope: Scope::parse(PROJECT).unwrap(),
                root: self.root(*chain),
            },
        };
        NewDecision {
            domain: ["global", "ui"][said.domain].parse().unwrap(),
            claim: said.claim.map(|key| Claim {
                key: format!("key {key}"),
                value: "v".into(),
            }),
            relations: said.on.iter().map(to).collect(),
            ..text([Rank::Axis, Rank::Lock, Rank::Normal][said.rank], "x")
        }
    }

    /// The root of a chain, or one that there is not.
    fn root(&self, chain: usize) -> DecisionId {
        let known = self.chains.get(chain).map(|(root, _)| *root);
        known.unwrap_or(DecisionId::from_bytes([u8::try_from(chain).unwrap(); 16]))
    }

    fn newest(&self, chain: usize) -> Option<&Said> {
        let (_, versions) = self.chains.get(chain)?;
        versions.iter().rev().find_map(Option::as_ref)
    }

    /// Why a text is refused for what it depends on, where it is one of the chain with this number.
    fn refused(&self, chain: Option<usize>, said: &Said) -> Option<ErrorCode> {
        if chain.is_some_and(|chain| said.on.contains(&chain)) {
            return Some(ErrorCode::InvalidArgument);
        }
        let had = chain.and_then(|chain| self.newest(chain));
        let further = said
            .on
            .iter()
            .filter(|on| !had.is_some_and(|had| had.on.contains(on)));
        further
            .map(|on| match self.chains.get(*on) {
                None => Some(ErrorCode::NotFound),
                Some((_, versions)) if versions.last() == Some(&None) => Some(ErrorCode::Conflict),
                Some(_) => None,
            })
            .find(Option::is_some)
            .flatten()
    }

    /// What a step is refused with, or the version that it adds.
    fn expected(&self, step: &Step) -> Result<Option<Said>, ErrorCode> {
        let (chain, stale) = match step {
            Step::Begin(said) => {
                return self.refused(None, said).map_or(Ok(Some(said.clone())), Err);
            }
            Step::Change(chain, stale, _)
            | Step::Deactivate(chain, stale)
            | Step::Restore(chain, stale, _) => (*chain, *stale),
        };
        let Some((_, versions)) = self.chains.get(chain) else {
            return Err(ErrorCode::NotFound);
        };
        let is_active = versions.last() != Some(&None);
        if stale || is_active == matches!(step, Step::Restore(..)) {
            return Err(ErrorCode::Conflict);
        }
        let said = match step {
            Step::Begin(said) | Step::Change(_, _, said) => said.clone(),
            Step::Deactivate(..) => return Ok(None),
            Step::Restore(_, _, version) => {
                let place = usize::try_from(*version).unwrap().checked_sub(1);
                let said = place.and_then(|place| versions.get(place).cloned().flatten());
                said.ok_or(ErrorCode::InvalidArgument)?
            }
        };
        self.refused(Some(chain), &said).map_or(Ok(Some(said)), Err)
    }

    fn command(&self, step: &Step) -> Command {
        let expected = |chain: usize, stale: bool| {
            let versions = self
                .chains
                .get(chain)
                .map_or(1, |(_, versions)| versions.len());
            versions as u64 + u64::from(stale)
        };
        match step {
            Step::Begin(said) => begin(self.text(said)),
            Step::Change(chain, stale, said) => {
                change(self.root(*chain), expected(*chain, *stale), self.text(said))
            }
            Step::Deactivate(chain, stale) => {
                deactivate(self.root(*chain), expected(*chain, *stale))
            }
            Step::Restore(chain, stale, version) => {
                restore(self.root(*chain), expected(*chain, *stale), *version)
            }
        }
    }

    fn note(&mut self, step: &Step, root: DecisionId, said: Option<Said>) {
        match step {
            Step::Begin(_) => self.chains.push((root, vec![said])),
            Step::Change(chain, ..) | Step::Deactivate(chain, _) | Step::Restore(chain, ..) => {
                self.chains[*chain].1.push(said);
            }
        }
    }
}

/// The rows that changes leave, as a store would.
#[derive(Debug, Default, PartialEq)]
struct Rows {
    heads: BTreeMap<DecisionId, DecisionHead>,
    listed: BTreeSet<(Rank, Domain, u64, DecisionId)>,
    claims: BTreeMap<(String, DecisionId), (u64, String)>,
    edges: BTreeMap<Edge, DecisionName>,
}

impl Rows {
    fn written(changes: &[Change]) -> Self {
        let mut rows = Self::default();
        for change in changes {
            match change.clone() {
                Change::Decision(head) => {
                    rows.heads.insert(head.root, (*head).clone());
                }
                Change::DecisionListed {
                    rank,
                    domain,
                    begun,
                    root,
                    listed,
                } => {
                    let key = (rank, domain, begun.get(), root);
                    if listed {
                        assert!(
                            rows.listed.insert(key),
                            "a row is written where there is none"
                        );
                    } else {
                        assert!(rows.listed.remove(&key), "{key:?} was listed");
                    }
                }
                Change::DecisionClaim {
                    key,
                    value,
                    root,
                    version,
                } => {
                    let key = (key, root);
                    match version {
                        Some(version) => drop(rows.claims.insert(key, (version, value))),
                        None => assert!(rows.claims.remove(&key).is_some(), "{key:?} was declared"),
                    }
                }
                Change::RelatedTo {
                    edge,
                    name: Some(name),
                } => {
                    let stood = rows.edges.insert(edge, name);
                    assert_eq!(stood, None, "an edge begins where it did not stand");
                }
                Change::RelationRenamed { edge, name } => {
                    let before = rows.edges.insert(edge, name.clone());
                    assert!(
                        before.is_some_and(|before| before != name),
                        "it stood otherwise"
                    );
                }
                Change::RelatedTo { edge, name: None } => {
                    assert!(rows.edges.remove(&edge).is_some(), "{edge} stood");
                }
                other => panic!("{other:?}"),
            }
        }
        rows
    }

    /// Those that the heads alone explain.
    fn explained(world: &World, model: &Model) -> Self {
        let mut rows = Self::default();
        let roots = model.chains.iter().map(|(root, _)| *root);
        for head in roots.filter_map(|root| world.state.decision(root)) {
            rows.heads.insert(head.root, head.clone());
            if !head.active {
                continue;
            }
            let place = (
                head.rank,
                head.domain.clone(),
                head.begun_seq.get(),
                head.root,
            );
            rows.listed.insert(place);
            if let Some(claim) = &head.claim {
                let said = (head.version, claim.value.clone());
                rows.claims.insert((claim.key.clone(), head.root), said);
            }
            let edges = head.edges(world.state.scope()).into_iter();
            rows.edges.extend(edges.map(|edge| (edge, head.name())));
        }
        rows
    }
}

proptest! {
    #[test]
    fn what_is_refused_changes_nothing_and_what_is_taken_is_whole(
        steps in proptest::collection::vec(step(), 1..40),
    ) {
        let mut world = World::new(PROJECT);
        let mut model = Model::default();
        for step in steps {
            if matches!(step, Step::Begin(_)) && model.chains.len() == CHAINS {
                continue;
            }
            let before = world.state.row().tip;
            let expected = model.expected(&step);
            let given = world.give(PrincipalKind::Human, model.command(&step));
            match (given, expected) {
                (Ok(answer), Ok(said)) => model.note(&step, root_of(&answer), said),
                (Err(refused), Err(code)) => {
                    prop_assert_eq!(refused.code, code, "{:?}", step);
                    prop_assert_eq!(world.state.row().tip, before);
                }
                (given, expected) => prop_assert!(false, "{step:?}: {given:?}, {expected:?}"),
            }
        }
        for (chain, (root, versions)) in model.chains.iter().enumerate() {
            let head = world.state.decision(*root).unwrap();
            let of_chain = world.decision_versions.range((*root, 0)..=(*root, u64::MAX));
            let stored: Vec<_> = of_chain.map(|(_, version)| version.clone()).collect();
            prop_assert_eq!(decision_chain(&stored, head), Ok(()));
            prop_assert_eq!(stored.len(), versions.len());
            for (stored, said) in stored.iter().zip(versions) {
                let wanted = said.as_ref().map(|said| model.text(said));
                prop_assert_eq!(&stored.text, &wanted);
            }
            let newest = model.newest(chain).map(|said| model.text(said).relations);
            prop_assert_eq!(Some(&head.relations), newest.as_ref());
        }
        prop_assert_eq!(Rows::written(&world.decision_changes), Rows::explained(&world, &model));
    }
}
