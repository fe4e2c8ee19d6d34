//! What the monitor in each of FoundationDB's pods needs to tell the operator of its state: it annotates its
//! own pod, and without these annotations the operator makes no cluster.

use super::Found;
use super::network::policies;
use crate::Manifests;
use crate::foreign::{Cluster, FOUNDATIONDB};
use crate::manifest::{NetworkPolicy, PortRef, Workload, parts};

/// What the monitor does with pods.
const VERBS: [&str; 5] = ["get", "list", "watch", "update", "patch"];
/// Where Kubernetes' API listens: as a service, and on the machines behind it.
const API_PORTS: [u16; 2] = [443, 6_443];

parts! {
    Role { rules: Vec<Permission>, }
    Permission { resources: Vec<String>, verbs: Vec<String>, }
    RoleBinding { role_ref: Reference, subjects: Vec<Reference>, }
    Reference { kind: String, name: String, }
}

pub(super) fn monitor_rights(manifests: &Manifests, found: &mut Found) {
    let clusters = manifests.specs::<Cluster>(FOUNDATIONDB);
    let is_split =
        |(_, cluster): &(String, Cluster)| cluster.image_type.as_deref() == Some("split");
    if clusters.iter().all(is_split) {
        return;
    }
    for workload in manifests.foundationdb() {
        if workload.pod.automount_service_account_token != Some(true) {
            let what = "its monitor has no token of Kubernetes' API";
            found.push((workload.name.clone(), what.to_owned()));
        }
        let account = workload.pod.service_account_name.as_deref();
        for what in wrong_rights(manifests, account.unwrap_or("default")) {
            found.push((workload.name.clone(), what));
        }
        if !reaches_api(manifests, &workload) {
            let what = "its monitor does not reach Kubernetes' API";
            found.push((workload.name.clone(), what.to_owned()));
        }
    }
}

fn wrong_rights(manifests: &Manifests, account: &str) -> Vec<String> {
    let is_bound = |binding: &RoleBinding| {
        let mut subjects = binding.subjects.iter();
        subjects.any(|subject| subject.kind == "ServiceAccount" && subject.name == account)
    };
    let bindings = manifests.bodies::<RoleBinding>("RoleBinding");
    let bindings: Vec<_> = bindings.iter().filter(|(_, one)| is_bound(one)).collect();
    let roles = manifests.bodies::<Role>("Role").into_iter();
    let roles = roles.filter(|(name, _)| {
        let mut bindings = bindings.iter();
        bindings.any(|(_, one)| one.role_ref.kind == "Role" && one.role_ref.name == *name)
    });
    let permissions: Vec<Permission> = roles.flat_map(|(_, role)| role.rules).collect();
    let may = |verb: &str| {
        let mut permissions = permissions.iter();
        permissions.any(|one| one.verbs.iter().any(|known| known == verb))
    };
    let lacks = VERBS.into_iter().filter(|verb| !may(verb));
    let lacks = lacks.map(|verb| format!("its monitor may not {verb} pods"));
    let more = permissions.iter().flat_map(|one| {
        let resources = one.resources.iter().filter(|name| *name != "pods");
        let verbs = one.verbs.iter();
        resources.chain(verbs.filter(|verb| !VERBS.contains(&verb.as_str())))
    });
    let more = more.map(|what| format!("its account may more than its monitor needs: {what}"));
    lacks.chain(more).collect()
}

fn reaches_api(manifests: &Manifests, workload: &Workload) -> bool {
    let allows = |policy: &NetworkPolicy| {
        // No label selects the API: only a rule for all destinations lets through to it.
        let mut rules = policy.egress.iter().filter(|rule| rule.to.is_empty());
        let covers = |port: u16| move |one: &PortRef| *one == PortRef::Number(port);
        policy.pod_selector.selects(&workload.labels)
            && rules.any(|rule| {
                let ports: Vec<_> = rule
                    .ports
                    .iter()
                    .filter_map(|port| port.port.clone())
                    .collect();
                API_PORTS
                    .into_iter()
                    .all(|port| ports.iter().any(covers(port)))
            })
    };
    policies(manifests).iter().any(|(_, policy)| allows(policy))
}
