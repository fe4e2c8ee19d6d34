//! What is no whole backup, and where nothing may be restored to: refused, with nothing left behind.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use super::{back_up, restore};
use crate::harness::world::log;
use crate::harness::{Client, PROJECT, Ran, World, phrase};

/// Exit statuses: a refusal, wrong usage, a bad configuration.
const REFUSED: i32 = 1;
const USAGE: i32 = 2;
const CONFIG: i32 = 78;

/// Everything below a folder, by name: the bytes of files.
fn all_below(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.to_str().unwrap().to_owned();
        if path.is_dir() {
            found.extend(all_below(&path));
            found.insert(name, Vec::new());
        } else {
            found.insert(name, fs::read(&path).unwrap());
        }
    }
    found
}

async fn with_some_records() -> World {
    let world = World::start().await;
    let (admin, task) = (world.admin(), world.task().await);
    for _ in 0..20 {
        log(&admin, &task, &phrase()).await;
    }
    world
}

#[track_caller]
fn refused(ran: &Ran, status: i32, why: &str) {
    ran.ended(status);
    assert!(ran.stderr.contains(why), "{ran:#?}");
    assert!(ran.stdout.is_empty(), "{ran:#?}");
}

#[tokio::test]
async fn a_backup_that_is_cut_flipped_foreign_or_newer_leaves_nothing_behind() {
    let world = with_some_records().await;
    let (file, _) = back_up(&world, "one.backup");
    let whole = fs::read(&file).unwrap();
    let bad = world.folder().join("bad.backup");
    let try_it = |bytes: &[u8], status, why: &str| {
        fs::write(&bad, bytes).unwrap();
        let (data, ran) = restore(&world, &bad, "never", &[]);
        refused(&ran, status, why);
        assert!(!data.exists(), "{} was left", data.display());
    };
    for at in [0, 15, 19, 30, whole.len() / 2, whole.len() - 1] {
        try_it(&whole[..at], REFUSED, "cut off");
    }
    for at in [21, 60, whole.len() / 2, whole.len() - 1] {
        let mut flipped = whole.clone();
        flipped[at] ^= 0x10;
        try_it(&flipped, REFUSED, "damaged");
    }
    try_it(
        &[whole.as_slice(), b"more"].concat(),
        REFUSED,
        "behind the end",
    );
    try_it(b"PK and so on, and on, and on", REFUSED, "no backup");
    let mut newer = whole.clone();
    newer[19] = 9;
    try_it(&newer, CONFIG, "format 9");
}

#[tokio::test]
async fn only_an_empty_directory_takes_a_backup() {
    let world = with_some_records().await;
    let (file, _) = back_up(&world, "one.backup");
    for (name, entry) in [("with-data", "store"), ("with-a-file", "notes.txt")] {
        let data = world.folder().join(name);
        fs::create_dir(&data).unwrap();
        fs::create_dir(data.join("folder")).unwrap();
        fs::write(data.join(entry), "mine").unwrap();
        let before = all_below(&data);
        let (_, ran) = restore(&world, &file, name, &[]);
        refused(&ran, CONFIG, "not empty");
        assert_eq!(all_below(&data), before);
    }
    // The directory that a server has is not empty either.
    let (_, ran) = restore(&world, &file, "data", &[]);
    refused(&ran, CONFIG, "not empty");
    // One that is there and empty will do, also with what a killed restore left.
    let empty = world.folder().join("empty");
    fs::create_dir_all(empty.join("store.restoring/fjall")).unwrap();
    fs::write(empty.join("store.restoring/FORMAT"), "half").unwrap();
    let (_, ran) = restore(&world, &file, "empty", &[]);
    ran.json();
    assert!(!empty.join("store.restoring").exists() && !empty.join("node.lock").exists());
}

#[tokio::test]
async fn a_moment_that_there_was_not_is_refused() {
    let world = with_some_records().await;
    let (file, _) = back_up(&world, "one.backup");
    for (more, why) in [
        (["--to-event", "org/nobody#1"], "none of that scope"),
        (
            ["--to-event", "org/acme/project/api#100000"],
            "no event 100000",
        ),
        (["--to-time", "2001-01-01T00:00:00Z"], "whole by then"),
        (["--to-time", "yesterday"], "2026-11-22T10:00:00Z"),
        (["--to-event", "org/acme"], "SCOPE#NUMBER"),
    ] {
        let (data, ran) = restore(&world, &file, "never", &more);
        refused(&ran, USAGE, why);
        assert!(!data.exists());
    }
}

#[tokio::test]
async fn a_full_disk_leaves_nothing_behind() {
    let world = with_some_records().await;
    let (file, _) = back_up(&world, "one.backup");
    // No file of the process may grow beyond 8 blocks of 512 bytes.
    let data = world.folder().join("small");
    let script = "ulimit -f 8; trap '' XFSZ; exec \"$@\"";
    let words = [
        "-c",
        script,
        "sh",
        crate::harness::binary::path().to_str().unwrap(),
        "restore",
        file.to_str().unwrap(),
        "--data",
        data.to_str().unwrap(),
    ]
    .map(str::to_owned);
    let mut shell = std::process::Command::new("sh");
    shell.args(words);
    let ran = crate::harness::Invocation::of(shell, &world.folder().join("home")).run();
    assert!(!matches!(ran.status, Some(0) | None), "{ran:#?}");
    assert!(!data.exists(), "{ran:#?}");
}

#[tokio::test]
async fn a_file_that_is_there_is_kept_and_a_backup_is_its_owners_alone() {
    let world = with_some_records().await;
    let file = world.folder().join("one.backup");
    fs::write(&file, "mine").unwrap();
    let path = file.to_str().unwrap();
    refused(&world.run(&["backup", path]), USAGE, "--force");
    assert_eq!(fs::read(&file).unwrap(), b"mine");
    world.run(&["backup", path, "--force", "--json"]).json();
    assert_eq!(
        fs::metadata(&file).unwrap().permissions().mode() & 0o777,
        0o600
    );
    // The operator's secrets lie beside the store, and not in what is backed up.
    let token = fs::read_to_string(world.data().join("admin.token")).unwrap();
    let (_, again) = back_up(&world, "two.backup");
    assert!(again["events"].as_u64() > Some(20));
    let held = fs::read(world.folder().join("two.backup")).unwrap();
    let secret = token.trim().as_bytes();
    assert!(!held.windows(secret.len()).any(|bytes| bytes == secret));
    let refused_elsewhere = world.folder().join("no/such/folder/one.backup");
    world
        .run(&["backup", refused_elsewhere.to_str().unwrap()])
        .ended(REFUSED);
}

#[tokio::test]
async fn only_who_covers_everything_takes_a_backup() {
    let world = with_some_records().await;
    let human = world
        .principal(sillok_core::principal::PrincipalKind::Human, PROJECT)
        .await;
    human.get("/v1/backup", &[]).await.refused(403, "forbidden");
    let nobody = Client::new(world.server().base(), None);
    nobody
        .get("/v1/backup", &[])
        .await
        .refused(401, "unauthenticated");
}
