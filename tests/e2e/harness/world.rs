//! A small world: one organisation, one project, one worktree, and principals of every kind.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use sillok_core::principal::PrincipalKind;
use sillok_power_loss::Power;
use sillok_power_loss::loss::Lost;
use sillok_test_cluster::{Launch, Server};
use tempfile::TempDir;

use super::binary::{Invocation, Ran};
use super::chance::Chance;
use super::http::Client;

/// The organisation.
pub(crate) const ORG: &str = "org/acme";
/// The project.
pub(crate) const PROJECT: &str = "org/acme/project/api";
/// The worktree.
pub(crate) const WORKTREE: &str = "org/acme/project/api/worktree/main";

/// How long what is of little worth is kept, of any task: what maintenance takes out is needed at once.
pub(crate) const PRUNED_AFTER: Duration = Duration::from_millis(50);

/// A server with a data directory of its own.
pub(crate) struct World {
    folder: TempDir,
    server: Option<Server>,
    power: Option<Power>,
}

impl World {
    pub(crate) async fn start() -> Self {
        Self::start_with(|launch| launch).await
    }

    /// With a server that is configured otherwise.
    pub(crate) async fn start_with(configure: impl FnOnce(Launch) -> Launch) -> Self {
        let folder = tempfile::tempdir().expect("there is room for a temporary folder");
        let server = configure(launch(&folder.path().join("data"))).start().await;
        Self {
            folder,
            server: Some(server),
            power: None,
        }
    }

    /// With a disk that can lose its power, which `disk` makes of the data directory and of a folder
    /// for its record.
    pub(crate) async fn start_on(disk: impl FnOnce(&Path, &Path) -> Power) -> Self {
        let mut world = Self::unstarted_on(disk);
        world.start_again().await;
        world
    }

    /// The same, without a server as yet.
    pub(crate) fn unstarted_on(disk: impl FnOnce(&Path, &Path) -> Power) -> Self {
        let folder = tempfile::tempdir().expect("there is room for a temporary folder");
        let power = disk(&folder.path().join("data"), &folder.path().join("power"));
        Self {
            folder,
            server: None,
            power: Some(power),
        }
    }

    /// Gives the killed server another disk. All that is on the old one is safe on it.
    pub(crate) fn change_disk(&mut self, disk: impl FnOnce(&Path, &Path) -> Power) {
        assert!(self.server.is_none(), "the server was killed before");
        let folder = self.folder.path();
        self.power = Some(disk(&folder.join("data"), &folder.join("power")));
    }

    /// Takes away what the killed server has not synced, or a part of it.
    pub(crate) fn lose_power(&self, chance: &mut Chance) -> Lost {
        self.lose(&mut || chance.next())
    }

    /// Takes away all that the killed server has not synced.
    pub(crate) fn lose_all(&self) -> Lost {
        self.lose(&mut || 0)
    }

    fn lose(&self, chance: &mut dyn FnMut() -> u64) -> Lost {
        assert!(self.server.is_none(), "the server was killed before");
        let power = self.power.as_ref().expect("the disk can lose its power");
        let lost = power.lose(chance);
        lost.expect("the record is what the shim wrote")
    }

    /// The folder that holds everything.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The data directory.
    pub(crate) fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// All files of the vector index, in order.
    pub(crate) fn index_files(&self) -> Vec<PathBuf> {
        let mut files = Vec::new();
        let mut folders = vec![self.data().join("vectors")];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).expect("a directory") {
                let path = entry.expect("it is listed").path();
                let list = if path.is_dir() {
                    &mut folders
                } else {
                    &mut files
                };
                list.push(path);
            }
        }
        files.sort();
        files
    }

    /// The server, which must be running.
    pub(crate) fn server(&self) -> &Server {
        self.server.as_ref().expect("the test has not stopped it")
    }

    /// A client with the administrator's token.
    pub(crate) fn admin(&self) -> Client {
        Client::admin_of(self.server())
    }

    /// Stops the server in order.
    pub(crate) fn stop(&mut self) {
        self.server
            .take()
            .expect("the test has not stopped it")
            .stop();
    }

    /// Waits for the end of a server that was asked to stop.
    pub(crate) fn stop_signalled(&mut self) {
        self.server
            .take()
            .expect("the test has not stopped it")
            .stopped();
    }

    /// Kills the server.
    pub(crate) fn kill(&mut self) {
        self.server
            .take()
            .expect("the test has not stopped it")
            .kill();
    }

    /// Starts it again on the same data directory.
    pub(crate) async fn start_again(&mut self) {
        assert!(self.server.is_none(), "one data directory has one server");
        self.server = Some(self.launch().start().await);
    }

    /// How its server is started.
    pub(crate) fn launch(&self) -> Launch {
        let launch = launch(&self.data());
        match &self.power {
            Some(power) => on(power, launch),
            None => launch,
        }
    }

    /// Runs the binary on this data directory. Nothing in the line is quoted.
    pub(crate) fn sillok(&self, line: &str) -> Ran {
        self.invocation(line).run()
    }

    /// The same, with words that may hold blanks.
    pub(crate) fn run(&self, words: &[&str]) -> Ran {
        words
            .iter()
            .fold(self.invocation(""), |command, word| command.arg(word))
            .run()
    }

    /// The same, to be added to.
    pub(crate) fn invocation(&self, line: &str) -> Invocation {
        let words = super::binary::words(line);
        Invocation::new(&self.folder.path().join("home"), words)
            .env("SILLOK_DATA", self.data())
            .dir(self.folder.path())
    }

    /// A principal of this kind, whose token covers this scope.
    pub(crate) async fn principal(&self, kind: PrincipalKind, scope: &str) -> Client {
        let minted = self.mint(kind, scope, 3_600).await;
        self.admin().with_token(minted["token"].as_str())
    }

    /// A token, as it was minted.
    pub(crate) async fn mint(&self, kind: PrincipalKind, scope: &str, lifetime_s: u64) -> Value {
        let id = format!("{kind}-{}", next());
        let body =
            json!({ "scope": scope, "kind": kind.as_str(), "id": id, "lifetime_s": lifetime_s });
        self.admin().post("/v1/tokens", &body).await.ok()
    }

    /// The name of a task that nobody has opened.
    pub(crate) fn unopened(&self) -> String {
        format!("{WORKTREE}/task/t{}", next())
    }

    /// A new open task.
    pub(crate) async fn task(&self) -> String {
        let scope = self.unopened();
        open(&self.admin(), &scope).await;
        scope
    }

    /// A new task with a passed verification whose promotion is finished: what an entry may rest on.
    pub(crate) async fn verified(&self) -> Value {
        let scope = self.task().await;
        let id = verify(&self.admin(), &scope, PROJECT).await;
        json!({ "task": scope, "id": id })
    }
}

/// How a server on a data directory is started.
fn launch(data: &Path) -> Launch {
    let days = PRUNED_AFTER.as_secs_f64() / 86_400.0;
    Launch::new(data)
        .env("SILLOK__RETENTION__PRUNE_DAYS", format!("{days:.12}"))
        .env("SILLOK__RETENTION__KEEP_BEST", "0")
}

/// On a disk that can lose its power, with tables so small that many are written out.
fn on(power: &Power, launch: Launch) -> Launch {
    let shim = sillok_power_loss::library().expect("the shim lies beside this test");
    let environment = power.environment().into_iter();
    environment
        .fold(launch, |launch, (name, value)| launch.env(name, value))
        .env("LD_PRELOAD", shim)
        .env("SILLOK__STORE__MEMTABLE_BYTES_MAX", "1048576")
}

/// Opens a task.
pub(crate) async fn open(client: &Client, scope: &str) {
    client
        .post(
            "/v1/tasks",
            &json!({ "scope": scope, "title": "A task of a test." }),
        )
        .await
        .ok();
}

/// Appends a record to a task's log: its id.
pub(crate) async fn log(client: &Client, scope: &str, content: &str) -> String {
    let body = json!({ "scope": scope, "records": [{ "level": "info", "content": content }] });
    let first = client.post("/v1/logs", &body).await.ok()["first"].as_u64();
    format!(
        "{scope}#{}",
        first.expect("an append says where its records stand")
    )
}

/// Records that a task's tests passed, and waits for the promotion: the verification.
pub(crate) async fn verify(client: &Client, scope: &str, target: &str) -> String {
    let body = json!({
        "scope": scope, "outcome": "passed", "source": "tests_passed",
        "run": format!("run-{}", next()), "target": target,
    });
    let id = client.post("/v1/verifications", &body).await.ok()["verification"].clone();
    let id = id.as_str().expect("a verification has an id").to_owned();
    promoted(client, scope, &id).await;
    id
}

/// Waits until a promotion is finished: its report.
pub(crate) async fn promoted(client: &Client, scope: &str, verification: &str) -> Value {
    let query = [
        ("scope", scope),
        ("verification", verification),
        ("wait_ms", "30000"),
    ];
    let promotion = client.get("/v1/promotions", &query).await.ok();
    assert_eq!(promotion["state"], "done", "{promotion}");
    promotion["report"].clone()
}

/// A number that no other call gives in this process.
pub(crate) fn next() -> u64 {
    static CALLS: AtomicU64 = AtomicU64::new(1);
    CALLS.fetch_add(1, Ordering::Relaxed)
}
