//! Tests of kinds of relations: their names, and the forms in which they are stored and sent.

use proptest::prelude::*;
use serde::de::DeserializeOwned;

use super::*;
use crate::decision::Relation;

/// What queries know, or will know, between other things than decisions.
const NOT_OF_DECISIONS: [&str; 6] = ["CAUSED", "TELLS", "CALLS", "CONTAINS", "DEFINES", "IMPORTS"];
const ROOT: &str = "0196f3a2-0000-7000-8000-000000000001";

fn name(text: &str) -> RelationName {
    text.parse().unwrap()
}

fn declared(text: &str, reach: Reach) -> RelationKind {
    RelationKind::Declared(DeclaredKind {
        name: name(text),
        reach,
    })
}

fn any_reach() -> impl Strategy<Value = Reach> {
    proptest::sample::select(Reach::ALL.to_vec())
}

fn any_name() -> impl Strategy<Value = RelationName> {
    "[A-Z][A-Z0-9_]{0,31}".prop_map(|text| RelationName::stored(&text).unwrap())
}

/// Texts that are names, that are not, and that are taken.
fn any_text() -> impl Strategy<Value = String> {
    let taken = RelationKind::BUILT_IN.map(|kind| kind.to_string());
    let taken = taken.into_iter().chain(NOT_OF_DECISIONS.map(str::to_owned));
    let taken = proptest::sample::select(taken.collect::<Vec<_>>());
    let cased = (taken, any::<bool>()).prop_map(|(text, lower)| match lower {
        true => text.to_ascii_lowercase(),
        false => text,
    });
    prop_oneof![3 => "[A-Za-z0-9_ Éſ-]{0,34}", 1 => cased]
}

fn any_kind() -> impl Strategy<Value = RelationKind> {
    let built_in = proptest::sample::select(RelationKind::BUILT_IN.to_vec());
    let declared = (any_name(), any_reach())
        .prop_map(|(name, reach)| RelationKind::Declared(DeclaredKind { name, reach }));
    prop_oneof![built_in, declared]
}

/// What `stored` is read as, in each of the two forms in which events go.
fn read_again<T: Serialize + DeserializeOwned>(stored: &T) -> [T; 2] {
    let bytes = postcard::to_allocvec(stored).unwrap();
    let text = serde_json::to_string(stored).unwrap();
    [
        postcard::from_bytes(&bytes).unwrap(),
        serde_json::from_str(&text).unwrap(),
    ]
}

proptest! {
    #[test]
    fn a_name_is_read_in_letters_of_either_case_or_refused(text in any_text()) {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let begins = text.chars().next().is_some_and(|c| c.is_ascii_alphabetic());
        let built_in = RelationKind::BUILT_IN.map(|kind| kind.to_string());
        let fits = begins
            && text.chars().all(is_plain)
            && text.len() <= 32;
        let upper = text.to_ascii_uppercase();
        let taken = built_in.contains(&upper) || NOT_OF_DECISIONS.contains(&&*upper);
        prop_assert_eq!(RelationName::stored(&text).is_ok(), fits);
        let read = text.parse::<RelationName>();
        prop_assert_eq!(read.is_ok(), fits && !taken);
        if let Ok(read) = read {
            prop_assert_eq!(read.to_string(), text.to_ascii_uppercase());
            prop_assert_eq!(read, text.to_ascii_lowercase().parse().unwrap());
        }
    }

    #[test]
    fn a_name_is_stored_as_its_text_and_nothing_else_is_read_as_one(one in any_name(), text in "[A-Z0-9_ ]{0,34}") {
        let stored = postcard::to_allocvec(one.as_str()).unwrap();
        prop_assert_eq!(postcard::to_allocvec(&one).unwrap(), stored);
        let json = serde_json::to_string(one.as_str()).unwrap();
        prop_assert_eq!(serde_json::to_string(&one).unwrap(), json);
        prop_assert_eq!(read_again(&one), [one; 2]);
        let odd = postcard::to_allocvec(&text).unwrap();
        let read = postcard::from_bytes::<RelationName>(&odd).ok();
        prop_assert_eq!(read, RelationName::stored(&text).ok());
    }

    #[test]
    fn names_lie_in_the_order_of_their_texts(one in any_name(), other in any_name()) {
        prop_assert_eq!(one.cmp(&other), one.as_str().cmp(other.as_str()));
        let longer = RelationName::stored(&format!("{one}0"));
        prop_assert!(longer.is_err() || longer.unwrap() > one);
    }

    #[test]
    fn a_kind_is_read_as_it_is_stored(kind in any_kind()) {
        prop_assert_eq!(read_again(&kind), [kind; 2]);
        let to: Node = format!("decision:org/a#{ROOT}").parse().unwrap();
        let related = Relation { kind, to };
        prop_assert_eq!(read_again(&related), [related.clone(), related.clone()]);
        // What stands behind it is read as well: its bytes end where it does.
        let both = (kind, 7u8);
        prop_assert_eq!(read_again(&both), [both; 2]);
        let stored = postcard::to_allocvec(&kind).unwrap();
        prop_assert_eq!(stored[0], kind.ordinal());
        prop_assert_eq!(kind.declared().is_some(), stored.len() > 1);
    }

    #[test]
    fn any_bytes_are_a_kind_that_may_be_or_refused(mut bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
        if let Some(first) = bytes.first_mut() {
            *first %= 7;
        }
        if let Ok(kind) = postcard::from_bytes::<RelationKind>(&bytes) {
            prop_assert_eq!(read_again(&kind), [kind; 2]);
        }
    }
}

#[test]
fn kinds_that_are_built_in_are_told_by_name_and_stored_by_their_ordinals() {
    let names = [
        "DEPENDS_ON",
        "CONSTRAINS",
        "VALIDATES",
        "APPLIES_TO",
        "RESTS_ON",
    ];
    assert_eq!(RelationKind::BUILT_IN.map(|kind| kind.to_string()), names);
    for (ordinal, kind) in (0u8..).zip(RelationKind::BUILT_IN) {
        let name = kind.as_str();
        assert_eq!(name.parse::<RelationKind>().unwrap(), kind);
        assert_eq!(name.to_lowercase().parse::<RelationKind>().unwrap(), kind);
        assert_eq!(serde_json::to_string(&kind).unwrap(), format!("\"{name}\""));
        assert_eq!(postcard::to_allocvec(&kind).unwrap(), [ordinal]);
        assert_eq!((kind.ordinal(), kind.declared()), (ordinal, None));
    }
    for other in ["CAUSES", "DECLARED", ""] {
        let refused = other.parse::<RelationKind>().unwrap_err();
        assert_eq!(refused.code, ErrorCode::InvalidArgument);
        assert!(refused.message.contains("DEPENDS_ON, CONSTRAINS, "));
    }
}

#[test]
fn names_of_what_no_decision_declares_are_taken_and_stay_readable() {
    let taken = [
        ("caused", "CAUSED is a relation of episodes: "),
        ("Tells", "TELLS is a relation of episodes: "),
        ("imports", "IMPORTS is a relation of code: "),
        ("rests_on", "the relation RESTS_ON is built in"),
    ];
    for (text, why) in taken {
        let refused = text.parse::<RelationName>().unwrap_err();
        assert_eq!(refused.code, ErrorCode::InvalidArgument);
        assert!(refused.message.starts_with(why), "{refused}");
        // One that was declared before the name was taken.
        let stored = RelationName::stored(text).unwrap();
        assert_eq!(read_again(&stored), [stored; 2]);
        assert_eq!(stored.check_free().unwrap_err(), refused);
    }
    assert!("CAUSES".parse::<RelationName>().is_ok());
}

#[test]
fn a_kind_that_is_declared_is_stored_with_its_name_and_its_reach() {
    for (number, reach) in (0u8..).zip(Reach::ALL) {
        let kind = declared("Causes", reach);
        assert_eq!(kind.to_string(), "CAUSES");
        let told = format!(r#"{{"DECLARED":{{"name":"CAUSES","reach":"{reach}"}}}}"#);
        assert_eq!(serde_json::to_string(&kind).unwrap(), told);
        let stored = [b"\x05\x06CAUSES", &[number][..]].concat();
        assert_eq!(postcard::to_allocvec(&kind).unwrap(), stored);
    }
    // A name like that of the variant is one as well.
    let odd = declared("DECLARED", Reach::Both);
    assert_eq!(read_again(&odd), [odd; 2]);
    let last = RelationKind::BUILT_IN[4];
    assert!(last < declared("A", Reach::Forward));
}

#[test]
fn what_is_built_in_is_not_declared() {
    for kind in RelationKind::BUILT_IN {
        for text in [kind.to_string(), kind.to_string().to_lowercase()] {
            let refused = text.parse::<RelationName>().unwrap_err();
            assert_eq!(refused.code, ErrorCode::InvalidArgument, "{text}");
            assert!(refused.message.contains("is built in"), "{refused}");
        }
    }
}

#[test]
fn a_name_has_a_bound_and_begins_with_a_letter() {
    let longest = "N".repeat(RELATION_NAME_BYTES_MAX);
    assert_eq!(name(&longest).as_str(), longest);
    assert_eq!(name("a").as_str(), "A");
    for bad in [
        "",
        "_A",
        "7A",
        "A B",
        "A-B",
        "A\0",
        "É",
        &format!("{longest}N"),
    ] {
        let refused = bad.parse::<RelationName>().unwrap_err();
        assert_eq!(refused.code, ErrorCode::InvalidArgument, "{bad:?}");
    }
}

#[test]
fn a_reach_says_which_ways_a_change_goes() {
    let ways = Reach::ALL.map(|reach| (reach.carries_on(), reach.carries_back()));
    let (forward, backward) = ((true, false), (false, true));
    assert_eq!(ways, [forward, backward, (true, true), (false, false)]);
    for reach in Reach::ALL {
        assert_eq!(reach.as_str().parse::<Reach>().unwrap(), reach);
        assert_eq!(
            serde_json::to_string(&reach).unwrap(),
            format!("\"{reach}\"")
        );
    }
    for other in ["", "Both", "on"] {
        let refused = other.parse::<Reach>().unwrap_err();
        assert_eq!(refused.code, ErrorCode::InvalidArgument);
    }
}

#[test]
fn each_kind_leads_to_one_sort_of_nodes() {
    let nodes = [
        format!("decision:org/a#{ROOT}"),
        "file:src/a.rs".to_owned(),
        "symbol:a".to_owned(),
        format!("evidence:org/a#{ROOT}"),
    ]
    .map(|text| text.parse::<Node>().unwrap());
    let led_to = |kind: RelationKind| nodes.each_ref().map(|to| kind.leads_to(to));
    let decisions = [true, false, false, false];
    let places = [false, true, true, false];
    let evidence = [false, false, false, true];
    let built_in = [decisions, decisions, decisions, places, evidence];
    assert_eq!(RelationKind::BUILT_IN.map(led_to), built_in);
    for reach in Reach::ALL {
        assert_eq!(led_to(declared("CAUSES", reach)), decisions);
    }
}
