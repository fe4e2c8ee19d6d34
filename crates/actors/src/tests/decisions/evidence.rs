//! Evidence: saving it, reading it back whole and in parts, and what rests on it.

use core::ops::Range;

use sillok_core::command::AnswerBody;
use sillok_core::decision::{Rank, RelationKind};
use sillok_core::evidence::NewEvidence;
use sillok_core::id::{AnchorId, EvidenceId};
use sillok_core::limits::{
    CHUNK_BYTES, EVIDENCE_BYTES_MAX, EVIDENCE_INLINE_BYTES_MAX, PAGE_ROWS_MAX, SHORT_TEXT_BYTES_MAX,
};
use sillok_core::membership::WireVersion;
use sillok_core::permission::{Access, allows};
use sillok_core::principal::PrincipalKind;
use sillok_core::scope::{Level, ScopePrefix};
use sillok_core::staging::Content;
use sillok_core::time::DAY_MS;
use sillok_core::{Error, ErrorCode};
use sillok_store::keys::{self, Family, ScopeKey};
use sillok_store::{KeyRange, Store as _, Txn as _};

use super::erased::erase;
use super::kept::{keep, kept, let_go, original, point, points_to, rows_kept};
use super::stage::{Stage, relates, save, says, sound};
use crate::reads::{EvidenceText, Viewer};
use crate::tests::harness::{
    PROJECT, TASK, TestNode, TestStore, clock_at, later_node, ports, scope, store, submission,
};
use crate::tests::world::{ORG, OTHER_PROJECT, WORKTREE, pairs_of};
use crate::{NodeConfig, Ports};

/// A text of so many bytes at least, in characters of one to four bytes.
fn text_of(bytes: usize) -> String {
    "p99: 12 ms \u{b1} 3, \u{ac00}\u{1F5CE}\n".repeat(1 + bytes / 20)
}

/// A text that lies in four chunks. A border between two of them cuts a character.
fn large() -> String {
    let text = text_of(3 * CHUNK_BYTES);
    let cuts = (1..4).filter(|number| !text.is_char_boundary(number * CHUNK_BYTES));
    assert!(text.len() > 3 * CHUNK_BYTES && cuts.count() > 0);
    text
}

async fn part(
    stage: &Stage,
    id: EvidenceId,
    places: Option<Range<u64>>,
) -> Result<Option<EvidenceText>, Error> {
    let reader = stage.node.reader();
    reader.evidence_text(&scope(PROJECT), id, places).await
}

/// The place and the text of the characters that lie whole between two places.
fn between(text: &str, places: &Range<u64>) -> (u64, String) {
    let place = |place: u64| usize::try_from(place).unwrap().min(text.len());
    let (mut begin, mut end) = (place(places.start), place(places.end));
    while begin < end && !text.is_char_boundary(begin) {
        begin += 1;
    }
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let found = text.get(begin..end).unwrap_or_default();
    (begin as u64, found.to_owned())
}

#[tokio::test]
async fn small_and_large_evidence_is_read_back_whole_and_in_parts_with_whole_characters() {
    let mut stage = Stage::set().await;
    for (text, is_large) in [(text_of(100), false), (large(), true)] {
        let id = stage.keep(PROJECT, "a run", &text).await;
        let reader = stage.node.reader();
        let head = reader.evidence(&scope(PROJECT), id).await.unwrap();
        let head = head.expect("it was saved");
        assert_eq!((head.id, head.bytes), (id, text.len() as u64));
        assert_eq!(head.hash, *blake3::hash(text.as_bytes()).as_bytes());
        assert_eq!(
            (head.title.as_str(), head.source.as_str()),
            ("a run", "a shell")
        );
        assert_eq!((head.media_type.as_str(), head.masked), ("text/plain", 0));
        let whole = part(&stage, id, None).await.unwrap().unwrap();
        assert_eq!((whole.from, &whole.head), (0, &head));
        assert!(whole.text == text);
        let (chunk, all) = (CHUNK_BYTES as u64, text.len() as u64);
        let borders = [chunk, 2 * chunk, 3 * chunk]
            .into_iter()
            .filter(|_| is_large);
        let borders = borders.chain([0, 11, all]);
        for border in borders {
            for begin in border.saturating_sub(5)..=(border + 5).min(all) {
                for bytes in [0, 1, 2, 3, 4, 9, chunk, all] {
                    let places = begin..begin + bytes;
                    let found = part(&stage, id, Some(places.clone())).await;
                    let found = found.unwrap().unwrap();
                    let told = (found.from, found.text);
                    assert!(told == between(&text, &places), "{places:?}");
                }
            }
        }
    }
}

#[tokio::test]
async fn a_part_that_begins_behind_the_end_is_refused_and_one_that_ends_there_is_cut() {
    let mut stage = Stage::set().await;
    for text in [text_of(100), large()] {
        let id = stage.keep(PROJECT, "a run", &text).await;
        let all = text.len() as u64;
        for places in [all + 1..all + 2, all + 1..u64::MAX, all..all - 1] {
            let refused = part(&stage, id, Some(places)).await.unwrap_err();
            assert_eq!(refused.code, ErrorCode::InvalidArgument);
        }
        let found = part(&stage, id, Some(all..u64::MAX)).await.unwrap();
        let found = found.unwrap();
        assert_eq!((found.from, found.text.as_str()), (all, ""));
        let found = part(&stage, id, Some(0..u64::MAX)).await.unwrap();
        assert!(found.unwrap().text == text);
    }
}

/// The keys of the chunks that evidence of the project lies in.
async fn chunks(store: &TestStore, id: EvidenceId) -> Vec<Vec<u8>> {
    let here = ScopeKey::of(&scope(PROJECT));
    let key = keys::evidence::key(&here, id);
    let pairs = pairs_of(store).await;
    let evidence = keys::evidence::decode(&key, &pairs[&key]).unwrap();
    let Content::Chunked {
        command,
        first,
        count,
        ..
    } = evidence.content
    else {
        panic!("it is not large");
    };
    let numbers = first..first + count;
    numbers
        .map(|number| keys::chunk::key(&here, command, number))
        .collect()
}

#[tokio::test]
async fn a_part_is_read_from_the_chunks_that_it_lies_in_and_from_no_others() {
    let store = store();
    let mut stage = Stage::over(&store).await;
    let id = stage.keep(PROJECT, "a run", &large()).await;
    let chunk = CHUNK_BYTES as u64;
    let keys = chunks(&store, id).await;
    assert!(keys.len() > 3);
    for (number, key) in (0_u64..).zip(&keys) {
        store.break_range(KeyRange::key(key));
        for other in 0..4 {
            let begin = other * chunk;
            let found = part(&stage, id, Some(begin..begin + 100)).await;
            assert_eq!(found.is_err(), other == number, "{other} {number}");
            if other == 3 {
                continue;
            }
            let over = part(&stage, id, Some(begin + chunk - 9..begin + chunk + 9)).await;
            let touches = other == number || other + 1 == number;
            assert_eq!(over.is_err(), touches, "{other} {number}");
        }
        part(&stage, id, None).await.unwrap_err();
        store.repair();
    }
    part(&stage, id, None).await.unwrap();
}

#[tokio::test]
async fn what_was_changed_behind_the_nodes_back_is_not_told_as_the_original() {
    for text in [text_of(100), large()] {
        let store = store();
        let mut stage = Stage::over(&store).await;
        let id = stage.keep(PROJECT, "a run", &text).await;
        let key = keys::evidence::key(&ScopeKey::of(&scope(PROJECT)), id);
        let pairs = pairs_of(&store).await;
        let mut evidence = keys::evidence::decode(&key, &pairs[&key]).unwrap();
        evidence.hash[0] ^= 1;
        let mut txn = store.begin().await.unwrap();
        txn.set(key, keys::evidence::encode(&evidence));
        txn.commit().await.unwrap();
        let refused = part(&stage, id, None).await.unwrap_err();
        assert_eq!(refused.code, ErrorCode::Internal);
        let anchor = stage.point_to(PROJECT, "a run", vec![kept(PROJECT, id)]);
        let anchor = anchor.await;
        let (reader, here) = (stage.node.reader(), scope(PROJECT));
        let viewer = Viewer {
            scope: here.clone(),
            prefix: ScopePrefix::All,
        };
        let followed = reader.follow(&viewer, &here, anchor).await;
        assert_eq!(followed.unwrap_err().code, ErrorCode::Internal);
    }
}

#[tokio::test]
async fn secrets_are_masked_before_evidence_is_stored_and_counted() {
    const SECRET: &str = "ghp_abcdefghijklmnopqrstuvwxyz0123456789";
    let store = store();
    let mut stage = Stage::over(&store).await;
    for lines in [1, 6_000] {
        let content = format!("{}it said {SECRET}\n", "a line of it\n".repeat(lines));
        let mut new = original(&format!("the run of {SECRET}"), &content);
        new.source = format!("curl -u {SECRET}");
        let answer = stage.give(PrincipalKind::Human, PROJECT, keep(new)).await;
        let AnswerBody::EvidenceSaved { id, hash, masked } = answer.unwrap() else {
            panic!("evidence is answered as such");
        };
        assert_eq!(masked, 3);
        let found = part(&stage, id, None).await.unwrap().unwrap();
        assert_eq!((found.head.masked, found.head.hash), (3, hash));
        assert_eq!(hash, *blake3::hash(found.text.as_bytes()).as_bytes());
        assert!(found.text.starts_with("a line of it") && found.text.contains("[masked:"));
        let holds = |value: &Vec<u8>| {
            let mut windows = value.windows(SECRET.len());
            windows.any(|at| at == SECRET.as_bytes())
        };
        assert!(!pairs_of(&store).await.values().any(holds));
    }
    stage.node.shutdown().await;
    assert_eq!(sound(&store).await, None);
}

#[tokio::test]
async fn evidence_of_a_scope_is_listed_in_pages_and_that_of_others_is_not() {
    let mut stage = Stage::set().await;
    let mut saved = Vec::new();
    for number in 0..7 {
        let text = text_of(if number == 3 { 3 * CHUNK_BYTES } else { 10 });
        saved.push(stage.keep(PROJECT, &format!("run {number}"), &text).await);
    }
    saved.sort_unstable();
    stage.keep(ORG, "above", "it is above").await;
    stage.keep(TASK, "below", "it is below").await;
    let (reader, here) = (stage.node.reader(), scope(PROJECT));
    for limit in [1, 2, 3, 7, 100] {
        let (mut found, mut after) = (Vec::new(), None);
        loop {
            let page = reader.evidence_list(&here, after, limit).await.unwrap();
            assert!(page.items.len() <= limit);
            found.extend(page.items.into_iter().map(|head| head.id));
            match page.next {
                Some(next) => after = Some(next),
                None => break,
            }
        }
        assert_eq!(found, saved);
    }
    for (limit, code) in [
        (0, ErrorCode::InvalidArgument),
        (PAGE_ROWS_MAX + 1, ErrorCode::TooLarge),
    ] {
        let refused = reader.evidence_list(&here, None, limit).await;
        assert_eq!(refused.unwrap_err().code, code);
    }
    // It belongs to its scope: no other one has it.
    for path in [ORG, TASK, OTHER_PROJECT] {
        let (there, id) = (scope(path), saved[0]);
        assert_eq!(reader.evidence(&there, id).await.unwrap(), None);
        let text = reader.evidence_text(&there, id, None).await;
        assert_eq!(text.unwrap(), None);
    }
}

#[tokio::test]
async fn what_is_refused_as_evidence_leaves_nothing_behind() {
    let store = store();
    let mut stage = Stage::over(&store).await;
    let good = || original("a run", "p99 is 12 ms");
    let long = "x".repeat(SHORT_TEXT_BYTES_MAX + 1);
    let invalid = ErrorCode::InvalidArgument;
    let with = |change: &dyn Fn(&mut NewEvidence)| {
        let mut new = good();
        change(&mut new);
        new
    };
    let media_types = [
        "",
        "text",
        "text/",
        "/plain",
        "text/pl ain",
        "text/plain/x",
        "t\u{e9}xt/plain",
    ];
    let media_types =
        media_types.map(|name| (with(&|new| new.media_type = name.to_owned()), invalid));
    let too_large = "x".repeat(EVIDENCE_BYTES_MAX + 1);
    let bad = [
        (with(&|new| new.title = "  ".to_owned()), invalid),
        (
            with(&|new| new.title.clone_from(&long)),
            ErrorCode::TooLarge,
        ),
        (
            with(&|new| new.source.clone_from(&long)),
            ErrorCode::TooLarge,
        ),
        (with(&|new| new.content = String::new()), invalid),
        (with(&|new| new.content = " \n".to_owned()), invalid),
        (
            with(&|new| new.content.clone_from(&too_large)),
            ErrorCode::TooLarge,
        ),
        (
            with(&|new| new.media_type = format!("text/{long}")),
            ErrorCode::TooLarge,
        ),
    ];
    for (new, code) in bad.into_iter().chain(media_types) {
        let beginning = |text: &str| text.chars().take(9).collect::<String>();
        let what = [&new.title, &new.source, &new.content, &new.media_type];
        let what = what.map(|text| beginning(text));
        let refused = stage.give(PrincipalKind::Human, PROJECT, keep(new)).await;
        assert_eq!(refused.unwrap_err().code, code, "{what:?}");
    }
    assert!(rows_kept(&store).await.is_empty());
    let is_chunk = |key: &Vec<u8>| Family::of(key) == Some(Family::Chunk);
    assert!(!pairs_of(&store).await.keys().any(is_chunk));
    // Where it was taken from may be left out.
    let without_source = with(&|new| new.source = String::new());
    let saved = stage.give(PrincipalKind::Human, PROJECT, keep(without_source));
    saved.await.unwrap();
}

#[tokio::test]
async fn what_just_fits_an_event_lies_in_it_and_what_is_longer_lies_in_chunks() {
    let store = store();
    let mut stage = Stage::over(&store).await;
    let most = EVIDENCE_INLINE_BYTES_MAX;
    for (bytes, is_large) in [(most, false), (most + 1, true)] {
        let text = "x".repeat(bytes);
        let id = stage.keep(PROJECT, "a run", &text).await;
        let key = keys::evidence::key(&ScopeKey::of(&scope(PROJECT)), id);
        let pairs = pairs_of(&store).await;
        let content = keys::evidence::decode(&key, &pairs[&key]).unwrap().content;
        assert_eq!(matches!(content, Content::Chunked { .. }), is_large);
        let found = part(&stage, id, None).await.unwrap().unwrap();
        assert!(found.text == text);
    }
}

#[tokio::test]
async fn a_retry_is_told_the_first_answer_and_the_same_said_twice_is_two() {
    let store = store();
    let stage = Stage::over(&store).await;
    let given = |number| {
        let command = keep(original("a run", "p99 is 12 ms"));
        submission(number, PrincipalKind::Human, PROJECT, command)
    };
    let first = stage.node.submit(given(1)).await.unwrap();
    assert_eq!(stage.node.submit(given(1)).await.unwrap(), first);
    assert_eq!(rows_kept(&store).await.len(), 1);
    let second = stage.node.submit(given(2)).await.unwrap();
    assert_ne!(second.result, first.result);
    assert_eq!(rows_kept(&store).await.len(), 2);
    stage.node.shutdown().await;
    let node = later_node(&store).await;
    let here = scope(PROJECT);
    let page = node.reader().evidence_list(&here, None, 10).await.unwrap();
    assert_eq!(page.items.len(), 2);
}

#[tokio::test]
async fn whoever_may_save_a_normal_decision_may_save_evidence() {
    let mut stage = Stage::set().await;
    for kind in PrincipalKind::ALL {
        for (path, level) in [
            (TASK, Level::Task),
            (WORKTREE, Level::Worktree),
            (PROJECT, Level::Project),
            (ORG, Level::Org),
        ] {
            let command = keep(original("a run", "p99 is 12 ms"));
            let saved = stage.give(kind, path, command).await;
            let is_allowed = allows(kind, Access::Save(Rank::Normal), level);
            assert_eq!(saved.is_ok(), is_allowed, "{kind:?} {path}");
            if let Err(refused) = saved {
                assert_eq!(refused.code, ErrorCode::Forbidden);
            }
        }
    }
}

#[tokio::test]
async fn a_node_that_speaks_an_older_version_saves_no_evidence_and_rests_nothing_on_it() {
    let store = store();
    let mut stage = Stage::over(&store).await;
    let id = stage.keep(PROJECT, "a run", "p99 is 12 ms").await;
    stage.node.shutdown().await;
    let config = NodeConfig {
        wire_version: WireVersion::WITH_DECISIONS,
        ..NodeConfig::default()
    };
    let older = Ports {
        clock: clock_at(DAY_MS),
        ..ports()
    };
    let node = TestNode::start(store.clone(), older, config).await;
    let mut stage = Stage {
        node: node.unwrap(),
        given: 100,
    };
    let text = says(Rank::Normal, "it is fast");
    let rests = relates(RelationKind::RestsOn, kept(PROJECT, id), text.clone());
    let anchor = point(vec![points_to("how fast", vec![kept(PROJECT, id)])]);
    for command in [
        keep(original("a run", "p99 is 12 ms")),
        anchor,
        let_go(AnchorId::from_bytes([7; 16])),
        erase(&[], &[id], &[]),
        save(None, rests),
    ] {
        let refused = stage.give(PrincipalKind::Human, PROJECT, command).await;
        assert_eq!(refused.unwrap_err().code, ErrorCode::Unavailable);
    }
    assert_eq!(rows_kept(&store).await.len(), 1);
    stage.begin(PROJECT, text).await;
}
