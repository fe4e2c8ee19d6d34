//! The log of a server: lines that a program can read, as many as were asked for.

use std::time::Duration;

use serde_json::{Value, json};

use crate::harness::{Launch, PROJECT, World};

/// The variable that says how lines are written.
const FORMAT: &str = "SILLOK__LOG__FORMAT";
/// The variable that says what is logged.
const FILTER: &str = "SILLOK__LOG__FILTER";

/// Starts a server with these variables, has it log something, and stops it: all lines that it wrote.
async fn lines_with(variables: &[(&str, &str)]) -> Vec<String> {
    let mut world = World::start_with(|launch| {
        let launch = launch.arg("--json");
        variables
            .iter()
            .fold(launch, |launch, (name, value)| launch.env(name, value))
    })
    .await;
    let order = json!({ "scope": PROJECT, "reason": "it says \"stop\" and means it" });
    world
        .admin()
        .post("/v1/cluster/quarantine", &order)
        .await
        .ok();
    let log = world.server().log().to_owned();
    world.stop();
    let said = std::fs::read_to_string(log).expect("a server that has ended leaves its log");
    said.lines().map(str::to_owned).collect()
}

/// The lines of a log as JSON, without what a server says on standard output of its address.
fn events(lines: &[String]) -> Vec<Value> {
    let parsed = lines.iter().map(|line| {
        serde_json::from_str(line).unwrap_or_else(|error| panic!("{error} in {line}: {lines:#?}"))
    });
    let (ready, events): (Vec<Value>, Vec<Value>) =
        parsed.partition(|line: &Value| line["url"].is_string());
    assert_eq!(ready.len(), 1, "{ready:?}");
    events
}

#[tokio::test]
async fn every_line_of_a_json_log_is_an_object_with_time_level_target_and_message() {
    let events = events(&lines_with(&[(FORMAT, "json"), (FILTER, "debug")]).await);
    for event in &events {
        let text = |key: &str| {
            event[key]
                .as_str()
                .unwrap_or_else(|| panic!("{key}: {event}"))
        };
        let time = text("timestamp");
        assert!(
            time.starts_with("20") && time.contains('T') && time.ends_with('Z'),
            "{event}"
        );
        assert!(
            ["DEBUG", "INFO", "WARN", "ERROR"].contains(&text("level")),
            "{event}"
        );
        assert!(!text("target").is_empty(), "{event}");
        // Crates of others log events that have fields only.
        let is_ours = text("target").starts_with("sillok");
        assert!(
            !is_ours || event["fields"]["message"].is_string(),
            "{event}"
        );
    }
    assert!(
        events.iter().any(|event| event["level"] == "DEBUG"),
        "{events:#?}"
    );
    let ordered: Vec<&Value> = events
        .iter()
        .filter(|event| event["fields"]["message"] == "a scope was quarantined")
        .collect();
    let [ordered] = ordered[..] else {
        panic!("it is not logged once: {ordered:?}")
    };
    assert_eq!(ordered["level"], "WARN");
    assert_eq!(ordered["fields"]["scope"], PROJECT);
    assert_eq!(ordered["fields"]["reason"], "it says \"stop\" and means it");
    let target = ordered["target"].as_str().expect("it was looked at");
    assert!(target.starts_with("sillok_actors"), "{target}");
}

#[tokio::test]
async fn no_more_is_logged_than_the_filter_lets_through() {
    let is_ordered = |line: &String| line.contains("a scope was quarantined");
    let told = lines_with(&[]).await;
    assert!(told.iter().any(is_ordered), "{told:#?}");
    assert!(!told.iter().any(|line| line.contains("DEBUG")), "{told:#?}");
    let text = told.iter().find(|line| is_ordered(line));
    let is_json = text.is_some_and(|line| serde_json::from_str::<Value>(line).is_ok());
    assert!(!is_json, "text is for people: {told:#?}");
    // The short name wins.
    let variables = [(FORMAT, "json"), (FILTER, "debug"), ("SILLOK_LOG", "off")];
    let told = events(&lines_with(&variables).await);
    assert!(told.is_empty(), "{told:#?}");
}

#[test]
fn a_bad_format_or_filter_is_refused_by_the_name_of_its_key() {
    let folder = tempfile::tempdir().expect("a folder of its own");
    for (variable, value, key) in [
        (FORMAT, "yaml", "log.format"),
        (FILTER, "inof", "log.filter"),
        (FILTER, "sillok_actors=loud", "log.filter"),
        (FILTER, "", "log.filter"),
        ("SILLOK_LOG", "loud", "log.filter"),
    ] {
        let launch = Launch::new(&folder.path().join("data")).env(variable, value);
        let (status, said) = launch.start_in_vain(Duration::from_secs(30));
        assert_eq!(status.code(), Some(78), "{said}");
        assert!(said.contains(key), "{said}");
    }
}
