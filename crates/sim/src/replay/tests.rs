//! Replay files: what is written is read again, and everything else is refused with its field.

use super::*;

fn replay() -> Replay {
    Replay {
        commit: "abc".into(),
        protocol: "correct".into(),
        why: Some("it failed \"once\"".into()),
        plan: Plan::draw(4),
        violation: Some(Violation::new("applied once", "twice")),
        digest: Some("00".into()),
    }
}

fn refused(from: &str, to: &str) -> String {
    let text = replay().write();
    assert!(text.contains(from), "{from}");
    let spoilt = text.replacen(from, to, 1);
    let refused = Replay::read(&spoilt, &Suite::built_in()).unwrap_err();
    refused.to_string()
}

#[test]
fn a_file_gives_back_what_was_written() {
    let text = replay().write();
    let read = Replay::read(&text, &Suite::built_in()).unwrap();
    assert_eq!(read, replay());
    assert_eq!(profile(&text).unwrap(), replay().plan.profile);
    let own = serde_json::to_string(&replay().plan.profile).unwrap();
    assert_eq!(profile(&own).unwrap(), replay().plan.profile);
}

#[test]
fn without_operations_the_seed_draws_them() {
    let text = r#"{"format": 1, "commit": "abc", "protocol": "correct", "seed": 4}"#;
    let read = Replay::read(text, &Suite::built_in()).unwrap();
    assert_eq!(read.plan, Plan::draw(4));
    assert_eq!((read.violation, read.digest), (None, None));
}

#[test]
fn a_wrong_file_is_refused_with_the_field() {
    let why = refused("\"format\": 1", "\"format\": 2");
    assert_eq!(why, "format: version 2 is unknown; this build reads 1");
    let why = refused("\"protocol\": \"correct\"", "\"protocol\": \"wishful\"");
    assert!(
        why.starts_with("protocol: neither \"correct\" nor"),
        "{why}"
    );
    assert_eq!(refused("\"seed\"", "\"seat\""), "seed: it is missing");
    let why = refused("\"seed\": 4", "\"seed\": -4");
    assert!(why.starts_with("seed: invalid value"), "{why}");
    let why = refused("\"faults\": [", "\"faults\": [{\"at_ms\": 1}, ");
    assert!(why.starts_with("profile.faults[0]: missing field"), "{why}");
    let why = refused("\"operations\": [", "\"operations\": [7, ");
    assert!(why.starts_with("operations[0]: "), "{why}");
    let why = refused("\"open_task\"", "\"close_shop\"");
    assert!(
        why.starts_with("operations[0]: action: unknown variant"),
        "{why}"
    );
    let why = refused("{", "");
    assert!(why.starts_with("not JSON: "), "{why}");
}

#[test]
fn a_field_that_nobody_knows_is_refused_with_its_path() {
    for (from, to, path) in [
        ("\"seed\":", "\"sead\": 5, \"seed\":", "sead"),
        ("\"what\":", "\"were\": 1, \"what\":", "violation.were"),
        ("\"nodes\":", "\"node\": 3, \"nodes\":", "profile.node"),
        (
            "{\"at_ms\":",
            "{\"al_ms\":7,\"at_ms\":",
            "profile.faults[0].al_ms",
        ),
        (
            "{\"agent\":",
            "{\"agend\":7,\"agent\":",
            "operations[0].agend",
        ),
    ] {
        assert_eq!(refused(from, to), format!("{path}: unknown field"));
    }
    let mut deep = replay();
    let operation = &mut deep.plan.operations[3];
    operation.workload = "reads".into();
    operation.action = serde_json::json!({"tip": {"project": 1, "projekt": 2}});
    let deep = Replay::read(&deep.write(), &Suite::built_in()).unwrap_err();
    let path = "operations[3].action.tip.projekt";
    assert_eq!(deep.to_string(), format!("{path}: unknown field"));
    // A profile in a file of its own, and one that is taken out of a saved plan.
    let own = replay()
        .write()
        .replacen("\"seed\":", "\"sead\": 5, \"seed\":", 1);
    assert_eq!(
        profile(&own).unwrap_err().to_string(),
        "sead: unknown field"
    );
    let mut own = serde_json::to_value(replay().plan.profile).unwrap();
    own["faults"][1]["nod"] = 1.into();
    let why = profile(&own.to_string()).unwrap_err().to_string();
    assert_eq!(why, "profile.faults[1].nod: unknown field");
}

#[test]
fn only_a_build_of_a_whole_commit_is_known_to_be_the_same() {
    let commit = "0123456789abcdef0123";
    assert!(is_same_code(commit, commit) && !is_same_code(commit, "4567"));
    let dirty = format!("{commit}-dirty");
    assert!(!is_same_code(&dirty, commit) && !is_same_code(&dirty, &dirty));
    assert!(!is_same_code("unknown", "unknown"));
    assert_eq!(short(commit), "0123456789ab");
    assert_eq!(short(&dirty), "0123456789ab-dirty");
    assert_eq!(short("unknown"), "unknown");
}

#[test]
fn the_line_to_copy_says_all_that_is_needed() {
    let profile = Profile::draw(4);
    let line = line(4, "no epoch read", &profile, None);
    assert!(line.starts_with("sillok-sim replay --seed 4 --bug 'no epoch read' # commit "));
    assert!(
        line.contains(&format!("profile {} nodes, ", profile.nodes)),
        "{line}"
    );
    assert!(!line.contains('\n'));
}
