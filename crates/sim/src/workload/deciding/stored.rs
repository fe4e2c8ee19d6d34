//! What the rows of decisions must say.
//!
//! Owns that a chain has no gap and one active version at most, that it is listed, claimed and pointed from as its head says,
//! each relation with what the decision is called, and that every save which somebody was told of is one version. From which
//! command a version follows, `sent` says; what the rows of evidence and anchors must say, `kept`.

pub(super) mod kept;

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use sillok_core::decision::{DecisionHead, DecisionVersion, NamedEdge};
use sillok_core::id::{DecisionId, Seq};
use sillok_core::invariants::decision_chain;
use sillok_core::scope::Scope;
use sillok_store::keys::{
    Family, ScopeKey, decision, decision_claim, decision_listed, decision_version, related,
};

use super::view::scopes;
use crate::violation::Violation;
use crate::workload::End;

/// A version that somebody was told of who had saved it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Acknowledged {
    pub(super) scope: Scope,
    pub(super) root: DecisionId,
    /// The version that was expected; none where the chain began.
    pub(super) expected: Option<u64>,
    /// The version that it became.
    pub(super) number: u64,
    /// The event that it was acknowledged with.
    pub(super) seq: Seq,
    /// What it says; none where it withdrew the decision.
    pub(super) content: Option<String>,
}

/// The rows of decisions.
#[derive(Clone, Debug, Default)]
pub(super) struct Stored {
    scopes: BTreeMap<ScopeKey, Scope>,
    heads: BTreeMap<(ScopeKey, DecisionId), DecisionHead>,
    versions: BTreeMap<(ScopeKey, DecisionId), Vec<DecisionVersion>>,
    listed: BTreeSet<decision_listed::Key>,
    claimed: BTreeMap<decision_claim::Key, decision_claim::Declared>,
    related: BTreeMap<related::Key, NamedEdge>,
}

impl Stored {
    pub(super) fn read(end: &End<'_>) -> Self {
        const READ: &str = "the audit has read it";
        let mut stored = Self {
            scopes: scopes(end),
            ..Self::default()
        };
        for (key, value) in end.rows(Family::Decision) {
            let at = decision::parse(&key).expect(READ);
            let head = decision::decode(&key, &value).expect(READ);
            stored.heads.insert((at.scope, at.root), head);
        }
        for (key, value) in end.rows(Family::DecisionVersion) {
            let at = decision_version::parse(&key).expect(READ);
            let version = decision_version::decode(&key, &value).expect(READ);
            let chain = stored.versions.entry((at.scope, at.root));
            chain.or_default().push(version);
        }
        for (key, value) in end.rows(Family::DecisionListed) {
            let at = decision_listed::parse(&key).expect(READ);
            decision_listed::decode(&key, &value).expect(READ);
            stored.listed.insert(at);
        }
        for (key, value) in end.rows(Family::DecisionClaim) {
            let at = decision_claim::parse(&key).expect(READ);
            let declared = decision_claim::decode(&key, &value).expect(READ);
            stored.claimed.insert(at, declared);
        }
        for (key, value) in end.rows(Family::Related) {
            let at = related::parse(&key).expect(READ);
            let named = related::decode(&key, &value).expect(READ);
            stored.related.insert(at, named);
        }
        stored
    }

    /// That the versions of each decision are one chain, as its head tells.
    ///
    /// # Errors
    /// The first chain that is none.
    pub(super) fn are_chains(&self) -> Result<(), Violation> {
        for (at, head) in &self.heads {
            let versions = self.versions.get(at).map_or(&[][..], Vec::as_slice);
            decision_chain(versions, head)?;
        }
        let headless = self
            .versions
            .keys()
            .find(|at| !self.heads.contains_key(*at));
        match headless {
            None => Ok(()),
            Some((_, root)) => {
                let what = format!("decision {root} has versions and no head");
                Err(Violation::new(
                    "relations and lists fit their decisions",
                    what,
                ))
            }
        }
    }

    /// A row that no head explains, or one that is missing, of lists, claims and relations.
    pub(super) fn misfit(&self) -> Option<String> {
        let mut listed = BTreeSet::new();
        let mut claimed = BTreeMap::new();
        let mut related = BTreeMap::new();
        for ((scope, root), head) in self.heads.iter().filter(|(_, head)| head.active) {
            let at = decision_listed::Key {
                scope: *scope,
                rank: head.rank,
                domain: decision_listed::DomainKey::of(&head.domain),
                begun: head.begun_seq,
                root: *root,
            };
            listed.insert(at);
            if let Some(claim) = &head.claim {
                let at = decision_claim::Key {
                    scope: *scope,
                    claim: decision_claim::ClaimKey::of(&claim.key),
                    root: *root,
                };
                let declared = decision_claim::Declared::of(head.version, &claim.value);
                claimed.insert(at, declared);
            }
            for edge in head.edges(&self.scopes[scope]) {
                let at = related::Key::of(&edge).expect("it begins at a decision");
                let name = Some(head.name());
                related.insert(at, NamedEdge { edge, name });
            }
        }
        let place = |at: &decision_listed::Key| (*at, ());
        let is = self.listed.iter().map(place).collect();
        let misfit = differs("listed", &is, &listed.iter().map(place).collect());
        let misfit = misfit.or_else(|| differs("claimed", &self.claimed, &claimed));
        misfit.or_else(|| differs("related", &self.related, &related))
    }

    /// Each version, with the scope that holds it.
    pub(super) fn versions(&self) -> impl Iterator<Item = (&Scope, &DecisionVersion)> {
        let is_erased = |at: &(ScopeKey, DecisionId)| {
            let head = self.heads.get(at);
            head.is_some_and(DecisionHead::is_erased)
        };
        let left = self.versions.iter().filter(move |(at, _)| !is_erased(at));
        left.flat_map(|((scope, _), versions)| {
            let scope = &self.scopes[scope];
            versions.iter().map(move |version| (scope, version))
        })
    }

    /// A save that somebody was told of and that is not one version, right behind the one that it expected, if there is
    /// one.
    pub(super) fn unsaved(&self, told: &[Acknowledged]) -> Option<String> {
        let mut known: BTreeSet<(ScopeKey, DecisionId, u64)> = BTreeSet::new();
        for one in told {
            let scope = ScopeKey::of(&one.scope);
            if one.number != one.expected.unwrap_or(0) + 1 {
                return Some(format!("{one:?} does not follow what was expected"));
            }
            if !known.insert((scope, one.root, one.number)) {
                return Some(format!("{one:?} was acknowledged twice"));
            }
            let versions = self.versions.get(&(scope, one.root));
            let mut versions = versions.into_iter().flatten();
            let said = versions.find(|version| version.number == one.number);
            let is_said = said.is_some_and(|version| {
                let content = version.text.as_ref().map(|text| &text.content);
                content == one.content.as_ref() && version.seq == one.seq
            });
            if !is_said {
                return Some(format!("{one:?} is not in the history, but {said:?}"));
            }
        }
        None
    }
}

/// The first row that is there and should not be, or the other way about, or says something else.
fn differs<K: Ord + std::fmt::Debug, V: PartialEq + std::fmt::Debug>(
    what: &str,
    is: &BTreeMap<K, V>,
    should_be: &BTreeMap<K, V>,
) -> Option<String> {
    let wrong = is
        .iter()
        .find(|(key, value)| should_be.get(*key) != Some(*value));
    let wrong = wrong.map(|row| format!("{what}: {row:?} is there, and follows from nothing"));
    wrong.or_else(|| {
        let missing = should_be.iter().find(|(key, _)| !is.contains_key(*key))?;
        Some(format!("{what}: {missing:?} is not there"))
    })
}

#[cfg(test)]
mod tests {
    use sillok_core::decision::{Act, Domain, Node, Rank, Relation, RelationKind};
    use sillok_core::entry::Claim;
    use sillok_core::principal::{Actor, PrincipalId, PrincipalKind};
    use sillok_core::time::Timestamp;

    use super::super::view::tests::{root, text};
    use super::*;

    fn scope() -> Scope {
        Scope::parse("org/a").unwrap()
    }

    fn key() -> ScopeKey {
        ScopeKey::of(&scope())
    }

    fn version(number: u64, act: Act, content: Option<&str>) -> DecisionVersion {
        let mut said = content.map(|content| text(Rank::Lock, "ui", content));
        if let Some(said) = &mut said {
            said.claim = Some(Claim {
                key: "a.key".into(),
                value: "1".into(),
            });
            said.relations = vec![Relation {
                kind: RelationKind::AppliesTo,
                to: Node::file("src/a.rs").unwrap(),
            }];
        }
        DecisionVersion {
            root: root(1),
            number,
            act,
            text: said,
            reason: "it was so".into(),
            by: Actor {
                kind: PrincipalKind::Human,
                id: PrincipalId::parse("p").unwrap(),
            },
            at: Timestamp::EPOCH,
            seq: Seq::new(number),
        }
    }

    /// A decision of two versions, as it is stored.
    fn stored() -> Stored {
        let versions = vec![
            version(1, Act::Begun, Some("one")),
            version(2, Act::Changed, Some("two")),
        ];
        let said = versions[1].text.clone().unwrap();
        let head = DecisionHead {
            root: root(1),
            version: 2,
            active: true,
            rank: said.rank,
            domain: said.domain,
            phase: None,
            title: said.title,
            claim: said.claim,
            relations: said.relations,
            begun_seq: Seq::new(1),
            begun_at: Timestamp::EPOCH,
            changed_at: Timestamp::EPOCH,
        };
        let edges = head.edges(&scope()).into_iter();
        let listed = decision_listed::Key {
            scope: key(),
            rank: Rank::Lock,
            domain: decision_listed::DomainKey::of(&"ui".parse::<Domain>().unwrap()),
            begun: Seq::new(1),
            root: root(1),
        };
        let claimed = decision_claim::Key {
            scope: key(),
            claim: decision_claim::ClaimKey::of("a.key"),
            root: root(1),
        };
        let declared = head
            .claim
            .as_ref()
            .map(|claim| decision_claim::Declared::of(head.version, &claim.value));
        Stored {
            scopes: [(key(), scope())].into(),
            related: edges
                .map(|edge| {
                    let name = Some(head.name());
                    let at = related::Key::of(&edge).unwrap();
                    (at, NamedEdge { edge, name })
                })
                .collect(),
            heads: [((key(), root(1)), head)].into(),
            versions: [((key(), root(1)), versions)].into(),
            listed: [listed].into(),
            claimed: declared
                .map(|declared| (claimed, declared))
                .into_iter()
                .collect(),
        }
    }

    fn head(stored: &mut Stored) -> &mut DecisionHead {
        stored.heads.get_mut(&(key(), root(1))).unwrap()
    }

    fn chain(stored: &mut Stored) -> &mut Vec<DecisionVersion> {
        stored.versions.get_mut(&(key(), root(1))).unwrap()
    }

    #[test]
    fn a_gap_a_second_beginning_and_versions_without_a_head_are_found() {
        let is_wrong = |spoil: fn(&mut Stored)| {
            let mut stored = stored();
            spoil(&mut stored);
            stored.are_chains().is_err()
        };
        assert!(!is_wrong(|_| ()));
        assert!(is_wrong(|stored| chain(stored)[1].number = 3));
        assert!(is_wrong(|stored| chain(stored)[1].act = Act::Begun));
        assert!(is_wrong(|stored| drop(chain(stored).remove(0))));
        assert!(is_wrong(|stored| head(stored).active = false));
        assert!(is_wrong(|stored| stored.heads.clear()));
    }

    #[test]
    fn rows_that_follow_from_no_head_and_rows_that_are_missing_are_found() {
        let is_wrong = |spoil: fn(&mut Stored)| {
            let mut stored = stored();
            spoil(&mut stored);
            stored.misfit().is_some()
        };
        assert!(!is_wrong(|_| ()));
        // A relation, a place in a list and a claim that were left behind.
        assert!(is_wrong(|stored| head(stored).relations.clear()));
        assert!(is_wrong(|stored| head(stored).rank = Rank::Axis));
        assert!(is_wrong(|stored| head(stored).claim = None));
        assert!(is_wrong(|stored| head(stored).active = false));
        // Some that are not there.
        assert!(is_wrong(|stored| stored.related.clear()));
        assert!(is_wrong(|stored| stored.listed.clear()));
        assert!(is_wrong(|stored| stored.claimed.clear()));
        // A second place in the lists.
        assert!(is_wrong(|stored| {
            let mut place = *stored.listed.first().unwrap();
            place.rank = Rank::Axis;
            stored.listed.insert(place);
        }));
        // A relation that says what its decision was called, or how strong it was, before its last version, or neither.
        assert!(is_wrong(|stored| {
            let mut related = stored.related.values_mut();
            let name = related.next().unwrap().name.as_mut();
            name.unwrap().title = "what it was called before".into();
        }));
        assert!(is_wrong(|stored| {
            let mut related = stored.related.values_mut();
            let name = related.next().unwrap().name.as_mut();
            name.unwrap().rank = Rank::Axis;
        }));
        assert!(is_wrong(|stored| {
            let mut related = stored.related.values_mut();
            related.next().unwrap().name = None;
        }));
        // One that stands for another value.
        assert!(is_wrong(|stored| {
            let mut claims = stored.claimed.values_mut();
            *claims.next().unwrap() = decision_claim::Declared::of(2, "another");
        }));
    }

    #[test]
    fn a_save_that_is_not_there_or_there_twice_or_elsewhere_is_found() {
        let told = |expected: Option<u64>, number: u64, content: &str| Acknowledged {
            scope: scope(),
            root: root(1),
            expected,
            number,
            seq: Seq::new(number),
            content: Some(content.into()),
        };
        let (first, second) = (told(None, 1, "one"), told(Some(1), 2, "two"));
        let is_wrong = |told: &[&Acknowledged]| {
            let told: Vec<Acknowledged> = told.iter().copied().cloned().collect();
            stored().unsaved(&told).is_some()
        };
        assert!(!is_wrong(&[]));
        assert!(!is_wrong(&[&second, &first]));
        assert!(is_wrong(&[&first, &second, &second]));
        assert!(is_wrong(&[&first, &told(Some(1), 2, "another")]));
        assert!(is_wrong(&[&first, &second, &told(Some(2), 3, "three")]));
        // Two that expected the same version cannot both have got it.
        assert!(is_wrong(&[&first, &told(Some(0), 2, "two")]));
        let withdrawn = Acknowledged {
            content: None,
            ..second.clone()
        };
        assert!(is_wrong(&[&first, &withdrawn]));
        let elsewhere = Acknowledged {
            seq: Seq::new(3),
            ..second
        };
        assert!(is_wrong(&[&first, &elsewhere]));
    }
}
