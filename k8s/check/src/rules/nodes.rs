//! What holds for nodes that come and go, and for what runs at night.

use super::Found;
use crate::Manifests;
use crate::manifest::{CronJob, DisruptionBudget, Job, Mount, NamedMap, PodSpec, Workload};

/// How long a node waits at its end for commands that are under way, in s, once connections have ended.
pub const DRAIN_S: u64 = 30;
/// What it has for handing its slots over then, in s. One takes two at most, and mostly none, since nothing is
/// under way any more; what is left is taken by others.
const HANDOVER_S: u64 = 60;
/// How long a node waits for another one where its configuration does not say so, in ms.
const PEER_TIMEOUT_MS: u64 = 3_000;
/// What is spared for the last answers to others, in s.
const SPARED_S: u64 = 1;
/// Where the configuration lies in its config map.
const CONFIG_FILE: &str = "sillok.toml";

/// What there are several pods of.
fn several(manifests: &Manifests) -> impl Iterator<Item = Workload> {
    let workloads = manifests.workloads().into_iter();
    workloads.filter(|workload| workload.replicas > 1)
}

pub(super) fn disruption(manifests: &Manifests, found: &mut Found) {
    let budgets = manifests.specs::<DisruptionBudget>("PodDisruptionBudget");
    for workload in several(manifests) {
        let covers =
            |(_, budget): &(String, DisruptionBudget)| budget.selector.selects(&workload.labels);
        if !budgets.iter().any(covers) {
            let what = "all of its pods may be evicted at once";
            found.push((workload.name, what.to_owned()));
        }
    }
}

pub(super) fn spread(manifests: &Manifests, found: &mut Found) {
    for workload in several(manifests) {
        let mut constraints = workload.pod.topology_spread_constraints.iter();
        let is_spread = constraints.any(|spread| {
            spread.topology_key == "kubernetes.io/hostname"
                && spread.label_selector.selects(&workload.labels)
        });
        if !is_spread {
            let what = "all of its pods may run on one machine";
            found.push((workload.name, what.to_owned()));
        }
    }
}

pub(super) fn grace(manifests: &Manifests, found: &mut Found) {
    for workload in manifests
        .workloads()
        .into_iter()
        .filter(|workload| workload.is_served)
    {
        let pod = &workload.pod;
        let waits = pod
            .containers
            .iter()
            .map(|container| container.lifecycle.pre_stop.sleep.seconds);
        let waits_s = waits.max().unwrap_or(0);
        if waits_s == 0 {
            let what = "ends while requests are still sent to it";
            found.push((workload.name.clone(), what.to_owned()));
        }
        let config = config(manifests, pod);
        let shutdown_ms = number(&config, "server", "shutdown_ms_max").unwrap_or(0);
        let peer_ms = number(&config, "nats", "peer_timeout_ms").unwrap_or(PEER_TIMEOUT_MS);
        // It answers what other nodes gave it, and then what came meanwhile.
        let last_answers_s = (2 * peer_ms).div_ceil(1_000) + SPARED_S;
        let needed_s =
            waits_s + shutdown_ms.div_ceil(1_000) + DRAIN_S + HANDOVER_S + last_answers_s;
        let given_s = pod.termination_grace_period_seconds.unwrap_or(30);
        if given_s < needed_s {
            let what = format!("is killed after {given_s} s, and may need {needed_s}");
            found.push((workload.name.clone(), what));
        }
    }
}

/// The configuration of a node; an empty one where its pod is given none.
pub(super) fn config(manifests: &Manifests, pod: &PodSpec) -> toml::Table {
    let maps = pod.volumes.iter();
    let mut maps = maps.filter_map(|volume| volume.config_map.as_ref());
    let read = |map: &NamedMap| -> Option<toml::Table> {
        let files = manifests.config_map(&map.name);
        files.get(CONFIG_FILE)?.parse().ok()
    };
    maps.find_map(read).unwrap_or_default()
}

/// A number of the configuration.
pub(super) fn number(config: &toml::Table, section: &str, key: &str) -> Option<u64> {
    let number = config.get(section)?.get(key)?.as_integer()?;
    u64::try_from(number).ok()
}

/// The data directory of a node is a volume of its own, which outlives its pod.
pub(super) fn own_data(manifests: &Manifests, found: &mut Found) {
    for workload in manifests
        .workloads()
        .into_iter()
        .filter(|workload| workload.is_served)
    {
        let mut mounts = workload
            .pod
            .containers
            .iter()
            .flat_map(|container| &container.volume_mounts);
        let is_data = |mount: &Mount| {
            mount.mount_path == "/var/lib/sillok" && workload.claims.contains(&mount.name)
        };
        if !mounts.any(is_data) {
            let what = "its data are gone with its pod";
            found.push((workload.name.clone(), what.to_owned()));
        }
    }
}

pub(super) fn cron(manifests: &Manifests, found: &mut Found) {
    for (name, cron) in manifests.specs::<CronJob>("CronJob") {
        let job = &cron.job_template.spec;
        for (is_wrong, what) in [
            (
                cron.time_zone.is_none(),
                "nobody says in which time zone it runs",
            ),
            (
                cron.concurrency_policy.as_deref() != Some("Forbid"),
                "may run while the last one still does",
            ),
            (
                cron.starting_deadline_seconds.is_none(),
                "is not started any more after it was missed a hundred times",
            ),
            (
                job.pod_failure_policy.is_none(),
                "is tried again whatever it answered",
            ),
            (
                job.template.spec.restart_policy.as_deref() != Some("Never"),
                "is restarted in place, where no policy for failures counts",
            ),
            (
                !judges_own_containers(job),
                "judges the exit codes of a container that it does not have",
            ),
        ] {
            if is_wrong {
                found.push((format!("CronJob/{name}"), what.to_owned()));
            }
        }
    }
}

/// Whether each rule for exit codes names a container that there is: one that does not is never met.
fn judges_own_containers(job: &Job) -> bool {
    let rules = job
        .pod_failure_policy
        .iter()
        .flat_map(|policy| &policy.rules);
    let mut judged = rules.filter_map(|rule| rule.on_exit_codes.container_name.as_ref());
    judged.all(|name| {
        let mut containers = job.template.spec.containers.iter();
        containers.any(|container| container.name == *name)
    })
}
