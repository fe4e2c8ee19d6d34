//! What the Kubernetes manifests say of Sillok is true: its configuration is one that the binary takes,
//! every metric that they name exists, and every image can be built.

use std::collections::BTreeSet;
use std::path::PathBuf;

use serde_json::Value;
use sillok_k8s_check::manifest::{Container, Workload};
use sillok_k8s_check::{Manifests, overlays, render};

use crate::harness::binary::Invocation;
use crate::harness::cluster::Cluster;

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Every container of every overlay that runs the binary.
fn containers(mut look: impl FnMut(&Manifests, &Workload, &Container)) {
    let overlays = overlays(&root().join("k8s/overlays")).unwrap();
    assert!(overlays.len() >= 2, "{overlays:?}");
    for overlay in overlays {
        let manifests = render(&overlay).unwrap();
        for workload in manifests.workloads() {
            for container in &workload.pod.containers {
                look(&manifests, &workload, container);
            }
        }
    }
}

#[test]
fn the_configuration_of_every_node_is_one_that_the_binary_takes() {
    let mut nodes = 0;
    containers(|manifests, workload, container| {
        if !workload.is_served {
            return;
        }
        nodes += 1;
        let folder = tempfile::tempdir().unwrap();
        let volumes = workload.pod.volumes.iter();
        let config = volumes.filter_map(|volume| volume.config_map.as_ref());
        let text = config
            .filter_map(|map| manifests.config_map(&map.name).remove("sillok.toml"))
            .next()
            .expect("a node has a configuration");
        let file = folder.path().join("sillok.toml");
        std::fs::write(&file, text).unwrap();
        let mut invocation =
            Invocation::new(folder.path(), ["config", "show", "--json", "--config"]).arg(&file);
        for variable in &container.env {
            if let Some(value) = &variable.value {
                invocation = invocation.env(&variable.name, value);
            }
        }
        let shown = invocation.run().json();
        for variable in &container.env {
            let Some((value, name)) = variable
                .value
                .as_ref()
                .zip(variable.name.strip_prefix("SILLOK__"))
            else {
                continue;
            };
            let key = name.to_lowercase().replace("__", ".");
            assert!(
                is_value(&shown[&key], value),
                "{key} is not {value}: {shown}"
            );
        }
    });
    assert!(nodes >= 2, "{nodes}");
}

/// What the process reads of its environment besides `SILLOK__SECTION__KEY`, as far as a manifest may set it.
const READ: [&str; 5] = [
    "OTEL_EXPORTER_OTLP_HEADERS",
    "SILLOK_DATA",
    "SILLOK_LOG",
    "SILLOK_TOKEN",
    "SILLOK_URL",
];

#[test]
fn the_process_reads_every_variable_that_a_manifest_sets() {
    let folder = tempfile::tempdir().unwrap();
    let shown = Invocation::new(folder.path(), ["config", "show", "--json"]).run();
    let keys = shown.json();
    let mut variables = 0;
    containers(|_, workload, container| {
        for variable in &container.env {
            variables += 1;
            let name = &variable.name;
            let is_key = name.strip_prefix("SILLOK__").is_some_and(|key| {
                let key = key.to_lowercase().replace("__", ".");
                keys.get(&key).is_some()
            });
            assert!(
                is_key || READ.contains(&name.as_str()),
                "{}: nothing reads {name}",
                workload.name
            );
        }
    });
    assert!(variables >= 6, "{variables}");
}

#[test]
fn nodes_log_json_which_what_collects_it_can_read() {
    let mut nodes = 0;
    containers(|manifests, workload, _| {
        let volumes = workload.pod.volumes.iter();
        let maps = volumes.filter_map(|volume| volume.config_map.as_ref());
        let texts = maps.filter_map(|map| manifests.config_map(&map.name).remove("sillok.toml"));
        for text in texts {
            let folder = tempfile::tempdir().unwrap();
            let file = folder.path().join("sillok.toml");
            std::fs::write(&file, text).unwrap();
            let words = ["config", "show", "--json", "--config"];
            let shown = Invocation::new(folder.path(), words).arg(&file).run();
            let shown = shown.json();
            let said = (&shown["log.format"], &shown["log.filter"]);
            assert_eq!(said, (&"json".into(), &"info".into()));
            nodes += 1;
        }
    });
    assert!(nodes >= 2, "{nodes}");
}

/// Whether a value of the configuration is what a variable of the environment says, as text.
fn is_value(shown: &Value, said: &str) -> bool {
    match shown {
        Value::String(text) => text == said,
        Value::Null => false,
        other => serde_json::from_str::<Value>(said).is_ok_and(|said| said == *other),
    }
}

#[test]
fn every_image_is_a_target_of_the_dockerfile() {
    let dockerfile = std::fs::read_to_string(root().join("Dockerfile")).unwrap();
    let targets: BTreeSet<&str> = dockerfile
        .lines()
        .filter_map(|line| line.strip_prefix("FROM ")?.split_once(" AS "))
        .map(|(_, target)| target)
        .collect();
    containers(|_, workload, container| {
        let (image, _) = container.image.split_once(':').expect("an image has a tag");
        assert!(
            targets.contains(image),
            "{}: {image}, {targets:?}",
            workload.name
        );
    });
}

/// The names of Sillok's metrics in a text.
fn metrics_in(text: &str) -> BTreeSet<&str> {
    let words = text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
    words
        .filter(|word| word.starts_with("sillok_") && *word != "sillok_")
        .collect()
}

#[tokio::test]
async fn every_metric_of_the_dashboard_and_the_alerts_exists() {
    let cluster = Cluster::start(&["ada"]).await;
    let admin = cluster.admin("ada");
    let refused = admin.get("/v1/nothing", &[]).await;
    assert_eq!(refused.status, 404, "{}", refused.text);
    let text = admin.get("/metrics", &[]).await.text;
    let exported: BTreeSet<&str> = text
        .lines()
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| line.split(['{', ' ']).next())
        .collect();
    for file in ["alerts.yaml", "dashboard.json"] {
        let path = root().join("k8s/components/monitoring").join(file);
        let text = std::fs::read_to_string(path).unwrap();
        let named = metrics_in(&text);
        assert!(named.len() >= 5, "{file}: {named:?}");
        for name in named {
            assert!(
                exported.contains(name),
                "{file} names {name}, which no node has"
            );
        }
    }
}
