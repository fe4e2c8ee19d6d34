//! What alerts and panels ask for is exported: metrics, the labels that select and group them, and the values that these
//! are held against. Nodes' series are those of one that runs, others' are written down (`k8s/check/src/series.rs`).

use sillok_core::ErrorCode;
use sillok_k8s_check::render;
use sillok_k8s_check::rules::monitoring::expressions;
use sillok_k8s_check::series::Exported;

use super::root;
use crate::harness::cluster::Cluster;

/// What is asked wrongly, and what of it nobody exports.
const WRONG: [(&str, &str); 9] = [
    ("sillok_nothing_total", "sillok_nothing_total"),
    (
        "sillok_bus_requests_total{outcome=\"unseal\"}",
        "sillok_bus_requests_total{outcome=unseal}",
    ),
    (
        "sillok_refusals_total{code=~\"busy|bussy\"}",
        "sillok_refusals_total{code=bussy}",
    ),
    (
        "sillok_beats_total{outcome=\"late\"}",
        "sillok_beats_total{outcome=late}",
    ),
    ("sum by (streams) (sillok_stream_lag_seconds)", "by streams"),
    (
        "sum by (streams) (sillok_stream_lag_seconds) and on (namespace) up == 1",
        "by streams",
    ),
    ("kube_job_faild{condition=\"true\"}", "kube_job_faild"),
    (
        "kube_job_failed{state=\"true\"}",
        "kube_job_failed{state=true}",
    ),
    ("max by (job) (kube_job_failed)", "by job"),
];

#[tokio::test]
async fn every_metric_and_label_of_the_dashboard_and_the_alerts_exists() {
    let cluster = Cluster::start(&["ada"]).await;
    let admin = cluster.admin("ada");
    let refused = admin.get("/v1/nothing", &[]).await;
    assert_eq!(refused.status, 404, "{}", refused.text);
    // A refusal is counted under its code once there was one.
    let codes = ErrorCode::ALL.iter().map(|code| code.as_str());
    let exported = Exported::by_others()
        .and_a_node(&admin.get("/metrics", &[]).await.text)
        .and_values("code", codes);
    let expressions = expressions(&render(&root().join("k8s/overlays/prod")).unwrap());
    let (alerts, panels): (Vec<_>, Vec<_>) = expressions
        .iter()
        .partition(|(object, _)| object.starts_with("PrometheusRule"));
    assert!(alerts.len() >= 15 && panels.len() >= 30, "{expressions:?}");
    for (object, expr) in &expressions {
        let unknown = exported.unknown(expr);
        assert!(
            unknown.is_empty(),
            "{object} asks for {unknown:?}, which nobody exports"
        );
    }
    for (wrong, named) in WRONG {
        assert_eq!(exported.unknown(wrong), [named]);
    }
}
