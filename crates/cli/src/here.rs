//! Where a command is given: what the work tree around it is at.
//!
//! Owns that whatever is written says so by itself, and that a repository which cannot be read stops nobody from writing. How a
//! work tree is read is `sillok-binding`'s.

use std::path::{Path, PathBuf};

use sillok_binding::{Error, WorkTree};
use sillok_server::api::{Bound, Commit, Place};

use crate::output::{harmless, note};

/// What lies around a directory, as it was when it was looked at.
#[derive(Debug)]
pub struct Here(Option<WorkTree>);

impl Here {
    /// Looks around a directory. What stands in the way is noted once.
    #[must_use]
    pub fn look(dir: &Path) -> Self {
        Self::at(dir).unwrap_or_else(|error| {
            note(&untold(&error));
            Self(None)
        })
    }

    /// The same for those who note themselves what stands in the way.
    ///
    /// # Errors
    /// [`Error`]
    pub fn at(dir: &Path) -> Result<Self, Error> {
        Ok(Self(Some(WorkTree::around(dir)?)))
    }

    /// The same, where others must not wait for it.
    pub async fn looked(dir: PathBuf) -> Self {
        let looked = tokio::task::spawn_blocking(move || Self::look(&dir));
        // A panic in there is one of ours: nothing is known then.
        looked.await.unwrap_or(Self(None))
    }

    /// What a record is bound to that says this.
    #[must_use]
    pub fn bound(&mut self, said: &str) -> Option<Bound> {
        let tree = self.0.as_mut()?;
        Some(tree.bound(said).into())
    }

    /// What an entry is bound to that says this.
    #[must_use]
    pub fn bound_of_entry(&mut self, said: &str) -> Option<Bound> {
        let tree = self.0.as_mut()?;
        Some(tree.bound(said).of_entry().into())
    }

    /// What a verification is bound to that says what went wrong, and what was tried.
    #[must_use]
    pub fn bound_of_verification(
        &mut self,
        error: Option<&str>,
        approach: Option<&str>,
    ) -> Option<Bound> {
        let said: Vec<&str> = error.into_iter().chain(approach).collect();
        self.bound_of_entry(&said.join("\n"))
    }
}

/// What stands in the way of saying where something was said, and what follows, for a person.
#[must_use]
pub fn untold(error: &Error) -> String {
    let why = harmless(&error.to_string());
    format!("{why}: what is written is bound to nothing")
}

/// The commit that a binding names.
#[must_use]
pub fn commit(bound: &Bound) -> Option<Commit> {
    let place = bound.place.as_ref()?;
    Some(Commit {
        hash: place.commit.clone()?,
        repository: place.repository.clone(),
    })
}

/// A binding for a person: what the work tree was at, then its files.
#[must_use]
pub fn describe(bound: &Bound) -> Vec<String> {
    let mut lines = vec![match &bound.place {
        None => "bound to no repository".to_owned(),
        Some(place) => describe_place(place),
    }];
    lines.extend(bound.files.iter().map(|file| {
        let owner = file.repository.as_ref();
        let owner = owner.map_or_else(String::new, |owner| format!(" of {}", harmless(owner)));
        let path = harmless(&file.path);
        format!("  {path}{owner} ({})", short(&file.fingerprint))
    }));
    if bound.left_out > 0 {
        lines.push(format!("  and {} more files, not read", bound.left_out));
    }
    lines
}

fn describe_place(place: &Place) -> String {
    let commit = place.commit.as_deref().unwrap_or("no commit yet");
    let mut line = format!("bound to {commit} of {}", harmless(&place.repository));
    if let Some(branch) = &place.branch {
        line += &format!(", on {}", harmless(branch));
    }
    if !place.project.is_empty() {
        line += &format!(", in {}", harmless(&place.project));
    }
    line + &format!(", {}", place.state) + if place.shallow { ", shallow" } else { "" }
}

/// The beginning of a fingerprint, which is enough to tell two apart at a glance.
fn short(fingerprint: &str) -> &str {
    const CHARS: usize = 12;
    fingerprint.get(..CHARS).unwrap_or(fingerprint)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outside_of_any_repository_that_is_said() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("a.rs"), "a").unwrap();
        let bound = Here::look(folder.path()).bound("a.rs broke").unwrap();
        assert_eq!(commit(&bound), None);
        let lines = describe(&bound);
        assert_eq!(lines[0], "bound to no repository");
        assert!(lines[1].starts_with("  a.rs ("), "{lines:?}");
    }

    #[test]
    fn what_cannot_be_read_stops_nobody() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join(".git"), "nonsense").unwrap();
        assert_eq!(Here::look(folder.path()).bound("x"), None);
    }

    #[test]
    fn control_characters_of_names_reach_no_terminal() {
        let bound = Bound {
            place: Some(Place {
                repository: "r\u{1b}[2J".into(),
                project: String::new(),
                commit: None,
                branch: Some("b\u{7}".into()),
                state: sillok_core::bound::TreeState::Unknown,
                shallow: true,
            }),
            ..Bound::default()
        };
        let text = describe(&bound).join("\n");
        assert!(!text.contains(['\u{1b}', '\u{7}']), "{text:?}");
        assert!(text.contains("no commit yet") && text.ends_with("unknown, shallow"));
    }
}
