//! Pods that others make from what an overlay says: FoundationDB's operator, and NATS' chart.
//!
//! Owns which parts of a cluster and of a chart's values end up in pods, so that the rules for pods can look
//! at them too. It must not know what the operator and the chart add by themselves, such as images.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::manifest::{
    Container, Labels, Manifests, PodSpec, Template, Unreadable, Workload, parts,
};

/// The kind that FoundationDB's operator makes a cluster from.
pub const FOUNDATIONDB: &str = "FoundationDBCluster";
/// The label that says of which cluster a pod is.
pub const FOUNDATIONDB_LABEL: &str = "foundationdb.org/fdb-cluster-name";
/// What each of its pods runs, whether or not the template names it.
const FOUNDATIONDB_CONTAINERS: [&str; 2] = ["foundationdb", "foundationdb-kubernetes-sidecar"];
/// The owner's label of the servers.
const NATS: &str = "nats";

parts! {
    /// `FoundationDBCluster`
    Cluster { image_type: Option<String>, processes: BTreeMap<String, ProcessSettings>, }
    ProcessSettings { pod_template: Template, }
    /// Values of NATS' chart.
    NatsValues {
        config: NatsConfig,
        container: Extension,
        reloader: Extension,
        nats_box: NatsBox,
        pod_template: PodExtension,
    }
    NatsConfig { cluster: NatsCluster, }
    NatsCluster { enabled: bool, replicas: Option<u32>, }
    Extension { enabled: Option<bool>, merge: Container, }
    PodExtension { merge: Template, }
    NatsBox { enabled: Option<bool>, container: Extension, pod_template: PodExtension, }
}

impl NatsValues {
    /// The values in a text.
    ///
    /// # Errors
    /// [`Unreadable`]
    pub fn parse(text: &str) -> Result<Self, Unreadable> {
        let values = serde_saphyr::from_str::<Value>(text);
        let values = values.map_err(|error| Unreadable::Syntax(error.to_string()))?;
        Ok(serde_json::from_value(values)?)
    }

    fn workloads(&self) -> Vec<Workload> {
        let mut containers = vec![named(&self.container.merge, "nats")];
        if self.reloader.enabled != Some(false) {
            containers.push(named(&self.reloader.merge, "reloader"));
        }
        let cluster = &self.config.cluster;
        let replicas = if cluster.enabled {
            cluster.replicas.unwrap_or(3)
        } else {
            1
        };
        let servers = workload("StatefulSet/nats", replicas, &self.pod_template, containers);
        let has_box = self.nats_box.enabled != Some(false);
        let shell = has_box.then(|| {
            let container = named(&self.nats_box.container.merge, "nats-box");
            let pod = &self.nats_box.pod_template;
            workload("Deployment/nats-box", 1, pod, vec![container])
        });
        std::iter::once(servers).chain(shell).collect()
    }
}

fn named(container: &Container, name: &str) -> Container {
    Container {
        name: name.to_owned(),
        ..container.clone()
    }
}

fn workload(name: &str, replicas: u32, pod: &PodExtension, containers: Vec<Container>) -> Workload {
    Workload {
        name: name.to_owned(),
        replicas,
        is_served: true,
        claims: Vec::new(),
        labels: Labels::from([("app.kubernetes.io/name".to_owned(), NATS.to_owned())]),
        pod: PodSpec {
            containers,
            ..pod.merge.spec.clone()
        },
    }
}

impl Manifests {
    /// The pods that FoundationDB's operator makes, by kinds of processes.
    #[must_use]
    pub fn foundationdb(&self) -> Vec<Workload> {
        let clusters = self.specs::<Cluster>(FOUNDATIONDB).into_iter();
        let of_cluster = |(name, cluster): (String, Cluster)| {
            let mut processes = cluster.processes;
            // What no kind of processes says of its own, and all pods where nothing is said.
            processes.entry("general".to_owned()).or_default();
            let workload = move |(process, settings): (String, ProcessSettings)| Workload {
                name: format!("{FOUNDATIONDB}/{name} {process}"),
                replicas: 1,
                is_served: true,
                claims: Vec::new(),
                labels: Labels::from([(FOUNDATIONDB_LABEL.to_owned(), name.clone())]),
                pod: complete(settings.pod_template.spec),
            };
            processes.into_iter().map(workload)
        };
        clusters.flat_map(of_cluster).collect()
    }

    /// Whatever runs pods, whoever makes them.
    #[must_use]
    pub fn pods(&self) -> Vec<Workload> {
        let nats = self.nats.iter().flat_map(NatsValues::workloads);
        let others = self.foundationdb().into_iter().chain(nats);
        self.workloads().into_iter().chain(others).collect()
    }
}

/// A container that the template does not name is added by the operator, with nothing said of it.
fn complete(mut pod: PodSpec) -> PodSpec {
    for name in FOUNDATIONDB_CONTAINERS {
        if !pod
            .containers
            .iter()
            .any(|container| container.name == name)
        {
            pod.containers.push(named(&Container::default(), name));
        }
    }
    pod
}
