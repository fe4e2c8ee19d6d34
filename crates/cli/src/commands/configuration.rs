//! `config`

use serde_json::{Map, Value, json};

use crate::args::Global;
use crate::data_directory::DataDirectory;
use crate::failure::Failure;
use crate::output::{Output, table};
use crate::settings;

/// Carries out `config show`.
///
/// # Errors
/// What is wrong with the configuration.
pub fn show(global: &Global, output: Output, origin: bool) -> Result<(), Failure> {
    let loaded = settings::load(global, &[])?;
    let entries = loaded.config.entries();
    let layer = |key: &str| {
        loaded
            .origin
            .get(key)
            .map_or_else(String::new, ToString::to_string)
    };
    let document: Map<String, Value> = entries
        .iter()
        .map(|(key, value)| {
            let value = serde_json::to_value(value).expect("TOML values are JSON values");
            let shown = if origin {
                json!({ "value": value, "origin": layer(key) })
            } else {
                value
            };
            (key.clone(), shown)
        })
        .collect();
    output.show(&document, |style| {
        let rows: Vec<Vec<String>> = entries
            .iter()
            .map(|(key, value)| match origin {
                true => vec![key.clone(), value.to_string(), layer(key)],
                false => vec![key.clone(), value.to_string()],
            })
            .collect();
        let header: &[&str] = if origin {
            &["KEY", "VALUE", "FROM"]
        } else {
            &["KEY", "VALUE"]
        };
        let mut text = table(style, header, &rows);
        if let Ok(data) = DataDirectory::resolve(global)
            && data.path() != loaded.config.server.data
        {
            let note = format!(
                "commands without --data speak about {}",
                data.path().display()
            );
            text += &format!("\n{}", style.dim(&note));
        }
        text
    })
}
