//! The overlays have no findings, and each rule finds the mistake that is planted for it.

use std::path::PathBuf;

use sillok_k8s_check::render::render_text;
use sillok_k8s_check::rules::RULES;
use sillok_k8s_check::{Manifests, check, overlays};

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../overlays")
}

#[test]
fn the_overlays_have_no_findings() {
    let overlays = overlays(&folder()).unwrap();
    assert!(overlays.len() >= 2, "{overlays:?}");
    for overlay in overlays {
        let manifests = Manifests::parse(&render_text(&overlay).unwrap()).unwrap();
        assert!(!manifests.workloads().is_empty());
        let findings = check(&manifests);
        assert!(findings.is_empty(), "{}: {findings:#?}", overlay.display());
    }
}

/// A rule, and a mistake in the production overlay: what is written in place of what.
const PLANTED: &[(&str, &str, &str)] = &[
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
    ("probes", "readinessProbe:", "otherProbe:"),
    ("probes", "livenessProbe:", "otherProbe:"),
    ("probes", "startupProbe:", "otherProbe:"),
    (
        "pinned-image",
        "image: sillok-fdb:0.1.0",
        "image: sillok-fdb:latest",
    ),
    (
        "pinned-image",
        "image: sillok-fdb:0.1.0",
        "image: sillok-fdb",
    ),
    (
        "no-api-token",
        "automountServiceAccountToken: false",
        "hostIPC: false",
    ),
    (
        "mounts",
        "mountPath: /tmp\n          name: tmp",
        "mountPath: /tmp\n          name: temp",
    ),
    ("references", "secretName: sillok", "secretName: forgotten"),
    (
        "references",
        "serviceAccountName: sillok",
        "serviceAccountName: forgotten",
    ),
    (
        "default-deny",
        "podSelector: {}",
        "podSelector: {matchLabels: {a: b}}",
    ),
    (
        "policies-select",
        "app.kubernetes.io/component: audit\n          app",
        "app.kubernetes.io/component: audits\n          app",
    ),
    ("services-select", "targetPort: http", "targetPort: https"),
    (
        "services-select",
        "selector:\n    app.kubernetes.io/component: node",
        "selector:\n    app.kubernetes.io/component: nodes",
    ),
    (
        "labels-of-others",
        "k8s-app: kube-dns",
        "app.kubernetes.io/name: sillok",
    ),
    ("disruption", "kind: PodDisruptionBudget", "kind: Other"),
    (
        "spread",
        "topologyKey: kubernetes.io/hostname",
        "topologyKey: kubernetes.io/arch",
    ),
    (
        "grace",
        "terminationGracePeriodSeconds: 60",
        "terminationGracePeriodSeconds: 30",
    ),
    ("grace", "seconds: 5\n", "seconds: 0\n"),
    (
        "grace",
        "shutdown_ms_max = 10000",
        "shutdown_ms_max = 60000",
    ),
    (
        "own-data",
        "mountPath: /var/lib/sillok",
        "mountPath: /var/lib/other",
    ),
    ("cron", "timeZone:", "zone:"),
    (
        "cron",
        "concurrencyPolicy: Forbid",
        "concurrencyPolicy: Allow",
    ),
    ("cron", "startingDeadlineSeconds:", "deadline:"),
    ("cron", "podFailurePolicy:", "policy:"),
    ("cron", "restartPolicy: Never", "restartPolicy: OnFailure"),
];

#[test]
fn every_rule_finds_the_mistake_that_is_planted_for_it() {
    let right = render_text(&folder().join("prod")).unwrap();
    for (rule, from, to) in PLANTED {
        assert!(right.contains(from), "nothing reads {from:?} any more");
        let wrong = Manifests::parse(&right.replace(from, to)).unwrap();
        let findings = check(&wrong);
        let is_found = findings.iter().any(|finding| finding.rule == *rule);
        assert!(is_found, "{rule}: {to:?} is not found, but {findings:#?}");
    }
    for (rule, _) in RULES {
        assert!(
            PLANTED.iter().any(|planted| planted.0 == *rule),
            "nothing is planted for {rule}"
        );
    }
}
