//! How decisions read.

use sillok_core::decision::{Node, RelationKind};
use sillok_core::id::{CommandId, DecisionId, Seq};
use sillok_core::principal::PrincipalKind;
use sillok_core::scope::Scope;
use sillok_core::time::Timestamp;
use sillok_server::api::{Actor, Affected, Claim, Edge, Guard, Impact, Reached, Relation};

use super::*;

const PLAIN: Style = Style { colour: false };
const TIME: Timestamp = Timestamp::from_ms(1_700_000_000_000);

fn scope() -> Scope {
    Scope::parse("org/a/project/b").unwrap()
}

fn root(number: u8) -> DecisionId {
    DecisionId::from_bytes([number; 16])
}

fn decision(number: u8) -> Node {
    Node::Decision {
        scope: scope(),
        root: root(number),
    }
}

/// A decision that constrains a lock, which another one contradicts.
fn proposed() -> Proposed {
    let limits = Edge {
        from: decision(1),
        kind: RelationKind::Constrains.into(),
        to: decision(2),
    };
    Proposed {
        impact: Impact {
            start: vec![decision(1)],
            affected: vec![Affected {
                node: decision(2),
                depth: 1,
                title: Some("Money is whole cents".to_owned()),
                rank: Some(Rank::Lock),
                from: Reached::Start(0),
                by: limits.clone(),
                path: vec![limits],
            }],
            cut: None,
        },
        guards: vec![Guard {
            node: decision(2),
            rank: Rank::Lock,
            title: "Money is whole cents".to_owned(),
            affected: Some(0),
        }],
        contradictions: vec![Contradiction {
            scope: scope(),
            root: root(3),
            rank: Rank::Normal,
            title: "Money is a float".to_owned(),
            claim: Claim {
                key: "money.unit".to_owned(),
                value: "float\n".to_owned(),
            },
        }],
        contradictions_cut: false,
        new_domain: None,
    }
}

fn version(number: u64, act: &str, text: Option<DecisionText>) -> DecisionVersion {
    DecisionVersion {
        number,
        act: act.to_owned(),
        restored_from: (act == "restored").then_some(1),
        text,
        reason: if number == 1 {
            String::new()
        } else {
            "so it is".to_owned()
        },
        by: Actor {
            kind: PrincipalKind::Human,
            id: "ann".to_owned(),
        },
        at: TIME,
        seq: Seq::new(number),
    }
}

fn text() -> DecisionText {
    DecisionText {
        rank: Rank::Lock,
        domain: "ui".parse().unwrap(),
        phase: Some("design".parse().unwrap()),
        title: "Money is\u{1b}[2J whole cents".to_owned(),
        content: "Never a float.\nNot once.".to_owned(),
        claim: Some(Claim {
            key: "money.unit".to_owned(),
            value: "cents".to_owned(),
        }),
        relations: vec![Relation {
            kind: RelationKind::AppliesTo.into(),
            to: "file:src/cart.sh".to_owned(),
        }],
    }
}

#[test]
fn what_was_saved_says_what_it_touches_and_contradicts() {
    let mut done = DecisionSaved {
        root: root(1),
        version: 1,
        active: true,
        means: Meaning::Told(proposed()),
        seq: Seq::new(9),
        time: TIME,
        command_id: CommandId::from_parts(TIME, [0; 10]),
    };
    let expected = "\
01010101-0101-0101-0101-010101010101 version 1, active
it affects 1:
└─ CONSTRAINS → lock: Money is whole cents  decision:org/a/project/b#02020202-0202-0202-0202-020202020202
it touches the lock \"Money is whole cents\": it CONSTRAINS \"Money is whole cents\"
it contradicts the normal \"Money is a float\": money.unit is float there \
(03030303-0303-0303-0303-030303030303 in org/a/project/b)";
    assert_eq!(saved(PLAIN, &done), expected);
    done.means = Meaning::Untold {
        untold: "unavailable: the store\nis away".to_owned(),
    };
    let expected = "\
01010101-0101-0101-0101-010101010101 version 1, active
what that means to others could not be told: unavailable: the store is away";
    assert_eq!(saved(PLAIN, &done), expected);
    let nothing = Proposed {
        impact: Impact {
            start: vec![decision(1)],
            affected: Vec::new(),
            cut: None,
        },
        guards: Vec::new(),
        contradictions: Vec::new(),
        contradictions_cut: false,
        new_domain: None,
    };
    assert_eq!(means(PLAIN, &nothing), "");
    // That none is found where not all were looked at does not mean that there is none.
    let cut = Proposed {
        contradictions_cut: true,
        ..nothing
    };
    assert!(means(PLAIN, &cut).starts_with("others may contradict it"));
}

#[test]
fn a_domain_that_nothing_else_is_of_is_told_last() {
    let known = proposed();
    let alone = Proposed {
        new_domain: Some("prcing".parse().unwrap()),
        ..known.clone()
    };
    let told = "\nno other decision here is of domain prcing";
    assert_eq!(means(PLAIN, &alone), means(PLAIN, &known) + told);
}

#[test]
fn a_change_of_a_lock_on_which_nothing_depends_says_that_it_touches_it() {
    let mut alone = proposed();
    alone.impact.affected.clear();
    alone.contradictions.clear();
    alone.guards[0].node = decision(1);
    alone.guards[0].affected = None;
    let said = "it touches the lock \"Money is whole cents\": it changes that itself";
    assert_eq!(means(PLAIN, &alone), said);
}

#[test]
fn a_decision_is_shown_with_all_that_it_says() {
    let view = DecisionView {
        head: DecisionHead {
            scope: scope(),
            root: root(1),
            version: 3,
            active: false,
            erased: false,
            rank: Rank::Lock,
            domain: "ui".parse().unwrap(),
            phase: None,
            title: "Money is whole cents".to_owned(),
            claim: None,
            relations: Vec::new(),
            begun_at: TIME,
            changed_at: TIME,
        },
        version: version(2, "changed", Some(text())),
    };
    let expected = "\
01010101-0101-0101-0101-010101010101
lock in org/a/project/b, withdrawn, version 3
what it said last:
version 2 changed by human:ann at 2023-11-14 22:13:20: so it is
lock about ui, phase design

Money is[2J whole cents

Never a float.
Not once.

claims that money.unit is cents
APPLIES_TO file:src/cart.sh";
    assert_eq!(shown(PLAIN, &view), expected);
    let row = listed(PLAIN, &[view.head]);
    assert!(
        row.ends_with("lock  ui      3        withdrawn  Money is whole cents"),
        "{row}"
    );
}

#[test]
fn a_decision_that_was_erased_says_so_and_nothing_else() {
    let bare = DecisionText {
        title: String::new(),
        content: String::new(),
        claim: None,
        relations: Vec::new(),
        ..text()
    };
    let view = DecisionView {
        head: DecisionHead {
            scope: scope(),
            root: root(1),
            version: 3,
            active: false,
            erased: true,
            rank: Rank::Lock,
            domain: "global".parse().unwrap(),
            phase: None,
            title: String::new(),
            claim: None,
            relations: Vec::new(),
            begun_at: TIME,
            changed_at: TIME,
        },
        version: version(2, "changed", Some(bare)),
    };
    let expected = "\
01010101-0101-0101-0101-010101010101
lock in org/a/project/b, withdrawn, version 3
what it said was erased";
    assert_eq!(shown(PLAIN, &view), expected);
    let row = listed(PLAIN, &[view.head]);
    assert!(row.contains("erased"), "{row}");
}

#[test]
fn a_history_says_of_each_version_how_it_came_to_be() {
    let all = [
        version(1, "begun", Some(text())),
        version(2, "withdrawn", None),
        version(3, "restored", Some(text())),
    ];
    let said = versions(PLAIN, &all);
    let heads: Vec<&str> = said
        .lines()
        .filter(|line| line.starts_with("version "))
        .collect();
    assert_eq!(
        heads,
        [
            "version 1 begun by human:ann at 2023-11-14 22:13:20",
            "version 2 withdrawn by human:ann at 2023-11-14 22:13:20: so it is",
            "version 3 restored from version 1 by human:ann at 2023-11-14 22:13:20: so it is",
        ]
    );
    assert_eq!(said.matches("Never a float.").count(), 2);
}
