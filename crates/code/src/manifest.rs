//! What manifests say: the name under which others import what lies beside them.
//!
//! Owns reading that one name. It must not know what else stands in a manifest.

use serde::Deserialize;

use crate::extract::cut;
use crate::file_index::FileIndex;
use crate::language::Language;
use crate::limits::NAME_BYTES_MAX;

/// The index of a manifest: `package` is the name that it gives, none where it gives none.
pub(crate) fn read(language: Language, bytes: &[u8]) -> FileIndex {
    let text = String::from_utf8_lossy(bytes);
    let name = match language {
        Language::CargoManifest => cargo(&text),
        Language::GoManifest => go(&text),
        Language::NpmManifest => npm(bytes),
        _ => None,
    };
    let name = name.filter(|name| !name.is_empty());
    FileIndex {
        package: name.map(|name| cut(&name, NAME_BYTES_MAX).into()),
        ..FileIndex::empty(language)
    }
}

/// The name of the library, or of the package with its hyphens as code writes them.
fn cargo(text: &str) -> Option<String> {
    let mut section = "";
    let mut package = None;
    for line in text.lines().map(str::trim) {
        if line.starts_with('[') {
            section = line;
        }
        let Some((key, value)) = line.split_once('=') else {
            continue;
        };
        let name = value.split(['"', '\'']).nth(1);
        match (section, key.trim()) {
            ("[lib]", "name") => return name.map(str::to_owned),
            ("[package]", "name") => package = name.map(|name| name.replace('-', "_")),
            _ => {}
        }
    }
    package
}

fn go(text: &str) -> Option<String> {
    let line = text
        .lines()
        .find_map(|line| line.trim().strip_prefix("module "))?;
    let path = line.split("//").next().unwrap_or_default();
    Some(path.trim().trim_matches('"').to_owned())
}

fn npm(bytes: &[u8]) -> Option<String> {
    #[derive(Deserialize)]
    struct Package {
        name: Option<String>,
    }
    serde_json::from_slice::<Package>(bytes).ok()?.name
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(language: Language, text: &str) -> Option<String> {
        read(language, text.as_bytes()).package.map(String::from)
    }

    #[test]
    fn a_manifest_says_under_which_name_it_is_imported() {
        let cargo = "[package]\nname = \"sillok-code\" # it\n\n[dependencies]\nname = \"x\"\n";
        assert_eq!(
            name(Language::CargoManifest, cargo).as_deref(),
            Some("sillok_code")
        );
        let lib = format!("{cargo}[lib]\nname = 'other'\n");
        assert_eq!(
            name(Language::CargoManifest, &lib).as_deref(),
            Some("other")
        );
        let go = "// a\nmodule example.com/a/b // c\n\ngo 1.24\n";
        assert_eq!(
            name(Language::GoManifest, go).as_deref(),
            Some("example.com/a/b")
        );
        let npm = r#"{"private": true, "name": "@a/b", "x": [1]}"#;
        assert_eq!(name(Language::NpmManifest, npm).as_deref(), Some("@a/b"));
        for (language, text) in [
            (Language::CargoManifest, "[workspace]\n"),
            (Language::GoManifest, "go 1.24\n"),
            (Language::NpmManifest, "{\"name\": 3"),
        ] {
            assert_eq!(name(language, text), None, "{text}");
        }
    }
}
