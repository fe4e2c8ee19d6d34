//! The command: what it refuses, and that what it prints and writes can be used again.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::{Value, json};
use sillok_sim::Plan;
use sillok_sim::replay::{Replay, is_same_code};

/// A folder of this test's own.
fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    if folder.exists() {
        std::fs::remove_dir_all(&folder).expect("the folder is this test's own");
    }
    std::fs::create_dir_all(&folder).expect("cargo gives a folder to tests");
    folder
}

fn command(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sillok-sim"));
    command.args(args).env_remove("SILLOK_SIM_SEED");
    command
}

fn told(output: &Output) -> (i32, String, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let code = output.status.code().expect("it was not killed");
    (code, text(&output.stdout), text(&output.stderr))
}

fn run(args: &[&str]) -> (i32, String, String) {
    told(&command(args).output().expect("the binary was built"))
}

fn parsed(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// A saved plan that takes no time.
fn small(folder: &Path) -> (PathBuf, Replay) {
    let mut plan = Plan::draw(11);
    plan.profile.faults.truncate(2);
    plan.operations.retain(|operation| operation.agent == 0);
    plan.operations.truncate(20);
    let saved = Replay {
        commit: "0123456789abcdef".into(),
        protocol: "correct".into(),
        why: None,
        plan,
        violation: None,
        digest: None,
    };
    let path = folder.join("small.json");
    std::fs::write(&path, saved.write()).expect("the folder is this test's own");
    (path, saved)
}

/// What is wrong is said with the word that names it, and ends the command with 2.
fn refused(args: &[&str], says: &str) {
    let (code, stdout, stderr) = run(args);
    assert_eq!((code, stdout.as_str()), (2, ""), "{args:?}: {stderr}");
    assert!(stderr.contains(says), "{args:?}: {stderr}");
}

#[test]
fn what_cannot_be_done_is_refused_with_its_name() {
    let folder = folder("refused");
    let (path, saved) = small(&folder);
    let file = path.to_str().unwrap();
    refused(&["run", "--seeds", "9..3"], "--seeds");
    refused(&["run", "--seeds", "many"], "\"many\" is no seed");
    refused(&["run", "--time", "soon"], "--time");
    refused(&["run", "--profile", "/nowhere.json"], "/nowhere.json: ");
    refused(&["run", "--bank", "/nowhere"], "/nowhere: ");
    refused(
        &["run", "--seeds", "1", "--out", &format!("{file}/in")],
        "--out",
    );
    refused(&["replay"], "FILE");
    refused(&["replay", "/nowhere.json"], "/nowhere.json: ");
    refused(
        &["replay", "--seed", "1", "--bug", "wishes"],
        "--bug: no planted bug",
    );
    refused(&["planted", "--only", "wishes"], "--only: no planted bug");
    refused(&["shrink", "/nowhere.json"], "/nowhere.json: ");
    refused(&["frobnicate"], "frobnicate");
    for (from, to, says) in [
        (
            "\"format\": 1",
            "\"format\": 9",
            "format: version 9 is unknown",
        ),
        (
            "\"correct\"",
            "\"wishful\"",
            "protocol: neither \"correct\" nor",
        ),
        ("\"nodes\": ", "\"knots\": ", "profile.nodes: it is missing"),
        ("\"operations\": [", "\"operations\": ", "not JSON: "),
        (
            "\"seed\": ",
            "\"seet\": 1, \"seed\": ",
            "seet: unknown field",
        ),
        (
            "{\"agent\":",
            "{\"kind\":1,\"agent\":",
            "operations[0].kind: unknown field",
        ),
    ] {
        let spoilt = folder.join("spoilt.json");
        std::fs::write(&spoilt, saved.write().replacen(from, to, 1)).unwrap();
        let spoilt = spoilt.to_str().unwrap();
        refused(&["replay", spoilt], &format!("spoilt.json: {says}"));
    }
    let mut far = saved.clone();
    far.plan.operations[3].agent = 900;
    std::fs::write(&path, far.write()).unwrap();
    let why = "small.json: operations[3].agent: 900 is not from 0 to 63";
    for args in [["replay", file], ["shrink", file]] {
        refused(&args, why);
    }
    let bank = folder.to_str().unwrap();
    refused(&["run", "--bank", bank], why);
    far.plan.profile.nodes = 400;
    std::fs::write(&path, far.write()).unwrap();
    let why = "small.json: profile.nodes: 400 is not from 2 to 64";
    refused(&["run", "--profile", file], why);
}

#[test]
fn what_asks_for_nothing_or_for_two_things_at_once_is_refused() {
    let last = u64::MAX.to_string();
    refused(&["run", "--seeds", &last], "behind the last of all seeds");
    refused(&["run", "--time", "0s"], "--time");
    for jobs in ["0", "257", "1000000"] {
        refused(&["run", "--jobs", jobs], "--jobs");
        refused(&["planted", "--jobs", jobs], "--jobs");
    }
    refused(&["run", "--bank", "/nowhere", "--seeds", "1"], "--seeds");
    refused(&["shrink", "--seed", "1", "--runs", "0"], "--runs");
    let backwards = ["replay", "--seed", "1", "--from", "9", "--until", "3"];
    refused(&backwards, "--from 9 lies behind --until 3");
}

#[test]
fn a_saved_plan_is_replayed_and_says_which_commit_made_it() {
    let folder = folder("replayed");
    let (path, mut saved) = small(&folder);
    let file = path.to_str().unwrap();
    let (code, stdout, stderr) = run(&["replay", file, "--json"]);
    assert_eq!(code, 0, "{stderr}");
    assert!(stderr.contains("was made by commit 0123456789abcdef; this is "));
    let first = parsed(&stdout);
    assert_eq!(first["verdict"], json!("same invariant"));
    saved.digest = Some(first["digest"].as_str().unwrap().to_owned());
    saved.commit = first["commit"].as_str().unwrap().to_owned();
    std::fs::write(&path, saved.write()).unwrap();
    let (code, stdout, stderr) = run(&["replay", file, "--until", "40", "--from", "31"]);
    assert_eq!(code, 0, "{stderr}");
    // Only a build of a whole commit is known to be the same one.
    let is_told = !is_same_code(&saved.commit, &saved.commit);
    assert_eq!(stderr.contains("was made by commit "), is_told, "{stderr}");
    assert!(stdout.contains("\nreproduced: "), "{stdout}");
    let lines: Vec<&str> = stdout.lines().collect();
    assert_eq!(
        lines.iter().filter(|line| line.contains(" node-")).count(),
        10
    );
    // What is planned is said before it is run.
    assert!(lines[0].starts_with("seed 11: {\"nodes\":"), "{}", lines[0]);
    assert!(lines[1].contains(" nodes, 2 faults: ") && lines[1].contains("; 20 operations of 1 "));
    assert!(lines[2].starts_with("     31 "), "{}", lines[2]);
    // There is nothing to make smaller where all holds.
    let (code, _, stderr) = run(&["shrink", file]);
    assert_eq!(code, 2);
    assert!(stderr.contains("every invariant held"), "{stderr}");
}

#[test]
fn the_printed_line_and_the_written_file_reproduce_a_planted_bug() {
    let folder = folder("planted");
    let out = folder.to_str().unwrap();
    let name = "batch that drops its last command";
    let args = [
        "planted", "--only", name, "--jobs", "2", "--json", "--out", out,
    ];
    let (code, stdout, stderr) = run(&args);
    assert_eq!(code, 0, "{stderr}");
    let bug = &parsed(&stdout)["bugs"][0];
    assert_eq!((&bug["name"], &bug["caught"]), (&json!(name), &json!(true)));
    assert!(bug["median_seeds"].as_u64() <= bug["max_seeds"].as_u64());
    let seed = bug["seed"].as_u64().unwrap().to_string();
    let line = bug["replay"].as_str().unwrap();
    assert!(line.starts_with(&format!(
        "sillok-sim replay --seed {seed} --bug '{name}' # "
    )));
    let file = folder.join("sillok-sim-batch-that-drops-its-last-command.json");
    let file = file.to_str().unwrap();
    let by_line = run(&["replay", "--seed", &seed, "--bug", name, "--json"]);
    let by_file = run(&["replay", file, "--json"]);
    assert_eq!((by_line.0, by_file.0), (1, 1));
    let (by_line, by_file) = (parsed(&by_line.1), parsed(&by_file.1));
    assert_eq!(by_line["violation"]["invariant"], bug["invariant"]);
    assert_eq!(by_line["digest"], by_file["digest"]);
    assert_eq!(by_file["verdict"], json!("reproduced"));
    let smaller = folder.join("smaller.json");
    let args = [
        "shrink",
        file,
        "--runs",
        "20",
        "--json",
        "--out",
        smaller.to_str().unwrap(),
    ];
    let (code, stdout, stderr) = run(&args);
    assert_eq!(code, 0, "{stderr}");
    let shrunk = parsed(&stdout);
    let size = |which: &str| shrunk[which]["operations"].as_u64().unwrap();
    assert!(size("after") * 2 < size("before"), "{shrunk}");
    let (code, stdout, _) = run(&["replay", smaller.to_str().unwrap()]);
    assert_eq!(code, 1);
    assert!(stdout.contains("\nreproduced: "), "{stdout}");
}

#[test]
fn the_seed_comes_from_the_environment_and_the_faults_from_a_file() {
    let folder = folder("environment");
    let (path, saved) = small(&folder);
    let out = folder.to_str().unwrap();
    let seed = |args: &[&str]| {
        let mut command = command(args);
        let (code, stdout, stderr) = told(&command.env("SILLOK_SIM_SEED", "7").output().unwrap());
        assert_eq!(code, 0, "{stderr}");
        parsed(&stdout)
    };
    let drawn = seed(&["run", "--json", "--out", out]);
    assert_eq!(drawn["seeds"], json!(1));
    let named = parsed(&run(&["run", "--seeds", "7", "--json", "--out", out]).1);
    assert_eq!(drawn["digest"], named["digest"]);
    for counted in [
        "default_worlds",
        "default_worlds_per_hour",
        "seeds_per_hour",
    ] {
        assert!(named[counted].is_number(), "{counted}: {named}");
    }
    // A single seed says what it is before it is run.
    let text = run(&["run", "--seeds", "7", "--out", out]).1;
    assert!(text.starts_with("seed 7: {\"nodes\":"), "{text}");
    // What is named stands above the environment.
    let other = seed(&["run", "--seeds", "8", "--json", "--out", out]);
    assert_ne!(drawn["digest"], other["digest"]);
    let profile = serde_json::to_string(&saved.plan.profile).unwrap();
    std::fs::write(&path, profile).unwrap();
    let given = seed(&[
        "run",
        "--profile",
        path.to_str().unwrap(),
        "--json",
        "--out",
        out,
    ]);
    assert_ne!(drawn["digest"], given["digest"]);
}
