//! Which series there are to be read, and what an expression reads that nobody exports.
//!
//! Owns what others than Sillok export: Prometheus itself, and kube-state-metrics by its documentation
//! (`docs/metrics/workload`). What nodes export is not written down: one that runs tells it
//! (`tests/e2e/manifests.rs`).

use std::collections::{BTreeMap, BTreeSet};

use crate::promql::{Group, Selector, groups, selectors};

/// What each metric of Sillok begins with.
const OURS: &str = "sillok_";
/// Labels that Prometheus gives to each series of a pod.
const OF_TARGET: [&str; 3] = ["namespace", "pod", "service"];

/// A label, and all values that it may have; none where these are names of objects.
type Label = (&'static str, &'static [&'static str]);

const NAMESPACE: Label = ("namespace", &[]);
const POD: Label = ("pod", &[]);
const OF_CRON_JOB: &[Label] = &[NAMESPACE, ("cronjob", &[])];
const OF_JOB: &[Label] = &[NAMESPACE, ("job_name", &[])];

/// Every metric of others that is read here, with its labels.
const OF_OTHERS: &[(&str, &[Label])] = &[
    ("up", &[NAMESPACE, POD, ("service", &[])]),
    ("kube_cronjob_created", OF_CRON_JOB),
    ("kube_cronjob_status_last_successful_time", OF_CRON_JOB),
    (
        "kube_job_failed",
        &[
            NAMESPACE,
            ("job_name", &[]),
            ("condition", &["true", "false", "unknown"]),
        ],
    ),
    ("kube_job_status_start_time", OF_JOB),
    (
        "kube_pod_status_phase",
        &[
            NAMESPACE,
            POD,
            ("uid", &[]),
            (
                "phase",
                &["Pending", "Running", "Succeeded", "Failed", "Unknown"],
            ),
        ],
    ),
    (
        "kube_statefulset_replicas",
        &[NAMESPACE, ("statefulset", &[])],
    ),
];

/// The labels of a metric, each with all values that it may have; none where any will do.
type Labels = BTreeMap<String, BTreeSet<String>>;

/// The series that there are.
#[derive(Debug, Clone)]
pub struct Exported {
    series: BTreeMap<String, Labels>,
    /// Whether those of Sillok are among them.
    has_ours: bool,
}

impl Exported {
    /// What others export. Nothing is said of Sillok's series.
    #[must_use]
    pub fn by_others() -> Self {
        let owned = |labels: &[Label]| -> Labels {
            let labels = labels.iter().map(|(label, values)| {
                let values = values.iter().map(|value| (*value).to_owned());
                ((*label).to_owned(), values.collect())
            });
            labels.collect()
        };
        let series = OF_OTHERS.iter();
        let series = series.map(|(metric, labels)| ((*metric).to_owned(), owned(labels)));
        Self {
            series: series.collect(),
            has_ours: false,
        }
    }

    /// These, and what a node exports by the text of its `/metrics`.
    #[must_use]
    pub fn and_a_node(mut self, text: &str) -> Self {
        self.has_ours = true;
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let sample = line.rsplit_once(' ').map_or(line, |(sample, _)| sample);
            let (name, labels) = sample.split_once('{').unwrap_or((sample, ""));
            let of_metric = self.series.entry(name.to_owned()).or_default();
            for label in OF_TARGET {
                of_metric.entry(label.to_owned()).or_default();
            }
            for label in labels.trim_end_matches('}').split(',') {
                if let Some((label, value)) = label.split_once('=') {
                    let values = of_metric.entry(label.to_owned()).or_default();
                    values.insert(value.trim_matches('"').to_owned());
                }
            }
        }
        self
    }

    /// These, where a label may have other values too than those that were seen.
    #[must_use]
    pub fn and_values<'a>(
        mut self,
        label: &str,
        values: impl Iterator<Item = &'a str> + Clone,
    ) -> Self {
        for labels in self.series.values_mut() {
            if let Some(known) = labels.get_mut(label) {
                known.extend(values.clone().map(str::to_owned));
            }
        }
        self
    }

    /// What an expression reads that nobody exports: metrics, labels or values that select, and labels that group
    /// what does not have them.
    #[must_use]
    pub fn unknown(&self, expr: &str) -> Vec<String> {
        let read = selectors(expr);
        let read = read.iter().filter(|selector| self.is_told(selector));
        let groups = groups(expr);
        let of_selectors = read.flat_map(|selector| self.unknown_of(selector));
        let of_groups = groups.iter().flat_map(|group| self.unknown_in(group));
        of_selectors.chain(of_groups).collect()
    }

    /// Whether it is known what there is of a metric.
    fn is_told(&self, selector: &Selector<'_>) -> bool {
        self.has_ours || !selector.metric.starts_with(OURS)
    }

    fn unknown_of(&self, selector: &Selector<'_>) -> Vec<String> {
        let metric = selector.metric;
        let Some(labels) = self.series.get(metric) else {
            return vec![metric.to_owned()];
        };
        let mut unknown = Vec::new();
        for matcher in &selector.matchers {
            let known = labels.get(matcher.label);
            let is_known =
                |value: &str| known.is_some_and(|known| known.is_empty() || known.contains(value));
            let values = matcher.values.iter().filter(|value| !is_known(value));
            let said = values.map(|value| format!("{metric}{{{}={value}}}", matcher.label));
            unknown.extend(said);
        }
        unknown
    }

    /// Labels of a group that a metric in it does not have.
    fn unknown_in(&self, group: &Group<'_>) -> Vec<String> {
        let read = selectors(group.of);
        let has = |selector: &Selector<'_>, label: &str| {
            let known = self.series.get(selector.metric);
            // A metric that there is not is said by its name.
            known.is_none_or(|labels| labels.contains_key(label))
        };
        let is_lost = |label: &&&str| read.iter().any(|selector| !has(selector, label));
        let lost = group.labels.iter().filter(is_lost);
        lost.map(|label| format!("{} {label}", group.word))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "# HELP a b\n\
        sillok_a_total{x=\"1\",y=\"2\"} 3\nsillok_a_total{x=\"4\",y=\"2\"} 5\nsillok_b 6\n# EOF\n";

    #[test]
    fn the_series_of_a_node_are_read_with_their_labels() {
        let read = Exported::by_others().and_a_node(PAGE);
        let of_a = &read.series["sillok_a_total"];
        assert_eq!(of_a["x"], BTreeSet::from(["1".to_owned(), "4".to_owned()]));
        assert_eq!(of_a.len(), 5, "those of its target are among them");
        assert_eq!(read.series["sillok_b"].len(), 3);
    }

    #[test]
    fn what_others_do_not_export_is_found_without_a_node() {
        let exported = Exported::by_others();
        for (wrong, named) in [
            ("kube_job_faild{condition=\"true\"} == 1", "kube_job_faild"),
            ("absent(upp)", "upp"),
            ("{job_name=\"a\"}", ""),
            (
                "kube_job_failed{state=\"true\"}",
                "kube_job_failed{state=true}",
            ),
            (
                "kube_job_failed{condition=\"True\"}",
                "kube_job_failed{condition=True}",
            ),
            (
                "kube_pod_status_phase{phase=~\"Pending|Waiting\"}",
                "kube_pod_status_phase{phase=Waiting}",
            ),
            (
                "max by (job) (kube_job_failed) and sum by (job) (sillok_a_total)",
                "by job",
            ),
            ("kube_job_failed and on (job_name) up == 1", "on job_name"),
        ] {
            assert_eq!(exported.unknown(wrong), [named], "{wrong}");
        }
        let right = "max by (namespace, pod) (kube_pod_status_phase{phase=\"Pending\",pod=~\"a-.*\"}) == 1 \
                     and on (anything) sillok_nothing{of=\"ours\"}";
        assert_eq!(exported.unknown(right), ["on anything"]);
        assert!(
            exported
                .unknown("sum by (of) (sillok_nothing{of=\"ours\"})")
                .is_empty()
        );
    }

    #[test]
    fn what_a_node_does_not_export_is_found_with_one() {
        let exported = Exported::by_others().and_a_node(PAGE);
        let exported = exported.and_values("y", ["7"].into_iter());
        for (wrong, named) in [
            ("sillok_c", "sillok_c"),
            (
                "sillok_a_total{x=\"1\",y=~\"2|7|8\",pod=\"p\"}",
                "sillok_a_total{y=8}",
            ),
            ("sillok_b{x=\"1\"}", "sillok_b{x=1}"),
            (
                "sum by (x) (sillok_b) or sum by (x) (sillok_a_total)",
                "by x",
            ),
        ] {
            assert_eq!(exported.unknown(wrong), [named], "{wrong}");
        }
    }
}
