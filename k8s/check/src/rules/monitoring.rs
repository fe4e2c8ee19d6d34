//! What is scraped, and that whatever asks for it by name asks for something that there is.

use std::collections::BTreeSet;

use serde_json::Value;

use super::Found;
use super::alerts::{Alert, alerts_of};
use super::network::policies;
use crate::Manifests;
use crate::manifest::{
    Endpoint, Metadata, NamedService, NetworkPolicy, PolicyPort, PortRef, Rule, ServiceMonitor,
    Workload, is_part_of, parts,
};
use crate::promql::{self, Matcher, Selector};
use crate::series::Exported;

/// The label of namespaces that Prometheus asks from.
const PROMETHEUS: &str = "sillok/monitoring";
/// The label of config maps that Grafana shows.
const DASHBOARD: &str = "grafana_dashboard";
/// How a panel names the namespace that somebody chose to look at.
const CHOSEN_NAMESPACE: &str = "$namespace";

parts! {
    Dashboard { metadata: Metadata, data: crate::manifest::Labels, }
}

pub(super) fn service_monitor(manifests: &Manifests, found: &mut Found) {
    for (name, monitor) in manifests.specs::<ServiceMonitor>("ServiceMonitor") {
        let mut say = |what: String| found.push((format!("ServiceMonitor/{name}"), what));
        let services = selected(manifests, &monitor);
        match services.len() {
            0 => say("selects no service".to_owned()),
            1 => {}
            _ => say("asks each pod once for every service before it".to_owned()),
        }
        if monitor.namespace_selector.is_some() {
            say("looks for services elsewhere than beside it".to_owned());
        }
        if monitor.endpoints.is_empty() {
            say("asks at no port".to_owned());
        }
        for (service, body) in &services {
            for endpoint in &monitor.endpoints {
                let wrong = wrong_endpoint(manifests, service, body, endpoint);
                wrong.into_iter().for_each(&mut say);
            }
        }
    }
}

/// The services that are scraped.
fn selected(manifests: &Manifests, monitor: &ServiceMonitor) -> Vec<(String, NamedService)> {
    let services = manifests.bodies::<NamedService>("Service").into_iter();
    let selector = &monitor.selector;
    let is_selected = |(_, service): &(String, NamedService)| {
        !selector.is_all() && selector.selects(&service.metadata.labels)
    };
    services.filter(is_selected).collect()
}

fn wrong_endpoint(
    manifests: &Manifests,
    name: &str,
    service: &NamedService,
    endpoint: &Endpoint,
) -> Option<String> {
    if !endpoint.path.starts_with('/') {
        return Some(format!("asks for {:?}, which is no path", endpoint.path));
    }
    let mut ports = service.spec.ports.iter();
    let Some(port) = ports.find(|port| port.name == endpoint.port && !port.name.is_empty()) else {
        return Some(format!("Service/{name} has no port {:?}", endpoint.port));
    };
    let workloads = manifests.workloads();
    let mut scraped = workloads
        .iter()
        .filter(|workload| is_part_of(&service.spec.selector, &workload.labels));
    let is_closed =
        scraped.any(|workload| !lets_prometheus_in(manifests, workload, &port.target()));
    is_closed.then(|| format!("no policy lets Prometheus in to the pods of Service/{name}"))
}

fn lets_prometheus_in(manifests: &Manifests, workload: &Workload, port: &PortRef) -> bool {
    let is_open = |one: &PolicyPort| one.port.as_ref() == Some(port);
    let lets_in = |rule: &Rule| {
        let mut namespaces = rule
            .from
            .iter()
            .filter_map(|peer| peer.namespace_selector.as_ref());
        namespaces.any(|selector| selector.match_labels.contains_key(PROMETHEUS))
            && rule.ports.iter().any(is_open)
    };
    let opens = |policy: &NetworkPolicy| {
        policy.pod_selector.selects(&workload.labels) && policy.ingress.iter().any(lets_in)
    };
    policies(manifests).iter().any(|(_, policy)| opens(policy))
}

/// Series carry names of Kubernetes' objects: an alert or a panel that selects by one that is not there is silent
/// for ever.
pub(super) fn watched_names(manifests: &Manifests, found: &mut Found) {
    for (object, expr) in expressions(manifests) {
        let selectors = promql::selectors(&expr);
        for matcher in selectors.iter().flat_map(|selector| &selector.matchers) {
            let unknown = unknown_names(manifests, matcher).into_iter();
            let unknown = unknown.map(|name| format!("{} {name:?} is not there", matcher.label));
            found.extend(unknown.map(|what| (object.clone(), what)));
        }
    }
    for (panel, expr) in panels(manifests) {
        let of_all = promql::selectors(&expr).into_iter();
        let of_all = of_all.filter(|selector| !is_of_namespace(selector, CHOSEN_NAMESPACE));
        let what = of_all.map(|one| format!("reads {} of all namespaces", one.metric));
        found.extend(what.map(|what| (panel.clone(), what)));
    }
    for alert in alerts_of(manifests) {
        let elsewhere = promql::selectors(&alert.expr).into_iter();
        let elsewhere = elsewhere.filter(|selector| !is_of_namespace(selector, &alert.namespace));
        let what = elsewhere.map(|one| {
            let Alert { namespace, .. } = &alert;
            format!(
                "reads {} elsewhere than in the namespace {namespace:?}",
                one.metric
            )
        });
        found.extend(what.map(|what| (alert.name(), what)));
    }
}

/// Whether a selector takes the series of one namespace alone: there may be another installation in the cluster, whose
/// nodes are no business of this one.
fn is_of_namespace(selector: &Selector<'_>, namespace: &str) -> bool {
    let mut matchers = selector.matchers.iter();
    matchers.any(|matcher| {
        let is_equal = matcher.label == "namespace" && matcher.operator == "=";
        is_equal && matcher.values == [namespace]
    })
}

/// An alert or a panel that reads what nobody exports is silent for ever, too.
pub(super) fn known_series(manifests: &Manifests, found: &mut Found) {
    let exported = Exported::by_others();
    for (object, expr) in expressions(manifests) {
        let unknown = exported.unknown(&expr).into_iter();
        let unknown = unknown.map(|what| format!("asks for {what:?}, which nobody exports"));
        found.extend(unknown.map(|what| (object.clone(), what)));
    }
}

/// Every expression of an alert or of a panel, with what it belongs to.
#[must_use]
pub fn expressions(manifests: &Manifests) -> Vec<(String, String)> {
    let alerts = alerts_of(manifests).into_iter();
    let alerts = alerts.map(|alert| (alert.name(), alert.expr));
    alerts.chain(panels(manifests)).collect()
}

/// Expressions of all panels of all dashboards.
fn panels(manifests: &Manifests) -> Vec<(String, String)> {
    let maps = manifests.bodies::<Dashboard>("ConfigMap").into_iter();
    let maps = maps.filter(|(_, map)| map.metadata.labels.contains_key(DASHBOARD));
    let files = maps.flat_map(|(_, map)| map.data);
    let mut expressions = Vec::new();
    for (file, text) in files {
        let read = serde_json::from_str::<Value>(&text);
        let panels = read
            .as_ref()
            .ok()
            .and_then(|read| read["panels"].as_array());
        for panel in panels.into_iter().flatten() {
            let object = format!("{file} panel {}", panel["title"]);
            let targets = panel["targets"].as_array().into_iter().flatten();
            let of_panel = targets.filter_map(|target| target["expr"].as_str());
            expressions.extend(of_panel.map(|expr| (object.clone(), expr.to_owned())));
        }
    }
    expressions
}

/// Those of a matcher's values that name no object.
fn unknown_names<'a>(manifests: &Manifests, matcher: &Matcher<'a>) -> Vec<&'a str> {
    let scraped = || -> BTreeSet<String> {
        let monitors = manifests.specs::<ServiceMonitor>("ServiceMonitor");
        let services = monitors
            .iter()
            .flat_map(|(_, one)| selected(manifests, one));
        services.map(|(name, _)| name).collect()
    };
    let is_known = |value: &str| match matcher.label {
        "service" => scraped().contains(value),
        "statefulset" => manifests.has("StatefulSet", value),
        "cronjob" => manifests.has("CronJob", value),
        // What belongs to an object has its name and a part of its own.
        "pod" => is_owned(manifests, "StatefulSet", value, "-[0-9]+"),
        "job_name" => is_owned(manifests, "CronJob", value, "-.*"),
        _ => true,
    };
    let values = matcher.values.iter().copied();
    values.filter(|value| !is_known(value)).collect()
}

fn is_owned(manifests: &Manifests, kind: &str, pattern: &str, rest: &str) -> bool {
    let owner = pattern.strip_suffix(rest);
    owner.is_some_and(|owner| manifests.has(kind, owner))
}
