//! What holds for every pod.

use std::collections::BTreeSet;

use super::Found;
use crate::Manifests;
use crate::manifest::{Container, Workload};

/// What is made beside the manifests: by the operator who installs, or by another operator's program.
const MADE_ELSEWHERE: [(&str, &str); 3] = [
    ("Secret", "sillok"),
    ("Secret", "event-worker"),
    ("ConfigMap", "sillok-fdb-config"),
];

/// Each container of some pods.
fn containers(workloads: Vec<Workload>, mut look: impl FnMut(&Workload, &Container)) {
    for workload in workloads {
        let pod = &workload.pod;
        for container in pod.containers.iter().chain(&pod.init_containers) {
            look(&workload, container);
        }
    }
}

fn name(workload: &Workload, container: &Container) -> String {
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

pub(super) fn probes(manifests: &Manifests, found: &mut Found) {
    containers(manifests.workloads(), |workload, container| {
        if !workload.is_served {
            return;
        }
        for (probe, what) in [
            (&container.startup_probe, "a slow start is taken for a hang"),
            (
                &container.readiness_probe,
                "gets requests before it is ready",
            ),
            (&container.liveness_probe, "is not restarted when it hangs"),
        ] {
            if probe.is_none() {
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
