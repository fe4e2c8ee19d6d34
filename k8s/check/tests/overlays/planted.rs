//! The mistakes that rules have to find. Those in what is scraped and watched lie in [`monitoring`].

pub(crate) mod monitoring;

/// A mistake in production with its workers: a rule, part of the name of what it finds, and what is written in
/// place of what.
pub(crate) type Planted = (&'static str, &'static str, &'static str, &'static str);

const NODES: &str = "StatefulSet/sillok";
const MONITOR: &str = "FoundationDBCluster/sillok-fdb general";
const WORKERS: &str = "ScaledObject/event-worker";

pub(crate) const PLANTED: &[Planted] = &[
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
    // A byte more than half of what the pod may take.
    ("index-cache", NODES, "2147483648", "4294967297"),
    ("index-cache", NODES, "memory: 8Gi", "memory: 1023Mi"),
    // What cannot be read here is held against nothing.
    (
        "index-cache",
        NODES,
        "value: \"2147483648\"",
        "valueFrom: {configMapKeyRef: {name: sillok, key: cache}}",
    ),
    ("index-cache", NODES, "2147483648", "as-much-as-there-is"),
    ("probes", NODES, "readinessProbe:", "otherProbe:"),
    ("probes", NODES, "livenessProbe:", "otherProbe:"),
    ("probes", NODES, "startupProbe:", "otherProbe:"),
    ("probes", NODES, "path: /livez", "path: /readyz"),
    (
        "probes",
        NODES,
        "path: /livez\n            port: http",
        "path: /livez\n            port: https",
    ),
    (
        "probes",
        NODES,
        "path: /livez\n            port: http",
        "path: /livez\n            port: 7412",
    ),
    (
        "probes",
        NODES,
        "path: /livez\n            port: http",
        "path: /livez",
    ),
    (
        "probes",
        NODES,
        "path: /livez\n            port: http",
        "path: livez\n            port: http",
    ),
    (
        "probes",
        NODES,
        "httpGet:\n            path: /livez",
        "tcpSocket:\n            path: /livez",
    ),
    (
        "probes",
        NODES,
        "httpGet:\n            path: /livez\n            port: http",
        "exec:\n            command: []",
    ),
    (
        "restricted",
        "Namespace/sillok",
        "enforce: restricted",
        "enforce: baseline",
    ),
    (
        "restricted",
        "Namespace/sillok",
        "pod-security.kubernetes.io/enforce:",
        "pod-security.kubernetes.io/warn:",
    ),
    (
        "restricted",
        "Namespace/sillok",
        "kind: Namespace",
        "kind: Other",
    ),
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
        "governing-service",
        NODES,
        "serviceName: sillok-nodes",
        "serviceName: sillok-node",
    ),
    (
        "governing-service",
        NODES,
        "serviceName: sillok-nodes",
        "serviceName: sillok",
    ),
    (
        "governing-service",
        NODES,
        "publishNotReadyAddresses: true\n  selector:\n    app.kubernetes.io/component: node",
        "publishNotReadyAddresses: true\n  selector:\n    app.kubernetes.io/component: audit",
    ),
    (
        "addresses",
        "CronJob/sillok-audit",
        "http://sillok:7411",
        "http://silok:7411",
    ),
    (
        "addresses",
        "CronJob/sillok-maintenance",
        "http://sillok:7411",
        "http://sillok:7412",
    ),
    (
        "addresses",
        "CronJob/sillok-maintenance",
        "http://sillok:7411",
        "http://sillok",
    ),
    (
        "addresses",
        "CronJob/sillok-maintenance",
        "http://sillok:7411",
        "http://sillok.elsewhere:7411",
    ),
    ("addresses", NODES, "nats://nats:4222", "nats://nats:4223"),
    (
        "addresses",
        "CronJob/sillok-audit",
        "- podSelector:\n        matchLabels:\n          app.kubernetes.io/component: audit",
        "- podSelector:\n        matchLabels:\n          app.kubernetes.io/component: maintenance",
    ),
    (
        "addresses",
        "CronJob/sillok-audit",
        "port: 7411\n      protocol: TCP\n    to:",
        "port: 7412\n      protocol: TCP\n    to:",
    ),
    (
        "mounted-files",
        NODES,
        "- /etc/sillok/sillok.toml",
        "- /etc/sillok/silok.toml",
    ),
    (
        "mounted-files",
        NODES,
        "path: fdb.cluster",
        "path: cluster-file",
    ),
    (
        "mounted-files",
        "CronJob/sillok-maintenance",
        "mountPath: /run/secrets/sillok\n",
        "mountPath: /run/secrets\n",
    ),
    (
        "mounted-files",
        "CronJob/sillok-audit",
        "path: admin.token",
        "path: token",
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
    // A node that may take longer for its last answers than it has to end.
    (
        "grace",
        NODES,
        "peer_timeout_ms = 3000",
        "peer_timeout_ms = 60000",
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
        "cron",
        "CronJob/sillok-maintenance",
        "containerName: maintenance",
        "containerName: audit",
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
        "nats-headless.another.svc:8222",
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
];

/// A mistake that is none of what it is written with: a rule, part of the name of what it finds, what is written
/// otherwise and as right, and the mistake.
pub(crate) type Disguised = (
    &'static str,
    &'static str,
    (&'static str, &'static str),
    (&'static str, &'static str),
);

pub(crate) const DISGUISED: [Disguised; 1] = [(
    "index-cache",
    NODES,
    ("args:\n        - --config", "command:\n        - --config"),
    ("memory: 8Gi", "memory: 1023Mi"),
)];

/// Containers that are looked at, whoever makes their pods.
pub(crate) const CONTAINERS: [&str; 5] = [
    NODES,
    "StatefulSet/nats container nats",
    "StatefulSet/nats container reloader",
    "FoundationDBCluster/sillok-fdb general container foundationdb",
    "container foundationdb-kubernetes-sidecar",
];

/// A mistake in each of them: a rule, and what is written in place of what.
pub(crate) const IN_EACH: [(&str, &str, &str); 7] = [
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
