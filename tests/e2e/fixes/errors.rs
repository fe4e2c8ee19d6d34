//! Errors that come up again: by what they say, and not by when and where they do.

use serde_json::{Value, json};
use sillok_core::principal::PrincipalKind;

use super::{
    AGAIN, ANOTHER, REFUSED, STOP, TIMED_OUT, TRIED, audited, failed, fails, failure, text,
};
use crate::harness::{Client, PROJECT, World, assert_same, command_id};

/// Records that something failed with an error, and says no more of it.
async fn comes_up(client: &Client, task: &str, error: &str) -> Value {
    let mut body = failure(task, error, TRIED);
    for field in ["approach", "files", "symbols"] {
        body.as_object_mut().expect("an object").remove(field);
    }
    let recorded = client.post("/v1/verifications", &body).await.ok();
    recorded["judged"].clone()
}

/// The verdict, why, and how often the error came up.
fn told(judged: &Value) -> (&str, &str, u64) {
    let count = judged["count"].as_u64().expect("it is counted");
    (text(&judged["verdict"]), text(&judged["reason"]), count)
}

#[tokio::test]
async fn errors_that_take_turns_are_warned_of_and_then_blocked() {
    let world = World::start().await;
    let (admin, task) = (world.admin(), world.task().await);
    let careful = "Careful: this failed before. See what is different now before you go on.";
    for (error, expected, order) in [
        (TIMED_OUT, ("allow", "new", 1), Value::Null),
        (REFUSED, ("allow", "new", 1), Value::Null),
        (TIMED_OUT, ("warn", "came_back", 2), json!(careful)),
        (REFUSED, ("block", "takes_turns", 2), json!(STOP)),
    ] {
        let judged = fails(&admin, &task, error, TRIED).await;
        assert_eq!(told(&judged), expected, "{judged}");
        assert_eq!(judged["order"], order, "{judged}");
    }
    // With a third one between them nobody takes turns, and what was there comes back all the same.
    let task = world.task().await;
    for (error, expected) in [
        (TIMED_OUT, ("allow", "new", 1)),
        (REFUSED, ("allow", "new", 1)),
        ("KeyError: 'user_id'", ("allow", "new", 1)),
        (TIMED_OUT, ("warn", "came_back", 2)),
        (TIMED_OUT, ("block", "too_often", 3)),
    ] {
        let judged = comes_up(&admin, &task, error).await;
        assert_eq!(told(&judged), expected, "{judged}");
    }
    audited(&world);
}

#[tokio::test]
async fn the_third_time_an_error_is_blocked_whatever_was_tried_and_in_its_own_task_alone() {
    let world = World::start().await;
    let (admin, task) = (world.admin(), world.task().await);
    for (approach, expected) in [
        (TRIED, ("allow", "new", 1)),
        (ANOTHER, ("allow", "repeated", 2)),
        (AGAIN, ("block", "too_often", 3)),
        (ANOTHER, ("block", "too_often", 4)),
    ] {
        let judged = fails(&admin, &task, TIMED_OUT, approach).await;
        assert_eq!(told(&judged), expected, "{judged}");
        let is_stopped = judged["order"] == STOP;
        assert_eq!(is_stopped, expected.0 == "block", "{judged}");
    }
    let other = world.task().await;
    let judged = fails(&admin, &other, TIMED_OUT, TRIED).await;
    assert_eq!(told(&judged), ("allow", "new", 1));
}

#[tokio::test]
async fn an_error_is_the_same_one_at_another_time_in_another_place_and_in_another_order() {
    let world = World::start().await;
    let admin = world.admin();
    let (adds, pays) = (
        "---- cart::adds stdout ----\nthread 'cart::adds' panicked at src/cart.rs:12:9:\nthe cart is empty\n",
        "---- cart::pays stdout ----\nthread 'cart::pays' panicked at src/cart.rs:31:9:\nthe purse is empty\n",
    );
    let moved = adds.replace(":12:9", ":48:5");
    let coloured = adds.replace("the cart is empty", "\u{1b}[31mthe cart is empty\u{1b}[0m");
    for (what, error, later, unlike) in [
        ("lines of the file", adds.to_owned(), moved, pays),
        ("colours", adds.to_owned(), coloured, pays),
        (
            "times and durations",
            "2026-11-27T10:00:01.123Z ERROR ledger: the payment was refused after 1.204s".to_owned(),
            "2026-12-01T23:59:59.001Z ERROR ledger: the payment was refused after 31ms".to_owned(),
            "2026-11-27T10:00:01.123Z ERROR ledger: the payment was lost after 1.204s",
        ),
        (
            "checkouts",
            "Traceback (most recent call last):\n  File \"/srv/ann/api/src/pay.py\", line 12, in pay\n    charge(cart)\nKeyError: 'user_id'".to_owned(),
            "Traceback (most recent call last):\n  File \"/tmp/tmp.Qx81/api/src/pay.py\", line 40, in pay\n    charge(cart, now)\nKeyError: 'user_id'".to_owned(),
            "Traceback (most recent call last):\n  File \"/srv/ann/api/src/pay.py\", line 12, in pay\n    charge(cart)\nKeyError: 'user_name'",
        ),
        (
            "ids, processes and addresses",
            "Error: no cart 6f1c1b52-9a0c-4d4e-8a53-2f54c1f0a001, process 4121, at 0x7f3a2c001040".to_owned(),
            "Error: no cart 0b7d11aa-1e9f-4c34-b1d7-77f0a4de9c55, process 99, at 0x7fffd2a41bb0".to_owned(),
            "Error: no purse 6f1c1b52-9a0c-4d4e-8a53-2f54c1f0a001, process 4121, at 0x7f3a2c001040",
        ),
        ("the order of tests", [adds, pays].concat(), [pays, adds].concat(), adds),
    ] {
        let task = world.task().await;
        let first = comes_up(&admin, &task, &error).await;
        let again = comes_up(&admin, &task, &later).await;
        assert_eq!(told(&first), ("allow", "new", 1), "{what}: {first}");
        assert_eq!(told(&again), ("allow", "repeated", 2), "{what}: {again}");
        assert_eq!(first["error"], again["error"], "{what}");
        assert_eq!(text(&first["error"]).len(), 64, "{what}: {first}");
        // What says something else is another one, however much else is the same.
        let other = comes_up(&admin, &task, unlike).await;
        assert_eq!(told(&other), ("allow", "new", 1), "{what}: {other}");
        assert_ne!(first["error"], other["error"], "{what}");
    }
}

#[tokio::test]
async fn errors_of_one_type_that_say_other_things_are_two() {
    let world = World::start().await;
    let admin = world.admin();
    for (one, other) in [
        ("KeyError: 'user_id'", "KeyError: 'user_name'"),
        (TIMED_OUT, "TimeoutError: the server was slow"),
        ("test cart::adds ... FAILED", "test cart::pays ... FAILED"),
        (
            "connect ECONNREFUSED 127.0.0.1:5432",
            "connect ECONNREFUSED 127.0.0.1:6379",
        ),
        (
            "assertion `left == right` failed\n  left: 3\n right: 4",
            "assertion `left == right` failed\n  left: 3\n right: 5",
        ),
    ] {
        let task = world.task().await;
        for error in [one, other] {
            let judged = comes_up(&admin, &task, error).await;
            assert_eq!(told(&judged), ("allow", "new", 1), "{error}: {judged}");
        }
    }
}

#[tokio::test]
async fn a_failure_that_is_given_again_counts_once_and_is_an_event_beside_its_verification() {
    let world = World::start().await;
    let task = world.task().await;
    let orchestrator = world.principal(PrincipalKind::Orchestrator, PROJECT).await;
    let (id, body) = (command_id(), failure(&task, TIMED_OUT, TRIED));
    let first = orchestrator
        .command("/v1/verifications", &id, &body)
        .await
        .ok();
    for _ in 0..3 {
        let again = orchestrator
            .command("/v1/verifications", &id, &body)
            .await
            .ok();
        assert_same(&again, &first, "the same failure");
    }
    let other = failure(&task, REFUSED, TRIED);
    let reused = orchestrator.command("/v1/verifications", &id, &other).await;
    drop(reused.refused(422, "command_reused"));
    let listed = failed(&orchestrator, &task).await;
    assert_eq!(listed.len(), 1, "{listed:?}");
    let judged = fails(&orchestrator, &task, TIMED_OUT, TRIED).await;
    assert_eq!(told(&judged), ("allow", "repeated", 2));

    let events = world.admin().all("/v1/events", &task).await;
    let at = events
        .iter()
        .position(|event| event["kind"] == "FIX_FAILED");
    let at = at.expect("it is an event");
    let (recorded, noted) = (&events[at - 1], &events[at]);
    assert_eq!(recorded["kind"], "VERIFICATION_RECORDED");
    assert_eq!(
        (&noted["command"], &noted["seq"]),
        (&recorded["command"], &listed[0]["seq"])
    );
    let said = &noted["body"];
    assert_eq!(said["verification"], first["verification"]);
    assert_eq!(said["error"], first["judged"]["error"]);
    assert_eq!(said["first_verification"], first["verification"]);
    assert_eq!(said["approach"]["text"], TRIED.0);
    assert_eq!(said["reason"], TIMED_OUT);
    audited(&world);
}
