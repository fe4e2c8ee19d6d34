//! What the manifests run, run: a node by its arguments, the jobs of the night against it, and what is asked of it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use sillok_k8s_check::manifest::ServiceMonitor;
use tempfile::TempDir;

use super::{configuration, containers};
use crate::harness::world::{log, open};
use crate::harness::{Client, Invocation, Launch, Server};

const TOKEN: &str = "slk_00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";
/// Where the manifests have the configuration lie.
const CONFIG: &str = "/etc/sillok/sillok.toml";
/// Where they have signed checkpoints lie.
const CHECKPOINTS: &str = "/var/lib/sillok-checkpoints";
const TASK: &str = "org/acme/project/p/worktree/w/task/1";

/// A node as the manifests start it, but for where its files lie and where it listens.
struct Node {
    folder: TempDir,
    server: Server,
}

impl Node {
    async fn start() -> Self {
        let mut lines = BTreeSet::new();
        containers(|manifests, workload, container| {
            if workload.is_served {
                let text = configuration(manifests, workload);
                lines.insert((container.args.clone(), text));
            }
        });
        assert_eq!(lines.len(), 1, "all nodes start alike: {lines:?}");
        let (args, text) = lines.pop_first().unwrap();
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| -> PathBuf {
            let file = folder.path().join(name);
            std::fs::write(&file, text).unwrap();
            file
        };
        assert!(text.contains(CHECKPOINTS), "{text}");
        let checkpoints = folder.path().join("checkpoints");
        std::fs::create_dir(&checkpoints).unwrap();
        let text = text.replace(CHECKPOINTS, checkpoints.to_str().unwrap());
        let config = write("sillok.toml", &text);
        let token = write("admin.token", TOKEN);
        let key = write("token.key", &"0f".repeat(32));
        assert!(args.iter().any(|word| word == CONFIG), "{args:?}");
        let words = replaced(&args, CONFIG, &config);
        let launch = Launch::by_line(&words, &folder.path().join("data"), &token)
            .env("SILLOK__NODE__NAME", "sillok-0")
            .env("SILLOK__SERVER__TOKEN_KEY_FILE", key);
        let server = launch.start().await;
        Self { folder, server }
    }
}

/// The same words with a file in place of another one.
fn replaced(words: &[String], from: &str, to: &Path) -> Vec<String> {
    let replace = |word: &String| {
        if word == from {
            to.to_str().unwrap().to_owned()
        } else {
            word.clone()
        }
    };
    words.iter().map(replace).collect()
}

#[tokio::test]
async fn a_node_that_starts_as_it_is_told_to_answers_whatever_asks_it() {
    let mut paths = BTreeSet::new();
    let (mut probes, mut scraped) = (0, 0);
    containers(|manifests, _, container| {
        for probe in container.probes().into_iter().flatten() {
            let asked = probe.http_get.as_ref().expect("a probe asks over HTTP");
            paths.insert(asked.path.clone());
            probes += 1;
        }
        for (_, monitor) in manifests.specs::<ServiceMonitor>("ServiceMonitor") {
            scraped += monitor.endpoints.len();
            paths.extend(monitor.endpoints.into_iter().map(|endpoint| endpoint.path));
        }
    });
    assert!(probes >= 12 && scraped >= 3, "{probes}, {scraped}");
    let node = Node::start().await;
    // Neither Kubernetes nor Prometheus has a token.
    let nobody = Client::new(node.server.base(), None);
    for path in &paths {
        let reply = nobody.get(path, &[]).await;
        assert_eq!(reply.status, 200, "{path}: {}", reply.text);
    }
    assert_eq!(
        nobody.get("/nothingz", &[]).await.status,
        404,
        "not all paths are answered"
    );
    node.server.stop();
}

#[tokio::test]
async fn every_job_of_the_night_succeeds_on_a_running_node() {
    let mut jobs = BTreeMap::new();
    containers(|_, workload, container| {
        if workload.name.starts_with("CronJob/") {
            let known = jobs.insert(workload.name.clone(), container.args.clone());
            let is_same = known.is_none_or(|known| known == container.args);
            assert!(is_same, "{} runs the same everywhere", workload.name);
        }
    });
    let names: Vec<&str> = jobs.keys().map(String::as_str).collect();
    assert_eq!(
        names,
        ["CronJob/sillok-audit", "CronJob/sillok-maintenance"]
    );
    let node = Node::start().await;
    let admin = Client::admin_of(&node.server);
    open(&admin, TASK).await;
    log(&admin, TASK, "There is something to look at.").await;
    let of_another = node.folder.path().join("of-another");
    std::fs::write(&of_another, TOKEN.replace("00", "ff")).unwrap();
    for (name, args) in jobs {
        let value = |option: &str| {
            let at = args.iter().position(|word| word == option);
            at.map_or_else(
                || panic!("{name} has no {option}"),
                |at| args[at + 1].clone(),
            )
        };
        let at_node = replaced(&args, &value("--url"), Path::new(node.server.base()));
        let run = |token: &Path| {
            let words = replaced(&at_node, &value("--token-file"), token);
            Invocation::new(node.folder.path(), words).run()
        };
        let ran = run(&node.folder.path().join("admin.token"));
        let said = ran.json();
        assert_eq!(
            name.ends_with("maintenance"),
            said["checkpoint"].is_string(),
            "{said}"
        );
        let refused = run(&of_another);
        assert_ne!(
            refused.status,
            Some(0),
            "{name} needs the token: {refused:?}"
        );
    }
    node.server.stop();
}
