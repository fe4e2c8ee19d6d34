//! What must hold of what somebody was told that a decision means to others.
//!
//! Owns the comparison with one point of what was committed. What is reached is judged as an impact is.

use sillok_core::ErrorCode;
use sillok_core::command::DecisionRef;
use sillok_core::decision::{Domain, NewDecision, Node, Rank, Relation};
use sillok_core::entry::Claim;
use sillok_core::id::DecisionId;
use sillok_core::limits::{IMPACT_DEPTH_MAX, MEANING_NODES_MAX};
use sillok_core::scope::Scope;

use super::super::asked::{Against, Asker, Means, Told};
use super::super::naive::{Look, told_of};
use super::super::view::View;
use super::reached::wrong_impact;

/// What is wrong about what a version is said to mean that was saved: to what it and the one before it lead, and the
/// decision by now, and what speaks against that; and whether its own domain is new, whatever that of the decision is by now.
pub(super) fn wrong_meaning(
    view: &View<'_>,
    by: &Asker,
    (root, number): (DecisionId, u64),
    told: &Told,
) -> Option<String> {
    let versions = view.versions(&by.scope, root);
    let saved = usize::try_from(number).ok();
    let Some(saved) = saved.and_then(|saved| versions.get(..saved)) else {
        return wrong_refusal(ErrorCode::NotFound, told);
    };
    let texts = saved.iter().rev().take(2).flatten();
    let relations: Vec<Relation> = texts.flat_map(|text| text.relations.clone()).collect();
    let holds = versions.last().copied().flatten();
    let claim = holds.and_then(|text| text.claim.as_ref());
    // What the decision was before that version, which withdraws it or restores what one before it says, as it may be.
    let before = saved.split_last().map_or(&[][..], |(_, before)| before);
    let former = before.iter().rev().find_map(|text| *text);
    let text = saved.last().copied().flatten();
    let own = Own {
        root: Some(root),
        relations: &relations,
        claim,
        former,
        domain: text.map(|text| &text.domain),
    };
    wrong_means(view, by, own, told)
}

/// What is wrong about what a proposal is said to mean: to what it leads, and the decision that it changes by now, and what
/// speaks against it. What could not be saved is refused.
pub(super) fn wrong_proposal(
    view: &View<'_>,
    by: &Asker,
    (change, text): (Option<DecisionRef>, &NewDecision),
    told: &Told,
) -> Option<String> {
    if let Some(code) = view.refusal(&by.scope, change, text) {
        return wrong_refusal(code, told);
    }
    let root = change.map(|change| change.root);
    let versions = root.map_or(&[][..], |root| view.versions(&by.scope, root));
    let former = versions.last().copied().flatten();
    let own = Own {
        root,
        relations: &text.relations,
        claim: text.claim.as_ref(),
        former,
        domain: Some(&text.domain),
    };
    wrong_means(view, by, own, told)
}

/// What is wrong about an answer that has to be this refusal, if anything.
pub(super) fn wrong_refusal(code: ErrorCode, told: &Told) -> Option<String> {
    (*told != Told::Refused(code)).then(|| format!("{told:?} is told of what {code} refuses"))
}

/// A decision that means something.
struct Own<'a> {
    /// Which it is, if it is one already.
    root: Option<DecisionId>,
    relations: &'a [Relation],
    claim: Option<&'a Claim>,
    /// What it said before.
    former: Option<&'a NewDecision>,
    /// What it is of; nothing where it is withdrawn.
    domain: Option<&'a Domain>,
}

fn wrong_means(view: &View<'_>, by: &Asker, own: Own<'_>, told: &Told) -> Option<String> {
    let Own {
        root,
        relations,
        claim,
        former,
        domain,
    } = own;
    let Told::Means(means) = told else {
        return Some(format!("{told:?} is told, though nothing refuses it"));
    };
    let own = Node::Decision {
        scope: by.scope.clone(),
        // One that nobody has made has no name.
        root: root.unwrap_or(DecisionId::from_bytes([0; 16])),
    };
    let look = Look {
        by,
        beside: Some((&own, relations)),
    };
    let start = std::slice::from_ref(&own);
    let impact = (means.reached.as_slice(), means.is_cut);
    let limits = (MEANING_NODES_MAX, IMPACT_DEPTH_MAX);
    let wrong = wrong_impact(view, (look, start), limits, impact);
    let wrong = wrong.or_else(|| wrong_guards(view, by, (&own, former), means));
    wrong.or_else(|| {
        let expected = claim.map_or_else(Vec::new, |claim| view.against(&by.scope, claim, root));
        let wrong = wrong_against(&expected, &means.against, means.is_against_cut);
        wrong.or_else(|| wrong_domain(view, &by.scope, (root, domain), means.new_domain.as_ref()))
    })
}

/// What is wrong about what is told to be guarded, if anything: that is the decision itself, where it was an axis or a lock
/// before, and every one of these among what is reached.
fn wrong_guards(
    view: &View<'_>,
    by: &Asker,
    (own, former): (&Node, Option<&NewDecision>),
    means: &Means,
) -> Option<String> {
    let reached = means.reached.iter().enumerate();
    let reached = reached.map(|(place, one)| (Some(place), &one.node, view.seen(by, &one.node)));
    let touched = core::iter::once((None, own, former)).chain(reached);
    let expected: Vec<(Option<usize>, &Node, Rank, &str)> = touched
        .filter_map(|(place, node, text)| {
            let text = text?;
            let is_guarded = [Rank::Axis, Rank::Lock].contains(&text.rank);
            is_guarded.then_some((place, node, text.rank, &*text.title))
        })
        .collect();
    let guards = means.guards.iter();
    let told: Vec<(Option<usize>, &Node, Rank, &str)> = guards
        .map(|guard| (guard.place, &guard.node, guard.rank, &*guard.title))
        .collect();
    (told != expected).then(|| format!("{told:?} are told to be guarded, and not {expected:?}"))
}

/// What is wrong about what is told to be a new domain, if anything: it is that of the decision, where it has a name and no
/// other decision that holds, there or around, is of it.
fn wrong_domain(
    view: &View<'_>,
    scope: &Scope,
    (root, domain): (Option<DecisionId>, Option<&Domain>),
    told: Option<&Domain>,
) -> Option<String> {
    let named = domain.filter(|domain| !domain.is_global());
    let expected = named.filter(|domain| !view.is_of_others(scope, domain, root));
    (told != expected).then(|| format!("{told:?} is told to be new, and not {expected:?}"))
}

/// What is wrong about what is told to speak against a decision, if anything: all that does, in its order, or of each scope as
/// much as there is room for, and then that there is more.
fn wrong_against(expected: &[Against], told: &[Against], is_cut: bool) -> Option<String> {
    let there_is_room_for = told_of(expected);
    if is_cut != (there_is_room_for.len() < expected.len()) {
        let count = expected.len();
        return Some(format!("that more speak against it is {is_cut} of {count}"));
    }
    let is_right = there_is_room_for.iter().copied().eq(told);
    (!is_right)
        .then(|| format!("{told:?} are told to speak against it, and not {there_is_room_for:?}"))
}

#[cfg(test)]
mod tests {
    use sillok_core::decision::{Edge, RelationKind};
    use sillok_core::limits::CONTRADICTIONS_MAX;

    use super::super::super::asked::tests::asker;
    use super::super::super::asked::{Guarded, Reached};
    use super::super::super::view::tests::{claim, commit, related, root, text};
    use super::super::super::view::{Commit, Timeline};
    use super::*;

    const ORG: &str = "org/a";
    const PROJECT: &str = "org/a/project/b";

    fn node(path: &str, number: u8) -> Node {
        Node::Decision {
            scope: Scope::parse(path).unwrap(),
            root: root(number),
        }
    }

    fn relation(kind: RelationKind, to: Node) -> Relation {
        Relation { kind, to }
    }

    /// What a decision says, titled by its number.
    fn says(rank: Rank, number: u8, value: Option<&str>, relations: Vec<Relation>) -> NewDecision {
        let mut text = related(text(rank, "global", ""), relations);
        text.title = format!("title {number}");
        text.claim = value.map(|value| claim("a.key", value));
        text
    }

    fn constrains(number: u8) -> Vec<Relation> {
        vec![relation(RelationKind::Constrains, node(ORG, number))]
    }

    fn depends_on(path: &str, number: u8) -> Vec<Relation> {
        vec![relation(RelationKind::DependsOn, node(path, number))]
    }

    /// The first constrains a lock, and after that an axis. A normal decision depends on it, a lock on that, and what it
    /// claims is denied above.
    fn timeline() -> Timeline {
        let first = |relations| says(Rank::Lock, 1, Some("1"), relations);
        let said = [
            ((ORG, 2), says(Rank::Lock, 2, None, vec![]), 1),
            ((ORG, 3), says(Rank::Axis, 3, Some("2"), vec![]), 1),
            ((PROJECT, 1), first(constrains(2)), 1),
            (
                (PROJECT, 4),
                says(Rank::Normal, 4, None, depends_on(PROJECT, 1)),
                1,
            ),
            (
                (PROJECT, 5),
                says(Rank::Lock, 5, None, depends_on(PROJECT, 4)),
                1,
            ),
            ((PROJECT, 6), says(Rank::Lock, 6, Some("1"), vec![]), 1),
            ((PROJECT, 1), first(constrains(3)), 2),
            ((PROJECT, 1), first(vec![]), 3),
        ];
        let commits = (1..)
            .zip(said)
            .map(|(seq, (at, text, number))| commit(at, Some(text), (seq, number), (seq, seq)));
        Timeline {
            commits: commits.collect(),
        }
    }

    /// A node that is reached by these relations.
    fn reached(path: &str, number: u8, rank: Rank, edges: &[Edge]) -> Reached {
        Reached {
            node: node(path, number),
            depth: u32::try_from(edges.len()).unwrap(),
            rank: Some(rank),
            path: edges.to_vec(),
        }
    }

    fn guarded(place: Option<usize>, path: &str, number: u8, rank: Rank) -> Guarded {
        Guarded {
            place,
            node: node(path, number),
            rank,
            title: format!("title {number}"),
        }
    }

    fn against(path: &str, number: u8, rank: Rank, value: &str) -> Against {
        Against {
            scope: Scope::parse(path).unwrap(),
            root: root(number),
            rank,
            title: format!("title {number}"),
            claim: claim("a.key", value),
        }
    }

    /// What it means to others that the third version of the first was saved, which lets go of the axis.
    fn means() -> Means {
        let own = node(PROJECT, 1);
        let to_axis = constrains(3)[0].edge_from(own);
        let by_fourth = depends_on(PROJECT, 1)[0].edge_from(node(PROJECT, 4));
        let by_fifth = depends_on(PROJECT, 4)[0].edge_from(node(PROJECT, 5));
        Means {
            reached: vec![
                reached(ORG, 3, Rank::Axis, &[to_axis]),
                reached(PROJECT, 4, Rank::Normal, std::slice::from_ref(&by_fourth)),
                reached(PROJECT, 5, Rank::Lock, &[by_fourth, by_fifth]),
            ],
            is_cut: false,
            guards: vec![
                guarded(None, PROJECT, 1, Rank::Lock),
                guarded(Some(0), ORG, 3, Rank::Axis),
                guarded(Some(2), PROJECT, 5, Rank::Lock),
            ],
            against: vec![against(ORG, 3, Rank::Axis, "2")],
            is_against_cut: false,
            new_domain: None,
        }
    }

    #[test]
    fn a_meaning_that_is_not_whole_or_of_another_moment_is_found() {
        let timeline = timeline();
        let view = timeline.last();
        let is_wrong_of = |number: u64, told: &Told| {
            let by = asker(PROJECT, ORG);
            wrong_meaning(&view, &by, (root(1), number), told).is_some()
        };
        let is_wrong = |spoil: fn(&mut Means)| {
            let mut means = means();
            spoil(&mut means);
            is_wrong_of(3, &Told::Means(means))
        };
        assert!(!is_wrong(|_| ()));
        // What is not reached, and what is reached and not told of: by the version before it, or by others.
        assert!(is_wrong(|means| {
            means.reached.remove(0);
            means.guards = vec![
                guarded(None, PROJECT, 1, Rank::Lock),
                guarded(Some(1), PROJECT, 5, Rank::Lock),
            ];
        }));
        assert!(is_wrong(|means| {
            means.reached.pop();
            means.guards.pop();
        }));
        assert!(is_wrong_of(1, &Told::Means(means())));
        assert!(is_wrong_of(2, &Told::Means(means())));
        // A guard that is missing, one that is none, and one that is told otherwise.
        assert!(is_wrong(|means| drop(means.guards.pop())));
        assert!(is_wrong(|means| means.guards.clear()));
        assert!(is_wrong(|means| {
            let normal = guarded(Some(1), PROJECT, 4, Rank::Normal);
            means.guards.insert(2, normal);
        }));
        assert!(is_wrong(|means| means.guards.swap(0, 1)));
        assert!(is_wrong(|means| means.guards.swap(1, 2)));
        assert!(is_wrong(|means| means.guards[1].place = Some(1)));
        assert!(is_wrong(|means| means.guards[1].rank = Rank::Lock));
        assert!(is_wrong(|means| means.guards[1].title.clear()));
        // The decision itself that is forgotten, or told of otherwise.
        assert!(is_wrong(|means| drop(means.guards.remove(0))));
        assert!(is_wrong(|means| means.guards[0].place = Some(0)));
        assert!(is_wrong(|means| means.guards[0].rank = Rank::Axis));
        // What speaks against it and is not told of, what does not, what is told twice, and what says something else.
        assert!(is_wrong(|means| means.against.clear()));
        assert!(is_wrong(|means| {
            means.against.push(against(PROJECT, 6, Rank::Lock, "1"));
        }));
        assert!(is_wrong(|means| means
            .against
            .push(means.against[0].clone())));
        assert!(is_wrong(|means| means.against[0].claim.value = "3".into()));
        // A version that is not there yet is refused, and no other one.
        assert!(!is_wrong_of(4, &Told::Refused(ErrorCode::NotFound)));
        assert!(is_wrong_of(4, &Told::Means(means())));
        assert!(is_wrong_of(3, &Told::Refused(ErrorCode::NotFound)));
        assert!(is_wrong_of(3, &Told::History(Vec::new())));
    }

    #[test]
    fn a_withdrawn_decision_means_something_to_what_it_was_related_to_and_contradicts_nothing() {
        let mut timeline = timeline();
        let again = says(Rank::Lock, 1, Some("1"), constrains(3));
        let withdrawn = [
            commit((PROJECT, 1), Some(again), (9, 4), (9, 9)),
            commit((PROJECT, 1), None, (10, 5), (10, 10)),
        ];
        timeline.commits.extend(withdrawn);
        let view = timeline.last();
        let by = asker(PROJECT, ORG);
        let is_wrong =
            |means: Means| wrong_meaning(&view, &by, (root(1), 5), &Told::Means(means)).is_some();
        assert!(is_wrong(means()));
        let silent = Means {
            against: Vec::new(),
            ..means()
        };
        assert!(!is_wrong(silent));
    }

    #[test]
    fn a_proposal_is_weighed_with_what_it_changes_and_refused_where_it_could_not_be_saved() {
        let timeline = timeline();
        let view = timeline.last();
        let is_wrong = |change: Option<u64>, text: &NewDecision, told: Told| {
            let change = change.map(|expected_version| DecisionRef {
                root: root(1),
                expected_version,
            });
            let by = asker(PROJECT, ORG);
            wrong_proposal(&view, &by, (change, text), &told).is_some()
        };
        let new = says(Rank::Normal, 9, Some("3"), constrains(2));
        let of_new = || {
            let unmade = node(PROJECT, 0);
            let edge = constrains(2)[0].edge_from(unmade);
            Means {
                reached: vec![reached(ORG, 2, Rank::Lock, &[edge])],
                is_cut: false,
                guards: vec![guarded(Some(0), ORG, 2, Rank::Lock)],
                against: vec![
                    against(ORG, 3, Rank::Axis, "2"),
                    against(PROJECT, 1, Rank::Lock, "1"),
                    against(PROJECT, 6, Rank::Lock, "1"),
                ],
                is_against_cut: false,
                new_domain: None,
            }
        };
        assert!(!is_wrong(None, &new, Told::Means(of_new())));
        // Of a change, it is told to whom the decision means something already, and it is not against itself.
        assert!(is_wrong(Some(3), &new, Told::Means(of_new())));
        let changed = says(Rank::Lock, 1, Some("1"), constrains(3));
        assert!(!is_wrong(Some(3), &changed, Told::Means(means())));
        assert!(is_wrong(None, &changed, Told::Means(means())));
        let without_guards = Means {
            guards: Vec::new(),
            ..of_new()
        };
        assert!(is_wrong(None, &new, Told::Means(without_guards)));
        let without_one = Means {
            against: of_new().against[1..].to_vec(),
            ..of_new()
        };
        assert!(is_wrong(None, &new, Told::Means(without_one)));
        // The nearest first, and by something else than their roots.
        for (one, other) in [(0, 1), (1, 2)] {
            let mut in_another_order = of_new();
            in_another_order.against.swap(one, other);
            assert!(is_wrong(None, &new, Told::Means(in_another_order)));
        }
        // Another version, and something that is not there.
        let (conflict, not_found) = (ErrorCode::Conflict, ErrorCode::NotFound);
        assert!(!is_wrong(Some(2), &changed, Told::Refused(conflict)));
        assert!(is_wrong(Some(2), &changed, Told::Refused(not_found)));
        assert!(is_wrong(Some(2), &changed, Told::Means(means())));
        assert!(is_wrong(Some(3), &changed, Told::Refused(conflict)));
        let to_nothing = says(Rank::Lock, 9, None, constrains(9));
        assert!(!is_wrong(None, &to_nothing, Told::Refused(not_found)));
    }

    #[test]
    fn a_named_domain_is_new_where_no_other_decision_there_or_around_is_of_it() {
        const OTHER: &str = "org/a/project/c";
        const INSIDE: &str = "org/a/project/b/worktree/w";
        const NOTHING: [Option<&str>; 1] = [None];
        let of = |domain: &str| Some(text(Rank::Normal, domain, ""));
        let said = [
            ((PROJECT, 1), of("ui"), 1),
            ((OTHER, 2), of("runtime"), 1),
            ((INSIDE, 3), of("runtime"), 1),
            ((PROJECT, 1), of("runtime"), 2),
            ((PROJECT, 4), of("ui"), 1),
            ((PROJECT, 1), None, 3),
            ((ORG, 5), of("runtime"), 1),
        ];
        let commits = (1..).zip(said);
        let commits: Vec<Commit> = commits
            .map(|(seq, (at, text, number))| commit(at, text, (seq, number), (seq, seq)))
            .collect();
        let by = asker(PROJECT, ORG);
        // The answers that are right once so many commits have happened.
        let right = |count: usize, wrong: &dyn Fn(&View<'_>, &Told) -> Option<String>| {
            let timeline = Timeline {
                commits: commits[..count].to_vec(),
            };
            let view = timeline.last();
            let mut right = Vec::new();
            for new in [None, Some("global"), Some("ui"), Some("runtime")] {
                let means = Means {
                    reached: Vec::new(),
                    is_cut: false,
                    guards: Vec::new(),
                    against: Vec::new(),
                    is_against_cut: false,
                    new_domain: new.map(|name| name.parse().unwrap()),
                };
                if wrong(&view, &Told::Means(means)).is_none() {
                    right.push(new);
                }
            }
            right
        };
        let saved = |count: usize, number: u8, version: u64| {
            right(count, &|view, told| {
                wrong_meaning(view, &by, (root(number), version), told)
            })
        };
        let proposed = |count: usize, change: Option<DecisionRef>, domain: &str| {
            let text = text(Rank::Normal, domain, "");
            right(count, &|view, told| {
                wrong_proposal(view, &by, (change, &text), told)
            })
        };
        let first = DecisionRef {
            root: root(1),
            expected_version: 1,
        };
        assert_eq!(saved(1, 1, 1), [Some("ui")]);
        assert_eq!(proposed(1, None, "ui"), NOTHING);
        assert_eq!(proposed(1, Some(first), "ui"), [Some("ui")]);
        assert_eq!(proposed(3, None, "global"), NOTHING);
        // What holds beside or inside does not count, and a version has its own domain.
        assert_eq!(proposed(3, None, "runtime"), [Some("runtime")]);
        assert_eq!(saved(4, 1, 2), [Some("runtime")]);
        assert_eq!(saved(4, 1, 1), [Some("ui")]);
        assert_eq!(saved(5, 4, 1), [Some("ui")]);
        assert_eq!(saved(5, 1, 1), NOTHING, "another one is of it by now");
        // What is withdrawn is of none, and others are not of its.
        assert_eq!(saved(6, 1, 3), NOTHING);
        assert_eq!(proposed(6, None, "runtime"), [Some("runtime")]);
        assert_eq!(proposed(7, None, "runtime"), NOTHING, "one around is of it");
    }

    #[test]
    fn of_more_that_speaks_against_it_than_there_is_room_for_as_many_of_each_scope_as_fit_are_told()
    {
        let count = u8::try_from(CONTRADICTIONS_MAX).unwrap() + 1;
        let of_scope = |path: &str, count: u8| -> Vec<Against> {
            let numbers = 1..=count;
            let all = numbers.map(|number| against(path, number, Rank::Lock, "2"));
            all.collect()
        };
        for (far, near) in [(count, 2), (2, count), (count, count)] {
            let (far, near) = (of_scope(ORG, far), of_scope(PROJECT, near));
            let all = [&far[..], &near[..]].concat();
            let fits =
                |of_scope: &[Against]| of_scope[..of_scope.len().min(CONTRADICTIONS_MAX)].to_vec();
            let right = [fits(&far), fits(&near)].concat();
            assert_eq!(wrong_against(&all, &right, true), None);
            assert!(wrong_against(&all, &all, true).is_some());
            // That there is more is told.
            assert!(wrong_against(&all, &right, false).is_some());
            // One that is missing, twice there, or another one, and what is near before what is far.
            assert!(wrong_against(&all, &right[1..], true).is_some());
            let mut twice = right.clone();
            twice[0] = twice[1].clone();
            assert!(wrong_against(&all, &twice, true).is_some());
            let mut other = right.clone();
            other[0].root = root(count + 1);
            assert!(wrong_against(&all, &other, true).is_some());
            let turned = [fits(&near), fits(&far)].concat();
            assert!(wrong_against(&all, &turned, true).is_some());
        }
        // What has room in each scope is told whole, however much that is together.
        let all = [of_scope(ORG, count - 1), of_scope(PROJECT, count - 1)].concat();
        assert_eq!(wrong_against(&all, &all, false), None);
        assert!(wrong_against(&all, &all, true).is_some());
        assert!(wrong_against(&all, &all[1..], false).is_some());
    }
}
