//! Dependencies between the crates of the workspace point one way.
//!
//! Reads the manifests themselves, so a forbidden edge is named where it is written, whether or
//! not anything builds.

use std::collections::BTreeSet;

use toml::{Table, Value};

use crate::Finding;
use crate::config::Direction;
use crate::tree::{File, Tree};

/// Findings for edges that the table does not allow, and for crates that it does not know.
pub fn check(tree: &Tree, direction: &Direction) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut manifests = Vec::new();
    for file in &tree.files {
        if file.path != "Cargo.toml" && !file.path.ends_with("/Cargo.toml") {
            continue;
        }
        match file.text.parse::<Table>() {
            Ok(table) => manifests.push((file, table)),
            Err(error) => findings.push(Finding::new(&file.path, 1, error.message())),
        }
    }
    let shared = manifests
        .iter()
        .find(|(file, _)| file.path == "Cargo.toml")
        .and_then(|(_, table)| {
            table
                .get("workspace")?
                .get("dependencies")?
                .as_table()
                .cloned()
        })
        .unwrap_or_default();
    let members: BTreeSet<&str> = manifests
        .iter()
        .filter_map(|(_, table)| package_name(table))
        .collect();
    for (file, table) in &manifests {
        let Some(name) = package_name(table) else {
            continue;
        };
        if !direction.allowed.contains_key(name) {
            let message = format!(
                "{name} is not in the table of edges in {}",
                crate::config::PATH
            );
            findings.push(Finding::new(
                &file.path,
                line_with(&file.text, name),
                message,
            ));
            continue;
        }
        let manifest = Manifest {
            file,
            name,
            shared: &shared,
            members: &members,
        };
        findings.extend(manifest.check(table, direction));
    }
    findings
}

struct Manifest<'a> {
    file: &'a File,
    name: &'a str,
    shared: &'a Table,
    members: &'a BTreeSet<&'a str>,
}

impl Manifest<'_> {
    /// Checks the manifest's own sections, then those under `[target.'…']`.
    fn check(&self, table: &Table, direction: &Direction) -> Vec<Finding> {
        let targets = table.get("target").and_then(Value::as_table);
        let per_target = targets
            .into_iter()
            .flat_map(Table::values)
            .filter_map(Value::as_table);
        let mut findings = Vec::new();
        for scope in std::iter::once(table).chain(per_target) {
            for section in ["dependencies", "build-dependencies", "dev-dependencies"] {
                let is_dev = section == "dev-dependencies";
                let dependencies = scope.get(section).and_then(Value::as_table);
                for (key, value) in dependencies.into_iter().flatten() {
                    let package = self.package_of(key, value);
                    if let Some(message) = self.refusal(package, is_dev, direction) {
                        let line = line_with(&self.file.text, key);
                        findings.push(Finding::new(&self.file.path, line, message));
                    }
                }
            }
        }
        findings
    }

    /// The package behind a dependency's key, which may be renamed here or in the workspace.
    fn package_of<'v>(&'v self, key: &'v str, value: &'v Value) -> &'v str {
        let renamed = |value: &'v Value| value.get("package").and_then(Value::as_str);
        renamed(value)
            .or_else(|| self.shared.get(key).and_then(renamed))
            .unwrap_or(key)
    }

    fn refusal(&self, package: &str, is_dev: bool, direction: &Direction) -> Option<String> {
        let name = self.name;
        let lists = |table: &std::collections::BTreeMap<String, Vec<String>>| {
            table
                .get(name)
                .is_some_and(|names| names.iter().any(|n| n == "*" || n == package))
        };
        if !self.members.contains(package) {
            let refused = !is_dev && lists(&direction.forbidden);
            return refused.then(|| format!("{name} must not depend on {package}"));
        }
        let allowed = lists(&direction.allowed) || (is_dev && lists(&direction.allowed_dev));
        let kind = if is_dev { "dev-depend" } else { "depend" };
        (!allowed).then(|| format!("{name} must not {kind} on {package}: the arrows forbid it"))
    }
}

fn package_name(table: &Table) -> Option<&str> {
    table.get("package")?.get("name")?.as_str()
}

fn line_with(text: &str, word: &str) -> usize {
    let at_start = text.lines().position(|line| line.starts_with(word));
    at_start
        .or_else(|| text.lines().position(|line| line.contains(word)))
        .map_or(1, |at| at + 1)
}
