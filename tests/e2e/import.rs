//! Importing recorded work: again, after it was cut off, and by somebody else.

use serde_json::json;
use sillok_core::principal::PrincipalKind;

use crate::harness::{Ran, WORKTREE, World, write_runs};

mod sessions;

/// Imports every run in a folder.
fn import(world: &World, token: &str) -> Ran {
    let folder = world.folder().join("runs");
    let folder = folder.to_str().expect("UTF-8");
    world.run(&[
        "import", "--json", "--into", WORKTREE, "--token", token, folder,
    ])
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
    assert_eq!(
        (&first["imported"], &first["already_there"]),
        (&json!(count), &json!(0))
    );
    let again = import(&world, admin.token()).json();
    assert_eq!(
        (&again["imported"], &again["already_there"]),
        (&json!(0), &json!(count))
    );
    assert_eq!(again["records"], first["records"]);
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
    let open = json!({
        "scope": scope, "title": opened["title"], "description": opened["description"],
    });
    admin.post("/v1/tasks", &open).await.ok();
    let file = file.to_str().expect("UTF-8");
    let words = ["import", "--json", "--into", elsewhere, file];
    let resumed = world.run(&words).json();
    assert_eq!(resumed["tasks"][0]["task"], scope.as_str());
    let records = admin.all("/v1/records", &scope).await;
    assert_eq!(resumed["imported"], records.len());
    let again = world.run(&words).json();
    assert_eq!(
        (&again["imported"], &again["records"]),
        (&json!(0), &resumed["records"])
    );
    assert_eq!(admin.all("/v1/records", &scope).await, records);
}

#[tokio::test]
async fn a_task_that_somebody_else_imported_is_a_conflict() {
    let world = world_with_runs().await;
    import(&world, world.admin().token()).ended(0);
    let other = world.principal(PrincipalKind::Agent, WORKTREE).await;
    let answer = import(&world, other.token()).json_with(1);
    let left_out = answer["left_out"].as_array().expect("a list");
    assert_eq!(left_out.len(), 5);
    let why = left_out.iter().filter_map(|one| one["why"].as_str());
    assert_eq!(
        why.filter(|why| why.contains("conflict")).count(),
        5,
        "{answer}"
    );
}
