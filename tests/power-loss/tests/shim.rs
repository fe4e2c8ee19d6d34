//! The shim in a process of its own: this very test, started again with the shim loaded.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]
#![expect(clippy::unwrap_used, reason = "all of it is a test")]

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Duration;

use sillok_power_loss::{Disk, Power, library};
use tempfile::TempDir;

/// Names what the started test is to do; without it, it does nothing.
const SCENE: &str = "POWER_LOSS_SCENE";

/// What happens in the process that is to lose its power.
#[test]
fn scene() {
    let Ok(scene) = std::env::var(SCENE) else {
        return;
    };
    let data = PathBuf::from(std::env::var(sillok_power_loss::DATA).unwrap());
    match scene.as_str() {
        "files" => files(&data),
        "threads" => threads(&data),
        "folder" => {
            fs::create_dir(data.join("a")).unwrap();
            fs::rename(data.join("a"), data.join("b")).unwrap();
        }
        "link" => std::os::unix::fs::symlink("a", data.join("b")).unwrap(),
        other => panic!("there is no scene {other}"),
    }
}

fn files(data: &Path) {
    let sync = |name: &str| File::open(data.join(name)).unwrap().sync_all().unwrap();
    fs::write(data.join("safe"), "safe").unwrap();
    sync("safe");
    fs::write(data.join("current"), "old").unwrap();
    sync("current");
    sync("");
    // From here on nothing is synced, save the tail of one file.
    let file = OpenOptions::new()
        .append(true)
        .open(data.join("safe"))
        .unwrap();
    (&file).write_all(b" and sound").unwrap();
    file.sync_data().unwrap();
    (&file).write_all(b" and lost").unwrap();
    let whole = OpenOptions::new()
        .write(true)
        .open(data.join("safe"))
        .unwrap();
    whole.write_all_at(b"SAFE", 0).unwrap();
    whole.set_len(2).unwrap();
    fs::write(data.join("draft"), "new").unwrap();
    fs::rename(data.join("draft"), data.join("current")).unwrap();
    fs::create_dir_all(data.join("deep/er")).unwrap();
    // A call that the kernel could carry out without anybody seeing the bytes.
    fs::copy(data.join("current"), data.join("deep/er/copy")).unwrap();
    assert_eq!(fs::read(data.join("deep/er/copy")).unwrap(), b"new");
}

/// Several threads write and sync at once: each knows what of its own is safe.
fn threads(data: &Path) {
    std::thread::scope(|scope| {
        for number in 0..4 {
            scope.spawn(move || {
                let mut file = File::create(data.join(format!("f{number}"))).unwrap();
                for round in 0..50u8 {
                    file.write_all(&[round; 100]).unwrap();
                    file.sync_data().unwrap();
                }
                file.write_all(&[99; 1_000]).unwrap();
            });
        }
    });
}

struct Stage {
    _folder: TempDir,
    power: Power,
    data: PathBuf,
}

fn play(scene: &str, disk: Disk) -> (Stage, Output) {
    let folder = TempDir::new().unwrap();
    let data = folder.path().join("data");
    let record = folder.path().join("record");
    let power = Power::new(&data, &record, disk, Duration::from_micros(200)).unwrap();
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["scene", "--exact", "--nocapture"])
        .env(
            "LD_PRELOAD",
            library().expect("the shim lies beside this test"),
        )
        .env(SCENE, scene)
        .envs(power.environment())
        .output()
        .unwrap();
    let stage = Stage {
        data: data.canonicalize().unwrap(),
        power,
        _folder: folder,
    };
    (stage, output)
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn what_was_synced_is_left_and_nothing_else() {
    let (stage, output) = play("files", Disk::Honest);
    assert!(output.status.success(), "{}", said(&output));
    assert_eq!(fs::read(stage.data.join("current")).unwrap(), b"new");
    let lost = stage.power.lose(&mut || 0).unwrap();
    assert_eq!(
        fs::read(stage.data.join("safe")).unwrap(),
        b"safe and sound"
    );
    assert_eq!(fs::read(stage.data.join("current")).unwrap(), b"old");
    assert!(!stage.data.join("draft").exists() && !stage.data.join("deep").exists());
    assert!(
        lost.files_changed >= 2 && lost.namings_undone >= 3,
        "{lost:?}"
    );
}

#[test]
fn a_disk_that_lies_keeps_nothing() {
    let (stage, output) = play("files", Disk::Lying);
    assert!(output.status.success(), "{}", said(&output));
    stage.power.lose(&mut || 0).unwrap();
    assert_eq!(fs::read_dir(&stage.data).unwrap().count(), 0);
}

#[test]
fn threads_that_sync_at_once_lose_only_what_they_did_not_sync() {
    let (stage, output) = play("threads", Disk::Honest);
    assert!(output.status.success(), "{}", said(&output));
    stage.power.lose(&mut || 0).unwrap();
    for number in 0..4 {
        let left = fs::read(stage.data.join(format!("f{number}"))).unwrap();
        let expected: Vec<u8> = (0..50).flat_map(|round| [round; 100]).collect();
        assert!(left == expected, "file {number} has {} bytes", left.len());
    }
}

#[test]
fn what_cannot_be_taken_back_ends_the_process() {
    for (scene, why) in [
        ("folder", "a folder is renamed"),
        ("link", "cannot be undone"),
    ] {
        let (_stage, output) = play(scene, Disk::Honest);
        assert_eq!(output.status.code(), None, "a signal ended it");
        assert!(said(&output).contains(why), "{}", said(&output));
    }
}
