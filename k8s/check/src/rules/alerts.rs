//! What wakes somebody. Whether there is what it reads is not decided here ([`super::monitoring`]).

use serde::Deserialize as _;

use super::Found;
use crate::Manifests;
use crate::manifest::{Labels, Object, parts};
use crate::promql::kept;

parts! {
    PrometheusRule { groups: Vec<Group>, }
    Group { rules: Vec<Alert>, }
    Alert {
        alert: Option<String>,
        expr: String,
        labels: Labels,
        annotations: Labels,
        /// That of the object that it is part of.
        #[serde(skip)]
        namespace: String,
    }
}

impl Alert {
    pub(super) fn name(&self) -> String {
        let name = self.alert.as_deref();
        format!("PrometheusRule {}", name.unwrap_or("a rule without a name"))
    }
}

/// All alerts.
pub(super) fn alerts_of(manifests: &Manifests) -> Vec<Alert> {
    let objects = manifests.objects.iter();
    let rules = objects.filter(|object| object.kind == "PrometheusRule");
    rules.flat_map(alerts_in).collect()
}

fn alerts_in(object: &Object) -> Vec<Alert> {
    let spec = object.body.get("spec");
    let rule = spec.and_then(|spec| PrometheusRule::deserialize(spec).ok());
    let groups = rule.unwrap_or_default().groups.into_iter();
    let alerts = groups.flat_map(|group| group.rules);
    let placed = alerts.map(|alert| Alert {
        namespace: object.namespace.clone(),
        ..alert
    });
    placed.collect()
}

pub(super) fn alerts(manifests: &Manifests, found: &mut Found) {
    for alert in alerts_of(manifests) {
        let mut say = |what: String| found.push((alert.name(), what));
        if !alert.labels.contains_key("severity") {
            say("nobody knows how urgent it is".to_owned());
        }
        for text in ["summary", "description"] {
            if !alert.annotations.contains_key(text) {
                say(format!("has no {text}"));
            }
        }
        for label in dropped_labels(&alert) {
            say(format!(
                "tells of the label {label}, which its expression drops"
            ));
        }
        for counter in counters_as_they_stand(&alert.expr) {
            say(format!("takes {counter} since its start, and never ends"));
        }
        let bare = without_matchers(&alert.expr);
        let asks = |what: &str| bare.contains(what);
        if asks("sillok_missed_beats_total") && !asks("increase(sillok_beats_total[2m]) == 0") {
            say("wakes somebody for one late beat of a store that answers".to_owned());
        }
    }
}

/// An expression without what selects series by their labels.
fn without_matchers(expr: &str) -> String {
    let parts = expr.split('{');
    let parts = parts.map(|part| part.split_once('}').map_or(part, |(_, rest)| rest));
    parts.collect()
}

/// Labels that an alert's texts show and that are gone by the end of its expression.
fn dropped_labels(alert: &Alert) -> Vec<&str> {
    let kept = kept(&alert.expr);
    let texts = alert.annotations.values();
    let shown = texts.flat_map(|text| text.split("$labels.").skip(1));
    let shown = shown.filter_map(|rest| rest.split([' ', '}']).next());
    let is_dropped = |label: &&str| !kept.is_empty() && !kept.contains(label);
    shown.filter(is_dropped).collect()
}

/// Counters that an expression compares as they stand, without asking how fast they grow.
fn counters_as_they_stand(expr: &str) -> Vec<&str> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let starts = expr.match_indices("sillok_").map(|(at, _)| at);
    let counters = starts.filter_map(|at| {
        let (before, rest) = expr.split_at(at);
        let name = rest.split(|c| !is_name(c)).next()?;
        let grows = before.ends_with("rate(") || before.ends_with("increase(");
        (name.ends_with("_total") && !grows).then_some(name)
    });
    counters.collect()
}
