//! Reading events of some kinds: what a tail and a listing pass over, and where they go on.

use sillok_core::ErrorCode;
use sillok_core::command::Command;
use sillok_core::event::EventKinds;
use sillok_core::id::Seq;
use sillok_core::limits::PAGE_READS_MAX;
use sillok_core::principal::PrincipalKind;

use super::harness::{PROJECT, TASK, TestNode, append, open_task, ports, scope, store, submission};
use super::line::{Fate, Line};
use super::world::{OTHER_TASK, World};
use crate::NodeConfig;
use crate::reads::{TailCursor, TailItem, TailOf, TailPage};

/// Kinds, by their names.
fn of(list: &str) -> TailOf {
    TailOf {
        under: PROJECT.parse().unwrap(),
        kinds: EventKinds::parse(list).unwrap(),
    }
}

/// Several records in one commit.
fn many(count: usize) -> Command {
    match append("one of many") {
        Command::Append { records } => Command::Append {
            records: vec![records[0].clone(); count],
        },
        _ => unreachable!("an append appends"),
    }
}

async fn page(world: &World, of: &TailOf, cursor: TailCursor, limit: usize) -> TailPage {
    let reader = world.node.reader();
    reader.tail(of, cursor, limit).await.unwrap()
}

/// All that lies behind a cursor, in pages.
async fn rest(world: &World, of: &TailOf, mut cursor: TailCursor, limit: usize) -> Vec<TailItem> {
    let mut items = Vec::new();
    loop {
        let page = page(world, of, cursor, limit).await;
        assert!(page.items.len() <= limit);
        items.extend(page.items);
        cursor = page.next;
        if page.at_end {
            return items;
        }
    }
}

#[tokio::test]
async fn a_tail_of_some_kinds_gives_all_of_them_and_nothing_else_however_it_is_cut() {
    let mut world = World::new().await;
    world.give(PrincipalKind::Agent, OTHER_TASK, many(70)).await;
    let everything = of("TASK_OPENED");
    let everything = TailOf::from(everything.under);
    let whole = rest(&world, &everything, TailCursor::START, 1_000).await;
    for list in [
        "PUBLISHED",
        "RECORD_APPENDED",
        "ENTRY_CREATED,PROMOTED",
        "PROMOTION_DROPPED",
    ] {
        let of = of(list);
        let wanted = |items: &[TailItem]| -> Vec<TailItem> {
            let items = items.iter();
            let wanted = items.filter(|item| of.kinds.have(item.event.header.kind));
            wanted.cloned().collect()
        };
        let is_of_none = list == "PROMOTION_DROPPED";
        assert_eq!(wanted(&whole).is_empty(), is_of_none, "{list}");
        for limit in [1, 2, 3, 1_000] {
            let given = rest(&world, &of, TailCursor::START, limit).await;
            assert!(given == wanted(&whole), "{list} in pages of {limit}");
        }
        // Cursors behind what is passed over count as well.
        for (number, item) in whole.iter().enumerate() {
            let given = rest(&world, &of, item.cursor, 2).await;
            let later = &whole[number + 1..];
            assert!(given == wanted(later), "{list} resumed behind {number}");
        }
    }
}

#[tokio::test]
async fn a_cursor_moves_on_over_what_is_passed_over() {
    let mut world = World::new().await;
    let of = of("PUBLISHED");
    let before = page(&world, &of, TailCursor::START, 1_000).await;
    assert!(before.at_end);
    let last = before.items.last().unwrap().cursor;
    for _ in 0..20 {
        world.give(PrincipalKind::Agent, TASK, many(5)).await;
    }
    for from in [last, before.next] {
        let quiet = page(&world, &of, from, 2).await;
        assert_eq!((quiet.items, quiet.at_end), (vec![], true));
        assert!(quiet.next > before.next, "it does not look there again");
        let all = TailOf::from(of.under.clone());
        assert_eq!(rest(&world, &all, quiet.next, 10).await, []);
    }
}

#[tokio::test]
async fn a_page_makes_so_many_reads_and_goes_on_where_it_ended() {
    let line = Line::new(&store(), Fate::Arrives);
    let node = TestNode::start(line.clone(), ports(), NodeConfig::default());
    let node = node.await.unwrap();
    let give =
        |number, command| node.submit(submission(number, PrincipalKind::Agent, TASK, command));
    give(0, open_task()).await.unwrap();
    // The events of each commit are a read of their own.
    for number in 1..=2 * u64::try_from(PAGE_READS_MAX).unwrap() {
        give(number, append("one of many")).await.unwrap();
    }
    let of = of("PUBLISHED");
    let all = TailOf::from(of.under.clone());
    let page = async |cursor| node.reader().tail(&of, cursor, 1).await;
    line.live_for_ranges(PAGE_READS_MAX + 100);
    let mut cursor = TailCursor::START;
    for (number, is_last) in [false, false, true].into_iter().enumerate() {
        let found = page(cursor).await.unwrap();
        assert_eq!((found.items, found.at_end), (vec![], is_last));
        assert!(found.next > cursor);
        cursor = found.next;
        // What was read is looked at.
        if number == 0 {
            let behind = node.reader().tail(&all, cursor, 1).await.unwrap();
            let seq = behind.items[0].event.header.seq.get();
            assert_eq!(seq, u64::try_from(PAGE_READS_MAX).unwrap() + 1);
        }
    }
    assert_eq!(line.hit(), 0, "no transaction grew too old");
    // One that does gives what there is, and who comes no further is told so.
    line.live_for_ranges(100);
    let cut = page(TailCursor::START).await.unwrap();
    assert_eq!((cut.items.len(), cut.at_end, line.hit()), (0, false, 1));
    let before = node.reader().tail(&all, cut.next, 1).await.unwrap();
    let seq = before.items[0].event.header.seq.get();
    assert!((90..=100).contains(&seq), "{seq}");
    line.live_for_ranges(1);
    let refused = page(cut.next).await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::Busy);
    node.shutdown().await;
}

#[tokio::test]
async fn a_listing_of_some_kinds_goes_on_over_the_others_to_its_end() {
    let mut world = World::new().await;
    world.give(PrincipalKind::Agent, TASK, many(30)).await;
    let list = async |kinds: &EventKinds, limit: usize| {
        let (mut seqs, mut after) = (Vec::new(), Seq::ZERO);
        loop {
            let page = world.node.events(&scope(TASK), kinds, after, limit).await;
            let page = page.unwrap();
            seqs.extend(page.items.iter().map(|event| event.header.seq));
            match page.next {
                Some(next) => after = next,
                None => return seqs,
            }
        }
    };
    let opened = EventKinds::parse("TASK_OPENED,VERIFICATION_RECORDED").unwrap();
    let all = list(&EventKinds::ALL, 1_000).await;
    let some = list(&opened, 1_000).await;
    assert!(1 < some.len() && some.len() + 30 <= all.len());
    for limit in [1, 2] {
        assert_eq!(list(&opened, limit).await, some);
    }
    // A position of another history is found out, though nothing of the kind lies before it.
    let behind = Seq::new(1_000);
    let refused = world.node.events(&scope(TASK), &opened, behind, 10).await;
    assert_eq!(refused.unwrap_err().code, ErrorCode::HistoryChanged);
}
