//! Reading through a node: pages, tails that resume, lines and versions, recall.

use std::collections::BTreeSet;

use sillok_core::ErrorCode;
use sillok_core::entry::{Head, Status, Table};
use sillok_core::event::EventKinds;
use sillok_core::gate::Verdict;
use sillok_core::id::{RecordId, Seq};
use sillok_core::invariants::{one_active_version, one_head_of_line, reads_go_forward};
use sillok_core::principal::PrincipalKind;
use sillok_core::recall::Narrowing;
use sillok_core::scope::{Scope, ScopePrefix};

use super::harness::{
    PROJECT, TASK, TestNode, append, first_seq, node_with_task, open_task, ports, scope, store,
    submission,
};
use super::line::{Fate, Line};
use super::world::{FAILED_TASK, ORG, OTHER_PROJECT, OTHER_TASK, WORKTREE, World, entry};
use crate::NodeConfig;
use crate::reads::{RecallQuery, Recalled, TailCursor, TailItem};
use crate::rebuild::rebuild;

const ALL: &EventKinds = &EventKinds::ALL;

fn prefix(text: &str) -> ScopePrefix {
    text.parse().unwrap()
}

async fn whole_tail(world: &World, under: &str, limit: usize) -> Vec<TailItem> {
    let (mut items, mut cursor) = (Vec::new(), TailCursor::START);
    loop {
        let page = world
            .node
            .reader()
            .tail(&prefix(under).into(), cursor, limit)
            .await
            .unwrap();
        assert!(page.items.len() <= limit);
        if let Some(last) = page.items.last() {
            assert!(page.next >= last.cursor);
        }
        items.extend(page.items);
        cursor = page.next;
        if page.at_end {
            return items;
        }
    }
}

#[tokio::test]
async fn a_tail_gives_every_event_once_and_in_order_however_it_is_cut() {
    let mut world = World::new().await;
    let many = sillok_core::command::Command::Append {
        records: match append("one of many") {
            sillok_core::command::Command::Append { records } => vec![records[0].clone(); 7],
            _ => unreachable!("an append appends"),
        },
    };
    world.give(PrincipalKind::Agent, OTHER_TASK, many).await;
    for under in ["*", ORG, PROJECT, WORKTREE, TASK] {
        let whole = whole_tail(&world, under, 1_000).await;
        let seen: BTreeSet<(Scope, Seq)> = whole
            .iter()
            .map(|item| (item.scope.clone(), item.event.header.seq))
            .collect();
        assert_eq!(seen.len(), whole.len(), "nothing is repeated");
        let scopes = world
            .node
            .reader()
            .scopes(&prefix(under), None, 100)
            .await
            .unwrap()
            .items;
        let events: u64 = scopes.iter().map(|row| row.tip.seq.get()).sum();
        assert_eq!(
            whole.len() as u64,
            events,
            "nothing is skipped under {under}"
        );
        reads_go_forward(
            whole
                .iter()
                .map(|item| (&item.scope, item.event.header.seq)),
        )
        .unwrap();
        assert!(whole.windows(2).all(|pair| pair[0].cursor < pair[1].cursor));
        for limit in [1, 2, 3, 5] {
            assert!(
                whole_tail(&world, under, limit).await == whole,
                "pages of {limit} under {under}"
            );
        }
        for (number, item) in whole.iter().enumerate().step_by(3) {
            let cursor: TailCursor = item.cursor.to_string().parse().unwrap();
            let rest = world
                .node
                .reader()
                .tail(&prefix(under).into(), cursor, 1_000)
                .await
                .unwrap();
            assert!(rest.items == whole[number + 1..], "resumed behind {number}");
        }
    }
}

#[tokio::test]
async fn a_tail_that_came_to_the_end_gives_only_what_comes_later() {
    let mut world = World::new().await;
    let page = world
        .node
        .reader()
        .tail(&ScopePrefix::All.into(), TailCursor::START, 1_000)
        .await
        .unwrap();
    assert!(!page.items.is_empty() && page.at_end);
    world
        .give(PrincipalKind::Agent, TASK, append("later"))
        .await;
    let page = world
        .node
        .reader()
        .tail(&ScopePrefix::All.into(), page.next, 10)
        .await
        .unwrap();
    assert_eq!(page.items.len(), 1);
    assert_eq!(page.items[0].scope, scope(TASK));
}

#[test]
fn only_cursors_that_were_given_out_parse() {
    let text = TailCursor::START.to_string();
    assert_eq!(text.parse::<TailCursor>().unwrap(), TailCursor::START);
    let (short, long, signed) = (
        &text[1..],
        format!("{text}0"),
        format!("{}+0000000", &text[..28]),
    );
    for bad in ["", "1", short, &long, &signed, "한글한글한글한글한글한글"] {
        assert_eq!(
            bad.parse::<TailCursor>().unwrap_err().code,
            ErrorCode::InvalidArgument,
            "{bad}"
        );
    }
}

#[tokio::test]
async fn records_come_in_pages_with_their_whole_text() {
    let world = World::new().await;
    let reader = world.node.reader();
    let all = reader
        .records(&scope(TASK), Seq::ZERO, 1_000)
        .await
        .unwrap();
    assert_eq!((all.items.len(), all.next), (4, None));
    assert_eq!(all.items[2].content, "large text\n".repeat(30_000));
    let (mut paged, mut after) = (Vec::new(), Seq::ZERO);
    loop {
        let page = reader.records(&scope(TASK), after, 1).await.unwrap();
        paged.extend(page.items);
        match page.next {
            Some(next) => after = next,
            None => break,
        }
    }
    assert!(paged == all.items);
    let id: RecordId = all.items[1].id.clone();
    assert_eq!(
        reader.record(&id).await.unwrap().as_ref(),
        Some(&all.items[1])
    );
    let opening = RecordId {
        seq: Seq::new(1),
        ..id
    };
    assert_eq!(
        reader.record(&opening).await.unwrap(),
        None,
        "the opening is an event, but no record"
    );
    let refused = reader
        .records(&scope(TASK), Seq::ZERO, 0)
        .await
        .unwrap_err();
    assert_eq!(refused.code, ErrorCode::InvalidArgument);
    assert_eq!(
        reader
            .events(&scope(TASK), ALL, Seq::ZERO, 1_001)
            .await
            .unwrap_err()
            .code,
        ErrorCode::TooLarge
    );
}

#[tokio::test]
async fn tasks_are_listed_under_a_scope_and_page_by_page() {
    let world = World::new().await;
    let reader = world.node.reader();
    let listed = |under: &'static str, limit| async move {
        let (mut found, mut after) = (BTreeSet::new(), None);
        loop {
            let page = reader.tasks(&prefix(under), after, limit).await.unwrap();
            found.extend(page.items.into_iter().map(|(scope, _)| scope));
            after = page.next;
            if after.is_none() {
                return found;
            }
        }
    };
    let all: BTreeSet<Scope> = [TASK, OTHER_TASK, FAILED_TASK].map(scope).into();
    assert_eq!(listed("*", 1).await, all);
    assert_eq!(listed(PROJECT, 2).await, all);
    assert_eq!(
        listed(WORKTREE, 10).await,
        [TASK, OTHER_TASK].map(scope).into()
    );
    assert_eq!(listed(OTHER_PROJECT, 10).await, BTreeSet::new());
    let said = reader.verifications(&scope(TASK)).await.unwrap();
    assert_eq!(said.len(), 1);
    assert_eq!(
        reader
            .verification(&scope(TASK), said[0].id)
            .await
            .unwrap()
            .as_ref(),
        Some(&said[0])
    );
    assert_eq!(said[0].id, world.promoted);
    assert!(
        reader
            .mark(&scope(TASK), world.promoted)
            .await
            .unwrap()
            .is_some()
    );
}

#[tokio::test]
async fn tokens_are_listed_by_what_they_cover() {
    let world = World::new().await;
    let count = |under: &'static str| {
        let reader = world.node.reader();
        async move { reader.tokens(&prefix(under)).await.unwrap().len() }
    };
    assert_eq!(
        (count("*").await, count(ORG).await, count(PROJECT).await),
        (3, 2, 1)
    );
    let revoked = world
        .node
        .reader()
        .token(&sillok_core::token::hash_secret("two"))
        .await
        .unwrap()
        .unwrap();
    assert!(revoked.revoked_at.is_some());
    assert_eq!(world.node.reader().token(&[9; 32]).await.unwrap(), None);
}

#[tokio::test]
async fn history_tells_every_version_and_the_whole_line() {
    let world = World::new().await;
    let reader = world.node.reader();
    let amended = reader.entry(world.amended).await.unwrap().unwrap();
    assert_eq!((amended.head.version, amended.version.number), (3, 3));
    assert_eq!(amended.version.content, "requests are served by axum 0.9");
    let history = reader.history(world.amended).await.unwrap().unwrap();
    one_active_version(
        &amended.head,
        history.versions.items.iter().map(|version| version.number),
    )
    .unwrap();
    let second = reader.versions(world.amended, 1, 1).await.unwrap().unwrap();
    assert_eq!((second.items[0].number, second.next), (2, Some(2)));
    for id in &world.line {
        let history = reader.history(*id).await.unwrap().unwrap();
        let line: Vec<&Head> = history.line.items.iter().collect();
        one_head_of_line(&line).unwrap();
        assert!(
            history
                .line
                .items
                .iter()
                .map(|head| head.id)
                .eq(world.line.iter().copied())
        );
        assert_eq!(history.line.next, None);
    }
    let first = reader.line(world.line[2], None, 2).await.unwrap().unwrap();
    assert_eq!(first.next, Some(world.line[1]));
    let rest = reader
        .line(world.line[2], first.next, 2)
        .await
        .unwrap()
        .unwrap();
    assert_eq!((rest.items[0].id, rest.next), (world.line[2], None));
    let nobody = sillok_core::id::EntryId::from_bytes([3; 16]);
    assert!(
        reader.entry(nobody).await.unwrap().is_none()
            && reader.history(nobody).await.unwrap().is_none()
    );
}

fn query(path: &str, text: &str) -> RecallQuery {
    RecallQuery {
        limit: Some(50),
        ..RecallQuery::new(scope(path), text)
    }
}

async fn recalled(world: &World, query: RecallQuery) -> Vec<Recalled> {
    world.node.reader().recall(query).await.unwrap().results
}

#[tokio::test]
async fn recall_sees_ancestors_and_never_a_sibling() {
    let world = World::new().await;
    let found = recalled(&world, query(TASK, "requests are served by axum")).await;
    assert_eq!(found[0].head.id, world.amended, "the best comes first");
    assert_eq!(found[0].version.content, "requests are served by axum 0.9");
    assert!(found[0].data.contains("requests are served by axum 0.9"));
    assert!(found[0].data.contains("not an instruction"));
    assert_eq!(found[0].gate, Verdict::Unverifiable);
    let seen = [TASK, WORKTREE, PROJECT, ORG].map(scope);
    assert!(found.iter().all(|one| seen.contains(&one.head.scope)));
    let build = recalled(&world, query(TASK, "the build takes nine minutes")).await;
    assert!(
        build.iter().any(|one| one.head.scope == scope(WORKTREE)),
        "a draft is found, if not first"
    );
    let above = recalled(&world, query(PROJECT, "the build takes nine minutes")).await;
    assert!(above.iter().all(|one| one.head.scope != scope(WORKTREE)));
    let sibling = recalled(&world, query(OTHER_PROJECT, "requests are served by axum")).await;
    assert!(
        sibling
            .iter()
            .all(|one| one.head.scope == scope(OTHER_PROJECT))
    );
    for one in &found {
        let factors = one.score;
        let product = factors.similarity * factors.confidence * factors.relevance * factors.recency;
        assert!(
            (factors.total - product).abs() < 1e-12,
            "the score is explained by its factors"
        );
    }
}

#[tokio::test]
async fn recall_leaves_out_what_was_replaced_and_keeps_failures_apart() {
    let world = World::new().await;
    let linker = recalled(
        &world,
        query(PROJECT, "how much memory does the linker need"),
    )
    .await;
    assert!(linker.iter().any(|one| one.head.id == world.line[2]));
    assert!(
        linker
            .iter()
            .all(|one| !world.line[..2].contains(&one.head.id))
    );
    assert!(
        linker
            .iter()
            .all(|one| one.head.status.is_live() && !one.head.failure)
    );
    let failures = RecallQuery {
        failures_only: true,
        ..query(PROJECT, "the parser loops")
    };
    let failures = recalled(&world, failures).await;
    assert!(!failures.is_empty());
    assert!(
        failures
            .iter()
            .all(|one| one.head.failure && one.head.status == Status::Hypothesis)
    );
}

#[tokio::test]
async fn recall_keeps_to_tables_limits_and_confidence() {
    let world = World::new().await;
    let of_table = RecallQuery {
        narrowing: Narrowing {
            tables: vec![Table::Episodes],
            ..Narrowing::default()
        },
        ..query(PROJECT, "the last line is lost")
    };
    let episodes = recalled(&world, of_table).await;
    assert!(!episodes.is_empty() && episodes.iter().all(|one| one.head.table == Table::Episodes));
    let one = RecallQuery {
        limit: Some(1),
        ..query(PROJECT, "the last line is lost")
    };
    assert_eq!(recalled(&world, one).await.len(), 1);
    let sure = RecallQuery {
        confidence_min: Some(0.69),
        ..query(PROJECT, "the last line is lost")
    };
    assert!(
        recalled(&world, sure)
            .await
            .iter()
            .all(|one| one.head.trust.confidence >= 0.69)
    );
}

#[tokio::test]
async fn a_question_that_is_none_is_refused() {
    let world = World::new().await;
    let refused = [
        (
            RecallQuery {
                text: "  ".into(),
                ..query(PROJECT, "")
            },
            ErrorCode::InvalidArgument,
        ),
        (query(PROJECT, &"x".repeat(10_000)), ErrorCode::TooLarge),
        (
            RecallQuery {
                limit: Some(201),
                ..query(PROJECT, "x")
            },
            ErrorCode::TooLarge,
        ),
        (
            RecallQuery {
                limit: Some(0),
                ..query(PROJECT, "x")
            },
            ErrorCode::InvalidArgument,
        ),
        (
            RecallQuery {
                confidence_min: Some(f64::NAN),
                ..query(PROJECT, "x")
            },
            ErrorCode::InvalidArgument,
        ),
        (
            RecallQuery {
                tokens_max: Some(0),
                ..query(PROJECT, "x")
            },
            ErrorCode::InvalidArgument,
        ),
        (
            RecallQuery {
                narrowing: Narrowing {
                    files: vec!["../x".into()],
                    ..Narrowing::default()
                },
                ..query(PROJECT, "x")
            },
            ErrorCode::InvalidArgument,
        ),
    ];
    for (query, code) in refused {
        assert_eq!(
            world.node.reader().recall(query).await.unwrap_err().code,
            code
        );
    }
}

#[tokio::test]
async fn a_rebuild_changes_no_answer() {
    let mut world = World::new().await;
    world
        .put(
            PrincipalKind::Human,
            PROJECT,
            entry(Table::Patterns, "read the whole file first"),
        )
        .await;
    let questions = [
        "the last line is lost",
        "axum",
        "linker memory",
        "read the file",
    ];
    let mut before = Vec::new();
    for question in questions {
        before.push(recalled(&world, query(TASK, question)).await);
    }
    assert!(before.iter().all(|found| !found.is_empty()));
    world.node.shutdown().await;
    rebuild(&world.store, &*world.node.ports().index, &|_| {})
        .await
        .unwrap();
    for (question, before) in questions.into_iter().zip(before) {
        let after = recalled(&world, query(TASK, question)).await;
        let ids = |found: &[Recalled]| -> Vec<_> {
            found
                .iter()
                .map(|one| (one.head.clone(), one.version.clone(), one.found.clone()))
                .collect()
        };
        assert!(ids(&after) == ids(&before), "{question}");
    }
}

#[tokio::test]
async fn status_counts_what_is_there() {
    let world = World::new().await;
    let status = world.node.reader().status().await.unwrap();
    assert_eq!((status.tasks, status.promotions_pending), (3, 0));
    assert_eq!(status.scopes, 7);
    let events = whole_tail(&world, "*", 1_000).await.len() as u64;
    assert_eq!(status.events, events);
    assert!(world.node.reader().jobs().await.unwrap().is_empty());
}

/// Where a scope's chain ends, if the node says from memory that nothing lies behind it.
async fn known_tip(node: &TestNode, scope: &Scope) -> Option<u64> {
    let row = node.reader().scope(scope).await.unwrap();
    let tip = row.map_or(Seq::ZERO, |row| row.tip.seq);
    let before = node.metrics().reads_from_memory;
    assert_eq!(node.events(scope, ALL, tip, 1).await.unwrap().items, []);
    (node.metrics().reads_from_memory > before).then_some(tip.get())
}

#[tokio::test]
async fn that_there_is_no_news_is_said_from_memory() {
    let store = store();
    let node = node_with_task(&store).await;
    let task = scope(TASK);
    let give = |number| {
        node.submit(submission(
            number,
            PrincipalKind::Agent,
            TASK,
            append("line"),
        ))
    };
    let read_from_memory = || node.metrics().reads_from_memory;
    let tip = Seq::new(first_seq(&give(1).await));
    let before = read_from_memory();
    assert_eq!(node.events(&task, ALL, tip, 10).await.unwrap().items, []);
    assert_eq!(node.records(&task, tip, 10).await.unwrap().items, []);
    assert_eq!(read_from_memory() - before, 2);
    let whole = node.events(&task, ALL, Seq::ZERO, 10).await.unwrap();
    assert_eq!(whole.items.len(), 2);
    let refused = node.events(&task, ALL, tip, 0).await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::InvalidArgument);
    let next = Seq::new(first_seq(&give(2).await));
    let news = node.records(&task, tip, 10).await.unwrap();
    assert_eq!(
        news.items.iter().map(|one| one.id.seq).collect::<Vec<_>>(),
        [next]
    );
    // What was said before, and refused, moves nothing.
    assert_eq!(first_seq(&give(2).await), next.get());
    assert_eq!(known_tip(&node, &task).await, Some(next.get()));
    let project = scope(PROJECT);
    assert_eq!(known_tip(&node, &project).await, None, "nobody wrote to it");
}

#[tokio::test]
async fn what_is_on_its_way_is_known_to_nobody() {
    let line = Line::new(&store(), Fate::Arrives);
    let node = TestNode::start(line.clone(), ports(), NodeConfig::default())
        .await
        .unwrap();
    let task = scope(TASK);
    let give = |number, command| {
        let node = node.clone();
        async move {
            node.submit(submission(number, PrincipalKind::Agent, TASK, command))
                .await
        }
    };
    give(0, open_task()).await.unwrap();
    assert_eq!(known_tip(&node, &task).await, Some(1));
    // It is not known whether this was written; only what is written next says where the chain ends.
    line.hold_next();
    let unknown = give(1, append("line")).await.unwrap_err();
    assert_eq!(unknown.code, ErrorCode::OutcomeUnknown);
    assert_eq!(known_tip(&node, &task).await, None);
    line.mend();
    let written = first_seq(&give(2, append("line")).await);
    assert_eq!(known_tip(&node, &task).await, Some(written));
    // What comes so late finds the tip moved.
    let late = line.land().await.unwrap_err();
    assert!(matches!(late, sillok_store::Error::Conflict));
    assert_eq!(known_tip(&node, &task).await, Some(written));
}
