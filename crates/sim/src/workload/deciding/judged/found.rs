//! What must hold of what somebody was told to lie behind anchors.
//!
//! Owns the comparison with one point of what was committed: each hit is led to by an anchor that a brief tells of and has a
//! word that was looked for, none that has one is missing, unless it is worse than all that are told, and the best comes first.
//! Nothing is called unreadable: no world damages a row.

use std::collections::BTreeSet;

use sillok_core::decision::{Domain, Node};
use sillok_core::scope::Scope;

use super::super::asked::Hit;
use super::super::naive::{Answers, Led, answers, has_word};
use super::super::view::View;

/// What is wrong about hits, if anything.
pub(super) fn wrong_found(
    view: &View<'_>,
    (scope, domain): (&Scope, &Domain),
    (words, hits_max): (&[String], usize),
    (hits, is_cut, unreadable): (&[Hit], bool, u64),
) -> Option<String> {
    if unreadable > 0 {
        return Some(format!(
            "{unreadable} are called unreadable, and nothing is damaged"
        ));
    }
    let led = view.led(scope, domain);
    let mut told: BTreeSet<&Node> = BTreeSet::new();
    for hit in hits {
        let Some(expected) = led.iter().find(|one| one.lead == hit.lead) else {
            return Some(format!("{hit:?} is led to by nothing that is seen"));
        };
        if !told.insert(&hit.lead.to) {
            return Some(format!("{} is found twice", hit.lead.to));
        }
        if let Some(what) = wrong_hit(hit, expected, words, is_cut) {
            return Some(format!("{hit:?} is found: {what}"));
        }
    }
    let has_one = led.iter().map(|one| one.has_one(words));
    let has_one: Vec<Option<bool>> = has_one.collect();
    let certain = has_one.iter().filter(|one| **one == Some(true)).count();
    let possible = has_one.iter().filter(|one| **one != Some(false)).count();
    let is_whole = (certain.min(hits_max)..=possible.min(hits_max)).contains(&hits.len());
    if !is_whole && !is_cut {
        let found = hits.len();
        return Some(format!(
            "{found} are found of {certain} that have one of {words:?}, with {hits_max} asked for"
        ));
    }
    if !hits.is_sorted_by(|one, next| one.score >= next.score) {
        return Some("a worse one is told before a better one".to_owned());
    }
    // What a bound cut off was counted by nobody.
    let answers = answers(&led, words).filter(|_| !is_cut)?;
    wrong_order(&led, &answers, hits)
}

/// What is wrong about the order of hits, or about which are told where few were asked for. A better one comes first, and of
/// those that are as good the one that was come upon first.
fn wrong_order(led: &[Led], answers: &[Answers], hits: &[Hit]) -> Option<String> {
    let place = |hit: &Hit| led.iter().position(|one| one.lead.to == hit.lead.to);
    let told: Vec<usize> = hits.iter().filter_map(place).collect();
    let belongs_before = |one: usize, other: usize| {
        let (one_is, other_is) = (&answers[one], &answers[other]);
        one_is.is_better_than(other_is) || (one_is.is_as_good_as(other_is) && one < other)
    };
    for (number, (hit, at)) in hits.iter().zip(&told).enumerate() {
        if !answers[*at].is_scored(hit.score) {
            let score = answers[*at].score;
            return Some(format!("{hit:?} is scored otherwise than by {score}"));
        }
        let behind = (0..led.len()).filter(|one| !told[..=number].contains(one));
        let mut before = behind.filter(|one| belongs_before(*one, *at));
        if let Some(better) = before.next() {
            let (to, better) = (&hit.lead.to, &led[better].lead.to);
            return Some(format!("{to} is told before {better} or without it"));
        }
    }
    None
}

fn wrong_hit(hit: &Hit, expected: &Led, words: &[String], is_cut: bool) -> Option<String> {
    if expected.has_one(words) == Some(false) {
        return Some(format!("it has none of {words:?}"));
    }
    if !expected
        .anchors
        .iter()
        .any(|(anchor, _)| *anchor == hit.anchor)
    {
        return Some("the anchor that is named does not lead there".to_owned());
    }
    let others = expected.anchors.len() as u64 - 1;
    if hit.others > others || (hit.others < others && !is_cut) {
        return Some(format!("{others} others lead there"));
    }
    if hit.version != expected.version {
        return Some(format!("it is version {:?}", expected.version));
    }
    let text = expected.text.as_ref()?;
    if hit.bytes != text.len() as u64 {
        return Some(format!("it has {} bytes", text.len()));
    }
    let place = |at: u64| usize::try_from(at).expect("texts are short");
    let passage = text.get(place(hit.from)..place(hit.from + hit.len));
    let is_read = passage.is_some_and(|passage| {
        let says_one = has_word(passage, words) || !has_word(text, words);
        says_one && *blake3::hash(passage.as_bytes()).as_bytes() == hit.said
    });
    (!is_read && !is_cut).then(|| format!("what stands there is {passage:?}"))
}

#[cfg(test)]
mod tests {
    use sillok_core::decision::Rank;
    use sillok_core::id::{AnchorId, CommandId};
    use sillok_core::staging::Content;

    use super::super::super::original::Original;
    use super::super::super::original::tests::original;
    use super::super::super::view::tests::{
        anchor, anchor_id, commit, evidence, evidence_id, keeping, kept, root, text,
    };
    use super::super::super::view::{KeptSaid, Timeline};
    use super::*;

    const ORG: &str = "org/a";

    fn scope() -> Scope {
        Scope::parse(ORG).unwrap()
    }

    /// Evidence and a decision, two anchors to the evidence, and one of another domain to the decision.
    fn timeline() -> Timeline {
        let run = Node::Evidence {
            scope: scope(),
            id: evidence_id(1),
        };
        let choice = Node::Decision {
            scope: scope(),
            root: root(1),
        };
        let all = vec![
            kept(ORG, 2, evidence(1, &original(1, 0, false).stored())),
            kept(ORG, 3, anchor(1, "global", vec![run.clone()])),
            kept(ORG, 4, anchor(2, "ui", vec![run])),
            kept(ORG, 5, anchor(3, "runtime", vec![choice])),
        ];
        let said = text(Rank::Lock, "ui", "a door");
        Timeline {
            commits: vec![
                commit((ORG, 1), Some(said), (1, 1), (1, 1)),
                keeping(all, (2, 2)),
            ],
        }
    }

    fn words() -> Vec<String> {
        vec!["door".to_owned()]
    }

    /// The hits that are right for `ui`, in the order in which they are come upon.
    fn all_right(view: &View<'_>) -> Vec<Hit> {
        let led = view.led(&scope(), &"ui".parse().unwrap());
        let answers = answers(&led, &words()).unwrap();
        let scored = led.iter().zip(&answers);
        let hits = scored.map(|(one, answers)| {
            let said = one.text.as_ref().unwrap();
            let passage = said.lines().next().unwrap();
            Hit {
                anchor: one.anchors[0].0.clone(),
                others: one.anchors.len() as u64 - 1,
                lead: one.lead.clone(),
                version: None,
                bytes: said.len() as u64,
                from: 0,
                len: passage.len() as u64,
                said: *blake3::hash(passage.as_bytes()).as_bytes(),
                score: as_nodes_do(answers.score),
            }
        });
        hits.collect()
    }

    /// A score with as many digits as nodes count with.
    #[expect(clippy::cast_possible_truncation, reason = "it has fewer digits then")]
    fn as_nodes_do(score: f64) -> u32 {
        (score as f32).to_bits()
    }

    /// The hit that is right for `ui`.
    fn right(view: &View<'_>) -> Hit {
        let hits = all_right(view);
        let [one] = hits.as_slice() else {
            panic!("{hits:?}")
        };
        Hit {
            anchor: (scope(), anchor_id(1)),
            ..one.clone()
        }
    }

    /// Three originals that say the word, two of them as often, and one that does not, each behind an anchor of its own.
    fn many() -> Timeline {
        let says = |number: u8, text: &str| {
            let to = Node::Evidence {
                scope: scope(),
                id: evidence_id(number),
            };
            let seq = 2 * u64::from(number);
            [
                kept(ORG, seq, evidence(number, text)),
                kept(ORG, seq + 1, anchor(number, "ui", vec![to])),
            ]
        };
        let all = [
            says(1, "a door and a window and a wall"),
            says(2, "the door of a door"),
            says(3, "a door and a window and a wall"),
            says(4, "a wall"),
        ];
        Timeline {
            commits: vec![keeping(all.into_iter().flatten().collect(), (2, 2))],
        }
    }

    #[test]
    fn a_reversed_order_and_a_worse_list_of_few_are_found_wrong() {
        let timeline = many();
        let view = timeline.last();
        let is_wrong = |hits: &[Hit], hits_max, is_cut| {
            let asked = (&scope(), &"ui".parse().unwrap());
            let told = (hits, is_cut, 0);
            wrong_found(&view, asked, (&words(), hits_max), told).is_some()
        };
        // What was added last is come upon first.
        let [wall, last, best, first] = all_right(&view).try_into().unwrap();
        assert_eq!(wall.score, 0);
        assert!(first.score == last.score && best.score > first.score);
        let hits = |all: &[&Hit]| -> Vec<Hit> { all.iter().map(|hit| (*hit).clone()).collect() };
        assert!(!is_wrong(&hits(&[&best, &last, &first]), 9, false));
        for all in [
            [&first, &last, &best],
            [&last, &first, &best],
            [&last, &best, &first],
            [&best, &first, &last],
        ] {
            assert!(is_wrong(&hits(&all), 9, false), "{all:?}");
        }
        // The head of the list, and what is none.
        assert!(!is_wrong(&hits(&[&best]), 1, false));
        assert!(!is_wrong(&hits(&[&best, &last]), 2, false));
        for all in [&[&first][..], &[&last], &[&best, &first], &[&last, &first]] {
            assert!(is_wrong(&hits(all), all.len(), false), "{all:?}");
        }
        // Whoever reverses the order and the scores has scores that are not so.
        let mut lying = hits(&[&first, &last, &best]);
        lying[0].score = best.score;
        lying[2].score = first.score;
        assert!(is_wrong(&lying, 9, false));
        // Where something was cut off, the scores alone tell the order.
        assert!(!is_wrong(&hits(&[&best, &first]), 9, true));
        assert!(is_wrong(&hits(&[&first, &best]), 9, true));
    }

    #[test]
    fn a_hit_that_is_spoilt_in_anything_is_found_and_so_is_one_that_is_missing() {
        let timeline = timeline();
        let view = timeline.last();
        let is_wrong_among = |hits: &[Hit], words: &[String], hits_max, is_cut| {
            let asked = (&scope(), &"ui".parse().unwrap());
            let told = (hits, is_cut, 0);
            wrong_found(&view, asked, (words, hits_max), told).is_some()
        };
        let right = right(&view);
        let is_wrong = |spoil: fn(&mut Hit)| {
            let mut hit = right.clone();
            spoil(&mut hit);
            is_wrong_among(&[hit], &words(), 9, false)
        };
        assert!(!is_wrong(|_| ()));
        assert!(!is_wrong(|hit| hit.anchor.1 = anchor_id(2)));
        assert!(is_wrong(|hit| hit.anchor.1 = anchor_id(3)));
        assert!(is_wrong(|hit| hit.anchor.1 = AnchorId::from_bytes([9; 16])));
        assert!(is_wrong(|hit| hit.others = 0));
        assert!(is_wrong(|hit| hit.others = 2));
        assert!(is_wrong(|hit| hit.lead.title.clear()));
        assert!(is_wrong(|hit| hit.version = Some(1)));
        assert!(is_wrong(|hit| hit.bytes += 1));
        assert!(is_wrong(|hit| hit.from += 1));
        assert!(is_wrong(|hit| hit.len -= 1));
        assert!(is_wrong(|hit| hit.said[0] ^= 1));
        assert!(is_wrong(|hit| hit.score += 1 << 20));
        // What is missing, what is told twice, and what has no such word.
        assert!(is_wrong_among(&[], &words(), 9, false));
        assert!(!is_wrong_among(&[], &words(), 9, true));
        let twice = [right.clone(), right.clone()];
        assert!(is_wrong_among(&twice, &words(), 9, false));
        let nowhere = vec!["nowhere".to_owned()];
        assert!(is_wrong_among(&[right], &nowhere, 9, false));
        assert!(!is_wrong_among(&[], &nowhere, 9, false));
    }

    #[test]
    fn what_is_called_unreadable_is_found_wrong_whatever_else_is_told() {
        let timeline = timeline();
        let view = timeline.last();
        let right = [right(&view)];
        let is_wrong = |hits: &[Hit], is_cut, unreadable| {
            let asked = (&scope(), &"ui".parse().unwrap());
            let told = (hits, is_cut, unreadable);
            wrong_found(&view, asked, (&words(), 9), told).is_some()
        };
        for is_cut in [false, true] {
            assert!(!is_wrong(&right, is_cut, 0));
            for unreadable in [1, 2] {
                assert!(is_wrong(&right, is_cut, unreadable));
                assert!(is_wrong(&[], is_cut, unreadable));
            }
        }
    }

    #[test]
    fn the_original_of_evidence_in_chunks_is_known_by_its_title() {
        for (chunks, masks) in [(0, false), (2, true)] {
            let one = original(7, chunks, masks);
            let kept = evidence(1, &one.stored());
            let KeptSaid::Evidence(mut said) = kept else {
                panic!("it is evidence")
            };
            said.title = one.title();
            said.masked = one.secrets();
            if chunks > 0 {
                said.content = Content::Chunked {
                    command: CommandId::from_bytes([1; 16]),
                    first: 0,
                    count: 3,
                    bytes: one.stored().len() as u64,
                    hash: said.hash,
                };
            }
            assert_eq!(
                Original::told(&said.title, said.masked, &said.content),
                Some(one)
            );
        }
    }
}
