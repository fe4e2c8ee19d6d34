//! Many clients at one entry: one of them wins each time, and every loser is told what it needs to
//! go on.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};
use sillok_core::principal::PrincipalKind;
use tokio::task::JoinSet;

use crate::harness::samples::put;
use crate::harness::{Client, Cluster, WORKTREE, World, phrase};

const CLIENTS: usize = 50;
/// Successes after which nobody tries again: on one node, and on several.
const SUCCESSES: usize = 1_000;
const SUCCESSES_OF_A_CLUSTER: usize = 200;
/// Conflicts after which a client has lost too often: it would go on for ever.
const CONFLICTS_MAX: usize = 100_000;

/// What one client came to.
#[derive(Default)]
struct Came {
    /// What it wrote: the version or the entry, and the text.
    won: Vec<(String, String)>,
    /// What the conflicts named as current.
    told: BTreeSet<String>,
    conflicts: usize,
}

/// Who competes, and who looks at what became of it.
struct Field {
    /// The agents of all clients, each through one of the nodes.
    agents: Vec<Client>,
    admin: Client,
    successes: usize,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn contention_for_one_line_leaves_one_head_and_a_line_without_forks() {
    let world = World::start().await;
    one_line(&Field::of(&world).await).await;
    audited(&world);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn contention_for_one_entry_leaves_a_gapless_chain_of_versions() {
    let world = World::start().await;
    one_entry(&Field::of(&world).await).await;
    audited(&world);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn contention_through_all_nodes_of_a_cluster_leaves_one_line_and_a_gapless_chain() {
    let cluster = Cluster::start(&["ada", "bob", "eve"]).await;
    let field = Field::of_cluster(&cluster).await;
    one_line(&field).await;
    one_entry(&field).await;
    let verdict = cluster.sillok("bob", "audit verify --json").json();
    assert_eq!(verdict["ok"], true, "{verdict}");
}

impl Field {
    async fn of(world: &World) -> Self {
        Self {
            agents: vec![world.principal(PrincipalKind::Agent, WORKTREE).await],
            admin: world.admin(),
            successes: SUCCESSES,
        }
    }

    async fn of_cluster(cluster: &Cluster) -> Self {
        let body = json!({ "scope": WORKTREE, "kind": "agent", "id": "a", "lifetime_s": 3_600 });
        let admin = cluster.admin("ada");
        let minted = admin.post("/v1/tokens", &body).await.ok();
        let through = |name: &&str| cluster.admin(name).with_token(minted["token"].as_str());
        Self {
            agents: ["ada", "bob", "eve"].iter().map(through).collect(),
            admin,
            successes: SUCCESSES_OF_A_CLUSTER,
        }
    }
}

async fn one_line(field: &Field) {
    let first = put(&field.agents[0], WORKTREE, &phrase()).await;
    let all = compete(field, &first, supersede_once).await;
    let line = pages(&field.admin, &first, "line", "line_next", "line_after").await;
    let ids: Vec<&str> = line.iter().map(|head| text(&head["id"])).collect();
    assert_eq!(ids[0], first);
    assert_eq!(
        ids.len(),
        all.won.len() + 1,
        "each success added one entry to the line"
    );
    let won: BTreeSet<&str> = all.won.iter().map(|(entry, _)| entry.as_str()).collect();
    assert_eq!(
        ids[1..].iter().copied().collect::<BTreeSet<_>>(),
        won,
        "nothing else is in it"
    );
    for (at, head) in line.iter().enumerate() {
        let neighbour = |at: Option<usize>| {
            at.and_then(|at| ids.get(at))
                .map_or(Value::Null, |id| json!(id))
        };
        let lifecycle = &head["lifecycle"];
        assert_eq!(
            lifecycle["supersedes"],
            neighbour(at.checked_sub(1)),
            "{head}"
        );
        assert_eq!(
            lifecycle["superseded_by"],
            neighbour(Some(at + 1)),
            "{head}"
        );
        let is_live = head["status"] != "deprecated" && head["status"] != "archived";
        assert_eq!(
            is_live,
            at + 1 == line.len(),
            "exactly the last one is live: {head}"
        );
        assert_eq!(head["line"], first, "{head}");
    }
    assert!(
        all.told.iter().all(|id| ids.contains(&id.as_str())),
        "a conflict named a stranger"
    );
}

async fn one_entry(field: &Field) {
    let entry = put(&field.agents[0], WORKTREE, &phrase()).await;
    let all = compete(field, &entry, amend_once).await;
    let admin = &field.admin;
    let versions = pages(admin, &entry, "versions", "versions_next", "versions_after").await;
    let numbers: Vec<u64> = versions
        .iter()
        .map(|version| version["number"].as_u64().unwrap())
        .collect();
    assert!(
        numbers.iter().copied().eq(1..=numbers.len() as u64),
        "the chain has a gap or a fork"
    );
    assert_eq!(
        numbers.len(),
        all.won.len() + 1,
        "each success made one version"
    );
    let stored: BTreeMap<String, &str> = versions
        .iter()
        .map(|version| (version["number"].to_string(), text(&version["content"])))
        .collect();
    for (number, content) in &all.won {
        assert_eq!(
            stored[number], content,
            "version {number} is that of who was told so"
        );
    }
    let head = admin.get("/v1/entry", &[("id", &entry)]).await.ok();
    assert_eq!(head["head"]["version"], numbers.len());
    assert_eq!(head["version"]["number"], numbers.len());
    assert!(
        all.told.iter().all(|number| stored.contains_key(number)),
        "a conflict named no version"
    );
}

/// What a client believes to be current: an entry in a version.
#[derive(Clone, Debug, PartialEq)]
struct Belief {
    entry: String,
    version: u64,
}

/// Lets all clients try until there were enough successes: what they came to, together.
async fn compete<F, A>(field: &Field, entry: &str, once: F) -> Came
where
    F: Fn(Client, Belief, String) -> A + Copy + Send + 'static,
    A: Future<Output = Tried> + Send,
{
    let successes = Arc::new(AtomicUsize::new(0));
    let mut clients = JoinSet::new();
    let wanted = field.successes;
    for number in 0..CLIENTS {
        let client = field.agents[number % field.agents.len()].clone();
        let successes = Arc::clone(&successes);
        let mut belief = Belief {
            entry: entry.to_owned(),
            version: 1,
        };
        clients.spawn(async move {
            let mut came = Came::default();
            while successes.load(Ordering::SeqCst) < wanted {
                let content = phrase();
                match once(client.clone(), belief.clone(), content.clone()).await {
                    Tried::Won { name, now } => {
                        successes.fetch_add(1, Ordering::SeqCst);
                        came.won.push((name, content));
                        belief = now;
                    }
                    Tried::Lost { name, now } => {
                        assert_ne!(now, belief, "a loser is told something new");
                        came.conflicts += 1;
                        assert!(came.conflicts < CONFLICTS_MAX, "it gets nowhere");
                        came.told.insert(name);
                        belief = now;
                    }
                }
            }
            came
        });
    }
    let mut all = Came::default();
    while let Some(came) = clients.join_next().await {
        let came = came.expect("a client does not panic");
        all.won.extend(came.won);
        all.told.extend(came.told);
        all.conflicts += came.conflicts;
    }
    println!("{} successes, {} conflicts", all.won.len(), all.conflicts);
    let names: BTreeSet<&String> = all.won.iter().map(|(name, _)| name).collect();
    assert_eq!(
        names.len(),
        all.won.len(),
        "two clients were told that they won the same"
    );
    assert!(
        all.won.len() >= wanted && all.conflicts > 0,
        "nobody was in anybody's way"
    );
    all
}

/// How an attempt ended: by what name it goes in the history, and what is current now.
enum Tried {
    Won { name: String, now: Belief },
    Lost { name: String, now: Belief },
}

async fn supersede_once(client: Client, belief: Belief, content: String) -> Tried {
    let body = json!({ "old": belief.entry, "expected_version": belief.version, "reason": "newer",
        "replacement": { "content": content } });
    let reply = client.post("/v1/entries/supersede", &body).await;
    if reply.status == 200 {
        let done = reply.ok();
        assert_eq!(done["old"], belief.entry);
        let now = Belief {
            entry: text(&done["new"]).to_owned(),
            version: version(&done),
        };
        return Tried::Won {
            name: now.entry.clone(),
            now,
        };
    }
    let now = current(reply.refused(409, "conflict"));
    Tried::Lost {
        name: now.entry.clone(),
        now,
    }
}

async fn amend_once(client: Client, belief: Belief, content: String) -> Tried {
    let body =
        json!({ "entry": belief.entry, "expected_version": belief.version, "content": content });
    let reply = client.post("/v1/entries/amend", &body).await;
    if reply.status == 200 {
        let done = reply.ok();
        assert_eq!(done["version"], belief.version + 1);
        let now = Belief {
            version: version(&done),
            ..belief
        };
        return Tried::Won {
            name: now.version.to_string(),
            now,
        };
    }
    let now = current(reply.refused(409, "conflict"));
    assert_eq!(now.entry, belief.entry, "the entry stays the same");
    assert!(now.version > belief.version, "versions only rise");
    Tried::Lost {
        name: now.version.to_string(),
        now,
    }
}

/// What a conflict says is current. It must say all of it.
fn current(problem: Value) -> Belief {
    let current = &problem["current"];
    Belief {
        entry: text(&current["entry"]).to_owned(),
        version: version(current),
    }
}

fn version(of: &Value) -> u64 {
    of["version"]
        .as_u64()
        .unwrap_or_else(|| panic!("no version: {of}"))
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("no text: {value}"))
}

/// One list of an entry's history, page by page.
async fn pages(client: &Client, entry: &str, list: &str, next: &str, after: &str) -> Vec<Value> {
    let mut items = Vec::new();
    let mut cursor: Option<String> = None;
    loop {
        let mut query = vec![("id", entry)];
        query.extend(cursor.as_deref().map(|cursor| (after, cursor)));
        let mut page = client.get("/v1/history", &query).await.ok();
        items.append(page[list].as_array_mut().expect("a history has both lists"));
        match page[next].as_str() {
            Some(next) => cursor = Some(next.to_owned()),
            None => return items,
        }
    }
}

fn audited(world: &World) {
    let verdict = world.sillok("audit verify --json").json();
    assert_eq!(verdict["ok"], true, "{verdict}");
}
