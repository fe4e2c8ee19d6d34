//! Where configured values come from: defaults, a file, the environment, flags, in this order.
//!
//! Owns the layering and the record of which layer set what. Every layer is a table; a key that the
//! defaults do not have is refused. It must not know what any key means.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use serde::Serialize;
use sillok_perception::EmbedderConfig;
use toml::{Table, Value};

use super::Config;

/// What begins the name of every environment variable that sets a key: `SILLOK__SECTION__KEY`.
const PREFIX: &str = "SILLOK__";
/// The section within a section that is there only where something is set in it, or it is named.
const WITHIN: (&str, &str) = ("embedder", "previous");
/// The environment variable that says what is logged, whatever else does.
const LOG_VARIABLE: &str = "SILLOK_LOG";

/// A layer of values. A later one wins.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Layer {
    /// What is built in.
    Default,
    /// A configuration file.
    File(PathBuf),
    /// An environment variable.
    Environment(String),
    /// A flag of the command line.
    Flag,
}

impl fmt::Display for Layer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File(path) => write!(f, "file {}", path.display()),
            Self::Environment(name) => write!(f, "environment {name}"),
            Self::Flag => f.write_str("flag"),
        }
    }
}

/// Which layer set each key, by `section.key`.
pub type Origin = BTreeMap<String, Layer>;

/// A configuration that is not usable.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file cannot be read.
    #[error("the configuration file {} cannot be read", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// The file is not TOML.
    #[error("the configuration file {} is not TOML", path.display())]
    Syntax {
        /// The file.
        path: PathBuf,
        /// Where and why.
        #[source]
        source: Box<toml::de::Error>,
    },
    /// There is no such key.
    #[error("unknown configuration key '{key}' ({layer})")]
    UnknownKey {
        /// The key.
        key: String,
        /// Where it stands.
        layer: Layer,
    },
    /// The value is not of the key's type.
    #[error("configuration key '{key}' ({layer}) takes {expected}, not {found}")]
    WrongType {
        /// The key.
        key: String,
        /// Where it stands.
        layer: Layer,
        /// What the key takes.
        expected: &'static str,
        /// What stands there.
        found: String,
    },
    /// A value of the right type is not one that the key takes.
    #[error("the configuration is not usable: {reason}")]
    Invalid {
        /// Which key, and why.
        reason: String,
    },
}

/// What is laid over the defaults.
#[derive(Clone, Debug, Default)]
pub struct Layers {
    /// A TOML file.
    pub file: Option<PathBuf>,
    /// Environment variables: those that begin with `SILLOK__` count, `SILLOK_DATA`, and `SILLOK_LOG`,
    /// which wins over the others.
    pub environment: BTreeMap<String, String>,
    /// Flags: `section.key` and the value as text.
    pub flags: BTreeMap<String, String>,
}

/// A configuration, and where each value comes from.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// The configuration.
    pub config: Config,
    /// Which layer set each key.
    pub origin: Origin,
}

impl Layers {
    /// The layers of this process: `file`, its environment, and `flags`.
    #[must_use]
    pub fn of_process(file: Option<PathBuf>, flags: BTreeMap<String, String>) -> Self {
        let environment = std::env::vars_os().filter_map(|(name, value)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        });
        Self {
            file,
            environment: environment.collect(),
            flags,
        }
    }

    /// Lays everything over the defaults, in order.
    ///
    /// # Errors
    /// [`Error`], naming key and layer.
    pub fn load(&self) -> Result<Loaded, Error> {
        let defaults = Table::try_from(Config::default()).expect("the defaults are plain tables");
        let mut merged = Merged {
            origin: origin_of(&defaults),
            table: defaults,
        };
        if let Some(path) = &self.file {
            merged.lay_file(path)?;
        }
        let mut variables: Vec<_> = self.environment.iter().collect();
        variables.sort_by_key(|(name, _)| *name == LOG_VARIABLE);
        for (name, text) in variables {
            let key = match name.as_str() {
                "SILLOK_DATA" => "server.data".to_owned(),
                LOG_VARIABLE => "log.filter".to_owned(),
                _ => match name.strip_prefix(PREFIX) {
                    Some(key) => key.to_ascii_lowercase().replace("__", "."),
                    None => continue,
                },
            };
            merged.lay_text(&key, text, Layer::Environment(name.clone()))?;
        }
        for (key, text) in &self.flags {
            merged.lay_text(key, text, Layer::Flag)?;
        }
        merged.finish()
    }
}

impl Config {
    /// The configuration's keys and values, as `section.key` and TOML.
    #[must_use]
    pub fn entries(&self) -> BTreeMap<String, Value> {
        let table = Table::try_from(self).expect("a configuration is plain tables");
        let mut entries = BTreeMap::new();
        for (section, values) in table {
            let Value::Table(values) = values else {
                continue;
            };
            for (key, value) in values {
                match value {
                    Value::Table(within) if (section.as_str(), key.as_str()) == WITHIN => {
                        let named = |(name, value)| (format!("{section}.{key}.{name}"), value);
                        entries.extend(within.into_iter().map(named));
                    }
                    value => drop(entries.insert(format!("{section}.{key}"), value)),
                }
            }
        }
        entries
    }
}

struct Merged {
    table: Table,
    origin: Origin,
}

impl Merged {
    fn lay_file(&mut self, path: &Path) -> Result<(), Error> {
        let text = std::fs::read_to_string(path).map_err(|source| Error::Unreadable {
            path: path.to_owned(),
            source,
        })?;
        let table: Table = text.parse().map_err(|source| Error::Syntax {
            path: path.to_owned(),
            source: Box::new(source),
        })?;
        let layer = Layer::File(path.to_owned());
        for (section, values) in table {
            let Value::Table(values) = values else {
                return Err(Error::UnknownKey {
                    key: section,
                    layer,
                });
            };
            if !self.table.contains_key(&section) {
                return Err(Error::UnknownKey {
                    key: section,
                    layer,
                });
            }
            for (key, value) in values {
                match value {
                    Value::Table(within) if (section.as_str(), key.as_str()) == WITHIN => {
                        self.within();
                        for (name, value) in within {
                            self.lay(&format!("{section}.{key}.{name}"), value, layer.clone())?;
                        }
                    }
                    value => self.lay(&format!("{section}.{key}"), value, layer.clone())?,
                }
            }
        }
        Ok(())
    }

    /// The section within a section, with what it has by default.
    fn within(&mut self) -> &mut Table {
        let defaults = || {
            let defaults = Table::try_from(EmbedderConfig::default());
            defaults.expect("the defaults are plain tables")
        };
        let (section, key) = WITHIN;
        let around = self.table.get_mut(section).and_then(Value::as_table_mut);
        let around = around.expect("the section around it is there by default");
        if !around.contains_key(key) {
            let keys = defaults();
            let keys = keys.keys();
            let keys = keys.map(|name| (format!("{section}.{key}.{name}"), Layer::Default));
            self.origin.extend(keys);
        }
        let within = around
            .entry(key)
            .or_insert_with(|| Value::Table(defaults()));
        within
            .as_table_mut()
            .expect("nothing else is ever put there")
    }

    /// Lays a value that came as text: the key's type says how it is read.
    fn lay_text(&mut self, key: &str, text: &str, layer: Layer) -> Result<(), Error> {
        let value = match self.place(key, &layer)? {
            Value::Integer(_) => text.parse().ok().map(Value::Integer),
            Value::Float(_) => text.parse().ok().map(Value::Float),
            Value::Boolean(_) => text.parse().ok().map(Value::Boolean),
            // As TOML writes a table or an array on one line.
            Value::Table(_) => text.parse().ok().filter(Value::is_table),
            Value::Array(_) => text.parse().ok().filter(Value::is_array),
            _ => None,
        };
        self.lay(
            key,
            value.unwrap_or_else(|| Value::String(text.to_owned())),
            layer,
        )
    }

    fn lay(&mut self, key: &str, value: Value, layer: Layer) -> Result<(), Error> {
        let place = self.place(key, &layer)?;
        let fits = match (&*place, value) {
            (Value::Float(_), Value::Integer(whole)) => {
                // Configured integers are small: far under where a float is inexact.
                let float = whole as f64;
                Ok(Value::Float(float))
            }
            (known, value) if known.type_str() == value.type_str() => Ok(value),
            (known, value) => Err((known.type_str(), value)),
        };
        match fits {
            Ok(value) => *place = value,
            Err((expected, value)) => {
                let found = format!("{} {value}", value.type_str());
                return Err(Error::WrongType {
                    key: key.to_owned(),
                    layer,
                    expected,
                    found,
                });
            }
        }
        self.origin.insert(key.to_owned(), layer);
        Ok(())
    }

    fn place(&mut self, key: &str, layer: &Layer) -> Result<&mut Value, Error> {
        let (section, within) = WITHIN;
        let name = key
            .strip_prefix(section)
            .and_then(|key| key.strip_prefix('.'));
        let name = name.and_then(|key| key.strip_prefix(within)?.strip_prefix('.'));
        let found = match name {
            Some(name) => self.within().get_mut(name),
            None => key.split_once('.').and_then(|(section, key)| {
                self.table.get_mut(section)?.as_table_mut()?.get_mut(key)
            }),
        };
        found.ok_or_else(|| Error::UnknownKey {
            key: key.to_owned(),
            layer: layer.clone(),
        })
    }

    fn finish(self) -> Result<Loaded, Error> {
        let config: Config =
            self.table
                .try_into()
                .map_err(|error: toml::de::Error| Error::Invalid {
                    // With the key, which the message alone does not name.
                    reason: error.to_string().trim_end().replace('\n', " "),
                })?;
        config.check().map_err(|error| Error::Invalid {
            reason: error.message,
        })?;
        Ok(Loaded {
            config,
            origin: self.origin,
        })
    }
}

fn origin_of(defaults: &Table) -> Origin {
    let mut origin = Origin::new();
    for (section, values) in defaults {
        let values = values.as_table().expect("every section is a table");
        origin.extend(
            values
                .keys()
                .map(|key| (format!("{section}.{key}"), Layer::Default)),
        );
    }
    origin
}

#[cfg(test)]
mod tests;
