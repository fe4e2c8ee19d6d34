//! What a node keeps in memory, held against what its pod may take.
//!
//! Owns how Kubernetes writes an amount of memory.

use serde_json::Value;

use super::Found;
use super::nodes::{config, number};
use super::pods::{containers, name};
use crate::Manifests;
use crate::manifest::{Container, Workload};

/// Bytes of indices that a node keeps in memory at most where nobody says so.
pub const INDEX_CACHE_BYTES: u64 = 2 << 30;
/// The variable that says so over the configuration.
const INDEX_CACHE_VARIABLE: &str = "SILLOK__INDEX__CACHE_BYTES";
/// The command that is a node. Whatever else the program does asks one, and keeps no index.
const SERVE: &str = "serve";
/// So many times of it fit into what a pod may take: while the embedder is changed there are two indices.
const INDICES: f64 = 2.0;

/// The units of amounts of memory, and the bytes in each. Greater ones limit nothing here.
const UNITS: [(&str, f64); 9] = [
    ("Ki", 1_024.0),
    ("Mi", 1_048_576.0),
    ("Gi", 1_073_741_824.0),
    ("Ti", 1_099_511_627_776.0),
    ("k", 1e3),
    ("M", 1e6),
    ("G", 1e9),
    ("T", 1e12),
    ("", 1.0),
];

pub(super) fn index_cache(manifests: &Manifests, found: &mut Found) {
    containers(manifests.workloads(), |workload, container| {
        if !is_node(container) {
            return;
        }
        let Some(limit) = container.resources.limits.get("memory").map(text) else {
            return;
        };
        let what = match index_cache_bytes(manifests, workload, container) {
            None => format!(
                "says by something else than a number how many bytes of indices it keeps in memory \
                 ({INDEX_CACHE_VARIABLE}): nobody can hold it against its limit of {limit}"
            ),
            Some(cache_bytes) if is_over_half(cache_bytes, &limit) => format!(
                "keeps up to {cache_bytes} bytes of indices in memory (index.cache_bytes), which is more than half of its \
                 limit of {limit}"
            ),
            Some(_) => return,
        };
        found.push((name(workload, container), what));
    });
}

/// Whether it runs a node, by itself or in a line for a shell.
fn is_node(container: &Container) -> bool {
    let mut words = container.words().flat_map(str::split_whitespace);
    words.any(|word| word == SERVE)
}

fn is_over_half(cache_bytes: u64, limit: &str) -> bool {
    bytes(limit).is_some_and(|limit_bytes| cache_bytes as f64 * INDICES > limit_bytes)
}

/// What it keeps at most; none where its variable has no number here, whether it has another text or is filled in from
/// elsewhere.
fn index_cache_bytes(
    manifests: &Manifests,
    workload: &Workload,
    container: &Container,
) -> Option<u64> {
    let mut variables = container.env.iter().rev();
    if let Some(variable) = variables.find(|variable| variable.name == INDEX_CACHE_VARIABLE) {
        return variable.value.as_ref()?.replace('_', "").parse().ok();
    }
    let config = config(manifests, &workload.pod);
    Some(number(&config, "index", "cache_bytes").unwrap_or(INDEX_CACHE_BYTES))
}

/// An amount as it is written: as a text, or as a number of bytes.
fn text(amount: &Value) -> String {
    let text = amount.as_str().map(str::to_owned);
    text.unwrap_or_else(|| amount.to_string())
}

/// The bytes of an amount such as `2Gi`, `1.5G` or `1e9`.
fn bytes(amount: &str) -> Option<f64> {
    UNITS.iter().find_map(|(unit, bytes)| {
        let number: f64 = amount.strip_suffix(*unit)?.parse().ok()?;
        Some(number * bytes)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is found of a pod: its arguments and variables, its limit, and the configuration.
    fn found(args: &str, env: &str, limits: &str, config: &str) -> Vec<String> {
        found_of(&format!("args: [{args}]"), env, limits, config)
    }

    /// The same of what is run by other fields.
    fn found_of(run: &str, env: &str, limits: &str, config: &str) -> Vec<String> {
        let text = format!(
            "kind: ConfigMap\nmetadata:\n  name: a\ndata:\n  sillok.toml: |\n    # A node's.\n    {config}\n\
             ---\nkind: StatefulSet\nmetadata:\n  name: b\nspec:\n  template:\n    spec:\n      containers:\n      \
             - name: c\n        {run}\n        env: [{env}]\n        resources:\n          limits: {{{limits}}}\n      \
             volumes:\n      - name: d\n        configMap:\n          name: a\n"
        );
        let mut found = Found::new();
        index_cache(&Manifests::parse(&text).unwrap(), &mut found);
        let named = "StatefulSet/b container c";
        assert!(found.iter().all(|(object, _)| object == named), "{found:?}");
        found.into_iter().map(|(_, what)| what).collect()
    }

    #[test]
    fn an_amount_is_read_in_every_unit() {
        for (amount, expected) in [
            ("512", 512.0),
            ("2Ki", 2_048.0),
            ("1.5Mi", 1_572_864.0),
            ("2Gi", 2_147_483_648.0),
            ("1Ti", 1_099_511_627_776.0),
            ("3k", 3e3),
            ("3M", 3e6),
            ("3G", 3e9),
            ("3T", 3e12),
            ("1e9", 1e9),
        ] {
            let read = bytes(amount).unwrap();
            assert!((read - expected).abs() < 0.5, "{amount}: {read}");
        }
        for none in ["", "Gi", "2gi", "2 GiB", "much"] {
            assert_eq!(bytes(none), None, "{none}");
        }
    }

    #[test]
    fn a_node_keeps_at_most_half_of_its_limit_of_indices() {
        let half = "index = { cache_bytes = 1_073_741_824 }";
        let more = "index = { cache_bytes = 1073741825 }";
        for limit in ["memory: 2Gi", "memory: 2147483648", "memory: 2.0Gi"] {
            assert!(found("serve", "", limit, half).is_empty(), "{limit}");
            assert_eq!(found("serve", "", limit, more).len(), 1, "{limit}");
        }
        let said = found("--json, serve", "", "memory: 2Gi", more).concat();
        assert!(said.contains("1073741825 bytes") && said.contains("2Gi"));
    }

    #[test]
    fn what_nobody_says_is_what_a_node_takes_by_itself() {
        assert!(found("serve", "", "memory: 4Gi", "").is_empty());
        let said = found("serve", "", "memory: 4095Mi", "").concat();
        assert!(said.contains("2147483648 bytes") && said.contains("4095Mi"));
    }

    #[test]
    fn a_variable_counts_more_than_the_configuration() {
        let variable =
            |bytes: &str| format!("{{name: {INDEX_CACHE_VARIABLE}, value: \"{bytes}\"}}");
        let (little, much) = (
            "index = { cache_bytes = 1 }",
            "index = { cache_bytes = 9000000000 }",
        );
        let limit = "memory: 2Gi";
        assert_eq!(
            found("serve", &variable("9000000000"), limit, little).len(),
            1
        );
        assert!(found("serve", &variable("1"), limit, much).is_empty());
    }

    #[test]
    fn a_variable_that_is_no_number_here_is_refused() {
        let limit = "memory: 900Gi";
        for said in [
            "value: much",
            "value: \"\"",
            "value: \"-1\"",
            "valueFrom: {configMapKeyRef: {name: a, key: b}}",
            "valueFrom: {secretKeyRef: {name: a, key: b}}",
        ] {
            let variable = format!("{{name: {INDEX_CACHE_VARIABLE}, {said}}}");
            let what = found("serve", &variable, limit, "").concat();
            assert!(what.contains(INDEX_CACHE_VARIABLE), "{said}: {what:?}");
        }
        let other = "{name: ANOTHER, valueFrom: {fieldRef: {fieldPath: metadata.name}}}";
        assert!(found("serve", other, limit, "").is_empty());
    }

    #[test]
    fn the_last_of_two_variables_counts() {
        let variable =
            |bytes: &str| format!("{{name: {INDEX_CACHE_VARIABLE}, value: \"{bytes}\"}}");
        let (little, much) = (variable("1"), variable("9000000000"));
        let limit = "memory: 2Gi";
        let both = format!("{little}, {much}");
        assert_eq!(found("serve", &both, limit, "").len(), 1);
        let both = format!("{much}, {little}");
        assert!(found("serve", &both, limit, "").is_empty());
    }

    #[test]
    fn a_node_is_known_by_its_command_as_by_its_arguments() {
        let limit = "memory: 2Gi";
        for run in [
            "command: [sillok, serve]",
            "command: [sillok]\n        args: [serve]",
            "command: [sh, -c, exec sillok --json serve]",
        ] {
            assert_eq!(found_of(run, "", limit, "").len(), 1, "{run}");
        }
        assert!(found_of("command: [sillok, maintain]", "", limit, "").is_empty());
    }

    #[test]
    fn who_is_no_node_or_has_no_limit_is_left_alone() {
        assert!(found("maintain", "", "memory: 256Mi", "").is_empty());
        assert!(found("serve", "", "cpu: 1", "").is_empty());
    }
}
