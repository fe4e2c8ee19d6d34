//! The overlays have no findings, and each rule finds the mistakes that are planted for it.

use std::path::PathBuf;

use sillok_k8s_check::rules::{RULES, nodes};
use sillok_k8s_check::{Texts, check, overlays, render};

fn folder(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("..")
        .join(name)
}

/// Every overlay and every example.
fn all() -> Vec<PathBuf> {
    let found =
        ["overlays", "examples"].map(|name| overlays(&folder(name)).expect("the folder is there"));
    let found = found.concat();
    assert!(found.len() >= 3, "{found:?}");
    found
}

#[test]
fn the_overlays_have_no_findings() {
    for overlay in all() {
        let manifests = render(&overlay).unwrap();
        assert!(!manifests.workloads().is_empty());
        let findings = check(&manifests);
        assert!(findings.is_empty(), "{}: {findings:#?}", overlay.display());
    }
}

#[test]
fn the_images_are_those_of_this_version() {
    for overlay in overlays(&folder("overlays")).unwrap() {
        for workload in render(&overlay).unwrap().workloads() {
            for container in workload.pod.containers {
                let (_, tag) = container.image.rsplit_once(':').unwrap();
                assert_eq!(tag, env!("CARGO_PKG_VERSION"), "{}", container.image);
            }
        }
    }
}

/// The rule for the time to end counts on how long a node waits for what is under way.
#[test]
fn a_node_drains_for_as_long_as_the_rule_counts() {
    let node = folder("../crates/actors/src/node.rs");
    let text = std::fs::read_to_string(node).unwrap();
    let named = "const DRAIN_MS_MAX: u64 = ";
    let value = text
        .lines()
        .find_map(|line| line.strip_prefix(named))
        .unwrap();
    let drain_ms: u64 = value
        .trim_end_matches(';')
        .replace('_', "")
        .parse()
        .unwrap();
    assert_eq!(drain_ms, nodes::DRAIN_S * 1_000);
}

/// A mistake in production with its workers: a rule, part of the name of what it finds, and what is written in
/// place of what.
type Planted = (&'static str, &'static str, &'static str, &'static str);

const NODES: &str = "StatefulSet/sillok";
const MONITOR: &str = "FoundationDBCluster/sillok-fdb general";
const WORKERS: &str = "ScaledObject/event-worker";
const LATE: &str = "PrometheusRule SillokStoreOutOfReach";

const PLANTED: &[Planted] = &[
    (
        "no-privileges",
        "container foundationdb-kubernetes-sidecar",
        "name: foundationdb-kubernetes-sidecar",
        "name: another",
    ),
    (
        "no-privileges",
        "StatefulSet/nats container reloader",
        "reloader:\n  merge:",
        "reloader:\n  forgotten:",
    ),
    (
        "no-privileges",
        "Deployment/nats-box",
        "natsBox:\n  enabled: false",
        "natsBox:\n  enabled: true",
    ),
    ("probes", NODES, "readinessProbe:", "otherProbe:"),
    ("probes", NODES, "livenessProbe:", "otherProbe:"),
    ("probes", NODES, "startupProbe:", "otherProbe:"),
    (
        "pinned-image",
        NODES,
        "image: sillok-fdb:0.1.0",
        "image: sillok-fdb:latest",
    ),
    (
        "pinned-image",
        NODES,
        "image: sillok-fdb:0.1.0",
        "image: sillok-fdb",
    ),
    (
        "no-api-token",
        NODES,
        "automountServiceAccountToken: false",
        "hostIPC: false",
    ),
    (
        "mounts",
        NODES,
        "mountPath: /tmp\n          name: tmp",
        "mountPath: /tmp\n          name: temp",
    ),
    (
        "references",
        NODES,
        "secretName: sillok",
        "secretName: forgotten",
    ),
    (
        "references",
        NODES,
        "serviceAccountName: sillok",
        "serviceAccountName: forgotten",
    ),
    (
        "default-deny",
        "the namespace",
        "podSelector: {}",
        "podSelector: {matchLabels: {a: b}}",
    ),
    (
        "policies-select",
        "NetworkPolicy/sillok",
        "app.kubernetes.io/component: audit\n          app",
        "app.kubernetes.io/component: audits\n          app",
    ),
    (
        "policies-select",
        "NetworkPolicy/sillok-shared",
        "foundationdb.org/fdb-cluster-name: sillok-fdb",
        "foundationdb.org/fdb-cluster-name: sillok",
    ),
    (
        "services-select",
        "Service/sillok",
        "targetPort: http",
        "targetPort: https",
    ),
    (
        "services-select",
        "Service/sillok-nodes",
        "selector:\n    app.kubernetes.io/component: node",
        "selector:\n    app.kubernetes.io/component: nodes",
    ),
    (
        "labels-of-others",
        "NetworkPolicy/dns",
        "k8s-app: kube-dns",
        "app.kubernetes.io/name: sillok",
    ),
    (
        "labels-of-others",
        "NetworkPolicy/foundationdb",
        "app.kubernetes.io/name: fdb-operator",
        "app.kubernetes.io/name: sillok",
    ),
    (
        "named-namespaces",
        "NetworkPolicy/foundationdb",
        "namespaceSelector:\n        matchLabels:\n          sillok/foundationdb-operator: \"true\"",
        "namespaceSelector: {}",
    ),
    (
        "named-namespaces",
        "NetworkPolicy/nats-lag",
        "namespaceSelector:\n        matchLabels:\n          sillok/scaler: \"true\"",
        "namespaceSelector: {}",
    ),
    (
        "policy-ports",
        "NetworkPolicy/sillok-audit",
        "port: 7411\n      protocol: TCP\n    to:",
        "port: http\n      protocol: TCP\n    to:",
    ),
    (
        "policy-ports",
        "NetworkPolicy/event-worker",
        "port: 7411\n      protocol: TCP\n    to:",
        "port: 7412\n      protocol: TCP\n    to:",
    ),
    (
        "policy-ports",
        "NetworkPolicy/sillok",
        "- port: http",
        "- port: https",
    ),
    (
        "monitor-rights",
        MONITOR,
        "automountServiceAccountToken: true",
        "automountServiceAccountToken: false",
    ),
    (
        "monitor-rights",
        MONITOR,
        "serviceAccountName: sillok-fdb",
        "serviceAccountName: sillok",
    ),
    ("monitor-rights", MONITOR, "  - patch\n", "  - delete\n"),
    ("monitor-rights", MONITOR, "  - update\n", ""),
    (
        "monitor-rights",
        MONITOR,
        "  resources:\n  - pods",
        "  resources:\n  - secrets",
    ),
    (
        "monitor-rights",
        MONITOR,
        "kind: RoleBinding",
        "kind: Other",
    ),
    ("monitor-rights", MONITOR, "port: 6443", "port: 6444"),
    ("monitor-rights", MONITOR, "port: 443\n", "port: 80\n"),
    (
        "disruption",
        NODES,
        "kind: PodDisruptionBudget",
        "kind: Other",
    ),
    (
        "spread",
        NODES,
        "topologyKey: kubernetes.io/hostname",
        "topologyKey: kubernetes.io/arch",
    ),
    (
        "grace",
        NODES,
        "terminationGracePeriodSeconds: 120",
        "terminationGracePeriodSeconds: 100",
    ),
    ("grace", NODES, "seconds: 5\n", "seconds: 0\n"),
    (
        "grace",
        NODES,
        "shutdown_ms_max = 10000",
        "shutdown_ms_max = 60000",
    ),
    (
        "own-data",
        NODES,
        "mountPath: /var/lib/sillok",
        "mountPath: /var/lib/other",
    ),
    ("cron", "CronJob/sillok-audit", "timeZone:", "zone:"),
    (
        "cron",
        "CronJob/sillok-audit",
        "concurrencyPolicy: Forbid",
        "concurrencyPolicy: Allow",
    ),
    (
        "cron",
        "CronJob/sillok-audit",
        "startingDeadlineSeconds:",
        "deadline:",
    ),
    (
        "cron",
        "CronJob/sillok-audit",
        "podFailurePolicy:",
        "policy:",
    ),
    (
        "cron",
        "CronJob/sillok-audit",
        "restartPolicy: Never",
        "restartPolicy: OnFailure",
    ),
    (
        "scaling",
        WORKERS,
        "scaleTargetRef:\n    name: event-worker",
        "scaleTargetRef:\n    name: another",
    ),
    (
        "scaling",
        WORKERS,
        "scaleTargetRef:\n    name: event-worker",
        "scaleTargetRef:\n    kind: StatefulSet\n    name: sillok",
    ),
    ("scaling", WORKERS, "stream: EVT", "stream: LOG"),
    (
        "scaling",
        WORKERS,
        "consumer: event-worker",
        "consumer: another",
    ),
    (
        "scaling",
        WORKERS,
        "value: EVT:event-worker",
        "value: LOG:event-worker",
    ),
    (
        "scaling",
        WORKERS,
        "minReplicaCount: 1",
        "minReplicaCount: 0",
    ),
    (
        "scaling",
        WORKERS,
        "maxReplicaCount: 10",
        "idleReplicaCount: 0",
    ),
    ("scaling", WORKERS, "  fallback:", "  others:"),
    ("scaling", WORKERS, "type: nats-jetstream", "type: cpu"),
    (
        "scaling",
        WORKERS,
        "nats-headless.sillok.svc:8222",
        "nats.sillok.svc:8222",
    ),
    (
        "scaling",
        WORKERS,
        "nats-headless.sillok.svc:8222",
        "nats-headless.sillok.svc:8223",
    ),
    (
        "scaling",
        WORKERS,
        "spec:\n  selector:\n    matchLabels:\n      app.kubernetes.io/name: event-worker",
        "spec:\n  replicas: 3\n  selector:\n    matchLabels:\n      app.kubernetes.io/name: event-worker",
    ),
    (
        "alerts",
        LATE,
        "and increase(sillok_beats_total[2m])\n        == 0",
        "",
    ),
    ("alerts", LATE, "severity: critical", "urgency: critical"),
    (
        "alerts",
        LATE,
        "        summary: Node",
        "        said: Node",
    ),
    (
        "alerts",
        "SillokCommandsPanic",
        "increase(sillok_command_panics_total[10m])",
        "sillok_command_panics_total",
    ),
];

/// Containers that are looked at, whoever makes their pods.
const CONTAINERS: [&str; 5] = [
    NODES,
    "StatefulSet/nats container nats",
    "StatefulSet/nats container reloader",
    "FoundationDBCluster/sillok-fdb general container foundationdb",
    "container foundationdb-kubernetes-sidecar",
];

/// A mistake in each of them: a rule, and what is written in place of what.
const IN_EACH: [(&str, &str, &str); 7] = [
    ("non-root", "runAsNonRoot: true", "runAsNonRoot: false"),
    (
        "read-only-root",
        "readOnlyRootFilesystem: true",
        "readOnlyRootFilesystem: false",
    ),
    (
        "no-privileges",
        "allowPrivilegeEscalation: false",
        "allowPrivilegeEscalation: true",
    ),
    ("no-privileges", "- ALL", "- NET_RAW"),
    ("no-privileges", "type: RuntimeDefault", "type: Unconfined"),
    ("resources", "limits:", "others:"),
    ("resources", "requests:", "others:"),
];

/// Production with the workers of the example: everything that there is a rule for.
fn right() -> Texts {
    let prod = Texts::of(&folder("overlays/prod")).expect("production renders");
    let example = Texts::of(&folder("examples/event-worker")).expect("the example renders");
    assert!(prod.nats_values.is_some());
    Texts {
        nats_values: prod.nats_values,
        ..example
    }
}

#[test]
fn every_rule_finds_the_mistakes_that_are_planted_for_it() {
    let right = right();
    assert_eq!(check(&right.parse().unwrap()), []);
    let in_each = CONTAINERS.into_iter().flat_map(|object| {
        let mistakes = IN_EACH.into_iter();
        mistakes.map(move |(rule, from, to)| (rule, object, from, to))
    });
    let planted: Vec<Planted> = PLANTED.iter().copied().chain(in_each).collect();
    let mut missed = Vec::new();
    for &(rule, object, from, to) in &planted {
        let wrong = right.replace(from, to);
        let is_changed = wrong.objects != right.objects || wrong.nats_values != right.nats_values;
        assert!(is_changed, "nothing reads {from:?} any more");
        let findings = check(&wrong.parse().unwrap());
        let mut of_rule = findings.iter().filter(|finding| finding.rule == rule);
        if !of_rule.any(|finding| finding.object.contains(object)) {
            missed.push((rule, object, to, findings));
        }
    }
    assert!(missed.is_empty(), "not found: {missed:#?}");
    for (rule, _) in RULES {
        assert!(
            planted.iter().any(|one| one.0 == *rule),
            "nothing is planted for {rule}"
        );
    }
}
