//! Every cell, with a real request: it is carried out, or denied by the right rule and nothing is
//! written.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use sillok_core::principal::PrincipalKind;
use sillok_core::scope::Level;

use super::{counts, events, routes, tables, writes};
use crate::harness::samples::{STEERS, Sample, WRITES};
use crate::harness::{Client, ORG, PROJECT, World};

/// One principal of each kind whose token covers the organisation, and the requests that were
/// denied, by rule.
struct Stage {
    world: World,
    principals: BTreeMap<PrincipalKind, Client>,
    denied: BTreeMap<&'static str, u64>,
    /// Rules of the control table that a request was decided by.
    decided: BTreeSet<String>,
}

impl Stage {
    async fn set() -> Self {
        let world = World::start().await;
        let mut principals = BTreeMap::new();
        for kind in PrincipalKind::ALL {
            principals.insert(kind, world.principal(kind, ORG).await);
        }
        Self {
            world,
            principals,
            denied: BTreeMap::new(),
            decided: BTreeSet::new(),
        }
    }

    /// Sends a request as a principal of each kind. The sample is made anew for each, since a
    /// request that is carried out uses it up.
    async fn check(
        &mut self,
        route: &str,
        level: Level,
        change: impl Fn(&mut Value),
        row: &[(&'static str, bool)],
    ) {
        for (kind, (rule, allowed)) in PrincipalKind::ALL.into_iter().zip(row.iter().copied()) {
            let mut sample = self.world.sample(route, level).await;
            change(&mut sample.body);
            self.check_cell(kind, &sample, rule, allowed).await;
        }
    }

    async fn check_cell(
        &mut self,
        kind: PrincipalKind,
        sample: &Sample,
        rule: &'static str,
        allowed: bool,
    ) {
        let cell = format!("{kind} at {} in {}", sample.route, sample.scope);
        let client = &self.principals[&kind];
        let before = counts(&self.world, &sample.scope).await;
        let reply = client.post(&sample.route, &sample.body).await;
        self.decided.insert(rule.to_owned());
        if allowed {
            assert_eq!(
                reply.status, 200,
                "{cell} is allowed by {rule}: {}",
                reply.text
            );
            sample.settle(client, &reply.body).await;
            let after = counts(&self.world, &sample.scope).await;
            assert!(after.1 > before.1, "{cell} was answered and not written");
            return;
        }
        assert_eq!(
            reply.status, 403,
            "{cell} is denied by {rule}: {}",
            reply.text
        );
        let problem = reply.refused(403, "forbidden");
        assert_eq!(problem["rule"], rule, "{cell}: {problem}");
        *self.denied.entry(rule).or_default() += 1;
        let after = counts(&self.world, &sample.scope).await;
        assert_eq!(
            after.1, before.1,
            "{cell} was denied, and something was written"
        );
        assert!(
            after.0 <= before.0 + 1,
            "{cell} was denied, and more than that was noted"
        );
    }

    /// Denials are counted by rule, and at least one of each rule is in a scope's log.
    async fn check_audit(&self) {
        let metrics = self.world.admin().get("/metrics", &[]).await.text;
        for (rule, count) in &self.denied {
            let label = format!("sillok_refusals_total{{code=\"forbidden\",rule=\"{rule}\"}} ");
            let counted = metrics.lines().find_map(|line| line.strip_prefix(&label));
            let counted: u64 = counted.unwrap_or_default().parse().unwrap_or_default();
            assert!(
                counted >= *count,
                "{rule}: {count} denials, {counted} counted"
            );
        }
        let verdict = self.world.sillok("audit verify --json").json();
        assert_eq!(verdict["ok"], true, "{verdict}");
    }
}

fn is_entry(route: &str) -> bool {
    route.starts_with("/v1/entries") && route != "/v1/entries/restore"
}

#[tokio::test]
async fn permissions_of_every_entry_write_are_those_of_the_table() {
    let mut stage = Stage::set().await;
    for (route, _) in WRITES.iter().filter(|(route, _)| is_entry(route)) {
        for level in Level::ALL {
            let row = PrincipalKind::ALL.map(|kind| tables::entries(level, kind));
            stage.check(route, level, |_| {}, &row).await;
        }
    }
    stage.check_audit().await;
}

#[tokio::test]
async fn permissions_of_entry_writes_without_their_verification_are_a_persons_alone() {
    let mut stage = Stage::set().await;
    for (route, _) in WRITES.iter().filter(|(route, _)| is_entry(route)) {
        for (level, rule, allowed, needs_verification) in tables::ENTRIES {
            if !needs_verification {
                continue;
            }
            let row = PrincipalKind::ALL.map(|kind| {
                let (_, may_write) = tables::entries(level, kind);
                (rule, may_write && kind == PrincipalKind::Human)
            });
            assert!(allowed.contains(&true) && row.iter().filter(|cell| cell.1).count() == 1);
            let strip = |body: &mut Value| {
                body.as_object_mut()
                    .expect("a body is an object")
                    .remove("verification");
            };
            stage.check(route, level, strip, &row).await;
        }
    }
    stage.check_audit().await;
}

#[tokio::test]
async fn permissions_of_every_control_command_are_those_of_the_table() {
    let mut stage = Stage::set().await;
    let document = routes(&stage.world).await;
    for (route, tasks_only) in WRITES.iter().filter(|(route, _)| !is_entry(route)) {
        let rules = &document[&("post".to_owned(), (*route).to_owned())];
        let levels = if *tasks_only {
            &[Level::Task][..]
        } else {
            &Level::ALL
        };
        for rule in rules {
            let rule = tables::CONTROL
                .iter()
                .find(|row| row.0 == rule)
                .expect("it has a row")
                .0;
            // The route that makes tokens is decided by two rules: by what the token is to be.
            let kinds: &[&str] = match rule {
                "control/manage_tokens" if *route == "/v1/tokens" => {
                    &["orchestrator", "human", "system"]
                }
                _ => &["agent"],
            };
            let rank = tables::rank_of(rule);
            // Which rank is withdrawn or restored, the decision says that is there; see below.
            let says_all = ["/v1/decisions", "/v1/decisions/kinds"].contains(route);
            if rank.is_some_and(|rank| rank != "normal") && !says_all {
                continue;
            }
            for level in levels
                .iter()
                .filter(|level| tables::decides_at(rule, **level))
                // Nothing inside a project declares a kind of relation, whoever asks.
                .filter(|level| *route != "/v1/decisions/kinds" || **level >= Level::Project)
            {
                for made in kinds {
                    let set = |body: &mut Value| match *route {
                        "/v1/tokens" => body["kind"] = json!(made),
                        "/v1/decisions" => body["rank"] = json!(rank),
                        _ => {}
                    };
                    let row = PrincipalKind::ALL.map(|kind| (rule, tables::control(rule, kind)));
                    stage.check(route, *level, set, &row).await;
                }
            }
        }
    }
    let rules = tables::CONTROL.iter().map(|row| row.0.to_owned());
    // What is proposed is not stored, and no cell of that rule denies anything.
    let all: BTreeSet<String> = rules.filter(|rule| rule != "control/propose").collect();
    assert_eq!(stage.decided, all, "every row was tried");
    stage.check_audit().await;
}

#[tokio::test]
async fn permissions_to_withdraw_or_restore_a_decision_are_those_to_save_its_rank() {
    let mut stage = Stage::set().await;
    for route in ["/v1/decisions/deactivate", "/v1/decisions/restore"] {
        for (rank, level) in [
            ("lock", Level::Task),
            ("lock", Level::Project),
            ("lock", Level::Org),
            ("axis", Level::Worktree),
            ("axis", Level::Project),
            ("policy", Level::Project),
            ("policy", Level::Org),
        ] {
            for kind in PrincipalKind::ALL {
                let mut sample = stage.world.sample(route, level).await;
                let body = stage.world.decision_sample(route, &sample.scope, rank);
                sample.body = body.await;
                let (least, rule) = (tables::saves("normal", level), tables::saves(rank, level));
                // Whoever may not even save a normal one there is not told what it is.
                let rule = if tables::control(least, kind) {
                    rule
                } else {
                    least
                };
                let allowed = tables::control(rule, kind);
                stage.check_cell(kind, &sample, rule, allowed).await;
            }
        }
    }
    stage.check_audit().await;
}

#[tokio::test]
async fn permissions_to_change_a_decision_are_those_of_both_ranks_that_are_at_stake() {
    let mut stage = Stage::set().await;
    let level = Level::Project;
    for (before, after) in [
        ("normal", "lock"),
        ("lock", "normal"),
        ("normal", "axis"),
        ("axis", "normal"),
        ("policy", "normal"),
        ("normal", "policy"),
    ] {
        for kind in PrincipalKind::ALL {
            let route = "/v1/decisions/deactivate";
            let named = stage.world.decision_sample(route, PROJECT, before).await;
            let mut sample = stage.world.sample("/v1/decisions", level).await;
            let change = [
                ("rank", json!(after)),
                ("domain", json!("global")),
                ("root", named["root"].clone()),
                ("expected_version", json!(1)),
                ("reason", json!("it is another one")),
            ];
            for (field, value) in change {
                sample.body[field] = value;
            }
            // The one that it becomes is looked at first.
            let rules = [tables::saves(after, level), tables::saves(before, level)];
            let denied = rules.into_iter().find(|rule| !tables::control(rule, kind));
            let rule = denied.unwrap_or(rules[0]);
            stage
                .check_cell(kind, &sample, rule, denied.is_none())
                .await;
        }
    }
    stage.check_audit().await;
}

#[tokio::test]
async fn anyone_proposes_what_only_others_may_save_and_it_is_not_stored() {
    let stage = Stage::set().await;
    let route = ("post".to_owned(), "/v1/decisions/propose".to_owned());
    assert_eq!(routes(&stage.world).await[&route], ["control/propose"]);
    for (rank, level) in [
        ("normal", Level::Worktree),
        ("normal", Level::Org),
        ("lock", Level::Project),
        ("axis", Level::Worktree),
        ("policy", Level::Project),
    ] {
        let mut sample = stage.world.sample("/v1/decisions", level).await;
        sample.body["rank"] = json!(rank);
        for (kind, client) in &stage.principals {
            assert!(tables::control("control/propose", *kind));
            let before = counts(&stage.world, &sample.scope).await;
            drop(client.post(&route.1, &sample.body).await.ok());
            assert_eq!(counts(&stage.world, &sample.scope).await, before, "{kind}");
        }
    }
}

#[tokio::test]
async fn permissions_to_retry_a_promotion_are_those_to_record_a_verification() {
    let stage = Stage::set().await;
    let rule = "control/record_verification";
    let route = ("post".to_owned(), STEERS[0].to_owned());
    assert_eq!(routes(&stage.world).await[&route], [rule]);
    let named = stage.world.verified().await;
    let scope = named["task"].as_str().expect("a task has a name");
    let body = json!({ "scope": scope, "verification": named["id"] });
    for (kind, client) in &stage.principals {
        let before = counts(&stage.world, scope).await;
        let reply = client.post(STEERS[0], &body).await;
        if tables::control(rule, *kind) {
            // What is done is left as it is.
            assert_eq!(reply.ok()["state"], "done", "{kind}");
        } else {
            assert_eq!(reply.refused(403, "forbidden")["rule"], rule, "{kind}");
        }
        assert_eq!(counts(&stage.world, scope).await.1, before.1, "{kind}");
    }
}

#[tokio::test]
async fn permissions_to_drop_a_promotion_are_those_to_record_a_verification() {
    let stage = Stage::set().await;
    let rule = "control/record_verification";
    let route = ("post".to_owned(), STEERS[1].to_owned());
    assert_eq!(routes(&stage.world).await[&route], [rule]);
    let named = stage.world.verified().await;
    let scope = named["task"].as_str().expect("a task has a name");
    let body = json!({ "scope": scope, "verification": named["id"], "reason": "none" });
    for (kind, client) in &stage.principals {
        let reply = client.post(STEERS[1], &body).await;
        if tables::control(rule, *kind) {
            // What is done is left as it is.
            drop(reply.refused(409, "conflict"));
        } else {
            assert_eq!(reply.refused(403, "forbidden")["rule"], rule, "{kind}");
        }
    }
}

#[tokio::test]
async fn permissions_are_tried_over_every_write_route_of_the_document() {
    let world = World::start().await;
    let routes = routes(&world).await;
    let documented: BTreeSet<&str> = routes
        .iter()
        .filter(|((method, _), rules)| writes(method, rules))
        .map(|((_, path), _)| path.as_str())
        .collect();
    let tried: BTreeSet<&str> = WRITES
        .iter()
        .map(|(route, _)| *route)
        .chain(STEERS)
        .collect();
    assert_eq!(
        documented, tried,
        "a write route has no case in `harness/samples.rs`"
    );
    for ((method, path), rules) in &routes {
        let known = [
            "everything",
            "read",
            "sees_entries",
            "control/propose",
            "public",
        ];
        let reads = rules.iter().all(|rule| known.contains(&rule.as_str()));
        assert!(
            reads || method == "get" || writes(method, rules),
            "{method} {path} is neither a read nor a write: {rules:?}"
        );
    }
}

#[tokio::test]
async fn a_denial_is_noted_where_it_happened_and_a_flood_of_them_is_sampled() {
    let world = World::start().await;
    let task = world.task().await;
    let agent = world.principal(PrincipalKind::Agent, ORG).await;
    let body = json!({ "scope": task, "closing": "done" });
    let started = std::time::Instant::now();
    for _ in 0..200 {
        agent
            .post("/v1/tasks/close", &body)
            .await
            .refused(403, "forbidden");
    }
    let seconds = started.elapsed().as_secs();
    let all = world.admin().all("/v1/events", &task).await;
    let noted: Vec<&Value> = all
        .iter()
        .filter(|event| event["kind"] == "DENIED")
        .collect();
    assert!(
        !noted.is_empty() && noted.len() as u64 <= seconds + 2,
        "{} notes",
        noted.len()
    );
    assert_eq!(noted[0]["body"]["rule"], "control/close_task");
    assert_eq!(noted[0]["body"]["principal_kind"], "agent");
    assert_eq!(
        events(&world, &task).await.len(),
        1,
        "only its opening was written"
    );
    // Where nothing is yet, nobody leaves traces from outside.
    let empty = world.unopened();
    agent
        .post(
            "/v1/tasks/close",
            &json!({ "scope": empty, "closing": "done" }),
        )
        .await
        .refused(403, "forbidden");
    assert!(world.admin().all("/v1/events", &empty).await.is_empty());
}
