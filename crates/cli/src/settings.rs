//! The configuration that a command goes by: the server's layers, with this command line on top.
//!
//! Owns where the file lies and which flags set which key. Keys and defaults are the server's.

use std::collections::BTreeMap;
use std::path::PathBuf;

use sillok_server::config::{Layers, Loaded};

use crate::args::Global;
use crate::failure::Failure;

/// Loads every layer. `flags` are further keys with their values, over all else.
///
/// # Errors
/// [`Failure::Config`], naming the key and its layer.
pub fn load(global: &Global, flags: &[(&str, String)]) -> Result<Loaded, Failure> {
    let mut all = BTreeMap::new();
    // The environment's own layer names the directory by itself; only a flag goes on top of it.
    let environment = std::env::var_os("SILLOK_DATA").map(PathBuf::from);
    let flag = global
        .data
        .as_ref()
        .filter(|data| environment.as_ref() != Some(*data));
    if let Some(data) = flag {
        all.insert("server.data".to_owned(), path_text(data)?);
    }
    all.extend(
        flags
            .iter()
            .map(|(key, value)| ((*key).to_owned(), value.clone())),
    );
    let file = global.config.clone().or_else(default_file);
    Layers::of_process(file, all)
        .load()
        .map_err(|error| Failure::Server(error.into()))
}

/// A path as a configured text.
///
/// # Errors
/// [`Failure::Config`] when it is not UTF-8.
pub fn path_text(path: &std::path::Path) -> Result<String, Failure> {
    let text = path.to_str().map(str::to_owned);
    text.ok_or_else(|| Failure::Config(format!("{} is not UTF-8", path.display())))
}

/// The user's own file, when there is one: `$XDG_CONFIG_HOME/sillok/config.toml`, else
/// `~/.config/sillok/config.toml`.
fn default_file() -> Option<PathBuf> {
    let set = |name| {
        std::env::var_os(name)
            .filter(|value| !value.is_empty())
            .map(PathBuf::from)
    };
    let home = set("XDG_CONFIG_HOME").filter(|path| path.is_absolute());
    let home = home.or_else(|| set("HOME").map(|home| home.join(".config")))?;
    Some(home.join("sillok/config.toml")).filter(|path| path.is_file())
}

#[cfg(test)]
mod tests {
    use sillok_server::config::Layer;

    use super::*;
    use crate::failure::EXIT_CONFIG;

    #[test]
    fn a_flag_wins_over_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("c.toml");
        std::fs::write(
            &file,
            "[server]\ndata = \"from-file\"\naddress = \"127.0.0.1:1\"\n",
        )
        .unwrap();
        let mut global = Global {
            config: Some(file.clone()),
            ..Global::default()
        };
        global.data = Some("from-flag".into());
        let loaded = load(&global, &[("server.address", "127.0.0.1:2".to_owned())]).unwrap();
        assert_eq!(loaded.config.server.data, PathBuf::from("from-flag"));
        assert_eq!(loaded.config.server.address.port(), 2);
        assert_eq!(loaded.origin["server.data"], Layer::Flag);
        global.data = None;
        let loaded = load(&global, &[]).unwrap();
        assert_eq!(loaded.origin["server.address"], Layer::File(file));
    }

    #[test]
    fn a_bad_configuration_exits_with_78() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("c.toml");
        std::fs::write(&file, "[server]\nadress = \"127.0.0.1:1\"\n").unwrap();
        let global = Global {
            config: Some(file),
            ..Global::default()
        };
        assert_eq!(load(&global, &[]).unwrap_err().exit_status(), EXIT_CONFIG);
    }
}
