//! Where a configuration comes from: which layer wins, and what is said of it.

use std::path::Path;

use super::commands::text;
use crate::harness::Invocation;

#[tokio::test]
async fn a_later_layer_of_the_configuration_wins_and_the_origin_says_which() {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path().join("home");
    let file = folder.path().join("c.toml");
    std::fs::write(
        &file,
        "[server]\nprincipal_burst = 7\n[jobs]\nworkers = 3\n",
    )
    .unwrap();
    let shown = |with_environment: bool| {
        let mut command =
            Invocation::new(&home, ["config", "show", "--origin", "--json", "--config"]).arg(&file);
        if with_environment {
            command = command.env("SILLOK__JOBS__WORKERS", "4");
        }
        command.arg("--data").arg(path(folder.path())).run().json()
    };
    let (plain, over) = (shown(false), shown(true));
    assert_eq!(
        (
            &plain["jobs.workers"]["value"],
            &over["jobs.workers"]["value"]
        ),
        (&3.into(), &4.into())
    );
    assert!(text(&plain["jobs.workers"]["origin"]).contains("c.toml"));
    assert!(text(&over["jobs.workers"]["origin"]).contains("SILLOK__JOBS__WORKERS"));
    assert_eq!(
        (
            &over["server.principal_burst"]["value"],
            &over["server.data"]["origin"]
        ),
        (&7.into(), &"flag".into())
    );
}

#[test]
fn a_data_directory_that_the_environment_names_is_said_to_come_from_there() {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path().join("home");
    let command = Invocation::new(&home, ["config", "show", "--origin", "--json"]);
    let shown = command.env("SILLOK_DATA", path(folder.path())).run().json();
    let data = &shown["server.data"];
    assert_eq!(data["value"], path(folder.path()).as_str());
    assert_eq!(data["origin"], "environment SILLOK_DATA");
}

fn path(folder: &Path) -> String {
    folder
        .join("data")
        .to_str()
        .expect("it is UTF-8")
        .to_owned()
}
