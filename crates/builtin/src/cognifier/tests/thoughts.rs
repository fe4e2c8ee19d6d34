//! What the rules keep of thoughts, and how they word it.

use sillok_core::staging::LogLevel::{self, Error, Info, Thought, Tool};

use super::*;

fn drawn(log: &[(LogLevel, &str)]) -> Cognition {
    let input = input("Mend it", "", log);
    let cognition = RuleCognifier::draw(&input);
    assert_eq!(cognition.check(&input), Ok(()));
    cognition
}

fn contents(log: &[(LogLevel, &str)]) -> Vec<String> {
    let facts = drawn(log).facts.into_iter();
    facts.map(|fact| fact.content).collect()
}

#[test]
fn a_cause_that_names_nothing_which_was_shown_is_left_out_everywhere() {
    let run = |shown: &str| {
        printed(&drawn(&[
            (
                Thought,
                "The rounding is off because of how `mean()` divides.",
            ),
            (Tool, "cat src/stats.py"),
            (Info, shown),
            (Tool, "edit src/stats.py: replace `a % b` by `a / b`"),
            (Tool, "pytest"),
            (Info, "4 passed"),
        ]))
    };
    let shown = run("def mean(): return a % b");
    // The fact, the episode, the edge and the skill.
    let cause =
        "Before src/stats.py was edited: The rounding is off because of how `mean()` divides.";
    assert_eq!(shown.matches(cause).count(), 4, "{shown}");
    let unseen = run("def median(): pass");
    assert!(!unseen.contains("rounding"), "{unseen}");
}

#[test]
fn a_guess_is_no_cause() {
    let run = |thought: &str| {
        contents(&[
            (Thought, thought),
            (Tool, "cat a.py"),
            (Info, "def load(): pass"),
        ])
    };
    let found = "The start fails because `load` is called too late.";
    assert_eq!(run(found), [found]);
    for guess in [
        "The start probably fails because `load` is called too late.",
        "It seems that the start fails because `load` is called too late.",
        "The root cause might be the place of `load` in the file.",
    ] {
        assert!(run(guess).is_empty(), "{guess}");
    }
}

#[test]
fn a_cause_says_which_edit_it_was_said_before() {
    let facts = contents(&[
        (Tool, "cat src/a.py"),
        (Info, "def load(): pass"),
        (
            Thought,
            "The bug is in src/b.py, where `load` is missing a check.",
        ),
        (Tool, "cat src/b.py"),
        (Info, "load()"),
        (
            Thought,
            "The start fails because `load` is called too late.",
        ),
        (Tool, "edit src/a.py: replace `x` by `y`"),
        (Tool, "edit src/b.py: replace `x` by `y`"),
        (
            Thought,
            "The start fails because `load` is called too late.",
        ),
        (Tool, "edit src/b.py: replace `y` by `z`"),
        (Thought, "The exit fails because `load` is called twice."),
        (Tool, "ls"),
    ]);
    for fact in [
        "Before src/b.py was edited: The bug is in src/b.py, where `load` is missing a check.",
        "Before src/a.py was edited: The start fails because `load` is called too late.",
        "The exit fails because `load` is called twice.",
    ] {
        assert!(
            facts.iter().any(|known| known == fact),
            "{fact}: {facts:#?}"
        );
    }
    let told = facts.iter().filter(|fact| fact.contains("too late"));
    assert_eq!(
        told.count(),
        1,
        "what is said again is true of the first time"
    );
}

#[test]
fn a_cause_between_two_edits_of_a_file_says_so() {
    let facts = contents(&[
        (Tool, "edit a.py: replace `x` by `load(1)`"),
        (Tool, "python a.py"),
        (Error, "TypeError: load() takes no arguments"),
        (
            Thought,
            "The start fails because load() takes no arguments.",
        ),
        (Tool, "edit a.py: replace `load(1)` by `load()`"),
    ]);
    let fact = "Before a.py was edited again: The start fails because load() takes no arguments.";
    assert!(facts.iter().any(|known| known == fact), "{facts:#?}");
}

#[test]
fn a_decision_is_told_as_one_with_its_place() {
    let facts = contents(&[
        (
            Thought,
            "Let's add the missing colon to fix the syntax error.",
        ),
        (Tool, "edit a.py: replace `x` by `x:`"),
        (Thought, "Use a list instead of a set."),
        (Info, "Use a map instead of a set."),
        (Tool, "ls"),
        (Info, "a.py"),
    ]);
    for fact in [
        "Decided in a.py: Add the missing colon to fix the syntax error.",
        "Decided: Use a list instead of a set.",
        "Use a map instead of a set.",
    ] {
        assert!(
            facts.iter().any(|known| known == fact),
            "{fact}: {facts:#?}"
        );
    }
}

#[test]
fn a_failed_edit_causes_no_change_of_its_file() {
    let cognition = drawn(&[
        (Tool, "pytest"),
        (Error, "ValueError: bad"),
        (Tool, "edit a.py: replace `x` by `y:`"),
        (Error, "E999 IndentationError: unexpected indent"),
        (Tool, "edit a.py: replace `x` by `y`"),
        (Tool, "pytest"),
        (Info, "4 passed"),
    ]);
    let facts = cognition.facts.iter().map(|fact| fact.content.as_str());
    let failed = "An edit of a.py failed with E999 IndentationError: unexpected indent.";
    assert!(facts.clone().any(|fact| fact == failed));
    let causes: Vec<&str> = cognition
        .causal_edges
        .iter()
        .map(|edge| edge.cause.as_str())
        .collect();
    assert!(
        causes.contains(&"`pytest` failed with ValueError: bad."),
        "{causes:?}"
    );
    assert!(!causes.contains(&failed), "{causes:?}");
}

#[test]
fn a_skill_names_no_scratch_file_and_each_command_where_it_came_last() {
    let with = |more: &[(LogLevel, &str)]| {
        let begin = [
            (Tool, "create reproduce.py"),
            (Info, "[File: reproduce.py (1 lines total)]"),
            (Tool, "python reproduce.py"),
            (Info, "344"),
        ];
        let end = [
            (Tool, "edit a.py: replace `x` by `y`"),
            (Tool, "python reproduce.py"),
            (Info, "345"),
        ];
        drawn(&[begin.as_slice(), more, end.as_slice(), more].concat())
    };
    let cognition = with(&[]);
    assert!(cognition.skill.is_none() && !cognition.repeatable);
    let skill = with(&[(Tool, "make lint"), (Info, "fine")]).skill.unwrap();
    assert_eq!(skill.code, "1. edit a.py\n2. make lint");
}

#[test]
fn a_command_that_ran_out_of_time_counts_as_one_that_went_wrong() {
    let cognition = drawn(&[
        (Tool, "solve --all"),
        (
            Info,
            "step 1\nEXECUTION TIMED OUT AFTER A MINUTE OF SILENCE.",
        ),
    ]);
    assert!(cognition.result.contains("1 of 1 commands went wrong"));
    let facts: Vec<&str> = cognition
        .facts
        .iter()
        .map(|fact| fact.content.as_str())
        .collect();
    // Whether it had done by then what it was to do, nobody knows.
    assert_eq!(
        facts,
        ["`solve --all` ended with EXECUTION TIMED OUT AFTER A MINUTE OF SILENCE."]
    );
}
