//! Drawings: what they show, and that no name plays with their form.

use sillok_core::decision::RelationKind;

use super::*;

const PLAIN: Style = Style { colour: false };

fn decision(number: u8) -> Node {
    format!("decision:org/a/project/b#{number:08x}-0000-7000-8000-000000000000")
        .parse()
        .unwrap()
}

fn file(path: &str) -> Node {
    Node::file(path).unwrap()
}

fn edge(from: &Node, kind: RelationKind, to: &Node) -> Edge {
    Edge {
        from: from.clone(),
        kind: kind.into(),
        to: to.clone(),
    }
}

fn affected(node: Node, said: Option<(Rank, &str)>, from: Reached, by: Edge) -> Affected {
    Affected {
        node,
        depth: 1,
        title: said.map(|(_, title)| title.to_owned()),
        rank: said.map(|(rank, _)| rank),
        from,
        by,
        path: Vec::new(),
    }
}

/// A file that a lock applies to, on which a normal decision depends, which applies to another file.
fn impact() -> Impact {
    use RelationKind::{AppliesTo, DependsOn};
    let (cart, sum) = (file("src/cart.sh"), file("src/sum.sh"));
    let (lock, normal) = (decision(1), decision(2));
    let to_lock = edge(&lock, AppliesTo, &cart);
    let to_normal = edge(&normal, DependsOn, &lock);
    let to_sum = edge(&normal, AppliesTo, &sum);
    let (money, round) = ("Money is whole cents", "Round once");
    let (start, first, second) = (
        Reached::Start(0),
        Reached::Affected(0),
        Reached::Affected(1),
    );
    Impact {
        start: vec![cart],
        affected: vec![
            affected(lock, Some((Rank::Lock, money)), start, to_lock),
            affected(normal, Some((Rank::Normal, round)), first, to_normal),
            affected(sum, None, second, to_sum),
        ],
        cut: None,
    }
}

#[test]
fn a_tree_shows_below_each_node_what_it_leads_to() {
    let expected = "\
file:src/cart.sh
└─ APPLIES_TO ← lock: Money is whole cents  decision:org/a/project/b#00000001-0000-7000-8000-000000000000
   └─ DEPENDS_ON ← normal: Round once  decision:org/a/project/b#00000002-0000-7000-8000-000000000000
      └─ APPLIES_TO → file:src/sum.sh";
    assert_eq!(tree(&impact(), PLAIN), expected);
}

#[test]
fn the_branches_of_what_the_reader_knows_stand_alone() {
    let whole = tree(&impact(), PLAIN);
    let (first, rest) = whole.split_once('\n').unwrap();
    assert_eq!(first, "file:src/cart.sh");
    assert_eq!(branches(&impact(), PLAIN), rest);
}

#[test]
fn a_node_with_several_branches_joins_them() {
    let mut wide = impact();
    let cart = file("src/cart.sh");
    let other = decision(3);
    let by = edge(&other, RelationKind::AppliesTo, &cart);
    let said = Some((Rank::Axis, "One process"));
    wide.affected
        .push(affected(other, said, Reached::Start(0), by));
    let drawn = tree(&wide, PLAIN);
    let begins: Vec<String> = drawn
        .lines()
        .map(|line| line.chars().take(6).collect())
        .collect();
    assert_eq!(begins, ["file:s", "├─ APP", "│  └─ ", "│     ", "└─ APP"]);
}

#[test]
fn a_flowchart_draws_relations_as_they_are_declared() {
    let expected = "\
flowchart LR
  n0([\"file:src/cart.sh\"])
  n1[\"lock: Money is whole cents<br/>decision:org/a/project/b#35;00000001-0000-7000-8000-000000000000\"]
  n2[\"normal: Round once<br/>decision:org/a/project/b#35;00000002-0000-7000-8000-000000000000\"]
  n3[\"file:src/sum.sh\"]
  n1 -->|APPLIES_TO| n0
  n2 -->|DEPENDS_ON| n1
  n2 -->|APPLIES_TO| n3";
    assert_eq!(mermaid(&impact()), expected);
}

#[test]
fn a_graph_for_graphviz_says_the_same() {
    let expected = "\
digraph impact {
  rankdir=LR;
  node [shape=box];
  n0 [label=\"file:src/cart.sh\", style=bold];
  n1 [label=\"lock: Money is whole cents\\ndecision:org/a/project/b#00000001-0000-7000-8000-000000000000\"];
  n2 [label=\"normal: Round once\\ndecision:org/a/project/b#00000002-0000-7000-8000-000000000000\"];
  n3 [label=\"file:src/sum.sh\"];
  n1 -> n0 [label=\"APPLIES_TO\"];
  n2 -> n1 [label=\"DEPENDS_ON\"];
  n2 -> n3 [label=\"APPLIES_TO\"];
}";
    assert_eq!(dot(&impact()), expected);
}

#[test]
fn no_title_plays_with_the_form_that_it_stands_in() {
    let title = "a\"]\n n9[\"%% `x` </b>\\ & \u{1b}[2J#quot; end";
    let mut odd = impact();
    odd.affected[0].title = Some(title.to_owned());
    let drawn = tree(&odd, PLAIN);
    assert_eq!(drawn.lines().count(), 4, "{drawn}");
    assert!(!drawn.contains('\u{1b}'), "{drawn}");

    let drawn = mermaid(&odd);
    assert_eq!(drawn.lines().count(), mermaid(&impact()).lines().count());
    let label = drawn.lines().nth(2).unwrap();
    let inside = label.split('"').nth(1).unwrap();
    assert_eq!(label.matches('"').count(), 2, "{label}");
    assert!(
        !inside
            .replace("<br/>", "")
            .contains(['<', '>', '`', '%', '[', '&', '\\']),
        "{label}"
    );
    assert!(inside.contains("#34;#93; n9#91;#34;#37;#37;"), "{label}");
    assert!(inside.contains("#35;quot#59; end"), "{label}");

    let drawn = dot(&odd);
    assert_eq!(drawn.lines().count(), dot(&impact()).lines().count());
    let label = drawn.lines().nth(4).unwrap();
    assert!(
        label.contains(r#"a\"] n9[\"%% `x` </b>\\ &amp; [2J#quot; end\ndecision:"#),
        "{label}"
    );
}

#[test]
fn a_cut_is_told_in_every_form() {
    let mut cut = impact();
    cut.cut = Some(ImpactCut {
        nodes: 5,
        depth: 2,
        relations: true,
        time: true,
    });
    let said = "cut off: nodes that relations name and that there is no room for: 5; \
                nodes at the greatest depth whose relations lead on: 2; \
                what further relations lead to, since enough were read; time ran out \
                (what relations name was not looked at: some may not hold any more, and there may be more)";
    assert_eq!(tree(&cut, PLAIN).lines().last(), Some(said));
    assert!(mermaid(&cut).ends_with(&format!("  %% {said}")));
    assert!(dot(&cut).ends_with(&format!("  // {said}\n}}")));
    assert_eq!(cut_off(None), None);
    // Where nothing is counted, nothing is said of what was.
    let of_time = ImpactCut {
        nodes: 0,
        depth: 0,
        relations: false,
        time: true,
    };
    assert_eq!(
        cut_off(Some(&of_time)).as_deref(),
        Some("cut off: time ran out")
    );
}

#[test]
fn an_impact_that_reaches_nothing_says_so() {
    let alone = Impact {
        start: vec![file("a")],
        affected: Vec::new(),
        cut: None,
    };
    assert_eq!(tree(&alone, PLAIN), "file:a\nnothing is affected");
}

#[test]
fn an_answer_that_goes_in_a_circle_is_drawn_to_its_end() {
    use RelationKind::Constrains;
    let (one, two) = (decision(1), decision(2));
    let forth = edge(&one, Constrains, &two);
    let back = edge(&two, Constrains, &one);
    let circle = Impact {
        start: vec![file("a")],
        affected: vec![
            affected(one.clone(), None, Reached::Affected(1), back.clone()),
            affected(two.clone(), None, Reached::Affected(0), forth.clone()),
            affected(two, None, Reached::Affected(2), back),
            affected(one, None, Reached::Affected(usize::MAX), forth.clone()),
            affected(file("b"), None, Reached::Start(1), forth),
        ],
        cut: None,
    };
    assert_eq!(tree(&circle, PLAIN), "file:a");
    assert!(mermaid(&circle).contains("n1 -->|CONSTRAINS| n2"));
    assert!(dot(&circle).contains("n1 -> n2"));
}

#[test]
fn a_path_in_words_calls_decisions_by_their_titles() {
    let impact = impact();
    let words = in_words(impact.path(2), &names(&impact));
    assert_eq!(
        words,
        "\"Money is whole cents\" APPLIES_TO file:src/cart.sh, \"Round once\" DEPENDS_ON \"Money is whole cents\", \
         \"Round once\" APPLIES_TO file:src/sum.sh"
    );
}
