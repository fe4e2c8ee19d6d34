//! The rule of the gate, case by case and against one that compares lines.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

const LONG: [&str; 4] = [
    "let total = sum(&rows);",
    "for row in rows.iter_mut() {",
    "assert_eq!(seen, expected);",
    "pub fn open(path: &Path) -> File {",
];

fn file(path: &str, lines: Option<(u32, u32)>, fingerprint: Option<String>) -> Citation {
    Citation::File {
        path: path.into(),
        lines,
        fingerprint,
    }
}

fn symbol(signature: Option<&str>) -> Citation {
    Citation::Symbol {
        id: "i".into(),
        name: "open".into(),
        file: "src/a.rs".into(),
        signature: signature.map(Into::into),
    }
}

fn print_of(text: &str) -> Fingerprint {
    Text::of(text.as_bytes()).fingerprint(None).unwrap()
}

fn place(path: &str, lines: Option<(u32, u32)>) -> Place {
    Place {
        path: path.into(),
        lines,
        symbol: None,
        tells_nothing: false,
    }
}

fn whole(places: Vec<Place>) -> Search {
    Search {
        places,
        is_whole: true,
    }
}

fn judged(citation: &Citation, sight: &Sight, search: &Search) -> (Verdict, Reason) {
    let judgement = judge(citation, sight, search).unwrap();
    (judgement.verdict, judgement.reason)
}

#[test]
fn what_no_work_tree_holds_is_not_checked() {
    let log = Citation::Test {
        name: "t".into(),
        outcome: crate::citation::TestOutcome::Pass,
        run: "1".into(),
    };
    assert_eq!(judge(&log, &Sight::Gone, &whole(vec![])), None);
    assert!(!is_sought(&log, &Sight::Gone));
}

#[test]
fn what_cannot_be_seen_is_neither_valid_nor_gone() {
    let cited = file("a", None, Some(print_of("x").to_string()));
    let mut unseen = vec![Sight::NoTree, Sight::Refused(Refusal::LinkOut)];
    unseen.extend([Unread::TooLarge, Unread::Unparsed, Unread::Denied].map(Sight::Unread));
    for sight in unseen {
        let told = judged(&cited, &sight, &whole(vec![place("b", None)]));
        assert_eq!(told.0, Verdict::Unverifiable, "{sight:?}");
        assert!(!is_sought(&cited, &sight));
    }
}

#[test]
fn a_file_of_whose_content_nothing_is_said_may_have_been_renamed_and_is_never_stale() {
    let (path, lines) = (file("a", None, None), file("a", Some((1, 2)), None));
    let seen = Sight::Lines(print_of("x"));
    let none = Search::default();
    assert_eq!(
        judged(&path, &seen, &none),
        (Verdict::Valid, Reason::Exists)
    );
    assert_eq!(
        judged(&lines, &seen, &none),
        (Verdict::Unverifiable, Reason::NothingToCompare)
    );
    let other = file("a", None, Some("sha1:12".into()));
    assert_eq!(judged(&other, &seen, &none).1, Reason::NothingToCompare);
    for cited in [path, lines, other] {
        assert!(!is_sought(&cited, &Sight::Gone));
        for search in [none.clone(), whole(vec![])] {
            assert_eq!(
                judged(&cited, &Sight::Gone, &search),
                (Verdict::Unverifiable, Reason::NothingToFind)
            );
        }
    }
    // Whoever says what it held can be told that it is gone.
    let told = file("a", None, Some(print_of("x").to_string()));
    assert!(is_sought(&told, &Sight::Gone));
    assert_eq!(
        judged(&told, &Sight::Gone, &whole(vec![])),
        (Verdict::Stale, Reason::Gone)
    );
}

#[test]
fn what_was_not_looked_for_everywhere_is_not_stale() {
    let cited = file("a", None, Some(print_of("x").to_string()));
    for sight in [Sight::Gone, Sight::Lines(print_of("y"))] {
        assert!(is_sought(&cited, &sight));
        assert_eq!(
            judged(&cited, &sight, &Search::default()),
            (Verdict::Unverifiable, Reason::NotSearched)
        );
        assert_eq!(judged(&cited, &sight, &whole(vec![])).0, Verdict::Stale);
    }
}

#[test]
fn a_symbol_is_its_name_and_its_signature() {
    let cited = symbol(Some("fn open(path: &Path) -> File"));
    let none = Search::default();
    let same = Sight::Symbol(Named::Same);
    assert_eq!(
        judged(&cited, &same, &none),
        (Verdict::Valid, Reason::Matches)
    );
    let other = Sight::Symbol(Named::Other);
    assert!(is_sought(&cited, &other));
    assert_eq!(
        judged(&cited, &other, &whole(vec![])),
        (Verdict::Stale, Reason::Changed)
    );
    assert_eq!(
        judged(&symbol(None), &other, &none),
        (Verdict::Valid, Reason::Exists)
    );
    let gone = Sight::Symbol(Named::Nothing);
    assert_eq!(
        judged(&cited, &gone, &whole(vec![])),
        (Verdict::Stale, Reason::Gone)
    );
}

#[test]
fn a_name_alone_is_not_followed_to_another_file() {
    let found = whole(vec![place("src/b.rs", Some((3, 3)))]);
    let gone = Sight::Symbol(Named::Nothing);
    assert_eq!(judged(&symbol(None), &gone, &found).1, Reason::Ambiguous);
    let cited = symbol(Some("fn open()"));
    let judgement = judge(&cited, &gone, &found).unwrap();
    assert_eq!(judgement.verdict, Verdict::Moved);
    let Some(Citation::Symbol { file, id, .. }) = judgement.refreshed else {
        panic!("{judgement:?}");
    };
    assert_eq!((file.as_str(), id.as_str()), ("src/b.rs", "i"));
}

#[test]
fn of_places_in_its_own_file_the_nearest_is_taken() {
    let cited = file("a", Some((10, 11)), Some(print_of("x").to_string()));
    let places = [(2, 3), (13, 14), (30, 31)].map(|lines| place("./a", Some(lines)));
    let mut places = places.to_vec();
    places.push(place("b/a", Some((10, 11))));
    assert_eq!(choose(&places, &cited), Choice::One(&places[1]));
}

#[test]
fn of_copies_in_several_files_only_one_of_the_same_name_is_taken() {
    let cited = file("src/a.rs", Some((1, 1)), Some(print_of("x").to_string()));
    let named = |names: &[&str]| -> Vec<Place> {
        names.iter().map(|name| place(name, Some((1, 1)))).collect()
    };
    let one = named(&["b.rs"]);
    assert_eq!(choose(&one, &cited), Choice::One(&one[0]));
    let two = named(&["b.rs", "lib/a.rs"]);
    assert_eq!(choose(&two, &cited), Choice::One(&two[1]));
    for several in [
        named(&["b.rs", "c.rs"]),
        named(&["lib/a.rs", "b/a.rs", "c.rs"]),
    ] {
        assert_eq!(choose(&several, &cited), Choice::Several);
    }
    let mut nameless = named(&["b.rs", "c.rs"]);
    nameless[1].tells_nothing = true;
    assert_eq!(choose(&nameless, &cited), Choice::Several);
    assert_eq!(choose(&nameless[1..], &cited), Choice::Several);
}

#[test]
fn the_worst_of_what_an_entry_rests_on_counts() {
    let all = Verdict::ALL.map(|verdict| Judgement::plain(verdict, Reason::Matches));
    assert_eq!(verdict(true, []), Verdict::Valid);
    assert_eq!(verdict(false, []), Verdict::Unverifiable);
    for count in 1..=all.len() {
        assert_eq!(verdict(true, &all[..count]), Verdict::ALL[count - 1]);
        assert_eq!(
            verdict(true, all[..count].iter().rev()),
            Verdict::ALL[count - 1]
        );
    }
    assert!(
        Verdict::ALL[..3]
            .iter()
            .all(|verdict| verdict.is_recalled())
    );
    assert!(!Verdict::Stale.is_recalled());
}

type Tree = BTreeMap<&'static str, Vec<&'static str>>;

fn tree() -> impl Strategy<Value = Tree> {
    let lines = proptest::collection::vec(
        prop_oneof![3 => proptest::sample::select(&LONG[..]), 1 => Just("}")],
        0..6,
    );
    proptest::collection::btree_map(
        proptest::sample::select(&["a.rs", "b.rs", "lib/a.rs", "c.rs"][..]),
        lines,
        0..5,
    )
}

/// What there is to see, as the gate gathers it.
fn facts(
    tree: &Tree,
    path: &str,
    (first, last): (u32, u32),
    cited: Fingerprint,
) -> (Sight, Search) {
    let bytes = |lines: &Vec<&str>| {
        lines
            .iter()
            .fold(String::new(), |text, line| text + line + "\n")
    };
    let at = tree.get(path).and_then(|lines| {
        let bytes = bytes(lines);
        Text::of(bytes.as_bytes()).fingerprint(Some((first, last)))
    });
    let mut places = Vec::new();
    for (path, lines) in tree {
        let bytes = bytes(lines);
        let text = Text::of(bytes.as_bytes());
        let span = core::num::NonZeroU32::new(last - first + 1).unwrap();
        let same = text.ranges(span).filter(|(_, _, print)| *print == cited);
        places.extend(same.map(|(range, bytes, _)| Place {
            tells_nothing: is_plain(bytes),
            ..place(path, Some(range))
        }));
    }
    (at.map_or(Sight::Gone, Sight::Lines), whole(places))
}

/// The same by comparing lines, as the specification says it.
fn naive(
    tree: &Tree,
    path: &str,
    first: usize,
    cited: &[&str],
) -> (Verdict, Option<(String, usize)>) {
    let holds = |path: &str, at: usize| {
        tree.get(path)
            .and_then(|lines| lines.get(at - 1..at - 1 + cited.len()))
            == Some(cited)
    };
    if holds(path, first) {
        return (Verdict::Valid, None);
    }
    let mut found: Vec<(&str, usize)> = Vec::new();
    for path in tree.keys() {
        found.extend((1..=6).filter(|at| holds(path, *at)).map(|at| (*path, at)));
    }
    if found.is_empty() {
        return (Verdict::Stale, None);
    }
    let plain = cited
        .concat()
        .chars()
        .filter(char::is_ascii_alphanumeric)
        .count()
        < 12;
    let mut own: Vec<usize> = found
        .iter()
        .filter(|one| one.0 == path)
        .map(|one| one.1)
        .collect();
    own.sort_by_key(|at| (at.abs_diff(first), *at));
    let files = |same_name: bool| {
        let mut files: Vec<&str> = found.iter().map(|one| one.0).collect();
        files.retain(|one| !same_name || one.ends_with(path.rsplit('/').next().unwrap()));
        files.dedup();
        files
    };
    let only = |path: &str| {
        found
            .iter()
            .find(|one| one.0 == path)
            .map(|one| (path.to_owned(), one.1))
    };
    let to = match (own.first(), files(false)[..].len(), &files(true)[..]) {
        _ if plain => None,
        (Some(at), ..) => Some((path.to_owned(), *at)),
        (None, 1, _) => only(files(false)[0]),
        (None, _, [one]) => only(one),
        _ => None,
    };
    let verdict = if to.is_some() {
        Verdict::Moved
    } else {
        Verdict::Unverifiable
    };
    (verdict, to)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]
    #[test]
    fn verdicts_are_those_of_comparing_lines(
        tree in tree(),
        path in proptest::sample::select(&["a.rs", "b.rs", "lib/a.rs"][..]),
        first in 1u32..5,
        cited in proptest::collection::vec(prop_oneof![3 => proptest::sample::select(&LONG[..]), 1 => Just("}")], 1..3),
        is_whole: bool,
    ) {
        let last = first + u32::try_from(cited.len()).unwrap() - 1;
        let print = print_of(&cited.iter().fold(String::new(), |text, line| text + line + "\n"));
        let citation = file(path, Some((first, last)), Some(print.to_string()));
        let (sight, mut search) = facts(&tree, path, (first, last), print);
        search.is_whole = is_whole;
        let judgement = judge(&citation, &sight, &search).unwrap();
        let (verdict, to) = naive(&tree, path, usize::try_from(first).unwrap(), &cited);
        let expected = if verdict == Verdict::Stale && !is_whole { Verdict::Unverifiable } else { verdict };
        prop_assert_eq!(judgement.verdict, expected, "{:?}", judgement);
        let refreshed = to.map(|(path, at)| {
            let at = u32::try_from(at).unwrap();
            file(&path, Some((at, at + last - first)), Some(print.to_string()))
        });
        if let Some(to) = &judgement.refreshed {
            prop_assert!(is_refreshed(core::slice::from_ref(&citation), core::slice::from_ref(to)));
        }
        prop_assert_eq!(judgement.refreshed, refreshed);
    }

    #[test]
    fn only_what_says_what_it_held_is_stale_or_moved(
        lines in proptest::option::of((1u32..9, 0u32..4)),
        print in prop_oneof![
            Just(None),
            "[a-z0-9:]{0,12}".prop_map(Some),
            "[ -~]{1,20}".prop_map(|text| Some(print_of(&text).to_string())),
        ],
        sight in prop_oneof![
            Just(Sight::Gone),
            "[ -~]{1,20}".prop_map(|text| Sight::Lines(print_of(&text))),
        ],
        places in proptest::collection::vec(proptest::sample::select(&["a.rs", "b.rs", "lib/a.rs"][..]), 0..3),
    ) {
        let lines = lines.map(|(first, more)| (first, first + more));
        let tells = print.as_deref().and_then(Fingerprint::parse).is_some();
        let citation = file("a.rs", lines, print);
        let places: Vec<Place> = places.into_iter().map(|path| place(path, lines)).collect();
        let is_nowhere = places.is_empty();
        let judgement = judge(&citation, &sight, &whole(places)).unwrap();
        if !tells {
            prop_assert!(!is_sought(&citation, &sight));
            prop_assert!(matches!(judgement.verdict, Verdict::Valid | Verdict::Unverifiable), "{:?}", judgement);
        } else if is_sought(&citation, &sight) {
            prop_assert_eq!(judgement.verdict == Verdict::Stale, is_nowhere, "{:?}", judgement);
        }
    }
}
