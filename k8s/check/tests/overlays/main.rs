//! The overlays have no findings, and each rule finds the mistakes that are planted for it.

mod planted;

use std::path::PathBuf;

use planted::{CONTAINERS, DISGUISED, IN_EACH, PLANTED, Planted, monitoring};
use sillok_k8s_check::rules::{RULES, memory, nodes};
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

/// The rule for indices in memory counts on what a node keeps of them where nobody says so.
#[test]
fn a_node_keeps_as_much_of_its_indices_as_the_rule_counts() {
    let config = folder("../crates/server/src/config/index.rs");
    let text = std::fs::read_to_string(config).unwrap();
    let named = "cache_bytes: ";
    let mut lines = text.lines().map(str::trim);
    let value = lines
        .find_map(|line| line.strip_prefix(named)?.strip_suffix(" << 30,"))
        .unwrap();
    let gibibytes: u64 = value.parse().unwrap();
    assert_eq!(gibibytes << 30, memory::INDEX_CACHE_BYTES);
}

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
    let written = PLANTED.iter().chain(monitoring::PLANTED).copied();
    let planted: Vec<Planted> = written.chain(in_each).collect();
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

#[test]
fn a_mistake_is_found_whichever_way_the_manifest_is_written() {
    let right = right();
    for (rule, object, (from, to), (well, ill)) in DISGUISED {
        let otherwise = right.replace(from, to);
        assert_ne!(
            otherwise.objects, right.objects,
            "nothing reads {from:?} any more"
        );
        assert_eq!(check(&otherwise.parse().unwrap()), [], "{to} is as right");
        let wrong = otherwise.replace(well, ill);
        assert_ne!(
            wrong.objects, otherwise.objects,
            "nothing reads {well:?} any more"
        );
        let findings = check(&wrong.parse().unwrap());
        let mut of_rule = findings.iter().filter(|finding| finding.rule == rule);
        assert!(
            of_rule.any(|finding| finding.object.contains(object)),
            "{rule} of {object}: {findings:#?}"
        );
    }
}
