//! What Kubernetes asks a container by to know whether it is well. That a node answers is a test with a running one
//! (`tests/e2e/manifests.rs`).

use super::Found;
use super::pods::{containers, name};
use crate::Manifests;
use crate::manifest::{Container, Exec, Probe};

/// What comes of it that a probe is missing, in the order of [`Container::probes`].
const WITHOUT: [&str; 3] = [
    "a slow start is taken for a hang",
    "gets requests before it is ready",
    "is not restarted when it hangs",
];

pub(super) fn probes(manifests: &Manifests, found: &mut Found) {
    containers(manifests.workloads(), |workload, container| {
        let mut say = |what: String| found.push((name(workload, container), what));
        let probes = container.probes();
        for (probe, without) in probes.into_iter().zip(WITHOUT) {
            match probe {
                Some(probe) => wrong_probe(container, probe).into_iter().for_each(&mut say),
                None if workload.is_served => say(without.to_owned()),
                None => {}
            }
        }
        let [_, readiness, liveness] = probes;
        if liveness.is_some() && liveness.map(asked) == readiness.map(asked) {
            say(
                "is restarted while it only is not ready: liveness asks what readiness does"
                    .to_owned(),
            );
        }
    });
}

fn wrong_probe(container: &Container, probe: &Probe) -> Option<String> {
    match (&probe.http_get, &probe.exec) {
        (Some(asked), None) => {
            let port = asked.port.as_ref();
            if !asked.path.starts_with('/') {
                Some(format!("is asked for {:?}, which is no path", asked.path))
            } else if !port.is_some_and(|port| container.opens(port)) {
                Some(format!("is asked at {port:?}, which is no port of it"))
            } else {
                None
            }
        }
        (None, Some(run)) => {
            let is_named = run.command.first().is_some_and(|word| !word.is_empty());
            (!is_named).then(|| "a probe runs no command".to_owned())
        }
        _ => Some("a probe asks nothing that it would have to be well to answer".to_owned()),
    }
}

/// What a probe asks for, wherever it asks.
fn asked(probe: &Probe) -> (Option<&str>, Option<&Exec>) {
    let path = probe.http_get.as_ref().map(|asked| asked.path.as_str());
    (path, probe.exec.as_ref())
}
