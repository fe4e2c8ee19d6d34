//! The parts of manifests that rules read, as types.
//!
//! Fields that no rule reads are left out, and what a manifest does not say is its default here.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::foreign::NatsValues;

/// Why a text is no manifest.
#[derive(Debug, thiserror::Error)]
pub enum Unreadable {
    /// It is not YAML.
    #[error("the manifest is not YAML: {0}")]
    Syntax(String),
    /// A document is no object of Kubernetes.
    #[error("a document is no object: {0}")]
    Object(#[from] serde_json::Error),
}

/// Labels, or what selects by them.
pub type Labels = BTreeMap<String, String>;

/// All objects of an overlay.
#[derive(Debug, Clone)]
pub struct Manifests {
    /// In the order in which they were rendered.
    pub objects: Vec<Object>,
    /// What is said to NATS' chart, if anything is.
    pub nats: Option<NatsValues>,
}

/// One object.
#[derive(Debug, Clone)]
pub struct Object {
    /// Such as `Service`.
    pub kind: String,
    /// Its name.
    pub name: String,
    /// The namespace that it lies in; empty for what lies in none.
    pub namespace: String,
    /// Everything in it.
    pub body: Value,
}

impl Manifests {
    /// The objects of a rendered text.
    ///
    /// # Errors
    /// [`Unreadable`]
    pub fn parse(text: &str) -> Result<Self, Unreadable> {
        #[derive(Deserialize)]
        struct Head {
            kind: String,
            metadata: Metadata,
        }
        #[derive(Deserialize)]
        struct Metadata {
            name: String,
            #[serde(default)]
            namespace: String,
        }
        let documents = serde_saphyr::from_multiple::<Value>(text);
        let documents = documents.map_err(|error| Unreadable::Syntax(error.to_string()))?;
        let mut objects = Vec::with_capacity(documents.len());
        for body in documents {
            let head = Head::deserialize(&body)?;
            objects.push(Object {
                kind: head.kind,
                name: head.metadata.name,
                namespace: head.metadata.namespace,
                body,
            });
        }
        Ok(Self {
            objects,
            nats: None,
        })
    }

    /// Names and specs of all objects of a kind. One that does not have the form that the rules know is
    /// left to the schemas to refuse.
    pub fn specs<T: DeserializeOwned>(&self, kind: &str) -> Vec<(String, T)> {
        let of_kind = self.objects.iter().filter(|object| object.kind == kind);
        let spec = |object: &Object| {
            let spec = T::deserialize(object.body.get("spec")?).ok()?;
            Some((object.name.clone(), spec))
        };
        of_kind.filter_map(spec).collect()
    }

    /// As [`Self::specs`], for kinds that have no spec, such as a `Role`.
    pub fn bodies<T: DeserializeOwned>(&self, kind: &str) -> Vec<(String, T)> {
        let of_kind = self.objects.iter().filter(|object| object.kind == kind);
        let body =
            |object: &Object| Some((object.name.clone(), T::deserialize(&object.body).ok()?));
        of_kind.filter_map(body).collect()
    }

    /// Whatever runs pods, by Kubernetes itself.
    #[must_use]
    pub fn workloads(&self) -> Vec<Workload> {
        let sets = ["StatefulSet", "Deployment"].into_iter().flat_map(|kind| {
            let sets = self.specs::<Set>(kind).into_iter();
            sets.map(move |(name, set)| Workload {
                name: format!("{kind}/{name}"),
                replicas: set.replicas.unwrap_or(1),
                is_served: set.template.spec.opens_ports(),
                claims: set
                    .volume_claim_templates
                    .into_iter()
                    .map(|claim| claim.metadata.name)
                    .collect(),
                labels: set.template.metadata.labels,
                pod: set.template.spec,
            })
        });
        let jobs = self.specs::<CronJob>("CronJob").into_iter();
        let jobs = jobs.map(|(name, job)| Workload {
            name: format!("CronJob/{name}"),
            replicas: 1,
            is_served: false,
            claims: Vec::new(),
            labels: job.job_template.spec.template.metadata.labels,
            pod: job.job_template.spec.template.spec,
        });
        sets.chain(jobs).collect()
    }

    /// The files of a config map.
    #[must_use]
    pub fn config_map(&self, name: &str) -> Labels {
        let is_it = |object: &&Object| object.kind == "ConfigMap" && object.name == name;
        let data = self
            .objects
            .iter()
            .find(is_it)
            .and_then(|map| map.body.get("data"));
        data.and_then(|data| Labels::deserialize(data).ok())
            .unwrap_or_default()
    }

    /// Whether there is such an object.
    #[must_use]
    pub fn has(&self, kind: &str, name: &str) -> bool {
        self.objects
            .iter()
            .any(|object| object.kind == kind && object.name == name)
    }
}

/// Something that runs pods.
#[derive(Debug, Clone)]
pub struct Workload {
    /// Kind and name.
    pub name: String,
    /// How many pods there are.
    pub replicas: u32,
    /// Whether its pods answer requests: whoever opens no port asks only.
    pub is_served: bool,
    /// Names of the volumes that each pod has of its own.
    pub claims: Vec<String>,
    /// Labels of its pods.
    pub labels: Labels,
    /// Its pods.
    pub pod: PodSpec,
}

/// A value that a manifest gives as a number or as a name.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
#[allow(missing_docs, reason = "they say what they are")]
pub enum PortRef {
    Number(u16),
    Name(String),
}

/// Declares structs that read camel case and take defaults for what is not said.
macro_rules! parts {
    ($($(#[$attribute:meta])* $name:ident { $($(#[$of_field:meta])* $field:ident: $type:ty,)* })*) => {$(
        $(#[$attribute])*
        #[derive(Debug, Clone, Default, PartialEq, ::serde::Deserialize)]
        #[serde(rename_all = "camelCase", default)]
        #[allow(missing_docs, unreachable_pub, reason = "Kubernetes' own names, wherever they are read")]
        pub struct $name { $($(#[$of_field])* pub $field: $type,)* }
    )*};
}

parts! {
    /// `StatefulSet` or `Deployment`
    Set {
        replicas: Option<u32>,
        service_name: Option<String>,
        template: Template,
        volume_claim_templates: Vec<Claim>,
    }
    Claim { metadata: Metadata, }
    Metadata { name: String, labels: Labels, }
    Template { metadata: Metadata, spec: PodSpec, }
    CronJob {
        time_zone: Option<String>,
        concurrency_policy: Option<String>,
        starting_deadline_seconds: Option<u64>,
        job_template: JobTemplate,
    }
    JobTemplate { spec: Job, }
    Job { pod_failure_policy: Option<FailurePolicy>, template: Template, }
    FailurePolicy { rules: Vec<FailureRule>, }
    FailureRule { on_exit_codes: ExitCodes, }
    ExitCodes { container_name: Option<String>, }
    PodSpec {
        service_account_name: Option<String>,
        automount_service_account_token: Option<bool>,
        termination_grace_period_seconds: Option<u64>,
        restart_policy: Option<String>,
        security_context: SecurityContext,
        containers: Vec<Container>,
        init_containers: Vec<Container>,
        volumes: Vec<Volume>,
        topology_spread_constraints: Vec<Spread>,
    }
    SecurityContext {
        run_as_non_root: Option<bool>,
        read_only_root_filesystem: Option<bool>,
        allow_privilege_escalation: Option<bool>,
        privileged: Option<bool>,
        capabilities: Capabilities,
        seccomp_profile: Option<Seccomp>,
    }
    Capabilities { add: Vec<String>, drop: Vec<String>, }
    Container {
        name: String,
        image: String,
        command: Vec<String>,
        args: Vec<String>,
        env: Vec<EnvVar>,
        ports: Vec<ContainerPort>,
        resources: Resources,
        startup_probe: Option<Probe>,
        readiness_probe: Option<Probe>,
        liveness_probe: Option<Probe>,
        lifecycle: Lifecycle,
        volume_mounts: Vec<Mount>,
        security_context: SecurityContext,
    }
    /// Anything else that Kubernetes may ask by is not among it: it says nothing of what answers.
    Probe { http_get: Option<HttpGet>, exec: Option<Exec>, }
    HttpGet { path: String, port: Option<PortRef>, }
    Exec { command: Vec<String>, }
    EnvVar { name: String, value: Option<String>, }
    ContainerPort { name: String, container_port: u16, }
    Resources { requests: BTreeMap<String, Value>, limits: BTreeMap<String, Value>, }
    Lifecycle { pre_stop: PreStop, }
    PreStop { sleep: Sleep, }
    Sleep { seconds: u64, }
    Mount { name: String, mount_path: String, }
    Volume { name: String, config_map: Option<NamedMap>, secret: Option<NamedSecret>, }
    NamedMap { name: String, items: Vec<Item>, }
    NamedSecret { secret_name: String, items: Vec<Item>, }
    Item { key: String, path: String, }
    Spread { topology_key: String, label_selector: Selector, }
    Selector { match_labels: Labels, match_expressions: Vec<Value>, }
    /// A whole `Service`, with its labels.
    NamedService { metadata: Metadata, spec: Service, }
    Service {
        #[serde(rename = "clusterIP")]
        cluster_ip: Option<String>,
        selector: Labels,
        ports: Vec<ServicePort>,
    }
    ServicePort { name: String, port: u16, target_port: Option<PortRef>, }
    ServiceMonitor {
        selector: Selector,
        namespace_selector: Option<Value>,
        endpoints: Vec<Endpoint>,
    }
    Endpoint { port: String, path: String, }
    NetworkPolicy {
        pod_selector: Selector,
        policy_types: Vec<String>,
        ingress: Vec<Rule>,
        egress: Vec<Rule>,
    }
    Rule { from: Vec<Peer>, to: Vec<Peer>, ports: Vec<PolicyPort>, }
    Peer { pod_selector: Option<Selector>, namespace_selector: Option<Selector>, }
    PolicyPort { port: Option<PortRef>, }
    DisruptionBudget { selector: Selector, }
}

/// The kind of a seccomp profile.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Seccomp {
    /// Such as `RuntimeDefault`.
    #[serde(rename = "type")]
    pub kind: String,
}

pub(crate) use parts;

impl PodSpec {
    fn opens_ports(&self) -> bool {
        let mut containers = self.containers.iter();
        containers.any(|container| !container.ports.is_empty())
    }
}

impl Container {
    /// What is run, word for word: its command, where it has one in place of the image's, and its arguments.
    pub fn words(&self) -> impl Iterator<Item = &str> {
        self.command.iter().chain(&self.args).map(String::as_str)
    }

    /// What it is asked by: while it starts, before it gets requests, and then as long as it runs.
    #[must_use]
    pub fn probes(&self) -> [Option<&Probe>; 3] {
        let Self {
            startup_probe,
            readiness_probe,
            liveness_probe,
            ..
        } = self;
        [startup_probe, readiness_probe, liveness_probe].map(Option::as_ref)
    }

    /// The number of a port that it opens.
    #[must_use]
    pub fn number_of(&self, port: &PortRef) -> Option<u16> {
        let is_it = |one: &&ContainerPort| match port {
            PortRef::Name(name) => *name == one.name,
            PortRef::Number(number) => *number == one.container_port,
        };
        let found = self.ports.iter().find(is_it);
        found.map(|one| one.container_port)
    }

    /// Whether it opens a port.
    #[must_use]
    pub fn opens(&self, port: &PortRef) -> bool {
        self.number_of(port).is_some()
    }
}

impl From<u16> for PortRef {
    fn from(number: u16) -> Self {
        Self::Number(number)
    }
}

impl ServicePort {
    /// The port of the pods behind it.
    #[must_use]
    pub fn target(&self) -> PortRef {
        let same = self.port.into();
        self.target_port.clone().unwrap_or(same)
    }
}

impl Selector {
    /// Whether it selects pods with these labels. Expressions are not used here, and select nothing.
    #[must_use]
    pub fn selects(&self, labels: &Labels) -> bool {
        self.match_expressions.is_empty() && is_part_of(&self.match_labels, labels)
    }

    /// Whether it selects every pod.
    #[must_use]
    pub fn is_all(&self) -> bool {
        self.match_labels.is_empty() && self.match_expressions.is_empty()
    }
}

/// Whether all of some labels are among others.
#[must_use]
pub fn is_part_of(wanted: &Labels, labels: &Labels) -> bool {
    wanted
        .iter()
        .all(|(name, value)| labels.get(name) == Some(value))
}
