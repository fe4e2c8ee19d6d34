//! The rules: each looks at all manifests of an overlay, and says what is wrong with which object.

mod addresses;
mod alerts;
mod foundationdb;
pub mod memory;
pub mod monitoring;
mod network;
pub mod nodes;
mod pods;
mod probes;
mod scaling;

use std::fmt;

use crate::Manifests;

/// What a rule found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The rule's name.
    pub rule: &'static str,
    /// Kind and name of the object.
    pub object: String,
    /// What is wrong with it.
    pub what: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} ({})", self.object, self.what, self.rule)
    }
}

/// Where rules put what they find: object, and what is wrong with it.
type Found = Vec<(String, String)>;

/// A rule: looks at all manifests of an overlay.
type Rule = fn(&Manifests, &mut Found);

/// All rules, by name.
pub const RULES: &[(&str, Rule)] = &[
    ("non-root", pods::non_root),
    ("read-only-root", pods::read_only_root),
    ("no-privileges", pods::no_privileges),
    ("restricted", pods::restricted),
    ("resources", pods::resources),
    ("index-cache", memory::index_cache),
    ("probes", probes::probes),
    ("pinned-image", pods::pinned_image),
    ("no-api-token", pods::no_api_token),
    ("mounts", pods::mounts),
    ("references", pods::references),
    ("governing-service", addresses::governing_service),
    ("addresses", addresses::addresses),
    ("mounted-files", addresses::mounted_files),
    ("default-deny", network::default_deny),
    ("policies-select", network::policies_select),
    ("services-select", network::services_select),
    ("labels-of-others", network::labels_of_others),
    ("named-namespaces", network::named_namespaces),
    ("policy-ports", network::policy_ports),
    ("monitor-rights", foundationdb::monitor_rights),
    ("scaling", scaling::scaling),
    ("service-monitor", monitoring::service_monitor),
    ("watched-names", monitoring::watched_names),
    ("known-series", monitoring::known_series),
    ("alerts", alerts::alerts),
    ("disruption", nodes::disruption),
    ("spread", nodes::spread),
    ("grace", nodes::grace),
    ("own-data", nodes::own_data),
    ("cron", nodes::cron),
];

/// What is wrong with the manifests of an overlay.
#[must_use]
pub fn check(manifests: &Manifests) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (rule, look) in RULES {
        let mut found = Found::new();
        look(manifests, &mut found);
        let finding = |(object, what)| Finding { rule, object, what };
        findings.extend(found.into_iter().map(finding));
    }
    findings
}
