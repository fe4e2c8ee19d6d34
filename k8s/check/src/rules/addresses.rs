//! What containers are told by name: addresses of others, and files.

use super::Found;
use super::network::policies;
use super::pods::{containers, name};
use crate::Manifests;
use crate::manifest::{
    Container, NetworkPolicy, Peer, PortRef, Rule, Service, Set, Volume, Workload, is_part_of,
};

/// Services that NATS' chart makes, with the port at which clients are answered.
const MADE_ELSEWHERE: [(&str, u16); 1] = [("nats", 4_222)];

/// The service that gives the pods of a stateful set their names is there, is one without an address of its own,
/// and is before these pods.
pub(super) fn governing_service(manifests: &Manifests, found: &mut Found) {
    let services = manifests.specs::<Service>("Service");
    for (name, set) in manifests.specs::<Set>("StatefulSet") {
        let governing = services
            .iter()
            .find(|(name, _)| Some(name) == set.service_name.as_ref());
        let what = match governing {
            None => "no service gives its pods names",
            Some((_, service)) if service.cluster_ip.as_deref() != Some("None") => {
                "the service of its pods' names has an address of its own"
            }
            Some((_, service)) if !is_part_of(&service.selector, &set.template.metadata.labels) => {
                "the service of its pods' names is before others"
            }
            Some(_) => continue,
        };
        found.push((format!("StatefulSet/{name}"), what.to_owned()));
    }
}

/// Every address in arguments and variables is one that a service has, and the way there is open.
pub(super) fn addresses(manifests: &Manifests, found: &mut Found) {
    containers(manifests.workloads(), |workload, container| {
        let wrong = said(container).filter_map(|word| {
            let (_, rest) = word.split_once("://")?;
            let authority = rest.split('/').next().unwrap_or_default();
            let wrong = match authority.split_once(':') {
                Some((host, port)) => wrong_address(manifests, workload, host, port.parse().ok()?),
                None => Some("names no port".to_owned()),
            };
            wrong.map(|what| format!("{word}: {what}"))
        });
        found.extend(wrong.map(|what| (name(workload, container), what)));
    });
}

/// What a container is told.
fn said(container: &Container) -> impl Iterator<Item = &str> {
    let variables = container.env.iter().filter_map(|one| one.value.as_deref());
    container.words().chain(variables)
}

fn wrong_address(
    manifests: &Manifests,
    workload: &Workload,
    host: &str,
    port: u16,
) -> Option<String> {
    let (service, namespace) = host.split_once('.').unwrap_or((host, ""));
    if !namespace.is_empty() {
        let elsewhere = |peer: &Peer| peer.namespace_selector.is_some();
        let is_out = is_let_out(manifests, workload, port, elsewhere);
        return (!is_out).then(|| "no policy lets it out to there".to_owned());
    }
    if MADE_ELSEWHERE.contains(&(service, port)) {
        return None;
    }
    let services = manifests.specs::<Service>("Service");
    let Some((_, service)) = services.iter().find(|(name, _)| name == service) else {
        return Some("there is no such service".to_owned());
    };
    let Some(port) = service.ports.iter().find(|one| one.port == port) else {
        return Some("the service does not listen there".to_owned());
    };
    let workloads = manifests.workloads();
    let mut behind = workloads
        .iter()
        .filter(|one| is_part_of(&service.selector, &one.labels));
    let is_open = behind.all(|other| reaches(manifests, workload, other, &port.target()));
    (!is_open).then(|| "no policy opens the way to there".to_owned())
}

/// Whether policies let pods speak to others: out at the port's number, and in at the port as it is called there.
fn reaches(manifests: &Manifests, from: &Workload, to: &Workload, port: &PortRef) -> bool {
    let is = |other: &Workload, peer: &Peer| {
        let selector = peer.pod_selector.as_ref();
        peer.namespace_selector.is_none()
            && selector.is_some_and(|selector| selector.selects(&other.labels))
    };
    let containers = to.pod.containers.iter();
    let mut numbers = containers.filter_map(|container| container.number_of(port));
    numbers.any(|number| is_let_out(manifests, from, number, |peer| is(to, peer)))
        && is_let_in(manifests, to, port, |peer| is(from, peer))
}

fn is_let_out(
    manifests: &Manifests,
    workload: &Workload,
    port: u16,
    is_there: impl Fn(&Peer) -> bool,
) -> bool {
    let lets_out = |rule: &Rule| rule.to.iter().any(&is_there) && names(rule, &port.into());
    let policies = policies(manifests).into_iter();
    let mut policies = policies.filter(|(_, policy)| holds_for(policy, workload));
    policies.any(|(_, policy)| policy.egress.iter().any(lets_out))
}

fn is_let_in(
    manifests: &Manifests,
    workload: &Workload,
    port: &PortRef,
    is_there: impl Fn(&Peer) -> bool,
) -> bool {
    let lets_in = |rule: &Rule| rule.from.iter().any(&is_there) && names(rule, port);
    let policies = policies(manifests).into_iter();
    let mut policies = policies.filter(|(_, policy)| holds_for(policy, workload));
    policies.any(|(_, policy)| policy.ingress.iter().any(lets_in))
}

fn holds_for(policy: &NetworkPolicy, workload: &Workload) -> bool {
    policy.pod_selector.selects(&workload.labels)
}

fn names(rule: &Rule, port: &PortRef) -> bool {
    rule.ports.iter().any(|one| one.port.as_ref() == Some(port))
}

/// Every file in arguments and variables lies in what is mounted, where it is known what that holds.
pub(super) fn mounted_files(manifests: &Manifests, found: &mut Found) {
    containers(manifests.workloads(), |workload, container| {
        let files = said(container).filter(|word| word.starts_with('/'));
        let missing = files.filter(|file| !is_mounted(manifests, workload, container, file));
        let missing = missing.map(|file| format!("{file} is not mounted"));
        found.extend(missing.map(|what| (name(workload, container), what)));
    });
}

fn is_mounted(
    manifests: &Manifests,
    workload: &Workload,
    container: &Container,
    file: &str,
) -> bool {
    container.volume_mounts.iter().any(|mount| {
        let below = file.strip_prefix(mount.mount_path.as_str());
        let Some(below) = below.and_then(|rest| rest.strip_prefix('/')) else {
            return false;
        };
        let mut volumes = workload.pod.volumes.iter();
        let volume = volumes.find(|volume| volume.name == mount.name);
        volume.is_none_or(|volume| may_hold(manifests, volume, below))
    })
}

/// Whether a volume holds a file, or nobody says what it holds.
fn may_hold(manifests: &Manifests, volume: &Volume, file: &str) -> bool {
    let map = volume.config_map.as_ref();
    let of_map = map.map(|map| &map.items);
    let items = of_map.or(volume.secret.as_ref().map(|secret| &secret.items));
    if let Some(items) = items.filter(|items| !items.is_empty()) {
        return items.iter().any(|item| item.path == file);
    }
    let known = map.filter(|map| manifests.has("ConfigMap", &map.name));
    known.is_none_or(|map| manifests.config_map(&map.name).contains_key(file))
}
