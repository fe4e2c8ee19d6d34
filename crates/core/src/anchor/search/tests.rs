//! Searches over anchors, alone and against the plainest way to say what they find.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;
use crate::anchor::Standing;
use crate::id::{EvidenceId, Seq};
use crate::limits::ANCHOR_HINT_BYTES_MAX;
use crate::principal::Actor;
use crate::time::Timestamp;
use crate::words::terms;

fn scope() -> Scope {
    Scope::parse("org/a").unwrap()
}

fn node(number: u8) -> Node {
    Node::Evidence {
        scope: scope(),
        id: EvidenceId::from_bytes([number; 16]),
    }
}

fn anchor(number: u8, hint: &str, to: &[u8]) -> Anchor {
    Anchor {
        id: AnchorId::from_bytes([number; 16]),
        hint: hint.to_owned(),
        domain: Domain::global(),
        to: to.iter().copied().map(node).collect(),
        by: Actor::system(),
        at: Timestamp::EPOCH,
        seq: Seq::new(number.into()),
        dropped: None,
    }
}

fn query(text: &str) -> AnchorQuery {
    AnchorQuery::of(text, Some(ANCHOR_SEARCH_HITS_MAX)).unwrap()
}

/// What is kept: each title, and each text.
type Kept<'a> = &'a [(&'a str, &'a str)];

/// A search as nodes go about it.
fn search(query: AnchorQuery, anchors: &[Anchor], kept: Kept<'_>) -> AnchorsFound {
    let mut search = AnchorSearch::new(query);
    for anchor in anchors {
        if search.is_full() {
            search.leave_out(1, false);
            continue;
        }
        search.look_at(&scope(), anchor);
        for to in &anchor.to {
            if search.knows(to) {
                continue;
            }
            let Node::Evidence { id, .. } = to else {
                unreachable!("all of it is evidence");
            };
            let (title, text) = kept[usize::from(id.as_bytes()[0])];
            let room = usize::try_from(search.room()).unwrap();
            let read = &text[..text.floor_char_boundary(room)];
            let counted = (room > 0).then(|| Counting::of(search.words(), read).finish());
            search.take(Original {
                lead: Lead {
                    to: to.clone(),
                    title: title.to_owned(),
                    rank: None,
                    standing: Standing::Holds,
                },
                version: None,
                bytes: text.len() as u64,
                text: counted.ok_or(Unread::NoRoom),
            });
        }
    }
    search.finish()
}

fn numbers(found: &AnchorsFound) -> Vec<u8> {
    let numbers = (0..=u8::MAX).map(node).collect::<Vec<_>>();
    let place = |hit: &AnchorHit| numbers.iter().position(|one| *one == hit.lead.to).unwrap();
    let places = found.hits.iter().map(place);
    places.map(|place| u8::try_from(place).unwrap()).collect()
}

#[test]
fn a_query_without_a_word_or_beyond_its_bounds_is_refused() {
    let code = |text: &str, hits_max| AnchorQuery::of(text, hits_max).map_err(|error| error.code);
    let (empty, large) = (Err(ErrorCode::InvalidArgument), Err(ErrorCode::TooLarge));
    for text in ["", "  \n", "the of", "!?"] {
        assert_eq!(code(text, None), empty, "{text:?}");
    }
    assert_eq!(code("deadlock", Some(0)), empty);
    assert_eq!(code("deadlock", Some(ANCHOR_SEARCH_HITS_MAX + 1)), large);
    let long = "deadlock ".repeat(ANCHOR_SEARCH_QUERY_BYTES_MAX / 9 + 1);
    assert_eq!(code(&long, None), large);
    assert!(
        code(
            &long[..ANCHOR_SEARCH_QUERY_BYTES_MAX],
            Some(ANCHOR_SEARCH_HITS_MAX)
        )
        .is_ok()
    );
}

#[test]
fn what_is_found_names_the_anchor_that_says_most_of_what_was_asked_for_and_the_place_to_read() {
    let before = "nothing of interest happened here\n".repeat(40);
    let text = format!("{before}the writers met a deadlock at noon\n{before}");
    let kept = [("a run", text.as_str()), ("another run", "all went well")];
    let anchors = [
        anchor(1, "how it went", &[0, 1]),
        anchor(2, "the deadlock", &[0]),
        anchor(3, "the deadlock again", &[0]),
    ];
    let found = search(query("deadlock writers"), &anchors, &kept);
    let [hit] = found.hits.as_slice() else {
        panic!("{found:?}")
    };
    assert_eq!((hit.anchor, hit.others), (anchors[1].id, 2));
    assert_eq!(
        (hit.hint.as_str(), hit.lead.to.clone()),
        ("the deadlock", node(0))
    );
    assert!(hit.excerpt.contains("met a deadlock at noon"), "{hit:?}");
    let from = usize::try_from(hit.from).unwrap();
    assert_eq!(text[from..from + hit.excerpt.len()], hit.excerpt);
    assert_eq!(hit.bytes, text.len() as u64);
    let looked_at = LookedAt {
        anchors: 3,
        originals: 2,
        bytes: (text.len() + kept[1].1.len()) as u64,
    };
    assert_eq!(found.looked_at, looked_at);
    assert!(found.cut.is_nothing());
}

#[test]
fn a_hint_or_a_title_finds_what_it_leads_to_and_a_rare_word_outweighs_a_common_one() {
    let kept = [
        ("run of carts", "carts and carts"),
        ("run", "a ledger of carts"),
        ("run of pumps", "nothing"),
    ];
    let anchors = [anchor(1, "what ran", &[0, 1]), anchor(2, "pressure", &[2])];
    assert_eq!(numbers(&search(query("pressure"), &anchors, &kept)), [2]);
    assert_eq!(numbers(&search(query("pumps"), &anchors, &kept)), [2]);
    assert_eq!(
        numbers(&search(query("carts ledger"), &anchors, &kept)),
        [1, 0]
    );
    assert!(search(query("nowhere"), &anchors, &kept).hits.is_empty());
}

#[test]
fn what_is_as_good_stands_in_the_order_in_which_it_was_come_upon() {
    let kept = [("run", "a deadlock"); 5];
    let anchors = [anchor(1, "here", &[3, 1]), anchor(2, "here", &[4, 0, 2])];
    let found = search(query("deadlock"), &anchors, &kept);
    assert_eq!(numbers(&found), [3, 1, 4, 0, 2]);
    let few = AnchorQuery::of("deadlock", Some(2)).unwrap();
    assert_eq!(numbers(&search(few, &anchors, &kept)), [3, 1]);
}

#[test]
fn a_large_original_is_read_from_its_beginning_and_that_is_told() {
    let mib = usize::try_from(ANCHOR_SEARCH_ORIGINAL_BYTES_MAX).unwrap();
    let text = format!("a deadlock {} a livelock", "x ".repeat(mib / 2));
    let kept = [("run", text.as_str())];
    let anchors = [anchor(1, "here", &[0])];
    let found = search(query("deadlock"), &anchors, &kept);
    assert_eq!((found.hits.len(), found.cut.in_part), (1, 1));
    assert_eq!(found.looked_at.bytes, ANCHOR_SEARCH_ORIGINAL_BYTES_MAX);
    assert!(search(query("livelock"), &anchors, &kept).hits.is_empty());
}

#[test]
fn a_search_ends_where_its_bytes_do_and_tells_what_it_left_out() {
    let mib = usize::try_from(ANCHOR_SEARCH_ORIGINAL_BYTES_MAX).unwrap();
    let text = "x ".repeat(mib / 2);
    let fitting = usize::try_from(ANCHOR_SEARCH_BYTES_MAX).unwrap() / mib;
    let kept = vec![("deadlock", text.as_str()); fitting + 3];
    // The last that fits stands before one that does not, with one anchor, and behind that one come two more.
    let mut anchors: Vec<Anchor> = (0..fitting + 3)
        .map(|number| {
            let number = u8::try_from(number).unwrap();
            anchor(number, "here", &[number])
        })
        .collect();
    let next = anchors.remove(fitting);
    anchors[fitting - 1].to.extend(next.to);
    let found = search(query("deadlock"), &anchors, &kept);
    assert_eq!(found.looked_at.originals, fitting as u64);
    assert_eq!(found.looked_at.bytes, ANCHOR_SEARCH_BYTES_MAX);
    let cut = SearchCut {
        anchors: 2,
        more: false,
        originals: 1,
        in_part: 0,
        unreadable: 0,
    };
    assert_eq!(found.cut, cut);
    assert_eq!(
        found.hits.len(),
        fitting + 1,
        "a title is enough to be found"
    );
    let unread = found.hits.iter().find(|hit| hit.excerpt.is_empty());
    assert_eq!(unread.map(|hit| hit.from), Some(0));
}

#[test]
fn a_search_looks_at_so_many_anchors_and_no_more() {
    let hint = "h".repeat(ANCHOR_HINT_BYTES_MAX);
    let anchors: Vec<Anchor> = (0..ANCHOR_SEARCH_ANCHORS_MAX + 7)
        .map(|_| anchor(1, &hint, &[0]))
        .collect();
    let found = search(query("deadlock"), &anchors, &[("run", "a deadlock")]);
    assert_eq!(found.looked_at.anchors, ANCHOR_SEARCH_ANCHORS_MAX as u64);
    assert_eq!((found.cut.anchors, found.hits[0].others), (7, 999));
}

/// Something that an anchor leads to and that cannot be read.
fn damaged(number: u8, title: &str, bytes: u64) -> Original {
    Original {
        lead: Lead {
            to: node(number),
            title: title.to_owned(),
            rank: None,
            standing: Standing::Holds,
        },
        version: None,
        bytes,
        text: Err(Unread::Damaged),
    }
}

#[test]
fn what_cannot_be_read_is_counted_found_by_its_title_and_takes_its_part_of_the_room() {
    let mut search = AnchorSearch::new(query("deadlock"));
    let (title, whole) = ("a deadlock", ANCHOR_SEARCH_ORIGINAL_BYTES_MAX);
    search.look_at(&scope(), &anchor(1, "here", &[0]));
    search.take(damaged(0, title, 4 * whole));
    assert_eq!(search.wasted, whole);
    // As many as there is room for are tried, however little of each could be told.
    for number in 1..=u8::MAX {
        if search.is_full() {
            break;
        }
        search.take(damaged(number, "a run", 4 * whole));
    }
    assert!(search.is_full());
    let found = search.finish();
    assert_eq!(numbers(&found), [0]);
    assert_eq!(
        (found.hits[0].excerpt.as_str(), found.hits[0].from),
        ("", 0)
    );
    assert_eq!(found.looked_at.originals, 0);
    assert_eq!(found.cut.unreadable, ANCHOR_SEARCH_BYTES_MAX / whole);
    assert!(!found.cut.is_nothing());
}

#[test]
fn what_nothing_can_be_told_of_is_counted_once_and_is_no_hit() {
    let mut search = AnchorSearch::new(query("deadlock"));
    search.look_at(&scope(), &anchor(1, "a deadlock", &[0, 1]));
    assert!(!search.knows(&node(0)));
    search.note_unreadable(node(0));
    search.take(damaged(1, "a run", 0));
    search.look_at(&scope(), &anchor(2, "a deadlock again", &[0, 1]));
    for number in [0, 1] {
        assert!(search.knows(&node(number)));
        search.note_unreadable(node(number));
        search.take(damaged(number, "a deadlock", 0));
    }
    search.note_unreadable_anchor();
    let found = search.finish();
    assert_eq!(numbers(&found), [1], "by its hint, as what has a title");
    assert_eq!(found.hits[0].others, 1);
    assert_eq!((found.looked_at.anchors, found.cut.unreadable), (2, 3));
}

#[test]
fn as_many_as_there_is_room_for_are_tried_though_nothing_can_be_told_of_them() {
    let mut search = AnchorSearch::new(query("deadlock"));
    for _ in 0..ANCHOR_SEARCH_ORIGINALS_MAX {
        assert!(!search.is_full());
        search.note_unreadable_anchor();
    }
    assert!(search.is_full());
}

#[test]
fn the_words_of_titles_and_hints_are_counted_when_they_are_handed_in_and_not_at_the_end() {
    let mut search = AnchorSearch::new(query("deadlock livelock"));
    search.look_at(&scope(), &anchor(1, "here", &[0]));
    search.take(damaged(0, "a deadlock", 0));
    assert_eq!(search.texts[0].distinct(), 1);
    search.look_at(&scope(), &anchor(2, "a livelock", &[0]));
    assert!(search.knows(&node(0)));
    assert_eq!(search.texts[0].distinct(), 2);
    // The hint of the second has most of the query.
    assert_eq!(search.finish().hits[0].anchor, anchor(2, "", &[]).id);
}

proptest! {
    /// Whatever is led to and has a word of the query is found, and nothing else, by the score of its whole text.
    #[test]
    fn a_search_finds_what_a_naive_one_finds(
        asked in "[a-f]{1,2}( [a-f]{1,2}){0,3}",
        kept in prop::collection::vec(("[a-f]{1,2}", "([a-f]{1,2}[ \n]){0,30}"), 1..8),
        anchors in prop::collection::vec(("[a-f]{1,2}", prop::collection::vec(0_u8..8, 1..4)), 0..8),
    ) {
        prop_assume!(AnchorQuery::of(&asked, None).is_ok());
        let kept: Vec<(&str, &str)> = kept.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect();
        let anchors: Vec<Anchor> = (1..)
            .zip(&anchors)
            .map(|(number, (hint, to))| {
                let mut places: Vec<u8> = Vec::new();
                for place in to {
                    let place = place % u8::try_from(kept.len()).unwrap();
                    if !places.contains(&place) {
                        places.push(place);
                    }
                }
                anchor(number, hint, &places)
            })
            .collect();
        let found = search(query(&asked), &anchors, &kept);

        let words: BTreeSet<String> = terms(&asked).into_iter().collect();
        let mut order: Vec<u8> = Vec::new();
        for to in anchors.iter().flat_map(|anchor| &anchor.to) {
            let place = (0..8).find(|number| node(*number) == *to).unwrap();
            if !order.contains(&place) {
                order.push(place);
            }
        }
        let texts: Vec<String> = order
            .iter()
            .map(|place| {
                let (title, text) = kept[usize::from(*place)];
                let leading = anchors.iter().filter(|anchor| anchor.to.contains(&node(*place)));
                let hints: Vec<&str> = leading.map(|anchor| anchor.hint.as_str()).collect();
                format!("{title} {text} {}", hints.join(" "))
            })
            .collect();
        let has_word = |text: &String| terms(text).iter().any(|term| words.contains(term));
        let expected: BTreeSet<u8> = order
            .iter()
            .zip(&texts)
            .filter(|(_, text)| has_word(text))
            .map(|(place, _)| *place)
            .collect();
        prop_assert_eq!(numbers(&found).into_iter().collect::<BTreeSet<u8>>(), expected);

        let whole = Query::of(&asked);
        let counted: Vec<Counted> = texts.iter().map(|text| whole.count(text)).collect();
        let mut scored = scores(&counted);
        scored.sort_by(|one, other| other.1.total_cmp(&one.1).then(one.0.cmp(&other.0)));
        let told: Vec<(u8, f32)> = numbers(&found)
            .into_iter()
            .zip(found.hits.iter().map(|hit| hit.score))
            .collect();
        let scored: Vec<(u8, f32)> = scored
            .into_iter()
            .map(|(place, score)| (order[place], score))
            .collect();
        prop_assert_eq!(told, scored);
    }
}
