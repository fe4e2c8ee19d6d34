//! The families of decisions: what their ranges hold, in which order, and that the largest values fit.

use proptest::prelude::*;
use sillok_core::decision::{
    DecisionHead, DecisionName, Domain, Edge, NamedEdge, NewDecision, Node, Rank, RelationKind,
};
use sillok_core::id::{DecisionId, EvidenceId, Seq};
use sillok_core::scope::{Level, Scope};

use crate::fjall_store::SEPARATED_BYTES_MIN;
use crate::keys::decision_listed::DomainKey;
use crate::keys::samples::stored::Sample;
use crate::keys::samples::{Parts, decisions, golden, parts};
use crate::keys::{self, Family, related};
use crate::limits::VALUE_BYTES_MAX;

use super::stored::{assert_same_names, golden_rows};

proptest! {
    #[test]
    fn a_summary_is_what_the_head_says(
        rank in proptest::sample::select(Rank::ALL.to_vec()), phase in proptest::option::of("[a-z]{1,8}"),
        title in "\\PC{0,40}", active in proptest::bool::ANY, content_first in proptest::bool::ANY,
    ) {
        let phase = phase.map(|phase| phase.parse().unwrap());
        let text = NewDecision { rank, phase, title, ..decisions::largest(content_first) };
        let head = DecisionHead { active, ..decisions::head_of(text) };
        let summary = keys::decision::decode_summary(&[], &keys::decision::encode(&head)).unwrap();
        prop_assert_eq!((summary.active, summary.rank), (head.active, head.rank));
        prop_assert_eq!(summary.title, head.title);
    }

    #[test]
    fn ranges_of_decisions_hold_their_own_rows_and_no_others(a in parts(), b in parts()) {
        let (scope, other) = (a.scope_key(), b.scope_key());
        let same = scope == other;
        let heads = keys::decision::range_of_scope(&scope);
        prop_assert!(heads.contains(&keys::decision::key(&scope, b.root())));
        prop_assert_eq!(heads.contains(&keys::decision::key(&other, a.root())), same);
        let behind = keys::decision::range_after(&scope, Some(a.root()));
        prop_assert_eq!(behind.contains(&keys::decision::key(&scope, b.root())), b.root() > a.root());
        prop_assert_eq!(keys::decision::range_after(&scope, None), heads);

        let version = |p: &Parts| keys::decision_version::key(&scope, p.root(), b.number);
        let versions = keys::decision_version::range_after(&scope, a.root(), None);
        prop_assert!(versions.contains(&version(&a)));
        prop_assert_eq!(versions.contains(&version(&b)), a.root() == b.root());
        let behind = keys::decision_version::range_after(&scope, a.root(), Some(a.number));
        prop_assert_eq!(behind.contains(&version(&a)), b.number > a.number);

        let claims = keys::decision_claim::range_of_claim(&scope, a.claim_key());
        prop_assert!(claims.contains(&keys::decision_claim::key(&scope, a.claim_key(), b.root())));
        let foreign = keys::decision_claim::key(&scope, b.claim_key(), a.root());
        prop_assert_eq!(claims.contains(&foreign), a.text == b.text);
    }

    #[test]
    fn a_relation_lies_in_the_ranges_of_its_scope_and_of_those_around_it_and_in_no_others(
        a in parts(), b in parts(),
    ) {
        // Organisations, projects and tasks of the same and of different names, at each level.
        let scopes = scopes_of(&[&a.name, &b.name]);
        let (node, other) = (a.edge().to, Node::file("src/elsewhere.rs").unwrap());
        for from in &scopes {
            let place = related::Key { scope: related::ScopePath::of(from), ..a.related() };
            let key = related::key(&place);
            prop_assert_eq!(related::parse(&key).unwrap(), place);
            prop_assert_eq!(related::root_and_kind(&key).unwrap(), (place.root, place.kind.built_in()));
            for asked in &scopes {
                let exact = related::range_from(&node, asked);
                prop_assert_eq!(exact.contains(&key), asked == from, "{} in {}", from, asked);
                let inside = related::range_inside(&node, asked);
                prop_assert_eq!(inside.contains(&key), asked.contains(from), "{} in {}", from, asked);
                let others = [related::range_from(&other, asked), related::range_inside(&other, asked)];
                prop_assert!(others.iter().all(|range| !range.contains(&key)));
            }
        }
    }

    #[test]
    fn a_relation_that_says_what_its_decision_is_called_is_of_format_3(p in parts()) {
        let (key, named) = (related::key(&p.related()), p.named_edge());
        let value = related::encode(&named);
        prop_assert_eq!(value[0], 3);
        prop_assert_eq!(related::decode(&key, &value).unwrap(), named);
        let silent = NamedEdge::from(p.edge());
        prop_assert_eq!(related::encode(&silent)[0], 1);
    }

    #[test]
    fn whatever_rows_are_read_before_it_a_row_says_what_it_says(
        rows in proptest::collection::vec((parts(), parts(), 0usize..6, 0usize..8), 1..12),
    ) {
        // Nodes, scopes and decisions of one row and of the one before it are the same and are not; some lead to a scope around.
        let (mut decoder, mut last) = (related::Decoder::default(), golden().named_edge());
        for (p, to, what, level) in rows {
            let mut named = p.named_edge();
            if what % 2 == 0 {
                named.edge.from = last.edge.from.clone();
            }
            named.edge.to = match what {
                0 | 1 => last.edge.to,
                2 | 3 => to.edge().to,
                _ => {
                    let around = named.edge.from.scope().unwrap().with_ancestors();
                    let scope = around[level % around.len()].clone();
                    Node::Decision { scope, root: to.related().root }
                }
            };
            named.name = named.name.filter(|_| p.flag);
            let key = related::key(&related::Key::of(&named.edge).unwrap());
            let value = related::encode(&named);
            prop_assert_eq!(decoder.decode(&key, &value).unwrap(), named.clone());
            // What is damaged leaves nothing behind that a later row would say, however far it was read.
            let from = to.edge().from.to_string();
            let damaged = keys::codec::encode(1, &(from.as_str(), named.edge.kind, "nothing"));
            prop_assert!(decoder.decode(&key, &damaged).is_err());
            let scope = to.scope();
            let damaged = keys::codec::encode(3, &(&scope, named.edge.kind, (2u8, "nothing"), p.decision_head().name()));
            prop_assert!(decoder.decode(&key, &damaged).is_err());
            last = named;
        }
    }

    #[test]
    fn a_listing_holds_one_rank_and_domain_in_the_order_of_beginnings(
        a in parts(), b in parts(), rank in 0usize..4,
    ) {
        let (place, mut other) = (a.listed(), b.listed());
        let all = keys::decision_listed::range_after(&place.scope, place.rank, place.domain, None);
        prop_assert!(all.contains(&keys::decision_listed::key(&place)));
        other.scope = place.scope;
        other.rank = Rank::ALL[rank];
        let key = keys::decision_listed::key(&other);
        let listed = (other.rank, other.domain) == (place.rank, place.domain);
        prop_assert_eq!(all.contains(&key), listed);

        other.rank = place.rank;
        other.domain = place.domain;
        let key = keys::decision_listed::key(&other);
        let last = Some((place.begun, place.root));
        let behind = keys::decision_listed::range_after(&place.scope, place.rank, place.domain, last);
        let is_behind = (other.begun, other.root) > (place.begun, place.root);
        prop_assert_eq!(behind.contains(&key), is_behind);
        prop_assert_eq!(key > keys::decision_listed::key(&place), is_behind);
    }

    #[test]
    fn of_a_kind_that_is_not_wanted_no_value_is_looked_at(p in parts(), declared in parts()) {
        let mut decoder = related::Decoder::default();
        for named in [p.named_edge(), declared.named_edge()] {
            let key = related::key(&related::Key::of(&named.edge).unwrap());
            let value = related::encode(&named);
            let kind = named.edge.kind;
            let wanted = decoder.decode_wanted(&key, &value, |told| told == kind).unwrap();
            prop_assert_eq!(wanted.as_ref(), Some(&named));
            // Which way a declared one goes its value alone says.
            let unwanted = |value: &[u8]| related::Decoder::default().decode_wanted(&key, value, |_| false);
            if kind.declared().is_none() {
                prop_assert_eq!(unwanted(&value).unwrap(), None);
                prop_assert_eq!(unwanted(b"nothing").unwrap(), None);
            } else {
                prop_assert_eq!(unwanted(&value).unwrap(), Some(named));
                prop_assert!(unwanted(b"nothing").is_err());
            }
        }
    }

    #[test]
    fn a_relation_lies_where_its_edge_says(p in parts()) {
        prop_assert_eq!(related::Key::of(&p.edge()), Some(p.related()));
        let mut from_a_file = p.edge();
        from_a_file.from = Node::file(&p.name).unwrap();
        prop_assert_eq!(related::Key::of(&from_a_file), None);
    }
}

#[test]
fn a_place_in_a_list_says_a_number_in_its_first_form_alone() {
    let key = keys::decision_listed::key(&golden().listed());
    for (said, format) in [(Some(7), 1), (None, 2)] {
        let value = keys::decision_listed::encode(&said);
        assert_eq!(value[0], format);
        assert_eq!(keys::decision_listed::decode(&key, &value).unwrap(), said);
    }
    for wrong in [keys::codec::encode(1, &()), keys::codec::encode(2, &7u64)] {
        let read = keys::decision_listed::decode(&key, &wrong);
        super::assert_corrupt(Family::DecisionListed, &key, read);
    }
}

proptest! {
    #[test]
    fn a_place_in_a_list_is_that_of_the_head_that_says_the_same_and_of_no_other(p in parts()) {
        let head = DecisionHead { active: true, ..p.decision_head() };
        let place = keys::decision_listed::Key {
            scope: p.scope_key(),
            rank: head.rank,
            domain: DomainKey::of(&head.domain),
            begun: head.begun_seq,
            root: head.root,
        };
        prop_assert!(place.is_of(&head));
        let rank = Rank::ALL[(head.rank as usize + 1) % Rank::ALL.len()];
        let domain = if head.domain.is_global() { "ui".parse().unwrap() } else { Domain::global() };
        let others = [
            DecisionHead { active: false, ..head.clone() },
            DecisionHead { rank, ..head.clone() },
            DecisionHead { domain, ..head.clone() },
            DecisionHead { begun_seq: Seq::new(head.begun_seq.get() ^ 1), ..head.clone() },
            DecisionHead { root: DecisionId::from_bytes([0xa5; 16]), ..head.clone() },
        ];
        prop_assert!(others.iter().all(|other| !place.is_of(other)));
    }
}

#[test]
fn stronger_ranks_are_listed_before_weaker_ones() {
    let listed = Rank::ALL.map(|rank| {
        // The weaker, the older: what was begun first does not come first.
        let begun = Seq::new(10 - rank as u64);
        keys::decision_listed::key(&keys::decision_listed::Key {
            rank,
            begun,
            ..golden().listed()
        })
    });
    assert!(listed.is_sorted());
}

#[test]
fn what_applies_everywhere_is_listed_before_what_applies_in_one_domain() {
    let global = DomainKey::of(&Domain::global());
    assert_eq!(global.as_bytes(), &[0; DomainKey::LEN]);
    for name in ["ui", "runtime", "coding", "globa1"] {
        assert!(DomainKey::of(&name.parse().unwrap()) > global, "{name}");
    }
}

/// Every scope of which each name is one of these.
fn scopes_of(names: &[&str]) -> Vec<Scope> {
    let orgs = names
        .iter()
        .map(|name| Scope::parse(&format!("org/{name}")));
    let mut scopes: Vec<Scope> = orgs.map(Result::unwrap).collect();
    let mut begin = 0;
    for _ in 1..Level::ALL.len() {
        let end = scopes.len();
        for outer in begin..end {
            let inner = names.iter().map(|name| scopes[outer].child(name).unwrap());
            let inner: Vec<Scope> = inner.collect();
            scopes.extend(inner);
        }
        begin = end;
    }
    scopes
}

#[test]
fn an_unknown_rank_or_kind_of_relation_is_corrupt() {
    let mut listed = keys::decision_listed::key(&golden().listed());
    listed[1 + keys::ScopeKey::LEN] = u8::try_from(Rank::ALL.len()).unwrap();
    super::assert_corrupt(
        Family::DecisionListed,
        &listed,
        keys::decision_listed::parse(&listed),
    );
    let mut relation = related::key(&golden().related());
    *relation.last_mut().unwrap() = RelationKind::DECLARED_ORDINAL + 1;
    super::assert_corrupt(Family::Related, &relation, related::parse(&relation));
}

#[test]
fn the_largest_version_and_its_event_fit_one_value_each() {
    for content_first in [true, false] {
        let text = decisions::largest(content_first);
        let head = keys::decision::encode(&decisions::head_of(text.clone()));
        let version = decisions::largest_version(text);
        let event = keys::event::encode(&decisions::largest_event(&version));
        let version = keys::decision_version::encode(&version);
        for (what, value) in [("head", head), ("version", version), ("event", event)] {
            assert!(value.len() <= VALUE_BYTES_MAX, "{what}: {}", value.len());
        }
    }
    let edge = related::encode(&decisions::longest_edge());
    assert!(edge.len() <= VALUE_BYTES_MAX, "edge: {}", edge.len());
}

#[test]
fn the_second_form_of_relations_is_read() {
    let p = golden();
    let (key, value) = super::golden_row("related_2.txt");
    assert_eq!((&key, value[0]), (&related::key(&p.related()), 2));
    assert_eq!(related::decode(&key, &value).unwrap(), p.named_edge());
    assert!(related::is_former(&value) && !related::is_former(&related::encode(&p.named_edge())));
}

fn decision(scope: &str, id: u8) -> Node {
    Node::Decision {
        scope: Scope::parse(scope).unwrap(),
        root: DecisionId::from_bytes([id; 16]),
    }
}

/// A relation of a decision of some scope, whose title is a line.
fn led_to(scope: &str, to: Node) -> NamedEdge {
    let edge = Edge {
        from: decision(scope, 1),
        kind: RelationKind::DependsOn,
        to,
    };
    let (rank, title) = (Rank::Lock, "t".repeat(90));
    let name = Some(DecisionName { rank, title });
    NamedEdge { edge, name }
}

#[test]
fn the_third_form_of_relations_never_changes_whatever_they_lead_to() {
    const TASK: &str = "org/a/project/b/worktree/c/task/d";
    let evidence = |scope: &str| Node::Evidence {
        scope: Scope::parse(scope).unwrap(),
        id: EvidenceId::from_bytes([3; 16]),
    };
    let mut declared = led_to(TASK, decision("org/a", 2));
    declared.edge.kind = golden().declared_edge().kind;
    let rows = [
        ("decision_here", led_to(TASK, decision(TASK, 2))),
        (
            "decision_around",
            led_to(TASK, decision("org/a/project/b", 2)),
        ),
        ("decision_elsewhere", led_to(TASK, decision("org/ab", 2))),
        ("decision_inside", led_to("org/a", decision(TASK, 2))),
        ("evidence_here", led_to(TASK, evidence(TASK))),
        ("evidence_around", led_to(TASK, evidence("org/a"))),
        ("evidence_elsewhere", led_to(TASK, evidence("org/z"))),
        ("file", led_to(TASK, Node::file("src/a.rs").unwrap())),
        (
            "symbol",
            led_to(TASK, Node::symbol("a::b", Some("src/a.rs")).unwrap()),
        ),
        ("declared", declared),
    ];
    let rows = rows.map(|(name, value)| Sample {
        name: name.to_owned(),
        value,
    });
    let stored = rows.each_ref().map(|row| Sample {
        name: row.name.clone(),
        value: related::encode(&row.value),
    });
    let known = golden_rows("related_3.txt", &stored);
    assert_same_names(&known, &rows);
    for Sample { name, value } in &rows {
        let key = related::key(&related::Key::of(&value.edge).unwrap());
        let read = related::decode(&key, &known[name]).unwrap();
        assert_eq!(read, *value, "{name}");
    }
}

#[test]
fn a_relation_whose_title_is_a_line_is_kept_beside_its_key_also_where_names_of_scopes_are_long() {
    let name = |letter: &str| letter.repeat(48);
    let project = format!("org/{}/project/{}", name("o"), name("p"));
    let task = format!("{project}/worktree/main/task/1");
    for (from, to) in [
        (&project, decision(&project, 2)),
        (&task, decision(&project, 2)),
        (&task, decision(&format!("org/{}", name("o")), 2)),
        (
            &project,
            Node::file("crates/store/src/keys/related.rs").unwrap(),
        ),
    ] {
        let bytes = related::encode(&led_to(from, to.clone())).len();
        assert!(bytes < SEPARATED_BYTES_MIN as usize, "{to}: {bytes}");
    }
}

#[test]
fn a_short_row_whose_scopes_are_none_is_corrupt() {
    let key = related::key(&golden().related());
    let (kind, name) = (RelationKind::DependsOn, golden().decision_head().name());
    let to = |at: (u8, u8)| (0u8, at, DecisionId::from_bytes([2; 16]));
    for (from, at) in [
        ("org", (0, 1)),
        ("org/a", (0, 0)),
        ("org/a", (0, 2)),
        ("org/a", (0, 255)),
    ] {
        let value = keys::codec::encode(3, &(from, kind, to(at), &name));
        super::assert_corrupt(Family::Related, &key, related::decode(&key, &value));
    }
    let value = keys::codec::encode(3, &("org/a", kind, to((0, 1)), &name));
    let read = related::decode(&key, &value).unwrap();
    assert_eq!(read.edge.to, decision("org/a", 2));
    // The decision that a row belongs to stands in its key alone.
    super::assert_corrupt(
        Family::Related,
        &key[..40],
        related::decode(&key[..40], &value),
    );
}

#[test]
fn a_relation_between_what_is_no_node_is_corrupt() {
    let key = related::key(&golden().related());
    let node = golden().edge().to.to_string();
    let kind = RelationKind::AppliesTo;
    for (from, to) in [
        ("decision:org/a", node.as_str()),
        (node.as_str(), "nothing"),
    ] {
        let value = keys::codec::encode(1, &(from, kind, to));
        super::assert_corrupt(Family::Related, &key, related::decode(&key, &value));
    }
}

#[test]
fn relations_of_one_decision_to_several_nodes_have_a_row_each() {
    let scope = decisions::longest_scope();
    let root = DecisionId::from_bytes([7; 16]);
    let named = |name: &str, file| Node::symbol(name, file).unwrap();
    let targets = [
        Node::file("src/a.rs").unwrap(),
        Node::file("src/b.rs").unwrap(),
        named("src/a.rs", None),
        named("run", None),
        named("run", Some("src/a.rs")),
    ];
    let mut found: Vec<Vec<u8>> = targets
        .iter()
        .map(|to| {
            related::key(&related::Key {
                to: related::NodeKey::of(to),
                scope: related::ScopePath::of(&scope),
                root,
                kind: related::KindKey::of(RelationKind::AppliesTo),
            })
        })
        .collect();
    found.sort();
    found.dedup();
    assert_eq!(found.len(), targets.len());
}
