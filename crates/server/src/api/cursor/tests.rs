//! Each cursor is read back by its own listing, and by no other.

use std::collections::BTreeSet;

use sillok_core::id::VerificationId;

use super::*;

#[test]
fn a_cursor_is_read_back_by_its_own_listing_only() {
    for generation in [1, 7, u32::MAX] {
        let seq = Cursor::Seq(Seq::new(700)).encode(generation);
        let scope = Scope::parse("org/a.b/project/b").unwrap();
        let path = Cursor::Scope(scope.clone()).encode(generation);
        let entry = EntryId::from_bytes([9; 16]);
        let line = Cursor::Entry(entry).encode(generation);
        let place = JobPlace {
            slot: Slot::new(4_095).unwrap(),
            verification: VerificationId::from_bytes([7; 16]),
        };
        let job = Cursor::Promotion(place).encode(generation);
        let read_job = |text: &str| Cursor::promotion(Some(text), generation);
        assert_eq!(read_job(&job).unwrap(), Some(place));
        for foreign in [&path, &line, &seq, "j", "j1000-", "jfff-x", "jfff"] {
            assert!(read_job(foreign).is_err(), "{foreign}");
        }
        let root = DecisionId::from_bytes([5; 16]);
        let of_all = DecisionPlace {
            listing: DecisionListing {
                rank: None,
                domain: None,
                withdrawn: false,
            },
            at: DecisionAt::Root(root),
        };
        let decision = Cursor::Decision(of_all).encode(generation);
        let read_root = |text: &str| Cursor::decision(Some(text), generation);
        assert_eq!(read_root(&decision).unwrap(), Some(of_all));
        for foreign in [&path, &line, &seq, &job] {
            assert!(read_root(foreign).is_err(), "{foreign}");
        }
        assert!(Cursor::entry(Some(&decision), generation).is_err());
        let id = EvidenceId::from_bytes([4; 16]);
        let evidence = Cursor::Evidence(id).encode(generation);
        let read_evidence = |text: &str| Cursor::evidence(Some(text), generation);
        assert_eq!(read_evidence(&evidence).unwrap(), Some(id));
        let id = AnchorId::from_bytes([3; 16]);
        let anchor = Cursor::Anchor(id).encode(generation);
        let read_anchor = |text: &str| Cursor::anchor(Some(text), generation);
        assert_eq!(read_anchor(&anchor).unwrap(), Some(id));
        for foreign in [&path, &line, &seq, &decision, "v", "a", "a5"] {
            assert!(read_evidence(foreign).is_err(), "{foreign}");
            assert!(read_anchor(foreign).is_err(), "{foreign}");
        }
        assert!(read_evidence(&anchor).is_err() && read_anchor(&evidence).is_err());
        let read = |text: &str| Cursor::seq(Some(text), generation);
        assert_eq!(read(&seq).unwrap(), Seq::new(700));
        assert_eq!(Cursor::scope(Some(&path), generation).unwrap(), Some(scope));
        assert_eq!(Cursor::entry(Some(&line), generation).unwrap(), Some(entry));
        assert_eq!(read("700").unwrap(), Seq::new(700));
        for foreign in [
            path.as_str(),
            &line,
            &job,
            "",
            "\u{e9}",
            "-7",
            "q7.",
            "q7.1.1",
        ] {
            assert!(read(foreign).is_err(), "{foreign}");
        }
        for wrong in [&path, &line] {
            assert_eq!(read(wrong).unwrap_err().code, ErrorCode::InvalidArgument);
        }
        assert!(Cursor::scope(Some(&seq), generation).is_err());
        assert!(Cursor::entry(Some(&seq), generation).is_err());
    }
}

/// The places of one decision in all sorts of listings.
fn places() -> Vec<DecisionPlace> {
    let root = DecisionId::from_bytes([5; 16]);
    let domain = DomainKey::from_bytes([6; DomainKey::LEN]);
    let ranks = Rank::ALL.into_iter().map(Some).chain([None]);
    let mut places = Vec::new();
    for rank in ranks {
        for of_domain in [None, Some(domain)] {
            for withdrawn in [false, true] {
                let listing = DecisionListing {
                    rank,
                    domain: of_domain,
                    withdrawn,
                };
                let listed = DecisionAt::Listed {
                    domain,
                    begun: Seq::new(700),
                    root,
                };
                let at = [DecisionAt::Root(root), listed];
                places.extend(at.map(|at| DecisionPlace { listing, at }));
            }
        }
    }
    places
}

#[test]
fn a_place_among_decisions_says_of_which_listing_it_is() {
    let places = places();
    for generation in [1, 7] {
        let mut texts = BTreeSet::new();
        for place in &places {
            let text = Cursor::Decision(*place).encode(generation);
            let read = Cursor::decision(Some(&text), generation).unwrap();
            assert_eq!(read, Some(*place), "{text}");
            assert!(texts.insert(text), "{place:?}");
        }
    }
    let root = DecisionId::from_bytes([5; 16]);
    let domain = "06".repeat(DomainKey::LEN);
    for (right, wrong) in [
        (
            format!("dax-{root}"),
            // The form of before, and what names no decision, no listing or more than one.
            vec![
                format!("d{root}"),
                "d".to_owned(),
                "dax".to_owned(),
                "dax-".to_owned(),
                "dax-5".to_owned(),
                format!("d-{root}"),
                format!("da-{root}"),
                format!("dx-{root}"),
                format!("dbx-{root}"),
                format!("da4-{root}"),
                format!("da\u{e9}-{root}"),
                format!("dax06-{root}"),
                format!("d\u{e9}-{root}"),
            ],
        ),
        (
            format!("la2-{domain}-2bc-{root}"),
            vec![
                format!("l{domain}-2bc-{root}"),
                "l".to_owned(),
                "l-".to_owned(),
                "la2--".to_owned(),
                format!("la2-06-2bc-{root}"),
                format!("la2-{domain}-x-{root}"),
                format!("la2-{domain}--{root}"),
                format!("la2-{domain}-2bc"),
                format!("la2-{root}"),
            ],
        ),
    ] {
        assert!(Cursor::decision(Some(&right), 1).is_ok(), "{right}");
        for text in wrong {
            let refused = Cursor::decision(Some(&text), 1).unwrap_err();
            assert_eq!(refused.code, ErrorCode::InvalidArgument, "{text}");
        }
    }
}

#[test]
fn a_cursor_from_before_a_restore_is_refused_by_name() {
    let scope = Scope::parse("org/a").unwrap();
    for (given, current) in [(1, 5), (5, 1), (5, 6)] {
        let code = |refused: Error| refused.code;
        let seq = Cursor::Seq(Seq::new(7)).encode(given);
        let path = Cursor::Scope(scope.clone()).encode(given);
        let line = Cursor::Entry(EntryId::from_bytes([9; 16])).encode(given);
        let changed = Err(ErrorCode::HistoryChanged);
        assert_eq!(
            Cursor::seq(Some(&seq), current).map_err(code),
            changed.map(|()| Seq::ZERO)
        );
        assert_eq!(
            Cursor::scope(Some(&path), current).map_err(code),
            changed.map(|()| None)
        );
        assert_eq!(
            Cursor::entry(Some(&line), current).map_err(code),
            changed.map(|()| None)
        );
    }
}

#[test]
fn no_cursor_is_the_start() {
    assert_eq!(Cursor::seq(None, 3).unwrap(), Seq::ZERO);
    assert_eq!(Cursor::scope(None, 3).unwrap(), None);
    assert_eq!(Cursor::entry(None, 3).unwrap(), None);
    assert_eq!(Cursor::promotion(None, 3).unwrap(), None);
    assert_eq!(Cursor::decision(None, 3).unwrap(), None);
    assert_eq!(Cursor::evidence(None, 3).unwrap(), None);
    assert_eq!(Cursor::anchor(None, 3).unwrap(), None);
    assert_eq!(Cursor::relation(None, 3).unwrap(), None);
}

#[test]
fn a_cursor_over_kinds_of_relations_is_read_back_by_their_listing_only() {
    for generation in [1, 7, u32::MAX] {
        let name: RelationName = "CAUSES_7".parse().unwrap();
        let relation = Cursor::Relation(name).encode(generation);
        let read_relation = |text: &str| Cursor::relation(Some(text), generation);
        assert_eq!(read_relation(&relation).unwrap(), Some(name));
        let seq = Cursor::Seq(Seq::new(700)).encode(generation);
        let anchor = Cursor::Anchor(AnchorId::from_bytes([3; 16])).encode(generation);
        for foreign in [&seq, &anchor, "k", "k7", "kA B"] {
            assert!(read_relation(foreign).is_err(), "{foreign}");
        }
        assert!(Cursor::anchor(Some(&relation), generation).is_err());
    }
}
