//! Flags of `graph`.

use std::str::FromStr;

use clap::{Args, Subcommand};
use serde_json::Value;

use super::Within;

/// `graph`
#[derive(Debug, Subcommand)]
pub enum GraphCommand {
    /// Ask the graph of what is seen from a scope, in openCypher that reads
    Query(GraphQuery),
    /// Print the labels, kinds and properties that a query may name
    Schema,
}

/// `graph query`
#[derive(Debug, Args)]
pub struct GraphQuery {
    /// The query, such as 'MATCH (d:Decision) RETURN d.title'; - reads standard input
    pub query: String,
    /// Where to stand: what is decided there, above it, and inside it as far as the token covers that.
    #[command(flatten)]
    pub within: Within,
    /// The value of $NAME in the query: JSON, or else a text. May be repeated
    #[arg(long = "param", value_name = "NAME=VALUE")]
    pub params: Vec<Param>,
    /// At most so many rows
    #[arg(long, value_name = "N")]
    pub rows_max: Option<usize>,
    /// How long it may take, in milliseconds
    #[arg(long, value_name = "MS")]
    pub ms_max: Option<u64>,
    /// What episodes say of causes is in the graph too
    #[arg(long)]
    pub causes: bool,
    /// What lies inside the scope is left out
    #[arg(long)]
    pub only_above: bool,
    /// The files and symbols of the work tree are in the graph too, where the server follows one
    #[arg(long)]
    pub code: bool,
    /// Of what lies below this folder of the work tree alone
    #[arg(long, value_name = "PATH", requires = "code")]
    pub code_under: Option<String>,
}

/// A parameter of a query, as a command line names it.
#[derive(Clone, Debug, PartialEq)]
pub struct Param {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: Value,
}

impl FromStr for Param {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let named = text.split_once('=').filter(|(name, _)| !name.is_empty());
        let (name, value) = named.ok_or("NAME=VALUE is expected")?;
        let as_text = |_| Value::String(value.to_owned());
        Ok(Self {
            name: name.to_owned(),
            value: serde_json::from_str(value).unwrap_or_else(as_text),
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_value_is_json_or_else_a_text() {
        for (text, name, value) in [
            ("n=7", "n", json!(7)),
            ("l=[1,\"a\"]", "l", json!([1, "a"])),
            ("t=\"7\"", "t", json!("7")),
            ("t=src/a.rs", "t", json!("src/a.rs")),
            ("t=a=b", "t", json!("a=b")),
            ("t=", "t", json!("")),
        ] {
            let name = name.to_owned();
            assert_eq!(text.parse(), Ok(Param { name, value }), "{text}");
        }
        assert!("n".parse::<Param>().is_err() && "=7".parse::<Param>().is_err());
    }
}
