//! Who may speak to whom.

use super::Found;
use crate::Manifests;
use crate::foreign::FOUNDATIONDB_LABEL;
use crate::manifest::{
    Labels, NetworkPolicy, Peer, PortRef, Rule, Selector, Service, ServicePort, Workload,
    is_part_of,
};

/// The label that says whose pods these are.
pub(super) const OWNER: &str = "app.kubernetes.io/name";
pub(super) const OURS: &str = "sillok";

pub(super) fn policies(manifests: &Manifests) -> Vec<(String, NetworkPolicy)> {
    let policies = manifests
        .specs::<NetworkPolicy>("NetworkPolicy")
        .into_iter();
    policies
        .map(|(name, policy)| (format!("NetworkPolicy/{name}"), policy))
        .collect()
}

pub(super) fn default_deny(manifests: &Manifests, found: &mut Found) {
    let denies = |policy: &NetworkPolicy| {
        let closes = |kind: &str| policy.policy_types.iter().any(|one| one == kind);
        policy.pod_selector.is_all()
            && policy.ingress.is_empty()
            && policy.egress.is_empty()
            && closes("Ingress")
            && closes("Egress")
    };
    if !policies(manifests).iter().any(|(_, policy)| denies(policy)) {
        let what = "whatever is not forbidden is allowed";
        found.push(("the namespace".to_owned(), what.to_owned()));
    }
}

/// Whether labels are for pods that the manifests say something of: our own, or FoundationDB's.
fn is_known(labels: &Labels) -> bool {
    is_ours(labels) || labels.contains_key(FOUNDATIONDB_LABEL)
}

fn is_ours(labels: &Labels) -> bool {
    labels.get(OWNER).is_some_and(|owner| owner == OURS)
}

/// Selectors of pods that are known select some. Those of others cannot be looked at.
pub(super) fn policies_select(manifests: &Manifests, found: &mut Found) {
    let workloads = manifests.pods();
    let is_in_vain = |selector: &Selector| {
        is_known(&selector.match_labels)
            && !workloads
                .iter()
                .any(|workload| selector.selects(&workload.labels))
    };
    for (name, policy) in policies(manifests) {
        let rules = policy.ingress.iter().chain(&policy.egress);
        let peers = rules.flat_map(|rule| rule.from.iter().chain(&rule.to));
        let peers = peers.filter_map(|peer| peer.pod_selector.as_ref());
        for selector in std::iter::once(&policy.pod_selector).chain(peers) {
            if is_in_vain(selector) {
                let what = format!("selects no pod: {:?}", selector.match_labels);
                found.push((name.clone(), what));
            }
        }
    }
}

pub(super) fn services_select(manifests: &Manifests, found: &mut Found) {
    let workloads = manifests.workloads();
    for (name, service) in manifests.specs::<Service>("Service") {
        let name = format!("Service/{name}");
        let served: Vec<_> = workloads
            .iter()
            .filter(|workload| is_part_of(&service.selector, &workload.labels))
            .collect();
        if served.is_empty() {
            found.push((name.clone(), "selects no pod".to_owned()));
        }
        for port in service.ports.iter().map(ServicePort::target) {
            if !opens(&served, &port) {
                found.push((name.clone(), format!("no container has the port {port:?}")));
            }
        }
    }
}

/// A pod of another namespace carries no label of ours: whoever looks for one there finds nobody.
pub(super) fn labels_of_others(manifests: &Manifests, found: &mut Found) {
    let is_wrong = |peer: &Peer| {
        let labels = peer
            .pod_selector
            .as_ref()
            .map(|selector| &selector.match_labels);
        peer.namespace_selector.is_some() && labels.is_some_and(is_ours)
    };
    for (name, policy) in policies(manifests) {
        let rules = policy.ingress.iter().chain(&policy.egress);
        let mut peers = rules.flat_map(|rule| rule.from.iter().chain(&rule.to));
        if peers.any(is_wrong) {
            found.push((name, "looks for our label in another namespace".to_owned()));
        }
    }
}

/// A label that anybody may give to a pod of their own opens nothing: namespaces have to be named too.
pub(super) fn named_namespaces(manifests: &Manifests, found: &mut Found) {
    let is_open = |peer: &Peer| {
        peer.namespace_selector
            .as_ref()
            .is_some_and(Selector::is_all)
    };
    for (name, policy) in policies(manifests) {
        let rules = policy.ingress.iter().chain(&policy.egress);
        let mut peers = rules.flat_map(|rule| rule.from.iter().chain(&rule.to));
        if peers.any(is_open) {
            found.push((name, "holds for pods of every namespace".to_owned()));
        }
    }
}

/// Ports are there on our own pods, and on the way out they are numbers, since not every network plugin looks
/// up the names of another pod's ports.
pub(super) fn policy_ports(manifests: &Manifests, found: &mut Found) {
    let workloads = manifests.workloads();
    for (name, policy) in policies(manifests) {
        for rule in &policy.ingress {
            let closed = closed_ports(rule, &workloads, &policy.pod_selector);
            found.extend(closed.into_iter().map(|what| (name.clone(), what)));
        }
        for rule in &policy.egress {
            let ports = rule.ports.iter().filter_map(|port| port.port.as_ref());
            for port in ports.filter(|port| matches!(port, PortRef::Name(_))) {
                let what = format!("the port {port:?} on the way out is no number");
                found.push((name.clone(), what));
            }
            let near = rule
                .to
                .iter()
                .filter(|peer| peer.namespace_selector.is_none());
            for selector in near.filter_map(|peer| peer.pod_selector.as_ref()) {
                let closed = closed_ports(rule, &workloads, selector);
                found.extend(closed.into_iter().map(|what| (name.clone(), what)));
            }
        }
    }
}

/// Ports of a rule that no pod opens, of those that are selected.
fn closed_ports(rule: &Rule, workloads: &[Workload], selector: &Selector) -> Vec<String> {
    if !is_ours(&selector.match_labels) {
        return Vec::new();
    }
    let selected = workloads
        .iter()
        .filter(|workload| selector.selects(&workload.labels));
    let selected: Vec<&Workload> = selected.collect();
    let ports = rule.ports.iter().filter_map(|port| port.port.as_ref());
    let closed = ports.filter(|port| !opens(&selected, port));
    closed
        .map(|port| format!("no container has the port {port:?}"))
        .collect()
}

/// Whether a container of some workload opens a port.
fn opens(workloads: &[&Workload], port: &PortRef) -> bool {
    let mut containers = workloads
        .iter()
        .flat_map(|workload| &workload.pod.containers);
    containers.any(|container| container.opens(port))
}
