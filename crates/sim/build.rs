//! Tells the simulation which commit it is built from, so that a replay can say that another one
//! made it. It must not make a build fail: without git the commit is unknown.

use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    let sources = sources();
    let commit = match git(&["rev-parse", "HEAD"]) {
        None => "unknown".to_owned(),
        Some(commit) if is_changed(&sources) => commit + "-dirty",
        Some(commit) => commit,
    };
    println!("cargo::rustc-env=SILLOK_SIM_COMMIT={commit}");
    // Where HEAD points, and everything that moves when it does. A worktree has a HEAD of its own
    // and its branches elsewhere, which git knows.
    let branch = git(&["rev-parse", "--symbolic-full-name", "HEAD"]);
    let moves = ["HEAD", "logs/HEAD", "packed-refs"]
        .into_iter()
        .chain(branch.as_deref());
    let moves = moves.filter_map(|name| git(&["rev-parse", "--git-path", name]));
    for path in moves.map(PathBuf::from).chain(sources) {
        // A path that is missing would rebuild every time.
        if path.exists() {
            println!("cargo::rerun-if-changed={}", path.display());
        }
    }
}

/// All that decides what a seed does: the sources and manifests of this crate and of those of the
/// workspace that it is built with, and the versions of all others.
fn sources() -> Vec<PathBuf> {
    let manifest = std::fs::read_to_string("Cargo.toml").unwrap_or_default();
    let names = manifest.lines().filter_map(|line| {
        let (name, _) = line.strip_prefix("sillok-")?.split_once(".workspace")?;
        Some(name)
    });
    let mut sources: Vec<PathBuf> = ["../../Cargo.toml", "../../Cargo.lock", "build.rs"]
        .map(PathBuf::from)
        .into();
    for name in names.chain(["sim"]) {
        let folder = Path::new("..").join(name);
        sources.extend([folder.join("src"), folder.join("Cargo.toml")]);
    }
    sources
}

/// Whether git knows of a change of `paths` that is in no commit.
fn is_changed(paths: &[PathBuf]) -> bool {
    let paths = paths.iter().filter_map(|path| path.to_str());
    let status = ["--no-optional-locks", "status", "--porcelain", "--"];
    git(&status.into_iter().chain(paths).collect::<Vec<_>>()).is_some()
}

/// What git says, if it is there, has something to say, and the tree is one of its own.
fn git(args: &[&str]) -> Option<String> {
    let output = Command::new("git").args(args).output().ok()?;
    let said = String::from_utf8(output.stdout).ok()?;
    let said = said.trim();
    (output.status.success() && !said.is_empty()).then(|| said.to_owned())
}
