//! Rendering overlays with the kustomize that is part of kubectl.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::manifest::{Manifests, Unreadable};

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

/// What kustomize makes of an overlay, as text.
///
/// # Errors
/// [`Error::Io`] and [`Error::Refused`].
pub fn render_text(overlay: &Path) -> Result<String, Error> {
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

/// What kustomize makes of an overlay.
///
/// # Errors
/// [`Error`]
pub fn render(overlay: &Path) -> Result<Manifests, Error> {
    Ok(Manifests::parse(&render_text(overlay)?)?)
}
