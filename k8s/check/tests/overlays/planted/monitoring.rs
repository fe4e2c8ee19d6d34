//! The mistakes in what is scraped, in alerts and in panels.

use super::Planted;

const LATE: &str = "PrometheusRule SillokStoreOutOfReach";

pub(crate) const PLANTED: &[Planted] = &[
    (
        "service-monitor",
        "ServiceMonitor/sillok",
        "sillok/scraped: \"true\"\n  name: sillok-nodes",
        "sillok/scrape: \"true\"\n  name: sillok-nodes",
    ),
    (
        "service-monitor",
        "ServiceMonitor/sillok",
        "      app.kubernetes.io/name: sillok\n      sillok/scraped: \"true\"",
        "      app.kubernetes.io/name: sillok",
    ),
    (
        "service-monitor",
        "ServiceMonitor/sillok",
        "path: /metrics\n    port: http",
        "path: /metrics\n    port: metrics",
    ),
    (
        "service-monitor",
        "ServiceMonitor/sillok",
        "path: /metrics\n    port: http",
        "path: /metrics\n    targetPort: http",
    ),
    (
        "service-monitor",
        "ServiceMonitor/sillok",
        "path: /metrics\n",
        "path: metrics\n",
    ),
    (
        "service-monitor",
        "ServiceMonitor/sillok",
        "  endpoints:\n",
        "  others:\n",
    ),
    (
        "service-monitor",
        "ServiceMonitor/sillok",
        "  endpoints:\n",
        "  namespaceSelector:\n    any: true\n  endpoints:\n",
    ),
    (
        "service-monitor",
        "ServiceMonitor/sillok",
        "sillok/monitoring: \"true\"",
        "sillok/client: \"true\"",
    ),
    (
        "watched-names",
        "PrometheusRule SillokNobodyAnswers",
        "up{namespace=\"sillok\",service=\"sillok-nodes\"} == 1",
        "up{namespace=\"sillok\",service=\"sillok\"} == 1",
    ),
    (
        "watched-names",
        "PrometheusRule SillokNodesMissing",
        "kube_statefulset_replicas{namespace=\"sillok\",statefulset=\"sillok\"}",
        "kube_statefulset_replicas{namespace=\"sillok\",statefulset=\"node\"}",
    ),
    (
        "watched-names",
        "PrometheusRule SillokNodeAway",
        "pod=~\"sillok-[0-9]+\"",
        "pod=~\"sillok-nodes-[0-9]+\"",
    ),
    (
        "watched-names",
        "PrometheusRule SillokMaintenanceFails",
        "job_name=~\"sillok-maintenance-.*\"",
        "job_name=~\"sillok-maintain-.*\"",
    ),
    (
        "watched-names",
        "PrometheusRule SillokNightlyJobLate",
        "cronjob=~\"sillok-audit|sillok-maintenance\"",
        "cronjob=~\"sillok-audit|sillok-maintain\"",
    ),
    (
        "watched-names",
        "dashboard.json panel",
        "sillok_commands_total{namespace=\\\"$namespace\\\",service=\\\"sillok-nodes\\\"}",
        "sillok_commands_total{service=\\\"sillok\\\"}",
    ),
    (
        "watched-names",
        "dashboard.json panel",
        "sillok_commands_total{namespace=\\\"$namespace\\\",service=\\\"sillok-nodes\\\"}",
        "sillok_commands_total{service=\\\"sillok-nodes\\\"}",
    ),
    (
        "watched-names",
        "PrometheusRule SillokNobodyAnswers",
        "up{namespace=\"sillok\",service=\"sillok-nodes\"} == 1",
        "up{service=\"sillok-nodes\"} == 1",
    ),
    (
        "watched-names",
        "PrometheusRule SillokNobodyAnswers",
        "up{namespace=\"sillok\",service=\"sillok-nodes\"} == 1",
        "up == 1",
    ),
    (
        "watched-names",
        "PrometheusRule SillokWantedUnknown",
        "absent(kube_statefulset_replicas{namespace=\"sillok\"",
        "absent(kube_statefulset_replicas{namespace=\"sillok-dev\"",
    ),
    (
        "watched-names",
        "PrometheusRule SillokSlotsBehind",
        "sillok_slots_behind{namespace=\"sillok\"}",
        "sillok_slots_behind{namespace=~\"sillok\"}",
    ),
    (
        "watched-names",
        "PrometheusRule SillokCommandsPanic",
        "sillok_command_panics_total{namespace=\"sillok\"}",
        "sillok_command_panics_total{namespace!=\"sillok\"}",
    ),
    (
        "watched-names",
        "PrometheusRule SillokNodesFenced",
        "sillok_fences_total{namespace=\"sillok\"}",
        "sillok_fences_total",
    ),
    (
        "watched-names",
        "PrometheusRule SillokNodeAway",
        "kind: PrometheusRule\nmetadata:\n  name: sillok\n  namespace: sillok",
        "kind: PrometheusRule\nmetadata:\n  name: sillok\n  namespace: another",
    ),
    (
        "known-series",
        "PrometheusRule SillokAuditFails",
        "kube_job_failed{",
        "kube_job_faild{",
    ),
    (
        "known-series",
        "PrometheusRule SillokNobodyAnswers",
        "absent(up{",
        "absent(upp{",
    ),
    (
        "known-series",
        "PrometheusRule SillokMaintenanceFails",
        "condition=\"true\"",
        "state=\"true\"",
    ),
    (
        "known-series",
        "PrometheusRule SillokMaintenanceFails",
        "condition=\"true\"",
        "condition=\"True\"",
    ),
    (
        "known-series",
        "PrometheusRule SillokNodeAway",
        "phase=\"Pending\"",
        "phase=\"Waiting\"",
    ),
    (
        "known-series",
        "PrometheusRule SillokNightlyJobLate",
        "max by (namespace, cronjob) (kube_cronjob_created",
        "max by (namespace, cron_job) (kube_cronjob_created",
    ),
    (
        "known-series",
        "PrometheusRule SillokNightlyJobLate",
        "unless on (namespace, cronjob)",
        "unless on (namespace, job_name)",
    ),
    (
        "known-series",
        "dashboard.json panel \"Nodes\"",
        "max by (namespace) (kube_statefulset_replicas{",
        "max by (namespace) (kube_statefulset_replica{",
    ),
    (
        "alerts",
        "SillokCommitsSlow",
        "sum by (pod, le)",
        "sum by (le)",
    ),
    (
        "alerts",
        LATE,
        "and increase(sillok_beats_total{namespace=\"sillok\"}[2m])\n        == 0",
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
        "increase(sillok_command_panics_total{namespace=\"sillok\"}[10m])",
        "sillok_command_panics_total{namespace=\"sillok\"}",
    ),
];
