//! What KEDA scales, and by which lag.

use super::Found;
use super::network::{OURS, OWNER, policies};
use crate::Manifests;
use crate::manifest::{Labels, PortRef, Workload, parts};

/// The trigger that asks NATS for the lag of a consumer.
const JETSTREAM: &str = "nats-jetstream";
/// The variable of nodes that names the consumers which they make.
const CONSUMERS: &str = "SILLOK__NATS__CONSUMERS";

parts! {
    ScaledObject {
        scale_target_ref: Target,
        min_replica_count: Option<u32>,
        max_replica_count: Option<u32>,
        fallback: Option<serde_json::Value>,
        triggers: Vec<Trigger>,
    }
    Target { kind: Option<String>, name: String, }
    Trigger { r#type: String, metadata: Labels, }
    Replicas { replicas: Option<u32>, }
}

pub(super) fn scaling(manifests: &Manifests, found: &mut Found) {
    for (name, scaled) in manifests.specs::<ScaledObject>("ScaledObject") {
        let target = &scaled.scale_target_ref;
        let kind = target.kind.as_deref().unwrap_or("Deployment");
        let wanted = format!("{kind}/{}", target.name);
        let mut say = |what: String| found.push((format!("ScaledObject/{name}"), what));
        let workloads = manifests.workloads();
        let Some(workload) = workloads.iter().find(|one| one.name == wanted) else {
            say(format!("there is no {wanted} to scale"));
            continue;
        };
        if workload
            .labels
            .get(OWNER)
            .is_some_and(|owner| owner == OURS)
        {
            say("scales nodes, which keep no consumer".to_owned());
        }
        let counted = manifests.specs::<Replicas>(kind).into_iter();
        let mut counted = counted.filter(|(name, _)| *name == target.name);
        if counted.any(|(_, set)| set.replicas.is_some()) {
            say(format!("{wanted} says itself how many replicas it has"));
        }
        if scaled.min_replica_count.unwrap_or(0) == 0 {
            say("without a worker nobody goes on while the lag cannot be asked for".to_owned());
        }
        if scaled.max_replica_count.is_none() {
            say("may grow to a hundred workers".to_owned());
        }
        if scaled.fallback.is_none() {
            say("nobody says what holds while the lag is not known".to_owned());
        }
        if !scaled.triggers.iter().any(|one| one.r#type == JETSTREAM) {
            say("does not follow the lag of a consumer".to_owned());
        }
        for trigger in scaled.triggers.iter().filter(|one| one.r#type == JETSTREAM) {
            wrong_trigger(manifests, workload, &trigger.metadata)
                .into_iter()
                .for_each(&mut say);
        }
    }
}

fn wrong_trigger(manifests: &Manifests, workload: &Workload, said: &Labels) -> Vec<String> {
    let mut wrong = Vec::new();
    for (key, variable) in [("stream", "STREAM"), ("consumer", "CONSUMER")] {
        let containers = workload.pod.containers.iter();
        let mut variables = containers.flat_map(|container| &container.env);
        let used = variables.find(|one| one.name == variable);
        let used = used.and_then(|one| one.value.as_ref());
        if used.is_none() || said.get(key) != used {
            wrong.push(format!(
                "asks for the lag of the {key} {:?}, where the workers have {used:?}",
                said.get(key)
            ));
        }
    }
    if !nodes_make(manifests, said) {
        wrong.push(format!("no node makes the consumer (see {CONSUMERS})"));
    }
    let endpoint = said.get("natsServerMonitoringEndpoint");
    let (host, port) = endpoint
        .and_then(|endpoint| endpoint.split_once(':'))
        .unwrap_or_default();
    if !host
        .split('.')
        .next()
        .is_some_and(|name| name.ends_with("-headless"))
    {
        wrong.push(format!("cannot ask single servers at {host:?} for a lag"));
    }
    let mut objects = manifests.objects.iter();
    let ours = objects.find(|one| one.kind == "ScaledObject");
    if host.split('.').nth(1) != ours.map(|one| one.namespace.as_str()) {
        wrong.push(format!("asks {host:?}, in another namespace"));
    }
    let is_open = policies(manifests).iter().any(|(_, policy)| {
        let owner = policy.pod_selector.match_labels.get(OWNER);
        let mut ports = policy.ingress.iter().flat_map(|rule| &rule.ports);
        owner.is_some_and(|owner| owner == "nats")
            && ports
                .any(|one| matches!(one.port, Some(PortRef::Number(n)) if n.to_string() == port))
    });
    if !is_open {
        wrong.push(format!(
            "no policy lets anybody reach NATS on port {port:?}"
        ));
    }
    wrong
}

/// Whether nodes are told to make the consumer whose lag is asked for.
fn nodes_make(manifests: &Manifests, said: &Labels) -> bool {
    let (Some(stream), Some(consumer)) = (said.get("stream"), said.get("consumer")) else {
        return false;
    };
    let wanted = format!("{stream}:{consumer}");
    let workloads = manifests.workloads();
    let nodes = workloads.iter().filter(|one| {
        let owner = one.labels.get(OWNER);
        owner.is_some_and(|owner| owner == OURS)
    });
    let variables = nodes
        .flat_map(|node| &node.pod.containers)
        .flat_map(|container| &container.env)
        .filter(|one| one.name == CONSUMERS);
    let mut named = variables
        .filter_map(|one| one.value.as_deref())
        .flat_map(|value| value.split(','));
    named.any(|name| name.trim() == wanted)
}
