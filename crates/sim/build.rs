//! Tells the simulation which commit it is built from, so that a replay can say that another one
//! made it. It must not make a build fail: without git the commit is unknown.

use std::path::Path;
use std::process::Command;

fn main() {
    let commit = git(&["rev-parse", "HEAD"]).unwrap_or_else(|| "unknown".to_owned());
    println!("cargo::rustc-env=SILLOK_SIM_COMMIT={commit}");
    println!("cargo::rerun-if-changed=build.rs");
    // Where HEAD points, and everything that moves when it does. A worktree has a HEAD of its own
    // and its branches elsewhere, which git knows. A path that is missing would rebuild every time.
    let branch = git(&["rev-parse", "--symbolic-full-name", "HEAD"]);
    for name in ["HEAD", "logs/HEAD", "packed-refs"]
        .into_iter()
        .chain(branch.as_deref())
    {
        let path = git(&["rev-parse", "--git-path", name]);
        if let Some(path) = path.filter(|path| Path::new(path).is_file()) {
            println!("cargo::rerun-if-changed={path}");
        }
    }
}

/// What git says, if it is there and the tree is one of its own.
fn git(args: &[&str]) -> Option<String> {
    let output = Command::new("git").args(args).output().ok()?;
    let said = String::from_utf8(output.stdout).ok()?;
    let said = said.trim();
    (output.status.success() && !said.is_empty()).then(|| said.to_owned())
}
