//! Histories that are right and wrong, each judged as what it is: by hand, at random, and from worlds
//! with a planted bug that nothing else has judged.

use proptest::prelude::*;
use sillok_actors::protocol::{Safeguard, Without};

use super::chain::verdict;
use super::*;
use crate::plan::Plan;
use crate::world::World;

/// Seeds in which each planted bug must have been objected to.
const SEEDS_MAX: u64 = 60;

fn seq(number: u64) -> Seq {
    Seq::new(number)
}

/// A chain: who wrote up to where.
fn chain(parts: &[(Author, u64)]) -> Arc<[Written]> {
    let part = |(author, last): &(Author, u64)| Written {
        author: *author,
        last: seq(*last),
    };
    parts.iter().map(part).collect()
}

fn span(invoked_us: u64, returned_us: u64, op: Op, last: u64) -> Span {
    Span {
        invoked_us,
        returned_us,
        op,
        seq: seq(last),
    }
}

/// The verdict, once the whole chain has been looked at as well.
fn judged(parts: &[(Author, u64)], mut spans: Vec<Span>) -> Verdict {
    let last = parts.last().map_or(0, |(_, last)| *last);
    spans.push(span(LAST_LOOK_US, LAST_LOOK_US, Op::Whole, last));
    verdict(&chain(parts), spans)
}

fn is_refused(verdict: &Verdict) -> bool {
    matches!(verdict, Verdict::Not(_))
}

use Author::{Call as By, Node, Stranger};
use Op::{Command, Nothing, Tip};

#[test]
fn commands_reads_and_what_nodes_write_are_put_in_order() {
    let parts = [(By(0), 2), (Node, 3), (By(1), 4), (By(2), 7)];
    let spans = vec![
        span(0, 10, Command(0), 2),
        // These three overlap: only 1, the read, then 2 explains the answers.
        span(20, 60, Command(2), 7),
        span(25, 50, Command(1), 4),
        span(30, 55, Tip, 4),
        span(70, 80, Tip, 7),
        span(90, 95, Nothing, 7),
    ];
    assert_eq!(judged(&parts, spans), Verdict::Linearizable);
    assert_eq!(judged(&[], vec![span(1, 2, Tip, 0)]), Verdict::Linearizable);
}

#[test]
fn a_stale_read_is_refused() {
    let parts = [(By(0), 2), (By(1), 4)];
    let read_at = |invoked_us| {
        vec![
            span(0, 10, Command(0), 2),
            span(20, 40, Command(1), 4),
            span(invoked_us, 60, Tip, 2),
        ]
    };
    assert_eq!(judged(&parts, read_at(30)), Verdict::Linearizable);
    assert!(is_refused(&judged(&parts, read_at(41))));
}

#[test]
fn two_reads_that_see_two_orders_are_refused() {
    let parts = [(By(0), 1), (By(1), 2)];
    let both = vec![span(0, 90, Command(0), 1), span(0, 90, Command(1), 2)];
    let reads = |first, second| {
        let mut spans = both.clone();
        spans.push(span(10, 20, Tip, first));
        spans.push(span(30, 40, Tip, second));
        spans
    };
    assert_eq!(judged(&parts, reads(1, 2)), Verdict::Linearizable);
    assert!(is_refused(&judged(&parts, reads(2, 1))));
}

#[test]
fn a_read_between_the_events_of_one_command_is_refused() {
    let spans = vec![span(0, 50, Command(0), 3), span(10, 20, Tip, 2)];
    assert!(is_refused(&judged(&[(By(0), 3)], spans)));
}

#[test]
fn an_acknowledged_command_that_is_not_in_the_chain_is_refused() {
    let spans = vec![span(0, 10, Command(0), 1), span(20, 30, Command(1), 2)];
    assert!(is_refused(&judged(&[(By(0), 1)], spans.clone())));
    assert!(is_refused(&judged(&[(By(0), 1), (Node, 2)], spans)));
}

#[test]
fn two_commands_with_one_position_are_refused() {
    let spans = vec![span(0, 90, Command(0), 1), span(0, 90, Command(1), 1)];
    assert!(is_refused(&judged(&[(By(0), 1), (By(1), 2)], spans)));
}

#[test]
fn a_command_that_is_there_twice_is_refused() {
    let spans = vec![span(0, 10, Command(0), 1), span(20, 30, Command(1), 2)];
    let parts = [(By(0), 1), (By(1), 2), (By(0), 3)];
    assert!(is_refused(&judged(&parts, spans)));
}

#[test]
fn what_nobody_sent_is_refused() {
    let spans = vec![span(0, 10, Command(0), 1)];
    assert!(is_refused(&judged(&[(By(0), 1), (Stranger, 2)], spans)));
}

#[test]
fn an_order_against_real_time_is_refused() {
    let parts = [(By(1), 1), (By(0), 2)];
    let second_sent_at = |invoked_us| {
        vec![
            span(0, 10, Command(0), 2),
            span(invoked_us, 30, Command(1), 1),
        ]
    };
    assert_eq!(judged(&parts, second_sent_at(10)), Verdict::Linearizable);
    assert!(is_refused(&judged(&parts, second_sent_at(11))));
}

#[test]
fn a_search_without_end_is_given_up_and_not_called_a_violation() {
    // Reads of one position can be put in any order, and none of these helps the last one.
    let mut spans: Vec<Span> = (0..12).map(|_| span(0, 90, Tip, 0)).collect();
    spans.push(span(0, 90, Tip, 1));
    assert_eq!(judged(&[], spans), Verdict::Undecided);
}

#[test]
fn more_than_one_world_in_a_hundred_is_due_and_fewer_are_not_enough() {
    assert_eq!((0..6_400).filter(|seed| is_due(*seed)).count(), 100);
    let opinion = |worlds, undecided| Opinion {
        worlds,
        undecided,
        ..Opinion::default()
    };
    assert!(opinion(10, 0).is_enough_for(1_000));
    assert!(!opinion(9, 0).is_enough_for(1_000));
    assert!(!opinion(0, 0).is_enough_for(0));
    assert!(!opinion(10, 1).is_enough_for(1_000));
}

/// One step of a sequential execution: what happens, how many events it writes, and how long before
/// and after it was under way.
#[derive(Clone, Debug)]
enum Step {
    Command { events: u64, early: u64, late: u64 },
    Read { early: u64, late: u64 },
    Node { events: u64 },
}

fn step() -> impl Strategy<Value = Step> {
    let times = || (0..35_u64, 0..35_u64);
    prop_oneof![
        4 => (1..5_u64, times()).prop_map(|(events, (early, late))| Step::Command { events, early, late }),
        3 => times().prop_map(|(early, late)| Step::Read { early, late }),
        1 => (1..4_u64).prop_map(|events| Step::Node { events }),
    ]
}

/// The chain and the spans of an execution whose steps happen ten microseconds apart.
fn executed(steps: &[Step]) -> (Vec<(Author, u64)>, Vec<Span>) {
    let (mut parts, mut spans, mut tip) = (Vec::new(), Vec::new(), 0);
    for (number, step) in steps.iter().enumerate() {
        let at_us = 100 + 10 * number as u64;
        match *step {
            Step::Command {
                events,
                early,
                late,
            } => {
                tip += events;
                parts.push((By(number), tip));
                spans.push(span(at_us - early, at_us + late, Command(number), tip));
            }
            Step::Read { early, late } => spans.push(span(at_us - early, at_us + late, Tip, tip)),
            Step::Node { events } => {
                tip += events;
                parts.push((Node, tip));
            }
        }
    }
    (parts, spans)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn what_happened_one_after_the_other_is_accepted(
        steps in proptest::collection::vec(step(), 1..120),
    ) {
        let (parts, spans) = executed(&steps);
        prop_assert_eq!(judged(&parts, spans), Verdict::Linearizable);
    }

    #[test]
    fn an_answer_that_is_one_too_high_or_too_low_is_refused(
        steps in proptest::collection::vec(step(), 1..60),
        which in any::<prop::sample::Index>(),
        up in any::<bool>(),
    ) {
        let (parts, mut spans) = executed(&steps);
        let commands: Vec<usize> = (0..spans.len())
            .filter(|at| matches!(spans[*at].op, Command(_)))
            .collect();
        prop_assume!(!commands.is_empty());
        let wrong = &mut spans[commands[which.index(commands.len())]];
        wrong.seq = seq(if up { wrong.seq.get() + 1 } else { wrong.seq.get() - 1 });
        prop_assert!(judged(&parts, spans) != Verdict::Linearizable);
    }
}

/// The second opinion alone, on a world that nothing else has judged.
fn alone(without: Option<Safeguard>, seed: u64) -> Result<Opinion, Violation> {
    let mut world = World::new(&Plan::draw(seed), Without(without), false);
    // That something else may have been found is none of its business.
    let _ = world.play();
    world.recorder.look(|history| judge(history, &world.store))
}

fn objects_to(without: Safeguard) -> Option<(u64, Violation)> {
    crate::quiet_planted_panics();
    (0..SEEDS_MAX).find_map(|seed| Some((seed, alone(Some(without), seed).err()?)))
}

#[test]
fn worlds_of_the_right_protocol_are_judged_whole_and_found_right() {
    crate::quiet_planted_panics();
    for seed in 1..5 {
        let opinion = alone(None, seed).unwrap();
        assert_eq!((opinion.worlds, opinion.undecided), (1, 0));
        assert!(
            opinion.scopes > 6 && opinion.operations > 500,
            "{opinion:?}"
        );
    }
}

#[test]
fn a_command_that_is_applied_again_is_objected_to() {
    assert!(objects_to(Safeguard::RemembersCommands).is_some());
}

#[test]
fn an_answer_before_the_commit_is_objected_to() {
    assert!(objects_to(Safeguard::AnswersAfterCommit).is_some());
}

#[test]
fn an_unknown_outcome_that_is_taken_as_success_is_objected_to() {
    assert!(objects_to(Safeguard::UnknownIsNoSuccess).is_some());
}

#[test]
fn a_batch_that_drops_its_last_command_is_objected_to() {
    assert!(objects_to(Safeguard::WritesWholeBatch).is_some());
}
