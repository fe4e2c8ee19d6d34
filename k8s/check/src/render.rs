//! Rendering overlays with the kustomize that is part of kubectl.
//!
//! Owns which files of an overlay are read: what kustomize makes of it, and what it says to NATS' chart.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::foreign::NatsValues;
use crate::manifest::{Manifests, Unreadable};

/// What an overlay says to NATS' chart lies in this file.
const NATS_VALUES: &str = "nats-values.yaml";

/// Why an overlay was not rendered.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A folder or program is missing.
    #[error("{doing}")]
    Io {
        /// What was being done.
        doing: String,
        /// Why it failed.
        #[source]
        source: std::io::Error,
    },
    /// Kustomize refused the overlay.
    #[error("kubectl kustomize {}: {said}", overlay.display())]
    Refused {
        /// The overlay.
        overlay: PathBuf,
        /// What it said.
        said: String,
    },
    /// What it rendered is no manifest.
    #[error(transparent)]
    Unreadable(#[from] Unreadable),
}

/// The overlays in a folder: each of its folders, by name.
///
/// # Errors
/// [`Error::Io`]
pub fn overlays(folder: &Path) -> Result<Vec<PathBuf>, Error> {
    let failed = |source| Error::Io {
        doing: format!("reading {}", folder.display()),
        source,
    };
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if path.join("kustomization.yaml").is_file() {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

/// What an overlay says, as text.
#[derive(Debug, Clone)]
pub struct Texts {
    /// What kustomize makes of it.
    pub objects: String,
    /// What it says to NATS' chart.
    pub nats_values: Option<String>,
}

impl Texts {
    /// The texts of an overlay.
    ///
    /// # Errors
    /// [`Error::Io`] and [`Error::Refused`].
    pub fn of(overlay: &Path) -> Result<Self, Error> {
        let values = overlay.join(NATS_VALUES);
        let nats_values = values.is_file().then(|| std::fs::read_to_string(&values));
        let nats_values = nats_values.transpose().map_err(|source| Error::Io {
            doing: format!("reading {}", values.display()),
            source,
        })?;
        Ok(Self {
            objects: kustomize(overlay)?,
            nats_values,
        })
    }

    /// The same texts with something else in place of each occurrence of a text.
    #[must_use]
    pub fn replace(&self, from: &str, to: &str) -> Self {
        let values = self.nats_values.as_ref();
        Self {
            objects: self.objects.replace(from, to),
            nats_values: values.map(|values| values.replace(from, to)),
        }
    }

    /// What they say.
    ///
    /// # Errors
    /// [`Unreadable`]
    pub fn parse(&self) -> Result<Manifests, Unreadable> {
        let mut manifests = Manifests::parse(&self.objects)?;
        let values = self.nats_values.as_deref();
        manifests.nats = values.map(NatsValues::parse).transpose()?;
        Ok(manifests)
    }
}

fn kustomize(overlay: &Path) -> Result<String, Error> {
    let ran = Command::new("kubectl")
        .arg("kustomize")
        .arg(overlay)
        .output();
    let ran = ran.map_err(|source| Error::Io {
        doing: "running kubectl".to_owned(),
        source,
    })?;
    if !ran.status.success() {
        return Err(Error::Refused {
            overlay: overlay.to_owned(),
            said: String::from_utf8_lossy(&ran.stderr).trim().to_owned(),
        });
    }
    Ok(String::from_utf8_lossy(&ran.stdout).into_owned())
}

/// What an overlay says.
///
/// # Errors
/// [`Error`]
pub fn render(overlay: &Path) -> Result<Manifests, Error> {
    Ok(Texts::of(overlay)?.parse()?)
}
