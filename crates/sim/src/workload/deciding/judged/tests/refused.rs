//! Whoever asks about what does not stand is refused, and nobody else is.

use super::*;

fn original(number: u8) -> Node {
    Node::Evidence {
        scope: scope(ORG),
        id: evidence_id(number),
    }
}

/// What is asked about these nodes: for a brief, and for an impact.
fn asked_about((at, prefix): (&str, &str), nodes: &[Node]) -> [Asked; 2] {
    [
        Asked::Brief {
            by: asker(at, prefix),
            domain: "runtime".parse().unwrap(),
            at: nodes.to_vec(),
            items_max: 100,
        },
        Asked::Impact {
            by: asker(at, prefix),
            start: nodes.to_vec(),
            limits: Limits::default(),
        },
    ]
}

/// The answer where nothing holds and nothing is reached.
fn nothing(asked: &Asked) -> Told {
    match asked {
        Asked::Impact { .. } => Told::Impact {
            reached: Vec::new(),
            is_cut: false,
        },
        _ => Told::Brief {
            lines: Vec::new(),
            cut: Vec::new(),
            unfound: 0,
        },
    }
}

/// Evidence, and a decision of the interface that stands and one that was withdrawn, to neither of which anything leads.
fn standing_and_gone() -> Timeline {
    let said = |content: &str| Some(text(Rank::Lock, "ui", content));
    let saved = kept(ORG, 3, evidence(1, "it was so"));
    Timeline {
        commits: vec![
            commit((PROJECT, 1), said("one"), (1, 1), (10, 20)),
            commit((PROJECT, 2), said("two"), (2, 1), (30, 40)),
            keeping(vec![saved], (50, 60)),
            commit((PROJECT, 2), None, (4, 2), (70, 80)),
        ],
    }
}

#[test]
fn what_is_not_there_was_withdrawn_or_is_not_seen_has_to_be_refused_and_what_stands_to_be_told() {
    let timeline = standing_and_gone();
    let view = timeline.last();
    let here = (PROJECT, ORG);
    for (by, at_hand, stands) in [
        (here, vec![], true),
        (here, vec![node(PROJECT, 1)], true),
        (here, vec![original(1)], true),
        (here, vec![file(), node(PROJECT, 1), original(1)], true),
        (here, vec![node(PROJECT, 2)], false),
        (here, vec![node(PROJECT, 9)], false),
        (here, vec![node(ORG, 1)], false),
        (here, vec![original(9)], false),
        (here, vec![node(PROJECT, 1), file(), original(9)], false),
        // From around, it is seen as far as the token covers it.
        ((ORG, PROJECT), vec![node(PROJECT, 1)], true),
        ((ORG, "org/a/project/c"), vec![node(PROJECT, 1)], false),
        (("org/a/project/c", ORG), vec![node(PROJECT, 1)], false),
        (("org/a/project/c", ORG), vec![original(1)], true),
    ] {
        for asked in asked_about(by, &at_hand) {
            let is_right = |told: &Told| wrong(&view, &asked, told).is_none();
            assert_eq!(is_right(&nothing(&asked)), stands, "{asked}: {at_hand:?}");
            let refused = Told::Refused(ErrorCode::NotFound);
            assert_eq!(is_right(&refused), !stands, "{asked}: {at_hand:?}");
            assert!(!is_right(&Told::Refused(ErrorCode::Conflict)), "{asked}");
            assert!(!is_right(&Told::History(Vec::new())), "{asked}");
        }
    }
}

#[test]
fn who_asks_while_a_decision_begins_or_is_withdrawn_may_be_told_or_refused() {
    let timeline = standing_and_gone();
    for asked in asked_about((PROJECT, ORG), &[node(PROJECT, 2)]) {
        let may_be = |asked_us: (u64, u64), told: &Told| {
            let wrong = timeline.wrong(asked_us, |view| wrong(view, &asked, told));
            wrong.is_none()
        };
        for (asked_us, told, refused) in [
            ((5, 25), false, true),
            ((25, 35), true, true),
            ((41, 65), true, false),
            ((41, 75), true, true),
            ((75, 78), true, true),
            ((81, 90), false, true),
        ] {
            assert_eq!(may_be(asked_us, &nothing(&asked)), told, "{asked_us:?}");
            let refusal = Told::Refused(ErrorCode::NotFound);
            assert_eq!(may_be(asked_us, &refusal), refused, "{asked_us:?}");
        }
    }
}
