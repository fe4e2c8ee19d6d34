//! `install`

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use serde::Serialize;
use sillok_hook::client::Client;
use sillok_hook::install::{self, Change, Doing, Programs, Where};

use crate::args::{Install, InstallScope};
use crate::failure::Failure;
use crate::output::{Output, Style};

/// A file and what became of it, as JSON.
#[derive(Serialize)]
struct Changed<'a> {
    file: &'a Path,
    changed: bool,
    lines: Vec<String>,
    said: &'a [String],
}

/// Carries out `install`.
///
/// # Errors
/// [`Failure`]
pub fn run(output: Output, args: &Install) -> Result<(), Failure> {
    let client = Client::from(args.client);
    let place = place(args, client)?;
    let doing = if args.uninstall {
        Doing::Uninstall
    } else {
        Doing::Install
    };
    let changes = install::plan(client, &place, &programs(args)?, doing).map_err(failed)?;
    if !args.dry_run {
        install::apply(&changes).map_err(failed)?;
    }
    let shown: Vec<Changed<'_>> = changes.iter().map(changed).collect();
    output.show(&shown, |style| described(style, &changes, args.dry_run))
}

fn place(args: &Install, client: Client) -> Result<Where, Failure> {
    match args.scope {
        InstallScope::User => {
            Where::of_user(client, &|name| std::env::var_os(name)).map_err(failed)
        }
        InstallScope::Project => {
            let here = std::env::current_dir();
            let here = here.map_err(Failure::io("the working directory cannot be read"))?;
            let root = crate::git::root(&here).unwrap_or(here);
            Ok(Where::Project { root })
        }
    }
}

/// The programs as a configuration names them: by their paths in one's own, by their names in one that others share.
fn programs(args: &Install) -> Result<Programs, Failure> {
    let own = std::env::current_exe();
    let own = own.map_err(Failure::io("this program's own path cannot be read"))?;
    let shared = args.scope == InstallScope::Project;
    let hook = match &args.hook {
        Some(path) => path.clone(),
        None if shared || args.uninstall => PathBuf::from("sillok-hook"),
        None => hook_beside(&own)?,
    };
    let sillok = if shared { Path::new("sillok") } else { &own };
    Ok(Programs {
        hook: text(hook.as_os_str())?,
        sillok: text(sillok.as_os_str())?,
        scope: args.within.as_ref().map(ToString::to_string),
    })
}

/// The hook's program beside this one.
///
/// # Errors
/// [`Failure::Usage`] when it is not there.
pub fn hook_beside(own: &Path) -> Result<PathBuf, Failure> {
    install::beside(own).ok_or_else(|| {
        let folder = own.parent().unwrap_or(own).display();
        Failure::Usage(format!(
            "there is no sillok-hook in {folder}: name it with --hook"
        ))
    })
}

fn text(path: &OsStr) -> Result<String, Failure> {
    let text = path.to_str().map(str::to_owned);
    text.ok_or_else(|| Failure::Usage(format!("{} is not UTF-8", path.display())))
}

fn failed(error: install::Error) -> Failure {
    match error {
        install::Error::File {
            path,
            doing,
            source,
        } => Failure::Io {
            what: format!("{} cannot be {doing}", path.display()),
            source,
        },
        other => Failure::Config(other.to_string()),
    }
}

fn changed(change: &Change) -> Changed<'_> {
    Changed {
        file: &change.path,
        changed: change.changes(),
        lines: change.shown(),
        said: &change.said,
    }
}

fn described(style: Style, changes: &[Change], dry_run: bool) -> String {
    let mut lines = Vec::new();
    for change in changes {
        let what = match (change.changes(), dry_run) {
            (false, _) => "stays as it is",
            (true, true) => "would be changed",
            (true, false) => "is changed",
        };
        lines.push(format!(
            "{} {what}",
            style.name(&change.path.display().to_string())
        ));
        lines.extend(change.shown().into_iter().map(|line| style.dim(&line)));
        lines.extend(change.said.iter().cloned());
    }
    lines.join("\n")
}
