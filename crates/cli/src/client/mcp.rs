//! The API as the tools of the Model Context Protocol call it: over this client.
//!
//! Owns the way to whichever server runs now, and what is held against the work tree here, or said of it. It opens no store and
//! starts no server; where none runs a call is told so, and the next one looks again: an agent's host starts this process before
//! anybody starts a server, and keeps it when that one restarts.

mod held;
mod said;

use std::time::{Duration, Instant};

use serde_json::Value;
use sillok_core::error::ErrorCode;
use sillok_core::scope::Scope;
use sillok_mcp::api::{Answer, Api, Caller, Outage, Request, Sent};
use tokio::sync::Mutex;

pub use self::held::Held;
use self::held::RECALL;
pub use self::said::Said;
use super::Client;
use crate::args::Global;
use crate::failure::Failure;
use crate::session::client_of_agent;

/// How long a token is held that an agent was not given: one that ends is replaced long before.
const KNOWN_FOR: Duration = Duration::from_secs(60 * 60);

/// Speaks to the server that serves the data directory, or that the flags name, with the one token of this process.
#[derive(Debug)]
pub struct RunningServer {
    global: Global,
    /// Whose agents speak, where no token is named.
    scope: Option<Scope>,
    /// The server that answered last, and since when it is known.
    client: Mutex<Option<(Client, Instant)>>,
    held: Held,
    said: Said,
}

impl RunningServer {
    /// Whichever server `global` leads to. None is looked for before the first call.
    #[must_use]
    pub fn new(global: &Global, scope: Option<Scope>, (held, said): (Held, Said)) -> Self {
        Self {
            global: global.clone(),
            scope,
            client: Mutex::new(None),
            held,
            said,
        }
    }

    async fn client(&self) -> Result<Client, Failure> {
        let mut known = self.client.lock().await;
        if let Some((client, since)) = &*known
            && since.elapsed() < KNOWN_FOR
        {
            return Ok(client.clone());
        }
        let client = client_of_agent(&self.global, self.scope.as_ref()).await?;
        *known = Some((client.clone(), Instant::now()));
        Ok(client)
    }

    async fn recall(&self, client: &Client, question: Value) -> Result<Value, Failure> {
        let question = self.held.asked(question);
        let answer = client.ask(RECALL, &question).await?;
        Ok(self.held.held(client, &question, answer).await)
    }

    async fn ask(&self, request: Request) -> Result<Answer, Outage> {
        let found = self.client().await;
        let client = found.map_err(|failure| Outage::Unsent(said(&failure)))?;
        let path = request.path;
        let answered: Result<Value, Failure> = match request.sent {
            Sent::Query(query) => client.get(path, &query).await,
            Sent::Question(body) if path == RECALL => self.recall(&client, body).await,
            Sent::Question(body) => client.ask(path, &body).await,
            Sent::Command(body, command) => {
                let body = self.said.told(path, body).await;
                client.write_as(command, path, &body).await
            }
        };
        match answered {
            Ok(body) => Ok(Answer { status: 200, body }),
            Err(Failure::Refused(problem)) => {
                if problem.code == ErrorCode::Unauthenticated {
                    // A store that was restored has other tokens: the file is read again.
                    self.forget().await;
                }
                Ok(Answer {
                    status: problem.status,
                    body: serde_json::to_value(&problem).expect("plain data is JSON"),
                })
            }
            Err(failure) => {
                // It may listen elsewhere by now.
                self.forget().await;
                Err(outage(&failure))
            }
        }
    }

    /// The next call looks anew for a server, and for the token.
    async fn forget(&self) {
        *self.client.lock().await = None;
    }
}

impl Api for RunningServer {
    async fn send(&self, _caller: &Caller, request: Request) -> Result<Answer, Outage> {
        let deadline = request.deadline;
        let in_time = tokio::time::timeout(deadline, self.ask(request)).await;
        match in_time {
            Ok(answered) => answered,
            Err(_) => {
                // Another process may have its address by now, and say nothing.
                self.forget().await;
                Err(Outage::Late)
            }
        }
    }
}

fn outage(failure: &Failure) -> Outage {
    let why = said(failure);
    match failure {
        Failure::Foreign { .. } => Outage::Foreign(why),
        Failure::Unreachable { source, .. } if source.is_connect() => Outage::Unsent(why),
        _ => Outage::Unreachable(why),
    }
}

fn said(failure: &Failure) -> String {
    match failure.advice() {
        Some(advice) => format!("{failure}. {advice}"),
        None => failure.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};

    use sillok_mcp::limits::DEADLINE;

    use super::*;

    fn nowhere() -> (Held, Said) {
        (Held::against(None, false), Said::around(None))
    }

    #[tokio::test]
    async fn where_no_server_runs_a_call_is_told_so_and_none_is_started() {
        let folder = tempfile::tempdir().unwrap();
        let global = Global {
            data: Some(folder.path().into()),
            ..Global::default()
        };
        let server = RunningServer::new(&global, None, nowhere());
        for _ in 0..2 {
            let request = Request {
                path: "/v1/status",
                sent: Sent::Query(Vec::new()),
                deadline: DEADLINE,
            };
            let answered = server.send(&Caller::default(), request).await;
            let Err(Outage::Unsent(why)) = answered else {
                panic!("nobody answers: {answered:?}")
            };
            assert!(why.contains("sillok serve"), "{why}");
        }
        assert!(!folder.path().join("store").exists());
    }

    /// Refuses everything, or says nothing at all.
    fn half_server(refusal: Option<&'static str>) -> String {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        std::thread::spawn(move || {
            let mut silent = Vec::new();
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let Some(body) = refusal else {
                    silent.push(stream);
                    continue;
                };
                let mut head = [0; 4_096];
                assert!(stream.read(&mut head).unwrap() > 0);
                let length = body.len();
                let answer = format!(
                    "HTTP/1.1 401 Unauthorized\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
                );
                stream.write_all(answer.as_bytes()).unwrap();
            }
        });
        url
    }

    #[tokio::test]
    async fn a_server_that_says_nothing_or_knows_no_token_any_more_is_looked_for_anew() {
        let unknown = r#"{"type":"t","title":"unauthenticated","status":401,"detail":"d","code":"unauthenticated","advice":"a"}"#;
        for refusal in [None, Some(unknown)] {
            let url = half_server(refusal);
            let global = Global {
                url: Some(url),
                token: Some("slk_x".into()),
                ..Global::default()
            };
            let server = RunningServer::new(&global, None, nowhere());
            let request = Request {
                path: "/v1/status",
                sent: Sent::Query(Vec::new()),
                deadline: Duration::from_millis(500),
            };
            let answered = server.send(&Caller::default(), request).await;
            match refusal {
                None => assert_eq!(answered.unwrap_err(), Outage::Late),
                Some(_) => assert_eq!(answered.unwrap().status, 401),
            }
            assert!(server.client.lock().await.is_none());
        }
    }
}
