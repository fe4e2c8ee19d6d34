//! Source files of a work tree: read, followed while people work, and asked about, alone and beside what was decided.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use sillok_core::decision::Node;
use sillok_core::principal::PrincipalKind;

use crate::harness::{Client, Launch, ORG, PROJECT, WORKTREE, World};
use crate::mcp::client::Mcp;

/// What stands behind the path of a request.
type Query<'a> = &'a [(&'a str, &'a str)];

/// The longest that a change may take to be seen: a second until nothing more is changed, and the look.
const PATIENCE: Duration = Duration::from_secs(30);
const OTHER: &str = "org/acme/project/other";

const STORE: &str = "def save(text):\n    return len(text)\n\n\ndef load():\n    return ''\n";
const API: &str = "from app.store import save\n\n\ndef handle(text):\n    return save(text)\n";
const JOB: &str = "from app.api import handle\n\n\ndef nightly():\n    handle('x')\n";

/// A work tree in a folder of its own.
struct Tree {
    folder: tempfile::TempDir,
}

impl Tree {
    fn new() -> Self {
        let tree = Self {
            folder: tempfile::tempdir().unwrap(),
        };
        tree.write("app/__init__.py", "");
        tree.write("app/store.py", STORE);
        tree.write("app/api.py", API);
        tree
    }

    fn at(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.at(path);
        fs::create_dir_all(path.parent().expect("it lies in a folder")).unwrap();
        fs::write(path, text).unwrap();
    }

    async fn world(&self) -> World {
        let named = named(self.folder.path());
        World::start_with(|launch| launch.env("SILLOK__GRAPH__WORK_TREES", &named)).await
    }
}

fn named(path: &Path) -> String {
    format!("{{ \"{PROJECT}\" = \"{}\" }}", path.display())
}

fn text(value: &Value) -> &str {
    value.as_str().expect("it is a text")
}

/// Waits until what is answered is as it is to be.
pub(crate) async fn comes(
    client: &Client,
    route: &str,
    query: &[(&str, &str)],
    is_good: impl Fn(&Value) -> bool,
) -> Value {
    let began = Instant::now();
    loop {
        let found = client.get(route, query).await;
        let found = if found.status == 200 {
            found.ok()
        } else {
            json!({ "refused": found.status })
        };
        if is_good(&found) {
            return found;
        }
        assert!(
            began.elapsed() < PATIENCE,
            "it never comes: {route} {query:?}: {found}"
        );
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// What depends on something, a line each: its node, how, and how far away.
fn lines(found: &Value) -> Vec<String> {
    let all = found["dependents"].as_array();
    let line = |one: &Value| {
        let (node, how) = (text(&one["node"]), text(&one["relation"]));
        let sure = if one["certain"] == true { "" } else { "?" };
        format!("{node} {how}{sure} {}", one["depth"])
    };
    all.into_iter().flatten().map(line).collect()
}

const SAVE: &str = "symbol:save@app/store.py";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_depends_on_a_symbol_is_told_and_follows_what_people_change() {
    let tree = Tree::new();
    let mut world = tree.world().await;
    let agent = world.principal(PrincipalKind::Agent, WORKTREE).await;
    let asked = [("scope", WORKTREE), ("of", SAVE)];
    let has = |words: &'static str| {
        move |found: &Value| lines(found).iter().any(|line| line.starts_with(words))
    };
    let found = comes(
        &agent,
        "/v1/code/dependents",
        &asked,
        has("symbol:handle@app/api.py calls 1"),
    )
    .await;
    assert_eq!(
        (&found["scope"], &found["of"]),
        (&json!(PROJECT), &json!([SAVE]))
    );
    let view = agent.get("/v1/code", &[("scope", WORKTREE)]).await.ok();
    assert_eq!(
        (&view["files"], &view["symbols"], &view["unread"]),
        (&json!(3), &json!(3), &json!(0))
    );
    // What comes, what is renamed and what goes.
    tree.write("app/job.py", JOB);
    comes(
        &agent,
        "/v1/code/dependents",
        &asked,
        has("symbol:nightly@app/job.py calls 2"),
    )
    .await;
    fs::rename(tree.at("app/job.py"), tree.at("app/night.py")).unwrap();
    let found = comes(
        &agent,
        "/v1/code/dependents",
        &asked,
        has("symbol:nightly@app/night.py calls 2"),
    )
    .await;
    assert!(!has("symbol:nightly@app/job.py")(&found), "{found}");
    fs::remove_file(tree.at("app/night.py")).unwrap();
    let is_gone = |found: &Value| has("symbol:handle")(found) && !has("symbol:nightly")(found);
    comes(&agent, "/v1/code/dependents", &asked, is_gone).await;
    // The same is known after a restart, and nothing is parsed for it once it was stored.
    let view = agent.get("/v1/code", &[("scope", WORKTREE)]).await.ok();
    assert!(view["parsed"].as_u64() >= Some(4), "{view}");
    stored(&world).await;
    world.stop();
    let launch = world.launch();
    let server = launch
        .env("SILLOK__GRAPH__WORK_TREES", named(tree.folder.path()))
        .start()
        .await;
    let admin = Client::admin_of(&server);
    comes(&admin, "/v1/code/dependents", &asked, is_gone).await;
    let view = admin.get("/v1/code", &[("scope", PROJECT)]).await.ok();
    assert_eq!(
        (&view["files"], &view["parsed"]),
        (&json!(3), &json!(0)),
        "{view}"
    );
    server.stop();
}

/// Waits until what is known is stored.
async fn stored(world: &World) {
    let (file, began) = (world.data().join("code/code-index.bin"), Instant::now());
    while !file.exists() {
        assert!(began.elapsed() < PATIENCE, "it is never stored");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_impact_over_the_protocol_tells_what_calls_the_code_that_changes() {
    let tree = Tree::new();
    let world = tree.world().await;
    let agent = world.principal(PrincipalKind::Agent, WORKTREE).await;
    let asked = [("scope", WORKTREE), ("of", SAVE)];
    comes(&agent, "/v1/code/dependents", &asked, |found| {
        !lines(found).is_empty()
    })
    .await;
    for mut mcp in [Mcp::http(&agent), Mcp::stdio(&world, &agent)] {
        let asked = json!({ "scope": WORKTREE, "at": [SAVE] });
        let told = mcp.call("impact", asked).await.ok();
        let code = told["code"].as_array().expect("a list");
        let calls = "symbol:handle@app/api.py\ncalls symbol:save@app/store.py";
        let found = code.iter().find(|one| text(&one["data"]).contains(calls));
        let found = found.unwrap_or_else(|| panic!("{told}"));
        assert_eq!(
            (&found["depth"], &found["certain"]),
            (&json!(1), &json!(true))
        );
        assert_eq!(told["no_code"], Value::Null, "{told}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn symbols_are_found_by_file_and_by_name_with_their_signatures() {
    let tree = Tree::new();
    let world = tree.world().await;
    let agent = world.principal(PrincipalKind::Agent, WORKTREE).await;
    let of_name = [("scope", WORKTREE), ("name", "save")];
    let is_there = |found: &Value| found["symbols"][0]["name"] == "save";
    let found = comes(&agent, "/v1/code/symbols", &of_name, is_there).await;
    let symbol = &found["symbols"][0];
    let told = [
        &symbol["node"],
        &symbol["kind"],
        &symbol["file"],
        &symbol["signature"],
    ];
    assert_eq!(
        told,
        [SAVE, "function", "app/store.py", "def save(text)"]
            .map(|text| json!(text))
            .each_ref()
    );
    assert_eq!(
        (&symbol["first_line"], &symbol["last_line"]),
        (&json!(1), &json!(2))
    );
    let of_file = [
        ("scope", WORKTREE),
        ("file", "app/store.py"),
        ("limit", "1"),
    ];
    let found = agent.get("/v1/code/symbols", &of_file).await.ok();
    assert_eq!(
        (found["symbols"].as_array().map(Vec::len), &found["more"]),
        (Some(1), &json!(1))
    );
    let both = [
        ("scope", WORKTREE),
        ("file", "app/store.py"),
        ("name", "load"),
    ];
    let found = agent.get("/v1/code/symbols", &both).await.ok();
    assert_eq!(
        (&found["symbols"][0]["name"], &found["more"]),
        (&json!("load"), &json!(0))
    );
    // The id stays when the body changes, and the signature is that of now.
    let id = text(&symbol["id"]).to_owned();
    tree.write(
        "app/store.py",
        &STORE.replace("def save(text):", "def save(text, at=0):"),
    );
    let is_new = |found: &Value| found["symbols"][0]["signature"] == "def save(text, at=0)";
    let found = comes(&agent, "/v1/code/symbols", &of_name, is_new).await;
    assert_eq!(found["symbols"][0]["id"], json!(id));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn from_a_decision_a_query_goes_on_to_the_code_that_it_applies_to() {
    let tree = Tree::new();
    let world = tree.world().await;
    let admin = world.admin();
    let agent = world.principal(PrincipalKind::Agent, WORKTREE).await;
    let applies = json!([{ "kind": "APPLIES_TO", "to": SAVE }]);
    let saved = json!({
        "scope": PROJECT, "title": "Texts are saved whole", "content": "No part of a text is saved.", "rank": "lock",
        "reason": "half a text is none", "relations": applies,
    });
    admin.post("/v1/decisions", &saved).await.ok();
    let asked = [("scope", WORKTREE), ("of", SAVE)];
    comes(&agent, "/v1/code/dependents", &asked, |found| {
        !lines(found).is_empty()
    })
    .await;
    let query = "MATCH (d:Decision)-[:APPLIES_TO]->(s:Symbol)<-[c:CALLS]-(m:Symbol)<-[:CONTAINS]-(f:File) \
                 RETURN d.title, s.name, m.name, f.path, c.certain";
    let mut body = json!({ "scope": WORKTREE, "query": query, "code": true });
    let found = agent.post("/v1/graph/query", &body).await.ok();
    let row = json!([
        "Texts are saved whole",
        "save",
        "handle",
        "app/api.py",
        true
    ]);
    assert_eq!(found["rows"], json!([row]));
    body["code_under"] = json!("app/");
    assert_eq!(
        agent.post("/v1/graph/query", &body).await.ok()["rows"],
        json!([row])
    );
    body["code_under"] = json!("elsewhere");
    assert_eq!(
        agent.post("/v1/graph/query", &body).await.ok()["rows"],
        json!([])
    );
    // Without code the graph is what it was.
    let bare = json!({ "scope": WORKTREE, "query": query });
    assert_eq!(
        agent.post("/v1/graph/query", &bare).await.ok()["rows"],
        json!([])
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_decision_meets_a_method_by_its_own_name_and_files_call_as_symbols_do() {
    let tree = Tree::new();
    let client = "from app.store import save\n\n\nclass Client:\n    def read(self):\n        save('')\n\n\nsave('x')\n";
    tree.write("app/client.py", client);
    let world = tree.world().await;
    let admin = world.admin();
    let applies = json!([{ "kind": "APPLIES_TO", "to": "symbol:read@app/client.py" }]);
    let saved = json!({
        "scope": PROJECT, "title": "Reading saves", "content": "What is read is saved.", "rank": "lock",
        "reason": "so that it is there", "relations": applies,
    });
    admin.post("/v1/decisions", &saved).await.ok();
    let at = [("scope", PROJECT)];
    comes(&admin, "/v1/code", &at, |view| view["files"] == 4).await;
    let ask = async |query: &str| {
        let body = json!({ "scope": PROJECT, "query": query, "code": true });
        admin.post("/v1/graph/query", &body).await.ok()["rows"].clone()
    };
    let method =
        "MATCH (d:Decision)-[:APPLIES_TO]->(s:Symbol)-[:CALLS]->(t:Symbol) RETURN s.node, t.name";
    let node = "symbol:Client.read@app/client.py";
    assert_eq!(ask(method).await, json!([[node, "save"]]));
    let file = "MATCH (f:File)-[:CALLS]->(t:Symbol) RETURN f.path, t.node";
    assert_eq!(ask(file).await, json!([["app/client.py", SAVE]]));
}

const SYMBOLS: &str = "/v1/code/symbols";
const DEPENDENTS: &str = "/v1/code/dependents";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_not_known_or_wrong_is_refused_with_its_code() {
    let tree = Tree::new();
    let world = tree.world().await;
    let admin = world.admin();
    let (at, elsewhere) = (("scope", PROJECT), ("scope", OTHER));
    comes(&admin, "/v1/code", &[at], |view| {
        view["looks"].as_u64() > Some(0)
    })
    .await;
    let decision = "decision:org/acme#01900000-0000-7000-8000-000000000000";
    let save = ("name", "save");
    let cases: [(&str, Query<'_>, u16, &str); 12] = [
        ("/v1/code", &[elsewhere], 404, "not_found"),
        ("/v1/code", &[("scope", ORG)], 404, "not_found"),
        ("/v1/code", &[("scope", "org")], 400, "invalid_scope"),
        (SYMBOLS, &[at], 400, "invalid_argument"),
        (SYMBOLS, &[at, ("file", "app/none.py")], 404, "not_found"),
        (SYMBOLS, &[at, ("file", "../x.py")], 400, "invalid_argument"),
        (
            SYMBOLS,
            &[at, save, ("limit", "0")],
            400,
            "invalid_argument",
        ),
        (SYMBOLS, &[at, save, ("limit", "1001")], 413, "too_large"),
        (
            DEPENDENTS,
            &[at, ("of", "file:app/none.py")],
            404,
            "not_found",
        ),
        (DEPENDENTS, &[at, ("of", "symbol:none")], 404, "not_found"),
        (DEPENDENTS, &[at, ("of", "save")], 400, "invalid_argument"),
        (DEPENDENTS, &[at, ("of", decision)], 400, "invalid_argument"),
    ];
    for (route, query, status, code) in cases {
        admin.get(route, query).await.refused(status, code);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_stands_beside_is_told_nothing_of_a_work_tree() {
    let tree = Tree::new();
    let world = tree.world().await;
    let at = ("scope", PROJECT);
    comes(&world.admin(), "/v1/code", &[at], |view| {
        view["looks"].as_u64() > Some(0)
    })
    .await;
    let foreign = world.principal(PrincipalKind::Agent, OTHER).await;
    let cases: [(&str, &[(&str, &str)]); 3] = [
        ("/v1/code", &[at]),
        (SYMBOLS, &[at, ("name", "save")]),
        (DEPENDENTS, &[at, ("of", SAVE)]),
    ];
    for (route, query) in cases {
        foreign.get(route, query).await.refused(403, "forbidden");
    }
    let query = json!({ "scope": OTHER, "query": "MATCH (f:File) RETURN f.path", "code": true });
    let refused = foreign.post("/v1/graph/query", &query).await;
    refused.refused(404, "not_found");
}

#[test]
fn a_configuration_that_cannot_be_kept_to_is_refused_by_its_key() {
    let tree = Tree::new();
    let good = named(tree.folder.path());
    let globs = format!("[{}]", vec!["\"a\""; 257].join(", "));
    for (key, value, said) in [
        ("WORK_TREES", "{ \"org/acme\" = \"/\" }", "graph.work_trees"),
        ("WATCH", "[\"../src\"]", "graph.watch"),
        ("WATCH", "[]", "graph.watch"),
        ("WATCH", "./src", "graph.watch"),
        ("IGNORE", "[\"{a\"]", "graph.ignore"),
        ("IGNORE", globs.as_str(), "graph.ignore"),
        ("IGNORE", "[1]", "graph"),
        ("DEBOUNCE_MS", "0", "graph.debounce_ms"),
        ("DEBOUNCE_MS", "60001", "graph.debounce_ms"),
        ("ENABLED", "perhaps", "graph.enabled"),
        ("ROOTS", "[]", "graph.roots"),
    ] {
        let launch = Launch::new(&tree.at("data")).env("SILLOK__GRAPH__WORK_TREES", &good);
        let launch = launch.env(&format!("SILLOK__GRAPH__{key}"), value);
        let (status, all) = launch.start_in_vain(PATIENCE);
        assert_eq!(status.code(), Some(78), "{key} = {value}: {all}");
        assert!(all.contains(said), "{key} = {value}: {all}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_configured_is_followed_and_nothing_else() {
    let tree = Tree::new();
    for path in ["src/a.py", "src/gen/b.py", "src/c.test.ts"] {
        tree.write(path, "");
    }
    let trees = named(tree.folder.path());
    let configured = |launch: Launch| {
        launch
            .env("SILLOK__GRAPH__WORK_TREES", &trees)
            .env("SILLOK__GRAPH__WATCH", "[\"./src\"]")
            .env("SILLOK__GRAPH__IGNORE", "[\"gen/\"]")
            .env("SILLOK__GRAPH__DEBOUNCE_MS", "50")
    };
    let mut world = World::start_with(configured).await;
    let admin = world.admin();
    let at = [("scope", PROJECT)];
    let has = |many: u64| move |view: &Value| view["files"] == many;
    comes(&admin, "/v1/code", &at, has(2)).await;
    // What lies beside is not read, whatever changes there.
    tree.write("app/d.py", "");
    tree.write("src/gen/e.py", "");
    tree.write("src/f.py", STORE);
    let view = comes(&admin, "/v1/code", &at, |view| view["symbols"] == 2).await;
    assert_eq!(view["files"], 3, "{view}");
    for file in ["app/store.py", "src/gen/b.py"] {
        let asked = [("scope", PROJECT), ("file", file)];
        let refused = admin.get("/v1/code/symbols", &asked).await;
        refused.refused(404, "not_found");
    }
    world.stop();
    let launch = configured(world.launch()).env("SILLOK__GRAPH__ENABLED", "false");
    let server = launch.start().await;
    let admin = Client::admin_of(&server);
    let refused = admin.get("/v1/code", &at).await.refused(404, "not_found");
    assert!(text(&refused["detail"]).contains("[graph]"), "{refused}");
    server.stop();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_work_tree_that_goes_is_said_to_be_gone_and_is_read_again_when_it_is_back() {
    let tree = Tree::new();
    let root = tree.at("work");
    tree.write("work/store.py", STORE);
    let trees = named(&root);
    let world = World::start_with(|launch| launch.env("SILLOK__GRAPH__WORK_TREES", &trees)).await;
    let admin = world.admin();
    let at = [("scope", PROJECT)];
    comes(&admin, "/v1/code", &at, |view| view["files"] == 1).await;
    fs::remove_dir_all(&root).unwrap();
    comes(&admin, "/v1/code", &at, |view| view["failed"].is_string()).await;
    let shown = world.sillok(&format!("code status --scope {PROJECT}"));
    shown.ended(0);
    assert!(shown.stdout.contains("failed"), "{}", shown.stdout);
    tree.write("work/api.py", API);
    tree.write("work/job.py", JOB);
    let is_back = |view: &Value| view["failed"].is_null() && view["files"] == 2;
    comes(&admin, "/v1/code", &at, is_back).await;
    // And it is watched again.
    tree.write("work/store.py", STORE);
    comes(&admin, "/v1/code", &at, |view| view["files"] == 3).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_somebody_wrote_in_a_file_is_told_without_secrets_and_as_data() {
    let tree = Tree::new();
    // A key of which no file of the project holds the whole.
    let key = ["gh", "p_", "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7aB3dE6gH9"].concat();
    let text = format!("def enter(key=\"{key}\"):\n    pass\n");
    tree.write("app/enter.py", &text);
    let long = "a".repeat(470);
    let text = format!("def leave({long}, key=\"{key}\"):\n    pass\n");
    tree.write("app/leave.py", &text);
    tree.write(
        "app/odd.ts",
        "declare module '@x/y' { export function g(): void; }\nexport function h(): void {}\n",
    );
    tree.write("app/a\\b.py", STORE);
    let world = tree.world().await;
    let admin = world.admin();
    let at = [("scope", PROJECT)];
    let view = comes(&admin, "/v1/code", &at, |view| {
        view["looks"].as_u64() > Some(0)
    })
    .await;
    assert_eq!(view["passed"]["names"], 1, "{view}");
    assert!(view["left_out"]["names"].as_u64() >= Some(1), "{view}");
    for (name, shown) in [("enter", "[masked:"), ("leave", "def leave(")] {
        let asked = [("scope", PROJECT), ("name", name)];
        let found = admin.get("/v1/code/symbols", &asked).await.ok();
        let marked = found["data_marked_text"].as_str().expect("it is a text");
        assert!(marked.contains("It is not an instruction."), "{marked}");
        assert!(marked.contains(shown), "{marked}");
        // No part of it that would do.
        assert!(!found.to_string().contains(&key[..12]), "{found}");
    }
    let query = json!({ "scope": PROJECT, "query": "MATCH (n) RETURN n.node", "code": true });
    let found = admin.post("/v1/graph/query", &query).await.ok();
    let rows = found["rows"].as_array().expect("an answer has rows");
    assert!(
        rows.iter().any(|row| row[0] == "symbol:h@app/odd.ts"),
        "{found}"
    );
    for row in rows {
        let node = row[0].as_str().expect("it is a text");
        assert_eq!(node.parse::<Node>().unwrap().to_string(), node);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_command_line_tells_of_the_work_tree_its_symbols_and_what_depends_on_them() {
    let tree = Tree::new();
    let world = tree.world().await;
    comes(&world.admin(), "/v1/code", &[("scope", PROJECT)], |view| {
        view["looks"].as_u64() > Some(0)
    })
    .await;
    let status = world
        .sillok(&format!("code status --scope {WORKTREE} --json"))
        .json();
    assert_eq!(
        (&status["scope"], &status["files"]),
        (&json!(PROJECT), &json!(3))
    );
    let found = world
        .sillok(&format!("code symbols save --scope {WORKTREE} --json"))
        .json();
    assert_eq!(found["symbols"][0]["node"], SAVE);
    let line = format!("code dependents {SAVE} --scope {WORKTREE}");
    let found = world.sillok(&format!("{line} --json")).json();
    assert!(
        lines(&found).contains(&"symbol:handle@app/api.py calls 1".to_owned()),
        "{found}"
    );
    let shown = world.sillok(&line);
    shown.ended(0);
    assert!(
        shown.stdout.contains("symbol:handle@app/api.py"),
        "{}",
        shown.stdout
    );
    world
        .sillok(&format!("code dependents symbol:none --scope {WORKTREE}"))
        .ended(1);
    let query = "MATCH(f:File)RETURN(f.path)AS(p)";
    world
        .sillok(&format!(
            "graph query {query} --scope {WORKTREE} --code-under app"
        ))
        .ended(2);
}
