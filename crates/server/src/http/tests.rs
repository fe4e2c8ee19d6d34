//! The interface as a whole: a real node on a real store in a temporary directory, asked through
//! the router without a socket.

mod access;
mod backups;
mod bodies;
mod decisions;
mod evidence;
mod fixing;
mod graph;
mod probes;
mod requests;
mod searching;
mod streams;
mod vectors;

use axum::body::Body;
use axum::http::{Method, Request, Response, StatusCode, header};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use sillok_actors::Ports;
use tokio::sync::watch;
use tower::ServiceExt;

use super::{App, router};
use crate::api::{Problem, TokenMinted};
use crate::code::Code;
use crate::composition::{OpenData, ensure_administrator, open_data_dir, start_node};
use crate::config::{Config, IndexEngine};

const TASK: &str = "org/acme/project/api/worktree/main/task/1";

/// A server without its socket.
struct Server {
    app: App,
    router: axum::Router,
    admin: String,
    stop: watch::Sender<bool>,
    data: OpenData,
    _folder: tempfile::TempDir,
}

impl Server {
    async fn start() -> Self {
        Self::with(|_| ()).await
    }

    async fn with(tune: impl FnOnce(&mut Config)) -> Self {
        Self::filled(tune, |_| ()).await
    }

    /// As [`with`](Self::with), with ports that `fill` has changed.
    async fn filled(tune: impl FnOnce(&mut Config), fill: impl FnOnce(&mut Ports)) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut config = Config::default();
        config.server.data = folder.path().to_owned();
        config.index.engine = IndexEngine::Exact;
        tune(&mut config);
        config.check().unwrap();
        let mut data = open_data_dir(&config).await.unwrap();
        fill(&mut data.ports);
        ensure_administrator(&data, &config).await.unwrap();
        let node = start_node(&data, &config).await.unwrap();
        let (stop, stopping) = watch::channel(false);
        let key = data.directory.token_key(&config.server).unwrap();
        let mut metrics = super::metrics::registry();
        node.register_metrics(&mut metrics);
        let code = Code::follow(&config.graph, data.directory.code()).unwrap();
        let app = App::new(
            node,
            data.store.clone(),
            &config,
            key,
            stopping,
            metrics,
            code,
        );
        let admin = data.directory.admin_secret(&config.server).unwrap();
        Self {
            router: router(app.clone()),
            app,
            admin,
            stop,
            data,
            _folder: folder,
        }
    }

    async fn send(&self, request: Request<Body>) -> Response<Body> {
        self.router.clone().oneshot(request).await.unwrap()
    }

    async fn raw_post(&self, token: &str, path: &str, body: impl Into<Body>) -> Response<Body> {
        self.send(
            request(Method::POST, token, path)
                .body(body.into())
                .unwrap(),
        )
        .await
    }

    async fn post<T: DeserializeOwned>(
        &self,
        token: &str,
        path: &str,
        body: Value,
    ) -> Result<T, Problem> {
        taken(self.raw_post(token, path, body.to_string()).await).await
    }

    async fn get<T: DeserializeOwned>(&self, token: &str, path: &str) -> Result<T, Problem> {
        taken(
            self.send(
                request(Method::GET, token, path)
                    .body(Body::empty())
                    .unwrap(),
            )
            .await,
        )
        .await
    }

    async fn open_task(&self, scope: &str) {
        let body = json!({ "scope": scope, "title": "Mend the parser", "description": "It loses the last line." });
        self.post::<Value>(&self.admin, "/v1/tasks", body)
            .await
            .unwrap();
    }

    async fn mint(&self, scope: &str, kind: &str) -> TokenMinted {
        let body = json!({ "scope": scope, "kind": kind, "id": kind, "lifetime_s": 3_600 });
        self.post(&self.admin, "/v1/tokens", body).await.unwrap()
    }
}

fn request(method: Method, token: &str, path: &str) -> axum::http::request::Builder {
    let builder = Request::builder().method(method).uri(path);
    if token.is_empty() {
        builder
    } else {
        builder.header(header::AUTHORIZATION, format!("Bearer {token}"))
    }
}

async fn text(response: Response<Body>) -> String {
    let bytes = axum::body::to_bytes(response.into_body(), usize::MAX)
        .await
        .unwrap();
    String::from_utf8(bytes.to_vec()).unwrap()
}

async fn taken<T: DeserializeOwned>(response: Response<Body>) -> Result<T, Problem> {
    let status = response.status();
    let text = text(response).await;
    if status == StatusCode::OK {
        return Ok(serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error} in {text}")));
    }
    let problem: Problem =
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error} in {text}"));
    assert_eq!(problem.status, status.as_u16());
    Err(problem)
}

fn logs(scope: &str, content: &str) -> Value {
    json!({ "scope": scope, "records": [{ "level": "info", "content": content, "metadata": { "tool": "cat" } }] })
}
