//! Models by the name that they have at a hub: the copy on this machine, or one fetched now.
//!
//! Owns the names, the form of the cache, which is the one that the hub's own clients have, and the way to the hub.
//! A model is fetched once, at the commit that its revision named then, and nobody is asked again. It must not know
//! what the files say.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use reqwest::header::{AUTHORIZATION, LOCATION};
use reqwest::{Response, Url};
use serde::Deserialize;
use sillok_core::limits::{MODEL_BYTES_MAX, MODEL_TEXT_BYTES_MAX};
use tempfile::NamedTempFile;

use crate::line::{Far, Line};
use crate::secret::Secret;

/// Bytes of a name or a revision.
const NAME_BYTES_MAX: usize = 96;
/// Bytes of the hub's list of a model's files, and of the headers of any answer.
const LIST_BYTES_MAX: u64 = 8 << 20;
const HEAD_BYTES_MAX: u64 = 64 << 10;
/// Places that a request is sent on to.
const REDIRECTS_MAX: usize = 5;
/// How long one file may take, however steadily it comes.
const FILE_MAX: Duration = Duration::from_secs(3_600);
/// The file whose presence says that all others are there: it is written last.
const LAST: &str = "modules.json";
/// The files of a model that are read, wherever its modules have them.
const WANTED: [&str; 6] = [
    LAST,
    "config.json",
    "tokenizer.json",
    "sentence_bert_config.json",
    "config_sentence_transformers.json",
    WEIGHTS,
];
const WEIGHTS: &str = "model.safetensors";

/// A model's name at the hub: `name` or `owner/name`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Model<'a>(&'a str);

impl<'a> Model<'a> {
    /// The name in a text.
    ///
    /// # Errors
    /// What a name looks like.
    pub(crate) fn parse(text: &'a str) -> Result<Self, String> {
        let parts: Vec<&str> = text.split('/').collect();
        if parts.len() <= 2 && parts.iter().all(|part| is_plain(part)) {
            return Ok(Self(text));
        }
        Err(format!(
            "takes a name of the hub: owner/name, each up to {NAME_BYTES_MAX} letters, digits and -_."
        ))
    }

    /// The folder of a cache that is this model's.
    fn folder(self) -> String {
        format!("models--{}", self.0.replace('/', "--"))
    }
}

/// A commit, branch or tag that is named by a text.
///
/// # Errors
/// What one looks like.
pub(crate) fn revision_of(text: &str) -> Result<&str, String> {
    if is_plain(text) {
        return Ok(text);
    }
    Err(format!(
        "takes a commit, branch or tag: up to {NAME_BYTES_MAX} letters, digits and -_."
    ))
}

fn is_plain(part: &str) -> bool {
    let is_known = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    (1..=NAME_BYTES_MAX).contains(&part.len())
        && part.chars().all(is_known)
        && !part.starts_with('.')
        && !part.contains("..")
}

/// Where models of the hub are kept: what is configured, or where the hub's own clients keep them.
///
/// # Errors
/// Nobody says where that is.
pub(super) fn cache(
    configured: &Path,
    look_up: impl Fn(&str) -> Option<String>,
) -> Result<PathBuf, String> {
    if !configured.as_os_str().is_empty() {
        return Ok(configured.to_owned());
    }
    let below = |variable: &str, path: &str| {
        let value = look_up(variable).filter(|value| !value.is_empty())?;
        Some(Path::new(&value).join(path))
    };
    below("HF_HUB_CACHE", "")
        .or_else(|| below("HF_HOME", "hub"))
        .or_else(|| below("XDG_CACHE_HOME", "huggingface/hub"))
        .or_else(|| below("HOME", ".cache/huggingface/hub"))
        .ok_or_else(|| "names no directory, and neither HF_HOME nor HOME is set".to_owned())
}

/// A hub, and how it is spoken with.
pub(super) struct Hub {
    url: Url,
    secret: Option<Secret>,
    /// How long it may be silent.
    stall: Duration,
}

/// What the hub says of a model at a revision.
#[derive(Deserialize)]
struct Listed {
    sha: String,
    siblings: Vec<Sibling>,
}

#[derive(Deserialize)]
struct Sibling {
    rfilename: String,
}

impl Hub {
    pub(super) const fn new(url: Url, secret: Option<Secret>, stall: Duration) -> Self {
        Self { url, secret, stall }
    }

    /// The directory of a model's files: that of the cache, or a new one in it, whose files are fetched now.
    ///
    /// # Errors
    /// Why it cannot be had. No secret is in it.
    pub(super) async fn directory(
        &self,
        cache: &Path,
        model: Model<'_>,
        revision: &str,
    ) -> Result<PathBuf, String> {
        let folder = cache.join(model.folder());
        if let Some(kept) = kept(&folder, revision) {
            return Ok(kept);
        }
        let fetched = self.fetch(&folder, model, revision).await;
        fetched.map_err(|why| {
            format!(
                "{} at {revision} is not in {}, and could not be fetched: {why}",
                model.0,
                cache.display()
            )
        })
    }

    async fn fetch(
        &self,
        folder: &Path,
        model: Model<'_>,
        revision: &str,
    ) -> Result<PathBuf, String> {
        let listed = self.list(model, revision).await?;
        let commit = listed.sha.as_str();
        let snapshot = folder.join("snapshots").join(commit);
        fs::create_dir_all(&snapshot).map_err(|error| unwritten(&snapshot, &error))?;
        let mut names: Vec<&str> = listed
            .siblings
            .iter()
            .map(|sibling| sibling.rfilename.as_str())
            .filter(|name| is_wanted(name))
            .collect();
        names.sort_by_key(|name| *name == LAST);
        let is_there = |wanted: &str| {
            names
                .iter()
                .any(|name| name.rsplit('/').next() == Some(wanted))
        };
        for wanted in [WEIGHTS, LAST] {
            if !is_there(wanted) {
                return Err(format!("it has no {wanted} there"));
            }
        }
        for name in names {
            self.file(model, commit, name, &snapshot).await?;
        }
        let reference = folder.join("refs").join(revision);
        let written =
            fs::create_dir_all(folder.join("refs")).and_then(|()| fs::write(&reference, commit));
        written.map_err(|error| unwritten(&reference, &error))?;
        Ok(snapshot)
    }

    async fn list(&self, model: Model<'_>, revision: &str) -> Result<Listed, String> {
        let path = format!("api/models/{}/revision/{revision}", model.0);
        let url = self.url.join(&path).map_err(|error| error.to_string())?;
        let mut bytes = Vec::new();
        self.get(url, LIST_BYTES_MAX, &mut bytes).await?;
        let listed: Listed = serde_json::from_slice(&bytes)
            .map_err(|error| format!("what the hub says of it cannot be read: {error}"))?;
        let is_commit = listed.sha.len() == 40 && listed.sha.chars().all(|c| c.is_ascii_hexdigit());
        if !is_commit {
            return Err("the hub names no commit of it".to_owned());
        }
        Ok(listed)
    }

    /// Fetches a file. It is there whole or not at all.
    async fn file(
        &self,
        model: Model<'_>,
        commit: &str,
        name: &str,
        snapshot: &Path,
    ) -> Result<(), String> {
        let url = self
            .url
            .join(&format!("{}/resolve/{commit}/{name}", model.0));
        let url = url.map_err(|error| error.to_string())?;
        let path = snapshot.join(name);
        let place = path.parent().unwrap_or(snapshot);
        let made = fs::create_dir_all(place).and_then(|()| NamedTempFile::new_in(place));
        let mut file = made.map_err(|error| unwritten(place, &error))?;
        let most = if path.ends_with(WEIGHTS) {
            MODEL_BYTES_MAX
        } else {
            MODEL_TEXT_BYTES_MAX
        };
        tracing::info!(file = %path.display(), "a file of the embedder's model is fetched");
        let got = tokio::time::timeout(FILE_MAX, self.get(url, most, &mut file)).await;
        let got = got.unwrap_or_else(|_| Err("it took too long".to_owned()));
        got.map_err(|why| format!("{name}: {why}"))?;
        file.as_file()
            .sync_all()
            .map_err(|error| unwritten(&path, &error))?;
        let kept = file.persist(&path);
        kept.map_err(|error| unwritten(&path, &error.error))?;
        Ok(())
    }

    /// Writes what is at a place of the hub, which may send on to others.
    async fn get(
        &self,
        url: Url,
        bytes_max: u64,
        out: &mut (impl std::io::Write + Send),
    ) -> Result<(), String> {
        let mut url = url;
        for _ in 0..=REDIRECTS_MAX {
            let (answer, line) = self.ask(&url, bytes_max).await?;
            let status = answer.status();
            if status.is_redirection() {
                url = sent_on(&url, &answer)?;
                continue;
            }
            if !status.is_success() {
                return Err(format!("status {}", status.as_u16()));
            }
            return self.write(answer, &line, bytes_max, out).await;
        }
        Err("it is sent on and on".to_owned())
    }

    async fn ask(&self, url: &Url, bytes_max: u64) -> Result<(Response, Line), String> {
        let most = usize::try_from(bytes_max + HEAD_BYTES_MAX).unwrap_or(usize::MAX);
        let line = Line::lay(Far::of(url)?, most);
        let line = line.map_err(|error| format!("no socket could be made: {error}"))?;
        let client = line.client().map_err(str::to_owned)?;
        let mut plain = url.clone();
        let set = plain.set_scheme("http");
        set.expect("http is as good a scheme as https to a URL");
        let mut request = client.get(plain);
        // The key is the hub's alone, and not of those it sends on to.
        if let Some(secret) = &self.secret
            && url.origin() == self.url.origin()
        {
            request = request.header(AUTHORIZATION, format!("Bearer {}", secret.reveal()));
        }
        match tokio::time::timeout(self.stall, request.send()).await {
            Ok(Ok(answer)) => Ok((answer, line)),
            Ok(Err(_)) => Err(match line.unreached() {
                Some(why) => format!("{} was not reached: {why}", host(url)),
                None => format!("the connection to {} broke off", host(url)),
            }),
            Err(_elapsed) => Err(format!("{} did not answer", host(url))),
        }
    }

    async fn write(
        &self,
        mut answer: Response,
        line: &Line,
        bytes_max: u64,
        out: &mut (impl std::io::Write + Send),
    ) -> Result<(), String> {
        let mut left = bytes_max;
        loop {
            let chunk = tokio::time::timeout(self.stall, answer.chunk()).await;
            let chunk = chunk.map_err(|_| "it came to a halt".to_owned())?;
            let too_large = || format!("it has more than {bytes_max} bytes");
            let chunk = chunk.map_err(|_| {
                if line.is_over() {
                    too_large()
                } else {
                    "the connection broke off".to_owned()
                }
            })?;
            let Some(chunk) = chunk else { return Ok(()) };
            left = left.checked_sub(chunk.len() as u64).ok_or_else(too_large)?;
            out.write_all(&chunk).map_err(|error| error.to_string())?;
        }
    }
}

/// The snapshot of a revision that is kept whole.
fn kept(folder: &Path, revision: &str) -> Option<PathBuf> {
    let named = fs::read_to_string(folder.join("refs").join(revision));
    let commit = named.unwrap_or_else(|_| revision.to_owned());
    let commit = revision_of(commit.trim()).ok()?;
    let snapshot = folder.join("snapshots").join(commit);
    snapshot.join(LAST).is_file().then_some(snapshot)
}

/// Whether a file of a model is one of those that are read: at the top, or in the folder of a module, which is
/// named by a number and a class.
fn is_wanted(name: &str) -> bool {
    let is_module = |folder: &str| {
        let (number, class) = folder.split_once('_').unwrap_or_default();
        !number.is_empty()
            && number.chars().all(|c| c.is_ascii_digit())
            && class.chars().all(|c| c.is_ascii_alphanumeric())
    };
    match name.split_once('/') {
        None => WANTED.contains(&name),
        Some((folder, file)) => is_module(folder) && WANTED.contains(&file),
    }
}

/// Where an answer sends on to.
fn sent_on(from: &Url, answer: &Response) -> Result<Url, String> {
    let place = answer
        .headers()
        .get(LOCATION)
        .and_then(|at| at.to_str().ok());
    let place = place.and_then(|place| from.join(place).ok());
    let place = place.ok_or("it is sent on to no place")?;
    // Who began in confidence goes on in it.
    let is_kept = place.scheme() == from.scheme() || place.scheme() == "https";
    if !is_kept || place.host_str().is_none() {
        return Err("it is sent on to a place that is not spoken with".to_owned());
    }
    Ok(place)
}

fn host(url: &Url) -> &str {
    url.host_str().unwrap_or_default()
}

fn unwritten(path: &Path, error: &std::io::Error) -> String {
    format!("{} cannot be written: {error}", path.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_is_a_name_of_the_hub_and_nothing_that_leads_elsewhere() {
        for name in [
            "bert-base-uncased",
            "sentence-transformers/all-MiniLM-L6-v2",
        ] {
            assert_eq!(Model::parse(name).unwrap().0, name);
        }
        let long = "a".repeat(97);
        for name in [
            "", "/", "a/", "/a", "a/b/c", "../b", "a/..", "a b", "a?b", ".a", &long,
        ] {
            assert!(Model::parse(name).is_err(), "{name}");
            assert!(revision_of(name).is_err(), "{name}");
        }
    }

    #[test]
    fn only_files_that_are_read_are_fetched() {
        for name in [
            "modules.json",
            "model.safetensors",
            "1_Pooling/config.json",
            "0_Transformer/model.safetensors",
        ] {
            assert!(is_wanted(name), "{name}");
        }
        for name in [
            "pytorch_model.bin",
            "onnx/model.safetensors",
            "../config.json",
            "1_/../config.json",
            "/config.json",
            "1_Pooling/../../config.json",
            "README.md",
        ] {
            assert!(!is_wanted(name), "{name}");
        }
    }

    #[test]
    fn models_are_kept_where_the_clients_of_the_hub_keep_them_unless_it_is_configured() {
        let of = |set: &'static [(&str, &str)]| {
            cache(Path::new(""), move |name| {
                let found = set.iter().find(|(known, _)| *known == name)?;
                Some(found.1.to_owned())
            })
        };
        let all = &[("HF_HUB_CACHE", "/a"), ("HF_HOME", "/b"), ("HOME", "/c")];
        assert_eq!(of(all).unwrap(), Path::new("/a"));
        assert_eq!(of(&all[1..]).unwrap(), Path::new("/b/hub"));
        let home = Path::new("/c/.cache/huggingface/hub");
        assert_eq!(of(&all[2..]).unwrap(), home);
        assert!(of(&[]).is_err());
        let configured = cache(Path::new("/d"), |_| None);
        assert_eq!(configured.unwrap(), Path::new("/d"));
    }
}
