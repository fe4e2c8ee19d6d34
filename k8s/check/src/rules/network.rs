//! Who may speak to whom.

use super::Found;
use crate::Manifests;
use crate::manifest::{NetworkPolicy, Peer, PortRef, Selector, Service, is_part_of};

/// The label that says whose pods these are.
const OWNER: &str = "app.kubernetes.io/name";
const OURS: &str = "sillok";

fn policies(manifests: &Manifests) -> Vec<(String, NetworkPolicy)> {
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

/// Selectors of our own pods select some. Those of others cannot be looked at.
pub(super) fn policies_select(manifests: &Manifests, found: &mut Found) {
    let workloads = manifests.workloads();
    let is_in_vain = |selector: &Selector| {
        selector
            .match_labels
            .get(OWNER)
            .is_some_and(|owner| owner == OURS)
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
        for port in service
            .ports
            .iter()
            .filter_map(|port| port.target_port.as_ref())
        {
            let ports = served.iter().flat_map(|workload| &workload.pod.containers);
            let mut ports = ports.flat_map(|container| &container.ports);
            let is_there = ports.any(|one| match port {
                PortRef::Name(name) => *name == one.name,
                PortRef::Number(number) => *number == one.container_port,
            });
            if !is_there {
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
        peer.namespace_selector.is_some() && labels.is_some_and(|labels| labels.contains_key(OWNER))
    };
    for (name, policy) in policies(manifests) {
        let rules = policy.ingress.iter().chain(&policy.egress);
        let mut peers = rules.flat_map(|rule| rule.from.iter().chain(&rule.to));
        if peers.any(is_wrong) {
            found.push((name, "looks for our label in another namespace".to_owned()));
        }
    }
}
