//! What alerts and panels ask for is what nodes export: metrics, the labels that select and group them, and the values
//! that these are held against.

use std::collections::{BTreeMap, BTreeSet};

use sillok_core::ErrorCode;
use sillok_k8s_check::promql::{kept, selectors};
use sillok_k8s_check::render;
use sillok_k8s_check::rules::monitoring::expressions;

use super::root;
use crate::harness::cluster::Cluster;

/// Labels that Prometheus gives to each series of a pod.
const OF_TARGET: [&str; 3] = ["namespace", "pod", "service"];

/// Each metric with its labels, and the values that they have.
type Exported = BTreeMap<String, BTreeMap<String, BTreeSet<String>>>;

fn exported(text: &str) -> Exported {
    let mut exported = Exported::new();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let sample = line.rsplit_once(' ').map_or(line, |(sample, _)| sample);
        let (name, labels) = sample.split_once('{').unwrap_or((sample, ""));
        let of_metric = exported.entry(name.to_owned()).or_default();
        for label in labels.trim_end_matches('}').split(',') {
            if let Some((label, value)) = label.split_once('=') {
                let values = of_metric.entry(label.to_owned()).or_default();
                values.insert(value.trim_matches('"').to_owned());
            }
        }
    }
    exported
}

#[test]
fn the_series_of_a_node_are_read_with_their_labels() {
    let text = "# HELP a b\na_total{x=\"1\",y=\"2\"} 3\na_total{x=\"4\",y=\"2\"} 5\nb 6\n";
    let read = exported(text);
    assert_eq!(
        read["a_total"]["x"],
        BTreeSet::from(["1".to_owned(), "4".to_owned()])
    );
    assert_eq!(read["a_total"].len(), 2);
    assert!(read["b"].is_empty());
}

/// What an expression asks for that no node exports.
fn unknown(exported: &Exported, expr: &str) -> Vec<String> {
    let mut unknown = Vec::new();
    let mut labels: BTreeSet<&str> = OF_TARGET.into();
    let read = selectors(expr);
    let (ours, others): (Vec<_>, Vec<_>) = read
        .into_iter()
        .partition(|one| one.metric.starts_with("sillok_"));
    for one in &ours {
        let Some(of_metric) = exported.get(one.metric) else {
            unknown.push(one.metric.to_owned());
            continue;
        };
        labels.extend(of_metric.keys().map(String::as_str));
        for matcher in one
            .matchers
            .iter()
            .filter(|one| !OF_TARGET.contains(&one.label))
        {
            let known = of_metric.get(matcher.label);
            let is_known = |value: &&str| match matcher.label {
                // A refusal is counted under its code once there was one.
                "code" => ErrorCode::ALL.iter().any(|code| code.as_str() == *value),
                _ => known.is_some_and(|known| known.contains(*value)),
            };
            let values = matcher.values.iter().filter(|value| !is_known(value));
            unknown
                .extend(values.map(|value| format!("{}{{{}={value}}}", one.metric, matcher.label)));
        }
    }
    // What others export is not known here.
    let lost = kept(expr)
        .into_iter()
        .filter(|label| others.is_empty() && !labels.contains(label));
    unknown.extend(lost.map(|label| format!("by {label}")));
    unknown
}

#[tokio::test]
async fn every_metric_and_label_of_the_dashboard_and_the_alerts_exists() {
    let cluster = Cluster::start(&["ada"]).await;
    let admin = cluster.admin("ada");
    let refused = admin.get("/v1/nothing", &[]).await;
    assert_eq!(refused.status, 404, "{}", refused.text);
    let exported = exported(&admin.get("/metrics", &[]).await.text);
    let expressions = expressions(&render(&root().join("k8s/overlays/prod")).unwrap());
    let (alerts, panels): (Vec<_>, Vec<_>) = expressions
        .iter()
        .partition(|(object, _)| object.starts_with("PrometheusRule"));
    assert!(alerts.len() >= 15 && panels.len() >= 30, "{expressions:?}");
    for (object, expr) in &expressions {
        let unknown = unknown(&exported, expr);
        assert!(
            unknown.is_empty(),
            "{object} asks for {unknown:?}, which no node has"
        );
    }
    for (wrong, named) in [
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
    ] {
        assert_eq!(unknown(&exported, wrong), [named]);
    }
}
