//! The board on which agents tell one another of decisions, evidence and anchors.
//!
//! Owns what is known of each: as much as whoever saved it was told. Others may have changed it since.

use sillok_core::command::DecisionRef;
use sillok_core::decision::{
    DeclaredKind, Domain, NewDecision, Node, Rank, Reach, Relation, RelationKind,
};
use sillok_core::entry::Claim;
use sillok_core::id::{AnchorId, DecisionId, EvidenceId};
use sillok_core::scope::{Level, Scope};

use super::asked::Asker;
use super::declaring::name;
use super::original::Original;
use super::{DOMAINS, KEYS, PLACES, Says};

/// What is known of a decision.
#[derive(Clone, Debug)]
pub(super) struct Known {
    pub(super) scope: Scope,
    pub(super) root: DecisionId,
    pub(super) version: u64,
    pub(super) active: bool,
    /// What it said, with the number of the version, in the order in which that became known.
    pub(super) texts: Vec<(u64, NewDecision)>,
}

impl Known {
    /// The decision as a node.
    pub(super) fn node(&self) -> Node {
        Node::Decision {
            scope: self.scope.clone(),
            root: self.root,
        }
    }

    /// The decision in the version that is known.
    pub(super) fn named(&self) -> DecisionRef {
        DecisionRef {
            root: self.root,
            expected_version: self.version,
        }
    }

    /// What it said last, as far as it is known.
    pub(super) fn relations(&self) -> &[Relation] {
        let last = self.texts.iter().max_by_key(|(number, _)| *number);
        last.map_or(&[][..], |(_, text)| text.relations.as_slice())
    }
}

/// What is known of evidence.
#[derive(Clone, Debug)]
pub(super) struct KnownEvidence {
    pub(super) scope: Scope,
    pub(super) id: EvidenceId,
    /// What was saved.
    pub(super) original: Original,
}

impl KnownEvidence {
    /// The evidence as a node.
    pub(super) fn node(&self) -> Node {
        Node::Evidence {
            scope: self.scope.clone(),
            id: self.id,
        }
    }
}

/// What is known of an anchor.
#[derive(Clone, Debug)]
pub(super) struct KnownAnchor {
    pub(super) scope: Scope,
    pub(super) id: AnchorId,
    dropped: bool,
}

/// All decisions that are known, the first that was begun first, and all evidence and anchors.
#[derive(Debug, Default)]
pub(super) struct Board {
    known: Vec<Known>,
    pub(super) evidence: Vec<KnownEvidence>,
    anchors: Vec<KnownAnchor>,
    /// Kinds of relations, each with the scope that declared it.
    declared: Vec<(Scope, DeclaredKind)>,
    /// How many saves were acknowledged.
    pub(super) saves: u64,
}

impl Board {
    /// Tells of a version.
    pub(super) fn saved(
        &mut self,
        scope: &Scope,
        (root, version): (DecisionId, u64),
        text: Option<NewDecision>,
    ) {
        self.saves += 1;
        let found = self.known.iter().position(|one| one.root == root);
        let place = found.unwrap_or_else(|| {
            self.known.push(Known {
                scope: scope.clone(),
                root,
                version: 0,
                active: false,
                texts: Vec::new(),
            });
            self.known.len() - 1
        });
        let known = &mut self.known[place];
        if version > known.version {
            known.version = version;
            known.active = text.is_some();
        }
        known.texts.extend(text.map(|text| (version, text)));
    }

    /// The decision at a place among all.
    pub(super) fn at(&self, which: u8) -> Option<Known> {
        Self::among(self.known.iter(), which)
    }

    /// The decision at a place among those that were withdrawn.
    pub(super) fn withdrawn(&self, which: u8) -> Option<Known> {
        Self::among(self.known.iter().filter(|one| !one.active), which)
    }

    /// The decision at a place among those that are seen from a scope: of it, around it or inside it.
    pub(super) fn seen_from(&self, scope: &Scope, which: u8) -> Option<Known> {
        let is_seen = |one: &&Known| one.scope.contains(scope) || scope.contains(&one.scope);
        Self::among(self.known.iter().filter(is_seen), which)
    }

    /// The evidence at a place among all.
    pub(super) fn evidence_at(&self, which: u8) -> Option<KnownEvidence> {
        Self::among(self.evidence.iter(), which)
    }

    /// The evidence at a place among what is seen from a scope: of it, around it or inside it.
    pub(super) fn evidence_seen_from(&self, scope: &Scope, which: u8) -> Option<KnownEvidence> {
        let is_seen =
            |one: &&KnownEvidence| one.scope.contains(scope) || scope.contains(&one.scope);
        Self::among(self.evidence.iter().filter(is_seen), which)
    }

    /// The evidence at a place among what a scope can point to.
    fn evidence_around(&self, scope: &Scope, which: u8) -> Option<KnownEvidence> {
        let around = self.evidence.iter().filter(|one| one.scope.contains(scope));
        Self::among(around, which)
    }

    /// The anchor at a place among all.
    pub(super) fn anchor_at(&self, which: u8) -> Option<KnownAnchor> {
        Self::among(self.anchors.iter(), which)
    }

    /// The anchor at a place among those that were not dropped.
    pub(super) fn held(&self, which: u8) -> Option<KnownAnchor> {
        Self::among(self.anchors.iter().filter(|one| !one.dropped), which)
    }

    /// Tells of anchors that were added.
    pub(super) fn pointed(&mut self, scope: &Scope, ids: &[AnchorId]) {
        self.anchors.extend(ids.iter().map(|id| KnownAnchor {
            scope: scope.clone(),
            id: *id,
            dropped: false,
        }));
    }

    /// Tells of a kind of relation that was declared.
    pub(super) fn declared(&mut self, scope: &Scope, kind: DeclaredKind) {
        self.declared.push((scope.clone(), kind));
    }

    /// A kind by its place: those that are built in come first, and then the names that are declared, each as the nearest
    /// scope declares it that is known to. Of one that nobody is known to have declared, whoever uses it guesses.
    fn kind(&self, scope: &Scope, number: u8) -> RelationKind {
        if let Some(built_in) = RelationKind::BUILT_IN.get(usize::from(number)) {
            return *built_in;
        }
        let name = name(number - RelationKind::DECLARED_ORDINAL);
        let around = self.declared.iter();
        let around = around.filter(|(of, kind)| kind.name == name && of.contains(scope));
        let nearest = around.max_by_key(|(of, _)| of.as_str().len());
        let guessed = DeclaredKind {
            name,
            reach: Reach::Both,
        };
        RelationKind::Declared(nearest.map_or(guessed, |(_, kind)| *kind))
    }

    /// Tells that an anchor was dropped.
    pub(super) fn dropped(&mut self, id: AnchorId) {
        let mut anchors = self.anchors.iter_mut();
        if let Some(known) = anchors.find(|one| one.id == id) {
            known.dropped = true;
        }
    }

    /// What an anchor of a scope points to, nothing twice: evidence, or decisions, by their places among those of the scope
    /// and around it. Few of the decisions may be withdrawn.
    pub(super) fn goals(&self, scope: &Scope, goals: &[(bool, u8)]) -> Vec<Node> {
        let mut nodes: Vec<Node> = Vec::new();
        for (is_evidence, which) in goals {
            let node = if *is_evidence {
                let found = self.evidence_around(scope, *which);
                found.map(|known| known.node())
            } else {
                let takes_all = which % 8 == 7;
                let around = self.known.iter().filter(|one| one.scope.contains(scope));
                let around = around.filter(|one| one.active || takes_all);
                Self::among(around, *which).map(|known| known.node())
            };
            let node = node.filter(|node| !nodes.contains(node));
            nodes.extend(node);
        }
        nodes
    }

    /// Whether something is related to one of these nodes, and hidden from whoever asks, since it lies inside the scope and
    /// is not covered by the token.
    pub(super) fn hides(&self, by: &Asker, nodes: &[Node]) -> bool {
        let mut hidden = self.known.iter().filter(|one| {
            let is_inside = by.scope.contains(&one.scope) && one.scope != by.scope;
            one.active && is_inside && !by.prefix.covers(&one.scope)
        });
        let carried = [
            RelationKind::DependsOn,
            RelationKind::AppliesTo,
            RelationKind::RestsOn,
        ];
        hidden.any(|one| {
            let mut relations = one.relations().iter();
            relations.any(|relation| {
                let declared = relation.kind.declared();
                let is_carried = carried.contains(&relation.kind)
                    || declared.is_some_and(|kind| kind.reach.carries_back());
                is_carried && nodes.contains(&relation.to)
            })
        })
    }

    fn among<'a, T: Clone + 'a>(known: impl Iterator<Item = &'a T>, which: u8) -> Option<T> {
        let known: Vec<&T> = known.collect();
        let place = usize::from(which).checked_rem(known.len())?;
        Some(known[place].clone())
    }

    /// What a decision of a scope says under this content. `before` is the one that it changes.
    pub(super) fn text(
        &self,
        scope: &Scope,
        says: &Says,
        before: Option<&Known>,
        content: String,
    ) -> NewDecision {
        let wanted = Rank::ALL[usize::from(says.rank) % Rank::ALL.len()];
        let rank = match wanted {
            Rank::Policy if scope.level() < Level::Project => Rank::Lock,
            rank => rank,
        };
        let domain = match rank {
            Rank::Policy => Domain::global(),
            _ => domain(says.domain),
        };
        let relations = match (&says.relations, before) {
            (None, before) => before.map_or_else(Vec::new, |known| known.relations().to_vec()),
            (Some(said), before) => self.relations(scope, said, before),
        };
        NewDecision {
            rank,
            domain,
            phase: None,
            title: format!("what is said by {content}"),
            content,
            claim: says.claim.map(|key| Claim {
                key: KEYS[usize::from(key) % KEYS.len()].to_owned(),
                value: (says.domain % 2).to_string(),
            }),
            relations,
        }
    }

    /// Relations to decisions and evidence that are seen from above or beside, and to files and symbols, none of them twice.
    fn relations(&self, scope: &Scope, said: &[(u8, u8)], before: Option<&Known>) -> Vec<Relation> {
        let mut relations: Vec<Relation> = Vec::new();
        for (kind, which) in said {
            let kind = self.kind(scope, *kind);
            let to = match kind {
                RelationKind::AppliesTo => Some(place(*which)),
                RelationKind::RestsOn => {
                    let found = self.evidence_around(scope, *which);
                    found.map(|known| known.node())
                }
                RelationKind::DependsOn
                | RelationKind::Constrains
                | RelationKind::Validates
                | RelationKind::Declared(_) => {
                    let own = before.map(|known| known.root);
                    let others = self
                        .known
                        .iter()
                        .filter(|one| one.scope.contains(scope) && Some(one.root) != own);
                    Self::among(others, *which).map(|known| known.node())
                }
            };
            let relation = to.map(|to| Relation { kind, to });
            if let Some(relation) = relation.filter(|one| !relations.contains(one)) {
                relations.push(relation);
            }
        }
        relations
    }
}

/// A file or symbol.
pub(super) fn place(number: u8) -> Node {
    let place = PLACES[usize::from(number) % PLACES.len()];
    place
        .parse()
        .expect("the workload names places that can be")
}

/// A domain.
pub(super) fn domain(number: u8) -> Domain {
    let domain = DOMAINS[usize::from(number) % DOMAINS.len()];
    domain
        .parse()
        .expect("the workload names domains that can be")
}

#[cfg(test)]
mod tests {
    use super::super::asked::tests::asker;
    use super::super::original::tests::original;
    use super::super::view::tests::{anchor_id, evidence_id, root};
    use super::*;

    fn scope(path: &str) -> Scope {
        Scope::parse(path).unwrap()
    }

    fn says(rank: Rank, relations: Option<Vec<(u8, u8)>>) -> Says {
        Says {
            rank: rank as u8,
            domain: 1,
            claim: None,
            relations,
        }
    }

    /// A board with a decision of each of these scopes.
    fn board(scopes: &[&str]) -> Board {
        let mut board = Board::default();
        for (number, path) in (1..).zip(scopes) {
            let scope = scope(path);
            let text = board.text(&scope, &says(Rank::Normal, None), None, "a".into());
            board.saved(&scope, (root(number), 1), Some(text));
        }
        board
    }

    #[test]
    fn a_policy_is_one_only_where_it_can_be_and_for_everything() {
        let policy = |path: &str| {
            let text = board(&[]).text(&scope(path), &says(Rank::Policy, None), None, "a".into());
            (text.rank, text.domain.is_global())
        };
        assert_eq!(policy("org/a"), (Rank::Policy, true));
        assert_eq!(policy("org/a/project/b"), (Rank::Policy, true));
        assert_eq!(policy("org/a/project/b/worktree/c"), (Rank::Lock, false));
    }

    #[test]
    fn relations_lead_to_what_may_be_related_to_and_each_is_said_once() {
        let board = board(&["org/a", "org/a/project/b", "org/a/project/c"]);
        let home = scope("org/a/project/b");
        let said = |before: Option<&Known>, said: Vec<(u8, u8)>| -> Vec<Relation> {
            let says = says(Rank::Normal, Some(said));
            board.text(&home, &says, before, "b".into()).relations
        };
        let kinds = [0, 1, 2].map(|kind| (kind, 5));
        for relation in said(None, kinds.into()) {
            assert!(relation.kind.leads_to(&relation.to), "{relation:?}");
            let aside = scope("org/a/project/c");
            let is_aside = matches!(&relation.to, Node::Decision { scope, .. } if *scope == aside);
            assert!(!is_aside, "{relation:?}");
        }
        assert_eq!(said(None, vec![(0, 0), (0, 2), (3, 1), (3, 5)]).len(), 2);
        // A decision is not related to itself, and keeps what it said where nothing is said.
        let own = board.at(1).unwrap();
        for which in 0..4 {
            let relations = said(Some(&own), vec![(1, which)]);
            assert_eq!(relations.len(), 1);
            assert_ne!(relations[0].to, own.node());
        }
    }

    #[test]
    fn a_declared_kind_is_used_as_the_nearest_scope_is_known_to_declare_it() {
        let (above, home, aside) = ("org/a", "org/a/project/b", "org/a/project/c");
        let mut board = board(&[above]);
        let number = RelationKind::DECLARED_ORDINAL + 1;
        let used = |board: &Board, path: &str| {
            let says = says(Rank::Normal, Some(vec![(number, 0)]));
            let text = board.text(&scope(path), &says, None, "c".into());
            let [relation] = text.relations.as_slice() else {
                panic!("{:?}", text.relations);
            };
            assert!(relation.kind.leads_to(&relation.to), "{relation:?}");
            let kind = relation.kind.declared().unwrap();
            assert_eq!(kind.name, name(1));
            kind.reach
        };
        assert_eq!(used(&board, home), Reach::Both, "it is guessed");
        for (path, reach) in [
            (home, Reach::Forward),
            (aside, Reach::Neither),
            (above, Reach::Backward),
        ] {
            let name = name(1);
            board.declared(&scope(path), DeclaredKind { name, reach });
        }
        let inside = format!("{home}/worktree/w");
        assert_eq!(used(&board, &inside), Reach::Forward);
        assert_eq!(used(&board, "org/a/project/d"), Reach::Backward);
        let to = [board.at(0).unwrap().node()];
        let text = |reach| {
            let kind = DeclaredKind {
                name: name(1),
                reach,
            };
            let mut text = board.at(0).unwrap().texts[0].1.clone();
            text.relations = vec![Relation {
                kind: RelationKind::Declared(kind),
                to: to[0].clone(),
            }];
            text
        };
        for (number, reach) in (2..).zip(Reach::ALL) {
            let mut board = self::board(&[above]);
            board.saved(&scope(home), (root(number), 1), Some(text(reach)));
            let hides = board.hides(&asker(above, aside), &to);
            assert_eq!(hides, reach.carries_back(), "{reach}");
        }
    }

    fn known(path: &str, number: u8) -> KnownEvidence {
        KnownEvidence {
            scope: scope(path),
            id: evidence_id(number),
            original: original(number.into(), 0, false),
        }
    }

    #[test]
    fn what_rests_on_evidence_and_what_points_leads_to_what_lies_around_and_to_nothing_twice() {
        let (above, home, aside) = ("org/a", "org/a/project/b", "org/a/project/c");
        let mut board = board(&[above, home, aside]);
        let evidence = [known(above, 1), known(home, 2), known(aside, 3)];
        board.evidence.extend(evidence);
        let seen_from = |scope: &Scope| -> Vec<u8> {
            let seen = (0..3).filter_map(|which| board.evidence_seen_from(scope, which));
            seen.map(|one| one.id.as_bytes()[0]).collect()
        };
        assert_eq!(seen_from(&scope(home)), [1, 2, 1]);
        assert_eq!(seen_from(&scope(above)), [1, 2, 3]);
        let is_around = |node: &Node| match node {
            Node::Decision { scope: of, .. } | Node::Evidence { scope: of, .. } => {
                of.contains(&scope(home))
            }
            _ => false,
        };
        for which in 0..9 {
            let says = says(Rank::Normal, Some(vec![(4, which)]));
            let text = board.text(&scope(home), &says, None, "c".into());
            let [relation] = text.relations.as_slice() else {
                panic!("{:?}", text.relations);
            };
            assert!(relation.kind.leads_to(&relation.to), "{relation:?}");
            assert!(is_around(&relation.to), "{relation:?}");
            let goals = board.goals(&scope(home), &[(true, which), (false, which)]);
            assert_eq!(goals.len(), 2);
            assert!(goals.iter().all(is_around), "{goals:?}");
        }
        // The same place comes around to the same node.
        let goals = board.goals(&scope(home), &[(true, 0), (true, 2), (false, 0)]);
        assert_eq!(goals.len(), 2);
    }

    #[test]
    fn what_points_leads_to_what_was_withdrawn_seldom_and_what_was_dropped_is_not_held() {
        let mut board = board(&["org/a", "org/a"]);
        let home = scope("org/a");
        board.saved(&home, (root(1), 2), None);
        let to = |which: u8| board.goals(&home, &[(false, which)]);
        assert!((0..7).all(|which| to(which) == [board.at(1).unwrap().node()]));
        assert_eq!(to(7), [board.at(1).unwrap().node()]);
        board.saved(&home, (root(3), 1), None);
        board.saved(&home, (root(2), 2), None);
        let to = |which: u8| board.goals(&home, &[(false, which)]);
        assert!((0..7).all(|which| to(which).is_empty()));
        assert_eq!(to(7).len(), 1);
        board.pointed(&home, &[anchor_id(1), anchor_id(2)]);
        board.dropped(anchor_id(1));
        let held = [0, 1].map(|which| board.held(which).unwrap().id);
        assert_eq!(held, [anchor_id(2); 2]);
        assert_eq!(board.anchor_at(0).unwrap().id, anchor_id(1));
    }

    #[test]
    fn what_is_told_late_of_an_earlier_version_does_not_hide_the_newest() {
        let mut board = board(&["org/a"]);
        let home = scope("org/a");
        let text = board.at(0).unwrap().texts[0].1.clone();
        board.saved(&home, (root(1), 3), None);
        board.saved(&home, (root(1), 2), Some(text));
        let known = board.at(7).unwrap();
        assert_eq!((known.version, known.active), (3, false));
        assert_eq!(known.texts.len(), 2);
        assert_eq!(board.withdrawn(0).unwrap().root, root(1));
        assert!(board.seen_from(&scope("org/b"), 0).is_none());
    }

    #[test]
    fn what_is_related_and_not_covered_is_known_to_be_hidden() {
        let (above, inside) = ("org/a", "org/a/project/b");
        let mut board = board(&[above]);
        let text = board.text(
            &scope(inside),
            &says(Rank::Normal, Some(vec![(0, 0)])),
            None,
            "b".into(),
        );
        assert_eq!(text.relations[0].kind, RelationKind::DependsOn);
        board.saved(&scope(inside), (root(2), 1), Some(text));
        let nodes = [board.at(0).unwrap().node()];
        assert!(board.hides(&asker(above, "org/a/project/c"), &nodes));
        assert!(!board.hides(&asker(above, inside), &nodes));
        assert!(!board.hides(&asker(inside, "org/a/project/c"), &nodes));
        assert!(!board.hides(&asker(above, "org/a/project/c"), &[place(0)]));
    }
}
