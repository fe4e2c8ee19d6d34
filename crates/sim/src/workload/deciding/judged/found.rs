//! What must hold of what somebody was told to lie behind anchors.
//!
//! Owns the comparison with one point of what was committed: each hit is led to by an anchor that a brief tells of and has a
//! word that was looked for, and none that has one is missing.

use std::collections::BTreeSet;

use sillok_core::decision::{Domain, Node};
use sillok_core::scope::Scope;

use super::super::asked::Hit;
use super::super::naive::{Led, has_word};
use super::super::view::View;

/// What is wrong about hits, if anything.
pub(super) fn wrong_found(
    view: &View<'_>,
    (scope, domain): (&Scope, &Domain),
    (words, hits_max): (&[String], usize),
    (hits, is_cut): (&[Hit], bool),
) -> Option<String> {
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
    let misses = !is_whole && !is_cut;
    misses.then(|| {
        let found = hits.len();
        format!(
            "{found} are found of {certain} that have one of {words:?}, with {hits_max} asked for"
        )
    })
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

    /// The hit that is right for `ui`.
    fn right(view: &View<'_>) -> Hit {
        let led = view.led(&scope(), &"ui".parse().unwrap());
        let [one] = led.as_slice() else {
            panic!("{led:?}")
        };
        let said = one.text.as_ref().unwrap();
        let passage = said.lines().next().unwrap();
        Hit {
            anchor: (scope(), anchor_id(1)),
            others: 1,
            lead: one.lead.clone(),
            version: None,
            bytes: said.len() as u64,
            from: 0,
            len: passage.len() as u64,
            said: *blake3::hash(passage.as_bytes()).as_bytes(),
        }
    }

    #[test]
    fn a_hit_that_is_spoilt_in_anything_is_found_and_so_is_one_that_is_missing() {
        let timeline = timeline();
        let view = timeline.last();
        let is_wrong_among = |hits: &[Hit], words: &[String], hits_max, is_cut| {
            let asked = (&scope(), &"ui".parse().unwrap());
            wrong_found(&view, asked, (words, hits_max), (hits, is_cut)).is_some()
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
