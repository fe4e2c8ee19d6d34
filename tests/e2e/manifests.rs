//! What the Kubernetes manifests say of Sillok is true: its configuration is one that the binary takes, what they run
//! runs, every metric that they name exists (by a node, and by `k8s/check`'s list of those of others), and every image is
//! named as a target of the Dockerfile. Nothing here builds an image.

mod expressions;
mod running;

use std::collections::BTreeSet;
use std::path::PathBuf;

use serde_json::Value;
use sillok_k8s_check::manifest::{Container, Workload};
use sillok_k8s_check::{Manifests, overlays, render};

use crate::harness::binary::Invocation;

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Every container of every overlay and example that runs the binary.
fn containers(mut look: impl FnMut(&Manifests, &Workload, &Container)) {
    let folders = ["k8s/overlays", "k8s/examples"].map(|name| root().join(name));
    let overlays = folders.map(|folder| overlays(&folder).unwrap()).concat();
    assert!(overlays.len() >= 4, "{overlays:?}");
    for overlay in overlays {
        let manifests = render(&overlay).unwrap();
        let workloads = manifests.workloads().into_iter();
        for workload in workloads.filter(is_ours) {
            for container in &workload.pod.containers {
                look(&manifests, &workload, container);
            }
        }
    }
}

fn is_ours(workload: &Workload) -> bool {
    let owner = workload.labels.get("app.kubernetes.io/name");
    owner.is_some_and(|owner| owner == "sillok")
}

/// The configuration that a workload's pods read.
fn configuration(manifests: &Manifests, workload: &Workload) -> String {
    let volumes = workload.pod.volumes.iter();
    let mut maps = volumes.filter_map(|volume| volume.config_map.as_ref());
    let text = maps.find_map(|map| manifests.config_map(&map.name).remove("sillok.toml"));
    text.expect("a node has a configuration")
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
        let text = configuration(manifests, workload);
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
        let (_, listens) = shown["server.address"]
            .as_str()
            .unwrap()
            .rsplit_once(':')
            .unwrap();
        let ports = container.ports.iter();
        let ports: Vec<String> = ports.map(|port| port.container_port.to_string()).collect();
        assert_eq!(ports, [listens], "what it opens is where it listens");
    });
    assert!(nodes >= 4, "{nodes}");
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
    assert!(variables >= 24, "{variables}");
}

#[test]
fn nodes_log_json_which_what_collects_it_can_read() {
    let mut nodes = 0;
    containers(|manifests, workload, _| {
        if !workload.is_served {
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("sillok.toml");
        std::fs::write(&file, configuration(manifests, workload)).unwrap();
        let words = ["config", "show", "--json", "--config"];
        let shown = Invocation::new(folder.path(), words).arg(&file).run();
        let shown = shown.json();
        let said = (&shown["log.format"], &shown["log.filter"]);
        assert_eq!(said, (&"json".into(), &"info".into()));
        nodes += 1;
    });
    assert!(nodes >= 4, "{nodes}");
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
