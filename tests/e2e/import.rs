//! Importing recorded runs: again, after it was cut off, and by somebody else.

use sillok_core::principal::PrincipalKind;

use crate::harness::{Ran, WORKTREE, World, write_runs};

/// Imports every run in a folder, by name.
fn import(world: &World, token: &str) -> Ran {
    let folder = world.folder().join("runs");
    let listed = std::fs::read_dir(&folder).expect("the folder is there");
    let mut files: Vec<String> = listed
        .map(|file| file.unwrap().path().to_str().expect("UTF-8").to_owned())
        .collect();
    files.sort();
    let mut words = vec!["import", "trajectory", "--json", "--scope", WORKTREE];
    words.extend(["--token", token]);
    words.extend(files.iter().map(String::as_str));
    world.run(&words)
}

async fn world_with_runs() -> World {
    let world = World::start().await;
    let folder = world.folder().join("runs");
    std::fs::create_dir(&folder).expect("the folder is new");
    write_runs(&folder);
    world
}

#[tokio::test]
async fn an_import_that_is_run_again_brings_in_nothing_twice() {
    let world = world_with_runs().await;
    let admin = world.admin();
    let first = import(&world, admin.token()).json();
    let records = async || {
        let mut records = Vec::new();
        for task in first["tasks"].as_array().expect("five tasks") {
            let task = task["task"].as_str().expect("a task has a name");
            records.push(admin.all("/v1/records", task).await);
        }
        records
    };
    let before = records().await;
    let count: usize = before.iter().map(Vec::len).sum();
    assert_eq!(before.len(), 5);
    assert_eq!(first["records"], count);
    let again = import(&world, admin.token()).json();
    assert_eq!(again, first, "the answers are those of then");
    assert_eq!(records().await, before);
}

#[tokio::test]
async fn an_import_that_was_cut_off_is_taken_up_again() {
    let world = world_with_runs().await;
    let admin = world.admin();
    let mut whole = import(&world, admin.token()).json();
    // Another worktree, where the task was opened and nothing more came to pass.
    let elsewhere = "org/acme/project/api/worktree/other";
    let task = whole["tasks"].as_array_mut().expect("five tasks").remove(0);
    let name = task["task"].as_str().expect("a task has a name");
    let name = name.rsplit('/').next().expect("a name has an end");
    let scope = format!("{elsewhere}/task/{name}");
    let (run, _) = name.rsplit_once('-').expect("a name ends in a digest");
    let file = world.folder().join("runs").join(format!("{run}.traj"));
    let of_task = [("scope", task["task"].as_str().unwrap())];
    let opened = admin.get("/v1/task", &of_task).await.ok();
    let open = serde_json::json!({
        "scope": scope, "title": opened["title"], "description": opened["description"],
    });
    admin.post("/v1/tasks", &open).await.ok();
    let words = ["import", "trajectory", "--json", "--scope", elsewhere];
    let mut words = words.to_vec();
    words.push(file.to_str().expect("UTF-8"));
    let resume = || world.run(&words).json();
    let resumed = resume();
    assert_eq!(resumed["tasks"][0]["task"], scope.as_str());
    assert_eq!(resume(), resumed);
    let records = admin.all("/v1/records", &scope).await;
    assert_eq!(resumed["records"], records.len());
}

#[tokio::test]
async fn a_task_that_somebody_else_imported_is_a_conflict() {
    let world = world_with_runs().await;
    import(&world, world.admin().token()).ended(0);
    let other = world.principal(PrincipalKind::Agent, WORKTREE).await;
    let ran = import(&world, other.token());
    ran.ended(1);
    assert!(ran.stderr.contains("conflict"), "{}", ran.stderr);
}
