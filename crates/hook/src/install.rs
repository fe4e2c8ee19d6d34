//! Installing: what stands in a client's configuration so that it runs hooks and knows the memory's tools.
//!
//! Owns which files of which client, and what is put into them. A file is changed at the places that are Sillok's, and
//! otherwise stays as it is, byte for byte: what installing put in, removing takes out again. A file that cannot be
//! understood is refused, and then none is changed.

pub mod entries;
pub mod files;
pub mod json;
pub mod made;
pub mod section;

#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use crate::client::Client;

pub use entries::Programs;
pub use files::{Part, Where};

/// Why nothing is changed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file cannot be read or written.
    #[error("{} cannot be {doing}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Read or written.
        doing: &'static str,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// A file is not in the form that its client reads.
    #[error("{} is left as it is, and so is every other file: {why}", path.display())]
    Form {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// There is nowhere to install to.
    #[error("{0}")]
    Nowhere(&'static str),
}

/// What is to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doing {
    /// Put it in.
    Install,
    /// Take it out.
    Uninstall,
}

/// A file, before and after.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The file.
    pub path: PathBuf,
    /// What stands in it; nothing where there is no such file.
    pub before: Option<String>,
    /// What is to stand in it; nothing where there is to be no such file.
    pub after: Option<String>,
    /// What a person is told of it.
    pub said: Vec<String>,
}

impl Change {
    /// Whether it changes anything.
    #[must_use]
    pub fn changes(&self) -> bool {
        self.before != self.after
    }

    /// It as lines that go and lines that come, for a person.
    #[must_use]
    pub fn shown(&self) -> Vec<String> {
        let lines = |text: &Option<String>| -> Vec<String> {
            let text = text.as_deref().unwrap_or_default();
            text.lines().map(str::to_owned).collect()
        };
        let (before, after) = (lines(&self.before), lines(&self.after));
        // All that is put in or taken out lies between what both begin with and what both end with.
        let same = before
            .iter()
            .zip(&after)
            .take_while(|(one, other)| one == other);
        let head = same.count();
        let rest = before.len().min(after.len()) - head;
        let tail = before.iter().rev().zip(after.iter().rev()).take(rest);
        let tail = tail.take_while(|(one, other)| one == other).count();
        let gone = before[head..before.len() - tail].iter();
        let come = after[head..after.len() - tail].iter();
        let gone = gone.map(|line| format!("- {line}"));
        gone.chain(come.map(|line| format!("+ {line}"))).collect()
    }
}

/// What installing or removing would change, of each file that it looks at.
///
/// # Errors
/// [`Error`], and then no file is to be changed.
pub fn plan(
    client: Client,
    place: &Where,
    programs: &Programs,
    doing: Doing,
) -> Result<Vec<Change>, Error> {
    let mut changes = Vec::new();
    for (part, path) in files::of(client, place) {
        let before = files::read(&path)?;
        let refused = |why: String| Error::Form {
            path: path.clone(),
            why,
        };
        let edited = match part {
            Part::Hooks => entries::hooks(client, before.as_deref(), programs, doing),
            Part::Servers => entries::servers(before.as_deref(), programs, doing),
            Part::Section => section::edited(before.as_deref(), programs, doing),
        };
        let made::Edited { after, said } = edited.map_err(refused)?;
        changes.push(Change {
            path,
            before,
            after,
            said,
        });
    }
    Ok(changes)
}

/// Carries changes out, each file whole or not at all.
///
/// # Errors
/// [`Error::File`]. Files before the one that it names are changed by then.
pub fn apply(changes: &[Change]) -> Result<(), Error> {
    for change in changes.iter().filter(|change| change.changes()) {
        files::write(&change.path, change.after.as_deref())?;
    }
    Ok(())
}

/// Where `sillok-hook` lies: beside the program that runs, where it is there.
#[must_use]
pub fn beside(program: &Path) -> Option<PathBuf> {
    let path = program.parent()?.join("sillok-hook");
    path.is_file().then_some(path)
}
