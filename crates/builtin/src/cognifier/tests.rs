//! What the rules draw from small logs, and from recorded runs where those are at hand.

use proptest::prelude::*;
use sillok_core::entry::Metadata;
use sillok_core::id::{RecordId, Seq};
use sillok_core::promotion::{CognifyRecord, RecordEnd, Unread};
use sillok_core::scope::Scope;
use sillok_core::staging::{LogLevel, RecordKind};
use sillok_core::time::Timestamp;

use super::*;

mod endings;
mod recorded;
mod scripts;
mod thoughts;

fn input(title: &str, description: &str, log: &[(LogLevel, &str)]) -> CognifyInput {
    let task = Scope::parse("org/a/project/p/worktree/w/task/t").unwrap();
    let record = |(index, (level, content)): (usize, &(LogLevel, &str))| CognifyRecord {
        bound: None,
        id: RecordId {
            scope: task.clone(),
            seq: Seq::new(index as u64 + 2),
        },
        time: Timestamp::from_ms(index as u64),
        kind: RecordKind::Log { level: *level },
        content: (*content).to_owned(),
        end: None,
        metadata: Metadata::default(),
    };
    CognifyInput {
        title: title.to_owned(),
        description: description.to_owned(),
        outcome: Judgement::Passed,
        error: None,
        approach: None,
        opening: Some(RecordId {
            scope: task.clone(),
            seq: Seq::new(1),
        }),
        records: log.iter().enumerate().map(record).collect(),
        unread: Unread::default(),
        task,
    }
}

fn calc() -> CognifyInput {
    use LogLevel::{Error, Info, Thought, Tool};
    input(
        "Fix calc",
        "",
        &[
            (Tool, "python -m pytest"),
            (
                Error,
                "FAILED tests/test_calc.py::test_add - AssertionError: assert -1 == 3\n1 failed, 3 passed in 0.02s",
            ),
            (
                Thought,
                "The test test_add fails because add() subtracts. I will use `+` instead of `-`.",
            ),
            (Tool, "edit calc.py: replace `a - b` by `a + b`"),
            (Tool, "cd /tmp/demo/agent-1 && python -m pytest"),
            (Info, "4 passed in 0.01s"),
        ],
    )
}

/// A cognition as a person reads it.
fn printed(cognition: &Cognition) -> String {
    let facts = cognition.facts.iter().map(|fact| {
        let place = |excerpt: &Excerpt| {
            let Excerpt { record, from, to } = excerpt;
            format!("#{}:{from}-{to}", record.seq)
        };
        let places: Vec<String> = fact.sources.iter().map(place).collect();
        format!("- {} ({})", fact.content, places.join(" "))
    });
    let edges = cognition
        .causal_edges
        .iter()
        .map(|edge| format!("- {} => {} ({})", edge.cause, edge.effect, edge.confidence));
    let skill = cognition.skill.as_ref().map_or("none".to_owned(), |skill| {
        format!("{}\n{}\n{}", skill.name, skill.description, skill.code)
    });
    format!(
        "facts\n{}\n\ncritique\n{}\n\ndecisions {:?}\nresult {}\nscore {:.3}\n\nedges\n{}\n\nskill\n{skill}",
        facts.collect::<Vec<_>>().join("\n"),
        cognition.critique,
        cognition.key_decisions,
        cognition.result,
        cognition.score,
        edges.collect::<Vec<_>>().join("\n"),
    )
}

#[test]
fn a_small_fix_gives_error_cause_change_and_outcome() {
    insta::assert_snapshot!(printed(&RuleCognifier::draw(&calc())));
}

#[test]
fn notes_and_korean_thoughts_become_facts() {
    use LogLevel::{Info, Thought, Tool, Warn};
    let input = input(
        "배포",
        "",
        &[
            (Info, "The staging database needs the VPN"),
            (Warn, "It broke again"),
            (
                Thought,
                "The class `TimeCapsule` uses the exponent `e = 5`. The fix should be easy with `x`. This setup is wrong.",
            ),
            (Thought, "반올림 오류 때문에 테스트 test_round 가 실패한다."),
            (Tool, "cat tests/test_round.py"),
            (Info, "def test_round(): pass"),
            (
                Thought,
                "Use a BTreeMap instead of a HashMap, because the order must be stable.",
            ),
        ],
    );
    insta::assert_snapshot!(printed(&RuleCognifier::draw(&input)));
}

#[test]
fn a_failed_task_says_what_was_tried_and_what_came_of_it() {
    let failed = CognifyInput {
        outcome: Judgement::Failed,
        error: Some("AssertionError: assert -1 == 3".into()),
        approach: Some("negate the second operand".into()),
        ..calc()
    };
    let cognition = RuleCognifier::draw(&failed);
    assert!(cognition.critique.contains("negate the second operand"));
    assert!(cognition.critique.contains("assert -1 == 3"));
    assert!(!cognition.repeatable && cognition.skill.is_none());
    assert!(cognition.score <= 0.5);
}

#[test]
fn paths_do_not_depend_on_where_the_work_tree_lies() {
    let at = |root: &str| {
        let error = format!(
            "  File \"{root}/src/calc.py\", line 3\nValueError: bad value in {root}/src/calc.py"
        );
        let log = [
            (LogLevel::Tool, "python src/calc.py"),
            (LogLevel::Error, error.as_str()),
        ];
        let facts = RuleCognifier::draw(&input("Fix", "", &log)).facts;
        facts
            .into_iter()
            .map(|fact| fact.content)
            .collect::<Vec<String>>()
    };
    assert_eq!(at("/tmp/x/agent-1"), at("/srv/kim/api"));
    assert_eq!(at("/testbed"), at("/owner__name"));
    assert_eq!(at("/testbed"), at("/tmp/x/agent-1"));
    assert!(
        at("/testbed")
            .iter()
            .any(|fact| fact.contains("bad value in src/calc.py"))
    );
}

#[test]
fn nothing_gives_nothing() {
    let cognition = RuleCognifier::draw(&input("", "", &[]));
    assert_eq!(
        (
            cognition.facts.len(),
            cognition.critique.as_str(),
            cognition.repeatable
        ),
        (0, "", false)
    );
}

fn text() -> impl Strategy<Value = String> {
    let known = proptest::sample::select(vec![
        "edit x.py: replace `a` by `b`",
        "python x.py",
        "FAILED t.py::t - Error: x",
        "+++ b/x\n@@ -1,1 +1,1 @@\n-a\n+b\n",
        "The build fails because the path is wrong.",
        "create y.py",
        "[File: /testbed/y.py (1 lines total)]",
        "{\"command\":\"ls\"}",
    ]);
    prop_oneof![known.prop_map(str::to_owned), "(?s).{0,60}"]
}

#[test]
fn what_a_long_output_ends_with_is_drawn_from_where_it_stands() {
    let mut input = calc();
    let said = "1 failed, 3 passed in 0.02s";
    let whole = format!("collected 4 items\n{}\n{said}", "x".repeat(400_000));
    let from = whole.len() - said.len();
    let record = &mut input.records[1];
    record.content = "collected 4 items".to_owned();
    record.end = Some(RecordEnd {
        from: u32::try_from(from).unwrap(),
        content: said.to_owned(),
    });
    let id = record.id.clone();
    let cognition = RuleCognifier::draw(&input);
    assert_eq!(cognition.check(&input), Ok(()));
    let sources = cognition.facts.iter().flat_map(|fact| &fact.sources);
    let mut of_it = sources.filter(|excerpt| excerpt.record == id).peekable();
    assert!(of_it.peek().is_some(), "{}", printed(&cognition));
    for excerpt in of_it {
        let stands = excerpt.of(&whole).unwrap();
        assert_eq!(stands, input.said(excerpt).unwrap());
    }
}

proptest! {
    #[test]
    fn every_fact_is_bounded_once_and_names_records_that_exist(
        title in ".{0,20}",
        description in "(?s).{0,80}",
        log in proptest::collection::vec((proptest::sample::select(LogLevel::ALL.to_vec()), text()), 0..30),
        codes in proptest::collection::vec(proptest::option::of(-1i64..3), 30),
    ) {
        let log: Vec<(LogLevel, &str)> = log.iter().map(|(level, text)| (*level, text.as_str())).collect();
        let mut input = input(&title, &description, &log);
        for (record, code) in input.records.iter_mut().zip(codes) {
            if let Some(code) = code {
                record.metadata = Metadata::parse(&format!("{{\"exit_code\":{code}}}")).unwrap();
            }
        }
        let cognition = RuleCognifier::draw(&input);
        prop_assert_eq!(&cognition, &RuleCognifier::draw(&input));
        prop_assert!(cognition.facts.len() <= facts::FACTS_MAX);
        prop_assert_eq!(cognition.check(&input), Ok(()));
        let mut contents: Vec<&str> = cognition.facts.iter().map(|fact| fact.content.as_str()).collect();
        contents.sort_unstable();
        contents.dedup();
        prop_assert_eq!(contents.len(), cognition.facts.len());
        for fact in &cognition.facts {
            prop_assert!(!fact.sources.is_empty());
        }
    }
}
