//! Searching behind anchors: what is found and by whom, where it ends, and that no brief waits for it.

use std::collections::BTreeSet;
use std::pin::pin;

use futures::future::{Either, select};
use sillok_core::ErrorCode;
use sillok_core::anchor::Standing;
use sillok_core::anchor::search::{AnchorHit, AnchorQuery, AnchorsFound, SearchCut};
use sillok_core::brief::{Brief, BriefItem, Layer};
use sillok_core::config::RulesConfig;
use sillok_core::decision::{Domain, Rank, RelationKind};
use sillok_core::limits::{
    ANCHOR_SEARCH_ANCHORS_MAX, ANCHOR_SEARCH_COUNTED_MAX, ANCHOR_SEARCH_ORIGINAL_BYTES_MAX,
    ANCHORS_PER_COMMAND_MAX, CHUNK_BYTES,
};
use sillok_core::principal::PrincipalKind;
use sillok_store::keys::{self, Family, ScopeKey};
use sillok_store::{Read, Store as _, Txn as _};

use super::erased::erase;
use super::kept::{kept, listed_in, points_to};
use super::stage::{PLACES, Stage, at, relates, says, viewer, withdraw};
use crate::reads::{BriefQuery, Reader};
use crate::rebuild::rebuild;
use crate::tests::harness::{AS_MEANT, PROJECT, TASK, TestStore, later_node, ports, scope, store};
use crate::tests::line::{Fate, Line};
use crate::tests::world::{ORG, OTHER_PROJECT, WORKTREE};

/// Turns in which a search comes to what it waits for.
const TURNS: usize = 64;

impl Stage {
    async fn searched(&self, path: &str, domain: &str, text: &str) -> AnchorsFound {
        let domain: Domain = domain.parse().unwrap();
        let query = AnchorQuery::of(text, None).unwrap();
        let reader = self.node.reader();
        let found = reader.search_anchors(&viewer(path), &domain, query).await;
        found.unwrap()
    }

    /// The titles of what is found, the best first.
    async fn found(&self, path: &str, domain: &str, text: &str) -> Vec<String> {
        titles(&self.searched(path, domain, text).await)
    }
}

fn titles(found: &AnchorsFound) -> Vec<String> {
    let hits = found.hits.iter();
    hits.map(|hit| hit.lead.title.clone()).collect()
}

/// A text that lies in chunks, with one line like no other.
fn long(line: &str) -> String {
    let filler = "nothing happened\n".repeat(CHUNK_BYTES / 16);
    format!("{filler}{line}\n{filler}")
}

#[tokio::test]
async fn the_words_of_originals_are_found_where_they_can_be_read_again() {
    let mut stage = Stage::set().await;
    let text = long("the écrivains met a deadlock");
    let large = stage.keep(ORG, "a long run", &text).await;
    let small = stage.keep(PROJECT, "a short run", "no lock at all").await;
    let lock = stage.begin(PROJECT, says(Rank::Lock, "one writer")).await;
    let to = vec![kept(ORG, large), kept(PROJECT, small), at(PROJECT, lock)];
    let anchor = stage.point_to(PROJECT, "how it came", to).await;

    let found = stage.searched(TASK, "global", "deadlock").await;
    let [hit] = found.hits.as_slice() else {
        panic!("{found:?}")
    };
    assert_eq!((hit.anchor, &hit.scope), (anchor, &scope(PROJECT)));
    assert_eq!(hit.hint, "how it came");
    assert_eq!(hit.lead.to, kept(ORG, large));
    assert!(hit.excerpt.contains("écrivains met a deadlock"), "{hit:?}");
    assert_eq!(hit.bytes, text.len() as u64);
    let to = hit.from + hit.excerpt.len() as u64;
    let reader = stage.node.reader();
    let (here, part) = (scope(ORG), Some(hit.from..to));
    let read = reader.evidence_text(&here, large, part).await.unwrap();
    assert_eq!(read.unwrap().text, hit.excerpt);

    let found = stage.searched(TASK, "global", "done").await;
    let [hit] = found.hits.as_slice() else {
        panic!("{found:?}")
    };
    let decision = (hit.lead.rank, hit.version, hit.lead.standing);
    assert_eq!(decision, (Some(Rank::Lock), Some(1), Standing::Holds));
    assert_eq!(hit.excerpt, "one writer, and so it is done.");
    assert_eq!(found.looked_at.originals, 3);
    assert!(found.cut.is_nothing());
}

#[tokio::test]
async fn a_search_sees_the_anchors_of_a_brief_for_the_same_scope_and_domain_and_no_others() {
    let mut stage = Stage::set().await;
    for path in PLACES {
        for domain in ["global", "ui", "wms"] {
            let run = stage.keep(path, "a run", "it met a deadlock").await;
            let anchor = listed_in(domain, points_to("a run", vec![kept(path, run)]));
            stage.point(path, vec![anchor]).await.unwrap();
        }
    }
    for (path, around) in [
        (ORG, &[ORG][..]),
        (PROJECT, &[ORG, PROJECT]),
        (TASK, &[ORG, PROJECT, WORKTREE, TASK]),
        (OTHER_PROJECT, &[ORG, OTHER_PROJECT]),
    ] {
        for (asked, domains) in [("global", &["global"][..]), ("ui", &["global", "ui"])] {
            // All are as good: the order is that of the brief, from its end.
            let told = domains.iter().flat_map(|domain| {
                let scopes = around.iter();
                scopes.map(move |path| format!("{path} {domain}"))
            });
            let mut expected: Vec<String> = told.collect();
            expected.reverse();
            let found = stage.searched(path, asked, "deadlock").await;
            let found = found.hits.iter();
            let found = found.map(|hit| format!("{} {}", hit.scope, hit.domain));
            let found: Vec<String> = found.collect();
            assert_eq!(found, expected, "{path} {asked}");
        }
    }
    // Nobody's domain has what is listed everywhere.
    assert_eq!(stage.found(ORG, "nobodys", "deadlock").await.len(), 1);
}

#[tokio::test]
async fn what_was_added_last_comes_first_and_what_was_dropped_or_changed_is_not_found_any_more() {
    let mut stage = Stage::set().await;
    let mut anchors = Vec::new();
    for number in 0..3 {
        let title = format!("run {number}");
        let run = stage.keep(PROJECT, &title, "it met a deadlock").await;
        let to = vec![kept(PROJECT, run)];
        anchors.push(stage.point_to(PROJECT, "a run", to).await);
    }
    let found = stage.found(TASK, "global", "deadlock").await;
    assert_eq!(found, ["run 2", "run 1", "run 0"]);
    stage.let_go(PROJECT, anchors[1]).await.unwrap();
    let found = stage.found(TASK, "global", "deadlock").await;
    assert_eq!(found, ["run 2", "run 0"]);

    let root = stage.begin(PROJECT, says(Rank::Normal, "a mutex")).await;
    let to = vec![at(PROJECT, root)];
    stage.point_to(PROJECT, "a choice", to).await;
    assert_eq!(stage.found(TASK, "global", "mutex").await, ["a mutex"]);
    let other = says(Rank::Lock, "a channel");
    stage.change(PROJECT, (root, 1), other).await;
    assert!(stage.found(TASK, "global", "mutex").await.is_empty());
    let found = stage.searched(TASK, "global", "channel").await;
    assert_eq!(found.hits[0].version, Some(2));
    assert_eq!(found.hits[0].lead.rank, Some(Rank::Lock));
}

#[tokio::test]
async fn what_was_withdrawn_says_so_and_what_was_erased_is_not_found() {
    let mut stage = Stage::set().await;
    let root = stage.begin(PROJECT, says(Rank::Axis, "a mutex")).await;
    let run = stage.keep(PROJECT, "a mutex run", &long("mutex")).await;
    let to = vec![at(PROJECT, root), kept(PROJECT, run)];
    stage.point_to(TASK, "what came of it", to).await;
    stage.person(PROJECT, withdraw(root, 1)).await.unwrap();
    let found = stage.searched(TASK, "global", "mutex").await;
    let withdrawn = |hit: &AnchorHit| hit.lead.standing == Standing::Withdrawn;
    let told: Vec<_> = found.hits.iter().filter(|hit| withdrawn(hit)).collect();
    let [hit] = told.as_slice() else {
        panic!("{found:?}")
    };
    assert_eq!((hit.version, hit.lead.rank), (Some(1), Some(Rank::Axis)));
    assert_eq!(found.hits.len(), 2);

    let order = erase(&[root], &[run], &[]);
    let given = stage.give(PrincipalKind::Human, PROJECT, order).await;
    given.unwrap();
    let found = stage.searched(TASK, "global", "mutex came").await;
    assert!(found.hits.is_empty(), "{found:?}");
    assert_eq!((found.looked_at.anchors, found.looked_at.originals), (1, 0));
}

#[tokio::test]
async fn a_search_ends_at_its_bounds_and_tells_what_it_did_not_look_at() {
    let mut stage = Stage::set().await;
    let whole = usize::try_from(ANCHOR_SEARCH_ORIGINAL_BYTES_MAX).unwrap();
    let text = format!("a deadlock {} a livelock", "x ".repeat(whole / 2));
    let run = stage.keep(PROJECT, "a run", &text).await;
    let all = u64::try_from(ANCHOR_SEARCH_ANCHORS_MAX).unwrap() + ANCHOR_SEARCH_COUNTED_MAX + 1;
    let mut left = usize::try_from(all).unwrap();
    while left > 0 {
        let count = left.min(ANCHORS_PER_COMMAND_MAX);
        let anchors = (0..count).map(|_| points_to("a run", vec![kept(PROJECT, run)]));
        stage.point(PROJECT, anchors.collect()).await.unwrap();
        left -= count;
    }
    let found = stage.searched(TASK, "global", "deadlock").await;
    assert_eq!(found.looked_at.anchors, ANCHOR_SEARCH_ANCHORS_MAX as u64);
    assert_eq!(found.looked_at.bytes, ANCHOR_SEARCH_ORIGINAL_BYTES_MAX);
    assert_eq!(found.hits[0].others, ANCHOR_SEARCH_ANCHORS_MAX as u64 - 1);
    let cut = found.cut;
    assert_eq!((cut.anchors, cut.more), (ANCHOR_SEARCH_COUNTED_MAX, true));
    assert_eq!((cut.originals, cut.in_part), (0, 1));
    assert!(stage.found(TASK, "global", "livelock").await.is_empty());
}

#[tokio::test]
async fn the_same_state_gives_the_same_hits_after_a_takeover_and_a_rebuild() {
    let store = store();
    let mut stage = Stage::over(&store).await;
    for number in 0..5 {
        let text = long(&format!("run {number} met a deadlock"));
        let run = stage.keep(PROJECT, "a run", &text).await;
        let to = vec![kept(PROJECT, run)];
        stage.point_to(PROJECT, "a run", to).await;
    }
    let first = stage.searched(TASK, "global", "a deadlock 3").await;
    assert_eq!(first.hits.len(), 5);
    assert_eq!(stage.searched(TASK, "global", "a deadlock 3").await, first);
    let later = Stage {
        node: later_node(&store).await,
        given: 1_000,
    };
    assert_eq!(later.searched(TASK, "global", "a deadlock 3").await, first);
    let index = &later.node.ports().index;
    rebuild(&store, index.as_ref(), &|_| {}).await.unwrap();
    assert_eq!(later.searched(TASK, "global", "a deadlock 3").await, first);
}

/// What is found in a task over a line of its own, whatever is wrong with that line.
async fn found_over(line: &Line, text: &str) -> AnchorsFound {
    let reader = Reader::new(line.clone(), ports(), RulesConfig::default());
    let query = AnchorQuery::of(text, None).unwrap();
    let (by, domain) = (viewer(TASK), Domain::global());
    let found = reader.search_anchors(&by, &domain, query).await;
    found.unwrap()
}

/// A line whose readers hear of no chunk.
fn without_chunks(store: &TestStore) -> Line {
    let line = Line::new(store, Fate::Arrives);
    line.silence_range(Family::Chunk.range());
    line
}

/// Loses all chunks, behind the back of the node.
async fn lose_chunks(store: &TestStore) {
    let mut txn = store.begin().await.unwrap();
    txn.clear_range(&Family::Chunk.range());
    txn.commit().await.unwrap();
}

/// Damages a row that is there, behind the back of the node.
async fn spoil(store: &TestStore, key: Vec<u8>) {
    let mut txn = store.begin().await.unwrap();
    let row = txn.get(&key, Read::Snapshot).await.unwrap();
    let mut row = row.expect("it was written").to_vec();
    *row.last_mut().expect("it ends with its checksum") ^= 1;
    txn.set(key, row);
    txn.commit().await.unwrap();
}

/// What was not looked at where so many cannot be read, and there was room for all else.
fn unreadable(count: u64) -> SearchCut {
    SearchCut {
        unreadable: count,
        ..SearchCut::default()
    }
}

/// The chunks are heard of, in no moment that has begun.
fn go_on(line: &Line) {
    line.outlive();
    line.repair();
}

#[tokio::test]
async fn a_search_takes_longer_than_the_store_keeps_a_moment_and_finds_the_same() {
    let store = store();
    let mut stage = Stage::over(&store).await;
    for number in 0..3 {
        let text = long(&format!("run {number} met a deadlock"));
        let run = stage.keep(ORG, "a run", &text).await;
        let lock = stage.begin(PROJECT, says(Rank::Lock, "a deadlock")).await;
        let to = vec![kept(ORG, run), at(PROJECT, lock)];
        stage.point_to(PROJECT, "what ran", to).await;
    }
    let first = stage.searched(TASK, "global", "deadlock 2").await;
    assert_eq!((first.hits.len(), first.spans_moments), (6, false));
    let line = Line::new(&store, Fate::Arrives);
    line.live(1);
    line.live_for_ranges(1);
    let expected = AnchorsFound {
        spans_moments: true,
        ..first
    };
    assert_eq!(found_over(&line, "deadlock 2").await, expected);
    assert!(line.hit() > 0, "the transactions were too old");
}

#[tokio::test]
async fn what_changes_while_a_search_goes_on_is_told_as_it_is_when_it_is_read() {
    let store = store();
    let mut stage = Stage::over(&store).await;
    let root = stage.begin(PROJECT, says(Rank::Normal, "a mutex")).await;
    let choice = vec![at(PROJECT, root)];
    stage.point_to(PROJECT, "a choice", choice).await;
    let small = stage.keep(PROJECT, "a short run", "a mutex").await;
    let to = vec![kept(PROJECT, small)];
    let dropped = stage.point_to(PROJECT, "a run", to).await;
    // What was added last is read first.
    let large = stage.keep(PROJECT, "a long run", &long("a mutex")).await;
    let to = vec![kept(PROJECT, large)];
    stage.point_to(PROJECT, "a run", to).await;

    let line = without_chunks(&store);
    let (found, ()) = tokio::join!(found_over(&line, "mutex"), async {
        let text = says(Rank::Lock, "a mutex and a channel");
        stage.change(PROJECT, (root, 1), text).await;
        stage.let_go(PROJECT, dropped).await.unwrap();
        go_on(&line);
    });
    assert!(found.spans_moments, "it began before");
    let told: BTreeSet<(String, Option<u64>)> = found
        .hits
        .into_iter()
        .map(|hit| (hit.lead.title, hit.version))
        .collect();
    let expected = [("a long run", None), ("a mutex and a channel", Some(2))];
    let expected = expected.map(|(title, version)| (title.to_owned(), version));
    assert_eq!(told, BTreeSet::from(expected));
}

#[tokio::test]
async fn what_is_erased_while_it_is_read_is_not_found_and_not_called_damaged() {
    let store = store();
    let mut stage = Stage::over(&store).await;
    let run = stage.keep(PROJECT, "a mutex", &long("a mutex")).await;
    let to = vec![kept(PROJECT, run)];
    stage.point_to(PROJECT, "a run", to).await;
    let line = without_chunks(&store);
    let (found, ()) = tokio::join!(found_over(&line, "mutex"), async {
        let order = erase(&[], &[run], &[]);
        let given = stage.give(PrincipalKind::Human, PROJECT, order).await;
        given.unwrap();
        go_on(&line);
    });
    assert!(found.spans_moments, "it began before");
    assert!(found.hits.is_empty(), "{found:?}");
    assert!(found.cut.is_nothing(), "{found:?}");
}

#[tokio::test]
async fn a_damaged_original_is_counted_found_by_its_title_and_hides_nothing_else() {
    let store = store();
    let mut stage = Stage::over(&store).await;
    let text = long("a livelock");
    let lost = stage.keep(PROJECT, "a lost deadlock", &text).await;
    let sound = stage.keep(PROJECT, "a run", "it met a deadlock").await;
    let to = vec![kept(PROJECT, lost), kept(PROJECT, sound)];
    stage.point_to(PROJECT, "what ran", to).await;
    lose_chunks(&store).await;
    let found = stage.searched(TASK, "global", "deadlock").await;
    let told: BTreeSet<(String, u64)> = found
        .hits
        .iter()
        .map(|hit| (hit.excerpt.clone(), hit.bytes))
        .collect();
    let expected = [
        (String::new(), text.len()),
        ("it met a deadlock".to_owned(), 17),
    ];
    let expected = expected.map(|(excerpt, bytes)| (excerpt, bytes as u64));
    assert_eq!(told, BTreeSet::from(expected));
    assert_eq!(found.looked_at.originals, 1);
    assert_eq!(found.cut, unreadable(1));
    assert!(stage.found(TASK, "global", "livelock").await.is_empty());
}

#[tokio::test]
async fn damaged_evidence_is_counted_once_whoever_leads_there_and_hides_nothing_else() {
    let store = store();
    let mut stage = Stage::over(&store).await;
    let lost = stage.keep(PROJECT, "a run", "it met a deadlock").await;
    let sound = stage.keep(PROJECT, "another run", "a deadlock").await;
    let both = vec![kept(PROJECT, lost), kept(PROJECT, sound)];
    stage.point_to(PROJECT, "what ran", both).await;
    stage
        .point_to(TASK, "the deadlock", vec![kept(PROJECT, lost)])
        .await;
    assert_eq!(stage.found(TASK, "global", "deadlock").await.len(), 2);
    let here = ScopeKey::of(&scope(PROJECT));
    spoil(&store, keys::evidence::key(&here, lost)).await;
    let found = stage.searched(TASK, "global", "deadlock").await;
    assert_eq!(titles(&found), ["another run"]);
    assert_eq!((found.looked_at.anchors, found.looked_at.originals), (2, 1));
    assert_eq!(found.cut, unreadable(1));
}

#[tokio::test]
async fn a_damaged_decision_is_counted_once_whoever_leads_there_and_hides_nothing_else() {
    let store = store();
    let mut stage = Stage::over(&store).await;
    let lost = stage.begin(PROJECT, says(Rank::Lock, "a deadlock")).await;
    let text = says(Rank::Lock, "another deadlock");
    let sound = stage.begin(PROJECT, text).await;
    let run = stage.keep(PROJECT, "a run", "it met a deadlock").await;
    let all = vec![at(PROJECT, lost), at(PROJECT, sound), kept(PROJECT, run)];
    stage.point_to(PROJECT, "what ran", all).await;
    stage
        .point_to(TASK, "the deadlock", vec![at(PROJECT, lost)])
        .await;
    assert_eq!(stage.found(TASK, "global", "deadlock").await.len(), 3);
    let here = ScopeKey::of(&scope(PROJECT));
    spoil(&store, keys::decision::key(&here, lost)).await;
    let found = stage.searched(TASK, "global", "deadlock").await;
    let told = BTreeSet::from_iter(titles(&found));
    let expected = ["a run", "another deadlock"].map(str::to_owned);
    assert_eq!(told, BTreeSet::from(expected));
    assert_eq!((found.looked_at.anchors, found.looked_at.originals), (2, 2));
    assert_eq!(found.cut, unreadable(1));
}

#[tokio::test]
async fn a_damaged_anchor_is_counted_and_hides_nothing_that_others_lead_to() {
    let store = store();
    let mut stage = Stage::over(&store).await;
    let first = stage.keep(PROJECT, "a run", "it met a deadlock").await;
    let second = stage.keep(PROJECT, "another run", "a deadlock").await;
    let choice = vec![kept(PROJECT, second)];
    stage.point_to(PROJECT, "one that ran", choice).await;
    let both = vec![kept(PROJECT, first), kept(PROJECT, second)];
    let lost = stage.point_to(PROJECT, "what ran", both).await;
    assert_eq!(stage.found(TASK, "global", "deadlock").await.len(), 2);
    let key = keys::anchor::key(&ScopeKey::of(&scope(PROJECT)), lost);
    spoil(&store, key.clone()).await;
    let found = stage.searched(TASK, "global", "deadlock").await;
    assert_eq!(titles(&found), ["another run"]);
    assert_eq!((found.hits[0].others, found.looked_at.anchors), (0, 1));
    assert_eq!(found.cut, unreadable(1));
    // So is one that is listed and not there.
    let mut txn = store.begin().await.unwrap();
    txn.clear(key);
    txn.commit().await.unwrap();
    let without = stage.searched(TASK, "global", "deadlock").await;
    assert_eq!(without, found);
}

#[tokio::test]
async fn what_is_damaged_while_it_is_read_is_counted_once_and_found_by_its_title() {
    let store = store();
    let mut stage = Stage::over(&store).await;
    let run = stage.keep(PROJECT, "a mutex", &long("a mutex")).await;
    let to = vec![kept(PROJECT, run)];
    stage.point_to(PROJECT, "a run", to).await;
    let line = without_chunks(&store);
    let (found, ()) = tokio::join!(found_over(&line, "mutex"), async {
        // By then it waits for the first chunk.
        for _ in 0..TURNS {
            tokio::task::yield_now().await;
        }
        let here = ScopeKey::of(&scope(PROJECT));
        spoil(&store, keys::evidence::key(&here, run)).await;
        lose_chunks(&store).await;
        go_on(&line);
    });
    assert!(found.spans_moments, "it began before");
    assert_eq!(titles(&found), ["a mutex"]);
    assert_eq!(found.cut, unreadable(1));
}

/// Fills all layers of a brief: how that is asked for.
async fn filled(stage: &mut Stage) -> BriefQuery {
    for rank in Rank::ALL {
        let title = format!("{rank}");
        stage.begin(PROJECT, says(rank, &title)).await;
    }
    let run = stage.keep(PROJECT, "a run", &long("a deadlock")).await;
    let to = vec![kept(PROJECT, run)];
    stage.point_to(PROJECT, "a run", to.clone()).await;
    let text = relates(
        RelationKind::RestsOn,
        to[0].clone(),
        says(Rank::Normal, "rests"),
    );
    stage.begin(PROJECT, text).await;
    BriefQuery {
        at: to,
        ..BriefQuery::default()
    }
}

fn bytes(brief: &Brief) -> Vec<u8> {
    postcard::to_allocvec(brief).unwrap()
}

#[tokio::test]
async fn no_brief_waits_for_a_search_whose_originals_never_come() {
    let store = store();
    let mut stage = Stage::under(AS_MEANT, &store).await;
    let query = filled(&mut stage).await;
    let before = stage.brief(TASK, query.clone()).await;
    let layers: BTreeSet<Layer> = before.items.iter().map(BriefItem::layer).collect();
    for layer in [
        Layer::Policy,
        Layer::Structural,
        Layer::GlobalAxis,
        Layer::Lock,
        Layer::Normal,
        Layer::Anchor,
    ] {
        assert!(layers.contains(&layer), "{layer}");
    }

    store.silence_range(Family::Chunk.range());
    let reader = stage.node.reader();
    let (by, domain) = (viewer(TASK), Domain::global());
    let asked = AnchorQuery::of("deadlock", None).unwrap();
    let search = reader.search_anchors(&by, &domain, asked);
    let (search, briefs) = (
        pin!(search),
        pin!(async {
            let mut briefs = Vec::new();
            for _ in 0..5 {
                briefs.push(bytes(&stage.brief(TASK, query.clone()).await));
            }
            briefs
        }),
    );
    let (briefs, search) = match select(search, briefs).await {
        Either::Left((found, _)) => panic!("its originals never came: {found:?}"),
        Either::Right((briefs, search)) => (briefs, search),
    };
    assert_eq!(briefs, vec![bytes(&before); 5]);
    // Nor does a write: what is searched holds no actor.
    let mut beside = Stage {
        node: stage.node.clone(),
        given: 500,
    };
    beside.begin(PROJECT, says(Rank::Lock, "meanwhile")).await;
    store.repair();
    let found = search.await.unwrap();
    assert_eq!(titles(&found), ["a run"], "it goes on where it was");
}

#[tokio::test]
async fn a_store_that_is_out_of_reach_ends_the_search_and_no_brief() {
    let store = store();
    let mut stage = Stage::over(&store).await;
    let query = filled(&mut stage).await;
    let before = stage.brief(TASK, query.clone()).await;
    store.lose_range(Family::Chunk.range());
    let asked = AnchorQuery::of("deadlock", None).unwrap();
    let reader = stage.node.reader();
    let (by, domain) = (viewer(TASK), Domain::global());
    let failed = reader.search_anchors(&by, &domain, asked).await;
    assert_eq!(failed.unwrap_err().code, ErrorCode::Unavailable);
    assert_eq!(bytes(&stage.brief(TASK, query).await), bytes(&before));
    store.repair();
    assert_eq!(stage.found(TASK, "global", "deadlock").await, ["a run"]);
}
