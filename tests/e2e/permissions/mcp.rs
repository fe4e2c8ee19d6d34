//! Both tables through the tools, over both transports: a tool is carried out, or denied by the right rule and nothing is
//! written.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use sillok_core::principal::PrincipalKind;
use sillok_core::scope::Level;

use super::{counts, tables};
use crate::harness::samples::Sample;
use crate::harness::{Client, ORG, World};
use crate::mcp::client::Mcp;

/// The write routes that tools call, and whether each is for tasks alone.
const ROUTES: [(&str, bool); 8] = [
    ("/v1/tasks", true),
    ("/v1/logs", true),
    ("/v1/memory-events", true),
    ("/v1/verifications", true),
    ("/v1/entries", false),
    ("/v1/reuse", false),
    ("/v1/decisions", false),
    ("/v1/reviews/answer", false),
];

/// A tool and its arguments that lead to what a request to a route leads to.
fn by_tool(route: &str, body: &Value) -> (&'static str, Value) {
    let without_scope = |keys: &[&str]| {
        let fields = keys
            .iter()
            .filter_map(|key| Some(((*key).to_owned(), body.get(*key)?.clone())));
        Value::Object(fields.collect())
    };
    let scope = &body["scope"];
    match route {
        "/v1/tasks" => (
            "begin_task",
            json!({ "task": scope, "title": body["title"], "description": body["description"] }),
        ),
        "/v1/logs" => {
            let record = &body["records"][0];
            (
                "log_event",
                json!({ "task": scope, "level": record["level"], "content": record["content"] }),
            )
        }
        "/v1/memory-events" => (
            "end_task",
            json!({ "task": scope, "summary": "done", "wait_ms": 0 }),
        ),
        "/v1/verifications" => {
            let keys = [
                "outcome", "source", "run", "error", "approach", "files", "symbols",
            ];
            let said = without_scope(&keys);
            (
                "report_outcome",
                json!({ "task": scope, "verification": said }),
            )
        }
        "/v1/entries" => (
            "propose_memory",
            without_scope(&["scope", "content", "verification"]),
        ),
        "/v1/reuse" => {
            let used = without_scope(&["entry", "outcome"]);
            (
                "report_outcome",
                json!({ "task": body["task"], "memory": used }),
            )
        }
        "/v1/decisions" => (
            "record_decision",
            without_scope(&[
                "scope",
                "rank",
                "domain",
                "title",
                "content",
                "claim",
                "relations",
            ]),
        ),
        "/v1/reviews/answer" => (
            "answer_review",
            without_scope(&["scope", "review", "approve", "keep", "reason"]),
        ),
        _ => panic!("no tool calls {route}"),
    }
}

struct Stage {
    world: World,
    principals: BTreeMap<PrincipalKind, (Client, Mcp)>,
    decided: BTreeSet<&'static str>,
}

impl Stage {
    /// One principal of each kind, whose token covers the organisation.
    async fn set(transport: impl Fn(&World, &Client) -> Mcp) -> Self {
        let world = World::start().await;
        let mut principals = BTreeMap::new();
        for kind in PrincipalKind::ALL {
            let client = world.principal(kind, ORG).await;
            let mcp = transport(&world, &client);
            principals.insert(kind, (client, mcp));
        }
        Self {
            world,
            principals,
            decided: BTreeSet::new(),
        }
    }

    async fn check(
        &mut self,
        route: &str,
        level: Level,
        change: impl Fn(&mut Value),
        row: impl Fn(PrincipalKind) -> (&'static str, bool),
    ) {
        for kind in PrincipalKind::ALL {
            let mut sample = self.world.sample(route, level).await;
            change(&mut sample.body);
            self.check_cell(kind, &sample, row(kind)).await;
        }
    }

    async fn check_cell(
        &mut self,
        kind: PrincipalKind,
        sample: &Sample,
        (rule, allowed): (&'static str, bool),
    ) {
        let (tool, arguments) = by_tool(&sample.route, &sample.body);
        let cell = format!("{kind} with {tool} in {}", sample.scope);
        let before = counts(&self.world, &sample.scope).await;
        let (client, mcp) = self.principals.get_mut(&kind).expect("one of each kind");
        let called = mcp.call(tool, arguments).await;
        self.decided.insert(rule);
        assert_eq!(
            called.is_error(),
            !allowed,
            "{cell}: {rule}: {}",
            called.text()
        );
        if allowed {
            let answer = called.ok();
            let recorded = json!({ "verification": answer["verification"]["id"] });
            sample.settle(client, &recorded).await;
            let after = counts(&self.world, &sample.scope).await;
            assert!(after.1 > before.1, "{cell} was answered and not written");
            return;
        }
        assert_eq!(called.refused("forbidden")["rule"], rule, "{cell}");
        let after = counts(&self.world, &sample.scope).await;
        assert_eq!(
            after.1, before.1,
            "{cell} was denied, and something was written"
        );
    }

    /// Every cell of both tables that a tool leads to.
    async fn enumerate(&mut self) {
        for (route, tasks_only) in ROUTES {
            let levels: &[Level] = if tasks_only {
                &[Level::Task]
            } else {
                &Level::ALL
            };
            for level in levels.iter().copied() {
                self.enumerate_at(route, level).await;
            }
        }
    }

    async fn enumerate_at(&mut self, route: &'static str, level: Level) {
        match route {
            "/v1/entries" => {
                self.check(route, level, |_| {}, |kind| tables::entries(level, kind))
                    .await;
            }
            "/v1/decisions" => {
                for rank in ["normal", "lock", "axis"] {
                    let rule = tables::saves(rank, level);
                    let set = |body: &mut Value| body["rank"] = json!(rank);
                    self.check(route, level, set, |kind| {
                        (rule, tables::control(rule, kind))
                    })
                    .await;
                }
            }
            _ => {
                let rule = match route {
                    "/v1/tasks" => "control/open_task",
                    "/v1/logs" | "/v1/memory-events" => "control/append_log",
                    "/v1/verifications" => "control/record_verification",
                    "/v1/reuse" => "control/report_outcome",
                    _ if level < Level::Project => "control/decide_below_project",
                    _ => "control/decide_from_project",
                };
                self.check(
                    route,
                    level,
                    |_| {},
                    |kind| (rule, tables::control(rule, kind)),
                )
                .await;
            }
        }
    }

    /// What is proposed anybody may, and it is not stored.
    async fn propose(&mut self) {
        for rank in ["normal", "axis"] {
            let mut sample = self.world.sample("/v1/decisions", Level::Project).await;
            sample.body["rank"] = json!(rank);
            let (tool, mut arguments) = by_tool(&sample.route, &sample.body);
            arguments["only_propose"] = json!(true);
            for (kind, (_, mcp)) in &mut self.principals {
                let before = counts(&self.world, &sample.scope).await;
                let proposed = mcp.call(tool, arguments.clone()).await.ok();
                assert_eq!(proposed["saved"], false, "{kind}");
                assert_eq!(counts(&self.world, &sample.scope).await, before, "{kind}");
            }
        }
    }

    fn check_all_were_decided(&self) {
        let controls = [
            "control/open_task",
            "control/append_log",
            "control/record_verification",
            "control/report_outcome",
            "control/decide_below_project",
            "control/decide_from_project",
            "control/save_normal_below_project",
            "control/save_normal_project",
            "control/save_normal_org",
            "control/save_lock_up_to_project",
            "control/save_lock_org",
            "control/save_axis",
        ];
        let entries = tables::ENTRIES.iter().map(|row| row.1);
        let all: BTreeSet<&str> = controls.into_iter().chain(entries).collect();
        assert_eq!(
            self.decided, all,
            "every rule that a tool leads to was tried"
        );
    }
}

#[tokio::test]
async fn permissions_through_the_tools_are_those_of_the_tables_over_http() {
    let mut stage = Stage::set(|_, client| Mcp::http(client)).await;
    stage.enumerate().await;
    stage.propose().await;
    stage.check_all_were_decided();
    let verdict = stage.world.sillok("audit verify --json").json();
    assert_eq!(verdict["ok"], true, "{verdict}");
}

#[tokio::test]
async fn permissions_through_the_tools_are_those_of_the_tables_over_standard_streams() {
    let mut stage = Stage::set(Mcp::stdio).await;
    stage.enumerate().await;
    stage.propose().await;
    stage.check_all_were_decided();
}
