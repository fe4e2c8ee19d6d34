//! The commands about fixes that failed: their JSON, how they read, and what they exit with.

use serde_json::{Value, json};

use super::commands::{Tour, text};
use crate::harness::{PROJECT, Ran, WORKTREE, World};

/// What an approach of these tests touches, as flags.
const TOUCHED: [&str; 4] = ["--file", "src/http.rs", "--symbol", "Client::read"];

pub(super) fn fixes(tour: &mut Tour) {
    let task = format!("{WORKTREE}/task/circles");
    tour.json("task open", &[&task, "--title", "Requests are slow"]);
    let words = |approach| [&[approach, "--scope", &task], &TOUCHED[..]].concat();
    let checked = tour.json("fix check", &words("Raise the read timeout"));
    assert_eq!(checked, json!({ "verdict": "allow" }));
    let flags = ["--scope", &task, "--approach", "Increase the read timeout"];
    let run = ["--", "sh", "-c", "echo 'TimeoutError: still slow'; exit 1"];
    let words_of_verify = [&flags[..], &TOUCHED, &run].concat();
    for (count, verdict) in [(1, "allow"), (2, "allow"), (3, "block")] {
        let failed = tour.status(1, "verify", &words_of_verify);
        assert_eq!(failed["judged"]["count"], count, "{failed}");
        assert_eq!(failed["judged"]["verdict"], verdict, "{failed}");
    }
    let checked = tour.status(1, "fix check", &words("Raise the read timeout"));
    assert_eq!(checked["verdict"], "reject");
    assert_eq!(checked["tried"][0]["attempts"], 3);
    let korean = [
        &words("Raise the read timeout")[..],
        &["--language", "korean"],
    ]
    .concat();
    let checked = tour.status(1, "fix check", &korean);
    assert!(text(&checked["order"]).starts_with("멈춰!"), "{checked}");
    let listed = tour.json("fix failed", &["--scope", &task]);
    let items = listed["items"].as_array().expect("a list");
    assert_eq!(items.len(), 3);
    for item in items {
        assert_eq!(item["approach"]["files"], json!(["src/http.rs"]));
        assert_eq!(item["approach"]["symbols"], json!(["Client::read"]));
        assert_eq!(item["reason"], "TimeoutError: still slow");
    }
}

/// Opens a task, and has approaches to it fail, one after the other, each with what it failed of.
fn failing(world: &World, failed: &[(&str, &str)]) -> String {
    let task = world.unopened();
    let opened = ["task", "open", &task, "--title", "Requests are slow"];
    world.run(&opened).ended(0);
    for (approach, error) in failed {
        let words = ["verify", "record", "--scope", &task, "--run", "r"];
        let said = [
            "--source",
            "tests_failed",
            "--approach",
            approach,
            "--error",
            error,
        ];
        world.run(&[&words[..], &said, &TOUCHED].concat()).ended(0);
    }
    task
}

fn check(world: &World, task: &str, approach: &str) -> Ran {
    let words = ["fix", "check", approach, "--scope", task];
    world.run(&[&words[..], &TOUCHED].concat())
}

#[tokio::test]
async fn a_verdict_is_told_in_words_with_what_it_rests_on_and_is_the_exit_status() {
    let world = World::start().await;
    let tried = ("Increase the read timeout", "TimeoutError: still slow");
    let task = failing(&world, &[tried, tried]);
    let rejected = check(&world, &task, "Raise the read timeout");
    rejected.ended(1);
    for words in [
        "reject",
        "Stop! The same way will not solve it.",
        &format!("tried 2 times in {task}, last "),
        ": Increase the read timeout",
        "  TimeoutError: still slow",
        "This approach failed 2 times in this task: “TimeoutError: still slow”.",
    ] {
        assert!(rejected.stdout.contains(words), "{words}: {rejected:#?}");
    }
    assert!(
        rejected.stderr.contains("the approach: reject"),
        "{rejected:#?}"
    );
    let allowed = check(&world, &task, "Open a connection for each request");
    allowed.ended(0);
    assert_eq!(allowed.stdout.trim_end(), "allow");
    // In another task of the project it is a warning, which ends nothing.
    let other = failing(&world, &[]);
    let warned = check(&world, &other, "Raise the read timeout");
    warned.ended(0);
    for words in ["warn", "Careful: this failed before.", task.as_str()] {
        assert!(warned.stdout.contains(words), "{words}: {warned:#?}");
    }
    let stuck = ["task", "stuck", &task, "--reason", "nobody knows"];
    world.run(&stuck).ended(0);
    let blocked = check(&world, &task, "Open a connection for each request");
    blocked.ended(1);
    for words in [
        "block",
        "the task is stuck: nobody knows",
        "ask an orchestrator or a person",
    ] {
        assert!(blocked.stdout.contains(words), "{words}: {blocked:#?}");
    }
    // So is what fails in it all the same, the first time too.
    let script = ["--", "sh", "-c", "echo 'KeyError: lost'; exit 1"];
    let ran = world.run(&[&["verify", "--scope", task.as_str()], &script[..]].concat());
    ran.ended(1);
    let told = "block: the error came up once since a verification passed (stuck). Stop!";
    assert!(ran.stdout.contains(told), "{ran:#?}");
}

#[tokio::test]
async fn what_differs_in_a_word_is_told_as_nearly_tried_and_ends_nothing() {
    let world = World::start().await;
    let tried = ("Increase the pool timeout", "TimeoutError: still slow");
    let task = failing(&world, &[tried]);
    let warned = check(&world, &task, "Increase the read timeout");
    warned.ended(0);
    for words in [
        "warn",
        &format!("nearly tried once in {task}, last "),
        "if it is about another thing.",
    ] {
        assert!(warned.stdout.contains(words), "{words}: {warned:#?}");
    }
}

#[tokio::test]
async fn an_error_that_comes_up_again_is_told_where_it_is_recorded() {
    let world = World::start().await;
    let task = failing(&world, &[]);
    let script = ["--", "sh", "-c", "echo 'KeyError: lost'; exit 1"];
    let words = [&["verify", "--scope", task.as_str()], &script[..]].concat();
    for told in [
        None,
        Some("allow: the error came up 2 times since a verification passed (repeated)."),
        Some("block: the error came up 3 times since a verification passed (too_often). Stop!"),
    ] {
        let ran = world.run(&words);
        ran.ended(1);
        match told {
            Some(told) => assert!(ran.stdout.contains(told), "{told}: {ran:#?}"),
            None => assert!(!ran.stdout.contains("came up"), "{ran:#?}"),
        }
    }
    let words = [
        "verify",
        "record",
        "--scope",
        &task,
        "--source",
        "tests_failed",
    ];
    let record = |error| world.run(&[&words[..], &["--run", "r", "--error", error]].concat());
    let ran = record("ValueError: another one");
    ran.ended(0);
    assert!(!ran.stdout.contains("came up"), "{ran:#?}");
    let ran = record("ValueError: another one");
    assert!(
        ran.stdout.contains("allow: the error came up 2 times"),
        "{ran:#?}"
    );
}

#[tokio::test]
async fn what_failed_is_listed_up_to_a_limit_and_page_by_page() {
    let world = World::start().await;
    let tried: Vec<String> = (0..7).map(|number| format!("Approach {number}")).collect();
    let failed: Vec<(&str, &str)> = tried
        .iter()
        .map(|text| (text.as_str(), "Error: no"))
        .collect();
    let task = failing(&world, &failed);
    let list = format!("fix failed --scope {task}");
    let listed = |flags: &str| -> Vec<String> {
        let page = world.sillok(&format!("{list} --json {flags}")).json();
        let items = page["items"].as_array().expect("a list").iter();
        items.map(|item| text(&item["approach"]["text"])).collect()
    };
    assert_eq!(listed(""), tried);
    assert_eq!(listed("--limit 3"), tried[..3]);
    let page = world.sillok(&format!("{list} --limit 3"));
    page.ended(0);
    let rows: Vec<&str> = page.stdout.lines().collect();
    assert_eq!(
        rows.len(),
        5,
        "a head, three rows, and that there is more: {page:#?}"
    );
    assert!(
        rows[1].contains("Approach 0") && rows[1].contains("error: no"),
        "{page:#?}"
    );
    assert!(rows[4].contains("and more"), "{page:#?}");
    // Over HTTP whoever asks goes on from page to page, and is shown each once.
    let (admin, mut found, mut after) = (world.admin(), Vec::new(), None::<String>);
    loop {
        let mut query = vec![("scope", task.as_str()), ("limit", "2")];
        query.extend(after.as_deref().map(|after| ("after", after)));
        let page = admin.get("/v1/fixes/failed", &query).await.ok();
        let items = page["items"].as_array().expect("a page has items").iter();
        found.extend(items.map(|item| text(&item["approach"]["text"])));
        let Some(next) = page["next"].as_str() else {
            break;
        };
        after = Some(next.to_owned());
    }
    assert_eq!(found, tried);
}

#[tokio::test]
async fn what_was_recorded_plays_with_nobodys_terminal() {
    let world = World::start().await;
    let evil = "Increase the \u{1b}[2Jread\u{7}\n timeout\u{1b}]0;title\u{7}";
    let task = failing(&world, &[(evil, "KeyError: '\u{1b}[2J\u{7}lost'")]);
    let stuck = json!({ "scope": task, "reason": "It is\u{1b}[2J lost\u{7}" });
    let admin = world.admin();
    let checked = check(&world, &task, "Increase the read timeout");
    checked.ended(1);
    assert!(checked.stdout.contains("Increase the"), "{checked:#?}");
    admin.post("/v1/tasks/stuck", &stuck).await.ok();
    let blocked = check(&world, &task, "Increase the read timeout");
    blocked.ended(1);
    assert!(
        blocked.stdout.contains("the task is stuck: It is"),
        "{blocked:#?}"
    );
    let listed = world.run(&["fix", "failed", "--scope", &task]);
    listed.ended(0);
    assert_eq!(listed.stdout.lines().count(), 2, "a line each: {listed:#?}");
    for ran in [checked, blocked, listed] {
        let plays = |c: char| c.is_control() && c != '\n';
        assert!(!ran.stdout.contains(plays), "{ran:#?}");
        assert!(!ran.stderr.contains(plays), "{ran:#?}");
    }
    // Nothing of that is kept with an approach.
    let listed = world
        .run(&["fix", "failed", "--json", "--scope", &task])
        .json();
    let kept = "Increase the read\n timeout";
    assert_eq!(listed["items"][0]["approach"]["text"], kept);
}

#[tokio::test]
async fn what_is_refused_about_fixes_exits_as_everything_does() {
    let world = World::start().await;
    let task = failing(&world, &[]);
    let unopened = world.unopened();
    for (line, status) in [
        (format!("fix check x --scope {unopened}"), 1),
        (format!("fix failed --scope {unopened}"), 1),
        (format!("fix check x --scope {PROJECT}"), 2),
        (format!("fix failed --scope {PROJECT}"), 2),
        (format!("fix check --scope {task}"), 2),
        (format!("fix check x --scope {task} --language latin"), 2),
        (
            format!("verify record --scope {task} --run r --source tests_failed --file a"),
            2,
        ),
        (
            format!(
                "verify record --scope {task} --run r --source tests_passed --approach x --file a"
            ),
            2,
        ),
        (format!("verify --scope {task} --symbol a -- true"), 2),
    ] {
        let ran = world.sillok(&line);
        ran.ended(status);
        assert!(ran.stdout.is_empty() && !ran.stderr.is_empty(), "{ran:#?}");
    }
    let blank = world.run(&["fix", "check", " ", "--scope", &task]);
    blank.ended(2);
    // A script that has nothing to say of its approach records what it ran all the same.
    let words = ["verify", "--json", "--scope", &task, "--approach", ""];
    let ran = world.run(&[&words[..], &TOUCHED, &["--", "false"]].concat());
    let recorded = ran.json_with(1);
    assert_eq!(recorded["judged"]["count"], 1, "{recorded}");
    let listed = world
        .run(&["fix", "failed", "--json", "--scope", &task])
        .json();
    assert_eq!(listed["items"], json!([]));
}

#[tokio::test]
async fn what_failed_is_told_where_no_server_runs() {
    let mut world = World::start().await;
    let task = failing(
        &world,
        &[("Increase the read timeout", "TimeoutError: slow")],
    );
    let words = [
        "fix",
        "check",
        "Raise the read timeout",
        "--json",
        "--scope",
        &task,
    ];
    let words = [&words[..], &TOUCHED].concat();
    let before: Value = world.run(&words).json_with(1);
    world.stop();
    assert_eq!(world.run(&words).json_with(1), before);
    let listed = world
        .run(&["fix", "failed", "--json", "--scope", &task])
        .json();
    assert_eq!(listed["items"].as_array().map(Vec::len), Some(1));
}
