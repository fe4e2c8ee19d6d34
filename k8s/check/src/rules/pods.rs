//! What holds for every pod.

use std::collections::BTreeSet;

use super::Found;
use crate::Manifests;
use crate::foreign::FOUNDATIONDB;
use crate::manifest::{Container, Metadata, Workload, parts};

parts! {
    Namespace { metadata: Metadata, }
}

/// The label by which a namespace says which pods it admits, and what it has to say.
const ADMISSION: (&str, &str) = ("pod-security.kubernetes.io/enforce", "restricted");
/// Kinds whose objects have pods made in their namespace.
const WITH_PODS: [&str; 4] = ["CronJob", "Deployment", "StatefulSet", FOUNDATIONDB];

/// What is made beside the manifests: by the operator who installs, or by another operator's program.
const MADE_ELSEWHERE: [(&str, &str); 3] = [
    ("Secret", "sillok"),
    ("Secret", "event-worker"),
    ("ConfigMap", "sillok-fdb-config"),
];

/// Each container of some pods.
pub(super) fn containers(workloads: Vec<Workload>, mut look: impl FnMut(&Workload, &Container)) {
    for workload in workloads {
        let pod = &workload.pod;
        for container in pod.containers.iter().chain(&pod.init_containers) {
            look(&workload, container);
        }
    }
}

pub(super) fn name(workload: &Workload, container: &Container) -> String {
    format!("{} container {}", workload.name, container.name)
}

pub(super) fn non_root(manifests: &Manifests, found: &mut Found) {
    containers(manifests.pods(), |workload, container| {
        let of_pod = workload.pod.security_context.run_as_non_root;
        if container.security_context.run_as_non_root.or(of_pod) != Some(true) {
            found.push((name(workload, container), "may run as root".to_owned()));
        }
    });
}

pub(super) fn read_only_root(manifests: &Manifests, found: &mut Found) {
    containers(manifests.pods(), |workload, container| {
        if container.security_context.read_only_root_filesystem != Some(true) {
            found.push((
                name(workload, container),
                "may write to its image's files".to_owned(),
            ));
        }
    });
}

/// Kubernetes itself refuses a pod that may do more than it needs, whoever makes it: what is checked here is
/// only what the manifests say.
pub(super) fn restricted(manifests: &Manifests, found: &mut Found) {
    let with_pods = manifests.objects.iter();
    let with_pods = with_pods.filter(|object| WITH_PODS.contains(&object.kind.as_str()));
    let namespaces: BTreeSet<&str> = with_pods.map(|object| object.namespace.as_str()).collect();
    for namespace in namespaces {
        let mut said = manifests
            .bodies::<Namespace>("Namespace")
            .into_iter()
            .filter(|(name, _)| name == namespace);
        let (label, wanted) = ADMISSION;
        let what = match said.next() {
            None => "nobody says which pods it admits".to_owned(),
            Some((_, body)) => match body.metadata.labels.get(label) {
                Some(level) if level == wanted => continue,
                Some(level) => {
                    format!("admits pods that are {level}, where {wanted} ones are enough")
                }
                None => "admits any pod".to_owned(),
            },
        };
        found.push((format!("Namespace/{namespace}"), what));
    }
}

pub(super) fn no_privileges(manifests: &Manifests, found: &mut Found) {
    containers(manifests.pods(), |workload, container| {
        let security = &container.security_context;
        let profile = security.seccomp_profile.as_ref();
        let profile = profile.or(workload.pod.security_context.seccomp_profile.as_ref());
        for (is_wrong, what) in [
            (
                security.allow_privilege_escalation != Some(false),
                "may gain privileges",
            ),
            (security.privileged == Some(true), "is privileged"),
            (
                !security.capabilities.drop.iter().any(|one| one == "ALL"),
                "keeps capabilities",
            ),
            (
                !security.capabilities.add.is_empty(),
                "is given capabilities",
            ),
            (
                profile.is_none_or(|profile| profile.kind != "RuntimeDefault"),
                "may make any system call",
            ),
        ] {
            if is_wrong {
                found.push((name(workload, container), what.to_owned()));
            }
        }
    });
}

pub(super) fn resources(manifests: &Manifests, found: &mut Found) {
    containers(manifests.pods(), |workload, container| {
        let resources = &container.resources;
        for (given, what) in [
            (
                resources.requests.contains_key("cpu"),
                "requests no processor time",
            ),
            (
                resources.requests.contains_key("memory"),
                "requests no memory",
            ),
            (
                resources.limits.contains_key("memory"),
                "may take any amount of memory",
            ),
        ] {
            if !given {
                found.push((name(workload, container), what.to_owned()));
            }
        }
    });
}

pub(super) fn pinned_image(manifests: &Manifests, found: &mut Found) {
    containers(manifests.workloads(), |workload, container| {
        let image = &container.image;
        let tag = image
            .rsplit('/')
            .next()
            .and_then(|last| last.split_once(':'));
        let is_pinned = image.contains('@') || tag.is_some_and(|(_, tag)| tag != "latest");
        if !is_pinned {
            let what = format!("the image {image} may be another one at each start");
            found.push((name(workload, container), what));
        }
    });
}

pub(super) fn no_api_token(manifests: &Manifests, found: &mut Found) {
    for workload in manifests.workloads() {
        if workload.pod.automount_service_account_token != Some(false) {
            found.push((
                workload.name,
                "has a token of Kubernetes' own API".to_owned(),
            ));
        }
    }
}

pub(super) fn mounts(manifests: &Manifests, found: &mut Found) {
    containers(manifests.workloads(), |workload, container| {
        let volumes = workload.pod.volumes.iter().map(|volume| &volume.name);
        let known: BTreeSet<&String> = volumes.chain(&workload.claims).collect();
        for mount in &container.volume_mounts {
            if !known.contains(&mount.name) {
                let what = format!("mounts {}, which is no volume", mount.name);
                found.push((name(workload, container), what));
            }
        }
    });
}

pub(super) fn references(manifests: &Manifests, found: &mut Found) {
    for workload in manifests.workloads() {
        let pod = &workload.pod;
        let account = pod.service_account_name.iter();
        let account = account.map(|name| ("ServiceAccount", name.as_str()));
        let of_volumes = pod.volumes.iter().flat_map(|volume| {
            let map = volume.config_map.as_ref();
            let secret = volume.secret.as_ref();
            let map = map.map(|map| ("ConfigMap", map.name.as_str()));
            map.into_iter()
                .chain(secret.map(|secret| ("Secret", secret.secret_name.as_str())))
        });
        for wanted in account.chain(of_volumes) {
            let (kind, name) = wanted;
            if !manifests.has(kind, name) && !MADE_ELSEWHERE.contains(&wanted) {
                let what = format!("there is no {kind} {name}");
                found.push((workload.name.clone(), what));
            }
        }
    }
}
