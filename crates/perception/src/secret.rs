//! A secret that a model's provider wants: where it is read from, and how it is kept out of sight.
//!
//! Owns that no text which is made of it shows it. It must not know who it is sent to.

use std::fmt;
use std::io::Read as _;
use std::path::Path;

use crate::Error;

/// Bytes of a file that holds a secret.
const FILE_BYTES_MAX: u64 = 8 << 10;

/// A secret. Nothing that is printed shows it.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Secret(String);

impl Secret {
    /// Reads the secret that a section names: out of an environment variable, or a file. None where it names
    /// neither.
    ///
    /// # Errors
    /// [`Error::Secret`] where it is not there or is no secret, [`Error::Setting`] where both are named.
    pub(crate) fn read(
        section: &str,
        variable: &str,
        file: &Path,
        look_up: impl Fn(&str) -> Option<String>,
    ) -> Result<Option<Self>, Error> {
        let is_file_named = !file.as_os_str().is_empty();
        let (key, found) = match (variable.is_empty(), is_file_named) {
            (true, false) => return Ok(None),
            (false, true) => {
                let why = "and api_key_file are both set: one of them says where the secret is";
                return Err(Error::Setting {
                    key: format!("{section}.api_key_env"),
                    why: why.to_owned(),
                });
            }
            (false, false) => {
                let found = look_up(variable)
                    .ok_or_else(|| format!("there is no environment variable {variable}"));
                (format!("{section}.api_key_env"), found)
            }
            (true, true) => (format!("{section}.api_key_file"), of_file(file)),
        };
        let secret = found.and_then(|text| Self::of(&text));
        secret.map(Some).map_err(|why| Error::Secret { key, why })
    }

    /// The secret in a text, without the blanks around it. It goes into a header, so it is visible ASCII.
    fn of(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let is_visible = text.bytes().all(|byte| byte.is_ascii_graphic());
        if text.is_empty() || !is_visible {
            return Err("what stands there is no key: one word of visible ASCII".to_owned());
        }
        Ok(Self(text.to_owned()))
    }

    /// The secret itself, for the request that carries it.
    pub(crate) fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

fn of_file(path: &Path) -> Result<String, String> {
    let unreadable = |error: std::io::Error| format!("{} cannot be read: {error}", path.display());
    let file = std::fs::File::open(path).map_err(unreadable)?;
    let mut text = String::new();
    file.take(FILE_BYTES_MAX + 1)
        .read_to_string(&mut text)
        .map_err(unreadable)?;
    if text.len() as u64 > FILE_BYTES_MAX {
        return Err(format!("{} is too long for a key", path.display()));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NONE: &str = "";

    fn variable(text: &'static str) -> impl Fn(&str) -> Option<String> {
        move |name| (name == "MODEL_KEY").then(|| text.to_owned())
    }

    #[test]
    fn a_secret_comes_from_the_environment_or_a_file_and_from_one_of_them() {
        let nowhere = Secret::read("cognifier", NONE, Path::new(NONE), variable("x"));
        assert_eq!(nowhere.unwrap(), None);
        let read = Secret::read(
            "cognifier",
            "MODEL_KEY",
            Path::new(NONE),
            variable(" sk-1\n"),
        );
        assert_eq!(read.unwrap().unwrap().reveal(), "sk-1");
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "sk-2\n").unwrap();
        let read = Secret::read("cognifier", NONE, file.path(), variable("x"));
        assert_eq!(read.unwrap().unwrap().reveal(), "sk-2");
        let both = Secret::read("embedder", "MODEL_KEY", file.path(), variable("sk-3"));
        assert!(
            both.unwrap_err()
                .to_string()
                .contains("embedder.api_key_env")
        );
    }

    #[test]
    fn what_is_no_secret_is_refused_by_its_key_and_not_repeated() {
        for text in ["", " \n", "hunter2 hunter3", "hunter2\u{1}", "비밀"] {
            let read = Secret::read("cognifier", "MODEL_KEY", Path::new(NONE), variable(text));
            let error = read.unwrap_err().to_string();
            assert!(error.contains("cognifier.api_key_env"), "{error}");
            assert!(
                !error.contains("hunter2") && !error.contains("비밀"),
                "{error}"
            );
        }
        let missing = Secret::read("cognifier", "OTHER", Path::new(NONE), variable("x"));
        assert!(missing.unwrap_err().to_string().contains("OTHER"));
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "a".repeat(9 << 10)).unwrap();
        assert!(Secret::read("cognifier", NONE, file.path(), variable("x")).is_err());
        let nowhere = Path::new("no/such/file");
        assert!(Secret::read("cognifier", NONE, nowhere, variable("x")).is_err());
    }

    #[test]
    fn nothing_that_is_printed_shows_it() {
        let secret = Secret::of("hunter2").unwrap();
        let printed = format!("{secret:?} {:#?}", Some(&secret));
        assert!(!printed.contains("hunter2"), "{printed}");
    }
}
