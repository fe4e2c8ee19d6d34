//! What must hold of what somebody was told of evidence and anchors.
//!
//! Owns the comparison with one point of what was committed, and with what was handed over to be kept.

use sillok_core::ErrorCode;
use sillok_core::anchor::Lead;
use sillok_core::id::{AnchorId, EvidenceId};
use sillok_core::scope::Scope;

use super::super::asked::{Excerpt, Pointer, Told};
use super::super::naive::Anchored;
use super::super::original::{MEDIA_TYPE, Original, part};
use super::super::view::View;

/// What is wrong about an anchor that a brief tells of, if anything.
pub(super) fn wrong_anchor(
    (anchor, leads): (&Pointer, &[Lead]),
    expected: Option<&Anchored>,
) -> Option<String> {
    let is_right =
        expected.is_some_and(|one| one.anchor == *anchor && one.leads.as_slice() == leads);
    (!is_right).then(|| format!("{anchor:?} to {leads:?} is told, and not {expected:?}"))
}

/// What is wrong about the text of evidence: that is what was handed over, with its secrets masked, from its first
/// character that lies in the part to the last one.
pub(super) fn wrong_text(
    view: &View<'_>,
    (scope, id): (&Scope, EvidenceId),
    original: &Original,
    asked: Option<(u64, u64)>,
    told: &Told,
) -> Option<String> {
    let Some((seq, _)) = view.evidence.get(&(scope, id)) else {
        let is_right = *told == Told::Text(None);
        return (!is_right).then(|| format!("{told:?} is told of evidence that is not there"));
    };
    let stored = original.stored();
    let bytes = stored.len() as u64;
    let (from, said) = match asked {
        Some((from, _)) if from > bytes => {
            let is_right = *told == Told::Refused(ErrorCode::InvalidArgument);
            return (!is_right)
                .then(|| format!("{told:?} is told of a part from {from} on of {bytes} bytes"));
        }
        Some((from, to)) => part(&stored, from, to),
        None => (0, stored.clone()),
    };
    let hash = |text: &str| *blake3::hash(text.as_bytes()).as_bytes();
    let expected = Told::Text(Some(Excerpt {
        title: original.title(),
        source: original.source(),
        media_type: MEDIA_TYPE.to_owned(),
        seq: *seq,
        bytes,
        hash: hash(&stored),
        masked: original.secrets(),
        from,
        len: said.len() as u64,
        said: hash(&said),
    }));
    (*told != expected).then(|| format!("{told:?} is told of {asked:?}, and not {expected:?}"))
}

/// What is wrong about what an anchor is said to point to, by the originals.
pub(super) fn wrong_followed(
    view: &View<'_>,
    (scope, id): (&Scope, AnchorId),
    told: &Told,
) -> Option<String> {
    let expected = Told::Followed(view.followed(scope, id));
    (*told != expected).then(|| format!("{told:?} is told, and not {expected:?}"))
}

#[cfg(test)]
mod tests {
    use sillok_core::decision::{Node, Rank};
    use sillok_core::id::Seq;

    use super::super::super::asked::Goal;
    use super::super::super::original::tests::original;
    use super::super::super::view::Timeline;
    use super::super::super::view::tests::{
        anchor, anchor_id, commit, evidence, evidence_id, keeping, kept, root, text,
    };
    use super::*;

    fn scope() -> Scope {
        Scope::parse("org/a").unwrap()
    }

    /// Evidence, a decision, and an anchor to both.
    fn timeline(one: &Original) -> Timeline {
        let said = text(Rank::Lock, "ui", "it holds");
        let to = vec![
            Node::Evidence {
                scope: scope(),
                id: evidence_id(1),
            },
            Node::Decision {
                scope: scope(),
                root: root(1),
            },
        ];
        let all = vec![
            kept("org/a", 2, evidence(1, &one.stored())),
            kept("org/a", 3, anchor(1, "ui", to)),
        ];
        Timeline {
            commits: vec![
                commit(("org/a", 1), Some(said), (1, 1), (1, 1)),
                keeping(all, (2, 2)),
            ],
        }
    }

    /// The whole of an original, as it has to be told.
    fn excerpt(one: &Original) -> Excerpt {
        let stored = one.stored();
        let hash = *blake3::hash(stored.as_bytes()).as_bytes();
        Excerpt {
            title: one.title(),
            source: one.source(),
            media_type: MEDIA_TYPE.to_owned(),
            seq: Seq::new(2),
            bytes: stored.len() as u64,
            hash,
            masked: one.secrets(),
            from: 0,
            len: stored.len() as u64,
            said: hash,
        }
    }

    #[test]
    fn a_text_that_is_not_what_was_handed_over_with_its_secrets_masked_is_found() {
        for chunks in [0, 2] {
            let one = original(1, chunks, true);
            let timeline = timeline(&one);
            let view = timeline.last();
            let here = scope();
            let is_wrong_of = |id: u8, told: &Told| {
                wrong_text(&view, (&here, evidence_id(id)), &one, None, told).is_some()
            };
            let is_wrong = |spoil: fn(&mut Excerpt)| {
                let mut excerpt = excerpt(&one);
                spoil(&mut excerpt);
                is_wrong_of(1, &Told::Text(Some(excerpt)))
            };
            assert!(!is_wrong(|_| ()));
            assert!(is_wrong(|told| told.title.clear()));
            assert!(is_wrong(|told| told.source.clear()));
            assert!(is_wrong(|told| told.media_type.clear()));
            assert!(is_wrong(|told| told.seq = Seq::new(1)));
            assert!(is_wrong(|told| told.bytes += 1));
            assert!(is_wrong(|told| told.hash[0] ^= 1));
            assert!(is_wrong(|told| told.masked = 1));
            assert!(is_wrong(|told| told.from = 1));
            assert!(is_wrong(|told| told.len -= 1));
            assert!(is_wrong(|told| told.said[0] ^= 1));
            assert!(is_wrong_of(1, &Told::Text(None)));
            let refused = Told::Refused(ErrorCode::InvalidArgument);
            assert!(is_wrong_of(1, &refused));
            // Its secrets as they were handed over.
            let given = one.given().content;
            let unmasked = Excerpt {
                len: given.len() as u64,
                said: *blake3::hash(given.as_bytes()).as_bytes(),
                ..excerpt(&one)
            };
            assert!(is_wrong_of(1, &Told::Text(Some(unmasked))));
            // One that is not there.
            assert!(!is_wrong_of(2, &Told::Text(None)));
            assert!(is_wrong_of(2, &Told::Text(Some(excerpt(&one)))));
        }
    }

    #[test]
    fn a_part_is_cut_between_characters_and_one_behind_the_end_is_refused() {
        let one = original(1, 0, false);
        let timeline = timeline(&one);
        let view = timeline.last();
        let stored = one.stored();
        let bytes = stored.len() as u64;
        let here = scope();
        let is_wrong = |asked: (u64, u64), told: &Told| {
            let named = (&here, evidence_id(1));
            wrong_text(&view, named, &one, Some(asked), told).is_some()
        };
        let of = |from: usize, to: usize| {
            let said = &stored[from..to];
            Told::Text(Some(Excerpt {
                from: from as u64,
                len: said.len() as u64,
                said: *blake3::hash(said.as_bytes()).as_bytes(),
                ..excerpt(&one)
            }))
        };
        let wide = stored.find('줄').unwrap();
        let at = wide as u64;
        // Behind the wide character come a space, a digit, a colon, a space, and another wide one.
        assert!(!is_wrong((at, at + 9), &of(wide, wide + 7)));
        assert!(!is_wrong((at + 1, at + 9), &of(wide + 3, wide + 7)));
        assert!(!is_wrong((at - 9, at + 2), &of(wide - 9, wide)));
        assert!(is_wrong((at - 9, at + 2), &of(wide - 9, wide + 3)));
        assert!(is_wrong((at + 1, at + 9), &of(wide, wide + 7)));
        // Behind the end there is nothing, and up to it there is.
        let refused = Told::Refused(ErrorCode::InvalidArgument);
        assert!(!is_wrong((bytes + 1, bytes + 9), &refused));
        assert!(is_wrong((bytes - 1, bytes + 9), &refused));
        assert!(!is_wrong((at, bytes + 9), &of(wide, stored.len())));
    }

    #[test]
    fn an_anchor_that_leads_elsewhere_or_in_another_order_is_found() {
        let one = original(1, 0, false);
        let timeline = timeline(&one);
        let view = timeline.last();
        let here = scope();
        let right = view.followed(&here, anchor_id(1)).unwrap();
        assert_eq!(right.1.len(), 2);
        let is_wrong = |spoil: fn(&mut Pointer, &mut Vec<Goal>)| {
            let (mut anchor, mut goals) = right.clone();
            spoil(&mut anchor, &mut goals);
            let told = Told::Followed(Some((anchor, goals)));
            wrong_followed(&view, (&here, anchor_id(1)), &told).is_some()
        };
        assert!(!is_wrong(|_, _| ()));
        assert!(is_wrong(|anchor, _| anchor.hint.clear()));
        assert!(is_wrong(|anchor, _| anchor.dropped = true));
        assert!(is_wrong(|_, goals| goals.swap(0, 1)));
        assert!(is_wrong(|_, goals| drop(goals.pop())));
        assert!(is_wrong(|_, goals| {
            if let Goal::Decision { number, .. } = &mut goals[0] {
                *number = 2;
            }
        }));
        assert!(is_wrong(|_, goals| {
            if let Goal::Evidence { text, .. } = &mut goals[1] {
                *text = None;
            }
        }));
        let nothing = Told::Followed(None);
        assert!(wrong_followed(&view, (&here, anchor_id(1)), &nothing).is_some());
        assert!(wrong_followed(&view, (&here, anchor_id(2)), &nothing).is_none());
    }
}
